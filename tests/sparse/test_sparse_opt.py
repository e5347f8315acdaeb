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


def regroup_bench(mul: int, add: int, div: int, root: int, seed: int = 1) -> Player:
    block = Block(
        CORE, "jd_sparse_regroup",
        {
            "rate_i": 32, "alpha_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "sum_i": 64,
            "square_i": 32, "entry_i": 8, "drawn_i": 16,
        },
        {"valid_o": 1, "entry_o": 8, "square_o": 32},
    )  # fmt: skip
    parameters = {"MulLatency": mul, "AddLatency": add, "DivLatency": div, "SqrtLatency": root}
    return Player(block, parameters, seed)


def numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """[count] float32 of many sizes, some of any class."""
    near = rng.standard_normal(count) * 2.0 ** rng.integers(-40, 20, count)
    special = np.array([0, -0.0, 1e-45, -1e-40, 3e38, np.inf, -np.inf, np.nan], np.float32)
    return np.where(rng.random(count) < 0.05, rng.choice(special, count), near).astype(np.float32)


def random_rates(rng: np.random.Generator) -> Rates:
    alpha = np.float32(rng.uniform(0.9, 1))
    return Rates(
        np.float32(10 ** rng.uniform(-5, 0)), alpha, np.float32(1 - alpha),
        np.float32(10 ** rng.uniform(-9, -2)), np.float32(10 ** rng.uniform(-4, 1.5)),
    )  # fmt: skip


def held(rates: Rates, rate: np.float32, clocks: int) -> dict[str, np.ndarray]:
    """The rates as inputs, `rate` the learning rate."""
    names = {"rate_i": rate, "alpha_i": rates.alpha, "rest_i": rates.rest, "eps_i": rates.eps}
    return {name: np.full(clocks, codes(np.array([x]))[0]) for name, x in names.items()}


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
        rates = random_rates(rng)
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
        out = sim.run(
            clocks, valid_i=np.concatenate([valid, tail]), **inputs, **held(rates, rates.lr, clocks)
        )  # fmt: skip
        late = {name: x[latency:] for name, x in out.items()}
        assert (late["valid_o"] == valid).all()
        for name, x in (("value_o", want), ("square_o", square), ("step_o", step)):
            assert (late[name][valid] == codes(x)[valid]).all(), name


@builds(regroup_bench)
@pytest.mark.parametrize(("mul", "add", "div", "root"), LATENCIES)
def test_sparse_regroup(mul: int, add: int, div: int, root: int, seed: int) -> None:
    """Sums of all sizes, entries that saturate, steps rounded both ways."""
    rng = np.random.default_rng(seed)
    sim = regroup_bench(mul, add, div, root, seed)
    latency = 2 * mul + 3 * add + div + root + 7
    for _ in range(scale(20, 4)):
        rates, count = random_rates(rng), 600
        sums = (rng.standard_normal(count) * 2.0 ** rng.integers(0, 58, count)).astype(np.int64)
        sums[rng.random(count) < 0.05] = 0
        states = np.abs(numbers(rng, count))
        entries = rng.integers(-128, 128, (count, 1)).astype(np.int8)
        drawn = rng.integers(0, 1 << 16, count)
        valid = rng.random(count) < 0.8
        with np.errstate(all="ignore"):
            want, squares = optim.regroup(
                entries, states, np.zeros(count, np.int64), sums, drawn, rates
            )
        clocks = count + latency
        tail = np.zeros(latency, np.int64)
        out = sim.run(
            clocks, valid_i=np.concatenate([valid, tail]),
            sum_i=np.concatenate([sums, tail]).view(np.uint32).reshape(clocks, 2),
            square_i=np.concatenate([codes(states), tail.astype(np.uint32)]),
            entry_i=np.concatenate([entries[:, 0].view(np.uint8), tail]),
            drawn_i=np.concatenate([drawn, tail]), **held(rates, rates.lr_group, clocks),
        )  # fmt: skip
        late = {name: x[latency:] for name, x in out.items()}
        assert (late["valid_o"] == valid).all()
        assert (late["square_o"][valid] == codes(squares)[valid]).all()
        assert (late["entry_o"][valid] == want[:, 0].view(np.uint8)[valid]).all()
