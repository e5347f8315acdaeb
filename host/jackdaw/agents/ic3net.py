"""IC3Net: a team of agents that choose when to talk, trained by REINFORCE with a value baseline.

The network, its gradients, RMSprop and the training of its masks are the engine's; the loop is
runtime/team.py. Source: Singh, Jain, Sukhbaatar 2019; LearningGroup II, III-A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from jackdaw.agents.a3c import policy as softmax
from jackdaw.drivers.sparse import OF_GROUPS, SCALES, SPLITS, Parameters, SparseSettings
from jackdaw.errors import ConfigError
from jackdaw.ranges import COUNT, FLOAT32_MAX, POSITIVE, Choice, Range, check, refused
from models.sparse.formats import GROUPS, Layer
from models.sparse.ic3net import ACTIONS, GATES, NAMES, OUTPUTS

GROUP_START = 26  # grouping entries begin at 0..25, in units of 2**-8
SCALE_UP = 200  # updates without an overflow, after which the loss scale doubles
SCALE_LEAST = 1.0


@dataclass(frozen=True)
class Ic3netRecipe:
    """All settings of a run but its seed and its device.

    Attributes:
        environment: Gymnasium id of a multi-agent game.
        hidden: H, width of the network, a multiple of 8.
        groups: G of the masks of encoder, communication and LSTM; 1: dense.
        head_groups: G of the output layer.
        episodes: B, played at once, of an update.
        split: `vec`: episodes over cores; `row`: rows over cores; `auto`: vec from 64 agents on.
        learning_rate: of weights and biases of a dense network. With G groups it is sqrt(G) times
            as high, as start weights are: fewer weights move a sum.
        group_rate: of the grouping matrices.
        decay, eps: of RMSprop.
        value: weight of the value's squared error.
        entropy: weight of the policy's entropy; without it teams soon cease to explore.
        loss_scale: at the start; a power of two.
        window: updates of the mean success.
        threshold: mean success at which the run stops; infinite: it does all of its updates.
        max_steps: updates after which the run ends.
        config: build configuration that holds its network and episodes.
    """

    environment: str
    hidden: Annotated[int, Range(8, 128)] = 128
    groups: Annotated[int, Range(1, 32)] = 1
    head_groups: Annotated[int, Range(1, 32)] = 1
    episodes: Annotated[int, Range(1, 65535)] = 32
    split: Annotated[str, Choice(SPLITS)] = "auto"
    learning_rate: Annotated[float, POSITIVE] = 1e-3
    group_rate: Annotated[float, Range(0, FLOAT32_MAX)] = 1e-3
    decay: Annotated[float, Range(0, 1)] = 0.97
    eps: Annotated[float, SCALES] = 1e-6
    value: Annotated[float, Range(0, FLOAT32_MAX)] = 0.01
    entropy: Annotated[float, Range(0, FLOAT32_MAX)] = 0.01
    loss_scale: Annotated[float, Range(1, 1 << 24)] = 1024.0
    window: Annotated[int, COUNT] = 100
    threshold: Annotated[float, Range(infinite=True)] = float("inf")
    max_steps: Annotated[int, COUNT] = 3000
    config: str = "sparse_full"

    def __post_init__(self) -> None:
        """Raises ConfigError if a setting is invalid."""
        check(self)
        for name in ("groups", "head_groups"):
            if getattr(self, name) not in GROUPS:
                raise refused(name, getattr(self, name), OF_GROUPS)
        if np.log2(self.loss_scale) % 1:
            raise ConfigError(f"loss_scale: got {self.loss_scale}, want a power of two")

    def settings(self, observations: int, agents: int, steps: int, seed: int) -> SparseSettings:
        """What the engine is configured with; the seed is of its stochastic rounding."""
        return SparseSettings(
            observations, agents, self.episodes, steps, self.hidden, self.groups, self.head_groups,
            self.split, self.learning_rate * self.groups**0.5, self.decay, self.eps,
            self.group_rate, seed,
        )  # fmt: skip


def initial_parameters(layers: Sequence[Layer], rng: np.random.Generator) -> Parameters:
    """Draw weights, biases and the grouping matrices.

    Biases are uniform in -1/sqrt(M)..1/sqrt(M). So are weights, with sqrt(G/M): a column has about
    M/G weights that take part, and its sum is to be as large as that of a dense layer.
    Entries of the matrices are uniform; one of each tied maximum is raised, so that it is alone.
    """
    found: Parameters = {}
    for name, layer in zip(NAMES, layers, strict=True):
        bound = 1 / np.sqrt(layer.m)
        wide = bound * np.sqrt(layer.groups)
        arrays = {
            "weight": rng.uniform(-wide, wide, (layer.m, layer.n)).astype(np.float32),
            "bias": rng.uniform(-bound, bound, layer.n).astype(np.float32),
        }
        if layer.groups > 1:
            for key, count in (("ig", layer.m), ("og", layer.n)):
                arrays[key] = initial_grouping(count, layer.groups, rng)
        found[name] = arrays
    return found


def initial_grouping(count: int, groups: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a grouping matrix, [count, groups] int8, each row with one greatest entry."""
    entries = rng.integers(0, GROUP_START, (count, groups))
    best = entries == entries.max(axis=1, keepdims=True)
    chosen = (best * rng.random(best.shape)).argmax(axis=1)
    entries[np.arange(count), chosen] += best.sum(axis=1) > 1
    return entries.astype(np.int8)


def draw(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw an action of each row of logits, [V] int64."""
    shares = np.cumsum(softmax(logits, logits.shape[-1]), axis=-1)
    chosen = (shares < rng.random(len(logits))[:, None] * shares[:, -1:]).sum(axis=-1)
    return np.minimum(chosen, logits.shape[-1] - 1)


def returns(rewards: np.ndarray) -> np.ndarray:
    """Sum of the rewards from each step on, of each agent: [T, V] to [T, V]."""
    return np.cumsum(rewards[::-1], axis=0)[::-1]


def output_gradient(
    logits: np.ndarray,
    values: np.ndarray,
    actions: np.ndarray,
    gates: np.ndarray,
    goals: np.ndarray,
    live: np.ndarray,
    value: float,
    entropy: float,
) -> np.ndarray:
    """Gradient of the loss, which is minimized, by the network's outputs.

    Args:
        logits: [T, V, 7], of 5 actions and 2 gates.
        values: [T, V].
        actions: [T, V] int, as drawn.
        gates: [T, V] int, as drawn.
        goals: [T, V], returns R.
        live: [T, V] bool, the episode had not ended.
        value: weight of the value's squared error.
        entropy: weight of the entropies H of actions and gates.
    Returns: [T, V, 8] float64, of
        sum(-(log pi(a) + log pi(gate))*(R - V) - entropy*H + value*(R - V)^2) over live steps;
        R - V in the first term is a constant.
    """
    advantage = goals - values
    out = np.zeros((*values.shape, OUTPUTS))
    for first, count, taken in ((0, ACTIONS, actions), (ACTIONS, GATES, gates)):
        part = logits[..., first : first + count]
        shares = softmax(part, count)
        logs = np.log(np.maximum(shares, 1e-300))
        spread = -(shares * logs).sum(axis=-1, keepdims=True)
        out[..., first : first + count] = entropy * shares * (logs + spread)
        out[..., first : first + count] += (shares - np.eye(count)[taken]) * advantage[..., None]
    out[..., -1] = -2 * value * advantage
    return out * live[..., None]


class LossScale:
    """A power of two that gradients are multiplied by, so that FP16 holds them.

    Attributes:
        value: of now.
        clean: updates since the last change.
    """

    def __init__(self, value: float) -> None:
        self.value, self.clean = float(value), 0

    def after(self, skipped: bool) -> None:
        """Halve it after an update that was skipped; double it after many that were not."""
        self.clean += 1
        if skipped:
            self.value, self.clean = max(self.value / 2, SCALE_LEAST), 0
        elif self.clean == SCALE_UP:
            self.value, self.clean = self.value * 2, 0
