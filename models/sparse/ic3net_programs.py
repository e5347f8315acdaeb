"""IC3Net on the sparse engine: its programs.

Parts of a chunk of tiles run one after another, so that one uses the array while others are
elementwise. A semaphore counts parts: units take their instructions in order, so the k-th one that
waits for it waits for the k-th one that posts it.

Source: Singh, Jain, Sukhbaatar 2019 (IC3Net); LearningGroup; docs/sparse.md (network, programs).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from models.sparse import kernels
from models.sparse.formats import NO_FLAGS, NOWHERE, Flag, Instruction, Op, Stage, Tensor
from models.sparse.ic3net import (
    COM,
    CUT,
    ENC,
    HED,
    LST,
    NAMES,
    OUTPUTS,
    Group,
    Layout,
    layers,
)


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
