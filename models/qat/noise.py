"""Noise of acting: uniform, Gaussian or Ornstein-Uhlenbeck, from xoshiro256++.

Source: docs/qat.md (numbers, noise); FIXAR V (PRNG).
"""

from __future__ import annotations

from models.replay.rng import Xoshiro

NO_NOISE, UNIFORM, GAUSSIAN, ORNSTEIN = range(4)
KINDS = 4
ONE = 1 << 16
FIELDS = 12  # 16-bit parts of three words, whose sum is nearly Gaussian with a deviation of 1


def _round(x: int) -> int:
    return (x + (1 << 15)) >> 16


def _saturate(x: int) -> int:
    return min(max(x, -(1 << 31)), (1 << 31) - 1)


def uniform(generator: Xoshiro) -> int:
    """One number of -1..1, frac 16: the upper 17 bits of a word."""
    return (generator.next() >> 47) - ONE


def gaussian(generator: Xoshiro) -> int:
    """One number of deviation 1, frac 16: the sum of the twelve 16-bit parts of three words."""
    total = 0
    for _ in range(FIELDS // 4):
        word = generator.next()
        total += sum(word >> 16 * part & 0xFFFF for part in range(4))
    return total - FIELDS * ONE // 2


def draw(
    kind: int, generator: Xoshiro, state: list[int], actions: int, sigma: int, theta: int
) -> list[int]:
    """Noise of each action, in order.

    Args:
        kind: NO_NOISE, UNIFORM, GAUSSIAN or ORNSTEIN.
        generator: drawn from; it moves on.
        state: x of each action of ORNSTEIN, changed in place; frac 16.
        actions: how many.
        sigma, theta: size, and pull to zero of ORNSTEIN; signed, frac 16.
    Returns: [actions], frac 16, 32 bits.
    """
    out = []
    for index in range(actions):
        if kind == NO_NOISE:
            out.append(0)
            continue
        size = uniform(generator) if kind == UNIFORM else gaussian(generator)
        step = _round(size * sigma)
        if kind == ORNSTEIN:
            x = state[index]
            state[index] = step = _saturate(x - _round(x * theta) + step)
        out.append(_saturate(step))
    return out


def disturb(action: int, noise: int) -> int:
    """An action with noise, kept within -1..1, frac 16."""
    return min(max(action + noise, -ONE), ONE)
