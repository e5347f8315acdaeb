"""Plots of the sparse engine's benchmark, one for each figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.base import Row

Axis = Any
ONE = ", one core of three"  # ends of configurations
BY_MODEL = ", by the golden model"


def by_groups(rows: list[Row], figure: str, config: str) -> dict[int, Row]:
    """Rows by G; `config` is a pattern that ends before the number."""
    found = {}
    for r in rows:
        if r["figure"] == figure and (
            hit := re.fullmatch(config, r["config"].removesuffix(ONE).removesuffix(BY_MODEL))
        ):
            found[int(hit[1])] = r
    return dict(sorted(found.items()))


def line(axis: Axis, found: Mapping[int, Row], label: str, style: str = "o-", **more: Any) -> None:
    """Measured figures over the groups."""
    axis.plot(list(found), [r["measured"] for r in found.values()], style, label=label, **more)


def published(axis: Axis, found: Mapping[int, Row], label: str = "published") -> None:
    """The published figures of rows that have one."""
    there = {g: r["published"]["value"] for g, r in found.items() if r["published"]}
    if there:
        axis.plot(list(there), list(there.values()), "kx", markersize=8, label=label)


def throughput(axis: Axis, rows: list[Row]) -> None:
    """Dense-equivalent throughput."""
    for name in ("LST", "FW"):
        found = by_groups(rows, "equivalent_gflops", rf"{name}, G=(\d+)")
        line(axis, found, {"LST": "LSTM layer", "FW": "network, dense heads"}[name])
    published(axis, by_groups(rows, "equivalent_gflops", r"LST, G=(\d+)"))
    axis.set(ylabel="GFLOPS, dense-equivalent", yscale="log")


def encoder(axis: Axis, rows: list[Row]) -> None:
    """Sparse data generation: steps on top of each other, and the ratio."""
    bottom: dict[int, float] = {}
    for name in ("MaxIndex", "rows", "misses", "lists", "compression", "pipelines"):
        found = by_groups(rows, "osel_clocks", rf".*, G=(\d+), {name}")
        places = [str(g) for g in found]
        heights = [r["measured"] for r in found.values()]
        axis.bar(places, heights, bottom=[bottom.get(g, 0.0) for g in found], label=name)
        for g, height in zip(found, heights, strict=True):
            bottom[g] = bottom.get(g, 0.0) + height
            ratio = by_groups(rows, "osel_ratio", r".*, G=(\d+)")[g]["measured"]
            if name == "pipelines":
                axis.text(str(g), bottom[g], f"{ratio:.2f} x fewer", ha="center", va="bottom")
    axis.set(ylabel="clocks")


def load(axis: Axis, rows: list[Row]) -> None:
    """Difference of the cores' weights."""
    for name, colour in (("threshold", "C3"), ("contiguous rows", "C0"), ("sorted rows", "C2")):
        found = by_groups(rows, "load_deviation", rf".*, G=(\d+), {name}")
        line(axis, found, name, color=colour)
        there = {g: r["published"]["value"] for g, r in found.items() if r["published"]}
        if there:
            axis.plot(list(there), list(there.values()), "x--", color=colour, alpha=0.5,
                      label=f"{name}, published")  # fmt: skip
    axis.set(ylabel="weights from a third, the most of a core", ylim=(0, None))


def utilization(axis: Axis, rows: list[Row]) -> None:
    """Lanes that multiply."""
    found = by_groups(rows, "utilization", r"LST, G=(\d+)")
    line(axis, found, "with load allocation")
    published(axis, found)
    line(axis, by_groups(rows, "utilization", r"LST, G=(\d+), without load allocation"),
         "without", "s--")  # fmt: skip
    axis.set(ylabel="share of the lanes' clocks", ylim=(0.5, 1))


def speedup(axis: Axis, rows: list[Row]) -> None:
    """Times fewer clocks than the dense network's."""
    for figure, form, label in (
        ("speedup_end_to_end", r"step, G=(\d+), .*", "a step, all units"),
        ("speedup_end_to_end", r"iteration, G=(\d+), .*", "an iteration, all units"),
        ("speedup_train", r"G=(\d+), (?!.*while).*", "an iteration, array with GROUP and UPDATE"),
        ("speedup_train", r"G=(\d+), .*while.*", "the same, while lanes multiply"),
    ):
        found = by_groups(rows, figure, form)
        line(axis, found, label)
    published(axis, found)  # one figure for both of an iteration
    groups = list(found)
    axis.plot(groups, groups, "k:", label="as many as groups")
    axis.set(ylabel="times fewer clocks than dense", yscale="log")
    axis.set_yticks(groups, map(str, groups))
    axis.minorticks_off()


PLOTS: dict[str, tuple[Callable[[Axis, list[Row]], None], str]] = {
    "throughput": (throughput, "equivalent_gflops"), "encoder": (encoder, "osel_clocks"),
    "load": (load, "load_deviation"), "utilization": (utilization, "utilization"),
    "speedup": (speedup, "speedup_train"),
}  # fmt: skip


def draw(path: Path, rows: list[Row]) -> list[Path]:
    """Draw what there are rows of, in files beside `path` with a figure's name after its own."""
    from matplotlib import pyplot

    drawn = []
    for name, (plot, figure) in PLOTS.items():
        if not any(r["figure"] == figure for r in rows):
            continue
        canvas, axis = pyplot.subplots(figsize=(6.4, 4.0), dpi=110, layout="constrained")
        plot(axis, rows)
        axis.set(xlabel="groups")
        if name != "encoder":
            axis.set_xscale("log", base=2)
            ticks = sorted({int(g) for r in rows for g in re.findall(r"G=(\d+)", r["config"])
                            if r["figure"] == figure})  # fmt: skip
            axis.set_xticks(ticks, [str(g) for g in ticks])
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
        drawn.append(path.with_stem(f"{path.stem}_{name}"))
        drawn[-1].parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(drawn[-1])
        pyplot.close(canvas)
    return drawn
