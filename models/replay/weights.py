"""Importance weights, w = (p_min / p)^beta: as rtl/replay/jd_replay_weight.sv."""

from __future__ import annotations

import numpy as np

from models.replay import kernels
from models.replay.kernels import BETA_ONE, ONE_FP32
from models.replay.priority import TABLES

__all__ = ["BETA_ONE", "ONE_FP32", "weights"]


def weights(values: np.ndarray, minimum: int, beta: int) -> np.ndarray:
    """Weights of a batch.

    Args:
        values: [B] int64 priorities, minimum or more.
        minimum: smallest priority of the batch, at least 1.
        beta: exponent, unsigned Q2.30; more than 1.0 counts as 1.0.
    Returns: [B] uint32, FP32 bits; exactly 1.0 for the minimum, never subnormal.
    """
    return kernels.weights(values, minimum, beta, TABLES)
