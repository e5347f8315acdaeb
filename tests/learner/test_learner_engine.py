"""The learner engine against its golden model: two builds, every sequence, coverage of all runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from flow.regression import regress
from verif.coverage import require

pytestmark = pytest.mark.cocotb

MODULE = "verif.learner.tests"
BUILDS = {
    "U1": {"P": 8, "OB": 2, "LW": 2, "BMax": 16, "DMax": 16, "WRows": 512, "ARows": 512},
    "P16": {"BMax": 32, "WRows": 512, "ARows": 2048},
    "AC": {"P": 8, "OB": 2, "LW": 2, "BMax": 16, "DMax": 32, "WRows": 512, "ARows": 1024,
           "ActorCritic": 1},
    "SP": {"NTU": 4, "P": 8, "OB": 2, "LW": 2, "BMax": 16, "DMax": 16, "WRows": 512, "ARows": 512},
    "DP2": {"DP": 2, "P": 8, "OB": 2, "LW": 2, "BMax": 16, "DMax": 16, "WRows": 512, "ARows": 256},
    "DP4": {"DP": 4, "P": 8, "OB": 2, "LW": 2, "BMax": 30, "DMax": 32, "WRows": 512, "ARows": 512,
            "ActorCritic": 1},
    # The largest values of the capability fields.
    "MOST": {"P": 8, "OB": 2, "GI": 16, "LW": 2, "BMax": 16, "DMax": 16, "WRows": 65536,
             "ARows": 65536},
}  # fmt: skip
RUNS = [
    ("U1", "Smoke"),
    ("U1", "Random"),
    ("U1", "RoundTrip"),
    ("U1", "BadDescriptor"),
    ("U1", "BusError"),
    ("U1", "Failures"),
    ("U1", "BadData"),
    ("U1", "BadStream"),
    ("U1", "ResetMidway"),
    ("U1", "HardReset"),
    ("U1", "Infer"),
    ("U1", "Gradients"),
    ("U1", "Networks"),
    ("U1", "Timeouts"),
    ("U1", "BackPressure"),
    ("P16", "Smoke"),
    ("P16", "Random"),
    ("P16", "BackPressure"),
    ("P16", "InferSlow"),
    ("P16", "GradientsSlow"),
    ("AC", "Smoke"),
    ("AC", "ActorCritic"),
    ("AC", "ActorCriticSlow"),
    ("AC", "Failures"),
    ("SP", "Smoke"),
    ("SP", "Random"),
    ("SP", "Infer"),
    ("SP", "Gradients"),
    ("DP2", "Smoke"),
    ("DP2", "Random"),
    ("DP2", "BadData"),
    ("DP2", "BadStream"),
    ("DP2", "ResetMidway"),
    ("DP2", "BackPressure"),
    ("DP2", "Infer"),
    ("DP2", "Gradients"),
    ("DP4", "Smoke"),
    ("DP4", "Random"),
    ("DP4", "ActorCritic"),
    ("DP4", "InferSlow"),
    ("DP4", "Gradients"),
    ("MOST", "Smoke"),
]


FAST = {("AC", "Smoke"), ("AC", "ActorCritic")}


@pytest.mark.parametrize(
    ("build", "test"),
    [run if run[0] == "U1" or run in FAST else regress(*run) for run in RUNS],
    ids=lambda value: str(value),
)
def test_engine_runs(build: str, test: str, seed: int) -> None:
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_top", module=MODULE, test=test,
        parameters=BUILDS[build], seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("bits", [0, regress(1)])
def test_engine_initial(bits: int, seed: int) -> None:
    """Whatever the registers hold before the reset: all zeros, all ones."""
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_top", module=MODULE, test="Smoke",
        parameters=BUILDS["U1"], seed=seed, plusargs=[f"+verilator+rand+reset+{bits}"],
    )  # fmt: skip


@pytest.mark.goal
@pytest.mark.regress
def test_engine_coverage_is_complete(runs: list[Path]) -> None:
    """Every bin is reached by the runs together."""
    require(runs)
