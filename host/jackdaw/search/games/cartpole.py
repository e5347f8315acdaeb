"""Gymnasium's CartPole with compiled random play."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from jackdaw.search.environment import GymState


def compiles(base: Any) -> bool:
    """Whether random play of an environment is what is compiled here."""
    from gymnasium.envs.classic_control import CartPoleEnv

    plain = getattr(base, "kinematics_integrator", "") == "euler"
    return type(base) is CartPoleEnv and plain and not base._sutton_barto_reward


class CartPoleState(GymState):
    """CartPole; a reward of 1 for each step."""

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        """See SearchEnv."""
        base = self.base
        numbers = np.array(
            [base.gravity, base.masspole, base.total_mass, base.length, base.polemass_length,
             base.force_mag, base.tau, base.theta_threshold_radians, base.x_threshold]
        )  # fmt: skip
        if self._most is not None:
            horizon = min(horizon, self._most - self._elapsed)
        return float(_fall(np.asarray(base.state), numbers, rng.random(horizon), discount))


@njit(cache=True)
def _fall(state, numbers, choices, discount):  # type: ignore[no-untyped-def]
    """The return of random steps until the pole falls."""
    x, x_dot, theta, theta_dot = state
    gravity, pole, mass, length, moment, push, tau, tilt, far = numbers
    total, factor = 0.0, 1.0
    for choice in choices:
        force = push if choice >= 0.5 else -push
        cos, sin = np.cos(theta), np.sin(theta)
        temp = (force + moment * theta_dot * theta_dot * sin) / mass
        turn = (gravity * sin - cos * temp) / (length * (4.0 / 3.0 - pole * cos * cos / mass))
        speed = temp - moment * turn * cos / mass
        x, x_dot = x + tau * x_dot, x_dot + tau * speed
        theta, theta_dot = theta + tau * theta_dot, theta_dot + tau * turn
        total += factor
        factor *= discount
        if abs(x) > far or abs(theta) > tilt:
            break
    return total
