"""The LSTM's step and its gradient in a core, to the bit, against the golden model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.qat.ops import TANH_TABLE as FIXED_TABLE
from models.sparse.formats import Flag, Geometry, Instruction, Layer, Op, Tensor, pitch
from models.sparse.numbers import TANH_TABLE, sigmoid, tanh
from models.sparse.osel import Encoding, encode
from models.sparse.plan import Plan, plan
from tests.sparse.test_sparse_comm import CORE, halves
from tests.sparse.test_sparse_core import LMAX, Both, core_bench
from verif.play import Block, Player
from verif.sparse.tables import FW, places_of, windows_of

DMAX, AROWS = 128, 1024
CORES = [(2, 9, 4, 4), regress(3, 17, 2, 2), regress(2, 17, 8, 4), regress(1, 64, 1, 1)]
CURVE_LATENCY, MUL, ADD = 10, 3, 4  # clocks
FORWARD_LATENCY = 10 + 3 * ADD + 2 * (CURVE_LATENCY + MUL) + ADD
BACK_LATENCY = 6 + 5 * MUL + 2 * ADD


# ---- The curves ----
def curve(sigmoid_: bool, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_curve", {"valid_i": 1, "x_i": 16}, {"valid_o": 1, "result_o": 16}
    )
    return Player(block, {"Sigmoid": int(sigmoid_)}, seed)


@builds(lambda sigmoid_: curve(sigmoid_, 1))
@pytest.mark.parametrize("sigmoid_", [False, True])
def test_curve_of_all_codes(sigmoid_: bool, seed: int) -> None:
    """All 65,536 numbers, one per clock, then some with gaps."""
    sim = curve(sigmoid_, seed)
    function = sigmoid if sigmoid_ else tanh
    rng = np.random.default_rng(seed)
    every = np.arange(1 << 16, dtype=np.uint16)
    for codes, valid in ((every, np.ones(1 << 16)), (rng.permutation(every)[:999],
                                                     rng.random(999) < 0.5)):  # fmt: skip
        pad = np.zeros(CURVE_LATENCY)
        out = sim.run(
            len(codes) + CURVE_LATENCY, valid_i=np.concatenate([valid, pad]),
            x_i=np.concatenate([codes, pad]),
        )  # fmt: skip
        assert np.array_equal(out["valid_o"][CURVE_LATENCY:], valid)
        got = out["result_o"][CURVE_LATENCY:][valid.astype(bool)]
        want = function(codes.view(np.float16)).view(np.uint16)[valid.astype(bool)]
        wrong = np.flatnonzero(got != want)
        assert not wrong.size, f"{len(wrong)} wrong, first {codes[wrong[0]]:04x}"


def test_curve_table() -> None:
    """The table in the library is the golden model's."""
    assert np.array_equal(TANH_TABLE, FIXED_TABLE)


# ---- A core ----
def geometry(banks: int, lanes: int, channels: int, drain: int) -> Geometry:
    return Geometry(
        1, banks, lanes, 4, 64, 8, DMAX, LMAX, 24, 1024, 1024, 1024, 4096, 4096, AROWS, 65536, 512,
        64, 8, drain_w=drain, channels=channels,
    )  # fmt: skip


def bench(banks: int, lanes: int, channels: int, drain: int, seed: int = 1) -> Player:
    return core_bench(geometry(banks, lanes, channels, drain), seed)


def lookups(
    layer: Layer, encoding: Encoding, found: Plan, g: Geometry, tiles: int, results: int = 0
) -> int:
    """Clocks in which LSTMF reads results: the most that columns of a clock ask of a memory.

    Args:
        layer, encoding, found: of the results, with the plan.
        g: the build.
        tiles: of the core.
        results: their set.
    """
    units = found.forward
    windows = windows_of(encoding, found, layer)[FW]
    where = {n: (w, lane) for n, w, lane in places_of(encoding, windows, True, layer.split)}
    banks = list(units.banks)
    first = {bank: banks.index(bank) for bank in set(banks)}
    step, total = min(4, g.channels), 0
    for tile in range(tiles):
        for column in range(0, layer.n, step):
            asked: Counter[tuple[int, int]] = Counter()
            for n in range(column, column + step):
                unit = units.units.index((where[n][0], tile))
                bank = banks[unit]
                address = results * g.r_rows // 2 + (unit - first[bank]) * g.lanes + where[n][1]
                asked[bank, address % g.drain_w] += 1
            total += max(asked.values()) * layer.split  # chains are in the lanes beside each other
    return total


def test_lstmf_takes_a_clock_per_neuron(seed: int) -> None:
    """The published layer in the full build: at most 1.2 clocks, in the mean over masks."""
    rng, g = np.random.default_rng(seed), Geometry()
    for groups in (1, 4, 16, 32):
        layer = Layer(256, 512, groups, tiles=8)
        found = []
        for _ in range(4 if groups > 1 else 1):
            encoding = encode(
                rng.integers(0, groups, layer.m), rng.integers(0, groups, layer.n), groups, g.width
            )
            made = plan(encoding, g.build, 8, 1, 0, False, False)
            found.append(lookups(layer, encoding, made, g, 8) / (8 * 128))
        assert np.mean(found) < 1.2, f"G={groups}: {np.mean(found):.3f} clocks"


def random_layer(rng: np.random.Generator, number: int, lanes: int) -> Layer:
    split = 1 if lanes >= 64 and rng.random() < 0.3 else 0
    n = 32 if split else 32 * int(rng.integers(1, DMAX // 32 + 1))
    m = int(rng.integers(4, 25))
    groups = 1 if split else int(rng.choice([1, 2, 4, 8]))
    return Layer(
        m, n, groups, split, tiles=int(rng.integers(1, 5)), dx_from=int(rng.integers(0, m)),
        w_base=number * 32 * pitch(DMAX), b_base=int(rng.integers(0, 512 - n)),
    )  # fmt: skip


class Lstm(Both):
    """A core and the golden machine with layers of LSTMs."""

    def prepare(self, special: bool) -> None:
        """New layers and activations."""
        rng, lanes = self.rng, self.geometry.lanes
        while True:
            try:
                self.configure([random_layer(rng, k, lanes) for k in range(LMAX)])
            except Exception as error:
                if "E_PLAN" not in str(error):
                    raise
            else:
                break
        if special:
            self.biases(
                halves(rng, self.geometry.b_words).view(np.float16).astype(np.float32)
                * rng.choice([0.01, 1, 8], self.geometry.b_words)
            )
        self.refill(special)

    def refill(self, special: bool) -> None:
        """New activations."""
        codes = halves(self.rng, AROWS, 8, 4)
        near = self.rng.standard_normal((AROWS, 8, 4)).astype(np.float16)
        self.write(0, codes.view(np.float16) if special else near)

    def results(self, number: int, tiles: int) -> None:
        """FX and FW of a layer, whose results are there then."""
        layer = self.machine.layers[number].layer
        fx = Instruction(
            Op.FX, layer=number, tiles=(tiles, 0, 0), a=Tensor(900, 0, 4), neurons=layer.m
        )
        self.run(fx)
        self.run(Instruction(Op.FW, layer=number, tiles=(tiles, 0, 0)), neurons=layer.m)

    def places(self, hidden: int) -> list[Tensor]:
        """Blocks of the step before and the step, dh. Skews fit, nearly fit, or do not."""
        rng, skew = self.rng, int(self.rng.integers(8))
        near, which = rng.integers(-1, 2, 2), rng.random()
        skews = [skew] * 3
        if which < 0.3:
            skews = [(skew + int(near[0])) % 8, skew, (skew + int(near[1])) % 8]
        elif which < 0.6:
            skews = rng.integers(0, 8, 3).tolist()
        return [
            Tensor(300 * k + int(rng.integers(0, 64)), skew, hidden + int(rng.integers(0, 3)))
            for k, skew in enumerate(skews)
        ]


def forward_clocks(both: Lstm, one: Instruction) -> int:
    """Clocks of LSTMF: those of its results, of the last neurons, and the pipeline's."""
    state, g = both.machine.layers[one.layer], both.geometry
    assert state.plan is not None and state.encoding is not None
    reads = lookups(
        state.layer, state.encoding, state.plan, g, one.tiles[0], both.sets["r"]
    )  # fmt: skip
    return reads + min(4, g.channels) + FORWARD_LATENCY


def shared(one: Instruction) -> bool:
    """Whether tensors of a neuron are in one bank."""
    a, b = ((x.skew - one.d.skew) % 8 for x in (one.a, one.b))
    reads = {(a + 1) % 8, b, *range(2, 8)}
    return len(reads) < 8 or (a + 7) % 8 in range(3, 7)


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain"), CORES)
def test_lstm_steps(banks: int, lanes: int, channels: int, drain: int, seed: int) -> None:
    """LSTMF, LIN and LSTMB one right after the other; hidden neurons, tiles, places, specials."""
    rng = np.random.default_rng(seed)
    g = geometry(banks, lanes, channels, drain)
    both = Lstm(rng, bench(banks, lanes, channels, drain, seed), g)
    for _ in range(scale(12, 3)):
        special = bool(rng.random() < 0.5)
        both.prepare(special)
        for _run in range(3):
            number, other = rng.integers(0, LMAX, 2).tolist()
            layer, lin_layer = (both.machine.layers[k].layer for k in (number, other))
            tiles, hidden = int(rng.integers(1, layer.tiles + 1)), layer.n // 4
            a, d, b = both.places(hidden)
            flags = Flag.BIAS if special or rng.random() < 0.7 else Flag(0)
            common = {"layer": number, "tiles": (tiles, 0, 0), "d": d}
            step = Instruction(Op.LSTMF, flags=int(flags), a=a, **common)  # type: ignore[arg-type]
            back = Instruction(Op.LSTMB, a=a, b=b, **common)  # type: ignore[arg-type]
            lin = Instruction(
                Op.LIN, flags=int(flags | Flag.ADDEND), layer=other, tiles=(lin_layer.tiles, 0, 0),
                d=Tensor(780, 3, lin_layer.n // 8), b=Tensor(900, 1, lin_layer.n // 8),
            )  # fmt: skip
            order = [step, lin] if rng.random() < 0.5 else [lin, step]
            for one in order:
                both.results(one.layer, one.tiles[0])
            want, got = [], []
            for one in [*order, back]:
                both.model(one)
                if one.code == Op.LSTMF:
                    want.append(forward_clocks(both, one))
                elif one.code == Op.LSTMB:
                    want.append(hidden * tiles * (3 if shared(one) else 1) + BACK_LATENCY)
                else:
                    want.append(0)
                clocks = both.core(one, step=1)
                got.append(clocks if want[-1] else 0)
            both.check()
            assert got == want


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain"), CORES[:1])
def test_gradients_of_gates(banks: int, lanes: int, channels: int, drain: int, seed: int) -> None:
    """DX of an LSTM: FX takes the lines of four gates, one or more each, with a skew per gate."""
    rng = np.random.default_rng(seed)
    sim = bench(banks, lanes, channels, drain, seed)
    both = Lstm(rng, sim, geometry(banks, lanes, channels, drain))
    for _ in range(scale(10, 2)):
        both.prepare(False)
        for number in range(LMAX):
            layer = both.machine.layers[number].layer
            tiles = (int(rng.integers(1, layer.tiles + 1)), 0, 0)
            gates = Tensor(int(rng.integers(0, 64)), int(rng.integers(0, 8)), layer.n // 8)
            both.run(
                Instruction(
                    Op.FX, flags=int(Flag.GATES), layer=number, tiles=tiles, a=gates,
                    neurons=layer.n,
                )
            )  # fmt: skip
            both.run(Instruction(Op.DX, layer=number, tiles=tiles), neurons=layer.n)
            lin = Instruction(Op.LIN, layer=number, tiles=tiles, d=Tensor(780, 3, 4))
            both.run(lin, dx=True)
            both.check()


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain"), CORES[:1])
def test_clear_in_a_step(banks: int, lanes: int, channels: int, drain: int, seed: int) -> None:
    """What is under way is dropped; the next step is right."""
    rng = np.random.default_rng(seed)
    g = geometry(banks, lanes, channels, drain)
    sim = bench(banks, lanes, channels, drain, seed)
    both = Lstm(rng, sim, g)
    both.prepare(False)
    for at in np.concatenate([rng.integers(1, 100, scale(20, 4)), [34, 35, 36, 37]]):
        number = int(rng.integers(0, LMAX))
        layer = both.machine.layers[number].layer
        tiles, hidden = layer.tiles, layer.n // 4
        a, d, b = both.places(hidden)
        both.results(number, tiles)
        step = Instruction(
            Op.LSTMF, flags=int(Flag.BIAS), a=a, d=d, layer=number, tiles=(tiles, 0, 0)
        )
        back = Instruction(Op.LSTMB, a=a, b=b, d=d, layer=number, tiles=(tiles, 0, 0))
        both.machine.drop()
        forward = at < 40 or rng.random() < 0.5
        both.begin(step if forward else back)
        sim.run(int(at))
        sim.run(1, clear_i=np.ones(1))
        out = sim.run(200)
        assert out["elem_idle_o"].all() and not out["elem_done_o"].any()
        if forward and at < FORWARD_LATENCY - 4:  # nothing was written
            both.check()
        both.sets["r"] = both.sets["w"]
        both.refill(False)
        both.results(number, tiles)
        both.run(step)
        both.run(back)
        both.check()
