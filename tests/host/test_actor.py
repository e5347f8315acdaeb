"""n-step windows, queues, weights, seeds and recipes: the host's parts that need no device."""

from __future__ import annotations

import threading
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackdaw.agents.base import EnvironmentSpec, Transition, record_stride, record_words
from jackdaw.agents.make import make_agent
from jackdaw.agents.recipes import CARTPOLE, PENDULUM, recipe
from jackdaw.errors import ConfigError
from jackdaw.runtime.actor import Actor, ActorPool, NStepWindow
from jackdaw.runtime.environment import Environment, EnvironmentDiverged
from jackdaw.runtime.queues import BoundedQueue, QueueClosed, QueueStalled
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.weights import WeightStore
from models.replay.rng import splitmix64


def brute_force(rewards, ends, steps, gamma, scale):
    """All n-step transitions of a stream of steps, straight from the definition."""
    out: list[tuple[int, float, float, int]] = []
    for t in range(len(rewards)):
        total, discount, k = 0.0, 1.0, 0
        while True:
            total += gamma**k * rewards[t + k]
            end = ends[t + k]
            k += 1
            if end or k == steps:
                discount = 0.0 if end == "terminated" else gamma**k
                break
            if t + k == len(rewards):
                return out
        out.append((t, total * scale, discount, t + k))
    return out


@given(
    st.lists(
        st.tuples(
            st.floats(-5, 5), st.sampled_from(["", "", "", "", "", "terminated", "truncated"])
        ),
        max_size=60,
    ),
    st.integers(1, 12),
)
def test_window_equals_definition(stream, steps):
    window = NStepWindow(steps, 0.9, 0.5)
    got = []
    for t, (reward, end) in enumerate(stream):
        got += window.push(
            np.array([t], np.float32),
            t,
            reward,
            np.array([t + 1], np.float32),
            end == "terminated",
            end == "truncated",
        )
    want = brute_force([r for r, _ in stream], [e for _, e in stream], steps, 0.9, 0.5)
    assert [g.action for g in got] == [w[0] for w in want]
    for g, w in zip(got, want, strict=True):
        assert g.reward == pytest.approx(w[1], abs=1e-9)
        assert g.discount == pytest.approx(w[2])
        assert g.next_state[0] == w[3]


def test_splitmix64_known_outputs():
    # First outputs from state 1234567, as published with the algorithm's reference code.
    assert splitmix64(1234567, 3) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_seeds_of_roles_differ():
    seeds = {derive(s, role, i) for s in range(5) for role in ("a", "b") for i in range(20)}
    assert len(seeds) == 200


def test_queue_names_itself_when_stalled():
    queue: BoundedQueue[int] = BoundedQueue("DCQ[3]", 1, timeout_s=0.1)
    with pytest.raises(QueueStalled, match=r"DCQ\[3\].*empty"):
        queue.get()
    queue.put(1)
    with pytest.raises(QueueStalled, match=r"DCQ\[3\].*full"):
        queue.put(2)
    queue.close(ValueError("why"))
    assert queue.get() == 1
    with pytest.raises(QueueClosed, match="why"):
        queue.get()


def test_weights_are_never_torn():
    size = 2000

    def stamp(version: int):
        return [(np.full((4, size), version, np.float32), np.full(4, version, np.float32))]

    store = WeightStore(stamp(0))
    stop = threading.Event()
    torn = []

    def reader() -> None:
        last = 0
        while not stop.is_set():
            published = store.read()
            values = {float(v) for w, b in published.parameters for v in (w.min(), w.max(), b[0])}
            if values != {float(published.version)} or published.version < last:
                torn.append((published.version, values))
            last = published.version

    thread = threading.Thread(target=reader)
    thread.start()
    for version in range(1, 300):
        assert store.publish(stamp(version)) == version
    stop.set()
    thread.join()
    assert not torn
    with pytest.raises(ValueError, match="read-only"):
        store.read().parameters[0][0][0, 0] = 1


class Script:
    """A policy that alternates its actions."""

    def act(self, parameters, state, rng, step):
        return step % 2

    def smoothing(self, rng):
        return None


def test_pool_takes_all_steps_in_actor_order():
    store = WeightStore([])
    actors = [
        Actor(
            i,
            3,
            Script(),
            NStepWindow(3, 0.9, 1.0),
            generator(1, "actor", i),
        )
        for i in range(3)
    ]
    pool = ActorPool(actors, lambda: gymnasium.make("CartPole-v1"), range(3), store, timeout_s=20)
    try:
        blocks = pool.collect(11)
        assert [b.actor for b in blocks] == [0, 1, 2]
        assert [b.steps for b in blocks] == [4, 4, 3]
    finally:
        pool.close()


def test_pool_reports_an_actor_that_fails():
    class Broken(Script):
        def act(self, parameters, state, rng, step):
            raise RuntimeError("no action today")

    actor = Actor(0, 1, Broken(), NStepWindow(1, 0.9, 1.0), generator(1, "actor"))
    pool = ActorPool(
        [actor], lambda: gymnasium.make("CartPole-v1"), [0], WeightStore([]), timeout_s=20
    )
    try:
        began = time.monotonic()
        with pytest.raises(QueueClosed, match="no action today"):
            pool.collect(1)
        assert time.monotonic() - began < 10
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", 0),
        ("gamma", 1.5),
        ("n_step", 0),
        ("capacity", 10),
        ("optimizer", "lion"),
        ("huber", -1.0),
        ("sync", 0),
        ("alpha", 2.0),
    ],
)
def test_recipe_refuses(field, value):
    from dataclasses import replace

    with pytest.raises(ConfigError, match=field):
        replace(CARTPOLE, **{field: value})


def test_unknown_recipe_names_the_known_ones():
    with pytest.raises(ConfigError, match="dqn on CartPole-v1"):
        recipe("dqn", "Chess-v0")


def test_spaces():
    assert EnvironmentSpec.of(gymnasium.make("CartPole-v1")) == EnvironmentSpec(4, 2)
    assert record_stride(EnvironmentSpec(4, 2)) == 64
    assert record_stride(EnvironmentSpec(8, 4)) == 128
    with pytest.raises(ConfigError, match=r"want -1\.\.1"):
        EnvironmentSpec.of(gymnasium.make("Pendulum-v1"))
    pendulum = EnvironmentSpec.of(Environment("Pendulum-v1"))
    assert pendulum == EnvironmentSpec(3, 1, continuous=True)
    assert record_stride(pendulum) == 64
    assert record_words(pendulum) == 9 and record_words(pendulum, smoothing=True) == 10


def test_agents_refuse_the_other_kind_of_actions():
    with pytest.raises(ConfigError, match="want discrete"):
        make_agent(CARTPOLE, EnvironmentSpec(3, 1, continuous=True))
    with pytest.raises(ConfigError, match="want continuous"):
        make_agent(PENDULUM, EnvironmentSpec(4, 2))


@pytest.mark.parametrize("name", ["ddpg", "td3"])
def test_continuous_records(name):
    """Each word of a record, and the actions' bounds, noise and schedule."""
    chosen = recipe(name, "Pendulum-v1")
    agent = make_agent(chosen, EnvironmentSpec(3, 2, continuous=True))
    rng = generator(1, "test")
    parameters = agent.initial_parameters(rng)
    assert [len(p) for p in parameters] == [3] * (3 if name == "td3" else 2)
    assert np.abs(parameters[0][-1][0]).max() <= 0.1 / np.sqrt(chosen.hidden[-1])
    state = np.arange(3, dtype=np.float32)
    warm = np.stack([agent.act(parameters[0], state, rng, 0) for _ in range(200)])
    later = np.stack([agent.act(parameters[0], state, rng, 10**6) for _ in range(200)])
    assert warm.dtype == later.dtype == np.float32
    assert np.abs(warm).max() <= 1 and np.ptp(warm) > 1.5
    best = agent.greedy(parameters[0], state[None])[0]
    assert later.std(axis=0) == pytest.approx(0.1, rel=0.3)
    assert later.mean(axis=0) == pytest.approx(best, abs=0.05)
    noise = agent.smoothing(rng)
    assert (noise is None) == (name == "ddpg")
    record = Transition(state, warm[0], 3.0, 0.5, state + 10, noise)
    words = agent.pack([record]).view(np.float32)[0]
    want = [*state, *warm[0], 3.0, 0.5, *(state + 10), *([] if noise is None else noise)]
    assert words[: len(want)].tolist() == np.array(want, np.float32).tolist()
    assert not words[len(want) :].any()


def test_rates_fall_to_their_floor():
    chosen = recipe("dqn", "LunarLander-v3")
    slot = chosen.slot(chosen.learning_rate)
    rate = float(slot.lr) - chosen.decay_steps * float(slot.decrement)
    assert rate == pytest.approx(0.05 * chosen.learning_rate, rel=1e-3)
    assert float(slot.floor) == pytest.approx(0.05 * chosen.learning_rate)
    assert CARTPOLE.slot(0.1).decrement == CARTPOLE.slot(0.1).floor == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tau", 0.0),
        ("critic_learning_rate", 0.0),
        ("noise", (-1.0, 0.0)),
        ("delay", 0),
        ("smoothing", (0.1, -1.0)),
        ("decay_steps", -1),
    ],
)
def test_actor_critic_recipe_refuses(field, value):
    from dataclasses import replace

    with pytest.raises(ConfigError, match=field):
        replace(PENDULUM, **{field: value})


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Pendulum-v1", "LunarLander-v3", "LunarLanderContinuous-v3"]
)
def test_environments_go_on_after_a_copy(name, seed):
    """An environment made of a state repeats all that follows, before and after a reset."""
    rng = np.random.default_rng(seed)
    one = Environment(name)
    space = one.action_space

    def action() -> Any:
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(rng.integers(2))
        assert space.shape is not None
        return rng.uniform(-1, 1, 2)[: space.shape[0]]

    one.reset(seed=seed)
    for _ in range(2):  # in the first episode, and in one that no seed began
        for _ in range(9):
            one.step(action())
        other = Environment.restored(one.state())
        for k in range(40):
            a = action()
            if k == 20:
                (got, _), (want, _) = other.reset(), one.reset()
            else:
                (got, *rest, _), (want, *others, _) = other.step(a), one.step(a)
                assert rest == others
            assert np.array_equal(got, want)


def test_an_environment_that_does_not_repeat_is_refused():
    environment = Environment("Pendulum-v1")
    environment.reset(seed=1)
    environment.step(np.zeros(1, np.float32))
    environment._actions.append(np.ones(1, np.float32))
    with pytest.raises(EnvironmentDiverged, match="after 2 steps"):
        Environment.restored(environment.state())


def test_actions_reach_their_bounds():
    environment = Environment("Pendulum-v1")
    environment.reset(seed=1)
    environment.step(np.array([-1.0], np.float32))
    pendulum: Any = environment.unwrapped
    assert pendulum.last_u == -2.0
