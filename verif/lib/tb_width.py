"""Tests of jd_stream_width: the same units in the same order, in words of another width."""

from __future__ import annotations

from collections.abc import Iterator

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, bursts
from verif.bench import parameters, reset, rng, start
from verif.scoreboard import Scoreboard

UNITS = 600
FIELDS = ("data", "count")


class Shape:
    """What the parameters say: bits of a unit, units of a wide word, and the direction."""

    def __init__(self) -> None:
        p = parameters()
        self.wider = p["InW"] < p["OutW"]
        self.bits = min(p["InW"], p["OutW"])
        self.units = max(p["InW"], p["OutW"]) // self.bits


class Units(Scoreboard):
    """Compares words by the units that count; the golden model joins units or takes words apart."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent, model=self.convert)
        self.shape = Shape()
        self.held: list[int] = []
        self.counts: set[int] = set()  # of the words that came out

    def convert(self, item: StreamItem) -> Iterator[StreamItem]:
        """The words that end with this one."""
        shape = self.shape
        if shape.wider:
            self.held.append(item.data)
            if len(self.held) == shape.units:
                yield self.word()
            return
        for unit in range(item.count):
            mask = (1 << shape.bits) - 1
            yield StreamItem(data=item.data >> unit * shape.bits & mask, count=1)

    def word(self) -> StreamItem:
        """What is held, as a word."""
        data = sum(unit << k * self.shape.bits for k, unit in enumerate(self.held))
        word = StreamItem(data=data, count=len(self.held))
        self.held = []
        return word

    def observe(self, item: StreamItem) -> None:
        """Compare a word's units."""
        self.counts.add(item.count)
        mask = (1 << item.count * self.shape.bits) - 1
        super().observe(StreamItem(data=item.data & mask, count=item.count))

    def clear(self) -> None:
        """Forget what is held, too."""
        super().clear()
        self.held = []


class Environment(uvm_env):
    """Source, sink, scoreboard."""

    def __init__(self, name: str, parent: uvm_component, source: Pattern, sink: Pattern) -> None:
        super().__init__(name, parent)
        self.patterns = (source, sink)

    def build_phase(self) -> None:
        """Make the parts."""
        dut = cocotb.top
        source, sink = self.patterns
        self.source = StreamAgent("source", self, StreamBus(dut, "in", FIELDS), "source", source)
        self.sink = StreamAgent("sink", self, StreamBus(dut, "out", FIELDS), "sink", sink)
        self.scoreboard = Units("scoreboard", self)

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.source.ap.connect(self.scoreboard.inputs)
        self.sink.ap.connect(self.scoreboard.outputs)


class WidthTest(uvm_test):
    """Base of the tests: patterns, clock, and the words."""

    def patterns(self) -> tuple[Pattern, Pattern]:
        """Idle clocks of the source, back-pressure of the sink."""
        longest = Shape().units + 3
        return bursts(rng("in"), longest, longest), bursts(rng("out"), longest, longest)

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.shape = Shape()
        self.environment = Environment("environment", self, *self.patterns())
        self.random = rng("words")

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        self.dut.clear_i.value = 0
        self.dut.flush_i.value = int(not self.shape.wider)  # to narrower words it says nothing
        await start(self.dut)
        await self.body()
        self.drop_objection()

    def words(self, units: int, whole: bool = False) -> Iterator[StreamItem]:
        """Random words of so many units together, some of them not whole."""
        shape = self.shape
        while units:
            most = 1 if shape.wider else min(units, shape.units)
            count = most if whole or self.random.random() < 0.5 else self.random.randint(1, most)
            units -= count
            bits = shape.bits if shape.wider else shape.bits * shape.units
            yield StreamItem(data=self.random.getrandbits(bits), count=count)

    async def send(self, units: int, whole: bool = False) -> None:
        """Send so many units, and flush; all come out."""
        scoreboard, dut = self.environment.scoreboard, self.dut
        sequence = StreamSequence(self.words(units, whole))
        await sequence.start(self.environment.source.sequencer)
        await RisingEdge(dut.clk_i)
        if self.shape.wider:
            await ClockCycles(dut.clk_i, self.random.randint(0, 3))
            dut.flush_i.value = 1
            if scoreboard.held:
                scoreboard.expect(scoreboard.word())
            await RisingEdge(dut.clk_i)
        await scoreboard.drain(dut.clk_i, 2000)
        dut.flush_i.value = int(not self.shape.wider)
        await RisingEdge(dut.clk_i)
        assert not dut.out_valid_o.value

    async def body(self) -> None:
        """Random words, in runs of all lengths."""
        for units in range(1, 2 * self.shape.units + 2):
            await self.send(units)
        await self.send(UNITS)
        counts = self.environment.scoreboard.counts
        assert counts == (set(range(1, self.shape.units + 1)) if self.shape.wider else {1})


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(WidthTest):
    """Runs and pauses of both sides."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(WidthTest):
    """Without pauses a unit per clock."""

    def patterns(self) -> tuple[Pattern, Pattern]:
        """No pauses."""
        return always(), always()

    async def body(self) -> None:
        """Count the clocks of 20 wide words, from the first unit in to the last out."""
        task = cocotb.start_soon(self.clocks(20 if self.shape.wider else 20 * self.shape.units))
        await self.send(20 * self.shape.units, whole=True)
        assert await task == 20 * self.shape.units + (not self.shape.wider)

    async def clocks(self, words: int) -> int:
        """Clocks from the first word in to the last of so many out, both counted."""
        clocks, out = 0, 0
        while out < words:
            await RisingEdge(self.dut.clk_i)
            clocks += bool(clocks or self.dut.in_valid_i.value)
            out += bool(self.dut.out_valid_o.value)
            assert clocks < 10_000
        return clocks


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Room(WidthTest):
    """While nothing is taken: all but a word's last unit go in, or one word."""

    def patterns(self) -> tuple[Pattern, Pattern]:
        """The sink waits first."""

        def late() -> Pattern:
            yield 0, 200
            yield from always()

        return always(), late()

    async def body(self) -> None:
        """Count what goes in during the first clocks."""
        task = cocotb.start_soon(self.send(3 * self.shape.units, whole=True))
        await ClockCycles(self.dut.clk_i, 150)
        monitor = self.environment.source.monitor
        assert monitor.count == (self.shape.units - 1 if self.shape.wider else 1)
        await task


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(WidthTest):
    """A reset or a clear drops what is held; what comes after it is complete."""

    async def body(self) -> None:
        """Interrupt the traffic at random, by reset and by clear in turn."""
        dut, scoreboard = self.dut, self.environment.scoreboard
        for attempt in range(8):
            sequence = StreamSequence(self.words(UNITS))
            task = cocotb.start_soon(sequence.start(self.environment.source.sequencer))
            await ClockCycles(dut.clk_i, self.random.randint(5, 60))
            sequence.stop()
            if attempt % 2:
                await reset(dut, self.random.randint(1, 3))
                await task
            else:
                await task
                dut.clear_i.value = 1
                await RisingEdge(dut.clk_i)
                dut.clear_i.value = 0
            await RisingEdge(dut.clk_i)
            assert not dut.out_valid_o.value and dut.in_ready_o.value
            scoreboard.clear()
            await self.send(3 * self.shape.units + 1)
