"""The learner's driver on the golden model: layouts, checks before the hardware, named errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from jackdaw import errors
from jackdaw.agents.base import default_initialization
from jackdaw.device import open_device
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Network, Storage, adam, sgd
from jackdaw.errors import ConfigError

SIZES = [4, 16, 2]
RECORDS, BATCH = 32, 8


@pytest.fixture
def device() -> Iterator[Device]:
    with open_device("model") as opened:
        yield opened


@pytest.fixture
def learner(device: Device) -> Learner:
    return Learner(device)


def parameters(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return default_initialization(SIZES, np.random.default_rng(seed))


def storage(device: Device, seed: int, bad_action: bool = False) -> Storage:
    """Random records of the shape of CartPole's."""
    rng = np.random.default_rng(seed)
    words = rng.standard_normal((RECORDS, 16)).astype(np.float32)
    actions = rng.integers(0, 2, RECORDS) + (5 if bad_action else 0)
    words[:, 4] = actions.astype(np.int32).view(np.float32)
    address = device.alloc(words.nbytes)
    device.write(address, words)
    return Storage(address, 64, RECORDS)


def network(learner: Learner, seed: int) -> Network:
    """A loaded network under a DQN program with Adam."""
    net = learner.mlp(SIZES)
    learner.dqn(net, optimizer=adam(1e-2), sync=2)
    learner.load(net, parameters(seed))
    return net


def train(learner: Learner, device: Device, seed: int, steps: int = 3) -> tuple[np.ndarray, int]:
    """Train from a list; returns TD errors and the steps done."""
    assert learner.program is not None
    indices = np.random.default_rng(seed).integers(0, RECORDS, (steps, BATCH))
    job = learner.train(
        learner.program,
        steps=steps,
        batch=BATCH,
        data=storage(device, seed),
        indices=indices,
        td_to_memory=True,
    )
    count = job.wait(60).count
    return job.results()[0], count


def test_parameters_return_as_they_went(learner: Learner, seed: int) -> None:
    net = network(learner, seed)
    want = parameters(seed)
    for target in (False, True):
        got = learner.store(net, target)
        for pair, other in zip(got, want, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(pair, other, strict=True))


def test_train_changes_weights_and_counts(learner: Learner, device: Device, seed: int) -> None:
    net = network(learner, seed)
    td, count = train(learner, device, seed)
    assert count == 3 and td.shape == (3, BATCH) and np.isfinite(td).all()
    assert learner.statistics()["STEP"] == 3
    assert learner.statistics()["TD_MAX"] == np.abs(td[-1]).max()
    assert not np.array_equal(learner.store(net)[0][0], parameters(seed)[0][0])


def test_state_resumes_to_the_bit(learner: Learner, device: Device, seed: int) -> None:
    net = network(learner, seed)
    train(learner, device, seed)
    state = learner.state(net)
    train(learner, device, seed + 1)
    want = learner.state(net)
    learner.load_state(net, state)
    train(learner, device, seed + 1)
    got = learner.state(net)
    assert all(np.array_equal(got[name], want[name]) for name in want)


def test_errors_have_names(learner: Learner, device: Device, seed: int) -> None:
    net = network(learner, seed)
    assert learner.program is not None
    data = storage(device, seed)
    job = learner.train(
        learner.program,
        steps=1,
        batch=BATCH,
        data=data,
        indices=np.full((1, BATCH), RECORDS),
    )
    with pytest.raises(errors.error_class("learner", 4)):
        job.wait(10)
    job = learner.train(
        learner.program,
        steps=1,
        batch=BATCH,
        data=storage(device, seed, bad_action=True),
        indices=np.zeros((1, BATCH), int),
    )
    with pytest.raises(errors.error_class("learner", 4)):
        job.wait(10)
    learner.load_program(learner.program)
    with pytest.raises(errors.error_class("learner", 6)):
        learner.store(net)


def test_checks_before_the_hardware(learner: Learner, device: Device, seed: int) -> None:
    g = learner.geometry
    data = storage(device, seed)
    for sizes in ([4], [4, g.d_max + 1], [0, 2], [2] * (g.l_max + 2)):
        with pytest.raises(ConfigError):
            learner.mlp(sizes)
    with pytest.raises(ConfigError):
        learner.mlp(SIZES, act="tanh")
    net = learner.mlp(SIZES)
    with pytest.raises(ConfigError):
        learner.store(net)
    with pytest.raises(ConfigError):
        learner.dqn(net, optimizer=sgd(0.1), sync=0)
    program = learner.dqn(net, optimizer=sgd(0.1))
    with pytest.raises(ConfigError):
        learner.load(net, default_initialization([4, 8, 2], np.random.default_rng(1)))
    learner.load(net, parameters(seed))
    for steps, batch, storage_ in (
        (0, BATCH, data),
        (1, 0, data),
        (1, g.b_max + 1, data),
        (1, BATCH, Storage(data.address + 4, 64, RECORDS)),
        (1, BATCH, Storage(data.address, 65, RECORDS)),
    ):
        with pytest.raises(ConfigError):
            learner.train(program, steps=steps, batch=batch, data=storage_)
    with pytest.raises(ConfigError):
        learner.train(program, steps=1, batch=2, data=data, indices=np.zeros((2, 2), int))
