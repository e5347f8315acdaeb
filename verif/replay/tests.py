"""Tests of jd_replay_top; tests/replay/test_replay_engine.py runs them."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from flow.effort import scale
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from models.replay.kernels import Op
from verif import bench
from verif.agents.axi_memory import AxiTiming
from verif.agents.timing import Pattern, bursts, random_pauses
from verif.bench import until
from verif.replay.base import ReplayTest
from verif.replay.env import FETCH_DONE, OUTPUT
from verif.replay.sequences import Jobs
from verif.replay.trace import HostOp, Round, Trace


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Smoke(ReplayTest):
    """One of each job."""

    async def scenario(self) -> None:
        env, batch = self.env, 8
        await self.clear()
        await env.compare_registers()
        await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=13, data=self.pairs(13))
        index = np.arange(min(40, self.leaves), dtype=np.uint32)
        await env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=len(index), data=index)
        for count in (1, 2, batch - 1, batch):
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=count)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.WEIGHTS, count=batch, beta=1 << 29)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS | Flag.STRATIFIED, count=batch)
        await env.settle()
        await env.do(1, Job.INSERT, flags=Flag.MEMORY | Flag.PMAX, count=3)
        await env.write(registers.FETCH_ACK, 0)
        await env.do(1, Job.RESERVE, flags=Flag.MEMORY, count=2)
        await env.do(1, Job.COMMIT, flags=Flag.MEMORY, count=2, data=self.pairs(2))
        await env.do(0, Job.TRAIN_LOOP, flags=Flag.WEIGHTS, count=batch, batches=3)
        await ClockCycles(self.dut.clk_i, 10)


class RandomJobs(ReplayTest):
    """Random jobs, one after another, on a tree in which operations collide."""

    jobs = scale(60, 20)

    async def scenario(self) -> None:
        env, rng = self.env, self.rng
        leaves = rng.choice((self.leaves, self.leaves - 1, rng.randint(3, self.leaves)))
        await self.clear(leaves)
        await self.settings()
        jobs = Jobs(rng, leaves, env.config.leaf_w, 1 << env.config.batch_log2)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=min(leaves, 20))
        for number in range(self.jobs):
            ring, opcode, options = jobs.draw()
            if opcode == Job.RESERVE or rng.random() < 0.1:
                await env.write(registers.FETCH_ACK, 0)
            await env.do(ring, opcode, **options)
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
            CFG_PRIO=rng.choice((0x4CCD, 0x8000, 0, rng.getrandbits(16)))
            | rng.randint(0, 24) << 16,
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
    jobs = scale(40, 20)

    def patterns(self) -> dict[str, Pattern]:
        return {
            "smp": random_pauses(bench.rng("smp"), 0.3, 8),
            "tde": bursts(bench.rng("tde"), 4, 12),
        }


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class DuringClear(ReplayTest):
    """A sampling job that comes while the tree is cleared begins when that is done."""

    async def scenario(self) -> None:
        env, dut = self.env, self.dut
        await self.clear()
        for turn in range(scale(8, 2)):
            await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
            clear = env.descriptor(1, Job.CLEAR)
            await env.send(clear)
            await until("CLEAR", dut.clk_i, 500, lambda: self.design.u_host.hold_o.value)
            await ClockCycles(dut.clk_i, self.rng.randint(0, 100))
            flags = (Flag.MEMORY, Flag.SMP)[turn % 2]
            sample = env.descriptor(0, Job.SAMPLE, flags=flags, count=8)
            await env.send(sample)
            await env.check(clear)
            (end,) = await env.check(sample)
            assert end.error == Error.E_EMPTY, end
            await env.settle()
            env.compare_smp()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class TrainLoop(ReplayTest):
    """Loops with TD errors, weights and a growing beta; then a wrap of the insertion pointer."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.configure(CFG_DBETA=1 << 24)
        for rounds in range(4):
            count = min(self.leaves // 2 + 3, 100)
            await env.do(1, Job.INSERT, count=count, data=self.pairs(count))
            flags = Flag.WEIGHTS * (rounds % 2) | Flag.STRATIFIED * (rounds // 2)
            await env.do(
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
        await env.do(1, Job.INSERT, count=leaves, data=self.pairs(leaves, top=6))
        for round_ in range(scale(12, 6)):
            env.learner.answers = False
            await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
            kind = round_ % 3
            if kind == 0:  # a few leaves; those at both ends of the range are in the batch
                await self.insert(rng.randint(1, leaves // 2))
            elif kind == 1:  # all of them
                await self.insert(leaves)
            else:
                await env.send_tde([FETCH_DONE])
                env.golden.tde.put(FETCH_DONE)
                count = rng.randint(1, leaves // 2)
                await env.do(1, Job.RESERVE, count=count)
            words = [slot << 32 | bits for slot, bits in enumerate(env.learner.errors(batch))]
            if kind != 2:
                words.insert(0, FETCH_DONE)
            env.learner.sent.append(words)
            await env.send_tde(words)
            await env.settle()
            if kind == 2:
                await env.do(1, Job.COMMIT, count=count, data=self.pairs(count, top=6))
            await env.compare_registers()
        assert env.golden.rmm.statistics.stale > scale(20, 5)

    async def insert(self, count: int) -> None:
        """INSERT of that many leaves."""
        await self.env.do(1, Job.INSERT, count=count, data=self.pairs(count, top=6))


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Corners(ReplayTest):
    """T = 0, N = 1, one leaf that is not 0, all leaves at their largest, one leaf updated often."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        full = (1 << env.config.leaf_w) - 1
        await self.clear(1)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS, count=batch)
        await env.do(0, Job.TRAIN_LOOP, count=2, batches=2)
        empty = np.array(
            [[Op.RETRIEVE, 0, 0, 0], [Op.SAMPLE, 0, 0, 0], [Op.NOP, 0, 0, 0]], np.uint32
        )
        await env.do(1, Job.STREAM, flags=Flag.MEMORY, count=3, data=empty)
        await env.do(1, Job.RESERVE, count=1)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=3)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await self.clear(self.leaves - 1)
        only = np.array([[self.leaves - 2, 1]], np.uint32)
        await env.do(1, Job.UPDATE, count=1, data=only)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.WEIGHTS, count=batch)
        await self.clear()
        some = min(self.leaves, 512)
        largest = np.array([[self.leaves - 1 - i, full] for i in range(some)], np.uint32)
        await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=some, data=largest)
        ends = np.array([0, 2**48 - 1, 1, 2**47] * (batch // 4), np.uint64)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.HOST_X, count=len(ends), data=ends)
        same = np.array([[5, self.rng.getrandbits(8)] for _ in range(200)], np.uint32)
        await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=200, data=same)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=1)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Concurrent(ReplayTest):
    """Both rings and TDE at once, on few leaves: loops, strict and relaxed, and SAMPLE jobs."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.configure(CFG_DBETA=1 << 22)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=min(self.leaves, 30))
        trace = Trace(env)
        trace.start()
        for round_ in range(scale(18, 6)):
            await ClockCycles(self.dut.clk_i, 40)
            await self.rest()
            await env.configure(CFG_PRIO=0x4CCD | 16 << 16 | (round_ % 2) << 24)
            opcode, kind, options, host = self.host_job(rng)
            size, batches = batch >> rng.randint(0, 1), rng.randint(1, 4)
            if round_ % 3 == 0:
                size, batches = batch >> rng.randint(0, 3), rng.randint(2, 9)
            weighted, stratified = rng.random() < 0.5, rng.random() < 0.5
            flags = Flag.WEIGHTS * weighted | Flag.STRATIFIED * stratified
            trace.now = Round(deque([size] * batches), stratified, weighted, deque(host))
            train = (Job.TRAIN_LOOP, flags) if round_ % 3 else (Job.SAMPLE, flags | Flag.SMP)
            loop = env.descriptor(0, train[0], flags=train[1], count=size, batches=batches)
            work = env.descriptor(1, opcode, flags=kind, count=len(host), **options)
            await env.send(loop)
            await ClockCycles(self.dut.clk_i, rng.randint(0, 120))
            await env.send(work)
            await env.ended(loop, work)
            for job in (loop, work):
                assert not job.record.error, f"{job}: {job.record}"
            await until("TDE", self.dut.clk_i, 4000, lambda: not trace.waits)
            trace.finish(kind, OUTPUT[1])
            await env.clear_status()
            await env.compare_registers()
        assert trace.both > scale(20, 3), trace.both

    def host_job(self, rng: random.Random) -> tuple[int, int, dict[str, Any], list[HostOp]]:
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
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=min(self.leaves, 100))
        largest = 1 << env.config.batch_log2
        for count in [c for c in (32, 64, 128) if c <= largest]:
            for opcode, flags in (
                (Job.SAMPLE, Flag.SMP), (Job.SAMPLE, Flag.SMP | Flag.WEIGHTS),
                (Job.SAMPLE, Flag.MEMORY), (Job.UPDATE, 0), (Job.RETRIEVE, Flag.MEMORY),
                (Job.INSERT, 0), (Job.INSERT, Flag.PMAX),
            ):  # fmt: skip
                data: dict[str, Any] = {}
                if opcode in (Job.UPDATE, Job.INSERT) and not flags & Flag.PMAX:
                    data = {"data": self.pairs(count)}
                if opcode == Job.RETRIEVE:
                    data = {"data": np.arange(count, dtype=np.uint32)}
                ring = int(opcode != Job.SAMPLE)
                job = env.descriptor(ring, opcode, flags=flags, count=count, **data)
                (end,) = await env.run(job)
                await env.settle()
                took = job.clocks
                over = took - end.cycles
                reads, writes = int("data" in data), int(bool(flags & Flag.MEMORY))
                golden.smp.clear()
                env.learner.batches.clear()
                self.logger.warning(
                    "opcode %d flags %#04x count %3d: %4d clocks, formula %4d, more %3d, memory %d",
                    opcode,
                    flags,
                    count,
                    took,
                    end.cycles,
                    over,
                    64 * (reads + writes),
                )
                assert over <= 150 + 64 * (reads + writes), (opcode, flags, count, took, end.cycles)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Batches(ReplayTest):
    """SAMPLE jobs of many batches: they follow one another without a gap, wait for room in the
    memo, and keep all TD errors apart."""

    timing = AxiTiming(latency=(8, 8))

    async def scenario(self) -> None:
        env, largest = self.env, 1 << self.env.config.batch_log2
        await self.clear()
        count = min(self.leaves, 100)
        await env.do(1, Job.INSERT, count=count, data=self.pairs(count))
        for size in (1, 2, 3, largest - 1, largest):
            for flags in (0, Flag.WEIGHTS, Flag.MEMORY, Flag.MEMORY | Flag.WEIGHTS):
                one, many = [await self.clocks(flags, size, batches) for batches in (1, 17)]
                gap = many - one - 16 * size
                self.logger.warning(
                    "size %d flags %#x: %d, %d, gap %d", size, flags, one, many, gap
                )
                # Memory takes four responses a beat and writes what is left at the end.
                assert abs(gap) <= (8 if flags & Flag.MEMORY else 0), (size, flags, one, many)
        data = self.pairs(largest)
        data[:, 0] = np.arange(largest)
        await env.do(1, Job.UPDATE, flags=Flag.SLOTS | Flag.MEMORY, count=largest, data=data)
        await self.answered(largest)
        # Where no leaf can be drawn, all slots are issued all the same.
        await self.clear()
        await env.do(0, Job.SAMPLE, flags=Flag.WEIGHTS, count=largest, batches=20)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=1, batches=300)
        await env.compare_registers()

    async def clocks(self, flags: int, size: int, batches: int) -> int:
        """Clocks of one SAMPLE job."""
        env = self.env
        job = env.descriptor(0, Job.SAMPLE, flags=flags, count=size, batches=batches)
        await env.run(job)
        return job.clocks

    async def answered(self, largest: int) -> None:
        """Batches to SMP, more of them than the memo holds. Their TD errors change no priority, for
        the golden model does not know when they are taken."""
        env = self.env
        await env.configure(CFG_PINIT=100, CFG_PMIN=100, CFG_PCLIP=100)
        await env.do(1, Job.CLEAR)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=min(self.leaves, 100))
        env.learner.answers = False
        await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS, count=largest, batches=6)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=1, batches=3)
        for _ in range(6):
            await env.learner.answer(largest)
        await env.settle()
        # Without TD errors the memo fills up; the next batch waits for them.
        most = max(8 * largest, 512) // largest - 1
        job = env.descriptor(0, Job.SAMPLE, flags=Flag.SMP, count=largest, batches=most + 2)
        await env.send(job)
        clock, done = self.dut.clk_i, env.learner.batches
        done.clear()
        env.golden.smp.clear()
        await until("SMP", clock, 60_000, lambda: len(done) == most)
        await ClockCycles(clock, 3 * largest + 200)
        assert len(done) == most, "a batch was sampled without room for it"
        for _ in range(most + 2):
            await env.learner.answer(largest)
        await env.check(job)
        await env.settle()
        env.compare_smp()
        env.learner.answers = True
        for size, batches in ((largest, 13), (1, 200), (largest // 2, 30)):
            await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=size, batches=batches)
            await env.settle()
            env.compare_smp()
            await env.compare_registers()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Mixed(ReplayTest):
    """STREAM jobs of updates of few leaves, with samples and reads between them."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng
        await self.clear()
        jobs = Jobs(rng, min(self.leaves, 8), env.config.leaf_w, 8)
        await env.do(0, Job.SAMPLE, count=1)  # E_EMPTY: no batch to name slots of
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=8)
        await env.do(0, Job.SAMPLE, count=8)
        ops = [Op.SAMPLE, Op.RETRIEVE, Op.UPDATE_DELTA, Op.UPDATE_SLOT, Op.NOP] + [Op.UPDATE] * 6
        for _ in range(scale(6, 2)):
            count = rng.randint(40, 120)
            data = np.array([jobs.request(rng.choice(ops)) for _ in range(count)], np.uint32)
            data[:, 1] %= min(self.leaves, 8)
            data[-1] = [Op.UPDATE, 0, 9, 0]
            await env.do(1, Job.STREAM, flags=Flag.MEMORY, count=count, data=data)
            await env.compare_registers()
        assert env.golden.rmm.statistics.samples > 20
