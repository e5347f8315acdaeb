"""Atari games as the A3C agents see them, and a few of their updates on the golden engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("ale_py")

from jackdaw.agents.a3c import a3c_recipe
from jackdaw.device import open_device
from jackdaw.environments import make_frames
from jackdaw.environments.atari import NO_OPS, area_sums, make_atari
from jackdaw.runtime import session
from jackdaw.runtime.asynchronous import AsynchronousRun, Episode
from jackdaw.runtime.report import running_means
from jackdaw.runtime.run_folder import LOCK, kept
from train_a3c import main

GAMES = {"ALE/Breakout-v5": 240, "ALE/Pong-v5": 100}  # steps that are compared
BREAKOUT, PONG = GAMES


def shrink(frame: np.ndarray) -> np.ndarray:
    """Area resize to 84x84 by its definition, in binary64: every new pixel is an average."""
    halves = np.repeat(np.repeat(frame, 2, axis=0), 21, axis=1).astype(float)
    return halves.reshape(84, 5, 84, 40).mean((1, 3))


class Reference:
    """The preprocessing in plain steps, on the emulator itself."""

    def __init__(self, name: str, seed: int) -> None:
        self.game: Any = gymnasium.make(
            name, frameskip=1, repeat_action_probability=0.0, obs_type="grayscale"
        )
        self.game.reset(seed=seed)
        self.begin()

    def begin(self) -> None:
        for _ in range(int(self.game.unwrapped.np_random.integers(1, NO_OPS + 1))):
            self.game.step(0)
        self.seen = [shrink(self.game.unwrapped.ale.getScreenGrayscale())] * 4

    def step(self, action: int) -> tuple[float, bool]:
        total, ended = 0.0, False
        screens: list[np.ndarray] = []
        while len(screens) < 4 and not ended:
            _, reward, ended, _, _ = self.game.step(action)
            total += reward
            screens.append(self.game.unwrapped.ale.getScreenGrayscale())
        last_two = screens[-2:]
        self.seen = [*self.seen[1:], shrink(np.maximum(last_two[0], last_two[-1]))]
        return total, ended

    def matches(self, observed: np.ndarray) -> bool:
        levels = observed.astype(float) * 255
        whole = np.abs(levels - np.rint(levels)).max() < 1e-4
        return bool(whole and np.abs(levels - np.array(self.seen)).max() < 0.5 + 1e-4)


@pytest.mark.parametrize("shape", [(210, 160), (250, 168), (84, 84), (85, 83)])
def test_a3c_atari_area_resize_keeps_the_mean(seed: int, shape: tuple[int, int]) -> None:
    frame = np.random.default_rng(seed).integers(0, 256, shape)
    sums = area_sums(area_sums(frame).T).T
    assert sums.shape == (84, 84)
    units = [int(area_sums(np.ones(size, np.int64)).sum()) // size for size in shape]
    assert sums.sum() == frame.sum() * units[0] * units[1]
    flat = area_sums(np.full((shape[0], 1), 7))
    assert (flat == flat[0]).all()


@pytest.mark.parametrize("name", GAMES)
def test_a3c_atari_is_the_reference(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    environment = make_atari(name)
    observed, _ = environment.reset(seed=seed)
    plain = Reference(name, seed)
    assert observed.shape == (4, 84, 84) and observed.dtype == np.float32
    assert environment.observation_space.contains(observed)
    assert plain.matches(observed) and (observed == observed[0]).all()
    lives, points, ends = set(), 0.0, 0
    for _ in range(GAMES[name]):
        action = int(rng.integers(environment.action_space.n))  # type: ignore[attr-defined]
        observed, reward, terminated, truncated, info = environment.step(np.int64(action))
        assert (reward, terminated) == plain.step(action) and not truncated
        assert plain.matches(observed)
        lives.add(info["lives"])
        points += abs(float(reward))
        if terminated:
            ends += 1
            observed, _ = environment.reset()
            plain.game.reset()
            plain.begin()
            assert plain.matches(observed)
    assert points
    if name == BREAKOUT:  # a lost life ends nothing
        assert ends and {1, 2, 3, 4, 5} <= lives


def test_a3c_atari_is_a_function_of_its_seed(seed: int) -> None:
    def play(of: int) -> tuple[list[np.ndarray], list[float]]:
        environment = make_atari(PONG)
        seen, rewards = [environment.reset(seed=of)[0]], []
        for step in range(60):
            observed, reward, _, _, _ = environment.step(np.int64(step % 6))
            seen.append(observed)
            rewards.append(float(reward))
        return seen, rewards

    (one, rewards), (two, again), (other, _) = play(seed), play(seed), play(seed + 1)
    assert np.array_equal(one, two) and rewards == again
    assert not np.array_equal(one, other)


def test_a3c_atari_updates_repeat(seed: int) -> None:
    """A rollout of two agents and one step more, twice: the same parameters, and they moved."""
    chosen = a3c_recipe(BREAKOUT)
    settings = replace(chosen.settings, agents=2)

    def run() -> tuple[AsynchronousRun, list[Episode], list[np.ndarray]]:
        device = open_device("model", chosen.config)
        agents = AsynchronousRun(
            lambda: make_frames(BREAKOUT), chosen.network, device, settings, seed
        )
        first = agents.parameters()
        episodes = list(agents.run(2 * 6))
        moved = [a - b for (a, _), (b, _) in zip(agents.parameters(), first, strict=True)]
        return agents, episodes, moved

    (one, episodes, moved), (two, again, same) = run(), run()
    assert (one.step, one.updates, one.actions) == (12, 2, 4) and episodes == again
    assert all(np.array_equal(a, b) and a.any() for a, b in zip(moved, same, strict=True))
    used = np.asarray(moved[-1].any(1))
    assert used[:4].all() and used[31] and not used[4:31].any()  # logits first, the value last
    assert one.engine.counters() == two.engine.counters()


def test_a3c_training_script(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "seed1"
    arguments = ["--steps", "176", "--window", "4", "--out", str(tmp_path)]
    main(arguments)
    kept_at = (folder / "checkpoint.npz").stat().st_mtime_ns
    main(arguments)  # only plots
    assert (folder / "checkpoint.npz").stat().st_mtime_ns == kept_at
    assert capsys.readouterr().out.count("16 episodes") == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curve.png", "seed1"]
    files = {p.name for p in folder.iterdir() if not p.name.startswith("events.out.tfevents.")}
    assert files == {"config.json", "summary.json", "curve.png", "checkpoint.npz", LOCK}
    assert list(folder.glob("events.out.tfevents.*"))
    more = ["--steps", "352", "--window", "4", "--out", str(tmp_path), "--resume"]
    assert main([*more, "--set", "eps=1e-3", "--set", "agents=8"]) == 0
    state = kept(folder)
    assert state["run"]["step"] == 352 and state["run"]["updates"] == 96
    assert len(state["returns"]) == len(state["ends"]) == 32
    assert state["ends"] == sorted(state["ends"])
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["environment_steps"], summary["updates"], summary["episodes"]) == (352, 96, 32)
    settings = json.loads((folder / "config.json").read_text())["recipe"]["settings"]
    assert (settings["eps"], settings["agents"]) == (1e-3, 8)
    assert main([*more, "--env", BREAKOUT]) == 2
    assert main([*arguments, "--env", BREAKOUT]) == 2  # would only be plotted
    assert capsys.readouterr().err.count("build MemPorts is 1, this run has 4") == 2
    (folder / "checkpoint.npz").write_text("no checkpoint")
    assert main(more) == 2
    assert "no whole checkpoint" in capsys.readouterr().err
    (folder / "checkpoint.npz").unlink()
    assert main(arguments) == 2
    assert "seed1 is not empty; --resume or --overwrite" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0
    assert kept(folder)["run"]["step"] == 176


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "there is no"),
        (["--set", "tau=1"], "the recipe has no tau"),
        (["--set", "agents=few"], "got 'few', want a whole number"),
        (["--set", "agents=0"], "agents: got 0, want a whole number, 1..1024"),
        (["--set", "agents=100000"], "agents: got 100000, want a whole number"),
        (["--set", "steps=9"], "steps: got 9, want a whole number, 1..8"),
        (["--set", "eps=0"], "eps: got 0.0, want more than 0"),
        (["--set", "rate=nan"], "rate: got nan, want at least 0"),
    ],
)
def test_a3c_training_script_bad_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_ctrl_c_ends_all_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "train", lambda *_: True)
    assert main(["--seeds", "1", "2", "--out", str(tmp_path)]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["seed1"]
    assert f"--out {tmp_path / 'seed1'} --resume" in capsys.readouterr().err


def test_running_means() -> None:
    assert running_means([1.0, 2.0, 3.0], 2).tolist() == [1.0, 1.5, 2.5]
    assert running_means([1.0], 5).tolist() == [1.0] and not running_means([], 5).size
