"""RMSProp over the gradients of tasks, in memory: bits, order, rate, errors, stop, reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

CORE, TOP, MODULE = "jackdaw:engine:a3c_update", "jd_a3c_update_bench", "verif.a3c.tb_update"
BUILDS = {
    "4": {"Units": 4, "Rows": 128, "Second": 1},
    "8": {"Units": 8, "Rows": 256, "AddLatency": 6, "DivLatency": 28, "SqrtLatency": 28},
}
TESTS = ["Random", "Rate", "BusError", "Failed", "ResetMidway"]
RUNS = [
    *(("4", test) for test in TESTS),
    regress("4", "BackPressure"),
    *(regress("8", test) for test in TESTS),
]


@pytest.mark.parametrize(("build", "test"), RUNS)
def test_update_runs(build: str, test: str, seed: int) -> None:
    simulate.run(
        CORE, toplevel=TOP, module=MODULE, test=test, parameters=BUILDS[build], seed=seed,
        sources=["verif/a3c/jd_a3c_update_bench.sv"],
    )  # fmt: skip


@pytest.mark.goal
@pytest.mark.regress
def test_update_coverage(runs: list[Path]) -> None:
    require(runs)
