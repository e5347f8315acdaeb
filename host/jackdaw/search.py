"""Tree search with a tree elsewhere: workers simulate, the tree takes lists of requests.

The tree is the mcts engine's driver (`jackdaw.drivers.mcts`) or a plain one
(`models.mcts.reference`). Workers are in groups. The groups take turns, so the requests, and with
them the result, depend on the seed alone.

Source: thesis 5.1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from models.mcts.formats import NO_ID, REQUEST, Code, Flag, Op


class InTree(Protocol):
    """A tree, node 0 its root."""

    def reset(self) -> None:
        """Drop the tree."""

    def root(self, legal: int) -> None:
        """Make the root, with a mask of its legal children."""

    def submit(self, requests: np.ndarray) -> Any:
        """Queue SEL and UPD, [n] REQUEST."""

    def wait(self, count: int) -> int:
        """Wait for responses; returns how many are there."""

    def poll(self) -> np.ndarray:
        """Take responses, [n] RESPONSE."""

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Visits of the root, and visits and sums of values of its children."""


class Game(Protocol):
    """A position of a game of two players; outcomes are for the player who moved last."""

    @property
    def legal(self) -> int:
        """Mask of the legal actions, 0 when the game is over."""

    @property
    def outcome(self) -> float | None:
        """1 won, 0 drawn, -1 lost; None while the game goes on."""

    def play(self, action: int) -> Game:
        """The position after an action."""

    def rollout(self, rng: np.random.Generator) -> float:
        """The outcome of random play from here."""


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        action: with the most visits; of those the best mean, then the lowest.
        visits: [F] of the root's children.
        values: [F] sums of their values.
        nodes: of the tree.
        codes: how often each code came.
    """

    action: int
    visits: np.ndarray
    values: np.ndarray
    nodes: int
    codes: dict[Code, int]


class TreeSearch:
    """A search for actions of a game of two players, with random roll-outs."""

    def __init__(self, tree: InTree, ids: int, workers: int = 8, groups: int = 2) -> None:
        """Keep the tree.

        Args:
            tree: configured.
            ids: X, node ids of the tree.
            workers: that simulate.
            groups: in which they take turns, at most as many as there are workers.
        """
        if not 1 <= groups <= workers:
            raise ValueError(f"groups: got {groups}, want 1..{workers}")
        self._tree, self._ids, self._workers = tree, ids, workers
        self._groups = [range(first, workers, groups) for first in range(groups)]

    def run(self, position: Game, iterations: int, rng: np.random.Generator) -> Found:
        """Search from a position that is not over.

        Args:
            position: the root.
            iterations: simulations, at least one.
            rng: of the roll-outs.
        Raises: the tree's errors.
        """
        self._tree.reset()
        self._tree.root(position.legal)
        self._states: dict[int, Game] = {0: position}
        self._free = deque(range(1, self._ids))
        self._given: dict[int, int] = {}  # worker -> id of its selection
        self._kept: dict[int, np.void] = {}  # responses by worker
        codes = dict.fromkeys(Code, 0)
        turns: deque[list[int]] = deque()
        left = iterations
        for group in self._groups:
            chosen = list(group)[:left]
            left -= len(chosen)
            if chosen:
                self._tree.submit(self._selections(chosen))
                turns.append(chosen)
        while turns:
            chosen = turns.popleft()
            responses = self._responses(chosen)
            updates = np.concatenate([self._evaluate(r, rng) for r in responses])
            for response in responses:
                codes[Code(response["code"])] += 1
            again = chosen[:left]
            left -= len(again)
            self._tree.submit(np.concatenate([updates, self._selections(again)]))
            if again:
                turns.append(again)
        _, visits, values = self._tree.read_root()
        order = sorted(
            range(len(visits)), key=lambda a: (-visits[a], -values[a] / max(visits[a], 1), a)
        )
        return Found(order[0], visits, values, len(self._states), codes)

    def _selections(self, workers: list[int]) -> np.ndarray:
        out = np.zeros(len(workers), REQUEST)
        for row, worker in zip(out, workers, strict=True):
            self._given[worker] = self._free.popleft() if self._free else NO_ID
            row["op"], row["worker"], row["new_id"] = Op.SEL, worker, self._given[worker]
        return out

    def _responses(self, workers: list[int]) -> list[np.void]:
        """The responses of a group, by worker; those of other groups are kept."""
        while not all(worker in self._kept for worker in workers):
            self._tree.wait(1)
            self._kept |= {int(row["worker"]): row for row in self._tree.poll()}
        return [self._kept.pop(worker) for worker in workers]

    def _evaluate(self, response: np.void, rng: np.random.Generator) -> np.ndarray:
        """The update that answers a response."""
        code, worker = Code(response["code"]), int(response["worker"])
        if code in (Code.LEAF, Code.TERMINAL):
            state = self._states[int(response["node"])]
        else:
            state = self._states[int(response["parent"])].play(int(response["action"]))
        given, outcome, flags, legal = self._given.pop(worker), state.outcome, Flag.ALT, 0
        if code == Code.EXPAND:
            self._states[given] = state
            flags, legal = flags | Flag.ACT, state.legal  # without a legal action it is terminal
        elif given != NO_ID:
            self._free.appendleft(given)
        value = state.rollout(rng) if outcome is None else outcome
        return np.array([(Op.UPD, flags, worker, 0, value, legal, 0)], REQUEST)
