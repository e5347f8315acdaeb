"""The host side of a ring: descriptors in, completion records out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jackdaw.device.base import (
    PAGE_BYTES,
    RECORD_BYTES,
    STATUS_DONE,
    STATUS_EVENT,
    STATUS_FAILED,
    WORD0_IRQ,
    WORD0_STOP,
    Device,
    EngineInfo,
)
from jackdaw.errors import (
    DeviceClosedError,
    DeviceMemoryError,
    DeviceTimeout,
    JobDropped,
    JobError,
    RingFullError,
    RingHaltedError,
    error_class,
)
from models.registers import engine_header as header

if TYPE_CHECKING:
    from jackdaw.device.page import EnginePage

MODULO = 1 << 32


@dataclass(slots=True)
class Record:
    """A completion record.

    Attributes:
        tag: word 1 of the descriptor.
        error: 0 ok, else the engine's error code.
        opcode: of the descriptor (0 if it could not be read).
        detail: 16 bits, engine defined.
        count: operations or steps done.
        number: the job's number in its ring.
        start, end: TIME (clocks) of the descriptor's acceptance and of the last write response.
    """

    tag: int
    error: int
    opcode: int
    detail: int
    count: int
    number: int
    start: int
    end: int

    @classmethod
    def decode(cls, raw: np.ndarray) -> Record:
        """Decode the 32 bytes (uint8) of a record."""
        tag, what, count, number, low, high, low_end, high_end = raw.view("<u4").tolist()
        start, end = low | high << 32, low_end | high_end << 32
        return cls(tag, what & 0xFF, what >> 8 & 0xFF, what >> 16, count, number, start, end)

    @property
    def cycles(self) -> int:
        """Clocks from start to end."""
        return self.end - self.start


class Job:
    """One queued job; `wait` for its record.

    Attributes:
        number: its number in the ring, modulo 2**32.
        opcode, tag: from the descriptor.
        stop, irq: flags of the descriptor.
        record: its completion record once it has ended.
        error: what it ended with, None while it runs or when it was ok.
    """

    def __init__(self, ring: Ring, number: int, word0: int, tag: int) -> None:
        self.ring, self.number, self.tag = ring, number, tag
        self.opcode = word0 & 0xFF
        self.stop, self.irq = bool(word0 & WORD0_STOP), bool(word0 & WORD0_IRQ)
        self.record: Record | None = None
        self.error: Exception | None = None

    @property
    def ended(self) -> bool:
        """Whether the record was collected, or the job was dropped; does not ask the device."""
        return self.record is not None or self.error is not None

    def poll(self) -> bool:
        """Ask the device, and tell whether the job has ended."""
        if not self.ended:
            self.ring.collect()
        return self.ended

    def wait(self, timeout_s: float = 60.0, max_cycles: int | None = None) -> Record:
        """Wait for the job's end.

        Args:
            timeout_s: wall-clock limit, seconds.
            max_cycles: limit in clocks of each wait for an interrupt.
        Returns: the completion record.
        Raises: the engine's named JobError if it failed, JobDropped if it will never run,
            DeviceTimeout with all counters.
        """
        return self.ring.wait(self, timeout_s, max_cycles)


class Ring:
    """A ring of an engine: allocates descriptors and records, queues jobs, collects records.

    Attributes:
        engine: the engine.
        number: which of its rings, 0..3.
        slots: number of slots.
    """

    def __init__(
        self, device: Device, engine: EngineInfo, number: int = 0, slots_log2: int = 6
    ) -> None:
        """Allocate and switch on. The ring must be empty (after a reset, or all jobs ended).

        Raises: DeviceMemoryError, DeviceAccessError.
        """
        if not 1 <= slots_log2 <= 12:
            raise ValueError(f"slots_log2 {slots_log2}: want 1..12")
        self.device, self.engine, self.number = device, engine, number
        self.slots = 1 << slots_log2
        self._page = engine.page * PAGE_BYTES
        self._head = self._page + header.RING_HEAD.at(number)
        self._doorbell = self._page + header.RING_TAIL.at(number)
        self._bytes = engine.descriptor_bytes
        self._base = device.alloc(self.slots * self._bytes)
        try:
            self._records = device.alloc(self.slots * RECORD_BYTES)
        except DeviceMemoryError:
            device.free(self._base)
            raise
        device.write(self._records, np.full(self.slots * RECORD_BYTES, 0xFF, np.uint8))
        for register, value in (
            (header.RING_BASE_LO, self._base & 0xFFFFFFFF),
            (header.RING_BASE_HI, self._base >> 32),
            (header.RING_CPL_LO, self._records & 0xFFFFFFFF),
            (header.RING_CPL_HI, self._records >> 32),
            (header.RING_SIZE, slots_log2),
        ):
            device.write32(self._page + register.at(number), value)
        self._tail = device.read32(self._head)
        self._open: deque[Job] = deque()
        self._failed: deque[int] = deque(maxlen=64)  # numbers modulo 2**16, for STATUS
        self._halted_by: Job | None = None
        self._failure = (0, (0, 0))  # STATUS and ERR_INFO of the last failure read
        self._closed = False

    def close(self) -> None:
        """Give its memory back; no job may be queued. Any later job raises DeviceClosedError."""
        if not self._closed:
            self._closed = True
            self.device.free(self._base)
            self.device.free(self._records)

    @property
    def pending(self) -> int:
        """Jobs queued whose records were not collected."""
        return len(self._open)

    def submit(
        self,
        descriptor: np.ndarray | Sequence[int],
        *,
        stop: bool = False,
        irq: bool = True,
    ) -> Job:
        """Queue one job.

        Args:
            descriptor: [16] uint32 or fewer words (the rest is 0), [32] of engines with longer
                ones; word 1 is the tag.
            stop: halt the ring if the job fails.
            irq: interrupt when it ends. A failing job always interrupts.
        Returns: the job.
        Raises: RingFullError.
        """
        return self.submit_all([descriptor], stop=stop, irq=irq)[0]

    def submit_all(
        self,
        descriptors: Sequence[np.ndarray | Sequence[int]],
        *,
        stop: bool = False,
        irq: bool = True,
    ) -> list[Job]:
        """Queue several jobs with one doorbell; only the last one has the IRQ flag, if any has."""
        if self._closed:
            raise DeviceClosedError(f"{self.engine.name} ring {self.number}: its driver is closed")
        if len(self._open) + len(descriptors) > self.slots:
            self.collect()
        if len(self._open) + len(descriptors) > self.slots:
            raise RingFullError(
                f"{self.engine.name} ring {self.number}: {len(descriptors)} jobs for "
                f"{self.slots} slots of which {len(self._open)} are in use"
            )
        jobs = []
        size, last = self._bytes // 4, len(descriptors) - 1
        for index, given in enumerate(descriptors):
            words = [*(given.tolist() if isinstance(given, np.ndarray) else given)]
            words += [0] * (size - len(words))
            words[0] |= (WORD0_STOP if stop else 0) | (WORD0_IRQ if irq and index == last else 0)
            number = (self._tail + index) % MODULO
            image = np.array(words, np.uint32)
            self.device.write(self._base + number % self.slots * self._bytes, image)
            jobs.append(Job(self, number, words[0], words[1]))
        self._open.extend(jobs)
        self._halted_by = None
        self._tail = (self._tail + len(jobs)) % MODULO
        self.device.write32(self._doorbell, self._tail)
        return jobs

    def at_rest(self) -> EnginePage | None:
        """The engine's golden model, if a job that is queued here now runs alone and at once.

        The caller may run the job on the golden model instead, and tell it by `ran`.
        """
        page: EnginePage | None = self.device.at_rest(self.engine.page)
        if page is None or self._open or self._closed:
            return None
        ring = page.rings[self.number]
        mine = ring.head == self._tail and 1 << ring.size == self.slots
        return page if mine and (ring.base, ring.cpl) == (self._base, self._records) else None

    def ran(self, page: EnginePage, cycles: int) -> None:
        """A job of this ring has run on the golden model: see `EnginePage.ran`."""
        page.ran(self.number, cycles)
        self._tail = (self._tail + 1) % MODULO

    def resume(self) -> None:
        """Go on after a job with the STOP flag that failed."""
        self._halted_by = None
        self.device.write32(self._doorbell, self._tail)

    def collect(self) -> None:
        """Read HEAD and the records of all jobs that ended since.

        A job keeps its slot until HEAD passes it, also where it may end before those before it.
        """
        head, queue = self.device.read32(self._head), self._open
        while queue and (head - queue[0].number - 1) % MODULO < MODULO // 2:
            self._end(queue.popleft(), passed=True)
        if self.engine.unordered:
            for job in queue:
                self._end(job, passed=False)

    def _end(self, job: Job, passed: bool) -> None:
        """Read a job's record; without one the job runs, or failed if HEAD passed it."""
        if job.ended:
            return
        address = self._records + job.number % self.slots * RECORD_BYTES
        record = Record.decode(self.device.read(address, RECORD_BYTES))
        if record.number == job.number:
            job.record = record
        elif not passed:
            return
        if record.number != job.number or record.error:
            job.error = self._job_error(job)
            self._failed.append(job.number & 0xFFFF)
            if job.stop:
                self._halted_by = job

    def wait(self, job: Job, timeout_s: float = 60.0, max_cycles: int | None = None) -> Record:
        """Wait for a job's end; see Job.wait."""
        if not job.poll():
            for _ in self._interrupts(job, timeout_s, max_cycles):
                pass
        if job.error is not None:
            raise job.error
        assert job.record is not None
        return job.record

    def wait_event(self, job: Job, timeout_s: float = 60.0, max_cycles: int | None = None) -> None:
        """Wait until the engine sets EVENT, or the job has ended; arguments and errors as Job.wait.

        EVENT is clear afterwards. Clear it before the job is queued (`clear_event`).
        """
        for flags in self._interrupts(job, timeout_s, max_cycles):
            if flags & STATUS_EVENT:
                return
        self.clear_event()
        if job.error is not None:
            raise job.error

    def clear_event(self) -> None:
        """Clear EVENT, so that the next one is a later job's."""
        self.device.write32(self._page + header.STATUS.offset, STATUS_EVENT)

    def _interrupts(self, job: Job, timeout_s: float, max_cycles: int | None) -> Iterator[int]:
        """Wait for interrupts until a job has ended; yields the flags of STATUS after each."""
        deadline = self.device.seconds() + timeout_s
        while not job.poll():
            if self._halted_by is not None:
                raise RingHaltedError(
                    f"{self._name(job)} waits after job {self._halted_by.number}, which failed "
                    "and has the STOP flag"
                )
            if not any(j.irq for j in self._open if (j.number - job.number) % MODULO < self.slots):
                raise ValueError(f"{self._name(job)} and those after it have no IRQ flag")
            left = max(deadline - self.device.seconds(), 0.0)
            try:
                self.device.wait([self.engine.page], left, max_cycles)
            except DeviceTimeout as error:
                message = f"{self._name(job)} did not end: {error.reason}"
                raise DeviceTimeout(message, error.counters) from None
            yield self._acknowledge()

    def after_reset(self) -> None:
        """Forget the jobs that a soft reset of the engine dropped."""
        for job in self._open:
            job.error = JobDropped(f"{self._name(job)} was dropped by a soft reset")
        self._open.clear()
        self._halted_by = None
        self._tail = self.device.read32(self._head)

    def _name(self, job: Job) -> str:
        where = f"{self.engine.name} ring {self.number} job {job.number}"
        return f"{where} (opcode {job.opcode}, tag {job.tag:#x})"

    def _acknowledge(self) -> int:
        """Clear the interrupt, then collect; raise a failure of the ring that no record tells.

        Returns: the flags of STATUS that were cleared.
        """
        status = self._clear_status()
        self.collect()
        mine = status & STATUS_FAILED and status >> 4 & 3 == self.number
        if mine and status >> 16 not in self._failed:
            code = status >> 8 & 0xFF
            error = error_class(self.engine.name, code)
            raise error(self.engine.page, self.number, info=self._failure[1])
        return status & (STATUS_DONE | STATUS_FAILED | STATUS_EVENT)

    def _clear_status(self) -> int:
        """Read STATUS, keep what it says of a failure, and clear it."""
        read = self.device.read32
        status = read(self._page + header.STATUS.offset)
        if status & STATUS_FAILED:
            info0 = read(self._page + header.ERR_INFO0.offset)
            self._failure = status, (info0, read(self._page + header.ERR_INFO1.offset))
        flags = status & (STATUS_DONE | STATUS_FAILED | STATUS_EVENT)
        if flags:
            self.device.write32(self._page + header.STATUS.offset, flags)
        return status

    def _job_error(self, job: Job) -> JobError:
        """The named error of a job: from its record, or from STATUS if the record is missing."""
        if not self._tells_of(job):
            self._clear_status()
        status, info = self._failure
        told = self._tells_of(job)
        detail, count = 0, 0
        if job.record is not None:
            code, detail, count = job.record.error, job.record.detail, job.record.count
        else:
            code = status >> 8 & 0xFF if told else int(header.Error.E_BUS_WR)
        return error_class(self.engine.name, code)(
            self.engine.page,
            self.number,
            number=job.number,
            tag=job.tag,
            opcode=job.opcode,
            detail=detail,
            count=count,
            info=info if told else (0, 0),
        )

    def _tells_of(self, job: Job) -> bool:
        """Whether the last failure that was read from STATUS is this job's."""
        status = self._failure[0]
        mine = bool(status & STATUS_FAILED) and status >> 4 & 3 == self.number
        return mine and status >> 16 == job.number & 0xFFFF
