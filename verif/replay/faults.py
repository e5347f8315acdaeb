"""Tests of jd_replay_top: bad input, bus errors, resets; run by test_replay_engine.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from flow.effort import scale
from models.engine import JobEnd
from models.registers import engine_header as header
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job
from models.replay.kernels import Op
from verif.agents.axi_memory import AxiTiming
from verif.bench import until
from verif.engine_env import RECORDS, RING_BYTES, RINGS
from verif.failures import Array, Case, all_failures
from verif.replay.base import ReplayTest
from verif.replay.env import ABORT, FETCH_DONE, INPUT, OUTPUT, STORAGE, Ended, ReplayEnv

STATES = scale(5, 3)  # of both rings, fewer than resets at random meet; ResetSweep has rare ones


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BadDescriptor(ReplayTest):
    """Every check of a descriptor and of an operation; the engine stays usable after each."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        await env.do(1, Job.RETRIEVE, count=1, data=np.zeros(1, np.uint32))  # E_NOTCLEAR
        await env.do(0, Job.SAMPLE, count=1)
        await env.do(1, Job.CHECK)
        for values in (
            {"CFG_N": 0}, {"CFG_N": self.leaves + 1}, {"CFG_N": self.leaves, "CFG_PINIT": 0},
            {"CFG_PINIT": 1, "CFG_PMIN": 100, "CFG_PCLIP": 99}, {"CFG_PCLIP": 0xFFFFFFFF},
        ):  # fmt: skip
            await env.configure(**values)
            await env.do(1, Job.CLEAR)
        await env.configure(CFG_PMIN=1)
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=5)
        one = np.zeros((1, 2), np.uint32)
        cases: list[tuple[int, int, dict[str, Any]]] = [
            (0, 12, {}), (1, 12, {}), (0, 13, {}), (1, 13, {}), (2, 13, {}), (0, 255, {}),
            (0, Job.CHECK, {}), (0, Job.CLEAR, {}), (2, Job.CHECK, {}), (2, Job.SAMPLE, {}),
            (1, Job.SAMPLE, {}),
            (1, Job.TRAIN_LOOP, {"batches": 1}), (0, Job.UPDATE, {"data": one}),
            *((0, Job.SAMPLE, {"flags": 1 << bit}) for bit in (0, 1, 6)),
            *((0, Job.TRAIN_LOOP, {"flags": 1 << bit}) for bit in (0, 1, 2, 4, 6)),
            *((1, Job.RESERVE, {"flags": 1 << bit}) for bit in (0, 1, 2, 3, 5, 6, 7)),
            *((1, Job.CLEAR, {"flags": 1 << bit, "count": 0}) for bit in range(8)),
            *((1, Job.CHECK, {"flags": 1 << bit, "count": 0}) for bit in range(8)),
            (0, Job.SAMPLE, {"w0": Job.SAMPLE | 1 << 16}), (1, Job.RESERVE, {"w0": 7 | 1 << 29}),
            *((1, Job.RESERVE, {f"w{word}": 1}) for word in (3, 4, 5, 6, 7, *range(8, 16))),
            (1, Job.UPDATE, {"data": one, "w3": 1}),
            (0, Job.SAMPLE, {"w4": 64}), (0, Job.SAMPLE, {"w6": 64}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w7": 256}),
            (1, Job.UPDATE, {"data": one, "w5": 1 << 8}),
            (1, Job.INSERT, {"flags": Flag.PMAX, "w4": 64}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w6": 0}),
            (0, Job.SAMPLE, {"flags": Flag.MEMORY, "w6": 32}),
            (0, Job.SAMPLE, {"flags": Flag.HOST_X}),
            (0, Job.SAMPLE, {"flags": Flag.HOST_X, "w4": 64, "batches": 2}),
            (1, Job.UPDATE, {}), (1, Job.UPDATE, {"w4": 0x100004}),
            (0, Job.SAMPLE, {"count": 0}), (0, Job.SAMPLE, {"count": batch + 1}),
            (0, Job.SAMPLE, {"batches": (1 << 20) + 1}), (0, Job.SAMPLE, {"batches": 1 << 31}),
            (0, Job.SAMPLE, {"count": 1 << 31}), (0, Job.TRAIN_LOOP, {"batches": 0}),
            (1, Job.RESERVE, {"count": 0}), (1, Job.RESERVE, {"count": (1 << 20) + 1}),
            (1, Job.CLEAR, {"count": 1}), (1, Job.CHECK, {"count": 1}),
            (0, Job.SAMPLE, {"flags": Flag.STRATIFIED, "count": 3}),
            (1, Job.COMMIT, {"flags": Flag.PMAX}),
            (1, Job.RESERVE, {"count": self.leaves // 2 + 1}), (1, Job.INSERT, {"data": one}),
            (1, Job.COMMIT, {"flags": Flag.PMAX, "count": self.leaves // 2}),
            (1, Job.UPDATE, {"flags": Flag.SLOTS, "data": one}),
        ]  # fmt: skip
        for ring, opcode, options in cases:
            await env.do(ring, opcode, **({"count": 1} | options))
        await self.requests(batch)
        await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        await env.do(1, Job.UPDATE, flags=Flag.SLOTS, count=1,
                      data=np.array([[batch, 7]], np.uint32))  # fmt: skip

    async def requests(self, batch: int) -> None:
        """Bad requests of STREAM, each after a good one."""
        good = [Op.UPDATE | 0x1234 << 8, 3, 77, 0]
        for bad in (
            [9, 0, 0, 0], [15, 0, 0, 0], [Op.NOP | 1 << 24, 5, 0, 0], [Op.NOP | 1 << 7, 5, 0, 0],
            [Op.RETRIEVE | 1 << 4, 0, 0, 0], [Op.UPDATE | 2 << 4, 0, 0, 0],
            [Op.NOP | 4 << 4, 0, 0, 0],
            [Op.RETRIEVE, self.leaves, 0, 0], [Op.UPDATE_DELTA, 1 << 31, 0, 0],
            [Op.UPDATE_SLOT, 0, 0, 0], [Op.COMMIT, 0, 0, 0],
        ):  # fmt: skip
            data = np.array([good, bad, good], np.uint32)
            await self.env.do(1, Job.STREAM, flags=Flag.MEMORY, count=3, data=data)


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BusError(ReplayTest):
    """SLVERR and DECERR on input and output; descriptors and records that fail."""

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await self.empty_before_error()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for round_ in range(scale(12, 2)):
            beat, response = rng.randrange(8), 2 + round_ % 2
            count = rng.randint(8 * beat + 1, 64)
            env.fail(INPUT[1] + 64 * beat, 64, response, writes=False)
            await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=count, data=self.pairs(count))
            self.heal()
            env.fail(OUTPUT[1], 64, response)
            await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=count, data=self.pairs(count))
            self.heal()
            # Both: what was read tells.
            env.fail(INPUT[1] + 64 * beat, 64, response ^ 1, writes=False)
            env.fail(OUTPUT[1], 1 << 14, response)
            await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=count, data=self.pairs(count))
            self.heal()
            env.fail(OUTPUT[0], 1 << 16, response)
            env.fail(INPUT[0], 64, response)
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.SMP, count=batch)
            env.golden.tde.words.clear()
            await env.settle()
            x = np.zeros(batch, np.uint64)
            flags = Flag.HOST_X | Flag.SMP * (round_ % 2)
            await env.do(0, Job.SAMPLE, flags=flags, count=batch, data=x)
            self.heal()
            await env.settle()
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        env.memory.fail(RINGS + RING_BYTES, RECORDS, 3)
        (job,) = await env.send(env.descriptor(1, Job.CLEAR))
        await env.ended(job)
        assert job.record.content == (0, Error.E_BUS_RD, 0, 0, 0, job.number), job.record
        self.heal()
        await env.clear_status()

    async def empty_before_error(self) -> None:
        """The last request that can be read samples an empty tree: that ends the job."""
        requests = np.zeros((8, 4), np.uint32)
        requests[:, 0] = [Op.RETRIEVE] * 3 + [Op.SAMPLE] * 5
        self.env.fail(INPUT[1] + 64, 64, 2, writes=False)
        end = await self.env.do(1, Job.STREAM, flags=Flag.MEMORY, count=8, data=requests)
        assert (end.error, end.count) == (Error.E_EMPTY, 3), end
        self.heal()

    def heal(self) -> None:
        """No range fails; the output is empty (what a failed job wrote of it is not defined)."""
        self.env.heal()
        for ring in (0, 1):
            self.env.put(OUTPUT[ring], np.zeros(1 << 14, np.uint8))


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class ResetMidway(ReplayTest):
    """A soft reset in every state of both rings; the tree and its configuration stay."""

    timing = AxiTiming(latency=(8, 40), busy=0.7)

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        slowest = 0
        states: set[tuple[str, int]] = set()
        # At least so many resets, and more until they met enough states by chance.
        least, most = scale(60, 12), 200
        for number in range(most):
            if number >= least and len(states) > STATES:
                break
            env.learner.answers = rng.random() < 0.5
            count = rng.choice((1, 40))
            index = np.array([rng.randrange(self.leaves) for _ in range(count)], np.uint32)
            hosts: list[tuple[int, dict[str, Any]]] = [
                (Job.RETRIEVE, {"flags": Flag.MEMORY, "count": count, "data": index}),
                (Job.CLEAR, {}),
            ]  # fmt: skip
            trains: list[tuple[int, dict[str, Any]]] = [
                (Job.SAMPLE, {"flags": Flag.MEMORY, "count": batch}),
                (Job.SAMPLE, {"flags": Flag.SMP | Flag.WEIGHTS, "count": batch}),
                (Job.TRAIN_LOOP, {"count": batch, "batches": 3}),
                (Job.SAMPLE, {"flags": Flag.HOST_X, "count": batch,
                              "data": np.zeros(batch, np.uint64)}),
            ]  # fmt: skip
            host, train = rng.choice(hosts), rng.choice(trains)
            await env.send(env.descriptor(0, train[0], **train[1]))
            if host[0] != Job.CLEAR:
                await env.send(env.descriptor(1, host[0], **host[1]))
            await ClockCycles(self.dut.clk_i, rng.randint(0, rng.choice((20, 60, 300))))
            states.add(("ring 0", int(self.design.u_batches.u_training.state_q.value)))
            states.add(("ring 1", int(self.design.u_host.state_q.value)))
            slowest = max(slowest, await env.soft_reset())
            env.learner.sent.clear()
            # What the dropped jobs did to the leaves and the generator: from the design.
            await self.adopt()
            env.put(OUTPUT[0], np.zeros(1 << 14, np.uint8))
            env.put(OUTPUT[1], np.zeros(1 << 14, np.uint8))
            await env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=9,
                          data=np.arange(9, dtype=np.uint32))  # fmt: skip
            # The words that the dropped jobs sent are nobody's.
            env.learner.batches.clear()
            env.learner.words.clear()
            env.learner.failed.clear()
            env.golden.smp.clear()
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)
        self.logger.info("slowest soft reset: %d clocks, %d states", slowest, len(states))
        assert slowest < 400 and len(states) > STATES, (slowest, states)


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class HardReset(ReplayTest):
    """A reset of the running engine: nothing of before is left but the memory's content."""

    timing = AxiTiming(latency=(8, 40), busy=0.7)

    async def scenario(self) -> None:
        env, rng, batch = self.env, self.rng, 1 << self.env.config.batch_log2
        for round_ in range(scale(24, 12)):
            await self.rest()
            await env.compare_registers()
            await self.clear()
            await env.do(1, Job.INSERT, flags=Flag.PMAX | Flag.MEMORY, count=9)
            await env.do(1, Job.UPDATE, flags=Flag.MEMORY, count=20, data=self.pairs(20))
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY | Flag.WEIGHTS, count=batch)
            await env.write(registers.FETCH_ACK, 0)
            await env.do(1, Job.RESERVE, count=2)
            await env.do(1, Job.COMMIT, flags=Flag.MEMORY, count=2, data=self.pairs(2))
            await env.do(0, Job.SAMPLE, flags=Flag.SMP | Flag.STRATIFIED, count=batch)
            await env.settle()
            env.compare_smp()
            host, train = self.jobs(round_, batch)
            await env.send(env.descriptor(0, train[0], **train[1]))
            await env.send(env.descriptor(1, host[0], **host[1]))
            await ClockCycles(self.dut.clk_i, rng.randint(0, 300))
            await env.hard_reset(rng.randint(1, 3))

    def jobs(self, round_: int, batch: int) -> tuple[Any, Any]:
        """A job for either ring."""
        count = self.rng.choice((1, 40))
        hosts: list[tuple[int, dict[str, Any]]] = [
            (Job.UPDATE, {"flags": Flag.MEMORY, "count": count, "data": self.pairs(count)}),
            (Job.RESERVE, {"count": 1}),
            (Job.STREAM, {"count": 1, "data": np.array([[Op.SAMPLE, 0, 0, 0]], np.uint32)}),
        ]  # fmt: skip
        trains: list[tuple[int, dict[str, Any]]] = [
            (Job.SAMPLE, {"flags": Flag.MEMORY | Flag.WEIGHTS, "count": batch}),
            (Job.SAMPLE, {"flags": Flag.SMP | Flag.WEIGHTS, "count": batch}),
            (Job.TRAIN_LOOP, {"count": batch, "batches": 3}),
            (Job.SAMPLE, {"flags": Flag.HOST_X, "count": batch,
                          "data": np.zeros(batch, np.uint64)}),
        ]  # fmt: skip
        return hosts[round_ % 3], trains[round_ % 4]


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class BadStream(ReplayTest):
    """TDE words that do not fit: in a job, outside of one, ABORT; the watchdog; a busy CLEAR."""

    async def scenario(self) -> None:
        env, batch = self.env, 1 << self.env.config.batch_log2
        await self.clear()
        await env.do(1, Job.INSERT, flags=Flag.PMAX, count=9)
        for words in ([0], [FETCH_DONE], [ABORT], [3 << 48]):  # outside of any job
            await env.send_tde(words)
            await ClockCycles(self.dut.clk_i, 8)
            status = await env.axil.read(header.STATUS.offset)
            assert status >> 8 & 0xFF == Error.E_STREAM, f"{words}: {status:#x}"
            await env.clear_status()
        env.learner.answers = False
        value = 0x3F800000
        for words in (
            [ABORT], [FETCH_DONE, ABORT], [FETCH_DONE, 1 << 32 | value], [FETCH_DONE, FETCH_DONE],
            [FETCH_DONE, value, 2 << 32 | value], [FETCH_DONE, 3 << 48], [FETCH_DONE, 1 << 50],
        ):  # fmt: skip
            descriptor = env.descriptor(0, Job.TRAIN_LOOP, count=batch, batches=2)
            await env.send(descriptor)
            await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.batches) == 1)
            if words == [ABORT]:  # while ring 0 runs
                await self.clear_is_busy()
            env.learner.sent.append(words)
            await env.send_tde(words)
            (end,) = await env.check(descriptor)
            assert end.error == Error.E_STREAM, end
            await until("SMP", self.dut.clk_i, 2000, lambda: len(env.learner.failed) == 1)
            env.compare_smp()
            await env.soft_reset()
            env.learner.sent.clear()
            await env.compare_registers()
        await env.watchdog(300)
        jobs: list[tuple[int, int, dict[str, Any]]] = [
            (0, Job.TRAIN_LOOP, {"count": batch, "batches": 2}),
            (1, Job.RESERVE, {"count": 1}),
        ]
        for ring, opcode, options in jobs:
            await env.do(0, Job.SAMPLE, flags=Flag.MEMORY, count=batch)  # never acknowledged
            (job,) = await env.send(env.descriptor(ring, opcode, **options))
            await env.ended(job)
            assert job.record.error == Error.E_TIMEOUT, job.record
            end = JobEnd(error=int(Error.E_TIMEOUT))
            env.cover.sample(Ended(ring, opcode, 0, options["count"], end, 0))
            await env.clear_status()
            await env.soft_reset()
            if ring == 1:
                env.golden.rmm.reserved, env.golden.rmm.moves = 1, env.golden.rmm.moves + 1
            await self.adopt()
            env.learner.batches.clear()
            env.learner.failed.clear()
            env.golden.smp.clear()
        env.learner.answers = True
        await env.do(0, Job.TRAIN_LOOP, count=batch, batches=2)

    async def clear_is_busy(self) -> None:
        """CLEAR while ring 0 has a job."""
        env = self.env
        job = env.descriptor(1, Job.CLEAR)
        await env.send(job)
        await env.ended(job)
        env.golden._sampling = True
        await env.check(job)
        env.golden._sampling = False


@pyuvm.test(timeout_time=8, timeout_unit="ms")
class Failures(ReplayTest):
    """Arrays at the end of memory, and a memory that fails or does not answer."""

    async def scenario(self) -> None:
        for sequence in all_failures(self.cases):
            await sequence.start(self.env.sequencer)

    async def cases(self, env: ReplayEnv) -> list[Case]:
        """A job of each kind that names an array; what opens a batch comes last."""
        await self.clear()
        count, row, batch = 5, 1088, 1 << env.config.batch_log2
        many = np.arange(200, dtype=np.uint32) % self.leaves
        env.put(STORAGE, np.frombuffer(self.rng.randbytes(self.leaves * row), np.uint8))
        leaves = np.arange(count, dtype=np.uint32)
        responses, x = np.zeros((count, 4), np.uint32), np.arange(batch, dtype=np.uint64)
        pairs, two = self.pairs(count), self.pairs(2)
        memory = Flag.MEMORY
        found: list[tuple[int, int, dict[str, Any]]] = [
            (2, Job.GATHER, {"data": many, "count": len(many) // 4, "row_bytes": row}),
            (2, Job.GATHER, {"data": leaves, "row_bytes": 16}),
            (2, Job.GATHER, {"data": responses, "flags": Flag.SLOTS, "row_bytes": 64}),
            (1, Job.RETRIEVE, {"data": many, "count": len(many), "flags": memory}),
            (1, Job.UPDATE, {"data": pairs, "flags": memory}),
            (1, Job.UPDATE_DELTA, {"data": pairs & np.uint32(15), "flags": memory}),
            (1, Job.STREAM, {"data": responses, "flags": memory}),
            (1, Job.INSERT, {"data": pairs, "flags": memory}),
            (1, Job.RESERVE, {"flags": memory, "count": 4}),
            (1, Job.COMMIT, {"data": two, "flags": memory, "count": 2}),
            (0, Job.SAMPLE, {"flags": memory, "count": batch, "batches": 3}),
            (0, Job.SAMPLE, {"flags": memory | Flag.HOST_X, "count": batch, "data": x}),
        ]
        cases = []
        for place, (ring, opcode, options) in enumerate(found):
            job = env.descriptor(ring, opcode, **({"count": count} | options))
            number, arrays = job.words[2], {}
            if (data := options.get("data")) is not None:
                # Each case has an input of its own.
                job.words[4] += 0x1000 * place
                env.put(job.words[4], data)
                arrays[4] = Array(data[:number].nbytes)
            size = job.words[9] if ring == 2 else 16 * max(job.words[3], 1)
            arrays[6] = Array(number * size, written=True)
            if ring == 2:
                arrays[10] = Array(self.leaves * size)
            repeats = opcode in (Job.GATHER, Job.RETRIEVE)
            cases.append(Case(job.words, arrays, ring, repeats=repeats))
        return cases


@pyuvm.test(expect_error=AssertionError, timeout_time=1, timeout_unit="ms")
class ScoreboardFires(ReplayTest):
    """A golden model that differs in one leaf makes the comparison fail."""

    async def scenario(self) -> None:
        await self.clear()
        self.env.golden.rmm.tree.set(3, 5)
        leaf = np.array([3], np.uint32)
        await self.env.do(1, Job.RETRIEVE, flags=Flag.MEMORY, count=1, data=leaf)
