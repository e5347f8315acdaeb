"""The sparse engine's memories and units: what each instruction does.

The arithmetic is that of `layer`, `lstm`, `comm` and `optim`, in its compiled form.
Source: docs/sparse.md (program).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from models.engine import BusError, Memory
from models.registers.sparse import Error
from models.replay.rng import Xoshiro
from models.sparse import kernels, optim, osel
from models.sparse.formats import (
    GROUP_LINE,
    LINE,
    SETS,
    USES,
    VECTORS,
    Flag,
    Geometry,
    Instruction,
    Kind,
    Layer,
    Op,
    Tensor,
    Unit,
    image_words,
    padded,
    pitch,
)
from models.sparse.layer import Packed, contract, flat, pack, split_lists
from models.sparse.numbers import SIGMOID_OF, TANH_OF, half, single
from models.sparse.optim import Rates
from models.sparse.osel import Encoding, encode
from models.sparse.plan import (
    ROW_CONTIGUOUS,
    ROW_CYCLIC,
    WORD_BANKS,
    Plan,
    PlanError,
    core_loads,
    line_clocks,
    owners,
    plan,
    split_line_clocks,
)
from models.sparse.timing import OVERHEAD
from models.sparse.validate import Context, JobError, in_store

DMA_LATENCY = 64  # clocks, of the estimate
UNDEFINED = 0x7E00  # a NaN: what was not written must not be used


@dataclass
class LayerState:
    """A layer's memories and what was made of its mask.

    Attributes:
        layer: sizes and places.
        encoding, plan: None while stale.
        forward, backward: compressed weights of each core and chain; None while stale.
        forward_row, backward_row: they are in ROW split.
        owner: [M] core of each row, in ROW split.
        grads: [nnz] float32 of each core, in the encoding's order.
        inner: the rows of the gradients; starts: where each group's columns begin.
        biases: [cores, N] float32, sums of the biases' gradients.
        row_sums, column_sums: int64, gradients of the grouping.
        compression: clocks of each direction.
        ends: [banks] end of the weight lines and of the gradient lines, with a plan.
    """

    layer: Layer
    cores: int
    encoding: Encoding | None = None
    plan: Plan | None = None
    forward: list[list[Packed]] | None = None
    backward: list[list[Packed]] | None = None
    forward_row: bool = False
    backward_row: bool = False
    owner: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    grads: list[np.ndarray] = field(default_factory=list)
    inner: tuple[np.ndarray, np.ndarray] = field(default=(np.zeros(0, np.int64),) * 2)
    outer: tuple[np.ndarray, np.ndarray] = field(default=(np.zeros(0, np.int64),) * 2)
    biases: np.ndarray = field(init=False)
    row_sums: np.ndarray = field(init=False)
    column_sums: np.ndarray = field(init=False)
    compression: tuple[int, int] = (0, 0)
    ends: tuple[np.ndarray, np.ndarray] = field(default=(np.zeros(0, np.int64),) * 2)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """CLRG."""
        for grad in self.grads:
            grad[:] = 0
        self.biases = np.zeros((self.cores, self.layer.n), np.float32)
        self.row_sums = np.zeros(self.layer.m, np.int64)
        self.column_sums = np.zeros(self.layer.n, np.int64)

    def forget(self, encoding: bool = True) -> None:
        """Weights changed, or also the mask."""
        self.forward = self.backward = None
        if encoding:
            self.encoding = self.plan = None


@dataclass(frozen=True)
class Operand:
    """What FILL leaves for a VPU operation: [neurons, vectors of all cores] float32."""

    values: np.ndarray
    tiles: tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """What a VPU operation leaves.

    Attributes:
        layer: number.
        values: [neurons, vectors of all cores] float32.
        tiles: of each core.
        forward: FW; else dX.
        row: ROW split: each core has sums of its own part of the rows.
    """

    layer: int
    values: np.ndarray
    tiles: tuple[int, ...]
    forward: bool
    row: bool


class Machine:
    """Memories and units of a build.

    Attributes:
        w, v: [PWords] float32, weights and mean squares; bias, bias_v: [BWords] of the biases.
        entries: [MRows * 128] int8, grouping; states: [SWords] float32, its mean squares.
        store: [cores, ARows, 8, 4] uint16, activations.
        layers: of the network.
        generator: of stochastic rounding.
        nonfinite: a gradient since the last CLRG is not finite.
        clean: gradients are +0: a CLRG, and no dW or bias sum since.
        counts: counters by name.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = g = geometry
        self.w, self.v = np.zeros(g.p_words, np.float32), np.zeros(g.p_words, np.float32)
        self.bias, self.bias_v = np.zeros(g.b_words, np.float32), np.zeros(g.b_words, np.float32)
        self.entries = np.zeros(g.m_rows * GROUP_LINE, np.int8)
        self.states = np.zeros(g.s_words, np.float32)
        self.store = np.full((g.cores, g.a_rows, 8, 4), UNDEFINED, np.uint16)
        self.layers: list[LayerState] = []
        self.generator = Xoshiro()
        self.nonfinite = False
        self.clean = False
        self.skipped = False
        self.x: deque[Operand] = deque()
        self.y: deque[Operand] = deque()
        self.results: deque[Result] = deque()
        self.counts: dict[str, int] = dict.fromkeys(
            ("USEFUL_MACS", "LANE_CLOCKS", "VPU_OPS", "HITS", "MISSES", "OVF"), 0
        )
        self.osel_clocks = [0] * 5
        self.core_load = [0] * 3
        self._plans: dict[int, tuple[Encoding, Plan, tuple[int, int], bool]] = {}

    # ---- Views ----
    def configure(self, layers: list[Layer]) -> None:
        """Take a network; encodings, plans, gradients and activations are forgotten."""
        self.layers = [LayerState(layer, self.geometry.cores) for layer in layers]
        self.store[:] = UNDEFINED
        self._plans.clear()
        self.drop()

    def drop(self) -> None:
        """Empty the operands and results."""
        for sets in (self.x, self.y, self.results):
            sets.clear()  # type: ignore[attr-defined]

    def forget(self) -> None:
        """After a reset: every layer is stale."""
        self.drop()
        for state in self.layers:
            state.forget()

    def weights(self, layer: Layer, memory: np.ndarray) -> np.ndarray:
        """[M, N] view of a layer in `w` or `v`."""
        words = memory[layer.w_base : layer.w_base + layer.w_words]
        return words.reshape(layer.m, pitch(layer.n))[:, : layer.n]

    def grouping(self, layer: Layer) -> tuple[np.ndarray, np.ndarray]:
        """IG [M, G] and OG transposed [N, G], views."""
        base, (ig, _) = layer.g_base * GROUP_LINE, layer.grouping
        second = base + ig * GROUP_LINE
        return (
            self.entries[base : base + layer.m * layer.groups].reshape(layer.m, -1),
            self.entries[second : second + layer.n * layer.groups].reshape(layer.n, -1),
        )

    def parts(self, layer: Layer, kinds: Kind) -> dict[Kind, list[np.ndarray]]:
        """The memories of an image's parts, in its order, as views."""
        place, count = layer.g_base * GROUP_LINE, layer.grouping
        ig = self.entries[place : place + count[0] * GROUP_LINE]
        og = self.entries[place + count[0] * GROUP_LINE :][: count[1] * GROUP_LINE]
        at = slice(layer.b_base, layer.b_base + layer.n)
        every: dict[Kind, list[np.ndarray]] = {
            Kind.W: list(self.weights(layer, self.w)),
            Kind.V: list(self.weights(layer, self.v)),
            Kind.BIAS: [self.bias[at], self.bias_v[at]],
            Kind.GROUP: [ig, og] if layer.groups > 1 else [],
            Kind.GSTATE: [self.states[layer.s_base : layer.s_base + layer.states]],
        }
        return {kind: arrays for kind, arrays in every.items() if kind & kinds}

    def load(self, layer: Layer, kinds: Kind, image: np.ndarray) -> None:
        """Take a layer's part of an image, uint32 words."""
        at = 0
        for kind, arrays in self.parts(layer, kinds).items():
            for array in arrays:
                words = image[at : at + padded(array.nbytes, 4) // 4].view(array.dtype)
                array[:] = words[: array.size]
                at += self._width(kind, array)
        if Kind.W in kinds and Kind.V not in kinds:
            self.weights(layer, self.v)[:] = 0
        if Kind.GROUP in kinds and Kind.GSTATE not in kinds:
            self.states[layer.s_base : layer.s_base + layer.states] = 0

    def save(self, layer: Layer, kinds: Kind) -> np.ndarray:
        """A layer's part of an image, uint32 words."""
        image = np.zeros(sum(image_words(layer, kinds).values()), np.uint32)
        at = 0
        for kind, arrays in self.parts(layer, kinds).items():
            for array in arrays:
                raw = np.zeros(self._width(kind, array) * 4, np.uint8)
                raw[: array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
                if kind == Kind.GROUP:  # entries past the last row are padding
                    rows = layer.m if array is arrays[0] else layer.n
                    raw[rows * layer.groups :] = 0
                image[at : at + self._width(kind, array)] = raw.view(np.uint32)
                at += self._width(kind, array)
        return image

    @staticmethod
    def _width(kind: Kind, array: np.ndarray) -> int:
        """Words of a part's row in an image."""
        return array.nbytes // 4 if kind == Kind.GROUP else padded(array.size, 16)

    # ---- Instructions ----
    def can_start(self, one: Instruction) -> bool:
        """Whether operands and results allow it to start."""
        op = one.code
        if op == Op.FX:
            return len(self.x) < SETS
        if op == Op.FY:
            return len(self.y) < SETS
        if op in (Op.FW, Op.DX):
            return bool(self.x) and len(self.results) < SETS
        if op == Op.DW:
            return bool(self.x) and bool(self.y)
        return op not in (Op.LIN, Op.LSTMF) or bool(self.results)

    def execute(self, one: Instruction, context: Context, rates: Rates, gscale: np.float32,
                inverse: np.float32, memory: Memory) -> int:  # fmt: skip
        """Do an instruction. Returns: its clocks, estimated. Raises: JobError without info0."""
        op, flags = one.code, one.mode
        state = self.layers[one.layer] if USES[op].layer else None
        tiles = one.tiles[: self.geometry.cores]
        if one.unit == Unit.DMA:
            return self._dma(one, op, flags, tiles, memory)
        if one.unit == Unit.COMM:
            return self._communicate(one, op, flags, tiles, context, inverse)
        if op == Op.CLRG:
            for each in self.layers:
                each.clear()
            self.nonfinite, self.clean, self.skipped = False, True, False
            return self.geometry.g_rows
        assert state is not None
        if one.unit == Unit.OSEL:
            return self._encode(state, op, flags)
        if one.unit == Unit.LAU:
            return self._allocate(one, state, op, flags)
        if one.unit == Unit.FILL:
            return self._fill(one, state, op, flags, tiles)
        if one.unit == Unit.VPU:
            return self._compute(one, state, op, flags, tiles)
        if one.unit == Unit.ELEM:
            return self._elementwise(one, state, op, flags, tiles)
        return self._update(one, state, op, flags, rates, gscale)

    def _dma(self, one: Instruction, op: Op, flags: Flag, tiles: tuple[int, ...],
             memory: Memory) -> int:  # fmt: skip
        row, address = Flag.ROW in flags, one.address
        for core, count in enumerate(tiles):
            at = one.a.line + one.a.stride * np.arange(count)[:, None] + np.arange(one.value)
            nbytes = LINE * count * one.value
            try:
                if op == Op.ZEROA:
                    self.store[core, at] = 0
                elif op == Op.LOADA:
                    raw = memory.read(address, nbytes).view(np.uint16)
                    self.store[core, at] = np.roll(
                        raw.reshape(count, one.value, 8, VECTORS), one.a.skew, axis=2
                    )
                elif count and not (row and core):
                    found = np.roll(self.store[core, at], -one.a.skew, axis=2)
                    memory.write(address, found.reshape(-1).view(np.uint8))
            except BusError as error:
                code = Error.E_BUS_WR if op == Op.STOREA else Error.E_BUS_RD
                raise JobError(code, 0, error.response) from error
            address += 0 if row else nbytes
        return one.value * sum(tiles) + (0 if op == Op.ZEROA else DMA_LATENCY)

    def _read(self, tensor: Tensor, neurons: int, tiles: tuple[int, ...]) -> np.ndarray:
        """A tensor of all cores, [neurons, vectors] float32."""
        out = np.empty((neurons, VECTORS * sum(tiles)), np.float32)
        column = 0
        for core, count in enumerate(tiles):
            kernels.take(
                self.store[core], tensor.line, tensor.skew, tensor.stride, count, out, 0, column
            )
            column += VECTORS * count
        return out

    def _write(self, tensor: Tensor, values: np.ndarray, tiles: tuple[int, ...], first: int = 0,
               count: int | None = None) -> None:  # fmt: skip
        """Write rows of [neurons, vectors] as a tensor."""
        column = 0
        for core, number in enumerate(tiles):
            kernels.put(
                self.store[core], tensor.line, tensor.skew, tensor.stride, number, values, first,
                values.shape[0] - first if count is None else count, column,
            )  # fmt: skip
            column += VECTORS * number

    def _encode(self, state: LayerState, op: Op, flags: Flag) -> int:
        layer = state.layer
        if layer.groups == 1:
            ig, og = np.zeros(layer.m, np.int64), np.zeros(layer.n, np.int64)
        else:
            ig, og = (osel.max_index(entries) for entries in self.grouping(layer))
        found = encode(
            ig, og, layer.groups, self.geometry.width, Flag.NOCACHE not in flags, op == Op.ENCT
        )
        state.forget()
        state.encoding = found
        self.counts["HITS"], self.counts["MISSES"] = found.hits, found.misses
        c = found.clocks
        self.osel_clocks[:4] = [c.max_index, c.rows, c.misses, c.lists]
        return c.total + OVERHEAD

    def _allocate(self, one: Instruction, state: LayerState, op: Op, flags: Flag) -> int:
        layer, encoding = state.layer, state.encoding
        if encoding is None or (op == Op.PLAN and not self.clean):
            raise JobError(Error.E_STALE)
        if op == Op.PLAN:
            return self._plan(one.layer, state, encoding, Flag.PLAIN in flags)
        if state.plan is None:
            raise JobError(Error.E_STALE)
        row = Flag.ROW in flags
        policy = ROW_CYCLIC if Flag.POLICY in flags else ROW_CONTIGUOUS
        w16 = single(half(self.weights(layer, self.w)))
        cores = self.geometry.cores
        if op == Op.COMP:
            inner, outer, parts = encoding.row_lists, encoding.column_lists, layer.split
            order, count = encoding.rows, layer.m
        else:
            w16 = np.ascontiguousarray(w16.T)
            inner = encoding.column_lists
            outer = [m[m >= layer.dx_from] for m in encoding.row_lists]
            parts, order, count = 1, np.concatenate(inner), layer.n
        owner = owners(count, order, cores, policy) if row else None
        lists = split_lists(inner, parts, owner, cores)
        packed = [[pack(w16, part, outer) for part in core] for core in lists]
        clocks = state.compression[op == Op.COMPT]
        if row and parts > 1:
            clocks = sum(split_line_clocks([part[0] for part in core], layer.n) for core in lists)
        elif row:
            cut = (state.plan.forward if op == Op.COMP else state.plan.backward).windows
            clocks = sum(line_clocks(core[0], outer, cut) for core in lists)
        if op == Op.COMP:
            state.forward, state.forward_row = packed, row
            loads = [encoding.nnz // cores] * cores
            if owner is not None:
                state.owner = owner
                loads = core_loads(encoding, owner, cores).tolist()
            self.core_load = loads + [0] * (3 - cores)
            if Flag.NOCACHE in flags:
                clocks = -(-layer.n // min(self.geometry.lanes, WORD_BANKS)) * layer.m
            self.osel_clocks[4] = clocks
        else:
            state.backward, state.backward_row = packed, row
        return clocks + OVERHEAD

    def _plan(self, number: int, state: LayerState, encoding: Encoding, plain: bool) -> int:
        layer, build = state.layer, self.geometry.build
        for above in self.layers[number:]:  # higher layers' tables begin where this layer's end
            above.plan = above.forward = above.backward = None
        kept = self._plans.get(number)
        if (
            kept is not None
            and kept[3] == plain
            and np.array_equal(kept[0].ig, encoding.ig)
            and np.array_equal(kept[0].og, encoding.og)
        ):
            _, found, state.compression, _ = kept
        else:
            try:
                found = plan(
                    encoding, build, layer.tiles, layer.split, layer.dx_from, layer.tr, plain
                )
            except PlanError as error:
                raise JobError(Error.E_PLAN) from error
            rows, columns = encoding.row_lists, encoding.column_lists
            lower = [m[m >= layer.dx_from] for m in rows]
            back = line_clocks(columns, lower, found.backward.windows)
            if layer.split > 1:
                parts = [np.arange(k, layer.m, layer.split) for k in range(layer.split)]
                fore = split_line_clocks(parts, layer.n)
            else:
                fore = line_clocks(rows, columns, found.forward.windows)
            state.compression = fore, back
            self._plans[number] = encoding, found, state.compression, plain
        if not self._memories_hold(number, found):
            raise JobError(Error.E_PLAN)
        state.plan = found
        state.inner, state.outer = flat(encoding.row_lists), flat(encoding.column_lists)
        state.grads = [np.zeros(encoding.nnz, np.float32) for _ in range(self.geometry.cores)]
        return found.clocks + OVERHEAD

    def _memories_hold(self, number: int, found: Plan) -> bool:
        """Whether weight and gradient lines suffice after those of the nearest planned layer."""
        g, state = self.geometry, self.layers[number]
        weights, grads = np.zeros(g.banks, np.int64), np.zeros(g.banks, np.int64)
        for lower in self.layers[:number]:
            if lower.plan is not None:
                weights, grads = (ends.copy() for ends in lower.ends)
        for lines in (found.forward.lines, found.backward.lines):
            weights[: len(lines)] += lines
        grads[: len(found.gradient.lines)] += found.gradient.lines
        state.ends = weights, grads
        return bool(weights.max() <= g.w_rows and grads.max() <= g.g_rows)

    def _fill(self, one: Instruction, state: LayerState, op: Op, flags: Flag,
              tiles: tuple[int, ...]) -> int:  # fmt: skip
        values = np.empty((one.neurons, VECTORS * sum(tiles)), np.float32)
        if Flag.GATES in flags:
            part = one.neurons // 4
            for k in range(4):
                tensor = Tensor(one.a.line + k * (part // 8), (one.a.skew + k) % 8, one.a.stride)
                values[k * part : (k + 1) * part] = self._read(tensor, part, tiles)
        elif Flag.SECOND in flags:
            values[: one.value] = self._read(one.a, one.value, tiles)
            values[one.value :] = self._read(one.b, one.neurons - one.value, tiles)
        else:
            values = self._read(one.a, one.neurons, tiles)
        if Flag.BSUM in flags:
            column = 0
            for core, count in enumerate(tiles):
                end = column + VECTORS * count
                if not kernels.add_bias_sums(values, column, end, state.biases[core]):
                    self.nonfinite = True
                column, self.clean = end, False
        (self.x if op == Op.FX else self.y).append(Operand(values, tiles))
        return -(-one.neurons // 8) * max(tiles) + OVERHEAD

    def _compute(self, one: Instruction, state: LayerState, op: Op, flags: Flag,
                 tiles: tuple[int, ...]) -> int:  # fmt: skip
        layer, row = state.layer, Flag.ROW in flags
        packed = state.backward if op == Op.DX else state.forward
        compressed_row = state.backward_row if op == Op.DX else state.forward_row
        if packed is None or compressed_row != row:
            raise JobError(Error.E_STALE)
        assert state.plan is not None and state.encoding is not None
        x = self.x[0]
        y = self.y[0] if op == Op.DW else None
        want = {Op.FW: layer.m, Op.DX: layer.n}.get(op, layer.n if layer.tr else layer.m)
        sizes = [(x, want)] + ([(y, layer.m + layer.n - want)] if y is not None else [])
        for operand, neurons in sizes:
            assert operand is not None
            if len(operand.values) != neurons or operand.tiles != tiles:
                raise JobError(Error.E_DIM)
        if y is not None:
            self._gradient(state, (y, x) if layer.tr else (x, y), tiles, row)
            self.y.popleft()
            clocks = max(state.plan.gradient.bank_clocks(max(tiles), self.geometry.opt_lanes))
        else:
            forward = op == Op.FW
            produced = layer.n if forward else layer.m
            found = self._sums(packed, x, produced, tiles, row)
            if not forward:
                found = found[layer.dx_from :]
            self.results.append(Result(one.layer, found, tiles, forward, row))
            direction = state.plan.forward if forward else state.plan.backward
            clocks = direction.clocks(max(tiles)) // (self.geometry.cores if row else 1)
        self.x.popleft()
        rows = layer.m if op != Op.DX else layer.m - layer.dx_from
        if op == Op.DX and layer.dx_from:
            nnz = int(state.encoding.workload[state.encoding.ig[layer.dx_from :]].sum())
        else:
            nnz = state.encoding.nnz if rows else 0
        self.counts["USEFUL_MACS"] += nnz * VECTORS * (tiles[0] if row else sum(tiles))
        g = self.geometry
        self.counts["LANE_CLOCKS"] += clocks * g.cores * g.banks * g.lanes
        self.counts["VPU_OPS"] += 1
        return clocks + OVERHEAD

    @staticmethod
    def _sums(packed: list[list[Packed]], x: Operand, produced: int, tiles: tuple[int, ...],
              row: bool) -> np.ndarray:  # fmt: skip
        """FW or dX of all cores, [produced, vectors] float32."""
        if not row:
            return contract(x.values, packed[0], produced, 0, x.values.shape[1])
        found, column = [], 0
        for chains, count in zip(packed, tiles, strict=True):
            end = column + VECTORS * count
            found.append(contract(x.values, chains, produced, column, end))
            column = end
        return np.concatenate(found, axis=1)

    def _gradient(self, state: LayerState, operands: tuple[Operand, Operand],
                  tiles: tuple[int, ...], row: bool) -> None:  # fmt: skip
        x, dy = operands
        self.clean = False
        columns = np.ascontiguousarray(dy.values[state.outer[0]].T)
        column = 0
        for core, count in enumerate(tiles):
            end = column + VECTORS * count
            if count and not kernels.gradient(
                x.values, columns, column, end, *state.inner, state.outer[1], state.owner,
                core if row else -1, state.grads[core],
            ):  # fmt: skip
                self.nonfinite = True
            column = end

    def _elementwise(self, one: Instruction, state: LayerState, op: Op, flags: Flag,
                     tiles: tuple[int, ...]) -> int:  # fmt: skip
        layer, row = state.layer, Flag.ROW in flags
        hidden = layer.n // 4
        if op == Op.LSTMB:
            block = self._block(one.d, hidden, tiles)
            before = self._read(_part(one.a, kernels.CELL, hidden), hidden, tiles)
            dh = self._read(one.b, hidden, tiles)
            kernels.lstm_backward(block, before, dh)
            for k in (kernels.GATE_I, kernels.GATE_F, kernels.GATE_G, kernels.GATE_O):
                self._write(_part(one.d, k, hidden), block[k], tiles)
            self._write(_part(one.a, kernels.DCELL, hidden), block[kernels.DCELL], tiles)
            return hidden * max(tiles) + OVERHEAD
        result = self.results[0]
        if result.layer != one.layer or result.tiles != tiles:
            raise JobError(Error.E_DIM)
        if result.row != row:
            raise JobError(Error.E_STALE)
        if not result.forward and (op == Op.LSTMF or Flag.BIAS in flags):
            raise JobError(Error.E_DIM)
        self._check_result(one, op, flags, len(result.values))
        values = result.values
        if row:
            width, cores = VECTORS * tiles[0], self.geometry.cores
            total = values[:, :width].copy()
            for core in range(1, cores):
                kernels.add_half(total, values[:, core * width : (core + 1) * width])
            values = np.tile(total, cores)
        if Flag.BIAS in flags:
            bias = self.bias[layer.b_base : layer.b_base + layer.n]
            kernels.add_half(values, single(half(bias))[:, None])
        if op == Op.LSTMF:
            cell = self._read(_part(one.a, kernels.CELL, hidden), hidden, tiles)
            block = np.empty((8, *cell.shape), np.float32)
            kernels.lstm_forward(values, cell, TANH_OF, SIGMOID_OF, block)
            for k in range(kernels.DCELL):
                self._write(_part(one.d, k, hidden), block[k], tiles)
        elif Flag.SECOND in flags:
            self._write(one.d, values, tiles, 0, one.value)
            self._write(one.b, values, tiles, one.value)
        else:
            if Flag.ADDEND in flags:
                kernels.add_half(values, self._read(one.b, len(values), tiles))
            self._write(one.d, values, tiles)
        self.results.popleft()
        lanes = self.geometry.channels
        neurons = hidden if op == Op.LSTMF else -(-len(values) // lanes)
        return neurons * max(tiles) + OVERHEAD

    def _check_result(self, one: Instruction, op: Op, flags: Flag, count: int) -> None:
        """Raises: JobError if the results do not fit where they go."""
        if op == Op.LSTMF:
            return
        rest = count - one.value if Flag.SECOND in flags else count
        if rest < 1:
            raise JobError(Error.E_DIM)
        places = [(one.d, one.value if Flag.SECOND in flags else count)]
        if flags & (Flag.SECOND | Flag.ADDEND):
            places.append((one.b, rest))
        for tensor, neurons in places:
            if not in_store(tensor, neurons, max(one.tiles), self.geometry.a_rows):
                raise JobError(Error.E_RANGE)

    def _block(self, tensor: Tensor, hidden: int, tiles: tuple[int, ...]) -> np.ndarray:
        """The tensors of an LSTM block, [8, H, vectors] float32."""
        return np.stack([self._read(_part(tensor, k, hidden), hidden, tiles) for k in range(8)])

    def _communicate(self, one: Instruction, op: Op, flags: Flag, tiles: tuple[int, ...],
                     context: Context, inverse: np.float32) -> int:  # fmt: skip
        heard = self._read(one.a, one.neurons, tiles)
        gates = self._read(one.b, 8, tiles)[0]
        new = op == Op.CF
        out = np.zeros_like(heard) if new else self._read(one.d, one.neurons, tiles)
        call = kernels.communicate if op == Op.CF else kernels.communicate_back
        column = 0
        for core, count in enumerate(tiles):
            there = context.vectors(core, Flag.ROW in flags) - VECTORS * one.value
            end = column + max(0, min(VECTORS * count, there))
            if count:
                call(heard, gates, column, end, context.agents, inverse, out)
            column += VECTORS * count
        self._write(one.d, out, tiles)
        return 32 * VECTORS * max(tiles) + OVERHEAD

    def _update(self, one: Instruction, state: LayerState, op: Op, flags: Flag, rates: Rates,
                gscale: np.float32) -> int:  # fmt: skip
        layer, encoding = state.layer, state.encoding
        if (
            op == Op.UPD and (state.forward is None or state.forward_row != (Flag.ROW in flags))
        ) or encoding is None:
            raise JobError(Error.E_STALE)
        if self.nonfinite:
            if not self.skipped:
                self.counts["OVF"] += 1
            self.skipped = True
        elif op == Op.UPD:
            self._update_weights(state, encoding, Flag.ROW in flags, rates, gscale)
        else:
            self._update_grouping(state, encoding, rates)
        state.forget(encoding=op == Op.UPDG)
        if op == Op.UPDG:
            return layer.m + layer.n + OVERHEAD
        return -(-encoding.nnz // self.geometry.opt_lanes) + layer.n + OVERHEAD

    def _update_weights(self, state: LayerState, encoding: Encoding, row: bool, rates: Rates,
                        gscale: np.float32) -> None:  # fmt: skip
        layer = state.layer
        if row:  # a row's gradient is its core's alone, and the other cores' memories hold +0
            total = state.grads[0].copy()
            for other in state.grads[1:]:
                total += other
            g = optim.scaled([total], gscale)
        else:
            g = optim.scaled(state.grads, gscale)
        w, v = self.weights(layer, self.w), self.weights(layer, self.v)
        lists = list(zip(encoding.row_lists, encoding.column_lists, strict=True))
        rows = np.concatenate([np.repeat(m, len(n)) for m, n in lists])
        columns = np.concatenate([np.tile(n, len(m)) for m, n in lists])
        old = w[rows, columns]
        if layer.groups > 1:
            products = optim.products(old, g)
            np.add.at(state.row_sums, rows, products)
            np.add.at(state.column_sums, columns, products)
        w[rows, columns], v[rows, columns] = optim.rmsprop(old, v[rows, columns], g, rates)
        at = slice(layer.b_base, layer.b_base + layer.n)
        sums = [state.biases[0]] if row else list(state.biases)
        self.bias[at], self.bias_v[at] = optim.rmsprop(
            self.bias[at], self.bias_v[at], optim.scaled(sums, gscale), rates
        )

    def _update_grouping(self, state: LayerState, encoding: Encoding, rates: Rates) -> None:
        layer = state.layer
        ig, og = self.grouping(layer)
        first = layer.s_base
        for entries, selected, sums in (
            (ig, encoding.ig, state.row_sums),
            (og, encoding.og, state.column_sums),
        ):
            states = self.states[first : first + len(entries)]
            drawn = optim.draws(self.generator, len(entries))
            entries[:], states[:] = optim.regroup(entries, states, selected, sums, drawn, rates)
            first += len(entries)


def _part(block: Tensor, number: int, hidden: int) -> Tensor:
    """A tensor of an LSTM block."""
    return Tensor(block.line + number * (hidden // 8), (block.skew + number) % 8, block.stride)
