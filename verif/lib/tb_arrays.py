"""Tests of the reader and the writer of arrays: every element, errors, ends before the last one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_subscriber, uvm_test

from flow.effort import scale
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import clock_number, parameters, reset, rng, start, until, within
from verif.coverage import Coverage

SOURCE, TARGET, REGION_BYTES = 0x1_0000, 0x10_0000, 1 << 16
ELEMENT_BYTES = 16  # of the writer
COUNTS = (1, 2, 3, 4, 5, 15, 16, 17, 64, 65, 127, 128, 129)
SLVERR, DECERR = 2, 3
AHEAD = 40  # beats that were asked for, and those of a command that was offered
ASKED = 32  # beats of writes that are out or in the mover when an array is given up
LATE = 2  # elements that may come when an array is given up
LEAST = 40  # arrays, whatever the effort
LIMIT = 20_000  # clocks that any wait may take


class Items(uvm_subscriber):
    """Keeps the elements that came out."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.data: list[int] = []

    def write(self, item: StreamItem) -> None:
        """One element."""
        self.data.append(item.data)


class Beats(uvm_subscriber):
    """Counts the beats that were read and written."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.read = self.written = 0

    def write(self, item: AxiBurst) -> None:
        """A burst ended."""
        if item.write:
            self.written += item.beats
        else:
            self.read += item.beats


class Ends(Coverage):
    """How arrays ended."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        bins = {
            "read": {
                what: lambda e, what=what: e == ("read", what)
                for what in ("all", "error", "abort", "first", "size2", "size3", "size4")
            },
            "write": {
                what: lambda e, what=what: e == ("write", what)
                for what in ("whole", "part", "error")
            },
        }
        super().__init__(name, parent, "arrays", bins, enforce=False)


class Environment(uvm_env):
    """Agents of the streams, memory, coverage."""

    def __init__(self, name: str, parent: uvm_component, timing: AxiTiming, busy: float) -> None:
        super().__init__(name, parent)
        self.timing, self.busy = timing, busy

    def build_phase(self) -> None:
        """Make the parts."""
        top = cocotb.top
        self.memory = DeviceMemory()
        self.port = AxiMemoryAgent("port", self, AxiBus(top, "m_axi"), self.memory, self.timing)
        self.items = StreamAgent(
            "item", self, StreamBus(top, "item", ("data",)), "sink", self._pattern("item")
        )
        self.words = StreamAgent(
            "in", self, StreamBus(top, "in", ("data",)), "source", self._pattern("in")
        )
        self.found = Items("found", self)
        self.beats = Beats("beats", self)
        self.ends = Ends("ends", self)

    def connect_phase(self) -> None:
        """Collect the elements."""
        self.items.ap.connect(self.found.analysis_export)
        self.port.ap.connect(self.beats.analysis_export)

    def _pattern(self, what: str) -> Pattern:
        return always() if self.busy == 1 else random_pauses(rng(what), self.busy, 6)


class ArraysTest(uvm_test):
    """Arrays in and out, side by side.

    Attributes:
        timing: of the memory.
        busy: part of the clocks in which streams move.
        arrays: read, and written.
    """

    timing = AxiTiming(latency=(1, 40), busy=0.7)
    busy = 0.7
    arrays = 200

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.env = Environment("env", self, self.timing, self.busy)

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        for name in ("read_start_i", "read_abort_i", "write_start_i", "write_flush_i",
                     "write_abort_i"):  # fmt: skip
            getattr(self.dut, name).value = 0
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Reads and writes at the same time."""
        tasks = [
            cocotb.start_soon(self.reads(rng("reads"), max(scale(self.arrays), LEAST))),
            cocotb.start_soon(self.writes(rng("writes"), max(scale(self.arrays), LEAST))),
        ]
        for task in tasks:
            await task

    def cover(self, side: str, *what: str) -> None:
        """Note how an array ended."""
        for one in what:
            self.env.ends.write((side, one))

    async def reads(self, draw: random.Random, arrays: int) -> None:
        """Random arrays; of one in three a beat fails, one in four is left before its end."""
        for number in range(arrays):
            size = 2 + number % 3
            count = draw.choice((*COUNTS, draw.randint(1, 600)))
            address = SOURCE + 64 * draw.randrange((REGION_BYTES - (count << size)) // 64)
            data = np.frombuffer(draw.randbytes(count << size), np.uint8)
            self.env.memory.load(address, data)
            beats = -(-(count << size) // 64)
            failing = draw.choice((0, beats - 1, draw.randrange(beats)))
            response = draw.choice((SLVERR, DECERR)) if draw.random() < 0.33 else 0
            if response:
                self.env.memory.fail(address + 64 * failing, 64, response, writes=False)
            left = draw.randint(0, count) if draw.random() < 0.25 and not response else count
            await self.read(address, count, size, left, response)
            good = min(count, failing * 64 >> size) if response else left
            got, want = self.env.found.data, list(elements(data, size))
            mask = (1 << (8 << size)) - 1
            # Elements may go until the abort is seen.
            more = LATE if left < count else 0
            assert good <= len(got) <= min(good + more, count), f"{len(got)} of {good}"
            assert [word & mask for word in got] == want[: len(got)]
            self.env.memory.heal(SOURCE, REGION_BYTES)
            self.cover("read", f"size{size}", "error" if response else "abort" if left < count
                       else "all", *(["first"] if response and not failing else []))  # fmt: skip

    async def read(self, address: int, count: int, size: int, left: int, response: int) -> None:
        """Read an array, or `left` elements of it and give it up, or until its error."""
        dut, found = self.dut, self.env.found
        found.data = []
        dut.read_address_i.value, dut.read_count_i.value = address, count
        dut.read_size_log2_i.value, dut.read_start_i.value = size, 1
        await RisingEdge(dut.clk_i)
        dut.read_start_i.value = 0
        await RisingEdge(dut.clk_i)
        if response:
            await until("error", dut.clk_i, LIMIT, lambda: int(dut.read_error_o.value))
            assert int(dut.read_response_o.value) == response
        elif left < count:
            await until("elements", dut.clk_i, LIMIT, lambda: len(found.data) >= left)
            dut.read_abort_i.value = 1
            before = self.env.beats.read
        await until("idle", dut.clk_i, LIMIT, lambda: int(dut.read_idle_o.value))
        dut.read_abort_i.value = 0
        if left < count and not response:
            assert self.env.beats.read - before <= AHEAD, "beats are asked for after the abort"
        assert bool(int(dut.read_error_o.value)) == bool(response)
        assert not response or int(dut.read_response_o.value) == response

    async def writes(self, draw: random.Random, arrays: int) -> None:
        """Random arrays; of one in four a beat fails, of which what comes later is lost."""
        for _ in range(arrays):
            count = draw.choice((*COUNTS, draw.randint(1, 300)))
            nbytes = ELEMENT_BYTES * count
            address = TARGET + 64 * draw.randrange((REGION_BYTES - nbytes - 64) // 64)
            before = self.env.memory.dump(address, nbytes + 64)
            data = np.frombuffer(draw.randbytes(nbytes), np.uint8)
            failing = 64 * draw.randrange(-(-nbytes // 64))
            response = draw.choice((SLVERR, DECERR)) if draw.random() < 0.25 else 0
            if response:
                self.env.memory.fail(address + failing, 64, response, reads=False)
            await self.write(address, data)
            assert bool(int(self.dut.write_error_o.value)) == bool(response)
            got = self.env.memory.dump(address, nbytes + 64)
            np.testing.assert_array_equal(got[nbytes:], before[nbytes:])
            sure = failing if response else nbytes
            if response:
                assert int(self.dut.write_response_o.value) == response
                beat = slice(failing, min(failing + 64, nbytes))
                np.testing.assert_array_equal(got[beat], before[beat])
            np.testing.assert_array_equal(got[:sure], data[:sure])
            self.env.memory.heal(TARGET, REGION_BYTES)
            self.cover("write", "error" if response else "part" if nbytes % 64 else "whole")

    async def write(self, address: int, data: np.ndarray, left: int | None = None) -> None:
        """Write an array, or give it up after so many clocks."""
        dut = self.dut
        dut.write_address_i.value, dut.write_start_i.value = address, 1
        await RisingEdge(dut.clk_i)
        dut.write_start_i.value = 0
        items = [StreamItem(data=value) for value in elements(data, 4)]
        words = cocotb.start_soon(StreamSequence(items).start(self.env.words.sequencer))
        before = 0
        if left is not None:
            for _ in range(left):
                await RisingEdge(dut.clk_i)
            dut.write_abort_i.value = 1
            before = self.env.beats.written
        await within("words", dut.clk_i, LIMIT, words)
        dut.write_flush_i.value = 1
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        await until("idle", dut.clk_i, LIMIT, lambda: int(dut.write_idle_o.value))
        dut.write_flush_i.value = dut.write_abort_i.value = 0
        await RisingEdge(dut.clk_i)
        if left is not None:
            assert self.env.beats.written - before <= ASKED, "asked for after the array is given up"


def elements(data: np.ndarray, size_log2: int) -> Iterator[int]:
    """The elements of an array, as numbers."""
    size = 1 << size_log2
    for at in range(0, len(data), size):
        yield int.from_bytes(data[at : at + size].tobytes(), "little")


@pyuvm.test(timeout_time=3, timeout_unit="ms")
class Random(ArraysTest):
    """Idle clocks and back-pressure everywhere."""


@pyuvm.test(timeout_time=3, timeout_unit="ms")
class BackPressure(ArraysTest):
    """A slow memory, and nobody in a hurry."""

    timing = AxiTiming(latency=(100, 140), busy=0.4, longest=10)
    busy = 0.2
    arrays = 60


@pyuvm.test(timeout_time=3, timeout_unit="ms")
class Balanced(ArraysTest):
    """Elements come about as fast as the memory answers: a command is asked for as a beat comes."""

    timing = AxiTiming(latency=(60, 150), busy=0.8)
    busy = 0.9

    async def body(self) -> None:
        """Long arrays, one way."""
        draw = rng("data")
        for _ in range(3):
            data = np.frombuffer(draw.randbytes(ELEMENT_BYTES * 1000), np.uint8)
            await self.write(TARGET, data)
            np.testing.assert_array_equal(self.env.memory.dump(TARGET, len(data)), data)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(ArraysTest):
    """A reset while arrays are on their way; then others are right."""

    async def body(self) -> None:
        """Reset, twice, then random arrays."""
        dut = self.dut
        for clocks in (20, 60):
            dut.read_address_i.value, dut.read_count_i.value = SOURCE, 400
            dut.read_size_log2_i.value, dut.read_start_i.value = 4, 1
            dut.write_address_i.value, dut.write_start_i.value = TARGET, 1
            words = StreamSequence([StreamItem(data=1) for _ in range(400)])
            cocotb.start_soon(words.start(self.env.words.sequencer))
            await RisingEdge(dut.clk_i)
            dut.read_start_i.value = dut.write_start_i.value = 0
            for _ in range(clocks):
                await RisingEdge(dut.clk_i)
            words.stop()
            await reset(dut)
            for _ in range(2):
                await RisingEdge(dut.clk_i)
            assert int(dut.read_idle_o.value) and int(dut.write_idle_o.value)
        self.arrays = LEAST
        await super().body()


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Most(ArraysTest):
    """The largest numbers of elements that a count can tell."""

    async def body(self) -> None:
        """Each size of elements."""
        most = (1 << parameters()["CountW"]) - 1
        for size in (2, 3, 4):
            for count in (most - 2, most - 1, most):
                data = np.frombuffer(rng("data").randbytes(count << size), np.uint8)
                self.env.memory.load(SOURCE, data)
                await self.read(SOURCE, count, size, count, 0)
                mask = (1 << (8 << size)) - 1
                assert [word & mask for word in self.env.found.data] == list(elements(data, size))


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class GivenUp(ArraysTest):
    """A long array is given up: what was asked for comes, and no more."""

    async def body(self) -> None:
        """After some elements, then a whole array."""
        data = np.frombuffer(rng("data").randbytes(ELEMENT_BYTES * 1000), np.uint8)
        self.env.memory.load(SOURCE, data)
        for left in (0, 1, 200, 1000):
            await self.read(SOURCE, 1000, 4, left, 0)
            assert self.env.found.data[:left] == list(elements(data, 4))[:left]
        for left in (0, 5, 100, 500):
            before = self.env.memory.dump(TARGET, len(data))
            await self.write(TARGET, data, left)
            got = self.env.memory.dump(TARGET, len(data))
            missing = np.flatnonzero(got != data)
            at = int(missing[0]) // 64 * 64 if missing.size else len(data)
            np.testing.assert_array_equal(got[at:], before[at:])
            data = data[::-1].copy()
        await self.write(TARGET, data)
        np.testing.assert_array_equal(self.env.memory.dump(TARGET, len(data)), data)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(ArraysTest):
    """An element per clock in both directions, once the memory answers."""

    timing = AxiTiming(latency=(10, 10), busy=1.0)
    busy = 1.0

    async def body(self) -> None:
        """A long array each way."""
        count = 1000
        data = np.frombuffer(rng("data").randbytes(ELEMENT_BYTES * count), np.uint8)
        self.env.memory.load(SOURCE, data)
        begun = clock_number()
        await self.read(SOURCE, count, 4, count, 0)
        took = clock_number() - begun
        assert self.env.found.data == list(elements(data, 4))
        assert took < count + 60, f"{took} clocks to read {count}"
        begun = clock_number()
        await self.write(TARGET, data)
        took = clock_number() - begun
        np.testing.assert_array_equal(self.env.memory.dump(TARGET, len(data)), data)
        assert took < count + 60, f"{took} clocks to write {count}"
