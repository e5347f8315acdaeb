"""The a3c engine against its golden model: builds, every sequence, coverage of all runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

CORE, TOP, MODULE = "jackdaw:engine:a3c", "jd_a3c_top", "verif.a3c.tests"
SMALL = {
    "NPe": 16, "NPair": 1, "PortPerCu": 0, "AltEn": 0, "NRu": 4, "FmRows": 512,
    "PbInference": 512, "PbTraining": 512, "GbRows": 512,
}  # fmt: skip
BUILDS = {
    "pair": {**SMALL, "AltEn": 1},
    "two": {**SMALL, "NPair": 2, "PortPerCu": 1, "NNet": 4},
}
RUNS = [
    ("pair", "Smoke"),
    ("pair", "Random"),
    ("pair", "Samples"),
    ("pair", "Layouts"),
    ("pair", "BackPressure"),
    ("pair", "BadDescriptor"),
    ("pair", "BusError"),
    ("pair", "Timeouts"),
    ("pair", "ResetMidway"),
    ("pair", "Roles"),
    ("pair", "Tickets"),
    ("pair", "HardReset"),
    ("two", "Failures"),
    ("two", "Random"),
    ("two", "Tickets"),
    ("two", "HardReset"),
]


@pytest.mark.parametrize(
    ("build", "test"),
    [run if run[0] == "pair" else regress(*run) for run in RUNS],
    ids=lambda value: str(value),
)
def test_engine_runs(build: str, test: str, seed: int) -> None:
    simulate.run(CORE, toplevel=TOP, module=MODULE, test=test, parameters=BUILDS[build], seed=seed)


@pytest.mark.regress
@pytest.mark.parametrize("bits", [0, 1])
def test_engine_initial(bits: int, seed: int) -> None:
    """Whatever the registers hold before the reset: all zeros, all ones."""
    simulate.run(
        CORE, toplevel=TOP, module=MODULE, test="Smoke", parameters=BUILDS["pair"], seed=seed,
        plusargs=[f"+verilator+rand+reset+{bits}"],
    )  # fmt: skip


@pytest.mark.goal
@pytest.mark.regress
def test_engine_coverage_is_complete(runs: list[Path]) -> None:
    """Every bin is reached by the runs together."""
    require(runs)
