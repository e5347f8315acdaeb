"""The array, accumulator and output stage of a core, to the bit and to the clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds
from models.qat import array, ops
from verif.qat.array import ACC, ENTRIES, LW, SUM, WORD, Table, bench, unpack

TILES = scale(300, 40)
pytestmark = builds(lambda: bench(1))
ENDS = np.array(
    [0, 1, -1, (1 << 31) - 1, -(1 << 31), 0xFFFF, -0xFFFF, 0x8000, -0x8000, 0x7FFF8000, -0x7FFF8000,
     0x7FFF, 0x8000FFFF - (1 << 32)]
)  # fmt: skip
SUMS, DRAIN, ACCUMULATED, WIDE, LINE = 7, 4, 2, 4, 6  # clocks


def numbers(rng: np.random.Generator, *shape: int, ends: float = 0.4) -> np.ndarray:
    """Words, some of them special."""
    some = rng.integers(-(1 << 31), 1 << 31, shape) >> rng.integers(0, 31, shape)
    return np.where(rng.random(shape) < ends, rng.choice(ENDS, shape), some)


# ---- Elements and array
@dataclass(frozen=True)
class Tile:
    """A tile of the array.

    Attributes:
        kind: fw, dx or dw.
        half: two vectors an entry.
        rows: lines that are loaded, or drained.
        start: clock of its first entry.
        entries: clocks from there in which entries come.
        gaps: entries do not come in each clock.
    """

    kind: str
    half: bool
    rows: int
    start: int
    clocks: tuple[int, ...]


def tiles(rng: np.random.Generator, count: int) -> Iterator[Tile]:
    """Tiles as close as they may be, and not."""
    clock, drained = LW, 0
    for _ in range(count):
        kind = str(rng.choice(["fw", "dx", "dw"]))
        rows = int(rng.integers(1, LW + 1)) if rng.random() < 0.5 else LW
        number = int(rng.choice([1, 2, LW, LW + 1, 7]))
        period = max(rows, number) if kind != "dw" else max(LW, number)
        if kind == "dw":
            number = max(1, number)
        if kind != "dw":
            clock += rows  # its weights; the next start leaves them the time
        clock += int(rng.integers(0, 5)) if rng.random() < 0.3 else 0
        at = clock + np.arange(number)
        if rng.random() < 0.2:
            at = clock + np.sort(rng.choice(2 * number, number, replace=False))
            at -= at[0] - clock
        if kind == "dw":  # its close must be LW after the one before
            at += max(0, drained + LW - int(at[-1]))
            drained = int(at[-1])
        yield Tile(kind, kind != "dx" and bool(rng.random() < 0.5), rows, int(at[0]),
                   tuple(int(c) for c in at))  # fmt: skip
        clock = int(at[-1]) + 1
    del period


def test_qat_array(seed: int) -> None:
    """Tiles of all kinds and modes in a row; each column sum and each drained column."""
    rng = np.random.default_rng([seed, 1])
    plan = list(tiles(rng, TILES))
    table = Table(plan[-1].clocks[-1] + 4 * LW)
    sums: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    drained: dict[int, tuple[int, np.ndarray, np.ndarray]] = {}
    seen = set()
    for before, tile in zip([None, *plan], plan, strict=False):
        gradient, by_row = tile.kind == "dw", tile.kind == "dx"
        if not gradient:
            lines = numbers(rng, tile.rows, LW)
            first = tile.start - tile.rows
            if before is not None and before.kind != "dw" and rng.random() < 0.5:
                first = max(first - 3, before.start)  # under the tile before, from its start on
            for k, line in enumerate(lines):
                table.set(first + k, load_valid_i=1, load_by_row_i=by_row, load_index_i=k,
                          load_opens_i=k == 0, load_line_i=line)  # fmt: skip
            weights = np.zeros((LW, LW), np.int64)
            weights[: tile.rows] = lines
            weights = weights.T if by_row else weights  # [column, row]
        low = high = np.zeros((LW, LW), np.int64)
        for index, clock in enumerate(tile.clocks):
            row = numbers(rng, LW)
            closes = clock == tile.clocks[-1]
            table.set(
                clock, entry_valid_i=1, entry_swap_i=not gradient and index == 0,
                entry_half_i=tile.half, entry_gradient_i=gradient, entry_opens_i=index == 0,
                entry_closes_i=closes, entry_row_i=row,
            )  # fmt: skip
            seen.add((tile.kind, tile.half, tile.rows == LW, len(tile.clocks) == 1))
            if gradient:
                even = numbers(rng, LW)
                odd = numbers(rng, LW) if tile.half else even
                table.set(clock, entry_column_i=np.stack([even, odd]), drain_rows_i=tile.rows)
                more = array.gradient_lanes(even[None], odd[None], row[None], tile.half)
                low, high = low + more[0], high + more[1]
            else:
                found = array.lanes(weights, row[None], tile.half)
                sums[clock + SUMS] = (found[0][0], found[1][0])
                if not tile.half:
                    whole = (found[1] << 16) + found[0]
                    exact = [sum(int(w) * int(x) for w, x in zip(c, row, strict=True))
                             for c in weights]  # fmt: skip
                    if max(map(abs, exact)) < 1 << 62:
                        assert whole[0].tolist() == exact
        if gradient:
            for k in range(tile.rows):
                drained[tile.clocks[-1] + DRAIN + k] = (k, low[k], high[k])
    with bench(seed) as sim:
        out = table.run(sim)
    assert np.flatnonzero(out["sums_valid_o"]).tolist() == sorted(sums)
    at = np.array(sorted(sums))
    for lane, name in enumerate(("sums_low_o", "sums_high_o")):
        want = np.stack([sums[clock][lane] for clock in at])
        np.testing.assert_array_equal(unpack(out[name][at], SUM, LW), want, name)
    at = np.array(sorted(drained))
    assert np.flatnonzero(out["drain_valid_o"]).tolist() == at.tolist()
    got = unpack(out["drain_o"][at], ACC, 2 * LW).reshape(-1, LW, 2)
    for k, clock in enumerate(at):
        index, low, high = drained[int(clock)]
        assert out["drain_index_o"][clock] == index
        np.testing.assert_array_equal(got[k], np.stack([low, high], 1), f"column in clock {clock}")
    missed = {(kind, half, whole, alone)
              for kind in ("fw", "dx", "dw") for half in (False, True) for whole in (False, True)
              for alone in (False, True) if not (half and kind == "dx")} - seen  # fmt: skip
    assert not missed or scale(300, 40) < 100, f"never: {missed}"


def test_qat_array_closes_too_early(seed: int) -> None:
    table = Table(20)
    for clock in (2, 4):
        table.set(clock, entry_valid_i=1, entry_gradient_i=1, entry_opens_i=1, entry_closes_i=1,
                  drain_rows_i=LW)  # fmt: skip
    with bench(seed) as sim, pytest.raises(CheckFailed) as found:
        table.run(sim)
    assert found.value.name == "Drained_A"


# ---- Accumulator
def test_qat_accum(seed: int) -> None:
    """Entries again after any number of clocks, also the next."""
    rng = np.random.default_rng([seed, 2])
    count = scale(6000, 1000)
    table = Table(count + 8)
    held: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    want: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    written: dict[int, int] = {}
    distances: dict[int, int] = defaultdict(int)
    index = 0
    for clock in range(1, count):
        if rng.random() < 0.15:
            continue
        if rng.random() < 0.6:
            index = int(rng.integers(0, ENTRIES))
        first = index not in held or rng.random() < 0.1
        last = bool(rng.random() < 0.3)
        low, high = (rng.integers(-(1 << SUM - 1), 1 << SUM - 1, LW) for _ in range(2))
        table.set(clock, ahead_valid_i=1, ahead_index_i=index, ahead_first_i=first,
                  ahead_last_i=last)  # fmt: skip
        table.set(clock + 1, accum_low_i=low, accum_high_i=high)
        if not first:
            distances[clock - written[index]] += 1
            low, high = low + held[index][0], high + held[index][1]
        if last:
            want[clock + ACCUMULATED] = (low, high)
            held.pop(index, None)
        else:
            held[index], written[index] = (low, high), clock
    assert all(distances[k] for k in (1, 2, 3, 4)), dict(distances)
    with bench(seed) as sim:
        out = table.run(sim)
    at = np.array(sorted(want))
    assert np.flatnonzero(out["accum_valid_o"]).tolist() == at.tolist()
    for lane, name in enumerate(("accum_low_o", "accum_high_o")):
        expected = np.stack([want[clock][lane] for clock in at])
        np.testing.assert_array_equal(unpack(out[name][at], ACC, LW), expected, name)


# ---- Output stage
def finishes(rng: np.random.Generator) -> Iterator[array.Finish]:
    """Each shift of each mode, then at random."""
    for shift in range(17):
        for relu in (False, True):
            base = array.Finish(True, True, False, relu, True, 16 - shift, 0, LW)
            for down in range(17):
                yield replace(base, down=down, odd=bool(rng.random() < 0.8))
    while True:
        half = bool(rng.random() < 0.4)
        delta = not half and bool(rng.random() < 0.4)
        words = int(rng.integers(1, LW + 1))
        yield array.Finish(
            half, half and bool(rng.random() < 0.7), delta, bool(rng.random() < 0.5),
            half and bool(rng.random() < 0.7), int(rng.integers(0, 17)) if half else 0,
            int(rng.integers(0, 17)), words,
            int(rng.integers(0, words)) if delta and rng.random() < 0.5 else 0,
        )  # fmt: skip


def sums_for(rng: np.random.Generator, f: array.Finish) -> tuple[np.ndarray, np.ndarray]:
    """Sums of all sizes, about ties, and about both ends of a word."""
    size = rng.integers(20, 58, (2, LW))
    free = rng.integers(-(1 << 57), 1 << 57, (2, LW)) >> (58 - size)
    shift = 8 + f.up
    place = rng.choice([-(1 << 31) - 1, -(1 << 31), (1 << 31) - 1, 1 << 31, -1, 0, 1], (2, LW))
    near = (place << shift) + rng.choice([-1, 0, 1], (2, LW)) + (rng.integers(0, 2) << shift - 1)
    x = np.where(rng.random((2, LW)) < 0.5, free, near)
    if not f.half:  # low is what its upper bits leave of the sum
        low = rng.integers(-(1 << 57), 1 << 57, LW) >> rng.integers(0, 40, LW)
        x = np.stack([low, np.clip(x[1], -(1 << 56), 1 << 56) - (low >> 16)])
    return x[0], x[1]


def test_qat_out(seed: int) -> None:
    """Modes, functions, shifts and both saturations."""
    rng = np.random.default_rng([seed, 3])
    count = scale(6000, 1200)
    table = Table(count + LINE + 1)
    want = {}
    bins: dict[str, int] = defaultdict(int)
    for clock, f in zip(range(1, count), finishes(rng), strict=False):
        if rng.random() < 0.1:
            continue
        wide = not f.quantize and bool(rng.random() < 0.5)
        low, high = sums_for(rng, f)
        bias, positive = numbers(rng, LW), rng.random(LW) < 0.5
        table.set(
            clock, in_valid_i=1, in_half_i=f.half, in_odd_i=f.odd, in_delta_i=f.delta,
            in_relu_i=f.relu, in_wide_i=wide, in_quantize_i=f.quantize, in_up_i=f.up,
            in_down_i=f.down, in_words_i=f.words, in_word_i=f.word, in_bias_i=bias,
            in_low_i=low, in_high_i=high,
        )  # fmt: skip
        table.set(clock + WIDE, in_positive_i=positive)
        found = array.finish(f, low, high, bias, positive)
        want[clock] = (wide, f.quantize, *found)
        kind = "delta" if f.delta else "half" if f.half else "full"
        for name in (
            kind,
            f"{kind} relu {f.relu}",
            f"{kind} saturated {bool(found[2])}",
            f"quantized {f.quantize} saturated {bool(found[3])}",
            f"wide {wide} delta {f.delta}",
        ):
            bins[name] += 1
    assert len(bins) == 3 + 6 + 6 + 3 + 4 and min(bins.values()) >= 3, dict(bins)
    with bench(seed) as sim:
        out = table.run(sim)
    wide_at = [clock + WIDE for clock, w in want.items() if w[0]]
    line_at = [clock + LINE for clock, w in want.items() if not w[0]]
    assert np.flatnonzero(out["wide_valid_o"]).tolist() == wide_at
    assert np.flatnonzero(out["line_valid_o"]).tolist() == line_at
    wides = unpack(out["wide_data_o"], WORD, 2 * LW).reshape(-1, 2, LW)
    lines = unpack(out["line_data_o"], WORD, LW)
    over = np.zeros((2, table.clocks), np.int64)
    for clock, (wide, _, values, line, z, quantized) in want.items():
        if wide:
            got = wides[clock + WIDE]
            np.testing.assert_array_equal(got[: 1 + bool(values[1].any())],
                                          values[: 1 + bool(values[1].any())])  # fmt: skip
        else:
            np.testing.assert_array_equal(lines[clock + LINE], line, f"clock {clock}")
        over[0, clock + WIDE] = z
        over[1, clock + LINE] = quantized
    np.testing.assert_array_equal(out["over_z_o"], over[0])
    np.testing.assert_array_equal(out["over_quantized_o"], over[1])


def test_qat_out_is_a_layer(seed: int) -> None:
    """The output stage's function and the array's make a layer of the golden model."""
    rng = np.random.default_rng([seed, 4])
    w, bias = rng.integers(-(1 << 24), 1 << 24, (LW, 3 * LW)), numbers(rng, LW)
    for shift in (None, 0, 5, 16):
        half = shift is not None
        x = rng.integers(-(1 << 15), 1 << 15, (6, 3 * LW)) << (0 if half else 3)
        line = array.pair(x[0::2], x[1::2]) if half else x
        low, high = array.lanes(w, line, half)
        f = array.Finish(half, half, False, True, False, 0 if shift is None else 16 - shift, 0, LW)
        got = [array.finish(f, a, b, bias, np.ones(LW, bool))[0] for a, b in
               zip(low, high, strict=True)]  # fmt: skip
        want = ops.activate(ops.forward(x, w, bias, shift)[0], ops.RELU)
        found = np.concatenate([g if half else g[:1] for g in got])
        np.testing.assert_array_equal(found, want)
