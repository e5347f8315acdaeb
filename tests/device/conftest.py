"""Devices for the conformance suite: every backend, on the echo device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jackdaw.device.base import DeviceBase
from jackdaw.device.model import ModelDevice
from jackdaw.device.sim import SimDevice
from tests.device.echo import CONFIG, echo_engines

Opener = Callable[..., Any]


@pytest.fixture(params=["sim", "model"])
def opener(request: pytest.FixtureRequest, seed: int) -> Iterator[Opener]:
    """Opens echo devices of one backend; closes them after the test."""
    opened: list[DeviceBase] = []

    def open_echo() -> Any:
        device: Any
        if request.param == "sim":
            device = SimDevice(CONFIG, seed=seed + len(opened))
        else:
            device = ModelDevice(CONFIG, engines=echo_engines)
        opened.append(device)
        return device

    yield open_echo
    for device in opened:
        device.close()


@pytest.fixture
def device(opener: Opener) -> Any:
    """One echo device."""
    return opener()
