#!/usr/bin/env python3
"""Trains A3C on PixelCatch on the a3c engine, and plots the runs of all seeds.

    python scripts/a3c_pixelcatch.py --device model --seeds 1 2 3 --out runs/a3c

writes seed<N>.json (the step at which every episode ended, its return) and curve.png. Seeds whose
file is there already are only plotted.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import gymnasium
import matplotlib as mpl
import numpy as np

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from jackdaw.agents.a3c import A3c, A3cSettings
from jackdaw.device import open_device
from models.a3c.network import NET_S

CONFIG = "a3c"
WINDOW, THRESHOLD = 200, 0.9  # episodes, their mean return
SHOWN = 2000  # steps between two lines of progress


def train(backend: str, seed: int, steps: int) -> dict[str, list[float]]:
    """Run a seed on a device; returns `steps` and `returns` of its episodes."""
    out: dict[str, list[float]] = {"steps": [], "returns": []}
    begin, shown = time.monotonic(), 0
    with open_device(backend, CONFIG) as device:
        run = A3c(
            lambda: gymnasium.make("jackdaw/PixelCatch-v0"),
            NET_S,
            device,
            A3cSettings(eps=1e-5),
            seed,
        )
        for episode in run.run(steps):
            out["steps"].append(episode.step)
            out["returns"].append(episode.total)
            if episode.step >= shown + SHOWN:
                shown = episode.step
                mean = np.mean(out["returns"][-WINDOW:])
                print(
                    f"seed {seed} step {shown} mean {mean:.2f} clock {device.cycles()} "
                    f"{time.monotonic() - begin:.0f} s"
                )
    return out


def means(values: list[float]) -> np.ndarray:
    """Mean of the last WINDOW values, from the first full window on."""
    sums = np.cumsum([0.0, *values])
    return (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", choices=["model", "sim"], default="model", help="backend")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=80_000, help="environment steps of a seed")
    parser.add_argument("--out", type=Path, default=Path("runs/a3c"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
    for seed in options.seeds:
        path = options.out / f"seed{seed}.json"
        if not path.exists():
            path.write_text(json.dumps(train(options.device, seed, options.steps)))
        run = json.loads(path.read_text())
        curve, steps = means(run["returns"]), run["steps"][WINDOW - 1 :]
        reached = np.flatnonzero(curve >= THRESHOLD)
        first = steps[reached[0]] if reached.size else None
        last = f"{curve[-1]:.3f}" if curve.size else "not known yet"
        print(f"seed {seed}: {THRESHOLD} after {first} steps, at the end {last}")
        axes.plot(steps, curve, label=f"seed {seed}")
    axes.axhline(THRESHOLD, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xlabel="environment steps", ylabel=f"mean return of {WINDOW} episodes")
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(options.out / "curve.png", dpi=110)
    print(options.out / "curve.png")


if __name__ == "__main__":
    main()
