"""What an agent is to the runtime: spaces in, networks, actions and packed records out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.recipes import Recipe
from jackdaw.drivers.learner import Learner
from jackdaw.errors import ConfigError
from models.learner.program import Program

Parameters = list[tuple[np.ndarray, np.ndarray]]
"""A network's layers in PyTorch's layout: (weights [n_out, n_in], biases [n_out]), float32."""

Action = int | np.ndarray
"""A discrete action, or [A] float32 from -1 to 1."""


@dataclass(frozen=True)
class Transition:
    """One n-step record, before it is packed for device memory.

    Attributes:
        state: [S] float32, s_t.
        action: the action taken in s_t.
        reward: sum over k of gamma**k * r[t+k], times the reward scale.
        discount: gamma**n, or 0 if the episode terminated inside the window.
        next_state: [S] float32, s_(t+n).
        noise: [A] float32 that the target action in s_(t+n) is disturbed by, if any.
    """

    state: np.ndarray
    action: Action
    reward: float
    discount: float
    next_state: np.ndarray
    noise: np.ndarray | None = None


class HasSpaces(Protocol):
    """An environment, or a VectorEnv of them."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Of one environment."""

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Of one environment."""


@dataclass(frozen=True)
class EnvironmentSpec:
    """Shapes of an environment with a flat observation.

    Attributes:
        states: S, words of an observation.
        actions: number of discrete actions, or A, elements of a continuous one.
        continuous: actions are A numbers from -1 to 1.
    """

    states: int
    actions: int
    continuous: bool = False

    @staticmethod
    def of(environment: HasSpaces) -> EnvironmentSpec:
        """Read the spaces. Raises ConfigError for spaces that no agent can use."""
        observation, action = environment.observation_space, environment.action_space
        box = gymnasium.spaces.Box
        if not isinstance(observation, box) or len(observation.shape) != 1:
            raise ConfigError(f"observation space: got {observation}, want a Box of one dimension")
        states = int(observation.shape[0])
        if isinstance(action, gymnasium.spaces.Discrete):
            if int(action.start) != 0:
                raise ConfigError(f"action space: got first action {action.start}, want 0")
            return EnvironmentSpec(states, int(action.n))
        if not isinstance(action, box) or len(action.shape) != 1:
            raise ConfigError(f"action space: got {action}, want Discrete or a flat Box")
        if not (np.all(action.low == -1) and np.all(action.high == 1)):
            raise ConfigError(
                f"action space: got {action}, want -1..1 (see runtime/environment.py)"
            )
        return EnvironmentSpec(states, int(action.shape[0]), continuous=True)

    @property
    def action_words(self) -> int:
        """Words of an action in a record."""
        return self.actions if self.continuous else 1


class Agent(Protocol):
    """An algorithm with a recipe, applied to an environment's shapes.

    Attributes:
        stride: bytes from one record in device memory to the next.
    """

    stride: int

    @property
    def recipe(self) -> Recipe:
        """All settings."""

    @property
    def spec(self) -> EnvironmentSpec:
        """The environment's shapes."""

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        """Draw the first weights of every network; network 0 is the one that acts."""

    def program(self, learner: Learner) -> Program:
        """Lower the algorithm for a build. Raises ConfigError if it cannot hold it."""

    def exploration(self, step: int) -> float:
        """How much actors explore after `step` environment steps."""

    def act(
        self, parameters: Parameters, state: np.ndarray, rng: np.random.Generator, step: int
    ) -> Action:
        """Choose an action for one state; `step` counts the environment steps of all actors."""

    def smoothing(self, rng: np.random.Generator) -> np.ndarray | None:
        """Draw what a record's target action is disturbed by, if the algorithm does that."""

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """Return the best action for each of [B, S] states."""

    def pack(self, transitions: list[Transition]) -> np.ndarray:
        """Return the records as device memory holds them, [n, stride] uint8."""


def record_words(spec: EnvironmentSpec, smoothing: bool = False) -> int:
    """Words (32 bits) of a record in device memory: s, action, reward, discount, s', noise.

    Args:
        spec: the environment's shapes.
        smoothing: whether it ends in noise for the target action, as long as an action.
    """
    return 2 * spec.states + (2 if smoothing else 1) * spec.action_words + 2


def record_stride(spec: EnvironmentSpec, smoothing: bool = False) -> int:
    """Bytes from one record to the next: the next multiple of 64."""
    return -(-record_words(spec, smoothing) * 4 // 64) * 64


def pack_records(
    spec: EnvironmentSpec, stride: int, transitions: Sequence[Transition]
) -> np.ndarray:
    """Return records as device memory holds them, [n, stride] uint8; a discrete action is int32."""
    states, actions = spec.states, spec.action_words
    words = np.zeros((len(transitions), stride // 4), dtype=np.float32)
    for row, t in zip(words, transitions, strict=True):
        row[:states] = t.state
        if spec.continuous:
            row[states : states + actions] = t.action
        else:
            row[states : states + 1] = np.array([t.action], dtype=np.int32).view(np.float32)
        rest = row[states + actions :]
        rest[:2] = t.reward, t.discount
        rest[2 : 2 + states] = t.next_state
        if t.noise is not None:
            rest[2 + states : 2 + states + actions] = t.noise
    return words.view(np.uint8)


def default_initialization(
    sizes: Sequence[int], rng: np.random.Generator
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
