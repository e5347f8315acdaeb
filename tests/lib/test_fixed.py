"""The fixed-point blocks against models/qat/ops.py, to the bit and to the clock."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.library import CheckFailed
from flow.regression import builds
from models.qat import ops
from verif.lib.fixed import DIRECT, NARROW, WIDE, Pipe, bench, check

COUNT = scale(200_000)  # random cases of a block
pytestmark = builds(lambda: bench(1))


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
    valid = (np.arange(COUNT) % 1000 < 700) | (generator.random(COUNT) < 0.5)
    with bench(seed) as sim:
        check(sim, pipe, {"value": values, "shift": shifts}, want, valid)


def test_fixed_round_checks_its_shift(seed: int) -> None:
    with bench(seed) as sim, pytest.raises(CheckFailed) as found:
        sim.run(2, wide_valid_i=np.ones(2), wide_shift_i=np.full(2, 25))
    assert found.value.name == "ShiftInRange_M"


@pytest.mark.parametrize("pipe", [WIDE, NARROW], ids=lambda pipe: pipe.name)
def test_fixed_reset(pipe: Pipe, seed: int) -> None:
    """A reset drops what is in a pipe, and nothing else."""
    clocks = 4 * pipe.latency + 8
    reset = np.zeros(clocks, bool)
    start = 2 * pipe.latency + 4
    reset[start] = True
    want = np.arange(clocks) >= pipe.latency
    want[start + 1 : start + 1 + pipe.latency] = False
    with bench(seed) as sim:
        out = sim.run(clocks, rst_ni=1 - reset, **{f"{pipe.name}_valid_i": ~reset})
    np.testing.assert_array_equal(out[f"{pipe.name}_valid_o"], want)
