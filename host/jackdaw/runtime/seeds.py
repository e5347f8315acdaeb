"""One seed tree for a run: every random generator of a run is derived from the run's seed.

Source: SplitMix64 (Steele, Lea, Flood, 2014), which also seeds the replay engine's generator.
"""

from __future__ import annotations

import zlib

import numpy as np

MASK = (1 << 64) - 1


def splitmix64(state: int, count: int) -> list[int]:
    """Return the next `count` outputs (64-bit) of SplitMix64 from a 64-bit state."""
    out = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(z ^ (z >> 31))
    return out


def derive(seed: int, role: str, index: int = 0) -> int:
    """Return the 63-bit seed of one role of a run, e.g. `derive(1, "environment", 3)`."""
    base = splitmix64(seed & MASK, 1)[0] ^ (zlib.crc32(role.encode()) << 20)
    return splitmix64((base + index) & MASK, 1)[0] >> 1


def generator(seed: int, role: str, index: int = 0) -> np.random.Generator:
    """Return the NumPy generator of one role of a run."""
    return np.random.Generator(np.random.PCG64(derive(seed, role, index)))
