"""Benchmark of searches with workers on the mcts engine, beside other trees and packages.

The master's, the trees' and the processes' times are measured on this machine, in processor time.
Rates of more workers than there are processors are virtual time (`jackdaw.search.virtual`): the
same master on workers whose simulations take a given time. The engine's clocks are those of the
device `model`, at 250 MHz. Rows say which of these they are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks import mcts_returns
from benchmarks.base import IMAGES, Benchmark, Row, row
from benchmarks.mcts_returns import LOSS, C
from benchmarks.peers import machine
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings, requests, select_requests
from jackdaw.search.calibrate import whole_rounds
from jackdaw.search.games.hidden import HiddenTree
from jackdaw.search.pool import ProcessPool
from jackdaw.search.simulation import NOWHERE, TASK, Rules, Simulator, StateTable
from jackdaw.search.trees import CpuTree, shared_run
from jackdaw.search.virtual import Costs, master_costs, rate, shared_rate
from models.mcts.formats import NO_ID, Flag, Op
from models.mcts.reference import ReferenceTree

F, LEVELS, IDS, WORKERS = 6, 32, 10_000, 256
SIMULATIONS = {"0.05 ms": 50e-6, "0.3 ms": 300e-6, "3.8 ms": 3.8e-3}  # the last: Carnival
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LINKS = (0.0, 1e-6, 5e-6, 40e-6)
KNEE = 0.8
SOURCE = "thesis, Fig. 3.27"


# ---- What is measured
def best_of(call: Callable[[], float], times: int = 3) -> float:
    """The least of several measurements, which other programs disturb least."""
    return min(call() for _ in range(times))


def compiled(exact: bool = True, ids: int = IDS, workers: int = WORKERS) -> CpuTree:
    """A compiled tree of the engine's size."""
    tree = CpuTree(ids, F, LEVELS, workers)
    tree.configure(MctsSettings("uct", C, LOSS), exact=exact)
    return tree


def own_iteration(exact: bool, workers: int = 8) -> float:
    """Seconds of a selection and an update of the compiled tree, on average over 10,000."""

    def once() -> float:
        tree = compiled(exact)
        tree.reset()
        tree.root((1 << F) - 1)
        return tree.run_synthetic(workers, IDS) * 1e-9 / IDS

    return best_of(once)


def shared_iteration(threads: int) -> float:
    """The same of the shared tree."""

    def once() -> float:
        run = shared_run(threads, IDS, x=IDS, f=F, d=LEVELS, c=C, vl=LOSS)
        return run.nanoseconds * 1e-9 / IDS

    return best_of(once)


def python_iteration(count: int = 2000, workers: int = 8) -> float:
    """The same of a tree in Python."""
    tree, ids = ReferenceTree("uct", C, vl=LOSS, d_act=LEVELS, exact=False), iter(range(1, IDS))
    tree.root((1 << F) - 1)
    rng, taken = np.random.default_rng(1), 0.0
    for _ in range(count // workers):
        select = select_requests(range(workers), [next(ids) for _ in range(workers)])
        begin = time.process_time()
        tree.submit(select)
        codes = tree.poll()["code"]
        taken += time.process_time() - begin
        back = requests(workers)
        back["op"], back["worker"], back["value"] = Op.UPD, range(workers), rng.random(workers)
        back["flags"] = np.where(codes == 0, Flag.ACT, 0)
        back["legal"] = np.where(codes == 0, (1 << F) - 1, 0)
        begin = time.process_time()
        tree.submit(back)
        taken += time.process_time() - begin
    return taken / count


def round_trip(tasks: int, processes: int = 1) -> float:
    """Seconds from giving tasks to a process until their results are there, per task."""
    table = StateTable(WORKERS + 1, 16)
    Simulator(HiddenTree(F), table, Rules(1, 0, 1.0)).root()
    pool = ProcessPool(lambda: Simulator(HiddenTree(F), table, Rules(1, 0, 1.0, False)), processes)
    given = np.zeros(tasks, TASK)
    given["action"], given["store"], given["worker"] = -1, NOWHERE, np.arange(tasks)

    def once() -> float:
        begin = time.perf_counter()
        for _ in range(100):
            pool.submit(given)
            pool.collect(tasks)
        return (time.perf_counter() - begin) / 100 / tasks

    try:
        return best_of(once, 5)
    finally:
        pool.close()


@cache
def costs() -> dict[str, float]:
    """Seconds of everything that is measured on this machine."""
    batch, iteration = master_costs(lambda: compiled(ids=20_000), F, 20_000)
    return {
        "batch": batch, "iteration": iteration,
        "exact": own_iteration(True), "float": own_iteration(False),
        "shared": shared_iteration(1), "shared2": shared_iteration(2),
        "python": python_iteration(),
    }  # fmt: skip


def parts_rows() -> Iterator[Row]:
    """What each part takes by itself."""
    c, where = costs(), machine()
    for figure, config, value in (
        ("system_master", "a list", c["batch"]),
        ("system_master", "an iteration in a list", c["iteration"]),
        ("system_master", "an iteration in lists of 64", c["batch"] / 64 + c["iteration"]),
        ("system_tree", "C++, the engine's numbers, an iteration", c["exact"]),
        ("system_tree", "C++, float64, an iteration", c["float"]),
        ("system_tree", "C++, shared, 1 thread, an iteration", c["shared"]),
        ("system_tree", "C++, shared, 2 threads, an iteration", c["shared2"]),
        ("system_tree", "Python, float64, an iteration", c["python"]),
    ):
        yield row("mcts", figure, f"{config}; {where}", round(1e6 * value, 3), "us")
    for tasks in (1, 8, 64):
        taken = 1e6 * round_trip(tasks)
        yield row("mcts", "system_round_trip", f"{tasks} tasks in a message, a task; {where}",
                  round(taken, 2), "us")  # fmt: skip


# ---- Rates against workers
def rates(counts: Sequence[int], seconds: float) -> dict[str, list[float]]:
    """Iterations per second of each system, in virtual time, for so many workers."""
    c = costs()
    found: dict[str, list[float]] = {name: [] for name in ("hybrid", "local", "shared", "python")}
    with open_device("model", "mcts") as device:
        engine = Mcts(device)
        engine.configure(MctsSettings("uct", C, LOSS))
        for p in counts:
            iterations = whole_rounds(max(14 * p, 200), p)
            run = partial(rate, workers=p, iterations=iterations, simulation=seconds, actions=F,
                          ids=IDS)  # fmt: skip
            master = partial(Costs, c["batch"], c["iteration"])
            hybrid = run(engine, master(link=1e-6), device=device)
            found["hybrid"].append(hybrid.per_second)
            for name, of in (("local", c["float"]), ("python", c["python"])):
                cost = master(tree=lambda s, u, of=of: of * max(s, u))  # type: ignore[misc]
                found[name].append(run(compiled(), cost).per_second)
            # Threads that meet at the root pass its cache line on: as two threads do here.
            held = c["shared2"] / 2 if p > 1 else 0.0
            found["shared"].append(shared_rate(p, iterations, seconds, c["shared"], held))
    return found


def rate_rows(counts: Sequence[int] = COUNTS) -> Iterator[Row]:
    """Iterations per second, knees, and speed-ups."""
    c = costs()
    master = c["batch"] / 64 + c["iteration"]
    for name, seconds in SIMULATIONS.items():
        found = rates(counts, seconds)
        for at, p in enumerate(counts):
            peers = [
                {"name": title, "value": round(found[key][at]), "unit": "1/s", "config": "virtual"}
                for key, title in (
                    ("local", "C++, local"), ("shared", "C++, shared"), ("python", "Python, local"),
                )
            ]  # fmt: skip
            ideal = min(p / seconds, 1 / master)
            yield row("mcts", "system_rate", f"simulations of {name}, {p} workers, virtual time",
                      round(found["hybrid"][at]), "1/s", round(ideal), None, peers)  # fmt: skip
        ideals = [min(p / seconds, 1 / (c["batch"] / most + c["iteration"]))
                  for p, most in ((p, min(p, 64)) for p in counts)]  # fmt: skip
        shares = [rate / ideal for rate, ideal in zip(found["hybrid"], ideals, strict=True)]
        yield row("mcts", "system_efficiency", f"simulations of {name}, {counts[0]} to "
                  f"{counts[-1]} workers: least share of workers / time or of the master's rate",
                  round(min(shares), 3), "times", 1)  # fmt: skip
        for key, values in found.items():
            below = [p for p, v in zip(counts, values, strict=True) if v < KNEE * p / seconds]
            yield row("mcts", "system_knee", f"{key}, simulations of {name}: workers from which on "
                      f"the rate is below {KNEE} of workers / time", below[0] if below else 0,
                      "workers (0: none)")  # fmt: skip
        for against in ("python", "local", "shared"):
            yield row(
                "mcts", "system_speedup",
                f"over {against}, simulations of {name}, {counts[-1]} workers",
                round(found["hybrid"][-1] / found[against][-1], 2), "times",
            )  # fmt: skip


def latency_rows(counts: Sequence[int] = COUNTS) -> Iterator[Row]:
    """Time of the tree's operations for a batch: selections of p workers, then their updates."""
    c = costs()
    with open_device("model", "mcts") as device:
        engine = Mcts(device)
        engine.configure(MctsSettings("uct", C, LOSS))
        for p in counts:
            clocks = batch_clocks(engine, p)
            taken = clocks / device.clock_hz
            peers = [
                {"name": title, "value": round(1e6 * p * c[key], 2), "unit": "us", "config": "CPU"}
                for key, title in (
                    ("exact", "C++, the engine's numbers"), ("float", "C++, float64"),
                    ("shared", "C++, shared, 1 thread"), ("python", "Python, float64"),
                )
            ]  # fmt: skip
            for link in LINKS:
                yield row("mcts", "system_latency", f"{p} workers, link of {1e6 * link:g} us each "
                          "way", round(1e6 * (taken + 4 * link), 3), "us", None, None,
                          peers)  # fmt: skip
            yield row("mcts", "system_latency_gain", f"{p} workers, without link: fastest CPU tree "
                      "over engine", round(p * min(c["float"], c["exact"], c["shared"]) / taken, 1),
                      "times", None, (6.0, SOURCE + ": 6 to 35"))  # fmt: skip


def batch_clocks(engine: Mcts, p: int, batches: int = 6) -> float:
    """Clocks of p selections and p updates in a tree that has grown; mean of some batches."""
    engine.reset()
    engine.root((1 << F) - 1)
    rng, ids, total = np.random.default_rng(1), iter(range(1, IDS)), 0
    for turn in range(batches + 8):
        begin = engine.device.cycles()
        engine.submit(select_requests(range(p), [next(ids, NO_ID) for _ in range(p)]))
        engine.wait(p)
        codes = engine.poll()["code"]
        back = requests(p)
        back["op"], back["worker"], back["value"] = Op.UPD, range(p), rng.random(p)
        back["flags"] = np.where(codes == 0, Flag.ACT, 0)
        back["legal"] = np.where(codes == 0, (1 << F) - 1, 0)
        engine.submit(back)
        if turn >= 8:
            total += engine.device.cycles() - begin
    return total / batches


def timeline_rows(p: int = 128, seconds: float = 3.8e-3) -> Iterator[Row]:
    """Who works when (Fig. 5.4): shares of the time of master, engine and workers."""
    c = costs()
    with open_device("model", "mcts") as device:
        engine = Mcts(device)
        engine.configure(MctsSettings("uct", C, LOSS))
        found = rate(engine, Costs(c["batch"], c["iteration"], 1e-6), p, 12 * p + 200, seconds,
                     actions=F, ids=IDS, device=device)  # fmt: skip
    where = f"{p} workers, simulations of {1e3 * seconds:g} ms, virtual time"
    for who, share in (
        ("master", found.master), ("engine", found.tree), ("a worker", found.workers),
    ):  # fmt: skip
        yield row("mcts", "system_timeline", f"{where}: {who} works", round(100 * share, 2), "%")
    per = found.master * found.seconds / found.statistics.iterations
    yield row("mcts", "system_timeline", f"{where}: master, an iteration", round(1e6 * per, 3),
              "us", 5)  # fmt: skip


def staleness_rows(counts: Sequence[int] = COUNTS) -> Iterator[Row]:
    """Updates that a selection misses, in virtual time with simulations of 0.15 to 0.45 ms."""
    rng = np.random.default_rng(1)
    for p in counts:
        found = rate(
            compiled(), Costs(iteration=1e-6, tree=lambda s, u: 0.0), p, 12 * p + 200,
            lambda n: rng.uniform(150e-6, 450e-6, n), actions=F, ids=IDS,
        )  # fmt: skip
        s = found.statistics
        yield row("mcts", "system_staleness", f"{p} workers, mean", round(s.mean_staleness, 2),
                  "updates")  # fmt: skip
        yield row("mcts", "system_staleness", f"{p} workers, largest", s.staleness_most, "updates",
                  p - 1)  # fmt: skip


# ---- All of it
PARTS: dict[str, tuple[Callable[..., Iterator[Row]], tuple[Any, ...]]] = {
    "parts": (parts_rows, ()),
    "latency": (latency_rows, ((1, 8),)),
    "rates": (rate_rows, ((1, 8),)),
    "timeline": (timeline_rows, (4,)),
    "staleness": (staleness_rows, ((1, 8),)),
    **mcts_returns.PARTS,
}
"""Parts by name, with the arguments that make them short, for a test."""


class SystemBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "mcts_system.png"
    long = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        parser.add_argument("--figures", default=",".join(PARTS), metavar="LIST",
                            help="some of %(default)s; --plot wants latency, rates")  # fmt: skip

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        options.figures = options.figures.split(",")
        if wrong := sorted(set(options.figures) - set(PARTS)):
            raise ValueError(f"--figures: got {', '.join(wrong)}, want some of {', '.join(PARTS)}")
        if options.plot and not {"latency", "rates"} <= set(options.figures):
            raise ValueError("--figures: got no latency or no rates, which --plot wants")

    def rows(self, options: argparse.Namespace) -> Iterator[Row]:
        """See Benchmark."""
        for found in rows(options.figures):
            print(found["figure"], found["config"], found["measured"], flush=True)
            yield found

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """See Benchmark."""
        draw(path, rows)


def rows(figures: Sequence[str] = tuple(PARTS), short: bool = False) -> Iterator[Row]:
    """Rows of some parts; `short` for a test, with little of each."""
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    for name in figures:
        part, arguments = PARTS[name]
        yield from part(*(arguments if short else ()))


def draw(path: Path, found: Sequence[Row]) -> None:
    """Plot rates against workers, and batches' times."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(15, 4))
    for axis, name in zip(axes, SIMULATIONS, strict=False):
        chosen = [r for r in found if r["figure"] == "system_rate" and f"of {name}," in r["config"]]
        p = [int(r["config"].split(", ")[1].split()[0]) for r in chosen]
        axis.loglog(p, [r["ideal"] for r in chosen], "k:", label="workers / time, master")
        axis.loglog(p, [r["measured"] for r in chosen], "o-", label="engine")
        for at, peer in enumerate(chosen[0]["peers"] if chosen else []):
            axis.loglog(p, [r["peers"][at]["value"] for r in chosen], "--", label=peer["name"])
        axis.set(title=f"simulations of {name}", xlabel="workers", ylabel="iterations per second")
    axes[0].legend(fontsize=7)
    for link in LINKS:
        name = f"link of {1e6 * link:g} us each"
        chosen = [r for r in found if r["figure"] == "system_latency" and name in r["config"]]
        p = [int(r["config"].split()[0]) for r in chosen]
        axes[3].loglog(p, [r["measured"] for r in chosen], "-", label=f"engine, {name} way")
    for at, peer in enumerate(chosen[0]["peers"] if chosen else []):
        axes[3].loglog(p, [r["peers"][at]["value"] for r in chosen], "--", label=peer["name"])
    axes[3].set(title="the tree's part of a batch", xlabel="workers", ylabel="us")
    axes[3].legend(fontsize=6)
    for axis in axes:
        axis.grid(True, which="both", alpha=0.2)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
