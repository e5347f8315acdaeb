"""Rows of the feature-map buffer on their way to memory: places, rate, errors, stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds
from models.a3c.network import BEAT_BYTES, ROW_WORDS
from verif.a3c.memory import (
    FAST,
    Actor,
    Fault,
    Result,
    SaveJob,
    check_stop,
    random_memory,
    random_timing,
    save,
    stops,
)

ROWS = 1024
pytestmark = builds(lambda: Actor("map_save", {}, 1))


def random_jobs(rng: np.random.Generator, count: int) -> tuple[list[SaveJob], int]:
    """Jobs that do not overlap in memory, and its bytes."""
    jobs, at = [], 0
    for _ in range(count):
        at += int(rng.choice([0, 0, 1, 5, 70]))
        rows = int(rng.choice([1, 2, 3, 16, 63, 64, 65, 130, int(rng.integers(1, 300))]))
        first = int(rng.integers(0, ROWS - rows + 1))
        jobs.append(SaveJob(BEAT_BYTES * at, first, rows, int(rng.integers(32))))
        at += rows
    order = rng.permutation(count)
    return [jobs[n] for n in order], BEAT_BYTES * (at + 3)


def buffer(rng: np.random.Generator) -> np.ndarray:
    """Rows of the buffer, [ROWS, 16] uint32."""
    return rng.integers(0, 1 << 32, (ROWS, ROW_WORDS), np.uint32)


def check_bursts(result: Result, memory: np.ndarray, before: np.ndarray, want: np.ndarray) -> None:
    """Memory is as it was, but for the bursts that were begun, which are whole."""
    now = before.copy()
    for _, address, beats, _ in result.requests:
        burst = slice(address, address + BEAT_BYTES * beats)
        now[burst] = want[burst]
    np.testing.assert_array_equal(memory, now)
    assert result.writes == result.requests[:, 2].sum()


def test_map_save_random(seed: int) -> None:
    """Jobs of any size, with any memory and any other user of the buffer."""
    rng = np.random.default_rng([seed, 3])
    with Actor("map_save", {}, seed) as sim:
        for _ in range(25):
            jobs, size = random_jobs(rng, 12)
            memory = random_memory(rng, size)
            result, want = save(sim, jobs, buffer(rng), memory, random_timing(rng))
            np.testing.assert_array_equal(memory, want)
            assert result.writes == sum(job.rows for job in jobs)
            assert not result.errors


def test_map_save_rate(seed: int) -> None:
    """A row per clock on memory of latency 64, in bursts up to a multiple of 16 rows in memory."""
    rng = np.random.default_rng([seed, 4])
    jobs = [SaveJob(1024 + 64 * 200 * n, 5 + 200 * n, 200) for n in range(5)]
    with Actor("map_save", {}, seed) as sim:
        memory = random_memory(rng, 1 << 17)
        result, want = save(sim, jobs, buffer(rng), memory, FAST)
    np.testing.assert_array_equal(memory, want)
    assert result.clocks < 1000 + 64 + 80
    ends = 1 + np.flatnonzero(np.arange(1, 1001) % 200 == 0)
    cuts = np.union1d(ends, np.arange(0, 1000, 16))
    np.testing.assert_array_equal(result.requests[:, 2], np.diff(cuts))


def test_map_save_error(seed: int) -> None:
    """An error of any burst is told of with its job's word; the others go on."""
    rng = np.random.default_rng([seed, 5])
    with Actor("map_save", {}, seed) as sim:
        for _ in range(20):
            jobs, size = random_jobs(rng, 8)
            bad = [jobs[n] for n in rng.permutation(8)[:2]]
            faults = []
            for job in bad:
                at = job.address + BEAT_BYTES * int(rng.integers(job.rows))
                faults.append(Fault(at, at + 63, int(rng.integers(2, 4)), 2))
            memory = random_memory(rng, size)
            result, want = save(sim, jobs, buffer(rng), memory, random_timing(rng), faults)
            np.testing.assert_array_equal(memory, want)
            # Two errors in one burst are one answer, the worse one.
            found = {(word, response) for _, word, response in result.errors}
            worst = {
                (job.word, max(f.response for f, j in zip(faults, bad, strict=True) if j == job))
                for job in bad
            }
            assert worst <= found
            assert len(result.errors) <= 2


def test_map_save_failed(seed: int) -> None:
    """Once the task has failed jobs are dropped, but for bursts that are begun."""
    rng = np.random.default_rng([seed, 6])
    with Actor("map_save", {}, seed) as sim:
        for _ in range(30):
            jobs, size = random_jobs(rng, 10)
            memory = random_memory(rng, size)
            before = memory.copy()
            timing = replace(random_timing(rng), fail=int(rng.integers(1, 2000)))
            result, want = save(sim, jobs, buffer(rng), memory, timing)
            check_stop(result, timing)
            check_bursts(result, memory, before, want)


def test_map_save_next_task(seed: int) -> None:
    """Jobs of the failed task are dropped, those that come when it has ended are saved."""
    rng = np.random.default_rng([seed, 9])
    with Actor("map_save", {}, seed) as sim:
        for _ in range(40):
            jobs, size = random_jobs(rng, 10)
            memory = random_memory(rng, size)
            before = memory.copy()
            fail = int(rng.integers(1, 500))
            timing = replace(random_timing(rng), fail=fail, heal=fail + int(rng.integers(1, 200)))
            result, want = save(sim, jobs, buffer(rng), memory, timing)
            check_bursts(result, memory, before, want)
            healed = result.arrays["counts"][1]
            begun = np.zeros(memory.size, bool)
            for _, address, beats, _ in result.requests:
                begun[address : address + BEAT_BYTES * beats] = True
            for job, clock in zip(jobs, result.arrays["marks"], strict=True):
                whole = begun[job.address : job.address + BEAT_BYTES * job.rows]
                if fail <= clock < healed:
                    assert not whole.any(), "a job of a failed task is saved"
                elif clock >= healed:
                    assert whole.all(), "a job of the next task is dropped"


def test_map_save_stop(seed: int) -> None:
    """After a stop no burst begins and those that are out are finished; a reset begins anew."""
    rng = np.random.default_rng([seed, 7])
    with Actor("map_save", {}, seed) as sim:
        for timing in stops(rng, 20):
            jobs, size = random_jobs(rng, 10)
            memory = random_memory(rng, size)
            before = memory.copy()
            result, want = save(sim, jobs, buffer(rng), memory, timing)
            check_stop(result, timing)
            check_bursts(result, memory, before, want)


def test_map_save_rule(seed: int) -> None:
    """A job without rows is seen."""
    rng = np.random.default_rng([seed, 8])
    with Actor("map_save", {}, seed) as sim, pytest.raises(CheckFailed) as found:
        save(sim, [SaveJob(0, 0, 0)], buffer(rng), random_memory(rng, 4096), FAST)
    assert found.value.name == "JobLegal_M"
