"""A compute unit against the golden model: every byte of memory, clocks, errors, stop, reset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flow import simulate
from flow.regression import builds, regress
from models.a3c import timing
from models.a3c.network import FULL, NET_A, TINY, Geometry
from verif.a3c.unit import Case, Unit, unit_parameters
from verif.coverage import require

CORE, TOP, MODULE = "jackdaw:engine:a3c_unit", "jd_a3c_unit_bench", "verif.a3c.tb_unit"
SOURCES = ["verif/a3c/jd_a3c_unit_bench.sv"]
BUILDS = {
    "16": replace(TINY, fm_rows=2048, pb_inference=1024, pb_training=1024, gb_rows=1024),
    "64": Geometry(
        n_pe=64, n_pair=1, lm=2, la=3, n_ru=8, fm_rows=4096, pb_inference=4096, pb_training=4096,
        gb_rows=4096,
    ),
}  # fmt: skip
RUNS = [
    ("16", "Random"),
    ("16", "Shapes"),
    ("16", "Clocks"),
    ("16", "BusError"),
    ("16", "ResetMidway"),
    ("16", "SpecialValues"),
    regress("16", "BackPressure"),
    regress("16", "Samples"),
    regress("64", "Random"),
    regress("64", "Groups"),
]


@pytest.mark.cocotb
@pytest.mark.parametrize(("build", "test"), RUNS)
def test_unit_runs(build: str, test: str, seed: int) -> None:
    simulate.run(
        CORE, toplevel=TOP, module=MODULE, test=test, seed=seed, sources=SOURCES,
        parameters=unit_parameters(BUILDS[build], True),
    )  # fmt: skip


@pytest.mark.goal
@pytest.mark.regress
def test_unit_coverage(runs: list[Path]) -> None:
    require(runs)


@pytest.mark.slow
@builds(
    lambda: Unit(unit_parameters(FULL, False), 1, optimize="-O2"),
    lambda: Unit(unit_parameters(FULL, True), 1, optimize="-O2"),
)
def test_unit_runs_the_papers_network(seed: int) -> None:
    """Full size, bits and clocks: an inference after the other, a training after the other."""
    for train, most in ((False, 49_500), (True, 350_000)):
        case = Case(FULL, [NET_A], np.random.default_rng([seed, 38]), scale=0.05)
        want = timing.Clocks()
        for n in range(3):
            if train:
                case.train(0, 0, 0, 1, range(5))
                want += timing.training_clocks(NET_A, 5, FULL)
            else:
                case.infer(0, 0, [n])
                want += timing.inference_clocks(NET_A, 1, FULL)
        memory = case.memory.copy()
        with Unit(unit_parameters(FULL, train), seed, optimize="-O2") as unit:
            result = unit.run(memory, [task for _, task, _ in case.tasks], case.networks, FULL)
        assert not case.difference(memory, case.golden())
        assert result.counted["issue"] == want.issued
        periods = np.diff([end[3] for end in result.ends])
        assert periods.max() <= most
