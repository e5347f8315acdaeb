"""A layer's sums in FP16 on a mask: the array's definition, and the compiled form of it.

An output is one chain: its products in ascending order of the contracted index within its group,
from +0, product and sum rounded. Neither tiles, banks, windows nor latencies change a bit.

Source: LearningGroup III-D; docs/sparse.md (numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.float import add
from models.sparse import kernels
from models.sparse.numbers import multiply_add, single

Lists = Sequence[np.ndarray]
"""Indices of each group, ascending."""


def chain(x: np.ndarray, w: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Sums over some contracted indices, in their order.

    Args:
        x: [V, K] float16.
        w: [K, N] float16.
        indices: which of K.
    Returns: [V, N] float16.
    """
    acc = np.zeros((len(x), w.shape[1]), np.float16)
    for k in indices:
        acc = multiply_add(acc, x[:, k : k + 1], w[k])
    return acc


def split_lists(
    inner: Lists, parts: int, owner: np.ndarray | None, cores: int
) -> list[list[list[np.ndarray]]]:
    """The contracted indices of each chain: [core][part][group].

    Args:
        inner: contracted indices of each group.
        parts: chains of a sum, index mod `parts` each (KSPLIT).
        owner: core of each index in ROW split; None: one core has them all.
        cores: in ROW split.
    """
    if owner is None:
        mine = [list(inner)]
    else:
        mine = [[k[owner[k] == c] for k in inner] for c in range(cores)]
    return [[[k[k % parts == j] for k in lists] for j in range(parts)] for lists in mine]


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of split chains: p0 + p1, or (p0 + p1) + (p2 + p3); of one the chain."""
    parts = list(parts)
    while len(parts) > 1:
        parts = [add(parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
    return parts[0]


def forward(
    x: np.ndarray,
    w: np.ndarray,
    inner: Lists,
    outer: Lists,
    parts: int = 1,
    owner: np.ndarray | None = None,
    cores: int = 1,
) -> np.ndarray:
    """Outputs of a masked layer without bias: FW, or dX with everything exchanged.

    Args:
        x: [V, K] float16.
        w: [K, N] float16.
        inner, outer: contracted and produced indices of each group; an output of a group without
            contracted indices is +0.
        parts: KSPLIT.
        owner, cores: ROW split; the cores' sums are added in their order.
    Returns: [V, N] float16; +0 where no group produces.
    """
    out = np.zeros((len(x), w.shape[1]), np.float16)
    sums = []
    for lists in split_lists(inner, parts, owner, cores):
        found = []
        for part in lists:
            y = out.copy()
            for rows, columns in zip(part, outer, strict=True):
                y[:, columns] = chain(x, w[:, columns], rows)
            found.append(y)
        sums.append(joined(found))
    total = sums[0]
    for other in sums[1:]:
        total = add(total, other)
    return total


def weight_gradient(
    grad: np.ndarray, x: np.ndarray, dy: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """Add the gradient of a run: a chain over its vectors in FP16, then one addition in FP32.

    Args:
        grad: [M, N] float32 so far.
        x: [V, M] float16.
        dy: [V, N] float16.
        mask: [M, N] bool; the others stay.
    Returns: [M, N] float32.
    """
    acc = np.zeros(grad.shape, np.float16)
    for row, column in zip(x, dy, strict=True):
        acc = multiply_add(acc, row[:, None], column[None, :])
    return np.where(mask, add(grad, single(acc)), grad)


def bias_gradient(sums: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Add the gradient of the biases, tile by tile: (d0 + d1) + (d2 + d3) in FP32.

    Args:
        sums: [N] float32 so far.
        dy: [V, N] float16, V a multiple of 4.
    """
    d = single(dy)
    for first in range(0, len(d), 4):
        pair = add(add(d[first], d[first + 1]), add(d[first + 2], d[first + 3]))
        sums = add(sums, pair)
    return sums


# ---- Compiled ----
@dataclass(frozen=True)
class Packed:
    """Compressed weights of a chain.

    Attributes:
        weights: [nnz] float32 holding FP16 values, of each group contracted x produced.
        inner, inner_start, outer, outer_start: see kernels.contract.
    """

    weights: np.ndarray
    inner: np.ndarray
    inner_start: np.ndarray
    outer: np.ndarray
    outer_start: np.ndarray


def flat(lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """The indices of all groups one after the other, and where each group's begin."""
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(k) for k in lists], out=starts[1:])
    return np.concatenate(lists).astype(np.int64), starts


def pack(w: np.ndarray, inner: Lists, outer: Lists) -> Packed:
    """Compress weights.

    Args:
        w: [K, N] float32 holding FP16 values.
        inner, outer: contracted and produced indices of each group.
    """
    blocks = [
        w[np.ix_(rows, columns)].reshape(-1) for rows, columns in zip(inner, outer, strict=True)
    ]
    return Packed(np.concatenate(blocks), *flat(inner), *flat(outer))


def contract(
    x: np.ndarray, chains: Sequence[Packed], produced: int, low: int, high: int
) -> np.ndarray:
    """The sums of one core, [produced, high - low] float32; see `forward`.

    Args:
        x: [K, V] float32.
        chains: of a sum.
        produced: N.
        low, high: vectors low..high-1.
    """
    found = []
    for one in chains:
        y = np.zeros((produced, high - low), np.float32)
        kernels.contract(
            x[:, low:high] if high - low < x.shape[1] else x, 0, high - low, one.weights,
            one.inner, one.inner_start, one.outer, one.outer_start, y,
        )  # fmt: skip
        found.append(y)
    while len(found) > 1:
        for k in range(0, len(found), 2):
            kernels.add_half(found[k], found[k + 1])
        found = found[::2]
    return found[0]
