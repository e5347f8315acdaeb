"""The loss unit: TD errors and the gradient of the Q loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.learner.fp import canonical

MODE_MAX, MODE_DOUBLE = 0, 1


@dataclass(frozen=True)
class Loss:
    """What LOSS_Q gives for a batch.

    Attributes:
        gradient: [B, n_a] float32, of the mean loss with respect to q.
        delta: [B] float32, TD errors q[a] - y.
        bad_index: [B] bool, the action is outside 0..n_a-1; its q[a] counts as +0.
        not_finite: [B] bool, delta or the gradient is a NaN or an infinity.
    """

    gradient: np.ndarray
    delta: np.ndarray
    bad_index: np.ndarray
    not_finite: np.ndarray


def first_largest(v: np.ndarray) -> np.ndarray:
    """Return [B] int64: the first of the largest entries of each row of v ([B, n]).

    An entry replaces the one so far only if it is strictly greater; so a NaN in front stays.
    """
    best = np.zeros(v.shape[0], np.int64)
    rows = np.arange(v.shape[0])
    with np.errstate(all="ignore"):
        for a in range(1, v.shape[1]):
            best = np.where(v[:, a] > v[rows, best], a, best)
    return best


def q_loss(
    q: np.ndarray,
    q_next: np.ndarray,
    chooser: np.ndarray | None,
    action: np.ndarray,
    reward: np.ndarray,
    discount: np.ndarray,
    weight: np.ndarray,
    inverse_batch: np.float32,
    kappa: np.float32,
) -> Loss:
    """Compute the TD errors and gradients of a batch; all float32 but the action.

    y = r + d*m with m the largest q_next (or q_next at the largest chooser); delta = q[a] - y;
    g[a] = clamp(delta, -kappa, kappa) * (w * invB), the other entries +0.

    Args:
        q, q_next: [B, n_a] of s and of s'.
        chooser: [B, n_a] online values of s' (double Q), or None.
        action: [B] int32.
        reward, discount, weight: [B].
        inverse_batch: 1/B as the host rounded it.
        kappa: threshold of the Huber loss; +inf for the squared error.
    Source: learner LOSS_Q; mirrors rtl/learner/jd_learner_loss.sv bit for bit.
    """
    rows = np.arange(q.shape[0])
    bad_index = (action < 0) | (action >= q.shape[1])
    slot = np.where(bad_index, 0, action)
    with np.errstate(all="ignore"):
        largest = q_next[rows, first_largest(q_next if chooser is None else chooser)]
        y = reward + discount * largest
        value = np.where(bad_index, np.float32(0), q[rows, slot])
        delta = value - y
        clamped = np.where(delta > kappa, kappa, np.where(delta < -kappa, -kappa, delta))
        chosen = canonical(clamped * (weight * inverse_batch))
    gradient = np.zeros_like(q)
    gradient[rows[~bad_index], slot[~bad_index]] = chosen[~bad_index]
    return Loss(
        gradient=gradient,
        delta=canonical(delta),
        bad_index=bad_index,
        not_finite=~(np.isfinite(delta) & np.isfinite(chosen)),
    )
