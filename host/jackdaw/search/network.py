"""The network of DNN-guided search: five convolutions and three fully connected layers.

Source: thesis 5.2.3 gives the numbers of layers; this arrangement is a usual one for the game.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from jackdaw.environments.gomoku import PLANES

WIDTH = 32  # channels of the first convolution; the following ones have twice and four times that
POLICY, VALUE, HIDDEN = 4, 2, 64
OUTPUT_DEVIATION = 0.02


class Network(nn.Module):
    """Planes of positions to logarithms of priors, and values for the player to move.

    With boards of 15 x 15 and the default width it has 325,964 parameters. They begin at He's
    deviations: with PyTorch's, the values of the first games are too small to learn from, and the
    decay of weights wins.

    Args:
        size: of the board, n.
        width: channels of the first convolution.
    """

    def __init__(self, size: int, width: int = WIDTH) -> None:
        super().__init__()
        self.size, self.width = size, width
        cells = size * size
        self.body = nn.Sequential(
            nn.Conv2d(PLANES, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(2 * width, 4 * width, 3, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.policy = nn.Sequential(
            nn.Conv2d(4 * width, POLICY, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(POLICY * cells, cells),
        )  # fmt: skip
        self.value = nn.Sequential(
            nn.Conv2d(4 * width, VALUE, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(VALUE * cells, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1), nn.Tanh(),
        )  # fmt: skip

        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for head in (self.policy[-1], self.value[-2]):  # the first answers are about equal
            if isinstance(head, nn.Linear):
                nn.init.normal_(head.weight, std=OUTPUT_DEVIATION)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Evaluate positions.

        Args:
            planes: [B, 4, n, n] float32, see Gomoku.planes.
        Returns: log priors [B, n * n], minus infinity at occupied places; values [B].
        """
        body = self.body(planes)
        occupied = (planes[:, 0] + planes[:, 1]).flatten(1) > 0
        logits = self.policy(body).masked_fill(occupied, -torch.inf)
        return functional.log_softmax(logits, 1), self.value(body).squeeze(1)


def loss(
    network: Network, planes: torch.Tensor, policy: torch.Tensor, outcome: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The loss of AlphaZero without its weight decay, which is the optimizer's.

    Args:
        planes: [B, 4, n, n].
        policy: [B, n * n], shares of the visits; 0 at occupied places.
        outcome: [B], for the player to move.
    Returns: (z - v)^2 - pi log p, and the two terms, each a mean over the batch.
    """
    log_priors, values = network(planes)
    squared = (outcome - values).square().mean()
    crossed = -(policy * log_priors.masked_fill(policy == 0, 0)).sum(1).mean()
    return squared + crossed, squared, crossed
