"""Environments as actors use them: actions from -1 to 1, and a state that can be kept."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np

from jackdaw.errors import CheckpointError, ConfigError, NonfiniteError
from jackdaw.ranges import FLOAT32_MAX


class EnvironmentDiverged(CheckpointError):
    """An environment did not repeat its episode, so a run cannot go on to the bit."""


def flat(environment: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """The environment with observations of one dimension; what can be flattened is."""
    space = environment.observation_space
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1:
        return environment
    if not space.is_np_flattenable:
        raise ConfigError(f"observation space: got {space}, want one of fixed size")
    return gymnasium.wrappers.FlattenObservation(environment)


def finite(
    environment: gymnasium.Env[Any, Any] | str, step: int, observed: Any, reward: Any = 0.0
) -> tuple[np.ndarray, float]:
    """What an environment gave, as float32 and float.

    Args:
        environment: that gave it, or what an error calls it.
        step: of the environment, counted over its episodes, for errors.
        observed: the observation.
        reward: with it.
    Raises: NonfiniteError for a NaN, an infinity, or what is one as float32.
    """
    if isinstance(environment, str):
        name = environment
    else:
        name = environment.spec.id if environment.spec else type(environment.unwrapped).__name__
    with np.errstate(over="ignore", invalid="ignore"):
        state = np.asarray(observed, np.float32)
    if not np.isfinite(state).all():
        place = np.argwhere(~np.isfinite(state))[0].tolist()
        got = np.asarray(observed)[tuple(place)]
        raise NonfiniteError(
            f"{name}, step {step}: observation{place} is {got}, want a finite float32"
        )
    if not abs(float(reward)) <= FLOAT32_MAX:
        raise NonfiniteError(f"{name}, step {step}: reward is {reward}, want a finite float32")
    return state, float(reward)


class Scale:
    """Continuous actions from -1 to 1, and the units of an environment.

    Args:
        space: the environment's actions.
    Attributes:
        bounds: of the actions, in the environment's units.
        space: what an agent sees, from -1 to 1.
    Raises: ConfigError for bounds that are not finite.
    """

    def __init__(self, space: gymnasium.spaces.Box) -> None:
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ConfigError(f"action space: got {space}, want finite bounds")
        self.bounds = space
        self.space = gymnasium.spaces.Box(-1.0, 1.0, space.shape, np.float32)
        self._middle = (space.high + space.low) / 2
        self._half = (space.high - space.low) / 2

    def __call__(self, actions: Any) -> np.ndarray:
        """Actions in the environment's units, of one environment or, [N, A], of several."""
        return np.asarray(self._middle + self._half * np.clip(actions, -1, 1))


class Environment(gymnasium.Wrapper):  # type: ignore[type-arg]
    """An environment by name, whose state can be kept whatever it is made of.

    A simulation engine's state cannot always be copied. What is kept is how the episode began and
    its actions; `restored` makes it anew and plays them again, and must see the same.
    Continuous actions are from -1 to 1 and rescaled to the bounds. Observations are flattened.

    Args:
        name: Gymnasium id.
    Attributes:
        bounds: the space of continuous actions in the environment's own units.
    Raises: ConfigError for an unknown name, bounds that are not finite, observations without size.
    """

    def __init__(self, name: str) -> None:
        try:
            made = gymnasium.make(name)
        except gymnasium.error.Error as error:
            raise ConfigError(f"{name}: {error}") from None
        super().__init__(flat(made))
        self.name = name
        self._begin: tuple[int | None, dict[str, Any] | None] | None = None
        self._actions: list[Any] = []
        self._seen = np.zeros(0)
        space = self.env.action_space
        self._scale = Scale(space) if isinstance(space, gymnasium.spaces.Box) else None
        if self._scale is not None:
            self.bounds, self.action_space = self._scale.bounds, self._scale.space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see Gymnasium."""
        state = None if seed is not None else copy.deepcopy(self._generator().state)
        self._begin, self._actions = (seed, state), []
        observed, info = self.env.reset(seed=seed, options=options)
        self._seen = np.array(observed)  # a copy: some environments write into one array
        return self._seen, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; see Gymnasium."""
        if self._scale is None:  # a VectorEnv gives scalars of NumPy
            action = int(action)
        self._actions.append(copy.copy(action))
        if self._scale is not None:
            action = self._scale(action)
        observed, reward, terminated, truncated, info = self.env.step(action)
        self._seen = np.array(observed)
        return self._seen, float(reward), terminated, truncated, info

    def _generator(self) -> Any:
        return self.unwrapped.np_random.bit_generator

    def state(self) -> dict[str, Any]:
        """What `restored` makes the environment of, in the middle of an episode too."""
        return {
            "name": self.name,
            "begin": self._begin,
            "actions": list(self._actions),
            "seen": self._seen,
            "generator": self._generator().state,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Environment:
        """Make an environment that goes on from a state. Raises: EnvironmentDiverged."""
        made = cls(state["name"])
        if state["begin"] is not None:
            seed, generator = state["begin"]
            if generator is not None:
                made._generator().state = generator
            made.reset(seed=seed)
            for action in state["actions"]:
                made.step(action)
        if not np.array_equal(made._seen, state["seen"]):
            raise EnvironmentDiverged(
                f"{made.name}: after {len(state['actions'])} steps it shows {made._seen}, "
                f"want {state['seen']}"
            )
        made._begin = state["begin"]
        made._generator().state = state["generator"]
        return made
