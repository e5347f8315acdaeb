"""The qat engine's benchmark: clocks of timesteps and inferences beside model, ideal and paper.

Clocks do not depend on data, so networks and transitions are random.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.base import IMAGES, Benchmark, Row, add_build_options, builds, row
from benchmarks.peers import learners
from jackdaw.device import Config, load_config, open_device
from jackdaw.drivers.qat import REGIONS, Qat, QatSettings, Source
from jackdaw.runtime.environment import Environment
from models.qat.layout import Geometry, Table, plan
from models.qat.records import Transitions, pack
from models.qat.timing import Clocks, ideal_clocks, infer_clocks, multiplications, train_clocks
from models.registers import qat as registers

BATCHES = (64, 128, 256, 512)
PUBLISHED = (53_826.8, "FIXAR, Table II: inferences per second at 164 MHz")
UTILIZATION = (0.924, "FIXAR VI-C: utilization of the processing elements")
PLATFORM = (25_293.3, "FIXAR VI-B: inferences per second of the platform, at its best")
EXPOSED = (16_823, "FIXAR's schedule: all lines go through Adam after the gradients")
ENVIRONMENT_STEPS = 2000
RATE = 1e-4
TIMEOUT_S = 36_000


@dataclass(frozen=True)
class Workload:
    """An actor of S-400-300-A and a critic of (S + A)-400-300-1, as published."""

    name: str
    states: int
    actions: int
    hidden: tuple[int, ...] = (400, 300)


WORKLOADS = (
    Workload("HalfCheetah", 17, 6), Workload("Hopper", 11, 3), Workload("Swimmer", 8, 2),
)  # fmt: skip


def network(sizes: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random layers of these widths."""
    rng = np.random.default_rng(1)
    return [
        (rng.uniform(-1, 1, (o, i)) / np.sqrt(i), np.zeros(o)) for i, o in pairwise(sizes)
    ]  # fmt: skip


def transitions(work: Workload, count: int) -> Transitions:
    """Random transitions."""
    rng = np.random.default_rng(2)
    return Transitions.of(
        rng.normal(size=(count, work.states)), rng.uniform(-1, 1, (count, work.actions)),
        rng.normal(size=count), np.full(count, 0.99), rng.normal(size=(count, work.states)),
    )  # fmt: skip


@cache
def step_seconds(name: str) -> float:
    """Seconds of the wall clock that a step of an environment takes, episodes' resets included."""
    with closing(Environment(name)) as environment:
        rng = np.random.default_rng(3)
        shape = environment.action_space.shape
        assert shape is not None
        actions = rng.uniform(-1, 1, (ENVIRONMENT_STEPS, *shape))
        environment.reset(seed=1)
        start = time.perf_counter()
        for action in actions.astype(np.float32):
            _, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                environment.reset()
        return (time.perf_counter() - start) / ENVIRONMENT_STEPS


def measure(
    qat: Qat,
    works: Sequence[Workload],
    batches: Sequence[int],
    modes: Sequence[str],
    ways: Sequence[str],
    software: dict[tuple[str, int], list[dict[str, Any]]],
    progress: Callable[[str], None] = print,
    paper: bool = False,
) -> list[Row]:
    """Clocks of an inference and of timesteps, alone and in a row.

    Args:
        qat: the engine.
        works, batches: what is trained; a batch beyond the build's maximum is left out.
        modes: `full`, `half`.
        ways: of acting, `after` and `with`.
        software: peers by workload and batch.
        progress: told what is measured.
        paper: by the published schedule.
    """
    g, rows = qat.geometry, []
    for work in works:
        state = np.zeros(work.states)
        critic = (work.states + work.actions, *work.hidden, 1)
        qat.load_network(network((work.states, *work.hidden, work.actions)), network(critic))
        qat.configure(QatSettings(paper=paper))
        qat.write(registers.MODE.offset, 0)
        table = plan(work.states, work.actions, work.hidden, g)
        infer = qat.queue_infer(state).wait(TIMEOUT_S).cycles
        predicted = infer_clocks(table, g, paper)
        name = work.name + ", published schedule" * paper
        progress(f"{name}: INFER {infer} clocks, {predicted.total} by the model")
        rows += [
            row("qat", "infer_clocks", name, infer, "clocks", predicted.inf),
            row("qat", "model_error", f"{name} INFER", error(infer, predicted), "%", 0),
        ]
        if not paper:
            rows += exposed(qat, work, min(batches), progress)
        source = load(qat, work, max(batches))
        for mode in modes:
            if mode == "half" and not qat.half:
                qat.quantize()
            for way in ways:
                for batch in (b for b in batches if b <= g.b_max):
                    peers = software.get((work.name, batch), [])
                    rows += timestep(
                        qat, work, table, source, batch, mode, way, peers, progress, paper
                    )
        qat.device.free(source.base)
    return rows


def utilization(table: Table, g: Geometry, batch: int, half: bool, clocks: int) -> float:
    """Share of the elements' clocks that multiply: one product, or two of 16-bit activations."""
    fw, dx, dw = multiplications(table)
    return batch * ((fw + dw) / (1 + half) + dx) / (g.n * g.lw**2 * clocks)


def compare(mine: Qat, twin: Qat, work: Workload, batch: int,
            progress: Callable[[str], None] = print) -> list[Row]:  # fmt: skip
    """Whether two devices do an inference and timesteps of both modes and both ways alike.

    Args:
        mine: of the device that is measured.
        twin: of the golden model of the same build.
    Returns: a row: the jobs, and how many differ in an action, a figure or a memory.
    """
    found: list[dict[str, list[Any]]] = []
    for qat in (mine, twin):
        state = np.full(work.states, 0.5)
        qat.load_network(
            network((work.states, *work.hidden, work.actions)),
            network((work.states + work.actions, *work.hidden, 1)),
        )
        qat.configure(QatSettings())
        source = load(qat, work, batch)
        jobs: dict[str, list[Any]] = {"INFER": [qat.infer(state)]}
        for name, way in (("full after", "after"), ("half with", "with")):
            qat.train(batch, RATE, RATE, source, state=state, act=way).wait(TIMEOUT_S)
            figures = qat.statistics()
            del figures["clocks"]
            memories = [qat.read_region(region) for region in REGIONS]
            jobs[f"TRAIN {name}"] = [qat.action(), repr(figures), *memories]
            if not qat.half:
                qat.quantize()
        qat.device.free(source.base)
        qat.write(registers.MODE.offset, 0)
        found.append(jobs)
    wrong = [
        name for name, results in found[0].items()
        if not all(np.array_equal(a, b) for a, b in zip(results, found[1][name], strict=True))
    ]  # fmt: skip
    config = f"{work.name} B={batch}: {', '.join(found[0])}"
    progress(f"{config}: compared with the golden model, {len(wrong)} differ {wrong}")
    return [row("qat", "bits", config, len(wrong), "jobs that differ", 0)]


def exposed(qat: Qat, work: Workload, batch: int,
            progress: Callable[[str], None] = print) -> list[Row]:  # fmt: skip
    """Clocks that each network's update adds to a timestep in full mode that does not act.

    The critic's can make the array wait. The actor's last lines go through Adam after the array's
    last entry, so they make no pass wait.
    """
    source = load(qat, work, batch)
    taken = [
        qat.train(batch, actor, critic, source, targets=bool(actor or critic)).wait(TIMEOUT_S)
        for actor, critic in ((None, None), (None, RATE), (RATE, None))
    ]
    qat.device.free(source.base)
    rows = []
    for net, job in zip(("critic", "actor"), taken[1:], strict=True):
        config = f"{work.name} B={batch} full, update of the {net}"
        clocks = job.cycles - taken[0].cycles
        progress(f"{config}: {clocks} clocks more than without it")
        rows.append(row("qat", "adam_exposed", config, clocks, "clocks", 0, EXPOSED))
    return rows


def load(qat: Qat, work: Workload, count: int) -> Source:
    """Random transitions in the device's memory."""
    device, g = qat.device, qat.geometry
    base = device.alloc(g.stride(work.states) * count)
    device.write(base, pack(transitions(work, count), g))
    return Source(base, g.stride(work.states), count)


def error(measured: float, predicted: Clocks) -> float:
    """The cycle model's error in percent."""
    return round(100 * abs(predicted.total / measured - 1), 3)


def timestep(
    qat: Qat,
    work: Workload,
    table: Table,
    source: Source,
    batch: int,
    mode: str,
    way: str,
    peers: list[dict[str, Any]],
    progress: Callable[[str], None],
    paper: bool,
) -> list[Row]:
    """Rows of a timestep alone, and of one that follows another."""
    g, device = qat.geometry, qat.device
    chunk = min(batch + batch % 2, g.vc if paper else g.vectors)

    def train() -> Any:
        return qat.train(batch, RATE, RATE, source, state=np.zeros(work.states), act=way)

    first, second = (job.wait(TIMEOUT_S) for job in [train() for _ in range(2)])
    clocks = qat.statistics()["clocks"]
    alone, apart = first.cycles, second.end - first.end
    ideal = ideal_clocks(table, g, batch, mode == "half", paper)
    model, model_row = (
        train_clocks(table, g, batch, chunk, mode == "half", way, paper, in_row=in_row)
        for in_row in (False, True)
    )
    config = f"{work.name} B={batch} {mode} {way}" + ", published schedule" * paper
    rate = f"1/s at {device.clock_hz / 1e6:.0f} MHz"
    progress(f"{config}: {alone} clocks alone, {apart} in a row, {model.total} and "
             f"{model_row.total} by the model, {ideal} ideal, "
             f"{batch * device.clock_hz / apart:.0f}/s")  # fmt: skip
    rows = []
    for name, taken, predicted in (("alone", alone, model), ("in a row", apart, model_row)):
        rows += [
            row("qat", "clocks_per_timestep", f"{config} {name}", taken, "clocks", ideal),
            row("qat", "inferences_per_second", f"{config} {name}",
                round(batch * device.clock_hz / taken, 1), rate,
                round(batch * device.clock_hz / ideal, 1), PUBLISHED, peers),
            row("qat", "tile_utilization", f"{config} {name}", round(ideal / taken, 4), "1", 1.0,
                UTILIZATION),
            row("qat", "mac_utilization", f"{config} {name}",
                round(utilization(table, g, batch, mode == "half", taken), 4), "1", 1.0),
            row("qat", "model_error", f"{config} {name}", error(taken, predicted), "%", 0),
        ]  # fmt: skip
    # The environment's step follows the action, which `with` gives early: it runs under the job.
    seconds, step = apart / device.clock_hz, step_seconds(f"{work.name}-v5")
    whole = max(seconds, step) if way == "with" else seconds + step
    progress(f"{config}: {1e3 * seconds:.3f} ms and {1e3 * step:.3f} ms of {work.name}-v5: "
             f"{batch / whole:.0f}/s")  # fmt: skip
    rows.append(row("qat", "platform", config, round(batch / whole, 1), rate,
                    round(batch / seconds, 1), PLATFORM if batch == 512 else None))  # fmt: skip
    expected = {"fw": model.fw, "dx": model.dx, "dw": model.dw, "inf": model.inf}
    rows += [
        row("qat", f"clocks_{phase}", config, clocks[phase], "clocks", expected[phase])
        for phase in expected
    ]
    return rows


class QatBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "qat_inferences.png"
    long = True

    def __init__(self) -> None:
        self.build: Config = load_config("qat_full")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        add_build_options(parser)
        names = [work.name for work in WORKLOADS]
        parser.add_argument("--workloads", default=names[0], metavar="NAMES",
                            help=f"some of {','.join(names)} (default the first)")  # fmt: skip
        parser.add_argument("--batches", default="64", metavar="LIST",
                            help=f"published {','.join(map(str, BATCHES))}")  # fmt: skip
        parser.add_argument("--modes", default="full,half", metavar="LIST")
        parser.add_argument("--ways", default="after", metavar="LIST", help="after, with")
        parser.add_argument("--paper", action="store_true",
                            help="the published schedule; the build has QatPaper=1")  # fmt: skip

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        for build in builds(options):
            build.instance("qat")
            self.build = build
        if options.paper and not self.build.instance("qat").parameters["QatPaper"]:
            raise ValueError("--paper: got a build without it, want --set qat.QatPaper=1")
        for name, allowed in (
            ("workloads", [work.name for work in WORKLOADS]), ("modes", ["full", "half"]),
            ("ways", ["after", "with"]),
        ):  # fmt: skip
            wrong = set(getattr(options, name).split(",")) - set(allowed)
            if wrong:
                raise ValueError(f"--{name}: got {', '.join(sorted(wrong))}, want {allowed}")
        if not all(part.isdecimal() and int(part) for part in options.batches.split(",")):
            raise ValueError(f"--batches: got {options.batches}, want numbers from 1 on")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        works = [work for work in WORKLOADS if work.name in options.workloads.split(",")]
        batches = [int(part) for part in options.batches.split(",")]
        found, said = {}, partial(print, flush=True)
        if options.peers:
            print("timing software ...", flush=True)
            found = software(works, batches)
        print(f"measuring {self.build.name} ...", flush=True)
        with open_device(
            "sim", config=self.build, memory=options.memory, assertions=False
        ) as device:  # fmt: skip
            qat = Qat(device)
            if not options.paper:
                with open_device("model", config=self.build) as twin:
                    yield from compare(qat, Qat(twin), works[0], min(batches), said)
            yield from measure(
                qat, works, batches, options.modes.split(","), options.ways.split(","), found,
                progress=said, paper=options.paper,
            )  # fmt: skip

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """Inferences per second of timesteps in a row over the batch, beside the published."""
        from matplotlib import pyplot

        mine = [
            r for r in rows
            if r["figure"] == "inferences_per_second" and r["config"].endswith(" in a row")
        ]  # fmt: skip
        colours = {work.name: f"C{number}" for number, work in enumerate(WORKLOADS)}
        figure, axis = pyplot.subplots(figsize=(7.6, 4.2), dpi=110, layout="constrained")
        for name in dict.fromkeys(_series(r) for r in mine):
            found = [r for r in mine if _series(r) == name]
            style = "--" if ", 16 bits" in name else "-"
            marker = "s" if "`with`" in name else "^" if "schedule" in name else "o"
            axis.plot([_batch(r) for r in found], [r["measured"] for r in found], style + marker,
                      color=colours[name.split(",")[0]], label=name)  # fmt: skip
        axis.axhline(PUBLISHED[0], color="#777777", linestyle=":", label="published")
        axis.set(xlabel="batch", ylabel="inferences per second", xscale="log", ylim=(0, None))
        ticks = sorted({_batch(r) for r in mine})
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        figure.legend(fontsize=7, loc="outside right upper")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
        pyplot.close(figure)


def software(works: Sequence[Workload], batches: Sequence[int]
             ) -> dict[tuple[str, int], list[dict[str, Any]]]:  # fmt: skip
    """Inferences per second of PyTorch on one thread, by workload and batch."""
    import torch

    found = {}
    for work in works:
        for batch in batches:
            ns = learners.pytorch("ddpg", (work.states, *work.hidden, work.actions), batch)
            found[work.name, batch] = [
                {"name": f"PyTorch {torch.__version__}", "value": round(1e9 * batch / ns),
                 "unit": "1/s", "config": f"B={batch}, float32, one thread"}
            ]  # fmt: skip
    return found


def _series(r: Row) -> str:
    name, _, mode, rest = r["config"].removesuffix(" in a row").split(" ", 3)
    way, _, schedule = rest.partition(", ")
    parts = [name, {"full": "32 bits", "half": "16 bits"}[mode]]
    parts += [f"acting `{way}`"] * (way != "after") + [schedule] * bool(schedule)
    return ", ".join(parts)


def _batch(r: Row) -> int:
    return int(r["config"].split(" B=")[1].split(" ")[0])
