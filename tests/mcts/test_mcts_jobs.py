"""What checks jobs of the mcts engine and loads its tables, alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.mcts.engine import JobError, MctsEngine
from models.mcts.formats import Geometry, Opcode
from models.mcts.tables import SHIFT_MOST, tables
from models.registers import engine_header as header
from models.registers.mcts import Error
from tests.mcts.ports import (
    JOB,
    SETTINGS,
    TABLE,
    number,
    pick,
    step,
    words_of,
)
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts_top"
ADDRESSES = 1 << 40
BEAT = 512  # bits
E_TIMEOUT = int(header.Error.E_TIMEOUT)


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
    """Give jobs to the checker, one every three clocks; those that would load tables must fail.

    The next job is there as soon as one is taken.
    """
    count = 3 * len(cases)
    given: dict[str, Any] = {name: np.ones(count) for name in ("job_valid_i", "out_ready_i")}
    numbers = np.roll(np.arange(count) // 3 % 16, -2)
    rows = [inputs_of(settings) for _, settings in cases]
    for name, bits in (("settings_i", SETTINGS.bits), ("queue_base_i", 40), ("queue_size_i", 5)):
        given[name] = np.repeat(np.array([words_of(row[name], bits) for row in rows]), 3, axis=0)
    every = np.array([words for words, _ in cases], np.int64).astype(np.uint32)
    given["job_words_i"] = np.roll(np.repeat(every, 3, axis=0), -2, axis=0)
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
