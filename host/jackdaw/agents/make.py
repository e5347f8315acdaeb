"""From a recipe to its agent."""

from __future__ import annotations

from jackdaw.agents.actor_critic import ActorCriticAgent
from jackdaw.agents.base import Agent, EnvironmentSpec
from jackdaw.agents.dqn import DqnAgent
from jackdaw.agents.recipes import ActorCriticRecipe, DqnRecipe, Recipe


def make_agent(recipe: Recipe, spec: EnvironmentSpec) -> Agent:
    """Make the agent of a recipe. Raises ConfigError if the environment's actions do not fit."""
    if isinstance(recipe, DqnRecipe):
        return DqnAgent(recipe, spec)
    if isinstance(recipe, ActorCriticRecipe):
        return ActorCriticAgent(recipe, spec)
    raise TypeError(f"recipe: got {type(recipe).__name__}")
