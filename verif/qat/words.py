"""Words of a packed port as arrays, and back; random words."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np


def unpack(value: int, count: int, bits: int = 32, signed: bool = True) -> np.ndarray:
    """A port of words, word 0 in the low bits, to [count] int64, of 64 bits uint64."""
    mask = (1 << bits) - 1
    words = [value >> bits * k & mask for k in range(count)]
    if signed:
        words = [word - (word >> bits - 1 << bits) for word in words]
    return np.array(words, np.int64 if signed or bits < 64 else np.uint64)


def pack(words: Iterable[int], bits: int = 32) -> int:
    """Integers to a port of words, the first in the low bits."""
    mask = (1 << bits) - 1
    return sum((int(word) & mask) << bits * k for k, word in enumerate(words))


def any_size(generator: random.Random, bits: int = 32) -> int:
    """A signed integer of any number of bits, now and then an end of the range, 0 or 1."""
    if generator.random() < 0.1:
        return generator.choice((-(1 << bits - 1), (1 << bits - 1) - 1, 0, 1, -1))
    return generator.getrandbits(bits) - (1 << bits - 1) >> generator.randrange(bits)
