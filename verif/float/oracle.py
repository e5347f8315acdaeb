# SPDX-License-Identifier: Apache-2.0
"""An oracle that is independent of the host's arithmetic: MPFR through gmpy2."""

from __future__ import annotations

import gmpy2
import numpy as np

PRECISION = {"f32": (24, 128, 32), "f16": (11, 16, 16)}  # significand, largest exponent, bits
NAN = {"f32": 0x7FC00000, "f16": 0x7E00}
DTYPES = {"f32": (np.uint32, np.float32), "f16": (np.uint16, np.float16)}


def to_float(bits: np.ndarray, float_format: str) -> np.ndarray:
    """Bit patterns [N] as floats [N]."""
    word, real = DTYPES[float_format]
    return np.asarray(bits).astype(word).view(real)


def to_bits(values: np.ndarray) -> np.ndarray:
    """Floats [N] as bit patterns, [N] uint64."""
    return values.view(f"u{values.dtype.itemsize}").astype(np.uint64)


def context(float_format: str) -> gmpy2.context:
    """The gmpy2 context of a format: round to nearest even, with subnormals."""
    return gmpy2.ieee(PRECISION[float_format][2])


def value(bits: int, float_format: str) -> gmpy2.mpfr:
    """One bit pattern as an exact number."""
    return gmpy2.mpfr(float(to_float(np.array([bits]), float_format)[0]))


def pattern(number: gmpy2.mpfr, float_format: str) -> int:
    """The bit pattern of a number that the format holds."""
    if gmpy2.is_nan(number):
        return NAN[float_format]
    real = DTYPES[float_format][1]
    with np.errstate(all="ignore"):
        packed = np.array([float(number)]).astype(real)
    assert gmpy2.is_infinite(number) or float(packed[0]) == float(number), number
    return int(to_bits(packed)[0])


def operate(operation: str, a: int, b: int, float_format: str) -> int:
    """add, sub, mul, div or sqrt of bit patterns, rounded once by MPFR."""
    with gmpy2.context(context(float_format)):
        x, y = value(a, float_format), value(b, float_format)
        match operation:
            case "add":
                result = gmpy2.add(x, y)
            case "sub":
                result = gmpy2.sub(x, y)
            case "mul":
                result = gmpy2.mul(x, y)
            case "div":
                result = gmpy2.div(x, y)
            case _:
                result = gmpy2.sqrt(x)
        return pattern(result, float_format)


def from_integer(integer: int, fraction: int, float_format: str) -> int:
    """The pattern of integer / 2**fraction, rounded once."""
    with gmpy2.context(context(float_format)):
        return pattern(gmpy2.mpfr(gmpy2.mpq(integer, 1 << fraction)), float_format)


def to_integer(bits: int, width: int, fraction: int, signed: bool, float_format: str) -> int:
    """The nearest fixed-point word, saturated, by rational arithmetic."""
    most = (1 << (width - signed)) - 1
    least = -(most + 1) if signed else 0
    number = float(to_float(np.array([bits]), float_format)[0])
    if number != number or number == float("inf"):
        return most
    if number == float("-inf"):
        return least
    numerator, denominator = number.as_integer_ratio()
    scaled = gmpy2.mpq(numerator, denominator) * (1 << fraction)
    floor = int(scaled.numerator // scaled.denominator)
    rest = scaled - floor
    up = rest > gmpy2.mpq(1, 2) or (rest == gmpy2.mpq(1, 2) and floor % 2)
    return max(least, min(most, floor + int(up)))


def interesting(float_format: str) -> list[int]:
    """Both signs of zeros, subnormals, normals around powers of two, extremes and NaNs."""
    width, man = PRECISION[float_format][2], PRECISION[float_format][0] - 1
    exp = width - 1 - man
    top, bias, ones = (1 << exp) - 1, (1 << (exp - 1)) - 1, (1 << man) - 1
    mantissas = [0, 1, ones >> 1, (ones >> 1) + 1, ones]
    exponents = [0, 1, 2, bias - man - 1, bias - man, bias - 1, bias, bias + 1, bias + man, top - 1]
    magnitudes = [e << man | m for e in [*exponents, top] for m in mantissas]
    return [s << (width - 1) | m for m in magnitudes for s in (0, 1)]
