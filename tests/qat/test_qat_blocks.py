"""Monitor, loss, noise, Adam and gradient memory of the qat engine in pyuvm environments."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb
TESTS = [
    "MonitorRandom", "LossRandom", regress("LossEveryClock"), "AdamRandom", regress("AdamGaps"),
    regress("AdamMillion"), "NoiseRandom", regress("NoiseMoments"), "GradRandom", "grad_timing",
]  # fmt: skip


def run(test: str, seed: int, clocks: int = 1) -> None:
    simulate.run(
        "jackdaw:engine:qat", toplevel="jd_qat_blocks_bench", module="verif.qat.tb_blocks",
        test=test, parameters={"Cores": 2, "Lw": 4, "Lanes": 4, "AdamClocks": clocks}, seed=seed,
        sources=["verif/qat/jd_qat_blocks_bench.sv"],
    )  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
def test_blocks(test: str, seed: int) -> None:
    run(test, seed)


@pytest.mark.parametrize("test", ["MonitorMissed", "WrongWeight"])
def test_blocks_notice(test: str, seed: int) -> None:
    run(test, seed)


@pytest.mark.regress
def test_gradients_to_a_slow_adam(seed: int) -> None:
    run("GradRandom", seed, clocks=2)
