"""The tiles of a pass, in the order in which the sequencer issues them.

An output tile is LW outputs of a layer; its inner tiles go over the layer's inputs, LW at a time.
With the acting vector in all cores (`il`) N inner tiles go at once, one in each core.

Source: docs/qat.md; rtl/qat/jd_qat_sequencer.sv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.qat.layout import Geometry, Layer, input_tensor
from models.qat.ops import RELU, TANH


@dataclass(frozen=True)
class Pass:
    """A pass forward through some layers of a network.

    Attributes:
        net: ACTOR or CRITIC.
        first, last: layers.
        vectors: of all cores.
        source: line of the first layer's inputs in a slot.
        half: activations have 16 bits.
        il: the vector is in all cores, each of which has columns of its own.
        acting: it is that of the acting slot.
        target: with the weights of T.
        watch: monitors see what is stored.
        sink: line of the last layer's outputs; None: its own.
        join: line and word of X or X' at which the actor's last outputs are put in; None: they
            are not.
        join_only: they have no line of their own.
    """

    net: int
    first: int
    last: int
    vectors: int
    source: int
    half: bool = False
    il: bool = False
    acting: bool = False
    target: bool = False
    watch: bool = False
    sink: int | None = None
    join: tuple[int, int] | None = None
    join_only: bool = False


@dataclass(frozen=True)
class TileCommand:
    """A tile.

    Attributes:
        lines: of weights, of core 0.
        columns: lines of inputs from this tile on.
        entries: that a core takes.
        first, last: of its output tile.
        wide, quantize: outputs go to the tail; are stored in 16 bits.
        joins: the tail puts them into X or X'.
        relu, tanh, bias, watch: of the layer.
        source, sink: lines of a slot.
        up, down: shifts of bias and quantizer.
        tensor: of what is stored.
        waits: how many output tiles of the layer before must be written.
    """

    lines: tuple[int, ...]
    columns: int
    entries: int
    first: bool
    last: bool
    wide: bool
    quantize: bool
    joins: bool
    relu: bool
    tanh: bool
    bias: bool
    watch: bool
    source: int
    sink: int
    up: int
    down: int
    tensor: int
    waits: int


def forward(
    p: Pass,
    layers: Sequence[Layer],
    outputs: Sequence[int],
    shifts: Sequence[int],
    geometry: Geometry,
) -> Iterator[TileCommand]:
    """Tiles of a pass forward.

    Args:
        layers: of the network.
        outputs: first lines of their outputs in a slot.
        shifts: of each tensor.
    """
    g = geometry
    step = g.n if p.il else 1
    mine = -(-p.vectors // g.n)
    entries = 1 if p.il else -(-mine // 2) if p.half else mine
    for index in range(p.first, p.last + 1):
        layer, end = layers[index], index + 1 == len(layers)
        source = p.source if index == p.first else outputs[index - 1]
        sink = p.sink if p.sink is not None and index == p.last else outputs[index]
        columns = g.lines(layer.q)
        joins = end and p.join is not None
        tensor = 0 if joins else (4 * p.net + index + 1) % len(shifts)
        for pt in range(g.lines(layer.p)):
            rows = min(g.lw, layer.p - pt * g.lw)
            for qt in range(0, columns, step):
                base = layer.wbase + pt * g.lw * columns + qt
                yield TileCommand(
                    tuple(base + k * columns for k in range(rows)),
                    columns - qt,
                    entries,
                    qt == 0,
                    qt + step >= columns,
                    end and (p.half or layer.act == TANH or joins),
                    p.half and not end,
                    joins,
                    layer.act == RELU,
                    layer.act == TANH,
                    layer.bias,
                    p.watch and not p.half and (joins if end else not p.target),
                    source + qt,
                    sink + pt,
                    16 - shifts[input_tensor(p.net, index)] if p.half else 0,
                    shifts[tensor],
                    tensor,
                    min(qt + step, columns) if index > p.first else 0,
                )


def biases(p: Pass, layers: Sequence[Layer], geometry: Geometry) -> list[int]:
    """Lines of biases of a pass, in the order in which output tiles want them."""
    return [
        layer.bbase + pt
        for layer in layers[p.first : p.last + 1]
        if layer.bias
        for pt in range(geometry.lines(layer.p))
    ]
