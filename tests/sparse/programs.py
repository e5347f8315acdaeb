"""Random programs without races: what they compute does not depend on the order between units."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from models.sparse.formats import (
    SEMAPHORES,
    SETS,
    Flag,
    Geometry,
    Instruction,
    Layer,
    Op,
    Tensor,
    Unit,
)

END = Instruction(Op.END)
ZERO = -1  # the gradients, beside the layers' numbers


class NoSemaphore(Exception):
    """A program needs more than there are."""


class Writer:
    """Writes a random program, which is right if its instructions run one after the other.

    Args:
        rng: draws.
        layers: of the network.
        geometry: of the build.
    """

    def __init__(
        self, rng: np.random.Generator, layers: Sequence[Layer], geometry: Geometry
    ) -> None:
        self.rng, self.layers, self.geometry = rng, layers, geometry
        self.program: list[Instruction] = []
        self.touched: list[list[tuple[int, str]]] = []  # by instruction: what, and how
        self.ready: dict[int, Flag] = {}  # layers with compressed weights, and their split
        self.chains: deque[list[Instruction]] = deque()  # FX, array, elementwise: what is not out
        self.channels: dict[tuple[int, int], int] = {}
        self.waited: dict[tuple[int, int], int] = {}

    def write(self, length: int) -> list[Instruction]:
        """A program with END. Raises: NoSemaphore."""
        self._out(Instruction(Op.CLRG), [(ZERO, "w")])
        while len(self.program) < length:
            self._step()
        while self.chains:
            self._advance()
        return [*self.program, END]

    # ---- Single instructions, with what orders them ----
    def _out(self, one: Instruction, touches: list[tuple[int, str]]) -> None:
        """Add an instruction that waits for all that it must not overtake."""
        number, unit = len(self.program), one.unit
        one = replace(one, stage=int(self.rng.integers(4)))
        latest: dict[int, int] = {}
        for before, theirs in enumerate(self.touched):
            for what, how in theirs:
                for mine, my in touches:
                    if what == mine and (how != my or my == "w"):
                        latest[self.program[before].unit] = before
        if self.rng.random() < 0.2 and number:
            before = int(self.rng.integers(number))
            latest[self.program[before].unit] = max(
                before, latest.get(self.program[before].unit, 0)
            )
        for other, before in latest.items():
            channel = other, unit
            if other == unit or self.waited.get(channel, -1) >= before:
                continue
            semaphore = self.channels.setdefault(channel, len(self.channels))
            if semaphore >= SEMAPHORES:
                raise NoSemaphore
            self.waited[channel] = before
            poster = self.program[before]
            self.program[before] = replace(poster, post=poster.post | 1 << semaphore)
            one = replace(one, wait=one.wait | 1 << semaphore)
        self.program.append(one)
        self.touched.append(touches)

    def _step(self) -> None:
        choice = self.rng.random()
        if choice < 0.15 or not self.ready:
            self._regroup(int(self.rng.integers(len(self.layers))))
        elif choice < 0.2:
            self._update(int(self.rng.integers(len(self.layers))))
        elif choice < 0.35:
            self._alone()
        elif choice < 0.6 and len(self.chains) < 6:
            self.chains.append(list(self._chain()))
        elif self.chains:
            self._advance()

    def _used(self, first: int) -> bool:
        """Whether layers from one on have operations that are not out."""
        return any(one.layer >= first for chain in self.chains for one in chain)

    def _regroup(self, number: int) -> None:
        if self._used(number):
            return
        rng, row = self.rng, Flag.ROW if self.rng.random() < 0.3 else Flag(0)
        policy = Flag.POLICY if row and rng.random() < 0.5 else Flag(0)
        if any(how == "d" for theirs in self.touched for _, how in theirs):
            self._out(Instruction(Op.CLRG), [(ZERO, "w")])
        op = Op.ENC if rng.random() < 0.7 else Op.ENCT
        self._out(Instruction(op, layer=number), [(number, "w")])
        above = [(k, "w") for k in range(number, len(self.layers))]
        self._out(Instruction(Op.PLAN, layer=number), [*above, (ZERO, "r")])
        for op in (Op.COMP, Op.COMPT):
            self._out(Instruction(op, flags=int(row | policy), layer=number), [(number, "w")])
        self.ready = {k: split for k, split in self.ready.items() if k < number}
        self.ready[number] = row

    def _update(self, number: int) -> None:
        if self._used(number) or number not in self.ready:
            return
        row = self.ready.pop(number)
        self._out(Instruction(Op.UPD, flags=int(row), layer=number), [(number, "w"), (ZERO, "u")])
        if self.layers[number].groups > 1 and self.rng.random() < 0.5:
            self._out(Instruction(Op.UPDG, layer=number), [(number, "w"), (ZERO, "u")])

    def _tiles(self, most: int, row: Flag) -> tuple[int, int, int]:
        cores = self.geometry.cores
        counts = [int(self.rng.integers(1, most + 1)) for _ in range(cores)]
        if row:
            counts = [counts[0]] * cores
        counts += [0] * (3 - cores)
        return counts[0], counts[1], counts[2]

    def _alone(self) -> None:
        """An instruction that depends on nothing."""
        op, tiles = int(self.rng.choice([Op.LOADA, Op.STOREA, Op.ZEROA])), self._tiles(2, Flag(0))
        address = 0 if op == Op.ZEROA else 64 * int(self.rng.integers(100))
        choice = self.rng.random()
        if choice < 0.5:
            one = Instruction(
                op, tiles=tiles, a=Tensor(0, 3, 4), address=address,
                value=int(self.rng.integers(1, 4)),
            )  # fmt: skip
        elif choice < 0.8:
            one = Instruction(
                Op.CF, tiles=tiles, a=Tensor(0, 1, 4), b=Tensor(20, 0, 1), d=Tensor(40, 0, 4),
                neurons=16,
            )  # fmt: skip
        else:
            number = next(k for k, layer in enumerate(self.layers) if layer.n % 32 == 0)
            tiles = self._tiles(self.layers[number].tiles, Flag(0))
            one = Instruction(
                Op.LSTMB, layer=number, tiles=tiles, a=Tensor(0, 0, 32), b=Tensor(80, 0, 4),
                d=Tensor(100, 0, 32),
            )  # fmt: skip
        self._out(one, [])

    def _chain(self) -> Iterator[Instruction]:
        """FX, an operation, what takes its results."""
        rng = self.rng
        number = int(rng.choice(list(self.ready)))
        layer, row = self.layers[number], self.ready[number]
        op = Op(int(rng.choice([Op.FW, Op.DX, Op.DW])))
        tiles = self._tiles(layer.tiles, row)
        want = {Op.FW: layer.m, Op.DX: layer.n}.get(op, layer.n if layer.tr else layer.m)
        at = Tensor(int(rng.integers(16)), int(rng.integers(8)), 8)
        yield Instruction(Op.FX, layer=number, tiles=tiles, a=at, neurons=want)
        if op == Op.DW:
            neurons = layer.m + layer.n - want
            sums = Flag.BSUM if neurons == layer.n and rng.random() < 0.5 else Flag(0)
            yield Instruction(
                Op.FY, flags=int(sums), layer=number, tiles=tiles, a=at, neurons=neurons
            )
        yield Instruction(op, flags=int(row), layer=number, tiles=tiles)
        if op == Op.DW:
            return
        bias = Flag.BIAS if op == Op.FW and rng.random() < 0.5 else Flag(0)
        if op == Op.FW and layer.n % 32 == 0 and rng.random() < 0.5:
            yield Instruction(
                Op.LSTMF, flags=int(row | bias), layer=number, tiles=tiles, a=Tensor(0, 0, 32),
                d=Tensor(100, 0, 32),
            )  # fmt: skip
        else:
            yield Instruction(Op.LIN, flags=int(row | bias), layer=number, tiles=tiles, d=at)

    def _advance(self) -> None:
        """The next instruction of a chain; those of a unit stay in the order of the chains."""
        choices: list[list[Instruction]] = []
        seen: set[int] = set()
        held = dict.fromkeys("xyr", 0)
        for chain in self.chains:
            kinds = [one.unit for one in chain]
            done_x = Unit.FILL not in kinds or (len(chain) == 2 and chain[0].op == Op.FY)
            held["x"] += done_x and Unit.VPU in kinds
            held["y"] += kinds == [Unit.VPU] and chain[0].op == Op.DW
            held["r"] += kinds == [Unit.ELEM]
        for chain in self.chains:
            one = chain[0]
            full = (
                (one.op == Op.FX and held["x"] == SETS)
                or (one.op == Op.FY and held["y"] == SETS)
                or (one.op in (Op.FW, Op.DX) and held["r"] == SETS)
            )
            if not full and not seen & {other.unit for other in chain[:1]}:
                choices.append(chain)
            seen |= {other.unit for other in chain}
        chain = choices[int(self.rng.integers(len(choices)))]
        one = chain.pop(0)
        touches = []
        if one.unit in (Unit.VPU, Unit.ELEM):
            touches.append((one.layer, "r"))
        if one.op == Op.DW or one.has(Flag.BSUM):
            touches.append((ZERO, "d"))
        self._out(one, touches)
        if not chain:
            self.chains.remove(chain)


def any_program(
    rng: np.random.Generator, layers: Sequence[Layer], geometry: Geometry, length: int
) -> list[Instruction]:
    """A random program without races, END included."""
    while True:
        try:
            return Writer(rng, layers, geometry).write(length)
        except NoSemaphore:
            continue
