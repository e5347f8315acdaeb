"""Connect-4: seven columns of six places; four stones in a row win."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

COLUMNS, ROWS = 7, 6
HEIGHT = ROWS + 1  # bits of a column; the top one is always empty
BOTTOM = sum(1 << HEIGHT * column for column in range(COLUMNS))
COLUMN = (1 << ROWS) - 1  # the places of column 0
FULL = BOTTOM * COLUMN


@dataclass(frozen=True)
class Connect4:
    """A position. Bit `7 * column + row` is a place, row 0 at the bottom.

    Attributes:
        mine: stones of the player to move.
        theirs: stones of the player who moved last.
    """

    mine: int = 0
    theirs: int = 0

    @property
    def legal(self) -> int:
        """Mask of the columns that take a stone; 0 when the game is over."""
        if self.outcome is not None:
            return 0
        free = (self.mine | self.theirs) + BOTTOM & FULL
        return sum(1 << c for c in range(COLUMNS) if free & COLUMN << HEIGHT * c)

    @property
    def outcome(self) -> float | None:
        """For the player who moved last: 1 won, 0 drawn; None while the game goes on."""
        if _four(self.theirs):
            return 1.0
        return 0.0 if self.mine | self.theirs == FULL else None

    def play(self, column: int) -> Connect4:
        """Drop a stone. Raises: ValueError for a column that takes none."""
        if not self.legal >> column & 1:
            raise ValueError(f"column {column}: want one of mask {self.legal:#b}")
        place = (self.mine | self.theirs) + BOTTOM & COLUMN << HEIGHT * column
        return Connect4(self.theirs, self.mine | place)

    def rollout(self, rng: np.random.Generator) -> float:
        """The outcome of random play from here, for the player who moved last: 1, 0 or -1."""
        return float(_rollout(self.mine, self.theirs, int(rng.integers(1, 1 << 62))))

    def __str__(self) -> str:
        """The board; x is the player to move."""
        marks = {(False, False): ".", (True, False): "x", (False, True): "o"}
        return "\n".join(
            " ".join(
                marks[bool(self.mine >> bit & 1), bool(self.theirs >> bit & 1)]
                for bit in range(row, HEIGHT * COLUMNS, HEIGHT)
            )
            for row in reversed(range(ROWS))
        )


@njit(cache=True)
def _four(stones):  # type: ignore[no-untyped-def]
    """Whether four stones are in a row: upwards, along, or on either diagonal."""
    for step in (1, HEIGHT, HEIGHT - 1, HEIGHT + 1):
        pairs = stones & stones >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


@njit(cache=True)
def _rollout(mine, theirs, state):  # type: ignore[no-untyped-def]
    """Random play; the state of the generator is 63 bits, not 0."""
    sign = 1
    while True:
        if _four(theirs):
            return sign
        stones = mine | theirs
        if stones == FULL:
            return 0
        free = stones + BOTTOM & FULL
        count = 0
        for column in range(COLUMNS):
            count += (free & COLUMN << HEIGHT * column) != 0
        state ^= state << 13 & 0x7FFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= state << 17 & 0x7FFFFFFFFFFFFFFF
        chosen = (state >> 20) % count
        for column in range(COLUMNS):
            place = free & COLUMN << HEIGHT * column
            if place:
                if chosen == 0:
                    mine, theirs = theirs, mine | place
                    break
                chosen -= 1
        sign = -sign
