"""Cycle model of the sparse engine: clocks per tile, throughput, encoder and iteration.

All figures follow from the plans that `plan.py` makes. Source: docs/sparse.md (results).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.sparse.osel import Encoding, Width, encode
from models.sparse.plan import (
    ROW_CYCLIC,
    VECTORS,
    Build,
    Pass,
    line_clocks,
    owners,
    plan,
)

OVERHEAD = 12  # clocks of an operation, at most, beside its busiest bank
CLOCK_HZ = 175e6


@dataclass(frozen=True)
class Shape:
    """A layer of the network.

    Attributes:
        m, n: rows and columns.
        dx_from: first row that dX produces.
        split: chains of a forward sum.
        grouped: has masks; else it is dense.
    """

    m: int
    n: int
    dx_from: int = 0
    split: int = 1
    grouped: bool = True


def network(observations: int = 32, hidden: int = 128) -> dict[str, Shape]:
    """The layers of IC3Net: encoder, communication, LSTM, heads."""
    return {
        "enc": Shape(observations, hidden),
        "com": Shape(hidden, hidden),
        "lst": Shape(2 * hidden, 4 * hidden),
        "hed": Shape(hidden, 8, 0, 4, False),
    }


@dataclass(frozen=True)
class Work:
    """Clocks per tile and core of a layer, by phase, and of its preparation.

    Attributes:
        fw, dx, dw: of the busiest bank, per tile.
        encoder, planner, compression: clocks per encoding; `compression` is of both directions.
        nnz: unmasked weights.
    """

    fw: float
    dx: float
    dw: float
    encoder: int
    planner: int
    compression: int
    nnz: int


def masks(shape: Shape, groups: int, rng: np.random.Generator, width: Width) -> Encoding:
    """The encoding of a random mask; of a layer without groups the dense one."""
    g = groups if shape.grouped else 1
    return encode(rng.integers(0, g, shape.m), rng.integers(0, g, shape.n), g, width)


def layer_work(
    shape: Shape, encoding: Encoding, build: Build, tiles: int, plain: bool = False
) -> Work:
    """Clocks of a layer with a mask; `plain` without load allocation."""
    found = plan(encoding, build, tiles, shape.split, shape.dx_from, shape.n < build.lanes, plain)
    rows, columns = encoding.row_lists, encoding.column_lists
    lower = [m[m >= shape.dx_from] for m in rows]
    read = line_clocks(columns, lower, found.backward.windows)
    if shape.split == 1:
        read += line_clocks(rows, columns, found.forward.windows)
    else:
        read += -(-shape.m * shape.n // build.lanes)
    return Work(
        found.forward.clocks(tiles) / tiles,
        found.backward.clocks(tiles) / tiles,
        found.gradient.clocks,
        encoding.clocks.total,
        found.clocks,
        read,
        encoding.nnz,
    )


def mean_work(
    groups: int, samples: int = 60, tiles: int = 8, seed: int = 1, plain: bool = False,
    build: Build | None = None, layers: Mapping[str, Shape] | None = None,
) -> dict[str, Work]:  # fmt: skip
    """Mean clocks of each layer over random masks."""
    rng, built = np.random.default_rng(seed), build or Build()
    found: dict[str, Work] = {}
    for name, shape in (layers or network()).items():
        count = samples if groups > 1 and shape.grouped else 1
        many = [
            layer_work(shape, masks(shape, groups, rng, Width()), built, tiles, plain)
            for _ in range(count)
        ]
        found[name] = Work(*(float(np.mean([vars(w)[f] for w in many])) for f in vars(many[0])))  # type: ignore[arg-type]
    return found


def total(work: Mapping[str, Work], phase: str) -> float:
    """Clocks per tile of all layers, `fw`, `dx` or `dw`."""
    return sum(getattr(w, phase) for w in work.values())


def macs(layers: Mapping[str, Shape]) -> int:
    """Multiply-adds per vector of a dense forward pass."""
    return sum(s.m * s.n for s in layers.values())


def utilization(work: Work, phase: str = "fw", build: Build | None = None) -> float:
    """Share of the lanes' clocks that multiply."""
    built = build or Build()
    return work.nnz * VECTORS / (getattr(work, phase) * built.banks * built.lanes)


def row_depths(encoding: Encoding, forward: Pass, cores: int, policy: int) -> list[int]:
    """Ranks of each window on the core that has the most of them, in ROW split."""
    owner = owners(len(encoding.ig), encoding.rows, cores, policy)
    own = [np.bincount(owner[m], minlength=cores) for m in encoding.row_lists]
    if len(set(forward.windows[0].groups)) < len(forward.windows[0].groups):  # split sums
        return [int(-(-max(own[0]) // len(forward.windows[0].groups)))]
    return [int(max(own[g].max() for g in window.groups)) for window in forward.windows]


def dense_gflops(
    agents: int, episodes: int, build: Build | None = None, overhead: int = OVERHEAD
) -> float:
    """GFLOPS of a dense forward pass, in the better split, operations' overhead included."""
    built, layers, rng = build or Build(), network(), np.random.default_rng(0)
    vectors = agents * episodes

    def clocks(tiles: int, row: bool) -> int:
        spent = 0
        for first in range(0, tiles, 8):
            now = min(8, tiles - first)
            for shape in layers.values():
                dense = masks(shape, 1, rng, Width())
                forward = plan(dense, built, now, shape.split, shape.dx_from).forward
                depths = row_depths(dense, forward, built.cores, ROW_CYCLIC) if row else None
                spent += forward.clocks(now, depths, built.drain_w) + overhead
        return spent

    most = max(
        agents * ((c + 1) * episodes // built.cores - c * episodes // built.cores)
        for c in range(built.cores)
    )
    spent = min(clocks(-(-most // VECTORS), False), clocks(-(-vectors // VECTORS), True))
    return 2 * macs(layers) * vectors / spent * CLOCK_HZ / 1e9


@dataclass(frozen=True)
class Encoder:
    """Clocks of sparse data generation of a layer: encoder and compression, mean over masks.

    Attributes:
        max_index, rows, misses, lists: steps of the encoder.
        compression: weight lines of the forward direction.
        uncached: all of it where every row makes its tuple and reads its dense lines.
    """

    max_index: float
    rows: float
    misses: float
    lists: float
    compression: float
    uncached: float

    @property
    def osel(self) -> float:
        """All of it with the row memory."""
        return self.max_index + self.rows + self.misses + self.lists + self.compression


def encoder(
    m: int, n: int, groups: int, samples: int = 12, build: Build | None = None,
    width: Width | None = None,
) -> Encoder:  # fmt: skip
    """Clocks of the sparse data encoder for an m x n mask."""
    built, w = build or Build(), width or Width()
    rows = []
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        ig, og = rng.integers(0, groups, m), rng.integers(0, groups, n)
        found, plainly = encode(ig, og, groups, w), encode(ig, og, groups, w, cached=False)
        cut = plan(found, built, 1).forward.windows
        read = line_clocks(found.row_lists, found.column_lists, cut)
        dense = -(-n // built.lanes) * m
        c = found.clocks
        rows.append((c.max_index, c.rows, c.misses, c.lists, read, plainly.clocks.total + dense))
    return Encoder(*(float(x) for x in np.mean(rows, axis=0)))


def deviation(
    m: int, n: int, groups: int, policy: int | None, samples: int = 1500, cores: int = 3,
    seed: int = 1,
) -> float:  # fmt: skip
    """Largest difference of a core's weights from their share, mean over random masks.

    Args:
        m, n: of the mask.
        groups: G.
        policy, cores: see `deviation_of`.
        samples, seed: random masks.
    """
    rng, found = np.random.default_rng(seed), []
    for _ in range(samples):
        ig, og = rng.integers(0, groups, m), rng.integers(0, groups, n)
        found.append(deviation_of(ig, og, groups, policy, cores))
    return float(np.mean(found))


def deviation_of(
    ig: np.ndarray, og: np.ndarray, groups: int, policy: int | None, cores: int = 3
) -> float:
    """Largest difference of a core's weights from their share.

    Args:
        ig, og: group of each row and column, [M] and [N].
        groups: G.
        policy: of ROW split; None: the threshold scheme that the publication compares with: a core
            takes rows in order until it has more weights than a share.
        cores: C.
    """
    weights = np.bincount(og, minlength=groups)[ig]
    if policy is None:
        owner = _by_threshold(weights, cores)
    else:
        owner = owners(len(ig), np.argsort(ig, kind="stable"), cores, policy)
    loads = np.bincount(owner, weights=weights, minlength=cores)
    return float(np.abs(loads - weights.sum() / cores).max())


def _by_threshold(weights: np.ndarray, cores: int) -> np.ndarray:
    """The core of each row: the next one begins when a core has more than a share."""
    share, core, held, owner = weights.sum() / cores, 0, 0, np.empty(len(weights), np.int64)
    for row, count in enumerate(weights):
        if held > share and core < cores - 1:
            core, held = core + 1, 0
        owner[row] = core
        held += count
    return owner
