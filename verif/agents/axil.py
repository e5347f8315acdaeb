"""Agent for AXI4-Lite control, built on cocotbext-axi's AxiLiteMaster.

    self.control = AxilAgent("control", self, AxilBus(dut, "s_axil"))     # build_phase
    value = await self.control.read(0x100)                                # raises AxilError
    await self.control.write(0x104, 7)
    item = await self.control.access(AxilItem(0xFFC))                     # item.response == 2

`read`, `write` and `access` go through the agent's sequencer, so sequences may send `AxilItem`s at
the same time. The monitor's `ap` writes an `AxilItem` for each access that was answered, in the
order of the answers; it watches the pins, not the driver.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from pyuvm import (
    uvm_agent,
    uvm_analysis_port,
    uvm_component,
    uvm_driver,
    uvm_monitor,
    uvm_sequence_item,
    uvm_sequencer,
)

from verif.agents.bus import Ports
from verif.agents.stream import StreamSequence
from verif.agents.timing import Pattern, pauses
from verif.bench import Activity, within

PINS = (
    *("awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "wstrb"),
    *("bvalid", "bready", "bresp"),
    *("arvalid", "arready", "araddr", "rvalid", "rready", "rdata", "rresp"),
)
RESPONSES = {0: "OKAY", 1: "EXOKAY", 2: "SLVERR", 3: "DECERR"}


class AxilError(AssertionError):
    """An access was not answered with OKAY."""


@dataclass(frozen=True)
class AxilBus:
    """Where an AXI4-Lite slave port is.

    Attributes:
        entity: cocotb handle of the design; it has clk_i and rst_ni.
        prefix: common part of the port names.
        index: element, where the ports are unpacked arrays.
        timeout: clocks that one access may take.
    """

    entity: Any
    prefix: str = "s_axil"
    index: int | None = None
    timeout: int = 10_000

    @property
    def ports(self) -> Ports:
        """The design's ports by plain names."""
        return Ports(self.entity, self.index)


class AxilItem(uvm_sequence_item):
    """One access.

    Attributes:
        address: bytes.
        data: 32 bits, to write or, after the access, as read.
        is_write: the direction.
        strobes: bytes to write, one bit each; a run of neighbours.
        response: 0 OKAY, 2 SLVERR, 3 DECERR; None until answered.
    """

    def __init__(self, address: int, data: int | None = None, strobes: int = 0xF) -> None:
        super().__init__("access")
        self.address = address
        self.is_write = data is not None
        self.data = data or 0
        self.strobes = strobes
        self.response: int | None = None

    def __str__(self) -> str:
        kind = "write" if self.is_write else "read"
        answer = "" if self.response is None else f" {RESPONSES[self.response]}"
        return f"{kind} {self.address:#x} {self.data:#010x}{answer}"

    def _key(self) -> tuple[Any, ...]:
        return (self.address, self.is_write, self.data, self.strobes, self.response)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AxilItem) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]


class AxilDriver(uvm_driver):
    """Makes the accesses of its sequencer, one after another."""

    def __init__(self, name: str, parent: uvm_component, bus: AxilBus) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.master: AxiLiteMaster | None = None

    async def run_phase(self) -> None:
        """Serve the sequencer for ever."""
        logging.getLogger(f"cocotb.{self.bus.entity._name}").setLevel(logging.ERROR)
        self.master = AxiLiteMaster(
            AxiLiteBus.from_prefix(self.bus.ports, self.bus.prefix),
            self.bus.entity.clk_i,
            self.bus.entity.rst_ni,
            reset_active_level=False,
        )
        while True:
            item = await self.seq_item_port.get_next_item()
            await within(str(item), self.bus.entity.clk_i, self.bus.timeout, self._access(item))
            self.seq_item_port.item_done()

    async def _access(self, item: AxilItem) -> None:
        assert self.master is not None
        if item.is_write:
            first = (item.strobes & -item.strobes).bit_length() - 1
            count = item.strobes.bit_count()
            if item.strobes != ((1 << count) - 1) << first or not count:
                raise ValueError(f"strobes {item.strobes:#x}: want a run of neighbours")
            data = item.data.to_bytes(4, "little")[first : first + count]
            answer = await self.master.write(item.address + first, data)
        else:
            answer = await self.master.read(item.address, 4)
            item.data = int.from_bytes(answer.data, "little")
        item.response = int(answer.resp)

    def pause(self, pattern: Pattern, response: Pattern) -> None:
        """Insert idle clocks before requests, and hold responses back."""
        assert self.master is not None, "pause() needs a running driver"
        for channel in (
            self.master.write_if.aw_channel,
            self.master.write_if.w_channel,
            self.master.read_if.ar_channel,
        ):
            channel.set_pause_generator(pauses(pattern))
        for channel in (self.master.write_if.b_channel, self.master.read_if.r_channel):
            channel.set_pause_generator(pauses(response))


class AxilMonitor(uvm_monitor):
    """Writes each answered access to `ap`."""

    def __init__(self, name: str, parent: uvm_component, bus: AxilBus) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.count = 0

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        """Watch the five channels."""
        ports, prefix = self.bus.ports, self.bus.prefix
        pin = {name: getattr(ports, f"{prefix}_{name}") for name in PINS}
        addresses: deque[int] = deque()
        words: deque[tuple[int, int]] = deque()
        reads: deque[int] = deque()
        edge = RisingEdge(self.bus.entity.clk_i)
        valids = [pin[f"{channel}valid"] for channel in ("aw", "w", "b", "ar", "r")]
        activity = Activity(valids, self.bus.entity.rst_ni)

        def moved(channel: str) -> bool:
            return bool(pin[f"{channel}valid"].value and pin[f"{channel}ready"].value)

        while True:
            await activity.wait()
            await edge
            if not self.bus.entity.rst_ni.value:
                addresses.clear()
                words.clear()
                reads.clear()
                continue
            if moved("b"):
                assert addresses and words, f"{self.get_full_name()}: response without a write"
                data, strobes = words.popleft()
                self._finish(AxilItem(addresses.popleft() & ~3, data, strobes), pin["bresp"])
            if moved("r"):
                assert reads, f"{self.get_full_name()}: read data without a read"
                item = AxilItem(reads.popleft())
                item.data = int(pin["rdata"].value)
                self._finish(item, pin["rresp"])
            if moved("aw"):
                addresses.append(int(pin["awaddr"].value))
            if moved("w"):
                words.append((int(pin["wdata"].value), int(pin["wstrb"].value)))
            if moved("ar"):
                reads.append(int(pin["araddr"].value))

    def _finish(self, item: AxilItem, response: Any) -> None:
        item.response = int(response.value)
        self.count += 1
        self.ap.write(item)


class AxilAgent(uvm_agent):
    """Sequencer, driver and monitor of an AXI4-Lite slave port."""

    def __init__(self, name: str, parent: uvm_component, bus: AxilBus) -> None:
        super().__init__(name, parent)
        self.bus = bus

    def build_phase(self) -> None:
        """Make the parts."""
        super().build_phase()
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = AxilDriver("driver", self, self.bus)
        self.monitor = AxilMonitor("monitor", self, self.bus)

    def connect_phase(self) -> None:
        """Connect the driver to the sequencer."""
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    @property
    def ap(self) -> uvm_analysis_port:
        """The monitor's analysis port."""
        return self.monitor.ap

    async def access(self, item: AxilItem) -> AxilItem:
        """Make one access; the item returns with its response and data. Raises: TimeoutError."""
        await StreamSequence([item]).start(self.sequencer)
        return item

    async def read(self, address: int) -> int:
        """Read a register. Raises: AxilError, TimeoutError."""
        item = await self.access(AxilItem(address))
        if item.response:
            raise AxilError(str(item))
        return item.data

    async def write(self, address: int, data: int) -> None:
        """Write a register. Raises: AxilError, TimeoutError."""
        item = await self.access(AxilItem(address, data))
        if item.response:
            raise AxilError(str(item))
