"""Cycle model: clocks in which a compute unit issues, stage by stage.

A unit issues one vector of products per clock. It holds a context until LA clocks after the
context's own last issue, so a loop over fewer than LA contexts has bubbles. A stage is a list of
loops; from them follow the clocks in closed form, which count a loop's last round in full, and
those of the issuer's rule, which the hardware's counters must equal.

Source: a3c 6 (loops), 6.6 (closed forms), 8.1 (figures of the paper's network).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from models.a3c.network import CONV, ROW_WORDS, Geometry, Layer, Network

FW, GC, BW = "FW", "GC", "BW"
START = 200  # clocks of a task beside its issues: descriptor, first parameters, record
LANE_CONTEXTS = 31  # of a pass of GC of a convolution, the bias not counted


@dataclass(frozen=True)
class Loop:
    """Tiles that are alike.

    Attributes:
        tiles: their number.
        steps: terms that each of their sums takes, or groups of terms with `rounds` of them.
        rounds: (first, last + 1) of the contexts that are issued, one round after the other.
    """

    tiles: int
    steps: int
    rounds: tuple[tuple[int, int], ...]

    @property
    def issued(self) -> int:
        """Clocks in which something is issued (ISSUE)."""
        return self.tiles * self.steps * sum(last - first for first, last in self.rounds)

    def closed(self, la: int) -> int:
        """Clocks if every round takes at least LA clocks."""
        return self.tiles * self.steps * sum(max(b - a, la) for a, b in self.rounds)

    def clocks(self, la: int) -> int:
        """Clocks by the issuer's rule (ISSUE + ST_CTX)."""
        return self.tiles * _tile_clocks(self.steps, self.rounds, la)


@dataclass(frozen=True)
class Clocks:
    """Clocks of a stage, or of several.

    Attributes:
        ideal: products divided by processing elements, rounded up.
        closed: by the closed forms.
        issued: ISSUE.
        stepped: ISSUE + ST_CTX.
    """

    ideal: int = 0
    closed: int = 0
    issued: int = 0
    stepped: int = 0

    def __add__(self, other: Clocks) -> Clocks:
        return Clocks(
            self.ideal + other.ideal,
            self.closed + other.closed,
            self.issued + other.issued,
            self.stepped + other.stepped,
        )


@cache
def _tile_clocks(steps: int, rounds: tuple[tuple[int, int], ...], la: int) -> int:
    """Step the issuer through one tile; returns the clock after its last issue."""
    if len(rounds) == 1:
        count = rounds[0][1] - rounds[0][0]
        return (steps - 1) * max(count, la) + count
    free = [0] * max(last for _, last in rounds)  # first clock at which a context may be issued
    now = 0
    for _ in range(steps):
        for first, last in rounds:
            for context in range(first, last):
                now = max(now, free[context])
                free[context] = now + la
                now += 1
    return now


def stage_loops(
    network: Network, index: int, stage: str, samples: int, geometry: Geometry
) -> list[Loop]:
    """Return the loops of a layer's stage.

    Args:
        network, index: which layer.
        stage: FW, GC or BW.
        samples: the batch.
        geometry: the build.
    """
    layer = network.layers[index]
    if layer.kind == CONV:
        loops = {FW: _conv_forward, GC: _conv_weights, BW: _conv_inputs}[stage]
        return list(loops(layer, samples, geometry))
    if stage == FW:
        return list(_fc_forward(layer, samples, geometry))
    if stage == GC:
        return list(_fc_weights(layer, samples, geometry))
    return list(_fc_inputs(layer, samples, geometry))


def stage_clocks(
    network: Network, index: int, stage: str, samples: int, geometry: Geometry
) -> Clocks:
    """Return the clocks of a layer's stage; arguments as for stage_loops."""
    loops = stage_loops(network, index, stage, samples, geometry)
    return Clocks(
        -(-samples * network.layers[index].macs // geometry.n_pe),
        sum(loop.closed(geometry.la) for loop in loops),
        sum(loop.issued for loop in loops),
        sum(loop.clocks(geometry.la) for loop in loops),
    )


@cache
def inference_clocks(network: Network, samples: int, geometry: Geometry) -> Clocks:
    """Return the clocks of an inference task."""
    stages = range(len(network.layers))
    return sum((stage_clocks(network, k, FW, samples, geometry) for k in stages), Clocks())


@cache
def training_clocks(network: Network, samples: int, geometry: Geometry) -> Clocks:
    """Return the clocks of a training task: GC of every layer, BW of all but the first."""
    total = Clocks()
    for index in range(len(network.layers)):
        total += stage_clocks(network, index, GC, samples, geometry)
        if index:
            total += stage_clocks(network, index, BW, samples, geometry)
    return total


def _rounds(contexts: int) -> tuple[tuple[int, int], ...]:
    return ((0, contexts),)


def _runs(values: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (value, times) of equal neighbours."""
    for value, group in groupby(values):
        yield value, len(list(group))


def _split(total: int, most: int) -> list[int]:
    """Cut `total` into parts of `most`, the last one smaller."""
    return [min(most, total - start) for start in range(0, total, most)]


def _conv_forward(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """FW: contexts are columns, groups are rows; a short last tile splits its rows."""
    groups = geometry.groups(layer.lanes_forward)
    tiles = samples * -(-layer.outputs // layer.lanes_forward)
    steps = layer.inputs * layer.kernel**2 + 1
    slots = 1 if layer.columns >= geometry.la else -(-geometry.la // layer.columns)
    for rows in _split(layer.rows, slots * groups):
        columns, used = layer.columns, -(-rows // groups)
        if rows < groups:
            share = 1 << (groups // rows).bit_length() - 1
            columns = -(-columns // share)
        for width in _split(columns, geometry.contexts // used):
            yield Loop(tiles, steps, _rounds(used * width))


def _conv_weights(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """GC: contexts are kernel columns of several (channel, kernel row), and the bias."""
    groups = geometry.groups(layer.lanes_forward)
    tiles = samples * -(-layer.outputs // layer.lanes_forward)
    row_blocks = -(-layer.width // ROW_WORDS)
    most = min(LANE_CONTEXTS // layer.kernel, geometry.line_words // ROW_WORDS // row_blocks)
    slots = layer.inputs * -(-layer.kernel // groups)
    for number, used in enumerate(_split(slots, most)):
        contexts = used * layer.kernel + (number == 0)
        yield Loop(tiles, layer.rows * layer.columns, _rounds(contexts))


def _conv_inputs(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """BW: contexts are columns of all phases, groups are rows; taps that do not exist are none."""
    groups = geometry.groups(layer.lanes_backward)
    tiles = samples * (layer.phases // layer.lanes_backward)
    height, width = (-(-size // layer.stride) for size in (layer.height, layer.width))
    for first in range(0, height, groups):
        rows = range(first, min(first + groups, height))
        taps = sum(any(0 <= v - jy < layer.rows for v in rows) for jy in range(layer.taps))
        for left in range(0, width, geometry.contexts):
            right = min(left + geometry.contexts, width)
            spans = [
                (max(left, jx) - left, min(right, jx + layer.columns) - left)
                for jx in range(layer.taps)
            ]
            rounds = tuple(span for span in spans if span[0] < span[1])
            if taps and rounds:
                yield Loop(tiles, layer.outputs * taps, rounds)


def _fc_forward(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """FW: contexts are output tiles and samples."""
    tiles = -(-layer.outputs // layer.lanes_forward)
    for used in _split(tiles, geometry.contexts // samples):
        yield Loop(1, layer.inputs + 1, _rounds(samples * used))


def _fc_weights(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """GC: contexts are inputs of a block of 16 and output tiles."""
    tiles = -(-layer.outputs // layer.lanes_forward)
    for used in _split(tiles, min(geometry.contexts, geometry.lane_entries // samples)):
        yield Loop(1, samples, _rounds(used))
        most = 1 << min(ROW_WORDS, geometry.contexts // used).bit_length() - 1
        whole, rest = divmod(layer.inputs, ROW_WORDS)
        parts = _split(ROW_WORDS, most) * whole + _split(rest, most)
        for part, times in _runs(sorted(parts)):
            yield Loop(times, samples, _rounds(part * used))


def _fc_inputs(layer: Layer, samples: int, geometry: Geometry) -> Iterator[Loop]:
    """BW: contexts are input tiles and samples."""
    tiles = -(-layer.inputs // layer.lanes_backward)
    window = geometry.n_pe * layer.output_blocks
    fits = geometry.pb_training // 2 // window
    most = max(1, min(-(-geometry.la // samples), fits))
    for used, times in _runs(_split(tiles, most)):
        yield Loop(times, layer.outputs, _rounds(samples * used))
