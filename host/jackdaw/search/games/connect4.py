"""Connect-4 as a search needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from jackdaw.environments.connect4 import COLUMNS, Connect4
from jackdaw.search.environment import SearchEnv


class Connect4Env(SearchEnv):
    """Connect-4: 1 for who has four in a row, -1 for the other one.

    Attributes:
        position: the game's state.
    """

    actions, state_size, players = COLUMNS, 16, 2

    def __init__(self, position: Connect4 | None = None) -> None:
        """Begin at a position, default the empty board."""
        self.position = position or Connect4()
        self.over = self.position.outcome is not None

    def reset(self, seed: int) -> None:
        """See SearchEnv; the board is empty whatever the seed."""
        self.position, self.over = Connect4(), False

    def save_into(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        buffer.view(np.uint64)[:] = self.position.mine, self.position.theirs

    def load_from(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        self.position = Connect4(*buffer.view(np.uint64).tolist())
        self.over = self.position.outcome is not None

    def legal(self) -> int:
        """See SearchEnv."""
        return self.position.legal

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv. Raises: ValueError for a column that takes no stone."""
        self.position = self.position.play(action)
        outcome = self.position.outcome
        self.over = outcome is not None
        return outcome or 0.0, self.over

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        """See SearchEnv; the game is played to its end, without a discount."""
        return self.position.rollout(rng)

    def take(self, foreign: Any) -> None:
        """See SearchEnv; a position is taken, too."""
        if isinstance(foreign, Connect4):
            self.position, self.over = foreign, foreign.outcome is not None
        else:
            super().take(foreign)
