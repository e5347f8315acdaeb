#!/usr/bin/env python3
"""Choose the mcts engine's selectors, network, multipliers and tokens for a tree and a device.

    scripts/explore_mcts.py [--depth 32] [--fanout 18] [--nodes 10000] [--lut N] [--dsp N]
        [--bram N] [--simulate] [--out FILE] [--picture FILE]

Prints the build with the least interval between iterations, the published method's, and the
nearest ones that are refused, with the limit that they break. `--simulate` takes the networks'
congestion from the cycle model. `--out` writes the build as a configuration. `--picture` draws both
networks of `--depth` levels, with ways of two levels that meet and ways that do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from models.mcts import banks, dse
from models.mcts.formats import Geometry
from models.mcts.traces import SHAPES, intervals, record

REFUSED = 3  # builds that are printed
MOST_DRAWN = 16  # levels of a picture


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--depth", type=int, default=32, help="levels, a power of two")
    parser.add_argument("--fanout", type=int, default=18, help="children of a node")
    parser.add_argument("--nodes", type=int, default=10_000)
    for name, of in (("lut", "lut"), ("ff", "ff"), ("dsp", "dsp"), ("bram", "bram36")):
        parser.add_argument(f"--{name}", dest=of, type=float, default=getattr(dse.U200, of),
                            help="default: the share of a U200 that may be used")  # fmt: skip
    parser.add_argument("--simulate", action="store_true", help="congestion by the cycle model")
    parser.add_argument("--out", type=Path, help="a configuration")
    parser.add_argument("--picture", type=Path, help="draw the networks, with up to 16 levels")
    found = parser.parse_args(argv)
    if found.depth not in (4, 8, 16, 32, 64) or not 2 <= found.fanout <= 32 or found.nodes < 2:
        parser.error(f"got {found.depth} levels, {found.fanout} children and {found.nodes} nodes; "
                     "wanted 4, 8, 16, 32 or 64, 2..32 and 2 or more")  # fmt: skip
    for of in ("lut", "ff", "dsp", "bram36"):
        if not getattr(found, of) > 0:  # a NaN neither
            parser.error(f"got {getattr(found, of):g} {of}; wanted more than 0")
    for name in ("out", "picture"):
        path = getattr(found, name)
        if path and (path.is_dir() or not path.absolute().parent.is_dir()):
            parser.error(f"--{name}: got {path}, wanted a file in a folder that is there")
    if found.picture and found.depth > MOST_DRAWN:
        parser.error(f"--picture: got {found.depth} levels, wanted at most {MOST_DRAWN}")
    return found


def congestion(task: dse.Task) -> tuple[float, float]:
    """Clocks between selections of butterflies and of crossbars, by the cycle model."""
    found = []
    for xbar in (0, 1):
        geometry = Geometry(d=task.d, f=task.f, fr=task.f, fp=task.f, xbar=xbar, mu=task.f)
        trace = record(SHAPES["bushy"], geometry, 2000)
        found.append(max(intervals(trace, geometry)[0].interval, 1.0))
    return found[0], found[1]


def draw(path: Path, d: int) -> None:
    """Draw a crossbar network and a butterfly of D rows, with the ways of levels 1 and 3."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    layers = d.bit_length() - 1
    first, other = (1, d - 2), 3  # a level and its port; another level
    meets = next(p for p in range(d) if banks.meet(*first, other, p))
    apart = next(p for p in range(d) if p != first[1] and not banks.meet(*first, other, p))
    figure, panels = pyplot.subplots(1, 3, figsize=(14, 0.3 * d + 2), layout="constrained")
    for axes, title, second in (
        (panels[0], "crossbars: ways never meet inside", meets),
        (
            panels[1],
            f"butterfly: levels 1 and 3 meet on the way to ports {first[1]} and {meets}",
            meets,
        ),
        (panels[2], f"butterfly: to ports {first[1]} and {apart} they do not", apart),
    ):
        crossed = axes is panels[0]
        depth = 1 if crossed else layers
        for layer in range(depth):
            for row in range(d):
                for to in range(d) if crossed else (row, row ^ 1 << layer):
                    axes.plot((layer, layer + 1), (row, to), color="0.85", linewidth=0.7, zorder=1)
        for (level, port), color in zip((first, (other, second)), ("tab:blue", "tab:red"),
                                        strict=True):  # fmt: skip
            rows = [level, port] if crossed else [level, *banks.route(level, port, d)]
            axes.plot(range(depth + 1), rows, color=color, linewidth=2.5, alpha=0.8, zorder=3)
        for layer in range(depth + 1):
            axes.scatter([layer] * d, range(d), s=14, color="0.4", zorder=2)
        axes.set(title=title, xticks=[0, depth], yticks=range(d))
        axes.set_xticklabels(["stages of levels", "ports of node units"])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.spines[:].set_visible(False)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def shown(name: str, point: dse.Point) -> str:
    return (
        f"| {name} | {point.fr} | {point.fp} | {'crossbars' if point.xbar else 'butterflies'} | "
        f"{point.mu} | {point.tokens} | {point.interval:.2f} | {point.lut:,} | {point.dsp} | "
        f"{point.bram36} |"
    )


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    budget = dse.Budget(options.lut, options.ff, options.dsp, options.bram36)
    task = dse.Task(options.depth, options.fanout, options.nodes)
    if options.simulate:
        task = replace(task, congestion=congestion(task))
    chosen, published = dse.choose(task, budget), dse.published(task, budget)
    if chosen is None:
        first = min(dse.every(task), key=lambda p: (p.lut, p.dsp))
        print(f"no build fits: the smallest has {dse.binding(first, budget)}", file=sys.stderr)
        return 1
    butterflies, crossbars = task.congestion
    print(f"D={task.d} F={task.f}, {task.nodes} nodes")
    print(f"congestion {butterflies:.2f} of butterflies, {crossbars:.2f} of crossbars")
    print("| build | Fr | Fp | network | Mu | tokens | clocks per iteration | LUT | DSP | BRAM36 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print(shown("chosen", chosen))
    if published:
        print(shown("published method", published))
    better = [p for p in dse.every(task) if p.order < chosen.order]
    for point in sorted(better, key=lambda p: p.order)[:REFUSED]:
        print(shown(f"refused: {dse.binding(point, budget)}", point))
    if options.picture:
        draw(options.picture, task.d)
        print(options.picture)
    if options.out:
        data = {
            "ClockHz": 250_000_000, "MemSizeLog2": 24, "MemPorts": 1,
            "engines": {"mcts": {"parameters": {
                "MctsD": task.d, "MctsF": task.f, "MctsX": task.nodes, **chosen.parameters(),
            }}},
        }  # fmt: skip
        options.out.write_text(json.dumps(data, indent=2) + "\n")
        print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
