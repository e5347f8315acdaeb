"""The measurements of the mcts engine: rows, the golden model beside it, options."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench
from benchmarks import mcts as measured
from benchmarks.base import benchmarks
from benchmarks.mcts_games import searched
from flow.regression import builds
from jackdaw.device import open_device
from jackdaw.device.base import Device
from jackdaw.drivers.mcts import Mcts
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY, STATIC
from models.mcts.formats import Geometry
from models.mcts.traces import SHAPES

KEYS = {"engine", "figure", "config", "measured", "unit", "ideal", "published", "peers"}


def opened(backend: str, config: Any = "mcts_small", **_: Any) -> Device:
    """With assertions, so that other tests have built it."""
    return open_device(backend, config)


@builds(lambda: open_device("sim", "mcts_small"))
def test_mcts_bench_writes_rows_of_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "open_device", opened)
    out = tmp_path / "rows.json"
    command = [
        "mcts",
        "--config",
        "mcts_small",
        "--groups",
        "1",
        "--shapes",
        "deep",
        "--json",
        str(out),
    ]
    assert bench.main(command) == 0
    rows = json.loads(out.read_text())
    assert all(set(r) == KEYS and r["engine"] == "mcts" for r in rows)
    assert len({(r["figure"], r["config"]) for r in rows}) == len(rows) == 2 * 16
    for policy in (ALGORITHM_2, NEXT_EMPTY):
        found = {r["figure"]: r for r in rows if f"deep policy={policy}, 10 nodes" in r["config"]}
        assert set(found) == {
            "bits", "selection_interval", "update_interval", "iteration_interval",
            "selection_latency", "model_error", "answer_interval", "list_latency", "utilization",
            "tokens",
        }  # fmt: skip
        assert found["bits"]["measured"] == found["bits"]["ideal"] > 30
        # A selection passes the root in one clock. A level takes eight clocks or more.
        assert 1 <= found["selection_interval"]["measured"] < 1.5
        assert 1 <= found["update_interval"]["measured"] < 1.5
        latency = found["selection_latency"]
        assert latency["config"].endswith("4 levels") and latency["measured"] == 35
        list_latency = found["list_latency"]
        assert 100 < list_latency["measured"] <= list_latency["ideal"]
        assert 1 <= found["tokens"]["measured"] <= found["tokens"]["ideal"] == 16
        # A worker's update comes with the answer to its selection.
        assert found["iteration_interval"]["measured"] > found["iteration_interval"]["ideal"]


def test_mcts_bench_has_the_published_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """The default builds, on the device `model`, whose clocks are not looked at."""
    benchmark = measured.MctsBenchmark()
    for levels, figures in ((8, (3.2, 8.1)), (32, (9.4, 34.1))):
        benchmark.check(_parsed(["--levels", str(levels)]))
        assert [b.instance("mcts").fields["xbar"] for b in benchmark.builds] == [1, 0]
        with open_device("model", config=benchmark.builds[1]) as device:
            rows = measured.measure(device, ["comb"], [ALGORITHM_2, NEXT_EMPTY], nodes=200)
        published = [r["published"]["value"] for r in rows if r["published"]]
        assert tuple(published) == figures
    assert "butterflies comb" in capsys.readouterr().out


def _parsed(options: list[str]) -> Any:
    parser = argparse.ArgumentParser()
    measured.MctsBenchmark().add_options(parser)
    return parser.parse_args(options)


@pytest.mark.parametrize("what", ["responses", "root"])
def test_mcts_bench_refuses_an_engine_that_differs(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, read_root = Mcts.poll, Mcts.read_root

    def other_poll(self: Mcts) -> np.ndarray:
        found = poll(self)
        found["node"][-1:] ^= 1
        return found

    def other_root(self: Mcts) -> tuple[int, np.ndarray, np.ndarray]:
        visits, n, w = read_root(self)
        return visits, n, w + 2.0**-20

    if what == "responses":
        monkeypatch.setattr(Mcts, "poll", other_poll)
    else:
        monkeypatch.setattr(Mcts, "read_root", other_root)
    with (
        open_device("model", "mcts_small") as device,
        pytest.raises(RuntimeError, match=f"its {what}"),
    ):
        measured.measure(device, ["bushy"], [0])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("shapes", "deep,flat"),
        ("policies", "3"),
        ("nodes", "1"),
        ("workers", "0"),
        ("levels", "4"),
        ("children", "7"),
        ("networks", "rings"),
        ("groups", "8,0"),
    ],
)
def test_mcts_bench_refuses_options(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "mcts" in benchmarks()
    with pytest.raises(SystemExit):
        bench.main(["mcts", f"--{option}", value])
    assert f"--{option}: got" in capsys.readouterr().err


def test_mcts_bench_measures_groups_of_iterations() -> None:
    """Selections, updates and latency once; a static tree has no full level."""
    with open_device("model", "mcts_small") as device:
        rows = measured.measure(device, ["deep"], [STATIC], groups=[1, 2], workers=4)
    of = [r["config"].rpartition(", ")[2] for r in rows if r["figure"] == "iteration_interval"]
    assert of == ["lists of 1 and 1", "lists of 2 and 2"]
    assert len([r for r in rows if r["figure"] == "selection_interval"]) == 1


def test_mcts_bench_grows_a_static_tree_until_a_level_is_full() -> None:
    """Two levels of 16 entries, so that the second cannot hold all others."""
    g = Geometry(d=4, f=3, y=8, cap=4, x=20, fr=3, fp=3, w_max=4, t=16, sf=2, mu=3)
    search = measured._grown(SHAPES["bushy"], g, 20, 4, 1, STATIC)
    held = (search.tree.owner >= 0).sum()
    assert 8 < 1 + sum(int((p.responses["code"] == 0).sum()) for p in search.parts) < 20 and held


def test_mcts_bench_plays_a_game() -> None:
    """Lists of a search of Carnival; a build with fewer children than its actions is refused."""
    with open_device("model", "mcts_demo") as device:
        rows = measured.measure(device, ["Carnival"], [0], nodes=48, workers=8, groups=[4])
    found = {r["figure"]: r["measured"] for r in rows}
    assert found["bits"] > 47 and found["iteration_interval"] > 0
    g = Geometry(d=4, f=3, y=8, cap=4, x=10, fr=3, fp=3, w_max=4, t=16, sf=2, mu=3)
    with pytest.raises(ValueError, match="Carnival: got F=3, want 6"):
        searched("Carnival", g, 10, 4, 2)
