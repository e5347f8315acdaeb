"""The learner's golden models of DDPG and TD3: each operation, programs against PyTorch, checks."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from flow.effort import scale
from models.engine import JobEnd
from models.learner import mlp, optim, tanh, timing
from models.learner.engine import LearnerEngine
from models.learner.fp import INFINITY, to_bits, words
from models.learner.layout import Geometry, ImageMap
from models.learner.learner import Batch, Learner, StepResult
from models.learner.loss import actor_loss, td_loss
from models.learner.lower import (
    ACTOR,
    CRITIC,
    TWIN,
    ActorCriticConfig,
    DqnConfig,
    ddpg,
    dqn,
    td3,
)
from models.learner.program import (
    ACT_RELU,
    ACT_TANH,
    ACT_TANH_SLOPE,
    HEADER_WORDS,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_PI,
    OP_LOSS_Q,
    OP_LOSS_TD,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    RECORD_WORDS,
    STAGE_WORDS,
    Program,
    Stage,
)
from models.learner.torch_ref import TorchActorCritic
from models.learner.validate import (
    KIND_HEADER,
    KIND_NETWORK,
    KIND_STAGE,
    ProgramError,
    validate,
)
from models.registers.learner import Error

torch.set_num_threads(1)  # its tensors are small: more threads only wait for each other
ROOT = Path(__file__).resolve().parents[2]
BUILD = Geometry(w_rows=4096, a_rows=8192, actor_critic=1)
STATES, ACTIONS = 5, 2
EPS = 1e-3  # of Adam: see test_hundreds_of_steps
RATES = 1e-4, 1e-3  # of actor and critic
TAU = 0.01
CONFIG = ActorCriticConfig(
    actor=(STATES, 32, 24, ACTIONS),
    critic=(STATES + ACTIONS, 40, 24, 1),
    actor_optimizer=optim.adam(RATES[0], eps=EPS),
    critic_optimizer=optim.adam(RATES[1], eps=EPS),
    tau=TAU,
)
LAGGED = replace(CONFIG, lagged=True)
PROGRAMS: dict[str, Callable[[], Program]] = {
    "ddpg": lambda: ddpg(BUILD, CONFIG),
    "ddpg_lagged": lambda: ddpg(BUILD, LAGGED),
    "td3": lambda: td3(BUILD, CONFIG, delay=2),
    "td3_lagged": lambda: td3(BUILD, LAGGED, delay=3),
}
Layers = list[tuple[np.ndarray, np.ndarray]]


def float32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def random_batch(rng: np.random.Generator, count: int, noise: bool) -> Batch:
    """Return random samples with actions within -1..1, and noise clipped to 0.5."""
    return Batch(
        state=float32(rng, count, STATES),
        next_state=float32(rng, count, STATES),
        action=rng.uniform(-1, 1, (count, ACTIONS)).astype(np.float32),
        reward=float32(rng, count),
        discount=np.where(rng.random(count) < 0.1, 0, 0.9).astype(np.float32),
        weight=rng.uniform(0.2, 1, count).astype(np.float32),
        noise=float32(rng, count, ACTIONS).clip(-0.5, 0.5) if noise else None,
    )


def initial(rng: np.random.Generator, sizes: tuple[int, ...]) -> Layers:
    """Return PyTorch-like initial parameters, (weight, bias) a layer."""
    out = []
    for n_in, n_out in itertools.pairwise(sizes):
        bound = 1 / np.sqrt(n_in)
        weight = rng.uniform(-bound, bound, (n_out, n_in)).astype(np.float32)
        out.append((weight, rng.uniform(-bound, bound, n_out).astype(np.float32)))
    return out


def start(rng: np.random.Generator, program: Program) -> tuple[Learner, list[Layers]]:
    """Return a learner with random parameters, and these."""
    learner = Learner(BUILD, program)
    parameters = [
        initial(rng, CONFIG.actor if k == ACTOR else CONFIG.critic)
        for k in range(len(program.networks))
    ]
    for index, layers in enumerate(parameters):
        learner.load(index, learner.networks[index].map.pack(layers))
    return learner, parameters


def reference(parameters: list[Layers], program: Program, lagged: bool) -> TorchActorCritic:
    """Return the program in binary64."""
    slot = program.slots[0]
    return TorchActorCritic(
        parameters[0], parameters[1:], lr=(float(slot.lr), float(program.slots[1].lr)),
        optimizer="adam" if slot.kind == optim.ADAM else "sgd", eps=float(slot.eps), tau=TAU,
        lagged=lagged, delay=max(1, program.delay),
    )  # fmt: skip


def step(learner: Learner, batch: Batch, parity: int = 0) -> StepResult:
    """Run all phases of a step; returns the first one's result."""
    inverse = np.float32(1 / batch.count)
    results = []
    for phase in range(len(learner.program.phases)):
        results.append(learner.compute(batch, inverse, parity, phase))
        assert results[-1].not_finite is None
        learner.commit(phase)
    return results[0]


def gradients(learner: Learner, index: int) -> list[np.ndarray]:
    """Return the gradients of a network that the last step left, weight and bias a layer."""
    net, pipe = learner.networks[index], learner.pipe
    image = net.map.gather(pipe.gradients, pipe.bias_gradients)
    return [a for p in net.map.unpack(image, learner.program.networks[index]) for a in p]


def flat(learner: Learner, index: int, image: np.ndarray) -> np.ndarray:
    """Return all parameters of an image in one vector."""
    net = learner.networks[index]
    pairs = net.map.unpack(image, learner.program.networks[index])
    return np.concatenate([a.reshape(-1) for p in pairs for a in p]).astype(np.float64)


def rms(x: np.ndarray) -> float:
    return float(np.sqrt((np.asarray(x, np.float64) ** 2).mean()))


# ---- The hyperbolic tangent ----
def test_tanh_error_over_a_sweep() -> None:
    """Every 499th binary32 from 0 to 10: near the exact tangent, within -1..1."""
    bits = np.arange(0, to_bits(10.0), 499, dtype=np.uint32)
    x = bits.view(np.float32)
    y = tanh.tanh(x)
    assert y.dtype == np.float32
    exact = np.tanh(x.astype(np.float64))
    error = np.abs(y - exact)
    inside = x < 8
    assert error[inside].max() < 7.1e-8  # 7.06e-8 measured, at 1.31
    assert error[~inside].max() < 2.26e-7  # 1 - tanh(8) = 2.2507e-7
    assert y.min() >= 0 and y.max() == 1
    assert np.array_equal(words(tanh.tanh(-x)), words(y) ^ np.uint32(1 << 31)), "odd"
    # Two ends of segments meet with one unit in the last place to spare.
    assert np.diff(y.astype(np.float64)).min() > -1.3e-7


def test_tanh_special_values() -> None:
    given = np.array(
        [0, 1 << 31, 1, 0x8000_0001, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC1_2345,
         0x7F80_0001, to_bits(8), to_bits(-8), to_bits(2.0**-8) - 1],
        np.uint32,
    )  # fmt: skip
    one, nan = to_bits(1), 0x7FC0_0000
    want = [0, 1 << 31, 1, 0x8000_0001, one, one | 1 << 31, nan, nan, nan, one, one | 1 << 31,
            to_bits(2.0**-8) - 1]  # fmt: skip
    assert tanh.tanh(given.view(np.float32)).view(np.uint32).tolist() == want


def test_tanh_slope_and_disturbance() -> None:
    y = np.array([0, 0.5, -1, 1, np.nan], np.float32)
    g = np.array([3, 4, 5, np.inf, 1], np.float32)
    assert words(tanh.slope(g, y)).tolist()[:3] == [to_bits(3), to_bits(3), 0]
    assert words(tanh.slope(g, y)).tolist()[3:] == [0x7FC0_0000] * 2  # inf * 0
    noise = np.array([0.5, 0.75, -0.25, 0.25, 1], np.float32)
    got = tanh.disturb(y, noise)
    assert words(got).tolist() == [to_bits(0.5), to_bits(1), to_bits(-1), to_bits(1), 0x7FC0_0000]
    small = np.float32(0.1) + np.float32(0.2)
    got = tanh.disturb(np.full(1, 0.1, np.float32), np.full(1, 0.2, np.float32))
    assert to_bits(got[0]) == to_bits(small)


def test_tanh_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/learner_tables.py", "--check"], capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode()


# ---- The losses ----
@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("kappa", [None, 0.5])
def test_loss_td_is_the_gradient(seed: int, twins: bool, kappa: float | None) -> None:
    rng = np.random.default_rng(seed)
    count = 33
    q, q_next, twin = (float32(rng, count, 1) for _ in range(3))
    reward, discount, weight = (float32(rng, count) for _ in range(3))
    inverse = np.float32(1 / count)
    threshold = INFINITY if kappa is None else np.float32(kappa)
    loss = td_loss(q, q_next, twin if twins else None, reward, discount, weight, inverse, threshold)
    best = np.minimum(q_next, twin) if twins else q_next
    y = torch.tensor((reward + discount * best[:, 0]).astype(np.float64))
    value = torch.tensor(q[:, 0].astype(np.float64), requires_grad=True)
    if kappa is None:
        each = 0.5 * (value - y) ** 2
    else:
        each = torch.nn.functional.huber_loss(value, y, reduction="none", delta=kappa)
    (each * torch.tensor(weight)).mean().backward()
    assert value.grad is not None
    np.testing.assert_allclose(loss.gradient[:, 0], value.grad.numpy(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(loss.delta, (value - y).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert not loss.not_finite.any() and not loss.bad_index.any()


def test_loss_td_rounds_in_its_order(seed: int) -> None:
    """r + d*q2, then q - y, then delta * (w * invB): other orders give other bits."""
    rng = np.random.default_rng(seed)
    q, q_next = (float32(rng, 50, 1) for _ in range(2))
    r, d, w = (float32(rng, 50) for _ in range(3))
    inverse = np.float32(1 / 3)
    loss = td_loss(q, q_next, None, r, d, w, inverse, INFINITY)
    delta = q[:, 0] - (r + d * q_next[:, 0])
    assert np.array_equal(words(loss.delta), words(delta))
    assert np.array_equal(words(loss.gradient[:, 0]), words(delta * (w * inverse)))
    assert not np.array_equal(words(loss.gradient[:, 0]), words(delta * w * inverse))
    assert not np.array_equal(words(delta), words(q[:, 0] - r - d * q_next[:, 0]))


def test_loss_td_tells_what_is_not_finite() -> None:
    one = np.ones((1, 1), np.float32)
    row = np.ones(1, np.float32)
    for value in (np.nan, np.inf, -np.inf):
        bad = np.full((1, 1), value, np.float32)
        for q, q_next, twin in ((bad, one, None), (one, bad, None), (one, bad, one),
                                (one, one, bad)):  # fmt: skip
            assert td_loss(q, q_next, twin, row, row, row, np.float32(1), INFINITY).not_finite[0]
        assert actor_loss(bad, np.float32(1)).not_finite[0]
        assert actor_loss(one, np.float32(value)).not_finite[0]
    assert not td_loss(one, one, one, row, row, row, np.float32(1), INFINITY).not_finite[0]
    loss = td_loss(one, one, None, row, row, row * np.float32(np.inf), np.float32(1), INFINITY)
    assert loss.not_finite[0]


def test_loss_pi_is_minus_the_inverse_batch(seed: int) -> None:
    q = float32(np.random.default_rng(seed), 7, 1)
    loss = actor_loss(q, np.float32(1 / 7))
    assert words(loss.gradient).reshape(-1).tolist() == [to_bits(-np.float32(1 / 7))] * 7
    assert loss.delta.size == 0 and not loss.not_finite.any()


# ---- Columns and vectors ----
def columns(learner: Learner) -> np.ndarray:
    """Return the copy of the critic's columns, [A, n_out] as it lies in the weight memory."""
    net = learner.program.networks[CRITIC]
    pitch = BUILD.pitch(net.layers[0].n_out)
    at = net.column_row * BUILD.p
    rows = learner.pipe.weights[at : at + net.columns * pitch].reshape(net.columns, pitch)
    return rows[:, : net.layers[0].n_out]


def test_columns_follow_the_weights(seed: int) -> None:
    """After LOAD and after each update the copy holds the first layer's action columns."""
    rng = np.random.default_rng(seed)
    learner, _ = start(rng, PROGRAMS["ddpg"]())
    for count in range(3):
        net = learner.networks[CRITIC]
        layers = net.map.unpack(net.weights, learner.program.networks[CRITIC])
        want = layers[0][0][:, STATES:].T
        assert np.array_equal(words(columns(learner)), words(want)), count
        step(learner, random_batch(rng, 6, False), count & 1)


def test_action_gradient(seed: int) -> None:
    """The DOT on the columns gives what AXPY over the whole layer gives, times the slope."""
    rng = np.random.default_rng(seed)
    program = PROGRAMS["ddpg_lagged"]()
    learner, parameters = start(rng, program)
    batch = random_batch(rng, 9, False)
    learner.compute(batch, np.float32(1 / 9), parity=1)
    stage = next(s for s in program.stages if s.act == ACT_TANH_SLOPE)
    shift = program.copy_rows(BUILD) * BUILD.p

    def vector(row: int, size: int) -> np.ndarray:
        return learner.pipe.vector(program, row, size, 9, shift)

    joined = vector(program.state, STATES + ACTIONS)
    assert np.array_equal(joined[:, :STATES], batch.state)
    given = vector(program.action, STATES + ACTIONS)
    assert np.array_equal(given, np.concatenate([batch.state, batch.action], axis=1))
    action = joined[:, STATES:]
    full = mlp.axpy(parameters[CRITIC][0][0], vector(stage.src, stage.n_in))[:, STATES:]
    want = full * (1 - action.astype(np.float64) ** 2)
    got = vector(stage.dst, ACTIONS)
    assert np.abs(got - want).max() <= 2e-6 * np.abs(want).max()
    outputs = mlp.relu(mlp.dot(*_first(parameters[ACTOR][0], batch.state)))
    outputs = mlp.relu(mlp.dot(*_first(parameters[ACTOR][1], outputs)))
    outputs = tanh.tanh(mlp.dot(*_first(parameters[ACTOR][2], outputs)))
    assert np.array_equal(words(action), words(outputs)), "the action lies after the state"


def _first(
    layer: tuple[np.ndarray, np.ndarray], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return layer[0], x, layer[1]


def test_target_action_has_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = PROGRAMS["td3"]()
    learner, _ = start(rng, program)
    batch = random_batch(rng, 64, True)
    assert batch.noise is not None
    quiet = replace(batch, noise=np.zeros_like(batch.noise))
    loud = replace(batch, noise=np.full_like(batch.noise, 3))
    results = []
    for samples in (quiet, batch, loud):
        learner.compute(samples, np.float32(1 / 64))
        action = learner.pipe.vector(program, program.next_state, STATES + ACTIONS, 64, 0)
        results.append(action[:, STATES:].copy())
    assert np.array_equal(words(results[1]), words(tanh.disturb(results[0], batch.noise)))
    assert (results[2] == 1).all()
    assert not np.array_equal(results[0], results[1])


# ---- Programs against PyTorch ----
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_autograd(seed: int, name: str) -> None:
    """All gradients of a step, against binary64: within 2e-6 of a network's largest.

    Not of each tensor's: that of the critic's last bias is one sum of terms of both signs, which
    may cancel. The largest of 40 seeds is 5.7e-7.
    """
    rng = np.random.default_rng(seed)
    program = PROGRAMS[name]()
    learner, parameters = start(rng, program)
    torch_ref = reference(parameters, program, lagged=True)
    batch = random_batch(rng, 32, program.noise != 0)
    learner.networks[0].scalars = replace(learner.networks[0].scalars, waited=program.delay)
    result = learner.compute(batch, np.float32(1 / 32))
    for phase in range(1, len(program.phases)):
        learner.compute(batch, np.float32(1 / 32), phase=phase)  # no update in between
    delta, critics = torch_ref.critic_gradients(batch)
    np.testing.assert_allclose(result.delta, delta, rtol=1e-5, atol=1e-6)
    for index, want in enumerate([torch_ref.actor_gradients(batch), *critics]):
        largest = max(tensor.abs().max().item() for tensor in want)
        for got, tensor in zip(gradients(learner, index), want, strict=True):
            assert np.abs(got - tensor.numpy()).max() <= 2e-6 * largest, (index, got.shape)


STEPS = scale(300, 100)


def values(network: list[torch.Tensor]) -> np.ndarray:
    return np.concatenate([x.detach().numpy().reshape(-1) for x in network])


@pytest.mark.parametrize("name", PROGRAMS)
def test_hundreds_of_steps_one_by_one(seed: int, name: str) -> None:
    """Each step of a run against binary64 from the same weights and targets, as SGD has no other.

    The distance is the rounding of the new weights, relative RMS: 2.6e-8 in the median, 2.9e-8 at
    most (measured, five seeds). A ReLU whose input is so near zero that the roundings decide would
    make a step differ by more; that may be in one of a hundred.
    """
    rng = np.random.default_rng(seed)
    program, lagged = PROGRAMS[name](), name.endswith("lagged")
    program = replace(program, slots=(optim.sgd(0.02), optim.sgd(0.05)))
    learner, parameters = start(rng, program)
    exact = reference(parameters, program, lagged)
    other = reference(parameters, program, not lagged)
    distances, lags = [], []
    for count in range(STEPS):
        for index, net in enumerate(learner.networks):
            for image, which in ((net.weights, "networks"), (net.target, "targets")):
                arrays = net.map.unpack(image, program.networks[index])
                for model in (exact, other):
                    tensors = getattr(model, which)[index]
                    for tensor, array in zip(tensors, [a for p in arrays for a in p], strict=True):
                        tensor.data.copy_(torch.tensor(array))
        batch = random_batch(rng, 32, program.noise != 0)
        due = learner.due
        step(learner, batch, count & 1)
        exact.step(batch)
        other.step(batch)
        worst = 0.0
        for index, net in enumerate(learner.networks):
            for image, which in ((net.weights, "networks"), (net.target, "targets")):
                want = values(getattr(exact, which)[index])
                worst = max(worst, rms(flat(learner, index, image) - want) / rms(want))
        distances.append(worst)
        if due:
            want = values(exact.networks[ACTOR])
            lags.append(rms(values(other.networks[ACTOR]) - want) / rms(want))
    print(
        name,
        seed,
        np.median(distances),
        sum(d > 2e-7 for d in distances),
        max(distances),
        np.median(lags),
    )
    assert sum(d > 4e-8 for d in distances) <= STEPS // 100, max(distances)
    assert np.median(lags) > 50 * np.median(distances), "the lag makes another result"


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_hundreds_of_steps(seed: int, name: str, optimizer: str) -> None:
    """STEPS steps against binary64: the distance of all parameters, relative RMS.

    Roundings alone make it 5e-7 (both optimizers). But a ReLU's input that is so near zero that the
    roundings decide makes another step, which no accuracy repairs, and every such step makes more
    of them: 1.7e-4 was seen of SGD, 2.3e-3 of Adam, which divides by the root of a gradient's
    square. EPS keeps gradients near zero, which are all rounding, from becoming steps of a whole
    learning rate.
    """
    rng = np.random.default_rng(seed)
    program, lagged = PROGRAMS[name](), name.endswith("lagged")
    if optimizer == "sgd":
        program = replace(program, slots=(optim.sgd(0.02), optim.sgd(0.05)))
    learner, parameters = start(rng, program)
    exact = reference(parameters, program, lagged)
    for count in range(STEPS):
        batch = random_batch(rng, 32, program.noise != 0)
        result = step(learner, batch, count & 1)
        delta = exact.step(batch)
    assert rms(result.delta - delta) < 1e-2 * rms(delta)
    for index, net in enumerate(learner.networks):
        for image, which in ((net.weights, "networks"), (net.target, "targets")):
            want = values(getattr(exact, which)[index])
            distance = rms(flat(learner, index, image) - want) / rms(want)
            assert distance < 1e-2, (index, which, distance)


@pytest.mark.parametrize("name", ["td3", "td3_lagged"])
def test_delayed_stages_run_every_few_steps(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    program = PROGRAMS[name]()
    learner, _ = start(rng, program)
    for count in range(1, 3 * program.delay + 2):
        before = [(net.weights.copy(), net.target.copy()) for net in learner.networks]
        assert learner.due == (count % program.delay == 0)
        step(learner, random_batch(rng, 4, True), count & 1)
        for index, (net, (weights, target)) in enumerate(
            zip(learner.networks, before, strict=True)
        ):
            due = count % program.delay == 0
            assert np.array_equal(net.target, target) == (not due), (count, index)
            assert np.array_equal(net.weights, weights) == (index == ACTOR and not due)
        assert learner.networks[0].scalars.waited == count % program.delay


def test_pipelines_and_lanes(seed: int) -> None:
    """The same bits with other lanes; with other pipelines only another rounding."""
    batch = random_batch(np.random.default_rng(seed), 13, True)
    got = []
    for p, pipelines in ((16, 1), (32, 1), (16, 2)):
        build = replace(BUILD, p=p, ob=p // 4, dp=pipelines)
        learner = Learner(build, td3(build, CONFIG, delay=1))
        rng = np.random.default_rng(seed)
        for index, net in enumerate(learner.networks):
            layers = initial(rng, CONFIG.critic if index else CONFIG.actor)
            learner.load(index, net.map.pack(layers))
        step(learner, batch)
        got.append(
            [np.concatenate([g.reshape(-1) for g in gradients(learner, k)]) for k in range(3)]
        )
    for one, two, other in zip(*got, strict=True):
        assert np.array_equal(words(one), words(two))
        assert not np.array_equal(one, other)
        assert np.abs(one - other).max() < 2e-6 * np.abs(one).max()


def test_vectors_of_several_rows(seed: int) -> None:
    """[s][a] takes two rows of 8 lanes where s takes one: the same bits as with one row of 16."""
    config = replace(CONFIG, actor=(8, 20, ACTIONS), critic=(8 + ACTIONS, 24, 1))
    got = []
    for p in (8, 16):
        build = replace(BUILD, p=p, ob=p // 4)
        program = td3(build, config, delay=1)
        assert validate(program.encode(), build) == program
        learner = Learner(build, program)
        rng = np.random.default_rng(seed)
        for index, net in enumerate(learner.networks):
            learner.load(
                index, net.map.pack(initial(rng, config.critic if index else config.actor))
            )
        batch = random_batch(rng, 7, True)
        wide = replace(batch, state=float32(rng, 7, 8), next_state=float32(rng, 7, 8))
        for count in range(4):
            result = step(learner, wide, count & 1)
        second = (program.action + -(-10 // p)) * p  # the copy of parity 1, after the other
        joined = learner.pipe.frames[:7, second : second + 10]
        assert np.array_equal(joined, np.concatenate([wide.state, wide.action], axis=1))
        got.append(
            [result.delta, *(flat(learner, k, learner.networks[k].weights) for k in range(3))]
        )
    for one, two in zip(*got, strict=True):
        assert np.array_equal(one, two)


def test_a_frame_does_not_remember(seed: int) -> None:
    """A step of the other parity and other samples in between changes no bit."""
    program = PROGRAMS["td3"]()
    learner, _ = start(np.random.default_rng(seed), program)
    rng = np.random.default_rng(seed + 1)
    batch, other = random_batch(rng, 5, True), random_batch(rng, 9, True)
    first = learner.compute(batch, np.float32(0.2))
    learner.compute(other, np.float32(0.2), parity=1)
    again = learner.compute(batch, np.float32(0.2), parity=1)
    assert np.array_equal(words(first.delta), words(again.delta))


# ---- Encoding and checks ----
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("p", [8, 16, 64])
def test_program_round_trip(name: str, p: int) -> None:
    build = replace(BUILD, p=p, ob=p // 4, w_rows=8192)
    config = LAGGED if name.endswith("lagged") else CONFIG
    program = td3(build, config) if "td3" in name else ddpg(build, config)
    assert validate(program.encode(), build) == program
    assert len(program.phases) == (1 if config.lagged else 2)
    with pytest.raises(ProgramError) as caught:
        validate(program.encode(), replace(build, actor_critic=0))
    assert caught.value.kind == KIND_HEADER


def test_stage_round_trip() -> None:
    loss = Stage(OP_LOSS_TD, n_out=1, q=3, q_next=4, chooser=5, mode=2, quiet=True, dst=9,
                 delayed=True, kappa=np.float32(0.5))  # fmt: skip
    dot = Stage(OP_DOT, net=2, act=ACT_TANH_SLOPE, column=True, noise=True, n_in=3, n_out=4,
                aux=7, offset=9, no_bias=True)  # fmt: skip
    for stage in (loss, dot, Stage(OP_LOSS_PI, n_out=1, q=3, dst=8)):
        assert Stage.decode(stage.encode()) == stage
    assert loss.encode()[0] == 5 | 1 << 18
    assert loss.encode()[5] == 3 | 4 << 8 | 5 << 16 | 2 << 24 | 1 << 26
    assert dot.encode()[0] == 1 | 2 << 5 | 3 << 9 | 1 << 11 | 1 << 13 | 1 << 19


def test_header_and_network_words() -> None:
    program = PROGRAMS["td3_lagged"]()
    image = program.encode()
    assert image[1] == STATES | ACTIONS << 16
    vectors = program.state, program.next_state, program.action, program.noise
    assert image[2] == sum(v << 8 * k for k, v in enumerate(vectors))
    assert image[4] == 3
    record = image[HEADER_WORDS + RECORD_WORDS * CRITIC :]
    assert record[10] == STATES | ACTIONS << 16
    assert record[11] == program.networks[CRITIC].column_row
    assert program.record_words == 2 * STATES + 2 * ACTIONS + 2


TD3 = PROGRAMS["td3"]()
DDPG = PROGRAMS["ddpg"]()


def where(program: Program, **fields: int) -> int:
    """Return the id of the first stage whose fields are these."""
    for index, stage in enumerate(program.stages):
        if all(getattr(stage, name) == value for name, value in fields.items()):
            return index
    raise ValueError(f"no stage with {fields}")


def at_stage(program: Program, index: int, **fields: object) -> Program:
    """Return the program with a stage changed."""
    stages = list(program.stages)
    stages[index] = replace(stages[index], **fields)  # type: ignore[arg-type]
    return replace(program, stages=tuple(stages))


def at_network(program: Program, index: int, **fields: int) -> Program:
    nets = list(program.networks)
    nets[index] = replace(nets[index], **fields)  # type: ignore[arg-type]
    return replace(program, networks=tuple(nets))


NOISY = where(TD3, noise=True)
COLUMN = where(TD3, column=True)
LOSS, SECOND = where(TD3, op=OP_LOSS_TD), where(TD3, op=OP_LOSS_TD, quiet=True)
PI = where(TD3, op=OP_LOSS_PI)
AXPY, OUTER = where(TD3, op=OP_AXPY), where(TD3, op=OP_OUTER)
ACTS = where(TD3, act=ACT_TANH, target=False)
SPARE = TD3.frame_rows
CHAIN = where(TD3, op=OP_OUTER, delayed=True)
UPDATE = where(TD3, op=OP_UPDATE, net=ACTOR)
BEHIND = where(TD3, op=OP_LOSS_PI) + 1  # an AXPY of the second phase
HEADER_CASES: dict[str, tuple[Program, Error]] = {
    "no action word": (replace(TD3, action_words=0), Error.E_DIM),
    "inputs too many": (replace(TD3, action_words=BUILD.d_max - STATES + 1), Error.E_DIM),
    "an int action of two words": (replace(TD3, action=0xFF, noise=0), Error.E_DIM),
    "noise of an int action": (replace(TD3, action=0xFF, action_words=1), Error.E_DIM),
    "action on the state": (replace(TD3, action=TD3.state), Error.E_ROWS),
    "action beside the next state": (replace(TD3, action=TD3.next_state + 1), Error.E_ROWS),
    "noise on the action": (replace(TD3, noise=TD3.action), Error.E_ROWS),
    "noise after the frame": (replace(TD3, noise=TD3.frame_rows - 1), Error.E_ROWS),
    "delay above 65535": (replace(TD3, delay=1 << 16), Error.E_RESERVED),
}
NETWORK_CASES: dict[str, tuple[Program, int, Error]] = {
    "columns after the inputs": (at_network(TD3, CRITIC, column=STATES + 1), 1, Error.E_DIM),
    "column without columns": (at_network(TD3, TWIN, column=1), 2, Error.E_RESERVED),
    "row without columns": (at_network(TD3, TWIN, column_row=1), 2, Error.E_RESERVED),
    "columns on its own bank": (
        at_network(TD3, CRITIC, column_row=TD3.networks[CRITIC].row_base), 1, Error.E_ROWS),
    "columns on another's bank": (at_network(TD3, CRITIC, column_row=0), 1, Error.E_ROWS),
    "bank on another's columns": (
        at_network(TD3, TWIN, row_base=TD3.networks[CRITIC].column_row), 2, Error.E_ROWS),
    "columns after the memory": (
        at_network(TD3, CRITIC, column_row=BUILD.w_rows - 1), 1, Error.E_ROWS),
}  # fmt: skip
STAGE_CASES: dict[str, tuple[Program, int, Error]] = {
    "noise without tanh": (at_stage(TD3, NOISY, act=ACT_RELU), NOISY, Error.E_RESERVED),
    "noise of AXPY": (at_stage(TD3, AXPY, noise=True), AXPY, Error.E_RESERVED),
    "column of OUTER": (at_stage(TD3, OUTER, column=True), OUTER, Error.E_RESERVED),
    "column of AXPY": (at_stage(TD3, AXPY, column=True), AXPY, Error.E_RESERVED),
    "LOSS_TD of mode double": (at_stage(TD3, LOSS, mode=1), LOSS, Error.E_RESERVED),
    "LOSS_TD of mode 3": (at_stage(TD3, LOSS, mode=3), LOSS, Error.E_RESERVED),
    "LOSS_PI with a second vector": (at_stage(TD3, PI, q_next=1), PI, Error.E_RESERVED),
    "LOSS_PI with a mode": (at_stage(TD3, PI, mode=2), PI, Error.E_RESERVED),
    "tanh of AXPY": (at_stage(TD3, AXPY, act=ACT_TANH), AXPY, Error.E_DIM),
    "slope of OUTER": (at_stage(TD3, OUTER, act=ACT_TANH_SLOPE), OUTER, Error.E_DIM),
    "tanh of a loss": (at_stage(TD3, LOSS, act=ACT_TANH), LOSS, Error.E_DIM),
    "delayed without a delay": (replace(TD3, delay=0), ACTS - 2, Error.E_DIM),
    "noise that no record has": (at_stage(replace(TD3, noise=0), 0), NOISY, Error.E_DIM),
    "noise of another width": (
        at_stage(TD3, NOISY, n_out=ACTIONS - 1), NOISY, Error.E_DIM),
    "LOSS_TD of two outputs": (at_stage(TD3, LOSS, n_out=2), LOSS, Error.E_DIM),
    "LOSS_PI of two outputs": (at_stage(TD3, PI, n_out=2), PI, Error.E_DIM),
    "LOSS_Q of a float action": (at_stage(TD3, PI, op=OP_LOSS_Q), PI, Error.E_DIM),
    "columns of the target": (at_stage(TD3, COLUMN, target=True), COLUMN, Error.E_DIM),
    "columns with a bias": (at_stage(TD3, COLUMN, no_bias=False), COLUMN, Error.E_DIM),
    "columns of a net without": (at_stage(TD3, COLUMN, net=TWIN), COLUMN, Error.E_DIM),
    "columns of other inputs": (at_stage(TD3, COLUMN, n_in=24), COLUMN, Error.E_DIM),
    "columns of other outputs": (at_stage(TD3, COLUMN, n_out=1), COLUMN, Error.E_DIM),
    "two that report": (at_stage(TD3, SECOND, quiet=False), SECOND, Error.E_DEP),
    "a delayed LOSS_TD": (at_stage(TD3, LOSS, delayed=True), LOSS, Error.E_DEP),
    "a LOSS_TD after an update": (
        at_stage(TD3, PI, op=OP_LOSS_TD, quiet=True, delayed=False, deps=()), PI, Error.E_DEP),
    "one that waits for a delayed one": (
        at_stage(TD3, BEHIND, delayed=False), BEHIND, Error.E_DEP),
    "an update that waits for a delayed one": (
        at_stage(TD3, UPDATE, delayed=False), UPDATE, Error.E_DEP),
    "half of a chain delayed": (
        at_stage(TD3, CHAIN + 1, delayed=False, deps=()), CHAIN + 1, Error.E_DEP),
    "a third phase": (
        replace(TD3, stages=(*TD3.stages, replace(TD3.stages[0], dst=SPARE - 1))),
        len(TD3.stages), Error.E_DEP),
    "columns at another row": (
        at_stage(TD3, COLUMN, row=TD3.networks[CRITIC].row_base), COLUMN, Error.E_ROWS),
    "tangents after the frame": (
        at_stage(TD3, COLUMN, aux=SPARE, offset=0), COLUMN, Error.E_ROWS),
    "tangents over two rows": (at_stage(TD3, COLUMN, offset=15), COLUMN, Error.E_ROWS),
    "twin after the frame": (at_stage(TD3, LOSS, chooser=SPARE), LOSS, Error.E_ROWS),
    "target value after the frame": (at_stage(TD3, LOSS, q_next=SPARE), LOSS, Error.E_ROWS),
    "loss at a lane": (at_stage(TD3, LOSS, offset=1), LOSS, Error.E_ROWS),
    "value after the frame": (at_stage(TD3, PI, q=SPARE), PI, Error.E_ROWS),
    "action on the state": (at_stage(TD3, ACTS, offset=STATES - 1), ACTS, Error.E_ROWS),
    "two actions after one state": (
        at_stage(TD3, ACTS, dst=TD3.next_state), ACTS, Error.E_ROWS),
    "result on the action": (at_stage(TD3, LOSS, dst=TD3.action), LOSS, Error.E_ROWS),
    "result on the noise": (at_stage(TD3, LOSS, dst=TD3.noise + 1), LOSS, Error.E_ROWS),
    "TD error into the first gradient": (
        at_stage(TD3, SECOND, dst=TD3.stages[LOSS].dst), SECOND, Error.E_ROWS),
}  # fmt: skip


def refused(program: Program, build: Geometry = BUILD) -> tuple[Error, int, int]:
    with pytest.raises(ProgramError) as caught:
        validate(program.encode(), build)
    assert caught.value.code.name in str(caught.value)
    return caught.value.code, caught.value.index, caught.value.kind


@pytest.mark.parametrize("case", HEADER_CASES)
def test_header_is_refused(case: str) -> None:
    program, error = HEADER_CASES[case]
    assert refused(program) == (error, 0, KIND_HEADER)


@pytest.mark.parametrize("case", NETWORK_CASES)
def test_network_is_refused(case: str) -> None:
    program, index, error = NETWORK_CASES[case]
    assert refused(program) == (error, index, KIND_NETWORK)


@pytest.mark.parametrize("case", STAGE_CASES)
def test_stage_is_refused(case: str) -> None:
    program, index, error = STAGE_CASES[case]
    assert refused(program) == (error, index, KIND_STAGE)


def test_reserved_bits_are_refused() -> None:
    stages_at = HEADER_WORDS + RECORD_WORDS * (len(TD3.networks) + len(TD3.slots))

    def code(at: int, bit: int) -> Error:
        image = TD3.encode()
        image[at] |= np.uint32(1 << bit)
        with pytest.raises(ProgramError) as caught:
            validate(image, BUILD)
        return caught.value.code

    for at, bit in (
        (0, 24), (4, 16), (5, 0), (15, 31),
        (HEADER_WORDS + RECORD_WORDS + 11, 16), (HEADER_WORDS + 12, 0), (HEADER_WORDS + 15, 31),
        (stages_at + STAGE_WORDS * NOISY, 20), (stages_at + STAGE_WORDS * NOISY, 31),
        (stages_at + STAGE_WORDS * LOSS + 5, 27), (stages_at + STAGE_WORDS * PI + 5, 26),
    ):  # fmt: skip
        assert code(at, bit) == Error.E_RESERVED, (at, bit)


def test_builds_without_actor_critic_refuse() -> None:
    """Each new field alone, in a program of DQN."""
    plain = replace(BUILD, actor_critic=0)
    program = dqn(BUILD, DqnConfig((5, 16, 3), optim.sgd(0.1)))
    loss = where(program, op=OP_LOSS_Q)
    assert validate(program.encode(), plain) == validate(program.encode(), BUILD) == program
    room = at_network(program, 0, column=1, columns=1, column_row=4000)
    for changed, want in (
        (replace(program, delay=2), (Error.E_RESERVED, 0, KIND_HEADER)),
        (replace(program, noise=1), (Error.E_RESERVED, 0, KIND_HEADER)),
        (replace(program, action=30, frame_rows=40), (Error.E_DIM, 0, KIND_HEADER)),
        (room, (Error.E_RESERVED, 0, KIND_NETWORK)),
        (at_stage(program, 0, act=ACT_TANH), (Error.E_DIM, 0, KIND_STAGE)),
        (at_stage(program, 0, delayed=True), (Error.E_RESERVED, 0, KIND_STAGE)),
        (at_stage(program, loss, op=OP_LOSS_TD), (Error.E_OPCODE, loss, KIND_STAGE)),
        (at_stage(program, loss, op=OP_LOSS_PI), (Error.E_OPCODE, loss, KIND_STAGE)),
        (
            replace(program, stages=(*program.stages, replace(program.stages[0], dst=30)),
                    frame_rows=40),
            (Error.E_DEP, len(program.stages), KIND_STAGE),
        ),
    ):  # fmt: skip
        assert refused(changed, plain) == want
    for op in (OP_LOSS_TD, OP_LOSS_PI):  # of a program whose action is an int
        changed = at_stage(program, loss, op=op, n_out=1, chooser=0, q_next=0)
        assert refused(changed) == (Error.E_DIM, loss, KIND_STAGE)


def test_networks_that_do_not_fit_are_refused() -> None:
    for critic in ((STATES + ACTIONS + 1, 8, 1), (STATES + ACTIONS, 8, 2)):
        with pytest.raises(ValueError, match=f"{STATES + ACTIONS} inputs and 1 output"):
            ddpg(BUILD, replace(CONFIG, critic=critic))


# ---- Jobs ----
class Ram:
    """A flat memory."""

    def __init__(self, nbytes: int) -> None:
        self.data = np.zeros(nbytes, np.uint8)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        self.data[address : address + data.size] = data.reshape(-1)


RECORDS, BATCH, STRIDE = 40, 6, 128
PROGRAM_AT, STORAGE_AT, LIST_AT, TD_AT, IMAGES_AT = 0x1000, 0x10000, 0x20000, 0x30000, 0x40000


class Bench:
    """An engine with a program of DDPG or TD3, its parameters and records in memory."""

    def __init__(self, seed: int, program: Program) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = program
        self.engine = LearnerEngine(BUILD)
        self.memory = Ram(1 << 20)
        self.maps = [ImageMap(BUILD, net) for net in program.networks]
        image = program.encode()
        self.memory.write(PROGRAM_AT, image.view(np.uint8))
        assert self.run([3, 0, 4 * image.size, 0, PROGRAM_AT]).error == 0
        self.parameters = [
            initial(self.rng, CONFIG.critic if k else CONFIG.actor)
            for k in range(len(program.networks))
        ]
        packed = [m.pack(p) for m, p in zip(self.maps, self.parameters, strict=True)]
        self.memory.write(IMAGES_AT, np.concatenate(packed).view(np.uint8))
        assert self.run([1, 0, self.mask | 0x100, 0, IMAGES_AT]).error == 0
        self.storage = np.zeros((RECORDS, STRIDE // 4), np.float32)
        self.storage[:, : program.record_words] = float32(self.rng, RECORDS, program.record_words)
        self.put_storage()

    @property
    def mask(self) -> int:
        return (1 << len(self.program.networks)) - 1

    def put_storage(self) -> None:
        self.memory.write(STORAGE_AT, self.storage.view(np.uint8))

    def run(self, descriptor: list[int]) -> JobEnd:
        job = self.engine.job(0, np.array((descriptor + [0] * 16)[:16], np.uint32), self.memory)
        with pytest.raises(StopIteration) as stop:
            for _ in range(10):
                next(job)
        end: JobEnd = stop.value.value
        return end

    def train(self, steps: int, seed: int) -> tuple[JobEnd, np.ndarray]:
        """Run steps from a list of random records; returns the record and their indices."""
        indices = np.random.default_rng(seed).integers(0, RECORDS, (steps, BATCH))
        entries = np.zeros((steps * BATCH, 4), np.uint32)
        entries[:, 0] = indices.reshape(-1)
        entries[:, 2] = to_bits(0.5)
        self.memory.write(LIST_AT, entries.view(np.uint8))
        end = self.run(
            [4 | 7 << 8, 0, steps, BATCH, STORAGE_AT, 0, STRIDE, RECORDS, to_bits(1 / BATCH), 0,
             LIST_AT, 0, TD_AT, 0]
        )  # fmt: skip
        return end, indices

    def batch(self, indices: np.ndarray) -> Batch:
        """The samples of a step, cut out of the records by hand."""
        rows = self.storage[indices]
        s, a = STATES, ACTIONS
        return Batch(
            state=rows[:, :s], action=rows[:, s : s + a], reward=rows[:, s + a],
            discount=rows[:, s + a + 1], next_state=rows[:, s + a + 2 : 2 * s + a + 2],
            weight=np.full(len(rows), 0.5, np.float32),
            noise=rows[:, 2 * s + a + 2 :][:, :a] if self.program.noise else None,
        )  # fmt: skip

    def images(self) -> list[np.ndarray]:
        """STORE everything; returns the images of all networks."""
        assert self.run([2, 0, self.mask | 0x1F00, 0, IMAGES_AT]).error == 0
        size = sum(4 * m.words + 16 for m in self.maps)
        return [self.memory.read(IMAGES_AT, 4 * size)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_engine_trains(seed: int, name: str) -> None:
    """TRAIN gives the TD errors, weights and counters of the steps one by one."""
    bench = Bench(seed, PROGRAMS[name]())
    learner = Learner(BUILD, bench.program)
    for index, layers in enumerate(bench.parameters):
        learner.load(index, bench.maps[index].pack(layers))
    end, indices = bench.train(5, seed)
    assert (end.error, end.count) == (0, 5)
    busy = 0
    for count in range(5):
        busy += timing.ideal_step(bench.program, BUILD, BATCH, learner.due)
        result = step(learner, bench.batch(indices[count]), count & 1)
        td = bench.memory.read(TD_AT + 64 * count, 4 * BATCH).view(np.uint32)
        assert np.array_equal(td, words(result.delta)), count
    assert bench.engine.learner is not None
    for got, want in zip(bench.engine.learner.networks, learner.networks, strict=True):
        assert np.array_equal(words(got.weights), words(want.weights))
        assert np.array_equal(words(got.target), words(want.target))
        assert got.scalars == want.scalars
    kinds = [(word >> 48, word >> 32 & 0xFFFF) for word, _ in bench.engine.tde.words]
    assert kinds == [(0, slot) for slot in range(BATCH)] * 5, "one TD error a sample"
    assert bench.engine.steps_done == 5 and bench.engine.busy == busy
    assert bench.engine.td_max == to_bits(np.abs(result.delta).max())


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_checkpoint_resumes_to_the_bit(seed: int, steps: int) -> None:
    """STORE, LOAD of it into another engine, TRAIN on both: also in the middle of a delay."""
    one = Bench(seed, td3(BUILD, CONFIG, delay=3))
    one.train(steps, seed)
    saved = one.images()[0]
    two = Bench(seed + 1, one.program)
    two.storage[:] = one.storage
    two.put_storage()
    two.memory.write(IMAGES_AT, saved)
    assert two.run([1, 0, two.mask | 0x1F00, 0, IMAGES_AT]).error == 0
    results = []
    for bench in (one, two):
        bench.train(4, seed + 2)
        results.append((bench.images()[0], bench.memory.read(TD_AT, 4 * 64)))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    first = one.maps[0].words
    count = results[0][0].view(np.uint32)[4 * first + 4]
    assert count == (steps + 4) % 3, "word 4 of the actor's t"


def test_load_of_weights_restarts_the_delay(seed: int) -> None:
    bench = Bench(seed, PROGRAMS["td3_lagged"]())
    bench.train(2, seed)
    learner = bench.engine.learner
    assert learner is not None and learner.due
    assert bench.run([1, 0, 1 | 0x100, 0, IMAGES_AT]).error == 0
    assert not learner.due


def test_count_is_kept_only_where_stages_are_delayed(seed: int) -> None:
    for program, want in ((PROGRAMS["td3"](), [7, 0, 0]), (PROGRAMS["ddpg"](), [0, 0])):
        bench = Bench(seed, program)
        scalars = np.zeros((len(want), 16), np.uint32)
        scalars[:, 4] = 7
        bench.memory.write(IMAGES_AT, scalars.view(np.uint8))
        assert bench.run([1, 0, bench.mask | 0x1000, 0, IMAGES_AT]).error == 0
        assert bench.run([2, 0, bench.mask | 0x1000, 0, IMAGES_AT]).error == 0
        stored = bench.memory.read(IMAGES_AT, scalars.nbytes).view(np.uint32).reshape(-1, 16)
        assert stored[:, 4].tolist() == want


@pytest.mark.parametrize("name", PROGRAMS)
def test_not_finite_ends_the_job(seed: int, name: str) -> None:
    """A NaN in a record: no network changes in any phase, the stage is that of the first loss."""
    bench = Bench(seed, PROGRAMS[name]())
    bench.storage[:, 2 * STATES + ACTIONS + 1] = np.nan  # the last word of s'
    bench.put_storage()
    before = bench.images()[0]
    end, _ = bench.train(2, seed)
    loss = where(bench.program, op=OP_LOSS_TD)
    assert (end.error, end.count, end.info0) == (Error.E_NONFINITE, 0, loss)
    assert np.array_equal(before, bench.images()[0])


def test_not_finite_in_the_second_phase(seed: int) -> None:
    """An actor that is no number: the critic has learned already, the step does not count."""
    bench = Bench(seed, PROGRAMS["ddpg"]())
    learner = bench.engine.learner
    assert learner is not None
    actor, critic = learner.networks[ACTOR], learner.networks[CRITIC]
    actor.weights[0] = np.nan  # the online actor; its target stays
    learner.publish(ACTOR)
    before = actor.weights.copy(), critic.weights.copy(), critic.target.copy()
    end, _ = bench.train(1, seed)
    pi = where(bench.program, op=OP_LOSS_PI)
    assert (end.error, end.count, end.info0) == (Error.E_NONFINITE, 0, pi)
    assert np.array_equal(words(actor.weights), words(before[0]))
    assert not np.array_equal(critic.weights, before[1])
    assert np.array_equal(critic.target, before[2])


def test_timing_of_delayed_steps() -> None:
    """The tensor unit's clocks by hand; a delayed step costs the critics' part alone."""
    program = PROGRAMS["td3"]()
    rows = BUILD.weight_rows

    def forward(sizes: tuple[int, ...]) -> int:
        return sum(rows(a, b) for a, b in itertools.pairwise(sizes))

    def back(sizes: tuple[int, ...]) -> int:
        pairs = itertools.pairwise(sizes[1:])
        return sum(b * BUILD.vector_rows(a) for a, b in pairs)

    actor, critic = CONFIG.actor, CONFIG.critic
    early = forward(actor) + 2 * (3 * forward(critic) + back(critic))
    late = 2 * forward(actor) + back(actor) + forward(critic) + back(critic) + rows(40, ACTIONS)
    assert timing.ideal_step(program, BUILD, 8, due=False) == 8 * early
    assert timing.ideal_step(program, BUILD, 8, due=True) == 8 * (early + late)
    mean = timing.step_clocks(program, BUILD, 8)
    latencies = timing.Latencies()
    parts = [timing.pipe_step(program, BUILD, 8, latencies, due) for due in (False, True)]
    assert parts[0] > 8 * early and parts[1] > 8 * (early + late)
    behind = timing.updates_behind(program.stages, program, BUILD, latencies, copy=True)
    # All updates have an end; they cost less than their clocks, for they run beside the stages.
    assert set(behind.weights) == set(behind.targets) == {0, 1, 2}
    assert behind.total == max(behind.targets.values())
    assert 0 < mean - sum(parts) / 2 < behind.total / 2 + 4 * timing.STEP


def test_targets_of_stages_are_polyak() -> None:
    for program in (TD3, DDPG):
        copies = [s for s in program.stages if s.op == OP_TARGET]
        assert [s.net for s in copies] == list(range(len(program.networks)))
        assert all(s.polyak and to_bits(s.tau) == to_bits(TAU) for s in copies)
        assert all(s.delayed == (program is TD3) for s in copies)


@pytest.mark.parametrize("name", ["ddpg", "ddpg_lagged", "td3"])
def test_actor_learns_the_best_action(seed: int, name: str) -> None:
    """One-step episodes, reward -|a - best(s)|^2: the actor ends nearer (0.4 -> 0.1 measured)."""
    program = replace(PROGRAMS[name](), slots=(optim.adam(2e-3), optim.adam(1e-2)))
    rng = np.random.default_rng(seed)
    learner, _ = start(rng, program)
    mix = rng.uniform(-0.3, 0.3, (STATES, ACTIONS))

    def apart() -> float:
        """RMS of what the actor's action is from the best one."""
        x = float32(np.random.default_rng(seed + 1), 256, STATES)
        best = np.tanh(x @ mix)
        layers = learner.networks[ACTOR].map.unpack(
            learner.networks[ACTOR].weights, program.networks[ACTOR]
        )
        for k, layer in enumerate(layers):
            x = mlp.dot(*_first(layer, x))
            x = mlp.relu(x) if k < len(layers) - 1 else tanh.tanh(x)
        return rms(x - best)

    before = apart()
    for count in range(400):
        batch = random_batch(rng, 64, program.noise != 0)
        error = batch.action - np.tanh(batch.state @ mix)
        batch = replace(
            batch, reward=-(error**2).sum(axis=1).astype(np.float32),
            discount=np.zeros(64, np.float32), weight=np.ones(64, np.float32),
        )  # fmt: skip
        step(learner, batch, count & 1)
    assert apart() < 0.5 * before
