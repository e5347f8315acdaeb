"""Tests of jd_stream_arbiter: each input's words in order, fairly, one per clock."""

from __future__ import annotations

from collections import Counter, deque

import cocotb
import pyuvm
from cocotb.triggers import RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import parameters, reset, rng, start, until

WORDS = 150


class Environment(uvm_env):
    """A source for each input, one sink; outputs are compared by the input they come from."""

    def __init__(self, name: str, parent: uvm_component, paused: bool) -> None:
        super().__init__(name, parent)
        self.paused = paused
        self.want: list[deque[int]] = [deque() for _ in range(parameters()["Streams"])]
        self.compared = 0
        self.served: list[int] = []

    def _pattern(self, what: str) -> Pattern:
        return random_pauses(rng(what), 0.5) if self.paused else always()

    def build_phase(self) -> None:
        """Make the agents."""
        dut = cocotb.top
        self.sources = [
            StreamAgent(
                f"source{index}", self, StreamBus(dut, "in", index=index), "source",
                self._pattern(f"in{index}"),
            )
            for index in range(parameters()["Streams"])
        ]  # fmt: skip
        bus = StreamBus(dut, "out", ("data", "index"))
        self.sink = StreamAgent("sink", self, bus, "sink", self._pattern("out"))

    async def run_phase(self) -> None:
        """Compare each word with the oldest of its input, and watch the inputs' waits."""
        dut, streams = cocotb.top, parameters()["Streams"]
        waits: Counter[int] = Counter()
        while True:
            await RisingEdge(dut.clk_i)
            if not dut.rst_ni.value:
                waits.clear()
                for queue in self.want:
                    queue.clear()
                continue
            if dut.out_valid_o.value and dut.out_ready_i.value:
                index, data = int(dut.out_index_o.value), int(dut.out_data_o.value)
                want = self.want[index].popleft()
                assert data == want, f"input {index}: got {data:#x}, want {want:#x}"
                self.compared += 1
                self.served.append(index)
            taken = [
                index
                for index in range(streams)
                if dut.in_valid_i[index].value and dut.in_ready_o[index].value
            ]
            assert len(taken) <= 1
            for index in taken:
                self.want[index].append(int(dut.in_data_i[index].value))
                waits[index] = 0
            for index in range(streams):
                if dut.in_valid_i[index].value and taken and index not in taken:
                    waits[index] += 1
                    assert waits[index] < streams, f"input {index} was passed over"


class ArbiterTest(uvm_test):
    """Base of the tests."""

    paused = True

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.environment = Environment("environment", self, self.paused)
        self.random = rng("words")

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def send(self, count: int) -> None:
        """Send so many words at each input; all come."""
        environment, width = self.environment, parameters()["Width"]
        compared, streams = environment.compared, parameters()["Streams"]
        tasks = [
            cocotb.start_soon(
                StreamSequence(
                    [StreamItem(data=self.random.getrandbits(width)) for _ in range(count)]
                ).start(source.sequencer)
            )
            for source in environment.sources
        ]
        for task in tasks:
            await task
        want = compared + count * streams
        await until("words", self.dut.clk_i, 5000, lambda: environment.compared == want)

    async def body(self) -> None:
        """Random words on all inputs."""
        await self.send(WORDS)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(ArbiterTest):
    """Random pauses on all sides."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(ArbiterTest):
    """All inputs always offer: they are served in turn, a word per clock."""

    paused = False

    async def body(self) -> None:
        """Check the order and the clocks."""
        task = cocotb.start_soon(self.span(20 * parameters()["Streams"]))
        await self.send(20)
        assert await task == 20 * parameters()["Streams"]
        served, streams = self.environment.served, parameters()["Streams"]
        assert served == [index % streams for index in range(len(served))]

    async def span(self, words: int) -> int:
        """Clocks from the first to the last of so many words, both counted."""
        clocks = seen = 0
        while seen < words:
            await RisingEdge(self.dut.clk_i)
            seen += bool(self.dut.out_valid_o.value)
            clocks += bool(seen)
            assert clocks < 10 * words
        return clocks


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(ArbiterTest):
    """A reset drops what is held and nothing after it."""

    async def body(self) -> None:
        """Traffic, reset in it, traffic."""
        sequences = [
            StreamSequence([StreamItem(data=index) for _ in range(WORDS)])
            for index in range(parameters()["Streams"])
        ]
        tasks = [
            cocotb.start_soon(sequence.start(source.sequencer))
            for sequence, source in zip(sequences, self.environment.sources, strict=True)
        ]
        for _ in range(30):
            await RisingEdge(self.dut.clk_i)
        for sequence in sequences:
            sequence.stop()
        await reset(self.dut, 2)
        for task in tasks:
            await task
        await RisingEdge(self.dut.clk_i)
        await self.send(30)
