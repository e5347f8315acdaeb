"""Encoder, planner and compression of the sparse engine, and the figures that follow from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from models.sparse import osel, timing
from models.sparse.osel import Width, encode
from models.sparse.plan import (
    ROW_CONTIGUOUS,
    ROW_CYCLIC,
    Build,
    Pass,
    PlanError,
    Window,
    assign,
    core_loads,
    limit_of,
    line_clocks,
    numbered,
    owners,
    plan,
    unit_order,
    windows,
)
from models.sparse.timing import Shape

TINY = Build(3, 2, 5, 4, 4, 24, 1024, 512, 2048)


def random_mask(rng: np.random.Generator, m: int, n: int, groups: int) -> osel.Encoding:
    return encode(rng.integers(0, groups, m), rng.integers(0, groups, n), groups)


# ---- Encoder ----
def test_the_published_sequence_misses_and_hits() -> None:
    """Figure 5 of the publication: rows of the groups 1, 2, 1, 3, 0, 2."""
    og = np.array([2, 0, 1, 0, 3, 1])
    found = encode(np.array([1, 2, 1, 3, 0, 2]), og, 4)
    assert found.created.tolist() == [1, 2, 3, 0]
    assert (found.hits, found.misses) == (2, 4)
    assert found.nonzero.tolist() == [2, 5, 0, 4, 1, 3]
    assert found.base[found.created].tolist() == [0, 2, 3, 4]
    assert found.workload.tolist() == [2, 2, 1, 1]
    assert found.rows.tolist() == [4, 0, 2, 1, 5, 3]
    plain = encode(np.array([1, 2, 1, 3, 0, 2]), og, 4, cached=False)
    assert (plain.hits, plain.misses) == (0, 6)


def test_the_greatest_entry_is_the_first_of_ties() -> None:
    entries = np.array([[1, 3, 3, 0], [-8, -8, -9, -8], [0, 0, 0, 1]], np.int8)
    assert osel.max_index(entries).tolist() == [1, 0, 3]


@pytest.mark.parametrize("groups", [1, 2, 4, 8, 16, 32])
def test_lists_are_the_mask(groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(scale(40, 5)):
        m, n = rng.integers(1, 70, 2)
        found = random_mask(rng, m, n, groups)
        mask = found.mask
        assert found.nnz == mask.sum()
        for row in range(m):
            assert np.array_equal(found.columns(int(found.ig[row])), np.flatnonzero(mask[row]))
        for column in range(n):
            rows = found.members(int(found.og[column]))
            assert np.array_equal(rows, np.flatnonzero(mask[:, column]))
        assert sorted(found.nonzero) == list(range(n)) and sorted(found.rows) == list(range(m))
        assert np.array_equal(
            osel.bitvectors(found, 16), found.created[:, None] == found.og[None, :]
        )
        late = groups - len(set(found.ig.tolist()))
        assert found.misses == groups and found.hits == m - (groups - late)
        other = encode(found.ig, found.og, groups, exchanged=True)
        for g in range(groups):
            assert np.array_equal(other.columns(g), found.columns(g))
            assert np.array_equal(other.members(g), found.members(g))


def test_clocks_of_the_encoder() -> None:
    rng = np.random.default_rng(1)
    ig = np.concatenate([np.arange(16), rng.integers(0, 16, 112)])
    found = encode(ig, rng.integers(0, 16, 512), 16, Width(128, 64, 4))
    c = found.clocks
    assert (c.max_index, c.rows, c.misses, c.lists, c.total) == (64, 32, 128, 32, 256)
    narrow = encode(ig, found.og, 16, Width(32, 16, 1)).clocks
    assert (narrow.max_index, narrow.rows, narrow.misses, narrow.lists) == (256, 128, 512, 128)
    assert encode(ig, found.og, 16, Width(32, 16, 4)).clocks.rows == 64  # entries, not hits
    plain = encode(ig, found.og, 16, Width(128, 64, 4), cached=False).clocks
    assert plain.total == 64 + 128 * 8
    dense = encode(np.zeros(128, int), np.zeros(512, int), 1).clocks
    assert (dense.max_index, dense.misses) == (0, 8)


def test_a_group_that_no_row_selects_has_a_tuple() -> None:
    found = encode(np.array([2, 2]), np.array([0, 2, 1, 0]), 4)
    assert found.created.tolist() == [2, 0, 1, 3]
    assert [found.columns(g).tolist() for g in range(4)] == [[0, 3], [2], [1], []]


# ---- Planner ----
def check_pass(found: Pass, inner: np.ndarray, outer: np.ndarray, tiles: int, build: Build) -> None:
    """Every produced index once, slots' groups right, unit ranges disjoint and complete."""
    counts = np.zeros(len(outer), np.int64)
    position = 0
    for window in sorted(found.windows, key=lambda window: window.position):
        assert window.lanes <= build.lanes and len(window.groups) <= build.slots
        assert window.position == position
        position += window.lanes
        for group, workload, depth in zip(
            window.groups, window.workloads, window.depths, strict=True
        ):
            counts[group] += workload
            assert depth == inner[group] and workload > 0
    assert np.array_equal(counts, outer)
    assert sorted(found.units) == [(w, t) for w in range(len(found.windows)) for t in range(tiles)]
    assert len(found.banks) == len(found.units)
    assert list(found.banks) == sorted(found.banks) and found.banks[-1] < build.banks
    assert np.bincount(found.banks).max() <= build.held


def test_plans_are_complete(seed: int) -> None:
    rng = np.random.default_rng(seed)
    build = replace(TINY, windows=31)
    for _ in range(scale(10000, 150)):
        groups = int(rng.choice([1, 2, 4, 8, 16]))
        m, n, tiles = int(rng.integers(2, 33)), int(rng.integers(1, 33)), int(rng.integers(1, 9))
        dx_from = int(rng.integers(0, m)) if rng.random() < 0.3 else 0
        found = random_mask(rng, m, n, groups)
        made = plan(found, build, tiles, dx_from=dx_from, exchanged=bool(rng.integers(2)))
        rows = np.array([len(r) for r in found.row_lists])
        lower = np.array([np.count_nonzero(r >= dx_from) for r in found.row_lists])
        check_pass(made.forward, rows, found.workload, tiles, build)
        check_pass(made.backward, found.workload, lower, tiles, build)
        gradient = made.gradient
        for number, window in enumerate(gradient.windows):
            firsts = [first for w, first in gradient.units if w == number]
            assert firsts == list(range(0, window.depth, gradient.block))


def test_windows_are_cut_in_the_order_of_depth() -> None:
    found = windows([6, 8, 9, 10], [8, 6, 9, 10], 33, 4)
    assert found == [Window((3, 2, 1, 0), (10, 9, 6, 8), (10, 9, 8, 6), 0)]
    assert windows([5, 7, 5], [2, 2, 2], 33, 4)[0].groups == (1, 0, 2)
    cut = windows([1, 5, 5], [3, 4, 0], 5, 2)
    assert [w.groups for w in cut] == [(1, 0), (0,)] and [w.position for w in cut] == [0, 5]
    assert cut[0].workloads == (4, 1) and cut[1].workloads == (2,)
    plain = windows([1, 5, 5], [3, 4, 1], 5, 2, plain=True)
    assert [w.groups for w in plain] == [(0, 1), (1, 2)]


def test_a_long_window_is_beside_a_short_one() -> None:
    cut = windows([9, 8, 7, 6, 5], [4] * 5, 4, 2)
    assert [w.depth for w in numbered(cut)] == [9, 5, 8, 6, 7]
    assert [w.depth for w in numbered(cut[:4])] == [9, 6, 8, 7]
    assert numbered(cut, plain=True) == cut
    assert unit_order(3, 2, True) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    assert unit_order(3, 2, False) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_the_best_limit_is_taken() -> None:
    """A share of 32 parts and none, one, ... more for a bank, tried side by side."""
    assert limit_of([32, 32, 32, 32], 4) == 32
    assert limit_of([17, 17, 17, 13], 2) == 34  # 34 and 30; with 33 or less a bank has 47
    assert limit_of([1], 8) == 32  # one unit is the busiest bank's in any case
    assert limit_of([70, 10, 10, 10], 4) == 32


def test_units_go_to_banks_by_cost() -> None:
    assert assign([4] * 8, 4) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert assign([6, 2, 2, 3, 3], 3) == [0, 1, 1, 2, 2]
    assert assign([9, 1, 1, 1, 1, 1], 3) == [0, 1, 1, 1, 1, 2]
    assert assign([3, 2, 3], 2) == [0, 1, 1]  # of equal limits the first
    assert assign([1] * 6, 3, most=2) == [0, 0, 1, 1, 2, 2]
    assert assign([100, 1, 1, 1], 2, most=3) == [0, 1, 1, 1]
    assert assign([1, 100, 1, 1], 3, most=2) == [0, 1, 2, 2]
    assert assign([1, 1, 1, 9], 2, most=2) == [0, 0, 1, 1]  # all units must have a place
    with pytest.raises(PlanError):
        assign([1] * 7, 3, most=2)


@pytest.mark.parametrize("limit", ["windows", "result_lines"])
def test_a_plan_that_does_not_fit_is_refused(limit: str) -> None:
    found = random_mask(np.random.default_rng(0), 16, 16, 8)
    build = replace(TINY, **{limit: 2 if limit == "windows" else 2 * TINY.lanes})
    plan(found, TINY, 8)
    with pytest.raises(PlanError):
        plan(found, build, 8)


def test_split_sums_have_a_window_of_their_own() -> None:
    found = encode(np.zeros(128, int), np.zeros(8, int), 1)
    made = plan(found, Build(), 8, split=4, exchanged=True)
    assert made.forward.windows == (Window((0,) * 4, (8,) * 4, (32,) * 4, 0),)
    assert made.forward.clocks(8) == 128 and made.gradient.clocks == 33
    assert made.exchanged and made.gradient.windows[0].depth == 8


def test_rows_of_cores() -> None:
    order = np.array([4, 0, 2, 1, 5, 3])
    assert owners(6, order, 3, ROW_CYCLIC)[order].tolist() == [0, 1, 2, 0, 1, 2]
    assert owners(7, np.arange(7), 3, ROW_CONTIGUOUS).tolist() == [0, 0, 1, 1, 2, 2, 2]
    found = encode(np.array([0, 0, 1, 1]), np.array([0, 0, 1]), 2)
    assert core_loads(found, np.array([0, 1, 0, 1]), 2).tolist() == [3, 3]


def test_weight_lines_wait_for_banks_of_the_parameter_memory() -> None:
    rows, columns = [np.arange(3)], [np.arange(33)]
    assert line_clocks(rows, columns, windows([3], [33], 33, 4)) == 3  # neighbours, two ports
    same = [np.arange(0, 192, 64)]  # all in one bank
    assert line_clocks([np.arange(2)], same, windows([2], [3], 33, 4)) == 4


# ---- Figures ----
ARRAY = {  # clocks of LST and of the network; lanes in use, and without load allocation
    1: (2048, 2384, 0.970, 0.970), 2: (1041, 1224, 0.954, 0.922), 4: (530, 632, 0.938, 0.864),
    8: (268, 330, 0.929, 0.749), 16: (135.7, 181.9, 0.915, 0.655), 32: (68.4, 109.8, 0.910, 0.582),
}  # fmt: skip


@pytest.mark.parametrize("groups", ARRAY)
def test_clocks_and_lanes_of_the_array(groups: int) -> None:
    """Per tile and core, eight tiles in a row: the mean over eight masks of one seed."""
    work, plain = (timing.mean_work(groups, samples=8, plain=p) for p in (False, True))
    lst, network, used, without = ARRAY[groups]
    assert work["lst"].fw == pytest.approx(lst, rel=0.002)
    assert timing.total(work, "fw") == pytest.approx(network, rel=0.002)
    assert timing.utilization(work["lst"]) == pytest.approx(used, abs=0.001)
    assert timing.utilization(plain["lst"]) == pytest.approx(without, abs=0.001)


THROUGHPUT = {
    (4, 4): 260.8, (8, 4): 264.5, (5, 16): 263.8, (4, 24): 268.1, (8, 16): 264.5, (3, 32): 264.5,
    (5, 32): 264.5, (10, 32): 264.5,
}  # fmt: skip


def test_dense_throughput() -> None:
    found = [timing.dense_gflops(*shape) for shape in THROUGHPUT]
    assert found == pytest.approx(list(THROUGHPUT.values()), abs=0.1)


def test_the_published_core_is_half_full_at_16_groups() -> None:
    paper = Build(banks=1, lanes=264, result_lines=32768)
    lst = {"lst": Shape(256, 512)}
    dense, sparse = (
        timing.mean_work(g, samples=6, build=paper, layers=lst)["lst"].fw for g in (1, 16)
    )
    assert 6.5 < dense / sparse < 8


ENCODER = {2: (1116, 2.76), 4: (667, 4.63), 8: (515, 6.03), 16: (453, 6.92), 32: (551, 5.81)}


@pytest.mark.parametrize("groups", ENCODER)
def test_clocks_of_sparse_data_generation(groups: int) -> None:
    found = timing.encoder(128, 512, groups)
    clocks, ratio = ENCODER[groups]
    assert found.osel == pytest.approx(clocks, abs=1)
    assert found.uncached / found.osel == pytest.approx(ratio, abs=0.02)


def test_memory_of_a_mask() -> None:
    dense = 128 * 512 * 16
    ratios = {
        published: [round(dense / osel.memory_bits(128, 512, g, published), 2)
                    for g in (2, 4, 8, 16, 32)]
        for published in (True, False)
    }  # fmt: skip
    assert ratios[True] == [1.96, 3.68, 5.94, 6.71, 4.9]
    assert ratios[False] == [1.94, 3.64, 5.9, 6.84, 5.17]
    assert osel.memory_bits(128, 512, 16, False) == 153296


LOAD = {2: (279, 59, 8.0), 4: (132, 58, 9.8), 8: (65, 46, 10.2), 16: (33, 35, 10.3)}


@pytest.mark.parametrize("groups", LOAD)
def test_deviation_of_load(groups: int) -> None:
    found = [timing.deviation(129, 512, groups, p, scale(1500, 300)) for p in (None, 0, 1)]
    assert found == pytest.approx(list(LOAD[groups]), rel=0.12)
