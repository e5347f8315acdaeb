"""Formats of the sparse engine: geometry, network table, instructions, images.

Source: docs/sparse.md (jobs, program, images).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import cached_property

import numpy as np

from models.sparse.osel import Width
from models.sparse.plan import Build

LINE = 64  # bytes
LINE_NEURONS, VECTORS = 8, 4  # of an activation line
MAGIC = 0x53505253  # "SRPS"
INSTRUCTION_WORDS = 8
LAYER_WORDS = 16
GROUPS = (1, 2, 4, 8, 16, 32)
WORD_BANK = 64  # words of a line of the parameter memory
GROUP_LINE = 128  # grouping entries of a line
MOST_TILES = 8
QUEUE = 8  # instructions that a unit's queue holds
SEMAPHORES, SEMAPHORE_MOST = 16, 15
SETS = 2  # of operands and results


class Opcode(IntEnum):
    """Jobs."""

    CONFIG = 1
    LOAD = 2
    STORE = 3
    RUN = 4


class Kind(IntFlag):
    """Parts of a LOAD/STORE image."""

    W = 1
    V = 2
    BIAS = 4
    GROUP = 8
    GSTATE = 16


class Op(IntEnum):
    """Instructions; the upper four bits are the unit."""

    END = 0x00
    LOADA = 0x10
    STOREA = 0x11
    ZEROA = 0x12
    ENC = 0x20
    ENCT = 0x21
    PLAN = 0x30
    COMP = 0x31
    COMPT = 0x32
    FX = 0x40
    FY = 0x41
    FW = 0x50
    DX = 0x51
    DW = 0x52
    LIN = 0x60
    LSTMF = 0x61
    LSTMB = 0x62
    CF = 0x70
    CB = 0x71
    UPD = 0x80
    UPDG = 0x81
    CLRG = 0x82


class Unit(IntEnum):
    """What executes instructions; each takes its own in order."""

    DMA = 1
    OSEL = 2
    LAU = 3
    FILL = 4
    VPU = 5
    ELEM = 6
    COMM = 7
    OPT = 8


class Flag(IntFlag):
    """Flags of instructions, from bit 16 of word 0 on."""

    ROW = 1
    POLICY = 2
    NOCACHE = 4
    BIAS = 8
    ADDEND = 16
    SECOND = 32
    BSUM = 64
    PLAIN = 128
    GATES = 256


ALL_FLAGS = 0x1FF
NO_FLAGS = Flag(0)


class Stage(IntEnum):
    """Whose counter runs."""

    GROUP = 0
    FORWARD = 1
    BACKWARD = 2
    UPDATE = 3


@dataclass(frozen=True)
class Use:
    """What an instruction has besides wait, post and stage.

    Attributes:
        layer, tiles, address: it names one.
        tensors: which of A, B and D.
        lines: lines per tile, the last word.
        neurons: their number in the last word.
        tile: the first tile in the last word.
        flags: allowed.
    """

    layer: bool = False
    tiles: bool = False
    address: bool = False
    tensors: str = ""
    lines: bool = False
    neurons: bool = False
    tile: bool = False
    flags: Flag = NO_FLAGS


USES: dict[Op, Use] = {
    Op.END: Use(),
    Op.LOADA: Use(tiles=True, address=True, tensors="A", lines=True, flags=Flag.ROW),
    Op.STOREA: Use(tiles=True, address=True, tensors="A", lines=True, flags=Flag.ROW),
    Op.ZEROA: Use(tiles=True, tensors="A", lines=True),
    Op.ENC: Use(layer=True, flags=Flag.NOCACHE),
    Op.ENCT: Use(layer=True),
    Op.PLAN: Use(layer=True, flags=Flag.PLAIN),
    Op.COMP: Use(layer=True, flags=Flag.ROW | Flag.POLICY | Flag.NOCACHE),
    Op.COMPT: Use(layer=True, flags=Flag.ROW | Flag.POLICY),
    Op.FX: Use(
        layer=True, tiles=True, tensors="A", neurons=True,
        flags=Flag.SECOND | Flag.BSUM | Flag.GATES,
    ),
    Op.FY: Use(
        layer=True, tiles=True, tensors="A", neurons=True, flags=Flag.BSUM | Flag.GATES
    ),
    Op.FW: Use(layer=True, tiles=True, flags=Flag.ROW),
    Op.DX: Use(layer=True, tiles=True, flags=Flag.ROW),
    Op.DW: Use(layer=True, tiles=True, flags=Flag.ROW),
    Op.LIN: Use(
        layer=True, tiles=True, tensors="D",
        flags=Flag.ROW | Flag.BIAS | Flag.ADDEND | Flag.SECOND,
    ),
    Op.LSTMF: Use(layer=True, tiles=True, tensors="AD", flags=Flag.ROW | Flag.BIAS),
    Op.LSTMB: Use(layer=True, tiles=True, tensors="ABD"),
    Op.CF: Use(tiles=True, tensors="ABD", neurons=True, tile=True, flags=Flag.ROW),
    Op.CB: Use(tiles=True, tensors="ABD", neurons=True, tile=True, flags=Flag.ROW),
    Op.UPD: Use(layer=True, flags=Flag.ROW),
    Op.UPDG: Use(layer=True),
    Op.CLRG: Use(),
}  # fmt: skip


@dataclass(frozen=True)
class Geometry:
    """A build; see engine.yaml for the ranges.

    Attributes:
        cores, banks, lanes, slots, acc: of the array.
        g_max, d_max, l_max, win_max: largest G, M or N, layers, windows of a plan.
        w_rows, x_rows, y_rows, r_rows, g_rows: lines of a bank's memories.
        a_rows: activation lines of a core.
        p_words, b_words, s_words: parameters, biases, grouping states.
        m_rows: lines of grouping entries.
        max_w, cmp_w, hit_w: of the encoder, per clock.
        keep_bv: bitvectors are kept.
        drain_w, opt_lanes, channels: result lanes, weights, elementwise channels per clock.
        mul_latency, add_latency: clocks.
    """

    cores: int = 3
    banks: int = 8
    lanes: int = 33
    slots: int = 4
    acc: int = 64
    g_max: int = 32
    d_max: int = 512
    l_max: int = 8
    win_max: int = 24
    w_rows: int = 4096
    x_rows: int = 8192
    y_rows: int = 8192
    r_rows: int = 4096
    g_rows: int = 1024
    a_rows: int = 65536
    p_words: int = 262144
    b_words: int = 2048
    s_words: int = 4096
    m_rows: int = 512
    max_w: int = 128
    cmp_w: int = 64
    hit_w: int = 4
    keep_bv: int = 0
    drain_w: int = 4
    opt_lanes: int = 6
    channels: int = 4
    mul_latency: int = 3
    add_latency: int = 4

    @property
    def width(self) -> Width:
        """Of the encoder."""
        return Width(self.max_w, self.cmp_w, self.hit_w)

    @property
    def build(self) -> Build:
        """What a plan may use."""
        return Build(
            self.cores, self.banks, self.lanes, self.slots, self.drain_w, self.win_max,
            self.w_rows, self.g_rows, self.r_rows,
        )  # fmt: skip


def pitch(n: int) -> int:
    """Words from a row of the parameter memory to the next."""
    return -(-n // WORD_BANK) * WORD_BANK


def padded(count: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-count // unit) * unit


@dataclass(frozen=True)
class Layer:
    """A record of the network table.

    Attributes:
        m, n: rows (inputs) and columns (outputs), 1..DMax.
        groups: G.
        split_log2: log2 of KSPLIT.
        tr: dW contracts columns.
        tiles: NT, 1..8.
        w_base: first word of the weights, a multiple of 64.
        b_base: first bias.
        g_base: first line of the grouping entries.
        s_base: first grouping state.
        dx_from: first row that dX produces.
    """

    m: int
    n: int
    groups: int = 1
    split_log2: int = 0
    tr: bool = False
    tiles: int = MOST_TILES
    w_base: int = 0
    b_base: int = 0
    g_base: int = 0
    s_base: int = 0
    dx_from: int = 0

    @property
    def split(self) -> int:
        """KSPLIT."""
        return 1 << self.split_log2

    @property
    def w_words(self) -> int:
        """Words in the parameter memory."""
        return self.m * pitch(self.n)

    @property
    def grouping(self) -> tuple[int, int]:
        """Lines of IG and of OG."""
        if self.groups == 1:
            return 0, 0
        ig, og = (-(-count * self.groups // GROUP_LINE) for count in (self.m, self.n))
        return ig, og

    @property
    def states(self) -> int:
        """Grouping states."""
        return 0 if self.groups == 1 else self.m + self.n

    def encode(self) -> list[int]:
        """Its 16 words."""
        words = [
            self.m | self.n << 16,
            self.groups | self.split_log2 << 8 | self.tr << 12 | self.tiles << 16,
            self.w_base, self.b_base, self.g_base, self.s_base, self.dx_from,
        ]  # fmt: skip
        return words + [0] * (LAYER_WORDS - len(words))

    @staticmethod
    def decode(words: Sequence[int]) -> Layer:
        """The layer of 16 words."""
        size, kind = words[0], words[1]
        w_base, b_base, g_base, s_base = words[2:6]
        return Layer(
            size & 0x3FF, size >> 16 & 0x3FF, kind & 0x3F, kind >> 8 & 3, bool(kind >> 12 & 1),
            kind >> 16 & 0xF, w_base, b_base, g_base, s_base, words[6] & 0x1FF,
        )  # fmt: skip


# Bits of a layer's words that must be 0.
LAYER_RESERVED = [0xFC00FC00, 0xFFF0ECC0, 0, 0, 0, 0, 0xFFFFFE00] + [0xFFFFFFFF] * 9


def table_words(layers: Sequence[Layer]) -> np.ndarray:
    """The CONFIG image of a network, [16 * (layers + 1)] uint32."""
    header = [MAGIC, len(layers)] + [0] * (LAYER_WORDS - 2)
    return np.array([*header, *(w for layer in layers for w in layer.encode())], np.uint32)


@dataclass(frozen=True)
class Tensor:
    """A tensor of the activation store: of all its tiles, a line for 8 neurons and 4 vectors.

    Attributes:
        line: of tile 0.
        skew: bank of neuron 0.
        stride: lines from a tile to the next.
    """

    line: int = 0
    skew: int = 0
    stride: int = 0


NOWHERE = Tensor()


@dataclass(frozen=True)
class Instruction:
    """An instruction of 32 bytes.

    Attributes:
        op, stage, flags: word 0.
        wait, post: masks of semaphores.
        layer: number.
        tiles: of core 0, 1 and 2.
        a, b, d: tensors.
        address: of a DMA.
        value: neurons of the first tensor (SECOND), first tile (CF, CB), or lines per tile (DMA).
        neurons: of the operand (FX, FY) or of the message (CF, CB).
    """

    op: int
    stage: int = 0
    flags: int = 0
    wait: int = 0
    post: int = 0
    layer: int = 0
    tiles: tuple[int, int, int] = (0, 0, 0)
    a: Tensor = NOWHERE
    b: Tensor = NOWHERE
    d: Tensor = NOWHERE
    address: int = 0
    value: int = 0
    neurons: int = 0
    words: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def code(self) -> Op:
        """What it does. Raises: ValueError for an unknown op."""
        return Op(self.op)

    @cached_property
    def unit(self) -> Unit:
        """Which unit executes it. Raises: ValueError for one that is not there, as END's."""
        return Unit(self.op >> 4)

    @cached_property
    def mode(self) -> Flag:
        """Its flags."""
        return Flag(self.flags & ALL_FLAGS)

    @cached_property
    def waits(self) -> tuple[int, ...]:
        """Semaphores that it waits for."""
        return tuple(k for k in range(SEMAPHORES) if self.wait >> k & 1)

    @cached_property
    def posts(self) -> tuple[int, ...]:
        """Semaphores that it posts."""
        return tuple(k for k in range(SEMAPHORES) if self.post >> k & 1)

    def has(self, flag: Flag) -> bool:
        """Whether it has a flag."""
        return bool(self.flags & flag.value)

    def encode(self) -> list[int]:
        """Its eight words."""
        places = [t.line | t.skew << 16 for t in (self.a, self.b, self.d)]
        if self.op in (Op.LOADA, Op.STOREA):
            places[1:] = [self.address & 0xFFFF_FFFF, self.address >> 32]
        tiles = sum(count << 8 + 4 * core for core, count in enumerate(self.tiles))
        return [
            self.op | self.stage << 8 | self.flags << 16,
            self.wait | self.post << 16,
            self.layer | tiles,
            *places,
            self.a.stride | self.b.stride << 10 | self.d.stride << 20,
            self.value | self.neurons << 16,
        ]

    @staticmethod
    def decode(words: Sequence[int]) -> Instruction:
        """The instruction of eight words, legal or not."""
        w = [int(x) for x in words]
        op = w[0] & 0xFF
        a, b, d = (
            Tensor(w[3 + k] & 0xFFFF, w[3 + k] >> 16 & 7, w[6] >> 10 * k & 0x3FF) for k in range(3)
        )
        address = 0
        if op in (Op.LOADA, Op.STOREA):
            address, b, d = w[4] | w[5] << 32, NOWHERE, NOWHERE
        tiles = (w[2] >> 8 & 15, w[2] >> 12 & 15, w[2] >> 16 & 15)
        return Instruction(
            op, w[0] >> 8 & 3, w[0] >> 16, w[1] & 0xFFFF, w[1] >> 16, w[2] & 7, tiles, a, b, d,
            address, w[7] & 0x3FF, w[7] >> 16 & 0x3FF, tuple(w),
        )  # fmt: skip


def reserved(instruction: Instruction) -> int | None:
    """The first word with a bit that its op does not have, or None.

    The op must be known.
    """
    use, w = USES[Op(instruction.op)], instruction.words
    flags = Flag(instruction.flags)
    tensors = use.tensors + (
        "B" if flags & (Flag.SECOND | Flag.ADDEND) and "B" not in use.tensors else ""
    )
    last = 0
    if use.lines or flags & Flag.SECOND:
        last |= 0x3FF
    if use.tile:
        last |= 0xFF
    if use.neurons:
        last |= 0x3FF << 16
    tensor = 0x7FFFF
    allowed = [
        0xFF | 0x300 | int(use.flags) << 16,
        0xFFFFFFFF,
        (7 if use.layer else 0) | (0xFFF00 if use.tiles else 0),
        tensor if "A" in tensors else 0,
        tensor if "B" in tensors else 0xFFFFFFFF if use.address else 0,
        tensor if "D" in tensors else 0xFF if use.address else 0,
        sum(0x3FF << 10 * k for k, name in enumerate("ABD") if name in tensors),
        last,
    ]
    for index, (word, mask) in enumerate(zip(w, allowed, strict=True)):
        if word & ~mask:
            return index
    return None


def program_words(program: Sequence[Instruction]) -> np.ndarray:
    """A program as device memory has it, [8 * instructions] uint32."""
    return np.array([w for one in program for w in one.encode()], np.uint32)


# ---- Images of LOAD and STORE ----
def image_words(layer: Layer, kinds: int) -> dict[Kind, int]:
    """Words of each part of a layer's image, in order."""
    row = padded(layer.n, 16)
    ig, og = layer.grouping
    sizes = {
        Kind.W: layer.m * row,
        Kind.V: layer.m * row,
        Kind.BIAS: 2 * row,
        Kind.GROUP: (ig + og) * GROUP_LINE // 4,
        Kind.GSTATE: padded(layer.states, 16),
    }
    return {kind: words for kind, words in sizes.items() if kind & kinds}


def lines(values: np.ndarray) -> np.ndarray:
    """Activation lines of a tensor with skew 0.

    Args:
        values: [V, N] float16, V a multiple of 4, N of 8.
    Returns: [tiles, N/8, 8, 4] uint16.
    """
    v, n = values.shape
    tiles = values.reshape(v // VECTORS, VECTORS, n // LINE_NEURONS, LINE_NEURONS)
    return np.ascontiguousarray(tiles.transpose(0, 2, 3, 1)).view(np.uint16)


def of_lines(stored: np.ndarray) -> np.ndarray:
    """Inverse of `lines`, [V, N] float16."""
    tiles, count = stored.shape[:2]
    values = stored.view(np.float16).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(values).reshape(tiles * VECTORS, count * LINE_NEURONS)
