"""binary32 as the learner computes it: float32 arrays, round to nearest even, canonical NaN.

NumPy rounds every operation as IEEE 754 asks; only the payload and sign of a NaN differ from the
RTL's, and no operation's value depends on them. So NaNs are made canonical where words are kept.
"""

from __future__ import annotations

import numpy as np

NAN_BITS = 0x7FC0_0000
ZERO, ONE, INFINITY = np.float32(0), np.float32(1), np.float32(np.inf)


def canonical(x: np.ndarray) -> np.ndarray:
    """Return x (any shape, float32) with every NaN replaced by the canonical one."""
    bad = np.isnan(x)
    if not bad.any():
        return x
    bits = x.view(np.uint32).copy()
    bits[bad] = NAN_BITS
    return bits.view(np.float32)


def from_bits(word: int) -> np.float32:
    """Return the float32 with the bits of a 32-bit word."""
    return np.uint32(word).view(np.float32)


def to_bits(value: float | np.float32) -> int:
    """Return the bits of a value rounded to float32, NaN canonical."""
    number = np.float32(value)
    return NAN_BITS if np.isnan(number) else int(number.view(np.uint32))


def words(x: np.ndarray) -> np.ndarray:
    """Return the bits (uint32) of a float32 array, NaN canonical."""
    return canonical(np.ascontiguousarray(x, dtype=np.float32)).view(np.uint32)
