"""Virtual time against closed forms; the benchmark of searches."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchmarks import mcts_system
from benchmarks.base import row
from flow import ROOT
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings
from jackdaw.search.trees import CpuTree
from jackdaw.search.virtual import Costs, master_costs, rate, shared_rate

F, IDS, SIMULATION, ITERATION = 6, 2000, 1e-3, 20e-6


def tree() -> CpuTree:
    found = CpuTree(IDS, F, 8, 64)
    found.configure(MctsSettings("uct", 0.7, 0.05))
    return found


def free(_: int, __: int) -> float:
    return 0.0


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_synchronous_rounds_take_a_simulation_and_the_masters_work(workers: int) -> None:
    """The work for p iterations, p at a time; the last round has updates alone."""
    count = 60 * workers
    costs = Costs(iteration=ITERATION, batch=5e-6, tree=free)
    found = rate(tree(), costs, workers, count, SIMULATION, actions=F, ids=IDS, schedule="sync")
    lists = 61
    want = 60 * SIMULATION + lists * (5e-6 + workers * ITERATION)
    assert found.seconds == pytest.approx(want) and found.statistics.batches == lists
    assert found.workers == pytest.approx(60 * SIMULATION / want)
    assert found.master == pytest.approx(lists * (5e-6 + workers * ITERATION) / want)


@pytest.mark.parametrize("workers", [1, 2, 4, 16, 64])
def test_asynchronous_rates_are_those_of_workers_or_of_the_master(workers: int) -> None:
    """At most the lower of both; near it away from the knee, which is at 50 workers here."""
    found = rate(
        tree(), Costs(iteration=ITERATION, tree=free), workers, 1500, SIMULATION, actions=F, ids=IDS
    )
    most = min(workers / SIMULATION, 1 / ITERATION)
    assert found.per_second <= most * 1.02  # the first batch costs the master nothing twice
    if workers <= 4:
        assert found.per_second >= 0.9 * most
    assert found.statistics.staleness_most == workers - 1
    assert found.statistics.mean_staleness <= workers - 1


def test_trees_and_links_move_the_clock() -> None:
    """One worker: an iteration is a simulation, a list's link there and back, and the tree."""
    costs = Costs(link=40e-6, bandwidth=1e9, tree=lambda s, u: 3e-6 * s + 2e-6 * u)
    found = rate(tree(), costs, 1, 100, SIMULATION, actions=F, ids=IDS)
    moved = (100 * 2 + 100) * 16 / 1e9  # requests and responses, of 16 bytes
    want = 100 * SIMULATION + 101 * 80e-6 + moved + 100 * 5e-6
    assert found.seconds == pytest.approx(want, rel=1e-6)
    with open_device("model", "mcts_demo") as device, Mcts(device) as engine:
        engine.configure(MctsSettings("uct", 0.7, 0.05))
        begin = device.cycles()
        found = rate(engine, Costs(), 8, 100, 0.0, actions=F, ids=500, device=device)
        assert 0 < found.seconds * device.clock_hz <= device.cycles() - begin
        assert found.tree == pytest.approx(1.0)


def test_a_shared_tree_is_bound_by_its_root() -> None:
    """One thread; many, whose rate is that of the lock."""
    one = shared_rate(1, 500, SIMULATION, 10e-6, 1e-6)
    assert one == pytest.approx(1 / (SIMULATION + 10e-6), rel=0.01)
    many = shared_rate(2000, 20000, SIMULATION, 10e-6, 1e-6)
    assert many == pytest.approx(1 / 2e-6, rel=0.05)  # two holds of 1 us each
    half = shared_rate(100, 5000, SIMULATION, 10e-6, 1e-6)
    assert half == pytest.approx(100 / (SIMULATION + 10e-6), rel=0.05)


def test_the_masters_work_for_an_iteration_is_at_most_5_us() -> None:
    """In lists of 64; of one, tens of microseconds on a loaded machine."""
    batch, iteration = master_costs(tree, F, IDS)
    assert 0 < batch < 200e-6 and batch / 64 + iteration < 5e-6


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_script", ROOT / "scripts" / "bench.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def some_rows() -> list[dict[str, Any]]:
    peers = [{"name": "C++, local", "value": 5, "unit": "1/s", "config": "virtual"}]
    rates = [
        row("mcts", "system_rate", f"simulations of {name}, {p} workers, virtual time", 10 * p,
            "1/s", 20 * p, None, peers)
        for name in mcts_system.SIMULATIONS for p in (1, 8)
    ]  # fmt: skip
    links = [
        row("mcts", "system_latency", f"8 workers, link of {1e6 * link:g} us each way", 4, "us",
            None, None, peers)
        for link in mcts_system.LINKS
    ]  # fmt: skip
    return [*rates, *links]


def test_the_bench_has_a_part_of_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcts_system, "rows", lambda _: iter(some_rows()))
    out, plot = tmp_path / "rows.json", tmp_path / "rates.png"
    command = ["mcts-system", "--json", str(out), "--plot", str(plot)]
    assert script().main(command) == 0
    assert json.loads(out.read_text()) == some_rows() and plot.stat().st_size > 10_000


@pytest.mark.regress
def test_every_row_of_the_bench() -> None:
    """Little of each; without the packages that are not installed."""
    found = list(mcts_system.rows(short=True))
    figures = {r["figure"] for r in found}
    assert {
        "system_master", "system_tree", "system_round_trip", "system_rate", "system_knee",
        "system_speedup", "system_latency", "system_latency_gain", "system_staleness",
        "system_efficiency", "system_timeline", "system_matches",
        "system_returns", "system_equal", "system_levels", "system_loss", "system_packages",
    } <= figures  # fmt: skip
    assert all(np.isfinite(r["measured"]) for r in found)
    assert next(r for r in found if r["figure"] == "system_equal")["measured"] == 2
