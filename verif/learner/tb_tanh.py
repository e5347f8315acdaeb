"""Tests of jd_learner_tanh: tangent, noise and slope to the bit, with and without bubbles."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from models.learner import tanh
from models.learner.fp import to_bits, words
from verif.bench import parameters, rng, start

COUNT = 20_000
SPECIALS = (
    0, 1, 0x0080_0000, to_bits(2.0**-8) - 1, to_bits(2.0**-8), to_bits(1 / 64), to_bits(1),
    to_bits(8) - 1, to_bits(8), 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000,
)  # fmt: skip


def draw(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw modes (slope, noise: [count] bool) and operands ([count] uint32).

    Operands are special values, ends of segments and their neighbours, and numbers of any size.
    """
    random = np.random.default_rng(rng("tanh").getrandbits(32))

    def operands() -> np.ndarray:
        kind = random.integers(0, 8, count)
        ends = (random.integers(0, 520, count) / 64).astype(np.float32).view(np.uint32)
        near = np.clip(ends.astype(np.int64) + random.integers(-1, 2, count), 0, None)
        wide = random.integers(to_bits(2.0**-9), to_bits(16.0), count)
        small = random.normal(size=count).astype(np.float32).view(np.uint32) & 0x7FFF_FFFF
        bits = np.select(
            [kind == 0, kind == 1, kind == 2, kind < 6],
            [random.choice(SPECIALS, count), near, random.integers(0, 1 << 31, count), wide],
            small,
        )
        sign = random.integers(0, 2, count) << 31
        return (bits | sign).astype(np.uint32)

    slope = random.random(count) < 0.3
    return slope, random.random(count) < 0.4, operands(), operands()


def expected(slope: np.ndarray, noise: np.ndarray, x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return what the model gives, [count] uint32."""
    value, second = x.view(np.float32), other.view(np.float32)
    y = tanh.tanh(value)
    y = np.where(noise, tanh.disturb(y, second), y)
    return words(np.where(slope, tanh.slope(value, second), y).astype(np.float32))


@cocotb.test()
async def function(dut: Any) -> None:
    """Random operations back to back and with bubbles; each result after the stated latency."""
    build = parameters()
    latency = 5 + 2 * build["MulLatency"] + 3 * build["AddLatency"]
    slope, noise, x, other = draw(COUNT)
    want = expected(slope, noise, x, other)
    pace = rng("pace")
    dut.valid_i.value = 0
    await start(dut)
    due: deque[tuple[int, int]] = deque()
    clock = given = compared = 0
    while compared < COUNT:
        gives = given < COUNT and (given % 1000 < 700 or pace.random() < 0.4)
        dut.valid_i.value = int(gives)
        if gives:
            dut.slope_i.value, dut.noise_i.value = int(slope[given]), int(noise[given])
            dut.x_i.value, dut.other_i.value = int(x[given]), int(other[given])
            due.append((clock + latency, given))
            given += 1
        await RisingEdge(dut.clk_i)
        # The values before the edge: a result shows in the clock of its last register.
        if dut.valid_o.value:
            when, index = due.popleft()
            got = int(dut.result_o.value)
            assert when == clock, f"operation {index}: clock {clock}, want {when}"
            assert got == want[index], (
                f"operation {index}: slope {slope[index]} noise {noise[index]} "
                f"x {x[index]:#x} other {other[index]:#x}: got {got:#x}, want {want[index]:#x}"
            )
            compared += 1
        clock += 1
        assert clock < 4 * COUNT, "results are missing"
    assert not due
