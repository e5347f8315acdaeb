"""Environments of Jackdaw's own and of users; importing this registers the first with Gymnasium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium

PIXEL_CATCH = "jackdaw/PixelCatch-v0"
OWN = "own/"  # namespace of the environments that users' functions make

gymnasium.register(PIXEL_CATCH, "jackdaw.environments.pixel_catch:PixelCatch")

Make = Callable[..., gymnasium.Env[Any, Any]]


def named(environment: str | Make) -> str:
    """The Gymnasium id of an environment; a function or class that makes one is registered.

    The function gets the keywords of `gymnasium.make`, `render_mode` for example.
    """
    if isinstance(environment, str):
        return environment
    label = f"{environment.__module__}.{getattr(environment, '__qualname__', 'function')}"
    name = OWN + re.sub(r"[^\w.]+", "_", label)
    gymnasium.registry.pop(name, None)
    gymnasium.register(name, environment)
    return name


def make_frames(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment that shows frames.

    Args:
        name: `PixelCatch`, an Atari game (`ALE/Pong-v5`), or the id of a user's environment.
        options: for `gymnasium.make`.
    """
    if name == "PixelCatch":
        return gymnasium.make(PIXEL_CATCH, **options)
    if not name.startswith("ALE/"):
        return gymnasium.make(name, **options)
    from jackdaw.environments.atari import make_atari  # needs ale-py

    return make_atari(name, **options)
