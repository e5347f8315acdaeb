"""Layers of a network, forward and backward, in binary32 and in the engine's order of accumulation.

Every product and every sum is rounded on its own (Numba contracts nothing and reorders nothing
unless it is told to). A sum starts from +0 and takes its terms one by one in the order that each
function states; the loops are compiled, and vectorized over sums, never over the terms of one, so
their bits depend on no number of processing elements, lanes or tiles. Taps outside a map are
skipped, not multiplied by zero. A NaN that comes out is the canonical one: as none of the
operations looks at a NaN's payload, it is made canonical once, at the end.

Names: N samples, I input and O output channels, H x W input and R x C output pixels, kernel K,
stride S, Q inputs of a fully connected layer. All arrays are float32. Compiled loops check no
index, so every function checks shapes and types first: ValueError and TypeError.

Source: a3c 4; FA3C 4.2 (an accumulation of I*K*K + 1 terms, the bias being one).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from models.float import canonical


def output_size(size: int, kernel: int, stride: int) -> int:
    """Return the output pixels along an axis of `size` input pixels; the rest is left over."""
    return (size - kernel) // stride + 1


def check(name: str, array: np.ndarray, *shape: int) -> None:
    """Raise TypeError or ValueError unless the array is float32 and of a shape."""
    if array.dtype != np.float32:
        raise TypeError(f"{name}: got {array.dtype}, want float32")
    if array.shape != shape:
        raise ValueError(f"{name}: got shape {array.shape}, want {shape}")


def conv_forward(x: np.ndarray, w: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    """Convolve: the bias first, then i, ky, kx ascending.

    Args:
        x: [N, I, H, W].
        w: [O, I, K, K].
        bias: [O].
        stride: S.
    Returns: [N, O, R, C], before any ReLU.
    """
    outputs, inputs, kernel, _ = w.shape
    check("x", x, len(x), inputs, *x.shape[2:4])
    check("w", w, outputs, inputs, kernel, kernel)
    check("bias", bias, outputs)
    filters = np.ascontiguousarray(w.transpose(1, 2, 3, 0))
    rows, columns = (output_size(size, w.shape[2], stride) for size in x.shape[2:])
    total = np.zeros((len(x), rows, columns, len(w)), np.float32)
    _conv_forward(np.ascontiguousarray(x), filters, np.ascontiguousarray(bias), stride, total)
    return canonical(np.ascontiguousarray(total.transpose(0, 3, 1, 2)))


@njit(cache=True)
def _conv_forward(x, w, bias, stride, total):  # type: ignore[no-untyped-def]
    samples, rows, columns, outputs = total.shape
    inputs, kernel = w.shape[:2]
    for n in range(samples):
        for r in range(rows):
            for c in range(columns):
                for o in range(outputs):
                    total[n, r, c, o] += bias[o]
            for i in range(inputs):
                for ky in range(kernel):
                    for kx in range(kernel):
                        for c in range(columns):
                            tap = x[n, i, r * stride + ky, c * stride + kx]
                            for o in range(outputs):
                                total[n, r, c, o] += w[i, ky, kx, o] * tap


def conv_weight_gradient(
    x: np.ndarray, d: np.ndarray, kernel: int, stride: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of a convolution's weights and bias: sums over n, r, c ascending.

    Args:
        x: [N, I, H, W], the layer's input.
        d: [N, O, R, C], gradient of its output before the ReLU.
        kernel, stride: K, S.
    Returns: [O, I, K, K] and [O].
    """
    outputs = d.shape[1]
    rows, columns = (output_size(size, kernel, stride) for size in x.shape[2:])
    check("x", x, *x.shape[:4])
    check("d", d, len(x), outputs, rows, columns)
    weights = np.zeros((x.shape[1], kernel, kernel, outputs), np.float32)
    bias = np.zeros(outputs, np.float32)
    pixels = np.ascontiguousarray(d.transpose(0, 2, 3, 1))
    _conv_weight_gradient(np.ascontiguousarray(x), pixels, stride, weights, bias)
    return canonical(weights).transpose(3, 0, 1, 2), canonical(bias)


@njit(cache=True)
def _conv_weight_gradient(x, d, stride, weights, bias):  # type: ignore[no-untyped-def]
    samples, rows, columns, outputs = d.shape
    inputs, kernel = weights.shape[:2]
    for n in range(samples):
        for r in range(rows):
            for c in range(columns):
                for o in range(outputs):
                    bias[o] += d[n, r, c, o]
                for i in range(inputs):
                    for ky in range(kernel):
                        for kx in range(kernel):
                            tap = x[n, i, r * stride + ky, c * stride + kx]
                            for o in range(outputs):
                                weights[i, ky, kx, o] += d[n, r, c, o] * tap


def conv_input_gradient(
    d: np.ndarray, w: np.ndarray, stride: int, height: int, width: int
) -> np.ndarray:
    """Gradient of a convolution's input: sums over o, ky, kx ascending, of the taps that exist.

    Args:
        d: [N, O, R, C], gradient of the output before the ReLU.
        w: [O, I, K, K].
        stride: S.
        height, width: H, W of the input; pixels that no tap reaches get +0.
    Returns: [N, I, H, W], before any ReLU's derivative.
    """
    outputs, inputs, kernel, _ = w.shape
    rows, columns = (output_size(size, kernel, stride) for size in (height, width))
    check("w", w, outputs, inputs, kernel, kernel)
    check("d", d, len(d), outputs, min(d.shape[2], rows), min(d.shape[3], columns))
    total = np.zeros((len(d), height, width, inputs), np.float32)
    filters = np.ascontiguousarray(w.transpose(0, 2, 3, 1))
    _conv_input_gradient(np.ascontiguousarray(d), filters, stride, total)
    return canonical(np.ascontiguousarray(total.transpose(0, 3, 1, 2)))


@njit(cache=True)
def _conv_input_gradient(d, w, stride, total):  # type: ignore[no-untyped-def]
    samples, outputs, rows, columns = d.shape
    kernel, inputs = w.shape[1], w.shape[3]
    for n in range(samples):
        for o in range(outputs):
            for ky in range(kernel):
                for kx in range(kernel):
                    for r in range(rows):
                        for c in range(columns):
                            term = d[n, o, r, c]
                            for i in range(inputs):
                                total[n, r * stride + ky, c * stride + kx, i] += (
                                    w[o, ky, kx, i] * term
                                )


def fc_forward(x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Fully connected layer: the bias first, then q ascending.

    Args:
        x: [N, Q].
        w: [O, Q].
        bias: [O].
    Returns: [N, O], before any ReLU.
    """
    check("w", w, *w.shape[:2])
    check("x", x, len(x), w.shape[1])
    check("bias", bias, len(w))
    total = np.zeros((len(x), len(w)), np.float32)
    _fc_forward(np.ascontiguousarray(x), np.ascontiguousarray(w.T), bias, total)
    return canonical(total)


@njit(cache=True)
def _fc_forward(x, w, bias, total):  # type: ignore[no-untyped-def]
    samples, outputs = total.shape
    for n in range(samples):
        for o in range(outputs):
            total[n, o] += bias[o]
        for q in range(len(w)):
            for o in range(outputs):
                total[n, o] += w[q, o] * x[n, q]


def fc_weight_gradient(x: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of a fully connected layer's weights and bias: sums over n ascending.

    Args:
        x: [N, Q], the layer's input.
        d: [N, O], gradient of its output before the ReLU.
    Returns: [O, Q] and [O].
    """
    check("x", x, *x.shape[:2])
    check("d", d, len(x), *d.shape[1:2])
    weights = np.zeros((x.shape[1], d.shape[1]), np.float32)
    bias = np.zeros(d.shape[1], np.float32)
    _fc_weight_gradient(np.ascontiguousarray(x), np.ascontiguousarray(d), weights, bias)
    return canonical(weights).T, canonical(bias)


@njit(cache=True)
def _fc_weight_gradient(x, d, weights, bias):  # type: ignore[no-untyped-def]
    inputs, outputs = weights.shape
    for n in range(len(d)):
        for o in range(outputs):
            bias[o] += d[n, o]
    for q in range(inputs):
        for n in range(len(d)):
            for o in range(outputs):
                weights[q, o] += d[n, o] * x[n, q]


def fc_input_gradient(d: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Gradient of a fully connected layer's input: sums over o ascending.

    Args:
        d: [N, O], gradient of the output before the ReLU.
        w: [O, Q].
    Returns: [N, Q], before any ReLU's derivative.
    """
    check("w", w, *w.shape[:2])
    check("d", d, len(d), len(w))
    total = np.zeros((len(d), w.shape[1]), np.float32)
    _fc_input_gradient(np.ascontiguousarray(d), np.ascontiguousarray(w), total)
    return canonical(total)


@njit(cache=True)
def _fc_input_gradient(d, w, total):  # type: ignore[no-untyped-def]
    samples, inputs = total.shape
    for o in range(len(w)):
        for n in range(samples):
            for q in range(inputs):
                total[n, q] += w[o, q] * d[n, o]


def relu(a: np.ndarray) -> np.ndarray:
    """Rectify: NaN stays NaN, what is above 0 stays, all else (-0 too) is +0."""
    return canonical(np.where(np.isnan(a) | (a > 0), a, np.float32(0)))


def relu_gradient(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Derivative of the ReLU that made x: d where x is NaN or above 0, else +0."""
    return canonical(np.where(np.isnan(x) | (x > 0), d, np.float32(0)))
