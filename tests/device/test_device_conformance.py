"""What every backend must do alike: the boundary of docs/shell.md, on the echo device."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flow.regression import builds
from jackdaw import errors
from jackdaw.device import base as device_base
from jackdaw.device import open_device, sim
from jackdaw.device.base import IRQ_ENABLE, PAGE_BYTES, STATUS_DONE, STATUS_FAILED, STATUS_IDLE
from jackdaw.drivers import rings
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Ring
from models.registers import directory
from models.registers import engine_header as header
from models.registers.map import by_offset
from tests.device.echo import CONFIG, ECHO, ECHO_ID, HANG

UNKNOWN_OPCODE = 0x7F
NOP = 0
TIMEOUT_S = 30.0
MAX_CYCLES = 20_000
pytestmark = builds(lambda: open_device("sim", CONFIG))


def open_echo_ring(device: Any, page: int = 1, ring: int = 0, slots_log2: int = 3) -> Ring:
    return EngineDriver(device, "echo", page).open_ring(ring, slots_log2)


def echo(clocks: int = 0, error: int = 0, detail: int = 0, info: tuple[int, int] = (0, 0)) -> list:
    return [ECHO, 0xABCD, clocks, error | detail << 16, 0, *info]


def status_of(device: Any, page: int = 1) -> int:
    return device.read32(page * PAGE_BYTES + header.STATUS.offset)


# ---- Directory and registers


def test_directory_tells_the_configuration(device: Any) -> None:
    assert device.read32(directory.MAGIC.offset) == int.from_bytes(b"JDKW", "little")
    assert device.read32(directory.LAYOUT.offset) == 0x00010000
    assert device.read32(directory.BUILD.offset) == CONFIG.build_hash
    assert device.read32(directory.MEM_PORTS.offset) == 2
    assert device.clock_hz == 250_000_000
    assert device.memory_bytes == 1 << 20
    found = [(e.id, e.page, e.version) for e in device.engines()]
    assert found == [("ECHO", 1, (1, 2, 3)), ("ECHO", 2, (1, 2, 3))]
    assert device.read32(directory.ENGINE.at(0)) == ECHO_ID
    assert device.read32(directory.ENGINE.at(2)) == 0


def test_scratch_and_time(device: Any) -> None:
    for value in (0, 0xFFFFFFFF, 0x12345678):
        device.write32(directory.SCRATCH.offset, value)
        assert device.read32(directory.SCRATCH.offset) == value
    before = device.cycles()
    assert device.cycles() > before


def test_unknown_addresses_are_refused_and_change_nothing(device: Any) -> None:
    known = by_offset(directory.REGISTERS)
    refused = [offset for offset in range(0, 0x100, 4) if offset not in known]
    refused += [0x800, 0xFFC, PAGE_BYTES + 0x060, PAGE_BYTES + 0x200, 3 * PAGE_BYTES, 0xFFFFC]
    refused += [PAGE_BYTES + header.RING_TAIL.at(2)]  # a ring that the engine does not have
    for address in refused:
        with pytest.raises(errors.DeviceAccessError, match="SLVERR"):
            device.read32(address)
        with pytest.raises(errors.DeviceAccessError, match="SLVERR"):
            device.write32(address, 1)
    read_only = [directory.MAGIC.offset, directory.BUILD.offset, directory.ENGINE.at(0)]
    read_only += [PAGE_BYTES + register.offset for register in (header.ID, header.JOBS_DONE)]
    for address in read_only:
        before = device.read32(address)
        with pytest.raises(errors.DeviceAccessError, match="write"):
            device.write32(address, ~before & 0xFFFFFFFF)
        assert device.read32(address) == before


def test_reset_values(device: Any) -> None:
    for offset, register in by_offset(header.REGISTERS).items():
        if register.name in ("ID", "VERSION") or offset >= header.RING_BASE_LO.at(2):
            continue
        want = STATUS_IDLE if register.name == "STATUS" else 0
        assert device.read32(PAGE_BYTES + offset) == want, register.name


# ---- Memory


def test_copies_of_odd_sizes_at_odd_offsets(device: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = np.zeros(1 << 14, np.uint8)
    base = device.alloc(image.size)
    for size in (1, 3, 63, 64, 65, 1000, 4097):
        offset = int(rng.integers(image.size - size))
        data = rng.integers(0, 256, size, dtype=np.uint8)
        image[offset : offset + size] = data
        device.write(base + offset, data)
        np.testing.assert_array_equal(device.read(base + offset, size), data)
    np.testing.assert_array_equal(device.read(base, image.size), image)
    floats = rng.standard_normal((3, 5)).astype(np.float32)
    device.write(base + 4, floats)
    np.testing.assert_array_equal(device.read(base + 4, 60).view(np.float32).reshape(3, 5), floats)
    copy = device.read(base, 1)
    copy[:] = ~copy
    assert device.read(base, 1)[0] == image[0]
    with pytest.raises(ValueError, match="C-contiguous"):
        device.write(base, floats.T)
    for address, size in ((device.memory_bytes - 1, 2), (-1, 1), (1 << 40, 1)):
        with pytest.raises(errors.DeviceAccessError):
            device.read(address, size)
        with pytest.raises(errors.DeviceAccessError):
            device.write(address, np.zeros(size, np.uint8))


def test_allocation_until_memory_is_exhausted(device: Any) -> None:
    pieces = []
    with pytest.raises(errors.DeviceMemoryError, match="no room for 65536 bytes"):
        while True:
            pieces.append(device.alloc(65536))
    assert len(pieces) == device.memory_bytes // 65536 - 1
    assert 0 not in pieces and len(set(pieces)) == len(pieces)
    device.free(pieces[3])
    with pytest.raises(errors.DeviceMemoryError, match="freed before"):
        device.free(pieces[3])
    with pytest.raises(errors.DeviceMemoryError):
        device.free(pieces[4] + 64)
    small = [device.alloc(100, align=64) for _ in range(3)]
    assert small == [pieces[3], pieces[3] + 128, pieces[3] + 256]
    for address in small + pieces[:3] + pieces[4:]:
        device.free(address)
    assert device.alloc(device.memory_bytes - 4096) == 4096
    with pytest.raises(errors.DeviceMemoryError, match="power of two"):
        device.alloc(64, align=48)


# ---- Jobs


def test_jobs_end_in_order_with_their_records(device: Any) -> None:
    ring = open_echo_ring(device)
    for turn in range(5):  # 25 jobs through 8 slots
        jobs = ring.submit_all([[ECHO, 16 * turn + i, 10 * i] for i in range(5)])
        jobs[-1].wait(TIMEOUT_S, MAX_CYCLES)
        records = [job.wait(TIMEOUT_S, MAX_CYCLES) for job in jobs]
        assert [record.tag for record in records] == [16 * turn + i for i in range(5)]
        assert [record.number for record in records] == [5 * turn + i for i in range(5)]
        for earlier, later in pairwise(records):
            assert earlier.start < earlier.end <= later.start
    assert device.read32(PAGE_BYTES + header.JOBS_DONE.offset) == 25
    assert status_of(device) & ~STATUS_DONE == STATUS_IDLE
    assert device.read32(PAGE_BYTES + header.CYCLES_LO.offset) >= records[-1].cycles


def test_ring_refuses_more_jobs_than_slots(device: Any) -> None:
    ring = open_echo_ring(device, slots_log2=2)
    with pytest.raises(errors.RingFullError):
        ring.submit_all([[HANG]] * 5)
    ring.submit_all([[HANG]] * 4)
    with pytest.raises(errors.RingFullError):
        ring.submit([NOP])
    assert ring.pending == 4


def test_two_rings_run_side_by_side(device: Any) -> None:
    driver = EngineDriver(device, "echo")
    stuck, free = driver.open_ring(0), driver.open_ring(1)
    stuck.submit([HANG])
    for tag in range(3):
        assert free.submit([ECHO, tag]).wait(TIMEOUT_S, MAX_CYCLES).tag == tag
    assert stuck.pending == 1


def test_wait_returns_the_lowest_page_at_once(device: Any) -> None:
    rings = [open_echo_ring(device, page) for page in (1, 2)]
    rings[1].submit([NOP])
    assert device.wait([1, 2], TIMEOUT_S, MAX_CYCLES) == 2
    rings[0].submit([NOP])
    assert device.wait([1], TIMEOUT_S, MAX_CYCLES) == 1
    assert device.wait([2, 1], TIMEOUT_S, 100) == 1
    assert device.read32(directory.IRQ_PENDING.offset) == 0b11
    device.write32(PAGE_BYTES + header.STATUS.offset, STATUS_DONE)
    assert device.read32(directory.IRQ_PENDING.offset) == 0b10


def test_a_loaded_machine_ends_no_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have the processor for an hour at each look at the clock: nothing to a simulator."""
    loaded = SimpleNamespace(
        monotonic=itertools.count(0, 3600).__next__, process_time=time.process_time
    )
    for module in (device_base, sim, rings):
        monkeypatch.setattr(module, "time", loaded, raising=False)
    with open_device("sim", CONFIG, seed=seed) as device:
        ring = open_echo_ring(device)
        device.write32(PAGE_BYTES + header.WATCHDOG.offset, 3 * sim.CHUNK)
        with pytest.raises(errors.error_class("echo", int(header.Error.E_TIMEOUT))):
            ring.submit([HANG]).wait(TIMEOUT_S)


def test_wait_times_out_with_all_counters(device: Any) -> None:
    ring = open_echo_ring(device)
    job = ring.submit([HANG, 0x77])
    began = device.seconds()
    with pytest.raises(errors.DeviceTimeout, match=r"tag 0x77.*did not end") as caught:
        job.wait(TIMEOUT_S, max_cycles=2000)
    with pytest.raises(errors.DeviceTimeout):
        job.wait(0.05)
    assert device.seconds() - began < TIMEOUT_S
    assert set(caught.value.counters) == {1, 2}
    words = set(caught.value.counters[1])
    assert {"STATUS", "JOBS_DONE", "CYCLES"} <= words
    assert {"BUSY", "RD_BEATS"} <= words if device.measured else not {"BUSY", "RD_BEATS"} & words
    assert not caught.value.counters[1]["STATUS"] & STATUS_IDLE


def test_no_interrupt_while_disabled(device: Any) -> None:
    ring = open_echo_ring(device)
    device.write32(PAGE_BYTES + header.CONTROL.offset, 0)
    ring.submit([NOP])
    with pytest.raises(errors.DeviceTimeout):
        device.wait([1], TIMEOUT_S, 2000)
    assert status_of(device) & STATUS_DONE
    device.write32(PAGE_BYTES + header.CONTROL.offset, IRQ_ENABLE)
    assert device.wait([1], TIMEOUT_S, 100) == 1


def test_waiting_for_a_job_that_cannot_interrupt_is_an_error(device: Any) -> None:
    ring = open_echo_ring(device)
    job = ring.submit([HANG], irq=False)
    with pytest.raises(ValueError, match="no IRQ flag"):
        job.wait(TIMEOUT_S, MAX_CYCLES)


def test_soft_reset_drops_jobs_and_the_ring_goes_on(device: Any) -> None:
    driver = EngineDriver(device, "echo")
    ring = driver.open_ring(0, 2)
    device.write32(PAGE_BYTES + 0x108, 50)  # the engine takes so long to fall quiet
    assert ring.submit([ECHO, 1]).wait(TIMEOUT_S, MAX_CYCLES).number == 0
    dropped = ring.submit_all([[HANG, 2], [ECHO, 3]])
    driver.soft_reset()
    assert status_of(device) & STATUS_IDLE
    for job in dropped:
        with pytest.raises(errors.JobDropped):
            job.wait(TIMEOUT_S, MAX_CYCLES)
    assert ring.submit([ECHO, 4]).wait(TIMEOUT_S, MAX_CYCLES).number == 3
    assert device.read32(PAGE_BYTES + header.JOBS_DONE.offset) == 2
    assert device.read32(PAGE_BYTES + 0x108) == 50


# ---- Errors


def test_engine_error_has_its_name_and_context(device: Any) -> None:
    ring = open_echo_ring(device)
    job = ring.submit(echo(clocks=3, error=9, detail=0x123, info=(0xA, 0xB)))
    with pytest.raises(errors.JobError) as caught:
        job.wait(TIMEOUT_S, MAX_CYCLES)
    error = caught.value
    assert (error.engine, error.code, error.code_name) == ("echo", 9, "E_CODE9")
    assert (error.page, error.ring, error.number, error.tag) == (1, 0, 0, 0xABCD)
    assert (error.opcode, error.detail, error.info) == (ECHO, 0x123, (0xA, 0xB))
    assert ring.submit(echo()).wait(TIMEOUT_S, MAX_CYCLES).error == 0
    assert device.read32(PAGE_BYTES + header.JOBS_FAILED.offset) == 1


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([UNKNOWN_OPCODE, 1], "E_OPCODE"),
        ([ECHO, 1, 0, 0, 0, 0, 0, 1], "E_RESERVED"),
        ([NOP, 1, 1], "E_RESERVED"),
        ([NOP | 1 << 8, 1], "E_RESERVED"),
    ],
)
def test_bad_descriptor(device: Any, words: list[int], name: str) -> None:
    ring = open_echo_ring(device)
    bad, good = ring.submit_all([words, [NOP, 2]])
    with pytest.raises(errors.JobError) as caught:
        bad.wait(TIMEOUT_S, MAX_CYCLES)
    assert caught.value.code_name == name and caught.value.number == 0
    assert good.wait(TIMEOUT_S, MAX_CYCLES).tag == 2


@pytest.mark.parametrize("error", list(header.Error))
def test_common_errors_are_named(device: Any, error: header.Error) -> None:
    ring = open_echo_ring(device)
    with pytest.raises(errors.error_class("echo", int(error))) as caught:
        ring.submit(echo(error=int(error))).wait(TIMEOUT_S, MAX_CYCLES)
    assert caught.value.code_name == error.name
    assert type(caught.value).__name__ == errors.class_name("echo", error.name)


def test_watchdog_ends_a_job_without_progress(seed: int) -> None:
    with open_device("sim", CONFIG, seed=seed) as device:  # the model has no clock to run out
        ring = open_echo_ring(device)
        device.write32(PAGE_BYTES + header.WATCHDOG.offset, 500)
        job = ring.submit([HANG, 3])
        with pytest.raises(errors.JobError, match="E_TIMEOUT"):
            job.wait(TIMEOUT_S, MAX_CYCLES)
        assert job.record and 500 <= job.record.cycles < 600


def test_a_memory_that_never_answers(seed: int) -> None:
    """A named error: of the engine's watchdog, or if that is patient of the wait's own limit."""
    never = sim.MemoryTiming(latency=1 << 30)
    with open_device("sim", CONFIG, seed=seed, memory=never) as device:
        ring = open_echo_ring(device)
        with pytest.raises(errors.DeviceTimeout, match="did not end"):
            ring.submit([ECHO, 1]).wait(TIMEOUT_S, max_cycles=2000)
        device.write32(PAGE_BYTES + header.WATCHDOG.offset, 500)
        for _ in range(2):  # it is told again
            with pytest.raises(errors.error_class("echo", int(header.Error.E_TIMEOUT))) as caught:
                ring.submit([ECHO, 2]).wait(TIMEOUT_S, max_cycles=2000)
        assert "no progress" in str(caught.value)


def test_stop_halts_the_ring_until_the_doorbell(device: Any) -> None:
    ring = open_echo_ring(device)
    bad, behind = ring.submit_all([[UNKNOWN_OPCODE], [ECHO, 5]], stop=True)
    with pytest.raises(errors.JobError):
        bad.wait(TIMEOUT_S, MAX_CYCLES)
    with pytest.raises(errors.RingHaltedError):
        behind.wait(TIMEOUT_S, MAX_CYCLES)
    with pytest.raises(errors.DeviceTimeout):
        device.wait([1], TIMEOUT_S, 2000)
    assert device.read32(PAGE_BYTES + header.RING_HEAD.at(0)) == 1
    ring.resume()
    assert behind.wait(TIMEOUT_S, MAX_CYCLES).tag == 5


@pytest.mark.parametrize("response", [2, 3])
def test_bus_error_of_a_descriptor(device: Any, response: int) -> None:
    ring = open_echo_ring(device)
    slot = ring._base + 64
    device.inject(slot, 64, response, direction=1)
    good, bad = ring.submit_all([[ECHO, 1], [ECHO, 2]])
    with pytest.raises(errors.JobError) as caught:
        bad.wait(TIMEOUT_S, MAX_CYCLES)
    error = caught.value
    assert (error.code_name, error.info) == ("E_BUS_RD", (slot, response))
    assert bad.record and (bad.record.tag, bad.record.opcode) == (0, 0)
    assert good.wait(TIMEOUT_S, MAX_CYCLES).tag == 1
    device.clear_faults()
    assert ring.submit([ECHO, 3]).wait(TIMEOUT_S, MAX_CYCLES).number == 2


@pytest.mark.parametrize("lap", [0, 1])
def test_bus_error_of_a_record_is_told_by_status(device: Any, lap: int) -> None:
    ring = open_echo_ring(device, slots_log2=1)
    for _ in range(2 * lap):  # leaves an old record in the slot
        ring.submit([ECHO, 9]).wait(TIMEOUT_S, MAX_CYCLES)
    device.inject(ring._records, 32, 2, direction=2)
    job = ring.submit([ECHO, 1])
    with pytest.raises(errors.JobError) as caught:
        job.wait(TIMEOUT_S, MAX_CYCLES)
    assert (caught.value.code_name, caught.value.info) == ("E_BUS_WR", (ring._records, 2))
    assert job.record is None
    device.clear_faults()
    assert ring.submit([ECHO, 2]).wait(TIMEOUT_S, MAX_CYCLES).number == 2 * lap + 1


@pytest.mark.parametrize(
    ("register", "value", "busy", "name"),
    [
        (header.RING_TAIL, 10, False, "E_RING"),  # more than 8 slots ahead
        (header.RING_TAIL, 0xFFFFFFFF, False, "E_RING"),  # backwards
        (header.RING_BASE_LO, 0x1040, False, "E_RING"),
        (header.RING_CPL_LO, 0x1020, False, "E_RING"),
        (header.RING_SIZE, 13, False, "E_RING"),
        (header.RING_BASE_HI, 0x100, False, "E_RESERVED"),
        (header.RING_TAIL, 0, True, "E_RING"),
        (header.RING_BASE_LO, 0x3000, True, "E_RING"),
        (header.RING_CPL_HI, 0, True, "E_RING"),
        (header.RING_SIZE, 4, True, "E_RING"),
    ],
)
def test_ring_rules(device: Any, register: Any, value: int, busy: bool, name: str) -> None:
    ring = open_echo_ring(device)
    job = ring.submit([HANG if busy else NOP])
    if not busy:
        job.wait(TIMEOUT_S, MAX_CYCLES)
    before = device.read32(PAGE_BYTES + register.at(0))
    device.write32(PAGE_BYTES + register.at(0), value)
    assert device.read32(PAGE_BYTES + register.at(0)) == before
    status = status_of(device)
    assert status & STATUS_FAILED and status >> 8 & 0xFF == header.Error[name]
    assert device.read32(PAGE_BYTES + header.ERR_INFO0.offset) == value
    if busy:
        with pytest.raises(errors.JobError, match=name):
            job.wait(TIMEOUT_S, MAX_CYCLES)
    else:
        device.write32(PAGE_BYTES + header.STATUS.offset, STATUS_FAILED)
        assert ring.submit([ECHO, 6]).wait(TIMEOUT_S, MAX_CYCLES).tag == 6


def test_doorbell_of_a_ring_that_is_off(device: Any) -> None:
    device.write32(PAGE_BYTES + header.RING_TAIL.at(0), 1)
    assert status_of(device) >> 8 & 0xFF == header.Error.E_RING
    assert device.read32(PAGE_BYTES + header.RING_TAIL.at(0)) == 0


# ---- Life of a device


def test_use_after_close(opener: Callable[[], Any]) -> None:
    device = opener()
    with device:
        address = device.alloc(64)
    device.close()
    for use in (
        lambda: device.read32(0),
        lambda: device.write32(directory.SCRATCH.offset, 0),
        lambda: device.alloc(1),
        lambda: device.free(address),
        lambda: device.read(0, 1),
        lambda: device.write(0, np.zeros(1, np.uint8)),
        lambda: device.wait([1], 1.0),
        lambda: device.cycles(),
        lambda: device.engines(),
        lambda: device.inject(0, 1),
        *([lambda: device.clock] if hasattr(type(device), "clock") else []),
    ):
        with pytest.raises(errors.DeviceClosedError, match="closed"):
            use()


def test_two_devices_in_one_process(opener: Callable[[], Any]) -> None:
    first, second = opener(), opener()
    first.write32(directory.SCRATCH.offset, 1)
    second.write32(directory.SCRATCH.offset, 2)
    rings = [open_echo_ring(first), open_echo_ring(second)]
    address = first.alloc(64)
    assert second.alloc(64) == address
    first.write(address, np.full(64, 1, np.uint8))
    second.write(address, np.full(64, 2, np.uint8))
    jobs = [ring.submit([ECHO, tag, 20]) for tag, ring in enumerate(rings)]
    assert [job.wait(TIMEOUT_S, MAX_CYCLES).tag for job in jobs] == [0, 1]
    first.close()
    assert second.read32(directory.SCRATCH.offset) == 2
    assert second.read(address, 1)[0] == 2
    assert rings[1].submit([ECHO, 9]).wait(TIMEOUT_S, MAX_CYCLES).tag == 9
