"""Tests of jd_axil_demux: each access reaches the target of its page, or answers SLVERR.

The targets answer some of their addresses with SLVERR or DECERR, which must come back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteRam
from pyuvm import uvm_component, uvm_env, uvm_test

from verif.agents.axil import AxilAgent, AxilBus, AxilItem
from verif.agents.bus import Ports
from verif.agents.stream import StreamSequence
from verif.agents.timing import pauses, random_pauses
from verif.bench import parameters, reset, rng, start
from verif.coverage import Coverage
from verif.scoreboard import Scoreboard

ACCESSES = 250
ADDRESS_BITS = 20
WORDS = 6  # addresses of a page that are accessed, so that reads meet what was written
OKAY, SLVERR, DECERR = 0, 2, 3


def answer(address: int) -> int:
    """A target's response at an address."""
    return (OKAY, SLVERR, OKAY, DECERR)[address >> 2 & 3]


class AccessCoverage(Coverage):
    """Both directions and every response, of targets and of no target."""

    def __init__(self, name: str, parent: uvm_component, targets: int) -> None:
        page = parameters()["PageBits"]

        def answered(write: bool, response: int, here: bool) -> Callable[[AxilItem], bool]:
            return lambda item: (
                item.is_write == write
                and item.response == response
                and (item.address >> page < targets) == here
            )

        outcome = {}
        for write, way in enumerate(("read", "write")):
            outcome[way] = answered(bool(write), OKAY, True)
            outcome[f"{way}_slverr_passed"] = answered(bool(write), SLVERR, True)
            outcome[f"{way}_decerr_passed"] = answered(bool(write), DECERR, True)
            outcome[f"{way}_slverr"] = answered(bool(write), SLVERR, False)
        reached = {
            f"target{t}": lambda item, t=t: item.address >> page == t for t in range(targets)
        }
        super().__init__(name, parent, "lib.axil", {"outcome": outcome, "target": reached})


def respond(interface: Any, access: str, channel: Any, field: str) -> None:
    """Let one direction of a RAM respond with `answer`; the access is made all the same."""
    make, send = getattr(interface, access), channel.send
    last = 0

    async def noted(address: int, argument: Any) -> Any:
        nonlocal last
        last = address & ~3
        return await make(address, argument)

    async def answered(response: Any) -> None:
        setattr(response, field, answer(last))
        await send(response)

    setattr(interface, access, noted)
    channel.send = answered


class Environment(uvm_env):
    """The host's agent, a RAM for each target, a model of all."""

    def build_phase(self) -> None:
        """Make the parts."""
        p = parameters()
        self.targets, self.page = p["Targets"], p["PageBits"]
        self.host = AxilAgent("host", self, AxilBus(cocotb.top, "s_axil", timeout=1000))
        self.scoreboard = Scoreboard("scoreboard", self)
        self.coverage = AccessCoverage("coverage", self, self.targets)
        self.words: dict[int, int] = {}
        self.rams: list[AxiLiteRam] = []

    def connect_phase(self) -> None:
        """Connect the monitor."""
        self.host.ap.connect(self.scoreboard.outputs)
        self.host.ap.connect(self.coverage.analysis_export)

    def open(self) -> None:
        """Make the targets' RAMs, each with random pauses."""
        for index in range(self.targets):
            ram = AxiLiteRam(
                AxiLiteBus.from_prefix(Ports(cocotb.top, index), "m_axil"),
                cocotb.top.clk_i,
                cocotb.top.rst_ni,
                reset_active_level=False,
                size=1 << ADDRESS_BITS,
            )
            for name, channel in {
                "aw": ram.write_if.aw_channel,
                "w": ram.write_if.w_channel,
                "b": ram.write_if.b_channel,
                "ar": ram.read_if.ar_channel,
                "r": ram.read_if.r_channel,
            }.items():
                generator = rng(f"ram{index}.{name}")
                channel.set_pause_generator(pauses(random_pauses(generator, 0.6)))
            respond(ram.write_if, "_write", ram.write_if.b_channel, "bresp")
            respond(ram.read_if, "_read", ram.read_if.r_channel, "rresp")
            self.rams.append(ram)

    def target(self, address: int) -> int | None:
        """The target of an address, or None."""
        page = address >> self.page
        return page if page < self.targets else None

    def expected(self, item: AxilItem) -> AxilItem:
        """What the monitor must see of an access; changes the model's words."""
        want = AxilItem(item.address, item.data if item.is_write else None, item.strobes)
        want.response = SLVERR
        if self.target(item.address) is not None:
            want.response = answer(item.address)
            old = self.words.get(item.address, 0)
            if item.is_write:
                mask = sum(0xFF << 8 * i for i in range(4) if item.strobes >> i & 1)
                self.words[item.address] = old & ~mask | item.data & mask
            else:
                want.data = old
        return want

    def accesses(self, generator: random.Random, count: int) -> Iterator[AxilItem]:
        """Random accesses, expected as they are sent."""
        bits = ADDRESS_BITS - self.page
        near = range(min(self.targets + 2, 1 << bits))
        words = [4 * generator.randrange(1 << self.page - 2) for _ in range(WORDS - 4)]
        words += [4 * word for word in range(4)]
        for _ in range(count):
            alias = generator.randrange(self.targets) ^ 1 << generator.randrange(bits)
            page = generator.choice((*near, alias, alias))
            address = (page << self.page) | generator.choice(words)
            write = generator.random() < 0.5
            strobes = generator.choice((0xF, 0xF, 0x1, 0x6, 0x8)) if write else 0xF
            data = generator.getrandbits(32) if write else None
            if data is not None:
                data &= sum(0xFF << 8 * i for i in range(4) if strobes >> i & 1)
            item = AxilItem(address, data, strobes)
            self.scoreboard.expect(self.expected(item))
            yield item


class DemuxTest(uvm_test):
    """Base of the tests."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut = cocotb.top
        self.environment = Environment("environment", self)
        self.random = rng("accesses")

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        self.environment.open()
        await start(self.dut)
        self.environment.host.driver.pause(
            random_pauses(rng("request"), 0.6), random_pauses(rng("response"), 0.6)
        )
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Random accesses; then each RAM holds what was written to its pages, and no more."""
        environment = self.environment
        sequence = StreamSequence(environment.accesses(self.random, ACCESSES))
        await sequence.start(environment.host.sequencer)
        await environment.scoreboard.drain(self.dut.clk_i, 100)
        for index, ram in enumerate(environment.rams):
            for address, word in environment.words.items():
                want = word if environment.target(address) == index else 0
                assert ram.read_dword(address) == want, f"target {index} at {address:#x}"


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Random(DemuxTest):
    """Random pages, directions, strobes and pauses."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class ResetMidway(DemuxTest):
    """A reset during an access leaves no trace; the next accesses are right."""

    async def body(self) -> None:
        """Reset five times in an access, then random accesses."""
        environment = self.environment
        master = environment.host.driver.master
        assert master is not None
        for clocks in range(2, 7):
            master.init_read(0, 4)
            await ClockCycles(self.dut.clk_i, clocks)
            await reset(self.dut, 2)
        await ClockCycles(self.dut.clk_i, 4)
        environment.scoreboard.clear()
        environment.host.monitor.count = 0
        await super().body()
