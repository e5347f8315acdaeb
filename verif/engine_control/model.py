"""Golden model of the shared engine control with the echo engine: registers, rings, records.

The model knows nothing of clocks. It is told of each register access and of each record that the
device writes, in the order in which they happen, and says what they must have been.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.engine import beyond
from models.registers import engine_header as header
from models.registers.engine_header import Error

ECHO, HANG = 1, 2
WORDS = 16
RECORD_BYTES = 32
SIZE_MAX = 12
M32 = (1 << 32) - 1
RING_REGISTERS = 0x080
CONFIG, SCRATCH, QUIET_CLOCKS, CONSTANT = 0x100, 0x104, 0x108, 0x10C
ENGINE_REGISTERS = {CONFIG: "idle", SCRATCH: "RW", QUIET_CLOCKS: "RW", CONSTANT: "RO"}
CONSTANT_VALUE = 0xC0FFEE00
OKAY, SLVERR = 0, 2


@dataclass(frozen=True)
class Job:
    """A descriptor of the echo engine and how its job ends.

    Attributes:
        opcode: 0 NOP, 1 ECHO, 2 HANG (ends by the watchdog only); others E_OPCODE.
        clocks: clocks that the engine works.
        error, detail, count, info0, info1: what the engine ends with.
        tag: word 1.
        stop, irq: flags of word 0.
        junk: OR-ed into the last word: a reserved field that is not zero.
        response: what the memory answers to the read of the descriptor, 0, 2 or 3.
        record_response: and to the write of the record.
    """

    opcode: int = ECHO
    clocks: int = 0
    error: int = 0
    detail: int = 0
    count: int = 0
    info0: int = 0
    info1: int = 0
    tag: int = 0
    stop: bool = False
    irq: bool = False
    junk: int = 0
    response: int = 0
    record_response: int = 0

    def words(self) -> np.ndarray:
        """The descriptor: [16] uint32."""
        out = np.zeros(WORDS, np.uint32)
        out[0] = self.opcode | int(self.stop) << 30 | int(self.irq) << 31
        out[1] = self.tag
        if self.opcode:
            out[2:7] = (
                self.clocks,
                self.error | self.detail << 16,
                self.count,
                self.info0,
                self.info1,
            )
        out[15] |= self.junk
        return out

    @property
    def stops_others(self) -> bool:
        """The control sees the STOP flag: nothing after the job starts before it has ended."""
        return self.stop and not self.response

    @property
    def stops(self) -> bool:
        """The control sees the STOP flag and the job fails."""
        return self.stops_others and self.outcome != 0

    @property
    def outcome(self) -> int:
        """The error in the record."""
        if self.response:
            return Error.E_BUS_RD
        if self.opcode not in (0, ECHO, HANG):
            return Error.E_OPCODE
        if self.junk:
            return Error.E_TIMEOUT if self.opcode == HANG else Error.E_RESERVED
        if self.opcode == HANG:
            return Error.E_TIMEOUT
        return self.error if self.opcode == ECHO else 0

    def record(self, number: int) -> tuple[int, ...]:
        """Tag, error, opcode, detail, count, job number of the record."""
        if self.response:
            return 0, self.outcome, 0, 0, 0, number
        if self.opcode == 0:
            return self.tag, self.outcome, 0, 0, 0, number
        return (self.tag, self.outcome, self.opcode, self.detail, self.count ^ number, number)


@dataclass(frozen=True)
class Record:
    """A completion record as the device wrote it; start and end are TIME (clocks)."""

    tag: int
    error: int
    opcode: int
    detail: int
    count: int
    job: int
    start: int
    end: int

    @classmethod
    def parse(cls, data: bytes) -> Record:
        """Decode 32 bytes."""
        word = [int(v) for v in np.frombuffer(data, "<u4")]
        return cls(
            tag=word[0],
            error=word[1] & 0xFF,
            opcode=word[1] >> 8 & 0xFF,
            detail=word[1] >> 16,
            count=word[2],
            job=word[3],
            start=word[4] | word[5] << 32,
            end=word[6] | word[7] << 32,
        )

    @property
    def content(self) -> tuple[int, ...]:
        """What Job.record predicts."""
        return self.tag, self.error, self.opcode, self.detail, self.count, self.job


@dataclass
class Ring:
    """State of one ring.

    Attributes:
        stopped: the last job that halted it.
        jobs: what was put into each slot, by job number.
    """

    head: int = 0
    tail: int = 0
    size: int = 0
    base: int = 0
    cpl: int = 0
    halted: bool = False
    stopped: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        return self.head != self.tail


@dataclass(frozen=True)
class Failure:
    """What STATUS and ERR_INFO say of a failure; info is None where the model does not say."""

    ring: int
    code: int
    job: int
    info: tuple[int, int] | None


class ControlModel:
    """Registers and rings of jd_engine_control.

    Args:
        rings: 1..4.
        side: jobs of a ring that run side by side.
        descriptor_bytes: 64 or more.
    """

    def __init__(self, rings: int, side: int = 1, descriptor_bytes: int = 64) -> None:
        self.side = side
        self.descriptor_bytes = descriptor_bytes
        self.rings = [Ring() for _ in range(rings)]
        self.engine = {CONFIG: 0, SCRATCH: 0, QUIET_CLOCKS: 0, CONSTANT: CONSTANT_VALUE}
        self.hard_reset()

    def hard_reset(self) -> None:
        """All registers to their reset values."""
        self.rings = [Ring() for _ in self.rings]
        self.engine = {CONFIG: 0, SCRATCH: 0, QUIET_CLOCKS: 0, CONSTANT: CONSTANT_VALUE}
        self.watchdog = 0
        self.irq_enable = self.freeze = False
        self.done = self.failed = self.event = False
        self.first: Failure | None = None
        self.jobs_done = self.jobs_failed = 0
        self.soft_reset = False

    @property
    def irq(self) -> bool:
        return self.irq_enable and (self.done or self.failed or self.event)

    def fail(self, failure: Failure) -> None:
        """A failure: STATUS keeps the first since it was cleared."""
        if not self.failed:
            self.first = failure
        self.failed = True

    def ended(self, index: int, record: Record, address: int) -> Job:
        """A record was answered. Raises AssertionError if it is not the one that must come next."""
        ring = self.rings[index]
        assert ring.pending, f"ring {index}: a record of no job: {record}"
        # Halted: only jobs before the one that halted the ring may still run.
        early = self.side > 1 and (ring.stopped - record.job) & M32 < self.side
        assert not ring.halted or early, f"ring {index}: a record while halted: {record}"
        number = ring.head
        if self.side > 1:
            number = record.job
            running = [(ring.head + k) & M32 for k in range((number - ring.head) & M32)]
            assert len(running) < self.side, f"ring {index}: {record} before job {ring.head}"
            assert not any(ring.jobs[k].stops_others for k in running if k in ring.jobs)
        job = ring.jobs.pop(number)
        want = job.record(number)
        assert record.content == want, f"ring {index}: got {record.content}, want {want} of {job}"
        self.done |= job.irq and not job.response
        if record.error:
            self.jobs_failed += 1
            info: tuple[int, int] | None = (job.info0, job.info1)
            if job.response:
                slot = number % (1 << ring.size)
                info = ((ring.base + self.descriptor_bytes * slot) & M32, job.response)
            elif job.opcode == 0:
                info = (0, 0)
            self.fail(Failure(index, record.error, number & 0xFFFF, info))
        else:
            self.jobs_done += 1
            if job.record_response:
                info = (address & M32, job.record_response)
                self.fail(Failure(index, Error.E_BUS_WR, number & 0xFFFF, info))
        if job.stops_others:
            ring.halted, ring.stopped = job.stops, number
        while ring.pending and ring.head not in ring.jobs:
            ring.head = (ring.head + 1) & M32
        return job

    def finish_soft_reset(self) -> None:
        """The soft reset ended."""
        self.soft_reset = False
        for ring in self.rings:
            ring.head = ring.tail
            ring.halted = False
            ring.jobs.clear()

    def write(self, offset: int, value: int, strobe: int = 0xF, idle: bool = True) -> int:
        """A register write; returns the response.

        Args:
            offset: in the page, a multiple of 4.
            value, strobe: as on the bus.
            idle: the engine's idle bit when the write is decided.
        """
        mask = sum(0xFF << 8 * lane for lane in range(4) if strobe >> lane & 1)
        if offset >= 0x100:
            kind = ENGINE_REGISTERS.get(offset)
            if kind in (None, "RO") or (kind == "idle" and not idle):
                return SLVERR
            self.engine[offset] = (self.engine[offset] & ~mask) | (value & mask)
            return OKAY
        if offset >= RING_REGISTERS:
            return self._write_ring(offset, value, mask)
        value &= mask
        if offset == header.CONTROL.offset:
            if mask & 1:
                self.soft_reset |= bool(value & 1)
                self.irq_enable = bool(value & 2)
                self.freeze = bool(value & 4)
        elif offset == header.STATUS.offset:
            self.done &= not value & 2
            self.failed &= not value & 4
            self.event &= not value & 8
        elif offset == header.WATCHDOG.offset:
            self.watchdog = (self.watchdog & ~mask) | value
        else:
            return SLVERR
        return OKAY

    def _write_ring(self, offset: int, value: int, mask: int) -> int:
        index, word = divmod(offset - RING_REGISTERS, 0x20)
        if index >= len(self.rings) or word >= 0x18:
            return SLVERR
        ring = self.rings[index]
        old = (
            ring.base & M32,
            ring.base >> 32,
            ring.cpl & M32,
            ring.cpl >> 32,
            ring.size,
            ring.tail,
        )[word // 4]
        new = (old & ~mask) | (value & mask)
        refusal = self._refusal(ring, word // 4, new)
        if refusal:
            self.fail(Failure(index, refusal, ring.head & 0xFFFF, (value, offset)))
        elif word == 0x00:
            ring.base = ring.base >> 32 << 32 | new
        elif word == 0x04:
            ring.base = ring.base & M32 | new << 32
        elif word == 0x08:
            ring.cpl = ring.cpl >> 32 << 32 | new
        elif word == 0x0C:
            ring.cpl = ring.cpl & M32 | new << 32
        elif word == 0x10:
            ring.size = new
        else:
            ring.tail = new
            ring.halted = False
        return OKAY

    def _refusal(self, ring: Ring, word: int, new: int) -> int:
        if self.soft_reset or (word <= 4 and ring.pending):
            return Error.E_RING
        if word in (0, 2):
            return Error.E_RING if new & 0xFFF else 0
        if word in (1, 3):
            return Error.E_RESERVED if new >> 8 else 0
        if word == 4:
            return Error.E_RING if new > SIZE_MAX else 0
        queued, before = (new - ring.head) & M32, (ring.tail - ring.head) & M32
        if ring.size == 0 or queued > 1 << ring.size or queued < before:
            return Error.E_RING
        slots = 1 << ring.size
        over = beyond(ring.base, slots * self.descriptor_bytes)
        return Error.E_ADDR if over or beyond(ring.cpl, slots * RECORD_BYTES) else 0
