"""Greedy episodes that judge an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.base import Parameters
from jackdaw.runtime.environment import finite


class Player(Protocol):
    """What an evaluation needs of an agent."""

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """Return the best action for each of [B, S] states."""


def evaluate(
    agent: Player,
    parameters: Parameters,
    make: Callable[[], gymnasium.Env[Any, Any]],
    episodes: int,
    seed: int,
) -> list[float]:
    """Play greedy episodes, all at once, on environments of their own.

    Args:
        agent: chooses the actions.
        parameters: the weights to judge.
        make: makes one environment.
        episodes: how many, at least 1.
        seed: episode i is reset with seed + i.
    Returns: the undiscounted returns, in order.
    Raises: NonfiniteError.
    """
    environments = [make() for _ in range(episodes)]
    try:
        states = np.stack(
            [
                finite(e, 0, e.reset(seed=(seed + i) % (1 << 31))[0])[0]
                for i, e in enumerate(environments)
            ]
        )
        returns = np.zeros(episodes)
        active = np.arange(episodes)
        step = 0
        while active.size:
            step += 1
            actions = agent.greedy(parameters, states[active])
            ended = np.zeros(active.size, dtype=bool)
            for k, (i, action) in enumerate(zip(active, actions, strict=True)):
                observed, given, terminated, truncated, _ = environments[i].step(action)
                states[i], reward = finite(environments[i], step, observed, given)
                returns[i] += reward
                ended[k] = terminated or truncated
            active = active[~ended]
        return [float(r) for r in returns]
    finally:
        for environment in environments:
            environment.close()
