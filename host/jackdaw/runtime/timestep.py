"""The loop of FIXAR: one environment on the host, everything else on the device.

A timestep: the environment takes the action that the device chose; its record is stored; the device
draws a batch, trains on it and chooses the next action, in one job. So the host computes nothing,
and a run is a function of its seed on every backend. In the device's place PyTorch can train in
float32, for comparison.

Source: FIXAR III, Figure 2; docs/qat.md (host).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from jackdaw.agents.base import Transition
from jackdaw.agents.qat_ddpg import Actions, Player, QatAgent
from jackdaw.runtime.actor import NStepWindow
from jackdaw.runtime.environment import Environment, finite
from jackdaw.runtime.evaluation import evaluate
from jackdaw.runtime.lockstep import EVALUATION_EPISODES, SCREENS, History, Progress
from jackdaw.runtime.seeds import derive, generator


class Trainer(Protocol):
    """What the loop trains on: a device, or PyTorch in float32."""

    def insert(self, transitions: list[Transition]) -> None:
        """Store records, the oldest first."""

    def act(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """The actor's action with noise of size sigma, [A], without a timestep."""

    def train(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """Run one timestep of DDPG and choose the next action for a state as `act` does, [A]."""

    def policy(self) -> Actions:
        """The actor as it acts now."""

    def mean_td(self) -> float:
        """Mean |TD error| of the last batch."""

    def cycles(self) -> int:
        """Clocks of acting and training, in all parts of the run (0 without a device)."""

    def networks(self) -> dict[str, np.ndarray]:
        """All that was learned, by name."""

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs to go on to the bit."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same agent."""

    def measurements(self) -> dict[str, Any]:
        """Figures of the run for summary.json."""

    def close(self) -> None:
        """Give back what it holds."""


class TimestepRun:
    """One run: agent, environment and device under one seed.

    Args:
        agent: recipe and shapes.
        trainer: holds the agent's initial parameters.
        make: makes the environment.
        seed: of the run.
    """

    def __init__(
        self, agent: QatAgent, trainer: Trainer, make: Callable[[], Environment], seed: int
    ) -> None:
        recipe = agent.recipe
        self.agent, self.trainer, self.make, self.seed = agent, trainer, make, seed
        self.environment = make()
        observed, _ = self.environment.reset(seed=derive(seed, "environment") % (1 << 31))
        self.state, _ = finite(self.environment, 0, observed)
        self.rng = generator(seed, "actor")
        self.window = NStepWindow(recipe.n_step, recipe.gamma, recipe.reward_scale)
        self.action: np.ndarray | None = None  # for the state, if the device has chosen one
        self.episode_return = 0.0
        self.stored = 0
        self.solved = False
        self.progress, self.history = Progress(exploration=recipe.sigma[0]), History()
        self.recent: deque[float] = deque(maxlen=20)
        self._began = time.perf_counter()

    def rounds(self) -> Iterator[Progress]:
        """Train for the recipe's timesteps; yields after each, and before them each step taken.

        It ends before if the recipe stops at its threshold and that is reached.
        """
        recipe, progress = self.agent.recipe, self.progress
        while progress.gradient_steps < recipe.max_steps and not (recipe.stops and self.solved):
            self._step()
            warm = self.stored >= recipe.warm
            if warm and progress.environment_steps % recipe.ratio:
                self.action = None  # that of an earlier state
                continue
            if warm:
                self._train()
            progress.cycles = self.trainer.cycles()
            progress.seconds = time.perf_counter() - self._began
            yield progress

    def close(self) -> None:
        """Close the environment."""
        self.environment.close()

    def _step(self) -> None:
        """Take the action that is due, or while nothing is trained a uniform one."""
        progress = self.progress
        if self.stored < self.agent.recipe.warm:
            action = self.rng.uniform(-1, 1, self.agent.spec.actions)
        elif self.action is None:
            action = self.trainer.act(self.state, progress.exploration)
        else:
            action = self.action
        observed, given, terminated, truncated, _ = self.environment.step(action)
        progress.environment_steps += 1
        progress.exploration = self.agent.exploration(progress.environment_steps)
        following, reward = finite(self.environment, progress.environment_steps, observed, given)
        ended = terminated or truncated
        self.episode_return += reward
        transitions = self.window.push(self.state, action, reward, following, terminated, truncated)
        if ended:
            progress.episodes += 1
            self.recent.append(self.episode_return)
            progress.mean_return = float(np.mean(self.recent))
            self.history.episodes.append(
                (progress.environment_steps, progress.gradient_steps, self.episode_return)
            )
            self.episode_return = 0.0
            observed, _ = self.environment.reset()
            following, _ = finite(self.environment, progress.environment_steps, observed)
        self.state = following
        if transitions:
            began = time.perf_counter()
            self.trainer.insert(transitions)
            progress.device_seconds += time.perf_counter() - began
            self.stored += len(transitions)

    def _train(self) -> None:
        """Train once; the action for the present state comes with it."""
        recipe, progress = self.agent.recipe, self.progress
        began = time.perf_counter()
        self.action = self.trainer.train(self.state, progress.exploration)
        progress.device_seconds += time.perf_counter() - began
        progress.gradient_steps += 1
        if progress.gradient_steps % recipe.evaluate_every == 0:
            progress.mean_td = self.trainer.mean_td()
            self.history.td.append(progress.mean_td)
            enough, mean = progress.gradient_steps == recipe.max_steps, -np.inf
            if not enough:
                mean = self.evaluate(SCREENS[-1])
            switched = progress.gradient_steps > recipe.qdelay or recipe.qdelay >= recipe.max_steps
            if enough or (recipe.stops and switched and mean >= recipe.threshold):
                self.evaluate(EVALUATION_EPISODES)

    def evaluate(self, episodes: int) -> float:
        """Mean return of episodes without noise; those of 100 tell whether the run is solved."""
        steps = self.progress.gradient_steps
        seed = derive(self.seed, f"evaluation{episodes}", steps)
        returns = evaluate(Player(self.trainer.policy()), [], self.make, episodes, seed)
        mean = float(np.mean(returns))
        self.progress.evaluation = (mean, episodes)
        self.history.evaluations.append((steps, episodes, mean))
        self.solved = episodes == EVALUATION_EPISODES and mean >= self.agent.recipe.threshold
        return mean

    def state_of(self) -> dict[str, Any]:
        """Everything of the host's that decides how the run goes on."""
        return {
            "progress": asdict(self.progress),
            "history": asdict(self.history),
            "recent": list(self.recent),
            "stored": self.stored,
            "solved": self.solved,
            "environment": self.environment.state(),
            "state": self.state,
            "action": self.action,
            "episode_return": self.episode_return,
            "pending": list(self.window.pending),
            "rng": self.rng.bit_generator.state,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same recipe and seed."""
        self.progress = Progress(**state["progress"])
        self.history = History(**state["history"])
        self.recent.extend(state["recent"])
        self.stored, self.solved = state["stored"], state["solved"]
        self.environment.close()
        self.environment = Environment.restored(state["environment"])
        self.state, self.action = state["state"], state["action"]
        self.episode_return = state["episode_return"]
        self.window.pending.extend(state["pending"])
        self.rng.bit_generator.state = state["rng"]
        self._began = time.perf_counter() - self.progress.seconds
