"""RMSprop in FP32, and the training of the grouping matrices.

A masked weight and its state are frozen. The gradient of a grouping matrix is straight-through: the
selected entry of row m gets the sum over the unmasked columns of W*dW, that of column n the sum
over the unmasked rows. The sums are integers, so their order does not matter.

Source: LearningGroup III-A; Wang et al. 2019 (fully learnable weight grouping); docs/sparse.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.float import add, div, from_fixed, mul, sqrt, sub, to_fixed
from models.replay.rng import Xoshiro

FRACTION, INTEGER = 40, 14  # of a summand of the grouping's gradient
STEP_FRACTION = 24  # of an update of a grouping entry, of which 8 remain
DRAWN = 16  # bits of a draw


@dataclass(frozen=True)
class Rates:
    """Numbers of RMSprop, float32.

    Attributes:
        lr: learning rate of weights and biases.
        alpha, rest: decay of the mean squares, and 1 - alpha.
        eps: added to the root.
        lr_group: learning rate of the grouping.
    """

    lr: np.float32
    alpha: np.float32
    rest: np.float32
    eps: np.float32
    lr_group: np.float32


def mean_square(v: np.ndarray, g: np.ndarray, rates: Rates) -> np.ndarray:
    """(alpha * v) + (rest * (g * g))."""
    return add(mul(rates.alpha, v), mul(rates.rest, mul(g, g)))


def step(lr: np.float32, g: np.ndarray, v: np.ndarray, rates: Rates) -> np.ndarray:
    """(lr * g) / (sqrt(v) + eps)."""
    return div(mul(lr, g), add(sqrt(v), rates.eps))


def rmsprop(
    w: np.ndarray, v: np.ndarray, g: np.ndarray, rates: Rates
) -> tuple[np.ndarray, np.ndarray]:
    """New weights and mean squares, [...] float32."""
    v = mean_square(v, g, rates)
    return sub(w, step(rates.lr, g, v, rates)), v


def scaled(grads: list[np.ndarray], gscale: np.float32) -> np.ndarray:
    """((G0 + G1) + G2) * gscale."""
    total = grads[0]
    for other in grads[1:]:
        total = add(total, other)
    return mul(total, gscale)


def products(w: np.ndarray, g: np.ndarray) -> np.ndarray:
    """W * g as integers of 40 fraction bits, saturated to 54 bits; [...] int64."""
    return to_fixed(mul(w, g), INTEGER, FRACTION)


def draws(generator: Xoshiro, count: int) -> np.ndarray:
    """The upper 16 bits of the next numbers, [count] int64."""
    return (generator.uniforms(count) >> np.uint64(48 - DRAWN)).astype(np.int64)


def regroup(
    entries: np.ndarray,
    states: np.ndarray,
    selected: np.ndarray,
    sums: np.ndarray,
    drawn: np.ndarray,
    rates: Rates,
) -> tuple[np.ndarray, np.ndarray]:
    """Update the selected entry of each row of a grouping matrix, with stochastic rounding.

    Args:
        entries: [R, G] int8, in units of 2**-8.
        states: [R] float32, mean squares.
        selected: [R] place of the entry.
        sums: [R] int64, gradients with 40 fraction bits.
        drawn: [R] int64, 0..65535.
        rates: of the step.
    Returns: new entries and states.
    """
    d = from_fixed(sums, FRACTION)
    states = mean_square(states, d, rates)
    fixed = to_fixed(step(rates.lr_group, d, states, rates), 32 - STEP_FRACTION, STEP_FRACTION)
    delta = (fixed + drawn) >> DRAWN
    out, rows = entries.copy(), np.arange(len(entries))
    moved = np.clip(entries[rows, selected].astype(np.int64) - delta, -128, 127)
    out[rows, selected] = moved.astype(np.int8)
    return out, states
