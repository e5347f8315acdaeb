"""The replay engine against its golden model: jobs, streams, errors, resets, three builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

SMALL = {"KLog2": 1, "NLog2": 4, "LeafW": 8, "BatchLog2": 3}  # U1
MEDIUM = {"KLog2": 2, "NLog2": 6, "LeafW": 32, "BatchLog2": 5}  # U2
SEQUENTIAL = MEDIUM | {"Sequential": 1}
LARGE = {"KLog2": 4, "NLog2": 12, "LeafW": 32, "BatchLog2": 7}  # S1
FAULTS = (
    "BadDescriptor", "BusError", "BadStream", "ResetMidway", "HardReset", "Failures",
    "ScoreboardFires",
)  # fmt: skip
WAITS = (
    "Restore", "Fetched", "Marked", "Reserved", "Backlog", "Emptied", "CutShort", "Loops",
    "Check", "Patience", "Queued", "Between", "FarMemory", "Counters", "ResetSweep",
)  # fmt: skip
TESTS = (
    "Smoke",
    "Mixed",
    "TrainLoop",
    "Stale",
    "Corners",
    "Concurrent",
    "Cycles",
    "Batches",
    "DuringClear",
    *FAULTS,
)
MODULES = dict.fromkeys(FAULTS, "faults") | dict.fromkeys(WAITS, "waits")
MODULES |= dict.fromkeys(("Check", "CheckNodes"), "checks")
GATHERS = ("Gather", "GatherErrors", "GatherTimeouts", "GatherSpeed")
MODULES |= dict.fromkeys(GATHERS, "gather")


def run(test: str, seed: int, parameters: dict[str, int], *plusargs: str) -> Path:
    """Build (cached) and run one test."""
    return simulate.run(
        "jackdaw:engine:replay",
        toplevel="jd_replay_top",
        module=f"verif.replay.{MODULES.get(test, 'tests')}",
        test=test,
        parameters=parameters,
        seed=seed,
        plusargs=plusargs,
        build_args=simulate.FLAT if test == "CheckNodes" else (),
    )


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("build", [SMALL, regress(LARGE)], ids=["u1", "s1"])
def test_replay_engine(test: str, build: dict[str, int], seed: int) -> None:
    run(test, seed, build)


@pytest.mark.parametrize("test", ["Random", "BackPressure"])
@pytest.mark.parametrize("build", [SMALL, regress(MEDIUM), regress(LARGE)], ids=["u1", "u2", "s1"])
def test_replay_engine_random(test: str, build: dict[str, int], seed: int) -> None:
    run(test, seed, build)


@pytest.mark.regress
@pytest.mark.parametrize("test", ["Smoke", "Stale", "Corners", "Concurrent", "Batches"])
def test_replay_engine_medium(test: str, seed: int) -> None:
    run(test, seed, MEDIUM)


@pytest.mark.regress
@pytest.mark.parametrize(
    "test", ["Smoke", "Random", "Concurrent", "Stale", "TrainLoop", "ResetMidway", "Check"]
)
def test_replay_engine_sequential(test: str, seed: int) -> None:
    run(test, seed, SEQUENTIAL)


@pytest.mark.parametrize("test", GATHERS)
@pytest.mark.parametrize("build", [SMALL, regress(MEDIUM)], ids=["u1", "u2"])
def test_replay_engine_gather(test: str, build: dict[str, int], seed: int) -> None:
    run(test, seed, build)


@pytest.mark.parametrize("bits", [0, regress(1)])
def test_replay_engine_initial(bits: int, seed: int) -> None:
    """Whatever the registers hold before the reset: all zeros, all ones."""
    run("Smoke", seed, SMALL, f"+verilator+rand+reset+{bits}")


@pytest.mark.parametrize("test", WAITS)
def test_replay_engine_waits(test: str, seed: int) -> None:
    run(test, seed, SMALL)


@pytest.mark.regress
@pytest.mark.parametrize("build", [SMALL, SEQUENTIAL], ids=["u1", "sequential"])
def test_replay_engine_check_nodes(build: dict[str, int], seed: int) -> None:
    """Needs a build with all signals. In the fast tier `test_core_check` spoils every memory."""
    run("CheckNodes", seed, build)


@pytest.mark.goal
@pytest.mark.regress
def test_replay_engine_coverage(runs: list[Path]) -> None:
    """All runs together reach every bin."""
    require(runs)
