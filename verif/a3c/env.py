"""Environment of jd_a3c_top: control bus, memory ports, the golden engine beside it.

What it adds to `EngineEnv`: tasks run side by side, so the golden engine runs them in the order of
the tickets that the records tell; which unit had a task is the design's choice; and counters of
units. After a task that ends with a bus error what it writes is not compared.

With stand-ins for the units (JD_A3C_STUB in the environment) the golden engine is one that does
what they do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

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
    TRAIN,
    Task,
    extents,
)
from models.a3c.network import Geometry
from models.engine import JobEnd
from models.registers import a3c as registers
from models.registers.a3c import Error
from models.registers.map import Register
from verif.a3c.coverage import BINS
from verif.a3c.stub.model import StubEngine
from verif.engine_env import EngineEnv, Job, JobItem

WINDOW = (0x100000, 0x4000000)
RING_OF = {INF: RING_INF, TRAIN: RING_TRN, SYNC: RING_ADM, NET_LOAD: RING_ADM}
BUS_ERRORS = (Error.E_BUS_RD, Error.E_BUS_WR)
COUNTS = ("INF", "BOOT", "TRAIN", "SYNC")


@dataclass
class Ended:
    """A task that ended, for coverage.

    Attributes:
        ring, words: where it came from, its descriptor.
        end: how it ended.
        unit: that had it.
        late: a task after it in its ring ended before it.
        waited: an update waited for an earlier ticket since the batch began.
        followed: one went on after rows of a layer that another was still at.
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


class A3cEnv(EngineEnv):
    """The common environment, with tasks of three rings that run side by side."""

    engine, group, bins = "a3c", "a3c.task", BINS

    def build_phase(self) -> None:
        """Make the parts."""
        self.stub = bool(os.environ.get("JD_A3C_STUB"))
        super().build_phase()
        self.geometry: Geometry = self.golden.geometry
        self.waited = self.followed = False
        self.exact = True  # no task has failed in a unit: the units' counters are the golden ones
        self.tickets_lost = False  # tasks with tickets were dropped
        self.gathered = False  # a task's weights were

    def new_golden(self) -> Any:
        """As the parent, or what does the same as the stand-ins."""
        if self.stub:
            return StubEngine.from_fields(self.manifest.fields(self.parameters), {})
        return super().new_golden()

    # ---- The design
    async def start(self) -> None:
        """As the parent; watch the units."""
        await super().start()
        cocotb.start_soon(self._waits())

    async def _waits(self) -> None:
        """Note whether a unit waits for an earlier ticket, or goes on close after one.

        It must not go on to rows of the layer in hand that an earlier ticket has not written.
        """
        asks, goes = self.design.order_valid, self.design.order_go
        layers, written, tickets = (
            self.design.order_layer,
            self.design.written,
            self.design.order_ticket,
        )
        ends = self.design.order_behind
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
                        assert rows >= wanted, f"unit {u} goes on to row {wanted} after {rows}"

    async def setup(self) -> None:
        """As the parent; open the window."""
        await super().setup()
        await self.write(registers.MEM_BASE_LO, WINDOW[0])
        await self.write(registers.MEM_LIMIT_LO, WINDOW[1])

    async def soft_reset(self) -> int:
        """As the parent. What was in flight is dropped, wherever it was."""
        took = await super().soft_reset()
        await self.idle()
        self.dropped()
        return took

    def dropped(self) -> None:
        """Tickets, counters and memory."""
        self.tickets_lost, self.exact = True, False
        self.golden_memory = self.memory.copy()

    async def hard_reset(self, clocks: int) -> None:
        """As the parent."""
        await super().hard_reset(clocks)
        self.exact, self.tickets_lost = True, False

    # ---- Tasks
    def job(self, words: Job, ring: int = 0) -> JobItem:
        """As the parent; a `Task` goes to its ring."""
        if isinstance(words, Task):
            return super().job(words.encode(), RING_OF[words.opcode])
        return super().job(words, ring)

    async def run(self, *jobs: Job, limit: int = 0) -> list[JobEnd]:
        """As the parent. What one task writes without a ticket no other names."""
        self.waited = self.followed = False
        return await super().run(*jobs, limit=limit)

    def in_order(self, jobs: Sequence[JobItem]) -> Sequence[JobItem]:
        """By their tickets."""
        tickets = [job.record.count for job in jobs if job.record.count]
        if self.tickets_lost and tickets:
            self.golden.tickets, self.tickets_lost = min(tickets) - 1, False
        return sorted(jobs, key=lambda job: job.record.count)

    @property
    def second(self) -> bool:
        """Parameters have a second image."""
        return self.golden.layout == ALT2

    def roles(self, unit: int) -> int:
        """ROLE_* of a unit."""
        return self.golden.read_register(registers.CU_ROLE.offset) >> 2 * unit & 3

    async def compare(self, *jobs: JobItem) -> None:
        """As the parent, when the engine has become idle."""
        await self.idle()
        self.exact = self.exact and not any(job.end.error in BUS_ERRORS for job in jobs)
        await super().compare(*jobs)

    def detail(self, job: JobItem, alone: bool) -> int:
        """Which unit of several had the task is the design's choice.

        A task that is alone goes to the first unit of its role, as in the golden engine.
        """
        want = job.end.detail
        if alone or job.end.error or job.opcode == NET_LOAD:
            return want
        unit = job.record.detail & 15
        needed = ROLE_INFERENCE if job.opcode == INF else ROLE_TRAINING
        assert unit < self.geometry.cus, f"{job}: unit {unit}"
        assert job.opcode == SYNC or self.roles(unit) & needed, f"{job}: unit {unit}"
        if job.opcode == SYNC:
            assert self.geometry.single_cu or unit % 2, f"{job}: unit {unit}"
        return want & ~15 | unit

    def outputs(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """What its task may write."""
        return self.written(Task.decode(job.array()))

    def undefined(self, job: JobItem) -> Iterable[tuple[int, int]]:
        """What a task writes that ended with a bus error."""
        return self.written(Task.decode(job.array())) if job.end.error in BUS_ERRORS else ()

    def sample(self, *jobs: JobItem) -> None:
        """All of them."""
        for index, job in enumerate(jobs):
            late = any(
                other.ring == job.ring and other.record.end < job.record.end
                for other in jobs[index + 1 :]
            )
            unit = job.record.detail & 15
            self.cover.sample(
                Ended(job.ring, job.array(), job.end, unit, late, self.waited, self.followed)
            )

    def written(self, task: Task) -> list[tuple[int, int]]:
        """Ranges that a task may write."""
        held = self.golden.networks[task.network]
        if held is None or task.opcode == NET_LOAD:
            return []
        return [(e.start, e.size) for e in extents(task, held.network, self.second) if e.written]

    # ---- Counters
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
        # After weights that are gathered no sum waits for itself.
        issues = ("_ISSUE",) if self.gathered else ("_ISSUE", "_ST_CTX")
        for ends in (issues, ("_READ_BEATS",), ("_WRITE_BEATS",)):
            mine, theirs = total(got, *ends), total(want, *ends)
            assert mine == theirs, f"{ends}: {mine}, want {theirs}"

    def compares(self, register: Register) -> bool:
        """All but the counters; NET_DATA is `compare_networks`'."""
        counts = register.access == "RO" and register.name.endswith(("_LO", "_HI"))
        return not counts and register.count == 1

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
                    await self.write(reg, value)
                    got = await self.axil.read(registers.NET_DATA.offset)
                    want = self.golden.read_register(registers.NET_DATA.offset)
                    assert got == want, f"slot {slot} layer {layer} constant {constant}: {got}"
