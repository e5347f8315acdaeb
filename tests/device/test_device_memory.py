"""The simulated memory: latency and bandwidth of every preset to the clock, errors, checks."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flow.regression import builds
from jackdaw import errors
from jackdaw.device.sim import SimDevice, build_library
from jackdaw.device.timing import MEMORIES, MemoryTiming
from models.registers import directory
from tests.device.echo import HandWritten

CONFIG = HandWritten(
    "bench", 250_000_000, 20, 2, made="jackdaw:verif:device_bench", top="jd_device_bench"
)
READ, WRITE, ORDERED, FAIL_ASSERTION, BREAK_LAST = 1, 2, 4, 8, 16
RESULTS = {
    "read_clocks": 0x44,
    "write_clocks": 0x48,
    "read_latency": 0x4C,
    "write_latency": 0x50,
    "worst": 0x54,
    "sum": 0x58,
}
MEMORY_BYTES = 1 << 20
WRITE_BASE = 0x40000
pytestmark = builds(lambda: SimDevice(CONFIG))


def start(device: SimDevice, port: int = 0, go: int = READ | WRITE, **changes: int) -> None:
    """Start traffic: bursts of `beats`, reads from 0, writes from WRITE_BASE."""
    settings = {"reads": 64, "writes": 64, "beats": 16, "read_base": 0, "write_base": WRITE_BASE}
    settings |= {"stride": 1024, "strobe_lo": 0xFFFFFFFF, "strobe_hi": 0xFFFFFFFF, "gap": 0}
    settings |= {"limit": 16}
    settings |= changes
    for index, value in enumerate(settings.values()):
        device.write32((1 + port) * 4096 + 4 + 4 * index, value)
    device.write32((1 + port) * 4096, go)


def finish(device: SimDevice, port: int = 0) -> dict[str, int]:
    device.wait([1 + port], 30.0, 200_000)
    return {name: device.read32((1 + port) * 4096 + at) for name, at in RESULTS.items()}


def measure(timing: str | MemoryTiming, **settings: int) -> dict[str, int]:
    with SimDevice(CONFIG, memory=timing) as device:
        start(device, **settings)
        return finish(device)


@pytest.mark.parametrize("preset", sorted(MEMORIES))
def test_latency_is_exact(preset: str) -> None:
    want = 1 if preset == "I" else 64
    result = measure(preset, reads=1, writes=1, beats=1)
    assert (result["read_latency"], result["write_latency"]) == (want, want)


@pytest.mark.parametrize("preset", sorted(MEMORIES))
@pytest.mark.parametrize("go", [READ, WRITE])
def test_one_direction_runs_at_one_beat_a_clock(preset: str, go: int) -> None:
    latency = MEMORIES[preset].latency
    result = measure(preset, go=go)
    if go == READ:
        assert result["read_clocks"] == latency + 1024 - 1
    else:
        assert result["write_clocks"] == 1 + 1023 + latency


def test_both_directions_share_the_presets_bandwidth() -> None:
    # 1024 beats each way. Reads begin 64 clocks later, and what is left alone runs at 1 per clock.
    both = {preset: measure(preset) for preset in "DSQ"}
    assert both["D"]["read_clocks"] == 64 + 1023
    assert both["D"]["write_clocks"] == 64 + 1024
    last_beat = {p: max(r["read_clocks"], r["write_clocks"] - 64) for p, r in both.items()}
    assert last_beat["S"] == 2048
    writes_end = 64 + Fraction(1024 - 64) / Fraction(3, 4)
    assert last_beat["Q"] == writes_end + (1024 - (writes_end - 64) * Fraction(3, 4)) - 1


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2, 3), Fraction(7, 8)])
def test_fractions_of_a_beat(rate: Fraction) -> None:
    result = measure(MemoryTiming(latency=1, read=rate, write=rate))
    for clocks in (result["read_clocks"], result["write_clocks"]):
        assert abs(clocks - 1024 / rate) <= 4


@pytest.mark.parametrize("beats", [1, 2, 64])
def test_sixteen_bursts_are_outstanding(beats: int) -> None:
    latency = 200
    result = measure(MemoryTiming(latency=latency), reads=64, beats=beats, stride=4096, go=READ)
    # Sixteen bursts a round trip, as long as their data takes no longer than it.
    rounds = max(latency + 1, 16 * beats)
    assert abs(result["read_clocks"] - (3 * rounds + latency + 16 * beats)) <= 16 * beats + 8


def test_a_read_behind_a_write_response_sees_the_write() -> None:
    with SimDevice(CONFIG) as device:
        start(device, go=READ | WRITE | ORDERED, reads=4, writes=4, read_base=WRITE_BASE)
        result = finish(device)
        beats = np.arange(64, dtype=np.uint64)
    assert beats.size == 64
    # A beat's sixteen words are i and ~i, eight times each: 8 * (2**32 - 1).
    assert result["sum"] == (64 * 8 * 0xFFFFFFFF) & 0xFFFFFFFF


def test_a_read_in_flight_with_a_write_sees_the_old_data() -> None:
    with SimDevice(CONFIG) as device:
        device.write(WRITE_BASE, np.full(64, 1, np.uint8).view(np.uint32))
        start(device, reads=1, writes=1, beats=1, read_base=WRITE_BASE)
        result = finish(device)
        assert result["sum"] == 16 * 0x01010101
        np.testing.assert_array_equal(
            device.read(WRITE_BASE, 64).view(np.uint32), np.tile([0xFFFFFFFF, 0], 8)
        )


def test_strobes_choose_the_bytes() -> None:
    with SimDevice(CONFIG) as device:
        device.write(WRITE_BASE, np.full(128, 0x55, np.uint8))
        start(device, go=WRITE, writes=1, beats=2, strobe_lo=0x80000001, strobe_hi=0x10)
        finish(device)
        want = np.full(128, 0x55, np.uint8)
        for beat in range(2):
            words = np.tile(np.array([~np.uint32(beat), beat], np.uint32), 8).view(np.uint8)
            for byte in (0, 31, 36):
                want[64 * beat + byte] = words[byte]
        np.testing.assert_array_equal(device.read(WRITE_BASE, 128), want)


def test_two_ports_share_the_bytes_and_not_the_bandwidth() -> None:
    with SimDevice(CONFIG) as device:
        start(device, 0)
        start(device, 1, read_base=0x8000, write_base=0x80000)
        for port in (0, 1):
            assert finish(device, port)["read_clocks"] == 64 + 1023
        np.testing.assert_array_equal(device.read(WRITE_BASE, 65536), device.read(0x80000, 65536))


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("direction", [1, 2])
def test_injected_responses(response: int, direction: int) -> None:
    with SimDevice(CONFIG) as device:
        device.inject(0x440, 1, response, direction)  # in the second beat of the second burst
        start(device, go=direction, write_base=0)
        assert finish(device)["worst"] == response
        if direction == 2:
            beats = device.read(0, 65536).view(np.uint32).reshape(1024, 16)[:, 1]
            assert set(np.flatnonzero(beats != np.arange(1024))) == {0x440 // 64}
        device.clear_faults()
        start(device, go=direction, write_base=0)
        assert finish(device)["worst"] == 0


def test_beyond_memory_is_decerr() -> None:
    for settings in ({"go": READ, "read_base": MEMORY_BYTES}, {"go": WRITE, "writes": 1}):
        result = measure("D", **{"write_base": MEMORY_BYTES} | settings)
        assert result["worst"] == 3


def test_random_delays_come_from_the_seed() -> None:
    def clocks(seed: int) -> int:
        timing = replace(MEMORIES["D"], max_delay=50)
        with SimDevice(CONFIG, memory=timing, seed=seed) as device:
            start(device, beats=1)
            return finish(device)["read_clocks"]

    first = clocks(1)
    assert first == clocks(1)
    assert len({clocks(seed) for seed in range(1, 6)}) > 1
    assert first > measure("D", beats=1)["read_clocks"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"read_base": 32}, "read is not aligned at 0x20"),
        ({"write_base": 8}, "write is not aligned at 0x8"),
        ({"read_base": 0xFC0, "beats": 2}, "read of 2 beats crosses 4 KiB at 0xfc0"),
        ({"beats": 65, "stride": 8192}, "read of 65 beats crosses 4 KiB"),
        ({"go": WRITE | BREAK_LAST}, "WLAST is wrong in beat 1"),
        ({"go": READ | FAIL_ASSERTION}, "Assertion failed in .*Unbroken_A"),
        ({"go": READ, "limit": 17}, "memory port 0: 17 reads of engine port 0 are outstanding"),
        ({"go": WRITE, "limit": 17, "beats": 1}, "17 writes of engine port 0 are outstanding"),
    ],
)
def test_faults_of_the_device_raise_and_the_process_lives_on(
    settings: dict[str, int], message: str
) -> None:
    device = SimDevice(CONFIG)
    other = SimDevice(CONFIG)
    with pytest.raises(errors.SimulationError, match=message) as caught:
        start(device, **settings)
        finish(device)
    assert 0 < caught.value.clock < 1000
    if "Assertion" in message:
        assert caught.value.file.endswith("jd_device_bench.sv") and caught.value.line > 0
    with pytest.raises(errors.SimulationError, match=message):
        device.read32(directory.SCRATCH.offset)
    device.close()
    start(other)
    assert finish(other)["worst"] == 0
    other.close()


@builds(lambda: SimDevice(CONFIG, assertions=False))
def test_without_assertions_the_same_fault_passes() -> None:
    with SimDevice(CONFIG, assertions=False) as device:
        start(device, go=READ | FAIL_ASSERTION)
        assert finish(device)["worst"] == 0


def has_header(name: str) -> bool:
    """Say whether the compiler finds a C header."""
    command = ["g++", "-E", "-x", "c", "-", "-o", "/dev/null"]
    text = f"#include <{name}>\n".encode()
    return subprocess.run(command, input=text, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_header("lz4.h"), reason="FST files need the package liblz4-dev")
@builds(lambda: has_header("lz4.h") and SimDevice(CONFIG, waves="waves.fst"))
def test_waves_are_recorded_between_two_marks(tmp_path: Path) -> None:
    sizes = {}
    for name, recorded in (("all", True), ("none", False)):
        path = tmp_path / f"{name}.fst"
        with SimDevice(CONFIG, waves=path) as device:
            device.record(recorded)
            start(device)
            finish(device)
        sizes[name] = path.stat().st_size
    assert sizes["all"] > 4 * sizes["none"]


def test_time_stands_still_between_calls() -> None:
    with SimDevice(CONFIG) as device:
        before = device.clock
        device.write(0, np.zeros(4096, np.uint8))
        device.free(device.alloc(64))
        assert device.clock == before
        device.read32(directory.SCRATCH.offset)
        assert device.clock > before


def test_a_library_is_built_once() -> None:
    assert build_library(CONFIG) == build_library(CONFIG)


def test_initial_registers_are_random_and_come_from_the_seed() -> None:
    def unset(seed: int) -> Any:
        with SimDevice(CONFIG, seed=seed) as device:
            return [device.read32(4096 + at) for at in RESULTS.values()]

    assert unset(1) == unset(1)
    assert len({tuple(unset(seed)) for seed in range(1, 5)}) == 4
