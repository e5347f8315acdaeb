"""The bugs that users report of sum trees in software, each as a test by name.

A docstring tells the bug as its users saw it and where it was reported (repository#number). What
is checked is this engine and its buffer; the device tests run on the RTL and on the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, keep
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.replay_buffer import PrioritizedReplayBuffer
from models.replay.flat import FlatTree, target
from models.replay.tree import SumTree

CONFIG, LARGEST = "small", 256
TOP = (1 << 48) - 1  # the largest uniform number: total minus epsilon
pytestmark = builds(lambda: open_device("sim", CONFIG))


@pytest.fixture(params=["sim", "model"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend's name."""
    return str(request.param)


@pytest.fixture
def engine(backend: str) -> Iterator[Callable[..., Replay]]:
    """Makes drivers of any number of leaves, each on a fresh device."""
    with ExitStack() as stack:

        def make(leaves: int, **settings: Any) -> Replay:
            device = stack.enter_context(open_device(backend, CONFIG))
            return Replay(device, ReplaySettings(leaves, **settings))

        yield make


@pytest.fixture
def buffer(backend: str) -> Iterator[Callable[..., PrioritizedReplayBuffer]]:
    """Makes buffers with one field `row`, each on a fresh device."""
    with ExitStack() as stack:

        def make(size: int, **settings: Any) -> PrioritizedReplayBuffer:
            device = stack.enter_context(open_device(backend, CONFIG))
            return PrioritizedReplayBuffer(size, {"row": {}}, device=device, **settings)

        yield make


def draw(replay: Replay, uniform: Any) -> np.ndarray:
    """Indices of given 48-bit numbers, in jobs of the largest batch."""
    numbers = np.asarray(uniform, np.uint64)
    parts = np.split(numbers, range(replay.max_batch, len(numbers), replay.max_batch))
    found = [replay.sample(len(p), uniform=p, stratified=False).indices for p in parts]
    replay.acknowledge()
    return np.concatenate(found)


def check_sums(tree: SumTree) -> None:
    """Every node is the sum of its children, to the bit."""
    for below, above in zip(tree.levels[1:], tree.levels[:-1], strict=True):
        assert np.array_equal(below.reshape(len(above), -1).sum(axis=1), above)
    assert int(tree.levels[0].sum()) == tree.total


# ---- Sums ----
def update_model(tree: SumTree, rng: np.random.Generator, updates: int, batch: int) -> float:
    """Random updates of a wide range; returns the sum that float32 differences would give."""
    float_sum = np.float32(tree.total)
    leaves = len(tree.leaves)
    for _ in range(updates // batch):
        indices = rng.integers(0, leaves, batch)
        values = rng.integers(0, 1 << 32, batch) >> rng.integers(0, 32, batch)
        before = tree.leaves[indices].astype(np.float32)
        tree.set_many(indices, values)
        float_sum += (tree.leaves[indices].astype(np.float32) - before).sum(dtype=np.float32)
    return float(float_sum)


def test_sum_drifts_after_many_updates_model(seed: int) -> None:
    """Reported: after many updates the root no longer is the sum of the leaves, and sampling
    returns empty rows: instadeepai/flashbax#52; "node with index 0 has approximation
    error ... exceeds the threshold", so trees are built anew: google-deepmind/reverb#43.

    The same updates added up in float32 are off, so the test would notice.
    """
    tree = SumTree(12)
    drifted = update_model(tree, np.random.default_rng(seed), 1_000_000, 1000)
    check_sums(tree)
    assert tree.total == int(tree.leaves.sum())
    assert drifted != tree.total


@pytest.mark.slow
def test_sum_drifts_after_a_hundred_million_updates(seed: int) -> None:
    """As above, 1e8 updates of 65 536 leaves in the model: instadeepai/flashbax#52."""
    tree = SumTree(16)
    drifted = update_model(tree, np.random.default_rng(seed), 100_000_000, 20_000)
    check_sums(tree)
    assert tree.total == int(tree.leaves.sum())
    assert drifted != tree.total


def test_sum_drifts_after_many_updates_rtl(seed: int) -> None:
    """instadeepai/flashbax#52 on the RTL: 2e5 updates through the driver."""
    rng = np.random.default_rng(seed)
    with open_device("sim", CONFIG) as device:
        replay = Replay(device, ReplaySettings(LARGEST))
        want = np.zeros(LARGEST, np.int64)
        for _ in range(scale(20, 2)):
            indices = rng.integers(0, LARGEST, 10_000)
            values = rng.integers(0, 1 << 32, 10_000) >> rng.integers(0, 32, 10_000)
            replay.update(indices, values)
            want[indices] = values
            assert replay.total == int(want.sum())
        assert np.array_equal(replay.retrieve(np.arange(LARGEST)), want)


def test_all_priorities_zero_but_the_sum_is_not(engine: Callable[..., Replay], seed: int) -> None:
    """All priorities are 0, yet sampling returns rows: what is left of a sum that drifted counts as
    a priority; or with a true 0 the loop never ends or divides by it. Here: a named
    error, and the next priority that is set is found."""
    replay = engine(50)
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, 50, 3000)
    replay.update(indices, rng.integers(1, 1 << 32, 3000))
    replay.update(np.arange(50), np.zeros(50, np.int64))
    assert replay.total == 0
    for stratified in (False, True):
        with pytest.raises(errors.ReplayEmptyError):
            replay.sample(8, stratified=stratified)
    replay.update(np.array([37]), np.array([1]))
    assert replay.total == 1
    assert (draw(replay, [0, 1, 1 << 47, TOP]) == 37).all()


def test_index_updated_twice_in_a_batch_counts_twice(engine: Callable[..., Replay]) -> None:
    """A batch with one index several times adds each difference to the parents, as if the leaf
    had held the old value every time; the sum is wrong from then on."""
    replay = engine(10)
    replay.update(np.arange(10), np.full(10, 100))
    replay.update(np.array([3, 3, 3, 7, 3]), np.array([5, 1000, 0, 60, 20]))
    assert replay.retrieve(np.array([3, 7])).tolist() == [20, 60]
    assert replay.total == 8 * 100 + 20 + 60


# ---- Indices ----
CAPACITIES = keep((1, 7, 50, 255, 256, 2, 3, 5, 9, 31, 63, 65, 100), 5)  # the least, odd, full ones


@pytest.mark.parametrize("leaves", CAPACITIES)
def test_wrong_index_at_odd_capacity(engine: Callable[..., Replay], leaves: int) -> None:
    """Reported: "Equal priorities should map prefix masses 0.5, 1.5, 2.5 to indices 0, 1, 2, but
    the layout does not preserve that order" where the capacity is no power of two:
    vwxyzjn/cleanrl#546."""
    replay = engine(leaves)
    replay.insert(np.full(leaves, 1 << 16))
    middles = [((2 * i + 1) << 47) // leaves for i in range(leaves)]
    assert draw(replay, middles).tolist() == list(range(leaves))


@pytest.mark.parametrize("leaves", CAPACITIES)
def test_index_error_at_the_full_buffer(engine: Callable[..., Replay], leaves: int) -> None:
    """Reported: "IndexError: list index out of range" of a full buffer, when the number drawn
    is the total or rounds to it: ray-project/ray#7180.

    Priorities of one unit and of the largest value, so that the ends are both narrow and wide.
    """
    for value in (1, 33_000, (1 << 32) - 1):
        replay = engine(leaves)
        replay.insert(np.full(leaves, value))
        assert draw(replay, [TOP, TOP - 1, 0, 1])[[0, 2]].tolist() == [leaves - 1, 0]


def test_index_error_at_the_full_buffer_of_a_million() -> None:
    """ray-project/ray#7180 in the model, where all leaves are the largest: nothing overflows."""
    tree = SumTree(20)
    tree.set_many(np.arange(1 << 20), np.full(1 << 20, (1 << 32) - 1))
    targets = np.array([target(tree.total, 0), target(tree.total, TOP), tree.total])
    assert targets[0] == 1 and targets[1] <= tree.total
    assert tree.find(targets).tolist() == [0, (1 << 20) - 1, (1 << 20) - 1]


def test_index_beyond_the_stored_rows(engine: Callable[..., Replay], seed: int) -> None:
    """Reported: "scan_lower_bound() sometimes generates an index greater than len(storage)" of a
    buffer that is partly filled; clamped, it becomes a row that was not drawn: pytorch/rl#2230."""
    rng = np.random.default_rng(seed)
    replay = engine(LARGEST)
    replay.insert(rng.integers(1, 1 << 32, 100))
    numbers = np.concatenate([TOP - np.arange(200), rng.integers(0, TOP, 200)])
    assert draw(replay, numbers).max() == 99


def test_index_beyond_the_stored_rows_in_a_million_draws(seed: int) -> None:
    """pytorch/rl#2230 as its reporter ran it: 100 of 500 rows, new priorities, 1e6 draws."""
    rng = np.random.default_rng(seed)
    tree = SumTree(9)
    for _ in range(20):
        tree.set_many(np.arange(100), rng.integers(0, 1 << 16, 100))
        targets = rng.integers(1, tree.total, 50_000, endpoint=True)
        targets[0] = tree.total
        found = tree.find(targets)
        assert found.max() < 100 and (tree.leaves[found] > 0).all()


def test_zero_priority_leaf_is_sampled(engine: Callable[..., Replay], seed: int) -> None:
    """Reported: "Samples with priority 0 can appear, which should be impossible": the number falls
    on the edge between two leaves, or a rounded remainder passes the last child:
    JuliaReinforcementLearning/ReinforcementLearningTrajectories.jl#59, and its weights nearly 0:
    JuliaReinforcementLearning/ReinforcementLearningCore.jl#83.

    The total is a power of two, so that every edge and both its neighbours are hit exactly.
    """
    rng = np.random.default_rng(seed)
    for _ in range(4):
        leaves = rng.integers(1, 300, 99) * (rng.random(99) < 0.4)
        leaves[[0, 98]] = 0
        leaves[50] += (1 << 15) - leaves.sum()
        replay = engine(99)
        replay.update(np.arange(99), leaves)
        assert replay.total == 1 << 15
        edges = np.cumsum(leaves)
        goals = np.unique(np.concatenate([edges - 1, edges, edges + 1, [1]]))
        goals = goals[(goals >= 1) & (goals <= 1 << 15)]
        found = draw(replay, (goals - 1) << 33)
        assert np.array_equal(found, np.searchsorted(edges, goals, side="left"))
        assert (leaves[found] > 0).all()


def test_capacity_must_be_a_power_of_two(engine: Callable[..., Replay], seed: int) -> None:
    """Reported: "capacity must be positive and a power of 2", or silently other results where that
    check was dropped: vwxyzjn/cleanrl#557 on the tree of openai/baselines. Here the same leaves
    give the same rows whatever the capacity, as the definition says."""
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, 1 << 20, 33)
    numbers = rng.integers(0, TOP, 64)
    flat = FlatTree(33)
    flat.leaves[:] = leaves
    want = flat.find(np.array([target(flat.total, int(u)) for u in numbers]))
    for capacity in (33, 47, 64, 129, 256):
        replay = engine(capacity)
        replay.insert(leaves)
        assert np.array_equal(draw(replay, numbers), want)


def test_last_row_is_never_sampled(buffer: Callable[..., PrioritizedReplayBuffer]) -> None:
    """Reported: "The buffer never samples the last added record": openai/baselines#171."""
    two = buffer(10)
    two.add(row=[1, 2])
    drawn = np.concatenate([two.sample(8)["indexes"] for _ in range(50)])
    assert set(drawn.tolist()) == {0, 1}


# ---- Values ----
def test_nan_td_error_poisons_the_tree(
    engine: Callable[..., Replay], buffer: Callable[..., PrioritizedReplayBuffer]
) -> None:
    """Reported: "nans stored in the tree": one NaN TD error makes every node above it, and so the
    total, NaN for good: MorvanZhou/Reinforcement-learning-with-tensorflow#54; "probabilities
    contain NaN": werner-duvaud/muzero-general#111.

    The engine takes a NaN or an infinity as the largest priority and counts it; the buffer refuses
    it before anything changes.
    """
    replay = engine(8)
    replay.insert(np.full(8, 1000))
    before = replay.statistics()["NONFINITE"]
    replay.update(np.array([2, 4, 5]), np.array([np.nan, np.inf, -np.inf]), td=True)
    largest = (1 << 32) - 1
    assert replay.retrieve(np.arange(8)).tolist() == [
        1000, 1000, largest, 1000, largest, largest, 1000, 1000,
    ]  # fmt: skip
    assert replay.total == 3 * largest + 5 * 1000
    assert replay.statistics()["NONFINITE"] == before + 3
    replay.update(np.array([2, 4, 5]), np.array([1000, 1000, 1000]))
    assert replay.total == 8000
    assert sorted(draw(replay, [((2 * i + 1) << 47) // 8 for i in range(8)])) == list(range(8))

    rows = buffer(8)
    rows.add(row=np.arange(8))
    total = rows.replay.total
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(errors.BufferPriorityError):
            rows.update_priorities([0, 1], [1.0, bad])
        with pytest.raises(errors.BufferPriorityError):
            rows.add(row=1, priorities=bad)
    assert rows.replay.total == total and rows.get_next_index() == 0


def test_negative_td_error_gets_the_least_priority(engine: Callable[..., Replay]) -> None:
    """Negative TD errors without an absolute value become the least priority, or NaN by the power:
    cpnota/autonomous-learning-library#106."""
    replay = engine(4, alpha=0.6, epsilon=1e-2)
    replay.insert(td=True, values=np.array([0.5, -0.5, 2.0, -2.0]))
    leaves = replay.retrieve(np.arange(4))
    assert leaves[0] == leaves[1] < leaves[2] == leaves[3]


def test_weights_vanish_by_the_minimum_of_empty_slots(
    buffer: Callable[..., PrioritizedReplayBuffer],
) -> None:
    """Reported: "min_prob is always 0": the least priority is taken over slots that hold nothing,
    and all weights are 0 or infinite: MorvanZhou/Reinforcement-learning-with-tensorflow#183."""
    rows = buffer(200)
    rows.add(row=np.arange(5), priorities=[0.0, 0.1, 1.0, 10.0, 100.0])
    for batch in (1, 7, 16):
        weights = rows.sample(batch, 1.0)["weights"]
        assert weights.max() == 1 and weights.min() > 0


def test_new_rows_get_a_rounded_largest_priority(
    buffer: Callable[..., PrioritizedReplayBuffer],
) -> None:
    """Reported: "Newly added transitions were assigned a rounded (integer) max priority":
    instadeepai/flashbax#58. Here: the same leaf value, to the bit."""
    rows = buffer(6)
    rows.add(row=[0, 1], priorities=[0.3, 2.718])
    rows.add(row=[2, 3])
    leaves = rows.replay.retrieve(np.arange(4))
    assert leaves[1] == leaves[2] == leaves[3] and leaves[1] % (1 << 16) != 0


# ---- Replacement ----
def test_priorities_restart_behind_the_end_of_the_buffer(
    buffer: Callable[..., PrioritizedReplayBuffer],
) -> None:
    """A batch of rows with priorities that crosses the buffer's end: rows after the end get the
    priorities of the batch's first rows (seen with cpprb 11.0.0, a buffer of 7, 5 rows and then
    7). Also with more rows than the buffer holds, which raises IndexError there."""
    for more in (7, 16):
        rows = buffer(7, alpha=1.0, eps=0.0)
        rows.add(row=np.zeros(5), priorities=np.full(5, 50.0))
        values = np.arange(1.0, more + 1)
        assert rows.add(row=values, priorities=values) == 5
        held = rows.get_all_transitions()["row"][:, 0]
        assert sorted(held) == list(values[-7:])
        leaves = rows.replay.retrieve(np.arange(7)) / (1 << 16)
        assert np.allclose(leaves, held, rtol=1.5e-5)
        assert rows.get_next_index() == (5 + more) % 7


def test_old_td_error_lands_on_a_new_row(engine: Callable[..., Replay]) -> None:
    """Reported: "update_priorities on overwritten samples": rows of a batch are replaced while it
    trains, and its TD errors become priorities of rows they do not belong to: ray-project/ray#6534,
    vwxyzjn/cleanrl#511. An update by slot of such a row is dropped and counted."""
    replay = engine(8)
    replay.insert(np.full(8, 100))
    chosen = replay.sample(8, uniform=np.arange(8) << 45, stratified=False)
    assert chosen.indices.tolist() == list(range(8))
    replay.acknowledge()
    replay.insert(np.full(3, 77))  # leaves 0..2 are new rows now
    replay.update(np.arange(8), np.full(8, 5), slots=True)
    assert replay.retrieve(np.arange(8)).tolist() == [77] * 3 + [5] * 5
    assert replay.statistics()["STALE"] == 3


def test_batch_larger_than_the_buffer_never_ends(
    buffer: Callable[..., PrioritizedReplayBuffer],
) -> None:
    """A batch of more rows than are stored loops forever looking for others:
    tensorforce/tensorforce#163. Drawing is with replacement."""
    one = buffer(1)
    one.add(row=3)
    for batch in (1, 8, 37):
        drawn = one.sample(batch)
        assert (drawn["indexes"] == 0).all() and (drawn["row"] == 3).all()
        assert (drawn["weights"] == 1).all()
