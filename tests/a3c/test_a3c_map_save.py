"""Rows of the feature-map buffer on their way to memory: places, rate, errors, stop."""

from __future__ import annotations

import numpy as np

from models.a3c.network import BEAT_BYTES, ROW_WORDS
from verif.a3c.memory import FAST, Actor, SaveJob, random_memory, random_timing, save

ROWS = 1024


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
    """A row a clock on memory of latency 64, in bursts up to the end of a page."""
    rng = np.random.default_rng([seed, 4])
    jobs = [SaveJob(1024 + 64 * 200 * n, 5 + 200 * n, 200) for n in range(5)]
    with Actor("map_save", {}, seed) as sim:
        memory = random_memory(rng, 1 << 17)
        result, want = save(sim, jobs, buffer(rng), memory, FAST)
    np.testing.assert_array_equal(memory, want)
    assert result.clocks < 1000 + 64 + 80
    ends = 1 + np.flatnonzero(np.arange(1, 1001) % 200 == 0)
    pages = np.arange(64 - 16, 1000, 64)
    cuts = np.union1d(ends, np.append(pages, 0))
    np.testing.assert_array_equal(result.requests[:, 2], np.diff(cuts))
