"""Tests of jd_stream_skid, _slice and _fifo: same words, same order, under any timing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, bursts, random_pauses
from verif.bench import parameters, reset, rng, start
from verif.coverage import Coverage
from verif.scoreboard import Scoreboard

WORDS = 400


def depth() -> int:
    """Words that the block holds; a slice one for each direction that it cuts."""
    p = parameters()
    return p["Forward"] + p["Backward"] if "Forward" in p else p.get("Depth", 2)


def latency() -> int:
    """Clocks from a word's input to its output, in an empty block."""
    return parameters().get("Forward", 1 if depth() <= 2 else 2)


@dataclass(frozen=True)
class Level:
    """A clock of the block: words held, and which sides moved."""

    held: int
    in_moved: bool
    out_moved: bool


class LevelCoverage(Coverage):
    """The block was empty, full, and both sides moved at once in between."""

    def __init__(self, name: str, parent: uvm_component, depth: int) -> None:
        super().__init__(
            name,
            parent,
            "lib.stream",
            {
                "level": {
                    "empty": lambda level: level.held == 0,
                    "full": lambda level: level.held == depth,
                },
                "move": {
                    "in": lambda level: level.in_moved and not level.out_moved,
                    "out": lambda level: level.out_moved and not level.in_moved,
                    "none_full": lambda level: level.held == depth and not level.out_moved,
                    **({"both": lambda level: level.in_moved and level.out_moved} if depth > 1
                       else {}),
                },
            },
        )  # fmt: skip


class Environment(uvm_env):
    """Source, sink, scoreboard and coverage."""

    def __init__(
        self, name: str, parent: uvm_component, source: Pattern, sink: Pattern, enforce: bool
    ) -> None:
        super().__init__(name, parent)
        self.patterns = (source, sink)
        self.enforce = enforce
        self.held = 0

    def build_phase(self) -> None:
        """Make the parts."""
        dut = cocotb.top
        self.source = StreamAgent("source", self, StreamBus(dut, "in"), "source", self.patterns[0])
        self.sink = StreamAgent("sink", self, StreamBus(dut, "out"), "sink", self.patterns[1])
        self.scoreboard = Scoreboard("scoreboard", self, model=lambda item: [item])
        self.coverage = LevelCoverage("coverage", self, depth())
        self.coverage.enforce = self.enforce

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.source.ap.connect(self.scoreboard.inputs)
        self.sink.ap.connect(self.scoreboard.outputs)

    async def run_phase(self) -> None:
        """Check the count against the words that moved, every clock; sample the coverage."""
        dut = cocotb.top
        while True:
            await RisingEdge(dut.clk_i)
            if not dut.rst_ni.value or (hasattr(dut, "clear_i") and dut.clear_i.value):
                self.held = 0
                continue
            if hasattr(dut, "count_o"):
                count = int(dut.count_o.value)
                assert count == self.held, f"count_o {count}, holds {self.held}"
            level = Level(
                self.held,
                bool(dut.in_valid_i.value and dut.in_ready_o.value),
                bool(dut.out_valid_o.value and dut.out_ready_i.value),
            )
            self.coverage.sample(level)
            self.held += level.in_moved - level.out_moved


class StreamTest(uvm_test):
    """Base of the tests: patterns, clock, and the words."""

    enforce = True

    def patterns(self) -> tuple[Pattern, Pattern]:
        """Idle clocks of the source, back-pressure of the sink."""
        return random_pauses(rng("in"), 0.6), random_pauses(rng("out"), 0.6)

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.environment = Environment("environment", self, *self.patterns(), self.enforce)
        self.random = rng("words")

    def words(self, count: int) -> Iterator[StreamItem]:
        """Random words."""
        width = parameters()["Width"]
        for _ in range(count):
            yield StreamItem(data=self.random.getrandbits(width))

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        if hasattr(self.dut, "clear_i"):
            self.dut.clear_i.value = 0
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Send random words and wait until all came."""
        await self.send(WORDS)

    async def send(self, count: int) -> None:
        """Send so many words; all come out."""
        scoreboard = self.environment.scoreboard
        compared = scoreboard.compared
        sequence = StreamSequence(self.words(count))
        await sequence.start(self.environment.source.sequencer)
        await RisingEdge(self.dut.clk_i)
        await scoreboard.drain(self.dut.clk_i, 2000)
        assert scoreboard.compared == compared + count


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(StreamTest):
    """Long runs and pauses on both sides fill and empty the block."""

    def patterns(self) -> tuple[Pattern, Pattern]:
        """Runs about as long as the block is deep."""
        longest = depth() + 4
        return bursts(rng("in"), longest, longest), bursts(rng("out"), longest, longest)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(StreamTest):
    """Without pauses the block takes and gives a word per clock (a FIFO of Depth 1 one in two)."""

    enforce = False

    def patterns(self) -> tuple[Pattern, Pattern]:
        """No pauses."""
        return always(), always()

    async def body(self) -> None:
        """Count the clocks from the first word in to the last word out."""
        task = cocotb.start_soon(self.clocks())
        await self.send(100)
        assert await task == (200 if parameters().get("Depth") == 1 else 100 + latency())

    async def clocks(self) -> int:
        """Clocks from the first word in to the last of 100 out, both counted."""
        clocks, out = 0, 0
        while out < 100:
            await RisingEdge(self.dut.clk_i)
            clocks += bool(clocks or self.dut.in_valid_i.value)
            out += bool(self.dut.out_valid_o.value)
            assert clocks < 1000
        return clocks


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(StreamTest):
    """A reset or a clear empties the block; what comes after it is complete."""

    enforce = False

    async def body(self) -> None:
        """Interrupt the traffic at random, by reset and by clear in turn."""
        scoreboard = self.environment.scoreboard
        for attempt in range(6):
            sequence = StreamSequence(self.words(WORDS))
            task = cocotb.start_soon(sequence.start(self.environment.source.sequencer))
            await ClockCycles(self.dut.clk_i, self.random.randint(5, 60))
            sequence.stop()
            if attempt % 2 or not hasattr(self.dut, "clear_i"):
                await reset(self.dut, self.random.randint(1, 3))
                await task
            else:
                await task
                self.dut.clear_i.value = 1
                await RisingEdge(self.dut.clk_i)
                self.dut.clear_i.value = 0
            scoreboard.clear()
            await RisingEdge(self.dut.clk_i)
            assert not self.dut.out_valid_o.value
            scoreboard.clear()
            await self.send(20)


@pyuvm.test(timeout_time=1, timeout_unit="ms", expect_error=AssertionError)
class WrongModel(StreamTest):
    """The scoreboard fails on one wrong bit."""

    enforce = False

    def build_phase(self) -> None:
        """Take a model that flips the lowest bit of the word 7."""
        super().build_phase()
        self.seen = 0

    def connect_phase(self) -> None:
        """Put the wrong model in."""
        self.environment.scoreboard.model = self.wrong

    def wrong(self, item: StreamItem) -> list[StreamItem]:
        """The word, or at the 7th word a wrong one."""
        self.seen += 1
        return [StreamItem(data=item.data ^ (self.seen == 7))]


@pyuvm.test(timeout_time=1, timeout_unit="ms", expect_error=AssertionError)
class MissingOutput(StreamTest):
    """The scoreboard fails on an output that never comes."""

    enforce = False

    async def body(self) -> None:
        """Expect one word more than is sent."""
        await self.send(20)
        self.environment.scoreboard.expect(StreamItem(data=0))


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class MissedBin(StreamTest):
    """Too little traffic to fill the block: the coverage fails, by design."""

    async def body(self) -> None:
        """One word."""
        await self.send(1)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Unstable(uvm_test):
    """Against jd_unstable_bench: a word that changes while it waits must end the simulation."""

    async def run_phase(self) -> None:
        """Let the bench run; it breaks the rule of streams by itself."""
        self.raise_objection()
        await start(cocotb.top)
        await ClockCycles(cocotb.top.clk_i, 40)
        self.drop_objection()
