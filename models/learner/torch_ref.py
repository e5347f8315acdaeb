"""What PyTorch makes of the same networks: reference for accuracy, not for bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from models.learner.learner import Batch

LayerArrays = Sequence[tuple[np.ndarray, np.ndarray]]
Tensors = list[torch.Tensor]


def forward(parameters: Tensors, x: torch.Tensor) -> torch.Tensor:
    """Return [B, n_out] of an MLP with ReLU between its layers."""
    for k in range(0, len(parameters), 2):
        x = torch.nn.functional.linear(x, parameters[k], parameters[k + 1])
        if k < len(parameters) - 2:
            x = torch.relu(x)
    return x


class TorchDqn:
    """(Double) DQN with Huber loss, importance weights and a hard target copy.

    Args:
        parameters: (weight, bias) a layer.
        kappa: Huber threshold, None for the squared error.
        double: choose the next action with the online network.
        lr: learning rate.
        optimizer: "sgd", "momentum" (0.9) or "adam" (PyTorch's defaults).
        sync_period: steps between target copies.
    """

    def __init__(
        self,
        parameters: LayerArrays,
        *,
        kappa: float | None,
        double: bool,
        lr: float,
        optimizer: str,
        sync_period: int,
    ) -> None:
        self.online = [
            torch.tensor(a, dtype=torch.float32, requires_grad=True)
            for pair in parameters
            for a in pair
        ]
        self.target = [t.detach().clone() for t in self.online]
        self.kappa = kappa
        self.double = double
        self.sync_period = sync_period
        self.steps = 0
        self.optimizer: torch.optim.Optimizer
        if optimizer == "adam":
            self.optimizer = torch.optim.Adam(self.online, lr=lr)
        else:
            mu = 0.9 if optimizer == "momentum" else 0.0
            self.optimizer = torch.optim.SGD(self.online, lr=lr, momentum=mu)

    def gradients(self, batch: Batch) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the TD errors ([B]) and the gradients of all parameters; updates nothing."""
        state, following = torch.tensor(batch.state), torch.tensor(batch.next_state)
        action = torch.tensor(batch.action, dtype=torch.int64)[:, None]
        with torch.no_grad():
            q_next = forward(self.target, following)
            chooser = forward(self.online, following) if self.double else q_next
            best = q_next.gather(1, chooser.argmax(1, keepdim=True))[:, 0]
            y = torch.tensor(batch.reward) + torch.tensor(batch.discount) * best
        q = forward(self.online, state).gather(1, action)[:, 0]
        delta = q - y
        if self.kappa is None:
            loss = 0.5 * delta**2
        else:
            loss = torch.nn.functional.huber_loss(q, y, reduction="none", delta=self.kappa)
        self.optimizer.zero_grad()
        (loss * torch.tensor(batch.weight)).mean().backward()
        return delta.detach().numpy(), [
            np.zeros(0) if t.grad is None else t.grad.numpy().copy() for t in self.online
        ]

    def step(self, batch: Batch) -> np.ndarray:
        """Run one gradient step; returns the TD errors."""
        delta, _ = self.gradients(batch)
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.sync_period == 0:
            self.target = [t.detach().clone() for t in self.online]
        return delta


class TorchActorCritic:
    """DDPG, or with two critics TD3; targets moved by tau.

    Args:
        actor: (weight, bias) a layer; it ends in tanh.
        critics: the same of one or two critics on [s][a].
        lr: learning rates of the actor and of the critics.
        optimizer: "sgd" or "adam" (PyTorch's defaults but for eps).
        eps: Adam's epsilon.
        tau: what the targets move by.
        kappa: Huber threshold of the critics, None for the squared error 0.5 delta^2.
        lagged: the actor's gradient is that of the critic before this step's update.
        delay: the actor and all targets move in every delay-th step.
        dtype: of all arithmetic.

    Attributes:
        networks, targets: parameters of actor and critics, weight and bias a layer.
    """

    def __init__(
        self,
        actor: LayerArrays,
        critics: Sequence[LayerArrays],
        *,
        lr: tuple[float, float],
        optimizer: str,
        eps: float,
        tau: float,
        kappa: float | None = None,
        lagged: bool = False,
        delay: int = 1,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.networks = [
            [torch.tensor(a, dtype=dtype, requires_grad=True) for pair in layers for a in pair]
            for layers in (actor, *critics)
        ]
        self.targets = [[t.detach().clone() for t in net] for net in self.networks]
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.Adam(net, lr=lr[min(k, 1)], eps=eps)
            if optimizer == "adam"
            else torch.optim.SGD(net, lr=lr[min(k, 1)])
            for k, net in enumerate(self.networks)
        ]
        self.tau, self.kappa, self.lagged, self.delay, self.dtype = tau, kappa, lagged, delay, dtype
        self.steps = 0

    def critic_gradients(self, batch: Batch) -> tuple[np.ndarray, list[Tensors]]:
        """Return the first critic's TD errors, [B], and each critic's gradients."""
        state, following, given, reward, discount, weight = (
            torch.tensor(x, dtype=self.dtype)
            for x in (
                batch.state, batch.next_state, batch.action, batch.reward, batch.discount,
                batch.weight,
            )
        )  # fmt: skip
        with torch.no_grad():
            action = torch.tanh(forward(self.targets[0], following))
            if batch.noise is not None:
                action = (action + torch.tensor(batch.noise, dtype=self.dtype)).clamp(-1, 1)
            joined = torch.cat([following, action], 1)
            values = [forward(target, joined)[:, 0] for target in self.targets[1:]]
            y = reward + discount * torch.stack(values).amin(0)
        deltas, gradients = [], []
        for critic in self.networks[1:]:
            q = forward(critic, torch.cat([state, given], 1))[:, 0]
            delta = q - y
            if self.kappa is None:
                loss = 0.5 * delta**2
            else:
                loss = torch.nn.functional.huber_loss(q, y, reduction="none", delta=self.kappa)
            gradients.append(list(torch.autograd.grad((loss * weight).mean(), critic)))
            deltas.append(delta.detach().numpy())
        return deltas[0], gradients

    def actor_gradients(self, batch: Batch) -> Tensors:
        """Return the actor's gradients of -mean(Q(s, mu(s)))."""
        state = torch.tensor(batch.state, dtype=self.dtype)
        action = torch.tanh(forward(self.networks[0], state))
        value = forward(self.networks[1], torch.cat([state, action], 1))
        return list(torch.autograd.grad(-value.mean(), self.networks[0]))

    def step(self, batch: Batch) -> np.ndarray:
        """Run one gradient step; returns the first critic's TD errors, [B]."""
        self.steps += 1
        due = self.steps % self.delay == 0
        delta, gradients = self.critic_gradients(batch)
        before = self.actor_gradients(batch)
        for k, gradient in enumerate(gradients, start=1):
            self._update(k, gradient)
        if due:
            self._update(0, before if self.lagged else self.actor_gradients(batch))
            with torch.no_grad():
                for net, target in zip(self.networks, self.targets, strict=True):
                    for w, t in zip(net, target, strict=True):
                        t += self.tau * (w - t)
        return delta

    def _update(self, index: int, gradient: Tensors) -> None:
        for tensor, g in zip(self.networks[index], gradient, strict=True):
            tensor.grad = g
        self.optimizers[index].step()
