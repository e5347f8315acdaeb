"""Random legal programs that use every field, and changes of one field around its limits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.learner.layout import Geometry, Network, allocate
from models.learner.lower import Frame, Table
from models.learner.optim import Slot, adam, momentum, sgd
from models.learner.program import (
    HEADER_WORDS,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_Q,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    RECORD_WORDS,
    STAGE_WORDS,
    Program,
    Stage,
)
from models.learner.validate import UPDATE_MAX


@dataclass(frozen=True)
class Field:
    """A field of a record: its word, lowest bit and width."""

    word: int
    shift: int
    width: int


def fields(*widths: Sequence[int]) -> tuple[Field, ...]:
    """The fields of a record, from the widths of each word's, lowest bit first."""
    out = []
    for word, parts in enumerate(widths):
        shift = 0
        for width in parts:
            out.append(Field(word, shift, width))
            shift += width
    return tuple(out)


HEADER = fields((8, 8, 8, 8), (16, 16), (8, 8, 8, 8), (9, 23), *[(32,)] * 12)
NETWORK = fields((8, 1, 23), (16, 16), (16, 16), (32,), *[(16, 16)] * 6, *[(32,)] * 6)
SLOT = fields(*[(32,)] * 16)
STAGE = fields(
    (5, 3, 1, 2, 1, 1, 1, 4, 14), (16, 16), (16, 16), (8, 8, 8, 8), (8, 8, 8, 8), (16, 1, 15)
)


class Maker:
    """Draws legal programs for a build.

    Args:
        draw: the generator.
        geometry: of the build.
    """

    def __init__(self, draw: random.Random, geometry: Geometry) -> None:
        self.draw = draw
        self.geometry = geometry

    def program(self) -> Program:
        """A program; vectors, banks and the frame end where their limits are, mostly."""
        while True:
            nets = self._networks()
            slots = tuple(self._slot() for _ in range(self.draw.randint(0, self.geometry.net_max)))
            made = self._stages(nets, len(slots))
            if made is not None:
                return replace(made, networks=nets, slots=slots)

    def _slot(self) -> Slot:
        return self.draw.choice((sgd(0.1), momentum(0.2), adam(0.3)))

    def _networks(self) -> tuple[Network, ...]:
        """Networks in any order of their places, close together or with gaps."""
        g, draw = self.geometry, self.draw
        row = bias = masters = 0
        nets: list[Network] = []
        wanted = draw.choice((1, 2, 3, g.net_max))
        for _ in range(50):
            if len(nets) == wanted:
                break
            sizes = [self._size() for _ in range(draw.choice((1, 2, g.l_max)) + 1)]
            row += draw.choice((0, 0, 1, 5))
            bias += g.ob * draw.choice((0, 0, 1))
            net = allocate(g, sizes, draw.random() < 0.6, row, bias)
            slack = draw.choice((0, 0, 2))
            net = replace(net, rows=net.rows + slack, biases=net.biases + g.ob * slack)
            banks = 3 if net.has_target else 1
            words = sum(
                -(-size // 16) * 16
                for x in net.layers
                for size in (x.n_out * g.pitch(x.n_in), x.n_out)
            )
            ends = net.row_base + banks * net.rows, net.bias_base + banks * net.biases
            if ends[0] > g.w_rows or ends[1] > g.w_rows * g.ob or masters + words > g.w_rows * g.p:
                row, bias = net.row_base, net.bias_base
                continue
            row, bias, masters = *ends, masters + words
            nets.append(net)
        if not nets:
            return self._networks()
        draw.shuffle(nets)
        return tuple(nets)

    def _size(self) -> int:
        g = self.geometry
        return self.draw.choice((1, 2, 4, 5, g.p - 1, g.p, g.p + 1, g.d_max - 1, g.d_max))

    def _stages(self, nets: tuple[Network, ...], slots: int) -> Program | None:
        g, draw = self.geometry, self.draw
        words = draw.choice((1, g.p, g.p + 1, g.d_max))
        copies = 2 * g.vector_rows(words)
        first = [0, copies]
        draw.shuffle(first)
        rows = 2 * copies
        stages: list[Stage] = []
        count = draw.randint(1, min(12, g.st_max))
        chain = False
        while len(stages) < count:
            op = OP_OUTER if chain else draw.choice((OP_DOT, OP_AXPY, OP_OUTER, OP_LOSS_Q))
            stage, used = self._compute(op, nets, rows, len(stages))
            chain = op == OP_OUTER and len(stages) + 1 < count and draw.random() < 0.5
            stage = replace(stage, chain=chain)
            rows += used
            if op in (OP_DOT, OP_AXPY) and len(stages) + 1 < count and draw.random() < 0.3:
                # One whose result lies right behind this one's comes before it.
                other, used = self._compute(OP_DOT, nets, rows, len(stages))
                stages.append(other)
                rows += used
            stages.append(stage)
        room = min(UPDATE_MAX, g.st_max - count)
        for _ in range(draw.choice((0, 1, 3, room))):
            if (last := self._update(nets, slots, len(stages))) is not None:
                stages.append(last)
        limit = min(255, g.a_rows)
        if rows > limit:
            return None
        tight = rows if draw.random() < 0.7 else draw.choice((min(rows + 1, limit), limit))
        return Program(tuple(stages), (), (), words, 1, first[0], first[1], NO_VECTOR, tight)

    def _dependencies(self, index: int) -> tuple[int, ...]:
        return tuple(self.draw.randrange(index) for _ in range(self.draw.randint(0, 3)) if index)

    def _compute(
        self, op: int, nets: tuple[Network, ...], rows: int, index: int
    ) -> tuple[Stage, int]:
        """A stage whose result begins behind the first `rows` rows; and the rows it takes."""
        g, draw = self.geometry, self.draw
        number = draw.randrange(len(nets))
        net = nets[number]
        place = draw.randrange(len(net.layers))
        layer = net.layers[place]
        row = net.row_base + sum(g.weight_rows(x.n_in, x.n_out) for x in net.layers[:place])
        bias = net.bias_base + sum(-(-x.n_out // g.ob) * g.ob for x in net.layers[:place])
        n_in, n_out = layer.n_in, layer.n_out
        if op == OP_LOSS_Q:
            n_out = min(n_out, g.p)
        stage = Stage(
            op, net=number, act=draw.randrange(2), n_in=n_in, n_out=n_out, row=row, bias=bias,
            dst=rows, deps=self._dependencies(index), wait_update=draw.getrandbits(8),
        )  # fmt: skip
        into, out = g.vector_rows(n_in), g.vector_rows(n_out)

        def source(size: int, end: int) -> int:
            """A vector in front of `end`, often the last that fits."""
            last = max(end - size, 0)
            return draw.choice((last, draw.randint(0, last)))

        if op == OP_DOT:
            end = rows + out
            target = net.has_target and draw.random() < 0.5
            stage = replace(stage, target=target, no_bias=draw.random() < 0.3)
            offset = 0
            if n_out < g.p and draw.random() < 0.5:
                offset = g.p * draw.randint(0, 2) + draw.choice((1, g.p - n_out))
                end = rows + g.vector_rows(n_out + offset)
            return replace(stage, src=source(into, end), offset=offset), end - rows
        if op == OP_AXPY:
            end = rows + into
            stage = replace(stage, target=net.has_target and draw.random() < 0.5)
            return replace(stage, src=source(out, end), aux=source(into, end)), into
        if op == OP_OUTER:
            return replace(stage, src=source(out, rows), aux=source(into, rows), dst=0), 0
        end = rows + 1
        vectors = [source(1, end) for _ in range(3)]
        return (
            replace(
                stage, q=vectors[0], q_next=vectors[1], chooser=vectors[2], mode=draw.randrange(2),
                kappa=np.float32(1), n_in=draw.choice((0, n_in)),
            ),
            1,
        )  # fmt: skip

    def _update(self, nets: tuple[Network, ...], slots: int, index: int) -> Stage | None:
        draw = self.draw
        number = draw.randrange(len(nets))
        deps = self._dependencies(index)
        if slots and draw.random() < 0.5:
            return Stage(OP_UPDATE, net=number, slot=draw.randrange(slots), deps=deps)
        if not nets[number].has_target:
            return None
        polyak = draw.random() < 0.5
        period = draw.choice((1, 2, 65535)) if not polyak else draw.choice((0, 0, 3))
        tau = np.float32(draw.random())
        return Stage(OP_TARGET, net=number, polyak=polyak, period=period, tau=tau, deps=deps)

    def resize(self, image: np.ndarray) -> tuple[np.ndarray, str]:
        """The image with as many records of a kind as none may have, and what that is."""
        g = self.geometry
        counts = [int(image[0]) >> shift & 0xFF for shift in (0, 8, 16)]
        sizes = (STAGE_WORDS, RECORD_WORDS, RECORD_WORDS)
        parts: list[np.ndarray] = [np.zeros(0, np.uint32)] * 3
        at = HEADER_WORDS
        for kind in (1, 2, 0):
            parts[kind] = image[at : at + counts[kind] * sizes[kind]].reshape(-1, sizes[kind])
            at += parts[kind].size
        kind, count = self.draw.choice(
            ((0, 0), (0, g.st_max + 1), (1, 0), (1, g.net_max + 1), (2, g.net_max + 1))
        )
        rows = [parts[kind][k % max(counts[kind], 1)] for k in range(count)] if counts[kind] else []
        empty = np.zeros((count, sizes[kind]), np.uint32)
        parts[kind] = np.array(rows, np.uint32) if rows else empty
        counts[kind] = count
        header = image[:HEADER_WORDS].copy()
        header[0] = sum(c << 8 * k for k, c in enumerate(counts))
        whole = np.concatenate([header, *(parts[k].reshape(-1) for k in (1, 2, 0))])
        return whole.astype(np.uint32), f"{count} records of kind {kind} "

    def limits(self, program: Program) -> tuple[int, ...]:
        """Numbers at which something becomes illegal."""
        g = self.geometry
        return (
            0, 1, 2, 3, 4, 5, 6, 7, 8, g.p, g.ob, g.d_max, g.l_max, g.net_max, g.st_max, g.a_rows,
            g.w_rows, 255, 65535, len(program.networks), len(program.slots), len(program.stages),
            program.frame_rows,
        )  # fmt: skip

    def change(self, program: Program, image: np.ndarray) -> str:
        """Change one field of an image in place; returns which, and how."""
        draw = self.draw
        parts = (
            ("header", 1, HEADER_WORDS, HEADER),
            ("network", len(program.networks), RECORD_WORDS, NETWORK),
            ("slot", len(program.slots), RECORD_WORDS, SLOT),
            ("stage", len(program.stages), STAGE_WORDS, STAGE),
        )
        starts = np.cumsum([0, *(count * size for _, count, size, _ in parts)])
        weights = [min(count, 1) * (3 if kind == "stage" else 1) for kind, count, *_ in parts]
        which = draw.choices(range(4), weights)[0]
        kind, count, size, table = parts[which]
        index = draw.randrange(count)
        at = int(starts[which]) + index * size
        # Whole words are reserved, mostly: one such field counts little beside the others.
        field = draw.choices(table, [{16: 3, 32: 0.1}.get(f.width, 1) for f in table])[0]
        at += field.word
        mask = (1 << field.width) - 1
        old = int(image[at]) >> field.shift & mask
        value = draw.choice(
            (
                old + 1, old - 1, old + 1, old - 1, old + self.geometry.ob, old ^ 1, mask,
                old ^ 1 << draw.randrange(field.width), draw.choice(self.limits(program)),
                draw.choice(self.limits(program)) + 1, draw.getrandbits(field.width),
            )
        ) & mask  # fmt: skip
        image[at] = int(image[at]) & ~(mask << field.shift) | value << field.shift
        return f"{kind} {index}, word {field.word} bit {field.shift}: {old} -> {value}"


def several_networks(geometry: Geometry, states: int, hidden: int, actions: int) -> Program:
    """A program of four networks: 0 and 2 learn from one loss, 1 and 3 are there to be loaded.

    Networks 0 and 1 have targets; 0 is updated by slot 1 and copied every second step, 1 moves
    by tau from the weights that were loaded, 2 is updated by slot 0, 3 has one layer.
    """
    row = bias = 0
    nets: list[Network] = []
    for sizes, has_target in (
        ([states, hidden, actions], True), ([states, actions], True),
        ([states, hidden, hidden, actions], False), ([3, 5], False),
    ):  # fmt: skip
        net = allocate(geometry, sizes, has_target, row, bias)
        banks = 3 if has_target else 1
        row, bias = row + banks * net.rows, bias + banks * net.biases
        nets.append(net)
    frame = Frame(geometry)
    table = Table(geometry, frame)
    state, following = frame.vector(states, copies=2), frame.vector(states, copies=2)
    next_outputs, next_ids = table.forward(0, nets[0], following, target=True)
    choice, choice_ids = table.forward(1, nets[1], following, target=True)
    outputs, ids = table.forward(0, nets[0], state, target=False)
    others, _ = table.forward(2, nets[2], state, target=False)
    gradient = frame.vector(actions)
    loss = table.add(
        Stage(
            OP_LOSS_Q, n_out=actions, q=outputs[-1], q_next=next_outputs[-1], chooser=choice[-1],
            mode=1, dst=gradient, deps=(next_ids[-1], choice_ids[-1], ids[-1]),
            kappa=np.float32(1),
        )
    )  # fmt: skip
    lasts = [
        table.backward(0, nets[0], state, outputs, loss, gradient),
        table.backward(2, nets[2], state, others, loss, gradient),
    ]
    table.add(Stage(OP_UPDATE, net=0, slot=1, deps=(lasts[0],)))
    table.add(Stage(OP_TARGET, net=0, period=2))
    table.add(Stage(OP_UPDATE, net=2, slot=0, deps=(lasts[1],)))
    table.add(Stage(OP_TARGET, net=1, polyak=True, tau=np.float32(0.25)))
    return Program(
        tuple(table.stages), tuple(nets), (momentum(0.01), adam(0.02), sgd(0.5)), states, 1,
        state, following, NO_VECTOR, frame.rows,
    )  # fmt: skip


def many_networks(geometry: Geometry, states: int, hidden: int, actions: int) -> Program:
    """A program of as many networks as a build has, each with a target that all are run from."""
    row = bias = 0
    nets: list[Network] = []
    for index in range(geometry.net_max):
        net = allocate(geometry, [states, hidden if index % 2 else actions], True, row, bias)
        row, bias = row + 3 * net.rows, bias + 3 * net.biases
        nets.append(net)
    frame = Frame(geometry)
    table = Table(geometry, frame)
    state, following = frame.vector(states, copies=2), frame.vector(states, copies=2)
    passes = [table.forward(index, net, following, target=True) for index, net in enumerate(nets)]
    outputs, ids = table.forward(0, nets[0], state, target=False)
    gradient = frame.vector(actions)
    (next_outputs, next_ids), (choice, choice_ids) = passes[-2], passes[0]
    table.add(
        Stage(
            OP_LOSS_Q, n_out=actions, q=outputs[-1], q_next=next_outputs[-1], chooser=choice[-1],
            mode=1, dst=gradient, deps=(next_ids[-1], choice_ids[-1], ids[-1]),
            kappa=np.float32(1),
        )
    )  # fmt: skip
    return Program(
        tuple(table.stages), tuple(nets), (), states, 1, state, following, NO_VECTOR, frame.rows
    )
