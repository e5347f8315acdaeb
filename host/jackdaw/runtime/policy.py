"""Trained policies: actions for observations, without a device.

A policy computes what the run's agent computes, in the golden models' order, so that its actions
equal those of the run's evaluations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from jackdaw.agents.a3c import A3cRecipe, A3cSettings
from jackdaw.agents.a3c import policy as softmax
from jackdaw.agents.actor_critic import ActorCriticAgent
from jackdaw.agents.base import EnvironmentSpec, Parameters
from jackdaw.agents.dqn import DqnAgent
from jackdaw.agents.ic3net import Ic3netRecipe
from jackdaw.agents.recipes import ActorCriticRecipe, DqnRecipe, QatRecipe, Recipe
from jackdaw.device import open_device
from jackdaw.drivers.qat import Policy as FixedActor
from jackdaw.drivers.qat import Qat
from jackdaw.environments import OWN, make_frames, makes_vector
from jackdaw.errors import ConfigError
from jackdaw.extras import missing
from jackdaw.runtime.environment import Environment, flat
from jackdaw.runtime.run_folder import kept
from jackdaw.runtime.vector import VectorEnvironment
from models.a3c import task
from models.a3c.network import CONV, Layer, Network
from models.qat import ops

if TYPE_CHECKING:
    import torch

LINEAR, RELU, TANH = "linear", "relu", "tanh"


@dataclass(frozen=True)
class Part:
    """A layer of a policy's network.

    Attributes:
        weight: [out, in], or of a convolution [out, in, kernel, kernel], float32.
        bias: [out] float32.
        activation: `linear`, `relu` or `tanh`.
        stride: of a convolution; 0: fully connected.
    """

    weight: np.ndarray
    bias: np.ndarray
    activation: str
    stride: int = 0


def spaces_of(environment: gymnasium.Env[Any, Any] | VectorEnvironment) -> dict[str, Any]:
    """The spaces of an environment as agents see it, for config.json."""
    action = environment.action_space
    if isinstance(action, gymnasium.spaces.Discrete):
        actions: dict[str, Any] = {"n": int(action.n)}
    else:
        assert isinstance(environment, (Environment, VectorEnvironment))
        box = environment.bounds
        actions = {"low": box.low.tolist(), "high": box.high.tolist()}
    return {"observation": list(environment.observation_space.shape or ()), "action": actions}


class Policy:
    """A trained policy.

    Attributes:
        environment: name of the environment that it was trained on.
        recipe: the settings of its training.
        shape: of one observation.
        actions: number of discrete actions, or None.
        low, high: [A] float32, bounds of a continuous action; None for discrete ones.
        parts: its network's layers; of the qat engine's policies in float32, rounded.
        figure: what an episode is judged by.
    """

    figure = "return"

    def __init__(
        self,
        recipe: Recipe | A3cRecipe | Ic3netRecipe,
        spaces: Mapping[str, Any],
        parts: Sequence[Part],
    ) -> None:
        self.recipe, self.environment = recipe, recipe.environment
        self.shape = tuple(spaces["observation"])
        action = spaces["action"]
        self.actions: int | None = action.get("n")
        self.low = self.high = None
        if self.actions is None:
            self.low = np.array(action["low"], np.float32)
            self.high = np.array(action["high"], np.float32)
        self.parts = list(parts)
        self._spaces = dict(spaces)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.environment!r})"

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> tuple[Any, Any]:
        """Choose actions, as Stable-Baselines3's policies do.

        Args:
            observation: one observation or [B, ...] of them.
            state: of recurrent policies; returned as it is.
            episode_start: of recurrent policies; ignored.
            deterministic: the best action; else one drawn as in training.
            rng: draws then; by default a new one.
        Returns: the action in the environment's units (int64, or [A] float32; with a batch [B] or
            [B, A]), and `state`.
        Raises: ConfigError for another shape.
        """
        array = np.asarray(observation, np.float32)
        single = array.shape == self.shape
        if not single and array.shape[1:] != self.shape:
            raise ConfigError(
                f"observation: got shape {array.shape}, want {self.shape} or a batch of it"
            )
        batch = array[None] if single else array
        draw = None if deterministic else rng or np.random.default_rng()
        chosen = self._choose(batch, draw)
        if self.low is not None and self.high is not None:
            middle, half = (self.high + self.low) / 2, (self.high - self.low) / 2
            chosen = (middle + half * np.clip(chosen, -1, 1)).astype(np.float32)
        else:
            chosen = np.asarray(chosen, np.int64)
        return (chosen[0] if single else chosen), state

    def _choose(self, observations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        """Actions, [B] or [B, A] of -1..1, the best ones without a generator."""
        raise NotImplementedError

    def make(self, name: str | None = None, **options: Any) -> gymnasium.Env[Any, Any]:
        """Make an environment to play in.

        Args:
            name: Gymnasium id; default what it was trained on.
            options: for `gymnasium.make`.
        Raises: ConfigError for a function's environment that this process does not know, and for
            a VectorEnv.
        """
        name = name or self.environment
        if name.startswith(OWN) and name not in gymnasium.registry:
            raise ConfigError(f"{name} was made by a function: give it as `env`")
        if makes_vector(name):
            raise ConfigError(f"{name} is a VectorEnv: give a function of one environment as `env`")
        if len(self.shape) == 3:
            return make_frames(name, **options)
        return flat(gymnasium.make(name, **options))

    def to_torch(self) -> torch.nn.Module:
        """The network as a PyTorch module in float32.

        Its input is [B, ...] observations; its output is action values (DQN), actions in the
        environment's units (DDPG, TD3) or logits (A3C).
        Raises: ImportError without PyTorch.
        """
        import torch

        modules: list[torch.nn.Module] = []
        for part in self.parts:
            out, inputs = part.weight.shape[:2]
            layer: torch.nn.Module
            if part.stride:
                layer = torch.nn.Conv2d(inputs, out, part.weight.shape[2], part.stride)
            else:
                if len(self.shape) == 3 and not any(
                    isinstance(m, torch.nn.Flatten) for m in modules
                ):
                    modules.append(torch.nn.Flatten())
                layer = torch.nn.Linear(inputs, out)
            layer.load_state_dict(
                {"weight": torch.tensor(part.weight), "bias": torch.tensor(part.bias)}
            )
            modules.append(layer)
            if part.activation != LINEAR:
                modules.append(torch.nn.ReLU() if part.activation == RELU else torch.nn.Tanh())
        if self.low is not None and self.high is not None:
            bounds = torch.nn.Linear(len(self.low), len(self.low))
            half = torch.tensor((self.high - self.low) / 2)
            middle = torch.tensor((self.high + self.low) / 2)
            bounds.load_state_dict({"weight": torch.diag(half), "bias": middle})
            modules.append(bounds)
        return torch.nn.Sequential(*modules)

    def export(self, path: Path | str) -> Path:
        """Write the network as a file: `.onnx`, `.pt` (a module for `torch.load`) or `.npz`.

        Returns: the path.
        Raises: ConfigError for another name, or without the package that the format needs.
        """
        path = Path(path)
        writers: dict[str, Callable[[Policy, Path], None]] = {
            ".onnx": _write_onnx, ".pt": _write_torch, ".npz": _write_arrays
        }  # fmt: skip
        if path.suffix not in writers:
            raise ConfigError(f"export: got {path.name!r}, want a name in {', '.join(writers)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            writers[path.suffix](self, path)
        except ImportError as error:
            raise ConfigError(f"export: {missing(error)}") from None
        return path


class ValuePolicy(Policy):
    """DQN: the action of the largest value."""

    def __init__(self, recipe: DqnRecipe, spaces: Mapping[str, Any], layers: Parameters) -> None:
        super().__init__(recipe, spaces, _parts(layers, LINEAR))
        assert self.actions is not None
        self._agent = DqnAgent(recipe, EnvironmentSpec(self.shape[0], self.actions))
        self._layers = layers

    def _choose(self, observations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        best = self._agent.greedy(self._layers, observations)
        if rng is None:
            return best
        random = rng.random(len(best)) < self._agent.recipe.epsilon[1]
        return np.where(random, rng.integers(self._agent.spec.actions, size=len(best)), best)


class ActorPolicy(Policy):
    """DDPG and TD3: the actor's action."""

    def __init__(
        self, recipe: ActorCriticRecipe, spaces: Mapping[str, Any], layers: Parameters
    ) -> None:
        super().__init__(recipe, spaces, _parts(layers, TANH))
        assert self.low is not None
        spec = EnvironmentSpec(self.shape[0], len(self.low), continuous=True)
        self._agent = ActorCriticAgent(recipe, spec)
        self._layers = layers

    def _choose(self, observations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        best = self._agent.greedy(self._layers, observations)
        if rng is None:
            return best
        return best + rng.normal(0, self._agent.recipe.noise[1], best.shape).astype(np.float32)


class FixedPolicy(Policy):
    """DDPG on the qat engine: the actor in fixed point; or, after `--device float`, in float32."""

    def __init__(self, recipe: QatRecipe, spaces: Mapping[str, Any], actor: Any) -> None:
        layers = getattr(actor, "layers", None)
        if layers is None:
            tensors = [x.numpy() for x in actor.actor]
            parts = _parts(list(zip(tensors[::2], tensors[1::2], strict=True)), TANH)
        else:
            names = {ops.NONE: LINEAR, ops.RELU: RELU, ops.TANH: TANH}
            parts = [Part(_floats(w), _floats(b), names[activation]) for w, b, activation in layers]
        super().__init__(recipe, spaces, parts)
        self._actor = actor
        self._sigma = recipe.sigma[1]

    def _choose(self, observations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        best: np.ndarray = self._actor.actions(observations)
        return best if rng is None else best + rng.normal(0, self._sigma, best.shape)


class FramePolicy(Policy):
    """A3C: the likeliest action; drawn from the probabilities if it is not deterministic."""

    def __init__(self, recipe: A3cRecipe, spaces: Mapping[str, Any], layers: Parameters) -> None:
        actions = spaces["action"]["n"]
        parts = [
            Part(w, b, RELU if layer.relu else LINEAR, layer.stride if layer.kind == CONV else 0)
            for layer, (w, b) in zip(recipe.network.layers, layers, strict=True)
        ]
        last = parts[-1]  # logits first, then outputs without use, then the value
        parts[-1] = Part(last.weight[:actions], last.bias[:actions], last.activation)
        super().__init__(recipe, spaces, parts)
        self._network, self._layers = recipe.network, layers

    def _choose(self, observations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        assert self.actions is not None
        outputs = task.forward(self._network, self._layers, observations)[-1]
        if rng is None:
            return np.asarray(outputs[:, : self.actions].argmax(1))
        shares = softmax(outputs, self.actions)
        return np.array([rng.choice(self.actions, p=row) for row in shares])


def load(folder: Path | str) -> Policy:
    """The policy of a run's folder.

    Raises: ConfigError if the folder holds no run; CheckpointError.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text())
        recipe = recipe_of(config["recipe"])
        state = kept(folder)
    except (OSError, KeyError, TypeError, ValueError) as error:
        if type(error).__name__.startswith("Checkpoint"):
            raise
        raise ConfigError(f"{folder} is no run's folder: {error}") from None
    if isinstance(recipe, Ic3netRecipe):
        from jackdaw.runtime.team_policy import TeamPolicy

        recipe = replace(recipe, config=config["config"])
        return TeamPolicy(recipe, config["spaces"], state["trainer"]["memories"])
    spaces = config.get("spaces") or _spaces(recipe)
    if isinstance(recipe, A3cRecipe):
        return FramePolicy(recipe, spaces, state["run"]["parameters"])
    if isinstance(recipe, QatRecipe):
        return FixedPolicy(recipe, spaces, _actor(recipe, spaces, state["trainer"], config))
    parameters = state["run"]["parameters"]
    if isinstance(recipe, DqnRecipe):
        return ValuePolicy(recipe, spaces, parameters)
    assert isinstance(recipe, ActorCriticRecipe)
    return ActorPolicy(recipe, spaces, parameters)


def recipe_of(data: Mapping[str, Any]) -> Recipe | A3cRecipe | Ic3netRecipe:
    """The recipe that config.json says. Raises: TypeError, KeyError, ConfigError."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    if "settings" in values:
        layers = tuple(Layer(**layer) for layer in values["network"]["layers"])
        values |= {"network": Network(layers), "settings": A3cSettings(**values["settings"])}
        return A3cRecipe(**values)
    if "group_rate" in values:
        return Ic3netRecipe(**values)
    kinds = {"epsilon": DqnRecipe, "smoothing": ActorCriticRecipe, "qdelay": QatRecipe}
    kind = next(kind for key, kind in kinds.items() if key in values)
    return kind(**values)


def _spaces(recipe: Recipe | A3cRecipe) -> dict[str, Any]:
    """The spaces of a recipe's environment, where config.json has none."""
    from jackdaw.runtime.environment import Environment

    name = recipe.environment
    made = make_frames(name) if isinstance(recipe, A3cRecipe) else Environment(name)
    try:
        return spaces_of(made)
    finally:
        made.close()


def _actor(
    recipe: QatRecipe, spaces: Mapping[str, Any], trainer: Mapping[str, Any],
    config: Mapping[str, Any],
) -> Any:  # fmt: skip
    """The actor in a checkpoint: its memory images are read by the golden model."""
    if "networks" in trainer:  # of `--device float`
        import torch

        from jackdaw.runtime.float_trainer import FloatPolicy

        count = 2 * (len(recipe.hidden) + 1)
        arrays = (trainer["networks"][f"online_actor_{at}"] for at in range(count))
        return FloatPolicy([torch.from_numpy(np.array(array)) for array in arrays])
    states, actions = spaces["observation"][0], len(spaces["action"]["low"])
    widths = [[states, *recipe.hidden, actions], [states + actions, *recipe.hidden, 1]]
    empty = [
        [(np.zeros((o, i), np.float32), np.zeros(o, np.float32)) for i, o in pairwise(w)]
        for w in widths
    ]
    with open_device("model", config["config"]) as device:
        qat = Qat(device)
        qat.load_network(empty[0], empty[1])
        qat.load_state(trainer["qat"])
        found: FixedActor = qat.policy()
    return found


def _parts(layers: Parameters, last: str) -> list[Part]:
    return [
        Part(np.asarray(w), np.asarray(b), last if at == len(layers) - 1 else RELU)
        for at, (w, b) in enumerate(layers)
    ]


def _floats(fixed: np.ndarray) -> np.ndarray:
    return np.ldexp(fixed.astype(np.float64), -ops.WEIGHT).astype(np.float32)


def _write_arrays(policy: Policy, path: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    for at, part in enumerate(policy.parts):
        arrays |= {f"weight{at}": part.weight, f"bias{at}": part.bias}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def _write_torch(policy: Policy, path: Path) -> None:
    import torch

    torch.save(policy.to_torch(), path)


def _write_onnx(policy: Policy, path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []
    name = "observation"

    def add(kind: str, output: str, arrays: Sequence[tuple[str, np.ndarray]], **more: Any) -> str:
        constants.extend(numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in arrays)
        nodes.append(helper.make_node(kind, [name, *(n for n, _ in arrays)], [output], **more))
        return output

    for at, part in enumerate(policy.parts):
        arrays = [(f"weight{at}", part.weight), (f"bias{at}", part.bias)]
        if part.stride:
            name = add("Conv", f"layer{at}", arrays, strides=[part.stride] * 2)
        else:
            if len(policy.shape) == 3 and policy.parts[at - 1].stride:
                name = add("Flatten", f"flat{at}", [])
            name = add("Gemm", f"layer{at}", arrays, transB=1)
        if part.activation != LINEAR:
            name = add({RELU: "Relu", TANH: "Tanh"}[part.activation], f"active{at}", [])
    if policy.low is not None and policy.high is not None:
        name = add("Mul", "scaled", [("half", (policy.high - policy.low) / 2)])
        name = add("Add", "action", [("middle", (policy.high + policy.low) / 2)])
    width = len(policy.parts[-1].bias)
    graph = helper.make_graph(
        nodes, "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", *policy.shape])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])],
        constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
