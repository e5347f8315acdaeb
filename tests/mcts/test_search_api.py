"""TreeSearch: one class, the same actions on every device, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from jackdaw.cli import main
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts
from jackdaw.errors import ConfigError, EngineOwnedError, EnvError, ReplayMismatch
from jackdaw.search import Connect4Env, TreeSearch, replay
from jackdaw.search.games.hidden import HiddenTree
from jackdaw.search.trees import CpuTree


class Three(HiddenTree):
    """A game that the smallest engine holds."""

    def __init__(self) -> None:
        super().__init__(actions=3, depth=6)


def episode(search: TreeSearch, steps: int, seed: int = 3) -> list[int]:
    env, actions = gymnasium.make("CartPole-v1"), []
    env.reset(seed=seed)
    for _ in range(steps):
        actions.append(search.act(env))
        if env.step(actions[-1])[2]:
            break
    return actions


def test_the_same_actions_on_cpu_and_model_with_any_workers(seed: int) -> None:
    """And the same trees, of a fixed schedule; other seeds give others."""
    found: list[Any] = []
    for device, parallel, processes in (
        ("cpu", "serial", None), ("cpu", "processes", 1), ("cpu", "processes", 3),
        ("model", "serial", None), ("model", "processes", 2),
    ):  # fmt: skip
        with TreeSearch(
            "CartPole-v1", 60, 8, device, parallel, processes=processes, schedule="fixed",
            seed=seed, check=False,
        ) as search:  # fmt: skip
            actions = episode(search, 8)
            s = search.statistics
            found.append((actions, s.codes, s.depth, s.virtual_loss, s.iterations))
            assert (s.clocks > 0) == (device == "model")
    assert all(each == found[0] for each in found[1:]) and found[0][4] == 60 * len(found[0][0])
    with TreeSearch("CartPole-v1", 60, schedule="fixed", seed=seed + 1, check=False) as search:
        assert (episode(search, 8), search.statistics.codes) != found[0][:2]


@builds(lambda: open_device("sim", "mcts_small"))
def test_the_same_actions_on_the_rtl(seed: int, tmp_path: Path) -> None:
    """On the smallest build, with fewer ids than simulations; its record replays elsewhere."""
    results = []
    for device in ("cpu", "model", "sim"):
        with TreeSearch(
            Three, scale(100, 40), 4, device, config="mcts_small", nodes=10, schedule="fixed",
            seed=seed, check=False, c=0.3,
        ) as search:  # fmt: skip
            search.record(tmp_path / f"{device}.npz")
            env, found = Three(), []
            for _ in range(2):
                result = search.search(env)
                found.append((result.action, result.visits.tolist(), result.values.tolist()))
                env.step(result.action)
            results.append((found, search.statistics.codes))
    assert results[0] == results[1] == results[2]
    assert results[0][1]["NOINS"] > 0
    count = 2 * scale(100, 40)
    with open_device("model", "mcts_small") as opened, Mcts(opened) as tree:
        assert replay(tmp_path / "sim.npz", tree) == count
    assert replay(tmp_path / "sim.npz", CpuTree(10, 3, 4, 4)) == count


def test_a_record_of_another_tree_is_told(tmp_path: Path) -> None:
    with TreeSearch(Three, 50, 4, check=False) as search:
        search.record(tmp_path / "one.npz")
        search.act(Three())
    with np.load(tmp_path / "one.npz") as file:
        arrays = dict(file)
    assert replay(tmp_path / "one.npz", CpuTree(51, 3, 8, 4)) == 50
    changed = arrays["1.responses"].copy()
    changed["action"][2] ^= 1
    np.savez(tmp_path / "two.npz", **{**arrays, "1.responses": changed})
    with pytest.raises(ReplayMismatch, match="the responses to list 1 differ"):
        replay(tmp_path / "two.npz", CpuTree(51, 3, 8, 4))
    np.savez(tmp_path / "old.npz", **{**arrays, "version": np.array(0)})
    with pytest.raises(ConfigError, match="got no recording of version 1"):
        replay(tmp_path / "old.npz", CpuTree(51, 3, 8, 4))


def test_an_open_device_is_used_and_stays_open() -> None:
    with open_device("model", "mcts_demo") as device:
        with TreeSearch(Connect4Env, 50, device=device, check=False) as search:
            search.act(Connect4Env())
            with pytest.raises(EngineOwnedError):
                Mcts(device)
        with Mcts(device) as tree:
            assert tree.geometry.f == 8


@pytest.mark.parametrize(
    ("make", "arguments", "text"),
    [
        (Three, {"workers": 0}, r"workers: got 0, want 1\.\."),
        (Three, {"simulations": 0}, r"simulations: got 0"),
        (Three, {"simulations": 2.5}, r"simulations: got 2\.5"),
        (Three, {"simulations": 10, "workers": 4, "config": "mcts_small"},
         "simulations: got 10, want at most 9 of this build, or nodes= with them"),
        (Three, {"simulations": 70_000, "device": "model"}, "simulations: got 70000, want at most"),
        (Three, {"nodes": "x"}, r"nodes: got 'x', want a whole number, 2\.\."),
        (Three, {"virtual_loss": np.zeros(2)}, "virtual_loss: got array"),
        (Three, {"nodes": 11, "workers": 2, "config": "mcts_small"},
         "nodes: got 11, want at most 10"),
        (Three, {"workers": 5, "simulations": 9, "config": "mcts_small"},
         "workers: got 5, want at most 4"),
        (lambda: HiddenTree(19), {"device": "model"}, "actions of the environment: got 19, want at "
         "most 18"),
        (lambda: HiddenTree(1), {}, r"actions of the environment: got 1, want 2\.\.32"),
        (Three, {"device": "gpu"}, "device: got 'gpu', want one of cpu, model, sim"),
        (Three, {"parallel": "threads"}, "parallel: got 'threads', want one of serial, processes"),
        (Three, {"schedule": "random"}, "schedule: got 'random', want one of async, sync, fixed"),
        (Three, {"rule": "puct"}, "rule: got puct without evaluate"),
        (Three, {"rule": "ucb"}, "rule: got 'ucb'"),
        (Three, {"virtual_loss": "much"}, "virtual_loss: got 'much', want a number, auto or wu"),
        (Three, {"virtual_loss": -1.0}, r"virtual_loss: got -1\.0"),
        (Three, {"virtual_loss": "wu"}, "virtual_loss: got wu, want device='cpu' with exact=False"),
        (Three, {"fpu": 8.0}, r"fpu: got 8\.0"),
        (Three, {"horizon": -1}, "horizon: got -1"),
        (Three, {"discount": 0.0}, r"discount: got 0\.0"),
        (Three, {"levels": 33}, "levels: got 33"),
        (Three, {"config": "mcts_large"}, "no configuration mcts_large"),
        (Three, {"seed": -1}, "seed: got -1"),
        (3, {}, "make_env: got 3"),
        (lambda: 3, {}, "environment: got int"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_before_anything_is_started(
    make: Any, arguments: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jackdaw.search import pool, tree_search

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("started")

    for place, name in (
        (pool.FORK, "Process"), (tree_search, "open_device"), (tree_search, "check_clonable"),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, never)
    with pytest.raises(ConfigError, match=text):
        TreeSearch(make, **{"parallel": "processes", **arguments})


def test_an_ended_episode_and_a_closed_search_are_refused() -> None:
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    with TreeSearch("CartPole-v1", 8, check=False) as search:
        while not env.step(1)[2]:
            pass
        with pytest.raises(ConfigError, match="got one whose episode has ended, want reset"):
            search.act(env)
        env.reset(seed=1)
        search.act(env)
    search.close()
    with pytest.raises(ConfigError, match="search: got a closed one"):
        search.act(env)


def test_after_an_error_of_the_environment_the_search_goes_on(seed: int) -> None:
    """On each device and pool: as a search in which nothing had happened."""

    class Once(Three):
        bad = False

        def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
            if Once.bad and self.steps == 2:
                raise ZeroDivisionError("once")
            return super().rollout(rng, horizon, discount)

    for device in ("cpu", "model"):
        found = []
        for bad in (False, True):
            with TreeSearch(Once, 40, 4, device, seed=seed, check=False, virtual_loss=0.1,
                            schedule="fixed") as search:  # fmt: skip
                if bad:
                    Once.bad = True
                    with pytest.raises(EnvError, match=r"ZeroDivisionError: once .*actions \["):
                        search.act(Once())
                    Once.bad = False
                search._master.number = 0
                found.append(search.search(Once()))
        assert found[0].visits.tolist() == found[1].visits.tolist()
        assert found[0].values.tolist() == found[1].values.tolist()


def test_virtual_loss_is_a_twentieth_of_the_spread_of_values(seed: int) -> None:
    """Of the first 64 simulations of an episode, once."""
    with TreeSearch("CartPole-v1", 16, seed=seed, check=False) as search:
        env = gymnasium.make("CartPole-v1")
        env.reset(seed=1)
        search.act(env)
        first = search.statistics.virtual_loss
        assert 0.002 < first < 0.01  # random play lasts 22 steps, give or take 12
        env.step(0)
        search.act(env)
        assert search.statistics.virtual_loss == first
        search.new_episode()
        search.act(env)
        assert search.statistics.virtual_loss != first
    for loss in (0.0, 0.25):
        with TreeSearch("CartPole-v1", 16, virtual_loss=loss, check=False) as search:
            search.act(env)
            assert search.statistics.virtual_loss == loss


def test_episodes_are_played_with_what_the_search_finds(seed: int) -> None:
    """CartPole for a while: random play falls after 22 steps."""
    told: list[Any] = []
    with TreeSearch("CartPole-v1", 32, 4, seed=seed, check=False) as search:
        returns = search.play(2, seed, progress=lambda *one: told.append(one), steps=60)
        assert len(returns) == 2 and search.statistics.decisions == sum(returns) == len(told)
    assert sum(returns) > 80 and told[-1] == (1, int(returns[1]), returns[1])


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "model"])
def test_cartpole_is_balanced(device: str) -> None:
    """20 episodes, 256 simulations, 8 workers: 400 of 500 steps in the mean."""
    with TreeSearch("CartPole-v1", 256, 8, device, "processes", seed=1) as search:
        assert np.mean(search.play(20, 1)) >= 400


def test_wu_uct_and_floats_on_the_cpu() -> None:
    for loss in ("wu", 0.1):
        with TreeSearch(Three, 60, 6, exact=False, virtual_loss=loss, check=False) as search:
            result = search.search(Three())
            assert result.visits.sum() == 60 and result.action in range(3)
            assert np.isfinite(result.values).all()


def test_the_command_plays_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Returns, a table of statistics, a record; one line for what the user can mend."""
    out = tmp_path / "moves.npz"
    words = ["search", "--simulations", "20", "--steps", "6", "--device", "model"]
    assert main([*words, "--env", "connect4", "--record", str(out)]) == 0
    text = capsys.readouterr().out
    assert "episode 1: return 0" in text and "mean return   0" in text
    assert "decisions     6\n" in text and "iterations    120, " in text
    with open_device("model", "mcts_demo") as device, Mcts(device) as tree:
        assert replay(out, tree) == 120
    assert main([*words, "--episodes", "2", "--virtual-loss", "0.1", "--schedule", "sync"]) == 0
    text = capsys.readouterr().out
    assert "episode 2: return 6" in text and "virtual loss  0.1\n" in text
    for bad, wanted in (
        (["--env", "Blackjack-v1"], "jackdaw search: BlackjackEnv: has no numbers"),
        (["--simulations", "0"], "jackdaw search: simulations: got 0, want 1"),
    ):
        assert main(["search", *bad]) == 2
        assert capsys.readouterr().err.startswith(wanted)
    with pytest.raises(SystemExit):
        main([*words, "--virtual-loss", "much"])


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "evaluate: got None, want priors or None, and values"),
        ((None, np.zeros(99)), r"evaluate: values: got shape \(99,\)"),
        ((None, "x"), "evaluate: values"),
        ((np.full((1, 3), np.nan), np.zeros(1)), r"evaluate: priors: got nan, want 0\.\."),
        ((np.full((1, 3), -0.5), np.zeros(1)), r"evaluate: priors: got -0\.5"),
        ((np.zeros((1, 2)), np.zeros(1)), "evaluate: got priors of 2 actions, want 3"),
    ],
)
def test_what_an_evaluator_returns_is_checked(found: Any, text: str) -> None:
    more: dict[str, Any] = {"rule": "puct", "evaluate": lambda states: found, "check": False}
    with TreeSearch(Three, 4, 1, **more) as search, pytest.raises(ConfigError, match=text):
        search.search(Three())


def test_an_environment_of_another_kind_is_refused() -> None:
    with TreeSearch("CartPole-v1", 4, 1, check=False) as search:
        for other in (None, "CartPole-v1", gymnasium.make("FrozenLake-v1"), object()):
            with pytest.raises(ConfigError, match=r"environment: got .*, want "):
                search.act(other)


def test_a_tree_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All nodes of a small one; not of a device's tree, before a search, or as an unknown kind."""
    out = tmp_path / "tree.png"
    with TreeSearch(Three, 30, 2, check=False) as search:
        with pytest.raises(ConfigError, match="picture: got device cpu, want a search"):
            search.picture(out)
        search.search(Three())
        assert search.picture(out) == search.statistics.nodes > 10
        for wrong in (tmp_path, tmp_path / "a" / "b.png", tmp_path / "tree.nothing"):
            with pytest.raises(ConfigError, match="picture: got "):
                search.picture(wrong)
    assert out.stat().st_size > 10_000
    with pytest.raises(ConfigError, match="picture: got device cpu"):
        search.picture(out)
    words = ["search", "--env", "connect4", "--simulations", "20", "--steps", "1"]
    assert main([*words, "--picture", str(tmp_path / "other.svg")]) == 0
    assert "<svg" in (tmp_path / "other.svg").read_text()
    assert main([*words, "--picture", str(out), "--device", "model"]) == 2
    assert "--picture: got --device model, want cpu" in capsys.readouterr().err


def test_lengths_and_files_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", "--simulations", "4"]
    for more, text in (
        (["--episodes", "0"], "--episodes: got 0, want at least 1"),
        (["--steps", "-1"], "--steps: got -1, want at least 1"),
        (["--record", str(tmp_path)], f"record: got {tmp_path}, want a file in a folder"),
        (["--record", str(tmp_path / "a" / "b")], "record: got "),
    ):
        assert main([*words, *more]) == 2 and text in capsys.readouterr().err
    with TreeSearch(Three, 4, 1, check=False) as search:
        with pytest.raises(ConfigError, match="steps: got 0"):
            search.play(steps=0)
        search.record(tmp_path / "a record")
        search.search(Three())
    tree = CpuTree(10, 3, 8, 1)
    assert replay(tmp_path / "a record", tree) == 4
    (tmp_path / "text").write_text("no recording")
    arrays: dict[str, Any] = {"version": np.array(1), "0.x": np.zeros(1)}
    np.savez(tmp_path / "list.npz", **arrays)
    for name, text in (
        ("nowhere", "got no recording"), ("text", "got no recording"), ("", "got no recording"),
        ("list.npz", "list 0: got x, want its requests"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            replay(tmp_path / name, tree)
