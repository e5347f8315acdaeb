"""The qat golden numerics against exact integers and fractions."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from flow.effort import scale
from models.qat import noise, ops
from models.replay.rng import Xoshiro, splitmix64

LOW, HIGH = -(1 << 31), (1 << 31) - 1
EXTREMES = np.array([LOW, LOW + 1, -65537, -65536, -1, 0, 1, 32768, 65535, 65536, HIGH - 1, HIGH])


def nearest(x: Fraction) -> int:
    """Round half up."""
    return math.floor(x + Fraction(1, 2))


def away(x: Fraction) -> int:
    """Round away from zero."""
    return math.ceil(x) if x > 0 else math.floor(x)


def clip(x: int, bits: int = 32) -> int:
    return min(max(x, -(1 << bits - 1)), (1 << bits - 1) - 1)


def words(rng: np.random.Generator, *shape: int, bits: int = 32) -> np.ndarray:
    """Signed integers of many magnitudes, some of them at the ends."""
    out = rng.integers(-(1 << bits - 1), 1 << bits - 1, shape)
    out = out >> rng.integers(0, bits, shape)
    ends = np.array([-(1 << bits - 1), (1 << bits - 1) - 1, 0, -1])
    return np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), out)


def exact(x: np.ndarray, y: np.ndarray) -> list[list[int]]:
    """Sums of products in Python's integers."""
    return [
        [sum(int(a) * int(b) for a, b in zip(row, other, strict=True)) for other in y] for row in x
    ]


@pytest.mark.parametrize("shift", range(-16, 25))
def test_rounding_is_half_up(shift: int) -> None:
    half = 1 << max(shift - 1, 0)
    values = [*range(-70, 70), half, -half, 3 * half, -3 * half, 5 * half + 1, HIGH, LOW]
    got = ops.round_shift(np.array(values), shift)
    assert got.tolist() == [nearest(Fraction(v) / Fraction(2) ** shift) for v in values]
    assert ops.round_shift(values[3], shift) == got[3]


def test_saturation_counts_what_it_changes() -> None:
    for bits in (16, 32):
        most = (1 << bits - 1) - 1
        values = np.array([-most - 2, -most - 1, -most, 0, most, most + 1, 1 << 62])
        got, count = ops.saturate(values, bits)
        assert got.tolist() == [clip(int(v), bits) for v in values] and count == 3


def test_products_are_exact(seed: int) -> None:
    """Each way that operands are taken: as they are, in halves of one, in halves of both."""
    rng = np.random.default_rng(seed)
    for bits_x, bits_y in ((12, 20), (17, 32), (32, 17), (32, 32), (16, 32), (32, 16)):
        for _ in range(scale(20, 4)):
            m, n, k = rng.integers(1, 12, 3)
            x, y = words(rng, m, k, bits=bits_x), words(rng, n, k, bits=bits_y)
            want = exact(x, y)
            assert ops.products(x, y, 16).tolist() == [[v >> 16 for v in row] for row in want]
            if bits_x + bits_y <= 49:
                assert ops.products(x, y).tolist() == want
    for x_end in (LOW, HIGH):  # the longest sums of the largest products
        for y_end in (LOW, HIGH):
            x, y = np.full((1, 1024), x_end), np.full((1, 1024), y_end)
            assert ops.products(x, y, 16).item() == 1024 * x_end * y_end >> 16
        x, y = np.full((1, 1024), x_end), np.full((1, 1024), -(1 << 15))
        assert ops.products(x, y).item() == ops.products(y, x).item() == -1024 * x_end << 15
    ties = np.array([[(1 << 27) + 1]]), np.array([[(1 << 27) + 1]])  # one bit beyond float64
    assert ops.products(*ties).item() == ((1 << 27) + 1) ** 2


def test_products_do_not_depend_on_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = words(rng, 5, 200), words(rng, 6, 200)
    order = rng.permutation(200)
    np.testing.assert_array_equal(
        ops.products(x, y, 16), ops.products(x[:, order], y[:, order], 16)
    )


@pytest.mark.parametrize("shift", [None, 0, 1, 5, 15, 16])
def test_layers_round_their_exact_sums_once(shift: int | None, seed: int) -> None:
    """Forward, dX, dW and bias gradient, in both modes."""
    rng = np.random.default_rng(seed)
    for _ in range(scale(20, 4)):
        n, p, q = rng.integers(1, 9, 3)
        w, b, d = words(rng, p, q), words(rng, p), words(rng, n, p)
        a = words(rng, n, q, bits=32 if shift is None else 16)
        frac = 16 if shift is None else 16 - shift  # of the activations
        one = Fraction(1)
        z, over = ops.forward(a, w, b, shift)
        sums = [
            [s * one / 2 ** (24 + frac) + Fraction(int(b[j]), 1 << 24) for j, s in enumerate(row)]
            for row in exact(a, w)
        ]
        rounded = [[nearest(s * 2**16) for s in row] for row in sums]
        assert z.tolist() == [[clip(v) for v in row] for row in rounded]
        assert over == sum(v != clip(v) for row in rounded for v in row)
        x, _ = ops.backward(d, w)
        assert x.tolist() == [
            [clip(nearest(s * one / 2**24)) for s in row] for row in exact(d, w.T)
        ]
        g, _ = ops.gradient(d, a, shift)
        assert g.tolist() == [
            [clip(nearest(s * one / 2 ** (24 + frac - 20))) for s in row] for row in exact(d.T, a.T)
        ]
        gb, _ = ops.bias_gradient(d)
        assert gb.tolist() == [clip(nearest(sum(map(int, col)) * one / 16)) for col in d.T]


@pytest.mark.parametrize("shift", [None, 0, 7, 16])
def test_lanes_hold_the_gradient(shift: int | None, seed: int) -> None:
    """Sums of the array's lanes give the same gradient as activations and deltas."""
    rng = np.random.default_rng(seed)
    n, p, q = 6, 5, 7
    d, a = words(rng, n, p), words(rng, n, q, bits=32 if shift is None else 16)
    if shift is None:  # each vector in both lanes
        low, high = d.T @ (a & 0xFFFF), d.T @ (a >> 16)
    else:  # every second vector in a lane
        low, high = d[::2].T @ a[::2], d[1::2].T @ a[1::2]
    got, want = ops.drain(low, high, shift), ops.gradient(d, a, shift)
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1] == want[1]


def test_shift_of_ranges_that_software_writes() -> None:
    """A least value above 0 and a largest below it count as 0."""
    assert ops.shift_of(1 << 30, -(1 << 30) - 1) == 0
    assert ops.shift_of(5, 1 << 30) == 16


def test_quantizer_takes_the_least_shift_that_fits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for largest in [0, 1, (1 << 15) - 1, 1 << 15, (1 << 16) - 1, 1 << 16, HIGH, 1 << 31]:
        shift = ops.shift_of(-largest, 0)
        assert shift == ops.shift_of(0, largest) and 0 <= shift <= 16
        assert min(largest, HIGH) >> shift < 1 << 15
        assert not shift or largest >> shift - 1 >= 1 << 15
    for shift in range(17):
        a = words(rng, 200)
        got, over = ops.quantize(a, shift)
        want = [nearest(Fraction(int(v), 1 << shift)) for v in a]
        assert got.tolist() == [clip(v, 16) for v in want]
        assert over == sum(v != clip(v, 16) for v in want)
    # What was within the captured range is at most half a step away, but for the largest half step.
    a = rng.integers(-(1 << 20), 1 << 20, 1000)
    shift = ops.shift_of(int(a.min()), int(a.max()))
    got, _ = ops.quantize(a, shift)
    assert np.abs((got << shift) - a).max() <= 1 << shift


def test_tanh_table_and_error() -> None:
    """The table against decimals of 40 places; values against the function; symmetry; steps."""
    getcontext().prec = 40
    for k, value in enumerate(ops.TANH_TABLE):
        e = (Decimal(k) / 32).exp()
        assert int(((e - 1) / (e + 1) * 2**18 + Decimal("0.5")).to_integral_value("ROUND_FLOOR")) \
            == value  # fmt: skip
    z = np.concatenate([np.arange(-(9 << 16), 9 << 16, 7), EXTREMES])
    y = ops.tanh(z)
    assert np.abs(y / 65536 - np.tanh(z / 65536)).max() <= 3.15e-5
    np.testing.assert_array_equal(ops.tanh(-z), -y)
    ordered = ops.tanh(np.arange(-(1 << 20), 1 << 20, 97))
    assert (np.diff(ordered) >= 0).all() and np.abs(ordered).max() <= ops.ONE


def test_derivatives() -> None:
    x = EXTREMES
    for a in (-3, 0, 1, 30000):
        got, _ = ops.derivative(x, np.full_like(x, a), ops.RELU)
        assert got.tolist() == [v if a > 0 else 0 for v in x.tolist()]
    for a in (-65536, -65535, -1, 0, 20000, 65536):
        got, _ = ops.derivative(x, np.full_like(x, a), ops.TANH)
        slope = 65536 - nearest(Fraction(a * a, 1 << 16))
        assert got.tolist() == [clip(nearest(Fraction(v * slope, 1 << 16))) for v in x.tolist()]
    assert ops.derivative(x, x, ops.NONE)[0] is x


def test_loss_by_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = scale(300, 100)
    q, following, reward = words(rng, n), words(rng, n), words(rng, n)
    discount = rng.choice([0, 1, 1 << 31, (1 << 32) - 1, 4252017623], n)
    weight = rng.choice([0, 1, 1 << 23, 1 << 24, (1 << 25) - 1], n)
    for lc in range(-8, 8):
        for used in (None, weight):
            got = ops.loss(q, following, reward, discount, used, lc)
            over = 0
            for k in range(n):
                ahead = nearest(Fraction(int(following[k]) * int(discount[k]), 1 << 32))
                y = clip(int(reward[k]) + ahead)
                td = clip(int(q[k]) - y)
                exact_w = td if used is None else nearest(Fraction(td * int(weight[k]), 1 << 24))
                seed_ = clip(exact_w) << 8 + lc
                over += (y != int(reward[k]) + ahead) + (td != int(q[k]) - y)
                over += (exact_w != clip(exact_w)) + (seed_ != clip(seed_))
                assert (got.y[k], got.td[k], got.seed[k]) == (y, td, clip(seed_))
            assert got.saturated == over
    assert [ops.actor_seed(la) for la in (0, 4, 6)] == [-(1 << 24), -(1 << 28), -(1 << 30)]


def test_isqrt_is_the_floor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    roots = [0, 1, 2, 3, 1 << 16, (1 << 26) + 1, (1 << 32) - 1]
    roots += rng.integers(0, 1 << 32, scale(2000, 500)).tolist()
    for root in roots:
        for x in (root * root - 1, root * root, root * root + 1, (root + 1) ** 2 - 1):
            if 0 <= x < 1 << 64:
                assert int(ops.isqrt(np.uint64(x))) == math.isqrt(x), x


def test_second_moment_rounds_away_from_zero() -> None:
    """Towards the square and away from it, at ties and at both ends."""
    ends = [0, 1, 2, 3, 5, (1 << 32) - 1, (1 << 63) + 1, (1 << 64) - 1]
    for c2 in (1 << 23, 1, 3 << 22, (1 << 24) - 1):
        for v in ends:
            for g in (0, 1, -2, 3, LOW, HIGH):
                want = v + away(Fraction((g * g - v) * c2, 1 << 24))
                got = ops.second_moment(np.uint64(v), np.int64(g), np.int64(c2))
                assert int(got) == want, (v, g, c2)


def adam_exact(w: int, m: int, v: int, t: int, g: int, s: ops.Adam) -> tuple[int, int, int, int]:
    """One weight's update, in fractions: m, v, w, t."""
    unit = Fraction(1, 1 << 24)
    m += away((g - m) * s.c1 * unit)
    v += away((g * g - v) * s.c2 * unit)
    size = min((abs(m) << 24) // (math.isqrt(v) + s.eps), (1 << 27) - 1)
    ratio = -size if m < 0 else size
    w = clip(w - nearest(Fraction(ratio * s.rate, 1 << 32)))
    if s.tau:
        t = clip(t + nearest((w - t) * s.tau * unit))
    return m, v, w, t


def test_adam_by_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = scale(4000, 1500)
    for s in (
        ops.Adam(1677722, 16777, 1, 4294967, 83886),
        ops.Adam((1 << 24) - 1, (1 << 24) - 1, (1 << 24) - 1, (1 << 26) - 1, 1 << 24),
        ops.Adam(1, 1, 1, (1 << 26) - 1, 0),
    ):
        w, m, t, g = (words(rng, n).astype(np.int32) for _ in range(4))
        v = rng.integers(0, 1 << 64, n, np.uint64) >> rng.integers(0, 64, n).astype(np.uint64)
        v[:4] = 0, (1 << 64) - 1, (1 << 64) - 1, 0
        g[:4] = LOW, 0, LOW, HIGH
        same = rng.random(n) < 0.1  # where v is the square already, or nearly
        v[same] = (g[same].astype(np.int64) ** 2).astype(np.uint64)
        rows = zip(*(x.tolist() for x in (w, m, v, t, g)), strict=True)
        want = [adam_exact(a, b, c, d, e, s) for a, b, c, d, e in rows]
        ops.adam(w, m, v, t, g, s)
        assert list(zip(m.tolist(), v.tolist(), w.tolist(), t.tolist(), strict=True)) == want
        assert all(LOW <= got[0] <= HIGH and 0 <= got[1] < 1 << 64 for got in want)  # no clip


def test_adam_counts_saturated_weights() -> None:
    w = np.array([LOW, HIGH, 0], np.int32)
    m = np.array([HIGH, LOW, 0], np.int32)
    v, t, g = np.zeros(3, np.uint64), np.zeros(3, np.int32), np.array([HIGH, LOW, 0], np.int32)
    assert ops.adam(w, m, v, t, g, ops.Adam(1, 1, 1, (1 << 26) - 1, 0)) == 2
    assert w.tolist() == [LOW, HIGH, 0]


def test_adam_keeps_padding_zero() -> None:
    w, m, t, g = (np.zeros(8, np.int32) for _ in range(4))
    v = np.zeros(8, np.uint64)
    ops.adam(w, m, v, t, g, ops.Adam(1677722, 16777, 1, 1 << 25, 1 << 24))
    assert not any(x.any() for x in (w, m, v, t))


def test_adam_forgets_gradients(seed: int) -> None:
    """A weight whose gradient ends stands still after some steps: its first moment becomes 0."""
    rng = np.random.default_rng(seed)
    n = 64
    w, m, t, none = (np.zeros(n, np.int32) for _ in range(4))
    v = np.zeros(n, np.uint64)
    scalars = ops.Adam(1677722, 16777, 1, 4294967, 0)
    for _ in range(20):
        g = np.ldexp(rng.normal(0, 1, n), rng.integers(0, 20, n)).astype(np.int32)
        ops.adam(w, m, v, t, g, scalars)
    for _ in range(200):
        ops.adam(w, m, v, t, none, scalars)
    assert not m.any()
    before = w.copy()
    ops.adam(w, m, v, t, none, scalars)
    assert w.tolist() == before.tolist()


@pytest.mark.parametrize("size", [1, 3, 22, 1000])
def test_adam_with_a_small_constant_gradient(size: int) -> None:
    """Steps have the length of the rate, as those of the real one, whatever the gradient's size."""
    w, m, t = (np.zeros(1, np.int32) for _ in range(3))
    v, g = np.zeros(1, np.uint64), np.full(1, size, np.int32)
    rate = 1 << 25  # 2**-7, of the weight's 2**-24 131,072 units
    for _ in range(3000):
        ops.adam(w, m, v, t, g, ops.Adam(1677722, 16777, 1, rate, 0))
    before = int(w[0])
    ops.adam(w, m, v, t, g, ops.Adam(1677722, 16777, 1, rate, 0))
    length = (before - int(w[0])) / (1 << 17)
    assert size / (size + 2) <= length <= 1.06  # epsilon is a unit


def test_adam_follows_the_real_one(seed: int) -> None:
    """200 steps of random gradients against float64.

    m is rounded to 2**-20 in each step and forgets a tenth of it: its error is below 10 * 2**-21.
    The root is floored to 2**-20. With gradients near 1 a step of the length `rate` is wrong by
    less than 20 * 2**-20 of it, and by the half unit of w; errors of steps add up.
    """
    rng = np.random.default_rng(seed)
    n, steps, rate = 64, 200, 1e-3
    w, m, t = (np.zeros(n, np.int32) for _ in range(3))
    v = np.zeros(n, np.uint64)
    real_w, real_m, real_v = np.zeros(n), np.zeros(n), np.zeros(n)
    c1, c2 = 1677722, 16777
    for step in range(1, steps + 1):
        g = rng.normal(0.3, 1, n)
        fixed = np.round(g * 2**20).astype(np.int32)
        lr = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        ops.adam(w, m, v, t, fixed, ops.Adam(c1, c2, 1, round(lr * 2**32), 0))
        real_m += (g - real_m) * c1 / 2**24
        real_v += (g * g - real_v) * c2 / 2**24
        real_w -= round(lr * 2**32) / 2**32 * real_m / (np.sqrt(real_v) + 2**-20)
    assert np.abs(w / 2**24 - real_w).max() < 20 * steps * rate * 2**-20 + steps * 2**-25
    assert np.abs(real_w).max() > 0.01


@pytest.mark.parametrize("kind", [noise.UNIFORM, noise.GAUSSIAN, noise.ORNSTEIN])
def test_noise_has_its_moments(kind: int) -> None:
    """Within 4 deviations of the estimate; the seed is fixed, so this cannot fail by chance."""
    generator, state = Xoshiro(splitmix64(7)), [0] * 16
    sigma, theta, count = 1 << 15, 1 << 14, 20000
    rounds = [noise.draw(kind, generator, state, 16, sigma, theta) for _ in range(count // 16)]
    drawn = np.concatenate(rounds) / ops.ONE
    deviation = {
        noise.UNIFORM: 0.5 / math.sqrt(3),
        noise.GAUSSIAN: 0.5,
        noise.ORNSTEIN: 0.5 / math.sqrt(1 - 0.75**2),  # its stationary one
    }[kind]
    # Values of the last kind hang together: each counts for (1 - 0.75) / (1 + 0.75) of one.
    counted = count / (7 if kind == noise.ORNSTEIN else 1)
    assert abs(drawn.mean()) < 4 * deviation / math.sqrt(counted)
    assert abs(drawn.std() / deviation - 1) < 4 / math.sqrt(2 * counted)
    if kind == noise.UNIFORM:
        assert np.abs(drawn).max() <= 0.5


def test_noise_takes_words_in_order() -> None:
    reference = Xoshiro(splitmix64(3))
    drawn = [reference.next() for _ in range(8)]
    assert noise.draw(noise.UNIFORM, Xoshiro(splitmix64(3)), [], 2, ops.ONE, 0) == [
        (word >> 47) - 65536 for word in drawn[:2]
    ]
    parts = [word >> 16 * k & 0xFFFF for word in drawn[3:6] for k in range(4)]
    got = noise.draw(noise.GAUSSIAN, Xoshiro(splitmix64(3)), [], 2, ops.ONE, 0)
    assert got[1] == sum(parts) - 393216
    state, theta = [1000, -70000], 9830
    got = noise.draw(noise.ORNSTEIN, Xoshiro(splitmix64(3)), state, 2, 6554, theta)
    second = sum(parts) - 393216
    pull = nearest(Fraction(-70000 * theta, 65536))
    assert got[1] == state[1] == -70000 - pull + nearest(Fraction(second * 6554, 65536))
    still = Xoshiro(splitmix64(3))
    assert noise.draw(noise.NO_NOISE, still, [], 2, 1, 1) == [0, 0]
    assert still.state == Xoshiro(splitmix64(3)).state
    assert [noise.disturb(a, 60000) for a in (-65536, 0, 6000)] == [-5536, 60000, 65536]
