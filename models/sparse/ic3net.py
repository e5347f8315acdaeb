"""IC3Net on the sparse engine: its layers, where its tensors lie, and its programs.

A step of a tile is a record in the activation store; records of a step are one after the other.
Parts of a chunk of tiles run one after another, so that one uses the array while others are
elementwise. A semaphore counts parts: units take their instructions in order, so the k-th one that
waits for it waits for the k-th one that posts it.

Source: Singh, Jain, Sukhbaatar 2019 (IC3Net); LearningGroup; docs/sparse.md (network, program).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

from models.sparse import kernels
from models.sparse.formats import (
    MOST_TILES,
    NO_FLAGS,
    NOWHERE,
    SETS,
    VECTORS,
    Flag,
    Geometry,
    Instruction,
    Layer,
    Op,
    Stage,
    Tensor,
    pitch,
)

ENC, COM, LST, HED = range(4)  # layers
NAMES = ("enc", "com", "lst", "hed")
OUTPUTS = 8  # 5 actions, 2 gate logits, 1 value
ACTIONS, GATES = 5, 2
CUT = 10  # steps after which no gradient goes back
HEAD_SPLIT_LOG2 = 2  # KSPLIT of the heads, where the lanes suffice
MOST_PARTS, LEAST_TILES = 4, 2  # of a chunk; of a part, unless the chunk has fewer


class DoesNotFit(ValueError):
    """A network does not fit into a build.

    Attributes:
        what, needed, present: what there is too little of.
        parameter: of the build.
    """

    def __init__(self, what: str, needed: int, present: int, parameter: str) -> None:
        super().__init__(f"{what}: {needed}, this build has {present} ({parameter})")
        self.what, self.needed, self.present, self.parameter = what, needed, present, parameter


@dataclass(frozen=True)
class Sizes:
    """What is trained.

    Attributes:
        observations: O, as the environment gives them.
        agents, episodes: A and B; V = A * B vectors.
        steps: T, of an episode at most.
        hidden: H, a multiple of 8.
        groups: G of the layers enc, com and lst.
        head_groups: G of the layer hed.
        row: ROW split: rows over cores; False: episodes over cores.
    """

    observations: int
    agents: int
    episodes: int
    steps: int
    hidden: int = 128
    groups: int = 1
    head_groups: int = 1
    row: bool = False

    @property
    def padded(self) -> int:
        """Observations, a multiple of 8."""
        return -(-self.observations // 8) * 8

    @property
    def groups_of_all(self) -> list[int]:
        """G of each layer."""
        return [self.head_groups if layer == HED else self.groups for layer in range(len(NAMES))]

    @property
    def vectors(self) -> int:
        """V."""
        return self.agents * self.episodes


def layers(sizes: Sizes, geometry: Geometry) -> list[Layer]:
    """The network table. Raises: DoesNotFit."""
    h, o = sizes.hidden, sizes.padded
    split = HEAD_SPLIT_LOG2
    while sizes.head_groups > 1 or OUTPUTS << split > geometry.lanes or 1 << split > geometry.slots:
        if split == 0:
            break
        split -= 1
    shapes = [(o, h), (h, h), (2 * h, 4 * h), (h, OUTPUTS)]
    # Most tiles of FW and dX. A plan of more tiles than that would leave banks idle.
    layout = Layout(sizes, geometry)

    def most(cut: Callable[[Group], Sequence[Group]]) -> int:
        return max(max(part.tiles) for chunk in layout.chunks for part in cut(chunk))

    parts = most(layout.parts)
    tiles = [most(layout.encoder_parts), parts, parts, most(lambda chunk: [chunk])]
    found: list[Layer] = []
    at = [0, 0, 0, 0]
    for k, (m, n) in enumerate(shapes):
        layer = Layer(
            m, n, sizes.groups_of_all[k], split if k == HED else 0, k == HED and n < geometry.lanes,
            tiles[k], *at,
        )  # fmt: skip
        found.append(layer)
        at = [
            at[0] + m * pitch(n),
            at[1] + n,
            at[2] + sum(layer.grouping),
            at[3] + layer.states,
        ]
    widest = max(o, 4 * h)
    for what, needed, present, name in (
        ("layer", max(chain(*shapes)), geometry.d_max, "SparseDMax"),
        ("layers", len(found), geometry.l_max, "SparseLMax"),
        ("groups", max(sizes.groups_of_all), geometry.g_max, "SparseGMax"),
        ("parameters", at[0], geometry.p_words, "SparsePWords"),
        ("biases", at[1], geometry.b_words, "SparseBWords"),
        ("lines of grouping entries", at[2], geometry.m_rows, "SparseMRows"),
        ("grouping states", at[3], geometry.s_words, "SparseSWords"),
        ("lines of operand X", SETS * MOST_TILES * widest, geometry.x_rows, "SparseXRows"),
        ("lines of operand Y", SETS * MOST_TILES * widest, geometry.y_rows, "SparseYRows"),
    ):
        if needed > present:
            raise DoesNotFit(what, needed, present, name)
    return found


@dataclass(frozen=True)
class Group:
    """Tiles that an instruction works on.

    Attributes:
        first: tile of each core.
        tiles: of core 0, 1 and 2.
    """

    first: int
    tiles: tuple[int, int, int]


@dataclass(frozen=True)
class Layout:
    """Where everything lies.

    Attributes:
        sizes: of the network.
        geometry: of the build.
    """

    sizes: Sizes
    geometry: Geometry

    @cached_property
    def counts(self) -> list[int]:
        """Vectors of each core."""
        s, cores = self.sizes, self.geometry.cores
        if s.row:
            return [s.vectors] * cores
        ends = [c * s.episodes // cores for c in range(cores + 1)]
        return [s.agents * (b - a) for a, b in pairwise(ends)]

    @cached_property
    def firsts(self) -> list[int]:
        """First vector of each core."""
        if self.sizes.row:
            return [0] * self.geometry.cores
        return [sum(self.counts[:c]) for c in range(self.geometry.cores)]

    @property
    def tiles(self) -> int:
        """Tiles of the core that has the most."""
        return -(-max(self.counts) // VECTORS)

    @property
    def border(self) -> int:
        """Tiles between two borders of episodes."""
        agents = self.sizes.agents
        return agents // math.gcd(agents, VECTORS)

    @cached_property
    def chunks(self) -> list[Group]:
        """Tiles that go through the array at once. Raises: DoesNotFit."""
        if self.tiles <= MOST_TILES:
            return [self.group(0, self.tiles)]
        width = MOST_TILES // self.border * self.border
        if not width:
            raise DoesNotFit("tiles between two episodes", self.border, MOST_TILES, "SparseXRows")
        return [self.group(k, min(k + width, self.tiles)) for k in range(0, self.tiles, width)]

    def parts(self, chunk: Group) -> list[Group]:
        """The parts of a chunk, cut between episodes."""
        first, width = chunk.first, max(chunk.tiles)
        blocks = -(-width // self.border)
        count = max(1, min(MOST_PARTS, blocks, width // LEAST_TILES))
        cuts = [first + k * blocks // count * self.border for k in range(count)] + [first + width]
        return [self.group(a, b) for a, b in pairwise(cuts)]

    def forward_parts(self, chunk: Group) -> list[Group]:
        """The parts of a chunk on the way forward.

        A step waits for the communication of its first part, so that one is cut in two, between
        episodes. A dense layer would take as long for a half: half of the banks would rest.
        """
        parts = self.parts(chunk)
        width = max(parts[0].tiles)
        middle = chunk.first + width // self.border // 2 * self.border
        if self.sizes.groups == 1 or middle == chunk.first:
            return parts
        first = [self.group(chunk.first, middle), self.group(middle, chunk.first + width)]
        return [*first, *parts[1:]]

    def encoder_parts(self, chunk: Group) -> list[Group]:
        """What the encoder takes at once: the parts in two halves."""
        parts = self.parts(chunk)
        half, last = parts[(len(parts) - 1) // 2], parts[-1]
        cuts = [chunk.first, *(part.first + max(part.tiles) for part in (half, last))]
        return [self.group(a, b) for a, b in pairwise(dict.fromkeys(cuts))]

    def group(self, first: int, end: int) -> Group:
        """The tiles first..end-1 of each core, as far as it has them."""
        have = [-(-count // VECTORS) for count in self.counts]
        tiles = [max(0, min(end, count) - first) for count in have]
        tiles += [0] * (3 - len(tiles))
        return Group(first, (tiles[0], tiles[1], tiles[2]))

    # ---- The activation store ----
    @cached_property
    def places(self) -> dict[str, int]:
        """Lines of the tensors within a record, and `size`."""
        h, o = self.sizes.hidden // 8, self.sizes.padded // 8
        at, found = 0, {}
        for name, count in (
            ("obs", o), ("gate", 1), ("c", h), ("inp", h), ("block", 8 * h), ("out", 1),
            ("dout", 1), ("dinp", h),
        ):  # fmt: skip
            found[name] = at
            at += count
        return {**found, "size": at}

    @property
    def lines(self) -> int:
        """Lines of the store in use."""
        h = self.sizes.hidden // 8
        return self.sizes.steps * self.tiles * self.places["size"] + 8 * h + 2 * self.tiles * h

    def tensor(self, name: str, step: int, group: Group) -> Tensor:
        """A tensor of a step; the block of step -1 is one record of zeros for all tiles."""
        size, h = self.places["size"], self.sizes.hidden // 8
        zero = self.sizes.steps * self.tiles * size
        if name in ("dh", "dcom"):
            first = zero + 8 * h + (self.tiles * h if name == "dcom" else 0)
            return Tensor(first + group.first * h, 0, h)
        if step < 0:
            return Tensor(zero, 0, 0)
        line = (step * self.tiles + group.first) * size + self.places[name]
        return Tensor(line, 0, size)

    def part(self, number: int, step: int, group: Group) -> Tensor:
        """A tensor of the LSTM's block."""
        block = self.tensor("block", step, group)
        return Tensor(block.line + number * (self.sizes.hidden // 8), number, block.stride)

    def check(self) -> None:
        """Raises: DoesNotFit."""
        layers(self.sizes, self.geometry)
        if self.lines > self.geometry.a_rows:
            raise DoesNotFit("activation lines", self.lines, self.geometry.a_rows, "SparseARows")
        assert self.chunks
        if self.places["size"] > 0x3FF:
            raise DoesNotFit("lines of a step", self.places["size"], 0x3FF, "SparseDMax")


# ---- Programs ----
def bits(*semaphores: int) -> int:
    """A mask."""
    return sum(1 << k for k in semaphores)


# Semaphores. Forward: observations, gates, messages, the LSTM's inputs, its states, outputs.
# Backward: gradients of outputs, of messages, of the LSTM's inputs, of its gates, of its states by
# the step after; the end of a step that no gradient leaves.
SEEN, GATED, HEARD, INPUT, GATE, STATE, OUT, CUT_OFF, GATES_OF_ALL = range(9)


class Programs:
    """The programs of a network.

    Args:
        layout: where everything lies.
        addresses: in device memory: `input` of a step (observations and gates), `output` of a
            step, `dout` of all steps; see the `*_lines` methods for their sizes.
    """

    def __init__(self, layout: Layout, addresses: dict[str, int]) -> None:
        self.layout, self.addresses = layout, addresses
        self.row = Flag.ROW if layout.sizes.row else Flag(0)

    def images(self, group: Group) -> int:
        """Tiles of a group in device memory."""
        return group.tiles[0] if self.layout.sizes.row else sum(group.tiles)

    @property
    def input_lines(self) -> int:
        """Lines of a tile of a step's input."""
        return self.layout.sizes.padded // 8 + 1

    def groups(self) -> list[Group]:
        """All parts of a step forward, in order."""
        return [part for chunk in self.layout.chunks for part in self.layout.forward_parts(chunk)]

    def forward(self, step: int) -> list[Instruction]:
        """A step: observations and gates in, outputs out.

        The encoder needs no messages: it works while communication begins. Messages of a part go
        ahead of the LSTM of the one before, so that the array has work while LIN adds both.
        """
        begins = self._begins(step)
        out, sink = next(begins), self.addresses["output"]
        for chunk in self.layout.chunks:
            parts = self.layout.forward_parts(chunk)
            first, *rest = [self._encoded(step, half) for half in self.layout.encoder_parts(chunk)]
            told = [self._told(step, part) for part in parts]
            steps = [self._lstm(step, part, part in parts[-2:]) for part in parts]
            early = 1 + len(parts) - len(self.layout.parts(chunk))
            out += chain(first, told[0], *rest, *told[1 : early + 1], *steps[:early])
            out += chain(*told[early + 1 :], *steps[early:], next(begins, []))
            # Heads of the last part wait for its states, all others' go before.
            last = parts[-1]
            heads = [self.layout.group(chunk.first, last.first), last][len(parts) == 1 :]
            for group in heads:
                t = self._tensors(step, group)
                out += [
                    self._make(
                        Op.FX, group, wait=bits(STATE), layer=HED, a=t["h"], neurons=self._hidden
                    ),
                    self._make(Op.FW, group, self.row, layer=HED),
                    self._make(
                        Op.LIN, group, self.row | Flag.BIAS, post=bits(OUT) if group == last else 0,
                        layer=HED, d=t["out"],
                    ),
                ]  # fmt: skip
            t = self._tensors(step, chunk)
            out.append(
                self._make(
                    Op.STOREA, chunk, self.row, wait=bits(OUT), a=t["out"], address=sink, value=1
                )
            )
            sink += 64 * self.images(chunk)
        return self._ended(out, Stage.FORWARD)

    def _begins(self, step: int) -> Iterator[list[Instruction]]:
        """Of each chunk: what its parts see, and hear from the step before."""
        source = self.addresses["input"]
        for chunk in self.layout.chunks:
            out = []
            ends = [group.first + max(group.tiles) for group in self.layout.encoder_parts(chunk)]
            for part in self.layout.forward_parts(chunk):
                t, end = self._tensors(step, part), part.first + max(part.tiles)
                out += [
                    self._make(
                        Op.LOADA, part, self.row, a=t["obs"], address=source,
                        post=bits(GATED, SEEN) if end in ends else bits(GATED),
                        value=self.input_lines,
                    ),
                    self._make(
                        Op.CF, part, self.row, bits(GATED), bits(HEARD), a=t["before h"],
                        b=t["gate"], d=t["c"], value=part.first, neurons=self._hidden,
                    ),
                ]  # fmt: skip
                source += 64 * self.input_lines * self.images(part)
            yield out

    def _encoded(self, step: int, group: Group) -> list[Instruction]:
        """The encoder's outputs."""
        t = self._tensors(step, group)
        return [
            self._make(
                Op.FX, group, wait=bits(SEEN), layer=ENC, a=t["obs"],
                neurons=self.layout.sizes.padded,
            ),
            self._make(Op.FW, group, self.row, layer=ENC),
            self._make(Op.LIN, group, self.row | Flag.BIAS, layer=ENC, d=t["inp"]),
        ]  # fmt: skip

    def _told(self, step: int, part: Group) -> list[Instruction]:
        """The LSTM's inputs: the encoder's outputs and what messages add."""
        t = self._tensors(step, part)
        return [
            self._make(
                Op.FX, part, wait=bits(HEARD), layer=COM, a=t["c"], neurons=self._hidden
            ),
            self._make(Op.FW, part, self.row, layer=COM),
            self._make(
                Op.LIN, part, self.row | Flag.BIAS | Flag.ADDEND, post=bits(INPUT), layer=COM,
                b=t["inp"], d=t["inp"],
            ),
        ]  # fmt: skip

    def _lstm(self, step: int, part: Group, posts: bool) -> list[Instruction]:
        """The LSTM's step."""
        t, h = self._tensors(step, part), self._hidden
        return [
            self._make(
                Op.FX, part, Flag.SECOND, bits(INPUT), layer=LST, a=t["inp"], b=t["before h"],
                value=h, neurons=2 * h,
            ),
            self._make(Op.FW, part, self.row, layer=LST),
            self._make(
                Op.LSTMF, part, self.row | Flag.BIAS, post=bits(STATE) if posts else 0, layer=LST,
                a=t["before"], d=t["block"],
            ),
        ]  # fmt: skip

    def backward(self) -> list[Instruction]:
        """All steps, the last first."""
        out: list[Instruction] = []
        lines = 0
        for chunk in self.layout.chunks:
            steps, images = self.layout.sizes.steps, sum(self.images(c) for c in self.layout.chunks)
            loads = [
                self._make(
                    Op.LOADA, chunk, self.row, post=bits(SEEN), value=1,
                    a=self._tensors(step, chunk)["dout"],
                    address=self.addresses["dout"] + 64 * (step * images + lines),
                )
                for step in range(steps)
            ]  # fmt: skip
            out += [loads[-1], *self._heads(steps - 1, chunk)]
            for step in reversed(range(steps)):
                if step:  # the DMA's writes wait for all others': it needs time
                    out.append(loads[step - 1])
                out += self._backward(step, chunk)
            lines += self.images(chunk)
        return self._ended(out, Stage.BACKWARD)

    def _heads(self, step: int, chunk: Group) -> list[Instruction]:
        """The gradient of the heads' inputs."""
        dout = self._tensors(step, chunk)["dout"]
        return [
            self._make(Op.FX, chunk, wait=bits(SEEN), layer=HED, a=dout, neurons=OUTPUTS),
            self._make(Op.DX, chunk, self.row, layer=HED),
        ]

    def _backward(self, step: int, chunk: Group) -> Iterator[Instruction]:
        """The way back through a step, and dX of the heads of the step before.

        The array computes dX of all parts, then dW, until the step before has its LSTM's gradients.
        """
        t, h, row, make = self._tensors(step, chunk), self._hidden, self.row, self._make
        last = step == self.layout.sizes.steps - 1
        parts = self.layout.parts(chunk)
        if last or (step + 1) % CUT == 0:
            wait = 0 if last and chunk == self.layout.chunks[0] else bits(CUT_OFF)
            yield make(Op.ZEROA, chunk, wait=wait, a=t["dh"], value=h // 8)
            yield make(Op.ZEROA, chunk, post=bits(STATE), a=t["dcell"], value=h // 8)
        yield make(Op.LIN, chunk, row | Flag.ADDEND, bits(STATE), layer=HED, b=t["dh"], d=t["dh"])
        states: list[Instruction] = []
        lstm: list[list[Instruction]] = []
        inputs: list[list[Instruction]] = []
        ends = step % CUT == 0  # no gradient goes on to the step before
        more = step or chunk != self.layout.chunks[-1]
        for part in parts:
            u, at_end = self._tensors(step, part), part == parts[-1]
            post = bits(GATE, GATES_OF_ALL) if at_end else bits(GATE)
            states.append(
                make(Op.LSTMB, part, post=post, layer=LST, a=u["before"], b=u["dh"], d=u["block"])
            )
            post = bits(INPUT)
            if ends:  # one count for the gradients of inputs, one for ZEROA of what comes next
                post = bits(INPUT, CUT_OFF) if at_end and more else bits(INPUT) if at_end else 0
            lstm.append([
                make(Op.FX, part, Flag.GATES, bits(GATE), layer=LST, a=u["dz"], neurons=4 * h),
                make(Op.DX, part, row, layer=LST),
                make(
                    Op.LIN, part, row | Flag.SECOND, post=post, layer=LST, b=u["dh"], d=u["dinp"],
                    value=h,
                ),
            ])  # fmt: skip
            inputs.append([] if ends else [
                make(Op.FX, part, wait=bits(INPUT), layer=COM, a=u["dinp"], neurons=h),
                make(Op.DX, part, row, layer=COM),
                make(Op.LIN, part, row, post=bits(HEARD), layer=COM, d=u["dcom"]),
                make(
                    Op.CB, part, row, bits(HEARD), bits(STATE) if at_end else 0, a=u["dcom"],
                    b=u["gate"], d=u["dh"], value=part.first, neurons=h,
                ),
            ])  # fmt: skip
        # LSTMB lets nobody read, so the last of four waits until the first operands are filled.
        # Y of dW comes while the array computes dX, which needs few operands.
        y_first, *of_heads = self._gradient(step, chunk, HED)
        yield from chain(states[:3], lstm[0], states[3:], [y_first], *lstm[1:])
        yield from chain(inputs[0], [self._operands(step, chunk)[LST][1]], *inputs[1:])
        if step:
            yield from self._heads(step - 1, chunk)
        yield from chain(of_heads, *(self._gradient(step, chunk, k) for k in (LST, COM, ENC)))

    def _operands(self, step: int, chunk: Group) -> list[tuple[Instruction, Instruction]]:
        """X and Y of dW of each layer."""
        t, h, o = self._tensors(step, chunk), self._hidden, self.layout.sizes.padded
        made, make = layers(self.layout.sizes, self.layout.geometry), self._make
        found = [
            (
                make(Op.FX, chunk, layer=ENC, a=t["obs"], neurons=o),
                make(Op.FY, chunk, Flag.BSUM, layer=ENC, a=t["dinp"], neurons=h),
            ),
            (
                make(Op.FX, chunk, layer=COM, a=t["c"], neurons=h),
                make(Op.FY, chunk, Flag.BSUM, layer=COM, a=t["dinp"], neurons=h),
            ),
            (
                make(
                    Op.FX, chunk, Flag.SECOND, layer=LST, a=t["inp"], b=t["before h"], value=h,
                    neurons=2 * h,
                ),
                make(
                    Op.FY, chunk, Flag.GATES | Flag.BSUM, bits(GATES_OF_ALL), layer=LST, a=t["dz"],
                    neurons=4 * h,
                ),
            ),
            (
                make(Op.FX, chunk, layer=HED, a=t["h"], neurons=h),
                make(Op.FY, chunk, Flag.BSUM, layer=HED, a=t["dout"], neurons=OUTPUTS),
            ),
        ]  # fmt: skip
        if made[HED].tr:  # the operands change places
            x, y = found[HED]
            found[HED] = replace(y, op=Op.FX), replace(x, op=Op.FY)
        return found

    def _gradient(self, step: int, chunk: Group, layer: int) -> list[Instruction]:
        """dW of a layer in a step. Y of LST comes before, when all gates are there."""
        x, y = self._operands(step, chunk)[layer]
        if layer == COM and step % CUT == 0:
            y = replace(y, wait=bits(INPUT))
        first = [] if layer == LST else [y]
        return [*first, x, self._make(Op.DW, chunk, self.row, layer=layer)]

    def update(self) -> list[Instruction]:
        """RMSprop of all layers, then of their grouping."""
        grouped = [k for k, groups in enumerate(self.layout.sizes.groups_of_all) if groups > 1]
        out = [self._make(Op.UPD, None, self.row, layer=k) for k in range(len(NAMES))]
        out += [self._make(Op.UPDG, None, layer=k) for k in grouped]
        return self._ended(out, Stage.UPDATE)

    def group(self, plain: bool = False, cached: bool = True) -> list[Instruction]:
        """Gradients to zero; encode, plan and compress all layers. Output and cell before step 0
        are zeros, too.

        Args:
            plain: without load allocation.
            cached: with the encoder's row memory.
        """
        cyclic = self.row | (Flag.POLICY if self.row else 0)
        again = Flag(0) if cached else Flag.NOCACHE
        out = [self._make(Op.CLRG, None, post=bits(0))]
        for k in range(len(NAMES)):
            out.append(self._make(Op.ENC, None, again, post=bits(1), layer=k))
            wait = bits(0, 1) if k == 0 else bits(1)
            out.append(
                self._make(Op.PLAN, None, Flag.PLAIN if plain else Flag(0), wait=wait, layer=k)
            )
            out.append(self._make(Op.COMP, None, cyclic | again, layer=k))
            if k != ENC:  # no gradient goes on to observations
                out.append(self._make(Op.COMPT, None, cyclic, layer=k))
        first = self.layout.chunks[0]
        a, b, c = (min(tiles, 1) for tiles in first.tiles)
        before = self.layout.tensor("block", -1, first)
        lines = 2 * (self._hidden // 8)
        out.append(self._make(Op.ZEROA, Group(0, (a, b, c)), a=before, value=lines))
        return self._ended(out, Stage.GROUP)

    @property
    def _hidden(self) -> int:
        return self.layout.sizes.hidden

    def _tensors(self, step: int, group: Group) -> dict[str, Tensor]:
        at = self.layout
        return {
            **{name: at.tensor(name, step, group) for name in at.places if name != "size"},
            "before": at.tensor("block", step - 1, group),
            "before h": at.part(kernels.H, step - 1, group),
            "h": at.part(kernels.H, step, group),
            "dz": at.part(kernels.GATE_I, step, group),
            "dcell": at.part(kernels.DCELL, step, group),
            "dh": at.tensor("dh", step, group),
            "dcom": at.tensor("dcom", step, group),
        }

    @staticmethod
    def _make(
        op: Op, group: Group | None, flags: Flag = NO_FLAGS, wait: int = 0, post: int = 0, *,
        layer: int = 0, a: Tensor = NOWHERE, b: Tensor = NOWHERE, d: Tensor = NOWHERE,
        address: int = 0, value: int = 0, neurons: int = 0,
    ) -> Instruction:  # fmt: skip
        tiles = (0, 0, 0) if group is None else group.tiles
        return Instruction(
            op, 0, int(flags), wait, post, layer, tiles, a, b, d, address, value, neurons
        )

    @staticmethod
    def _ended(program: list[Instruction], stage: Stage) -> list[Instruction]:
        """The program with its stage and END."""
        return [replace(one, stage=int(stage)) for one in program] + [Instruction(Op.END)]
