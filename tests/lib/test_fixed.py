"""The fixed-point blocks against models/qat/ops.py, to the bit and to the clock."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds
from models.qat import ops
from verif.lib.fixed import DIRECT, DIV, NARROW, SQRT, TANH, WIDE, Pipe, bench, check

COUNT = scale(200_000)  # random cases of a block
pytestmark = builds(lambda: bench(1))


def gaps(generator: np.random.Generator, count: int) -> np.ndarray:
    """[count] bool, clocks with operands: many in a row, then half of them."""
    return (np.arange(count) % 1000 < 700) | (generator.random(count) < 0.5)


def rounded(values: np.ndarray, shifts: np.ndarray, bits: int) -> dict[str, np.ndarray]:
    """What jd_fixed_round gives of [N] int64."""
    floors = np.empty_like(values)
    for shift in np.unique(shifts):
        some = shifts == shift
        floors[some] = ops.round_shift(values[some], int(shift))
    result, _ = ops.saturate(floors, bits)
    return {"result": result, "saturated": result != floors}


def values_to_round(generator: np.random.Generator, pipe: Pipe, shifts: np.ndarray) -> np.ndarray:
    """Values of all sizes; ties and their neighbours; results about the ends of the range."""
    count, bits, small = len(shifts), pipe.operands["value"], pipe.results["result"]
    size = generator.integers(1, bits, count)
    values = generator.integers(-(1 << bits - 1), 1 << bits - 1, count) >> (bits - size)
    tie = (np.int64(1) << shifts) >> 1
    floor = generator.integers(-(1 << small - 1), 1 << small - 1, count) >> generator.integers(
        0, small, count
    )
    near = generator.integers(-1, 2, count)
    ends = generator.choice([-(1 << small - 1) - 1, -(1 << small - 1), (1 << small - 1) - 1], count)
    kind = generator.integers(0, 3, count)
    chosen = np.select([kind == 0, kind == 1], [values, (floor << shifts) + tie + near],
                       (ends << shifts) + tie + near)  # fmt: skip
    most = (1 << bits - 1) - 1
    return np.clip(chosen, -most - 1, most)


@pytest.mark.parametrize("pipe", [WIDE, NARROW, DIRECT], ids=lambda pipe: pipe.name)
def test_fixed_round(pipe: Pipe, seed: int) -> None:
    """Each shift: random values, ties, both ends; back to back and with gaps."""
    generator = np.random.default_rng([seed, 41])
    most = 24 if pipe is WIDE else 16
    bits, small = pipe.operands["value"], pipe.results["result"]
    shifts = np.arange(COUNT) % (most + 1)
    values = values_to_round(generator, pipe, shifts)
    values[: 2 * (most + 1)] = np.repeat([-(1 << bits - 1), (1 << bits - 1) - 1], most + 1)
    want = rounded(values, shifts, small)
    tie = (values & ((1 << shifts) - 1)) == (1 << shifts) >> 1
    for shift in range(most + 1):
        here = shifts == shift
        assert (here & (shift > 0) & tie).any() or shift == 0
        for end in (-(1 << small - 1), (1 << small - 1) - 1):
            reached = here & (want["result"] == end)
            beyond = shift < bits - small or end > 0  # some value is
            assert (reached & want["saturated"]).any() or not beyond
            assert (reached & ~want["saturated"]).any()
    with bench(seed) as sim:
        check(sim, pipe, {"value": values, "shift": shifts}, want, gaps(generator, COUNT))


def test_fixed_sqrt(seed: int) -> None:
    """0, the largest, squares and their neighbours, values of all sizes."""
    generator = np.random.default_rng([seed, 42])
    roots = generator.integers(1, 1 << 32, COUNT, np.uint64) >> generator.integers(
        0, 32, COUNT, np.uint64
    )
    squares = np.maximum(roots, 1) ** 2 + generator.integers(-1, 2, COUNT).astype(np.uint64)
    sizes = generator.integers(0, 64, COUNT, np.uint64)
    anything = generator.integers(0, 1 << 64, COUNT, np.uint64) >> sizes
    values = np.where(generator.random(COUNT) < 0.5, squares, anything)
    values[:4] = [0, 1, (1 << 64) - 1, ((1 << 32) - 1) ** 2]
    want = np.array([math.isqrt(int(value)) for value in values], np.uint64)
    with bench(seed) as sim:
        check(sim, SQRT, {"value": values}, {"result": want}, gaps(generator, COUNT))


def test_fixed_div(seed: int) -> None:
    """Quotients of all sizes, about a whole number, and about where they are clipped."""
    generator = np.random.default_rng([seed, 43])
    divisor = generator.integers(1, 1 << 33, COUNT) >> generator.integers(0, 33, COUNT)
    divisor = np.maximum(divisor, 1)
    dividend = generator.integers(0, (1 << 31) + 1, COUNT) >> generator.integers(0, 32, COUNT)
    quotient = generator.integers(0, 1 << 27, COUNT) >> generator.integers(0, 27, COUNT)
    kind = generator.integers(0, 3, COUNT)
    near = generator.integers(-1, 2, COUNT)
    dividend = np.select(
        [kind == 0, kind == 1], [dividend, divisor * 8 + near], (quotient * divisor >> 24) + near
    )
    dividend = np.clip(dividend, 0, 1 << 31)
    dividend[:4], divisor[:4] = [0, 1 << 31, 1 << 31, 1], [1, 1, (1 << 33) - 1, (1 << 33) - 1]
    want = np.array([ops.udiv(*pair) for pair in zip(dividend, divisor, strict=True)])
    assert (want == ops.RATIO_MOST).any() and (want == ops.RATIO_MOST - 1).any()
    operands = {"dividend": dividend, "divisor": divisor}
    with bench(seed) as sim:
        check(sim, DIV, operands, {"result": want}, gaps(generator, COUNT))


def test_fixed_tanh(seed: int) -> None:
    """Both ends of every segment and between, either sign; from 8 on; the ends of the format."""
    generator = np.random.default_rng([seed, 44])
    ends = (np.arange(513)[:, None] * 1024 + np.arange(-1, 2)).ravel()
    inside = (np.arange(512)[:, None] * 1024 + generator.integers(0, 1024, (512, 8))).ravel()
    anything = generator.integers(0, 1 << 31, COUNT // 10) >> generator.integers(0, 31, COUNT // 10)
    positive = np.concatenate([ends, inside, anything, [(1 << 31) - 1]])
    values = np.concatenate([positive, -positive, [-(1 << 31)]])
    generator.shuffle(values)
    want = ops.tanh(values)
    with bench(seed) as sim:
        check(sim, TANH, {"value": values}, {"result": want}, gaps(generator, len(values)))


@pytest.mark.regress
def test_fixed_tanh_of_every_magnitude(seed: int) -> None:
    values = np.arange(-(1 << 19) - 2, (1 << 19) + 3)
    with bench(seed) as sim:
        check(sim, TANH, {"value": values}, {"result": ops.tanh(values)})


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ({"wide_valid_i": 1, "wide_shift_i": 25}, "ShiftInRange_M"),
        ({"div_valid_i": 1, "div_dividend_i": 1}, "DivisorNotZero_M"),
    ],
)
def test_fixed_operands_are_checked(inputs: dict[str, int], name: str, seed: int) -> None:
    with bench(seed) as sim, pytest.raises(CheckFailed) as found:
        sim.run(2, **{port: np.full(2, value) for port, value in inputs.items()})
    assert found.value.name == name


@pytest.mark.parametrize("pipe", [WIDE, NARROW, SQRT, DIV, TANH], ids=lambda pipe: pipe.name)
def test_fixed_reset(pipe: Pipe, seed: int) -> None:
    """A reset drops what is in a pipe, and nothing else."""
    clocks = 4 * pipe.latency + 8
    reset = np.zeros(clocks, bool)
    start = 2 * pipe.latency + 4
    reset[start] = True
    want = np.arange(clocks) >= pipe.latency
    want[start + 1 : start + 1 + pipe.latency] = False
    inputs = {f"{pipe.name}_valid_i": ~reset}
    if pipe is DIV:
        inputs["div_divisor_i"] = np.ones((clocks, 2), np.uint32)
    with bench(seed) as sim:
        out = sim.run(clocks, rst_ni=1 - reset, **inputs)
    np.testing.assert_array_equal(out[f"{pipe.name}_valid_o"], want)
