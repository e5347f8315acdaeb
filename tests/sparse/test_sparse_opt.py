"""The optimizer, to the bit, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.replay.rng import Xoshiro
from models.sparse import optim
from models.sparse.formats import GROUP_LINE, Layer
from models.sparse.optim import Rates
from models.sparse.osel import Width, encode, max_index
from tests.sparse.test_sparse_osel import DIRECTORY, Size, load, peek
from verif.play import Block, Player
from verif.sparse.tables import LAYER_BITS, concat, layer_word, words

CORE = "jackdaw:engine:sparse_update"
STATES = 16  # of jd_sparse_sums alone
SETTINGS_BITS = 7 * 32 + 8 + 16
LATENCIES = [(3, 4, 16, 16), regress(1, 1, 2, 2)]  # of multiplier, adder, divider, root


def rmsprop_bench(mul: int, add: int, div: int, root: int, seed: int = 1) -> Player:
    block = Block(
        CORE, "jd_sparse_rmsprop",
        {
            "rate_i": 32, "alpha_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "value_i": 32,
            "square_i": 32, "gradient_i": 32,
        },
        {"valid_o": 1, "value_o": 32, "square_o": 32, "step_o": 32},
    )  # fmt: skip
    parameters = {"MulLatency": mul, "AddLatency": add, "DivLatency": div, "SqrtLatency": root}
    return Player(block, parameters, seed)


def regroup_bench(mul: int, add: int, div: int, root: int, seed: int = 1) -> Player:
    block = Block(
        CORE, "jd_sparse_regroup",
        {
            "rate_i": 32, "alpha_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "sum_i": 64,
            "square_i": 32, "entry_i": 8, "drawn_i": 16,
        },
        {"valid_o": 1, "entry_o": 8, "square_o": 32},
    )  # fmt: skip
    parameters = {"MulLatency": mul, "AddLatency": add, "DivLatency": div, "SqrtLatency": root}
    return Player(block, parameters, seed)


def numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """[count] float32 of many sizes, some of any class."""
    near = rng.standard_normal(count) * 2.0 ** rng.integers(-40, 20, count)
    special = np.array([0, -0.0, 1e-45, -1e-40, 3e38, np.inf, -np.inf, np.nan], np.float32)
    return np.where(rng.random(count) < 0.05, rng.choice(special, count), near).astype(np.float32)


def random_rates(rng: np.random.Generator) -> Rates:
    alpha = np.float32(rng.uniform(0.9, 1))
    return Rates(
        np.float32(10 ** rng.uniform(-5, 0)), alpha, np.float32(1 - alpha),
        np.float32(10 ** rng.uniform(-9, -2)), np.float32(10 ** rng.uniform(-4, 1.5)),
    )  # fmt: skip


def held(rates: Rates, rate: np.float32, clocks: int) -> dict[str, np.ndarray]:
    """The rates as inputs, `rate` the learning rate."""
    names = {"rate_i": rate, "alpha_i": rates.alpha, "rest_i": rates.rest, "eps_i": rates.eps}
    return {name: np.full(clocks, codes(np.array([x]))[0]) for name, x in names.items()}


def codes(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).view(np.uint32)


@builds(rmsprop_bench)
@pytest.mark.parametrize(("mul", "add", "div", "root"), LATENCIES)
def test_sparse_rmsprop(mul: int, add: int, div: int, root: int, seed: int) -> None:
    """Numbers of all classes, with gaps between them; rates of a run."""
    rng = np.random.default_rng(seed)
    sim = rmsprop_bench(mul, add, div, root, seed)
    latency = 2 * mul + 3 * add + div + root
    for _ in range(scale(20, 4)):
        rates = random_rates(rng)
        count = 600
        w, v, g = numbers(rng, count), np.abs(numbers(rng, count)), numbers(rng, count)
        valid = rng.random(count) < 0.8
        clocks = count + latency
        tail = np.zeros(latency, np.uint32)
        with np.errstate(all="ignore"):
            want, square = optim.rmsprop(w, v, g, rates)
            step = optim.step(rates.lr, g, square, rates)
        inputs = {
            name: np.concatenate([codes(x), tail])
            for name, x in (("value_i", w), ("square_i", v), ("gradient_i", g))
        }
        out = sim.run(
            clocks, valid_i=np.concatenate([valid, tail]), **inputs, **held(rates, rates.lr, clocks)
        )  # fmt: skip
        late = {name: x[latency:] for name, x in out.items()}
        assert (late["valid_o"] == valid).all()
        for name, x in (("value_o", want), ("square_o", square), ("step_o", step)):
            assert (late[name][valid] == codes(x)[valid]).all(), name


@builds(regroup_bench)
@pytest.mark.parametrize(("mul", "add", "div", "root"), LATENCIES)
def test_sparse_regroup(mul: int, add: int, div: int, root: int, seed: int) -> None:
    """Sums of all sizes, entries that saturate, steps rounded both ways."""
    rng = np.random.default_rng(seed)
    sim = regroup_bench(mul, add, div, root, seed)
    latency = 2 * mul + 3 * add + div + root + 7
    for _ in range(scale(20, 4)):
        rates, count = random_rates(rng), 600
        sums = (rng.standard_normal(count) * 2.0 ** rng.integers(0, 58, count)).astype(np.int64)
        sums[rng.random(count) < 0.05] = 0
        states = np.abs(numbers(rng, count))
        entries = rng.integers(-128, 128, (count, 1)).astype(np.int8)
        drawn = rng.integers(0, 1 << 16, count)
        valid = rng.random(count) < 0.8
        with np.errstate(all="ignore"):
            want, squares = optim.regroup(
                entries, states, np.zeros(count, np.int64), sums, drawn, rates
            )
        clocks = count + latency
        tail = np.zeros(latency, np.int64)
        out = sim.run(
            clocks, valid_i=np.concatenate([valid, tail]),
            sum_i=np.concatenate([sums, tail]).view(np.uint32).reshape(clocks, 2),
            square_i=np.concatenate([codes(states), tail.astype(np.uint32)]),
            entry_i=np.concatenate([entries[:, 0].view(np.uint8), tail]),
            drawn_i=np.concatenate([drawn, tail]), **held(rates, rates.lr_group, clocks),
        )  # fmt: skip
        late = {name: x[latency:] for name, x in out.items()}
        assert (late["valid_o"] == valid).all()
        assert (late["square_o"][valid] == codes(squares)[valid]).all()
        assert (late["entry_o"][valid] == want[:, 0].view(np.uint8)[valid]).all()


# ---- Sums
def sums_bench(seed: int = 1) -> Player:
    streams = {
        f"{side}_{name}": bits
        for side in ("row", "column")
        for name, bits in (("valid_i", 1), ("word_i", 12), ("sum_i", 64))
    }
    block = Block(
        CORE, "jd_sparse_sums",
        {"clear_i": 1, **streams, "read_i": 1, "read_columns_i": 1, "read_word_i": 12},
        {"busy_o": 1, "row_ready_o": 1, "column_ready_o": 1, "read_sum_o": 64},
    )  # fmt: skip
    return Player(block, {"SWords": STATES}, seed)


def sums_of(sim: Player, columns: bool) -> np.ndarray:
    """All sums of a side, [words] int64."""
    clocks = np.arange(STATES + 1)
    out = sim.run(
        len(clocks), read_i=clocks < STATES, read_columns_i=np.full(len(clocks), columns),
        read_word_i=clocks % STATES,
    )["read_sum_o"]  # fmt: skip
    return np.ascontiguousarray(out[1:]).view(np.int64)[:, 0]


@builds(sums_bench)
def test_sums_of_rows_and_columns(seed: int) -> None:
    """Additions to equal words one after the other, with gaps, and offered while all is cleared."""
    rng, sim = np.random.default_rng(seed), sums_bench(seed)
    for turn in range(scale(20, 4)):
        if turn:
            sim.run(1, clear_i=np.ones(1))
            busy = sim.run(STATES + 1)["busy_o"]
            assert busy.tolist() == [1] * STATES + [0]
        else:
            sim.run(STATES + 1)
        assert not sums_of(sim, False).any() and not sums_of(sim, True).any()
        want = np.zeros((2, STATES), np.int64)
        count, inputs = 200, dict[str, np.ndarray]()
        for k, side in enumerate(("row", "column")):
            valid = rng.random(count) < 0.8
            word = rng.integers(0, rng.choice([2, 3, STATES]), count)
            value = (rng.standard_normal(count) * 2.0 ** rng.integers(0, 61, count)).astype(int)
            np.add.at(want[k], word[valid], value[valid])
            inputs |= {
                f"{side}_valid_i": valid, f"{side}_word_i": word,
                f"{side}_sum_i": value.view(np.uint32).reshape(count, 2),
            }  # fmt: skip
        out = sim.run(count, **inputs)
        assert out["row_ready_o"].all() and out["column_ready_o"].all()
        sim.run(1)
        for k in range(2):
            np.testing.assert_array_equal(sums_of(sim, bool(k)), want[k])
    sim.run(1, clear_i=np.ones(1))
    ones, seven = np.ones(STATES + 1), np.tile([7, 0], (STATES + 1, 1))
    out = sim.run(
        STATES + 1, row_valid_i=ones, row_word_i=3 * ones, row_sum_i=seven,
        column_valid_i=ones, column_word_i=2 * ones, column_sum_i=seven,
    )  # fmt: skip
    for side in ("row", "column"):
        assert out[f"{side}_ready_o"].tolist() == [0] * STATES + [1]
    sim.run(1)
    assert sums_of(sim, False).tolist() == [0, 0, 0, 7] + [0] * (STATES - 4)
    assert sums_of(sim, True).tolist() == [0, 0, 7] + [0] * (STATES - 3)


# ---- The update of a layer's grouping
SIZES = [
    Size(8, 32, 2, Width(32, 16, 4)),
    regress(Size(32, 48, 1, Width(32, 32, 1), lines=128)),  # two layers fit
    regress(Size(32, 64, 2, Width(128, 16, 2), lines=128)),
]
S_WORDS = 512


def group_bench(size: Size, latencies: tuple[int, int, int, int], seed: int = 1) -> Player:
    numbers_of = dict(zip(("MulLatency", "AddLatency", "DivLatency", "SqrtLatency"), latencies,
                          strict=True))  # fmt: skip
    parameters = {name: x for name, x in size.parameters.items() if name != "KeepBv"}
    block = Block(
        "jackdaw:engine:sparse_top", "jd_sparse_group_update_bench",
        {
            "in_valid_i": 1, "in_number_i": 3, "in_layer_i": LAYER_BITS, "in_exchanged_i": 1,
            "in_uncached_i": 1, "write_valid_i": 1, "write_line_i": 9,
            "write_mask_i": GROUP_LINE, "write_data_i": 8 * GROUP_LINE, "read_valid_i": 1,
            "read_line_i": 9, "peek_layer_i": 3, "peek_index_i": 9, "peek_entry_i": 9,
            "peek_group_i": 5, "peek_slice_i": 9, "clear_i": 1, "row_valid_i": 1,
            "row_word_i": 12, "row_sum_i": 64, "column_valid_i": 1, "column_word_i": 12,
            "column_sum_i": 64, "probe_i": 1, "probe_columns_i": 1, "probe_word_i": 12,
            "state_write_i": 1, "state_word_i": 12, "state_i": 32, "seed_write_i": 1,
            "seed_i": 256, "settings_i": SETTINGS_BITS, "start_i": 1, "layer_i": LAYER_BITS,
        },
        {
            "in_ready_o": 1, "done_o": 1, "read_data_o": 8 * GROUP_LINE, "peek_place_o": 14,
            "peek_tuple_o": 9, "directory_o": DIRECTORY, "peek_bits_o": size.width.cmp_w,
            "busy_o": 1, "row_ready_o": 1, "column_ready_o": 1, "probe_o": 64, "state_o": 32,
            "generator_o": 256, "ready_o": 1, "update_done_o": 1,
        },
        sources=("verif/sparse/jd_sparse_group_update_bench.sv",),
    )  # fmt: skip
    return Player(block, {**parameters, "SWords": S_WORDS, **numbers_of}, seed)


def settings_word(rates: Rates) -> int:
    """settings_t."""
    singles = (rates.lr, rates.alpha, rates.rest, rates.eps, 0, rates.lr_group, 0)
    return concat(*((int(np.float32(x).view(np.uint32)), 32) for x in singles), (0, 8), (0, 16))


def entries_back(sim: Player, layer: Layer) -> list[np.ndarray]:
    """IG and OG of a layer."""
    found, line = [], layer.g_base
    for rows, count in zip((layer.m, layer.n), layer.grouping, strict=True):
        clocks = np.arange(count + 1)
        out = sim.run(
            len(clocks), read_valid_i=clocks < count, read_line_i=line + clocks % count
        )["read_data_o"][1:]  # fmt: skip
        flat = np.ascontiguousarray(out).view(np.int8).reshape(-1)
        found.append(flat[: rows * layer.groups].reshape(rows, -1))
        line += count
    return found


class Grouping:
    """A layer's grouping in the bench and as the golden model has it."""

    def __init__(self, rng: np.random.Generator, sim: Player, layer: Layer) -> None:
        self.layer, self.sim = layer, sim
        g = layer.groups
        self.entries = [rng.integers(-128, 128, (k, g)).astype(np.int8) for k in (layer.m, layer.n)]
        for entries in self.entries:  # of some rows the greatest ones are equal, or at an end
            some = rng.random(len(entries)) < 0.3
            entries[some] = np.minimum(entries, entries[:, :1])[some]
            entries[rng.random(len(entries)) < 0.05] = rng.choice([-128, 127])
        self.states = np.abs(numbers(rng, layer.states))
        self.sums = (
            rng.standard_normal(layer.states) * 2.0 ** rng.integers(0, 58, layer.states)
        ).astype(np.int64)
        self.sums[rng.random(layer.states) < 0.05] = 0
        load(sim, layer.g_base, self.entries[0])
        load(sim, layer.g_base + layer.grouping[0], self.entries[1])
        word, k = layer.s_base + np.arange(layer.states), np.arange(layer.states)
        pairs = self.sums.view(np.uint32).reshape(-1, 2)
        sim.run(
            layer.states, state_write_i=np.ones(layer.states), state_word_i=word,
            state_i=codes(self.states), row_valid_i=k < layer.m, row_word_i=word, row_sum_i=pairs,
            column_valid_i=k >= layer.m, column_word_i=word, column_sum_i=pairs,
        )  # fmt: skip
        sim.run(1)

    def update(self, generator: Xoshiro, rates: Rates) -> None:
        """By the golden model."""
        at = 0
        for k, entries in enumerate(self.entries):
            part = slice(at, at + len(entries))
            with np.errstate(all="ignore"):
                self.entries[k], self.states[part] = optim.regroup(
                    entries, self.states[part], max_index(entries), self.sums[part],
                    optim.draws(generator, len(entries)), rates,
                )  # fmt: skip
            at += len(entries)

    def check(self) -> None:
        """What the bench has."""
        for got, want in zip(entries_back(self.sim, self.layer), self.entries, strict=True):
            np.testing.assert_array_equal(got, want)
        count = self.layer.states
        word = self.layer.s_base + np.arange(count + 1) % count
        got = self.sim.run(count + 1, state_word_i=word)["state_o"][1:]
        np.testing.assert_array_equal(got, codes(self.states))


@builds(lambda size: group_bench(size, LATENCIES[0]))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width.max_w}-{size.d_max}")
def test_the_grouping_of_a_layer_is_updated(size: Size, seed: int) -> None:
    """Beside a layer that stays; also while another one is encoded. An entry per clock."""
    rng, latencies = np.random.default_rng(seed), LATENCIES[0]
    sim = group_bench(size, latencies, seed)
    mul, add, div, root = latencies
    least = 2 * mul + 3 * add + div + root + 14  # clocks beside those of the entries
    generator = Xoshiro()
    choices = [g for g in (2, 4, 8, 16, 32) if g <= size.g_max]
    for turn in range(scale(30, 6)):
        sim.run(1, clear_i=np.ones(1))
        sim.run(S_WORDS)
        g, other_g = (int(x) for x in rng.choice(choices, 2))
        m, n, o, p = (int(x) for x in rng.integers(1, size.d_max + 1, 4))
        if turn == 0:
            n = 1  # the last entry is the first column
        layer = Layer(m, n, g, g_base=int(rng.integers(0, 4)), s_base=int(rng.integers(0, 9)))
        other = Layer(
            o, p, other_g, g_base=layer.g_base + sum(layer.grouping), s_base=layer.s_base + m + n
        )
        mine, its = Grouping(rng, sim, layer), Grouping(rng, sim, other)
        state = [int(x) for x in rng.integers(0, 1 << 63, 4)]
        rates = random_rates(rng)
        seed_word = sum(word << 64 * k for k, word in enumerate(state))
        sim.run(1, seed_write_i=np.ones(1), seed_i=words([seed_word], 256))
        generator.load(state)
        encodes = bool(turn % 2)
        clocks = m + n + least + (6 * (o + p) + 300 if encodes else 8)
        at = int(rng.integers(0, m + n))
        tick = np.arange(clocks)
        out = sim.run(
            clocks, start_i=tick == 0, layer_i=words([layer_word(layer)] * clocks, LAYER_BITS),
            settings_i=words([settings_word(rates)] * clocks, SETTINGS_BITS),
            in_valid_i=(tick == at) & encodes,
            in_layer_i=words([layer_word(other)] * clocks, LAYER_BITS),
        )  # fmt: skip
        done = np.flatnonzero(out["update_done_o"])
        assert len(done) == 1 and not out["ready_o"][1 : done[0] + 1].any()
        if not encodes:
            assert done[0] == m + n + least
        mine.update(generator, rates)
        mine.check()
        its.check()
        assert out["ready_o"][-1]
        got = np.ascontiguousarray(out["generator_o"][-1]).view(np.uint64)
        assert got.tolist() == generator.state
        if encodes:
            assert out["done_o"].sum() == 1
            ig, og = (max_index(entries) for entries in its.entries)
            found = encode(ig, og, other_g, size.width)
            peek(sim, size, found, 0, False, other)
