"""The tasks of the a3c engine: rings, checks, tickets, workers and ends, without the units."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import keep
from verif.coverage import require

pytestmark = pytest.mark.cocotb

CORE, TOP, MODULE = "jackdaw:engine:a3c_around", "jd_a3c_tasks_bench", "verif.a3c.tb_tasks"
TESTS = ["Random", "Tickets", "Watchdog", "ResetMidway", "Balance", "BackPressure", "Roles"]


@pytest.mark.parametrize("test", keep(TESTS, 3))
def test_tasks(test: str, seed: int) -> None:
    simulate.run(
        CORE, toplevel=TOP, module=MODULE, test=test, parameters={"Slots": 4}, seed=seed,
        sources=["verif/a3c/jd_a3c_tasks_bench.sv"],
    )  # fmt: skip


@pytest.mark.goal
@pytest.mark.regress
def test_tasks_coverage(runs: list[Path]) -> None:
    require(runs)
