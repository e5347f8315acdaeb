"""Environment of jd_learner_top: control bus, memory, both streams, the golden engine beside it.

What it adds to `EngineEnv`: index words for SMP, the comparison of TDE and of registers after each
job, what began beside updates, and descriptors at the usual places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_subscriber

from models.engine import JobEnd
from models.learner import engine as golden
from models.learner.engine import TDE_ABORT, TDE_ERROR, TDE_FETCH_DONE
from models.learner.fp import to_bits
from models.learner.layout import Geometry
from models.learner.learner import Parameters
from models.learner.optim import Slot
from models.learner.program import Program
from models.registers.map import Register
from verif.agents.stream import StreamItem
from verif.bench import until
from verif.engine_env import EngineEnv, Job, JobItem
from verif.learner.coverage import BINS

PROGRAM, IMAGE, LIST, TD, OUT, DATA = 0x20000, 0x40000, 0x80000, 0xA0000, 0xC0000, 0x100000
GRADIENTS = 0xE0000
COMPARED = ("STEP", "WEIGHT_VERSION", "TD_MEAN", "TD_MAX", "NONFINITE", "NF_WHERE")


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


class LearnerEnv(EngineEnv):
    """The common environment, with SMP and TDE. Words of TDE are collected in `sent`."""

    engine, group, bins = "learner", "learner.job", BINS

    def build_phase(self) -> None:
        """Make the parts."""
        super().build_phase()
        self.geometry: Geometry = self.golden.geometry
        self.launches: set[str] = set()
        self.words = Words("words", self)
        self.sent = self.words.words

    def connect_phase(self) -> None:
        """Collect the words of TDE."""
        super().connect_phase()
        self.streams["tde"].ap.connect(self.words.analysis_export)

    # ---- The design
    async def start(self) -> None:
        """As the parent; note what begins beside updates."""
        await super().start()
        cocotb.start_soon(self._launches())
        cocotb.start_soon(self._early())

    async def _launches(self) -> None:
        while True:
            await RisingEdge(self.design.u_job.launched_q)
            self.launches.add("phase" if int(self.design.u_job.more_phases.value) else "step")

    async def _early(self) -> None:
        while True:
            await RisingEdge(self.design.u_job.early_q)
            self.launches.add("early")

    async def go_on_at_head(self) -> None:
        """As the parent; words of TDE of before are void."""
        self.sent.clear()
        await super().go_on_at_head()

    async def offer_smp(self, words: list[tuple[int, int]]) -> None:
        """Offer (word, last) to SMP, and wait until they are taken."""
        await self.offer("smp", (StreamItem(data=w, last=e) for w, e in words))

    def give_golden(self, words: list[tuple[int, int]]) -> None:
        """The same to the golden engine."""
        for word, last in words:
            self.golden.smp.put(word, bool(last))

    # ---- Jobs
    async def run(
        self, *jobs: Job, smp: list[tuple[int, int]] | None = None, limit: int = 0
    ) -> list[JobEnd]:
        """As the parent. `smp`: (word, last) of the index stream, for a single job."""
        self.sent.clear()
        feeder = cocotb.start_soon(self.offer_smp(smp)) if smp else None
        self.give_golden(smp or [])
        ends = await super().run(*jobs, limit=limit)
        if feeder is not None and not ends[-1].error:
            assert feeder.done(), "words of SMP are left"
        return ends

    async def compare(self, *jobs: JobItem) -> None:
        """As the parent; words of TDE and registers, too."""
        await super().compare(*jobs)
        await self.compare_stream(jobs[-1])
        await self.compare_registers()

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """Images, TD errors and results, as far as the golden engine knows the program."""
        words = {
            golden.JOB_STORE: (4,), golden.JOB_TRAIN: (12,), golden.JOB_INFER: (12,),
            golden.JOB_GRADS: (12, 14),
        }.get(job.opcode, ())  # fmt: skip
        arrays = dict(self.golden.arrays(job.words)) if words else {}
        return [
            (job.words[word] | job.words[word + 1] << 32, arrays[word])
            for word in words
            if word in arrays
        ]

    def compares(self, register: Register) -> bool:
        """Those that a job may change."""
        return register.name in COMPARED

    def sample(self, *jobs: JobItem) -> None:
        """The last of them."""
        job = jobs[-1]
        program = self.golden.learner.program if self.golden.learner else None
        slot = program.slots[0] if program and program.slots else None
        launches = frozenset(self.launches)
        self.launches.clear()
        self.cover.sample(
            Ended(job.words, job.end, program, slot, job.clocks, self.geometry.dp, launches)
        )

    async def compare_stream(self, job: JobItem) -> None:
        """Compare the words of TDE: TD errors in order; tokens may come early, not late."""
        what, words, end = str(job), job.words, job.end
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
        assert TDE_ABORT not in kinds[0][:-1], f"{what}: words after ABORT"
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
        networks: list[Parameters] = self.golden.learner.networks
        return networks

    def image(self, index: int, generator: np.random.Generator) -> np.ndarray:
        """A random image of a network of the golden engine's program, padding included."""
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
