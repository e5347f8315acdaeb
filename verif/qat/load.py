"""jd_qat_load in a simulator with memory and a user of its rows."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from flow import pins
from flow.library import Harness, MemoryConfig, MemoryFault, build, open_library
from flow.simulator import QUICK
from verif.qat.batch import NEVER, Memory

CORE, TOP, HARNESS = "jackdaw:engine:qat_top", "jd_qat_load", Path("verif/qat/load_harness.cpp")


class _Run(ctypes.Structure):
    _fields_ = (
        ("memory", MemoryConfig),
        ("writes", ctypes.c_uint64),
        ("address", ctypes.c_uint64), ("rows", ctypes.c_uint64), ("words", ctypes.c_uint64),
        ("stop", ctypes.c_uint64), ("pause", ctypes.c_uint64),
        ("lines", ctypes.c_void_p), ("ends", ctypes.c_void_p),
    )  # fmt: skip


@dataclass(frozen=True)
class Timing:
    """How memory and user behave.

    Attributes:
        latency: clocks of memory; each burst takes up to `delay` more at random.
        read, write: beats per clock, as fractions.
        pause: share of clocks in which the user waits.
        stop: clock in which stop_i rises; it stays to the end.
    """

    latency: int = 77
    delay: int = 0
    read: tuple[int, int] = (1, 1)
    write: tuple[int, int] = (1, 1)
    pause: float = 0.0
    stop: int = NEVER


@dataclass(frozen=True)
class Result:
    """What a run showed.

    Attributes:
        lines: [rows, LW] uint32, that moved.
        response: of the end. clock: of the end.
        first, last: clocks of rows.
        beats: that moved. late: beats that were asked for after the clock of the stop.
    """

    lines: np.ndarray
    response: int
    clock: int
    first: int
    last: int
    beats: int
    late: int


@cache
def library(lw: int) -> ctypes.CDLL:
    """Build and open the simulator."""
    flat = pins.flat(CORE, TOP)
    path = build(
        CORE, flat.toplevel, HARNESS, parameters={"Lw": lw}, sources=flat.sources, optimize=QUICK
    )
    return open_library(path)


class Load(Harness):
    """The block under simulation (a context manager).

    Args:
        lw: words of a row.
        seed: of the random register values and of all pauses.
    """

    def __init__(self, lw: int, seed: int) -> None:
        super().__init__(library(lw), seed)
        self.lw, self.seed, self.runs = lw, seed, 0

    def run(
        self, memory: Memory, address: int, rows: int, timing: Timing,
        lines: np.ndarray | None = None, words: int = 1,
    ) -> Result:  # fmt: skip
        """Read rows, or write them.

        Args:
            memory: changed by what is written.
            address: of the first row.
            rows: how many.
            timing: of all around.
            lines: [rows, LW] uint32 to write; None: reads.
            words: of the last row, if it writes.
        Raises: CheckFailed.
        """
        self.runs += 1
        moved = np.zeros((rows, self.lw), np.uint32) if lines is None else lines
        ends = np.zeros(7, np.uint64)
        table = (MemoryFault * len(memory.faults))(*(MemoryFault(*x) for x in memory.faults))
        config = MemoryConfig(
            timing.latency, *timing.read, *timing.write, 2, 1, timing.delay,
            self.seed * 1000 + self.runs,
        )  # fmt: skip
        run = _Run(
            config, lines is not None, address, rows, words, timing.stop,
            round(1000 * timing.pause), moved.ctypes.data, ends.ctypes.data,
        )  # fmt: skip
        self.call(
            "load_run", ctypes.byref(run),
            ctypes.c_void_p((memory.data.ctypes.data - memory.origin) % (1 << 64)),
            ctypes.c_uint64(memory.origin + memory.data.size), table,
            ctypes.c_uint64(len(memory.faults)),
        )  # fmt: skip
        response, clock, count, first, last, beats, late = (int(x) for x in ends)
        return Result(moved[:count], response, clock, first, last, beats, late)
