"""What a user sees first: train, load, predict, evaluate, export, callbacks, own environments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import jackdaw
from jackdaw.errors import CheckpointError, ConfigError
from jackdaw.runtime.callbacks import Watched
from jackdaw.runtime.policy import FixedPolicy, ValuePolicy
from jackdaw.runtime.seeds import derive

SMALL: dict[str, Any] = {"warm": 64, "capacity": 512, "evaluate_every": 3}
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dqn": ("dqn", "CartPole-v1", SMALL),
    "dqn-acrobot": ("dqn", "Acrobot-v1", SMALL),
    "ddpg": ("ddpg", "Pendulum-v1", SMALL),
    "td3": ("td3", "Pendulum-v1", SMALL),
    "ddpg-qat": ("ddpg-qat", "Pendulum-v1", {**SMALL, "qdelay": 2}),
    "a3c": ("a3c", "PixelCatch", {"agents": 4}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, jackdaw.Run]:
    """A short run of each agent on the models."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: jackdaw.train(
            agent, env, device="model", out=folder / name, steps=88 if agent == "a3c" else 3,
            **settings,
        )
        for name, (agent, env, settings) in RUNS.items()
    }  # fmt: skip


def observations(policy: jackdaw.Policy, count: int = 6) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(0, 0.5, (count, *policy.shape)).astype(np.float32)


@pytest.mark.parametrize("name", RUNS)
def test_a_policy_acts_as_its_run_did(runs: dict[str, jackdaw.Run], name: str) -> None:
    """Actions are legal, alone as in a batch; the final evaluation's return comes out again."""
    policy = jackdaw.load(runs[name])
    environment = policy.make()
    seen = observations(policy)
    actions, state = policy.predict(seen)
    assert state is None and len(actions) == len(seen)
    for one, action in zip(seen, actions, strict=True):
        assert np.array_equal(policy.predict(one)[0], action)
        assert environment.action_space.contains(action)
    drawn, _ = policy.predict(seen, deterministic=False, rng=np.random.default_rng(1))
    assert all(environment.action_space.contains(action) for action in drawn)
    with pytest.raises(ConfigError, match=r"observation: got shape \(1, 2"):
        policy.predict(np.zeros((1, 2, 3, 4, 5)))
    mean, deviation = jackdaw.evaluate(policy, episodes=3)
    assert np.isfinite(mean) and deviation >= 0
    assert jackdaw.evaluate(runs[name].path, episodes=3) == (mean, deviation)


@pytest.mark.parametrize("name", ["dqn", "ddpg", "td3", "ddpg-qat"])
def test_a_policy_has_the_return_that_its_run_found(
    runs: dict[str, jackdaw.Run], name: str
) -> None:
    """The run's last 100 episodes, which its agent played with weights from the device."""
    run = runs[name]
    place = ("evaluation100", 3) if name == "ddpg-qat" else ("final",)
    mean, _ = jackdaw.evaluate(run, episodes=100, seed=derive(1, *place))
    assert mean == pytest.approx(run.mean_return, rel=1e-3 if name == "ddpg-qat" else 1e-12)


@pytest.mark.parametrize("name", RUNS)
def test_a_policy_as_torch_and_onnx(
    runs: dict[str, jackdaw.Run], name: str, tmp_path: Path
) -> None:
    """Both networks give what `predict` says, up to rounding."""
    onnx = pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    policy = jackdaw.load(runs[name])
    seen = observations(policy)
    module = policy.to_torch()
    with torch.no_grad():
        out = module(torch.from_numpy(seen)).numpy()
    actions, _ = policy.predict(seen)
    tolerance = 2e-3 if isinstance(policy, FixedPolicy) else 1e-5
    if policy.actions is None:
        assert np.allclose(out, actions, atol=tolerance)
    else:
        assert out.shape == (len(seen), policy.actions)
        assert np.array_equal(out.argmax(1), actions)
    path = policy.export(tmp_path / "deep" / "policy.onnx")
    (again,) = reference.ReferenceEvaluator(onnx.load(str(path))).run(None, {"observation": seen})
    assert np.allclose(again, out, atol=1e-5)
    arrays = np.load(policy.export(tmp_path / "policy.npz"))
    assert np.array_equal(arrays["weight0"], policy.parts[0].weight)
    loaded = torch.load(policy.export(tmp_path / "policy.pt"), weights_only=False)
    with torch.no_grad():
        assert np.array_equal(loaded(torch.from_numpy(seen)).numpy(), out)


def test_an_export_that_cannot_be_has_a_named_error(
    runs: dict[str, jackdaw.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = jackdaw.load(runs["dqn"])
    with pytest.raises(ConfigError, match=r"got 'policy.h5', want a name in .onnx, .pt, .npz"):
        policy.export(tmp_path / "policy.h5")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigError, match=r"onnx is not installed: pip install 'jackdaw\[onnx\]'"):
        policy.export(tmp_path / "policy.onnx")


def test_a_folder_without_a_run_has_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run's folder"):
        jackdaw.load(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ConfigError, match="is no run's folder"):
        jackdaw.load(tmp_path)


def test_a_damaged_checkpoint_has_a_named_error(
    runs: dict[str, jackdaw.Run], tmp_path: Path
) -> None:
    text = (runs["dqn"].path / "config.json").read_text()
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "checkpoint.npz").write_bytes(b"PK")
    with pytest.raises(CheckpointError):
        jackdaw.load(tmp_path)


def test_an_environment_without_a_recipe_gets_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = jackdaw.train("dqn", "Acrobot-v1", device="model", out=tmp_path, steps=1, **SMALL)
    assert "no recipe is tuned for dqn on Acrobot-v1" in capsys.readouterr().err
    assert run.summary["threshold"] == -100.0  # Gymnasium's


class Corridor(gymnasium.Env[Any, Any]):
    """Five places in a row; the right end pays 1."""

    def __init__(self, length: int = 5) -> None:
        self.length, self.place, self.taken = length, 0, 0
        self.observation_space = gymnasium.spaces.Discrete(length)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.taken = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place = min(max(self.place + (1 if action else -1), 0), self.length - 1)
        self.taken += 1
        ended = self.place == self.length - 1
        return self.place, float(ended), ended, self.taken == 20, {}


def make_corridor() -> gymnasium.Env[Any, Any]:
    return Corridor(4)


@pytest.mark.parametrize("make", [Corridor, make_corridor])
def test_an_environment_of_one_s_own(tmp_path: Path, make: Any) -> None:
    """A class or a function; places become one-hot, nothing says when it is learned; resumed."""

    options: dict[str, Any] = {"device": "model", "out": tmp_path, **SMALL}

    def train(steps: int, **more: Any) -> jackdaw.Run:
        return jackdaw.train("dqn", make, steps=steps, **options, **more)

    train(2)
    run = train(4, resume=True)
    assert run.summary["threshold"] is None and not run.solved
    assert run.summary["gradient_steps"] == 4
    policy = jackdaw.load(run)
    assert policy.shape == ((5,) if make is Corridor else (4,))
    mean, _ = jackdaw.evaluate(policy, make, episodes=4)
    assert 0 <= mean <= 1
    gymnasium.registry.pop(policy.environment)  # another process does not know it
    with pytest.raises(ConfigError, match="give it as `env`"):
        jackdaw.evaluate(policy, episodes=1)


def test_callbacks_see_and_end_a_training(tmp_path: Path) -> None:
    """Steps, evaluations and the end are told; False ends the run, which resumes."""
    told: list[Any] = []

    class Recorder(jackdaw.Callback):
        def on_start(self, training: Watched) -> None:
            told.append(("start", training.step))

        def on_evaluation(self, training: Watched, mean: float, episodes: int) -> None:
            told.append(("evaluation", training.step, episodes))

        def on_end(self, training: Watched, summary: dict[str, Any]) -> None:
            told.append(("end", summary["gradient_steps"]))
            assert isinstance(training.policy(), ValuePolicy)

    def stop(training: Watched) -> bool:
        assert training.progress.gradient_steps == training.step
        return training.step < 5

    run = jackdaw.train(
        "dqn", "CartPole-v1", device="model", out=tmp_path, callback=[Recorder(), stop], **SMALL
    )
    assert told == [("start", 0), ("evaluation", 3, 5), ("end", 5)]
    assert run.summary["gradient_steps"] == 5 and not run.summary["interrupted"]
    more = jackdaw.train(
        "dqn", "CartPole-v1", device="model", out=tmp_path, resume=True, steps=6,
        callback=lambda training: told.append(training.step), **SMALL,
    )  # fmt: skip
    assert more.summary["gradient_steps"] == 6 and told[-1] == 6


def test_callbacks_of_a3c(tmp_path: Path) -> None:
    def stop(training: Watched) -> bool:
        assert training.progress.environment_steps == training.step
        return training.step < 40

    run = jackdaw.train("a3c", "PixelCatch", device="model", out=tmp_path, callback=stop, agents=4)
    assert run.summary["environment_steps"] == 40


@pytest.mark.parametrize("name", ["dqn", "a3c"])
def test_an_episode_is_recorded(runs: dict[str, jackdaw.Run], name: str, tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "episode.gif"
    total = jackdaw.record(runs[name], path, most=9)
    with Image.open(path) as image:
        assert 1 < image.n_frames <= 9  # type: ignore[attr-defined]
    assert np.isfinite(total)
    with pytest.raises(ConfigError, match=r"want a name that ends in .gif"):
        jackdaw.record(runs[name], tmp_path / "episode.mp4")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"momentum": 1}, "dqn has no setting momentum"),
        ({"device": "board"}, "device: got 'board', want one of sim, model, float"),
        ({"config": "nothing"}, "no configuration nothing"),
        ({"minutes": 5.0}, "minutes: got 5.0 for dqn, want it for a3c alone"),
    ],
)
def test_wrong_arguments_have_named_errors(
    tmp_path: Path, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        jackdaw.train("dqn", "CartPole-v1", **{"out": tmp_path / "run", **options})
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="episodes: got 0"):
        jackdaw.evaluate(tmp_path, episodes=0)


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, jackdaw; assert dir(jackdaw) and jackdaw.__version__;"
        "print(sorted({'numba', 'gymnasium', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


def test_the_missing_packages_of_training_are_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import jackdaw; jackdaw.train"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "jackdaw.train: gymnasium is not installed: pip install 'jackdaw[train]'" in done.stderr
