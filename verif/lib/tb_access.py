"""Tests of jd_engine_access before 16 words: what it does in every clock of an access."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from verif.bench import reset, rng, start

OUTPUTS = ("s_axil_bvalid_o", "s_axil_rvalid_o", "request_o")
SLVERR = 2


async def still(dut: Any, clocks: int) -> None:
    """Nothing comes out while nothing is asked for; a read is taken at once."""
    for _ in range(clocks):
        await FallingEdge(dut.clk_i)
        assert [int(getattr(dut, name).value) for name in OUTPUTS] == [0, 0, 0]
        assert (int(dut.s_axil_arready_o.value), int(dut.s_axil_awready_o.value)) == (1, 0)


async def access(dut: Any, draw: random.Random, words: list[int]) -> None:
    """One access, with its answer held for some clocks; `words` follow."""
    write, place = draw.random() < 0.5, draw.choice((draw.randrange(16), draw.randrange(1024)))
    data, strobes, held = draw.getrandbits(32), draw.getrandbits(4), draw.choice((0, 0, 1, 5))
    await FallingEdge(dut.clk_i)
    if write:
        dut.s_axil_awaddr_i.value, dut.s_axil_wdata_i.value = 4 * place, data
        dut.s_axil_wstrb_i.value = strobes
        first = draw.choice(("aw", "w", "both"))
        dut.s_axil_awvalid_i.value, dut.s_axil_wvalid_i.value = first != "w", first != "aw"
        if first != "both":  # one waits for the other
            for _ in range(draw.randint(1, 3)):
                await FallingEdge(dut.clk_i)
                ready = int(dut.s_axil_awready_o.value), int(dut.s_axil_wready_o.value)
                assert (*ready, int(dut.request_o.value)) == (0, 0, 0)
            dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 1
            await FallingEdge(dut.clk_i)
        else:
            await FallingEdge(dut.clk_i)
        # The access was taken at the edge between, and its request is out.
        dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 0
    else:
        dut.s_axil_araddr_i.value, dut.s_axil_arvalid_i.value = 4 * place, 1
        await FallingEdge(dut.clk_i)
        dut.s_axil_arvalid_i.value = 0
    assert int(dut.request_o.value) == 1, "no request in the clock after the access"
    valid = dut.s_axil_bvalid_o if write else dut.s_axil_rvalid_o
    other = dut.s_axil_rvalid_o if write else dut.s_axil_bvalid_o
    ready = dut.s_axil_bready_i if write else dut.s_axil_rready_i
    for clock in range(2 if write else 3):  # answered two, three clocks after it
        assert int(valid.value) == 0, f"answered {clock} clocks after its request"
        await FallingEdge(dut.clk_i)
        assert int(dut.request_o.value) == 0
        if clock == (0 if write else 1):
            break
    for taken in range(held + 1):
        assert (int(valid.value), int(other.value)) == (1, 0)
        answers = int(dut.s_axil_arready_o.value), int(dut.s_axil_awready_o.value)
        assert answers == (0, 0), "ready while an access waits"
        if write:
            assert int(dut.s_axil_bresp_o.value) == SLVERR * (place > 15)
        else:
            want = (0, SLVERR) if place > 15 else (words[place], 0)
            assert (int(dut.s_axil_rdata_o.value), int(dut.s_axil_rresp_o.value)) == want
        if taken == held:
            ready.value = 1
        await FallingEdge(dut.clk_i)
    ready.value = 0
    assert int(valid.value) == 0, "the answer was taken"
    if write and place < 16:
        mask = sum(0xFF << 8 * lane for lane in range(4) if strobes >> lane & 1)
        words[place] = words[place] & ~mask | data & mask


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def access_clocks(dut: Any) -> None:
    """Random accesses; resets between them and in the midst of one."""
    draw = rng("access")
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
        getattr(dut, f"s_axil_{name}_i").value = 0
    await start(dut)
    await still(dut, 6)
    words = [0] * 16
    for place in range(16):
        dut.u_dut.words_q[place].value = 0
    for turn in range(400):
        await access(dut, draw, words)
        if draw.random() < 0.3:
            await still(dut, draw.randint(1, 4))
        if turn % 20 == 19:  # in the midst of a read
            await FallingEdge(dut.clk_i)
            dut.s_axil_araddr_i.value, dut.s_axil_arvalid_i.value = 3, 1
            await FallingEdge(dut.clk_i)
            dut.s_axil_arvalid_i.value = 0
            await ClockCycles(dut.clk_i, draw.randint(1, 4))
            await reset(dut)
            await still(dut, 4)
