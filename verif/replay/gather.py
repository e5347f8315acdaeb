"""Tests of jd_replay_top: the data storage, ring 2; run by test_replay_engine.py."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from flow.effort import effort, scale
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from verif.agents.axi_memory import AxiTiming
from verif.replay.base import ReplayTest
from verif.replay.env import INPUT, OUTPUT, STORAGE

ROWS = (16, 32, 64, 128, 192, 1024, 1088, 4096, 7104)


def indices(rng: random.Random, leaves: int, count: int, wide: bool) -> np.ndarray:
    """Random indices: words, or responses of a SAMPLE with the index in their first word."""
    words = np.array([rng.randrange(leaves) for _ in range(count)], np.uint32)
    if not wide:
        return words
    out = np.array([[rng.getrandbits(32) for _ in range(4)] for _ in range(count)], np.uint32)
    out[:, 0] = words
    return out


class GatherTest(ReplayTest):
    """A storage with random rows."""

    async def scenario(self) -> None:
        self.env.put(STORAGE, np.frombuffer(self.rng.randbytes(self.leaves * 7168), np.uint8))
        await self.env.do(2, Job.GATHER, count=1, data=np.zeros(1, np.uint32))  # E_NOTCLEAR
        await self.clear(self.leaves - 1)
        await self.body()

    async def body(self) -> None:
        """What the test does."""
        raise NotImplementedError

    async def gather(self, count: int, row_bytes: int, wide: bool = False, **options: Any) -> Any:
        """Run one job."""
        data = options.pop("data", None)
        if data is None:
            data = indices(self.rng, self.leaves - 1, count, wide)
        return await self.env.do(
            2, Job.GATHER, flags=Flag.SLOTS * wide, count=count, data=data,
            row_bytes=row_bytes, **options,
        )  # fmt: skip


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Gather(GatherTest):
    """Rows of every size, beside jobs of the other rings; what is after the last row stays."""

    async def body(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        for row in ROWS:
            for count in rng.sample((1, 2, 3, 4, 5, rng.randint(6, 40)), scale(6, 2)):
                env.put(OUTPUT[2], np.zeros(count * row + 256, np.uint8))
                await self.gather(count, row, rng.random() < 0.5)
                size = count * row + 256
                behind = [m.dump(OUTPUT[2], size) for m in (env.memory, env.golden_memory)]
                assert (behind[0] == behind[1]).all(), f"{count} rows of {row} bytes"
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=self.leaves - 1)
        for _ in range(
            scale(6, 2)
        ):  # what was sampled, while the next batch is sampled and updated
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
            responses = env.memory.dump(OUTPUT[0], 16 * batch).view("<u4").reshape(-1, 4)
            job = env.descriptor(
                2,
                Job.GATHER,
                flags=Flag.SLOTS,
                count=batch,
                data=responses,
                row_bytes=rng.choice(ROWS),
            )
            await env.send(job)
            await env.do(1, Job.UPDATE, count=9, data=self.pairs(9, self.leaves - 1))
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
            await env.check(job)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class GatherErrors(GatherTest):
    """Bad descriptors, indices and answers; soft resets; the next job is right."""

    timing = AxiTiming(latency=(4, 40), busy=0.7)

    async def body(self) -> None:
        env, rng = self.env, self.rng
        one = np.zeros(4, np.uint32)
        for options in (
            *({"flags": 1 << bit} for bit in (0, 1, 2, 3, 4, 5, 7)), {"w0": 12 | 1 << 16},
            *({f"w{k}": 1} for k in (3, 8, 12, 13, 14, 15)), *({f"w{k}": 256} for k in (5, 7, 11)),
            *({f"w{k}": 32} for k in (4, 6, 10)), {"w4": 0}, {"w6": 0},
            *({"w9": size} for size in (0, 8, 15, 17, 33, 48, 63, 65, 96, 1 << 20 | 64, 1 << 31)),
            {"count": 0}, {"count": (1 << 20) + 1}, {"count": 1 << 31},
        ):  # fmt: skip
            await env.do(2, Job.GATHER, **({"count": 1, "data": one} | options))
        # The largest row: beyond the storage it reads zeros. It takes 16 384 beats: a short run has
        # one of 1024.
        await self.gather(scale(2), 1 << 20 if effort() >= 1 else 1 << 16)
        for turn in range(scale(24, 2)):
            row, count = rng.choice(ROWS[:7]), rng.randint(1, 60)
            wide = turn % 2 == 1
            data = indices(rng, self.leaves - 1, count, wide)
            bad = rng.randrange(count)
            flat = data.reshape(count, -1)
            flat[bad, 0] = rng.choice((self.leaves - 1, 1 << 20, 1 << 21, 0xFFFFFFFF))
            end = await self.gather(count, row, wide, data=data)
            assert end.error == Error.E_INDEX and end.count == bad, end
            if bad:  # the row before fails, after the next index was refused
                place = STORAGE + int(flat[bad - 1, 0]) * row // 64 * 64
                env.fail(place, 64, 2 + turn % 2, writes=False)
                end = await self.gather(count, row, wide, data=data)
                assert end.error == Error.E_BUS_RD and end.count < bad, end
                env.heal()
            for place, size, reads in (
                (STORAGE + rng.randrange(self.leaves * row) // 64 * 64, 64, True),
                (INPUT[2] + rng.randrange(data.nbytes) // 64 * 64, 64, True),
                (OUTPUT[2] + rng.randrange(count * row) // 64 * 64, 64, False),
            ):
                env.fail(place, size, 2 + turn % 2, writes=not reads, reads=reads)
                await self.gather(count, row, wide)
                env.heal()
            env.put(OUTPUT[2], np.zeros(1 << 19, np.uint8))
            await self.gather(count, row, wide)
        for _ in range(scale(30, 4)):
            count, row = rng.randint(1, 60), rng.choice((16, 64, 1024, 1 << 20))
            data = indices(rng, self.leaves - 1, count, False)
            job = env.descriptor(2, Job.GATHER, count=count, data=data, row_bytes=row)
            await env.send(job)
            await ClockCycles(self.dut.clk_i, rng.randint(0, 400))
            assert await env.soft_reset() < 600
            env.put(OUTPUT[2], np.zeros(1 << 20, np.uint8))
            await self.gather(7, rng.choice((16, 32, 192)))


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class GatherTimeouts(GatherTest):
    """A memory that does not answer in time: the job ends, then all is as before."""

    timing = AxiTiming(latency=(900, 1000))

    async def body(self) -> None:
        env = self.env
        for row in (16, 64, 1088):
            await env.watchdog(300)
            data = indices(self.rng, self.leaves - 1, 20, False)
            job = env.descriptor(2, Job.GATHER, count=20, data=data, row_bytes=row)
            await env.ended(*await env.send(job))
            assert job.record.error == Error.E_TIMEOUT, job.record
            await env.clear_status()
            await env.soft_reset()
            await env.watchdog(0)
            env.put(OUTPUT[2], np.zeros(1 << 16, np.uint8))
            await self.gather(20, row)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class GatherSpeed(GatherTest):
    """At the port's limit: a beat per clock, indices included, or 16 reads at a time."""

    LATENCY = 30
    timing = AxiTiming(latency=(LATENCY, LATENCY))

    async def body(self) -> None:
        env = self.env
        for row, most in (
            (16, 4096),
            (32, 4096),
            (64, 4096),
            (128, 2048),
            (1024, 256),
            (7104, 64),
        ):
            count = scale(most, 64)
            data = indices(self.rng, self.leaves - 1, count, False)
            job = env.descriptor(2, Job.GATHER, count=count, data=data, row_bytes=row)
            (end,) = await env.run(job)
            clocks, ideal = job.clocks, end.cycles
            reads = count * -(-row // 1024)  # of up to 16 beats
            ideal = max(ideal, reads * (self.LATENCY + 4) // 16)
            self.logger.warning("rows of %d bytes: %d clocks, ideal %d", row, clocks, ideal)
            assert ideal <= clocks <= 1.08 * ideal + 150, (row, clocks, ideal)
