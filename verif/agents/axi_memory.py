"""Agent for an AXI4 memory port (512-bit data): a memory that answers, and a monitor of the rules.

    memory = DeviceMemory()
    self.memory = AxiMemoryAgent("memory", self, AxiBus(dut, "m_axi"), memory,
                                 AxiTiming(latency=(20, 60), busy=0.7))       # build_phase
    memory.load(0x1000, np.arange(64, dtype=np.uint8))      # before the job; dump() after it
    memory.fail(0x8000, 4096, response=2)                   # this page answers SLVERR
    golden = memory.copy()                                  # the golden model's own memory

The slave is cocotbext-axi's, with a pipeline of requests: each is answered in order, after its
own random latency, data one beat per clock unless the timing pauses the channel. Reads see the
memory when their beat is sent, writes change it when their beat comes, so a read and a write in
flight together are unordered, as on the real port.

The monitor fails the test on: a burst that is unaligned, longer than 64 beats or crosses 4 KiB, or
whose attributes are not ATTRIBUTES, where the port has them; an address or a beat that changes
while it waits; wlast at the wrong beat; responses without request; more than 16 reads or writes of
an engine's port outstanding (its number is in an ID's bits above the lowest 4); anything left
outstanding at the end. Its `ap` writes an `AxiBurst` for each burst that ended. `ports` binds to
`m_axi_araddr_o` and the like; size and burst need not exist.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.queue import Queue
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiBus as ExtAxiBus
from cocotbext.axi.axi_slave import AxiSlaveRead, AxiSlaveWrite
from cocotbext.axi.sparse_memory import SparseMemory
from pyuvm import uvm_agent, uvm_analysis_port, uvm_component, uvm_monitor

from models.engine import BusError
from verif.agents.bus import axi_ports
from verif.agents.timing import pauses, random_pauses
from verif.bench import PERIOD_NS, Activity, clock_number, rng

BEAT_BYTES = 64
PAGE_BYTES = 4096
ENGINE_ID_BITS = 4
ADDRESS_BITS = 40
CHANNELS = ("ar", "r", "aw", "w", "b")
# 64-byte beats, INCR, no exclusive access, bufferable and modifiable, unprivileged secure data.
ATTRIBUTES = {"size": 6, "burst": 1, "lock": 0, "cache": 2, "prot": 0}
FAILED_BEAT = b"\xee" * BEAT_BYTES


@dataclass(frozen=True)
class AxiBus:
    """Where an AXI4 master port is.

    Attributes:
        entity: cocotb handle of the design; it has clk_i and rst_ni.
        prefix: common part of the port names.
        index: element, where the ports are unpacked arrays.
        max_reads, max_writes: bursts of an engine's port that may be outstanding.
    """

    entity: Any
    prefix: str = "m_axi"
    index: int | None = None
    max_reads: int = 16
    max_writes: int = 16

    @property
    def ports(self) -> Any:
        """The design's ports by plain names."""
        return axi_ports(self.entity, self.prefix, self.index)


@dataclass(frozen=True)
class AxiTiming:
    """How the memory answers.

    Attributes:
        latency: least and most clocks from a request to its first data or, for a write, from its
            last data to its response; drawn for each burst.
        busy: about this part of the clocks a channel is willing, above 0, at most 1 (never pauses).
        longest: longest pause, clocks.
        held: bursts of a kind that the memory holds before it stops taking requests.
    """

    latency: tuple[int, int] = (16, 16)
    busy: float = 1.0
    longest: int = 6
    held: int = 16


@dataclass(frozen=True)
class _Fault:
    start: int
    nbytes: int
    response: int
    reads: bool
    writes: bool


class DeviceMemory:
    """Bytes of device memory with ranges that fail; a `models.engine.Memory`."""

    def __init__(self) -> None:
        self._bytes = SparseMemory(1 << ADDRESS_BITS)
        self._faults: list[_Fault] = []

    def load(self, address: int, data: np.ndarray) -> None:
        """Store an array's bytes, whatever the faults say."""
        self._bytes.write(address, np.ascontiguousarray(data).tobytes())

    def dump(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes (uint8, a copy), whatever the faults say; untouched memory is 0."""
        return np.frombuffer(self._bytes.read(address, nbytes), dtype=np.uint8).copy()

    def fail(
        self,
        start: int,
        nbytes: int,
        response: int = 2,
        reads: bool = True,
        writes: bool = True,
    ) -> None:
        """Answer a range with SLVERR (2) or DECERR (3); failed writes change nothing.

        EXOKAY (1) is no failure: the range is read and written.
        """
        if response not in (1, 2, 3):
            raise ValueError(f"response {response}: want 1 (EXOKAY), 2 (SLVERR) or 3 (DECERR)")
        self._faults.append(_Fault(start, nbytes, response, reads, writes))

    def heal(self, start: int = 0, nbytes: int = 1 << 64) -> None:
        """Let nothing fail any more that begins in a range."""
        self._faults = [f for f in self._faults if not start <= f.start < start + nbytes]

    def response(self, address: int, nbytes: int, write: bool) -> int:
        """The answer to an access of these bytes: 0, or the worst of the faults that it meets."""
        return max(
            (
                fault.response
                for fault in self._faults
                if (fault.writes if write else fault.reads)
                and address < fault.start + fault.nbytes
                and fault.start < address + nbytes
            ),
            default=0,
        )

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """As `models.engine.Memory`. Raises: BusError."""
        if code := self.response(address, nbytes, write=False):
            raise BusError(address, code, write=False)
        return self.dump(address, nbytes)

    def write(self, address: int, data: np.ndarray) -> None:
        """As `models.engine.Memory`. Raises: BusError."""
        if code := self.response(address, data.nbytes, write=True):
            raise BusError(address, code, write=True)
        self.load(address, data)

    def copy(self) -> DeviceMemory:
        """The same contents and faults, independent from now on."""
        other = DeviceMemory()
        other._bytes.segs = {key: bytearray(value) for key, value in self._bytes.segs.items()}
        other._faults = list(self._faults)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMemory):
            return NotImplemented
        mine, theirs = self._bytes.segs, other._bytes.segs
        zero = bytes(PAGE_BYTES)
        return all(mine.get(k, zero) == theirs.get(k, zero) for k in {*mine, *theirs})

    __hash__ = None  # type: ignore[assignment]

    def difference(self, want: DeviceMemory) -> str:
        """Where it differs first, for messages; empty if it does not."""
        mine, theirs = self._bytes.segs, want._bytes.segs
        zero = bytes(PAGE_BYTES)
        out: list[str] = []
        for key in sorted({*mine, *theirs}):
            pages = (mine.get(key, zero), theirs.get(key, zero))
            if pages[0] == pages[1] or len(out) == 4:
                continue
            words = [np.frombuffer(bytes(page), "<u4") for page in pages]
            where = np.flatnonzero(words[0] != words[1])
            first = int(where[0])
            at, (got, wanted) = key + 4 * first, (int(page[first]) for page in words)
            out.append(f"{where.size} words from {at:#x} on: {got:#010x}, want {wanted:#010x}")
        return "; ".join(out)

    def put_beat(self, address: int, data: int, strobes: int) -> int:
        """Write a beat of the bus; returns its response."""
        code = self.response(address, BEAT_BYTES, write=True)
        if code < 2:
            words = data.to_bytes(BEAT_BYTES, "little")
            if strobes != (1 << BEAT_BYTES) - 1:
                old = self._bytes.read(address, BEAT_BYTES)
                words = bytes(words[i] if strobes >> i & 1 else old[i] for i in range(BEAT_BYTES))
            self._bytes.write(address, words)
        return code

    def get_beat(self, address: int) -> tuple[int, int]:
        """Read a beat of the bus; returns data and response."""
        code = self.response(address, BEAT_BYTES, write=False)
        words = FAILED_BEAT if code > 1 else self._bytes.read(address, BEAT_BYTES)
        return int.from_bytes(words, "little"), code


class _Pipeline:
    """Requests that wait for their answer: in order, each after a latency of its own."""

    def __init__(self, clock: Any, timing: AxiTiming, generator: random.Random) -> None:
        self.clock = clock
        self.timing = timing
        self.random = generator
        self.queue: Queue[tuple[int, Any]] = Queue(maxsize=timing.held)
        self.tasks: list[Any] = []

    def start(self, *jobs: Any) -> None:
        """Run the jobs."""
        self.tasks = [cocotb.start_soon(job) for job in jobs]

    def stop(self) -> None:
        """Stop the jobs and forget all requests."""
        for task in self.tasks:
            task.cancel()
        self.tasks = []
        while not self.queue.empty():
            self.queue.get_nowait()

    async def put(self, request: Any) -> None:
        """Queue a request; waits while too many are held."""
        await self.queue.put((clock_number() + self.random.randint(*self.timing.latency), request))

    async def get(self) -> Any:
        """The oldest request, when its latency is over."""
        due, request = await self.queue.get()
        if (left := due - clock_number()) > 1:
            await Timer(left * PERIOD_NS - PERIOD_NS // 2, "ns")  # into the clock before
        if left > 0:
            await RisingEdge(self.clock)
        return request


class _ReadSlave(AxiSlaveRead):
    def __init__(self, bus: Any, entity: Any, memory: DeviceMemory, pipeline: _Pipeline) -> None:
        self.memory = memory
        self.pipeline = pipeline
        super().__init__(bus, entity.clk_i, entity.rst_ni, reset_active_level=False)

    def _handle_reset(self, state: bool) -> None:
        self.pipeline.stop()
        self.ar_channel.clear()
        self.r_channel.clear()
        if not state:
            self.pipeline.start(self._take(), self._answer())

    async def _take(self) -> None:
        while True:
            await self.pipeline.put(await self.ar_channel.recv())

    async def _answer(self) -> None:
        while True:
            request = await self.pipeline.get()
            beats = int(request.arlen) + 1
            for beat in range(beats):
                answer = self.r_channel._transaction_obj()
                data, code = self.memory.get_beat(int(request.araddr) + beat * BEAT_BYTES)
                answer.rid, answer.rdata, answer.rresp = int(request.arid), data, code
                answer.rlast = int(beat == beats - 1)
                await self.r_channel.send(answer)


class _WriteSlave(AxiSlaveWrite):
    def __init__(self, bus: Any, entity: Any, memory: DeviceMemory, pipeline: _Pipeline) -> None:
        self.memory = memory
        self.pipeline = pipeline
        super().__init__(bus, entity.clk_i, entity.rst_ni, reset_active_level=False)

    def _handle_reset(self, state: bool) -> None:
        self.pipeline.stop()
        for channel in (self.aw_channel, self.w_channel, self.b_channel):
            channel.clear()
        if not state:
            self.pipeline.start(self._take(), self._answer())

    async def _take(self) -> None:
        while True:
            request = await self.aw_channel.recv()
            worst = 0
            for beat in range(int(request.awlen) + 1):
                word = await self.w_channel.recv()
                address = int(request.awaddr) + beat * BEAT_BYTES
                code = self.memory.put_beat(address, int(word.wdata), int(word.wstrb))
                worst = max(worst, code)
            await self.pipeline.put((int(request.awid), worst))

    async def _answer(self) -> None:
        while True:
            answer = self.b_channel._transaction_obj()
            answer.bid, answer.bresp = await self.pipeline.get()
            await self.b_channel.send(answer)


class AxiMemorySlave(uvm_component):
    """Answers the port from a DeviceMemory."""

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        bus: AxiBus,
        memory: DeviceMemory,
        timing: AxiTiming,
    ) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.memory = memory
        self.timing = timing

    async def run_phase(self) -> None:
        """Start the two halves and their pauses."""
        entity, timing = self.bus.entity, self.timing
        logging.getLogger(f"cocotb.{entity._name}").setLevel(logging.ERROR)
        pins = ExtAxiBus.from_prefix(self.bus.ports, self.bus.prefix)

        def generator(what: str) -> random.Random:
            return rng(f"{self.get_full_name()}.{what}")

        self.reads = _ReadSlave(
            pins.read, entity, self.memory, _Pipeline(entity.clk_i, timing, generator("reads"))
        )
        self.writes = _WriteSlave(
            pins.write, entity, self.memory, _Pipeline(entity.clk_i, timing, generator("writes"))
        )
        if timing.busy < 1:
            for channel, what in (
                (self.reads.ar_channel, "ar"),
                (self.reads.r_channel, "r"),
                (self.writes.aw_channel, "aw"),
                (self.writes.w_channel, "w"),
                (self.writes.b_channel, "b"),
            ):
                pattern = random_pauses(generator(what), timing.busy, timing.longest)
                channel.set_pause_generator(pauses(pattern))
        else:
            for channel in (self.reads.ar_channel, self.writes.aw_channel, self.writes.w_channel):
                channel.queue_occupancy_limit = max(2, timing.held)


@dataclass
class AxiBurst:
    """A burst that ended.

    Attributes:
        address: of its first beat, bytes.
        beats: 1..64.
        write: the direction.
        id: of the port.
        response: the worst of its beats.
        begun: clock in which its address was taken.
        data: 512-bit words, one a beat.
        strobes: of a write, one a beat.
    """

    address: int
    beats: int
    write: bool
    id: int
    response: int = 0
    begun: int = 0
    data: list[int] = field(default_factory=list)
    strobes: list[int] = field(default_factory=list)

    @property
    def span(self) -> tuple[int, int]:
        """First and last byte that a write changes; of none the burst's first address twice."""
        written = [
            self.address + BEAT_BYTES * beat + byte
            for beat, strobes in enumerate(self.strobes)
            for byte in ((strobes & -strobes).bit_length() - 1, strobes.bit_length() - 1)
            if strobes
        ]
        return (min(written), max(written)) if written else (self.address, self.address)


class AxiMonitor(uvm_monitor):
    """Checks the rules of the port and writes each finished burst to `ap`.

    Attributes:
        bursts: bursts that ended.
        most_reads, most_writes: most that were outstanding at once.
    """

    def __init__(self, name: str, parent: uvm_component, bus: AxiBus) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.bursts = 0
        self.most_reads = 0
        self.most_writes = 0
        self._forget()

    def _forget(self) -> None:
        self.reads: deque[AxiBurst] = deque()
        self.writes: deque[AxiBurst] = deque()
        self.unsent: deque[AxiBurst] = deque()
        self.words: deque[tuple[int, int, int]] = deque()
        self.waiting: dict[str, tuple[int, ...]] = {}

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        """Watch the five channels."""
        ports, prefix = self.bus.ports, self.bus.prefix
        self.attributes = [n for n in ATTRIBUTES if hasattr(ports, f"{prefix}_ar{n}")]
        payload = {
            "ar": ("araddr", "arlen", "arid", *(f"ar{n}" for n in self.attributes)),
            "aw": ("awaddr", "awlen", "awid", *(f"aw{n}" for n in self.attributes)),
            "w": ("wdata", "wstrb", "wlast"),
            "r": ("rdata", "rresp", "rlast", "rid"),
            "b": ("bresp", "bid"),
        }
        channels = [
            (
                name,
                getattr(ports, f"{prefix}_{name}valid"),
                getattr(ports, f"{prefix}_{name}ready"),
                [getattr(ports, f"{prefix}_{pin}") for pin in pins],
                getattr(self, f"_{name}"),
            )
            for name, pins in payload.items()
        ]
        edge = RisingEdge(self.bus.entity.clk_i)
        reset_n = self.bus.entity.rst_ni
        activity = Activity([valid for _, valid, *_ in channels], reset_n)
        while True:
            if not self.waiting:  # else a valid that falls must be seen
                await activity.wait()
            await edge
            if not reset_n.value:
                self._forget()
                continue
            for name, valid, ready, pins, moved in channels:
                if not valid.value:
                    assert name not in self.waiting, f"{self.get_full_name()}: {name}valid fell"
                    continue
                taken = bool(ready.value)
                if taken and name not in self.waiting:
                    moved(*(int(pin.value) for pin in pins))
                    continue
                values = tuple(int(pin.value) for pin in pins)
                before = self.waiting.pop(name, values)
                assert values == before, f"{self.get_full_name()}: {name} changed while it waited"
                if taken:
                    moved(*values)
                else:
                    self.waiting[name] = values

    def _request(
        self, address: int, length: int, identity: int, attributes: tuple[int, ...], write: bool
    ) -> AxiBurst:
        burst = AxiBurst(address, length + 1, write, identity, begun=clock_number())
        where = f"{self.get_full_name()}: {'write' if write else 'read'} of {burst.beats} beats"
        where += f" at {address:#x}"
        assert address % BEAT_BYTES == 0, f"{where} is not aligned"
        assert burst.beats <= 64, f"{where} is longer than 64"
        nbytes = burst.beats * BEAT_BYTES
        assert address % PAGE_BYTES + nbytes <= PAGE_BYTES, f"{where} crosses 4 KiB"
        for name, got in zip(self.attributes, attributes, strict=True):
            assert got == ATTRIBUTES[name], f"{where}: {name} is {got}, want {ATTRIBUTES[name]}"
        return burst

    def _check_outstanding(self, what: str, bursts: deque[AxiBurst], most: int) -> None:
        port = bursts[-1].id >> ENGINE_ID_BITS
        number = sum(burst.id >> ENGINE_ID_BITS == port for burst in bursts)
        assert number <= most, (
            f"{self.get_full_name()}: {number} {what} of engine port {port} outstanding, "
            f"want at most {most}"
        )

    def _ar(self, address: int, length: int, identity: int, *attributes: int) -> None:
        self.reads.append(self._request(address, length, identity, attributes, write=False))
        self.most_reads = max(self.most_reads, len(self.reads))
        self._check_outstanding("reads", self.reads, self.bus.max_reads)

    def _aw(self, address: int, length: int, identity: int, *attributes: int) -> None:
        burst = self._request(address, length, identity, attributes, write=True)
        self.writes.append(burst)
        self.unsent.append(burst)
        self.most_writes = max(self.most_writes, len(self.writes))
        self._check_outstanding("writes", self.writes, self.bus.max_writes)
        self._match()

    def _w(self, data: int, strobes: int, last: int) -> None:
        self.words.append((data, strobes, last))
        self._match()

    def _match(self) -> None:
        # Data may come before their address, so both wait for each other.
        while self.unsent and self.words:
            burst = self.unsent[0]
            data, strobes, last = self.words.popleft()
            burst.data.append(data)
            burst.strobes.append(strobes)
            done = len(burst.data) == burst.beats
            assert last == done, f"{self.get_full_name()}: wlast={last} at beat {len(burst.data)}"
            if done:
                self.unsent.popleft()

    def _r(self, data: int, response: int, last: int, identity: int) -> None:
        burst = next((b for b in self.reads if b.id == identity), None)
        assert burst is not None, f"{self.get_full_name()}: data of ID {identity}, no read"
        burst.data.append(data)
        burst.response = max(burst.response, response)
        assert last == (len(burst.data) == burst.beats), f"rlast={last}: beat {len(burst.data)}"
        if last:
            self.reads.remove(burst)
            self._end(burst)

    def _b(self, response: int, identity: int) -> None:
        burst = next((b for b in self.writes if b.id == identity), None)
        assert burst is not None, f"{self.get_full_name()}: response of ID {identity}, no write"
        assert len(burst.data) == burst.beats, f"{self.get_full_name()}: response before its data"
        burst.response = response
        self.writes.remove(burst)
        self._end(burst)

    def _end(self, burst: AxiBurst) -> None:
        self.bursts += 1
        self.ap.write(burst)

    def check_phase(self) -> None:
        """Fail if anything is outstanding."""
        left = len(self.reads) + len(self.writes) + len(self.words)
        assert not left, f"{self.get_full_name()}: {left} bursts or beats outstanding at the end"


class AxiMemoryAgent(uvm_agent):
    """A memory at an AXI4 master port, and the monitor of that port."""

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        bus: AxiBus,
        memory: DeviceMemory | None = None,
        timing: AxiTiming | None = None,
    ) -> None:
        super().__init__(name, parent)
        self.bus = bus
        self.memory = memory or DeviceMemory()
        self.timing = timing or AxiTiming()

    def build_phase(self) -> None:
        """Make slave and monitor."""
        super().build_phase()
        self.slave = AxiMemorySlave("slave", self, self.bus, self.memory, self.timing)
        self.monitor = AxiMonitor("monitor", self, self.bus)

    def hush(self, *channels: str) -> None:
        """Let these channels rest until the next call, and all others move without a pause.

        Args:
            channels: of CHANNELS; none: memory answers again.
        """
        for half, names in ((self.slave.reads, CHANNELS[:2]), (self.slave.writes, CHANNELS[2:])):
            for name in names:
                channel = getattr(half, f"{name}_channel")
                channel.clear_pause_generator()
                channel.pause = name in channels

    @property
    def ap(self) -> uvm_analysis_port:
        """The monitor's analysis port."""
        return self.monitor.ap
