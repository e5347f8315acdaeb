"""The sequencer against its golden models: tiles in order, lines of weights, biases, and clocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from flow.effort import scale
from flow.regression import builds
from models.qat import ops, timing
from models.qat.layout import ACTOR, Geometry, Slots, Table, plan
from models.qat.schedule import Kind, Pass, biases, tiles
from verif.play import Block, Player
from verif.qat.cores import LAYERS_BITS, PASS, TENSORS, layer_words, pass_words, to_words

TILE = {
    "pass": 2, "half": 1, "il": 1, "acting": 1, "common": 1, "drops": 1, "watch": 1, "target": 1,
    "first": 1, "last": 1, "wide": 1, "quantize": 1, "joins": 1, "joins_only": 1, "action": 1,
    "act": 2, "bias": 1, "fresh": 1, "update": 1, "rows": 5, "words": 5, "word": 5, "line": 17,
    "bias_line": 17, "stride": 9, "columns": 9, "entries": 8, "vectors": 10, "source": 11,
    "state": 11, "delta": 11, "sink": 11, "join_line": 11, "join_word": 5, "up": 5, "down": 5,
    "tensor": 3,
}  # fmt: skip
ENTRY = TILE | {"index": 8, "opens": 1, "closes": 1}
WEIGHTS = {
    "target": 1, "il": 1, "alone": 1, "by_row": 1, "index": 4, "opens": 1, "line": 17,
    "columns": 9,
}  # fmt: skip
GEOMETRY = Geometry(2, 4, 16, 64, 8, 1024, 80, 4, 4, 2)
BLOCK = Block(
    "jackdaw:engine:qat_core",
    "jd_qat_sequencer",
    {
        "clear_i": 1, "layers_i": LAYERS_BITS, "shifts_i": 5 * TENSORS, "pass_valid_i": 1,
        "pass_i": sum(PASS.values()), "hold_i": 1, "bias_ready_i": 1, "come_i": 1, "written_i": 2,
        "whole_i": 2, "room_i": 1, "bias_room_i": 1,
    },
    {
        "idle_o": 1, "pass_ready_o": 1, "load_valid_o": 1, "load_o": sum(WEIGHTS.values()),
        "entry_valid_o": 1, "entry_o": sum(ENTRY.values()), "bias_valid_o": 1, "bias_target_o": 1,
        "bias_address_o": 17, "waits_o": 1, "full_o": 1, "reserve_o": 1, "reserve_rows_o": 5,
        "reserve_bias_o": 1,
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


@dataclass
class Seen:
    """What passes made.

    Attributes:
        entries: with their clocks.
        loads: lines of weights.
        biases: lines that were asked for.
    """

    entries: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    loads: list[dict[str, int]] = field(default_factory=list)
    biases: list[int] = field(default_factory=list)

    @property
    def tiles(self) -> list[tuple[int, dict[str, int]]]:
        """First entries."""
        return [(clock, entry) for clock, entry in self.entries if entry["opens"]]


def drive(
    sim: Player, table: Table, passes: Sequence[Pass], shifts: list[int], ready: float,
    rng: np.random.Generator, room: float = 1, held_back: float = 0,
) -> Seen:  # fmt: skip
    """Run passes.

    Args:
        ready: part of the clocks in which a bias line is taken.
        room: in which there is room for lines that are drained.
        held_back: in which no line may be loaded.
    """
    held = {
        "layers_i": layer_words(table, GEOMETRY),
        "shifts_i": to_words(sum(s << 5 * k for k, s in enumerate(shifts)), 5 * TENSORS),
    }
    seen = Seen()
    written: deque[int] = deque()
    whole: deque[int] = deque()
    come: deque[int] = deque()
    waiting = deque(passes)
    idle, wanted, rooms, hold = 0, 0, (False, False), False
    for clock in range(40_000):
        inputs = dict(held)
        if waiting:
            inputs |= {"pass_valid_i": np.ones(1), "pass_i": pass_words(waiting[0])}
        inputs["written_i"] = np.array([sum(at == clock for at in written)])
        inputs["whole_i"] = np.array([sum(at == clock for at in whole)])
        inputs["come_i"] = np.array([clock in come])
        free = rng.random() < ready
        inputs["bias_ready_i"] = np.array([free])
        before, rooms = rooms, (rng.random() < room, rng.random() < room)
        inputs["room_i"], inputs["bias_room_i"] = (np.array([part]) for part in rooms)
        was, hold = hold, rng.random() < held_back
        inputs["hold_i"] = np.array([hold])
        out = sim.run(1, **inputs)
        target = waiting[0].target if waiting else passes[-1].target
        if waiting and out["pass_ready_o"][0]:
            waiting.popleft()
        if out["load_valid_o"][0]:
            assert not was, "a line is loaded after a hold"
            seen.loads.append(fields(WEIGHTS, out["load_o"][0]))
        reserves = False
        if out["entry_valid_o"][0]:
            entry = fields(ENTRY, out["entry_o"][0])
            kind = entry["pass"]
            if entry["opens"] and kind == Kind.FW and entry["last"] and entry["bias"]:
                assert come[wanted] < clock, "a tile starts before its bias line came"
                wanted += 1
            if entry["opens"] and kind == Kind.DW:
                reserves = True
                assert before[0] and (before[1] or not entry["bias"]), "there was no room"
                assert out["reserve_rows_o"][0] == entry["rows"]
                assert out["reserve_bias_o"][0] == entry["bias"]
            seen.entries.append((clock, entry))
            if entry["last"] and kind != Kind.DW and not entry["drops"]:
                if entry["closes"] if entry["wide"] else entry["opens"]:
                    written.append(clock + WRITTEN)
                if entry["closes"]:
                    whole.append(clock + WRITTEN)
        assert out["reserve_o"][0] == reserves
        if out["bias_valid_o"][0] and free:
            assert out["bias_target_o"][0] == target
            seen.biases.append(int(out["bias_address_o"][0]))
            come.append(clock + COME)
        idle = idle + 1 if not waiting and out["idle_o"][0] else 0
        if idle == 3:
            last = seen.entries[-1][0]
            assert clock > last + timing.DEPTH - 1, "idle before all is written"
            return seen
    raise AssertionError("no end")


def compare(seen: Seen, passes: Sequence[Pass], table: Table, shifts: list[int]) -> None:
    """Compare tiles, their entries and their loads with the schedule."""
    g = GEOMETRY
    lines, at, given = iter(seen.loads), iter(seen.entries), iter(seen.tiles)
    slots = Slots.of(table, g)
    wanted = []
    for p in passes:
        layers = table.networks[p.net]
        wanted += biases(p, layers, g)
        for tile in tiles(p, layers, slots, shifts, g):
            _, entry = next(given)
            assert entry["pass"] == p.kind
            assert entry["act"] == (ops.RELU if tile.relu else ops.TANH if tile.tanh else 0)
            for name in ("il", "half", "acting", "common"):
                assert entry[name] == getattr(p, name), name
            assert entry["vectors"] == p.vectors
            assert (entry["joins_only"], entry["join_word"]) == (p.join_only, p.word)
            want = {k: v for k, v in asdict(tile).items() if k in entry and v is not None}
            assert {name: entry[name] for name in want} == want, (p, tile)
            for index, line in enumerate(tile.lines):
                load = next(lines)
                assert load == {
                    "target": p.target, "il": p.il, "alone": p.acting and not p.vectors,
                    "by_row": p.kind == Kind.DX, "index": index, "opens": index == 0, "line": line,
                    "columns": load["columns"] if tile.columns is None else tile.columns,
                }  # fmt: skip
            for index in range(tile.entries):
                _, found = next(at)
                assert found["index"] == index
                assert found["closes"] == (index == tile.entries - 1)
    assert [next(rest, None) for rest in (lines, at, given)] == [None] * 3
    assert seen.biases == wanted


def compare_starts(seen: Seen, model: Starts, what: object) -> None:
    """Compare each tile's start with the cycle model, from the first one on."""
    shift = seen.tiles[0][0] - model.starts[0]
    assert [clock - shift for clock, _ in seen.tiles] == model.starts, what


def random_table(rng: np.random.Generator, bias: bool, layers: int) -> Table:
    """Networks with so many hidden layers at most, of 1 to 20 units, many of them of one tile."""
    count = rng.integers(1, layers + 1)
    most = rng.choice([GEOMETRY.lw, 20], count)
    hidden = [int(n) for n in rng.integers(1, most + 1)]
    return plan(int(rng.integers(1, 18)), int(rng.integers(1, 3)), hidden, GEOMETRY, bias=bias)


def test_qat_sequencer(seed: int) -> None:
    """Each tile of random passes forward: what it reads, writes and loads; and when it starts."""
    rng = np.random.default_rng([seed, 9])
    g = GEOMETRY
    met: set[object] = set()
    with player(seed) as sim:
        for turn in range(scale(40, 10)):
            table = random_table(rng, turn % 4 != 3, 3)
            net, alone = int(rng.integers(0, 2)) if turn != 4 else ACTOR, turn % 3 == 0
            acting = alone or bool(rng.random() < 0.5)
            common = bool(rng.random() < 0.5) and not alone
            most, il = g.vc if common else g.vectors, common or (alone and turn % 6 == 0)
            layers = table.networks[net]
            first = int(rng.integers(0, len(layers))) if turn % 5 == 0 else 0
            last = len(layers) - 1 if turn % 5 else first
            p = Pass(
                net, first, last, 0 if alone else int(rng.integers(1, most + 1)),
                int(rng.integers(0, 9)), half=bool(rng.random() < 0.5), il=il, acting=acting,
                common=common, target=bool(rng.random() < 0.5), watch=bool(rng.random() < 0.5),
                sink=30 if turn % 5 == 0 else None,
            )  # fmt: skip
            if net == ACTOR and not alone:
                p = replace(p, join=int(rng.integers(0, 64)), join_only=turn % 4 == 1,
                            word=int(rng.integers(0, g.lw)))  # fmt: skip
                met.add("joins")
            shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
            slow, held = turn % 4 == 1, turn % 4 == 2
            seen = drive(sim, table, [p], shifts, 0.05 if slow else 1.0, rng,
                         held_back=0.6 if held else 0)  # fmt: skip
            compare(seen, [p], table, shifts)
            met |= {(p.half, p.il, slow, held), ("common", common), ("acting", acting, il)}
            if not (slow or held):
                model = Starts(g, p.half)
                taken = layers[first : last + 1]
                if alone:
                    model.infer(taken, il)
                else:
                    each = p.vectors if common else model.share(p.vectors)
                    model.forward(taken, each, {}, acting, il)
                compare_starts(seen, model, p)
    want = {"joins", *(("common", c) for c in (0, 1)), *(("acting", 1, il) for il in (0, 1))}
    assert len(met) > 9 and want <= met


def test_qat_sequencer_backward(seed: int) -> None:
    """FW, FW, dX, dW and FW in a row, as a timestep has them: all tiles, and their starts.

    The last tile of inputs of FW and the first operands of dX wait for nothing, or for the pass
    before; dW waits for its deltas, tile by tile, and the last pass loads under dW.
    """
    rng = np.random.default_rng([seed, 11])
    g = GEOMETRY
    met = set()
    with player(seed) as sim:
        for turn in range(scale(40, 12)):
            table = random_table(rng, turn % 4 != 3, 3 if turn % 2 else 1)
            net, half = int(rng.integers(0, 2)), bool(turn % 3 % 2)
            layers = table.networks[net]
            common = turn % 3 == 2
            most = g.vc + 1 if common else g.vectors
            vectors = 1 + int(rng.integers(0, 4)) if turn % 2 else int(rng.integers(1, most))
            last = len(layers) - 1
            waits = turn % 5 > 0
            action = turn % 4 == 2
            seeds = Slots.of(table, g).deltas[net][last]
            passes = [
                Pass(net, 0, last, vectors, 3, half=half),
                Pass(net, 0, last, vectors, 4, half=half, waits=waits),
                Pass(net, 0 if action or common else 1, last, vectors, seeds, kind=Kind.DX,
                     action=action,
                     word=1 if action else 0, mu=7, tangent=turn % 8 == 2,
                     sink=9 if action else None, half=half, waits=waits),
                Pass(net, 0, last, vectors, 3, half=half, kind=Kind.DW, waits=not action,
                     fresh=bool(turn % 2), update=turn % 3 == 0),
                Pass(net, 0, last, vectors, 5, half=half, waits=waits),
            ]  # fmt: skip
            passes = [replace(p, common=common, il=common and p.kind == Kind.FW) for p in passes]
            shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
            tight = turn % 6 == 5
            seen = drive(sim, table, passes, shifts, 1.0, rng, 0.1 if tight else 1)
            compare(seen, passes, table, shifts)
            met.add((half, waits, action, tight, common))
            if tight:
                continue
            model = Starts(g, half)
            # The last layer's outputs come by the tail in half mode: with the last entry.
            wide = layers[-1].act == ops.TANH or half
            mine = model.share(vectors, common)
            each = vectors if common else mine  # of a core forward
            after = timing.DEPTH + (model.entries(each) if wide else 1) + common
            column = g.lines(layers[0].q) - 1
            start = model.forward(layers, each, {}, il=common)
            start = model.forward(layers, each, {column: start + after} if waits else {}, il=common)
            after -= common
            made = model.backward(
                layers, mine, 0 if action or common else 1, start + after if waits else 0,
                column if action else None, common,
            )  # fmt: skip
            model.weights(layers, mine, {} if action else made, common)
            # Nothing but what dX wrote can still be awaited; of the action it is the tail's last.
            starts = list(made.values())
            ready = max(starts) + timing.DEPTH + (mine if action else 1)
            model.forward(layers, each, {column: ready + common} if waits else {}, il=common)
            compare_starts(seen, model, passes)
    assert len(met) > 6


def test_qat_sequencer_layers(seed: int) -> None:
    """dX and dW of single layers, as jobs have them, with lines of their own."""
    rng = np.random.default_rng([seed, 12])
    g = GEOMETRY
    with player(seed) as sim:
        for turn in range(scale(24, 8)):
            table = random_table(rng, turn % 4 != 3, 3)
            net, half = int(rng.integers(0, 2)), bool(rng.random() < 0.5)
            layers = table.networks[net]
            index = int(rng.integers(0, len(layers))) if turn % 4 else 0
            vectors = int(rng.integers(1, g.vectors + 1))
            kind = (Kind.DX, Kind.DW)[turn % 2]
            p = Pass(net, index, index, vectors, 2, half=half, sink=4, kind=kind, fresh=True)
            shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
            seen = drive(sim, table, [p], shifts, 1.0, rng)
            compare(seen, [p], table, shifts)
            model = Starts(g, half)
            layer, mine = layers[index], -(-vectors // g.n)
            if kind == Kind.DX:
                model.backward((layer, layer), mine, 1, 0)
            else:
                model.weights((layer,), mine, {})
            compare_starts(seen, model, p)


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
        seen = drive(sim, table, [p], [0] * TENSORS, 1.0, rng)
        compare(seen, [p], table, [0] * TENSORS)
