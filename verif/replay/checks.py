"""Tests of jd_replay_top: the CHECK job; run by test_replay_engine.py."""

from __future__ import annotations

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from models.registers import engine_header as header
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from verif.bench import until
from verif.replay.base import ReplayTest


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class Check(ReplayTest):
    """CHECK passes whenever the tree is sound, changes nothing and finds a root that is not."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.CHECK)
        for turn in range(4):
            leaves = self.leaves if turn % 2 else self.leaves - 3
            await self.clear(leaves)
            await env.do(1, Job.INSERT, flags=Flag.PMAX, count=leaves + 3)
            await env.do(1, Job.UPDATE, count=60, data=self.pairs(60, leaves))
            await env.do(1, Job.CHECK)
            await env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=leaves,
                          data=np.arange(leaves, dtype=np.uint32))  # fmt: skip
            await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.WEIGHTS, count=batch)
            await env.do(1, Job.CHECK)  # perhaps before the batch's TD errors, perhaps after
            await env.settle()
            await env.do(1, Job.CHECK)
        await self.wrong_root()
        await self.busy(batch)
        await self.waiting(batch)
        for _ in range(12):
            await self.dropped(rng.randint(0, 3 * self.leaves))

    async def wrong_root(self) -> None:
        """The root is not the sum of the leaves: E_CHECK, in the model too."""
        env, total = self.env, self.env.core.total_q
        for bit in (0, 3):
            total.value = int(total.value) ^ 1 << bit
            env.golden.rmm.tree.total ^= 1 << bit
            end = await env.do(1, Job.CHECK)
            assert (end.error, end.info1) == (Error.E_CHECK, 0), end
            total.value = int(total.value) ^ 1 << bit
            env.golden.rmm.tree.total ^= 1 << bit
            await env.do(1, Job.CHECK)

    async def busy(self, batch: int) -> None:
        """While ring 0 has a job, it is refused."""
        env = self.env
        env.learner.answers = False
        before = len(env.learner.batches)
        loop = env.descriptor(0, Job.TRAIN_LOOP, count=batch, batches=1)
        await env.send(loop)
        await until("a batch", self.dut.clk_i, 2000,
                    lambda: len(env.learner.batches) > before)  # fmt: skip
        (job,) = await env.send(env.descriptor(1, Job.CHECK))
        await env.ended(job)
        assert (job.record.error, job.record.count) == (Error.E_BUSY, 0), job.record
        await env.clear_status()
        env.learner.answers = True
        await env.learner.answer(batch)
        await env.check(loop)
        await env.settle()

    async def waiting(self, batch: int) -> None:
        """What comes while the tree is checked begins when that is done."""
        env, dut = self.env, self.dut
        for turn in range(6):
            check = env.descriptor(1, Job.CHECK)
            await env.send(check)
            await until("CHECK", dut.clk_i, 500, lambda: self.design.u_host.hold_o.value)
            await ClockCycles(dut.clk_i, self.rng.randint(0, self.leaves + 40))
            flags = (Flag.MEMORY, Flag.SMP)[turn % 2]
            sample = env.descriptor(0, Job.SAMPLE, flags=flags, count=batch)
            await env.send(sample)
            await env.check(check)
            await env.check(sample)
            await env.settle()
            env.compare_smp()

    async def dropped(self, clocks: int) -> None:
        """A soft reset in its midst: the next one passes."""
        env = self.env
        await env.send(env.descriptor(1, Job.CHECK))
        await ClockCycles(self.dut.clk_i, clocks)
        await env.soft_reset()
        env.learner.sent.clear()
        await env.do(1, Job.CHECK)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=8)


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class CheckNodes(ReplayTest):
    """CHECK tells level and place of a node that is not the sum of its leaves."""

    async def scenario(self) -> None:
        await self.clear()
        await self.env.do(1, Job.INSERT, flags=Flag.PMAX, count=self.leaves)
        env = self.env
        for level in range(2, env.golden.timing.levels + 1):
            here = self.env.core.gen_level[level].u_level
            memory = (here.u_nodes if env.config.sequential else here.gen_rows.u_rows).mem
            row = self.rng.randrange(len(memory))
            good = int(memory[row].value)
            memory[row].value = good ^ 1
            (job,) = await env.send(env.descriptor(1, Job.CHECK))
            await env.ended(job)
            fan = 1 if env.config.sequential else 1 << env.config.k_log2
            place = await env.axil.read(header.ERR_INFO1.offset)
            assert job.record.error == Error.E_CHECK, job.record
            assert place == level << 24 | row * fan, f"{place:#x}, level {level}, row {row}"
            memory[row].value = good
            await env.clear_status()
            await env.do(1, Job.CHECK)
