"""Random traffic for a processing element, with what it must drain, and schedules of whole sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from models.float import add, mul
from verif.a3c.numbers import bits_of, draw, floats
from verif.play import Block, Player

PE = Block(
    "jackdaw:engine:a3c_pe",
    "jd_a3c_pe",
    {
        "valid_i": 1, "enable_i": 1, "first_i": 1, "half_i": 1, "context_i": 6, "a_i": 32,
        "b_i": 32, "drain_valid_i": 1, "drain_half_i": 1, "drain_context_i": 6,
        "preload_valid_i": 1, "preload_half_i": 1, "preload_context_i": 6, "preload_data_i": 32,
    },
    {"drain_data_o": 32},
)  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Parameters of jd_a3c_pe.

    Attributes:
        contexts: sums of a half.
        mul, add: latencies, clocks.
    """

    contexts: int = 32
    mul: int = 3
    add: int = 4

    @property
    def parameters(self) -> dict[str, int]:
        """By the module's names."""
        return {"Contexts": self.contexts, "MulLatency": self.mul, "AddLatency": self.add}

    @property
    def depth(self) -> int:
        """Clocks after the last issue in which its half is in use."""
        return self.mul + self.add


class Table:
    """Inputs of an element, a row per clock; rows are zeros until something is put there."""

    def __init__(self, clocks: int) -> None:
        self.clocks = clocks
        self.columns: dict[str, np.ndarray] = {}

    def put(self, clock: int, **values: int) -> None:
        """Set inputs of a clock."""
        for name, value in values.items():
            column = self.columns.setdefault(name, np.zeros(self.clocks, np.uint32))
            column[clock] = value


@dataclass
class _Half:
    """What a half is doing."""

    tile: list[int] = field(default_factory=list)  # contexts of the tile, an entry for each issue
    drains: list[int] = field(default_factory=list)
    preloads: list[int] = field(default_factory=list)
    started: bool = False
    last: int = -1000  # clock of the last issue


class Traffic:
    """Random tiles on both halves, drains and preloads beside them, and a reset now and then.

    Args:
        config: the build.
        generator: of everything.
        clocks: length.
    """

    def __init__(self, config: Config, generator: np.random.Generator, clocks: int) -> None:
        self.config = config
        self.random = generator
        self.clocks = clocks
        self.table = Table(clocks)
        self.table.columns["rst_ni"] = np.ones(clocks, np.uint32)
        self.want = np.zeros(clocks, np.uint32)  # drain_data_o
        self.known = np.zeros(clocks, bool)
        self.seen: Counter[str] = Counter()
        special = float(generator.choice([0.02, 0.1]))
        self.a, self.b = (draw(generator, clocks, special=special) for _ in range(2))
        self.products = mul(floats(self.a), floats(self.b))
        self.sums = np.zeros((2, config.contexts), np.float32)
        self.holds = np.zeros((2, config.contexts), bool)  # the sum is one that is known
        self.issues = [[(-1000, False)] * config.contexts for _ in range(2)]  # last clock, enabled
        self.halves = (_Half(), _Half())
        clock = 0
        while clock < clocks:
            if clock > 50 and generator.random() < 0.002:
                clock = self._reset(clock)
                continue
            self._issue(clock)
            for h in range(2):
                self._side(clock, h)
            clock += 1
        # The register shows what was drained one clock before, and keeps it.
        for clock in range(1, clocks):
            if not self.known[clock] and self.known[clock - 1]:
                self.known[clock], self.want[clock] = True, self.want[clock - 1]

    def _chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def _reset(self, clock: int) -> int:
        """Two clocks of reset: what is in flight is lost."""
        end = min(clock + 2, self.clocks)
        self.table.columns["rst_ni"][clock:end] = 0
        for h in range(2):
            for c in range(self.config.contexts):
                if self.issues[h][c][0] >= clock - self.config.depth - 1:
                    self.holds[h, c] = False
                self.issues[h][c] = (-1000, False)
            half = self.halves[h]
            half.tile, half.started, half.last = [], False, -1000
            half.drains = list(range(self.config.contexts))
            half.preloads = list(range(self.config.contexts))
        self.seen["reset"] += 1
        return end

    def _issue(self, clock: int) -> None:
        """Issue a context that has rested, most often as early as it may be."""
        if self._chance(0.03):
            return
        ready = [
            (h, c)
            for h in range(2)
            if self.halves[h].started
            for c in self.halves[h].tile
            if clock - self.issues[h][c][0] >= self.config.add
        ]
        if not ready:
            return
        soonest = [x for x in ready if clock - self.issues[x[0]][x[1]][0] == self.config.add]
        choices = soonest if soonest and self._chance(0.5) else ready
        h, c = choices[self.random.integers(len(choices))]
        half = self.halves[h]
        half.tile.remove(c)
        half.last = clock
        enabled = self._chance(0.85)
        first = not self.holds[h, c] or self._chance(0.1)
        self.table.put(
            clock, valid_i=1, enable_i=int(enabled), first_i=int(first), half_i=h, context_i=c,
            a_i=int(self.a[clock]), b_i=int(self.b[clock]),
        )  # fmt: skip
        distance = clock - self.issues[h][c][0]
        if distance <= self.config.add + 3:
            how = "" if self.issues[h][c][1] else " masked"
            self.seen[f"distance {distance - self.config.add}{how}{' first' * first}"] += 1
        other = self.halves[1 - h].last
        self.seen["both halves"] += other >= clock - 3
        self.issues[h][c] = (clock, enabled)
        if enabled:
            before = np.zeros(1, np.float32) if first else self.sums[h, c : c + 1]
            self.sums[h, c : c + 1] = add(before, self.products[clock : clock + 1])
            self.holds[h, c] = True

    def _side(self, clock: int, h: int) -> None:
        """Drain and preload an idle half; when all is done, begin a tile."""
        half, config = self.halves[h], self.config
        if half.started:
            if half.tile or clock <= half.last + config.depth:
                return
            self.seen["drain at once"] += clock == half.last + config.depth + 1
            half.started = False
            half.drains = list(self.random.permutation(config.contexts))
            count = int(self.random.integers(config.contexts + 1))
            half.preloads = list(self.random.permutation(config.contexts)[:count])
        column = self.table.columns
        free = [name not in column or not column[name][clock]
                for name in ("drain_valid_i", "preload_valid_i")]  # fmt: skip
        if half.drains and free[0] and self._chance(0.9):
            c = int(half.drains.pop())
            if self.holds[h, c]:
                self.table.put(clock, drain_valid_i=1, drain_half_i=h, drain_context_i=c)
                self.seen["drained"] += 1
                if clock + 1 < self.clocks:
                    self.known[clock + 1] = True
                    self.want[clock + 1] = bits_of(self.sums[h, c : c + 1])[0]
        if half.preloads and free[1] and self._chance(0.9):
            c = int(half.preloads.pop())
            data = draw(self.random, 1)
            self.table.put(
                clock, preload_valid_i=1, preload_half_i=h, preload_context_i=c,
                preload_data_i=int(data[0]),
            )  # fmt: skip
            self.sums[h, c : c + 1] = floats(data)
            self.holds[h, c] = True
            self.seen["preload beside issue"] += bool(
                "valid_i" in column and column["valid_i"][clock]
            )
        if not half.drains and not half.preloads and not half.started and self._chance(0.5):
            many = 1 + int(self.random.integers(min(config.contexts, 2 * config.add)))
            if self._chance(0.1):
                many = config.contexts
            steps = 1 + int(self.random.integers(12))
            chosen = self.random.permutation(config.contexts)[:many]
            half.tile = [int(c) for c in chosen for _ in range(steps)]
            half.started = True
            self.seen["all contexts"] += many == config.contexts


def sums(
    player: Player, config: Config, half: int, a: np.ndarray, b: np.ndarray, first: bool
) -> np.ndarray:
    """Accumulate in one half, context by context, and drain.

    Args:
        player: the simulator of an element.
        config: its build.
        half: 0 or 1.
        a, b: [steps, n] float32, the factors of n contexts' terms in order.
        first: the sums start from +0, else from what the half holds.
    Returns: [n] uint32 bits of the sums.
    """
    steps, n = a.shape
    round_clocks = max(n, config.add)
    clocks = steps * round_clocks + config.depth
    inputs: dict[str, np.ndarray] = {}

    def spread(values: np.ndarray) -> np.ndarray:
        table = np.zeros((steps, round_clocks), np.uint32)
        table[:, :n] = values
        return np.concatenate([table.ravel(), np.zeros(clocks - table.size, np.uint32)])

    one = np.ones((steps, n), np.uint32)
    inputs["valid_i"] = inputs["enable_i"] = spread(one)
    inputs["half_i"] = spread(one * half)
    inputs["context_i"] = spread(one * np.arange(n))
    inputs["first_i"] = spread(one * ((np.arange(steps) == 0) & first)[:, None])
    inputs["a_i"], inputs["b_i"] = spread(bits_of(a)), spread(bits_of(b))
    player.run(clocks, **inputs)
    order = np.minimum(np.arange(n + 1), n - 1)
    out = player.run(
        n + 1, drain_valid_i=np.arange(n + 1) < n, drain_half_i=np.full(n + 1, half),
        drain_context_i=order,
    )  # fmt: skip
    return out["drain_data_o"][1:]


def preload(player: Player, half: int, bits: np.ndarray) -> None:
    """Put [n] uint32 bits into the first contexts of a half."""
    n = bits.size
    player.run(
        n, preload_valid_i=np.ones(n), preload_half_i=np.full(n, half),
        preload_context_i=np.arange(n), preload_data_i=bits,
    )  # fmt: skip
