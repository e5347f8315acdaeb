"""Devices: registers, memory, an interrupt and a clock, on the RTL or on the golden models."""

from __future__ import annotations

from typing import Any

from flow.configuration import Config, ConfigError, load_config
from flow.manifest import planned
from jackdaw.device.base import Device, EngineInfo
from jackdaw.device.timing import memory_timing
from jackdaw.ranges import seed, truth

OPTIONS = {"memory", "seed", "waves", "assertions", "compiled_arithmetic"}
__all__ = ["Config", "Device", "EngineInfo", "load_config", "open_device"]


def open_device(backend: str, config: str | Config = "demo", **options: Any) -> Device:
    """Open a device and reset it.

    Args:
        backend: `sim`, the Verilated RTL, or `model`, the golden models.
        config: a build configuration, or its name in `configs/`.
        options: of the backend: `memory`, `seed`, `waves`, `assertions`, `compiled_arithmetic` (see
            SimDevice). `model` has no timing: it checks these and ignores them.
    Raises: ConfigError for another backend, an unknown or invalid configuration or option, or
        `sim` with an engine that has no RTL yet.
    """
    chosen = load_config(config)
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise ConfigError(
            f"device: got option {', '.join(unknown)}, want some of {sorted(OPTIONS)}"
        )
    memory_timing(options.get("memory", "D"))
    seed(options.get("seed", 1))
    for name in ("assertions", "compiled_arithmetic"):
        truth(f"device {name}", options.get(name, True))
    if backend == "sim":
        if missing := {i.engine.name for i in chosen.instances} & planned().keys():
            raise ConfigError(f"{', '.join(sorted(missing))}: got sim, want model: no RTL yet")
        from jackdaw.device.sim import SimDevice

        return SimDevice(chosen, **options)
    if backend == "model":
        from jackdaw.device.model import ModelDevice

        try:
            return ModelDevice(chosen)
        except MemoryError:
            raise ConfigError(
                f"configuration {chosen.name}: its memories do not fit this computer's"
            ) from None
    raise ConfigError(f"backend: got {backend!r}, want sim or model")
