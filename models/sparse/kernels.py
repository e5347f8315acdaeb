"""The sparse engine's array and elementwise units, compiled: equal to `layer`, `lstm` and `comm`.

Values of FP16 are held as float32, which is exact; each operation is rounded to FP16 on its own.
A float32 product of two FP16 values is exact, and a float32 sum has more than twice the bits, so
the second rounding gives what one rounding would. Operands are [neurons, vectors].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

NAN = np.float32(np.nan)
ONE, ZERO = np.float32(1), np.float32(0)
LINE_BANKS = 8  # neurons of an activation line
LINE_VECTORS = 4
# Tensors of an LSTM block; the gates are i, f, g and o.
H, CELL, TC, GATE_I, GATE_F, GATE_G, GATE_O, DCELL = range(8)


def _half(_typing: Any, x: Any) -> Any:
    """Round a float32 to FP16, kept as float32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.fptrunc(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.float32), generate


def _half_bits(_typing: Any, x: Any) -> Any:
    """The FP16 code of a float32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


def _of_bits(_typing: Any, x: Any) -> Any:
    """The float32 of an FP16 code."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


half: Any = intrinsic(_half)
half_bits: Any = intrinsic(_half_bits)
of_bits: Any = intrinsic(_of_bits)


# ---- The array ----
@njit(cache=True, error_model="numpy")
def contract(x, low, high, weights, inner, inner_start, outer, outer_start, y):  # type: ignore[no-untyped-def]
    """y[n, v] = sum over the contracted indices of n's group, one FP16 chain each.

    Args:
        x: [K, V] float32, operands; vectors low..high-1 are computed.
        weights: [nnz] float32: of each group its contracted times produced indices.
        inner, outer: contracted and produced indices, group by group; *_start: [G+1] where a
            group's begin.
        y: [N, V] float32, written where a group has produced indices.
    """
    at, width = 0, high - low
    acc = np.empty((y.shape[0], width), np.float32)
    for g in range(len(inner_start) - 1):
        first, depth = inner_start[g], inner_start[g + 1] - inner_start[g]
        begin, count = outer_start[g], outer_start[g + 1] - outer_start[g]
        acc[:count] = ZERO
        for r in range(depth):  # chains side by side: one alone waits for its roundings
            operand = x[inner[first + r], low:high]
            for c in range(count):
                w = weights[at + r * count + c]
                row = acc[c]
                for v in range(width):
                    row[v] = half(row[v] + half(operand[v] * w))
        for c in range(count):
            row = y[outer[begin + c], low:high]
            for v in range(width):
                row[v] = NAN if acc[c, v] != acc[c, v] else acc[c, v]
        at += depth * count


@njit(cache=True, error_model="numpy")
def gradient(x, dy, low, high, inner, inner_start, outer_start, owner, core, grad):  # type: ignore[no-untyped-def]
    """grad += sum over vectors low..high-1 of x[m, v] * dy[v, n], one FP16 chain per weight.

    Args:
        x: [M, V] float32.
        dy: [V, N] float32, columns in the groups' order.
        inner, inner_start: rows, group by group; outer_start: where a group's columns begin.
        owner: [M] core of each row; core: whose rows are computed, -1: all of them.
        grad: [nnz] float32, of each group its rows times columns.
    Returns: whether all sums are finite.
    """
    at, finite = 0, True
    acc = np.zeros(dy.shape[1], np.float32)
    for g in range(len(inner_start) - 1):
        begin, count = outer_start[g], outer_start[g + 1] - outer_start[g]
        for k in range(inner_start[g], inner_start[g + 1]):
            m = inner[k]
            if core < 0 or owner[m] == core:
                for c in range(count):
                    acc[c] = ZERO
                for v in range(low, high):
                    s = x[m, v]
                    row = dy[v, begin : begin + count]
                    for c in range(count):
                        acc[c] = half(acc[c] + half(s * row[c]))
                for c in range(count):
                    total = grad[at + c] + acc[c]
                    if not np.isfinite(total):
                        finite = False
                        if total != total:
                            total = NAN
                    grad[at + c] = total
            at += count
    return finite


@njit(cache=True, error_model="numpy")
def add_bias_sums(dy, low, high, sums):  # type: ignore[no-untyped-def]
    """sums[n] += (d0 + d1) + (d2 + d3) of each tile in order, FP32. Returns: all are finite."""
    finite = True
    for n in range(dy.shape[0]):
        total = sums[n]
        for v in range(low, high, LINE_VECTORS):
            total = total + ((dy[n, v] + dy[n, v + 1]) + (dy[n, v + 2] + dy[n, v + 3]))
        if not np.isfinite(total):
            finite = False
            if total != total:
                total = NAN
        sums[n] = total
    return finite


@njit(cache=True, error_model="numpy")
def add_half(y, other):  # type: ignore[no-untyped-def]
    """y + other in FP16, [N, V] in place; other has the same shape or [N, 1]."""
    wide = other.shape[1] > 1
    for n in range(y.shape[0]):
        for v in range(y.shape[1]):
            total = half(y[n, v] + (other[n, v] if wide else other[n, 0]))
            y[n, v] = NAN if total != total else total


# ---- The activation store ----
@njit(cache=True)
def take(lines, base, skew, stride, tiles, out, first, column):  # type: ignore[no-untyped-def]
    """Read a tensor: out[first + n, column + v] of all its tiles.

    Args:
        lines: [lines, 8, 4] uint16, a core's store.
        base, skew, stride: first line, bank of neuron 0, lines between tiles.
        tiles: how many.
        out: [neurons, V] float32; rows from `first` on are the tensor's.
        first, column: where it goes.
    """
    count = out.shape[0] - first
    for t in range(tiles):
        for n in range(count):
            line = lines[base + t * stride + n // LINE_BANKS, (n + skew) % LINE_BANKS]
            for p in range(LINE_VECTORS):
                value = of_bits(line[p])
                out[first + n, column + t * LINE_VECTORS + p] = NAN if value != value else value


@njit(cache=True)
def put(lines, base, skew, stride, tiles, values, first, count, column):  # type: ignore[no-untyped-def]
    """Write rows first..first+count-1 of [neurons, V] float32 as a tensor; see `take`."""
    for t in range(tiles):
        for n in range(count):
            line = lines[base + t * stride + n // LINE_BANKS, (n + skew) % LINE_BANKS]
            for p in range(LINE_VECTORS):
                value = values[first + n, column + t * LINE_VECTORS + p]
                line[p] = np.uint16(0x7E00) if value != value else half_bits(value)


# ---- Elementwise ----
@njit(cache=True, error_model="numpy")
def lstm_forward(z, cell, tanh_of, sigmoid_of, block):  # type: ignore[no-untyped-def]
    """The LSTM's step.

    Args:
        z: [4H, V] float32: i, f, g, o.
        cell: [H, V] of the step before.
        tanh_of, sigmoid_of: [65536] float32, results for every FP16 code.
        block: [8, H, V], written but for DCELL.
    """
    count, width = cell.shape
    for n in range(count):
        for v in range(width):
            i = sigmoid_of[half_bits(z[n, v])]
            f = sigmoid_of[half_bits(z[count + n, v])]
            g = tanh_of[half_bits(z[2 * count + n, v])]
            o = sigmoid_of[half_bits(z[3 * count + n, v])]
            new = half(half(f * cell[n, v]) + half(i * g))
            tc = tanh_of[half_bits(new)]
            block[GATE_I, n, v], block[GATE_F, n, v], block[GATE_G, n, v], block[GATE_O, n, v] = (
                i,
                f,
                g,
                o,
            )
            block[CELL, n, v], block[TC, n, v], block[H, n, v] = new, tc, half(o * tc)


@njit(cache=True, error_model="numpy")
def lstm_backward(block, before, dh):  # type: ignore[no-untyped-def]
    """The LSTM's gradients: gates of the block become dz, its DCELL that of the step before.

    Args:
        block: [8, H, V] float32, of the step.
        before: [H, V] cell of the step before.
        dh: [H, V].
    """
    count, width = dh.shape
    for n in range(count):
        for v in range(width):
            i, f, g, o = (
                block[GATE_I, n, v],
                block[GATE_F, n, v],
                block[GATE_G, n, v],
                block[GATE_O, n, v],
            )
            tc, dhv = block[TC, n, v], dh[n, v]
            do = half(dhv * tc)
            q = half(dhv * o)
            dc = half(block[DCELL, n, v] + half(q * half(ONE - half(tc * tc))))
            di, dg, df = half(dc * g), half(dc * i), half(dc * before[n, v])
            block[DCELL, n, v] = half(dc * f)
            block[GATE_I, n, v] = half(half(di * i) * half(ONE - i))
            block[GATE_F, n, v] = half(half(df * f) * half(ONE - f))
            block[GATE_O, n, v] = half(half(do * o) * half(ONE - o))
            block[GATE_G, n, v] = half(dg * half(ONE - half(g * g)))


@njit(cache=True, error_model="numpy")
def communicate(h, gates, low, high, agents, inverse, out):  # type: ignore[no-untyped-def]
    """out[n, v] = the mean of the other agents' gated h, for vectors low..high-1.

    Args:
        h: [H, V] float32; episodes begin at low.
        gates: [V] float32, 0 or 1.
        agents: of an episode.
        inverse: float32, 1 / (agents - 1).
        out: [H, V].
    """
    for n in range(h.shape[0]):
        for first in range(low, high, agents):
            total = ZERO
            for v in range(first, first + agents):
                total = total + (h[n, v] if gates[v] != 0 else ZERO)
            for v in range(first, first + agents):
                u = h[n, v] if gates[v] != 0 else ZERO
                c = half((total - u) * inverse)
                out[n, v] = NAN if c != c else c


@njit(cache=True, error_model="numpy")
def communicate_back(dcom, gates, low, high, agents, inverse, dh):  # type: ignore[no-untyped-def]
    """dh[n, v] += the gradient of v's message to the other agents, where v's gate is open."""
    for n in range(dcom.shape[0]):
        for first in range(low, high, agents):
            total = ZERO
            for v in range(first, first + agents):
                total = total + dcom[n, v]
            for v in range(first, first + agents):
                if gates[v] != 0:
                    d = half(dh[n, v] + half((total - dcom[n, v]) * inverse))
                    dh[n, v] = NAN if d != d else d
