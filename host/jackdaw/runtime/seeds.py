"""One seed tree for a run: every random generator of a run is derived from the run's seed.

Source: SplitMix64 (Steele, Lea, Flood, 2014), which also seeds the replay engine's generator.
"""

from __future__ import annotations

import zlib

import numpy as np

from models.replay.rng import splitmix64


def derive(seed: int, role: str, index: int = 0) -> int:
    """Return the 63-bit seed of one role of a run, e.g. `derive(1, "environment", 3)`."""
    base = splitmix64(seed, 1)[0] ^ (zlib.crc32(role.encode()) << 20)
    return splitmix64(base + index, 1)[0] >> 1


def generator(seed: int, role: str, index: int = 0) -> np.random.Generator:
    """Return the NumPy generator of one role of a run."""
    return np.random.Generator(np.random.PCG64(derive(seed, role, index)))
