"""Gradients, moments and Adam of the qat engine together, in their pyuvm environment."""

from __future__ import annotations

import pytest

from flow import simulate

pytestmark = pytest.mark.cocotb


def test_update(seed: int) -> None:
    simulate.run(
        "jackdaw:engine:qat", toplevel="jd_qat_update_bench", module="verif.qat.tb_update",
        test="UpdateRandom", parameters={"Cores": 2, "Lw": 4}, seed=seed,
        sources=["verif/qat/jd_qat_update_bench.sv"],
    )  # fmt: skip
