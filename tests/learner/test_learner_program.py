"""PROGRAM: every check of a program image, against models/learner/validate.py."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb

BUILDS = [
    {"P": 8, "OB": 2, "LW": 2, "DMax": 32, "LMax": 3, "NetMax": 4, "StMax": 24, "WRows": 64,
     "ARows": 64},
    {"P": 16, "OB": 4, "LW": 4, "DMax": 64, "LMax": 4, "NetMax": 6, "StMax": 32, "WRows": 256,
     "ARows": 1024},
    {"P": 8, "OB": 2, "LW": 2, "DMax": 32, "LMax": 3, "NetMax": 4, "StMax": 48, "WRows": 128,
     "ARows": 128, "ActorCritic": 1},
    {"P": 8, "OB": 2, "LW": 2, "DMax": 32, "LMax": 3, "NetMax": 4, "StMax": 24, "WRows": 64,
     "ARows": 64, "NTU": 4},
]  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [BUILDS[0], regress(BUILDS[1]), BUILDS[2], regress(BUILDS[3])],
    ids=lambda b: f"P{b['P']}" + "_actor_critic" * ("ActorCritic" in b) + "_spatial" * ("NTU" in b),
)
def test_program_checks(parameters: dict[str, int], seed: int) -> None:
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_program", module="verif.learner.tb_program",
        test="program", parameters=parameters, seed=seed,
    )  # fmt: skip
