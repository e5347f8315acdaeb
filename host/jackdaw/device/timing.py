"""How fast the simulated device's memory is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from jackdaw.errors import ConfigError
from jackdaw.ranges import STEPS_MAX, refused, whole


@dataclass(frozen=True)
class MemoryTiming:
    """Latency and bandwidth of the simulated memory, for each port.

    Attributes:
        latency: clocks from a read's address to its first beat, and from a write's last beat to its
            response; 1 or more.
        read, write: beats of 64 bytes per clock, above 0 and at most 1.
        shared: beats per clock of both together; None: separate channels.
        max_delay: every burst waits up to so many more clocks, drawn from the device's seed.
    """

    latency: int = 64
    read: Fraction = Fraction(1)
    write: Fraction = Fraction(1)
    shared: Fraction | None = None
    max_delay: int = 0

    def __post_init__(self) -> None:
        """Raises ConfigError if a number is invalid."""
        whole("memory latency", self.latency, 1, STEPS_MAX)
        whole("memory max_delay", self.max_delay, 0, STEPS_MAX)
        for name, most in (("read", 1), ("write", 1), ("shared", 2)):
            value = getattr(self, name)
            if value is None and name == "shared":
                continue
            if not isinstance(value, Fraction) or not 0 < value <= most:
                raise refused(f"memory {name}", value, f"a Fraction above 0, at most {most} beat")


MEMORIES = {
    "D": MemoryTiming(),
    "S": MemoryTiming(shared=Fraction(1)),
    "Q": MemoryTiming(shared=Fraction(3, 2)),
    "I": MemoryTiming(latency=1),
}


def memory_timing(memory: str | MemoryTiming) -> MemoryTiming:
    """A timing, or the preset of a name. Raises: ConfigError."""
    if isinstance(memory, MemoryTiming):
        return memory
    if not isinstance(memory, str) or memory not in MEMORIES:
        raise ConfigError(f"memory: got {memory!r}, want one of {', '.join(MEMORIES)}")
    return MEMORIES[memory]
