"""Agents for valid/ready streams, built on cocotb-bus.

A stream is a prefix and its payload fields: ports `in_valid_i in_ready_o in_data_i in_last_i` are
`StreamBus(dut, "in", ("data", "last"))`. A *source* agent drives words from its sequencer; a *sink*
agent drives ready; a *passive* one only watches. All three have a monitor whose `ap` writes a
`StreamItem` for each word that moved.

    class Environment(uvm_env):
        def build_phase(self):
            dut = cocotb.top
            self.source = StreamAgent("source", self, StreamBus(dut, "in", ("data",)), "source",
                                      random_pauses(rng("source")))
            self.sink = StreamAgent("sink", self, StreamBus(dut, "out", ("data",)), "sink",
                                    random_pauses(rng("sink"), busy=0.3))
            self.scoreboard = Scoreboard("scoreboard", self, model=lambda item: [item])
        def connect_phase(self):
            self.source.ap.connect(self.scoreboard.inputs)
            self.sink.ap.connect(self.scoreboard.outputs)

    words = StreamSequence(StreamItem(data=value) for value in range(100))
    await words.start(environment.source.sequencer)

A reset drops the word that a source is about to send; its sequence goes on with the next one when
the reset ends. For a reset in mid-traffic: `stop()` the sequences, reset, `clear()` the scoreboard.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge
from cocotb_bus.drivers import BitDriver, BusDriver
from cocotb_bus.monitors import BusMonitor
from pyuvm import (
    uvm_agent,
    uvm_analysis_port,
    uvm_component,
    uvm_driver,
    uvm_monitor,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
)

from verif.agents.bus import Ports
from verif.agents.timing import Pattern, always
from verif.bench import rng

ROLES = ("source", "sink", "passive")


@dataclass(frozen=True)
class StreamBus:
    """Where a stream is.

    Attributes:
        entity: cocotb handle of the design; it has clk_i and rst_ni.
        prefix: common part of the port names.
        fields: payload ports, by their names after the prefix.
        index: element, where the ports are unpacked arrays.
        ready: False for a pipe: every valid word moves.
    """

    entity: Any
    prefix: str
    fields: tuple[str, ...] = ("data",)
    index: int | None = None
    ready: bool = True

    @property
    def name(self) -> str:
        """Prefix and index, for messages."""
        return self.prefix if self.index is None else f"{self.prefix}[{self.index}]"

    @property
    def signals(self) -> list[str]:
        """Port names after the prefix."""
        return ["valid", *(["ready"] if self.ready else []), *self.fields]

    @property
    def ports(self) -> Ports:
        """The design's ports by plain names."""
        return Ports(self.entity, self.index)


class StreamItem(uvm_sequence_item):
    """One word: its fields are attributes (unsigned integers); equal if all fields are."""

    def __init__(self, name: str = "word", /, **fields: int) -> None:
        super().__init__(name)
        self.fields = {key: int(value) for key, value in fields.items()}

    def __getattr__(self, name: str) -> int:
        if name != "fields" and name in self.__dict__.get("fields", ()):
            return self.fields[name]
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamItem) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return ", ".join(f"{key}={value:#x}" for key, value in self.fields.items())

    __repr__ = __str__


class _SourcePins(BusDriver):
    """Drives one word after another; junk is on the payload while valid is low."""

    def __init__(self, bus: StreamBus, pattern: Pattern, generator: random.Random) -> None:
        self._signals = bus.signals
        self.fields = bus.fields
        self.pattern = pattern
        self.willing = 0
        self.random = generator
        super().__init__(bus.ports, bus.prefix, bus.entity.clk_i)
        self.reset_n = bus.entity.rst_ni
        self._idle()

    def _idle(self) -> None:
        self.bus.valid.value = 0
        for name in self.fields:
            handle = getattr(self.bus, name)
            handle.value = self.random.getrandbits(len(handle))

    async def _pause(self) -> bool:
        """Idle as the pattern says; returns whether a reset came meanwhile."""
        dropped = False
        while self.willing == 0:
            self.willing, off = next(self.pattern)
            for _ in range(off):
                await RisingEdge(self.clock)
                dropped = dropped or not self.reset_n.value
        self.willing -= 1
        return dropped

    async def _driver_send(self, transaction: StreamItem, sync: bool = True) -> None:
        while not self.reset_n.value:
            await RisingEdge(self.clock)
        if await self._pause():
            return
        for name, value in transaction.fields.items():
            getattr(self.bus, name).value = value
        self.bus.valid.value = 1
        while True:
            await RisingEdge(self.clock)
            if not self.reset_n.value or not hasattr(self.bus, "ready") or self.bus.ready.value:
                break
        self._idle()


class _MonitorPins(BusMonitor):
    """Calls back with each word that moves outside of reset."""

    def __init__(self, bus: StreamBus, callback: Any) -> None:
        self._signals = bus.signals
        self.fields = bus.fields
        super().__init__(
            bus.ports, bus.prefix, bus.entity.clk_i, reset_n=bus.entity.rst_ni, callback=callback
        )

    async def _monitor_recv(self) -> None:
        pins = self.bus
        payload = [(name, getattr(pins, name)) for name in self.fields]
        edge = RisingEdge(self.clock)
        has_ready = hasattr(pins, "ready")
        while True:
            await edge
            if pins.valid.value and (not has_ready or pins.ready.value) and not self.in_reset:
                self._recv(StreamItem(**{name: int(handle.value) for name, handle in payload}))


class StreamDriver(uvm_driver):
    """Drives the words of its sequencer, with the pattern's idle clocks between them."""

    def __init__(self, name: str, parent: uvm_component, bus: StreamBus, pattern: Pattern) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.pattern = pattern

    async def run_phase(self) -> None:
        """Serve the sequencer for ever."""
        pins = _SourcePins(self.bus, self.pattern, rng(f"{self.get_full_name()}.junk"))
        while True:
            item = await self.seq_item_port.get_next_item()
            await pins.send(item)
            self.seq_item_port.item_done()


class StreamReady(uvm_component):
    """Drives a stream's ready by a pattern."""

    def __init__(self, name: str, parent: uvm_component, bus: StreamBus, pattern: Pattern) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.pattern = pattern

    async def run_phase(self) -> None:
        """Start the generator of ready."""
        ready = getattr(self.bus.ports, f"{self.bus.prefix}_ready")
        self.pins = BitDriver(ready, self.bus.entity.clk_i, self.pattern)
        self.pins.start()

    def replace(self, pattern: Pattern) -> None:
        """Go on with another pattern, from the next clock on."""
        self.pins._generator = pattern


class StreamMonitor(uvm_monitor):
    """Writes every word that moves to `ap`; `count` is how many did."""

    def __init__(self, name: str, parent: uvm_component, bus: StreamBus) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.count = 0

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        """Start watching."""
        self.pins = _MonitorPins(self.bus, self._write)

    def _write(self, item: StreamItem) -> None:
        self.count += 1
        self.ap.write(item)


class StreamAgent(uvm_agent):
    """Monitor, and by role a driver with sequencer or a driver of ready.

    Args:
        name, parent: as in UVM.
        bus: the stream.
        role: "source" (drives words), "sink" (drives ready) or "passive".
        pattern: idle clocks of a source, back-pressure of a sink; default: none.
    """

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        bus: StreamBus,
        role: str,
        pattern: Pattern | None = None,
    ) -> None:
        super().__init__(name, parent)
        if role not in ROLES:
            raise ValueError(f"role {role!r} of stream {bus.name}: want one of {ROLES}")
        self.bus = bus
        self.role = role
        self.pattern = pattern or always()

    def build_phase(self) -> None:
        """Make what the role needs."""
        super().build_phase()
        self.monitor = StreamMonitor("monitor", self, self.bus)
        if self.role == "source":
            self.sequencer = uvm_sequencer("sequencer", self)
            self.driver = StreamDriver("driver", self, self.bus, self.pattern)
        elif self.role == "sink":
            self.ready = StreamReady("ready", self, self.bus, self.pattern)

    def connect_phase(self) -> None:
        """Connect the driver to the sequencer."""
        if self.role == "source":
            self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    @property
    def ap(self) -> uvm_analysis_port:
        """The monitor's analysis port."""
        return self.monitor.ap


async def send(sequence: uvm_sequence, item: uvm_sequence_item) -> None:
    """Send one item of a sequence and wait until it was driven."""
    await sequence.start_item(item)
    await sequence.finish_item(item)


class StreamSequence(uvm_sequence):
    """Sends items in order, any number of them, until it is stopped."""

    def __init__(self, items: Iterable[uvm_sequence_item], name: str = "items") -> None:
        super().__init__(name)
        self.items = items
        self.stopped = False

    def stop(self) -> None:
        """Send no more after the present item; for a reset, which drops that one."""
        self.stopped = True

    async def body(self) -> None:
        """Send them."""
        for item in self.items:
            if self.stopped:
                return
            await send(self, item)
