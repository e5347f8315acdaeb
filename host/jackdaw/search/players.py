"""Players of Gomoku, and matches between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from jackdaw.environments.gomoku import Gomoku
from jackdaw.ranges import whole, wholes
from jackdaw.search.dnn_tree import MOST_MOVE, MOST_PLAYOUTS, DnnTree, Found, TreeSettings
from jackdaw.search.evaluator import Evaluator, Rollouts

UCT_C = 1.0


class Player(Protocol):
    """Chooses moves."""

    name: str

    def choose(self, position: Gomoku, moves: Sequence[int]) -> int:
        """A legal move of a position that goes on; `moves` led to it."""

    def close(self) -> None:
        """End what the player holds."""


class RandomPlayer:
    """Any legal move, all alike."""

    name = "random"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, position: Gomoku, moves: Sequence[int]) -> int:
        """See Player."""
        legal = [m for m in range(position.size**2) if position.legal >> m & 1]
        return int(self._rng.choice(legal))

    def close(self) -> None:
        """See Player."""


class NetworkPlayer:
    """The move with the largest prior, without a search."""

    name = "network alone"

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def choose(self, position: Gomoku, moves: Sequence[int]) -> int:
        """See Player."""
        priors, _ = self._evaluator(position.planes()[None])
        return int(priors[0].argmax())

    def close(self) -> None:
        """See Player."""


class SearchPlayer:
    """The move with the most visits, without noise.

    The tree stays where a game goes on from the position it knows.

    Attributes:
        found: by the last search.
    """

    found: Found

    def __init__(
        self, settings: TreeSettings, evaluator: Evaluator, playouts: int, name: str = "search"
    ) -> None:
        """Begin with an empty tree.

        Args:
            settings: of the tree.
            evaluator: of its leaves.
            playouts: of a move.
            name: shown in results.
        """
        self.name, self.playouts = name, whole("playouts", playouts, 1, MOST_PLAYOUTS)
        self.tree = DnnTree(settings, evaluator)
        self._moves: list[int] = []

    def choose(self, position: Gomoku, moves: Sequence[int]) -> int:
        """See Player. Raises: EvaluatorError, SearchTimeout."""
        self.follow(moves)
        self.found = self.tree.search(self.playouts)
        return self.found.move

    def follow(self, moves: Sequence[int]) -> None:
        """Bring the tree to the position after these moves. Raises: ConfigError for one of them."""
        now = wholes("moves", moves, 0, MOST_MOVE, (None,)).tolist()
        known = len(self._moves)
        if now[:known] == self._moves and len(now) - known <= 2:
            for move in now[known:]:
                self.tree.advance(move)
                self._moves.append(move)
        else:
            self.tree.reset(now)
            self._moves = now

    def close(self) -> None:
        """End the tree's threads."""
        self.tree.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def uct_player(game: Gomoku, playouts: int = 1000, seed: int = 1) -> SearchPlayer:
    """Plain tree search: random games in place of a network."""
    settings = TreeSettings(game.size, game.win, rule="uct", c=UCT_C, seed=seed)
    return SearchPlayer(settings, Rollouts(), playouts, f"UCT with {playouts} random games")


@dataclass(frozen=True)
class Score:
    """A match, from the first player's side.

    Attributes:
        won, drawn, lost: games.
    """

    won: int
    drawn: int
    lost: int

    @property
    def games(self) -> int:
        """All of them."""
        return self.won + self.drawn + self.lost

    @property
    def rate(self) -> float:
        """Share of the points; a draw is half of one."""
        return (self.won + self.drawn / 2) / self.games

    def __str__(self) -> str:
        return f"{self.won} won, {self.drawn} drawn, {self.lost} lost"


def match(
    first: Player, second: Player, game: Gomoku, games: int, rng: np.random.Generator,
    opening: int = 2,
) -> Score:  # fmt: skip
    """Play games; each random opening is played twice, with sides changed.

    Args:
        first: a player.
        second: the other one.
        game: the position before the first move.
        games: how many.
        rng: of the openings.
        opening: random stones before the players' own moves.
    Raises: ConfigError.
    """
    whole("games", games, 1)
    points, begun = {1.0: 0, 0.0: 0, -1.0: 0}, list[int]()
    for number in range(games):
        if number % 2 == 0:
            begun = rng.permutation(game.size**2)[:opening].tolist()
        order = (first, second) if number % 2 == 0 else (second, first)
        result = play(order, game, begun)
        points[result if number % 2 == 0 else -result] += 1
    return Score(points[1.0], points[0.0], points[-1.0])


def play(players: tuple[Player, Player], game: Gomoku, opening: Sequence[int] = ()) -> float:
    """Play one game. Returns: for the player who moves after the opening: 1 won, 0 drawn, -1."""
    position, moves, turn = game, list(opening), 0
    for move in opening:
        position = position.play(move)
    while (outcome := position.outcome) is None:
        move = players[turn % 2].choose(position, moves)
        position = position.play(move)
        moves.append(move)
        turn += 1
    return outcome if turn % 2 else -outcome
