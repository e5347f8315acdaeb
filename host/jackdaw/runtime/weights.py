"""The published weights: actors read one version while the next is prepared.

Source: thesis 4.2.1 (two buffers in turn). Publishing replaces one reference to arrays that are
never written again, so a reader never sees a mixture of two versions and never waits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jackdaw.agents.base import Parameters


@dataclass(frozen=True)
class Published:
    """One version of the weights; the arrays are never written after publication."""

    version: int
    parameters: Parameters


class WeightStore:
    """Holds the published version; `publish` is called by one thread, `read` by any."""

    def __init__(self, parameters: Parameters) -> None:
        self._current = Published(0, freeze(parameters))

    def publish(self, parameters: Parameters) -> int:
        """Make new weights visible. Returns their version."""
        self._current = Published(self._current.version + 1, freeze(parameters))
        return self._current.version

    def read(self) -> Published:
        """Return the newest version."""
        return self._current


def freeze(parameters: Parameters) -> Parameters:
    """Return a read-only copy."""
    out = []
    for weight, bias in parameters:
        pair = (np.array(weight, dtype=np.float32), np.array(bias, dtype=np.float32))
        for array in pair:
            array.flags.writeable = False
        out.append(pair)
    return out
