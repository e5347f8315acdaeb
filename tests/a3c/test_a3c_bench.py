"""The a3c engine's benchmark: agents by events on the simulated hardware, rows, plot."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import bench
from benchmarks import a3c as bench_a3c
from benchmarks.base import Row, row
from flow import results
from flow.regression import builds
from jackdaw.device import open_device
from jackdaw.device.sim import SimDevice
from models.a3c.network import NET_T


@pytest.mark.regress
@pytest.mark.parametrize("copy", [False, True], ids=["ZERO", "COPY"])
@pytest.mark.parametrize("agents", [1, 3])
@builds(lambda: open_device("sim", "a3c"))
def test_a3c_bench_host(
    agents: int, copy: bool, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Agents go through their routines; inferences that are no bootstrap are counted."""
    monkeypatch.setattr(bench_a3c, "STEP_CLOCKS", 2000)
    monkeypatch.setattr(bench_a3c, "HOST_CLOCKS", 200)
    routines = 4
    with open_device("sim", "a3c", seed=seed) as device:
        assert isinstance(device, SimDevice)
        host = bench_a3c.Host(device, NET_T, agents, copy)
        before = host.a3c.counters()
        begin = device.clock
        speed, shares = bench_a3c.window(host, agents, routines)
        after, clocks = host.a3c.counters(), device.clock - begin
    kinds = Counter(kind for _, kind in host.done)
    steps = bench_a3c.T_MAX
    assert kinds["train"] >= agents + routines
    assert 0 <= kinds["infer"] - steps * kinds["train"] <= steps * agents
    assert 0 <= kinds["bootstrap"] - kinds["train"] <= agents
    assert bool(kinds["sync"]) == copy and kinds["train"] - kinds["sync"] * copy <= (
        agents if copy else kinds["train"]
    )
    for counter, kind in (("INF", "infer"), ("BOOT", "bootstrap"), ("TRAIN", "train")):
        assert 0 <= after[counter] - before[counter] - kinds[kind] <= agents
    assert 0 < shares["training_units_issue"] < shares["training_units_busy"] <= 1
    for role in ("inference", "training"):  # every clock of a task is an issue or has a reason
        waits = ("issue", "st_ctx", "st_param", "st_fm", "st_drain", "st_gb")
        spent = sum(shares[f"{role}_units_{what}"] for what in waits)
        assert spent <= shares[f"{role}_units_busy"]
    assert 0 < shares["ports_write_beats"] < shares["ports_read_beats"] <= 1
    assert speed * clocks / bench_a3c.CLOCK_HZ > steps * (routines - agents)


def test_a3c_bench_setups() -> None:
    """Every configuration builds a geometry; floors are those of the specification."""
    names = [setup.name for setup in (*bench_a3c.SETUPS, *bench_a3c.FIGURE_10)]
    assert len(set(names)) == len(names)
    for setup in (*bench_a3c.SETUPS, *bench_a3c.FIGURE_10):
        assert setup.text.startswith(f"{setup.name}: ")
        parameters = setup.config.parameters
        ports = parameters["a3c.NPair"] * (2 if parameters["a3c.PortPerCu"] else 1)
        assert parameters["MemPorts"] == ports
    floors = {setup.name: setup.floor for setup in bench_a3c.SETUPS if setup.floor}
    assert floors == {"A": 5000, "H": 4150, "J": 2450}


@pytest.mark.regress
@builds(lambda: open_device("sim", "a3c"))
def test_a3c_bench_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A routine on the RTL equals the model, and PyTorch as closely as rounding lets it."""
    monkeypatch.setattr(bench_a3c, "CHECKED", bench_a3c.CHECKED[:1])
    rows = {r["figure"]: r["measured"] for r in bench_a3c.golden_rows()}
    assert rows["routine_bytes_compared"] > 3 * NET_T.parameter_bytes
    assert rows["routine_bytes_wrong"] == 0
    assert 0 < rows["routine_parameters_error"] < 1e-6


@pytest.mark.parametrize(
    "wrong", [["--setups", "A,B"], ["--agents", "0"], ["--agents", "4,x"], ["--agents", ""]]
)
def test_a3c_bench_refuses(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["a3c", *wrong])
    assert f"{wrong[0]}: got" in capsys.readouterr().err


def test_a3c_bench_record_and_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows take the place of those of their names; the plot has every configuration."""
    monkeypatch.setattr(results, "RECORDED", tmp_path)
    monkeypatch.setattr(results, "recordable", lambda: "0123456789")

    def made(name: str, agents: int, value: float) -> Row:
        config = f"{name}: as it is, {agents} agents"
        return row("a3c", bench_a3c.INFERENCES, config, value, "IPS")

    other = row("replay", "figure", "config", 1, "clocks")
    results.write("bench", [other, made("A", 16, 1.0)], seconds=1, seed=1, record=True)
    rows = [made("A", 16, 2.0), made("FA3C", 4, 4.0), made("Alt1", 4, 3.0)]
    assert bench.record(rows) == rows
    assert results.read("bench")["rows"] == json.loads(
        json.dumps([{"commit": "0123456789", **other}, *rows])
    )
    assert bench_a3c.of_agents(rows) == {"A": {16: 2.0}, "FA3C": {4: 4.0}, "Alt1": {4: 3.0}}
    bench_a3c.draw(tmp_path / "plot.png", rows)
    assert (tmp_path / "plot.png").stat().st_size > 10_000
