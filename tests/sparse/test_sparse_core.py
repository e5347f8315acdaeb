"""A core: tensors from the store through the array and back, against the golden machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.engine import Memory
from models.sparse.formats import (
    VECTORS,
    Flag,
    Geometry,
    Instruction,
    Layer,
    Op,
    Tensor,
    pitch,
)
from models.sparse.machine import Machine
from models.sparse.numbers import half
from models.sparse.optim import Rates
from models.sparse.osel import encode
from models.sparse.plan import Plan
from models.sparse.validate import Context
from verif.play import Block, Player
from verif.sparse.tables import (
    BEGIN_BITS,
    BIAS_BITS,
    DW,
    DX,
    FW,
    INSTRUCTION_BITS,
    OPERATION_BITS,
    TABLE_BITS,
    concat,
    instruction_word,
    lanes_of,
    lines_before,
    lists_of,
    operation_word,
    table_words,
    weight_lines,
    windows_of,
    words,
)

LMAX, DMAX, AROWS = 3, 32, 256
RATES = Rates(*[np.float32(0)] * 5)
NO_MEMORY = cast(Memory, None)  # these instructions do not use it
CORE = 1  # number of the core that is there
# banks, lanes, channels, DrainW, OptLanes
CORES = [(2, 5, 2, 4, 2), regress(3, 9, 4, 2, 6), regress(1, 33, 8, 1, 4)]


def geometry(banks: int, lanes: int, channels: int, drain: int, word: int) -> Geometry:
    return Geometry(
        1, banks, lanes, 4, 64, 8, DMAX, LMAX, 24, 512, 512, 512, 1024, 512, AROWS, 8192, 64, 64,
        8, drain_w=drain, opt_lanes=word, channels=channels,
    )  # fmt: skip


def core_bench(g: Geometry, seed: int) -> Player:
    """A core of a build: CORE of three."""
    banks, lanes, word = g.banks, g.lanes, g.opt_lanes
    words_of_bank = g.g_rows * -(-lanes // word)
    block = Block(
        "jackdaw:engine:sparse_array", "jd_sparse_core",
        {
            "clear_i": 1, "table_i": TABLE_BITS, "bias_i": BIAS_BITS,
            "weight_begin_i": BEGIN_BITS, "weight_write_i": banks, "weight_line_i": 16 * lanes,
            "fill_start_i": 1, "fill_i": INSTRUCTION_BITS, "fill_tiles_i": 4, "fill_set_i": 1,
            "op_valid_i": 1, "op_i": OPERATION_BITS, "op_tiles_i": 4,
            "elem_start_i": 1, "elem_i": INSTRUCTION_BITS, "elem_dx_i": 1, "elem_set_i": 1,
            "elem_tiles_i": 4, "rows_valid_i": 1, "rows_i": 64 * g.channels,
            "comm_start_i": 1, "comm_i": INSTRUCTION_BITS, "comm_tiles_i": 4,
            "comm_vectors_i": 16, "agents_i": 8, "inverse_i": 32,
            "dma_read_i": 1, "dma_read_line_i": 16, "dma_write_i": 1, "dma_write_line_i": 16,
            "dma_write_data_i": 512, "clear_gradients_i": 1, "gradient_en_i": 1,
            "gradient_bank_i": 3, "gradient_layer_i": 3,
            "gradient_word_i": (words_of_bank - 1).bit_length(), "bias_sum_en_i": 1,
            "bias_sum_layer_i": 3, "bias_sum_line_i": 2,
        },
        {
            "fill_idle_o": 1, "fill_done_o": 1, "op_ready_o": 1, "op_done_o": 1, "busy_o": 1,
            "useful_o": 12, "elem_idle_o": 1, "elem_done_o": 1, "sums_valid_o": 1,
            "sums_o": 64 * g.channels, "dma_read_ready_o": 1,
            "dma_read_data_o": 512, "dma_write_ready_o": 1, "nonfinite_o": 1,
            "gradient_data_o": 32 * word, "bias_sum_data_o": 256,
        },
    )  # fmt: skip
    parameters = {
        "Core": CORE, "Cores": 3, "Banks": banks, "Lanes": lanes, "Acc": g.acc,
        "DMax": g.d_max, "LMax": g.l_max,
        "WinMax": g.win_max, "WRows": g.w_rows, "XRows": g.x_rows, "YRows": g.y_rows,
        "RRows": g.r_rows, "GRows": g.g_rows, "ARows": g.a_rows, "BWords": g.b_words,
        "DrainW": g.drain_w, "OptLanes": word, "Channels": g.channels,
    }  # fmt: skip
    return Player(block, parameters, seed)


def bench(banks: int, lanes: int, channels: int, drain: int, word: int, seed: int = 1) -> Player:
    return core_bench(geometry(banks, lanes, channels, drain, word), seed)


class Both:
    """The core and the golden machine, with the same layers, weights and tensors.

    Attributes:
        mine: the core's number in the machine, of one core or in ROW split of three.
        useful: multiply-adds that the core counted.
    """

    def __init__(
        self, rng: np.random.Generator, sim: Player, g: Geometry, row: bool = False
    ) -> None:
        self.rng, self.sim, self.geometry = rng, sim, g
        self.machine = Machine(replace(g, cores=3) if row else g)
        self.mine, self.split = (CORE, Flag.ROW) if row else (0, Flag(0))
        self.contiguous = False  # ranges of rows
        self.sets = {"x": 0, "y": 0, "w": 0, "r": 0}  # of operands; results, written and read
        self.compared = self.useful = 0

    def configure(self, layers: Sequence[Layer]) -> None:
        """Random masks, weights and biases; plans and compressed weights on both sides."""
        rng, machine, sim, g = self.rng, self.machine, self.sim, self.geometry
        machine.configure(list(layers))
        self.biases(rng.standard_normal(g.b_words))
        self.clear()
        before: list[Plan] = []
        for number, layer in enumerate(layers):
            state = machine.layers[number]
            machine.weights(layer, machine.w)[:] = rng.standard_normal((layer.m, layer.n))
            state.encoding = encode(
                rng.integers(0, layer.groups, layer.m), rng.integers(0, layer.groups, layer.n),
                layer.groups, g.width,
            )  # fmt: skip
            self.model(Instruction(Op.PLAN, layer=number))
            policy = Flag.POLICY if self.split and not self.contiguous else Flag(0)
            for op in (Op.COMP, Op.COMPT):
                self.model(Instruction(op, flags=int(self.split | policy), layer=number))
            assert state.plan is not None
            mine = state.owner == self.mine if self.contiguous else None
            table = table_words(number, state.encoding, state.plan, layer, g.banks, before, mine)
            sim.run(len(table), table_i=words(table, TABLE_BITS))
            before.append(state.plan)
            self._weights(number, layer)

    def clear(self) -> None:
        """CLRG."""
        self.model(Instruction(Op.CLRG))
        self.sim.run(1, clear_gradients_i=np.ones(1))

    def biases(self, values: np.ndarray) -> None:
        """Write all biases, [BWords] float."""
        self.machine.bias[:] = values
        codes = half(self.machine.bias).view(np.uint16)
        word = [concat((1, 1), (k, 11), (int(code), 16)) for k, code in enumerate(codes)]
        self.sim.run(len(word), bias_i=words(word, BIAS_BITS))

    def _weights(self, number: int, layer: Layer) -> None:
        """Write the weight lines of both passes."""
        state = self.machine.layers[number]
        assert state.plan is not None and state.encoding is not None
        w16 = half(self.machine.weights(layer, self.machine.w))
        windows = windows_of(state.encoding, state.plan, layer)
        rows, columns = lists_of(state.encoding)
        for which, found in ((FW, state.plan.forward), (DX, state.plan.backward)):
            begin = words([concat((1, 1), (number, 3), (which == DX, 1))], BEGIN_BITS)
            self.sim.run(1, weight_begin_i=begin)
            sides = (columns, rows) if which == DX else (rows, columns)
            split = layer.split if which == FW else 1
            for window, slots in enumerate(windows[which]):
                users = {b for b in set(found.banks) if window in found.held(b)}
                lines = weight_lines(
                    w16.T if which == DX else w16, slots, *sides, self.geometry.lanes, split
                )
                if len(lines):
                    self.sim.run(
                        len(lines),
                        weight_write_i=np.full(len(lines), sum(1 << b for b in users)),
                        weight_line_i=words([lanes_of(x) for x in lines], 16 * self.geometry.lanes),
                    )  # fmt: skip

    def model(self, one: Instruction) -> None:
        layers = [state.layer for state in self.machine.layers]
        context = Context(self.geometry, layers, 1, 64)
        self.machine.execute(one, context, RATES, np.float32(0), np.float32(0), NO_MEMORY)

    def write(self, line: int, data: np.ndarray) -> None:
        """Lines [N, 8, 4] float16, by bank."""
        self.machine.store[self.mine, line : line + len(data)] = data.view(np.uint16)
        self.sim.run(
            len(data), dma_write_i=np.ones(len(data)),
            dma_write_line_i=line + np.arange(len(data)),
            dma_write_data_i=words([lanes_of(x) for x in data], 512),
        )  # fmt: skip

    def check(self) -> None:
        """All lines of the store are equal."""
        lines = self.geometry.a_rows
        out = self.sim.run(
            lines + 2, dma_read_i=np.arange(lines + 2) < lines,
            dma_read_line_i=np.arange(lines + 2) % lines,
        )  # fmt: skip
        got = np.ascontiguousarray(out["dma_read_data_o"][2:]).view(np.uint16).reshape(-1, 8, 4)
        want = self.machine.store[self.mine]
        wrong = np.argwhere(got != want)
        assert not wrong.size, f"{len(wrong)} wrong, first line, bank, vector {wrong[0]}"

    def run(self, one: Instruction, dx: bool = False, neurons: int = 0) -> int:
        """Do an instruction on both sides. Returns: clocks of the core."""
        self.model(one)
        return self.core(one, dx, neurons)

    def core(self, one: Instruction, dx: bool = False, neurons: int = 0, step: int = 32) -> int:
        """Do an instruction in the core, and up to `step` - 1 clocks more. Returns: its clocks."""
        done, clocks = self.begin(one, dx, neurons), 0
        while clocks < 4000:
            out = self.sim.run(step)
            clocks += step
            self.useful += int(out["useful_o"].sum())
            if out[done].any():
                return clocks - step + int(np.flatnonzero(out[done])[0])
        raise AssertionError(f"{one.code.name} does not end")

    def begin(self, one: Instruction, dx: bool = False, neurons: int = 0) -> str:
        """Start an instruction in the core. Returns: the port that tells its end."""
        sim, op = self.sim, one.code
        layer = self.machine.layers[one.layer].layer
        word = words([instruction_word(one, layer)], INSTRUCTION_BITS)
        tiles, go = np.array([one.tiles[self.mine]]), np.ones(1)
        if op in (Op.FX, Op.FY):
            which_set, done = self.sets["x" if op == Op.FX else "y"], "fill_done_o"
            sim.run(1, fill_start_i=go, fill_i=word, fill_tiles_i=tiles, fill_set_i=[which_set])  # type: ignore[arg-type]
        elif op in (Op.FW, Op.DX, Op.DW):
            which = {Op.FW: FW, Op.DX: DX, Op.DW: DW}[op]
            done = "op_done_o"
            operation = operation_word(
                which, one.layer, layer, neurons, self.sets["x"], self.sets["w"], self.sets["y"],
                one.has(Flag.ROW), self.contiguous,
            )  # fmt: skip
            assert sim.run(
                1, op_valid_i=go, op_i=words([operation], OPERATION_BITS), op_tiles_i=tiles
            )["op_ready_o"][0]  # fmt: skip
            self.sets["x"] ^= 1
            self.sets["y" if op == Op.DW else "w"] ^= 1
        else:
            done = "elem_done_o"
            sim.run(
                1, elem_start_i=go, elem_i=word, elem_tiles_i=tiles, elem_dx_i=np.array([dx]),
                elem_set_i=np.array([self.sets["r"]]),
            )  # fmt: skip
            self.sets["r"] ^= op != Op.LSTMB
        return done

    def macs(self, number: int) -> int:
        """Multiply-adds of a DW for a vector: those of the core's rows."""
        state = self.machine.layers[number]
        encoding = state.encoding
        assert encoding is not None
        owned = state.owner == self.mine if self.split else np.ones(state.layer.m, bool)
        lists = zip(encoding.row_lists, encoding.column_lists, strict=True)
        return sum(int(owned[m].sum()) * len(n) for m, n in lists)

    def check_gradients(self) -> None:
        """Gradients and bias sums of all layers, and whether they are finite."""
        sim, banks = self.sim, self.geometry.banks
        word = self.geometry.opt_lanes
        chunks = -(-self.geometry.lanes // word)
        plans = [state.plan for state in self.machine.layers if state.plan is not None]
        for number, state in enumerate(self.machine.layers):
            layer, encoding, plan = state.layer, state.encoding, state.plan
            assert encoding is not None and plan is not None
            want = np.zeros((layer.m, layer.n), np.float32)
            at = 0
            for m, n in zip(encoding.row_lists, encoding.column_lists, strict=True):
                size = len(m) * len(n)
                want[np.ix_(m, n)] = state.grads[self.mine][at : at + size].reshape(len(m), len(n))
                at += size
            windows = windows_of(encoding, plan, layer)[DW]
            rows, columns = lists_of(encoding)
            inner, outer = (columns, rows) if layer.tr else (rows, columns)
            lines = lines_before(plans[:number], banks)[1]
            asked: list[tuple[int, int]] = []
            places: list[list[tuple[int, int, int]]] = []
            found = plan.gradient
            for (window, first), bank in zip(found.units, found.banks, strict=True):
                slots = windows[window]
                for rank in range(first, min(first + found.block, max(s.depth for s in slots))):
                    lane, line = 0, []
                    for slot in slots:
                        for k in range(slot.lanes if rank < slot.depth else 0):
                            pair = int(inner[slot.first + rank]), int(outer[slot.produced + k])
                            line.append((lane + k, *(pair[::-1] if layer.tr else pair)))
                        lane += slot.lanes
                    for chunk in range(chunks):
                        asked.append((bank, int(lines[bank]) * chunks + chunk))
                        places.append([
                            (i % word, m, n) for i, m, n in line if i // word == chunk
                        ])  # fmt: skip
                    lines[bank] += 1
            count = len(asked)
            if count:
                asked += [asked[-1]] * 2
                out = sim.run(
                    count + 2, gradient_en_i=np.ones(count + 2),
                    gradient_layer_i=np.full(count + 2, number),
                    gradient_bank_i=np.array([bank for bank, _ in asked]),
                    gradient_word_i=np.array([place for _, place in asked]),
                )["gradient_data_o"].reshape(count + 2, -1)[2:]  # fmt: skip
                for got, those in zip(out, places, strict=True):
                    for k, row, column in those:
                        assert got[k] == want.view(np.uint32)[row, column], (number, row, column)
                        self.compared += 1
            count = -(-layer.n // 8)
            sums: np.ndarray = sim.run(
                count + 2, bias_sum_en_i=np.ones(count + 2),
                bias_sum_layer_i=np.full(count + 2, number),
                bias_sum_line_i=np.minimum(np.arange(count + 2), count - 1),
            )["bias_sum_data_o"][2:]  # fmt: skip
            codes = np.ascontiguousarray(sums).reshape(-1)[: layer.n]
            assert (codes == state.biases[self.mine].view(np.uint32)).all(), (number, codes)
        # A sum that is not finite stays so. The machine's flag is that of all cores.
        kept = [
            array
            for state in self.machine.layers
            for array in (state.grads[self.mine], state.biases[self.mine])
        ]
        wild = not all(np.isfinite(array).all() for array in kept)
        assert sim.run(1)["nonfinite_o"][0] == wild
        assert self.machine.nonfinite == wild or (self.split and not wild)


def random_layer(rng: np.random.Generator, number: int, lanes: int) -> Layer:
    split = int(rng.choice([0, 0, 0, 1, 2]))
    groups = int(rng.choice([1, 2, 4, 8])) if not split else 1
    n = int(rng.integers(1, DMAX + 1)) if not split else int(rng.integers(1, lanes // 4 + 1))
    # An operand with gates has DMAX neurons.
    m = DMAX if rng.random() < 0.3 else int(rng.integers(4, DMAX + 1))
    return Layer(
        m, n, groups, split, tr=bool(rng.random() < 0.5), tiles=int(rng.integers(1, 5)),
        dx_from=int(rng.integers(0, m)),
        w_base=number * DMAX * pitch(DMAX), b_base=int(rng.integers(0, 64 - n)),
    )  # fmt: skip


def configure(rng: np.random.Generator, both: Both, lanes: int) -> None:
    """Layers whose plans fit."""
    while True:
        try:
            both.configure([random_layer(rng, k, lanes) for k in range(LMAX)])
        except Exception as error:
            if "E_PLAN" not in str(error):
                raise
        else:
            break


@builds(lambda banks, lanes, channels, drain, word, row: bench(banks, lanes, channels, drain, word))
@pytest.mark.parametrize("row", [False, True], ids=["vec", "row"])
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain", "word"), CORES)
def test_sparse_core_gradients(
    banks: int, lanes: int, channels: int, drain: int, word: int, row: bool, seed: int
) -> None:
    """FX and FY with and without BSUM, gates, DW on DW, of random layers; the core's rows."""
    rng = np.random.default_rng(seed)
    g = geometry(banks, lanes, channels, drain, word)
    both = Both(rng, bench(banks, lanes, channels, drain, word, seed), g, row)
    for _ in range(scale(12, 3)):
        both.contiguous = row and bool(rng.random() < 0.5)
        configure(rng, both, lanes)
        lines = half(rng.standard_normal((AROWS, 8, 4)))
        lines[rng.random(lines.shape) < rng.choice([0, 1e-4, 1e-3])] = np.inf
        both.write(0, lines)
        for _run in range(6):
            number = int(rng.integers(0, LMAX))
            layer = both.machine.layers[number].layer
            tiles = (int(rng.integers(1, layer.tiles + 1)), 0, 0)
            if row:
                tiles = (tiles[0],) * 3
            fills = [(layer.m, Op.FX), (layer.n, Op.FY)]
            if layer.tr:
                fills = [(layer.m, Op.FY), (layer.n, Op.FX)]
            for k in rng.permutation(2):
                neurons, op = fills[k]
                flags = Flag.BSUM if k and rng.random() < 0.7 else Flag(0)
                if neurons == 32 and rng.random() < 0.5:
                    flags |= Flag.GATES
                at = Tensor(64 * int(k) + int(rng.integers(0, 32)), int(rng.integers(0, 8)), 8)
                both.run(
                    Instruction(
                        op, flags=int(flags), layer=number, tiles=tiles, a=at, neurons=neurons
                    )
                )
            first = layer.n if layer.tr else layer.m
            split = int(Flag.ROW) if row else 0
            useful = both.useful
            both.run(Instruction(Op.DW, flags=split, layer=number, tiles=tiles), neurons=first)
            assert both.useful - useful == VECTORS * tiles[0] * both.macs(number)
            if rng.random() < 0.5:
                both.check_gradients()
            if rng.random() < 0.3:
                both.clear()
        both.check_gradients()
    assert both.compared


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain", "word"), CORES)
def test_sparse_core(
    banks: int, lanes: int, channels: int, drain: int, word: int, seed: int
) -> None:
    """FX, FW or DX, LIN with each flag, of random layers, tiles and places, to the bit."""
    rng = np.random.default_rng(seed)
    g = geometry(banks, lanes, channels, drain, word)
    both = Both(rng, bench(banks, lanes, channels, drain, word, seed), g)
    both.write(0, half(rng.standard_normal((AROWS, 8, 4))))
    for _ in range(scale(12, 3)):
        configure(rng, both, lanes)
        both.write(0, half(rng.standard_normal((AROWS, 8, 4))))
        layers = [state.layer for state in both.machine.layers]
        widest = max(range(LMAX), key=lambda k: layers[k].n)
        for run in range(4):
            # The first one's results are in two tensors, of which the second has several lines.
            long = run == 0
            number = widest if long else int(rng.integers(0, LMAX))
            layer = layers[number]
            dx = not long and bool(rng.random() < 0.4)
            neurons, made = (layer.n, layer.m - layer.dx_from) if dx else (layer.m, layer.n)
            tiles = (int(rng.integers(1, layer.tiles + 1)), 0, 0)
            places = [
                Tensor(64 * k + int(rng.integers(0, 32)), int(rng.integers(0, 8)), 4 + k)
                for k in range(4)
            ]
            second = neurons > 8 and rng.random() < 0.4
            fx = Instruction(
                Op.FX, flags=int(Flag.SECOND) if second else 0, layer=number, tiles=tiles,
                a=places[0], b=places[1] if second else Tensor(), neurons=neurons,
                value=8 * int(rng.integers(1, (neurons + 7) // 8)) if second else 0,
            )  # fmt: skip
            both.run(fx)
            both.run(
                Instruction(Op.DX if dx else Op.FW, layer=number, tiles=tiles), neurons=neurons
            )
            flags = Flag.BIAS if not dx and rng.random() < 0.6 else Flag(0)
            value = 0
            if made > 8 and (long or rng.random() < 0.4):
                most = 2 if long else (made + 7) // 8
                flags, value = flags | Flag.SECOND, 8 * int(rng.integers(1, most))
            elif rng.random() < 0.5:
                flags |= Flag.ADDEND
            lin = Instruction(
                Op.LIN, flags=int(flags), layer=number, tiles=tiles, d=places[2], b=places[3],
                value=value,
            )  # fmt: skip
            both.run(lin, dx)
            both.check()


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain", "word"), CORES[:1])
def test_sparse_core_bias_sums(
    banks: int, lanes: int, channels: int, drain: int, word: int, seed: int
) -> None:
    """When FY with BSUM is done its sums are there, and whether all are finite; clear_i in it."""
    rng = np.random.default_rng(seed)
    g = geometry(banks, lanes, channels, drain, word)
    sim = bench(banks, lanes, channels, drain, word, seed)
    both = Both(rng, sim, g)
    for turn in range(scale(10, 3)):
        configure(rng, both, lanes)
        lines = half(rng.standard_normal((AROWS, 8, 4)))
        lines[rng.random(lines.shape) < (0.01 if turn else 0)] = np.inf
        both.write(0, lines)
        for _run in range(4):
            number = int(rng.integers(0, LMAX))
            layer = both.machine.layers[number].layer
            one = Instruction(
                Op.FY, flags=int(Flag.BSUM), layer=number, neurons=layer.n,
                tiles=(int(rng.integers(0, layer.tiles + 1)), 0, 0),
                a=Tensor(int(rng.integers(0, 32)), int(rng.integers(0, 8)), 8),
            )  # fmt: skip
            start = {
                "fill_start_i": np.ones(1), "fill_tiles_i": np.array([one.tiles[0]]),
                "fill_i": words([instruction_word(one, layer)], INSTRUCTION_BITS),
            }  # fmt: skip
            if rng.random() < 0.3:
                sim.run(1, **start)
                sim.run(int(rng.integers(1, 40)))
                sim.run(1, clear_i=np.ones(1))
                out = sim.run(60)
                assert out["fill_idle_o"].all() and not out["fill_done_o"].any()
                assert not out["op_done_o"].any()
                both.clear()
            both.model(one)
            out = sim.run(1, **start)
            for _clock in range(400):
                if out["fill_done_o"][0]:
                    break
                out = sim.run(1)
            assert out["fill_done_o"][0]
            line = (layer.n - 1) // 8
            sums = sim.run(
                3, bias_sum_en_i=np.ones(3), bias_sum_layer_i=np.full(3, number),
                bias_sum_line_i=np.full(3, line),
            )["bias_sum_data_o"][2]  # fmt: skip
            want = both.machine.layers[number].biases[0][8 * line :].view(np.uint32)
            assert (sums[: len(want)] == want).all()
            finite = all(np.isfinite(state.biases[0]).all() for state in both.machine.layers)
            assert sim.run(1)["nonfinite_o"][0] != finite
            both.machine.drop()


@builds(bench)
@pytest.mark.parametrize(("banks", "lanes", "channels", "drain", "word"), CORES[:1])
def test_all_is_written_when_an_end_is_told(
    banks: int, lanes: int, channels: int, drain: int, word: int, seed: int
) -> None:
    """LIN is busy until then, and clear_i after it takes nothing away; also without tiles."""
    rng = np.random.default_rng(seed)
    sim = bench(banks, lanes, channels, drain, word, seed)
    both = Both(rng, sim, geometry(banks, lanes, channels, drain, word))
    for _ in range(scale(10, 2)):
        configure(rng, both, lanes)
        both.write(0, half(rng.standard_normal((AROWS, 8, 4))))
        for turn in range(4):
            number = int(rng.integers(0, LMAX))
            layer = both.machine.layers[number].layer
            tiles = (int(rng.integers(1, layer.tiles + 1)) if turn else 0, 0, 0)
            both.run(Instruction(Op.FX, layer=number, tiles=tiles, a=Tensor(0, 0, 4),
                                 neurons=layer.m))  # fmt: skip
            both.run(Instruction(Op.FW, layer=number, tiles=tiles), neurons=layer.m)
            lin = Instruction(Op.LIN, layer=number, tiles=tiles, d=Tensor(128, 0, 4))
            both.model(lin)
            done = both.begin(lin)
            for _clock in range(2000):
                out = sim.run(1)
                if out[done][0]:
                    break
                assert not out["elem_idle_o"][0]
            assert out[done][0]
            sim.run(1, clear_i=np.ones(1))
            out = sim.run(8)
            assert out["elem_idle_o"].all()
            assert not out["elem_done_o"].any() and not out["op_done_o"].any()
            both.check()
