"""Design-space exploration: the publication's optimum, and predicted against counted clocks."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from flow import results
from flow.regression import builds
from jackdaw.device import load_config, open_device
from jackdaw.drivers.learner import Learner, Storage, adam
from models.learner import dse
from models.learner.layout import Geometry
from models.learner.lower import DqnConfig, dqn
from models.learner.optim import Slot
from models.learner.program import Program
from models.learner.timing import step_clocks

ROOT = Path(__file__).resolve().parents[2]
CARTPOLE, LUNAR = (4, 64, 64, 2), (8, 64, 64, 4)
REGION = dse.DEVICES["u200"].share(1 / 3)


@pytest.mark.parametrize(
    ("sizes", "f", "lanes", "clocks"),
    [
        (CARTPOLE, 1, 276, {32: 3352, 64: 5400, 128: 9496, 256: 17688, 512: 34072}),
        (LUNAR, 2, 296, {32: 3376, 64: 5424, 128: 9520, 256: 17712, 512: 34096}),
    ],
)
def test_published_optimum(sizes, f, lanes, clocks):
    """Table 2 of the publication: DP = 2, the widest unit 32 lanes, in one region of the U200."""
    for batch, wanted in clocks.items():
        point = dse.published_search(dse.dqn_workload(sizes), batch, REGION)
        assert (point.dp, point.pi, point.f, point.widest) == (2, batch // 2, f, 32)
        assert (point.lanes, point.clocks) == (lanes, wanted)


def test_published_banks_bind():
    """Without the banks' limit the same multipliers do better as one pipeline, f = 2."""
    work = dse.dqn_workload(CARTPOLE)
    point = dse.published_point(work, 64, 1, 2)
    assert point.lanes == 276 and not point.fits(REGION)
    assert point.clocks < dse.published_search(work, 64, REGION).clocks


def test_published_refuses():
    with pytest.raises(ValueError, match="got DP 3, batch 64"):
        dse.published_point(dse.dqn_workload(CARTPOLE), 64, 3, 1)
    with pytest.raises(ValueError, match="no design"):
        dse.published_search(dse.dqn_workload(CARTPOLE), 64, replace(REGION, dsp=100))


def lower(geometry: Geometry) -> Program:
    return dqn(geometry, DqnConfig(CARTPOLE, Slot(2, lr=np.float32(1e-3))))


@pytest.fixture(scope="module")
def cost() -> dse.Cost:
    return dse.cost_of(results.read("synth")["rows"])


def test_search_is_exhaustive_and_within_the_budget(cost):
    designs = dse.search(lower, 64, REGION, cost)
    assert all(d.resources.fits(REGION) and d.pi >= d.geometry.gi for d in designs)
    assert [d.clocks for d in designs] == sorted(d.clocks for d in designs)
    everything = dse.search(lower, 64, replace(REGION, lut=10**9, dsp=10**9, bram36=10**9), cost)
    assert len(everything) > len(designs)
    outside = [d for d in everything if not d.resources.fits(REGION)]
    assert {id(d) for d in outside}.isdisjoint(map(id, designs)) and outside
    assert designs[0].clocks == min(d.clocks for d in everything if d.resources.fits(REGION))


def test_more_lanes_are_never_slower(cost):
    """More update lanes at the same P and DP save clocks; memories hold program and frames."""
    wide = replace(REGION, lut=10**9, dsp=10**9, bram36=10**9)
    designs = {(d.geometry.p, d.geometry.dp, d.geometry.lw): d for d in
               dse.search(lower, 64, wide, cost)}  # fmt: skip
    assert designs[64, 2, 4].clocks > designs[64, 2, 8].clocks > designs[64, 2, 16].clocks
    assert designs[16, 1, 4].clocks > designs[32, 1, 4].clocks > designs[64, 1, 4].clocks
    for design in designs.values():
        geometry = design.geometry
        program = lower(geometry)
        assert -(-64 // geometry.dp) * program.frame_rows <= geometry.a_rows
        assert max(n.row_base + 3 * n.rows for n in program.networks) <= geometry.w_rows


def test_search_refuses(cost):
    with pytest.raises(ValueError, match="no build for batch 64 fits"):
        dse.search(lower, 64, replace(REGION, lut=1000), cost)


def test_cost_model_gives_back_what_was_synthesised(cost):
    """The lanes of the tensor unit are exact at P = 8 and 16; a pipeline is that of the report."""
    pipe = next(r for r in results.read("synth")["rows"] if r["block"] == "jd_learner_pipe")
    assert round(cost.lut_pipe + 16 * cost.lut_lane) == pipe["lut"]
    assert round(cost.dsp_pipe + 16 * cost.dsp_lane) == pipe["dsp"]


# What is simulated: a build and its tasks (sizes, double, batch).
BUILDS: dict[str, list[tuple[tuple[int, ...], bool, int]]] = {
    "small": [((4, 16, 16, 2), False, 16), ((4, 16, 16, 2), True, 16), ((8, 16, 16, 4), False, 8),
              ((8, 16, 16, 4), False, 16), ((3, 16, 1), False, 16), ((5, 13, 11, 3), False, 13)],
    "demo": [(CARTPOLE, False, 16), (CARTPOLE, False, 32), (CARTPOLE, False, 64),
             (CARTPOLE, True, 32), (LUNAR, False, 32), (LUNAR, False, 64), (LUNAR, True, 32)],
}  # fmt: skip


@pytest.mark.regress
@pytest.mark.parametrize("build", BUILDS)
@builds(lambda build: open_device("sim", load_config(build)))
def test_prediction_against_counted_clocks(build, seed):
    """The cycle model, on which the search rests, is within 1 % of the simulated device, of steps
    of few clocks within 3 %."""
    rng = np.random.default_rng(seed)
    with open_device("sim", load_config(build), seed=seed) as device:
        learner = Learner(device)
        geometry = learner.geometry
        for sizes, double, batch in BUILDS[build]:
            program = learner.dqn(list(sizes), adam(1e-3), double=double, sync_period=5)
            learner.load_program(program)
            learner.load(
                [
                    (rng.normal(0, 0.2, (o, i)).astype(np.float32), np.zeros(o, np.float32))
                    for i, o in pairwise(sizes)
                ]
            )
            words = rng.normal(0, 1, (64, 32)).astype(np.float32)
            words[:, sizes[0]] = rng.integers(0, sizes[-1], 64).astype(np.int32).view(np.float32)
            storage = Storage(device.alloc(words.nbytes), 128, 64)
            device.write(storage.base, words)
            # Ten steps after the first two: the first batch's fetch is not hidden.
            cycles = []
            for steps in (2, 12):
                indices = rng.integers(0, 64, (steps, batch))
                record = learner.train(batch, storage, steps=steps, indices=indices).wait()
                cycles.append(record.cycles)
            predicted = step_clocks(program, geometry, batch)
            measured = (cycles[1] - cycles[0]) / 10
            print(f"P={geometry.p} {sizes} double={double} B={batch}: predicted {predicted}, "
                  f"counted {measured:.1f}, {predicted / measured - 1:+.2%}")  # fmt: skip
            assert abs(predicted / measured - 1) < (0.01 if measured > 5000 else 0.03)


def test_explore_prints_both(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("explore", ROOT / "scripts" / "explore.py")
    assert spec is not None and spec.loader is not None
    explore = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(explore)
    plot = tmp_path / "plot.png"
    assert explore.main(["--batch", "64", "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "| publication's method | 2 | 32 | f = 1, widest 32 lanes | 5400 | 75.9% |" in printed
    assert "| this engine |" in printed and plot.stat().st_size > 10_000
    assert explore.main(["--share", "0.01"]) == 1
    assert "explore: no build" in capsys.readouterr().err
    assert explore.main(["--agent", "ddpg", "--sizes", "3", "64", "64", "1"]) == 0
    printed = capsys.readouterr().out
    assert "publication's method: no design" in printed, "64 lanes to 1, of 32 banks"
    assert printed.count("| this engine |") > 3
    assert explore.main(["--agent", "td3", "--sizes", "4", "16", "16", "2"]) == 0
    assert "f = 1" in capsys.readouterr().out
    for bad in (["--share", "2"], ["--clock", "0"], ["--pipelines", "3"],
                ["--agent", "ddpg", "--double"], ["--sizes", "4", "0"]):  # fmt: skip
        with pytest.raises(SystemExit):
            explore.main(bad)


def test_workload_of_actor_critic_counts_its_stages() -> None:
    """DDPG 2-256-128-1: the multiplications of a sample that its publication's networks have."""
    work = dse.actor_critic_workload((2, 256, 128, 1))
    assert sum(work.stages) == 333_824
    assert work.weights == (512, 32768, 128, 768, 32768, 128)
    assert sum(dse.actor_critic_workload((2, 256, 128, 1), 2).stages) > 1.4 * 333_824
