"""Double-buffered weights: the learner writes one buffer while actors read the other.

Source: thesis 4.2.1 (iteration i writes buffer i mod 2). Publishing flips one reference, so a
reader never sees a mixture of two versions and never waits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Parameters = list[tuple[np.ndarray, np.ndarray]]
"""A network's layers in PyTorch's layout: (weights [n_out, n_in], biases [n_out]), float32."""


@dataclass(frozen=True)
class Published:
    """One version of the weights; the arrays are never written after publication."""

    version: int
    parameters: Parameters


class WeightStore:
    """Holds the published version; `publish` is called by one thread, `read` by any."""

    def __init__(self, parameters: Parameters) -> None:
        self._buffers: list[Published | None] = [None, None]
        self._current = Published(0, freeze(parameters))
        self._buffers[0] = self._current

    def publish(self, parameters: Parameters) -> int:
        """Make new weights visible. Returns their version."""
        version = self._current.version + 1
        published = Published(version, freeze(parameters))
        self._buffers[version % 2] = published
        self._current = published
        return version

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
