"""Cores, sequencer and weight memory in one simulator, and the golden model beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.qat import ops
from models.qat.engine import QatEngine
from models.qat.layout import Geometry, Slots, Table
from models.qat.schedule import Pass
from models.qat.timestep import Stage
from verif.play import Block, Player, words
from verif.qat.array import WORD, pack, unpack

LAYER = {
    "p": 11, "q": 11, "p_lines": 9, "q_lines": 9, "act": 2, "bias": 1, "last": 1, "wbase": 17,
    "bbase": 17, "output_line": 11, "delta_line": 11,
}  # fmt: skip
PASS = {
    "pass": 2, "half": 1, "il": 1, "acting": 1, "watch": 1, "net": 1, "target": 1,
    "first_layer": 2, "last_layer": 2, "vectors": 10, "source": 11, "place": 1, "sink": 11,
    "joins": 1, "joins_only": 1, "join_line": 11, "word": 5,
}  # fmt: skip
NETS, LAYERS, TENSORS = 2, 4, 8
LAYERS_BITS = NETS * LAYERS * sum(LAYER.values())


def struct(fields: dict[str, int], values: dict[str, int]) -> int:
    """A packed struct; the first field is on top."""
    out = 0
    for name, bits in fields.items():
        assert 0 <= values.get(name, 0) < 1 << bits, name
        out = out << bits | values.get(name, 0)
    return out


def pass_words(p: Pass) -> np.ndarray:
    """The port pass_i."""
    line, word = p.join or (0, 0)
    return to_words(struct(PASS, {
        "half": p.half, "il": p.il, "acting": p.acting, "watch": p.watch, "net": p.net,
        "target": p.target, "first_layer": p.first, "last_layer": p.last, "vectors": p.vectors,
        "source": p.source, "place": p.sink is not None, "sink": p.sink or 0,
        "joins": p.join is not None, "joins_only": p.join_only, "join_line": line,
        "word": word,
    }), sum(PASS.values()))  # fmt: skip


def to_words(value: int, bits: int) -> np.ndarray:
    """An integer as the words of a port, [1, words]."""
    return np.array([[value >> 32 * k & 0xFFFFFFFF for k in range(words(bits))]], np.uint32)


def layer_words(table: Table, geometry: Geometry) -> np.ndarray:
    """The port layers_i."""
    slots = Slots.of(table, geometry)
    size, out = sum(LAYER.values()), 0
    for net, layers in enumerate(table.networks):
        for index, layer in enumerate(layers):
            value = struct(LAYER, {
                "p": layer.p, "q": layer.q, "p_lines": geometry.lines(layer.p),
                "q_lines": geometry.lines(layer.q), "act": layer.act, "bias": int(layer.bias),
                "last": int(index + 1 == len(layers)), "wbase": layer.wbase, "bbase": layer.bbase,
                "output_line": slots.outputs[net][index], "delta_line": slots.deltas[net][index],
            })  # fmt: skip
            out |= value << size * (net * LAYERS + index)
    return to_words(out, LAYERS_BITS)


def block(g: Geometry) -> Block:
    """jd_qat_cores of a geometry."""
    line = g.lw * WORD
    over = (2 * g.lw * g.n).bit_length()
    core = max((g.n - 1).bit_length(), 1)
    return Block(
        "jackdaw:engine:qat_core",
        "jd_qat_cores",
        {
            "clear_i": 1, "layers_i": LAYERS_BITS, "shifts_i": 5 * TENSORS, "pass_valid_i": 1,
            "pass_i": sum(PASS.values()), "weight_read_i": 1, "weight_write_i": 1,
            "weight_target_i": 1, "weight_address_i": 17, "weight_line_i": line,
            "line_valid_i": 1, "line_cores_i": g.n, "line_delta_i": 1, "line_odd_i": 1,
            "line_address_i": 18, "line_half_i": 2, "line_data_i": g.n * line,
            "slot_read_i": 1, "slot_all_i": 1, "slot_core_i": core, "slot_delta_i": 1,
            "slot_odd_i": 1, "slot_address_i": 18,
        },
        {
            "idle_o": 1, "pass_ready_o": 1, "weight_ready_o": 1, "weight_valid_o": 1,
            "weight_line_o": line, "line_ready_o": 1, "slot_valid_o": 1, "slot_line_o": line,
            "slot_lines_o": g.n * line, "seen_valid_o": g.n, "seen_tensor_o": 3 * g.n,
            "seen_line_o": g.n * line, "over_z_o": over, "over_quantized_o": over,
            "entry_valid_o": 1, "entry_il_o": 1, "load_il_o": 1, "waits_o": 1,
        },
    )  # fmt: skip


def player(g: Geometry, seed: int) -> Player:
    """The cores of a geometry, out of reset."""
    parameters = {
        "Lw": g.lw, "N": g.n, "Slots": g.vc, "ActLines": g.act_lines, "DelLines": g.del_lines,
        "WLines": g.w_lines, "TanhLanes": g.tanh_lanes,
    }  # fmt: skip
    return Player(block(g), parameters, seed)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Words."""
    return rng.integers(-(1 << 31), 1 << 31, shape)


@dataclass
class Run:
    """What was seen while passes ran.

    Attributes:
        entries: clocks with an entry.
        idle: clock from which all was idle.
        low, high: least and largest value that monitors saw of each tensor, and 0.
        over: values that were saturated, by Stage.
    """

    entries: np.ndarray
    idle: int
    low: list[int] = field(default_factory=lambda: [0] * TENSORS)
    high: list[int] = field(default_factory=lambda: [0] * TENSORS)
    over: dict[Stage, int] = field(default_factory=dict)


class Cores:
    """A design and its golden model, which have the same memories.

    Args:
        sim: the design.
        geometry: of both.
        table: the networks.
        rng: of memories and vectors.
    """

    def __init__(
        self, sim: Player, geometry: Geometry, table: Table, rng: np.random.Generator
    ) -> None:
        self.sim, self.geometry, self.table, self.rng = sim, geometry, table, rng
        self.golden = QatEngine(geometry)
        self.golden.path.table = table
        self.golden.slots = self.slots = Slots.of(table, geometry)
        self.shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
        self.golden.path.shifts = list(self.shifts)
        self.layers = layer_words(table, geometry)

    def fill(self, size: int) -> None:
        """Give both networks weights of random size, up to so many bits."""
        g, path = self.geometry, self.golden.path
        for layers in self.table.networks:
            for layer in layers:
                for memory in (path.w, path.t):
                    for part in (path.weights(memory, layer), path.biases(memory, layer)):
                        some = int(self.rng.integers(2, size + 1))
                        bits = size if self.rng.random() < 0.3 else some
                        half = 1 << bits - 1
                        part[...] = self.rng.integers(-half, half, part.shape)
        for target, memory in ((0, path.w), (1, path.t)):
            used = np.arange(g.w_lines)
            self.sim.run(
                len(used), weight_write_i=np.ones(len(used)),
                weight_target_i=np.full(len(used), target), weight_address_i=used,
                weight_line_i=pack(memory[used], WORD),
            )  # fmt: skip

    def put(self, core: int, slot: int, line: int, lines: np.ndarray) -> None:
        """Write lines of a slot of ACT in both."""
        g = self.geometry
        self.golden.act[core, slot, line : line + len(lines)] = lines
        n = len(lines)
        out = self.sim.run(
            n, line_valid_i=np.ones(n), line_cores_i=np.full(n, 1 << core),
            line_address_i=slot * g.act_lines + line + np.arange(n), line_half_i=np.full(n, 3),
            line_data_i=pack(np.tile(lines, (1, g.n)), WORD),
        )  # fmt: skip
        assert out["line_ready_o"].all()

    def scatter(self, line: int) -> None:
        """Random words in a line of each vector's slot."""
        g = self.geometry
        for core in range(g.n):
            for slot in range(g.vc):
                self.put(core, slot, line, numbers(self.rng, 1, g.lw))

    def inputs(self, p: Pass, size: int) -> None:
        """Random inputs of a pass: [lines] of each vector that it has."""
        g = self.geometry
        layer = self.table.networks[p.net][p.first]
        half = 1 << size - 1
        if p.acting:
            places = [(core, g.vc) for core in range(g.n)]
        else:
            places = [(v % g.n, v // g.n) for v in range(p.vectors)]
            if p.half:
                places = [(core, slot) for core, slot in places if slot % 2 == 0]
        lines = None
        for core, slot in places:
            if lines is None or not p.acting:
                x = np.zeros((1, g.lines(layer.q) * g.lw), np.int64)
                x[0, : layer.q] = self.rng.integers(-half, half, layer.q)
                if p.half:
                    low, high = self.rng.integers(-(1 << 15), 1 << 15, (2, layer.q))
                    x[0, : layer.q] = (0 if p.acting else high << 16) | low & ops.LANE
                lines = x.reshape(-1, g.lw)
            self.put(core, slot, p.source, lines)

    def run(self, *passes: Pass, limit: int = 30_000) -> Run:
        """Run passes one after another, in the RTL and the model."""
        for p in passes:
            self._predict(p)
        held = {
            "layers_i": self.layers,
            "shifts_i": to_words(sum(s << 5 * k for k, s in enumerate(self.shifts)), 5 * TENSORS),
        }
        waiting = list(passes)
        parts: list[dict[str, np.ndarray]] = []
        while True:
            step = 1 if waiting else 64
            inputs = {name: np.repeat(value, step, 0) for name, value in held.items()}
            if waiting:
                p = waiting[0]
                inputs["pass_valid_i"] = np.ones(1)
                inputs["pass_i"] = pass_words(p)
            out = self.sim.run(step, **inputs)
            parts.append(out)
            if waiting:
                if out["pass_ready_o"][0]:
                    waiting.pop(0)
            elif out["idle_o"].all():
                break
            assert sum(len(part["idle_o"]) for part in parts) < limit, "no end"
        out = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return self._seen(out)

    def _seen(self, out: dict[str, np.ndarray]) -> Run:
        g = self.geometry
        result = Run(np.flatnonzero(out["entry_valid_o"]), int(np.flatnonzero(~out["idle_o"].astype(
            bool))[-1]) + 1)  # fmt: skip
        result.over = {
            Stage.Z: int(out["over_z_o"].sum()), Stage.ACTQ: int(out["over_quantized_o"].sum()),
        }  # fmt: skip
        lines = out["seen_line_o"]
        for clock in np.flatnonzero(out["seen_valid_o"]):
            values = unpack(lines[clock : clock + 1], WORD, g.n * g.lw).reshape(g.n, g.lw)
            for core in range(g.n):
                if out["seen_valid_o"][clock] >> core & 1:
                    tensor = out["seen_tensor_o"][clock] >> 3 * core & 7
                    result.low[tensor] = min(result.low[tensor], int(values[core].min()))
                    result.high[tensor] = max(result.high[tensor], int(values[core].max()))
        return result

    def _predict(self, p: Pass) -> None:
        golden, path = self.golden, self.golden.path
        slots = [self.geometry.vc] if p.acting else None
        layer = self.table.networks[p.net][p.first]
        if p.acting:
            words_ = golden.act[0, self.geometry.vc].reshape(-1)[p.source * self.geometry.lw :]
            x = words_[None, : layer.q].astype(np.int64)
            if p.half:
                x = ((x & ops.LANE) ^ 0x8000) - 0x8000
        else:
            x = golden._vectors(golden.act, p.source, layer.q, p.vectors, p.half)
        for index in range(p.first, p.last + 1):
            end = index + 1 == len(path.layers(p.net))
            x = path.layer_forward(p.net, index, x, p.half, p.watch, p.target)
            line = self.slots.outputs[p.net][index]
            if index == p.last and p.sink is not None:
                line = p.sink
            if not (end and p.join and p.join_only):
                golden._keep(golden.act, line, x, p.half and not end, slots)
        if end and p.join:
            self._join(*p.join, path.store(x, 0, p.half, p.watch), p.half)

    def _join(self, line: int, word: int, x: np.ndarray, half: bool) -> None:
        """Put words of vectors, [n, words], into a line of their slots."""
        n = self.geometry.n
        for core in range(n):
            mine = x[core::n]
            if half:
                odd = np.zeros_like(mine[0::2])
                odd[: len(mine[1::2])] = mine[1::2]
                mine = mine[0::2] & ops.LANE | odd << 16
            place = slice(0, len(mine) << half, 1 + half)
            self.golden.act[core, place, line, word : word + x.shape[1]] = mine

    def compare(self, *, cores: int | None = None) -> int:
        """Compare every line of ACT that the golden model has written. Returns how many."""
        g, count = self.geometry, 0
        for core in range(cores or g.n):
            lines = self.golden.act[core].reshape(-1, g.lw)
            used = np.flatnonzero(lines.any(1))
            n = len(used)
            if not n:
                continue
            out = self.sim.run(
                n + 4, slot_read_i=np.pad(np.ones(n), (0, 4)),
                slot_core_i=np.full(n + 4, core), slot_address_i=np.pad(used, (0, 4)),
            )  # fmt: skip
            assert not out["slot_valid_o"][:3].any() and out["slot_valid_o"][3 : n + 3].all()
            got = unpack(out["slot_line_o"][3 : n + 3], WORD, g.lw)
            wrong = np.flatnonzero((got != lines[used]).any(1))
            assert not wrong.size, (
                f"core {core}: {wrong.size} of {n} lines differ, first slot, line "
                f"{divmod(int(used[wrong[0]]), g.act_lines)}: got {got[wrong[0]]}, want "
                f"{lines[used[wrong[0]]]}"
            )
            count += n
        return count
