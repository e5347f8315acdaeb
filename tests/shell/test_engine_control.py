"""jd_engine_control with the echo engine: rings, records, errors, resets, registers."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

CORE = "jackdaw:lib:engine"
WRAPPER = "verif/engine_control/jd_echo.sv"
TESTS = (
    "Smoke",
    "RingRules",
    "BusError",
    "Stop",
    "SoftReset",
    "Watchdog",
    "Silence",
    "Access",
    "Together",
    "Counters",
    "Irq",
    "ResetMidway",
    "ScoreboardFires",
)


def run(test: str, seed: int, rings: int = 3, jobs: int = 1, beats: int = 1) -> Path:
    """Build (cached) and run one test.

    Args:
        rings: of the engine.
        jobs: of a ring, side by side.
        beats: of a descriptor.
    """
    return simulate.run(
        CORE,
        toplevel="jd_echo",
        module="verif.engine_control.tests",
        test=test,
        parameters={"Rings": rings, "Jobs": jobs, "Beats": beats},
        sources=[WRAPPER],
        build_args=simulate.FLAT,
        seed=seed,
    )


@pytest.mark.parametrize("test", TESTS)
def test_engine_control(test: str, seed: int) -> None:
    run(test, seed)


@pytest.mark.parametrize("rings", [1, regress(4)])
def test_engine_control_random_rings(rings: int, seed: int) -> None:
    run("Random", seed, rings)
    run("RingRules", seed, rings)


@pytest.mark.parametrize(("jobs", "beats"), [(4, 2), regress(2, 1)])
def test_engine_control_side_by_side(jobs: int, beats: int, seed: int) -> None:
    for test in ("SideBySide", "Meetings", "Random", "Stop", "SoftReset", "RingRules", "BusError",
                 "Counters"):  # fmt: skip
        run(test, seed, 3, jobs, beats)


@pytest.mark.regress
@pytest.mark.parametrize("offset", range(3))
def test_engine_control_random(offset: int, seed: int) -> None:
    run("Random", 100 * seed + offset)


@pytest.mark.goal
@pytest.mark.regress
def test_engine_control_coverage(runs: list[Path]) -> None:
    """Every bin is reached by the runs together."""
    require(runs)
