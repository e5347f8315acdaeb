#!/usr/bin/env python3
"""Trains A3C on the a3c engine, on PixelCatch or an Atari game, and plots the runs of all seeds.

    python scripts/train_a3c.py --env PixelCatch --device model --seeds 1 2 3 --out runs/a3c
    python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout

writes seed<N>.json (the step at which every episode ended, its return), TensorBoard events and
curve.png. Seeds whose file is there already are only plotted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import numpy as np
from torch.utils.tensorboard import SummaryWriter

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from jackdaw.agents.a3c import A3c, A3cSettings
from jackdaw.device import open_device
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


def train(
    chosen: Game, backend: str, seed: int, steps: int, seconds: float, folder: Path
) -> dict[str, Any]:
    """Run a seed on a device until steps or time are used up.

    Returns: `environment_steps`, `updates` and `seconds` of the run, `steps` and `returns` of its
        episodes.
    """
    ends: list[int] = []
    returns: list[float] = []
    writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]
    begin = time.monotonic()
    passed = 0.0
    with open_device(backend, chosen.config) as device:
        run = A3c(chosen.make, chosen.network, device, chosen.settings, seed)
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
                ("host/steps_per_second", run.step / passed),
            ):
                writer.add_scalar(name, value, run.step)  # type: ignore[no-untyped-call]
            print(
                f"seed {seed} step {run.step} episode {len(returns)} mean {mean:.2f} "
                f"clock {device.cycles()} {passed:.0f} s",
                flush=True,
            )
    writer.close()  # type: ignore[no-untyped-call]
    return {
        "environment_steps": run.step,
        "updates": run.updates,
        "seconds": round(passed),
        "steps": ends,
        "returns": returns,
    }


def means(values: list[float], window: int) -> np.ndarray:
    """Mean of the last `window` values, from the first full window on."""
    sums = np.cumsum([0.0, *values])
    return (sums[window:] - sums[:-window]) / window


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", default="PixelCatch", help="or an Atari game: ALE/Pong-v5")
    parser.add_argument("--device", choices=["model", "sim"], default="model", help="backend")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, help="environment steps of a seed")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit of a seed")
    parser.add_argument("--window", type=int, help="episodes of a mean")
    parser.add_argument("--out", type=Path, default=Path("runs/a3c"))
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = game(options.env)
    window = options.window or chosen.window
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
    for seed in options.seeds:
        path = options.out / f"seed{seed}.json"
        if not path.exists():
            run = train(
                chosen, options.device, seed, options.steps or chosen.steps,
                60 * options.minutes, options.out / f"seed{seed}",
            )  # fmt: skip
            path.write_text(json.dumps({"env": options.env, "device": options.device, **run}))
        run = json.loads(path.read_text())
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
    figure.savefig(options.out / "curve.png", dpi=110)
    print(options.out / "curve.png")


if __name__ == "__main__":
    main()
