"""Cycle model of the mcts engine: what a list of requests costs, token by token.

A request is a token. The root unit takes one per clock. From there it goes round: the FIFO of its
level's stage, the forward network, the port that holds its node, the return network, the next
level's stage. A list comes from memory: descriptors, then beats of four slots.

| part | clocks |
| --- | --- |
| front | a request per clock; 4 to the next list |
| UPD | waits until its worker's SEL is answered |
| SEL | waits for its worker's UPD before last |
| stage | 1 |
| node unit | a token per clock; T_sel + 4 from in to out |
| operation after another on the same node | T_sel |
| after an insertion or evaluation | T_sel + 3 |
| SEL after UPD | 18 + T_sel + ceil(F / Mu), until the scores are published |
| UPD after UPD of any node | ceil(F / Mu) |
| crossbar; butterfly | 1; log2 D; two tokens wait at each output |
| token that is done | one per clock; 3 until it is answered |
| descriptors | one every L + 6, the first L + 6 after the doorbell; at most 16 lists at a time |
| a beat of a list | L + 10 after it is asked for, one per clock; 64 at most wait |

It also checks what makes the sequential tree the right definition: requests come to each node in
list order.

Source: docs/mcts.md (clocks).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numba import njit

from models.mcts import formats, tree
from models.mcts.banks import choose
from models.mcts.formats import BEAT_SLOTS, Geometry
from models.mcts.select import clocks as selector_clocks
from models.mcts.tree import AT_END, AT_NEW, RESET, ROOT, SEL, UPD, Trace
from models.sources import digest

LATENCY = 64  # of the memory, clocks
PUBLISH = 18  # clocks from an UPD to its scores, beside selector and multipliers
FORWARDS = 3  # clocks beside the selector in which an insertion or evaluation is not seen yet
PASS = 4  # clocks of a node unit beside its selector
OUT_ROOM, SWITCH_ROOM = 16, 2
RETIRE = 3  # clocks in which a token that is done frees its worker
BUFFER_BEATS, LISTS = 64, 16
DESCRIPTOR, LIST = 6, 10  # clocks beside the latency
NEXT_LIST = 4  # from the last request of a list to the next one's first
FORWARD, BACK = range(2)  # networks
INS, DONE = 32, 33  # tokens that no request is
LONG_AGO = -1000
LIMIT = 400  # clocks per request: more is a fault of the model


@dataclass(frozen=True)
class Clocks:
    """What requests cost.

    Attributes:
        total: from the doorbell until the last token has retired.
        root_first, root_last: in which the root unit took the first and the last SEL or UPD, or -1.
        hazard: in which a node unit waited for an operation on the same node.
        flight: most tokens in flight.
        busy: [D + 1] that a port worked, the root unit last.
        sels: SEL requests.
        ordered: requests came to each node in list order.
    """

    total: int
    root_first: int
    root_last: int
    hazard: int
    flight: int
    busy: np.ndarray
    sels: int
    ordered: bool

    @property
    def interval(self) -> float:
        """Clocks at the root per SEL: Itv_sel of a list of SELs, Itv_iter of whole iterations."""
        return (self.root_last - self.root_first) / max(self.sels - 1, 1)


def ports_ahead(trace: Trace, geometry: Geometry, policy: int) -> np.ndarray:
    """Ports of node entries when each level keeps Sf entries ready, as the hardware does.

    Args:
        trace: a tree's requests, from its RESET on.
        geometry: the build.
        policy: how banks are given.
    Returns: [entries + 1], for `replay`, by the addresses of the trace. Entries of a level are
        taken in the order in which it got them.
    """
    g = geometry
    owner, in_use = np.full(g.y, -1, np.int64), np.zeros((g.d, g.d), np.bool_)
    ports = np.zeros(g.entries + 1, np.int64)
    ready: list[deque[int]] = [deque() for _ in range(g.d)]  # ports of entries

    def fill(level: int) -> None:
        while len(ready[level]) < g.sf:
            bank = choose(owner, in_use, level, policy, g.xbar)
            if bank < 0:
                return
            owner[bank], in_use[level, bank % g.d] = level, True
            ready[level].extend([bank % g.d] * g.cap)

    for level in range(1, g.d):
        fill(level)
    n = int(trace.taken[0])
    for k in np.flatnonzero((trace.op[:n] == SEL) & (trace.inserted[:n] >= 0)):
        level = int(trace.length[k])
        ports[trace.inserted[k]] = ready[level].popleft()
        fill(level)
    return ports


def replay(
    trace: Trace,
    geometry: Geometry,
    sizes: np.ndarray | None = None,
    latency: int = LATENCY,
    ports: np.ndarray | None = None,
) -> Clocks:
    """Time requests on an engine that is idle before them.

    Args:
        trace: what they did.
        geometry: the build.
        sizes: requests of each list, [lists] int64; default all are one list.
        latency: of the memory, clocks; 0: requests are there at once.
        ports: port of each node entry, [entries + 1]; default that of its bank.
    """
    g, n = geometry, int(trace.taken[0])
    sizes = np.array([n], np.int64) if sizes is None else sizes
    beats, first = np.zeros(n, np.int64), 0
    listed = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.zeros(len(sizes), np.int64)
    start = 0
    for index, size in enumerate(sizes):
        last = np.cumsum(trace.slots[start : start + size]) - 1
        beats[start : start + size] = first + last // BEAT_SLOTS
        start += size
        first = ends[index] = beats[start - 1] + 1
    if ports is None:
        ports = np.arange(g.entries + 1) // g.cap % g.d
    found = _kept_flow(
        trace.op[:n], trace.path[:n], trace.length[:n], trace.inserted[:n], trace.worker[:n],
        trace.end[:n], ports, beats, listed, ends, latency, g.d, bool(g.xbar),
        min(g.t, 2 * n + 2), selector_clocks(g.f, g.fr), selector_clocks(g.f, g.fp),
        -(-g.f // g.mu), g.d + g.y,
    )  # fmt: skip
    total, root_first, root_last, hazard, flight, busy, ordered = found
    if total < 0:
        raise AssertionError(f"{n} requests did not end within {LIMIT} clocks each")
    sels = int((trace.op[:n] == SEL).sum())
    return Clocks(total, root_first, root_last, hazard, flight, busy, sels, bool(ordered))


@njit
def _put(ring, head, count, queue, token):  # type: ignore[no-untyped-def]
    ring[queue, (head[queue] + count[queue]) % ring.shape[1]] = token
    count[queue] += 1


@njit
def _take(ring, head, count, queue):  # type: ignore[no-untyped-def]
    token = ring[queue, head[queue]]
    head[queue] = (head[queue] + 1) % ring.shape[1]
    count[queue] -= 1
    return token


@njit
def _flow(  # type: ignore[no-untyped-def]
    op, path, length, inserted, worker, end, ports, beats, listed, ends, latency, d, xbar, tokens,
    root_select, select, spread, clear,
):  # fmt: skip
    """Step through the clocks; see `replay`. Returns -1 as total if it does not end."""
    n, bits = len(op), 0
    while 1 << bits < d:
        bits += 1
    layers = 1 if xbar else bits
    ways = d if xbar else 2
    # FIFOs: stages, outputs of ports, then the switches of both networks.
    out_of, switch = d, 2 * d
    into = switch + FORWARD * layers * d + (layers - 1) * d
    ring = np.empty((switch + 2 * layers * d, tokens + 1), np.int64)
    head, count, turn = np.zeros((3, len(ring)), np.int64)  # turn: of the round robin at a switch
    request, level, kind, side = np.zeros((4, tokens), np.int64)
    spare, spares = np.arange(tokens), tokens
    span = max(select, root_select) + PASS + 2
    pipe = np.full(
        (d + 1, span), -1, np.int64
    )  # tokens in a unit, by the clock in which they leave
    inside = np.zeros(d + 1, np.int64)  # tokens in a unit, those in its output too
    unit_scores = np.full(d + 1, LONG_AGO)  # clock of the unit's last operation that changes scores
    want = np.zeros(d, np.int64)
    nodes = len(ports)
    last_any, last_hard, last_scores = np.full((3, nodes), LONG_AGO)
    seen = np.full(nodes, -1, np.int64)
    busy = np.zeros(d + 1, np.int64)
    arrive = np.zeros(max(ends[-1], 1), np.int64)
    workers = worker.max() + 1 if n else 1
    selecting, parity = np.zeros((2, workers), np.int64)  # selections in the tree; of the last one
    updating = np.zeros((workers, 2), np.int64)
    leaving, leaves = np.empty((2, tokens + 1), np.int64)  # tokens that are done, and when
    first_leaving = last_leaving = retired = 0
    next_descriptor, descriptors, asked_beats = latency + DESCRIPTOR, 0, 0
    at = flight = most = hazard = clock = front_free = 0
    root_first = root_last = -1
    ordered, root = True, nodes - 1
    while at < n or flight:
        clock += 1
        if clock > LIMIT * n + 10000:
            return -1, 0, 0, 0, 0, busy, False
        # ---- Node units, the root's last
        for p in range(d + 1):
            token = pipe[p, clock % span]
            if token >= 0:
                pipe[p, clock % span] = -1
                if p < d:
                    _put(ring, head, count, out_of + p, token)
                elif kind[token] != DONE:
                    _put(ring, head, count, 1, token)
                else:
                    retired = max(clock - 1, retired + 1)
                    leaving[last_leaving], leaves[last_leaving] = token, retired + RETIRE
                    last_leaving = (last_leaving + 1) % len(leaving)
            queue = into + p if p < d else 0
            if count[queue] == 0:
                continue
            token = ring[queue, head[queue]]
            j, what = request[token], kind[token]
            node = inserted[j] if what == INS else path[j, level[token]]
            ends_here = level[token] == length[j] - 1
            new = what == UPD and ends_here and end[j] == AT_NEW
            scores = new or (what == UPD and not (ends_here and end[j] == AT_END))
            lasts = root_select if p == d else select
            waits = clock < last_any[node] + lasts or clock < last_hard[node] + lasts + FORWARDS
            waits |= what == SEL and clock < last_scores[node] + PUBLISH + lasts + spread
            waits |= scores and clock < unit_scores[p] + spread
            if waits:
                hazard += 1
            if waits or inside[p] == OUT_ROOM:
                continue
            _take(ring, head, count, queue)
            ordered &= j >= seen[node]
            seen[node], last_any[node] = j, clock
            if new or what == INS:
                last_hard[node] = clock
            if scores:
                last_scores[node] = unit_scores[p] = clock
            if what == INS or (ends_here and (what == UPD or inserted[j] < 0)):
                kind[token] = DONE
            elif ends_here:
                kind[token] = INS
            level[token] += 1
            busy[p] += 1
            delay = lasts + PASS
            if p == d:
                delay += 1  # a stage is between
                root_last = clock
                if root_first < 0:
                    root_first = clock
            else:
                inside[p] += 1
            pipe[p, (clock + delay) % span] = token
        # ---- Networks, from their ends
        for net in (FORWARD, BACK):
            base = switch + net * layers * d
            for y in range(d):
                queue = base + (layers - 1) * d + y
                if net == FORWARD or count[queue] == 0:
                    continue
                token = _take(ring, head, count, queue)
                if kind[token] != DONE:
                    _put(ring, head, count, y, token)
                    continue
                retired = max(clock, retired + 1)
                leaving[last_leaving], leaves[last_leaving] = token, retired + RETIRE
                last_leaving = (last_leaving + 1) % len(leaving)
            for layer in range(layers - 1, -1, -1):
                source = base + (layer - 1) * d
                if layer == 0:
                    source = 0 if net == FORWARD else out_of
                waiting = False
                for s in range(d):  # the output that each head asks for
                    want[s] = -1
                    if count[source + s] and source + s:
                        token = ring[source + s, head[source + s]]
                        j = request[token]
                        if net == BACK:
                            goal = level[token] % d
                        else:
                            node = inserted[j] if kind[token] == INS else path[j, level[token]]
                            goal = ports[node]
                        want[s] = goal
                        if not xbar:
                            want[s] = s & ~(1 << layer) | goal & 1 << layer
                        waiting = True
                if not waiting:
                    continue
                for y in range(d):
                    queue = base + layer * d + y
                    if count[queue] >= SWITCH_ROOM:
                        continue
                    for k in range(ways):
                        s = (turn[queue] + k) % d if xbar else y ^ (turn[queue] ^ k) << layer
                        if want[s] == y:
                            want[s] = -1
                            _put(ring, head, count, queue, _take(ring, head, count, source + s))
                            if source == out_of:
                                inside[s] -= 1
                            turn[queue] = (s + 1) % d if xbar else 1 if s == y else 0
                            break
        # ---- What has retired
        while first_leaving != last_leaving and clock >= leaves[first_leaving]:
            token = leaving[first_leaving]
            first_leaving = (first_leaving + 1) % len(leaving)
            j = request[token]
            if op[j] == SEL:
                selecting[worker[j]] = 0
            else:
                updating[worker[j], side[token]] = 0
            spare[spares] = token
            spares += 1
            flight -= 1
        # ---- Fetch
        if latency:
            if descriptors < len(ends) and clock >= next_descriptor:
                running = listed[at] if at < n else len(ends)
                if descriptors < running + LISTS:
                    descriptors += 1
                    next_descriptor = clock + latency + DESCRIPTOR
            wanted = ends[descriptors - 1] if descriptors else 0
            taken = beats[at] if at < n else ends[-1]
            if asked_beats < wanted and asked_beats - taken < BUFFER_BEATS:
                arrive[asked_beats] = clock + latency + LIST
                asked_beats += 1
            if at < n and (beats[at] >= asked_beats or clock < arrive[beats[at]]):
                continue
        # ---- Front
        if at == n or flight >= tokens or front_free > clock:
            continue
        what, of = op[at], worker[at]
        front_free = clock + 1
        if what != SEL and what != UPD:  # refused, or not of a node
            if what > UPD and flight:
                continue
            if what == RESET:
                front_free = clock + clear
            if what == ROOT:
                last_scores[root] = clock
        elif what == SEL:
            if updating[of, 1 - parity[of]]:
                continue
            parity[of] = 1 - parity[of]
            selecting[of] = 1
        else:
            if selecting[of]:
                continue
            updating[of, parity[of]] = 1
        if what in (SEL, UPD):
            spares -= 1
            token = spare[spares]
            request[token], level[token], kind[token], side[token] = at, 0, what, parity[of]
            _put(ring, head, count, 0, token)
            flight += 1
            most = max(most, flight)
        if latency and at + 1 < n and listed[at + 1] != listed[at]:
            front_free = clock + NEXT_LIST
        at += 1
    return clock, root_first, root_last, hazard, most, busy, ordered


def _kept(sources: str):  # type: ignore[no-untyped-def]
    @njit(cache=True)
    def run(*arguments):  # type: ignore[no-untyped-def]
        assert sources
        return _flow(*arguments)

    return run


_kept_flow = _kept(digest(formats, tree))
