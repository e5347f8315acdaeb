"""The hyperbolic tangent and its slope: table and parabola in binary32, bit for bit."""

from __future__ import annotations

import numpy as np

from models.learner.fp import NAN_BITS, ONE, ZERO, canonical, from_bits
from models.learner.tanh_tables import TANH_TABLE

LARGE = np.float32(8)  # from here on the result is 1
SMALL = np.float32(2.0**-8)  # below, the result is x
PER_UNIT = np.float32(64)  # segments of the table in 1
_C0, _C1, _C2 = np.array(TANH_TABLE, np.uint32).T.copy().view(np.float32)


def tanh(x: np.ndarray) -> np.ndarray:
    """Return the hyperbolic tangent of x, every operation rounded to binary32.

    With a = |x|: 1 for a >= 8; a for a < 2^-8; else, k = floor(64*a) and t = 64*a - k, both exact,
    c0[k] + t*(c1[k] + t*c2[k]). The sign is that of x; a NaN gives the canonical one.

    Args:
        x: float32 of any shape.
    Returns: float32 of the same shape; at most 2.3e-7 from the exact tangent.
    Source: learner 3 (tanh); mirrors rtl/learner/jd_learner_tanh.sv bit for bit.
    """
    a = np.abs(x)
    with np.errstate(all="ignore"):
        inside = (a >= SMALL) & (a < LARGE)
        scaled = np.where(inside, a, ZERO) * PER_UNIT
        k = scaled.astype(np.int64)
        t = scaled - k.astype(np.float32)
        y = t * _C2[k]
        y = _C1[k] + y
        y = t * y
        y = _C0[k] + y
    y = np.where(inside, y, np.where(a >= LARGE, ONE, a))
    return np.where(np.isnan(x), from_bits(NAN_BITS), np.copysign(y, x))


def slope(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return g * (1 - y*y): a gradient taken through a tangent whose result was y.

    Args:
        g, y: float32 of one shape.
    Source: learner 3 (tanh, derivative); mirrors rtl/learner/jd_learner_tanh.sv bit for bit.
    """
    with np.errstate(all="ignore"):
        return canonical(g * (ONE - y * y))


def disturb(y: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return y + noise, kept within -1 and 1; a NaN stays one.

    Args:
        y: float32, results of tanh.
        noise: of the same shape, already clipped by the host.
    Source: "Addressing Function Approximation Error in Actor-Critic Methods" (TD3), 5.3.
    """
    with np.errstate(all="ignore"):
        total = y + noise
        return canonical(np.where(total > ONE, ONE, np.where(total < -ONE, -ONE, total)))
