# SPDX-License-Identifier: Apache-2.0
"""Every floating-point block against the host's IEEE arithmetic, in the in-process simulator.

The operands come from `verif/float/operands.hpp`: all classes against all classes, all pairs of
exponents, and random pairs that are close, sparse, halfway, subnormal or near overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import models.float as golden
from flow import BUILD, ROOT, write_whole
from flow.effort import scale
from flow.regression import builds
from verif.float.lanes import (
    CROSS,
    EXPONENTS,
    LANES,
    OPERATIONS,
    RANDOM,
    RANGE,
    FloatLaneError,
    Lane,
    Lanes,
    expect_clean,
)

# Random cases of each operation, at the latency of the simulated accelerator.
FULL = scale(10_000_000)
PART = scale(500_000)  # at every other latency and conversion
PARTS = 32  # of an exhaustive run over pairs
MULTIPLIER = "rtl/lib/float/jd_float_mul.sv"
INCREMENT = "product[SigW-2] & (sticky | product[SigW-1]);"
pytestmark = builds(lambda lanes: Lanes(lanes))


@pytest.fixture(scope="module", params=["f32", "f16"])
def lanes(request: pytest.FixtureRequest) -> Iterator[Lanes]:
    with Lanes(request.param, seed=int(request.config.getoption("--seed"))) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def half() -> Iterator[Lanes]:
    with Lanes("f16") as simulator:
        yield simulator


def gap_seed(lane: Lane, seed: int) -> int:
    """Every other lane runs with random gaps between the operands."""
    return seed + lane.index if lane.index % 2 else 0


@pytest.mark.parametrize("index", range(LANES))
def test_float_corners(lanes: Lanes, index: int, seed: int) -> None:
    lane = lanes.lanes[index]
    gaps = gap_seed(lane, seed)
    if "fixed" not in lane.operation:
        expect_clean(lanes.check(lane, CROSS, gap_seed=gaps), lane, "classes")
        expect_clean(lanes.check(lane, EXPONENTS, gap_seed=gaps), lane, "exponents")
    expect_clean(lanes.check(lane, RANDOM, PART, seed, gaps), lane, f"random, seed {seed}")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_float_random(lanes: Lanes, operation: str, seed: int) -> None:
    lane = next(x for x in lanes.lanes if x.operation == operation)
    expect_clean(lanes.check(lane, RANDOM, FULL, seed + 100), lane, f"random, seed {seed + 100}")


@pytest.mark.parametrize("operation", ["sqrt", "to_fixed", "from_fixed"])
@builds(lambda: Lanes("f16"))
def test_float_half_exhaustive(half: Lanes, operation: str) -> None:
    """Every operand of one argument, where these are not more than 2**24."""
    for lane in (x for x in half.lanes if x.operation == operation):
        count = 1 << (lane.integer + lane.fraction if operation == "from_fixed" else 16)
        if count <= 1 << 24:
            report = half.check(lane, RANGE, count)
            assert report.compared == count
            expect_clean(report, lane, "all operands")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("operation", ["mul", "add"])
@builds(lambda: Lanes("f16"))
def test_float_half_all_pairs(half: Lanes, operation: str, part: int) -> None:
    lane = half.find(operation)
    size = (1 << 32) // PARTS
    expect_clean(half.check(lane, RANGE, (part + 1) * size, part * size), lane, "all pairs")


def multiplier_of_halves(planted: bool) -> Lanes:
    """The multiplier alone, from its source or from one that cuts off positive products."""
    folder = BUILD / "multipliers" / ("planted" if planted else "original")
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / MULTIPLIER).read_text()
    assert text.count(INCREMENT) == 1
    if planted:
        wrong = f"{INCREMENT[:-1]} & minus;"
        write_whole(folder / Path(MULTIPLIER).name, text.replace(INCREMENT, wrong))
    return Lanes("f16", count=1, instead=folder)


@pytest.mark.parametrize("planted", [False, True], ids=["original", "planted"])
@builds(lambda planted: multiplier_of_halves(planted))
def test_float_comparison_finds_a_wrong_multiplier(planted: bool) -> None:
    """All halves times 0.33: every increment that a multiplier loses is noticed, and no other."""
    factor, size = 0x3555, 1 << 16  # 0.3333
    a, b = np.arange(size, dtype=np.uint64), np.full(size, factor, np.uint64)
    want = golden.mul(*(x.astype(np.uint16).view(np.float16) for x in (a, b))).view(np.uint16)
    with multiplier_of_halves(planted) as lanes:
        (lane,) = lanes.lanes
        report = lanes.check(lane, RANGE, (factor + 1) * size, factor * size)
        got = lanes.run(lane, a, b)
    differ = np.flatnonzero(got != want)
    assert (report.compared, report.mismatches) == (size, differ.size)
    if not planted:
        expect_clean(report, lane, "all halves")
        assert not differ.size
        return
    with pytest.raises(FloatLaneError, match=f"{differ.size} of {size} differ"):
        expect_clean(report, lane, "all halves")
    assert differ.size > size // 8
    assert (want[differ] - got[differ] == 1).all() and (a[differ] < 1 << 15).all()
    first = differ[0]
    assert (report.a, report.b) == (first, factor)
    assert (report.got, report.want) == (got[first], want[first])
