"""What every engine driver stands on: the engine's page, its counters, its rings."""

from __future__ import annotations

from jackdaw.device.base import (
    COUNTERS,
    IRQ_ENABLE,
    PAGE_BYTES,
    SOFT_RESET,
    STATUS_IDLE,
    Device,
    EngineInfo,
)
from jackdaw.drivers.rings import Ring
from jackdaw.errors import DeviceMismatchError, DeviceTimeout
from models.registers import engine_header as header

RESET_POLLS = 10000


class EngineDriver:
    """One engine of a device: register access by offset, soft reset, rings.

    Attributes:
        device: where the engine is.
        info: the engine as the device describes it.
        rings: the rings made by `open_ring`, by number.
    """

    def __init__(self, device: Device, name: str, page: int | str | None = None) -> None:
        """Find the engine and enable its interrupt.

        Args:
            device: an open device.
            name: of the engine, e.g. `replay`.
            page: its page, or its name in the configuration; default the first engine of that kind.
        Raises: DeviceMismatchError if the device has no such engine.
        """
        places = [e for e in device.engines() if e.name == name]
        found = [e for e in places if page in (None, e.page, e.instance)]
        if not found:
            where = "" if page is None else f" {'on page ' if isinstance(page, int) else ''}{page}"
            raise DeviceMismatchError(f"{device.name} has no engine {name}{where}")
        self.device = device
        self.info: EngineInfo = found[0]
        self.rings: dict[int, Ring] = {}
        self.write(header.CONTROL.offset, IRQ_ENABLE)

    def read(self, offset: int) -> int:
        """Read a register of the engine's page."""
        return self.device.read32(self.info.page * PAGE_BYTES + offset)

    def write(self, offset: int, value: int) -> None:
        """Write a register of the engine's page."""
        self.device.write32(self.info.page * PAGE_BYTES + offset, value)

    def read64(self, offset: int) -> int:
        """Read a 64-bit counter: LO first, which latches HI."""
        low = self.read(offset)
        return low | self.read(offset + 4) << 32

    def open_ring(self, ring: int = 0, slots_log2: int = 6) -> Ring:
        """Set up one of the engine's rings (2**slots_log2 slots) in device memory."""
        self.rings[ring] = Ring(self.device, self.info, ring, slots_log2)
        return self.rings[ring]

    def counters(self) -> dict[str, int]:
        """The 64-bit counters of the common header, in clocks and beats of 64 bytes."""
        return {name: self.read64(offset) for name, offset in COUNTERS.items()}

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
