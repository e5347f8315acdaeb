"""The lanes of a bank and its memories, to the bit, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds, regress
from models.sparse.numbers import multiply_add
from verif.play import Block, Player
from verif.sparse.tables import LANE_SLOTS_BITS, Slot, concat, lane_slots_word, lanes_of, words

CORE = "jackdaw:engine:sparse_array"
LATENCY = 9  # clocks from a multiply-add to its sum in the accumulator, at the default latencies


def operands(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """FP16 numbers of all classes; most are normal."""
    classes = np.array([0, 0x8000, 1, 0x83FF, 0x7C00, 0xFC00, 0x7E01, 0x3C00, 0x7BFF], np.uint16)
    codes = rng.integers(0, 1 << 16, shape, np.uint16)
    near = (codes & 0x83FF) | (rng.integers(12, 18, shape, np.uint16) << 10).astype(np.uint16)
    special = rng.random(shape) < 0.03
    return np.where(special, rng.choice(classes, shape), near).astype(np.uint16).view(np.float16)


def lanes_bench(lanes: int, acc: int, drain: int, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_lanes",
        {
            "valid_i": 1, "first_i": 1, "slots_i": LANE_SLOTS_BITS,
            "accumulator_i": acc.bit_length() - 1, "lane_skips_i": lanes,
            "x_i": 64, "w_i": 16 * lanes,
            "read_lane_i": 9, "read_row_i": acc.bit_length() - 3,
            "chunk_i": max(1, (-(-lanes // 6) - 1).bit_length()),
        },
        {"useful_o": 9, "read_data_o": 64 * drain, "chunk_data_o": 64 * 6},
    )  # fmt: skip
    return Player(block, {"Lanes": lanes, "Acc": acc, "DrainW": drain}, seed)


def spread(rows: np.ndarray, when: np.ndarray, clocks: int) -> np.ndarray:
    """[clocks, ...]: rows in some clocks, 0 in the others."""
    out = np.zeros((clocks, *rows.shape[1:]), rows.dtype)
    out[when] = rows
    return out


LANES = [(5, 16, 4), regress(9, 64, 2), regress(33, 32, 1)]


@builds(lambda lanes, acc, drain: lanes_bench(lanes, acc, drain, 1))
@pytest.mark.parametrize(("lanes", "acc", "drain"), LANES)
def test_sparse_lanes(lanes: int, acc: int, drain: int, seed: int) -> None:
    """Windows of 1 to 4 slots, ranks without a slot, empty slots; special operands, pauses."""
    rng = np.random.default_rng(seed)
    sim = lanes_bench(lanes, acc, drain, seed)
    for _ in range(scale(60, 12)):
        slots, left = [], int(rng.integers(1, lanes + 1))
        for _slot in range(int(rng.integers(1, 5))):
            take = int(rng.integers(1, left + 1)) if left else 0
            slots.append(Slot(0, int(rng.choice([0, 1, 2, 5])), 0, take))
            left -= take
        skips = rng.random(len(slots)) < rng.choice([0, 0.3])
        used = sum(s.lanes for s in slots)
        depth = max(1, max(s.depth for s in slots))
        first = 4 * int(rng.integers(0, acc // 4))  # accumulators of this unit
        x = operands(rng, depth, 4, 4)  # rank, vector, slot
        w = operands(rng, depth, lanes)
        owner = np.repeat(np.arange(len(slots)), [s.lanes for s in slots])
        lane_skips = rng.random(used) < rng.choice([0, 0.3])
        want = np.zeros((used, 4), np.float16)
        useful, turns = [], []
        for rank in range(depth):
            on = np.array([rank < slots[s].depth and not skips[s] for s in owner]) & ~lane_skips
            useful.append(int(on.sum()))
            turns.append(lane_slots_word(slots, rank, skips, useful[-1]))
            new = multiply_add(want, x[rank][:, owner].T, w[rank, :used, None])
            want = np.where(on[:, None], new, want)
        count = 4 * depth
        ranks = np.repeat(np.arange(depth), 4)
        # Clocks between two of them, sometimes.
        pauses = rng.integers(1, 4, count) * (rng.random(count) < rng.choice([0, 0.2]))
        when = np.arange(count) + np.cumsum(pauses)
        clocks = int(when[-1]) + LATENCY
        inputs = {
            "valid_i": np.ones(count), "first_i": ranks == 0,
            "slots_i": words([turns[rank] for rank in ranks], LANE_SLOTS_BITS),
            "accumulator_i": first + np.arange(count) % 4,
            "lane_skips_i": words(
                [concat(*((int(x), 1) for x in lane_skips[::-1]))] * count, lanes
            ),
            "x_i": words([lanes_of(row) for row in x.reshape(count, 4)], 64),
            "w_i": words([lanes_of(row) for row in w[ranks]], 16 * lanes),
        }  # fmt: skip
        out = sim.run(clocks, **{name: spread(rows, when, clocks) for name, rows in inputs.items()})
        assert (out["useful_o"][1:] == spread(np.repeat(useful, 4), when, clocks)[:-1]).all()
        groups = -(-used // drain)
        at = np.arange(groups) * drain
        read = sim.run(
            groups, read_lane_i=at, read_row_i=np.full(groups, first // 4)
        )["read_data_o"]  # fmt: skip
        got = np.ascontiguousarray(read).view(np.float16).reshape(-1, 4)[:used]
        assert (got.view(np.uint16) == want.view(np.uint16)).all()


def test_sparse_lanes_early(seed: int) -> None:
    """An accumulator that is used before its sum is there is seen."""
    sim = lanes_bench(5, 16, 4, seed)
    slots = [Slot(0, 3, 0, 5)]
    turn = words([lane_slots_word(slots, 0, np.array([False]), 5)] * 3, LANE_SLOTS_BITS)
    with pytest.raises(CheckFailed, match="NotEarly"):
        sim.run(3, valid_i=np.ones(3), slots_i=turn, first_i=np.array([1, 0, 0]))


def test_sparse_struct_bits() -> None:
    """A value that does not fit is no field."""
    with pytest.raises(ValueError, match="want 3 bits"):
        concat((8, 3))
