"""Cycle model of the mcts engine: what a list of requests costs, token by token.

A request is a token. The root unit takes one per clock. From there it goes round: the FIFO of its
level's stage, the forward network, the port that holds its node, the return network, the next
level's stage. A list comes from memory: descriptors, then beats of four slots.

| part | clocks |
| --- | --- |
| node unit | a token per clock; T_sel + 3 from in to out |
| SEL after SEL of the same node | T_sel |
| SEL after UPD | 20, until the scores are published |
| UPD after SEL | 3, in the root unit 1 |
| UPD after UPD | ceil(F / Mu), of the same node 1 |
| crossbar; butterfly | 1; log2 D; two tokens wait at each output |
| descriptors | one every L + 6, the first L + 6 after the doorbell; at most 16 lists at a time |
| a beat of a list | L + 10 after it is asked for, one per clock; 64 at most wait |

It also checks what makes the sequential tree the right definition: requests come to each node in
list order.

Source: docs/mcts.md (clocks).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from models.mcts import formats, tree
from models.mcts.formats import BEAT_SLOTS, Geometry
from models.mcts.select import clocks as selector_clocks
from models.mcts.tree import RESET, ROOT, SEL, UPD, Trace
from models.sources import digest

LATENCY = 64  # of the memory, clocks
PUBLISHED = 20  # clocks from an UPD to its scores
SEL_TO_UPD = 3
PASS = 3  # clocks of a node unit beside its selector
PORT_ROOM, SWITCH_ROOM = 4, 2
BUFFER_BEATS, LISTS = 64, 16
DESCRIPTOR, LIST = 6, 10  # clocks beside the latency
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
        trace.op[:n], trace.path[:n], trace.length[:n], trace.inserted[:n], ports, beats, listed,
        ends, latency, g.d, bool(g.xbar), min(g.t, 2 * n + 2), selector_clocks(g.f, g.fr),
        selector_clocks(g.f, g.fp), -(-g.f // g.mu), g.d + g.y,
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
    op, path, length, inserted, ports, beats, listed, ends, latency, d, xbar, tokens, root_select,
    select, spread, clear,
):  # fmt: skip
    """Step through the clocks; see `replay`. Returns -1 as total if it does not end."""
    n, bits = len(op), 0
    while 1 << bits < d:
        bits += 1
    layers = 1 if xbar else bits
    ways = d if xbar else 2
    # FIFOs: stages, outputs of ports, inputs of ports, then the switches of both networks.
    out_of, into, switch = d, 2 * d, 3 * d
    queues = switch + 2 * layers * d
    ring = np.empty((queues, tokens + 1), np.int64)
    head, count = np.zeros(queues, np.int64), np.zeros(queues, np.int64)
    turn = np.zeros(queues, np.int64)  # of the round robin at a switch
    request, level, kind = np.zeros((3, tokens), np.int64)
    spare, spares = np.arange(tokens), tokens
    deep = select + PASS
    pipe = np.full((d, deep), -1, np.int64)  # tokens in a port, by the clock in which they leave
    want = np.zeros(d, np.int64)
    free = np.zeros(d, np.int64)  # clock from which a port takes the next token
    last_update = np.full(d + 1, -1, np.int64)  # node, if a unit's last token was an UPD
    nodes = len(ports)
    last_sel, last_upd = np.full(nodes, LONG_AGO), np.full(nodes, LONG_AGO)
    seen = np.full(nodes, -1, np.int64)
    busy = np.zeros(d + 1, np.int64)
    arrive = np.zeros(max(ends[-1], 1), np.int64)
    next_descriptor, descriptors, asked = latency + DESCRIPTOR, 0, 0
    at = flight = most = hazard = clock = root_free = 0
    root_first = root_last = -1
    ordered, root = True, nodes - 1
    while at < n or flight:
        clock += 1
        if clock > LIMIT * n + 10000:
            return -1, 0, 0, 0, 0, busy, False
        # ---- Ports
        for p in range(d):
            token = pipe[p, clock % deep]
            if token >= 0:
                _put(ring, head, count, out_of + p, token)
                pipe[p, clock % deep] = -1
            if count[into + p] == 0 or free[p] > clock:
                continue
            token = ring[into + p, head[into + p]]
            j, what = request[token], kind[token]
            node = inserted[j] if what == INS else path[j, level[token]]
            if what == SEL and (
                clock < last_sel[node] + select or clock < last_upd[node] + PUBLISHED
            ):
                hazard += 1
                continue
            if what == UPD and clock < last_sel[node] + SEL_TO_UPD:
                hazard += 1
                continue
            _take(ring, head, count, into + p)
            ordered &= j >= seen[node]
            seen[node] = j
            work = 1
            ends_here = level[token] == length[j] - 1
            if what == SEL:
                last_sel[node], last_update[p] = clock, -1
                if ends_here:
                    kind[token] = INS if inserted[j] >= 0 else DONE
            elif what == UPD:
                work = 1 if last_update[p] == node else spread
                last_upd[node], last_update[p] = clock, node
                if ends_here:
                    kind[token] = DONE
            else:
                kind[token] = DONE
            level[token] += 1
            free[p] = clock + work
            busy[p] += work
            pipe[p, clock % deep] = token  # `deep` clocks later
        # ---- Networks, from their ends
        for net in (BACK, FORWARD):
            base = switch + net * layers * d
            for y in range(d):
                queue = base + (layers - 1) * d + y
                if count[queue] == 0:
                    continue
                if net == FORWARD:
                    if count[into + y] < PORT_ROOM:
                        _put(ring, head, count, into + y, _take(ring, head, count, queue))
                    continue
                token = _take(ring, head, count, queue)
                if kind[token] == DONE:
                    spare[spares] = token
                    spares += 1
                    flight -= 1
                else:
                    _put(ring, head, count, y, token)
            for layer in range(layers - 1, -1, -1):
                source = base + (layer - 1) * d
                if layer == 0:
                    source = 0 if net == FORWARD else out_of
                waiting = False
                for s in range(d):  # the output that each head asks for
                    want[s] = -1
                    if count[source + s]:
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
                            turn[queue] = (s + 1) % d if xbar else 1 if s == y else 0
                            break
        # ---- Fetch
        if latency:
            if descriptors < len(ends) and clock >= next_descriptor:
                running = listed[at] if at < n else len(ends)
                if descriptors < running + LISTS:
                    descriptors += 1
                    next_descriptor = clock + latency + DESCRIPTOR
            wanted = ends[descriptors - 1] if descriptors else 0
            taken = beats[at] if at < n else ends[-1]
            if asked < wanted and asked - taken < BUFFER_BEATS:
                arrive[asked] = clock + latency + LIST
                asked += 1
            if at < n and (beats[at] >= asked or clock < arrive[beats[at]]):
                continue
        # ---- Root unit
        if at == n or flight >= tokens or root_free > clock:
            continue
        what = op[at]
        if what != SEL and what != UPD:  # refused, or not of a node
            if what > UPD and flight:
                continue
            root_free = clock + (clear if what == RESET else 1)
            if what == ROOT:
                last_upd[root] = clock
            at += 1
            continue
        if what == SEL and (
            clock < last_sel[root] + root_select or clock < last_upd[root] + PUBLISHED
        ):
            hazard += 1
            continue
        if what == UPD and clock < last_sel[root] + 1:
            hazard += 1
            continue
        if root_first < 0:
            root_first = clock
        root_last = clock
        work, goes_on = 1, length[at] > 1
        if what == SEL:
            last_sel[root], last_update[d] = clock, -1
            goes_on |= inserted[at] >= 0
        else:
            work = 1 if last_update[d] == root else spread
            last_upd[root], last_update[d] = clock, root
        busy[d] += work
        root_free = clock + work
        if goes_on:
            spares -= 1
            token = spare[spares]
            request[token], level[token], kind[token] = at, 1, what
            if what == SEL and length[at] == 1:
                kind[token] = INS
            _put(ring, head, count, 1, token)
            flight += 1
            most = max(most, flight)
        at += 1
    return clock, root_first, root_last, hazard, most, busy, ordered


def _kept(sources: str):  # type: ignore[no-untyped-def]
    @njit(cache=True)
    def run(*arguments):  # type: ignore[no-untyped-def]
        assert sources
        return _flow(*arguments)

    return run


_kept_flow = _kept(digest(formats, tree))
