"""The replay engine's benchmark: jobs, operations, rows gathered; trees and buffers in software."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.base import IMAGES, Benchmark, Row, add_build_options, builds, row
from flow import results
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.device.timing import MEMORIES
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.replay.engine import Job as Opcode
from models.replay.engine import ReplayConfig
from models.replay.kernels import Op
from models.replay.timing import Timing

THESIS = "thesis, Eq. 4.2 and 4.3"
CAPACITIES, BATCHES = (4096, 65536, 1 << 20), (32, 64, 128, 256, 512)
SUSTAINED_JOBS = 32
MODEL_LOG2 = 16  # leaves of the buffer that is timed on `model`
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

    The ideal is that of the port: one beat per clock, and 16 reads out, of `latency` clocks each.
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


def peers_table(rows: list[Row], nanoseconds: float) -> str:
    """This engine, at `nanoseconds` per clock, and its peers: a Markdown table of ns per operation.

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


def model_figures(batches: Sequence[int]) -> list[list[peers.Figure]]:
    """Times of the replay buffer on `model`, and of cpprb, in one process: both lists alike."""
    build = load_config("small").changed(
        {"MemSizeLog2": 24, "replay.KLog2": 4, "replay.NLog2": MODEL_LOG2, "replay.BatchLog2": 9}
    )
    leaves = 1 << MODEL_LOG2
    with open_device("model", config=build) as device:
        calls = peers.device_buffer(device, leaves), peers.cpprb_buffer(leaves)
        return [list(peers.timed(c, leaves=leaves, batches=batches)) for c in calls]


def model_table(figures: list[list[peers.Figure]]) -> str:
    """Microseconds of a batch on `model` and in cpprb, side by side: a Markdown table."""
    if not figures:
        return ""
    mine, theirs = figures
    name = theirs[0].peer
    head = " | ".join(f"{op}: model | {name} | ratio" for op in peers.OPERATIONS)
    lines = ["", f"| us a batch, N={mine[0].leaves} | {head} |", "|---|" + "---|---|---|" * 3]
    for batch in dict.fromkeys(figure.batch for figure in mine):
        cells = []
        for a, b in zip(mine, theirs, strict=True):
            if a.batch == batch:
                times = [f.nanoseconds * batch / 1e3 for f in (a, b)]
                cells.append(f"{times[0]:.1f} | {times[1]:.1f} | {times[0] / times[1]:.1f}")
        lines.append(f"| {batch} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


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


class ReplayBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "replay_latency.png"
    add_options = staticmethod(add_build_options)

    def __init__(self) -> None:
        self.builds: list[Config] = []
        self.figures: list[peers.Figure] = []
        self.model: list[list[peers.Figure]] = []
        self.clock_hz = 0

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        self.builds = builds(options) or replay_sweep()
        for build in self.builds:
            build.instance("replay")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        if options.peers:
            leaves = {1 << replay_timing(build).config.n_log2 for build in self.builds}
            print("timing software ...", flush=True)
            self.figures = peers.measure(sorted({*CAPACITIES, *leaves}), BATCHES)
            self.model = model_figures(BATCHES)
        for build in self.builds:
            print(f"measuring {replay_name(replay_timing(build))} ...", flush=True)
            with open_device("sim", config=build, memory=options.memory) as device:
                yield from replay_rows(
                    device, build, self.figures, MEMORIES[options.memory].latency
                )
                self.clock_hz = device.clock_hz

    def more(self, options: argparse.Namespace, rows: list[Row]) -> str:
        """The peers; the replay buffer on `model` beside cpprb."""
        if not self.figures:
            return ""
        table = peers_table(rows, 1e9 / self.clock_hz)
        return f"\nThis machine: {peers.machine()}\n{table}\n{model_table(self.model)}"

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """The builds of the largest capacity."""
        largest = max(build.parameters["replay.NLog2"] for build in self.builds)
        shown = [build for build in self.builds if build.parameters["replay.NLog2"] == largest]
        draw_latency(path, rows, shown, self.clock_hz)
