"""The asynchronous training loop of A3C: agents in turn, each with a snapshot of the parameters.

Every agent's rollout updates one set of parameters, which moved on since its snapshot.
Source: a3c 13.2; FA3C 2.2, 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from jackdaw.agents.a3c import (
    A3cSettings,
    initial_parameters,
    objective_gradient,
    policy,
    returns,
)
from jackdaw.device.base import Device
from jackdaw.drivers.a3c import A3C, Future
from jackdaw.errors import ConfigError, NonfiniteError
from jackdaw.runtime.environment import finite
from models.a3c.network import Layer, Network

SPARE_SLOTS = 2  # of parameters, beside one an agent: the newest and the next


@dataclass(frozen=True)
class Episode:
    """An episode that ended: after how many steps of all agents, and its return."""

    step: int
    total: float


@dataclass
class _Agent:
    """An agent in the middle of a rollout."""

    number: int
    environment: gymnasium.Env[Any, Any]
    rng: np.random.Generator
    observed: np.ndarray
    slot: int = 0
    training: Future[int] | None = None  # that makes the parameters in the slot
    total: float = 0.0
    outputs: list[np.ndarray] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)


class AsynchronousRun:
    """A run of A3C on the a3c engine of a device. Parameters are a function of its seed.

    The inferences of a round, one an agent, run side by side, and so do trainings; the agents step
    in turn, so that the order of updates is the same on every device.

    Attributes:
        engine: its driver.
        net: the network on it.
        settings: of the run.
        step: environment steps of all agents.
        updates: trainings.
        head: slot of the newest parameters.
    """

    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        network: Network | Sequence[Layer],
        device: Device,
        settings: A3cSettings,
        seed: int,
        start: dict[str, Any] | None = None,
    ) -> None:
        """Load the network with random parameters, and reset the environments.

        Args:
            make: makes an agent's environment.
            network: as A3C.load_net takes it.
            device: an open device with the engine.
            settings: of the run.
            seed: of parameters, environments and actions.
            start: `state` of an earlier run, in place of random parameters.
        Raises: the engine's named JobError if the network does not fit, ValueError if `start` is
            of another network.
        """
        self.settings = settings
        self.actions = 0
        self._slots = settings.agents + SPARE_SLOTS
        self._sets = settings.steps + 1
        self._open: list[tuple[Future[int], set[int]]] = []  # trainings, and the slots they name
        self.agents: list[_Agent] = []
        self.head = self.step = self.updates = 0
        self.engine = A3C(device)
        with self.engine.opening():
            self.net = self.engine.load_net(network, self._slots, settings.agents * self._sets)
            self._begin(make, seed, start)

    def _begin(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        seed: int,
        start: dict[str, Any] | None,
    ) -> None:
        """Write the parameters, and reset the environments."""
        if start is None:
            parameters = initial_parameters(self.net.network, np.random.default_rng([seed, 0]))
        else:
            parameters = start["parameters"]
            self.engine.write_g(self.net, start["squares"])
            self.step, self.updates = start["step"], start["updates"]
        self.engine.write_theta(self.net, 0, parameters)
        for number in range(self.settings.agents):
            environment = make()
            rng = np.random.default_rng([seed, 1 + number, *([self.step] if start else [])])
            first = int(rng.integers(1 << 31)) if start else 1000 * seed + number
            observed, _ = environment.reset(seed=first)
            self.actions = self._check_spaces(environment)
            seen, _ = finite(environment, 0, observed)
            self.agents.append(_Agent(number, environment, rng, seen))

    def _check_spaces(self, environment: gymnasium.Env[Any, Any]) -> int:
        """Number of actions. Raises: ConfigError for spaces that the network does not fit."""
        region, outputs = (self.net.network.regions[place] for place in (0, -1))
        want = (region.channels, region.height, region.width)
        got, space = environment.observation_space.shape, environment.action_space
        if got != want:
            raise ConfigError(f"a3c: got observations of shape {got}, the network takes {want}")
        if not isinstance(space, gymnasium.spaces.Discrete) or space.n >= outputs.words:
            raise ConfigError(
                f"a3c: got actions {space}, want at most {outputs.words - 1} discrete ones"
            )
        return int(space.n)

    def close(self) -> None:
        """Close the environments and give the engine back."""
        for agent in self.agents:
            agent.environment.close()
        self.engine.close()

    def run(self, steps: int) -> Iterator[Episode]:
        """Let every agent take a step in turn; yields the episodes as they end.

        Args:
            steps: environment steps of all agents, at which the run ends.
        """
        for ended in self.rounds(steps):
            yield from ended
        self.wait()

    def rounds(self, steps: int) -> Iterator[list[Episode]]:
        """As `run`, yielding after each step of all agents; trainings may be under way then."""
        while self.step < steps:
            outputs = [self._infer(agent) for agent in self.agents]
            yield [
                episode
                for agent, future in zip(self.agents, outputs, strict=True)
                for episode in self._step(agent, future.result())
            ]

    def wait(self) -> None:
        """Wait for all trainings."""
        for training, _ in self._open:
            training.result()
        self._open.clear()

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weight, bias) of every layer, the newest ones; waits for the trainings."""
        self.wait()
        return self.engine.read_theta(self.net, self.head)

    def state(self) -> dict[str, Any]:
        """What another run can start with; waits for the trainings.

        Returns: step and updates so far; parameters and their mean squares, (weight, bias) of every
            layer. Episodes that are being played are not part of it.
        """
        return {
            "step": self.step,
            "updates": self.updates,
            "parameters": self.parameters(),
            "squares": self.engine.read_g(self.net),
        }

    def _infer(self, agent: _Agent, bootstrap: bool = False) -> Future[np.ndarray]:
        """Queue an inference of what an agent sees; its parameters must be there."""
        if agent.training is not None:
            agent.training.result()
            agent.training = None
        count = self.settings.steps if bootstrap else len(agent.taken)
        one = agent.number * self._sets + count
        return self.engine.infer(self.net, agent.slot, one, agent.observed, bootstrap=bootstrap)

    def _step(self, agent: _Agent, outputs: np.ndarray) -> Iterator[Episode]:
        limit = self.settings.clip
        if not np.isfinite(outputs).all():
            raise NonfiniteError(
                f"a3c, step {self.step}: agent {agent.number} got outputs {outputs.tolist()}; a "
                "smaller rate may help"
            )
        action = int(agent.rng.choice(self.actions, p=policy(outputs, self.actions)))
        observed, given, terminated, truncated, _ = agent.environment.step(action)
        self.step += 1
        agent.observed, reward = finite(agent.environment, self.step, observed, given)
        agent.total += reward
        agent.outputs.append(outputs)
        agent.taken.append(action)
        agent.rewards.append(float(np.clip(reward, -limit, limit)))
        if terminated or truncated or len(agent.taken) == self.settings.steps:
            self._update(agent, terminated)
        if terminated or truncated:
            yield Episode(self.step, agent.total)
            observed, _ = agent.environment.reset()
            agent.observed, _ = finite(agent.environment, self.step, observed)
            agent.total = 0.0

    def _update(self, agent: _Agent, terminated: bool) -> None:
        """Train on an agent's rollout; it goes on with the newest parameters."""
        settings = self.settings
        maps = agent.number * self._sets
        bootstrap = 0.0
        if not terminated:
            bootstrap = float(self._infer(agent, bootstrap=True).result()[-1])
        gradients = objective_gradient(
            np.stack(agent.outputs),
            np.array(agent.taken),
            returns(np.array(agent.rewards), bootstrap, settings.discount),
            self.actions,
            settings.entropy,
            settings.value,
        )
        sets = range(maps, maps + len(agent.taken))
        target = self._free_slot()
        settings_now = settings.hyper_parameters(self.step)
        agent.training = self.engine.train(
            self.net, agent.slot, self.head, target, sets, gradients, settings_now
        )
        self._open.append((agent.training, {agent.slot, self.head, target}))
        self.head = agent.slot = target
        self.updates += 1
        agent.outputs.clear()
        agent.taken.clear()
        agent.rewards.clear()

    def _free_slot(self) -> int:
        """A slot that no agent and no open training uses; waits for trainings if there is none."""
        held = {self.head, *(other.slot for other in self.agents)}
        while True:
            self._open = [(t, named) for t, named in self._open if not t.done()]
            used = held.union(*(named for _, named in self._open))
            for slot in range(self._slots):
                if slot not in used:
                    return slot
            self._open[0][0].result()
