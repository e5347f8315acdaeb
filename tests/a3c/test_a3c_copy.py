"""Copies of parameters in memory: places, rate, errors, stop."""

from __future__ import annotations

import numpy as np
import pytest

from verif.a3c.memory import (
    FAST,
    Actor,
    Fault,
    check_stop,
    copy,
    random_memory,
    random_timing,
    stops,
)

pytestmark = pytest.mark.builds(lambda: Actor("copy", {}, 1))

PAGE = 4096
E_BUS_RD, E_BUS_WR = 64, 65
WORD_SOURCE, WORD_TARGET = 4, 6


def random_jobs(rng: np.random.Generator, count: int, pages: int) -> list[tuple[int, int, int]]:
    """Copies between two halves of a memory, now and then not from page to page."""
    jobs = []
    for _ in range(count):
        beats = int(rng.choice([1, 2, 63, 64, 65, 128, int(rng.integers(1, 32 * pages - 64))]))
        room = 32 * pages - beats
        places = [int(rng.integers(0, room // 64 + 1)) * 64 for _ in range(2)]
        if rng.random() < 0.3:
            places = [int(rng.integers(0, room + 1)) for _ in range(2)]
        half = 32 * pages * int(rng.integers(2))
        jobs.append((64 * (places[0] + half), 64 * (places[1] + 32 * pages - half), beats))
    return jobs


def test_copy_random(seed: int) -> None:
    """Jobs of any size, with any memory."""
    rng = np.random.default_rng([seed, 5])
    with Actor("copy", {}, seed) as sim:
        for _ in range(30):
            memory = random_memory(rng, 16 * PAGE)
            jobs = random_jobs(rng, 6, 16)
            result, ends, want = copy(sim, jobs, memory, random_timing(rng))
            np.testing.assert_array_equal(memory, want)
            assert ends == [(0, 0, 0)] * len(jobs)
            assert result.reads == result.writes == sum(beats for _, _, beats in jobs)


def test_copy_rate(seed: int) -> None:
    """A beat per clock on memory of latency 64, in bursts of a page."""
    rng = np.random.default_rng([seed, 6])
    with Actor("copy", {}, seed) as sim:
        memory = random_memory(rng, 80 * PAGE)
        result, _, want = copy(sim, [(1024, 40 * PAGE + 1024, 2500)], memory, FAST)
    np.testing.assert_array_equal(memory, want)
    assert result.last_beat - result.first_beat + 1 == 2500
    assert result.clocks < 2500 + 64 + 200
    assert sorted(result.requests[:, 2]) == [20, 20, 48, 48, *[64] * 76]


def test_copy_error(seed: int) -> None:
    """The first error ends a job and is told; what came with it is not written."""
    rng = np.random.default_rng([seed, 7])
    jobs = [(0, 20 * PAGE, 600), (10 * PAGE, 30 * PAGE, 600), (2 * PAGE, 21 * PAGE, 70)]
    with Actor("copy", {}, seed) as sim:
        for round_ in range(40):
            memory = random_memory(rng, 40 * PAGE)
            before = memory.copy()
            response = int(rng.integers(2, 4))
            beat = int(rng.choice([0, 63, 64, 599, int(rng.integers(600))]))
            reads = bool(round_ % 2)
            at = 64 * beat + (10 if reads else 30) * PAGE
            timing = random_timing(rng)
            fault = Fault(at, at + 63, response, 1 if reads else 2)
            faults = [fault]
            if reads and beat < 599:  # the second one is not told of
                faults.append(Fault(at + 64, at + 127, 5 - response))
            result, ends, want = copy(sim, jobs, memory, timing, faults)
            error = (E_BUS_RD, WORD_SOURCE) if reads else (E_BUS_WR, WORD_TARGET)
            assert ends == [(0, 0, 0), (*error, response), (0, 0, 0)]
            piece = slice(30 * PAGE + 64 * (beat & ~63), 30 * PAGE + 600 * 64)
            if reads:  # no more is asked for, and nothing written from the piece on
                asked = result.requests[result.requests[:, 3] == 0]
                asked = asked[(asked[:, 1] >= 10 * PAGE) & (asked[:, 1] < 20 * PAGE)]
                assert asked[:, 2].sum() <= beat + 64 + 256
                np.testing.assert_array_equal(memory[piece], before[piece])
            else:
                np.testing.assert_array_equal(memory[at : at + 64], before[at : at + 64])
                # What follows is given up, but for what was on its way.
                assert result.writes <= sum(beats for _, _, beats in jobs)
            others = np.ones(memory.size, bool)
            others[30 * PAGE : 30 * PAGE + 600 * 64] = False
            np.testing.assert_array_equal(memory[others], want[others])
            changed = memory != before
            assert (memory[changed] == want[changed]).all()


def test_copy_stop(seed: int) -> None:
    """After a stop no burst begins and those that are out are finished; a reset begins anew."""
    rng = np.random.default_rng([seed, 9])
    first = 62 * 64  # a short piece, so that a write begins soon
    job = [(first, 20 * PAGE + first, 1000)]
    with Actor("copy", {}, seed) as sim:
        for timing in stops(rng, 30):
            memory = random_memory(rng, 40 * PAGE)
            before = memory.copy()
            result, _, want = copy(sim, job, memory, timing)
            check_stop(result, timing)
            copied = slice(20 * PAGE + first, 20 * PAGE + first + 64 * result.writes)
            np.testing.assert_array_equal(memory[copied], want[copied])
            before[copied] = memory[copied]
            np.testing.assert_array_equal(memory, before)
            assert (result.writes - 2) % 64 == 0 or result.writes in (0, 1000)
