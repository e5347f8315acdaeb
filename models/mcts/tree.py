"""The search tree of the mcts engine: what each request does, one at a time, in list order.

This is the engine's definition: the hardware may overlap requests in any way that gives the same
tree and the same responses. Addresses of nodes, the order of responses and time are not part of it.

Everything is held in arrays, and the operations are compiled. Node entries are indexed by address,
bank * Cap + index; the root's entry is the last one.

Source: thesis 3.3; docs/mcts.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from models.mcts import banks, formats, score
from models.mcts.banks import STATIC, choose
from models.mcts.formats import NO_ID, PRIORS_OF_SLOT, VALUE_MOST, Code, Flag, Geometry, Op
from models.mcts.score import (
    ILLEGAL,
    PRIOR_ONE,
    SUM_MOST,
    VISITS_MOST,
    base,
    less,
    mean,
    table_index,
    weight,
)
from models.registers import mcts as mcts_registers
from models.registers.mcts import Error
from models.sources import digest

FREE, NEW, ACTIVE, TERMINAL = range(4)  # states of an entry
NONE, EMPTY, PLANTED = range(3)  # of the tree: wants a reset; wants a root; has one
SAT, FULL, STATIC_FULL = 1, 2, 4  # bits of STICKY
COLUMNS = 8  # of a response: code, worker, depth, action, node, new id, parent, tag

# Settings and counters; both are arrays of one int64 each.
PUCT, FIRST, F_ACT, D_ACT, VL, FPU, POLICY, SETTINGS = range(8)
STAGE, N_SEL, N_UPD, N_INS, N_REFUSED, SEARCHES, STICKY, OUT, COUNTERS = range(9)

# Plain numbers: compiled functions do not take enumerations.
SEL, UPD, RESET, ROOT, READ_ROOT, FENCE = (int(op) for op in Op)
ACT, TERM, ALT, EXT = (int(flag) for flag in Flag)
EXPAND, REVISIT, AT_TERMINAL, LEAF, NOINS, OK = (int(code) for code in Code)
E_OPCODE, E_RESERVED = int(Error.E_OPCODE), int(Error.E_RESERVED)
E_WORKER, E_STATE, E_ID, E_NO_ROOT = (
    int(Error.E_WORKER), int(Error.E_STATE), int(Error.E_ID), int(Error.E_NO_ROOT),
)  # fmt: skip
E_ARG, E_BUSY, E_FULL, E_EXT = (
    int(Error.E_ARG), int(Error.E_BUSY), int(Error.E_FULL), int(Error.E_EXT),
)  # fmt: skip


class Tree(NamedTuple):
    """A tree and its workers. A is Y * Cap + 1, the last entry the root's; W is WMax.

    Attributes:
        ident, state, level, visits: [A] of a node: id, state, level, N.
        n, w, q, h, u, loss, prior: [A, F] of a child: visits, sum of values, mean, weight of its
            exploration, score, virtual loss now applied, prior.
        child: [A, F] its address, or -1.
        legal: [A, F] whether it can be selected.
        owner, used: [Y] of a bank: its level or -1, entries given.
        current: [D] bank that a level fills, or -1.
        in_use: [D, D] bool, ports by level.
        edges: [W] edges that a worker's selection took; -1: the worker is idle.
        end: [W] address of the node that they reach, or -1.
        path, action: [W, D] of each edge: the node that it leaves, the child.
        mantissa, shift, r: [1024] of the tables.
        settings: [SETTINGS] those that the tree was reset with.
        counters: [COUNTERS] since they were cleared; and STAGE, the tree's, and OUT, workers out.
        sizes: [5] X, Cap, slots of a row of priors, whether a READ_ROOT has where to write, whether
            the networks are crossbars.
    """

    ident: np.ndarray
    state: np.ndarray
    level: np.ndarray
    visits: np.ndarray
    n: np.ndarray
    w: np.ndarray
    q: np.ndarray
    h: np.ndarray
    u: np.ndarray
    loss: np.ndarray
    prior: np.ndarray
    child: np.ndarray
    legal: np.ndarray
    owner: np.ndarray
    used: np.ndarray
    current: np.ndarray
    in_use: np.ndarray
    edges: np.ndarray
    end: np.ndarray
    path: np.ndarray
    action: np.ndarray
    mantissa: np.ndarray
    shift: np.ndarray
    r: np.ndarray
    settings: np.ndarray
    counters: np.ndarray
    sizes: np.ndarray


def make(geometry: Geometry) -> Tree:
    """A tree after a hard reset."""
    g = geometry
    nodes = [np.zeros(g.entries + 1, np.int64) for _ in range(4)]
    children = [np.zeros((g.entries + 1, g.f), np.int64) for _ in range(9)]
    return Tree._make(
        [
            *nodes,
            *children,
            np.full(g.y, -1, np.int64),
            np.zeros(g.y, np.int64),
            np.full(g.d, -1, np.int64),
            np.zeros((g.d, g.d), np.bool_),
            np.full(g.w_max, -1, np.int64),
            np.full(g.w_max, -1, np.int64),
            *(np.zeros((g.w_max, g.d), np.int64) for _ in range(2)),
            *(np.zeros(1024, np.int64) for _ in range(3)),
            np.zeros(SETTINGS, np.int64),
            np.zeros(COUNTERS, np.int64),
            np.array([g.x, g.cap, g.ext_slots, 0, g.xbar], np.int64),
        ]
    )


AT_EDGE, AT_END, AT_NEW = range(3)


class Trace(NamedTuple):
    """What requests did, for the cycle model.

    Attributes:
        op: [n] of a request; 0 if it was refused.
        slots: [n] that it has in its list.
        length: [n] nodes that a SEL or UPD touched.
        path: [n, D] their addresses, from the root on.
        inserted: [n] address of the node that a SEL inserted, or -1.
        worker: [n] of a SEL or UPD.
        end: [n] what an UPD does at its last node: AT_EDGE counts an edge, AT_END nothing, AT_NEW
            makes it active.
        taken: [1] how many there are.
    """

    op: np.ndarray
    slots: np.ndarray
    length: np.ndarray
    path: np.ndarray
    inserted: np.ndarray
    worker: np.ndarray
    end: np.ndarray
    taken: np.ndarray


def make_trace(requests: int, d: int) -> Trace:
    """Room for so many requests."""
    return Trace(
        np.zeros(requests, np.int64),
        np.zeros(requests, np.int64),
        np.zeros(requests, np.int64),
        np.zeros((requests, d), np.int64),
        np.full(requests, -1, np.int64),
        np.zeros(requests, np.int64),
        np.zeros(requests, np.int64),
        np.zeros(1, np.int64),
    )


# ---- Nodes
@njit
def _score(t, at):  # type: ignore[no-untyped-def]
    """Compute the scores of all children of a node."""
    entry = table_index(t.visits[at])
    m, shift = t.mantissa[entry], t.shift[entry]
    for a in range(t.u.shape[1]):
        if t.legal[at, a]:
            first = t.n[at, a] == 0 and t.settings[FIRST] != 0
            t.u[at, a] = less(base(t.q[at, a], t.h[at, a], m, shift, first), t.loss[at, a])
        else:
            t.u[at, a] = ILLEGAL


@njit
def _weigh(t, at, a):  # type: ignore[no-untyped-def]
    """Compute mean and exploration weight of a child."""
    n = t.n[at, a]
    prior = t.prior[at, a] if t.settings[PUCT] else PRIOR_ONE
    t.q[at, a] = mean(t.w[at, a], n, t.settings[FPU])
    t.h[at, a] = weight(prior, n, t.r[table_index(n)])


@njit
def _write(t, at, ident, level):  # type: ignore[no-untyped-def]
    """Write a whole entry: a new node."""
    t.ident[at], t.state[at], t.level[at], t.visits[at] = ident, NEW, level, 0
    for a in range(t.u.shape[1]):
        t.n[at, a] = t.w[at, a] = t.q[at, a] = t.h[at, a] = t.loss[at, a] = 0
        t.prior[at, a] = t.legal[at, a] = 0
        t.u[at, a], t.child[at, a] = ILLEGAL, -1


@njit
def _activate(t, at, legal, priors):  # type: ignore[no-untyped-def]
    """Load the legal children and their priors; a node without a child is terminal."""
    t.state[at] = ACTIVE if legal else TERMINAL
    for a in range(t.u.shape[1]):
        t.legal[at, a] = legal >> a & 1
        t.prior[at, a] = priors[a]
        _weigh(t, at, a)
    _score(t, at)


@njit
def _allocate(t, level):  # type: ignore[no-untyped-def]
    """An entry for a node of a level, or -1."""
    bank, cap = t.current[level], t.sizes[1]
    if bank < 0 or t.used[bank] == cap:
        bank = choose(t.owner, t.in_use, level, t.settings[POLICY], t.sizes[4])
        if bank < 0:
            return -1
        t.counters[SEARCHES] += 1
        t.owner[bank] = level
        t.current[level] = bank
        t.in_use[level, bank % t.in_use.shape[0]] = True
    t.used[bank] += 1
    return bank * cap + t.used[bank] - 1


# ---- Requests
@njit
def _select(t, worker, new_id, response):  # type: ignore[no-untyped-def]
    """SEL: go down, expand an edge if there is none; returns the address inserted, or -1."""
    settings = t.settings
    at, level, slot = t.u.shape[0] - 1, 0, -1
    while True:
        if t.state[at] == NEW:
            code = REVISIT
        elif t.state[at] == TERMINAL:
            code = AT_TERMINAL
        elif level == settings[D_ACT] - 1:
            code = LEAF
        else:
            code = -1
        if code >= 0:
            t.end[worker] = at
            break
        a = 0
        for other in range(1, settings[F_ACT]):
            if t.u[at, other] > t.u[at, a]:
                a = other
        t.loss[at, a] += settings[VL]
        t.u[at, a] = less(t.u[at, a], settings[VL])
        t.path[worker, level] = at
        t.action[worker, level] = a
        level += 1
        if t.child[at, a] >= 0:
            at = t.child[at, a]
            continue
        code = NOINS
        if new_id != NO_ID:
            slot = _allocate(t, level)
            if slot < 0:
                code = E_FULL
                t.counters[STICKY] |= STATIC_FULL if settings[POLICY] == STATIC else FULL
            else:
                code = EXPAND
                t.child[at, a] = slot
                _write(t, slot, new_id, level)
                t.counters[N_INS] += 1
        t.end[worker] = slot
        break
    t.edges[worker] = level
    t.counters[OUT] += 1
    t.counters[N_SEL] += 1
    response[0], response[1], response[2] = code, worker, level
    response[3] = t.action[worker, level - 1]
    response[4] = t.ident[at]
    response[5] = new_id if code == EXPAND else NO_ID
    response[6] = t.ident[t.path[worker, level - 1]]
    return slot


@njit
def _update(t, worker, value, flags, legal, priors):  # type: ignore[no-untyped-def]
    """UPD: count a value on each edge of a worker's selection, then evaluate the end node."""
    count = t.edges[worker]
    for edge in range(count):
        at, a = t.path[worker, edge], t.action[worker, edge]
        v = value
        if flags & ALT and (count - 1 - edge) & 1:
            v = min(-value, VALUE_MOST)
        if t.n[at, a] == VISITS_MOST or t.visits[at] == SUM_MOST:
            t.counters[STICKY] |= SAT
        if t.n[at, a] < VISITS_MOST:
            t.n[at, a] += 1
            t.w[at, a] += v
        t.visits[at] = min(t.visits[at] + 1, SUM_MOST)
        t.loss[at, a] -= t.settings[VL]
        _weigh(t, at, a)
        _score(t, at)
    end = t.end[worker]
    if end >= 0 and t.state[end] == NEW:
        if flags & ACT:
            _activate(t, end, legal, priors)
        elif flags & TERM:
            t.state[end] = TERMINAL
    t.edges[worker] = -1
    t.counters[OUT] -= 1
    t.counters[N_UPD] += 1


@njit
def _reset(t, registers):  # type: ignore[no-untyped-def]
    """RESET: all banks are empty; the settings of the registers are the tree's."""
    t.owner[:] = -1
    t.used[:] = 0
    t.current[:] = -1
    t.in_use[:] = False
    t.settings[:] = registers
    t.counters[STAGE] = EMPTY


def drop(t: Tree) -> None:
    """Soft reset: all workers are idle, the tree is gone."""
    t.edges[:] = -1
    t.counters[OUT] = 0
    t.counters[STAGE] = NONE


@njit
def _check(t, words, at, there):  # type: ignore[no-untyped-def]
    """The error of a request, or 0; the first rule that is broken decides."""
    w0, w1, w2, w3 = words[at, 0], words[at, 1], words[at, 2], words[at, 3]
    op, flags, worker = w0 & 15, w0 >> 4 & 15, w0 >> 8 & 0xFFF
    new_id = w0 >> 24 | (w1 & 0xFF) << 8
    if op < SEL or op > FENCE:
        return E_OPCODE
    if op == SEL:
        keep0, keep1, keep2 = 0xFF0FFF0F, 0xFF, 0
    elif op == UPD:
        keep0, keep1, keep2 = 0x000FFFFF, 0xFFFFFF00, 0xFFFFFFFF
    elif op == ROOT:
        keep0, keep1, keep2 = (ACT | EXT) << 4 | 15, 0, 0xFFFFFFFF
    else:
        keep0, keep1, keep2 = 15, 0, 0
    if w0 & ~keep0 or w1 & ~keep1 or w2 & ~keep2 or w3 >> 16:
        return E_RESERVED
    if flags & EXT:
        if at + t.sizes[2] >= there:
            return E_EXT
    elif flags & ACT and t.settings[PUCT]:
        return E_EXT
    if op <= UPD and worker >= len(t.edges):
        return E_WORKER
    if op in (SEL, READ_ROOT) and t.counters[STAGE] != PLANTED:
        return E_NO_ROOT
    if (op == SEL and t.edges[worker] >= 0) or (op == UPD and t.edges[worker] < 0):
        return E_STATE
    if op == SEL and new_id != NO_ID and (new_id == 0 or new_id >= t.sizes[0]):
        return E_ID
    if op == UPD and (flags & (ACT | TERM) == ACT | TERM or (w2 and not flags & ACT)):
        return E_ARG
    if op == ROOT and (not flags & ACT or w2 == 0):
        return E_ARG
    if op in (UPD, ROOT) and w2 >> t.settings[F_ACT]:
        return E_ARG
    if op == READ_ROOT and not t.sizes[3]:
        return E_ARG
    if op in (RESET, ROOT) and t.counters[OUT]:
        return E_BUSY
    if op == ROOT and t.counters[STAGE] != EMPTY:
        return E_NO_ROOT
    return 0


@njit
def _run(t, registers, words, at, there, total, responses, trace):  # type: ignore[no-untyped-def]
    """Execute requests in order, until the list ends, there is no room, or after a READ_ROOT.

    Args:
        t: Tree.
        registers: [SETTINGS] int64, for a RESET.
        words: [total, 4] int64, the list.
        at: its slot to begin with.
        there: slots that could be read.
        total: slots of the list.
        responses: [room, COLUMNS] int64; all but the time.
        trace: Trace.
    Returns: the next slot, responses, requests executed, requests refused, whether the last
        request was an executed READ_ROOT.
    """
    made = executed = refused = 0
    priors = np.zeros(max(t.u.shape[1], PRIORS_OF_SLOT * t.sizes[2]), np.int64)
    while at < there and made < len(responses):
        w0 = words[at, 0]
        op, flags, worker = w0 & 15, w0 >> 4 & 15, w0 >> 8 & 0xFFF
        slots = 1 + t.sizes[2] if flags & EXT else 1
        if at + slots > there and there < total:
            break  # its priors could not be read
        error = _check(t, words, at, there)
        response = responses[made]
        response[:] = 0
        response[7] = words[at, 3] & 0xFFFF
        k = trace.taken[0]
        trace.taken[0] += 1
        trace.op[k], trace.slots[k] = 0 if error else op, slots
        if error:
            response[0], response[1] = error, worker
            made, refused = made + 1, refused + 1
            t.counters[N_REFUSED] += 1
            at = min(at + slots, total)
            continue
        executed += 1
        legal = words[at, 2]
        if flags & EXT:
            for a in range(len(priors)):
                priors[a] = words[at + 1 + a // 8, a % 8 // 2] >> 16 * (a % 2) & 0xFFFF
        else:
            priors[:] = 0
        if op <= UPD:
            slot, end = -1, -1
            if op == SEL:
                new_id = w0 >> 24 | (words[at, 1] & 0xFF) << 8
                slot = _select(t, worker, new_id, response)
                made += 1
            edges = t.edges[worker]
            if slot < 0:
                end = t.end[worker]
            trace.inserted[k], trace.length[k] = slot, edges
            trace.path[k, :edges] = t.path[worker, :edges]
            trace.worker[k] = worker
            if end >= 0:
                trace.path[k, edges] = end
                trace.length[k] += 1
                trace.end[k] = AT_NEW if flags & ACT else AT_END
            if op == UPD:
                value = words[at, 1] >> 8
                if value > VALUE_MOST:
                    value -= 2 * (VALUE_MOST + 1)
                _update(t, worker, value, flags, legal, priors)
        else:
            if op == RESET:
                _reset(t, registers)
            elif op == ROOT:
                root = t.u.shape[0] - 1
                _write(t, root, 0, 0)
                _activate(t, root, legal, priors)
                t.counters[STAGE] = PLANTED
            response[0] = OK
            made += 1
        at += slots
        if op == READ_ROOT:
            return at, made, executed, refused, True
    return at, made, executed, refused, False


def _kept(sources: str):  # type: ignore[no-untyped-def]
    @njit(cache=True)
    def run(t, registers, words, at, there, total, responses, trace):  # type: ignore[no-untyped-def]
        assert sources
        return _run(t, registers, words, at, there, total, responses, trace)

    return run


run = _kept(digest(banks, formats, score, mcts_registers))
