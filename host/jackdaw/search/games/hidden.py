"""A synthetic game: a tree of random numbers, whose simulations take as long as one likes."""

from __future__ import annotations

import time

import numpy as np

from jackdaw.search.environment import SearchEnv

MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """A hash of 64 bits (SplitMix64)."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class HiddenTree(SearchEnv):
    """Rewards 0..1 that are a hash of the actions so far."""

    def __init__(self, actions: int = 6, depth: int = 40, simulation_us: float = 0.0) -> None:
        """Make the tree.

        Args:
            actions: of a node.
            depth: steps of an episode.
            simulation_us: time that a roll-out waits, microseconds.
        """
        self.actions, self.depth, self._wait = actions, depth, simulation_us * 1e-6
        self.state_size = 16
        self.reset(0)

    def reset(self, seed: int) -> None:
        """See SearchEnv."""
        self.state, self.steps, self.over = mix(seed), 0, False

    def save_into(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        buffer.view(np.uint64)[:] = self.state, self.steps

    def load_from(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        self.state, self.steps = buffer.view(np.uint64).tolist()
        self.over = self.steps == self.depth

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv."""
        self.state = mix(self.state * 31 + action)
        self.steps += 1
        self.over = self.steps == self.depth
        return (self.state >> 11) / 2**53, self.over

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        """See SearchEnv: one number, for as many steps as are left."""
        if self._wait:
            time.sleep(self._wait)
        return float(rng.random()) * min(horizon, self.depth - self.steps)
