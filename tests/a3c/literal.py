"""The a3c engine's numbers by plain loops over Python floats: one product, one sum at a time.

Nothing here uses NumPy's arithmetic. A product or sum of two binary32 numbers is computed in
binary64 and rounded once more; as 53 >= 2*24 + 2, that is the correctly rounded result, for
division and root too. Arrays are nested lists; every function is as its formula is written.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

NAN = math.nan


def rounded(value: float) -> float:
    """Round to binary32; NaN is the canonical one."""
    return NAN if value != value else ctypes.c_float(value).value


def mul(a: float, b: float) -> float:
    return rounded(a * b)


def add(a: float, b: float) -> float:
    return rounded(a + b)


def div(a: float, b: float) -> float:
    if b == 0:
        same = math.copysign(1, a) * math.copysign(1, b)
        return NAN if a == 0 or a != a else same * math.inf
    return rounded(a / b)


def sqrt(a: float) -> float:
    if a != a or a < 0:
        return NAN
    return rounded(math.sqrt(a))


def conv_forward(x: Any, w: Any, bias: Any, s: int) -> Any:
    inputs, height, width = len(x[0]), len(x[0][0]), len(x[0][0][0])
    k = len(w[0][0])
    rows, columns = (height - k) // s + 1, (width - k) // s + 1
    out: list[Any] = []
    for sample in x:
        out.append([])
        for o, filters in enumerate(w):
            out[-1].append([])
            for r in range(rows):
                out[-1][o].append([])
                for c in range(columns):
                    a = 0.0
                    a = add(a, mul(bias[o], 1.0))
                    for i in range(inputs):
                        for ky in range(k):
                            for kx in range(k):
                                term = mul(filters[i][ky][kx], sample[i][r * s + ky][c * s + kx])
                                a = add(a, term)
                    out[-1][o][r].append(a)
    return out


def conv_weight_gradient(x: Any, d: Any, k: int, s: int) -> Any:
    samples, outputs, rows, columns = len(d), len(d[0]), len(d[0][0]), len(d[0][0][0])
    weights: list[Any] = []
    biases: list[float] = []
    for o in range(outputs):
        a = 0.0
        for b in range(samples):
            for r in range(rows):
                for c in range(columns):
                    a = add(a, mul(d[b][o][r][c], 1.0))
        biases.append(a)
        weights.append([])
        for i in range(len(x[0])):
            weights[o].append([])
            for ky in range(k):
                weights[o][i].append([])
                for kx in range(k):
                    a = 0.0
                    for b in range(samples):
                        for r in range(rows):
                            for c in range(columns):
                                term = mul(d[b][o][r][c], x[b][i][r * s + ky][c * s + kx])
                                a = add(a, term)
                    weights[o][i][ky].append(a)
    return weights, biases


def conv_input_gradient(d: Any, w: Any, s: int, height: int, width: int) -> Any:
    outputs, rows, columns = len(d[0]), len(d[0][0]), len(d[0][0][0])
    k = len(w[0][0])
    out: list[Any] = []
    for sample in d:
        out.append([])
        for i in range(len(w[0])):
            out[-1].append([])
            for y in range(height):
                out[-1][i].append([])
                for x in range(width):
                    a = 0.0
                    for o in range(outputs):
                        for ky in range(k):
                            r, left = divmod(y - ky, s)
                            if left or not 0 <= r < rows:
                                continue
                            for kx in range(k):
                                c, left = divmod(x - kx, s)
                                if left or not 0 <= c < columns:
                                    continue
                                a = add(a, mul(w[o][i][ky][kx], sample[o][r][c]))
                    out[-1][i][y].append(a)
    return out


def fc_forward(x: Any, w: Any, bias: Any) -> Any:
    out: list[Any] = []
    for sample in x:
        out.append([])
        for o, row in enumerate(w):
            a = add(0.0, bias[o])
            for q, weight in enumerate(row):
                a = add(a, mul(weight, sample[q]))
            out[-1].append(a)
    return out


def fc_weight_gradient(x: Any, d: Any) -> Any:
    weights: list[Any] = []
    biases: list[float] = []
    for o in range(len(d[0])):
        a = 0.0
        for one in d:
            a = add(a, mul(one[o], 1.0))
        biases.append(a)
        weights.append([])
        for q in range(len(x[0])):
            a = 0.0
            for b, one in enumerate(d):
                a = add(a, mul(one[o], x[b][q]))
            weights[o].append(a)
    return weights, biases


def fc_input_gradient(d: Any, w: Any) -> Any:
    out: list[Any] = []
    for one in d:
        out.append([])
        for q in range(len(w[0])):
            a = 0.0
            for o, row in enumerate(w):
                a = add(a, mul(row[q], one[o]))
            out[-1].append(a)
    return out


def relu(a: float) -> float:
    if a != a:
        return NAN
    return a if a > 0 else 0.0


def relu_gradient(d: float, x: float) -> float:
    return rounded(d) if x != x or x > 0 else 0.0


def rmsprop(
    theta: float, g: float, d: float, eta: float, rho: float, rest: float, eps: float
) -> tuple[float, float]:
    t = mul(d, d)
    g1 = add(mul(rho, g), mul(rest, t))
    root = sqrt(add(g1, eps))
    return add(theta, -div(mul(eta, d), root)), g1
