"""Atari games as A3C sees them: every fourth frame, grey, 84x84, the last four of them stacked.

Gymnasium's AtariPreprocessing does the same but needs OpenCV, whose sums are rounded: a pixel whose
mean lies halfway between two levels may get the other one.
Source: a3c 13.2.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import ale_py
import gymnasium
import numpy as np
from gymnasium.wrappers import FrameStackObservation

SIZE = 84  # pixels along an edge
STACK = 4  # frames of an observation, the newest last
SKIP = 4  # frames of a step
NO_OPS = 30  # at most, when an episode begins

gymnasium.register_envs(ale_py)


def area_sums(pixels: np.ndarray, size: int = SIZE) -> np.ndarray:
    """Sum the pixels, and parts of pixels, below each new pixel of an area resize along one axis.

    Args:
        pixels: [n, ...] int64.
        size: new pixels.
    Returns: [size, ...] int64, exact, in units of gcd(n, size)/size pixels.
    """
    count = len(pixels)
    unit = gcd(count, size)
    wide, narrow = count // unit, size // unit
    running = np.zeros((count + 2, *pixels.shape[1:]), np.int64)
    np.cumsum(pixels, axis=0, out=running[1:-1])
    whole, part = np.divmod(np.arange(size + 1) * wide, narrow)
    part = part.reshape(-1, *[1] * (pixels.ndim - 1))
    edges = (narrow - part) * running[whole] + part * running[whole + 1]
    return np.diff(edges, axis=0)


def resize(frame: np.ndarray) -> np.ndarray:
    """Shrink a frame, [height, width] uint8, to [84, 84] float32, whole grey levels / 255."""
    sums = area_sums(area_sums(frame.astype(np.int64)).T).T
    units = frame.size // (gcd(frame.shape[0], SIZE) * gcd(frame.shape[1], SIZE))
    return np.rint(sums / units).astype(np.float32) / np.float32(255)


class AtariFrames(gymnasium.Wrapper[np.ndarray, np.int64, np.ndarray, np.int64]):
    """A step is four frames with one action; what is seen is the brighter of the last two.

    Observations are [84, 84] float32, whole grey levels / 255. An episode begins with 1 to 30 steps
    of no action and ends with the game, not with a life.
    """

    def __init__(self, environment: gymnasium.Env[np.ndarray, np.int64]) -> None:
        """Wrap a game that shows every frame in grey, [height, width] uint8."""
        super().__init__(environment)
        self.observation_space = gymnasium.spaces.Box(0, 1, (SIZE, SIZE), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; see Gymnasium."""
        frame, info = self.env.reset(seed=seed, options=options)
        for _ in range(int(self.np_random.integers(1, NO_OPS + 1))):
            frame, _, terminated, truncated, info = self.env.step(np.int64(0))
            if terminated or truncated:
                frame, info = self.env.reset()
        return resize(frame), info

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let four frames pass, fewer if the game ends; see Gymnasium."""
        total, frames = 0.0, []
        for _ in range(SKIP):
            frame, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            frames.append(frame)
            if terminated or truncated:
                break
        return resize(np.max(frames[-2:], axis=0)), total, terminated, truncated, info


def make_atari(name: str, **options: Any) -> gymnasium.Env[np.ndarray, np.int64]:
    """Make a game (`ALE/Pong-v5`) without sticky actions; observations [4, 84, 84] float32."""
    game = gymnasium.make(
        name,
        frameskip=1,
        repeat_action_probability=0.0,
        obs_type="grayscale",
        disable_env_checker=True,
        **options,
    )
    return FrameStackObservation(AtariFrames(game), STACK)
