"""A K-ary tree of exact sums: the same results as `flat`, in O(log N) a step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from models.replay import kernels


class SumTree:
    """K-ary sum tree over 2^n_log2 leaves.

    The fan-out cannot be seen in any result; the default is fast here.

    Attributes:
        nodes: the nodes of all levels, int64, from the root to the leaves.
        shape: [L, 3] int64, what the kernels need to know of each level below the root.
        levels: the nodes of each level below the root, views; the last are the leaves.
        leaves: [2^n_log2] int64, the last level.
    """

    def __init__(self, n_log2: int, k_log2: int = 6) -> None:
        self._n_log2 = n_log2
        count = -(-n_log2 // k_log2)
        sizes = [n_log2 - (count - d) * k_log2 for d in range(1, count + 1)]
        fans = [1 << sizes[0]] + [1 << k_log2] * (count - 1)
        begins = np.cumsum([1] + [1 << size for size in sizes])
        self.nodes = np.zeros(begins[-1], np.int64)
        self.shape = np.array(
            [[b, n_log2 - size, fan] for b, size, fan in zip(begins, sizes, fans, strict=False)],
            np.int64,
        )
        self.levels = [self.nodes[a:b] for a, b in pairwise(begins)]
        self.leaves = self.levels[-1]

    @property
    def total(self) -> int:
        """The root: the sum of all leaves."""
        return int(self.nodes[0])

    @total.setter
    def total(self, value: int) -> None:
        self.nodes[0] = value

    def clear(self) -> None:
        """Set every leaf to 0."""
        self.nodes[:] = 0

    def get(self, index: int) -> int:
        """Priority of a leaf."""
        return int(self.leaves[index])

    def set(self, index: int, value: int) -> None:
        """Write one leaf."""
        self.set_many(np.array([index], np.int64), np.array([value], np.int64))

    def set_many(self, indices: np.ndarray, values: np.ndarray) -> None:
        """Write leaves in order: of one index given twice the later value stays.

        Args:
            indices: [B] int64.
            values: [B] int64.
        Raises: IndexError.
        """
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(self.leaves):
            raise IndexError(
                f"leaf {indices.min()}..{indices.max()}: want 0..{len(self.leaves) - 1}"
            )
        kernels.tree_set_many(self.nodes, self.shape, indices, values)

    def wrong(self) -> tuple[int, int] | None:
        """Level (0 is the root) and place of the first node that is not the sum of its leaves."""
        for number, level in enumerate([self.nodes[:1], *self.levels]):
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
        return kernels.tree_find_many(self.nodes, self.shape, targets)
