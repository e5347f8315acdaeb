"""Agents that the benches of a unit and of its update share: turns of updates, and what is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge
from pyuvm import uvm_analysis_port, uvm_component, uvm_monitor, uvm_subscriber

from verif.bench import Activity, clock_number, rng


class Watcher(uvm_subscriber):
    """Calls back with each item of an agent or a monitor."""

    def __init__(
        self, name: str, parent: uvm_component, agent: Any, callback: Callable[[Any], None]
    ) -> None:
        super().__init__(name, parent)
        self.agent, self.callback = agent, callback

    def connect_phase(self) -> None:
        """Listen."""
        self.agent.ap.connect(self.analysis_export)

    def write(self, item: Any) -> None:
        """One item."""
        self.callback(item)


@dataclass(frozen=True)
class Turn:
    """Rows of a layer that may be read.

    Attributes:
        ticket, layer, behind: as asked for.
        clock: in which it was given.
        waited: it was not given at once.
    """

    ticket: int
    layer: int
    behind: int
    clock: int
    waited: bool


class Turns(uvm_component):
    """Answers whether a layer's turn has come: at once or late; while nothing is asked, anything.

    Args:
        patience: longest wait, clocks; 0: it is always a layer's turn.
    """

    def __init__(self, name: str, parent: uvm_component, dut: Any, patience: int) -> None:
        super().__init__(name, parent)
        self.dut, self.patience = dut, patience
        self.draw = rng("turns")
        self.given: deque[Turn] = deque(maxlen=64)

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    def begun(self, ticket: int, layer: int, behind: int, clock: int) -> bool:
        """Whether rows before `behind` of a layer might be read in a clock."""
        return any(
            (turn.ticket, turn.layer) == (ticket, layer)
            and behind <= turn.behind
            and clock > turn.clock
            for turn in self.given
        )

    async def run_phase(self) -> None:
        """Look at what is asked in each clock."""
        dut, edge = self.dut, RisingEdge(self.dut.clk_i)
        dut.order_go_i.value = 0
        activity = Activity([dut.order_valid_o], dut.rst_ni)
        asked: tuple[int, ...] | None = None
        wait = late = 0
        while True:
            if not dut.order_valid_o.value:
                asked = None
                await activity.wait()
            await edge
            if not (dut.order_valid_o.value and dut.rst_ni.value):
                asked = None
                dut.order_go_i.value = self.draw.getrandbits(1)
                continue
            pins = (dut.order_ticket_o, dut.order_layer_o, dut.order_behind_o)
            ticket, layer, behind = now = tuple(int(pin.value) for pin in pins)
            if now != asked:
                asked = now
                wait = late = self.draw.choice((0, self.draw.randint(0, self.patience)))
            if wait == 0:
                self.given.append(Turn(ticket, layer, behind, clock_number(), late > 0))
                self.ap.write(self.given[-1])
            wait -= 1
            dut.order_go_i.value = int(wait < 0)


@dataclass(frozen=True)
class Told:
    """What an update tells: all of a layer is written, or its rows before `behind` are."""

    layer: int
    behind: int | None = None


class Progress(uvm_monitor):
    """Writes a Told whenever rows or layers are told of."""

    def __init__(self, name: str, parent: uvm_component, dut: Any) -> None:
        super().__init__(name, parent)
        self.dut = dut

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        """Look at both in each clock."""
        dut, edge = self.dut, RisingEdge(self.dut.clk_i)
        activity = Activity([dut.written_valid_o, dut.layer_done_o], dut.rst_ni)
        before: Told | None = None
        while True:
            if before is None:
                await activity.wait()
            await edge
            if not dut.rst_ni.value:
                before = None
                continue
            now = None
            if dut.written_valid_o.value:
                now = Told(int(dut.written_layer_o.value), int(dut.written_behind_o.value))
                if now != before:
                    self.ap.write(now)
            before = now
            if dut.layer_done_o.value:
                self.ap.write(Told(int(dut.layer_done_layer_o.value)))
