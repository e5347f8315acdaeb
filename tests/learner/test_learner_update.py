"""WU and TSM: optimizers and target copies against models/learner/optim.py."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb

MODULE = "verif.learner.tb_update"
SHORT = {"MulLatency": 2, "AddLatency": 2}
BUILDS = [
    {"P": 16, "OB": 4, "LW": 4, **SHORT},
    {"P": 8, "OB": 2, "LW": 1, **SHORT},
    {"P": 8, "OB": 8, "LW": 8, **SHORT},  # a group is a whole row
    {"P": 64, "OB": 16, "LW": 16, "MulLatency": 4, "AddLatency": 6},
]
DIVIDERS = [(4, 4), (2, 3), (4, 4), (28, 28)]


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(
            dict(b, DivLatency=d, SqrtLatency=s),
            marks=() if b is BUILDS[1] else pytest.mark.regress,
        )
        for b, (d, s) in zip(BUILDS, DIVIDERS, strict=True)
    ],
    ids=lambda b: f"P{b['P']}-LW{b['LW']}",
)
def test_update_random(parameters: dict[str, int], seed: int) -> None:
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_update", module=MODULE, test="update",
        parameters=parameters, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [b if b is BUILDS[1] else regress(b) for b in BUILDS],
    ids=lambda b: f"P{b['P']}-LW{b['LW']}",
)
def test_target_random(parameters: dict[str, int], seed: int) -> None:
    simulate.run(
        "jackdaw:engine:learner", toplevel="jd_learner_target", module=MODULE, test="target",
        parameters=parameters, seed=seed,
    )  # fmt: skip
