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
    to_prior,
)
from models.mcts.tables import decode, tables
from models.mcts.timing import Clocks, replay
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


def record(
    shape: Shape,
    geometry: Geometry,
    nodes: int,
    *,
    workers: int = WORKERS,
    group: int = GROUP,
    policy: int = ALGORITHM_2,
    seed: int = 1,
) -> Trace:
    """Grow a tree and note what its requests did.

    Args:
        shape: of the search.
        geometry: the build.
        nodes: of the tree, at most X.
        workers: at most WMax.
        group: iterations at a time.
        policy: how banks are given.
        seed: of values, priors and order.
    """
    g, rng = geometry, np.random.default_rng(seed)
    t = tree.make(g)
    t.mantissa[:], t.shift[:], t.r[:], _ = decode(tables(shape.rule, shape.c))
    settings = np.zeros(tree.SETTINGS, np.int64)
    puct = shape.rule != "uct"
    settings[[tree.PUCT, tree.FIRST, tree.POLICY]] = puct, not puct, policy
    settings[[tree.F_ACT, tree.D_ACT, tree.VL]] = g.f, g.d, round(shape.vl * 2**20)
    sharp = np.exp(shape.sharp * rng.normal(size=(nodes, g.f)))
    priors = to_prior(sharp / sharp.sum(1, keepdims=True))
    chance = rng.random((nodes, g.f))
    quality, width = np.full(nodes, 0.5), np.ones(nodes)
    everything, act = (1 << g.f) - 1, Flag.ACT | Flag.EXT if puct else Flag.ACT
    parts: list[Trace] = []

    def run(rows: np.ndarray, of: np.ndarray) -> np.ndarray:
        words = pack_requests(rows, priors[of], g).astype(np.int64)
        trace = tree.make_trace(len(rows), g.d)
        responses = np.zeros((len(rows), tree.COLUMNS), np.int64)
        _, made, *_ = tree.run(t, settings, words, 0, len(words), len(words), responses, trace)
        parts.append(trace)
        return responses[:made]

    start = np.zeros(2, REQUEST)
    start["op"], start["flags"], start["legal"] = (Op.RESET, Op.ROOT), (0, act), (0, everything)
    run(start, np.zeros(2, int))
    parts.clear()
    waiting: dict[int, np.ndarray] = {}  # worker -> response
    given: dict[int, int] = {}  # worker -> id
    ids, inserted, simulated = deque(range(1, nodes)), 1, 0
    while inserted < nodes and simulated < MOST * nodes:
        done = rng.permutation(sorted(waiting))[:group].tolist()
        free = done or list(range(workers))
        rows, of = np.zeros(len(done) + len(free), REQUEST), np.zeros(len(done) + len(free), int)
        for row, worker in enumerate(done):
            code, _, _, action, node, new_id, parent, _ = waiting.pop(worker).tolist()
            q = quality[new_id if code == Code.EXPAND else node]
            if code == Code.NOINS:
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
        for response in run(rows, of):
            code, worker, _, action, _, new_id, parent, _ = response.tolist()
            waiting[worker] = response
            if code == Code.EXPAND:
                inserted += 1
                step = 0.5 * width[parent] * (chance[parent, action] - 0.5)
                quality[new_id], width[new_id] = quality[parent] + step, width[parent] * shape.decay
    return join(parts)


def join(parts: list[Trace]) -> Trace:
    """Traces one after the other."""
    arrays = [np.concatenate(each) for each in zip(*(part[:-1] for part in parts), strict=True)]
    return Trace._make([*arrays, np.array([len(arrays[0])])])


def only_sel(trace: Trace) -> Trace:
    """The selections of a trace."""
    kept = trace.op == SEL
    return Trace._make([*(each[kept] for each in trace[:-1]), np.array([int(kept.sum())])])


def listed(trace: Trace, geometry: Geometry, size: int) -> Clocks:
    """Clocks of requests in lists of so many."""
    count = int(trace.taken[0])
    sizes = np.full(-(-count // size), size, np.int64)
    sizes[-1] = count - size * (len(sizes) - 1)
    return replay(trace, geometry, sizes)


def intervals(trace: Trace, geometry: Geometry) -> tuple[Clocks, Clocks]:
    """Clocks of the selections alone, in lists of 1,024, and of all requests, in lists of 64."""
    return listed(only_sel(trace), geometry, SEL_LIST), listed(trace, geometry, 2 * GROUP)


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
                trace = record(shape, geometry, nodes, policy=policy)
                cells = []
                for xbar in (1, 0):
                    sel, both = intervals(trace, replace(geometry, xbar=xbar))
                    cells.append(f"{sel.interval:.2f}; {both.interval:.2f}")
                touched = only_sel(trace).length.mean()
                print(f"| {name} | {f} | {touched:.1f} | {label} | {' | '.join(cells)} |")
    print("\n| iterations of a group | a group in a list | two | no wait for lists |")
    print("| --- | --- | --- | --- |")
    for group in (1, 4, 8, 16, 32, 64, 128):
        trace = record(SHAPES["deep"], Geometry(), nodes, group=group)
        clocks = [listed(trace, Geometry(), 2 * group * each) for each in (1, 2)]
        clocks.append(replay(trace, Geometry(), latency=0))
        print(f"| {group} | {' | '.join(f'{each.interval:.2f}' for each in clocks)} |")


if __name__ == "__main__":
    main()
