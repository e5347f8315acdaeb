#!/usr/bin/env python3
"""Table and plot of finished runs of scripts/train.py: a panel each agent and environment.

    scripts/curves.py runs/ddpg-pendulum-1 ... --plot agents.png --compared FILE --record

`--compared` takes what scripts/compare.py wrote of the same runs: the returns of Stable-Baselines3.
`--record` keeps the table in docs/report/data/agents.json, for the report and docs/results.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from flow import results
from jackdaw.errors import CheckpointError
from jackdaw.runtime import checkpoint

WINDOW = 20  # episodes of the running mean


def read(folder: Path) -> dict[str, Any]:
    """What a run's folder says of it. Raises: FileNotFoundError, CheckpointError."""
    history = checkpoint.load(folder / "checkpoint.npz")["run"]["history"]
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


def row(run: dict[str, Any], compared: list[dict[str, Any]]) -> dict[str, Any]:
    """A run's line of the table, with Stable-Baselines3's return after as many environment steps.

    Raises: ValueError if the comparison is one of a run with other steps.
    """
    peers = [
        c for c in compared if all(c[key] == run[key] for key in ("agent", "environment", "seed"))
    ]
    for peer in peers:
        if peer["environment_steps"] != run["environment_steps"]:
            raise ValueError(
                f"{run['agent']} on {run['environment']}, seed {run['seed']}: compared after "
                f"{peer['environment_steps']} environment steps, the run has "
                f"{run['environment_steps']}"
            )
    keys = ("agent", "environment", "seed", "device", "threshold", "solved", "gradient_steps",
            "environment_steps", "mean_return", "evaluation_episodes")  # fmt: skip
    return {
        **{key: run[key] for key in keys},
        "stable_baselines3": peers[-1]["stable_baselines3"] if peers else None,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of scripts/train.py")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--compared", nargs="+", type=Path, default=[],
                        help="files of scripts/compare.py --json")  # fmt: skip
    parser.add_argument("--record", action="store_true", help="keep the table for the report")
    options = parser.parse_args(argv)
    results.check_record(parser, options.record)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for folder in options.runs:
        try:
            run = read(folder)
        except (CheckpointError, FileNotFoundError) as error:
            parser.error(f"{folder} is no finished run of scripts/train.py: {error}")
        groups.setdefault((run["agent"], run["environment"]), []).append(run)
    try:
        compared = [c for path in options.compared for c in json.loads(path.read_text())]
        rows = [row(run, compared) for runs in groups.values() for run in runs]
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    print("| agent | environment | seed | gradient steps | environment steps | mean return of "
          f"{rows[0]['evaluation_episodes']} greedy episodes | solved at | SB3 |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for r in rows:
        peer = r["stable_baselines3"]
        print(f"| {r['agent']} | {r['environment']} | {r['seed']} | {r['gradient_steps']} | "
              f"{r['environment_steps']} | {r['mean_return']:.1f} | {r['threshold']:g}"
              f"{'' if r['solved'] else ' (not solved)'} | "
              f"{'-' if peer is None else f'{peer:.1f}'} |")  # fmt: skip
    if options.plot:
        draw(options.plot, groups)
    if options.record:
        seconds = sum(run["wall_seconds"] for runs in groups.values() for run in runs)
        results.write("agents", rows, seconds=seconds, record=True,
                      tools=["gymnasium", "stable-baselines3", "torch"])  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
