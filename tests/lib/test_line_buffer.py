"""The line buffer against a plain array, clock by clock."""

from __future__ import annotations

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from verif.play import Block, Player

# lanes, rows of a half; words have 32 bits
BUILDS = {"16x16": (16, 16), "4x2": (4, 2), "8x32": (8, 32)}
LATENCY = 3  # clocks from a read to its word
CLOCKS = 8000
pytestmark = builds(lambda: player("16x16", 1), lambda name: player(name, 1))


def line_buffer(bits: int, word: int) -> Block:
    """jd_mem_line_buffer with rows and words of so many bits."""
    return Block(
        "jackdaw:lib:mem",
        "jd_mem_line_buffer",
        {
            "stitch_valid_i": 1, "stitch_half_i": 1, "stitch_offset_i": 16, "stitch_data_i": bits,
            "load_i": 1, "pointer_i": 16, "shift_i": 16, "read_valid_i": 1, "read_half_i": 1,
        },
        {"word_o": word},
    )  # fmt: skip


def player(name: str, seed: int) -> Player:
    lanes, rows = BUILDS[name]
    return Player(line_buffer(32 * lanes, 32), {"Lanes": lanes, "Rows": rows, "WordW": 32}, seed)


def table(lanes: int, clocks: int) -> dict[str, np.ndarray]:
    """Inputs that do nothing, a row per clock."""
    names = ("stitch_valid_i", "stitch_half_i", "stitch_offset_i", "load_i", "pointer_i",
             "shift_i", "read_valid_i", "read_half_i")  # fmt: skip
    inputs = {name: np.zeros(clocks, np.uint32) for name in names}
    inputs["stitch_data_i"] = np.zeros((clocks, lanes), np.uint32)
    return inputs


@pytest.mark.parametrize("name", keep(BUILDS))
def test_line_buffer_random(name: str, seed: int) -> None:
    """Stitches at any offset beside reads of the other half; pointers that jump and move on."""
    generator = np.random.default_rng([seed, 41])
    lanes, rows = BUILDS[name]
    size = lanes * rows
    inputs = table(lanes, CLOCKS)
    inputs["stitch_data_i"] = generator.integers(0, 1 << 32, (CLOCKS, lanes), np.uint32)
    held = np.zeros((2, size), np.uint32)
    known = np.zeros((2, size), bool)
    want, valid, shown = (np.zeros(CLOCKS, kind) for kind in (np.uint32, bool, bool))
    pointer, half, at_end, offsets = -1, 0, 0, set()
    for clock in range(CLOCKS):
        if generator.random() < 0.05:
            half = 1 - half
        if pointer >= 0 and generator.random() < 0.8:
            inputs["read_valid_i"][clock], inputs["read_half_i"][clock] = 1, half
            if clock + LATENCY < CLOCKS:
                shown[clock + LATENCY] = True
                want[clock + LATENCY] = held[half, pointer]
                valid[clock + LATENCY] = known[half, pointer]
            at_end += pointer == size - 1
        if generator.random() < 0.3:
            offset = int(generator.integers(size - lanes + 1))
            inputs["stitch_valid_i"][clock], inputs["stitch_half_i"][clock] = 1, 1 - half
            inputs["stitch_offset_i"][clock] = offset
            held[1 - half, offset : offset + lanes] = inputs["stitch_data_i"][clock]
            known[1 - half, offset : offset + lanes] = True
            offsets.add(offset)
        inputs["pointer_i"][clock] = generator.integers(size)
        if pointer < 0 or generator.random() < 0.1:
            inputs["load_i"][clock] = 1
            inputs["shift_i"][clock] = generator.integers(size)  # looked at by nobody
            pointer = int(inputs["pointer_i"][clock])
        else:
            step = int(generator.choice([0, 1, 1, 2, 4, int(generator.integers(size))]))
            step = min(step, size - 1 - pointer)
            inputs["shift_i"][clock] = step
            pointer += step
    for clock in np.flatnonzero(~shown)[1:]:  # a word stays
        want[clock], valid[clock] = want[clock - 1], valid[clock - 1]
    with player(name, seed) as sim:
        got = sim.run(CLOCKS, **inputs)["word_o"]
    wrong = np.flatnonzero((got != want) & valid)
    assert not wrong.size, (
        f"seed {seed}: {wrong.size} of {valid.sum()} words differ, first in clock {wrong[0]}: "
        f"got {got[wrong[0]]:#x}, want {want[wrong[0]]:#x}"
    )
    assert valid.sum() > CLOCKS // 3
    assert at_end > 10
    assert len(offsets) > 0.9 * (size - lanes + 1)


def test_line_buffer_every_offset(seed: int) -> None:
    """A stitch at each offset, also over the end, changes its own words alone, in both halves."""
    name = "16x16"
    lanes, rows = BUILDS[name]
    size = lanes * rows
    generator = np.random.default_rng([seed, 42])
    held = np.zeros((2, size), np.uint32)
    with player(name, seed) as sim:
        for half in range(2):
            inputs = table(lanes, rows)
            inputs["stitch_valid_i"][:], inputs["stitch_half_i"][:] = 1, half
            inputs["stitch_offset_i"] = np.arange(rows) * lanes
            sim.run(rows, **inputs)
        for offset in range(size):
            half = offset % 2
            clocks = size + 2 + LATENCY
            inputs = table(lanes, clocks)
            data = generator.integers(0, 1 << 32, lanes, np.uint32)
            inputs["stitch_valid_i"][0] = inputs["load_i"][0] = 1
            inputs["stitch_half_i"][0], inputs["stitch_offset_i"][0] = half, offset
            inputs["stitch_data_i"][0] = data
            inputs["read_valid_i"][1 : 1 + size], inputs["read_half_i"][:] = 1, half
            inputs["shift_i"][1:size] = 1
            held[half, (offset + np.arange(lanes)) % size] = data
            got = sim.run(clocks, **inputs)["word_o"][1 + LATENCY :]
            np.testing.assert_array_equal(got[:size], held[half], f"offset {offset}")
            assert got[size] == held[half, -1], "the last word stays"


def test_line_buffer_convolution_rows(seed: int) -> None:
    """The operands of a convolution's row: words x = c*S + kx of each slot, one per clock."""
    name = "16x16"
    lanes, _ = BUILDS[name]
    width, stride, kernel, columns, slots, beats = 20, 2, 4, 9, 3, 2
    generator = np.random.default_rng([seed, 43])
    rows = generator.integers(0, 1 << 32, (slots, width), np.uint32)
    order = [(s, c, kx) for kx in range(kernel) for s in range(slots) for c in range(columns)]
    with player(name, seed) as sim:
        inputs = table(lanes, slots * beats)
        padded = np.pad(rows, ((0, 0), (0, beats * lanes - width))).reshape(-1, lanes)
        inputs["stitch_valid_i"][:] = inputs["stitch_half_i"][:] = 1
        inputs["stitch_offset_i"] = np.arange(slots * beats) * lanes
        inputs["stitch_data_i"] = padded
        sim.run(slots * beats, **inputs)
        clocks = len(order) + 1 + LATENCY
        inputs = table(lanes, clocks)
        places = [s * beats * lanes + c * stride + kx for s, c, kx in order]
        for clock, place in enumerate(places):
            ahead = place - places[clock - 1] if clock else -1
            if ahead >= 0:
                inputs["shift_i"][clock] = ahead
            else:
                inputs["load_i"][clock], inputs["pointer_i"][clock] = 1, place
        inputs["read_valid_i"][1 : 1 + len(order)], inputs["read_half_i"][:] = 1, 1
        got = sim.run(clocks, **inputs)["word_o"][1 + LATENCY :]
    np.testing.assert_array_equal(got, [rows[s, c * stride + kx] for s, c, kx in order])


@pytest.mark.parametrize("rule", ["HalvesApart_M", "ShiftInRange_M"])
def test_line_buffer_rules(rule: str, seed: int) -> None:
    """Each rule is seen when it is broken; just inside it nothing is."""
    for broken in (False, True):
        inputs = table(16, 4)
        inputs["load_i"][0], inputs["pointer_i"][0] = 1, 250
        if rule == "HalvesApart_M":
            inputs["stitch_valid_i"][2] = inputs["read_valid_i"][2] = 1
            inputs["read_half_i"][2] = 1 - broken
        else:
            inputs["shift_i"][2] = 5 + broken
        with player("16x16", seed) as sim:
            if not broken:
                sim.run(4, **inputs)
                continue
            with pytest.raises(CheckFailed) as found:
                sim.run(4, **inputs)
            assert found.value.name == rule


@builds(lambda: player("4x2", 1))
def test_registers_start_at_values_of_the_seed(seed: int) -> None:
    """The harness seeds the simulator before it makes the model."""

    def first(of: int) -> int:
        inputs = table(4, LATENCY + 2)
        inputs["load_i"][0] = inputs["read_valid_i"][1] = 1
        with player("4x2", of) as block:
            return int(block.run(LATENCY + 2, **inputs)["word_o"][-1])

    assert first(seed) == first(seed)
    assert len({first(seed + i) for i in range(4)}) > 1
