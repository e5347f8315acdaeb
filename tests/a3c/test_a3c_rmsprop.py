"""Rows of parameters through several RMSProp units: bits, order, rate and back-pressure."""

from __future__ import annotations

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from models.a3c.rmsprop import HyperParameters, rmsprop
from verif.a3c.numbers import bits_of, draw, floats
from verif.play import Block, Player

RMSPROP = Block(
    "jackdaw:engine:a3c_rmsprop",
    "jd_a3c_rmsprop",
    {
        "eta_i": 32, "rho_i": 32, "rest_i": 32, "eps_i": 32, "in_valid_i": 1, "in_data_i": 1536,
        "out_ready_i": 1,
    },
    {"busy_o": 1, "in_ready_o": 1, "out_valid_o": 1, "out_data_o": 1024},
    stream=True,
)  # fmt: skip

# units, then the latencies of multiplier, adder, divider, root
BUILDS = {"4-short": (4, 2, 2, 4, 4), "8-long": (8, 4, 6, 28, 28), "16-least": (16, 1, 1, 2, 2)}
NAMES = ("Units", "MulLatency", "AddLatency", "DivLatency", "SqrtLatency")
USUAL = HyperParameters.make(7e-4)
LIMIT = 30_000
pytestmark = builds(lambda: player("4-short", 1), lambda name: player(name, 1))


def latency(name: str) -> int:
    """Clocks of a unit."""
    _, multiplier, adder, divider, root = BUILDS[name]
    return 2 * multiplier + 3 * adder + divider + root


def slices(name: str) -> int:
    """Clocks of a row."""
    return 16 // BUILDS[name][0]


def player(name: str, seed: int) -> Player:
    return Player(RMSPROP, dict(zip(NAMES, BUILDS[name], strict=True)), seed)


def settle(sim: Player, settings: np.ndarray, clocks: int = 1) -> dict[str, np.ndarray]:
    """Some clocks without rows, with settings that stay."""
    names = ("eta_i", "rho_i", "rest_i", "eps_i")
    return sim.run(clocks, **{n: np.full(clocks, w) for n, w in zip(names, settings, strict=True)})


def check(
    sim: Player, rows: int, give: np.ndarray, take: np.ndarray, seed: int, special: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Send random rows and compare; returns the clocks in which they came and left."""
    generator = np.random.default_rng([seed, rows])
    settings = USUAL.encode()
    before = settle(sim, settings)
    assert not before["busy_o"].any()
    theta, square, gradient = (draw(generator, rows, 16, special=special) for _ in range(3))
    data = np.concatenate([theta, square, gradient], 1)
    got, came, left = sim.stream(data, give, take)
    want = rmsprop(floats(theta), floats(square), floats(gradient), USUAL)
    expected = np.concatenate([bits_of(w) for w in want], 1)
    wrong = np.argwhere(got != expected)
    assert not wrong.size, f"seed {seed}: {len(wrong)} words differ, first {wrong[0]}"
    assert not settle(sim, settings)["busy_o"].any(), "busy after the last row"
    return came, left


@pytest.mark.parametrize("name", keep(BUILDS))
def test_rmsprop_rate(name: str, seed: int) -> None:
    """Row after row without a gap, and the stated latency."""
    ones = np.ones(LIMIT, bool)
    with player(name, seed) as sim:
        came, left = check(sim, 150, ones, ones, seed)
    np.testing.assert_array_equal(came, np.arange(150) * slices(name))
    np.testing.assert_array_equal(left, came + latency(name) + slices(name) + 3)


@pytest.mark.parametrize("name", keep(BUILDS))
@pytest.mark.parametrize(("give", "take"), [(0.2, 1.0), (1.0, 0.1), (0.5, 0.5)])
def test_rmsprop_stalls(name: str, give: float, take: float, seed: int) -> None:
    """Pauses of the source and back-pressure of the sink, of a clock and of many."""
    generator = np.random.default_rng([seed, 52])
    with player(name, seed) as sim:
        for span in (1, 60):
            given, taken = (
                np.repeat(generator.random(LIMIT // span) < share, span) for share in (give, take)
            )
            check(sim, 120, given, taken, seed)


@pytest.mark.parametrize("name", keep(BUILDS))
def test_rmsprop_room(name: str, seed: int) -> None:
    """While nothing is taken so many rows come as have a place, and none is lost."""
    room = -(-latency(name) // slices(name)) + 8
    with player(name, seed) as sim:
        came, left = check(sim, room + 20, np.ones(LIMIT, bool), np.arange(LIMIT) >= 1000, seed)
    assert (came < 1000).sum() == room
    np.testing.assert_array_equal(left[:room], 1000 + np.arange(room))


def test_rmsprop_reset(seed: int) -> None:
    """A reset drops what is inside: at the input, in the units, at the output."""
    name = "4-short"
    ones = np.ones(LIMIT, bool)
    with player(name, seed) as sim:
        for clocks in (2, 5, 20, 27, 40, 75):
            data = np.full((clocks, 48), 0x3F80_0000)
            sim.run(clocks, in_valid_i=np.ones(clocks), in_data_i=data)
            sim.run(2, rst_ni=np.zeros(2))
            check(sim, 10, ones, ones, seed)


def test_rmsprop_settings_are_held(seed: int) -> None:
    """A hyper-parameter that changes under a row is seen."""
    with player("4-short", seed) as sim, pytest.raises(CheckFailed) as found:
        valid = np.eye(1, 40, 3, dtype=np.uint32)[0]
        sim.run(40, in_valid_i=valid, eta_i=np.arange(40) > 15)
    assert found.value.name == "SettingsHeld_M"
