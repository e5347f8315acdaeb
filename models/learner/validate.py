"""The checks of the PROGRAM job, in the order of the RTL (rtl/learner/jd_learner_program.sv)."""

from __future__ import annotations

import numpy as np

from models.learner.layout import MAX_LAYERS, Geometry, ImageMap, Network
from models.learner.program import (
    ACT_RELU,
    COMPUTE,
    HEADER_WORDS,
    NO_STAGE,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_Q,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    RECORD_WORDS,
    STAGE_WORDS,
    UPDATES,
    Program,
    Stage,
)
from models.registers.learner import Error

KIND_HEADER, KIND_NETWORK, KIND_SLOT, KIND_STAGE = 0, 1, 2, 3
UPDATE_MAX = 16  # WU and TSM stages of a program


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
    copies = 2 * geometry.vector_rows(program.state_words)
    written = {first + k for first in (program.state, program.next_state) for k in range(copies)}
    for index in range(len(program.stages)):
        words = [int(x) for x in image[at : at + STAGE_WORDS]]
        if code := _stage_error(words, index, program, geometry):
            raise ProgramError(code, index, KIND_STAGE)
        rows = _result_rows(program.stages[index], geometry)
        if written & rows:
            raise ProgramError(Error.E_ROWS, index, KIND_STAGE)
        written |= rows
        at += STAGE_WORDS
    return program


def _header_error(w: list[int], nbytes: int, geometry: Geometry) -> Error | None:
    stages, networks, slots = w[0] & 0xFF, w[0] >> 8 & 0xFF, w[0] >> 16 & 0xFF
    if w[0] >> 24 or w[2] >> 24 or any(w[4:]):
        return Error.E_RESERVED
    words = HEADER_WORDS + RECORD_WORDS * (networks + slots) + STAGE_WORDS * stages
    state_words = w[1] & 0xFFFF
    if not (
        1 <= stages <= geometry.st_max
        and 1 <= networks <= geometry.net_max
        and slots <= geometry.net_max
        and 1 <= state_words <= geometry.d_max
        and w[1] >> 16 == 1
        and w[2] >> 16 & 0xFF == NO_VECTOR
        and 4 * words == nbytes
    ):
        return Error.E_DIM
    copies = 2 * geometry.vector_rows(state_words)
    state, following = w[2] & 0xFF, w[2] >> 8 & 0xFF
    if (
        w[3] > min(255, geometry.a_rows)
        or max(state, following) + copies > w[3]
        or abs(state - following) < copies
    ):
        return Error.E_ROWS
    return None


def _network_error(w: list[int], index: int, program: Program, geometry: Geometry) -> Error | None:
    count = w[0] & 0xFF
    if w[0] >> 9 or w[3] or any(w[10:]):
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
    if (net.bias_base | net.biases) % geometry.ob:
        return Error.E_ALIGN
    rows_end, biases_end = _ends(net)
    if rows_end > geometry.w_rows or biases_end > geometry.w_rows * geometry.ob:
        return Error.E_ROWS
    for other in program.networks[:index]:
        other_rows, other_biases = _ends(other)
        if (net.row_base < other_rows and other.row_base < rows_end) or (
            net.bias_base < other_biases and other.bias_base < biases_end
        ):
            return Error.E_ROWS
    rows = sum(geometry.weight_rows(x.n_in, x.n_out) for x in net.layers)
    biases = sum(-(-x.n_out // geometry.ob) * geometry.ob for x in net.layers)
    return Error.E_ROWS if rows > net.rows or biases > net.biases else None


def _ends(net: Network) -> tuple[int, int]:
    """Return the first weight row and bias word behind all banks of a network."""
    banks = 3 if net.has_target else 1
    return net.row_base + banks * net.rows, net.bias_base + banks * net.biases


def _stage_error(w: list[int], index: int, program: Program, geometry: Geometry) -> Error | None:
    stage = program.stages[index]
    op = stage.op
    if op not in COMPUTE + UPDATES:
        return Error.E_OPCODE
    if (
        w[0] >> 18
        or w[0] >> 13 & 1
        or (stage.chain and op != OP_OUTER)
        or (op == OP_LOSS_Q and (w[5] >> 26 or stage.mode > 1))
        or (op == OP_UPDATE and w[5] >> 4)
        or (op == OP_TARGET and w[5] >> 17)
    ):
        return Error.E_RESERVED
    if _bad_sizes(w, stage, index, program, geometry):
        return Error.E_DIM
    previous = program.stages[index - 1] if index else None
    deps = [d for d in (w[4] & 0xFF, w[4] >> 8 & 0xFF, w[4] >> 16 & 0xFF) if d != NO_STAGE]
    if (
        any(d >= index for d in deps)
        or (op in COMPUTE and any(s.op in UPDATES for s in program.stages[:index]))
        or (previous and previous.chain and op != OP_OUTER)
        or (stage.chain and index + 1 == len(program.stages))
    ):
        return Error.E_DEP
    if op in UPDATES or op == OP_LOSS_Q:
        return _vector_error(stage, program, geometry)
    net = program.networks[stage.net]
    biased = op in (OP_DOT, OP_OUTER) and not stage.no_bias
    if biased and stage.bias % geometry.ob:
        return Error.E_ALIGN
    rows = geometry.weight_rows(stage.n_in, stage.n_out)
    if not net.row_base <= stage.row <= net.row_base + net.rows - rows:
        return Error.E_ROWS
    if biased and not net.bias_base <= stage.bias <= net.bias_base + net.biases - stage.n_out:
        return Error.E_ROWS
    return _vector_error(stage, program, geometry)


def _bad_sizes(
    w: list[int], stage: Stage, index: int, program: Program, geometry: Geometry
) -> bool:
    op = stage.op
    product = op in COMPUTE and op != OP_LOSS_Q
    if w[0] >> 14 & 15 or stage.act > ACT_RELU:
        return True
    if op != OP_LOSS_Q and stage.net >= len(program.networks):
        return True
    if product and not 1 <= stage.n_in <= geometry.d_max:
        return True
    if op in COMPUTE and not 1 <= stage.n_out <= geometry.d_max:
        return True
    if op == OP_LOSS_Q:
        return stage.n_out > geometry.p
    has_target = program.networks[stage.net].has_target
    if product:
        return stage.target and (op == OP_OUTER or not has_target)
    if sum(s.op in UPDATES for s in program.stages[:index]) == UPDATE_MAX:
        return True
    if op == OP_UPDATE:
        return stage.slot >= len(program.slots)
    return not has_target or (not stage.polyak and stage.period == 0)


def _vector_error(stage: Stage, program: Program, geometry: Geometry) -> Error | None:
    """Check that a stage's vectors lie in the frame."""

    def outside(first: int, words: int) -> bool:
        return first + geometry.vector_rows(words) > program.frame_rows

    n_in, n_out = stage.n_in, stage.n_out
    bad = False
    if stage.op == OP_DOT:
        bad = outside(stage.src, n_in) or outside(stage.dst, n_out + stage.offset)
        bad |= bool(stage.offset) and stage.offset % geometry.p + n_out > geometry.p
    elif stage.op == OP_AXPY:
        bad = outside(stage.src, n_out) or outside(stage.dst, n_in) or stage.offset != 0
        bad |= stage.act == ACT_RELU and outside(stage.aux, n_in)
    elif stage.op == OP_OUTER:
        bad = outside(stage.src, n_out) or outside(stage.aux, n_in)
    elif stage.op == OP_LOSS_Q:
        bad = outside(stage.q, n_out) or outside(stage.q_next, n_out) or outside(stage.dst, n_out)
        bad |= stage.offset != 0 or (stage.mode == 1 and outside(stage.chooser, n_out))
    return Error.E_ROWS if bad else None


def _result_rows(stage: Stage, geometry: Geometry) -> set[int]:
    """Return the rows of a frame that a stage writes."""
    if stage.op == OP_DOT:
        first = stage.dst + stage.offset // geometry.p
        count = 1 if stage.offset else geometry.vector_rows(stage.n_out)
    elif stage.op == OP_AXPY:
        first, count = stage.dst, geometry.vector_rows(stage.n_in)
    else:
        first, count = stage.dst, int(stage.op == OP_LOSS_Q)
    return set(range(first, first + count))
