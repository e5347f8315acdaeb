"""Programs of IC3Net: whatever the clocks of units are, they compute the same."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise

import pytest

from models.sparse import kernels
from models.sparse.formats import SETS, Flag, Geometry, Instruction, Layer, Op, Tensor
from models.sparse.ic3net import Layout, Sizes, layers
from models.sparse.ic3net_programs import Programs
from models.sparse.program import FILLS, FREES

FULL = Geometry()
SMALL = Geometry(banks=2, lanes=9, d_max=64, a_rows=1024)
CASES = {
    "four parts, the first in halves": (Sizes(32, 4, 24, 3, 16, 16), FULL),
    "four parts, dense": (Sizes(32, 4, 24, 3, 16), FULL),
    "across the cut": (Sizes(32, 4, 24, 12, 16, 4), FULL),
    "three parts, two chunks": (Sizes(29, 3, 32, 3, 16, 4), FULL),
    "two parts, rows over cores": (Sizes(29, 3, 6, 3, 16, 2, row=True), FULL),
    "one part": (Sizes(13, 3, 4, 12, 16, 4), SMALL),
    "one agent": (Sizes(13, 1, 5, 3, 16, 4), SMALL),
    "two chunks, grouped heads": (Sizes(13, 3, 36, 2, 16, 4, 4), SMALL),
}


def lines(tensor: Tensor, neurons: int, tiles: int) -> set[int]:
    """Lines of the activation store."""
    count = -(-neurons // 8)
    return {tensor.line + k * tensor.stride + n for k in range(tiles) for n in range(count)}


def touched(one: Instruction, layer: Layer) -> tuple[set[int], set[int]]:
    """What an instruction reads and what it writes, on the core that has the most tiles."""
    t, h, a, b, d = max(one.tiles), layer.n // 4, one.a, one.b, one.d

    def part(tensor: Tensor, *numbers: int) -> set[int]:
        """Tensors of an LSTM block."""
        found: set[int] = set()
        for k in numbers:
            found |= lines(Tensor(tensor.line + k * h // 8, 0, tensor.stride), h, t)
        return found

    match one.code:
        case Op.LOADA | Op.ZEROA:
            return set(), lines(a, 8 * one.value, t)
        case Op.STOREA:
            return lines(a, 8 * one.value, t), set()
        case Op.FX | Op.FY if one.has(Flag.SECOND):
            return lines(a, one.value, t) | lines(b, one.neurons - one.value, t), set()
        case Op.FX | Op.FY:
            return lines(a, one.neurons, t), set()
        case Op.LSTMF:
            return part(a, kernels.CELL), part(d, *range(kernels.DCELL))
        case Op.LSTMB:
            reads = part(a, kernels.CELL) | lines(b, h, t) | part(d, *range(kernels.TC, 8))
            gates = (kernels.GATE_I, kernels.GATE_F, kernels.GATE_G, kernels.GATE_O)
            return reads, part(d, *gates) | part(a, kernels.DCELL)
        case Op.LIN:
            count = layer.n if one.has(Flag.BIAS) else layer.m - layer.dx_from
            if one.has(Flag.SECOND):
                return set(), lines(d, one.value, t) | lines(b, count - one.value, t)
            return lines(b, count, t) if one.has(Flag.ADDEND) else set(), lines(d, count, t)
        case Op.CF | Op.CB:
            reads = lines(a, one.neurons, t) | lines(b, 8, t)
            out = lines(d, one.neurons, t)
            return reads | out if one.op == Op.CB else reads, out
    return set(), set()


def order(program: list[Instruction]) -> list[int]:
    """Of each instruction a mask of those that have ended when it starts, whatever time they take.

    By the units' order, semaphores, and the sets of operands and results.
    """
    before: dict[int, set[int]] = {k: set() for k in range(len(program))}
    units: dict[int, int] = {}
    posts: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    fills: dict[str, list[int]] = {"x": [], "y": [], "r": []}
    uses: dict[str, list[int]] = {"x": [], "y": [], "r": []}
    for k, one in enumerate(program):
        before[k] |= {units[one.unit]} if one.unit in units else set()
        units[one.unit] = k
        for s in one.posts:
            posts.setdefault(s, []).append(k)
        for s in one.waits:
            waits.setdefault(s, []).append(k)
        if one.op in FILLS:
            fills[FILLS[one.op]].append(k)
        for name in FREES.get(one.op, ""):
            uses[name].append(k)
    assert {s: len(many) for s, many in posts.items()} == {s: len(m) for s, m in waits.items()}
    for s, many in waits.items():
        for k, post in zip(many, posts[s], strict=True):
            before[k].add(post)
    for name, many in fills.items():
        for k, use in zip(many, uses[name], strict=True):
            before[use].add(k)
        for k, use in zip(many[SETS:], uses[name], strict=False):
            before[k].add(use)
    found = [0] * len(program)
    for k in TopologicalSorter(before).static_order():
        for j in before[k]:
            found[k] |= found[j] | 1 << j
    for many in posts.values():  # else the k-th wait might be for another post
        assert all(found[b] >> a & 1 for a, b in pairwise(many))
    return found


def programs(sizes: Sizes, geometry: Geometry) -> Iterator[list[Instruction]]:
    """Those that read and write activations, without END."""
    made = Programs(Layout(sizes, geometry), {"input": 0, "output": 0, "dout": 0})
    yield made.forward(1)[:-1]
    yield made.backward()[:-1]


@pytest.mark.parametrize("case", CASES)
def test_who_shares_a_line_with_a_writer_has_an_order(case: str) -> None:
    """A line of the activation store."""
    sizes, geometry = CASES[case]
    table = layers(sizes, geometry)
    for program in programs(sizes, geometry):
        before = order(program)
        readers: dict[int, list[int]] = {}
        writers: dict[int, list[int]] = {}
        for k, one in enumerate(program):
            reads, writes = touched(one, table[one.layer])
            for line in reads:
                readers.setdefault(line, []).append(k)
            for line in writes:
                writers.setdefault(line, []).append(k)
        assert writers
        for line, many in writers.items():
            for k in many:
                for j in {*many, *readers.get(line, [])} - {k}:
                    assert (before[j] >> k | before[k] >> j) & 1, (program[j], program[k])


@pytest.mark.parametrize("case", CASES)
def test_operands_and_results_fit_who_takes_them(case: str) -> None:
    sizes, geometry = CASES[case]
    table = layers(sizes, geometry)
    for program in programs(sizes, geometry):
        x, y, results = ([k for k in program if k.code in ops] for ops in
                         ((Op.FX,), (Op.FY,), (Op.FW, Op.DX)))  # fmt: skip
        taken = [one for one in program if one.code in (Op.LIN, Op.LSTMF)]
        assert [(r.layer, r.tiles) for r in results] == [(r.layer, r.tiles) for r in taken]
        array = [one for one in program if one.code in (Op.FW, Op.DX, Op.DW)]
        ys = iter(y)
        for fill, one in zip(x, array, strict=True):
            m, n = table[one.layer].m, table[one.layer].n
            if one.op == Op.DW:
                other = next(ys)
                want = (n, m) if table[one.layer].tr else (m, n)
                assert (fill.neurons, other.neurons) == want and other.tiles == one.tiles
                assert (fill if table[one.layer].tr else other).has(Flag.BSUM)
            else:
                assert fill.neurons == (m if one.op == Op.FW else n)
            assert (fill.layer, fill.tiles) == (one.layer, one.tiles)
        assert next(ys, None) is None
