"""When a bus moves: generators of idle clocks and back-pressure, all from a seeded generator.

A pattern yields (on, off): so many clocks willing, then so many not. Sources insert the `off`
clocks before a word, sinks and memories lower their ready.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

Pattern = Iterator[tuple[int, int]]


def always() -> Pattern:
    """Never pause."""
    while True:
        yield 1024, 0


def random_pauses(rng: random.Random, busy: float = 0.5, longest: int = 4) -> Pattern:
    """Pause at random.

    Args:
        rng: where the draws come from.
        busy: about this part of the clocks is willing, above 0, at most 1.
        longest: longest run of one kind, clocks.
    """
    while True:
        if rng.random() < busy:
            yield rng.randint(1, longest), 0
        else:
            yield 1, rng.randint(1, longest)


def bursts(rng: random.Random, on: int = 32, off: int = 32) -> Pattern:
    """Long runs and long pauses, up to `on` and `off` clocks: fills and empties buffers."""
    while True:
        yield rng.randint(1, on), rng.randint(0, off)


def pauses(pattern: Pattern) -> Iterator[bool]:
    """The pattern clock by clock: True where it pauses (for cocotbext-axi's pause generators)."""
    for on, off in pattern:
        yield from (False for _ in range(on))
        yield from (True for _ in range(off))
