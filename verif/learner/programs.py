"""Random legal programs that use every field, and changes of one field around its limits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.learner.layout import Geometry, Network, allocate
from models.learner.loss import MODE_MAX, MODE_TWIN
from models.learner.lower import ActorCriticConfig, Frame, Table, ddpg, td3
from models.learner.optim import Slot, adam, momentum, sgd
from models.learner.program import (
    ACT_TANH,
    ACT_TANH_SLOPE,
    HEADER_WORDS,
    LOSSES,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_PI,
    OP_LOSS_Q,
    OP_LOSS_TD,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    RECORD_WORDS,
    STAGE_WORDS,
    Program,
    Stage,
    spatial_unit,
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


HEADER = fields((8, 8, 8, 8), (16, 16), (8, 8, 8, 8), (9, 23), (16, 16), *[(32,)] * 11)
NETWORK = fields((8, 1, 23), (16, 16), (16, 16), (32,), *[(16, 16)] * 8, *[(32,)] * 4)
SLOT = fields(*[(32,)] * 16)
STAGE = fields(
    (5, 3, 1, 2, 1, 1, 1, 4, 1, 1, 12), (16, 16), (16, 16), (8, 8, 8, 8), (8, 8, 8, 8), (16, 1, 15)
)
LOSS = fields((), (), (), (), (), (8, 8, 8, 2, 1, 5))  # word 5 of a loss


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
            if self.geometry.actor_critic and self.draw.random() < 0.3:
                return self._lowered()
            nets = self._networks()
            slots = tuple(self._slot() for _ in range(self.draw.randint(0, self.geometry.net_max)))
            made = self._stages(nets, len(slots))
            if made is not None:
                return replace(made, networks=nets, slots=slots)

    def _lowered(self) -> Program:
        """DDPG or TD3 as they are lowered, of small networks."""
        draw = self.draw
        states, actions = draw.randint(1, 5), draw.randint(1, 3)
        hidden = [draw.choice((3, 5, self.geometry.p + 1)) for _ in range(draw.randint(0, 1))]
        config = ActorCriticConfig(
            (states, *hidden, actions), (states + actions, 4, 1), sgd(0.1), adam(0.2),
            lagged=draw.random() < 0.5,
        )  # fmt: skip
        if draw.random() < 0.5:
            return ddpg(self.geometry, config)
        return td3(self.geometry, config, draw.choice((1, 2, 65535)))

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
            if g.actor_critic and draw.random() < 0.5:
                first = net.layers[0]
                column = draw.choice((0, first.n_in - 1, draw.randrange(first.n_in)))
                most = first.n_in - column
                columns = draw.choice((1, most, draw.randint(1, most)))
                rows = g.weight_rows(first.n_out, columns)
                # The copy after the banks, or in front of them: beside that of the net before.
                if draw.random() < 0.5:
                    net = replace(net, column=column, columns=columns, column_row=ends[0])
                else:
                    place = net.row_base
                    net = replace(net, column=column, columns=columns, column_row=place,
                                  row_base=place + rows)  # fmt: skip
                ends = ends[0] + rows, ends[1]
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

    def _header(self, nets: tuple[Network, ...]) -> Program | None:
        """A program without stages: what its records have, and where that lies."""
        g, draw = self.geometry, self.draw
        words, actions, delay = draw.choice((1, g.p, g.p + 1, g.d_max)), 1, 0
        kinds = ["state", "next_state"]
        if g.actor_critic:
            delay = draw.choice((0, 1, 2, 65535))
            if draw.random() < 0.7:
                widths = [x.n_out for net in nets for x in net.layers if x.n_out < g.d_max]
                actions = draw.choice([1, *widths])
                words = draw.choice((1, min(g.p, g.d_max - actions), g.d_max - actions))
                kinds += ["action", "noise"][: draw.randint(1, 2)]
        copies = 2 * g.vector_rows(words + (actions if "action" in kinds else 0))
        draw.shuffle(kinds)
        if kinds[0] == "noise":
            kinds.reverse()
        places = {kind: k * copies for k, kind in enumerate(kinds)}
        rows = copies * len(kinds)
        if rows > min(255, g.a_rows):
            return None
        places.setdefault("action", NO_VECTOR)
        return Program((), (), (), words, actions, frame_rows=rows, delay=delay, **places)

    def _stages(self, nets: tuple[Network, ...], slots: int) -> Program | None:
        g, draw = self.geometry, self.draw
        header = self._header(nets)
        if header is None:
            return None
        self.header, self.acted, self.reports = header, set[int](), True
        rows = header.frame_rows
        stages: list[Stage] = []
        room = UPDATE_MAX
        for phase in range(draw.choice((1, 2)) if g.actor_critic else 1):
            count = len(stages) + draw.randint(1, min(12, g.st_max - 20 * phase))
            rows = self._phase(nets, rows, stages, count, phase)
            room = min(room, g.st_max - len(stages))
            wanted = draw.choice((0, 1, 3, room)) if phase or not g.actor_critic else 1
            for _ in range(wanted):
                if (last := self._update(nets, slots, stages)) is not None:
                    stages.append(last)
                    room -= 1
            if not stages[-1].op >= OP_UPDATE:
                break
        if g.ntu > 1:
            stages = [replace(s, unit=spatial_unit(s)) for s in stages]
        limit = min(255, g.a_rows)
        if rows > limit:
            return None
        tight = rows if draw.random() < 0.7 else draw.choice((min(rows + 1, limit), limit))
        return replace(header, stages=tuple(stages), frame_rows=tight)

    def _phase(
        self, nets: tuple[Network, ...], rows: int, stages: list[Stage], count: int, phase: int
    ) -> int:
        """Add compute stages up to `count` stages; returns the rows that are taken then."""
        g, draw = self.geometry, self.draw
        chain = False
        losses = [OP_LOSS_Q]
        if g.actor_critic:
            losses = [OP_LOSS_TD, OP_LOSS_PI] if self.header.continuous else losses
            losses = losses[1:] if phase else losses
        while len(stages) < count:
            delayed = stages[-1].delayed if chain else self._delayed()
            if g.ntu > 1 and any(s.op in LOSSES for s in stages) and draw.random() < 0.9:
                losses = []  # a second one is an error
            op = OP_OUTER if chain else draw.choice((OP_DOT, OP_AXPY, OP_OUTER, *losses))
            stage, used = self._compute(op, nets, rows, stages, delayed)
            chain = op == OP_OUTER and len(stages) + 1 < count and draw.random() < 0.5
            stage = replace(stage, chain=chain)
            rows += used
            if op in (OP_DOT, OP_AXPY) and len(stages) + 1 < count and draw.random() < 0.3:
                # One whose result lies right after this one's comes before it.
                other, used = self._compute(OP_DOT, nets, rows, stages, False)
                stages.append(other)
                rows += used
            stages.append(stage)
        return rows

    def _delayed(self) -> bool:
        return self.header.delay > 0 and self.draw.random() < 0.3

    def _dependencies(self, stages: list[Stage], delayed: bool) -> tuple[int, ...]:
        ids = [k for k, s in enumerate(stages) if delayed or not s.delayed]
        return tuple(self.draw.choice(ids) for _ in range(self.draw.randint(0, 3)) if ids)

    def _compute(
        self, op: int, nets: tuple[Network, ...], rows: int, stages: list[Stage], delayed: bool
    ) -> tuple[Stage, int]:
        """A stage whose result begins after the first `rows` rows; and the rows it takes."""
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
        elif op in LOSSES:
            n_out, delayed = 1, delayed and op != OP_LOSS_TD
        columns = op == OP_DOT and net.columns > 0 and draw.random() < 0.4
        if columns:
            n_in, n_out, row = net.layers[0].n_out, net.columns, net.column_row
        act = draw.randrange(4 if g.actor_critic and op == OP_DOT else 2)
        stage = Stage(
            op, net=number, act=act, n_in=n_in, n_out=n_out, row=row, bias=bias, column=columns,
            dst=rows, deps=self._dependencies(stages, delayed), wait_update=draw.getrandbits(8),
            delayed=delayed,
        )  # fmt: skip
        into, out = g.vector_rows(n_in), g.vector_rows(n_out)

        def source(size: int, end: int) -> int:
            """A vector in front of `end`, often the last that fits."""
            last = max(end - size, 0)
            return draw.choice((last, draw.randint(0, last)))

        if op == OP_DOT:
            end = rows + out
            target = net.has_target and not columns and draw.random() < 0.5
            stage = replace(stage, target=target, no_bias=columns or draw.random() < 0.3)
            offset = 0
            header = self.header
            acts = header.continuous and n_out == header.action_words
            if acts and act == ACT_TANH and header.noise:
                stage = replace(stage, noise=draw.random() < 0.7)
            behind = acts and act != ACT_TANH_SLOPE and header.state_words % g.p + n_out <= g.p
            free = [k for k in (header.state, header.next_state) if k not in self.acted]
            if behind and free and draw.random() < 0.7:
                place = draw.choice(free)
                self.acted.add(place)
                return replace(
                    stage, src=source(into, rows), dst=place, offset=header.state_words
                ), 0
            if act == ACT_TANH_SLOPE:
                if n_out < g.p and draw.random() < 0.5:
                    offset = g.p * draw.randint(0, 2) + draw.choice((1, g.p - n_out))
                wide = g.vector_rows(n_out + offset)
                if wide > end:
                    offset, wide = 0, out
                aux = source(wide, end)
                return replace(stage, src=source(into, end), aux=aux, offset=offset), out
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
        if op == OP_LOSS_PI:
            return replace(stage, q=vectors[0]), 1
        if op == OP_LOSS_TD:
            quiet = not self.reports or draw.random() < 0.5
            self.reports = self.reports and quiet
            mode = draw.choice((MODE_MAX, MODE_TWIN))
            return replace(
                stage, q=vectors[0], q_next=vectors[1], chooser=vectors[2], mode=mode, quiet=quiet
            ), 1
        return (
            replace(
                stage, q=vectors[0], q_next=vectors[1], chooser=vectors[2], mode=draw.randrange(2),
                kappa=np.float32(draw.choice((0.25, 0.5, 1, 3))), n_in=draw.choice((0, n_in)),
            ),
            1,
        )  # fmt: skip

    def _update(self, nets: tuple[Network, ...], slots: int, stages: list[Stage]) -> Stage | None:
        draw = self.draw
        number = draw.randrange(len(nets))
        delayed = self._delayed()
        deps = self._dependencies(stages, delayed)
        if slots and draw.random() < 0.5:
            slot = draw.randrange(slots)
            return Stage(OP_UPDATE, net=number, slot=slot, deps=deps, delayed=delayed)
        if not nets[number].has_target:
            return None
        polyak = draw.random() < 0.5
        period = draw.choice((1, 2, 65535)) if not polyak else draw.choice((0, 0, 3))
        tau = np.float32(draw.random())
        return Stage(
            OP_TARGET, net=number, polyak=polyak, period=period, tau=tau, deps=deps,
            delayed=delayed,
        )  # fmt: skip

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
            program.frame_rows, program.state_words, program.action_words, program.state,
            program.next_state, program.noise, program.delay,
            *(net.column_row for net in program.networks),
        )  # fmt: skip

    def twist(self, program: Program, image: np.ndarray) -> str:
        """Change a stage of an image where rules of actor-critic programs look."""
        draw = self.draw
        count = len(program.stages)
        stages = image[image.size - STAGE_WORDS * count :].reshape(count, STAGE_WORDS)
        critics = [k for k, s in enumerate(program.stages) if s.op == OP_LOSS_TD]
        kind = draw.randrange(3)
        if kind == 0 and critics:
            index = draw.choice(critics)
            stages[index, 5] ^= np.uint32(1 << 26)
            return f"stage {index}: quiet changed "
        if kind == 1:
            index, bit = draw.randrange(count), draw.choice((12, 13, 18, 18, 18, 19))
            stages[index, 0] ^= np.uint32(1 << bit)
            return f"stage {index}: bit {bit} of word 0 changed "
        first, second = draw.randrange(count), draw.randrange(count)
        stages[first] = stages[second]
        return f"stage {first} is a copy of stage {second} "

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
        if kind == "stage" and self.geometry.actor_critic:
            table = (*table, *LOSS)
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
