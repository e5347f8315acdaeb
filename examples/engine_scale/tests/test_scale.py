"""The scale engine on the RTL and on its golden model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_scale.driver import Scale
from engine_scale.model import MOST, scale
from engine_scale.registers import CAP, N_WORDS, Error

from flow.configuration import parse
from flow.effort import scale as scale_count
from flow.regression import builds
from jackdaw import errors
from jackdaw.device import open_device
from models.registers import engine_header as header

CONFIG = parse(
    "scale", {"ClockHz": 1, "MemSizeLog2": 23, "MemPorts": 1, "engines": {"scale": {}}}
)  # fmt: skip
NAN = np.uint32(0x7FC00000)
pytestmark = builds(lambda: open_device("sim", CONFIG))


@pytest.fixture(params=["sim", "model"])
def device(request: pytest.FixtureRequest, seed: int) -> Iterator[Any]:
    """A device with the engine, on one backend."""
    with open_device(request.param, CONFIG, seed=seed) as opened:
        yield opened


def random(rng: np.random.Generator, count: int) -> np.ndarray:
    """Any bits: subnormals, infinities, NaN."""
    return rng.integers(0, 1 << 32, count, np.uint32).view(np.float32)


def test_bits_are_the_models(device: Any, seed: int) -> None:
    engine, rng = Scale(device), np.random.default_rng(seed)
    done = 0
    for count in [1, 15, 16, 17, 255, 256, 257, 2048, *rng.integers(1, 20000, scale_count(8))]:
        x, (a, b) = random(rng, int(count)), random(rng, 2)
        np.testing.assert_array_equal(
            engine.scale(x, a, b).view(np.uint32), scale(x, a, b).view(np.uint32)
        )
        done += int(count)
    assert engine.read(N_WORDS.offset) == done
    assert engine.read(CAP.offset) == 16 | 128 << 8


def test_words_beyond_the_count_stay(device: Any) -> None:
    engine = Scale(device)
    source, target = device.alloc(256, 64), device.alloc(256, 64)
    device.write(source, np.ones(64, np.float32))
    device.write(target, np.full(64, 7, np.float32))
    engine.run(21, 2.0, 1.0, source, target)
    got = device.read(target, 256).view(np.float32)
    assert (got[:21] == 3).all() and (got[21:] == 7).all()


WRONG: list[tuple[dict[int, int], str]] = [
    ({0: 2}, "E_OPCODE"),
    ({0: 1 | 1 << 8}, "E_RESERVED"),
    ({5: 1}, "E_RESERVED"),
    ({15: 1}, "E_RESERVED"),
    ({7: 1 << 8}, "E_RESERVED"),
    ({9: 1 << 8}, "E_RESERVED"),
    ({2: 0}, "E_COUNT"),
    ({2: MOST + 1}, "E_COUNT"),
    ({6: 32}, "E_ALIGN"),
    ({8: 32}, "E_ALIGN"),
    ({7: 0xFF, 6: 0xFFFFFF80}, "E_ADDR"),
    ({9: 0xFF, 8: 0xFFFFFF80}, "E_ADDR"),
    ({7: 0xF0}, "E_BUS_RD"),
    ({9: 0xF0}, "E_BUS_WR"),
]


@pytest.mark.parametrize(("words", "error"), WRONG, ids=str)
def test_errors_are_named_and_the_engine_goes_on(
    device: Any, words: dict[int, int], error: str, seed: int
) -> None:
    engine = Scale(device)
    place = device.alloc(1 << 12, 64)
    before = device.read(place, 1 << 12)
    descriptor = [1, 0, 40, 0, 0, 0, place, 0, place, 0, 0, 0, 0, 0, 0, 0]
    for at, value in words.items():
        descriptor[at] = value
    with pytest.raises(errors.error_class("scale", int(getattr(Error, error)))):
        engine.rings[0].submit(descriptor).wait(60)
    np.testing.assert_array_equal(device.read(place, 1 << 12), before)
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(engine.scale(x, 3, 4), 3 * x + 4)


@pytest.mark.parametrize("direction", [1, 2])
def test_a_bus_error_in_the_middle(device: Any, direction: int) -> None:
    """The record names the place; what was written before is right, the next job is good."""
    engine, count = Scale(device), 4096
    source, target = device.alloc(4 * count), device.alloc(4 * count)
    x = np.arange(count, dtype=np.float32)
    device.write(source, x)
    at = (source if direction == 1 else target) + 64 * 100
    device.inject(at, 64, 2, direction=direction)
    name = "ScaleBusRdError" if direction == 1 else "ScaleBusWrError"
    with pytest.raises(getattr(errors, name)) as caught:
        engine.run(count, 1.0, 1.0, source, target)
    first = at if direction == 1 else target + 1024 * (6400 // 1024)
    assert caught.value.info == (first & 0xFFFFFFFF, 2)
    got = device.read(target, 4 * count).view(np.float32)
    assert set(np.unique(got[:1536] - x[:1536] if direction == 2 else [1])) == {1}
    if direction == 1:
        assert not got[1600:].any()  # nothing after the failure
    device.clear_faults()
    engine.run(count, 1.0, 1.0, source, target)
    np.testing.assert_array_equal(device.read(target, 4 * count).view(np.float32), x + 1)


def test_soft_reset_in_the_middle(device: Any) -> None:
    engine = Scale(device)
    place = device.alloc(1 << 20)
    for clocks in (0, 50, 100, 200, 1000, 3000):
        job = engine.rings[0].submit([1, 0, 1 << 18, 0, 0, 0, place, 0, place, 0])
        if hasattr(device, "step"):
            device.step(clocks)
        engine.soft_reset()
        if job.record is None:
            with pytest.raises(errors.JobDropped):
                job.wait(10)
        x = np.arange(1000, dtype=np.float32)
        np.testing.assert_array_equal(engine.scale(x, 2, 0), 2 * x)


def test_watchdog(seed: int) -> None:
    with open_device("sim", CONFIG, seed=seed, memory="D") as device:
        engine = Scale(device)
        engine.write(header.WATCHDOG.offset, 20)  # shorter than the memory's latency
        with pytest.raises(errors.error_class("scale", int(header.Error.E_TIMEOUT))):
            engine.scale(np.ones(5000, np.float32), 1, 1)
        engine.write(header.WATCHDOG.offset, 0)
        assert (engine.scale(np.ones(5000, np.float32), 1, 1) == 2).all()


def test_a_beat_a_clock(seed: int) -> None:
    with open_device("sim", CONFIG, seed=seed, memory="D") as device:
        engine, count = Scale(device), 1 << 16
        source, target = device.alloc(4 * count), device.alloc(4 * count)
        assert engine.run(count, 1, 1, source, target) < 1.1 * count / 16


def test_the_driver_refuses_other_arrays() -> None:
    with open_device("model", CONFIG) as device:
        engine = Scale(device)
        for x in (np.zeros(3), np.zeros((2, 2), np.float32), np.zeros(0, np.float32)):
            with pytest.raises(errors.ConfigError, match="want float32"):
                engine.scale(x, 1, 1)
