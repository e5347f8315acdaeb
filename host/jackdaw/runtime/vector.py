"""Gymnasium's VectorEnv as actors use it: N environments that take a step together.

A VectorEnv begins new episodes itself, in one of three ways (its autoreset mode), and each way
hides the last observation of an episode in another place:

| mode | at an episode's end `step` gives | the next episode begins |
| --- | --- | --- |
| SameStep | the first observation of the next; the last is in `info["final_obs"]` | then |
| NextStep | the last observation | in the next `step`, which ignores the action |
| Disabled | the last observation | in `reset` with a `reset_mask` |

Here each step gives the last observation, and the first one of the next episode besides.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate

from jackdaw.errors import ConfigError
from jackdaw.runtime.environment import Environment, Scale

SEEDS = 1 << 31  # that Gymnasium takes
MODES = ", ".join(mode.value for mode in AutoresetMode)


@dataclass(frozen=True)
class Outcome:
    """What a step gave one environment.

    Attributes:
        given: observation, reward, whether the episode terminated, whether it was truncated.
        begin: the first observation of the next episode, if that began in this step.
    """

    given: tuple[np.ndarray, float, bool, bool]
    begin: np.ndarray | None


@contextmanager
def deaf_workers() -> Iterator[None]:
    """Processes that start inside ignore Ctrl-C: the run itself answers it, and saves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class VectorEnvironment:
    """A VectorEnv with flat observations, actions from -1 to 1, and no mode to know.

    Args:
        envs: closed by `close`.
        name: for errors.
        scaled: continuous actions are from -1 to 1, not in the environments' units.
        keeps: its environments are of class Environment, whose state can be kept.
    Attributes:
        count: N.
        observation_space, action_space: of one environment.
        bounds: of continuous actions, in the environments' units.
        waiting: [N] bool: the next step only begins an episode.
    Raises: ConfigError for a VectorEnv without an autoreset mode, or with spaces of no fixed size.
    """

    def __init__(
        self, envs: VectorEnv[Any, Any, Any], name: str, scaled: bool = True, keeps: bool = False
    ) -> None:
        self.envs, self.name, self.keeps = envs, name, keeps
        self.count = int(envs.num_envs)
        mode = envs.metadata.get("autoreset_mode")
        try:
            self.mode = AutoresetMode(mode)
        except ValueError:
            raise ConfigError(
                f"{name}: metadata['autoreset_mode']: got {mode!r}, want one of {MODES}"
            ) from None
        self._single = envs.single_observation_space
        if not self._single.is_np_flattenable:
            raise ConfigError(f"observation space: got {self._single}, want one of fixed size")
        self._flat = isinstance(self._single, gymnasium.spaces.Box) and len(self._single.shape) == 1
        self.observation_space = gymnasium.spaces.flatten_space(self._single)
        self.action_space = envs.single_action_space
        self._scale = None
        if isinstance(self.action_space, gymnasium.spaces.Box):
            self.bounds = self.action_space
            if scaled:
                self._scale = Scale(self.action_space)
                self.action_space = self._scale.space
        self.waiting = np.zeros(self.count, bool)

    @classmethod
    def of(cls, name: str, scaled: bool = True) -> VectorEnvironment:
        """What a user's function makes, which `environments.named` registered."""
        make = gymnasium.registry[name].vector_entry_point
        assert callable(make)
        with deaf_workers():
            envs = make()
        try:
            return cls(envs, name, scaled)
        except BaseException:
            envs.close()
            raise

    @classmethod
    def side_by_side(
        cls, name: str, count: int, kind: str, states: list[dict[str, Any]] | None = None
    ) -> VectorEnvironment:
        """Single environments in a VectorEnv.

        Args:
            name: Gymnasium id of each.
            count: how many.
            kind: `sync` or, a process each, `async`.
            states: that they go on from.
        Raises: ConfigError; EnvironmentDiverged.
        """
        makes = (
            [partial(Environment, name)] * count
            if states is None
            else [partial(Environment.restored, state) for state in states]
        )
        together = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[kind]
        with deaf_workers():
            envs = together(makes, autoreset_mode=AutoresetMode.SAME_STEP)
        return cls(envs, name, keeps=True)

    def label(self, number: int) -> str:
        """What an error calls one of the environments."""
        return f"{self.name}, environment {number}"

    def reset(self, seeds: Sequence[int]) -> list[np.ndarray]:
        """Begin an episode in each environment. Returns: N observations."""
        self.waiting[:] = False
        plain = [int(seed) % SEEDS for seed in seeds]
        try:
            observed, _ = self.envs.reset(seed=plain)  # type: ignore[arg-type]
        except (gymnasium.error.Error, TypeError):  # it has one generator
            observed, _ = self.envs.reset(seed=plain[0])
        return self._rows(observed)

    def step(self, actions: Sequence[Any]) -> list[Outcome]:
        """Take a step.

        Args:
            actions: N of them; None for an environment that is waiting.
        Returns: what it gave each environment, in order. Where one waited, only `begin` counts.
        Raises: ConfigError for a VectorEnv that does not do what its mode says.
        """
        began, idle = self.waiting, np.zeros(self.action_space.shape or ())
        joined = np.stack([idle if action is None else action for action in actions])
        joined = joined.astype(self.action_space.dtype)
        observed, rewards, terminated, truncated, info = self.envs.step(
            joined if self._scale is None else self._scale(joined)
        )
        rows = self._rows(observed)
        rewards = self._column("reward", rewards, np.float64)
        terminated = self._column("terminated", terminated, np.bool_) & ~began
        truncated = self._column("truncated", truncated, np.bool_) & ~began
        ended = terminated | truncated
        begins: list[np.ndarray | None] = [
            row if new else None for row, new in zip(rows, began, strict=True)
        ]
        self.waiting = ended if self.mode is AutoresetMode.NEXT_STEP else np.zeros_like(ended)
        if self.mode is AutoresetMode.SAME_STEP:
            for number in np.flatnonzero(ended).tolist():
                begins[number], rows[number] = rows[number], self._last(info, number)
        elif self.mode is AutoresetMode.DISABLED and ended.any():
            after = self._reset_some(ended, rows)
            begins = [row if end else None for row, end in zip(after, ended, strict=True)]
        return [
            Outcome((row, float(reward), bool(end), bool(cut)), begin)
            for row, reward, end, cut, begin in zip(
                rows, rewards, terminated, truncated, begins, strict=True
            )
        ]

    def states(self) -> list[dict[str, Any]] | None:
        """What `side_by_side` goes on from; None for a user's VectorEnv."""
        return list(self.envs.call("state")) if self.keeps else None  # type: ignore[attr-defined]

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def _rows(self, observed: Any) -> list[np.ndarray]:
        """A batch of observations, each flat, as copies: a VectorEnv may write into one array."""
        rows = (
            [np.array(row) for row in np.asarray(observed)]
            if self._flat
            else [
                np.asarray(gymnasium.spaces.flatten(self._single, row))
                for row in iterate(self.envs.observation_space, observed)
            ]
        )
        if len(rows) != self.count:
            raise ConfigError(f"{self.name}: got {len(rows)} observations, want {self.count}")
        return rows

    def _column(self, what: str, values: Any, dtype: type) -> np.ndarray:
        column = np.asarray(values)
        if column.shape != (self.count,):
            raise ConfigError(f"{self.name}: {what}: got shape {column.shape}, want {self.count}")
        return column.astype(dtype)

    def _last(self, info: Any, number: int) -> np.ndarray:
        """The last observation of an episode that ended in SameStep."""
        final = info.get("final_obs")
        if final is None or final[number] is None:
            raise ConfigError(
                f"{self.label(number)}: its autoreset mode is SameStep, but at the episode's end "
                "info['final_obs'] has no observation"
            )
        return np.array(gymnasium.spaces.flatten(self._single, final[number]))

    def _reset_some(self, ended: np.ndarray, before: list[np.ndarray]) -> list[np.ndarray]:
        """Begin episodes where they ended; the others must not change."""
        after = self._rows(self.envs.reset(options={"reset_mask": ended.copy()})[0])
        for number in np.flatnonzero(~ended).tolist():
            if not np.array_equal(after[number], before[number], equal_nan=True):
                raise ConfigError(
                    f"{self.label(number)}: its autoreset mode is Disabled, but reset with a "
                    "reset_mask changed it, too"
                )
        return after
