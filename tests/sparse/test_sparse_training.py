"""IC3Net: its loss and draws, and runs through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jackdaw.agents.ic3net import (
    SCALE_UP,
    Ic3netRecipe,
    LossScale,
    draw,
    initial_grouping,
    initial_parameters,
    output_gradient,
    returns,
)
from jackdaw.api import evaluate, load, watch
from jackdaw.cli import main
from jackdaw.device import open_device
from jackdaw.drivers.sparse import SparseSettings, Statistics
from jackdaw.environments import make_team
from jackdaw.environments.predator_prey import PredatorPreyGrid
from jackdaw.errors import CheckpointMismatch, ConfigError
from jackdaw.runtime.run_folder import kept
from jackdaw.runtime.team import play
from jackdaw.runtime.team_policy import TeamPolicy
from jackdaw.runtime.training import TeamTraining
from models.sparse.formats import Layer
from models.sparse.ic3net import NAMES

TINY = ["hidden=16", "episodes=3", "split=vec"]
GAME = "PredatorPrey-v0"


def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    t, v, value, entropy = 4, 6, 0.01, 0.3
    logits, values = rng.normal(size=(t, v, 7)), rng.normal(size=(t, v))
    actions, gates = rng.integers(0, 5, (t, v)), rng.integers(0, 2, (t, v))
    goals, live = rng.normal(size=(t, v)), rng.random((t, v)) < 0.7
    found = output_gradient(logits, values, actions, gates, goals, live, value, entropy)
    x = torch.tensor(logits, requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    error = torch.tensor(goals) - y
    loss = value * error**2
    for part, taken in ((x[..., :5], actions), (x[..., 5:], gates)):
        logs = torch.log_softmax(part, -1)
        chosen = logs.gather(-1, torch.tensor(taken)[..., None])[..., 0]
        loss = loss - chosen * error.detach() + entropy * (logs.exp() * logs).sum(-1)
    (loss * torch.tensor(live)).sum().backward()
    assert np.allclose(found[..., :7], x.grad.numpy())
    assert np.allclose(found[..., 7], y.grad.numpy())


def test_returns_are_sums_to_the_end() -> None:
    rewards = np.array([[1.0, 0], [2, 0], [4, 8]])
    assert returns(rewards).tolist() == [[7, 8], [6, 8], [4, 8]]


def test_draws_follow_the_softmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = np.tile(np.log([0.5, 0.3, 0.2]), (20000, 1))
    shares = np.bincount(draw(logits, rng), minlength=3) / 20000
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 0.02


def test_each_row_of_a_grouping_matrix_has_one_greatest_entry(seed: int) -> None:
    entries = initial_grouping(500, 8, np.random.default_rng(seed))
    assert entries.dtype == np.int8 and entries.min() >= 0 and entries.max() <= 26
    assert ((entries == entries.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    assert len(set(entries.argmax(axis=1))) == 8


def test_start_weights_are_as_large_as_a_dense_layer_s(seed: int) -> None:
    """The sum of the squares of a column's weights that take part, in the mean."""
    found = []
    for groups in (1, 4, 16):
        layer = Layer(256, 512, groups)
        start = initial_parameters([layer] * len(NAMES), np.random.default_rng(seed))["lst"]
        mask = np.ones((256, 512), bool)
        if groups > 1:
            mask = start["ig"].argmax(1)[:, None] == start["og"].argmax(1)
        found.append(float((start["weight"] ** 2 * mask).sum(0).mean()))
        assert abs(start["bias"]).max() <= 1 / 16
    assert found == pytest.approx([1 / 3] * 3, rel=0.2)


def test_the_loss_scale_falls_and_rises() -> None:
    scale = LossScale(4.0)
    scale.after(True)
    assert scale.value == 2
    for _ in range(SCALE_UP - 1):
        scale.after(False)
    assert scale.value == 2
    scale.after(False)
    assert scale.value == 4
    for _ in range(9):
        scale.after(True)
    assert scale.value == 1


# ---- The loop ----
def test_every_setting_reaches_the_engine() -> None:
    recipe = Ic3netRecipe(
        GAME, hidden=24, groups=8, head_groups=2, episodes=5, split="row", learning_rate=2e-3,
        group_rate=3e-3, decay=0.9, eps=1e-5,
    )  # fmt: skip
    assert recipe.settings(29, 3, 20, 7) == SparseSettings(
        observations=29, agents=3, episodes=5, steps=20, hidden=24, groups=8, head_groups=2,
        split="row", rate=2e-3 * 8**0.5, decay=0.9, eps=1e-5, group_rate=3e-3, seed=7,
    )  # fmt: skip


class Told:
    """A driver whose network gives random outputs, and which keeps what it was given."""

    def __init__(self, vectors: int) -> None:
        self.rng, self.vectors, self.given = np.random.default_rng(0), vectors, list[Any]()

    def begin(self) -> None:
        self.given.clear()

    def step(self, obs: np.ndarray, gates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.given.append((obs.copy(), gates.copy()))
        return self.rng.normal(size=(self.vectors, 7)), self.rng.normal(size=self.vectors)


def test_a_played_episode_is_that_of_the_game() -> None:
    """Gates of a step are those drawn in the step before; dead are steps after the end."""
    game = PredatorPreyGrid(8, dim=2, agents=2, steps=12)
    game.reset(seed=5)
    other = PredatorPreyGrid(8, dim=2, agents=2, steps=12)
    other.set_state(game.get_state())
    driver: Any = Told(16)
    played = play(driver, game, np.random.default_rng(1))
    seen, _ = other.reset()
    before = np.zeros(16)
    for t, (obs, gates) in enumerate(driver.given):
        assert np.array_equal(obs, seen.reshape(16, -1)) and np.array_equal(gates, before)
        assert np.array_equal(played.live[t], np.repeat(~other.ended, 2))
        seen, rewards, *_ = other.step(played.actions[t].reshape(8, 2))
        assert np.array_equal(played.rewards[t], rewards.reshape(-1))
        before = played.gates[t]
    assert np.array_equal(played.succeeded, other.succeeded)
    assert len(driver.given) == 12 and played.succeeded.any() and not played.live.all()


def tiny(**changes: Any) -> Ic3netRecipe:
    settings = {"hidden": 16, "episodes": 3, "split": "vec", "groups": 4, **changes}
    return Ic3netRecipe(GAME, config="sparse", **settings)


def test_an_update_scales_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_device("model", "sparse") as device:
        training = TeamTraining(device, tiny(value=0.3, entropy=0.2, loss_scale=64.0), 1)
        trainer = training.trainer
        played = trainer.play(training.run.game, np.random.default_rng(0))
        played.live[15:, :3] = False
        given: list[Any] = []

        def train(*arguments: Any) -> Statistics:
            given.extend(arguments)
            return Statistics(True, 1)

        monkeypatch.setattr(trainer.driver, "train", train)
        trainer.train(played)
        want = output_gradient(
            played.logits, played.values, played.actions, played.gates, returns(played.rewards),
            played.live, 0.3, 0.2,
        )  # fmt: skip
        assert np.array_equal(given[0], want * 64) and given[1:] == [64.0, 2 * 20 + 15]
        assert trainer.scale.value == 32
        state = trainer.state()
        trainer.scale = LossScale(7.0)
        trainer.load_state(state)
        assert (trainer.scale.value, trainer.scale.clean) == (32, 0)
        training.close()


@pytest.mark.parametrize(("threshold", "updates"), [(0.0, 2), (1.1, 3)])
def test_a_run_ends_at_its_threshold(threshold: float, updates: int) -> None:
    with open_device("model", "sparse") as device:
        training = TeamTraining(device, tiny(threshold=threshold, window=2, max_steps=3), 1)
        assert [p.gradient_steps for p in training.rounds()][-1] == updates
        assert training.solved == (updates == 2) and training.step == updates
        training.close()


def command(out: Path, *more: str, steps: int = 4, settings: Any = TINY) -> int:
    texts = [word for text in settings for word in ("--set", text)]
    return main([
        "train", "--agent", "ic3net", "--env", GAME, "--device", "model", "--config", "sparse",
        "--groups", "4", "--steps", str(steps), "--out", str(out), *texts, *more,
    ])  # fmt: skip


def state(folder: Path) -> dict[str, Any]:
    return kept(folder)


def equal(a: Any, b: Any) -> None:
    """The same learned state, without times."""
    for name, arrays in a["trainer"]["memories"].items():
        for key, array in arrays.items():
            assert np.array_equal(array, b["trainer"]["memories"][name][key]), (name, key)
    assert a["trainer"]["generator"] == b["trainer"]["generator"]
    assert a["run"]["history"] == b["run"]["history"]
    assert a["run"]["rng"] == b["run"]["rng"]


def test_the_command_trains_resumes_and_reports(tmp_path: Path, capsys: Any) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert command(whole, "--checkpoint-every", "2") == 0
    for name in ("config.json", "summary.json", "curve.png", "checkpoint.npz"):
        assert (whole / name).stat().st_size > 0
    assert list(whole.glob("events*"))
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["gradient_steps"] == 4 and summary["episodes"] == 12
    assert 0 <= summary["mean_return"] <= 1 and summary["evaluation_episodes"] >= 100
    assert summary["total_cycles"] > 0 and summary["stage"]["BACKWARD"] > 0
    config = json.loads((whole / "config.json").read_text())
    assert config["recipe"]["groups"] == 4 and config["spaces"]["observation"] == [3, 29]
    assert command(parts, steps=2) == 0
    assert command(parts, "--resume", steps=4) == 0
    equal(state(whole), state(parts))
    other = tmp_path / "other"
    assert command(other, "--seed", "2") == 0
    assert state(other)["run"]["history"] != state(whole)["run"]["history"]
    capsys.readouterr()


# ---- Policies
@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two updates."""
    folder = tmp_path_factory.mktemp("team") / "run"
    assert command(folder, steps=2) == 0
    return folder


def test_a_policy_plays_as_its_training_does(trained: Path) -> None:
    policy = load(trained)
    assert isinstance(policy, TeamPolicy) and policy.figure == "success"
    with open_device("model", "sparse") as device:
        training = TeamTraining(device, tiny(), 1)
        training.trainer.load_state(state(trained)["trainer"])
        game = make_team(GAME, 3)
        game.reset(seed=5)
        played = training.trainer.play(game, np.random.default_rng(7))
        training.close()
    game = make_team(GAME, 3)
    game.reset(seed=5)
    seen, _ = game.reset()
    rng, told = np.random.default_rng(7), None
    for actions in played.actions:
        chosen, told = policy.predict(seen, told, deterministic=False, rng=rng)
        assert chosen.dtype == np.int64 and np.array_equal(chosen.reshape(-1), actions)
        seen, *_ = game.step(chosen)


def test_an_episode_does_not_depend_on_the_others(trained: Path) -> None:
    policy = load(trained)
    seen = [make_team(GAME, 3).reset(seed=k)[0] for k in range(4)]
    whole, parts = [], []
    told: Any = None
    alone: Any = None
    for each in seen:
        actions, told = policy.predict(each, told)
        whole.append(actions[0])
    for each in seen:
        actions, alone = policy.predict(each[0], alone)
        parts.append(actions)
    assert parts[0].shape == (3,) and np.array_equal(whole, parts)
    assert alone.step == 4 and np.array_equal(alone.gates, told.gates[:1])


def test_a_policy_refuses_what_it_cannot_play(trained: Path, tmp_path: Path) -> None:
    policy = load(trained)
    seen, _ = make_team(GAME, 3).reset(seed=0)
    _, first = policy.predict(seen)
    _, second = policy.predict(seen, first)
    for bad, told, says in (
        (seen, first, "state"), (seen[:1], second, "state"), (seen[:, :2], None, "shape"),
        (seen[:0], None, "shape"), (np.concatenate([seen, seen]), None, "shape"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=says):
            policy.predict(bad, told)
    for _ in range(18):
        _, second = policy.predict(seen, second)
    with pytest.raises(ConfigError, match="step 20"):
        policy.predict(seen, second)
    for call, says in (
        (lambda: evaluate(policy, "PredatorPreyMedium-v0"), "5 agents"),
        (lambda: evaluate(policy, "CartPole-v1"), "no game for a team"),
        (lambda: evaluate(policy, PredatorPreyGrid), "Gymnasium id"),
        (lambda: watch(policy), "no window"),
        (lambda: policy.export(tmp_path / "x.onnx"), "npz"),
        (policy.make, "make_team"),
    ):
        with pytest.raises(ConfigError, match=says):
            call()


def test_the_commands_play_and_export(trained: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(["eval", str(trained), "--episodes", "7", "--random"]) == 0
    assert "mean success 0." in capsys.readouterr().out
    assert main(["play", str(trained), "--gif", str(tmp_path / "team.gif")]) == 0
    assert "success 0." in capsys.readouterr().out
    image = pytest.importorskip("PIL.Image").open(tmp_path / "team.gif")
    assert image.size == (3 * 200 + 2 * 12, 200) and image.n_frames > 1
    assert main(["export", str(trained), str(tmp_path / "team.npz")]) == 0
    arrays = np.load(tmp_path / "team.npz")
    kept_layer = state(trained)["trainer"]["memories"]["lst"]
    there = kept_layer["ig"].argmax(1)[:, None] == kept_layer["og"].argmax(1)
    assert np.array_equal(arrays["weight2"].T, kept_layer["weight"] * there)
    assert np.array_equal(arrays["bias2"], kept_layer["bias"])


def test_a_policy_without_a_layer_is_refused(trained: Path) -> None:
    memories = dict(state(trained)["trainer"]["memories"])
    del memories["enc"]
    with pytest.raises(ConfigError, match="got no enc"):
        TeamPolicy(tiny(), {}, memories)


def test_another_run_is_not_gone_on_with(tmp_path: Path, capsys: Any) -> None:
    command(tmp_path / "run", steps=1)
    assert command(tmp_path / "run", "--resume", settings=["hidden=8", "episodes=3"]) == 2
    assert "hidden" in capsys.readouterr().err
    with pytest.raises(CheckpointMismatch):
        kept(tmp_path / "run", TeamTraining.identity(Ic3netRecipe(GAME), 1, "sparse"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--groups", "3"], "1, 2, 4, 8, 16 or 32"),
        (["--set", "hidden=12"], "multiple of 8"),
        (["--set", "loss_scale=3"], "power of two"),
        (["--set", "episodes=0"], "episodes: got 0"),
        (["--set", "learning_rate=nan"], "learning_rate: got nan"),
        (["--groups", "64"], "groups: got 64"),
        (["--set", "alpha=1"], "no alpha"),
        (["--env", "CartPole-v1"], "PredatorPrey-v0"),
        (["--config", "demo"], "no engine sparse"),
        (["--config", "nothing"], "sparse_full"),
        (["--set", "hidden=128"], "SparseDMax"),
        (["--agent", "dqn"], "ic3net"),
    ],
)
def test_wrong_settings_are_told(words: list[str], says: str, tmp_path: Path, capsys: Any) -> None:
    base = {"--agent": "ic3net", "--env": GAME, "--device": "model", "--config": "sparse",
            "--steps": "1", "--out": str(tmp_path / "x")}  # fmt: skip
    given = list(words)
    for option, value in base.items():
        if option not in words:
            given += [option, value]
    if "hidden" not in " ".join(words):
        given += [] if "dqn" in words else ["--set", "hidden=16", "--set", "episodes=3"]
    assert main(["train", *given]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_network_that_diverges_is_told(tmp_path: Path, capsys: Any) -> None:
    assert command(tmp_path / "run", "--set", "learning_rate=1e6", "--overwrite") == 2
    assert "an output of the network is not finite" in capsys.readouterr().err


@pytest.mark.regress
def test_a_team_learns(seed: int) -> None:
    """Agents that act at random succeed in about 3 % of the episodes."""
    recipe = Ic3netRecipe(GAME, groups=4, max_steps=1200)
    with open_device("model", "sparse_full") as device:
        training = TeamTraining(device, recipe, seed)
        for _ in training.rounds():
            pass
        shares = [episode[2] for episode in training.run.history.episodes]
        training.close()
    hundreds = np.reshape(shares, (-1, 100)).mean(axis=1)
    assert hundreds[0] < 0.05 and hundreds[-1] > 0.25, hundreds
