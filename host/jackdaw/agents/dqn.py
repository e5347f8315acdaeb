"""Deep Q-network agent: epsilon-greedy actions and packed transitions.

The host's forward pass uses the golden model's order of operations, so that an action depends on
the weights' bits alone and a run is the same on every backend.
Source: Mnih et al. 2015; n-step and prioritized replay as in Hessel et al. 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from jackdaw.agents.base import (
    EnvironmentSpec,
    default_initialization,
    record_stride,
    record_words,
)
from jackdaw.agents.recipes import Recipe
from jackdaw.runtime.actor import Transition
from jackdaw.runtime.weights import Parameters
from models.learner.mlp import dot, relu


class DqnAgent:
    """A recipe applied to an environment's shapes.

    Args:
        recipe: all settings.
        spec: the environment's shapes.
    """

    def __init__(self, recipe: Recipe, spec: EnvironmentSpec) -> None:
        self.recipe = recipe
        self.spec = spec
        self.sizes = [spec.states, *recipe.hidden, spec.actions]
        self.stride = record_stride(spec)

    def initial_parameters(self, rng: np.random.Generator) -> Parameters:
        """Draw the network's first weights."""
        return default_initialization(self.sizes, rng)

    def values(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """Return the action values, [B, actions] float32, of [B, S] states."""
        values = states
        for weight, bias in parameters[:-1]:
            values = relu(dot(weight, values, bias))
        return dot(parameters[-1][0], values, parameters[-1][1])

    def epsilon(self, step: int) -> float:
        """Exploration rate after `step` environment steps; 1 during the warm-up."""
        recipe = self.recipe
        start, end = recipe.epsilon
        fraction = min(1.0, max(0.0, (step - recipe.warm) / recipe.epsilon_steps))
        return start + (end - start) * fraction

    def act(
        self, parameters: Parameters, state: np.ndarray, rng: np.random.Generator, step: int
    ) -> int:
        """Choose an action: random with probability epsilon, else the greedy one."""
        if rng.random() < self.epsilon(step):
            return int(rng.integers(self.spec.actions))
        return int(np.argmax(self.values(parameters, state[None])[0]))

    def pack(self, transitions: list[Transition]) -> np.ndarray:
        """Return the records as device memory holds them, [n, stride] uint8."""
        states = self.spec.states
        words = np.zeros((len(transitions), self.stride // 4), dtype=np.float32)
        for row, t in zip(words, transitions, strict=True):
            row[:states] = t.state
            row[states : states + 1] = np.array([t.action], dtype=np.int32).view(np.float32)
            row[states + 1] = t.reward
            row[states + 2] = t.discount
            row[states + 3 : record_words(self.spec)] = t.next_state
        return words.view(np.uint8)


def evaluate(
    agent: DqnAgent,
    parameters: Parameters,
    make: Callable[[], gymnasium.Env[Any, Any]],
    episodes: int,
    seed: int,
) -> list[float]:
    """Play greedy episodes, all at once, on environments of their own.

    Args:
        agent: supplies the action values.
        parameters: the weights to judge.
        make: makes one environment.
        episodes: how many, at least 1.
        seed: episode i is reset with seed + i.
    Returns: the undiscounted returns, in order.
    """
    environments = [make() for _ in range(episodes)]
    try:
        states = np.stack(
            [e.reset(seed=(seed + i) % (1 << 31))[0] for i, e in enumerate(environments)]
        ).astype(np.float32)
        returns = np.zeros(episodes)
        active = np.arange(episodes)
        while active.size:
            actions = np.argmax(agent.values(parameters, states[active]), axis=1)
            ended = np.zeros(active.size, dtype=bool)
            for k, (i, action) in enumerate(zip(active, actions, strict=True)):
                states[i], reward, terminated, truncated, _ = environments[i].step(int(action))
                returns[i] += float(reward)
                ended[k] = terminated or truncated
            active = active[~ended]
        return [float(r) for r in returns]
    finally:
        for environment in environments:
            environment.close()
