"""A bank with its tables, weights and operands: FW and dX of random masks, to the bit."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import Layer
from models.sparse.layer import forward
from models.sparse.numbers import half
from models.sparse.osel import Encoding, Width, encode
from models.sparse.plan import Build, Pass, PlanError, plan
from verif.play import Block, Player
from verif.sparse.tables import (
    BEGIN_BITS,
    DX,
    FW,
    OPERATION_BITS,
    TABLE_BITS,
    Slot,
    concat,
    lanes_of,
    lines_before,
    lists_of,
    operation_word,
    ranges_of,
    table_words,
    weight_lines,
    windows_of,
    words,
)

INDEX, BANKS, SLOTS = 1, 2, 4
DMAX, LMAX, WIN, WROWS, XROWS, RROWS, GROWS = 32, 3, 24, 512, 512, 512, 256
BUILDS = [(5, 16, 4), regress(9, 64, 2), regress(33, 32, 1)]


def gradient_words(lanes: int, word: int) -> int:
    """Words of `word` gradients in a bank."""
    return GROWS * -(-lanes // word)


def bench(lanes: int, acc: int, drain: int, seed: int = 1, word: int = 6) -> Player:
    """A bank; `word`: gradients of a word."""
    block = Block(
        "jackdaw:engine:sparse_array", "jd_sparse_bank",
        {
            "clear_i": 1, "table_i": TABLE_BITS, "weight_begin_i": BEGIN_BITS,
            "weight_write_i": 1, "weight_line_i": 16 * lanes, "x_write_i": 1, "x_address_i": 6,
            "x_line_i": 512, "y_write_i": 1, "y_address_i": 6, "y_line_i": 512, "op_valid_i": 1,
            "op_i": OPERATION_BITS, "op_tiles_i": 4, "read_en_i": drain,
            "read_address_i": 9 * drain, "clear_gradients_i": 1, "gradient_en_i": 1,
            "gradient_layer_i": 3,
            "gradient_word_i": (gradient_words(lanes, word) - 1).bit_length(),
        },
        {
            "op_ready_o": 1, "done_o": 1, "busy_o": 1, "useful_o": 9, "idle_o": 1,
            "read_data_o": 64 * drain, "nonfinite_o": 1, "gradient_data_o": 32 * word,
        },
    )  # fmt: skip
    parameters = {
        "Index": INDEX, "Lanes": lanes, "Acc": acc, "DMax": DMAX, "LMax": LMAX, "WinMax": WIN,
        "WRows": WROWS, "XRows": XROWS, "YRows": XROWS, "RRows": RROWS, "GRows": GROWS,
        "DrainW": drain, "OptLanes": word,
    }  # fmt: skip
    return Player(block, parameters, seed)


class Case:
    """A layer in the bank: its plan, and what the operations of a pass must give."""

    def __init__(
        self, rng: np.random.Generator, number: int, lanes: int, drain: int, plain: bool = False
    ) -> None:
        split = int(rng.choice([0, 0, 1, 2]))
        groups = int(rng.choice([1, 2, 4, 8])) if not split else 1
        n = int(rng.integers(1, DMAX + 1)) if not split else int(rng.integers(1, lanes // 4 + 1))
        m = int(rng.integers(4, DMAX + 1))
        self.layer = Layer(
            m, n, groups, split, tr=bool(rng.random() < 0.5), tiles=int(rng.integers(1, 9)),
            dx_from=int(rng.integers(0, m)),
        )  # fmt: skip
        self.number, self.lanes, self.drain = number, lanes, drain
        some = rng.permutation(groups)[: int(rng.integers(1, groups + 1))]
        ig = rng.choice(some, m) if rng.random() < 0.3 else rng.integers(0, groups, m)
        self.encoding: Encoding = encode(ig, rng.integers(0, groups, n), groups, Width())
        build = Build(1, BANKS, lanes, SLOTS, drain, 64, WROWS, 1 << 12, RROWS)
        one = self.layer
        self.plan = plan(self.encoding, build, one.tiles, one.split, one.dx_from, one.tr, plain)
        self.w16 = half(rng.standard_normal((m, n)))
        self.windows = windows_of(self.encoding, self.plan, self.layer)

    @classmethod
    def any(
        cls, rng: np.random.Generator, number: int, lanes: int, drain: int, plain: bool = False
    ) -> Case:
        """A layer whose results the bank holds."""
        while True:
            try:
                return cls(rng, number, lanes, drain, plain)
            except PlanError:
                continue

    @property
    def fits(self) -> bool:
        """In the bank's window table."""
        return max(len(found) for found in self.windows.values()) <= WIN

    def of(self, which: int) -> Pass:
        return self.plan.forward if which == FW else self.plan.backward

    def load(self, sim: Player, before: list[Case]) -> None:
        """Tables, then weights of both passes."""
        plans = [case.plan for case in before]
        table = table_words(self.number, self.encoding, self.plan, self.layer, BANKS, plans)
        sim.run(len(table), table_i=words(table, TABLE_BITS))
        assert (lines_before([*plans, self.plan], BANKS)[0] <= WROWS).all()
        for which in (FW, DX):
            begin = words([concat((1, 1), (self.number, 3), (which == DX, 1))], BEGIN_BITS)
            sim.run(1, weight_begin_i=begin)
            lines = self.lines(which)
            if lines:
                sim.run(
                    len(lines), weight_write_i=np.ones(len(lines)),
                    weight_line_i=words([lanes_of(x) for x in lines], 16 * self.lanes),
                )  # fmt: skip

    def lines(self, which: int) -> list[np.ndarray]:
        """The weight lines of the bank's windows."""
        found = self.of(which)
        held = found.held(INDEX)
        rows, columns = lists_of(self.encoding)
        sides = (columns, rows) if which == DX else (rows, columns)
        w16 = self.w16.T if which == DX else self.w16
        split = self.layer.split if which == FW else 1
        return [
            line
            for number in held
            for line in weight_lines(
                w16, self.windows[which][number], *sides, self.lanes, split
            )
        ]  # fmt: skip

    def want(self, which: int, x: np.ndarray) -> np.ndarray:
        """[produced, V] sums; with KSPLIT [chains * N, V]."""
        rows, columns = self.encoding.row_lists, self.encoding.column_lists
        if which == DX:
            return forward(x.T, self.w16.T, columns, rows).T
        split = self.layer.split
        parts = [
            forward(x.T, self.w16, [m[m % split == j] for m in rows], columns) for j in range(split)
        ]
        return np.concatenate(parts, axis=1).T


def fill(sim: Player, x: np.ndarray, which_set: int, operand: str = "x") -> int:
    """Write an operand, [neurons, V]. Returns: lines of a tile."""
    neurons, vectors = x.shape
    lines = -(-neurons // 8)
    padded = np.full((lines * 8, vectors), np.float16(np.nan))
    padded[:neurons] = x
    tiles = padded.reshape(lines, 8, vectors // 4, 4).transpose(2, 0, 1, 3)
    count = lines * (vectors // 4)
    inputs = {
        f"{operand}_write_i": np.ones(count),
        f"{operand}_address_i": np.arange(count) + which_set * (XROWS // 16),
        f"{operand}_line_i": words([lanes_of(line) for line in tiles.reshape(count, 32)], 512),
    }
    sim.run(count, **inputs)
    return lines


def operate(sim: Player, operations: list[tuple[int, int]]) -> int:
    """Give operations one after the other. Returns: useful multiply-adds."""
    clocks = done = useful = 0
    for word, tiles in operations:
        while True:
            out = sim.run(
                1, op_valid_i=np.ones(1), op_i=words([word], OPERATION_BITS),
                op_tiles_i=np.array([tiles]),
            )  # fmt: skip
            clocks += 1
            assert clocks < 20_000, "no end"
            done += int(out["done_o"][0])
            useful += int(out["useful_o"][0])
            if out["op_ready_o"][0]:
                break
    while done < len(operations):
        out = sim.run(16)
        done += int(out["done_o"].sum())
        useful += int(out["useful_o"].sum())
        clocks += 16
        assert clocks < 20_000, "no end"
    return useful


def results(sim: Player, drain: int, addresses: list[int]) -> np.ndarray:
    """[addresses, 4] FP16 codes."""
    count = len(addresses)
    enable = [1 << a % drain for a in addresses]
    places = [a << 9 * (a % drain) for a in addresses]
    out = sim.run(
        count + 1, read_en_i=np.array([*enable, 0]),
        read_address_i=words([*places, 0], 9 * drain),
    )["read_data_o"][1:]  # fmt: skip
    found = out.reshape(count, drain, 2)[np.arange(count), np.array(addresses) % drain]
    return np.ascontiguousarray(found).view(np.uint16).reshape(count, 4)


def compare(
    sim: Player, case: Case, which: int, tiles: int, x: np.ndarray, which_set: int
) -> tuple[int, int]:
    """Results of FW or DX. Returns: lanes that were compared, useful multiply-adds."""
    found = case.of(which)
    (_, mine) = ranges_of(found, BANKS, [0] * BANKS)
    want = case.want(which, x)
    rows, columns = lists_of(case.encoding)
    produced = rows if which == DX else columns
    split = case.layer.split if which == FW else 1
    compared = macs = 0
    for unit, owner in enumerate(found.banks):
        window, tile = found.units[unit]
        if owner != INDEX or tile >= tiles:
            continue
        base = which_set * RROWS // 2 + (unit - mine.first_unit) * case.lanes
        slots: list[Slot] = case.windows[which][window]
        macs += 4 * sum(s.lanes * s.depth for s in slots)
        places = [
            int(produced[s.produced + i]) + (j * case.layer.n if split > 1 else 0)
            for j, s in enumerate(slots)
            for i in range(s.lanes)
        ]
        got = results(sim, case.drain, [base + k for k in range(len(places))])
        codes = want[places, 4 * tile : 4 * tile + 4].astype(np.float16)
        assert (got == np.ascontiguousarray(codes).view(np.uint16)).all()
        compared += len(places)
    return compared, macs


@builds(lambda lanes, acc, drain: bench(lanes, acc, drain))
@pytest.mark.parametrize(("lanes", "acc", "drain"), BUILDS)
def test_sparse_bank(lanes: int, acc: int, drain: int, seed: int) -> None:
    """Layers beside each other; both passes, split sums, few tiles, two operations at once."""
    rng = np.random.default_rng(seed)
    sim = bench(lanes, acc, drain, seed)
    compared = 0
    for _ in range(scale(12, 3)):
        cases: list[Case] = []
        while len(cases) < LMAX:
            case = Case.any(rng, len(cases), lanes, drain)
            if case.fits:
                cases.append(case)
        for case in cases:
            case.load(sim, cases[: case.number])
        for _operation in range(4):
            runs = []
            for which_set in range(2):
                case = cases[int(rng.integers(0, LMAX))]
                which = int(rng.choice([FW, DX]))
                most = case.layer.tiles
                neurons = case.layer.m if which == FW else case.layer.n
                tiles = min(int(rng.integers(0, most + 1)), XROWS // 2 // (-(-neurons // 8) * 8))
                x = half(rng.standard_normal((neurons, 4 * max(tiles, 1))))
                fill(sim, x, which_set)
                word = operation_word(
                    which, case.number, case.layer, neurons, which_set, which_set
                )  # fmt: skip
                runs.append((case, which, tiles, x, word))
            useful = operate(sim, [(run[-1], run[2]) for run in runs])
            for which_set, (case, which, tiles, x, _word) in enumerate(runs):
                found, macs = compare(sim, case, which, tiles, x, which_set)
                compared, useful = compared + found, useful - macs
            assert useful == 0
    assert compared


def test_sparse_bank_begins_with_a_pair_of_windows(seed: int) -> None:
    """It begins in a pair with a tile that the operation has not: the next pair is first."""
    rng = np.random.default_rng(seed)
    sim = bench(5, 16, 4, seed)
    starts = Counter[int]()
    for _ in range(20_000):
        if starts == Counter({0: 2, 1: 2}):
            return
        case = Case.any(rng, 0, 5, 4)
        which = int(rng.choice([FW, DX]))
        (_, mine) = ranges_of(case.of(which), BANKS, [0] * BANKS)
        neurons = case.layer.m if which == FW else case.layer.n
        tiles, second = mine.first_step, mine.first_window % 2
        few = tiles <= XROWS // 2 // (-(-neurons // 8) * 8)
        if mine.empty or not (mine.paired and tiles and few and case.fits) or starts[second] == 2:
            continue
        case.load(sim, [])
        x = half(rng.standard_normal((neurons, 4 * tiles)))
        fill(sim, x, 0)
        operate(sim, [(operation_word(which, 0, case.layer, neurons, 0), tiles)])
        starts[second] += compare(sim, case, which, tiles, x, 0)[0] > 0
    pytest.fail(f"too few masks begin so: {starts}")


def test_sparse_bank_clocks(seed: int) -> None:
    """A dense layer of full windows: four clocks a rank, three between operations."""
    rng = np.random.default_rng(seed)
    sim = bench(5, 16, 4, seed)
    case = Case(rng, 0, 5, 4)
    case.layer = Layer(32, 10, 1, tiles=4)
    case.encoding = encode(np.zeros(32, int), np.zeros(10, int), 1, Width())
    build = Build(1, BANKS, 5, SLOTS, 4, WIN, WROWS, 1 << 12, RROWS)
    case.plan = plan(case.encoding, build, 4)
    case.w16 = half(rng.standard_normal((32, 10)))
    case.windows = windows_of(case.encoding, case.plan, case.layer)
    case.load(sim, [])
    word = operation_word(FW, 0, case.layer, 32, 0)
    out = sim.run(
        2000, op_valid_i=np.ones(2000), op_i=words([word] * 2000, OPERATION_BITS),
        op_tiles_i=np.full(2000, 4),
    )  # fmt: skip
    starts = np.flatnonzero(out["op_ready_o"])
    assert (np.diff(starts) == 4 * 4 * 32 + 3).all()
    assert out["busy_o"][starts[1] : starts[-1]].mean() == 512 / 515
