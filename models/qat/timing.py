"""Clocks of the qat engine from its schedule, tile by tile, without data.

Entry k of a tile that starts in clock s is read in s + k, and its result is written in
s + k + DEPTH. A tile starts when the one before it has taken its entries, its weights are loaded
and its first operand is written.

Source: docs/qat.md (timestep, cycle model).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.qat.layout import ACTOR, CRITIC, Geometry, Layer, Table

DEPTH, TANH, ADAM = 20, 3, 77  # stages of the pipelines
JUDGE, SLOT = 25, 3  # of the loss: to its first read and from its last seed to dX; of a slot
LATENCY = 77  # clocks of a round trip to memory, of the preset D
CHECK, LOAD_PIPE, ACT_PIPE = 15, 4, 4  # of a descriptor; of the loader; of noise and clamp
SWEEP = 2  # between ranges of lines
START = 2 * LATENCY + CHECK  # descriptor, its checks, first data
SWITCH = 12  # from the end of a timestep to the first load of the next


@dataclass(frozen=True)
class Clocks:
    """Of a job.

    Attributes:
        total: from the descriptor to the record.
        fw, dx, dw: in which the array takes entries; inf: in which the acting inference loads
            weights, of which each serves one vector.
        entries: taken by all cores.
    """

    total: int
    fw: int = 0
    dx: int = 0
    dw: int = 0
    inf: int = 0
    entries: int = 0

    @property
    def wait(self) -> int:
        """Clocks outside of all phases."""
        return self.total - self.fw - self.dx - self.dw - self.inf


@dataclass
class _Array:
    """The array's clock.

    Attributes:
        t: next clock of the array; `free`: clock from which the shadow registers can load.
        useful: clocks without waiting, by phase.
        taken: entries of a core.
    """

    geometry: Geometry
    half: bool
    t: int = 0
    free: int = 0
    useful: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("fw", "dx", "dw", "inf"), 0)
    )
    taken: int = 0

    def tile(self, phase: str, entries: int, rows: int, need: int, period: int = 0) -> int:
        """One tile; returns its start.

        Args:
            rows: of weights to load, 0 of dW.
            need: clock from which entry 0 can be read.
            period: clocks that it takes at least.
        """
        start = max(self.t, self.free + rows if rows else 0, need)
        self.t = start + max(entries, period)
        if rows:
            self.free = start
        self.useful[phase] += rows if phase == "inf" else entries
        self.taken += entries
        return start

    def rows(self, p: int) -> Iterable[int]:
        """Rows of each tile over P outputs."""
        lw = self.geometry.lw
        return (min(lw, p - at) for at in range(0, p, lw))

    def entries(self, vectors: int) -> int:
        return -(-vectors // 2) if self.half else vectors

    def forward(self, layers: tuple[Layer, ...], vectors: int, ready: Mapping[int, int]) -> int:
        """A forward pass; ready: clock from which an input line can be read. Returns last start."""
        start = 0
        for layer in layers:
            out = {}
            for pt, rows in enumerate(self.rows(layer.p)):
                for qt in range(self.geometry.lines(layer.q)):
                    need = ready.get(qt, 0)
                    start = self.tile("fw", self.entries(vectors), rows, need)
                out[pt] = start + DEPTH + 1
            ready = out
        return start

    def tanh_ready(self, start: int, actions: int, vectors: int) -> int:
        """Clock from which entry 0 can be read so that the last one is there in time.

        The tangents take one vector at a time, in half mode the two of an entry in turn.
        """
        each = -(-actions // self.geometry.tanh_lanes) * (2 if self.half else 1)
        return start + DEPTH + TANH + each + 1 + (each - 1) * (self.entries(vectors) - 1)

    def backward(
        self, layers: tuple[Layer, ...], vectors: int, first: int, need: int, column: int = 0
    ) -> dict[int, int]:
        """dX from the last layer to `first`; of layer 0 the tile column of the action alone.

        Returns: the last start of each output tile of the last layer.
        """
        starts: dict[int, int] = {}
        ready = dict.fromkeys(range(self.geometry.lines(layers[-1].p)), need)
        for index in reversed(range(first, len(layers))):
            layer = layers[index]
            starts = {}
            for qt in range(self.geometry.lines(layer.q)) if index else (column,):
                for pt, rows in enumerate(self.rows(layer.p)):
                    starts[qt] = self.tile("dx", vectors, rows, ready[pt])
            ready = {qt: start + DEPTH + 1 for qt, start in starts.items()}
        return starts

    def weights(self, layers: tuple[Layer, ...], vectors: int, made: Mapping[int, int]) -> None:
        """dW of a network; draining a tile takes LW clocks.

        Args:
            made: the last start of each tile of the first layer's deltas. In half mode two of a
                tile's deltas are read per clock, so all of them must be there.
        """
        after = DEPTH + (vectors if self.half else 1)
        for index, layer in enumerate(layers):
            for pt, _ in enumerate(self.rows(layer.p)):
                need = made[pt] + after if index == 0 and pt in made else 0
                for _ in range(self.geometry.lines(layer.q)):
                    self.tile("dw", self.entries(vectors), 0, need, self.geometry.lw)

    def infer(self, layers: tuple[Layer, ...]) -> int:
        """One vector in all cores; each has every N-th column of weights. Returns last start."""
        n, ready, start = self.geometry.n, dict[int, int](), 0
        for layer in layers:
            out = {}
            columns = self.geometry.lines(layer.q)
            for pt, rows in enumerate(self.rows(layer.p)):
                for k in range(0, columns, n):
                    need = ready.get(min(k + n, columns) - 1, 0)
                    start = self.tile("inf", 1, rows, need)
                out[pt] = start + DEPTH + 2
            ready = out
        return start

    def clocks(self, total: int) -> Clocks:
        return Clocks(total, **self.useful, entries=self.taken * self.geometry.n)


@functools.lru_cache(maxsize=64)
def infer_clocks(table: Table, geometry: Geometry) -> Clocks:
    """Of an INFER job."""
    array = _Array(geometry, half=False)
    array.t = array.free = START + geometry.lines(table.states) + LOAD_PIPE
    start = array.infer(table.networks[ACTOR])
    return array.clocks(start + DEPTH + TANH + ACT_PIPE + 2 * LATENCY)


@functools.lru_cache(maxsize=64)
def train_clocks(
    table: Table,
    geometry: Geometry,
    batch: int,
    chunk: int,
    half: bool,
    act: str,
    in_row: bool = False,
) -> Clocks:
    """Of a TRAIN job.

    Args:
        act: `after`, `with` or nothing.
        in_row: from the end of a TRAIN before it, which hides descriptor, records and state, to its
            own; else alone.
    """
    g = geometry
    actor, critic = table.networks
    array = _Array(g, half)
    sizes = [min(chunk, batch - first) for first in range(0, batch, chunk)]
    beats = -(-g.record_bytes(table.states) // 64)
    head = START + beats * sizes[0] - sizes[0] // g.n + LOAD_PIPE
    if in_row:
        head = SWITCH + g.lw
    array.t, array.free = head, head - g.lw
    column = g.action_place(table.states, table.actions) // g.lw

    for size in sizes:
        vectors = -(-size // g.n)
        start = array.forward(actor, vectors, {})
        ready = array.tanh_ready(start, table.actions, vectors)
        array.forward(critic, vectors, {column: ready})
        start = array.forward(critic, vectors, {})
        # All is written, in half mode two lines an entry; then the loss of each slot.
        seed = start + vectors + DEPTH + SLOT * vectors + JUDGE
        array.weights(critic, vectors, array.backward(critic, vectors, 1, seed))
    each = -(-table.actions // g.tanh_lanes)
    for number, size in enumerate(sizes):
        vectors = -(-size // g.n)
        start = array.forward(actor, vectors, {})
        ready = array.tanh_ready(start, table.actions, vectors)
        if act == "with" and number == 0:
            array.t = array.infer(actor) + DEPTH + TANH + ACT_PIPE + LATENCY
        array.forward(critic, vectors, {column: ready})
        start = array.backward(critic, vectors, 0, 0, column)[column]
        need = start + DEPTH + 5 + (each - 1) * (vectors - 1)
        array.weights(actor, vectors, array.backward(actor, vectors, 1, need))
    end = array.t + 8 + g.lw + 4 + ADAM
    if act == "after":
        start = array.infer(actor)
        end = max(end, start + DEPTH + TANH + ACT_PIPE + LATENCY)
    return array.clocks(end if in_row else end + LATENCY)


def layer_clocks(layer: Layer, geometry: Geometry, vectors: int, phase: str, half: bool) -> Clocks:
    """Of a one-layer job: fw, dx or dw."""
    array = _Array(geometry, half, START, START)
    each = -(-vectors // geometry.n)
    if phase == "fw":
        array.forward((layer,), each, {})
    elif phase == "dx":
        array.backward((layer, layer), each, 1, 0)
    else:
        array.weights((layer,), each, {})
    return array.clocks(array.t + DEPTH + LATENCY)


def adam_clocks(layers: tuple[Layer, ...], geometry: Geometry) -> Clocks:
    """Of an ADAM job: lines in slices, and SWEEP clocks before each range of lines."""
    ranges = [lines for layer in layers for _, lines in layer.ranges(geometry)]
    slices = geometry.lw // geometry.adam_lanes
    return Clocks(START + slices * sum(ranges) + SWEEP * len(ranges) + ADAM + LATENCY)


def lines_clocks(beats: int) -> Clocks:
    """Of a job that moves so many beats."""
    return Clocks(START + LATENCY + beats)


def tile_vectors(table: Table, geometry: Geometry) -> tuple[int, int, int]:
    """Tiles of a sample's forward passes, dX and dW: what the ideal clocks are made of."""
    counts = [
        [geometry.lines(layer.p) * geometry.lines(layer.q) for layer in layers]
        for layers in table.networks
    ]
    actor, critic = (sum(c) for c in counts)
    dx = 2 * (critic - counts[CRITIC][0]) + actor - counts[ACTOR][0]
    dx += geometry.lines(table.networks[CRITIC][0].p)
    return 2 * actor + 3 * critic, dx, actor + critic


def ideal_clocks(table: Table, geometry: Geometry, batch: int, half: bool) -> int:
    """Clocks of a timestep without any wait, acting left out."""
    fw, dx, dw = tile_vectors(table, geometry)
    each = -(-batch // geometry.n)
    paired = -(-each // 2) if half else each
    return paired * (fw + dw) + each * dx
