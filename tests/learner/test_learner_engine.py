"""The learner engine against its golden model: two builds, every sequence, coverage of all runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import simulate
from verif.coverage import require

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
}  # fmt: skip
RUNS = [
    ("U1", "Smoke"),
    ("U1", "Random"),
    ("U1", "RoundTrip"),
    ("U1", "BadDescriptor"),
    ("U1", "BusError"),
    ("U1", "BadData"),
    ("U1", "BadStream"),
    ("U1", "ResetMidway"),
    ("U1", "HardReset"),
    ("U1", "Infer"),
    ("U1", "Gradients"),
    ("U1", "Networks"),
    ("U1", "Timeouts"),
    ("P16", "Smoke"),
    ("P16", "Random"),
    ("P16", "BackPressure"),
    ("P16", "InferSlow"),
    ("P16", "GradientsSlow"),
    ("AC", "Smoke"),
    ("AC", "ActorCritic"),
    ("AC", "ActorCriticSlow"),
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
]
_folders: dict[tuple[str, str], Path] = {}


@pytest.mark.parametrize(("build", "test"), RUNS, ids=lambda value: str(value))
def test_engine_runs(build: str, test: str, seed: int) -> None:
    _folders[build, test] = simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_top", module=MODULE, test=test,
        parameters=BUILDS[build], seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("bits", [0, 1])
def test_engine_initial(bits: int, seed: int) -> None:
    """Whatever the registers hold before the reset: all zeros, all ones."""
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_top", module=MODULE, test="Smoke",
        parameters=BUILDS["U1"], seed=seed, plusargs=[f"+verilator+rand+reset+{bits}"],
    )  # fmt: skip


def test_engine_coverage_is_complete() -> None:
    """Every bin is reached by the runs together; needs all of them in the same session."""
    if len(_folders) != len(RUNS):
        pytest.skip("not all runs were made")
    require(_folders.values())
