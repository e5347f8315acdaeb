"""pyuvm tests of monitor, loss, noise, Adam and the gradient memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cocotb
import pyuvm
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_test

from flow.effort import scale
from models.qat import noise, ops
from verif.agents.stream import StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import rng, start, until
from verif.coverage import CoverageMissed
from verif.qat.blocks import Adam, Environment, Loss, Model, Monitor, Noise, any_size, size
from verif.qat.grad import LINES, GradEnvironment, Layer, Tile
from verif.qat.words import pack, unpack

ITEMS = max(600, scale(6_000))
LIMIT = 200  # clocks from the last input to the last output
WAIT_NOISE = 5  # clocks of the noise beside those of its words
MASK64 = (1 << 64) - 1


async def quiet(dut: Any, busy: str = "") -> None:
    """Out of reset with nothing at the inputs of all blocks.

    Args:
        busy: prefix of the block whose source drives its valid signal.
    """
    for name in (
        "monitor_set_i", "noise_start_i", "noise_load_i", "noise_kind_i", "loss_clear_i",
        "grad_clear_i", "grad_reserve_i", "grad_reserve_bias_i", "grad_sweep_valid_i",
        "grad_host_write_i", "grad_host_read_i",
    ):  # fmt: skip
        getattr(dut, name).value = 0
    for prefix in ("monitor_in", "loss_in", "noise_in", "adam_in", "drain", "bias"):
        if not busy or not prefix.startswith(busy):
            getattr(dut, f"{prefix}_valid_i").value = 0
    dut.noise_actions_i.value = 1
    for name in ("c1", "c2", "eps", "rate", "tau"):
        getattr(dut, f"adam_{name}_i").value = 1
    await start(dut)


class BlockTest(uvm_test):
    """Base: an environment, and items one after another with gaps or without."""

    block: Callable[[], Any] = Model
    gaps = True

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.random = rng("test")
        self.model = self.block()
        pattern: Pattern = random_pauses(rng("gaps"), busy=0.8) if self.gaps else always()
        self.environment = Environment("environment", self, self.model, pattern)

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await quiet(self.dut, self.model.prefix)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """The test."""

    async def send(self, items: Any) -> None:
        """Send items and wait until all came out."""
        await StreamSequence(items).start(self.environment.source.sequencer)
        await self.environment.scoreboard.drain(self.dut.clk_i, LIMIT)


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class MonitorRandom(BlockTest):
    """Lines of growing size of one core and of all; pairs of 0, and such as software writes."""

    block = Monitor

    async def body(self) -> None:
        """Send; write pairs, also such as no line gives; send again."""
        dut, pairs = self.dut, self.model.pairs
        for low, high in ((0, 0), (5, -7)):
            dut.monitor_set_low_i.value = low & 0xFFFFFFFF
            dut.monitor_set_high_i.value = high & 0xFFFFFFFF
            dut.monitor_set_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.monitor_set_i.value = 0
            pairs[:] = [(low, high)] * len(pairs)
            await RisingEdge(dut.clk_i)
            await self.send(self.model.items(ITEMS // 2))


class LossTest(BlockTest):
    """Base of the tests of the loss: items, then its sums."""

    block = Loss

    async def body(self) -> None:
        """Send, compare the sums, clear them, send again; the actor's seeds."""
        dut, model = self.dut, self.model
        for _ in range(2):
            await self.send(model.items(ITEMS // 2))
            await ClockCycles(dut.clk_i, 1)
            got = [
                int(getattr(dut, f"loss_{name}_o").value) for name in ("sum_q", "sum_td", "count")
            ]
            assert got == [model.q & MASK64, model.td & MASK64, model.count]
            dut.loss_clear_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.loss_clear_i.value = 0
            await RisingEdge(dut.clk_i)
            assert not any(dut.loss_sum_q_o.value) and not any(dut.loss_count_o.value)
            model.q = model.td = model.count = 0
        for actor in range(7):
            dut.loss_actor_scale_i.value = actor
            await RisingEdge(dut.clk_i)
            assert dut.loss_actor_seed_o.value.to_signed() == ops.actor_seed(actor)


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class LossRandom(LossTest):
    """Items with gaps."""


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class LossEveryClock(LossTest):
    """Items back to back."""

    gaps = False


class AdamTest(BlockTest):
    """Base of the tests of Adam: many slices with few scalars."""

    block = Adam
    items = ITEMS
    gaps = False

    async def body(self) -> None:
        """Send slices with some scalars, then with others."""
        rounds = 25
        for _ in range(rounds):
            self.model.change(self.random)
            for name in ("c1", "c2", "eps", "rate", "tau"):
                getattr(self.dut, f"adam_{name}_i").value = getattr(self.model.scalars, name)
            await RisingEdge(self.dut.clk_i)
            assert self.dut.adam_idle_o.value
            await self.send(self.model.items(self.items // rounds, self.random))
            await RisingEdge(self.dut.clk_i)


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class AdamRandom(AdamTest):
    """Slices back to back."""


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class AdamGaps(AdamTest):
    """Slices with gaps."""

    gaps = True


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class AdamMillion(AdamTest):
    """A million lanes."""

    items = scale(250_000)


class NoiseTest(BlockTest):
    """Base of the tests of the noise."""

    block = Noise
    seen: set[tuple[int, int]]

    async def load(self, state: list[int], x: list[int]) -> None:
        """Set generator and x, in the block and in the model."""
        dut, model = self.dut, self.model
        dut.noise_load_state_i.value = sum(word << 64 * k for k, word in enumerate(state))
        dut.noise_load_x_i.value = pack(x)  # type: ignore[arg-type]
        dut.noise_load_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.noise_load_i.value = 0
        await RisingEdge(dut.clk_i)
        model.generator.load(state)
        model.x = list(x)

    async def draw(self, kind: int, actions: int, sigma: int, theta: int) -> None:
        """Draw the noise of a line and wait for it, for as long as it has to take."""
        dut = self.dut
        dut.noise_kind_i.value, dut.noise_actions_i.value = kind, actions
        dut.noise_sigma_i.value, dut.noise_theta_i.value = sigma & 0xFFFFFFFF, theta & 0xFFFFFFFF
        dut.noise_start_i.value = 1
        await RisingEdge(dut.clk_i)
        assert dut.noise_ready_o.value
        dut.noise_start_i.value = 0
        await RisingEdge(dut.clk_i)
        words = (0, 1, 3, 3)[kind] * actions
        clocks = await until("noise", dut.clk_i, 60, lambda: dut.noise_ready_o.value)
        assert clocks == (words + WAIT_NOISE if words else 0), f"kind {kind}: {clocks} clocks"
        self.model.draw(kind, actions, sigma, theta)

    def check_state(self) -> None:
        """Compare generator and x with the model's."""
        state = int(self.dut.noise_state_o.value)
        assert [state >> 64 * k & MASK64 for k in range(4)] == self.model.generator.state
        assert list(unpack(int(self.dut.noise_x_o.value), size("Lw"))) == self.model.x


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class NoiseRandom(NoiseTest):
    """All kinds and numbers of actions; seeds, x and settings of any size."""

    async def body(self) -> None:
        """Load now and then, draw, send lines, compare the state."""
        generator = self.random
        seen = set()
        for index in range(max(48, ITEMS // 10)):
            if index % 8 == 0:
                zero = index % 32 == 0
                state = [0] * 4 if zero else [generator.getrandbits(64) for _ in range(4)]
                await self.load(state, [any_size(generator) for _ in range(size("Lw"))])
            kind, actions = index % noise.KINDS, 1 + index // noise.KINDS % size("Lw")
            sigma = generator.choice((6554, 65536, any_size(generator)))
            theta = generator.choice((9830, 65536, any_size(generator)))
            await self.draw(kind, actions, sigma, theta)
            seen.add((kind, actions))
            await self.send([self.model.line(generator) for _ in range(2)])
            self.check_state()
        assert len(seen) == noise.KINDS * size("Lw")


@pyuvm.test(timeout_time=100, timeout_unit="ms")
class NoiseMoments(NoiseTest):
    """Means and deviations of many draws are those of their kinds, within 3 sigma."""

    async def body(self) -> None:
        """Draw; lines of zeros show the noise."""
        lw = size("Lw")
        zeros = StreamItem(noise=1, data=0)
        await self.load([7, 9, 11, 13], [0] * lw)
        sigma = 6554
        for kind, deviation in ((noise.UNIFORM, 3**-0.5), (noise.GAUSSIAN, 1.0)):
            drawn: list[int] = []
            for _ in range(scale(25_000)):
                await self.draw(kind, lw, sigma, 0)
                drawn += self.model.drawn
                await self.send([zeros])
            count, want = len(drawn), deviation * sigma
            mean = sum(drawn) / count
            spread = (sum(x * x for x in drawn) / count) ** 0.5
            assert abs(mean) < 3 * want / count**0.5, f"kind {kind}: mean {mean}"
            assert abs(spread - want) < 3 * want / count**0.5, f"kind {kind}: deviation {spread}"

    def check_phase(self) -> None:
        """The bins of random lines are not for this test."""
        self.environment.coverage.enforce = False


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class GradRandom(uvm_test):
    """Random layers in 1 to 3 chunks, to G or to Adam; sweeps; lines that are dropped."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.random = rng("test")
        self.environment = GradEnvironment("environment", self)

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await quiet(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Fill G; layers; the totals."""
        dut, golden = self.dut, self.environment.golden
        for line in range(LINES):
            golden.g[line] = [any_size(self.random) for _ in range(golden.lw)]
            dut.grad_host_line_i.value, dut.grad_host_data_i.value = line, pack(golden.g[line])
            dut.grad_host_write_i.value = 1
            await RisingEdge(dut.clk_i)
        dut.grad_host_write_i.value = 0
        rounds = max(36, scale(240))
        for index in range(rounds):
            layer = Layer.draw(self.random, golden.lw, index)
            chunks, update = 1 + index % 3, self.random.random() < 0.6
            for chunk in range(chunks):
                await self.chunk(layer, chunk == 0, update and chunk == chunks - 1)
            self.cover(layer, chunks, update)
            if index % 4 == 1:
                await self.sweep(layer)
            await self.compare(layer)
            if index % 8 == 5:
                await self.clear()

    async def chunk(self, layer: Layer, first: bool, update: bool) -> None:
        """A chunk's tiles: each is announced when there is room, and drained later."""
        dut, golden, environment = self.dut, self.environment.golden, self.environment
        tiles = list(golden.tiles(layer, first, update, self.random))
        environment.expect()
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
        await drain
        await until("idle", dut.clk_i, 400, lambda: dut.grad_idle_o.value)
        await RisingEdge(dut.clk_i)
        assert not environment.lines.want and not environment.biases.want, "lines are missing"
        got = [int(getattr(dut, f"grad_total_{x}_o").value) for x in ("gradient", "sum")]
        assert got == [golden.gradient, golden.sums]

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
        """Read a layer's lines of G, and those about them."""
        dut, golden = self.dut, self.environment.golden
        count = layer.p * -(-layer.q // golden.lw)
        first, past = max(0, layer.line - 1), min(LINES, layer.line + count + 1)
        for line in (*range(first, past), *range(layer.bias_line, layer.bias_line + 3)):
            dut.grad_host_line_i.value, dut.grad_host_read_i.value = line, 1
            await RisingEdge(dut.clk_i)
            dut.grad_host_read_i.value = 0
            await ClockCycles(dut.clk_i, 2)
            got = unpack(int(dut.grad_host_data_o.value), golden.lw)
            assert (got == golden.g[line]).all(), f"{layer}, line {line}: {got}, {golden.g[line]}"

    async def clear(self) -> None:
        """Announce lines, drain some, drop them: no line of them comes anywhere."""
        dut = self.dut
        dut.grad_reserve_i.value, dut.grad_reserve_rows_i.value = 1, size("Lw")
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
        await ClockCycles(dut.clk_i, 2)
        dut.grad_clear_i.value = 0
        await RisingEdge(dut.clk_i)
        assert dut.grad_idle_o.value, "not idle after lines were dropped"
        await ClockCycles(dut.clk_i, 12)


@pyuvm.test(timeout_time=10, timeout_unit="ms", expect_error=CoverageMissed)
class MonitorMissed(BlockTest):
    """Without negative values of all sizes the coverage goal must fail the test."""

    block = Monitor

    async def body(self) -> None:
        """Send small words only."""
        items = [StreamItem(cores=1, tensor=0, data=5) for _ in range(10)]
        await self.send(items)


@pyuvm.test(timeout_time=10, timeout_unit="ms", expect_error=AssertionError)
class WrongWeight(AdamTest):
    """A weight that differs from the model in its last bit must fail the test."""

    items = 25

    def start_of_simulation_phase(self) -> None:
        """Make the model wrong."""

        def wrong(item: StreamItem) -> list[StreamItem]:
            return [
                StreamItem(**{**out.fields, "w": out.fields["w"] ^ 1}) for out in self.model(item)
            ]

        self.environment.scoreboard.model = wrong
