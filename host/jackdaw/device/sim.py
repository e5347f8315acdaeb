"""The `sim` backend: the Verilated device in this process.

The clock stands still except inside `wait`, `read32` and `write32`, so that figures do not depend
on the host's speed.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flow.configuration import Config
from flow.library import MemoryConfig, build, failure, open_library
from jackdaw import ranges
from jackdaw.device.base import DeviceBase
from jackdaw.device.timing import MemoryTiming, memory_timing
from jackdaw.errors import DeviceAccessError, DeviceTimeout, SimulationError
from models.registers import directory

HARNESS = Path(__file__).with_name("harness.cpp")
COMPILED = Path(__file__).with_name("compiled")
CHUNK = 20_000  # clocks between two looks at the time
OKAY, SLVERR, DECERR = 0, 2, 3
READ, WRITE, BOTH = 1, 2, 3


def build_library(
    config: Config,
    *,
    assertions: bool = True,
    waves: bool = False,
    optimize: str | None = None,
    compiled_arithmetic: bool = False,
) -> Path:
    """Build the simulator of a configuration, or find it in the cache.

    Without `optimize` the environment variable JD_OPTIMIZE names the compiler's level; it is -O2,
    for long runs: against -Og it takes four times as long to build and trains a fifth faster.
    """
    defines = [
        f"JD_TOP=V{config.toplevel}", f'JD_TOP_HEADER="V{config.toplevel}.h"',
        f"JD_MEM_PORTS={config.memory_ports}",
    ]  # fmt: skip
    return build(
        config.core(),
        config.toplevel,
        HARNESS,
        parameters=config.rtl_parameters(),
        defines=[*defines, *(["JD_COMPILED_ARITHMETIC"] if compiled_arithmetic else [])],
        assertions=assertions,
        waves=waves,
        optimize=optimize or os.environ.get("JD_OPTIMIZE", "-O2"),
        instead=COMPILED if compiled_arithmetic else None,
    )


def _load(path: Path) -> ctypes.CDLL:
    library = open_library(path)
    handle, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    for name, result, *arguments in (
        ("jd_new", handle, handle, u64, ctypes.POINTER(MemoryConfig), u32, ctypes.c_char_p),
        ("jd_read", ctypes.c_int, handle, u32, ctypes.POINTER(u32)),
        ("jd_write", ctypes.c_int, handle, u32, u32),
        ("jd_run", ctypes.c_int, handle, u64),
        ("jd_fault", None, handle, u64, u64, ctypes.c_int, ctypes.c_int),
        ("jd_clear_faults", None, handle),
        ("jd_record", None, handle, ctypes.c_int),
        ("jd_clock", u64, handle),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class SimDevice(DeviceBase):
    """The RTL of one configuration, with its memory."""

    _handle: int | None = None

    def __init__(
        self,
        config: Config,
        *,
        memory: str | MemoryTiming = "D",
        seed: int = 1,
        waves: Path | str | None = None,
        assertions: bool = True,
        compiled_arithmetic: bool = False,
    ) -> None:
        """Build if needed, reset, and check the directory.

        Args:
            config: the build.
            memory: a preset (`D`, `S`, `Q`, `I`) or a timing.
            seed: of initial register values (with assertions) and of random delays.
            waves: record an FST file, from now until `record(False)` or `close`.
            assertions: keep the RTL's assertions; without them it is faster.
            compiled_arithmetic: the processor multiplies and adds in place of the RTL of
                jd_float_mul and jd_float_add: the same bits in the same clocks, faster.
        Raises: SimulationError, DeviceMismatchError, flow.library.BuildFailed.
        """
        timing = memory_timing(memory)
        seed = ranges.seed(seed)
        self.name = f"sim:{config.name}"
        self.timing = timing
        self._library = _load(
            build_library(
                config, assertions=assertions, waves=waves is not None,
                compiled_arithmetic=compiled_arithmetic,
            )
        )  # fmt: skip
        self._memory = np.zeros(config.memory_bytes, np.uint8)
        self.memory_bytes = config.memory_bytes
        rates = [
            part
            for rate in (timing.read, timing.write, timing.shared)
            for part in ((rate.numerator, rate.denominator) if rate is not None else (0, 0))
        ]
        self._handle = self._library.jd_new(
            self._memory.ctypes.data,
            self._memory.size,
            MemoryConfig(timing.latency, *rates, timing.max_delay, seed & (1 << 64) - 1),
            seed & 0xFFFFFFFF,
            str(waves).encode() if waves is not None else None,
        )
        self._word = ctypes.c_uint32()
        self._irq_enable = 0
        try:
            self._check_alive()
            self._identify(config)
        except Exception:
            self.close()
            raise

    def read32(self, address: int) -> int:
        """Read a register. Raises DeviceAccessError, SimulationError."""
        self._check_open()
        response = self._library.jd_read(self._handle, address, ctypes.byref(self._word))
        self._check_response(response, "read", address)
        return self._word.value

    def write32(self, address: int, value: int) -> None:
        """Write a register. Raises DeviceAccessError, SimulationError."""
        self._check_open()
        response = self._library.jd_write(self._handle, address, value)
        self._check_response(response, "write", address)
        if address == directory.IRQ_ENABLE.offset:
            self._irq_enable = value

    def wait(self, pages: Sequence[int], timeout_s: float, max_cycles: int | None = None) -> int:
        """Run the clock until one of the pages asks; see Device.wait."""
        self._check_open()
        mask = sum(1 << (page - 1) for page in set(pages))
        if self._irq_enable != mask:
            self.write32(directory.IRQ_ENABLE.offset, mask)
        start, deadline = self.clock, self.seconds() + timeout_s
        while True:
            left = CHUNK if max_cycles is None else min(CHUNK, start + max_cycles - self.clock)
            up = self._library.jd_run(self._handle, max(left, 0))
            self._check_alive()
            if up:
                pending = self.read32(directory.IRQ_PENDING.offset) & mask
                if pending:
                    return (pending & -pending).bit_length()
            if left <= 0 or self.seconds() >= deadline:
                limit = f"{timeout_s} s" if left > 0 else f"{max_cycles} clocks"
                raise DeviceTimeout(
                    f"{self.name}: no interrupt of pages {list(pages)} within {limit} "
                    f"({self.clock - start} clocks)",
                    self.counters(),
                )

    def seconds(self) -> float:
        """See Device."""
        return time.process_time()

    @property
    def clock(self) -> int:
        """Clocks since the hard reset; does not run the clock. Raises DeviceClosedError."""
        self._check_open()
        return int(self._library.jd_clock(self._handle))

    def step(self, clocks: int) -> None:
        """Run the clock; stops early at an interrupt. Raises SimulationError."""
        self._check_open()
        self._library.jd_run(self._handle, clocks)
        self._check_alive()

    def inject(
        self, address: int, nbytes: int, response: int = SLVERR, direction: int = BOTH
    ) -> None:
        """Let memory answer accesses to a range with SLVERR (2) or DECERR (3).

        Args:
            address: first byte of the range.
            nbytes: bytes of the range.
            response: SLVERR or DECERR.
            direction: READ, WRITE or BOTH.
        """
        self._check_open()
        self._library.jd_fault(self._handle, address, address + nbytes - 1, response, direction)

    def clear_faults(self) -> None:
        """End the effect of all `inject` calls."""
        self._check_open()
        self._library.jd_clear_faults(self._handle)

    def record(self, on: bool) -> None:
        """Go on or pause recording waves (only if the device was opened with `waves`)."""
        self._check_open()
        self._library.jd_record(self._handle, int(on))

    def _release(self) -> None:
        if self._handle:
            self._library.jd_free(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self._release()

    def _check_response(self, response: int, what: str, address: int) -> None:
        if response < 0:
            self._check_alive()
        if response != OKAY:
            answer = {SLVERR: "SLVERR", DECERR: "DECERR"}.get(response, str(response))
            raise DeviceAccessError(f"{self.name}: {what} of register {address:#x}: {answer}")

    def _check_alive(self) -> None:
        found = failure(self._library, self._handle)
        if found is not None:
            raise SimulationError(found.message, found.file, found.line, found.clock)
