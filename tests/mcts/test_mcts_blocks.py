"""Blocks of the mcts engine alone: selector, division, updater, networks, banks, order."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import product
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.mcts import select as selection
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY, STATIC, choose, conflicts
from models.mcts.score import PRIOR_ONE, SCORE_MOST, base, mean, table_index, weight
from models.mcts.tables import SHIFT_MOST
from tests.mcts.ports import clock, pack, unpack, words_of
from verif.coverage import Tally
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts"
SCORE, SUM, VALUE, WEIGHT, PRIOR = 32, 40, 24, 26, 16
DIVIDE = 12  # clocks
DEPTH = 8  # entries of the updater under test


def selector(f: int, factor: int, seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_select", {"valid_i": 1, "scores_i": SCORE * f}, {"index_o": 5}
    )  # fmt: skip
    return Player(block, {"F": f, "Fs": factor}, seed)


def divider(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_divide", {"valid_i": 1, "sum_i": SUM, "count_i": 16},
        {"valid_o": 1, "mean_o": VALUE},
    )  # fmt: skip
    return Player(block, {}, seed)


def updater(f: int, mu: int, seed: int) -> Player:
    block = Block(
        CORE,
        "jd_mcts_update",
        {
            "puct_i": 1, "first_i": 1, "fpu_i": VALUE, "table_i": 38, "valid_i": 1, "all_i": 1,
            "entry_i": 3, "action_i": 5, "sum_i": SUM, "visits_i": 16, "total_i": 17,
            "unvisited_i": f, "priors_i": PRIOR * f, "peek_i": 1, "peek_entry_i": 3,
        },
        {"scores_valid_o": 1, "scores_entry_o": 3, "scores_o": SCORE * f},
    )  # fmt: skip
    return Player(block, {"F": f, "Mu": mu, "Depth": DEPTH}, seed)


def network(d: int, xbar: int, seed: int) -> Player:
    row = d.bit_length() - 1
    block = Block(
        CORE,
        "jd_mcts_net_bench",
        {"in_valid_i": d, "in_row_i": row * d, "in_data_i": 16 * d, "out_ready_i": d},
        {
            "in_ready_o": d,
            "out_valid_o": d,
            "out_data_o": 16 * d,
            "contend_o": d * (1 if xbar else row),
        },
        sources=("verif/mcts/jd_mcts_net_bench.sv",),
    )
    return Player(block, {"D": d, "Width": 16, "Xbar": xbar}, seed)


def allocator(d: int, y: int, cap: int, sf: int, xbar: int, seed: int) -> Player:
    levels = d - 1
    block = Block(
        CORE,
        "jd_mcts_alloc",
        {
            "clear_i": 1, "policy_i": 2, "d_act_i": 7, "slot_ready_i": levels,
            "back_valid_i": levels, "back_i": 14 * levels, "used_i": levels,
        },
        {
            "slot_valid_o": levels, "slot_o": 14 * levels, "full_o": levels, "search_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"D": d, "Y": y, "Cap": cap, "Sf": sf, "Xbar": xbar}, seed)


SCOREBOARD = {"EntryW": 2, "TSel": 2, "Hard": 5, "Publish": 12, "Spread": 3}


def scoreboard(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_scoreboard",
        {"entry_i": 2, "select_i": 1, "scores_i": 1, "hard_i": 1, "start_i": 1},
        {"go_o": 1},
    )  # fmt: skip
    return Player(block, SCOREBOARD, seed)


TOKEN, TOKENS, WORKERS = 95, 4, 4  # bits; in flight at most


def front(seed: int) -> Player:
    block = Block(
        "jackdaw:engine:mcts_top", "jd_mcts_front",
        {
            "clear_i": 1, "stop_i": 1, "settings_i": 65, "room_i": 1, "request_valid_i": 1,
            "request_i": 128, "request_priors_i": 3 * PRIOR, "request_cut_i": 1,
            "request_root_i": 1, "request_list_i": 4, "out_ready_i": 1, "retire_valid_i": 1,
            "retire_token_i": TOKEN, "silent_i": 1, "response_ready_i": 1, "root_done_i": 1,
            "root_failed_i": 1,
        },
        {"request_ready_o": 1, "out_valid_o": 1, "out_token_o": TOKEN, "retire_ready_o": 1},
    )  # fmt: skip
    return Player(block, {"F": 3, "X": 10, "WMax": WORKERS, "T": TOKENS}, seed)


SELECTORS = [(3, 2), (5, 5), (6, 4), (18, 5), regress(18, 18), regress(32, 3)]
STEPS = (511, 512, 1023, 1024)  # counts at the steps of the tables
UPDATERS = [(3, 3), (5, 2), regress(18, 9), regress(6, 1)]
NETWORKS = [(16, 1), (8, 0), regress(4, 1), regress(16, 0), regress(8, 1), regress(2, 0)]
BANKS = [
    (4, 8, 4, 2, 0),
    (4, 8, 4, 2, 1),
    (8, 16, 2, 1, 0),
    regress(8, 16, 2, 1, 1),
    regress(16, 64, 8, 5, 0),
    regress(2, 4, 4, 3, 0),
]  # levels, banks, entries of one, slots that are ready, crossbars; fmt: skip


# ---- Selection
def groups_of(f: int, factor: int) -> list[tuple[int, int, range]]:
    """Groups of at least two scores: clock, number, places."""
    out, left, t = [], f, 0
    while left > 1:
        parts = selection.groups(left, factor)
        out += [(t, g, part) for g, part in enumerate(parts) if len(part) > 1]
        left, t = len(parts), t + 1
    return out


def ties(row: list[int], factor: int) -> list[tuple[int, int]]:
    """Groups, by clock and number, whose largest score is there more than once."""
    found, scores, t = [], row, 0
    while len(scores) > 1:
        parts = [[scores[k] for k in part] for part in selection.groups(len(scores), factor)]
        found += [(t, g) for g, part in enumerate(parts) if part.count(max(part)) > 1]
        scores, t = [max(part) for part in parts], t + 1
    return found


@builds(lambda f, factor: selector(f, factor, 1))
@pytest.mark.parametrize(("f", "factor"), SELECTORS)
def test_selector(f: int, factor: int, seed: int) -> None:
    """All orders with ties of few scores; extremes and random ones of many; with pauses."""
    rng = np.random.default_rng(seed)
    if f <= 5:
        rows = np.array(list(product(range(f), repeat=f))) - 1
    else:
        edge = np.array([-(1 << 31), -(1 << 31) + 1, (1 << 31) - 1, 0])
        rows = np.concatenate(
            [rng.choice(edge, (600, f)), rng.integers(-4, 4, (600, f)),
             rng.integers(-(1 << 31), 1 << 31, (600, f))]
        )  # fmt: skip
    later = selection.clocks(f, factor) - 1
    count = len(rows) + later
    valid = np.pad(np.ones(len(rows)), (0, later))
    out = selector(f, factor, seed).run(
        count, valid_i=valid, scores_i=np.pad(pack(rows, SCORE), ((0, later), (0, 0)))
    )
    want = [selection.select(row, factor) for row in rows.tolist()]
    assert out["index_o"][later:].tolist() == want
    tally = Tally(f"mcts.select{f}", {"tie": [f"{t}_{g}" for t, g, _ in groups_of(f, factor)]})
    for row in rows.tolist():
        for t, g in ties(row, factor):
            tally.hit("tie", f"{t}_{g}")
    tally.save(CORE, f"select-{f}-{factor}-{seed}")
    tally.require()


# ---- Updates
@builds(lambda: divider(1))
def test_division(seed: int) -> None:
    """Rounds down, also below 0; all limits."""
    rng = np.random.default_rng(seed)
    random = scale(20_000, 2000)
    n = np.concatenate([[1, 1, 65535, 65535, 3, 3, 7], rng.integers(1, 65536, random)])
    w = rng.integers(-(n << 23), (n << 23) - n + 1)
    w[:7] = [-(1 << 23), (1 << 23) - 1, -(65535 << 23), 65535 * ((1 << 23) - 1), -1, 1, -7]
    w[7 : 7 + random // 2] >>= rng.integers(0, 40, random // 2)
    count = len(n) + DIVIDE
    gap = np.pad(rng.random(len(n)) < 0.9, (0, DIVIDE))
    pad = (0, DIVIDE)
    out = divider(seed).run(
        count, valid_i=gap, sum_i=pack(np.pad(w, pad)[:, None], SUM), count_i=np.pad(n, pad)
    )
    assert out["valid_o"][DIVIDE:].tolist() == gap[:-DIVIDE].tolist()
    took = np.flatnonzero(gap)
    got = [unpack(out["mean_o"][at + DIVIDE], VALUE, 1)[0] for at in took]
    assert got == [int(w[at]) // int(n[at]) for at in took]


@builds(lambda f, mu: updater(f, mu, 1))
@pytest.mark.parametrize(("f", "mu"), UPDATERS)
@pytest.mark.parametrize("puct", [0, 1])
def test_updates(f: int, mu: int, puct: int, seed: int) -> None:
    """Updates of few nodes as close as they may come; each has the means of those before it."""
    rng = np.random.default_rng(seed)
    spread, rounds = -(-f // mu), scale(3000, 300)
    later = 16 + spread - 1
    sim = updater(f, mu, seed)
    mantissa, shift = rng.integers(0, 1 << 17, 1024), SHIFT_MOST - rng.choice([0, 4, 8, 12], 1024)
    r = rng.integers(0, 1 << WEIGHT, 1024)
    words = np.concatenate([mantissa | shift << 17, r]) | np.arange(2048) << 26 | 1 << 37
    sim.run(2048, table_i=pack(words[:, None], 38))

    tally = Tally(
        f"mcts.update{f}",
        {"visits": map(str, STEPS), "total": map(str, STEPS), "score": ["saturated"]},
    )
    clocks = rounds * (spread + 2)
    first, fpu = int(rng.integers(2)), int(rng.integers(-(1 << 23), 1 << 23))
    given: dict[str, np.ndarray] = {
        name: np.zeros(clocks, np.int64)
        for name in ("valid_i", "all_i", "entry_i", "action_i", "sum_i", "visits_i", "total_i",
                     "unvisited_i")
    }  # fmt: skip
    priors = rng.integers(0, 1 << PRIOR, (clocks, f))
    q, h = np.zeros((DEPTH, f), np.int64), np.zeros((DEPTH, f), np.int64)
    n = np.full((DEPTH, f), -1, np.int64)
    want: dict[int, tuple[int, list[int]]] = {}
    at = 0
    while at < clocks - later - 1:
        entry = int(rng.integers(3)) if rng.random() < 0.8 else int(rng.integers(DEPTH))
        everything = n[entry, 0] < 0 or rng.random() < 0.05
        action = int(rng.integers(f))
        total = int(rng.integers(1 << 17)) >> int(rng.integers(17))
        if rng.random() < 0.1:
            total = int(rng.choice(STEPS))
        if everything:
            n[entry] = 0
            for a in range(f):
                prior = int(priors[at, a]) if puct else PRIOR_ONE
                q[entry, a], h[entry, a] = fpu, weight(prior, 0, 0)
            total = 0
        else:
            visits = int(rng.integers(1, 1 << 16)) >> int(rng.integers(16)) or 1
            if rng.random() < 0.1:
                visits = int(rng.choice(STEPS))
                tally.hit("visits", str(visits))
            total_value = int(rng.integers(-(visits << 23), (visits << 23) - visits + 1))
            n[entry, action] = visits
            prior = int(priors[at, action]) if puct else PRIOR_ONE
            q[entry, action] = mean(total_value, visits, fpu)
            h[entry, action] = weight(prior, visits, r[table_index(visits)])
            given["sum_i"][at], given["visits_i"][at] = total_value, visits
        if total in STEPS:
            tally.hit("total", str(total))
        index = table_index(total)
        given["valid_i"][at], given["all_i"][at] = 1, everything
        given["entry_i"][at], given["action_i"][at], given["total_i"][at] = entry, action, total
        given["unvisited_i"][at] = sum(int(n[entry, a] == 0) << a for a in range(f))
        row = [
            int(base(int(q[entry, a]), int(h[entry, a]), int(mantissa[index]), int(shift[index]),
                     bool(first and n[entry, a] == 0)))
            for a in range(f)
        ]  # fmt: skip
        want[at + later] = entry, row
        if any(u == SCORE_MOST and not (first and n[entry, a] == 0) for a, u in enumerate(row)):
            tally.hit("score", "saturated")
        at += spread + int(rng.integers(3)) * (rng.random() < 0.3)
    out = sim.run(
        clocks, puct_i=np.full(clocks, puct), first_i=np.full(clocks, first),
        fpu_i=np.full(clocks, fpu & (1 << VALUE) - 1), priors_i=pack(priors, PRIOR),
        **(given | {"sum_i": pack(given["sum_i"][:, None], SUM)}),
    )  # fmt: skip
    assert np.flatnonzero(out["scores_valid_o"]).tolist() == sorted(want)
    for when, (entry, row) in want.items():
        got = int(out["scores_entry_o"][when]), unpack(out["scores_o"][when], SCORE, f)
        assert got == (entry, row), f"clock {when}"
    tally.save(CORE, f"update-{f}-{mu}-{puct}-{seed}")
    tally.require()


# ---- Networks
@builds(lambda d, xbar: network(d, xbar, 1))
@pytest.mark.parametrize(("d", "xbar"), NETWORKS)
def test_network(d: int, xbar: int, seed: int) -> None:
    """Hot spots, all pairs, back-pressure: each word once, at its row, in order; latency."""
    rng = np.random.default_rng(seed)
    sim, bits = network(d, xbar, seed), d.bit_length() - 1
    waits: list[deque[tuple[int, int]]] = [deque() for _ in range(d)]  # row, word
    sent: dict[tuple[int, int], deque[int]] = defaultdict(deque)  # of a pair, on its way
    number, fewest = 0, None
    layers = 1 if xbar else bits
    tally = Tally(
        f"mcts.net{d}{'x' if xbar else 'b'}",
        {"contend": [f"{x}_{y}" for x in range(layers) for y in range(d)]},
    )
    began: dict[int, int] = {}
    for now in range(scale(6000, 900)):
        phase = now // 60 % 3
        for i in range(d):
            if not waits[i] and rng.random() < (0.9, 0.9, 0.05)[phase]:
                row = int(rng.integers(d)) if phase != 1 else int(rng.integers(2)) * (d - 1)
                waits[i].append((row, i << 12 | number & 0xFFF))
                number += 1
        ready = int(rng.integers(1 << d)) if phase != 2 else (1 << d) - 1
        out = clock(
            sim,
            in_valid_i=sum(bool(w) << i for i, w in enumerate(waits)),
            in_row_i=pack(np.array([[w[0][0] if w else 0 for w in waits]]), bits),
            in_data_i=pack(np.array([[w[0][1] if w else 0 for w in waits]]), 16),
            out_ready_i=ready,
        )
        words = [x & 0xFFFF for x in unpack(out["out_data_o"], 16, d)]
        for k, contend in enumerate(unpack(out["contend_o"], 1, layers * d)):
            if contend:
                tally.hit("contend", f"{k // d}_{k % d}")
        for y in range(d):
            if int(out["out_valid_o"][0]) & ready & 1 << y:
                source = words[y] >> 12
                assert sent[source, y].popleft() == words[y], f"clock {now}: row {y}"
                took = now - began.pop(words[y])
                fewest = took if fewest is None else min(fewest, took)
        for i in range(d):
            if int(out["in_ready_o"][0]) >> i & 1 and waits[i]:
                row, word = waits[i].popleft()
                sent[i, row].append(word)
                began[word] = now
    assert fewest == (1 if xbar else bits)
    for _ in range(60):
        out = clock(sim, out_ready_i=(1 << d) - 1)
        words = [x & 0xFFFF for x in unpack(out["out_data_o"], 16, d)]
        for y in range(d):
            if int(out["out_valid_o"][0]) >> y & 1:
                assert sent[words[y] >> 12, y].popleft() == words[y]
    assert not any(sent.values()) and number > d * d
    tally.save(CORE, f"net-{d}-{xbar}-{seed}")
    tally.require()


# ---- Banks
@builds(lambda d, y, cap, sf, xbar: allocator(d, y, cap, sf, xbar, 1))
@pytest.mark.parametrize(("d", "y", "cap", "sf", "xbar"), BANKS)
@pytest.mark.parametrize("policy", [ALGORITHM_2, NEXT_EMPTY, STATIC])
def test_banks(
    d: int, y: int, cap: int, sf: int, xbar: int, policy: int, seed: int
) -> None:  # fmt: skip
    """Slots of all levels, to the last; banks as the golden model chooses them; some come back.

    Between two trees that are filled some are dropped on the way.
    """
    rng = np.random.default_rng(seed)
    sim, levels = allocator(d, y, cap, sf, xbar, seed), d - 1
    # Equal candidates are there at first; with two levels there is no choice between ways.
    tally = Tally(
        f"mcts.banks{d}_{xbar}_{policy}",
        {"slot": ["used", "returned", "none"], "search": ["none", "one", "several"]},
    )
    full, half = 40 * d + 40 * y + 4 * y * cap, max(2, d // 2)
    dropped = [(d, int(rng.integers(1, 8 * d))) for _ in range(8)]  # on the way
    for used, most in ((d, full), *dropped, (half, full)):
        settings = {"policy_i": policy, "d_act_i": used}
        clock(sim, clear_i=1, **settings)
        owner, in_use = np.full(y, -1, np.int64), np.zeros((d, d), np.bool_)
        given: set[int] = set()
        back: dict[int, int] = {}
        for now in range(most):
            keep = {level: rng.random() < 0.25 for level in range(1, d)}
            returns, back = back, {}
            # A slot is looked at one clock before it is taken, so that its use goes with it.
            seen = clock(sim, **settings)
            slots = [x & 0x3FFF for x in unpack(seen["slot_o"], 14, levels)]
            valid = int(seen["slot_valid_o"][0])
            takes = consumed = 0
            for level in range(1, d):
                if not valid >> (level - 1) & 1:
                    if level < used and not int(seen["full_o"][0]) >> (level - 1) & 1:
                        tally.hit("slot", "none")
                    continue
                takes |= 1 << (level - 1)
                slot = slots[level - 1]
                bank = slot // cap
                if owner[bank] < 0:
                    costs = [
                        conflicts(in_use, level, b % d, xbar) if policy == ALGORITHM_2 else 0
                        for b in range(y)
                        if owner[b] < 0 and (policy != STATIC or b % d == level)
                    ]
                    equal = costs.count(min(costs))
                    tally.hit("search", "one" if equal == 1 else "several")
                    assert choose(owner, in_use, level, policy, xbar) == bank, f"level {level}"
                    owner[bank], in_use[level, bank % d] = level, True
                assert owner[bank] == level and level < used and slot not in given
                tally.hit("slot", "returned" if keep[level] else "used")
                if keep[level]:
                    back[level] = slot
                else:
                    consumed |= 1 << (level - 1)
                    given.add(slot)
            clock(
                sim, slot_ready_i=takes, used_i=consumed,
                back_valid_i=sum(1 << (level - 1) for level in returns),
                back_i=pack(np.array([[returns.get(k, 0) for k in range(1, d)]]), 14), **settings,
            )  # fmt: skip
            if now % 16 == 0 and not returns and not back:
                end = [clock(sim, **settings) for _ in range(4)][-1]
                if int(end["full_o"][0]) == (1 << (used - 1)) - 1:
                    break
        else:
            assert most < full, "the levels are not full"
            continue
        ports = used - 1 if policy == STATIC else d
        assert len(given) == ports * (y // d) * cap
        tally.hit("search", "none")  # every level is told so
    tally.save(CORE, f"banks-{d}-{y}-{xbar}-{policy}-{seed}")
    tally.require()


# ---- Order
@builds(lambda: scoreboard(1))
def test_scoreboard(seed: int) -> None:
    """Against the rules in words, from the list of what started."""
    rng = np.random.default_rng(seed)
    sim, s = scoreboard(seed), SCOREBOARD
    history: list[tuple[int, int, bool, bool]] = []  # clock, entry, scores, hard
    seen: set[tuple[bool, int]] = set()
    for now in range(scale(8000, 2500)):
        entry, kind = int(rng.integers(4)), int(rng.integers(4))
        select, scores, hard = kind == 0, kind in (1, 2), kind in (2, 3)
        inputs = {"entry_i": entry, "select_i": select, "scores_i": scores, "hard_i": hard}
        want = True
        for when, node, was_scores, was_hard in history[-s["Publish"] :]:
            age = now - when
            if node == entry:
                want &= not (select and was_scores and age < s["Publish"])
                want &= not (was_hard and age < s["Hard"]) and age >= s["TSel"]
            want &= not (scores and was_scores and age < s["Spread"])
            seen.add((want, age))
        starts = want and rng.random() < 0.5
        out = clock(sim, start_i=starts, **inputs)
        assert bool(out["go_o"][0]) == want, f"clock {now}"
        if starts:
            history.append((now, entry, scores, hard))
    assert {(True, age) for age in range(1, 12)} | {(False, age) for age in range(1, 12)} <= seen


@builds(lambda: front(1))
def test_front_waits_for_the_workers_tokens(seed: int) -> None:
    """Tokens retire in any order. Each request waits for what it must wait for, and no longer."""
    rng, sim = np.random.default_rng(seed), front(seed)
    always: dict[str, Any] = {"room_i": 1, "response_ready_i": 1}
    always["settings_i"] = words_of(3 << 57, 65)  # three children

    def ask(words: int) -> dict[str, Any]:
        return {"request_valid_i": 1, "request_i": words_of(words, 128)}

    assert int(clock(sim, **always, **ask(3))["request_ready_o"][0])  # RESET
    root = ask(4 | 1 << 4 | 7 << 64)
    for _ in range(2):  # two tokens
        assert int(clock(sim, out_ready_i=1, **always, **root)["out_valid_o"][0])
    for _ in range(2):
        clock(sim, silent_i=1, **always)
    assert int(clock(sim, **always, **root)["request_ready_o"][0])

    out, selecting = [False] * WORKERS, [False] * WORKERS
    parity = [0] * WORKERS
    updating = [[False, False] for _ in range(WORKERS)]
    flying: list[tuple[bool, int, int]] = []  # whether an update, worker, parity
    leaving: deque[tuple[bool, int, int]] = deque()  # retired in the clock before
    flight, worker = 0, 0
    begun = [False] * WORKERS  # its last parity is known
    waits: set[tuple[bool, bool, bool]] = set()
    for now in range(scale(8000, 2500)):
        valid = bool(rng.random() < 0.9)
        update = out[worker]
        side = parity[worker] if update else 1 - parity[worker]
        blocked = selecting[worker] if update else updating[worker][side]
        free = flight < TOKENS
        ready = bool(rng.random() < 0.8)
        gone = int(rng.integers(len(flying))) if flying and rng.random() < 0.3 else None
        retiring = flying.pop(gone) if gone is not None else None
        inputs: dict[str, Any] = {}
        if retiring:
            token = int(retiring[0]) << 93 | 1 << 92 | retiring[1] << 74 | retiring[2] << 73
            inputs = {"retire_valid_i": 1, "retire_token_i": words_of(token, TOKEN)}
        words = (2 | worker << 8) if update else (1 | worker << 8 | 0xFFFF << 24)
        found = clock(sim, out_ready_i=ready, **always, **inputs, **(ask(words) if valid else {}))
        if not begun[worker] and valid:
            token = int.from_bytes(found["out_token_o"].tobytes(), "little")
            side = token >> 73 & 1
        want = valid and free and not blocked
        assert bool(found["out_valid_o"][0]) == want, f"clock {now}"
        assert bool(found["request_ready_o"][0]) == (want and ready)
        waits.add((update, blocked, updating[worker][1 - side]))
        if leaving:
            was_update, of, at = leaving.popleft()
            flight -= 1
            if was_update:
                updating[of][at] = False
            else:
                selecting[of] = False
        if retiring:
            assert int(found["retire_ready_o"][0])
            leaving.append(retiring)
        if want and ready:
            token = int.from_bytes(found["out_token_o"].tobytes(), "little")
            assert (token >> 93, token >> 74 & 0xFFF, token >> 73 & 1) == (update, worker, side)
            parity[worker], begun[worker], out[worker] = side, True, not update
            if update:
                updating[worker][side] = True
            else:
                selecting[worker] = True
            flight += 1
            flying.append((update, worker, side))
        if not valid or (want and ready):
            worker = int(rng.integers(2)) if rng.random() < 0.8 else int(rng.integers(WORKERS))
    assert {(False, True, False), (False, True, True), (False, False, True)} <= waits
    assert (True, True, True) in waits
