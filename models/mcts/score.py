"""Scores of the mcts engine: what the updater computes for each child of a node.

    q = w / n, rounded down; without a visit a constant
    h = P * R[n]
    u = q + G[N] * h - virtual loss

All in integers with a binary point. N is the sum of the node's visits, n of the child's.

Source: thesis 2.1.2, Eq. 2.2; docs/mcts.md (numbers).
"""

from __future__ import annotations

from numba import njit

SCORE_MOST = (1 << 31) - 1  # u of an unvisited child that goes first, without virtual loss
SCORE_LEAST = -SCORE_MOST  # of a legal child
ILLEGAL = SCORE_LEAST - 1
VISITS_MOST = (1 << 16) - 1
SUM_MOST = (1 << 17) - 1  # of N
PRIOR_ONE = 1 << 16  # P of every child without priors
EXACT = 512  # table entries with a step of 1


@njit
def table_index(x):  # type: ignore[no-untyped-def]
    """The entry of a count 0..2**17 - 1: exact below 512, then 64 steps to each power of two."""
    if x < EXACT:
        return x
    e = 9
    while x >> (e + 1):
        e += 1
    return EXACT + (e - 9) * 64 + ((x >> (e - 6)) & 63)


@njit
def mean(w, n, unvisited):  # type: ignore[no-untyped-def]
    """q, with 20 bits of fraction; `unvisited` for n = 0."""
    return w // n if n else unvisited


@njit
def weight(prior, n, r):  # type: ignore[no-untyped-def]
    """h, with 25 bits of fraction; `r` is R of n, with 25 bits; P has 16 bits of fraction."""
    return (prior * r) >> 16 if n else prior << 9


@njit
def base(q, h, m, shift, first):  # type: ignore[no-untyped-def]
    """The score without virtual loss, with 20 bits of fraction, saturated.

    Args:
        q, h: of the child.
        m, shift: G of the node: m * 2**(5 - shift).
        first: an unvisited child that goes before visited ones.
    """
    if first:
        return SCORE_MOST
    return max(SCORE_LEAST, min(SCORE_MOST, q + ((m * h) >> shift)))


@njit
def less(score, loss):  # type: ignore[no-untyped-def]
    """A score of a legal child less a virtual loss."""
    return max(score - loss, SCORE_LEAST)
