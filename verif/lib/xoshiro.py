"""Golden model of jd_random_xoshiro: xoshiro256++ of Blackman and Vigna."""

from __future__ import annotations

MASK = (1 << 64) - 1


def _rotate_left(value: int, count: int) -> int:
    return (value << count | value >> (64 - count)) & MASK


class Xoshiro:
    """The generator; its state is four 64-bit words, not all zero."""

    def __init__(self, state: list[int]) -> None:
        self.state = list(state) if any(state) else [1, 0, 0, 0]

    @classmethod
    def unpacked(cls, bits: int) -> Xoshiro:
        """From 256 bits, word 0 in the low ones."""
        return cls([bits >> (64 * word) & MASK for word in range(4)])

    def packed(self) -> int:
        """The state as 256 bits, word 0 in the low ones."""
        return sum(word << (64 * index) for index, word in enumerate(self.state))

    def next(self) -> int:
        """Return the next 64-bit number and step the state."""
        s = self.state
        value = (_rotate_left((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotate_left(s[3], 45)
        return value
