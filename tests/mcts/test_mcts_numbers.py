"""Scores, tables, selectors and banks of the mcts engine, each by itself."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from flow.effort import scale
from models.mcts import banks, score, select
from models.mcts.formats import (
    NO_ID,
    REQUEST,
    Flag,
    Geometry,
    Op,
    pack_requests,
    pack_responses,
    to_prior,
    to_value,
    unpack_responses,
)
from models.mcts.tables import (
    EXPONENT_LSB,
    LEFT_EDGES,
    RULES,
    TABLE_WORDS,
    curves,
    decode,
    encode_g,
    tables,
)
from models.sources import digest

ONE = 1 << 20
index_of = score.table_index.py_func
mean, weight, base, less = (
    score.mean.py_func, score.weight.py_func, score.base.py_func, score.less.py_func,
)  # fmt: skip


# ---- Tables
def test_table_index_finds_the_step_of_every_count() -> None:
    """The step that holds a count is the last whose left edge is not above it."""
    counts = np.arange(1 << 17)
    want = np.searchsorted(LEFT_EDGES, counts, side="right") - 1
    got = [index_of(int(n)) for n in counts[:: max(1, 1 << 17 >> 14)]]
    assert got == want[:: max(1, 1 << 17 >> 14)].tolist()
    edges = LEFT_EDGES[1:].tolist()
    assert [index_of(n) for n in edges] == list(range(1, TABLE_WORDS))
    assert [index_of(n - 1) for n in edges] == list(range(TABLE_WORDS - 1))
    assert index_of((1 << 17) - 1) == TABLE_WORDS - 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("c", [0.0, 0.05, 1.0, 7.3, 20.0])
def test_tables_are_near_their_curves(rule: str, c: float) -> None:
    g, r = curves(rule, c)
    mantissa, shift, fixed_r, wrong = decode(tables(rule, c))
    assert wrong is None
    got = mantissa * 2.0 ** (21 - shift - 16)
    assert (np.abs(got - g) <= 2.0 ** (21 - shift - 17)).all()  # half a unit of the mantissa
    small = shift < 21  # a larger exponent is taken only where the mantissa needs it
    assert (mantissa[small] >= 1 << 13).all() and mantissa.max() < 1 << 17
    assert (np.abs(fixed_r / 2**25 - r) <= 2.0**-26).all()


def test_a_table_beyond_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="want 0 to less than 8192"):
        tables("puct", 100.0)
    with pytest.raises(ValueError, match="want 0 to less than 8192"):
        encode_g(np.array([-1.0]))
    with pytest.raises(ValueError, match="rule: got 'ucb', want one of uct"):
        tables("ucb", 1.0)
    words = tables("uct", 1.0)
    for at, word in ((3, 5 << EXPONENT_LSB), (1023, 1 << 17), (1024, 1 << 26), (2047, 1 << 31)):
        wrong = words.copy()
        wrong[at] = word
        assert decode(wrong)[3] == at


# ---- Scores
def test_mean_rounds_down() -> None:
    for w, n in ((-1, 3), (-3, 3), (1, 3), (-(1 << 39) + 1, 65535), ((1 << 39) - 1, 65535)):
        assert mean(w, n, 9) == math.floor(Fraction(w, n))
    assert mean(0, 0, -7) == -7


def test_weight_of_a_visited_and_of_an_unvisited_child() -> None:
    assert weight(score.PRIOR_ONE, 0, 0) == 1 << 25 and weight(1, 0, 0) == 1 << 9
    assert weight(score.PRIOR_ONE, 4, 1 << 24) == 1 << 24
    assert weight(3, 4, (1 << 16) - 1) == 2  # rounded down


def test_base_is_the_formula_saturated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(scale(20000)):
        q = int(rng.integers(-(1 << 23), 1 << 23))
        h, m = int(rng.integers(1 << 26)), int(rng.integers(1 << 17))
        e = int(rng.choice([0, 4, 8, 12]))
        exact = Fraction(q, ONE) + Fraction(m * 2**e, 2**16) * Fraction(h, 2**25)
        want = max(-(2**31) + 1, min(2**31 - 1, math.floor(exact * ONE)))
        assert base(q, h, m, 21 - e, False) == want
    most = base((1 << 23) - 1, (1 << 26) - 1, (1 << 17) - 1, 9, False)
    assert most == 2**31 - 1 == base(0, 0, 0, 21, True)


def test_virtual_loss_stops_above_an_illegal_child() -> None:
    least = less(-(2**31) + 5, 100)
    assert least == -(2**31) + 1 > score.ILLEGAL
    assert less(5, 7) == -2


# ---- Selectors
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_select_finds_the_first_of_the_largest(count: int) -> None:
    """Every order with ties, every factor."""
    for scores in product(range(min(count, 4)), repeat=count):
        want = scores.index(max(scores))
        assert {select.select(scores, f) for f in range(2, count + 1)} == {want}, scores


@pytest.mark.parametrize(("count", "f"), [(6, 2), (6, 3), (6, 6), (18, 3), (18, 5), (18, 18)])
def test_select_of_wide_lists(count: int, f: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for spread in (1, 3, 1 << 31):
        for _ in range(scale(200)):
            scores = rng.integers(-spread, spread, count).tolist()
            assert select.select(scores, f) == scores.index(max(scores))


def test_lookup_of_patterns_that_no_order_has() -> None:
    orders = {select.compare(p) for p in product(range(3), repeat=3)}
    table = select.lookup(3)
    assert len(table) == 8 and len(orders) < 8
    assert {table[p] for p in range(8) if p not in orders} == {0}
    for p in permutations(range(4)):
        assert select.lookup(4)[select.compare(p)] == p.index(3)


@pytest.mark.parametrize(
    ("count", "f", "clocks", "comparators"),
    [
        (6, 2, 3, 5), (6, 3, 2, 7), (6, 6, 1, 15),
        (18, 3, 3, 25), (18, 5, 2, 38), (18, 6, 2, 48), (18, 9, 2, 73), (18, 18, 1, 153),
    ],
)  # fmt: skip
def test_cost_of_a_selector(count: int, f: int, clocks: int, comparators: int) -> None:
    assert (select.clocks(count, f), select.comparators(count, f)) == (clocks, comparators)


# ---- Banks
@pytest.mark.parametrize("d", [2, 4, 8, 16])
def test_ways_lead_to_ports_and_meet_where_it_says(d: int) -> None:
    ways = {(s, p): banks.route(s, p, d) for s in range(d) for p in range(d)}
    assert all(rows[-1] == port for (_, port), rows in ways.items())
    assert banks.route(1, d + 1, d)[-1] == 1  # the upper bits of a bank do not route
    meet = banks.meet.py_func
    for (s, p), (other, q) in product(ways, repeat=2):
        if s != other:
            share = any(a == b for a, b in zip(ways[s, p], ways[other, q], strict=True))
            assert meet(s, p, other, q) == share, (s, p, other, q)


def chosen(policy: int, levels: list[int], xbar: int = 0) -> list[int]:
    """Banks that levels get one after the other, of 16 on 4 ports."""
    y, d = 16, 4
    owner, in_use, out = np.full(y, -1, np.int64), np.zeros((d, d), np.bool_), []
    for level in levels:
        bank = banks.choose(owner, in_use, level, policy, xbar)
        out.append(int(bank))
        if bank >= 0:
            owner[bank], in_use[level, bank % d] = level, True
    return out


def test_banks_by_policy() -> None:
    assert chosen(banks.NEXT_EMPTY, [1, 2, 3, 1]) == [0, 1, 2, 3]
    assert chosen(banks.STATIC, [1, 2, 1, 3, 1, 1, 1]) == [1, 2, 5, 3, 9, 13, -1]
    # Level 2 cannot have bank 4: port 0 is level 1's, and their ways meet there.
    assert chosen(banks.ALGORITHM_2, [1, 2, 3, 1, 2]) == [0, 1, 2, 3, 5]
    assert chosen(banks.ALGORITHM_2, [1] * 17) == [*range(16), -1]
    # In a crossbar levels meet at ports alone: each port gets one level, then level 1 stays on its.
    assert chosen(banks.ALGORITHM_2, [1, 2, 3, 2, 1], xbar=1) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("xbar", [0, 1])
def test_algorithm_2_takes_the_least_of_all_conflicts(xbar: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, y = 8, 32

    def rows(level: int, bank: int) -> list[int]:
        return banks.route(level, bank, d)[-1 if xbar else 0 :]

    for _ in range(scale(10, 2)):
        owner, in_use = np.full(y, -1, np.int64), np.zeros((d, d), np.bool_)
        for level in rng.integers(1, d, 20):

            def cost(bank: int, level: int = int(level)) -> int:
                mine = rows(level, bank)
                others = (
                    any(
                        any(a == b for a, b in zip(mine, rows(s, p), strict=True))
                        for p in range(d) if in_use[s, p]  # noqa: B023
                    )
                    for s in range(d) if s != level
                )  # fmt: skip
                return sum(others)

            want = min((b for b in range(y) if owner[b] < 0), key=lambda b: (cost(b), b))
            bank = int(banks.choose(owner, in_use, int(level), banks.ALGORITHM_2, xbar))
            assert bank == want
            owner[bank], in_use[level, bank % d] = level, True


def test_a_digest_follows_its_sources(tmp_path: Path) -> None:
    """Of what compiled functions are kept under."""
    module = ModuleType("some")
    module.__file__ = str(tmp_path / "some.py")
    found = set()
    for text in ("A = 1\n", "A = 2\n", "A = 2\n"):
        (tmp_path / "some.py").write_text(text)
        found.add(digest(module, score))
    assert len(found) == 2 and digest(score) not in found


# ---- Formats
def test_requests_lie_as_the_page_says() -> None:
    requests = np.zeros(3, REQUEST)
    requests[0] = (Op.SEL, 0, 0xABC, 0x1234, 0, 0, 0xBEEF)
    requests[1] = (Op.UPD, Flag.ACT | Flag.EXT, 5, 0, -1.0, 0b101, 7)
    requests[2] = (Op.FENCE, 0, 0, 0, 0, 0, 1)
    priors = np.zeros((3, 10), np.uint16)
    priors[1] = range(1, 11)
    words = pack_requests(requests, priors, Geometry(f=10))
    assert words.tolist() == [
        [0x340ABC01, 0x12, 0, 0xBEEF],
        [0x00000592, 0xF0000000, 0b101, 7],
        [2 << 16 | 1, 4 << 16 | 3, 6 << 16 | 5, 8 << 16 | 7],
        [10 << 16 | 9, 0, 0, 0],
        [6, 0, 0, 1],
    ]


def test_responses_lie_as_the_page_says() -> None:
    columns = np.array([[4, 0xFFF, 63, 31, 65535, NO_ID, 3, 0xBEEF], [14, 1, 2, 3, 4, 5, 6, 7]])
    words = pack_responses(columns, 15, 4, (1 << 32) + 9)
    assert words[0].tolist() == [0x7FFFFF09, 0xFFFFFFFF, 0xBEEF0003, 9]
    found, phase = unpack_responses(words)
    assert phase.tolist() == [1, 0]  # the second one is the first of the second pass
    for name, column in zip(found.dtype.names or (), columns.T, strict=False):
        assert found[name].tolist() == column.tolist(), name


def test_values_and_priors_saturate() -> None:
    assert to_value(np.array([8.0, -9.0, 2**-21, 3 * 2**-21])).tolist() == [
        (1 << 23) - 1, -(1 << 23), 0, 2,
    ]  # fmt: skip
    assert to_prior(np.array([1.0, -1.0, 0.5])).tolist() == [65535, 0, 32768]
