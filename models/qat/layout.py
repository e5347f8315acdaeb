"""Where everything of the qat engine lies: builds, the network table, memory lines, vector slots.

A line is LW words. Weight (p, q) of a layer of P outputs and Q inputs is word q mod LW of line
wbase + p*ceil(Q/LW) + q/LW; bias p is word p mod LW of line bbase + p/LW. Padding words are zero.

Source: docs/qat.md (memories).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from models.qat.ops import NONE, RELU, TANH

ACTOR, CRITIC = 0, 1
HEAD_WORDS, LAYER_WORDS = 16, 4  # of the network table
MISC_WORDS = 6  # of a vector: reward, discount, weight, y, q, td
RECORD_EXTRA = 2  # words of a record's first line after the action: reward, discount
TENSORS = 8


@dataclass(frozen=True)
class Geometry:
    """Parameters of a build (capability words).

    Attributes:
        n: cores.
        lw: words of a line, rows and columns of an array.
        vc: vector slots of a core; one more is for acting.
        act_lines, del_lines: lines of a slot.
        w_lines: of each of W, T, G, M, V.
        max_dim: largest layer.
        max_layers: of a network.
        adam_lanes: weights per clock. tanh_lanes: units of a core.
        b_max: largest batch.
        paper: 1 if it has the published schedule.
    """

    n: int = 2
    lw: int = 16
    vc: int = 64
    act_lines: int = 160
    del_lines: int = 80
    w_lines: int = 20480
    max_dim: int = 512
    max_layers: int = 4
    adam_lanes: int = 16
    tanh_lanes: int = 4
    b_max: int = 4096
    paper: int = 0

    @property
    def vectors(self) -> int:
        """The largest chunk."""
        return self.n * self.vc

    def lines(self, words: int) -> int:
        """Lines that hold so many words."""
        return -(-words // self.lw)

    def action_place(self, states: int, actions: int) -> int:
        """A0: the word of X at which an action begins: it lies in one line."""
        if states % self.lw + actions <= self.lw:
            return states
        return self.lines(states) * self.lw

    def record_bytes(self, states: int) -> int:
        """Of a record: a line with action, reward and discount, then s and s'."""
        return 4 * self.lw * (1 + 2 * self.lines(states))

    def stride(self, states: int) -> int:
        """Bytes from one record to the next: the next multiple of 64."""
        return -(-self.record_bytes(states) // 64) * 64


@dataclass(frozen=True)
class Layer:
    """A layer of the network table.

    Attributes:
        p, q: outputs, inputs.
        act: NONE, RELU or TANH.
        bias: whether it has one.
        wbase, bbase: first line of weights and of biases.
    """

    p: int
    q: int
    act: int
    bias: bool
    wbase: int
    bbase: int

    def ranges(self, geometry: Geometry) -> list[tuple[int, int]]:
        """First line and number of lines: of the weights, and of the biases if it has any."""
        out = [(self.wbase, self.p * geometry.lines(self.q))]
        return out + [(self.bbase, geometry.lines(self.p))] * self.bias


Networks = tuple[tuple[Layer, ...], tuple[Layer, ...]]


@dataclass(frozen=True)
class Table:
    """The networks of an engine.

    Attributes:
        states, actions: S, A.
        networks: layers of actor and critic.
    """

    states: int
    actions: int
    networks: Networks

    def encode(self, geometry: Geometry) -> np.ndarray:
        """The words of the table, [16 + 8*max_layers] uint32."""
        words = np.zeros(table_words(geometry), np.uint32)
        words[0] = self.states | self.actions << 16
        words[1] = len(self.networks[ACTOR]) | len(self.networks[CRITIC]) << 16
        for net, layers in enumerate(self.networks):
            for index, layer in enumerate(layers):
                at = layer_word(net, index, geometry)
                words[at] = layer.p | layer.q << 16
                words[at + 1] = layer.act | layer.bias << 8
                words[at + 2], words[at + 3] = layer.wbase, layer.bbase
        return words

    def inputs(self, net: int, geometry: Geometry) -> int:
        """Inputs of a network's first layer."""
        place = geometry.action_place(self.states, self.actions) + self.actions
        return self.states if net == ACTOR else place


def table_words(geometry: Geometry) -> int:
    """Words of a network table."""
    return HEAD_WORDS + 2 * geometry.max_layers * LAYER_WORDS


def layer_word(net: int, index: int, geometry: Geometry) -> int:
    """The first word of a layer's record."""
    return HEAD_WORDS + LAYER_WORDS * (net * geometry.max_layers + index)


def plan(
    states: int,
    actions: int,
    hidden: Sequence[int],
    geometry: Geometry,
    *,
    critic_hidden: Sequence[int] | None = None,
    bias: bool = True,
) -> Table:
    """A table of fully connected networks whose lines follow one another.

    Args:
        states, actions: S, A.
        hidden: widths of the actor's hidden layers.
        critic_hidden: of the critic's; default the same.
        bias: whether layers have biases.
    """
    line = 0
    networks = []
    place = geometry.action_place(states, actions)
    for first, widths, last, end in (
        (states, hidden, actions, TANH),
        (place + actions, critic_hidden or hidden, 1, NONE),
    ):
        layers = []
        sizes = [first, *widths, last]
        for index, (q, p) in enumerate(pairwise(sizes)):
            act = RELU if index < len(sizes) - 2 else end
            layer = Layer(p, q, act, bias, line, 0)
            line += layer.ranges(geometry)[0][1]
            if bias:
                layer = Layer(p, q, act, bias, layer.wbase, line)
                line += geometry.lines(p)
            layers.append(layer)
        networks.append(tuple(layers))
    return Table(states, actions, (networks[ACTOR], networks[CRITIC]))


def input_tensor(net: int, index: int) -> int:
    """The tensor of a layer's input: 0 X and X'; l, 4 + l outputs of hidden layers l."""
    return 4 * net + index if index else 0


HIDDEN_OF_CRITIC = range(input_tensor(CRITIC, 1), TENSORS)


@dataclass(frozen=True)
class Slots:
    """First lines in a vector slot.

    Attributes:
        x, following, misc: of each of the two sets: X, X', and a vector's own words.
        outputs: of each network's layers, in ACT.
        deltas: the same in DEL, where both networks use the same lines.
        act, delta: lines that are used.
    """

    x: tuple[int, int]
    following: tuple[int, int]
    misc: tuple[int, int]
    outputs: tuple[tuple[int, ...], tuple[int, ...]]
    deltas: tuple[tuple[int, ...], tuple[int, ...]]
    act: int
    delta: int

    @classmethod
    def of(cls, table: Table, geometry: Geometry) -> Slots:
        """The places for a table's networks."""
        wide = geometry.lines(table.inputs(CRITIC, geometry))
        size = 2 * wide + geometry.lines(MISC_WORDS)
        act, outputs, deltas, most = 2 * size, [], [], 0
        for layers in table.networks:
            places, below, delta = [], [], 0
            for layer in layers:
                places.append(act)
                below.append(delta)
                act += geometry.lines(layer.p)
                delta += geometry.lines(layer.p)
            outputs.append(tuple(places))
            deltas.append(tuple(below))
            most = max(most, delta)
        return cls(
            (0, size), (wide, size + wide), (2 * wide, size + 2 * wide),
            (outputs[ACTOR], outputs[CRITIC]), (deltas[ACTOR], deltas[CRITIC]), act, most,
        )  # fmt: skip
