"""A3C: several agents in turn, each with a snapshot of the parameters, update one set of them.

Softmax and objective are the host's; the network, its gradients and RMSProp are the engine's.
Source: a3c 13.2; FA3C 2.2, 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import gymnasium
import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.a3c import A3C, Future
from jackdaw.errors import ConfigError
from models.a3c.layout import Parameters
from models.a3c.network import CONV, Layer, Network
from models.a3c.rmsprop import HyperParameters

SPARE_SLOTS = 2  # of parameters, beside one an agent: the newest and the next


@dataclass(frozen=True)
class A3cSettings:
    """Settings of a run.

    Attributes:
        agents: agents in turn, >= 1.
        steps: t_max, inferences before an update, 1..8.
        discount: gamma, 0..1.
        entropy: beta, weight of the entropy.
        value: weight of the value's squared error.
        rate: learning rate at the start.
        horizon: environment steps of all agents in which it falls to 0.
        decay: rho of RMSProp.
        eps: epsilon inside RMSProp's root.
        clip: rewards are clipped to -clip..clip.
    """

    agents: int = 16
    steps: int = 5
    discount: float = 0.99
    entropy: float = 0.01
    value: float = 0.5
    rate: float = 7e-4
    horizon: int = 100_000_000
    decay: float = 0.99
    eps: float = 0.1
    clip: float = 1.0

    def __post_init__(self) -> None:
        """Raise ConfigError where a setting is none."""
        for name, legal, wanted in (
            ("agents", self.agents >= 1, "1 or more"),
            ("steps", 1 <= self.steps <= 8, "1..8"),
            ("discount", 0 <= self.discount <= 1, "0..1"),
            ("horizon", self.horizon >= 1, "1 or more"),
            ("clip", self.clip > 0, "a positive number"),
            ("entropy", np.isfinite(self.entropy), "a finite number"),
            ("value", np.isfinite(self.value), "a finite number"),
        ):
            if not legal:
                raise ConfigError(f"A3C: {name} is {getattr(self, name)}, want {wanted}")
        if not self.hyper_parameters(0).legal:
            got = f"rate {self.rate}, decay {self.decay}, eps {self.eps}"
            raise ConfigError(f"A3C: got {got}, want finite numbers of binary32 and eps above 0")

    def hyper_parameters(self, step: int) -> HyperParameters:
        """RMSProp's numbers after so many environment steps."""
        rate = self.rate * max(0.0, 1 - step / self.horizon)
        return HyperParameters.make(rate, self.decay, self.eps)


@dataclass(frozen=True)
class Episode:
    """An episode that ended: after how many steps of all agents, and its return."""

    step: int
    total: float


@dataclass(frozen=True)
class Checkpoint:
    """What a later run goes on with; episodes that are being played are not part of it.

    Attributes:
        step, updates: so far.
        parameters, squares: (weight, bias) of every layer, and their mean squares.
    """

    step: int
    updates: int
    parameters: Parameters
    squares: Parameters

    def save(self, path: Path) -> None:
        """Write an npz file, which is never seen half written."""
        arrays = {"progress": np.array([self.step, self.updates])}
        for name, pairs in (("parameters", self.parameters), ("squares", self.squares)):
            for number, (weight, bias) in enumerate(pairs):
                arrays |= {f"{name}{number}_weight": weight, f"{name}{number}_bias": bias}
        half = path.with_suffix(".half.npz")
        np.savez(half, **arrays)  # type: ignore[arg-type]
        half.replace(path)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Inverse of save. Raises: ConfigError if there is no such file, or another one."""
        try:
            file = np.load(path)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ConfigError(f"{path}: {error}; want a checkpoint of A3C") from None
        with file:
            if "progress" not in file or (len(file.files) - 1) % 4:
                raise ConfigError(f"{path}: got {file.files}, want a checkpoint of A3C")
            step, updates = (int(n) for n in file["progress"])
            layers = range((len(file.files) - 1) // 4)
            parameters, squares = (
                [(file[f"{name}{n}_weight"], file[f"{name}{n}_bias"]) for n in layers]
                for name in ("parameters", "squares")
            )
        return cls(step, updates, parameters, squares)


def initial(network: Network, rng: np.random.Generator) -> Parameters:
    """Draw weights and biases from -1/sqrt(n)..1/sqrt(n), n being the inputs of a sum."""
    out = []
    for layer in network.layers:
        bound = 1 / np.sqrt(layer.inputs * layer.kernel**2)
        shape: tuple[int, ...] = (layer.outputs, layer.inputs)
        if layer.kind == CONV:
            shape += (layer.kernel, layer.kernel)
        weight = rng.uniform(-bound, bound, shape).astype(np.float32)
        out.append((weight, rng.uniform(-bound, bound, layer.outputs).astype(np.float32)))
    return out


def policy(outputs: np.ndarray, actions: int) -> np.ndarray:
    """Softmax of the first outputs.

    Args:
        outputs: [..., O].
        actions: their number.
    Returns: [..., actions] float64.
    """
    logits = outputs[..., :actions].astype(np.float64)
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def returns(rewards: np.ndarray, bootstrap: float, discount: float) -> np.ndarray:
    """Return R[t] = r[t] + discount*R[t+1] of a rollout, R behind it being `bootstrap`."""
    out = np.zeros(len(rewards))
    for t in reversed(range(len(rewards))):
        bootstrap = rewards[t] + discount * bootstrap
        out[t] = bootstrap
    return out


def objective_gradient(
    outputs: np.ndarray,
    taken: np.ndarray,
    goals: np.ndarray,
    actions: int,
    entropy: float = 0.01,
    value: float = 0.5,
) -> np.ndarray:
    """Gradient of the objective, which is minimized, by a network's outputs.

    Args:
        outputs: [N, O] float32: logits first, the value last, between them outputs without use.
        taken: [N] int, the actions.
        goals: [N], bootstrapped returns R.
        actions: number of actions.
        entropy, value: weights of these terms.
    Returns: [N, O] float32 of sum(-log pi(a)*(R - V) - entropy*H + value*(R - V)^2), R - V in the
        first term being a constant.
    """
    shares = policy(outputs, actions)
    logs = np.log(np.maximum(shares, 1e-300))
    advantage = goals - outputs[:, -1].astype(np.float64)
    chosen = np.eye(actions)[taken]
    spread = -(shares * logs).sum(1, keepdims=True)
    out = np.zeros(outputs.shape)
    out[:, :actions] = (shares - chosen) * advantage[:, None]
    out[:, :actions] += entropy * shares * (logs + spread)
    out[:, -1] = -2 * value * advantage
    return out.astype(np.float32)


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


class A3c:
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
        start: Checkpoint | None = None,
    ) -> None:
        """Load the network with random parameters, and reset the environments.

        Args:
            make: makes an agent's environment.
            network: as A3C.load_net takes it.
            device: an open device with the engine.
            settings: of the run.
            seed: of parameters, environments and actions.
            start: an earlier run's, in place of random parameters.
        Raises: the engine's named JobError if the network does not fit, ValueError if `start` is
            of another network.
        """
        self.settings = settings
        self.actions = 0
        self._slots = settings.agents + SPARE_SLOTS
        self._sets = settings.steps + 1
        self.engine = A3C(device)
        self.net = self.engine.load_net(network, self._slots, settings.agents * self._sets)
        self.head = self.step = self.updates = 0
        if start is None:
            parameters = initial(self.net.network, np.random.default_rng([seed, 0]))
        else:
            parameters = start.parameters
            self.engine.write_g(self.net, start.squares)
            self.step, self.updates = start.step, start.updates
        self.engine.write_theta(self.net, 0, parameters)
        self._open: list[tuple[Future[int], set[int]]] = []  # trainings, and the slots they name
        self.agents: list[_Agent] = []
        for number in range(settings.agents):
            environment = make()
            rng = np.random.default_rng([seed, 1 + number, *([self.step] if start else [])])
            first = int(rng.integers(1 << 31)) if start else 1000 * seed + number
            observed, _ = environment.reset(seed=first)
            self.agents.append(_Agent(number, environment, rng, observed))
            space = environment.action_space
            assert isinstance(space, gymnasium.spaces.Discrete)
            self.actions = int(space.n)

    def run(self, steps: int) -> Iterator[Episode]:
        """Let every agent take a step in turn; yields the episodes as they end.

        Args:
            steps: environment steps of all agents, at which the run ends.
        """
        for ended in self.rounds(steps):
            yield from ended
        for training, _ in self._open:
            training.result()
        self._open.clear()

    def rounds(self, steps: int) -> Iterator[list[Episode]]:
        """As `run`, yielding after each step of all agents; trainings may be under way then."""
        while self.step < steps:
            outputs = [self._infer(agent) for agent in self.agents]
            yield [
                episode
                for agent, future in zip(self.agents, outputs, strict=True)
                for episode in self._step(agent, future.result())
            ]

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weight, bias) of every layer, the newest ones; waits for the trainings."""
        for training, _ in self._open:
            training.result()
        return self.engine.read_theta(self.net, self.head)

    def checkpoint(self) -> Checkpoint:
        """What another run can start with; waits for the trainings."""
        parameters = self.parameters()
        return Checkpoint(self.step, self.updates, parameters, self.engine.read_g(self.net))

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
        action = int(agent.rng.choice(self.actions, p=policy(outputs, self.actions)))
        agent.observed, reward, terminated, truncated, _ = agent.environment.step(action)
        self.step += 1
        agent.total += float(reward)
        agent.outputs.append(outputs)
        agent.taken.append(action)
        agent.rewards.append(float(np.clip(float(reward), -limit, limit)))
        if terminated or truncated or len(agent.taken) == self.settings.steps:
            self._update(agent, terminated)
        if terminated or truncated:
            yield Episode(self.step, agent.total)
            agent.observed, _ = agent.environment.reset()
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
