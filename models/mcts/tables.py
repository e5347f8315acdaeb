"""The two tables of the mcts engine, G of a node's visits and R of a child's, for each rule.

| rule | G[N] | R[n] |
| --- | --- | --- |
| uct | c sqrt(ln max(N, 1)) | 1 / sqrt(n) |
| alphazero | c sqrt(ln max(N, 1)) | 1 / (1 + n) |
| puct | c sqrt(N + 1) | 1 / (1 + n) |

Source: thesis Eq. 2.2; docs/mcts.md (numbers).
"""

from __future__ import annotations

import numpy as np

from models.mcts.formats import TABLE_WORDS
from models.mcts.score import EXACT

RULES = ("uct", "alphazero", "puct")
MANTISSA_BITS, SHIFT_MOST = 17, 21
EXPONENTS = (0, 4, 8, 12)
EXPONENT_LSB = 20
R_FRAC, R_BITS = 25, 26
LARGEST = 2.0 ** (MANTISSA_BITS - 16 + EXPONENTS[-1])  # G is below it


def left_edge(index: int) -> int:
    """The least count that has this entry."""
    if index < EXACT:
        return index
    power, step = divmod(index - EXACT, 64)
    return (64 + step) << (3 + power)


LEFT_EDGES = np.array([left_edge(index) for index in range(TABLE_WORDS)])


def curves(rule: str, c: float) -> tuple[np.ndarray, np.ndarray]:
    """G and R of a rule at the left edges, [1024] float64 each. Raises: ValueError."""
    if rule not in RULES:
        raise ValueError(f"rule: got {rule!r}, want one of {', '.join(RULES)}")
    n = LEFT_EDGES.astype(np.float64)
    grown = n + 1 if rule == "puct" else np.log(np.maximum(n, 1))
    r = 1 / np.sqrt(np.maximum(n, 1)) if rule == "uct" else 1 / (1 + n)
    return c * np.sqrt(grown), r


def encode_g(g: np.ndarray) -> np.ndarray:
    """G as words: a mantissa of 17 bits, and the least exponent that holds it.

    Args:
        g: [n] float64, 0 to less than 8192.
    Returns: [n] uint32.
    Raises: ValueError.
    """
    if not ((g >= 0) & (g < LARGEST)).all():
        raise ValueError(f"G: got {g.min()}..{g.max()}, want 0 to less than {LARGEST}")
    words = np.zeros(len(g), np.uint32)
    for index, value in enumerate(g):
        exponent = next(
            (e for e in EXPONENTS if round(value * 2.0 ** (16 - e)) < 1 << MANTISSA_BITS),
            EXPONENTS[-1],
        )
        mantissa = min(round(value * 2.0 ** (16 - exponent)), (1 << MANTISSA_BITS) - 1)
        words[index] = mantissa | exponent << EXPONENT_LSB
    return words


def encode_r(r: np.ndarray) -> np.ndarray:
    """R as words with 25 bits of fraction, [n] uint32."""
    return np.minimum(np.rint(r * 2.0**R_FRAC), (1 << R_BITS) - 1).astype(np.uint32)


def tables(rule: str, c: float) -> np.ndarray:
    """The words that a TABLES job reads: G, then R, [2048] uint32. Raises: ValueError."""
    g, r = curves(rule, c)
    return np.concatenate([encode_g(g), encode_r(r)])


def decode(words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int | None]:
    """The tables of 2048 words.

    Returns: mantissas and shifts of G, and R, [1024] int64 each; and the first illegal word,
        or None.
    """
    g = words[:TABLE_WORDS].astype(np.int64)
    r = words[TABLE_WORDS:].astype(np.int64)
    exponent = g >> EXPONENT_LSB
    bad = np.concatenate(
        [
            ~np.isin(exponent, EXPONENTS) | (g >> MANTISSA_BITS & 7 != 0),
            r >> R_BITS != 0,
        ]
    )
    first = int(bad.argmax()) if bad.any() else None
    return g & (1 << MANTISSA_BITS) - 1, SHIFT_MOST - exponent, r, first
