"""The environment of the qat engine, and what its tests put into memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from models.qat import noise
from models.qat.descriptor import LAYER_JOBS, PAIR_BYTES, Flag, Opcode
from models.qat.layout import ACTOR, Geometry, Slots, Table, plan
from models.qat.validate import RATE_MOST, SCALAR_MOST, TAU_MOST, list_bytes
from models.registers import qat as registers
from models.registers.engine_header import Error as Common
from models.registers.map import Register
from models.registers.qat import Error
from verif.coverage import Bins
from verif.engine_env import EngineEnv, JobItem

TABLE, LINES, OUT, STATE, ACTION = 0x100000, 0x110000, 0x200000, 0x300000, 0x310000
RECORDS, LIST = 0x320000, 0x400000
PLACE = 0x400000  # from the arrays of a timestep to those of the next
REGIONS, SECOND = 5, 4
# The shared control's own tests reach the first, Dropped the second, of a job without prediction.
UNREACHED = ("E_RING", "E_TIMEOUT")
BINS: dict[str, Bins] = {
    "opcode": {op.name: lambda job, op=op: job.opcode == op and not job.end.error for op in Opcode},
    "error": {
        e.name: lambda job, e=e: job.end.error == e for e in Error if e.name not in UNREACHED
    },
    "mode": {
        f"{op.name} {name}": lambda job, op=op, bit=bit: (
            job.opcode == op and not job.end.error and job.end.detail & 1 == bit
        )
        for op in (Opcode.INFER, Opcode.TRAIN, *LAYER_JOBS)
        for bit, name in enumerate(("full", "half"))
    },
    "layer": {
        f"{op.name} {name}": lambda job, op=op, later=later: (
            job.opcode == op and not job.end.error and (job.words[8] >> 4 > 0) == later
        )
        for op in (Opcode.DX, Opcode.DW)
        for later, name in enumerate(("first", "later"))
    },
    "noise": {
        "with": lambda job: job.opcode == Opcode.INFER and job.words[0] >> 8 & 1,
        "without": lambda job: job.opcode == Opcode.INFER and not job.words[0] >> 8 & 1,
    },
    "update": {
        f"{net} {name}": lambda job, index=index, bit=bit: (
            job.opcode == Opcode.ADAM
            and not job.end.error
            and (job.words[8], job.words[0] >> 11 & 1) == (index, bit)
        )
        for index, net in enumerate(("actor", "critic"))
        for bit, name in enumerate(("alone", "with targets"))
    },
    "seed": {
        name: lambda job, bit=bit: (
            job.opcode == Opcode.SEED and not job.end.error and job.words[0] >> 8 & 1 == bit
        )
        for bit, name in enumerate(("alone", "with x"))
    },
    "timestep": {
        name: lambda job, test=test: (
            job.opcode == Opcode.TRAIN and not job.end.error and test(job.words)
        )
        for name, test in {
            **{
                f"{flag.name} {bit}": lambda w, flag=flag, bit=bit: bool(w[0] >> 8 & flag) == bit
                for flag in Flag
                for bit in (False, True)
            },
            "one chunk": lambda w: w[14] & 0xFFFF <= w[14] >> 16,
            "two chunks": lambda w: 1 < (w[14] & 0xFFFF) / (w[14] >> 16) <= 2,
            "more chunks": lambda w: (w[14] & 0xFFFF) / (w[14] >> 16) > 2,
            "odd batch": lambda w: w[14] & 1,
            "even batch": lambda w: not w[14] & 1,
        }.items()
    },
    "partial": {"told": lambda job: job.end.detail & 2 and not job.end.error},
    "region": {
        f"{op.name} {region}": lambda job, op=op, region=region: (
            job.opcode == op and job.words[8] == region and not job.end.error
        )
        for op in (Opcode.LOAD, Opcode.STORE)
        for region in range(REGIONS)
    },
    "slots": {
        f"{op.name} {name}": lambda job, op=op, delta=delta: (
            job.opcode == op and job.words[8] >> 4 & 1 == delta and not job.end.error
        )
        for op in (Opcode.PUTX, Opcode.GETX)
        for delta, name in enumerate(("activations", "deltas"))
    },
}


def used(table: Table, geometry: Geometry) -> int:
    """Lines that a table's networks use in each memory."""
    return max(line + n for line, n in table.networks[1][-1].ranges(geometry))


class QatEnv(EngineEnv):
    """The common environment.

    Attributes:
        table: of the last NET that ended well.
    """

    engine, group, bins = "qat", "qat.job", BINS
    table: Table

    @property
    def geometry(self) -> Geometry:
        """Of the build."""
        found: Geometry = self.golden.geometry
        return found

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        w, line = job.words, 4 * self.geometry.lw
        if job.opcode == Opcode.STORE:
            return [(w[2] | w[3] << 32, line * w[10] * (2 if w[8] == SECOND else 1))]
        if job.opcode == Opcode.GETX:
            return [(w[2] | w[3] << 32, line * w[11])]
        if job.opcode == Opcode.INFER:
            return [(w[6] | w[7] << 32, 64)]
        if job.opcode == Opcode.TRAIN:
            flags, out = w[0] >> 8, []
            if flags & (Flag.AFTER | Flag.WITH):
                out.append((w[6] | w[7] << 32, 64))
            if flags & Flag.WEIGHTS and flags & Flag.LIST:
                listed, batch = w[10] | w[11] << 32, w[14] & 0xFFFF
                out.append((listed + list_bytes(batch), PAIR_BYTES * batch))
            return out
        return []

    def undefined(self, job: JobItem) -> Iterable[tuple[int, int]]:
        return self.outputs(job) if job.end.error == Common.E_BUS_WR else []

    def sample(self, *jobs: JobItem) -> None:
        for job in jobs:
            self.cover.sample(job)

    def compares(self, register: Register) -> bool:
        return register is not registers.CYC_WAIT

    async def adopt_registers(self) -> None:
        """Take what a dropped job counted, and showed to monitors, into the golden engine."""
        golden, path = self.golden, self.golden.path
        for k in range(registers.SHIFT.count):
            for register, values in ((registers.MON_MIN, path.low), (registers.MON_MAX, path.high)):
                word = await self.axil.read(register.at(k))
                values[k] = word - (word >> 31 << 32)
            path.saturated[k] = await self.axil.read(registers.SAT.at(k))
        golden.entries = await self.counter(registers.TILEVEC_LO.offset)
        golden.partial = bool(await self.axil.read(registers.MODE.offset) & 2)

    # ---- Jobs
    def numbers(self, *shape: int, size: int = 32) -> np.ndarray:
        """Random integers of up to so many bits, int32."""
        half = 1 << size - 1
        rng = np.random.default_rng(self.random.getrandbits(32))
        return rng.integers(-half, half, shape).astype(np.int32)

    def new_table(self, bias: bool = True, least: bool = False) -> list[int]:
        """A random network table in memory, and its NET.

        Args:
            least: of as few tiles as there can be.
        """
        g, draw = self.geometry, self.random.randint
        while True:
            hidden = [draw(1, min(g.max_dim, 5 * g.lw)) for _ in range(draw(1, g.max_layers - 1))]
            actions = draw(1, g.lw - 2)
            states = draw(1, min(5 * g.lw - 2, g.max_dim - actions))
            if least:
                hidden, states = [draw(1, g.lw)], draw(1, g.lw - actions)
            table = plan(states, actions, hidden, g, bias=bias)
            slots = Slots.of(table, g)
            fits = slots.act <= g.act_lines and slots.delta <= g.del_lines
            if fits and used(table, g) <= g.w_lines:
                break
        self.table = table
        self.put(TABLE, table.encode(g))
        return [Opcode.NET, 0, TABLE]

    def load(self, region: int, size: int = 32, first: int = 0, count: int = 0) -> list[int]:
        """LOAD of lines, by default all, which are in memory."""
        g = self.geometry
        count = count or g.w_lines
        lines = self.numbers(count, g.lw * (2 if region == SECOND else 1), size=size)
        self.put(LINES, lines)
        return [Opcode.LOAD, 0, LINES, 0, 0, 0, 0, 0, region, first, count]

    def padded(self, region: int, size: int) -> list[int]:
        """LOAD of a memory in which the padding of lines is 0, as software keeps it."""
        g = self.geometry
        lines = np.zeros((used(self.table, g), g.lw), np.int32)
        path = self.golden.path
        for layers in self.table.networks:
            for layer in layers:
                for part in (path.weights(lines, layer), path.biases(lines, layer)):
                    part[...] = self.numbers(*part.shape, size=size)
        # Second moments are squares of 64 bits.
        self.put(LINES, lines.astype(np.int64) ** 2 if region == SECOND else lines)
        return [Opcode.LOAD, 0, LINES, 0, 0, 0, 0, 0, region, 0, len(lines)]

    def store(self, region: int, first: int = 0, count: int = 0) -> list[int]:
        """STORE of lines."""
        count = count or self.geometry.w_lines
        return [Opcode.STORE, 0, OUT, 0, 0, 0, 0, 0, region, first, count]

    def moments(self, first: int, count: int) -> list[int]:
        """LOAD of V: lines of values of any size."""
        rng = np.random.default_rng(self.random.getrandbits(32))
        shape = (count, self.geometry.lw)
        values = rng.integers(0, 1 << 64, shape, np.uint64, endpoint=False)
        self.put(LINES, values >> rng.integers(0, 64, shape, np.uint64))
        return [Opcode.LOAD, 0, LINES, 0, 0, 0, 0, 0, SECOND, first, count]

    def adam(self, net: int, rate: int, targets: bool) -> list[int]:
        """ADAM of a network."""
        return [Opcode.ADAM | Flag.TARGETS * targets << 8, *[0] * 7, net, rate]

    def seed(self, with_x: bool) -> list[int]:
        """SEED with a random state, and random x in memory."""
        self.put(LINES, self.numbers(1, self.geometry.lw))
        state = [self.random.getrandbits(32) for _ in range(8)]
        return [Opcode.SEED | with_x << 8, 0, LINES * with_x, 0, *state]

    async def compare_generator(self) -> None:
        """Compare the first words of the generator's state and of x."""
        for register in (registers.RNG, registers.OU):
            got = await self.axil.read(register.offset)
            want = self.golden.read_register(register.offset)
            assert got == want, f"{register.name}: {got:#x}, want {want:#x}"

    async def scalars(self) -> None:
        """Random settings of Adam."""
        draw = self.random.randint
        for register, least, most in (
            (registers.B1C, 1, SCALAR_MOST), (registers.B2C, 1, SCALAR_MOST),
            (registers.EPS, 1, SCALAR_MOST), (registers.TAU, 0, TAU_MOST),
        ):  # fmt: skip
            value = self.random.choice((least, most, draw(least, most), draw(1, 1 << 12)))
            await self.write(register, value)

    async def optimize(self) -> None:
        """Other lines in all memories, an update of each network, and what became of them."""
        count = used(self.table, self.geometry)
        for region in range(REGIONS - 1):
            await self.run(self.load(region, self.random.choice((12, 20, 32)), 0, count))
        await self.run(self.moments(0, count))
        await self.scalars()
        first = self.random.randrange(2)
        for net in (first, 1 - first):
            rate = self.random.choice((RATE_MOST, self.random.randint(0, RATE_MOST)))
            await self.run(self.adam(net, rate, net == ACTOR))
            await self.run(self.adam(net, rate >> 8, net != ACTOR))
        for region in range(REGIONS):
            await self.run(self.store(region, 0, count))

    def put_slot(self, core: int, slot: int, line: int, lines: np.ndarray, delta: bool = False
                 ) -> list[int]:  # fmt: skip
        """PUTX of lines, [n, LW] int32, which are in memory."""
        self.put(LINES, lines)
        where = core | delta << 4
        return [Opcode.PUTX, 0, LINES, 0, 0, 0, 0, 0, where, slot, line, len(lines)]

    def get_slot(self, core: int, slot: int, line: int, count: int, delta: bool = False
                 ) -> list[int]:  # fmt: skip
        """GETX of lines."""
        return [Opcode.GETX, 0, OUT, 0, 0, 0, 0, 0, core | delta << 4, slot, line, count]

    def train(self, flags: int, batch: int, chunk: int, size: int = 20, place: int = 0,
              **words: int) -> list[int]:  # fmt: skip
        """TRAIN of random records, and a list of some of them, which are in memory.

        Args:
            place: jobs that are queued together have arrays in places of their own.
        """
        g, table, draw = self.geometry, self.table, self.random.randint
        at = place * PLACE
        stride = g.stride(table.states) + 64 * draw(0, 2)
        places = batch if not flags & Flag.LIST else draw(1, 2 * batch)
        records = self.numbers(places, stride // 4, size=size)
        records[:, g.lw - 1] = self.numbers(places)  # discounts
        self.put(RECORDS + at, records)
        job = [Opcode.TRAIN | flags << 8, 0, RECORDS + at, *[0] * 10, stride, batch | chunk << 16,
               draw(-2, 2) & 31 | draw(0, 6) << 8]  # fmt: skip
        if flags & (Flag.AFTER | Flag.WITH):
            self.put(STATE + at, self.numbers(table.states + g.lw, size=size))
            job[4], job[6] = STATE + at, ACTION + at
        if flags & Flag.CRITIC:
            job[8] = draw(0, 1 << 24)
        if flags & Flag.ACTOR:
            job[9] = draw(0, 1 << 24)
        if flags & Flag.LIST:
            entries = self.numbers(batch, 4).view(np.uint32)
            entries[:, 0] = [draw(0, places - 1) for _ in range(batch)]
            weights = [self.random.choice((0.0, 1.0, self.random.random())) for _ in range(batch)]
            entries[:, 2] = np.array(weights, np.float32).view(np.uint32)
            self.put(LIST + at, entries)
            job[10], job[12] = LIST + at, places
        for name, value in words.items():
            job[int(name[1:])] = value
        return job

    def infer(self, size: int = 24, noisy: bool = False) -> list[int]:
        """INFER of a random state, with other words after it."""
        self.put(STATE, self.numbers(self.table.states + self.geometry.lw, size=size))
        return [Opcode.INFER | Flag.NOISE * noisy << 8, 0, 0, 0, STATE, 0, ACTION]

    async def acting_slot(self, x: int = 0) -> None:
        """Compare what an inference left in the slot for acting, in each core.

        Args:
            x: line of the state.
        """
        g, slots = self.geometry, self.golden.slots
        parts = [(x, g.lines(self.table.inputs(1, g)))]
        for place, layer in zip(slots.outputs[ACTOR], self.table.networks[ACTOR], strict=True):
            parts.append((place, g.lines(layer.p)))
        for core in range(g.n):
            for line, count in parts:
                await self.run(self.get_slot(core, g.vc, line, count))

    async def settings(self, half: bool, paper: bool = False) -> None:
        """Random shifts, mode, kind of noise, and whether TSTEP stands, in both.

        Args:
            paper: by the published schedule.
        """
        await self.write(registers.MODE, int(half))
        for k in range(registers.SHIFT.count):
            await self.write(registers.SHIFT, self.random.randint(0, 16), k)
        kind = self.random.randrange(noise.KINDS)
        forced = half and self.random.random() < 0.2
        held = self.random.random() < 0.4
        await self.write(
            registers.CFG,
            registers.CFG.word(noise=kind, force_full=forced, hold=held, paper=paper),
        )
