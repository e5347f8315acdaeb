"""Deep Q-network agent: epsilon-greedy actions.

The host's forward pass uses the golden model's order of operations, so that an action depends on
the weights' bits alone and a run is the same on every backend.
Source: Mnih et al. 2015; n-step and prioritized replay as in Hessel et al. 2018.
"""

from __future__ import annotations

import numpy as np

from jackdaw.agents.base import (
    EnvironmentSpec,
    Parameters,
    Transition,
    default_initialization,
    pack_records,
    record_stride,
)
from jackdaw.agents.recipes import DqnRecipe
from jackdaw.drivers.learner import Learner
from jackdaw.errors import ConfigError
from models.learner.mlp import dot, relu
from models.learner.program import Program


class DqnAgent:
    """DQN, or double DQN (see `base.Agent`).

    Args:
        recipe: all settings.
        spec: the environment's shapes.
    Raises: ConfigError if actions are not discrete.
    """

    def __init__(self, recipe: DqnRecipe, spec: EnvironmentSpec) -> None:
        if spec.continuous:
            raise ConfigError(f"{recipe.environment}: got continuous actions, want discrete ones")
        self.recipe = recipe
        self.spec = spec
        self.sizes = [spec.states, *recipe.hidden, spec.actions]
        self.stride = record_stride(spec)

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        """See Agent."""
        return [default_initialization(self.sizes, rng)]

    def program(self, learner: Learner) -> Program:
        """See Agent."""
        recipe = self.recipe
        return learner.dqn(
            self.sizes,
            recipe.slot(recipe.learning_rate),
            double=recipe.double,
            kappa=recipe.huber,
            sync_period=recipe.sync,
        )

    def values(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """Return the action values, [B, actions] float32, of [B, S] states."""
        values = states
        for weight, bias in parameters[:-1]:
            values = relu(dot(weight, values, bias))
        return dot(parameters[-1][0], values, parameters[-1][1])

    def exploration(self, step: int) -> float:
        """Epsilon; 1 during the warm-up."""
        return self.recipe.scheduled(self.recipe.epsilon, self.recipe.epsilon_steps, step)

    def act(
        self, parameters: Parameters, state: np.ndarray, rng: np.random.Generator, step: int
    ) -> int:
        """Choose an action: random with probability epsilon, else the greedy one."""
        if rng.random() < self.exploration(step):
            return int(rng.integers(self.spec.actions))
        return int(self.greedy(parameters, state[None])[0])

    def smoothing(self, rng: np.random.Generator) -> None:
        """See Agent: there is none."""

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """See Agent."""
        return np.argmax(self.values(parameters, states), axis=1)

    def pack(self, transitions: list[Transition]) -> np.ndarray:
        """See Agent."""
        return pack_records(self.spec, self.stride, transitions)
