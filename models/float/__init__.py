# SPDX-License-Identifier: Apache-2.0
"""Golden models of the floating-point blocks: NumPy's arithmetic with one canonical NaN.

Every function works on arrays (or scalars) of float32 or float16, rounds once to nearest even,
keeps subnormals, and gives bit for bit what the blocks in `rtl/lib/float` give. A NaN that comes
out is the quiet NaN 0x7fc00000 (0x7e00), whatever came in.

Errors: TypeError if the operands are not of one of these types, both the same.
Source: IEEE 754-2019, clause 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Operand = np.ndarray | np.floating[Any]
FLOATS = (np.dtype(np.float32), np.dtype(np.float16))
EXACT_BITS = 53  # integers up to 2**53 are exact in binary64


def canonical(values: np.ndarray) -> np.ndarray:
    """Map every NaN to the canonical one.

    Args:
        values: [...] float32 or float16; changed in place if it is an array.
    Returns: [...] of the same type.
    """
    bad = np.isnan(values)
    if not bad.any():
        return values
    if np.ndim(values) == 0:
        return values.dtype.type(np.nan)
    values[bad] = np.nan
    return values


def mul(a: Operand, b: Operand) -> np.ndarray:
    """a * b; mirrors jd_float_mul."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return canonical(np.multiply(a, b))


def add(a: Operand, b: Operand) -> np.ndarray:
    """a + b; mirrors jd_float_add."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return canonical(np.add(a, b))


def sub(a: Operand, b: Operand) -> np.ndarray:
    """a - b; mirrors jd_float_add with subtract_i."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return canonical(np.subtract(a, b))


def div(a: Operand, b: Operand) -> np.ndarray:
    """a / b; mirrors jd_float_div."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return canonical(np.divide(a, b))


def sqrt(a: Operand) -> np.ndarray:
    """The square root of a; mirrors jd_float_sqrt."""
    _check(a)
    with np.errstate(all="ignore"):
        return canonical(np.sqrt(a))


def less(a: Operand, b: Operand) -> np.ndarray:
    """a < b, false if unordered; mirrors less_o of jd_float_compare. Returns: [...] bool."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return np.less(a, b)


def equal(a: Operand, b: Operand) -> np.ndarray:
    """a = b, false if unordered; mirrors equal_o of jd_float_compare. Returns: [...] bool."""
    _check(a, b)
    with np.errstate(all="ignore"):
        return np.equal(a, b)


def convert(a: np.ndarray, dtype: Any) -> np.ndarray:
    """The number in another of the formats, rounded once; mirrors jd_float_convert."""
    a = np.asarray(a)
    _check(a)
    with np.errstate(all="ignore"):
        return canonical(a.astype(dtype))


def from_fixed(values: np.ndarray, fraction: int = 0, dtype: Any = np.float32) -> np.ndarray:
    """The float nearest to values / 2**fraction; mirrors jd_float_from_fixed.

    Args:
        values: [...] integers of any type up to 64 bits; the type's sign is that of the block.
        fraction: FracW, 0..64 bits.
        dtype: float32 or float16.
    Returns: [...] dtype.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iu" or np.dtype(dtype) not in FLOATS:
        raise TypeError(f"{values.dtype} to {np.dtype(dtype)}: want an integer to float32 or 16")
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    # Longer integers lose 11 bits into a sticky bit, which keeps the second rounding correct.
    sticky = ((wide & 0x7FF) != 0).astype(wide.dtype)
    long = (wide >> EXACT_BITS != 0) & (
        wide >> EXACT_BITS != -1 if wide.dtype.kind == "i" else True
    )
    exact = np.where(
        long,
        np.ldexp(((wide >> 11) | sticky).astype(np.float64), 11 - fraction),
        np.ldexp(np.where(long, 0, wide).astype(np.float64), -fraction),
    )
    with np.errstate(all="ignore"):
        return exact.astype(dtype)


def to_fixed(a: np.ndarray, integer: int, fraction: int = 0, signed: bool = True) -> np.ndarray:
    """The fixed-point value nearest to a * 2**fraction; mirrors jd_float_to_fixed.

    Args:
        a: [...] float32 or float16.
        integer, fraction: IntW and FracW, 2..64 bits in all.
        signed: two's complement.
    Returns: [...] int64 (uint64 if not signed). What lies outside saturates, a NaN gives the
        largest value.
    """
    _check(a)
    width = integer + fraction
    if not 2 <= width <= 64:
        raise ValueError(f"{width} bits: want 2..64")
    most = 2 ** (width - signed) - 1
    least = -(most + 1) if signed else 0
    dtype = np.int64 if signed else np.uint64
    with np.errstate(all="ignore"):
        scaled = np.rint(np.ldexp(np.asarray(a, dtype=np.float64), fraction))
    high = ~(scaled < float(most + 1))  # NaN too
    low = scaled < float(least)
    out = np.where(high | low, 0.0, scaled).astype(dtype)
    out = np.where(high, dtype(most), out)
    return np.where(low, dtype(least), out)


def _check(*operands: Operand) -> None:
    kinds = {np.asarray(x).dtype for x in operands}
    if len(kinds) != 1 or not kinds <= set(FLOATS):
        raise TypeError(f"operands of type {sorted(map(str, kinds))}: want all float32 or float16")
