"""Gradients, moments and Adam of the qat engine together, in their pyuvm environment."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb


@pytest.mark.parametrize(("lw", "lanes"), [(4, 4), regress(8, 4)])
def test_update(lw: int, lanes: int, seed: int) -> None:
    simulate.run(
        "jackdaw:engine:qat", toplevel="jd_qat_update_bench", module="verif.qat.tb_update",
        test="UpdateRandom", parameters={"Cores": 2, "Lw": lw, "AdamLanes": lanes}, seed=seed,
        sources=["verif/qat/jd_qat_update_bench.sv"],
    )  # fmt: skip
