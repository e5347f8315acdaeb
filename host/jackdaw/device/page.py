"""Golden model of an engine's page: common header, rings, completion records, soft reset.

Mirrors rtl/lib/engine at job level; what an engine computes is its own model's (models/engine.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from jackdaw.device.base import (
    CAPABILITIES,
    DESCRIPTOR_BYTES,
    FREEZE,
    IRQ_ENABLE,
    RECORD_BYTES,
    SOFT_RESET,
    STATUS_DONE,
    STATUS_EVENT,
    STATUS_FAILED,
    STATUS_IDLE,
    WORD0_IRQ,
    WORD0_STOP,
)
from models.engine import BusError, EngineModel, JobEnd, Link, Memory, RegisterError, beyond
from models.registers import engine_header as header
from models.registers.map import by_offset

HEADER = by_offset(header.REGISTERS)
MODULO = 1 << 32
MAX_SIZE_LOG2 = 12
Error = header.Error


@dataclass
class _Ring:
    base: int = 0
    cpl: int = 0
    size: int = 0
    tail: int = 0
    head: int = 0
    halted: bool = False
    since: int = 0  # clock in which the next descriptor became next
    start: int = 0
    words: np.ndarray | None = None  # descriptor of the running job
    job: Generator[None, None, JobEnd] | None = None

    @property
    def queued(self) -> int:
        return (self.tail - self.head) % MODULO


@dataclass
class _Failure:
    ring: int = 0
    code: int = 0
    job: int = 0
    info: tuple[int, int] = (0, 0)


@dataclass
class EnginePage:
    """An engine with its registers and rings.

    Attributes:
        engine_id, version: words of the header.
        engine: the golden model.
        links: the streams that end or begin here; a soft reset empties them.
        memory: device memory.
        clock: reads the device's clock; `advance` moves it to a clock that is not earlier.
        descriptor_bytes: of a job.
        neighbours: pages at the other ends of the links.
    """

    engine_id: int
    version: int
    engine: EngineModel
    links: Sequence[Link]
    memory: Memory
    clock: Callable[[], int]
    advance: Callable[[int], None]
    descriptor_bytes: int = DESCRIPTOR_BYTES
    neighbours: list[EnginePage] = field(default_factory=list)
    control: int = 0
    flags: int = 0  # done, failed, event of STATUS
    watchdog: int = 0
    jobs_done: int = 0
    jobs_failed: int = 0
    cycles: int = 0
    failure: _Failure = field(default_factory=_Failure)

    def __post_init__(self) -> None:
        self.rings = [_Ring() for _ in range(self.engine.rings)]
        self._poller: Callable[[], None] | None = getattr(self.engine, "poll", None)
        self._stray: list[int] = getattr(self.engine, "stray_errors", [])
        self._has_events = hasattr(self.engine, "events")

    @property
    def irq(self) -> bool:
        """Whether the engine asks for an interrupt."""
        return bool(self.control & IRQ_ENABLE and self.flags)

    @property
    def idle(self) -> bool:
        """HEAD = TAIL in every ring."""
        return not any(ring.queued for ring in self.rings)

    @property
    def at_rest(self) -> bool:
        """Whether the next job runs alone: none is queued, no ring halted, no error to note."""
        for ring in self.rings:  # not all(...): this is asked before every short job
            if ring.head != ring.tail or ring.halted:
                return False
        return not self._stray

    def read(self, offset: int) -> int:
        """Read a register of the page. Raises RegisterError."""
        if offset >= CAPABILITIES:
            return self.engine.read_register(offset)
        register = HEADER.get(offset)
        if register is None or register.access == "WO":
            raise RegisterError
        name = register.name
        if name.startswith("RING_"):
            return self._read_ring(self._ring(offset, register.offset), name)
        values = {
            "ID": self.engine_id,
            "VERSION": self.version,
            "CONTROL": self.control,
            "STATUS": (self.flags | (STATUS_IDLE if self.idle else 0))
            | self.failure.ring << 4
            | self.failure.code << 8
            | self.failure.job << 16,
            "JOBS_DONE": self.jobs_done,
            "JOBS_FAILED": self.jobs_failed,
            "CYCLES_LO": self.cycles % MODULO,
            "CYCLES_HI": self.cycles // MODULO,
            "ERR_INFO0": self.failure.info[0],
            "ERR_INFO1": self.failure.info[1],
            "WATCHDOG": self.watchdog,
        }
        return values.get(name, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register of the page. Raises RegisterError."""
        if offset >= CAPABILITIES:
            self.engine.write_register(offset, value, self.idle)
            return
        register = HEADER.get(offset)
        if register is None or register.access == "RO":
            raise RegisterError
        if register.name == "CONTROL":
            self.control = value & (IRQ_ENABLE | FREEZE)
            if value & SOFT_RESET:
                self._soft_reset()
        elif register.name == "STATUS":
            self.flags &= ~(value & (STATUS_DONE | STATUS_FAILED | STATUS_EVENT))
        elif register.name == "WATCHDOG":
            self.watchdog = value
        else:
            self._write_ring(offset, register.offset, register.name, value)

    def step(self) -> bool:
        """Let every ring go on as far as it can; returns whether anything moved."""
        moved = self._poll()
        for index, ring in enumerate(self.rings):
            if ring.job is None:
                if ring.tail == ring.head or ring.halted:
                    continue
                self._begin(index, ring)
                moved = True
            if ring.job is not None:
                before, events = self._link_words(), self._events()
                try:
                    next(ring.job)
                    moved |= before != self._link_words()
                except StopIteration as ended:
                    self._end(index, ring, ended.value)
                    moved = True
                except BusError as error:
                    code = Error.E_BUS_WR if error.write else Error.E_BUS_RD
                    info = (error.address % MODULO, error.response)
                    self._end(index, ring, JobEnd(code, info0=info[0], info1=info[1]))
                    moved = True
                if self._events() != events:
                    self.flags |= STATUS_EVENT
        return moved

    def ran(self, index: int, cycles: int) -> None:
        """Count a job that ran without its ring, as after its doorbell and one read of HEAD.

        Registers and clock are the same then. Its descriptor and its record are not in memory.

        Args:
            index: of the ring; the page was at rest. The job had the IRQ flag and did not fail.
            cycles: clocks of the job.
        """
        ring = self.rings[index]
        start = self.clock() + 1
        ring.start = ring.since = start
        ring.tail = (ring.tail + 1) % MODULO
        self.advance(start + cycles + 1)
        self.jobs_done = (self.jobs_done + 1) % MODULO
        self._leave(ring, WORD0_IRQ, start + cycles)

    def _poll(self) -> bool:
        """Let an engine that takes words without a job do so; note its errors outside any job."""
        if self._poller is None:
            return False
        before = self._link_words()
        if any(before):
            self._poller()
        if self._stray:
            for code in self._stray:
                self._fail(0, code, 0, (0, 0))
            self._stray.clear()
        return before != self._link_words()

    def _link_words(self) -> list[int]:
        return [len(link.words) for link in self.links]

    def _events(self) -> int:
        """Events of the engine so far; an engine without any has no such counter."""
        return self.engine.events if self._has_events else 0  # type: ignore[attr-defined]

    def _ring(self, offset: int, first: int) -> int:
        index = (offset - first) // header.RING_HEAD.stride
        if index >= len(self.rings):
            raise RegisterError
        return index

    def _read_ring(self, index: int, name: str) -> int:
        ring = self.rings[index]
        match name.removeprefix("RING_"):
            case "HEAD":
                return ring.head
            case "TAIL":
                return ring.tail
            case "SIZE":
                return ring.size
        address = ring.base if name.startswith("RING_BASE") else ring.cpl
        return address % MODULO if name.endswith("_LO") else address // MODULO

    def _write_ring(self, offset: int, first: int, name: str, value: int) -> None:
        index = self._ring(offset, first)
        ring = self.rings[index]
        refusal = 0
        if name == "RING_TAIL":
            queued = (value - ring.head) % MODULO
            if ring.size == 0 or queued > 1 << ring.size or queued < ring.queued:
                refusal = Error.E_RING
            elif beyond(ring.base, self.descriptor_bytes << ring.size) or beyond(
                ring.cpl, RECORD_BYTES << ring.size
            ):
                refusal = Error.E_ADDR
        elif (
            ring.queued
            or (name.endswith("_LO") and value % 4096)
            or (name == "RING_SIZE" and value > MAX_SIZE_LOG2)
        ):
            refusal = Error.E_RING
        elif name.endswith("_HI") and value > 0xFF:
            refusal = Error.E_RESERVED
        if refusal:
            self._fail(index, refusal, ring.head, (value, offset))
            return
        if name == "RING_TAIL":
            if not ring.queued or ring.halted:
                ring.since = self.clock()
            ring.tail, ring.halted = value, False
        elif name == "RING_SIZE":
            ring.size = value
        else:
            attribute = "base" if name.startswith("RING_BASE") else "cpl"
            old = getattr(ring, attribute)
            low, high = old % MODULO, old // MODULO
            low, high = (value, high) if name.endswith("_LO") else (low, value)
            setattr(ring, attribute, high * MODULO + low)

    def _fail(self, ring: int, code: int, job: int, info: tuple[int, int]) -> None:
        """Set STATUS.failed; keep what it was if it was set."""
        if not self.flags & STATUS_FAILED:
            self.failure = _Failure(ring, int(code), job & 0xFFFF, info)
        self.flags |= STATUS_FAILED

    def _begin(self, index: int, ring: _Ring) -> None:
        address = ring.base + (ring.head % (1 << ring.size)) * self.descriptor_bytes
        ring.start = self.clock()
        try:
            ring.words = self.memory.read(address, self.descriptor_bytes).view("<u4")
        except BusError as error:
            ring.words = np.zeros(self.descriptor_bytes // 4, np.uint32)
            end = JobEnd(Error.E_BUS_RD, info0=address % MODULO, info1=error.response)
            self._end(index, ring, end)
            return
        if ring.words[0] & 0xFF:
            ring.job = self.engine.job(index, ring.words, self.memory)
            return
        reserved = bool(ring.words[2:].any() or ring.words[0] & 0x3FFFFF00)
        self._end(index, ring, JobEnd(Error.E_RESERVED if reserved else 0))

    def _end(self, index: int, ring: _Ring, end: JobEnd) -> None:
        assert ring.words is not None
        self.advance(ring.start + end.cycles)
        now, number = self.clock(), ring.head
        word0, tag = ring.words[:2].tolist()
        record = np.array(
            [
                tag,
                int(end.error) | (word0 & 0xFF) << 8 | end.detail << 16,
                end.count,
                number,
                ring.start % MODULO,
                ring.start // MODULO,
                now % MODULO,
                now // MODULO,
            ],
            np.uint32,
        )
        address = ring.cpl + (number % (1 << ring.size)) * RECORD_BYTES
        response = 0
        try:
            self.memory.write(address, record.view(np.uint8))
        except BusError as error:
            response = error.response
        if end.error:
            self.jobs_failed = (self.jobs_failed + 1) % MODULO
            self._fail(index, end.error, number, (end.info0, end.info1))
        else:
            self.jobs_done = (self.jobs_done + 1) % MODULO
            if response:
                self._fail(index, Error.E_BUS_WR, number, (address % MODULO, response))
        self._leave(ring, word0, now)
        ring.halted = bool(end.error and word0 & WORD0_STOP)
        ring.job = None

    def _leave(self, ring: _Ring, word0: int, now: int) -> None:
        """The next descriptor of a ring becomes next; the job before it ended now."""
        if word0 & WORD0_IRQ:
            self.flags |= STATUS_DONE
        self.cycles, ring.since = now - ring.since, now
        ring.head = (ring.head + 1) % MODULO

    def _soft_reset(self) -> None:
        for ring in self.rings:
            if ring.job is not None:
                ring.job.close()
            ring.job, ring.head, ring.halted = None, ring.tail, False
        self.engine.soft_reset()
        for link in self.links:
            link.clear()
        for page in self.neighbours:
            page.engine.link_clear()
