#!/usr/bin/env python3
"""How often teams of ic3net succeed, by the groups of their weights: table and plot of runs.

    scripts/success.py runs/ic3net-1 runs/ic3net-2 ... --plot success.png --record

A run may still go on, or have been ended early. A figure is the share of episodes that succeeded in
the WINDOW updates before. `--evaluate N` plays N episodes more, in which agents do what is
likeliest. `--record` keeps the table in docs/report/data/success.json. Of runs with groups a second
table says how far the cores' shares of the LSTM's weights are from equal, with the newest masks.

Source: LearningGroup IV, Figure 9, Table I.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.sparse import SCHEMES
from flow import results
from jackdaw.api import evaluate
from jackdaw.errors import ConfigError
from jackdaw.runtime.run_folder import kept
from models.sparse.timing import deviation_of

WINDOW = 100  # updates whose mean is shown
NONE: Mapping[str, float] = MappingProxyType({})
LOADS = {f"load_{name.replace(' ', '_')}": name for name in SCHEMES}
MARKS = (500, 1000, 1500, 2000, 2500, 3000)  # updates at which the table looks


def load(folder: Path) -> dict[str, Any]:
    """A run's settings, `success`, [updates] of each update, and its `seconds`.

    Raises: FileNotFoundError without a run; ValueError if it is of another agent, or has no update.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run: dict[str, Any] = json.loads((folder / "config.json").read_text())
    if run["agent"] != "ic3net":
        raise ValueError(f"{folder}: got a run of {run['agent']}, want ic3net")
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    if "train/success" not in events.Tags()["scalars"]:
        raise ValueError(f"{folder}: got no update, want at least one")
    scalars = events.Scalars("train/success")
    found = {event.step: event.value for event in scalars}
    return {
        **run,
        "success": np.array([found[step] for step in sorted(found)]),
        "seconds": scalars[-1].wall_time - scalars[0].wall_time,
    }


def loads(folder: Path, groups: int) -> dict[str, float]:
    """Largest difference of a core's weights from a third, with the masks of a run's LSTM layer.

    Returns: by key of LOADS; nothing of a dense run, and of one without a checkpoint yet.
    Raises: CheckpointError.
    """
    if groups == 1:
        return {}
    try:
        masks = kept(folder)["trainer"]["memories"]["lst"]
    except FileNotFoundError:
        return {}
    ig, og = (masks[key].argmax(axis=1) for key in ("ig", "og"))
    return {key: deviation_of(ig, og, groups, SCHEMES[name]) for key, name in LOADS.items()}


def means(success: np.ndarray) -> np.ndarray:
    """Of each update the mean of it and the WINDOW - 1 before, as far as there are any."""
    sums = np.cumsum(np.concatenate([np.zeros(1), success]))
    ends = np.arange(1, len(success) + 1)
    begins = np.maximum(ends - WINDOW, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def row(
    run: dict[str, Any], likeliest: float | None = None, load: Mapping[str, float] = NONE
) -> dict[str, Any]:
    """A run's line of the table.

    Args:
        run: see `load`.
        likeliest: share of the episodes that succeed where agents do what is likeliest.
        load: see `loads`.
    """
    mean = means(run["success"])
    return {
        "environment": run["recipe"]["environment"],
        "groups": run["recipe"]["groups"],
        "seed": run["seed"],
        "device": run["device"],
        "updates": len(mean),
        "success": float(mean[-1]),
        **{f"at_{mark}": float(mean[mark - 1]) for mark in MARKS if mark <= len(mean)},
        **({} if likeliest is None else {"likeliest": likeliest}),
        **load,
    }


def draw(path: Path, runs: Sequence[dict[str, Any]]) -> None:
    """Means over updates: a colour for each G, a line for each seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6.4, 3.8), dpi=110, layout="constrained")
    every = sorted({run["recipe"]["groups"] for run in runs})
    for groups in every:
        mine = [run for run in runs if run["recipe"]["groups"] == groups]
        for number, run in enumerate(mine):
            label = "dense" if groups == 1 else f"G = {groups}"
            seeds = f", {len(mine)} seeds" if len(mine) > 1 else ""
            axis.plot(
                np.arange(1, len(run["success"]) + 1), means(run["success"]), linewidth=1.2,
                color=f"C{every.index(groups)}", label=label + seeds if not number else None,
            )  # fmt: skip
    title = ", ".join(sorted({run["recipe"]["environment"] for run in runs}))
    axis.set(title=title, ylim=(0, 1),
             xlabel="updates", ylabel=f"success, mean of {WINDOW} updates")  # fmt: skip
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table: a line for each run."""
    marks = [mark for mark in MARKS if any(f"at_{mark}" in one for one in rows)]
    head = ["environment", "G", "seed", *(f"{mark:,}" for mark in marks), "updates", "at the end"]
    evaluated = any("likeliest" in one for one in rows)
    head += ["likeliest actions"] * evaluated
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for one in sorted(rows, key=lambda r: (r["environment"], r["groups"], r["seed"])):
        at = [f"{one[f'at_{mark}']:.2f}" if f"at_{mark}" in one else "" for mark in marks]
        groups = "dense" if one["groups"] == 1 else str(one["groups"])
        cells = [one["environment"], groups, str(one["seed"]), *at, f"{one['updates']:,}",
                 f"{one['success']:.2f}"]  # fmt: skip
        if evaluated:
            cells.append(f"{one['likeliest']:.2f}" if "likeliest" in one else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def load_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table of `loads`: a line for each run with groups; none without such a run."""
    lines = [f"| G | seed | {' | '.join(LOADS.values())} |", f"|{' --- |' * (2 + len(LOADS))}"]
    for one in sorted(rows, key=lambda r: (r["groups"], r["seed"])):
        if all(key in one for key in LOADS):
            cells = [f"{one[key]:.1f}" for key in LOADS]
            lines.append(f"| {one['groups']} | {one['seed']} | {' | '.join(cells)} |")
    return lines if len(lines) > 2 else []


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="their folders")
    parser.add_argument("--plot", type=Path, help="draw them")
    parser.add_argument("--evaluate", type=int, default=0, metavar="N", help="episodes to play")
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    options = parser.parse_args(arguments)
    results.check_record(parser, options.record)
    try:
        runs = [load(folder) for folder in options.runs]
    except (FileNotFoundError, ValueError) as error:
        parser.error(f"no run of ic3net: {error}")
    rows = []
    for folder, run in zip(options.runs, runs, strict=True):
        try:
            likeliest = evaluate(folder, episodes=options.evaluate)[0] if options.evaluate else None
        except ConfigError as error:
            parser.error(f"{folder}: {error}")
        rows.append(row(run, likeliest, loads(folder, run["recipe"]["groups"])))
    print("\n".join(table(rows)))
    for line in load_table(rows):
        print(line)
    if options.plot:
        draw(options.plot, runs)
    if options.record:
        seconds = sum(run["seconds"] for run in runs)
        results.write("success", rows, seconds=seconds, record=True, tools=["numba", "numpy"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
