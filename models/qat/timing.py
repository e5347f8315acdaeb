"""Clocks of the qat engine from its schedule, tile by tile, without data.

Entry k of a tile that starts in clock s is read in s + k, and its result is written in
s + k + DEPTH. A tile starts when the one before it has taken its entries, its weights are loaded
and its first operand is written.

Source: docs/qat.md (timestep, cycle model).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from models.qat.layout import ACTOR, CRITIC, Geometry, Layer, Table

DEPTH, TANH, ADAM = 20, 3, 77  # stages of the pipelines
JUDGE, SLOT = 25, 3  # of the loss: to its first read and from its last seed to dX; of a slot
JUDGE_PAPER = 31  # likewise, of the published schedule
LATENCY = 77  # clocks of a round trip to memory, of the preset D
CHECK, INFER_CHECK = 20, 11  # of a descriptor, with what TRAIN and INFER prepare
LOAD_PIPE, ACT_PIPE = 4, 4  # of the loader; of noise and clamp
SWEEP = 4  # between ranges of lines
START = 2 * LATENCY + CHECK  # descriptor, its checks, first data
SWITCH = 12  # from the end of a timestep to the first load of the next


@dataclass(frozen=True)
class Clocks:
    """Of a job.

    Attributes:
        total: from its start to its last answer; its descriptor was fetched before.
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

    def share(self, vectors: int, common: bool = False) -> int:
        """Vectors of the first core: every N-th one, or every N-th pair of those that all have."""
        n = self.geometry.n
        if common:
            return 2 * -(-vectors // (2 * n)) - (vectors % (2 * n) == 1)
        return -(-vectors // n)

    def forward(
        self,
        layers: tuple[Layer, ...],
        vectors: int,
        ready: Mapping[int, int],
        acting: bool = False,
        il: bool = False,
        phase: str = "fw",
    ) -> int:
        """A forward pass.

        Args:
            vectors: of a core.
            ready: clock from which an input line can be read.
            acting: the acting vector is one more entry.
            il: all cores have the vectors; each has every N-th column of weights.
        Returns: last start.
        """
        start, entries = 0, self.entries(vectors) + acting
        step = self.geometry.n if il else 1
        for layer in layers:
            out = {}
            columns = self.geometry.lines(layer.q)
            for pt, rows in enumerate(self.rows(layer.p)):
                for qt in range(0, columns, step):
                    need = ready.get(min(qt + step, columns) - 1, 0)
                    start = self.tile(phase, entries, rows, need)
                out[pt] = start + DEPTH + 1 + il
            ready = out
        return start

    def tanh_ready(self, start: int, actions: int, vectors: int, acting: bool = False) -> int:
        """Clock from which entry 0 can be read so that the last one is there in time.

        The tangents take one vector at a time, in half mode the two of an entry in turn.
        """
        each = -(-actions // self.geometry.tanh_lanes) * (2 if self.half else 1)
        return start + DEPTH + TANH + each + 1 + (each - 1) * (self.entries(vectors) + acting - 1)

    def backward(
        self,
        layers: tuple[Layer, ...],
        vectors: int,
        first: int,
        need: int,
        column: int | None = 0,
        common: bool = False,
    ) -> dict[int, int]:
        """dX from the last layer to `first`.

        Args:
            column: tile column of layer 0 of which the results are kept, None: they are of none.
            common: the other columns are taken, too.

        Returns: the last start of each output tile of the last layer whose results are kept.
        """
        starts: dict[int, int] = {}
        ready = dict.fromkeys(range(self.geometry.lines(layers[-1].p)), need)
        for index in reversed(range(first, len(layers))):
            layer, made = layers[index], dict[int, int]()
            columns: Sequence[int] = range(self.geometry.lines(layer.q))
            if not (index or common or column is None):
                columns = (column,)
            for qt in columns:
                for pt, rows in enumerate(self.rows(layer.p)):
                    made[qt] = self.tile("dx", vectors, rows, ready[pt])
            if index:
                starts = made
            elif column is not None:
                starts = {column: made[column]}
            ready = {qt: start + DEPTH + 1 for qt, start in starts.items()}
        return starts

    def weights(
        self,
        layers: tuple[Layer, ...],
        vectors: int,
        made: Mapping[int, int],
        common: bool = False,
    ) -> None:
        """dW of a network; draining a tile takes LW clocks.

        Args:
            made: the last start of each tile of the first layer's deltas. In half mode two of a
                tile's deltas are read per clock, so all of them must be there.
            common: it waits for all tiles.
        """
        after = DEPTH + (vectors if self.half else 1)
        if common and made:
            made = dict.fromkeys(made, max(made.values()))
        for index, layer in enumerate(layers):
            for pt, _ in enumerate(self.rows(layer.p)):
                need = made[pt] + after if index == 0 and pt in made else 0
                for _ in range(self.geometry.lines(layer.q)):
                    self.tile("dw", self.entries(vectors), 0, need, self.geometry.lw)

    def infer(self, layers: tuple[Layer, ...], il: bool = True) -> int:
        """The acting vector alone. Returns last start."""
        return self.forward(layers, 0, {}, True, il, "inf")

    def clocks(self, total: int) -> Clocks:
        return Clocks(total, **self.useful, entries=self.taken * self.geometry.n)


@functools.lru_cache(maxsize=64)
def infer_clocks(table: Table, geometry: Geometry, paper: bool = False) -> Clocks:
    """Of an INFER job; paper: by the published schedule."""
    g, layers = geometry, table.networks[ACTOR]
    array = _Array(g, half=False)
    begin = LATENCY + INFER_CHECK + g.lines(table.states) + LOAD_PIPE
    if not paper and g.n > 1 and g.lines(table.states) % g.n == 0:
        # All cores load lines in each clock of the first layer, so each of its bias lines waits.
        begin += g.lines(layers[0].p)
    array.t = array.free = begin
    start = array.infer(layers, il=not paper)
    return array.clocks(start + DEPTH + TANH + ACT_PIPE + LATENCY)


@functools.lru_cache(maxsize=64)
def train_clocks(
    table: Table,
    geometry: Geometry,
    batch: int,
    chunk: int,
    half: bool,
    act: str,
    paper: bool = False,
    in_row: bool = False,
) -> Clocks:
    """Of a TRAIN job that updates both networks.

    Args:
        act: `after`, `with` or nothing.
        paper: by the published schedule.
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
    lowest = 0 if paper else 1  # layer of dX
    drain = 8 + g.lw + 4

    def seed(start: int, size: int) -> int:
        vectors = array.share(size)
        if paper:  # the vectors come one after another
            return start + array.entries(size) + DEPTH + SLOT * size + JUDGE_PAPER
        # All is written, in half mode two lines an entry; then the loss of each slot.
        return start + vectors + DEPTH + SLOT * vectors + JUDGE

    def update(layers: tuple[Layer, ...]) -> None:
        if paper:
            array.t += drain + _adam(layers, g)

    for size in sizes:
        all_, mine = size if paper else array.share(size), array.share(size, paper)
        start = array.forward(actor, all_, {}, il=paper)
        ready = array.tanh_ready(start, table.actions, all_)
        array.forward(critic, all_, {column: ready}, il=paper)
        start = array.forward(critic, all_, {}, il=paper)
        made = array.backward(critic, mine, lowest, seed(start, size), None, paper)
        array.weights(critic, mine, made, paper)
    update(critic)
    each = -(-table.actions // g.tanh_lanes)
    for number, size in enumerate(sizes):
        all_, mine = size if paper else array.share(size), array.share(size, paper)
        acting = act == "with" and number == 0
        start = array.forward(actor, all_, {}, acting, paper)
        ready = array.tanh_ready(start, table.actions, all_, acting)
        array.forward(critic, all_, {column: ready}, il=paper)
        start = array.backward(critic, mine, 0, 0, column, paper)[column]
        need = start + DEPTH + 5 + (each - 1) * (mine - 1)
        made = array.backward(actor, mine, lowest, need, None, paper)
        array.weights(actor, mine, made, paper)
    end = array.t + drain + ADAM
    if paper:
        update(actor)
        end = array.t
    if act == "after":
        start = array.infer(actor, not paper)
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


def _adam(layers: tuple[Layer, ...], geometry: Geometry) -> int:
    """Of a network's lines from G through Adam, in slices, SWEEP clocks before each range."""
    ranges = [lines for layer in layers for _, lines in layer.ranges(geometry)]
    slices = geometry.lw // geometry.adam_lanes
    return slices * sum(ranges) + SWEEP * len(ranges) + ADAM


def adam_clocks(layers: tuple[Layer, ...], geometry: Geometry) -> Clocks:
    """Of an ADAM job."""
    return Clocks(START + _adam(layers, geometry) + LATENCY)


def lines_clocks(beats: int) -> Clocks:
    """Of a job that moves so many beats."""
    return Clocks(START + LATENCY + beats)


def _tiles(table: Table, geometry: Geometry, cores: int = 1) -> tuple[list[int], list[int]]:
    """Tiles of each layer of actor and critic, or what each of so many cores has of the inputs."""
    lines = geometry.lines
    actor, critic = (
        [lines(layer.p) * -(-lines(layer.q) // cores) for layer in layers]
        for layers in table.networks
    )
    return actor, critic


def multiplications(table: Table) -> tuple[int, int, int]:
    """Of a sample's forward passes, dX and dW, without padding."""
    actor, critic = ([layer.p * layer.q for layer in layers] for layers in table.networks)
    dx = 2 * sum(critic[1:]) + table.networks[CRITIC][0].p * table.actions + sum(actor[1:])
    return 2 * sum(actor) + 3 * sum(critic), dx, sum(actor) + sum(critic)


def tile_vectors(table: Table, geometry: Geometry) -> tuple[int, int, int]:
    """Tiles of a sample's forward passes, dX and dW: what the ideal clocks are made of."""
    counts = _tiles(table, geometry)
    actor, critic = (sum(c) for c in counts)
    dx = 2 * (critic - counts[CRITIC][0]) + actor - counts[ACTOR][0]
    dx += geometry.lines(table.networks[CRITIC][0].p)
    return 2 * actor + 3 * critic, dx, actor + critic


def ideal_clocks(
    table: Table, geometry: Geometry, batch: int, half: bool, paper: bool = False
) -> int:
    """Clocks of a timestep without any wait, acting left out.

    Args:
        paper: by the published schedule: forward passes of all vectors in all cores, dX of all
            layers, and Adam after dW.
    """
    g = geometry
    fw, dx, dw = tile_vectors(table, g)
    each = -(-batch // g.n)
    paired = -(-each // 2) if half else each
    if not paper:
        return paired * (fw + dw) + each * dx
    actor, critic = (sum(c) for c in _tiles(table, g))
    dx = actor + 2 * critic
    actor, critic = (sum(c) for c in _tiles(table, g, g.n))
    entries = -(-batch // 2) if half else batch
    layers = [layer for net in table.networks for layer in net]
    adam = sum(lines for layer in layers for _, lines in layer.ranges(g)) * g.lw // g.adam_lanes
    return entries * (2 * actor + 3 * critic) + each * dx + paired * dw + adam
