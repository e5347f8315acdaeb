"""The positions of self-play that a network learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from jackdaw.environments.gomoku import PLANES, symmetries


class Buffer:
    """The newest positions: planes, shares of visits, outcomes."""

    def __init__(self, most: int, size: int) -> None:
        self.planes = np.zeros((most, PLANES, size, size), np.float32)
        self.policy = np.zeros((most, size * size), np.float32)
        self.outcome = np.zeros(most, np.float32)
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.outcome))

    def add(self, planes: np.ndarray, policy: np.ndarray, outcome: np.ndarray) -> None:
        """Add positions, [k, 4, n, n], [k, n * n] and [k]."""
        at = (self.added + np.arange(len(outcome))) % len(self.outcome)
        self.planes[at], self.policy[at], self.outcome[at] = planes, policy, outcome
        self.added += len(outcome)

    def sample(self, count: int, rng: np.random.Generator) -> tuple[torch.Tensor, ...]:
        """Positions, each in one of its eight forms; fewer if there are not as many."""
        chosen = rng.choice(len(self), min(count, len(self)), replace=False)
        forms, n = rng.integers(0, 8, len(chosen)), self.planes.shape[-1]
        rows = np.arange(len(chosen))
        planes = symmetries(self.planes[chosen])[forms, rows]
        policy = symmetries(self.policy[chosen].reshape(-1, n, n))[forms, rows].reshape(-1, n * n)
        return (torch.from_numpy(planes), torch.from_numpy(policy),
                torch.from_numpy(self.outcome[chosen]))  # fmt: skip

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        held = len(self)
        return {"planes": self.planes[:held].astype(np.uint8), "policy": self.policy[:held].copy(),
                "outcome": self.outcome[:held].copy(), "added": self.added}  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `state`."""
        held = len(state["outcome"])
        for name in ("planes", "policy", "outcome"):
            getattr(self, name)[:held] = state[name]
        self.added = state["added"]
