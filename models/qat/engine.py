"""Golden model of the qat engine at job level (models/engine.py states the protocol).

A job whose descriptor, registers or table are wrong reads and writes nothing but its table. A job
that fails later leaves what it had done in the engine's own memories, and MODE.partial if weights
had been changed; device memory gets nothing more.

Source: docs/qat.md.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from models.engine import BusError, JobEnd, Link, Memory, RegisterError
from models.float import from_fixed, to_fixed
from models.qat import noise, ops, timing
from models.qat.descriptor import (
    ACTION,
    BEAT,
    LAYER_JOBS,
    LINE_JOBS,
    LIST,
    LIST_BYTES,
    MEMORY,
    PAIR_BYTES,
    RECORDS,
    SLOT_JOBS,
    STATE,
    Flag,
    Job,
    Opcode,
)
from models.qat.layout import (
    ACTOR,
    CRITIC,
    Geometry,
    Slots,
    Table,
    table_words,
)
from models.qat.records import Transitions, unpack
from models.qat.timestep import Datapath, Outcome, Phase, Stage, Step
from models.qat.validate import JobError, State, check, check_table, list_bytes
from models.registers import qat as registers
from models.registers.map import by_offset
from models.registers.qat import Error
from models.replay.rng import Xoshiro

NEVER = 0xFFFF_FFFF  # QDELAY
MODULO = 1 << 32
ACCUMULATOR_BITS = 60
OFFSETS = by_offset(registers.REGISTERS)
LOCAL = ("CFG", "QDELAY", "B1C", "B2C", "EPS", "TAU", "NOISE_SIGMA", "NOISE_THETA")


def signed(word: int) -> int:
    """A word of 32 bits as a signed number."""
    return word - MODULO if word >> 31 else word


class QatEngine:
    """The qat engine as the host sees it: registers from 0x100, jobs of one ring.

    Attributes:
        path: memories, monitors, mode and networks.
        generator: of noise; `ou` is x of each action.
        act, delta: lines of the vector slots, [core, slot, line, LW] int32.
        events: times that STATUS.event was set.
        clocks: of the last job, by the cycle model.
    """

    rings = 1

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> QatEngine:
        """Make it of a configuration's parameters, by name; it has no streams."""
        return cls(Geometry(**fields))

    def __init__(self, geometry: Geometry | None = None) -> None:
        self.geometry = g = geometry or Geometry()
        self.path = Datapath(g)
        self.slots: Slots | None = None
        self.generator = Xoshiro()
        self.ou = [0] * g.lw
        self.act = np.zeros((g.n, g.vc + 1, g.act_lines, g.lw), np.int32)
        self.delta = np.zeros((g.n, g.vc, g.del_lines, g.lw), np.int32)
        self.events = 0
        self.partial = False
        self.outcome = Outcome()
        self.count = 0
        self.timesteps = 0
        self.clocks = timing.Clocks(0)
        self.entries = 0
        self._set = 0  # which of the two sets of X holds the chunk that is computed
        self._acting_set = 0  # and the state to act in, of a TRAIN
        self._words = {name: getattr(registers, name).reset for name in LOCAL}
        self._high: dict[str, int] = {}  # upper halves, latched by reading the lower ones

    # ---- Registers
    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None:
            raise RegisterError(f"no register at {offset:#x}")
        name, index = register.name[:-3], (offset - register.offset) // register.stride
        if register.name.endswith("_HI"):
            return self._high.get(name, 0)
        if not register.name.endswith("_LO"):
            return self._read(register.name, index) & 0xFFFF_FFFF
        value = self._read(name, index)
        self._high[name] = value >> 32 & 0xFFFF_FFFF
        return value & 0xFFFF_FFFF

    def _read(self, name: str, index: int) -> int:
        path = self.path
        if name in self._words:
            return self._words[name]
        arrays = {
            "MON_MIN": path.low,
            "MON_MAX": path.high,
            "SHIFT": path.shifts,
            "SAT": [min(count, MODULO - 1) for count in path.saturated],
            "RNG": [word >> 32 * half for word in self.generator.state for half in (0, 1)],
            "OU": self.ou + [0] * (registers.OU.count - len(self.ou)),
        }
        if name in arrays:
            return arrays[name][index]
        return {
            **self._capabilities(),
            "TSTEP": self.timesteps,
            "MODE": registers.MODE.word(half=path.half, partial=self.partial),
            "SUM_Q": self.outcome.q,
            "SUM_ABS_TD": self.outcome.td,
            "COUNT": self.count,
            "CYC_FW": self.clocks.fw,
            "CYC_DX": self.clocks.dx,
            "CYC_DW": self.clocks.dw,
            "CYC_INF": self.clocks.inf,
            "CYC_WAIT": self.clocks.wait,
            "TILEVEC": self.entries,
        }[name]

    def _capabilities(self) -> dict[str, int]:
        g = self.geometry

        def log2(x: int) -> int:
            return x.bit_length() - 1

        return {
            "CAP0": registers.CAP0.word(
                n_log2=log2(g.n), lw_log2=log2(g.lw), vc=g.vc, max_layers=g.max_layers,
                adam_log2=log2(g.adam_lanes), tanh_log2=log2(g.tanh_lanes), paper=g.paper,
            ),
            "CAP1": registers.CAP1.word(act_lines=g.act_lines, del_lines=g.del_lines),
            "CAP2": registers.CAP2.word(w_lines=g.w_lines, accumulator=ACCUMULATOR_BITS),
            "CAP3": registers.CAP3.word(max_dim=g.max_dim, b_max=g.b_max),
        }  # fmt: skip

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register. Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None or register.access != "RW" or not (idle or not register.idle_only):
            raise RegisterError(f"write of {value:#x} to {offset:#x}")
        value &= register.write_mask
        index = (offset - register.offset) // register.stride
        if register.name in self._words:
            self._words[register.name] = value
        elif register is registers.TSTEP:
            self.timesteps = value
        elif register is registers.MODE:
            self.path.half = bool(value & 1)
        else:
            array = {
                "MON_MIN": self.path.low,
                "MON_MAX": self.path.high,
                "SHIFT": self.path.shifts,
            }[register.name]
            array[index] = value if register is registers.SHIFT else signed(value)

    def _config(self, field: str) -> int:
        return registers.CFG.field(field).get(self._words["CFG"])

    def soft_reset(self) -> None:
        """Networks, memories, generator and registers stay."""

    def link_clear(self) -> None:
        """The engine has no stream."""

    # ---- Jobs
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job; see models/engine.py.

        Args:
            ring: 0.
            descriptor: [16] uint32.
            memory: device memory.
        """
        yield from ()  # it never waits for a stream
        self.clocks = timing.Clocks(timing.START + timing.LATENCY)
        before = self._serious()
        count, error = 0, None
        try:
            job = check(descriptor, self._state())
            count = self._run(job, memory)
        except JobError as failed:
            error = failed
        if self._config("sat_event") and self._serious() != before:
            self.events += 1
        self.entries += self.clocks.entries
        detail = registers.MODE.word(half=self._half, partial=self.partial)
        if error is not None:
            return JobEnd(int(error.code), detail, 0, error.info0, error.info1)
        return JobEnd(0, detail, count, cycles=self.clocks.total)

    def _serious(self) -> int:
        """Saturated values of all stages but the quantizer's."""
        return sum(self.path.saturated) - self.path.saturated[Stage.ACTQ]

    @property
    def _half(self) -> bool:
        """Whether jobs run in half mode."""
        return self.path.half and not self._config("force_full")

    @property
    def _watch(self) -> bool:
        """Whether the monitors see activations: in full mode, unless it is forced."""
        return not self.path.half

    @property
    def _paper(self) -> bool:
        """Whether jobs run by the published schedule."""
        return bool(self.geometry.paper and self._config("paper"))

    def _state(self) -> State:
        return State(self.geometry, self.path.table, self._words, self.path.shifts, self._half)

    def _run(self, job: Job, memory: Memory) -> int:
        """Run a checked job. Returns the record's count. Raises: JobError."""
        opcode = job.opcode
        if opcode == Opcode.NET:
            self._net(job, memory)
        elif opcode in LINE_JOBS:
            return self._lines(job, memory)
        elif opcode in SLOT_JOBS:
            return self._slot_lines(job, memory)
        elif opcode == Opcode.INFER:
            return self._infer(job, memory)
        elif opcode == Opcode.TRAIN:
            return self._train(job, memory)
        elif opcode in LAYER_JOBS:
            return self._layer(job)
        elif opcode == Opcode.ADAM:
            net = job.network
            self.path.update(net, self._adam(job.words[9], bool(job.flags & Flag.TARGETS)))
            self.clocks = timing.adam_clocks(self.path.layers(net), self.geometry)
        elif opcode == Opcode.QUANT:
            self.path.capture(self._config("headroom"))
        else:
            self._seed(job, memory)
        return 0

    def _net(self, job: Job, memory: Memory) -> None:
        self.path.table = self.slots = None
        raw = _read(memory, job.address(MEMORY), 4 * table_words(self.geometry), MEMORY)
        self.path.table = table = check_table(raw.view(np.uint32), self.geometry)
        self.slots = Slots.of(table, self.geometry)

    def _lines(self, job: Job, memory: Memory) -> int:
        region, line, count = job.words[8:11]
        path = self.path
        lines = (path.w, path.t, path.g, path.m, path.v)[region][line : line + count]
        if job.opcode == Opcode.STORE:
            _write(memory, job.address(MEMORY), lines, MEMORY)
        else:
            _fill(lines, memory, job.address(MEMORY))
            if region == 0:
                self.partial = False
        self.clocks = timing.lines_clocks(-(-lines.nbytes // 64))
        return count

    def _slot_lines(self, job: Job, memory: Memory) -> int:
        slot, line, count = job.words[9:12]
        lines = (self.delta if job.deltas else self.act)[job.core, slot, line : line + count]
        if job.opcode == Opcode.GETX:
            _write(memory, job.address(MEMORY), lines, MEMORY)
        else:
            _fill(lines, memory, job.address(MEMORY))
        self.clocks = timing.lines_clocks(-(-lines.nbytes // 64))
        return count

    def _seed(self, job: Job, memory: Memory) -> None:
        x = [0] * self.geometry.lw
        if job.flags & 1:
            raw = _read(memory, job.address(MEMORY), 4 * self.geometry.lw, MEMORY)
            x = [int(word) for word in raw.view(np.int32)]
        w = job.words
        self.generator.load([w[k] | w[k + 1] << 32 for k in range(4, 12, 2)])
        self.ou = x

    def _adam(self, rate: int, targets: bool) -> ops.Adam:
        words = self._words
        tau = words["TAU"] if targets else 0
        return ops.Adam(words["B1C"], words["B2C"], words["EPS"], rate, tau)

    # ---- Acting
    def _infer(self, job: Job, memory: Memory) -> int:
        table, g = self._table, self.geometry
        x, unread = self._read_state(job, memory)
        self._keep(self.act, 0, x, self._half, [g.vc])
        if unread is not None:
            raise unread
        self.clocks = timing.infer_clocks(table, g, self._paper)  # also if none can be written
        self._act(job, memory, x, 0)
        return 1

    @property
    def _table(self) -> Table:
        assert self.path.table is not None
        return self.path.table

    def _read_state(self, job: Job, memory: Memory) -> tuple[np.ndarray, JobError | None]:
        """X of the state to act in as it is stored, and why it is not whole."""
        raw, error = _read_to(memory, job.address(STATE), 4 * self._table.states, STATE)
        words = raw.view(np.int32).astype(np.int64)[None]
        if error is None:
            return self.path.take(words, self._half, self._watch), None
        return self.path.store(words, 0, self._half, self._watch), error

    def _act(self, job: Job, memory: Memory, x: np.ndarray, line: int) -> None:
        """Choose an action for X, which is stored in this line of its slot, and write it."""
        assert self.slots is not None
        outputs = self.path.act(x, self._half, self._watch)
        mu = [int(word) for word in outputs[-1][0]]
        if job.flags & Flag.NOISE:
            words = self._words
            sigma, theta = signed(words["NOISE_SIGMA"]), signed(words["NOISE_THETA"])
            kind = self._config("noise")
            drawn = noise.draw(kind, self.generator, self.ou, len(mu), sigma, theta)
            mu = [noise.disturb(*pair) for pair in zip(mu, drawn, strict=True)]
        slot = [self.geometry.vc]
        self._keep(self.act, line, x, self._half, slot)
        for index, line in enumerate(self.slots.outputs[ACTOR]):
            last = index + 1 == len(outputs)
            self._keep(self.act, line, outputs[index], self._half and not last, slot)
        _write(memory, job.address(ACTION), np.array(mu, np.int32), ACTION)

    # ---- Training
    def _train(self, job: Job, memory: Memory) -> int:
        path, flags, w = self.path, job.flags, job.words
        due = self._words["QDELAY"] != NEVER and self.timesteps >= self._words["QDELAY"]
        if not path.half and due and not self._config("force_full"):
            path.capture(self._config("headroom"))
        half = self._half
        targets = bool(flags & Flag.TARGETS)
        step = Step(
            job.batch,
            job.chunk,
            self._adam(w[8], targets) if flags & Flag.CRITIC else None,
            self._adam(w[9], targets) if flags & Flag.ACTOR else None,
            job.critic_scale,
            job.actor_scale,
            half,
            self._watch,
            self._paper,
        )
        state, unread = self._read_state(job, memory) if job.acts else (None, None)
        self._acting_set ^= job.acts

        def take() -> None:
            self._set ^= 1
            if unread is not None:
                raise unread

        def act() -> None:
            assert state is not None and self.slots is not None
            self._act(job, memory, state, self.slots.x[self._acting_set])

        def between() -> None:
            if flags & Flag.WITH:
                act()
                self.events += 1

        self.outcome = outcome = Outcome()
        self.count = job.batch
        try:
            path.timestep(
                step,
                lambda first, count: self._load(job, memory, first, count),
                outcome,
                lambda first, td: self._deliver(job, memory, first, td),
                take,
                between,
                lambda phase: self._keep_phase(phase, half),
            )
            if flags & Flag.AFTER:
                act()
        except JobError:
            self.partial |= outcome.updating
            raise
        if not self._config("hold"):
            self.timesteps = (self.timesteps + 1) % MODULO
        way = "after" if flags & Flag.AFTER else "with" if flags & Flag.WITH else ""
        self.clocks = timing.train_clocks(
            self._table, self.geometry, job.batch, job.chunk, half, way, self._paper
        )
        return job.batch

    def _load(
        self, job: Job, memory: Memory, first: int, count: int
    ) -> tuple[Transitions, np.ndarray | None]:
        """Records of a chunk, and weights if seeds are weighted."""
        table, stride = self._table, job.words[13]
        places, weights = np.arange(first, first + count), None
        if job.flags & Flag.LIST:
            at = job.address(LIST) + LIST_BYTES * first
            entries = _read(memory, at, LIST_BYTES * count, LIST).view(np.uint32).reshape(-1, 4)
            places = entries[:, 0].astype(np.int64)
            beyond = np.flatnonzero(places >= job.words[12])
            if beyond.size:
                raise JobError(Error.E_INDEX, first + int(beyond[0]))
            if job.flags & Flag.WEIGHTS:
                floats = np.ascontiguousarray(entries[:, 2]).view(np.float32)
                weights = to_fixed(floats, 1, 24, signed=False).astype(np.int64)
        size = self.geometry.record_bytes(table.states)
        base = job.address(RECORDS)
        rows = np.zeros((count, size), np.uint8)
        for slot, place in enumerate(places):
            raw, error = _read_to(memory, base + int(place) * stride, size, first + slot)
            rows[slot, : raw.size] = raw
            if error is not None:
                self._see(rows[: slot + 1], raw.size // (4 * self.geometry.lw))
                raise error
        return unpack(rows, table.states, table.actions, self.geometry), weights

    def _see(self, rows: np.ndarray, lines: int) -> None:
        """Let the monitor, or the quantizer, see records, of the last so many lines."""
        path, table = self.path, self._table
        found = unpack(rows, table.states, table.actions, self.geometry)
        before = 1 + self.geometry.lines(table.states)  # lines of a record, to those of s'
        if lines < before:
            found.action[-1] = 0
        for values, first in (
            (path.joined(found.state, found.action), 1),
            (path.joined(found.following, None), before),
        ):
            if seen := len(rows) - (lines <= first):
                path.store(values[:seen], 0, self._half, self._watch)

    def _deliver(self, job: Job, memory: Memory, first: int, td: np.ndarray) -> None:
        """Write pairs of slot and |td| after the list, if seeds are weighted."""
        if not job.flags & Flag.WEIGHTS:
            return
        pairs = np.empty((td.size, 2), np.uint32)
        pairs[:, 0] = np.arange(first, first + td.size)
        pairs[:, 1] = from_fixed(np.abs(td), ops.ACTIVATION).view(np.uint32)
        at = job.address(LIST) + list_bytes(job.batch) + PAIR_BYTES * first
        _write(memory, at, pairs, LIST)

    # ---- Vector slots
    def _keep(
        self,
        memory: np.ndarray,
        line: int,
        values: np.ndarray,
        paired: bool,
        slots: list[int] | None = None,
    ) -> None:
        """Store vectors in slots: vector v is of core v mod N, slot v / N.

        Args:
            memory: `act` or `delta`.
            values: [n, words].
            paired: two vectors share a word, the even one in its low half; an odd one at the end
                has zeros beside it.
            slots: of the acting vector, which lies in every core.
        """
        g = self.geometry
        count = g.lines(values.shape[1])
        padded = np.zeros((len(values), count * g.lw), np.int64)
        padded[:, : values.shape[1]] = values
        for core in range(g.n):
            mine = padded if slots else padded[core :: g.n]
            places = slots or list(range(len(mine)))
            if paired:
                even, odd = mine[0::2] & ops.LANE, np.zeros_like(mine[0::2])
                odd[: len(mine[1::2])] = mine[1::2]
                mine, places = even | odd << 16, places[0::2]
            stored = mine.astype(np.int32).reshape(len(mine), count, g.lw)
            memory[core, places, line : line + count] = stored

    def _keep_phase(self, phase: Phase, half: bool) -> None:
        assert self.slots is not None
        slots = self.slots
        self._keep(self.act, slots.x[self._set], phase.x, half)
        if phase.following.size:
            self._keep(self.act, slots.following[self._set], phase.following, half)
            self._keep(self.act, slots.misc[self._set], phase.misc, False)
        for net in (CRITIC, ACTOR):
            outputs, deltas = phase.outputs[net], phase.deltas[net]
            for index, values in enumerate(outputs):
                last = index + 1 == len(outputs)
                self._keep(self.act, slots.outputs[net][index], values, half and not last)
            for index, found in enumerate(deltas):
                if found is not None:
                    self._keep(self.delta, slots.deltas[net][index], found, False)

    def _vectors(
        self, memory: np.ndarray, line: int, words: int, n: int, paired: bool
    ) -> np.ndarray:
        """Inverse of _keep: [n, words] int64."""
        g = self.geometry
        out = np.zeros((n, words), np.int64)
        for core in range(g.n):
            mine = len(range(core, n, g.n))
            lines = memory[core, :mine, line : line + g.lines(words)]
            lines = lines.reshape(mine, g.lines(words) * g.lw)
            found = lines[:, :words].astype(np.int64)
            if paired:
                even = found[0::2]
                found = found.copy()
                found[1::2] = (even >> 16)[: len(found[1::2])]
                found[0::2] = ((even & ops.LANE) ^ 0x8000) - 0x8000
            out[core :: g.n] = found
        return out

    def _layer(self, job: Job) -> int:
        """One layer's pass over the slots, for tests of the hardware."""
        assert self.slots is not None
        path, net, index, n = self.path, job.network, job.layer, job.words[9]
        layers = path.layers(net)
        layer = layers[index]
        source, sink = job.words[10:12]
        half = self._half
        last = index + 1 == len(layers)
        if job.opcode == Opcode.FW:
            x = self._vectors(self.act, source, layer.q, n, half)
            out = path.layer_forward(net, index, x, half, self._watch, job.target)
            self._keep(self.act, sink, out, half and not last)
        elif job.opcode == Opcode.DX:
            d = self._vectors(self.delta, source, layer.p, n, False)
            act, a = ops.NONE, np.zeros((n, layer.q), np.int64)
            if index:
                act = layers[index - 1].act
                place = self.slots.outputs[net][index - 1]
                a = self._vectors(self.act, place, layer.q, n, half)
            out = path.layer_backward(net, index, d, a, act, slice(layer.q))
            self._keep(self.delta, sink, out, False)
        else:
            x = self._vectors(self.act, source, layer.q, n, half)
            d = self._vectors(self.delta, sink, layer.p, n, False)
            weights, biases = path.layer_gradient(net, index, x, d, half)
            path.accumulate(path.weights(path.g, layer), weights, True)
            if layer.bias:
                path.accumulate(path.biases(path.g, layer), biases, True)
        phase = {Opcode.FW: "fw", Opcode.DX: "dx", Opcode.DW: "dw"}[job.opcode]
        self.clocks = timing.layer_clocks(layer, self.geometry, n, phase, half)
        return n


def _read(memory: Memory, address: int, nbytes: int, info: int) -> np.ndarray:
    """Read bytes. Raises: JobError with the word or slot at fault."""
    try:
        return memory.read(address, nbytes)
    except BusError as error:
        raise JobError(Error.E_BUS_RD, info, error.response) from error


def _read_to(
    memory: Memory, address: int, nbytes: int, info: int
) -> tuple[np.ndarray, JobError | None]:
    """Read bytes, or those before the first beat at fault, and the error."""
    try:
        return _read(memory, address, nbytes, info), None
    except JobError:
        parts = [np.zeros(0, np.uint8)]
        for at in range(0, nbytes, BEAT):
            try:
                parts.append(_read(memory, address + at, min(BEAT, nbytes - at), info))
            except JobError as error:
                return np.concatenate(parts), error
        raise


def _fill(lines: np.ndarray, memory: Memory, address: int) -> None:
    """Read contiguous lines; up to the beat at fault. Raises: JobError."""
    raw, error = _read_to(memory, address, lines.nbytes, MEMORY)
    lines.reshape(-1).view(np.uint8)[: raw.size] = raw
    if error is not None:
        raise error


def _write(memory: Memory, address: int, data: np.ndarray, info: int) -> None:
    """Write an array. Raises: JobError with the word at fault."""
    try:
        memory.write(address, np.ascontiguousarray(data).reshape(-1).view(np.uint8))
    except BusError as error:
        raise JobError(Error.E_BUS_WR, info, error.response) from error
