"""The sparse data encoder: lists, tuples and clocks against the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import GROUP_LINE, Layer
from models.sparse.osel import Width, encode, kept, max_index
from models.sparse.plan import Build, line_clocks, plan
from models.sparse.timing import OVERHEAD
from verif.play import Block, Player
from verif.sparse.tables import LAYER_BITS, layer_word, words

CORE = "jackdaw:engine:sparse_encoder"
GROUPED, DENSE = 10, 6  # clocks of the pipelines, with groups and without
DIRECTORY = 1 + 4 * 32 * 10
FIELDS = (10, 10, 16, 10, 10, 10)  # of encoder_clocks_t


@dataclass(frozen=True)
class Size:
    """A build of the encoder; see jd_sparse_encode."""

    g_max: int
    d_max: int
    l_max: int
    width: Width
    keep: bool = False
    lines: int = 32

    @property
    def parameters(self) -> dict[str, int]:
        w = self.width
        return {
            "GMax": self.g_max, "DMax": self.d_max, "LMax": self.l_max, "MRows": self.lines,
            "MaxW": w.max_w, "CmpW": w.cmp_w, "HitW": w.hit_w, "KeepBv": int(self.keep),
        }  # fmt: skip


SMALL = Size(8, 32, 2, Width(32, 16, 4), keep=True)
SIZES = [
    SMALL,
    regress(Size(16, 64, 4, Width(64, 8, 2))),
    regress(Size(32, 48, 1, Width(32, 32, 1))),
    regress(Size(4, 24, 3, Width(128, 16, 4), keep=True)),
]
FULL = Size(32, 512, 8, Width(), lines=512)


def bench(size: Size, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_encode",
        {
            "in_valid_i": 1, "in_number_i": 3, "in_layer_i": LAYER_BITS, "in_exchanged_i": 1,
            "in_uncached_i": 1, "write_valid_i": 1, "write_line_i": 9,
            "write_mask_i": GROUP_LINE, "write_data_i": 8 * GROUP_LINE, "read_valid_i": 1,
            "read_line_i": 9, "peek_layer_i": 3, "peek_index_i": 9, "peek_entry_i": 9,
            "peek_group_i": 5, "peek_slice_i": 9, "scan_valid_i": 1, "scan_line_i": 9,
            "scan_rows_i": 10, "scan_log2_i": 3, "index_ready_i": 1,
        },
        {
            "in_ready_o": 1, "done_o": 1, "clocks_o": sum(FIELDS), "read_ready_o": 1,
            "read_data_o": 8 * GROUP_LINE, "peek_place_o": 14, "peek_tuple_o": 9,
            "directory_o": DIRECTORY, "peek_bits_o": size.width.cmp_w, "scan_ready_o": 1,
            "index_valid_o": 1, "index_o": 5 * size.width.hit_w,
            "index_entry_o": 8 * size.width.hit_w,
        },
    )  # fmt: skip
    return Player(block, size.parameters, seed)


def number(row: np.ndarray) -> int:
    return int.from_bytes(np.atleast_1d(row).astype(np.uint32).tobytes(), "little")


def fields(word: int, widths: tuple[int, ...]) -> list[int]:
    """Fields of a packed struct, the first on top."""
    out: list[int] = []
    for width in reversed(widths):
        out.append(word & (1 << width) - 1)
        word >>= width
    return out[::-1]


def entries_of(rng: np.random.Generator, groups: np.ndarray, count: int) -> np.ndarray:
    """Random grouping entries whose greatest ones are these; some are tied with later ones."""
    out = rng.integers(-128, 120, (len(groups), count)).astype(np.int8)
    top = np.maximum(out.max(axis=1), rng.integers(-128, 127, len(groups)))
    for row, group in enumerate(groups):
        out[row, :group] = np.minimum(out[row, :group], top[row] - 1)
        if top[row] == -128:
            out[row], top[row] = -128, -127
        out[row, group] = top[row]
        if rng.random() < 0.3:
            out[row, group + int(rng.integers(count - group)) :] = top[row]
    assert np.array_equal(max_index(out), groups)
    return out


def load(sim: Player, line: int, entries: np.ndarray) -> None:
    """Write a grouping matrix."""
    count = -(-entries.size // GROUP_LINE)
    padded = np.zeros(count * GROUP_LINE, np.int8)
    padded[: entries.size] = entries.reshape(-1)
    sim.run(
        count, write_valid_i=np.ones(count), write_line_i=line + np.arange(count),
        write_mask_i=np.full((count, 4), 0xFFFFFFFF),
        write_data_i=padded.view(np.uint32).reshape(count, -1),
    )  # fmt: skip


@dataclass
class Measured:
    """What an encoding took: clocks from its start to its end, and of each step."""

    clocks: int
    steps: list[int]


def check(
    sim: Player,
    size: Size,
    layer: Layer,
    ig: np.ndarray,
    og: np.ndarray,
    number_of: int = 0,
    exchanged: bool = False,
    uncached: bool = False,
) -> Measured:
    """Encode groups that are loaded, and compare all that is kept."""
    found = encode(ig, og, layer.groups, size.width, not uncached, exchanged)
    steps = found.clocks
    overhead = GROUPED if layer.groups > 1 else DENSE
    streamed = og if exchanged else ig
    extra = -(-len(streamed) // size.width.hit_w) if uncached else 0
    clocks = steps.total + extra + overhead
    run = clocks + 4
    once = np.arange(run) == 0
    out = sim.run(
        run, in_valid_i=once, in_number_i=np.full(run, number_of),
        in_layer_i=words([layer_word(layer)] * run, LAYER_BITS),
        in_exchanged_i=np.full(run, exchanged), in_uncached_i=np.full(run, uncached),
    )  # fmt: skip
    assert out["in_ready_o"][0] == 1 and out["in_ready_o"][1 : clocks + 1].sum() == 0
    assert np.flatnonzero(out["done_o"]).tolist() == [clocks]
    got = fields(number(out["clocks_o"][clocks]), FIELDS)
    made = found.misses
    late = layer.groups - len(set(streamed.tolist()))
    assert got == [
        steps.max_index, steps.rows, steps.misses, steps.lists, made - late, made
    ]  # fmt: skip
    peek(sim, size, found, number_of, exchanged, layer)
    return Measured(clocks, got)


def peek(sim: Player, size: Size, found, number_of: int, exchanged: bool, layer: Layer) -> None:  # type: ignore[no-untyped-def]
    """Compare what is kept of a layer."""
    want = kept(found, exchanged)
    streamed = found.og if exchanged else found.ig
    compared = found.ig if exchanged else found.og
    count = max(len(want.places), len(want.tuples)) + 1
    at = np.minimum(np.arange(count), size.d_max - 1)
    cmp_w = size.width.cmp_w
    slices = -(-len(compared) // cmp_w)
    pairs = [(g, s) for g in range(layer.groups) for s in range(slices)]
    bits = np.array((pairs + [(0, 0)] * count)[: max(count, len(pairs) + 1)])
    count = len(bits)
    at = np.minimum(np.arange(count), size.d_max - 1)
    out = sim.run(
        count, peek_layer_i=np.full(count, number_of), peek_index_i=at, peek_entry_i=at,
        peek_group_i=bits[:, 0], peek_slice_i=bits[:, 1],
    )  # fmt: skip
    places = out["peek_place_o"][1 : 1 + len(streamed)]
    assert (places & 511).tolist() == want.places.tolist()
    assert (places >> 9).tolist() == streamed.tolist()
    assert out["peek_tuple_o"][1 : 1 + len(compared)].tolist() == want.tuples.tolist()
    word = number(out["directory_o"][0])
    rest = fields(word & (1 << 1280) - 1, (10,) * 128)
    columns, below, rows, base = (np.array(rest[32 * k : 32 * k + 32][::-1]) for k in (3, 2, 1, 0))
    g = layer.groups
    assert word >> 1280 == exchanged
    assert base[:g].tolist() == want.base.tolist()
    assert rows[:g].tolist() == np.diff(found.starts).tolist()
    assert columns[:g].tolist() == found.workload.tolist()
    assert below[:g].tolist() == [int(np.count_nonzero(m < layer.dx_from)) for m in found.row_lists]
    assert not rows[g:].any() and not columns[g:].any() and not below[g:].any()
    if size.keep:
        vectors = np.zeros((g, slices * cmp_w), bool)
        vectors[:, : len(compared)] = compared == np.arange(g)[:, None]
        got = out["peek_bits_o"].reshape(count, -1)[1 : 1 + len(pairs)]
        for (group, number_of_slice), row in zip(pairs, got, strict=True):
            part = vectors[group, number_of_slice * cmp_w : (number_of_slice + 1) * cmp_w]
            assert number(row) == sum(int(b) << k for k, b in enumerate(part))


def give(
    sim: Player, rng: np.random.Generator, ig: np.ndarray, og: np.ndarray, layer: Layer
) -> None:
    """Load matrices with these groups."""
    load(sim, layer.g_base, entries_of(rng, ig, layer.groups))
    load(sim, layer.g_base + layer.grouping[0], entries_of(rng, og, layer.groups))


@builds(lambda: bench(SMALL, 1))
def test_the_published_sequence_of_misses_and_hits(seed: int) -> None:
    """Figure 5 of the publication: rows of the groups 1, 2, 1, 3, 0, 2."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    ig, og = np.array([1, 2, 1, 3, 0, 2]), np.array([2, 0, 1, 0, 3, 1])
    layer = Layer(6, 6, 4)
    give(sim, rng, ig, og, layer)
    done = check(sim, SMALL, layer, ig, og)
    assert done.steps == [1, 2, 4, 2, 4, 4]  # four misses of six rows
    assert check(sim, SMALL, layer, ig, og, uncached=True).steps == [1, 0, 6, 0, 6, 6]


@builds(lambda: bench(SMALL, 1))
def test_all_hits_and_misses_of_a_clock(seed: int) -> None:
    """Four rows of groups of which any were seen before: all 16 patterns, and equal new ones."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    og = rng.integers(0, 8, 16)
    seen: set[tuple[bool, ...]] = set()
    for pattern in product(range(4), repeat=4):
        ig = np.array([0, 1, 0, 1, *pattern])
        if rng.random() > 0.25 and len(seen) == 16:
            continue
        seen.add(tuple(g < 2 for g in pattern))
        layer = Layer(8, 16, 8)
        give(sim, rng, ig, og, layer)
        check(sim, SMALL, layer, ig, og)
    assert len(seen) == 16


@builds(lambda size: bench(size, 1))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width.max_w}-{size.d_max}")
def test_encodings(size: Size, seed: int) -> None:
    """Random masks: every G, ties, groups without rows or columns, both encodings, NOCACHE."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    choices = [g for g in (1, 2, 4, 8, 16, 32) if g <= size.g_max]
    for _ in range(scale(150, 30)):
        g = int(rng.choice(choices))
        m, n = (int(x) for x in rng.integers(1, size.d_max + 1, 2))
        few = int(rng.integers(1, g + 1))
        ig, og = rng.integers(0, few, m), rng.integers(g - few, g, n)
        layer = Layer(m, n, g, g_base=int(rng.integers(0, 4)), dx_from=int(rng.integers(0, m)))
        if g > 1:
            give(sim, rng, ig, og, layer)
        check(
            sim, size, layer, ig, og, int(rng.integers(size.l_max)), bool(rng.integers(2)),
            rng.random() < 0.2,
        )  # fmt: skip


@builds(lambda: bench(SMALL, 1))
def test_layers_are_kept_side_by_side(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    layers = [Layer(32, 17, 4), Layer(9, 32, 8, g_base=6)]
    groups = []
    for number_of, layer in enumerate(layers):
        ig, og = rng.integers(0, layer.groups, layer.m), rng.integers(0, layer.groups, layer.n)
        give(sim, rng, ig, og, layer)
        check(sim, SMALL, layer, ig, og, number_of, exchanged=number_of == 1)
        groups.append((ig, og))
    for number_of, (layer, (ig, og)) in enumerate(zip(layers, groups, strict=True)):
        found = encode(ig, og, layer.groups, SMALL.width, exchanged=number_of == 1)
        peek(sim, SMALL, found, number_of, number_of == 1, layer)


@builds(lambda: bench(SMALL, 1))
def test_entries_are_read_back_and_written_one_by_one(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    lines = rng.integers(0, 1 << 32, (8, 32), np.uint32)
    sim.run(
        8, write_valid_i=np.ones(8), write_line_i=np.arange(8),
        write_mask_i=np.full((8, 4), 0xFFFFFFFF), write_data_i=lines,
    )  # fmt: skip
    sim.run(
        1, write_valid_i=np.ones(1), write_line_i=np.full(1, 3),
        write_mask_i=np.array([[0, 2, 0, 0]]), write_data_i=np.full((1, 32), 0x55555555),
    )  # fmt: skip
    lines.view(np.uint8)[3, 33] = 0x55
    out = sim.run(9, read_valid_i=np.arange(9) < 8, read_line_i=np.arange(9) % 8)
    assert out["read_ready_o"][:8].all() and np.array_equal(out["read_data_o"][1:], lines)


@builds(lambda size: bench(size, 1))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width.max_w}-{size.d_max}")
def test_the_optimizer_scans_beside_an_encoding(size: Size, seed: int) -> None:
    """Each gets the groups of its own scans; the optimizer its greatest entries, too."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    width = size.width
    for _ in range(scale(40, 6)):
        g = int(rng.choice([g for g in (2, 4, 8, 16, 32) if g <= size.g_max]))
        m, n = (int(x) for x in rng.integers(1, size.d_max + 1, 2))
        ig, og = rng.integers(0, g, m), rng.integers(0, g, n)
        layer = Layer(m, n, g)
        rows, columns = entries_of(rng, ig, g), entries_of(rng, og, g)
        load(sim, 0, rows)
        load(sim, layer.grouping[0], columns)
        run, tail = 200, 200
        asks = (np.arange(run + tail) < run) & (rng.random(run + tail) < rng.choice([0.1, 1]))
        takes = (np.arange(run + tail) >= run) | (rng.random(run + tail) < rng.choice([0.5, 1]))
        begin = np.arange(run + tail) == int(rng.integers(0, 40))
        count = run + tail
        out = sim.run(
            count, in_valid_i=begin, in_layer_i=words([layer_word(layer)] * count, LAYER_BITS),
            scan_valid_i=asks, scan_line_i=np.zeros(count), scan_rows_i=np.full(count, m),
            scan_log2_i=np.full(count, g.bit_length() - 1), index_ready_i=takes,
        )  # fmt: skip
        assert out["done_o"].sum() == 1
        peek(sim, size, encode(ig, og, g, width), 0, False, layer)
        scans = int((asks & out["scan_ready_o"].astype(bool)).sum())
        of_word = min(width.hit_w, width.max_w // g)
        want = [
            (ig[k : k + of_word].tolist(), rows.max(axis=1)[k : k + of_word].tolist())
            for k in range(0, m, of_word)
        ] * scans
        moved = np.flatnonzero(takes & out["index_valid_o"].astype(bool))
        assert scans and len(moved) == len(want)
        for at, (groups, greatest) in zip(moved, want, strict=True):
            index, entry = number(out["index_o"][at]), number(out["index_entry_o"][at])
            assert [index >> 5 * k & 31 for k in range(len(groups))] == groups
            got = [entry >> 8 * k & 255 for k in range(len(groups))]
            assert np.array(got, np.uint8).astype(np.int8).tolist() == greatest


# 128 x 512: clocks of max index, rows, misses and lists; weight compression by the model, mean of
# 12 masks; all of it without the row memory.
PUBLISHED = {
    2: (8, 32, 16, 32, 1116, 3080), 4: (16, 32, 32, 32, 667, 3088), 8: (32, 32, 64, 32, 515, 3104),
    16: (64, 32, 128, 32, 453, 3136), 32: (128, 32, 256, 32, 551, 3200),
}  # fmt: skip


@pytest.mark.regress
@builds(lambda: bench(FULL, 1))
def test_clocks_of_sparse_data_generation(seed: int) -> None:
    """A mask of 128 x 512 on the full build: 5.72 times fewer clocks are published."""
    sim, built, best = bench(FULL, seed), Build(), 0.0
    for groups, want in PUBLISHED.items():
        total = plain = 0
        for mask in range(12):
            rng = np.random.default_rng(mask)
            ig, og = rng.integers(0, groups, 128), rng.integers(0, groups, 512)
            layer = Layer(128, 512, groups)
            give(sim, rng, ig, og, layer)
            done = check(sim, FULL, layer, ig, og)
            assert tuple(done.steps[:4]) == want[:4]
            found = encode(ig, og, groups)
            cut = plan(found, built, 1).forward.windows
            total += done.clocks + line_clocks(found.row_lists, found.column_lists, cut) + OVERHEAD
            if mask == 0:
                plain = sum(check(sim, FULL, layer, ig, og, uncached=True).steps[:4])
        dense = -(-512 // built.lanes) * 128
        assert plain + dense == want[5]
        assert total / 12 == pytest.approx(want[4] + GROUPED + OVERHEAD, abs=1)
        best = max(best, (plain + dense) / (total / 12))
        print(f"G={groups}: {total / 12:.0f} clocks, {(plain + dense) / (total / 12):.2f} times")
    assert best >= 6.5


@builds(lambda: bench(SMALL, 1))
def test_a_reset_ends_an_encoding(seed: int) -> None:
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    ig, og = rng.integers(0, 8, 32), rng.integers(0, 8, 32)
    layer = Layer(32, 32, 8)
    give(sim, rng, ig, og, layer)
    for at in rng.integers(2, 40, scale(20, 5)):
        low = np.arange(at + 2) < at
        sim.run(
            len(low), in_valid_i=np.arange(len(low)) == 0, rst_ni=low,
            in_layer_i=words([layer_word(layer)] * len(low), LAYER_BITS),
        )  # fmt: skip
        check(sim, SMALL, layer, ig, og)
