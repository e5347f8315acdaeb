"""DDPG in float32 on PyTorch, without a device: what the qat engine's learning is compared with.

The same recipe, the same loop; batches are drawn by NumPy, uniformly. Its curves are like the
engine's, its bits are not.

Source: Lillicrap et al. 2016 (DDPG); FIXAR VI-B compares with the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import linear

from jackdaw.agents.base import Parameters, Transition
from jackdaw.agents.qat_ddpg import QatAgent
from jackdaw.errors import ConfigError
from jackdaw.runtime.seeds import generator

Tensors = list[torch.Tensor]
NAMES = ("actor", "critic")


def forward(network: Tensors, x: torch.Tensor) -> torch.Tensor:
    """Outputs, [n, P], of weight and bias of each layer in turn; ReLU between layers."""
    for at in range(0, len(network), 2):
        x = linear(x if at == 0 else torch.relu(x), network[at], network[at + 1])
    return x


@dataclass(frozen=True)
class FloatPolicy:
    """An actor's weights as evaluations play them."""

    actor: Tensors

    def actions(self, states: np.ndarray) -> np.ndarray:
        """Actions, [n, A] float64, of [n, S] states."""
        with torch.no_grad():
            x = torch.from_numpy(np.asarray(states, np.float32))
            return torch.tanh(forward(self.actor, x)).numpy().astype(np.float64)


class FloatTrainer:
    """Trains an agent's networks in float32 (see `timestep.Trainer`).

    Args:
        agent: recipe and shapes.
        parameters: the initial weights of actor and critic; the targets become copies.
        sampler, noise: seeds.
    Raises: ConfigError for a recipe with priorities.
    """

    def __init__(
        self, agent: QatAgent, parameters: Sequence[Parameters], sampler: int, noise: int
    ) -> None:
        recipe, spec = agent.recipe, agent.spec
        if recipe.alpha:
            raise ConfigError(f"alpha: got {recipe.alpha}, want 0: float32 has uniform batches")
        torch.set_num_threads(1)  # the order of additions is the seed's, not the machine's
        self.agent = agent
        self.online = {n: _tensors(p) for n, p in zip(NAMES, parameters, strict=True)}
        self.target = {name: [x.clone() for x in self.online[name]] for name in NAMES}
        rates = recipe.learning_rate, recipe.critic_learning_rate
        for x in (x for network in self.online.values() for x in network):
            x.requires_grad_()
        self.optimizer = {
            name: torch.optim.Adam(self.online[name], lr)
            for name, lr in zip(NAMES, rates, strict=True)
        }
        self.sampler, self.noise = generator(sampler, "sampler"), generator(noise, "noise")
        self.drift = np.zeros(spec.actions)  # of Ornstein-Uhlenbeck noise
        self.rows = np.zeros((recipe.capacity, 2 * spec.states + spec.actions + 2), np.float32)
        self.stored = 0
        self.td = 0.0

    def insert(self, transitions: list[Transition]) -> None:
        """See Trainer."""
        for t in transitions:
            row = np.concatenate([t.state, np.atleast_1d(t.action), t.next_state,
                                  [t.reward, t.discount]])  # fmt: skip
            self.rows[self.stored % len(self.rows)] = row
            self.stored += 1

    def act(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """See Trainer."""
        recipe, count = self.agent.recipe, self.agent.spec.actions
        action = self.policy().actions(state[None])[0]
        if recipe.noise == "none":
            return action
        draw = self.noise.uniform(-1, 1, count) if recipe.noise == "uniform" else (
            self.noise.normal(size=count)
        )  # fmt: skip
        step = sigma * draw
        if recipe.noise == "ornstein":
            self.drift = step = (1 - recipe.theta) * self.drift + step
        return np.clip(action + step, -1, 1)

    def train(self, state: np.ndarray, sigma: float) -> np.ndarray:
        """See Trainer."""
        chosen = self.act(state, sigma) if self.agent.recipe.act == "with" else None
        self.update(self.sampler.integers(min(self.stored, len(self.rows)), size=self.batch))
        return self.act(state, sigma) if chosen is None else chosen

    def close(self) -> None:
        """See Trainer: nothing is held."""

    @property
    def batch(self) -> int:
        """B."""
        return self.agent.recipe.batch

    def update(self, indices: np.ndarray) -> None:
        """One timestep of DDPG on these records: the critic, then the actor, then the targets."""
        recipe, spec = self.agent.recipe, self.agent.spec
        widths = [spec.states, spec.actions, spec.states, 1, 1]
        parts = torch.from_numpy(self.rows[indices]).split(widths, 1)
        state, action, following, reward, discount = parts
        actor, critic = self.online["actor"], self.online["critic"]
        with torch.no_grad():
            ahead = torch.tanh(forward(self.target["actor"], following))
            value = forward(self.target["critic"], torch.cat([following, ahead], 1))
            wanted = reward + discount * value
        td = forward(critic, torch.cat([state, action], 1)) - wanted
        self._step("critic", 0.5 * (td**2).mean())
        chosen = torch.tanh(forward(actor, state))
        self._step("actor", -forward(critic, torch.cat([state, chosen], 1)).mean())
        with torch.no_grad():
            for name in NAMES:
                for old, new in zip(self.target[name], self.online[name], strict=True):
                    old.lerp_(new, recipe.tau)
        self.td = float(td.detach().abs().mean())

    def _step(self, name: str, loss: torch.Tensor) -> None:
        gradients = torch.autograd.grad(loss, self.online[name])
        for x, gradient in zip(self.online[name], gradients, strict=True):
            x.grad = gradient
        self.optimizer[name].step()

    def policy(self) -> FloatPolicy:
        """See Trainer."""
        return FloatPolicy([x.detach().clone() for x in self.online["actor"]])

    def mean_td(self) -> float:
        """See Trainer."""
        return self.td

    def cycles(self) -> int:
        """See Trainer: there is no device clock."""
        return 0

    def networks(self) -> dict[str, np.ndarray]:
        """See Trainer."""
        kinds = {"online": self.online, "target": self.target}
        return {
            f"{kind}_{name}_{at}": x.detach().numpy().copy()
            for kind, networks in kinds.items()
            for name in NAMES
            for at, x in enumerate(networks[name])
        }

    def state(self) -> dict[str, Any]:
        """See Trainer."""
        return {
            "networks": self.networks(),
            "moments": {
                name: [
                    [value.numpy().copy() for value in optimizer.state[x].values()]
                    for x in self.online[name]
                    if x in optimizer.state
                ]
                for name, optimizer in self.optimizer.items()
            },
            "sampler": self.sampler.bit_generator.state,
            "noise": self.noise.bit_generator.state,
            "drift": self.drift,
            "rows": self.rows[: self.stored],
            "stored": self.stored,
            "td": self.td,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """See Trainer."""
        for name in NAMES:
            for kind, networks in (("online", self.online), ("target", self.target)):
                for at, x in enumerate(networks[name]):
                    x.data.copy_(torch.from_numpy(state["networks"][f"{kind}_{name}_{at}"]))
            for x, values in zip(self.online[name], state["moments"][name], strict=False):
                keys = ("step", "exp_avg", "exp_avg_sq")
                self.optimizer[name].state[x] = {
                    key: torch.from_numpy(np.array(value))
                    for key, value in zip(keys, values, strict=True)
                }
        self.sampler.bit_generator.state = state["sampler"]
        self.noise.bit_generator.state = state["noise"]
        self.drift, self.td = state["drift"], state["td"]
        self.stored = state["stored"]
        self.rows[: len(state["rows"])] = state["rows"]

    def measurements(self) -> dict[str, Any]:
        """See Trainer."""
        return {"mode": "float", "td_mean": self.td}


def _tensors(parameters: Parameters) -> Tensors:
    return [torch.from_numpy(np.array(x, np.float32)) for pair in parameters for x in pair]
