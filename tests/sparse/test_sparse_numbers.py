"""Numbers of the sparse engine: functions over all codes, and the compiled forms to the bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from flow.effort import scale
from models.replay.rng import Xoshiro
from models.sparse import comm, kernels, layer, lstm, optim
from models.sparse.numbers import (
    SIGMOID_OF,
    TANH_OF,
    half,
    multiply_add,
    sigmoid,
    single,
    tanh,
)
from models.sparse.optim import Rates
from models.sparse.osel import Encoding, encode

CODES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
ONE = np.float32


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """FP16 values of all classes: mostly of middle size, some tiny, huge, infinite or NaN."""
    values = rng.normal(size=shape) * 2.0 ** rng.integers(-12, 4, shape)
    kinds = rng.integers(0, 60, shape)
    for kind, special in enumerate((0.0, -0.0, 6e-8, -3e-5, 65504.0, -65504.0)):
        values = np.where(kinds == kind, special, values)
    return values.astype(np.float16)


def wild(values: np.ndarray, rng: np.random.Generator, count: int = 3) -> np.ndarray:
    """The same with a few infinities and NaNs."""
    out = values.copy()
    places = rng.integers(0, out.size, count)
    out.reshape(-1)[places] = rng.choice([np.inf, -np.inf, np.nan], count).astype(np.float16)
    return out


def equal(found: np.ndarray, want: np.ndarray) -> None:
    """The same bits."""
    assert found.dtype == want.dtype
    code = np.uint16 if found.dtype == np.float16 else np.uint32
    assert np.array_equal(np.ascontiguousarray(found).view(code), want.view(code))


def test_sigmoid_and_tanh_of_every_code_are_near() -> None:
    x = CODES.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = ((sigmoid, 1 / (1 + np.exp(-x))), (tanh, np.tanh(x)))
    for function, want in wanted:
        found = function(CODES)
        assert np.array_equal(np.isnan(found), np.isnan(CODES))
        there = ~np.isnan(CODES)
        assert np.abs(found[there].astype(np.float64) - want[there]).max() <= 2.7e-4
        order = np.argsort(x[there], kind="stable")
        assert (np.diff(found[there][order].astype(np.float64)) >= 0).all()
        nan = found[np.isnan(CODES)].view(np.uint16)
        assert (nan == 0x7E00).all()


def test_tanh_is_odd_exact_near_zero_and_one_far_away() -> None:
    there = CODES[~np.isnan(CODES)]
    equal(tanh(-there), -tanh(there))
    near = there[np.abs(there) < 2.0**-5]
    equal(tanh(near), near)
    far = there[there >= 8]
    assert (tanh(far) == 1).all() and tanh(there[there == 7.996]).min(initial=1) >= 0.999
    assert (sigmoid(there[there >= 16]) == 1).all() and (sigmoid(there[there == 0]) == 0.5).all()


def by_integers(x: float, half_angle: bool) -> int:
    """Binary point 28: the tangent of |x|, or of |x|/2, from a table of its own."""
    fixed = math.floor(abs(x) * 2.0 ** (15 if half_angle else 16) + 0.5)
    k = fixed >> 10
    low, high = (math.floor(math.tanh(j / 64) * 2**18 + 0.5) for j in (k, k + 1))
    return (low << 10) + (high - low) * (fixed & 1023)


def test_functions_are_their_integers(seed: int) -> None:
    """The segments at both ends and random codes, with one rounding."""
    rng = np.random.default_rng(seed)
    edges = np.array([2.0**-5, 0.0156, 0.03125, 7.97, 7.99, 7.996, 1, 15.98, 15.99], np.float16)
    x = np.concatenate([edges, rng.choice(CODES[np.abs(CODES) < 16], scale(4000, 400))])
    for value in np.concatenate([x, -x]):
        one = np.array([value])
        if 2.0**-5 <= abs(value) < 8:
            want = np.copysign(by_integers(float(value), False) / 2**28, value)
            assert tanh(one)[0] == np.float16(want)
        part = by_integers(float(value), True) >> 1
        total = 2**27 + (-part if np.signbit(value) else part)
        assert sigmoid(one)[0] == np.float16(total / 2**28)


def test_conversions_round_once() -> None:
    ties = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65519.9, 65520, 2**-25, 2**-25 * 1.0001], ONE)
    want = np.array([1, 1 + 2**-9, 65504, np.inf, 0, 2**-24], np.float16)
    equal(half(ties), want)
    equal(half(single(CODES)), np.where(np.isnan(CODES), np.float16(np.nan), CODES))
    assert half(np.array([np.nan], ONE)).view(np.uint16)[0] == 0x7E00


@njit
def _rounded(x, y):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for k in range(len(x)):
        out[k] = kernels.half(x[k] + y[k])
    return out


def test_the_compiled_rounding_is_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = single(wild(halves(rng, scale(200000, 20000)), rng))
    b = single(halves(rng, len(a)))
    equal(half(_rounded(a, b)), multiply_add(half(a), half(b), np.ones(1, np.float16)))
    products = a * b
    equal(half(_rounded(products, np.full_like(b, -0.0))), half(products))


def mask(rng: np.random.Generator, m: int, n: int, groups: int) -> Encoding:
    return encode(rng.integers(0, groups, m), rng.integers(0, groups, n), groups)


@pytest.mark.parametrize("case", ["vec", "row", "split", "split row"])
def test_the_compiled_sums_are_the_definitions(case: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(scale(40, 6)):
        parts = int(rng.choice([2, 4])) if "split" in case else 1
        groups = 1 if parts > 1 else int(rng.choice([1, 2, 4, 8]))
        m, n, v = int(rng.integers(4, 40)), int(rng.integers(1, 40)), 4 * int(rng.integers(1, 6))
        found = mask(rng, m, n, groups)
        x, w = wild(halves(rng, v, m), rng), halves(rng, m, n)
        cores = 3 if "row" in case else 1
        owner = rng.integers(0, 3, m) if "row" in case else None
        want = layer.forward(x, w, found.row_lists, found.column_lists, parts, owner, cores)
        xs = np.ascontiguousarray(single(x).T)
        sums = [
            layer.contract(
                xs, [layer.pack(single(w), part, found.column_lists) for part in core], n, 0, v
            )
            for core in layer.split_lists(found.row_lists, parts, owner, cores)
        ]
        for other in sums[1:]:
            kernels.add_half(sums[0], other)
        equal(half(sums[0].T), want)


def test_masked_inputs_do_not_count(seed: int) -> None:
    """An infinity that meets only masked weights leaves an output alone."""
    rng = np.random.default_rng(seed)
    found = mask(rng, 24, 24, 4)
    x, w = halves(rng, 4, 24), halves(rng, 24, 24)
    with np.errstate(over="ignore"):
        before = layer.forward(x, w, found.row_lists, found.column_lists)
    x[:, found.ig == 2] = np.inf
    after = layer.forward(x, w, found.row_lists, found.column_lists)
    keep = found.og != 2
    equal(after[:, keep], before[:, keep])
    assert not np.isfinite(after[:, ~keep].astype(np.float64)).all()


def test_a_group_without_rows_gives_zero() -> None:
    found = encode(np.zeros(5, np.int64), np.array([0, 1, 1, 0]), 2)
    y = layer.forward(
        np.ones((4, 5), np.float16), np.ones((5, 4), np.float16), found.row_lists,
        found.column_lists,
    )  # fmt: skip
    equal(y, np.tile(np.array([5, 0, 0, 5], np.float16), (4, 1)))


def test_the_compiled_gradient_is_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(scale(40, 6)):
        groups = int(rng.choice([1, 2, 4, 8]))
        m, n, v = int(rng.integers(1, 40)), int(rng.integers(1, 40)), 4 * int(rng.integers(1, 9))
        found = mask(rng, m, n, groups)
        x, dy = halves(rng, v, m), halves(rng, v, n)
        if rng.random() < 0.3:
            dy = wild(dy, rng, 1)
        core = int(rng.integers(-1, 3))
        owner = rng.integers(0, 3, m)
        before = rng.normal(size=(m, n)).astype(ONE)
        active = found.mask & ((owner == core)[:, None] if core >= 0 else True)
        want = layer.weight_gradient(before, x, dy, active)
        inner, outer = layer.flat(found.row_lists), layer.flat(found.column_lists)
        blocks = list(zip(found.row_lists, found.column_lists, strict=True))
        grad = np.concatenate([before[np.ix_(r, c)].reshape(-1) for r, c in blocks])
        finite = kernels.gradient(
            np.ascontiguousarray(single(x).T), np.ascontiguousarray(single(dy)[:, outer[0]]), 0, v,
            *inner, outer[1], owner, core, grad,
        )  # fmt: skip
        equal(grad, np.concatenate([want[np.ix_(r, c)].reshape(-1) for r, c in blocks]))
        assert finite == bool(np.isfinite(want[active]).all())
        sums = rng.normal(size=n).astype(ONE)
        expected = layer.bias_gradient(sums, dy)
        assert kernels.add_bias_sums(np.ascontiguousarray(single(dy).T), 0, v, sums) == bool(
            np.isfinite(expected).all()
        )
        equal(sums, expected)


def test_the_compiled_lstm_is_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v, hidden = 24, scale(64, 16)
    z, cell = wild(halves(rng, v, 4 * hidden), rng), halves(rng, v, hidden)
    want = lstm.forward(z, cell)
    block = np.zeros((8, hidden, v), ONE)
    kernels.lstm_forward(
        np.ascontiguousarray(single(z).T), np.ascontiguousarray(single(cell).T), TANH_OF,
        SIGMOID_OF, block,
    )  # fmt: skip
    names = ("h", "cell", "tc", "i", "f", "g", "o")
    for k, name in enumerate(names):
        equal(half(block[k].T), getattr(want, name))
    dh, dcell = halves(rng, v, hidden), halves(rng, v, hidden)
    dz, before = lstm.backward(want, cell, dh, dcell)
    block[kernels.DCELL] = single(dcell).T
    kernels.lstm_backward(block, single(cell).T.copy(), single(dh).T.copy())
    gates = [block[k] for k in (kernels.GATE_I, kernels.GATE_F, kernels.GATE_G, kernels.GATE_O)]
    equal(half(np.concatenate(gates).T), dz)
    equal(half(block[kernels.DCELL].T), before)


def test_the_compiled_communication_is_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for agents in range(1, 11):
        episodes, hidden = int(rng.integers(1, 5)), 8
        h, dcom, dh = (wild(halves(rng, episodes, agents, hidden), rng, 1) for _ in range(3))
        gates = rng.random((episodes, agents)) < 0.6
        inverse = ONE(1 / (agents - 1) if agents > 1 else 0)
        v = episodes * agents
        padding = 3  # vectors after the last episode stay as they are

        def flat(a: np.ndarray) -> np.ndarray:
            out = np.zeros((hidden, v + padding), ONE)  # noqa: B023
            out[:, :v] = single(a).reshape(v, -1).T  # noqa: B023
            return out

        told = np.zeros(v + padding, ONE)
        told[:v] = gates.reshape(-1)
        out = np.zeros((hidden, v + padding), ONE)
        kernels.communicate(flat(h), told, 0, v, agents, inverse, out)
        equal(half(out[:, :v].T), comm.forward(h, gates, inverse).reshape(v, -1))
        assert not out[:, v:].any()
        back = flat(dh)
        kernels.communicate_back(flat(dcom), told, 0, v, agents, inverse, back)
        equal(half(back[:, :v].T), comm.backward(dh, dcom, gates, inverse).reshape(v, -1))


def test_communication_is_the_mean_of_the_others() -> None:
    h = np.array([[[1.0], [2.0], [4.0]]], np.float16)
    out = comm.forward(h, np.array([[True, True, False]]), ONE(0.5))
    assert out.reshape(-1).tolist() == [1.0, 0.5, 1.5]
    back = comm.backward(np.zeros((1, 3, 1), np.float16), h, np.array([[True, True, False]]),
                         ONE(0.5))  # fmt: skip
    assert back.reshape(-1).tolist() == [3.0, 2.5, 0.0]


# ---- Optimizer ----
RATES = Rates(ONE(1e-3), ONE(0.97), ONE(1 - 0.97), ONE(1e-6), ONE(1e-3))


def test_rmsprop_is_torchs(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    w = rng.normal(size=50).astype(ONE)
    parameter = torch.nn.Parameter(torch.tensor(w))
    reference = torch.optim.RMSprop([parameter], lr=1e-3, alpha=0.97, eps=1e-6)
    v = np.zeros(50, ONE)
    for _ in range(5):
        g = rng.normal(size=50).astype(ONE)
        w, v = optim.rmsprop(w, v, g, RATES)
        parameter.grad = torch.tensor(g)
        reference.step()
    assert np.allclose(w, parameter.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_a_gradient_of_zero_moves_nothing() -> None:
    w = np.array([0.5, -0.25], ONE)
    after, v = optim.rmsprop(w, np.zeros(2, ONE), np.zeros(2, ONE), RATES)
    equal(after, w)
    assert not v.any()


def test_products_have_40_bits_and_saturate() -> None:
    w = np.array([1.0, 2.0**-40, 1e20, -1e20, 2.0**-41 * 3], ONE)
    found = optim.products(w, np.ones(5, ONE))
    assert found.tolist() == [1 << 40, 1, (1 << 53) - 1, -(1 << 53), 2]


@pytest.mark.parametrize(
    ("gradient", "drawn", "moved"),
    [(1, 0, -1), (1, 0xFFFF, -2), (-1, 0, 2), (-1, 0xFFFF, 1), (0, 0xFFFF, 0)],
)
def test_an_entry_is_rounded_by_its_draw(gradient: int, drawn: int, moved: int) -> None:
    """A step of 1.5 units of 2^-8 becomes 1 or 2, as the 16 bits drawn say."""
    rates = Rates(ONE(0), ONE(0), ONE(1), ONE(1e-30), ONE(1.5 / 256))
    entries = np.array([[3, 50, -7]], np.int8)
    out, states = optim.regroup(
        entries, np.zeros(1, ONE), np.array([1]), np.array([gradient << 40]),
        np.array([drawn]), rates,
    )  # fmt: skip
    assert out.tolist() == [[3, 50 + moved, -7]]
    assert states.tolist() == [float(gradient**2)]


def test_entries_saturate() -> None:
    rates = Rates(ONE(0), ONE(0), ONE(1), ONE(1e-30), ONE(1e6))
    for sign, want in ((1, -128), (-1, 127)):
        out, _ = optim.regroup(
            np.array([[5]], np.int8), np.zeros(1, ONE), np.array([0]), np.array([sign << 40]),
            np.array([0]), rates,
        )  # fmt: skip
        assert out[0, 0] == want


def test_draws_are_the_upper_bits_in_order() -> None:
    first, second = Xoshiro([1, 2, 3, 4]), Xoshiro([1, 2, 3, 4])
    assert optim.draws(first, 5).tolist() == [second.next() >> 48 for _ in range(5)]
    assert first.state == second.state


def test_the_mean_of_rounded_steps_is_the_step(seed: int) -> None:
    """Stochastic rounding has no bias: many entries move by 0.3 units each on the mean."""
    rates = Rates(ONE(0), ONE(0), ONE(1), ONE(1e-30), ONE(0.3 / 256))
    count = 4000
    generator = Xoshiro([seed + 1, 5, 6, 7])
    out, _ = optim.regroup(
        np.zeros((count, 1), np.int8), np.zeros(count, ONE), np.zeros(count, np.int64),
        np.full(count, 1 << 40), optim.draws(generator, count), rates,
    )  # fmt: skip
    assert abs(out.mean() + 0.3) < 4 * np.sqrt(0.21 / count)
