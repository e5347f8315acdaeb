"""Tests of the gradient memory: quiet inputs, tiles that are announced and drained, sweeps."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_test

from flow.effort import scale
from verif.agents.stream import StreamSequence
from verif.bench import rng, start, until
from verif.qat.grad import LINES, GradEnvironment, Layer, Tile
from verif.qat.words import any_size, pack, unpack


async def quiet(dut: Any, busy: str = "") -> None:
    """Out of reset with nothing at the inputs of all blocks that the bench has.

    Args:
        busy: prefix of the block whose source drives its valid signal.
    """
    for name in (
        "monitor_set_i", "noise_start_i", "noise_load_i", "noise_kind_i", "loss_clear_i",
        "grad_clear_i", "grad_reserve_i", "grad_reserve_bias_i", "grad_sweep_valid_i",
        "grad_host_write_i", "grad_host_read_i", "side_write_i", "grad_update_i", "grad_layer_i",
    ):  # fmt: skip
        if hasattr(dut, name):
            getattr(dut, name).value = 0
    for prefix in ("monitor_in", "loss_in", "noise_in", "adam_in", "drain", "bias"):
        if hasattr(dut, f"{prefix}_valid_i") and not (busy and prefix.startswith(busy)):
            getattr(dut, f"{prefix}_valid_i").value = 0
    if hasattr(dut, "noise_actions_i"):
        dut.noise_actions_i.value = 1
    for name in ("c1", "c2", "eps", "rate", "tau"):
        getattr(dut, f"adam_{name}_i").value = 1
    await start(dut)


class TilesTest(uvm_test):
    """Random layers in 1 to 3 chunks, to G or to Adam; sweeps; lines that are dropped.

    Attributes:
        made: class of the environment.
        host_clocks: of a host's read.
    """

    made = GradEnvironment
    host_clocks = 2

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.random = rng("test")
        self.environment = self.made("environment", self)

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await quiet(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Fill G; layers; the totals."""
        await self.fill()
        rounds = max(36, scale(240))
        for index in range(rounds):
            await self.prepare()
            layer = Layer.draw(self.random, self.environment.golden.lw, index)
            chunks, update = 1 + index % 3, self.random.random() < 0.6
            for chunk in range(chunks):
                await self.chunk(layer, chunk == 0, update and chunk == chunks - 1)
            self.cover(layer, chunks, update)
            if index % 4 == 1:
                await self.sweep(layer)
            await self.compare(layer)
            if index % 8 == 5:
                await self.clear()

    async def fill(self) -> None:
        """Write all lines of G."""
        dut, golden = self.dut, self.environment.golden
        for line in range(LINES):
            golden.g[line] = [any_size(self.random) for _ in range(golden.lw)]
            dut.grad_host_line_i.value, dut.grad_host_data_i.value = line, pack(golden.g[line])
            dut.grad_host_write_i.value = 1
            await RisingEdge(dut.clk_i)
        dut.grad_host_write_i.value = 0

    async def prepare(self) -> None:
        """Before each layer."""

    async def read(self, line: int) -> int:
        """Read a line of the memory that the host has chosen."""
        dut = self.dut
        dut.grad_host_line_i.value, dut.grad_host_read_i.value = line, 1
        await RisingEdge(dut.clk_i)
        dut.grad_host_read_i.value = 0
        await ClockCycles(dut.clk_i, self.host_clocks)
        return int(dut.grad_host_data_o.value)

    def touched(self, layer: Layer) -> list[int]:
        """A layer's lines, and those about them."""
        count = layer.p * -(-layer.q // self.environment.golden.lw)
        first, past = max(0, layer.line - 1), min(LINES, layer.line + count + 1)
        return [*range(first, past), *range(layer.bias_line, layer.bias_line + 3)]

    async def chunk(self, layer: Layer, first: bool, update: bool) -> None:
        """A chunk's tiles: each is announced when there is room, and drained later."""
        dut, golden, environment = self.dut, self.environment.golden, self.environment
        tiles = list(golden.tiles(layer, first, update, self.random))
        environment.expect()
        number = self.random.randrange(4)  # of the layer
        if hasattr(dut, "grad_updates_o"):
            dut.grad_update_i.value, dut.grad_layer_i.value = int(update), number
        announced: Queue[Tile] = Queue()
        drain = cocotb.start_soon(self.drain(announced, len(tiles)))
        for tile in tiles:
            for room, fact in (("grad_room_o", "lines_full"), ("grad_bias_room_o", "biases_full")):
                if fact == "biases_full" and tile.bias is None:
                    continue
                if await until(room, dut.clk_i, 400, lambda room=room: getattr(dut, room).value):
                    environment.coverage.sample(f"room.{fact}")
            dut.grad_reserve_i.value, dut.grad_reserve_rows_i.value = 1, len(tile.columns)
            dut.grad_reserve_bias_i.value = int(tile.bias is not None)
            await RisingEdge(dut.clk_i)
            dut.grad_reserve_i.value = dut.grad_reserve_bias_i.value = 0
            announced.put_nowait(tile)
            await RisingEdge(dut.clk_i)
            self.told(update << number)
        await drain
        await until("idle", dut.clk_i, 400, lambda: dut.grad_idle_o.value)
        await RisingEdge(dut.clk_i)
        self.told(0)
        assert not environment.lines.want and not environment.biases.want, "lines are missing"
        got = [int(getattr(dut, f"grad_total_{x}_o").value) for x in ("gradient", "sum")]
        assert got == [golden.gradient, golden.sums]

    def told(self, layers: int) -> None:
        """Which layers have lines that are to be updated."""
        if hasattr(self.dut, "grad_updates_o"):
            got = int(self.dut.grad_updates_o.value)
            assert got == layers, f"layers that are updated: {got:04b}, want {layers:04b}"

    async def drain(self, announced: Queue[Tile], count: int) -> None:
        """Drain tiles as they were announced; a bias line comes beside the first columns."""
        environment = self.environment
        for _ in range(count):
            tile = await announced.get()
            if self.random.random() < 0.2:
                await ClockCycles(self.dut.clk_i, self.random.randint(1, 12))
            beside = [tile.bias] if tile.bias is not None else []
            bias = cocotb.start_soon(StreamSequence(beside).start(environment.bias.sequencer))
            await StreamSequence(tile.columns).start(environment.drain.sequencer)
            await bias

    def cover(self, layer: Layer, chunks: int, update: bool) -> None:
        """Sample what was seen."""
        golden, sample = self.environment.golden, self.environment.coverage.sample
        sample(f"chunks.{chunks}")
        sample("mode.full" if layer.shift is None else f"mode.shift_{layer.shift}")
        sample("end.update" if update else "end.keep")
        sample(f"words.{(layer.q - 1) % golden.lw + 1}")
        if golden.gradient:
            sample("saturated.gradient")
        if golden.sums:
            sample("saturated.sum")

    async def sweep(self, layer: Layer) -> None:
        """Send what G has of a layer's weights to Adam."""
        dut, golden = self.dut, self.environment.golden
        columns = -(-layer.q // golden.lw)
        golden.sweep(layer)
        self.environment.expect()
        dut.grad_sweep_line_i.value = layer.line
        dut.grad_sweep_count_i.value = layer.p * columns
        dut.grad_sweep_columns_i.value = columns
        dut.grad_sweep_words_i.value = layer.q - golden.lw * (columns - 1)
        dut.grad_sweep_valid_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.grad_sweep_valid_i.value = 0
        await RisingEdge(dut.clk_i)
        await until("sweep", dut.clk_i, 400, lambda: dut.grad_idle_o.value)
        await RisingEdge(dut.clk_i)
        assert not self.environment.lines.want, "lines are missing"

    async def compare(self, layer: Layer) -> None:
        """Read what G has of a layer."""
        golden = self.environment.golden
        for line in self.touched(layer):
            got = unpack(await self.read(line), golden.lw)
            assert (got == golden.g[line]).all(), f"{layer}, line {line}: {got}, {golden.g[line]}"

    async def clear(self) -> None:
        """Announce lines, drain some, drop them: no line of them comes anywhere."""
        dut = self.dut
        dut.grad_reserve_i.value, dut.grad_reserve_rows_i.value = 1, self.environment.golden.lw
        dut.grad_reserve_bias_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.grad_reserve_i.value = dut.grad_reserve_bias_i.value = 0
        for name in ("drain_sums", "drain_update", "drain_half", "bias_sums", "bias_update"):
            getattr(dut, f"{name}_i").value = 0
        dut.drain_valid_i.value = dut.drain_opens_i.value = dut.bias_valid_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.bias_valid_i.value = 0
        # A bias line is at most on its way out of its FIFO, a drained one in it.
        await ClockCycles(dut.clk_i, self.random.randint(1, 3))
        dut.drain_valid_i.value = 0
        await ClockCycles(dut.clk_i, self.random.randint(1, 2))
        dut.grad_clear_i.value = 1
        await ClockCycles(dut.clk_i, self.random.randint(1, 2))
        dut.grad_clear_i.value = 0
        await RisingEdge(dut.clk_i)
        assert dut.grad_idle_o.value, "not idle after lines were dropped"
        await ClockCycles(dut.clk_i, 12)
