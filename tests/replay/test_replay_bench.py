"""The measurements of the replay engine: rows, software peers, plot."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

import bench
from benchmarks import peers
from benchmarks import replay as measured
from benchmarks.replay import (
    ReplayBenchmark,
    model_figures,
    model_table,
    replay_name,
    replay_sweep,
    replay_timing,
)
from flow.regression import builds
from jackdaw.device import load_config, open_device
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.replay.engine import Job as Opcode

BATCHES_OF_16 = load_config("small").changed({"replay.BatchLog2": 4})
KEYS = {"engine", "figure", "config", "measured", "unit", "ideal", "published", "peers"}


@pytest.mark.regress
@builds(lambda: open_device("sim", BATCHES_OF_16))
def test_replay_bench_writes_rows_of_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain trees at one size in place of all peers, which take longer than the engine."""
    binary = peers.compile_trees()
    monkeypatch.setattr(
        peers, "measure", lambda leaves, batches: list(peers.plain_trees(binary, 256, batches[:1]))
    )
    out, plot = tmp_path / "rows.json", tmp_path / "latency.png"
    command = ["replay", "--config", "small", "--set", "replay.BatchLog2=4"]  # as it is
    command += ["--json", str(out), "--plot", str(plot)]
    assert bench.main(command) == 0
    rows = json.loads(out.read_text())
    assert all(set(r) == KEYS for r in rows)
    found = {r["figure"]: r for r in reversed(rows)}
    for figure in ("cycles_per_insert", "cycles_per_retrieve"):
        assert 1 <= found[figure]["measured"] < 1.25
    for figure in ("cycles_per_sample", "cycles_per_update", "cycles_per_sample_and_update"):
        row = found[figure]
        assert row["ideal"] == 1 <= row["measured"] and row["unit"] == "clocks"
        assert {p["unit"] for p in row["peers"]} == {"ns"}
        assert all(set(p) == {"name", "value", "unit", "config"} for p in row["peers"])
        assert len(row["peers"]) == 4
    assert found["stream_cycles_per_update"]["measured"] >= 1
    # K = 4, 256 leaves of 32 bits: levels of 4, 16, 64 and 256 nodes, in two copies.
    assert found["memory_bits"]["measured"] == 2 * (4 * 38 + 16 * 36 + 64 * 34 + 256 * 32)
    assert found["gather_bytes_per_clock"]["measured"] <= 64
    # Updates have no largest batch: a long job comes near to one per clock.
    assert min(r["measured"] for r in rows if r["figure"] == "cycles_per_update") < 2
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("opcode", [Opcode.RETRIEVE, Opcode.INSERT])
@builds(lambda: open_device("sim", BATCHES_OF_16))
def test_replay_operations_take_a_clock_each(opcode: int) -> None:
    """Also at the memory's latency of 64 clocks: enough reads and writes are out at a time."""
    with open_device("sim", BATCHES_OF_16) as device:
        replay = Replay(device, ReplaySettings(leaves=256, seed=1))
        replay.insert(np.arange(1, 257))
        short, long = 1024, 5120
        cycles = [replay.measure_host(opcode, count) for count in (short, long)]
        each = (cycles[1] - cycles[0]) / (long - short)
        assert 1 <= each < 1.01, f"{cycles} clocks"


def test_replay_bench_sweeps_to_a_million_leaves() -> None:
    names = [replay_name(replay_timing(build)) for build in replay_sweep()]
    assert {"K=16 N=1048576", "K=64 N=1048576", "K=16 N=4096, sequential"} <= set(names)
    # 36.1 and 34.2 Mb a copy.
    for name, bits in (("K=16 N=1048576", 72.2e6), ("K=64 N=1048576", 68.4e6)):
        build = replay_sweep()[names.index(name)]
        assert abs(replay_timing(build).memory_bits() - bits) < 0.05e6 * 2


def test_replay_peers_sample_and_update() -> None:
    """cpprb and NumPy at a small capacity give a figure for every operation."""
    for peer in (peers.cpprb_buffer, peers.numpy_tree):
        figures = list(peers.timed(peer(100), leaves=100, batches=[8]))
        assert [f.operation for f in figures] == list(peers.OPERATIONS)
        assert all(f.nanoseconds > 0 and "N=100 B=8" in f.row()["config"] for f in figures)
    assert "g++" in peers.machine()


def test_replay_buffer_on_the_model_stands_beside_cpprb() -> None:
    """A row for each batch. The bounds leave room for a loaded machine: Python took 4.8 ms."""
    figures = model_figures([32, 512])
    lines = model_table(figures).splitlines()[1:]
    assert len(lines) == 4 and "cpprb" in lines[0] and lines[2].startswith("| 32 | ")
    for mine, theirs in zip(*figures, strict=True):
        assert (mine.operation, mine.batch) == (theirs.operation, theirs.batch)
        assert mine.nanoseconds * mine.batch < 1e6
    print(*lines, sep="\n")


def test_replay_bench_prints_the_model_beside_cpprb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Microseconds of a batch, of figures in nanoseconds of a row."""
    mine, theirs = (
        [
            peers.Figure(name, operation, 64, batch, each * (1 + number))
            for batch in (10, 100)
            for number, operation in enumerate(peers.OPERATIONS)
        ]
        for name, each in (("model", 600.0), ("cpprb 1", 200.0))
    )
    monkeypatch.setattr(peers, "measure", lambda leaves, batches: theirs)
    monkeypatch.setattr(measured, "model_figures", lambda batches: [mine, theirs])
    benchmark = ReplayBenchmark()
    benchmark.clock_hz = 10**8
    for timed in (False, True):
        options = argparse.Namespace(peers=timed)
        assert list(benchmark.rows(options)) == []
        assert bool(benchmark.more(options, [])) == timed
    assert benchmark.more(options, []).splitlines()[-4:] == [
        "| us a batch, N=64 | sample: model | cpprb 1 | ratio | update: model | cpprb 1 | ratio"
        " | sample and update: model | cpprb 1 | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
        "| 10 | 6.0 | 2.0 | 3.0 | 12.0 | 4.0 | 3.0 | 18.0 | 6.0 | 3.0 |",
        "| 100 | 60.0 | 20.0 | 3.0 | 120.0 | 40.0 | 3.0 | 180.0 | 60.0 | 3.0 |",
    ]


def test_replay_bench_refuses_bad_options(capsys: pytest.CaptureFixture[str]) -> None:
    for options, text in (
        (["--set", "Batch=4"], "has no Batch; it has"),
        (["--set", "replay.BatchLog2=x"], "want NAME=NUMBER"),
        (["--config", "small", "--set", "MemSizeLog2=50"], "want 12..32"),
    ):
        with pytest.raises(SystemExit):
            bench.main(["replay", *options])
        assert text in capsys.readouterr().err
