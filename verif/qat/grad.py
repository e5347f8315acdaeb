"""pyuvm environment of the gradient memory: tiles of random layers, chunk after chunk."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from pyuvm import uvm_component, uvm_env, uvm_subscriber

from models.qat import ops
from verif.agents.stream import StreamAgent, StreamBus, StreamItem
from verif.bench import parameters
from verif.coverage import Coverage
from verif.qat.words import pack, unpack
from verif.scoreboard import Scoreboard

LINES = 128  # of G
BIASES = 96  # lines from here on are biases
DRAIN = ("opens", "sums", "line", "stride", "words", "half", "up", "first", "update")
BIAS = ("sums", "line", "words", "first", "update")
ACC_BITS, DELTA_BITS = 60, 42
SUM_BITS = 58  # that a lane's sum really has


@dataclass(frozen=True)
class Layer:
    """A layer's gradient: [P, Q] lines from `line` on, biases from `bias_line` on.

    Attributes:
        shift: of the inputs in half mode; None in full mode.
    """

    p: int
    q: int
    line: int
    bias_line: int
    shift: int | None

    @classmethod
    def draw(cls, generator: random.Random, lw: int, index: int) -> Layer:
        """A random layer; each 18 in a row have all shifts, and one of 6 has many bias lines."""
        p, q = (generator.randint(1, 2 * lw + 1) for _ in range(2))
        if index % 6 == 3:
            p, q = 2 * lw + 1, min(q, lw)
        shift = None if index % 18 == 17 else index % 18
        return cls(p, q, generator.randint(0, BIASES - 3 * p),
                   BIASES + generator.randint(0, 8), shift)  # fmt: skip


@dataclass(frozen=True)
class Tile:
    """A tile's columns, and its line of biases if it is a row's first."""

    columns: list[StreamItem]
    bias: StreamItem | None


class Golden:
    """G, and what goes to Adam.

    Attributes:
        g: [LINES, lw] int64.
        lines, biases: of weights and of biases, which Adam is to get.
        gradient, sums: words that were saturated.
    """

    def __init__(self, lw: int, cores: int) -> None:
        self.lw, self.cores = lw, cores
        self.g = np.zeros((LINES, lw), np.int64)
        self.lines: list[StreamItem] = []
        self.biases: list[StreamItem] = []
        self.gradient = self.sums = 0

    def tiles(
        self, layer: Layer, first: bool, update: bool, generator: random.Random
    ) -> Iterator[Tile]:
        """A chunk's tiles with random sums, in the order of the engine."""
        lw = self.lw
        columns = -(-layer.q // lw)
        for pt in range(-(-layer.p // lw)):
            rows = min(lw, layer.p - lw * pt)
            for qt in range(columns):
                words = min(lw, layer.q - lw * qt)
                start = layer.line + lw * pt * columns + qt
                fields = {
                    "line": start, "stride": columns, "words": words,
                    "half": int(layer.shift is not None), "up": 16 - (layer.shift or 0),
                    "first": int(first), "update": int(update),
                }  # fmt: skip
                items = []
                for k in range(rows):
                    sums = self._draw(generator, (self.cores, lw, 2), SUM_BITS, layer.shift)
                    low, high = sums.sum(0).T
                    part, over = ops.drain(low[:words], high[:words], layer.shift)
                    self._add(start + k * columns, part, over, first, update, self.lines)
                    packed = pack(sums.ravel(), ACC_BITS)
                    # What comes with the first column alone is junk with the others.
                    extra = (
                        fields if k == 0 else {name: generator.getrandbits(1) for name in fields}
                    )
                    items.append(StreamItem(opens=int(k == 0), sums=packed, **extra))
                bias = None
                if qt == 0:
                    sums = self._draw(generator, (self.cores, lw), DELTA_BITS, None)
                    part, over = ops.bias_gradient(sums[:, :rows])
                    line = layer.bias_line + pt
                    self._add(line, part, over, first, update, self.biases)
                    bias = StreamItem(
                        sums=pack(sums.ravel(), DELTA_BITS), line=line, words=rows,
                        first=int(first), update=int(update),
                    )  # fmt: skip
                yield Tile(items, bias)

    def _draw(
        self, generator: random.Random, shape: tuple[int, ...], bits: int, shift: int | None
    ) -> np.ndarray:
        """Sums of any size; ties; the ends of what a lane holds."""
        count = int(np.prod(shape))
        if generator.random() < 0.1:
            ends = (-(1 << bits - 1), (1 << bits - 1) - 1)
            return np.array([generator.choice(ends) for _ in range(count)]).reshape(shape)
        if len(shape) == 3 and generator.random() < 0.2:
            drop = ops.DELTA - ops.GRADIENT if shift is None else ops.GRADIENT - shift
            out = np.zeros(shape, np.int64)
            out[0, :, 1] = [
                (generator.getrandbits(8) - 128 << drop) + (1 << drop - 1) for _ in range(shape[1])
            ]
            return out
        size = generator.randint(1, bits)
        return np.array(
            [generator.getrandbits(size) - (1 << size - 1) for _ in range(count)]
        ).reshape(shape)

    def _add(
        self, line: int, part: np.ndarray, over: int, first: bool, update: bool,
        adam: list[StreamItem],
    ) -> None:  # fmt: skip
        self.gradient += over
        words = len(part)
        if not first:
            part, over = ops.saturate(self.g[line, :words] + part)
            self.sums += over
        if update:
            adam.append(self.item(line, part))
        else:
            self.g[line, :words] = part

    def item(self, line: int, words: np.ndarray) -> StreamItem:
        """A line to Adam: zeros beyond its words."""
        return StreamItem(line=line, data=pack(np.pad(words, (0, self.lw - len(words)))))

    def sweep(self, layer: Layer) -> None:
        """All lines of G of a layer's weights go to Adam."""
        columns = -(-layer.q // self.lw)
        for index in range(layer.p * columns):
            words = min(self.lw, layer.q - self.lw * (index % columns))
            line = layer.line + index
            self.lines.append(self.item(line, self.g[line, :words]))


class Split(uvm_subscriber):
    """Gives lines of weights and of biases to a scoreboard each: their order is free."""

    def __init__(
        self, name: str, parent: uvm_component, lines: Scoreboard, biases: Scoreboard
    ) -> None:
        super().__init__(name, parent)
        self.lines, self.biases = lines, biases

    def write(self, item: StreamItem) -> None:
        """As the subscriber of a monitor."""
        (self.biases if item.line >= BIASES else self.lines).observe(item)


class GradEnvironment(uvm_env):
    """Sources of columns and of bias lines, lines to Adam, scoreboards, coverage.

    Attributes:
        outputs: fields of the lines that come out.
    """

    outputs: tuple[str, ...] = ("line", "data")

    def build_phase(self) -> None:
        """Make the parts."""
        dut = cocotb.top
        self.golden = Golden(parameters()["Lw"], parameters()["Cores"])
        self.drain = StreamAgent(
            "drain", self, StreamBus(dut, "drain", DRAIN, ready=False), "source"
        )
        self.bias = StreamAgent("bias", self, StreamBus(dut, "bias", BIAS, ready=False), "source")
        bus = StreamBus(dut, "grad_out", self.outputs, ready=False)
        self.adam = StreamAgent("adam", self, bus, "passive")
        self.lines = Scoreboard("lines", self)
        self.biases = Scoreboard("biases", self)
        self.split = Split("split", self, self.lines, self.biases)
        points: dict[str, Iterable[str]] = {
            "chunks": ("1", "2", "3"),
            "mode": ("full", *(f"shift_{shift}" for shift in range(17))),
            "end": ("update", "keep"),
            "room": ("lines_full", "biases_full"),
            "words": [str(words) for words in range(1, self.golden.lw + 1)],
            "saturated": ("gradient", "sum"),
        }
        self.coverage = Coverage(
            "coverage", self, "qat.grad",
            {point: {name: self._holds(f"{point}.{name}") for name in names}
             for point, names in points.items()},
        )  # fmt: skip

    @staticmethod
    def _holds(name: str) -> Any:
        return lambda fact: fact == name

    def connect_phase(self) -> None:
        """Connect the monitor."""
        self.adam.ap.connect(self.split.analysis_export)

    def expect(self) -> None:
        """Tell the scoreboards what comes of the lines that the golden model sends to Adam."""
        for board, items in ((self.lines, self.golden.lines), (self.biases, self.golden.biases)):
            for item in items:
                board.expect(self.sent(item))
            items.clear()

    def sent(self, item: StreamItem) -> StreamItem:
        """What comes out of a line to Adam."""
        return item


class UpdateEnvironment(GradEnvironment):
    """Adam after the gradient memory: weights and targets come out.

    Attributes:
        scalars: of the updates.
        w, t, m, v: [LINES, lw] int32, of v uint64.
        saturated: weights that were.
    """

    outputs = ("line", "w", "t")
    scalars: ops.Adam

    def build_phase(self) -> None:
        """Make the parts, and memories of zeros."""
        super().build_phase()
        shape = self.golden.g.shape
        self.w, self.t, self.m = (np.zeros(shape, np.int32) for _ in range(3))
        self.v = np.zeros(shape, np.uint64)
        self.saturated = 0

    def sent(self, item: StreamItem) -> StreamItem:
        """Update a line."""
        line = item.line
        gradient = unpack(item.data, self.golden.lw).astype(np.int32)
        self.saturated += ops.adam(
            self.w[line], self.m[line], self.v[line], self.t[line], gradient, self.scalars
        )
        return StreamItem(line=line, w=pack(self.w[line]), t=pack(self.t[line]))
