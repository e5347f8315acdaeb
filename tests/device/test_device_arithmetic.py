"""A simulator with the processor's products and sums against the RTL's: bits, clocks."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import models.float as golden
from flow.regression import builds
from jackdaw.device import load_config
from jackdaw.device.sim import SimDevice, build_library
from jackdaw.drivers.learner import Learner, Storage, adam, td_pitch
from verif.float import oracle

CONFIG = load_config("small")
SIZES, RECORDS, BATCH, STEPS = (4, 16, 2), 32, 16, 7
pytestmark = builds(
    lambda: SimDevice(CONFIG),
    lambda: build_library(CONFIG, assertions=False, compiled_arithmetic=True),
)


@pytest.fixture(scope="module")
def library() -> Path:
    """The small build as it trains: with the processor's arithmetic, without assertions."""
    return build_library(CONFIG, assertions=False, compiled_arithmetic=True)


@pytest.mark.parametrize(
    ("operation", "form"), [("mul", "f32"), ("add", "f32"), ("mul", "f16"), ("add", "f16")]
)
def test_compiled_arithmetic_is_the_models(
    library: Path, operation: str, form: str, seed: int
) -> None:
    """All pairs of interesting operands and random ones, half of them of about the same size."""
    bits: Any
    bits, real = oracle.DTYPES[form]
    listed = np.array(oracle.interesting(form), bits)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(np.iinfo(bits).max, size=(2, 50_000), dtype=bits, endpoint=True)
    near = {"f32": 1 << 26, "f16": 1 << 12}[form]
    b[::2] = a[::2] + rng.integers(near, size=len(b[::2]), dtype=bits)
    a = np.concatenate([np.repeat(listed, len(listed)), a])
    b = np.concatenate([np.tile(listed, len(listed)), b])
    name = f"jd_compiled_{operation}{'_half' if form == 'f16' else ''}"
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype, function.argtypes = ctypes.c_uint32, (ctypes.c_uint32, ctypes.c_uint32)
    got = np.array([function(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)], bits)
    with np.errstate(all="ignore"):
        want = getattr(golden, operation)(a.view(real), b.view(real))
    np.testing.assert_array_equal(got, want.view(bits))


def run(seed: int, compiled: bool, scale: float) -> tuple[list[Any], list[int]]:
    """Train and evaluate; every result as bits, and the clock after each job.

    Args:
        scale: of the first weights; small ones make subnormal products.
    """
    rng = np.random.default_rng(seed)
    results: list[Any] = []
    clocks = []
    with SimDevice(
        CONFIG, seed=seed, assertions=not compiled, compiled_arithmetic=compiled
    ) as device:
        learner = Learner(device)
        learner.load_program(learner.dqn(SIZES, adam(1e-2), kappa=1.0, sync_period=2))
        learner.load(
            [
                ((scale * rng.standard_normal((n_out, n_in))).astype(np.float32),
                 (scale * rng.standard_normal(n_out)).astype(np.float32))
                for n_in, n_out in pairwise(SIZES)
            ]
        )  # fmt: skip
        words = rng.standard_normal((RECORDS, 16)).astype(np.float32)
        words[:, 4] = rng.integers(0, 2, RECORDS).astype(np.int32).view(np.float32)
        storage = Storage(device.alloc(words.nbytes), 64, RECORDS)
        device.write(storage.base, words)
        results.append(learner.infer(words[:, :4]))
        clocks.append(device.clock)
        for _ in range(STEPS):
            indices = rng.integers(0, RECORDS, (1, BATCH))
            td = device.alloc(td_pitch(BATCH))
            learner.train(BATCH, storage, indices=indices, td_address=td).wait(60)
            results.append(device.read(td, 4 * BATCH))
            clocks.append(device.clock)
        state = learner.state()
        results += [state[name] for name in sorted(state)]
    return [np.ascontiguousarray(r).view(np.uint8) for r in results], clocks


@pytest.mark.parametrize("scale", [0.3, 1e-20], ids=["ordinary", "subnormal"])
def test_compiled_arithmetic_trains_to_the_bit_in_the_same_clocks(seed: int, scale: float) -> None:
    want = run(seed, False, scale)
    # What this thread's floating point is set to does not count.
    flushes = torch.set_flush_denormal(True)
    try:
        got = run(seed, True, scale)
    finally:
        torch.set_flush_denormal(False)
    assert flushes
    assert got[1] == want[1]
    for ours, theirs in zip(got[0], want[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)
