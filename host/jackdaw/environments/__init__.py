"""Environments of Jackdaw's own; importing this package registers them with Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium

PIXEL_CATCH = "jackdaw/PixelCatch-v0"

gymnasium.register(PIXEL_CATCH, "jackdaw.environments.pixel_catch:PixelCatch")


def make_frames(name: str) -> gymnasium.Env[Any, Any]:
    """Make an environment that shows frames: `PixelCatch`, or an Atari game (`ALE/Pong-v5`)."""
    if name == "PixelCatch":
        return gymnasium.make(PIXEL_CATCH)
    from jackdaw.environments.atari import make_atari  # needs ale-py

    return make_atari(name)
