"""The measurements of the sparse engine: rows, the plan's clocks, options, plots."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import bench
from benchmarks import sparse as measured
from benchmarks import sparse_network
from benchmarks.base import Row, row
from benchmarks.sparse_array import Array
from benchmarks.sparse_plots import draw
from flow import ROOT, results
from flow.regression import builds
from jackdaw.device import open_device
from jackdaw.device.base import Device
from jackdaw.drivers.sparse import Sparse
from models.sparse.timing import OVERHEAD, dense_gflops

KEYS = {"engine", "figure", "config", "measured", "unit", "ideal", "published", "peers"}

ONE = "one core of three"  # a build of it takes the clocks of all


def opened(backend: str, config: Any = "sparse", **_: Any) -> Device:
    """With assertions, so that other tests have built it."""
    return open_device(backend, config)


@pytest.mark.regress
@builds(lambda: open_device("sim", "sparse"))
def test_sparse_bench_writes_rows_of_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "open_device", opened)
    out = tmp_path / "rows.json"
    options = ["--config", "sparse", "--groups", "2,8", "--masks", "1", "--no-peers"]
    assert bench.main(["sparse", *options, "--figures", "array,encoder", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert all(set(r) == KEYS and r["engine"] == "sparse" for r in rows)
    assert len({(r["figure"], r["config"]) for r in rows}) == len(rows)
    found = {(r["figure"], r["config"]): r for r in rows}
    # Units are so short that those of FW wait for accumulators, and with 8 groups those of dX.
    waits = {("FW", 2): 40, ("FW", 8): 100, ("dX", 8): 100}
    for name in ("FW", "dX", "dW"):
        clocks = found["op_clocks", f"lst {name}, G=2"]
        assert 0 <= clocks["measured"] - clocks["ideal"] <= OVERHEAD
        for count in (2, 8):
            over = found["op_overhead", f"{name}, G={count}, the most of all layers"]
            assert 0 <= over["measured"] <= waits.get((name, count), OVERHEAD)
            assert over["ideal"] == OVERHEAD
    for part in ("MaxIndex", "rows", "misses", "lists"):
        steps = found["osel_clocks", f"16 x 64, G=8, {part}"]
        assert steps["measured"] == pytest.approx(steps["ideal"], rel=0.2)
    for count, most in ((2, 40), (8, 60)):
        assert 0 < found["osel_clocks", f"16 x 64, G={count}, pipelines"]["measured"] < most
    used, plain = (
        found["utilization", f"LST, G=8{more}"]["measured"]
        for more in ("", ", without load allocation")
    )
    assert 0.3 < plain < 1 and 0.3 < used < 1


def test_sparse_bench_counts_a_step_and_an_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    """On the golden model, whose stages have no clocks of their own."""
    with open_device("model", "sparse") as device:
        engine = Sparse(device)
        rows = sparse_network.network_rows(engine, [1, 2], 3, 4, 2, print)
        ops = [r for r in rows if r["config"].endswith("all operations of the array")]
        assert len(ops) == 2 and all(r["measured"] > 0 for r in ops)
        array = Array(engine)
        array.load(measured.network(engine.geometry, 2), measured.np.random.default_rng(1))
        array.group(plain=True)
    assert "G=2, 3 agents, 4 episodes" in capsys.readouterr().out


def test_sparse_bench_compares_with_the_dense_network() -> None:
    busy = {"OSEL": 20, "LAU": 30}
    found = {
        count: {"step": 100 / count, "iteration": 900 / count, "array": 500 / count,
                "multiplying": 480 / count, "GROUP": {"unit_busy": busy}}
        for count in (1, 2, 4, 8, 16)
    }  # fmt: skip
    rows = {(r["figure"], r["config"]): r for r in sparse_network.compared(found, 4, 24, 20)}
    where = "4 agents, 24 episodes, 20 steps"
    assert rows["speedup_end_to_end", f"step, G=16, {where}"]["measured"] == 16
    assert rows["speedup_end_to_end", f"iteration, G=16, {where}"]["measured"] == 16
    assert rows["speedup_train", f"G=16, {where}"]["published"]["value"] == 9.75
    assert rows["speedup_train", f"G=16, {where}, while lanes multiply"]["measured"] == 16
    mean = rows["generation_share", f"mean of G=1..16, {where}"]
    assert mean["measured"] == pytest.approx(50 / 500 * (1 + 2 + 4 + 8 + 16) / 5)


def test_sparse_bench_has_the_published_points() -> None:
    assert len(measured.POINTS) == 8
    assert all(dense_gflops(*point) > 257.4 for point in measured.POINTS)
    assert dense_gflops(4, 24, overhead=0) > dense_gflops(4, 24)


@pytest.mark.parametrize(
    ("option", "value"), [("figures", "array,speed"), ("groups", "2,3"), ("masks", "0")]
)
def test_sparse_bench_refuses_options(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench.main(["sparse", f"--{option}", value])
    assert f"--{option}: got" in capsys.readouterr().err


def test_sparse_bench_draws_what_there_is(tmp_path: Path) -> None:
    def of(figure: str, config: str, measured: float) -> Row:
        return row("sparse", figure, config, measured, "x", published=(2.0, "there"))

    rows = [of("utilization", f"LST, G={g}", 1 - g / 64) for g in (1, 16)]
    rows += [of("load_deviation", f"129 x 512, G={g}, sorted rows", g) for g in (2, 4)]
    drawn = draw(tmp_path / "sparse.png", rows)
    assert [path.name for path in drawn] == ["sparse_load.png", "sparse_utilization.png"]
    assert all(path.stat().st_size > 1000 for path in drawn)


def test_operations_in_a_row_are_those_of_the_record():
    """docs/sparse.md: 20 of each operation of the network, GROUP and UPDATE."""
    text = (ROOT / "docs/sparse.md").read_text()
    found = re.search(r"\| operations of 8 tiles in a row, GROUP and UPDATE \|(.*)\|", text)
    assert found
    *told, speedup = (cell.strip().replace(",", "") for cell in found[1].split("|"))
    clocks = {
        (r["figure"], r["config"]): r["measured"]
        for r in results.read("bench")["rows"]
        if r["engine"] == "sparse"
    }
    sums = []
    for groups in (1, 2, 4, 8, 16):
        operations = [
            clocks["op_clocks", f"{layer} {op}, G={1 if layer == 'hed' else groups}, {ONE}"]
            for layer in ("enc", "com", "lst", "hed")
            for op in ("FW", "dX", "dW")
            if (layer, op) != ("enc", "dX")  # nothing needs it
        ]
        network = f"G={groups}, 4 agents, 8 episodes, 20 steps"
        jobs = [clocks["network_clocks", f"{network}, {job}, {ONE}"] for job in ("GROUP", "UPDATE")]
        sums.append(20 * sum(operations) + sum(jobs))
    assert [int(cell) for cell in told] == [round(value) for value in sums]
    assert float(speedup) == round(sums[0] / sums[-1], 2)


def test_the_mutation_score_is_that_of_the_record():
    text = (ROOT / "docs/sparse.md").read_text()
    found = re.search(
        r"\| mutation score \| ([\d.]+) %: a random sample of (\d+), six of each file; "
        r"(\d+) noticed by the tests of `make test`, (\d+) argued equivalent. The (\d+) others",
        text,
    )
    (line,) = (r for r in results.read("mutate")["rows"] if r["folder"] == "rtl/sparse")
    names = ("score", "mutants", "killed", "equivalent", "survived")
    assert found and [*map(float, found.groups())] == [line[name] for name in names]
