"""What the array and its output stage make of one entry, lane by lane, as the hardware does.

An entry is a vector, or in half mode a pair of vectors in one line, the even one in the lower half
of each word. Of a full operand the lanes are the products with its lower and its upper half.

Source: docs/qat.md (numbers); rtl/qat/jd_qat_array.sv, jd_qat_out.sv.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.qat import ops

LANE_BITS = 16


def halves(operands: np.ndarray, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper half of operands, [...] int64; the lower one unsigned but in half mode."""
    low = operands & ops.LANE
    return (low ^ 0x8000) - 0x8000 if half else low, operands >> LANE_BITS


def pair(even: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """Two vectors of 16-bit values in one line, [...] int64 of 32 bits."""
    return odd << LANE_BITS | even & ops.LANE


def lanes(weights: np.ndarray, operands: np.ndarray, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Column sums of entries: low and high, [n, columns] int64.

    Args:
        weights: [columns, rows]: what each column multiplies each row's operand by.
        operands: [n, rows] of 32 bits.
    """
    low, high = halves(operands, half)
    return low @ weights.T, high @ weights.T


def gradient_lanes(
    even: np.ndarray, odd: np.ndarray, operands: np.ndarray, half: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of dW over entries: low and high, [columns, rows] int64.

    Args:
        even, odd: [n, columns] deltas of the low and of the high lane.
        operands: [n, rows].
    """
    low, high = halves(operands, half)
    return even.T @ low, odd.T @ high


@dataclass(frozen=True)
class Finish:
    """How sums become what is stored.

    Attributes:
        half: the lanes are two vectors.
        odd: the second of them is there.
        delta: of dX: no bias.
        relu: ReLU, or of dX its derivative.
        quantize: to 16 bits.
        up, down: shift of the bias, and of the quantizer.
        words: of the line.
        word: of the line, from which on they count.
    """

    half: bool
    odd: bool
    delta: bool
    relu: bool
    quantize: bool
    up: int
    down: int
    words: int
    word: int = 0


def finish(
    f: Finish, low: np.ndarray, high: np.ndarray, bias: np.ndarray, positive: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """What an output tile of an entry gives.

    Args:
        low, high: [LW] int64 sums.
        bias: [LW].
        positive: [LW] bool, of dX: the activation is above 0.
    Returns: [2, LW] values of both vectors with 32 bits; [LW] the line that is stored; how many
        were saturated, in all and by the quantizer.
    """
    sums = [low, high] if f.half else [high + (low >> LANE_BITS)]
    wide = np.zeros((2, low.size), np.int64)
    over = over_quantized = 0
    there = (np.arange(low.size) < f.words) & (np.arange(low.size) >= f.word)
    for k, x in enumerate(sums):
        if k and not f.odd:
            continue
        added = np.zeros_like(x) if f.delta else bias << f.up
        z = ops.round_shift(x + added, ops.WEIGHT - LANE_BITS + f.up)
        clipped, _ = ops.saturate(z)
        over += int(np.count_nonzero((clipped != z) & there))
        if f.relu:
            clipped = np.where(positive, clipped, 0) if f.delta else np.maximum(clipped, 0)
        wide[k] = np.where(there, clipped, 0)
    line = wide[0]
    if f.quantize:
        stored, over_quantized = ops.quantize(wide, f.down)
        line = pair(stored[0], stored[1])
    return wide, line, over, over_quantized
