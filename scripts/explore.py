#!/usr/bin/env python3
"""Choose the learner's pipelines, lanes and update lanes for a task and a device.

    scripts/explore.py [--agent dqn] --sizes 4 64 64 2 --batch 64 --device u200 [--double]
        [--share 0.333] [--plot [FILE]] [--json FILE]
    scripts/explore.py --agent ddpg --sizes 3 64 64 1      # of the actor; the critic has the same
                                                           # hidden layers

Prints the publication's optimum by its own method (a tensor unit a stage, DP pipelines, factor f)
and the fastest builds of this engine by its cycle model, both within the same part of the device.
The plot is the publication's figure 7: latency over DP for each f, beside this engine's over DP for
each P, both normalized to the first.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

from flow import results
from models.learner import dse
from models.learner.lower import ActorCriticConfig, DqnConfig, ddpg, dqn, td3
from models.learner.optim import adam

PLOT = Path(__file__).resolve().parents[1] / "docs" / "images" / "learner_exploration.png"
SHOWN = 8  # builds that are printed


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--agent", default="dqn", choices=("dqn", "ddpg", "td3"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 64, 64, 2],
                        help="nodes of each layer, input first (or the actor's)")  # fmt: skip
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--double", action="store_true", help="double DQN")
    parser.add_argument("--device", default="u200", choices=sorted(dse.DEVICES))
    parser.add_argument("--share", type=float, default=1 / 3,
                        help="part of the device; default: one region of three")  # fmt: skip
    parser.add_argument("--pipelines", type=int, nargs="+", default=list(dse.PIPELINES),
                        help="DP that may be chosen")  # fmt: skip
    parser.add_argument("--clock", type=float, default=250, help="MHz, for steps a second")
    parser.add_argument("--plot", type=Path, nargs="?", const=PLOT)
    parser.add_argument("--json", type=Path)
    found = parser.parse_args(argv)
    if len(found.sizes) < 2 or min(found.sizes) < 1 or found.batch < 1:
        parser.error(f"got sizes {found.sizes} and batch {found.batch}; wanted two positive sizes "
                     "or more and a positive batch")  # fmt: skip
    if found.double and found.agent != "dqn":
        parser.error(f"--double: got agent {found.agent}, want dqn")
    if not found.clock > 0:
        parser.error(f"got a clock of {found.clock} MHz; wanted more than 0")
    if not set(found.pipelines) <= set(dse.PIPELINES):
        parser.error(f"got pipelines {found.pipelines}; wanted some of {list(dse.PIPELINES)}")
    if not 0 < found.share <= 1:
        parser.error(f"got a share of {found.share}; wanted more than 0 and at most 1")
    return found


def lowering(agent: str, sizes: tuple[int, ...], double: bool) -> dse.Lower:
    """Return what makes the program of a geometry."""
    slot = adam(1e-3)
    if agent == "dqn":
        config = DqnConfig(sizes, slot, double=double)
        return lambda geometry: dqn(geometry, config)
    critic = (sizes[0] + sizes[-1], *sizes[1:-1], 1)
    nets = ActorCriticConfig(sizes, critic, slot, slot, lagged=True)
    return lambda geometry: (ddpg if agent == "ddpg" else td3)(geometry, nets)


def workload(agent: str, sizes: tuple[int, ...]) -> dse.Workload:
    """Return what the publication's method sees of it."""
    if agent == "dqn":
        return dse.dqn_workload(sizes)
    return dse.actor_critic_workload(sizes, 1 if agent == "ddpg" else 2)


def draw(
    path: Path, work: dse.Workload, batch: int, budget: dse.Budget, designs: list[dse.Design],
    best: dse.PublishedPoint | None,
) -> None:  # fmt: skip
    """Latency over DP: the publication's designs and ours, those within the budget filled.

    Source: onchip_replay, figure 7.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10.5, 4.6), dpi=110, layout="constrained",
                                   sharey=True)  # fmt: skip
    pipelines = [dp for dp in (1, 2, 4, 8, 16, 32) if batch % dp == 0]
    base = dse.published_point(work, batch, 1, 1).clocks
    for number, f in enumerate((1, 2, 4, 8)):
        points = [dse.published_point(work, batch, dp, f) for dp in pipelines]
        colour = f"C{number}"
        axes[0].plot(pipelines, [p.clocks / base for p in points], color=colour, label=f"f = {f}")
        for point in points:
            axes[0].plot(point.dp, point.clocks / base, "o", color=colour,
                         fillstyle="full" if point.fits(budget) else "none")  # fmt: skip
    if best:
        axes[0].plot(best.dp, best.clocks / base, "*", markersize=16, color="black", zorder=4,
                     label=f"optimum: {best.clocks:.0f} clocks, {best.dsp} DSP")  # fmt: skip
    axes[0].set_title(f"publication's method, {work.name}, B = {batch}")
    for number, p in enumerate(sorted({d.geometry.p for d in designs})):
        row: dict[int, dse.Design] = {}
        for design in designs:  # fastest first
            if design.geometry.p == p:
                row.setdefault(design.geometry.dp, design)
        ordered = [row[dp] for dp in sorted(row)]
        axes[1].plot([d.geometry.dp for d in ordered], [d.clocks / base for d in ordered], "o-",
                     color=f"C{number}", label=f"P = {p}")  # fmt: skip
    ours = designs[0]
    axes[1].plot(ours.geometry.dp, ours.clocks / base, "*", markersize=16, color="black", zorder=4,
                 label=f"optimum: {ours.clocks} clocks, {ours.resources.dsp} DSP")  # fmt: skip
    axes[1].set_title("this engine, builds within the budget")
    for axis in axes:
        axis.set(xlabel="pipelines DP", xscale="log", yscale="log")
        axis.set_xticks(pipelines, [str(dp) for dp in pipelines])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("clocks of a step, published at DP = f = 1 is 1")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    sizes = tuple(args.sizes)
    budget = dse.DEVICES[args.device].share(args.share)
    work = workload(args.agent, sizes)
    base = replace(dse.BASE, actor_critic=int(args.agent != "dqn"), d_max=max(64, *sizes))
    cost = dse.cost_of(results.read("synth")["rows"])
    published: dse.PublishedPoint | None = None
    none = ""
    try:
        published = dse.published_search(work, args.batch, budget)
    except ValueError as error:  # a unit that is 64 times the least has more lanes than banks
        none = str(error)
    try:
        designs = dse.search(lowering(args.agent, sizes, args.double), args.batch, budget, cost,
                             base, pipelines=tuple(args.pipelines))  # fmt: skip
    except ValueError as error:
        print(f"explore: {error}", file=sys.stderr)
        return 1
    print(f"{work.name}, batch {args.batch}, {budget}\n")
    print("| design | DP | PI | units | clocks | utilization | steps/s | DSP | LUT | BRAM36 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    rate = args.clock * 1e6
    if published is None:
        print(f"| publication's method: {none} | | | | | | | | | |")
    else:
        macs = sum(work.stages) * args.batch / published.lanes / published.clocks
        print(f"| publication's method | {published.dp} | {published.pi} | f = {published.f}, "
              f"widest {published.widest:g} lanes | {published.clocks:.0f} | {macs:.1%} | "
              f"{rate / published.clocks:,.0f} | {published.dsp} | | |")  # fmt: skip
    for design in designs[:SHOWN]:
        geometry, resources = design.geometry, design.resources
        print(f"| this engine | {geometry.dp} | {design.pi} | P = {geometry.p}, LW = {geometry.lw} "
              f"| {design.clocks} | {design.utilization:.1%} | {rate / design.clocks:,.0f} | "
              f"{resources.dsp} | {resources.lut} | {resources.bram36} |")  # fmt: skip
    if args.json:
        args.json.write_text(
            json.dumps(
                {
                    "published": published and asdict(published),
                    "designs": [asdict(d) for d in designs],
                }
            )
        )
    if args.plot:
        draw(args.plot, work, args.batch, budget, designs, published)
        print(f"\nplot: {args.plot}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
