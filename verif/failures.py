"""What all engines do alike when a job cannot be done: sequences that every engine's tests run.

    Boundaries   an array ends with the last address, and then goes on over it
    FailedWrites memory refuses an output
    Silence      memory stops to answer on one channel, in the midst of a job

An engine gives a function that makes it ready and returns jobs with the arrays that they name:

    async def cases(env: ScaleEnv) -> list[Case]:
        return [Case([SCALE, 0, count, ...], {6: Array(nbytes), 8: Array(nbytes, written=True)})]

    @pyuvm.test()
    class Failures(Base):
        sequences = all_failures(cases)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from flow.effort import scale
from models.engine import ADDRESSES
from models.registers import engine_header as header
from models.registers.engine_header import Error
from verif.agents.axi_memory import CHANNELS
from verif.bench import clock_number
from verif.engine_env import FAILED, EngineEnv, EngineSequence, JobItem

WAYS = ("late", "soft_reset", "hard_reset")  # out of the silence
SETTLE = 40  # clocks in which what is asked for reaches the port
ASKED = 8  # bursts on their way to the port when a job is told to end
READS = 4000  # of STATUS, until it tells


@dataclass(frozen=True)
class Array:
    """An array that a job names.

    Attributes:
        nbytes: its size.
        written: by the job.
        align: of its address, bytes.
    """

    nbytes: int
    written: bool = False
    align: int = 64


@dataclass(frozen=True)
class Case:
    """A job that ends well.

    Attributes:
        words: its descriptor.
        arrays: by the word of their address.
        ring: where it is queued.
        repeats: it may be cut short, for it changes nothing but its output.
    """

    words: Sequence[int]
    arrays: Mapping[int, Array]
    ring: int = 0
    repeats: bool = field(default=False, kw_only=True)

    def at(self, word: int) -> int:
        """The address in this word and the next one; words that are not given are 0."""
        low, high = [*self.words[word : word + 2], 0][:2]
        return low | high << 32

    def job(self, env: EngineEnv, places: Mapping[int, int] | None = None) -> JobItem:
        """The job, with some arrays at other places."""
        job = env.job(list(self.words), self.ring)
        for word, address in (places or {}).items():
            job.words[word : word + 2] = address & 0xFFFF_FFFF, address >> 32
        return job


Cases = Callable[[Any], Awaitable[list[Case]]]


async def no_cases(env: EngineEnv) -> list[Case]:
    """To be replaced."""
    raise NotImplementedError


class Boundaries(EngineSequence[EngineEnv]):
    """Each array of each job ends with the last address; one that goes on is refused, unread."""

    cases: Cases = staticmethod(no_cases)

    async def body(self) -> None:
        env = self.env
        for case in await self.cases(env):
            for word, array in case.arrays.items():
                last = (ADDRESSES - array.nbytes) // array.align * array.align
                env.put(last, env.golden_memory.dump(case.at(word), array.nbytes))
                job = case.job(env, {word: last})
                (end,) = await env.run(job)
                assert not end.error, f"{job}: error {end.error} at the last address"
                job = case.job(env, {word: last + array.align})
                before = list(env.bursts.beats)
                (end,) = await env.run(job)
                # An array of one step then begins where no address is.
                error = Error.E_RESERVED if last + array.align == ADDRESSES else Error.E_ADDR
                assert end.error == error, f"{job}: error {end.error}, want {error!r}"
                beats = [now - then for now, then in zip(env.bursts.beats, before, strict=True)]
                want = [env.manifest.descriptor_bytes // 64, 1]  # a descriptor, a record
                assert beats == want, f"{job}: {beats} beats read and written, want {want}"


class FailedWrites(EngineSequence[EngineEnv]):
    """Memory takes nothing of an output: E_BUS_WR, and soon no more is written."""

    cases: Cases = staticmethod(no_cases)

    async def body(self) -> None:
        env = self.env
        for case in await self.cases(env):
            for word, array in case.arrays.items() if case.repeats else ():
                if array.written:
                    await env.run(case.job(env))
                    env.fail(case.at(word), array.nbytes, 2, reads=False)
                    (end,) = await env.run(case.job(env))
                    assert end.error == Error.E_BUS_WR, f"word {word}: error {end.error}"
                    env.heal()


class Silence(EngineSequence[EngineEnv]):
    """Memory does not answer on a channel: STATUS tells, and the engine asks for nothing more.

    A late answer ends the job, a soft reset waits for it, a hard reset does not. Then the engine
    works as before.
    """

    cases: Cases = staticmethod(no_cases)
    rounds = scale(5, 2)  # of WAYS, each on another channel; the last job ends by a hard reset
    watchdog = 300  # clocks

    async def body(self) -> None:
        env, silent = self.env, 0
        took: list[int] = []  # clocks of each case
        self.told_late: list[
            bool
        ] = []  # of jobs that were told to end and answered late: E_TIMEOUT
        await env.watchdog(self.watchdog)
        cases = [case for case in await self.cases(env) if case.repeats]
        for number in range(self.rounds * len(WAYS)):
            channel, way = CHANNELS[number % len(CHANNELS)], WAYS[number % len(WAYS)]
            case = cases[number % len(cases)]
            if number < len(cases):
                begun = clock_number()
                await env.run(case.job(env))
                took.append(clock_number() - begun)
            silent += await self.unanswered(case, channel, way, took[number % len(cases)])
            if way == "hard_reset":
                await env.watchdog(self.watchdog)
                cases = [case for case in await self.cases(env) if case.repeats]
                case = cases[number % len(cases)]
            await env.run(case.job(env))
        assert 2 * silent > number, f"only {silent} of {number + 1} jobs met the silence"
        assert any(self.told_late) or not self.told_late, "all jobs that were told to end went on"
        await env.watchdog(0)

    def hush(self, *channels: str) -> None:
        """Let these channels rest at all ports, and all others move."""
        for port in self.env.ports:
            port.hush(*channels)

    def asked(self) -> list[tuple[int, int, int]]:
        """At each port: reads and writes that are out, and addresses that wait."""
        return [
            (len(m.reads), len(m.writes), sum(name in m.waiting for name in ("ar", "aw")))
            for m in (port.monitor for port in self.env.ports)
        ]

    async def unanswered(self, case: Case, channel: str, way: str, clocks: int) -> bool:
        """One job, which takes so many clocks else; returns whether it met the silence."""
        env = self.env
        await env.clear_status()
        (job,) = await env.send(case.job(env))
        await ClockCycles(env.dut.clk_i, env.random.randrange(clocks * 3 // 4))
        self.hush(channel)
        await env.reads(
            header.STATUS, lambda status: status & FAILED or job.ended.is_set(), limit=READS
        )
        met = not job.ended.is_set()
        if met:
            await self.told(job)
        if way == "late":
            released, time = clock_number(), env.now
            self.hush()
            await env.ended(job)
            got, ran = job.record.error, job.record.start < time <= job.record.end
            if met and ran:  # told to end: one whose last element was done may end well
                after = job.writes_after(released)
                assert after <= ASKED, f"{job}: {after} writes began after it was told to end"
                self.told_late.append(bool(got))
            if got:
                assert got == Error.E_TIMEOUT, f"{job}: error {got} after a silence"
                self.adopt(case)
            else:
                env.predict(job)
        elif way == "soft_reset":
            reset = cocotb.start_soon(EngineEnv.soft_reset(env))
            await ClockCycles(env.dut.clk_i, self.watchdog)
            assert reset.done() != met, f"{job}: the soft reset is over: {reset.done()}"
            self.hush()
            await reset
            self.adopt(case)
        else:
            await env.hard_reset(3)
            self.hush()
        return met

    def adopt(self, case: Case) -> None:
        """Take what a job that was ended in its midst may have changed."""
        for word, array in case.arrays.items():
            if array.written:
                self.env.adopt(case.at(word), array.nbytes)
        self.env.dropped()

    async def told(self, job: JobItem) -> None:
        """STATUS tells of the job, whose record is not there, and nothing more is asked for."""
        env = self.env
        status = await env.axil.read(header.STATUS.offset)
        field = header.STATUS.field
        got = tuple(field(name).get(status) for name in ("code", "ring", "job"))
        want = (Error.E_TIMEOUT, job.ring, job.number & 0xFFFF)
        assert got == want, f"{job}: STATUS tells of {got}, want {want}"
        assert env.dut.irq_o.value, f"{job}: no interrupt"
        head = await env.axil.read(header.RING_HEAD.at(job.ring))
        assert head == job.number, f"{job}: HEAD is {head}"
        await ClockCycles(env.dut.clk_i, SETTLE)
        before = self.asked()
        await ClockCycles(env.dut.clk_i, 2 * self.watchdog)
        assert self.asked() == before, f"{job}: asked for {before}, then for {self.asked()}"


def all_failures(cases: Cases) -> tuple[EngineSequence[Any], ...]:
    """All of them, for an engine's test."""
    return (Boundaries(cases=cases), FailedWrites(cases=cases), Silence(cases=cases))
