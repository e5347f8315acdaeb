"""A plain search tree: linked nodes, scores computed anew at each selection.

It is the yardstick of the golden model and of searches. It shares with the golden model the words
of the tables and the formats of the boundary, and no arithmetic. With `exact` it computes in the
engine's numbers and must agree to the bit; without, in float64, in the manner of Eq. 2.2.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from models.mcts.formats import NO_ID, RESPONSE, Code, Flag, Op, to_prior, to_value
from models.mcts.tables import EXPONENT_LSB, LEFT_EDGES, TABLE_WORDS, tables

ONE = 1 << 20
EDGES = LEFT_EDGES.tolist()


@dataclass
class Child:
    """An edge; `w` is the sum of values in units of 2**-20, `out` the workers below it."""

    prior: int
    n: int = 0
    w: int = 0
    out: int = 0
    node: Node | None = None


@dataclass
class Node:
    """A node; it is `new` until it is evaluated, and without children it is terminal."""

    ident: int
    level: int
    new: bool = True
    children: dict[int, Child] = field(default_factory=dict)

    @property
    def visits(self) -> int:
        return sum(child.n for child in self.children.values())


@dataclass
class _Out:
    """A worker's selection."""

    edges: list[tuple[Node, int]]
    end: Node | None


Score = Callable[[Node, Child], float]


class ReferenceTree:
    """A tree that takes valid requests, of workers that have at most one selection out.

    Attributes:
        top: the root.
    """

    def __init__(
        self,
        rule: str = "uct",
        c: float = 1.0,
        *,
        vl: float = 1.0,
        fpu: float | None = None,
        d_act: int = 32,
        exact: bool = True,
    ) -> None:
        """An empty tree.

        Args:
            rule: uct, alphazero or puct.
            c: exploration.
            vl: virtual loss.
            fpu: mean of an unvisited child; None: uct takes it first, the others take 0.
            d_act: levels.
            exact: compute in the engine's numbers.
        """
        self._rule, self._c, self._puct = rule, c, rule != "uct"
        self._vl, self._fpu, self._levels = vl, fpu or 0.0, d_act
        self._first = rule == "uct" and fpu is None
        words = tables(rule, c).tolist()
        self._g, self._r = words[:TABLE_WORDS], words[TABLE_WORDS:]
        self._score: Score = self._fixed if exact else self._float
        self._waiting: deque[np.ndarray] = deque()
        self.reset()

    def reset(self) -> None:
        """Begin anew; no selection is out."""
        self.top = Node(0, 0)
        self._out: dict[int, _Out] = {}

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        """Activate the root: a mask of its legal children, and their priors [F]."""
        self._activate(self.top, legal, None if priors is None else to_prior(priors))

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> None:
        """Execute SEL and UPD.

        Args:
            requests: [n] REQUEST.
            priors: [n, F] float, of those with the flag EXT.
        """
        fixed = None if priors is None else to_prior(priors)
        for index, request in enumerate(requests):
            if request["op"] == Op.SEL:
                self._waiting.append(self._select(request))
            else:
                row = fixed[index] if fixed is not None and request["flags"] & Flag.EXT else None
                self._update(request, row)

    def poll(self) -> np.ndarray:
        """All responses that wait, [n] RESPONSE."""
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
        return np.concatenate(rows) if rows else np.zeros(0, RESPONSE)

    def wait(self, count: int = 1) -> int:
        """How many responses wait; there is nothing to wait for."""
        return len(self._waiting)

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """N of the root, and n [32] int64 and w [32] float64 of its children."""
        n, w = np.zeros(32, np.int64), np.zeros(32)
        for action, child in self.top.children.items():
            n[action], w[action] = child.n, child.w / ONE
        return self.top.visits, n, w

    # ---- Scores
    def _fixed(self, node: Node, child: Child) -> int:
        if not child.n and self._first:
            base = 2**31 - 1
        else:
            q = math.floor(Fraction(child.w, child.n)) if child.n else int(to_value(self._fpu))
            prior = child.prior if self._puct else 1 << 16
            entry = bisect_right(EDGES, child.n) - 1
            h = prior * self._r[entry] // 2**16 if child.n else prior * 2**9
            word = self._g[bisect_right(EDGES, node.visits) - 1]
            exponent = word >> EXPONENT_LSB
            g = Fraction((word & 0x1FFFF) * 2**exponent, 2**16)
            base = max(1 - 2**31, min(2**31 - 1, q + math.floor(g * h * ONE / 2**25)))
        return max(base - child.out * round(self._vl * ONE), 1 - 2**31)

    def _float(self, node: Node, child: Child) -> float:
        visits, loss = node.visits, child.out * self._vl
        if not child.n and self._first:
            return 2047.9 - loss
        q = child.w / child.n / ONE if child.n else self._fpu
        if self._rule == "uct":
            spread = math.sqrt(math.log(max(visits, 1)) / max(child.n, 1))
        else:
            grown = visits + 1 if self._rule == "puct" else math.log(max(visits, 1))
            spread = math.sqrt(grown) * child.prior / 2**16 / (1 + child.n)
        return q + self._c * spread - loss

    # ---- Requests
    def _activate(self, node: Node, legal: int, priors: np.ndarray | None) -> None:
        node.new = False
        actions = [action for action in range(32) if legal >> action & 1]
        node.children = {a: Child(0 if priors is None else int(priors[a])) for a in actions}

    def _select(self, request: np.void) -> np.ndarray:
        node, edges, end = self.top, [], None
        response = np.zeros(1, RESPONSE)
        response["worker"], response["tag"] = request["worker"], request["tag"]
        response["new_id"] = NO_ID
        while True:
            stop = (
                Code.REVISIT if node.new
                else Code.TERMINAL if not node.children
                else Code.LEAF if node.level == self._levels - 1
                else None
            )  # fmt: skip
            if stop is not None:
                end, response["code"] = node, stop
                break
            action = max(
                node.children, key=lambda a: (self._score(node, node.children[a]), -a)
            )  # fmt: skip
            child = node.children[action]
            child.out += 1
            edges.append((node, action))
            if child.node is not None:
                node = child.node
                continue
            response["code"] = Code.NOINS
            if request["new_id"] != NO_ID:
                end = child.node = Node(int(request["new_id"]), node.level + 1)
                response["code"], response["new_id"] = Code.EXPAND, end.ident
            break
        self._out[int(request["worker"])] = _Out(edges, end)
        response["depth"], response["node"] = len(edges), node.ident
        response["parent"], response["action"] = edges[-1][0].ident, edges[-1][1]
        return response

    def _update(self, request: np.void, priors: np.ndarray | None) -> None:
        out = self._out.pop(int(request["worker"]))
        value, flags = int(to_value(request["value"])), int(request["flags"])
        for height, (node, action) in enumerate(reversed(out.edges)):
            mine = not flags & Flag.ALT or height % 2 == 0
            child = node.children[action]
            child.n, child.out = child.n + 1, child.out - 1
            child.w += value if mine else min(-value, 2**23 - 1)
        if out.end is not None and out.end.new:
            if flags & Flag.ACT:
                self._activate(out.end, int(request["legal"]), priors)
            elif flags & Flag.TERM:
                out.end.new = False
