"""The checks of a descriptor, of the registers and of a network table, in order.

The first rule that is broken decides, of several places of one rule the lowest. All checks come
before a job reads or writes anything but its table.

Source: docs/qat.md (errors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from models.engine import beyond
from models.qat import noise
from models.qat.descriptor import (
    ACTION,
    LAYER_JOBS,
    LINE_JOBS,
    LIST,
    LIST_BYTES,
    MEMORY,
    PAIR_BYTES,
    RECORDS,
    REGIONS,
    SECOND_REGION,
    SLOT_JOBS,
    STATE,
    Flag,
    Job,
    Opcode,
    aligned,
    reserved,
)
from models.qat.layout import (
    ACTOR,
    CRITIC,
    HEAD_WORDS,
    LAYER_WORDS,
    RECORD_EXTRA,
    Geometry,
    Layer,
    Slots,
    Table,
    layer_word,
    table_words,
)
from models.qat.ops import NONE, RELU, TANH
from models.registers import qat as registers
from models.registers.qat import Error

TABLE = 16  # ERR_INFO0 of word 0 of the network table
RATE_MOST, TAU_MOST, SCALAR_MOST = (1 << 26) - 1, 1 << 24, (1 << 24) - 1
SHIFT_MOST = 16
PAPER_BIT = registers.CFG.field("paper")
NOISE_FIELD = registers.CFG.field("noise")


class JobError(Exception):
    """A job ends with an error.

    Attributes:
        code: of the record.
        info0, info1: ERR_INFO0, ERR_INFO1.
    """

    def __init__(self, code: Error, info0: int = 0, info1: int = 0) -> None:
        super().__init__(f"{code.name} {info0} {info1}")
        self.code = code
        self.info0 = info0
        self.info1 = info1


@dataclass(frozen=True)
class State:
    """What the checks of a job look at beside its descriptor.

    Attributes:
        geometry: the build.
        table: the networks, if there are any.
        words: of the registers CFG, B1C, B2C, EPS and TAU.
        shifts: SHIFT.
        half: whether the job runs in half mode.
    """

    geometry: Geometry
    table: Table | None
    words: Mapping[str, int]
    shifts: list[int]
    half: bool


def check(words: np.ndarray, state: State) -> Job:
    """Check a descriptor and decode it. Raises: JobError."""
    job = Job.decode(words)
    if job.words[0] & 0xFF not in list(Opcode):
        raise JobError(Error.E_OPCODE)
    for index, (word, mask) in enumerate(zip(job.words, reserved(job), strict=True)):
        if word & mask:
            raise JobError(Error.E_RESERVED, index)
    for index in aligned(job):
        if job.words[index] % 64:
            raise JobError(Error.E_ALIGN, index)
    for code, rule in (
        (Error.E_BATCH, _batch),
        (Error.E_STRIDE, _stride),
        (Error.E_RANGE, _range),
        (Error.E_SLOT, _slot),
        (Error.E_NO_NET, _network),
        (Error.E_VALUE, _value),
        (Error.E_ADDR, _address),
    ):
        if (place := min(rule(job, state), default=None)) is not None:
            raise JobError(code, place)
    return job


def _batch(job: Job, state: State) -> Iterator[int]:
    if job.opcode == Opcode.TRAIN:
        g = state.geometry
        paper = PAPER_BIT.get(state.words["CFG"])
        most = g.vc if paper else g.vectors
        if not 1 <= job.batch <= g.b_max or not 1 <= job.chunk <= most or job.chunk % 2:
            yield 14
    place = {**dict.fromkeys(LINE_JOBS, 10), **dict.fromkeys(SLOT_JOBS, 11),
             **dict.fromkeys(LAYER_JOBS, 9)}.get(job.opcode)  # fmt: skip
    if place is not None and not job.words[place]:
        yield place
    if job.opcode in LAYER_JOBS and job.words[9] > state.geometry.vectors:
        yield 9


def _stride(job: Job, state: State) -> Iterator[int]:
    if (
        job.opcode == Opcode.TRAIN
        and state.table is not None
        and job.words[13] < state.geometry.record_bytes(state.table.states)
    ):
        yield 13


def _range(job: Job, state: State) -> Iterator[int]:
    if job.opcode in LINE_JOBS:
        if job.words[8] >= REGIONS:
            yield 8
        elif job.words[9] >= state.geometry.w_lines:
            yield 9
        elif job.words[9] + job.words[10] > state.geometry.w_lines:
            yield 10


def _slot(job: Job, state: State) -> Iterator[int]:
    g, w = state.geometry, job.words
    if job.opcode in SLOT_JOBS:
        lines = g.del_lines if job.deltas else g.act_lines
        if job.core >= g.n:
            yield 8
        if w[9] >= g.vc + (not job.deltas):  # DEL has no slot for acting
            yield 9
        if w[10] >= lines:
            yield 10
        elif w[10] + w[11] > lines:
            yield 11
    layer = _layer(job, state)
    if layer is not None:
        inputs, outputs = g.lines(layer.q), g.lines(layer.p)
        if job.opcode == Opcode.FW:
            places = (inputs, g.act_lines), (outputs, g.act_lines)
        elif job.opcode == Opcode.DX:
            places = (outputs, g.del_lines), (inputs, g.del_lines)
        else:
            places = (inputs, g.act_lines), (outputs, g.del_lines)
        for word, (lines, most) in zip((10, 11), places, strict=True):
            if w[word] + lines > most:
                yield word


def _layer(job: Job, state: State) -> Layer | None:
    """The layer that a one-layer job names, if there is one."""
    if job.opcode not in LAYER_JOBS or state.table is None:
        return None
    layers = state.table.networks[job.network]
    return layers[job.layer] if job.layer < len(layers) else None


def _network(job: Job, state: State) -> Iterator[int]:
    needs = job.opcode in (Opcode.INFER, Opcode.TRAIN, Opcode.ADAM, *LAYER_JOBS)
    if needs and state.table is None:
        yield 0
    elif job.opcode in LAYER_JOBS and _layer(job, state) is None:
        yield 8


def _value(job: Job, state: State) -> Iterator[int]:
    """Words of the descriptor, and offsets of registers."""
    w, words = job.words, state.words
    opcode, flags = job.opcode, job.flags
    train = opcode == Opcode.TRAIN
    updates = opcode == Opcode.ADAM or (train and bool(flags & (Flag.CRITIC | Flag.ACTOR)))
    if train:
        if flags & Flag.AFTER and flags & Flag.WITH:
            yield 0
        if flags & Flag.WEIGHTS and not flags & Flag.LIST:
            yield 0
        if w[8] > RATE_MOST:
            yield 8
        if not -8 <= job.critic_scale <= 7 or job.actor_scale > 6:
            yield 15
        if PAPER_BIT.get(words["CFG"]) and not state.geometry.paper:
            yield registers.CFG.offset
    if (train or opcode == Opcode.ADAM) and w[9] > RATE_MOST:
        yield 9
    if opcode == Opcode.SEED and not any(w[4:12]):
        yield 4
    if job.acts and flags & Flag.NOISE and NOISE_FIELD.get(words["CFG"]) >= noise.KINDS:
        yield registers.CFG.offset
    if updates:
        for register in (registers.B1C, registers.B2C, registers.EPS):
            if not 1 <= words[register.name] <= SCALAR_MOST:
                yield register.offset
        if words["TAU"] > TAU_MOST:
            yield registers.TAU.offset
    if state.half and opcode in (Opcode.INFER, Opcode.TRAIN, *LAYER_JOBS):
        for index, shift in enumerate(state.shifts):
            if shift > SHIFT_MOST:
                yield registers.SHIFT.at(index)


def arrays(job: Job, state: State) -> list[tuple[int, int]]:
    """The word of the address, and the bytes, of every array that a job names."""
    g, w, opcode = state.geometry, job.words, job.opcode
    line = 4 * g.lw
    if opcode == Opcode.NET:
        return [(MEMORY, 4 * table_words(g))]
    if opcode in LINE_JOBS:
        return [(MEMORY, line * w[10] * (2 if w[8] == SECOND_REGION else 1))]
    if opcode in SLOT_JOBS:
        return [(MEMORY, line * w[11])]
    if opcode == Opcode.SEED:
        return [(MEMORY, line)] if job.flags & 1 else []
    out = []
    if state.table is not None and job.acts:
        out += [(STATE, 4 * state.table.states), (ACTION, 4 * state.table.actions)]
    if state.table is not None and opcode == Opcode.TRAIN:
        last = w[12] if job.flags & Flag.LIST else job.batch
        size = g.record_bytes(state.table.states)
        out.append((RECORDS, w[13] * (last - 1) + size if last else 0))
        if job.flags & Flag.LIST:
            listed = list_bytes(job.batch)
            more = PAIR_BYTES * job.batch if job.flags & Flag.WEIGHTS else 0
            out.append((LIST, listed + more))
    return out


def list_bytes(batch: int) -> int:
    """Of a list, to the multiple of 64 at which the pairs begin."""
    return -(-LIST_BYTES * batch // 64) * 64


def _address(job: Job, state: State) -> Iterator[int]:
    for word, nbytes in arrays(job, state):
        if beyond(job.address(word), nbytes):
            yield word


# ---- The network table
def check_table(words: np.ndarray, geometry: Geometry) -> Table:
    """Check a network table and decode it.

    Args:
        words: [16 + 8*max_layers] uint32.
    Raises: JobError.
    """
    w = [int(word) for word in words]
    for code, rule in (
        (Error.E_RESERVED, _table_reserved),
        (Error.E_DIM, _table_sizes),
        (Error.E_RANGE, _table_lines),
        (Error.E_SLOT, _table_slots),
    ):
        if (place := min(rule(w, geometry), default=None)) is not None:
            raise JobError(code, TABLE + place)
    return _decode(w, geometry)


def _counts(w: list[int]) -> tuple[int, int]:
    return w[1] & 0xFFFF, w[1] >> 16


def _decode(w: list[int], geometry: Geometry) -> Table:
    networks = []
    for net, count in enumerate(_counts(w)):
        layers = []
        for index in range(count):
            at = layer_word(net, index, geometry)
            layers.append(
                Layer(
                    w[at] & 0xFFFF, w[at] >> 16, w[at + 1] & 0xFF, bool(w[at + 1] >> 8 & 1),
                    w[at + 2], w[at + 3],
                )
            )  # fmt: skip
        networks.append(tuple(layers))
    return Table(w[0] & 0xFFFF, w[0] >> 16, (networks[ACTOR], networks[CRITIC]))


def _table_reserved(w: list[int], geometry: Geometry) -> Iterator[int]:
    yield from (index for index in range(2, HEAD_WORDS) if w[index])
    for net, count in enumerate(_counts(w)):
        for index in range(geometry.max_layers):
            at = layer_word(net, index, geometry)
            if index >= count:
                yield from (at + k for k in range(LAYER_WORDS) if w[at + k])
                continue
            if w[at + 1] >> 9:
                yield at + 1
            if not w[at + 1] >> 8 & 1 and w[at + 3]:
                yield at + 3


def _table_sizes(w: list[int], geometry: Geometry) -> Iterator[int]:
    states, actions = w[0] & 0xFFFF, w[0] >> 16
    most = geometry.max_dim
    if not 1 <= states <= most or not 1 <= actions <= geometry.lw - RECORD_EXTRA:
        yield 0
    if any(not 2 <= count <= geometry.max_layers for count in _counts(w)):
        yield 1
        return
    table = _decode(w, geometry)
    for net, layers in enumerate(table.networks):
        inputs = table.inputs(net, geometry)
        for index, layer in enumerate(layers):
            at = layer_word(net, index, geometry)
            last = index + 1 == len(layers)
            wrong = not 1 <= layer.p <= most or not 1 <= layer.q <= most or layer.q != inputs
            if wrong or (last and layer.p != (actions, 1)[net]):
                yield at
            inputs = layer.p
            # The actor ends in what it likes but ReLU; no other layer has a tangent.
            allowed = (NONE, RELU) if not last else (NONE, TANH) if net == ACTOR else (NONE,)
            if layer.act not in allowed:
                yield at + 1


def _table_lines(w: list[int], geometry: Geometry) -> Iterator[int]:
    table = _decode(w, geometry)
    used: list[tuple[int, int]] = []
    for net, layers in enumerate(table.networks):
        for index, layer in enumerate(layers):
            at = layer_word(net, index, geometry) + 2
            for k, (line, count) in enumerate(layer.ranges(geometry)):
                outside = line + count > geometry.w_lines
                if outside or any(line < b + n and b < line + count for b, n in used):
                    yield at + k
                used.append((line, count))


def _table_slots(w: list[int], geometry: Geometry) -> Iterator[int]:
    slots = Slots.of(_decode(w, geometry), geometry)
    if slots.act > geometry.act_lines or slots.delta > geometry.del_lines:
        yield 0
