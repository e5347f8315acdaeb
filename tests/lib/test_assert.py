"""The checks of jd_assert.svh fail in the clock in which their properties do, and in no other."""

from __future__ import annotations

import numpy as np
import pytest

from flow import ROOT
from flow.library import CheckFailed
from flow.regression import builds
from verif.play import Block, Player

SOURCE = ROOT / "verif/common/jd_assert_bench.sv"
NAMES = ("Always_A", "If_A", "Next_A", "Stable_A", "Stream_A", "If_M")
BENCH = Block(
    "jackdaw:verif:assert_bench",
    "jd_assert_bench",
    {"select_i": 3, "when_i": 1, "expression_i": 1, "valid_i": 1, "ready_i": 1, "payload_i": 128},
    {},
)


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
@builds(lambda: Player(BENCH, {}, 1))
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
        columns = {
            port: inputs >> k & 1
            for k, port in enumerate(("rst_ni", "when_i", "expression_i", "valid_i", "ready_i"))
        }
        payload = np.zeros((24, 4), np.uint32)
        payload[:, 3] = inputs >> 8
        clock = -1
        with Player(BENCH, {}, seed) as bench:
            try:
                bench.run(24, select_i=np.full(24, select), payload_i=payload, **columns)
            except CheckFailed as failed:
                clock = failed.failure.clock
                assert (failed.name, failed.failure.line) == (name, line)
        assert clock == expected(select, inputs), f"seed {seed}"
        found.append(clock)
    assert len(set(found)) > 10 and -1 in found
