"""What every engine driver stands on: the engine's page, its counters, its rings, its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from flow import manifest
from jackdaw.device.base import (
    COUNTERS,
    ESTIMATED,
    IRQ_ENABLE,
    PAGE_BYTES,
    SOFT_RESET,
    STATUS_IDLE,
    Device,
    EngineInfo,
)
from jackdaw.drivers.rings import Ring
from jackdaw.errors import (
    ConfigError,
    DeviceClosedError,
    DeviceError,
    DeviceMismatchError,
    DeviceTimeout,
    EngineOwnedError,
)
from models.registers import engine_header as header

RESET_POLLS = 10000


class EngineDriver:
    """One engine of a device: register access by offset, soft reset, rings, buffers.

    The engine belongs to the driver until `close`, or the end of a `with` block.

    Attributes:
        device: where the engine is.
        info: the engine as the device describes it.
        rings: the rings made by `open_ring`, by number.
    """

    def __init__(self, device: Device, name: str, page: int | str | None = None) -> None:
        """Find the engine, take it and enable its interrupt.

        Args:
            device: an open device.
            name: of the engine, e.g. `replay`.
            page: its page, or its name in the configuration; default the first engine of that kind
                that has no driver.
        Raises: DeviceMismatchError if the device has no such engine; EngineOwnedError if another
            driver has it.
        """
        places = [e for e in device.engines() if e.name == name]
        found = [e for e in places if page in (None, e.page, e.instance)]
        if not found:
            where = "" if page is None else f" {'on page ' if isinstance(page, int) else ''}{page}"
            raise DeviceMismatchError(f"{device.name} has no engine {name}{where}")
        free = [e for e in found if device.owner(e.page) is None]
        if len(found) > 1 and not free:
            pages = ", ".join(str(e.page) for e in found)
            raise EngineOwnedError(
                f"{device.name}: each engine {name} (pages {pages}) has a driver; close one first"
            )
        self.device = device
        self.info: EngineInfo = (free or found)[0]
        device.claim(self.info.page, type(self).__name__)
        self.rings: dict[int, Ring] = {}
        self._memory: list[int] = []
        self._buffers: dict[str, tuple[int, int]] = {}
        self._closed = False
        with self.opening():
            self.write(header.CONTROL.offset, IRQ_ENABLE)

    @contextmanager
    def opening(self) -> Iterator[None]:
        """A constructor that fails within this block gives the engine back."""
        try:
            yield
        except BaseException:
            with suppress(DeviceError):  # the first error is the one to tell
                self.close()
            raise

    def close(self) -> None:
        """Give the engine and its memory back; jobs that are queued are dropped.

        Closing twice is harmless. Raises: DeviceTimeout if the engine does not become idle.
        """
        if self._closed:
            return
        try:
            with suppress(DeviceClosedError):  # a closed device has no memory to give back
                if any(ring.pending for ring in self.rings.values()):
                    self.soft_reset()
                for ring in self.rings.values():
                    ring.close()
                self.free_from(0)
                for address, _ in self._buffers.values():
                    self.device.free(address)
        finally:
            self._closed = True
            self.device.disclaim(self.info.page)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def within(self, what: str, needed: int, present: int, parameter: str) -> None:
        """Compare what a job needs with what a parameter of the build gives it.

        Raises: ConfigError if that is too little; it names the parameter and what it may be.
        """
        if needed <= present:
            return
        name, declared = self.info.name, manifest.engine(self.info.name).parameters[parameter]
        most = max(declared.choices, default=declared.high)
        remedy = f"set {parameter} of {name} in the configuration to {needed} or more, up to {most}"
        if needed > most:
            remedy = f"{parameter} of {name} is at most {most} in any build"
        raise ConfigError(f"{what}: got {needed}, this build has {present}; {remedy}")

    def read(self, offset: int) -> int:
        """Read a register of the engine's page."""
        return self.device.read32(self._page + offset)

    def write(self, offset: int, value: int) -> None:
        """Write a register of the engine's page."""
        self.device.write32(self._page + offset, value)

    @property
    def _page(self) -> int:
        """Address of the engine's page. Raises: DeviceClosedError."""
        if self._closed:
            raise DeviceClosedError(f"{self.info.name} on page {self.info.page}: driver is closed")
        return self.info.page * PAGE_BYTES

    def read64(self, offset: int) -> int:
        """Read a 64-bit counter: LO first, which latches HI."""
        low = self.read(offset)
        return low | self.read(offset + 4) << 32

    def open_ring(self, ring: int = 0, slots_log2: int = 6) -> Ring:
        """Set up one of the engine's rings (2**slots_log2 slots) in device memory."""
        if ring in self.rings:
            self.rings.pop(ring).close()
        self.rings[ring] = Ring(self.device, self.info, ring, slots_log2)
        return self.rings[ring]

    def alloc(self, nbytes: int, align: int = 4096) -> int:
        """Reserve device memory until `close`. Raises: DeviceMemoryError."""
        self._memory.append(self.device.alloc(nbytes, align))
        return self._memory[-1]

    def free_from(self, first: int) -> None:
        """Give back what `alloc` reserved, but for the first pieces."""
        for address in self._memory[first:]:
            self.device.free(address)
        del self._memory[first:]

    def buffer(self, name: str, nbytes: int) -> int:
        """Address of a device buffer of at least nbytes, kept for the next job of that name."""
        address, size = self._buffers.get(name, (0, 0))
        if size < nbytes:
            if address:
                self.device.free(address)
                del self._buffers[name]
            size = -(-nbytes // 4096) * 4096
            address = self.device.alloc(size)
            self._buffers[name] = (address, size)
        return address

    def counters(self) -> dict[str, int]:
        """The 64-bit counters of the common header, in clocks and beats of 64 bytes.

        A device that does not measure has CYCLES alone, an estimate.
        """
        names = COUNTERS if self.device.measured else ESTIMATED
        return {name: self.read64(COUNTERS[name]) for name in names}

    def soft_reset(self) -> None:
        """Drop all jobs and empty the links; waits until the engine is idle.

        Raises: DeviceTimeout if it does not become idle.
        """
        self.write(header.CONTROL.offset, SOFT_RESET | IRQ_ENABLE)
        for _ in range(RESET_POLLS):
            if (
                not self.read(header.CONTROL.offset) & SOFT_RESET
                and self.read(header.STATUS.offset) & STATUS_IDLE
            ):
                break
        else:
            words = {self.info.page: {"STATUS": self.read(header.STATUS.offset), **self.counters()}}
            raise DeviceTimeout(f"{self.info.name}: not idle after a soft reset", words)
        for ring in self.rings.values():
            ring.after_reset()
