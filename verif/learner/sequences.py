"""What a learner engine is put through: training runs, bad descriptors, bus errors, resets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from flow.effort import effort, scale
from models.engine import JobEnd
from models.learner import engine as golden
from models.learner.layout import Layer
from models.learner.lower import ActorCriticConfig, DqnConfig, ddpg, dqn, td3
from models.learner.optim import Slot, adam, momentum, sgd
from models.learner.program import ACT_RELU, OP_DOT, Program, Stage
from models.registers import engine_header as header
from models.registers import learner as registers
from models.registers.learner import Error
from verif.agents.axi_memory import AxiTiming
from verif.bench import rng
from verif.engine_env import EngineSequence
from verif.failures import Array, Case
from verif.learner.env import (
    DATA,
    GRADIENTS,
    IMAGE,
    LIST,
    OUT,
    PROGRAM,
    TD,
    Ended,
    LearnerEnv,
    smp_words,
)
from verif.learner.programs import several_networks

ALL_KINDS = 31
NAN = 0x7FC0_0000
SCALARS = np.array([0.5, 0.25, 0.03, 0], np.float32)
LONG = 200_000  # clocks of a job with a slow memory


LearnerSequence = EngineSequence[LearnerEnv]


@dataclass
class Setup:
    """A loaded program and its records.

    Attributes:
        config: what was lowered.
        program: the stage table.
        stride: bytes between records.
        generator: of everything else.
    """

    config: DqnConfig
    program: Program
    stride: int
    generator: np.random.Generator

    @property
    def actions(self) -> int:
        """Number of actions."""
        return self.config.sizes[-1]


def random_optimizer(draw: random.Random) -> Slot:
    """An optimizer slot."""
    lr = draw.choice((1e-3, 2e-2))
    lower = draw.choice(((0.0, 0.0), (1e-4, 5e-4)))
    kind = draw.randrange(3)
    if kind == 0:
        return sgd(lr, *lower)
    return momentum(lr, 0.9, *lower) if kind == 1 else adam(lr, decrement=lower[0], floor=lower[1])


def random_config(draw: random.Random, env: LearnerEnv, layers: int | None = None) -> DqnConfig:
    """A DQN program that fits the build; sizes around the lanes are likely."""
    g = env.geometry
    count = layers or draw.randint(1, min(4, g.l_max))
    widths = [w for w in (1, 2, 3, 4, 5, 8, g.p - 1, g.p, g.p + 1, 2 * g.p) if w <= g.d_max]
    sizes = [draw.choice(widths) for _ in range(count)]
    sizes.append(draw.randint(1, min(6, g.p)))
    tau = draw.choice((None, None, 0.05))
    return DqnConfig(
        sizes=tuple(sizes), optimizer=random_optimizer(draw), double=draw.random() < 0.4,
        kappa=draw.choice((1.0, 0.3, None)), sync_period=draw.choice((1, 2, 3)), tau=tau,
    )  # fmt: skip


async def prepare(env: LearnerEnv, config: DqnConfig, seed: int) -> Setup:
    """PROGRAM, LOAD of weights, records."""
    generator = np.random.default_rng(seed)
    program = dqn(env.geometry, config)
    await env.run(env.program(program))
    env.put(IMAGE, env.image(0, generator))
    await env.run([golden.JOB_LOAD, 0, 1 | 1 << 8, 0, IMAGE])
    stride = env.put_records(generator, config.sizes[0], config.sizes[-1])
    return Setup(config, program, stride, generator)


async def train(
    env: LearnerEnv, setup: Setup, steps: int, batch: int, flags: int, event: int = 0
) -> None:
    """One TRAIN from a list or from SMP."""
    indices = setup.generator.integers(0, 64, (steps, batch))
    weights = setup.generator.random((steps, batch))
    words = env.train(steps, batch, flags=flags, stride=setup.stride, event=event)
    if flags & golden.FLAG_LIST:
        env.put_list(indices, weights)
        await env.run(words)
    else:
        await env.run(words, smp=smp_words(indices, weights))


async def store(env: LearnerEnv, kinds: int = ALL_KINDS) -> None:
    """STORE of network 0: the comparison of memory sees all that was learned."""
    await env.run([golden.JOB_STORE, 0, 1 | kinds << 8, 0, OUT])


def most(env: LearnerEnv, program: Program) -> int:
    """Largest batch of a program."""
    return min(env.geometry.b_max, env.geometry.a_rows // program.frame_rows)


class Smoke(LearnerSequence):
    """Capabilities; a small network from SMP with TD errors to TDE; everything is stored."""

    async def body(self) -> None:
        env = self.env
        for register in registers.REGISTERS:
            if register.name.startswith("CAP"):
                got = await env.axil.read(register.offset)
                want = env.golden.read_register(register.offset)
                assert got == want, f"{register.name}: {got:#x}, want {want:#x}"
        config = DqnConfig((4, env.geometry.p, 2), adam(1e-2), sync_period=2)
        setup = await prepare(env, config, 1)
        await train(env, setup, 3, 4, golden.FLAG_TD_STREAM, event=2)
        status = await env.axil.read(header.STATUS.offset)
        assert status & 8, "no event"
        await store(env)


class RandomTraining(LearnerSequence):
    """Random programs, batches, sources and destinations."""

    programs = 1
    jobs = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("random")
        for turn in range(self.programs):
            setup = await prepare(env, random_config(draw, env, turn % 4 + 1), draw.getrandbits(32))
            for _ in range(self.jobs):
                largest = most(env, setup.program)
                batch = draw.choice((1, 2, 3, min(5, largest), min(18, largest), min(8, largest)))
                await train(env, setup, draw.randint(1, 4), batch, draw.randrange(8))
            await store(env)


class RoundTrip(LearnerSequence):
    """LOAD of all kinds with junk in the padding, STORE, training, and back to a checkpoint."""

    async def body(self) -> None:
        env = self.env
        draw = rng("round trip")
        setup = await prepare(env, random_config(draw, env), 5)
        size = env.image(0, setup.generator).size
        kinds = np.concatenate([env.image(0, setup.generator) for _ in range(4)]).view(np.uint32)
        kinds[2 * size : 3 * size] &= 0x7FFF_FFFF
        scalars = np.zeros(16, np.uint32)
        scalars[:4] = 0x3F60_0000, 0x3F70_0000, 0x3C00_0000, 1
        env.put(IMAGE, np.concatenate([kinds, scalars]))
        await env.run([golden.JOB_LOAD, 0, 1 | ALL_KINDS << 8, 0, IMAGE])
        await store(env)
        await train(env, setup, 2, 3, golden.FLAG_LIST)
        await store(env)
        image = env.memory.dump(OUT, 4 * (4 * size + 16))
        await train(env, setup, 2, 3, golden.FLAG_LIST)
        env.put(IMAGE, image)
        await env.run([golden.JOB_LOAD, 0, 1 | ALL_KINDS << 8, 0, IMAGE])
        await train(env, setup, 2, 3, golden.FLAG_LIST)
        await store(env)


def bad_descriptors(env: LearnerEnv, setup: Setup) -> Iterator[list[int]]:
    """Descriptors that the check of a job refuses; the program and the weights are loaded."""
    good = [*env.train(1, 2, stride=setup.stride), 0, 0]
    changes: list[tuple[int, int]] = [
        *((0, word) for word in (6, 9, 255)),
        *((0, golden.JOB_TRAIN | 1 << bit) for bit in (11, 16)),
        *((k, 1) for k in (14, 15)),
        *((k, 1 << 8) for k in (5, 11, 13)),
        (2, 0), (2, 1 << 31), (3, 0), (3, env.geometry.b_max + 1), (3, 0xFFFF_FFFF),
        (4, DATA + 4), (6, setup.stride + 32), (10, LIST + 16),
    ]  # fmt: skip
    for index, value in changes:
        words = list(good)
        words[index] = value
        yield words
    unaligned = env.train(1, 2, flags=golden.FLAG_LIST | golden.FLAG_TD_MEMORY)
    yield [*unaligned[:12], TD + 4, 0]
    for opcode in (golden.JOB_LOAD, golden.JOB_STORE):
        for mask in (0, 1, 1 << 8, 2 | 1 << 8, 1 | 1 << 13, 0x81 | 1 << 8):
            yield [opcode, 0, mask, 0, IMAGE]
        yield [opcode, 0, 1 | 1 << 8, 0, IMAGE + 8]
        yield [opcode, 0, 1 | 1 << 8, 7, IMAGE]
    infer = [*env.infer(2, 2, stride=setup.stride), 0, 0]
    for index, value in (
        *((0, golden.JOB_INFER | 1 << bit) for bit in (8, 9, 10, 16)), (2, 1), (2, 8), (2, 255),
        (2, 256), (3, 0), (3, env.geometry.b_max + 1), (3, 1 << 16), (4, DATA + 4), (5, 1 << 8),
        (6, setup.stride + 32), (7, 0), *((k, 1) for k in (8, 9, 10, 11, 14, 15)), (12, OUT + 16),
        (13, 1 << 8),
    ):  # fmt: skip
        yield [*infer[:index], value, *infer[index + 1 :]]
    grads = [*env.grads(2, stride=setup.stride)]
    for index, value in (
        *((0, grads[0] | 1 << bit) for bit in (11, 16)), *((2, x) for x in (0, 2, 3, 128, 256)),
        (3, 0), (3, env.geometry.b_max + 1), (4, DATA + 4), (5, 1 << 8), (6, setup.stride + 32),
        (9, 1), (10, LIST + 16), (11, 1 << 8), (13, 1 << 8), (14, GRADIENTS + 32), (15, 1 << 8),
    ):  # fmt: skip
        yield [*grads[:index], value, *grads[index + 1 :]]
    yield [*env.grads(2, flags=3, stride=setup.stride)[:12], TD + 4, 0, GRADIENTS, 0]
    apply = [*env.apply(), *[0] * 10]
    for index, value in (
        (0, golden.JOB_APPLY | 1 << 8), *((2, x) for x in (0, 2, 3, 128, 256)),
        (4, GRADIENTS + 8), (5, 1 << 8), *((k, 1) for k in (3, 6, 7, 8, 9, 10, 12, 14, 15)),
    ):  # fmt: skip
        yield [*apply[:index], value, *apply[index + 1 :]]
    for size in (0, 60, 1 << 20):
        yield [golden.JOB_PROGRAM, 0, size, 0, PROGRAM]


def bad_programs(env: LearnerEnv, draw: random.Random, count: int) -> Iterator[np.ndarray]:
    """Program images with one field changed, many of them wrong."""
    for _ in range(count):
        image = dqn(env.geometry, random_config(draw, env)).encode()
        index = draw.randrange(image.size)
        kind = draw.randrange(3)
        word = int(image[index])
        if kind == 0:
            word ^= 1 << draw.randrange(32)
        elif kind == 1:
            shift = draw.choice((0, 8, 16, 24))
            word = (
                word & ~(0xFF << shift) | draw.choice((0, 1, 2, 255, draw.randrange(256))) << shift
            )
        else:
            word = draw.choice((0, 0xFFFF_FFFF, draw.getrandbits(32)))
        image[index] = word & 0xFFFF_FFFF
        yield image


class Refused(LearnerSequence):
    """Every error of a descriptor and of a program; the engine goes on."""

    programs = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("refused")
        ready = env.train(1, 2)
        await env.run(ready)
        await env.run(env.infer(1, 1))
        await env.run(env.grads(2))
        await env.run(env.apply())
        await env.run([golden.JOB_STORE, 0, 1 | 1 << 8, 0, OUT])
        config = DqnConfig((3, env.geometry.p, 2), sgd(0.01), sync_period=1)
        await env.run(env.program(dqn(env.geometry, config)))
        await env.run(ready)
        await env.run([golden.JOB_LOAD, 0, 1 | 2 << 8, 0, IMAGE])
        for image in bad_programs(env, draw, self.programs):
            env.put(PROGRAM, image)
            await env.run([golden.JOB_PROGRAM, 0, 4 * image.size, 0, PROGRAM])
        setup = await prepare(env, config, 3)
        # A program takes the weights of the one before it away.
        await env.run(env.program(setup.program))
        (end,) = await env.run(env.train(1, 2, stride=setup.stride))
        assert end.error == Error.E_NOWEIGHTS, end
        for words in (env.infer(1, 1), env.grads(2), env.apply()):
            await env.run(words)
        await env.run([golden.JOB_STORE, 0, 1 | 1 << 8, 0, OUT])
        setup = await prepare(env, config, 3)
        for words in bad_descriptors(env, setup):
            await env.run(words)
            if words[0] & 0xFF == golden.JOB_PROGRAM:
                setup = await prepare(env, config, 3)
        await train(env, setup, 1, 3, golden.FLAG_LIST)
        await store(env)


class BusErrors(LearnerSequence):
    """A failing range for each kind of access; the weights stay those of the last good step."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((5, env.geometry.p, 3), momentum(0.02), sync_period=1)
        setup = await prepare(env, config, 7)
        indices = np.arange(12).reshape(3, 4)
        env.put_list(indices, np.ones((3, 4)))
        for response in (2, 3):
            for address, nbytes in (
                (DATA + 6 * setup.stride, 64),  # a record of step 1
                (DATA + 11 * setup.stride, 64),  # the last record
                (LIST + 64, 64),  # the list of step 1
                (TD + 128, 64),  # the TD errors of step 2
            ):
                env.fail(address, nbytes, response)
                flags = golden.FLAG_LIST | golden.FLAG_TD_MEMORY
                await env.run(env.train(3, 4, flags=flags, stride=setup.stride))
                env.heal()
                await store(env)
            env.fail(OUT + 64, 64, response)
            await store(env)
            env.heal()
            env.fail(IMAGE + 64, 64, response)
            await env.run([golden.JOB_LOAD, 0, 1 | 1 << 8, 0, IMAGE])
            env.heal()
            await store(env)
            env.fail(PROGRAM + 128, 64, response)
            await env.run(env.program(setup.program))
            env.heal()
            setup = await prepare(env, config, 7)
            env.put_list(indices, np.ones((3, 4)))


async def cases(env: LearnerEnv) -> list[Case]:
    """A job of each kind, for `verif.failures`."""
    config = DqnConfig((4, env.geometry.p + 1, 2), sgd(0.01), sync_period=1)
    setup = await prepare(env, config, 41)
    steps, batch = 2, 5
    env.put_list(np.arange(10).reshape(steps, batch), np.ones((steps, batch)))
    flags, stride = golden.FLAG_LIST | golden.FLAG_TD_MEMORY, setup.stride
    record = -(-4 * setup.program.record_words // 64) * 64
    records, vectors = Array(63 * stride + record), Array(8 * stride + 64)
    image = Array(4 * env.networks()[0].map.words)
    gradients = Array(image.nbytes, written=True)
    program = env.program(setup.program)
    train = env.train(steps, batch, flags=flags, stride=stride)
    lists, errors = Array(16 * steps * batch), Array(64 * steps, written=True)
    one = {4: records, 10: Array(16 * batch), 12: Array(64, written=True)}
    all_kinds = Array(4 * image.nbytes + 64, written=True)
    load = [golden.JOB_LOAD, 0, 1 | 1 << 8, 0, IMAGE, 0]
    return [
        Case(program, {4: Array(program[2])}),
        Case(load, {4: image}),
        Case([golden.JOB_STORE, 0, 1 | ALL_KINDS << 8, 0, OUT, 0], {4: all_kinds}, repeats=True),
        Case(train, {4: records, 10: lists, 12: errors}),
        Case(env.infer(9, 4, stride=stride), {4: vectors, 12: Array(9 * 64, written=True)},
             repeats=True),
        Case(env.grads(batch, flags=flags, stride=stride), one | {14: gradients}, repeats=True),
        Case(env.apply(), {4: image}),
    ]  # fmt: skip


class BadData(LearnerSequence):
    """Indices and actions out of range, NaN and infinity in records: the step is dropped."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), adam(0.01), sync_period=2)
        setup = await prepare(env, config, 9)
        indices = np.arange(12).reshape(3, 4)
        place = {"state": 0, "action": 4, "reward": 5, "discount": 6, "next": 8}
        rows = env.memory.dump(DATA, 64 * setup.stride).view(np.uint32).reshape(64, -1)
        for what, word in (
            ("action", 2), ("action", 0xFFFF_FFFF), ("reward", NAN), ("reward", 0x7F80_0000),
            ("discount", NAN), ("state", NAN), ("next", 0xFF80_0000), ("state", 0x7F00_0000),
        ):  # fmt: skip
            bad = rows.copy()
            bad[6, place[what]] = word
            env.put(DATA, bad)
            env.put_list(indices, np.ones((3, 4)))
            await env.run(env.train(3, 4, flags=7, stride=setup.stride))
            await store(env)
        env.put(DATA, rows)
        wrong = indices.copy()
        wrong[1, 2] = 64
        env.put_list(wrong, np.ones((3, 4)))
        await env.run(env.train(3, 4, stride=setup.stride))
        await store(env)
        # The smallest sample is reported, of this step: not one of an earlier step, whichever
        # pipeline found it; and what a pipeline found is forgotten when the next step does not
        # need it.
        for what, word in (("action", 7), ("reward", NAN)):
            for samples in ((0,), (3,), (1, 2), (2,), (1,), (2, 3), (0, 3)):
                bad = rows.copy()
                bad[list(samples), place[what]] = word
                env.put(DATA, bad)
                env.put_list(np.arange(4).reshape(1, 4), np.ones((1, 4)))
                await env.run(env.train(1, 4, flags=7, stride=setup.stride))
                env.put(DATA, rows)
                env.put_list(np.array([[8]]), np.ones((1, 1)))
                await env.run(env.train(1, 1, flags=7, stride=setup.stride))
        await store(env)


class BadStream(LearnerSequence):
    """Words of SMP that break its rules; a hard reset empties the links."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), sgd(0.01), sync_period=1)
        good = smp_words(np.arange(8).reshape(2, 4), np.ones((2, 4)))
        cases = (
            (5, lambda w, e: (w ^ 1 << 96, e)),  # slot
            (6, lambda w, e: (w, 1)),  # last too early
            (7, lambda w, e: (w, 0)),  # last missing
            (4, lambda w, e: (w | 3 << 120, 1)),  # status
            (5, lambda w, e: (w ^ 3 << 112, e)),  # not a sample
            (5, lambda w, e: (w | 64, e)),  # index
        )
        for place, change in cases:
            setup = await prepare(env, config, 11)
            words = [change(*w) if k == place else w for k, w in enumerate(good)]
            flags = golden.FLAG_TD_STREAM
            await env.run(env.train(2, 4, flags=flags, stride=setup.stride), smp=words[: place + 1])
            await store(env)
            await env.soft_reset()


class WordsBehindAnError(LearnerSequence):
    """A word that breaks the rules ends the job; the next job finds the words after it."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), sgd(0.01), sync_period=1)
        setup = await prepare(env, config, 12)
        good = smp_words(np.arange(12).reshape(3, 4), np.ones((3, 4)))
        for place, bad in (
            (5, good[5][0] ^ 1 << 96),
            (2, good[2][0] | 64),
            (4, good[4][0] | 1 << 119),
        ):
            words = [*good[:place], (bad, good[place][1]), *good[8:]]
            await env.run(env.train(2, 4, flags=0, stride=setup.stride), smp=words)
            await env.run(env.train(1, 4, flags=0, stride=setup.stride))
            await store(env)


class NoStream(LearnerSequence):
    """No word of SMP: E_TIMEOUT, ABORT, and the engine goes on."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), sgd(0.01), sync_period=1)
        setup = await prepare(env, config, 13)
        await env.watchdog(500)
        env.sent.clear()
        words = env.train(2, 4, flags=golden.FLAG_TD_STREAM, stride=setup.stride)
        await env.timed_out(*await env.send(words))
        await ClockCycles(env.dut.clk_i, 20)
        assert env.sent == [2 << 48], f"want one ABORT, got {env.sent}"
        end = JobEnd(Error.E_TIMEOUT)
        env.cover.sample(Ended(words, end, setup.program, setup.program.slots[0], 0))
        await env.watchdog(0)
        await env.soft_reset()
        await train(env, setup, 2, 4, golden.FLAG_LIST)
        await store(env)
        # A stream that ends early: the steps before the end are done, and ERR_INFO1 tells how many.
        await env.watchdog(500)
        for steps in (1, 2):
            indices, weights = np.arange(4 * steps).reshape(steps, 4), np.ones((steps, 4))
            (job,) = await env.send(env.train(steps + 1, 4, flags=0, stride=setup.stride))
            await env.offer_smp(smp_words(indices, weights))
            await env.ended(job)
            got = (job.record.error, job.record.count)
            info = await env.info()
            assert got == (Error.E_TIMEOUT, steps), f"error, steps: {got}"
            assert info == [0, steps], f"ERR_INFO {info} after {steps} steps"
            await env.soft_reset()
            env.put_list(indices, weights)
            env.predict(env.train(steps, 4, stride=setup.stride))
            await env.clear_status()
            await store(env)
        await env.watchdog(0)


class ResetMidway(LearnerSequence):
    """Soft resets at any clock of a TRAIN: the weights are those of the last step."""

    times = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("reset")
        config = DqnConfig((4, env.geometry.p, 2), adam(0.01), sync_period=2)
        setup = await prepare(env, config, 17)
        for _ in range(self.times):
            steps, batch = 6, 4
            indices = setup.generator.integers(0, 64, (steps, batch))
            env.put_list(indices, np.ones((steps, batch)))
            words = env.train(steps, batch, stride=setup.stride)
            before = await env.axil.read(registers.STEP.offset)
            await env.send(words)
            await ClockCycles(env.dut.clk_i, draw.randint(20, 4000))
            await env.soft_reset()
            done = await env.axil.read(registers.STEP.offset) - before
            if done:
                words[2] = done
                end = env.predict(words)
                assert end.count == done
                env.golden.tde.clear()
            await store(env)
            await train(env, setup, 1, 3, golden.FLAG_LIST)
        await store(env)


class HardReset(LearnerSequence):
    """Resets in the midst of each kind of job: afterwards all goes as after power-on."""

    times = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("hard reset")
        batch = 4
        for turn in range(self.times):
            setup = await prepare(env, random_config(draw, env), 23 + turn)
            await train(env, setup, 1, batch, golden.FLAG_TD_STREAM)
            await train(env, setup, 2, 3, golden.FLAG_LIST | golden.FLAG_TD_MEMORY)
            await store(env)
            indices = setup.generator.integers(0, 64, (6, batch))
            env.put_list(indices, np.ones((6, batch)))
            jobs = (
                (env.train(6, batch, stride=setup.stride), 3000),
                (env.train(6, batch, flags=golden.FLAG_TD_STREAM, stride=setup.stride), 1500),
                ([golden.JOB_STORE, 0, 1 | ALL_KINDS << 8, 0, OUT], 600),
                (env.infer(20, 3, stride=setup.stride), 1500),
                (env.grads(batch, stride=setup.stride), 1500),
                (env.apply(), 600),
                ([golden.JOB_LOAD, 0, 1 | 1 << 8, 0, IMAGE], 400),
                (env.program(setup.program), 250),
            )
            words, longest = jobs[turn % len(jobs)]
            await env.send(words)
            if turn % len(jobs) == 1:
                cocotb.start_soon(env.offer_smp(smp_words(indices, np.ones((6, batch)))))
            await ClockCycles(env.dut.clk_i, draw.randint(20, longest))
            await env.hard_reset(draw.randint(1, 3))


class Networks(LearnerSequence):
    """Four networks: loaded, trained, stored one by one and together; masks that do not fit."""

    async def body(self) -> None:
        env = self.env
        g = env.geometry
        program = several_networks(g, 5, g.p, 3)
        setup = Setup(DqnConfig((5, g.p, 3), sgd(0)), program, 0, np.random.default_rng(19))
        await env.run(env.program(program))
        setup.stride = env.put_records(setup.generator, 5, 3)
        ready = env.train(1, 2, stride=setup.stride)
        env.put_list(np.arange(2), np.ones(2))

        def put(*parts: tuple[int, int]) -> None:
            """The images of (network, kind) in turn."""
            images = []
            for net, kind in parts:
                image = np.abs(env.image(net, setup.generator))
                images.append(image if kind < 4 else np.pad(SCALARS, (0, 12)))
            env.put(IMAGE, np.concatenate(images))

        for net in (2, 0, 3):
            for other in range(6):
                await env.run(env.infer(5, 3, network=other, stride=setup.stride))
            put((net, 0))
            await env.run([golden.JOB_LOAD, 0, 1 << net | 1 << 8, 0, IMAGE])
            await env.run(ready)
            await env.run([golden.JOB_STORE, 0, 15 | 1 << 8, 0, OUT])
            await env.run([golden.JOB_LOAD, 0, 2 | 2 << 8, 0, IMAGE])
        put((1, 0), (1, 3), (1, 4))
        await env.run([golden.JOB_LOAD, 0, 2 | 25 << 8, 0, IMAGE])
        for words in (
            [golden.JOB_STORE, 0, 4 | 8 << 8], [golden.JOB_LOAD, 0, 9 | 9 << 8],
            [golden.JOB_STORE, 0, 16 | 1 << 8], [golden.JOB_STORE, 0, 128 | 1 << 8],
        ):  # fmt: skip
            await env.run([*words, 0, OUT])
        for steps in (3, 2):
            await train(env, setup, steps, 4, golden.FLAG_LIST | golden.FLAG_TD_MEMORY)
            await env.run([golden.JOB_STORE, 0, 15 | 23 << 8, 0, OUT])
            await env.run([golden.JOB_STORE, 0, 3 | 8 << 8, 0, OUT])
        put((0, 0), (0, 4), (2, 0), (2, 4))
        await env.run([golden.JOB_LOAD, 0, 5 | 17 << 8, 0, IMAGE])
        put((1, 1), (1, 2), (2, 1), (2, 2))
        await env.run([golden.JOB_LOAD, 0, 6 | 6 << 8, 0, IMAGE])
        await train(env, setup, 2, 4, golden.FLAG_LIST)
        await env.run([golden.JOB_STORE, 0, 15 | 23 << 8, 0, OUT])


class Infer(LearnerSequence):
    """Forward passes of random networks between their steps, in rounds of all kinds."""

    async def body(self) -> None:
        env = self.env
        draw = rng("infer")
        for turn in range(scale(4, 2)):
            config = random_config(draw, env, turn % 4 + 1)
            if turn == 1:  # inputs of several rows
                sizes = (env.geometry.d_max, env.geometry.p, min(env.geometry.p, 6))
                config = replace(config, sizes=sizes)
            setup = await prepare(env, config, draw.getrandbits(32))
            largest = most(env, setup.program)
            pipes = env.geometry.dp
            for count, batch in (
                (1, 1), (1, largest), (max(1, pipes - 1), largest), (largest, largest),
                (4, 2), (2 * largest + 1, largest), (draw.randint(5, 30), draw.randint(1, 4)),
            ):  # fmt: skip
                await env.run(env.infer(count, min(batch, largest), stride=setup.stride))
            await train(env, setup, 2, min(3, largest), golden.FLAG_LIST)
            await env.run(env.infer(9, min(4, largest), stride=setup.stride))
            await env.run(env.infer(3, min(2, largest), stride=0))
            await store(env)
        await infer_wide(env)


async def infer_wide(env: LearnerEnv) -> None:
    """Results of more words than a row and than a beat; a NaN goes through."""
    g = env.geometry
    program = several_networks(g, 5, g.p, 3)
    wide = g.d_max
    net = program.networks[3]
    frame = program.frame_rows
    rows, row = g.weight_rows(3, wide), net.row_base
    layer = replace(
        net, layers=(Layer(3, wide),), rows=rows, biases=-(-wide // g.ob) * g.ob
    )  # fmt: skip
    stage = Stage(
        OP_DOT, net=3, n_in=3, n_out=wide, row=row, bias=net.bias_base, src=program.state,
        dst=frame, act=ACT_RELU, unit=1 if g.ntu > 1 else 0,
    )  # fmt: skip
    program = replace(
        program,
        networks=(*program.networks[:3], layer),
        stages=(*program.stages[:2], stage, *program.stages[2:]),
        frame_rows=frame + g.vector_rows(wide),
    )
    shifted = [
        replace(s, deps=tuple(d + (d >= 2) for d in s.deps)) if k > 2 else s
        for k, s in enumerate(program.stages)
    ]
    program = replace(program, stages=tuple(shifted))
    generator = np.random.default_rng(3)
    await env.run(env.program(program))
    await load_all(env, program, generator)
    stride = env.put_records(generator, 5, 3)
    largest = most(env, program)
    for count, batch in ((1, 1), (7, 3), (largest, largest)):
        await env.run(env.infer(count, batch, network=3, stride=stride))
    rows_of = env.memory.dump(DATA, 64 * stride).view(np.uint32).reshape(64, -1).copy()
    rows_of[2, 1] = NAN
    rows_of[4, 0] = 0x7F80_0000
    env.put(DATA, rows_of)
    for network in (0, 2, 3):
        (end,) = await env.run(env.infer(6, 4, network=network, stride=stride))
        assert not end.error, end


class InferErrors(LearnerSequence):
    """Failing reads and writes of INFER: the rounds before are complete, and counted."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((5, env.geometry.p, 3), sgd(0.02), sync_period=1)
        setup = await prepare(env, config, 71)
        env.put(OUT, np.full(4096, 0x55, np.uint8))
        for response in (2, 3):
            for address in (
                DATA, DATA + 3 * setup.stride, DATA + 6 * setup.stride, DATA + 11 * setup.stride,
                OUT, OUT + 3 * 64, OUT + 5 * 64, OUT + 11 * 64,
            ):  # fmt: skip
                env.fail(address, 64, response)
                await env.run(env.infer(12, 4, stride=setup.stride))
                env.heal()
            await env.run(env.infer(6, 2, stride=setup.stride))
        # Words of SMP that come meanwhile wait for the job that takes them.
        words = smp_words(np.arange(4).reshape(1, 4), np.ones((1, 4)))
        feeder = cocotb.start_soon(env.offer_smp(words))
        await env.run(env.infer(9, 4, stride=setup.stride))
        env.give_golden(words)
        await env.run(env.train(1, 4, flags=golden.FLAG_TD_STREAM, stride=setup.stride))
        assert feeder.done(), "words of SMP are left"
        await train(env, setup, 2, 3, golden.FLAG_TD_STREAM)
        await store(env)


class InferResets(LearnerSequence):
    """Soft resets at any clock of an INFER: what it wrote is right, and the engine is usable."""

    times = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("infer reset")
        config = DqnConfig((4, env.geometry.p, 2), adam(0.01), sync_period=2)
        setup = await prepare(env, config, 73)
        words, size = env.infer(20, 3, stride=setup.stride), 20 * 64
        for _ in range(self.times):
            env.put(OUT, np.full(size, 0x55, np.uint8))
            await env.send(words)
            await ClockCycles(env.dut.clk_i, draw.randint(20, 2500))
            await env.soft_reset()
            assert not env.predict(words).error
            got, want = (m.dump(OUT, size).reshape(20, 64) for m in (env.memory, env.golden_memory))
            right = [bool((a == b).all()) for a, b in zip(got, want, strict=True)]
            done = right.index(False) if False in right else 20
            assert (got[done:] == 0x55).all(), f"vectors after {done} are neither old nor right"
            env.adopt(OUT, size)
            await env.run(env.infer(4, 3, stride=setup.stride))
            await train(env, setup, 1, 3, golden.FLAG_LIST)
        await store(env)


class Gradients(LearnerSequence):
    """GRADS and APPLY between steps; of random programs, and of some of several networks."""

    async def body(self) -> None:
        env = self.env
        draw = rng("gradients")
        for turn in range(scale(5, 3)):
            config = random_config(draw, env, turn % 4 + 1)
            optimizer = (sgd(0.02), momentum(0.02, 0.9), adam(0.01))[turn % 3]
            setup = await prepare(env, replace(config, optimizer=optimizer), draw.getrandbits(32))
            largest = most(env, setup.program)
            for batch in (1, min(5, largest), min(18, largest)):
                await step_by_gradients(env, setup, 1, batch, draw.randrange(8))
                if draw.random() < 0.5:
                    await train(env, setup, 2, min(3, largest), draw.randrange(8))
            await store(env)
            values = setup.generator.standard_normal(env.image(0, setup.generator).size)
            env.put(GRADIENTS, values.astype(np.float32))  # padding that is not 0
            await env.run(env.apply())
            await env.run(env.apply())
            await store(env)
        g = env.geometry
        program = several_networks(g, 5, g.p, 3)
        setup = Setup(DqnConfig((5, g.p, 3), sgd(0)), program, 0, np.random.default_rng(83))
        await env.run(env.program(program))
        await load_all(env, program, setup.generator)
        setup.stride = env.put_records(setup.generator, 5, 3)
        for networks in (5, 1, 4, 5):
            await step_by_gradients(env, setup, networks, 4, golden.FLAG_LIST)
            await env.run([golden.JOB_STORE, 0, 15 | 23 << 8, 0, OUT])
            await env.run([golden.JOB_STORE, 0, 3 | 8 << 8, 0, OUT])
        for networks in (0, 2, 3, 8, 16, 128):
            await env.run(env.grads(2, networks=networks, stride=setup.stride))
            await env.run(env.apply(networks))


async def step_by_gradients(
    env: LearnerEnv, setup: Setup, networks: int, batch: int, flags: int
) -> None:
    """GRADS from a list or from SMP, then APPLY."""
    indices = setup.generator.integers(0, 64, (1, batch))
    weights = setup.generator.random((1, batch))
    words = env.grads(batch, networks=networks, flags=flags, stride=setup.stride, total=2 * batch)
    if flags & golden.FLAG_LIST:
        env.put_list(indices, weights)
        await env.run(words)
    else:
        await env.run(words, smp=smp_words(indices, weights))
    await env.run(env.apply(networks))


class GradientsErrors(LearnerSequence):
    """Failing memory, records in error, resets: nothing changes, and the engine is usable."""

    async def body(self) -> None:
        env = self.env
        draw = rng("gradients errors")
        config = DqnConfig((5, env.geometry.p, 3), momentum(0.02), sync_period=2)
        setup = await prepare(env, config, 89)
        rows = env.memory.dump(DATA, 64 * setup.stride).view(np.uint32).reshape(64, -1)
        indices = np.arange(4).reshape(1, 4)
        env.put_list(indices, np.ones((1, 4)))
        grads = env.grads(4, flags=7, stride=setup.stride)
        await env.run(grads)
        for response in (2, 3):
            for address in (DATA + 2 * setup.stride, LIST, TD, GRADIENTS, GRADIENTS + 192):
                env.fail(address, 64, response)
                await env.run(grads)
                env.heal()
            for address in (GRADIENTS, GRADIENTS + 192):
                env.fail(address, 64, response)
                await env.run(env.apply())
                env.heal()
            await store(env)
        for place, word in ((5, 7), (6, NAN)):
            bad = rows.copy()
            bad[1, place] = word
            env.put(DATA, bad)
            await env.run(grads)
            stream = env.grads(4, flags=golden.FLAG_TD_STREAM, stride=setup.stride)
            await env.run(stream, smp=smp_words(indices, np.ones((1, 4))))
        env.put(DATA, rows)
        await env.run(grads)
        await store(env)
        # Resets: of GRADS, which leaves some of its image; of APPLY, whose step is done or not.
        size = 4 * env.image(0, setup.generator).size
        for turn in range(scale(8, 4)):
            applies = turn % 2 == 1
            before = await env.axil.read(registers.STEP.offset)
            words = env.apply() if applies else env.grads(4, stride=setup.stride)
            await env.send(words)
            await ClockCycles(env.dut.clk_i, draw.randint(20, 1500))
            await env.soft_reset()
            mean = await env.axil.read(registers.TD_MEAN.offset)
            if mean != env.golden.read_register(registers.TD_MEAN.offset):
                assert not applies and env.predict(words).count == 1
            env.adopt(GRADIENTS, size)
            if await env.axil.read(registers.STEP.offset) != before:
                assert applies and env.predict(env.apply()).count == 1
            await store(env)
            await step_by_gradients(env, setup, 1, 3, golden.FLAG_LIST)
        await store(env)


class Together(LearnerSequence):
    """Jobs that wait in the ring while others run."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), adam(0.01), sync_period=2)
        setup = await prepare(env, config, 23)
        env.put_list(np.arange(12), np.ones(12))
        for flags in (golden.FLAG_LIST, golden.FLAG_LIST | golden.FLAG_TD_MEMORY):
            await env.run(
                *[
                    env.train(2, 4, flags=flags, stride=setup.stride),
                    [golden.JOB_STORE, 0, 1 | 1 << 8, 0, OUT],
                    env.infer(7, 4, stride=setup.stride, out=OUT + 0x8000),
                    env.grads(4, flags=flags, stride=setup.stride),
                    env.apply(),
                    env.train(0, 4),
                    env.train(3, 2, flags=flags, stride=setup.stride),
                    [golden.JOB_STORE, 0, 1 | ALL_KINDS << 8, 0, OUT],
                ]
            )


class Counters(LearnerSequence):
    """Counters: clocks of the tensor unit, and what a job waits for."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), sgd(0.01), sync_period=1)
        setup = await prepare(env, config, 29)
        names = ("STALL_MEM_LO", "STALL_IN_LO")

        async def job(late: int) -> tuple[int, int]:
            """Clocks that TRAIN waits for memory and for SMP, whose words come late."""
            before = [await env.counter(getattr(header, name).offset) for name in names]
            words = env.train(1, 4, flags=0, stride=setup.stride)
            smp = smp_words(np.arange(4).reshape(1, 4), np.ones((1, 4)))
            if late:
                env.sent.clear()
                (item,) = await env.send(words)
                await ClockCycles(env.dut.clk_i, late)
                env.give_golden(smp)
                await env.offer_smp(smp)
                await env.check(item)
            else:
                await env.run(words, smp=smp)
            after = [await env.counter(getattr(header, name).offset) for name in names]
            return after[0] - before[0], after[1] - before[1]

        busy = await env.counter(registers.TU_BUSY_LO.offset)
        assert busy == env.golden.busy, f"TU_BUSY is {busy}, want {env.golden.busy}"
        quick, slow = await job(0), await job(900)
        busy = await env.counter(registers.TU_BUSY_LO.offset)
        assert busy == env.golden.busy, f"TU_BUSY is {busy}, want {env.golden.busy}"
        assert 0 < quick[0] < 300, f"clocks for memory: {quick}"
        assert quick[1] < 300, f"clocks for SMP: {quick}"
        assert abs(slow[0] - quick[0]) < 100, f"clocks for memory: {quick}, late words {slow}"
        assert 600 < slow[1] - quick[1] < 1000, f"clocks for SMP: {quick}, late words {slow}"
        env.put_list(np.arange(4), np.ones(4))
        before = await env.counter(header.STALL_IN_LO.offset)
        await env.run(env.train(1, 4, stride=setup.stride))
        await env.run(env.infer(7, 4, stride=setup.stride))
        assert await env.counter(header.STALL_IN_LO.offset) == before, "a list counts as SMP"
        busy = await env.counter(registers.TU_BUSY_LO.offset)
        assert busy == env.golden.busy, f"TU_BUSY is {busy}, want {env.golden.busy}"


class Patient(LearnerSequence):
    """The watchdog does not end jobs that go on, however long they take."""

    async def body(self) -> None:
        env = self.env
        await env.watchdog(300)
        wide = env.geometry.d_max
        setup = await prepare(env, DqnConfig((wide, wide, 2), adam(0.01), sync_period=1), 37)
        largest = most(env, setup.program)
        before = await env.counter(header.CYCLES_LO.offset)
        await train(env, setup, 3, largest, golden.FLAG_LIST)
        await train(env, setup, 2, largest, golden.FLAG_TD_STREAM)
        assert await env.counter(header.CYCLES_LO.offset) - before > 3000, "short jobs"
        await store(env)
        await env.watchdog(0)


class Timeouts(LearnerSequence):
    """The watchdog ends each kind of job while memory is silent; the next job is not disturbed."""

    async def body(self) -> None:
        env = self.env
        config = DqnConfig((4, env.geometry.p, 2), sgd(0.01), sync_period=1)
        setup = await prepare(env, config, 31)
        env.put_list(np.arange(4), np.ones(4))
        ready = env.train(1, 4, stride=setup.stride)
        load = [golden.JOB_LOAD, 0, 1 | 1 << 8, 0, IMAGE]

        async def ended(words: list[int]) -> None:
            await env.watchdog(150)
            env.sent.clear()
            await env.timed_out(*await env.send(words))
            await env.watchdog(0)

        # Jobs that fail at once, while the record of the one before is on its way: an ABORT each.
        env.sent.clear()
        failing = env.train(0, 4, flags=golden.FLAG_TD_STREAM, stride=setup.stride)
        await env.ended(*[(await env.send(failing))[0] for _ in range(3)], limit=LONG)
        await ClockCycles(env.dut.clk_i, 20)
        assert env.sent == [2 << 48] * 3, f"want three ABORTs, got {env.sent}"
        await env.clear_status()
        for _ in range(3):
            env.predict(failing)
        env.golden.tde.clear()
        await env.run(ready, limit=LONG)
        await ended(ready)
        await ended(ready)  # it still waits for what the one before has in flight
        await env.run(env.train(1, 4, records=4, stride=setup.stride), limit=LONG)
        await ended([golden.JOB_STORE, 0, 1 | 1 << 8, 0, OUT])
        await env.run([golden.JOB_STORE, 0, 1 | 3 << 8, 0, OUT], limit=LONG)
        # INFER whose results are on their way to memory; and one that waits for its vectors.
        reads = env.ports[0].slave.reads.pipeline
        for timing in (AxiTiming(latency=(20, 20)), env.timing):
            reads.timing = timing
            await ended(env.infer(3, 2, stride=setup.stride))
            await env.run(env.infer(3, 2, stride=setup.stride), limit=LONG)
            await env.run(ready, limit=LONG)
        reads.timing = AxiTiming(latency=(20, 20))
        await ended(env.grads(4, stride=setup.stride))
        reads.timing = env.timing
        await env.run(env.grads(4, stride=setup.stride), limit=LONG)
        await ended(env.grads(4, stride=setup.stride))
        await ended(env.apply())
        await env.run(env.apply(), limit=LONG)
        await env.run([golden.JOB_STORE, 0, 1 | ALL_KINDS << 8, 0, OUT], limit=LONG)
        await ended(load)
        env.golden.loaded = 0
        await env.run(ready)
        await env.run(load, limit=LONG)
        await env.run(ready, limit=LONG)
        await ended(env.program(setup.program))
        env.golden.loaded, env.golden.learner = 0, None
        await env.run(ready)
        await env.run(env.program(setup.program), limit=LONG)
        await env.run(load, limit=LONG)
        await env.run(ready, limit=LONG)


def actor_critic_programs(env: LearnerEnv) -> Iterator[Program]:
    """DDPG and TD3: one phase and two, delayed and not."""
    g = env.geometry
    draw = rng("actor-critic")
    for delay, lagged in ((0, False), (2, False), (0, True), (3, True)):
        actions = draw.randint(1, 3)
        states = draw.choice((2, 3, g.p - actions))
        hidden = [draw.choice((3, g.p, g.p + 1)) for _ in range(2)]
        config = ActorCriticConfig(
            (states, hidden[0], actions), (states + actions, hidden[1], 1),
            random_optimizer(draw), random_optimizer(draw), tau=0.25,
            kappa=draw.choice((None, 0.5)), lagged=lagged,
        )  # fmt: skip
        yield td3(g, config, delay) if delay else ddpg(g, config)


async def prepare_actor_critic(env: LearnerEnv, program: Program, seed: int) -> Setup:
    """PROGRAM, LOAD of all networks' weights, records."""
    generator = np.random.default_rng(seed)
    await env.run(env.program(program))
    await load_all(env, program, generator)
    stride = env.put_actions(generator, program)
    return Setup(DqnConfig((1, 1), sgd(0)), program, stride, generator)


async def load_all(env: LearnerEnv, program: Program, generator: np.random.Generator) -> None:
    """LOAD of all networks' weights."""
    count = len(program.networks)
    env.put(IMAGE, np.concatenate([env.image(k, generator) for k in range(count)]))
    await env.run([golden.JOB_LOAD, 0, (1 << count) - 1 | 1 << 8, 0, IMAGE])


async def store_all(env: LearnerEnv, program: Program) -> None:
    """STORE of everything of all networks."""
    mask = (1 << len(program.networks)) - 1
    await env.run([golden.JOB_STORE, 0, mask | ALL_KINDS << 8, 0, OUT])


class ActorCritic(LearnerSequence):
    """DDPG and TD3: trained, stored, and trained again from a checkpoint."""

    async def body(self) -> None:
        env = self.env
        programs = list(actor_critic_programs(env))
        # A short run takes one without a delay and one with it, lagged.
        for turn, program in enumerate(programs if effort() >= 1 else programs[::3]):
            setup = await prepare_actor_critic(env, program, 41 + turn)
            batch = min(5, most(env, program))
            await train(env, setup, 3, batch, golden.FLAG_TD_STREAM)
            await store_all(env, program)
            image = env.memory.dump(OUT, 4 * sum(4 * n.map.words + 16 for n in env.networks()))
            await train(env, setup, 4, batch - 1, golden.FLAG_LIST | golden.FLAG_TD_MEMORY)
            for network in range(len(program.networks) + 1):
                await env.run(env.infer(2 * batch + 1, batch, network=network, stride=setup.stride))
            await env.run(env.infer(3, 1, stride=setup.stride))
            await train(env, setup, 1, batch, golden.FLAG_TD_STREAM)
            trained = program.trained
            for networks in (trained, trained, trained & ~1, trained, trained):
                await step_by_gradients(env, setup, networks, batch, golden.FLAG_LIST)
            await store_all(env, program)
            env.put(IMAGE, image)
            mask = (1 << len(program.networks)) - 1
            await env.run([golden.JOB_LOAD, 0, mask | ALL_KINDS << 8, 0, IMAGE])
            await train(env, setup, 2, batch, golden.FLAG_LIST)
            await store_all(env, program)


class ActorCriticErrors(LearnerSequence):
    """What is not finite in a record, and in the actor, of which the second phase sees it."""

    async def body(self) -> None:
        env = self.env
        for turn, program in enumerate(actor_critic_programs(env)):
            setup = await prepare_actor_critic(env, program, 51 + turn)
            rows = env.memory.dump(DATA, 64 * setup.stride).view(np.uint32).reshape(64, -1)
            reward = program.state_words + program.action_words
            bad = rows.copy()
            bad[6, reward] = NAN
            env.put(DATA, bad)
            env.put_list(np.arange(12).reshape(3, 4), np.ones((3, 4)))
            await env.run(env.train(3, 4, flags=7, stride=setup.stride))
            await store_all(env, program)
            env.put(DATA, rows)
            # The actor's weights are no numbers, its target's are.
            size = env.networks()[0].map.words
            weights = env.image(0, setup.generator)
            env.put(IMAGE, np.concatenate([np.full(size, np.nan, np.float32), weights]))
            await env.run([golden.JOB_LOAD, 0, 1 | 9 << 8, 0, IMAGE])
            await env.run(env.train(3, 4, flags=3, stride=setup.stride))
            await store_all(env, program)
            await load_all(env, program, setup.generator)
            await train(env, setup, 2, 4, golden.FLAG_LIST)
            await store_all(env, program)


class ActorCriticResets(LearnerSequence):
    """Soft resets at any clock of a TRAIN: a step is done in both phases, or in none."""

    times = 1

    async def body(self) -> None:
        env = self.env
        draw = rng("actor-critic reset")
        for program in actor_critic_programs(env):
            setup = await prepare_actor_critic(env, program, 61)
            for _ in range(self.times):
                env.put_list(setup.generator.integers(0, 64, (6, 4)), np.ones((6, 4)))
                words = env.train(6, 4, stride=setup.stride)
                before = await env.axil.read(registers.STEP.offset)
                await env.send(words)
                await ClockCycles(env.dut.clk_i, draw.randint(20, 6000))
                await env.soft_reset()
                words[2] = await env.axil.read(registers.STEP.offset) - before
                if words[2]:
                    assert env.predict(words).count == words[2]
                    env.golden.tde.clear()
                await store_all(env, program)
                await train(env, setup, 1, 3, golden.FLAG_LIST)
