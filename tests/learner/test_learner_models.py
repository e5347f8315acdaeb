"""The learner's golden models against PyTorch, and the engine model's jobs."""

from __future__ import annotations

import numpy as np
import pytest

from models.engine import JobEnd, Link
from models.learner import mlp, optim
from models.learner.engine import LearnerEngine
from models.learner.fp import to_bits
from models.learner.layout import Geometry, ImageMap
from models.learner.learner import Batch, Learner
from models.learner.lower import DqnConfig, dqn
from models.learner.torch_ref import TorchDqn
from models.learner.validate import validate
from models.registers.learner import Error

ADAM = optim.adam(2e-3)


class Ram:
    """A flat memory."""

    def __init__(self, nbytes: int) -> None:
        self.data = np.zeros(nbytes, np.uint8)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        self.data[address : address + data.size] = data.reshape(-1)


def initial(
    rng: np.random.Generator, sizes: tuple[int, ...]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return PyTorch-like initial parameters, (weight, bias) a layer."""
    out = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):  # noqa: RUF007
        bound = 1 / np.sqrt(n_in)
        out.append(
            (
                rng.uniform(-bound, bound, (n_out, n_in)).astype(np.float32),
                rng.uniform(-bound, bound, n_out).astype(np.float32),
            )
        )
    return out


def random_batch(rng: np.random.Generator, sizes: tuple[int, ...], count: int) -> Batch:
    """Return a batch of random samples."""

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return Batch(
        state=normal(count, sizes[0]),
        next_state=normal(count, sizes[0]),
        action=rng.integers(0, sizes[-1], count).astype(np.int32),
        reward=normal(count),
        discount=np.where(rng.random(count) < 0.1, 0, 0.99).astype(np.float32),
        weight=rng.uniform(0.2, 1, count).astype(np.float32),
    )


@pytest.mark.parametrize("batch", [32, 64])
@pytest.mark.parametrize("double", [False, True])
def test_models_gradient(seed: int, batch: int, double: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = (8, 64, 64, 4)
    geometry = Geometry()
    program = dqn(geometry, DqnConfig(sizes, ADAM, double=double, kappa=1.0))
    learner = Learner(geometry, program)
    parameters = initial(rng, sizes)
    learner.load(0, learner.networks[0].map.pack(parameters))
    reference = TorchDqn(
        parameters, kappa=1.0, double=double, lr=1e-3, optimizer="adam", sync_period=5
    )
    samples = random_batch(rng, sizes, batch)
    result = learner.compute(samples, np.float32(1 / batch))
    delta, gradients = reference.gradients(samples)
    np.testing.assert_allclose(result.delta, delta, rtol=1e-5, atol=1e-6)
    image_map = learner.networks[0].map
    image = image_map.gather(learner.pipe.gradients, learner.pipe.bias_gradients)
    flat = [a for pair in image_map.unpack(image, program.networks[0]) for a in pair]
    for got, want in zip(flat, gradients, strict=True):
        assert np.abs(got - want).max() <= 2e-6 * np.abs(want).max()


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_models_hundred_steps(seed: int, optimizer: str) -> None:
    rng = np.random.default_rng(seed)
    sizes = (4, 64, 64, 2)
    slot = {
        "sgd": optim.sgd(1e-2),
        "momentum": optim.momentum(1e-2),
        "adam": optim.adam(1e-3),
    }[optimizer]
    geometry = Geometry()
    program = dqn(geometry, DqnConfig(sizes, slot, sync_period=7))
    learner = Learner(geometry, program)
    parameters = initial(rng, sizes)
    image_map = learner.networks[0].map
    learner.load(0, image_map.pack(parameters))
    reference = TorchDqn(
        parameters, kappa=1.0, double=False, lr=float(slot.lr), optimizer=optimizer, sync_period=7
    )
    for step in range(100):
        samples = random_batch(rng, sizes, 32)
        result = learner.compute(samples, np.float32(1 / 32), step & 1)
        learner.commit()
        delta = reference.step(samples)
    assert np.abs(result.delta - delta).max() < 1e-3 * np.abs(delta).max()
    flat = [
        a for p in image_map.unpack(learner.networks[0].weights, program.networks[0]) for a in p
    ]
    for got, tensor in zip(flat, reference.online, strict=True):
        want = tensor.detach().numpy()
        assert np.sqrt(((got - want) ** 2).mean() / (want**2).mean()) < 1e-3


def test_models_pipelines_change_only_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, x = rng.normal(size=(2, 33, 16)).astype(np.float32)
    one, two = mlp.outer(d, x)[0], mlp.outer(d, x, 2)[0]
    assert not np.array_equal(one, two)
    np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.parametrize("p", [8, 16, 64])
def test_models_image_round_trip(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (6, 20, 33, 3)
    geometry = Geometry(p=p, ob=p // 4, w_rows=4096)
    program = dqn(geometry, DqnConfig(sizes, ADAM, double=True, tau=0.01))
    assert validate(program.encode(), geometry) == program
    image_map = ImageMap(geometry, program.networks[0])
    parameters = initial(rng, sizes)
    back = image_map.unpack(image_map.pack(parameters), program.networks[0])
    for (w, b), (w2, b2) in zip(parameters, back, strict=True):
        assert np.array_equal(w, w2) and np.array_equal(b, b2)


def run(engine: LearnerEngine, words: list[int], memory: Ram) -> JobEnd:
    """Run a job that needs no other engine."""
    job = engine.job(0, np.array((words + [0] * 16)[:16], np.uint32), memory)
    for _ in range(1000):
        try:
            next(job)
        except StopIteration as stop:
            end: JobEnd = stop.value
            return end
    raise TimeoutError("the job waits for a stream")


def test_models_engine_trains(seed: int) -> None:
    """PROGRAM, LOAD, TRAIN from a list and from SMP, STORE; the errors on the way."""
    rng = np.random.default_rng(seed)
    sizes, batch, records = (4, 16, 2), 8, 50
    geometry = Geometry()
    engine = LearnerEngine(geometry, Link(), Link())
    memory = Ram(1 << 20)
    program = dqn(geometry, DqnConfig(sizes, ADAM, sync_period=2))
    image = program.encode()
    memory.write(0x1000, image.view(np.uint8))
    image_map = ImageMap(geometry, program.networks[0])
    memory.write(0x4000, image_map.pack(initial(rng, sizes)).view(np.uint8))
    storage = np.zeros((records, 16), np.float32)
    storage[:, :11] = rng.normal(size=(records, 11))
    storage.view(np.int32)[:, 4] = rng.integers(0, 2, records)
    memory.write(0x20000, storage.view(np.uint8))
    entries = np.zeros((2 * batch, 4), np.uint32)
    entries[:, 0] = rng.integers(0, records, 2 * batch)
    entries[:, 2] = to_bits(1.0)
    memory.write(0x40000, entries.view(np.uint8))
    train = [4 | 3 << 8, 0, 2, batch, 0x20000, 0, 64, records, to_bits(1 / batch), 1]
    train += [0x40000, 0, 0x50000, 0]

    assert run(engine, train, memory).error == Error.E_NOPROG
    assert run(engine, [3, 0, 4 * image.size - 4, 0, 0x1000], memory).error == Error.E_DIM
    assert run(engine, [3, 0, 4 * image.size, 0, 0x1000], memory).error == 0
    assert run(engine, train, memory).error == Error.E_NOWEIGHTS
    assert run(engine, [1, 0, 0x101, 0, 0x4000], memory).error == 0
    end = run(engine, train, memory)
    assert (end.error, end.count, engine.events) == (0, 2, 2)
    td = memory.read(0x50000, 4 * batch).view(np.float32)
    assert np.isfinite(td).all() and td.any()
    assert run(engine, [2, 0, 0x1F01, 0, 0x80000], memory).error == 0
    stored = memory.read(0x80000, 5 * 4 * image_map.words).view(np.float32)
    net = engine.learner.networks[0] if engine.learner else None
    assert net is not None and np.array_equal(stored[: image_map.words], net.weights)
    assert np.array_equal(net.weights, net.target)  # period 2

    engine.smp.clear()
    stream = [4 | 4 << 8, *train[1:10]]
    for step in range(2):
        for slot in range(batch):
            entry = int(entries[slot, 0]) | to_bits(1.0) << 64 | slot << 96 | 1 << 112
            engine.smp.put(entry, slot == batch - 1)
        if step:
            engine.smp.words[-1] = (engine.smp.words[-1][0], False)
    end = run(engine, stream, memory)
    assert (end.error, end.count, end.info0) == (Error.E_STREAM, 1, batch - 1)
    kinds = [word >> 48 for word, _ in engine.tde.words]
    assert kinds == [1] + [0] * batch + [2]
    assert engine.read_register(0x124) == 3
