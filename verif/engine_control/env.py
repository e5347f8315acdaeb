"""Environment of jd_engine_control and the echo engine: bus, memory, scoreboard, coverage."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles
from pyuvm import uvm_component, uvm_env, uvm_subscriber

from models.registers import engine_header as header
from models.registers.engine_header import Error
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.axil import AxilAgent, AxilBus, AxilItem
from verif.bench import parameters, until
from verif.coverage import Coverage
from verif.engine_control.model import RECORD_BYTES, ControlModel, Job, Record, Ring

BEAT = 64
HALF = (1 << RECORD_BYTES) - 1  # strobes of the lower record of a beat
CLOCK_LIMIT = 20_000  # of any wait
STATES = ("next", "run", "end", "record")
UNREACHED = ("E_RING", "E_BUS_WR", "E_ALIGN", "E_ADDR")  # by a job of the echo engine


class EchoMemory(DeviceMemory):
    """Device memory in which a single descriptor or record can be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.bad_reads: dict[int, int] = {}  # address of the descriptor -> response
        self.bad_writes: dict[int, int] = {}  # address of the record -> response

    def get_beat(self, address: int) -> tuple[int, int]:
        """As the parent."""
        data, code = super().get_beat(address)
        return data, self.bad_reads.get(address, code)

    def put_beat(self, address: int, data: int, strobes: int) -> int:
        """As the parent; a write must be one record."""
        assert strobes in (HALF, HALF << RECORD_BYTES), f"strobes {strobes:#x}: want one record"
        record = address + (0 if strobes == HALF else RECORD_BYTES)
        return self.bad_writes.get(record) or super().put_beat(address, data, strobes)


@dataclass(frozen=True)
class Ended:
    """A job that ended: what coverage and later checks look at.

    Attributes:
        ring: its ring.
        job, record: what was asked and what came.
        wrapped: its slot had been used before.
        time: TIME when the record's response was taken.
    """

    ring: int
    job: Job
    record: Record
    wrapped: bool
    time: int


@dataclass(frozen=True)
class Moment:
    """What happened: "soft_reset" with the state of a ring, or a refused write."""

    event: str
    state: str = ""


ENDED_BINS: dict[str, dict[str, Any]] = {
    "error": {
        name: (lambda e, code=code: e.record.error == code)
        for name, code in (
            ("none", 0),
            ("own", 9),
            *((e.name, e.value) for e in Error if e.name not in UNREACHED),
        )
    },
    "opcode": {
        "nop": lambda e: e.job.opcode == 0,
        "echo": lambda e: e.job.opcode == 1,
        "hang": lambda e: e.job.opcode == 2,
    },
    "record_bus": {
        "okay": lambda e: e.job.record_response == 0,
        "slverr": lambda e: e.job.record_response == 2 and not e.record.error,
        "decerr": lambda e: e.job.record_response == 3 and not e.record.error,
        "failed_job": lambda e: e.job.record_response != 0 and e.record.error != 0,
    },
    "descriptor_bus": {
        "slverr": lambda e: e.job.response == 2,
        "decerr": lambda e: e.job.response == 3,
    },
    "flags": {
        "stop_failed": lambda e: e.job.stops,
        "stop_ok": lambda e: e.job.stop and not e.record.error,
        "irq_ok": lambda e: e.job.irq and not e.record.error,
        "irq_failed": lambda e: e.job.irq and e.record.error != 0,
        "unread_stop": lambda e: e.job.stop and e.job.response != 0,
    },
    "slot": {"first": lambda e: not e.wrapped, "wrapped": lambda e: e.wrapped},
}
MOMENT_BINS: dict[str, dict[str, Any]] = {
    "soft_reset_in": {
        state: (lambda m, state=state: m == Moment("soft_reset", state))
        for state in (*STATES, "fetching", "held", "halted", "idle")
    },
    "refused": {
        name: (lambda m, name=name: m.event == name)
        for name in (
            *("off", "too_far", "behind", "base_align", "cpl_align", "size_max", "base_high"),
            *("base_busy", "cpl_busy", "size_busy", "in_soft_reset"),
            *("base_beyond", "cpl_beyond"),
        )
    },
}


class Records(uvm_subscriber):
    """The scoreboard: each record against the model, its times against each other."""

    def __init__(self, name: str, parent: uvm_component, model: ControlModel, cover: Coverage):
        super().__init__(name, parent)
        self.model = model
        self.cover = cover
        self.log: list[Ended] = []
        self.beats = [0, 0]  # read, written

    def write(self, item: AxiBurst) -> None:
        """Find the ring whose next record this is, and compare."""
        self.beats[item.write] += item.beats
        if not item.write:
            assert item.beats * BEAT == self.model.descriptor_bytes
            return
        assert item.beats == 1
        upper = item.strobes[0] != HALF
        address = item.address + RECORD_BYTES * upper
        index = self.owner(address)
        ring = self.model.rings[index]
        data = item.data[0] >> 8 * RECORD_BYTES * upper & (1 << 8 * RECORD_BYTES) - 1
        record = Record.parse(data.to_bytes(RECORD_BYTES, "little"))
        wrapped = ring.head >= 1 << ring.size
        job = self.model.ended(index, record, address)
        top: Any = cocotb.top
        time = int(top.time_o.value)
        assert item.response == job.record_response
        took = record.end - record.start
        if job.response or job.opcode == 0:
            assert took == 0, f"{job} took {took} clocks"
        elif record.error != Error.E_TIMEOUT:
            one = self.model.side == 1  # with others it may wait until they have told their ends
            assert took == job.clocks + 1 if one else took > job.clocks, f"{job} took {took} clocks"
        assert record.end < time
        before = [e.time for e in self.log if e.ring == index]
        alone = self.model.side == 1
        assert not (alone and before) or record.start > before[-1], "begun before the last ended"
        self.log.append(Ended(index, job, record, wrapped, time))
        self.cover.sample(self.log[-1])

    def owner(self, address: int) -> int:
        """The ring whose next record has this address. Raises: AssertionError."""
        for index, ring in enumerate(self.model.rings):
            slots = [(ring.head + k) % (1 << ring.size) for k in range(self.model.side)]
            if ring.size and address in [ring.cpl + RECORD_BYTES * slot for slot in slots]:
                return index
        raise AssertionError(f"a write to {address:#x}, where no record is due")

    def check_phase(self) -> None:
        """Fail if nothing was compared."""
        assert self.log, "no record was compared"


class EchoEnv(uvm_env):
    """Bus master, memory, model and scoreboard around jd_echo.

    Args:
        timing: of the memory.
    """

    def __init__(self, name: str, parent: uvm_component, timing: AxiTiming) -> None:
        super().__init__(name, parent)
        self.timing = timing

    def build_phase(self) -> None:
        """Make the parts."""
        self.dut: Any = cocotb.top
        self.design: Any = self.dut.u_dut  # in its flat pins
        self.rings = parameters().get("Rings", 3)
        self.side = parameters().get("Jobs", 1)
        self.model = ControlModel(self.rings, self.side, BEAT * parameters().get("Beats", 1))
        self.memory = EchoMemory()
        bus = AxiBus(cocotb.top, max_reads=1, max_writes=1)
        self.port = AxiMemoryAgent("port", self, bus, self.memory, self.timing)
        self.axil = AxilAgent("axil", self, AxilBus(cocotb.top))
        self.ended = Coverage("ended", self, "control.ended", ENDED_BINS, enforce=False)
        self.moments = Coverage("moments", self, "control.moment", MOMENT_BINS, enforce=False)
        self.records = Records("records", self, self.model, self.ended)

    def connect_phase(self) -> None:
        """Connect the port's monitor to the scoreboard."""
        self.port.ap.connect(self.records.analysis_export)

    # ---- What tests do with the device

    async def read(self, offset: int) -> int:
        """Read a register. Raises: AxilError."""
        return await self.axil.read(offset)

    async def write(self, offset: int, value: int, strobe: int = 0xF) -> int:
        """Write a register, and tell the model. Returns the response, which the model confirmed."""
        item = AxilItem(offset, value, strobe)
        idle = bool(self.dut.idle_o.value)
        await self.axil.access(item)
        want = self.model.write(offset, value, strobe, idle)
        assert item.response == want, f"write {offset:#x}: got {item.response}, want {want}"
        return want

    async def setup(self, index: int, size: int, base: int = 0, cpl: int = 0) -> None:
        """Configure a ring; by default its arrays have places of their own."""
        base = base or 0x10_0000 * (index + 1)
        cpl = cpl or 0x10_0000 * (index + 1) + 0x8_0000
        for register, value in (
            (header.RING_BASE_LO, base & 0xFFFFFFFF),
            (header.RING_BASE_HI, base >> 32),
            (header.RING_CPL_LO, cpl & 0xFFFFFFFF),
            (header.RING_CPL_HI, cpl >> 32),
            (header.RING_SIZE, size),
        ):
            await self.write(register.at(index), value)

    def place(self, index: int, jobs: list[Job]) -> int:
        """Write descriptors after those queued; returns the TAIL that queues them."""
        ring = self.model.rings[index]
        number = max([ring.tail - 1, *ring.jobs]) + 1
        for job in jobs:
            slot = number % (1 << ring.size)
            descriptor, record = (
                ring.base + self.model.descriptor_bytes * slot,
                ring.cpl + RECORD_BYTES * slot,
            )
            words = np.zeros(self.model.descriptor_bytes // 4, np.uint32)
            words[: job.words().size] = job.words()
            self.memory.load(descriptor, words)
            for faults, address, response in (
                (self.memory.bad_reads, descriptor, job.response),
                (self.memory.bad_writes, record, job.record_response),
            ):
                faults.pop(address, None)
                if response:
                    faults[address] = response
            ring.jobs[number] = job
            number += 1
        return number

    async def queue(self, index: int, jobs: list[Job]) -> None:
        """Place descriptors and ring the doorbell."""
        await self.write(header.RING_TAIL.at(index), self.place(index, jobs))

    def room(self, index: int) -> int:
        """Slots that may be written."""
        ring = self.model.rings[index]
        return (1 << ring.size) - (ring.tail - ring.head)

    async def ended_all(self, index: int | None = None) -> None:
        """Wait until every queued job has ended (of one ring, or of all).

        Raises: TimeoutError.
        """
        rings: list[Ring] = [
            ring for i, ring in enumerate(self.model.rings) if index is None or i == index
        ]
        await until(
            "the end of all jobs",
            self.dut.clk_i,
            CLOCK_LIMIT,
            lambda: not any(ring.pending and not ring.halted for ring in rings),
        )
        await ClockCycles(self.dut.clk_i, 4)

    def state_of(self, index: int) -> str:
        """Where a ring is, for coverage: from inside the design."""
        if self.side > 1:
            return "running"
        ring: Any = self.design.u_control.gen_ring[index].gen_one.u_ring
        state = STATES[int(ring.state_q.value)]
        if state != "next":
            return state
        if ring.halted_q.value:
            return "halted"
        if ring.held_q.value:
            return "held"
        if ring.fetching_q.value:
            return "fetching"
        return "next" if self.model.rings[index].pending else "idle"

    async def check_registers(self) -> None:
        """Compare every readable register of the header with the model; the engine is at rest."""
        model = self.model
        first = model.first
        status = await self.read(header.STATUS.offset)
        got = (bool(status & 2), bool(status & 4), bool(status & 8))
        assert got == (model.done, model.failed, model.event), f"STATUS {status:#x}: {model}"
        if model.failed:
            assert first is not None
            where = (status >> 4 & 3, status >> 8 & 0xFF, status >> 16)
            assert where == (first.ring, first.code, first.job), f"{where}, want {first}"
            if first.info is not None:
                info = (
                    await self.read(header.ERR_INFO0.offset),
                    await self.read(header.ERR_INFO1.offset),
                )
                assert info == first.info, f"ERR_INFO {info}, want {first}"
        assert await self.read(header.JOBS_DONE.offset) == model.jobs_done
        assert await self.read(header.JOBS_FAILED.offset) == model.jobs_failed
        for index, ring in enumerate(model.rings):
            for register, value in (
                (header.RING_BASE_LO, ring.base & 0xFFFFFFFF),
                (header.RING_BASE_HI, ring.base >> 32),
                (header.RING_CPL_LO, ring.cpl & 0xFFFFFFFF),
                (header.RING_CPL_HI, ring.cpl >> 32),
                (header.RING_SIZE, ring.size),
                (header.RING_TAIL, ring.tail),
                (header.RING_HEAD, ring.head),
            ):
                got_value = await self.read(register.at(index))
                assert got_value == value, f"{register.name}[{index}] {got_value}, want {value}"
        control = await self.read(header.CONTROL.offset)
        assert control == int(model.irq_enable) << 1 | int(model.freeze) << 2, f"{control:#x}"
        assert bool(self.dut.irq_o.value) == model.irq
        assert bool(status & 1) == all(not ring.pending for ring in model.rings)


def random_job(rng: random.Random, busy: bool = True) -> Job:
    """A job with all its fields drawn; about half of them end well."""
    kind = rng.random()
    word = rng.getrandbits(32)
    return Job(
        opcode=rng.choices((1, 0, rng.randint(3, 255)), (8, 1, 1))[0],
        clocks=rng.choice((0, 1, rng.randint(2, 60))) if busy else 0,
        error=rng.choice((9, rng.randint(1, 63))) if kind < 0.2 else 0,
        detail=rng.getrandbits(16),
        count=rng.getrandbits(32),
        info0=word,
        info1=rng.getrandbits(32),
        tag=rng.getrandbits(32),
        stop=rng.random() < 0.2,
        irq=rng.random() < 0.3,
        junk=rng.getrandbits(32) if rng.random() < 0.08 else 0,
        response=rng.choice((2, 3)) if rng.random() < 0.08 else 0,
        record_response=rng.choice((2, 3)) if rng.random() < 0.08 else 0,
    )
