"""What a search needs of an environment: states that are copied, steps, and random play.

`adapt` makes one of these of a Gymnasium environment, an Atari game, a PettingZoo or OpenSpiel
game. `check_clonable` holds it to what it promises, in a second process.

Source: thesis 5.1.
"""

from __future__ import annotations

import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np

from jackdaw.errors import ConfigError, EnvError, EnvNotClonable
from jackdaw.ranges import Range, real, whole

MakeEnv = Callable[[], Any]
WALK, COMPARED = 20, 60  # steps of `check_clonable`: before the copy, and after it
MOST_ACTIONS = 32  # a mask has as many bits
TORQUES = 5  # into which a continuous action of one number is divided
ALE_SPARE = 256  # bytes beyond an Atari state, whose length differs by a few
CHECK_S = 60.0
# Rewards of a step are within this of 0.
REWARDS = {
    "CartPole": 1.0, "Acrobot": 1.0, "MountainCar": 1.0, "Pendulum": 16.3, "FrozenLake": 1.0,
    "CliffWalking": 100.0, "Taxi": 20.0,
}  # fmt: skip


class SearchEnv(ABC):
    """A deterministic environment whose state can be copied.

    Attributes:
        actions: how many there are; 0..actions - 1.
        state_size: bytes of a state.
        players: 1; or 2, who take turns, and of whom one wins what the other loses.
        reward: a step's rewards are from -reward to reward, and searches scale returns by it. None:
            they scale by the returns that they see.
        over: whether the episode has ended.
    """

    actions: int
    state_size: int
    players: int = 1
    reward: float | None = 1.0
    over: bool = False

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Begin an episode."""

    @abstractmethod
    def save_into(self, buffer: np.ndarray) -> None:
        """Write the state, [state_size] uint8."""

    @abstractmethod
    def load_from(self, buffer: np.ndarray) -> None:
        """Continue from a state that any instance has saved, [state_size] uint8."""

    @abstractmethod
    def step(self, action: int) -> tuple[float, bool]:
        """Take a legal action.

        Returns: the reward, of the player who acts, and whether the episode ends.
        """

    def legal(self) -> int:
        """Mask of the legal actions."""
        return (1 << self.actions) - 1

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        """Play at random to the end, or so many steps.

        Returns: the discounted return. With two players it is that of the one who moved last.
        """
        total, factor, sign = 0.0, 1.0, -1.0 if self.players == 2 else 1.0
        flip, everything = sign, (1 << self.actions) - 1
        choices = rng.random(horizon)
        for choice in choices.tolist():
            legal = self.legal()
            if legal == everything:
                action = int(choice * self.actions)
            else:
                masked = [a for a in range(self.actions) if legal >> a & 1]
                action = masked[int(choice * len(masked))]
            reward, over = self.step(action)
            total += sign * factor * reward
            if over:
                break
            factor *= discount
            sign *= flip
        return total

    def take(self, foreign: Any) -> None:
        """Continue from the state of the user's own instance, which is only read."""
        if not hasattr(foreign, "save_into"):
            raise ConfigError(f"environment: got {foreign!r}, want one like those of make_env")
        buffer = np.zeros(self.state_size, np.uint8)
        foreign.save_into(buffer)
        self.load_from(buffer)

    def action(self, index: int) -> Any:
        """An action as the user's environment takes it."""
        return index

    def close(self) -> None:  # noqa: B027
        """Give everything back; there is nothing by default."""


# ---- Gymnasium
def _unwrapped_steps(env: Any) -> Any:
    """Below Gymnasium's own wrappers, which only check and count."""
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    while type(env) in (OrderEnforcing, PassiveEnvChecker, TimeLimit):
        env = env.env
    return env


def _limit(env: Any) -> Any:
    """The wrapper that counts an episode's steps, or None."""
    from gymnasium.wrappers import TimeLimit

    while hasattr(env, "env"):
        if isinstance(env, TimeLimit):
            return env
        env = env.env
    return None


class GymState(SearchEnv):
    """A Gymnasium environment with a `state` of numbers (classic control), or a number `s` (toys).

    A continuous action of one number is divided into five.
    """

    def __init__(self, env: Any) -> None:
        """Adapt an environment. Raises: EnvNotClonable, ConfigError."""
        self.env, self.inner, self.base = env, _unwrapped_steps(env), env.unwrapped
        self.name = type(self.base).__name__
        limit = _limit(env)
        self._most = limit._max_episode_steps if limit is not None else None
        self._elapsed = 0
        space = env.action_space
        self._torques: np.ndarray | None = None
        if hasattr(space, "n"):
            self.actions = int(space.n)
        elif getattr(space, "shape", None) == (1,):
            self.actions = TORQUES
            self._torques = np.linspace(space.low, space.high, TORQUES).astype(space.dtype)
        else:
            raise ConfigError(f"{self.name}: got actions {space}, want a number of them, or one")
        env.reset(seed=0)
        state = getattr(self.base, "state", None)
        self._number = state is None and hasattr(self.base, "s")
        if self._number:
            state = self.base.s
        try:
            found = np.asarray(state, np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if state is None or not found.size or not np.isfinite(found).all():
            raise EnvNotClonable(
                f"{self.name}: has no numbers in `state` or `s` that could be copied"
            )
        self._shape = found.shape
        self._beyond = hasattr(self.base, "steps_beyond_terminated")
        self.state_size = 8 * (3 + found.size)
        self.reward = next((v for k, v in REWARDS.items() if self.name.startswith(k)), None)

    def reset(self, seed: int) -> None:
        """See SearchEnv."""
        self.env.reset(seed=seed)
        self._elapsed, self.over = 0, False

    def save_into(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        words = buffer.view(np.float64)
        beyond = self.base.steps_beyond_terminated if self._beyond else None
        words[0], words[1] = self._elapsed, self.over
        words[2] = -1 if beyond is None else beyond
        words[3:] = self.base.s if self._number else np.ravel(self.base.state)

    def load_from(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        words = buffer.view(np.float64)
        self._elapsed, self.over = int(words[0]), bool(words[1])
        if self._beyond:
            self.base.steps_beyond_terminated = None if words[2] < 0 else int(words[2])
        if self._number:
            self.base.s = int(words[3])
        else:
            self.base.state = words[3:].reshape(self._shape).copy()

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv."""
        given = action if self._torques is None else self._torques[action]
        _, reward, ended, truncated, _ = self.inner.step(given)
        self._elapsed += 1
        self.over = bool(ended or truncated or self._elapsed == self._most)
        return float(reward), self.over

    def take(self, foreign: Any) -> None:
        """See SearchEnv; the environment must have been reset.

        That its episode has ended is seen by the limit of steps, and of CartPole. Other
        environments do not keep it.
        """
        if isinstance(foreign, SearchEnv):
            return super().take(foreign)
        base, limit = foreign.unwrapped, _limit(foreign)
        if not isinstance(base, type(self.base)):
            raise ConfigError(f"environment: got {type(base).__name__}, want {self.name}")
        state = base.s if self._number else base.state
        if state is None:
            raise ConfigError(f"{self.name}: got one that was not reset, want reset()")
        words = np.zeros(self.state_size // 8)
        beyond = base.steps_beyond_terminated if self._beyond else None
        words[0] = limit._elapsed_steps or 0 if limit is not None else 0
        words[1] = beyond is not None or words[0] == self._most
        words[2] = -1 if beyond is None else beyond
        words[3:] = np.ravel(state)
        self.load_from(words.view(np.uint8))

    def action(self, index: int) -> Any:
        """See SearchEnv."""
        return index if self._torques is None else self._torques[index]

    def close(self) -> None:
        """See SearchEnv."""
        self.env.close()


class AleState(SearchEnv):
    """An Atari game of ALE, by its emulator's state. Sticky actions are refused."""

    reward = None

    def __init__(self, env: Any) -> None:
        """Adapt an environment. Raises: EnvNotClonable."""
        self.env, self.inner, self.base = env, _unwrapped_steps(env), env.unwrapped
        sticky = self.base.ale.getFloat("repeat_action_probability")
        if sticky:
            raise EnvNotClonable(
                f"{env.spec.id if env.spec else 'ALE'}: actions repeat with probability "
                f"{sticky:g}, which a copied state does not; make it with "
                "repeat_action_probability=0"
            )
        if not isinstance(self.base._frameskip, int):
            raise EnvNotClonable(
                f"ALE: got frameskip {self.base._frameskip}, which is drawn at random; make it "
                "with frameskip=4"
            )
        self.actions = int(env.action_space.n)
        env.reset(seed=0)
        self._limit = _limit(env)
        self._elapsed = 0
        self.state_size = len(self._bytes()) + ALE_SPARE
        self._head = np.zeros(3, np.int64)
        self.state_size += 24

    def _bytes(self) -> bytes:
        return pickle.dumps(self.base.clone_state(include_rng=True))

    def reset(self, seed: int) -> None:
        """See SearchEnv."""
        self.env.reset(seed=seed)
        self._elapsed, self.over = 0, False

    def save_into(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        self._write(buffer, self._bytes(), self._elapsed, self.over)

    def _write(self, buffer: np.ndarray, raw: bytes, elapsed: int, over: bool) -> None:
        self._head[:] = len(raw), elapsed, over
        buffer[:24] = self._head.view(np.uint8)
        buffer[24 : 24 + len(raw)] = np.frombuffer(raw, np.uint8)

    def load_from(self, buffer: np.ndarray) -> None:
        """See SearchEnv."""
        size, self._elapsed, over = buffer[:24].view(np.int64).tolist()
        self.over = bool(over)
        self.base.restore_state(pickle.loads(buffer[24 : 24 + size].tobytes()))

    def step(self, action: int) -> tuple[float, bool]:
        """See SearchEnv."""
        _, reward, ended, truncated, _ = self.inner.step(action)
        self._elapsed += 1
        most = self._limit._max_episode_steps if self._limit is not None else None
        self.over = bool(ended or truncated or self._elapsed == most)
        return float(reward), self.over

    def take(self, foreign: Any) -> None:
        """See SearchEnv."""
        if isinstance(foreign, SearchEnv):
            return super().take(foreign)
        limit, base = _limit(foreign), foreign.unwrapped
        elapsed = (limit._elapsed_steps or 0) if limit is not None else 0
        over = base.ale.game_over() or base.ale.game_truncated()
        buffer = np.zeros(self.state_size, np.uint8)
        self._write(buffer, pickle.dumps(base.clone_state(include_rng=True)), elapsed, over)
        self.load_from(buffer)

    def close(self) -> None:
        """See SearchEnv."""
        self.env.close()


# ---- Choice and check
def maker(make_env: Any) -> MakeEnv:
    """What makes environments: a callable as it is, or of a Gymnasium id. Raises: ConfigError."""
    if isinstance(make_env, str):
        return _OfId(make_env)
    if not callable(make_env):
        raise ConfigError(f"make_env: got {make_env!r}, want a callable or a Gymnasium id")
    return make_env  # type: ignore[no-any-return]


class _OfId:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> Any:
        import gymnasium

        more: dict[str, Any] = {}
        if self.name.startswith("ALE/"):
            import ale_py

            gymnasium.register_envs(ale_py)
            more = {"repeat_action_probability": 0.0}
        try:
            return gymnasium.make(self.name, **more)
        except gymnasium.error.Error as error:
            raise ConfigError(f"environment: {error}") from error


def adapt(env: Any) -> SearchEnv:
    """What a search needs of an environment.

    Raises: ConfigError for one of no kind that is known, or with attributes that are not those of a
        SearchEnv; EnvNotClonable.
    """
    found = _adapted(env)
    where = "of the environment"
    found.actions = whole(f"actions {where}", found.actions, 2, MOST_ACTIONS)
    found.state_size = whole(f"state_size {where}", found.state_size, 1, 1 << 40)
    whole(f"players {where}", found.players, 1, 2)
    if found.reward is not None:
        real(f"reward {where}", found.reward, Range(0, above=True))
    return found


def _adapted(env: Any) -> SearchEnv:
    if isinstance(env, SearchEnv):
        return env
    base = getattr(env, "unwrapped", None)
    if hasattr(env, "new_initial_state") or hasattr(env, "agent_iter"):
        from jackdaw.search.games.foreign import PettingZooState, SpielState

        return SpielState(env) if hasattr(env, "new_initial_state") else PettingZooState(env)
    if base is None or not hasattr(env, "action_space"):
        raise ConfigError(
            f"environment: got {type(env).__name__}, want a Gymnasium environment, a PettingZoo or "
            "OpenSpiel game, or a SearchEnv"
        )
    if hasattr(base, "ale"):
        return AleState(env)
    from jackdaw.search.games.cartpole import CartPoleState, compiles

    return CartPoleState(env) if compiles(base) else GymState(env)


def check_clonable(make_env: Any, seed: int = 0) -> None:
    """Play on from a copied state, here and in a second instance in another process.

    Args:
        make_env: makes environments, or a Gymnasium id.
        seed: of the actions.
    Raises: EnvNotClonable if rewards, ends or states differ, or nothing can be copied; ConfigError;
        EnvError if the environment raises an error.
    """
    make = maker(make_env)
    env = adapt(make())
    name = getattr(env, "name", type(env).__name__)
    draws = np.random.default_rng(seed).random(WALK + COMPARED)
    buffer = np.zeros(env.state_size, np.uint8)
    try:
        walk = WALK
        while True:  # a state in the midst of an episode
            env.reset(seed)
            for draw in draws[:walk]:
                if env.step(_legal(env, draw))[1]:
                    break
            if not env.over or walk == 0:
                break
            walk //= 2
        env.save_into(buffer)
        here = _play(env, draws[WALK:])
    except (ConfigError, EnvError):
        raise
    except Exception as error:
        raise EnvError(f"{name}: {type(error).__name__}: {error}") from error
    finally:
        env.close()
    receive, send = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(
        target=_elsewhere, args=(make, buffer, seed, draws[WALK:], send), daemon=True
    )
    process.start()
    send.close()
    try:
        if not receive.poll(CHECK_S):
            raise EnvNotClonable(f"{name}: {COMPARED} steps took more than {CHECK_S:.0f} s")
        there = receive.recv()
    except EOFError:
        raise EnvNotClonable(f"{name}: the second process ended without an answer") from None
    finally:
        receive.close()
        process.kill()
        process.join()
    if isinstance(there, str):
        raise EnvNotClonable(f"{name}: {there}")
    for step, (mine, theirs) in enumerate(zip(here, there, strict=False)):
        for what, a, b in zip(("reward", "end", "state"), mine, theirs, strict=True):
            if a != b:
                shown = "" if what == "state" else f": {a} and {b}"
                raise EnvNotClonable(
                    f"{name}: a copy plays on otherwise: in step {step} the {what} differs{shown}"
                )
    if len(here) != len(there):
        raise EnvNotClonable(f"{name}: a copy's episode ends otherwise")


def _legal(env: SearchEnv, draw: float) -> int:
    """A legal action, by a number from 0 to 1."""
    mask = env.legal()
    legal = [a for a in range(env.actions) if mask >> a & 1]
    if not legal:
        raise EnvError(f"legal(): got {mask!r}, want a mask of {env.actions} actions")
    return legal[int(draw * len(legal))]


def _play(env: SearchEnv, draws: np.ndarray) -> list[tuple[float, bool, bytes]]:
    found, after = [], np.zeros(env.state_size, np.uint8)
    for draw in draws:
        if env.over:
            break
        reward, over = env.step(_legal(env, draw))
        env.save_into(after)
        found.append((real("reward of a step", reward), over, after.tobytes()))
    return found


def _elsewhere(make: MakeEnv, state: np.ndarray, seed: int, draws: np.ndarray, send: Any) -> None:
    try:
        env = adapt(make())
        env.reset(seed + 1)
        env.load_from(state)
        send.send(_play(env, draws))
    except Exception as error:
        send.send(f"{type(error).__name__} in the second instance: {error}")
    os._exit(0)
