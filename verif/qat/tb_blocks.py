"""pyuvm tests of monitor, loss, noise, Adam and the gradient memory."""

from __future__ import annotations

from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_test

from flow.effort import scale
from models.qat import noise, ops
from verif.agents.stream import StreamItem, StreamSequence
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import rng, until
from verif.coverage import CoverageMissed
from verif.qat.blocks import Adam, Environment, Loss, Model, Monitor, Noise, size
from verif.qat.tiles import TilesTest, quiet
from verif.qat.words import any_size, pack, unpack

ITEMS = max(600, scale(6_000))
LIMIT = 200  # clocks from the last input to the last output
WAIT_NOISE = 6  # clocks of the noise beside those of its words
MASK64 = (1 << 64) - 1


class BlockTest(uvm_test):
    """Base: an environment, and items one after another with gaps or without."""

    block: type[Any] = Model
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
            # Lines on one side of 0: it counts with them.
            await self.send(
                StreamItem(cores=1, tensor=k, data=pack([9 if k % 2 else -9] * size("Lw")))
                for k in range(len(pairs))
            )
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
        for index in range(rounds):
            self.model.change(self.random, index)
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
        dut.noise_load_x_i.value = pack(x)
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
        """Draw; lines of zeros show the noise. The bins of random lines are not for this test."""
        self.environment.coverage.enforce = False
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


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class GradRandom(TilesTest):
    """Random layers in 1 to 3 chunks, to G or to Adam; sweeps; lines that are dropped."""


@cocotb.test()
async def grad_timing(dut: Any) -> None:
    """Lines go to Adam 9 clocks after their columns; a bias line waits while another is there."""
    lw, rows = size("Lw"), 4
    await quiet(dut)
    for name, value in (
        ("drain_line", 10), ("drain_stride", 3), ("drain_words", lw), ("drain_half", 0),
        ("drain_first", 1), ("drain_update", 1), ("drain_sums", 0), ("bias_line", 90),
        ("bias_words", lw), ("bias_first", 1), ("bias_update", 1), ("bias_sums", 0),
        ("grad_reserve_rows", rows),
    ):  # fmt: skip
        getattr(dut, f"{name}_i").value = value
    dut.grad_reserve_i.value = dut.grad_reserve_bias_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.grad_reserve_i.value = dut.grad_reserve_bias_i.value = 0
    seen = []
    for clock in range(24):
        dut.drain_valid_i.value = int(clock < rows)
        dut.drain_opens_i.value = int(clock == 0)
        dut.bias_valid_i.value = int(clock == 2)
        await RisingEdge(dut.clk_i)
        if dut.grad_out_valid_o.value:
            seen.append((clock, int(dut.grad_out_line_o.value)))
    assert seen == [(9, 10), (10, 13), (11, 16), (12, 19), (13, 90)]
    assert dut.grad_idle_o.value


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
