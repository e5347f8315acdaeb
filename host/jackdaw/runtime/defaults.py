"""The settings of a training: a tuned recipe, or defaults by the environment's spaces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium

from jackdaw.agents.a3c import PIXEL_CATCH, A3cRecipe, a3c_recipe
from jackdaw.agents.ic3net import Ic3netRecipe
from jackdaw.agents.recipes import LANDER, OWN_VECTOR, RECIPES, QatRecipe, Recipe
from jackdaw.environments import TEAMS, make_frames, make_team, makes_vector
from jackdaw.errors import ConfigError
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.vector import VectorEnvironment

A3C = "a3c"
IC3NET = "ic3net"
NO_GOAL = float("inf")
"""Threshold of an environment that names none: the run goes on for all of its steps."""

# The recipes that defaults are made from: they learned the hardest task of their kind.
BASES: dict[str, Recipe] = {
    "dqn": RECIPES["dqn", "LunarLander-v3"],
    "dqn-sgd": RECIPES["dqn-sgd", "CartPole-v1"],
    "ddpg": LANDER,
    "ddpg-lagged": replace(LANDER, lagged=True),
    "td3": RECIPES["td3", "LunarLanderContinuous-v3"],
    "ddpg-qat": RECIPES["ddpg-qat", "LunarLanderContinuous-v3"],
}
AGENTS = (*BASES, A3C, IC3NET)
ONE_BY_ONE = ("ddpg-qat", A3C)
REWARD_SCALE = 0.1  # of unknown rewards
PIXELS = {(2, 12, 12): PIXEL_CATCH, (4, 84, 84): A3cRecipe("")}


def chosen(agent: str, environment: str) -> tuple[Recipe | A3cRecipe | Ic3netRecipe, str]:
    """The settings of an agent on an environment.

    Args:
        agent: one of AGENTS.
        environment: Gymnasium id.
    Returns: the recipe, and a note for the user if nobody tuned it, else an empty text.
    Raises: ConfigError for an unknown agent or environment, or one that do not fit together.
    """
    if agent not in AGENTS:
        raise ConfigError(f"no agent {agent}; there are: {', '.join(AGENTS)}")
    if agent == IC3NET:
        make_team(environment, 1)
        return Ic3netRecipe(environment), ""
    if environment in TEAMS:
        raise ConfigError(f"{environment}: {agent} plays alone; the game is for {IC3NET}")
    if (agent, environment) in RECIPES:
        return RECIPES[agent, environment], ""
    if agent == A3C and (environment == PIXEL_CATCH.environment or environment.startswith("ALE/")):
        return a3c_recipe(environment), ""
    made = _make(agent, environment)
    count = made.count if isinstance(made, VectorEnvironment) else None
    try:
        spec = made.envs.spec if isinstance(made, VectorEnvironment) else made.spec
        goal = spec.reward_threshold if spec else None
        shape = tuple(made.observation_space.shape or ())
        continuous = isinstance(made.action_space, gymnasium.spaces.Box)
        space = made.action_space
    finally:
        made.close()
    until = f"until a mean return of {goal:g}" if goal is not None else "for all of its steps"
    note = f"no recipe is tuned for {agent} on {environment}: these are defaults; it trains {until}"
    if agent == A3C:
        if shape not in PIXELS or continuous:
            known = " or ".join(str(list(one)) for one in PIXELS)
            raise ConfigError(
                f"{environment}: a3c wants frames of {known} float32 and discrete actions, "
                f"got {list(shape)} and {space}"
            )
        return replace(PIXELS[shape], environment=environment, goal=goal), note
    if continuous == agent.startswith("dqn"):
        want = "discrete" if agent.startswith("dqn") else "continuous"
        raise ConfigError(f"{environment}: {agent} wants {want} actions, got {space}")
    base = BASES[agent]
    changes: dict[str, Any] = {"threshold": NO_GOAL if goal is None else float(goal)}
    if isinstance(base, QatRecipe):
        changes["stops"] = goal is not None
    if count is not None:
        ratio = -(-base.ratio // count) * count  # all step together
        changes |= {"vector": OWN_VECTOR, "actors": count, "ratio": ratio}
        changes |= {"capacity": max(base.capacity, 2 * ratio)}
        note += (
            f"; {count} environments step together, and a resumed run begins their episodes anew"
        )
    return replace(base, environment=environment, reward_scale=REWARD_SCALE, **changes), note


def _make(agent: str, environment: str) -> gymnasium.Env[Any, Any] | VectorEnvironment:
    if makes_vector(environment):
        if agent in ONE_BY_ONE:
            raise ConfigError(
                f"{environment}: {agent} plays each environment for itself, got a VectorEnv"
            )
        return VectorEnvironment.of(environment)
    try:
        return make_frames(environment) if agent == A3C else Environment(environment)
    except gymnasium.error.Error as error:
        raise ConfigError(f"{environment}: {error}") from None
