"""The measurements of the learner: rows, builds of the sweep, software peers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import bench
from benchmarks import learner as bench_learner
from benchmarks.peers import learners
from flow.design import resolve
from flow.regression import builds
from flow.toolchain import environment
from jackdaw.device import Config, open_device
from jackdaw.drivers.learner import Learner
from models.learner.timing import step_clocks

KEYS = {"engine", "figure", "config", "measured", "unit", "ideal", "published", "peers"}


@builds(lambda: open_device("sim", "small"))
def test_learner_bench_writes_rows_of_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch on the small build, which holds no network of the sweep but this one."""
    work = bench_learner.Workload("DQN 4-16-2", "dqn", (4, 16, 2), ((8, 100),), 5e4)
    monkeypatch.setattr(bench_learner, "SMALL", (work, bench_learner.SMALL[0]))
    monkeypatch.setattr(bench_learner, "BATCHES", (8,))
    monkeypatch.setattr(bench_learner.measure, "__defaults__", ((8, 1024), print))
    monkeypatch.setattr(
        bench_learner,
        "software",
        lambda works: {(w.name, 8): [{"name": "C++", "value": 1, "unit": "ns", "config": ""}]
                       for w in works},
    )  # fmt: skip
    out = tmp_path / "rows.json"
    plot = tmp_path / "clocks.png"
    command = ["learner", "--config", "small", "--json", str(out), "--plot", str(plot)]
    assert bench.main(command) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    rows = json.loads(out.read_text())
    assert all(set(r) == KEYS for r in rows)
    found = {r["figure"]: r for r in rows}
    assert {r["config"] for r in rows} == {
        f"DQN 4-16-2 P=8 DP=1 {size}" for size in ("B=8", "N=64", "N=256")
    }
    counted, predicted = (
        [r["measured"] for r in rows if r["figure"] == f"infer_{name}_per_vector"]
        for name in ("cycles", "predicted_cycles")
    )
    assert predicted == pytest.approx(counted, rel=0.05) and min(counted) > 12
    assert found["infer_cycles_per_vector"]["ideal"] == 12
    step = found["cycles_per_gradient_step"]
    assert step["ideal"] < step["measured"] < 3 * step["ideal"]
    assert step["published"]["value"] == 100 and len(step["peers"]) == 1
    # The exposed fetch of the first batch is a large part of so small a step.
    assert found["predicted_cycles"]["measured"] == pytest.approx(step["measured"], rel=0.15)
    assert found["utilization"]["measured"] == pytest.approx(
        step["ideal"] / step["measured"], abs=1e-4
    )
    assert found["experiences_per_second"]["published"]["value"] == 5e4


def test_learner_sweep_holds_its_networks() -> None:
    """Every workload fits the builds of the sweep, at batch 64 and above on each."""
    for build, workloads in bench_learner.sweep((1, 2, 4), large=True):
        with open_device("model", config=build) as device:
            learner = Learner(device)
            g = learner.geometry
            assert f"dp{g.dp}" in build.name
            for work in workloads:
                program = work.program(learner)
                most = min(g.b_max, g.dp * (g.a_rows // program.frame_rows))
                assert most >= 256, f"{build.name}, {work.name}: {most}"


def test_spatial_build_is_predicted() -> None:
    """The cycle model against the clocks counted on the simulated device (docs/learner.md)."""
    counted = {
        "DQN 4-64-64-2": (3887, 6245, 10961, 20393, 39452),
        "DQN 8-64-64-4": (4128, 6630, 11634, 21642, 42038),
    }
    build = bench_learner.spatial()
    with open_device("model", config=build) as device:
        learner = Learner(device)
        for work in bench_learner.SMALL[:2]:
            program = work.program(learner)
            learner.load_program(program)
            for batch, clocks in zip(bench_learner.BATCHES, counted[work.name], strict=True):
                latencies = bench_learner.latencies_of(build)
                predicted = step_clocks(program, learner.geometry, batch, latencies)
                assert predicted == pytest.approx(clocks, rel=0.025), f"{work.name}, {batch}"
                assert learner.ideal_cycles(batch) < predicted


@pytest.mark.regress
@pytest.mark.parametrize(
    "config",
    [bench_learner.spatial(), bench_learner.build(4, True), bench_learner.wide()],
    ids=lambda c: c.name,
)
def test_builds_of_the_sweep_pass_lint(config: Config) -> None:
    """Memories beyond what a program can name are no error (biases of the large builds)."""
    design = resolve(config.core())
    call = [
        "verilator", "--lint-only", "-Wall", "--top-module", config.toplevel,
        *(f"-I{folder}" for folder in design.includes), *design.waivers, *design.sources,
    ]  # fmt: skip
    found = subprocess.run(
        list(map(str, call)), env=environment(), capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(("kind", "sizes"), [("dqn", (4, 8, 2)), ("ddpg", (3, 8, 1))])
def test_learner_peers_take_steps(kind: str, sizes: tuple[int, ...]) -> None:
    assert learners.plain(learners.compile_learner(), kind, sizes, 4) > 0
    assert learners.pytorch(kind, sizes, 4) > 0


def test_learner_bench_refuses_bad_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["replay", "--large"])
    assert "unrecognized arguments: --large" in capsys.readouterr().err
