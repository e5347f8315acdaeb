"""The loop of a team: episodes are played on the engine, then it trains on them.

An update plays B episodes to their last step with the weights of now, then goes back through all
steps. The games and all draws are the host's, so that a run is a function of its seed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jackdaw.agents.ic3net import (
    Ic3netRecipe,
    LossScale,
    draw,
    initial_parameters,
    output_gradient,
    returns,
)
from jackdaw.device.base import Device
from jackdaw.drivers.sparse import Sparse
from jackdaw.environments import make_team
from jackdaw.environments.predator_prey import PredatorPrey
from jackdaw.errors import NonfiniteError
from jackdaw.runtime.figures import Figures
from jackdaw.runtime.lockstep import History, Progress
from jackdaw.runtime.seeds import derive, generator
from models.sparse.ic3net import ACTIONS


@dataclass(frozen=True)
class Played:
    """Episodes that were played.

    Attributes:
        logits, values, actions, gates, rewards, live: [T, V, ...], see `output_gradient`.
        succeeded: [B] bool.
    """

    logits: np.ndarray
    values: np.ndarray
    actions: np.ndarray
    gates: np.ndarray
    rewards: np.ndarray
    live: np.ndarray
    succeeded: np.ndarray


def play(driver: Sparse, game: PredatorPrey, rng: np.random.Generator) -> Played:
    """Play an episode of each of B games, from its first step on; actions are drawn.

    Args:
        driver: with the network of the game.
        game: is reset.
        rng: draws.
    Raises: NonfiniteError if the network gives a NaN or an infinity.
    """
    vectors = game.num_envs * game.agents
    seen, _ = game.reset()
    driver.begin()
    gates = np.zeros(vectors, np.int64)
    kept: list[tuple[np.ndarray, ...]] = []
    for _ in range(game.steps):
        live = np.repeat(~game.ended, game.agents)
        found, value = driver.step(seen.reshape(vectors, -1), gates)
        if not (np.isfinite(found).all() and np.isfinite(value).all()):
            raise NonfiniteError(
                f"ic3net, step {driver.step_number} of the episodes: an output of the network is "
                "not finite; a smaller rate may help"
            )
        chosen = draw(found[:, :ACTIONS], rng)
        gates = draw(found[:, ACTIONS:], rng)
        seen, reward, *_ = game.step(chosen.reshape(game.num_envs, game.agents))
        kept.append((found, value, chosen, gates, reward.reshape(-1), live))
    parts = [np.stack(rows) for rows in zip(*kept, strict=True)]
    logits, values, actions, gates, rewards, live = parts
    return Played(logits, values, actions, gates, rewards, live, game.succeeded.copy())


class TeamTrainer:
    """The engine as the loop sees it: IC3Net with its masks on one device.

    Args:
        device: an open device with a sparse engine.
        recipe: all settings.
        game: gives the shapes.
        seed: of the run.
    Attributes:
        driver: of the engine.
        scale: of the loss.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(self, device: Device, recipe: Ic3netRecipe, game: PredatorPrey, seed: int) -> None:
        self.device, self.recipe = device, recipe
        self.scale = LossScale(recipe.loss_scale)
        self.driver = Sparse(device)
        with self.driver.opening():
            settings = recipe.settings(
                game.width, game.agents, game.steps, derive(seed, "rounding")
            )
            self.driver.configure(settings)
            self.driver.load(initial_parameters(self.driver.layers, generator(seed, "network")))
            self.figures = Figures(device, self.driver)

    def close(self) -> None:
        """Give the engine back."""
        self.driver.close()

    def play(self, game: PredatorPrey, rng: np.random.Generator) -> Played:
        """Play B episodes."""
        with self.figures.working():
            return play(self.driver, game, rng)

    def train(self, played: Played) -> float:
        """An update. Returns: mean |R - V| over live steps."""
        goals = returns(played.rewards)
        dout = output_gradient(
            played.logits, played.values, played.actions, played.gates, goals, played.live,
            self.recipe.value, self.recipe.entropy,
        )  # fmt: skip
        agents = self.driver.layout.sizes.agents
        steps = played.live.sum() / agents
        with self.figures.working():
            done = self.driver.train(dout * self.scale.value, self.scale.value, float(steps))
        self.scale.after(done.skipped)
        return float(np.abs(goals - played.values)[played.live].mean())

    def cycles(self) -> int:
        """Clocks of the device, in all parts of the run."""
        return self.figures.clocks

    def state(self) -> dict[str, Any]:
        """All of the device's that decides how the run goes on."""
        figures = self.figures.state()
        with self.figures.aside():
            return {
                **self.driver.state(),
                "scale": self.scale.value,
                "clean": self.scale.clean,
                "figures": figures,
            }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.driver.load_state(state)
        self.scale.value, self.scale.clean = state["scale"], state["clean"]
        self.figures.load_state(state["figures"])

    def measurements(self) -> dict[str, Any]:
        """Figures of the run for summary.json."""
        return {
            "clock_hz": self.device.clock_hz,
            "cycles_are": "measured" if self.device.measured else "estimated",
            "total_cycles": self.figures.clocks,
            "cycles_per_engine": self.figures.per_engine(),
            "loss_scale": self.scale.value,
            **self.driver.statistics(),
        }


class TeamRun:
    """One run: games and engine under one seed.

    Args:
        recipe: all settings.
        trainer: the engine's side.
        game: of B episodes.
        seed: of the run.
    Attributes:
        progress: counts; `mean_return` is the mean success of the newest updates.
        history: an entry per update, whose return is the share of its episodes that succeeded.
        solved: whether the mean success reached the threshold.
    """

    def __init__(
        self, recipe: Ic3netRecipe, trainer: TeamTrainer, game: PredatorPrey, seed: int
    ) -> None:
        self.recipe, self.trainer, self.game, self.seed = recipe, trainer, game, seed
        self.rng = generator(seed, "actions")
        game.reset(seed=derive(seed, "environment") % (1 << 31))
        self.progress, self.history = Progress(), History()
        self.solved = False
        self._began = time.perf_counter()

    def rounds(self) -> Iterator[Progress]:
        """Train until solved or out of updates; yields after each update."""
        progress = self.progress
        while not self.solved and progress.gradient_steps < self.recipe.max_steps:
            began = time.perf_counter()
            played = self.trainer.play(self.game, self.rng)
            progress.mean_td = self.trainer.train(played)
            progress.device_seconds += time.perf_counter() - began
            progress.gradient_steps += 1
            progress.environment_steps += int(played.live.sum()) // self.game.agents
            progress.episodes += self.game.num_envs
            self.history.episodes.append(
                (
                    progress.environment_steps, progress.gradient_steps,
                    float(played.succeeded.mean()),
                )
            )  # fmt: skip
            newest = [entry[2] for entry in self.history.episodes[-self.recipe.window :]]
            progress.mean_return = float(np.mean(newest))
            progress.cycles = self.trainer.cycles()
            progress.seconds = time.perf_counter() - self._began
            self.solved = (
                len(newest) == self.recipe.window and progress.mean_return >= self.recipe.threshold
            )
            yield progress

    def evaluate(self, episodes: int) -> float:
        """Share of at least so many episodes that succeed with the weights of now."""
        rng = generator(self.seed, "evaluation", self.progress.gradient_steps)
        game = make_team(self.recipe.environment, self.recipe.episodes)
        game.reset(seed=derive(self.seed, "final") % (1 << 31))
        rounds = -(-episodes // self.recipe.episodes)
        won = [self.trainer.play(game, rng).succeeded.mean() for _ in range(rounds)]
        return float(np.mean(won))

    def state_of(self) -> dict[str, Any]:
        """Everything of the host's that decides how the run goes on."""
        return {
            "progress": asdict(self.progress),
            "history": asdict(self.history),
            "solved": self.solved,
            "game": self.game.get_state(),
            "rng": self.rng.bit_generator.state,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same recipe and seed."""
        self.progress = Progress(**state["progress"])
        self.history = History(**state["history"])
        self.solved = state["solved"]
        self.game.set_state(state["game"])
        self.rng.bit_generator.state = state["rng"]
        self._began = time.perf_counter() - self.progress.seconds

    def close(self) -> None:
        """End the games."""
        self.game.close()
