"""The golden tree without an engine around it, and its comparison with the plain tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.mcts import tree
from models.mcts.formats import (
    REQUEST,
    RESPONSE,
    Flag,
    Geometry,
    Op,
    pack_requests,
    pack_responses,
    to_prior,
    to_value,
    unpack_responses,
)
from models.mcts.reference import Node, ReferenceTree
from models.mcts.tables import decode, tables

SMALL = Geometry(d=4, f=3, y=8, cap=4, x=10, fr=3, fp=2, w_max=4, t=16, sf=2, mu=3)


class GoldenTree:
    """`models.mcts.tree` with the methods of a driver.

    Attributes:
        tree: the arrays.
        trace: of the last list.
        refused: requests refused so far.
    """

    def __init__(
        self,
        geometry: Geometry = SMALL,
        rule: str = "uct",
        c: float = 1.0,
        *,
        vl: float = 1.0,
        fpu: float | None = None,
        f_act: int | None = None,
        d_act: int | None = None,
        policy: int = 0,
    ) -> None:
        self.geometry = geometry
        self.tree = tree.make(geometry)
        t = self.tree
        t.mantissa[:], t.shift[:], t.r[:], wrong = decode(tables(rule, c))
        assert wrong is None
        t.sizes[3] = 1
        self.settings = np.zeros(tree.SETTINGS, np.int64)
        self.settings[tree.PUCT] = rule != "uct"
        self.settings[tree.FIRST] = rule == "uct" and fpu is None
        self.settings[tree.F_ACT] = geometry.f if f_act is None else f_act
        self.settings[tree.D_ACT] = geometry.d if d_act is None else d_act
        self.settings[tree.VL] = round(vl * 2**20)
        self.settings[tree.FPU] = to_value(fpu or 0.0)
        self.settings[tree.POLICY] = policy
        self.refused = 0
        self.waiting = np.zeros(0, RESPONSE)

    def reset(self) -> None:
        self._one(Op.RESET)

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        self._one(Op.ROOT, Flag.ACT if priors is None else Flag.ACT | Flag.EXT, legal, priors)

    def _one(
        self, op: Op, flags: int = 0, legal: int = 0, priors: np.ndarray | None = None
    ) -> None:
        row = None if priors is None else priors[None]
        self.submit(np.array([(op, flags, 0, 0, 0, legal, 0)], REQUEST), row)
        assert self.poll()["code"].tolist() == [tree.OK]

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> None:
        rows = None if priors is None else to_prior(priors)
        words = pack_requests(requests, rows, self.geometry).astype(np.int64)
        self.run(words)

    def run(self, words: np.ndarray) -> int:
        """Run a list, [slots, 4]; returns the requests executed."""
        responses = np.zeros((len(words) + 1, tree.COLUMNS), np.int64)
        self.trace = tree.make_trace(len(words), self.geometry.d)
        at = executed = 0
        while at < len(words):
            at, made, done, refused, _ = tree.run(
                self.tree, self.settings, words, at, len(words), len(words), responses, self.trace
            )
            executed += done
            self.refused += refused
            found, _ = unpack_responses(pack_responses(responses[:made], 0, 16, 0))
            self.waiting = np.concatenate([self.waiting, found])
        return executed

    def wait(self, count: int = 1) -> int:
        return len(self.waiting)

    def poll(self) -> np.ndarray:
        found, self.waiting = self.waiting, np.zeros(0, RESPONSE)
        return found

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        t, root = self.tree, self.geometry.entries
        return int(t.visits[root]), t.n[root].copy(), t.w[root] / 2**20

    @property
    def out(self) -> int:
        return int(self.tree.counters[tree.OUT])


def difference(golden: GoldenTree, plain: ReferenceTree) -> str | None:
    """The first difference of two trees, node by node from the root on; None if there is none.

    Scores are compared, too: those that the golden tree keeps with those that the plain one
    computes anew. Also checks that each node is reached once, and that none is lost.
    """
    t, seen = golden.tree, set()
    waiting: list[tuple[int, Node]] = [(golden.geometry.entries, plain.top)]
    while waiting:
        at, node = waiting.pop()
        if at in seen:
            return f"entry {at} is reached twice"
        seen.add(at)
        state = tree.NEW if node.new else tree.ACTIVE if node.children else tree.TERMINAL
        got: list[Any] = [t.ident[at], t.state[at], t.level[at], t.visits[at]]
        if got != [node.ident, state, node.level, node.visits]:
            return f"entry {at}: got {got}, want node {node.ident} of level {node.level}"
        for a in range(golden.geometry.f):
            child = node.children.get(a)
            if child is None:
                if t.legal[at, a] or t.child[at, a] >= 0 or t.n[at, a]:
                    return f"entry {at} child {a}: want none"
                continue
            got = [t.n[at, a], t.w[at, a], t.u[at, a], t.loss[at, a]]
            want = [child.n, child.w, plain._fixed(node, child),
                    child.out * int(golden.settings[tree.VL])]  # fmt: skip
            if got != want or not t.legal[at, a]:
                return f"entry {at} child {a}: got {got}, want {want}"
            if (child.node is None) != (t.child[at, a] < 0):
                return f"entry {at} child {a}: a node is there in one tree alone"
            if child.node is not None:
                waiting.append((int(t.child[at, a]), child.node))
    given = int(t.used.sum())
    if given != len(seen) - 1:
        return f"{given} entries were given, {len(seen) - 1} nodes are reached"
    return None


def slots(*requests: tuple[Any, ...]) -> np.ndarray:
    """A list of requests given by fields, REQUEST in order: [slots, 4] uint32."""
    return pack_requests(np.array(list(requests), REQUEST), None, SMALL)
