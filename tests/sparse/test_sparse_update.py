"""UPD of a layer with its parameter memory, to the bit, against the golden model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds, regress
from models.sparse import optim
from models.sparse.formats import WORD_BANK, Layer, pitch
from models.sparse.optim import Rates
from models.sparse.osel import Encoding, encode
from models.sparse.plan import Build, Plan, PlanError, plan
from tests.sparse.test_sparse_opt import codes, numbers, random_rates
from verif.play import Block, Player
from verif.sparse.tables import (
    DW,
    LAYER_BITS,
    SETTINGS_BITS,
    TABLE_BITS,
    concat,
    layer_word,
    lines_before,
    lists_of,
    table_words,
    windows_of,
    words,
)

CORE = "jackdaw:engine:sparse_update"
NEURONS, BEAT_WORDS, BIAS_WORDS = 8, 16, 2048
WIN, GROWS, BUFFERS = 24, 1024, 4


@dataclass(frozen=True)
class Size:
    """A build; see jd_sparse_update.

    Attributes:
        cores, banks, lanes, slots: of the array.
        d_max: rows or columns; l_max: layers.
        opt: weights per clock.
        lines: of the parameter memory.
        clocks: of multiplier, adder, divider and root.
    """

    cores: int
    banks: int
    lanes: int
    slots: int
    d_max: int
    l_max: int
    opt: int
    lines: int
    clocks: tuple[int, int, int, int] = (3, 4, 16, 16)

    @property
    def build(self) -> Build:
        return Build(
            self.cores, self.banks, self.lanes, self.slots, 4, WIN, 1 << 14, GROWS, 1 << 14
        )

    @property
    def words(self) -> int:
        """Of gradients in a bank."""
        return GROWS * self.chunks

    @property
    def chunks(self) -> int:
        return -(-self.lanes // self.opt)

    @property
    def parameters(self) -> dict[str, int]:
        names = ("Mul32Latency", "Add32Latency", "DivLatency", "SqrtLatency")
        return {
            "Cores": self.cores, "Banks": self.banks, "Lanes": self.lanes, "DMax": self.d_max,
            "LMax": self.l_max, "WinMax": WIN, "GRows": GROWS, "OptLanes": self.opt,
            "PWords": self.lines * WORD_BANK, **dict(zip(names, self.clocks, strict=True)),
        }  # fmt: skip


SMALL = Size(3, 2, 9, 4, 132, 4, 3, 128)
SIZES = [
    SMALL,
    regress(Size(1, 3, 5, 2, 40, 1, 1, 64, (2, 1, 2, 2))),
    regress(Size(2, 8, 17, 4, 70, 2, 8, 256, (4, 6, 28, 28))),
    regress(Size(3, 1, 66, 4, 128, 1, 5, 512)),
    regress(Size(3, 4, 3, 4, 32, 8, 8, 64)),
]
FULL = Size(3, 8, 33, 4, 512, 1, 6, 2048)


def bench(size: Size, seed: int = 1) -> Player:
    block = Block(
        CORE, "jd_sparse_update_bench",
        {
            "put_i": 1, "put_weights_i": 1, "put_line_i": 12, "put_first_i": 6,
            "put_data_i": 32 * BEAT_WORDS, "get_i": 1, "get_weights_i": 1, "get_line_i": 12,
            "get_first_i": 6, "gather_i": 1, "gather_line_i": 12, "gradient_write_i": 1,
            "write_core_i": 2, "write_bank_i": 3,
            "write_layer_i": 3, "write_word_i": (size.words - 1).bit_length(),
            "write_gradient_i": 32 * size.opt, "sum_write_i": 1,
            "write_line_i": max(1, (-(-size.d_max // NEURONS) - 1).bit_length()),
            "write_sum_i": 32 * NEURONS, "bias_put_i": 1, "bias_word_i": 11, "bias_i": 64,
            "table_i": TABLE_BITS, "start_i": 1, "number_i": 3, "layer_i": LAYER_BITS, "row_i": 1,
            "settings_i": SETTINGS_BITS, "row_ready_i": 1, "column_ready_i": 1,
        },
        {
            "get_data_o": 32 * BEAT_WORDS, "gather_data_o": 2 * 32 * WORD_BANK, "bias_o": 64,
            "ready_o": 1, "done_o": 1,
            "row_valid_o": 1, "row_word_o": 12, "row_sum_o": 64, "column_valid_o": 1,
            "column_word_o": 12, "column_sum_o": 64,
        },
        sources=("verif/sparse/jd_sparse_update_bench.sv",),
    )  # fmt: skip
    return Player(block, size.parameters, seed)


def settings_word(rates: Rates, gscale: np.float32) -> int:
    """settings_t; agents and episodes are 0."""
    fields = (rates.lr, rates.alpha, rates.rest, rates.eps, gscale, rates.lr_group, np.float32(0))
    return concat(*((int(codes(np.array([x]))[0]), 32) for x in fields), (0, 24))


@dataclass(frozen=True)
class Case:
    """A layer with its plan, and where a bank has the gradients of which weight."""

    number: int
    layer: Layer
    encoding: Encoding
    plan: Plan
    before: list[Plan]

    def ranks(self, size: Size) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """Bank, gradient line and (lane, row, column) of each rank, segment by segment."""
        bases = lines_before(self.before, size.banks)[1].tolist()
        found, tr = self.plan.gradient, self.layer.tr
        windows = windows_of(self.encoding, self.plan, self.layer)[DW]
        rows, columns = lists_of(self.encoding)
        inner, outer = (columns, rows) if tr else (rows, columns)
        for (window, first), bank in zip(found.units, found.banks, strict=True):
            slots = windows[window]
            for rank in range(first, min(first + found.block, max(s.depth for s in slots))):
                lanes, lane = [], 0
                for slot in slots:
                    for k in range(slot.lanes if rank < slot.depth else 0):
                        a, b = int(inner[slot.first + rank]), int(outer[slot.produced + k])
                        lanes.append((lane + k, b, a) if tr else (lane + k, a, b))
                    lane += slot.lanes
                yield bank, bases[bank], lanes
                bases[bank] += 1

    def segments(self, size: Size) -> Iterator[tuple[int, int]]:
        """Lanes and clocks of each segment, a bank's ranks of a window.

        A chunk takes the clocks of its busiest bank of the parameter memory, one per weight. The
        sums of a rank's slots leave one per clock.
        """
        windows = windows_of(self.encoding, self.plan, self.layer)[DW]
        found = self.plan.gradient
        ranks = self.ranks(size)
        for (_, window), units in groupby(
            zip(found.banks, found.units, strict=True), key=lambda unit: (unit[0], unit[1][0])
        ):
            slots, clocks = windows[window], 0
            for _, (_, first) in units:
                for rank in range(first, min(first + found.block, max(s.depth for s in slots))):
                    _, _, lanes = next(ranks)
                    asked = np.zeros((lanes[-1][0] // size.opt + 1, WORD_BANK), int)
                    for lane, m, n in lanes:
                        asked[lane // size.opt, (m + n) % WORD_BANK] += 1
                    turns = int(np.maximum(asked.max(axis=1), 1).sum())
                    sums = sum(rank < s.depth for s in slots) if self.layer.groups > 1 else 0
                    clocks += max(turns, sums)
            yield sum(s.lanes for s in slots), clocks

    def clocks(self, size: Size) -> int:
        """Of the update, at most: segments load their lanes and give their sums under others."""
        mul, add, div, root = size.clocks
        product = 10 + (size.cores - 1) * add + 2 * mul + 4
        loaded, walked, given = 2 * size.banks, 0, [0] * BUFFERS
        for lanes, clocks in self.segments(size):
            loaded = max(loaded, given[-BUFFERS]) + lanes + 5
            walked = max(walked, loaded) + clocks
            given.append(max(given[-1], walked + product) + lanes)
        if self.layer.groups == 1:
            given = [0]
        return max(given[-1], walked + self.layer.n + product + mul + 3 * add + div + root) + 4


def selected(rng: np.random.Generator, count: int, groups: int) -> np.ndarray:
    """Groups of rows or columns, some without any; or neighbours in a group are 64 apart."""
    if rng.random() < 0.4:
        return np.minimum(np.arange(count) % WORD_BANK, groups - 1)
    some = rng.permutation(groups)[: int(rng.integers(1, groups + 1))]
    return rng.choice(some, count) if rng.random() < 0.3 else rng.integers(0, groups, count)


def any_layer(rng: np.random.Generator, size: Size, number: int, before: list[Plan]) -> Case:
    """A random layer that fits."""
    while True:
        m, n = (int(x) for x in rng.integers(1, size.d_max + 1, 2))
        groups = int(rng.choice([1, 2, 4, 8, 16]))
        used = m * pitch(n) // WORD_BANK
        if used > size.lines:
            continue
        layer = Layer(
            m, n, groups, tr=bool(rng.random() < 0.5), tiles=int(rng.integers(1, 9)),
            w_base=int(rng.integers(0, size.lines - used + 1)) * WORD_BANK,
            b_base=int(rng.integers(0, 2048 - n)), s_base=int(rng.integers(0, 4096 - m - n)),
        )  # fmt: skip
        found = encode(selected(rng, m, groups), selected(rng, n, groups), groups)
        try:
            made = plan(
                found, size.build, layer.tiles, exchanged=layer.tr, plain=bool(rng.random() < 0.2)
            )
        except PlanError:
            continue
        case = Case(number, layer, found, made, before)
        if lines_before([*before, made], size.banks)[1].max() <= GROWS:
            return case


class Memories:
    """What the bench's memories have of a layer.

    Attributes:
        grads: [cores, M, N] float32; sums: [cores, N], of the biases.
        w, v: [M, N] float32; bias, bias_v: [N].
        others: [BIAS_WORDS, 2] codes of the bias memory, of other layers.
    """

    def __init__(
        self, sim: Player, size: Size, case: Case, rng: np.random.Generator, wild: bool
    ) -> None:
        self.sim, self.size, self.case = sim, size, case
        m, n = case.layer.m, case.layer.n
        self.w, self.v = self._any(rng, (m, n), wild), np.abs(self._any(rng, (m, n), wild))
        self.bias, self.bias_v = self._any(rng, (n,), wild), np.abs(self._any(rng, (n,), wild))
        self.grads = self._any(rng, (size.cores, m, n), wild)
        self.sums = self._any(rng, (size.cores, n), wild)
        self._put(True, self.w)
        self._put(False, self.v)
        self._put_gradients(rng)
        self._put_biases(rng)

    @staticmethod
    def _any(rng: np.random.Generator, shape: tuple[int, ...], wild: bool) -> np.ndarray:
        if wild:
            return numbers(rng, int(np.prod(shape))).reshape(shape)
        return rng.standard_normal(shape).astype(np.float32)

    def _beats(self) -> tuple[np.ndarray, np.ndarray]:
        """Line and first bank of each beat, row by row."""
        layer = self.case.layer
        rows = np.repeat(np.arange(layer.m), pitch(layer.n) // BEAT_WORDS)
        first = np.tile(np.arange(0, pitch(layer.n), BEAT_WORDS), layer.m)
        lines = (layer.w_base + rows * pitch(layer.n) + first) // WORD_BANK
        return lines, (rows + first) % WORD_BANK

    def _put(self, weights: bool, values: np.ndarray) -> None:
        layer = self.case.layer
        full = np.zeros((layer.m, pitch(layer.n)), np.float32)
        full[:, : layer.n] = values
        lines, first = self._beats()
        count = len(lines)
        self.sim.run(
            count, put_i=np.ones(count), put_weights_i=np.full(count, weights), put_line_i=lines,
            put_first_i=first, put_data_i=codes(full).reshape(count, BEAT_WORDS),
        )  # fmt: skip

    def get(self, weights: bool) -> np.ndarray:
        """[M, N] words that the parameter memory has."""
        layer = self.case.layer
        lines, first = self._beats()
        count = len(lines) + 2
        pad = np.zeros(2, int)
        out = self.sim.run(
            count, get_i=np.arange(count) < len(lines), get_weights_i=np.full(count, weights),
            get_line_i=np.concatenate([lines, pad]), get_first_i=np.concatenate([first, pad]),
        )["get_data_o"][2:]  # fmt: skip
        return np.ascontiguousarray(out).reshape(layer.m, pitch(layer.n))[:, : layer.n]

    def _put_gradients(self, rng: np.random.Generator) -> None:
        """Gradients of the mask; lanes without one have rubbish."""
        size = self.size
        for core in range(size.cores):
            kept: dict[tuple[int, int], np.ndarray] = {}
            for bank, line, lanes in self.case.ranks(size):
                for chunk in range(size.chunks):
                    rubbish = rng.integers(0, 1 << 32, size.opt, dtype=np.uint32)
                    kept[bank, line * size.chunks + chunk] = rubbish
                for lane, m, n in lanes:
                    chunk, place = divmod(lane, size.opt)
                    word = kept[bank, line * size.chunks + chunk]
                    word[place] = codes(self.grads[core, m, n][None])[0]
            count = len(kept)
            if not count:  # the mask is empty
                return
            places = np.array(list(kept))
            self.sim.run(
                count, gradient_write_i=np.ones(count), write_core_i=np.full(count, core),
                write_bank_i=places[:, 0], write_word_i=places[:, 1],
                write_layer_i=np.full(count, self.case.number),
                write_gradient_i=np.array(list(kept.values())),
            )  # fmt: skip

    def _put_biases(self, rng: np.random.Generator) -> None:
        layer, size = self.case.layer, self.size
        lines = -(-layer.n // NEURONS)
        for core in range(size.cores):
            full = rng.integers(0, 1 << 32, lines * NEURONS, dtype=np.uint32)
            full[: layer.n] = codes(self.sums[core])
            self.sim.run(
                lines, sum_write_i=np.ones(lines), write_core_i=np.full(lines, core),
                write_layer_i=np.full(lines, self.case.number), write_line_i=np.arange(lines),
                write_sum_i=full.reshape(lines, NEURONS),
            )  # fmt: skip
        self.others = rng.integers(0, 1 << 32, (BIAS_WORDS, 2), dtype=np.uint32)
        self.sim.run(
            BIAS_WORDS, bias_put_i=np.ones(BIAS_WORDS), bias_word_i=np.arange(BIAS_WORDS),
            bias_i=self._all_biases(),
        )  # fmt: skip

    def _all_biases(self) -> np.ndarray:
        """[BIAS_WORDS, 2] codes: those of the layer among others."""
        layer, every = self.case.layer, self.others.copy()
        own = np.stack([codes(self.bias), codes(self.bias_v)], axis=1)
        every[layer.b_base : layer.b_base + layer.n] = own
        return every

    def update(self, row: bool, rates: Rates, gscale: np.float32) -> tuple[np.ndarray, np.ndarray]:
        """By the model. Returns: sums of the rows and of the columns, int64."""
        mask = self.case.encoding.mask
        cores = 1 if row else self.size.cores
        with np.errstate(all="ignore"):
            g = optim.scaled(list(self.grads), gscale)
            products = np.where(mask, optim.products(self.w, g), 0)
            w, v = optim.rmsprop(self.w, self.v, g, rates)
            b = optim.scaled(list(self.sums[:cores]), gscale)
            self.bias, self.bias_v = optim.rmsprop(self.bias, self.bias_v, b, rates)
        self.w, self.v = np.where(mask, w, self.w), np.where(mask, v, self.v)
        if self.case.layer.groups == 1:
            products[:] = 0
        return products.sum(axis=1), products.sum(axis=0)

    def gather(self) -> np.ndarray:
        """[2, M, N] words that the copies of the weights have."""
        layer = self.case.layer
        blocks = pitch(layer.n) // WORD_BANK
        count = layer.m * blocks + 1
        lines = np.minimum(layer.w_base // WORD_BANK + np.arange(count), self.size.lines - 1)
        out = self.sim.run(count, gather_i=np.ones(count), gather_line_i=lines)["gather_data_o"]
        found = out[1:].reshape(layer.m, blocks, 2, WORD_BANK)
        for m in range(layer.m):
            found[m] = np.roll(found[m], -m, axis=-1)
        return np.moveaxis(found, 2, 0).reshape(2, layer.m, -1)[:, :, : layer.n]

    def compare(self) -> None:
        sim = self.sim
        for copy in self.gather():
            assert np.array_equal(copy, codes(self.w))
        assert np.array_equal(self.get(True), codes(self.w))
        assert np.array_equal(self.get(False), codes(self.v))
        out = sim.run(BIAS_WORDS, bias_word_i=np.arange(BIAS_WORDS))["bias_o"]
        assert np.array_equal(out, self._all_biases())

    def tell(self) -> None:
        """The tables of the planner."""
        case = self.case
        table = table_words(
            case.number, case.encoding, case.plan, case.layer, self.size.banks, case.before
        )
        self.sim.run(len(table), table_i=words(table, TABLE_BITS))

    def run(
        self, row: bool, rates: Rates, gscale: np.float32, rng: np.random.Generator,
        ready: float = 1.0, most: int = 0,
    ) -> tuple[int, np.ndarray, np.ndarray]:  # fmt: skip
        """UPD of the layer; what the model does not write must stay.

        Args:
            row, rates, gscale: of the update.
            rng: of the ready signals.
            ready: how often sums are taken.
            most: clocks, at most; 0: until it is done.
        Returns: clocks, and the sums of the rows and of the columns, int64.
        """
        layer, case = self.case.layer, self.case
        sums = np.zeros(layer.m, np.int64), np.zeros(layer.n, np.int64)
        bases = layer.s_base, layer.s_base + layer.m
        held = words([settings_word(rates, gscale)], SETTINGS_BITS)
        clocks, done = 0, False
        while not done and (not most or clocks < most):
            assert clocks < 400_000, "no end"
            count = most or 400
            takes = [rng.random(count) < ready for _ in range(2)]
            start = np.zeros(count, bool)
            start[0] = clocks == 0
            out = self.sim.run(
                count, start_i=start, number_i=np.full(count, case.number),
                layer_i=words([layer_word(layer)] * count, LAYER_BITS),
                row_i=np.full(count, row), settings_i=np.repeat(held, count, axis=0),
                row_ready_i=takes[0], column_ready_i=takes[1],
                write_layer_i=np.full(count, case.number),
            )  # fmt: skip
            for take, name, total, base in zip(takes, ("row", "column"), sums, bases, strict=True):
                moved = np.flatnonzero(take & out[f"{name}_valid_o"].astype(bool))
                given = out[f"{name}_sum_o"][moved].copy().view(np.int64)[:, 0]
                idx = out[f"{name}_word_o"][moved].astype(np.int64) - base
                np.add.at(total, idx, given)
            ends = np.flatnonzero(out["done_o"])
            assert len(ends) <= 1
            done = len(ends) == 1
            if done:
                assert out["ready_o"][ends[0] + 1 :].all()
                for name in ("row", "column"):
                    assert not out[f"{name}_valid_o"][ends[0] :].any()
                clocks += int(ends[0])
            else:
                clocks += count
        return clocks, *sums


def check_update(sim: Player, rng: np.random.Generator, case: Case) -> None:
    """Update a layer of the small build, and compare all that it changes."""
    memories = Memories(sim, SMALL, case, rng, wild=False)
    memories.tell()
    rates = random_rates(rng)
    _, *sums = memories.run(False, rates, np.float32(1), rng)
    for got, wanted in zip(sums, memories.update(False, rates, np.float32(1)), strict=True):
        assert np.array_equal(got, wanted)
    memories.compare()


@builds(bench)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s.cores}x{s.banks}x{s.lanes}by{s.opt}")
def test_sparse_update(size: Size, seed: int) -> None:
    """Random masks, ROW or not, with and without back-pressure; layers below move the lines."""
    sim, rng = bench(size, seed), np.random.default_rng(seed)
    for _ in range(scale(25, 3)):
        before: list[Plan] = []
        number = int(rng.integers(size.l_max))
        if number and rng.random() < 0.5:
            before.append(any_layer(rng, size, 0, []).plan)
        case = any_layer(rng, size, number, before)
        memories = Memories(sim, size, case, rng, wild=bool(rng.random() < 0.5))
        memories.tell()
        for row in (False, True):
            rates = random_rates(rng)
            gscale = np.float32(2.0 ** rng.integers(-12, 2))
            ready = 0.05 if row else float(rng.choice([1, 0.5]))
            _, *sums = memories.run(row, rates, gscale, rng, ready)
            want = memories.update(row, rates, gscale)
            for got, wanted in zip(sums, want, strict=True):
                assert np.array_equal(got, wanted)
            memories.compare()


@builds(lambda: bench(SMALL))
def test_windows_without_ranks_are_passed(seed: int) -> None:
    """Groups that have columns alone fill windows between two segments of a bank."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    ig, og = np.repeat([0, 3], [8, 60]), np.repeat([0, 1, 3], [9, 30, 9])
    layer = Layer(len(ig), len(og), 4, tiles=2)
    found = encode(ig, og, 4)
    case = Case(0, layer, found, plan(found, SMALL.build, layer.tiles, plain=True), [])
    made = case.plan.gradient
    of_bank_0 = {
        window for (window, _), bank in zip(made.units, made.banks, strict=True) if not bank
    }
    assert any(not made.windows[k].depth for k in range(min(of_bank_0), max(of_bank_0)))
    check_update(sim, rng, case)


@builds(lambda: bench(SMALL))
@pytest.mark.parametrize("columns", [1, 0], ids=["one bank", "no bank"])
def test_banks_without_gradients(columns: int, seed: int) -> None:
    """A mask of one unit, which one bank has, and a mask without a weight."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    ig, og = np.zeros(4, int), np.array([0] * columns + [1] * 6)
    layer = Layer(len(ig), len(og), 2)
    found = encode(ig, og, 2)
    case = Case(0, layer, found, plan(found, SMALL.build, layer.tiles), [])
    assert len(case.plan.gradient.units) == columns
    check_update(sim, rng, case)


@builds(lambda: bench(SMALL))
def test_sparse_update_clocks(seed: int) -> None:
    """An update takes the clocks of its turns, its biases, a load and an end."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    for _ in range(scale(60, 8)):
        case = any_layer(rng, SMALL, 0, [])
        memories = Memories(sim, SMALL, case, rng, wild=False)
        memories.tell()
        clocks, *_ = memories.run(False, random_rates(rng), np.float32(1), rng)
        assert clocks <= case.clocks(SMALL), (clocks, case.clocks(SMALL), case.layer)


@builds(lambda: bench(SMALL))
def test_a_reset_ends_an_update(seed: int) -> None:
    """In any clock; no word is written afterwards, and the next update is right."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    for _ in range(scale(30, 4)):
        case = any_layer(rng, SMALL, 0, [])
        Memories(sim, SMALL, case, rng, wild=False).tell()
        memories = Memories(sim, SMALL, case, rng, wild=False)
        most = int(rng.integers(2, case.clocks(SMALL)))
        memories.run(False, random_rates(rng), np.float32(1), rng, most=most)
        sim.run(2, rst_ni=np.zeros(2))
        out = sim.run(1)
        assert out["ready_o"][0] and not out["row_valid_o"][0] and not out["column_valid_o"][0]
        memories = Memories(sim, SMALL, case, rng, wild=False)
        rates = random_rates(rng)
        _, *sums = memories.run(False, rates, np.float32(1), rng)
        for got, wanted in zip(sums, memories.update(False, rates, np.float32(1)), strict=True):
            assert np.array_equal(got, wanted)
        memories.compare()


@builds(lambda: bench(SMALL))
@pytest.mark.parametrize("other", ["get_i", "put_i", "gather_i"])
def test_an_update_has_the_memory_alone(other: str, seed: int) -> None:
    """An image or a compression under an update is reported."""
    sim, rng = bench(SMALL, seed), np.random.default_rng(seed)
    case = any_layer(rng, SMALL, 0, [])
    while case.encoding.nnz < 400:  # still at work after 60 clocks
        case = any_layer(rng, SMALL, 0, [])
    memories = Memories(sim, SMALL, case, rng, wild=False)
    memories.tell()
    memories.run(False, random_rates(rng), np.float32(1), rng, most=60)
    with pytest.raises(CheckFailed, match="UpdateAlone"):
        sim.run(20, **{other: np.ones(20)})


@pytest.mark.regress
@builds(lambda: bench(FULL))
@pytest.mark.parametrize("groups", [1, 4, 16, 32])
def test_update_of_the_published_layer(groups: int, seed: int) -> None:
    """The LSTM layer on the full build: clocks beside those of the weights alone."""
    sim, rng = bench(FULL, seed), np.random.default_rng(seed)
    m, n = 256, 512
    found = encode(rng.integers(0, groups, m), rng.integers(0, groups, n), groups)
    layer = Layer(m, n, groups, tiles=8)
    case = Case(0, layer, found, plan(found, FULL.build, 8), [])
    memories = Memories(sim, FULL, case, rng, wild=False)
    memories.tell()
    rates, gscale = random_rates(rng), np.float32(2.0**-10)
    clocks, *sums = memories.run(False, rates, gscale, rng)
    for got, wanted in zip(sums, memories.update(False, rates, gscale), strict=True):
        assert np.array_equal(got, wanted)
    memories.compare()
    ideal = -(-found.nnz // FULL.opt)
    print(f"G={groups}: {found.nnz} weights, {n} biases: {clocks} clocks; {ideal} + {n} at best")
    assert clocks <= case.clocks(FULL)
