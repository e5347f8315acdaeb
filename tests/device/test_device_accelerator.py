"""The accelerator itself on every backend: directory, capabilities, rings of its engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flow.manifest import engine, engines
from flow.regression import builds, regress
from jackdaw import errors
from jackdaw.device import load_config, open_device
from jackdaw.device.base import CAPABILITIES, PAGE_BYTES, STATUS_IDLE, EngineInfo
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Ring
from models.registers import directory, replay
from models.registers import engine_header as header
from models.registers.map import Register

CONFIG = "small"
CONFIGS = [CONFIG, "all", regress("learners")]
BACKENDS = ("sim", "model")
MAPS: dict[str, tuple[Register, ...]] = {
    name: manifest.module().REGISTERS for name, manifest in engines().items()
}
TIMEOUT_S, MAX_CYCLES = 60.0, 50_000
UNKNOWN_OPCODE = 0x7F
CLEAR, SAMPLE, RETRIEVE, INSERT = 1, 2, 3, 6  # replay
PROGRAM, TRAIN = 3, 4  # learner
FLAG_MEMORY, FLAG_WEIGHTS = 0x10 << 8, 0x80 << 8
pytestmark = builds(
    lambda name: open_device("sim", name),
    lambda device: open_device(device, CONFIG),
    lambda backend, every: open_device(backend, every),
)


@pytest.fixture(params=BACKENDS)
def device(request: pytest.FixtureRequest, seed: int) -> Iterator[Any]:
    """The small configuration on one backend."""
    with open_device(request.param, CONFIG, seed=seed) as opened:
        yield opened


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Name of a backend."""
    return str(request.param)


@pytest.fixture(params=CONFIGS)
def every(request: pytest.FixtureRequest, backend: str, seed: int) -> Iterator[Any]:
    """Each configuration on one backend."""
    with open_device(backend, request.param, seed=seed) as opened:
        yield opened


def rings(device: Any) -> Iterator[tuple[EngineInfo, EngineDriver, Ring]]:
    """Every ring of every engine, opened."""
    for info in device.engines():
        driver = EngineDriver(device, info.name, info.instance)
        for ring in range(engine(info.name).rings):
            yield info, driver, driver.open_ring(ring, 2)


def words_after_reset(device: Any) -> dict[str, int]:
    """Every readable word of the directory and of the engines' own registers, TIME excepted."""
    words = {}
    for register in directory.REGISTERS:
        if not register.name.startswith("TIME"):
            words[register.name] = device.read32(register.offset)
    for info in device.engines():
        for register in MAPS[info.name]:
            for index in range(register.count):
                if register.access != "WO":
                    at = info.page * PAGE_BYTES + register.at(index)
                    words[f"{info.instance} {register.name}[{index}]"] = device.read32(at)
    return words


@pytest.mark.parametrize("name", CONFIGS)
def test_backends_report_the_same_directory_and_capabilities(name: str, seed: int) -> None:
    found = {}
    for backend in BACKENDS:
        with open_device(backend, name, seed=seed) as device:
            found[backend] = (device.engines(), words_after_reset(device))
    assert found["sim"] == found["model"]
    infos, words = found["sim"]
    config = load_config(name)
    assert [(info.instance, info.name, info.page) for info in infos] == [
        (instance.name, instance.engine.name, instance.page) for instance in config.instances
    ]
    assert words["BUILD"] == config.build_hash


STATES = ("CNT", "WP", "RESV", "PMAX", "CFG_N", "CU_ROLE")  # take only what is legal


def test_own_registers_keep_what_is_written(every: Any, seed: int) -> None:
    rng, device = np.random.default_rng(seed), every
    for info in device.engines():
        for register in MAPS[info.name]:
            if register.access != "RW" or register.name in STATES:
                continue
            for index in range(register.count):
                at = info.page * PAGE_BYTES + register.at(index)
                value = int(rng.integers(1 << 32)) & register.write_mask
                device.write32(at, value)
                assert device.read32(at) == value, register.name


def test_unknown_words_of_the_engines_are_refused(every: Any) -> None:
    device = every
    for info in device.engines():
        known = {r.at(i) for r in MAPS[info.name] for i in range(r.count)}
        for offset in range(CAPABILITIES, 0x240, 4):
            if offset not in known:
                with pytest.raises(errors.DeviceAccessError):
                    device.read32(info.page * PAGE_BYTES + offset)
        with pytest.raises(errors.DeviceAccessError):
            device.write32(info.page * PAGE_BYTES + CAPABILITIES, 0)


def test_rings_take_jobs_and_name_errors(every: Any) -> None:
    for info, driver, jobs in rings(every):
        for tag in range(6):
            record = jobs.submit([0, tag]).wait(TIMEOUT_S, MAX_CYCLES)
            assert (record.tag, record.number, record.error) == (tag, tag, 0)
        unknown = jobs.submit([UNKNOWN_OPCODE, 1])
        with pytest.raises(errors.error_class(info.name, int(header.Error.E_OPCODE))) as caught:
            unknown.wait(TIMEOUT_S, MAX_CYCLES)
        assert caught.value.number == 6
        reserved = jobs.submit([0, 1, 5])
        with pytest.raises(errors.error_class(info.name, int(header.Error.E_RESERVED))):
            reserved.wait(TIMEOUT_S, MAX_CYCLES)
        driver.soft_reset()
        assert driver.read(header.STATUS.offset) & STATUS_IDLE
        assert jobs.submit([0, 9]).wait(TIMEOUT_S, MAX_CYCLES).tag == 9


def test_bus_errors_of_descriptors(every: Any) -> None:
    for info, _, jobs in rings(every):
        every.inject(jobs._base, 64, 3, direction=1)
        job = jobs.submit([0, 1])
        with pytest.raises(errors.error_class(info.name, int(header.Error.E_BUS_RD))):
            job.wait(TIMEOUT_S, MAX_CYCLES)
        every.clear_faults()
        assert jobs.submit([0, 2]).wait(TIMEOUT_S, MAX_CYCLES).tag == 2


def replay_rings(device: Any, leaves: int = 100) -> tuple[Ring, Ring]:
    """The sampling ring and the host ring of a replay engine with a cleared tree."""
    driver = EngineDriver(device, "replay")
    driver.write(replay.CFG_N.offset, leaves)
    sampling, host = driver.open_ring(0, 3), driver.open_ring(1, 3)
    host.submit([CLEAR]).wait(TIMEOUT_S, MAX_CYCLES)
    return sampling, host


@builds(lambda: open_device("sim", CONFIG))
def test_replay_jobs_give_the_same_bytes(seed: int) -> None:
    found = {}
    for backend in BACKENDS:
        rng = np.random.default_rng(seed)
        with open_device(backend, CONFIG, seed=seed) as device:
            sampling, host = replay_rings(device)
            pairs = np.stack([np.zeros(60), rng.integers(1, 1 << 20, 60)], 1).astype(np.uint32)
            items, results = device.alloc(pairs.nbytes), device.alloc(4096)
            device.write(items, pairs)
            host.submit([INSERT, 1, 60, 0, items]).wait(TIMEOUT_S, MAX_CYCLES)
            to_memory = FLAG_MEMORY | FLAG_WEIGHTS
            job = sampling.submit([SAMPLE | to_memory, 2, 16, 0, 0, 0, results])
            assert job.wait(TIMEOUT_S, MAX_CYCLES).count == 16
            found[backend] = device.read(results, 256)
    np.testing.assert_array_equal(found["sim"], found["model"])


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"source": 4}, errors.ReplayAlignError),
        ({"source": 1 << 20}, errors.ReplayBusRdError),
        ({"count": 0}, errors.ReplayCountError),
        ({"first": 1000}, errors.ReplayIndexError),
        ({"reject": 2}, errors.ReplayBusWrError),
    ],
)
def test_replay_errors_leave_the_engine_usable(
    device: Any, fields: dict[str, int], error: type[errors.JobError]
) -> None:
    _, host = replay_rings(device)
    items, results = device.alloc(4096), device.alloc(4096)
    device.write(items, np.full(8, fields.get("first", 3), np.uint32))
    if "reject" in fields:
        device.inject(results, 4096, fields["reject"], direction=2)
    source, count = items + fields.get("source", 0), fields.get("count", 8)
    job = host.submit([RETRIEVE | FLAG_MEMORY, 1, count, 0, source, 0, results])
    with pytest.raises(error):
        job.wait(TIMEOUT_S, MAX_CYCLES)
    device.clear_faults()
    device.write(items, np.full(8, 3, np.uint32))
    good = host.submit([RETRIEVE | FLAG_MEMORY, 2, 8, 0, items, 0, results])
    assert good.wait(TIMEOUT_S, MAX_CYCLES).count == 8


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([PROGRAM, 1, 128, 0, 0x1004], errors.LearnerAlignError),
        ([TRAIN, 1, 1, 4], errors.LearnerNoprogError),
        ([PROGRAM, 1, 0, 0, 0x1000], errors.LearnerDimError),
        ([PROGRAM, 1, 128, 0, 1 << 20], errors.LearnerBusRdError),
    ],
)
def test_learner_errors_leave_the_engine_usable(
    device: Any, words: list[int], error: type[errors.JobError]
) -> None:
    ring = EngineDriver(device, "learner").open_ring(0, 2)
    with pytest.raises(error):
        ring.submit(words).wait(TIMEOUT_S, MAX_CYCLES)
    assert ring.submit([0, 5]).wait(TIMEOUT_S, MAX_CYCLES).tag == 5


def test_engines_run_side_by_side(every: Any) -> None:
    queued = [ring.submit_all([[0, tag] for tag in range(4)]) for _, _, ring in rings(every)]
    for jobs in queued:
        jobs[-1].wait(TIMEOUT_S, MAX_CYCLES)
        assert all(job.record and job.record.error == 0 for job in jobs)
