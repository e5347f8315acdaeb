# SPDX-License-Identifier: Apache-2.0
"""The golden model and the RTL against MPFR, and the harness's own rounding against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import models.float as golden
from flow.regression import builds
from verif.float import oracle
from verif.float.lanes import FORMATS, OPERATIONS, Lanes

MODELS = {"mul": golden.mul, "add": golden.add, "sub": golden.sub, "div": golden.div}
pytestmark = builds(lambda float_format: Lanes(float_format))


def patterns(float_format: str, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """All interesting pairs and `count` random ones: a, b, [N] uint64."""
    listed = np.array(oracle.interesting(float_format), np.uint64)
    rng = np.random.default_rng(seed)
    bits = 1 << sum(FORMATS[float_format]) + 1
    a, b = rng.integers(bits, size=(2, count), dtype=np.uint64)
    # Half of the random pairs have close exponents.
    b[::2] = (a[::2] + rng.integers(bits >> 6, size=len(b[::2]), dtype=np.uint64)) % bits
    return (
        np.concatenate([np.repeat(listed, len(listed)), a]),
        np.concatenate([np.tile(listed, len(listed)), b]),
    )


@pytest.mark.parametrize("float_format", ["f32", "f16"])
@pytest.mark.parametrize("operation", [*MODELS, "sqrt"])
def test_float_model_is_mpfr(float_format: str, operation: str, seed: int) -> None:
    a, b = patterns(float_format, seed, 20_000)
    x, y = oracle.to_float(a, float_format), oracle.to_float(b, float_format)
    got = oracle.to_bits(golden.sqrt(x) if operation == "sqrt" else MODELS[operation](x, y))
    want = np.array(
        [
            oracle.operate(operation, int(i), int(j), float_format)
            for i, j in zip(a, b, strict=True)
        ],
        np.uint64,
    )
    np.testing.assert_array_equal(got, want)
    with Lanes(float_format, seed) as lanes:
        lane = lanes.find("add" if operation == "sub" else operation)
        np.testing.assert_array_equal(lanes.run(lane, a, b, operation == "sub"), want)


@pytest.mark.parametrize("float_format", ["f32", "f16"])
def test_float_model_compares(float_format: str, seed: int) -> None:
    a, b = patterns(float_format, seed, 5_000)
    x, y = oracle.to_float(a, float_format), oracle.to_float(b, float_format)
    less = [oracle.value(int(i), float_format) < oracle.value(int(j), float_format)
            for i, j in zip(a, b, strict=True)]  # fmt: skip
    equal = [oracle.value(int(i), float_format) == oracle.value(int(j), float_format)
             for i, j in zip(a, b, strict=True)]  # fmt: skip
    np.testing.assert_array_equal(golden.less(x, y), less)
    np.testing.assert_array_equal(golden.equal(x, y), equal)
    with Lanes(float_format, seed) as lanes:
        got = lanes.run(lanes.find("compare"), a, b)
    unordered = np.isnan(x) | np.isnan(y)
    np.testing.assert_array_equal(got, np.array(less) + 2 * np.array(equal) + 4 * unordered)


@pytest.mark.parametrize("float_format", ["f32", "f16"])
def test_float_conversions(float_format: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    floats, _ = patterns(float_format, seed, 3_000)
    floats = np.unique(floats)
    with Lanes(float_format, seed) as lanes:
        for lane in lanes.lanes:
            width, dtype = lane.integer + lane.fraction, np.int64 if lane.signed else np.uint64
            if lane.operation == "to_fixed":
                x = oracle.to_float(floats, float_format)
                model = golden.to_fixed(x, lane.integer, lane.fraction, lane.signed)
                arguments = (width, lane.fraction, lane.signed, float_format)
                want = [oracle.to_integer(int(i), *arguments) for i in floats]
                np.testing.assert_array_equal(model, np.array(want, dtype), lane.name)
                mask = np.uint64((1 << width) - 1)
                got = lanes.run(lane, floats)
                np.testing.assert_array_equal(got, model.astype(np.uint64) & mask, lane.name)
            elif lane.operation == "from_fixed":
                words = rng.integers(1 << 64, size=3_000, dtype=np.uint64)
                words >>= rng.integers(64, size=len(words), dtype=np.uint64)
                edges = [v for k in range(64) for v in (2**k - 1, 2**k, 2**k + 1)]
                words = np.concatenate([words, np.array(edges, np.uint64)])
                shift = np.uint64(64 - width)
                values = (words << shift).view(dtype) >> dtype(64 - width)
                model = golden.from_fixed(values, lane.fraction, oracle.DTYPES[float_format][1])
                want = [oracle.from_integer(int(v), lane.fraction, float_format) for v in values]
                np.testing.assert_array_equal(oracle.to_bits(model), want, lane.name)
                np.testing.assert_array_equal(lanes.run(lane, words), want, lane.name)


@builds(lambda: Lanes("f16"))
def test_float_harness_rounds_like_numpy(seed: int) -> None:
    """The half-precision routine of reference.hpp against NumPy's float16, 100 000 pairs each."""
    a, b = patterns("f16", seed, 100_000)
    x, y = oracle.to_float(a, "f16"), oracle.to_float(b, "f16")
    with Lanes("f16", seed) as lanes:
        for operation, model in MODELS.items():
            word = OPERATIONS.index("add" if operation == "sub" else operation) << 24
            want = oracle.to_bits(model(x, y))
            subtract = int(operation == "sub")
            for i in range(0, len(a), 7):
                got = lanes.library.jd_reference(
                    word, ctypes.c_uint64(int(a[i])), ctypes.c_uint64(int(b[i])), subtract
                )
                assert got == want[i], (operation, hex(a[i]), hex(b[i]), hex(got), hex(want[i]))


def test_float_model_refuses_other_types() -> None:
    with pytest.raises(TypeError, match="float64"):
        golden.mul(np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match="float16"):
        golden.add(np.ones(2, np.float32), np.ones(2, np.float16))


def test_float_model_takes_scalars() -> None:
    got = golden.sub(np.float32(np.inf), np.float32(np.inf))
    assert np.asarray(got).view(np.uint32) == 0x7FC00000
