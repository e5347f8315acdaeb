"""Environments of Jackdaw's own; importing this package registers them with Gymnasium."""

from __future__ import annotations

import gymnasium

gymnasium.register("jackdaw/PixelCatch-v0", "jackdaw.environments.pixel_catch:PixelCatch")
