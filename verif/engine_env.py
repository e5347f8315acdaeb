"""One environment for every engine: bus, memory, streams, rings, and the golden engine beside them.

What an engine has in common with the others is here; how many rings, memory ports and streams it
has, its registers, the size of a descriptor and its golden model come from its manifest
(`engine.yaml`). An engine's own environment says what is special about its jobs:

    class ScaleEnv(EngineEnv):
        engine = "scale"                          # everything else follows from its engine.yaml

    class Smoke(EngineSequence[ScaleEnv]):
        async def body(self):
            self.env.put(SOURCE, data)                        # in both memories
            await self.env.run(self.env.job([OPCODE, 0, count, ...]))

    @pyuvm.test()
    class SmokeTest(EngineTest):
        environment = ScaleEnv
        sequences = (Smoke(),)

`run` is the whole life of jobs: they go through the sequencer to the driver, which stores their
descriptors and rings the doorbell; the records are found among the bursts of the memory ports; the
golden engine runs the same descriptors on a memory and links of its own; and the scoreboard
compares records, STATUS, ERR_INFO and all of memory. Each step is a method, for tests that do
something in between, and for engines that do one in a way of their own:

    send       a job's descriptor into both memories, its number, the doorbell
    ended      the job's record, or TimeoutError
    predict    the golden engine's end of the job          feed       words that it waits for
    compare    everything that jobs have written           undefined  what no one can know of it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import cocotb
import numpy as np
from cocotb.triggers import Event, RisingEdge
from pyuvm import (
    uvm_component,
    uvm_driver,
    uvm_env,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
    uvm_subscriber,
    uvm_test,
)

from flow.manifest import engine as manifest_of
from flow.manifest import load_object
from models.engine import JobEnd, Link
from models.registers import engine_header as header
from models.registers.engine_header import Error
from models.registers.map import Register
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always
from verif.bench import clock_number, parameters, quiet, reset, rng, start, within
from verif.coverage import Bins, Coverage
from verif.engine_control.model import RECORD_BYTES, Record
from verif.scoreboard import Scoreboard

RINGS, RING_BYTES, RECORDS = 0x10000, 0x2000, 0x1000  # rings in memory; records after descriptors
SLOTS_LOG2 = 4
SLOTS = 1 << SLOTS_LOG2
HALF = (1 << RECORD_BYTES) - 1  # strobes of the lower record of a beat
WRITES_ON = 16  # bursts that may be asked for, not begun, when an engine sees that one failed
CLOCK_LIMIT = 60_000  # of a job
READ_LIMIT = 4000  # reads of a register that will change
SOON = 200  # reads of one that will change soon: HEAD after a record, idle after the last job
IDLE, FAILED = (header.STATUS.word(**{name: 1}) for name in ("idle", "failed"))
CLEAR = header.STATUS.word(done=1, failed=1, event_seen=1)
IRQ_ENABLE = header.CONTROL.word(irq_enable=1)
SOFT_RESET = header.CONTROL.word(soft_reset=1)


class JobItem(uvm_sequence_item):
    """One job, from its descriptor to its record.

    Attributes:
        ring: where it is queued.
        words: its descriptor.
        doorbell: TAIL is written after it; False: with the next job of the ring.
        number: in its ring; -1 until it is queued.
        queued: clock before which it was not; -1 until then.
        record: as the design wrote it, once it did.
        end: as the golden engine says, once it ran the job.
        ended: set with the record.
        writes: clocks in which bursts of its outputs began.
        refused_at: clock in which memory answered one of them with an error.
    """

    record: Record
    end: JobEnd

    def __init__(self, ring: int, words: Iterable[int], doorbell: bool = True) -> None:
        super().__init__("job")
        self.ring, self.words, self.doorbell = ring, [int(word) for word in words], doorbell
        self.number = self.queued = -1
        self.ended = Event()
        self.writes: list[int] = []
        self.refused_at: int | None = None

    @property
    def opcode(self) -> int:
        """Of the descriptor."""
        return self.words[0] & 0xFF

    @property
    def clocks(self) -> int:
        """Of the record: from start to end."""
        return self.record.end - self.record.start

    def writes_after(self, clock: int) -> int:
        """Bursts of its outputs that began after one clock."""
        return sum(begun > clock for begun in self.writes)

    def array(self) -> np.ndarray:
        """The descriptor, uint32."""
        return np.array(self.words, np.uint32)

    def __str__(self) -> str:
        words = " ".join(f"{k}:{word:x}" for k, word in enumerate(self.words) if word)
        return f"ring {self.ring} job {self.number} opcode {self.opcode} [{words}]"


Job = Any  # a JobItem, or what an environment's `job` makes one of: the words of a descriptor


class JobDriver(uvm_driver):
    """Queues the jobs of its sequencer, without waiting for their ends."""

    def __init__(self, name: str, parent: EngineEnv) -> None:
        super().__init__(name, parent)
        self.env = parent

    async def run_phase(self) -> None:
        """Serve the sequencer for ever."""
        while True:
            await self.env.queue(await self.seq_item_port.get_next_item())
            self.seq_item_port.item_done()


class Bursts(uvm_subscriber):
    """Counts beats, and hands each completion record to its job."""

    def __init__(self, name: str, parent: EngineEnv) -> None:
        super().__init__(name, parent)
        self.env, self.rings = parent, parent.manifest.rings
        self.clear()

    def clear(self) -> None:
        """As after a hard reset."""
        self.open: dict[tuple[int, int], JobItem] = {}  # ring, slot -> the job that is queued there
        self.beats = [0, 0]  # read, written
        self.jobs = [0, 0]  # that ended well, that failed

    def write(self, item: AxiBurst) -> None:
        """A burst ended."""
        self.beats[item.write] += item.beats
        ring, place = divmod(item.address - RINGS, RING_BYTES)
        if not item.write:
            return
        if not 0 <= ring < self.rings or place < RECORDS:
            self.work(item)
        elif item.response < 2:
            self.record(item, ring, place)

    def work(self, item: AxiBurst) -> None:
        """A burst that is no record: an output of a job that has not ended."""
        first, last = item.span
        for job in self.open.values():
            if any(a <= first and last < a + n for a, n in self.env.outputs(job)):
                break
        else:
            raise AssertionError(f"{item.address:#x}, {item.beats} beats: no job writes there")
        job.writes.append(item.begun)
        if item.response > 1 and job.refused_at is None:
            job.refused_at = clock_number()

    def record(self, item: AxiBurst, ring: int, place: int) -> None:
        """A completion record."""
        assert item.strobes in ([HALF], [HALF << RECORD_BYTES]), f"{item}: want one record"
        upper = item.strobes != [HALF]
        job = self.open.pop((ring, (place - RECORDS) // RECORD_BYTES + upper), None)
        assert job is not None, f"{item}: no record is due there"
        data = item.data[0] >> 8 * RECORD_BYTES * upper & (1 << 8 * RECORD_BYTES) - 1
        job.record = Record.parse(data.to_bytes(RECORD_BYTES, "little"))
        self.jobs[bool(job.record.error)] += 1
        job.ended.set()


class EngineEnv(uvm_env):
    """Agents of an engine's top and the golden engine.

    Args:
        timing: of the memory.
        patterns: idle clocks or back-pressure of streams, by name; full speed by default.

    Attributes:
        engine: its name in its manifest; of the class.
        group, bins: coverage of jobs; of the class.
        memory, golden_memory: the design's and the golden engine's.
        limit: clocks of a job.
        tails: TAIL of each ring.
    """

    engine: ClassVar[str]
    group: ClassVar[str] = ""
    bins: ClassVar[Mapping[str, Bins]] = {}

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        timing: AxiTiming | None = None,
        patterns: Mapping[str, Pattern] | None = None,
    ) -> None:
        super().__init__(name, parent)
        self.timing, self.patterns = timing or AxiTiming(), dict(patterns or {})
        self.limit = CLOCK_LIMIT

    def build_phase(self) -> None:
        """Make the parts that the manifest tells of."""
        self.dut: Any = cocotb.top
        self.design: Any = self.dut.u_dut  # in its flat pins
        self.manifest = manifest_of(self.engine)
        self.registers = self.manifest.module().REGISTERS
        self.parameters = self.manifest.values(parameters(), "simulation")
        self.random, self.tags = rng("environment"), rng("tags")
        self.golden = self.new_golden()
        self.memory, self.golden_memory = DeviceMemory(), DeviceMemory()
        arrays = isinstance(self.manifest.memory_ports, str)
        self.ports = [
            AxiMemoryAgent(
                f"port{p}", self, AxiBus(self.dut, index=p if arrays else None), self.memory,
                self.timing,
            )
            for p in range(self.manifest.ports(self.parameters))
        ]  # fmt: skip
        self.streams = {
            s.name: StreamAgent(
                s.name, self, StreamBus(self.dut, s.name, ("data", "last")[: 1 + s.last]),
                "sink" if s.out else "source", self.patterns.get(s.name) or always(),
            )
            for s in self.manifest.streams.values()
        }  # fmt: skip
        self.offers = {name: StreamSequence([]) for name in self.streams}
        self.axil = AxilAgent("axil", self, AxilBus(self.dut))
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = JobDriver("driver", self)
        self.bursts = Bursts("bursts", self)
        self.scoreboard = Scoreboard("scoreboard", self)
        if self.bins:
            self.cover = Coverage("ended", self, self.group, self.bins, enforce=False)
        self.tails = [0] * self.manifest.rings

    def connect_phase(self) -> None:
        """Connect driver and monitors."""
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
        for port in self.ports:
            port.ap.connect(self.bursts.analysis_export)

    def new_golden(self) -> Any:
        """A golden engine as after a hard reset, with links of its own."""
        links = {name: Link() for name in self.manifest.streams}
        fields = self.manifest.fields(self.parameters)
        return load_object(self.manifest.model).from_fields(fields, links)

    # ---- The design
    async def start(self) -> None:
        """Reset; switch the rings on."""
        if hasattr(self.dut, "link_clear_i"):
            self.dut.link_clear_i.value = 0
        self.dut.time_i.value = 0
        await start(self.dut)
        cocotb.start_soon(self._time())
        await quiet(self.dut)
        await self.setup()

    async def _time(self) -> None:
        time, edge = 0, RisingEdge(self.dut.clk_i)
        while True:
            await edge
            time += 1
            self.dut.time_i.value = time

    @property
    def now(self) -> int:
        """TIME, in clocks."""
        return int(self.dut.time_i.value)

    async def setup(self) -> None:
        """Write the rings' registers and switch the interrupt on."""
        for ring in range(self.manifest.rings):
            base = RINGS + RING_BYTES * ring
            for register, value in (
                (header.RING_BASE_LO, base),
                (header.RING_CPL_LO, base + RECORDS),
                (header.RING_SIZE, SLOTS_LOG2),
            ):
                await self.axil.write(register.at(ring), value)
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE)
        await self.go_on_at_head()

    async def go_on_at_head(self) -> None:
        """After a reset the rings are empty and go on at HEAD; jobs that were queued are void."""
        self.bursts.open.clear()
        for ring in range(self.manifest.rings):
            self.tails[ring] = await self.axil.read(header.RING_HEAD.at(ring))
            tail = await self.axil.read(header.RING_TAIL.at(ring))
            assert self.tails[ring] == tail, f"ring {ring}: HEAD {self.tails[ring]}, TAIL {tail}"

    async def soft_reset(self) -> int:
        """Soft reset of both; returns the clocks that it took (to those of a few reads)."""
        begun = clock_number()
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE | SOFT_RESET)
        await self.reads(header.CONTROL, lambda value: not value & SOFT_RESET)
        took = clock_number() - begun
        self.golden.soft_reset()
        await self.go_on_at_head()
        return took

    async def hard_reset(self, clocks: int) -> None:
        """Hold the running design in reset; both begin anew, with the design's device memory."""
        for offer in self.offers.values():
            offer.stop()
        await reset(self.dut, clocks)
        self.bursts.clear()
        self.golden = self.new_golden()
        self.golden_memory = self.memory.copy()
        await quiet(self.dut)
        await self.setup()
        assert not any(self.tails), f"HEAD is {self.tails} after a hard reset"

    # ---- Registers
    async def write(self, register: Register, value: int, index: int = 0) -> None:
        """Write a register of the engine in both."""
        await self.axil.write(register.at(index), value)
        self.golden.write_register(register.at(index), value, True)

    async def counter(self, offset: int) -> int:
        """Read a 64-bit counter at its low half, which latches the high one."""
        low = await self.axil.read(offset)
        return low | await self.axil.read(offset + 4) << 32

    async def reads(
        self, register: Register, wanted: Any, index: int = 0, limit: int = READ_LIMIT
    ) -> int:
        """Read a register until wanted(value), at most so often. Raises: TimeoutError."""
        for _ in range(limit):
            value = await self.axil.read(register.at(index))
            if wanted(value):
                return value
        raise TimeoutError(f"{register.name}[{index}] stays {value:#x}")

    async def watchdog(self, clocks: int) -> None:
        """Set the watchdog; 0: its longest."""
        await self.axil.write(header.WATCHDOG.offset, clocks)

    async def clear_status(self) -> None:
        """Clear the failure in STATUS."""
        await self.axil.write(header.STATUS.offset, FAILED)

    async def info(self) -> list[int]:
        """ERR_INFO."""
        return [await self.axil.read(r.offset) for r in (header.ERR_INFO0, header.ERR_INFO1)]

    # ---- Memory and streams
    def put(self, address: int, data: np.ndarray) -> None:
        """Store an array in both memories."""
        self.memory.load(address, data)
        self.golden_memory.load(address, data)

    def fail(self, address: int, nbytes: int, response: int, **kinds: bool) -> None:
        """Let a range of both memories fail."""
        self.memory.fail(address, nbytes, response, **kinds)
        self.golden_memory.fail(address, nbytes, response, **kinds)

    def heal(self) -> None:
        """Let nothing fail."""
        self.memory.heal()
        self.golden_memory.heal()

    def adopt(self, address: int, nbytes: int) -> None:
        """Take a range of the design's memory into the golden one."""
        self.golden_memory.load(address, self.memory.dump(address, nbytes))

    async def offer(self, stream: str, items: Iterable[StreamItem]) -> None:
        """Offer words to a stream, and wait until they are taken; a hard reset ends it."""
        self.offers[stream] = StreamSequence(items)
        await self.offers[stream].start(self.streams[stream].sequencer)

    # ---- Jobs
    def job(self, words: Job, ring: int = 0) -> JobItem:
        """A job of a descriptor; words that are not given are 0. A job is returned as it is."""
        if isinstance(words, JobItem):
            return words
        missing = self.manifest.descriptor_bytes // 4 - len(words)
        return JobItem(ring, [*words, *[0] * missing])

    async def queue(self, job: JobItem) -> None:
        """Store a descriptor in its ring, and ring the doorbell. The driver's: use `send`."""
        ring, slot, base = job.ring, self.tails[job.ring] % SLOTS, RINGS + RING_BYTES * job.ring
        assert (ring, slot) not in self.bursts.open, f"{job}: ring {ring} is full"
        job.number, job.queued = self.tails[ring], self.now
        job.words[1] = job.words[1] or self.tags.getrandbits(32)
        self.put(base + self.manifest.descriptor_bytes * slot, job.array())
        self.memory.load(base + RECORDS + RECORD_BYTES * slot, np.full(RECORD_BYTES, 255, np.uint8))
        self.bursts.open[ring, slot] = job
        self.tails[ring] += 1
        if job.doorbell:
            await self.axil.write(header.RING_TAIL.at(ring), self.tails[ring])

    async def send(self, *jobs: Job) -> list[JobItem]:
        """Queue jobs, or descriptors of ring 0; those of a ring with one doorbell, by the last."""
        items = [self.job(job) for job in jobs]
        last = {item.ring: item for item in items if item.doorbell}
        for item in items:
            item.doorbell = item is last.get(item.ring)
        await StreamSequence(items).start(self.sequencer)
        return items

    async def ended(self, *jobs: JobItem, limit: int = 0) -> None:
        """Wait for records, until HEAD is past them. Raises: TimeoutError."""
        for job in jobs:
            clocks = limit or self.limit
            await within(f"record of {job}", self.dut.clk_i, clocks, job.ended.wait())
        for job in jobs:
            await self.reads(header.RING_HEAD, lambda head, n=job.number: head > n, job.ring,
                             SOON)  # fmt: skip

    async def idle(self) -> None:
        """Wait until the engine is idle. Raises: TimeoutError."""
        await self.reads(header.STATUS, lambda status: status & IDLE, limit=SOON)

    async def run(self, *jobs: Job, limit: int = 0) -> list[JobEnd]:
        """Run jobs in both, side by side in the design, and compare. Returns their ends.

        Args:
            jobs: of rings, or descriptors of ring 0.
            limit: clocks until each record; 0: as the test says.
        """
        await self.clear_status()
        return await self.check(*await self.send(*jobs), limit=limit)

    async def check(self, *jobs: JobItem, limit: int = 0) -> list[JobEnd]:
        """Wait for the records of jobs that were sent, run them in the golden engine, compare."""
        await self.ended(*jobs, limit=limit)
        for job in self.in_order(jobs):
            job.end = self.predict(job)
        await self.compare(*jobs)
        return [job.end for job in jobs]

    def in_order(self, jobs: Sequence[JobItem]) -> Sequence[JobItem]:
        """Jobs that ended, in the order in which the golden engine runs them."""
        return jobs

    def predict(self, given: Job) -> JobEnd:
        """Run a job in the golden engine."""
        job = self.job(given)
        run = self.golden.job(job.ring, job.array(), self.golden_memory)
        while True:
            try:
                next(run)
            except StopIteration as stop:
                end: JobEnd = stop.value
                return end
            self.feed(job)

    def feed(self, job: JobItem) -> None:
        """The golden engine waits for a stream: give it words."""
        raise AssertionError(f"{job}: the golden engine waits for words that never come")

    async def timed_out(self, *jobs: JobItem, limit: int = 0) -> None:
        """Wait for jobs that the watchdog ends; the golden engine does not run them."""
        await self.ended(*jobs, limit=limit)
        for job in jobs:
            got = (job.record.error, job.record.detail, job.record.count)
            assert got == (Error.E_TIMEOUT, 0, 0), f"{job}: error, detail, count {got}"
        info = await self.info()
        assert info == [0, 0], f"ERR_INFO {info} of a time-out"

    # ---- Comparison
    async def compare(self, *jobs: JobItem) -> None:
        """Compare all results of the jobs, which have ended in both."""
        for job in jobs:
            self.compare_record(job, len(jobs) == 1)
        await self.compare_status(*jobs)
        self.compare_memory(*jobs)
        self.sample(*jobs)

    def compare_record(self, job: JobItem, alone: bool = True) -> None:
        """Compare a record with the golden end. `alone`: nothing ran beside the job."""
        got, end = job.record, job.end
        times = job.queued, got.start, got.end, self.now
        assert sorted(times) == list(times), f"{job}: queued, start, end, now: {times}"
        if end.error in (Error.E_ALIGN, Error.E_ADDR):
            assert not job.writes, f"{job}: {len(job.writes)} writes of a job that was refused"
        if end.error == Error.E_BUS_WR and job.refused_at is not None:
            after = job.writes_after(job.refused_at)
            assert after <= WRITES_ON, f"{job}: {after} writes began after one had failed"
        detail = self.detail(job, alone)
        want = (job.words[1], end.error, job.opcode, detail, end.count, job.number)
        self.scoreboard.expect((str(job), want))
        self.scoreboard.observe((str(job), got.content))

    def detail(self, job: JobItem, alone: bool) -> int:
        """The detail that a record must have."""
        return job.end.detail

    async def compare_status(self, *jobs: JobItem) -> None:
        """STATUS and ERR_INFO tell of the failure that ended first; nothing else has failed."""
        failed: dict[tuple[int, int, int], list[int]] = {}
        for job in jobs:
            later = self.manifest.ordered and any(ring == job.ring for ring, _, _ in failed)
            if job.end.error and not later:
                told = (job.ring, job.number & 0xFFFF, int(job.end.error))
                failed[told] = [job.end.info0, job.end.info1]
        status = await self.axil.read(header.STATUS.offset)
        assert bool(status & FAILED) == bool(failed), f"STATUS {status:#x}, failed {failed}"
        if failed:
            told = (
                header.STATUS.field("ring").get(status),
                header.STATUS.field("job").get(status),
                header.STATUS.field("code").get(status),
            )
            assert told in failed, f"STATUS tells of {told}, failed {failed}"
            info = await self.info()
            assert info == failed[told], f"{told}: ERR_INFO {info}, want {failed[told]}"

    def compare_memory(self, *jobs: JobItem) -> None:
        """Compare all of memory but records, and what is not defined."""
        for ring in range(self.manifest.rings):
            self.adopt(RINGS + RING_BYTES * ring + RECORDS, RECORD_BYTES * SLOTS)
        for job in jobs:
            for address, nbytes in self.undefined(job):
                self.adopt(address, nbytes)
        different = self.memory.difference(self.golden_memory)
        assert not different, f"{'; '.join(map(str, jobs))}: memory differs: {different}"

    def dropped(self) -> None:
        """A job was ended in its midst: what else than its outputs may have changed is adopted."""

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """Addresses and bytes of all that a job may write beside its record."""
        return ()

    def undefined(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """Addresses and bytes of what a job may leave in any state."""
        return ()

    def sample(self, *jobs: JobItem) -> None:
        """Coverage of jobs that were compared together."""

    def compares(self, register: Register) -> bool:
        """Whether `compare_registers` looks at a register."""
        return True

    async def compare_registers(self) -> None:
        """Compare the engine's registers; it is at rest."""
        for register in filter(self.compares, self.registers):
            for index in range(register.count):
                got = await self.axil.read(register.at(index))
                want = self.golden.read_register(register.at(index))
                assert got == want, f"{register.name}[{index}]: {got:#x}, want {want:#x}"

    async def compare_header(self) -> None:
        """Compare ID, version, rings and counters with what came out of the ports."""
        await self.idle()
        want = {
            header.ID: self.manifest.engine_id, header.VERSION: self.manifest.engine_version,
            header.JOBS_DONE: self.bursts.jobs[0], header.JOBS_FAILED: self.bursts.jobs[1],
            header.RD_BEATS_LO: self.bursts.beats[0], header.WR_BEATS_LO: self.bursts.beats[1],
        }  # fmt: skip
        got = {register: await self.axil.read(register.offset) for register in want}
        for register, value in want.items():
            assert got[register] == value, f"{register.name}: {got[register]}, want {value}"
        for ring, tail in enumerate(self.tails):
            for register in (header.RING_HEAD, header.RING_TAIL):
                at = await self.axil.read(register.at(ring))
                assert at == tail, f"{register.name}[{ring}]: {at}, want {tail}"

    async def finish(self) -> None:
        """At the end of a test: compare what is left."""
        await self.compare_header()


Env = TypeVar("Env", bound=EngineEnv)


class EngineSequence(uvm_sequence, Generic[Env]):  # type: ignore[misc]
    """What an engine is put through; its `body` uses `self.env`.

    Args:
        settings: replace attributes of the class.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(type(self).__name__)
        for name, value in settings.items():
            if not hasattr(type(self), name):
                raise AttributeError(f"{type(self).__name__} has no setting {name}")
            setattr(self, name, value)

    @property
    def env(self) -> Env:
        """The environment of the sequencer on which it was started."""
        env: Env = self.sequencer.parent
        return env


class EngineTest(uvm_test):
    """An environment, and sequences one after another.

    Attributes:
        environment: its class.
        timing: of the memory.
        limit: clocks of a job.
        sequences: in turn.
    """

    environment: ClassVar[type[EngineEnv]]
    timing: AxiTiming = AxiTiming()
    limit: int = CLOCK_LIMIT
    sequences: Sequence[EngineSequence[Any]] = ()

    def patterns(self) -> Mapping[str, Pattern]:
        """Idle clocks or back-pressure of streams, by name."""
        return {}

    def build_phase(self) -> None:
        """Make the environment."""
        self.env: Any = self.environment("env", self, self.timing, self.patterns())
        self.env.limit = self.limit

    async def run_phase(self) -> None:
        """Reset, the test, and what is compared at its end."""
        self.raise_objection()
        await self.env.start()
        await self.scenario()
        await self.env.finish()
        self.drop_objection()

    async def scenario(self) -> None:
        """What the test does: its sequences."""
        for sequence in self.sequences:
            await sequence.start(self.env.sequencer)
