"""Tests of jd_engine_control with the echo engine, run by tests/shell/test_engine_control.py."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_test

from models.engine import ADDRESSES
from models.registers import engine_header as header
from models.registers.engine_header import Error
from verif import bench
from verif.agents.axi_memory import CHANNELS, AxiTiming
from verif.agents.axil import AxilItem
from verif.agents.timing import always, pauses, random_pauses
from verif.bench import until
from verif.engine_control import model as golden
from verif.engine_control.env import CLOCK_LIMIT, EchoEnv, Moment, random_job
from verif.engine_control.model import HANG, OKAY, RECORD_BYTES, SLVERR, Failure, Job

IRQ_ENABLE, SOFT_RESET, FREEZE = 2, 1, 4
IDLE, DONE, FAILED, EVENT = 1, 2, 4, 8


class EchoTest(uvm_test):
    """Environment, clock and reset; a test is its `scenario`."""

    timing = AxiTiming(latency=(1, 12), busy=0.6)

    def build_phase(self) -> None:
        """Make the environment and drive the test inputs."""
        self.dut: Any = cocotb.top
        self.design: Any = self.dut.u_dut
        self.rng: random.Random = bench.rng(type(self).__name__)
        self.env = EchoEnv("env", self, self.timing)

    async def run_phase(self) -> None:
        """Reset, run the scenario, compare all registers at the end."""
        self.raise_objection()
        dut = self.dut
        for name in ("error_valid", "error_code", "event", "count", "progress", "pause"):
            getattr(dut, f"{name}_i").value = 0
        await bench.start(dut)
        await ClockCycles(dut.clk_i, 2)
        await self.scenario()
        await self.env.ended_all()
        await self.env.check_registers()
        self.drop_objection()

    async def scenario(self) -> None:
        """What the test does."""
        raise NotImplementedError

    async def clear(self, bits: int = DONE | FAILED | EVENT) -> None:
        """Clear STATUS bits."""
        await self.env.write(header.STATUS.offset, bits)

    async def soft_reset(self, clocks: int = CLOCK_LIMIT) -> None:
        """Start a soft reset and wait for its end."""
        env = self.env
        keep = int(env.model.irq_enable) << 1 | int(env.model.freeze) << 2
        await env.write(header.CONTROL.offset, SOFT_RESET | keep)
        await until("soft reset", self.dut.clk_i, clocks, lambda: not self.dut.soft_reset_o.value)
        env.model.finish_soft_reset()
        await ClockCycles(self.dut.clk_i, 2)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Smoke(EchoTest):
    """Identity, a ring of four slots that wraps, an interrupt."""

    async def scenario(self) -> None:
        env = self.env
        assert await env.read(header.ID.offset) == int.from_bytes(b"ECHO", "little")
        assert await env.read(header.VERSION.offset) == 0x00010203
        await env.check_registers()
        await env.write(header.CONTROL.offset, IRQ_ENABLE)
        await env.setup(0, size=2)
        for start in range(0, 12, 4):
            jobs = [Job(tag=start + i, clocks=i, count=7, irq=i == 3) for i in range(4)]
            await env.queue(0, jobs)
            await env.ended_all()
            assert self.dut.irq_o.value
            await env.check_registers()
            await self.clear()
            assert not self.dut.irq_o.value
        await env.queue(0, [Job(opcode=0, tag=5), Job(opcode=77), Job(junk=1), Job(error=9)])
        await env.ended_all()
        await env.check_registers()
        await self.clear()
        for job in (Job(error=9, irq=True), Job(opcode=0, irq=True), Job(error=9)):
            await env.queue(0, [job])
            await env.ended_all()
            await env.check_registers()
            await self.clear()


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Random(EchoTest):
    """Random jobs on all rings side by side, with errors, bus errors, halts and clears."""

    async def scenario(self) -> None:
        env, rng = self.env, self.rng
        env.axil.driver.pause(random_pauses(rng, 0.7), random_pauses(rng, 0.7))
        await env.write(header.CONTROL.offset, IRQ_ENABLE)
        for index in range(env.rings):
            await env.setup(index, size=rng.choice((1, 2, 3, 5)))
        for _ in range(40):
            self.dut.pause_i.value = rng.choice((0, rng.getrandbits(env.rings)))
            for index in range(env.rings):
                if room := env.room(index):
                    jobs = [random_job(rng) for _ in range(rng.randint(0, room))]
                    await env.queue(index, jobs)  # with no jobs: an idle or resuming doorbell
            if rng.random() < 0.4:
                self.dut.pause_i.value = 0
                await env.ended_all()
                await env.check_registers()
                if rng.random() < 0.5:
                    await self.clear(rng.getrandbits(4))
                    await env.check_registers()
        self.dut.pause_i.value = 0
        for _ in range(200):
            halted = [i for i, ring in enumerate(env.model.rings) if ring.halted]
            if not halted and not any(ring.pending for ring in env.model.rings):
                break
            for index in halted:
                await env.queue(index, [])
            await env.ended_all()


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class RingRules(EchoTest):
    """Every write that the rings refuse, and the nearest one that they take."""

    async def refused(self, event: str, offset: int, value: int, code: int = Error.E_RING) -> None:
        """Write; the model must refuse it too; compare and clear."""
        env = self.env
        await env.write(offset, value)
        assert env.model.failed and env.model.first and env.model.first.code == code, event
        status = await env.read(header.STATUS.offset)
        assert status >> 8 & 0xFF == code, f"{event}: STATUS {status:#x}"
        env.moments.sample(Moment(event))
        await self.clear(FAILED)

    async def beyond(self, ring: int) -> None:
        """Arrays that end with the last address are used; those that go on are refused."""
        env, size = self.env, 8  # records of two pages, so that a page more is an address
        for event, array, slot in (
            ("base_beyond", "base", env.model.descriptor_bytes),
            ("cpl_beyond", "cpl", RECORD_BYTES),
        ):
            tail, top = env.model.rings[ring].tail, ADDRESSES - (slot << size)
            await env.setup(ring, size=size, **{array: top + 4096})
            await self.refused(event, header.RING_TAIL.at(ring), tail + 1, Error.E_ADDR)
            await self.refused("too_far", header.RING_TAIL.at(ring), tail + 257)
            await env.setup(ring, size=size, **{array: top})
            await env.queue(ring, [Job(tag=tail)])
            await env.ended_all()
            # All slots of the last page.
            slots_log2 = 12 - (slot - 1).bit_length()
            await env.setup(ring, size=slots_log2, **{array: ADDRESSES - 4096})
            await env.queue(ring, [Job(opcode=0, tag=k) for k in range(1 << slots_log2)])
            await env.ended_all()
        await env.check_registers()

    async def scenario(self) -> None:
        env, last = self.env, self.env.rings - 1
        for ring in range(env.rings):
            await self.refused("off", header.RING_TAIL.at(ring), 1)
        await self.refused("base_align", header.RING_BASE_LO.at(last), 0x1040)
        await self.refused("cpl_align", header.RING_CPL_LO.at(last), 0x800)
        for register in (header.RING_BASE_HI, header.RING_CPL_HI):
            await self.refused("base_high", register.at(last), 0x100, Error.E_RESERVED)
        for size in (13, 16, 0x10001):
            await self.refused("size_max", header.RING_SIZE.at(last), size)
        await env.setup(last, size=12, base=0xFF_1234_5000, cpl=0x7F_0000_1000)
        await env.check_registers()
        await self.beyond(last)
        await env.setup(last, size=3)
        tail = env.model.rings[last].tail
        # Beyond by one byte of TAIL - HEAD - 1 alone.
        for far in (9, (1 << 8) + 1, (1 << 16) + 1, (1 << 24) + 1, -1):
            await self.refused("too_far", header.RING_TAIL.at(last), tail + far & 0xFFFF_FFFF)
        await env.check_registers()
        await env.queue(last, [Job(clocks=5, tag=i) for i in range(8)])
        await self.refused("behind", header.RING_TAIL.at(last), env.model.rings[last].tail - 1)
        await self.refused("base_busy", header.RING_BASE_LO.at(last), 0x9000)
        await self.refused("base_busy", header.RING_BASE_HI.at(last), 1)
        await self.refused("cpl_busy", header.RING_CPL_LO.at(last), 0x9000)
        await self.refused("cpl_busy", header.RING_CPL_HI.at(last), 1)
        await self.refused("size_busy", header.RING_SIZE.at(last), 4)
        await env.ended_all()
        await env.check_registers()
        # Bytes of a register: what counts is the register after the write.
        await env.write(header.RING_BASE_LO.at(last), 0xABCD_EF00, strobe=0b1100)
        tail = env.model.rings[last].tail & 0xFF
        await env.write(header.RING_TAIL.at(last), 0xFFFF_FF00 | tail, strobe=0b0001)
        await env.check_registers()
        await env.write(golden.QUIET_CLOCKS, 100)
        await env.write(header.CONTROL.offset, SOFT_RESET)
        await self.refused("in_soft_reset", header.RING_TAIL.at(last), 8)
        await self.refused("in_soft_reset", header.RING_SIZE.at(last), 3)
        await until("soft reset", self.dut.clk_i, 200, lambda: not self.dut.soft_reset_o.value)
        env.model.finish_soft_reset()


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class BusError(EchoTest):
    """SLVERR and DECERR on descriptors and records of every ring, alone and together."""

    async def scenario(self) -> None:
        env = self.env
        for index in range(env.rings):
            await env.setup(index, size=3)
        for response in (2, 3):
            for index in range(env.rings):
                for job in (
                    Job(response=response, stop=True, irq=True, tag=1),
                    Job(record_response=response, irq=True, tag=2),
                    Job(response=response, record_response=response),
                    Job(record_response=response, error=9, info0=3, info1=4),
                    Job(record_response=response, opcode=0),
                ):
                    await env.queue(index, [Job(clocks=3), job, Job(tag=3)])
                    await env.ended_all()
                    await env.check_registers()
                    await self.clear()


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Stop(EchoTest):
    """STOP halts a ring on failure only; TAIL resumes it, and the other rings go on."""

    async def scenario(self) -> None:
        env, dut = self.env, self.dut
        last = env.rings - 1
        for index in range(env.rings):
            await env.setup(index, size=3)
        for bad in (
            Job(error=9, stop=True),
            Job(opcode=200, stop=True),
            Job(opcode=0, junk=1, stop=True),
        ):
            jobs = [Job(stop=True), bad, Job(tag=1), Job(tag=2)]
            await env.queue(last, jobs)
            if last:
                await env.queue(0, [Job(tag=i) for i in range(6)])
            await env.ended_all()
            assert env.model.rings[last].halted
            await ClockCycles(dut.clk_i, 100)
            await env.check_registers()
            # The halted ring reads its descriptors afresh: change one that was not yet used.
            ring = env.model.rings[last]
            ring.jobs[ring.head] = replace(ring.jobs[ring.head], tag=99)
            slot = ring.head % (1 << ring.size)
            env.memory.load(
                ring.base + env.model.descriptor_bytes * slot, ring.jobs[ring.head].words()
            )
            await env.queue(last, [Job(tag=3)] if bad.opcode == 1 else [])
            await env.ended_all()
            assert not ring.pending
            await self.clear()


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class SoftReset(EchoTest):
    """Soft resets at random moments of random traffic: nothing half done, all usable after."""

    async def scenario(self) -> None:
        env, rng, dut = self.env, self.rng, self.dut
        for index in range(env.rings):
            await env.setup(index, size=3)
        for turn in range(90):
            dut.pause_i.value = rng.choice((0, 0, rng.getrandbits(env.rings)))
            await env.write(golden.QUIET_CLOCKS, rng.choice((0, 0, rng.randint(1, 60))))
            for index in range(env.rings):
                jobs = [random_job(rng) for _ in range(rng.randint(0, 4))]
                if rng.random() < 0.5:  # those after it end before it, if there may be any
                    place = rng.randint(0, len(jobs)) if env.side > 1 else len(jobs)
                    jobs.insert(place, Job(opcode=HANG))
                await env.queue(index, jobs)
            await ClockCycles(dut.clk_i, rng.randint(0, 120) if turn else 300)
            before = len(env.records.log)
            cocotb.start_soon(self.sample_states())
            await self.soft_reset(clocks=400)
            assert len(env.records.log) - before <= 2, "more than one record after the reset began"
            assert not env.port.monitor.reads and not env.port.monitor.writes
            assert dut.idle_o.value
            dut.pause_i.value = 0
            await env.check_registers()
            await self.clear()
            if rng.random() < 0.3:
                await env.queue(rng.randrange(env.rings), [Job(tag=turn), Job(opcode=0)])
                await env.ended_all()
                await env.check_registers()

    async def sample_states(self) -> None:
        """The state of each ring in the first clock of the soft reset, which lasts 8 or more."""
        dut = self.dut
        await until("soft reset", dut.clk_i, 200, lambda: dut.soft_reset_o.value)
        for index in range(self.env.rings):
            self.env.moments.sample(Moment("soft_reset", self.env.state_of(index)))
        lasted = await until("its end", dut.clk_i, 500, lambda: not dut.soft_reset_o.value)
        assert lasted >= 7, f"a soft reset of {lasted + 1} clocks"


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class SideBySide(EchoTest):
    """Jobs of a ring run side by side and end in any order; HEAD counts in order."""

    async def scenario(self) -> None:
        env, dut, side = self.env, self.dut, self.env.side
        log = env.records.log
        for index in range(env.rings):
            await env.setup(index, size=5)
        # The first is the slowest: HEAD waits for it, the records do not.
        jobs = [Job(clocks=400 if k == 0 else 100 - 20 * k, tag=k) for k in range(side)]
        await env.queue(0, jobs)
        await until("all but one", dut.clk_i, 300, lambda: len(log) == side - 1)
        assert {ended.record.tag for ended in log} == set(range(1, side))
        await ClockCycles(dut.clk_i, 10)
        assert await env.read(header.RING_HEAD.at(0)) == 0
        await env.ended_all()
        assert await env.read(header.RING_HEAD.at(0)) == side
        # No more than `side` are with the engine, all of them at once.
        await env.queue(1, [Job(clocks=300, tag=k) for k in range(2 * side)])
        await env.ended_all()
        records = [ended.record for ended in log[side:]]
        begun = sorted(record.start for record in records)
        ends = sorted(record.end for record in records)
        assert begun[side - 1] < ends[0], "not side by side"
        for k in range(side, 2 * side):
            assert begun[k] > ends[k - side], "one too many"
        # A job with the STOP flag is alone with those before it.
        await env.queue(1, [Job(clocks=80), Job(clocks=60, stop=True), Job(), Job(opcode=0)])
        await env.ended_all()
        stop = next(ended.record for ended in log if ended.job.stop)
        assert all(ended.record.start > stop.end for ended in log[-2:])
        await env.check_registers()
        # Records that wait are written in the order of their jobs.
        env.port.hush("b")
        await env.queue(0, [Job(clocks=600 if k == 0 else 0, tag=k) for k in range(side)])
        await ClockCycles(dut.clk_i, 300)
        env.port.hush()
        await env.ended_all()
        assert [ended.record.tag for ended in log[-side:]] == [*range(1, side), 0]
        # The watchdog tells all that run; what starts later is not told.
        await env.write(header.WATCHDOG.offset, 100)
        await env.queue(1, [Job(opcode=HANG, clocks=120 * k) for k in range(side)] + [Job(tag=9)])
        await env.ended_all()
        errors = [ended.record.error for ended in log[-side - 1 :]]
        assert errors == [Error.E_TIMEOUT] * side + [0]
        assert log[-1].record.start > max(ended.record.end for ended in log[-side - 1 : -1])
        await self.clear()


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Meetings(EchoTest):
    """A NOP ends in each clock around the end of the job before it: neither record is lost."""

    timing = AxiTiming(latency=(4, 4), busy=1.0)

    async def scenario(self) -> None:
        env, met = self.env, 0
        ring: Any = self.design.u_control.gen_ring[0].gen_many.u_ring
        await env.setup(0, size=3)
        for clocks in range(40):
            await env.queue(0, [Job(clocks=clocks, tag=clocks), Job(opcode=0)])
            while env.model.rings[0].pending:
                await RisingEdge(self.dut.clk_i)
                met += bool(ring.own.value and ring.end_valid_i.value)
        assert met, "no two ends in one clock"


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Watchdog(EchoTest):
    """A job without progress ends with E_TIMEOUT; progress, or another job's, keeps it alive."""

    async def scenario(self) -> None:
        env, dut = self.env, self.dut
        last = env.rings - 1
        for index in range(env.rings):
            await env.setup(index, size=2)
        for limit in (1, 30, 200):
            await env.write(header.WATCHDOG.offset, limit)
            await env.queue(last, [Job(opcode=HANG, tag=limit), Job(opcode=0)])
            await env.ended_all()
            record = env.records.log[-2].record
            assert record.error == Error.E_TIMEOUT
            # It counts from the clock after the start, and the engine ends in the one after.
            assert record.end - record.start == limit + 2, f"{record}, limit {limit}"
            await env.check_registers()
            await self.clear()
        # The time-out stays until the job ends, late as it may be.
        await env.write(header.WATCHDOG.offset, 100)
        await env.queue(last, [Job(opcode=HANG, clocks=180, tag=7)])
        await env.ended_all()
        record = env.records.log[-1].record
        assert record.error == Error.E_TIMEOUT and record.end - record.start >= 180, record
        await self.clear()
        await env.write(header.WATCHDOG.offset, 200)
        # Progress in time keeps it running.
        await env.queue(last, [Job(opcode=HANG)])
        for _ in range(10):
            await ClockCycles(dut.clk_i, 150)
            dut.progress_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.progress_i.value = 0
            assert env.model.rings[last].pending
        await env.ended_all()
        # All that run when it strikes are told; what starts later is not.
        if last:
            dut.pause_i.value = 1
            await env.queue(last, [Job(opcode=HANG, stop=True), Job(tag=1)])
            await env.queue(0, [Job(clocks=150, tag=2)])
            await until("the time-out", dut.clk_i, 400, lambda: env.model.rings[last].halted)
            dut.pause_i.value = 0
            await env.ended_all()
            assert env.records.log[-1].record.error == 0
            await env.queue(last, [])
        await self.clear()
        # 0 means 2**24: nothing happens within the first thousands of clocks.
        await env.write(header.WATCHDOG.offset, 0)
        await env.queue(0, [Job(opcode=HANG)])
        await ClockCycles(dut.clk_i, 3000)
        assert env.model.rings[0].pending
        await self.soft_reset()


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Silence(EchoTest):
    """A memory that does not answer for descriptors or records: STATUS tells, again and again."""

    LIMIT = 100  # clocks of the watchdog
    LATE = 30  # clocks until a channel is needed, and of a read of STATUS

    async def told(self, ring: int, clocks: int) -> None:
        """STATUS is set after so many clocks, with the job that waits."""
        env, head = self.env, self.env.model.rings[ring].head
        begun = bench.clock_number()
        await until("STATUS", self.dut.clk_i, 4 * self.LIMIT, lambda: self.dut.irq_o.value)
        took = bench.clock_number() - begun
        assert clocks - self.LATE <= took <= clocks + self.LATE, f"{took} clocks, want {clocks}"
        status = await env.read(header.STATUS.offset)
        got = (bool(status & FAILED), status >> 4 & 3, status >> 8 & 0xFF, status >> 16)
        want = (True, ring, Error.E_TIMEOUT, head & 0xFFFF)
        assert got == want, f"STATUS tells of {got}, want {want}"

    async def scenario(self) -> None:
        env = self.env
        await env.write(header.CONTROL.offset, IRQ_ENABLE)
        await env.write(header.WATCHDOG.offset, self.LIMIT)
        for index in range(env.rings):
            await env.setup(index, size=2)
        for number, channel in enumerate(CHANNELS):
            ring = number % env.rings
            env.port.hush(channel)
            await env.queue(ring, [Job(clocks=number, tag=number)])
            await self.told(ring, 2 * self.LIMIT)
            await self.clear(FAILED)
            await self.told(ring, self.LIMIT)
            head = env.model.rings[ring].head & 0xFFFF
            env.model.fail(Failure(ring, Error.E_TIMEOUT, head, (0, 0)))
            env.port.hush()
            await env.ended_all()
            assert not env.records.log[-1].record.error
            await env.check_registers()
            await self.clear()


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Access(EchoTest):
    """Every word of the page read and written: what exists answers, the rest is SLVERR."""

    async def scenario(self) -> None:
        env, dut = self.env, self.dut
        exists = {
            reg.at(i): reg
            for reg in header.REGISTERS
            for i in range(min(reg.count, env.rings) if reg.count > 1 else 1)
        }
        for offset in (*range(0, 0x110, 4), *range(0x110, 0x1000, 0xF4)):
            item = await env.axil.access(AxilItem(offset))
            want = offset in exists or offset in golden.ENGINE_REGISTERS
            assert item.response == (OKAY if want else SLVERR), f"{item}, exists: {want}"
        for offset in (*range(0x10, 0x58, 4), *range(0x5C, 0x80, 4), 0x000, 0x004):
            assert await env.write(offset, 0xFFFF_FFFF) == SLVERR
        for index in range(4):
            for word in range(0x18, 0x20, 4):
                assert await env.write(0x80 + 0x20 * index + word, 1) == SLVERR
        for index in range(env.rings, 4):
            assert await env.write(header.RING_SIZE.at(index), 1) == SLVERR
        await env.check_registers()
        # Idle-only: taken while idle, refused while a job runs, while halted and in a soft reset.
        await env.setup(0, size=2)
        assert await env.write(golden.CONFIG, 0x1234_5678) == OKAY
        await env.queue(0, [Job(opcode=HANG, stop=True), Job()])
        assert await env.write(golden.CONFIG, 1) == SLVERR
        assert await env.write(golden.SCRATCH, 0xA5A5_A5A5, strobe=0b0110) == OKAY
        assert await env.read(golden.CONFIG) == 0x1234_5678
        await env.write(header.WATCHDOG.offset, 20)
        await env.ended_all()
        assert env.model.rings[0].halted
        assert await env.write(golden.CONFIG, 2) == SLVERR
        await env.write(golden.QUIET_CLOCKS, 60)
        await env.write(header.CONTROL.offset, SOFT_RESET)
        assert await env.write(golden.CONFIG, 3) == SLVERR
        assert await env.read(header.CONTROL.offset) & SOFT_RESET
        await until("soft reset", dut.clk_i, 200, lambda: not dut.soft_reset_o.value)
        env.model.finish_soft_reset()
        assert await env.write(golden.CONFIG, 4) == OKAY
        for offset, value in env.model.engine.items():
            assert await env.read(offset) == value
        assert await env.write(golden.CONSTANT, 1) == SLVERR


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Together(EchoTest):
    """Reads and writes at the same time: they take turns, and none gets what is another's."""

    COUNT = 20  # of a task that reads or writes

    async def soon(self, what: str, access: Any) -> Any:
        """The answer of an access. Raises: TimeoutError."""
        return await bench.within(what, self.dut.clk_i, 1000, access)

    async def reads(self, words: dict[int, int], answered: list[str]) -> None:
        """Read some of these words, one after another."""
        master: Any = self.env.axil.driver.master
        for offset in self.rng.choices(list(words), k=self.COUNT):
            answer = await self.soon(f"read {offset:#x}", master.read(offset, 4))
            got = int.from_bytes(answer.data, "little")
            assert (got, answer.resp) == (words[offset], OKAY), f"read {offset:#x}: {got:#x}"
            answered.append("read")

    async def writes(self, offsets: list[int], answered: list[str]) -> None:
        """Write some of these words, one after another."""
        master: Any = self.env.axil.driver.master
        for offset in self.rng.choices(offsets, k=self.COUNT):
            value = self.rng.getrandbits(20) << 12
            data = value.to_bytes(4, "little")
            answer = await self.soon(f"write {offset:#x}", master.write(offset, data))
            want = self.env.model.write(offset, value)
            assert answer.resp == want, f"write {offset:#x}: {answer.resp}, want {want}"
            answered.append("write")

    async def scenario(self) -> None:
        env, rng, last = self.env, self.rng, self.env.rings - 1
        driver: Any = env.axil.driver
        words = {
            header.VERSION.offset: 0x00010203,
            header.RING_BASE_LO.at(0): 0x5A5A_5000,
            golden.CONSTANT: golden.CONSTANT_VALUE,
            golden.CONFIG: 0x1234_5678,
        }
        await env.write(header.RING_BASE_LO.at(0), 0x5A5A_5000)
        await env.write(golden.CONFIG, 0x1234_5678)
        offsets = [header.RING_BASE_LO.at(last), header.RING_CPL_LO.at(last)]
        offsets += [golden.SCRATCH, golden.QUIET_CLOCKS, golden.CONSTANT]
        # Two of each, so that the next one waits already; then address or data come late.
        for late, many in (("", 2), ("w", 1), ("aw", 1)):
            if late:
                driver.pause(always(), random_pauses(rng, 0.5))
                channel = getattr(driver.master.write_if, f"{late}_channel")
                channel.set_pause_generator(pauses(random_pauses(rng, 0.1, 12)))
            answered: list[str] = []
            tasks = [
                cocotb.start_soon(access)
                for _ in range(many)
                for access in (self.reads(words, answered), self.writes(offsets, answered))
            ]
            for task in tasks:
                await task
            turns = sum(a != b for a, b in itertools.pairwise(answered))
            assert late or turns == len(answered) - 1, f"no turns: {answered}"
        for offset, value in env.model.engine.items():
            assert await env.read(offset) == value
        await env.check_registers()
        await env.setup(0, size=1)
        await env.queue(0, [Job()])


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Counters(EchoTest):
    """BUSY, STALL and BEATS count, freeze and latch; CYCLES is exact; 64 bits carry."""

    async def value(self, low: header.Register) -> int:
        """Read a 64-bit register, low word first."""
        first = await self.env.read(low.offset)
        return first | await self.env.read(low.offset + 4) << 32

    async def scenario(self) -> None:
        env, dut, rng = self.env, self.dut, self.rng
        names = (header.BUSY_LO, header.STALL_MEM_LO, header.STALL_IN_LO, header.STALL_OUT_LO)
        want = [0, 0, 0, 0]
        for turn in range(30):
            frozen = turn % 3 == 2
            await env.write(header.CONTROL.offset, FREEZE * frozen)
            for _ in range(20):
                bits = rng.getrandbits(4)
                dut.count_i.value = bits
                await RisingEdge(dut.clk_i)
                for i in range(4):
                    want[i] += (bits >> i & 1) * (not frozen)
            dut.count_i.value = 0
            await RisingEdge(dut.clk_i)
            got = [await self.value(register) for register in names]
            assert got == want, f"turn {turn}: {got}, want {want}"
        await env.write(header.CONTROL.offset, 0)
        # Reading LO latches HI, so a carry between the two reads does not show.
        counters = int(self.design.u_control.counter_q.value) & ~(M64)
        self.design.u_control.counter_q.value = counters | 0xFFFF_FFFF
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        assert await env.read(header.BUSY_LO.offset) == 0xFFFF_FFFF
        dut.count_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.count_i.value = 0
        await RisingEdge(dut.clk_i)
        assert await env.read(header.BUSY_HI.offset) == 0
        assert await self.value(header.BUSY_LO) == 1 << 32
        # Beats are those of the port.
        await env.setup(0, size=4)
        await env.queue(0, [Job(clocks=i) for i in range(7)])
        await env.ended_all()
        beats = [await self.value(header.RD_BEATS_LO), await self.value(header.WR_BEATS_LO)]
        assert beats == env.records.beats == [7 * env.model.descriptor_bytes // 64, 7]
        # CYCLES: from the end of the job before, or its start if the two may run side by side, or
        # from the doorbell, to the record's answer.
        log = env.records.log
        before = log[-2].time if env.side == 1 else log[-2].record.start - 1
        assert await self.value(header.CYCLES_LO) == log[-1].time - before
        await ClockCycles(dut.clk_i, 50)
        rung = cocotb.start_soon(self.doorbell_time())
        await env.queue(0, [Job(clocks=9)])
        await env.ended_all()
        since = await rung
        assert await self.value(header.CYCLES_LO) == log[-1].time + 1 - since
        assert log[-1].record.start > since

    async def doorbell_time(self) -> int:
        """TIME of the next doorbell."""
        await until("doorbell", self.dut.clk_i, 500, lambda: self.design.u_control.doorbell.value)
        return int(self.dut.time_o.value)


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Irq(EchoTest):
    """Set and clear of STATUS in the same clock: nothing is lost, the first failure is right."""

    async def scenario(self) -> None:
        env, dut = self.env, self.dut
        await env.setup(0, size=1)
        await env.queue(0, [Job()])
        await env.ended_all()
        await env.write(header.CONTROL.offset, IRQ_ENABLE)
        offsets: set[int] = set()
        for delay in range(12):
            for first in (True, False):
                task = cocotb.start_soon(self.strike(delay, first))
                await self.clear_race()
                await task
                offsets.add(self.struck - self.cleared)
                await ClockCycles(dut.clk_i, 3)
                await env.check_registers()
                await self.clear()
                await env.check_registers()
        assert {-1, 0, 1} <= offsets, f"the race never was close: {offsets}"
        await env.write(header.CONTROL.offset, 0)
        await self.strike(0, False)
        await RisingEdge(dut.clk_i)
        assert not dut.irq_o.value
        await env.check_registers()

    struck = cleared = -1  # TIME

    async def clear_race(self) -> None:
        """Clear all bits; the model clears in the clock in which the device does."""
        item = AxilItem(header.STATUS.offset, DONE | FAILED | EVENT)
        task = cocotb.start_soon(self.env.axil.access(item))
        await until("clear", self.dut.clk_i, 100, lambda: self.design.u_control.clear_failed.value)
        self.cleared = int(self.dut.time_o.value)
        if self.struck != self.cleared:  # else the strike did it, before its failure
            self.env.model.write(header.STATUS.offset, item.data)
        await task

    async def strike(self, delay: int, first: bool) -> None:
        """An error and an event in one clock, `delay` clocks from now; maybe with one before."""
        if first:
            await self.pulse(10)
        await ClockCycles(self.dut.clk_i, delay)
        await self.pulse(20 + delay)

    async def pulse(self, code: int) -> None:
        """One clock of error and event; the model follows, in the order of the clocks."""
        dut, model = self.dut, self.env.model
        dut.error_valid_i.value, dut.error_code_i.value, dut.event_i.value = 1, code, 1
        await RisingEdge(dut.clk_i)
        dut.error_valid_i.value, dut.event_i.value = 0, 0
        self.struck = int(dut.time_o.value)
        if self.design.u_control.clear_failed.value:
            model.write(header.STATUS.offset, DONE | FAILED | EVENT)
        model.event = True
        model.fail(Failure(0, code, 0, (0, 0)))


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class ResetMidway(EchoTest):
    """A hard reset in traffic, accesses and a time-out: everything as after power-up."""

    async def scenario(self) -> None:
        env, rng, dut = self.env, self.rng, self.dut
        for turn in range(20):
            await env.write(header.CONTROL.offset, IRQ_ENABLE)
            await env.write(header.WATCHDOG.offset, 120 if turn % 2 else 0)
            await env.write(header.RING_SIZE.at(0), 13)  # refused: STATUS has a code to forget
            for index in range(env.rings):
                await env.setup(index, size=3)
                await env.queue(index, [replace(random_job(rng), stop=False) for _ in range(5)])
            if turn % 2:
                await env.queue(0, [Job(opcode=HANG, clocks=400)])
            await ClockCycles(dut.clk_i, rng.randint(1, 300 if turn % 2 else 150))
            if turn % 3:
                offset = rng.choice((golden.CONFIG, header.STATUS.offset))
                master: Any = env.axil.driver.master
                cocotb.start_soon(master.read(offset, 4))
                await ClockCycles(dut.clk_i, rng.randint(1, 10))
            await bench.reset(dut, rng.randint(1, 3))
            env.model.hard_reset()
            env.records.beats = [0, 0]
            assert not int(self.design.u_control.timeout_o.value), "a time-out of before the reset"
            await ClockCycles(dut.clk_i, 2)
            await env.check_registers()
            status = await env.read(header.STATUS.offset)
            assert status == IDLE, f"STATUS {status:#x} after a reset"
            env.records.log.clear()
        await env.setup(0, size=1)
        await env.queue(0, [Job(tag=1)])


class Mistaken(EchoTest):
    """A record that differs from the model's in one bit."""

    async def scenario(self) -> None:
        env = self.env
        await env.setup(0, size=1)
        env.place(0, [Job(tag=2)])
        env.memory.load(env.model.rings[0].base, Job(tag=3).words())
        await env.write(header.RING_TAIL.at(0), 1)


@pyuvm.test(timeout_time=1, timeout_unit="ms", expect_error=AssertionError)
class ScoreboardFires(Mistaken):
    """The scoreboard notices a wrong record."""


M64 = (1 << 64) - 1
