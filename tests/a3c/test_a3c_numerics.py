"""The a3c golden numerics against plain loops, to the bit, and against PyTorch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from models.a3c import ops
from models.a3c.layout import ParameterMap
from models.a3c.network import NET_S
from models.a3c.rmsprop import HyperParameters, rmsprop
from tests.a3c import literal

SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 1e-20, -1.0],
    np.float32,
)
ULP = 2.0**-24  # half a unit in the last place of 1

# samples, inputs, outputs, height, width, kernel, stride
SMALL = [
    (1, 1, 1, 1, 1, 1, 1),
    (1, 2, 3, 6, 5, 3, 1),
    (2, 3, 2, 7, 8, 3, 2),  # kernel no multiple of the stride, a row and columns left over
    (1, 2, 2, 9, 10, 4, 4),
    (2, 1, 3, 6, 6, 2, 4),  # a stride beyond the kernel: pixels that no tap reaches
    (3, 2, 1, 5, 7, 5, 2),
]
LAYERS = [
    (1, 4, 16, 84, 84, 8, 4),  # the paper's
    (5, 16, 32, 20, 20, 4, 2),
    (2, 5, 7, 19, 23, 3, 2),
    (3, 1, 2, 11, 9, 5, 4),
    (2, 3, 5, 8, 6, 2, 1),
]


def bits(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


def assert_same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(bits(got), bits(np.array(want, np.float32)))


def numbers(rng: np.random.Generator, *shape: int, special: float = 0.0) -> np.ndarray:
    """Random numbers of many magnitudes, a share of them special."""
    values = rng.normal(size=shape) * np.exp2(rng.integers(-12, 12, shape))
    values = values.astype(np.float32)
    strange = rng.random(shape) < special
    values[strange] = rng.choice(SPECIAL, int(strange.sum()))
    return values


def conv_case(
    rng: np.random.Generator, shape: tuple[int, ...], special: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return x, w, bias and d of a convolution."""
    samples, inputs, outputs, height, width, kernel, stride = shape
    rows, columns = (ops.output_size(size, kernel, stride) for size in (height, width))
    return (
        numbers(rng, samples, inputs, height, width, special=special),
        numbers(rng, outputs, inputs, kernel, kernel, special=special),
        numbers(rng, outputs, special=special),
        numbers(rng, samples, outputs, rows, columns, special=special),
    )


@pytest.mark.parametrize("special", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("shape", SMALL)
def test_a3c_convolution_is_the_loops(seed: int, shape: tuple[int, ...], special: float) -> None:
    rng = np.random.default_rng([seed, *shape])
    height, width, kernel, stride = shape[3:]
    for _ in range(3):
        x, w, bias, d = conv_case(rng, shape, special)
        xs, ws, biases, ds = (array.tolist() for array in (x, w, bias, d))
        got = ops.conv_forward(x, w, bias, stride)
        assert_same(got, literal.conv_forward(xs, ws, biases, stride))
        got_w, got_b = ops.conv_weight_gradient(x, d, kernel, stride)
        want_w, want_b = literal.conv_weight_gradient(xs, ds, kernel, stride)
        assert_same(got_w, want_w)
        assert_same(got_b, want_b)
        got = ops.conv_input_gradient(d, w, stride, height, width)
        assert_same(got, literal.conv_input_gradient(ds, ws, stride, height, width))


@pytest.mark.parametrize("special", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 7, 5), (5, 33, 4)])
def test_a3c_fully_connected_is_the_loops(
    seed: int, shape: tuple[int, int, int], special: float
) -> None:
    rng = np.random.default_rng([seed, *shape])
    samples, inputs, outputs = shape
    for _ in range(5):
        x = numbers(rng, samples, inputs, special=special)
        w = numbers(rng, outputs, inputs, special=special)
        bias = numbers(rng, outputs, special=special)
        d = numbers(rng, samples, outputs, special=special)
        lists = [array.tolist() for array in (x, w, bias, d)]
        assert_same(ops.fc_forward(x, w, bias), literal.fc_forward(*lists[:3]))
        want_w, want_b = literal.fc_weight_gradient(lists[0], lists[3])
        got_w, got_b = ops.fc_weight_gradient(x, d)
        assert_same(got_w, want_w)
        assert_same(got_b, want_b)
        assert_same(ops.fc_input_gradient(d, w), literal.fc_input_gradient(lists[3], lists[1]))


def test_a3c_relu_is_the_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array([(d, x) for d in SPECIAL for x in SPECIAL], np.float32)
    d = np.concatenate([pairs[:, 0], numbers(rng, 500)])
    x = np.concatenate([pairs[:, 1], numbers(rng, 500, special=0.2)])
    assert_same(ops.relu(x), [literal.relu(v) for v in x.tolist()])
    want = [literal.relu_gradient(*pair) for pair in zip(d.tolist(), x.tolist(), strict=True)]
    assert_same(ops.relu_gradient(d, x), want)
    assert bits(ops.relu(np.array([-0.0, -1.0], np.float32))).tolist() == [0, 0]
    payload = np.array([0xFFC1_2345, 0x7F80_0001], np.uint32).view(np.float32)
    assert bits(ops.relu(payload)).tolist() == [0x7FC0_0000] * 2


def test_a3c_sums_begin_at_positive_zero() -> None:
    """-0 alone gives +0, as +0 + -0 does."""
    minus = np.full((1, 1, 1, 1), -0.0, np.float32)
    one = np.ones((1, 1, 1, 1), np.float32)
    bias = np.array([-0.0], np.float32)
    results = [
        ops.conv_forward(minus, one, bias, 1),
        *ops.conv_weight_gradient(one, minus, 1, 1),
        ops.conv_input_gradient(minus, one, 1, 1, 1),
        ops.fc_forward(minus[0, 0], one[0, 0], bias),
        *ops.fc_weight_gradient(one[0, 0], minus[0, 0]),
        ops.fc_input_gradient(minus[0, 0], one[0, 0]),
    ]
    assert [int(bits(result).reshape(-1)[0]) for result in results] == [0] * len(results)


def test_a3c_taps_outside_are_skipped() -> None:
    """An infinite weight does not turn pixels to NaN that its tap does not reach."""
    w = np.full((1, 1, 2, 2), np.inf, np.float32)
    w[0, 0, 0, 0] = 1
    d = np.ones((1, 1, 1, 1), np.float32)
    got = ops.conv_input_gradient(d, w, 1, 3, 3)[0, 0]
    assert got.tolist() == [[1.0, np.inf, 0.0], [np.inf, np.inf, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("special", [0.0, 0.3])
def test_a3c_rmsprop_is_the_formula(seed: int, special: float) -> None:
    rng = np.random.default_rng(seed)
    for settings in (
        HyperParameters.make(7e-4),
        HyperParameters.make(0.5, 0.9, 1e-5),
        HyperParameters.make(0.0, 0.0, 1e-40),
        HyperParameters.make(3e38, 1.0, 3e38),
    ):
        theta, d = numbers(rng, 2000, special=special), numbers(rng, 2000, special=special)
        g = np.abs(numbers(rng, 2000, special=special))
        got_theta, got_g = rmsprop(theta, g, d, settings)
        words = [float(x) for x in settings.encode().view(np.float32)]
        want = [
            literal.rmsprop(*row, *words)
            for row in zip(theta.tolist(), g.tolist(), d.tolist(), strict=True)
        ]
        assert_same(got_theta, [row[0] for row in want])
        assert_same(got_g, [row[1] for row in want])


def test_a3c_hyper_parameters_round_trip() -> None:
    settings = HyperParameters.make(7e-4, 0.99, 0.1)
    assert HyperParameters.decode(settings.encode()) == settings
    assert settings.rest == np.float32(0.01)  # of the exact difference, not 1 - fl(rho)
    assert np.float32(1) - settings.rho != settings.rest
    for bad in (
        HyperParameters.make(np.nan),
        HyperParameters.make(np.inf),
        HyperParameters.make(7e-4, np.nan),
        HyperParameters.make(7e-4, 0.99, 0.0),
        HyperParameters.make(7e-4, 0.99, -0.1),
        HyperParameters.make(7e-4, 0.99, np.inf),
    ):
        assert settings.legal and not bad.legal
    assert HyperParameters.make(7e-4, 0.99, 1e-45).legal


def assert_bounded(got: np.ndarray, want: torch.Tensor, magnitude: torch.Tensor, terms: int):
    """|error| <= 1.01*(k + 1)*2**-24 * sum of |products|: a bound proved for any order of k terms.

    Returns the largest share of the bound that is used.
    """
    error = np.abs(got.astype(np.float64) - want.detach().numpy())
    bound = 1.01 * (terms + 1) * ULP * magnitude.detach().numpy() + 1e-43
    assert (error <= bound).all(), (error / bound).max()
    return (error / bound).max()


@pytest.mark.parametrize("shape", LAYERS)
def test_a3c_convolution_agrees_with_pytorch(seed: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng([seed, *shape])
    samples, inputs, outputs, height, width, kernel, stride = shape
    x, w, bias, d = (array / 8 for array in conv_case(rng, shape))
    got_w, got_b = ops.conv_weight_gradient(x, d, kernel, stride)
    got = [
        ops.conv_forward(x, w, bias, stride),
        got_w,
        got_b,
        ops.conv_input_gradient(d, w, stride, height, width),
    ]
    results = []
    for shape_of in (lambda t: t, torch.abs):  # the values, then the sums of magnitudes
        tx, tw, tb, td = (
            shape_of(torch.tensor(a, dtype=torch.float64)).requires_grad_() for a in (x, w, bias, d)
        )
        y = functional.conv2d(tx, tw, tb, stride)
        dw, db, dx = torch.autograd.grad(y, (tw, tb, tx), td)
        results.append((y, dw, db, dx))
    area = samples * d.shape[2] * d.shape[3]
    terms = [inputs * kernel**2 + 1, area, area, outputs * kernel**2]
    for one, want, magnitude, count in zip(got, *results, terms, strict=True):
        assert_bounded(one, want, magnitude, count)


@pytest.mark.parametrize("shape", [(5, 2592, 256), (2, 153, 20), (8, 256, 32), (1, 1, 1)])
def test_a3c_fully_connected_agrees_with_pytorch(seed: int, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng([seed, *shape])
    samples, inputs, outputs = shape
    x, w = numbers(rng, samples, inputs), numbers(rng, outputs, inputs)
    bias, d = numbers(rng, outputs), numbers(rng, samples, outputs)
    got_w, got_b = ops.fc_weight_gradient(x, d)
    got = [ops.fc_forward(x, w, bias), got_w, got_b, ops.fc_input_gradient(d, w)]
    results = []
    for shape_of in (lambda t: t, torch.abs):
        tx, tw, tb, td = (
            shape_of(torch.tensor(a, dtype=torch.float64)).requires_grad_() for a in (x, w, bias, d)
        )
        y = functional.linear(tx, tw, tb)
        dw, db, dx = torch.autograd.grad(y, (tw, tb, tx), td)
        results.append((y, dw, db, dx))
    terms = [inputs + 1, samples, samples, outputs]
    for one, want, magnitude, count in zip(got, *results, terms, strict=True):
        assert_bounded(one, want, magnitude, count)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: ops.conv_forward(f(1, 2, 6, 6), f(3, 1, 2, 2), f(3), 1), "x: got shape"),
        (lambda f: ops.conv_forward(f(1, 2, 6, 6), f(3, 2, 2, 2), f(2), 1), "bias: got shape"),
        (lambda f: ops.conv_weight_gradient(f(1, 2, 6, 6), f(1, 3, 6, 5), 2, 1), "d: got shape"),
        (lambda f: ops.conv_input_gradient(f(1, 3, 6, 6), f(3, 2, 2, 2), 1, 6, 6), "d: got shape"),
        (lambda f: ops.fc_forward(f(1, 5), f(3, 4), f(3)), "x: got shape"),
        (lambda f: ops.fc_weight_gradient(f(2, 5), f(1, 3)), "d: got shape"),
        (lambda f: ops.fc_input_gradient(f(1, 4), f(3, 5)), "d: got shape"),
        (lambda f: rmsprop(f(4), f(3), f(4), HyperParameters.make(1e-3)), "g: got shape"),
        (lambda f: ParameterMap(NET_S).unpack(f(15)), "image: got shape"),
    ],
)
def test_shapes_are_checked_before_compiled_loops(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(lambda *shape: np.zeros(shape, np.float32))


def test_types_are_checked_before_compiled_loops() -> None:
    one = np.zeros((1, 1), np.float32)
    with pytest.raises(TypeError, match="x: got float64, want float32"):
        ops.fc_forward(one.astype(float), one, one[0])
