"""Blocks around the tree of the mcts engine alone: checks, tables, lists, responses, ends, root."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.mcts.engine import JobError, MctsEngine
from models.mcts.formats import Geometry, Opcode
from models.mcts.tables import SHIFT_MOST, tables
from models.registers import engine_header as header
from models.registers import mcts as registers
from models.registers.mcts import Error
from tests.mcts.ports import (
    END,
    JOB,
    RESPONSE,
    SETTINGS,
    TABLE,
    number,
    step,
    words_of,
)
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts_top"
ADDRESSES = 1 << 40
BEAT, SLOT, PRIOR = 512, 128, 16  # bits
E_TIMEOUT = int(header.Error.E_TIMEOUT)


def pick(rng: np.random.Generator, *options: Any) -> int:
    """One of several numbers."""
    return int(options[rng.integers(len(options))])


# ---- Jobs and tables
CHECKED = Geometry(d=4, f=8, w_max=256)


def checker(seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_check",
        {
            "clear_i": 1, "stop_i": 1, "still_i": 1, "settings_i": SETTINGS.bits,
            "queue_base_i": 40, "queue_size_i": 5, "job_valid_i": 1, "job_words_i": 512,
            "job_number_i": 4, "out_ready_i": 1, "cmd_ready_i": 1, "beat_valid_i": 1,
            "beat_i": BEAT, "beat_response_i": 2, "read_idle_i": 1,
        },
        {
            "job_ready_o": 1, "out_valid_o": 1, "out_job_o": JOB.bits, "loading_o": 1,
            "cmd_valid_o": 1, "cmd_address_o": 40, "cmd_beats_o": 16, "beat_ready_o": 1,
            "table_o": TABLE.bits, "idle_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"F": CHECKED.f, "D": CHECKED.d, "WMax": CHECKED.w_max}, seed)


GOOD = {"F_ACT": 3, "D_ACT": 4, "VL": 1000, "POLICY": 0, "CQ_SIZE": 6, "CQ_BASE_LO": 0x4000,
        "CQ_BASE_HI": 0}  # fmt: skip


def inputs_of(settings: dict[str, int]) -> dict[str, int]:
    """Registers as ports of the checker."""
    return {
        "settings_i": SETTINGS.pack(f_act=settings["F_ACT"], d_act=settings["D_ACT"],
                                    vl=settings["VL"], policy=settings["POLICY"]),
        "queue_base_i": settings["CQ_BASE_LO"] | settings["CQ_BASE_HI"] << 32,
        "queue_size_i": settings["CQ_SIZE"],
    }  # fmt: skip


@cache
def _engine() -> MctsEngine:
    return MctsEngine(CHECKED)


def verdict(words: list[int], settings: dict[str, int], loaded: bool) -> tuple[int, int]:
    """What the golden engine says of a job: its error, and where."""
    engine = _engine()
    engine._words |= settings
    engine._loaded = loaded
    try:
        engine._check(words)
    except JobError as error:
        return int(error.code), error.info0
    return 0, 0


def job_words(rng: np.random.Generator) -> list[int]:
    """A job, right or wrong in some ways; most numbers are at a limit."""
    words = [0] * 16
    words[0] = pick(rng, Opcode.LIST, Opcode.LIST, Opcode.LIST, Opcode.TABLES)
    words[0] |= pick(rng, 0, 1 << 30, 1 << 31)  # flags of the frame
    words[1] = int(rng.integers(1 << 32))
    if words[0] & 0xFF == Opcode.LIST:
        words[2] = pick(rng, 1, 65536, rng.integers(1, 65537))
    size = 16 * words[2] if words[2] else 8192
    end = (ADDRESSES - size) // 64 * 64
    address = pick(rng, 0, end, rng.integers(end // 64 + 1) * 64)
    root = 0
    if words[2] and rng.random() < 0.5:
        top = (ADDRESSES - 8 - 8 * CHECKED.f) // 64 * 64
        root = pick(rng, 64, top, rng.integers(1, top // 64 + 1) * 64)
    if rng.random() < 0.6:
        kind = int(rng.integers(9))
        if kind == 0:
            words[0] = words[0] & ~0xFF | pick(rng, 0, 3, 0x81, 0x12, 255)
        elif kind == 1:
            words[0] |= 1 << int(rng.integers(8, 30))
        elif kind in (2, 3):
            index = pick(rng, 2, 3, 5, 6, 7, *range(8, 16))
            words[index] |= 1 << int(rng.integers(8 if index in (5, 7) else 0, 32))
        elif kind == 4:
            words[2] = pick(rng, 0, 65537, 1 << 31, 65536)
        elif kind == 5:
            address |= 1 << int(rng.integers(6))
        elif kind == 6:
            root |= 1 << int(rng.integers(6))
        elif kind == 7:
            address = end + 64
        else:
            root = ADDRESSES - 64
    words[4] |= address & 0xFFFF_FFFF
    words[5] |= address >> 32
    words[6] |= root & 0xFFFF_FFFF
    words[7] |= root >> 32
    return words


def registers_of(rng: np.random.Generator) -> dict[str, int]:
    """Settings and queue, right or wrong in some ways."""
    most = (1 << 31) // (2 * CHECKED.w_max)
    size = int(rng.integers(4, 17))
    top = ADDRESSES - (16 << size)
    base = pick(rng, 0, 0x1000, top & ~0xFFF, rng.integers(top >> 12) << 12)
    out = {
        "F_ACT": pick(rng, 2, CHECKED.f, 5), "D_ACT": int(rng.integers(2, 5)),
        "VL": pick(rng, 0, most - 1, rng.integers(most)), "POLICY": int(rng.integers(3)),
        "CQ_SIZE": size,
    }  # fmt: skip
    wrong: dict[str, tuple[int, ...]] = {
        "F_ACT": (0, 1, CHECKED.f + 1, 63), "D_ACT": (0, 1, 5, 127), "VL": (most, (1 << 24) - 1),
        "POLICY": (3,), "CQ_SIZE": (0, 3, 17, 31),
    }  # fmt: skip
    for name in wrong:
        if rng.random() < 0.06:
            out[name] = int(rng.choice(wrong[name]))
    if rng.random() < 0.08:
        base |= 1 << int(rng.integers(4, 12))
    if rng.random() < 0.08:
        base = ADDRESSES - 4096 if size > 8 else ADDRESSES - 4096 | 0x800
    return out | {"CQ_BASE_LO": base & 0xFFFF_FFFF, "CQ_BASE_HI": base >> 32}


def checks(sim: Player, cases: list[tuple[list[int], dict[str, int]]], loaded: bool) -> set[int]:
    """Give jobs to the checker, one every three clocks; those that would load tables must fail."""
    count = 3 * len(cases)
    given: dict[str, Any] = {name: np.zeros(count, np.int64) for name in ("job_valid_i",)}
    given["job_valid_i"][0::3] = 1
    given["out_ready_i"] = np.ones(count, np.int64)
    numbers = np.arange(count) // 3 % 16
    rows = [inputs_of(settings) for _, settings in cases]
    for name, bits in (("settings_i", SETTINGS.bits), ("queue_base_i", 40), ("queue_size_i", 5)):
        given[name] = np.repeat(np.array([words_of(row[name], bits) for row in rows]), 3, axis=0)
    given["job_words_i"] = np.repeat(
        np.array([words for words, _ in cases], np.int64).astype(np.uint32), 3, axis=0
    )
    out = sim.run(count, job_number_i=numbers, **given)
    assert out["job_ready_o"].tolist() == [1, 0, 0] * len(cases)
    assert out["idle_o"].tolist() == [1, 0, 0] * len(cases)
    assert out["out_valid_o"].tolist() == [0, 0, 1] * len(cases)
    seen = set()
    for at, (words, settings) in enumerate(cases):
        code, info = verdict(words, settings, loaded)
        found = JOB.unpack(int.from_bytes(out["out_job_o"][3 * at + 2].tobytes(), "little"))
        got = found["error"], found["info0"], found["info1"], found["list"], found["job"]
        listed = words[0] & 0xFF == Opcode.LIST and not code
        assert got == (code, info, 0, listed, at % 16), f"{words} {settings}"
        if listed:
            address, root = (words[k] | words[k + 1] << 32 for k in (4, 6))
            assert (found["slots"], found["address"], found["root"]) == (words[2], address, root)
        seen.add(code)
    return seen


@dataclass
class Load:
    """A TABLES job for the checker, and what goes wrong: see `play`."""

    sim: Player
    rng: np.random.Generator
    address: int = 0x7F_FFFF_FFC0

    def play(
        self,
        words: np.ndarray,
        faults: dict[int, int],
        stop_at: int | None = None,
        waits: int = 3,
        clear: bool = False,
    ) -> tuple[dict[str, int] | None, list[dict[str, int]]]:
        """Load tables.

        Args:
            words: [2048] of memory.
            faults: response of a beat.
            stop_at: word at which everything is stopped; -1: while the engine is not still.
            waits: clocks until the engine is still.
            clear: the stop is a soft reset.
        Returns: the job's end, None if it was dropped; writes of the tables.
        """
        sim, rng, settings = self.sim, self.rng, inputs_of(GOOD)
        job = [Opcode.TABLES, 0, 0, 0, self.address & 0xFFFF_FFFF, self.address >> 32] + [0] * 10
        word = sum(int(w) << 32 * k for k, w in enumerate(job))
        beats, asked, writes, stopped, loaded = 0, False, [], False, 0
        first = step(sim, job_valid_i=1, job_words_i=word, job_number_i=9, **settings)
        assert first["job_ready_o"] and first["idle_o"] and not first["loading_o"]
        broken = [at // 16 for at in range(2048) if is_wrong(at, int(words[at]))]
        special = sorted({*faults, *broken, 0, 1, 128 if stop_at is None else stop_at // 16})
        for now in range(6000):
            still = now >= waits
            reading = asked and beats < 128
            ahead = min((at for at in special if at >= beats), default=127) - beats
            fine = beats <= min([*faults, *broken], default=128)
            if reading and loaded == 16 * beats and ahead > 1 and fine and not stopped:
                count = 16 * ahead  # nothing happens in these beats
                rows = np.repeat(words.reshape(128, 16)[beats : beats + ahead], 16, axis=0)
                part = sim.run(
                    count, beat_valid_i=np.ones(count), beat_i=rows, still_i=np.ones(count)
                )
                writes += [TABLE.unpack(number(row)) for row in part["table_o"]]
                assert part["beat_ready_o"].tolist() == [*[0] * 15, 1] * ahead
                loaded, beats = loaded + count, beats + ahead
                continue
            stopped |= stop_at is not None and (now > 1 if stop_at < 0 else loaded > stop_at)
            valid = reading and bool(rng.random() < 0.95)
            lanes = words[16 * beats : 16 * beats + 16] if valid else np.zeros(0, np.uint32)
            given = {
                "still_i": still, "cmd_ready_i": now % 3 == 0, "stop_i": stopped,
                "clear_i": stopped and clear, "beat_valid_i": valid,
                "beat_i": int.from_bytes(lanes.astype(np.uint32).tobytes(), "little"),
                "beat_response_i": faults.get(beats, 0) if valid else 0,
                "read_idle_i": not reading, "out_ready_i": now % 4 == 0,
            }  # fmt: skip
            out = step(sim, **given, **settings)
            if out["cmd_valid_o"]:
                assert still and not asked and out["loading_o"]
                assert (out["cmd_address_o"], out["cmd_beats_o"]) == (self.address, 128)
                asked |= bool(given["cmd_ready_i"])
            table = TABLE.unpack(out["table_o"])
            if table["valid"]:
                writes.append(table)
                loaded += 1
            if valid and out["beat_ready_o"]:
                beats += 1
            if out["out_valid_o"]:
                assert beats in (0, 128) and not out["loading_o"]
                if clear and stopped:
                    break
                found = JOB.unpack(out["out_job_o"])
                assert found["job"] == 9 and not found["list"]
                if given["out_ready_i"]:
                    assert step(sim, **settings)["idle_o"]
                    return found, writes
            if clear and stopped and out["idle_o"]:
                break
        assert clear and stopped
        for _ in range(200):
            if step(sim, clear_i=1, stop_i=1, read_idle_i=1, **settings)["idle_o"]:
                break
        assert not step(sim, clear_i=1, job_valid_i=1, **settings)["job_ready_o"]
        assert step(sim, **settings)["idle_o"]
        return None, writes


def is_wrong(at: int, word: int) -> bool:
    """Whether a word of the tables is."""
    return bool(word & (0xFC00_0000 if at >= 1024 else 0xFF3E_0000))


def wanted(words: np.ndarray) -> list[dict[str, int]]:
    """Writes of good tables."""
    out = []
    for at, word in enumerate(words.tolist()):
        data = word if at >= 1024 else word & 0x1FFFF | SHIFT_MOST - (word >> 20) << 17
        out.append({"valid": 1, "r": at // 1024, "index": at % 1024, "data": data})
    return out


def is_loaded(sim: Player) -> bool:
    """Whether a list may run."""
    words = Opcode.LIST | 1 << 64 | 64 << 128
    step(sim, job_valid_i=1, job_words_i=words, **inputs_of(GOOD))
    step(sim, **inputs_of(GOOD))
    found = step(sim, out_ready_i=1, **inputs_of(GOOD))
    return JOB.unpack(found["out_job_o"])["error"] == 0


@builds(lambda: checker(1))
def test_jobs_are_checked_as_the_golden_model_does(seed: int) -> None:
    """Every rule, each at its limits; the first rule that is broken decides."""
    rng, sim = np.random.default_rng(seed), checker(seed)
    few = [job_words(rng) for _ in range(60)]
    checks(sim, [(w, GOOD) for w in few if verdict(w, GOOD, True)[0] or w[2]], False)
    Load(sim, rng).play(tables("puct", 1.0), {})
    cases: list[tuple[list[int], dict[str, int]]] = []
    while len(cases) < scale(8000, 2500):
        case = job_words(rng), registers_of(rng)
        if verdict(*case, True)[0] or case[0][0] & 0xFF == Opcode.LIST:
            cases.append(case)
    seen = checks(sim, cases, True)
    # A virtual loss that fills the bits below the limit, and each rule of a list by itself.
    words = [Opcode.LIST, 0, 4, 0, 64] + [0] * 11
    most = (1 << 31) // (2 * CHECKED.w_max)
    single: list[dict[str, int]] = [
        {name: value} for name, values in {
            "F_ACT": (1, 2, CHECKED.f, CHECKED.f + 1), "D_ACT": (1, 2, 4, 5), "POLICY": (2, 3),
            "VL": (most - 1, most), "CQ_SIZE": (3, 4, 16, 17), "CQ_BASE_LO": (0x800, 0x1000),
        }.items() for value in values
    ]  # fmt: skip
    for shift in range(4, 12):
        single.append({"CQ_BASE_LO": 0x4000 | 1 << shift})
    for size in range(9, 17):
        base = ADDRESSES - (16 << size)
        for at in (base, base + 4096):
            single.append({"CQ_SIZE": size, "CQ_BASE_LO": at & 0xFFFF_FFFF, "CQ_BASE_HI": at >> 32})
    seen |= checks(sim, [(words, GOOD | each) for each in single], True)
    names = ("E_OPCODE", "E_RESERVED", "E_COUNT", "E_ALIGN", "E_ADDR", "E_CFG", "E_CQ")
    assert {0, *(int(Error[name]) for name in names)} == seen


@builds(lambda: checker(1))
def test_tables_are_loaded_whole_or_not_at_all(seed: int) -> None:
    rng, sim = np.random.default_rng(seed), checker(seed)
    load, good = Load(sim, rng), tables("uct", 1.5)
    good[:1024] |= np.uint32(1) << np.uint32(16)  # the highest bit of a mantissa
    good[1024:] |= np.uint32(1) << np.uint32(25)
    good[:4] = [e << 20 | 0x1FFFF for e in (0, 4, 8, 12)]
    assert not is_loaded(sim)
    end, writes = load.play(good, {})
    assert end is not None and (end["error"], writes) == (0, wanted(good))
    assert is_loaded(sim)
    breaks: list[tuple[dict[int, int], dict[int, int]]] = [
        ({0: 17}, {}), ({1023: 20}, {}), ({5: 21}, {}), ({70: 24}, {}), ({3: 31}, {}),
        ({2: 19}, {}),         ({1024: 26}, {}), ({2047: 31}, {}), ({1030: 26, 1500: 27}, {}),
        ({}, {0: 2}), ({}, {127: 3}), ({20: 18}, {40: 2, 41: 3}), ({700: 18}, {43: 3}),
    ]  # fmt: skip
    for broken, faults in breaks if scale(10, 1) > 1 else breaks[:: 1 + int(rng.integers(2))]:
        words = good.copy()
        for at, bit in broken.items():
            words[at] ^= np.uint32(1 << bit)
        end, writes = load.play(words, faults, waits=int(rng.integers(8)))
        assert end is not None
        if faults:
            got = end["error"], end["info0"], end["info1"]
            assert got == (int(header.Error.E_BUS_RD), 4, faults[min(faults)])
        else:
            first = min(broken)
            assert (end["error"], end["info0"], end["info1"]) == (int(Error.E_TABLE), first, 0)
            assert [w["index"] + 1024 * w["r"] for w in writes] == list(range(first + 1))
        assert not is_loaded(sim)
        if broken.get(0) or faults.get(127):
            load.play(good, {})
            assert is_loaded(sim)


@builds(lambda: checker(1))
@pytest.mark.parametrize("stop_at", [-1, 5, 2047])
@pytest.mark.parametrize("clear", [False, True])
def test_a_stop_ends_a_load(stop_at: int, clear: bool, seed: int) -> None:
    """A time-out, or a soft reset; the tables that were there before are gone if it had begun."""
    rng, sim = np.random.default_rng(seed), checker(seed)
    load, good = Load(sim, rng), tables("uct", 1.5)
    load.play(good, {})
    end, writes = load.play(good, {}, stop_at, waits=8 if stop_at < 0 else 2, clear=clear)
    if not clear:
        assert end is not None
        assert end["error"] == (E_TIMEOUT if stop_at < 2047 else 0)
    assert len(writes) == (0 if stop_at < 0 else len(writes))
    assert is_loaded(sim) == (stop_at != 5)


# ---- Lists
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
        """The next request; None if there is none, or it cannot be read."""
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
