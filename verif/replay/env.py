"""Environment of jd_replay_top: control bus, memory, both streams, and the golden engine beside it.

What it adds to `EngineEnv`: a `Learner` that answers SMP on TDE, the comparison of SMP, and
descriptors at the usual places. Of memory what a job writes is compared: others may still run.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, Event
from pyuvm import uvm_subscriber

from models.engine import JobEnd
from models.registers import engine_header as header
from models.registers import replay as registers
from models.registers.map import Register
from models.registers.replay import Error
from models.replay.engine import Flag, Job, ReplayConfig
from verif.agents.stream import StreamItem
from verif.bench import rng, until
from verif.engine_env import CLEAR, CLOCK_LIMIT, EngineEnv, JobItem
from verif.replay.coverage import BINS

INPUT, OUTPUT = (0x100000, 0x200000, 0x500000), (0x300000, 0x400000, 0x600000)
REGION, STORAGE = 0x40000, 0x1000000
FETCH_DONE, ABORT = 1 << 48, 2 << 48
IGNORED = ("FETCH_ACK",)
RESET_CLOCKS = 2000  # of a soft reset, at most


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


class ReplayEnv(EngineEnv):
    """The common environment, with SMP and TDE."""

    engine, group, bins = "replay", "replay.job", BINS

    def build_phase(self) -> None:
        """Make the parts."""
        super().build_phase()
        self.config: ReplayConfig = self.golden.config
        self.learner = Learner(self, rng("learner"))
        self.words = Words("words", self)
        self.words.learner = self.learner

    def connect_phase(self) -> None:
        """Let the learner see SMP."""
        super().connect_phase()
        self.streams["smp"].ap.connect(self.words.analysis_export)

    # ---- The design
    @property
    def core(self) -> Any:
        """The tree."""
        tree = self.design.u_tree
        return (tree.gen_sequential if self.config.sequential else tree.gen_pipelined).u_core

    async def send_tde(self, words: Iterable[int]) -> None:
        """Offer words to TDE, and wait until they are taken."""
        await self.offer("tde", (StreamItem(data=w) for w in words))

    async def configure(self, **values: int) -> None:
        """Write registers by name."""
        for name, value in values.items():
            await self.write(getattr(registers, name), value)

    async def seed(self, random_: random.Random) -> None:
        """A random state of the generator."""
        for word in range(8):
            await self.write(registers.SEED, random_.getrandbits(32), word)

    async def soft_reset(self) -> int:
        """As the parent."""
        took = await super().soft_reset()
        assert took < RESET_CLOCKS, f"a soft reset took {took} clocks"
        self.learner.words.clear()
        await self.clear_status()
        return took

    async def hard_reset(self, clocks: int) -> None:
        """As the parent; the learner forgets."""
        self.learner.forget()
        await super().hard_reset(clocks)
        self.learner.forget()

    async def clear_status(self) -> None:
        """Clear all of it."""
        await self.axil.write(header.STATUS.offset, CLEAR)

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
    ) -> JobItem:
        """A job; the input array goes to both memories.

        Args:
            data: the input array; needed unless the job reads nothing.
            row_bytes: of GATHER.
            words: w0..w15 to replace.
        """
        result = [0] * 16
        result[0] = opcode | flags << 8 | 1 << 31
        result[2], result[3], result[8] = count, batches, beta
        if data is not None:
            result[4] = INPUT[ring]
            self.put(INPUT[ring], data)
        if flags & Flag.MEMORY or opcode == Job.GATHER:
            result[6] = OUTPUT[ring]
        if opcode == Job.GATHER:
            result[9], result[10] = row_bytes, STORAGE
        for name, value in words.items():
            result[int(name[1:])] = value
        return self.job(result, ring)

    async def do(self, ring: int, opcode: int, **options: Any) -> JobEnd:
        """Run one job in both and compare. Options as of `descriptor`."""
        (end,) = await self.run(self.descriptor(ring, opcode, **options))
        return end

    def feed(self, job: JobItem) -> None:
        """The learner's words, batch by batch."""
        assert self.learner.sent, f"{job}: the golden engine waits for a stream"
        for word in self.learner.sent.popleft():
            self.golden.tde.put(word)

    async def compare(self, *jobs: JobItem) -> None:
        """As the parent; the words of SMP that were there when a job ended, too."""
        await super().compare(*jobs)
        await self.clear_status()
        for job in jobs:
            if job.ring == 0 and not job.end.error:
                left = sum(len(batch) for batch in self.learner.batches)
                good = sum(not word >> 120 for word, _ in self.golden.smp.words)
                assert left == good, f"{job}: {left} words of SMP when it ended, want {good}"

    async def compare_status(self, *jobs: JobItem) -> None:
        """As the parent, if a job failed: what fails beside those that did not is its own."""
        if any(job.end.error for job in jobs):
            await super().compare_status(*jobs)

    def compare_memory(self, *jobs: JobItem) -> None:
        """Compare what jobs write."""
        for job in jobs:
            size, output = self.written(job), job.words[6]
            mine, theirs = (m.dump(output, size) for m in (self.memory, self.golden_memory))
            if (mine != theirs).any():
                at = int(np.nonzero(mine != theirs)[0][0]) // 16
                raise AssertionError(
                    f"{job}: response {at}: {mine[16 * at : 16 * at + 16].view('<u4')}, "
                    f"want {theirs[16 * at : 16 * at + 16].view('<u4')}"
                )

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """Its rows or responses."""
        size = job.words[9] if job.opcode == Job.GATHER else 16
        copies = max(job.words[3], 1) if job.opcode == Job.SAMPLE else 1
        return [(job.words[6] | job.words[7] << 32, job.words[2] * size * copies)]

    def written(self, job: JobItem) -> int:
        """Bytes of the output of a job, and some after it; 0 if they are not defined."""
        flags, error, batches = job.words[0] >> 8 & 0xFF, job.end.error, job.words[3]
        if job.opcode == Job.GATHER:
            defined = error in (0, Error.E_INDEX, Error.E_BUS_RD)
            return job.end.count * job.words[9] if defined else 0
        if not flags & Flag.MEMORY or error in (Error.E_BUS_WR, Error.E_OPCODE):
            return 0
        responses = job.words[2] * (max(batches, 1) if job.opcode == Job.SAMPLE else 1)
        return min(16 * min(responses, 1 << 16) + 256, REGION)

    def sample(self, *jobs: JobItem) -> None:
        """All of them."""
        for job in jobs:
            flags, count = job.words[0] >> 8 & 0xFF, job.words[2]
            self.cover.sample(Ended(job.ring, job.opcode, flags, count, job.end, job.clocks))

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
        batches = self.design.u_batches
        await until("TDE", self.dut.clk_i, CLOCK_LIMIT, lambda: not int(batches.open.value))
        await ClockCycles(self.dut.clk_i, 60)
        while self.learner.sent:
            for word in self.learner.sent.popleft():
                self.golden.tde.put(word)
        self.golden.poll()

    def compares(self, register: Register) -> bool:
        """All but what is only written."""
        return register.name not in IGNORED

    async def finish(self) -> None:
        """As the parent; words of SMP and registers, too."""
        await self.settle()
        self.compare_smp()
        await self.compare_registers()
        await super().finish()
