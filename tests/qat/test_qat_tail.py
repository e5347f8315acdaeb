"""The tail of a core: own lines, words that join X, deltas of actions; to bit and clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds, regress
from models.qat import ops
from verif.play import Block, Player
from verif.qat.array import WORD, Table, unpack

STEP, BEYOND = 154, 1 << 17  # from a vector's line to the next's; own addresses are even
OWN, LATE = 8, 10  # clocks
SIZES = {
    "4": (4, 25, 2),
    "4x4": (4, 9, 4),
    "8": (8, 17, 1),
    "16": (16, 65, 4),
}  # Lw, Entries, Lanes
ENDS = [0, 1, -1, (1 << 31) - 1, -(1 << 31), 0x7FFF, 0x8000, -0x8000, -0x8001]


def block(lw: int) -> Block:
    """jd_qat_tail."""
    line, over = lw * WORD, lw.bit_length()
    return Block(
        "jackdaw:engine:qat_array",
        "jd_qat_tail",
        {
            "clear_i": 1, "in_valid_i": 1, "in_odd_i": 1, "in_tanh_i": 1, "in_delta_i": 1,
            "in_joins_i": 1, "in_joins_only_i": 1, "in_half_i": 1, "in_watch_i": 1,
            "in_closes_i": 1, "in_acting_i": 1, "in_words_i": 5, "in_word_i": 5, "in_down_i": 5,
            "in_address_i": 18, "in_step_i": 18, "in_odd_slot_i": 1, "in_join_i": 18,
            "in_data_i": 2 * line, "in_mu_i": line, "out_ready_i": 1,
        },
        {
            "idle_o": 1, "out_valid_o": 1, "out_closes_o": 1, "out_delta_o": 1,
            "out_odd_slot_o": 1, "out_address_o": 18, "out_mask_o": lw, "out_half_o": 2,
            "out_data_o": line, "out_watch_o": 1, "out_over_o": over, "out_acting_o": 1,
        },
    )  # fmt: skip


def player(size: str, seed: int) -> Player:
    """The tail, out of reset."""
    lw, entries, lanes = SIZES[size]
    return Player(block(lw), {"Lw": lw, "Entries": entries, "Lanes": lanes}, seed)


pytestmark = builds(lambda size: player(size, 1))


@dataclass(frozen=True)
class Line:
    """A line that must come.

    Attributes:
        turn: number of its pass.
        least: clock in which it is offered, if nothing is before it.
        late: it is a joined line, or deltas.
        fields: of the output.
    """

    turn: int
    least: int
    late: bool
    fields: dict[str, int]
    data: np.ndarray


@dataclass(frozen=True)
class Kind:
    """What a pass has in common.

    Attributes:
        delta, joins, only, half, tanh: as of the ports.
        word, words: of the action.
    """

    delta: bool
    joins: bool
    only: bool
    half: bool
    tanh: bool
    word: int
    words: int


def kinds(rng: np.random.Generator, lw: int) -> Iterator[Kind]:
    """Outputs, joined ones and deltas, of 1 to all words at each place of a line, in turn."""
    turn = 0
    while True:
        delta, joins = turn % 3 == 2, turn % 3 == 1
        words = int(rng.integers(1, lw + 1))
        word = turn // 3 % lw if delta or joins else 0
        words = min(words, lw - word) if turn % 4 else lw - word
        only, half, tanh = (bool(rng.random() < p) for p in (0.5, 0.6, 0.7))
        yield Kind(delta, joins, only and joins, half and not delta, tanh, word, words)
        turn += 1


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Words of all sizes, some of them special."""
    some = rng.integers(-(1 << 31), 1 << 31, shape) >> rng.integers(0, 31, shape)
    return np.where(rng.random(shape) < 0.2, rng.choice(ENDS, shape), some)


def lines_of(
    k: Kind, turn: int, came: int, entry: dict[str, int], data: np.ndarray, mu: np.ndarray,
    lanes: int,
) -> Iterator[Line]:  # fmt: skip
    """What an entry becomes."""
    lw, closes = data.shape[1], entry["in_closes_i"]
    odd = entry["in_odd_i"]
    groups = -(-k.words // lanes) - 1 if k.delta or entry["in_joins_i"] or k.tanh else 0
    whole = {"mask": (1 << lw) - 1, "half": 3, "watch": 0, "over": 0, "acting": 0}
    joins = entry["in_joins_i"]
    if k.delta:
        part = slice(k.word, k.word + k.words)
        d, over = ops.derivative(data[0, part], mu[: k.words], ops.TANH if k.tanh else ops.NONE)
        assert not over
        fields = {"closes": closes, "delta": 1, "odd_slot": entry["in_odd_slot_i"],
                  "address": entry["in_address_i"], **whole}  # fmt: skip
        yield Line(turn, came + LATE + groups, True, fields, np.pad(d, (0, lw - k.words)))
        return
    for which in range(1 + odd):
        a = data[which, : k.words]
        a = ops.tanh(a) if k.tanh else a
        last = closes and which == odd
        if not k.only:
            fields = {**whole, "closes": int(last and not joins), "delta": 0,
                      "address": entry["in_address_i"] + STEP * which,
                      "acting": entry["in_acting_i"]}  # fmt: skip
            yield Line(turn, came + OWN + groups, False, fields, np.pad(a, (0, lw - k.words)))
        if joins:
            over, halves = 0, 3
            if k.half:
                a, over = ops.quantize(a, entry["in_down_i"])
                a = a << 16 if which else a & ops.LANE
                halves = 3 if not odd else 2 if which else 1
            fields = {"closes": int(last), "delta": 0, "address": entry["in_join_i"],
                      "mask": ((1 << k.words) - 1) << k.word, "half": halves,
                      "watch": entry["in_watch_i"], "over": over, "acting": 0}  # fmt: skip
            padded = np.pad(a, (k.word, lw - k.words - k.word))
            yield Line(turn, came + LATE + groups, True, fields, padded)


@pytest.mark.parametrize("size", ["4", *(regress(size) for size in ("4x4", "8", "16"))])
@pytest.mark.parametrize("slow", [False, True])
def test_qat_tail(size: str, slow: bool, seed: int) -> None:
    """Passes of each kind, under back-pressure or not; the first fills all that can wait."""
    lw, most, lanes = SIZES[size]
    rng = np.random.default_rng([seed, 5, lw])
    turns = max(12 * lw, scale(180))
    inputs: list[tuple[int, dict[str, int | np.ndarray]]] = []
    want: list[Line] = []
    at: list[int] = []  # clock of each line's entry
    clock = 1
    met: set[object] = set()
    for turn, k in zip(range(turns), kinds(rng, lw), strict=False):
        entries = most - 3 if turn < 3 else int(rng.integers(1, min(most - 2, 10)))
        for index in range(entries):
            closes = index == entries - 1
            acting = closes and not k.delta and not k.only and turn % 2 == 1
            odd = k.half and index < most // 2 and (turn < 3 or bool(rng.random() < 0.6))
            odd &= not acting
            data, mu = numbers(rng, 2, lw), numbers(rng, lw)
            if k.tanh:
                mu = ops.tanh(mu >> rng.integers(0, 16))
            entry = {
                "in_odd_i": odd, "in_tanh_i": k.tanh, "in_delta_i": k.delta,
                "in_joins_i": k.joins and not acting, "in_joins_only_i": k.only,
                "in_half_i": k.half, "in_watch_i": int(rng.integers(0, 2)),
                "in_closes_i": closes, "in_acting_i": acting,
                "in_words_i": k.words + (k.word if k.delta else 0), "in_word_i": k.word,
                "in_down_i": int(rng.integers(0, 17)),
                "in_address_i": 2 * int(rng.integers(0, BEYOND // 2)), "in_step_i": STEP,
                "in_odd_slot_i": int(rng.integers(0, 2)),
                "in_join_i": 2 * int(rng.integers(0, BEYOND // 2)) + 1,
            }  # fmt: skip
            inputs.append((clock, {"in_valid_i": 1, "in_data_i": data, "in_mu_i": mu, **entry}))
            found = list(lines_of(k, turn, clock, entry, data, mu, lanes))
            want += found
            at += [clock] * len(found)
            met |= {("over", line.fields["over"] > 0) for line in found}
            met |= {(k.delta, k.joins, k.only, k.half, k.tanh, odd)}
            clock += 1 if rng.random() < 0.7 else 2
        met.add((k.delta, k.joins, k.word))
        clock += entries * (3 + 4 * -(-k.words // lanes)) * (3 if slow else 1) + 100
    table = Table(clock, block(lw).inputs)
    for at_clock, ports in inputs:
        table.set(at_clock, **ports)
    assert {("over", True), ("over", False)} <= met
    assert all((delta, not delta, word) in met for delta in (0, 1) for word in range(lw))
    ready = np.ones(table.clocks, bool)
    if slow:
        ready = (np.arange(table.clocks) % 70 >= 30) & (rng.random(table.clocks) < 0.7)
    for index in np.flatnonzero(ready).tolist():
        table.set(index, out_ready_i=1)
    with player(size, seed) as sim:
        out = table.run(sim)
    took = np.flatnonzero(out["out_valid_o"].astype(bool) & ready)
    assert len(took) == len(want)
    data = unpack(out["out_data_o"], WORD, lw)
    kept = {late: [pair for pair in zip(want, at, strict=True) if pair[0].late == late]
            for late in (False, True)}  # fmt: skip
    busy = np.zeros(table.clocks, bool)
    left = np.bincount([line.turn for line in want])
    exact = 0
    for clock in took.tolist():
        late = bool(out["out_delta_o"][clock]) or bool(out["out_address_o"][clock] & 1)
        line, came = kept[late].pop(0)
        got = {name: int(out[f"out_{name}_o"][clock]) for name in line.fields}
        assert got == line.fields, f"clock {clock}: {line}"
        np.testing.assert_array_equal(data[clock], line.data, f"clock {clock}: {line}")
        assert clock >= line.least
        exact += clock == line.least
        busy[came : clock + 1] = True
        left[line.turn] -= 1
        assert not line.fields["closes"] or not left[line.turn], "lines after the tile is closed"
    assert slow or exact >= turns - 3, "first lines of passes come late"
    np.testing.assert_array_equal(out["idle_o"].astype(bool), ~busy)


@pytest.mark.parametrize("size", ["4"])
def test_qat_tail_clear(size: str, seed: int) -> None:
    lw = SIZES[size][0]
    table = Table(80, block(lw).inputs)
    for clock in range(2, 8):
        table.set(clock, in_valid_i=1, in_tanh_i=1, in_joins_i=1, in_words_i=lw)
    for clock in range(80):
        table.set(clock, out_ready_i=1)
    table.set(9, clear_i=1)
    with player(size, seed) as sim:
        out = table.run(sim)
    assert not out["out_valid_o"][10:].any() and out["idle_o"][12:].all()


@pytest.mark.parametrize("size", ["4"])
def test_qat_tail_action_too_large(size: str, seed: int) -> None:
    lw = SIZES[size][0]
    table = Table(10, block(lw).inputs)
    table.set(3, in_valid_i=1, in_delta_i=1, in_tanh_i=1, in_words_i=1, in_mu_i=np.full(lw, 65537))
    with player(size, seed) as sim, pytest.raises(CheckFailed) as found:
        table.run(sim)
    assert found.value.name == "MuInRange_M"
