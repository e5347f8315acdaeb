"""The same training step on the CPU: integer sum tree in NumPy, networks in PyTorch.

The baseline that the accelerator is compared with, and an independent check of the recipes. It
takes no device; its learning curves are like the accelerator's, its bits are not.
"""

from __future__ import annotations

import numpy as np
import torch

from jackdaw.agents.base import Parameters
from jackdaw.agents.dqn import DqnAgent
from jackdaw.runtime.lockstep import StepResult
from models.replay.kernels import Op
from models.replay.rmm import Batch, Converter, Geometry, Rmm, next_beta
from models.replay.rng import splitmix64
from models.replay.weights import BETA_ONE

PINIT = 1 << 16


class CpuTrainer:
    """DQN on PyTorch with the golden model of replay.

    Args:
        agent: recipe and shapes.
        parameters: the initial weights.
        seed: seed of the sampler.
    """

    def __init__(self, agent: DqnAgent, parameters: Parameters, seed: int) -> None:
        recipe = agent.recipe
        self.agent = agent
        self.replay = Rmm(
            Geometry(n_log2=(recipe.capacity - 1).bit_length()),
            Converter(
                alpha=round(recipe.alpha * (1 << 15)),
                eps=int(np.float32(recipe.epsilon_priority).view(np.uint32)),
            ),
        )
        self.replay.clear(recipe.capacity, PINIT)
        self.replay.generator.load(splitmix64(seed))
        self.beta = round(recipe.beta * BETA_ONE)
        self.rows = np.zeros((recipe.capacity, agent.stride), np.uint8)
        self.online = _network(parameters)
        self.target = _network(parameters)
        kinds = {
            "adam": lambda p: torch.optim.Adam(p, lr=recipe.learning_rate),
            "sgd": lambda p: torch.optim.SGD(p, lr=recipe.learning_rate),
            "momentum": lambda p: torch.optim.SGD(p, lr=recipe.learning_rate, momentum=0.9),
        }
        self.optimizer = kinds[recipe.optimizer](self.online.parameters())
        self.steps = 0

    def insert(self, rows: np.ndarray) -> None:
        """See Trainer."""
        for row in rows:
            response = self.replay.apply(Op.INSERT, pmax=True)
            self.rows[response.index] = row

    def train(self, steps: int) -> StepResult:
        """See Trainer."""
        mean = 0.0
        for _ in range(steps):
            mean = self._step()
        return StepResult(steps, mean, self.parameters())

    def parameters(self) -> Parameters:
        """See Trainer."""
        layers = [m for m in self.online if isinstance(m, torch.nn.Linear)]
        return [(m.weight.detach().numpy().copy(), m.bias.detach().numpy().copy()) for m in layers]

    def cycles(self) -> int:
        """See Trainer: a CPU has no device clock."""
        return 0

    def _step(self) -> float:
        recipe, states = self.agent.recipe, self.agent.spec.states
        batch = recipe.batch
        drawn = self.replay.sample(
            self.replay.draw(batch), stratified=batch & (batch - 1) == 0, beta=self.beta
        )
        assert drawn is not None, "training before the first insertion"
        indices, responses = drawn
        sampled = Batch(indices, self.replay.head, self.replay.moves)
        importance = responses[:, 2].copy().view(np.float32)
        self.beta = next_beta(self.beta, round((1 - recipe.beta) / recipe.beta_steps * BETA_ONE))
        words = self.rows[indices].view(np.float32)
        action = torch.from_numpy(words[:, states].copy().view(np.int32).astype(np.int64))
        s, r, d, following = (
            torch.from_numpy(words[:, a:b].copy())
            for a, b in (
                (0, states),
                (states + 1, states + 2),
                (states + 2, states + 3),
                (states + 3, 2 * states + 3),
            )
        )
        with torch.no_grad():
            next_values = self.target(following)
            if recipe.double:
                choice = self.online(following).argmax(1, keepdim=True)
                best = next_values.gather(1, choice)[:, 0]
            else:
                best = next_values.max(1).values
            wanted = r[:, 0] + d[:, 0] * best
        value = self.online(s).gather(1, action[:, None])[:, 0]
        delta = value - wanted
        if recipe.huber is None:
            loss = 0.5 * delta**2
        else:
            loss = torch.nn.functional.huber_loss(
                value, wanted, reduction="none", delta=recipe.huber
            )
        self.optimizer.zero_grad()
        (loss * torch.from_numpy(importance)).mean().backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % recipe.sync == 0:
            self.target.load_state_dict(self.online.state_dict())
        errors = delta.detach().numpy()
        self.replay.update_batch(sampled, 0, errors.view(np.uint32))
        return float(np.abs(errors).mean())


def _network(parameters: Parameters) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for weight, bias in parameters:
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(np.array(weight)))
            linear.bias.copy_(torch.from_numpy(np.array(bias)))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])
