"""The sums of the cores' columns: one core, two or three."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.float import add
from models.sparse.numbers import half
from verif.play import Block, Player

LATENCY = 2  # of an adder
SPECIAL = np.array([0, -0.0, 6e-8, 60000, -60000, np.inf, np.nan], np.float16)


def bench(cores: int, seed: int = 1) -> Player:
    block = Block(
        "jackdaw:engine:sparse_array", "jd_sparse_rows",
        {"valid_i": 1, "columns_i": 64 * cores}, {"valid_o": 1, "columns_o": 64},
    )  # fmt: skip
    return Player(block, {"Cores": cores, "Channels": 1, "AddLatency": LATENCY}, seed)


@builds(bench)
@pytest.mark.parametrize("cores", [regress(1), regress(2), 3])
def test_columns_of_cores_add_in_their_order(cores: int, seed: int) -> None:
    """(c0 + c1) + c2; a core that is not there adds nothing, not even +0 to -0."""
    rng = np.random.default_rng(seed)
    clocks, delay = scale(2000, 300), 2 + 2 * LATENCY
    valid = rng.random(clocks) < 0.7
    valid[-delay:] = False
    columns = half(rng.standard_normal((clocks, cores, 4)))
    wild = rng.random(columns.shape) < 0.3
    columns = np.where(wild, rng.choice(SPECIAL, columns.shape), columns)
    columns = np.where(rng.random((clocks, 1, 4)) < 0.1, np.float16(-0.0), columns)  # of all cores
    out = bench(cores, seed).run(
        clocks, valid_i=valid, columns_i=columns.view(np.uint32).reshape(clocks, -1)
    )
    want = columns[:, 0]
    for core in range(1, cores):
        want = add(want, columns[:, core])
    np.testing.assert_array_equal(out["valid_o"][delay:], valid[:-delay])
    got = np.ascontiguousarray(out["columns_o"]).view(np.uint16)[delay:]
    codes = np.ascontiguousarray(want).view(np.uint16)[:-delay]
    np.testing.assert_array_equal(got[valid[:-delay]], codes[valid[:-delay]])
