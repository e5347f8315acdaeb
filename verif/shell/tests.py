"""Tests of the shell; tests/shell/test_shell.py runs them.

Link*: jd_shell_link alone. Traffic: jd_memory_bench, the memory ports alone. The others:
jd_shell_echo, the shell with three echo engines.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiBus as ExtAxiBus
from cocotbext.axi import AxiMaster
from pyuvm import uvm_env, uvm_subscriber, uvm_test

from models.registers import directory
from models.registers import engine_header as header
from verif import bench
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus, AxilItem
from verif.agents.bus import Ports
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence
from verif.agents.timing import bursts, pauses, random_pauses
from verif.bench import parameters, rng, until
from verif.coverage import Coverage
from verif.engine_control.model import RECORD_BYTES, SLVERR, Job, Record
from verif.scoreboard import Scoreboard

ENGINES, RINGS, PORTS = 3, 2, 2
PORT_OF = (0, 0, 1)
PAGE = 0x1000
TIME_START = 0x7FFF_FFFF_FFFF_F000  # of jd_shell_echo
ECHO_ID = int.from_bytes(b"ECHO", "little")


class LinkEnv(uvm_env):
    """Source, sink and scoreboard around the link."""

    def build_phase(self) -> None:
        """Make the parts."""
        dut = cocotb.top
        self.source = StreamAgent(
            "source", self, StreamBus(dut, "in", ("data",)), "source", random_pauses(rng("source"))
        )
        self.sink = StreamAgent(
            "sink", self, StreamBus(dut, "out", ("data",)), "sink", bursts(rng("sink"))
        )
        self.scoreboard = Scoreboard("scoreboard", self, model=lambda item: [item])

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.source.ap.connect(self.scoreboard.inputs)
        self.sink.ap.connect(self.scoreboard.outputs)


class LinkBase(uvm_test):
    """Clock, reset and words; a test is its `clears`."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.env = LinkEnv("env", self)
        self.dut: Any = cocotb.top
        self.dut.clear_i.value = 0

    async def run_phase(self) -> None:
        """Send words while `clears` runs; what is left must come out."""
        self.raise_objection()
        dut, draw = self.dut, rng("words")
        await bench.start(dut)
        words = StreamSequence([StreamItem(data=draw.getrandbits(64)) for _ in range(600)])
        task = cocotb.start_soon(words.start(self.env.source.sequencer))
        await self.clears(dut, draw)
        await task
        await self.env.scoreboard.drain(dut.clk_i, 2000)
        self.drop_objection()

    async def clears(self, dut: Any, draw: random.Random) -> None:
        """Clear the link at times."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class LinkRandom(LinkBase):
    """Words come out as they went in, under any back-pressure."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class LinkClear(LinkBase):
    """A clear drops what is inside and what comes while it lasts, and nothing else."""

    async def clears(self, dut: Any, draw: random.Random) -> None:
        held = 0
        for _ in range(12):
            await ClockCycles(dut.clk_i, draw.randint(5, 60))
            dut.clear_i.value = 1
            for _ in range(draw.randint(1, 10)):
                await RisingEdge(dut.clk_i)
                assert not dut.out_valid_o.value and dut.in_ready_o.value
                await Timer(1, "ns")  # after the monitors
                held += len(self.env.scoreboard.want)
                self.env.scoreboard.clear()
            dut.clear_i.value = 0
        assert held > 20, "no clear met a word"


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class LinkRate(uvm_test):
    """Holds as many words as built, offers the first without being asked, moves one per clock."""

    async def run_phase(self) -> None:
        """Fill it, empty it, then let a stream through; several times, so that it wraps."""
        self.raise_objection()
        dut: Any = cocotb.top
        depth, draw = parameters()["Depth"], rng("words")
        dut.clear_i.value = 0
        dut.in_valid_i.value = 0
        dut.out_ready_i.value = 0
        await bench.start(dut)
        for _ in range(5):
            held: deque[int] = deque()
            await self.step(dut, held, draw.getrandbits(64), ready=False)
            for _ in range(2):
                await self.step(dut, held, None, ready=False)
            assert dut.out_valid_o.value, "the first word waits to be asked for"
            for number in range(1, depth + 2):
                await self.step(dut, held, draw.getrandbits(64), ready=False)
                assert len(held) == min(number + 1, depth), f"{len(held)} words at {number}"
            for left in range(depth, 0, -1):
                assert len(held) == left, f"{len(held)} words are left, want {left}"
                await self.step(dut, held, None, ready=True)
            for clock in range(40):
                await self.step(dut, held, draw.getrandbits(64), ready=True)
                assert len(held) == min(clock + 1, 2), f"{len(held)} words at clock {clock}"
            while held:
                await self.step(dut, held, None, ready=True)
            await self.step(dut, held, None, ready=False)
            assert not dut.out_valid_o.value, "a word that never came"
        self.drop_objection()

    async def step(self, dut: Any, held: deque[int], word: int | None, ready: bool) -> None:
        """One clock; `held` are the words inside."""
        dut.in_valid_i.value = word is not None
        dut.in_data_i.value = word or 0
        dut.out_ready_i.value = ready
        await ReadOnly()
        comes = word if dut.in_ready_o.value else None
        if dut.out_valid_o.value and ready:
            got = int(dut.out_data_o.value)
            assert held and got == held[0], f"got {got:#x}, want {held}"
            held.popleft()
        if comes is not None:
            held.append(comes)
        await RisingEdge(dut.clk_i)


class EndedRecords(uvm_subscriber):
    """Checks each record that crosses a memory port against the job that is due."""

    def __init__(self, name: str, parent: uvm_env, cover: Coverage) -> None:
        super().__init__(name, parent)
        self.cover = cover
        self.due: dict[int, tuple[int, Job, int]] = {}  # record address -> engine, job, number
        self.ended = [0] * ENGINES
        self.last = -1

    def write(self, item: AxiBurst) -> None:
        """A burst ended."""
        if not item.write:
            return
        upper = item.strobes[0] >> RECORD_BYTES != 0
        address = item.address + RECORD_BYTES * upper
        assert address in self.due, f"a record at {address:#x}, where none is due"
        engine, job, number = self.due.pop(address)
        data = item.data[0] >> 8 * RECORD_BYTES * upper & (1 << 8 * RECORD_BYTES) - 1
        record = Record.parse(data.to_bytes(RECORD_BYTES, "little"))
        assert record.content == job.record(number), f"engine {engine}: {record}, want {job}"
        self.ended[engine] += 1
        self.cover.sample((self.last, engine))
        self.last = engine

    def check_phase(self) -> None:
        """Fail if a record never came."""
        assert not self.due, f"{len(self.due)} records never came"


class PortUsers(uvm_subscriber):
    """Checks who uses a memory port: engine e has the 16 MiB from (e + 1) * 16 MiB."""

    def __init__(self, name: str, parent: uvm_env, port: int) -> None:
        super().__init__(name, parent)
        self.port = port

    def write(self, item: AxiBurst) -> None:
        """A burst ended."""
        engine = (item.address >> 24) - 1
        assert PORT_OF[engine] == self.port, f"engine {engine} on port {self.port}"


class ShellEnv(uvm_env):
    """Control bus and two memory ports over one memory."""

    def build_phase(self) -> None:
        """Make the parts."""
        self.memory = DeviceMemory()
        self.axil = AxilAgent("axil", self, AxilBus(cocotb.top))
        timing = AxiTiming(latency=(2, 20), busy=0.7)
        self.ports = [
            AxiMemoryAgent(f"port{p}", self, AxiBus(cocotb.top, index=p), self.memory, timing)
            for p in range(PORTS)
        ]
        order = {
            f"{a}_then_{b}": (lambda pair, a=a, b=b: pair == (a, b))
            for a in range(ENGINES)
            for b in range(ENGINES)
        }
        self.cover = Coverage("cover", self, "shell.memory", {"order": order}, enforce=False)
        self.records = EndedRecords("records", self, self.cover)
        self.users = [PortUsers(f"users{p}", self, p) for p in range(PORTS)]

    def connect_phase(self) -> None:
        """Connect the ports' monitors."""
        for port, users in zip(self.ports, self.users, strict=True):
            port.ap.connect(self.records.analysis_export)
            port.ap.connect(users.analysis_export)


class ShellBase(uvm_test):
    """Environment, clock and reset; a test is its `scenario`."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.env = ShellEnv("env", self)

    async def run_phase(self) -> None:
        """Reset and run the scenario."""
        self.raise_objection()
        self.dut.error_valid_i.value = 0
        self.dut.error_code_i.value = 0
        self.dut.hold_data_i.value = 0
        await bench.start(self.dut)
        await ClockCycles(self.dut.clk_i, 2)
        await self.scenario()
        self.drop_objection()

    async def scenario(self) -> None:
        """What the test does."""
        raise NotImplementedError


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Pages(ShellBase):
    """Each page answers as itself, the rest of the address space with SLVERR."""

    async def scenario(self) -> None:
        axil, draw = self.env.axil, rng("pages")
        for engine in range(ENGINES):
            page = PAGE * (engine + 1)
            assert await axil.read(page + header.ID.offset) == ECHO_ID
            await axil.write(page + header.WATCHDOG.offset, 1000 + engine)
        await axil.write(directory.SCRATCH.offset, 77)
        for engine in range(ENGINES):
            page = PAGE * (engine + 1)
            assert await axil.read(page + header.WATCHDOG.offset) == 1000 + engine
        assert await axil.read(directory.SCRATCH.offset) == 77
        outside = [PAGE * page + 4 * draw.randrange(1024) for page in range(ENGINES + 1, 256, 7)]
        for address in (*outside, PAGE * (ENGINES + 1), 0xFFFFC, 0x0BC, 0xFFC, 0x034, 0x03C):
            for item in (AxilItem(address), AxilItem(address, 0xFFFF_FFFF)):
                await axil.access(item)
                assert item.response == SLVERR, f"{item}"
        assert await axil.read(directory.SCRATCH.offset) == 77


@pyuvm.test(timeout_time=2, timeout_unit="ms")
class Directory(ShellBase):
    """Every register of the directory; TIME counts and latches; the interrupt and its mask."""

    async def scenario(self) -> None:
        axil, dut = self.env.axil, self.dut
        began, first = get_sim_time("ns"), int(dut.time_o.value)
        assert TIME_START < first < TIME_START + 8, f"{first:#x} at the start"
        want = {
            directory.MAGIC: int.from_bytes(b"JDKW", "little"),
            directory.LAYOUT: 1 << 16,
            directory.BUILD: 0xFEEDBEEF,
            directory.N_ENGINE: ENGINES,
            directory.CLOCK_HZ: 123_456_789,
            directory.MEM_SIZE_LO: 0,
            directory.MEM_SIZE_HI: 2,
            directory.MEM_PORTS: PORTS,
            directory.IRQ_PENDING: 0,
            directory.IRQ_ENABLE: 0,
            directory.SCRATCH: 0,
        }
        for register, value in want.items():
            assert await axil.read(register.offset) == value, register.name
            item = await axil.access(AxilItem(register.offset, ~value & 0xFFFF_FFFF))
            writable = register.access == "RW"
            assert item.response == (0 if writable else SLVERR), register.name
            now = await axil.read(register.offset)
            assert now == (~value & 0xFFFF_FFFF if writable else value), register.name
        for n in range(31):
            found = await axil.read(directory.ENGINE.at(n))
            assert found == (ECHO_ID if n < ENGINES else 0)
        # TIME: counts every clock, and HI belongs to the LO that was read before it.
        for high in ((1 << 31) - 1, 1 << 31):
            before, low = int(dut.time_o.value), await axil.read(directory.TIME_LO.offset)
            assert before < high << 32 | low <= int(dut.time_o.value), f"{before:#x} {low:#x}"
            if high < 1 << 31:
                await until("TIME", dut.clk_i, 4096, lambda: int(dut.time_o.value) + 40 >> 63)
                low = await axil.read(directory.TIME_LO.offset)
                for _ in range(60):
                    before = int(dut.time_o.value)
                    await RisingEdge(dut.clk_i)
                    assert int(dut.time_o.value) == before + 1, f"{before:#x}"
            assert await axil.read(directory.TIME_HI.offset) == high, f"{low:#x}"
            clocks = round((get_sim_time("ns") - began) / bench.PERIOD_NS)
            assert int(dut.time_o.value) == first + clocks, f"{first:#x}, {clocks} clocks"
        # Interrupts: engine e asks, the mask decides.
        await axil.write(directory.IRQ_ENABLE.offset, 0)
        for engine in range(ENGINES):
            await axil.write(PAGE * (engine + 1) + header.CONTROL.offset, 2)
        for asking in range(1, 1 << ENGINES):
            dut.error_valid_i.value = asking
            await RisingEdge(dut.clk_i)
            dut.error_valid_i.value = 0
            await ClockCycles(dut.clk_i, 4)
            assert await axil.read(directory.IRQ_PENDING.offset) == asking
            for mask in range(1 << ENGINES):
                await axil.write(directory.IRQ_ENABLE.offset, mask | 0xFFFF_0000)
                assert bool(dut.irq_o.value) == bool(mask & asking), f"{mask:b} {asking:b}"
            for engine in range(ENGINES):
                await axil.write(PAGE * (engine + 1) + header.STATUS.offset, 4)
            await ClockCycles(dut.clk_i, 4)
            assert await axil.read(directory.IRQ_PENDING.offset) == 0 and not dut.irq_o.value


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class MemoryShared(ShellBase):
    """Three engines, two rings each, two ports; one by one and all at once: nothing is lost.

    Write data comes with its address or later.
    """

    async def hold_data(self) -> None:
        """Hold the engines' write data at random."""
        draw = rng("hold")
        while True:
            self.dut.hold_data_i.value = draw.getrandbits(ENGINES)
            await ClockCycles(self.dut.clk_i, draw.randint(1, 12))

    async def scenario(self) -> None:
        env, dut, draw = self.env, self.dut, rng("jobs")
        cocotb.start_soon(self.hold_data())
        axil, count, alone = env.axil, 24, 4
        for engine in range(ENGINES):
            for ring in range(RINGS):
                page = PAGE * (engine + 1)
                base = 0x100_0000 * (1 + engine) + 0x10_0000 * ring
                cpl = base + 0x8_0000
                for register, value in (
                    (header.RING_BASE_LO, base),
                    (header.RING_CPL_LO, cpl),
                    (header.RING_SIZE, 5),
                ):
                    await axil.write(page + register.at(ring), value)
                for number in range(count):
                    job = Job(
                        opcode=draw.choices((1, 0, 9), (8, 1, 1))[0],
                        clocks=draw.randint(0, 10),
                        count=draw.getrandbits(32),
                        tag=draw.getrandbits(32),
                    )
                    env.memory.load(base + 64 * number, np.asarray(job.words()))
                    env.records.due[cpl + RECORD_BYTES * number] = (engine, job, number)
        for engine in range(ENGINES):
            for ring in range(RINGS):
                await axil.write(PAGE * (engine + 1) + header.RING_TAIL.at(ring), alone)
            ended = [RINGS * alone] * (engine + 1) + [0] * (ENGINES - 1 - engine)
            await until(
                f"records of engine {engine}",
                dut.clk_i,
                20_000,
                lambda ended=ended: env.records.ended == ended,
            )
        for engine in range(ENGINES):
            for ring in range(RINGS):
                await axil.write(PAGE * (engine + 1) + header.RING_TAIL.at(ring), count)
        await until("all records", dut.clk_i, 20_000, lambda: not env.records.due)
        await ClockCycles(dut.clk_i, 8)
        assert env.records.ended == [RINGS * count] * ENGINES
        for port in range(PORTS):
            here = RINGS * count * PORT_OF.count(port)
            assert env.ports[port].monitor.bursts == 2 * here
        for engine in range(ENGINES):
            status = await axil.read(PAGE * (engine + 1) + header.STATUS.offset)
            assert status & 1, "not idle"


class TrafficEnv(uvm_env):
    """An AXI4 master for each engine, and both memory ports with a memory each."""

    def build_phase(self) -> None:
        """Make the parts."""
        self.memories = [DeviceMemory() for _ in range(PORTS)]
        timing = AxiTiming(latency=(2, 30), busy=0.7)
        self.ports = [
            AxiMemoryAgent(f"port{p}", self, AxiBus(cocotb.top, index=p), self.memories[p], timing)
            for p in range(PORTS)
        ]


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Traffic(uvm_test):
    """Random bursts of all engines at once: data, responses and IDs come back to who asked."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.env = TrafficEnv("env", self)

    async def run_phase(self) -> None:
        """Run the engines side by side; each answers for the 64 KiB blocks that it picks."""
        self.raise_objection()
        dut = cocotb.top
        masters = []
        for engine in range(ENGINES):
            bus = ExtAxiBus.from_prefix(Ports(dut, engine), "s_axi")
            master = AxiMaster(bus, dut.clk_i, dut.rst_ni, reset_active_level=False)
            for channel, busy in (
                (master.write_if.aw_channel, 0.7), (master.write_if.w_channel, 0.4),
                (master.write_if.b_channel, 0.7), (master.read_if.ar_channel, 0.7),
                (master.read_if.r_channel, 0.7),
            ):  # fmt: skip
                pattern = random_pauses(rng(f"{engine} {channel.log.name}"), busy, 6)
                channel.set_pause_generator(pauses(pattern))
            masters.append(master)
        await bench.start(dut)
        for channel in ("ar", "aw"):
            cocotb.start_soon(self.fair(dut, channel))
        tasks = [cocotb.start_soon(self.engine(e, masters[e])) for e in range(ENGINES)]
        for task in tasks:
            await task
        self.drop_objection()

    async def fair(self, dut: Any, channel: str) -> None:
        """Engines 0 and 1 share a port: none is passed over twice."""
        valid, ready = (getattr(dut, f"s_axi_{channel}{name}") for name in ("valid_i", "ready_o"))
        passed = [0, 0]
        while True:
            await RisingEdge(dut.clk_i)
            if not dut.rst_ni.value:
                continue
            waits = [bool(valid[e].value) for e in (0, 1)]
            served = [waits[e] and bool(ready[e].value) for e in (0, 1)]
            for engine in (0, 1):
                passed[engine] += waits[engine] and served[1 - engine]
                if served[engine] or not waits[engine]:
                    passed[engine] = 0
                assert passed[engine] < 2, f"{channel} of engine {engine} is passed over"

    async def engine(self, engine: int, master: Any) -> None:
        """Write and read back, several bursts at once with several IDs, each time elsewhere."""
        draw, memory = rng(f"engine {engine}"), self.env.memories[PORT_OF[engine]]
        for _ in range(16):
            base = (draw.getrandbits(22) << 2 | engine) << 16
            memory.fail(base + 0x8000, 0x1000, 2 + engine % 2)
            content = bytearray(draw.randbytes(0x1_0000))
            memory.load(base, np.frombuffer(bytes(content), np.uint8))
            writes, identities = [], draw.sample(range(16), 4)
            for identity, place in zip(identities, draw.sample(range(16), 4), strict=True):
                start = place * 0x1000 + 64 * draw.randrange(16)
                data = draw.randbytes(
                    64 * draw.choice((1, 1, 1, 2, 5, 16, 48)) - draw.choice((0, draw.randrange(64)))
                )
                if place != 8:
                    content[start : start + len(data)] = data
                event = master.init_write(base + start, data, awid=identity)
                writes.append((start, len(data), event))
            for start, _, event in writes:
                await event.wait()
                want = 2 + engine % 2 if start >> 12 == 8 else 0
                assert event.data.resp == want, f"engine {engine} write at {start:#x}: {event.data}"
            reads = [
                (start, size, master.init_read(base + start, size, arid=identity))
                for identity, (start, size, _) in zip(identities[::-1], writes, strict=True)
            ]
            for start, size, event in reads:
                await event.wait()
                want = 2 + engine % 2 if start >> 12 == 8 else 0
                assert event.data.resp == want, f"engine {engine} read at {start:#x}"
                if not want:
                    assert event.data.data == bytes(content[start : start + size]), hex(start)
            stored = memory.dump(base, 0x1_0000).tobytes()
            assert stored == bytes(content), f"engine {engine}: memory differs from {base:#x}"
