"""Programs on the sparse engine's RTL against its golden model: layers, activations, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from flow.effort import effort, scale
from flow.regression import builds
from jackdaw.device import open_device
from models.registers import engine_header as header
from models.registers import sparse as registers
from models.sparse.formats import (
    LINE,
    VECTORS,
    Flag,
    Instruction,
    Kind,
    Layer,
    Op,
    Opcode,
    Tensor,
    padded,
    program_words,
)
from models.sparse.ic3net import HED, LST
from models.sparse.timing import OVERHEAD
from tests.sparse.test_sparse_engine import BAD_PROGRAMS, READY, job
from tests.sparse.test_sparse_rtl import (
    CONFIG,
    FAULT,
    FINITE,
    READS,
    USUAL,
    WRITES,
    Jobs,
    Pair,
    ended,
    network,
)

pytestmark = builds(lambda: open_device("sim", CONFIG))

END = Instruction(Op.END)
DATA = 1 << 16  # of the scratch memory: activations in,
OUT = 3 << 16  # and out; the program is before them
PARAMETERS = Kind.W | Kind.BIAS | Kind.GROUP
X, Z, B = 0, 340, 680  # lines of activations: operand, results, addend
HAVE = {  # instructions that have hardware, and what they can have
    Op.END: Flag(0), Op.LOADA: Flag.ROW, Op.STOREA: Flag.ROW, Op.ZEROA: Flag(0),
    Op.ENC: Flag.NOCACHE, Op.ENCT: Flag(0), Op.PLAN: Flag.PLAIN,
    Op.COMP: Flag.ROW | Flag.POLICY | Flag.NOCACHE, Op.COMPT: Flag.ROW | Flag.POLICY,
    Op.FX: Flag.SECOND | Flag.GATES | Flag.BSUM, Op.FY: Flag.GATES | Flag.BSUM,
    Op.FW: Flag.ROW, Op.DX: Flag.ROW, Op.DW: Flag.ROW,
    Op.LSTMF: Flag.BIAS | Flag.ROW, Op.LSTMB: Flag(0),
    Op.LIN: Flag.BIAS | Flag.ADDEND | Flag.SECOND | Flag.ROW,
    Op.CF: Flag.ROW, Op.CB: Flag.ROW, Op.UPD: Flag.ROW, Op.UPDG: Flag(0), Op.CLRG: Flag(0),
}  # fmt: skip
COUNTERS = ("hits", "misses", "osel_clocks", "core_load")


class Runs(Pair):
    """Both engines with programs."""

    def __init__(self, model: Any, sim: Any) -> None:
        super().__init__(model, sim)
        for one_of in self.both:
            for name in FINITE:
                one_of.driver.write(getattr(registers, name).offset, 0x3F80_0000)
        self.episodes(3, 4)

    def episodes(self, agents: int, episodes: int) -> None:
        for one_of in self.both:
            one_of.driver.write(registers.AGENTS.offset, agents)
            one_of.driver.write(registers.EPISODES.offset, episodes)

    def take(self, layers: Sequence[Layer]) -> None:
        """A network with numbers that do not overflow."""
        self.layers = list(layers)
        for one_of in self.both:
            one_of.driver.layers = self.layers
        assert self.config(np.array([0x53505253, len(layers)] + [0] * 14 + [
            word for layer in layers for word in layer.encode()
        ], np.uint32)) == ""  # fmt: skip
        parts = []
        for layer in layers:
            row = padded(layer.n, 16)
            for m, scale_by in ((layer.m, layer.m**-0.5), (1, 1.0), (1, 0.0)):
                values = np.zeros((m, row), np.float32)
                values[:, : layer.n] = self.rng.normal(size=(m, layer.n)) * scale_by
                parts.append(values.reshape(-1).view(np.uint32))
            entries = self.rng.integers(-9, 9, 128 * sum(layer.grouping)).astype(np.int8)
            parts.append(entries.view(np.uint32))
        image = np.concatenate(parts)
        size = (1 << len(layers)) - 1 | int(PARAMETERS) << 8
        assert self.call(lambda one_of: one_of.load(size, image))[0] == ""

    def program(self, many: Sequence[Instruction], end: bool = True) -> tuple[Any, ...]:
        """A RUN on both, which ends alike. Returns error, detail, count, info."""
        raw = program_words([*many, END] if end else many)

        def run(one_of: Jobs) -> Any:
            one_of.device.write(one_of.scratch, raw)
            return one_of.job(Opcode.RUN, len(raw) // 8, one_of.scratch)

        want, got = (ended(partial(run, one_of)) for one_of in self.both)
        assert (got[:2], got[3]) == (want[:2], want[3]), (got, want)
        if not want[0]:
            assert got[2] == want[2]
        return want

    def good(self, many: Sequence[Instruction]) -> None:
        assert self.program(many)[0] == ""

    def put(self, nbytes: int) -> None:
        """Activations in memory, of both signs, about 1."""
        values = self.rng.normal(size=nbytes // 2).astype(np.float16)
        for one_of in self.both:
            one_of.device.write(self.scratch + DATA, values)

    def same(self, nbytes: int, first: int = 0) -> None:
        """What both have written is equal."""
        at = self.scratch + OUT + first
        want, got = (one_of.device.read(at, nbytes) for one_of in self.both)
        np.testing.assert_array_equal(got.view(np.uint16), want.view(np.uint16))

    def group(
        self, numbers: Sequence[int], encode_op: Op = Op.ENC, check: bool = True,
        row: bool = False, cached: bool = True,
    ) -> None:  # fmt: skip
        """Encode, plan and compress layers; COMP with the encoder's row memory or without.

        COMPT has the other policy. Another unit has work during each compression.
        """
        more = Flag(0) if cached else Flag.NOCACHE
        others = [Instruction(Op.ZEROA, wait=wait, tiles=(1, 1, 1), a=Tensor(X), value=1)
                  for wait in (4, 0)]  # fmt: skip
        program = [Instruction(Op.CLRG, post=1)]
        for turn, k in enumerate(numbers):
            policies = self.rng.permutation([0, int(Flag.POLICY)])
            comp, compt = (Flag.ROW | Flag(int(one)) if row else Flag(0) for one in policies)
            program += [
                Instruction(encode_op, layer=k, wait=1 - min(turn, 1), post=2),
                Instruction(Op.PLAN, layer=k, wait=2, post=4),
                *others,
                Instruction(Op.COMP, flags=int(comp | more), layer=k, post=4),
                *others,
                Instruction(Op.COMPT, flags=int(compt), layer=k),
            ]
        self.good(program)
        if check:
            self.counted()

    def statistics(self) -> list[dict[str, Any]]:
        return [one_of.driver.statistics() for one_of in self.both]

    def counts(self) -> list[tuple[int, ...]]:
        """Multiply-adds and operations so far."""
        offsets = (registers.USEFUL_MACS_LO.offset, registers.VPU_OPS_LO.offset)
        return [tuple(map(one_of.driver.read64, offsets)) for one_of in self.both]

    def counted(self) -> None:
        """What the engine counts of the last encoding and compression is the same."""
        want, got = self.statistics()
        assert {k: got[k] for k in COUNTERS} == {k: want[k] for k in COUNTERS}


@pytest.fixture(scope="module")
def shared() -> Iterator[Runs]:
    with open_device("model", CONFIG) as model, open_device("sim", CONFIG, seed=2) as sim:
        yield Runs(model, sim)


@pytest.fixture
def runs(shared: Runs, seed: int) -> Runs:
    """With a generator of the test's own."""
    shared.rng = np.random.default_rng(seed)
    return shared


def tiles_of(rng: np.random.Generator, most: int = 4) -> tuple[int, int, int]:
    """Tiles of each core; some rest."""
    a, b, c = (int(rng.integers(most + 1)) for _ in range(3))
    return (a, b, c) if a + b + c else (1, 0, 2)


def move(op: Op, a: Tensor, at: int, lines: int, tiles: tuple[int, int, int],
         flags: int = 0, **more: Any) -> Instruction:  # fmt: skip
    """LOADA, STOREA or ZEROA."""
    return Instruction(op, 0, flags, tiles=tiles, a=a, address=at, value=lines, **more)


# ---- Activations
def test_activations_come_back(runs: Runs) -> None:
    """Any tiles, skews and strides; one image for all cores; zeros."""
    rng = runs.rng
    for turn in range(scale(50, 5)):
        tiles, lines = tiles_of(rng), int(rng.integers(1, 9))
        a = Tensor(int(rng.integers(500)), int(rng.integers(8)), lines + int(rng.integers(20)))
        other = replace(a, skew=int(rng.integers(8)))
        flags = 0
        if turn % 4 == 3:
            tiles, flags = (max(tiles),) * 3, int(Flag.ROW)
        runs.put(1 << 14)
        many = [move(Op.LOADA, a, runs.scratch + DATA, lines, tiles, flags, post=1)]
        if turn % 4 == 2:
            part = tuple(min(t, 1) for t in tiles)
            many.append(Instruction(Op.ZEROA, tiles=part, a=a, value=1))  # type: ignore[arg-type]
        many.append(move(Op.STOREA, other, runs.scratch + OUT, lines, tiles, wait=1))
        runs.good(many)
        runs.same(LINE * lines * sum(tiles))


# ---- Layers
def forward(runs: Runs, k: int, tiles: tuple[int, int, int], dx: bool, row: bool = False) -> None:
    """A layer's FW or DX from memory to memory, with random places of its results."""
    rng, layer = runs.rng, runs.layers[k]
    n_in, n_out = (layer.n, layer.m - layer.dx_from) if dx else (layer.m, layer.n)
    lines_in, lines_out = -(-n_in // 8), -(-n_out // 8)
    split = Flag.ROW if row else Flag(0)
    if row:
        tiles = (max(tiles),) * 3
    flags, value = split, 0
    if not dx and rng.random() < 0.7:
        flags |= Flag.BIAS
    kind = int(rng.integers(3))
    if kind == 0:
        flags |= Flag.ADDEND
    elif kind == 1 and n_out > 8:
        flags, value = flags | Flag.SECOND, 8 * int(rng.integers(1, -(-n_out // 8)))
    x, z, b = (Tensor(line, int(rng.integers(8)), 8 + int(rng.integers(4))) for line in (X, Z, B))
    x_flags, x_value, x_b = Flag(0), 0, Tensor()
    if n_in > 8 and rng.random() < 0.3:  # the operand is in two tensors
        x_flags, x_value = Flag.SECOND, 8 * int(rng.integers(1, -(-n_in // 8)))
        x_b = replace(x, line=x.line + x_value // 8)
    at, out = runs.scratch + DATA, runs.scratch + OUT
    second = Flag.SECOND in flags
    runs.put(1 << 16)
    many = [
        move(Op.LOADA, x, at, lines_in, tiles, post=1),
        move(Op.LOADA, b, at + 8192, 8, tiles),
        move(Op.LOADA, z, at + 16384, 8, tiles, post=4),
        Instruction(Op.FX, 1, int(x_flags), wait=1, layer=k, tiles=tiles, a=x, b=x_b,
                    value=x_value, neurons=n_in),
        Instruction(Op.DX if dx else Op.FW, 1, int(split), layer=k, tiles=tiles),
        Instruction(Op.LIN, 1, int(flags), wait=4, layer=k, tiles=tiles, d=z,
                    b=b if flags & (Flag.SECOND | Flag.ADDEND) else Tensor(), value=value, post=2),
        move(Op.STOREA, z, out, lines_out, tiles, wait=2),
    ]  # fmt: skip
    if second:
        many.append(move(Op.STOREA, b, out + (1 << 15), lines_out, tiles))
    before = runs.counts()
    runs.good(many)
    runs.same(LINE * lines_out * sum(tiles))
    if second:
        runs.same(LINE * lines_out * sum(tiles), 1 << 15)
    want, got = (
        [b - a for a, b in zip(*pair, strict=True)]
        for pair in zip(before, runs.counts(), strict=True)
    )
    assert got == want


DENSE = [Layer(40, 24, 1), Layer(17, 4, 1, 1, w_base=4096, b_base=32)]
SPLIT = [Layer(29, 2, 1, 2, dx_from=3), Layer(64, 64, 1, w_base=2048, b_base=8)]


@pytest.mark.parametrize(
    "layers",
    [pytest.param(DENSE, id="pairs", marks=pytest.mark.regress), pytest.param(SPLIT, id="quads")],
)
def test_dense_layers(runs: Runs, layers: list[Layer]) -> None:
    """From Python to RTL and back, with chains side by side, too."""
    runs.take(layers)
    for _ in range(scale(10, 1)):
        row = bool(runs.rng.random() < 0.5)
        runs.group([0, 1], row=row)
        for k in (0, 1):
            for dx in (False, True):
                forward(runs, k, tiles_of(runs.rng), dx, row)


def test_masked_layers(runs: Runs) -> None:
    """Random networks, groups and tiles; encoded by rows or by columns; rows over cores."""
    for turn in range(scale(20, 2)):
        layers = [replace(layer, tiles=4) for layer in network(runs.rng, runs.geometry)]
        with_squares(runs, layers)  # which no core takes for a bias
        row = bool(turn % 2)
        op = Op.ENCT if runs.rng.random() < 0.5 else Op.ENC
        runs.group(range(len(layers)), op, row=row, cached=bool(runs.rng.random() < 0.7))
        for k in range(len(layers)):
            forward(runs, k, tiles_of(runs.rng), bool(runs.rng.integers(2)), row)
        gradient(runs, 0, row=row)
        runs.good([Instruction(Op.UPD, flags=int(Flag.ROW) if row else 0, layer=0)])
        updated(runs)


@pytest.mark.regress
def test_clocks_of_the_array_are_those_of_the_plan(runs: Runs) -> None:
    """In a row of operations each takes its busiest bank's clocks and at most 12.

    No unit is shorter than 20 clocks: those wait for accumulators.
    """
    table = [replace(USUAL[0], m=32), USUAL[LST], USUAL[HED]]
    runs.take(table)
    runs.group(range(len(table)))
    runs.put(1 << 14)
    tiles, x = (4, 4, 4), Tensor(X, 0, 8)
    for k, layer in enumerate(table):
        runs.good([move(Op.LOADA, x, runs.scratch + DATA, layer.m // 8, tiles)])
        work = [
            Instruction(Op.FX, layer=k, tiles=tiles, a=x, neurons=layer.m),
            Instruction(Op.FW, layer=k, tiles=tiles),
            Instruction(Op.LIN, layer=k, tiles=tiles, d=Tensor(Z, 0, 8)),
        ]
        found = []
        for many in (1, 3):
            before = runs.statistics()
            runs.good(work * many)
            after = runs.statistics()
            pairs = list(zip(before, after, strict=True))
            busy = [b["unit_busy"]["VPU"] - a["unit_busy"]["VPU"] for a, b in pairs]
            lanes = [b["lane_clocks"] - a["lane_clocks"] for a, b in pairs]
            assert lanes[1] == lanes[0]
            found.append(busy)
        want, got = ((b - a) / 2 for a, b in zip(*found, strict=True))
        assert want - OVERHEAD <= got <= want, layer


def test_steps_of_an_lstm(runs: Runs) -> None:
    """LSTMF and LSTMB on blocks that are full of numbers, at any place and skew."""
    runs.take(USUAL)
    rng, layer, lines = runs.rng, USUAL[LST], 16
    at, out = runs.scratch + DATA, runs.scratch + OUT
    for turn in range(scale(20, 3)):
        tiles, row = tiles_of(rng), Flag(0)
        if turn % 4 == 2:
            tiles, row = (max(tiles),) * 3, Flag.ROW
        if turn % 4 in (0, 2):
            runs.group([LST], row=bool(row))
        before, block, other = (
            Tensor(line + int(rng.integers(40)), int(rng.integers(8)), lines + int(rng.integers(4)))
            for line in (0, 120, 240)
        )
        x = Tensor(500, 0, 4)
        runs.put(1 << 15)
        program = [
            move(Op.LOADA, before, at, lines, tiles),
            move(Op.LOADA, block, at + 8192, lines, tiles),
            move(Op.LOADA, other, at + 16384, 2, tiles),
            move(Op.LOADA, x, at + 20480, 4, tiles, post=1),
        ]
        if turn % 2:
            program.append(Instruction(Op.LSTMB, 2, wait=1, post=2, layer=LST, tiles=tiles,
                                       a=before, b=other, d=block))  # fmt: skip
        else:
            program += [
                Instruction(Op.FX, 1, wait=1, layer=LST, tiles=tiles, a=x, neurons=layer.m),
                Instruction(Op.FW, 1, int(row), layer=LST, tiles=tiles),
                Instruction(Op.LSTMF, 1, int(row) | int(rng.choice([0, int(Flag.BIAS)])), post=2,
                            layer=LST, tiles=tiles, a=before, d=block),
            ]  # fmt: skip
        program += [
            move(Op.STOREA, before, out, lines, tiles, wait=2),
            move(Op.STOREA, block, out + 32768, lines, tiles),
        ]
        runs.good(program)
        runs.same(LINE * lines * sum(tiles))
        runs.same(LINE * lines * sum(tiles), 32768)


@pytest.mark.regress
def test_gradients_that_are_not_finite_are_noticed(runs: Runs) -> None:
    """DW and BSUM end, and NONFINITE tells of an Inf until the next CLRG."""
    runs.take(USUAL)
    layer = USUAL[LST]
    x, y = Tensor(X, 0, 8), Tensor(Z, 3, 8)
    at = runs.scratch + DATA
    for wild, row in product((False, True), (False, True)):
        runs.group([LST], row=row)
        tiles = (2, 2, 2) if row else (2, 1, 1)
        work = [
            move(Op.LOADA, x, at, 4, tiles), move(Op.LOADA, y, at + 8192, 8, tiles, post=1),
            Instruction(Op.FX, wait=1, layer=LST, tiles=tiles, a=x, neurons=layer.m),
            Instruction(Op.FY, 0, int(Flag.BSUM), layer=LST, tiles=tiles, a=y, neurons=layer.n),
            Instruction(Op.DW, 0, int(Flag.ROW) if row else 0, layer=LST, tiles=tiles),
        ]  # fmt: skip
        runs.put(1 << 14)
        if wild:
            for one_of in runs.both:
                one_of.device.write(at + 8192 + LINE * 21, np.full(4, 0x7C00, np.uint16))
        before = runs.counts()
        runs.good(work)
        moved = [[b - a for a, b in zip(*pair, strict=True)]
                 for pair in zip(before, runs.counts(), strict=True)]  # fmt: skip
        assert moved[1] == moved[0]
        found = [one_of.driver.read(registers.NONFINITE.offset) for one_of in runs.both]
        assert found == [wild, wild]
    runs.good([job(Op.CLRG)])
    assert not any(one_of.driver.read(registers.NONFINITE.offset) for one_of in runs.both)


# ---- Updates
def rates(runs: Runs) -> None:
    """Others for both."""
    rng = runs.rng
    alpha = float(rng.uniform(0.9, 1))
    values: dict[str, float] = {
        "LR": 10 ** rng.uniform(-4, 0), "ALPHA": alpha, "ONE_MINUS_ALPHA": 1 - alpha,
        "EPS": 10 ** rng.uniform(-9, -2), "GSCALE": 2.0 ** rng.integers(-12, 1),
        "LR_GROUP": 10 ** rng.uniform(-3, 1),
    }  # fmt: skip
    state = [int(x) for x in rng.integers(0, 1 << 63, 4)]
    for one_of in runs.both:
        for name, value in values.items():
            word = int(np.float32(value).view(np.uint32))
            one_of.driver.write(getattr(registers, name).offset, word)
        one_of.driver.seed(state)


def updated(runs: Runs) -> None:
    """Parameters, generator and skipped updates are those of the model."""
    runs.compare()
    model, sim = runs.both
    assert sim.seed() == model.seed()
    assert sim.driver.read(registers.OVF.offset) == model.driver.read(registers.OVF.offset)


def with_squares(runs: Runs, layers: Sequence[Layer]) -> None:
    """A network with mean squares."""
    runs.take(layers)
    rates(runs)
    for k in range(len(layers)):
        for kind in (Kind.V, Kind.GSTATE):
            image = np.abs(runs.rng.normal(size=runs.words([k], kind))).astype(np.float32)
            if len(image):
                size = 1 << k | int(kind) << 8
                assert (
                    runs.call(partial(Jobs.load, size=size, image=image.view(np.uint32)))[0] == ""
                )


def gradient(runs: Runs, k: int, wild: bool = False, row: bool = False) -> None:
    """A DW of random activations, one of them infinite, with sums of the biases' gradients."""
    layer, tiles = runs.layers[k], tiles_of(runs.rng, 2)
    if row:
        tiles = (max(tiles),) * 3
    at = runs.scratch + DATA
    sizes, sums = [layer.m, layer.n], [Flag(0), Flag.BSUM]
    runs.put(1 << 15)
    if wild:
        for one_of in runs.both:
            one_of.device.write(at, np.full(4, 0x7C00, np.uint16))
    if layer.tr:
        sizes, sums = sizes[::-1], sums[::-1]
    program = []
    for op, place, neurons, flag in zip((Op.FX, Op.FY), (X, Z), sizes, sums, strict=True):
        tensor, count = Tensor(place, 0, 8), -(-neurons // 8)
        program += [
            move(Op.LOADA, tensor, at + 8192 * (op == Op.FY), count, tiles, post=1),
            Instruction(op, 2, int(flag), wait=1, layer=k, tiles=tiles, a=tensor, neurons=neurons),
        ]
    split = int(Flag.ROW) if row else 0
    runs.good([*program, Instruction(Op.DW, 2, split, layer=k, tiles=tiles)])


@pytest.mark.regress
def test_layers_are_updated(runs: Runs) -> None:
    """UPD and UPDG: weights, biases, groupings, all mean squares. A skipped update changes nothing,
    sums of two updates add, and after UPDG the layer is stale."""
    for turn in range(scale(20, 3)):
        layers = network(runs.rng, runs.geometry)
        with_squares(runs, [replace(layer, tiles=2) for layer in layers])
        runs.group(range(len(layers)), check=False)
        for k in range(len(layers)):
            gradient(runs, k, wild=turn % 3 == 1 and k == 0)
        many = []
        for k, layer in enumerate(layers):
            many.append(Instruction(Op.UPD, 3, layer=k, post=1))
            if turn % 3 == 2:
                many.append(Instruction(Op.COMP, layer=k, wait=1, post=2))
                many.append(Instruction(Op.UPD, 3, layer=k, wait=2))
            if layer.groups > 1:
                many.append(Instruction(Op.UPDG, 3, layer=k))
        runs.good(many)
        updated(runs)
        for k, layer in enumerate(layers):
            assert runs.program([job(Op.COMPT if layer.groups > 1 else Op.UPD, layer=k)])[0] == (
                "E_STALE"
            )
    runs.episodes(3, 4)


def test_each_skipped_iteration_counts_one(runs: Runs) -> None:
    """Of the updates after a CLRG the first that is skipped. Weights are compressed after one."""
    with_squares(runs, [Layer(9, 12, 1, tiles=2), Layer(8, 8, 1, tiles=2, w_base=1024, b_base=16)])
    for _ in range(2):
        runs.group([0, 1], check=False)
        gradient(runs, 0, wild=True)
        runs.good([
            Instruction(Op.UPD, 3, layer=0, post=1),
            Instruction(Op.COMP, layer=0, wait=1, post=2),
            Instruction(Op.UPD, 3, layer=1, wait=2),
        ])  # fmt: skip
        updated(runs)


# ---- Communication
def test_agents_hear_each_other(runs: Runs) -> None:
    """CF and CB of random teams, in both splits."""
    rng = runs.rng
    for turn in range(scale(30, 4)):
        row = bool(rng.integers(2))
        agents, most = int(rng.integers(1, 7)), 8 if row else 24
        episodes = int(rng.integers(1, 4 * most // agents + 1)) if agents <= 4 * most else 1
        runs.episodes(agents, episodes)
        inverse = np.float32(1 / (agents - 1) if agents > 1 else 0).view(np.uint32)
        for one_of in runs.both:
            one_of.driver.write(registers.INV.offset, int(inverse))
        g = runs.geometry
        counts = [agents * (((c + 1) * episodes // g.cores) - c * episodes // g.cores)
                  for c in range(3)]  # fmt: skip
        if row:
            counts = [agents * episodes] * 3
        t0, t1, t2 = (min(8, -(-count // VECTORS)) for count in counts)
        tiles = (t0, t1, t2)
        if not any(tiles) or any(
            VECTORS * t < count and VECTORS * t % agents
            for t, count in zip(tiles, counts, strict=True)
        ):
            continue
        neurons = int(rng.integers(1, 65))
        lines = -(-neurons // 8)
        a, b, d = (Tensor(line, int(rng.integers(8)), lines) for line in (X, Z, B))
        runs.put(1 << 16)
        at = runs.scratch + DATA
        flags = int(Flag.ROW) if row else 0
        gates = replace(b, stride=1)
        runs.good([
            move(Op.LOADA, a, at, lines, tiles),
            move(Op.LOADA, gates, at + 32768, 1, tiles),
            move(Op.LOADA, d, at + 16384, lines, tiles, post=1),
            Instruction(Op.CB if turn % 2 else Op.CF, 1, flags, wait=1, post=2, tiles=tiles, a=a,
                        b=gates, d=d, neurons=neurons),
            move(Op.STOREA, d, runs.scratch + OUT, lines, tiles, wait=2),
        ])  # fmt: skip
        runs.same(LINE * lines * sum(tiles))
    runs.episodes(3, 4)


# ---- Errors
def has_hardware(program: Sequence[Instruction]) -> bool:
    known = [each for each in program if each.op in list(Op)]
    return all(
        each.code in HAVE and not Flag(each.flags & 0x1FF) & ~HAVE[each.code] for each in known
    )


HERE = [name for name, (_, _, program) in BAD_PROGRAMS.items() if has_hardware(program)]


def step(runs: Runs) -> None:
    """Good jobs after a bad one."""
    runs.group([HED], check=False)
    forward(runs, HED, (1, 2, 1), False)


@pytest.mark.parametrize("case", HERE)
def test_a_bad_program_ends_with_an_error(runs: Runs, case: str) -> None:
    code, at, program = BAD_PROGRAMS[case]
    if runs.layers != USUAL:
        runs.take(USUAL)
    assert runs.program(program)[:2] == (code, at)
    # In a short run the others' next job is that of the case after them.
    if effort() >= 1 or HERE.index(case) % 3 == 0:
        step(runs)


def test_one_end(runs: Runs) -> None:
    clear = job(Op.CLRG)
    assert runs.program([clear, clear], end=False)[:2] == ("E_PROGRAM", 1)
    assert runs.program([clear, END, clear])[:2] == ("E_PROGRAM", 1)
    assert runs.program([clear] * 200)[2] == 201
    assert [one_of.driver.read(registers.PC.offset) for one_of in runs.both] == [201, 201]


@pytest.mark.parametrize(("name", "value"), [("EPS", 0), ("EPS", 0xBF80_0000),
                                             ("LR", 0x7F80_0000), ("GSCALE", 0x7FC0_0000),
                                             ("INV", 0xFF80_0000)])  # fmt: skip
def test_numbers_are_finite(runs: Runs, name: str, value: int) -> None:
    for one_of in runs.both:
        one_of.driver.write(getattr(registers, name).offset, value)
    assert runs.program([job(Op.CLRG)])[0] == "E_HPARAM"
    for one_of in runs.both:
        one_of.driver.write(getattr(registers, name).offset, 0x3F80_0000)
    runs.good([job(Op.CLRG)])


@pytest.mark.regress
def test_bus_errors_end_a_run(runs: Runs) -> None:
    """Of a program, in its first and in a later line, of LOADA and of STOREA."""
    runs.take(USUAL)
    at, out = runs.scratch + DATA, runs.scratch + OUT
    load = move(Op.LOADA, Tensor(X, 1, 4), at, 4, (2, 1, 1), post=1)
    store = move(Op.STOREA, Tensor(X, 1, 4), out, 4, (2, 1, 1), wait=1)
    cases = [
        ("E_BUS_RD", runs.scratch, READS, 4), ("E_BUS_RD", runs.scratch + 64, READS, 4),
        ("E_BUS_RD", at, READS, 0), ("E_BUS_RD", at + 11 * LINE, READS, 0),
        ("E_BUS_WR", out + 2 * LINE, WRITES, 1), ("E_BUS_WR", out + 15 * LINE, WRITES, 1),
    ]  # fmt: skip
    for code, address, direction, place in cases:
        for one_of in runs.both:
            one_of.device.inject(address, LINE, FAULT, direction)
        found = runs.program([load, store])
        assert found[0] == code and found[3] == (place, FAULT)
        for one_of in runs.both:
            one_of.device.clear_faults()
        step(runs)


# ---- Resets
def test_a_soft_reset_in_a_run(runs: Runs) -> None:
    """In any clock; all layers are stale, and the next programs work."""
    runs.take(USUAL)
    sim = runs.both[1]
    layer = USUAL[LST]
    x = Tensor(X, 0, 8)
    at = runs.scratch + DATA
    program = [
        *READY, move(Op.LOADA, x, at, 8, (4, 4, 4), post=1),
        Instruction(Op.FX, wait=4 | 1, layer=LST, tiles=(4, 4, 4), a=x, neurons=layer.m),
        Instruction(Op.FW, layer=LST, tiles=(4, 4, 4)),
        Instruction(Op.LIN, layer=LST, tiles=(4, 4, 4), d=Tensor(Z, 0, 8), post=2),
        Instruction(Op.CF, tiles=(1, 1, 2), a=x, b=x, d=Tensor(B, 0, 8), neurons=32),
        move(Op.STOREA, x, runs.scratch + OUT, 8, (4, 4, 4)),
    ]  # fmt: skip
    raw = program_words([*program, END])
    for _ in range(scale(40, 2)):
        sim.device.write(sim.scratch, raw)
        sim.ring.submit([Opcode.RUN, 0, len(program) + 1, 0, sim.scratch, 0])
        sim.device.step(int(runs.rng.integers(1, 1500)))
        sim.driver.soft_reset()
        runs.both[0].driver.soft_reset()
        assert runs.program([job(Op.COMP, layer=LST)])[0] == "E_STALE"
        step(runs)


def test_waits_for_memory_are_those_of_the_mover(runs: Runs) -> None:
    """A program that moves nothing has none; a STORE has some."""
    runs.take(USUAL)
    waits = partial(runs.both[1].driver.read64, header.STALL_MEM_LO.offset)
    before = waits()
    runs.good([job(Op.CLRG)] * 40)
    assert waits() == before
    runs.compare([0])
    assert waits() > before


@pytest.mark.parametrize("transfers", [0, 60])
def test_the_watchdog_ends_a_run(runs: Runs, transfers: int) -> None:
    """Memory needs longer than it allows: for the program, and for a LOADA of one, while other
    instructions wait for theirs."""
    runs.take(USUAL)
    sim = runs.both[1]
    load = move(Op.LOADA, Tensor(X), sim.scratch + DATA, 1, (1, 0, 0))
    program = [load] * transfers + [job(Op.CLRG), END]
    sim.device.write(sim.scratch, program_words(program))
    if not transfers:
        sim.driver.write(header.WATCHDOG.offset, 12)
    run = sim.ring.submit([Opcode.RUN, 0, len(program), 0, sim.scratch, 0])
    if transfers:
        sim.device.step(400)
        sim.driver.write(header.WATCHDOG.offset, 12)
    assert ended(lambda: run.wait(60))[0] == "E_TIMEOUT"
    assert sim.driver.read(registers.PC.offset) <= transfers / 2
    sim.driver.write(header.WATCHDOG.offset, 0)
    sim.driver.soft_reset()
    sim.driver.write(header.STATUS.offset, 0xE)
    step(runs)
