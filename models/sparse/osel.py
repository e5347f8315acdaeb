"""The sparse data encoder: index lists, tuples and row lists of a mask, with their clocks.

A mask of learnable weight grouping has a 1 in row m and column n where both have the same group,
ig[m] = og[n]. All rows of a group have the same non-zero columns, so that a tuple per group says
all: OSEL makes it when a row of the group comes first (a miss), and later rows refer to it (hits).

Source: LearningGroup III-B, figure 5; docs/sparse.md (encoder).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Width:
    """What the encoder handles per clock.

    Attributes:
        max_w: grouping entries of MaxIndex.
        cmp_w: index comparisons of a miss.
        hit_w: rows that hit.
    """

    max_w: int = 128
    cmp_w: int = 64
    hit_w: int = 4


@dataclass(frozen=True)
class Clocks:
    """Clocks of an encoding: its steps, without pipelines.

    Attributes:
        max_index: the compared side's greatest entries.
        rows: the streamed side, without its misses.
        misses: of tuples.
        lists: of the sorted rows.
    """

    max_index: int
    rows: int
    misses: int
    lists: int

    @property
    def total(self) -> int:
        """All steps."""
        return self.max_index + self.rows + self.misses + self.lists


@dataclass(frozen=True)
class Encoding:
    """What an encoding leaves.

    Attributes:
        groups: G.
        ig: [M] int64, group of each row: the index list.
        og: [N] int64, group of each column.
        created: [G] int64, groups in the order in which their tuples were made.
        nonzero: [N] int64, columns of the tuples in that order.
        base: [G] int64, where a group's columns begin in `nonzero`.
        workload: [G] int64, how many they are.
        rows: [M] int64, rows sorted by group.
        starts: [G+1] int64, where a group's rows begin in `rows`.
        hits, misses: of the stream.
        clocks: of the steps.
    """

    groups: int
    ig: np.ndarray
    og: np.ndarray
    created: np.ndarray
    nonzero: np.ndarray
    base: np.ndarray
    workload: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    hits: int
    misses: int
    clocks: Clocks

    def columns(self, group: int) -> np.ndarray:
        """The non-zero columns of a group, ascending."""
        return self.nonzero[self.base[group] : self.base[group] + self.workload[group]]

    def members(self, group: int) -> np.ndarray:
        """The rows of a group, ascending."""
        return self.rows[self.starts[group] : self.starts[group + 1]]

    @cached_property
    def column_lists(self) -> list[np.ndarray]:
        """`columns` of every group."""
        return [self.columns(g) for g in range(self.groups)]

    @cached_property
    def row_lists(self) -> list[np.ndarray]:
        """`members` of every group."""
        return [self.members(g) for g in range(self.groups)]

    @property
    def mask(self) -> np.ndarray:
        """[M, N] bool."""
        return self.ig[:, None] == self.og[None, :]

    @property
    def nnz(self) -> int:
        """Unmasked weights."""
        return int(np.diff(self.starts) @ self.workload)


def max_index(entries: np.ndarray) -> np.ndarray:
    """The place of the greatest entry of each row, [R, G] int8 to [R] int64; the first of ties."""
    return np.argmax(entries, axis=1).astype(np.int64)


def encode(
    ig: np.ndarray,
    og: np.ndarray,
    groups: int,
    width: Width | None = None,
    cached: bool = True,
    exchanged: bool = False,
) -> Encoding:
    """Encode a mask.

    Args:
        ig, og: [M], [N] group of each row and column, 0..G-1.
        groups: G.
        width: of the build.
        cached: a row whose group has its tuple hits; False: every row makes its tuple again.
        exchanged: stream the columns against the rows, as the publication's second encoding does;
            the lists are the same.
    """
    w = width or Width()
    ig, og = np.asarray(ig, np.int64), np.asarray(og, np.int64)
    streamed, compared = (og, ig) if exchanged else (ig, og)
    _, first = np.unique(streamed, return_index=True)
    created = list(streamed[np.sort(first)])
    late = [g for g in range(groups) if g not in set(created)]  # groups that nothing selects
    nonzero, base, workload = _lists(og, [*created, *late] if not exchanged else range(groups))
    rows = np.argsort(ig, kind="stable")
    starts = np.searchsorted(ig[rows], np.arange(groups + 1))
    count, tuple_clocks = len(streamed), -(-len(compared) // w.cmp_w)
    misses = len(created) if cached else count
    clocks = Clocks(
        max_index=-(-len(compared) * groups // w.max_w) if groups > 1 else 0,
        rows=max(-(-count // w.hit_w), -(-count * groups // w.max_w)) if cached else 0,
        misses=(misses + len(late)) * tuple_clocks,
        lists=-(-count // w.hit_w) if cached else 0,
    )
    order = np.array([*created, *late], np.int64)
    return Encoding(
        groups, ig, og, order, nonzero, base, workload, rows, starts, count - misses,
        misses + len(late), clocks,
    )  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """The form in which the encoder keeps an encoding's lists.

    Attributes:
        places: of each index of the streamed side, in the list sorted by group.
        tuples: indices of the compared side by group, groups in the order of creation.
        base: [G] where a group's tuple begins.
    """

    places: np.ndarray
    tuples: np.ndarray
    base: np.ndarray


def kept(encoding: Encoding, exchanged: bool = False) -> Kept:
    """What the encoder keeps, of ENC or (exchanged) of ENCT."""
    streamed, compared = encoding.ig, encoding.og
    if exchanged:
        streamed, compared = compared, streamed
    places = np.empty(len(streamed), np.int64)
    places[np.argsort(streamed, kind="stable")] = np.arange(len(streamed))
    tuples, base, _ = _lists(compared, encoding.created)
    starts = np.empty_like(base)
    starts[encoding.created] = base[encoding.created]
    return Kept(places, tuples, starts)


def _lists(og: np.ndarray, order: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of groups in this order, and each group's base and count."""
    groups = [int(g) for g in order]  # type: ignore[attr-defined]
    lists = {g: np.flatnonzero(og == g) for g in groups}
    base, workload = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
    at = 0
    for g in groups:
        base[g], workload[g] = at, len(lists[g])
        at += len(lists[g])
    return np.concatenate([lists[g] for g in groups]), base, workload


def bitvectors(encoding: Encoding, cmp_w: int) -> np.ndarray:
    """The tuples' bitvectors, [G, N] bool in the order of creation, as slices of cmp_w bits."""
    n = len(encoding.og)
    out = np.zeros((encoding.groups, n), bool)
    for at, group in enumerate(encoding.created):
        for low in range(0, n, cmp_w):
            out[at, low : low + cmp_w] = encoding.og[low : low + cmp_w] == group
    return out


TUPLE_BITS = 512 + 9 + 4  # bitvector, workload and index, as published
COLUMN_BITS, ENTRY_BITS = 9, 21  # of the column list; of an entry of the row memory


def memory_bits(m: int, n: int, groups: int, published: bool) -> int:
    """Bits of a layer's weights, groups and lists.

    Args:
        m, n: rows, columns.
        groups: G, 2 or more; grouping entries have 8 bits, weights 16.
        published: tuples with bitvectors and an index list; False: column and row lists, which
            serve both directions.
    """
    weights = m * n * 16 // groups + 8 * groups * (m + n)
    if published:
        return weights + TUPLE_BITS * groups + m * (groups - 1).bit_length()
    return weights + n * COLUMN_BITS + m * (m - 1).bit_length() + groups * ENTRY_BITS
