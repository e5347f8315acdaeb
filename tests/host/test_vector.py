"""Actors in a VectorEnv do what actors with an environment each do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

import jackdaw
from jackdaw.agents.base import Transition
from jackdaw.environments import named
from jackdaw.errors import ConfigError, NonfiniteError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.actor import Actor, ActorPool, NStepWindow, VectorPool
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.seeds import generator
from jackdaw.runtime.vector import VectorEnvironment
from jackdaw.runtime.weights import WeightStore

ACTORS = 3
SMALL: dict[str, Any] = {
    "device": "model", "config": "agents", "warm": 40, "capacity": 512, "evaluate_every": 4,
    "batch": 16, "ratio": 12, "n_step": 3, "hidden": (16,),
}  # fmt: skip


class Walk(gymnasium.Env[Any, Any]):
    """An episode terminates after 4 steps or is truncated after 7, as is drawn when it begins.

    It shows which of them, the step, a random number and the last action. All that it shows is one
    array, which it writes again and again.

    Args:
        steer: actions are continuous.
        shape: of what it shows.
    """

    def __init__(self, steer: bool = False, shape: tuple[int, ...] = (4,)) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
        box = gymnasium.spaces.Box(-2, 6, (2,), np.float32)
        self.action_space = box if steer else gymnasium.spaces.Discrete(3)
        self.short, self.taken = False, 0
        self.shown = np.zeros(shape, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.short, self.taken = bool(self.np_random.integers(2)), 0
        return self._show(0.0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action) or self.action_space.contains(int(action))
        self.taken += 1
        shown, last = self._show(float(np.sum(action))), self.taken == (4 if self.short else 7)
        return shown, self.taken / 3, last and self.short, last and not self.short, {}

    def _show(self, action: float) -> np.ndarray:
        values = self.short, self.taken, self.np_random.normal(), action
        self.shown.reshape(-1)[:] = values
        return self.shown


class Shown(gymnasium.ObservationWrapper[Any, Any, Any]):
    """A copy, as a dictionary."""

    def __init__(self) -> None:
        super().__init__(Walk())
        space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.observation_space = gymnasium.spaces.Dict({"a": space, "b": space})

    def observation(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        return {"a": observation[:2].copy(), "b": observation[2:].copy()}


class Copied(gymnasium.ObservationWrapper[Any, Any, Any]):
    """A copy: SyncVectorEnv keeps the last observation while the next episode begins."""

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return observation.copy()


def one(steer: bool = False) -> gymnasium.Env[Any, Any]:
    return Copied(Walk(steer))


def together(kind: Any, mode: AutoresetMode, make: Callable[[], Any] = one) -> VectorEnv:
    envs: VectorEnv = kind([make] * ACTORS, autoreset_mode=mode)
    return envs


def state_of(run: jackdaw.Run) -> dict[str, Any]:
    """What its checkpoint holds, without times."""
    state = checkpoint.load(run.path / "checkpoint.npz")
    for name in ("seconds", "device_seconds"):
        del state["run"]["progress"][name]
    return state


def same(one: Any, other: Any) -> None:
    """Two states are equal in every type and bit."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    else:
        assert one == other


def train(env: Any, path: Path, agent: str = "dqn", steps: int = 9, **more: Any) -> jackdaw.Run:
    options = {**SMALL, "steps": steps, "out": path, **more}
    if agent != "dqn":
        options["threshold"] = float("inf")
    return jackdaw.train(agent, env, **options)


# ---- Single environments together
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("agent", ["dqn", "td3"])
def test_a_run_is_the_same_in_threads_and_in_a_vector(
    tmp_path: Path, agent: str, kind: str
) -> None:
    """Every bit of the checkpoint; one that was resumed in the other way, too."""
    make = partial(Walk, agent == "td3")
    make.__module__, make.__qualname__ = "tests", f"walk_{agent}"  # type: ignore[attr-defined]
    threads = train(make, tmp_path / "threads", agent, actors=ACTORS)
    assert threads.summary["episodes"] > 2 * ACTORS
    same(
        state_of(train(make, tmp_path / kind, agent, actors=ACTORS, vector=kind)),
        state_of(threads),
    )
    for vector, steps in ((kind, 5), (None, 7), (kind, 9)):
        resumed = train(
            make, tmp_path / "resumed", agent, steps, actors=ACTORS, vector=vector,
            resume=steps > 5,
        )  # fmt: skip
    again, straight = state_of(resumed), state_of(threads)
    assert again["run"]["history"]["episodes"] == straight["run"]["history"]["episodes"]
    assert again["run"]["actors"][0].keys() == straight["run"]["actors"][0].keys()
    same(again["run"]["actors"], straight["run"]["actors"])
    same(again["trainer"]["learner"], straight["trainer"]["learner"])


# ---- A VectorEnv of a user's
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("agent", ["dqn", "td3"])
def test_a_user_s_vector_gives_what_single_environments_give(
    tmp_path: Path, agent: str, mode: AutoresetMode, kind: Any
) -> None:
    """Records, weights, episodes, evaluations and the policy's returns."""

    def make_one() -> gymnasium.Env[Any, Any]:
        return one(agent == "td3")

    def make_all() -> VectorEnv:
        return together(kind, mode, make_one)

    single = train(make_one, tmp_path / "single", agent, actors=ACTORS)
    vector = train(make_all, tmp_path / "vector", agent)
    same(state_of(vector)["trainer"], state_of(single)["trainer"])
    same(state_of(vector)["run"]["history"], state_of(single)["run"]["history"])
    assert vector.mean_return == single.mean_return
    given: dict[str, Any] = {"episodes": 7, "seed": 3}
    assert jackdaw.evaluate(vector, **given) == jackdaw.evaluate(single, make_one, **given)


class Script:
    """Its actions depend on nothing but the number of the step and the generator."""

    def act(self, parameters: Any, state: Any, rng: np.random.Generator, step: int) -> int:
        return int(rng.integers(3))

    def smoothing(self, rng: np.random.Generator) -> None:
        return None


def actors(n_step: int) -> list[Actor]:
    return [
        Actor(i, ACTORS, Script(), NStepWindow(n_step, 0.5, 1.0), generator(1, "actor", i))
        for i in range(ACTORS)
    ]


def records(pool: Any, rounds: int) -> tuple[list[list[Transition]], list[int]]:
    """Of each actor: its records and how many steps it took."""
    made: list[list[Transition]] = [[] for _ in range(ACTORS)]
    steps = [0] * ACTORS
    for _ in range(rounds):
        for block in pool.collect(2 * ACTORS):
            made[block.actor] += block.transitions
            steps[block.actor] += block.steps
    pool.close()
    return made, steps


def vector_pool(make: Callable[[], VectorEnv], n_step: int = 1) -> VectorPool:
    def wrapped(_: Any) -> VectorEnvironment:
        return VectorEnvironment(make(), "walk")

    return VectorPool(actors(n_step), wrapped, range(ACTORS), WeightStore([]))


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_last_observation_is_stored_and_a_time_limit_is_no_end(
    mode: AutoresetMode, kind: Any
) -> None:
    """Record by record, as the environment defines it."""
    made, steps = records(vector_pool(partial(together, kind, mode)), 20)
    kinds = set()
    for of_one, taken in zip(made, steps, strict=True):
        assert len(of_one) == taken
        ends = step = 0
        for record in of_one:
            short = bool(record.state[0])
            kinds.add(short)
            assert record.state[:2].tolist() == [short, step]
            assert record.next_state[:2].tolist() == [short, step + 1]
            assert record.next_state[3] == record.action
            step += 1
            assert record.reward == step / 3
            assert record.discount == (0.0 if short and step == 4 else 0.5)
            if step == (4 if short else 7):
                ends, step = ends + 1, 0
        begins = ends - (step == 0)  # after the last step nothing begins
        assert taken == 40 - (begins if mode is AutoresetMode.NEXT_STEP else 0)
    assert kinds == {False, True}


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("make", [one, Shown])
def test_actors_in_a_vector_take_the_steps_of_actors_in_threads(
    make: Callable[[], Any], mode: AutoresetMode
) -> None:
    """With NextStep fewer of them in the same calls; observations that are not flat, too."""
    got, steps = records(vector_pool(partial(together, SyncVectorEnv, mode, make), 3), 20)

    def flat() -> gymnasium.Env[Any, Any]:
        made = make()
        return gymnasium.wrappers.FlattenObservation(made) if make is Shown else made

    want, _ = records(ActorPool(actors(3), flat, range(ACTORS), WeightStore([])), 20)
    if mode is not AutoresetMode.NEXT_STEP:
        assert steps == [40] * ACTORS
        assert [len(one) for one in got] == [len(one) for one in want]
    for one_got, one_want in zip(got, want, strict=True):
        assert len(one_got) > 30
        for a, b in zip(one_got, one_want, strict=False):
            same(vars(a), vars(b))


def test_a_resumed_run_in_a_user_s_vector_begins_new_episodes(tmp_path: Path) -> None:
    """No record joins two episodes, and the same resume gives the same bits."""

    def make() -> VectorEnv:
        return together(SyncVectorEnv, AutoresetMode.SAME_STEP)

    states = []
    for name in "ab":
        train(make, tmp_path / name, steps=4)
        states.append(state_of(train(make, tmp_path / name, steps=9, resume=True)))
    same(*states)
    saved = states[0]["run"]["actors"]
    assert [actor["environment"] for actor in saved] == [None] * ACTORS
    pool = vector_pool(make, n_step=3)
    pool.collect(2 * ACTORS)
    assert [len(actor.window.pending) for actor in pool.actors] == [2] * ACTORS
    pool.restore(pool.kept())
    assert [len(actor.window.pending) for actor in pool.actors] == [0] * ACTORS
    assert [actor.state[1] for actor in pool.actors] == [0] * ACTORS
    pool.close()


def test_a_vector_of_gymnasium_s_own_learns_in_it(tmp_path: Path) -> None:
    """CartPole's own VectorEnv has one generator for all, and the mode NextStep."""

    def make() -> VectorEnv:
        return gymnasium.make_vec("CartPole-v1", num_envs=5)

    run = train(make, tmp_path, steps=4, ratio=10)
    assert run.summary["threshold"] == 475.0 and run.summary["environment_steps"] > 40
    mean, _ = jackdaw.evaluate(run, episodes=8)
    assert 8 < mean < 500 and jackdaw.evaluate(run, episodes=8)[0] == mean


# ---- Errors and signals
class Strange(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Says a mode, and does not what it says."""

    def __init__(self, mode: Any, wrong: str = "") -> None:
        self.inner = together(SyncVectorEnv, AutoresetMode.SAME_STEP)
        self.num_envs, self.wrong = ACTORS, wrong
        self.metadata = {"autoreset_mode": mode} if mode else {}
        self.single_observation_space = self.inner.single_observation_space
        self.single_action_space = self.inner.single_action_space
        self.observation_space, self.action_space = (
            self.inner.observation_space, self.inner.action_space,
        )  # fmt: skip

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.inner.reset(seed=seed)

    def step(self, actions: Any) -> Any:
        observed, reward, terminated, truncated, _ = self.inner.step(actions)
        if self.wrong == "reward":
            reward = reward[:, None]
        if self.wrong == "nan":
            observed[1, 2] = np.nan
        if self.wrong == "one":  # ends, and the others go on
            terminated = np.array([True, False, False])
        return observed, reward, terminated, truncated, {}


@pytest.mark.parametrize(
    ("mode", "wrong", "text"),
    [
        (None, "", r"autoreset_mode'\]: got None, want one of NextStep, SameStep, Disabled"),
        ("Sometimes", "", r"got 'Sometimes', want one of NextStep"),
        ("SameStep", "", r"environment 0: .* SameStep, but .*final_obs.* no observation"),
        ("Disabled", "one", r"environment 1: .* Disabled, but reset .* changed it"),
        ("NextStep", "reward", r"reward: got shape \(3, 1\), want 3"),
        ("NextStep", "nan", r"environment 1, step 1: observation\[2\] is nan"),
    ],
)
def test_a_vector_that_does_not_fit_has_a_named_error(
    tmp_path: Path, mode: Any, wrong: str, text: str
) -> None:
    def make() -> VectorEnv:
        return Strange(mode, wrong)

    with pytest.raises(NonfiniteError if wrong == "nan" else ConfigError, match=text):
        train(make, tmp_path)


def make_vector() -> VectorEnv:
    return together(SyncVectorEnv, AutoresetMode.SAME_STEP)


def make_shapeless() -> VectorEnv:
    def shapeless() -> gymnasium.Env[Any, Any]:
        made = one()
        made.observation_space = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))
        return made

    return together(SyncVectorEnv, AutoresetMode.SAME_STEP, shapeless)


@pytest.mark.parametrize(
    ("agent", "env", "options", "text"),
    [
        ("dqn", make_vector, {"actors": 4, "ratio": 12}, "actors: got 4, the VectorEnv has 3"),
        ("dqn", make_vector, {"ratio": 13}, "ratio: got 13, want a multiple of 3"),
        ("dqn", make_vector, {"vector": "sync"}, "vector: got 'sync', but own/.* a VectorEnv"),
        ("dqn", "CartPole-v1", {"vector": "own", "actors": 4}, "got 'own', but .* one environ"),
        ("dqn", "CartPole-v1", {"vector": "sync", "actors": 5}, "ratio: got 12, want a multiple"),
        ("dqn", "CartPole-v1", {"vector": "both"}, "vector: got 'both', want sync, async or own"),
        ("dqn", make_shapeless, {}, "observation space: got Sequence"),
        ("td3", make_vector, {}, "td3 wants continuous actions"),
        ("ddpg-qat", make_vector, {}, "ddpg-qat plays each environment for itself"),
        ("a3c", make_vector, {}, "a3c plays each environment for itself"),
        ("ddpg-qat", "Pendulum-v1", {"vector": "sync"}, "vector: got 'sync', want None"),
    ],
)
def test_settings_that_do_not_fit_a_vector_have_named_errors(
    tmp_path: Path, agent: str, env: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        jackdaw.train(
            agent, env, out=tmp_path / "run", **({} if "a" in agent[:1] else SMALL) | options
        )
    assert not (tmp_path / "run").exists()


def test_a_vector_itself_is_refused_and_shows_no_episode(tmp_path: Path) -> None:
    envs = make_vector()
    with pytest.raises(ConfigError, match="want a Gymnasium id or a function that makes"):
        train(envs, tmp_path / "run")
    envs.close()
    run = train(make_vector, tmp_path / "run", steps=1)
    with pytest.raises(ConfigError, match="is a VectorEnv: give a function of one"):
        jackdaw.record(run, tmp_path / "episode.gif")


@pytest.fixture
def answers_ctrl_c() -> Iterator[None]:
    """Python's own answer to Ctrl-C; a shell's background jobs begin without one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("answers_ctrl_c")
def test_ctrl_c_reaches_no_environment_s_process() -> None:
    """The run answers it; its processes go on, so that the run can be saved."""
    made = VectorEnvironment.side_by_side("CartPole-v1", 2, "async")
    assert isinstance(made.envs, AsyncVectorEnv)
    made.reset([1, 2])
    for process in made.envs.processes:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
    assert all(len(outcome.given[0]) == 4 for outcome in made.step([0, 1]))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    made.close()


def test_an_environment_may_write_into_one_array() -> None:
    """What was seen before does not change."""
    environment = Environment(named(Walk))
    first, _ = environment.reset(seed=1)
    kept = first.copy()
    environment.step(1)
    assert np.array_equal(first, kept)
