"""IC3Net with learnable weight groups in PyTorch: an independent reference in float32.

A mask is the product of two matrices of selected entries. Straight-through: the selected entry of a
row passes its gradient, the others get none.

Source: Singh, Jain, Sukhbaatar 2019; Wang et al. 2019 (fully learnable weight grouping).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

Arrays = Mapping[str, Mapping[str, np.ndarray]]


class Layer(torch.nn.Module):
    """A masked layer.

    Args:
        arrays: weight [M, N], bias [N], and ig [M, G] and og [N, G] if it has groups.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.weight, self.bias = (
            torch.nn.Parameter(torch.tensor(arrays[name], dtype=torch.float32))
            for name in ("weight", "bias")
        )
        self.grouping = torch.nn.ParameterList(
            torch.nn.Parameter(torch.tensor(arrays[name], dtype=torch.float32) / 256)
            for name in ("ig", "og")
            if name in arrays
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs of [V, M]."""
        if not len(self.grouping):
            return x @ self.weight + self.bias
        ig, og = (selected(entries) for entries in self.grouping)
        return x @ (self.weight * (ig @ og.T)) + self.bias


def selected(entries: torch.Tensor) -> torch.Tensor:
    """1 at the greatest entry of each row, with that entry's gradient; 0 elsewhere."""
    best = torch.nn.functional.one_hot(entries.argmax(dim=1), entries.shape[1]).float()
    return best * (1 + entries - entries.detach())


class Network(torch.nn.Module):
    """The network of a team.

    Args:
        arrays: of the layers enc, com, lst and hed.
        agents: of an episode.
    """

    def __init__(self, arrays: Arrays, agents: int) -> None:
        super().__init__()
        self.enc, self.com, self.lst, self.hed = (
            Layer(arrays[name]) for name in ("enc", "com", "lst", "hed")
        )
        self.agents = agents

    def play(self, obs: torch.Tensor, gates: torch.Tensor, cut: int) -> torch.Tensor:
        """All steps of episodes.

        Args:
            obs: [T, V, O]; observations beyond O, up to the layer's inputs, are 0.
            gates: [T, V] of 0 and 1.
            cut: no gradient passes between steps k * cut - 1 and k * cut.
        Returns: [T, V, 8].
        """
        hidden = self.hed.weight.shape[0]
        h = cell = torch.zeros(obs.shape[1], hidden)
        missing = self.enc.weight.shape[0] - obs.shape[2]
        seen = torch.nn.functional.pad(obs, (0, missing))
        out = []
        for t in range(len(obs)):
            if t and t % cut == 0:
                h, cell = h.detach(), cell.detach()
            told = (h * gates[t][:, None]).reshape(-1, self.agents, hidden)
            others = told.sum(dim=1, keepdim=True) - told
            c = others.reshape(h.shape) / max(self.agents - 1, 1)
            inp = self.enc(seen[t]) + self.com(c)
            z = self.lst(torch.cat([inp, h], dim=1))
            i, f, g, o = z.chunk(4, dim=1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            h = o.sigmoid() * cell.tanh()
            out.append(self.hed(h))
        return torch.stack(out)
