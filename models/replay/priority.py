"""TD error to priority, p = (|d| + eps)^alpha: as rtl/replay/jd_replay_priority.sv."""

from __future__ import annotations

import numpy as np

from models.replay import kernels
from models.replay.tables import EXP2_TABLE, LOG2_TABLE

TABLES = np.array([LOG2_TABLE, EXP2_TABLE], np.int64)


def converter_words(
    *, alpha: int, eps: int, fraction_bits: int, smallest: int, largest: int
) -> np.ndarray:
    """The arguments of `priorities` as the kernels take them, [5] int64."""
    return np.array([alpha, eps, fraction_bits, smallest, largest], np.int64)


def priorities(
    errors: np.ndarray, *, alpha: int, eps: int, fraction_bits: int, smallest: int, largest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Convert TD errors.

    The logarithm and the power are interpolated in 128 segments: the error of 2^20 log2(1 + m) is
    -1.13e-5..1e-6 of a whole, the relative one of 2^23 2^f is -1e-7..3.8e-6.

    Args:
        errors: [B] uint32, FP32 bits.
        alpha: exponent, unsigned Q1.15.
        eps: FP32 bits, added to the magnitude.
        fraction_bits: PF, fraction bits of a priority.
        smallest, largest: range of the result; a leaf can hold both.
    Returns: [B] int64 priorities and [B] bool: the error was NaN or infinite after the addition
        (its priority is `largest`).
    """
    words = converter_words(
        alpha=alpha, eps=eps, fraction_bits=fraction_bits, smallest=smallest, largest=largest
    )
    return kernels.priorities(errors.astype(np.uint32), words, TABLES)
