"""Checks of the sparse engine: descriptors, network tables, instructions.

Source: docs/sparse.md (errors).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.engine import beyond
from models.registers.sparse import Error
from models.sparse.formats import (
    GROUPS,
    LAYER_RESERVED,
    LINE,
    MAGIC,
    MOST_TILES,
    USES,
    VECTORS,
    Flag,
    Geometry,
    Instruction,
    Kind,
    Layer,
    Op,
    Opcode,
    Tensor,
    reserved,
)

SIZE, ADDRESS = 2, 4  # words of a descriptor
HIGH = 0xFFFF_FF00  # bits above 39 in the upper word of an address
RESERVED = {  # bits that must be zero, of words 2 and 3
    Opcode.CONFIG: (0, 0xFFFFFFFF),
    Opcode.LOAD: (0xFFFFE000, 0xFFFFFFFF),
    Opcode.STORE: (0xFFFFE000, 0xFFFFFFFF),
    Opcode.RUN: (0xFFFF0000, 0xFFFFFFFF),
}


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
class Job:
    """A checked descriptor.

    Attributes:
        opcode: of the job.
        size: word 2.
        address: of its image or program.
    """

    opcode: Opcode
    size: int
    address: int

    @property
    def layers(self) -> list[int]:
        """Of LOAD and STORE."""
        return [k for k in range(8) if self.size >> k & 1]

    @property
    def kinds(self) -> Kind:
        """Of LOAD and STORE."""
        return Kind(self.size >> 8 & 0x1F)


def check_job(descriptor: np.ndarray) -> Job:
    """Check opcode and reserved bits. Raises: JobError."""
    words = [int(w) for w in descriptor]
    if words[0] & 0xFF not in list(Opcode):
        raise JobError(Error.E_OPCODE)
    opcode = Opcode(words[0] & 0xFF)
    masks = [0xFF00, 0, *RESERVED[opcode], 0, HIGH] + [0xFFFFFFFF] * 10
    for index, (word, mask) in enumerate(zip(words, masks, strict=True)):
        if word & mask:
            raise JobError(Error.E_RESERVED, index)
    return Job(opcode, words[SIZE], words[ADDRESS] | words[ADDRESS + 1] << 32)


def check_place(job: Job, nbytes: int) -> None:
    """Check that an image is aligned and below 2^40. Raises: JobError."""
    if job.address % LINE:
        raise JobError(Error.E_ALIGN, ADDRESS)
    if beyond(job.address, nbytes):
        raise JobError(Error.E_ADDR, ADDRESS)


def check_table(words: np.ndarray, geometry: Geometry) -> list[Layer]:
    """Check a network table.

    Args:
        words: [16 * records] uint32, header first.
        geometry: the build.
    Raises: JobError; info0 is the layer, of the header 0.
    """
    records = words.reshape(-1, 16).astype(np.int64).tolist()
    header = records[0]
    if header[0] != MAGIC:
        raise JobError(Error.E_PROGRAM)
    count = header[1] & 0xF
    if header[1] & ~0xF or any(header[2:]):
        raise JobError(Error.E_RESERVED)
    if not 1 <= count <= geometry.l_max or count != len(records) - 1:
        raise JobError(Error.E_DIM)
    layers: list[Layer] = []
    for number, record in enumerate(records[1:]):
        if any(w & mask for w, mask in zip(record, LAYER_RESERVED, strict=False)):
            raise JobError(Error.E_RESERVED, number)
        layer = Layer.decode(record)
        if not _dimensions(layer, geometry):
            raise JobError(Error.E_DIM, number)
        if not _places(layer, layers, geometry):
            raise JobError(Error.E_PARAM, number)
        layers.append(layer)
    return layers


def _dimensions(layer: Layer, g: Geometry) -> bool:
    split = layer.split
    return (
        1 <= layer.m <= g.d_max
        and 1 <= layer.n <= g.d_max
        and layer.groups in GROUPS
        and layer.groups <= g.g_max
        and layer.split_log2 <= 2
        and split <= g.slots
        and 1 <= layer.tiles <= MOST_TILES
        and layer.dx_from < layer.m
        and (split == 1 or (layer.groups == 1 and layer.n * split <= g.lanes and layer.m >= split))
    )


def places(layer: Layer) -> list[tuple[int, int]]:
    """First place and count in the memories of weights, biases, grouping lines and states."""
    return [
        (layer.w_base, layer.w_words),
        (layer.b_base, layer.n),
        (layer.g_base, sum(layer.grouping)),
        (layer.s_base, layer.states),
    ]


def _places(layer: Layer, others: Sequence[Layer], g: Geometry) -> bool:
    sizes = (g.p_words, g.b_words, g.m_rows, g.s_words)
    if layer.w_base % 64:
        return False
    for kind, ((base, count), size) in enumerate(zip(places(layer), sizes, strict=True)):
        if base + count > size:
            return False
        for other in others:
            start, length = places(other)[kind]
            if count and length and base < start + length and start < base + count:
                return False
    return True


# ---- Instructions ----
@dataclass(frozen=True)
class Context:
    """What instructions are checked against.

    Attributes:
        geometry: the build.
        layers: of the network table.
        agents, episodes: registers.
    """

    geometry: Geometry
    layers: Sequence[Layer]
    agents: int
    episodes: int

    def vectors(self, core: int, row: bool) -> int:
        """Vectors of a core: all in ROW split, else those of its episodes."""
        if row:
            return self.agents * self.episodes
        first, end = ((core + k) * self.episodes // self.geometry.cores for k in (0, 1))
        return self.agents * (end - first)


def check_instruction(one: Instruction, context: Context) -> Error | None:
    """What is wrong with an instruction as it is fetched, or None."""
    if one.op not in list(Op):
        return Error.E_OPCODE
    op, flags, use = one.code, one.mode, USES[one.code]
    second = Flag.SECOND in flags
    if (
        reserved(one) is not None
        or (second and Flag.ADDEND in flags)
        or (second and Flag.GATES in flags)
    ):
        return Error.E_RESERVED
    if use.address and one.address % LINE:
        return Error.E_ALIGN
    if use.address and beyond(one.address, dma_bytes(one)):
        return Error.E_ADDR
    if not _fits(one, op, flags, context):
        return Error.E_DIM
    if not _in_store(one, op, flags, context):
        return Error.E_RANGE
    return None


def dma_bytes(one: Instruction) -> int:
    """Bytes in device memory of LOADA and STOREA."""
    tiles = one.tiles[0] if one.flags & Flag.ROW else sum(one.tiles)
    return LINE * tiles * one.value


def _fits(one: Instruction, op: Op, flags: Flag, context: Context) -> bool:
    use, g = USES[op], context.geometry
    layer = None
    if use.layer:
        if one.layer >= len(context.layers):
            return False
        layer = context.layers[one.layer]
    if use.tiles:
        # The layer's tiles are those of FW and dX; units of dW are of all that there are.
        most = MOST_TILES
        if layer is not None and op not in (Op.FX, Op.FY, Op.DW):
            most = layer.tiles
        if not any(one.tiles) or max(one.tiles) > most or any(one.tiles[g.cores :]):
            return False
        if Flag.ROW in flags and len(set(one.tiles[: g.cores])) > 1:
            return False
    if op in (Op.FX, Op.FY):
        assert layer is not None
        rows = g.x_rows if op == Op.FX else g.y_rows
        return (
            one.neurons in (layer.m, layer.n)
            and one.neurons * max(one.tiles) <= rows // 2
            and (Flag.SECOND not in flags or _first(one.value, one.neurons))
            and (Flag.GATES not in flags or one.neurons % 32 == 0)
            and (Flag.BSUM not in flags or one.neurons == layer.n)
        )
    if op == Op.LIN:
        assert layer is not None
        return Flag.SECOND not in flags or _first(one.value, max(layer.m - layer.dx_from, layer.n))
    if op in (Op.LSTMF, Op.LSTMB):
        assert layer is not None
        return layer.n % 32 == 0
    if op in (Op.CF, Op.CB):
        return _episodes(one, flags, context) and 0 < one.neurons <= g.d_max
    if op == Op.UPDG:
        assert layer is not None
        return layer.groups > 1
    return op not in (Op.LOADA, Op.STOREA, Op.ZEROA) or one.value > 0


def _first(first: int, count: int) -> bool:
    return first % 8 == 0 and 0 < first < count


def _episodes(one: Instruction, flags: Flag, context: Context) -> bool:
    """Whether the borders of a CF or CB lie between episodes."""
    if not context.agents or not context.episodes:
        return False
    begin = VECTORS * one.value
    for core, tiles in enumerate(one.tiles[: context.geometry.cores]):
        end, there = begin + VECTORS * tiles, context.vectors(core, Flag.ROW in flags)
        if tiles and (begin % context.agents or (end < there and end % context.agents)):
            return False
    return True


def tensors(one: Instruction, layers: Sequence[Layer]) -> list[tuple[Tensor, int]]:
    """The tensors of an instruction, and their neurons; of an LSTM block 8 H."""
    op, flags = one.code, one.mode
    layer = layers[one.layer] if USES[op].layer else None
    if op in (Op.LOADA, Op.STOREA, Op.ZEROA):
        return [(one.a, 8 * one.value)]
    if op in (Op.FX, Op.FY):
        if Flag.SECOND in flags:
            return [(one.a, one.value), (one.b, one.neurons - one.value)]
        return [(one.a, one.neurons)]
    if op in (Op.CF, Op.CB):
        return [(one.a, one.neurons), (one.b, 8), (one.d, one.neurons)]
    if layer is None:
        return []
    if op in (Op.LSTMF, Op.LSTMB):
        hidden = layer.n // 4
        block = [(one.a, 8 * hidden), (one.d, 8 * hidden)]
        return block + ([(one.b, hidden)] if op == Op.LSTMB else [])
    if op == Op.LIN:  # FW's or dX's: which of them is known when it starts
        least = min(layer.n, layer.m - layer.dx_from)
        if Flag.SECOND in flags:
            return [(one.d, one.value), (one.b, 8)]
        return [(one.d, least)] + ([(one.b, least)] if Flag.ADDEND in flags else [])
    return []


def in_store(tensor: Tensor, neurons: int, tiles: int, a_rows: int) -> bool:
    """Whether a tensor lies within the activation store."""
    last = tensor.line + (tiles - 1) * tensor.stride + -(-neurons // 8)
    return last <= a_rows


def _in_store(one: Instruction, op: Op, flags: Flag, context: Context) -> bool:
    return all(
        in_store(tensor, neurons, max(one.tiles), context.geometry.a_rows)
        for tensor, neurons in tensors(one, context.layers)
    )
