"""The RMSProp unit against models/a3c/rmsprop.py, to the bit and to the clock."""

from __future__ import annotations

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from models.a3c.rmsprop import HyperParameters, rmsprop
from verif.a3c.numbers import SPECIALS, bits_of, draw, floats
from verif.play import Block, Player

RMSPROP_UNIT = Block(
    "jackdaw:engine:a3c_rmsprop",
    "jd_a3c_rmsprop_unit",
    {
        "eta_i": 32, "rho_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "theta_i": 32,
        "square_i": 32, "gradient_i": 32,
    },
    {"valid_o": 1, "theta_o": 32, "square_o": 32},
)  # fmt: skip

# multiplier, adder, divider, root
BUILDS = {"2-2-4-4": (2, 2, 4, 4), "1-3-2-5": (1, 3, 2, 5), "4-6-28-28": (4, 6, 28, 28)}
NAMES = ("MulLatency", "AddLatency", "DivLatency", "SqrtLatency")
USUAL = HyperParameters.make(7e-4)
pytestmark = builds(lambda: player(BUILDS["2-2-4-4"], 1), lambda name: player(BUILDS[name], 1))


def latency(build: tuple[int, ...]) -> int:
    """Clocks from valid_i to valid_o."""
    multiplier, adder, divider, root = build
    return 2 * multiplier + 3 * adder + root + divider


def player(build: tuple[int, ...], seed: int) -> Player:
    return Player(RMSPROP_UNIT, dict(zip(NAMES, build, strict=True)), seed)


def stream(
    sim: Player, build: tuple[int, ...], settings: np.ndarray, valid: np.ndarray,
    words: np.ndarray, reset: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Give words and wait until all are out.

    Args:
        sim: the unit; build: its latencies.
        settings: [4] uint32: eta, rho, 1 - rho, eps.
        valid: [N] bool, clocks in which a word is given.
        words: [3, N] uint32: theta, mean square, gradient.
        reset: [N] bool, clocks of reset.
    Returns: valid_o, theta_o and square_o of each clock, [N + latency].
    """
    clocks = valid.size + latency(build)
    pad = (0, clocks - valid.size)
    names = ("eta_i", "rho_i", "rest_i", "eps_i")
    inputs = {n: np.full(clocks, w) for n, w in zip(names, settings, strict=True)}
    inputs |= {n: np.pad(w, pad) for n, w in zip(("theta_i", "square_i", "gradient_i"), words,
                                                 strict=True)}  # fmt: skip
    inputs["valid_i"] = np.pad(valid, pad)
    if reset is not None:
        inputs["rst_ni"] = 1 - np.pad(reset, pad)
    out = sim.run(clocks, **inputs)
    return out["valid_o"], out["theta_o"], out["square_o"]


def compare(
    build: tuple[int, ...], settings: np.ndarray, valid: np.ndarray, words: np.ndarray, seed: int,
    sim: Player,
) -> None:  # fmt: skip
    """Compare every clock with the golden update."""
    got_valid, theta, square = stream(sim, build, settings, valid, words)
    late = latency(build)
    np.testing.assert_array_equal(got_valid, np.pad(valid, (late, 0)), f"seed {seed}: valid_o")
    start, mean, gradient = (floats(w) for w in words)
    want = rmsprop(start, mean, gradient, HyperParameters.decode(settings))
    for name, got, numbers in (("theta", theta, want[0]), ("square", square, want[1])):
        wrong = np.flatnonzero((got[late:] != bits_of(numbers)) & valid)
        assert not wrong.size, (
            f"seed {seed}: {name}: {wrong.size} of {valid.sum()} differ, first "
            f"{[hex(w) for w in words[:, wrong[0]]]} with {[hex(w) for w in settings]}: got "
            f"{got[late + wrong[0]]:#x}, want {bits_of(numbers)[wrong[0]]:#x}"
        )


@pytest.mark.parametrize("name", keep(BUILDS))
def test_rmsprop_unit_random(name: str, seed: int) -> None:
    """Words back to back and with gaps; usual settings, odd ones and special values anywhere."""
    build = BUILDS[name]
    generator = np.random.default_rng([seed, 21])
    odd = [draw(generator, 4, special=0.2) for _ in range(6)]
    usual = [HyperParameters.make(eta, rho, eps).encode()
             for eta, rho, eps in ((7e-4, 0.99, 0.1), (0.5, 0.9, 1e-5))]  # fmt: skip
    with player(build, seed) as sim:
        for settings in (*usual, *odd):
            count = 4000
            words = np.stack([draw(generator, count, special=0.05) for _ in range(3)])
            words[1, : count // 2] &= 0x7FFF_FFFF  # a mean square is not below zero
            valid = generator.random(count) < np.where(np.arange(count) % 1000 < 500, 1, 0.6)
            compare(build, settings, valid, words, seed, sim)


def test_rmsprop_unit_special_values(seed: int) -> None:
    """All triples of special values with usual settings, and special settings with usual words."""
    build = BUILDS["2-2-4-4"]
    triples = np.stack(np.meshgrid(SPECIALS, SPECIALS, SPECIALS)).reshape(3, -1)
    generator = np.random.default_rng([seed, 22])
    with player(build, seed) as sim:
        compare(build, USUAL.encode(), np.ones(triples.shape[1], bool), triples, seed, sim)
        for place in range(4):
            for value in SPECIALS:
                settings = USUAL.encode()
                settings[place] = value
                words = np.stack([draw(generator, 8, special=0.0) for _ in range(3)])
                compare(build, settings, np.ones(8, bool), words, seed, sim)


@pytest.mark.slow
def test_rmsprop_unit_million(seed: int) -> None:
    build = BUILDS["2-2-4-4"]
    generator = np.random.default_rng([seed, 23])
    with player(build, seed) as sim:
        for _ in range(10):
            words = np.stack([draw(generator, 100_000, special=0.05) for _ in range(3)])
            compare(build, USUAL.encode(), np.ones(100_000, bool), words, seed, sim)


def test_rmsprop_unit_padding_stays(seed: int) -> None:
    """With a gradient of +0 a parameter of +0 stays, with any legal settings; its mean square does
    unless both of its factors are negative."""
    build = BUILDS["2-2-4-4"]
    generator = np.random.default_rng([seed, 24])
    legal = 0
    with player(build, seed) as sim:
        for _ in range(50):
            settings = draw(generator, 4, special=0.2)
            settings[3] &= 0x7FFF_FFFF
            if not HyperParameters.decode(settings).legal:
                continue
            legal += 1
            out = stream(sim, build, settings, np.ones(1, bool), np.zeros((3, 1), np.uint32))
            negative = settings[1] & settings[2] & np.uint32(0x8000_0000)
            assert [x[-1] for x in out] == [1, 0, negative], [hex(w) for w in settings]
    assert legal >= 10


def test_rmsprop_unit_reset(seed: int) -> None:
    """A reset drops the words that are in the unit, and no other."""
    build = BUILDS["2-2-4-4"]
    late = latency(build)
    valid = np.ones(100, bool)
    reset = np.zeros(100, bool)
    reset[60:62] = True
    valid[reset] = False
    with player(build, seed) as sim:
        got, _, _ = stream(sim, build, USUAL.encode(), valid, np.zeros((3, 100), np.uint32), reset)
    # A result that is out when the reset comes was there; what was given before is gone.
    want = np.pad(valid, (late, 0))
    want[61 : 62 + late] = False
    np.testing.assert_array_equal(got, want)


def test_rmsprop_unit_settings_are_held(seed: int) -> None:
    """A hyper-parameter that changes while a word is in the unit is seen, and not after it."""
    build = BUILDS["2-2-4-4"]
    late = latency(build)
    for after, broken in ((late, True), (late + 1, False)):
        with player(build, seed) as sim:
            valid = np.eye(1, 60, 3, dtype=np.uint32)[0]
            rho = np.where(np.arange(60) > 3 + after - 1, 7, 9)
            if not broken:
                sim.run(60, valid_i=valid, rho_i=rho)
                continue
            with pytest.raises(CheckFailed) as found:
                sim.run(60, valid_i=valid, rho_i=rho)
            assert found.value.name == "SettingsHeld_M"
