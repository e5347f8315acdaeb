"""Transitions as device memory holds them, and numbers as the engine takes them.

Source: docs/qat.md (memories, record).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.qat.layout import RECORD_EXTRA, Geometry
from models.qat.ops import ACTIVATION

DISCOUNT_MOST = (1 << 32) - 1


def to_fixed(x: np.ndarray, frac: int, bits: int = 32) -> np.ndarray:
    """The nearest fixed-point numbers, halves up, saturated; [...] int64. Raises: ValueError (NaN).

    Args:
        x: [...] float.
        frac: binary point.
        bits: of the result, with its sign.
    """
    wide = np.asarray(x, np.float64)
    if np.isnan(wide).any():
        raise ValueError("got NaN, want numbers")
    most = (1 << bits - 1) - 1
    return np.floor(np.clip(np.ldexp(wide, frac) + 0.5, -most - 1, most)).astype(np.int64)


@dataclass(frozen=True)
class Transitions:
    """Vectors of a batch, int64.

    Attributes:
        state, following: [n, S] frac 16.
        action: [n, A] frac 16.
        reward: [n] frac 16.
        discount: [n] frac 32, unsigned.
    """

    state: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    discount: np.ndarray
    following: np.ndarray

    @classmethod
    def of(
        cls,
        state: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        discount: np.ndarray,
        following: np.ndarray,
    ) -> Transitions:
        """Convert floats; a discount of 1 becomes the largest that there is."""
        part = np.ldexp(np.asarray(discount, np.float64), 32)
        if not ((part >= 0) & (part <= 1 << 32)).all():
            raise ValueError(f"discount {discount}: want 0..1")
        return cls(
            to_fixed(state, ACTIVATION),
            to_fixed(action, ACTIVATION),
            to_fixed(reward, ACTIVATION),
            np.minimum(np.floor(part + 0.5), DISCOUNT_MOST).astype(np.int64),
            to_fixed(following, ACTIVATION),
        )


def pack(rows: Transitions, geometry: Geometry) -> np.ndarray:
    """Records, [n, stride] uint8."""
    n, states = rows.state.shape
    lw, lines = geometry.lw, geometry.lines(states)
    actions = rows.action.shape[1]
    out = np.zeros((n, geometry.stride(states) // 4), np.uint32)
    out[:, :actions] = rows.action & 0xFFFF_FFFF
    out[:, lw - RECORD_EXTRA] = rows.reward & 0xFFFF_FFFF
    out[:, lw - 1] = rows.discount
    out[:, lw : lw + states] = rows.state & 0xFFFF_FFFF
    out[:, lw * (1 + lines) :][:, :states] = rows.following & 0xFFFF_FFFF
    return out.view(np.uint8)


def unpack(raw: np.ndarray, states: int, actions: int, geometry: Geometry) -> Transitions:
    """Inverse of pack; raw has the records' own bytes or whole strides, [n, bytes] uint8."""
    words = raw.view(np.uint32)
    signed = words.view(np.int32).astype(np.int64)
    lw, lines = geometry.lw, geometry.lines(states)
    return Transitions(
        signed[:, lw : lw + states],
        signed[:, :actions],
        signed[:, lw - RECORD_EXTRA],
        words[:, lw - 1].astype(np.int64),
        signed[:, lw * (1 + lines) :][:, :states],
    )
