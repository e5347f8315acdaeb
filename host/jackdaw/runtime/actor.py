"""Actors: threads that step an environment and hand finished records to the host.

Source: thesis 4.2.1. In lockstep each actor steps only as many times as it holds permits for, with
the weights that were published before; its records go to its own data-collection queue (DCQ).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium
import numpy as np

from jackdaw.agents.base import Action, Parameters, Transition
from jackdaw.errors import EXPECTED, NonfiniteError
from jackdaw.ranges import FLOAT32_MAX
from jackdaw.runtime.environment import finite
from jackdaw.runtime.queues import BoundedQueue, QueueClosed
from jackdaw.runtime.weights import WeightStore


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
    """One environment with its policy, its generator and its n-step window.

    Args:
        number: 0.., the actor's place in every order.
        actors: how many actors there are.
        make: makes the environment.
        seed: seeds the environment's first reset.
        rng: the policy's generator.
    """

    def __init__(
        self,
        number: int,
        actors: int,
        make: Callable[[], gymnasium.Env[Any, Any]],
        policy: Policy,
        window: NStepWindow,
        seed: int,
        rng: np.random.Generator,
    ) -> None:
        self.number = number
        self.actors = actors
        self.environment = make()
        self.policy = policy
        self.window = window
        self.rng = rng
        self.taken = 0
        self.episode_return = 0.0
        state, _ = self.environment.reset(seed=seed % (1 << 31))
        self.state, _ = finite(self.environment, 0, state)

    def run(self, steps: int, weights: WeightStore) -> Block:
        """Take `steps` environment steps with the published weights."""
        published = weights.read()
        transitions: list[Transition] = []
        returns = []
        for _ in range(steps):
            global_step = self.taken * self.actors + self.number
            action = self.policy.act(published.parameters, self.state, self.rng, global_step)
            observed, given, terminated, truncated, _ = self.environment.step(action)
            self.taken += 1
            next_state, reward = finite(self.environment, self.taken, observed, given)
            self.episode_return += reward
            transitions += [
                replace(t, noise=self.policy.smoothing(self.rng))
                for t in self.window.push(
                    self.state, action, reward, next_state, terminated, truncated
                )
            ]
            if terminated or truncated:
                returns.append(self.episode_return)
                self.episode_return = 0.0
                observed, _ = self.environment.reset()
                next_state, _ = finite(self.environment, self.taken, observed)
            self.state = next_state
        return Block(self.number, steps, transitions, returns, published.version)


class ActorPool:
    """Runs actors in threads; in lockstep they step only when permits are given.

    Args:
        actors: the actors, in order.
        weights: where they read their weights.
        timeout_s: longest wait (seconds) for a block.
    """

    def __init__(self, actors: list[Actor], weights: WeightStore, timeout_s: float = 120.0) -> None:
        self.actors = actors
        self.weights = weights
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
        """Let the actors take `steps` steps together and return their blocks in actor order.

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

    def close(self) -> None:
        """End the threads and close the environments."""
        for permits in self.permits:
            permits.close()
        for thread in self._threads:
            thread.join(timeout=10.0)
        for actor in self.actors:
            actor.environment.close()

    def _loop(self, index: int) -> None:
        try:
            while True:
                count = self.permits[index].get()
                self.blocks[index].put(self.actors[index].run(count, self.weights))
        except QueueClosed:
            self.blocks[index].close()
        except BaseException as error:  # reaches the caller through the queue
            self.blocks[index].close(error)
