"""The checks of jd_assert.svh fail in the clock in which their properties do, and in no other."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from flow import ROOT
from flow.library import build

SOURCE = ROOT / "verif/common/jd_assert_bench.sv"
NAMES = ("Always_A", "If_A", "Next_A", "Stable_A", "Stream_A", "If_M")


@cache
def library() -> ctypes.CDLL:
    harness = ROOT / "verif/common/assert_harness.cpp"
    return ctypes.CDLL(str(build("jackdaw:verif:assert_bench", "jd_assert_bench", harness)))


def expected(select: int, inputs: np.ndarray) -> int:
    """The first clock in which the property of a check is false, or -1."""
    reset, when, expression, valid, ready = ((inputs >> k & 1).astype(bool) for k in range(5))
    payload = inputs >> 8
    stays = np.append(False, payload[1:] == payload[:-1])

    def before(value: np.ndarray) -> np.ndarray:
        return np.append(False, (reset & value)[:-1])

    broken = {
        "Always_A": ~expression,
        "If_A": when & ~expression,
        "Next_A": before(when) & ~expression,
        "Stable_A": before(when) & ~stays,
        "Stream_A": before(valid & ~ready) & ~(valid & stays),
        "If_M": when & ~expression,
    }[NAMES[select]] & reset
    return int(np.argmax(broken)) if broken.any() else -1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.builds(lambda: library())
def test_a_check_fails_when_its_property_does(name: str) -> None:
    select = NAMES.index(name)
    line = next(n for n, text in enumerate(SOURCE.read_text().split("\n"), 1) if name in text)
    found = []
    for seed in range(400):
        rng = np.random.default_rng([select, seed])
        # Mostly kept: breaks that come late, and sequences without one.
        bits = [rng.random(24) < p for p in (0.9, 0.5, 0.93, 0.95, 0.4)]
        changes = np.cumsum(rng.random(24) < 0.1)
        inputs = sum(b.astype(np.uint32) << k for k, b in enumerate(bits))
        inputs = np.array(inputs | changes.astype(np.uint32) << 8, np.uint32)
        inputs[:2] &= ~np.uint32(1)
        at = ctypes.c_int()
        clock = library().assert_run(
            select, inputs.ctypes.data_as(ctypes.c_void_p), len(inputs), seed, ctypes.byref(at)
        )
        assert clock == expected(select, inputs), f"seed {seed}"
        assert clock < 0 or at.value == line
        found.append(clock)
    assert len(set(found)) > 10 and -1 in found
