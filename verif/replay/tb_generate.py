"""Tests of jd_replay_generate: targets of requests against the model."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from flow.effort import scale
from models.replay.flat import target
from models.replay.rng import Xoshiro, splitmix64
from verif.replay.core_driver import Sample

Request = tuple[Sample, int]


def anything(rng: np.random.Generator, slots_most: int, total_w: int) -> Request:
    """A request of any kind, and the total it meets."""
    total = int(rng.integers(1 << int(rng.integers(1, total_w + 1))))
    x = int(rng.integers(1 << 48)) if rng.random() < 0.3 else None
    x = (1 << 48) - 1 if x is not None and rng.random() < 0.1 else x
    if rng.random() < 0.5:
        slots_log2 = int(rng.integers(slots_most + 1))
        return Sample(x, int(rng.integers(1 << slots_log2)), slots_log2), total
    return Sample(x), total


def boundary(rng: np.random.Generator, slots_most: int, total_w: int) -> Request:
    """The first position of a target, or the last one of the target before it."""
    total = int(rng.integers(2, 1 << int(rng.integers(2, total_w + 1))))
    slots_log2 = int(rng.choice([0, slots_most, int(rng.integers(slots_most + 1))]))
    goal = int(rng.integers(1, total))
    position = -(-(goal << (48 + slots_log2)) // total) - int(rng.integers(2))
    return Sample(position & (1 << 48) - 1, position >> 48, slots_log2), total


def carry(rng: np.random.Generator, slots_most: int, total_w: int) -> Request:
    """A product whose fraction is all ones, or all zeros, but for its lowest bits."""
    total = int(rng.integers(1, 1 << int(rng.integers(1, total_w + 1))))
    even = (total & -total).bit_length() - 1
    bits = 48 + slots_most - even
    near = int(rng.integers(1, 1 << int(rng.integers(1, 32)))) * int(rng.choice([-1, 1]))
    position = near * pow(total >> even, -1, 1 << bits) % (1 << bits)
    position += int(rng.integers(1 << even)) << bits
    return Sample(position & (1 << 48) - 1, position >> 48, slots_most), total


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def carries(dut: Any) -> None:
    """Fractions next to a whole number: each bit of each term counts, through all carries."""
    await compare(dut, carry)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random(dut: Any) -> None:
    """Requests of all kinds."""
    await compare(dut, anything)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def boundaries(dut: Any) -> None:
    """Positions at the ends of targets, where the last bit of a product counts."""
    await compare(dut, boundary)


async def compare(dut: Any, draw: Callable[[np.random.Generator, int, int], Request]) -> None:
    """Send what is drawn, with pauses, and compare every answer and its clock."""
    rng = np.random.default_rng(int(os.environ["JD_SEED"]))
    p = json.loads(os.environ["JD_PARAMETERS"])
    slots_most, latency = p["SlotsLog2"], p["LatMul"] + 2
    dut.rst_ni.value = 0
    dut.valid_i.value = 0
    dut.seed_load_i.value = 0
    dut.total_i.value = 0
    Clock(dut.clk_i, 2, "ns", impl="gpi").start()
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    generator = Xoshiro(splitmix64(int(rng.integers(1 << 62))))
    dut.seed_i.value = sum(word << (64 * i) for i, word in enumerate(generator.state))
    dut.seed_load_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.seed_load_i.value = 0
    requests: deque[tuple[int, Sample]] = deque()
    wanted: deque[tuple[int, int]] = deque()
    totals: dict[int, int] = {}  # by clock, read by the request at the order point
    compared = 0
    for clock in range(scale(20_000)):
        send = rng.random() < 0.95
        dut.valid_i.value = send
        if send:
            sample, totals[clock + 4] = draw(rng, slots_most, p["TotalW"])
            dut.request_i.value = sample.pack(clock)
            requests.append((clock + 4, sample))
        total = totals.pop(clock, 0)
        dut.total_i.value = total
        await RisingEdge(dut.clk_i)
        due = bool(requests) and requests[0][0] == clock
        assert int(dut.order_valid_o.value) == due
        if due:
            _, sample = requests.popleft()
            assert int(dut.order_tag_o.value) == clock - 4
            x = generator.uniform() if sample.x is None else sample.x
            if total:
                goal = target(total, x, sample.slot, sample.slots_log2)
                assert 1 <= goal <= total
                wanted.append((clock + latency, goal))
        due = bool(wanted) and wanted[0][0] == clock
        assert int(dut.valid_o.value) == due
        if due:
            assert int(dut.target_o.value) == wanted.popleft()[1]
            compared += 1
    assert compared > 1000
