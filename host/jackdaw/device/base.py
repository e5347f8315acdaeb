"""What a device is: registers, memory, an interrupt and a clock, the same on every backend."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from flow import manifest
from flow.configuration import Config
from jackdaw.errors import (
    ConfigError,
    DeviceAccessError,
    DeviceClosedError,
    DeviceMemoryError,
    DeviceMismatchError,
    EngineOwnedError,
)
from jackdaw.ranges import refused, whole
from models.registers import directory
from models.registers import engine_header as header

PAGE_BYTES = 4096
MAGIC = 0x574B444A
LAYOUT_MAJOR = 1

COUNTERS = {  # name -> offset of the low word; reading it latches the high word
    register.name.removesuffix("_LO"): register.offset
    for register in header.REGISTERS
    if register.name.endswith("_LO") and not register.name.startswith("RING_")
}
ESTIMATED = ("CYCLES",)  # what a device that does not measure has of them
SOFT_RESET = header.CONTROL.field("soft_reset").mask
IRQ_ENABLE = header.CONTROL.field("irq_enable").mask
FREEZE = header.CONTROL.field("freeze").mask
STATUS_IDLE = header.STATUS.field("idle").mask
STATUS_DONE = header.STATUS.field("done").mask
STATUS_FAILED = header.STATUS.field("failed").mask
STATUS_EVENT = header.STATUS.field("event_seen").mask
CAPABILITIES = 0x100  # first capability word of every engine
DESCRIPTOR_BYTES, RECORD_BYTES = 64, 32
WORD0_STOP, WORD0_IRQ = 1 << 30, 1 << 31


@dataclass(frozen=True)
class EngineInfo:
    """An engine as the directory and its page describe it.

    Attributes:
        id: four characters, e.g. `RPLY`.
        name: name of the engine in this project, e.g. `replay`.
        page: its page, 1..31.
        instance: its name in the configuration, e.g. `replay`, or `second`.
        version: major, minor, patch.
        capabilities: the first capability word (0x100 of the page).
        descriptor_bytes: of a job.
        unordered: jobs of a ring end in any order.
    """

    id: str
    name: str
    page: int
    version: tuple[int, int, int]
    capabilities: int
    instance: str = ""
    descriptor_bytes: int = DESCRIPTOR_BYTES
    unordered: bool = False


@runtime_checkable
class Device(Protocol):
    """Registers, memory, interrupt and clock of one accelerator. Belongs to one thread."""

    name: str
    clock_hz: int
    memory_bytes: int
    measured: bool
    """Whether clocks and counters are counted; else clocks are estimates and others absent."""

    def engines(self) -> list[EngineInfo]:
        """The engines of the directory, by page."""

    def claim(self, page: int, owner: str) -> None:
        """Give an engine to its one driver. Raises EngineOwnedError naming the one that has it."""

    def owner(self, page: int) -> str | None:
        """Who has the engine."""

    def disclaim(self, page: int) -> None:
        """Take an engine back from its driver; also after `close`."""

    def read32(self, address: int) -> int:
        """Read a register (page * 4096 + offset). Raises DeviceAccessError if it is answered so."""

    def write32(self, address: int, value: int) -> None:
        """Write a register. Raises DeviceAccessError if it is answered so."""

    def alloc(self, nbytes: int, align: int = 4096) -> int:
        """Reserve device memory; never address 0. Raises DeviceMemoryError when full."""

    def free(self, address: int) -> None:
        """Give back what `alloc` gave. Raises DeviceMemoryError if it did not, or twice."""

    def write(self, address: int, data: np.ndarray) -> None:
        """Copy a C-contiguous array to device memory. Raises DeviceAccessError outside memory."""

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Copy device memory to a uint8 array. Raises DeviceAccessError outside memory."""

    def read_rows(self, address: int, stride: int, rows: int, indexes: np.ndarray) -> np.ndarray:
        """Copy some rows of an array in device memory: [n, stride] uint8.

        Args:
            address: of row 0, bytes.
            stride: bytes from one row to the next.
            rows: of the array.
            indexes: [n] integers.
        Raises: DeviceAccessError outside the array or memory.
        """

    def at_rest(self, page: int) -> Any:
        """The golden model's page of an engine (`page.EnginePage`) whose next job would run alone.

        None while jobs are queued or a fault is injected, and on hardware always.
        """

    def wait(self, pages: Sequence[int], timeout_s: float, max_cycles: int | None = None) -> int:
        """Wait for an interrupt of one of the pages; at once if one is up.

        Args:
            pages: pages of engines.
            timeout_s: limit, counted by `seconds`.
            max_cycles: limit in clocks.
        Returns: the lowest of the pages whose interrupt is up.
        Raises: DeviceTimeout with all counters.
        """

    def seconds(self) -> float:
        """Seconds for the limits of waits: wall time; on a simulator the CPU time of the process.

        A simulation is as fast as its share of the processor: a loaded machine ends no wait early.
        """

    def cycles(self) -> int:
        """TIME: clocks since the hard reset."""

    def close(self) -> None:
        """Give the device back; any later use raises DeviceClosedError."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Allocator:
    """First-fit allocator over addresses [start, end)."""

    def __init__(self, start: int, end: int) -> None:
        self._free = [(start, end)]
        self._used: dict[int, int] = {}

    def alloc(self, nbytes: int, align: int) -> int:
        """Reserve nbytes at a multiple of align (a power of two). Raises DeviceMemoryError."""
        if nbytes < 1 or align < 1 or align & (align - 1):
            raise DeviceMemoryError(
                f"alloc of {nbytes} bytes at a multiple of {align}: want 1 or more bytes and "
                "a power of two"
            )
        for index, (low, high) in enumerate(self._free):
            address = -(-low // align) * align
            if address + nbytes <= high:
                parts = [(low, address), (address + nbytes, high)]
                self._free[index : index + 1] = [(a, b) for a, b in parts if a < b]
                self._used[address] = nbytes
                return address
        largest = max((b - a for a, b in self._free), default=0)
        raise DeviceMemoryError(
            f"no room for {nbytes} bytes at a multiple of {align}: "
            f"{sum(b - a for a, b in self._free)} bytes free, the largest piece {largest}"
        )

    def free(self, address: int) -> None:
        """Give back a piece and join it with its neighbours. Raises DeviceMemoryError."""
        if address not in self._used:
            raise DeviceMemoryError(f"free of {address:#x}: not allocated, or freed before")
        self._free.append((address, address + self._used.pop(address)))
        joined: list[tuple[int, int]] = []
        for low, high in sorted(self._free):
            if joined and joined[-1][1] == low:
                joined[-1] = (joined[-1][0], high)
            else:
                joined.append((low, high))
        self._free = joined


class DeviceBase:
    """The part that all backends share: directory, allocation, copies, counters.

    A backend sets `name`, its memory as `_memory` ([memory_bytes] uint8) and defines `read32`,
    `write32`, `wait` and `_release`; then it calls `_identify`.
    """

    name: str
    clock_hz: int
    memory_bytes: int
    measured = True
    _memory: np.ndarray
    _closed = False

    def read32(self, address: int) -> int:
        raise NotImplementedError

    def write32(self, address: int, value: int) -> None:
        raise NotImplementedError

    def _release(self) -> None:
        """Free what the backend holds."""

    def _identify(self, config: Config) -> None:
        """Read the directory and check that it is the configuration that was asked for."""
        instances = [instance.name for instance in config.instances]
        checks = [
            ("MAGIC", directory.MAGIC.offset, 0xFFFFFFFF, MAGIC),
            ("LAYOUT major", directory.LAYOUT.offset, 0xFFFF0000, LAYOUT_MAJOR << 16),
            ("BUILD", directory.BUILD.offset, 0xFFFFFFFF, config.build_hash),
        ]
        for label, offset, mask, want in checks:
            got = self.read32(offset) & mask
            if got != want:
                raise DeviceMismatchError(f"{self.name}: {label} is {got:#x}, want {want:#x}")
        self.clock_hz = self.read32(directory.CLOCK_HZ.offset)
        self.memory_bytes = (
            self.read32(directory.MEM_SIZE_LO.offset)
            | self.read32(directory.MEM_SIZE_HI.offset) << 32
        )
        self._allocator = Allocator(PAGE_BYTES, self.memory_bytes)
        self._owners: dict[int, str] = {}
        self._engines = []
        for index in range(self.read32(directory.N_ENGINE.offset)):
            page = 1 + index
            word = self.read32(directory.ENGINE.at(index))
            if word != self.read32(page * PAGE_BYTES + header.ID.offset):
                raise DeviceMismatchError(f"{self.name}: page {page} is not engine {word:#x}")
            label = word.to_bytes(4, "little").decode("ascii", "replace")
            known = manifest.by_id().get(word)
            version = self.read32(page * PAGE_BYTES + header.VERSION.offset)
            self._engines.append(
                EngineInfo(
                    id=label,
                    name=known.name if known else label.strip().lower(),
                    page=page,
                    version=(version >> 16, version >> 8 & 0xFF, version & 0xFF),
                    capabilities=self.read32(page * PAGE_BYTES + CAPABILITIES),
                    instance=instances[index] if index < len(instances) else "",
                    descriptor_bytes=known.descriptor_bytes if known else DESCRIPTOR_BYTES,
                    unordered=known is not None and not known.ordered,
                )
            )

    def engines(self) -> list[EngineInfo]:
        """The engines of the directory, by page."""
        self._check_open()
        return list(self._engines)

    def claim(self, page: int, owner: str) -> None:
        """Give an engine to its one driver. Raises EngineOwnedError naming the one that has it."""
        self._check_open()
        if page in self._owners:
            raise EngineOwnedError(
                f"{self.name}: the engine on page {page} belongs to a driver {self._owners[page]}; "
                "close that one first, or take another engine"
            )
        self._owners[page] = owner

    def owner(self, page: int) -> str | None:
        """Who has the engine."""
        return self._owners.get(page)

    def disclaim(self, page: int) -> None:
        """Take an engine back from its driver; also after `close`."""
        self._owners.pop(page, None)

    def alloc(self, nbytes: int, align: int = 4096) -> int:
        """Reserve device memory, first fit. Raises DeviceMemoryError when full, ConfigError."""
        self._check_open()
        return self._allocator.alloc(whole("alloc bytes", nbytes), whole("alloc align", align))

    def free(self, address: int) -> None:
        """Give back what `alloc` gave. Raises DeviceMemoryError if it did not, or twice."""
        self._check_open()
        self._allocator.free(whole("address", address))

    @property
    def memory(self) -> np.ndarray:
        """Device memory as one view, [memory_bytes] uint8."""
        self._check_open()
        return self._memory

    def write(self, address: int, data: np.ndarray) -> None:
        """Copy a C-contiguous array to device memory. Raises DeviceAccessError outside memory."""
        self._check_open()
        address = whole("address", address)
        if not isinstance(data, np.ndarray) or data.dtype.hasobject:
            raise refused("device write", data, "an array of numbers")
        if not data.flags.c_contiguous:
            raise ConfigError(f"device write: array of shape {data.shape} is not C-contiguous")
        raw = data.reshape(-1).view(np.uint8)
        self._check_range(address, raw.size)
        self._memory[address : address + raw.size] = raw

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Copy device memory to a uint8 array. Raises DeviceAccessError outside memory."""
        self._check_open()
        address, nbytes = whole("address", address), whole("bytes", nbytes)
        self._check_range(address, nbytes)
        return self._memory[address : address + nbytes].copy()

    def read_rows(self, address: int, stride: int, rows: int, indexes: np.ndarray) -> np.ndarray:
        """Copy some rows of an array in device memory: see Device."""
        self._check_open()
        self._check_range(address, rows * stride)
        table = self._memory[address : address + rows * stride].reshape(rows, stride)
        try:
            return table.take(indexes, axis=0)
        except IndexError as error:
            raise DeviceAccessError(f"rows of an array of {rows}: {error}") from None

    def at_rest(self, page: int) -> Any:
        """See Device."""
        return None

    def seconds(self) -> float:
        """See Device."""
        return time.monotonic()

    def cycles(self) -> int:
        """TIME: clocks since the hard reset."""
        return self.read32(directory.TIME_LO.offset) | self.read32(directory.TIME_HI.offset) << 32

    def counters(self) -> dict[int, dict[str, int]]:
        """Page -> the words of the common header that tell what the engine does."""
        result = {}
        for engine in self.engines():
            base = engine.page * PAGE_BYTES
            words = {
                register.name: self.read32(base + register.offset)
                for register in (
                    header.STATUS,
                    header.JOBS_DONE,
                    header.JOBS_FAILED,
                    header.ERR_INFO0,
                    header.ERR_INFO1,
                )
            }
            for name in COUNTERS if self.measured else ESTIMATED:
                low = self.read32(base + COUNTERS[name])
                words[name] = low | self.read32(base + COUNTERS[name] + 4) << 32
            result[engine.page] = words
        return result

    def close(self) -> None:
        """Give the device back; closing twice is harmless."""
        if not self._closed:
            self._closed = True
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceClosedError(f"{self.name} is closed")

    def _check_range(self, address: int, nbytes: int) -> None:
        if nbytes < 0 or address < 0 or address + nbytes > self.memory_bytes:
            raise DeviceAccessError(
                f"copy of {nbytes} bytes at {address:#x}: memory has {self.memory_bytes:#x} bytes"
            )
