"""Greedy episodes that judge an agent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.base import Parameters
from jackdaw.runtime.environment import finite
from jackdaw.runtime.vector import SEEDS, VectorEnvironment

Makes = Callable[[], gymnasium.Env[Any, Any] | VectorEnvironment]


class Player(Protocol):
    """What an evaluation needs of an agent."""

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """Return the best action for each of [B, S] states."""


def evaluate(
    agent: Player,
    parameters: Parameters,
    make: Makes,
    episodes: int,
    seed: int,
) -> list[float]:
    """Play greedy episodes, all at once, on environments of their own.

    Args:
        agent: chooses the actions.
        parameters: the weights to judge.
        make: makes one environment, or a VectorEnv.
        episodes: how many, at least 1.
        seed: episode i is reset with seed + i.
    Returns: the undiscounted returns, in order.
    Raises: NonfiniteError.
    """
    first = make()
    if isinstance(first, VectorEnvironment):
        with closing(first):
            return together(first, partial(agent.greedy, parameters), episodes, seed)
    environments = [first, *(_single(make) for _ in range(episodes - 1))]
    try:
        states = np.stack(
            [
                finite(e, 0, e.reset(seed=(seed + i) % SEEDS)[0])[0]
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


def together(
    environments: VectorEnvironment,
    choose: Callable[[np.ndarray], np.ndarray],
    episodes: int,
    seed: int,
) -> list[float]:
    """Play episodes in a VectorEnv, N at once; each environment plays one after each reset.

    Args:
        environments: the VectorEnv.
        choose: the actions for [N, S] states.
        episodes: how many, at least 1.
        seed: episode i is reset with seed + i.
    Returns: the undiscounted returns, in order.
    Raises: NonfiniteError.
    """
    count, returns = environments.count, []
    for first in range(0, episodes, count):
        begun = environments.reset([seed + first + i for i in range(count)])
        states = np.stack([finite(environments.label(i), 0, o)[0] for i, o in enumerate(begun)])
        totals, active = np.zeros(count), np.arange(count) < episodes - first
        step = 0
        while active.any():
            step += 1
            actions = choose(states)
            waiting = environments.waiting
            outcomes = environments.step(
                [None if waits else a for a, waits in zip(actions, waiting, strict=True)]
            )
            for i, outcome in enumerate(outcomes):
                observed, given, terminated, truncated = outcome.given
                if active[i]:
                    states[i], reward = finite(environments.label(i), step, observed, given)
                    totals[i] += reward
                    active[i] = not (terminated or truncated)
        returns += totals[: episodes - first].tolist()
    return returns


def _single(make: Makes) -> gymnasium.Env[Any, Any]:
    made = make()
    assert isinstance(made, gymnasium.Env)
    return made
