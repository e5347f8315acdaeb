"""Communication of IC3Net: each agent gets the mean of the others' gated outputs, in FP32.

Source: Singh, Jain, Sukhbaatar 2019 (IC3Net); docs/sparse.md (numbers).
"""

from __future__ import annotations

import numpy as np

from models.float import add, mul, sub
from models.sparse.numbers import half, single


def _others(values: np.ndarray, inverse: np.float32) -> np.ndarray:
    """((sum over agents) - own) * inverse, rounded to FP16; [B, A, H] float32 to float16."""
    total = np.zeros(values[:, 0].shape, np.float32)
    for agent in range(values.shape[1]):
        total = add(total, values[:, agent])
    return half(mul(sub(np.broadcast_to(total[:, None], values.shape), values), inverse))


def forward(h: np.ndarray, gates: np.ndarray, inverse: np.float32) -> np.ndarray:
    """What agents hear.

    Args:
        h: [B, A, H] float16, outputs of the step before.
        gates: [B, A] bool, who speaks.
        inverse: 1 / (A - 1).
    Returns: [B, A, H] float16.
    """
    return _others(np.where(gates[..., None], single(h), np.float32(0)), inverse)


def backward(
    dh: np.ndarray, dcom: np.ndarray, gates: np.ndarray, inverse: np.float32
) -> np.ndarray:
    """Add the gradient of what agents said to dh.

    Args:
        dh, dcom: [B, A, H] float16: by h so far; by what agents heard.
        gates, inverse: see `forward`.
    Returns: [B, A, H] float16.
    """
    return np.where(gates[..., None], add(dh, _others(single(dcom), inverse)), dh)
