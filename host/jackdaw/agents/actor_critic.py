"""DDPG and TD3 agents: actions of the actor network with Gaussian noise.

As in dqn.py an action depends on the weights' bits and the actor's generator alone. TD3's target
action is disturbed by noise that is drawn once a record, where its publication draws it once a
sample: the accelerator finds it beside the record.
Source: Lillicrap et al. 2016 (DDPG); Fujimoto et al. 2018 (TD3).
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
from jackdaw.agents.recipes import ActorCriticRecipe
from jackdaw.drivers.learner import Learner
from jackdaw.errors import ConfigError
from models.learner.mlp import dot, relu
from models.learner.program import Program
from models.learner.tanh import tanh

OUTPUT_SCALE = np.float32(0.1)  # of the actor's last layer at first: small actions


class ActorCriticAgent:
    """DDPG, or TD3 if the recipe has twin critics (see `base.Agent`).

    Args:
        recipe: all settings.
        spec: the environment's shapes.
    Raises: ConfigError if actions are not continuous.
    """

    def __init__(self, recipe: ActorCriticRecipe, spec: EnvironmentSpec) -> None:
        if not spec.continuous:
            raise ConfigError(f"{recipe.environment}: got discrete actions, want continuous ones")
        self.recipe = recipe
        self.spec = spec
        self.actor = [spec.states, *recipe.hidden, spec.actions]
        self.critic = [spec.states + spec.actions, *recipe.hidden, 1]
        self.stride = record_stride(spec, recipe.twin)

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        """See Agent: actor, critic and, of TD3, the second critic."""
        actor = default_initialization(self.actor, rng)
        weight, bias = actor[-1]
        actor[-1] = (weight * OUTPUT_SCALE, bias * OUTPUT_SCALE)
        critics = [default_initialization(self.critic, rng) for _ in range(1 + self.recipe.twin)]
        return [actor, *critics]

    def program(self, learner: Learner) -> Program:
        """See Agent."""
        recipe = self.recipe
        return learner.actor_critic(
            self.actor,
            self.critic,
            recipe.slot(recipe.learning_rate),
            recipe.slot(recipe.critic_learning_rate),
            twin=recipe.twin,
            delay=recipe.delay,
            tau=recipe.tau,
            kappa=recipe.huber,
            lagged=recipe.lagged,
        )

    def exploration(self, step: int) -> float:
        """Standard deviation of the noise on actions; 1 (and uniform) during the warm-up."""
        return self.recipe.scheduled(self.recipe.noise, self.recipe.noise_steps, step)

    def act(
        self, parameters: Parameters, state: np.ndarray, rng: np.random.Generator, step: int
    ) -> np.ndarray:
        """Choose an action: uniform during the warm-up, then the actor's with noise."""
        if step < self.recipe.warm:
            return rng.uniform(-1, 1, self.spec.actions).astype(np.float32)
        noise = rng.normal(0, self.exploration(step), self.spec.actions)
        action = self.greedy(parameters, state[None])[0] + noise.astype(np.float32)
        return np.clip(action, np.float32(-1), np.float32(1))

    def smoothing(self, rng: np.random.Generator) -> np.ndarray | None:
        """See Agent: clipped noise, for TD3."""
        if not self.recipe.twin:
            return None
        deviation, most = self.recipe.smoothing
        noise = rng.normal(0, deviation, self.spec.actions)
        return np.clip(noise, -most, most).astype(np.float32)

    def greedy(self, parameters: Parameters, states: np.ndarray) -> np.ndarray:
        """See Agent: [B, A] float32, -1..1."""
        values = states
        for weight, bias in parameters[:-1]:
            values = relu(dot(weight, values, bias))
        return tanh(dot(parameters[-1][0], values, parameters[-1][1]))

    def pack(self, transitions: list[Transition]) -> np.ndarray:
        """See Agent."""
        return pack_records(self.spec, self.stride, transitions)
