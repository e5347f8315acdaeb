"""Environment of jd_a3c_top: control bus, memory ports, the golden engine beside it.

The golden `A3cEngine` has a memory of its own. `run` queues tasks in the three rings at once, waits
for their records, lets the golden engine run the same descriptors in the order of the tickets that
the records tell, and compares to the bit: records, ERR_INFO, all of memory and the counters. After
a task that ends with a bus error what it writes is not compared.

With stand-ins for the units (JD_A3C_STUB in the environment) the golden engine is one that does
what they do.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from pyuvm import uvm_component, uvm_env

from models.a3c.descriptor import (
    ALT2,
    INF,
    NET_LOAD,
    RING_ADM,
    RING_INF,
    RING_TRN,
    ROLE_INFERENCE,
    ROLE_TRAINING,
    SYNC,
    TASK_WORDS,
    TRAIN,
    Task,
    extents,
)
from models.a3c.engine import A3cEngine
from models.a3c.network import BEAT_BYTES, Geometry, Network
from models.engine import JobEnd
from models.registers import a3c as registers
from models.registers import engine_header as header
from models.registers.a3c import Error
from verif.a3c.coverage import BINS
from verif.a3c.stub.model import StubEngine
from verif.agents.axi_memory import AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus
from verif.bench import parameters, reset, rng, start, until
from verif.coverage import Coverage

RINGS = (0x10000, 0x14000, 0x18000)  # descriptors; records at RECORDS behind them
RECORDS, SLOTS_LOG2 = 0x2000, 4
DESCRIPTOR_BYTES, RECORD_BYTES = 4 * TASK_WORDS, 32
WINDOW = (0x100000, 0x4000000)
CLOCK_LIMIT = 60_000
IRQ_ENABLE, SOFT_RESET = 2, 1
IDLE, FAILED = 1, 4
RING_OF = {INF: RING_INF, TRAIN: RING_TRN, SYNC: RING_ADM, NET_LOAD: RING_ADM}
BUS_ERRORS = (Error.E_BUS_RD, Error.E_BUS_WR)
COUNTS = ("INF", "BOOT", "TRAIN", "SYNC")
GEOMETRY = {
    "NPe": "n_pe", "NPair": "n_pair", "SingleCu": "single_cu", "PortPerCu": "port_per_cu",
    "AltEn": "alt_en", "Lm": "lm", "La": "la", "NRu": "n_ru", "NbMax": "nb_max", "NNet": "n_net",
    "FmRows": "fm_rows", "PbInference": "pb_inference", "PbTraining": "pb_training",
    "GbRows": "gb_rows",
}  # fmt: skip


def build_geometry() -> Geometry:
    """The geometry of the build."""
    given = {GEOMETRY[k]: v for k, v in parameters().items() if k in GEOMETRY}
    return replace(Geometry(), **given)  # type: ignore[arg-type]


@dataclass
class Ended:
    """A task that ended, for coverage.

    Attributes:
        ring, words: where it came from, its descriptor.
        end: how it ended.
        unit: that had it.
        late: a task behind it in its ring ended before it.
        waited: an update waited for an earlier ticket since the batch began.
        followed: one went on behind rows of a layer that another was still at.
    """

    ring: int
    words: np.ndarray
    end: JobEnd
    unit: int
    late: bool = False
    waited: bool = False
    followed: bool = False

    @property
    def task(self) -> Task:
        """Its fields."""
        return Task.decode(self.words)


class A3cEnv(uvm_env):
    """Agents and golden model.

    Args:
        timing: of the memory.
    """

    def __init__(self, name: str, parent: uvm_component, timing: AxiTiming) -> None:
        super().__init__(name, parent)
        self.timing, self.limit = timing, CLOCK_LIMIT

    def build_phase(self) -> None:
        """Make the parts."""
        self.dut = cocotb.top
        self.geometry = build_geometry()
        self.stub = bool(os.environ.get("JD_A3C_STUB"))
        self.random: random.Random = rng("environment")
        self.golden = self.new_golden()
        self.memory, self.golden_memory = DeviceMemory(), DeviceMemory()
        g = self.geometry
        self.ports = [
            AxiMemoryAgent(f"port{p}", self, AxiBus(self.dut, index=p), self.memory, self.timing)
            for p in range(g.cus if g.port_per_cu else g.n_pair)
        ]
        self.axil = AxilAgent("axil", self, AxilBus(self.dut))
        self.ended = Coverage("ended", self, "a3c.task", BINS, enforce=False)
        self.tails = [0] * len(RINGS)
        self.compared = 0
        self.waited = self.followed = False
        self.exact = True  # no task has failed in a unit: the units' counters are the golden ones
        self.tickets_lost = False  # tasks with tickets were dropped
        self.gathered = False  # a task's weights were

    def check_phase(self) -> None:
        """A test must compare something."""
        assert self.compared, "no task was compared"

    def new_golden(self) -> A3cEngine:
        """A golden engine behind its reset."""
        return StubEngine(self.geometry) if self.stub else A3cEngine(self.geometry)

    # ---- The design
    async def start(self) -> None:
        """Reset; switch rings and interrupt on, open the window."""
        self.dut.time_i.value = 0
        await start(self.dut)
        cocotb.start_soon(self._time())
        cocotb.start_soon(self._waits())
        await self.quiet()
        await self.setup()

    async def _time(self) -> None:
        time = 0
        while True:
            await RisingEdge(self.dut.clk_i)
            time += 1
            self.dut.time_i.value = time

    async def _waits(self) -> None:
        """Note whether a unit waits for an earlier ticket, or goes on close behind one.

        It must not go on to rows of the layer in hand that an earlier ticket has not written.
        """
        asks, goes = self.dut.order_valid, self.dut.order_go
        layers, written, tickets = self.dut.order_layer, self.dut.written, self.dut.order_ticket
        ends = self.dut.order_behind
        units = range(self.geometry.cus)
        age = [0 for _ in units]  # clocks since a unit asked; the answer counts from the third on
        while True:
            await RisingEdge(self.dut.clk_i)
            asked = int(asks.value)
            age = [age[u] + 1 if asked >> u & 1 else 0 for u in units]
            if not asked:
                await asks.value_change
                continue
            goes_on = asked & int(goes.value)
            self.waited = self.waited or goes_on != asked
            if not goes_on:
                continue
            layer, others, ticket, end = (int(h.value) for h in (layers, written, tickets, ends))
            told = [others >> 30 * v & (1 << 30) - 1 for v in units]  # jd_a3c_pkg::written_t
            number = [ticket >> 32 * v & 0xFFFF_FFFF for v in units]
            for u in units:
                for v in units:
                    if not (goes_on >> u & told[v] >> 29 & 1 and number[v] < number[u]):
                        continue
                    if told[v] >> 26 & 7 == layer >> 3 * u & 7 and age[u] > 2:
                        self.followed = True
                        rows, wanted = told[v] & (1 << 26) - 1, end >> 26 * u & (1 << 26) - 1
                        assert rows >= wanted, f"unit {u} goes on to row {wanted} behind {rows}"

    async def quiet(self, clocks: int = 24) -> None:
        """Check that nothing comes out behind a reset."""
        ports = [agent.bus.ports for agent in self.ports]
        for _ in range(clocks):
            await RisingEdge(self.dut.clk_i)
            assert not int(self.dut.irq_o.value), "an interrupt behind the reset"
            for port in ports:
                for channel in ("ar", "aw", "w"):
                    offered = getattr(port, f"m_axi_{channel}valid_o")
                    assert not int(offered.value), f"{channel}valid behind the reset"

    async def setup(self) -> None:
        """Write the rings' registers and the window."""
        for ring, base in enumerate(RINGS):
            for register, value in (
                (header.RING_BASE_LO, base),
                (header.RING_CPL_LO, base + RECORDS),
                (header.RING_SIZE, SLOTS_LOG2),
            ):
                await self.axil.write(register.at(ring), value)
            self.tails[ring] = await self.axil.read(header.RING_HEAD.at(ring))
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE)
        await self.write_both(registers.MEM_BASE_LO.offset, WINDOW[0])
        await self.write_both(registers.MEM_LIMIT_LO.offset, WINDOW[1])

    async def write_both(self, offset: int, value: int) -> None:
        """Write a register of the engine in both."""
        await self.axil.write(offset, value)
        self.golden.write_register(offset, value, True)

    async def soft_reset(self) -> None:
        """Soft reset; the rings go on at HEAD. What was in flight is dropped, wherever it was."""
        await self.axil.write(header.CONTROL.offset, IRQ_ENABLE | SOFT_RESET)
        for _ in range(4000):
            if not await self.axil.read(header.CONTROL.offset) & SOFT_RESET:
                break
        else:
            raise TimeoutError("the soft reset does not end")
        self.golden.soft_reset()
        self.tickets_lost, self.exact = True, False
        for ring in range(len(RINGS)):
            self.tails[ring] = await self.axil.read(header.RING_HEAD.at(ring))
            assert self.tails[ring] == await self.axil.read(header.RING_TAIL.at(ring))
        assert await self.axil.read(header.STATUS.offset) & IDLE
        self.golden_memory = self.memory.copy()

    async def hard_reset(self, clocks: int) -> None:
        """Hold the running design in reset; both begin anew, with the design's device memory."""
        await reset(self.dut, clocks)
        self.golden = self.new_golden()
        self.golden_memory = self.memory.copy()
        self.exact, self.tickets_lost = True, False
        await self.quiet()
        await self.setup()
        assert self.tails == [0, 0, 0], f"HEAD is {self.tails} after a reset"

    def put(self, address: int, data: np.ndarray) -> None:
        """Store an array in both memories."""
        self.memory.load(address, data)
        self.golden_memory.load(address, data)

    def fail(self, address: int, nbytes: int, response: int, **kinds: bool) -> None:
        """Let a range of both memories fail."""
        self.memory.fail(address, nbytes, response, **kinds)
        self.golden_memory.fail(address, nbytes, response, **kinds)

    def heal(self) -> None:
        """Let nothing fail."""
        self.memory.heal()
        self.golden_memory.heal()

    # ---- Tasks
    async def queue(self, jobs: Sequence[tuple[int, np.ndarray]]) -> list[tuple[int, int]]:
        """Queue (ring, descriptor), every ring with one doorbell; returns rings and numbers."""
        out = []
        for ring, words in jobs:
            number = self.tails[ring]
            slot = number % (1 << SLOTS_LOG2)
            self.put(RINGS[ring] + DESCRIPTOR_BYTES * slot, words)
            self.memory.load(self._record(ring, number), np.full(RECORD_BYTES, 0xFF, np.uint8))
            self.tails[ring] += 1
            out.append((ring, number))
        for ring in {ring for ring, _ in jobs}:
            await self.axil.write(header.RING_TAIL.at(ring), self.tails[ring])
        return out

    def _record(self, ring: int, number: int) -> int:
        return RINGS[ring] + RECORDS + RECORD_BYTES * (number % (1 << SLOTS_LOG2))

    def record(self, ring: int, number: int) -> np.ndarray:
        """The record of a job, [8] uint32."""
        return self.memory.dump(self._record(ring, number), RECORD_BYTES).view(np.uint32)

    async def records(
        self, queued: list[tuple[int, int]], limit: int = 0, idle: bool = True
    ) -> list[np.ndarray]:
        """Wait for the records of jobs, and until the engine is idle."""
        waiting = list(queued)

        def ended() -> bool:
            waiting[:] = [q for q in waiting if int(self.record(*q)[3]) != q[1]]
            return not waiting

        clock = self.dut.clk_i
        for _ in range(1 + (limit or self.limit) // 16):
            if ended():
                break
            await ClockCycles(clock, 16)
        else:
            raise TimeoutError(f"no record of {waiting}")
        for _ in range(200):
            if not idle or await self.axil.read(header.STATUS.offset) & IDLE:
                return [self.record(*q) for q in queued]
        raise TimeoutError("the engine does not become idle")

    def predict(self, ring: int, words: np.ndarray) -> JobEnd:
        """Run a task in the golden engine."""
        try:
            next(self.golden.job(ring, words, self.golden_memory))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        raise AssertionError("the golden engine waits")

    async def run(
        self, jobs: Sequence[Task | tuple[int, np.ndarray]], limit: int = 0
    ) -> list[JobEnd]:
        """Run tasks side by side in both, and compare.

        Args:
            jobs: tasks, or rings and descriptors. What one writes without a ticket no other names.
            limit: clocks until all records; 0: as the test says.
        """
        pairs = [(RING_OF[j.opcode], j.encode()) if isinstance(j, Task) else j for j in jobs]
        for _, words in pairs:
            words[1] = self.random.getrandbits(32)
        await self.axil.write(header.STATUS.offset, FAILED)
        self.waited = self.followed = False
        queued = await self.queue(pairs)
        records = await self.records(queued, limit)
        tickets = [int(record[2]) for record in records]
        ends: list[JobEnd] = [JobEnd()] * len(pairs)
        for index in sorted(range(len(pairs)), key=lambda k: tickets[k]):
            if self.tickets_lost and tickets[index]:
                self.golden.tickets, self.tickets_lost = tickets[index] - 1, False
            ends[index] = self.predict(*pairs[index])
        for index, (ring, words) in enumerate(pairs):
            what = f"ring {ring} job {queued[index][1]}, opcode {words[0] & 0xFF}"
            self._compare_record(what, words, records[index], ends[index], len(pairs) == 1)
        await self._compare_status(queued, ends)
        self._compare_memory(pairs, ends)
        self.compared += len(pairs)
        for index, (ring, words) in enumerate(pairs):
            late = any(
                other > index and pairs[other][0] == ring
                and int(records[other][6]) < int(records[index][6])
                for other in range(len(pairs))
            )  # fmt: skip
            unit = int(records[index][1]) >> 16 & 15
            self.ended.sample(
                Ended(ring, words, ends[index], unit, late, self.waited, self.followed)
            )
        return ends

    @property
    def second(self) -> bool:
        """Parameters have a second image."""
        return self.golden.layout == ALT2

    def roles(self, unit: int) -> int:
        """ROLE_* of a unit."""
        return self.golden.read_register(registers.CU_ROLE.offset) >> 2 * unit & 3

    def _compare_record(
        self, what: str, words: np.ndarray, record: np.ndarray, end: JobEnd, alone: bool
    ) -> None:
        """Compare a record; which unit of several had the task is the design's choice.

        A task that is alone goes to the first unit of its role, as in the golden engine.
        """
        got = (int(record[1]) & 0xFF, int(record[2]))
        assert got == (end.error, end.count), f"{what}: got error, count {got}, want {end}"
        assert int(record[0]) == int(words[1]), f"{what}: tag {record[0]:#x}"
        opcode, detail = int(record[1]) >> 8 & 0xFF, int(record[1]) >> 16
        assert opcode == int(words[0]) & 0xFF, f"{what}: opcode {opcode}"
        if alone or end.error or opcode == NET_LOAD:
            assert detail == end.detail, f"{what}: detail {detail:#x}, want {end}"
        else:
            assert detail >> 4 == end.detail >> 4, f"{what}: detail {detail:#x}, want {end}"
            needed = ROLE_INFERENCE if opcode == INF else ROLE_TRAINING
            unit = detail & 15
            assert unit < self.geometry.cus, f"{what}: unit {unit}"
            assert opcode == SYNC or self.roles(unit) & needed, f"{what}: unit {unit}"
            if opcode == SYNC:
                assert self.geometry.single_cu or unit % 2, f"{what}: unit {unit}"

    async def _compare_status(self, queued: list[tuple[int, int]], ends: list[JobEnd]) -> None:
        """STATUS and ERR_INFO tell of the failure that ended first."""
        status = await self.axil.read(header.STATUS.offset)
        failed = {
            (ring, number & 0xFFFF, int(end.error)): [end.info0, end.info1]
            for (ring, number), end in zip(queued, ends, strict=True)
            if end.error
        }
        assert bool(status & FAILED) == bool(failed), f"STATUS {status:#x}, failed {failed}"
        if failed:
            told = (status >> 4 & 3, status >> 16, status >> 8 & 0xFF)
            assert told in failed, f"STATUS tells of {told}, failed {failed}"
            info = [await self.axil.read(r.offset) for r in (header.ERR_INFO0, header.ERR_INFO1)]
            assert info == failed[told], f"{told}: ERR_INFO {info}, want {failed[told]}"

    def _compare_memory(self, pairs: list[tuple[int, np.ndarray]], ends: list[JobEnd]) -> None:
        """Compare all of memory but records, and what tasks with a bus error write."""
        for base in RINGS:
            at = base + RECORDS
            self.golden_memory.load(at, self.memory.dump(at, RECORD_BYTES << SLOTS_LOG2))
        for (_, words), end in zip(pairs, ends, strict=True):
            if end.error in BUS_ERRORS:
                self.exact = False
                for start_, size in self.written(Task.decode(words)):
                    self.golden_memory.load(start_, self.memory.dump(start_, size))
        if self.memory != self.golden_memory:
            raise AssertionError(f"memory differs: {self.difference()}")

    def written(self, task: Task) -> list[tuple[int, int]]:
        """Ranges that a task may write."""
        held = self.golden.networks[task.network]
        if held is None or task.opcode == NET_LOAD:
            return []
        return [(e.start, e.size) for e in extents(task, held.network, self.second) if e.written]

    def difference(self) -> str:
        """The first words of the window that differ."""
        out = []
        for at in range(WINDOW[0], WINDOW[1], 4096):
            mine, want = self.memory.dump(at, 4096), self.golden_memory.dump(at, 4096)
            if not np.array_equal(mine, want):
                where = np.flatnonzero(mine.view(np.uint32) != want.view(np.uint32))
                first = int(where[0])
                out.append(
                    f"{where.size} words from {at + 4 * first:#x} on: "
                    f"{mine.view(np.uint32)[first]:#010x}, want {want.view(np.uint32)[first]:#010x}"
                )
            if len(out) == 4:
                break
        return "; ".join(out) or "outside the window"

    # ---- Counters
    async def counter(self, offset: int) -> int:
        """Read a counter: the low word latches the high one."""
        low = await self.axil.read(offset)
        high = await self.axil.read(offset + 4)
        return low | high << 32

    async def compare_counters(self) -> None:
        """Compare the engine's counters: exactly those of tasks, and of units over all units."""
        offsets = self.golden._offsets
        got = {name: await self.counter(at) for name, at in offsets.items()}
        want = {name: self.golden.counter(name) for name in offsets}

        def total(values: dict[str, int], *ends: str) -> int:
            return sum(v for name, v in values.items() if name.endswith(ends))

        for name in COUNTS:
            assert got[name] == want[name], f"{name} is {got[name]}, want {want[name]}"
        assert total(got, "_TASKS") == total(want, "_TASKS")
        for unit in range(8):
            busy = got[f"CU{unit}_BUSY"]
            assert bool(busy) >= bool(got[f"CU{unit}_TASKS"] and unit % 2 == 0), f"unit {unit}"
            assert unit < self.geometry.cus or not busy, f"unit {unit} is not there"
        if self.stub or not self.exact:
            return
        # Behind weights that are gathered no sum waits for itself.
        issues = ("_ISSUE",) if self.gathered else ("_ISSUE", "_ST_CTX")
        for ends in (issues, ("_READ_BEATS",), ("_WRITE_BEATS",)):
            mine, theirs = total(got, *ends), total(want, *ends)
            assert mine == theirs, f"{ends}: {mine}, want {theirs}"

    async def compare_registers(self) -> None:
        """Compare every register but the counters; NET_DATA of every slot, layer and constant."""
        for register in registers.REGISTERS:
            counts = register.access == "RO" and register.name.endswith(("_LO", "_HI"))
            if counts or register.count > 1:
                continue
            got = await self.axil.read(register.offset)
            want = self.golden.read_register(register.offset)
            assert got == want, f"{register.name} is {got:#x}, want {want:#x}"

    async def compare_networks(self, every: int = 1) -> None:
        """Compare derived constants: all, or one of so many."""
        reg = registers.NET_SEL
        count = 0
        for slot in range(min(16, self.geometry.n_net + 1)):
            held = self.golden.networks[slot] if slot < self.geometry.n_net else None
            layers = len(held.network.layers) + 1 if held else 1
            for layer in range(layers):
                for constant in range(14):
                    count += 1
                    if count % every:
                        continue
                    value = (
                        reg.field("net").put(slot)
                        | reg.field("layer").put(layer)
                        | reg.field("constant").put(constant)
                    )
                    await self.write_both(reg.offset, value)
                    got = await self.axil.read(registers.NET_DATA.offset)
                    want = self.golden.read_register(registers.NET_DATA.offset)
                    assert got == want, f"slot {slot} layer {layer} constant {constant}: {got}"


def beats(network: Network) -> int:
    """Beats of a network's parameters, for limits."""
    return network.parameter_bytes // BEAT_BYTES


def until_asked(env: A3cEnv, name: str, clocks: int) -> Any:
    """Wait until a signal of the top is not 0."""
    handle = getattr(env.dut, name)
    return until(name, env.dut.clk_i, clocks, lambda: int(handle.value) != 0)
