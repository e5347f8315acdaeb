"""Cores, sequencer and weight memory in one simulator, and the golden model beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from models.qat import ops
from models.qat.engine import QatEngine
from models.qat.layout import Geometry, Slots, Table
from models.qat.schedule import Kind, Pass
from models.qat.timestep import Stage
from verif.play import Block, Player, words
from verif.qat.array import ACC, WORD, pack, unpack

LAYER = {
    "p": 11, "q": 11, "p_lines": 9, "q_lines": 9, "act": 2, "bias": 1, "last": 1, "wbase": 17,
    "bbase": 17, "output_line": 11, "delta_line": 11,
}  # fmt: skip
PASS = {
    "pass": 2, "half": 1, "il": 1, "acting": 1, "common": 1, "watch": 1, "net": 1, "target": 1,
    "first_layer": 2, "last_layer": 2, "vectors": 10, "waits": 1, "source": 11, "place": 1,
    "sink": 11, "joins": 1, "joins_only": 1, "join_line": 11, "action": 1, "word": 5,
    "mu": 11, "tangent": 1, "fresh": 1, "update": 1,
}  # fmt: skip
NETS, LAYERS, TENSORS = 2, 4, 8
DELTA = 42  # bits of a sum of deltas
LAYERS_BITS = NETS * LAYERS * sum(LAYER.values())


def struct(fields: dict[str, int], values: dict[str, int]) -> int:
    """A packed struct; the first field is on top."""
    out = 0
    for name, bits in fields.items():
        assert 0 <= values.get(name, 0) < 1 << bits, name
        out = out << bits | values.get(name, 0)
    return out


def to_words(value: int, bits: int) -> np.ndarray:
    """An integer as the words of a port, [1, words]."""
    return np.array([[value >> 32 * k & 0xFFFFFFFF for k in range(words(bits))]], np.uint32)


def pass_words(p: Pass) -> np.ndarray:
    """The port pass_i."""
    return to_words(struct(PASS, {
        "pass": p.kind, "half": p.half, "il": p.il, "acting": p.acting,
        "common": p.common, "watch": p.watch,
        "net": p.net, "target": p.target, "first_layer": p.first, "last_layer": p.last,
        "vectors": p.vectors, "waits": p.waits, "source": p.source, "place": p.sink is not None,
        "sink": p.sink or 0, "joins": p.join is not None, "joins_only": p.join_only,
        "join_line": p.join or 0, "action": p.action, "word": p.word, "mu": p.mu,
        "tangent": p.tangent, "fresh": p.fresh, "update": p.update,
    }), sum(PASS.values()))  # fmt: skip


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
    over, rows = (2 * g.lw * g.n).bit_length(), g.lw.bit_length()
    core = max((g.n - 1).bit_length(), 1)
    return Block(
        "jackdaw:engine:qat_core",
        "jd_qat_cores",
        {
            "clear_i": 1, "layers_i": LAYERS_BITS, "shifts_i": 5 * TENSORS, "pass_valid_i": 1,
            "pass_i": sum(PASS.values()), "weight_read_i": 1, "weight_write_i": 1,
            "weight_target_i": 1, "weight_address_i": 17, "weight_line_i": line,
            "adam_next_i": 1, "adam_read_i": 1, "adam_source_i": 17, "adam_write_i": 1,
            "adam_sink_i": 17, "adam_lines_i": 2 * line,
            "line_valid_i": 1, "line_cores_i": g.n, "line_delta_i": 1, "line_odd_i": 1,
            "line_address_i": 18, "line_half_i": 2, "line_data_i": g.n * line,
            "slot_read_i": 1, "slot_all_i": 1, "slot_core_i": core, "slot_delta_i": 1,
            "slot_odd_i": 1, "slot_address_i": 18,
            "room_i": 1, "bias_room_i": 1,
        },
        {
            "idle_o": 1, "pass_ready_o": 1, "weight_ready_o": 1, "weight_valid_o": 1,
            "weight_line_o": line, "adam_lines_o": 2 * line, "line_ready_o": 1, "slot_valid_o": 1,
            "slot_line_o": line, "slot_lines_o": g.n * line, "seen_valid_o": g.n,
            "seen_tensor_o": 3 * g.n, "seen_line_o": g.n * line, "over_z_o": over,
            "over_quantized_o": over, "entry_valid_o": 1, "entry_alone_o": 1, "load_alone_o": 1,
            "entry_pass_o": 2, "waits_o": 1, "full_o": 1, "over_delta_o": over, "reserve_o": 1,
            "reserve_rows_o": rows, "reserve_bias_o": 1, "drain_valid_o": 1, "drain_opens_o": 1,
            "drain_sums_o": g.n * g.lw * 2 * ACC, "tile_line_o": 17, "tile_stride_o": 17,
            "tile_words_o": rows, "tile_half_o": 1, "tile_up_o": 5, "tile_first_o": 1,
            "tile_update_o": 1, "bias_valid_o": 1, "bias_sums_o": g.n * g.lw * DELTA,
            "bias_line_o": 17, "bias_words_o": rows,
        },
    )  # fmt: skip


def player(g: Geometry, seed: int) -> Player:
    """The cores of a geometry, out of reset."""
    parameters = {
        "Lw": g.lw, "N": g.n, "Slots": g.vc, "ActLines": g.act_lines, "DelLines": g.del_lines,
        "WLines": g.w_lines, "TanhLanes": g.tanh_lanes,
    }  # fmt: skip
    return Player(block(g), parameters, seed)


@dataclass
class Run:
    """What was seen while passes ran.

    Attributes:
        entries: clocks with an entry.
        idle: clock from which all was idle.
        low, high: least and largest value that monitors saw of each tensor, and 0.
        over: values that were saturated, by Stage.
        lines: of the optimizer, W and T of each clock, [clocks, 2, LW].
        gradients: lines of G that dW gave, in their order: line, gradient, whether it is the first
            chunk's, whether it goes to Adam.
        reserved: lines that were announced, of weights and of biases.
        opened, summed: clocks of tiles' first columns, and of sums of deltas.
    """

    entries: np.ndarray
    idle: int
    lines: np.ndarray
    low: list[int] = field(default_factory=lambda: [0] * TENSORS)
    high: list[int] = field(default_factory=lambda: [0] * TENSORS)
    over: dict[Stage, int] = field(default_factory=dict)
    gradients: list[tuple[int, np.ndarray, bool, bool]] = field(default_factory=list)
    reserved: tuple[int, int] = (0, 0)
    opened: list[int] = field(default_factory=list)
    summed: list[int] = field(default_factory=list)


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
        self.single = QatEngine(replace(geometry, n=1))  # of vectors in one core, slot by slot
        self.golden.path.table = table
        self.golden.slots = self.slots = Slots.of(table, geometry)
        self.shifts = [int(s) for s in rng.integers(0, 17, TENSORS)]
        self.golden.path.shifts = list(self.shifts)
        self.layers = layer_words(table, geometry)

    def fill(self, size: int, least: int = 2) -> None:
        """Give both networks weights of random size, of so many bits at most and at least."""
        g, path = self.geometry, self.golden.path
        for layers in self.table.networks:
            for layer in layers:
                for memory in (path.w, path.t):
                    for part in (path.weights(memory, layer), path.biases(memory, layer)):
                        bits = int(self.rng.integers(least, size + 1))
                        half = 1 << bits - 1
                        part[...] = self.rng.integers(-half, half, part.shape)
        for target, memory in ((0, path.w), (1, path.t)):
            used = np.arange(g.w_lines)
            self.sim.run(
                len(used), weight_write_i=np.ones(len(used)),
                weight_target_i=np.full(len(used), target), weight_address_i=used,
                weight_line_i=pack(memory[used], WORD),
            )  # fmt: skip

    def put(self, core: int, slot: int, line: int, lines: np.ndarray, delta: bool = False) -> None:
        """Write lines of a slot of ACT, or DEL, in both."""
        g = self.geometry
        memory = self.golden.delta if delta else self.golden.act
        memory[core, slot, line : line + len(lines)] = lines
        n = len(lines)
        first = slot // 2 * g.del_lines if delta else slot * g.act_lines
        out = self.sim.run(
            n, line_valid_i=np.ones(n), line_cores_i=np.full(n, 1 << core),
            line_delta_i=np.full(n, delta), line_odd_i=np.full(n, slot % 2),
            line_address_i=first + line + np.arange(n), line_half_i=np.full(n, 3),
            line_data_i=pack(np.tile(lines, (1, g.n)), WORD),
        )  # fmt: skip
        assert out["line_ready_o"].all()

    def inputs(self, p: Pass, size: int) -> None:
        """Random inputs of a pass: [lines] of each vector that it has."""
        g = self.geometry
        layer = self.table.networks[p.net][p.first]
        half = 1 << size - 1

        def lines(acting: bool) -> np.ndarray:
            x = np.zeros((1, g.lines(layer.q) * g.lw), np.int64)
            x[0, : layer.q] = self.rng.integers(-half, half, layer.q)
            if p.half:
                low, high = self.rng.integers(-(1 << 15), 1 << 15, (2, layer.q))
                x[0, : layer.q] = (0 if acting else high << 16) | low & ops.LANE
            return x.reshape(-1, g.lw)

        for v in range(p.vectors):
            places = [(core, v) for core in range(g.n)] if p.common else [(v % g.n, v // g.n)]
            if not p.half or places[0][1] % 2 == 0:
                x = lines(False)
                for core, slot in places:
                    self.put(core, slot, p.source, x)
        if p.acting:
            x = lines(True)
            for core in range(g.n):
                self.put(core, g.vc, 0, x)

    def scatter(self, vectors: int, act: int, delta: int, common: bool = False) -> None:
        """Random lines of ACT and DEL in the slots of so many vectors, in words of so many bits."""
        slots, n = self.slots, self.geometry.n
        for v in range(vectors):
            for bits, lines, of in ((act, slots.act, False), (delta, slots.delta, True)):
                half = 1 << bits - 1
                found = self.rng.integers(-half, half, (lines, self.geometry.lw))
                for core, slot in [(c, v) for c in range(n)] if common else [(v % n, v // n)]:
                    self.put(core, slot, 0, found, of)

    def run(
        self,
        *passes: Pass,
        limit: int = 30_000,
        beside: Callable[[int], dict[str, np.ndarray]] = lambda _: {},
    ) -> Run:
        """Run passes one after another, in the RTL and the model.

        Args:
            limit: clocks.
            beside: other inputs, of so many clocks.
        """
        self.gradients: list[tuple[int, np.ndarray, bool, bool]] = []
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
            inputs["room_i"] = inputs["bias_room_i"] = np.ones(step)
            if waiting:
                p = waiting[0]
                inputs["pass_valid_i"] = np.ones(1)
                inputs["pass_i"] = pass_words(p)
            out = self.sim.run(step, **inputs, **beside(step))
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
        idle = int(np.flatnonzero(~out["idle_o"].astype(bool))[-1]) + 1
        pairs = unpack(out["adam_lines_o"], WORD, 2 * g.lw).reshape(-1, 2, g.lw)
        result = Run(np.flatnonzero(out["entry_valid_o"]), idle, pairs)
        result.over = {
            Stage.Z: int(out["over_z_o"].sum()), Stage.ACTQ: int(out["over_quantized_o"].sum()),
            Stage.DX: int(out["over_delta_o"].sum()),
        }  # fmt: skip
        result.reserved = (
            int(out["reserve_rows_o"][out["reserve_o"] == 1].sum()),
            int(out["reserve_bias_o"].sum()),
        )
        self._drained(out, result)
        lines = out["seen_line_o"]
        for clock in np.flatnonzero(out["seen_valid_o"]):
            values = unpack(lines[clock : clock + 1], WORD, g.n * g.lw).reshape(g.n, g.lw)
            for core in range(g.n):
                if out["seen_valid_o"][clock] >> core & 1:
                    tensor = out["seen_tensor_o"][clock] >> 3 * core & 7
                    result.low[tensor] = min(result.low[tensor], int(values[core].min()))
                    result.high[tensor] = max(result.high[tensor], int(values[core].max()))
        return result

    def _drained(self, out: dict[str, np.ndarray], result: Run) -> None:
        """What jd_qat_grad makes of what dW gives."""
        g = self.geometry
        line, fields = 0, {}
        result.opened = np.flatnonzero(out["drain_valid_o"] & out["drain_opens_o"]).tolist()
        result.summed = np.flatnonzero(out["bias_valid_o"]).tolist()
        for clock in np.flatnonzero(out["drain_valid_o"] | out["bias_valid_o"]):
            if out["bias_valid_o"][clock]:
                sums = unpack(out["bias_sums_o"][clock : clock + 1], DELTA, g.n * g.lw)
                words_ = int(out["bias_words_o"][clock])
                found = ops.bias_gradient(sums.reshape(g.n, g.lw)[:, :words_])[0]
                result.gradients.append(
                    (int(out["bias_line_o"][clock]), found, bool(out["tile_first_o"][clock]),
                     bool(out["tile_update_o"][clock])),
                )  # fmt: skip
            if not out["drain_valid_o"][clock]:
                continue
            if out["drain_opens_o"][clock]:
                fields = {
                    name: int(out[f"tile_{name}_o"][clock])
                    for name in ("line", "stride", "words", "half", "up", "first", "update")
                }
                line = fields["line"]
            else:
                line += fields["stride"]
            sums = unpack(out["drain_sums_o"][clock : clock + 1], ACC, g.n * g.lw * 2)
            low, high = sums.reshape(g.n, g.lw, 2).sum(0).T[:, : fields["words"]]
            found = ops.drain(low, high, 16 - fields["up"] if fields["half"] else None)[0]
            result.gradients.append((line, found, bool(fields["first"]), bool(fields["update"])))

    # Vectors of a pass in the golden memories. Those that all cores have are in slot v of each
    # core; what is made of them without IL, in core v // 2 mod N.
    def _vectors(
        self, p: Pass, memory: np.ndarray, line: int, count: int, paired: bool
    ) -> np.ndarray:
        if not p.common:
            return self.golden._vectors(memory, line, count, p.vectors, paired)
        own = np.stack([memory[v // 2 % self.geometry.n, v] for v in range(p.vectors)])
        return self.single._vectors(own[None], line, count, p.vectors, paired)

    def _keep(
        self,
        p: Pass,
        memory: np.ndarray,
        line: int,
        values: np.ndarray,
        paired: bool,
    ) -> None:
        if not p.common:
            self.golden._keep(memory, line, values, paired)
            return
        for core in range(self.geometry.n):
            own = memory[core : core + 1, : p.vectors].copy()
            self.single._keep(own, line, values, paired)
            mine = [v for v in range(p.vectors) if p.il or v // 2 % self.geometry.n == core]
            memory[core, mine] = own[0, mine]

    def _predict(self, p: Pass) -> None:
        if p.kind == Kind.FW:
            self._predict_forward(p)
        elif p.kind == Kind.DX:
            self._predict_backward(p)
        else:
            self._predict_gradient(p)

    def _predict_backward(self, p: Pass) -> None:
        golden, path, slots = self.golden, self.golden.path, self.slots
        layers = path.layers(p.net)
        d = self._vectors(p, golden.delta, p.source, layers[p.last].p, False)
        for index in reversed(range(p.first, p.last + 1)):
            layer = layers[index]
            act, a = ops.NONE, np.zeros((p.vectors, layer.q), np.int64)
            if p.action and not index:
                words_ = slice(layer.q - self.table.actions, layer.q)
                a = self._vectors(p, golden.act, p.mu, self.table.actions, False)
                act = ops.TANH if p.tangent else ops.NONE
                d = path.layer_backward(p.net, index, d, a, act, words_)
                assert p.sink is not None
                self._keep(p, golden.delta, p.sink, d, False)
                break
            if p.common and not index:
                break
            if index:
                act, place = layers[index - 1].act, slots.outputs[p.net][index - 1]
                a = self._vectors(p, golden.act, place, layer.q, p.half)
            d = path.layer_backward(p.net, index, d, a, act, slice(layer.q))
            placed = p.sink is not None and index == p.first
            sink = p.sink if placed else slots.deltas[p.net][index - 1]
            assert sink is not None
            self._keep(p, golden.delta, sink, d, False)

    def _predict_gradient(self, p: Pass) -> None:
        golden, path, slots, g = self.golden, self.golden.path, self.slots, self.geometry
        for index in range(p.first, p.last + 1):
            layer = path.layers(p.net)[index]
            source = p.source if index == p.first else slots.outputs[p.net][index - 1]
            placed = p.sink is not None and index == p.last
            delta = p.sink if placed else slots.deltas[p.net][index]
            assert delta is not None
            x = self._vectors(p, golden.act, source, layer.q, p.half)
            d = self._vectors(p, golden.delta, delta, layer.p, False)
            weights, biases = path.layer_gradient(p.net, index, x, d, p.half)
            columns = g.lines(layer.q)
            ends = p.fresh, p.update
            for row, values in enumerate(weights):
                for qt in range(columns):
                    part = values[qt * g.lw : (qt + 1) * g.lw]
                    self.gradients.append((layer.wbase + row * columns + qt, part, *ends))
            if layer.bias:
                for pt in range(g.lines(layer.p)):
                    part = biases[pt * g.lw : (pt + 1) * g.lw]
                    self.gradients.append((layer.bbase + pt, part, *ends))

    def _predict_forward(self, p: Pass) -> None:
        g, slot = self.geometry, self.golden.act[0, self.geometry.vc].reshape(-1)
        q = self.table.networks[p.net][p.first].q
        if p.vectors:
            self._forward(p, self._vectors(p, self.golden.act, p.source, q, p.half))
        if p.acting:
            x = slot[None, :q].astype(np.int64)
            self._forward(p, ((x & ops.LANE) ^ 0x8000) - 0x8000 if p.half else x, [g.vc])

    def _forward(self, p: Pass, x: np.ndarray, acting: list[int] | None = None) -> None:
        """A forward pass of stored inputs, [n, Q]; of the acting slot's there is one."""
        golden, path = self.golden, self.golden.path
        for index in range(p.first, p.last + 1):
            end = index + 1 == len(path.layers(p.net))
            x = path.layer_forward(p.net, index, x, p.half, p.watch, p.target)
            line = self.slots.outputs[p.net][index]
            if index == p.last and p.sink is not None:
                line = p.sink
            if acting:
                golden._keep(golden.act, line, x, p.half and not end, acting)
            elif not (end and p.join is not None and p.join_only):
                self._keep(p, golden.act, line, x, p.half and not end)
        if end and p.join is not None and not acting:
            self._join(p, path.store(x, 0, p.half, p.watch))

    def _join(self, p: Pass, x: np.ndarray) -> None:
        """Put words of vectors, [n, words], into a line of their slots."""
        n = self.geometry.n
        for core in range(n):
            mine = x if p.common else x[core::n]
            if p.half:
                odd = np.zeros_like(mine[0::2])
                odd[: len(mine[1::2])] = mine[1::2]
                mine = mine[0::2] & ops.LANE | odd << 16
            place = slice(0, len(mine) << p.half, 1 + p.half)
            self.golden.act[core, place, p.join, p.word : p.word + x.shape[1]] = mine

    def compare(self, *, cores: int | None = None) -> int:
        """Compare every line of ACT and DEL that the golden model has written. Returns how many."""
        return sum(
            self._compare(core, delta)
            for core in range(cores or self.geometry.n)
            for delta in (False, True)
        )

    def _compare(self, core: int, delta: bool) -> int:
        g, golden = self.geometry, self.golden
        lines = (golden.delta if delta else golden.act)[core]
        used = np.argwhere(lines.any(2))
        n = len(used)
        if not n:
            return 0
        slot, line = np.pad(used, ((0, 4), (0, 0))).T
        address = slot // 2 * g.del_lines + line if delta else slot * g.act_lines + line
        out = self.sim.run(
            n + 4, slot_read_i=np.pad(np.ones(n), (0, 4)), slot_core_i=np.full(n + 4, core),
            slot_delta_i=np.full(n + 4, delta), slot_odd_i=slot % 2, slot_address_i=address,
        )  # fmt: skip
        assert not out["slot_valid_o"][:3].any() and out["slot_valid_o"][3 : n + 3].all()
        got = unpack(out["slot_line_o"][3 : n + 3], WORD, g.lw)
        want = lines[used[:, 0], used[:, 1]]
        wrong = np.flatnonzero((got != want).any(1))
        assert not wrong.size, (
            f"core {core}, {'DEL' if delta else 'ACT'}: {wrong.size} of {n} lines differ, first "
            f"slot, line {used[wrong[0]]}: got {got[wrong[0]]}, want {want[wrong[0]]}"
        )
        return n

    def compare_gradients(self, run: Run) -> int:
        """Compare what dW passes gave, whatever its order. Returns how many lines."""
        got, want = (sorted(part, key=lambda item: item[0]) for part in
                     (run.gradients, self.gradients))  # fmt: skip
        assert [item[0] for item in got] == [item[0] for item in want]
        for a, b in zip(got, want, strict=True):
            assert a[2:] == b[2:] and np.array_equal(a[1], b[1]), f"got {a}, want {b}"
        assert sum(run.reserved) == len(want)
        return len(want)
