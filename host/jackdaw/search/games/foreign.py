"""Games of OpenSpiel and PettingZoo as a search needs them; both packages are optional."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from jackdaw.errors import ConfigError, EnvNotClonable
from jackdaw.search.environment import SearchEnv

SPARE = 4096  # bytes beyond the first state of a game


class _Pickled(SearchEnv):
    """A state whose bytes vary in number: their count, then the bytes."""

    def _size(self) -> int:
        return len(self._bytes()) + SPARE

    def _bytes(self) -> bytes:
        raise NotImplementedError

    def _restore(self, raw: bytes) -> None:
        raise NotImplementedError

    def save_into(self, buffer: np.ndarray) -> None:
        """See SearchEnv. Raises: EnvNotClonable for a state that has grown beyond its room."""
        raw = self._bytes()
        if len(raw) + 8 > len(buffer):
            raise EnvNotClonable(
                f"{type(self).__name__}: got a state of {len(raw)} bytes, want {len(buffer) - 8}"
            )
        buffer[:8] = np.array([len(raw)], np.int64).view(np.uint8)
        buffer[8 : 8 + len(raw)] = np.frombuffer(raw, np.uint8)

    def load_from(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        size = int(buffer[:8].view(np.int64)[0])
        self._restore(buffer[8 : 8 + size].tobytes())


class SpielState(_Pickled):
    """A game of OpenSpiel: deterministic, of perfect information, for one player or two in turn."""

    def __init__(self, game: Any) -> None:
        """Begin the game. Raises: EnvNotClonable for another kind of game."""
        kind, dynamics = game.get_type(), game.get_type().dynamics.name
        chance, information = kind.chance_mode.name, kind.information.name
        if (dynamics, chance, information) != (
            "SEQUENTIAL", "DETERMINISTIC", "PERFECT_INFORMATION",
        ) or game.num_players() > 2:  # fmt: skip
            raise EnvNotClonable(
                f"{kind.short_name}: got {dynamics}, {chance}, {information} for "
                f"{game.num_players()} players, want a deterministic game of perfect information "
                "for one or two in turn"
            )
        self.name, self._game = kind.short_name, game
        self.actions, self.players = game.num_distinct_actions(), game.num_players()
        self.reward = max(abs(game.max_utility()), abs(game.min_utility()))
        self.state = game.new_initial_state()
        self.state_size = self._size()

    def _bytes(self) -> bytes:
        return self.state.serialize().encode()

    def _restore(self, raw: bytes) -> None:
        self.state = self._game.deserialize_state(raw.decode())
        self.over = self.state.is_terminal()

    def reset(self, seed: int) -> None:
        """See SearchEnv; the game begins alike whatever the seed."""
        self.state, self.over = self._game.new_initial_state(), False

    def legal(self) -> int:
        """See SearchEnv."""
        return sum(1 << action for action in self.state.legal_actions())

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv."""
        player = self.state.current_player()
        self.state.apply_action(action)
        self.over = self.state.is_terminal()
        return float(self.state.rewards()[player]), self.over

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        """See SearchEnv; without the masks, which take longer than the game."""
        state, sign = self.state, -1.0 if self.players == 2 else 1.0
        total, factor, flip = 0.0, 1.0, sign
        for choice in rng.random(horizon).tolist():
            legal, player = state.legal_actions(), state.current_player()
            state.apply_action(legal[int(choice * len(legal))])
            total += sign * factor * state.rewards()[player]
            if state.is_terminal():
                break
            factor, sign = factor * discount, sign * flip
        return total

    def take(self, foreign: Any) -> None:
        """See SearchEnv; a pyspiel state is taken, too."""
        if isinstance(foreign, SearchEnv):
            return super().take(foreign)
        self._restore(foreign.serialize().encode())
        return None


class PettingZooState(_Pickled):
    """A PettingZoo game of two players in turn, with a mask of actions (classic)."""

    def __init__(self, env: Any) -> None:
        """Begin the game. Raises: ConfigError for another number of players."""
        base = env.unwrapped
        self.name = str(base.metadata.get("name", type(base).__name__))
        if len(base.possible_agents) != 2:
            raise ConfigError(f"{self.name}: got {len(base.possible_agents)} players, want 2")
        self.env, self.players = base, 2
        base.reset(seed=0)
        self.actions = int(base.action_space(base.possible_agents[0]).n)
        self.state_size = self._size()

    def _bytes(self) -> bytes:
        return pickle.dumps({k: v for k, v in self.env.__dict__.items() if _data(k, v)})

    def _restore(self, raw: bytes) -> None:
        self.env.__dict__.update(pickle.loads(raw))
        self.over = self._ended()

    def _ended(self) -> bool:
        return any(self.env.terminations.values()) or any(self.env.truncations.values())

    def reset(self, seed: int) -> None:
        """See SearchEnv."""
        self.env.reset(seed=seed)
        self.over = False

    def legal(self) -> int:
        """See SearchEnv."""
        found = self.env.observe(self.env.agent_selection)["action_mask"]
        return sum(1 << int(action) for action in np.flatnonzero(found))

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv."""
        player = self.env.agent_selection
        self.env.step(action)
        self.over = self._ended()
        return float(self.env.rewards[player]), self.over

    def take(self, foreign: Any) -> None:
        """See SearchEnv."""
        if isinstance(foreign, SearchEnv):
            return super().take(foreign)
        other = copy.copy(self)
        other.env = foreign.unwrapped
        self._restore(other._bytes())
        return None

    def close(self) -> None:
        """See SearchEnv."""
        self.env.close()


def _data(name: str, value: Any) -> bool:
    """Whether an attribute is the game's state: no space, window or generator."""
    return not (
        name.endswith(("_space", "_spaces", "screen", "window", "clock", "np_random", "pieces"))
        or callable(value)
        or type(value).__module__.startswith(("pygame", "gymnasium"))
    )
