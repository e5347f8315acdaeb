"""Actors: each plays an environment and hands finished records to the host.

Source: thesis 4.2.1. In lockstep each actor steps only as many times as it holds permits for, with
the weights that were published before; its records go to its own data-collection queue (DCQ).
Actors are threads with an environment each, or take their steps together in a VectorEnv.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.base import Action, Parameters, Transition
from jackdaw.errors import EXPECTED, ConfigError, NonfiniteError
from jackdaw.ranges import FLOAT32_MAX
from jackdaw.runtime.environment import Environment, finite
from jackdaw.runtime.queues import BoundedQueue, QueueClosed
from jackdaw.runtime.seeds import derive
from jackdaw.runtime.vector import VectorEnvironment
from jackdaw.runtime.weights import WeightStore

Source = gymnasium.Env[Any, Any] | str


class NStepWindow:
    """Builds n-step transitions; flushed with shorter sums when an episode ends.

    Args:
        steps: n, at least 1.
        gamma: discount a step, 0..1.
        reward_scale: multiplies each reward.
    """

    def __init__(self, steps: int, gamma: float, reward_scale: float) -> None:
        self.steps = steps
        self.gamma = gamma
        self.reward_scale = reward_scale
        self.pending: deque[tuple[np.ndarray, Action, float]] = deque()

    def push(
        self,
        state: np.ndarray,
        action: Action,
        reward: float,
        next_state: np.ndarray,
        terminated: bool,
        truncated: bool,
    ) -> list[Transition]:
        """Add one environment step. Returns the transitions that it completes, oldest first."""
        self.pending.append((state, action, reward))
        out = []
        if terminated or truncated:
            while self.pending:
                out.append(self._oldest(next_state, terminated))
        elif len(self.pending) == self.steps:
            out.append(self._oldest(next_state, False))
        return out

    def _oldest(self, next_state: np.ndarray, terminated: bool) -> Transition:
        reward = 0.0
        for _, _, r in reversed(self.pending):
            reward = r + self.gamma * reward
        if not abs(reward * self.reward_scale) <= FLOAT32_MAX:
            raise NonfiniteError(
                f"return of {len(self.pending)} steps is {reward}, times the reward scale "
                f"{self.reward_scale} no finite float32"
            )
        discount = 0.0 if terminated else self.gamma ** len(self.pending)
        state, action, _ = self.pending.popleft()
        return Transition(state, action, reward * self.reward_scale, discount, next_state)


@dataclass(frozen=True)
class Block:
    """What one permit of an actor produced.

    Attributes:
        actor: the actor's number.
        steps: environment steps taken.
        transitions: finished records, in order.
        returns: undiscounted returns of the episodes that ended.
        version: version of the weights that chose the actions.
    """

    actor: int
    steps: int
    transitions: list[Transition]
    returns: list[float]
    version: int


class Policy(Protocol):
    """What an actor needs of an agent."""

    def act(
        self, parameters: Parameters, state: np.ndarray, rng: np.random.Generator, step: int
    ) -> Action:
        """Choose an action for one state; `step` counts the environment steps of all actors."""

    def smoothing(self, rng: np.random.Generator) -> np.ndarray | None:
        """Draw what a record's target action is disturbed by, if the algorithm does that."""


class Actor:
    """A policy with its generator, its n-step window and the state of its environment.

    Args:
        number: 0.., the actor's place in every order.
        actors: how many actors there are.
        policy: chooses the actions.
        window: builds the records.
        rng: the policy's generator.
    """

    def __init__(
        self, number: int, actors: int, policy: Policy, window: NStepWindow,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.number = number
        self.actors = actors
        self.policy = policy
        self.window = window
        self.rng = rng
        self.taken = 0
        self.episode_return = 0.0
        self.state = np.zeros(0, np.float32)
        self._clear()

    def begin(self, source: Source, observed: Any) -> None:
        """An episode begins. `source` is what an error calls the environment."""
        self.state, _ = finite(source, self.taken, observed)

    def choose(self, parameters: Parameters) -> Action:
        """The action for the present state."""
        step = self.taken * self.actors + self.number
        return self.policy.act(parameters, self.state, self.rng, step)

    def take(
        self,
        source: Source,
        action: Action,
        observed: Any,
        given: Any,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep what a step gave. At an episode's end `begin` comes next."""
        self.taken += 1
        self._steps += 1
        next_state, reward = finite(source, self.taken, observed, given)
        self.episode_return += reward
        self._transitions += [
            replace(t, noise=self.policy.smoothing(self.rng))
            for t in self.window.push(self.state, action, reward, next_state, terminated, truncated)
        ]
        if terminated or truncated:
            self._returns.append(self.episode_return)
            self.episode_return = 0.0
        self.state = next_state

    def block(self, version: int) -> Block:
        """What came of the steps since the last call, which weights of this version chose."""
        made = Block(self.number, self._steps, self._transitions, self._returns, version)
        self._clear()
        return made

    def _clear(self) -> None:
        self._steps = 0
        self._transitions: list[Transition] = []
        self._returns: list[float] = []


class Pool(Protocol):
    """Actors with their environments."""

    def collect(self, steps: int) -> list[Block]:
        """Let the actors take `steps` steps together and return their blocks in actor order."""

    def kept(self) -> list[dict[str, Any] | None]:
        """The state of each environment; None for one whose episode begins anew on resume."""

    def restore(self, kept: list[dict[str, Any] | None]) -> None:
        """Go on from states of as many environments."""

    def close(self) -> None:
        """Close the environments."""


class ActorPool:
    """Runs actors in threads; in lockstep they step only when permits are given.

    Args:
        actors: the actors, in order.
        make: makes one environment.
        seeds: of the first reset of each environment.
        weights: where they read their weights.
        timeout_s: longest wait (seconds) for a block.
    """

    def __init__(
        self,
        actors: list[Actor],
        make: Callable[[], gymnasium.Env[Any, Any]],
        seeds: Sequence[int],
        weights: WeightStore,
        timeout_s: float = 120.0,
    ) -> None:
        self.actors = actors
        self.weights = weights
        self.environments = [make() for _ in actors]
        for actor, environment, seed in zip(actors, self.environments, seeds, strict=True):
            actor.begin(environment, environment.reset(seed=seed % (1 << 31))[0])
        self.permits: list[BoundedQueue[int]] = [
            BoundedQueue(f"permits[{a.number}]", 64, timeout_s=float("inf")) for a in actors
        ]
        self.blocks: list[BoundedQueue[Block]] = [
            BoundedQueue(f"DCQ[{a.number}]", 64, timeout_s) for a in actors
        ]
        self._threads = [
            threading.Thread(target=self._loop, args=(i,), name=f"actor{i}", daemon=True)
            for i in range(len(actors))
        ]
        for thread in self._threads:
            thread.start()

    def collect(self, steps: int) -> list[Block]:
        """See Pool.

        Raises: QueueStalled; QueueClosed with the exception of an actor that failed, or that
            exception itself if it is one of EXPECTED.
        """
        share, more = divmod(steps, len(self.actors))
        counts = [share + (i < more) for i in range(len(self.actors))]
        for count, permits in zip(counts, self.permits, strict=True):
            if count:
                permits.put(count)
        try:
            return [q.get() for count, q in zip(counts, self.blocks, strict=True) if count]
        except QueueClosed as closed:
            if isinstance(closed.cause, EXPECTED):
                raise closed.cause from None
            raise

    def kept(self) -> list[dict[str, Any] | None]:
        """See Pool. Raises: TypeError for an environment that has no state."""
        for environment in self.environments:
            if not isinstance(environment, Environment):
                raise TypeError(f"got {environment}, want an Environment, whose state can be kept")
        return [e.state() for e in self.environments if isinstance(e, Environment)]

    def restore(self, kept: list[dict[str, Any] | None]) -> None:
        """See Pool. Raises: EnvironmentDiverged."""
        for number, state in enumerate(kept):
            assert state is not None, "the state of a VectorEnv"
            self.environments[number].close()
            self.environments[number] = Environment.restored(state)

    def close(self) -> None:
        """End the threads and close the environments."""
        for permits in self.permits:
            permits.close()
        for thread in self._threads:
            thread.join(timeout=10.0)
        for environment in self.environments:
            environment.close()

    def _loop(self, index: int) -> None:
        try:
            while True:
                count = self.permits[index].get()
                self.blocks[index].put(self._run(index, count))
        except QueueClosed:
            self.blocks[index].close()
        except BaseException as error:  # reaches the caller through the queue
            self.blocks[index].close(error)

    def _run(self, index: int, steps: int) -> Block:
        """Take `steps` environment steps with the published weights."""
        actor, environment = self.actors[index], self.environments[index]
        published = self.weights.read()
        for _ in range(steps):
            action = actor.choose(published.parameters)
            observed, given, terminated, truncated, _ = environment.step(action)
            actor.take(environment, action, observed, given, terminated, truncated)
            if terminated or truncated:
                actor.begin(environment, environment.reset()[0])
        return actor.block(published.version)


class VectorPool:
    """Actors that take their steps together, in a VectorEnv.

    Where the autoreset mode is NextStep, the step after an episode's end only begins the next
    episode: it is no step of that actor. In the other modes the actors do what those of an
    ActorPool do, to the bit.

    Args:
        actors: the actors, in order.
        make: makes their environments, from the states of `kept` or anew.
        seeds: of the first reset of each environment.
        weights: where they read their weights.
    Raises: ConfigError for a VectorEnv of another number of environments.
    """

    def __init__(
        self,
        actors: list[Actor],
        make: Callable[[list[dict[str, Any]] | None], VectorEnvironment],
        seeds: Sequence[int],
        weights: WeightStore,
    ) -> None:
        self.actors, self.weights, self.make, self.seeds = actors, weights, make, seeds
        self.environments = self._made(None)
        self._begin(seeds)

    def collect(self, steps: int) -> list[Block]:
        """See Pool. `steps` is a multiple of the number of actors."""
        published, environments = self.weights.read(), self.environments
        for _ in range(steps // len(self.actors)):
            actions = [
                None if waits else actor.choose(published.parameters)
                for actor, waits in zip(self.actors, environments.waiting, strict=True)
            ]
            outcomes = environments.step(actions)
            for actor, action, outcome in zip(self.actors, actions, outcomes, strict=True):
                source = environments.label(actor.number)
                if action is not None:
                    actor.take(source, action, *outcome.given)
                if outcome.begin is not None:
                    actor.begin(source, outcome.begin)
        return [actor.block(published.version) for actor in self.actors]

    def kept(self) -> list[dict[str, Any] | None]:
        """See Pool: None for each environment of a user's VectorEnv."""
        states = self.environments.states()
        return list(states) if states else [None for _ in self.actors]

    def restore(self, kept: list[dict[str, Any] | None]) -> None:
        """See Pool. Raises: EnvironmentDiverged."""
        self.environments.close()
        states = [state for state in kept if state is not None]
        self.environments = self._made(states or None)
        if not states:
            for actor in self.actors:
                actor.window.pending.clear()
                actor.episode_return = 0.0
            self._begin([
                derive(seed, "resume", actor.taken)
                for seed, actor in zip(self.seeds, self.actors, strict=True)
            ])  # fmt: skip

    def close(self) -> None:
        """See Pool."""
        self.environments.close()

    def _made(self, states: list[dict[str, Any]] | None) -> VectorEnvironment:
        made = self.make(states)
        if made.count != len(self.actors):
            made.close()
            raise ConfigError(
                f"actors: got {len(self.actors)}, the VectorEnv has {made.count} environments"
            )
        return made

    def _begin(self, seeds: Sequence[int]) -> None:
        for actor, observed in zip(self.actors, self.environments.reset(seeds), strict=True):
            actor.begin(self.environments.label(actor.number), observed)
