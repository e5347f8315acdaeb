"""The optimizer, to the bit, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse import optim
from models.sparse.optim import Rates
from verif.play import Block, Player

CORE = "jackdaw:engine:sparse_update"
LATENCIES = [(3, 4, 16, 16), regress(1, 1, 2, 2)]  # of multiplier, adder, divider, root


def rmsprop_bench(mul: int, add: int, div: int, root: int, seed: int = 1) -> Player:
    block = Block(
        CORE, "jd_sparse_rmsprop",
        {
            "rate_i": 32, "alpha_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "value_i": 32,
            "square_i": 32, "gradient_i": 32,
        },
        {"valid_o": 1, "value_o": 32, "square_o": 32, "step_o": 32},
    )  # fmt: skip
    parameters = {"MulLatency": mul, "AddLatency": add, "DivLatency": div, "SqrtLatency": root}
    return Player(block, parameters, seed)


def numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """[count] float32 of many sizes, some of any class."""
    near = rng.standard_normal(count) * 2.0 ** rng.integers(-40, 20, count)
    special = np.array([0, -0.0, 1e-45, -1e-40, 3e38, np.inf, -np.inf, np.nan], np.float32)
    return np.where(rng.random(count) < 0.05, rng.choice(special, count), near).astype(np.float32)


def codes(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).view(np.uint32)


@builds(rmsprop_bench)
@pytest.mark.parametrize(("mul", "add", "div", "root"), LATENCIES)
def test_sparse_rmsprop(mul: int, add: int, div: int, root: int, seed: int) -> None:
    """Numbers of all classes, with gaps between them; rates of a run."""
    rng = np.random.default_rng(seed)
    sim = rmsprop_bench(mul, add, div, root, seed)
    latency = 2 * mul + 3 * add + div + root
    for _ in range(scale(20, 4)):
        alpha = np.float32(rng.uniform(0.9, 1))
        rates = Rates(
            np.float32(10 ** rng.uniform(-5, 0)), alpha, np.float32(1 - alpha),
            np.float32(10 ** rng.uniform(-9, -2)), np.float32(0),
        )  # fmt: skip
        count = 600
        w, v, g = numbers(rng, count), np.abs(numbers(rng, count)), numbers(rng, count)
        valid = rng.random(count) < 0.8
        clocks = count + latency
        tail = np.zeros(latency, np.uint32)
        with np.errstate(all="ignore"):
            want, square = optim.rmsprop(w, v, g, rates)
            step = optim.step(rates.lr, g, square, rates)
        inputs = {
            name: np.concatenate([codes(x), tail])
            for name, x in (("value_i", w), ("square_i", v), ("gradient_i", g))
        }
        held = {
            name: np.full(clocks, codes(np.array([x]))[0])
            for name, x in (
                ("rate_i", rates.lr), ("alpha_i", rates.alpha), ("rest_i", rates.rest),
                ("eps_i", rates.eps),
            )
        }  # fmt: skip
        out = sim.run(clocks, valid_i=np.concatenate([valid, tail]), **inputs, **held)
        late = {name: x[latency:] for name, x in out.items()}
        assert (late["valid_o"] == valid).all()
        for name, x in (("value_o", want), ("square_o", square), ("step_o", step)):
            assert (late[name][valid] == codes(x)[valid]).all(), name
