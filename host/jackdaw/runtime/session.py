"""One run of any agent, from its settings to its folder: what command and API share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from jackdaw.agents.a3c import A3cRecipe
from jackdaw.agents.ic3net import Ic3netRecipe
from jackdaw.agents.recipes import Recipe, settings_from
from jackdaw.device import Device, load_config, open_device
from jackdaw.errors import ConfigError
from jackdaw.runtime.callbacks import Callbacks
from jackdaw.runtime.defaults import chosen
from jackdaw.runtime.report import Line
from jackdaw.runtime.run_folder import RunFolder
from jackdaw.runtime.training import AsynchronousTraining, train, train_agent, training_of

SHOWN = 1000  # A3C's environment steps between two looks at it
DEVICES = ("sim", "model", "float")


@dataclass(frozen=True)
class Session:
    """A run as it is asked for.

    Attributes:
        agent: one of `defaults.AGENTS`.
        recipe: all settings.
        device: `sim`, `model`, or `float`: `ddpg-qat` in float32 on PyTorch.
        config: build configuration.
        seed: of the run.
        memory: memory preset of the simulator.
        assertions: keep the RTL's assertions, and simulate its multipliers and adders, too.
        mode: see `DeviceTrainer`.
        checkpoint_every: steps between checkpoints; of A3C None.
        checkpoint_minutes: between A3C's.
        minutes: limit of A3C's run.
    """

    agent: str
    recipe: Recipe | A3cRecipe | Ic3netRecipe
    device: str
    config: str
    seed: int = 1
    memory: str = "D"
    assertions: bool = False
    mode: str = "comm_reduction"
    checkpoint_every: int = 100
    checkpoint_minutes: float = 10.0
    minutes: float = inf

    @property
    def identity(self) -> dict[str, Any]:
        """What a run must have in common with the one that it goes on from."""
        if isinstance(self.recipe, A3cRecipe):
            return AsynchronousTraining.identity(self.recipe, self.seed, self.config)
        kind: Any = training_of(self.recipe)
        found: dict[str, Any] = kind.identity(self.recipe, self.seed, self.config)
        return found

    @property
    def about(self) -> dict[str, Any]:
        """What config.json says besides the recipe."""
        names = ("agent", "device", "config", "memory", "mode", "seed")
        return {name: getattr(self, name) for name in names}

    def run(self, folder: RunFolder, callbacks: Callbacks | None = None) -> dict[str, Any]:
        """Train and judge.

        Args:
            folder: takes all that is kept; the run goes on from its checkpoint if it has one.
            callbacks: are told of it.
        Returns: what summary.json says.
        Raises: ConfigError if the build is too small; then nothing is written.
        """
        callbacks = callbacks or Callbacks()
        self._check_build()
        with self._open() as device:
            if not isinstance(self.recipe, A3cRecipe):
                return train_agent(
                    device, self.recipe, self.seed, folder, self.about, self.mode,
                    self.checkpoint_every, callbacks,
                )  # fmt: skip
            if device is None:
                raise ConfigError(f"device: got float for {self.agent}, want sim or model")
            return self._asynchronous(device, self.recipe, folder, callbacks)

    def _check_build(self) -> None:
        """Hold the build against the recipe on golden models, before a simulator is compiled.

        Raises: ConfigError.
        """
        if self.device != "sim" or isinstance(self.recipe, A3cRecipe):
            return
        kind: Any = training_of(self.recipe)
        with open_device("model", self.config) as device:
            kind(device, self.recipe, self.seed).close()

    @contextmanager
    def _open(self) -> Iterator[Device | None]:
        if self.device == "float":
            yield None
            return
        with open_device(
            self.device, self.config, memory=self.memory, seed=self.seed,
            assertions=self.assertions, compiled_arithmetic=not self.assertions,
        ) as device:  # fmt: skip
            yield device

    def _asynchronous(
        self, device: Device, recipe: A3cRecipe, folder: RunFolder, callbacks: Callbacks
    ) -> dict[str, Any]:
        training = AsynchronousTraining(device, recipe, self.seed, folder.start)
        folder.begin({"recipe": asdict(recipe), **self.about, "spaces": training.spaces})
        callbacks.start(training)
        writer = folder.events()
        line = Line(recipe.steps, training.step, "environment steps")
        shown, kept_at = training.step, 0.0

        def report() -> None:
            nonlocal shown
            callbacks.step(training)
            if training.step < min(shown + SHOWN, recipe.steps):
                return
            shown = training.step
            training.run.wait()
            training.write_events(writer)
            line.show(training.progress, training.step)

        def due() -> bool:
            nonlocal kept_at
            late = training.step == shown and (
                training.passed - kept_at > 60 * self.checkpoint_minutes
            )
            if late:
                kept_at = training.passed
            return late

        def stop() -> bool:
            late = training.step == shown and training.passed >= 60 * self.minutes
            return callbacks.stopped or late

        try:
            interrupted = train({self.agent: training}, folder, training.state, report, due, stop)
            summary = {
                **self.about, **training.summary(), "interrupted": interrupted
            }  # fmt: skip
        finally:
            line.close()
            writer.close()
            training.close()
        title = f"{self.agent} on {recipe.environment}, device {self.device}, seed {self.seed}"
        folder.finish(summary, [training.curve()], title)
        callbacks.end(training, summary)
        return summary


def ask(
    agent: str,
    environment: str,
    *,
    device: str = "sim",
    seed: int = 1,
    config: str | None = None,
    steps: int | None = None,
    window: int | None = None,
    settings: dict[str, Any] | None = None,
    texts: list[str] | None = None,
    **more: Any,
) -> tuple[Session, str]:
    """The session of an agent on an environment.

    Args:
        agent: one of `defaults.AGENTS`.
        environment: Gymnasium id.
        device: one of DEVICES.
        seed: of the run.
        config: build configuration; default the recipe's.
        steps: at most: gradient steps, or of A3C environment steps.
        window: episodes of A3C's mean.
        settings: changes of the recipe by name.
        texts: changes as NAME=VALUE.
        more: further attributes of Session.
    Returns: the session, and a note if the settings are defaults that nobody tuned.
    Raises: ConfigError.
    """
    recipe, note = chosen(agent, environment)
    if device not in DEVICES:
        raise ConfigError(f"device: got {device!r}, want one of {', '.join(DEVICES)}")
    base = recipe.settings if isinstance(recipe, A3cRecipe) else recipe
    changes = dict(settings or {})
    if unknown := sorted(name for name in changes if not hasattr(base, name)):
        raise ConfigError(f"{agent} has no setting {', '.join(unknown)}")
    changes |= settings_from(base, texts or [])
    if isinstance(recipe, A3cRecipe):
        recipe = replace(
            recipe,
            settings=replace(recipe.settings, **changes),
            steps=recipe.steps if steps is None else steps,
            window=recipe.window if window is None else window,
            config=config or recipe.config,
        )
    else:
        for name, got, idle in (
            ("window", window, None), ("minutes", more.get("minutes", inf), inf),
        ):  # fmt: skip
            if got != idle:
                raise ConfigError(f"{name}: got {got} for {agent}, want it for a3c alone")
        if steps is not None:
            changes["max_steps"] = steps
        recipe = replace(recipe, **changes)
    built = config or recipe.config
    load_config(built)
    return Session(agent, recipe, device, built, seed, **more), note


def free_folder(agent: str, environment: str, seed: int) -> Path:
    """A folder below `runs` that is not there yet."""
    name = f"{agent}-{environment.replace('/', '-')}-seed{seed}"
    number, path = 1, Path("runs") / name
    while path.exists():
        number += 1
        path = Path("runs") / f"{name}-{number}"
    return path
