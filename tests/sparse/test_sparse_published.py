"""The published arrangement: a core is one bank, whose lanes share four broadcast activations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.sparse_array import Array
from flow.regression import builds
from jackdaw.device import load_config, open_device
from jackdaw.device.base import Device
from jackdaw.drivers.sparse import Sparse
from models.sparse.formats import MOST_TILES, Layer, Op
from models.sparse.timing import OVERHEAD
from tests.sparse.golden import small
from tests.sparse.test_sparse_iteration import both, iteration

WHOLE = load_config("sparse_paper").changed({"sparse.SparseCores": 1}, "sparse_paper_core")
# As in the whole, four slots of the smallest groups fill less than half of the lanes.
SMALL = load_config("sparse").changed(
    {
        "sparse.SparseCores": 1, "sparse.SparseBanks": 1, "sparse.SparseLanes": 66,
        "sparse.SparseRRows": 4096, "sparse.SparseKeepBv": 1,
    },
    "sparse_paper_small",
)  # fmt: skip
APART = 3  # most clocks between two operations of FW or dX, beside those of their units


def opened() -> Device:
    return open_device("sim", SMALL)


@pytest.fixture(scope="module")
def array() -> Iterator[Array]:
    with opened() as device:
        yield Array(Sparse(device))


@pytest.mark.regress
@builds(opened)
@pytest.mark.parametrize("groups", [1, 8])
def test_units_of_the_published_core_follow_one_another(
    groups: int, array: Array, seed: int
) -> None:
    """All units are of one bank, in the order of the plan: its clocks are theirs."""
    g = array.geometry
    array.load([Layer(m=64, n=64, groups=groups)], np.random.default_rng(seed))
    array.group()
    found, used = array.plan(0), {}
    for op, cut in ((Op.FW, found.forward), (Op.DX, found.backward), (Op.DW, found.gradient)):
        assert all(len(window.groups) <= g.slots for window in cut.windows)
        if op == Op.DW:
            (want,) = found.gradient.bank_clocks(MOST_TILES, g.opt_lanes)
        else:
            want = (found.forward if op == Op.FW else found.backward).clocks(MOST_TILES)
        timed = array.time(0, op)
        assert 0 <= timed.clocks - want <= (OVERHEAD if op == Op.DW else APART), (op, timed)
        used[op] = timed.utilization
    assert used[Op.FW] > 0.95 if groups == 1 else used[Op.FW] < 0.5


@pytest.mark.regress
@builds(opened)
def test_an_iteration_of_the_published_core_is_that_of_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = small(steps=2, split="vec", group_rate=0.02)
    with both(settings, rng, seed, SMALL) as drivers:
        for _ in range(2):
            iteration(drivers, rng)


@pytest.mark.slow
@builds(lambda: open_device("sim", WHOLE))
def test_an_iteration_of_all_lanes_is_that_of_the_model(seed: int) -> None:
    """One of the published build's three cores."""
    rng = np.random.default_rng(seed)
    settings = small(steps=2, episodes=8, hidden=64, split="vec")
    with both(settings, rng, seed, WHOLE) as drivers:
        iteration(drivers, rng)
