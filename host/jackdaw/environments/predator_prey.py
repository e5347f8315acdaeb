"""Predator-Prey: agents that must find a prey which does not move, B episodes at once.

Two games: on a grid, with the rules of IC3Net, and of particles with inertia. An agent sees little;
those who find the prey can tell the others. An episode succeeds when all agents are at the prey.

Source: Singh, Jain, Sukhbaatar 2019 (IC3Net), 4.1; Lowe et al. 2017 (particles).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from jackdaw.environments import make_team

PENALTY = -0.05  # reward of a step away from the prey
ACTIONS = 5
MOVES = np.array([[-1, 0], [0, 1], [1, 0], [0, -1], [0, 0]])  # up, right, down, left, stay
FORCES = np.array([[0, 1], [1, 0], [0, -1], [-1, 0], [0, 0]], np.float32)
TIME_STEP, DAMPING, FORCE, REACH = 0.1, 0.25, 2.5, 0.1  # of particles, in a unit square
ZOOM = 40  # pixels of a cell
PREY, NEAR = (210, 60, 40), (240, 180, 170)  # colors: the prey; where particles reach it
AGENTS = [(30, 90, 200), (20, 140, 90), (140, 60, 170), (220, 130, 0), (70, 70, 80)]


class PredatorPrey(VectorEnv[np.ndarray, np.ndarray, np.ndarray], ABC):
    """What both games share: episodes of at most T steps, which end when all agents succeed.

    Observations are [B, A, O] float32, actions [B, A] of 0..4, rewards [B, A] float32. An episode
    that has ended stays as it is, with rewards of 0, until `reset`. `info["success"]` is [B] bool.

    Args:
        episodes: B.
        agents: A.
        steps: T.
        width: O.
        render_mode: `rgb_array` or None.
    Attributes:
        OWN: names of the game's own arrays.
        agents, steps: A and T.
        elapsed: steps taken.
        ended, succeeded: [B] bool.
    """

    OWN: tuple[str, ...]
    metadata = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.DISABLED, "render_modes": ["rgb_array"], "render_fps": 5
    }  # fmt: skip

    def __init__(
        self, episodes: int, agents: int, steps: int, width: int, render_mode: str | None
    ) -> None:
        if min(episodes, agents, steps) < 1:
            raise ValueError(f"got {episodes} episodes, {agents} agents, {steps} steps, want 1 up")
        self.num_envs, self.agents, self.steps = episodes, agents, steps
        self.render_mode = render_mode
        box, many = gymnasium.spaces.Box, gymnasium.spaces.MultiDiscrete
        self.single_observation_space = box(-np.inf, np.inf, (agents, width), np.float32)
        self.single_action_space = many([ACTIONS] * agents)
        self.observation_space = box(-np.inf, np.inf, (episodes, agents, width), np.float32)
        self.action_space = many(np.full((episodes, agents), ACTIONS))
        self.elapsed = np.zeros(episodes, np.int64)
        self.ended = np.zeros(episodes, bool)
        self.succeeded = np.zeros(episodes, bool)

    @property
    def width(self) -> int:
        """O."""
        return int(self.single_observation_space.shape[1])  # type: ignore[index]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin episodes; `options["reset_mask"]`, [B] bool, says which, default all of them.

        One generator serves all episodes: of a list of seeds it takes the first.

        Raises: ValueError for a mask of another shape.
        """
        if isinstance(seed, list):
            seed = seed[0]
        super().reset(seed=seed)
        mask = np.ones(self.num_envs, bool)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"], bool)
            if mask.shape != (self.num_envs,):
                raise ValueError(f"reset_mask: got shape {mask.shape}, want [{self.num_envs}]")
        self.elapsed[mask], self.ended[mask], self.succeeded[mask] = 0, False, False
        self._place(mask)
        return self._observe(), {"success": self.succeeded.copy()}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take a step in all episodes that have not ended.

        Raises: ValueError for actions of another shape or outside 0..4.
        """
        chosen = np.asarray(actions)
        if (
            chosen.shape != (self.num_envs, self.agents)
            or not np.isin(chosen, range(ACTIONS)).all()
        ):
            raise ValueError(
                f"actions: got shape {chosen.shape}, values {np.unique(chosen)[:9].tolist()}; "
                f"want [{self.num_envs}, {self.agents}] of 0..{ACTIONS - 1}"
            )
        live = ~self.ended
        self._move(chosen.astype(np.int64), live)
        there = self._there()
        self.elapsed[live] += 1
        rewards = np.where(there, 0.0, PENALTY) * live[:, None]
        self.succeeded |= live & there.all(axis=1)
        terminated = self.succeeded.copy()
        truncated = ~terminated & (self.elapsed >= self.steps)
        self.ended = terminated | truncated
        return (
            self._observe(), rewards.astype(np.float32), terminated, truncated,
            {"success": self.succeeded.copy()},
        )  # fmt: skip

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of each episode, [h, w, 3] uint8, if the render mode is `rgb_array`."""
        if self.render_mode is None:
            return None
        return tuple(self._picture(episode) for episode in range(self.num_envs))

    @abstractmethod
    def _place(self, mask: np.ndarray) -> None:
        """Begin the episodes of a mask."""

    @abstractmethod
    def _move(self, actions: np.ndarray, live: np.ndarray) -> None:
        """Move the agents of live episodes."""

    @abstractmethod
    def _there(self) -> np.ndarray:
        """Which agents are at the prey, [B, A] bool."""

    @abstractmethod
    def _observe(self) -> np.ndarray:
        """[B, A, O] float32."""

    @abstractmethod
    def _picture(self, episode: int) -> np.ndarray:
        """Of an episode, [h, w, 3] uint8."""

    def get_state(self) -> dict[str, Any]:
        """Everything of the episodes, to go on from."""
        kept = {name: getattr(self, name).copy() for name in ("elapsed", "ended", "succeeded")}
        kept |= {name: getattr(self, name).copy() for name in self.OWN}
        return {**kept, "generator": self.np_random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        for name in ("elapsed", "ended", "succeeded", *self.OWN):
            getattr(self, name)[...] = state[name]
        self.np_random.bit_generator.state = state["generator"]


class PredatorPreyGrid(PredatorPrey):
    """The game on a grid; agents and prey begin in different cells.

    An agent that has reached the prey stays there. With vision 0 an agent sees its cell (one-hot)
    and whether the prey and how many agents are in it; with vision v its row and column (one-hot)
    and a window of 2v+1 cells to a side: outside, prey, number of agents.

    Args:
        num_envs: B.
        dim: cells along an edge.
        agents: A.
        vision: cells around an agent that it sees.
        steps: T.
        render_mode: `rgb_array` or None.
    Attributes:
        position: [B, A, 2], row and column of the agents.
        prey: [B, 2].
        reached: [B, A] bool.
    """

    OWN = ("position", "prey", "reached")

    def __init__(
        self, num_envs: int = 1, dim: int = 5, agents: int = 3, vision: int = 0, steps: int = 20,
        render_mode: str | None = None,
    ) -> None:  # fmt: skip
        if dim * dim <= agents or vision < 0:
            raise ValueError(f"got {dim} x {dim} cells for {agents} agents, vision {vision}")
        self.dim, self.vision = dim, vision
        view = (2 * vision + 1) ** 2
        width = 2 * dim + 3 * view if vision else dim * dim + 4
        super().__init__(num_envs, agents, steps, width, render_mode)
        self.position = np.zeros((num_envs, agents, 2), np.int64)
        self.prey = np.zeros((num_envs, 2), np.int64)
        self.reached = np.zeros((num_envs, agents), bool)

    def _place(self, mask: np.ndarray) -> None:
        cells = self.dim * self.dim
        order = self.np_random.random((int(mask.sum()), cells)).argsort(axis=1)
        chosen = order[:, : self.agents + 1]
        places = np.stack([chosen // self.dim, chosen % self.dim], axis=-1)
        self.position[mask], self.prey[mask] = places[:, :-1], places[:, -1]
        self.reached[mask] = False

    def _move(self, actions: np.ndarray, live: np.ndarray) -> None:
        free = live[:, None] & ~self.reached
        moved = np.clip(self.position + MOVES[actions], 0, self.dim - 1)
        self.position = np.where(free[..., None], moved, self.position)
        self.reached |= live[:, None] & (self.position == self.prey[:, None]).all(axis=-1)

    def _there(self) -> np.ndarray:
        return self.reached.copy()

    def _observe(self) -> np.ndarray:
        b, a, d, v = self.num_envs, self.agents, self.dim, self.vision
        edge = d + 2 * v
        seen = np.zeros((b, edge, edge, 3), np.float32)  # outside, prey, agents
        seen[..., 0] = 1
        seen[:, v : v + d, v : v + d, 0] = 0
        every = np.arange(b)
        seen[every, self.prey[:, 0] + v, self.prey[:, 1] + v, 1] = 1
        np.add.at(
            seen[..., 2], (every[:, None], self.position[..., 0] + v, self.position[..., 1] + v), 1
        )
        rows, columns = self.position[..., 0], self.position[..., 1]
        out = np.zeros((b, a, self.width), np.float32)
        who = (every[:, None], np.arange(a)[None])
        if not v:
            out[(*who, rows * d + columns)] = 1
            out[..., d * d + 1 :] = seen[every[:, None], rows, columns]
            return out
        out[(*who, rows)] = 1
        out[(*who, d + columns)] = 1
        around = np.arange(2 * v + 1)
        window = seen[
            every[:, None, None, None],
            rows[..., None, None] + around[:, None],
            columns[..., None, None] + around,
        ]
        out[..., 2 * d :] = window.reshape(b, a, -1)
        return out

    def _picture(self, episode: int) -> np.ndarray:
        size = self.dim * ZOOM
        image = np.full((size, size, 3), 255, np.uint8)
        image[::ZOOM] = image[:, ::ZOOM] = 200
        row, column = self.prey[episode] * ZOOM
        image[row + 2 : row + ZOOM - 1, column + 2 : column + ZOOM - 1] = PREY
        edge = int(np.ceil(np.sqrt(self.agents)))  # agents share a cell side by side
        side = (ZOOM - 8) // edge
        for k, cell in enumerate(self.position[episode]):
            row, column = cell * ZOOM + 4 + np.array(divmod(k, edge)) * side
            image[row + 1 : row + side, column + 1 : column + side] = 255
            image[row + 2 : row + side - 1, column + 2 : column + side - 1] = AGENTS[
                k % len(AGENTS)
            ]
        return image


class PredatorPreyParticle(PredatorPrey):
    """The game of particles in a unit square: agents have inertia, an action is a force.

    An agent sees its velocity and position, and where the prey and the other agents are from it:
    2A + 4 numbers. It is at the prey within a distance of 0.1. At a wall it stops.

    Args:
        num_envs: B.
        agents: A.
        steps: T.
        render_mode: `rgb_array` or None.
    Attributes:
        position, velocity: [B, A, 2] float32.
        prey: [B, 2] float32.
    """

    OWN = ("position", "velocity", "prey")

    def __init__(
        self, num_envs: int = 1, agents: int = 3, steps: int = 40, render_mode: str | None = None
    ) -> None:
        super().__init__(num_envs, agents, steps, 2 * agents + 4, render_mode)
        self.position = np.zeros((num_envs, agents, 2), np.float32)
        self.velocity = np.zeros((num_envs, agents, 2), np.float32)
        self.prey = np.zeros((num_envs, 2), np.float32)

    def _place(self, mask: np.ndarray) -> None:
        count = int(mask.sum())
        self.position[mask] = self.np_random.random((count, self.agents, 2), np.float32)
        self.prey[mask] = self.np_random.random((count, 2), np.float32)
        self.velocity[mask] = 0

    def _move(self, actions: np.ndarray, live: np.ndarray) -> None:
        free = live[:, None, None]
        force = FORCES[actions] * np.float32(FORCE * TIME_STEP)
        velocity = self.velocity * np.float32(1 - DAMPING) + force
        wanted = self.position + velocity * np.float32(TIME_STEP)
        inside = np.clip(wanted, 0, 1)
        velocity = np.where(wanted == inside, velocity, np.float32(0))
        self.position = np.where(free, inside, self.position)
        self.velocity = np.where(free, velocity, self.velocity)

    def _there(self) -> np.ndarray:
        away = self.position - self.prey[:, None]
        return np.hypot(away[..., 0], away[..., 1]) <= REACH

    def _observe(self) -> np.ndarray:
        between = self.position[:, None] - self.position[:, :, None]  # [B, from, to, 2]
        a = self.agents
        others = between[:, ~np.eye(a, dtype=bool)].reshape(self.num_envs, a, 2 * (a - 1))
        prey = self.prey[:, None] - self.position
        return np.concatenate([self.velocity, self.position, prey, others], axis=-1)

    def _picture(self, episode: int) -> np.ndarray:
        size = 5 * ZOOM
        image = np.full((size, size, 3), 255, np.uint8)
        rows, columns = np.mgrid[:size, :size] / (size - 1)
        prey = self.prey[episode]
        agents = [(p, 0.03, AGENTS[k % len(AGENTS)]) for k, p in enumerate(self.position[episode])]
        for (x, y), radius, color in [(prey, REACH, NEAR), (prey, 0.03, PREY), *agents]:
            image[np.hypot(columns - x, 1 - rows - y) <= radius] = color
        return image


class ParallelGame:
    """One episode of a game with PettingZoo's parallel API (`pettingzoo.ParallelEnv`).

    It needs no package; `isinstance` of PettingZoo's class does not hold.

    Args:
        name: Gymnasium id of the game.
        render_mode: `rgb_array` or None.
    Attributes:
        agents, possible_agents: names, `agents` empty after the end.
    """

    def __init__(self, name: str = "PredatorPrey-v0", render_mode: str | None = None) -> None:
        self.game = make_team(name, 1, render_mode)
        self.metadata = {"name": name, "render_modes": ["rgb_array"], "is_parallelizable": True}
        self.render_mode = render_mode
        self.possible_agents = [f"predator_{k}" for k in range(self.game.agents)]
        self.agents: list[str] = []
        box = gymnasium.spaces.Box(-np.inf, np.inf, (self.game.width,), np.float32)
        self.observation_spaces = dict.fromkeys(self.possible_agents, box)
        self.action_spaces = {
            agent: gymnasium.spaces.Discrete(ACTIONS) for agent in self.possible_agents
        }

    @property
    def unwrapped(self) -> ParallelGame:
        """Itself."""
        return self

    @property
    def num_agents(self) -> int:
        """Agents that play."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """All agents."""
        return len(self.possible_agents)

    def observation_space(self, agent: str) -> gymnasium.spaces.Box:
        """Of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """Of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Begin an episode."""
        seen, _ = self.game.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return dict(zip(self.agents, seen[0], strict=True)), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool],
        dict[str, dict[str, Any]],
    ]:  # fmt: skip
        """Take a step; all agents end together. Raises: ValueError if an agent has no action."""
        names = list(self.agents)
        if not names:
            return {}, {}, {}, {}, {}
        if missing := [name for name in names if name not in actions]:
            raise ValueError(f"actions: got none of {', '.join(missing)}")
        chosen = np.array([[actions[name] for name in names]])
        seen, rewards, terminated, truncated, info = self.game.step(chosen)
        if terminated[0] or truncated[0]:
            self.agents = []
        success = bool(info["success"][0])
        return (
            dict(zip(names, seen[0], strict=True)),
            {name: float(r) for name, r in zip(names, rewards[0], strict=True)},
            dict.fromkeys(names, bool(terminated[0])),
            dict.fromkeys(names, bool(truncated[0])),
            {name: {"success": success} for name in names},
        )

    def render(self) -> Any:
        """A picture, [h, w, 3] uint8, if the render mode is `rgb_array`."""
        pictures = self.game.render()
        return None if pictures is None else pictures[0]

    def state(self) -> np.ndarray:
        """All observations, one after the other."""
        return self.game._observe().reshape(-1)

    def close(self) -> None:
        """Nothing is held."""
