"""The transposer: patches to the bit, its clocks, stalls on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from verif.play import Block, Player

BUILDS = {"16x32": (16, 32), "4x8": (4, 8), "8x36": (8, 36)}
LATENCY = 3  # clocks from a patch's last row to its first column
LIMIT = 20_000
pytestmark = builds(lambda: player("16x32", 1), lambda name: player(name, 1))


def pack(beats: np.ndarray, bits: int) -> np.ndarray:
    """[N, lanes] uint64 words of so many bits to [N, words] uint32, word 0 in the low bits."""
    wide = -(-beats.shape[1] * bits // 32)
    out = np.zeros((len(beats), wide), np.uint32)
    for row, beat in zip(out, beats, strict=True):
        value = sum(int(word) << k * bits for k, word in enumerate(beat))
        row[:] = np.frombuffer(value.to_bytes(4 * wide, "little"), np.uint32)
    return out


def patches(generator: np.random.Generator, count: int, lanes: int, bits: int) -> np.ndarray:
    """[count, lanes, lanes] random words."""
    return generator.integers(0, 1 << bits, (count, lanes, lanes), np.uint64)


def transpose(bits: int) -> Block:
    """jd_stream_transpose with beats of so many bits."""
    return Block(
        "jackdaw:lib:stream",
        "jd_stream_transpose",
        {"in_valid_i": 1, "in_data_i": bits, "out_ready_i": 1},
        {"in_ready_o": 1, "out_valid_o": 1, "out_data_o": bits},
        stream=True,
    )


def player(name: str, seed: int) -> Player:
    lanes, bits = BUILDS[name]
    return Player(transpose(lanes * bits), {"Lanes": lanes, "WordW": bits}, seed)


def check(
    sim: Player, name: str, words: np.ndarray, give: np.ndarray, take: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Send patches and compare; returns the clocks of the beats in and out."""
    lanes, bits = BUILDS[name]
    rows = pack(words.reshape(-1, lanes), bits)
    want = pack(words.transpose(0, 2, 1).reshape(-1, lanes), bits)
    got, came, left = sim.stream(rows, give, take)
    wrong = np.flatnonzero((got != want).any(1))
    assert not wrong.size, f"seed {seed}: beats {wrong[:5]} of {len(want)} differ"
    first, last = np.arange(len(words)) * lanes, np.arange(len(words)) * lanes + lanes - 1
    assert (left[first] >= came[last] + LATENCY).all(), "a column before its patch was there"
    return came, left


@pytest.mark.parametrize("name", keep(BUILDS))
def test_transpose_without_stalls(name: str, seed: int) -> None:
    """A beat per clock on both sides, without a bubble, and the stated latency."""
    generator = np.random.default_rng([seed, 31])
    lanes, bits = BUILDS[name]
    words = patches(generator, 12, lanes, bits)
    ones = np.ones(LIMIT, bool)
    with player(name, seed) as sim:
        came, left = check(sim, name, words, ones, ones, seed)
    np.testing.assert_array_equal(came, np.arange(12 * lanes))
    np.testing.assert_array_equal(left, np.arange(12 * lanes) + lanes - 1 + LATENCY)


@pytest.mark.parametrize("name", keep(BUILDS))
@pytest.mark.parametrize(("give", "take"), [(0.3, 1.0), (1.0, 0.3), (0.6, 0.6), (0.95, 0.95)])
def test_transpose_stalls(name: str, give: float, take: float, seed: int) -> None:
    """Random pauses of the source and back-pressure of the sink, of a clock and of many."""
    generator = np.random.default_rng([seed, 32])
    lanes, bits = BUILDS[name]
    with player(name, seed) as sim:
        for span in (1, 40):
            given, taken = (
                np.repeat(generator.random(LIMIT // span) < share, span) for share in (give, take)
            )
            check(sim, name, patches(generator, 20, lanes, bits), given, taken, seed)


def test_transpose_room(seed: int) -> None:
    """There is room for two patches, and for no beat more, while nothing is taken."""
    name = "16x32"
    generator = np.random.default_rng([seed, 33])
    take = np.arange(LIMIT) >= 100
    with player(name, seed) as sim:
        came, left = check(
            sim, name, patches(generator, 4, *BUILDS[name]), np.ones(LIMIT, bool), take, seed
        )
    assert (came < 100).sum() == 32
    np.testing.assert_array_equal(left, 100 + np.arange(64))


def test_transpose_fetches_ahead(seed: int) -> None:
    """The last column of a patch waits; after it comes the next patch without a bubble."""
    name = "16x32"
    generator = np.random.default_rng([seed, 35])
    clock = np.arange(LIMIT)
    give = (clock < 16) | (clock >= 60)
    take = ((clock >= 18) & (clock < 33)) | (clock >= 100)
    with player(name, seed) as sim:
        _, left = check(sim, name, patches(generator, 2, *BUILDS[name]), give, take, seed)
    np.testing.assert_array_equal(left, [*range(18, 33), *range(100, 117)])


@pytest.mark.parametrize("rows", [3, 16, 23, 32])
def test_transpose_reset(rows: int, seed: int) -> None:
    """A reset drops what is inside, at any fill."""
    name = "16x32"
    generator = np.random.default_rng([seed, 34])
    ones = np.ones(LIMIT, bool)
    with player(name, seed) as sim:
        junk = patches(generator, 2, *BUILDS[name]).reshape(32, 16)[:rows]
        sim.run(rows, in_valid_i=np.ones(rows), in_data_i=junk, out_ready_i=np.ones(rows))
        sim.run(2, rst_ni=np.zeros(2))
        check(sim, name, patches(generator, 3, *BUILDS[name]), ones, ones, seed)


def test_transpose_rule(seed: int) -> None:
    """A word that changes while it waits is seen."""
    with player("16x32", seed) as sim, pytest.raises(CheckFailed) as found:
        sim.run(40, in_valid_i=np.ones(40), in_data_i=np.arange(40 * 16).reshape(40, 16))
    assert found.value.name == "InStable_M"
