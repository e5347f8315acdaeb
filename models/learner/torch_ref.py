"""What PyTorch makes of the same networks: reference for accuracy, not for bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from models.learner.learner import Batch

LayerArrays = Sequence[tuple[np.ndarray, np.ndarray]]


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

    @staticmethod
    def forward(parameters: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        """Return [B, n_out] of an MLP with ReLU between its layers."""
        for k in range(0, len(parameters), 2):
            x = torch.nn.functional.linear(x, parameters[k], parameters[k + 1])
            if k < len(parameters) - 2:
                x = torch.relu(x)
        return x

    def gradients(self, batch: Batch) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the TD errors ([B]) and the gradients of all parameters; updates nothing."""
        state, following = torch.tensor(batch.state), torch.tensor(batch.next_state)
        action = torch.tensor(batch.action, dtype=torch.int64)[:, None]
        with torch.no_grad():
            q_next = self.forward(self.target, following)
            chooser = self.forward(self.online, following) if self.double else q_next
            best = q_next.gather(1, chooser.argmax(1, keepdim=True))[:, 0]
            y = torch.tensor(batch.reward) + torch.tensor(batch.discount) * best
        q = self.forward(self.online, state).gather(1, action)[:, 0]
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
