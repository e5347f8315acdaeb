"""The transfers of a batch in one simulator, and memory with bus errors for it and the model."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from flow import pins
from flow.library import Harness, MemoryConfig, MemoryFault, build, open_library
from flow.simulator import QUICK
from models.engine import BusError
from models.qat.layout import Geometry
from verif.play import words

CORE, BENCH = "jackdaw:engine:qat_top", "jd_qat_batch_bench"
SOURCE, HARNESS = "verif/qat/jd_qat_batch_bench.sv", Path("verif/qat/batch_harness.cpp")
NEVER = (1 << 64) - 1
CHUNK = (
    "records", "stride", "list", "weights", "list_address", "places", "first", "vectors", "whole",
    "common", "x_line", "following_line", "misc_line", "states", "state_lines", "actions", "place",
    "half", "watch", "shift", "pairs_address", "pairs_first", "pairs_vectors",
)  # fmt: skip
READ, WRITE = 1, 2
META = 6  # words of a line in the log before its data


class _Run(ctypes.Structure):
    _fields_ = (
        ("memory", MemoryConfig),
        ("chunk", ctypes.c_void_p),
        ("loads", ctypes.c_uint64), ("writes", ctypes.c_uint64),
        ("stop", ctypes.c_uint64), ("held", ctypes.c_uint64),
        ("pause", ctypes.c_uint32), ("td_pause", ctypes.c_uint32),
        ("td", ctypes.c_void_p), ("td_count", ctypes.c_uint64),
        ("lines", ctypes.c_void_p), ("limit", ctypes.c_uint64),
        ("ends", ctypes.c_void_p),
        ("quiet", ctypes.c_uint64),
    )  # fmt: skip


@dataclass
class Memory:
    """Device memory from an address on; a `models.engine.Memory`.

    Attributes:
        origin: the address.
        data: [bytes] uint8.
        faults: first and last byte, response, READ or WRITE.
    """

    origin: int
    data: np.ndarray
    faults: list[tuple[int, int, int, int]] = field(default_factory=list)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """As `models.engine.Memory`. Raises: BusError."""
        self._check(address, nbytes, READ)
        return self.data[address - self.origin :][:nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        """As `models.engine.Memory`. Raises: BusError."""
        self._check(address, data.nbytes, WRITE)
        self.data[address - self.origin :][: data.nbytes] = data

    def put(self, address: int, data: np.ndarray) -> None:
        """Store an array's bytes, whatever the faults say."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.data[address - self.origin :][: raw.size] = raw

    def _check(self, address: int, nbytes: int, way: int) -> None:
        found = [
            response
            for first, last, response, ways in self.faults
            if ways & way and address <= last and address + nbytes > first
        ]
        if found:
            raise BusError(address, max(found), way == WRITE)


@dataclass(frozen=True)
class Timing:
    """How memory, slots and the loss behave.

    Attributes:
        latency: clocks of memory; each burst takes up to `delay` more at random.
        read, write: beats per clock, as fractions.
        pause, td_pause: share of clocks in which slots take no line, no TD errors come.
        stop: clock in which stop_i rises. held: clocks for which it is up, at most to the end.
        quiet: clocks after the end in which nothing may move; then the next chunk begins.
    """

    latency: int = 77
    delay: int = 0
    read: tuple[int, int] = (1, 1)
    write: tuple[int, int] = (1, 1)
    pause: float = 0.0
    td_pause: float = 0.0
    stop: int = NEVER
    held: int = NEVER
    quiet: int = 60


@dataclass(frozen=True)
class Result:
    """What a run showed.

    Attributes:
        clocks, cores, addresses, halves, seen, over: [lines].
        data: [lines, LW] int32.
        code, info, end: of the load: its code, ERR_INFO0 and 1, and the clock.
        response, pairs_end: of the pairs.
        read, written: beats.
        asked: clock of the last read that was asked for.
        span: least and largest address of reads.
    """

    clocks: np.ndarray
    cores: np.ndarray
    addresses: np.ndarray
    halves: np.ndarray
    seen: np.ndarray
    over: np.ndarray
    data: np.ndarray
    code: int
    info: tuple[int, int]
    end: int
    response: int
    pairs_end: int
    read: int
    written: int
    asked: int
    span: tuple[int, int]

    def store(self, act: np.ndarray) -> None:
        """Write the lines into slots, [core, slot, line, LW] int32."""
        flat = act.reshape(act.shape[0], -1, act.shape[-1])
        for core, address, half, line in zip(
            self.cores, self.addresses, self.halves, self.data, strict=True
        ):
            mask = np.array((0xFFFF * (half & 1) | 0xFFFF0000 * (half >> 1)), np.uint32)
            for c in range(act.shape[0]):
                if core >> c & 1:
                    place = flat[c, address].view(np.uint32)
                    place[:] = place & ~mask | line.view(np.uint32) & mask


@cache
def library(parameters: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    """Build and open the simulator."""
    flat = pins.flat(CORE, BENCH, (SOURCE,))
    path = build(
        CORE, flat.toplevel, HARNESS, parameters=dict(parameters),
        sources=(SOURCE, *flat.sources), optimize=QUICK,
    )  # fmt: skip
    return open_library(path)


class Batch(Harness):
    """The blocks under simulation (a context manager).

    Args:
        geometry: of the build.
        seed: of the random register values and of all pauses.
    """

    def __init__(self, geometry: Geometry, seed: int) -> None:
        g = self.geometry = geometry
        parameters = {"Lw": g.lw, "N": g.n, "Slots": g.vc, "ActLines": g.act_lines}
        super().__init__(library(tuple(sorted(parameters.items()))), seed)
        self.seed, self.runs = seed, 0

    def run(
        self,
        chunk: Mapping[str, int],
        memory: Memory,
        timing: Timing,
        td: np.ndarray | None = None,
        loads: bool = True,
    ) -> Result:
        """Load a chunk, write pairs, or both at once.

        Args:
            chunk: values of the ports that describe it, without `_i`; 0 if not given.
            memory: changed by what is written.
            timing: of all around.
            td: [vectors] uint32, magnitudes in binary32; None: no pairs.
            loads: whether the chunk is loaded.
        Raises: CheckFailed.
        """
        g = self.geometry
        self.runs += 1
        unknown = set(chunk) - set(CHUNK)
        if unknown:
            raise ValueError(f"no ports {sorted(unknown)}")
        values = np.array([chunk.get(name, 0) for name in CHUNK], np.uint64)
        limit = g.vectors * (3 + 2 * g.act_lines)
        log = np.zeros((limit, META + g.lw), np.uint32)
        count = 0 if td is None else -(-td.size // g.n)
        lanes = np.full((max(count, 1), words(32 * g.n)), 0xDEAD_BEEF, np.uint32)
        if td is not None:
            lanes.reshape(-1)[: td.size] = td
        ends = np.zeros(11, np.uint64)
        ends[9] = NEVER
        faults = [(0, memory.origin - 1, 3, READ | WRITE), *memory.faults]
        table = (MemoryFault * len(faults))(*(MemoryFault(*fault) for fault in faults))
        config = MemoryConfig(
            timing.latency, *timing.read, *timing.write, 2, 1, timing.delay,
            self.seed * 1000 + self.runs,
        )  # fmt: skip
        run = _Run(
            config, values.ctypes.data, loads, td is not None, timing.stop, timing.held,
            round(1000 * timing.pause), round(1000 * timing.td_pause), lanes.ctypes.data, count,
            log.ctypes.data, limit, ends.ctypes.data, timing.quiet,
        )  # fmt: skip
        n = self.call(
            "batch_run", ctypes.byref(run),
            ctypes.c_void_p((memory.data.ctypes.data - memory.origin) % (1 << 64)),
            ctypes.c_uint64(memory.origin + memory.data.size), table,
            ctypes.c_uint64(len(faults)),
        )  # fmt: skip
        clocks, cores, addresses, halves, seen, over = log[:n, :META].astype(np.int64).T
        code, info0, info1, end, response, pairs_end, read, written, asked, low, high = (
            int(x) for x in ends
        )
        return Result(
            clocks, cores, addresses, halves, seen, over, log[:n, META:].view(np.int32), code,
            (info0, info1), end, response, pairs_end, read, written, asked, (low, high),
        )  # fmt: skip
