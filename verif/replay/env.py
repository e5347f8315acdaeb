"""Environment of jd_replay_top: control bus, memory, both streams, and the golden engine beside it.

The golden `ReplayEngine` has a memory and links of its own. A test queues jobs for the design with
`submit`, lets a `Learner` answer SMP on TDE, and calls `predict` with the same words: then record,
ERR_INFO, output memory, SMP words and registers are compared to the bit.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, Event, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_subscriber

from models.engine import JobEnd, Link
from models.registers import engine_header as header
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job, ReplayConfig, ReplayEngine
from verif.agents.axi_memory import AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always
from verif.bench import parameters, quiet, reset, rng, start, until
from verif.coverage import Coverage
from verif.replay.coverage import BINS

BASE, CPL, SLOTS_LOG2 = (0x10000, 0x12000, 0x14000), (0x11000, 0x13000, 0x15000), 4
INPUT, OUTPUT = (0x100000, 0x200000, 0x500000), (0x300000, 0x400000, 0x600000)
REGION, STORAGE = 0x40000, 0x1000000
RINGS = (0, 1, 2)
CLOCK_LIMIT = 60_000
FETCH_DONE, ABORT = 1 << 48, 2 << 48
IRQ_ENABLE, SOFT_RESET = 2, 1
FAILED = 4
IGNORED = ("FETCH_ACK",)
ELEMENT_BYTES = {
    Job.SAMPLE: 8, Job.RETRIEVE: 4, Job.UPDATE: 8, Job.UPDATE_DELTA: 8, Job.INSERT: 8,
    Job.COMMIT: 8, Job.STREAM: 16, Job.GATHER: 4,
}  # fmt: skip


def engine_config(given: dict[str, int]) -> ReplayConfig:
    """The golden model's configuration of a build's parameters."""
    names = {
        "KLog2": "k_log2", "NLog2": "n_log2", "LeafW": "leaf_w", "BatchLog2": "batch_log2",
        "LatLut": "lat_lut", "LatBram": "lat_bram", "LatUram": "lat_uram", "LatMul": "lat_mul",
        "Sequential": "sequential",
    }  # fmt: skip
    return ReplayConfig(**{names[key]: value for key, value in given.items()})


@dataclass
class Ended:
    """A job that ended, for coverage.

    Attributes:
        ring, opcode, flags, count: of the descriptor.
        end: how it ended.
        cycles: clocks of its record.
    """

    ring: int
    opcode: int
    flags: int
    count: int
    end: JobEnd
    cycles: int


@dataclass
class Learner:
    """Answers each batch of SMP with FETCH_DONE and its TD errors.

    Attributes:
        batches: batches that came, without failing words: lists of 128-bit words.
        sent: TDE words by batch, for the golden model.
        failed: failing words.
        cut: how many words of its batch came before each failing word, since the reset.
        delay: most clocks between a batch and its answer.
        broken: whether a failing word may end a batch of which words came.
    """

    env: ReplayEnv
    random: random.Random
    delay: int = 20
    answers: bool = True
    broken: bool = False
    batches: list[list[int]] = field(default_factory=list)
    sent: deque[list[int]] = field(default_factory=deque)
    failed: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    turn: Event | None = None
    life: int = 0

    def forget(self) -> None:
        """A reset: what came is void, what waits to be sent is not sent."""
        self.batches.clear()
        self.sent.clear()
        self.failed.clear()
        self.words = []
        self.turn = None
        self.life += 1

    def taken(self, item: StreamItem) -> None:
        """One word of SMP moved."""
        self.words.append(item.data)
        if not item.last:
            return
        if self.words[-1] >> 120:
            self.failed.append(self.words[-1])
            self.cut.append(len(self.words) - 1)
            self.words = self.words[:-1]
            assert not self.words or self.broken, "a failing word after words of its batch"
        else:
            self.batches.append(self.words)
            if self.answers:
                cocotb.start_soon(self.answer(len(self.words)))
        self.words = []

    def errors(self, count: int) -> list[int]:
        """[count] FP32 TD errors, some of them special."""
        values = np.array([self.random.gauss(0, 1) for _ in range(count)], np.float32)
        bits = [int(b) for b in values.view(np.uint32)]
        for index in range(count):
            if self.random.random() < 0.1:
                bits[index] = self.random.choice(
                    (0, 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000, 1, 0x7F7FFFFF, 0x447A0000)
                )
        return bits

    async def answer(self, count: int) -> None:
        """FETCH_DONE, then the TD errors; FETCH_DONE may also come between them, or not at all."""
        words = [slot << 32 | bits for slot, bits in enumerate(self.errors(count))]
        if self.random.random() < 0.8:
            words.insert(self.random.choice((0, 0, self.random.randint(0, count - 1))), FETCH_DONE)
        self.sent.append(words)
        before, mine, life = self.turn, Event(), self.life
        self.turn = mine
        await ClockCycles(self.env.dut.clk_i, 1 + self.random.randint(0, self.delay))
        if before is not None:
            await before.wait()  # the batch before goes first
        if self.life == life:
            await self.env.send_tde(words)
        mine.set()


class Words(uvm_subscriber):
    """Hands each word of SMP to the learner."""

    learner: Learner

    def write(self, item: StreamItem) -> None:
        """One word moved."""
        self.learner.taken(item)


class ReplayEnv(uvm_env):
    """Agents and golden model.

    Args:
        timing: of the memory.
        smp: back-pressure of SMP.
        tde: idle clocks of TDE.
    """

    def __init__(
        self,
        name: str,
        parent: uvm_component,
        timing: AxiTiming,
        smp: Pattern | None = None,
        tde: Pattern | None = None,
    ) -> None:
        super().__init__(name, parent)
        self.timing, self.smp_pattern, self.tde_pattern = timing, smp, tde

    def build_phase(self) -> None:
        """Make the parts."""
        self.dut = cocotb.top
        self.config = engine_config(parameters())
        self.golden = ReplayEngine(self.config, Link(), Link())
        self.memory, self.golden_memory = DeviceMemory(), DeviceMemory()
        self.port = AxiMemoryAgent("port", self, AxiBus(self.dut), self.memory, self.timing)
        self.axil = AxilAgent("axil", self, AxilBus(self.dut))
        self.smp = StreamAgent(
            "smp", self, StreamBus(self.dut, "smp", ("data", "last")), "sink",
            self.smp_pattern or always(),
        )  # fmt: skip
        self.tde = StreamAgent(
            "tde", self, StreamBus(self.dut, "tde"), "source", self.tde_pattern or always()
        )
        self.ended = Coverage("ended", self, "replay.job", BINS, enforce=False)
        self.learner = Learner(self, rng("learner"))
        self.words = Words("words", self)
        self.words.learner = self.learner
        self.tails = [0] * len(RINGS)
        self.compared = 0
        self.sending = StreamSequence([])

    def connect_phase(self) -> None:
        """Let the learner see SMP."""
        self.smp.ap.connect(self.words.analysis_export)

    # ---- The design
    @property
    def core(self) -> Any:
        """The tree."""
        dut = self.dut
        return (dut.gen_sequential if self.config.sequential else dut.gen_pipelined).u_core

    async def start(self) -> None:
        """Reset; switch the rings and the interrupt on."""
        self.dut.link_clear_i.value = 0
        self.dut.time_i.value = 0
        await start(self.dut)
        cocotb.start_soon(self._time())
        await quiet(self.dut)
        await self.setup()

    async def _time(self) -> None:
        time = 0
        while True:
            await RisingEdge(self.dut.clk_i)
            time += 1
            self.dut.time_i.value = time

    async def setup(self) -> None:
        """Write the rings' registers."""
        for ring in RINGS:
            for register, value in (
                (header.RING_BASE_LO, BASE[ring]),
                (header.RING_CPL_LO, CPL[ring]),
                (header.RING_SIZE, SLOTS_LOG2),
            ):
                await self.axil.write(register.at(ring), value)
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE)

    async def send_tde(self, words: Iterable[int]) -> None:
        """Offer words to TDE, and wait until they are taken."""
        self.sending = StreamSequence(StreamItem(data=w) for w in words)
        await self.sending.start(self.tde.sequencer)

    async def write(self, register: registers.Register, value: int, index: int = 0) -> None:
        """Write an engine register, in the design and in the golden model."""
        await self.axil.write(register.at(index), value)
        self.golden.write_register(register.at(index), value, True)

    async def configure(self, **values: int) -> None:
        """Write registers by name."""
        for name, value in values.items():
            await self.write(getattr(registers, name), value)

    async def seed(self, random_: random.Random) -> None:
        """A random state of the generator."""
        for word in range(8):
            await self.write(registers.SEED, random_.getrandbits(32), word)

    # ---- Jobs
    def descriptor(
        self,
        ring: int,
        opcode: int,
        *,
        flags: int = 0,
        count: int = 0,
        batches: int = 0,
        data: np.ndarray | None = None,
        beta: int = 0,
        row_bytes: int = 64,
        **words: Any,
    ) -> list[int]:
        """Words of a descriptor; the input array goes to both memories.

        Args:
            data: the input array; needed unless the job reads nothing.
            row_bytes: of GATHER.
            words: w0..w15 to replace.
        """
        result = [0] * 16
        result[0] = opcode | flags << 8 | 1 << 31
        result[1] = self.tails[ring] ^ 0x5A5A0000
        result[2], result[3], result[8] = count, batches, beta
        if data is not None:
            result[4] = INPUT[ring]
            self.load(INPUT[ring], data)
        if flags & Flag.MEMORY or opcode == Job.GATHER:
            result[6] = OUTPUT[ring]
        if opcode == Job.GATHER:
            result[9], result[10] = row_bytes, STORAGE
        for name, value in words.items():
            result[int(name[1:])] = value
        return result

    def load(self, address: int, data: np.ndarray) -> None:
        """Store an array in both memories."""
        self.memory.load(address, data)
        self.golden_memory.load(address, data)

    def put(self, ring: int, words: list[int]) -> int:
        """Store a descriptor in its ring; the next TAIL makes it a job. Returns its number."""
        number = self.tails[ring]
        self.memory.load(BASE[ring] + 64 * (number % 16), np.array(words, np.uint32))
        self.tails[ring] += 1
        return number

    async def submit(self, ring: int, words: list[int]) -> int:
        """Queue one job; returns its number."""
        number = self.put(ring, words)
        await self.axil.write(header.RING_TAIL.at(ring), self.tails[ring])
        return number

    async def finish(self, ring: int, number: int, clocks: int = CLOCK_LIMIT) -> np.ndarray:
        """Wait for a job's record, [8] uint32."""
        address = CPL[ring] + 32 * (number % 16) + 12
        for _ in range(clocks // 8):
            if int(self.memory.dump(address, 4).view("<u4")[0]) == number and self.record_new(
                ring, number
            ):
                break
            await ClockCycles(self.dut.clk_i, 8)
        else:
            raise TimeoutError(f"ring {ring} job {number}: no record within {clocks} clocks")
        control = self.dut.u_frame.u_page.u_control
        await until(
            "HEAD", self.dut.clk_i, 1000,
            lambda: int(control.head.value[32 * ring + 31 : 32 * ring]) > number,
        )  # fmt: skip
        record = self.memory.dump(address - 12, 32).view("<u4").copy()
        self.memory.load(address - 12, np.full(32, 0xFF, np.uint8))
        return record

    def record_new(self, ring: int, number: int) -> bool:
        """Whether the record was written (job 0 looks like memory that never was)."""
        address = CPL[ring] + 32 * (number % 16)
        return bool(self.memory.dump(address + 16, 16).any())

    def golden_end(self, ring: int, words: list[int]) -> JobEnd:
        """Run the golden model; it gets the learner's words batch by batch as it waits."""
        job = self.golden.job(ring, np.array(words, np.uint32), self.golden_memory)
        for _ in range(10_000):
            try:
                next(job)
            except StopIteration as stop:
                return stop.value
            if not self.learner.sent:
                raise AssertionError("the golden model waits for a stream")
            for word in self.learner.sent.popleft():
                self.golden.tde.put(word)
        raise AssertionError("the golden model never ends")

    async def check(
        self,
        ring: int,
        words: list[int],
        record: np.ndarray,
        number: int,
        output: int | None = None,
    ) -> JobEnd:
        """Run the golden model and compare what the job did; its output is at OUTPUT[ring]."""
        output = OUTPUT[ring] if output is None else output
        want = self.golden_end(ring, words)
        opcode, flags = words[0] & 0xFF, words[0] >> 8 & 0xFF
        got = [int(v) for v in record]
        name = f"ring {ring} job {number} opcode {opcode} flags {flags:#x} count {words[2]}"
        assert got[0] == words[1], f"{name}: tag {got[0]:#x}"
        assert (got[1] & 0xFF, got[2]) == (want.error, want.count), (
            f"{name}: error {got[1] & 0xFF} count {got[2]}, want {want}"
        )
        assert (got[1] >> 8, got[3]) == (opcode, number), f"{name}: record {got}"
        start_, end = got[4] | got[5] << 32, got[6] | got[7] << 32
        assert start_ <= end, f"{name}: from {start_} to {end}"
        if want.error:
            status = await self.axil.read(header.STATUS.offset)
            assert status & FAILED and status >> 8 & 0xFF == want.error, f"{name}: {status:#x}"
            info = (
                await self.axil.read(header.ERR_INFO0.offset),
                await self.axil.read(header.ERR_INFO1.offset),
            )
            assert info == (want.info0, want.info1), f"{name}: info {info}, want {want}"
        await self.axil.write(header.STATUS.offset, 0xE)
        if opcode == Job.GATHER and want.error in (0, Error.E_INDEX, Error.E_BUS_RD):
            size = want.count * words[9]
            mine, theirs = (m.dump(output, size) for m in (self.memory, self.golden_memory))
            assert (mine == theirs).all(), f"{name}: {words[9]} bytes a row"
        elif flags & Flag.MEMORY and want.error not in (Error.E_BUS_WR, Error.E_OPCODE):
            batches = max(words[3], 1) if opcode == Job.SAMPLE else 1
            size = min(16 * min(words[2] * batches, 1 << 16) + 256, REGION)
            mine, theirs = (m.dump(output, size) for m in (self.memory, self.golden_memory))
            if (mine != theirs).any():
                at = int(np.nonzero(mine != theirs)[0][0]) // 16
                raise AssertionError(
                    f"{name}: response {at}: {mine[16 * at : 16 * at + 16].view('<u4')}, "
                    f"want {theirs[16 * at : 16 * at + 16].view('<u4')}"
                )
        if ring == 0 and not want.error:
            left = sum(len(batch) for batch in self.learner.batches)
            good = sum(not word >> 120 for word, _ in self.golden.smp.words)
            assert left == good, f"{name}: {left} words of SMP when it ended, want {good}"
        self.compared += 1
        self.ended.sample(Ended(ring, opcode, flags, words[2], want, end - start_))
        return want

    async def run(self, ring: int, opcode: int, **options: Any) -> JobEnd:
        """Run one job on both and compare. Options as of `descriptor`. Returns its end."""
        words = self.descriptor(ring, opcode, **options)
        number = await self.submit(ring, words)
        record = await self.finish(ring, number)
        return await self.check(ring, words, record, number)

    def compare_smp(self) -> None:
        """Compare the words of SMP so far, failing ones apart."""
        want = list(self.golden.smp.words)
        self.golden.smp.clear()
        failing = [w for w, _ in want if w >> 120]
        assert self.learner.failed == failing, f"{self.learner.failed}, want {failing}"
        good = [w for w, _ in want if not w >> 120]
        got = [w for batch in self.learner.batches for w in batch]
        assert len(got) == len(good), f"{len(got)} words of SMP, want {len(good)}"
        for index, (mine, theirs) in enumerate(zip(got, good, strict=True)):
            assert mine == theirs, f"SMP word {index}: {mine:#034x}, want {theirs:#034x}"
        self.learner.batches.clear()
        self.learner.failed.clear()

    async def settle(self) -> None:
        """Wait until the learner's words are applied, in both."""
        await until("TDE", self.dut.clk_i, CLOCK_LIMIT, lambda: not int(self.dut.open.value))
        await ClockCycles(self.dut.clk_i, 60)
        while self.learner.sent:
            for word in self.learner.sent.popleft():
                self.golden.tde.put(word)
        self.golden.poll()

    async def compare_registers(self) -> None:
        """Compare every readable register; the engine is at rest."""
        for register in registers.REGISTERS:
            if register.name in IGNORED:
                continue
            for index in range(register.count):
                got = await self.axil.read(register.at(index))
                want = self.golden.read_register(register.at(index))
                assert got == want, f"{register.name}[{index}]: {got:#x}, want {want:#x}"

    async def soft_reset(self) -> int:
        """Soft reset of both; returns the clocks it took."""
        await self.axil.write(header.CONTROL.offset, SOFT_RESET | IRQ_ENABLE)
        took = await until(
            "soft reset", self.dut.clk_i, 2000, lambda: not self.dut.link_clear_o.value
        )
        self.golden.soft_reset()
        self.learner.words.clear()
        await self.axil.write(header.STATUS.offset, 0xE)
        return took

    def take_tails(self) -> None:
        """Behind a soft reset the rings go on at HEAD."""
        head = self.dut.u_frame.u_page.u_control.head.value
        self.tails = [int(head[32 * r + 31 : 32 * r]) for r in RINGS]

    async def hard_reset(self, clocks: int) -> None:
        """Hold the running design in reset; both begin anew. The memory's content stays."""
        self.sending.stop()
        self.learner.forget()
        await reset(self.dut, clocks)
        self.learner.forget()
        self.golden = ReplayEngine(self.config, Link(), Link())
        self.tails = [0] * len(RINGS)
        for ring in RINGS:
            self.memory.load(CPL[ring], np.zeros(32 << SLOTS_LOG2, np.uint8))
            self.load(OUTPUT[ring], np.zeros(1 << 14, np.uint8))
        await quiet(self.dut)
        await self.setup()

    def check_phase(self) -> None:
        """Fail if nothing was compared."""
        assert self.compared, "no job was compared"
