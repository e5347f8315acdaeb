#!/usr/bin/env python3
"""Trains A3C on the a3c engine, on PixelCatch or an Atari game, and plots the runs of all seeds.

    python scripts/train_a3c.py --env PixelCatch --device model --seeds 1 2 3 --out runs/a3c
    python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout
    python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout --resume

writes seed<N>.json (the step at which every episode ended, its return), seed<N>.npz (parameters and
mean squares, a checkpoint), TensorBoard events and curve.png. Seeds whose file is there already are
only plotted, or with --resume trained further.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import numpy as np
from torch.utils.tensorboard import SummaryWriter

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from jackdaw.agents.a3c import A3c, A3cSettings, Checkpoint
from jackdaw.agents.recipes import settings_from
from jackdaw.device import open_device
from jackdaw.errors import ConfigError
from models.a3c.network import NET_A, NET_S, Network

SHOWN = 1000  # steps between two lines of progress


@dataclass(frozen=True)
class Game:
    """What an environment is trained with.

    Attributes:
        make: makes one.
        network: of the agents.
        config: build that has room for it.
        settings: of the run.
        steps: environment steps of a run.
        window: episodes of a mean.
        goal: mean return that counts as learned, if there is one.
    """

    make: Callable[[], gymnasium.Env[Any, Any]]
    network: Network
    config: str
    settings: A3cSettings = field(default_factory=A3cSettings)
    steps: int = 100_000_000
    window: int = 1000
    goal: float | None = None


def game(name: str) -> Game:
    """PixelCatch, or an Atari game with the paper's network and settings."""
    if name == "PixelCatch":
        make = partial(gymnasium.make, "jackdaw/PixelCatch-v0")
        return Game(make, NET_S, "a3c", A3cSettings(eps=1e-5), 80_000, 200, 0.9)
    from jackdaw.environments.atari import make_atari

    return Game(partial(make_atari, name), NET_A, "a3c_full")


class Record:
    """A seed's run on disk: its episodes (JSON) and what it goes on with (npz).

    Attributes:
        ends, returns: step at which every episode ended, its return.
        updates, step: so far.
        seconds: of all its parts.
        start: checkpoint of the part before.
    """

    def __init__(self, folder: Path, seed: int, about: dict[str, Any], resume: bool) -> None:
        """Begin, or go on with what is there. Raises: ConfigError if it is not usable."""
        self.path, self.about = folder / f"seed{seed}.json", about
        self.ends: list[int] = []
        self.returns: list[float] = []
        self.step = self.updates = 0
        self.seconds = 0.0
        self.start: Checkpoint | None = None
        if not resume:
            return
        for path in (self.path, self.checkpoint):
            if not path.exists():
                raise ConfigError(f"--resume: there is no {path}")
        self.start = Checkpoint.load(self.checkpoint)
        self.step, self.updates = self.start.step, self.start.updates
        old = json.loads(self.path.read_text())
        if old["env"] != about["env"]:
            raise ConfigError(f"--resume: {self.path} is of {old['env']}, got {about['env']}")
        done = sum(end <= self.step for end in old["steps"])
        self.ends, self.returns = old["steps"][:done], old["returns"][:done]
        self.seconds = float(old["seconds"])

    @property
    def checkpoint(self) -> Path:
        """File of the checkpoint."""
        return self.path.with_suffix(".npz")

    def write(self, at: Checkpoint, seconds: float) -> None:
        """Keep all so far."""
        self.step, self.updates, self.seconds = at.step, at.updates, seconds
        record = {
            **self.about, "environment_steps": at.step, "updates": at.updates,
            "seconds": round(seconds), "steps": self.ends, "returns": self.returns,
        }  # fmt: skip
        half = self.path.with_suffix(".half")
        half.write_text(json.dumps(record))
        half.replace(self.path)
        at.save(self.checkpoint)


def train(
    chosen: Game, backend: str, seed: int, limits: tuple[int, float, float], record: Record
) -> None:
    """Run a seed on a device until steps or time are used up.

    Args:
        chosen: what is trained.
        backend: of the device.
        seed: of the run.
        limits: environment steps, seconds of this part, seconds between checkpoints.
        record: takes its episodes.
    """
    steps, seconds, between = limits
    ends, returns = record.ends, record.returns
    writer = SummaryWriter(str(record.path.with_suffix("")))  # type: ignore[no-untyped-call]
    begin = time.monotonic()
    before, passed, kept, first = record.seconds, 0.0, 0.0, record.step
    with open_device(backend, chosen.config) as device:
        run = A3c(chosen.make, chosen.network, device, chosen.settings, seed, record.start)
        while run.step < steps and passed < seconds:
            for episode in run.run(min(run.step + SHOWN, steps)):
                ends.append(episode.step)
                returns.append(episode.total)
                writer.add_scalar("episode/return", episode.total, episode.step)  # type: ignore[no-untyped-call]
            passed = time.monotonic() - begin
            mean = float(np.mean(returns[-chosen.window :])) if returns else float("nan")
            for name, value in (
                ("train/mean_return", mean),
                ("train/updates", run.updates),
                ("device/cycles", device.cycles()),
                ("host/steps_per_second", (run.step - first) / passed),
            ):
                writer.add_scalar(name, value, run.step)  # type: ignore[no-untyped-call]
            print(
                f"seed {seed} step {run.step} episode {len(returns)} mean {mean:.2f} "
                f"clock {device.cycles()} {passed:.0f} s",
                flush=True,
            )
            if passed - kept > between:
                kept = passed
                record.write(run.checkpoint(), before + passed)
        record.write(run.checkpoint(), before + passed)
    writer.close()  # type: ignore[no-untyped-call]


def means(values: list[float], window: int) -> np.ndarray:
    """Mean of the last `window` values, from the first full window on."""
    sums = np.cumsum([0.0, *values])
    return (sums[window:] - sums[:-window]) / window


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", default="PixelCatch", help="or an Atari game: ALE/Pong-v5")
    parser.add_argument("--device", choices=["model", "sim"], default="model", help="backend")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, help="environment steps of a seed")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit of a seed")
    parser.add_argument(
        "--checkpoint-minutes", type=float, default=10.0, help="between two checkpoints"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on from the seeds' checkpoints in --out"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="change the settings: rate=2e-4, eps=1e-5, agents=8, ...",
    )  # fmt: skip
    parser.add_argument("--window", type=int, help="episodes of a mean")
    parser.add_argument("--out", type=Path, default=Path("runs/a3c"))
    return parser.parse_args(argv)


def draw(options: argparse.Namespace, chosen: Game) -> Path:
    """Plot the runs of all seeds."""
    window = options.window or chosen.window
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
    for seed in options.seeds:
        run = json.loads((options.out / f"seed{seed}.json").read_text())
        curve, steps = means(run["returns"], window), run["steps"][window - 1 :]
        if chosen.goal is not None:
            reached = np.flatnonzero(curve >= chosen.goal)
            print(f"seed {seed}: {chosen.goal} after {steps[reached[0]] if reached.size else None}")
        last = f"{curve[-1]:.3f}" if curve.size else "not known yet"
        print(f"seed {seed}: {len(run['returns'])} episodes, mean of the last {window} {last}")
        axes.plot(steps, curve, label=f"seed {seed}")
    if chosen.goal is not None:
        axes.axhline(chosen.goal, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xlabel="environment steps", ylabel=f"mean return of {window} episodes")
    axes.set_title(options.env)
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    path: Path = options.out / "curve.png"
    figure.savefig(path, dpi=110)
    return path


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        chosen = game(options.env)
        changed = replace(chosen.settings, **settings_from(chosen.settings, options.set))
        chosen = replace(chosen, settings=changed)
        about = {"env": options.env, "device": options.device, "settings": asdict(changed)}
        limits = (options.steps or chosen.steps, 60 * options.minutes)
        for seed in options.seeds:
            if options.resume or not (options.out / f"seed{seed}.json").exists():
                record = Record(options.out, seed, about, options.resume)
                between = 60 * options.checkpoint_minutes
                train(chosen, options.device, seed, (*limits, between), record)
    except ConfigError as error:
        print(f"train_a3c: {error}", file=sys.stderr)
        return 2
    print(draw(options, chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
