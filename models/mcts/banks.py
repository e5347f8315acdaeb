"""Which bank a new node lies in (Algorithm 2, corrected), and how requests reach it (Algorithm 1).

A bank holds nodes of one level. Bank b is on port b mod D. Stage l, which sends the requests
of level l, reaches the ports through a network: a crossbar, or a butterfly of log2 D layers that
routes by the port's low bits first. In a butterfly two stages meet if their paths share a switch
output, in a crossbar only at a port; the assignment avoids that.

Source: thesis 3.3, Algorithms 1 and 2; docs/mcts.md (banks).
"""

from __future__ import annotations

from numba import njit

ALGORITHM_2, NEXT_EMPTY, STATIC = range(3)  # policies


def route(stage: int, bank: int, d: int) -> list[int]:
    """Rows after each layer of a butterfly, on the way of a stage to a bank; the last is the port.

    Args:
        stage: 0..D-1.
        bank: 0..Y-1.
        d: D, a power of two.
    """
    row, rows = stage, []
    for layer in range(d.bit_length() - 1):
        row = row & ~(1 << layer) | bank & 1 << layer
        rows.append(row)
    return rows


@njit
def meet(stage, port, other, other_port):  # type: ignore[no-untyped-def]
    """Whether the ways of two different stages share a switch output of a butterfly."""
    height, differ = 0, stage ^ other
    while differ >> (height + 1):
        height += 1
    return (port ^ other_port) & ((2 << height) - 1) == 0


@njit
def conflicts(in_use, level, port, xbar):  # type: ignore[no-untyped-def]
    """Other levels that have a port whose way meets that of this level to this port.

    Args:
        in_use: [D, D] bool, ports by level.
        level, port: 0..D-1.
        xbar: 1 for crossbars, 0 for butterflies.
    """
    found, d = 0, in_use.shape[0]
    for other in range(d):
        if other == level:
            continue
        for other_port in range(d):
            if not in_use[other, other_port]:
                continue
            if port == other_port if xbar else meet(level, port, other, other_port):
                found += 1
                break
    return found


@njit
def choose(owner, in_use, level, policy, xbar):  # type: ignore[no-untyped-def]
    """The empty bank that a level gets next, or -1; of equally good ones the lowest.

    Args:
        owner: [Y] int64, level of each bank, or -1.
        in_use: [D, D] bool, ports by level.
        level: 1..D-1.
        policy: ALGORITHM_2, NEXT_EMPTY or STATIC.
        xbar: 1 for crossbars, 0 for butterflies.
    """
    d, best, least = in_use.shape[0], -1, in_use.shape[0]
    for bank in range(len(owner)):
        if owner[bank] >= 0 or (policy == STATIC and bank % d != level):
            continue
        if policy != ALGORITHM_2:
            return bank
        cost = conflicts(in_use, level, bank % d, xbar)
        if cost < least:
            best, least = bank, cost
    return best
