#!/usr/bin/env python3
"""Table and plot of finished runs of scripts/train.py: a panel each agent and environment.

scripts/curves.py runs/ddpg-pendulum-1 runs/ddpg-pendulum-2 ... --plot docs/images/agents.png
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np

WINDOW = 20  # episodes of the running mean


def read(folder: Path) -> dict[str, Any]:
    """What a run's folder says of it. Raises: FileNotFoundError."""
    with (folder / "checkpoint.pkl").open("rb") as handle:
        history = pickle.load(handle)["state"]["run"]["history"]
    return {
        **json.loads((folder / "config.json").read_text()),
        **json.loads((folder / "summary.json").read_text()),
        "history": history,
    }


def draw(path: Path, groups: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Running means of the training returns and the greedy evaluations, a colour each seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(4.2 * columns, 3.2 * rows), dpi=110, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, ((agent, environment), runs) in zip(axes.flat, groups.items(), strict=False):
        for number, run in enumerate(runs):
            episodes = run["history"]["episodes"]
            returns = np.array([e[2] for e in episodes])
            mean = [returns[max(0, i - WINDOW + 1) : i + 1].mean() for i in range(len(returns))]
            colour = f"C{number}"
            axis.plot([e[1] for e in episodes], mean, color=colour, label=f"seed {run['seed']}")
            judged = run["history"]["evaluations"][-1:]
            axis.plot([e[0] for e in judged], [e[2] for e in judged], "*", color=colour,
                      markersize=12)  # fmt: skip
        axis.axhline(runs[0]["threshold"], color="#666666", linewidth=0.8, linestyle="--")
        axis.set(title=f"{agent}, {environment}", xlabel="gradient steps", ylabel="return")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of scripts/train.py")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    options = parser.parse_args(argv)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for folder in options.runs:
        try:
            run = read(folder)
        except FileNotFoundError as error:
            parser.error(f"{folder} is no finished run of scripts/train.py: {error}")
        groups.setdefault((run["agent"], run["environment"]), []).append(run)
    print("| agent | environment | seed | gradient steps | environment steps | mean return of "
          f"{run['evaluation_episodes']} greedy episodes | solved at |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for (agent, environment), runs in groups.items():
        for run in runs:
            print(f"| {agent} | {environment} | {run['seed']} | {run['gradient_steps']} | "
                  f"{run['environment_steps']} | {run['mean_return']:.1f} | "
                  f"{run['threshold']:g}{'' if run['solved'] else ' (not solved)'} |")  # fmt: skip
    if options.plot:
        draw(options.plot, groups)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
