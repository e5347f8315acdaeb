"""Comparison-lookup selection: the index of the largest of F scores in ceil(log_f F) clocks.

The list is split into contiguous groups of at most f scores whose sizes differ by at most one, the
larger ones first. Each group compares all its pairs at once and looks the winner up. The winners
are the list of the next clock. Ties go to the lowest index.

Source: thesis 3.3 (Eq. 5.1); docs/mcts.md (selection).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import combinations


def groups(count: int, f: int) -> list[range]:
    """The groups of a list of so many scores."""
    number = -(-count // f)
    small, larger = divmod(count, number)
    sizes = [small + (index < larger) for index in range(number)]
    starts = [sum(sizes[:index]) for index in range(number)]
    return [range(at, at + size) for at, size in zip(starts, sizes, strict=True)]


def compare(scores: Sequence[int]) -> int:
    """A group's comparators as bits, pair (0, 1) in the lowest: whether u_i >= u_j, i < j."""
    pairs = combinations(range(len(scores)), 2)
    return sum((scores[i] >= scores[j]) << bit for bit, (i, j) in enumerate(pairs))


@functools.cache
def lookup(count: int) -> tuple[int, ...]:
    """The winner for each pattern of a group's comparators; 0 for patterns of no order."""
    pairs = list(combinations(range(count), 2))

    def winner(pattern: int) -> int:
        bits = {pair: pattern >> bit & 1 for bit, pair in enumerate(pairs)}
        for i in range(count):
            before = any(bits[j, i] for j in range(i))
            if not before and all(bits[i, j] for j in range(i + 1, count)):
                return i
        return 0

    return tuple(winner(pattern) for pattern in range(1 << len(pairs)))


def pick(scores: Sequence[int]) -> int:
    """A group's winner in one clock."""
    if len(scores) <= 4:
        return lookup(len(scores))[compare(scores)]
    return max(range(len(scores)), key=lambda index: (scores[index], -index))


def select(scores: Sequence[int], f: int) -> int:
    """The index of the largest score, of equal ones the lowest.

    Args:
        scores: [F].
        f: comparison-lookup factor, 2..F.
    """
    indices = list(range(len(scores)))
    while len(indices) > 1:
        parts = groups(len(indices), f)
        indices = [indices[p[pick([scores[indices[k]] for k in p])]] for p in parts]
    return indices[0]


def clocks(count: int, f: int) -> int:
    """T_sel, the clocks that a selector of so many scores takes."""
    taken = 0
    while count > 1:
        count, taken = -(-count // f), taken + 1
    return taken


def comparators(count: int, f: int) -> int:
    """Comparators of a selector."""
    found = 0
    while count > 1:
        parts = groups(count, f)
        found += sum(len(part) * (len(part) - 1) // 2 for part in parts)
        count = len(parts)
    return found
