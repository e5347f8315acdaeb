"""TD error to priority, p = (|d| + eps)^alpha: as rtl/replay/jd_replay_priority.sv."""

from __future__ import annotations

import numpy as np

from models.replay.tables import EXP2_TABLE, LOG2_TABLE

_LOG2 = np.array(LOG2_TABLE, np.int64)
_EXP2 = np.array(EXP2_TABLE, np.int64)


def log2_mantissa(mantissa: np.ndarray) -> np.ndarray:
    """2^20 log2(1 + mantissa / 2^23), interpolated in 128 segments.

    Args:
        mantissa: int64, 0..2^23-1.
    Returns: int64, 0..2^20; error -1.13e-5..1e-6 of a whole.
    """
    segment = mantissa >> 16
    low = _LOG2[segment]
    return low + (((_LOG2[segment + 1] - low) * (mantissa & 0xFFFF) + (1 << 15)) >> 16)


def exp2_mantissa(fraction: np.ndarray) -> np.ndarray:
    """2^23 2^(fraction / 2^20), interpolated in 128 segments.

    Args:
        fraction: int64, 0..2^20-1.
    Returns: int64, 2^23..2^24-1; relative error -1e-7..3.8e-6.
    """
    segment = fraction >> 13
    low = _EXP2[segment]
    return low + (((_EXP2[segment + 1] - low) * (fraction & 0x1FFF) + (1 << 12)) >> 13)


def priorities(
    errors: np.ndarray, *, alpha: int, eps: int, fraction_bits: int, smallest: int, largest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Convert TD errors.

    Args:
        errors: [B] uint32, FP32 bits.
        alpha: exponent, unsigned Q1.15.
        eps: FP32 bits, added to the magnitude.
        fraction_bits: PF, fraction bits of a priority.
        smallest, largest: range of the result; a leaf can hold both.
    Returns: [B] int64 priorities and [B] bool: the error was NaN or infinite after the addition
        (its priority is `largest`).
    """
    magnitude = (errors.astype(np.uint32) & np.uint32(0x7FFFFFFF)).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        added = magnitude + np.array([eps], np.uint32).view(np.float32)
    bits = added.view(np.uint32).astype(np.int64)
    exponent = (bits >> 23) & 0xFF
    mantissa = bits & 0x7FFFFF
    nonfinite = exponent == 255
    zero = (exponent == 0) & (mantissa == 0)
    subnormal = exponent == 0
    log = ((np.where(subnormal, 1, exponent) - 127) << 20) + log2_mantissa(
        np.where(subnormal, 0, mantissa)
    )
    scaled = (log * alpha) >> 15
    power = exp2_mantissa(scaled & 0xFFFFF)
    shift = (scaled >> 20) + fraction_bits - 23
    right = np.clip(-shift, 1, 40)
    value = np.where(
        shift >= 0,
        power << np.clip(shift, 0, 9),
        (power + (np.int64(1) << (right - 1))) >> right,
    )
    value = np.clip(value, smallest, largest)
    value = np.where(zero, smallest, value)
    return np.where(nonfinite, largest, value), nonfinite
