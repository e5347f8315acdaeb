"""Tuned settings: one named recipe an environment and algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from jackdaw.drivers.learner import Slot, adam, momentum, sgd
from jackdaw.drivers.qat import NEVER, NOISES
from jackdaw.errors import ConfigError
from jackdaw.ranges import COUNT, POSITIVE, STEPS_MAX, Choice, Range, check, declared

FLOOR = 0.05  # of a learning rate that falls, in parts of the first one
PART = Range(0, 1)
SIZE = Range(0, POSITIVE.high)
OWN_VECTOR = "own"


@dataclass(frozen=True)
class Recipe:
    """All settings of a run, of any algorithm, but its seed and its device.

    Attributes:
        environment: Gymnasium id.
        hidden: widths of the hidden layers.
        optimizer: `adam`, `momentum` or `sgd`.
        learning_rate: step size; of actor-critic algorithms the actor's.
        decay_steps: gradient steps in which learning rates fall linearly to 5 %; 0: they do not.
        batch: transitions a gradient step, 1..the build's maximum.
        gamma: discount an environment step, 0..1.
        n_step: environment steps a transition spans, at least 1.
        ratio: environment steps (all actors) a gradient step.
        alpha: priority exponent, 0..1.99.
        beta: importance-sampling exponent at the start, 0..1.
        beta_steps: gradient steps until beta is 1.
        epsilon_priority: added to |TD error| before the exponent.
        warm: transitions stored before the first gradient step.
        reward_scale: multiplies the reward before it is stored.
        huber: clip of the TD error in the gradient (kappa); None for squared error.
        capacity: transitions held by replay.
        actors: environments stepped side by side.
        vector: how actors play: None, a thread each; `sync` or `async`, together in Gymnasium's
            SyncVectorEnv or, a process each, AsyncVectorEnv; `own`, in a VectorEnv that a user's
            function makes. The first three give the same bits.
        threshold: mean return of the evaluation at which the run stops.
        evaluate_every: gradient steps between evaluations.
        max_steps: gradient steps after which the run gives up.
        config: build configuration that holds its networks and batch.
    """

    environment: str
    hidden: Annotated[tuple[int, ...], Range(1, 1024)] = (64, 64)
    optimizer: Annotated[str, Choice(("adam", "momentum", "sgd"))] = "adam"
    learning_rate: Annotated[float, POSITIVE] = 0.02
    decay_steps: Annotated[int, Range(0, STEPS_MAX)] = 0
    batch: Annotated[int, Range(1, (1 << 16) - 1)] = 32
    gamma: Annotated[float, PART] = 0.99
    n_step: Annotated[int, COUNT] = 10
    ratio: Annotated[int, COUNT] = 32
    alpha: Annotated[float, Range(0, 1.99997)] = 0.4
    beta: Annotated[float, PART] = 0.4
    beta_steps: Annotated[int, COUNT] = 3000
    epsilon_priority: Annotated[float, SIZE] = 0.01
    warm: Annotated[int, COUNT] = 500
    reward_scale: float = 0.1
    huber: Annotated[float | None, POSITIVE] = 1.0
    capacity: Annotated[int, Range(1, 1 << 20)] = 65536
    actors: Annotated[int, COUNT] = 4
    vector: Annotated[str | None, Choice(("sync", "async", OWN_VECTOR))] = None
    threshold: Annotated[float, Range(infinite=True)] = 475.0
    evaluate_every: Annotated[int, COUNT] = 25
    max_steps: Annotated[int, COUNT] = 700
    config: str = "demo"

    def __post_init__(self) -> None:
        """Raises ConfigError if a setting is invalid, or two do not fit together."""
        check(self)
        for name, most, other in (
            ("batch", self.capacity, "capacity"),
            ("warm", self.capacity, "capacity"),
            ("ratio", self.capacity // 2, "half the capacity"),
            ("actors", self.ratio, "ratio"),
        ):
            if getattr(self, name) > most:
                got = getattr(self, name)
                raise ConfigError(f"{name}: got {got}, want at most {other}, which is {most}")
        if self.vector is not None and self.ratio % self.actors:
            raise ConfigError(
                f"ratio: got {self.ratio}, want a multiple of {self.actors}: in a VectorEnv all "
                "actors step together"
            )

    def slot(self, learning_rate: float) -> Slot:
        """The optimizer slot for a learning rate."""
        fall = (1 - FLOOR) * learning_rate / self.decay_steps if self.decay_steps else 0.0
        floor = FLOOR * learning_rate if fall else 0.0
        kinds: dict[str, Callable[..., Slot]] = {"adam": adam, "momentum": momentum, "sgd": sgd}
        return kinds[self.optimizer](learning_rate, decrement=fall, floor=floor)

    def scheduled(self, ends: tuple[float, float], steps: int, step: int) -> float:
        """A value after `step` environment steps: from its start to its end, after the warm-up."""
        start, end = ends
        fraction = min(1.0, max(0.0, (step - self.warm) / steps))
        return start + (end - start) * fraction


@dataclass(frozen=True)
class DqnRecipe(Recipe):
    """Settings of DQN.

    Attributes:
        sync: gradient steps between hard copies into the target network.
        epsilon: exploration at the start and at the end of its schedule.
        epsilon_steps: environment steps of the linear schedule.
        double: double DQN.
    """

    sync: Annotated[int, Range(1, 65535)] = 5
    epsilon: Annotated[tuple[float, float], PART] = (1.0, 0.1)
    epsilon_steps: Annotated[int, COUNT] = 3000
    double: bool = False


@dataclass(frozen=True)
class ActorCriticRecipe(Recipe):
    """Settings of DDPG and TD3. Actions are in units of their bounds.

    Attributes:
        critic_learning_rate: step size of the critics.
        tau: share by which the targets move in each step.
        lagged: the actor's gradient is that of the critic before the step's update.
        noise: standard deviation on actions at the start and at the end of its schedule.
        noise_steps: environment steps of the linear schedule.
        twin: TD3: two critics, whose smaller value counts, and smoothed target actions.
        delay: of TD3: gradient steps a step of the actor and the targets.
        smoothing: of TD3: standard deviation of the noise on target actions, and its bound.
    """

    critic_learning_rate: Annotated[float, POSITIVE] = 0.005
    tau: Annotated[float, Range(0, 1, above=True)] = 0.05
    lagged: bool = False
    noise: Annotated[tuple[float, float], SIZE] = (0.1, 0.1)
    noise_steps: Annotated[int, COUNT] = 1
    twin: bool = False
    delay: Annotated[int, Range(1, 65535)] = 2
    smoothing: Annotated[tuple[float, float], SIZE] = (0.2, 0.5)


@dataclass(frozen=True)
class QatRecipe(Recipe):
    """Settings of DDPG on the qat engine, with one environment.

    Batches are uniform if `alpha` is 0, else prioritized.

    Attributes:
        critic_learning_rate: step size of the critic.
        tau: share by which the targets move in each step.
        qdelay: gradient steps until activations have 16 bits.
        headroom: bits that stay free, then, above the range of a hidden layer of the critic.
        noise: kind: none, uniform, gaussian or ornstein.
        sigma: its size at the start and at the end of its schedule; actions are within -1..1.
        sigma_steps: environment steps of the linear schedule.
        theta: pull to zero of ornstein.
        act: `after` the updates, or `with` the actor's batch, before its update: then the
            environment steps while the engine still trains.
        actor_scale, critic_scale: log2 of the loss scales.
        stops: the run ends at the threshold, once activations have 16 bits (if they ever have).
    """

    critic_learning_rate: Annotated[float, POSITIVE] = 1e-3
    tau: Annotated[float, Range(0, 1, above=True)] = 0.005
    qdelay: Annotated[int, Range(0, NEVER - 1)] = 5000
    headroom: Annotated[int, Range(0, 3)] = 1
    noise: Annotated[str, Choice(tuple(NOISES))] = "gaussian"
    sigma: Annotated[tuple[float, float], Range(0, 1 << 15, below=True)] = (0.1, 0.1)
    sigma_steps: Annotated[int, COUNT] = 1
    theta: Annotated[float, PART] = 0.15
    act: Annotated[str, Choice(("after", "with"))] = "after"
    actor_scale: Annotated[int, Range(0, 6)] = 4
    critic_scale: Annotated[int, Range(-8, 7)] = 0
    stops: bool = False

    def __post_init__(self) -> None:
        """See Recipe."""
        super().__post_init__()
        if self.vector is not None:
            raise ConfigError(f"vector: got {self.vector!r}, want None: there is one environment")
        for name, want in (("optimizer", "adam"), ("decay_steps", 0), ("actors", 1),
                           ("huber", None)):  # fmt: skip
            if getattr(self, name) != want:
                raise ConfigError(f"{name}: got {getattr(self, name)!r}, the engine has {want!r}")


CARTPOLE = DqnRecipe("CartPole-v1")
PENDULUM = ActorCriticRecipe(
    "Pendulum-v1",
    learning_rate=0.002,
    batch=64,
    gamma=0.98,
    n_step=1,
    ratio=8,
    alpha=0.6,
    beta_steps=4000,
    huber=None,
    threshold=-200.0,
    evaluate_every=100,
    max_steps=3000,
    config="agents",
)
LANDER = ActorCriticRecipe(
    "LunarLanderContinuous-v3",
    learning_rate=0.002,
    critic_learning_rate=0.004,
    batch=64,
    n_step=3,
    ratio=16,
    alpha=0.6,
    beta_steps=12000,
    warm=3000,
    reward_scale=0.05,
    huber=None,
    capacity=65536,
    threshold=200.0,
    evaluate_every=250,
    max_steps=20000,
    tau=0.02,
    noise=(0.3, 0.1),
    noise_steps=60000,
    config="agents",
)
CHEETAH = replace(  # for its throughput: nobody tuned it for its return
    LANDER,
    environment="HalfCheetah-v5",
    n_step=1,
    reward_scale=0.1,
    tau=0.005,
    noise=(0.1, 0.1),
    twin=True,
    threshold=3000.0,
    evaluate_every=1000,
)
QAT_PENDULUM = QatRecipe(
    "Pendulum-v1",
    learning_rate=1e-4,
    batch=64,
    n_step=1,
    ratio=1,
    alpha=0.0,
    warm=1000,
    huber=None,
    capacity=16384,
    actors=1,
    threshold=-200.0,
    evaluate_every=1000,
    max_steps=12000,
    config="qat",
)
QAT_LANDER = replace(
    QAT_PENDULUM,
    environment="LunarLanderContinuous-v3",
    learning_rate=2e-3,
    critic_learning_rate=4e-3,
    n_step=3,
    ratio=16,
    warm=3000,
    reward_scale=0.05,
    capacity=65536,
    threshold=200.0,
    sigma=(0.3, 0.1),
    sigma_steps=60000,
    tau=0.02,
    qdelay=6000,
    evaluate_every=500,
    max_steps=20000,
    stops=True,
)
QAT_CHEETAH = replace(  # sizes, batch and quantization delay (30 %) are the publication's
    QAT_PENDULUM,
    environment="HalfCheetah-v5",
    hidden=(400, 300),
    warm=5000,
    capacity=1000000,
    threshold=2000.0,
    qdelay=60000,
    evaluate_every=5000,
    max_steps=200000,
    config="qat_full",
)
RECIPES: dict[tuple[str, str], Recipe] = {
    ("dqn", "CartPole-v1"): CARTPOLE,
    ("dqn-sgd", "CartPole-v1"): replace(
        CARTPOLE,
        optimizer="sgd",
        learning_rate=0.2,
        gamma=0.98,
        warm=2000,
        epsilon_steps=1000,
        reward_scale=0.3,
        huber=None,
        max_steps=2500,
    ),
    ("dqn", "LunarLander-v3"): DqnRecipe(
        "LunarLander-v3",
        learning_rate=0.004,
        decay_steps=12000,
        batch=64,
        n_step=3,
        beta_steps=12000,
        warm=2000,
        reward_scale=0.03,
        capacity=65536,
        threshold=200.0,
        evaluate_every=250,
        max_steps=12000,
        sync=20,
        epsilon=(1.0, 0.02),
        epsilon_steps=60000,
        double=True,
        config="agents",
    ),
    ("ddpg", "Pendulum-v1"): PENDULUM,
    ("ddpg-lagged", "Pendulum-v1"): replace(PENDULUM, lagged=True),
    ("td3", "Pendulum-v1"): replace(PENDULUM, twin=True),
    ("ddpg", "LunarLanderContinuous-v3"): LANDER,
    ("td3", "LunarLanderContinuous-v3"): replace(LANDER, twin=True, gamma=0.98),
    ("td3", "HalfCheetah-v5"): CHEETAH,
    ("ddpg-qat", "Pendulum-v1"): QAT_PENDULUM,
    ("ddpg-qat", "LunarLanderContinuous-v3"): QAT_LANDER,
    ("ddpg-qat", "HalfCheetah-v5"): QAT_CHEETAH,
}


def recipe(agent: str, environment: str) -> Recipe:
    """Return the recipe of an agent on an environment. Raises ConfigError."""
    try:
        return RECIPES[agent, environment]
    except KeyError:
        known = ", ".join(f"{a} on {e}" for a, e in RECIPES)
        raise ConfigError(f"no recipe for {agent} on {environment}; there are: {known}") from None


def settings_from(base: Any, items: Sequence[str]) -> dict[str, Any]:
    """Read a command line's changes of a recipe.

    Args:
        base: a dataclass; what it holds says which type is wanted.
        items: NAME=VALUE each, NAME=VALUE,VALUE of a pair, NAME=None where a field has that.
    Returns: the changes, for dataclasses.replace.
    Raises: ConfigError.
    """
    known = declared(type(base))
    changes: dict[str, Any] = {}
    for item in items:
        name, _, text = item.partition("=")
        if name not in known:
            raise ConfigError(f"--set {item}: the recipe has no {name}; it has {', '.join(known)}")
        changes[name] = known[name].read(f"--set {item}: {name}", text)
    return changes
