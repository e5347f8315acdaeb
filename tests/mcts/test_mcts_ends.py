"""Responses, ends of jobs, the root's way to memory and the registers of the mcts engine, alone."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from flow.effort import scale
from flow.regression import builds
from models.mcts.engine import MctsEngine
from models.mcts.formats import Geometry
from models.registers import engine_header as header
from models.registers import mcts as registers
from tests.mcts.ports import (
    END,
    RESPONSE,
    SETTINGS,
    pick,
    step,
)
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts_top"
ADDRESSES = 1 << 40
BEAT, SLOT = 512, 128  # bits
E_TIMEOUT = int(header.Error.E_TIMEOUT)


# ---- Responses
WAITING = 8  # responses


def responder(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_respond",
        {
            "clear_i": 1, "time_i": 32, "base_i": 40, "size_i": 5, "set_i": 1, "number_i": 32,
            "in_valid_i": 1, "in_response_i": RESPONSE.bits, "root_valid_i": 1,
            "root_address_i": 40, "root_data_i": BEAT, "root_strb_i": 64, "cmd_ready_i": 1,
            "beat_ready_i": 1, "done_valid_i": 1, "done_response_i": 2,
        },
        {
            "in_ready_o": 1, "root_ready_o": 1, "root_done_o": 1, "written_o": 3,
            "done_response_o": 2, "cmd_valid_o": 1, "cmd_address_o": 40, "beat_valid_o": 1,
            "beat_o": BEAT, "strb_o": 64, "idle_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"T": WAITING}, seed)


def entry(response: dict[str, int], number: int, size: int, time: int) -> int:
    """A response as it lies in the queue."""
    word = time << 96 | response["tag"] << 80 | response["parent"] << 64
    word |= response["new_id"] << 48 | response["node"] << 32 | response["action"] << 26
    word |= response["depth"] << 20 | response["worker"] << 8 | response["code"] << 1
    return word | (~number >> size & 1)


@builds(lambda: responder(1))
def test_responses_reach_their_places(seed: int) -> None:
    """Queues of all sizes, numbers that wrap; roots between; slow writes, and answers that fail."""
    rng, sim = np.random.default_rng(seed), responder(seed)
    full, together = 0, [0] * 5
    for turn in range(scale(20, 5)):
        size = (4, 16, int(rng.integers(4, 17)))[turn % 3]
        base = pick(rng, (1 << 40) - (16 << size), int(rng.integers(1 << 28)) << 12)
        number = pick(rng, (1 << 32) - 40, int(rng.integers(1 << 32)), 0, (1 << size) - 9)
        fixed = {"base_i": base, "size_i": size}
        step(sim, set_i=1, number_i=number, **fixed)
        pace = [float(x) for x in rng.choice([0.2, 0.6, 0.95, 1.0], 4)]
        expected: deque[tuple[int, int]] = deque()  # address and entry, in order
        waiting: deque[dict[str, int]] = deque()
        roots: deque[tuple[int, int, int]] = deque()  # given to the block
        root: tuple[int, int, int] | None = None
        address: deque[int] = deque()
        data: deque[tuple[int, int]] = deque()
        out_at: deque[int] = deque()  # -1: a root; else responses
        held: tuple[Any, ...] = ()
        sent = back = fresh = 0
        for now in range(700):
            pace = [1.0] * 4 if now >= 500 else pace
            if not waiting and now < 450 and rng.random() < pace[0]:
                waiting.append(RESPONSE.unpack(int.from_bytes(rng.bytes(12), "little") >> 2))
            if root is None and now < 450 and rng.random() < 0.05:
                root = (int(rng.integers(1 << 34)) << 6, int.from_bytes(rng.bytes(64), "little"),
                        int(rng.integers(1, 1 << 32)))  # fmt: skip
            time = int(rng.integers(1 << 32))
            done = bool(out_at) and rng.random() < pace[3] / 2
            given = {
                "time_i": time, "in_valid_i": bool(waiting), "cmd_ready_i": rng.random() < pace[1],
                "beat_ready_i": rng.random() < pace[2], "done_valid_i": done,
                "done_response_i": int(rng.integers(4)) if done else 0,
                # The write queue takes no more than it has room for.
            }  # fmt: skip
            if len(out_at) >= 8:
                given["cmd_ready_i"] = given["beat_ready_i"] = False
            if waiting:
                given["in_response_i"] = RESPONSE.pack(**waiting[0])
            if root:
                given |= dict(zip(("root_address_i", "root_data_i", "root_strb_i"), root,
                                  strict=True), root_valid_i=1)  # fmt: skip
            out = step(sim, **given, **fixed)
            busy = bool(expected or roots or out_at or address or data)
            fresh -= fresh > 0  # what was taken is seen two clocks later
            assert out["idle_o"] == (not busy) or (busy and fresh), f"clock {now}"
            if waiting and out["in_ready_o"]:
                place = base + (number + sent) % (1 << size) * 16
                expected.append(
                    (place, entry(waiting.popleft(), (number + sent) % 2**32, size, time))
                )
                sent, fresh = sent + 1, 3
            full += bool(waiting) and not out["in_ready_o"]
            if root and out["root_ready_o"]:
                roots.append(root)
                root = None
            if out["cmd_valid_o"] and given["cmd_ready_i"]:
                address.append(out["cmd_address_o"])
            offer = ("cmd", out["cmd_address_o"]) if out["cmd_valid_o"] else ()
            assert not held or offer == held
            held = () if given["cmd_ready_i"] else offer
            if out["beat_valid_o"] and given["beat_ready_i"]:
                data.append((out["beat_o"], out["strb_o"]))
            assert out["done_response_o"] == given["done_response_i"] or not done
            if done:
                count = out_at.popleft()
                assert (out["root_done_o"], out["written_o"]) == (
                    (1, 0) if count < 0 else (0, count)
                )
                back += max(count, 0)
            else:
                assert not out["root_done_o"] and not out["written_o"]
            if address and data:
                at, (word, strb) = address.popleft(), data.popleft()
                if roots and at == roots[0][0] and (word, strb) == roots[0][1:]:
                    roots.popleft()
                    out_at.append(-1)
                    continue
                lanes = [k for k in range(4) if strb >> 16 * k & 1]
                assert strb == sum(0xFFFF << 16 * k for k in lanes) and lanes
                assert at % 64 == 0
                for k in lanes:
                    assert expected.popleft() == (at + 16 * k, word >> SLOT * k & (1 << SLOT) - 1)
                together[len(lanes)] += 1
                out_at.append(len(lanes))
        assert not expected and not roots and back == sent and not out_at
    assert full and all(together[1:])


@builds(lambda: responder(1))
def test_responses_that_wait_go_together(seed: int) -> None:
    """A response per clock; a whole beat a write; only so many wait."""
    sim = responder(seed)
    step(sim, set_i=1, number_i=0, size_i=6, base_i=4096)
    outs = [step(sim, in_valid_i=1, size_i=6, base_i=4096) for _ in range(40)]
    taken = sum(out["in_ready_o"] for out in outs)
    # A beat on its way out, one being gathered, and those in the queue.
    assert taken == 4 + 4 + WAITING and [o["in_ready_o"] for o in outs[:taken]] == [1] * taken
    writes = []
    for _ in range(30):
        out = step(sim, cmd_ready_i=1, beat_ready_i=1, size_i=6, base_i=4096)
        if out["cmd_valid_o"]:
            writes.append((out["cmd_address_o"], out["strb_o"]))
    assert writes == [(at, (1 << 64) - 1) for at in (4096, 4160, 4224, 4288)]
    for _ in writes:
        step(sim, done_valid_i=1, size_i=6, base_i=4096)
    # What waits is dropped by a clear; the next has the number that is set.
    for _ in range(12):
        step(sim, in_valid_i=1, size_i=6, base_i=4096)
    ready = {"cmd_ready_i": 1, "beat_ready_i": 1, "size_i": 6, "base_i": 4096}
    gone = [step(sim, clear_i=1, **ready)["cmd_valid_o"] for _ in range(4)]
    assert gone == [1, 1, 0, 0]  # what was on its way
    for _ in range(2):
        assert not step(sim, size_i=6, base_i=4096)["idle_o"]
        step(sim, done_valid_i=1, set_i=1, number_i=77, size_i=6, base_i=4096)
    assert step(sim, in_valid_i=1, size_i=6, base_i=4096)["idle_o"]
    outs = [step(sim, cmd_ready_i=1, beat_ready_i=1, size_i=6, base_i=4096) for _ in range(8)]
    found = [o for o in outs if o["cmd_valid_o"]]
    assert len(found) == 1 and found[0]["cmd_address_o"] == 4096 + 12 * 16
    assert found[0]["strb_o"] == 0xFFFF << 16 and not found[0]["beat_o"] >> SLOT & 1


# ---- Ends
FLIGHT = 16  # tokens


def ender(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_ends",
        {
            "clear_i": 1, "stop_i": 1, "quiet_i": 1, "in_valid_i": 1, "in_end_i": END.bits,
            "new_valid_i": 1, "new_list_i": 4, "old_valid_i": 1, "old_list_i": 4, "begun_i": 2,
            "written_i": 3, "failed_i": 1, "failed_response_i": 2, "end_ready_i": 1,
        },
        {"in_ready_o": 1, "end_valid_o": 1, "end_o": END.bits, "idle_o": 1},
    )  # fmt: skip
    return Player(block, {"T": FLIGHT}, seed)


@builds(lambda: ender(1))
def test_a_job_ends_when_all_that_it_began_is_done(seed: int) -> None:
    """Tokens of several lists, responses in any number; a failed write is the next list's."""
    rng, sim = np.random.default_rng(seed), ender(seed)
    tokens = [0] * 16
    begun = written = 0
    waiting: deque[tuple[dict[str, int], int]] = deque()  # ends in the block, when given
    current, when = 0, 0
    last: dict[str, int] = {}
    due, late, since = (
        None,
        1 << 31,
        0,
    )  # responses that the first end waits for, at least and at most
    failed: list[tuple[int, int]] = []  # clock and response of failures that no list has had
    offered = 0  # clock in which the first end came out
    ended = {"plain": 0, "failed": 0, "kept": 0, "other": 0}
    for now in range(scale(12_000, 4000)):
        pace = (0.9, 0.3, 0.6)[now // 400 % 3]
        rest = now // 200 % 4 == 3  # nothing new begins
        new = not rest and sum(tokens) < FLIGHT and rng.random() < pace
        some = [k for k in range(16) if tokens[k]]
        old = int(rng.choice(some)) if some and rng.random() < 0.4 else None
        makes = 0 if rest else int(rng.integers(3)) if rng.random() < pace else 0
        most = min(4, begun - written)
        wrote = int(rng.integers(most + 1)) if rng.random() < 0.6 else 0
        fails = wrote > 0 and rng.random() < 0.02
        over = not rest and rng.random() < 0.1 and len(waiting) < 15
        given = {
            "new_valid_i": new, "new_list_i": current, "old_valid_i": old is not None,
            "old_list_i": old or 0, "begun_i": makes, "written_i": wrote, "failed_i": fails,
            "failed_response_i": int(rng.integers(2, 4)), "end_ready_i": rng.random() < 0.7,
        }  # fmt: skip
        if over and not new:
            listed = rng.random() < 0.8
            last = {
                "job": current, "list": listed, "refused": int(rng.integers(1 << 16)),
                "error": pick(rng, 0, 0, 0, 64 if listed else 3),
                "executed": int(rng.integers(1 << 32)), "info0": int(rng.integers(1 << 32)),
                "info1": int(rng.integers(4)),
            }  # fmt: skip
            given |= {"in_valid_i": 1, "in_end_i": END.pack(**last)}
        out = step(sim, **given)
        if not waiting or waiting[0][1] < now - 2:
            assert out["idle_o"] == (not waiting), f"clock {now}"
        if out["end_valid_o"]:
            want, _ = waiting[0]
            offered = offered or now
            assert due is not None and written >= due and not tokens[want["job"]]
            found = END.unpack(out["end_o"])
            seen = [response for clock, response in failed if clock < offered - 1]
            kind = "kept" if want["error"] else "plain"
            if want["list"] and seen and not want["error"]:
                assert found["info1"] in seen
                want = want | {"error": 65, "info1": found["info1"]}
                kind = "failed"
            assert found == want
            if given["end_ready_i"]:
                waiting.popleft()
                ended[kind if want["list"] else "other"] += 1
                if want["list"]:
                    failed = [one for one in failed if one[0] >= offered - 1]
                due, late, since, offered = None, 1 << 31, 0, 0
        elif waiting:
            if due is None and not tokens[waiting[0][0]["job"]]:
                due, when = begun, now
            if due is not None and now == when + 4:
                late = begun  # it is seen a few clocks later
            since = since + 1 if written >= late else 0
            assert since <= 4, f"clock {now}: the job does not end"
        if fails:
            failed.append((now, given["failed_response_i"]))
        tokens[current] += new
        if old is not None:
            tokens[old] -= 1
        begun, written = begun + makes, written + wrote
        if given.get("in_valid_i"):
            assert out["in_ready_o"]
            waiting.append((last, now))
            current = (current + 1) % 16
    assert all(ended.values()), ended


@builds(lambda: ender(1))
def test_an_end_takes_three_clocks(seed: int) -> None:
    """After the last response is written, or the last token has ended; a stop waits for neither."""
    sim = ender(seed)
    end = {"in_valid_i": 1, "in_end_i": END.pack(job=2, list=1, executed=5)}
    for order in ("written", "token"):
        step(sim, begun_i=2, new_valid_i=1, new_list_i=2)
        step(sim, **end)
        assert not any(step(sim)["end_valid_o"] for _ in range(10))
        if order == "written":
            step(sim, old_valid_i=1, old_list_i=2)
            assert not any(step(sim, written_i=1)["end_valid_o"] for _ in range(1))
            assert not any(step(sim)["end_valid_o"] for _ in range(10))
            step(sim, written_i=1)
        else:
            step(sim, written_i=2)
            assert not any(step(sim)["end_valid_o"] for _ in range(10))
            step(sim, old_valid_i=1, old_list_i=2)
        after = [step(sim)["end_valid_o"] for _ in range(4)]
        assert after.index(1) == (1 if order == "written" else 2), after
        assert step(sim, end_ready_i=1)["end_valid_o"] and step(sim)["idle_o"]
    # Other jobs do not take part in a failure; a list's own error stays.
    for job, want in (
        ({"job": 3, "error": 9, "info1": 1}, {"job": 3, "error": 9, "info1": 1}),
        (
            {"job": 4, "list": 1, "error": 64, "info1": 2},
            {"job": 4, "list": 1, "error": 64, "info1": 2},
        ),
        ({"job": 5, "list": 1}, {"job": 5, "list": 1}),
    ):
        if job["job"] != 5:
            step(sim, failed_i=1, failed_response_i=3)
        step(sim, in_valid_i=1, in_end_i=END.pack(**job))
        outs = [step(sim, end_ready_i=1) for _ in range(6)]
        found = [END.unpack(o["end_o"]) for o in outs if o["end_valid_o"]]
        assert found == [END.unpack(END.pack(**want))]
    # Under a stop a list ends when no write is out, whatever is missing.
    step(sim, begun_i=2)
    for job in ({"job": 1, "list": 1}, {"job": 2, "list": 1, "error": 64}, {"job": 3, "error": 2}):
        step(sim, in_valid_i=1, in_end_i=END.pack(**job))
        assert not any(step(sim, stop_i=1, end_ready_i=1)["end_valid_o"] for _ in range(5))
        outs = [step(sim, stop_i=1, quiet_i=1, end_ready_i=1) for _ in range(4)]
        found = [END.unpack(o["end_o"]) for o in outs if o["end_valid_o"]]
        assert len(found) == 1 and found[0]["error"] == job.get("error", E_TIMEOUT)
    # A soft reset forgets it all: what is missing, and what has failed.
    step(sim, new_valid_i=1, new_list_i=7, failed_i=1, failed_response_i=2)
    step(sim, in_valid_i=1, in_end_i=END.pack(job=7, list=1))
    step(sim, clear_i=1)
    assert step(sim)["idle_o"] and not any(step(sim)["end_valid_o"] for _ in range(5))
    step(sim, in_valid_i=1, in_end_i=END.pack(job=7, list=1))
    outs = [step(sim, end_ready_i=1) for _ in range(6)]
    assert [END.unpack(o["end_o"])["error"] for o in outs if o["end_valid_o"]] == [0]


# ---- READ_ROOT
def rooter(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_root",
        {
            "clear_i": 1, "start_i": 1, "address_i": 40, "children_i": 6, "peek_data_i": 32,
            "beat_ready_i": 1, "written_i": 1, "written_response_i": 2,
        },
        {
            "peek_o": 1, "peek_word_o": 9, "beat_valid_o": 1, "beat_address_o": 40,
            "beat_o": BEAT, "strb_o": 64, "done_o": 1, "response_o": 2,
        },
    )  # fmt: skip
    return Player(block, {}, seed)


@builds(lambda: rooter(1))
def test_the_root_is_written(seed: int) -> None:
    """Children of all numbers; the writer waits, answers late, and may fail."""
    rng, sim = np.random.default_rng(seed), rooter(seed)
    counts = [2, 3, 6, 7, 8, 15, 16, 18, 32, *rng.integers(2, 33, scale(40, 6)).tolist()]
    for count in counts:
        tree = {word: int(rng.integers(1 << 32)) for word in range(2 + 8 * 32)}
        address = int(rng.integers(1 << 33)) << 6
        words: deque[int | None] = deque([None] * 3 + [1])
        beats: list[tuple[int, int, int]] = []
        out_now, late, worst, done, clocks = 0, 0, 0, False, 0
        step(sim, start_i=1, address_i=address, children_i=count)
        assert not step(sim, children_i=count)["done_o"]
        for now in range(2000):
            shown = words.popleft()
            data = tree[shown] if shown is not None else int(rng.integers(1 << 32))
            ready, written = rng.random() < 0.5, out_now > 0 and rng.random() < 0.1
            response = pick(rng, 0, 0, 2, 3) if written else int(rng.integers(4))
            out = step(
                sim, children_i=count, peek_data_i=data, beat_ready_i=ready, written_i=written,
                written_response_i=response,
            )  # fmt: skip
            words.append(out["peek_word_o"] if out["peek_o"] else None)
            clocks += out["peek_o"]
            assert out["done_o"] >= done  # until the next start
            if out["done_o"] and not done:
                assert not out_now and out["response_o"] == worst
                done, late = True, now
            if out["beat_valid_o"] and ready:
                beats.append((out["beat_address_o"], out["beat_o"], out["strb_o"]))
                out_now += 1
            if written:
                out_now -= 1
                worst = max(worst, response)
            if done and now > late + 5:
                break
        assert done and clocks == 8 * (1 + 3 * count) - 1
        want = [tree[1]]
        for a in range(count):
            n, low, high = (tree[2 + 8 * a + k] for k in (5, 3, 4))
            want.append(n & 0xFFFF | low << 24 | (high & 0xFF) << 56)
        assert len(beats) == -(-len(want) // 8)
        for k, (at, beat, strb) in enumerate(beats):
            part = want[8 * k : 8 * k + 8]
            assert (at, strb) == ((address + 64 * k) % ADDRESSES, (1 << 8 * len(part)) - 1)
            assert [beat >> 64 * j & (1 << 64) - 1 for j in range(len(part))] == part
    # A stop ends it in any clock; the next one is whole.
    for after in (3, 70, 90, 200):
        step(sim, start_i=1, address_i=64, children_i=8)
        sent = sum(
            step(sim, children_i=8, beat_ready_i=after != 90)["beat_valid_o"] and after != 90
            for _ in range(after)
        )
        assert not step(sim, clear_i=1, children_i=8)["done_o"]
        outs = [step(sim, children_i=8, written_i=k < sent) for k in range(12)]
        assert not any(o["peek_o"] or o["beat_valid_o"] or o["done_o"] for o in outs)


# ---- Registers
STATE = Geometry(d=4, f=3, y=8, cap=4, x=10, fr=3, fp=2, xbar=1, w_max=4, t=16, sf=2, mu=3)
COUNTED = {"select_i": "N_SEL", "update_i": "N_UPD", "insert_i": "N_INS", "search_i": "SEARCHES",
           "refused_i": "N_REFUSED"}  # fmt: skip


def registers_block(seed: int) -> Player:
    g = STATE
    block = Block(
        CORE, "jd_mcts_state",
        {
            "clear_i": 1, "time_i": 32, "register_valid_i": 1, "register_write_i": 1,
            "register_address_i": 12, "register_data_i": 32, "register_mask_i": 32, "written_i": 3,
            "failed_i": 1, "still_i": 1, "peek_data_i": 32, "select_i": 1, "update_i": 1,
            "insert_i": 1, "root_i": 1, "hazard_i": g.d + 1, "port_busy_i": g.d, "flight_i": 5,
            "search_i": 1, "sat_i": 1, "full_i": 1, "static_i": 1, "refused_i": 1,
        },
        {
            "register_write_done_o": 1, "register_write_error_o": 1, "register_read_done_o": 1,
            "register_read_error_o": 1, "register_read_data_o": 32,
            "settings_o": SETTINGS.bits, "queue_base_o": 40,
            "queue_size_o": 5, "queue_head_o": 32, "queue_tail_o": 32, "queue_set_o": 1,
            "queue_number_o": 32, "event_o": 1, "error_o": 1, "peek_root_o": 1,
            "peek_address_o": 14, "peek_word_o": 9,
        },
    )  # fmt: skip
    return Player(
        block,
        {"D": g.d, "F": g.f, "Y": g.y, "Cap": g.cap, "X": g.x, "Fr": g.fr, "Fp": g.fp,
         "Xbar": g.xbar, "WMax": g.w_max, "T": g.t, "Sf": g.sf, "Mu": g.mu},
        seed,
    )  # fmt: skip


class State:
    """The block of registers, by name."""

    def __init__(self, seed: int) -> None:
        self.sim = registers_block(seed)

    def clock(self, **inputs: int) -> dict[str, int]:
        return step(self.sim, **inputs)

    def read(self, name: str, **inputs: int) -> int:
        at = getattr(registers, name).offset
        self.clock(register_valid_i=1, register_address_i=at, **inputs)
        out = self.clock(**inputs)
        assert out["register_read_done_o"] and not out["register_read_error_o"], name
        return out["register_read_data_o"]

    def write(self, name: str, value: int, **inputs: int) -> dict[str, int]:
        out = self.clock(
            register_valid_i=1, register_write_i=1, register_data_i=value,
            register_address_i=getattr(registers, name).offset, register_mask_i=0xFFFF_FFFF,
            **inputs,
        )  # fmt: skip
        assert out["register_write_done_o"] and not out["register_write_error_o"], name
        return out


@builds(lambda: registers_block(1))
def test_registers_count_what_happens(seed: int) -> None:
    """Each counter by itself, all at once; what is cleared, and what stays."""
    rng, state = np.random.default_rng(seed), State(seed)
    golden = MctsEngine(STATE)
    for name in ("CAP0", "CAP1", "CAP2"):
        assert state.read(name) == golden.read_register(getattr(registers, name).offset)
    count = dict.fromkeys([*COUNTED.values(), "HAZARD", "MAX_FLIGHT"], 0)
    busy, first, last, sticky = [0] * STATE.d, 0, 0, 0
    rooted = False
    for turn in range(scale(1200, 400)):
        # One port is ahead of the others, each in its turn.
        most = turn // 40 % STATE.d
        given = {name: int(rng.random() < 0.5) for name in COUNTED}
        given |= {"hazard_i": int(rng.integers(1 << STATE.d + 1)),
                  "time_i": int(rng.integers(1 << 32)),
                  "port_busy_i": 1 << most | int(rng.integers(1 << STATE.d)) * (turn % 7 == 0),
                  "root_i": int(rng.random() < 0.3), "flight_i": int(rng.integers(turn % 17 + 1)),
                  "sat_i": int(rng.random() < 0.01), "full_i": int(rng.random() < 0.01),
                  "static_i": int(rng.integers(2))}  # fmt: skip
        state.clock(**given)
        for port, name in COUNTED.items():
            count[name] += given[port]
        count["HAZARD"] += given["hazard_i"].bit_count()
        count["MAX_FLIGHT"] = max(count["MAX_FLIGHT"], given["flight_i"])
        for k in range(STATE.d):
            busy[k] += given["port_busy_i"] >> k & 1
        if given["root_i"]:
            first, rooted, last = first if rooted else given["time_i"], True, given["time_i"]
        sticky |= given["sat_i"] | (given["full_i"] << (1 + given["static_i"]))
        if turn % 100 == 99:
            for _ in range(STATE.d + 1):
                state.clock()
            want = count | {"ROOT_FIRST": first, "ROOT_LAST": last, "PORT_BUSY_MAX": max(busy),
                            "STICKY": sticky}  # fmt: skip
            assert {name: state.read(name) for name in want} == want
            if turn % 200 == 199:
                state.write("STAT_CLEAR", int(rng.integers(1 << 32)))
                state.clock()
                assert not any(state.read(name) for name in want)
                count = dict.fromkeys(count, 0)
                busy, first, last, sticky, rooted = [0] * STATE.d, 0, 0, 0, False


@builds(lambda: registers_block(1))
def test_registers_of_the_queue(seed: int) -> None:
    """Head and tail at any number; what is refused, what wakes, and what is lost."""
    rng, state = np.random.default_rng(seed), State(seed)
    state.write("CQ_SIZE", 6)
    head = tail = 0
    broken, wake = False, 0
    seen = {"event": 0, "refused": 0, "broken": 0, "again": 0}
    for _ in range(scale(6000, 1500)):
        kind = int(rng.integers(16))
        given: dict[str, int] = {"failed_i": int(rng.integers(2)), "still_i": 0}
        if kind < 6 and (tail - head) % 2**32 < 60:
            wrote = int(rng.integers(5))
            given |= {"written_i": wrote, "failed_i": int(rng.random() < 0.1)}
            out = state.clock(**given)
            waiting = (tail - head + wrote) % 2**32
            event = bool(
                wrote and not given["failed_i"] and not broken and wake and waiting >= wake
            )
            assert out["event_o"] == event
            seen["event"] += event
            if wrote and given["failed_i"]:
                broken, seen["broken"] = True, seen["broken"] + 1
            elif not broken:
                tail = (tail + wrote) % 2**32
        elif kind < 9:
            most = (tail - head) % 2**32
            ahead = pick(rng, 0, 1, 3, most, most + 1, 1 << 31)
            state.write("CQ_HEAD", (head + ahead) % 2**32)
            good = ahead <= (tail - head) % 2**32
            out = state.clock()
            assert out["error_o"] == (not good)
            seen["refused"] += not good
            head = (head + ahead) % 2**32 if good else head
            assert not state.clock()["error_o"]
        elif kind == 9:
            wake = int(rng.integers(8))
            state.write("CQ_WAKE", wake)
            state.clock()
        elif kind == 10:
            out = state.clock(clear_i=1)
            assert out["queue_set_o"] and out["queue_number_o"] == tail
            head, broken = tail, False
            state.clock()
        elif kind == 11 and rng.random() < 0.2:
            out = state.write("CQ_SIZE", 5)
            assert out["queue_set_o"] and not out["queue_number_o"]
            head, tail, broken = 0, 0, False
            state.clock()
        elif kind == 12:
            out = state.clock(still_i=1)
            assert out["queue_set_o"] == broken
            if broken:
                assert out["queue_number_o"] == tail
                seen["again"] += 1
            broken = False
        else:
            assert state.read("CQ_HEAD") == head and state.read("CQ_TAIL") == tail
        out = state.clock()
        assert (out["queue_head_o"], out["queue_tail_o"]) == (head, tail)
        assert not out["event_o"] and not out["queue_set_o"]
    assert all(seen.values()), seen


@builds(lambda: registers_block(1))
def test_registers_reach_their_ports(seed: int) -> None:
    rng, state = np.random.default_rng(seed), State(seed)
    for _ in range(20):
        value = {name: int(rng.integers(1 << 32)) & getattr(registers, name).write_mask
                 for name in ("MODE", "F_ACT", "D_ACT", "VL", "FPU", "POLICY", "CQ_BASE_LO",
                              "CQ_BASE_HI", "CQ_SIZE", "PEEK_ADDR", "PEEK_WORD")}  # fmt: skip
        for name, word in value.items():
            state.write(name, word)
            assert state.read(name) == word
        out, mode = state.clock(), registers.MODE
        assert SETTINGS.unpack(out["settings_o"]) == {
            "puct": mode.field("puct").get(value["MODE"]),
            "first": mode.field("first").get(value["MODE"]), "f_act": value["F_ACT"],
            "d_act": value["D_ACT"], "vl": value["VL"], "fpu": value["FPU"],
            "policy": value["POLICY"],
        }  # fmt: skip
        assert out["queue_base_o"] == value["CQ_BASE_LO"] | value["CQ_BASE_HI"] << 32
        assert out["queue_size_o"] == value["CQ_SIZE"] and out["peek_word_o"] == value["PEEK_WORD"]
        peek = out["peek_address_o"] | out["peek_root_o"] << 15
        assert peek == value["PEEK_ADDR"]
        shown = int(rng.integers(1 << 32))
        assert state.read("PEEK_DATA", peek_data_i=shown) == shown
