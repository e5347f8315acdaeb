"""The rules of Gomoku, as plainly as they can be said: the whole board is read after every move.

Source: thesis 5.2.3 names the game. Five or more stones in a row win, no move is forbidden, and a
full board is a draw.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass
class Rules:
    """A game in progress.

    Attributes:
        size: rows and columns, n.
        win: stones in a row that win.
        board: [n][n]: 0 empty, 1 and 2 the stones of the first and the second player.
        moves: so far; row * n + column.
    """

    size: int
    win: int
    board: list[list[int]] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board = [[0] * self.size for _ in range(self.size)]
        for number, move in enumerate(self.moves):
            self.board[move // self.size][move % self.size] = number % 2 + 1

    def play(self, move: int) -> None:
        """Put a stone. Raises: ValueError for a move that is not legal."""
        if move not in self.legal():
            raise ValueError(f"move {move}: want one of {self.legal()}")
        self.board[move // self.size][move % self.size] = len(self.moves) % 2 + 1
        self.moves.append(move)

    def legal(self) -> list[int]:
        """The moves, in rising order; none when the game is over."""
        if self.outcome() is not None:
            return []
        n = self.size
        return [m for m in range(n * n) if not self.board[m // n][m % n]]

    def outcome(self) -> float | None:
        """For the player who moved last: 1 won, 0 drawn; None while the game goes on."""
        last = 2 - len(self.moves) % 2
        if any(self._row(last, r, c, *d) for r in range(self.size) for c in range(self.size)
               for d in DIRECTIONS):  # fmt: skip
            return 1.0
        return 0.0 if len(self.moves) == self.size**2 else None

    def _row(self, player: int, r: int, c: int, down: int, right: int) -> bool:
        """Whether a winning row of a player begins at a place."""
        for k in range(self.win):
            y, x = r + k * down, c + k * right
            if not (0 <= y < self.size and 0 <= x < self.size and self.board[y][x] == player):
                return False
        return True
