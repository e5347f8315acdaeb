"""The LSTM cell in FP16: every operation rounded, in the written association.

    i, f, o = sigmoid(z), g = tanh(z); cell' = f*cell + i*g; tc = tanh(cell'); h' = o*tc

Source: Hochreiter and Schmidhuber 1997; docs/sparse.md (numbers). `kernels` has the compiled form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.float import add, mul, sub
from models.sparse.numbers import sigmoid, tanh

ONE = np.float16(1)


@dataclass(frozen=True)
class Step:
    """What a step leaves, [V, H] float16 each: output, cell, its tangent, and the gates."""

    h: np.ndarray
    cell: np.ndarray
    tc: np.ndarray
    i: np.ndarray
    f: np.ndarray
    g: np.ndarray
    o: np.ndarray


def forward(z: np.ndarray, cell: np.ndarray) -> Step:
    """A step.

    Args:
        z: [V, 4H] float16: i, f, g, o before their functions.
        cell: [V, H] float16 of the step before.
    """
    zi, zf, zg, zo = np.split(z, 4, axis=1)
    i, f, g, o = sigmoid(zi), sigmoid(zf), tanh(zg), sigmoid(zo)
    new = add(mul(f, cell), mul(i, g))
    tc = tanh(new)
    return Step(mul(o, tc), new, tc, i, f, g, o)


def backward(
    step: Step, before: np.ndarray, dh: np.ndarray, dcell: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of a step.

    Args:
        step: what `forward` gave.
        before: [V, H] float16, the cell that it got.
        dh, dcell: [V, H] float16 by its output and its cell.
    Returns: by z, [V, 4H] float16; by the cell before.
    """
    i, f, g, o, tc = step.i, step.f, step.g, step.o, step.tc
    do, q = mul(dh, tc), mul(dh, o)
    dc = add(dcell, mul(q, sub(ONE, mul(tc, tc))))
    di, dg, df = mul(dc, g), mul(dc, i), mul(dc, before)
    dz = [
        mul(mul(di, i), sub(ONE, i)),
        mul(mul(df, f), sub(ONE, f)),
        mul(dg, sub(ONE, mul(g, g))),
        mul(mul(do, o), sub(ONE, o)),
    ]
    return np.concatenate(dz, axis=1), mul(dc, f)
