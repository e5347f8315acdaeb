"""The three modes of the tensor unit: forward, backward and weight gradient, bit for bit.

All arrays are float32. Multiplications and additions are rounded one by one, in the order that the
functions state. Nothing depends on the number of lanes; OUTER depends on the number of pipelines.
"""

from __future__ import annotations

import numpy as np

from models.learner.fp import canonical
from models.learner.tree import tree_sum


def dot(w: np.ndarray, x: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Forward pass of one layer: y[b][j] = TREE_i(w[j][i] * x[b][i]) + bias[j].

    Args:
        w: [n_out, n_in] weights.
        x: [B, n_in] inputs.
        bias: [n_out], or None to add nothing.
    Returns: [B, n_out].
    Source: learner DOT (CF stage FW).
    """
    with np.errstate(all="ignore"):
        products = x.T[:, :, None] * np.ascontiguousarray(w.T)[:, None, :]
        y = tree_sum(products)
        return canonical(y if bias is None else y + bias)


def relu(y: np.ndarray) -> np.ndarray:
    """Return y where y > 0 or y is a NaN, else +0."""
    with np.errstate(all="ignore"):
        return np.where((y > 0) | np.isnan(y), y, np.float32(0))


def axpy(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Backward pass of one layer: a[b][i] = +0, then for j ascending a += d[b][j] * w[j][i].

    Args:
        w: [n_out, n_in] weights.
        d: [B, n_out] gradients of the layer's outputs before their activation.
    Returns: [B, n_in], before the mask.
    Source: learner AXPY (CF stage BW).
    """
    with np.errstate(all="ignore"):
        columns = np.ascontiguousarray(d.T)
        total = np.zeros((d.shape[0], w.shape[1]), np.float32)
        for j in range(w.shape[0]):
            total += columns[j][:, None] * w[j]
        return canonical(total)


def mask(a: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return a where h > 0, else +0 (derivative of ReLU)."""
    with np.errstate(all="ignore"):
        return np.where(h > 0, a, np.float32(0))


def outer(
    d: np.ndarray, x: np.ndarray, pipelines: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight and bias gradient of one layer, summed over the samples in their order.

    Pipeline p adds samples p, p + pipelines, ... to +0; then pairs of pipelines are added.

    Args:
        d: [B, n_out] gradients of the outputs.
        x: [B, n_in] inputs.
        pipelines: 1, 2, 4 or 8.
    Returns: [n_out, n_in] and [n_out] gradients; [B] bool, whether a NaN or an infinity was in a
        sum after sample b.
    Source: learner OUTER and reduce (CF stages WA and WU).
    """
    bad = np.zeros(d.shape[0], bool)
    parts, bias_parts = [], []
    with np.errstate(all="ignore"):
        for p in range(pipelines):
            g = np.zeros((d.shape[1], x.shape[1]), np.float32)
            gb = np.zeros(d.shape[1], np.float32)
            for b in range(p, d.shape[0], pipelines):
                g += d[b][:, None] * x[b]
                gb += d[b]
            if not (np.isfinite(g).all() and np.isfinite(gb).all()):
                bad |= _first_bad(d, x, range(p, d.shape[0], pipelines))
            parts.append(g)
            bias_parts.append(gb)
        while len(parts) > 1:
            parts = [a + b for a, b in zip(parts[0::2], parts[1::2], strict=True)]
            bias_parts = [a + b for a, b in zip(bias_parts[0::2], bias_parts[1::2], strict=True)]
    return canonical(parts[0]), canonical(bias_parts[0]), bad


def _first_bad(d: np.ndarray, x: np.ndarray, samples: range) -> np.ndarray:
    """Repeat the sums sample by sample; [B] bool, true from the first sample that spoils one."""
    bad = np.zeros(d.shape[0], bool)
    g = np.zeros((d.shape[1], x.shape[1]), np.float32)
    gb = np.zeros(d.shape[1], np.float32)
    for b in samples:
        g += d[b][:, None] * x[b]
        gb += d[b]
        bad[b] = not (np.isfinite(g).all() and np.isfinite(gb).all())
    return bad
