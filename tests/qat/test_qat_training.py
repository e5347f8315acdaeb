"""The loop on the `model` device: recipes, the switch of precision, runs that go on to the bit."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import train
from flow.regression import builds, regress
from jackdaw.agents.base import EnvironmentSpec, Transition
from jackdaw.agents.qat_ddpg import Player, QatAgent
from jackdaw.agents.recipes import QatRecipe, recipe
from jackdaw.device import open_device
from jackdaw.drivers.qat import Qat, QatSettings, Source
from jackdaw.errors import ConfigError, JobError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.float_trainer import FloatTrainer
from jackdaw.runtime.qat_trainer import QatTrainer
from jackdaw.runtime.training import LockstepTraining, TimestepTraining, training_of
from models.registers import qat as registers

PENDULUM = recipe("ddpg-qat", "Pendulum-v1")
assert isinstance(PENDULUM, QatRecipe)
SHORT = replace(
    PENDULUM, hidden=(12, 10), batch=16, warm=20, capacity=256, qdelay=15, max_steps=30,
    evaluate_every=100_000,
)  # fmt: skip


AHEAD = replace(SHORT, alpha=0.6, beta_steps=20, act="with")  # priorities; acts during a timestep
THIRD = replace(SHORT, ratio=3, sigma=(0.5, 0.1), sigma_steps=60)


def steps(training: TimestepTraining, count: int) -> None:
    """Go on until so many timesteps are done."""
    for _ in training.rounds():
        if training.step == count:
            return


def on_device(training: TimestepTraining) -> QatTrainer:
    """Its device's side."""
    assert isinstance(training.trainer, QatTrainer)
    return training.trainer


def comparable(training: TimestepTraining, clocks: bool = True) -> dict[str, Any]:
    """A state without wall time, and of two backends without the clocks."""
    state = training.state()
    progress = state["run"]["progress"]
    assert progress.pop("seconds") > progress.pop("device_seconds") > 0
    if not clocks:
        del progress["cycles"], state["trainer"]["figures"]
    return state


def equal(one: Any, other: Any) -> bool:
    """Whether two states are the same to the bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return bool(one == other)


@pytest.mark.parametrize("settings", [SHORT, AHEAD, THIRD], ids=["after", "with", "third"])
def test_a_run_goes_on_to_the_bit(tmp_path: Path, settings: QatRecipe, seed: int) -> None:
    """Across the switch: interrupted in full mode, ended in half mode; another seed differs."""
    with open_device("model", "qat") as device:
        whole = TimestepTraining(device, settings, seed)
        steps(whole, 10)
        assert on_device(whole).qat.statistics()["mode"] == "full"
        identity = TimestepTraining.identity(settings, seed, "qat")
        checkpoint.save(tmp_path / "c.npz", identity, whole.state())
        steps(whole, 30)
        found = on_device(whole).qat.statistics()
        assert (found["mode"], found["timesteps"]) == ("half", 30)
        assert found["shifts"][0] and not any(found["saturated"][s] for s in ("Z", "DX", "M", "W"))
        want, ended = comparable(whole), whole.outcome()
        whole.close()
    longer = replace(settings, max_steps=31)
    start = checkpoint.load(tmp_path / "c.npz", TimestepTraining.identity(longer, seed, "qat"))
    with open_device("model", "qat") as device:
        rest = TimestepTraining(device, settings, seed, start)
        assert rest.step == 10
        steps(rest, 30)
        assert equal(comparable(rest), want)
        assert rest.outcome() == ended
        rest.close()
    with open_device("model", "qat") as device:
        other = TimestepTraining(device, settings, seed + 1)
        steps(other, 30)
        assert not equal(comparable(other), want)
        assert other.curve().steps == [] and not other.solved
        other.close()


def test_records_hold_what_the_environment_did(seed: int) -> None:
    """State, action, scaled reward and discount lie in memory as the engine takes them."""
    with open_device("model", "qat") as device:
        training = TimestepTraining(device, SHORT, seed)
        run, trainer = training.run, on_device(training)
        first = run.state
        steps(training, 1)
        run.close()
        raw = device.read(trainer.source.base, trainer.source.stride).view(np.int32)
        lw = trainer.qat.geometry.lw
        np.testing.assert_array_equal(raw[lw : lw + 3], np.floor(first * 65536.0 + 0.5))
        assert raw.view(np.uint32)[lw - 1] == round(0.99 * 2**32) and abs(raw[0]) <= 65536
        assert -1.7 * 65536 < raw[lw - 2] <= 0  # of -16.3..0, times 0.1
        policy = trainer.policy()
        states = np.random.default_rng(seed).normal(0, 1, (4, 3))
        np.testing.assert_array_equal(
            Player(policy).greedy([], states), [trainer.qat.infer(s) for s in states]
        )


def test_the_engine_has_the_recipes_settings() -> None:
    """Each that a recipe has, with its own value."""
    own = dict(qdelay=7, headroom=3, tau=0.25, noise="uniform", theta=0.5)
    chosen = replace(SHORT, sigma=(0.3, 0.1), **own)  # type: ignore[arg-type]
    found = QatAgent(chosen, EnvironmentSpec(3, 1, True)).settings(5)
    assert found == QatSettings(sigma=0.3, seed=5, **own)  # type: ignore[arg-type]


def test_noise_falls_by_its_schedule(seed: int) -> None:
    """The engine's register follows it, from the warm-up to its end."""
    falling = replace(SHORT, sigma=(0.5, 0.1), sigma_steps=8)
    with open_device("model", "qat") as device:
        training = TimestepTraining(device, falling, seed)
        trainer, found = on_device(training), []
        for _ in training.rounds():
            if training.step:
                found.append(trainer.qat.read(registers.NOISE_SIGMA.offset) / 65536)
            if training.step == 10:
                break
        training.run.close()
    want = [0.5 - 0.05 * min(k, 8) for k in range(10)]
    np.testing.assert_allclose(found, want, atol=1e-5)


def test_priorities_are_those_of_the_errors(seed: int) -> None:
    """The last batch's leaves have (|TD error| + epsilon)^alpha; beta rises; nothing is open."""
    with open_device("model", "qat") as device:
        training = TimestepTraining(device, AHEAD, seed)
        steps(training, 6)
        trainer = on_device(training)
        training.run.close()
        trainer.finish()
        batch = AHEAD.batch
        assert trainer.source.list_address is not None
        listed = device.read(trainer.source.list_address, 16 * batch).view(np.uint32)
        leaves = listed.reshape(-1, 4)[:, 0].astype(np.int64)
        slots, errors = trainer.qat.pairs(trainer.source, batch)
        assert list(slots) == list(range(batch)) and errors.min() > 0
        last = {int(leaf): error for leaf, error in zip(leaves, errors, strict=True)}
        found = trainer.replay.retrieve(np.array(list(last)))
        want = (np.array(list(last.values())) + AHEAD.epsilon_priority) ** AHEAD.alpha
        np.testing.assert_allclose(found / 65536, want, rtol=1e-3)  # the power is a table's
        assert np.unique(found).size > batch // 2
        assert trainer.replay.beta == pytest.approx(0.4 + 6 * 0.6 / 20, abs=1e-6)
        trainer.replay.reserve(1)  # waits for batches that are being fetched


def test_an_action_is_of_the_weights_before(seed: int) -> None:
    """Acting `with` a batch: by the actor before its update; `after`: by the updated one."""
    for act in ("after", "with"):
        with open_device("model", "qat") as device:
            training = TimestepTraining(device, replace(SHORT, act=act, noise="none"), seed)
            steps(training, 3)
            trainer, state = on_device(training), training.run.state
            training.run.close()
            before = trainer.policy().actions(state[None])
            chosen = trainer.train(state, 0.0)
            after = trainer.policy().actions(state[None])
            assert not np.array_equal(before, after)
            np.testing.assert_array_equal(chosen, (after if act == "after" else before)[0])


def test_float_learns_as_the_engine_does(seed: int) -> None:
    """Timesteps on the same batches move the actor alike: fixed point is the only difference."""
    settings = replace(SHORT, learning_rate=1e-3, noise="none", qdelay=1000)
    agent = QatAgent(settings, EnvironmentSpec(3, 1, True))
    parameters = agent.initial_parameters(np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    transitions = [
        Transition(
            rng.normal(size=3).astype(np.float32), rng.uniform(-1, 1, 1), float(rng.normal()),
            0.99, rng.normal(size=3).astype(np.float32),
        )
        for _ in range(settings.batch)
    ]  # fmt: skip
    states = rng.normal(size=(20, 3))
    with open_device("model", "qat") as device:
        engine = QatTrainer(device, agent, parameters, 1, 1)
        floats = FloatTrainer(agent, parameters, 1, 1)
        engine.insert(transitions)
        floats.insert(transitions)
        first = engine.policy().actions(states)
        np.testing.assert_allclose(floats.policy().actions(states), first, atol=1e-4)
        source = replace(engine.source, list_address=None)
        for _ in range(10):
            engine.qat.train(settings.batch, 1e-3, settings.critic_learning_rate, source).wait()
            floats.update(np.arange(settings.batch))
        moved = engine.policy().actions(states)
        assert np.abs(moved - first).max() > 0.02
        assert engine.mean_td() == pytest.approx(floats.mean_td(), rel=1e-2)
        # Adam's first steps have the size of the rate, whatever rounding makes of small gradients.
        np.testing.assert_allclose(floats.policy().actions(states), moved, atol=2e-3)


@pytest.mark.parametrize("noise", ["none", "uniform", "gaussian", "ornstein"])
def test_a_float_run_goes_on_to_the_bit(noise: str, seed: int) -> None:
    """Interrupted and whole; noise is of its kind; a recipe with priorities is refused."""
    settings = replace(
        SHORT, noise=noise, sigma=(0.3, 0.3), act="with" if noise == "none" else "after"
    )
    whole = TimestepTraining(None, settings, seed)
    steps(whole, 10)
    half_way = copy.deepcopy(whole.state())
    steps(whole, 30)
    rest = TimestepTraining(None, settings, seed, half_way)
    steps(rest, 30)
    assert equal(comparable(rest), comparable(whole)) and rest.outcome() == whole.outcome()
    state = rest.run.state
    greedy = rest.trainer.policy().actions(state[None])[0]
    drawn = np.array([rest.trainer.act(state, 0.3) for _ in range(50)]) - greedy
    assert (np.unique(drawn).size > 10) == (noise != "none") and np.abs(drawn + greedy).max() <= 1
    follows = np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1] if noise != "none" else 0.0
    assert (follows > 0.4) == (noise == "ornstein")
    for one in (whole, rest):
        one.close()
    with pytest.raises(ConfigError, match="alpha"):
        TimestepTraining(None, AHEAD, seed)


def test_steps_between_timesteps_and_an_early_end(seed: int) -> None:
    """A timestep every third step, acting in each; the end is at the threshold after the switch."""
    settings = replace(THIRD, stops=True, threshold=-1e9, evaluate_every=4, qdelay=9, max_steps=16)
    ended = [(4, 20), (8, 20), (12, 20), (12, 100)]
    for changes, evaluations in (
        ({}, ended),
        ({"qdelay": 99}, [(4, 20), (4, 100)]),  # never 16 bits
        ({"threshold": 0.0}, [(4, 20), (8, 20), (12, 20), (16, 100)]),
        ({"stops": False}, [(4, 20), (8, 20), (12, 20), (16, 100)]),
    ):  # fmt: skip
        training = TimestepTraining(None, replace(settings, **changes), seed)  # type: ignore[arg-type]
        acted: list[np.ndarray] = []
        act = training.trainer.act
        training.trainer.act = lambda s, sigma, act=act, acted=acted: (  # type: ignore
            acted.append(s) or act(s, sigma)
        )
        for _ in training.rounds():
            pass
        progress = training.run.progress
        assert [e[:2] for e in training.run.history.evaluations] == evaluations
        assert progress.gradient_steps == evaluations[-1][0]
        first = settings.warm + -settings.warm % 3
        assert progress.environment_steps == first + 3 * (progress.gradient_steps - 1)
        assert training.solved == (changes != {"threshold": 0.0})
        # Each step between two timesteps acts by itself, and each timestep for the next step.
        assert len(acted) == progress.environment_steps - settings.warm + 1
        training.close()


def test_recipes_are_checked() -> None:
    assert training_of(PENDULUM) is TimestepTraining
    assert training_of(recipe("ddpg", "Pendulum-v1")) is LockstepTraining
    for name, value in (
        ("optimizer", "sgd"), ("ratio", 0), ("actors", 2), ("alpha", 2.0), ("huber", 1.0),
        ("act", "before"),
        ("qdelay", -1), ("noise", "pink"), ("sigma", (-1.0, 0.1)), ("sigma_steps", 0),
        ("theta", 2.0), ("tau", 0.0),
        ("actor_scale", 7), ("critic_scale", -9), ("critic_learning_rate", 0.0),
        ("decay_steps", 1),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=name):
            replace(PENDULUM, **{name: value})  # type: ignore[arg-type]
    assert isinstance(PENDULUM, QatRecipe)
    with pytest.raises(ConfigError, match="continuous"):
        QatAgent(PENDULUM, EnvironmentSpec(4, 2))
    with open_device("model", "qat") as device, pytest.raises(ConfigError, match="batch"):
        TimestepTraining(device, replace(PENDULUM, batch=128, capacity=256, warm=128), 1)


def test_settings_are_checked() -> None:
    for name, value in (
        ("qdelay", -1), ("beta1", 1.0), ("beta2", 0.0), ("eps", 0), ("tau", 1.5),
        ("noise", "pink"), ("sigma", -0.1), ("theta", 1.1), ("seed", -1),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"qat {name}"):
            QatSettings(**{name: value})  # type: ignore[arg-type]
    with open_device("model", "qat") as device:
        qat, source = Qat(device), Source(4096, 128, 1)
        with pytest.raises(ConfigError, match="no network"):
            qat.infer(np.zeros(3))
        agent = QatAgent(SHORT, EnvironmentSpec(3, 1, True))
        actor, critic = agent.initial_parameters(np.random.default_rng(1))
        qat.load_network(actor, critic)
        with pytest.raises(ConfigError, match=r"state: got shape \(2,\), want \[3\]"):
            qat.infer(np.zeros(2))
        with pytest.raises(ConfigError, match="act"):
            qat.train(1, None, None, source, act="before")
        with pytest.raises(ConfigError, match="learning rate"):
            qat.train(1, 0.5, None, source)
        with pytest.raises(JobError, match="E_BATCH"):
            qat.train(0, None, None, source).wait()


def test_float_is_for_agents_of_the_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another agent is refused by name, and nothing is written."""
    out = tmp_path / "run"
    assert train.main(["--agent", "dqn", "--device", "float", "--out", str(out)]) == 2
    assert "got none for dqn" in capsys.readouterr().err
    assert not out.exists() or not any(out.iterdir())


@pytest.mark.parametrize("steps_", [regress(40)])
def test_the_command_trains(tmp_path: Path, steps_: int, seed: int) -> None:
    """The command that all agents share, with its files; 40 steps are too few to solve it."""
    out = tmp_path / "run"
    arguments = ["--agent", "ddpg-qat", "--env", "Pendulum-v1", "--device", "model"]
    arguments += ["--seed", str(seed), "--out", str(out), "--max-steps", str(steps_)]
    assert train.main([*arguments, "--set", "warm=70", "--set", "evaluate_every=20"]) == 1
    summary = json.loads((out / "summary.json").read_text())
    assert summary["gradient_steps"] == steps_ and summary["evaluation_episodes"] == 100
    assert summary["mode"] == "full" and summary["cycles_per_timestep"] > 0
    assert (out / "curve.png").stat().st_size
    state = checkpoint.load(out / "checkpoint.npz")
    assert [e[:2] for e in state["run"]["history"]["evaluations"]] == [(20, 20), (40, 100)]


@pytest.mark.regress
@builds(lambda: open_device("sim", "qat"))
@pytest.mark.parametrize("settings", [SHORT, AHEAD], ids=["after", "with"])
def test_training_on_rtl_is_the_models(settings: QatRecipe, seed: int) -> None:
    """The loop on the RTL, past the switch to 16 bits: all of its state is the golden engine's."""
    found = []
    for kind in ("sim", "model"):
        with open_device(kind, "qat", **({"seed": seed} if kind == "sim" else {})) as device:
            training = TimestepTraining(device, settings, seed)
            steps(training, 20)
            assert on_device(training).qat.half
            found.append(comparable(training, clocks=False))
            training.close()
    assert equal(*found)
