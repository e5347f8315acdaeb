"""Compression: the weight lines of a layer, and their clocks, against the golden model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import WORD_BANK, Layer, pitch
from models.sparse.numbers import half
from models.sparse.osel import Encoding, encode
from models.sparse.plan import Build, Pass, Plan, line_clocks, plan
from verif.play import Block, Player
from verif.sparse.tables import (
    DX,
    FW,
    LAYER_BITS,
    TABLE_BITS,
    Slot,
    layer_word,
    lists_of,
    table_words,
    windows_of,
    words,
)

CORE = "jackdaw:engine:sparse_encoder"
PIPELINE = 14  # clocks, at most, besides those of words and lanes


@dataclass(frozen=True)
class Size:
    """A build; see jd_sparse_lau."""

    build: Build
    d_max: int
    l_max: int
    lines: int

    @property
    def parameters(self) -> dict[str, int]:
        b = self.build
        return {
            "DMax": self.d_max, "LMax": self.l_max, "Cores": b.cores, "Banks": b.banks,
            "Lanes": b.lanes, "Slots": b.slots, "Lines": self.lines,
        }  # fmt: skip


SMALL = Size(Build(3, 2, 9, 4, 4, 24, 1024, 512, 2048), 64, 4, 128)
SIZES = [
    SMALL,
    regress(Size(Build(1, 3, 5, 2, 2, 31, 2048, 512, 2048), 32, 1, 64)),
    regress(Size(Build(2, 1, 80, 4, 4, 24, 2048, 512, 8192), 128, 2, 512)),
]
FULL = Size(Build(), 512, 1, 1024)


def bench(size: Size, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_lau_bench",
        {
            "store_i": 1, "store_line_i": 12, "store_data_i": 32 * WORD_BANK,
            "plan_layer_i": LAYER_BITS, "table_i": TABLE_BITS, "in_valid_i": 1, "in_number_i": 3,
            "in_layer_i": LAYER_BITS, "in_dx_i": 1,
        },
        {
            "in_ready_o": 1, "done_o": 1, "clocks_o": 20, "begin_o": 5, "write_o": 12,
            "line_o": 16 * size.build.lanes,
        },
        sources=("verif/sparse/jd_sparse_lau_bench.sv",),
    )  # fmt: skip
    return Player(block, size.parameters, seed)


def numbers(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """FP32 weights: most are normal in FP16, some round to its limits or are special."""
    w = (rng.standard_normal((m, n)) * 2.0 ** rng.integers(-26, 17, (m, n))).astype(np.float32)
    special = np.array([np.inf, -np.inf, np.nan, -0.0, 65519.9, 65520.0, 2.0**-25], np.float32)
    return np.where(rng.random((m, n)) < 0.05, rng.choice(special, (m, n)), w)


def store(sim: Player, layer: Layer, w: np.ndarray) -> None:
    """Write a layer's weights: word (m, n) in bank (m + n) mod 64."""
    wide = pitch(layer.n)
    rows = np.zeros((layer.m, wide), np.uint32)
    rows[:, : layer.n] = w.view(np.uint32)
    for m in range(layer.m):
        for k in range(0, wide, WORD_BANK):
            rows[m, k : k + WORD_BANK] = np.roll(rows[m, k : k + WORD_BANK], m)
    data = rows.reshape(-1, WORD_BANK)
    sim.run(
        len(data), store_i=np.ones(len(data)), store_data_i=data,
        store_line_i=layer.w_base // WORD_BANK + np.arange(len(data)),
    )  # fmt: skip


def tell(
    sim: Player, number_of: int, found: Encoding, made: Plan, layer: Layer, banks: int
) -> None:
    """What the planner tells of a layer."""
    table = table_words(number_of, found, made, layer, banks)
    sim.run(
        len(table), table_i=words(table, TABLE_BITS),
        plan_layer_i=words([layer_word(layer)] * len(table), LAYER_BITS),
    )  # fmt: skip
    sim.run(1, plan_layer_i=words([layer_word(layer)], LAYER_BITS))


def lines_wanted(
    w: np.ndarray, found: Encoding, cut: Sequence[Sequence[Slot]], one: Pass, split: int,
    dx: bool, lanes: int,
) -> tuple[list[np.ndarray], list[int]]:  # fmt: skip
    """Weight lines in order, FP16 codes, and the banks of each."""
    rows, columns = lists_of(found)
    inner, outer = (columns, rows) if dx else (rows, columns)
    w16 = half(w).view(np.uint16)
    lines, masks = [], []
    for number_of, slots in enumerate(cut):
        mask = 0
        for unit, bank in enumerate(one.banks):
            if unit // one.tiles == number_of:
                mask |= 1 << bank
        for rank in range(max(slot.depth for slot in slots)):
            line = np.zeros(lanes, np.uint16)
            lane = 0
            for slot in slots:
                for k in range(slot.lanes):
                    if rank < slot.depth:
                        a, b = inner[slot.first + rank * split], outer[slot.produced + k]
                        line[lane] = w16[(b, a) if dx else (a, b)]
                    lane += 1
            lines.append(line)
            masks.append(mask)
    return lines, masks


def expected_clocks(found: Encoding, layer: Layer, made: Plan, dx: bool) -> int:
    """Clocks of the words, by the golden model."""
    rows, columns = found.row_lists, found.column_lists
    if dx:
        lower = [m[m >= layer.dx_from] for m in rows]
        return line_clocks(columns, lower, made.backward.windows)
    if layer.split > 1:
        parts = [np.arange(j, layer.m, layer.split) for j in range(layer.split)]
        windows = made.forward.windows
        total = 0
        for rank in range(windows[0].depth):
            asked = np.zeros(WORD_BANK, int)
            for part in parts:
                if rank < len(part):
                    np.add.at(asked, (part[rank] + np.arange(layer.n)) % WORD_BANK, 1)
            total += -(-int(asked.max()) // 2)
        return total
    return line_clocks(rows, columns, made.forward.windows)


def check(
    sim: Player, size: Size, number_of: int, found: Encoding, layer: Layer, made: Plan,
    w: np.ndarray, dx: bool,
) -> tuple[int, int]:  # fmt: skip
    """Compress one direction. Returns: clocks of the words, and from its start to its end."""
    cut = windows_of(found, made, layer)[DX if dx else FW]
    one = made.backward if dx else made.forward
    split = 1 if dx else layer.split
    lanes = size.build.lanes
    want, masks = lines_wanted(w, found, cut, one, split, dx, lanes)
    clocks = expected_clocks(found, layer, made, dx)
    fetches = sum(
        3 + sum(-(-slot.lanes // WORD_BANK) for slot in slots) for slots in cut
    )  # fmt: skip
    limit = clocks + fetches + 4 * len(cut) + PIPELINE
    run = limit + 4
    out = sim.run(
        run, in_valid_i=np.arange(run) == 0, in_number_i=np.full(run, number_of),
        in_layer_i=words([layer_word(layer)] * run, LAYER_BITS), in_dx_i=np.full(run, dx),
    )  # fmt: skip
    (end,) = np.flatnonzero(out["done_o"])
    assert end <= limit
    assert np.flatnonzero(out["begin_o"] >> 4).tolist() == [1]
    assert int(out["begin_o"][1]) & 15 == number_of << 1 | dx
    at = np.flatnonzero(out["write_o"] >> 11)
    assert len(at) == len(want) and (len(at) == 0 or at[-1] < end)
    assert (out["write_o"][at] >> 8 & 7 == (1 << size.build.cores) - 1).all()
    assert (out["write_o"][at] & 255).tolist() == masks
    if want:
        got = np.ascontiguousarray(out["line_o"][at].reshape(len(at), -1)).view(np.uint16)
        assert np.array_equal(got[:, :lanes], np.array(want))
    assert int(out["clocks_o"][end]) == clocks
    return clocks, int(end)


def any_layer(rng: np.random.Generator, size: Size) -> tuple[Encoding, Layer]:
    """A random layer with its mask, that fits."""
    b = size.build
    while True:
        m, n = (int(x) for x in rng.integers(1, size.d_max + 1, 2))
        groups = int(rng.choice([1, 2, 4, 8]))
        split = int(rng.choice([0, 0, 0, 1, 2]))
        if split:
            n, groups = int(rng.integers(1, max(2, b.lanes // (1 << split)))), 1
        if split and (n << split > b.lanes or 1 << split > b.slots):
            continue
        used = m * pitch(n) // WORD_BANK
        if used > size.lines:
            continue
        base = int(rng.integers(0, size.lines - used + 1)) * WORD_BANK
        few = int(rng.integers(1, groups + 1))
        layer = Layer(
            m, n, groups, split, tiles=int(rng.integers(1, 9)), w_base=base,
            dx_from=int(rng.integers(0, m)) if rng.random() < 0.5 else 0,
        )  # fmt: skip
        return encode(rng.integers(0, few, m), rng.integers(groups - few, groups, n), groups), layer


@builds(lambda size: bench(size, 1))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.build.banks}x{size.build.lanes}")
def test_weight_lines(size: Size, seed: int) -> None:
    """Random masks, both directions, split sums; lines, banks and clocks."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    for _ in range(scale(120, 15)):
        found, layer = any_layer(rng, size)
        made = plan(found, size.build, layer.tiles, layer.split, layer.dx_from)
        number_of = int(rng.integers(size.l_max))
        w = numbers(rng, layer.m, layer.n)
        store(sim, layer, w)
        tell(sim, number_of, found, made, layer, size.build.banks)
        for dx in rng.permutation([False, True]):
            check(sim, size, number_of, found, layer, made, w, bool(dx))


@builds(lambda: bench(SMALL, 1))
def test_layers_keep_their_tables(seed: int) -> None:
    """Two layers are planned before the first is compressed."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    kept = []
    for number_of, base in ((2, 0), (0, 60 * WORD_BANK)):
        layer = Layer(60, 50, 4, tiles=3, w_base=base)
        found = encode(rng.integers(0, 4, 60), rng.integers(0, 4, 50), 4)
        made = plan(found, SMALL.build, 3)
        w = numbers(rng, 60, 50)
        store(sim, layer, w)
        tell(sim, number_of, found, made, layer, SMALL.build.banks)
        kept.append((number_of, found, layer, made, w))
    for number_of, found, layer, made, w in kept:
        for dx in (False, True):
            check(sim, SMALL, number_of, found, layer, made, w, dx)


@pytest.mark.regress
@builds(lambda: bench(FULL, 1))
@pytest.mark.parametrize("groups", [2, 4, 8, 16, 32])
def test_compression_of_the_published_mask(groups: int, seed: int) -> None:
    """A mask of 128 x 512 on the full build: lanes are fetched in time."""
    sim, spent, words_only = bench(FULL, seed), [], []
    for mask in range(3):
        rng = np.random.default_rng(mask)
        found = encode(rng.integers(0, groups, 128), rng.integers(0, groups, 512), groups)
        layer = Layer(128, 512, groups, tiles=1)
        made = plan(found, FULL.build, 1)
        w = numbers(rng, 128, 512)
        store(sim, layer, w)
        tell(sim, 0, found, made, layer, FULL.build.banks)
        clocks, end = check(sim, FULL, 0, found, layer, made, w, False)
        spent.append(end)
        words_only.append(clocks)
    print(f"G={groups}: {np.mean(words_only):.0f} clocks of words, {np.mean(spent):.0f} in all")


@builds(lambda: bench(SMALL, 1))
def test_a_reset_ends_a_compression(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    layer = Layer(30, 50, 4, tiles=3)
    found = encode(rng.integers(0, 4, 30), rng.integers(0, 4, 50), 4)
    made, w = plan(found, SMALL.build, 3), numbers(rng, 30, 50)
    store(sim, layer, w)
    tell(sim, 0, found, made, layer, SMALL.build.banks)
    for at in rng.integers(2, 60, scale(20, 5)):
        low = np.arange(at + 2) < at
        sim.run(
            len(low), in_valid_i=np.arange(len(low)) == 0, rst_ni=low,
            in_layer_i=words([layer_word(layer)] * len(low), LAYER_BITS),
        )  # fmt: skip
        check(sim, SMALL, 0, found, layer, made, w, False)
