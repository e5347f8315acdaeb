#!/usr/bin/env python3
"""Trains A3C on the a3c engine, on PixelCatch or an Atari game, and plots the runs of all seeds.

    python scripts/train_a3c.py --env PixelCatch --device model --seeds 1 2 3 --out runs/a3c
    python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout
    python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout --resume

Every seed is a run with a folder of its own, seed<N> below --out: config.json, summary.json,
curve.png, TensorBoard events and a checkpoint, which holds the episodes, too. curve.png in --out is
of all seeds. Seeds that have a checkpoint already are only plotted, or with --resume trained
further, or with --overwrite trained anew.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np

from jackdaw.agents.a3c import A3cRecipe, a3c_recipe
from jackdaw.agents.recipes import settings_from
from jackdaw.device import open_device
from jackdaw.errors import EXPECTED
from jackdaw.runtime.report import running_means
from jackdaw.runtime.run_folder import CHECKPOINT, RunFolder, kept
from jackdaw.runtime.training import AsynchronousTraining, train

SHOWN = 1000  # steps between two lines of progress


def train_seed(chosen: A3cRecipe, options: argparse.Namespace, seed: int) -> bool:
    """Run a seed on a device until steps or time are used up. Raises: those of EXPECTED.

    Returns: whether Ctrl-C was pressed.
    """
    with RunFolder(
        options.out / f"seed{seed}",
        AsynchronousTraining.identity(chosen, seed, chosen.config),
        resume=options.resume,
        overwrite=options.overwrite,
    ) as folder:
        return train_in(folder, chosen, options, seed)


def train_in(folder: RunFolder, chosen: A3cRecipe, options: argparse.Namespace, seed: int) -> bool:
    """Train a seed in its folder; see train_seed."""
    about = {"device": options.device, "config": chosen.config, "seed": seed}
    with (
        open_device(options.device, chosen.config) as device,
        closing(AsynchronousTraining(device, chosen, seed, folder.start)) as training,
    ):
        folder.begin({"recipe": asdict(chosen), **about})
        writer = folder.events()
        shown, kept_at = training.step, 0.0

        def report() -> None:
            nonlocal shown
            if training.step < min(shown + SHOWN, chosen.steps):
                return
            shown = training.step
            training.run.wait()
            training.write_events(writer)
            print(
                f"seed {seed} step {shown} episode {len(training.returns)} "
                f"mean {training.mean:.2f} clock {device.cycles()} {training.passed:.0f} s",
                flush=True,
            )

        def due() -> bool:
            nonlocal kept_at
            late = training.step == shown and (
                training.passed - kept_at > 60 * options.checkpoint_minutes
            )
            if late:
                kept_at = training.passed
            return late

        def stop() -> bool:
            return training.step == shown and training.passed >= 60 * options.minutes

        try:
            trainings = {f"seed{seed}": training}
            interrupted = train(trainings, folder, training.state, report, due, stop)
        finally:
            writer.close()
        title = f"A3C on {chosen.environment}, device {options.device}, seed {seed}"
        cycles = {"total_cycles": device.cycles()}
        folder.finish({**about, **training.summary(), **cycles}, [training.curve()], title)
    return interrupted


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
    parser.add_argument("--overwrite", action="store_true", help="replace earlier runs")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="change the settings: rate=2e-4, eps=1e-5, agents=8, ...",
    )  # fmt: skip
    parser.add_argument("--window", type=int, help="episodes of a mean")
    parser.add_argument("--out", type=Path, default=Path("runs/a3c"))
    return parser.parse_args(argv)


def draw(options: argparse.Namespace, chosen: A3cRecipe) -> Path:
    """Plot the runs of all seeds. Raises: CheckpointError for one of another environment."""
    mpl.use("Agg")
    from matplotlib import pyplot

    window = chosen.window
    figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
    for seed in options.seeds:
        identity = AsynchronousTraining.identity(chosen, seed, chosen.config)
        run = kept(options.out / f"seed{seed}", identity)
        # From the first full window on.
        curve = running_means(run["returns"], window)[window - 1 :]
        steps = run["ends"][window - 1 :]
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
    pyplot.close(figure)
    return path


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        chosen = a3c_recipe(options.env)
        changed = replace(chosen.settings, **settings_from(chosen.settings, options.set))
        steps, window = options.steps or chosen.steps, options.window or chosen.window
        chosen = replace(chosen, settings=changed, steps=steps, window=window)
        for seed in options.seeds:
            known = (options.out / f"seed{seed}" / CHECKPOINT).exists()
            wanted = options.resume or options.overwrite or not known
            if wanted and train_seed(chosen, options, seed):
                return 1  # the seeds after it are not begun
        print(draw(options, chosen))
    except EXPECTED as error:
        print(f"train_a3c: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
