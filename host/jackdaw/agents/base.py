"""What an agent is to the runtime: spaces in, networks, actions and packed records out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np

from jackdaw.errors import ConfigError


@dataclass(frozen=True)
class EnvironmentSpec:
    """Shapes of an environment with a flat observation and discrete actions.

    Attributes:
        states: S, words of an observation.
        actions: number of discrete actions.
    """

    states: int
    actions: int

    @staticmethod
    def of(environment: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
        """Read the spaces. Raises ConfigError for spaces that DQN cannot use."""
        observation, action = environment.observation_space, environment.action_space
        if not isinstance(observation, gymnasium.spaces.Box) or len(observation.shape) != 1:
            raise ConfigError(f"observation space: got {observation}, want a Box of one dimension")
        if not isinstance(action, gymnasium.spaces.Discrete):
            raise ConfigError(f"action space: got {action}, want Discrete")
        if int(action.start) != 0:
            raise ConfigError(f"action space: got first action {action.start}, want 0")
        return EnvironmentSpec(int(observation.shape[0]), int(action.n))


def record_words(spec: EnvironmentSpec) -> int:
    """Words (32 bits) of one record in device memory: s, action, reward, discount, s'."""
    return 2 * spec.states + 3


def record_stride(spec: EnvironmentSpec) -> int:
    """Bytes from one record to the next: the next multiple of 64."""
    return -(-record_words(spec) * 4 // 64) * 64


def default_initialization(
    sizes: list[int], rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw weights as PyTorch's Linear does: uniform in +-1/sqrt(n_in), biases too.

    Args:
        sizes: widths of all layers, input first.
        rng: the generator.
    Returns: a layer each, ([n_out, n_in], [n_out]) float32.
    """
    out = []
    for n_in, n_out in pairwise(sizes):
        bound = 1.0 / np.sqrt(n_in)
        weight = rng.uniform(-bound, bound, (n_out, n_in)).astype(np.float32)
        bias = rng.uniform(-bound, bound, n_out).astype(np.float32)
        out.append((weight, bias))
    return out
