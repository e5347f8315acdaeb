"""The order in which the learner sums: adjacent pairs, level by level."""

from __future__ import annotations

import numpy as np


def padded_length(n: int) -> int:
    """Return the length to which TREE pads n terms: max(4, next power of two)."""
    return max(4, 1 << (n - 1).bit_length())


def tree_sum(terms: np.ndarray) -> np.ndarray:
    """Sum over the first axis as the adder tree does.

    Args:
        terms: [N, ...] float32, N >= 1.
    Returns: [...] float32; the terms padded with +0 to padded_length(N), then adjacent pairs
        (2k, 2k+1) added level by level. The padding is really added: it turns -0 into +0.
    Source: learner DOT; mirrors rtl/learner/jd_learner_tensor_unit.sv bit for bit.
    """
    length = padded_length(terms.shape[0])
    if length != terms.shape[0]:
        padding = np.zeros((length - terms.shape[0], *terms.shape[1:]), np.float32)
        terms = np.concatenate([terms, padding])
    while terms.shape[0] > 1:
        terms = terms[0::2] + terms[1::2]
    return terms[0]


def mean_magnitude(delta: np.ndarray, inverse_batch: np.float32) -> np.float32:
    """Return TREE(|delta|) * invB.

    Args:
        delta: [B] float32.
        inverse_batch: 1/B as the host rounded it.
    """
    total = tree_sum(np.abs(delta))
    return np.float32(total * inverse_batch)
