"""Tests of the AXI4 movers at the multiplexer: every beat is accounted for."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import parameters, reset, rng, start, until
from verif.coverage import Coverage
from verif.scoreboard import Scoreboard

REGION_BYTES = 1 << 17  # of a client's reads, and of its writes after it
SINGLES = 40  # single beats, more than may be outstanding
LIMIT = 20_000  # clocks that any wait may take
STREAMS = ("read", "out", "write", "in", "done")  # of a client
FRAME_LIMIT = 16  # reads, and writes, that jd_engine_frame lets out


def port_limit() -> int:
    """Reads, and writes, that may be out at the port."""
    p = parameters()
    if p.get("Limit"):
        return p["Limit"]
    return FRAME_LIMIT if p.get("Frame") else p["MaxOutstanding"] * p["Clients"]


def transfers(generator: random.Random, base: int, beats: int) -> Iterator[StreamItem]:
    """Random transfers of so many beats together, many at the end of a page."""
    region = REGION_BYTES // 64
    while beats:
        count = generator.choice((1, 1, 2, 3, 63, 64, 65, generator.randint(1, 200)))
        count = min(count, beats)
        first = generator.randrange(region - count)
        if generator.random() < 0.5:
            first = max(0, min(first | 63, region - count) - generator.randrange(3))
        beats -= count
        yield StreamItem("transfer", address=base + 64 * first, beats=count)


class Client(uvm_component):
    """The streams of one pair of movers, and what they must do."""

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        index: int,
        memory: DeviceMemory,
        busy: float,
        slow: tuple[str, ...],
    ) -> None:
        super().__init__(name, parent)
        self.index = index
        self.memory = memory
        self.busy = busy
        self.slow = slow
        self.base = (rng("regions").getrandbits(18) << 4 | index) * 2 * REGION_BYTES
        self.golden = DeviceMemory()
        self.writing: deque[int] = deque()  # addresses of the beats that come next
        self.words: deque[StreamItem] = deque()  # beats that came before their command
        self.ends: deque[int] = deque()  # beats of each write command that are still to come
        self.worst = 0

    def _pattern(self, what: str) -> Pattern:
        generator = rng(f"{self.get_full_name()}.{what}")
        pauses = self.busy < 1 and what in self.slow
        return random_pauses(generator, self.busy, 5) if pauses else always()

    def build_phase(self) -> None:
        """Make agents and scoreboards."""
        top, index = cocotb.top, self.index

        def agent(prefix: str, fields: tuple[str, ...], role: str) -> StreamAgent:
            bus = StreamBus(top, prefix, fields, index)
            return StreamAgent(prefix, self, bus, role, self._pattern(prefix))

        self.read = agent("read", ("address", "beats"), "source")
        self.out = agent("out", ("data", "last", "resp"), "sink")
        self.write = agent("write", ("address", "beats"), "source")
        self.data = agent("in", ("data", "strb"), "source")
        self.done = agent("done", ("resp",), "sink")
        self.reads = Scoreboard("reads", self, model=self._read)
        self.writes = Scoreboard("writes", self, model=self._write)

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.read.ap.connect(self.reads.inputs)
        self.out.ap.connect(self.reads.outputs)
        self.write.ap.connect(self.writes.inputs)
        self.data.ap.connect(self.writes.inputs)
        self.done.ap.connect(self.writes.outputs)

    def _read(self, item: StreamItem) -> Iterator[StreamItem]:
        for beat in range(item.beats):
            data, response = self.memory.get_beat(item.address + 64 * beat)
            told = response if response > 1 else 0  # EXOKAY is okay
            yield StreamItem(data=data, last=int(beat == item.beats - 1), resp=told)

    def _write(self, item: StreamItem) -> Iterator[StreamItem]:
        """A command or a beat of data; a queue takes beats before their command."""
        if "beats" in item.fields:
            self.writing.extend(item.address + 64 * beat for beat in range(item.beats))
            self.ends.append(item.beats)
        else:
            assert self.writing or parameters().get("Queue"), "data were taken before their command"
            self.words.append(item)
        while self.writing and self.words:
            word = self.words.popleft()
            response = self.golden.put_beat(self.writing.popleft(), word.data, word.strb)
            self.worst = max(self.worst, response if response > 1 else 0)
            self.ends[0] -= 1
            if not self.ends[0]:
                self.ends.popleft()
                yield StreamItem(resp=self.worst)
                self.worst = 0

    def sequences(self, beats: int) -> list[tuple[StreamSequence, StreamAgent]]:
        """Random reads and writes of so many beats each."""
        generator = rng(f"{self.get_full_name()}.{beats}.{self.reads.compared}")

        def words() -> Iterator[StreamItem]:
            for _ in range(beats):
                whole = generator.random() < 0.7
                strobes = (1 << 64) - 1 if whole else generator.getrandbits(64)
                yield StreamItem(data=generator.getrandbits(512), strb=strobes)

        reads = list(transfers(generator, self.base, beats))
        writes = list(transfers(generator, self.base + REGION_BYTES, beats))
        return [
            (StreamSequence(reads), self.read),
            (StreamSequence(writes), self.write),
            (StreamSequence(words()), self.data),
        ]

    def clear(self) -> None:
        """Forget what a reset dropped; what reached the memory is right by definition."""
        self.reads.clear()
        self.writes.clear()
        self.writing.clear()
        self.words.clear()
        self.ends.clear()
        self.worst = 0
        self.golden = self.memory.copy()


class BurstCoverage(Coverage):
    """Bursts of every kind were seen at the port."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        def at_page_end(burst: AxiBurst) -> bool:
            return (burst.address + 64 * burst.beats) % 4096 == 0

        super().__init__(
            name,
            parent,
            "lib.axi",
            {
                "read": {
                    "one": lambda b: not b.write and b.beats == 1,
                    "page": lambda b: not b.write and b.beats == 64,
                    "to_page_end": lambda b: not b.write and 1 < b.beats < 64 and at_page_end(b),
                    "inside": lambda b: not b.write and 1 < b.beats < 64 and not at_page_end(b),
                },
                "write": {
                    "one": lambda b: b.write and b.beats == 1,
                    "page": lambda b: b.write and b.beats == 64,
                    "to_page_end": lambda b: b.write and 1 < b.beats < 64 and at_page_end(b),
                    "inside": lambda b: b.write and 1 < b.beats < 64 and not at_page_end(b),
                },
                "response": {
                    "read_okay": lambda b: not b.write and b.response == 0,
                    "read_exokay": lambda b: not b.write and b.response == 1,
                    "read_slverr": lambda b: not b.write and b.response == 2,
                    "read_decerr": lambda b: not b.write and b.response == 3,
                    "write_okay": lambda b: b.write and b.response == 0,
                    "write_exokay": lambda b: b.write and b.response == 1,
                    "write_slverr": lambda b: b.write and b.response == 2,
                    "write_decerr": lambda b: b.write and b.response == 3,
                },
            },
            enforce=False,
        )


class Environment(uvm_env):
    """Clients, the memory at the port, coverage."""

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        timing: AxiTiming,
        busy: float,
        slow: tuple[str, ...],
        limit: int | None,
    ) -> None:
        super().__init__(name, parent)
        self.timing = timing
        self.busy = busy
        self.slow = slow
        self.limit = limit

    def build_phase(self) -> None:
        """Make the parts; the clients' read regions hold random bytes."""
        dut, clients = cocotb.top, parameters()["Clients"]
        self.memory = DeviceMemory()
        limit = self.limit or port_limit()
        bus = AxiBus(dut, "m_axi", max_reads=limit, max_writes=limit)
        self.port = AxiMemoryAgent("port", self, bus, self.memory, self.timing)
        self.clients = [
            Client(f"client{index}", self, index, self.memory, self.busy, self.slow)
            for index in range(clients)
        ]
        for client in self.clients:
            data = np.frombuffer(rng(client.get_full_name()).randbytes(REGION_BYTES), np.uint8)
            self.memory.load(client.base, data)
        self.coverage = BurstCoverage("coverage", self)

    def connect_phase(self) -> None:
        """Connect the coverage."""
        self.port.ap.connect(self.coverage.analysis_export)


class MoversTest(uvm_test):
    """Base of the tests: timing, clock, traffic."""

    timing = AxiTiming(latency=(1, 40), busy=0.7)
    busy = 0.7
    slow: tuple[str, ...] = STREAMS  # those of the users that pause
    beats = 500
    limit: int | None = None  # of reads, and of writes; None: that of the movers or of the frame

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.environment = Environment(
            "environment", self, self.timing, self.busy, self.slow, self.limit
        )

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Random traffic of all clients at once."""
        await self.traffic(self.beats)

    async def traffic(self, beats: int) -> None:
        """Send reads and writes of so many beats a client, and wait until all ended."""
        clients = self.environment.clients
        for client in clients:
            client.golden = self.environment.memory.copy()
        before = [client.reads.compared for client in clients]
        tasks = [
            cocotb.start_soon(sequence.start(agent.sequencer))
            for client in clients
            for sequence, agent in client.sequences(beats)
        ]
        for task in tasks:
            await task
        for client in clients:
            await client.reads.drain(self.dut.clk_i, LIMIT)
            await client.writes.drain(self.dut.clk_i, LIMIT)
        await until("idle", self.dut.clk_i, 20, self.idle)
        for client, compared in zip(clients, before, strict=True):
            assert client.reads.compared == compared + beats
            assert not client.writing
        self.compare()

    async def single_beats(self, client: Client, offsets: list[int]) -> None:
        """Read and write single beats at these offsets of a client's regions, and compare."""
        words = [StreamItem(data=offset, strb=(1 << 64) - 1) for offset in offsets]
        pairs = [
            ([StreamItem(address=client.base + o, beats=1) for o in offsets], client.read),
            (
                [StreamItem(address=client.base + REGION_BYTES + o, beats=1) for o in offsets],
                client.write,
            ),
            (words, client.data),
        ]
        tasks = [
            cocotb.start_soon(StreamSequence(items).start(agent.sequencer))
            for items, agent in pairs
        ]
        for task in tasks:
            await task
        await client.reads.drain(self.dut.clk_i, LIMIT)
        await client.writes.drain(self.dut.clk_i, LIMIT)
        self.compare(client)  # others may be writing

    def idle(self) -> bool:
        """Whether all movers say so."""
        full = (1 << parameters()["Clients"]) - 1
        return int(self.dut.read_idle_o.value) == full == int(self.dut.write_idle_o.value)

    def compare(self, *clients: Client) -> None:
        """Check that the memory holds what these clients wrote, by default all."""
        for client in clients or self.environment.clients:
            base = client.base + REGION_BYTES
            got = self.environment.memory.dump(base, REGION_BYTES)
            np.testing.assert_array_equal(got, client.golden.dump(base, REGION_BYTES))


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(MoversTest):
    """Random transfers, idle clocks and back-pressure on every channel."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class SlowOut(MoversTest):
    """Whoever takes what is read pauses, nobody else: of movers R waits, by design."""

    slow = ("out",)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class SlowIn(MoversTest):
    """Whoever gives what is written pauses, nobody else: of movers W waits, by design."""

    slow = ("in",)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class BackPressure(MoversTest):
    """Everything is slow: buffers fill and the outstanding limit is reached."""

    timing = AxiTiming(latency=(200, 240), busy=0.4, longest=10, held=64)
    busy = 0.3
    beats = 200

    async def body(self) -> None:
        """Traffic, then many single beats of one client: the limit is reached."""
        await self.traffic(self.beats)
        client = self.environment.clients[0]
        await self.single_beats(client, [64 * beat for beat in range(SINGLES)])
        monitor, limit = self.environment.port.monitor, parameters()["MaxOutstanding"]
        assert monitor.most_reads >= limit, f"{monitor.most_reads} reads at once"
        assert monitor.most_writes >= limit, f"{monitor.most_writes} writes at once"


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Limited(BackPressure):
    """The clients want more than the frame or the limit lets out; the memory would take it."""

    async def body(self) -> None:
        """Single beats of every client at once: the limit is reached, and never passed."""
        for client in self.environment.clients:
            client.golden = self.environment.memory.copy()
        clients = self.environment.clients
        limit = port_limit()
        assert parameters()["MaxOutstanding"] * len(clients) > limit
        offsets = [64 * beat for beat in range(SINGLES)]
        tasks = [cocotb.start_soon(self.single_beats(client, offsets)) for client in clients]
        for task in tasks:
            await task
        monitor = self.environment.port.monitor
        assert (monitor.most_reads, monitor.most_writes) == (limit, limit)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class TooMany(BackPressure):
    """Movers with 17 bursts out, at a port that allows 16: the monitor fails, by design."""

    limit = 16


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class BusError(MoversTest):
    """Ranges answer SLVERR or DECERR: reported in the beat and in done, nothing else changes.

    EXOKAY is reported as OKAY.
    """

    async def body(self) -> None:
        """A page and a single beat of each region fail; then all is well again."""
        memory = self.environment.memory
        for client in self.environment.clients:
            for base in (client.base, client.base + REGION_BYTES):
                memory.fail(base, 0x4000, response=1)
                memory.fail(base + 0x4000, 0x6000, response=2)
                memory.fail(base + 0x9FC0, 0x8000, response=3)
        await self.traffic(self.beats)
        for client in self.environment.clients:
            await self.single_beats(client, [0x3FC0, 0x4000, 0x9F80, 0xA000, 0x11F80, 0x11FC0])
        memory.heal()
        await self.traffic(100)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(MoversTest):
    """Resets in mid-traffic lose what is in flight and nothing after it."""

    async def body(self) -> None:
        """Three resets at random times, then complete traffic."""
        generator = rng("reset")
        for _ in range(3):
            pairs = [
                pair for client in self.environment.clients for pair in client.sequences(self.beats)
            ]
            tasks = [cocotb.start_soon(seq.start(agent.sequencer)) for seq, agent in pairs]
            await ClockCycles(self.dut.clk_i, generator.randint(40, 300))
            for sequence, _ in pairs:
                sequence.stop()
            await reset(self.dut, generator.randint(1, 4))
            for task in tasks:
                await task
            await RisingEdge(self.dut.clk_i)
            assert self.idle()
            for client in self.environment.clients:
                client.clear()
        await self.traffic(200)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class FullRate(MoversTest):
    """With a memory that never pauses, neither data channel has a bubble."""

    timing = AxiTiming(latency=(4, 4))
    busy = 1.0

    async def body(self) -> None:
        """One long transfer, then single beats: the beats come in as many clocks."""
        client = self.environment.clients[0]
        client.golden = self.environment.memory.copy()
        outstanding = parameters()["MaxOutstanding"]
        await self.measure(client, [200], 200)
        await self.measure(client, [64, 64, 1, 65, 6], 200)
        if outstanding >= 16:  # more than a burst's round trip in clocks
            await self.measure(client, [1] * 100, 100)

    async def measure(self, client: Client, lengths: list[int], beats: int) -> None:
        """Move transfers one after the other, reads and writes at once; check the clocks."""
        items, address = [], client.base
        for length in lengths:
            items.append((address, length))
            address += 64 * length
        generator = rng("measure")
        sequences = [
            (StreamSequence(StreamItem(address=a, beats=n) for a, n in items), client.read),
            (
                StreamSequence(StreamItem(address=a + REGION_BYTES, beats=n) for a, n in items),
                client.write,
            ),
            (
                StreamSequence(
                    StreamItem(data=generator.getrandbits(512), strb=(1 << 64) - 1)
                    for _ in range(beats)
                ),
                client.data,
            ),
        ]
        spans = [cocotb.start_soon(self.span(channel, beats)) for channel in ("r", "w")]
        tasks = [cocotb.start_soon(seq.start(agent.sequencer)) for seq, agent in sequences]
        for task in [*tasks, *spans]:
            await task
        await client.writes.drain(self.dut.clk_i, LIMIT)
        await client.reads.drain(self.dut.clk_i, LIMIT)
        for channel, task in zip("rw", spans, strict=True):
            assert task.result() == beats, f"{channel}: {beats} beats in {task.result()} clocks"

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
