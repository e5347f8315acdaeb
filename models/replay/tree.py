"""A K-ary tree of exact sums: the same results as `flat`, in O(log N) a step."""

from __future__ import annotations

import numpy as np


class SumTree:
    """K-ary sum tree over 2^n_log2 leaves.

    The fan-out cannot be seen in any result; the default is fast here.

    Attributes:
        levels: the nodes of each level below the root, int64; the last are the leaves.
        total: the root.
    """

    def __init__(self, n_log2: int, k_log2: int = 6) -> None:
        count = -(-n_log2 // k_log2)
        sizes = [n_log2 - (count - d) * k_log2 for d in range(1, count + 1)]
        self._fans = [1 << sizes[0]] + [1 << k_log2] * (count - 1)
        self._shifts = [n_log2 - size for size in sizes]
        self.levels = [np.zeros(1 << size, np.int64) for size in sizes]
        self.total = 0

    @property
    def leaves(self) -> np.ndarray:
        """[2^n_log2] int64."""
        return self.levels[-1]

    def clear(self) -> None:
        """Set every leaf to 0."""
        for level in self.levels:
            level[:] = 0
        self.total = 0

    def get(self, index: int) -> int:
        """Priority of a leaf."""
        return int(self.levels[-1][index])

    def set(self, index: int, value: int) -> None:
        """Write one leaf."""
        delta = value - int(self.levels[-1][index])
        if delta:
            for level, shift in zip(self.levels, self._shifts, strict=True):
                level[index >> shift] += delta
            self.total += delta

    def set_many(self, indices: np.ndarray, values: np.ndarray) -> None:
        """Write leaves in order: of one index given twice the later value stays.

        Args:
            indices: [B] int64.
            values: [B] int64.
        """
        if len(indices) == 0:
            return
        leaves = self.levels[-1]
        touched = np.unique(indices)
        before = leaves[touched]
        leaves[indices] = values
        delta = leaves[touched] - before
        for level, shift in zip(self.levels[:-1], self._shifts[:-1], strict=True):
            np.add.at(level, touched >> shift, delta)
        self.total += int(delta.sum())

    def wrong(self) -> tuple[int, int] | None:
        """Level (0 is the root) and place of the first node that is not the sum of its leaves."""
        for number, level in enumerate([np.array([self.total]), *self.levels]):
            differs = level != self.leaves.reshape(len(level), -1).sum(axis=1)
            if differs.any():
                return number, int(differs.argmax())
        return None

    def find(self, targets: np.ndarray) -> np.ndarray:
        """First leaf whose running sum reaches the target.

        Args:
            targets: [B] int64, each 1..total.
        Returns: [B] int64 leaf indices.
        """
        rest = targets.astype(np.int64)
        index = np.zeros(len(rest), np.int64)
        here = np.arange(len(rest))
        for level, fan in zip(self.levels, self._fans, strict=True):
            sums = np.cumsum(level.reshape(-1, fan)[index], axis=1)
            child = (sums < rest[:, None]).sum(axis=1)
            rest = rest - np.where(child > 0, sums[here, child - 1], 0)
            index = index * fan + child
        return index
