"""Importance weights, w = (p_min / p)^beta: as rtl/replay/jd_replay_weight.sv."""

from __future__ import annotations

import numpy as np

from models.replay.priority import exp2_mantissa, log2_mantissa

ONE_FP32 = 0x3F800000
BETA_ONE = 1 << 30


def log2_integer(values: np.ndarray) -> np.ndarray:
    """2^20 log2(value), from the leading one and the 23 bits below it (truncated).

    Args:
        values: int64, 1..2^32-1.
    Returns: int64.
    """
    leading = np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1
    below = (values << (32 - leading)) & 0xFFFFFFFF
    return (leading << 20) + log2_mantissa(below >> 9)


def weights(values: np.ndarray, minimum: int, beta: int) -> np.ndarray:
    """Weights of a batch.

    Args:
        values: [B] int64 priorities, minimum or more.
        minimum: smallest priority of the batch, at least 1.
        beta: exponent, unsigned Q2.30; more than 1.0 counts as 1.0.
    Returns: [B] uint32, FP32 bits; exactly 1.0 for the minimum, never subnormal.
    """
    distance = log2_integer(values) - log2_integer(np.array([minimum], np.int64))
    power = -((distance * min(beta, BETA_ONE)) >> 30)
    mantissa = exp2_mantissa(power & 0xFFFFF)
    return (((127 + (power >> 20)) << 23) + (mantissa - (1 << 23))).astype(np.uint32)
