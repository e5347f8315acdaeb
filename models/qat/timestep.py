"""The engine's memories and one timestep of DDPG over them, in the order of the engine.

The critic learns first, from targets that the target networks give; then the actor learns from the
updated critic. A batch is taken in chunks: the gradient of a chunk is rounded and saturated, so
results depend on the chunk, but not on cores, slots or lines.

Source: FIXAR IV (Algorithm 1), V-B; docs/qat.md (timestep).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from models.qat import ops
from models.qat.layout import (
    ACTOR,
    CRITIC,
    HIDDEN_OF_CRITIC,
    TENSORS,
    Geometry,
    Layer,
    Table,
    input_tensor,
)
from models.qat.records import Transitions
from models.qat.validate import JobError


class Stage(IntEnum):
    """Where values were saturated: the index of SAT."""

    Z = 0
    ACTQ = 1
    DX = 2
    G = 3
    GACC = 4
    M = 5
    W = 6
    TD = 7


@dataclass(frozen=True)
class Step:
    """What a timestep does.

    Attributes:
        batch, chunk: vectors in all and at a time.
        critic, actor: scalars of the updates; None: the gradient stays in G.
        critic_scale, actor_scale: log2 of the loss scales.
        half: activations have 16 bits.
        watch: the monitors see activations.
        paper: by the published schedule: all gradients go to G, and from there to Adam.
    """

    batch: int
    chunk: int
    critic: ops.Adam | None
    actor: ops.Adam | None
    critic_scale: int
    actor_scale: int
    half: bool
    watch: bool
    paper: bool = False


@dataclass
class Outcome:
    """What a timestep found.

    Attributes:
        q, td: sums of q and of |td|, frac 16.
        updating: whether a weight has been changed.
    """

    q: int = 0
    td: int = 0
    updating: bool = False


@dataclass(frozen=True)
class Phase:
    """What lies in the vector slots after a chunk of a phase, for jobs that look at slots.

    Attributes:
        x, following: [n, words] as stored; the second only of the critic's phase.
        misc: [n, 6] reward, discount, weight, y, q, td.
        outputs: of each network's layers that were computed.
        deltas: of each network's layers; None for a layer without.
    """

    x: np.ndarray
    following: np.ndarray
    misc: np.ndarray
    outputs: tuple[list[np.ndarray], list[np.ndarray]]
    deltas: tuple[list[np.ndarray | None], list[np.ndarray | None]]


@dataclass(frozen=True)
class Chunk:
    """Vectors of a batch, as they were loaded.

    Attributes:
        rows: the transitions; weight: their importance weights, or None.
        x, following: [n, words] X and X' as they are stored; the second only in the critic's phase.
    """

    rows: Transitions
    weight: np.ndarray | None
    x: np.ndarray
    following: np.ndarray


Load = Callable[[int, int], tuple[Transitions, np.ndarray | None]]
"""First vector and number of a chunk -> its transitions, and their importance weights or None."""


class Datapath:
    """Memories, monitors and the passes of the array.

    Attributes:
        w, t, g, m: [lines, LW] int32: weights, targets, gradients, first moments.
        v: [lines, LW] uint64: second moments.
        low, high: least and largest value of each tensor.
        shifts: of each tensor.
        half: MODE.
        saturated: values by Stage.
        table: the networks, None before there are any.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        shape = geometry.w_lines, geometry.lw
        self.w, self.t, self.g, self.m = (np.zeros(shape, np.int32) for _ in range(4))
        self.v = np.zeros(shape, np.uint64)
        self.low, self.high, self.shifts = [0] * TENSORS, [0] * TENSORS, [0] * TENSORS
        self.half = False
        self.saturated = [0] * len(Stage)
        self.table: Table | None = None

    # ---- Tensors
    def capture(self, headroom: int = 0) -> None:
        """Derive the shifts from the monitors and switch to half mode.

        Args:
            headroom: bits that stay free in the critic's hidden layers. Their values grow with the
                return that the agent reaches, and no monitor sees them after the switch.
        """
        pairs = zip(self.low, self.high, strict=True)
        self.shifts = [
            ops.shift_of(low, high, headroom if k in HIDDEN_OF_CRITIC else 0)
            for k, (low, high) in enumerate(pairs)
        ]
        self.half = True

    def store(self, values: np.ndarray, tensor: int, half: bool, watch: bool) -> np.ndarray:
        """What is stored of a tensor's values: quantized in half mode, else seen by a monitor.

        A monitor takes a 0 with every line.
        """
        if half:
            return self._count(Stage.ACTQ, ops.quantize(values, self.shifts[tensor]))
        if watch:
            pair = self.low[tensor], self.high[tensor]
            self.low[tensor], self.high[tensor] = ops.monitor(*pair, values)
        return values

    def _count(self, stage: Stage, result: tuple[np.ndarray, int]) -> np.ndarray:
        values, over = result
        self.saturated[stage] += over
        return values

    def _shift(self, net: int, index: int, half: bool) -> int | None:
        """Of a layer's input."""
        return self.shifts[input_tensor(net, index)] if half else None

    # ---- Layers
    def layers(self, net: int) -> tuple[Layer, ...]:
        """Of a network of the table."""
        assert self.table is not None
        return self.table.networks[net]

    def weights(self, memory: np.ndarray, layer: Layer) -> np.ndarray:
        """A layer's part of a memory, [P, Q], to read and write."""
        rows = self.geometry.lines(layer.q)
        lines = memory[layer.wbase : layer.wbase + layer.p * rows]
        return lines.reshape(layer.p, -1)[:, : layer.q]

    def biases(self, memory: np.ndarray, layer: Layer) -> np.ndarray:
        """A layer's biases in a memory, [P], to read and write; zeros of a layer without."""
        if not layer.bias:
            return np.zeros(layer.p, memory.dtype)
        lines = memory[layer.bbase : layer.bbase + self.geometry.lines(layer.p)]
        return lines.reshape(-1)[: layer.p]

    def layer_forward(
        self, net: int, index: int, x: np.ndarray, half: bool, watch: bool, target: bool = False
    ) -> np.ndarray:
        """Run a layer on stored inputs, [n, Q]; returns its outputs as they are stored, [n, P].

        A hidden layer's output is quantized in half mode; the last one's has 32 bits.
        """
        layer = self.layers(net)[index]
        memory = self.t if target else self.w
        w, b = self.weights(memory, layer), self.biases(memory, layer)
        z = self._count(Stage.Z, ops.forward(x, w, b, self._shift(net, index, half)))
        a = ops.activate(z, layer.act)
        if index + 1 == len(self.layers(net)):
            return a
        return self.store(a, input_tensor(net, index + 1), half, watch and not target)

    def forward(
        self, net: int, x: np.ndarray, half: bool, watch: bool, target: bool = False
    ) -> list[np.ndarray]:
        """Run a network on stored inputs, [n, Q]; returns every layer's stored outputs."""
        outputs: list[np.ndarray] = []
        for index in range(len(self.layers(net))):
            x = self.layer_forward(net, index, x, half, watch, target)
            outputs.append(x)
        return outputs

    def layer_backward(
        self, net: int, index: int, d: np.ndarray, a: np.ndarray, act: int, words: slice
    ) -> np.ndarray:
        """Take deltas, [n, P], back through a layer and the activation function of its input.

        Args:
            a, act: the input's stored values in `words`, and its function.
            words: the inputs that are wanted.
        """
        w = self.weights(self.w, self.layers(net)[index])[:, words]
        x = self._count(Stage.DX, ops.backward(d, w))
        return self._count(Stage.DX, ops.derivative(x, a, act))

    def backward(self, net: int, seed: np.ndarray, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """Deltas, [n, P] of every layer, from those of the last one's output."""
        layers = self.layers(net)
        deltas = [seed]
        for index in reversed(range(1, len(layers))):
            before, act = outputs[index - 1], layers[index - 1].act
            deltas.insert(
                0, self.layer_backward(net, index, deltas[0], before, act, slice(layers[index].q))
            )
        return deltas

    def layer_gradient(
        self, net: int, index: int, x: np.ndarray, d: np.ndarray, half: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """A layer's gradients of a chunk from stored inputs and deltas: [P, Q], [P]."""
        shift = self._shift(net, index, half)
        weights = self._count(Stage.G, ops.gradient(d, x, shift))
        if not self.layers(net)[index].bias:
            return weights, np.zeros(d.shape[1], np.int64)
        return weights, self._count(Stage.G, ops.bias_gradient(d))

    def accumulate(self, memory: np.ndarray, gradient: np.ndarray, first: bool) -> None:
        """Write a chunk's gradient to its place in G, or add it to what is there."""
        if not first:
            gradient = self._count(Stage.GACC, ops.saturate(memory + gradient))
        memory[...] = gradient

    def gradients(
        self,
        net: int,
        inputs: list[np.ndarray],
        deltas: list[np.ndarray],
        half: bool,
        first: bool,
        scalars: ops.Adam | None,
        sweep: bool,
    ) -> None:
        """A network's gradients of a chunk, layer 1 first: to G, or with what G has to Adam.

        Args:
            inputs, deltas: of each layer.
            first: of the chunks: what G has does not count.
            scalars: of the update that takes the sum of the last chunk; None: G keeps it.
            sweep: G keeps it in any case, and Adam takes it from there.
        """
        for index, layer in enumerate(self.layers(net)):
            found = self.layer_gradient(net, index, inputs[index], deltas[index], half)
            places = (self.weights(self.g, layer), self.biases(self.g, layer))
            for place, part in zip(places[: 1 + layer.bias], found, strict=False):
                if scalars is None or sweep:
                    self.accumulate(place, part, first)
                elif not first:
                    part[...] = self._count(Stage.GACC, ops.saturate(place + part))
            if scalars is not None and not sweep:
                self._update_layer(layer, *found, scalars)
        if scalars is not None and sweep:
            self.update(net, scalars)

    def update(self, net: int, scalars: ops.Adam) -> None:
        """Update a network from G."""
        for layer in self.layers(net):
            self._update_layer(
                layer, self.weights(self.g, layer), self.biases(self.g, layer), scalars
            )

    def _update_layer(
        self, layer: Layer, weights: np.ndarray, biases: np.ndarray, scalars: ops.Adam
    ) -> None:
        """Update a layer's lines whole; gradients of padding are 0."""
        parts = (weights, biases)[: 1 + layer.bias]
        for (line, count), part in zip(layer.ranges(self.geometry), parts, strict=True):
            rows = part.reshape(layer.p, -1) if part.ndim == 2 else part.reshape(1, -1)
            g = np.zeros((len(rows), count * self.geometry.lw // len(rows)), np.int32)
            g[:, : rows.shape[1]] = rows
            w, m, v, t = (x[line : line + count] for x in (self.w, self.m, self.v, self.t))
            self.saturated[Stage.W] += ops.adam(w, m, v, t, g, scalars)

    # ---- A timestep
    def joined(self, states: np.ndarray, actions: np.ndarray | None) -> np.ndarray:
        """X: states and actions at their places, [n, words]."""
        assert self.table is not None
        out = np.zeros((len(states), self.table.inputs(CRITIC, self.geometry)), np.int64)
        out[:, : self.table.states] = states
        if actions is not None:
            out[:, -self.table.actions :] = actions
        return out

    def timestep(
        self,
        step: Step,
        load: Load,
        outcome: Outcome,
        deliver: Callable[[int, np.ndarray], None],
        take: Callable[[], None] = lambda: None,
        between: Callable[[], None] = lambda: None,
        seen: Callable[[Phase], None] = lambda _: None,
    ) -> None:
        """Run the critic's phase, then the actor's.

        Args:
            step: what is done.
            load: brings a chunk; called again in the actor's phase if there are several. A chunk
                is loaded before the one before it is computed; its error is raised in its turn.
            outcome: takes sums; valid as far as it came if `load` or `deliver` raises.
            deliver: takes the first vector's number and the TD errors of each chunk.
            take: called in the turn of each chunk that was loaded.
            between: called in the actor's phase before the first chunk's gradients.
            seen: takes what lies in the slots after each chunk of either phase.
        """
        assert self.table is not None
        starts = list(range(0, step.batch, step.chunk))
        several = len(starts) > 1
        turns = [(net, first) for net in (CRITIC, ACTOR) for first in starts]
        loads = iter(turns if several else turns[:1])
        ahead = self._bring(step, load, *next(loads))
        for net, first in turns:
            if several or net == CRITIC:
                take()
                if isinstance(ahead, JobError):
                    raise ahead
                chunk = ahead
                if (turn := next(loads, None)) is not None:
                    ahead = self._bring(step, load, *turn)
            last = first == starts[-1]
            if net == CRITIC:
                scalars = step.critic if last else None
                self._critic_phase(step, chunk, first, scalars, outcome, deliver, seen)
            else:
                scalars = step.actor if last else None
                self._actor_phase(step, chunk.x, first, scalars, outcome, between, seen)

    def _bring(self, step: Step, load: Load, net: int, first: int) -> Chunk | JobError:
        """A chunk in the slots, or why it could not be loaded."""
        try:
            rows, weight = load(first, min(step.chunk, step.batch - first))
        except JobError as error:
            return error
        x = self._load(step, self.joined(rows.state, rows.action))
        following = np.zeros((0, 0), np.int64)
        if net == CRITIC:
            following = self._load(step, self.joined(rows.following, None))
        return Chunk(rows, weight, x, following)

    def _load(self, step: Step, x: np.ndarray) -> np.ndarray:
        return self.store(x, 0, step.half, step.watch)

    def _critic_phase(
        self,
        step: Step,
        chunk: Chunk,
        first: int,
        scalars: ops.Adam | None,
        outcome: Outcome,
        deliver: Callable[[int, np.ndarray], None],
        seen: Callable[[Phase], None],
    ) -> None:
        """Targets, errors and gradients of a chunk."""
        assert self.table is not None
        half, watch, rows, weight = step.half, step.watch, chunk.rows, chunk.weight
        x, ahead = chunk.x, chunk.following
        chosen = self.forward(ACTOR, ahead[:, : self.table.states], half, False, True)[-1]
        ahead[:, -self.table.actions :] = self._load(step, chosen)
        following = self.forward(CRITIC, ahead, half, False, True)[-1][:, 0]
        outputs = self.forward(CRITIC, x, half, watch)
        q = outputs[-1][:, 0]
        loss = ops.loss(q, following, rows.reward, rows.discount, weight, step.critic_scale)
        self.saturated[Stage.TD] += loss.saturated
        outcome.q += int(q.sum())
        outcome.td += int(np.abs(loss.td).sum())
        deliver(first, loss.td)
        deltas = self.backward(CRITIC, loss.seed[:, None], outputs)
        outcome.updating |= scalars is not None
        self.gradients(CRITIC, [x, *outputs[:-1]], deltas, half, first == 0, scalars, step.paper)
        weights = np.zeros_like(q) if weight is None else weight
        misc = np.stack([rows.reward, rows.discount, weights, loss.y, q, loss.td], 1)
        seen(Phase(x, ahead, misc, ([], outputs), ([], list(deltas))))

    def _actor_phase(
        self,
        step: Step,
        x: np.ndarray,
        first: int,
        scalars: ops.Adam | None,
        outcome: Outcome,
        between: Callable[[], None],
        seen: Callable[[Phase], None],
    ) -> None:
        """The actor's gradients of a chunk, through the critic."""
        assert self.table is not None
        half, watch = step.half, step.watch
        states, actions = self.table.states, self.table.actions
        outputs = self.forward(ACTOR, x[:, :states], half, watch)
        mu = outputs[-1]
        x = x.copy()
        x[:, -actions:] = self._load(step, mu)
        judged = self.forward(CRITIC, x, half, watch)
        seeds = np.full((len(x), 1), ops.actor_seed(step.actor_scale), np.int64)
        above = self.backward(CRITIC, seeds, judged)
        act = self.layers(ACTOR)[-1].act
        seed = self.layer_backward(CRITIC, 0, above[0], mu, act, slice(-actions, None))
        deltas = self.backward(ACTOR, seed, outputs)
        if first == 0:
            between()
        outcome.updating |= scalars is not None
        inputs = [x[:, :states], *outputs[:-1]]
        self.gradients(ACTOR, inputs, deltas, half, first == 0, scalars, step.paper)
        none = np.zeros((0, 0), np.int64)
        seen(Phase(x, none, none, (outputs, judged), (list(deltas), list(above))))

    def take(self, state: np.ndarray, half: bool, watch: bool) -> np.ndarray:
        """Store X of a state, [1, S], to act in it; returns it as it is stored."""
        return self.store(self.joined(state, None), 0, half, watch)

    def act(self, x: np.ndarray, half: bool, watch: bool) -> list[np.ndarray]:
        """The actor's outputs for a stored X, [1, words], as stored; the last is mu, 32 bits."""
        assert self.table is not None
        return self.forward(ACTOR, x[:, : self.table.states], half, watch)
