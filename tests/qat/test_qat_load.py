"""Rows between memory and the engine: bits, order, bus errors, stops, clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from verif.qat.batch import READ, WRITE, Memory
from verif.qat.load import Load, Timing

BEAT = 64
READS, WRITES = 64, 16  # beats that are asked for at a time
BYTES = 1 << 16
ORIGIN = 0x9A_5B3C_0000
# Clocks from the last row to the end of a write, by LW, without memory's latency: a burst goes when
# all its beats are there and the one before has gone.
ENDS = {4: 8, 8: 15, 16: 19}

pytestmark = [
    builds(lambda lw: Load(lw, 1)),
    pytest.mark.parametrize("lw", [4, regress(8), regress(16)]),
]


def memory(rng: np.random.Generator) -> Memory:
    return Memory(ORIGIN, rng.integers(0, 256, BYTES, np.uint8))


def place(rng: np.random.Generator, lw: int, large: bool) -> tuple[int, int]:
    """Address and number of rows of an array; a large one needs several requests."""
    beats = int(rng.integers(*((300, 800) if large else (1, 90))))
    rows = 16 // lw * beats - int(rng.integers(0, 16 // lw))
    return ORIGIN + BEAT * int(rng.integers(0, BYTES // BEAT - beats + 1)), rows


def timing(rng: np.random.Generator) -> Timing:
    """Any memory and any user."""
    return Timing(
        latency=int(rng.choice([1, 2, 20, 77])),
        delay=int(rng.choice([0, 0, 40])),
        read=((1, 1), (1, 3), (3, 4))[rng.integers(3)],
        write=((1, 1), (1, 3))[rng.integers(2)],
        pause=float(rng.choice([0, 0, 0.3, 0.8])),
    )


def fail(rng: np.random.Generator, at: Memory, first: int, beats: int, way: int) -> tuple[int, int]:
    """One or two beats that fail, in bursts of their own. Returns: the first, and its response."""
    places = sorted({int(x) for x in rng.integers(0, beats, 1 + rng.integers(0, 2))})
    if rng.random() < 0.3:
        places = [beats - 1]
    if places[-1] - places[0] < 16:
        places = places[:1]
    responses = [int(x) for x in rng.permutation([2, 3])]
    for beat, response in zip(places, responses, strict=False):
        at.faults.append((first + BEAT * beat, first + BEAT * beat + BEAT - 1, response, way))
    return places[0], responses[0]


def test_qat_load(lw: int, seed: int) -> None:
    """Rows in order, of the last one its words, up to a bus error or a stop; nothing else moves."""
    rng = np.random.default_rng([seed, 41])
    units = 16 // lw
    with Load(lw, seed) as sim:
        for turn in range(scale(800, 80)):
            mem, when, writes = memory(rng), timing(rng), bool(turn // 4 % 2)
            fails, stops = turn % 4 == 2, turn % 4 == 3
            address, rows = place(rng, lw, fails or stops)
            good = beats = -(-rows // units)
            response, before = 0, mem.data.copy()
            if fails:
                good, response = fail(rng, mem, address, beats, WRITE if writes else READ)
            if stops:
                when = replace(when, stop=int(rng.integers(0, 400)))
            words = int(rng.integers(1, lw + 1))
            lines = rng.integers(0, 1 << 32, (rows, lw), np.uint32) if writes else None
            found = sim.run(mem, address, rows, when, lines, words)
            count, most = len(found.lines), WRITES if writes else READS
            assert found.response == response
            assert found.late <= 2 * most and found.beats <= min(beats, good + 6 * most)
            if lines is None:
                assert stops or count == min(rows, good * units)
                assert not stops or not count or found.last < when.stop
                want = before[address - ORIGIN :][: 4 * lw * count].view(np.uint32)
                np.testing.assert_array_equal(found.lines.reshape(-1), want)
                np.testing.assert_array_equal(mem.data, before)
            else:
                assert count == min(rows, found.beats * units)
                assert fails or stops or count == rows
                short = (lw - words) * (count == rows)
                raw = lines.reshape(-1)[: count * lw - short].view(np.uint8)
                want = before.copy()
                want[address - ORIGIN :][: raw.size] = raw
                for first, last, *_ in mem.faults:
                    bad = slice(first - ORIGIN, last + 1 - ORIGIN)
                    want[bad] = before[bad]
                np.testing.assert_array_equal(mem.data, want)


def test_qat_load_clocks(lw: int, seed: int) -> None:
    """A row per clock; a write needs one more for each request."""
    rng = np.random.default_rng([seed, 43])
    rows, latency, requests = 16 // lw * 100, 20, 7
    with Load(lw, seed) as sim:
        mem = memory(rng)
        found = sim.run(mem, ORIGIN, rows, Timing(latency))
        assert (found.first, found.last) == (latency + 4, latency + 3 + rows)
        assert found.clock == found.last + 2
        found = sim.run(mem, ORIGIN, rows, Timing(latency), np.zeros((rows, lw), np.uint32))
        assert (found.first, found.last) == (2, 1 + rows + requests - 1)
        assert found.clock == found.last + latency + ENDS[lw]
