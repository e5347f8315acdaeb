"""Numbers of the sparse engine: conversions, multiply-add, tanh and sigmoid, one rounding each.

FP16 is binary16, FP32 is binary32: nearest even, subnormals, one canonical NaN (`models/float`).
Source: LearningGroup III-D (FP16 units); docs/sparse.md (numbers).
"""

from __future__ import annotations

import math

import numpy as np

from models.float import add, canonical, convert, from_fixed, mul

TABLE_BITS = 18  # of fraction, of a table's entries
SEGMENT = 10  # bits of an argument within a segment of the table
RESULT = 28  # binary point of an interpolated value
TANH_TABLE = np.array([math.floor(math.tanh(k / 64) * 2**TABLE_BITS + 0.5) for k in range(513)])


def half(x: np.ndarray) -> np.ndarray:
    """FP32 to FP16, one rounding; mirrors jd_float_convert."""
    return convert(np.asarray(x, np.float32), np.float16)


def single(x: np.ndarray) -> np.ndarray:
    """FP16 to FP32, exact; mirrors jd_float_convert."""
    return convert(np.asarray(x, np.float16), np.float32)


def multiply_add(acc: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """acc + x * w in FP16, the product and the sum rounded; mirrors a VPU."""
    return add(acc, mul(x, w))


def _interpolated(x: np.ndarray, scale: int, most: float) -> np.ndarray:
    """The tangent of |x| * 2**(scale-16), binary point 28, int64; x finite or infinite."""
    size = np.minimum(np.abs(x.astype(np.float64)), most)
    fixed = np.floor(size * 2.0**scale + 0.5).astype(np.int64)
    k, part = np.minimum(fixed >> SEGMENT, 511), fixed & (1 << SEGMENT) - 1
    low = TANH_TABLE[k]
    found = (low << SEGMENT) + (TANH_TABLE[k + 1] - low) * part
    return np.where(size >= most, 1 << RESULT, found)


def tanh(x: np.ndarray) -> np.ndarray:
    """The tangent, [...] float16; exact below 2**-5, +-1 from 8 on."""
    x = np.asarray(x, np.float16)
    clean = np.where(np.isnan(x), np.float16(0), x)
    value = np.copysign(from_fixed(_interpolated(clean, 16, 8.0), RESULT, np.float16), clean)
    out = np.where(np.abs(clean) < 2.0**-5, clean, value)
    return canonical(np.where(np.isnan(x), np.float16(np.nan), out).astype(np.float16))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) by the tangent of x/2, [...] float16."""
    x = np.asarray(x, np.float16)
    clean = np.where(np.isnan(x), np.float16(0), x)
    part = _interpolated(clean, 15, 16.0) >> 1
    value = (1 << RESULT - 1) + np.where(np.signbit(clean), -part, part)
    out = from_fixed(value, RESULT, np.float16)
    return canonical(np.where(np.isnan(x), np.float16(np.nan), out).astype(np.float16))


def of_all_codes(function: object) -> np.ndarray:
    """What tanh or sigmoid give for every FP16 code, [65536] float32."""
    assert callable(function)
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return single(function(codes))


TANH_OF, SIGMOID_OF = of_all_codes(tanh), of_all_codes(sigmoid)
