"""What is around the units of the a3c engine, with stand-ins for them."""

from __future__ import annotations

import pytest

from flow import simulate

pytestmark = pytest.mark.cocotb

CORE, TOP, MODULE = "jackdaw:verif:a3c_stub", "jd_a3c_top", "verif.a3c.tests"
SMALL = {
    "NPe": 16, "NPair": 1, "PortPerCu": 0, "AltEn": 0, "NRu": 4, "FmRows": 512,
    "PbInference": 512, "PbTraining": 512, "GbRows": 512,
}  # fmt: skip
BUILDS = {
    "two": {**SMALL, "NPair": 2, "PortPerCu": 1},
    "single": {**SMALL, "NPair": 2, "SingleCu": 1, "NNet": 2},
}
RUNS = [
    ("two", "Smoke"),
    ("two", "Random"),
    ("two", "BadDescriptor"),
    ("two", "BusError"),
    ("two", "Timeouts"),
    ("two", "Failures"),
    ("two", "Tickets"),
    ("two", "Roles"),
    ("two", "ResetMidway"),
    ("two", "HardReset"),
    ("single", "Smoke"),
    ("single", "Tickets"),
]


@pytest.mark.regress
@pytest.mark.parametrize(("build", "test"), RUNS, ids=lambda value: str(value))
def test_around_runs(build: str, test: str, seed: int) -> None:
    simulate.run(
        CORE, toplevel=TOP, module=MODULE, test=test, parameters=BUILDS[build], seed=seed,
        environment_extra={"JD_A3C_STUB": "1"},
    )  # fmt: skip
