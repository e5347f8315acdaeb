"""Tuned settings: one named recipe an environment and algorithm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jackdaw.errors import ConfigError


@dataclass(frozen=True)
class Recipe:
    """All that decides a DQN run, apart from its seed and its device.

    Attributes:
        environment: Gymnasium id.
        hidden: widths of the hidden layers.
        optimizer: `adam`, `momentum` or `sgd`.
        learning_rate: step size.
        batch: transitions a gradient step, 1..the build's maximum.
        gamma: discount an environment step, 0..1.
        n_step: environment steps a transition spans, at least 1.
        ratio: environment steps (all actors) a gradient step.
        alpha: priority exponent, 0..1.99.
        beta: importance-sampling exponent at the start, 0..1.
        beta_steps: gradient steps until beta is 1.
        epsilon_priority: added to |TD error| before the exponent.
        sync: gradient steps between hard copies into the target network.
        warm: transitions stored before the first gradient step.
        epsilon: exploration at the start and at the end of its schedule.
        epsilon_steps: environment steps of the linear schedule.
        reward_scale: multiplies the reward before it is stored.
        huber: clip of the TD error in the gradient (kappa); None for squared error.
        double: double DQN.
        capacity: transitions held by replay.
        actors: environments stepped side by side.
        threshold: mean return of the evaluation at which the run stops.
        evaluate_every: gradient steps between evaluations.
        max_steps: gradient steps after which the run gives up.
    """

    environment: str
    hidden: tuple[int, ...] = (64, 64)
    optimizer: str = "adam"
    learning_rate: float = 0.02
    batch: int = 32
    gamma: float = 0.99
    n_step: int = 10
    ratio: int = 32
    alpha: float = 0.4
    beta: float = 0.4
    beta_steps: int = 3000
    epsilon_priority: float = 0.01
    sync: int = 5
    warm: int = 500
    epsilon: tuple[float, float] = (1.0, 0.1)
    epsilon_steps: int = 3000
    reward_scale: float = 0.1
    huber: float | None = 1.0
    double: bool = False
    capacity: int = 65536
    actors: int = 4
    threshold: float = 475.0
    evaluate_every: int = 25
    max_steps: int = 700

    def __post_init__(self) -> None:
        checks: dict[str, tuple[Any, bool, str]] = {
            "hidden": (self.hidden, all(h >= 1 for h in self.hidden), "widths of at least 1"),
            "optimizer": (
                self.optimizer,
                self.optimizer in ("adam", "momentum", "sgd"),
                "adam, momentum or sgd",
            ),
            "learning_rate": (self.learning_rate, self.learning_rate > 0, "more than 0"),
            "batch": (self.batch, self.batch >= 1, "at least 1"),
            "gamma": (self.gamma, 0 <= self.gamma <= 1, "0..1"),
            "n_step": (self.n_step, self.n_step >= 1, "at least 1"),
            "ratio": (self.ratio, self.ratio >= 1, "at least 1"),
            "alpha": (self.alpha, 0 <= self.alpha < 2, "0..1.99"),
            "beta": (self.beta, 0 <= self.beta <= 1, "0..1"),
            "beta_steps": (self.beta_steps, self.beta_steps >= 1, "at least 1"),
            "epsilon_priority": (self.epsilon_priority, self.epsilon_priority >= 0, "at least 0"),
            "sync": (self.sync, 1 <= self.sync < 65536, "1..65535"),
            "warm": (self.warm, self.warm >= 1, "at least 1"),
            "epsilon": (self.epsilon, all(0 <= e <= 1 for e in self.epsilon), "0..1"),
            "epsilon_steps": (self.epsilon_steps, self.epsilon_steps >= 1, "at least 1"),
            "huber": (self.huber, self.huber is None or self.huber > 0, "more than 0, or None"),
            "capacity": (
                self.capacity,
                self.capacity >= max(self.batch, 2 * self.ratio, self.warm),
                "at least the batch, twice the ratio and the warm-up",
            ),
            "actors": (self.actors, self.actors >= 1, "at least 1"),
            "evaluate_every": (self.evaluate_every, self.evaluate_every >= 1, "at least 1"),
            "max_steps": (self.max_steps, self.max_steps >= 1, "at least 1"),
        }
        for name, (value, good, want) in checks.items():
            if not good:
                raise ConfigError(f"{name}: got {value!r}, want {want}")


CARTPOLE = Recipe("CartPole-v1")
RECIPES = {
    ("dqn", "CartPole-v1"): CARTPOLE,
    ("dqn-sgd", "CartPole-v1"): replace(
        CARTPOLE,
        optimizer="sgd",
        learning_rate=0.2,
        gamma=0.98,
        warm=2000,
        epsilon_steps=1000,
        reward_scale=0.3,
        huber=None,
        max_steps=2500,
    ),
}


def recipe(agent: str, environment: str) -> Recipe:
    """Return the recipe of an agent on an environment. Raises ConfigError."""
    try:
        return RECIPES[agent, environment]
    except KeyError:
        known = ", ".join(f"{a} on {e}" for a, e in RECIPES)
        raise ConfigError(f"no recipe for {agent} on {environment}; there are: {known}") from None
