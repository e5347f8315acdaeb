"""jd_engine_access, clock by clock."""

from __future__ import annotations

import pytest

from flow import simulate

pytestmark = pytest.mark.cocotb


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_access(bits: int, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:engine", toplevel="jd_access_bench", module="verif.lib.tb_access",
        test="access_clocks", sources=["verif/lib/jd_access_bench.sv"], seed=seed,
        plusargs=[f"+verilator+rand+reset+{bits}"],
    )  # fmt: skip
