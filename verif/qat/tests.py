"""pyuvm tests of jd_qat_top; tests/qat/test_qat_top.py runs them."""

from __future__ import annotations

import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles

from flow.effort import scale, some
from models.qat.descriptor import LAYER_JOBS, PAIR_BYTES, Flag, Opcode
from models.qat.layout import ACTOR, CRITIC, Geometry, Slots, plan
from models.qat.validate import RATE_MOST, SCALAR_MOST, TAU_MOST, list_bytes
from models.registers import qat as registers
from models.registers.engine_header import Error as Common
from models.registers.qat import Error
from verif.agents.axi_memory import AxiTiming
from verif.bench import clock_number
from verif.engine_env import EngineSequence, EngineTest
from verif.failures import Array, Case, all_failures
from verif.qat.env import ACTION, LINES, OUT, REGIONS, STATE, TABLE, QatEnv, used
from verif.qat.timesteps import (
    Arrivals,
    Published,
    Queues,
    TimestepErrors,
    TimestepFailures,
    TimestepResets,
    Timesteps,
    TimestepStarts,
)


class Acting(EngineSequence[QatEnv]):
    """Random actors act, in both modes, with noise and without; all that they leave is compared."""

    rounds = 1

    async def body(self) -> None:
        env = self.env
        for turn in range(self.rounds):
            await env.run(env.new_table(bias=turn % 4 != 2))
            await env.run(env.padded(0, 24 if turn % 3 else 32))
            for half in (False, True):
                await env.settings(half)
                for noisy in (False, True):
                    await env.run(env.infer(32 if turn % 3 == 0 else 22, noisy))
                await env.acting_slot()
                await env.compare_registers()
            await env.write(registers.CFG, 0)
            await env.write(registers.MODE, 0)


class Lines(EngineSequence[QatEnv]):
    """Lines of each memory and of slots, there and back."""

    rounds = 1

    async def body(self) -> None:
        env, g, draw = self.env, self.env.geometry, self.env.random.randint
        for _ in range(self.rounds):
            for region in range(REGIONS):
                first = draw(0, g.w_lines - 1)
                count = draw(1, min(100, g.w_lines - first))
                await env.run(env.load(region, first=first, count=count))
                await env.run(env.store(region, first, count))
            for delta in (False, True):
                lines = g.del_lines if delta else g.act_lines
                core, slot = draw(0, g.n - 1), draw(0, g.vc - delta)
                line = draw(0, lines - 1)
                count = draw(1, min(9, lines - line))
                await env.run(env.put_slot(core, slot, line, env.numbers(count, g.lw), delta))
                await env.run(env.get_slot(core, slot, line, count, delta))


class Updates(EngineSequence[QatEnv]):
    """Networks are updated from G; shifts are captured; the generator gets seeds."""

    rounds = 1

    async def body(self) -> None:
        env = self.env
        for turn in range(self.rounds):
            await env.run(env.new_table(bias=turn % 3 != 2))
            await env.optimize()
            await env.compare_registers()
            await env.run(env.padded(0, 24))
            for with_x in (True, False):
                await env.write(registers.CFG, registers.CFG.word(noise=3 - (turn % 3)))
                await env.run(env.seed(with_x))
                await env.run(env.infer(20, noisy=True))
            await env.run([Opcode.QUANT])
            await env.compare_registers()
            await env.run(env.infer())
            for k in range(registers.SHIFT.count):  # any range, not what was seen
                size = env.random.randint(1, 32)
                for register in (registers.MON_MIN, registers.MON_MAX):
                    await env.write(register, env.random.getrandbits(size) & 0xFFFFFFFF, k)
            await env.write(registers.MON_MAX, 0x7FFFFFFF, registers.SHIFT.count - 1)
            for headroom in range(4):
                await env.write(registers.CFG, registers.CFG.word(headroom=headroom))
                await env.run([Opcode.QUANT])
                await env.compare_registers()
            for register in (registers.MON_MIN, registers.MON_MAX):
                for k in range(registers.SHIFT.count):
                    await env.write(register, 0, k)
            await env.write(registers.CFG, 0)
            await env.write(registers.MODE, 0)


class Layers(EngineSequence[QatEnv]):
    """FW, DX and DW of single layers over slots."""

    rounds = 1

    async def body(self) -> None:
        env, g, draw = self.env, self.env.geometry, self.env.random.randint
        for turn in range(self.rounds):
            await env.run(env.new_table())
            for region in (0, 1):
                await env.run(env.padded(region, 24))
            for half in (False, True):
                await env.settings(half)
                net = draw(ACTOR, CRITIC)
                index = draw(0, len(env.table.networks[net]) - 1)
                layer = env.table.networks[net][index]
                vectors = draw(1, min(g.vectors, scale(100, 10)))
                for v in range(vectors):
                    lines = env.numbers(g.lines(layer.q), g.lw)
                    lines.reshape(-1)[layer.q :] = 0
                    await env.run(env.put_slot(v % g.n, v // g.n, 0, lines))
                sink = g.act_lines - g.lines(layer.p)
                where = net | index << 4 | (turn % 2) << 8
                await env.run([Opcode.FW, 0, *[0] * 6, where, vectors, 0, sink])
                step = 2 if env.golden._half and index + 1 < len(env.table.networks[net]) else 1
                for v in range(vectors):
                    if v // g.n % step == 0:
                        await env.run(env.get_slot(v % g.n, v // g.n, sink, g.lines(layer.p)))
                await self.back(net, index, vectors)
                await env.compare_registers()

    async def back(self, net: int, index: int, vectors: int) -> None:
        """DX and DW of a layer whose inputs lie in line 0 of ACT."""
        env, g = self.env, self.env.geometry
        layer, where = env.table.networks[net][index], net | index << 4
        inputs, outputs = g.lines(layer.q), g.lines(layer.p)
        slots = [(v % g.n, v // g.n) for v in range(vectors)]
        for slot in slots:
            await env.run(env.put_slot(*slot, 0, env.numbers(outputs, g.lw, size=30), True))
            if index:  # what decides the derivative
                place = env.golden.slots.outputs[net][index - 1]
                await env.run(env.put_slot(*slot, place, env.numbers(inputs, g.lw)))
        sink = g.del_lines - inputs
        await env.run([Opcode.DX, 0, *[0] * 6, where, vectors, 0, sink])
        for slot in slots:
            await env.run(env.get_slot(*slot, sink, inputs, True))
        ranges = layer.ranges(g)
        for line, count in ranges:
            await env.run(env.load(2, first=line, count=count))
        await env.run([Opcode.DW, 0, *[0] * 6, where, vectors, 0, 0])
        for line, count in ranges:
            await env.run(env.store(2, line, count))


def spoiled(env: QatEnv, **words: int) -> list[int]:
    """A NET whose table has other words; `w16` is the word 16."""
    table = env.table.encode(env.geometry)
    for name, value in words.items():
        table[int(name[1:])] = value
    env.put(TABLE, table)
    return [Opcode.NET, 0, TABLE]


class Errors(EngineSequence[QatEnv]):
    """Each code from two causes at least, and good jobs after them."""

    async def body(self) -> None:
        env, g = self.env, self.env.geometry

        async def fails(code: int, words: list[int], **changes: int) -> None:
            spoilt = [*words, *[0] * (16 - len(words))]
            for name, value in changes.items():
                spoilt[int(name[1:])] = value
            (end,) = await env.run(spoilt)
            assert end.error == code, f"{spoilt}: {end.error}, want {code!r}"
            if words[0] & 0xFF == Opcode.SEED:
                await env.compare_generator()

        net = env.new_table()
        infer = [Opcode.INFER, 0, 0, 0, STATE, 0, ACTION]
        layers = [[opcode, 0, *[0] * 6, 0, 1, 0, 0] for opcode in LAYER_JOBS]
        await fails(Error.E_NO_NET, infer)
        for layer in layers:
            await fails(Error.E_NO_NET, layer)
        await fails(Error.E_NO_NET, env.adam(0, 1, False))
        await env.run(net)
        await env.run(env.padded(0, 24))
        good = env.infer()
        store, get = env.store(0, 0, 2), env.get_slot(0, 0, 0, 1)
        adam = env.adam(1, 1, True)
        quant: list[int] = [Opcode.QUANT]
        seed, listed = env.seed(False), env.seed(True)
        for opcode in (0x04, 0x12, 0xFF):
            await fails(Common.E_OPCODE, [opcode])
        unused: list[tuple[list[int], tuple[int, ...]]] = [
            (net, (3, 4, 8, 15)), (store, (3, 4, 8, 11)), (get, (3, 8, 12)),
            (good, (2, 3, 5, 7, 8, 13)), *((layer, (2, 3, 6, 8, 12)) for layer in layers),
            (adam, (2, 7, 8, 10)), (quant, (2, 9, 15)), (seed, (2, 3, 12)), (listed, (3, 12)),
        ]  # fmt: skip
        for words, places in unused:
            for place in places:
                await fails(Common.E_RESERVED, words, **{f"w{place}": 1 << 31})
            await fails(Common.E_RESERVED, words, w0=words[0] | 0x200)
            if words in (adam, quant):
                await fails(Common.E_RESERVED, words, w0=words[0] | 0x100)
            if words in (seed, quant):
                await fails(Common.E_RESERVED, words, w0=words[0] | 0x800)
            await fails(Common.E_RESERVED, words, w0=words[0] | 1 << 29)
        for words, place in ((net, 2), (store, 2), (get, 2), (good, 4), (good, 6), (listed, 2)):
            for bit in (4, 32):
                await fails(Common.E_ALIGN, words, **{f"w{place}": words[place] + bit})
        await fails(Error.E_BATCH, store, w10=0)
        await fails(Error.E_BATCH, get, w11=0)
        for layer in layers:
            await fails(Error.E_BATCH, layer, w9=0)
            await fails(Error.E_BATCH, layer, w9=g.vectors + 1)
            if layer[0] != Opcode.FW:
                await fails(Common.E_RESERVED, layer, w8=1 << 8)
        await fails(Error.E_RANGE, store, w8=5)
        await fails(Error.E_RANGE, store, w9=g.w_lines)
        await fails(Error.E_RANGE, store, w9=g.w_lines - 1, w10=2)
        await fails(Error.E_RANGE, store, w9=1, w10=0xFFFFFFFF)
        await fails(Error.E_SLOT, get, w8=g.n)
        await fails(Error.E_SLOT, get, w9=g.vc + 1)
        await fails(Error.E_SLOT, get, w8=16, w9=g.vc)
        await fails(Error.E_SLOT, get, w10=g.act_lines)
        await fails(Error.E_SLOT, get, w8=16, w10=g.del_lines)
        await fails(Error.E_SLOT, get, w10=g.act_lines - 1, w11=2)
        await fails(Error.E_SLOT, get, w11=0xFFFFFFFF)
        for layer, (first, second) in zip(layers, self.limits(), strict=True):
            await fails(Error.E_SLOT, layer, w10=first + 1)
            await fails(Error.E_SLOT, layer, w11=second + 1)
            await fails(Error.E_SLOT, layer, w11=0xFFFFFFFF)
            await fails(Error.E_NO_NET, layer, w8=0xF0)
            await fails(Error.E_NO_NET, layer, w8=len(env.table.networks[0]) << 4)
        await self.ends()
        await self.values(fails, adam, seed)
        await env.write(registers.CFG, registers.CFG.word(noise=4))
        await fails(Error.E_VALUE, good, w0=good[0] | 0x100)
        await env.write(registers.CFG, 0)
        await env.write(registers.MODE, 1)
        for k in (7, 2):
            await env.write(registers.SHIFT, 17, k)
            await fails(Error.E_VALUE, good)
            for layer in layers:
                await fails(Error.E_VALUE, layer)
        for k in (7, 2):
            await env.write(registers.SHIFT, 16, k)
        await env.run(good)
        await env.write(registers.MODE, 0)
        await env.run(good)
        await self.tables(fails, good)

    async def values(self, fails, adam: list[int], seed: list[int]) -> None:  # type: ignore[no-untyped-def]
        """Numbers of ADAM and SEED, and Adam's registers, at their ends and beyond."""
        env = self.env
        await env.optimize()
        await fails(Error.E_VALUE, seed, **{f"w{k}": 0 for k in range(4, 12)})
        await env.run([*seed[:4], *[0] * 7, 1 << 31])
        scalars = (registers.B1C, registers.B2C, registers.EPS)
        for register, most in ((scalars[0], 0), (scalars[1], SCALAR_MOST), (scalars[2], 0),
                               (registers.TAU, TAU_MOST)):  # fmt: skip
            await env.write(register, 0 if not most else most + 1)
            await fails(Error.E_VALUE, adam)
            await fails(Error.E_VALUE, adam, w9=RATE_MOST + 1)
            await env.write(register, most or 1)
        for register in (registers.TAU, *reversed(scalars)):  # the lowest is named
            await env.write(register, 0x1FFFFFF)
            await fails(Error.E_VALUE, adam)
        for register in scalars:
            await env.write(register, 1)
        await fails(Error.E_VALUE, adam)
        await env.write(registers.TAU, TAU_MOST)
        await env.run([*adam[:9], RATE_MOST])

    def limits(self) -> list[tuple[int, int]]:
        """Last lines in words 10 and 11 of FW, DX and DW of the actor's first layer."""
        g, first = self.env.geometry, self.env.table.networks[0][0]
        inputs, outputs = g.lines(first.q), g.lines(first.p)
        return [
            (g.act_lines - inputs, g.act_lines - outputs),
            (g.del_lines - outputs, g.del_lines - inputs),
            (g.act_lines - inputs, g.del_lines - outputs),
        ]

    async def ends(self) -> None:
        """What lies just inside of a memory, of a slot, of the table is good."""
        env, g = self.env, self.env.geometry
        first = env.table.networks[0][0]
        inputs, outputs = g.lines(first.q), g.lines(first.p)
        await env.run(env.load(0, 24, g.w_lines - 1, 1))
        await env.run(env.store(0, g.w_lines - 1, 1))
        for slot, delta, lines in ((g.vc, False, g.act_lines), (g.vc - 1, True, g.del_lines)):
            await env.run(env.put_slot(g.n - 1, slot, lines - 1, env.numbers(1, g.lw), delta))
            await env.run(env.get_slot(g.n - 1, slot, lines - 1, 1, delta))
        for source, sink in ((g.act_lines - inputs, 0), (0, g.act_lines - outputs)):
            for v in range(g.vectors):
                values = env.numbers(inputs, g.lw, size=20)
                await env.run(env.put_slot(v % g.n, v // g.n, source, values))
            await env.run([Opcode.FW, 0, *[0] * 6, 0, g.vectors, source, sink])
            await env.run(env.get_slot(g.n - 1, g.vc - 1, sink, outputs))
        _, (last_source, last_sink), (last_act, last_delta) = self.limits()
        for source, sink, act, place in (
            (last_source, 0, last_act, 0),
            (0, last_sink, 0, last_delta),
        ):
            values = env.numbers(outputs, g.lw, size=24)
            await env.run(env.put_slot(0, 0, source, values, True))
            await env.run([Opcode.DX, 0, *[0] * 6, 0, 1, source, sink])
            await env.run(env.get_slot(0, 0, sink, inputs, True))
            await env.run(env.put_slot(0, 0, act, env.numbers(inputs, g.lw, size=24)))
            await env.run(env.put_slot(0, 0, place, values, True))
            await env.run(env.load(2, first=first.wbase, count=first.p * inputs))
            await env.run([Opcode.DW, 0, *[0] * 6, 0, 1, act, place])
            await env.run(env.store(2, first.wbase, first.p * inputs))

    async def tables(self, fails, good: list[int]) -> None:  # type: ignore[no-untyped-def]
        """Wrong tables; after each the engine has no table."""
        env, g = self.env, self.env.geometry
        while len(env.table.networks[0]) == g.max_layers:
            env.new_table()
        table, critic = env.table, 16 + 4 * g.max_layers
        count = len(table.networks[0])
        words = [int(word) for word in table.encode(g)]
        last = 16 + 4 * (count - 1)
        for code, changes in (
            (Common.E_RESERVED, {"w2": 1}),
            (Common.E_RESERVED, {"w15": 1, f"w{critic}": 0}),
            (Common.E_RESERVED, {"w17": words[17] | 1 << 9}),
            (Common.E_RESERVED, {f"w{last + 4}": 1}),
            (Common.E_RESERVED, {f"w{critic + 1}": words[critic + 1] & 0xFF}),
            (Error.E_DIM, {"w0": words[0] & 0xFFFF0000}),
            (Error.E_DIM, {"w0": words[0] & 0xFFFF | (g.lw - 1) << 16}),
            (Error.E_DIM, {"w0": g.max_dim + 1 | 1 << 16}),
            (
                Error.E_DIM,
                {"w1": words[1] & 0xFFFF0000 | 1} | {f"w{k}": 0 for k in range(20, critic)},
            ),
            (Error.E_DIM, {"w1": words[1] & 0xFFFF | g.max_layers + 1 << 16}),
            (Error.E_DIM, {"w16": words[16] + (1 << 16)}),
            (Error.E_DIM, {"w16": words[16] & 0xFFFF0000}),
            (Error.E_DIM, {f"w{last}": words[last] + 1}),
            (Error.E_DIM, {"w17": 2 | 1 << 8}),
            (Error.E_DIM, {f"w{last + 1}": 1 | 1 << 8}),
            (Error.E_DIM, {f"w{critic + 1}": 3 | 1 << 8}),
            (Error.E_RANGE, {"w18": g.w_lines}),
            (Error.E_RANGE, {"w19": 0xFFFFFFFF}),
            (Error.E_RANGE, {"w22": words[18]}),
            (Error.E_RANGE, {f"w{critic + 3}": words[19]}),
            (Error.E_RANGE, {f"w{critic + 2}": words[22]}),
        ):
            await fails(code, spoiled(env, **changes))
            await fails(Error.E_NO_NET, good)
        wide = self.deep(g)
        if wide is not None:
            env.put(TABLE, wide)
            await fails(Error.E_SLOT, [Opcode.NET, 0, TABLE])
        env.put(TABLE, table.encode(g))
        await env.run([Opcode.NET, 0, TABLE])
        await env.run(env.padded(0, 24))
        await env.run(env.infer())

    def deep(self, g: Geometry) -> np.ndarray | None:
        """A table whose networks need more lines than a slot has, if the memory holds one."""
        for size in range(1, g.max_dim + 1):
            table = plan(1, 1, [size] * (g.max_layers - 1), g)
            if used(table, g) > g.w_lines:
                return None
            slots = Slots.of(table, g)
            if slots.act > g.act_lines or slots.delta > g.del_lines:
                return table.encode(g)
        return None


class BusErrors(EngineSequence[QatEnv]):
    """Each kind of transfer fails, at any beat; then the job runs well."""

    async def body(self) -> None:
        env, g = self.env, self.env.geometry
        await env.run(env.new_table())
        await env.run(env.padded(0, 24))
        line = 4 * g.lw
        for job, address, nbytes in (
            (env.load(0, 24, 3, 40), LINES, 40 * line),
            (env.load(4, 24, 3, 20), LINES, 40 * line),
            (env.put_slot(0, 1, 0, env.numbers(9, g.lw)), LINES, 9 * line),
            (env.store(0, 0, 24), OUT, 24 * line),
            (env.get_slot(0, 1, 0, 9), OUT, 9 * line),
            (env.infer(), STATE, 4 * env.table.states),
            (env.load(4), LINES, 32 * 64),  # while the fourth command of 64 beats waits
            (env.infer(), ACTION, 4),
            (env.seed(True), LINES, line),
            ([Opcode.NET, 0, TABLE], TABLE, 64 + 32 * g.max_layers),
        ):
            for response in (2, 3):
                at = env.random.randrange(-(-nbytes // 64))
                env.fail(address + 64 * at, 64, response)
                (end,) = await env.run(job)
                assert end.error in (Common.E_BUS_RD, Common.E_BUS_WR), f"{job}: no error"
                env.heal()
                if job[0] & 0xFF == Opcode.SEED:
                    await env.compare_generator()
                if job[0] == Opcode.NET:
                    await env.run(env.infer())
                await env.run(job)
            if job[0] == Opcode.INFER:
                await env.acting_slot()
        for region, first, count in ((0, 0, 24), (4, 3, 20)):
            await env.run(env.store(region, first, count))
        await env.compare_registers()


class Resets(EngineSequence[QatEnv]):
    """Soft resets at any clock of a job; memories and networks stay, slots do not."""

    times = 1

    async def body(self) -> None:
        env, g = self.env, self.env.geometry
        await env.run(env.new_table())
        await env.run(env.padded(0, 24))
        sink = g.del_lines - g.lines(env.table.states)
        for turn in range(self.times):
            job = (
                env.store(0, 0, used(env.table, g)),
                env.infer(),
                [Opcode.DW, 0, *[0] * 6, 0, g.vectors, 0, 0],
                [Opcode.DX, 0, *[0] * 6, 0, g.vectors, 0, sink],
            )[turn % 4]
            await env.send(job)
            await ClockCycles(env.dut.clk_i, env.random.randint(1, 500))
            took = await env.soft_reset()
            assert took < 1500, f"a soft reset took {took} clocks"
            env.adopt(OUT, 8 * g.lw * g.w_lines)
            env.adopt(ACTION, 64)
            # What a dropped inference showed to the monitors and counters is not predicted.
            await env.adopt_registers()
            assert not env.golden.partial, "MODE.partial without an update"
            await env.run(env.infer())
            await env.acting_slot()
            # A gradient that was dropped is undefined.
            await env.run(env.load(2, count=used(env.table, g)))
            await env.run(env.store(2, count=used(env.table, g)))


class Dropped(EngineSequence[QatEnv]):
    """Updates that a soft reset or the watchdog ends early.

    Lines that have come to Adam are written in all memories, the others in none; MODE.partial tells
    of an update that had begun until W is loaded.
    """

    times = 1
    tail = 60  # clocks of the watchdog: fewer than from Adam's last line to its end

    async def body(self) -> None:
        env = self.env
        await env.run(env.new_table())
        await env.optimize()
        await env.write(registers.B1C, 1 << 23)
        begun = clock_number()
        await env.check(*await env.send(env.adam(0, RATE_MOST, True)))
        took = clock_number() - begun
        for _ in range(self.times):
            await self.reset(took)
        await self.time_out()
        await env.optimize()

    async def reset(self, clocks: int) -> None:
        """A soft reset at any clock of an update, which takes about so many."""
        env = self.env
        net, count = env.random.randrange(2), used(env.table, env.geometry)
        await env.send(env.adam(net, RATE_MOST, True))
        await ClockCycles(env.dut.clk_i, env.random.randint(clocks // 4, clocks))
        took = await env.soft_reset()
        assert took < 400, f"a soft reset took {took} clocks"
        written, due = await self.adopt(net, count)
        env.golden.partial = await env.axil.read(registers.MODE.offset) == 2
        # An update may have ended before the reset came, or begun without a line in Adam.
        assert env.golden.partial or written in (0, due)
        await self.adopt_saturated()
        await self.clear()

    async def time_out(self) -> None:
        """The watchdog does not wait for the last lines."""
        env = self.env
        await env.watchdog(self.tail)
        (job,) = await env.send(env.adam(0, RATE_MOST, False))
        await env.timed_out(job)
        await env.watchdog(0)
        env.predict(job)
        env.golden.partial = True
        for region in range(REGIONS):
            await env.run(env.store(region, 0, used(env.table, env.geometry)))
        await self.clear()

    async def clear(self) -> None:
        """Whether or not it is set, jobs tell of MODE.partial until a LOAD of W ends well."""
        env = self.env
        await env.run(env.load(1, first=1, count=1))
        load = env.load(0, first=1, count=1)
        env.fail(LINES, 64, 2)
        (end,) = await env.run(load)
        assert end.detail == 2 * env.golden.partial
        env.heal()
        (end,) = await env.run(load)
        assert not end.detail
        await env.compare_registers()

    async def adopt(self, net: int, count: int) -> tuple[int, int]:
        """Take what an update had written into the golden engine.

        Returns: how many lines it had changed, and how many a whole update changes.
        """
        env, path = self.env, self.env.golden.path
        memories = (path.w, path.t, path.g, path.m, path.v)
        before = [memory[:count].copy() for memory in memories]
        path.update(net, env.golden._adam(RATE_MOST, True))
        moves = (path.m[:count] != before[3]).any(1)
        written, due = np.zeros(count, bool), np.zeros(count, bool)
        for region, (old, memory) in enumerate(zip(before, memories, strict=True)):
            (job,) = await env.send(env.store(region, 0, count))
            await env.ended(job)
            env.adopt(OUT, old.nbytes)
            got = env.golden_memory.dump(OUT, old.nbytes).view(old.dtype).reshape(old.shape)
            fresh = (got != old).any(1)
            written |= fresh
            due |= (memory[:count] != old).any(1)
            np.testing.assert_array_equal(got[fresh], memory[:count][fresh])
            memory[:count] = got
        # Half of the way from m to g is a change of every line whose m is not there yet.
        assert ((memories[3][:count] != before[3]).any(1) == (written & moves)).all()
        return int(written.sum()), int(due.sum())

    async def adopt_saturated(self) -> None:
        """Take the counters of saturated values into the golden engine."""
        for k in range(registers.SAT.count):
            self.env.golden.path.saturated[k] = await self.env.axil.read(registers.SAT.at(k))


async def cases(env: QatEnv) -> list[Case]:
    """Jobs for `verif.failures`."""
    g = env.geometry
    await env.run(env.new_table())
    await env.run(env.padded(0, 20))
    infer = env.infer(20)
    line = 4 * g.lw
    count = min(g.w_lines, 200)
    batch, flags = 9, Flag.LIST | Flag.WEIGHTS | Flag.AFTER
    train = env.train(flags, batch, 4)
    records = train[13] * (train[12] - 1) + g.record_bytes(env.table.states)
    listed = list_bytes(batch) + PAIR_BYTES * batch
    # What is read back must have been written: memories and slots begin undefined.
    await env.run(env.load(1, count=count))
    await env.run(env.padded(1, 20))
    await env.run(env.put_slot(0, 0, 0, env.numbers(3, g.lw)))
    return [
        Case(infer, {4: Array(4 * env.table.states), 6: Array(4 * env.table.actions, written=True)},
             repeats=True),
        Case(train, {2: Array(records), 4: Array(4 * env.table.states),
                     6: Array(4 * env.table.actions, written=True), 10: Array(listed)},
             repeats=True),
        Case(env.store(1, 0, count), {2: Array(line * count, written=True)}, repeats=True),
        Case(env.get_slot(0, 0, 0, 3), {2: Array(3 * line, written=True)}, repeats=True),
        Case(env.seed(True), {2: Array(line)}, repeats=True),
        Case(env.load(2, 32, 0, count), {2: Array(line * count)}),
        Case(env.put_slot(0, 1, 0, env.numbers(4, g.lw)), {2: Array(4 * line)}),
    ]  # fmt: skip


class Base(EngineTest):
    """The usual environment."""

    environment = QatEnv


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Smoke(Base):
    """Each job with a quick memory."""

    sequences = (
        Lines(rounds=scale(8, 1)), Acting(rounds=scale(3, 1)), Updates(rounds=scale(3, 1)),
        Layers(rounds=scale(2, 1)),
    )  # fmt: skip


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class Learning(Base):
    """Timesteps, wrong ones too, and a memory that fails."""

    sequences = (
        Timesteps(rounds=scale(12, 2)), TimestepErrors(), TimestepFailures(),
        TimestepResets(times=scale(40, 6)), TimestepStarts(clocks=some(range(120))),
    )  # fmt: skip


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Queued(Base):
    """Jobs that wait for timesteps, and soft resets."""

    sequences = (
        Queues(rounds=scale(3, 1), timed=True), Arrivals(times=scale(100, 60)),
        TimestepResets(times=scale(10, 2), queued=2),
    )  # fmt: skip


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class Paper(Base):
    """The published schedule."""

    sequences = (Published(rounds=scale(6, 1)),)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Wrong(Base):
    """Wrong descriptors and tables, and a memory that fails."""

    sequences = (Errors(), BusErrors(), Dropped(times=scale(6, 2)))


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BackPressure(Base):
    """Jobs and resets with a slow memory."""

    timing = AxiTiming(latency=(1, 120), busy=0.6)
    sequences = (
        Lines(rounds=scale(4, 1)), Acting(rounds=scale(6, 1)), Layers(rounds=scale(4, 1)),
        Resets(times=scale(16, 4)), Updates(rounds=scale(3, 1)), Dropped(times=scale(8, 2)),
        Queues(rounds=1), TimestepResets(times=scale(10, 4)),
        TimestepResets(times=scale(6, 3), writing=True),
        TimestepResets(times=scale(4, 2), queued=3),
    )  # fmt: skip


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Failures(Base):
    """Arrays at the end of memory, and a memory that fails or does not answer."""

    sequences = all_failures(cases)


@pyuvm.test(timeout_time=4, timeout_unit="ms", expect_error=AssertionError)
class ScoreboardFires(Base):
    """A golden weight that differs makes the comparison of an action fail."""

    async def scenario(self) -> None:
        env = self.env
        await env.run(env.new_table())
        await env.run(env.padded(0, 24))
        env.golden.path.w[env.table.networks[0][-1].bbase, 0] ^= 1 << 20
        await env.run(env.infer(18))
