"""The learner at the level of gradient steps: runs the stage table, updates, copies targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from models.learner import mlp, tanh
from models.learner.fp import canonical
from models.learner.layout import Geometry, ImageMap
from models.learner.loss import MODE_DOUBLE, MODE_TWIN, Loss, actor_loss, q_loss, td_loss
from models.learner.optim import Scalars, polyak, update
from models.learner.program import (
    ACT_RELU,
    ACT_TANH,
    ACT_TANH_SLOPE,
    LOSSES,
    OP_AXPY,
    OP_DOT,
    OP_LOSS_PI,
    OP_LOSS_Q,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
)


@dataclass(frozen=True)
class Batch:
    """Samples of a step.

    Attributes:
        state, next_state: [B, S] float32.
        action: [B] int32, or [B, A] float32.
        reward, discount, weight: [B] float32.
        noise: [B, A] float32 if the records have it.
    """

    state: np.ndarray
    next_state: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    discount: np.ndarray
    weight: np.ndarray
    noise: np.ndarray | None = None

    @property
    def count(self) -> int:
        """B."""
        return int(self.state.shape[0])

    @classmethod
    def blank(cls, count: int) -> Batch:
        """Return a batch of samples without data."""
        none, words = np.zeros((count, 0), np.float32), np.zeros(count, np.float32)
        return cls(none, none, np.zeros(count, np.int32), words, words, words)


@dataclass
class StepResult:
    """What the pipe reports of a phase of a step.

    Attributes:
        delta: [B] float32 TD errors; zeros if the phase has none.
        not_finite: smallest (stage, sample) of a NaN or infinity, or None.
        bad_index: smallest sample with an action out of range, or None.
    """

    delta: np.ndarray
    not_finite: tuple[int, int] | None = None
    bad_index: int | None = None


class Pipe:
    """A pipeline: its memories and the execution of the stage table.

    Attributes:
        weights, biases: flat online and target banks (float32), addressed in words.
        gradients, bias_gradients: flat, the addresses of the online bank.
        frames: [b_max, frame words] float32, one row a sample.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.weights = np.zeros(geometry.w_rows * geometry.p, np.float32)
        self.biases = np.zeros(geometry.w_rows * geometry.ob, np.float32)
        self.gradients = np.zeros_like(self.weights)
        self.bias_gradients = np.zeros_like(self.biases)
        self.frames = np.zeros((geometry.b_max, 0), np.float32)

    def run(
        self,
        program: Program,
        batch: Batch,
        inverse_batch: np.float32,
        parity: int = 0,
        banks: tuple[int, ...] = (0,) * 8,
        phase: range | None = None,
        due: bool = True,
    ) -> StepResult:
        """Run all stages but WU and TSM on a batch.

        Args:
            program: a valid program.
            batch: at most b_max samples.
            inverse_batch: 1/B as the host rounded it.
            parity: which copy of s and s' the step uses.
            banks: current target bank of each network, 0 or 1.
            phase: run only these stages; the batch is taken into the frames in the first phase.
            due: run the delayed stages, too.
        """
        self._fit(program)
        shift = parity * program.copy_rows(self.geometry) * self.geometry.p
        stages = range(len(program.stages)) if phase is None else phase
        if stages.start == 0:
            self._take(program, batch, shift)
        result = StepResult(np.zeros(batch.count, np.float32))
        for index in stages:
            stage = program.stages[index]
            if stage.delayed and not due:
                continue
            bad = self._stage(program, stage, batch, inverse_batch, shift, banks, result)
            if bad.any() and result.not_finite is None:
                result.not_finite = (index, int(np.argmax(bad)))
        return result

    def forward(
        self, program: Program, stages: range, inputs: np.ndarray, parity: int = 0
    ) -> np.ndarray:
        """Run a network's forward pass (Program.forward_pass) on inputs; returns its outputs.

        Args:
            program: a valid program.
            stages: the pass.
            inputs: [n, n_in] float32, n at most b_max.
            parity: which copy of the inputs' vector they are written to.
        """
        self._fit(program)
        shift = parity * program.copy_rows(self.geometry) * self.geometry.p
        batch, first, last = Batch.blank(len(inputs)), stages.start, stages.stop - 1
        source = self.vector(
            program, program.stages[first].src, inputs.shape[1], batch.count, shift
        )
        source[:] = canonical(inputs)
        result = StepResult(np.zeros(batch.count, np.float32))
        for index in stages:
            self._stage(
                program, program.stages[index], batch, np.float32(0), shift, (0,) * 8, result
            )
        stage = program.stages[last]
        end = stage.offset + stage.n_out
        out = self.vector(program, stage.dst, end, batch.count, shift)
        return out[:, stage.offset :].copy()

    def _fit(self, program: Program) -> None:
        """Make frames of the program's size."""
        words = program.frame_rows * self.geometry.p
        if self.frames.shape[1] != words:
            self.frames = np.zeros((self.geometry.b_max, words), np.float32)

    def _take(self, program: Program, batch: Batch, shift: int) -> None:
        """Write a batch into the vectors that records fill."""
        given = [(program.state, batch.state), (program.next_state, batch.next_state)]
        if program.continuous:
            given.append((program.action, np.concatenate([batch.state, batch.action], axis=1)))
        if program.noise:
            assert batch.noise is not None
            given.append((program.noise, batch.noise))
        for row, data in given:
            start = row * self.geometry.p + shift
            self.frames[: data.shape[0], start : start + data.shape[1]] = canonical(data)

    def vector(self, program: Program, row: int, words: int, count: int, shift: int) -> np.ndarray:
        """Return a view of a vector of the first `count` samples, [count, words]."""
        start = row * self.geometry.p
        if row in program.inputs:
            start += shift
        return self.frames[:count, start : start + words]

    def _weights(self, program: Program, stage: Stage, banks: tuple[int, ...]) -> np.ndarray:
        pitch = self.geometry.pitch(stage.n_in)
        start = stage.row * self.geometry.p
        if stage.target:
            start += (1 + banks[stage.net]) * program.networks[stage.net].rows * self.geometry.p
        rows = self.weights[start : start + stage.n_out * pitch].reshape(stage.n_out, pitch)
        return rows[:, : stage.n_in]

    def _stage(
        self,
        program: Program,
        stage: Stage,
        batch: Batch,
        inverse_batch: np.float32,
        shift: int,
        banks: tuple[int, ...],
        result: StepResult,
    ) -> np.ndarray:
        """Run one stage; [B] bool, the samples with a NaN or infinity that counts."""
        count = batch.count
        good = np.zeros(count, bool)

        def vector(row: int, words: int) -> np.ndarray:
            return self.vector(program, row, words, count, shift)

        if stage.op == OP_DOT:
            bias = None
            if not stage.no_bias:
                first = stage.bias
                if stage.target:
                    first += (1 + banks[stage.net]) * program.networks[stage.net].biases
                bias = self.biases[first : first + stage.n_out]
            y = mlp.dot(self._weights(program, stage, banks), vector(stage.src, stage.n_in), bias)
            end = stage.offset + stage.n_out
            if stage.act == ACT_TANH_SLOPE:
                # The lane offset is that of the tangent's results.
                h = vector(stage.aux, end)[:, stage.offset :]
                vector(stage.dst, stage.n_out)[:] = tanh.slope(y, h)
                return good
            if stage.act == ACT_RELU:
                y = mlp.relu(y)
            elif stage.act == ACT_TANH:
                y = tanh.tanh(y)
                if stage.noise:
                    y = tanh.disturb(y, vector(program.noise, stage.n_out))
            vector(stage.dst, end)[:, stage.offset :] = y
            return good
        if stage.op == OP_AXPY:
            a = mlp.axpy(self._weights(program, stage, banks), vector(stage.src, stage.n_out))
            bad = ~np.isfinite(a).all(axis=1)
            if stage.act == ACT_RELU:
                a = mlp.mask(a, vector(stage.aux, stage.n_in))
            vector(stage.dst, stage.n_in)[:] = a
            return bad
        if stage.op == OP_OUTER:
            g, gb, bad = mlp.outer(
                vector(stage.src, stage.n_out),
                vector(stage.aux, stage.n_in),
                self.geometry.dp,
            )
            pitch = self.geometry.pitch(stage.n_in)
            start = stage.row * self.geometry.p
            rows = self.gradients[start : start + stage.n_out * pitch].reshape(stage.n_out, pitch)
            rows[:] = 0
            rows[:, : stage.n_in] = g
            self.bias_gradients[stage.bias : stage.bias + stage.n_out] = gb
            return bad
        if stage.op in LOSSES:
            loss = self._loss(program, stage, batch, inverse_batch, shift)
            vector(stage.dst, stage.n_out)[:] = loss.gradient
            if stage.op != OP_LOSS_PI and not stage.quiet:
                result.delta = loss.delta
            if loss.bad_index.any() and result.bad_index is None:
                result.bad_index = int(np.argmax(loss.bad_index))
            return loss.not_finite
        return good

    def _loss(
        self, program: Program, stage: Stage, batch: Batch, inverse_batch: np.float32, shift: int
    ) -> Loss:
        """Run a LOSS stage."""

        def vector(row: int) -> np.ndarray:
            return self.vector(program, row, stage.n_out, batch.count, shift)

        if stage.op == OP_LOSS_PI:
            return actor_loss(vector(stage.q), inverse_batch)
        if stage.op == OP_LOSS_Q:
            return q_loss(
                vector(stage.q), vector(stage.q_next),
                vector(stage.chooser) if stage.mode == MODE_DOUBLE else None,
                batch.action, batch.reward, batch.discount, batch.weight,
                inverse_batch, stage.kappa,
            )  # fmt: skip
        return td_loss(
            vector(stage.q), vector(stage.q_next),
            vector(stage.chooser) if stage.mode == MODE_TWIN else None,
            batch.reward, batch.discount, batch.weight, inverse_batch, stage.kappa,
        )  # fmt: skip


@dataclass
class Parameters:
    """Master copy of a network: images (float32 words), scalars and current target bank."""

    map: ImageMap
    weights: np.ndarray
    moment: np.ndarray
    variance: np.ndarray
    target: np.ndarray
    scalars: Scalars = field(default_factory=Scalars)
    bank: int = 0


class Learner:
    """A pipe with the master parameters of a program's networks."""

    def __init__(self, geometry: Geometry, program: Program) -> None:
        self.geometry = geometry
        self.program = program
        self.pipe = Pipe(geometry)
        self.networks: list[Parameters] = []
        for net in program.networks:
            image_map = ImageMap(geometry, net)
            w, m, v, t = np.zeros((4, image_map.words), np.float32)
            self.networks.append(Parameters(image_map, w, m, v, t))

    def load(self, index: int, weights: np.ndarray) -> None:
        """Load the parameters of a network: moments +0, target a copy, scalars at their start.

        Args:
            index: network.
            weights: its image, float32 words.
        """
        net = self.networks[index]
        net.weights = self.padded(index, weights)
        net.moment = np.zeros_like(net.weights)
        net.variance = np.zeros_like(net.weights)
        net.target = net.weights.copy()
        net.scalars = Scalars(lr=self.start_rate(index))
        self.publish(index)

    def padded(self, index: int, image: np.ndarray) -> np.ndarray:
        """Return a copy of an image with its padding words set to +0."""
        return np.where(self.networks[index].map.valid, image, np.float32(0))

    def start_rate(self, index: int) -> np.float32:
        """Return the learning rate in the slot of the network's last WU (slot 0 if it has none)."""
        slot = 0
        for stage in self.program.stages:
            if stage.op == OP_UPDATE and stage.net == index:
                slot = stage.slot
        return self.program.slots[slot].lr if self.program.slots else np.float32(0)

    def publish(self, index: int) -> None:
        """Write a network's masters into the online bank and the current target bank."""
        net, record = self.networks[index], self.program.networks[index]
        net.map.scatter(net.weights, self.pipe.weights, self.pipe.biases)
        net.map.scatter_columns(net.weights, self.pipe.weights)
        if record.has_target:
            self._write_target(index)

    def _write_target(self, index: int) -> None:
        net, record = self.networks[index], self.program.networks[index]
        net.map.scatter(
            net.target,
            self.pipe.weights,
            self.pipe.biases,
            (1 + net.bank) * record.rows * self.geometry.p,
            (1 + net.bank) * record.biases,
        )

    @property
    def due(self) -> bool:
        """Whether the delayed stages run in this step."""
        return self.networks[0].scalars.waited + 1 >= self.program.delay

    def compute(
        self, batch: Batch, inverse_batch: np.float32, parity: int = 0, phase: int = 0
    ) -> StepResult:
        """Run the pipe's part of a phase of a step."""
        banks = tuple(net.bank for net in self.networks)
        stages = self.program.phases[phase]
        return self.pipe.run(self.program, batch, inverse_batch, parity, banks, stages, self.due)

    def gradient(self, index: int) -> np.ndarray:
        """Return the gradient of the step that was computed last, as an image of the network.

        It is +0 where the network's WU are delayed and do not run in this step.
        """
        net = self.networks[index]
        updates = [s for s in self.program.stages if s.op == OP_UPDATE and s.net == index]
        if not self.due and all(s.delayed for s in updates):
            return np.zeros(net.map.words, np.float32)
        return net.map.gather(self.pipe.gradients, self.pipe.bias_gradients)

    def apply(self, gradients: dict[int, np.ndarray]) -> None:
        """Run WU and TSM of some networks of a program of one phase; count the step.

        Args:
            gradients: of each of these networks, as an image; its padding does not count.
        """
        for index, image in gradients.items():
            self.networks[index].map.scatter(
                self.padded(index, image), self.pipe.gradients, self.pipe.bias_gradients
            )
        self.commit(networks=sum(1 << index for index in gradients))

    def commit(self, phase: int = 0, networks: int = 0xFF) -> None:
        """Run WU and TSM of the phase that was computed last; after the last, count the step.

        Args:
            phase: its number.
            networks: mask; stages of others are passed over.
        """
        phases, due = self.program.phases, self.due
        for index in phases[phase]:
            stage = self.program.stages[index]
            if (stage.delayed and not due) or not networks >> stage.net & 1:
                continue
            if stage.op == OP_UPDATE:
                self._update(stage)
            elif stage.op == OP_TARGET:
                self._copy(stage)
        if self.program.delay and phase == len(phases) - 1:
            first = self.networks[0]
            waited = 0 if due else first.scalars.waited + 1
            first.scalars = replace(first.scalars, waited=waited)

    def _update(self, stage: Stage) -> None:
        net = self.networks[stage.net]
        g = net.map.gather(self.pipe.gradients, self.pipe.bias_gradients)
        slot = self.program.slots[stage.slot]
        net.scalars, w, net.moment, net.variance = update(
            slot, net.scalars, net.weights, net.moment, net.variance, g
        )
        net.weights = self.padded(stage.net, w)
        net.map.scatter(net.weights, self.pipe.weights, self.pipe.biases)
        net.map.scatter_columns(net.weights, self.pipe.weights)

    def _copy(self, stage: Stage) -> None:
        """TSM: write the idle bank, then make it the current one."""
        net = self.networks[stage.net]
        if stage.polyak:
            net.target = self.padded(stage.net, polyak(net.target, net.weights, stage.tau))
        else:
            since = net.scalars.since + 1
            due = since >= stage.period
            net.scalars = replace(net.scalars, since=0 if due else since)
            if not due:
                return
            net.target = net.weights.copy()
        net.bank ^= 1
        self._write_target(stage.net)
