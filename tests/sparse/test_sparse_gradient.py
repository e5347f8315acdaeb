"""Gradients of a bank: DW of random masks beside FW and DX, to the bit and by the clock."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.layer import weight_gradient
from models.sparse.numbers import half
from models.sparse.timing import OVERHEAD
from tests.sparse.test_sparse_bank import (
    BANKS,
    GROWS,
    INDEX,
    LMAX,
    XROWS,
    Case,
    bench,
    compare,
    fill,
    operate,
)
from verif.play import Player
from verif.sparse.tables import (
    DW,
    DX,
    FW,
    OPERATION_BITS,
    lines_before,
    lists_of,
    operation_word,
    words,
)

BUILDS = [(5, 4, 2), regress(9, 2, 6), regress(33, 4, 6)]  # lanes, DrainW, gradients of a word


def gradient_bench(lanes: int, drain: int, word: int, seed: int = 1) -> Player:
    return bench(lanes, 64, drain, seed, word)


class Gradients:
    """What a layer's gradients must be, and where the bank has them.

    Attributes:
        case: the layer.
        want: [M, N] float32.
        places: (word, place in it, row, column) of each gradient.
        macs: multiply-adds of a vector.
    """

    def __init__(self, case: Case, before: list[Case], word: int) -> None:
        self.case = case
        self.clear()
        found, layer = case.plan.gradient, case.layer
        (line,) = lines_before([one.plan for one in before], BANKS)[1][INDEX : INDEX + 1]
        chunks = -(-case.lanes // word)
        rows, columns = lists_of(case.encoding)
        inner, outer = (columns, rows) if layer.tr else (rows, columns)
        self.places: list[tuple[int, int, int, int]] = []
        for (window, first), bank in zip(found.units, found.banks, strict=True):
            slots = case.windows[DW][window]
            end = min(first + found.block, max(s.depth for s in slots))
            if bank != INDEX:
                continue
            for rank in range(first, end):
                lane = 0
                for slot in slots:
                    for k in range(slot.lanes if rank < slot.depth else 0):
                        a, b = int(inner[slot.first + rank]), int(outer[slot.produced + k])
                        at = divmod(lane + k, word)
                        place = (int(line) * chunks + at[0], at[1])
                        self.places.append((*place, b, a) if layer.tr else (*place, a, b))
                    lane += slot.lanes
                line += 1

    @property
    def macs(self) -> int:
        return len(self.places)

    def clear(self) -> None:
        self.want = np.zeros((self.case.layer.m, self.case.layer.n), np.float32)

    def add(self, x: np.ndarray, dy: np.ndarray) -> None:
        """DW with [M, V] and [N, V] float16."""
        if x.shape[1]:
            self.want = weight_gradient(self.want, x.T, dy.T, self.case.encoding.mask)

    @property
    def values(self) -> np.ndarray:
        """Of the bank."""
        return np.array([self.want[m, n] for _, _, m, n in self.places], np.float32)

    def check(self, sim: Player) -> int:
        """Returns: gradients that were compared."""
        at = sorted({word for word, *_ in self.places})
        if not at:
            return 0
        count = len(at)
        out = sim.run(
            count + 2, gradient_en_i=np.arange(count + 2) < count,
            gradient_layer_i=np.full(count + 2, self.case.number),
            gradient_word_i=np.array([*at, at[-1], at[-1]]),
        )["gradient_data_o"].reshape(count + 2, -1)[2:]  # fmt: skip
        found = dict(zip(at, out, strict=True))
        got = np.array([found[word][k] for word, k, *_ in self.places], np.uint32)
        wrong = np.flatnonzero(got != self.values.view(np.uint32))
        assert not wrong.size, f"{len(wrong)} of {len(got)} wrong, first {self.places[wrong[0]]}"
        return len(got)


def operands(rng: np.random.Generator, neurons: int, vectors: int, wild: float) -> np.ndarray:
    """[neurons, V] float16, some of them zero, huge, infinite or no number."""
    x = half(rng.standard_normal((neurons, vectors)))
    special = np.array([0, -0.0, 6e-8, 60000, -60000, np.inf, np.nan], np.float16)
    return np.where(rng.random(x.shape) < wild, rng.choice(special, x.shape), x)


def layers(
    rng: np.random.Generator, sim: Player, lanes: int, drain: int, word: int
) -> list[Gradients]:
    """Layers that fit, their tables and weights written."""
    while True:
        plain = bool(rng.random() < 0.2)
        cases = [Case.any(rng, k, lanes, drain, plain) for k in range(LMAX)]
        grads = lines_before([case.plan for case in cases], BANKS)[1]
        if all(case.fits for case in cases) and grads.max() <= GROWS:
            break
    for case in cases:
        case.load(sim, cases[: case.number])
    return [Gradients(case, cases[: case.number], word) for case in cases]


@builds(gradient_bench)
@pytest.mark.parametrize(("lanes", "drain", "word"), BUILDS)
def test_sparse_gradient(lanes: int, drain: int, word: int, seed: int) -> None:
    """DW of layers beside each other, exchanged or not, runs on runs; FW and DX between them."""
    rng = np.random.default_rng(seed)
    sim = gradient_bench(lanes, drain, word, seed)
    compared = 0
    for _ in range(scale(12, 3)):
        found = layers(rng, sim, lanes, drain, word)
        sim.run(1, clear_gradients_i=np.ones(1))
        for _batch in range(4):
            wild = float(rng.choice([0, 0, 0.002, 0.02]))
            if rng.random() < 0.4:
                sim.run(1, clear_gradients_i=np.ones(1))
                for one in found:
                    one.clear()
            runs, macs = [], 0
            for which_set in range(2):
                one = found[int(rng.integers(0, LMAX))]
                layer = one.case.layer
                which = int(rng.choice([FW, DX, DW, DW, DW]))
                sizes = (layer.n, layer.m) if layer.tr else (layer.m, layer.n)
                if which != DW:
                    sizes = (layer.n, 0) if which == DX else (layer.m, 0)
                most = XROWS // 2 // (8 * -(-max(sizes) // 8))
                tiles = min(int(rng.integers(0, layer.tiles + 1)), most)
                x, y = (operands(rng, k, 4 * tiles, wild) for k in sizes)
                if tiles:
                    fill(sim, x, which_set)
                if tiles and which == DW:
                    fill(sim, y, which_set, "y")
                    one.add(*((y, x) if layer.tr else (x, y)))
                    macs += 4 * tiles * one.macs
                operation = operation_word(
                    which, one.case.number, layer, sizes[0], which_set, which_set, which_set
                )
                runs.append((one.case, which, tiles, x, operation))
            useful = operate(sim, [(run[-1], run[2]) for run in runs])
            for which_set, (case, which, tiles, x, _word) in enumerate(runs):
                if which != DW and tiles:
                    macs += compare(sim, case, which, tiles, x, which_set)[1]
            assert useful == macs
            compared += sum(one.check(sim) for one in found)
            bad = any(not np.isfinite(one.values).all() for one in found)
            assert sim.run(1)["nonfinite_o"][0] == bad
    assert compared


@builds(gradient_bench)
@pytest.mark.parametrize(("lanes", "drain", "word"), BUILDS[:1])
def test_sparse_gradient_clocks(lanes: int, drain: int, word: int, seed: int) -> None:
    """An operation after another takes the clocks of the plan and a few more."""
    rng = np.random.default_rng(seed)
    sim = gradient_bench(lanes, drain, word, seed)
    for _ in range(scale(20, 6)):
        for one in layers(rng, sim, lanes, drain, word):
            layer = one.case.layer
            tiles = min(layer.tiles, XROWS // 2 // (8 * -(-max(layer.m, layer.n) // 8)))
            neurons = layer.n if layer.tr else layer.m
            operation = operation_word(DW, one.case.number, layer, neurons, 0)
            every = one.case.plan.gradient.bank_clocks(tiles, word)
            want = every[INDEX] if len(every) > INDEX else 0
            room = 3 * want + 400
            out = sim.run(
                room, op_valid_i=np.ones(room), op_i=words([operation] * room, OPERATION_BITS),
                op_tiles_i=np.full(room, tiles),
            )  # fmt: skip
            done = np.flatnonzero(out["done_o"])
            taken = np.diff(done)[:2]
            assert (taken <= want + OVERHEAD).all(), (taken, want)
            sim.run(2 * want + 400)


def has_empty_windows_between(case: Case) -> bool:
    """Whether the bank passes windows without ranks on the way to its last unit."""
    found = case.plan.gradient
    mine = [
        window for (window, _), bank in zip(found.units, found.banks, strict=True) if bank == INDEX
    ]
    return bool(mine) and any(not found.windows[k].depth for k in range(mine[0], mine[-1]))


@builds(gradient_bench)
@pytest.mark.parametrize(("lanes", "drain", "word"), BUILDS[:1])
def test_windows_without_ranks_are_passed(lanes: int, drain: int, word: int, seed: int) -> None:
    """In a plan without load allocation they stand between windows with ranks."""
    rng = np.random.default_rng(seed)
    sim = gradient_bench(lanes, drain, word, seed)
    for _ in range(scale(10, 2)):
        while True:
            case = Case.any(rng, 0, lanes, drain, plain=True)
            if case.fits and has_empty_windows_between(case):
                break
        case.load(sim, [])
        one, layer = Gradients(case, [], word), case.layer
        sizes = (layer.n, layer.m) if layer.tr else (layer.m, layer.n)
        x, y = (half(rng.standard_normal((k, 4))) for k in sizes)
        fill(sim, x, 0)
        fill(sim, y, 0, "y")
        sim.run(1, clear_gradients_i=np.ones(1))
        useful = operate(sim, [(operation_word(DW, 0, layer, sizes[0], 0), 1)])
        one.add(*((y, x) if layer.tr else (x, y)))
        assert one.check(sim) == one.macs and useful == 4 * one.macs


@builds(gradient_bench)
@pytest.mark.parametrize(("lanes", "drain", "word"), BUILDS[:1])
def test_sparse_gradient_clear(lanes: int, drain: int, word: int, seed: int) -> None:
    """clear_i in the middle of DW; then the gradients are cleared and DW is right."""
    rng = np.random.default_rng(seed)
    sim = gradient_bench(lanes, drain, word, seed)
    for _ in range(scale(20, 5)):
        found = layers(rng, sim, lanes, drain, word)
        one = found[int(rng.integers(0, LMAX))]
        layer = one.case.layer
        sizes = (layer.n, layer.m) if layer.tr else (layer.m, layer.n)
        x, y = (half(rng.standard_normal((k, 4))) for k in sizes)
        fill(sim, x, 0)
        fill(sim, y, 0, "y")
        operation = operation_word(DW, one.case.number, layer, sizes[0], 0)
        word_in = words([operation], OPERATION_BITS)
        sim.run(1, op_valid_i=np.ones(1), op_i=word_in, op_tiles_i=np.ones(1))
        sim.run(int(rng.integers(1, 120)))
        sim.run(1, clear_i=np.ones(1))
        out = sim.run(60)
        assert out["idle_o"].all() and not out["done_o"].any()
        sim.run(1, clear_gradients_i=np.ones(1))
        operate(sim, [(operation, 1)])
        one.add(*((y, x) if layer.tr else (x, y)))
        one.check(sim)
        assert not sim.run(1)["nonfinite_o"][0]


@builds(gradient_bench)
@pytest.mark.parametrize(("lanes", "drain", "word"), BUILDS[:1])
def test_sparse_gradient_order(lanes: int, drain: int, word: int, seed: int) -> None:
    """FW without tiles ends after the DW before it, DW without tiles after the FW."""
    rng = np.random.default_rng(seed)
    sim = gradient_bench(lanes, drain, word, seed)
    for _ in range(scale(20, 5)):
        one = layers(rng, sim, lanes, drain, word)[int(rng.integers(0, LMAX))]
        layer, plan = one.case.layer, one.case.plan
        which = [DW, FW, DW] if rng.random() < 0.5 else [FW, DW, FW]
        sizes = {FW: layer.m, DW: layer.n if layer.tr else layer.m}
        least = plan.gradient.bank_clocks(1, word) if which[0] == DW else []
        clocks = least[INDEX] if len(least) > INDEX else 0
        given, done = 0, []
        waits = int(rng.integers(5))  # clocks in which the second one could begin
        for clock in range(3000):
            go = given < 3 and (given != 1 or waits == 0)
            now = which[min(given, 2)]
            out = sim.run(
                1, op_valid_i=np.array([go]), op_tiles_i=np.array([given == 0]),
                op_i=words([operation_word(now, one.case.number, layer, sizes[now], 0)],
                           OPERATION_BITS),
            )  # fmt: skip
            given += int(go and out["op_ready_o"][0])
            waits -= int(given == 1 and not go and out["op_ready_o"][0])
            if out["done_o"][0]:
                done.append(clock)
            if len(done) == 3:
                break
        assert len(done) == 3 and done[0] >= clocks
