"""What every test of a simulation needs: parameters, seeded generators, clock, reset, time-outs."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import cocotb
from cocotb.clock import Clock
from cocotb.handle import ArrayObject
from cocotb.triggers import ClockCycles, Event, FallingEdge, First, RisingEdge, Timer
from cocotb.utils import get_sim_time

PERIOD_NS = 4
# What an engine offers to the outside.
OFFERS = (
    "m_axi_arvalid_o", "m_axi_awvalid_o", "m_axi_wvalid_o", "s_axil_rvalid_o", "s_axil_bvalid_o",
    "smp_valid_o", "tde_valid_o", "irq_o", "link_clear_o",
)  # fmt: skip
Result = TypeVar("Result")


def parameters() -> dict[str, int]:
    """The parameters that the simulated toplevel was built with."""
    return dict(json.loads(os.environ.get("JD_PARAMETERS", "{}")))


def seed() -> int:
    """The seed of this run; the same seed runs the same test."""
    return int(os.environ.get("JD_SEED", "1"))


def rng(name: str) -> random.Random:
    """A generator of its own for each user, so that one's draws do not shift another's.

    Args:
        name: who draws; the stream of numbers depends on it and on the run's seed.
    """
    return random.Random(f"{seed()}/{name}")


def enumeration(source: Path, name: str) -> tuple[str, ...]:
    """The values of an enumeration that counts from 0, in their order, as its source has them.

    Args:
        source: the SystemVerilog file.
        name: the type, `typedef enum ... {...} name;`.
    Raises: ValueError if the file has no such type, or gives a value a number.
    """
    text = re.sub(r"//.*", "", source.read_text())
    found = re.search(rf"typedef enum\b[^{{}}]*{{([^{{}}]*)}}\s*{name}\s*;", text)
    if found is None or "=" in found[1]:
        raise ValueError(f"{source}: no enumeration {name} without numbers")
    return tuple(value.strip() for value in found[1].split(","))


class Activity:
    """Lets a monitor sleep while none of some signals is 1: a task that wakes in every clock costs
    more than the simulation of a small design.

    Args:
        signals: valid signals of a clocked bus, one bit each.
        reset_n: its reset; a monitor that sleeps wakes when it begins, too.
    """

    def __init__(self, signals: Sequence[Any], reset_n: Any) -> None:
        self._signals = tuple(signals)
        self._woken = Event()
        for trigger in (*map(RisingEdge, self._signals), FallingEdge(reset_n)):
            cocotb.start_soon(self._watch(trigger))

    async def _watch(self, trigger: Any) -> None:
        while True:
            await trigger
            self._woken.set()

    async def wait(self) -> None:
        """Return when a signal is 1 or rises; the next clock edge is the first to look at."""
        self._woken.clear()
        if not any(signal.value for signal in self._signals):
            await self._woken.wait()


def clock_number() -> int:
    """Clocks of `start` until now."""
    return int(get_sim_time("ns") // PERIOD_NS)


async def start(dut: Any, reset_clocks: int = 4) -> None:
    """Start clk_i (4 ns, 250 MHz) and hold rst_ni low for the first clocks.

    Before the first clock edge rst_ni rises and falls once, so that models which follow its edges
    start in reset; it is low at time 0, where a random initial clk_i may count as an edge.
    """
    dut.clk_i.value = 0
    for level in (0, 1, 0):
        dut.rst_ni.value = level
        await Timer(1, "ns")
    Clock(dut.clk_i, PERIOD_NS, unit="ns", impl="gpi").start()
    await ClockCycles(dut.clk_i, reset_clocks)
    dut.rst_ni.value = 1


async def reset(dut: Any, clocks: int = 3) -> None:
    """Reset a running design: rst_ni is low at the next `clocks` clock edges."""
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, clocks)
    dut.rst_ni.value = 1


async def quiet(dut: Any, clocks: int = 24) -> None:
    """Check that nothing comes out of an engine after its reset: access, word or interrupt."""
    found = {name: getattr(dut, name) for name in OFFERS if hasattr(dut, name)}
    offers = [
        (name, port)
        for name, handle in found.items()
        for port in (handle if isinstance(handle, ArrayObject) else (handle,))
    ]
    for clock in range(clocks):
        await RisingEdge(dut.clk_i)
        for name, port in offers:
            assert not int(port.value), f"{name}, {clock} clocks after the reset"


async def within(what: str, clock: Any, clocks: int, job: Awaitable[Result]) -> Result:
    """Wait for `job`, but not longer than a number of clocks.

    Args:
        what: what is waited for, for the message.
        clock: the clock that is counted.
        clocks: the limit.
        job: a coroutine.
    Raises: TimeoutError.
    """
    task = cocotb.start_soon(_run(job))
    await First(task, ClockCycles(clock, clocks))
    if not task.done():
        task.cancel()
        raise TimeoutError(f"{what}: no end within {clocks} clocks")
    return task.result()


async def _run(job: Awaitable[Result]) -> Result:
    return await job


async def until(what: str, clock: Any, clocks: int, condition: Any) -> int:
    """Wait for rising edges until condition() is true; returns how many it took.

    Raises: TimeoutError after `clocks` edges.
    """
    for count in range(clocks + 1):
        if condition():
            return count
        await RisingEdge(clock)
    raise TimeoutError(f"{what}: not within {clocks} clocks")
