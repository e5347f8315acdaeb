"""The sum tree core against the flat golden model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

CORE = "jackdaw:engine:replay_tree"


def _build(
    k: int, n: int, leaf: int, lut: int = 1, bram: int = 2, uram: int = 4, mul: int = 6,
    ultra: int = 16,
) -> dict[str, int]:  # fmt: skip
    return {
        "KLog2": k, "NLog2": n, "LeafW": leaf, "SlotsLog2": 9,
        "LatLut": lut, "LatBram": bram, "LatUram": uram, "LatMul": mul, "UltraLog2": ultra,
    }  # fmt: skip


# Fan-outs 2..64, one level to four, even and uneven top levels, three sets of latencies; all
# memories of k4n6 and the leaves of k8n8 as if in UltraRAM.
BUILDS = {
    "k2n4": _build(1, 4, 8),
    "k4n6": _build(2, 6, 8, 2, 3, 6, ultra=3),
    "k4n2": _build(2, 2, 9, mul=3),
    "k8n8": _build(3, 8, 12, 1, 1, 1, 8, ultra=7),
    "k16n12": _build(4, 12, 32),
    "k64n12": _build(6, 12, 32),
}


def _tier(build: str) -> Any:
    return build if build == "k4n6" else regress(build)


def _run(build: str, test: str, seed: int, toplevel: str = "jd_replay_core") -> Path:
    parameters = dict(BUILDS[build])
    if toplevel != "jd_replay_core":
        del parameters["UltraLog2"]
    return simulate.run(
        CORE, toplevel=toplevel, module="verif.replay.tb_core", test=test,
        parameters=parameters, seed=seed, cpu_s=300, alone=True, build_args=simulate.FLAT,
    )  # fmt: skip


@pytest.mark.parametrize("build", [_tier(build) for build in BUILDS])
def test_core_random(build: str, seed: int) -> None:
    _run(build, "random", seed)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k2n4", "k4n6", "k4n2", "k8n8", "k16n12")])
def test_core_corners(build: str, seed: int) -> None:
    _run(build, "corners", seed)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k4n2", "k8n8")])
@pytest.mark.parametrize("test", ["random", "corners"])
def test_core_sequential(build: str, test: str, seed: int) -> None:
    _run(build, test, seed, "jd_replay_core_sequential")


@pytest.mark.parametrize("build", ["k4n6", regress("k16n12")])
def test_core_sequential_clocks(build: str, seed: int) -> None:
    """Both trees have the same bound, a formula of K; the wide one needs a build of its own."""
    _run(build, "scan", seed, "jd_replay_core_sequential")


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k16n12")])
def test_core_distances(build: str, seed: int) -> None:
    _run(build, "distances", seed)


@pytest.mark.goal
@pytest.mark.regress
def test_core_hazards(runs: list[Path]) -> None:
    """The runs meet every hazard: level, distance, first and last child, both ends."""
    require(runs)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k16n12")])
def test_core_history(build: str, seed: int) -> None:
    _run(build, "history", seed)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k16n12", "k64n12")])
def test_core_rate(build: str, seed: int) -> None:
    _run(build, "rate", seed)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k4n2", "k8n8")])
def test_core_check(build: str, seed: int) -> None:
    _run(build, "check", seed)


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k4n2")])
def test_core_check_sequential(build: str, seed: int) -> None:
    _run(build, "check", seed, "jd_replay_core_sequential")


@pytest.mark.parametrize("build", [_tier(b) for b in ("k4n6", "k8n8")])
@pytest.mark.parametrize("test", ["check_order", "loads"])
def test_core_interface(build: str, test: str, seed: int) -> None:
    """Checks and loads, seen through the ports alone."""
    _run(build, test, seed)


def test_core_carries(seed: int) -> None:
    _run("k4n6", "carries", seed)
