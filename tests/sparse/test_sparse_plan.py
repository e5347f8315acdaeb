"""The planner: what it tells the banks, and its clocks, against the golden model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import Layer
from models.sparse.osel import Encoding, encode, kept
from models.sparse.plan import Build, Plan, PlanError, plan
from verif.play import Block, Player
from verif.sparse.tables import (
    LAYER_BITS,
    LIST_BITS,
    PLACE_BITS,
    RANGE_WRITE_BITS,
    TABLE_BITS,
    WINDOW_WRITE_BITS,
    concat,
    layer_word,
    lines_before,
    table_words,
    words,
)

CORE = "jackdaw:engine:sparse_encoder"
DIRECTORY = 1 + 4 * 32 * 10
PARTS = (LIST_BITS, WINDOW_WRITE_BITS, RANGE_WRITE_BITS, PLACE_BITS)
MARGIN = 12  # clocks that the test looks on after the end


@dataclass(frozen=True)
class Size:
    """A build of the planner; see jd_sparse_plan."""

    build: Build
    g_max: int = 8
    d_max: int = 64
    l_max: int = 4

    @property
    def parameters(self) -> dict[str, int]:
        b = self.build
        return {
            "GMax": self.g_max, "LMax": self.l_max, "Banks": b.banks, "Lanes": b.lanes,
            "Slots": b.slots, "WinMax": b.windows, "DrainW": b.drain_w, "WRows": b.weight_lines,
            "RRows": b.result_lines, "GRows": b.gradient_lines,
        }  # fmt: skip


SMALL = Size(Build(3, 2, 9, 4, 4, 6, 1024, 512, 2048))
SIZES = [
    SMALL,
    regress(Size(Build(1, 8, 17, 2, 2, 31, 700, 300, 400), g_max=32)),
    regress(Size(Build(1, 1, 33, 4, 4, 12, 1024, 512, 2048), g_max=16, l_max=1)),
    Size(Build(1, 3, 5, 4, 1, 31, 2048, 512, 2048), g_max=2),  # a bank between first and last
]
FULL = Size(Build(), 32, 512, 8)


def bench(size: Size, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_plan_bench",
        {
            "in_valid_i": 1, "in_number_i": 3, "in_layer_i": LAYER_BITS, "in_plain_i": 1,
            "in_planned_i": 8, "place_i": 14, "place_at_i": 9, "place_write_i": 1, "tuple_i": 9,
            "directory_i": DIRECTORY,
        },
        {"in_ready_o": 1, "done_o": 1, "failed_o": 1, "table_o": TABLE_BITS},
        sources=("verif/sparse/jd_sparse_plan_bench.sv",),
    )  # fmt: skip
    return Player(block, size.parameters, seed)


def number(row: np.ndarray) -> int:
    return int.from_bytes(np.atleast_1d(row).astype(np.uint32).tobytes(), "little")


def directory(found: Encoding, layer: Layer, exchanged: bool) -> int:
    """directory_t."""
    base = np.zeros(32, np.int64)
    base[: found.groups] = kept(found, exchanged).base
    rows, below, columns = np.zeros((3, 32), np.int64)
    rows[: found.groups] = np.diff(found.starts)
    columns[: found.groups] = found.workload
    below[: found.groups] = [np.count_nonzero(m < layer.dx_from) for m in found.row_lists]
    fields = [(int(x), 10) for part in (base, rows, below, columns) for x in part[::-1]]
    return concat((exchanged, 1), *fields)


def give(sim: Player, found: Encoding, exchanged: bool) -> None:
    """Put an encoding where the planner looks for it."""
    lists = kept(found, exchanged)
    streamed = found.og if exchanged else found.ig
    count = max(len(lists.places), len(lists.tuples))
    places = np.zeros(count, np.int64)
    tuples = np.zeros(count, np.int64)
    places[: len(streamed)] = lists.places | streamed << 9
    tuples[: len(lists.tuples)] = lists.tuples
    sim.run(
        count, place_write_i=np.ones(count), place_at_i=np.arange(count), place_i=places,
        tuple_i=tuples,
    )  # fmt: skip


def split(word: int) -> list[int]:
    """The parts of a table_t: entry of a list, window, range, place."""
    out = []
    for bits in reversed(PARTS):
        out.append(word & (1 << bits) - 1)
        word >>= bits
    return out[::-1]


def told(table: list[int]) -> list[list[int]]:
    """The valid words of each part."""
    found: list[list[int]] = [[], [], [], []]
    for word in table:
        for part, (one, bits) in enumerate(zip(split(word), PARTS, strict=True)):
            if one >> bits - 1:
                found[part].append(one)
    return found


def run(
    sim: Player, found: Encoding, layer: Layer, number_of: int, planned: int, exchanged: bool,
    plain: bool, clocks: int,
) -> tuple[list[int], int, bool]:  # fmt: skip
    """Plan a layer. Returns: what it tells, clocks, whether it failed."""
    give(sim, found, exchanged)
    out = sim.run(
        clocks, in_valid_i=np.arange(clocks) == 0, in_number_i=np.full(clocks, number_of),
        in_layer_i=words([layer_word(layer)] * clocks, LAYER_BITS),
        in_plain_i=np.full(clocks, plain), in_planned_i=np.full(clocks, planned),
        directory_i=words([directory(found, layer, exchanged)] * clocks, DIRECTORY),
    )  # fmt: skip
    ends = np.flatnonzero(out["done_o"])
    assert len(ends) == 1 and out["in_ready_o"][0] == 1 and out["in_ready_o"][-1] == 1
    raw = [number(row) for row in out["table_o"]]
    return raw, int(ends[0]), bool(out["failed_o"][ends[0]])


def check(
    sim: Player, size: Size, found: Encoding, layer: Layer, number_of: int = 0,
    before: list[Plan] | None = None, exchanged: bool = False, plain: bool = False,
) -> Plan:  # fmt: skip
    """Plan a layer that fits and compare what the banks are told, and the clocks."""
    made = plan(
        found, size.build, layer.tiles, layer.split, layer.dx_from, layer.tr, plain
    )  # fmt: skip
    before = before or []
    raw, clocks, failed = run(
        sim, found, layer, number_of, (1 << len(before)) - 1, exchanged, plain,
        made.clocks + MARGIN,
    )  # fmt: skip
    assert not failed
    want = told(table_words(number_of, found, made, layer, size.build.banks, before))
    got = told(raw)
    for part in range(4):
        assert sorted(got[part]) == sorted(want[part])
    assert clocks == made.clocks
    return made


def any_layer(rng: np.random.Generator, size: Size) -> tuple[Encoding, Layer]:
    """A random layer and its mask; often with groups without rows or columns."""
    b = size.build
    if rng.random() < 0.2:
        m, parts = int(rng.integers(4, size.d_max + 1)), int(rng.choice([2, 4]))
        n = int(rng.integers(1, max(2, b.lanes // parts + 1)))
        if n * parts <= b.lanes:
            layer = Layer(m, n, 1, parts.bit_length() - 1, bool(rng.integers(2)),
                          int(rng.integers(1, 9)), dx_from=int(rng.integers(0, m)))  # fmt: skip
            return encode(np.zeros(m, int), np.zeros(n, int), 1), layer
    g = int(rng.choice([g for g in (1, 2, 4, 8, 16, 32) if g <= size.g_max]))
    m, n = (int(x) for x in rng.integers(1, size.d_max + 1, 2))
    few = int(rng.integers(1, g + 1))
    ig, og = rng.integers(0, few, m), rng.integers(g - few, g, n)
    dx_from = int(rng.integers(0, m)) if rng.random() < 0.5 else 0
    layer = Layer(m, n, g, tr=bool(rng.integers(2)), tiles=int(rng.integers(1, 9)), dx_from=dx_from)
    return encode(ig, og, g), layer


@builds(lambda size: bench(size, 1))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.build.banks}x{size.build.lanes}")
def test_plans(size: Size, seed: int) -> None:
    """Random masks, both encodings, split sums, exchanged dW, with and without allocation."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    fit = failures = 0
    while fit < scale(300, 40):
        found, layer = any_layer(rng, size)
        exchanged, plain = bool(rng.integers(2)), rng.random() < 0.15
        try:
            made = plan(
                found, size.build, layer.tiles, layer.split, layer.dx_from, layer.tr, plain
            )  # fmt: skip
            weights, grads = lines_before([made], size.build.banks)
            fits = bool(
                weights.max() <= size.build.weight_lines
                and grads.max() <= size.build.gradient_lines
            )
        except PlanError:
            fits = False
        if fits:
            check(
                sim, size, found, layer, int(rng.integers(size.l_max)), None, exchanged, plain
            )  # fmt: skip
            fit += 1
        elif failures < 20:
            assert run(sim, found, layer, 0, 0, exchanged, plain, 4000)[2]
            failures += 1
    assert size is not SMALL or failures


@builds(lambda: bench(SMALL, 1))
def test_no_bank_before_a_long_unit_is_empty(seed: int) -> None:
    """The first unit is longer than most limits; a bank takes it anyway, and nothing with it."""
    layer = Layer(40, 27, 4, tiles=1)
    found = encode(np.repeat([0, 1, 2], [25, 14, 1]), np.repeat([0, 1, 2], 9), 4)
    made = check(bench(SMALL, seed), SMALL, found, layer)
    assert made.forward.costs == (100, 4, 56)
    assert made.forward.banks == (0, 1, 1)


@builds(lambda: bench(SMALL, 1))
def test_layers_lie_one_after_the_other(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    for _ in range(scale(10, 3)):
        before: list[Plan] = []
        for number_of in range(3):
            ig, og = rng.integers(0, 4, 30), rng.integers(0, 4, 20)
            layer = Layer(30, 20, 4, tiles=4)
            found = encode(ig, og, 4)
            before.append(check(sim, SMALL, found, layer, number_of, before))
        # Layer 1 is stale: layer 2 follows layer 0.
        raw, _, failed = run(sim, found, layer, 2, 0b0001, False, False, 400)
        assert not failed
        want = told(table_words(2, found, before[2], layer, SMALL.build.banks, before[:1]))
        assert sorted(told(raw)[2]) == sorted(want[2])


@builds(lambda dx_from: bench(SMALL, 1))
@pytest.mark.parametrize("dx_from", [0, 47])  # with little dX the gradient lines alone overflow
def test_lines_of_the_layers_below_count(dx_from: int, seed: int) -> None:
    """Layers that fit on their own overflow the weight lines or the gradient lines together."""
    sim = bench(SMALL, seed)
    found = encode(np.zeros(48, int), np.zeros(48, int), 1)
    layer = Layer(48, 48, 1, tiles=8, dx_from=dx_from)
    made = check(sim, SMALL, found, layer)
    weights, grads = (lines.max() for lines in lines_before([made], SMALL.build.banks))
    fit = min(SMALL.build.weight_lines // weights, SMALL.build.gradient_lines // grads)
    planned = [made]
    for number_of in range(1, 4):
        if number_of < fit:
            planned.append(check(sim, SMALL, found, layer, number_of, planned))
        else:
            _, _, failed = run(
                sim, found, layer, number_of, (1 << number_of) - 1, False, False, 3000
            )  # fmt: skip
            assert failed
            break
    else:
        pytest.fail("everything fits")


@pytest.mark.regress
@builds(lambda: bench(FULL, 1))
@pytest.mark.parametrize("groups", [1, 2, 4, 8, 16, 32])
def test_plans_of_the_network(groups: int, seed: int) -> None:
    """The layers of the published network on the full build."""
    sim, rng = bench(FULL, seed), np.random.default_rng(seed)
    total = 0
    before: list[Plan] = []
    for number_of, layer in enumerate(
        [Layer(160, 128, groups, dx_from=32), Layer(256, 512, groups), Layer(128, 8, 1, 2, True)]
    ):
        g = layer.groups
        found = encode(rng.integers(0, g, layer.m), rng.integers(0, g, layer.n), g)
        before.append(check(sim, FULL, found, layer, number_of, before))
        total += before[-1].clocks
    print(f"G={groups}: {total} clocks")


@builds(lambda: bench(SMALL, 1))
def test_a_reset_ends_a_plan(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    found, layer = encode(rng.integers(0, 4, 30), rng.integers(0, 4, 20), 4), Layer(30, 20, 4)
    for at in rng.integers(2, 60, scale(20, 5)):
        give(sim, found, False)
        low = np.arange(at + 2) < at
        sim.run(
            len(low), in_valid_i=np.arange(len(low)) == 0, rst_ni=low,
            in_layer_i=words([layer_word(layer)] * len(low), LAYER_BITS),
            directory_i=words([directory(found, layer, False)] * len(low), DIRECTORY),
        )  # fmt: skip
        check(sim, SMALL, found, layer)
