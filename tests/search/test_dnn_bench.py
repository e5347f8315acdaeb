"""The benchmark of DNN-guided search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bench


def test_rows_and_a_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mcts_dnn.BATCHES", {4: 2})
    monkeypatch.setattr("benchmarks.mcts_dnn.WORKERS", (2,))
    words = ["mcts-dnn", "--figures", "batch,scheme,virtual", "--playouts", "16"]
    files = ["--json", str(tmp_path / "rows.json"), "--plot", str(tmp_path / "plot.png")]
    assert bench.main([*words, *files]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    found = {row["figure"]: row for row in rows}
    assert found["dnn_batch"]["measured"] in (1, 2, 3, 4)
    assert found["dnn_batch"]["published"]["value"] == 2
    assert found["dnn_batch_runs"]["measured"] <= found["dnn_batch_runs"]["ideal"] == 8
    playouts = {row["config"]: row for row in rows if row["figure"] == "dnn_playout"}
    assert len(playouts) == 4 and all(
        row["measured"] > 0 < row["ideal"] for row in playouts.values()
    )
    assert found["dnn_choice"]["ideal"] == 1 and found["dnn_ratio"]["measured"] >= 1
    assert len([row for row in rows if row["figure"] == "dnn_virtual_loss"]) == 6
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_arguments_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        (["mcts-dnn", "--figures", "x,batch"], "--figures: got x, want some of batch"),
        (["mcts-dnn", "--playouts", "0"], "--playouts: got 0"),
        (["mcts-dnn", "--matches", "-1"], "--matches: got -1"),
        (["mcts-dnn", "--run", "/nowhere"], "--run: got /nowhere, want a run's folder"),
        (["mcts-dnn", "--json", "/nowhere/x.json"], "--json: got /nowhere/x.json, want a file"),
        (["mcts-dnn", "--plot", "/nowhere/x.png"], "--plot: got /nowhere/x.png, want a file"),
    ):
        with pytest.raises(SystemExit) as ended:
            bench.main(words)
        assert ended.value.code == 2 and text in capsys.readouterr().err
