"""Operands for the a3c blocks: numbers of many sizes, special values, any bits."""

from __future__ import annotations

import numpy as np

SPECIALS = np.array(
    [
        0x0000_0000, 0x8000_0000, 0x0000_0001, 0x8000_0001, 0x007F_FFFF, 0x0080_0000, 0x8080_0000,
        0x3F80_0000, 0xBF80_0000, 0x7F7F_FFFF, 0xFF7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000,
        0x7F80_0001, 0xFFFF_FFFF,
    ],
    np.uint32,
)  # fmt: skip


def draw(generator: np.random.Generator, *shape: int, special: float = 0.1) -> np.ndarray:
    """Draw operands.

    Args:
        generator: of the random numbers.
        shape: of the result.
        special: share of special values, and again of any bits; the rest are of the size of 1.
    Returns: [*shape] uint32 bits.
    """
    kind = generator.random(shape)
    near = generator.normal(size=shape) * np.exp2(generator.integers(-3, 4, shape))
    bits = near.astype(np.float32).view(np.uint32)
    anything = generator.integers(0, 1 << 32, shape, np.uint32)
    bits = np.where(kind < 2 * special, anything, bits)
    return np.where(kind < special, generator.choice(SPECIALS, shape), bits).astype(np.uint32)


def floats(bits: np.ndarray) -> np.ndarray:
    """Bits as numbers, [...] float32."""
    return np.asarray(bits, np.uint32).view(np.float32)


def bits_of(values: np.ndarray) -> np.ndarray:
    """Inverse of floats."""
    return np.asarray(values, np.float32).view(np.uint32)
