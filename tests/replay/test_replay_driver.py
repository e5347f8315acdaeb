"""The replay driver: the same calls on the RTL and on the golden models give the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flow.regression import builds
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.replay.kernels import Op

CONFIG = "small"
LEAVES = 50
pytestmark = builds(lambda: open_device("sim", CONFIG))


@pytest.fixture(params=["sim", "model"])
def replay(request: pytest.FixtureRequest, seed: int) -> Iterator[Replay]:
    """A driver with 50 leaves on one backend."""
    with open_device(request.param, CONFIG, seed=seed) as device:
        yield Replay(device, ReplaySettings(LEAVES, beta_step=0.01, seed=seed))


def drive(replay: Replay, seed: int, calls: int) -> list[np.ndarray]:
    """Random calls; returns everything they gave."""
    rng = np.random.default_rng(seed)
    out: list[np.ndarray] = [replay.insert(rng.integers(1, 1 << 20, 30)).indices]
    reserved = 0
    for _ in range(calls):
        kind = int(rng.integers(8))
        count = int(rng.integers(1, 12))
        leaves = rng.integers(0, LEAVES, count)
        if kind == 0:
            batches = int(rng.integers(1, 5))
            drawn = replay.sample(8, batches=batches, weights=bool(rng.integers(2)))
            assert len(drawn.indices) == 8 * batches
            out += [drawn.indices, drawn.priorities, drawn.weights.view(np.uint32)]
            replay.acknowledge()
        elif kind == 1:
            numbers = rng.integers(0, 1 << 48, 5).astype(np.uint64)
            out.append(replay.sample(5, uniform=numbers, stratified=False).indices)
            replay.acknowledge()
            slots = np.arange(5)
            out.append(replay.update(slots, rng.normal(size=5), td=True, slots=True).priorities)
        elif kind == 2:
            out.append(replay.update(leaves, rng.integers(0, 1 << 32, count)).old)
        elif kind == 3:
            out.append(replay.update(leaves, rng.normal(size=count), td=True).priorities)
        elif kind == 4:
            changes = rng.integers(-(1 << 20), 1 << 20, count)
            out.append(replay.update(leaves, changes, delta=True).priorities)
        elif kind == 5 and not reserved:
            out.append(replay.insert(count=count).indices)
        elif kind == 6 and reserved + count <= LEAVES // 2:
            out.append(replay.reserve(count))
            reserved += count
        elif reserved:
            out.append(replay.commit(rng.integers(1, 1 << 20, reserved)).indices)
            reserved = 0
    if reserved:
        replay.commit(count=reserved)
    return [*out, replay.retrieve(np.arange(LEAVES))]


def same(left: Any, right: Any) -> bool:
    """Whether two checkpoints hold the same."""
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in left)


def test_replay_driver_gives_the_same_on_both_backends(seed: int) -> None:
    results = []
    for backend in ("sim", "model"):
        with open_device(backend, CONFIG, seed=seed) as device:
            replay = Replay(device, ReplaySettings(LEAVES, beta_step=0.01, seed=seed))
            results.append((drive(replay, seed, 40), replay.state(), replay.statistics()))
    (rtl, rtl_state, rtl_counts), (model, model_state, model_counts) = results
    assert len(rtl) == len(model)
    for index, (mine, theirs) in enumerate(zip(rtl, model, strict=True)):
        assert np.array_equal(mine, theirs), f"result {index}: {mine}, want {theirs}"
    assert same(rtl_state, model_state)
    assert rtl_counts == model_counts


def test_replay_driver_returns_to_a_checkpoint(replay: Replay, seed: int) -> None:
    drive(replay, seed, 10)
    state = replay.state()
    first = replay.sample(8)
    replay.acknowledge()
    drive(replay, seed + 1, 10)
    replay.load_state(state)
    assert same(replay.state(), state)
    again = replay.sample(8)
    assert np.array_equal(first.indices, again.indices)
    assert np.array_equal(first.weights, again.weights)


def test_replay_driver_keeps_leaves_that_were_never_inserted(replay: Replay) -> None:
    replay.update(np.array([LEAVES - 1]), np.array([77]))
    state = replay.state()
    replay.clear()
    replay.load_state(state)
    assert replay.retrieve(np.array([LEAVES - 1])).tolist() == [77]


def test_replay_driver_streams_mixed_operations(replay: Replay) -> None:
    requests = np.array(
        [[Op.UPDATE, 3, 9, 0], [Op.SAMPLE, 0, 0, 0], [Op.RETRIEVE | 7 << 8, 3, 0, 0]], np.uint32
    )
    assert replay.stream(requests)[:, 0].tolist() == [3, 3, 3]


def test_replay_driver_names_its_errors(replay: Replay) -> None:
    cases = (
        ("ReplayEmptyError", lambda: replay.sample(4)),
        ("ReplayCountError", lambda: replay.sample(replay.max_batch + 1, stratified=False)),
        ("ReplayStratError", lambda: replay.sample(3)),
        ("ReplayIndexError", lambda: replay.retrieve(np.array([LEAVES]))),
        ("ReplayInsertError", lambda: replay.reserve(LEAVES // 2 + 1)),
        ("ReplayInsertError", lambda: replay.insert(count=1)),
    )
    for name, call in cases:
        with pytest.raises(getattr(errors, name)):
            call()
    replay.commit(count=LEAVES // 2)
    assert replay.sample(4).indices.size == 4


def test_replay_driver_refuses_bad_values(replay: Replay) -> None:
    with pytest.raises(ValueError, match="want 0"):
        replay.update(np.array([0]), np.array([-1]))
    with pytest.raises(ValueError, match="exclude"):
        replay.update(np.array([0]), np.array([1.0]), td=True, delta=True)
    with pytest.raises(errors.ConfigError):
        ReplaySettings(0)


def test_replay_batches_have_weights_of_their_own(replay: Replay) -> None:
    """The largest weight of each batch is 1, and beta grows from one to the next."""
    replay.insert(np.arange(1, LEAVES + 1) * 1000)
    before = replay.beta
    drawn = replay.sample(8, batches=6)
    for batch in drawn.weights.reshape(6, 8):
        assert batch.max() == 1.0
    assert replay.beta == pytest.approx(before + 6 * 0.01, abs=1e-6)
    least = drawn.priorities.reshape(6, 8).min(axis=1, keepdims=True)
    beta = before + 0.01 * np.arange(6)[:, None]
    want = (least / drawn.priorities.reshape(6, 8)) ** beta
    # 1.2e-5: the stated error of the weights; beta has 30 fraction bits.
    np.testing.assert_allclose(drawn.weights.reshape(6, 8), want, rtol=2e-5)


def test_replay_batches_refused(replay: Replay) -> None:
    replay.insert(count=4)
    with pytest.raises(errors.ConfigError, match="batches: got 0"):
        replay.sample(4, batches=0)
    with pytest.raises(errors.ConfigError, match="1048576 samples"):
        replay.sample(4, batches=1 << 19)
    with pytest.raises(errors.ReplayCountError):
        replay.sample(4, batches=2, uniform=np.zeros(4, np.uint64), stratified=False)
    assert len(replay.sample(4, batches=2, stratified=False).indices) == 8


def test_replay_check(replay: Replay, seed: int) -> None:
    """CHECK passes in the midst of everything."""
    for turn in range(3):
        drive(replay, seed + turn, 10)
        replay.check()


@pytest.mark.parametrize("row_bytes", [16, 32, 64, 448])
def test_replay_gather(replay: Replay, seed: int, row_bytes: int) -> None:
    """Rows by index and of a sampled batch; bad ones are named."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (LEAVES, row_bytes), np.uint8)
    storage = replay.device.alloc(rows.nbytes)
    replay.device.write(storage, rows)
    replay.insert(rng.integers(1, 1 << 20, LEAVES))
    wanted = rng.integers(0, LEAVES, 37)
    assert np.array_equal(replay.gather(wanted, storage, row_bytes), rows[wanted])
    drawn = replay.sample(8)
    assert np.array_equal(replay.gather(drawn, storage, row_bytes), rows[drawn.indices])
    with pytest.raises(errors.ReplayIndexError) as caught:
        replay.gather(np.array([3, LEAVES, 4]), storage, row_bytes)
    assert caught.value.info == (1, LEAVES)
    with pytest.raises(errors.ReplayAlignError):
        replay.gather(wanted, storage + 8, row_bytes)
    with pytest.raises(errors.ConfigError, match="want 16, 32 or a multiple"):
        replay.gather(wanted, storage, row_bytes + 8)
    assert np.array_equal(replay.gather(wanted, storage, row_bytes), rows[wanted])
