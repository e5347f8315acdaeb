"""Compression: the weight lines of a layer, and their clocks, against the golden model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import WORD_BANK, Layer, pitch
from models.sparse.layer import split_lists
from models.sparse.numbers import half
from models.sparse.osel import Encoding, encode
from models.sparse.plan import (
    ROW_CONTIGUOUS,
    ROW_CYCLIC,
    Build,
    Pass,
    Plan,
    core_loads,
    line_clocks,
    owners,
    plan,
)
from verif.play import Block, Player
from verif.sparse.tables import (
    DX,
    FW,
    LAYER_BITS,
    TABLE_BITS,
    WINDOW_BITS,
    WINDOW_WRITE_BITS,
    Slot,
    layer_word,
    lists_of,
    table_words,
    windows_of,
    words,
)

CORE = "jackdaw:engine:sparse_encoder"
PIPELINE = 15  # clocks, at most, besides those of words and lanes


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
            "in_layer_i": LAYER_BITS, "in_dx_i": 1, "in_row_i": 1, "in_policy_i": 1,
            "in_uncached_i": 1,
        },
        {
            "in_ready_o": 1, "owner_o": 2, "done_o": 1, "clocks_o": 20, "begin_o": 5, "write_o": 12,
            "line_o": 16 * size.build.lanes, "window_cores_o": size.build.cores,
            "window_o": WINDOW_WRITE_BITS, "loads_o": 19 * size.build.cores,
            "second_en_o": WORD_BANK, "second_line_o": 12 * WORD_BANK,
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
    sim.run(1, plan_layer_i=words([layer_word(layer)], LAYER_BITS))
    sim.run(
        len(table), table_i=words(table, TABLE_BITS),
        plan_layer_i=words([layer_word(layer)] * len(table), LAYER_BITS),
    )  # fmt: skip
    sim.run(1, plan_layer_i=words([layer_word(layer)], LAYER_BITS))


@dataclass(frozen=True)
class Line:
    """A weight line: FP16 codes, masks of its cores and banks, words that memory banks give."""

    codes: np.ndarray
    cores: int
    banks: int
    asked: np.ndarray


def shares(
    slots: Sequence[Slot], split: int, cores: int, owner: np.ndarray | None
) -> list[list[list[int]]]:
    """The ranks of each slot that each core has; without ROW split of one for all.

    Args:
        slots, split: of a window.
        cores: of the build.
        owner: of each place of the contracted list, in ROW split.
    """
    if owner is None:
        return [[list(range(slot.depth)) for slot in slots]]
    return [
        [[r for r in range(s.depth) if owner[s.first + r * split] == core] for s in slots]
        for core in range(cores)
    ]


def lines_wanted(
    w: np.ndarray, found: Encoding, cut: Sequence[Sequence[Slot]], one: Pass, split: int,
    dx: bool, build: Build, owner: np.ndarray | None,
) -> list[Line]:  # fmt: skip
    """Weight lines in order."""
    rows, columns = lists_of(found)
    inner, outer = (columns, rows) if dx else (rows, columns)
    w16 = half(w).view(np.uint16)
    lines = []
    for number_of, slots in enumerate(cut):
        banks = sum(1 << bank for bank in set(one.banks) if number_of in one.held(bank))
        for core, mine in enumerate(shares(slots, split, build.cores, owner)):
            for nth in range(max(map(len, mine))):
                codes, asked = np.zeros(build.lanes, np.uint16), np.zeros(WORD_BANK, int)
                lane = 0
                for slot, ranks in zip(slots, mine, strict=True):
                    for k in range(slot.lanes):
                        if nth < len(ranks):
                            a = inner[slot.first + ranks[nth] * split]
                            b = outer[slot.produced + k]
                            codes[lane] = w16[(b, a) if dx else (a, b)]
                            asked[(a + b) % WORD_BANK] += 1
                        lane += 1
                cores = 1 << core if owner is not None else (1 << build.cores) - 1
                lines.append(Line(codes, cores, banks, asked))
    return lines


def check_windows(
    out: dict[str, np.ndarray], cut: Sequence[Sequence[Slot]], number_of: int, dx: bool, split: int,
    cores: int, owner: np.ndarray | None,
) -> None:  # fmt: skip
    """The windows that the banks of each core get; those without ranks may come or not."""
    got: dict[tuple[int, int], int] = {}
    for raw, mask in zip(out["window_o"], out["window_cores_o"], strict=True):
        value = int.from_bytes(np.ascontiguousarray(raw).tobytes(), "little")
        if value >> (WINDOW_WRITE_BITS - 1):
            head = value >> WINDOW_BITS
            assert head >> 5 & 31 == number_of << 2 | dx
            for core in range(cores):
                if int(mask) >> core & 1:
                    got[head & 31, core] = value & ((1 << WINDOW_BITS) - 1)
    for k, slots in enumerate(cut):
        every = shares(slots, split, cores, owner)
        for core in range(cores):
            ranks = every[core if owner is not None else 0]
            if not any(slot.depth for slot in slots):
                continue
            value = got[k, core]
            step = (value >> WINDOW_BITS - 2) + 1
            assert value >> WINDOW_BITS - 12 & 1023 == max(map(len, ranks))
            assert value >> WINDOW_BITS - 21 & 511 == sum(slot.lanes for slot in slots)
            for s, (slot, mine) in enumerate(zip(slots, ranks, strict=True)):
                one = value >> 37 * s
                first, depth = one >> 28 & 511, one >> 18 & 1023
                assert (one >> 9 & 511, one & 511) == (slot.produced, slot.lanes)
                places = [first + r * step * split for r in range(depth)]
                assert places == [slot.first + r * split for r in mine]


def check_all_read(out: dict[str, np.ndarray], layer: Layer) -> None:
    """The second port reads each weight once: word (m, n) in bank (m + n) mod 64."""
    asked: Counter[tuple[int, int]] = Counter()
    for row in zip(out["second_en_o"], out["second_line_o"], strict=True):
        mask, lines = (int.from_bytes(np.ascontiguousarray(x).tobytes(), "little") for x in row)
        for bank in range(WORD_BANK):
            if mask >> bank & 1:
                asked[lines >> 12 * bank & 0xFFF, bank] += 1
    first, wide = layer.w_base // WORD_BANK, pitch(layer.n) // WORD_BANK
    assert asked == Counter(
        (first + m * wide + n // WORD_BANK, (m + n) % WORD_BANK)
        for m in range(layer.m)
        for n in range(layer.n)
    )


def check(
    sim: Player, size: Size, number_of: int, found: Encoding, layer: Layer, made: Plan,
    w: np.ndarray, dx: bool, policy: int | None = None, uncached: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """Compress one direction, with a policy in ROW split.

    Returns: clocks of the words, and from its start to its end.
    """
    cut = windows_of(found, made, layer)[DX if dx else FW]
    one = made.backward if dx else made.forward
    split, build = 1 if dx else layer.split, size.build
    order = lists_of(found)[dx]
    of_index, of_place = None, None
    if policy is not None and build.cores > 1:
        of_index = owners(len(order), order, build.cores, policy)
        of_place = of_index[order]
    row = of_place is not None
    want = lines_wanted(w, found, cut, one, split, dx, build, of_place)
    ports = 1 if uncached else 2
    clocks = sum(-(-int(line.asked.max()) // ports) for line in want)
    if split == 1 and not uncached:  # the golden model's
        lists = [found.row_lists, [m[m >= layer.dx_from] for m in found.row_lists]][dx]
        inner, outer = (found.column_lists, lists) if dx else (lists, found.column_lists)
        every = split_lists(inner, 1, of_index, build.cores)
        assert clocks == sum(line_clocks(core[0], outer, one.windows) for core in every)
    dense = layer.m * -(-layer.n // min(build.lanes, WORD_BANK)) if uncached else 0
    fetches = sum(
        3 + sum(-(-slot.lanes // WORD_BANK) for slot in slots)
        + (build.cores * (build.slots + 1) + 9 if row else 0)
        + (sum(slot.depth for slot in slots) if policy == ROW_CONTIGUOUS else 0)
        for slots in cut
    )  # fmt: skip
    limit = max(dense, clocks + fetches) + (4 + build.cores) * len(cut) + PIPELINE
    run = limit + 4
    out = sim.run(
        run, in_valid_i=np.arange(run) == 0, in_number_i=np.full(run, number_of),
        in_layer_i=words([layer_word(layer)] * run, LAYER_BITS), in_dx_i=np.full(run, dx),
        in_row_i=np.full(run, policy is not None),
        in_policy_i=np.full(run, policy == ROW_CYCLIC), in_uncached_i=np.full(run, uncached),
    )  # fmt: skip
    (end,) = np.flatnonzero(out["done_o"])
    assert end <= limit
    assert np.flatnonzero(out["begin_o"] >> 4).tolist() == [1]
    assert int(out["begin_o"][1]) & 15 == number_of << 1 | dx
    at = np.flatnonzero(out["write_o"] >> 11)
    assert len(at) == len(want) and (len(at) == 0 or at[-1] < end)
    assert (out["write_o"][at] >> 8 & 7).tolist() == [line.cores for line in want]
    assert (out["write_o"][at] & 255).tolist() == [line.banks for line in want]
    if want:
        got = np.ascontiguousarray(out["line_o"][at].reshape(len(at), -1)).view(np.uint16)
        assert np.array_equal(got[:, : build.lanes], np.array([line.codes for line in want]))
    assert int(out["clocks_o"][end]) == (dense or clocks)
    if uncached:
        check_all_read(out, layer)
    check_windows(out, cut, number_of, dx, split, build.cores, of_place)
    if of_index is not None and not dx:
        loads = core_loads(found, of_index, build.cores)
        value = int.from_bytes(np.ascontiguousarray(out["loads_o"][end]).tobytes(), "little")
        assert [value >> 19 * c & 0x7FFFF for c in range(build.cores)] == loads.tolist()
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
    """Random masks, both directions, split sums, ROW, NOCACHE; lines, windows and clocks."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    for _ in range(scale(120, 15)):
        found, layer = any_layer(rng, size)
        made = plan(found, size.build, layer.tiles, layer.split, layer.dx_from)
        number_of = int(rng.integers(size.l_max))
        w = numbers(rng, layer.m, layer.n)
        store(sim, layer, w)
        tell(sim, number_of, found, made, layer, size.build.banks)
        for dx in rng.permutation([False, True]):
            policy = [None, ROW_CYCLIC, ROW_CONTIGUOUS][rng.integers(3)]
            uncached = not dx and bool(rng.random() < 0.3)
            check(sim, size, number_of, found, layer, made, w, bool(dx), policy, uncached)


@builds(lambda: bench(SMALL, 1))
def test_lanes_that_ask_one_bank_take_turns(seed: int) -> None:
    """At each rank the lanes of four groups ask two banks. Two groups end early, and what follows
    them in the list of rows would ask these banks, too."""
    ig, columns = 6 + np.arange(48) % 2, np.array([0, 1, 2, 4])
    for group, rows in enumerate(
        ((10, 22, 34, 46), (8, 20, 32, 44), (6, 18), (30, 42), (4, 16), (28, 40))
    ):
        ig[list(rows)] = group
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    layer = Layer(48, 8, 8, tiles=3)
    found = encode(ig, np.repeat(columns, 2), 8)
    made, w = plan(found, SMALL.build, layer.tiles), numbers(rng, 48, 8)
    store(sim, layer, w)
    tell(sim, 0, found, made, layer, SMALL.build.banks)
    clocks, _ = check(sim, SMALL, 0, found, layer, made, w, False)
    assert clocks == 2 + 2 + 1 + 1  # a bank gives two words per clock


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
