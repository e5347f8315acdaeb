"""The qat engine's arithmetic: integers with a binary point, exact sums, one rounding an output.

An operand of a product is full (32 bits) or half (16 bits, with the shift of its tensor). Sums are
exact, so their order, the number of cores and the tiling decide nothing: an output is its exact sum
rounded once, half up, and saturated once.

Source: FIXAR IV, V-A; docs/qat.md (numbers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numba import njit

NONE, RELU, TANH = range(3)  # activation functions
WEIGHT, ACTIVATION, DELTA, GRADIENT, SECOND, RATIO = 24, 16, 24, 20, 40, 24  # binary points
ONE = 1 << ACTIVATION
EXACT = 1 << 53  # integers below are exact in float64
HALF_BITS, FULL_BITS = 16, 32
LANE = 0xFFFF  # the low lane of a full activation
SEGMENT = 10  # bits of z within a segment of the tangent
LARGEST = (1 << 19) - 1  # magnitude from which on the tangent is that of 8
TANH_TABLE = np.array([math.floor(math.tanh(k / 64) * 2**18 + 0.5) for k in range(513)])
RATIO_MOST = (1 << 27) - 1
AWAY = (1 << 24) - 1  # added to a magnitude of frac 24: rounds it away from zero


@overload
def round_shift(x: int, shift: int) -> int: ...
@overload
def round_shift(x: np.ndarray, shift: int) -> np.ndarray: ...
def round_shift(x: Any, shift: int) -> Any:
    """R: divide by 2**shift and round half up; a negative shift multiplies, exactly.

    Args:
        x: an integer or [...] int64; x + 2**(shift-1), or the product, must fit.
        shift: bits.
    """
    if shift > 0:
        return (x + (1 << shift - 1)) >> shift
    return x << -shift


def saturate(x: np.ndarray, bits: int = FULL_BITS) -> tuple[np.ndarray, int]:
    """S: the nearest signed integers of so many bits, and how many values they changed."""
    x = np.asarray(x, np.int64)
    out, changed = _clip(x.reshape(-1), (1 << bits - 1) - 1)
    return out.reshape(x.shape), int(changed)


@njit(cache=True)
def _clip(x, most):  # type: ignore[no-untyped-def]
    out, changed = np.empty_like(x), 0
    for k in range(len(x)):
        out[k] = min(max(x[k], -most - 1), most)
        changed += out[k] != x[k]
    return out, changed


def products(x: np.ndarray, y: np.ndarray, drop: int = 0) -> np.ndarray:
    """Exact sums of products, their low bits dropped: floor(x @ y.T / 2**drop).

    Float64 multiplies exactly what stays below 2**53 in every partial sum. No partial sum is larger
    than the product of both operands' lengths (Cauchy and Schwarz). Operands that are longer are
    taken in halves of 16 bits, as the lanes of a processing element do.

    Args:
        x, y: [m, k] and [n, k] integers of 32 bits, k at most 1024.
        drop: 0, if the sums fit 63 bits, or 16.
    Returns: [m, n] int64.
    """
    return _products(x.astype(np.float64), y.astype(np.float64), drop)


def _products(x: np.ndarray, y: np.ndarray, drop: int) -> np.ndarray:
    """The same of operands in float64."""
    of_x, of_y = _length(x), _length(y)
    if of_x * of_y < EXACT:
        return (x @ y.T).astype(np.int64) >> drop
    if of_x > of_y:
        (high, low), rest = _halves(x), y
        above, below = _products(high, rest, 0), _products(low, rest, 0)
    else:
        (high, low), rest = _halves(y), x
        above, below = _products(rest, high, 0), _products(rest, low, 0)
    return above + (below >> 16) if drop == 16 else ((above << 16) + below) >> drop


def _length(x: np.ndarray) -> float:
    """The greatest Euclidean length of a row, with room for the rounding of its sum."""
    return 1.0001 * math.sqrt(np.einsum("ij,ij->i", x, x).max(initial=0))


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """floor(x / 2**16) and what is left, of integers in float64."""
    high = np.floor(x / (LANE + 1))
    return high, x - high * (LANE + 1)


def forward(
    a: np.ndarray, w: np.ndarray, b: np.ndarray, shift: int | None
) -> tuple[np.ndarray, int]:
    """A layer's sums before its activation function.

    Args:
        a: [n, Q] inputs, full or, with a shift, half.
        w, b: [P, Q] weights, [P] biases.
        shift: of the inputs' tensor in half mode, 0..16; None in full mode.
    Returns: [n, P] int64, frac 16, saturated to 32 bits; how many were.
    """
    bias = b.astype(np.int64)
    if shift is None:  # the 16 bits that are dropped lie below the rounded ones' half
        return saturate(round_shift(products(a, w, 16) + bias, WEIGHT - 16))
    return saturate(round_shift(products(a, w) + (bias << 16 - shift), WEIGHT - shift))


def activate(z: np.ndarray, act: int) -> np.ndarray:
    """The activation function: none, ReLU or the tangent, frac 16."""
    if act == RELU:
        return np.maximum(z, 0)
    return tanh(z) if act == TANH else z


def tanh(z: np.ndarray) -> np.ndarray:
    """The hyperbolic tangent by 512 linear segments on 0..8; at most 3.15e-5 from the exact one.

    Args:
        z: [...] int64, frac 16.
    Returns: [...] int64, frac 16.
    """
    x = np.minimum(np.abs(z), LARGEST)
    k, f = x >> SEGMENT, x & (1 << SEGMENT) - 1
    low = TANH_TABLE[k]
    y = round_shift((low << SEGMENT) + (TANH_TABLE[k + 1] - low) * f, 12)
    return np.where(z < 0, -y, y)


def backward(d: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, int]:
    """Deltas taken back through a layer's weights: [n, P] and [P, Q] to [n, Q], frac 24."""
    return saturate(round_shift(products(d, w.T, 16), WEIGHT - 16))


def derivative(x: np.ndarray, a: np.ndarray, act: int) -> tuple[np.ndarray, int]:
    """Deltas taken back through an activation function whose stored outputs are a.

    Args:
        x: [n, Q] int64, frac 24.
        a: [n, Q]; ReLU asks for their sign only, so they may be full or half; of TANH full.
    """
    if act == RELU:
        return np.where(a > 0, x, 0), 0
    if act == TANH:
        slope = ONE - round_shift(a * a, ACTIVATION)
        return saturate(round_shift(x * slope, ACTIVATION))
    return x, 0


def gradient(d: np.ndarray, a: np.ndarray, shift: int | None) -> tuple[np.ndarray, int]:
    """A layer's weight gradient of the vectors of a chunk.

    Args:
        d: [n, P] deltas.
        a: [n, Q] the layer's inputs, full or, with a shift, half.
    Returns: [P, Q] int64, frac 20, saturated; how many were.
    """
    if shift is None:
        return saturate(round_shift(products(d.T, a.T, 16), DELTA - GRADIENT))
    return saturate(round_shift(products(d.T, a.T), GRADIENT - shift))


def drain(low: np.ndarray, high: np.ndarray, shift: int | None) -> tuple[np.ndarray, int]:
    """A chunk's gradient of the lane sums of the array: the same as `gradient`.

    Args:
        low, high: [...] int64 exact sums of a lane: of products with the low half of activations,
            unsigned, and with the high half; in half mode of one vector each.
        shift: of the layer's inputs in half mode; None in full mode.
    """
    if shift is None:  # what is dropped of the low lane lies below the rounded bits' half
        return saturate(round_shift(high + (low >> 16), DELTA - GRADIENT))
    return saturate(round_shift(low + high, GRADIENT - shift))


def bias_gradient(d: np.ndarray) -> tuple[np.ndarray, int]:
    """A layer's bias gradient of the vectors of a chunk, [P], frac 20."""
    return saturate(round_shift(d.sum(0), DELTA - GRADIENT))


def quantize(a: np.ndarray, shift: int) -> tuple[np.ndarray, int]:
    """Activations in 16 bits, frac 16 - shift; how many were saturated."""
    return saturate(round_shift(a, shift), HALF_BITS)


def monitor(low: int, high: int, values: np.ndarray) -> tuple[int, int]:
    """The least and the largest value of a tensor after some more of it, and a 0 with them."""
    if not values.size:
        return low, high
    return min(low, 0, int(values.min())), max(high, 0, int(values.max()))


def shift_of(low: int, high: int, headroom: int = 0) -> int:
    """The shift of a tensor whose values were within low..high: the least that fits 16 bits.

    Args:
        headroom: bits that stay free above that range; the shift is 16 at most.
    """
    largest = min(max(-low, high, 0), (1 << 31) - 1)
    return min(max(0, largest.bit_length() - 15) + headroom, HALF_BITS)


@dataclass(frozen=True)
class Loss:
    """The critic's loss of some vectors.

    Attributes:
        y, td: [n] targets, and errors q - y; frac 16.
        seed: [n] deltas of the critic's output, frac 24.
        saturated: values that were, in all stages.
    """

    y: np.ndarray
    td: np.ndarray
    seed: np.ndarray
    saturated: int


def target(
    following: np.ndarray, reward: np.ndarray, discount: np.ndarray
) -> tuple[np.ndarray, int]:
    """What the critic shall say, and how many values were saturated.

    Args:
        following: [n] q' of the target network, frac 16.
        reward: [n] frac 16.
        discount: [n] 0..2**32-1, frac 32.
    """
    return saturate(reward + round_shift(following * discount, 32))


def errors(q: np.ndarray, y: np.ndarray, weight: np.ndarray | None, scale: int) -> Loss:
    """TD errors and seeds.

    Args:
        q, y: [n] of the critic, and targets; frac 16.
        weight: [n] importance weights, frac 24, or None.
        scale: log2 of the loss scale, -8..7.
    """
    td, over = saturate(q - y)
    weighted = td
    if weight is not None:
        weighted, more = saturate(round_shift(td * weight, 24))
        over += more
    seed, more = saturate(round_shift(weighted, ACTIVATION - DELTA - scale))
    return Loss(y, td, seed, over + more)


def loss(
    q: np.ndarray,
    following: np.ndarray,
    reward: np.ndarray,
    discount: np.ndarray,
    weight: np.ndarray | None,
    scale: int,
) -> Loss:
    """Targets, TD errors and seeds; see `target` and `errors`."""
    y, over = target(following, reward, discount)
    found = errors(q, y, weight, scale)
    return replace(found, saturated=found.saturated + over)


def actor_seed(scale: int) -> int:
    """The delta of the critic's output by which the actor climbs, frac 24; scale 0..6 is a log2."""
    return -(1 << DELTA + scale)


@dataclass(frozen=True)
class Adam:
    """Scalars of an update.

    Attributes:
        c1, c2: 1 - beta1, 1 - beta2; frac 24, 1..2**24-1.
        eps: frac 20, 1..2**24-1.
        rate: the step size with the bias correction, frac 32, 0..2**26-1.
        tau: what the targets move by, frac 24, 0..2**24; 0: they do not.
    """

    c1: int
    c2: int
    eps: int
    rate: int
    tau: int


def adam(
    w: np.ndarray, m: np.ndarray, v: np.ndarray, t: np.ndarray, g: np.ndarray, scalars: Adam
) -> int:
    """Update weights, moments and targets in place.

    Moments round away from zero what they move by, so that they reach a constant gradient. Halves
    up, a first moment of 5 units with c1 = 0.1 would stay for ever, and move a weight that has no
    gradient.

    Args:
        w, m, t: [...] int32, contiguous; frac 24, 20, 24.
        v: [...] uint64, frac 40.
        g: [...] int32, frac 20.
        scalars: of the update.
    Returns: saturated weights and targets.
    """
    arrays = (w, m, v, t, g)
    assert all(x.flags.c_contiguous for x in arrays), "want contiguous arrays"
    flat = [x.reshape(-1) for x in arrays]
    s = scalars
    return int(_adam(*flat, s.c1, s.c2, s.eps, s.rate, s.tau))  # type: ignore[call-arg]


@njit(cache=True)
def _saturate(x):  # type: ignore[no-untyped-def]
    return min(max(x, np.int64(-(2**31))), np.int64(2**31 - 1))


@njit(cache=True)
def isqrt(x):  # type: ignore[no-untyped-def]
    """The largest integer whose square is at most x (uint64)."""
    root = np.uint64(min(np.sqrt(np.float64(x)), 4294967295.0))
    one = np.uint64(1)
    while root * root > x:
        root -= one
    while root < np.uint64(0xFFFFFFFF) and (root + one) * (root + one) <= x:
        root += one
    return root


@njit(cache=True)
def udiv(dividend, divisor):  # type: ignore[no-untyped-def]
    """A ratio of magnitudes, frac 24: the floor of dividend * 2**24 / divisor, at most RATIO_MOST.

    Args:
        dividend: 0..2**31. divisor: 1..2**33 - 1.
    """
    return min((np.int64(dividend) << 24) // np.int64(divisor), np.int64(RATIO_MOST))


@njit(cache=True)
def second_moment(v, g, c2):  # type: ignore[no-untyped-def]
    """v + A((g*g - v) * c2, 24), which lies between v and g*g: it needs no clip.

    A rounds away from zero (see adam).

    Args:
        v: uint64.
        g, c2: int64.
    """
    square, c = np.uint64(g * g), np.uint64(c2)
    up = square >= v
    apart = square - v if up else v - square
    # The product has 88 bits: its rounded 64 are those of two halves.
    low = (apart & np.uint64(0xFFFFFFFF)) * c + np.uint64(AWAY)
    step = (((apart >> np.uint64(32)) * c) << np.uint64(8)) + (low >> np.uint64(24))
    return v + step if up else v - step


@njit(cache=True)
def _adam(w, m, v, t, g, c1, c2, eps, rate, tau):  # type: ignore[no-untyped-def]
    saturated = 0
    for k in range(len(w)):
        grad, old = np.int64(g[k]), np.int64(w[k])
        moment = np.int64(m[k])
        share = (grad - moment) * c1
        moment += (share + (AWAY if share > 0 else 0)) >> 24
        variance = second_moment(v[k], grad, c2)
        ratio = udiv(abs(moment), np.int64(isqrt(variance)) + eps)
        if moment < 0:
            ratio = -ratio
        fresh = old - ((ratio * rate + (1 << 31)) >> 32)
        saturated += fresh != _saturate(fresh)
        fresh = _saturate(fresh)
        if tau > 0:
            target = np.int64(t[k])
            target += ((fresh - target) * tau + (1 << 23)) >> 24
            t[k] = target  # between t and w
        m[k], v[k], w[k] = moment, variance, fresh
    return saturated
