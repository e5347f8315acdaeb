"""The learner's golden models against PyTorch, and the engine model's jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.engine import JobEnd, Link
from models.learner import mlp, optim
from models.learner.engine import LearnerEngine
from models.learner.fp import to_bits, words
from models.learner.layout import Geometry, ImageMap
from models.learner.learner import Batch, Learner
from models.learner.lower import ActorCriticConfig, DqnConfig, ddpg, dqn, td3
from models.learner.timing import ideal_pass
from models.learner.torch_ref import TorchDqn, forward
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


@pytest.mark.parametrize("count", [1, 7, 20])
def test_models_infer_against_pytorch(seed: int, count: int) -> None:
    """Forward passes of rounds of 8, and what is refused."""
    rng = np.random.default_rng(seed)
    sizes = (18, 20, 33, 19)
    geometry = Geometry()
    engine, memory = LearnerEngine(geometry), Ram(1 << 18)
    program = dqn(geometry, DqnConfig((*sizes[:-1], 3), ADAM, double=True))
    infer = [5, 0, 0, 8, 0x10000, 0, 128, count, 0, 0, 0, 0, 0x20000, 0]
    assert run(engine, infer, memory).error == Error.E_NOPROG
    image = program.encode()
    memory.write(0, image.view(np.uint8))
    assert run(engine, [3, 0, 4 * image.size], memory).error == 0
    assert run(engine, infer, memory).error == Error.E_NOWEIGHTS
    parameters = initial(rng, (*sizes[:-1], 3))
    memory.write(0x8000, ImageMap(geometry, program.networks[0]).pack(parameters).view(np.uint8))
    assert run(engine, [1, 0, 0x101, 0, 0x8000], memory).error == 0
    inputs = rng.normal(size=(count, 32)).astype(np.float32)
    memory.write(0x10000, inputs.view(np.uint8))
    end = run(engine, infer, memory)
    assert (end.error, end.count, engine.version, engine.steps_done) == (0, count, 1, 0)
    assert engine.busy == sum(
        ideal_pass(program, geometry, 0, min(8, count - at)) for at in range(0, count, 8)
    )
    out = memory.read(0x20000, 64 * (count + 1)).view(np.float32).reshape(-1, 16)
    assert not out[:count, 3:].any() and not out[count].any()
    tensors = [torch.tensor(a) for pair in parameters for a in pair]
    want = forward(tensors, torch.tensor(inputs[:, : sizes[0]])).numpy()
    np.testing.assert_allclose(out[:count, :3], want, rtol=2e-6, atol=2e-6)
    for index, value, error in (
        (2, 1, Error.E_DIM), (2, 256, Error.E_RESERVED), (3, 0, Error.E_BATCH),
        (3, geometry.b_max + 1, Error.E_BATCH), (7, 0, Error.E_DIM), (4, 32, Error.E_ALIGN),
        (6, 96, Error.E_ALIGN), (12, 16, Error.E_ALIGN), (8, 1, Error.E_RESERVED),
    ):  # fmt: skip
        bad = [*infer[:index], value, *infer[index + 1 :]]
        end = run(engine, bad, memory)
        assert (end.error, end.info0) == (error, index)
    last = (1 << 40) - 64 * count
    for index in (4, 12):  # one vector more than there is room for
        bad = [*infer[:index], last & 0xFFFF_FFFF, last >> 32, *infer[index + 2 :]]
        bad[7] += 1
        end = run(engine, bad, memory)
        assert (end.error, end.info0) == (Error.E_ADDR, index)


@pytest.mark.parametrize("dp", [1, 4])
def test_models_gradients_and_apply(seed: int, dp: int) -> None:
    """GRADS against autograd; GRADS and APPLY are TRAIN, of a batch and of its shares."""
    rng = np.random.default_rng(seed)
    sizes, batch, records = (4, 16, 16, 2), 8, 50
    geometry = Geometry(dp=dp)
    program = dqn(geometry, DqnConfig(sizes, ADAM, sync_period=2))
    image, image_map = program.encode(), ImageMap(geometry, program.networks[0])
    parameters = initial(rng, sizes)
    rows = np.zeros((records, 16), np.float32)
    rows[:, :11] = rng.normal(size=(records, 11))
    rows.view(np.int32)[:, 4] = rng.integers(0, 2, records)
    entries = np.zeros((batch, 4), np.uint32)
    entries[:, 0] = rng.integers(0, records, batch)
    entries[:, 2] = rng.uniform(0.2, 1, batch).astype(np.float32).view(np.uint32)
    train = [4 | 3 << 8, 0, 1, batch, 0x20000, 0, 64, records, to_bits(1 / batch), 0]
    train += [0x40000, 0, 0x50000, 0]
    grads = [7 | 3 << 8, 0, 1, *train[3:], 0x60000, 0]
    size = 4 * image_map.words

    def prepared() -> tuple[LearnerEngine, Ram]:
        engine, memory = LearnerEngine(geometry), Ram(1 << 20)
        for address, data in (
            (0, image), (0x4000, image_map.pack(parameters)), (0x20000, rows), (0x40000, entries),
        ):  # fmt: skip
            memory.write(address, data.view(np.uint8))
        assert run(engine, grads, memory).error == Error.E_NOPROG
        assert run(engine, [3, 0, 4 * image.size], memory).error == 0
        assert run(engine, grads, memory).error == Error.E_NOWEIGHTS
        assert run(engine, [1, 0, 0x101, 0, 0x4000], memory).error == 0
        return engine, memory

    one, memory = prepared()
    for _ in range(3):
        assert run(one, train, memory).error == 0
    wanted_td = memory.read(0x50000, 4 * batch)
    two, memory = prepared()
    for step in range(3):
        for _ in range(2):
            end = run(two, grads, memory)
            assert (end.error, end.count) == (0, 1)
        assert (two.steps_done, two.version) == (step, step + 1)
        if not step:
            samples = rows[entries[:, 0]]
            reference = TorchDqn(
                parameters, kappa=1.0, double=False, lr=1e-3, optimizer="sgd", sync_period=5
            )
            _, wanted = reference.gradients(
                Batch(samples[:, :4], samples[:, 7:11], samples.view(np.int32)[:, 4], samples[:, 5],
                      samples[:, 6], entries[:, 2].view(np.float32))
            )  # fmt: skip
            got = image_map.unpack(memory.read(0x60000, size).view(np.float32), program.networks[0])
            for array, want in zip([a for pair in got for a in pair], wanted, strict=True):
                assert np.abs(array - want).max() <= 2e-6 * np.abs(want).max()
        assert run(two, [8, 0, 1, 0, 0x60000], memory).count == 1
    assert np.array_equal(memory.read(0x50000, 4 * batch), wanted_td)
    for engine in (one, two):
        assert (engine.steps_done, engine.version) == (3, 4)
    assert one.learner is not None and two.learner is not None
    a, b = one.learner.networks[0], two.learner.networks[0]
    for name in ("weights", "moment", "variance", "target"):
        assert np.array_equal(words(getattr(a, name)), words(getattr(b, name))), name
    assert (a.scalars, a.bank) == (b.scalars, b.bank)
    for index, value, error in (
        (0, 7 | 8 << 8, Error.E_RESERVED), (2, 0, Error.E_DIM), (2, 2, Error.E_DIM),
        (2, 256, Error.E_RESERVED), (3, 0, Error.E_BATCH), (9, 1, Error.E_RESERVED),
        (14, 16, Error.E_ALIGN), (15, 256, Error.E_RESERVED),
    ):  # fmt: skip
        end = run(two, [*grads[:index], value, *grads[index + 1 :]], memory)
        assert (end.error, end.info0) == (error, index)
    for words_of, error in (
        ([8, 0, 0], Error.E_DIM), ([8, 0, 2], Error.E_DIM), ([8, 0, 1, 1], Error.E_RESERVED),
        ([8 | 256, 0, 1], Error.E_RESERVED), ([8, 0, 1, 0, 8], Error.E_ALIGN),
        ([6], Error.E_OPCODE), ([9], Error.E_OPCODE),
    ):  # fmt: skip
        assert run(two, words_of, memory).error == error


def test_models_gradients_of_delayed_networks(seed: int) -> None:
    """The lagged TD3 in GRADS and APPLY: a delayed network's gradient is 0 until it is due."""
    rng = np.random.default_rng(seed)
    geometry = Geometry(actor_critic=1)
    config = ActorCriticConfig((3, 16, 1), (4, 16, 1), ADAM, ADAM, lagged=True)
    program = td3(geometry, config, delay=3)
    assert program.trained == 7
    learners = [Learner(geometry, program) for _ in range(2)]
    for index, sizes in enumerate([config.actor, config.critic, config.critic]):
        image = learners[0].networks[index].map.pack(initial(rng, sizes))
        for learner in learners:
            learner.load(index, image)
    for step in range(6):
        base = random_batch(rng, (3, 1), 8)
        noise, action = rng.uniform(-1, 1, (2, 8, 1)).astype(np.float32)
        samples = replace(base, action=action, noise=noise)
        for learner in learners:
            learner.compute(samples, np.float32(1 / 8))
        learners[0].commit()
        images = {index: learners[1].gradient(index) for index in range(3)}
        assert images[0].any() == (step % 3 == 2) and images[1].any()
        learners[1].apply(images)
    for a, b in zip(learners[0].networks, learners[1].networks, strict=True):
        assert np.array_equal(a.weights, b.weights) and np.array_equal(a.target, b.target)
        assert a.scalars == b.scalars


@pytest.mark.parametrize("twin", [False, True])
def test_models_forward_passes_of_actor_critic(seed: int, twin: bool) -> None:
    """An actor's states give actions, a critic's states and actions a value."""
    rng = np.random.default_rng(seed)
    geometry = Geometry(actor_critic=1)
    config = ActorCriticConfig((5, 17, 2), (7, 16, 9, 1), ADAM, ADAM)
    program = td3(geometry, config) if twin else ddpg(geometry, config)
    learner = Learner(geometry, program)
    for index, sizes in enumerate([config.actor, *[config.critic] * (2 if twin else 1)]):
        parameters = initial(rng, sizes)
        learner.load(index, learner.networks[index].map.pack(parameters))
        stages = program.forward_pass(index)
        assert stages is not None
        inputs = rng.normal(size=(4, sizes[0])).astype(np.float32)
        got = [learner.pipe.forward(program, stages, inputs, parity) for parity in (0, 1)]
        assert np.array_equal(got[0], got[1])
        want = forward([torch.tensor(a) for p in parameters for a in p], torch.tensor(inputs))
        want = want.tanh() if index == 0 else want
        np.testing.assert_allclose(got[0], want.numpy(), rtol=2e-6, atol=2e-6)


def test_models_no_forward_pass() -> None:
    """A program without the chain of a network's stages has none."""
    program = dqn(Geometry(), DqnConfig((4, 16, 2), ADAM))
    stages = program.forward_pass(0)
    assert stages == range(2, 4)
    first, second = (program.stages[k] for k in stages)
    for changed in (
        replace(first, target=True), replace(first, src=9), replace(first, n_in=5),
        replace(first, n_out=15), replace(first, op=2),
    ):  # fmt: skip
        table = (*program.stages[:2], changed, second, *program.stages[4:])
        assert replace(program, stages=table).forward_pass(0) is None


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


def test_models_adam_corrects_its_bias_in_the_first_steps(seed: int) -> None:
    """As close to PyTorch in binary64 as PyTorch in binary32 is, to a last place.

    With the corrections as differences, 1 - beta**t, the first steps were off by four times as
    much: 1 - 0.999 has 14 bits of binary32.
    """
    rng = np.random.default_rng(seed)
    for steps in (1, 2, 5, 10) * 5:
        w = rng.standard_normal(9).astype(np.float32)
        gradients = rng.standard_normal((steps, 9)).astype(np.float32)
        slot, state = optim.adam(1e-2), optim.Scalars(lr=np.float32(1e-2))
        got, m, v = w.copy(), np.zeros_like(w), np.zeros_like(w)
        for g in gradients:
            state, got, m, v = optim.update(slot, state, got, m, v, g)
        want = []
        for dtype in (torch.float64, torch.float32):
            parameter = torch.tensor(w, dtype=dtype, requires_grad=True)
            optimizer = torch.optim.Adam([parameter], lr=1e-2)
            for g in gradients:
                parameter.grad = torch.tensor(g, dtype=dtype)
                optimizer.step()
            want.append(parameter.detach().numpy().astype(np.float64))
        exact, single = want
        place = np.spacing(np.abs(w).max())
        assert np.abs(got - exact).max() <= np.abs(single - exact).max() + place / 2
