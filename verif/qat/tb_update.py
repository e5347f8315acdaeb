"""pyuvm test of gradients, moments and Adam together."""

from __future__ import annotations

import pyuvm
from cocotb.triggers import RisingEdge

from verif.qat.blocks import Adam
from verif.qat.grad import LINES, Layer, UpdateEnvironment
from verif.qat.tiles import TilesTest
from verif.qat.words import any_size, pack, unpack

G, M, V = 2, 3, 4  # regions


@pyuvm.test(timeout_time=10, timeout_unit="ms")
class UpdateRandom(TilesTest):
    """Random layers, each with scalars of its own; all memories against the golden model's."""

    made = UpdateEnvironment
    host_clocks = 3
    environment: UpdateEnvironment

    async def write(self, region: int, second: bool, line: int, words: object) -> None:
        """Write a row."""
        dut = self.dut
        dut.grad_host_region_i.value, dut.grad_host_second_i.value = region, int(second)
        dut.grad_host_line_i.value, dut.grad_host_data_i.value = line, words
        dut.grad_host_write_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.grad_host_write_i.value = 0

    async def fill(self) -> None:
        """Write all memories."""
        dut, environment, golden = self.dut, self.environment, self.environment.golden
        lw, random = golden.lw, self.random
        for line in range(LINES):
            golden.g[line] = [any_size(random) for _ in range(lw)]
            for memory in (environment.w, environment.t, environment.m):
                memory[line] = [any_size(random) for _ in range(lw)]
            environment.v[line] = [
                random.getrandbits(64) >> random.randrange(64) for _ in range(lw)
            ]
            await self.write(G, False, line, pack(golden.g[line]))
            await self.write(M, False, line, pack(environment.m[line]))
            v = pack(environment.v[line], 64)
            for second in (False, True):
                await self.write(V, second, line, v >> 32 * lw * second & (1 << 32 * lw) - 1)
            dut.side_w_i.value, dut.side_t_i.value = (
                pack(memory[line]) for memory in (environment.w, environment.t)
            )
            dut.side_write_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.side_write_i.value = 0

    async def prepare(self) -> None:
        """Other scalars."""
        adam = Adam()
        adam.change(self.random, self.random.randrange(25))
        self.environment.scalars = adam.scalars
        for name in ("c1", "c2", "eps", "rate", "tau"):
            getattr(self.dut, f"adam_{name}_i").value = getattr(adam.scalars, name)
        await RisingEdge(self.dut.clk_i)

    async def compare(self, layer: Layer) -> None:
        """Read all memories of a layer but W and T, whose lines came out."""
        dut, environment, golden = self.dut, self.environment, self.environment.golden
        lw = golden.lw
        assert int(dut.grad_total_w_o.value) == environment.saturated
        for line in self.touched(layer):
            dut.grad_host_region_i.value = G
            assert (unpack(await self.read(line), lw) == golden.g[line]).all(), f"{layer}, G {line}"
            dut.grad_host_region_i.value = M
            got = unpack(await self.read(line), lw)
            assert (got == environment.m[line]).all(), f"{layer}, M {line}"
            halves = []
            for second in (0, 1):
                dut.grad_host_region_i.value, dut.grad_host_second_i.value = V, second
                halves.append(await self.read(line))
            v = unpack(halves[0] | halves[1] << 32 * lw, lw, 64, signed=False)
            assert (v == environment.v[line]).all(), f"{layer}, V {line}"
        dut.grad_host_region_i.value = G
