"""The learner's driver on the golden model: layouts, checks before the hardware, named errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from flow.regression import builds
from jackdaw import errors
from jackdaw.agents.base import default_initialization
from jackdaw.device import load_config, open_device
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Storage, adam, sgd, td_pitch, vector_pitch
from jackdaw.errors import ConfigError
from models.learner import mlp
from models.learner.program import Program
from models.registers.learner import Error

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


def prepare(learner: Learner, seed: int) -> None:
    """Load a DQN program with Adam, and parameters."""
    learner.load_program(learner.dqn(SIZES, adam(1e-2), sync_period=2))
    learner.load(parameters(seed))


def train(learner: Learner, device: Device, seed: int, steps: int = 3) -> tuple[np.ndarray, int]:
    """Train from a list; returns TD errors and the steps done."""
    indices = np.random.default_rng(seed).integers(0, RECORDS, (steps, BATCH))
    td = device.alloc(steps * td_pitch(BATCH))
    job = learner.train(BATCH, storage(device, seed), steps=steps, indices=indices, td_address=td)
    count = job.wait(60).count
    return learner.td_errors(td, count, BATCH), count


@pytest.mark.parametrize("built", [0, 1])
def test_geometry_tells_of_actor_critic(built: int) -> None:
    config = load_config("small")
    with open_device("model", config.changed({"learner.ActorCritic": built})) as device:
        assert Learner(device).geometry.actor_critic == built


def test_geometry_tells_of_the_largest_build() -> None:
    """Every legal maximum fits in its capability field."""
    config = load_config("small")
    largest = {"learner.GI": 16, "learner.WRows": 65536, "learner.ARows": 65536}
    with open_device("model", config.changed(largest)) as device:
        geometry = Learner(device).geometry
    assert (geometry.gi, geometry.w_rows, geometry.a_rows) == (16, 65536, 65536)


def test_parameters_return_as_they_went(learner: Learner, seed: int) -> None:
    prepare(learner, seed)
    learner.queue_store().wait(10)
    for got in (learner.store(), learner.store(target=True), learner.fetch()):
        for pair, other in zip(got, parameters(seed), strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(pair, other, strict=True))


@pytest.mark.parametrize("backend", ["model", "sim"])
@builds(lambda: open_device("sim", "small"))
def test_copies_are_read_while_the_learner_writes(backend: str, seed: int) -> None:
    """Actors get a whole version, the newest that has ended, whatever the engine does."""
    with open_device(backend, config="small", seed=seed) as device:
        learner = Learner(device)
        prepare(learner, seed)
        with pytest.raises(ConfigError, match="no copy"):
            learner.fetch()
        learner.queue_store().wait(10)
        data, rng = storage(device, seed), np.random.default_rng(seed)
        versions = [learner.store()]
        for _ in range(3):
            indices = rng.integers(0, RECORDS, (2, BATCH))
            train = learner.train(BATCH, data, steps=2, indices=indices)
            copy = learner.queue_store()
            if not copy.poll():
                assert equal(learner.fetch(), versions[-1])
            train.wait(60)
            copy.wait(60)
            versions.append(learner.store())
            assert equal(learner.fetch(), versions[-1])
            assert not equal(versions[-1], versions[-2])


@builds(lambda: open_device("sim", "small"))
def test_a_third_copy_waits_for_the_first(seed: int) -> None:
    with open_device("sim", config="small", seed=seed) as device:
        learner = Learner(device)
        prepare(learner, seed)
        indices = np.zeros((40, BATCH), np.uint32)
        train = learner.train(BATCH, storage(device, seed), steps=40, indices=indices)
        copies = [learner.queue_store(), learner.queue_store()]
        with pytest.raises(ConfigError, match="two copies"):
            learner.queue_store()
        for job in (train, *copies):
            job.wait(60)
        learner.queue_store().wait(60)


def equal(a: list[tuple[np.ndarray, np.ndarray]], b: list[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether two networks are the same to the bit."""
    return all(
        np.array_equal(x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)
    )


def test_train_changes_weights_and_counts(learner: Learner, device: Device, seed: int) -> None:
    prepare(learner, seed)
    td, count = train(learner, device, seed)
    assert count == 3 and td.shape == (3, BATCH) and np.isfinite(td).all()
    assert learner.steps == 3
    assert learner.statistics()["TD_MAX"] == np.abs(td[-1]).max()
    assert learner.mean_td == pytest.approx(float(np.abs(td[-1]).mean()))
    assert learner.busy_cycles() == 3 * learner.ideal_cycles(BATCH)
    assert not np.array_equal(learner.store()[0][0], parameters(seed)[0][0])


def test_ideal_of_delayed_stages_is_the_mean() -> None:
    with open_device("model", "agents") as device:
        learner = Learner(device)
        programs = [
            learner.actor_critic([3, 16, 1], [4, 16, 1], sgd(1.0), sgd(1.0), twin=True, delay=d)
            for d in (1, 2, 5)
        ]
        clocks = []
        for program in programs:
            learner.load_program(program)
            clocks.append(learner.ideal_cycles(BATCH))
        every, second, fifth = clocks
        rare = 2 * second - every  # of a step in which nothing delayed runs
        assert 0 < rare < every
        assert fifth == (every + 4 * rare) // 5


def test_state_resumes_to_the_bit(learner: Learner, device: Device, seed: int) -> None:
    prepare(learner, seed)
    train(learner, device, seed)
    state = learner.state()
    train(learner, device, seed + 1)
    want = learner.state()
    learner.load_state(state)
    train(learner, device, seed + 1)
    got = learner.state()
    assert all(np.array_equal(got[name], want[name]) for name in want)


def test_infer_equals_the_model(learner: Learner, device: Device, seed: int) -> None:
    """Weights of the device, in one round and in several; from records of the Data Storage, too."""
    prepare(learner, seed)
    train(learner, device, seed)
    states = np.random.default_rng(seed).normal(size=(100, SIZES[0])).astype(np.float32)
    got = learner.infer(states)
    x = states
    for k, (weight, bias) in enumerate(learner.store()):
        x = mlp.dot(weight, x, bias)
        x = mlp.relu(x) if k == 0 else x
    assert np.array_equal(got, x)
    data = storage(device, seed)
    out = device.alloc(RECORDS * vector_pitch(SIZES[-1]))
    job = learner.queue_infer(RECORDS, data, out, batch=5)
    assert job.wait(10).count == RECORDS
    records = device.read(data.base, RECORDS * 64).view(np.float32).reshape(RECORDS, 16)
    want = learner.infer(records[:, : SIZES[0]])
    assert np.array_equal(learner.outputs(out, RECORDS), want)


def test_infer_of_what_cannot_be(learner: Learner, device: Device, seed: int) -> None:
    with pytest.raises(ConfigError):
        learner.infer(np.zeros((1, 4)))
    prepare(learner, seed)
    for inputs, network in (((0, 4), 0), ((2, 5), 0), ((4,), 0), ((1, 4), 1)):
        with pytest.raises(ConfigError):
            learner.infer(np.zeros(inputs), network)
    data = storage(device, seed)
    for count, given, out, batch in (
        (RECORDS + 1, data, 0, None),
        (0, data, 0, None),
        (1, data, 32, None),
        (1, replace(data, stride=0), 0, None),
        (1, replace(data, base=data.base + 4), 0, None),
        (1, data, 0, 0),
        (1, data, 0, learner.geometry.b_max + 1),
    ):
        with pytest.raises(ConfigError):
            learner.queue_infer(count, given, out, batch=batch)
    table = tuple(replace(s, target=True) if s.op == 1 else s for s in need(learner).stages)
    learner.load_program(replace(need(learner), stages=table))
    with pytest.raises(ConfigError, match="no forward pass"):
        learner.infer(np.zeros((1, 4)))


def test_gradients_and_apply_are_a_step(learner: Learner, device: Device, seed: int) -> None:
    """To the bit, with everything that training changes; the gradients change nothing."""
    prepare(learner, seed)
    data = storage(device, seed)
    indices = np.random.default_rng(seed).integers(0, RECORDS, (4, 1, BATCH))
    td = device.alloc(td_pitch(BATCH))
    start = learner.state()
    errors_of_step = []
    for step in indices:
        learner.train(BATCH, data, indices=step, td_address=td).wait(60)
        errors_of_step.append(learner.td_errors(td, 1, BATCH))
    want = learner.state()
    learner.load_state(start)
    count = learner.steps
    for step, wanted in zip(indices, errors_of_step, strict=True):
        before = learner.state()
        gradients = learner.gradients(BATCH, data, indices=step, td_address=td)
        assert np.array_equal(learner.td_errors(td, 1, BATCH), wanted)
        after = learner.state()
        assert all(np.array_equal(before[name], after[name]) for name in before)
        learner.apply(gradients)
    assert learner.steps == count + 4
    got = learner.state()
    assert all(np.array_equal(got[name], want[name]) for name in want)


def test_gradients_of_two_devices(seed: int) -> None:
    """Halves of a batch on two devices of one pipeline: the bits of one with two pipelines."""
    config = load_config("small")
    two = config.changed({"learner.DP": 2})
    with open_device("model", two) as a, open_device("model", config) as b:
        learners = [Learner(a), Learner(b)]
        assert [x.geometry.dp for x in learners] == [2, 1]
        data = [storage(x, seed) for x in (a, b)]
        for learner in learners:
            prepare(learner, seed)
        indices = np.random.default_rng(seed).integers(0, RECORDS, (1, BATCH))
        learners[0].train(BATCH, data[0], indices=indices).wait(60)
        halves = [
            learners[1].gradients(BATCH // 2, data[1], total=BATCH, indices=indices[:, k::2])
            for k in (0, 1)
        ]
        learners[1].apply(halves[0] + halves[1])
        assert equal(learners[0].store(), learners[1].store())


def test_gradients_of_what_cannot_be(learner: Learner, device: Device, seed: int) -> None:
    prepare(learner, seed)
    data = storage(device, seed)
    indices = np.zeros((1, BATCH), int)
    gradients = learner.gradients(BATCH, data, indices=indices)
    pairs = learner.gradient_parameters(gradients)[0]
    assert [w.shape for w, _ in pairs] == [(16, 4), (2, 16)]
    for total, mask in ((BATCH - 1, 1), (BATCH, 0), (BATCH, 3)):
        with pytest.raises(ConfigError):
            learner.gradients(BATCH, data, total=total, networks=mask, indices=indices)
    with pytest.raises(ConfigError):
        learner.apply(gradients[1:])
    with open_device("model", "agents") as other:
        phases = Learner(other)
        phases.load_program(phases.actor_critic([3, 16, 1], [4, 16, 1], sgd(1.0), sgd(1.0)))
        with pytest.raises(ConfigError, match="two phases"):
            phases.apply(gradients)


def need(learner: Learner) -> Program:
    """The program that is loaded."""
    assert learner.program is not None
    return learner.program


def test_errors_have_names(learner: Learner, device: Device, seed: int) -> None:
    prepare(learner, seed)
    data, bad = storage(device, seed), storage(device, seed, bad_action=True)
    index_error = errors.error_class("learner", Error.E_INDEX)
    assert index_error.__name__ == "LearnerIndexError"
    with pytest.raises(index_error):
        learner.train(BATCH, data, indices=np.full((1, BATCH), RECORDS)).wait(10)
    with pytest.raises(index_error):
        learner.train(BATCH, bad, indices=np.zeros((1, BATCH), int)).wait(10)
    assert learner.program is not None
    learner.load_program(learner.program)
    with pytest.raises(errors.error_class("learner", Error.E_NOWEIGHTS)):
        learner.store()


def test_checks_before_the_hardware(learner: Learner, device: Device, seed: int) -> None:
    g, slot = learner.geometry, sgd(0.1)
    data = storage(device, seed)
    for sizes in ([4], [4, g.d_max + 1], [0, 2], [2] * (g.l_max + 2)):
        with pytest.raises(ConfigError):
            learner.dqn(sizes, slot)
    with pytest.raises(ConfigError):
        learner.dqn(SIZES, slot, sync_period=0)
    with pytest.raises(ConfigError):
        learner.store()
    learner.load_program(learner.dqn(SIZES, slot))
    with pytest.raises(ConfigError):
        learner.load(default_initialization([4, 8, 2], np.random.default_rng(1)))
    learner.load(parameters(seed))
    for steps, batch, given in (
        (0, BATCH, data),
        (1, 0, data),
        (1, g.b_max + 1, data),
        (1, BATCH, Storage(data.base + 4, 64, RECORDS)),
        (1, BATCH, Storage(data.base, 65, RECORDS)),
    ):
        with pytest.raises(ConfigError):
            learner.train(batch, given, steps=steps)
    with pytest.raises(ConfigError):
        learner.train(2, data, indices=np.zeros((2, 2), int))
    with pytest.raises(ConfigError):
        learner.train(2, data, list_address=32)
