"""Sequences of TRAIN for the qat engine's environment; verif/qat/tests.py runs them."""

from __future__ import annotations

from cocotb.triggers import ClockCycles

from flow.effort import scale
from models.qat.descriptor import PAIR_BYTES, Flag, Opcode
from models.qat.layout import ACTOR, CRITIC
from models.qat.validate import RATE_MOST, list_bytes
from models.registers import engine_header as header
from models.registers import qat as registers
from models.registers.engine_header import Error as Common
from models.registers.qat import Error
from verif.bench import clock_number
from verif.engine_env import EngineSequence
from verif.qat.env import ACTION, LIST, PLACE, RECORDS, REGIONS, STATE, TABLE, QatEnv, used

ALL = Flag.CRITIC | Flag.ACTOR | Flag.TARGETS | Flag.LIST | Flag.WEIGHTS


async def begin(env: QatEnv, bias: bool = True, least: bool = False) -> None:
    """A random table, and lines in all memories."""
    await env.run(env.new_table(bias, least))
    for region in range(REGIONS):
        await env.run(env.padded(region, 24 if region < 2 else 20))


async def told(env: QatEnv) -> bool:
    """Whether an event was seen since the last call."""
    status = await env.axil.read(header.STATUS.offset)
    await env.axil.write(header.STATUS.offset, header.STATUS.word(event_seen=1))
    return bool(header.STATUS.field("event_seen").get(status))


def any_flags(env: QatEnv) -> int:
    """Random flags of a TRAIN."""
    flags = env.random.getrandbits(8)
    if flags & Flag.AFTER and flags & Flag.WITH:
        flags ^= Flag.AFTER
    if not flags & (Flag.AFTER | Flag.WITH):
        flags &= ~Flag.NOISE
    if not flags & Flag.LIST:
        flags &= ~Flag.WEIGHTS
    return flags


class Timesteps(EngineSequence[QatEnv]):
    """Timesteps with all flags, of one chunk and of several; all that they leave is compared."""

    rounds = 1

    async def body(self) -> None:
        env, g, draw = self.env, self.env.geometry, self.env.random.randint
        for turn in range(self.rounds):
            await begin(env, turn % 4 != 3)
            for half in (False, True):
                await env.settings(half)
                for _ in range(2):
                    flags = any_flags(env)
                    chunk = 2 * draw(1, min(g.vectors, scale(g.vectors, 12)) // 2)
                    job = env.train(flags, draw(1, 3 * chunk), chunk)
                    await told(env)
                    await env.run(job)
                    event = await told(env)
                    assert event == bool(flags & Flag.WITH), f"{flags:#x}: event_seen is {event}"
                    await env.compare_registers()
                    await self.slots(job)
                for region in range(REGIONS):
                    await env.run(env.store(region, count=used(env.table, g)))
                await env.write(registers.CFG, 0)
            await env.write(registers.MODE, 0)

    async def slots(self, words: list[int]) -> None:
        """Some slots of the last chunk, and the one for acting."""
        env, g, table = self.env, self.env.geometry, self.env.table
        batch, chunk = words[14] & 0xFFFF, words[14] >> 16
        last = (batch - 1) % chunk + 1
        slots = env.golden.slots
        inputs = g.lines(table.inputs(CRITIC, g))
        for v in {0, last - 1, env.random.randrange(last)}:
            core, slot = v % g.n, v // g.n
            paired = slot - slot % (2 if env.golden._half else 1)
            first = slots.x[env.golden._set]
            await env.run(env.get_slot(core, paired, first, 2 * inputs))
            await env.run(env.get_slot(core, slot, slots.misc[env.golden._set], g.lines(6)))
            for net in (ACTOR, CRITIC):
                layers = table.networks[net]
                for place, layer in zip(slots.outputs[net], layers, strict=True):
                    where = slot if layer is layers[-1] else paired
                    await env.run(env.get_slot(core, where, place, g.lines(layer.p)))
            for place, layer in zip(slots.deltas[ACTOR], table.networks[ACTOR], strict=True):
                await env.run(env.get_slot(core, slot, place, g.lines(layer.p), True))
        if words[0] >> 8 & (Flag.AFTER | Flag.WITH):
            await env.acting_slot(slots.x[env.golden._acting_set])


class TimestepErrors(EngineSequence[QatEnv]):
    """Each error of a timestep's descriptor, from two causes where there are two."""

    async def body(self) -> None:
        env, g = self.env, self.env.geometry
        await begin(env)
        good = env.train(ALL | Flag.AFTER | Flag.NOISE, 6, 4)

        async def fails(code: int, **changes: int) -> None:
            spoilt = list(good)
            for name, value in changes.items():
                spoilt[int(name[1:])] = value
            (end,) = await env.run(spoilt)
            assert end.error == code, f"{changes}: {end.error}, want {code!r}"

        head = good[0]
        for changes in (
            {"w0": head | 1 << 29}, *({f"w{k}": 1 << 31} for k in (3, 5, 7, 11)),
            {"w15": 0x20}, {"w15": 1 << 16}, {"w0": head & ~(Flag.AFTER << 8)},
            {"w0": head & ~((Flag.AFTER | Flag.NOISE) << 8)},
            {"w0": head & ~(Flag.CRITIC << 8), "w8": 1},
            {"w0": head & ~(Flag.ACTOR << 8), "w9": 1},
            {"w0": head & ~((Flag.LIST | Flag.WEIGHTS) << 8)},
        ):  # fmt: skip
            await fails(Common.E_RESERVED, **changes)
        for place in (2, 4, 6, 10, 13):
            for bit in (4, 32):
                await fails(Common.E_ALIGN, **{f"w{place}": good[place] + bit})
        for batch, chunk in ((0, 2), (g.b_max + 1, 2), (1, 0), (4, 3), (4, g.vectors + 2)):
            await fails(Error.E_BATCH, w14=batch | chunk << 16)
        record = g.record_bytes(env.table.states)
        await fails(Error.E_STRIDE, w13=(record - 1) // 64 * 64)
        await fails(Error.E_STRIDE, w13=0)
        without = head & ~((Flag.LIST) << 8)
        for changes in (
            {"w0": head | Flag.WITH << 8}, {"w0": without, "w10": 0, "w12": 0},
            {"w8": RATE_MOST + 1}, {"w9": RATE_MOST + 1}, {"w15": 8}, {"w15": 0x17},
            {"w15": 7 << 8},
        ):  # fmt: skip
            await fails(Error.E_VALUE, **changes)
        for register, value, back in (
            (registers.CFG, registers.CFG.word(noise=4), 0), (registers.B1C, 0, 1),
            *[(registers.CFG, registers.CFG.word(paper=1), 0)] * (not g.paper),
            (registers.TAU, 0x1FFFFFF, 1 << 20),
        ):  # fmt: skip
            await env.write(register, value)
            await fails(Error.E_VALUE)
            await env.write(register, back)
        await env.write(registers.MODE, 1)
        await env.write(registers.SHIFT, 17, 3)
        await fails(Error.E_VALUE)
        await env.write(registers.SHIFT, 16, 3)
        await env.write(registers.MODE, 0)
        for least, most in ((0, 1), (1, 1 << 30)):  # the first vector, and one of a later chunk
            entries = env.numbers(6, 4).view("u4")
            entries[:, 0], entries[:, 2] = 0, 0x3F800000
            entries[5 * least, 0] = most
            env.put(LIST, entries)
            (end,) = await env.run(good[:12] + [1] + good[13:])
            assert (end.error, end.info0) == (Error.E_INDEX, 5 * least)
        await env.run([Opcode.NET, 0, TABLE + 64])
        await fails(Error.E_NO_NET)
        env.put(TABLE, env.table.encode(g))
        await env.run([Opcode.NET, 0, TABLE])
        await env.run(env.train(ALL | Flag.WITH, 6, 4))
        await self.memories()

    async def memories(self) -> None:
        """Compare memories and registers; entries of timesteps that failed are not predicted."""
        for region in range(REGIONS):
            await self.env.run(self.env.store(region, 0, used(self.env.table, self.env.geometry)))
        self.env.golden.entries = await self.env.counter(registers.TILEVEC_LO.offset)
        await self.env.compare_registers()


class TimestepFailures(TimestepErrors):
    """Each kind of transfer of a timestep fails, in each phase; what it had done stays."""

    async def body(self) -> None:
        env = self.env
        await begin(env)
        for flags, address, nbytes, *more in (
            (ALL | Flag.AFTER, STATE, 4), (ALL | Flag.AFTER, ACTION, 4),
            (ALL | Flag.AFTER, STATE, 4, LIST),
            (ALL | Flag.WITH, ACTION, 4), (ALL, LIST, 64), (ALL, LIST + 64, 32),
            (ALL, LIST + list_bytes(6), 4 * PAIR_BYTES), (ALL, RECORDS, 64),
            (Flag.CRITIC | Flag.ACTOR, RECORDS, 6 * 64),
        ):  # fmt: skip
            for response in env.random.sample((2, 3), min(2, scale(2))):
                job = env.train(flags, 6, 4)
                at = address + 64 * env.random.randrange(-(-nbytes // 64))
                for place in (at, *more):
                    env.fail(place, 64, response)
                await told(env)
                (end,) = await env.run(job)
                env.heal()
                assert not await told(env), f"{job}: an event"
                if address not in (RECORDS,):  # a list may leave these out
                    assert end.error in (Common.E_BUS_RD, Common.E_BUS_WR), f"{job}: no error"
                await self.memories()
                await env.run(env.train(ALL | Flag.AFTER, 6, 4))
                await self.memories()


class TimestepStarts(TimestepErrors):
    """Soft resets in each clock in which a timestep begins; none leaves the engine busy.

    Attributes:
        clocks: from the doorbell on.
    """

    clocks = range(1)

    async def body(self) -> None:
        env = self.env
        await begin(env)
        for clocks in self.clocks:
            await env.send(env.train(Flag.CRITIC | Flag.ACTOR, 4, 4))
            await ClockCycles(env.dut.clk_i, 1 + clocks)
            waited = await env.soft_reset()
            assert waited < 1500, f"a soft reset took {waited} clocks"
        await env.adopt_registers()
        await env.run(env.train(ALL, 6, 4))
        await self.memories()


class Published(TimestepErrors):
    """Timesteps by the published schedule, with the other one between; slots are undefined.

    Attributes:
        within: part by which a job of as many vectors as a core has slots may take longer than the
            cycle model says, and the clocks that it may in any case.
    """

    rounds = 1
    within = 0.01, 400

    async def body(self) -> None:
        env, g, draw = self.env, self.env.geometry, self.env.random.randint
        for turn in range(self.rounds):
            await begin(env, turn % 4 != 3)
            for half in (False, True):
                for way in (Flag.AFTER, Flag.WITH, Flag(0)):
                    await env.settings(half, paper=way != Flag.WITH or turn % 2 == 0)
                    flags = ALL & env.random.getrandbits(8) | way
                    if not flags & Flag.LIST:
                        flags &= ~Flag.WEIGHTS
                    chunk = 2 * draw(1, min(g.vc, scale(g.vc, 8)) // 2)
                    await env.run(*(
                        env.train(flags, draw(1, 2 * chunk), chunk, place=place)
                        for place in range(2 if way == Flag.WITH else 1)
                    ))  # fmt: skip
                    await env.compare_registers()
                await env.run(env.infer())
                await env.acting_slot()
                await self.memories()
                (end,) = await env.run(env.train(0, 4, g.vc + 2))
                assert end.error == (Error.E_BATCH if env.golden._paper else 0)
            await self.clocks()
            await env.write(registers.CFG, 0)
            await env.write(registers.MODE, 0)

    async def clocks(self) -> None:
        """A timestep of a whole chunk takes the clocks of the cycle model."""
        env, g = self.env, self.env.geometry
        await env.write(registers.CFG, registers.CFG.word(paper=1))
        await env.clear_status()
        (job,) = await env.send(env.train(Flag.CRITIC | Flag.ACTOR | Flag.AFTER, g.vc, g.vc))
        await env.check(job)
        took, (part, more) = job.record.end - job.record.start, self.within
        model = env.golden.clocks.total
        assert abs(took - model) < part * model + more, f"{took} clocks, {model} by the model"


class Queues(Timesteps, TimestepErrors):
    """Jobs that wait for a timestep; the next timestep's batch and state are loaded meanwhile.

    Attributes:
        timed: clocks are looked at.
    """

    rounds = 1
    timed = False

    async def body(self) -> None:
        env = self.env
        for turn in range(self.rounds):
            await begin(env, turn % 4 != 3)
            for half in (False, True):
                await env.settings(half)
                await self.together(3, half)
                await env.write(registers.CFG, 0)
                await env.run(self.step(0), env.infer(20), self.step(1))
                await env.run(self.step(0), env.padded(0, 24), self.step(1), env.store(1, 0, 5))
                await self.memories()
            await env.write(registers.MODE, 0)
            for before in (1, 2):
                await self.switch(before)
            await self.failures()
            # Passes of few tiles: entries of a chunk are taken while the next one is begun.
            await begin(env, least=True)
            size = env.geometry.vectors
            await env.run(*(env.train(ALL, size + 2, size, place=place) for place in range(2)))
            await self.memories()
        if self.timed:
            await self.hidden()

    async def hidden(self) -> None:
        """Timesteps in a row do not wait for their records."""
        env, g = self.env, self.env.geometry
        size = g.vectors // 2
        jobs = [env.job(env.train(ALL | Flag.AFTER, size, size, place=k)) for k in range(4)]
        await env.run(jobs[0])
        await env.run(*jobs[1:])
        apart = jobs[3].record.end - jobs[2].record.end
        rows = size * (1 + 2 * g.lines(env.table.states))
        assert apart < jobs[0].clocks - rows, f"{apart} in a row, {jobs[0].clocks} alone, {rows}"

    def step(self, place: int) -> list[int]:
        """A timestep of one chunk or of some."""
        draw = self.env.random.randint
        chunk = 2 * draw(1, min(self.env.geometry.vectors, 8) // 2)
        return self.env.train(any_flags(self.env), draw(1, 3 * chunk), chunk, place=place)

    async def together(self, count: int, half: bool) -> None:
        """Timesteps in a row."""
        jobs = [self.step(place) for place in range(count)]
        await told(self.env)
        await self.env.run(*jobs)
        event = await told(self.env)
        assert event == any(words[0] >> 8 & Flag.WITH for words in jobs), f"event_seen is {event}"
        await self.env.compare_registers()
        await self.slots(jobs[-1])
        await self.memories()

    async def switch(self, before: int) -> None:
        """The switch to 16 bits comes after so many of three timesteps."""
        env = self.env
        await env.write(registers.QDELAY, env.golden.timesteps + before)
        jobs = await env.send(*(self.step(place) for place in range(3)))
        ends = await env.check(*jobs)
        assert [end.detail & 1 for end in ends] == [k >= before for k in range(3)]
        await self.memories()
        await self.slots(jobs[-1].words)
        await env.write(registers.QDELAY, registers.QDELAY.reset)
        await env.write(registers.MODE, 0)

    async def failures(self) -> None:
        """One of two timesteps fails; the other one does not."""
        env = self.env
        kinds = [
            (ALL | Flag.AFTER, STATE), (ALL | Flag.AFTER, ACTION), (ALL | Flag.WITH, ACTION),
            (ALL, LIST), (ALL, LIST + list_bytes(6)), (Flag.CRITIC, RECORDS),
            (ALL | Flag.AFTER, None),
        ]  # fmt: skip
        env.random.shuffle(kinds)
        for number, (flags, address) in enumerate(kinds[: scale(len(kinds), 4)]):
            chunk, at = env.random.choice((4, 6)), number % 2
            jobs = [env.train(flags, 6, chunk, place=place) for place in range(2)]
            if address is None:
                jobs[at][15] = 7 << 8
            else:
                record = env.random.randrange(6) * jobs[at][13] * (address == RECORDS)
                env.fail(address + at * PLACE + record, 64, 2)
            ends = await env.run(*jobs, env.store(0, 0, 2))
            env.heal()
            assert ends[at].error and not ends[1 - at].error, f"{number}: {ends}"
            await self.memories()


class Arrivals(TimestepErrors):
    """A timestep comes at any clock of the one before it.

    Attributes:
        times: pairs of timesteps.
    """

    times = 1

    async def body(self) -> None:
        env, took = self.env, 1
        await begin(env, least=True)
        for turn in range(self.times):
            first, second = (env.train(ALL | Flag.WITH, 4, 4, place=place) for place in range(2))
            begun = clock_number()
            jobs = await env.send(first)
            await ClockCycles(env.dut.clk_i, 1 + turn * took // self.times)
            jobs += await env.send(second)
            await env.check(*jobs)
            if not turn:
                took = (clock_number() - begun) // 2
        await self.memories()


class TimestepResets(TimestepErrors):
    """Soft resets at any clock of a timestep; with lines loaded anew the next one is whole.

    Attributes:
        times: resets.
        queued: timesteps in the ring.
        writing: they come while TD errors are written, of a chunk as large as there is.
    """

    times = 1
    queued = 1
    writing = False

    async def body(self) -> None:
        env = self.env
        for turn in range(self.times):
            await begin(env)
            await env.settings(turn % 2 == 1)
            flags = ALL | (Flag.AFTER if turn % 3 else Flag.WITH)
            begun = clock_number()
            await env.run(*(env.train(flags, 6, 4, place=place) for place in range(self.queued)))
            took = clock_number() - begun
            batch, chunk = (env.geometry.vectors, env.geometry.vectors) if self.writing else (6, 4)
            jobs = [env.train(flags, batch, chunk, place=place) for place in range(self.queued)]
            await env.send(*jobs)
            if self.writing:
                pairs = LIST + list_bytes(batch)
                while not any(burst.address >= pairs for burst in env.ports[0].monitor.writes):
                    await ClockCycles(env.dut.clk_i, 1)
            else:
                await ClockCycles(env.dut.clk_i, env.random.randint(1, took))
            waited = await env.soft_reset()
            assert waited < 1500, f"a soft reset took {waited} clocks"
            for place in range(self.queued):
                env.adopt(ACTION + place * PLACE, 64)
                env.adopt(LIST + place * PLACE + list_bytes(batch), batch * PAIR_BYTES)
            await env.adopt_registers()
            env.golden.timesteps = await env.axil.read(registers.TSTEP.offset)
            for k in range(registers.RNG.count // 2):  # noise may have been drawn
                low, high = [await env.axil.read(registers.RNG.at(2 * k + half)) for half in (0, 1)]
                env.golden.generator.words[k] = low | high << 32
            for region in range(REGIONS):
                await env.run(env.padded(region, 24 if region < 2 else 20))
            await env.run(env.train(flags, 6, 4))
            await self.memories()
            await env.write(registers.CFG, 0)
            await env.write(registers.MODE, 0)
