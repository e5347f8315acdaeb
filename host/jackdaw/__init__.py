"""Jackdaw: deep reinforcement learning on simulated hardware.

    run = jackdaw.train("dqn", "CartPole-v1", device="model")
    policy = jackdaw.load(run)
    action, _ = policy.predict(observation)

Importing the package needs NumPy alone and takes no time: what is named here is loaded when it is
first used. Training needs the packages of the extra `train`, the device `sim` those of `sim`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jackdaw.extras import missing

if TYPE_CHECKING:
    from jackdaw.api import Run, evaluate, load, record, train
    from jackdaw.device import open_device
    from jackdaw.replay_buffer import PrioritizedReplayBuffer
    from jackdaw.runtime.callbacks import Callback
    from jackdaw.runtime.policy import Policy

__version__ = "0.1.0"
__all__ = [
    "Callback", "Policy", "PrioritizedReplayBuffer", "Run", "evaluate", "load", "open_device",
    "record", "train",
]  # fmt: skip

_PLACES = {
    "Callback": "jackdaw.runtime.callbacks",
    "Policy": "jackdaw.runtime.policy",
    "PrioritizedReplayBuffer": "jackdaw.replay_buffer",
    "open_device": "jackdaw.device",
    **dict.fromkeys(("Run", "evaluate", "load", "record", "train"), "jackdaw.api"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'jackdaw' has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"jackdaw.{name}: {missing(error)}") from error
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
