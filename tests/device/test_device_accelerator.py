"""The accelerator itself on every backend: directory, capabilities, rings of its engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jackdaw import errors
from jackdaw.device import load_config, open_device
from jackdaw.device.base import CAPABILITIES, PAGE_BYTES, STATUS_IDLE
from jackdaw.drivers.base import EngineDriver
from models.registers import directory, learner, replay
from models.registers import engine_header as header
from models.registers.map import Register

CONFIG = "small"
BACKENDS = ("sim", "model")
RINGS = [("replay", 0), ("replay", 1), ("learner", 0)]
MAPS: dict[str, tuple[Register, ...]] = {
    "replay": replay.REGISTERS,
    "learner": learner.REGISTERS,
}
TIMEOUT_S, MAX_CYCLES = 60.0, 50_000
UNKNOWN_OPCODE = 0x7F


@pytest.fixture(params=BACKENDS)
def device(request: pytest.FixtureRequest, seed: int) -> Iterator[Any]:
    """The small configuration on one backend."""
    with open_device(request.param, CONFIG, seed=seed) as opened:
        yield opened


def words_after_reset(device: Any) -> dict[str, int]:
    """Every readable word of the directory and of the engines' own registers, TIME excepted."""
    words = {}
    for register in directory.REGISTERS:
        if not register.name.startswith("TIME"):
            words[register.name] = device.read32(register.offset)
    for engine in device.engines():
        for register in MAPS[engine.name]:
            for index in range(register.count):
                if register.access != "WO":
                    at = engine.page * PAGE_BYTES + register.at(index)
                    words[f"{engine.name} {register.name}[{index}]"] = device.read32(at)
    return words


def test_backends_report_the_same_directory_and_capabilities(seed: int) -> None:
    found = {}
    for backend in BACKENDS:
        with open_device(backend, CONFIG, seed=seed) as device:
            found[backend] = (device.engines(), words_after_reset(device))
    assert found["sim"] == found["model"]
    engines, words = found["sim"]
    assert [engine.name for engine in engines] == ["replay", "learner"]
    assert words["BUILD"] == load_config(CONFIG).build_hash


def test_own_registers_keep_what_is_written(device: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for engine in device.engines():
        for register in MAPS[engine.name]:
            if register.access != "RW" or register.name in ("CNT", "WP", "RESV", "PMAX", "CFG_N"):
                continue
            for index in range(register.count):
                at = engine.page * PAGE_BYTES + register.at(index)
                value = int(rng.integers(1 << 32)) & register.write_mask
                device.write32(at, value)
                assert device.read32(at) == value, register.name


def test_unknown_words_of_the_engines_are_refused(device: Any) -> None:
    for engine in device.engines():
        known = {r.at(i) for r in MAPS[engine.name] for i in range(r.count)}
        for offset in range(CAPABILITIES, 0x240, 4):
            if offset not in known:
                with pytest.raises(errors.DeviceAccessError):
                    device.read32(engine.page * PAGE_BYTES + offset)
        with pytest.raises(errors.DeviceAccessError):
            device.write32(engine.page * PAGE_BYTES + CAPABILITIES, 0)


@pytest.mark.parametrize(("name", "ring"), RINGS)
def test_rings_take_jobs_and_name_errors(device: Any, name: str, ring: int) -> None:
    driver = EngineDriver(device, name)
    jobs = driver.open_ring(ring, 2)
    for tag in range(6):
        record = jobs.submit([0, tag]).wait(TIMEOUT_S, MAX_CYCLES)
        assert (record.tag, record.number, record.error) == (tag, tag, 0)
    unknown = jobs.submit([UNKNOWN_OPCODE, 1])
    with pytest.raises(errors.error_class(name, int(header.Error.E_OPCODE))) as caught:
        unknown.wait(TIMEOUT_S, MAX_CYCLES)
    assert caught.value.number == 6
    reserved = jobs.submit([0, 1, 5])
    with pytest.raises(errors.error_class(name, int(header.Error.E_RESERVED))):
        reserved.wait(TIMEOUT_S, MAX_CYCLES)
    driver.soft_reset()
    assert driver.read(header.STATUS.offset) & STATUS_IDLE
    assert jobs.submit([0, 9]).wait(TIMEOUT_S, MAX_CYCLES).tag == 9


@pytest.mark.parametrize(("name", "ring"), RINGS)
def test_bus_errors_of_descriptors(device: Any, name: str, ring: int) -> None:
    driver = EngineDriver(device, name)
    jobs = driver.open_ring(ring, 2)
    device.inject(jobs._base, 64, 3, direction=1)
    job = jobs.submit([0, 1])
    with pytest.raises(errors.error_class(name, int(header.Error.E_BUS_RD))):
        job.wait(TIMEOUT_S, MAX_CYCLES)
    device.clear_faults()
    assert jobs.submit([0, 2]).wait(TIMEOUT_S, MAX_CYCLES).tag == 2


def test_engines_run_side_by_side(device: Any) -> None:
    rings = [EngineDriver(device, name).open_ring(ring, 3) for name, ring in RINGS[1:]]
    jobs = [ring.submit_all([[0, tag] for tag in range(8)]) for ring in rings]
    for queued in jobs:
        queued[-1].wait(TIMEOUT_S, MAX_CYCLES)
        assert all(job.record and job.record.error == 0 for job in queued)
