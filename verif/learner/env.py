"""Environment of jd_learner_top: control bus, memory, both streams, the golden engine beside it.

The golden `LearnerEngine` has a memory and links of its own. `run` queues a job for the design,
waits for its record, lets the golden engine run the same words, and compares to the bit: record,
ERR_INFO, all of memory, the words of TDE and the registers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_subscriber

from models.engine import JobEnd
from models.learner import engine as golden
from models.learner.engine import TDE_ABORT, TDE_ERROR, TDE_FETCH_DONE, LearnerEngine
from models.learner.fp import to_bits
from models.learner.layout import Geometry
from models.learner.learner import Parameters
from models.learner.optim import Slot
from models.learner.program import Program
from models.registers import engine_header as header
from models.registers import learner as registers
from models.registers.learner import Error
from verif.agents.axi_memory import AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import Pattern, always
from verif.bench import parameters, quiet, reset, rng, start, until
from verif.coverage import Coverage
from verif.learner.coverage import BINS

RING, CPL, SLOTS_LOG2 = 0x10000, 0x12000, 4
PROGRAM, IMAGE, LIST, TD, OUT, DATA = 0x20000, 0x40000, 0x80000, 0xA0000, 0xC0000, 0x100000
GRADIENTS = 0xE0000
CLOCK_LIMIT = 60_000
IRQ_ENABLE, SOFT_RESET = 2, 1
FAILED = 4
COMPARED = ("STEP", "WEIGHT_VERSION", "TD_MEAN", "TD_MAX", "NONFINITE", "NF_WHERE")
GEOMETRY = {
    "DP": "dp", "P": "p", "OB": "ob", "GI": "gi", "LW": "lw", "BMax": "b_max", "DMax": "d_max",
    "LMax": "l_max", "NetMax": "net_max", "StMax": "st_max", "WRows": "w_rows", "ARows": "a_rows",
    "ActorCritic": "actor_critic", "NTU": "ntu",
}  # fmt: skip


def build_geometry() -> Geometry:
    """The geometry of the build."""
    given = {GEOMETRY[k]: v for k, v in parameters().items() if k in GEOMETRY}
    return replace(Geometry(), **given)


@dataclass
class Ended:
    """A job that ended, for coverage.

    Attributes:
        words: its descriptor.
        end: how it ended.
        program: the program that was loaded.
        slot: its first optimizer slot.
        clocks: of its record.
        pipelines: of the build.
        launches: what began beside updates since the job before: `step`, `phase`, and of these
            `early`: what was done before the updates.
    """

    words: list[int]
    end: JobEnd
    program: Program | None
    slot: Slot | None
    clocks: int
    pipelines: int = 1
    launches: frozenset[str] = frozenset()


class Words(uvm_subscriber):
    """Keeps the words of a stream."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.words: list[int] = []

    def write(self, item: StreamItem) -> None:
        """One word moved."""
        self.words.append(item.data)


class LearnerEnv(uvm_env):
    """Agents and golden model.

    Args:
        timing: of the memory.
        smp: idle clocks of SMP.
        tde: back-pressure of TDE.
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
        self.geometry = build_geometry()
        self.random: random.Random = rng("environment")
        self.golden = LearnerEngine(self.geometry)
        self.memory, self.golden_memory = DeviceMemory(), DeviceMemory()
        self.port = AxiMemoryAgent("port", self, AxiBus(self.dut), self.memory, self.timing)
        self.axil = AxilAgent("axil", self, AxilBus(self.dut))
        self.smp = StreamAgent(
            "smp", self, StreamBus(self.dut, "smp", ("data", "last")), "source",
            self.smp_pattern or always(),
        )  # fmt: skip
        self.tde = StreamAgent(
            "tde", self, StreamBus(self.dut, "tde"), "sink", self.tde_pattern or always()
        )
        self.ended = Coverage("ended", self, "learner.job", BINS, enforce=False)
        self.limit = CLOCK_LIMIT
        self.tail = 0
        self.compared = 0
        self.launches: set[str] = set()
        self.offered = StreamSequence([])
        self.words = Words("words", self)
        self.sent = self.words.words

    def connect_phase(self) -> None:
        """Collect the words of TDE."""
        self.tde.ap.connect(self.words.analysis_export)

    def check_phase(self) -> None:
        """A test must compare something."""
        assert self.compared, "no job was compared"

    # ---- The design
    async def start(self) -> None:
        """Reset; switch ring and interrupt on."""
        self.dut.link_clear_i.value = 0
        self.dut.time_i.value = 0
        await start(self.dut)
        cocotb.start_soon(self._time())
        cocotb.start_soon(self._launches())
        cocotb.start_soon(self._early())
        await quiet(self.dut)
        await self.setup()

    async def _time(self) -> None:
        time = 0
        while True:
            await RisingEdge(self.dut.clk_i)
            time += 1
            self.dut.time_i.value = time

    async def _launches(self) -> None:
        while True:
            await RisingEdge(self.dut.u_job.launched_q)
            self.launches.add("phase" if int(self.dut.u_job.more_phases.value) else "step")

    async def _early(self) -> None:
        while True:
            await RisingEdge(self.dut.u_job.early_q)
            self.launches.add("early")

    async def setup(self) -> None:
        """Write the ring's registers."""
        for register, value in (
            (header.RING_BASE_LO, RING),
            (header.RING_CPL_LO, CPL),
            (header.RING_SIZE, SLOTS_LOG2),
        ):
            await self.axil.write(register.at(0), value)
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE)
        self.tail = await self.axil.read(header.RING_HEAD.at(0))

    async def soft_reset(self) -> None:
        """Soft reset; the ring goes on at HEAD."""
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE | SOFT_RESET)
        for _ in range(4000):
            if not await self.axil.read(header.CONTROL.offset) & SOFT_RESET:
                break
        else:
            raise TimeoutError("the soft reset does not end")
        self.golden.soft_reset()
        self.sent.clear()
        self.tail = await self.axil.read(header.RING_HEAD.at(0))
        assert self.tail == await self.axil.read(header.RING_TAIL.at(0))

    async def hard_reset(self, clocks: int) -> None:
        """Hold the running design in reset; both begin anew, with the design's device memory."""
        self.offered.stop()
        await reset(self.dut, clocks)
        self.sent.clear()
        self.golden = LearnerEngine(self.geometry)
        self.golden_memory = self.memory.copy()
        await quiet(self.dut)
        await self.setup()
        assert self.tail == 0, f"HEAD is {self.tail} after a reset"

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

    # ---- Jobs
    async def queue(self, words: list[int]) -> int:
        """Queue a job for the design; returns its number."""
        words = [*words, *[0] * 16][:16]
        words[1] = words[1] or self.tail ^ 0x5A5A_0000
        self.put(RING + self.tail % (1 << SLOTS_LOG2) * 64, np.array(words, np.uint32))
        number, self.tail = self.tail, self.tail + 1
        await self.axil.write(header.RING_TAIL.at(0), self.tail)
        return number

    def record(self, number: int) -> np.ndarray:
        """The record of a job, [8] uint32."""
        return self.memory.dump(CPL + number % (1 << SLOTS_LOG2) * 32, 32).view(np.uint32)

    async def ended_record(self, number: int, limit: int = 0) -> np.ndarray:
        """Wait for a job's record."""
        self.memory.load(CPL + number % (1 << SLOTS_LOG2) * 32, np.full(32, 0xFF, np.uint8))
        await until(
            f"record of job {number}", self.dut.clk_i, limit or self.limit,
            lambda: int(self.record(number)[3]) == number,
        )  # fmt: skip
        for _ in range(200):
            if await self.axil.read(header.RING_HEAD.at(0)) > number:
                return self.record(number)
        raise TimeoutError(f"HEAD stays behind job {number}")

    async def offer(self, words: list[tuple[int, int]]) -> None:
        """Offer (word, last) to SMP, and wait until they are taken."""
        self.offered = StreamSequence(StreamItem(data=w, last=e) for w, e in words)
        await self.offered.start(self.smp.sequencer)

    def give_golden(self, words: list[tuple[int, int]]) -> None:
        """The same to the golden engine."""
        for word, last in words:
            self.golden.smp.put(word, bool(last))

    def predict(self, words: list[int]) -> JobEnd:
        """Run a job in the golden engine; it must not wait for words that never come."""
        job = self.golden.job(0, np.array([*words, *[0] * 16][:16], np.uint32), self.golden_memory)
        try:
            next(job)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        raise AssertionError("the golden engine waits for SMP")

    async def run(
        self, words: list[int], smp: list[tuple[int, int]] | None = None, limit: int = 0
    ) -> JobEnd:
        """Run a job in both, and compare.

        Args:
            words: the descriptor.
            smp: (word, last) of the index stream.
            limit: clocks until its record; 0: as the test says.
        """
        words = [*words, *[0] * 16][:16]
        await self.axil.write(header.STATUS.offset, FAILED)
        self.sent.clear()
        number = await self.queue(words)
        feeder = cocotb.start_soon(self.offer(smp)) if smp else None
        record = await self.ended_record(number, limit)
        if smp:
            self.give_golden(smp)
        end = self.predict(words)
        await self.compare(number, words, record, end)
        if feeder is not None and not end.error:
            assert feeder.done(), "words of SMP are left"
        return end

    async def run_together(self, jobs: list[list[int]]) -> None:
        """Queue several jobs at once, none from SMP; compare the records, then all that is left."""
        await self.axil.write(header.STATUS.offset, FAILED)
        self.sent.clear()
        jobs = [[*words, *[0] * 16][:16] for words in jobs]
        numbers = [await self.queue(words) for words in jobs]
        last = await self.ended_record(numbers[-1])
        for number, words in zip(numbers, jobs, strict=True):
            end, record = self.predict(words), self.record(number)
            got = (int(record[3]), int(record[1]) & 0xFF, int(record[2]))
            want = (number, end.error, end.count)
            assert got == want, f"number, error, count of a record: got {got}, want {want}"
        if not end.error:  # of an earlier job
            await self.axil.write(header.STATUS.offset, FAILED)
        await self.compare(numbers[-1], jobs[-1], last, end)

    async def timed_out(self, words: list[int]) -> None:
        """Run a job that the watchdog ends; the golden engine does not run it."""
        words = [*words, *[0] * 16][:16]
        self.sent.clear()
        record = await self.ended_record(await self.queue(words))
        got = (int(record[1]) & 0xFF, int(record[2]))
        assert got == (Error.E_TIMEOUT, 0), f"opcode {words[0] & 0xFF}: error, count {got}"
        info = [await self.axil.read(r.offset) for r in (header.ERR_INFO0, header.ERR_INFO1)]
        assert info == [0, 0], f"opcode {words[0] & 0xFF}: ERR_INFO {info}"

    async def counter(self, low: Any) -> int:
        """Read a counter; `low` is the register of its low half."""
        value: int = await self.axil.read(low.offset)
        high: int = await self.axil.read(low.offset + 4)
        return value | high << 32

    async def compare(self, number: int, words: list[int], record: np.ndarray, end: JobEnd) -> None:
        """Compare everything that a job left behind."""
        what = f"job {number}, opcode {words[0] & 0xFF}"
        got = (int(record[1]) & 0xFF, int(record[2]))
        assert got == (end.error, end.count), f"{what}: got error, count {got}, want {end}"
        assert int(record[1]) >> 8 == words[0] & 0xFF, f"{what}: opcode, detail {record[1]:#x}"
        status = await self.axil.read(header.STATUS.offset)
        assert bool(status & FAILED) == bool(end.error), f"{what}: STATUS {status:#x}"
        if end.error:
            info = [await self.axil.read(r.offset) for r in (header.ERR_INFO0, header.ERR_INFO1)]
            assert info == [end.info0, end.info1], f"{what}: ERR_INFO {info}, want {end}"
        self.golden_memory.load(CPL, self.memory.dump(CPL, 32 << SLOTS_LOG2))
        assert self.memory == self.golden_memory, f"{what}: memory differs"
        await self.compare_stream(what, words, end)
        for name in COMPARED:
            register = getattr(registers, name)
            value, want = (
                await self.axil.read(register.offset),
                self.golden.read_register(register.offset),
            )
            assert value == want, f"{what}: {name} is {value:#x}, want {want:#x}"
        self.compared += 1
        program = self.golden.learner.program if self.golden.learner else None
        clocks = int(record[6]) - int(record[4])
        slot = program.slots[0] if program and program.slots else None
        launches = frozenset(self.launches)
        self.launches.clear()
        self.ended.sample(Ended(words, end, program, slot, clocks, self.geometry.dp, launches))

    async def compare_stream(self, what: str, words: list[int], end: JobEnd) -> None:
        """Compare the words of TDE: TD errors in order; tokens may come early, not late."""
        want = [word for word, _ in self.golden.tde.words]
        self.golden.tde.clear()
        await until(
            f"{what}: words of TDE", self.dut.clk_i, 5000, lambda: len(self.sent) >= len(want)
        )
        await ClockCycles(self.dut.clk_i, 5)
        kinds = [[word >> 48 for word in stream] for stream in (self.sent, want)]
        errors = [[w for w in stream if not w >> 48] for stream in (self.sent, want)]
        assert errors[0] == errors[1], f"{what}: TD errors {errors[0]}, want {errors[1]}"
        extra = kinds[0].count(TDE_FETCH_DONE) - kinds[1].count(TDE_FETCH_DONE)
        assert extra in ((0, 1) if end.error else (0,)), f"{what}: {extra} FETCH_DONE too many"
        assert kinds[0].count(TDE_ABORT) == kinds[1].count(TDE_ABORT), f"{what}: ABORT {kinds}"
        assert TDE_ABORT not in kinds[0][:-1], f"{what}: words behind ABORT"
        if not words[0] >> 8 & golden.FLAG_LIST:
            fetched = sent = 0
            for kind in kinds[0]:
                assert kind or sent < fetched * words[3], f"{what}: TD error before FETCH_DONE"
                fetched += kind == TDE_FETCH_DONE
                sent += kind == TDE_ERROR

    # ---- Descriptors
    def program(self, program: Program) -> list[int]:
        """PROGRAM of a program."""
        image = program.encode()
        self.put(PROGRAM, image)
        return [golden.JOB_PROGRAM, 0, 4 * image.size, 0, PROGRAM]

    def networks(self) -> list[Parameters]:
        """The networks of the golden engine's program."""
        assert self.golden.learner is not None
        return self.golden.learner.networks

    def image(self, index: int, generator: np.random.Generator) -> np.ndarray:
        """A random image of a network of the golden engine's program, padding included."""
        assert self.golden.learner is not None
        size = self.golden.learner.networks[index].map.words
        return (generator.standard_normal(size) * 0.4).astype(np.float32)

    def train(
        self,
        steps: int,
        batch: int,
        *,
        flags: int = golden.FLAG_LIST,
        records: int = 64,
        stride: int = 64,
        event: int = 0,
    ) -> list[int]:
        """TRAIN at the usual places."""
        return [
            golden.JOB_TRAIN | flags << 8, 0, steps, batch, DATA, 0, stride, records,
            to_bits(np.float32(1 / max(batch, 1))), event, LIST, 0, TD, 0,
        ]  # fmt: skip

    def grads(
        self,
        batch: int,
        *,
        networks: int = 1,
        flags: int = golden.FLAG_LIST,
        records: int = 64,
        stride: int = 64,
        total: int = 0,
    ) -> list[int]:
        """GRADS at the usual places."""
        train = self.train(1, batch, flags=flags, records=records, stride=stride)
        scale = to_bits(np.float32(1 / max(total or batch, 1)))
        return [
            golden.JOB_GRADS | flags << 8, 0, networks, *train[3:8], scale, 0, *train[10:],
            GRADIENTS, 0,
        ]  # fmt: skip

    def apply(self, networks: int = 1) -> list[int]:
        """APPLY of the gradients at the usual place."""
        return [golden.JOB_APPLY, 0, networks, 0, GRADIENTS, 0]

    def infer(
        self, count: int, batch: int, *, network: int = 0, stride: int = 64, out: int = OUT
    ) -> list[int]:
        """INFER of the first words of records at the usual place."""
        return [
            golden.JOB_INFER, 0, network, batch, DATA, 0, stride, count, 0, 0, 0, 0, out, 0,
        ]  # fmt: skip

    def put_records(
        self, generator: np.random.Generator, states: int, actions: int, records: int = 64
    ) -> int:
        """Store random records; returns their stride."""
        stride = -(-(2 * states + 3) // 16) * 64
        rows = np.zeros((records, stride // 4), np.float32)
        rows[:] = generator.standard_normal(rows.shape)
        rows[:, states] = generator.integers(0, actions, records).astype(np.int32).view(np.float32)
        rows[:, states + 2] = np.where(generator.random(records) < 0.2, 0, 0.99)
        self.put(DATA, rows)
        return stride

    def put_actions(
        self, generator: np.random.Generator, program: Program, records: int = 64
    ) -> int:
        """Store random records with actions of binary32, and noise; returns their stride."""
        states, actions = program.state_words, program.action_words
        stride = -(-program.record_words // 16) * 64
        rows = np.zeros((records, stride // 4), np.float32)
        rows[:] = generator.standard_normal(rows.shape)
        rows[:, states : states + actions] = generator.uniform(-1, 1, (records, actions))
        rows[:, states + actions + 1] = np.where(generator.random(records) < 0.2, 0, 0.99)
        self.put(DATA, rows)
        return stride

    def put_list(self, indices: np.ndarray, weights: np.ndarray) -> None:
        """Store an index list."""
        entries = np.zeros((indices.size, 4), np.uint32)
        entries[:, 0] = indices.reshape(-1)
        entries[:, 2] = weights.astype(np.float32).reshape(-1).view(np.uint32)
        self.put(LIST, entries)


def smp_words(indices: np.ndarray, weights: np.ndarray) -> list[tuple[int, int]]:
    """(word, last) of the index stream for [steps, B] indices and weights."""
    batch = indices.shape[1]
    out: list[tuple[int, int]] = []
    for row, scale in zip(indices, weights.astype(np.float32), strict=True):
        for slot, (index, weight) in enumerate(zip(row, scale, strict=True)):
            word: Any = int(index) | 5 << 32 | to_bits(weight) << 64 | slot << 96 | 1 << 112
            out.append((word, int(slot == batch - 1)))
    return out
