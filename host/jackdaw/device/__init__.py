"""Devices: registers, memory, an interrupt and a clock, on the RTL or on the golden models."""

from __future__ import annotations

from typing import Any

from flow.configuration import Config, ConfigError, load_config
from flow.manifest import planned
from jackdaw.device.base import Device, EngineInfo

__all__ = ["Config", "Device", "EngineInfo", "load_config", "open_device"]


def open_device(backend: str, config: str | Config = "demo", **options: Any) -> Device:
    """Open a device and reset it.

    Args:
        backend: `sim`, the Verilated RTL, or `model`, the golden models.
        config: a build configuration, or its name in `configs/`.
        options: of the backend: `memory`, `seed`, `waves`, `assertions`, `compiled_arithmetic` (see
            SimDevice; `model` has no timing and takes and ignores them).
    Raises: ConfigError for another backend, an unknown or invalid configuration or option, or
        `sim` with an engine that has no RTL yet.
    """
    chosen = load_config(config)
    if backend == "sim":
        if missing := {i.engine.name for i in chosen.instances} & planned().keys():
            raise ConfigError(f"{', '.join(sorted(missing))}: got sim, want model: no RTL yet")
        from jackdaw.device.sim import SimDevice

        return SimDevice(chosen, **options)
    if backend == "model":
        from jackdaw.device.model import ModelDevice

        return ModelDevice(chosen, **options)
    raise ConfigError(f"backend: got {backend!r}, want sim or model")
