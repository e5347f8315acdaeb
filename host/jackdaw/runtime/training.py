"""Trainings: an agent, its loop and its curve on a device, as every training script drives them."""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from jackdaw import ranges
from jackdaw.agents.a3c import A3cRecipe
from jackdaw.agents.base import EnvironmentSpec
from jackdaw.agents.ic3net import Ic3netRecipe
from jackdaw.agents.make import make_agent
from jackdaw.agents.qat_ddpg import QatAgent
from jackdaw.agents.recipes import OWN_VECTOR, ActorCriticRecipe, DqnRecipe, QatRecipe, Recipe
from jackdaw.device import Config, load_config
from jackdaw.device.base import Device
from jackdaw.environments import make_frames, make_team, makes_vector
from jackdaw.errors import ConfigError
from jackdaw.runtime.asynchronous import AsynchronousRun
from jackdaw.runtime.callbacks import Callbacks
from jackdaw.runtime.device_trainer import DeviceTrainer
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.evaluation import evaluate
from jackdaw.runtime.figures import Elapsed
from jackdaw.runtime.lockstep import EVALUATION_EPISODES, LockstepRun, Progress
from jackdaw.runtime.policy import (
    ActorPolicy,
    FixedPolicy,
    FramePolicy,
    Policy,
    ValuePolicy,
    spaces_of,
)
from jackdaw.runtime.qat_trainer import QatTrainer
from jackdaw.runtime.report import Curve, Line
from jackdaw.runtime.run_folder import RunFolder
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.team import TeamRun, TeamTrainer
from jackdaw.runtime.team_policy import TeamPolicy
from jackdaw.runtime.timestep import TimestepRun, Trainer
from jackdaw.runtime.together import in_turn
from jackdaw.runtime.vector import VectorEnvironment


def build(config: str | Config) -> dict[str, Any]:
    """The part of an identity that is the device's. Raises: ConfigError."""
    return {f"build {name}": value for name, value in load_config(config).identity.items()}


class Training(Protocol):
    """One agent's training.

    Attributes:
        most: steps after which it gives up.
    """

    most: int

    @property
    def step(self) -> int:
        """Steps so far, in the unit of `most`."""

    @property
    def solved(self) -> bool:
        """Whether it reached its goal."""

    def rounds(self) -> Iterator[Any]:
        """Train, to the goal or to `most`; yields after each round."""

    def state(self) -> dict[str, Any]:
        """What a later training starts with."""

    def curve(self) -> Curve:
        """The returns so far."""

    def outcome(self) -> dict[str, Any]:
        """Where it is, with a hash of all that was learned."""

    def write_events(self, writer: Any, prefix: str = "") -> None:
        """Write what is new since the last call to TensorBoard."""

    def close(self) -> None:
        """End its threads and environments, and give its engines back."""


@contextmanager
def closing_on_error(held: Any) -> Iterator[None]:
    """What a constructor does inside either ends, or closes what it holds."""
    try:
        yield
    except BaseException:
        held.close()
        raise


class _OneRun:
    """What the trainings of one loop with one trainer share; see Training."""

    trainer: Any
    run: Any

    def rounds(self) -> Iterator[Progress]:
        """See Training."""
        yield from self.run.rounds()

    def close(self) -> None:
        """See Training."""
        self.run.close()
        self.trainer.close()

    @property
    def step(self) -> int:
        """Steps so far, in the unit of the recipe's `max_steps`."""
        return self.progress.gradient_steps

    @property
    def solved(self) -> bool:
        """Whether the recipe's threshold was reached."""
        return bool(self.run.solved)

    @property
    def progress(self) -> Progress:
        """See callbacks.Watched."""
        progress: Progress = self.run.progress
        return progress


class LockstepTraining(_OneRun):
    """DQN, DDPG or TD3 on the replay and the learner engine, until an evaluation is good enough.

    Args:
        device: an open device with the two engines; None trains in float32 on PyTorch.
        recipe: all settings.
        seed: of the run.
        mode: see `DeviceTrainer`.
        start: `state` of an earlier training with the same recipe and seed.
    Attributes:
        trainer: the device's side.
        run: the loop.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(
        self,
        device: Device,
        recipe: Recipe,
        seed: int,
        mode: str = "comm_reduction",
        start: dict[str, Any] | None = None,
    ) -> None:
        self.recipe, self.seed = recipe, ranges.seed(seed)
        self.most = recipe.max_steps
        environment = self._make()
        self.agent = make_agent(recipe, EnvironmentSpec.of(environment))
        self.spaces = spaces_of(environment)
        environment.close()
        parameters = self.agent.initial_parameters(generator(seed, "network"))
        self.trainer = DeviceTrainer(device, self.agent, parameters, derive(seed, "replay"), mode)
        self._evaluation: tuple[float, int] | None = None
        with closing_on_error(self.trainer):
            self.run = LockstepRun(self.agent, self.trainer, self._make, seed, parameters[0])
            with closing_on_error(self.run):
                if start is not None:
                    self.trainer.load_state(start["trainer"])
                    self.run.load_state(start["run"])

    @staticmethod
    def identity(recipe: Recipe, seed: int, config: str | Config) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint (its end may be moved)."""
        settings = asdict(replace(recipe, max_steps=1))
        del settings["config"]  # its name; the build counts
        if settings["vector"] != OWN_VECTOR:
            del settings["vector"]  # the same bits in each way
        return {"loop": "lockstep", **settings, "seed": ranges.seed(seed), **build(config)}

    def policy(self) -> Policy:
        """See callbacks.Watched."""
        parameters = self.run.weights.read().parameters
        if isinstance(self.recipe, DqnRecipe):
            return ValuePolicy(self.recipe, self.spaces, parameters)
        assert isinstance(self.recipe, ActorCriticRecipe)
        return ActorPolicy(self.recipe, self.spaces, parameters)

    def state(self) -> dict[str, Any]:
        """See Training: all that decides how it goes on, to the bit."""
        return {"trainer": self.trainer.state(), "run": self.run.state()}

    def final_return(self) -> float:
        """Mean return of 100 greedy episodes with the weights of now."""
        if self.solved:
            return self.run.history.evaluations[-1][2]
        seed = derive(self.seed, "final")
        parameters = self.trainer.parameters()
        returns = evaluate(self.agent, parameters, self._make, EVALUATION_EPISODES, seed)
        return float(np.mean(returns))

    def curve(self) -> Curve:
        """See Training."""
        history = self.run.history
        return Curve(
            "gradient steps",
            20,
            self.recipe.threshold if np.isfinite(self.recipe.threshold) else None,
            [e[1] for e in history.episodes],
            [e[2] for e in history.episodes],
            history.evaluations,
        )

    def outcome(self) -> dict[str, Any]:
        """See Training; the hash is of all parameters and the optimizer's state."""
        bits = hashlib.sha256()
        for saved in self.trainer.state()["learner"]:
            for name in sorted(saved):
                bits.update(np.ascontiguousarray(saved[name]).tobytes())
        evaluations = self.run.history.evaluations
        return {
            "solved": self.solved,
            "gradient_steps": self.step,
            "mean_return": evaluations[-1][2] if evaluations else self.run.progress.mean_return,
            "parameters_sha256": bits.hexdigest(),
        }

    def write_events(self, writer: Any, prefix: str = "") -> None:
        """See Training."""
        progress = self.run.progress
        values = {
            "train/mean_return": progress.mean_return,
            "train/mean_td": progress.mean_td,
            "train/exploration": progress.exploration,
            "device/cycles": progress.cycles,
        }
        if progress.evaluation and progress.evaluation != self._evaluation:
            self._evaluation = progress.evaluation
            values["evaluation/mean_return"] = progress.evaluation[0]
        for name, value in values.items():
            writer.add_scalar(prefix + name, value, self.step)

    def _make(self) -> Environment | VectorEnvironment:
        name, own = self.recipe.environment, self.recipe.vector == OWN_VECTOR
        if own != makes_vector(name):
            got = "one environment" if own else "a VectorEnv"
            raise ConfigError(f"vector: got {self.recipe.vector!r}, but {name} is {got}")
        return VectorEnvironment.of(name) if own else Environment(name)


class TimestepTraining(_OneRun):
    """DDPG on the replay and the qat engine, for all of the recipe's timesteps.

    Args:
        device: an open device with the two engines; None trains in float32 on PyTorch.
        recipe: all settings.
        seed: of the run.
        start: `state` of an earlier training with the same recipe and seed.
    Attributes:
        trainer: what the loop trains on.
        run: the loop.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(
        self,
        device: Device | None,
        recipe: QatRecipe,
        seed: int,
        start: dict[str, Any] | None = None,
    ) -> None:
        self.recipe, self.seed, self.most = recipe, ranges.seed(seed), recipe.max_steps
        environment = self._make()
        agent = QatAgent(recipe, EnvironmentSpec.of(environment))
        self.spaces = spaces_of(environment)
        environment.close()
        parameters = agent.initial_parameters(generator(seed, "network"))
        seeds = derive(seed, "replay"), derive(seed, "noise")
        self.trainer: Trainer
        if device is None:
            from jackdaw.runtime.float_trainer import FloatTrainer  # PyTorch takes seconds to load

            self.trainer = FloatTrainer(agent, parameters, *seeds)
        else:
            self.trainer = QatTrainer(device, agent, parameters, *seeds)
        with closing_on_error(self.trainer):
            self.run = TimestepRun(agent, self.trainer, self._make, seed)
            if start is not None:
                self.trainer.load_state(start["trainer"])
                self.run.load_state(start["run"])

    @staticmethod
    def identity(recipe: Recipe, seed: int, config: str | Config) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint (its end may be moved)."""
        settings = asdict(replace(recipe, max_steps=1))
        del settings["config"], settings["vector"]  # a name; the build counts
        return {"loop": "timestep", **settings, "seed": ranges.seed(seed), **build(config)}

    def policy(self) -> Policy:
        """See callbacks.Watched."""
        return FixedPolicy(self.recipe, self.spaces, self.trainer.policy())

    def state(self) -> dict[str, Any]:
        """See Training: all that decides how it goes on, to the bit."""
        return {"trainer": self.trainer.state(), "run": self.run.state_of()}

    def final_return(self) -> float:
        """Mean return of 100 episodes without noise with the weights of now."""
        evaluations = self.run.history.evaluations
        if evaluations and evaluations[-1][:2] == (self.step, EVALUATION_EPISODES):
            return evaluations[-1][2]
        return self.run.evaluate(EVALUATION_EPISODES)

    def curve(self) -> Curve:
        """See Training."""
        history = self.run.history
        return Curve(
            f"timesteps (16-bit activations from {self.recipe.qdelay} on)",
            20,
            self.recipe.threshold if np.isfinite(self.recipe.threshold) else None,
            [e[1] for e in history.episodes],
            [e[2] for e in history.episodes],
            history.evaluations,
        )

    def outcome(self) -> dict[str, Any]:
        """See Training; the hash is of all that was learned."""
        bits = hashlib.sha256()
        for name, lines in sorted(self.trainer.networks().items()):
            bits.update(name.encode() + np.ascontiguousarray(lines).tobytes())
        evaluations = self.run.history.evaluations
        return {
            "solved": self.solved,
            "gradient_steps": self.step,
            "mean_return": evaluations[-1][2] if evaluations else self.run.progress.mean_return,
            "parameters_sha256": bits.hexdigest(),
        }

    def write_events(self, writer: Any, prefix: str = "") -> None:
        """See Training: the newest returns after each evaluation."""
        progress = self.run.progress
        if not self.step or self.step % self.recipe.evaluate_every:
            return
        assert progress.evaluation is not None
        for name, value in (
            ("train/mean_return", progress.mean_return),
            ("train/mean_td", progress.mean_td),
            ("device/cycles", progress.cycles),
            ("evaluation/mean_return", progress.evaluation[0]),
        ):
            writer.add_scalar(prefix + name, value, self.step)

    def _make(self) -> Environment:
        return Environment(self.recipe.environment)


class TeamTraining(_OneRun):
    """IC3Net on the sparse engine, for all of the recipe's updates.

    Args:
        device: an open device with the engine.
        recipe: all settings.
        seed: of the run.
        start: `state` of an earlier training with the same recipe and seed.
    Attributes:
        trainer: what the loop trains on.
        run: the loop.
    Raises: ConfigError if the build is too small for the recipe.
    """

    def __init__(
        self,
        device: Device,
        recipe: Ic3netRecipe,
        seed: int,
        start: dict[str, Any] | None = None,
    ) -> None:
        self.recipe, self.seed, self.most = recipe, ranges.seed(seed), recipe.max_steps
        game = make_team(recipe.environment, recipe.episodes)
        self.spaces = {"observation": [game.agents, game.width], "action": {"n": 5}}
        self.trainer = TeamTrainer(device, recipe, game, seed)
        with closing_on_error(self.trainer):
            self.run = TeamRun(recipe, self.trainer, game, seed)
            if start is not None:
                self.trainer.load_state(start["trainer"])
                self.run.load_state(start["run"])

    @staticmethod
    def identity(recipe: Ic3netRecipe, seed: int, config: str | Config) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint (its end may be moved)."""
        settings = asdict(replace(recipe, max_steps=1))
        del settings["config"]
        return {"loop": "team", **settings, "seed": ranges.seed(seed), **build(config)}

    def policy(self) -> Policy:
        """See callbacks.Watched."""
        with self.trainer.figures.aside():
            memories = self.trainer.driver.memories()
        return TeamPolicy(self.recipe, self.spaces, memories)

    def state(self) -> dict[str, Any]:
        """See Training: all that decides how it goes on, to the bit."""
        return {"trainer": self.trainer.state(), "run": self.run.state_of()}

    def final_return(self) -> float:
        """Share of 100 or more episodes that succeed with the weights of now."""
        return self.run.evaluate(EVALUATION_EPISODES)

    def curve(self) -> Curve:
        """See Training; a return is the share of an update's episodes that succeeded."""
        return curve_of(self.recipe, {"run": self.run.state_of()})

    def outcome(self) -> dict[str, Any]:
        """Where it is, with a hash of all that was learned."""
        bits = hashlib.sha256()
        for name, arrays in sorted(self.trainer.driver.memories().items()):
            for key, array in sorted(arrays.items()):
                bits.update(f"{name} {key}".encode() + np.ascontiguousarray(array).tobytes())
        return {
            "solved": self.solved,
            "gradient_steps": self.step,
            "mean_return": self.run.progress.mean_return,
            "parameters_sha256": bits.hexdigest(),
        }

    def write_events(self, writer: Any, prefix: str = "") -> None:
        """See Training."""
        progress = self.run.progress
        for name, value in (
            ("train/success", self.run.history.episodes[-1][2]),
            ("train/mean_success", progress.mean_return),
            ("train/mean_error", progress.mean_td),
            ("train/loss_scale", self.trainer.scale.value),
            ("device/cycles", progress.cycles),
        ):
            writer.add_scalar(prefix + name, value, self.step)


Settings = Recipe | Ic3netRecipe


def training_of(
    recipe: Settings,
) -> type[LockstepTraining] | type[TimestepTraining] | type[TeamTraining]:
    """The kind of training that a recipe is for."""
    if isinstance(recipe, Ic3netRecipe):
        return TeamTraining
    return TimestepTraining if isinstance(recipe, QatRecipe) else LockstepTraining


class AsynchronousTraining:
    """A3C on the a3c engine.

    Args:
        device: an open device with the engine.
        recipe: what is trained; its `steps` end the training.
        seed: of the run.
        start: `state` of an earlier training with the same network and seed.
        until_goal: end at the recipe's goal.
    Attributes:
        run: the loop.
        ends, returns: step at which every episode ended, its return.
        seconds: of all parts of the run.
    """

    def __init__(
        self,
        device: Device,
        recipe: A3cRecipe,
        seed: int,
        start: dict[str, Any] | None = None,
        until_goal: bool = False,
    ) -> None:
        self.device, self.recipe, self.until_goal = device, recipe, until_goal
        self.seed, self.most = ranges.seed(seed), recipe.steps
        self.run = AsynchronousRun(
            partial(make_frames, recipe.environment), recipe.network, device, recipe.settings,
            seed, start["run"] if start else None,
        )  # fmt: skip
        self.spaces = spaces_of(self.run.agents[0].environment)
        self.ends: list[int] = start["ends"] if start else []
        self.returns: list[float] = start["returns"] if start else []
        self._before = float(start["seconds"]) if start else 0.0
        self._elapsed = Elapsed(device, start["clocks"] if start else 0)
        self._first, self._began = self.run.step, time.monotonic()
        self._written = len(self.returns)

    @staticmethod
    def identity(recipe: A3cRecipe, seed: int, config: str | Config) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint; settings may change."""
        return {
            "loop": "asynchronous",
            "environment": recipe.environment,
            "network": recipe.network.encode().tolist(),
            "seed": ranges.seed(seed),
            **build(config),
        }

    def rounds(self) -> Iterator[None]:
        """See Training."""
        if self.until_goal and self.solved:
            return
        for ended in self.run.rounds(self.most):
            for episode in ended:
                self.ends.append(episode.step)
                self.returns.append(episode.total)
            yield
            if self.until_goal and self.solved:
                return

    def close(self) -> None:
        """See Training."""
        self.run.close()

    @property
    def step(self) -> int:
        """Environment steps so far."""
        return self.run.step

    @property
    def progress(self) -> Progress:
        """See callbacks.Watched; gradient steps are updates, and there are no evaluations."""
        return Progress(
            gradient_steps=self.run.updates,
            environment_steps=self.step,
            episodes=len(self.returns),
            mean_return=self.mean if self.returns else 0.0,
            cycles=self.clocks,
            seconds=self._before + self.passed,
        )

    def policy(self) -> Policy:
        """See callbacks.Watched; waits for the trainings that are under way."""
        return FramePolicy(self.recipe, self.spaces, self.run.parameters())

    @property
    def mean(self) -> float:
        """Mean return of the newest episodes; NaN before the first."""
        newest = self.returns[-self.recipe.window :]
        return float(np.mean(newest)) if newest else float("nan")

    @property
    def solved(self) -> bool:
        """Whether enough episodes reached the goal."""
        goal = self.recipe.goal
        return goal is not None and len(self.returns) >= self.recipe.window and self.mean >= goal

    @property
    def passed(self) -> float:
        """Seconds of this part of the run."""
        return time.monotonic() - self._began

    @property
    def clocks(self) -> int:
        """Clocks of all parts of the run; what is done for checkpoints is not counted."""
        return self._elapsed.clocks

    def state(self) -> dict[str, Any]:
        """See Training; episodes that are being played are not part of it."""
        self.run.wait()
        clocks = self.clocks
        with self._elapsed.aside():
            return {
                "run": self.run.state(),
                "ends": self.ends,
                "returns": self.returns,
                "seconds": self._before + self.passed,
                "clocks": clocks,
            }

    def curve(self) -> Curve:
        """See Training."""
        recipe = self.recipe
        return Curve("environment steps", recipe.window, recipe.goal, self.ends, self.returns)

    def outcome(self) -> dict[str, Any]:
        """See Training; the hash is of all parameters and mean squares."""
        final = [self.run.parameters(), self.run.engine.read_g(self.run.net)]
        bits = hashlib.sha256(b"".join(self.run.net.map.pack(one).tobytes() for one in final))
        return {
            "solved": self.solved,
            "steps": self.step,
            "updates": self.run.updates,
            "mean_return": round(self.mean, 4) if self.returns else 0.0,
            "parameters_sha256": bits.hexdigest(),
        }

    def summary(self) -> dict[str, Any]:
        """What summary.json says of it."""
        outcome = self.outcome()
        return {
            "environment": self.recipe.environment,
            "solved": outcome["solved"],
            "goal": self.recipe.goal,
            "mean_return": outcome["mean_return"],
            "window": self.recipe.window,
            "environment_steps": self.step,
            "updates": self.run.updates,
            "episodes": len(self.returns),
            "parameters_sha256": outcome["parameters_sha256"],
            "wall_seconds": round(self._before + self.passed),
            "cycles_are": "measured" if self.device.measured else "estimated",
            "total_cycles": self.clocks,
        }

    def write_events(self, writer: Any, prefix: str = "") -> None:
        """See Training."""
        for number in range(self._written, len(self.returns)):
            name = f"{prefix}episode/return"
            writer.add_scalar(name, self.returns[number], self.ends[number])
        self._written = len(self.returns)
        for name, value in (
            ("train/mean_return", self.mean),
            ("train/updates", self.run.updates),
            ("device/cycles", self.clocks),
            ("host/steps_per_second", (self.step - self._first) / max(self.passed, 1e-9)),
        ):
            writer.add_scalar(prefix + name, value, self.step)


def curve_of(recipe: Settings | A3cRecipe, state: Mapping[str, Any]) -> Curve:
    """The curve of a checkpoint's run: of every episode, its step and its return."""
    if isinstance(recipe, A3cRecipe):
        unit = "environment steps"
        return Curve(unit, recipe.window, recipe.goal, state["ends"], state["returns"])
    history = state["run"]["history"]
    episodes, goal = history["episodes"], recipe.threshold
    return Curve(
        "gradient steps",
        recipe.window if isinstance(recipe, Ic3netRecipe) else 20,
        goal if np.isfinite(goal) else None,
        [e[1] for e in episodes],
        [e[2] for e in episodes],
        history["evaluations"],
    )


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C ends nothing inside, but makes what is yielded return True.

    Python tells only its main thread of Ctrl-C; in another one nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False

    def on_signal(*_: object) -> None:
        nonlocal asked
        asked = True

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, previous)


def train(
    trainings: Mapping[str, Training],
    folder: RunFolder,
    state: Callable[[], dict[str, Any]],
    report: Callable[[], None],
    due: Callable[[], bool],
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Give each training a round in turn until all have ended, and keep checkpoints.

    Ctrl-C ends the run when every training has taken its first step.

    Args:
        trainings: by name.
        folder: takes the checkpoints, the last one at the end.
        state: what a checkpoint holds.
        report: called after each round.
        due: asked after each round; True writes a checkpoint.
        stop: asked after each round; True ends the run early.
    Returns: whether Ctrl-C was pressed.
    """
    with interruptible() as interrupted:
        for _ in in_turn({name: training.rounds() for name, training in trainings.items()}):
            report()
            if due():
                folder.save(state())
            if stop() or (interrupted() and all(one.step for one in trainings.values())):
                break
        asked = interrupted()
    folder.save(state())
    return asked


def train_agent(
    device: Device | None,
    recipe: Settings,
    seed: int,
    folder: RunFolder,
    about: dict[str, Any],
    mode: str = "comm_reduction",
    every: int = 100,
    callbacks: Callbacks | None = None,
) -> dict[str, Any]:
    """Train an agent alone and judge it by 100 greedy episodes; not after Ctrl-C.

    Args:
        device: an open device with a replay engine and a learner or a qat engine; None trains an
            agent of the qat engine in float32 on PyTorch.
        recipe: all settings.
        seed: of the run.
        folder: takes all that is kept; the run goes on from its checkpoint if it has one.
        about: agent, device and config by name, and what else config.json says.
        mode: see `DeviceTrainer`; a qat engine has one way.
        every: gradient steps between checkpoints.
        callbacks: are told of it, and may end it.
    Returns: what summary.json says.
    Raises: ConfigError if the build is too small for the recipe; then nothing is written.
    """
    training: LockstepTraining | TimestepTraining | TeamTraining
    if isinstance(recipe, QatRecipe):
        training = TimestepTraining(device, recipe, seed, folder.start)
    elif device is not None and isinstance(recipe, Ic3netRecipe):
        training = TeamTraining(device, recipe, seed, folder.start)
    elif device is not None and isinstance(recipe, Recipe):
        training = LockstepTraining(device, recipe, seed, mode, folder.start)
    else:
        raise ConfigError(f"device: got none for {about['agent']}, want a simulator or a model")
    callbacks = callbacks or Callbacks()
    with closing(training):
        folder.begin({"recipe": asdict(recipe), **about, "spaces": training.spaces})
        callbacks.start(training)
        run, trainer = training.run, training.trainer
        line, writer = Line(recipe.max_steps, training.step), folder.events()

        def report() -> None:
            line.show(run.progress)
            training.write_events(writer)
            callbacks.step(training)

        def due() -> bool:
            return training.step > 0 and training.step % every == 0

        try:
            interrupted = train(
                {about["agent"]: training}, folder, training.state, report, due,
                lambda: callbacks.stopped,
            )  # fmt: skip
        finally:
            line.close()
            writer.close()
        seconds = run.progress.seconds
        mean = run.progress.mean_return if interrupted else training.final_return()
        summary = {
            "environment": recipe.environment,
            "device": about["device"],
            "config": about["config"],
            "seed": seed,
            "solved": mean >= recipe.threshold and not interrupted,
            "threshold": recipe.threshold if np.isfinite(recipe.threshold) else None,
            "mean_return": mean,
            "evaluation_episodes": 0 if interrupted else EVALUATION_EPISODES,
            "interrupted": interrupted,
            "gradient_steps": run.progress.gradient_steps,
            "environment_steps": run.progress.environment_steps,
            "episodes": run.progress.episodes,
            "wall_seconds": round(seconds, 2),
            "device_seconds": round(run.progress.device_seconds, 2),
            **trainer.measurements(),
        }
        if device is not None and device.measured and run.progress.device_seconds:
            rate = run.progress.cycles / run.progress.device_seconds
            summary["simulated_cycles_per_second"] = round(rate)
        title = f"{about['agent']} on {recipe.environment}, device {about['device']}, seed {seed}"
        folder.finish(summary, [training.curve()], title)
        callbacks.end(training, summary)
    return summary
