"""Tests of jd_replay_row_compare against a running sum."""

from __future__ import annotations

import itertools
import json
import os
from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


def _latency(fan_log2: int) -> int:
    """compare_latency of jd_replay_pkg, as the engine's page lists it."""
    return {1: 3, 2: 4, 3: 9, 4: 10, 5: 12, 6: 13}[fan_log2]


Case = tuple[list[int], int, int | None]  # children, target, the child that is forced


async def _compare(dut: Any, cases: Iterable[Case | None]) -> int:
    """Drive rows, targets and forced children, None for a pause; returns how many were compared."""
    p = json.loads(os.environ["JD_PARAMETERS"])
    width, latency = p["ChildW"], _latency(p["FanLog2"])
    dut.rst_ni.value = 0
    dut.valid_i.value = 0
    Clock(dut.clk_i, 2, "ns", impl="gpi").start()
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    wanted: deque[tuple[int, int, int, int | None]] = deque()
    compared = 0
    for clock, case in enumerate(itertools.chain(cases, [None] * (latency + 1))):
        dut.valid_i.value = case is not None
        if case is not None:
            row, goal, forced = case
            dut.row_i.value = sum(value << (width * i) for i, value in enumerate(row))
            dut.target_i.value = goal
            rest = goal
            for index, value in enumerate(row):  # noqa: B007
                if rest <= value:
                    break
                rest -= value
            dut.force_i.value = forced is not None
            dut.child_i.value = (index ^ 1) if forced is None else forced
            if forced is None:
                wanted.append((clock + latency, index, value, rest))
            else:  # its rest means nothing
                wanted.append((clock + latency, forced, row[forced], None))
        await RisingEdge(dut.clk_i)
        due = bool(wanted) and wanted[0][0] == clock
        assert int(dut.valid_o.value) == due
        if due:
            _, *want, rest_wanted = wanted.popleft()
            assert [int(dut.index_o.value), int(dut.value_o.value)] == want, f"clock {clock}"
            assert rest_wanted in (None, int(dut.rest_o.value)), f"clock {clock}"
            compared += 1
    assert not wanted
    return compared


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def exhaustive(dut: Any) -> None:
    p = json.loads(os.environ["JD_PARAMETERS"])
    values = range(1 << p["ChildW"])
    rows = itertools.product(values, repeat=1 << p["FanLog2"])
    cases = ((list(row), goal, None) for row in rows for goal in range(1, sum(row) + 1))
    assert await _compare(dut, cases) == 57344


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random(dut: Any) -> None:
    rng = np.random.default_rng(int(os.environ["JD_SEED"]))
    p = json.loads(os.environ["JD_PARAMETERS"])
    fan, top = 1 << p["FanLog2"], (1 << p["ChildW"]) - 1

    def cases() -> Iterable[Case | None]:
        for _ in range(1500):
            row = [int(v) for v in rng.integers(0, top, fan, endpoint=True)]
            kind = int(rng.integers(4))
            if kind == 0:
                row = [v if rng.random() < 0.3 else 0 for v in row]
            elif kind == 1:
                row = [top] * fan
            elif kind == 2:
                row = [0] * fan
                row[int(rng.integers(fan))] = int(rng.integers(1, top + 1))
            forced = int(rng.integers(fan)) if rng.random() < 0.2 else None
            sums = [int(s) for s in np.cumsum(np.array(row, object))]
            if sums[-1] == 0:
                yield None
                continue
            edge = sums[int(rng.integers(fan))] + int(rng.integers(2))
            goal = int(rng.integers(1, sums[-1], endpoint=True)) if rng.random() < 0.4 else edge
            yield row, min(max(goal, 1), sums[-1]), forced

    assert await _compare(dut, cases()) > 1000
