"""The checks of the PROGRAM job, in the order of the RTL (rtl/learner/jd_learner_program.sv)."""

from __future__ import annotations

import itertools

import numpy as np

from models.learner.layout import MAX_LAYERS, Geometry, ImageMap, Network
from models.learner.loss import MODE_DOUBLE, MODE_MAX, MODE_TWIN
from models.learner.program import (
    ACT_RELU,
    ACT_TANH,
    ACT_TANH_SLOPE,
    COMPUTE,
    HEADER_WORDS,
    LOSSES,
    NO_STAGE,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_PI,
    OP_LOSS_Q,
    OP_LOSS_TD,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    PRODUCTS,
    RECORD_WORDS,
    STAGE_WORDS,
    UPDATES,
    Program,
    Stage,
    spatial_unit,
)
from models.registers.learner import Error

KIND_HEADER, KIND_NETWORK, KIND_SLOT, KIND_STAGE = 0, 1, 2, 3
UPDATE_MAX = 16  # WU and TSM stages of a program
FRAME_MAX = 255  # rows of a sample's frame
PHASE_MAX = 2  # phases of a program


class ProgramError(Exception):
    """A program image that PROGRAM rejects.

    Attributes:
        code: error code.
        index: the record within its kind (ERR_INFO0).
        kind: KIND_* (ERR_INFO1).
    """

    def __init__(self, code: Error, index: int, kind: int) -> None:
        super().__init__(f"{code.name}: record {index} of kind {kind}")
        self.code = code
        self.index = index
        self.kind = kind


def validate(image: np.ndarray, geometry: Geometry, nbytes: int | None = None) -> Program:
    """Check and decode a program image.

    Args:
        image: uint32 words, as many as the job says.
        geometry: the build.
        nbytes: size that the job says, if it is no multiple of a word.
    Raises: ProgramError at the first rule that is broken: header, networks, slots, stages in turn.
    """
    longest = HEADER_WORDS + 2 * RECORD_WORDS * geometry.net_max + STAGE_WORDS * geometry.st_max
    if not HEADER_WORDS <= image.size <= longest:
        raise ProgramError(Error.E_DIM, 0, KIND_HEADER)
    w = [int(x) for x in image[:HEADER_WORDS]]
    if code := _header_error(w, 4 * image.size if nbytes is None else nbytes, geometry):
        raise ProgramError(code, 0, KIND_HEADER)
    program = Program.decode(image)
    at = HEADER_WORDS
    masters = 0
    for index in range(len(program.networks)):
        words = [int(x) for x in image[at : at + RECORD_WORDS]]
        code = _network_error(words, index, program, geometry)
        if not code:
            masters += ImageMap(geometry, program.networks[index]).words
            code = Error.E_ROWS if masters > geometry.w_rows * geometry.p else None
        if code:
            raise ProgramError(code, index, KIND_NETWORK)
        at += RECORD_WORDS
    for index in range(len(program.slots)):
        words = [int(x) for x in image[at : at + RECORD_WORDS]]
        if any(words[9:]):
            raise ProgramError(Error.E_RESERVED, index, KIND_SLOT)
        if words[0] > 2:
            raise ProgramError(Error.E_DIM, index, KIND_SLOT)
        at += RECORD_WORDS
    copies = 2 * program.copy_rows(geometry)
    written = {first + k for first in program.inputs for k in range(copies)}
    for index in range(len(program.stages)):
        words = [int(x) for x in image[at : at + STAGE_WORDS]]
        if code := _stage_error(words, index, program, geometry):
            raise ProgramError(code, index, KIND_STAGE)
        rows = _result_rows(program.stages[index], program, geometry)
        if written & rows:
            raise ProgramError(Error.E_ROWS, index, KIND_STAGE)
        written |= rows
        at += STAGE_WORDS
    return program


def rows_of_weights(program: Program, geometry: Geometry) -> int:
    """Rows of the weight memory (`w_rows`) that a program's networks need."""
    nets = program.networks
    ends = [place.stop for net in nets for place in _places(net, geometry)]
    biases = max(_biases_end(net) for net in nets)
    masters = sum(ImageMap(geometry, net).words for net in nets)
    return max(*ends, -(-biases // geometry.ob), -(-masters // geometry.p))


def _header_error(w: list[int], nbytes: int, geometry: Geometry) -> Error | None:
    stages, networks, slots = w[0] & 0xFF, w[0] >> 8 & 0xFF, w[0] >> 16 & 0xFF
    state, following, action, noise = (w[2] >> shift & 0xFF for shift in (0, 8, 16, 24))
    if w[0] >> 24 or any(w[5:]) or (w[4] >> 16 if geometry.actor_critic else noise or w[4]):
        return Error.E_RESERVED
    words = HEADER_WORDS + RECORD_WORDS * (networks + slots) + STAGE_WORDS * stages
    state_words, action_words = w[1] & 0xFFFF, w[1] >> 16
    continuous = action != NO_VECTOR
    input_words = state_words + (action_words if continuous else 0)
    if not (
        1 <= stages <= geometry.st_max
        and 1 <= networks <= geometry.net_max
        and slots <= geometry.net_max
        and 1 <= state_words <= geometry.d_max
        and (geometry.actor_critic or not continuous)
        and (
            action_words >= 1 and input_words <= geometry.d_max
            if continuous
            else action_words == 1 and not noise
        )
        and 4 * words == nbytes
    ):
        return Error.E_DIM
    copies = 2 * geometry.vector_rows(input_words)
    vectors = [state, following, *[action] * continuous, *[noise] * bool(noise)]
    if (
        w[3] > min(FRAME_MAX, geometry.a_rows)
        or max(vectors) + copies > w[3]
        or any(abs(a - b) < copies for a, b in itertools.combinations(vectors, 2))
    ):
        return Error.E_ROWS
    return None


def _network_error(w: list[int], index: int, program: Program, geometry: Geometry) -> Error | None:
    count = w[0] & 0xFF
    reserved = [w[0] >> 9, w[3], *w[12:], w[11] >> 16]
    if any(reserved) or (not (geometry.actor_critic and w[10] >> 16) and (w[10] or w[11])):
        return Error.E_RESERVED
    if not 1 <= count <= geometry.l_max:
        return Error.E_DIM
    for place in range(MAX_LAYERS):
        sizes = w[4 + place]
        if place >= count and sizes:
            return Error.E_RESERVED
        if place < count and not (
            1 <= sizes & 0xFFFF <= geometry.d_max and 1 <= sizes >> 16 <= geometry.d_max
        ):
            return Error.E_DIM
    net = program.networks[index]
    if net.columns and net.column + net.columns > net.layers[0].n_in:
        return Error.E_DIM
    if (net.bias_base | net.biases) % geometry.ob:
        return Error.E_ALIGN
    biases_end = _biases_end(net)
    places = _places(net, geometry)
    if any(p.stop > geometry.w_rows for p in places) or biases_end > geometry.w_rows * geometry.ob:
        return Error.E_ROWS
    others = program.networks[:index]
    taken = [p for other in others for p in _places(other, geometry)]
    if (
        any(_overlap(a, b) for a in places for b in taken)
        or any(_overlap(a, b) for a, b in itertools.combinations(places, 2))
        or any(
            net.bias_base < _biases_end(other) and other.bias_base < biases_end for other in others
        )
    ):
        return Error.E_ROWS
    rows = sum(geometry.weight_rows(x.n_in, x.n_out) for x in net.layers)
    biases = sum(-(-x.n_out // geometry.ob) * geometry.ob for x in net.layers)
    return Error.E_ROWS if rows > net.rows or biases > net.biases else None


def _biases_end(net: Network) -> int:
    """Return the first bias word after all banks of a network."""
    return net.bias_base + (3 if net.has_target else 1) * net.biases


def _places(net: Network, geometry: Geometry) -> list[range]:
    """Return the weight rows of all banks of a network, and those of its copy of columns."""
    rows = (3 if net.has_target else 1) * net.rows
    places = [range(net.row_base, net.row_base + rows)]
    if net.columns:
        rows = geometry.weight_rows(net.layers[0].n_out, net.columns)
        places.append(range(net.column_row, net.column_row + rows))
    return places


def _overlap(a: range, b: range) -> bool:
    return a.start < b.stop and b.start < a.stop


def _stage_error(w: list[int], index: int, program: Program, geometry: Geometry) -> Error | None:
    stage = program.stages[index]
    op = stage.op
    if op not in COMPUTE + UPDATES or (
        op in (OP_LOSS_TD, OP_LOSS_PI) and not geometry.actor_critic
    ):
        return Error.E_OPCODE
    if _bad_fields(w, stage, geometry):
        return Error.E_RESERVED
    if _bad_sizes(w, stage, index, program, geometry):
        return Error.E_DIM
    if _bad_order(w, stage, index, program, geometry):
        return Error.E_DEP
    if op not in PRODUCTS:
        return _vector_error(stage, program, geometry)
    net = program.networks[stage.net]
    biased = op in (OP_DOT, OP_OUTER) and not stage.no_bias
    if biased and stage.bias % geometry.ob:
        return Error.E_ALIGN
    rows = geometry.weight_rows(stage.n_in, stage.n_out)
    if stage.column:
        if stage.row != net.column_row:
            return Error.E_ROWS
    elif not net.row_base <= stage.row <= net.row_base + net.rows - rows:
        return Error.E_ROWS
    if biased and not net.bias_base <= stage.bias <= net.bias_base + net.biases - stage.n_out:
        return Error.E_ROWS
    return _vector_error(stage, program, geometry)


def _bad_fields(w: list[int], stage: Stage, geometry: Geometry) -> bool:
    """Whether reserved bits are set, or bits that the operation or the build does not have."""
    op = stage.op
    modes = {OP_LOSS_Q: (MODE_MAX, MODE_DOUBLE), OP_LOSS_TD: (MODE_MAX, MODE_TWIN)}
    tanh = op == OP_DOT and stage.act == ACT_TANH
    return bool(
        w[0] >> 20
        or (not geometry.actor_critic and w[0] >> 18)
        or (stage.column and not (geometry.actor_critic and op == OP_DOT))
        or (stage.noise and not tanh)
        or (stage.chain and op != OP_OUTER)
        or (op in modes and stage.mode not in modes[op])
        or (op == OP_LOSS_Q and w[5] >> 26)
        or (op == OP_LOSS_TD and w[5] >> 27)
        or (op == OP_LOSS_PI and w[5] >> 8)
        or (op == OP_UPDATE and w[5] >> 4)
        or (op == OP_TARGET and w[5] >> 17)
    )


def _bad_order(
    w: list[int], stage: Stage, index: int, program: Program, geometry: Geometry
) -> bool:
    """Whether a stage stands where it may not, or waits for what does not come before it."""
    op, before = stage.op, program.stages[:index]
    if geometry.ntu > 1 and op in LOSSES and any(s.op in LOSSES for s in before):
        return True
    deps = [d for d in (w[4] & 0xFF, w[4] >> 8 & 0xFF, w[4] >> 16 & 0xFF) if d != NO_STAGE]
    if any(d >= index or (before[d].delayed and not stage.delayed) for d in deps):
        return True
    phase = sum(p.start <= index for p in program.phases)
    last_phase = PHASE_MAX if geometry.actor_critic and op not in (OP_LOSS_Q, OP_LOSS_TD) else 1
    if op in COMPUTE and phase > last_phase:
        return True
    chained = bool(before) and before[-1].chain
    if chained and (op != OP_OUTER or stage.delayed != before[-1].delayed):
        return True
    if stage.chain and index + 1 == len(program.stages):
        return True
    if op != OP_LOSS_TD:
        return False
    reported = any(s.op == OP_LOSS_TD and not s.quiet for s in before)
    return stage.delayed or (reported and not stage.quiet)


def _bad_sizes(
    w: list[int], stage: Stage, index: int, program: Program, geometry: Geometry
) -> bool:
    op = stage.op
    if stage.unit != (spatial_unit(stage) if geometry.ntu > 1 else 0) or stage.act > (
        ACT_TANH_SLOPE if geometry.actor_critic and op == OP_DOT else ACT_RELU
    ):
        return True
    if op not in LOSSES and stage.net >= len(program.networks):
        return True
    if op in PRODUCTS and not 1 <= stage.n_in <= geometry.d_max:
        return True
    if op in COMPUTE and not 1 <= stage.n_out <= geometry.d_max:
        return True
    if stage.delayed and not program.delay:
        return True
    if op == OP_LOSS_Q:
        return stage.n_out > geometry.p or program.continuous
    if op in LOSSES:
        return stage.n_out != 1 or not program.continuous
    net = program.networks[stage.net]
    if op in PRODUCTS:
        if stage.noise and (not program.noise or stage.n_out != program.action_words):
            return True
        if stage.column and (
            stage.target
            or not stage.no_bias
            or (stage.n_in, stage.n_out) != (net.layers[0].n_out, net.columns)
        ):
            return True
        return stage.target and (op == OP_OUTER or not net.has_target)
    if sum(s.op in UPDATES for s in program.stages[:index]) == UPDATE_MAX:
        return True
    if op == OP_UPDATE:
        return stage.slot >= len(program.slots)
    return not net.has_target or (not stage.polyak and stage.period == 0)


def _vector_error(stage: Stage, program: Program, geometry: Geometry) -> Error | None:
    """Check that a stage's vectors lie in the frame."""

    def outside(first: int, words: int) -> bool:
        return first + geometry.vector_rows(words) > program.frame_rows

    n_in, n_out = stage.n_in, stage.n_out
    bad = False
    if stage.op == OP_DOT:
        slope = stage.act == ACT_TANH_SLOPE
        bad = outside(stage.src, n_in)
        bad |= outside(stage.dst, n_out + (0 if slope else stage.offset))
        bad |= slope and outside(stage.aux, n_out + stage.offset)
        bad |= bool(stage.offset) and stage.offset % geometry.p + n_out > geometry.p
    elif stage.op == OP_AXPY:
        bad = outside(stage.src, n_out) or outside(stage.dst, n_in) or stage.offset != 0
        bad |= stage.act == ACT_RELU and outside(stage.aux, n_in)
    elif stage.op == OP_OUTER:
        bad = outside(stage.src, n_out) or outside(stage.aux, n_in)
    elif stage.op in LOSSES:
        bad = outside(stage.q, n_out) or outside(stage.dst, n_out) or stage.offset != 0
        bad |= stage.op != OP_LOSS_PI and outside(stage.q_next, n_out)
        bad |= stage.mode != MODE_MAX and outside(stage.chooser, n_out)
    return Error.E_ROWS if bad else None


def _result_rows(stage: Stage, program: Program, geometry: Geometry) -> set[int]:
    """Return the rows of a frame that a stage writes.

    An action after s or s' counts as a row that no vector has: there may be one of each.
    """
    if stage.op == OP_DOT:
        offset = 0 if stage.act == ACT_TANH_SLOPE else stage.offset
        action = (program.state_words, program.action_words)
        behind = program.continuous and (offset, stage.n_out) == action
        if behind and stage.dst in (program.state, program.next_state):
            return {-1 - stage.dst}
        first = stage.dst + offset // geometry.p
        count = 1 if offset else geometry.vector_rows(stage.n_out)
    elif stage.op == OP_AXPY:
        first, count = stage.dst, geometry.vector_rows(stage.n_in)
    else:
        first, count = stage.dst, int(stage.op in LOSSES)
    return set(range(first, first + count))
