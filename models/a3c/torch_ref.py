"""PyTorch reference: the network, the A3C objective and RMSProp, in float64 with autograd.

Source: a3c 11, 13.2; FA3C 2.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from models.a3c.layout import Parameters
from models.a3c.network import CONV, Network


class TorchNetwork:
    """A network whose parameters PyTorch differentiates and updates.

    Attributes:
        network: its layers.
        tensors: weight and bias of every layer in turn, float64.
        squares: RMSProp's mean squares, as tensors.
    """

    def __init__(self, network: Network, parameters: Parameters) -> None:
        self.network = network
        self.tensors = [
            torch.tensor(array, dtype=torch.float64, requires_grad=True)
            for pair in parameters
            for array in pair
        ]
        self.squares = [torch.zeros_like(tensor) for tensor in self.tensors]

    def forward(self, observed: np.ndarray) -> list[torch.Tensor]:
        """Return the layers' inputs and the last output, each [N, ...]."""
        maps = [torch.tensor(observed, dtype=torch.float64)]
        for layer, weight, bias in zip(
            self.network.layers, self.tensors[::2], self.tensors[1::2], strict=True
        ):
            if layer.kind == CONV:
                out = functional.conv2d(maps[-1], weight, bias, layer.stride)
            else:
                out = functional.linear(maps[-1].flatten(1), weight, bias)
            maps.append(torch.relu(out) if layer.relu else out)
        return maps

    def gradients(self, objective: torch.Tensor) -> list[torch.Tensor]:
        """Return the objective's gradient by every tensor."""
        return list(torch.autograd.grad(objective, self.tensors))

    def update(self, gradients: list[torch.Tensor], eta: float, rho: float, eps: float) -> None:
        """Update once by RMSProp with epsilon inside the root."""
        with torch.no_grad():
            for tensor, square, d in zip(self.tensors, self.squares, gradients, strict=True):
                square.mul_(rho).add_((1 - rho) * d * d)
                tensor.sub_(eta * d / torch.sqrt(square + eps))


def objective(
    outputs: torch.Tensor,
    actions: np.ndarray,
    returns: np.ndarray,
    count: int,
    beta: float = 0.01,
    value_weight: float = 0.5,
) -> torch.Tensor:
    """The A3C objective of a batch, summed over its samples; to be minimized.

    Args:
        outputs: [N, O]: logits in the first columns, the value in the last.
        actions: [N] int, 0..count-1.
        returns: [N] bootstrapped returns R; the advantage R - V counts as a constant.
        count: actions.
        beta: weight of the entropy.
        value_weight: weight of the value's squared error.
    Returns: sum of -log pi(a)*(R - V) - beta*H + value_weight*(R - V)^2.
    """
    value = outputs[:, -1]
    target = torch.as_tensor(returns, dtype=outputs.dtype)
    logs = torch.log_softmax(outputs[:, :count], dim=1)
    taken = logs[torch.arange(len(actions)), torch.as_tensor(actions)]
    entropy = -(logs.exp() * logs).sum(1)
    policy = -taken * (target - value).detach() - beta * entropy
    return (policy + value_weight * (target - value) ** 2).sum()
