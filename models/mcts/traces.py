"""Requests of synthetic searches, and what they cost by the cycle model.

    python -m models.mcts.traces [--nodes 3000]     # the table of docs/mcts.md

A synthetic game tree has hidden values: a node has a quality q and a width d, at the root 0.5
and 1. A child has q + 0.5 d (r - 0.5) and d * decay, r uniform in 0..1. A simulation gives q plus
noise, within -1..1. Of the workers that are out, a random group finishes at a time; a list has its
updates, then as many selections.
"""

from __future__ import annotations

import argparse
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.mcts import tree
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY
from models.mcts.formats import (
    NO_ID,
    REQUEST,
    Code,
    Flag,
    Geometry,
    Op,
    pack_requests,
    pack_responses,
    to_prior,
    unpack_responses,
)
from models.mcts.tables import decode, tables
from models.mcts.timing import Clocks, ports_ahead, replay
from models.mcts.tree import SEL, Trace

SEL_LIST, GROUP, WORKERS = 1024, 32, 128  # selections of a list, iterations of a group
MOST = 3  # simulations per node, for searches that come back to the same leaves


@dataclass(frozen=True)
class Shape:
    """A search: rule, exploration, virtual loss; sharpness of the priors; decay; noise."""

    rule: str
    c: float
    vl: float
    sharp: float
    decay: float
    noise: float


SHAPES = {
    "bushy": Shape("uct", 1.0, 1.0, 0.0, 0.9, 0.3),
    "deep": Shape("puct", 1.0, 0.3, 2.0, 0.9, 0.05),
    "comb": Shape("puct", 0.5, 0.05, 5.0, 0.8, 0.01),
}


@dataclass(frozen=True)
class Part:
    """A list of requests and what the golden tree made of it.

    Attributes:
        requests: [n] REQUEST.
        priors: [n, F] float, of those with the flag EXT.
        responses: [m] RESPONSE, in list order, without stamps.
        trace: for the cycle model.
    """

    requests: np.ndarray
    priors: np.ndarray
    responses: np.ndarray
    trace: Trace


class Search:
    """A golden tree and the lists that it was given.

    Attributes:
        shape: with the settings.
        tree: the tree.
        parts: the lists; the first resets the tree and makes its root.
    """

    def __init__(self, shape: Shape, geometry: Geometry, policy: int = ALGORITHM_2) -> None:
        self.shape, self.geometry = shape, geometry
        g = geometry
        self.tree = t = tree.make(g)
        t.mantissa[:], t.shift[:], t.r[:], _ = decode(tables(shape.rule, shape.c))
        self._settings = np.zeros(tree.SETTINGS, np.int64)
        puct = shape.rule != "uct"
        self._settings[[tree.PUCT, tree.FIRST, tree.POLICY]] = puct, not puct, policy
        self._settings[[tree.F_ACT, tree.D_ACT, tree.VL]] = g.f, g.d, round(shape.vl * 2**20)
        self.parts: list[Part] = []

    def run(self, requests: np.ndarray, priors: np.ndarray | None = None) -> Part:
        """Execute a list; see Part."""
        n = len(requests)
        rows = np.zeros((n, self.geometry.f)) if priors is None else priors
        words = pack_requests(requests, to_prior(rows), self.geometry).astype(np.int64)
        trace = tree.make_trace(n, self.geometry.d)
        responses = np.zeros((n, tree.COLUMNS), np.int64)
        _, made, *_ = tree.run(
            self.tree, self._settings, words, 0, len(words), len(words), responses, trace
        )
        found, _ = unpack_responses(pack_responses(responses[:made], 0, 16, 0))
        self.parts.append(Part(requests, rows, found, trace))
        return self.parts[-1]


def grow(
    shape: Shape,
    geometry: Geometry,
    nodes: int,
    *,
    workers: int = WORKERS,
    group: int = GROUP,
    policy: int = ALGORITHM_2,
    seed: int = 1,
    oldest: bool = False,
) -> Search:
    """Grow a tree.

    Args:
        shape: of the search.
        geometry: the build.
        nodes: of the tree, at most X.
        workers: at most WMax.
        group: iterations at a time.
        policy: how banks are given.
        seed: of values, priors and order.
        oldest: those workers finish that have been out longest, not random ones.
    """
    g, rng = geometry, np.random.default_rng(seed)
    search = Search(shape, g, policy)
    puct = shape.rule != "uct"
    sharp = np.exp(shape.sharp * rng.normal(size=(nodes, g.f)))
    priors = sharp / sharp.sum(1, keepdims=True)
    chance = rng.random((nodes, g.f))
    quality, width = np.full(nodes, 0.5), np.ones(nodes)
    everything, act = (1 << g.f) - 1, Flag.ACT | Flag.EXT if puct else Flag.ACT
    start = np.zeros(2, REQUEST)
    start["op"], start["flags"], start["legal"] = (Op.RESET, Op.ROOT), (0, act), (0, everything)
    search.run(start, priors[np.zeros(2, int)])
    waiting: dict[int, np.void] = {}  # worker -> response
    given: dict[int, int] = {}  # worker -> id
    ids, inserted, simulated = deque(range(1, nodes)), 1, 0
    while inserted < nodes and simulated < MOST * nodes:
        out = list(waiting) if oldest else rng.permutation(sorted(waiting)).tolist()
        done = out[:group]
        free = done or list(range(workers))
        rows, of = np.zeros(len(done) + len(free), REQUEST), np.zeros(len(done) + len(free), int)
        for row, worker in enumerate(done):
            response = waiting.pop(worker)
            code, node, new_id = (int(response[name]) for name in ("code", "node", "new_id"))
            q = quality[new_id if code == Code.EXPAND else node]
            if code == Code.NOINS:
                parent, action = int(response["parent"]), int(response["action"])
                q = quality[parent] + 0.5 * width[parent] * (chance[parent, action] - 0.5)
            if code != Code.EXPAND and given[worker] != NO_ID:
                ids.append(given[worker])
            new = code in (Code.EXPAND, Code.REVISIT)
            value = float(np.clip(q + shape.noise * rng.normal(), -1, 1))
            legal = everything if new else 0
            rows[row] = (Op.UPD, act if new else 0, worker, 0, value, legal, 0)
            of[row] = new_id if code == Code.EXPAND else node
        for row, worker in enumerate(free, len(done)):
            given[worker] = ids.popleft() if ids else NO_ID
            rows[row] = (Op.SEL, 0, worker, given[worker], 0, 0, 0)
        simulated += len(done)
        for response in search.run(rows, priors[of]).responses:
            waiting[int(response["worker"])] = response
            if response["code"] == Code.EXPAND:
                inserted += 1
                parent, action = int(response["parent"]), int(response["action"])
                new_id = int(response["new_id"])
                step = 0.5 * width[parent] * (chance[parent, action] - 0.5)
                quality[new_id], width[new_id] = quality[parent] + step, width[parent] * shape.decay
    return search


def record(shape: Shape, geometry: Geometry, nodes: int, **options: Any) -> Trace:
    """Grow a tree, see `grow`, and note what its requests did."""
    return join([part.trace for part in grow(shape, geometry, nodes, **options).parts[1:]])


def join(parts: list[Trace]) -> Trace:
    """Traces one after the other."""
    arrays = [np.concatenate(each) for each in zip(*(part[:-1] for part in parts), strict=True)]
    return Trace._make([*arrays, np.array([len(arrays[0])])])


def only_sel(trace: Trace) -> Trace:
    """The selections of a trace."""
    kept = trace.op == SEL
    return Trace._make([*(each[kept] for each in trace[:-1]), np.array([int(kept.sum())])])


def listed(trace: Trace, geometry: Geometry, size: int, ports: np.ndarray | None = None) -> Clocks:
    """Clocks of requests in lists of so many; `ports` as in `replay`."""
    count = int(trace.taken[0])
    sizes = np.full(-(-count // size), size, np.int64)
    sizes[-1] = count - size * (len(sizes) - 1)
    return replay(trace, geometry, sizes, ports=ports)


def intervals(
    trace: Trace, geometry: Geometry, ports: np.ndarray | None = None
) -> tuple[Clocks, Clocks]:
    """Clocks of the selections alone, in lists of 1,024, and of all requests, in lists of 64."""
    selections = listed(only_sel(trace), geometry, SEL_LIST, ports)
    return selections, listed(trace, geometry, 2 * GROUP, ports)


def main() -> None:
    """Print the intervals at 32 levels, and those of iterations in groups of other sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3000)
    nodes = parser.parse_args().nodes
    print("| tree | F | nodes touched | banks | crossbars | butterflies |")
    print("| --- | --- | --- | --- | --- | --- |")
    for f, fp in ((6, 6), (18, 5)):
        geometry = Geometry(f=f, fr=f, fp=fp, mu=f)
        for name, shape in SHAPES.items():
            for policy, label in ((ALGORITHM_2, "Algorithm 2"), (NEXT_EMPTY, "next empty")):
                trace = record(
                    shape, geometry, nodes, workers=geometry.w_max, policy=policy, oldest=True
                )
                cells = []
                for xbar in (1, 0):
                    build = replace(geometry, xbar=xbar)
                    sel, both = intervals(trace, build, ports_ahead(trace, build, policy))
                    cells.append(f"{sel.interval:.2f}; {both.interval:.2f}")
                touched = only_sel(trace).length.mean()
                print(f"| {name} | {f} | {touched:.1f} | {label} | {' | '.join(cells)} |")
    print("\n| iterations of a group | a group in a list | two | no wait for lists |")
    print("| --- | --- | --- | --- |")
    for group in (1, 4, 8, 16, 32, 64, 128):
        g = Geometry()
        trace = record(SHAPES["deep"], g, nodes, workers=g.w_max, group=group, oldest=True)
        ports = ports_ahead(trace, g, ALGORITHM_2)
        clocks = [listed(trace, g, 2 * group * each, ports) for each in (1, 2)]
        clocks.append(replay(trace, g, latency=0, ports=ports))
        print(f"| {group} | {' | '.join(f'{each.interval:.2f}' for each in clocks)} |")


if __name__ == "__main__":
    main()
