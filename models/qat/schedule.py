"""The tiles of a pass, in the order in which the sequencer issues them.

An output tile is LW outputs of a layer; its inner tiles go over the layer's inputs, LW at a time.
With the acting vector in all cores (`il`) N inner tiles go at once, one in each core.

Source: docs/qat.md; rtl/qat/jd_qat_sequencer.sv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from models.qat.layout import Geometry, Layer, Slots, input_tensor
from models.qat.ops import RELU, TANH


class Kind(IntEnum):
    """Of a pass."""

    FW = 0
    DX = 1
    DW = 2


@dataclass(frozen=True)
class Pass:
    """A pass through some layers of a network.

    Attributes:
        net: ACTOR or CRITIC.
        first, last: layers; DX goes from the last to the first.
        vectors: of all cores.
        source: line of the first operands in a slot: of inputs, of DX of deltas; in the acting slot
            they begin in line 0.
        half: activations have 16 bits.
        il: all cores have the vectors, and each has columns of its own.
        acting: the last entry of a tile is the acting slot's vector, which is in all cores.
        common: each core has all vectors: in IL it takes all of them, else every N-th pair. Of
            layer index 0 DX takes all tiles, and keeps nothing but the action.
        target: with the weights of T.
        watch: monitors see what is stored.
        sink: line of the last results, of DW of the last layer's deltas; None: their own.
        kind: FW, DX or DW.
        join: line of X or X' into which the actor's outputs are put; None: they are not.
        join_only: they have no line of their own.
        waits: operands of the first layer are made by passes before.
        action: DX takes of layer index 0 only the tile column with the action, into `sink`.
        word: of that column or line, at which the action begins.
        mu: line of the action.
        tangent: by which it came.
        fresh, update: DW of the first chunk; to Adam.
    """

    net: int
    first: int
    last: int
    vectors: int
    source: int
    half: bool = False
    il: bool = False
    acting: bool = False
    common: bool = False
    target: bool = False
    watch: bool = False
    sink: int | None = None
    kind: Kind = Kind.FW
    join: int | None = None
    join_only: bool = False
    waits: bool = False
    action: bool = False
    word: int = 0
    mu: int = 0
    tangent: bool = False
    fresh: bool = False
    update: bool = False


@dataclass(frozen=True)
class TileCommand:
    """A tile.

    Attributes:
        line, stride, rows: first line of weights of core 0, lines to the next one, and how many.
        entries: that a core takes.
        first, last: of its output tile.
        loads: its lines are loaded; those of DW are drained.
        columns: lines of inputs from this tile on.
        words: of a result, or of a drained line.
        word: from which on they count.
        wide, quantize: outputs go to the tail; are stored in 16 bits.
        joins, join_line: the tail puts them into a line of X or X'.
        relu, tanh: activation function, of DX of the layer before.
        bias: is added; of DW the sums of deltas are a line of biases.
        bias_line: of DW.
        action: deltas of the action.
        drops: results are not kept.
        watch: monitors see what is stored.
        source, delta, sink: lines of a slot: read in ACT, read in DEL, written; None: not so.
        state: line of the acting slot that is read.
        up, down: shifts of bias or gradient, and of the quantizer.
        tensor: of what is stored.
        fresh, update: of DW.
    """

    line: int
    stride: int
    rows: int
    entries: int
    first: bool
    last: bool
    loads: bool = True
    columns: int | None = None
    words: int = 0
    word: int = 0
    wide: bool = False
    quantize: bool = False
    joins: bool = False
    join_line: int | None = None
    relu: bool = False
    tanh: bool = False
    bias: bool = False
    bias_line: int | None = None
    action: bool = False
    drops: bool = False
    watch: bool = False
    source: int | None = None
    state: int | None = None
    delta: int | None = None
    sink: int | None = None
    up: int = 0
    down: int | None = None
    tensor: int | None = None
    fresh: bool | None = None
    update: bool | None = None

    @property
    def lines(self) -> tuple[int, ...]:
        """Lines of weights that are loaded."""
        return tuple(self.line + k * self.stride for k in range(self.rows * self.loads))


def tiles(
    p: Pass, layers: Sequence[Layer], slots: Slots, shifts: Sequence[int], geometry: Geometry
) -> Iterator[TileCommand]:
    """Tiles of a pass.

    Args:
        layers: of the network.
        slots: lines in a vector slot.
        shifts: of each tensor.
    """
    if p.kind == Kind.FW:
        yield from _forward(p, layers, slots.outputs[p.net], shifts, geometry)
    elif p.kind == Kind.DX:
        yield from _backward(p, layers, slots, geometry)
    else:
        yield from _gradient(p, layers, slots, shifts, geometry)


def _entries(p: Pass, geometry: Geometry) -> int:
    mine, wide = -(-p.vectors // geometry.n), 2 * geometry.n
    if p.common:
        mine = p.vectors // wide * 2 + min(p.vectors % wide, 2)
    if p.il:
        mine = p.vectors
    if p.half and p.kind != Kind.DX:
        mine = -(-mine // 2)
    return mine + p.acting


def _rows(layer: Layer, pt: int, geometry: Geometry) -> int:
    return min(geometry.lw, layer.p - pt * geometry.lw)


def _forward(
    p: Pass,
    layers: Sequence[Layer],
    outputs: Sequence[int],
    shifts: Sequence[int],
    geometry: Geometry,
) -> Iterator[TileCommand]:
    g = geometry
    step = g.n if p.il else 1
    for index in range(p.first, p.last + 1):
        layer, end = layers[index], index + 1 == len(layers)
        source = p.source if index == p.first else outputs[index - 1]
        sink = p.sink if p.sink is not None and index == p.last else outputs[index]
        columns = g.lines(layer.q)
        joins = end and p.join is not None
        tensor = 0 if joins else (4 * p.net + index + 1) % len(shifts)
        for pt in range(g.lines(layer.p)):
            rows = _rows(layer, pt, g)
            for qt in range(0, columns, step):
                yield TileCommand(
                    layer.wbase + pt * g.lw * columns + qt,
                    columns,
                    rows,
                    _entries(p, g),
                    qt == 0,
                    qt + step >= columns,
                    columns=columns - qt,
                    words=rows,
                    wide=end and (p.half or layer.act == TANH or joins or p.acting),
                    quantize=p.half and not end,
                    joins=joins,
                    join_line=p.join,
                    relu=layer.act == RELU,
                    tanh=layer.act == TANH,
                    bias=layer.bias,
                    watch=p.watch and not p.half and (joins if end else not p.target),
                    source=source + qt,
                    state=qt + (0 if index == p.first else outputs[index - 1]),
                    sink=sink + pt,
                    up=16 - shifts[input_tensor(p.net, index)] if p.half else 0,
                    down=shifts[tensor],
                    tensor=tensor,
                )


def _backward(
    p: Pass, layers: Sequence[Layer], slots: Slots, geometry: Geometry
) -> Iterator[TileCommand]:
    g, outputs, deltas = geometry, slots.outputs[p.net], slots.deltas[p.net]
    for index in reversed(range(p.first, p.last + 1)):
        layer = layers[index]
        source = p.source if index == p.last else deltas[index]
        columns = g.lines(layer.q)
        for qt in range(columns - 1 if p.action and not (index or p.common) else 0, columns):
            action = p.action and index == 0 and qt + 1 == columns
            place = outputs[index - 1] + qt if index else None
            placed = p.sink is not None and index == p.first
            sink = p.sink if placed else deltas[index - 1] if index else None
            for pt in range(g.lines(layer.p)):
                yield TileCommand(
                    layer.wbase + pt * g.lw * columns + qt,
                    columns,
                    _rows(layer, pt, g),
                    _entries(p, g),
                    pt == 0,
                    pt + 1 == g.lines(layer.p),
                    words=min(g.lw, layer.q - qt * g.lw),
                    word=p.word if action else 0,
                    wide=action,
                    relu=index > 0 and layers[index - 1].act == RELU,
                    tanh=action and p.tangent,
                    action=action,
                    drops=p.common and index == 0 and not action,
                    source=p.mu if action else place,
                    delta=source + pt,
                    sink=None if sink is None else sink + (0 if action else qt),
                )


def _gradient(
    p: Pass, layers: Sequence[Layer], slots: Slots, shifts: Sequence[int], geometry: Geometry
) -> Iterator[TileCommand]:
    g = geometry
    for index in range(p.first, p.last + 1):
        layer = layers[index]
        source = p.source if index == p.first else slots.outputs[p.net][index - 1]
        placed = p.sink is not None and index == p.last
        delta = p.sink if placed else slots.deltas[p.net][index]
        assert delta is not None
        columns = g.lines(layer.q)
        for pt in range(g.lines(layer.p)):
            for qt in range(columns):
                yield TileCommand(
                    layer.wbase + pt * g.lw * columns + qt,
                    columns,
                    _rows(layer, pt, g),
                    _entries(p, g),
                    qt == 0,
                    qt + 1 == columns,
                    loads=False,
                    words=min(g.lw, layer.q - qt * g.lw),
                    bias=layer.bias and qt == 0,
                    bias_line=layer.bbase + pt,
                    source=source + qt,
                    delta=delta + pt,
                    up=16 - shifts[input_tensor(p.net, index)] if p.half else 0,
                    fresh=p.fresh,
                    update=p.update,
                )


def biases(p: Pass, layers: Sequence[Layer], geometry: Geometry) -> list[int]:
    """Lines of biases that a pass adds, in the order in which output tiles want them."""
    if p.kind != Kind.FW:
        return []
    return [
        layer.bbase + pt
        for layer in layers[p.first : p.last + 1]
        if layer.bias
        for pt in range(geometry.lines(layer.p))
    ]
