"""The `model` backend: registers, rings and memory in Python over the engines' golden models.

Jobs run at the doorbell. Cycles come from the engines' cycle formulas: they are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flow.configuration import Config
from jackdaw.device.base import LAYOUT_MAJOR, MAGIC, PAGE_BYTES, DeviceBase
from jackdaw.device.engines import EngineSpec, build_engines
from jackdaw.device.page import EnginePage
from jackdaw.errors import DeviceAccessError, DeviceTimeout
from models.engine import BusError, RegisterError
from models.registers import directory
from models.registers.map import by_offset

DIRECTORY = by_offset(directory.REGISTERS)
BEAT_BYTES = 64
DECERR = 3
READ, WRITE, BOTH = 1, 2, 3


class _Memory:
    """Device memory as the engines see it: bus errors beyond its end and where told."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        self.faults: list[tuple[int, int, int, int]] = []

    def read(self, address: int, nbytes: int) -> np.ndarray:
        self._check(address, nbytes, READ)
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(address, raw.size, WRITE)
        self.data[address : address + raw.size] = raw

    def _check(self, address: int, nbytes: int, direction: int) -> None:
        """Raise BusError at the first beat of 64 bytes that is answered with an error."""
        if not self.faults and address + nbytes <= self.data.size:
            return
        bad = [(self.data.size, DECERR)] if address + nbytes > self.data.size else []
        first = address // BEAT_BYTES * BEAT_BYTES
        for low, high, response, which in self.faults:
            if which & direction and low < address + nbytes and high > first:
                bad.append((low, response))
        if bad:
            at, response = min(bad)
            at = max(at // BEAT_BYTES * BEAT_BYTES, address)
            raise BusError(at, response, direction == WRITE)


class ModelDevice(DeviceBase):
    """The golden models of a configuration, with the registers of the RTL."""

    measured = False

    def __init__(
        self,
        config: Config,
        *,
        engines: Callable[[Config], Sequence[EngineSpec]] | None = None,
        **_: Any,
    ) -> None:
        """Make the engines and check the directory.

        Args:
            config: the build.
            engines: makes the engines; default: those of the accelerator.
        """
        self.name = f"model:{config.name}"
        self._config = config
        self.memory_bytes = config.memory_bytes
        self._memory = np.zeros(config.memory_bytes, np.uint8)
        self._bus = _Memory(self._memory)
        self._time = 0
        self._irq_enable = 0
        self._scratch = 0
        specs = build_engines(config) if engines is None else engines(config)
        self._pages = [
            EnginePage(
                spec.engine_id,
                spec.version,
                spec.engine,
                spec.links,
                self._bus,
                clock=lambda: self._time,
                advance=self._advance,
                descriptor_bytes=spec.descriptor_bytes,
            )
            for spec in specs
        ]
        for page in self._pages:
            shared = {id(link) for link in page.links}
            page.neighbours = [
                other
                for other in self._pages
                if other is not page and shared & {id(link) for link in other.links}
            ]
        self._identify(config)

    def read32(self, address: int) -> int:
        """Read a register. Raises DeviceAccessError."""
        self._check_open()
        self._time += 1
        page, offset = divmod(address, PAGE_BYTES)
        try:
            return self._page(page).read(offset) if page else self._read_directory(offset)
        except RegisterError:
            raise DeviceAccessError(f"{self.name}: read of register {address:#x}: SLVERR") from None

    def write32(self, address: int, value: int) -> None:
        """Write a register; a doorbell runs jobs. Raises DeviceAccessError."""
        self._check_open()
        self._time += 1
        page, offset = divmod(address, PAGE_BYTES)
        try:
            if page:
                self._page(page).write(offset, value)
            else:
                self._write_directory(offset, value)
        except RegisterError:
            raise DeviceAccessError(
                f"{self.name}: write of register {address:#x}: SLVERR"
            ) from None
        self._run()

    def wait(self, pages: Sequence[int], timeout_s: float, max_cycles: int | None = None) -> int:
        """Return the lowest page that asks. All that can run has run, so there is no waiting."""
        self._check_open()
        self.write32(directory.IRQ_ENABLE.offset, sum(1 << (page - 1) for page in set(pages)))
        for page in sorted(set(pages)):
            if self._page(page).irq:
                return page
        raise DeviceTimeout(
            f"{self.name}: no interrupt of pages {list(pages)}, and nothing more can run",
            self.counters(),
        )

    def at_rest(self, page: int) -> EnginePage | None:
        """See Device."""
        found = self._pages[page - 1]
        return found if found.at_rest and not self._bus.faults and not self._closed else None

    def inject(self, address: int, nbytes: int, response: int = 2, direction: int = BOTH) -> None:
        """Let memory answer the engines' accesses to a range with SLVERR (2) or DECERR (3)."""
        self._check_open()
        self._bus.faults.append((address, address + nbytes, response, direction))

    def clear_faults(self) -> None:
        """End the effect of all `inject` calls."""
        self._check_open()
        self._bus.faults.clear()

    def _run(self) -> None:
        """Round robin over all rings until nothing moves."""
        while any([page.step() for page in self._pages]):
            pass

    def _advance(self, clock: int) -> None:
        self._time = max(self._time, clock)

    def _page(self, page: int) -> EnginePage:
        if not 1 <= page <= len(self._pages):
            raise RegisterError
        return self._pages[page - 1]

    def _read_directory(self, offset: int) -> int:
        register = DIRECTORY.get(offset)
        if register is None:
            raise RegisterError
        if register.name == "ENGINE":
            index = (offset - register.offset) // register.stride
            return self._pages[index].engine_id if index < len(self._pages) else 0
        return {
            "MAGIC": MAGIC,
            "LAYOUT": LAYOUT_MAJOR << 16,
            "BUILD": self._config.build_hash,
            "N_ENGINE": len(self._pages),
            "CLOCK_HZ": self._config.clock_hz,
            "MEM_SIZE_LO": self.memory_bytes & 0xFFFFFFFF,
            "MEM_SIZE_HI": self.memory_bytes >> 32,
            "MEM_PORTS": self._config.memory_ports,
            "IRQ_PENDING": sum(page.irq << index for index, page in enumerate(self._pages)),
            "IRQ_ENABLE": self._irq_enable,
            "TIME_LO": self._time & 0xFFFFFFFF,
            "TIME_HI": self._time >> 32,
            "SCRATCH": self._scratch,
        }[register.name]

    def _write_directory(self, offset: int, value: int) -> None:
        register = DIRECTORY.get(offset)
        if register is None or register.access == "RO":
            raise RegisterError
        if register.name == "IRQ_ENABLE":
            self._irq_enable = value
        else:
            self._scratch = value
