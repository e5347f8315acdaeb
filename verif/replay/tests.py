"""Tests of jd_replay_top; tests/replay/test_replay_engine.py runs them."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles
from pyuvm import uvm_test

from models.registers import engine_header as header
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from models.replay.rmm import Op
from verif import bench
from verif.agents.axi_memory import AxiTiming
from verif.agents.timing import Pattern, bursts, random_pauses
from verif.bench import until
from verif.replay.env import ABORT, BASE, FETCH_DONE, INPUT, OUTPUT, ReplayEnv
from verif.replay.sequences import Jobs
from verif.replay.trace import HostOp, Round, Trace


class ReplayTest(uvm_test):
    """Environment, clock and reset; a test is its `scenario`."""

    timing = AxiTiming(latency=(4, 20), busy=0.8)

    def patterns(self) -> tuple[Pattern | None, Pattern | None]:
        """Back-pressure of SMP and idle clocks of TDE."""
        return None, None

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.rng: random.Random = bench.rng(type(self).__name__)
        self.env = ReplayEnv("env", self, self.timing, *self.patterns())

    async def run_phase(self) -> None:
        """Reset, run the scenario, compare everything at the end."""
        self.raise_objection()
        await self.env.start()
        await self.scenario()
        await self.env.settle()
        self.env.compare_smp()
        await self.env.compare_registers()
        self.drop_objection()

    async def scenario(self) -> None:
        """What the test does."""
        raise NotImplementedError

    async def clear(self, leaves: int | None = None) -> None:
        """Configure and clear."""
        env = self.env
        leaves = leaves or self.leaves
        await env.configure(CFG_N=leaves, CFG_PINIT=1 << min(16, env.config.leaf_w - 1))
        await env.seed(self.rng)
        await env.run(1, Job.CLEAR)

    async def adopt(self) -> None:
        """Take state that a dropped job may have changed from the design into the model."""
        env = self.env
        tree = np.array(
            await self.leaves_of(range(min(self.leaves, 16))), np.int64
        )
        rmm = env.golden.rmm
        rmm.tree.set_many(np.arange(len(tree)), tree)
        state = [await env.axil.read(registers.SEED.at(i)) for i in range(8)]
        rmm.generator.load([state[2 * i] | state[2 * i + 1] << 32 for i in range(4)])
        read = env.axil.read
        rmm.pmax = await read(registers.PMAX.offset)
        env.golden.write_register(
            registers.CFG_BETA.offset, await read(registers.CFG_BETA.offset), True
        )
        s = rmm.statistics
        s.samples = await read(registers.N_SAMPLE_LO.offset)
        s.updates = await read(registers.N_UPDATE_LO.offset)
        s.duplicates = await read(registers.DUP.offset)
        s.nonfinite = await read(registers.NONFINITE.offset)

    async def leaves_of(self, which: range) -> list[int]:
        """Leaves as the design has them (they are only read here)."""
        env = self.env
        words = env.descriptor(
            1, Job.RETRIEVE, flags=Flag.MEMORY, count=len(which),
            data=np.array(which, np.uint32),
        )  # fmt: skip
        await env.finish(1, await env.submit(1, words))
        raw = env.memory.dump(OUTPUT[1], 16 * len(which))
        env.golden_memory.load(OUTPUT[1], raw)
        await env.axil.write(header.STATUS.offset, 0xE)
        return [int(v) for v in raw.view("<u4")[1::4]]

    @property
    def leaves(self) -> int:
        """N_MAX of the build."""
        return 1 << self.env.config.n_log2

    def pairs(self, count: int, leaves: int | None = None, top: int = 20) -> np.ndarray:
        """[count, 2] uint32 pairs of a leaf and a raw priority."""
        top = min(top, self.env.config.leaf_w)
        data = [
            (self.rng.randrange(leaves or self.leaves), self.rng.getrandbits(top))
            for _ in range(count)
        ]
        return np.array(data, np.uint32)


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Smoke(ReplayTest):
    """One of each job."""

    async def scenario(self) -> None:
        env, batch = self.env, 8
        await self.clear()
        await env.compare_registers()
        await env.run(1, Job.UPDATE, flags=Flag.MEMORY, count=13, data=self.pairs(13))
        index = np.arange(min(40, self.leaves), dtype=np.uint32)
        await env.run(1, Job.RETRIEVE, flags=Flag.MEMORY, count=len(index), data=index)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.WEIGHTS, count=batch, beta=1 << 29)
        await env.run(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS | Flag.STRATIFIED, count=batch)
        await env.settle()
        await env.run(1, Job.INSERT, flags=Flag.MEMORY | Flag.PMAX, count=3)
        await env.write(registers.FETCH_ACK, 0)
        await env.run(1, Job.RESERVE, flags=Flag.MEMORY, count=2)
        await env.run(1, Job.COMMIT, flags=Flag.MEMORY, count=2, data=self.pairs(2))
        await env.run(0, Job.TRAIN_LOOP, flags=Flag.WEIGHTS, count=batch, batches=3)
        await ClockCycles(self.dut.clk_i, 10)


class RandomJobs(ReplayTest):
    """Random jobs, one after another, on a tree in which operations collide."""

    jobs = 60

    async def scenario(self) -> None:
        env, rng = self.env, self.rng
        leaves = rng.choice((self.leaves, self.leaves - 1, rng.randint(3, self.leaves)))
        await self.clear(leaves)
        await self.settings()
        jobs = Jobs(rng, leaves, env.config.leaf_w, 1 << env.config.batch_log2)
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=min(leaves, 20))
        for number in range(self.jobs):
            ring, opcode, options = jobs.draw()
            if opcode == Job.RESERVE or rng.random() < 0.1:
                await env.write(registers.FETCH_ACK, 0)
            await env.run(ring, opcode, **options)
            if number % 10 == 9:
                await env.settle()
                env.compare_smp()
                await env.compare_registers()
                if rng.random() < 0.5:
                    await self.settings()
            elif options.get("flags", 0) & Flag.SMP or rng.random() < 0.5:
                await env.settle()

    async def settings(self) -> None:
        """Other settings of the converters."""
        rng = self.rng
        pclip = rng.choice((0xFFFFFFFF, 1 << 20, rng.randint(1, 1 << 16)))
        await self.env.configure(
            CFG_PRIO=rng.choice((0x4CCD, 0x8000, 0, rng.getrandbits(16))) | rng.randint(0, 24) << 16,
            CFG_EPS=rng.choice((0x3C23D70A, 0, 0x3F800000)),
            CFG_PCLIP=pclip,
            CFG_PMIN=rng.choice((1, 0, rng.randint(0, min(pclip, 200)))),
            CFG_DBETA=rng.choice((0, 1 << 25, 1 << 29)),
        )


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Random(RandomJobs):
    """Random jobs."""


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class BackPressure(RandomJobs):
    """Random jobs, with a slow memory, a slow learner and a slow source of TD errors."""

    timing = AxiTiming(latency=(10, 120), busy=0.35)
    jobs = 40

    def patterns(self) -> tuple[Pattern | None, Pattern | None]:
        return random_pauses(bench.rng("smp"), 0.3, 8), bursts(bench.rng("tde"), 4, 12)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class TrainLoop(ReplayTest):
    """Loops with TD errors, weights and a growing beta; then a wrap of the insertion pointer."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.configure(CFG_DBETA=1 << 24)
        for rounds in range(4):
            count = min(self.leaves // 2 + 3, 100)
            await env.run(1, Job.INSERT, count=count, data=self.pairs(count))
            flags = Flag.WEIGHTS * (rounds % 2) | Flag.STRATIFIED * (rounds // 2)
            await env.run(
                0, Job.TRAIN_LOOP, flags=flags, count=batch >> rng.randint(0, 2), batches=8
            )
            env.compare_smp()
            await env.compare_registers()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Stale(ReplayTest):
    """Leaves inserted or reserved between a batch and its TD errors keep their new priority."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        leaves = max(self.leaves // 2, 9)
        await self.clear(leaves)
        await env.run(1, Job.INSERT, count=leaves, data=self.pairs(leaves, top=6))
        for round_ in range(12):
            env.learner.answers = False
            await env.run(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
            kind = round_ % 3
            if kind == 0:  # a few leaves; those at both ends of the range are in the batch
                await self.insert(rng.randint(1, leaves // 2))
            elif kind == 1:  # all of them
                await self.insert(leaves)
            else:
                await env.send_tde([FETCH_DONE])
                env.golden.tde.put(FETCH_DONE)
                count = rng.randint(1, leaves // 2)
                await env.run(1, Job.RESERVE, count=count)
            words = [slot << 32 | bits for slot, bits in enumerate(env.learner.errors(batch))]
            if kind != 2:
                words.insert(0, FETCH_DONE)
            env.learner.sent.append(words)
            await env.send_tde(words)
            await env.settle()
            if kind == 2:
                await env.run(1, Job.COMMIT, count=count, data=self.pairs(count, top=6))
            await env.compare_registers()
        assert env.golden.rmm.statistics.stale > 20

    async def insert(self, count: int) -> None:
        """INSERT of that many leaves."""
        await self.env.run(1, Job.INSERT, count=count, data=self.pairs(count, top=6))


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Corners(ReplayTest):
    """T = 0, N = 1, one leaf that is not 0, all leaves at their largest, one leaf updated often."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        full = (1 << env.config.leaf_w) - 1
        await self.clear(1)
        await env.run(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS, count=batch)
        await env.run(0, Job.TRAIN_LOOP, count=2, batches=2)
        empty = np.array([[Op.RETRIEVE, 0, 0, 0], [Op.SAMPLE, 0, 0, 0], [Op.NOP, 0, 0, 0]], np.uint32)
        await env.run(1, Job.STREAM, flags=Flag.MEMORY, count=3, data=empty)
        await env.run(1, Job.RESERVE, count=1)
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=3)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await self.clear(self.leaves - 1)
        only = np.array([[self.leaves - 2, 1]], np.uint32)
        await env.run(1, Job.UPDATE, count=1, data=only)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.WEIGHTS, count=batch)
        await self.clear()
        some = min(self.leaves, 512)
        largest = np.array([[self.leaves - 1 - i, full] for i in range(some)], np.uint32)
        await env.run(1, Job.UPDATE, flags=Flag.MEMORY, count=some, data=largest)
        ends = np.array([0, 2**48 - 1, 1, 2**47] * (batch // 4), np.uint64)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.HOST_X, count=len(ends), data=ends)
        same = np.array([[5, self.rng.getrandbits(8)] for _ in range(200)], np.uint32)
        await env.run(1, Job.UPDATE, flags=Flag.MEMORY, count=200, data=same)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=1)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BadDescriptor(ReplayTest):
    """Every check of a descriptor and of an operation; the engine stays usable after each."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        await env.run(1, Job.RETRIEVE, count=1, data=np.zeros(1, np.uint32))  # E_NOTCLEAR
        await env.run(0, Job.SAMPLE, count=1)
        for values in (
            {"CFG_N": 0}, {"CFG_N": self.leaves + 1}, {"CFG_N": self.leaves, "CFG_PINIT": 0},
            {"CFG_PINIT": 1, "CFG_PMIN": 100, "CFG_PCLIP": 99}, {"CFG_PCLIP": 0xFFFFFFFF},
        ):  # fmt: skip
            await env.configure(**values)
            await env.run(1, Job.CLEAR)
        await env.configure(CFG_PMIN=1)
        await self.clear()
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=5)
        one = np.zeros((1, 2), np.uint32)
        for ring, opcode, options in (
            (0, 11, {}), (1, 11, {}), (0, 255, {}), (0, Job.CLEAR, {}), (1, Job.SAMPLE, {}),
            (1, Job.TRAIN_LOOP, {"batches": 1}), (0, Job.UPDATE, {"data": one}),
            *((0, Job.SAMPLE, {"flags": 1 << bit}) for bit in (0, 1, 6)),
            *((0, Job.TRAIN_LOOP, {"flags": 1 << bit}) for bit in (0, 1, 2, 4, 6)),
            *((1, Job.RESERVE, {"flags": 1 << bit}) for bit in (0, 1, 2, 3, 5, 6, 7)),
            *((1, Job.CLEAR, {"flags": 1 << bit, "count": 0}) for bit in range(8)),
            (0, Job.SAMPLE, {"w0": Job.SAMPLE | 1 << 16}), (1, Job.RESERVE, {"w0": 7 | 1 << 29}),
            *((1, Job.RESERVE, {f"w{word}": 1}) for word in (3, 4, 5, 6, 7, *range(8, 16))),
            (0, Job.SAMPLE, {"w3": 1}), (0, Job.SAMPLE, {"w4": 64}), (0, Job.SAMPLE, {"w6": 64}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w7": 256}),
            (1, Job.UPDATE, {"data": one, "w5": 1 << 8}),
            (1, Job.INSERT, {"flags": Flag.PMAX, "w4": 64}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w6": 0}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w6": 32}),
            (0, Job.SAMPLE, {"flags": Flag.HOST_X}),
            (1, Job.UPDATE, {}), (1, Job.UPDATE, {"w4": 0x100004}),
            (0, Job.SAMPLE, {"count": 0}), (0, Job.SAMPLE, {"count": batch + 1}),
            (0, Job.SAMPLE, {"count": 1 << 31}), (0, Job.TRAIN_LOOP, {"batches": 0}),
            (1, Job.RESERVE, {"count": 0}), (1, Job.RESERVE, {"count": (1 << 20) + 1}),
            (1, Job.CLEAR, {"count": 1}), (0, Job.SAMPLE, {"flags": Flag.STRATIFIED, "count": 3}),
            (1, Job.COMMIT, {"flags": Flag.PMAX}),
            (1, Job.RESERVE, {"count": self.leaves // 2 + 1}), (1, Job.INSERT, {"data": one}),
            (1, Job.COMMIT, {"flags": Flag.PMAX, "count": self.leaves // 2}),
            (1, Job.UPDATE, {"flags": Flag.SLOTS, "data": one}),
        ):  # fmt: skip
            await env.run(ring, opcode, **({"count": 1} | options))
        await self.requests(batch)
        await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.run(1, Job.UPDATE, flags=Flag.SLOTS, count=1,
                      data=np.array([[batch, 7]], np.uint32))  # fmt: skip

    async def requests(self, batch: int) -> None:
        """Bad requests of STREAM, each behind a good one."""
        good = [Op.UPDATE | 0x1234 << 8, 3, 77, 0]
        for bad in (
            [9, 0, 0, 0], [15, 0, 0, 0], [Op.NOP | 1 << 24, 5, 0, 0], [Op.NOP | 1 << 7, 5, 0, 0],
            [Op.RETRIEVE | 1 << 4, 0, 0, 0], [Op.UPDATE | 2 << 4, 0, 0, 0], [Op.NOP | 4 << 4, 0, 0, 0],
            [Op.RETRIEVE, self.leaves, 0, 0], [Op.UPDATE_DELTA, 1 << 31, 0, 0],
            [Op.UPDATE_SLOT, 0, 0, 0], [Op.COMMIT, 0, 0, 0],
        ):  # fmt: skip
            data = np.array([good, bad, good], np.uint32)
            await self.env.run(1, Job.STREAM, flags=Flag.MEMORY, count=3, data=data)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BusError(ReplayTest):
    """SLVERR and DECERR on input and output; descriptors and records that fail."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for round_ in range(12):
            beat, response = rng.randrange(8), 2 + round_ % 2
            count = rng.randint(8 * beat + 1, 64)
            for memory in (env.memory, env.golden_memory):
                memory.fail(INPUT[1] + 64 * beat, 64, response, writes=False)
            await env.run(1, Job.UPDATE, flags=Flag.MEMORY, count=count, data=self.pairs(count))
            self.heal()
            for memory in (env.memory, env.golden_memory):
                memory.fail(OUTPUT[1], 64, response)
            await env.run(1, Job.UPDATE, flags=Flag.MEMORY, count=count, data=self.pairs(count))
            self.heal()
            for memory in (env.memory, env.golden_memory):
                memory.fail(OUTPUT[0], 1 << 16, response)
                memory.fail(INPUT[0], 64, response)
            await env.run(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.SMP, count=batch)
            env.golden.tde.words.clear()
            await env.settle()
            x = np.zeros(batch, np.uint64)
            flags = Flag.HOST_X | Flag.SMP * (round_ % 2)
            await env.run(0, Job.SAMPLE, flags=flags, count=batch, data=x)
            self.heal()
            await env.settle()
            await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        env.memory.fail(BASE[1], 1 << 12, 3)
        number = await env.submit(1, env.descriptor(1, Job.CLEAR))
        record = await env.finish(1, number)
        assert int(record[1]) == Error.E_BUS_RD and int(record[0]) == 0
        self.heal()
        await env.axil.write(header.STATUS.offset, 0xE)

    def heal(self) -> None:
        """No range fails; the output is empty (how much of it a failed job wrote is not defined)."""
        self.env.memory.heal()
        self.env.golden_memory.heal()
        for ring in (0, 1):
            self.env.load(OUTPUT[ring], np.zeros(1 << 14, np.uint8))


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class ResetMidway(ReplayTest):
    """A soft reset in every state of both rings; the tree and its configuration stay."""

    timing = AxiTiming(latency=(8, 40), busy=0.7)

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=9)
        slowest, states = 0, set()
        for _ in range(60):
            env.learner.answers = rng.random() < 0.5
            count = rng.choice((1, 40))
            index = np.array([rng.randrange(self.leaves) for _ in range(count)], np.uint32)
            host = rng.choice((
                (Job.RETRIEVE, {"flags": Flag.MEMORY, "count": count, "data": index}),
                (Job.CLEAR, {}),
            ))  # fmt: skip
            train = rng.choice((
                (Job.SAMPLE, {"flags": Flag.MEMORY, "count": batch}),
                (Job.SAMPLE, {"flags": Flag.SMP | Flag.WEIGHTS, "count": batch}),
                (Job.TRAIN_LOOP, {"count": batch, "batches": 3}),
                (Job.SAMPLE, {"flags": Flag.HOST_X, "count": batch,
                              "data": np.zeros(batch, np.uint64)}),
            ))  # fmt: skip
            await env.submit(0, env.descriptor(0, train[0], **train[1]))
            if host[0] != Job.CLEAR:
                await env.submit(1, env.descriptor(1, host[0], **host[1]))
            await ClockCycles(self.dut.clk_i, rng.randint(0, 300))
            states.add(("ring 0", int(self.dut.u_training.state_q.value)))
            states.add(("ring 1", int(self.dut.u_host.state_q.value)))
            slowest = max(slowest, await env.soft_reset())
            env.learner.sent.clear()
            env.tails = [int(self.dut.u_control.head.value[32 * r + 31 : 32 * r]) for r in (0, 1)]
            # What the dropped jobs did to the leaves and the generator: from the design.
            await self.adopt()
            env.load(OUTPUT[0], np.zeros(1 << 14, np.uint8))
            env.load(OUTPUT[1], np.zeros(1 << 14, np.uint8))
            await env.run(1, Job.RETRIEVE, flags=Flag.MEMORY, count=9,
                          data=np.arange(9, dtype=np.uint32))  # fmt: skip
            await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
            env.learner.batches.clear()
            env.learner.failed.clear()
            env.golden.smp.clear()
        self.logger.info("slowest soft reset: %d clocks, %d states", slowest, len(states))
        assert slowest < 400 and len(states) > 6, (slowest, states)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BadStream(ReplayTest):
    """TDE words that do not fit: in a job, outside of one, ABORT; the watchdog; a busy CLEAR."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        await self.clear()
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for words in ([0], [FETCH_DONE], [ABORT], [3 << 48]):  # outside of any job
            await env.send_tde(words)
            await ClockCycles(self.dut.clk_i, 8)
            status = await env.axil.read(header.STATUS.offset)
            assert status >> 8 & 0xFF == Error.E_STREAM, f"{words}: {status:#x}"
            await env.axil.write(header.STATUS.offset, 0xE)
        env.learner.answers = False
        value = 0x3F800000
        for words in (
            [ABORT], [FETCH_DONE, ABORT], [FETCH_DONE, 1 << 32 | value], [FETCH_DONE, FETCH_DONE],
            [FETCH_DONE, value, 2 << 32 | value], [FETCH_DONE, 3 << 48], [FETCH_DONE, 1 << 50],
        ):  # fmt: skip
            descriptor = env.descriptor(0, Job.TRAIN_LOOP, count=batch, batches=2)
            number = await env.submit(0, descriptor)
            await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.batches) == 1)
            if words == [ABORT]:  # while ring 0 runs
                await self.clear_is_busy()
            env.learner.sent.append(words)
            await env.send_tde(words)
            record = await env.finish(0, number)
            assert (await env.check(0, descriptor, record, number)).error == Error.E_STREAM
            await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.failed) == 1)
            env.compare_smp()
            await env.soft_reset()
            env.learner.sent.clear()
            await env.compare_registers()
        await env.axil.write(header.WATCHDOG.offset, 300)
        for ring, opcode, options in (
            (0, Job.TRAIN_LOOP, {"count": batch, "batches": 2}),
            (1, Job.RESERVE, {"count": 1}),
        ):
            await env.run(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)  # never acknowledged
            number = await env.submit(ring, env.descriptor(ring, opcode, **options))
            record = await env.finish(ring, number)
            assert int(record[1]) & 0xFF == Error.E_TIMEOUT, record
            await env.axil.write(header.STATUS.offset, 0xE)
            await env.soft_reset()
            if ring == 1:
                env.golden.rmm.reserved, env.golden.rmm.moves = 1, env.golden.rmm.moves + 1
            await self.adopt()
            env.learner.batches.clear()
            env.learner.failed.clear()
            env.golden.smp.clear()
        env.learner.answers = True
        await env.run(0, Job.TRAIN_LOOP, count=batch, batches=2)

    async def clear_is_busy(self) -> None:
        """CLEAR while ring 0 has a job."""
        env = self.env
        words = env.descriptor(1, Job.CLEAR)
        number = await env.submit(1, words)
        record = await env.finish(1, number)
        env.golden._sampling = True
        await env.check(1, words, record, number)
        env.golden._sampling = False


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Concurrent(ReplayTest):
    """Both rings and TDE at once, on few leaves, strict and relaxed."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.configure(CFG_DBETA=1 << 22)
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=min(self.leaves, 30))
        trace = Trace(env)
        trace.start()
        for round_ in range(14):
            await ClockCycles(self.dut.clk_i, 40)
            await env.configure(CFG_PRIO=0x4CCD | 16 << 16 | (round_ % 2) << 24)
            opcode, kind, options, host = self.host_job(rng)
            size, batches = batch >> rng.randint(0, 1), rng.randint(1, 4)
            weighted, stratified = rng.random() < 0.5, rng.random() < 0.5
            flags = Flag.WEIGHTS * weighted | Flag.STRATIFIED * stratified
            trace.now = Round(deque([size] * batches), stratified, weighted, deque(host))
            loop = env.descriptor(0, Job.TRAIN_LOOP, flags=flags, count=size, batches=batches)
            work = env.descriptor(1, opcode, flags=kind, count=len(host), **options)
            numbers = [await env.submit(0, loop)]
            await ClockCycles(self.dut.clk_i, rng.randint(0, 120))
            numbers.append(await env.submit(1, work))
            for ring in (0, 1):
                record = await env.finish(ring, numbers[ring])
                assert int(record[1]) & 0xFF == 0, f"ring {ring}: {record}"
            trace.finish(kind, OUTPUT[1])
            await env.axil.write(header.STATUS.offset, 0xE)
            await env.compare_registers()
        assert trace.both > 20, trace.both

    def host_job(
        self, rng: random.Random
    ) -> tuple[int, int, dict[str, np.ndarray], list[HostOp]]:
        """A long job of ring 1: opcode, flags, options and its operations."""
        count = rng.randint(20, 300)
        opcode, op = rng.choice((
            (Job.UPDATE, Op.UPDATE), (Job.RETRIEVE, Op.RETRIEVE),
            (Job.UPDATE_DELTA, Op.UPDATE_DELTA), (Job.INSERT, Op.INSERT),
        ))  # fmt: skip
        hot = min(self.leaves, 12)
        data = self.pairs(count, leaves=hot, top=18)
        flags, fp32 = Flag.MEMORY, False
        if opcode in (Job.UPDATE, Job.INSERT) and rng.random() < 0.5:
            flags, fp32 = flags | Flag.FP32, True
            data[:, 1] = [rng.choice((0x3F800000, 0xBF000000, 0x42280000)) for _ in range(count)]
        host = [HostOp(op, int(i), int(v), fp32) for i, v in data]
        if opcode == Job.RETRIEVE:
            return opcode, flags, {"data": np.ascontiguousarray(data[:, 0])}, host
        return opcode, flags, {"data": data}, host


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Cycles(ReplayTest):
    """Clocks of jobs, with a memory that answers after 64 clocks, against the formulas."""

    timing = AxiTiming(latency=(64, 64))

    async def scenario(self) -> None:
        env, golden = self.env, self.env.golden
        await self.clear()
        await env.run(1, Job.INSERT, flags=Flag.PMAX, count=min(self.leaves, 100))
        largest = 1 << env.config.batch_log2
        for count in [c for c in (32, 64, 128) if c <= largest]:
            for opcode, flags in (
                (Job.SAMPLE, Flag.SMP), (Job.SAMPLE, Flag.SMP | Flag.WEIGHTS),
                (Job.SAMPLE, Flag.MEMORY), (Job.UPDATE, 0), (Job.RETRIEVE, Flag.MEMORY),
                (Job.INSERT, 0), (Job.INSERT, Flag.PMAX),
            ):  # fmt: skip
                data = {}
                if opcode in (Job.UPDATE, Job.INSERT) and not flags & Flag.PMAX:
                    data = {"data": self.pairs(count)}
                if opcode == Job.RETRIEVE:
                    data = {"data": np.arange(count, dtype=np.uint32)}
                ring = int(opcode != Job.SAMPLE)
                words = env.descriptor(ring, opcode, flags=flags, count=count, **data)
                number = await env.submit(ring, words)
                record = await env.finish(ring, number)
                end = await env.check(ring, words, record, number)
                await env.settle()
                took = int(record[6]) - int(record[4])
                over = took - end.cycles
                reads, writes = int("data" in data), int(bool(flags & Flag.MEMORY))
                golden.smp.clear()
                env.learner.batches.clear()
                self.logger.warning(
                    "opcode %d flags %#04x count %3d: %4d clocks, formula %4d, more %3d (%d memory)",
                    opcode, flags, count, took, end.cycles, over, 64 * (reads + writes),
                )
                assert over <= 150 + 64 * (reads + writes), (opcode, flags, count, took, end.cycles)
