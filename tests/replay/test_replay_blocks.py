"""Converters, target generator and row compare of the replay engine against their golden models."""

from __future__ import annotations

import numpy as np
import pytest

from flow import simulate
from flow.regression import builds, regress
from models.replay.priority import priorities
from models.replay.weights import weights
from verif.play import Block, Player

CORE = "jackdaw:engine:replay_tree"
PRIORITY = Block(
    CORE,
    "jd_replay_priority",
    {
        "alpha_i": 16, "eps_i": 32, "fraction_bits_i": 5, "smallest_i": 32, "largest_i": 32,
        "valid_i": 1, "error_i": 32,
    },
    {"valid_o": 1, "priority_o": 32, "nonfinite_o": 1},
    optimize="-O2",
)  # fmt: skip
WEIGHT = Block(
    CORE,
    "jd_replay_weight",
    {"beta_i": 32, "minimum_i": 32, "valid_i": 1, "priority_i": 32},
    {"valid_o": 1, "weight_o": 32},
    optimize="-O2",
)
# Latencies of jd_replay_pkg.
PRIORITY_LATENCY, WEIGHT_LATENCY = 15, 10


def _run(
    block: Block, latency: int, words: dict[str, np.ndarray], gap: int, seed: int, **settings: int
) -> dict[str, np.ndarray]:
    """Pass words through a converter, with a pause every `gap` clocks (0 none)."""
    ((name, given),) = words.items()
    clocks = len(given) + (-(-len(given) // (gap - 1)) if gap else 0) + latency
    sent = np.zeros(clocks, bool)
    sent[: clocks - latency] = np.arange(clocks - latency) % gap != 0 if gap else True
    sent[np.flatnonzero(sent)[len(given) :]] = False
    table = np.full(clocks, settings.get("minimum_i", 0), np.uint32)
    table[sent] = given
    held = {port: np.full(clocks, value, np.uint32) for port, value in settings.items()}
    with Player(block, {}, seed) as converter:
        out = converter.run(clocks, valid_i=sent, **{name: table}, **held)
    came = out.pop("valid_o").astype(bool)
    np.testing.assert_array_equal(came[latency:], sent[:-latency])
    assert not came[:latency].any()
    return {port: values[came] for port, values in out.items()}


def _bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize(
    ("alpha", "eps", "fraction", "smallest", "largest"),
    [
        (0.6, _bits(1e-2), 16, 1, 0xFFFFFFFF),
        (1.0, 0, 24, 0, 0xFFFFFFFF),
        (1.99996, _bits(1e-6), 0, 7, 1 << 20),
        (0.0, _bits(1.0), 16, 1, 0xFFFFFFFF),
    ],
)
@builds(lambda: Player(PRIORITY, {}, 1))
def test_priority_matches_model(
    seed: int, alpha: float, eps: int, fraction: int, smallest: int, largest: int
) -> None:
    rng = np.random.default_rng(seed)
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    words = np.concatenate(
        [
            upper | rng.integers(0, 1 << 16, 1 << 16, dtype=np.uint32),
            rng.integers(0, 1 << 32, 150_000, dtype=np.uint32),
            rng.normal(0, 2, 150_000).astype(np.float32).view(np.uint32),
            np.array([0, 1 << 31, 1, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0x7FC00000], np.uint32),
        ]
    )
    a = int(alpha * 2**15)
    got = _run(
        PRIORITY, PRIORITY_LATENCY, {"error_i": words}, 5, seed, alpha_i=a, eps_i=eps,
        fraction_bits_i=fraction, smallest_i=smallest, largest_i=largest,
    )  # fmt: skip
    want, nonfinite = priorities(
        words, alpha=a, eps=eps, fraction_bits=fraction, smallest=smallest, largest=largest
    )
    np.testing.assert_array_equal(got["priority_o"], want)
    np.testing.assert_array_equal(got["nonfinite_o"], nonfinite)


def test_priority_small_leaf(seed: int) -> None:
    """The model alone covers other leaf widths: here the range of 8 bits."""
    rng = np.random.default_rng(seed)
    words = rng.normal(0, 100, 1000).astype(np.float32).view(np.uint32)
    values, _ = priorities(words, alpha=1 << 14, eps=0, fraction_bits=4, smallest=1, largest=255)
    assert values.min() >= 1 and values.max() == 255


@pytest.mark.parametrize("beta", [0, 1 << 28, int(0.4 * 2**30), 1 << 30, (1 << 32) - 1])
@pytest.mark.parametrize("minimum", [1, 1039, 1 << 31])
@builds(lambda: Player(WEIGHT, {}, 1))
def test_weight_matches_model(seed: int, beta: int, minimum: int) -> None:
    rng = np.random.default_rng(seed)
    shift = rng.integers(0, 32, 70_000, dtype=np.uint64)
    words = rng.integers(0, 1 << 32, 70_000, dtype=np.uint64) >> shift
    words = np.maximum(words, minimum)
    words[:4] = [minimum, minimum + 1, (1 << 32) - 1, minimum]
    settings = {"beta_i": beta, "minimum_i": minimum}
    out = _run(WEIGHT, WEIGHT_LATENCY, {"priority_i": words}, 0, seed, **settings)
    got = out["weight_o"]
    want = weights(words.astype(np.int64), minimum, beta)
    np.testing.assert_array_equal(got, want)
    assert got[0] == 0x3F800000


@pytest.mark.cocotb
@pytest.mark.parametrize("test", ["random", "boundaries", "carries"])
def test_generate(test: str, seed: int) -> None:
    simulate.run(
        CORE, toplevel="jd_replay_generate", module="verif.replay.tb_generate", test=test,
        parameters={"TotalW": 48, "SlotsLog2": 9, "LatMul": 6}, seed=seed,
    )  # fmt: skip


@pytest.mark.cocotb
def test_row_compare_exhaustive(seed: int) -> None:
    """K = 4, children of 3 bits: every row and every target, without a pause."""
    simulate.run(
        CORE, toplevel="jd_replay_row_compare", module="verif.replay.tb_row_compare",
        test="exhaustive", parameters={"FanLog2": 2, "ChildW": 3}, seed=seed,
    )  # fmt: skip


@pytest.mark.cocotb
@pytest.mark.parametrize(
    ("fan", "width"), [(3, 9), *(regress(*sizes) for sizes in ((1, 8), (4, 32), (5, 20), (6, 44)))]
)
def test_row_compare_random(seed: int, fan: int, width: int) -> None:
    simulate.run(
        CORE, toplevel="jd_replay_row_compare", module="verif.replay.tb_row_compare",
        test="random", parameters={"FanLog2": fan, "ChildW": width}, seed=seed,
    )  # fmt: skip
