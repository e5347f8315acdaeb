"""DDPG on the qat engine: networks, records and greedy actions; acting is the engine's.

Source: FIXAR II-A; Lillicrap et al. 2016 (DDPG).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from jackdaw.agents.actor_critic import OUTPUT_SCALE
from jackdaw.agents.base import EnvironmentSpec, Parameters, Transition, default_initialization
from jackdaw.agents.recipes import QatRecipe
from jackdaw.drivers.qat import QatSettings
from jackdaw.errors import ConfigError
from models.qat.layout import Geometry
from models.qat.records import Transitions, pack


class QatAgent:
    """DDPG with quantization-aware training.

    Args:
        recipe: all settings.
        spec: the environment's shapes.
    Raises: ConfigError if actions are not continuous.
    """

    def __init__(self, recipe: QatRecipe, spec: EnvironmentSpec) -> None:
        if not spec.continuous:
            raise ConfigError(f"{recipe.environment}: got discrete actions, want continuous ones")
        self.recipe = recipe
        self.spec = spec

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        """Draw the first weights of actor and critic."""
        hidden, spec = self.recipe.hidden, self.spec
        actor = default_initialization([spec.states, *hidden, spec.actions], rng)
        weight, bias = actor[-1]
        actor[-1] = (weight * OUTPUT_SCALE, bias * OUTPUT_SCALE)
        return [actor, default_initialization([spec.states + spec.actions, *hidden, 1], rng)]

    def settings(self, seed: int) -> QatSettings:
        """What the engine is configured with; the seed is of its noise."""
        recipe = self.recipe
        return QatSettings(
            qdelay=recipe.qdelay,
            headroom=recipe.headroom,
            tau=recipe.tau,
            noise=recipe.noise,
            sigma=recipe.sigma[0],
            theta=recipe.theta,
            seed=seed,
        )

    def exploration(self, step: int) -> float:
        """Size of the noise on actions after `step` environment steps."""
        return self.recipe.scheduled(self.recipe.sigma, self.recipe.sigma_steps, step)

    def pack(self, transitions: list[Transition], geometry: Geometry) -> np.ndarray:
        """Records as device memory holds them, [n, stride] uint8."""
        rows = Transitions.of(
            np.stack([t.state for t in transitions]),
            np.stack([np.asarray(t.action) for t in transitions]),
            np.array([t.reward for t in transitions]),
            np.array([t.discount for t in transitions]),
            np.stack([t.next_state for t in transitions]),
        )
        return pack(rows, geometry)


class Actions(Protocol):
    """A policy without noise."""

    def actions(self, states: np.ndarray) -> np.ndarray:
        """Actions, [n, A] float64, of [n, S] states."""


class Player:
    """A policy as evaluations play it; of the engine to the bit of INFER without noise."""

    def __init__(self, policy: Actions) -> None:
        self.policy = policy

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """The best action for each of [B, S] states; the parameters are the policy's own."""
        return self.policy.actions(states)
