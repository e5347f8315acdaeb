"""AlphaZero's search as textbooks have it: one playout at a time, on the plain rules.

It defines what `host/jackdaw/search/native/dnn_tree.cpp` must compute with one worker, to the bit.

Source: thesis 5.2; Silver et al., "Mastering the game of Go without human knowledge", 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from models.gomoku.rules import Rules

WORD_BITS = 64
MASK = (1 << WORD_BITS) - 1
Evaluate = Callable[[Rules], tuple[np.ndarray, float]]


@dataclass
class Node:
    """A position in the tree.

    Attributes:
        moves: legal ones, rising.
        priors: of the moves, binary32.
        visits, values: of the moves; the sum of values is for the player who moves here.
        children: of the moves that were played.
    """

    moves: list[int]
    priors: list[float]
    visits: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    children: dict[int, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.visits, self.values = [0] * len(self.moves), [0.0] * len(self.moves)


class Textbook:
    """A search with one worker.

    Args:
        size, win: of the game.
        evaluate: a position to priors of all places, [n * n] float32, and the value for the player
            to move.
        c: weight of the priors.
    """

    def __init__(self, size: int, win: int, evaluate: Evaluate, c: float = 5.0) -> None:
        self.size, self.win, self.evaluate, self.c = size, win, evaluate, c
        self.moves: list[int] = []
        self.root: Node | None = None

    def advance(self, move: int) -> None:
        """Play a move; the tree below it stays."""
        index = self.root.moves.index(move) if self.root else -1
        self.root = self.root.children.get(index) if self.root else None
        self.moves.append(move)

    def search(
        self, playouts: int, noise: np.ndarray | None = None, weight: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add playouts.

        Args:
            playouts: how many.
            noise: [n * n], mixed into the root's priors with the weight.
        Returns: visits [n * n] and sums of values [n * n] of the root's moves.
        """
        if self.root is None:
            self.root = self._expand(self._rules())[0]
        for _ in range(playouts):
            self._playout(noise, weight)
        visits, values = np.zeros(self.size**2, int), np.zeros(self.size**2)
        visits[self.root.moves], values[self.root.moves] = self.root.visits, self.root.values
        return visits, values

    def _rules(self) -> Rules:
        return Rules(self.size, self.win, moves=list(self.moves))

    def _expand(self, rules: Rules) -> tuple[Node, float]:
        priors, value = self.evaluate(rules)
        moves = rules.legal()
        total = 0.0
        for move in moves:
            total += float(priors[move])
        shares = [float(priors[m]) / total if total > 0 else 1 / len(moves) for m in moves]
        return Node(moves, [float(np.float32(share)) for share in shares]), float(value)

    def _playout(self, noise: np.ndarray | None, weight: float) -> None:
        rules, node, path = self._rules(), self.root, list[tuple[Node, int]]()
        assert node is not None
        while True:
            index = self._best(node, noise if node is self.root else None, weight)
            path.append((node, index))
            rules.play(node.moves[index])
            if (outcome := rules.outcome()) is not None:
                value = -outcome  # for the player who would move
                break
            if index not in node.children:
                node.children[index], value = self._expand(rules)
                break
            node = node.children[index]
        for node, index in reversed(path):
            value = -value
            node.visits[index] += 1
            node.values[index] += value

    def _best(self, node: Node, noise: np.ndarray | None, weight: float) -> int:
        spread = math.sqrt(sum(node.visits) + 1)
        scores = []
        for move, prior, n, w in zip(
            node.moves, node.priors, node.visits, node.values, strict=True
        ):  # fmt: skip
            if noise is not None:
                prior = (1 - weight) * prior + weight * float(noise[move])
            scores.append((w / n if n else 0.0) + self.c * prior * spread / (1 + n))
        return scores.index(max(scores))


def mix(x: int) -> int:
    """SplitMix64 of a word."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def hashed(rules: Rules) -> tuple[np.ndarray, float]:
    """The deterministic network of tests: hashed priors, [n * n] float32, and a hashed value."""
    cells, turn = rules.size**2, len(rules.moves) % 2
    board, h = [cell for row in rules.board for cell in row], 0
    for player in (turn + 1, 2 - turn):
        stones = sum(1 << cell for cell, stone in enumerate(board) if stone == player)
        for word in range(-(-cells // WORD_BITS)):
            h = mix(h ^ stones >> WORD_BITS * word & MASK)
    priors = np.array([(mix(h + cell + 1 & MASK) >> 40) + 1 for cell in range(cells)], np.float32)
    return priors / np.float32(1 << 24), ((mix(h) >> 40) - (1 << 23)) / (1 << 23)
