"""Gomoku: two players put stones on a square board; a row of five or more wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from jackdaw.ranges import whole

MOST_SIZE = 16
PLANES = 4


@dataclass(frozen=True)
class Gomoku:
    """A position. Bit `row * size + column` of a board is a place, row 0 at the top.

    Attributes:
        size: rows and columns, 3..16.
        win: stones in a row that win, 3..size.
        mine: stones of the player to move.
        theirs: stones of the player who moved last.
        last: the last move, -1 before the first.
    """

    size: int = 15
    win: int = 5
    mine: int = 0
    theirs: int = 0
    last: int = -1

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, 3, MOST_SIZE))
        object.__setattr__(self, "win", whole("win", self.win, 3, self.size))

    @property
    def stones(self) -> int:
        """Stones on the board."""
        return (self.mine | self.theirs).bit_count()

    @property
    def legal(self) -> int:
        """Mask of the empty places; 0 when the game is over."""
        return 0 if self.outcome is not None else self._empty

    @property
    def _empty(self) -> int:
        return ((1 << self.size**2) - 1) & ~(self.mine | self.theirs)

    @property
    def outcome(self) -> float | None:
        """For the player who moved last: 1 won, 0 drawn; None while the game goes on."""
        if self.last >= 0 and self._won():
            return 1.0
        return None if self._empty else 0.0

    def _won(self) -> bool:
        """Whether the last stone is in a row of `win` or more."""
        n = self.size
        y, x = divmod(self.last, n)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                r, c = y + sign * down, x + sign * right
                while 0 <= r < n and 0 <= c < n and self.theirs >> r * n + c & 1:
                    count, r, c = count + 1, r + sign * down, c + sign * right
            if count >= self.win:
                return True
        return False

    def play(self, move: int) -> Gomoku:
        """Put a stone. Raises: ValueError for a move that is not legal."""
        if move < 0 or not self.legal >> move & 1:
            raise ValueError(f"move {move}: want an empty place of a game that goes on")
        return Gomoku(self.size, self.win, self.theirs, self.mine | 1 << move, move)

    def rollout(self, rng: np.random.Generator) -> float:
        """The outcome of random play from here, for the player who moved last: 1, 0 or -1."""
        if (outcome := self.outcome) is not None:
            return outcome
        empty = np.flatnonzero(bits(self._empty, self.size))
        rng.shuffle(empty)
        board = bits(self.theirs, self.size).astype(np.int8) - bits(self.mine, self.size)
        return float(_rollout(board, empty, self.size, self.win))

    def planes(self) -> np.ndarray:
        """What a network sees, [4, size, size] float32.

        Own stones, the opponent's stones, the last move, and ones if the first player is to move.
        """
        out = np.zeros((PLANES, self.size, self.size), np.float32)
        out[0] = bits(self.mine, self.size).reshape(self.size, self.size)
        out[1] = bits(self.theirs, self.size).reshape(self.size, self.size)
        if self.last >= 0:
            out[2].flat[self.last] = 1
        out[3] = self.stones % 2 == 0
        return out

    def __str__(self) -> str:
        """The board; x is the first player."""
        first, second = (self.mine, self.theirs)[:: 1 if self.stones % 2 == 0 else -1]
        marks = {(False, False): ".", (True, False): "x", (False, True): "o"}
        n = self.size
        return "\n".join(
            " ".join(
                marks[bool(first >> bit & 1), bool(second >> bit & 1)]
                for bit in range(row * n, row * n + n)
            )
            for row in range(n)
        )


def usual_win(size: int) -> int:
    """Stones in a row that win on a board of a size: four up to 8 x 8, else five."""
    return 4 if size <= 8 else 5


def bits(board: int, size: int) -> np.ndarray:
    """The bits of a board, [size * size] bool."""
    raw = np.frombuffer(board.to_bytes((size * size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(raw, count=size * size, bitorder="little").astype(bool)


def symmetries(planes: np.ndarray) -> np.ndarray:
    """The eight turned and mirrored forms of boards.

    Args:
        planes: [..., n, n].
    Returns: [8, ..., n, n]; form k is turned k % 4 times by 90 degrees, from 4 on mirrored first.
    """
    sides = (planes, planes[..., ::-1])
    return np.stack([np.rot90(side, turn, (-2, -1)) for side in sides for turn in range(4)])


@njit(cache=True)
def _rollout(board, order, size, win):  # type: ignore[no-untyped-def]
    """Play in an order from here; board is 1 where the last player's stones are, -1 elsewhere."""
    player = -1
    for move in order:
        board[move] = player
        y, x = move // size, move % size
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                r, c = y + sign * down, x + sign * right
                while 0 <= r < size and 0 <= c < size and board[r * size + c] == player:
                    count += 1
                    r += sign * down
                    c += sign * right
            if count >= win:
                return player
        player = -player
    return 0
