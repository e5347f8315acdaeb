"""Searches of Atari's games as lists for the mcts engine's benchmark.

A search of the compiled tree plays a game from its start and is recorded; the golden tree executes
the same lists. Workers take turns, half of them at a time.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import gymnasium
import numpy as np

from jackdaw.search.environment import maker
from jackdaw.search.tree_search import TreeSearch, recorded
from models.mcts.banks import ALGORITHM_2
from models.mcts.formats import REQUEST, RESPONSE, Flag, Geometry, Op
from models.mcts.tables import RULES
from models.mcts.traces import Search, Shape

GAMES = {"Carnival": 6, "Pong": 6, "Alien": 18}  # with their actions
HORIZON = 10  # steps of a roll-out
NAMES = [name for name in RESPONSE.names or () if name != "stamp"]


def searched(
    game: str, g: Geometry, nodes: int, workers: int, group: int, policy: int = ALGORITHM_2
) -> Search:
    """A golden tree that has executed the lists of a game's search.

    Args:
        game: of GAMES.
        g: the build; it has the game's actions.
        nodes: of the tree at most, one for each simulation.
        workers: of the search.
        group: iterations of a list.
        policy: how banks are given.
    Raises: ValueError for a build with fewer children; RuntimeError for a response that the golden
        tree does not give.
    """
    if g.f < GAMES[game]:
        raise ValueError(f"{game}: got F={g.f}, want {GAMES[game]} or more")
    head, *lists = _lists(game, g.d, nodes, workers, group)
    rule, c, vl, *_, legal = head["settings"].tolist()
    shape = Shape(RULES[int(rule)], c, vl, 0.0, 0.0, 0.0)
    search = Search(shape, g, policy)
    start = np.zeros(2, REQUEST)
    start["op"], start["flags"], start["legal"] = (Op.RESET, Op.ROOT), (0, Flag.ACT), (0, legal)
    search.run(start)
    for one in lists:
        part = search.run(one["requests"])
        if part.responses[NAMES].tolist() != one["responses"][NAMES].tolist():
            raise RuntimeError(f"{game}: the golden tree's responses are not the compiled one's")
    return search


@cache
def _lists(game: str, levels: int, nodes: int, workers: int, group: int) -> list[dict]:
    name = f"ALE/{game}-v5"
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.npz"
        with TreeSearch(
            name, nodes - 1, workers, schedule="fixed", batch=group, horizon=HORIZON,
            levels=levels, check=False, seed=1,
        ) as search:  # fmt: skip
            search.record(path)
            env = maker(name)()
            env.reset(seed=1)
            search.search(env)
            env.close()
        return list(recorded(path))
