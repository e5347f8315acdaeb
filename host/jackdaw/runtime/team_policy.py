"""A trained team: actions for the observations of its episodes, step by step.

The network computes on the golden model of the run's build, so that its outputs are those of the
training, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from jackdaw.agents.ic3net import Ic3netRecipe, draw
from jackdaw.device import open_device
from jackdaw.drivers.sparse import NAMES, Sparse
from jackdaw.environments import make_team
from jackdaw.errors import ConfigError
from jackdaw.ranges import entries
from jackdaw.runtime.policy import LINEAR, Part, Policy
from models.sparse.ic3net import ACTIONS
from models.sparse.osel import max_index

IN_A_ROW, GAP = 3, 12  # pictures in a row of an animation; pixels between them
LAST_SHOWN = 5  # times that the last picture is shown again


@dataclass(frozen=True)
class TeamState:
    """What an episode's next step needs beside what the network remembers.

    Attributes:
        step: steps that were taken.
        gates: [B, A] int64, who speaks to the others.
    """

    step: int
    gates: np.ndarray


class TeamPolicy(Policy):
    """IC3Net: the actions of all agents of up to B episodes at once.

    Args:
        recipe: of the training; B is its `episodes`.
        spaces: of the game, from config.json.
        memories: the engine's, as a checkpoint has them.
    Attributes:
        parts: layers `enc`, `com`, `lst` and `hed`, masked weights 0. What is between them is not a
            layer, so that there is no PyTorch module.
    Raises: ConfigError if the build is too small for the recipe, or a layer is missing.
    """

    figure = "success"

    def __init__(
        self, recipe: Ic3netRecipe, spaces: Mapping[str, Any], memories: Mapping[str, Any]
    ) -> None:
        given = entries("ic3net memories", memories, NAMES)
        super().__init__(recipe, spaces, [_part(given[name]) for name in NAMES])
        agents, width = self.shape
        self._game = make_team(recipe.environment, 1)
        self._device = open_device("model", recipe.config)
        self._driver = Sparse(self._device)
        with self._driver.opening():
            self._driver.configure(recipe.settings(width, agents, self._game.steps, 0))
            self._driver.load_memories(memories)
        self._newest: TeamState | None = None

    @property
    def steps(self) -> int:
        """T: steps of an episode at most."""
        return self._game.steps

    @property
    def episodes(self) -> int:
        """B: episodes that `predict` takes at most."""
        assert isinstance(self.recipe, Ic3netRecipe)
        return self.recipe.episodes

    @property
    def frames_per_second(self) -> int:
        """Of an animation."""
        return int(self._game.metadata["render_fps"])

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> tuple[Any, Any]:
        """Choose actions and gates, as Stable-Baselines3's recurrent policies do.

        Args:
            observation: [A, O] of an episode, or [B, A, O].
            state: None at the first step of all episodes; else what the call before returned.
            episode_start: ignored: all episodes begin together.
            deterministic: the likeliest action and gate; else drawn, as in training.
            rng: draws then; by default a new one.
        Returns: actions [A], or [B, A], int64; the state for the next step.
        Raises: ConfigError for another shape, a state that is not the newest, or a step past T.
        """
        array = np.asarray(observation, np.float32)
        single = array.shape == self.shape
        batch = array[None] if single else array
        if batch.shape[1:] != self.shape or not 1 <= len(batch) <= self.episodes:
            raise ConfigError(
                f"observation: got shape {array.shape}, want {self.shape} or up to "
                f"{self.episodes} of it"
            )
        agents = self.shape[0]
        vectors, most = len(batch) * agents, self.episodes * agents
        gates = np.zeros(most, np.int64)
        if state is None:
            self._driver.begin()
        elif (
            isinstance(state, TeamState)
            and state is self._newest
            and len(state.gates) == len(batch)
        ):
            gates[:vectors] = state.gates.reshape(-1)
        else:
            raise ConfigError("state: want what the call before returned, for as many episodes")
        seen = np.zeros((most, self.shape[1]), np.float32)
        seen[:vectors] = batch.reshape(vectors, -1)
        logits = self._driver.step(seen, gates)[0][:vectors]
        parts = logits[:, :ACTIONS], logits[:, ACTIONS:]
        if deterministic:
            chosen, told = (part.argmax(axis=1) for part in parts)
        else:
            source = rng or np.random.default_rng()
            chosen, told = (draw(part, source) for part in parts)
        self._newest = TeamState(self._driver.step_number, told.reshape(-1, agents))
        actions = chosen.reshape(-1, agents)
        return (actions[0] if single else actions), self._newest

    def make(self, name: str | None = None, **options: Any) -> gymnasium.Env[Any, Any]:
        """A team's game is a VectorEnv. Raises: ConfigError."""
        raise ConfigError(f"{name or self.environment} is a game of a team: use make_team")

    def to_torch(self) -> Any:
        """Raises: ConfigError, as what is between the layers has no module here."""
        raise ConfigError(f"{self.environment}: a team is exported as .npz alone")

    def export(self, path: Any) -> Any:
        """Write the layers as `.npz`: `weight{k}` [out, in] and `bias{k}`. See Policy.export."""
        if not str(path).endswith(".npz"):
            self.to_torch()
        return super().export(path)

    def play(
        self, name: str | None, episodes: int, seed: int, rng: np.random.Generator | None
    ) -> np.ndarray:
        """Play up to B episodes at once.

        Args:
            name: Gymnasium id of a game of equal sizes; default what it was trained on.
            episodes: how many.
            seed: of the games.
            rng: draws actions and gates; None: the likeliest.
        Returns: [episodes] bool, which succeeded.
        Raises: ConfigError for another game.
        """
        game = self.game(name, episodes)
        seen, _ = game.reset(seed=seed % (1 << 31))
        state = None
        while not game.ended.all():
            actions, state = self.predict(seen, state, deterministic=rng is None, rng=rng)
            seen, *_ = game.step(actions)
        return game.succeeded.copy()

    def pictures(
        self, name: str | None, episodes: int, seed: int
    ) -> tuple[list[np.ndarray], float]:
        """Play episodes with the likeliest actions, and draw each step of them side by side.

        Returns: pictures [h, w, 3] uint8, the first before the first step, the last some times as
            the end; the share of the episodes that succeed.
        Raises: see `play`.
        """
        game = self.game(name, episodes, "rgb_array")
        seen, _ = game.reset(seed=seed % (1 << 31))
        frames, state = [_side_by_side(game.render())], None
        while not game.ended.all():
            actions, state = self.predict(seen, state)
            seen, *_ = game.step(actions)
            frames.append(_side_by_side(game.render()))
        return [*frames, *frames[-1:] * LAST_SHOWN], float(game.succeeded.mean())

    def game(self, name: str | None, episodes: int, render_mode: str | None = None) -> Any:
        """Make so many episodes of a game. Raises: ConfigError if its sizes are others."""
        game = make_team(name or self.environment, episodes, render_mode)
        if (game.agents, game.width) != self.shape or game.steps > self.steps:
            raise ConfigError(
                f"{name}: got {game.agents} agents that see {game.width} numbers for {game.steps} "
                f"steps, want {self.shape[0]}, {self.shape[1]} and at most {self.steps}"
            )
        return game


def _side_by_side(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Pictures of equal size in rows of three."""
    height, width, _ = pictures[0].shape
    columns = min(IN_A_ROW, len(pictures))
    rows = -(-len(pictures) // columns)
    whole = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, np.uint8)
    for k, picture in enumerate(pictures):
        row, column = (k // columns) * (height + GAP), (k % columns) * (width + GAP)
        whole[row : row + height, column : column + width] = picture
    return whole


def _part(layer: Mapping[str, np.ndarray]) -> Part:
    """A layer with its masked weights 0, [out, in]."""
    weight = np.asarray(layer["weight"], np.float32)
    if "ig" in layer:
        rows, columns = max_index(layer["ig"]), max_index(layer["og"])
        weight = np.where(rows[:, None] == columns, weight, np.float32(0))
    return Part(np.ascontiguousarray(weight.T), np.asarray(layer["bias"]), LINEAR)
