"""RMSProp as the engine's units compute it, every operation rounded to binary32.

Source: a3c 4 (RU), 3 (D10); FA3C 4.2.3, Figure 5. Epsilon stands inside the root, and there is
no centring and no momentum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from models.a3c.ops import check
from models.float import canonical


@dataclass(frozen=True)
class HyperParameters:
    """The numbers of an update, float32, as the host rounded them.

    Attributes:
        eta: learning rate.
        rho: decay of the mean square.
        rest: 1 - rho.
        eps: added to the mean square before the root; positive.
    """

    eta: np.float32
    rho: np.float32
    rest: np.float32
    eps: np.float32

    @classmethod
    def make(cls, eta: float, rho: float = 0.99, eps: float = 0.1) -> HyperParameters:
        """Round settings; 1 - rho is rounded from the exact difference."""
        return cls(np.float32(eta), np.float32(rho), np.float32(1 - rho), np.float32(eps))

    def encode(self) -> np.ndarray:
        """Return the four words, [4] uint32: eta, rho, 1 - rho, eps."""
        numbers = np.array([self.eta, self.rho, self.rest, self.eps], np.float32)
        return canonical(numbers).view(np.uint32)

    @classmethod
    def decode(cls, words: np.ndarray) -> HyperParameters:
        """Inverse of encode; nothing is checked."""
        return cls(*np.asarray(words, np.uint32)[:4].view(np.float32))

    @property
    def legal(self) -> bool:
        """All are finite and eps is positive, so that padding stays +0."""
        numbers = np.array([self.eta, self.rho, self.rest, self.eps])
        return bool(np.isfinite(numbers).all() and self.eps > 0)


def rmsprop(
    theta: np.ndarray, g: np.ndarray, gradient: np.ndarray, settings: HyperParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Update parameters once: g' = rho*g + (1-rho)*D*D, theta' = theta - (eta*D)/sqrt(g' + eps).

    Args:
        theta, g: [...] float32, parameters and their mean squares, of one shape.
        gradient: [...] float32, D.
        settings: the hyper-parameters.
    Returns: theta' and g', [...] float32.
    Raises: TypeError, ValueError if an array is not float32 or not of theta's shape.
    """
    for name, array in (("theta", theta), ("g", g), ("gradient", gradient)):
        check(name, array, *theta.shape)
    eta, rho = np.float32(settings.eta), np.float32(settings.rho)
    rest, eps = np.float32(settings.rest), np.float32(settings.eps)
    out, g_out = np.empty(theta.shape, np.float32), np.empty(theta.shape, np.float32)
    arrays = (theta.ravel(), g.ravel(), gradient.ravel())
    _rmsprop(*arrays, eta, rho, rest, eps, out.ravel(), g_out.ravel())
    return canonical(out), canonical(g_out)


@njit(cache=True, error_model="numpy")
def _rmsprop(theta, g, gradient, eta, rho, rest, eps, theta_out, g_out):  # type: ignore[no-untyped-def]
    for k in range(len(theta)):
        d = gradient[k]
        g_out[k] = rho * g[k] + d * d * rest
        theta_out[k] = theta[k] - eta * d / np.sqrt(g_out[k] + eps)
