"""A3C: settings, first parameters, softmax and objective.

The network, its gradients and RMSProp are the engine's; the loop is runtime/asynchronous.py.
Source: a3c 13.2; FA3C 2.2, 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from jackdaw.errors import ConfigError
from jackdaw.ranges import FLOAT32_MAX, POSITIVE, Range, check
from models.a3c.layout import Parameters
from models.a3c.network import CONV, NET_A, NET_S, Network
from models.a3c.rmsprop import HyperParameters

FINITE = Range(-FLOAT32_MAX, FLOAT32_MAX)


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

    agents: Annotated[int, Range(1, 1024)] = 16
    steps: Annotated[int, Range(1, 8)] = 5
    discount: Annotated[float, Range(0, 1)] = 0.99
    entropy: Annotated[float, FINITE] = 0.01
    value: Annotated[float, FINITE] = 0.5
    rate: Annotated[float, Range(0, FLOAT32_MAX)] = 7e-4
    horizon: Annotated[int, Range(1, 1 << 62)] = 100_000_000
    decay: Annotated[float, Range(0, 1)] = 0.99
    eps: Annotated[float, POSITIVE] = 0.1
    clip: Annotated[float, POSITIVE] = 1.0

    def __post_init__(self) -> None:
        """Raises ConfigError if a setting is invalid."""
        check(self, "A3C")
        if not self.hyper_parameters(0).legal:
            got = f"rate {self.rate}, decay {self.decay}, eps {self.eps}"
            raise ConfigError(f"A3C: got {got}, want finite numbers of binary32 and eps above 0")

    def hyper_parameters(self, step: int) -> HyperParameters:
        """RMSProp's numbers after so many environment steps."""
        rate = self.rate * max(0.0, 1 - step / self.horizon)
        return HyperParameters.make(rate, self.decay, self.eps)


@dataclass(frozen=True)
class A3cRecipe:
    """The settings with which an environment is trained.

    Attributes:
        environment: PixelCatch, or Gymnasium's id of an Atari game.
        network: of the agents.
        config: build configuration that has room for it.
        settings: of the run.
        steps: environment steps of a run.
        window: episodes of a mean.
        goal: mean return that counts as learned, if there is one.
    """

    environment: str
    network: Network = NET_A
    config: str = "a3c_full"
    settings: A3cSettings = field(default_factory=A3cSettings)
    steps: Annotated[int, Range(1, 1 << 62)] = 100_000_000
    window: Annotated[int, Range(1, 1 << 31)] = 1000
    goal: float | None = None

    def __post_init__(self) -> None:
        """Raises ConfigError if a setting is invalid."""
        check(self)


PIXEL_CATCH = A3cRecipe("PixelCatch", NET_S, "a3c", A3cSettings(eps=1e-5), 80_000, 200, 0.9)


def a3c_recipe(environment: str) -> A3cRecipe:
    """The recipe of PixelCatch; of an Atari game, the publication's network and settings."""
    return PIXEL_CATCH if environment == PIXEL_CATCH.environment else A3cRecipe(environment)


def initial_parameters(network: Network, rng: np.random.Generator) -> Parameters:
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
    """Return R[t] = r[t] + discount*R[t+1] of a rollout, R after it being `bootstrap`."""
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
        entropy: weight of the policy's entropy H.
        value: weight of the squared error of the value V.
    Returns: [N, O] float32, of
        sum(-log pi(a)*(R - V) - entropy*H + value*(R - V)^2). R - V in the first term is a
        constant.
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
