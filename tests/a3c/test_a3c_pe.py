"""The processing element against the golden sums, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep, regress
from models.a3c import ops
from verif.a3c.numbers import bits_of, draw, floats
from verif.a3c.pe import PE, Config, Traffic, preload, sums
from verif.play import Player

CONFIGS = {
    "32-M3-A4": Config(),
    "2-M1-A2": Config(2, 1, 2),
    "16-M4-A6": Config(16, 4, 6),  # as in hardware
    "64-M2-A8": Config(64, 2, 8),  # with clocks before the adder
}
CLOCKS = 12_000
GOALS = (
    *(f"distance {k}{how}" for k in range(3) for how in ("", " masked")), "distance 0 first",
    "both halves", "drain at once", "drained", "preload beside issue", "all contexts", "reset",
)  # fmt: skip
pytestmark = builds(
    lambda: Player(PE, CONFIGS["32-M3-A4"].parameters, 1),
    lambda name: Player(PE, CONFIGS[name].parameters, 1),
)


@pytest.mark.parametrize("name", keep(CONFIGS))
def test_pe_random(name: str, seed: int) -> None:
    """Contexts in any order, as close as they may be, on both halves; masks, drains, resets."""
    config = CONFIGS[name]
    generator = np.random.default_rng([seed, 11])
    seen = dict.fromkeys(GOALS, 0)
    with Player(PE, config.parameters, seed) as player:
        for _ in range(2):
            traffic = Traffic(config, generator, CLOCKS)
            got = player.run(CLOCKS, **traffic.table.columns)["drain_data_o"]
            player.run(config.depth + 1)  # the next traffic begins with nothing in use
            wrong = np.flatnonzero((got != traffic.want) & traffic.known)
            assert not wrong.size, (
                f"seed {seed}: {wrong.size} of {traffic.known.sum()} clocks differ, first "
                f"{wrong[0]}: got {got[wrong[0]]:#x}, want {traffic.want[wrong[0]]:#x}"
            )
            for key, count in traffic.seen.items():
                seen[key] = seen.get(key, 0) + count
    assert all(seen[key] for key in GOALS), f"seed {seed}: not seen: {seen}"
    assert seen["drained"] > CLOCKS // 20


@pytest.mark.parametrize("special", [0.0, 0.04])
def test_pe_convolution_forward(seed: int, special: float) -> None:
    """Whole sums of a convolution, bias first: contexts are pixels."""
    config = CONFIGS["32-M3-A4"]
    generator = np.random.default_rng([seed, 12])
    x = floats(draw(generator, 1, 3, 9, 8, special=special))
    w = floats(draw(generator, 4, 3, 3, 3, special=special))
    bias = floats(draw(generator, 4, special=special))
    want = ops.conv_forward(x, w, bias, 2)
    _, outputs, rows, columns = want.shape
    pixels = [(r, c) for r in range(rows) for c in range(columns)]
    with Player(PE, config.parameters, seed) as player:
        for o in range(outputs):
            a, b = [np.full(len(pixels), bias[o])], [np.ones(len(pixels), np.float32)]
            for i, ky, kx in np.ndindex(w.shape[1:]):
                a.append(np.full(len(pixels), w[o, i, ky, kx]))
                b.append(np.array([x[0, i, 2 * r + ky, 2 * c + kx] for r, c in pixels]))
            got = sums(player, config, o % 2, np.array(a), np.array(b), first=True)
            np.testing.assert_array_equal(got, bits_of(want[0, o]).ravel())


@pytest.mark.parametrize("special", [0.0, 0.04])
@pytest.mark.parametrize("name", ["32-M3-A4", regress("16-M4-A6")])
def test_pe_weight_gradient(name: str, seed: int, special: float) -> None:
    """Gradients that go on from sample to sample: drained, then preloaded in the other half."""
    config = CONFIGS[name]
    generator = np.random.default_rng([seed, 13])
    x = floats(draw(generator, 3, 1, 6, 7, special=special))
    d = floats(draw(generator, 3, 1, 2, 3, special=special))
    want, want_bias = ops.conv_weight_gradient(x, d, 3, 2)
    with Player(PE, config.parameters, seed) as player:
        got = np.zeros(10, np.uint32)
        for n in range(3):
            preload(player, n % 2, got)
            a, b = [], []
            for r, c in np.ndindex(2, 3):
                window = x[n, 0, 2 * r : 2 * r + 3, 2 * c : 2 * c + 3].ravel()
                a.append(np.full(10, d[n, 0, r, c]))
                b.append(np.append(window, np.float32(1)))
            got = sums(player, config, n % 2, np.array(a), np.array(b), first=False)
    np.testing.assert_array_equal(got[:9], bits_of(want).ravel())
    np.testing.assert_array_equal(got[9:], bits_of(want_bias))


def test_pe_order_matters(seed: int) -> None:
    """The sum 2**24 + 1 + 1 of ones depends on its order, so the comparison sees one."""
    config = CONFIGS["32-M3-A4"]
    up = np.array([[1], [1], [2.0**24]], np.float32)
    one = np.ones((3, 1), np.float32)
    with Player(PE, config.parameters, seed) as player:
        rising = sums(player, config, 0, up, one, first=True)
        falling = sums(player, config, 0, up[::-1], one, first=True)
    assert floats(rising)[0] == 2.0**24 + 2
    assert floats(falling)[0] == 2.0**24


def issue_at(*clocks: int, length: int = 40) -> dict[str, np.ndarray]:
    """Issues of one context, without their enable: the rules hold for these, too."""
    valid = np.zeros(length, np.uint32)
    valid[list(clocks)] = 1
    return {"valid_i": valid, "context_i": valid * 5}


@pytest.mark.parametrize("wide", [0, 1], ids=["kept", "broken"])
@pytest.mark.parametrize(
    ("rule", "clocks"), [("ContextRested_M", 4), ("DrainIdleHalf_M", 8), ("PreloadIdleHalf_M", 8)]
)
def test_pe_rules(rule: str, clocks: int, wide: int, seed: int) -> None:
    """A rule that is just kept passes; one clock less is seen, as is the clock of the issue."""
    config = CONFIGS["32-M3-A4"]
    kind = rule.split("Idle")[0].lower()
    late = clocks - wide
    for distance in (late, 0) if wide and kind != "contextrested_m" else (late,):
        with Player(PE, config.parameters, seed) as player:
            if kind == "contextrested_m":
                inputs = issue_at(3, 3 + distance)
            else:
                inputs = issue_at(3)
                inputs[f"{kind}_valid_i"] = np.eye(1, 40, 3 + distance, dtype=np.uint32)[0]
            if not wide:
                player.run(40, **inputs)
                continue
            with pytest.raises(CheckFailed) as found:
                player.run(40, **inputs)
            assert found.value.name == rule


def test_pe_rules_are_for_one_half(seed: int) -> None:
    """The other half is free at any time, and so is the same number of context there."""
    config = CONFIGS["32-M3-A4"]
    with Player(PE, config.parameters, seed) as player:
        inputs = issue_at(3, 4)
        inputs["half_i"] = np.eye(1, 40, 4, dtype=np.uint32)[0]
        player.run(40, **inputs)
        for kind in ("drain", "preload"):
            inputs = issue_at(3)
            inputs[f"{kind}_valid_i"] = np.eye(1, 40, 4, dtype=np.uint32)[0]
            inputs[f"{kind}_half_i"] = inputs[f"{kind}_valid_i"]
            player.run(40, **inputs)
