"""Connect-4, and searches of it on the golden model, on other trees and by a plain loop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flow.effort import scale
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings
from jackdaw.environments.connect4 import COLUMNS, ROWS, Connect4
from jackdaw.search import Connect4Env, TreeSearch, decide
from jackdaw.search.master import Found, Master, Statistics
from jackdaw.search.pool import SerialPool
from jackdaw.search.simulation import Rules, Simulator, StateTable
from jackdaw.search.trees import CpuTree
from models.mcts.reference import ReferenceTree
from models.mcts.tables import LEFT_EDGES, curves, encode_g, encode_r

C, LOSS, LEVELS = 0.7, 0.05, 8


# ---- The game
DRAWN = "405515235156130513220106624231403634062464"
WON_LAST = "046130344361335540635544565662120102012122"  # by the last stone of a full board


def columns(game: str) -> list[int]:
    return [int(column) for column in game]


@given(moves=st.lists(st.integers(0, COLUMNS - 1), max_size=42))
@example(moves=columns(DRAWN + "0"))
@example(moves=columns(WON_LAST + "0"))
@example(moves=[3] * 7)
def test_connect4_is_the_game_of_arrays(moves: list[int]) -> None:
    """Against boards as arrays, on which four in a row are looked for cell by cell."""
    position, board = Connect4(), np.zeros((COLUMNS, ROWS), int)
    for turn, column in enumerate(moves):
        heights = (board != 0).sum(1)
        won = any(
            (board[cells] == 2 - turn % 2).all() for cells in LINES
        )  # the player who moved last
        full = bool((heights == ROWS).all())
        assert position.outcome == (1.0 if won else 0.0 if full else None)
        legal = [c for c in range(COLUMNS) if heights[c] < ROWS and not won]
        assert position.legal == sum(1 << c for c in legal)
        if column not in legal:
            with pytest.raises(ValueError, match=f"column {column}: want one of mask"):
                position.play(column)
            return
        position = position.play(column)
        board[column, heights[column]] = 1 + turn % 2
        assert str(position).count("o") == (board == 1 + turn % 2).sum()


def lines() -> list[tuple[list[int], list[int]]]:
    found = []
    for column in range(COLUMNS):
        for row in range(ROWS):
            for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
                cells = [(column + k * right, row + k * up) for k in range(4)]
                if all(0 <= c < COLUMNS and 0 <= r < ROWS for c, r in cells):
                    found.append(([c for c, _ in cells], [r for _, r in cells]))
    return found


LINES = lines()


def test_four_in_a_row_win(seed: int) -> None:
    """Each line alone; stones at random win where one of the lines is among them."""

    def stones(cells: np.ndarray) -> int:
        return sum(1 << (ROWS + 1) * int(c) + int(r) for c, r in np.argwhere(cells))

    rng = np.random.default_rng(seed)
    for line in LINES:
        board = np.zeros((COLUMNS, ROWS), bool)
        board[line] = True
        assert Connect4(theirs=stones(board)).outcome == 1.0
        board[line[0][1], line[1][1]] = False
        assert Connect4(theirs=stones(board)).outcome is None
        board = rng.random((COLUMNS, ROWS)) < 0.4
        won = any(board[line].all() for line in LINES)
        assert Connect4(theirs=stones(board)).outcome == (1.0 if won else None)


def test_connect4_draws_its_board() -> None:
    position = Connect4().play(3).play(3).play(0)
    assert str(position).splitlines()[-2:] == [". . . x . . .", "o . . o . . ."]


def test_rollouts_are_played_to_the_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = [Connect4().rollout(rng) for _ in range(1200)]
    assert set(found) <= {-1.0, 0.0, 1.0} and abs(np.mean(found)) < 0.4
    won = Connect4().play(0).play(1).play(0).play(1).play(0).play(1).play(0)
    assert won.outcome == 1.0 == won.rollout(rng)
    for game, outcome in ((DRAWN, 0.0), (WON_LAST, -1.0)):  # one stone before the end
        position = Connect4()
        for column in columns(game[:-1]):
            position = position.play(column)
        assert position.outcome is None and position.rollout(rng) == outcome
    open_three = Connect4().play(0).play(6).play(1).play(6).play(2)
    assert np.mean([open_three.rollout(rng) for _ in range(1200)]) > np.mean(found) + 0.2


# ---- Searches
@dataclass
class Place:
    """A node of the plain loop: a position, and what its parent knows of it."""

    position: Connect4
    n: int = 0
    w: int = 0
    children: dict[int, Place] = field(default_factory=dict)
    legal: list[int] = field(default_factory=list)


def simulator(ids: int, workers: int, seed: int) -> Simulator:
    """Random play, and a table of states."""
    return Simulator(Connect4Env(), StateTable(ids + workers, 16), Rules(seed, 100, 1.0))


def search(
    tree: Any, ids: int, workers: int, position: Connect4, iterations: int, seed: int
) -> tuple[Found, Statistics]:
    """A search in turns of half the workers."""
    one = simulator(ids, workers, seed)
    one.env.take(position)
    one.root()
    master = Master(
        tree, SerialPool(one), one._table, workers=workers, ids=ids, schedule="fixed", players=2
    )
    return master.run(position.legal, iterations), master.statistics


def plain_uct(position: Connect4, iterations: int, seed: int) -> Place:
    """Sequential UCT in a loop of its own, with the engine's tables and rounding."""
    random = simulator(1, 1, seed)
    g, r = curves("uct", C)
    g_words, r_words = encode_g(g).tolist(), encode_r(r).tolist()

    def entry(count: int) -> int:
        return int(np.searchsorted(LEFT_EDGES, count, side="right")) - 1

    def score(place: Place, action: int) -> float:
        child = place.children.get(action)
        if child is None:
            return math.inf
        visits = sum(other.n for other in place.children.values())
        word = g_words[entry(visits)]
        bonus = (word & 0x1FFFF) * r_words[entry(child.n)] * 2 ** (word >> 20) // 2**21
        return child.w // child.n + bonus

    top = Place(position, legal=[a for a in range(COLUMNS) if position.legal >> a & 1])
    for number in range(iterations):
        path, here = [top], top
        while here.legal and len(path) < LEVELS:
            action = max(here.legal, key=lambda a: (score(here, a), -a))
            new = action not in here.children
            if new:
                after = here.position.play(action)
                legal = [a for a in range(COLUMNS) if after.legal >> a & 1]
                here.children[action] = Place(after, legal=legal)
            here = here.children[action]
            path.append(here)
            if new:
                break
        outcome = here.position.outcome
        if outcome is None:
            outcome = here.position.rollout(random.generator(number))
        value = round(outcome * 2**20)
        for height, place in enumerate(reversed(path)):
            place.n += 1
            place.w += value if height % 2 == 0 else -value
    return top


def test_a_search_of_one_worker_is_sequential_uct(seed: int) -> None:
    """Through the driver on the device `model`; equal to the bit."""
    position = Connect4()
    with open_device("model", "mcts_demo") as device:
        mcts = Mcts(device)
        mcts.configure(MctsSettings(c=C, vl=0.0, f_act=COLUMNS, d_act=LEVELS))
        for move in range(3):
            found, _ = search(mcts, mcts.geometry.x, 1, position, 150, seed + move)
            want = plain_uct(position, 150, seed + move)
            n = [want.children[a].n if a in want.children else 0 for a in range(COLUMNS)]
            w = [want.children[a].w if a in want.children else 0 for a in range(COLUMNS)]
            assert found.visits[:COLUMNS].tolist() == n
            assert (found.values[:COLUMNS] * 2**20).tolist() == w
            position = position.play(decide(found.visits, found.values, by_mean=False))


def test_a_search_of_many_workers_is_the_same_on_all_trees(seed: int) -> None:
    """Engine, compiled and plain; also with a full tree, and turns of different sizes.

    A tree of three levels has 57 nodes: 80 ids do for it, if ids without a node come back.
    """
    with open_device("model", "mcts_demo") as device:
        mcts = Mcts(device, queue_log2=4)
        for workers, ids, levels in ((8, 512, 8), (7, 40, 8), (16, 80, 3)):
            settings = MctsSettings(c=C, vl=LOSS, f_act=COLUMNS, d_act=levels)
            compiled = CpuTree(ids, COLUMNS, LEVELS, workers)
            for tree in (mcts, compiled):
                tree.configure(settings)
            plain = ReferenceTree("uct", C, vl=LOSS, d_act=levels)
            runs = [
                search(tree, ids, workers, Connect4(), 200, seed)
                for tree in (mcts, compiled, plain)
            ]
            for found, statistics in runs[1:]:
                assert found.visits[:COLUMNS].tolist() == runs[0][0].visits[:COLUMNS].tolist()
                assert found.values[:COLUMNS].tolist() == runs[0][0].values[:COLUMNS].tolist()
                assert statistics.codes == runs[0][1].codes
                assert statistics.nodes == runs[0][1].nodes
            statistics = runs[0][1]
            assert runs[0][0].visits.sum() == 200 == sum(statistics.codes.values())
            assert (statistics.codes["NOINS"] > 0) == (ids == 40)
            assert (statistics.codes["LEAF"] > 0) == (levels == 3)


@pytest.mark.parametrize(
    ("visits", "values", "most", "mean"),
    [
        ([3, 2, 1], [0, 2, 1], 0, 1),
        ([2, 3, 3, 3], [2, 1, 2, 2], 2, 0),
        ([0, 1, 1], [0, -1, -0.5], 2, 2),
        ([40, 9, 40], [20, 9, 20], 0, 0),  # 9 visits are too few to go by their mean
        ([40, 10, 40], [20, 9, 20], 0, 1),
        ([2, 4, 4, 0], [1, 2, 2, 0], 1, 1),
    ],
)
def test_an_action_is_chosen_by_visits_or_by_means(
    visits: list[int], values: list[float], most: int, mean: int
) -> None:
    """By the most visits, then the mean; by the mean of much-visited children, then visits."""
    assert decide(np.array(visits), np.array(values), by_mean=False) == most
    assert decide(np.array(visits), np.array(values), by_mean=True) == mean


def test_a_search_in_floats_chooses_alike(seed: int) -> None:
    """The same action, or one within 2 % of the visits of its best."""
    for run in range(scale(100, 6)):
        (exact, _), (floats, _) = (
            search(
                ReferenceTree("uct", C, vl=LOSS, d_act=LEVELS, exact=exact), 512, 4,
                Connect4().play(run % 7), 150, seed + run,
            )
            for exact in (True, False)
        )  # fmt: skip
        chosen = decide(exact.visits, exact.values, by_mean=False)
        assert floats.visits[chosen] >= floats.visits.max() - 0.02 * 150, run


def test_searches_beat_random_play(seed: int) -> None:
    """Games against a player of random columns, who begins every second one."""
    rng, score = np.random.default_rng(seed), 0.0
    games = scale(40, 4)
    with TreeSearch(
        Connect4Env, 100, device="model", c=C, virtual_loss=LOSS, seed=seed, check=False
    ) as player:
        for game in range(games):
            position, turn = Connect4(), game % 2
            while position.outcome is None:
                legal = [a for a in range(COLUMNS) if position.legal >> a & 1]
                chosen = player.act(position) if turn else rng.choice(legal)
                position, turn = position.play(int(chosen)), 1 - turn
            won = position.outcome * (1 if turn == 0 else -1)  # the search moved last, or not
            score += won / 2 + 0.5
    assert score >= 0.9 * games


def test_a_search_finds_a_win_and_stops_one(seed: int) -> None:
    """The last edge's player wins at once; the other's open row is closed."""
    three = Connect4().play(0).play(6).play(1).play(6).play(2)  # o has 0, 1, 2; x is to move
    with TreeSearch(
        Connect4Env, scale(400, 200), device="model", c=C, virtual_loss=LOSS, seed=seed, check=False
    ) as player:
        assert player.act(three) == 3
        before = player.statistics.codes["TERMINAL"]
        assert player.act(three.play(5)) == 3
        assert player.statistics.codes["TERMINAL"] > before
