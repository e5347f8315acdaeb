"""Driver of the scale engine: arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from engine_scale.model import MOST, SCALE
from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.errors import ConfigError


class Scale(EngineDriver):
    """The scale engine of a device.

    Args:
        device: an open device.
        page: the engine's page or instance; default the first one.
    Raises: DeviceMismatchError.
    """

    def __init__(self, device: Device, page: int | str | None = None) -> None:
        super().__init__(device, "scale", page)
        self._ring = self.open_ring(0)

    def scale(self, x: np.ndarray, a: float, b: float, timeout_s: float = 60.0) -> np.ndarray:
        """Return a*x + b of [N] float32, 1 <= N <= 2^19.

        Raises: ConfigError for another shape or type; the engine's named JobError.
        """
        if x.ndim != 1 or x.dtype != np.float32 or not 0 < x.size <= MOST:
            raise ConfigError(f"x: got {x.dtype} {x.shape}, want float32 (N,), N in 1..{MOST}")
        nbytes = -(-x.nbytes // 64) * 64
        source, target = self.device.alloc(nbytes, 64), self.device.alloc(nbytes, 64)
        try:
            self.device.write(source, np.ascontiguousarray(x))
            self.run(x.size, a, b, source, target, timeout_s)
            return self.device.read(target, x.nbytes).view(np.float32)
        finally:
            self.device.free(source)
            self.device.free(target)

    def run(
        self, count: int, a: float, b: float, source: int, target: int, timeout_s: float = 60.0
    ) -> int:
        """Run a job on what is in device memory; returns its clocks. Raises the named JobError."""
        factors = np.array([a, b], np.float32).view(np.uint32)
        job = self._ring.submit(
            [SCALE, 0, count, int(factors[0]), int(factors[1]), 0,
             source & 0xFFFFFFFF, source >> 32, target & 0xFFFFFFFF, target >> 32]
        )  # fmt: skip
        return job.wait(timeout_s).cycles
