"""Both ends of a level of the mcts engine's tree, each alone: its stage, and what arrives there."""

from __future__ import annotations

from collections import deque

import numpy as np

from flow.effort import scale
from flow.regression import builds
from models.mcts.formats import NO_ID
from tests.mcts.ports import (
    KIND_EDGE,
    KIND_END,
    KIND_LAST,
    OP_INS,
    OP_SEL,
    OP_UPD,
    SELECT,
    TOKEN,
    step,
)
from verif.coverage import Tally
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts"
LEVEL, TOKENS, WORKERS = 2, 8, 4  # of the stage; tokens in flight at most
NOINS, FULL = 4, 5


def stage(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_stage",
        {
            "d_act_i": 7, "in_valid_i": 1, "in_token_i": TOKEN.bits, "out_ready_i": 1,
            "note_valid_i": 1, "note_row_i": 13, "note_action_i": 5, "note_kind_i": 2,
            "slot_valid_i": 1, "slot_i": 14, "full_i": 1,
        },
        {"in_ready_o": 1, "out_valid_o": 1, "out_token_o": TOKEN.bits, "slot_ready_o": 1},
    )  # fmt: skip
    return Player(block, {"Level": LEVEL, "T": TOKENS, "WMax": WORKERS}, seed)


def arrive(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_arrive",
        {"in_valid_i": 1, "in_token_i": TOKEN.bits, "on_ready_i": 1, "retire_ready_i": 1},
        {
            "in_ready_o": 1, "on_valid_o": 1, "on_token_o": TOKEN.bits, "retire_valid_o": 1,
            "retire_token_o": TOKEN.bits, "note_valid_o": 1, "note_row_o": 13, "note_action_o": 5,
            "note_kind_o": 2, "slot_valid_o": 1, "slot_o": 14, "used_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"Level": LEVEL}, seed)


def any_token(rng: np.random.Generator, op: int) -> dict[str, int]:
    """Of a worker's selection or update, or of an insertion."""
    token = {name: int(rng.integers(1 << bits)) for name, bits in TOKEN.fields.items()}
    some = {name: int(rng.integers(1 << bits)) for name, bits in SELECT.fields.items()}
    some["new_id"] = NO_ID if rng.random() < 0.3 else some["new_id"]
    return token | {"op": op, "worker": int(rng.integers(WORKERS)), "rest": SELECT.pack(**some)}


@builds(lambda: stage(1))
def test_a_stage_looks_up_what_a_workers_path_did(seed: int) -> None:
    """Two selections of a worker are there together; each update finds the node of its own."""
    rng, sim = np.random.default_rng(seed), stage(seed)
    nodes: dict[int, int] = {}  # by worker and parity, as tokens come
    notes: dict[int, tuple[int, int]] = {}  # what was done there: action and kind
    inside: deque[tuple[dict[str, int], dict[str, int]]] = deque()  # came; goes
    tally = Tally(
        "mcts.stage",
        {"op": ["select", "update", "insert", "root"], "slot": ["taken", "full", "waits", "none"],
         "tokens": ["straight", "all"]},
    )  # fmt: skip
    alone, waited = False, 0  # a token came when the stage was empty; clocks
    for now in range(scale(10_000, 2500)):
        given: dict[str, int] = {"d_act_i": LEVEL + 2 if now % 50 else LEVEL + 1}
        phase = now // 100 % 3
        given["out_ready_i"] = rng.random() < (0.9, 0.3, 0.6)[phase]
        given["slot_valid_i"], given["full_i"] = rng.random() < 0.7, rng.random() < 0.1
        given["slot_i"] = int(rng.integers(1 << 14))
        rows = {(t["worker"] << 1 | t["parity"]) for t, _ in inside if t["op"] == OP_UPD}
        note = int(rng.integers(2 * WORKERS))
        if rng.random() < 0.5 and note not in rows:
            kind = int(rng.choice([KIND_END, KIND_EDGE, KIND_LAST]))
            notes[note] = int(rng.integers(32)), kind
            given |= {"note_valid_i": 1, "note_row_i": note, "note_action_i": notes[note][0],
                      "note_kind_i": kind}  # fmt: skip
        else:
            note = -1
        came = None
        if len(inside) < TOKENS and rng.random() < (0.6, 0.9, 0.3)[phase]:
            token = any_token(rng, int(rng.choice([OP_SEL, OP_UPD, OP_INS])))
            row = token["worker"] << 1 | token["parity"]
            goes = token | {"level": LEVEL}
            if token["op"] != OP_UPD:
                nodes[row] = token["address"]
                came = token, goes
            elif token["done"]:
                came = token, goes
            elif row in nodes and row in notes and row != note:
                goes |= {"address": nodes[row], "action": notes[row][0], "code": notes[row][1]}
                came = token, goes
            if came:
                given |= {"in_valid_i": 1, "in_token_i": TOKEN.pack(**token)}
        out = step(sim, **given)
        assert out["in_ready_o"] or not came
        if not inside:
            assert not out["out_valid_o"] and not out["slot_ready_o"]
        else:
            token, goes = inside[0]
            rest = SELECT.unpack(token["rest"])
            wants = token["op"] == OP_SEL and rest["new_id"] != NO_ID
            wants = wants and given["d_act_i"] > LEVEL + 1
            may = not wants or given["slot_valid_i"] or given["full_i"]
            waited = 0 if out["out_valid_o"] or not may else waited + 1
            # Through when empty in one clock; the memory of tokens takes one more.
            assert waited <= (0 if alone else 1), f"clock {now}: a token waits"
            assert may or not out["out_valid_o"], f"clock {now}"
            if out["out_valid_o"] or (wants and not may and alone):
                assert bool(out["slot_ready_o"]) == bool(wants and given["out_ready_i"])
            if not may:
                tally.hit("slot", "waits")
        alone = False
        if out["out_valid_o"] and given["out_ready_i"]:
            got = TOKEN.unpack(out["out_token_o"])
            if token["op"] == OP_SEL:
                mine = SELECT.unpack(got["rest"])
                rest["slot_valid"] = int(wants and bool(given["slot_valid_i"]))
                rest["slot"] = given["slot_i"] if rest["slot_valid"] else mine["slot"]
                goes["rest"] = SELECT.pack(**rest)
                tally.hit("slot", "none" if not wants else ("full", "taken")[rest["slot_valid"]])
            assert got == goes, f"clock {now}"
            names = {OP_SEL: "select", OP_UPD: "update", OP_INS: "insert"}
            root = token["op"] == OP_UPD and token["done"]
            tally.hit("op", "root" if root else names[token["op"]])
            inside.popleft()
        if came:
            inside.append(came)
            alone = len(inside) == 1
            if alone:
                tally.hit("tokens", "straight")
            if len(inside) == TOKENS:
                tally.hit("tokens", "all")
    tally.save(CORE, f"stage-{seed}")
    tally.require()


@builds(lambda: arrive(1))
def test_what_arrives_goes_on_or_retires(seed: int) -> None:
    """Notes for the stage above, slots that come back, the depth of a selection."""
    rng, sim = np.random.default_rng(seed), arrive(seed)
    seen: set[tuple[int, int, int]] = set()
    for now in range(scale(4000, 1500)):
        valid = int(rng.random() < 0.8)
        token = any_token(rng, int(rng.choice([OP_SEL, OP_UPD, OP_INS])))
        token |= {"level": LEVEL - 1, "code": int(rng.integers(6))}
        on, retire = (int(rng.random() < 0.7) for _ in range(2))
        out = step(
            sim, in_valid_i=valid, in_token_i=TOKEN.pack(**token), on_ready_i=on,
            retire_ready_i=retire,
        )  # fmt: skip
        op, done, rest = token["op"], token["done"], SELECT.unpack(token["rest"])
        over = op == OP_SEL and token["code"] in (NOINS, FULL)  # it took an edge from that node
        moves = valid and (retire if done else on)
        assert out["in_ready_o"] == (retire if done else on)
        assert (out["retire_valid_o"], out["on_valid_o"]) == (valid & done, valid & 1 - done)
        if valid and done:
            want = token | {"level": LEVEL if over else LEVEL - 1}
            assert TOKEN.unpack(out["retire_token_o"]) == want, f"clock {now}"
        elif valid:
            want = token | {"level": LEVEL}
            if op != OP_UPD:
                want["rest"] = SELECT.pack(**rest | {"slot_valid": 0})
            assert TOKEN.unpack(out["on_token_o"]) == want, f"clock {now}"
        assert out["note_valid_o"] == int(moves and op != OP_UPD)
        if out["note_valid_o"]:
            assert out["note_row_o"] == token["worker"] << 1 | token["parity"]
            assert out["note_action_o"] == token["action"]
            kind = KIND_EDGE if not done else KIND_LAST if over else KIND_END
            assert out["note_kind_o"] == kind, f"clock {now}"
        assert out["slot_valid_o"] == int(moves and op == OP_SEL and rest["slot_valid"])
        if out["slot_valid_o"]:
            assert out["slot_o"] == rest["slot"]
        assert out["used_o"] == int(moves and op == OP_INS and not done)
        seen.add((op, done, int(over)))
    assert len(seen) == 8  # a selection is over, or not; each is done, or not; so are the others
