"""The lockstep training loop: actors step, records are inserted, the accelerator trains.

Order of one round (thesis 4.2, messages 7, 1..6, 8): each actor takes its share of `ratio` steps
with the published weights; their records are reserved, written and committed; one gradient job
runs; the new weights are published. Insertion has ended before sampling begins, so no index that is
being written can be sampled, and a run is a function of its seed on every backend.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.base import Agent, Parameters
from jackdaw.agents.recipes import OWN_VECTOR
from jackdaw.runtime.actor import Actor, ActorPool, NStepWindow, Pool, VectorPool
from jackdaw.runtime.evaluation import Makes, evaluate
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.vector import VectorEnvironment
from jackdaw.runtime.weights import WeightStore


@dataclass(frozen=True)
class StepResult:
    """What one training job returned.

    Attributes:
        steps: gradient steps done.
        mean_td: mean |TD error| of the last batch.
        parameters: the weights of the network that acts, after it.
    """

    steps: int
    mean_td: float
    parameters: Parameters


class Trainer(Protocol):
    """An accelerator (or its stand-in) that holds replay, networks and transitions."""

    def insert(self, rows: np.ndarray) -> None:
        """Store packed records, [n, stride] uint8, with the highest priority."""

    def train(self, steps: int) -> StepResult:
        """Run gradient steps and read the weights back."""

    def parameters(self) -> Parameters:
        """Read the weights of the network that acts from the device."""

    def cycles(self) -> int:
        """Clocks of inserting and training, in all parts of the run (0 without a device)."""


@dataclass
class Progress:
    """Where a run is; also what is logged.

    Attributes:
        gradient_steps, environment_steps, episodes: counts.
        mean_return: mean of the last 20 training episodes.
        mean_td: mean |TD error| of the last batch.
        exploration: epsilon, or the standard deviation of the noise on actions.
        cycles: device clocks of inserting and training, in all parts of the run; so the others.
        device_seconds: wall time inside device calls.
        seconds: wall time.
        evaluation: mean return of the newest greedy evaluation and its episodes, or None.
    """

    gradient_steps: int = 0
    environment_steps: int = 0
    episodes: int = 0
    mean_return: float = 0.0
    mean_td: float = 0.0
    exploration: float = 1.0
    cycles: int = 0
    device_seconds: float = 0.0
    seconds: float = 0.0
    evaluation: tuple[float, int] | None = None


@dataclass
class History:
    """The curve of a run.

    Attributes:
        episodes: (environment step, gradient step, return) of each training episode.
        evaluations: (gradient step, episodes, mean return) of each greedy evaluation.
        td: mean |TD error| of each gradient job.
    """

    episodes: list[tuple[int, int, float]] = field(default_factory=list)
    evaluations: list[tuple[int, int, float]] = field(default_factory=list)
    td: list[float] = field(default_factory=list)


SCREENS = (5, 20)
EVALUATION_EPISODES = 100


class LockstepRun:
    """One run: agent, actors and accelerator under one seed.

    Args:
        agent: recipe and shapes.
        trainer: the accelerator, holding the agent's initial parameters.
        make: makes one environment, or a user's VectorEnv.
        seed: the run's seed.
        parameters: the initial parameters of the network that acts, published as version 0.
    """

    def __init__(
        self,
        agent: Agent,
        trainer: Trainer,
        make: Makes,
        seed: int,
        parameters: Parameters,
    ) -> None:
        recipe = agent.recipe
        self.agent = agent
        self.trainer = trainer
        self.make = make
        self.seed = seed
        self.weights = WeightStore(parameters)
        self.actors = [
            Actor(
                i,
                recipe.actors,
                agent,
                NStepWindow(recipe.n_step, recipe.gamma, recipe.reward_scale),
                generator(seed, "actor", i),
            )
            for i in range(recipe.actors)
        ]
        self.pool = self._pool()
        self.progress = Progress()
        self.history = History()
        self.recent: deque[float] = deque(maxlen=20)
        self.stored = 0
        self.solved = False
        self._began = time.perf_counter()

    def rounds(self) -> Iterator[Progress]:
        """Train until solved or out of steps; yields after each round."""
        recipe = self.agent.recipe
        while self.stored < recipe.warm:
            self._collect()
            yield self.progress
        while not self.solved and self.progress.gradient_steps < recipe.max_steps:
            self._collect()
            self._train()
            if self.progress.gradient_steps % recipe.evaluate_every == 0:
                self.solved = self._evaluate()
            yield self.progress

    def close(self) -> None:
        """End the actors."""
        self.pool.close()

    def _pool(self) -> Pool:
        """The actors in threads, or together."""
        recipe = self.agent.recipe
        seeds = [derive(self.seed, "environment", actor.number) for actor in self.actors]
        if recipe.vector is None:
            return ActorPool(self.actors, self._one, seeds, self.weights)

        def together(states: list[dict[str, Any]] | None) -> VectorEnvironment:
            assert recipe.vector is not None
            if recipe.vector == OWN_VECTOR:
                return VectorEnvironment.of(recipe.environment)
            return VectorEnvironment.side_by_side(
                recipe.environment, recipe.actors, recipe.vector, states
            )

        return VectorPool(self.actors, together, seeds, self.weights)

    def _one(self) -> gymnasium.Env[Any, Any]:
        made = self.make()
        assert isinstance(made, gymnasium.Env)
        return made

    def _collect(self) -> None:
        recipe = self.agent.recipe
        blocks = self.pool.collect(recipe.ratio)
        transitions = [t for block in blocks for t in block.transitions]
        self.progress.environment_steps += sum(block.steps for block in blocks)
        for block in blocks:
            for value in block.returns:
                self.recent.append(value)
                self.progress.episodes += 1
                self.history.episodes.append(
                    (self.progress.environment_steps, self.progress.gradient_steps, value)
                )
        if transitions:
            began = time.perf_counter()
            self.trainer.insert(self.agent.pack(transitions))
            self.progress.device_seconds += time.perf_counter() - began
            self.stored += len(transitions)
        self.progress.mean_return = float(np.mean(self.recent)) if self.recent else 0.0
        self.progress.exploration = self.agent.exploration(self.progress.environment_steps)
        self.progress.cycles = self.trainer.cycles()
        self.progress.seconds = time.perf_counter() - self._began

    def _train(self) -> None:
        began = time.perf_counter()
        result = self.trainer.train(1)
        self.progress.device_seconds += time.perf_counter() - began
        self.weights.publish(result.parameters)
        self.progress.gradient_steps += result.steps
        self.progress.mean_td = result.mean_td
        self.history.td.append(result.mean_td)
        self.progress.cycles = self.trainer.cycles()
        self.progress.seconds = time.perf_counter() - self._began

    def _evaluate(self) -> bool:
        """Screen with few episodes, then judge by 100. The screens only skip hopeless cases."""
        threshold = self.agent.recipe.threshold
        parameters = self.trainer.parameters()
        for number, episodes in enumerate((*SCREENS, EVALUATION_EPISODES)):
            seed = derive(self.seed, f"evaluation{number}", self.progress.gradient_steps)
            returns = evaluate(self.agent, parameters, self.make, episodes, seed)
            mean = float(np.mean(returns))
            self.progress.evaluation = (mean, episodes)
            if mean < threshold or episodes == EVALUATION_EPISODES:
                self.history.evaluations.append((self.progress.gradient_steps, episodes, mean))
                return mean >= threshold
        return False

    def state(self) -> dict[str, Any]:
        """Everything of the host's that decides how the run goes on."""
        return {
            "progress": asdict(self.progress),
            "history": asdict(self.history),
            "recent": list(self.recent),
            "stored": self.stored,
            "solved": self.solved,
            "parameters": self.weights.read().parameters,
            "actors": [
                {
                    "environment": environment,
                    "pending": list(actor.window.pending),
                    "rng": actor.rng.bit_generator.state,
                    "taken": actor.taken,
                    "episode_return": actor.episode_return,
                    "state": actor.state,
                }
                for actor, environment in zip(self.actors, self.pool.kept(), strict=True)
            ],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same recipe and seed."""
        self.progress = Progress(**state["progress"])
        self.history = History(**state["history"])
        self.recent.extend(state["recent"])
        self.stored = state["stored"]
        self.solved = state["solved"]
        self.weights.publish(state["parameters"])
        for actor, saved in zip(self.actors, state["actors"], strict=True):
            actor.window.pending.extend(saved["pending"])
            actor.rng.bit_generator.state = saved["rng"]
            actor.taken = saved["taken"]
            actor.episode_return = saved["episode_return"]
            actor.state = saved["state"]
        self.pool.restore([saved["environment"] for saved in state["actors"]])
        self._began = time.perf_counter() - self.progress.seconds
