"""A ball falls, a paddle catches it: the smallest game that is learned from pixels."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

SIZE = 12  # pixels along an edge
FRAMES = 2  # stacked, the newest last
PADDLE = 1  # pixels to either side of the paddle's centre
ACTIONS = 3  # left, stay, right
ZOOM = 16  # of a rendered frame


class PixelCatch(gymnasium.Env[np.ndarray, np.int64]):
    """A ball of one pixel falls straight from a random column; a paddle of three moves below it.

    Observations are [2, 12, 12] float32, pixels of 0 and 1 of the last two frames. An episode has
    11 steps; its last one pays 1 if the paddle is below the ball, else -1. The paddle begins in a
    random place, so that a policy that ignores the pixels gets about -0.5.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0, 1, (FRAMES, SIZE, SIZE), np.float32)
        self.action_space = gymnasium.spaces.Discrete(ACTIONS)
        self._frames = np.zeros((FRAMES, SIZE, SIZE), np.float32)
        self._row = self._column = self._centre = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; see Gymnasium."""
        super().reset(seed=seed)
        self._row = 0
        self._column = int(self.np_random.integers(SIZE))
        self._centre = int(self.np_random.integers(PADDLE, SIZE - PADDLE))
        self._frames[:] = self._draw()
        return self._frames.copy(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move the paddle, then let the ball fall by a pixel; see Gymnasium."""
        self._centre = min(max(self._centre + int(action) - 1, PADDLE), SIZE - 1 - PADDLE)
        self._row += 1
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = self._draw()
        ended = self._row == SIZE - 1
        caught = abs(self._column - self._centre) <= PADDLE
        reward = (1.0 if caught else -1.0) if ended else 0.0
        return self._frames.copy(), reward, ended, False, {}

    def render(self) -> Any:
        """The newest frame, [192, 192, 3] uint8, if the render mode is `rgb_array`."""
        if self.render_mode is None:
            return None
        grey = (255 * self._frames[-1]).astype(np.uint8)
        return np.kron(grey, np.ones((ZOOM, ZOOM), np.uint8))[..., None].repeat(3, axis=2)

    def _draw(self) -> np.ndarray:
        frame = np.zeros((SIZE, SIZE), np.float32)
        frame[-1, self._centre - PADDLE : self._centre + PADDLE + 1] = 1
        frame[self._row, self._column] = 1
        return frame
