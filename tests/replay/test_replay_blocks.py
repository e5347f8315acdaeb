"""Converters, target generator and row compare of the replay engine against their golden models."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from flow import library, simulate
from flow.regression import regress
from models.replay.priority import priorities
from models.replay.weights import weights

CORE = "jackdaw:engine:replay_tree"
# Latencies of jd_replay_pkg.
PRIORITY_LATENCY, WEIGHT_LATENCY = 15, 10


@cache
def _library(block: str) -> ctypes.CDLL:
    defines = ["JD_WEIGHT"] if block == "jd_replay_weight" else []
    path = library.build(CORE, block, "verif/replay/converters.cpp", defines=defines)
    return ctypes.CDLL(str(path))


def _run(
    block: str, settings: list[int], words: np.ndarray, gap: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pass uint32 words through a converter, with a pause every `gap` clocks (0 none)."""
    setting = np.array(settings, np.uint32)
    words = np.ascontiguousarray(words, np.uint32)
    out, flag = np.zeros(len(words), np.uint32), np.zeros(len(words), np.uint8)
    latency = _library(block).run(
        *(ctypes.c_void_p(a.ctypes.data) for a in (setting, words, out, flag)),
        ctypes.c_uint64(len(words)),
        ctypes.c_uint64(gap),
    )
    want = PRIORITY_LATENCY if block == "jd_replay_priority" else WEIGHT_LATENCY
    assert latency == want
    return out, flag.astype(bool)


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
@pytest.mark.builds(lambda: _library("jd_replay_priority"))
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
    got, flags = _run("jd_replay_priority", [a, eps, fraction, smallest, largest], words, 5)
    want, nonfinite = priorities(
        words, alpha=a, eps=eps, fraction_bits=fraction, smallest=smallest, largest=largest
    )
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(flags, nonfinite)


def test_priority_small_leaf(seed: int) -> None:
    """The model alone covers other leaf widths: here the range of 8 bits."""
    rng = np.random.default_rng(seed)
    words = rng.normal(0, 100, 1000).astype(np.float32).view(np.uint32)
    values, _ = priorities(words, alpha=1 << 14, eps=0, fraction_bits=4, smallest=1, largest=255)
    assert values.min() >= 1 and values.max() == 255


@pytest.mark.parametrize("beta", [0, 1 << 28, int(0.4 * 2**30), 1 << 30, (1 << 32) - 1])
@pytest.mark.parametrize("minimum", [1, 1039, 1 << 31])
@pytest.mark.builds(lambda: _library("jd_replay_weight"))
def test_weight_matches_model(seed: int, beta: int, minimum: int) -> None:
    rng = np.random.default_rng(seed)
    shift = rng.integers(0, 32, 70_000, dtype=np.uint64)
    words = rng.integers(0, 1 << 32, 70_000, dtype=np.uint64) >> shift
    words = np.maximum(words, minimum)
    words[:4] = [minimum, minimum + 1, (1 << 32) - 1, minimum]
    got, _ = _run("jd_replay_weight", [beta, minimum], words, 0)
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
