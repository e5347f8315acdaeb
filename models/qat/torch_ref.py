"""PyTorch reference: one timestep of DDPG in float64 with autograd, in the engine's order.

A ReLU whose input rounds to the other side of zero flips a whole path, in either arithmetic. So the
reference takes the masks of the golden model where gradients flow; where only values flow it has
its own.

Source: FIXAR II-A, IV; Lillicrap et al. 2016 (DDPG).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from models.qat.layout import ACTOR, CRITIC
from models.qat.ops import ACTIVATION, TANH, WEIGHT
from models.qat.records import Transitions
from models.qat.timestep import Datapath

Masks = Sequence[np.ndarray] | None
Tensors = list[torch.Tensor]


def real(x: np.ndarray, frac: int) -> torch.Tensor:
    """Fixed-point numbers as float64; exact below 2**53."""
    return torch.tensor(np.ldexp(np.asarray(x, np.float64), -frac))


class TorchDdpg:
    """Actor and critic with their targets, from a datapath's memories.

    Attributes:
        networks, targets: of actor and critic, weight and bias of every layer in turn.
        flips: share of the ReLUs that this arithmetic would have switched otherwise.
        tangent: whether the actor ends in one.
    """

    def __init__(self, path: Datapath) -> None:
        self.networks = [self._read(path, net, path.w) for net in (ACTOR, CRITIC)]
        self.targets = [self._read(path, net, path.t) for net in (ACTOR, CRITIC)]
        assert path.table is not None
        self.actions, self.words = path.table.actions, path.table.inputs(CRITIC, path.geometry)
        self.flips = 0.0
        self.tangent = path.layers(ACTOR)[-1].act == TANH

    def actions_of(self, actor: Tensors, states: torch.Tensor, masks: Masks = None) -> torch.Tensor:
        """An actor's actions."""
        z = self.forward(actor, states, masks)
        return torch.tanh(z) if self.tangent else z

    @staticmethod
    def _read(path: Datapath, net: int, memory: np.ndarray) -> Tensors:
        out = []
        for layer in path.layers(net):
            for part in (path.weights(memory, layer), path.biases(memory, layer)):
                out.append(real(part, WEIGHT).requires_grad_())
        return out

    def forward(self, tensors: Tensors, x: torch.Tensor, masks: Masks = None) -> torch.Tensor:
        """The last layer's sums; the ReLU of hidden layer l lets pass where masks[l] says so."""
        layers = list(zip(tensors[::2], tensors[1::2], strict=True))
        for index, (weight, bias) in enumerate(layers):
            x = x @ weight.T + bias
            if index + 1 == len(layers):
                break
            if masks is None:
                x = torch.relu(x)
                continue
            passes = torch.tensor(masks[index] > 0)
            self.flips = max(self.flips, float((passes != (x > 0)).double().mean()))
            x = x * passes
        return x

    def joined(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """What the critic sees: states, zeros, actions."""
        gap = self.words - states.shape[1] - actions.shape[1]
        return torch.cat([states, torch.zeros(len(states), gap, dtype=torch.float64), actions], 1)

    def critic(
        self, rows: Transitions, weight: np.ndarray | None, masks: Masks
    ) -> tuple[torch.Tensor, Tensors]:
        """Values q, [n], and gradients of sum(weight * (q - y)**2) / 2."""
        with torch.no_grad():
            ahead = real(rows.following, ACTIVATION)
            chosen = self.actions_of(self.targets[ACTOR], ahead)
            best = self.forward(self.targets[CRITIC], self.joined(ahead, chosen))[:, 0]
            y = real(rows.reward, ACTIVATION) + real(rows.discount, 32) * best
        x = self.joined(real(rows.state, ACTIVATION), real(rows.action, ACTIVATION))
        q = self.forward(self.networks[CRITIC], x, masks)[:, 0]
        factor = torch.ones_like(q) if weight is None else real(weight, 24)
        loss = (factor * (q - y) ** 2).sum() / 2
        return q.detach(), list(torch.autograd.grad(loss, self.networks[CRITIC]))

    def actor(
        self, rows: Transitions, actor_masks: Masks, critic_masks: Masks
    ) -> tuple[torch.Tensor, Tensors]:
        """Actions mu, [n, A], and gradients of -sum(q(s, mu(s)))."""
        states = real(rows.state, ACTIVATION)
        mu = self.actions_of(self.networks[ACTOR], states, actor_masks)
        q = self.forward(self.networks[CRITIC], self.joined(states, mu), critic_masks)
        return mu.detach(), list(torch.autograd.grad(-q.sum(), self.networks[ACTOR]))
