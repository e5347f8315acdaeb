"""Words of a packed port as arrays, and back."""

from __future__ import annotations

import numpy as np


def unpack(value: int, count: int, bits: int = 32, signed: bool = True) -> np.ndarray:
    """A port of words, word 0 in the low bits, to [count] int64, of 64 bits uint64."""
    mask = (1 << bits) - 1
    words = [value >> bits * k & mask for k in range(count)]
    if signed:
        words = [word - (word >> bits - 1 << bits) for word in words]
    return np.array(words, np.int64 if signed or bits < 64 else np.uint64)


def pack(words: np.ndarray, bits: int = 32) -> int:
    """[count] integers to a port of words."""
    mask = (1 << bits) - 1
    return sum((int(word) & mask) << bits * k for k, word in enumerate(words))
