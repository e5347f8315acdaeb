"""Predator-Prey: rules as properties of random play, both interfaces."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackdaw.environments import TEAMS, make_team
from jackdaw.environments.predator_prey import (
    ACTIONS,
    AGENTS,
    PREY,
    ParallelGame,
    PredatorPrey,
    PredatorPreyGrid,
    PredatorPreyParticle,
)
from jackdaw.errors import ConfigError

GAMES = sorted(TEAMS)
MOVES = np.array([(-1, 0), (0, 1), (1, 0), (0, -1), (0, 0)])  # up, right, down, left, stay
PENALTY, REACH = -0.05, 0.1
SEEDS = st.integers(0, 2**31 - 1)
PLAYS = settings(max_examples=20, deadline=None)


def grids() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({
        "dim": st.integers(3, 7), "agents": st.integers(1, 5), "vision": st.integers(0, 2),
        "steps": st.integers(1, 12), "num_envs": st.integers(1, 4),
    })  # fmt: skip


def actions(game: PredatorPrey, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, ACTIONS, (game.num_envs, game.agents))


@PLAYS
@given(grids(), SEEDS)
def test_the_rules_of_the_grid_hold(sizes: dict[str, Any], seed: int) -> None:
    game, rng = PredatorPreyGrid(**sizes), np.random.default_rng(seed)
    seen, _ = game.reset(seed=seed)
    cells = np.concatenate([game.position, game.prey[:, None]], axis=1)
    for episode in cells:
        assert len({tuple(cell) for cell in episode.tolist()}) == game.agents + 1
    prey = game.prey.copy()
    for step in range(1, game.steps + 1):
        before, reached, ended = game.position.copy(), game.reached.copy(), game.ended.copy()
        chosen = actions(game, rng)
        seen, rewards, terminated, truncated, info = game.step(chosen)
        assert np.array_equal(game.prey, prey)
        wanted = np.clip(before + MOVES[chosen], 0, game.dim - 1)
        free = ~ended[:, None] & ~reached
        assert np.array_equal(game.position, np.where(free[..., None], wanted, before))
        there = (game.position == prey[:, None]).all(axis=-1)
        assert np.array_equal(there, game.reached)
        assert not (reached & ~game.reached).any()
        live = ~ended[:, None]
        assert np.array_equal(rewards, np.where(live & ~there, np.float32(PENALTY), 0))
        assert np.array_equal(terminated, there.all(axis=1))
        assert np.array_equal(info["success"], terminated)
        assert np.array_equal(truncated, ~terminated & (step == game.steps))
        assert game.observation_space.contains(seen)
        check_grid(game, seen)
    check_end(game, rng)


def check_end(game: PredatorPrey, rng: np.random.Generator) -> None:
    """After the last step nothing moves and nothing is earned."""
    assert game.ended.all()
    before, elapsed = game.get_state(), game.elapsed.copy()
    seen = game._observe()
    after, rewards, *_ = game.step(actions(game, rng))
    assert np.array_equal(after, seen) and not rewards.any()
    assert np.array_equal(game.elapsed, elapsed)
    for name in game.OWN:
        assert np.array_equal(getattr(game, name), before[name]), name


def check_grid(game: PredatorPreyGrid, seen: np.ndarray) -> None:
    """What agents see, cell by cell."""
    v, dim = game.vision, game.dim
    for b in range(game.num_envs):
        for a, (row, column) in enumerate(game.position[b].tolist()):
            one = seen[b, a]
            if not v:
                assert one[: dim * dim].argmax() == row * dim + column
                assert one[: dim * dim].sum() == 1
                view = one[dim * dim + 1 :].reshape(1, 1, 3)
            else:
                assert one[:dim].argmax() == row and one[dim : 2 * dim].argmax() == column
                assert one[: 2 * dim].sum() == 2
                view = one[2 * dim :].reshape(2 * v + 1, 2 * v + 1, 3)
            for (i, j), cell in np.ndenumerate(np.empty(view.shape[:2])):
                del cell
                place = [row + i - v, column + j - v]
                outside = not all(0 <= p < dim for p in place)
                prey = game.prey[b].tolist() == place
                there = sum(p == place for p in game.position[b].tolist())
                assert view[i, j].tolist() == [outside, prey, there]


@PLAYS
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 20), SEEDS)
def test_the_rules_of_particles_hold(agents: int, episodes: int, steps: int, seed: int) -> None:
    game, rng = PredatorPreyParticle(episodes, agents, steps), np.random.default_rng(seed)
    seen, _ = game.reset(seed=seed)
    assert not game.velocity.any()
    prey = game.prey.copy()
    for _ in range(steps):
        before, ended = game.position.copy(), game.ended.copy()
        seen, rewards, terminated, truncated, _ = game.step(actions(game, rng))
        assert np.array_equal(game.prey, prey)
        assert (game.position >= 0).all() and (game.position <= 1).all()
        assert np.array_equal(game.position[ended], before[ended])
        moved = (game.position - before)[~ended]
        wall = ((game.position == 0) | (game.position == 1))[~ended]
        assert np.allclose(moved[~wall], 0.1 * game.velocity[~ended][~wall], atol=1e-6)
        assert not game.velocity[~ended][wall & (moved == 0)].any()
        away = np.linalg.norm((game.position - prey[:, None]).astype(np.float64), axis=-1)
        there = np.linalg.norm(game.position - prey[:, None], axis=-1) <= REACH
        sure = np.abs(away - REACH) > 1e-6
        want = np.where(~ended[:, None] & ~there, np.float32(PENALTY), 0)
        assert np.array_equal(rewards[sure], want[sure])
        assert game.width == 2 * agents + 4 and game.observation_space.contains(seen)
        assert np.array_equal(seen[..., :2], game.velocity)
        assert np.array_equal(seen[..., 2:4], game.position)
        assert np.allclose(seen[..., 4:6], prey[:, None] - game.position)
        if agents > 1:
            assert np.allclose(seen[:, 0, 6:8], game.position[:, 1] - game.position[:, 0])
            assert np.allclose(seen[:, 1, 6:8], game.position[:, 0] - game.position[:, 1])
    assert (game.ended).all() and (terminated ^ truncated).all()
    check_end(game, rng)


@pytest.mark.parametrize("action", range(ACTIONS))
def test_a_force_moves_a_particle_as_its_name_says(action: int) -> None:
    """Up, right, down, left, none: 2.5 for a step of 0.1, after a quarter of the velocity."""
    game = PredatorPreyParticle(1, 1)
    game.reset(seed=0)
    game.position[:], game.velocity[:], game.prey[:] = 0.5, 0.2, 0.0
    game.step(np.array([[action]]))
    force = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)])[action] * 0.25
    assert np.allclose(game.velocity[0, 0], 0.15 + force, atol=1e-6)
    assert np.allclose(game.position[0, 0], 0.5 + 0.1 * (0.15 + force), atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_a_function_of_its_seed(name: str) -> None:
    def trace(seed: int) -> list[np.ndarray]:
        game, rng = make_team(name, 3), np.random.default_rng(4)
        out = [game.reset(seed=seed)[0]]
        for _ in range(5):
            out.append(game.step(actions(game, rng))[0])
        return out

    first, same, other = trace(1), trace(1), trace(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("name", GAMES)
def test_a_state_goes_on(name: str) -> None:
    game, rng = make_team(name, 4), np.random.default_rng(5)
    game.reset(seed=3)
    for _ in range(3):
        game.step(actions(game, rng))
    other = make_team(name, 4)
    other.set_state(game.get_state())
    for _ in range(3):
        chosen = actions(game, rng)
        for a, b in zip(game.step(chosen)[:4], other.step(chosen)[:4], strict=True):
            assert np.array_equal(a, b)
    assert np.array_equal(game.reset()[0], other.reset()[0])


@pytest.mark.parametrize("name", GAMES)
def test_some_episodes_begin_anew(name: str) -> None:
    game, rng = make_team(name, 4), np.random.default_rng(5)
    seen, _ = game.reset(seed=3)
    while not game.ended.all():
        seen, *_ = game.step(actions(game, rng))
    mask = np.array([True, False, False, True])
    after, _ = game.reset(options={"reset_mask": mask})
    assert np.array_equal(after[~mask], seen[~mask]) and not game.ended[mask].any()
    assert game.ended[~mask].all() and not game.elapsed[mask].any()


@pytest.mark.parametrize("name", GAMES)
def test_gymnasium_makes_a_game(name: str) -> None:
    game: Any = gymnasium.make_vec(name, num_envs=2, vectorization_mode="vector_entry_point")
    seen, _ = game.reset(seed=0)
    settings_ = TEAMS[name][1]
    assert seen.shape == (2, settings_["agents"], game.single_observation_space.shape[1])
    assert seen.dtype == np.float32
    step = game.step(game.action_space.sample())
    assert step[1].shape == (2, settings_["agents"])
    game.close()


def test_sizes_are_those_of_the_publication() -> None:
    assert [make_team(name, 1).width for name in GAMES] == [29, 47, 10]


@pytest.mark.parametrize("name", GAMES)
def test_a_picture_shows_prey_and_agents_where_they_are(name: str) -> None:
    game = make_team(name, 2, "rgb_array")
    game.reset(seed=1)
    places = np.array([[k, 2 * k + 1] for k in range(game.agents + 1)])
    if isinstance(game, PredatorPreyGrid):
        places %= game.dim
    else:  # the first number goes to the right, the second up
        places = places / 10 + 0.05
    game.position[1], game.prey[1] = places[1:], places[0]  # type: ignore[attr-defined]
    first, image = game.render() or ()
    assert image.dtype == np.uint8 and image.shape[2] == 3 and not np.array_equal(first, image)
    for place, color in zip(places, [PREY, *AGENTS], strict=False):
        there = np.argwhere((image == color).all(axis=-1))
        if isinstance(game, PredatorPreyGrid):
            assert len(there) > 40 and (there // 40 == place).all()
        else:
            middle = there.mean(axis=0) / (len(image) - 1)
            assert np.abs(middle - [1 - place[1], place[0]]).max() < 0.01
    assert make_team(name, 1).render() is None


def test_agents_in_one_cell_are_all_seen() -> None:
    game = PredatorPreyGrid(1, render_mode="rgb_array")
    game.reset(seed=1)
    game.position[0] = game.prey[0]
    (image,) = game.render() or ()
    for color in (PREY, *AGENTS[: game.agents]):
        assert (image == color).all(axis=-1).sum() > 40


def test_wrong_arguments_are_refused() -> None:
    game = PredatorPreyGrid(2)
    game.reset(seed=0)
    for bad in (
        np.zeros((2, 2), int), np.zeros((0, 3)), np.full((2, 3), 5), np.full((2, 3), -1),
        np.full((2, 3), np.nan), np.full((2, 3), 0.5),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="actions"):
            game.step(bad)
    game.step(np.ones((2, 3)))  # whole numbers of any type
    for call in (
        lambda: PredatorPreyGrid(0),
        lambda: PredatorPreyGrid(dim=2, agents=4),
        lambda: PredatorPreyGrid(vision=-1),
        lambda: PredatorPreyParticle(steps=0),
    ):
        with pytest.raises(ValueError, match="got"):
            call()
    with pytest.raises(ValueError, match="reset_mask"):
        game.reset(options={"reset_mask": [True]})
    parallel = ParallelGame()
    parallel.reset(seed=0)
    with pytest.raises(ValueError, match="none of predator_1, predator_2"):
        parallel.step({"predator_0": 0})
    with pytest.raises(ConfigError, match="PredatorPrey-v0"):
        make_team("CartPole-v1", 1)


# ---- PettingZoo's parallel API ----
@pytest.mark.parametrize("name", GAMES)
def test_the_parallel_game_is_the_game_of_one_episode(name: str) -> None:
    parallel, game = ParallelGame(name), make_team(name, 1)
    seen, infos = parallel.reset(seed=9)
    want, _ = game.reset(seed=9)
    rng = np.random.default_rng(2)
    assert parallel.agents == parallel.possible_agents and set(infos) == set(parallel.agents)
    steps = 0
    while parallel.agents:
        names = list(parallel.agents)
        for agent, row in zip(names, want[0], strict=True):
            assert np.array_equal(seen[agent], row)
            assert parallel.observation_space(agent).contains(seen[agent])
        assert np.array_equal(parallel.state(), want.reshape(-1))
        chosen = actions(game, rng)
        moves = dict(zip(names, chosen[0].tolist(), strict=True))
        assert all(parallel.action_space(a).contains(move) for a, move in moves.items())
        seen, rewards, terminated, truncated, infos = parallel.step(moves)
        want, r, end, cut, info = game.step(chosen)
        assert list(rewards.values()) == r[0].tolist()
        assert set(terminated.values()) == {bool(end[0])}
        assert set(truncated.values()) == {bool(cut[0])}
        assert {i["success"] for i in infos.values()} == {bool(info["success"][0])}
        steps += 1
    assert steps == game.elapsed[0] and parallel.step({}) == ({}, {}, {}, {}, {})


@pytest.mark.parametrize("name", GAMES)
def test_pettingzoos_own_test_passes(name: str) -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    parallel_api_test(ParallelGame(name), num_cycles=100)
    parallel_seed_test(lambda: ParallelGame(name))
