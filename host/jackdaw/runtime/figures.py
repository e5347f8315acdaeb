"""Figures of a run over all of its parts, without what the device does for checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jackdaw import ranges
from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver

Counts = dict[str, dict[str, int]]


class Figures:
    """Clocks and counters of a run's work: what passes inside `working` blocks.

    Attributes:
        clocks: of all blocks.
        counts: engine -> counter -> its sum over all blocks; empty on a device that has none.
    """

    def __init__(self, device: Device, *drivers: EngineDriver) -> None:
        self._device, self._drivers = device, drivers
        self.clocks = 0
        self.counts: Counts = {}
        self._begun = self._read()  # of the work since then, and of nothing else

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the clocks inside."""
        start = self._device.cycles()
        try:
            yield
        finally:
            self.clocks += self._device.cycles() - start

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave out of the counters what the engines do inside."""
        self.counts = self._sum()
        try:
            yield
        finally:
            self._begun = self._read()

    def per_engine(self) -> Counts | None:
        """The engines' counters; None on a device that has none."""
        return self._sum() if self._device.measured else None

    def state(self) -> dict[str, Any]:
        """What a later part of the run starts with."""
        return {"clocks": self.clocks, "counts": self._sum()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.clocks = ranges.whole("clocks", state["clocks"], 0)
        self.counts = {engine: dict(found) for engine, found in state["counts"].items()}
        self._begun = self._read()

    def _read(self) -> Counts:
        if not self._device.measured:
            return {}
        return {
            driver.info.name: {
                name.lower(): value
                for name, value in EngineDriver.counters(driver).items()
                if name != "CYCLES"
            }
            for driver in self._drivers
        }

    def _sum(self) -> Counts:
        """Counts so far."""
        return {
            engine: {
                name: self.counts.get(engine, {}).get(name, 0) + value - self._begun[engine][name]
                for name, value in found.items()
            }
            for engine, found in self._read().items()
        }


class Elapsed:
    """Clocks of a device over all parts of a run, where jobs are under way between its calls.

    Args:
        device: an open device.
        before: clocks of the earlier parts.
    """

    def __init__(self, device: Device, before: int = 0) -> None:
        self._device = device
        self._offset = ranges.whole("clocks", before, 0) - device.cycles()

    @property
    def clocks(self) -> int:
        """Clocks so far."""
        return self._offset + self._device.cycles()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave out the clocks inside."""
        clocks = self.clocks
        try:
            yield
        finally:
            self._offset = clocks - self._device.cycles()
