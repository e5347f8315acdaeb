"""Tests of jd_axi_copy: every beat to its place, errors, stops in any clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_subscriber, uvm_test

from flow.effort import scale
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import parameters, reset, rng, start, until
from verif.coverage import Coverage
from verif.scoreboard import Scoreboard

BEAT, PAGE = 64, 4096
HALF = 8 * PAGE  # jobs copy from one half of the memory to the other
BASE = 0x12_3456_0000
SLVERR, DECERR = 2, 3
LIMIT = 40_000  # clocks that any wait may take
QUIET = 100  # clocks after a stop and idle_o in which nothing begins


class Bursts(uvm_subscriber):
    """Keeps the bursts that ended."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.ended: list[AxiBurst] = []

    def write(self, burst: AxiBurst) -> None:
        """A burst ended."""
        self.ended.append(burst)

    def beats(self, write: bool) -> int:
        """Beats of the bursts that were read, or written."""
        return sum(burst.beats for burst in self.ended if burst.write == write)


class Kinds(Coverage):
    """Places, sizes and ends of jobs."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        def pages(job: StreamItem) -> bool:
            return job.source % PAGE == job.target % PAGE

        super().__init__(name, parent, "lib.copy", {
            "job": {
                "one": lambda e: e[0].beats == 1,
                "long": lambda e: e[0].beats > 128,
                "same_place": lambda e: pages(e[0]) and e[0].beats > 64,
                "other_place": lambda e: not pages(e[0]) and e[0].beats > 64,
            },
            "end": {
                "good": lambda e: e[1] == (0, 0),
                "read": lambda e: e[1][0] and not e[1][1],
                "write": lambda e: e[1][0] and e[1][1],
            },
        }, enforce=False)  # fmt: skip


class Environment(uvm_env):
    """Jobs, ends, memory."""

    def __init__(self, name: str, parent: uvm_component, timing: AxiTiming, busy: float) -> None:
        super().__init__(name, parent)
        self.timing, self.busy = timing, busy

    def _pattern(self, what: str) -> Pattern:
        return always() if self.busy == 1 else random_pauses(rng(what), self.busy, 5)

    def build_phase(self) -> None:
        """Make the parts."""
        dut, limit = cocotb.top, parameters()["Outstanding"]
        self.memory = DeviceMemory()
        bus = AxiBus(dut, "m_axi", max_reads=limit, max_writes=limit)
        self.port = AxiMemoryAgent("port", self, bus, self.memory, self.timing)
        jobs = StreamBus(dut, "job", ("source", "target", "beats"))
        self.jobs = StreamAgent("jobs", self, jobs, "source", self._pattern("jobs"))
        ends = StreamBus(dut, "end", ("response", "write"))
        self.ends = StreamAgent("ends", self, ends, "sink", self._pattern("ends"))
        self.scoreboard = Scoreboard("scoreboard", self, least=0)
        self.bursts = Bursts("bursts", self)
        self.coverage = Kinds("coverage", self)

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.ends.ap.connect(self.scoreboard.outputs)
        self.port.ap.connect(self.bursts.analysis_export)


class CopyTest(uvm_test):
    """Base of the tests.

    Attributes:
        timing: of the memory.
        busy: part of the clocks in which jobs come and ends are taken.
        jobs: copies.
    """

    timing = AxiTiming(latency=(1, 40), busy=0.7)
    busy = 0.7
    jobs = 60
    least = 12

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.env = Environment("env", self, self.timing, self.busy)
        self.random = rng("copies")

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        self.dut.stop_i.value = 0
        await start(self.dut)
        await self.body()
        self.drop_objection()

    def fill(self) -> None:
        """Random bytes in all of the memory."""
        data = np.frombuffer(self.random.randbytes(2 * HALF), np.uint8)
        self.env.memory.load(BASE, data)

    def contents(self) -> np.ndarray:
        """All of the memory."""
        return self.env.memory.dump(BASE, 2 * HALF)

    def job(self, beats: int, same: bool = False) -> StreamItem:
        """A copy of so many beats, at the same place of a page or at any."""
        room = HALF // BEAT - beats
        places = [self.random.randint(0, room) for _ in range(2)]
        if same:
            places = [places[0], max(0, places[0] % 64 + (places[1] - 64) // 64 * 64)]
        forth = self.random.randrange(2)
        bases = (BASE, BASE + HALF)[:: 1 if forth else -1]
        source, target = (base + BEAT * place for base, place in zip(bases, places, strict=True))
        return StreamItem(source=source, target=target, beats=beats)

    def any_jobs(self, count: int) -> list[StreamItem]:
        """Copies of all sizes."""
        out = []
        for number in range(count):
            sizes = (1, 2, 63, 64, 65, 128, self.random.randint(1, 300))
            out.append(self.job(sizes[number % len(sizes)], self.random.random() < 0.5))
        return out

    def copied(self, jobs: Sequence[StreamItem]) -> np.ndarray:
        """The golden model: what memory holds after the jobs."""
        want = self.contents()
        for job in jobs:
            source, target, size = job.source - BASE, job.target - BASE, BEAT * job.beats
            want[target : target + size] = want[source : source + size].copy()
        return want

    async def run(self, jobs: Sequence[StreamItem], ends: Sequence[tuple[int, int]]) -> None:
        """Run jobs; they end so."""
        env, dut = self.env, self.dut
        env.bursts.ended = []
        for response, write in ends:
            env.scoreboard.expect(StreamItem(response=response, write=write))
        await StreamSequence(jobs).start(env.jobs.sequencer)
        await env.scoreboard.drain(dut.clk_i, LIMIT)
        assert dut.idle_o.value
        await RisingEdge(dut.clk_i)
        for job, end in zip(jobs, ends, strict=True):
            env.coverage.sample((job, end))

    async def good(self, jobs: Sequence[StreamItem]) -> None:
        """Run jobs that succeed; memory is as it must be, and no beat moves twice."""
        want = self.copied(jobs)
        await self.run(jobs, [(0, 0)] * len(jobs))
        np.testing.assert_array_equal(self.contents(), want)
        beats = sum(job.beats for job in jobs)
        assert (self.env.bursts.beats(False), self.env.bursts.beats(True)) == (beats, beats)

    async def body(self) -> None:
        """Copies of any size, one after another."""
        self.fill()
        await self.good(self.any_jobs(max(scale(self.jobs), self.least)))


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Random(CopyTest):
    """Idle clocks and back-pressure everywhere."""


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class BackPressure(CopyTest):
    """A slow memory, and nobody in a hurry."""

    timing = AxiTiming(latency=(100, 160), busy=0.4, longest=10)
    busy = 0.2
    jobs = 20
    least = 7


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(CopyTest):
    """A beat per clock on memory of latency 64, in bursts up to the pages of the source."""

    timing = AxiTiming(latency=(64, 64))
    busy = 1.0

    async def body(self) -> None:
        """A long job; the clocks of its beats, each way."""
        self.fill()
        beats = 450
        job = StreamItem(source=BASE + 1024, target=BASE + HALF + 1024, beats=beats)
        spans = [cocotb.start_soon(self.span(channel, beats)) for channel in ("r", "w")]
        await self.good([job])
        lengths = [48, *[64] * 6, 18]
        # A piece is written once it is whole: after the first the next, longer one is awaited.
        for task, waits in zip(spans, (0, lengths[1] - lengths[0]), strict=True):
            assert await task == beats + waits
        assert [burst.beats for burst in self.env.bursts.ended if not burst.write] == lengths

    async def span(self, channel: str, beats: int) -> int:
        """Clocks from the first to the last of so many beats of a data channel, both counted."""
        dut = self.dut
        valid, ready = {
            "r": (dut.m_axi_rvalid_i, dut.m_axi_rready_o),
            "w": (dut.m_axi_wvalid_o, dut.m_axi_wready_i),
        }[channel]
        seen, clocks = 0, 0
        for _ in range(LIMIT):
            await RisingEdge(dut.clk_i)
            moved = bool(valid.value and ready.value)
            clocks += bool(seen or moved)
            seen += moved
            if seen == beats:
                return clocks
        raise TimeoutError(f"{channel}: {seen} of {beats} beats")


@pyuvm.test(timeout_time=3, timeout_unit="ms")
class BusError(CopyTest):
    """The first error ends a job and is told; what came with it is not written."""

    jobs = 40
    least = 8

    async def body(self) -> None:
        """A job in the middle of three fails: in its first beat, its last, or any between."""
        memory, size = self.env.memory, 300
        for number in range(max(scale(self.jobs), self.least)):
            self.fill()
            before = self.contents()
            writes = number % 2 == 0
            beat = self.random.choice((0, 63, 64, size - 1, self.random.randrange(size)))
            response = self.random.choice((SLVERR, DECERR))
            source, target = BASE + PAGE, BASE + HALF + PAGE
            at = BEAT * beat + (target if writes else source)
            memory.fail(at, BEAT, response, reads=not writes, writes=writes)
            if not writes and beat < size - 1:  # the second one is not told of
                memory.fail(at + BEAT, BEAT, 5 - response)
            jobs = [
                StreamItem(source=BASE, target=BASE + HALF, beats=40),
                StreamItem(source=source, target=target, beats=size),
                StreamItem(source=BASE, target=BASE + 7 * PAGE, beats=64),
            ]
            want = self.copied(jobs)
            await self.run(jobs, [(0, 0), (response, int(writes)), (0, 0)])
            got = self.contents()
            memory.heal()
            place = target - BASE
            if writes:
                failed = slice(place + BEAT * beat, place + BEAT * (beat + 1))
            else:  # nothing from its piece on
                failed = slice(place + BEAT * (beat & ~63), place + BEAT * size)
                asked = sum(
                    b.beats for b in self.env.bursts.ended
                    if not b.write and source <= b.address < source + BEAT * size
                )  # fmt: skip
                assert asked <= beat + 64 + parameters()["Rows"]
            np.testing.assert_array_equal(got[failed], before[failed])
            inside = np.zeros(2 * HALF, bool)
            inside[place : place + BEAT * size] = True
            np.testing.assert_array_equal(got[~inside], want[~inside])
            changed = got != before
            assert (got[changed] == want[changed]).all()


@pyuvm.test(timeout_time=3, timeout_unit="ms")
class Stop(CopyTest):
    """After a stop no burst begins and those that are out are finished; a reset begins anew."""

    jobs = 40
    least = 12

    async def body(self) -> None:
        """Stops in the clocks in which the first bursts begin, and in any."""
        dut, env = self.dut, self.env
        first = 62 * BEAT  # a short piece, so that a write begins soon
        job = StreamItem(source=BASE + first, target=BASE + HALF + first, beats=300)
        count = max(scale(self.jobs), self.least)
        for number in range(count):
            clocks = 1 + number if number < count // 2 else self.random.randint(1, 800)
            self.fill()
            before, want = self.contents(), self.copied([job])
            env.bursts.ended = []
            env.scoreboard.expect(StreamItem(response=0, write=0))  # if it comes to that
            task = cocotb.start_soon(StreamSequence([job]).start(env.jobs.sequencer))
            await ClockCycles(dut.clk_i, clocks)
            dut.stop_i.value = 1
            await RisingEdge(dut.clk_i)
            await until("idle", dut.clk_i, LIMIT, lambda: dut.idle_o.value)
            for _ in range(QUIET):
                assert dut.idle_o.value
                assert not dut.m_axi_arvalid_o.value and not dut.m_axi_awvalid_o.value
                await RisingEdge(dut.clk_i)
            await task
            written = env.bursts.beats(True)
            assert written in (0, 300) or (written - 2) % 64 == 0
            copied = slice(HALF + first, HALF + first + BEAT * written)
            np.testing.assert_array_equal(self.contents()[copied], want[copied])
            before[copied] = want[copied]
            np.testing.assert_array_equal(self.contents(), before)
            await self.anew()
        self.fill()
        await self.good(self.any_jobs(3))

    async def anew(self) -> None:
        """A reset."""
        await reset(self.dut, self.random.randint(1, 3))
        self.dut.stop_i.value = 0
        self.env.scoreboard.clear()
        await RisingEdge(self.dut.clk_i)
        assert self.dut.idle_o.value and not self.dut.end_valid_o.value


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(CopyTest):
    """Resets in mid-traffic; what comes after them is complete."""

    async def body(self) -> None:
        """Two resets at random times, then jobs."""
        dut, env = self.dut, self.env
        for _ in range(2):
            self.fill()
            jobs = self.any_jobs(7)
            for _ in jobs:
                env.scoreboard.expect(StreamItem(response=0, write=0))
            sequence = StreamSequence(jobs)
            task = cocotb.start_soon(sequence.start(env.jobs.sequencer))
            await ClockCycles(dut.clk_i, self.random.randint(40, 500))
            sequence.stop()
            await reset(dut, self.random.randint(1, 3))
            await task
            env.scoreboard.clear()
            await RisingEdge(dut.clk_i)
            assert dut.idle_o.value and not dut.end_valid_o.value
            self.fill()
            await self.good(self.any_jobs(4))
