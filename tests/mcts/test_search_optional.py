"""Games of other packages, and workers on Ray; each test wants its package."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from jackdaw.errors import EnvError, EnvNotClonable
from jackdaw.search import Connect4Env, TreeSearch, adapt, check_clonable
from jackdaw.search.games.hidden import HiddenTree


class Unlucky(HiddenTree):
    """Raises in its third step."""

    def step(self, action: int) -> tuple[float, bool]:
        if self.steps == 2:
            raise OSError("no more")
        return super().step(action)


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "catch(rows=5)"])
def test_openspiel_games(name: str) -> None:
    """Copied, and searched; games with chance are refused."""
    pyspiel = pytest.importorskip("pyspiel")
    if name.startswith("catch"):
        with pytest.raises(EnvNotClonable, match="catch: got SEQUENTIAL, EXPLICIT_STOCHASTIC"):
            adapt(pyspiel.load_game(name))
        return
    make = partial(pyspiel.load_game, name)
    check_clonable(make)
    state = make().new_initial_state()
    with TreeSearch(make, 100, check=False) as search:
        for _ in range(3):
            action = search.act(state)
            assert action in state.legal_actions()
            state.apply_action(action)


def test_connect4_of_openspiel_is_ours(seed: int) -> None:
    """By the same moves: legal ones, ends, and who has won."""
    pyspiel = pytest.importorskip("pyspiel")
    rng = np.random.default_rng(seed)
    mine, theirs = Connect4Env(), adapt(pyspiel.load_game("connect_four"))
    for game in range(20):
        mine.reset(0)
        theirs.reset(0)
        while not mine.over:
            assert mine.legal() == theirs.legal()
            action = int(rng.choice([a for a in range(7) if mine.legal() >> a & 1]))
            assert mine.step(action) == theirs.step(action), game


@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
def test_pettingzoo_games(name: str) -> None:
    pytest.importorskip("pettingzoo")
    if name == "tictactoe":
        from pettingzoo.classic import tictactoe_v3 as game
    else:
        from pettingzoo.classic import connect_four_v3 as game
    check_clonable(game.env)
    env = game.env()
    env.reset(seed=1)
    with TreeSearch(game.env, 60, check=False) as search:
        for _ in range(2):
            action = search.act(env)
            assert env.observe(env.agent_selection)["action_mask"][action]
            env.step(action)


def test_ray_gives_what_processes_give(seed: int) -> None:
    """Also an environment's error, after which the search goes on."""
    pytest.importorskip("ray")
    found: list[Any] = []
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    for parallel in ("processes", "ray"):
        with TreeSearch(
            "CartPole-v1", 40, 4, parallel=parallel, processes=2, schedule="fixed", seed=seed,
            check=False,
        ) as search:  # fmt: skip
            found.append([search.search(env).values.tolist() for _ in range(2)])
    assert found[0] == found[1]
    with (
        TreeSearch(Unlucky, 60, 4, parallel="ray", processes=2, virtual_loss=0.1, check=False) as s,
        pytest.raises(EnvError, match="OSError: no more"),
    ):
        s.act(Unlucky())


def test_without_ray_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from jackdaw.extras import missing

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError) as caught:
        TreeSearch(HiddenTree, 8, parallel="ray")
    caught.value.name = "ray"
    assert missing(caught.value) == "ray is not installed: pip install 'jackdaw[ray]'"
