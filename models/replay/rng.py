"""The engine's random numbers: xoshiro256++, as rtl/lib/random/jd_random_xoshiro.sv."""

from __future__ import annotations

import numpy as np

from models.replay import kernels

MASK64 = (1 << 64) - 1


def splitmix64(seed: int, count: int = 4) -> list[int]:
    """Expand a 64-bit seed into `count` 64-bit words (SplitMix64, Steele et al., OOPSLA'14)."""
    words = []
    state = seed & MASK64
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        words.append(z ^ (z >> 31))
    return words


class Xoshiro:
    """xoshiro256++ (Blackman and Vigna, ACM TOMS 47(4)). An all-zero state becomes 1, 0, 0, 0.

    Attributes:
        words: [4] uint64, the state.
    """

    def __init__(self, state: list[int] | None = None) -> None:
        self.words = np.zeros(4, np.uint64)
        self.load(state or [0] * 4)

    @property
    def state(self) -> list[int]:
        """The state: four 64-bit words; `load` sets them."""
        return self.words.tolist()

    def load(self, state: list[int]) -> None:
        """Set the state: four 64-bit words."""
        self.words[:] = [s & MASK64 for s in state] if any(state) else [1, 0, 0, 0]

    def next(self) -> int:
        """Return the next 64-bit number."""
        return kernels.random(self.words)

    def uniform(self) -> int:
        """Return the next 48-bit uniform integer."""
        return self.next() >> 16

    def uniforms(self, count: int) -> np.ndarray:
        """Return the next 48-bit uniform integers, [count] uint64."""
        return kernels.uniforms(self.words, count)
