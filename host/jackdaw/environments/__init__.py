"""Environments of Jackdaw's own and of users; importing this registers the first with Gymnasium."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import gymnasium.vector

from jackdaw.errors import ConfigError

if TYPE_CHECKING:
    from jackdaw.environments.predator_prey import PredatorPrey

PIXEL_CATCH = "jackdaw/PixelCatch-v0"
OWN = "own/"  # namespace of the environments that users' functions make

gymnasium.register(PIXEL_CATCH, "jackdaw.environments.pixel_catch:PixelCatch")
GAMES = "jackdaw.environments.predator_prey"
TEAMS: dict[str, tuple[str, dict[str, int]]] = {  # class and settings of multi-agent games
    "PredatorPrey-v0": ("PredatorPreyGrid", {"dim": 5, "agents": 3, "vision": 0, "steps": 20}),
    "PredatorPreyMedium-v0": (
        "PredatorPreyGrid", {"dim": 10, "agents": 5, "vision": 1, "steps": 40}
    ),
    "PredatorPreyParticle-v0": ("PredatorPreyParticle", {"agents": 3, "steps": 40}),
}  # fmt: skip
for _name, (_kind, _settings) in TEAMS.items():
    gymnasium.register(_name, vector_entry_point=f"{GAMES}:{_kind}", kwargs=dict(_settings))

Vector = gymnasium.vector.VectorEnv[Any, Any, Any]
Make = Callable[..., gymnasium.Env[Any, Any]] | Callable[..., Vector]


def named(environment: str | Make) -> str:
    """The Gymnasium id of an environment; a function or class that makes one is registered.

    The function gets the keywords of `gymnasium.make`, `render_mode` for example. One that makes a
    VectorEnv gets none, and `makes_vector` tells it from others.

    Raises: ConfigError for anything else, also for a VectorEnv itself.
    """
    if isinstance(environment, str):
        return environment
    if not callable(environment):
        raise ConfigError(
            f"env: got {environment!r}, want a Gymnasium id or a function that makes an "
            "environment: evaluations play in one of their own"
        )
    label = f"{environment.__module__}.{getattr(environment, '__qualname__', 'function')}"
    name = OWN + re.sub(r"[^\w.]+", "_", label)
    gymnasium.registry.pop(name, None)
    made: Any = environment
    if _vector(environment):
        gymnasium.register(name, vector_entry_point=made)
    else:
        gymnasium.register(name, made)
    return name


def makes_vector(name: str) -> bool:
    """Whether a name is that of a function that makes a VectorEnv."""
    return name.startswith(OWN) and name in gymnasium.registry and (
        gymnasium.registry[name].entry_point is None
    )  # fmt: skip


def _vector(make: Make) -> bool:
    """Whether a function makes a VectorEnv; a function is called for it."""
    if isinstance(make, type):
        return issubclass(make, gymnasium.vector.VectorEnv)
    try:
        made = make()
    except gymnasium.error.Error as error:
        raise ConfigError(f"env: {error}") from None
    made.close()
    return isinstance(made, gymnasium.vector.VectorEnv)


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


def make_team(name: str, episodes: int, render_mode: str | None = None) -> PredatorPrey:
    """Make a multi-agent game that plays so many episodes at once.

    Raises: ConfigError for another name.
    """
    if name not in TEAMS:
        raise ConfigError(f"{name}: got no game for a team; there are {', '.join(TEAMS)}")
    kind, settings = TEAMS[name]
    found: PredatorPrey = getattr(importlib.import_module(GAMES), kind)(
        episodes, **settings, render_mode=render_mode
    )
    return found
