#!/usr/bin/env python3
"""Measure an engine in device clocks, with the ideal and the published figure beside each.

    scripts/bench.py replay [--plot [FILE]]     # a sweep over K and capacity; figure 8 of CF'22
    scripts/bench.py learner [--large] [--plot [FILE]]  # DQN, DDPG on 1, 2 and 4 pipelines
    scripts/bench.py a3c [--setups golden,layers,A] [--agents 16] [--record] [--plot [FILE]]
    scripts/bench.py replay|learner --config demo [--set NAME=VALUE]    # one build
        [--memory D] [--json FILE]

Every row has the same keys: engine, figure, config, measured, unit, ideal, published, peers. The
peers are software, measured in the same run on this machine (`--no-peers` leaves them out): trees
and buffers beside the replay engine, gradient steps beside the learner; name, value, unit, config.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bench_a3c
import bench_learner
import peers
from flow import results
from flow.configuration import numbers
from flow.manifest import engines, load_object
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.device.sim import MEMORIES
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.replay.engine import Job as Opcode
from models.replay.engine import ReplayConfig
from models.replay.rmm import Op
from models.replay.timing import Timing

Row = dict[str, Any]
THESIS = "thesis, Eq. 4.2 and 4.3"
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
PLOTS = {
    "replay": IMAGES / "replay_latency.png",
    "learner": IMAGES / "learner_clocks.png",
    "a3c": IMAGES / "a3c_inferences.png",
}
CAPACITIES, BATCHES = (4096, 65536, 1 << 20), (32, 64, 128, 256, 512)
SUSTAINED_JOBS = 32
SUSTAINED_BATCHES = 64
# log2 of K, log2 of the leaves, sequential
SWEEP = (
    *((k_log2, 12, 0) for k_log2 in (2, 3, 4, 5, 6)),
    *((k_log2, 12, 1) for k_log2 in (4, 6)),
    (4, 16, 0),
    *((k_log2, 20, 0) for k_log2 in (4, 6)),
)
ROW_BYTES = (16, 64, 256, 1024, 28224)  # the last: 84 x 84 x 4
GATHERED_BYTES = 1 << 20  # of a job, at most
BURST_BYTES, READS = 1024, 16  # of a read; reads at a time on a port


def row(
    engine: str,
    figure: str,
    config: str,
    measured: float,
    unit: str,
    ideal: float | None = None,
    published: tuple[float, str] | None = None,
    peers: list[dict[str, Any]] | None = None,
) -> Row:
    """One result; `published` is the value and its source, `peers` are rows of peers.Figure."""
    return {
        "engine": engine,
        "figure": figure,
        "config": config,
        "measured": measured,
        "unit": unit,
        "ideal": ideal,
        "published": published and {"value": published[0], "source": published[1]},
        "peers": peers or [],
    }


# Engines whose manifest names their benchmark.
OTHERS = {name: manifest for name, manifest in engines().items() if manifest.bench}


def configuration(name: str, settings: list[str]) -> Config:
    """A configuration with some parameters changed, NAME=NUMBER each. Raises: ConfigError."""
    return load_config(name).changed(numbers(settings))


def replay_timing(config: Config) -> Timing:
    """The cycle formulas of a build's replay engine."""
    return Timing(ReplayConfig(**config.instance("replay").fields))


def replay_sweep() -> list[Config]:
    """Builds of the replay engine from 4 to 64 children and to a million leaves, batches to 512."""
    small = load_config("small")
    return [
        small.changed(
            {
                "MemPorts": 1,
                "MemSizeLog2": 28 if n_log2 > 16 else 26,
                "replay.KLog2": k_log2,
                "replay.NLog2": n_log2,
                "replay.BatchLog2": 9,
                "replay.Sequential": sequential,
            },
        )
        for k_log2, n_log2, sequential in SWEEP
    ]


def replay_name(timing: Timing) -> str:
    """How rows name a build."""
    kind = ", sequential" if timing.config.sequential else ""
    return f"K={1 << timing.config.k_log2} N={1 << timing.config.n_log2}{kind}"


def replay_rows(
    device: Device, build: Config, figures: list[peers.Figure], latency: int
) -> list[Row]:
    """Clocks of whole jobs (descriptor, operations, responses to memory) and of each operation."""
    timing = replay_timing(build)
    fan, depth, leaves = 1 << timing.config.k_log2, timing.levels, 1 << timing.config.n_log2

    def of(operation: str, batch: int | None = None) -> list[dict[str, Any]]:
        """Peers of an operation; with a batch, only those of this capacity and batch."""
        return [
            f.row()
            for f in figures
            if f.operation == operation
            and (batch is None or (f.leaves, f.batch) == (leaves, batch))
        ]

    replay = Replay(device, ReplaySettings(leaves=leaves, seed=1))
    replay.insert(np.arange(1, leaves + 1) % 1024 * 1000 + 1000)
    name, prefix = replay_name(timing), "sequential_" if timing.config.sequential else ""
    rows = memory_rows(timing, name)
    batch = 8
    while batch <= max(replay.max_batch, BATCHES[-1]) and batch <= leaves:
        parts = -(-batch // replay.max_batch)
        split = f" in {parts} batches" if parts > 1 else ""
        sample = (
            replay.measure_sample(batch)
            if parts == 1
            else replay.measure_sustained(replay.max_batch, parts)
        )
        update = replay.measure_host(Opcode.UPDATE, batch)
        paper = 2 * fan * (batch + depth), 2 * (batch + depth)
        for operation, cycles, goal, published, jobs in (
            ("sample", sample, timing.sample(batch, False), paper[0], split),
            ("update", update, timing.update(batch), paper[1], ""),
        ):
            config = f"{name}{jobs} B={batch}"
            ideal, each = (None, None) if prefix else (goal, 1.0)
            rows += [
                row("replay", f"{prefix}{operation}_job_cycles", config, cycles, "clocks", ideal,
                    (published, THESIS)),
                row("replay", f"{prefix}{operation}_cycles_each", config, round(cycles / batch, 3),
                    "clocks", each, (published / batch, THESIS), of(operation, batch)),
            ]  # fmt: skip
        batch *= 2
    rows += sustained_rows(replay, name, prefix, fan, depth, of)
    if not timing.config.sequential:
        rows += stream_rows(replay, name) + gather_rows(replay, name, timing, latency)
    return rows


def memory_rows(timing: Timing, name: str) -> list[Row]:
    """Bits of the tree, and what synthesis of the core made of them where it was recorded."""
    rows = [row("replay", "memory_bits", name, timing.memory_bits(), "bits")]
    label = f"K={1 << timing.config.k_log2}, 2^{timing.config.n_log2}"
    for found in results.read("synth")["rows"] if not timing.config.sequential else []:
        if (found["block"], found["configuration"]) == ("jd_replay_core", label):
            rows += [
                row("replay", figure, name, found[key] or 0, "1")
                for figure, key in (("block_rams", "bram36"), ("ultra_rams", "uram"))
            ]
    return rows


def sustained_rows(
    replay: Replay,
    name: str,
    prefix: str,
    fan: int,
    depth: int,
    of: Callable[[str], list[dict[str, Any]]],
) -> list[Row]:
    """Clocks of each operation while batches, and jobs of one batch, follow one another."""
    batch, batches, jobs = replay.max_batch, SUSTAINED_BATCHES, SUSTAINED_JOBS
    ideal: float | None = 1.0
    if prefix:  # many clocks a sample
        batches, jobs, ideal = batches // 8, jobs // 8, None
    paper = 2 * fan * (batch + depth) / batch, 2 * (batch + depth) / batch
    rows = []
    for operation, samples, updates, published in (
        ("sample", True, False, paper[0]),
        ("update", False, True, paper[1]),
        ("sample and update", True, True, None),
    ):
        figure = f"{prefix}cycles_per_{operation.replace(' ', '_')}"
        beside = (round(published, 3), THESIS) if published else None
        cycles = replay.measure_sustained(batch, batches, samples=samples, updates=updates)
        rows.append(
            row("replay", figure, f"{name}, {batches} batches of {batch}",
                round(cycles / batch / batches, 3), "clocks", ideal, beside, of(operation))
        )  # fmt: skip
        cycles = replay.measure_jobs(batch, jobs, samples=samples, updates=updates)
        rows.append(
            row("replay", f"{figure}_in_jobs", f"{name}, {jobs} jobs of {batch}",
                round(cycles / batch / jobs, 3), "clocks", ideal, beside)
        )  # fmt: skip
    count = batch * batches
    for operation, opcode in (("insert", Opcode.INSERT), ("retrieve", Opcode.RETRIEVE)):
        cycles = replay.measure_host(opcode, count)
        beside = (round(paper[1], 3), THESIS) if operation == "insert" else None
        rows.append(
            row("replay", f"{prefix}cycles_per_{operation}", f"{name}, a job of {count}",
                round(cycles / count, 3), "clocks", ideal, beside)
        )  # fmt: skip
    return rows


def stream_rows(replay: Replay, name: str) -> list[Row]:
    """Clocks of each request of a STREAM job, where a sample waits for the operations before it."""
    count = 1024
    sample = np.zeros((count, 4), np.uint32)
    sample[:, 0] = Op.SAMPLE
    update = np.zeros((count, 4), np.uint32)
    update[:, 0] = Op.UPDATE
    update[:, 1] = np.arange(count) % replay.settings.leaves
    update[:, 2] = replay.retrieve(update[:, 1])
    rows = []
    for figure, requests, pairs in (
        ("sample", sample, count),
        ("update", update, count),
        ("sample_and_update", np.stack([sample, update], axis=1).reshape(-1, 4), count),
    ):
        cycles = replay.measure_stream(requests)
        config = f"{name}, STREAM of {len(requests)} requests"
        rows.append(
            row("replay", f"stream_cycles_per_{figure}", config, round(cycles / pairs, 3),
                "clocks", 2.0 if figure == "sample_and_update" else 1.0)
        )  # fmt: skip
    return rows


def gather_rows(replay: Replay, name: str, timing: Timing, latency: int) -> list[Row]:
    """Clocks of each row that GATHER brings together, from 16 bytes to a stack of four frames.

    The ideal is the port's: a beat a clock, and 16 reads at a time, `latency` clocks each.
    """
    rng = np.random.default_rng(1)
    size = min(GATHERED_BYTES, replay.device.memory_bytes // 8)
    rows = []
    for row_bytes in ROW_BYTES:
        count = min(512, size // row_bytes)
        stored = min(replay.settings.leaves, 2 * size // row_bytes)
        storage = replay.device.alloc(stored * row_bytes)
        cycles = replay.measure_gather(rng.integers(0, stored, count), storage, row_bytes)
        replay.device.free(storage)
        config = f"{name}, {count} rows of {row_bytes} bytes"
        reads = count * -(-row_bytes // BURST_BYTES)
        ideal = max(timing.gather(count, row_bytes, 4), reads * latency / READS)
        rows += [
            row("replay", "gather_cycles_per_row", config, round(cycles / count, 2), "clocks",
                round(ideal / count, 2)),
            row("replay", "gather_bytes_per_clock", config,
                round(count * row_bytes / cycles, 1), "bytes",
                round(count * row_bytes / ideal, 1)),
        ]  # fmt: skip
    return rows


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| figure | configuration | measured | ideal | published | unit |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        published = f"{r['published']['value']:g}" if r["published"] else ""
        ideal = "" if r["ideal"] is None else f"{r['ideal']:g}"
        cells = (r["figure"], r["config"], f"{r['measured']:g}", ideal, published, r["unit"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def peers_table(rows: list[Row], nanoseconds: float) -> str:
    """This engine, with `nanoseconds` a clock, and its peers as a Markdown table of ns each.

    Peers of the smallest and the largest batch; the rows have them all.
    """
    ours = [
        r
        for r in rows
        if re.fullmatch("cycles_per_(sample|update|sample_and_update)", r["figure"]) and r["peers"]
    ][-3:]  # of the last build
    if not ours:
        return ""
    lines = ["", "| ns each | configuration | " + " | ".join(r["figure"][11:] for r in ours) + " |"]
    lines += ["|---|---|" + "---|" * len(ours)]
    cells = " | ".join(f"{r['measured'] * nanoseconds:.2f}" for r in ours)
    lines.append(f"| this engine at {1e3 / nanoseconds:g} MHz | {ours[0]['config']} | {cells} |")
    columns = [{(p["name"], p["config"].split(" N=")[1]): p["value"] for p in r["peers"]}
               for r in ours]  # fmt: skip
    for name, config in columns[0]:
        if not config.endswith((f"B={BATCHES[0]}", f"B={BATCHES[-1]}")):
            continue
        values = " | ".join(f"{column[name, config]:.2f}" for column in columns)
        lines.append(f"| {name} | N={config} | {values} |")
    return "\n".join(lines)


def draw_latency(path: Path, rows: list[Row], builds: list[Config], clock_hz: int) -> None:
    """Time of a batch against its size: this engine, the published formula and the processor.

    Args:
        builds: those to show, of one capacity.
    Source: onchip_replay, figure 8.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    timings = [replay_timing(build) for build in builds]
    leaves, microseconds = 1 << timings[0].config.n_log2, 1e6 / clock_hz
    figure, axes = pyplot.subplots(
        1, 2, figsize=(10.5, 5.8), dpi=110, sharey=True, layout="constrained"
    )
    for axis, operation in zip(axes, ("sample", "update"), strict=True):
        for number, timing in enumerate(timings):
            name, fan, depth = replay_name(timing), 1 << timing.config.k_log2, timing.levels
            colour = ("#2b5c8a", "#2e7d4f", "#7a4fa3")[number % 3]
            jobs = [
                r
                for r in rows
                if r["figure"] == f"{operation}_job_cycles" and r["config"].startswith(name)
            ]
            batches = [int(r["config"].rsplit("B=", 1)[1]) for r in jobs]
            most = 1 << timing.config.batch_log2
            axis.plot(batches, [r["measured"] * microseconds for r in jobs], "o-", color=colour,
                      linewidth=2, zorder=3,
                      label=f"this engine, K={fan}, whole job; batches to {most}")  # fmt: skip
            axis.plot(batches, [r["ideal"] * microseconds for r in jobs], "--", color=colour,
                      linewidth=1, label=f"K={fan}, the core alone")  # fmt: skip
            factor = 2 * fan if operation == "sample" else 2
            axis.plot(batches, [factor * (b + depth) * microseconds for b in batches], ":",
                      color=colour, label=f"published formula, K={fan}")  # fmt: skip
        sustained = next(r for r in rows if r["figure"] == f"cycles_per_{operation}")
        lines: dict[str, list[tuple[int, float]]] = {}
        for peer in sustained["peers"]:
            found = re.search(r" N=(\d+) B=(\d+)", peer["config"])
            assert found is not None
            if int(found[1]) == leaves:
                size = int(found[2])
                lines.setdefault(peer["name"], []).append((size, peer["value"] * size / 1e3))
        for number, (name, points) in enumerate(lines.items()):
            axis.plot(*zip(*points, strict=True), marker="^x+vsd"[number % 6], linewidth=1,
                      markersize=5, color=pyplot.get_cmap("autumn")(0.14 * number),
                      label=name)  # fmt: skip
        axis.set(title=f"{operation}, N = {leaves}", xlabel="batch", xscale="log", yscale="log")
        axis.set_xticks(batches, [str(b) for b in batches])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"microseconds (device at {clock_hz / 1e6:g} MHz)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  fontsize=8, title=f"Software: {peers.machine()}, one thread, warm caches",
                  title_fontsize=8)  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def measure_replay(
    builds: list[Config], options: argparse.Namespace, latency: int
) -> tuple[list[Row], list[peers.Figure], int]:
    """Rows of the replay engine's builds, what software takes, the device's clock in Hz."""
    figures: list[peers.Figure] = []
    if options.peers:
        leaves = {1 << replay_timing(build).config.n_log2 for build in builds}
        print("timing software ...", flush=True)
        figures = peers.measure(sorted({*CAPACITIES, *leaves}), BATCHES)
    rows: list[Row] = []
    for build in builds:
        print(f"measuring {replay_name(replay_timing(build))} ...", flush=True)
        with open_device("sim", config=build, memory=options.memory) as device:
            rows += replay_rows(device, build, figures, latency)
            clock_hz = device.clock_hz
    return rows, figures, clock_hz


def measure_learner(
    builds: list[Config], options: argparse.Namespace
) -> tuple[list[Row], list[peers.Figure], int]:
    """Rows of the learner: of the given builds, or of the sweep."""
    every: tuple[bench_learner.Workload, ...] = (*bench_learner.SMALL, *bench_learner.LARGE)
    runs = [(build, every) for build in builds]
    runs = runs or [
        (build, workloads)
        for build, workloads in bench_learner.sweep((1, 2, 4), bool(options.large or options.build))
        if options.build in (None, build.name)
    ]
    works = {work.name: work for _, workloads in runs for work in workloads}
    software = {}
    if options.peers:
        print("timing software ...", flush=True)
        software = bench_learner.software(list(works.values()))
    rows: list[Row] = []
    for build, workloads in runs:
        print(f"measuring {build.name} ...", flush=True)
        with open_device(
            "sim", config=build, memory=options.memory, assertions=False, compiled_arithmetic=True
        ) as device:
            rows += bench_learner.measure(
                device, workloads, row, software, bench_learner.latencies_of(build),
                progress=partial(print, flush=True),
            )  # fmt: skip
            clock_hz = device.clock_hz
    return rows, [], clock_hz


def record(rows: list[Row]) -> list[Row]:
    """Put rows into the recorded results, in their places; returns all of these engines.

    Raises: NotRecorded.
    """
    recorded = results.read("bench")
    new = {(r["engine"], r["figure"], r["config"]): r for r in rows}
    kept = [new.pop((r["engine"], r["figure"], r["config"]), r) for r in recorded["rows"]]
    every = [*kept, *new.values()]
    results.write("bench", every, seconds=recorded["seconds"], seed=recorded["seed"],
                  record=True, tools=["verilator"])  # fmt: skip
    return [r for r in every if r["engine"] in {r["engine"] for r in rows}]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=(*PLOTS, *OTHERS))
    parser.add_argument("--config", help="build configuration in configs/ (default: replay's sweep;"
                        " learner: demo)")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change a parameter of the configuration")  # fmt: skip
    parser.add_argument("--memory", default="D", choices=MEMORIES, help="memory preset")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--record", action="store_true", help="put the rows into the recorded ones")
    parser.add_argument("--large", action="store_true",
                        help="learner: also 4 pipelines of 64 lanes, one of four units, and"
                        " DDPG 256-128 and 400-300 (an hour)")  # fmt: skip
    parser.add_argument("--setups", default="golden,layers,tasks,A,H,J",
                        help="a3c: golden (a routine against the model and PyTorch), layers (clocks"
                        " of stages), tasks (single tasks, traffic), configurations A C F H J FA3C"
                        " Alt1 Alt2 SingleCU")  # fmt: skip
    parser.add_argument("--agents", default="16", help="a3c: numbers of agents, with commas")
    sweep = [build.name for build, _ in bench_learner.sweep((1, 2, 4), True)]
    parser.add_argument("--build", choices=sweep, help="learner: one build of the large sweep")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="no software peers")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=Path(), metavar="FILE",
        help="draw time against batch size (default docs/images/...)",
    )  # fmt: skip
    options = parser.parse_args(argv)
    if (options.large or options.build) and options.engine != "learner":
        parser.error(f"--large, --build: got {options.engine}, want learner")
    if options.build and options.config:
        parser.error(f"--build {options.build}: got --config {options.config}, too; want one")
    setups, agents = options.setups.split(","), options.agents.split(",")
    known = [*bench_a3c.PARTS, *(s.name for s in bench_a3c.SETUPS + bench_a3c.FIGURE_10)]
    if unknown := [name for name in setups if name not in known]:
        parser.error(f"--setups: got {', '.join(unknown)}, want some of {', '.join(known)}")
    if not all(text.isdecimal() and int(text) for text in agents):
        parser.error(f"--agents: got {options.agents}, want numbers from 1 on, with commas")
    try:
        if options.config or options.set:
            builds = [configuration(options.config or "demo", options.set)]
        elif options.engine == "replay":
            builds = replay_sweep()
        else:
            builds = []
    except ValueError as error:
        parser.error(str(error))
    results.check_record(parser, options.record)
    if options.engine in OTHERS:
        measure = load_object(str(OTHERS[options.engine].bench))
        return finish(list(measure(row, options.memory)), options)
    latency = MEMORIES[options.memory].latency
    rows, figures, clock_hz = (
        (
            bench_a3c.measure(
                row,
                setups,
                [int(n) for n in agents],
                [options.memory],
            ),
            [],
            bench_a3c.CLOCK_HZ,
        )
        if options.engine == "a3c"
        else measure_replay(builds, options, latency)
        if options.engine == "replay"
        else measure_learner(builds, options)
    )
    print(f"memory preset {options.memory}, latency {latency} clocks"
          + (f"; configuration {options.config or 'demo'}" if len(builds) == 1 else "")
          + "".join(f", {text}" for text in options.set))  # fmt: skip
    print(table(rows))
    if figures:
        print(f"\nThis machine: {peers.machine()}")
        print(peers_table(rows, 1e9 / clock_hz))
    if options.plot is not None:
        path = options.plot if options.plot.name else PLOTS[options.engine]
        if options.engine == "a3c":
            bench_a3c.draw(path, rows)
        elif options.engine == "learner":
            bench_learner.draw(path, rows, clock_hz)
        else:
            largest = max(build.parameters["replay.NLog2"] for build in builds)
            shown = [build for build in builds if build.parameters["replay.NLog2"] == largest]
            draw_latency(path, rows, shown, clock_hz)
        print(path)
    return finish(rows, options, shown=True)


def finish(rows: list[Row], options: argparse.Namespace, shown: bool = False) -> int:
    """Show rows, if they are not shown yet; put them where the command line says."""
    if not shown:
        print(table(rows))
    if options.record:
        rows = record(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
