"""The definition of prioritized sampling: a flat array of integer priorities."""

from __future__ import annotations

import numpy as np

from models.replay import kernels


def target(total: int, x: int, slot: int = 0, slots_log2: int | None = None) -> int:
    """The running sum that a sample looks for.

    Args:
        total: sum of all priorities, at least 1.
        x: 48-bit uniform integer.
        slot: slot in the batch, stratified sampling only.
        slots_log2: log2 of the batch size; None: not stratified.
    Returns: 1..total.
    Source: onchip_replay 2.1.2, Eq. (1); mirrors rtl/replay/jd_replay_generate.sv.
    """
    if slots_log2 is None:
        slot = slots_log2 = 0
    return kernels.target(total, np.uint64(x), slot, slots_log2)


class FlatTree:
    """All priorities in one array.

    Attributes:
        leaves: [N] int64, unsigned priorities of leaf_w bits.
    """

    def __init__(self, count: int) -> None:
        self.leaves = np.zeros(count, np.int64)

    def clear(self) -> None:
        """Set every leaf to 0."""
        self.leaves[:] = 0

    @property
    def total(self) -> int:
        """Sum of all priorities."""
        return int(self.leaves.sum())

    def find(self, targets: np.ndarray) -> np.ndarray:
        """First leaf whose running sum reaches the target.

        Args:
            targets: [B] int64, each 1..total.
        Returns: [B] int64 leaf indices.
        """
        return np.searchsorted(np.cumsum(self.leaves), targets, side="left")

    def get(self, index: int) -> int:
        """Priority of a leaf."""
        return int(self.leaves[index])

    def set(self, index: int, value: int) -> None:
        """Write a leaf."""
        self.leaves[index] = value
