"""jd_float_convert between FP16 and FP32 against the host's conversion."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.float import convert
from verif.play import Block, Player

HALF, SINGLE = (5, 10), (8, 23)


def bench(narrow: bool, latency: int, seed: int = 1) -> Player:
    """To FP16, or from it."""
    (a, b), (c, d) = (SINGLE, HALF) if narrow else (HALF, SINGLE)
    block = Block(
        "jackdaw:lib:float", "jd_float_convert",
        {"valid_i": 1, "value_i": 1 + a + b}, {"valid_o": 1, "result_o": 1 + c + d},
    )  # fmt: skip
    parameters = {"FromExpW": a, "FromManW": b, "ToExpW": c, "ToManW": d, "Latency": latency}
    return Player(block, parameters, seed)


def singles(rng: np.random.Generator, count: int) -> np.ndarray:
    """FP32 codes about what FP16 can hold: halfway, next to it, subnormal, too large, special."""
    halves = rng.integers(0, 1 << 16, count, np.uint32).astype(np.uint16).view(np.float16)
    near = convert(halves, np.float32).view(np.uint32).astype(np.int64)
    near = near + rng.choice([0, 0x1000, 0xFFF, 0x1001, -1, 1, -0x1000], count)
    any_code = rng.integers(0, 1 << 32, count)
    power = rng.integers(127 - 27, 127 + 18, count) << 23
    middle = (any_code & 0x807FFFFF) | power
    pick = rng.integers(0, 4, count)
    return np.choose(pick, [near & 0xFFFFFFFF, any_code, middle, middle & ~0xFFF]).astype(np.uint32)


@builds(bench)
@pytest.mark.parametrize(("narrow", "latency"), [(True, 2), (False, 1), regress(True, 1)])
def test_float_convert(narrow: bool, latency: int, seed: int) -> None:
    """All FP16 codes, or FP32 codes of every class; with gaps."""
    rng = np.random.default_rng(seed)
    if narrow:
        codes = np.append(
            singles(rng, scale(300_000, 20_000)),
            np.array([0, 1, 0x80000000, 0x7F800000, 0xFF800000, 0x7F800001, 0x477FF000,
                      0x477FEFFF, 0x33000000, 0x33000001, 0x007FFFFF], np.uint32),
        )  # fmt: skip
        want = convert(codes.view(np.float32), np.float16).view(np.uint16)
    else:
        codes = np.arange(1 << 16, dtype=np.uint32)
        want = convert(codes.astype(np.uint16).view(np.float16), np.float32).view(np.uint32)
    valid = np.concatenate([rng.random(2 * len(codes)) < 0.9, np.ones(len(codes), bool)])
    last = np.flatnonzero(valid)[len(codes) - 1]
    valid = np.append(valid[: last + 1], np.zeros(latency, bool))
    value = np.zeros(len(valid), np.uint32)
    value[valid] = codes
    out = bench(narrow, latency, seed).run(len(valid), valid_i=valid, value_i=value)
    assert (out["valid_o"][latency:] == valid[:-latency]).all()
    got = out["result_o"][latency:][valid[:-latency]]
    wrong = np.flatnonzero(got != want)
    assert not wrong.size, [hex(int(a[wrong[0]])) for a in (codes, got, want)]
