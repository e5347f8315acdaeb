"""The loss unit: TD errors, gradients of the Q loss, of a critic's and of an actor's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.learner.fp import canonical

MODE_MAX, MODE_DOUBLE, MODE_TWIN = 0, 1, 2


@dataclass(frozen=True)
class Loss:
    """What a LOSS stage gives for a batch.

    Attributes:
        gradient: [B, n_a] float32, of the mean loss with respect to q.
        delta: [B] float32, TD errors q[a] - y; none of LOSS_PI.
        bad_index: [B] bool, the action is outside 0..n_a-1; its q[a] counts as +0.
        not_finite: [B] bool, delta or the gradient is a NaN or an infinity; of twins also the value
            that was not chosen.
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
        chosen = _scaled(delta, weight, inverse_batch, kappa)
    gradient = np.zeros_like(q)
    gradient[rows[~bad_index], slot[~bad_index]] = chosen[~bad_index]
    return Loss(
        gradient=gradient,
        delta=canonical(delta),
        bad_index=bad_index,
        not_finite=~(np.isfinite(delta) & np.isfinite(chosen)),
    )


def td_loss(
    q: np.ndarray,
    q_next: np.ndarray,
    twin: np.ndarray | None,
    reward: np.ndarray,
    discount: np.ndarray,
    weight: np.ndarray,
    inverse_batch: np.float32,
    kappa: np.float32,
) -> Loss:
    """Compute a critic's TD errors and gradients; all float32.

    y = r + d*m with m = q_next, or of twins the smaller; delta = q - y;
    g = clamp(delta, -kappa, kappa) * (w * invB).

    Args:
        q: [B, 1] of s and the action taken, online.
        q_next: [B, 1] of s' and the target actor's action, target critic.
        twin: [B, 1], the same of the second target critic, or None.
        reward, discount, weight: [B].
        inverse_batch: 1/B as the host rounded it.
        kappa: threshold of the Huber loss; +inf for the squared error.
    Source: learner LOSS_TD ("Continuous Control with Deep Reinforcement Learning", algorithm 1;
        "Addressing Function Approximation Error in Actor-Critic Methods", algorithm 1).
    """
    good = np.ones(q.shape[0], bool)
    with np.errstate(all="ignore"):
        value = q_next[:, 0]
        if twin is not None:
            good = np.isfinite(q_next[:, 0]) & np.isfinite(twin[:, 0])
            value = np.where(q_next[:, 0] > twin[:, 0], twin[:, 0], q_next[:, 0])
        delta = q[:, 0] - (reward + discount * value)
        gradient = _scaled(delta, weight, inverse_batch, kappa)
    return Loss(
        gradient=gradient[:, None],
        delta=canonical(delta),
        bad_index=np.zeros(q.shape[0], bool),
        not_finite=~(good & np.isfinite(delta) & np.isfinite(gradient)),
    )


def actor_loss(q: np.ndarray, inverse_batch: np.float32) -> Loss:
    """Compute the gradient of the actor's loss, -mean(q), with respect to q: -invB.

    Args:
        q: [B, 1] of s and the actor's action; only looked at for a NaN or an infinity.
        inverse_batch: 1/B as the host rounded it. Importance weights are not applied.
    Source: learner LOSS_PI; "Deterministic Policy Gradient Algorithms", theorem 1.
    """
    gradient = canonical(np.full_like(q, -inverse_batch))
    return Loss(
        gradient=gradient,
        delta=np.zeros(0, np.float32),
        bad_index=np.zeros(q.shape[0], bool),
        not_finite=~(np.isfinite(q) & np.isfinite(gradient))[:, 0],
    )


def _scaled(
    delta: np.ndarray, weight: np.ndarray, inverse_batch: np.float32, kappa: np.float32
) -> np.ndarray:
    """Return clamp(delta, -kappa, kappa) * (w * invB), [B]."""
    clamped = np.where(delta > kappa, kappa, np.where(delta < -kappa, -kappa, delta))
    return canonical(clamped * (weight * inverse_batch))
