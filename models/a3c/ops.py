"""Layers of a network, forward and backward, in binary32 and in the engine's order of accumulation.

Every product and every sum is rounded on its own. A sum starts from +0 and takes its terms one by
one in the order that each function states; additions are vectorized over the sums, never over the
terms of one, so their bits depend on no number of processing elements, lanes or tiles. Taps outside
a map are skipped, not multiplied by zero. A NaN that comes out is the canonical one: as none of the
operations looks at a NaN's payload, it is made canonical once, at the end.

Names: N samples, I input and O output channels, H x W input and R x C output pixels, kernel K,
stride S, Q inputs of a fully connected layer. All arrays are float32.

Source: a3c 4; FA3C 4.2 (an accumulation of I*K*K + 1 terms, the bias being one).
"""

from __future__ import annotations

import numpy as np

from models.float import canonical


def output_size(size: int, kernel: int, stride: int) -> int:
    """Return the output pixels along an axis of `size` input pixels; the rest is left over."""
    return (size - kernel) // stride + 1


def conv_forward(x: np.ndarray, w: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    """Convolve: the bias first, then i, ky, kx ascending.

    Args:
        x: [N, I, H, W].
        w: [O, I, K, K].
        bias: [O].
        stride: S.
    Returns: [N, O, R, C], before any ReLU.
    """
    samples, channels, height, width = x.shape
    outputs, _, kernel, _ = w.shape
    rows, columns = output_size(height, kernel, stride), output_size(width, kernel, stride)
    total = np.zeros((samples, outputs, rows, columns), np.float32)
    product = np.empty_like(total)
    taps = np.empty((samples, 1, rows, columns), np.float32)
    with np.errstate(all="ignore"):
        total += bias[None, :, None, None]
        for i in range(channels):
            for ky in range(kernel):
                for kx in range(kernel):
                    taps[:, 0] = x[:, i, _taps(ky, rows, stride), _taps(kx, columns, stride)]
                    np.multiply(w[None, :, i, ky, kx, None, None], taps, out=product)
                    total += product
    return canonical(total)


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
    samples, outputs, rows, columns = d.shape
    channels = x.shape[1]
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    view = view[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    windows = np.ascontiguousarray(view).reshape(samples * rows * columns, 1, -1)
    terms = np.ascontiguousarray(d.transpose(0, 2, 3, 1)).reshape(len(windows), outputs, 1)
    weights = np.zeros((outputs, channels * kernel * kernel), np.float32)
    bias = np.zeros((outputs, 1), np.float32)
    product = np.empty_like(weights)
    with np.errstate(all="ignore"):
        for window, term in zip(windows, terms, strict=True):
            np.multiply(term, window, out=product)
            weights += product
            bias += term
    shape = (outputs, channels, kernel, kernel)
    return canonical(weights.reshape(shape)), canonical(bias[:, 0])


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
    samples, outputs, rows, columns = d.shape
    _, channels, kernel, _ = w.shape
    # Pixels of a phase of the stride side by side, samples innermost.
    phases = (-(-height // stride), -(-width // stride))
    total = np.zeros((stride, stride, channels, *phases, samples), np.float32)
    terms = np.ascontiguousarray(d.transpose(1, 2, 3, 0))
    product = np.empty((channels, rows, columns, samples), np.float32)
    with np.errstate(all="ignore"):
        for o in range(outputs):
            for ky in range(kernel):
                for kx in range(kernel):
                    np.multiply(w[o, :, ky, kx, None, None, None], terms[o], out=product)
                    (jy, py), (jx, px) = divmod(ky, stride), divmod(kx, stride)
                    total[py, px, :, jy : jy + rows, jx : jx + columns] += product
    shape = (samples, channels, phases[0] * stride, phases[1] * stride)
    pixels = total.transpose(5, 2, 3, 0, 4, 1).reshape(shape)  # n, i, y, py, x, px
    return canonical(pixels[:, :, :height, :width].copy())


def fc_forward(x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Fully connected layer: the bias first, then q ascending.

    Args:
        x: [N, Q].
        w: [O, Q].
        bias: [O].
    Returns: [N, O], before any ReLU.
    """
    terms = np.empty((x.shape[0], w.shape[0], 1 + w.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        np.add(np.float32(0), bias, out=terms[..., 0])
        np.multiply(w, x[:, None], out=terms[..., 1:])
        np.add.accumulate(terms, axis=2, out=terms)  # adds term by term, unlike reduce
    return canonical(terms[..., -1].copy())


def fc_weight_gradient(x: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of a fully connected layer's weights and bias: sums over n ascending.

    Args:
        x: [N, Q], the layer's input.
        d: [N, O], gradient of its output before the ReLU.
    Returns: [O, Q] and [O].
    """
    weights = np.zeros((d.shape[1], x.shape[1]), np.float32)
    bias = np.zeros(d.shape[1], np.float32)
    with np.errstate(all="ignore"):
        for n in range(d.shape[0]):
            weights += d[n, :, None] * x[n]
            bias += d[n]
    return canonical(weights), canonical(bias)


def fc_input_gradient(d: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Gradient of a fully connected layer's input: sums over o ascending.

    Args:
        d: [N, O], gradient of the output before the ReLU.
        w: [O, Q].
    Returns: [N, Q], before any ReLU's derivative.
    """
    total = np.zeros((d.shape[0], w.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for o in range(w.shape[0]):
            total += w[o] * d[:, o, None]
    return canonical(total)


def relu(a: np.ndarray) -> np.ndarray:
    """Rectify: NaN stays NaN, what is above 0 stays, all else (-0 too) is +0."""
    return canonical(np.where(np.isnan(a) | (a > 0), a, np.float32(0)))


def relu_gradient(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Derivative of the ReLU that made x: d where x is NaN or above 0, else +0."""
    return canonical(np.where(np.isnan(x) | (x > 0), d, np.float32(0)))


def _taps(offset: int, count: int, stride: int) -> slice:
    """The `count` pixels along an axis that meet a kernel's row or column `offset`."""
    return slice(offset, offset + (count - 1) * stride + 1, stride)
