"""The scale engine's top in its pyuvm environment."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb


@pytest.mark.parametrize("test", ["Smoke", "BackPressure", "Failures", "ScoreboardFires"])
@pytest.mark.parametrize("depth", [32, regress(128)])
def test_scale_engine(test: str, depth: int, seed: int) -> None:
    simulate.run(
        "jackdaw:example:scale", toplevel="jd_scale_top", module="engine_scale.tests", test=test,
        parameters={"Depth": depth}, seed=seed,
    )  # fmt: skip
