# SPDX-License-Identifier: Apache-2.0
"""The floating-point blocks in their pyuvm environment, with functional coverage."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress

pytestmark = pytest.mark.cocotb

BLOCKS = {
    "mul32": {"Operation": 0, "ExpW": 8, "ManW": 23, "Latency": 2},
    "add32": {"Operation": 1, "ExpW": 8, "ManW": 23, "Latency": 6},
    "add16": {"Operation": 1, "ExpW": 5, "ManW": 10, "Latency": 1},
    "div32": {"Operation": 2, "ExpW": 8, "ManW": 23, "Latency": 4},
    "sqrt16": {"Operation": 3, "ExpW": 5, "ManW": 10, "Latency": 28},
}


def run(block: str, test: str, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:float",
        toplevel="jd_float_bench",
        module="verif.float.tests",
        test=test,
        parameters=BLOCKS[block],
        sources=["verif/float/jd_float_bench.sv"],
        seed=seed,
    )


@pytest.mark.parametrize("test", ["EveryClock", "WithGaps"])
@pytest.mark.parametrize(
    "block", ["mul32", "add32", *(regress(block) for block in ("add16", "div32", "sqrt16"))]
)
def test_float_uvm(block: str, test: str, seed: int) -> None:
    run(block, test, seed)


@pytest.mark.parametrize("test", ["MissedClass", "WrongResult"])
def test_float_uvm_notices(test: str, seed: int) -> None:
    run("mul32", test, seed)
