"""Tests of jd_stream_fork: every word once to every taker, and nobody waits for another."""

from __future__ import annotations

from collections import Counter

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, bursts
from verif.bench import parameters, reset, rng, start
from verif.coverage import Coverage

WORDS = 300


class WaitCoverage(Coverage):
    """Words left at once, and after each taker alone was waited for."""

    def __init__(self, name: str, parent: uvm_component, takers: int, enforce: bool) -> None:
        bins = {"at_once": lambda missing: not missing}
        if takers > 1:
            for taker in range(takers):
                bins[f"for{taker}"] = lambda missing, taker=taker: missing == {taker}
        super().__init__(name, parent, "lib.fork", {"waits": bins}, enforce=enforce)


class Environment(uvm_env):
    """A source, a sink for each taker; each clock is compared with the rule."""

    def __init__(self, name: str, parent: uvm_component, paused: bool, enforce: bool) -> None:
        super().__init__(name, parent)
        self.paused = paused
        self.enforce = enforce
        self.left = 0  # words
        self.taken: Counter[int] = Counter()  # by taker

    def _pattern(self, what: str) -> Pattern:
        return bursts(rng(what), 3, 3) if self.paused else always()

    def build_phase(self) -> None:
        """Make the agents."""
        dut, takers = cocotb.top, parameters()["Takers"]
        self.source = StreamAgent(
            "source", self, StreamBus(dut, "in"), "source", self._pattern("in")
        )
        self.sinks = [
            StreamAgent(
                f"sink{t}", self, StreamBus(dut, "out", index=t), "sink", self._pattern(f"out{t}")
            )
            for t in range(takers)
        ]
        self.coverage = WaitCoverage("coverage", self, takers, self.enforce)

    async def run_phase(self) -> None:
        """Each taker is offered the word until it took it; the word leaves when all have it."""
        dut, takers = cocotb.top, parameters()["Takers"]
        everybody = set(range(takers))
        have: set[int] = set()
        while True:
            await RisingEdge(dut.clk_i)
            if not dut.rst_ni.value:
                have.clear()
                continue
            valid = bool(dut.in_valid_i.value)
            offered = {t for t in everybody if dut.out_valid_o[t].value}
            assert offered == (everybody - have if valid else set())
            self.coverage.sample(everybody - have if valid and have else set())
            for t in offered:
                if dut.out_ready_i[t].value:
                    assert dut.out_data_o[t].value == dut.in_data_i.value
                    have.add(t)
                    self.taken[t] += 1
            if valid:
                leaves = bool(dut.in_ready_o.value)
                assert leaves == (have == everybody), f"ready {leaves}, taken by {have}"
                if leaves:
                    self.left += 1
                    have.clear()


class ForkTest(uvm_test):
    """Base of the tests."""

    paused = True
    enforce = True

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.environment = Environment("environment", self, self.paused, self.enforce)
        self.random = rng("words")

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await start(self.dut)
        await self.body()
        self.drop_objection()

    def words(self, count: int) -> StreamSequence:
        """Random words."""
        width = parameters()["Width"]
        return StreamSequence(StreamItem(data=self.random.getrandbits(width)) for _ in range(count))

    async def send(self, count: int) -> None:
        """Send so many words; all leave, and every taker has them."""
        environment = self.environment
        left, taken = environment.left, dict(environment.taken)
        await self.words(count).start(environment.source.sequencer)
        await RisingEdge(self.dut.clk_i)
        assert environment.left == left + count
        for t in range(parameters()["Takers"]):
            assert environment.taken[t] == taken.get(t, 0) + count

    async def body(self) -> None:
        """Random words."""
        await self.send(WORDS)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(ForkTest):
    """Runs and pauses of all sides."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(ForkTest):
    """Without pauses a word per clock."""

    paused = False
    enforce = False

    async def body(self) -> None:
        """Count the clocks of 100 words."""
        task = cocotb.start_soon(self.span(100))
        await self.send(100)
        assert await task == 100

    async def span(self, words: int) -> int:
        """Clocks from the first to the last of so many words, both counted."""
        clocks = seen = 0
        while seen < words:
            await RisingEdge(self.dut.clk_i)
            seen += bool(self.dut.in_valid_i.value and self.dut.in_ready_o.value)
            clocks += bool(seen)
            assert clocks < 10 * words
        return clocks


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(ForkTest):
    """A reset while some takers have a word: the next word goes to all."""

    enforce = False

    async def body(self) -> None:
        """Traffic, reset in it, traffic, several times."""
        for _ in range(8):
            words = self.words(WORDS)
            task = cocotb.start_soon(words.start(self.environment.source.sequencer))
            await ClockCycles(self.dut.clk_i, self.random.randint(5, 40))
            words.stop()
            await reset(self.dut, self.random.randint(1, 3))
            await task
            await RisingEdge(self.dut.clk_i)
            await self.send(20)
