"""What reads lists of the mcts engine and cuts them into requests, alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.registers import engine_header as header
from tests.mcts.ports import (
    END,
    JOB,
    pick,
    step,
)
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts_top"
ADDRESSES = 1 << 40
BEAT, SLOT, PRIOR = 512, 128, 16  # bits
E_TIMEOUT = int(header.Error.E_TIMEOUT)


LISTED = 10  # children: two slots of priors


def lister(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_lists",
        {
            "clear_i": 1, "stop_i": 1, "job_valid_i": 1, "job_i": JOB.bits, "cmd_ready_i": 1,
            "beat_valid_i": 1, "beat_i": BEAT, "beat_response_i": 2, "read_idle_i": 1,
            "request_ready_i": 1, "refused_i": 1, "abort_i": 1, "abort_response_i": 2,
            "end_ready_i": 1,
        },
        {
            "job_ready_o": 1, "cmd_valid_o": 1, "cmd_address_o": 40, "cmd_beats_o": 16,
            "beat_ready_o": 1, "request_valid_o": 1, "request_o": SLOT,
            "request_priors_o": PRIOR * LISTED, "request_cut_o": 1, "request_root_o": 40,
            "request_list_o": 4, "end_valid_o": 1, "end_o": END.bits, "waits_o": 1, "idle_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"F": LISTED}, seed)


@dataclass
class List:
    """A list, or another job: its slots in memory, and the first beat that cannot be read."""

    job: dict[str, int]
    slots: list[int]
    fault: int | None = None  # beat
    response: int = 0
    at: int = 0  # slots taken
    executed: int = 0
    refused: int = 0
    error: int = 0
    info1: int = 0
    over: bool = False

    @property
    def beats(self) -> int:
        return -(-len(self.slots) // 4)

    def beat(self, index: int) -> int:
        part = self.slots[4 * index : 4 * index + 4]
        return sum(slot << SLOT * k for k, slot in enumerate(part))

    def request(self) -> dict[str, int] | None:
        """The next request; None at the end, or if it cannot be read."""
        left = len(self.slots) - self.at
        if self.over or not left:
            return None
        slot = self.slots[self.at]
        need = 1 + (1 + (LISTED - 1) // 8 if slot >> 7 & 1 else 0)
        take = min(need, left)
        if self.fault is not None and (self.at + take - 1) // 4 >= self.fault:
            self.error, self.info1, self.over = int(header.Error.E_BUS_RD), self.response, True
            return None
        priors = 0
        for k, word in enumerate(self.slots[self.at + 1 : self.at + need]):
            priors |= word << SLOT * k
        return {
            "request_o": slot, "request_cut_o": left < need, "take": take,
            "request_priors_o": priors & (1 << PRIOR * LISTED) - 1,
            "request_root_o": self.job["root"], "request_list_o": self.job["job"],
        }  # fmt: skip

    def end(self) -> dict[str, int]:
        """How it ends."""
        out = {"job": self.job["job"], "list": self.job["list"], "error": self.error}
        out |= {"refused": self.refused, "executed": self.executed}
        if not self.job["list"]:
            return out | {k: self.job[k] for k in ("error", "info0", "info1")}
        return out | {"info0": self.at, "info1": self.info1}


class Lists:
    """Jobs, memory and front of `jd_mcts_lists`."""

    def __init__(self, sim: Player, rng: np.random.Generator, pace: float) -> None:
        self.sim, self.rng, self.pace = sim, rng, pace
        self.waiting: deque[List] = deque()  # not taken yet
        self.unread: deque[tuple[List, int, int]] = deque()  # list, beats asked for, had
        self.running: deque[List] = deque()  # with the block
        self.commands: deque[tuple[List, int, int]] = deque()  # beats that are on their way
        self.offered: tuple[int, int] | None = None
        self.number = 0
        self.ended: list[List] = []
        self.most = self.fresh = 0

    def random(self) -> List:
        rng = self.rng
        self.number += 1
        address, root = (int(rng.integers(1 << 33)) << 6 for _ in range(2))
        job: dict[str, int] = {
            "job": self.number % 16, "list": rng.random() < 0.8, "address": address,
            "root": root, "info0": int(rng.integers(1 << 32)), "info1": int(rng.integers(4)),
            "error": int(rng.integers(256)),
        }  # fmt: skip
        count = pick(rng, 1, 2, 4, 5, 64, 65, rng.integers(1, 150)) if job["list"] else 0
        slots = [int.from_bytes(rng.bytes(16), "little") for _ in range(count)]
        ext = rng.random()
        for k in range(count):
            slots[k] = slots[k] & ~(1 << 7) | int(rng.random() < ext * 0.7) << 7
        out = List(job | {"slots": count}, slots)
        if count and rng.random() < 0.25:
            out.fault, out.response = int(rng.integers(out.beats)), int(rng.integers(2, 4))
        return out

    def clock(self, stop: bool = False, clear: bool = False) -> dict[str, int]:
        """A clock: what is offered must be right, what moves is noted."""
        rng = self.rng
        given: dict[str, int] = {"stop_i": stop, "clear_i": clear}
        given["read_idle_i"] = not self.commands
        if self.waiting:
            given |= {"job_valid_i": 1, "job_i": JOB.pack(**self.waiting[0].job)}
        given["cmd_ready_i"] = len(self.commands) < 4 and rng.random() < self.pace
        if self.commands and rng.random() < self.pace:
            of, index, _ = self.commands[0]
            broken = of.fault is not None and index >= of.fault
            response = of.response if index == of.fault else int(rng.integers(4)) if broken else 0
            given |= {"beat_valid_i": 1, "beat_i": of.beat(index), "beat_response_i": response}
        given["request_ready_i"] = rng.random() < self.pace
        given["refused_i"] = rng.random() < 0.2
        given["abort_i"] = not given["refused_i"] and rng.random() < 0.01
        given["abort_response_i"] = int(rng.integers(2, 4))
        given["end_ready_i"] = rng.random() < self.pace
        out = step(self.sim, **given)
        first = self.running[0] if self.running else None
        # What was taken is seen two clocks later.
        self.fresh -= self.fresh > 0
        assert not out["idle_o"] or first is None or self.fresh
        if out["request_valid_o"]:
            assert first is not None and not stop
            want = first.request()
            assert want is not None and not out["waits_o"]
            got = {name: out[name] for name in want if name in out}
            if want["request_cut_o"] or not want["request_o"] >> 7 & 1:
                got.pop("request_priors_o")
            for name, value in got.items():
                assert value == want[name], name
            if given["request_ready_i"]:
                first.at += want["take"]
                first.refused += given["refused_i"]
                first.executed += not given["refused_i"]
                if given["abort_i"]:
                    first.error, first.over = int(header.Error.E_BUS_WR), True
                    first.info1 = given["abort_response_i"]
        if out["waits_o"] and not clear:
            assert first is not None and first.job["list"]
        if out["cmd_valid_o"]:
            of, asked, _ = self.unread[0]
            want_beats = min(16, of.beats - asked)
            place = out["cmd_address_o"], out["cmd_beats_o"]
            assert place == ((of.job["address"] + 64 * asked) % ADDRESSES, want_beats)
            assert self.offered in (None, place)
            self.offered = place
            if given["cmd_ready_i"]:
                self.offered = None
                self.commands += [(of, asked + k, want_beats) for k in range(want_beats)]
                self.unread[0] = (of, asked + want_beats, 0)
                if asked + want_beats == of.beats or stop or clear:
                    self.unread.popleft()
        else:
            assert self.offered is None
        if "beat_valid_i" in given and out["beat_ready_o"]:
            self.commands.popleft()
        if out["end_valid_o"] and stop and not clear:  # what was asked for has come
            assert all(of is not self.running[0] for of, *_ in self.commands)
        if out["end_valid_o"] and given["end_ready_i"] and not clear:
            assert first is not None
            found = END.unpack(out["end_o"])
            if stop and first.job["list"] and first.at < len(first.slots):
                allowed = {E_TIMEOUT} if not first.over else {first.error}
                allowed |= {int(header.Error.E_BUS_RD)} if first.fault is not None else set()
                assert found["error"] in allowed
                first.error, first.over, first.info1 = found["error"], True, found["info1"]
            first.request()
            assert found == first.end(), first
            self.ended.append(self.running.popleft())
        if self.waiting and out["job_ready_o"] and not clear:
            taken = self.waiting.popleft()
            self.fresh = 3
            self.running.append(taken)
            if taken.job["list"] and not stop:
                self.unread.append((taken, 0, 0))
        self.most = max(self.most, len(self.running))
        return out


@builds(lambda: lister(1))
def test_lists_are_cut_into_requests(seed: int) -> None:
    """Lists of all lengths, with and without priors, beats that fail, requests that end a list."""
    rng, sim = np.random.default_rng(seed), lister(seed)
    lists = Lists(sim, rng, 0.9)
    begun, total = 0, scale(400, 90)
    for now in range(200 * total):
        lists.pace = (0.9, 0.5, 1.0)[now // 500 % 3]
        if begun < total and not lists.waiting and rng.random() < 0.3:
            lists.waiting.append(lists.random())
            begun += 1
        out = lists.clock()
        if begun == total and not lists.running and not lists.waiting:
            break
    assert len(lists.ended) == total and not lists.commands and not lists.unread
    while not out["idle_o"]:
        out = lists.clock()
    errors = {each.error for each in lists.ended if each.job["list"]}
    assert errors == {0, int(header.Error.E_BUS_RD), int(header.Error.E_BUS_WR)}
    assert lists.most >= 16


@builds(lambda: lister(1))
def test_a_request_per_clock(seed: int) -> None:
    """A list that is there: its requests follow each other, with priors as well."""
    sim = lister(seed)
    for ext, slots in ((0, 1), (1, 3)):
        count = 64
        job = JOB.pack(job=3, list=1, slots=count * slots, address=64)
        step(sim, job_valid_i=1, job_i=job)
        word = 1 | ext << 7
        beats = [
            sum((word if (4 * k + j) % slots == 0 else 5) << SLOT * j for j in range(4))
            for k in range(count * slots // 4)
        ]
        at, valid = 0, []
        for now in range(200):
            given = {"beat_valid_i": at < len(beats), "beat_i": beats[min(at, len(beats) - 1)]}
            out = step(sim, cmd_ready_i=1, request_ready_i=now > 8, end_ready_i=1, **given)
            at += given["beat_valid_i"] and out["beat_ready_o"]
            if now > 8:
                valid.append(out["request_valid_o"])
            if out["end_valid_o"]:
                break
        assert valid == [1] * count + [0], f"{slots} slots"
    # From list to list two clocks.
    for _ in range(3):
        step(sim, job_valid_i=1, job_i=JOB.pack(list=1, slots=1, address=64))
    ready = {"cmd_ready_i": 1, "request_ready_i": 1, "end_ready_i": 1}
    outs = [step(sim, beat_valid_i=1, beat_i=1, **ready) for _ in range(20)]
    at_clocks = [k for k, out in enumerate(outs) if out["request_valid_o"]]
    assert len(at_clocks) == 3 and [b - a for a, b in pairwise(at_clocks)] == [4, 4]


@builds(lambda: lister(1))
def test_refused_requests_of_a_list_are_counted_up_to_their_most(seed: int) -> None:
    sim, count = lister(seed), 65_600
    step(sim, job_valid_i=1, job_i=JOB.pack(list=1, slots=65536, address=64))
    ones = np.ones(count, np.int64)
    zeros = np.zeros((count, 1), np.uint32)
    sim.run(
        count, cmd_ready_i=ones, beat_valid_i=ones, beat_i=np.repeat(zeros, 16, axis=1),
        request_ready_i=ones, refused_i=ones,
    )  # fmt: skip
    out = step(sim)
    assert out["end_valid_o"]
    found = END.unpack(out["end_o"])
    assert (found["refused"], found["executed"], found["info0"]) == (65535, 0, 65536)


@builds(lambda: lister(1))
@pytest.mark.parametrize("clear", [False, True])
def test_a_stop_ends_all_lists(clear: bool, seed: int) -> None:
    """A time-out ends those that wait, too; a soft reset drops them. Then lists run as before."""
    rng, sim = np.random.default_rng(seed), lister(seed)
    for _ in range(scale(40, 8)):
        lists = Lists(sim, rng, float(rng.choice([0.3, 0.7])))
        lists.waiting += [lists.random() for _ in range(6)]
        for _ in range(int(rng.integers(1, 250))):
            lists.clock()
        # The command that is offered goes on; it may be one that was not seen yet.
        lists.unread = deque(list(lists.unread)[:1])
        if not clear:
            for _ in range(400):
                lists.clock(stop=True)
                if not lists.running and not lists.waiting and not lists.commands:
                    break
            assert not lists.running and not lists.waiting
        lists.waiting.clear()
        lists.running.clear()
        out = {"idle_o": 0}
        for _ in range(200):
            out = lists.clock(stop=True, clear=True)
            if out["idle_o"] and not lists.commands:
                break
        assert out["idle_o"] and not lists.commands
        lists = Lists(sim, rng, 0.9)
        lists.waiting += [lists.random() for _ in range(3)]
        for _ in range(2000):
            lists.clock()
            if len(lists.ended) == 3:
                break
        assert len(lists.ended) == 3
