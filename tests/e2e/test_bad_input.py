"""Bad input, straight to the engines without the drivers' checks, on the RTL and on the models.

Every case ends with its named error, and the engine does its next job as if nothing had been.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from flow.regression import builds
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Storage, adam
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.learner.engine import FLAG_LIST, JOB_PROGRAM, JOB_TRAIN
from models.replay.engine import Flag
from models.replay.engine import Job as Opcode

SIZES = [4, 16, 2]
RECORDS = 64
pytestmark = builds(lambda device: open_device(device, "demo"))


@pytest.fixture(scope="module", params=["sim", "model"])
def device(request: pytest.FixtureRequest) -> Iterator:
    with open_device(request.param, config="demo", seed=7) as opened:
        yield opened


@pytest.fixture(scope="module")
def replay(device) -> Replay:
    return Replay(device, ReplaySettings(leaves=1000, seed=1))


class Stored(Learner):
    """A learner, and where its records lie."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.storage = Storage(device.alloc(RECORDS * 64), 64, RECORDS)


@pytest.fixture(scope="module")
def learner(device) -> Stored:
    return Stored(device)


def named(engine: str, code: str) -> type[Exception]:
    """The exception of an error code: `replay`, `E_EMPTY` -> ReplayEmptyError."""
    return getattr(errors, errors.class_name(engine, code))


def replay_works(replay: Replay) -> None:
    """The next jobs after an error: a new priority is kept, and sampled."""
    replay.clear()
    replay.insert(np.array([5, 0, 0]))
    assert replay.retrieve(np.arange(3)).tolist() == [5, 0, 0]
    assert set(replay.sample(8).indices.tolist()) == {0}
    replay.acknowledge()


TO_MEMORY = Opcode.SAMPLE | Flag.MEMORY << 8
REPLAY_CASES = {
    "sampling from an empty tree": ("E_EMPTY", 0, [TO_MEMORY, 0, 4, 0, 0, 0, 4096]),
    "unknown opcode": ("E_OPCODE", 1, [63]),
    "opcode of the other ring": ("E_OPCODE", 0, [Opcode.INSERT | Flag.PMAX << 8, 0, 1]),
    "misaligned address": ("E_ALIGN", 1, [Opcode.RETRIEVE, 0, 1, 0, 4100]),
    "batch of 0": ("E_COUNT", 0, [TO_MEMORY, 0, 0, 0, 0, 0, 4096]),
    "batch larger than the memo": ("E_COUNT", 0, [TO_MEMORY, 0, 4096, 0, 0, 0, 4096]),
    "reserved word": ("E_RESERVED", 1, [Opcode.CLEAR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    "address beyond 40 bits": ("E_RESERVED", 1, [Opcode.RETRIEVE, 0, 1, 0, 4096, 256]),
    "address beyond the memory": ("E_BUS_RD", 1, [Opcode.RETRIEVE, 0, 1, 0, 0, 255]),
    "array over the end of the addresses": (
        "E_ADDR", 1, [Opcode.RETRIEVE, 0, 17, 0, 0xFFFF_FFC0, 255]
    ),
    "commit of nothing": ("E_INSERT", 1, [Opcode.COMMIT | Flag.PMAX << 8, 0, 1]),
    "stratified batch of 3": (
        "E_STRAT", 0, [TO_MEMORY | Flag.STRATIFIED << 8, 0, 3, 0, 0, 0, 4096]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLAY_CASES)
def test_replay_refuses(replay, case):
    code, ring, words = REPLAY_CASES[case]
    replay.clear()
    with pytest.raises(named("replay", code)):
        replay.rings[ring].submit(words).wait(20.0)
    replay_works(replay)


def test_replay_index_beyond_its_leaves(replay):
    with pytest.raises(named("replay", "E_INDEX")):
        replay.update(np.array([3, 1000]), np.array([7, 7]))
    assert replay.retrieve(np.array([3])).tolist() == [7], "the operation before it took effect"
    replay_works(replay)


def test_priorities_that_are_negative_or_not_a_number(replay):
    replay.clear()
    replay.insert(count=4)
    with pytest.raises(ValueError, match="-1"):
        replay.update(np.array([0]), np.array([-1]))
    before = replay.statistics()["NONFINITE"]
    values = np.array([-0.5, 0.5, np.nan, -np.inf], np.float32)
    got = replay.update(np.arange(4), values, td=True).priorities.tolist()
    assert got[0] == got[1] > 0, "a negative TD error counts by its magnitude"
    assert got[2] == got[3] == 0xFFFFFFFF, "not finite: the largest priority"
    assert replay.statistics()["NONFINITE"] == before + 2
    replay_works(replay)


def parameters() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [
        (rng.normal(0, 0.3, (o, i)).astype(np.float32), rng.normal(0, 0.1, o).astype(np.float32))
        for i, o in ((4, 16), (16, 2))
    ]


def prepare(learner: Stored, spoil: float | None = None, action: int | None = None) -> None:
    """Load program, weights and records; one record may hold a bad number or action."""
    learner.load_program(learner.dqn(SIZES, adam(0.01), sync_period=5))
    learner.load(parameters())
    rows = np.random.default_rng(4).normal(0, 1, (RECORDS, 16)).astype(np.float32)
    rows[:, 4] = (np.arange(RECORDS) % 2).astype(np.int32).view(np.float32)
    if spoil is not None:
        rows[5, 0] = spoil
    if action is not None:
        rows[5, 4] = np.array([action], np.int32).view(np.float32)[0]
    learner.device.write(learner.storage.base, rows)


def learner_works(learner: Stored) -> None:
    """The next job after an error trains."""
    prepare(learner)
    learner.train(8, learner.storage, indices=np.arange(8)[None]).wait(20.0)
    after = learner.store()
    assert not np.array_equal(after[0][0], parameters()[0][0])


def train_words(learner: Stored, **changes: int) -> list[int]:
    storage = learner.storage
    words = {
        "word0": JOB_TRAIN | FLAG_LIST << 8, "tag": 0, "steps": 1, "batch": 8,
        "base": storage.base, "base_high": 0, "stride": 64, "records": RECORDS,
        "inverse": 0x3E000000, "event": 0, "list": storage.base, "list_high": 0,
        "td": 0, "td_high": 0,
    }  # fmt: skip
    return list((words | changes).values())


TRAIN_CASES = {
    "batch larger than the memory": ("E_BATCH", {"batch": 5000}),
    "batch of 0": ("E_BATCH", {"batch": 0}),
    "no steps": ("E_DIM", {"steps": 0}),
    "misaligned records": ("E_ALIGN", {"base": 4100}),
    "misaligned stride": ("E_ALIGN", {"stride": 20}),
    "records beyond 40 bits": ("E_RESERVED", {"base_high": 256}),
    "records beyond the memory": ("E_BUS_RD", {"base": 0, "base_high": 255}),
    "records over the end of the addresses": ("E_ADDR", {"base": 0xFFFF_FFC0, "base_high": 255}),
    "unknown opcode": ("E_OPCODE", {"word0": 63}),
    "segments, which this engine has not": ("E_OPCODE", {"word0": 6}),
    "unknown flag": ("E_RESERVED", {"word0": JOB_TRAIN | 128 << 8}),
    "indices beyond the records": ("E_INDEX", {"records": 1}),
}


@pytest.mark.parametrize("case", TRAIN_CASES)
def test_learner_refuses(device, learner, case):
    code, changes = TRAIN_CASES[case]
    prepare(learner)
    entries = np.zeros((8, 4), np.uint32)
    entries[:, 0] = np.arange(8)
    entries[:, 2] = 0x3F800000
    listed = device.alloc(128)
    device.write(listed, entries)
    with pytest.raises(named("learner", code)):
        learner.rings[0].submit(train_words(learner, **{"list": listed} | changes)).wait(20.0)
    kept = learner.store()
    assert all(
        np.array_equal(a, b)
        for x, y in zip(kept, parameters(), strict=True)
        for a, b in zip(x, y, strict=True)
    ), "the weights are as before"
    device.free(listed)
    learner_works(learner)


@pytest.mark.parametrize(("where", "value"), [("zero layers", 0), ("too many layers", 9)])
def test_program_with_bad_layers(device, learner, where, value):
    image = learner.dqn(SIZES, adam(0.01), sync_period=5).encode()
    image[16] = image[16] & ~np.uint32(0xFF) | np.uint32(value)
    address = device.alloc(image.nbytes)
    device.write(address, image)
    with pytest.raises(named("learner", "E_DIM")):
        learner.rings[0].submit([JOB_PROGRAM, 0, image.nbytes, 0, address]).wait(20.0)
    with pytest.raises(named("learner", "E_NOPROG")):
        learner.rings[0].submit(train_words(learner)).wait(20.0)
    device.free(address)
    learner_works(learner)


@pytest.mark.parametrize(
    ("what", "code"), [({"spoil": float("nan")}, "E_NONFINITE"), ({"action": 2}, "E_INDEX")]
)
def test_records_that_cannot_be_trained_on(learner, what, code):
    prepare(learner, **what)
    with pytest.raises(named("learner", code)):
        learner.train(8, learner.storage, indices=np.arange(8)[None]).wait(20.0)
    for (w, b), (w0, b0) in zip(learner.store(), parameters(), strict=True):
        assert np.array_equal(w, w0) and np.array_equal(b, b0)
    learner_works(learner)
