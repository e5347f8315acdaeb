"""The hyperbolic tangent in RTL against models/learner/tanh.py."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb

BUILDS = [regress(1, 1), (2, 2), regress(4, 6)]


@pytest.mark.parametrize(("mul", "add"), BUILDS)
def test_tanh_random(mul: int, add: int, seed: int) -> None:
    simulate.run(
        "jackdaw:engine:learner_pipe", toplevel="jd_learner_tanh", module="verif.learner.tb_tanh",
        test="function", parameters={"MulLatency": mul, "AddLatency": add}, seed=seed,
    )  # fmt: skip
