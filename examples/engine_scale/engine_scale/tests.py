"""pyuvm tests of jd_scale_top; tests/test_scale_engine.py runs them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from engine_scale.model import LANES, SCALE
from engine_scale.registers import N_WORDS
from flow.effort import scale as scale_count
from models.registers import engine_header as header
from verif.agents.axi_memory import AxiTiming
from verif.engine_env import EngineEnv, EngineSequence, EngineTest, JobItem
from verif.failures import Array, Case, all_failures

SOURCE, TARGET, ROOM, MOST = 0x100000, 0x200000, 0x10000, 700
ONE = 0x3F800000


class ScaleEnv(EngineEnv):
    """The common environment; what a job writes that ends with a bus error is not defined."""

    engine = "scale"

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        return [(job.words[8] | job.words[9] << 32, 4 * job.words[2])]

    def undefined(self, job: JobItem) -> Iterable[tuple[int, int]]:
        return [(job.words[8], 64 * -(-job.words[2] // LANES))] if job.end.info1 else []

    def vector(self, place: int = 0, count: int = 0) -> list[int]:
        """The descriptor of a job, of any size unless one is given; its operands are in memory."""
        count = count or self.random.choice((1, 15, 16, 17, 256, self.random.randint(1, MOST)))
        words = np.frombuffer(self.random.randbytes(4 * count), np.uint32)
        self.put(SOURCE + ROOM * place, words)
        a, b = self.random.getrandbits(32), self.random.getrandbits(32)
        source, target = SOURCE + ROOM * place, TARGET + ROOM * place
        return [SCALE, 0, count, a, b, 0, source, 0, target, 0]


class Jobs(EngineSequence[ScaleEnv]):
    """Jobs after one another, each error of a descriptor, and failing memory."""

    rounds = 1

    async def body(self) -> None:
        env = self.env
        for turn in range(self.rounds):
            await env.run(*[env.vector(place) for place in range(4)])
            good = env.vector()
            for word, value in ((0, 2), (2, 0), (2, 1 << 20), (5, 1), (6, SOURCE + 4), (9, 256)):
                await env.run([*good[:word], value, *good[word + 1 :]])
            for address in (good[6], good[8]):
                env.fail(address, 64, 2 + turn % 2)
                (end,) = await env.run(good)
                assert end.error, "no error"
                env.heal()
            await env.run(good)
            await env.compare_registers()


class Clocks(EngineSequence[ScaleEnv]):
    """What the header counts of a job, and a watchdog that waits for less than a whole job."""

    beats = 256
    patience = 100  # of the watchdog, clocks: longer than the memory is silent

    async def body(self) -> None:
        env = self.env
        names = ("BUSY_LO", "STALL_MEM_LO", "STALL_IN_LO", "STALL_OUT_LO")
        places = [getattr(header, name).offset for name in names]
        before = [await env.counter(place) for place in places]
        await env.watchdog(self.patience)
        (job,) = await env.send(env.vector(count=LANES * self.beats))
        await env.check(job)
        await env.watchdog(0)
        after = [await env.counter(place) for place in places]
        busy, waits, *others = (b - a for a, b in zip(before, after, strict=True))
        assert job.clocks > 2 * self.patience
        assert busy == job.clocks, f"BUSY {busy} of {job.clocks} clocks"
        # A beat is read or written in all others, but for those of check and end.
        moved = busy - waits
        assert self.beats <= moved <= 2 * self.beats + 2, f"{waits} of {busy} clocks wait"
        assert others == [0, 0], f"STALL_IN, STALL_OUT {others}"


class Resets(EngineSequence[ScaleEnv]):
    """Soft and hard resets at any clock of a job; the next one is right."""

    times = 1

    async def body(self) -> None:
        env = self.env
        for turn in range(self.times):
            (job,) = await env.send(env.vector())
            await ClockCycles(env.dut.clk_i, env.random.randint(1, 300))
            if turn % 2:
                await env.hard_reset(env.random.randint(1, 3))
            else:
                await env.soft_reset()
                # Its record may be dropped when it was done already: its words are counted.
                if await env.axil.read(N_WORDS.offset) != env.golden.read_register(N_WORDS.offset):
                    env.predict(job)
                env.adopt(TARGET, ROOM)
            await env.run(env.vector())
            await env.compare_registers()


async def cases(env: ScaleEnv) -> list[Case]:
    """A job of many bursts, for `verif.failures`."""
    words = env.vector(count=env.random.randint(14_000, 16_000))
    nbytes = 64 * -(-words[2] // LANES)
    return [Case(words, {6: Array(nbytes), 8: Array(nbytes, written=True)}, repeats=True)]


class Base(EngineTest):
    """The usual environment."""

    environment = ScaleEnv


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Smoke(Base):
    """Jobs with a quick memory."""

    sequences = (Jobs(rounds=2), Clocks())


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class BackPressure(Base):
    """Jobs and resets with a slow memory."""

    timing = AxiTiming(latency=(1, 120), busy=0.6)
    sequences = (Jobs(rounds=scale_count(8, 2)), Resets(times=scale_count(20, 4)))


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Failures(Base):
    """Arrays at the end of memory, and a memory that fails or does not answer."""

    sequences = all_failures(cases)


@pyuvm.test(timeout_time=4, timeout_unit="ms", expect_error=AssertionError)
class ScoreboardFires(Base):
    """A golden engine that adds another constant makes the comparison of memory fail."""

    async def scenario(self) -> None:
        words = self.env.vector()
        self.env.put(SOURCE, np.array([2], np.float32))
        (job,) = await self.env.send([*words[:3], ONE, ONE, *words[5:]])
        await self.env.ended(job)
        job.words[4] = 0
        job.end = self.env.predict(job)
        await self.env.compare(job)
