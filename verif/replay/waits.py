"""Tests of jd_replay_top: loaded state, what jobs wait for, jobs after one another; run by
test_replay_engine.py."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge

from flow.effort import scale, some
from models.registers import engine_header as header
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from models.replay.kernels import Op
from verif import bench
from verif.agents.axi_memory import AxiTiming
from verif.agents.timing import Pattern, random_pauses
from verif.bench import until
from verif.replay.base import ReplayTest
from verif.replay.env import FETCH_DONE, INPUT, OUTPUT

NO_FETCH = 1 << 25
RTL = Path(__file__).parents[2] / "rtl/replay"
AHEAD = 32  # beats that jd_axi_array_reader asks for at most


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Restore(ReplayTest):
    """The state after a hard reset, and CNT, WP, PMAX and SEED as a checkpoint loads them."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng
        await env.compare_registers()
        leaves = self.leaves - 1
        await self.clear(leaves)
        await env.do(1, Job.UPDATE, count=9, data=self.pairs(9, leaves))
        for round_ in range(8):
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=4)
            await env.write(registers.FETCH_ACK, 0)
            reserved = round_ % 3
            if reserved:
                await env.do(1, Job.RESERVE, count=reserved)
            loads = [
                (registers.CNT, rng.choice((0, leaves, rng.randrange(leaves)))),
                (registers.WP, rng.choice((0, leaves - 1, rng.randrange(leaves)))),
                (registers.PMAX, rng.getrandbits(env.config.leaf_w)),
            ]
            rng.shuffle(loads)
            await self.rest()
            for register, value in loads:
                await env.write(register, value)
            await env.seed(rng)
            await env.compare_registers()
            if reserved:
                flags = Flag.PMAX | Flag.MEMORY
                await env.do(1, Job.COMMIT, flags=flags, count=reserved)
            index = np.array([[slot, 3] for slot in range(4)], np.uint32)
            await env.do(1, Job.UPDATE, flags=Flag.SLOTS | Flag.MEMORY, count=4, data=index)
            await env.do(1, Job.INSERT, flags=Flag.PMAX | Flag.MEMORY, count=2)
            await env.compare_registers()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Fetched(ReplayTest):
    """RESERVE ends when the batches before it are fetched, and not before."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        env.learner.answers = False
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        # FETCH_ACK in the middle of a job is not for its batch.
        job = env.descriptor(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.send(job)
        await until("issue", self.dut.clk_i, 500, lambda: self.design.s_valid.value)
        await env.write(registers.FETCH_ACK, 0)
        assert int(self.design.train_busy.value), "the job is too short for this test"
        await env.check(job)
        await self.reserve(waits=True)
        # A RESERVE that fails does not wait.
        await env.do(1, Job.COMMIT, flags=Flag.PMAX, count=1)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        end = await env.do(1, Job.RESERVE, count=self.leaves)
        assert end.error == Error.E_INSERT, end
        await env.do(1, Job.COMMIT, flags=Flag.PMAX, count=end.count)
        # Batches that are void: CLEAR and soft reset forget them, and no_fetch does not count them.
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        await self.reserve(waits=False)
        await env.do(1, Job.COMMIT, flags=Flag.PMAX, count=1)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.soft_reset()
        one = np.array([[0, 7]], np.uint32)
        await env.do(1, Job.UPDATE, flags=Flag.SLOTS, count=1, data=one)  # E_INDEX: no batch
        await self.reserve(waits=False)
        await env.do(1, Job.COMMIT, flags=Flag.PMAX, count=1)
        await self.rest()
        await env.configure(CFG_PRIO=0x4CCD | 16 << 16 | NO_FETCH)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await self.reserve(waits=False)
        await env.do(1, Job.COMMIT, flags=Flag.PMAX, count=1)
        await self.rest()
        await env.configure(CFG_PRIO=0x4CCD | 16 << 16)
        await self.cancelled(batch)
        await self.later_batch(batch)

    async def reserve(self, waits: bool) -> None:
        """RESERVE of one leaf, which waits for FETCH_ACK or not."""
        env = self.env
        job = env.descriptor(1, Job.RESERVE, count=1)
        await env.send(job)
        if waits:
            await until("fetching", self.dut.clk_i, 500, lambda: self.design.fetching.value)
            await ClockCycles(self.dut.clk_i, 200)
            assert self.design.fetching.value, "RESERVE did not wait"
            await env.write(registers.FETCH_ACK, 0)
        await env.check(job)

    async def cancelled(self, batch: int) -> None:
        """A batch that was not sampled need not be fetched; one before it must."""
        env = self.env
        for before in (False, True):
            await self.clear()
            await env.do(1, Job.INSERT, flags=Flag.PMAX, count=1)
            if before:
                await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
            await env.do(1, Job.UPDATE, count=1, data=np.zeros((1, 2), np.uint32))
            end = await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
            assert end.error == Error.E_EMPTY
            await self.reserve(waits=before)

    async def later_batch(self, batch: int) -> None:
        """FETCH_DONE of the batches before RESERVE ends it, whatever was sampled since."""
        env = self.env
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
        job = env.descriptor(1, Job.RESERVE, count=1)
        await env.send(job)
        await until("fetching", self.dut.clk_i, 500, lambda: self.design.fetching.value)
        golden = env.golden.job(1, job.array(), env.golden_memory)
        next(golden)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
        assert self.design.fetching.value, "RESERVE did not wait"
        await env.send_tde([FETCH_DONE])
        env.golden.tde.put(FETCH_DONE)
        await env.ended(job)
        end = next(golden, None)
        assert end is None and job.record.error == 0 and job.record.count == 1, job.record
        await self.errors_of(2 * batch, batch)

    async def errors_of(self, count: int, batch: int) -> None:
        """TD errors of the batches that are open, without FETCH_DONE."""
        env = self.env
        words = [i % batch << 32 | bits for i, bits in enumerate(env.learner.errors(count))]
        env.learner.sent.append(words)
        await env.send_tde(words)
        await env.settle()
        await env.compare_registers()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Marked(ReplayTest):
    """What RESERVE waits for is known as it comes: no later batch, and none that is dropped."""

    timing = AxiTiming(latency=(300, 300))
    stalled = False

    def patterns(self) -> dict[str, Pattern]:
        """A learner that takes nothing while it is stalled."""
        return {"smp": ((0, 1) if self.stalled else (1, 0) for _ in repeat(None))}

    async def scenario(self) -> None:
        batch = 1 << self.env.config.batch_log2
        self.env.learner.answers, self.env.learner.broken = False, True
        await self.later(batch)
        for flags in (0, Flag.MEMORY, Flag.WEIGHTS, Flag.WEIGHTS | Flag.MEMORY):
            await self.dropped(flags | Flag.SMP, batch)
        await self.clear()

    async def begin(self) -> None:
        """A few leaves."""
        await self.clear()
        await self.env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)

    async def fetching(self) -> None:
        """Wait until RESERVE waits; it goes on to."""
        await until("fetching", self.dut.clk_i, 2000, lambda: self.design.fetching.value)
        await ClockCycles(self.dut.clk_i, 20)
        assert self.design.fetching.value, "RESERVE did not wait"

    async def later(self, batch: int) -> None:
        """FETCH_ACK in the middle of a job ends a RESERVE that waits for the batch before it."""
        env = self.env
        await self.begin()
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        job = env.descriptor(1, Job.RESERVE, count=1)
        await env.send(job)
        await self.fetching()
        golden = env.golden.job(1, job.array(), env.golden_memory)
        next(golden)
        sample = env.descriptor(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.send(sample)
        await until("issue", self.dut.clk_i, 2000, lambda: self.design.s_valid.value)
        await env.write(registers.FETCH_ACK, 0)
        assert int(self.design.train_busy.value), "the job is too short for this test"
        await env.ended(job)
        end = next(golden, None)
        assert end is None and job.record.error == 0 and job.record.count == 1, job.record
        await env.check(sample)
        await env.write(registers.FETCH_ACK, 0)

    async def dropped(self, flags: int, batch: int) -> None:
        """A batch that had begun, but is dropped, is not waited for; one that is delivered is."""
        env = self.env
        await self.begin()
        self.stalled = True
        (first,) = await env.send(
            env.descriptor(0, Job.SAMPLE, flags=flags, count=batch, batches=12)
        )
        await until("issue", self.dut.clk_i, 2000, lambda: self.design.s_valid.value)
        job = env.descriptor(1, Job.RESERVE, count=1)
        await env.send(job)
        await self.fetching()
        begun = int(self.design.u_batches.u_errors.begun_q.value)
        await env.send_tde([3 << 48])
        await ClockCycles(self.dut.clk_i, 10)
        self.stalled = False
        await env.ended(first)
        assert first.record.error == Error.E_STREAM, first.record
        await env.clear_status()
        await until("failing word", self.dut.clk_i, 200, lambda: env.learner.failed)
        assert 0 < len(env.learner.batches) < begun, f"{begun} begun, all or none delivered"
        assert self.design.fetching.value, "RESERVE did not wait for what was delivered"
        await env.send_tde([FETCH_DONE] * len(env.learner.batches))
        await env.write(registers.FETCH_ACK, 0)
        await env.check(job)
        assert not env.learner.words, "words after the failing one"
        env.learner.forget()
        await self.adopt()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Reserved(ReplayTest):
    """RESERVE, COMMIT and INSERT one after another, at the bounds of what may be reserved."""

    async def scenario(self) -> None:
        for leaves in (self.leaves, self.leaves - 1):
            await self.clear(leaves)
            half = leaves >> 1
            ops = [Op.RESERVE] * half + [Op.COMMIT, Op.RESERVE] * 6 + [Op.COMMIT] * half
            ops += [Op.INSERT] + [Op.RESERVE, Op.COMMIT, Op.INSERT] * 4
            await self.stream(ops)
            # One too many, at once after one that is right.
            for good, bad in (
                ([Op.RESERVE] * half, Op.RESERVE), ([], Op.COMMIT), ([Op.RESERVE], Op.INSERT),
                ([Op.RESERVE, Op.COMMIT], Op.COMMIT),
                ([Op.RESERVE] * half + [Op.COMMIT, Op.RESERVE], Op.RESERVE),
            ):  # fmt: skip
                await self.clear(leaves)
                assert await self.stream([*good, bad]) == Error.E_INSERT

    async def stream(self, ops: list[Op]) -> int:
        """One STREAM job; returns its error."""
        data = np.array([[op, 0, 5 + i % 7, 0] for i, op in enumerate(ops)], np.uint32)
        end = await self.env.do(1, Job.STREAM, flags=Flag.MEMORY, count=len(ops), data=data)
        await self.env.compare_registers()
        return int(end.error)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Backlog(ReplayTest):
    """A learner that takes nothing for a while: batches wait whole, each with its own weights."""

    stalled = True

    def patterns(self) -> dict[str, Pattern]:
        """A learner that takes nothing while it is stalled."""
        return {"smp": ((0, 1) if self.stalled else (1, 0) for _ in repeat(None))}

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        env.learner.answers = False
        await self.clear()
        await env.do(1, Job.INSERT, count=self.leaves, data=self.pairs(self.leaves))
        for flags in (Flag.WEIGHTS, Flag.WEIGHTS | Flag.MEMORY, 0):
            for count in (batch, 5, 2, 1):
                self.stalled = True
                job = env.descriptor(0, Job.SAMPLE, flags=flags | Flag.SMP, count=count, batches=40)
                await env.send(job)
                await ClockCycles(self.dut.clk_i, 200 + 40 * count)
                assert int(self.design.train_busy.value), "the learner does not hold the job up"
                self.stalled = False
                await env.check(job)
                env.compare_smp()
                for _ in range(40):
                    await env.learner.answer(count)
                await env.settle()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Emptied(ReplayTest):
    """The only leaf becomes 0 while a batch is sampled: its first slots find it, the rest none."""

    timing = AxiTiming(latency=(5, 5))

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        env.learner.answers, env.learner.broken = False, True
        data = np.array([[0, 0]], np.uint32)
        for flags, cut in ((0, range(batch)), (Flag.WEIGHTS, range(1))):
            env.learner.cut.clear()
            for offset in range(scale(60, 30)):
                await self.clear()
                await env.do(1, Job.INSERT, flags=Flag.PMAX, count=1)
                update = env.descriptor(1, Job.UPDATE, count=1, data=data)
                sample = env.descriptor(
                    0, Job.SAMPLE, flags=flags | Flag.SMP, count=batch, batches=3
                )
                await env.send(update)
                await ClockCycles(self.dut.clk_i, offset)
                await env.send(sample)
                await env.ended(sample, update)
                assert sample.record.error in (0, Error.E_EMPTY), sample.record
                assert sample.record.count == batch * len(env.learner.batches), sample.record
                await env.clear_status()
                await self.rest()
                env.learner.forget()
                await self.adopt()
            # Weights need the whole batch; else each place is met.
            assert set(env.learner.cut) == set(cut), f"flags {flags}: cut at {env.learner.cut}"


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class CutShort(ReplayTest):
    """A bad TDE word in every clock of a job: nothing comes after the failing word."""

    timing = AxiTiming(latency=(5, 5))

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        env.learner.answers, env.learner.broken = False, True
        errors = []
        for flags in (0, Flag.WEIGHTS):
            for offset in some(range(0, 140, 2 - bool(flags))):
                await self.clear()
                await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
                job = env.descriptor(0, Job.SAMPLE, flags=flags | Flag.SMP, count=batch)
                await env.send(job)
                await until("issue", self.dut.clk_i, 2000, lambda: self.design.s_valid.value)
                await ClockCycles(self.dut.clk_i, offset)
                await env.send_tde([3 << 48])
                await env.ended(job)
                errors.append(job.record.error)
                if errors[-1]:
                    assert errors[-1] == Error.E_STREAM, job.record
                    failed = env.learner.failed
                    await until("failing word", self.dut.clk_i, 200, lambda f=failed: f)
                    batches = len(env.learner.batches)
                    await ClockCycles(self.dut.clk_i, 60)
                    assert len(env.learner.batches) == batches, "a batch after the failing word"
                    assert not env.learner.words, "words after the failing one"
                await env.clear_status()
                await self.rest()
                env.learner.forget()
                await self.adopt()
        assert set(errors) == {0, Error.E_STREAM}, errors
        await self.clear()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Loops(ReplayTest):
    """A loop after a batch that is open, a loop that runs empty, a bad word in a later batch."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        # A loop does not wait for the TD errors of the job before it, if the memo has room.
        env.learner.answers = False
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
        job = env.descriptor(0, Job.TRAIN_LOOP, count=batch, batches=2)
        await env.send(job)
        await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.batches) == 2)
        env.learner.answers = True
        await env.learner.answer(batch)
        await env.learner.answer(batch)
        await env.check(job)
        await env.settle()
        env.compare_smp()
        await env.compare_registers()
        # All leaves become 0 in the loop.
        env.learner.answers = False
        await self.clear(1)
        await self.rest()
        await env.configure(CFG_EPS=0, CFG_PMIN=0, CFG_DBETA=1 << 20)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=1)
        job = env.descriptor(0, Job.TRAIN_LOOP, flags=Flag.WEIGHTS, count=2, batches=4)
        await env.send(job)
        for done in range(2):
            await until("SMP", self.dut.clk_i, 2000, lambda n=done: len(env.learner.batches) > n)
            errors = [slot << 32 | 0x3F800000 * (1 - done) for slot in range(2)]
            env.learner.sent.append([FETCH_DONE, *errors])
            await env.send_tde([FETCH_DONE, *errors])
        (end,) = await env.check(job)
        assert (end.error, end.count) == (Error.E_EMPTY, 2), end
        await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.failed) == 1)
        env.compare_smp()
        await env.compare_registers()
        # A bad word after the first batch.
        await self.rest()
        await env.configure(CFG_EPS=0x3C23D70A, CFG_PMIN=1)
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        job = env.descriptor(0, Job.TRAIN_LOOP, count=batch, batches=3)
        await env.send(job)
        await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.batches) == 1)
        errors = [slot << 32 | bits for slot, bits in enumerate(env.learner.errors(batch))]
        env.learner.sent.append(errors)
        await env.send_tde(errors)
        await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.batches) == 2)
        env.learner.sent.append([3 << 48])
        await env.send_tde([3 << 48])
        (end,) = await env.check(job)
        assert (end.error, end.count) == (Error.E_STREAM, 1), end
        await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.failed) == 1)
        env.compare_smp()
        # A later failure does not tell what an earlier one left.
        await env.soft_reset()
        await env.do(0, Job.SAMPLE, count=0)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        env.learner.answers = True


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Patience(ReplayTest):
    """A watchdog that is shorter than every job: a job that gets further is not told to end."""

    timing = AxiTiming(latency=(10, 40), busy=0.2, longest=8)

    def patterns(self) -> dict[str, Pattern]:
        """Slow streams."""
        return {name: random_pauses(bench.rng(name), 0.1, 12) for name in ("smp", "tde")}

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        limit = env.golden.timing.sample_latency + 100
        await env.watchdog(limit)
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for opcode in (Job.UPDATE, Job.RETRIEVE):
            data = self.pairs(300)
            if opcode == Job.RETRIEVE:
                data = np.ascontiguousarray(data[:, 0])
            await env.do(1, opcode, flags=Flag.MEMORY, count=300, data=data)
        far = np.full(2000, 0xFFFFFFFF, np.uint32)  # what was read ahead is dropped
        await env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=2000, data=far)
        await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS, count=batch)
        await env.settle()
        await env.do(0, Job.TRAIN_LOOP, count=batch, batches=2)
        x = np.array([self.rng.getrandbits(48) for _ in range(batch)], np.uint64)
        await env.do(0, Job.SAMPLE, flags=Flag.HOST_X | Flag.MEMORY, count=batch, data=x)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Queued(ReplayTest):
    """Jobs after one another with a quick memory: nothing of one is left for the next."""

    timing = AxiTiming(latency=(1, 1))

    def patterns(self) -> dict[str, Pattern]:
        """A slow learner: its words leave long after they were sampled."""
        return {"smp": random_pauses(bench.rng("smp"), 0.1, 12)}

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for _ in range(4):
            bad = rng.choice((0, 1, 5, 70))  # the first job ends there; more was read ahead
            first = self.pairs(400)
            first[bad, 0] = self.leaves
            await self.together([
                (1, Job.UPDATE, Flag.MEMORY, first),
                (1, Job.UPDATE, Flag.MEMORY, self.pairs(rng.choice((1, 9, 40)))),
                (1, Job.RETRIEVE, Flag.MEMORY, np.arange(16, dtype=np.uint32)),
                (1, Job.UPDATE_DELTA, 0, self.pairs(3, top=6)),
                (1, Job.UPDATE, Flag.MEMORY, self.pairs(17)),
            ])  # fmt: skip
            x = [np.array([rng.getrandbits(48) for _ in range(batch)], np.uint64) for _ in "abc"]
            flags = Flag.HOST_X | Flag.MEMORY
            env.fail(INPUT[0] + 0x8000, 64, 3)  # of the second job
            await self.together([
                (0, Job.SAMPLE, flags, x[0]), (0, Job.SAMPLE, flags, x[1]),
                (0, Job.SAMPLE, flags, x[2]), (0, Job.SAMPLE, Flag.MEMORY, x[2][:3]),
            ])  # fmt: skip
            env.heal()
            await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
            await env.settle()
        await self.stalled()

    async def stalled(self) -> None:
        """An array is given up while the memory does not take the next request for it."""
        env, dut = self.env, self.dut
        requests = np.zeros((400, 4), np.uint32)  # NOP
        bad = 4 * AHEAD - 2
        requests[bad, 0] = 15
        job = env.descriptor(1, Job.STREAM, count=len(requests), data=requests)
        await env.send(job)
        taken = 0
        while taken < 1 + AHEAD // 8:  # the descriptor and all that is read ahead
            await RisingEdge(dut.clk_i)
            taken += int(dut.m_axi_arvalid_o.value) & int(dut.m_axi_arready_i.value)
        channel = env.ports[0].slave.reads.ar_channel
        channel.pause = True
        await until("abort", dut.clk_i, 500, lambda: self.design.u_host.drain_q.value)
        assert dut.m_axi_arvalid_o.value, "no request waits"
        await ClockCycles(dut.clk_i, 20)
        channel.pause = False
        (end,) = await env.check(job)
        assert (end.error, end.count) == (Error.E_OPCODE, bad), end

    async def together(self, jobs: list[tuple[int, int, int, np.ndarray]]) -> None:
        """Queue jobs (ring, opcode, flags, input) of one ring at once; at most one may fail."""
        env, queued = self.env, []
        for place, (ring, opcode, flags, data) in enumerate(jobs):
            source, output = INPUT[ring] + 0x8000 * place, OUTPUT[ring] + 0x8000 * place
            env.put(source, data)
            env.put(output, np.zeros(0x2000, np.uint8))
            job = env.descriptor(
                ring, opcode, flags=flags, count=len(data),
                w6=output if flags & Flag.MEMORY else 0,
                w4=source if ring or flags & Flag.HOST_X else 0,
            )  # fmt: skip
            queued.append(job)
        await env.send(*queued)
        for job in queued:
            await env.check(job)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Between(ReplayTest):
    """Samples of ring 1 between those of a batch; nothing changes the tree, so no order counts."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        # With numbers of its own, ring 1 leaves the generator to ring 0.
        requests = np.array(
            [[Op.SAMPLE | 4 << 4 | i << 8, 0, rng.getrandbits(32), i] for i in range(200)],
            np.uint32,
        )
        job = env.descriptor(1, Job.STREAM, flags=Flag.MEMORY, count=200, data=requests)
        await env.send(job)
        for _ in range(24):
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        assert self.design.host_busy.value, "ring 1 ended too early"
        await env.check(job)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class FarMemory(ReplayTest):
    """A memory that answers late: writes wait for one another, and reads end where they fail."""

    timing = AxiTiming(latency=(400, 400))

    async def scenario(self) -> None:
        env = self.env
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        index = np.arange(1000, dtype=np.uint32) % self.leaves
        await env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=len(index), data=index)
        for fault in (True, False):  # a failed read; an illegal first operation
            if fault:
                env.fail(INPUT[1], 64, 2)
            before = await env.axil.read(header.RD_BEATS_LO.offset)
            data = self.pairs(1000)
            data[0, 0] = self.leaves
            await env.do(1, Job.UPDATE, count=len(data), data=data)
            beats = await env.axil.read(header.RD_BEATS_LO.offset) - before
            assert beats == 1 + AHEAD, f"{beats} beats read, want a descriptor and {AHEAD}"
            env.heal()
        # INSERT after reserved leaves that end at the last one: the head is leaf 0.
        await self.clear(8)
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=5)
        await env.do(1, Job.RESERVE, count=3)
        end = await env.do(1, Job.INSERT, flags=Flag.PMAX, count=1)
        assert (end.error, end.info1) == (Error.E_INSERT, 0), end


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Counters(ReplayTest):
    """BUSY, STALL_* and the counters of beats, against what the ports show."""

    LATENCY = 100
    timing = AxiTiming(latency=(LATENCY, LATENCY))
    NAMES = ("BUSY", "STALL_MEM", "STALL_IN", "STALL_OUT", "RD_BEATS", "WR_BEATS")

    def patterns(self) -> dict[str, Pattern]:
        """A slow learner."""
        return {"smp": random_pauses(bench.rng("smp"), 0.3, 8)}

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        self.moved = {"STALL_OUT": 0, "RD_BEATS": 0, "WR_BEATS": 0}
        self.waited = 0  # clocks between the last word of a batch and its last TD error
        self.held = 0  # clocks in which SMP had a word: the engine is done with it before
        cocotb.start_soon(self.watch())
        await self.clear()
        await self.count(0, 1, Job.INSERT, flags=Flag.PMAX, count=9)
        # A record and a descriptor cost a beat each; four responses share one.
        await self.count(1, 1, Job.UPDATE, flags=Flag.MEMORY, count=8, data=self.pairs(8))
        await self.count(1, 1, Job.UPDATE, count=8, data=self.pairs(8))
        await self.count(0, 0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        x = np.zeros(batch, np.uint64)
        await self.count(1, 0, Job.SAMPLE, flags=Flag.HOST_X, count=batch, data=x)
        env.learner.delay = 600
        loop = {"flags": Flag.WEIGHTS, "count": batch, "batches": 3}
        await self.count(0, 0, Job.TRAIN_LOOP, operations=6 * batch, waits=3, **loop)

    async def count(
        self, arrays: int, ring: int, opcode: int, operations: int = 0, waits: int = 0, **job: Any
    ) -> None:
        """Run a job that reads `arrays` arrays and waits `waits` times for TD errors."""
        before, moved = await self.read(), dict(self.moved)
        waited, held = self.waited, self.held
        await self.env.do(ring, opcode, **job)
        await self.env.settle()
        after = await self.read()
        got = {name: after[name] - before[name] for name in self.NAMES}
        for name, value in self.moved.items():
            assert got[name] == value - moved[name], f"{name}: {got[name]}, want {value}"
        assert got["BUSY"] == (operations or job["count"]), got
        least = arrays * self.LATENCY
        assert least <= got["STALL_MEM"] <= least + 20 * arrays, f"{got}, arrays {arrays}"
        least = self.waited - waited
        most = least + 40 * waits + (self.held - held if waits else 0)
        assert least <= got["STALL_IN"] <= most, f"{got}, waited {least}"

    async def read(self) -> dict[str, int]:
        """The counters' low words."""
        return {
            name: await self.env.axil.read(getattr(header, f"{name}_LO").offset)
            for name in self.NAMES
        }

    async def watch(self) -> None:
        """Count what moves at the ports."""
        dut, waiting, errors = self.dut, False, 0
        batch = 1 << self.env.config.batch_log2
        while True:
            await RisingEdge(dut.clk_i)
            smp, taken = int(dut.smp_valid_o.value), int(dut.smp_ready_i.value)
            self.held += smp
            self.moved["STALL_OUT"] += smp and not taken
            self.moved["RD_BEATS"] += int(dut.m_axi_rvalid_i.value) & int(dut.m_axi_rready_o.value)
            self.moved["WR_BEATS"] += int(dut.m_axi_wvalid_o.value) & int(dut.m_axi_wready_i.value)
            self.waited += waiting
            if smp and taken and int(dut.smp_last_o.value):
                waiting = True
            if int(dut.tde_valid_i.value) & int(dut.tde_ready_o.value):
                errors += int(dut.tde_data_i.value) >> 48 == 0
                waiting = waiting and errors % batch != 0


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class ResetSweep(ReplayTest):
    """A soft reset at every clock of the first steps of a job, of a failing one, of CLEAR."""

    timing = AxiTiming(latency=(5, 5))
    wait = 0
    # States that last one clock, or are rare.
    NEEDED = (
        ("jd_replay_training", ("StCheck", "StSend")),
        ("jd_replay_host", ("StCheck", "StStart", "StWait", "StClearing")),
    )

    def patterns(self) -> dict[str, Pattern]:
        """TD errors every second clock: words of each kind are met on their way."""
        return {"smp": repeat((1, 0)), "tde": repeat((1, 1))}

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        env.learner.answers = False
        seen: tuple[set[int], set[int]] = (set(), set())
        latency = env.golden.timing.sample_latency
        for kind, offsets in (
            (self.both, range(0, 28)), (self.empty, range(latency - 10, latency + 26)),
            (self.clearing, range(0, 120, 5)), (self.answered, range(0, 24)),
            (self.unlinked, range(0, 24)), (self.waiting, range(0, 1)),
        ):  # fmt: skip
            for offset in some(offsets, 8):
                await self.clear()
                await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
                await kind(batch)
                await ClockCycles(self.dut.clk_i, offset)
                await self.reset(seen)
        await self.clear()
        for ring, (module, needed) in enumerate(self.NEEDED):
            states = bench.enumeration(RTL / f"{module}.sv", "state_e")
            met = {states[number] for number in seen[ring]}
            assert met >= set(needed), f"{module}: no reset in {set(needed) - met}, only in {met}"

    async def both(self, batch: int) -> None:
        """A job of each ring."""
        env = self.env
        data = np.array([[1, 4]], np.uint32)
        await env.send(env.descriptor(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch))
        await env.send(env.descriptor(1, Job.UPDATE, count=1, data=data))

    async def empty(self, batch: int) -> None:
        """A job that finds the total 0, and tells it by SMP."""
        env = self.env
        await self.clear()
        await env.send(env.descriptor(0, Job.SAMPLE, flags=Flag.SMP, count=2))

    async def clearing(self, batch: int) -> None:
        """CLEAR while updates by TDE are on their way."""
        env = self.env
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
        await env.send(env.descriptor(1, Job.CLEAR))
        await env.send_tde([slot << 32 | 0x3F800000 for slot in range(batch // 2)])

    async def answered(self, batch: int) -> None:
        """TD errors of a batch."""
        env = self.env
        await env.do(0, Job.SAMPLE, flags=Flag.SMP, count=batch)
        cocotb.start_soon(env.send_tde([slot << 32 | 0x3F800000 for slot in range(batch)]))

    async def unlinked(self, batch: int) -> None:
        """TD errors of a batch, and in the midst of them the learner clears the link."""
        await self.answered(batch)
        self.wait = (self.wait + 1) % 2
        await ClockCycles(self.dut.clk_i, 4 + self.wait)
        self.dut.link_clear_i.value = 1
        await ClockCycles(self.dut.clk_i, 2)
        self.dut.link_clear_i.value = 0

    async def waiting(self, batch: int) -> None:
        """A batch that the learner does not take is dropped by a reset of either engine."""
        env, dut = self.env, self.dut
        for linked in (True, False):
            env.streams["smp"].ready.replace(repeat((0, 1)))
            await env.send(env.descriptor(0, Job.SAMPLE, flags=Flag.SMP, count=batch))
            await until("SMP", dut.clk_i, 2000, lambda: dut.smp_valid_o.value)
            await ClockCycles(dut.clk_i, 2 * batch)
            if linked:
                dut.link_clear_i.value = 1
                await ClockCycles(dut.clk_i, 2)
                dut.link_clear_i.value = 0
                await RisingEdge(dut.clk_i)
            else:
                await env.soft_reset()
            assert not dut.smp_valid_o.value, "a word of before the reset waits"
            env.streams["smp"].ready.replace(repeat((1, 0)))
        assert not env.learner.words, "words of before a reset came"

    async def reset(self, seen: tuple[set[int], set[int]]) -> None:
        """Soft reset; the engine is as new but for its tree and statistics."""
        env = self.env
        states = [self.design.u_batches.u_training.state_q, self.design.u_host.state_q]
        watch = cocotb.start_soon(self.watch(states, seen))
        await env.soft_reset()
        await watch
        env.learner.sent.clear()
        await self.adopt()
        env.golden.rmm.statistics.inserts = await env.axil.read(registers.N_INSERT_LO.offset)
        env.learner.batches.clear()
        env.learner.failed.clear()
        env.golden.smp.clear()

    async def watch(self, states: list[Any], seen: tuple[set[int], set[int]]) -> None:
        """Note the states at the first clock of the soft reset."""
        dut = self.dut
        await until("soft reset", dut.clk_i, 200, lambda: dut.link_clear_o.value)
        for ring, state in enumerate(states):
            seen[ring].add(int(state.value))
