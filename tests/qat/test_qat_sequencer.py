"""The sequencer against its golden models: tiles in order, lines of weights, biases, and clocks."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict

import numpy as np

from flow.effort import scale
from flow.regression import builds
from models.qat import ops, timing
from models.qat.layout import Geometry, Slots, Table, plan
from models.qat.schedule import Pass, biases, forward
from verif.play import Block, Player
from verif.qat.cores import LAYERS_BITS, PASS, TENSORS, layer_words, pass_words, to_words

TILE = {
    "pass": 2, "half": 1, "il": 1, "acting": 1, "watch": 1, "target": 1, "first": 1, "last": 1,
    "wide": 1, "quantize": 1, "joins": 1, "joins_only": 1, "act": 2, "bias": 1, "rows": 5,
    "line": 17, "stride": 9, "columns": 9, "entries": 8, "vectors": 10, "source": 11, "sink": 11,
    "join_line": 11, "word": 5, "up": 5, "down": 5, "tensor": 3,
}  # fmt: skip
ENTRY = TILE | {"index": 8, "opens": 1, "closes": 1}
WEIGHTS = {
    "target": 1, "il": 1, "by_row": 1, "index": 4, "opens": 1, "line": 17, "columns": 9,
}  # fmt: skip
GEOMETRY = Geometry(2, 4, 16, 64, 8, 1024, 80, 4, 4, 2)
BLOCK = Block(
    "jackdaw:engine:qat_core",
    "jd_qat_sequencer",
    {
        "clear_i": 1, "layers_i": LAYERS_BITS, "shifts_i": 5 * TENSORS, "pass_valid_i": 1,
        "pass_i": sum(PASS.values()), "bias_ready_i": 1, "come_i": 1, "written_i": 2,
    },
    {
        "idle_o": 1, "pass_ready_o": 1, "load_valid_o": 1, "load_o": sum(WEIGHTS.values()),
        "entry_valid_o": 1, "entry_o": sum(ENTRY.values()), "bias_valid_o": 1, "bias_target_o": 1,
        "bias_address_o": 17, "waits_o": 1,
    },
)  # fmt: skip
WRITTEN, COME = timing.DEPTH - 1, 3  # clocks after an entry is issued; after a line is asked for


def player(seed: int) -> Player:
    """The sequencer, out of reset."""
    return Player(BLOCK, {"Lw": GEOMETRY.lw, "N": GEOMETRY.n}, seed)


pytestmark = builds(lambda: player(1))


def fields(layout: dict[str, int], found: np.ndarray) -> dict[str, int]:
    """A packed struct's fields."""
    value = sum(int(word) << 32 * k for k, word in enumerate(np.atleast_1d(found)))
    out = {}
    for name, bits in reversed(layout.items()):
        out[name] = value & (1 << bits) - 1
        value >>= bits
    return out


class Starts(timing._Array):
    """The cycle model, with each tile's start."""

    def __init__(self, geometry: Geometry, half: bool) -> None:
        super().__init__(geometry, half)
        self.starts: list[int] = []

    def tile(self, *args: object, **more: object) -> int:
        start = super().tile(*args, **more)  # type: ignore[arg-type]
        self.starts.append(start)
        return start


def drive(
    sim: Player, table: Table, p: Pass, shifts: list[int], ready: float, rng: np.random.Generator
) -> tuple[list[tuple[int, dict[str, int]]], list[dict[str, int]], list[int]]:
    """Run a pass. Returns entries with their clocks, loads, and bias lines."""
    held = {
        "layers_i": layer_words(table, GEOMETRY),
        "shifts_i": to_words(sum(s << 5 * k for k, s in enumerate(shifts)), 5 * TENSORS),
    }
    entries, loads, asked = [], [], []
    written: deque[int] = deque()
    come: deque[int] = deque()
    given, idle, wanted = False, 0, 0
    for clock in range(20_000):
        inputs = dict(held)
        if not given:
            inputs |= {"pass_valid_i": np.ones(1), "pass_i": pass_words(p)}
        due = sum(at == clock for at in written)
        inputs["written_i"] = np.array([due])
        inputs["come_i"] = np.array([clock in come])
        free = rng.random() < ready
        inputs["bias_ready_i"] = np.array([free])
        out = sim.run(1, **inputs)
        given = given or bool(out["pass_ready_o"][0])
        if out["load_valid_o"][0]:
            loads.append(fields(WEIGHTS, out["load_o"][0]))
        if out["entry_valid_o"][0]:
            entry = fields(ENTRY, out["entry_o"][0])
            if entry["opens"] and entry["last"] and entry["bias"]:
                assert come[wanted] < clock, "a tile starts before its bias line came"
                wanted += 1
            entries.append((clock, entry))
            if entry["last"] and (entry["closes"] if entry["wide"] else entry["opens"]):
                written.append(clock + WRITTEN)
        if out["bias_valid_o"][0] and free:
            assert out["bias_target_o"][0] == p.target
            asked.append(int(out["bias_address_o"][0]))
            come.append(clock + COME)
        idle = idle + 1 if given and out["idle_o"][0] else 0
        if idle == 3:
            assert clock > entries[-1][0] + timing.DEPTH - 1, "idle before all is written"
            return entries, loads, asked
    raise AssertionError("no end")


def test_qat_sequencer(seed: int) -> None:
    """Each tile of random passes: what it reads, writes and loads; and when it starts."""
    rng = np.random.default_rng([seed, 9])
    g = GEOMETRY
    met = set()
    with player(seed) as sim:
        for turn in range(scale(40, 10)):
            hidden = [int(n) for n in rng.integers(1, 21, rng.integers(1, 4))]
            table = plan(int(rng.integers(1, 18)), int(rng.integers(1, 3)), hidden, g,
                         bias=turn % 4 != 3)  # fmt: skip
            net, acting = int(rng.integers(0, 2)) * (turn % 4 != 2), turn % 3 == 0
            layers = table.networks[net]
            first = int(rng.integers(0, len(layers))) if turn % 5 == 0 else 0
            last = len(layers) - 1 if turn % 5 else first
            join = (int(rng.integers(0, 64)), int(rng.integers(0, g.lw)))
            if net or acting or turn % 4 == 1:
                join = None
            p = Pass(
                net, first, last, 1 if acting else int(rng.integers(1, g.vectors + 1)),
                int(rng.integers(0, 9)), half=bool(rng.random() < 0.5), il=acting, acting=acting,
                target=bool(rng.random() < 0.5), watch=bool(rng.random() < 0.5),
                sink=30 if turn % 5 == 0 else None, join=join, join_only=bool(rng.random() < 0.5),
            )  # fmt: skip
            shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
            slow = turn % 4 == 1
            entries, loads, asked = drive(sim, table, p, shifts, 0.05 if slow else 1.0, rng)
            outputs = Slots.of(table, g).outputs[net]
            want = list(forward(p, layers, outputs, shifts, g))
            assert asked == biases(p, layers, g)
            tiles = [(clock, entry) for clock, entry in entries if entry["opens"]]
            assert len(tiles) == len(want)
            lines = iter(loads)
            at = iter(entries)
            for (_, entry), tile in zip(tiles, want, strict=True):
                assert entry["act"] == (ops.RELU if tile.relu else ops.TANH if tile.tanh else 0)
                assert (entry["il"], entry["half"], entry["acting"]) == (p.il, p.half, p.acting)
                assert (entry["vectors"], entry["rows"]) == (p.vectors, len(tile.lines))
                assert entry["joins_only"] == p.join_only
                assert (entry["join_line"], entry["word"]) == (p.join or (0, 0))
                got = {name: entry[name] for name in asdict(tile) if name in entry}
                assert got == {name: value for name, value in asdict(tile).items() if name in got}
                for index, line in enumerate(tile.lines):
                    load = next(lines)
                    assert load == {
                        "target": p.target, "il": p.il, "by_row": 0, "index": index,
                        "opens": index == 0, "line": line, "columns": tile.columns,
                    }  # fmt: skip
                for index in range(tile.entries):
                    _, found = next(at)
                    assert found["index"] == index
                    assert found["closes"] == (index == tile.entries - 1)
            assert next(lines, None) is None and next(at, None) is None
            met |= {(p.half, p.il, slow), ("joins", any(tile.joins for tile in want))}
            ahead = sum(
                len(tile.lines) for tile in want[: [tile.last for tile in want].index(True) + 1]
            )
            if not slow and (ahead > COME or not want[0].bias):  # else the first bias line is late
                model = Starts(g, p.half)
                taken = layers[first : last + 1]
                if p.il:
                    model.infer(taken)
                else:
                    model.forward(taken, -(-p.vectors // g.n), {})
                shift = tiles[0][0] - model.starts[0]
                assert [clock - shift for clock, _ in tiles] == model.starts, p
    assert len(met) > 4 and ("joins", True) in met


def test_qat_sequencer_clear(seed: int) -> None:
    """After a clear nothing comes any more, and the next pass is whole."""
    rng = np.random.default_rng([seed, 10])
    g = GEOMETRY
    table = plan(9, 2, [12], g)
    p = Pass(0, 0, 1, 8, 0)
    with player(seed) as sim:
        held = {"layers_i": np.repeat(layer_words(table, g), 200, 0)}
        word = pass_words(p)
        clear = np.zeros(200)
        clear[60] = 1
        give = np.zeros(200)
        give[1] = 1
        out = sim.run(
            200, pass_valid_i=give, pass_i=np.repeat(word, 200, 0), clear_i=clear,
            bias_ready_i=np.ones(200), come_i=(np.arange(200) == 9), **held,
        )  # fmt: skip
        assert out["entry_valid_o"][:61].any() and not out["entry_valid_o"][61:].any()
        assert not out["load_valid_o"][61:].any() and out["idle_o"][61 + timing.DEPTH + 3 :].all()
        entries, _, _ = drive(sim, table, p, [0] * TENSORS, 1.0, rng)
        tiles = [entry for _, entry in entries if entry["opens"]]
        assert len(tiles) == len(list(forward(p, table.networks[0], [0, 0], [0] * TENSORS, g)))
