"""Memory, delay line, product, reduction and random number generator."""

from __future__ import annotations

import pytest

from flow import simulate
from flow.regression import regress
from verif.lib.xoshiro import Xoshiro

pytestmark = pytest.mark.cocotb

MODULE = "verif.lib.tb_mem"
MEMORIES = [
    regress(2, 2, 1, 1, 0), (5, 3, 7, 2, 0), (5, 3, 7, 2, 1), regress(64, 16, 32, 4, 0),
    regress(8, 2, 17, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize(("depth", "lanes", "bits", "latency", "ultra"), MEMORIES)
def test_mem_random(depth: int, lanes: int, bits: int, latency: int, ultra: int, seed: int) -> None:
    parameters = {
        "Depth": depth, "Lanes": lanes, "LaneW": bits, "ReadLatency": latency, "Ultra": ultra,
    }  # fmt: skip
    simulate.run(
        "jackdaw:lib:mem", toplevel="jd_mem_1r1w", module=MODULE, test="Memory",
        parameters=parameters, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("depth", "width", "reads"), [regress(2, 1, 1), (6, 9, 2), regress(64, 128, 4)]
)
def test_lut_random(depth: int, width: int, reads: int, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:mem", toplevel="jd_mem_lut", module=MODULE, test="Lut",
        parameters={"Depth": depth, "Width": width, "Reads": reads}, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(("width", "depth"), [regress(1, 2), (9, 4), regress(128, 32)])
def test_hold_random(width: int, depth: int, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:mem", toplevel="jd_mem_hold", module=MODULE, test="Hold",
        parameters={"Width": width, "Depth": depth}, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(("first", "second", "product"), [(22, 18, 26), regress(1, 1, 1)])
def test_multiply_random(first: int, second: int, product: int, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:common", toplevel="jd_multiply", module=MODULE, test="Multiply",
        parameters={"FirstW": first, "SecondW": second, "ProductW": product}, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "items", "width", "operation", "latency"),
    [
        (3, 5, 7, 0, 2), (1, 9, 33, 1, 7), (1, 2, 1, 2, 0), (2, 7, 40, 3, 3),
        regress(4, 64, 65, 0, 6), regress(1, 2, 9, 1, 1),
    ],
)  # fmt: skip
def test_reduce_random(
    groups: int, items: int, width: int, operation: int, latency: int, seed: int
) -> None:
    parameters = {
        "Groups": groups, "Items": items, "Width": width, "Operation": operation,
        "Latency": latency,
    }  # fmt: skip
    simulate.run(
        "jackdaw:lib:common", toplevel="jd_reduce", module=MODULE, test="Reduce",
        parameters=parameters, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize(("width", "cycles"), [regress(1, 0), regress(1, 1), (33, 7)])
def test_delay_random(width: int, cycles: int, seed: int) -> None:
    simulate.run(
        "jackdaw:lib:common", toplevel="jd_delay", module=MODULE, test="Delay",
        parameters={"Width": width, "Cycles": cycles}, seed=seed,
    )  # fmt: skip


def test_xoshiro_against_model(seed: int) -> None:
    simulate.run(
        "jackdaw:lib:random", toplevel="jd_random_xoshiro", module=MODULE, test="Xoshiro256",
        seed=seed,
    )  # fmt: skip


def test_xoshiro_model_published_values() -> None:
    """The first outputs of the reference implementation from the state 1, 2, 3, 4."""
    model = Xoshiro([1, 2, 3, 4])
    assert [model.next() for _ in range(4)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
    ]
