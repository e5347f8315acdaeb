"""Tests of the device's top with its real engines; tests/shell/test_top.py runs them."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import ClockCycles
from pyuvm import uvm_env, uvm_test

from flow.configuration import load_config
from models.registers import directory, learner, replay
from models.registers import engine_header as header
from verif import bench
from verif.agents.axi_memory import AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus, AxilItem
from verif.bench import until
from verif.engine_control.model import SLVERR

CONFIG = load_config("small")
REPLAY, LEARNER = 0x1000, 0x2000
CLEAR, SAMPLE, INSERT = 1, 2, 6
TO_STREAM, USE_PMAX = 1 << 5, 1 << 1
BATCH, LEAVES = 16, 16
CLOCK_LIMIT = 20_000


class TopEnv(uvm_env):
    """Control bus and memory ports of jd_top."""

    def build_phase(self) -> None:
        """Make the parts."""
        top: Any = cocotb.top
        self.memory = DeviceMemory()
        self.axil = AxilAgent("axil", self, AxilBus(top))
        timing = AxiTiming(latency=(4, 20), busy=0.8)
        self.ports = [
            AxiMemoryAgent(f"port{p}", self, AxiBus(top, index=p), self.memory, timing)
            for p in range(CONFIG.memory_ports)
        ]


class TopBase(uvm_test):
    """Environment, clock and reset; a test is its `scenario`."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.env = TopEnv("env", self)

    async def run_phase(self) -> None:
        """Reset and run the scenario."""
        self.raise_objection()
        await bench.start(self.dut)
        await ClockCycles(self.dut.clk_i, 2)
        await self.scenario()
        self.drop_objection()

    async def scenario(self) -> None:
        """What the test does."""
        raise NotImplementedError

    async def soft_reset(self, page: int) -> None:
        """Soft-reset an engine and wait until it is idle."""
        axil = self.env.axil
        await axil.write(page + header.CONTROL.offset, 1)
        for _ in range(500):
            if await axil.read(page + header.STATUS.offset) & 1:
                return
        raise TimeoutError(f"page {page:#x}: not idle after a soft reset")


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Present(TopBase):
    """Directory and pages: both engines are where the directory says, the rest is SLVERR."""

    async def scenario(self) -> None:
        axil, built = self.env.axil, CONFIG
        for register, value in (
            (directory.MAGIC, directory.MAGIC.reset),
            (directory.LAYOUT, directory.LAYOUT.reset),
            (directory.BUILD, built.build_hash),
            (directory.N_ENGINE, 2),
            (directory.CLOCK_HZ, built.clock_hz),
            (directory.MEM_SIZE_LO, built.memory_bytes),
            (directory.MEM_SIZE_HI, 0),
            (directory.MEM_PORTS, built.memory_ports),
        ):
            assert await axil.read(register.offset) == value, register.name
        for n, (page, name) in enumerate(((REPLAY, b"RPLY"), (LEARNER, b"LRNR"))):
            word = int.from_bytes(name, "little")
            assert await axil.read(directory.ENGINE.at(n)) == word
            assert await axil.read(page + header.ID.offset) == word
            assert await axil.read(page + header.STATUS.offset) == 1
        for registers, page in ((replay.REGISTERS, REPLAY), (learner.REGISTERS, LEARNER)):
            for register in registers:
                item = await axil.access(AxilItem(page + register.offset))
                want = SLVERR if register.access == "WO" else 0
                assert item.response == want, f"{register.name}: {item}"
        for address in (0x3000, 0xFFFFC, REPLAY + 0xFFC, LEARNER + 0xFFC):
            item = await axil.access(AxilItem(address))
            assert item.response == SLVERR, f"{item}"


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class LinkFlush(TopBase):
    """Samples wait in the link for a learner that does not come: either soft reset empties it."""

    async def scenario(self) -> None:
        dut, axil = self.dut, self.env.axil
        await axil.write(REPLAY + replay.CFG_N.offset, LEAVES)
        for ring in range(2):
            base = 0x1_0000 * (ring + 1)
            await axil.write(REPLAY + header.RING_BASE_LO.at(ring), base)
            await axil.write(REPLAY + header.RING_CPL_LO.at(ring), base + 0x8000)
            await axil.write(REPLAY + header.RING_SIZE.at(ring), 4)
        await self.queue(1, [(CLEAR, 0), (INSERT | USE_PMAX << 8, LEAVES)])
        await self.wait(1, 2)
        for page in (REPLAY, LEARNER, REPLAY):
            sample = (SAMPLE | TO_STREAM << 8, BATCH)
            await self.queue(0, [sample, sample])
            await until("words in the link", dut.clk_i, CLOCK_LIMIT, lambda: self.held() > 4)
            await ClockCycles(dut.clk_i, 50)
            other = dut.u_learner if page == REPLAY else dut.u_replay
            told = cocotb.start_soon(
                until("link_clear", dut.clk_i, 500, lambda other=other: other.link_clear_i.value)
            )
            await self.soft_reset(page)
            await told
            await self.soft_reset(LEARNER if page == REPLAY else REPLAY)
            await ClockCycles(dut.clk_i, 4)
            assert self.held() == 0 and not dut.u_replay_smp.out_valid_o.value
            for each in (REPLAY, LEARNER):
                assert await axil.read(each + header.STATUS.offset) & 1
                await axil.write(each + header.STATUS.offset, 0xE)

    def held(self) -> int:
        """Words in the SMP link."""
        return int(self.dut.u_replay_smp.count.value)

    async def queue(self, ring: int, jobs: list[tuple[int, int]]) -> None:
        """Queue replay jobs: word 0 and count."""
        axil = self.env.axil
        tail = await axil.read(REPLAY + header.RING_TAIL.at(ring))
        for word, count in jobs:
            descriptor = np.zeros(16, np.uint32)
            descriptor[0], descriptor[2] = word, count
            self.env.memory.load(0x1_0000 * (ring + 1) + 64 * (tail % 16), descriptor)
            tail += 1
        await axil.write(REPLAY + header.RING_TAIL.at(ring), tail)

    async def wait(self, ring: int, head: int) -> None:
        """Wait until HEAD is there and nothing failed."""
        axil = self.env.axil
        for _ in range(500):
            if await axil.read(REPLAY + header.RING_HEAD.at(ring)) == head:
                assert not await axil.read(REPLAY + header.STATUS.offset) & 4
                return
        raise TimeoutError(f"ring {ring}: HEAD is not {head}")
