"""The learner's benchmark: workloads, builds, clocks of gradient steps, steps in software."""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.base import IMAGES, Benchmark, Row, add_build_options, builds, row
from benchmarks.peers import learners
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Storage, adam, vector_pitch
from jackdaw.errors import ConfigError
from models.learner.program import Program
from models.learner.timing import Latencies, ideal_pass, infer_clocks, step_clocks

BATCHES = (32, 64, 128, 256, 512)
RECORDS = 256
INFERRED = (64, 256)  # vectors of an INFER, at most RECORDS
MEASURED_CLOCKS = 400_000  # of a row, about, but at least three steps,
MOST_CLOCKS = 5_200_000  # or two, as far as they are not more than this
CF = "CF'22, 3.2.3: cycle model at 276 lanes (5 DSP each), DP = 2"
THESIS = "thesis, Table 4.3: ServerCGF, whole system"


@dataclass(frozen=True)
class Workload:
    """A network to train.

    Attributes:
        name: as in the rows.
        kind: `dqn` or `ddpg`.
        sizes: widths of the network, or of the actor; the critic has the same hidden layers.
        clocks: published clocks of a step by batch.
        experiences: published experiences a second.
    """

    name: str
    kind: str
    sizes: tuple[int, ...]
    clocks: tuple[tuple[int, int], ...] = ()
    experiences: float | None = None

    def program(self, learner: Learner) -> Program:
        """Lower it for a build. Raises: ConfigError if it does not fit."""
        if self.kind == "dqn":
            return learner.dqn(self.sizes, adam(1e-3), kappa=1.0, sync_period=5)
        critic = (self.sizes[0] + self.sizes[-1], *self.sizes[1:-1], 1)
        return learner.actor_critic(self.sizes, critic, adam(1e-3), adam(1e-3))

    def networks(self) -> list[tuple[int, ...]]:
        """Widths of every network, in the program's order."""
        if self.kind == "dqn":
            return [self.sizes]
        return [self.sizes, (self.sizes[0] + self.sizes[-1], *self.sizes[1:-1], 1)]


SMALL = (
    Workload("DQN 4-64-64-2", "dqn", (4, 64, 64, 2),
             ((32, 3352), (64, 5400), (128, 9496), (256, 17688), (512, 34072)), 94.1e3),
    Workload("DQN 8-64-64-4", "dqn", (8, 64, 64, 4),
             ((32, 3376), (64, 5424), (128, 9520), (256, 17712), (512, 34096))),
    Workload("DDPG 3-64-64-1", "ddpg", (3, 64, 64, 1)),
)  # fmt: skip
LARGE = (
    Workload("DDPG 2-256-128-1", "ddpg", (2, 256, 128, 1), (), 95.2e3),
    Workload("DDPG 3-400-300-1", "ddpg", (3, 400, 300, 1)),
)


def build(dp: int, large: bool) -> Config:
    """A build for the small or the large workloads with some pipelines, batches up to 512."""
    small = load_config("small")
    sizes = (
        {"learner.P": 32, "learner.OB": 8, "learner.LW": 8, "learner.DMax": 512,
         "learner.WRows": 32768}
        if large
        else {"learner.P": 16, "learner.OB": 4, "learner.LW": 4, "learner.DMax": 64,
              "learner.WRows": 4096}
    )  # fmt: skip
    changes = {
        **sizes,
        "learner.DP": dp,
        "learner.GI": 8,
        "learner.BMax": 512,
        "learner.ARows": (61440 if large else 40960) // (1 if large else dp),
        "learner.LMax": 4,
        "learner.NetMax": 6,
        "learner.StMax": 64,
        "learner.ActorCritic": 1,
    }
    return small.changed(changes, f"learner-{'large' if large else 'small'}-dp{dp}")


def wide() -> Config:
    """The build nearest to the publication's in lanes: 4 pipelines of 64 (it has 276)."""
    changes = {"learner.P": 64, "learner.OB": 16, "learner.LW": 16, "learner.WRows": 512,
               "learner.ARows": 4096, "learner.ActorCritic": 0}  # fmt: skip
    return build(4, False).changed(changes, "learner-wide-dp4")


def spatial() -> Config:
    """One pipeline of a tensor unit for each pass, 64 lanes each: the publication's arrangement."""
    changes = {"learner.DP": 1, "learner.NTU": 4, "learner.ARows": 8192}
    return wide().changed(changes, "learner-spatial-dp1")


def latencies_of(config: Config) -> Latencies:
    """The latencies of a build's operators."""
    fields = config.instance("learner").fields
    return Latencies(**{f.name: fields[f.name] for f in dataclasses.fields(Latencies)})


def sweep(pipelines: Sequence[int], large: bool) -> Iterator[tuple[Config, tuple[Workload, ...]]]:
    """Builds with the workloads that run on each."""
    for dp in pipelines:
        yield build(dp, False), SMALL
    if large:
        yield wide(), SMALL[:2]
        yield spatial(), SMALL[:2]
        for dp in pipelines:
            yield build(dp, True), LARGE


def measure(
    device: Device,
    workloads: Sequence[Workload],
    software: dict[tuple[str, int], list[dict[str, Any]]],
    latencies: Latencies,
    batches: Sequence[int] = BATCHES,
    progress: Callable[[str], None] = print,
) -> list[Row]:
    """Clocks of gradient steps from a list of records in device memory; figures of a spatial build
    begin with `spatial_`.

    Args:
        device: with a learner engine.
        workloads: those that do not fit the build, or take too long, are left out, and said to
            be.
        software: peers by workload and batch.
        latencies: of the build's operators, for the prediction.
        batches: those beyond the build's maximum are left out.
        progress: told what is measured.
    """
    learner = Learner(device)
    geometry = learner.geometry
    prefix = "spatial_" if geometry.ntu > 1 else ""
    rng = np.random.default_rng(1)
    rows: list[Row] = []
    for work in workloads:
        try:
            program = work.program(learner)
        except ConfigError as error:
            progress(f"{work.name}: {error}")
            continue
        learner.load_program(program)
        for number, sizes in enumerate(work.networks()):
            learner.load(
                [
                    (rng.normal(0, 1 / math.sqrt(i), (o, i)).astype(np.float32),
                     np.zeros(o, np.float32))
                    for i, o in pairwise(sizes)
                ],
                number,
            )  # fmt: skip
        stride = -(-4 * program.record_words // 64) * 64
        words = rng.normal(0, 1, (RECORDS, stride // 4)).astype(np.float32)
        if work.kind == "dqn":
            actions = rng.integers(0, work.sizes[-1], RECORDS).astype(np.int32)
            words[:, work.sizes[0]] = actions.view(np.float32)
        storage = Storage(device.alloc(words.nbytes), stride, RECORDS)
        device.write(storage.base, words)
        most = min(geometry.b_max, geometry.dp * (geometry.a_rows // program.frame_rows))
        rows += inferences(learner, work, program, storage, min(most, max(batches)),
                           latencies, progress)  # fmt: skip
        for batch in batches:
            config = f"{work.name} P={geometry.p} DP={geometry.dp} B={batch}"
            if batch > most:
                progress(f"{config}: {program.frame_rows} rows a sample, {most} samples at most")
                continue
            ideal = learner.ideal_cycles(batch)
            if 2 * ideal > MOST_CLOCKS:
                progress(f"{config}: {ideal} clocks a step, more than are simulated here")
                continue
            # The first fetch is not hidden.
            steps = min(16, max(3 if 3 * ideal <= MOST_CLOCKS else 2, MEASURED_CLOCKS // ideal))
            indices = rng.integers(0, RECORDS, (steps, batch))
            began, busy = time.perf_counter(), learner.busy_cycles()
            record = learner.train(batch, storage, steps=steps, indices=indices).wait(3600)
            seconds = time.perf_counter() - began
            cycles = record.cycles / steps
            clocks = dict(work.clocks).get(batch)
            rate = f"1/s at {device.clock_hz / 1e6:.0f} MHz"
            progress(f"{config}: {cycles:.0f} clocks, {100 * ideal / cycles:.1f} % busy, "
                     f"{record.cycles / seconds / 1e3:.0f} kcycles/s")  # fmt: skip
            rows += [
                row("learner", f"{prefix}cycles_per_gradient_step", config, round(cycles, 1),
                    "clocks", ideal, (clocks, CF) if clocks else None,
                    software.get((work.name, batch))),
                row("learner", f"{prefix}predicted_cycles", config,
                    step_clocks(program, geometry, batch, latencies), "clocks", ideal),
                row("learner", f"{prefix}utilization", config, round(ideal / cycles, 4), "1", 1.0),
                row("learner", f"{prefix}tensor_unit_busy", config,
                    round((learner.busy_cycles() - busy) / record.cycles, 4), "1", 1.0),
                row("learner", f"{prefix}gradient_steps_per_second", config,
                    round(device.clock_hz / cycles, 1), rate, round(device.clock_hz / ideal, 1)),
                row("learner", f"{prefix}experiences_per_second", config,
                    round(batch * device.clock_hz / cycles), rate,
                    round(batch * device.clock_hz / ideal),
                    (work.experiences, THESIS) if work.experiences else None),
                row("learner", f"{prefix}simulation_speed", config,
                    round(record.cycles / seconds / 1e3, 1), "kcycles/s"),
            ]  # fmt: skip
        device.free(storage.base)
    return rows


def inferences(
    learner: Learner,
    work: Workload,
    program: Program,
    storage: Storage,
    batch: int,
    latencies: Latencies,
    progress: Callable[[str], None],
) -> list[Row]:
    """Clocks of the acting network (of DDPG the actor) a vector, `batch` vectors a round."""
    device, geometry = learner.device, learner.geometry
    prefix = "spatial_" if geometry.ntu > 1 else ""
    out = device.alloc(max(INFERRED) * vector_pitch(work.sizes[-1]))
    rows = []
    for count in INFERRED:
        config = f"{work.name} P={geometry.p} DP={geometry.dp} N={count}"
        ideal = ideal_pass(program, geometry, 0, count)
        cycles = learner.queue_infer(count, storage, out, 0, batch=batch).wait(3600).cycles
        predicted = infer_clocks(program, geometry, 0, batch, count, latencies)
        progress(f"{config}: INFER {cycles} clocks, {100 * ideal / cycles:.1f} % busy")
        rows += [
            row("learner", f"{prefix}infer_cycles_per_vector", config, round(cycles / count, 2),
                "clocks", round(ideal / count, 2)),
            row("learner", f"{prefix}infer_predicted_cycles_per_vector", config,
                round(predicted / count, 2), "clocks", round(ideal / count, 2)),
        ]  # fmt: skip
    device.free(out)
    return rows


def software(
    workloads: Sequence[Workload], batches: Sequence[int] = BATCHES
) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Peers of every workload and batch, in nanoseconds a step."""
    import torch

    binary = learners.compile_learner()
    found = {}
    for work in workloads:
        for batch in batches:
            found[work.name, batch] = [
                {"name": name, "value": round(value), "unit": "ns", "config": f"B={batch}"}
                for name, value in (
                    ("C++", learners.plain(binary, work.kind, work.sizes, batch)),
                    (f"PyTorch {torch.__version__}",
                     learners.pytorch(work.kind, work.sizes, batch)),
                )
            ]  # fmt: skip
    return found


def draw(path: Path, rows: Sequence[dict[str, Any]], clock_hz: int) -> None:
    """Plot the time of a gradient step over the batch, a panel each network."""
    from matplotlib import pyplot

    steps = [r for r in rows if r["figure"] == "cycles_per_gradient_step"]
    names = list(dict.fromkeys(r["config"].split(" P=")[0] for r in steps))
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(3.6 * len(names), 4.4), dpi=110, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    microseconds = 1e6 / clock_hz
    for axis, name in zip(axes[0], names, strict=True):
        mine = [r for r in steps if r["config"].startswith(f"{name} P=")]
        builds = list(dict.fromkeys(r["config"].rsplit(" ", 1)[0] for r in mine))
        for build, colour in zip(builds, ("#2b5c8a", "#2e7d4f", "#7a4fa3"), strict=False):
            found = [(_batch(r), r) for r in mine if r["config"].startswith(f"{build} ")]
            batches = [b for b, _ in found]
            label = f"this engine, {build.split(' ', 2)[2]}"
            axis.plot(batches, [r["measured"] * microseconds for _, r in found], "o-",
                      color=colour, label=label, zorder=3)  # fmt: skip
            axis.plot(batches, [r["ideal"] * microseconds for _, r in found], "--", color=colour,
                      linewidth=1)  # fmt: skip
        first = [r for r in mine if r["config"].startswith(f"{builds[0]} ")]
        published = [(_batch(r), r["published"]["value"]) for r in first if r["published"]]
        if published:
            axis.plot([b for b, _ in published], [c * microseconds for _, c in published], "^:",
                      color="#777777", label="published model, 276 lanes")  # fmt: skip
        for marker, peer in zip("xs", ("C++", "PyTorch"), strict=True):
            points = [
                (_batch(r), p["value"] / 1e3)
                for r in first
                for p in r["peers"]
                if p["name"].startswith(peer)
            ]
            if points:
                axis.plot(*zip(*points, strict=True), marker=marker, linewidth=1, markersize=5,
                          color="#d9772b", label=f"{peer}, one thread")  # fmt: skip
        axis.set(title=name, xlabel="batch", xscale="log", yscale="log")
        axis.set_xticks([_batch(r) for r in first], [str(_batch(r)) for r in first])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes[0][0].set_ylabel(f"microseconds a step (device at {clock_hz / 1e6:g} MHz; dashed: ideal)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def _batch(row: dict[str, Any]) -> int:
    return int(row["config"].rsplit("B=", 1)[1])


class LearnerBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "learner_clocks.png"

    def __init__(self) -> None:
        self.runs: list[tuple[Config, Sequence[Workload]]] = []
        self.clock_hz = 0

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        add_build_options(parser)
        parser.add_argument("--large", action="store_true",
                            help="also 4 pipelines of 64 lanes, one of four units, and DDPG"
                            " 256-128 and 400-300 (an hour)")  # fmt: skip
        parser.add_argument("--build", choices=[build.name for build, _ in sweep((1, 2, 4), True)],
                            help="one build of the large sweep")  # fmt: skip

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        chosen = builds(options)
        if options.build and chosen:
            raise ValueError(f"--build {options.build}: got --config or --set, too; want one")
        for build in chosen:
            build.instance("learner")
        self.runs = [(build, (*SMALL, *LARGE)) for build in chosen] or [
            (build, workloads)
            for build, workloads in sweep((1, 2, 4), bool(options.large or options.build))
            if options.build in (None, build.name)
        ]

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        works = {work.name: work for _, workloads in self.runs for work in workloads}
        found = {}
        if options.peers:
            print("timing software ...", flush=True)
            found = software(list(works.values()))
        for build, workloads in self.runs:
            print(f"measuring {build.name} ...", flush=True)
            with open_device(
                "sim", config=build, memory=options.memory, assertions=False,
                compiled_arithmetic=True,
            ) as device:  # fmt: skip
                yield from measure(
                    device, workloads, found, latencies_of(build),
                    progress=partial(print, flush=True),
                )  # fmt: skip
                self.clock_hz = device.clock_hz

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """See Benchmark."""
        draw(path, rows, self.clock_hz)
