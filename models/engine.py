"""What every engine's golden model looks like from outside: registers, jobs, streams and memory.

The same objects serve as reference in the verification environments and as the body of the
`model` device.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np

ADDRESSES = 1 << 40  # bytes of device memory that an address can name


def beyond(address: int, nbytes: int) -> bool:
    """Whether an array does not lie wholly in the addresses; mirrors jd_axi_pkg, beyond."""
    return address + nbytes > ADDRESSES


class BusError(Exception):
    """A memory access that was answered with SLVERR (2) or DECERR (3)."""

    def __init__(self, address: int, response: int, write: bool) -> None:
        kind = "write" if write else "read"
        super().__init__(f"{kind} at {address:#x}: response {response}")
        self.address = address
        self.response = response
        self.write = write


class RegisterError(Exception):
    """A register access that the hardware answers with SLVERR; nothing changes."""


class Memory(Protocol):
    """Device memory, byte addressed."""

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return nbytes bytes (uint8, a copy). Raises BusError."""

    def write(self, address: int, data: np.ndarray) -> None:
        """Store a uint8 array. Raises BusError."""


@dataclass
class Link:
    """A stream between two engines; words are integers, `last` is kept beside each."""

    words: deque[tuple[int, bool]] = field(default_factory=deque)

    def put(self, word: int, last: bool = False) -> None:
        self.words.append((word, last))

    def clear(self) -> None:
        self.words.clear()


@dataclass(slots=True)
class JobEnd:
    """How a job ended: the contents of its completion record and of the error registers.

    Attributes:
        error: 0 ok, else the error code.
        detail: 16 bits, engine defined.
        count: operations or steps done.
        info0, info1: ERR_INFO0 and ERR_INFO1 if error is not 0.
        cycles: clocks by the engine's cycle formula (an estimate; the RTL's are measured).
    """

    error: int = 0
    detail: int = 0
    count: int = 0
    info0: int = 0
    info1: int = 0
    cycles: int = 0


class EngineModel(Protocol):
    """An engine's golden model at job level."""

    rings: int

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> Self:
        """Make it of a configuration's parameters and streams, by name (its engine.yaml)."""

    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register; `idle` is the engine's idle bit. Raises RegisterError."""

    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job. Yields whenever it waits for a stream; returns how it ended.

        Args:
            ring: the ring the job came from.
            descriptor: [16] uint32 (or longer where the engine's page says so), not a NOP.
            memory: the device memory.
        """

    def soft_reset(self) -> None:
        """Drop unfinished jobs and empty the links; persistent state stays."""

    def link_clear(self) -> None:
        """The other end of a link was reset: drop what is held of the links."""
