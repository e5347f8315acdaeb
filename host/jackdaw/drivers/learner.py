"""Driver of the learner engine: programs, parameters, training and inference jobs.

    learner = Learner(device)
    learner.load_program(learner.dqn([4, 64, 64, 2], adam(2e-2), sync_period=5))
    learner.load(parameters)                                       # (weight, bias) a layer
    job = learner.train(32, storage, steps=100, td_stream=True)    # from the replay engine
    job.wait(); parameters = learner.store()
    values = learner.infer(states)                                 # of the weights on the device

Parameters have PyTorch's layout, [n_out, n_in] and [n_out] float32; packing is hidden. Networks are
lowered to stage tables by models/learner/lower.py. What the build cannot do raises ConfigError
before the hardware sees it; the engine's errors are `LearnerIndexError`, `LearnerStreamError`, ...
Source: onchip_replay 3.2 (Learner Module).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Job, Record
from jackdaw.errors import ConfigError
from jackdaw.ranges import (
    FLOAT32_MAX,
    POSITIVE,
    STEPS_MAX,
    WORD_MAX,
    Range,
    entries,
    real,
    reals,
    refused,
    truth,
    whole,
    wholes,
)
from models.learner import optim
from models.learner.engine import (
    FLAG_LIST,
    FLAG_TD_MEMORY,
    FLAG_TD_STREAM,
    JOB_APPLY,
    JOB_GRADS,
    JOB_INFER,
    JOB_LOAD,
    JOB_PROGRAM,
    JOB_STORE,
    JOB_TRAIN,
    KIND_MOMENT,
    KIND_SCALARS,
    KIND_TARGET,
    KIND_VARIANCE,
    KIND_WEIGHTS,
)
from models.learner.fp import to_bits
from models.learner.layout import Geometry, ImageMap
from models.learner.lower import ActorCriticConfig, DqnConfig, ddpg, dqn, td3
from models.learner.optim import Slot
from models.learner.program import Program
from models.learner.timing import mean_ideal
from models.learner.validate import FRAME_MAX, ProgramError, rows_of_weights, validate
from models.registers import learner as registers

Parameters = list[tuple[np.ndarray, np.ndarray]]
TIMEOUT_S = 600.0
STATE_KINDS = {
    "weights": KIND_WEIGHTS,
    "moment": KIND_MOMENT,
    "variance": KIND_VARIANCE,
    "target": KIND_TARGET,
    "scalars": KIND_SCALARS,
}
COUNTERS = ("TU_BUSY", "STALL_DATA", "STALL_TOKEN", "STALL_WU", "STALL_TDE")

__all__ = ["Learner", "Slot", "Storage", "adam", "momentum", "sgd", "td_pitch", "vector_pitch"]

SIZE = Range(0, FLOAT32_MAX)
DECAY = Range(0, 1, below=True)


def sgd(lr: float, decrement: float = 0.0, floor: float = 0.0) -> Slot:
    """Plain SGD; the rate loses `decrement` each step until the floor. Raises: ConfigError."""
    return optim.sgd(*_rates(lr, decrement, floor))


def momentum(lr: float, mu: float = 0.9, decrement: float = 0.0, floor: float = 0.0) -> Slot:
    """SGD with momentum mu, 0..1. Raises: ConfigError."""
    lr, decrement, floor = _rates(lr, decrement, floor)
    return optim.momentum(lr, real("momentum", mu, DECAY), decrement, floor)


def adam(
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decrement: float = 0.0,
    floor: float = 0.0,
) -> Slot:
    """Adam. Raises: ConfigError."""
    lr, decrement, floor = _rates(lr, decrement, floor)
    betas = real("beta1", beta1, DECAY), real("beta2", beta2, DECAY)
    return optim.adam(lr, *betas, real("eps", eps, SIZE), decrement, floor)


def _rates(lr: float, decrement: float, floor: float) -> tuple[float, float, float]:
    return (
        real("learning rate", lr, SIZE),
        real("decrement", decrement, SIZE),
        real("floor", floor, SIZE),
    )


@dataclass(frozen=True)
class Storage:
    """Records in device memory: s, action, reward, discount, s', padded to the stride.

    Attributes:
        base: address of record 0, a multiple of 64.
        stride: bytes from one record to the next, a multiple of 64.
        records: number of records; an index is below.
    """

    base: int
    stride: int
    records: int

    def __post_init__(self) -> None:
        """Raises ConfigError for what is no address or count."""
        for name, most in (("base", (1 << 40) - 1), ("stride", WORD_MAX), ("records", WORD_MAX)):
            value = whole(f"storage {name}", getattr(self, name), 0, most)
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class _Export:
    """A copy of a network's weights that was queued, and its buffer."""

    job: Job
    network: int
    address: int


class Learner(EngineDriver):
    """The learner engine of a device.

    Args:
        device: an open device.
        page: the engine's page or instance; default the first learner that is free.

    Attributes:
        geometry: the build, from its capability words.
        program: the program that is loaded, if any.
    """

    def __init__(self, device: Device, page: int | str | None = None) -> None:
        super().__init__(device, "learner", page)
        self.program: Program | None = None
        with self.opening():
            self.geometry = self._read_geometry()
            self._ring = self.open_ring(0)
        self._exports: list[_Export | None] = [None, None]
        self._copies = 0

    def _read_geometry(self) -> Geometry:
        def get(register: Any, field: str) -> int:
            return int(register.field(field).get(self.read(register.offset)))

        r = registers
        return Geometry(
            p=1 << get(r.CAP0, "p_log2"), ob=1 << get(r.CAP0, "ob_log2"), gi=get(r.CAP0, "gi"),
            lw=1 << get(r.CAP0, "lw_log2"), b_max=get(r.CAP1, "b_max"),
            d_max=get(r.CAP1, "d_max"), l_max=get(r.CAP2, "l_max"),
            net_max=get(r.CAP2, "net_max"), st_max=get(r.CAP2, "st_max"),
            w_rows=get(r.CAP3, "w_rows"), a_rows=get(r.CAP4, "a_rows"),
            dp=1 << get(r.CAP0, "dp_log2"), ntu=get(r.CAP0, "ntu"),
            actor_critic=get(r.CAP0, "actor_critic"),
        )  # fmt: skip

    # ---- Programs ----
    def dqn(
        self,
        sizes: Sequence[int],
        optimizer: Slot,
        *,
        double: bool = False,
        kappa: float | None = 1.0,
        sync_period: int = 500,
        tau: float | None = None,
    ) -> Program:
        """Lower DQN on a multilayer perceptron (ReLU inside) to a program.

        Args:
            sizes: widths, input first: [4, 64, 64, 2]; its target network comes with it.
            optimizer: from sgd, momentum or adam.
            double: the online network chooses the next action.
            kappa: Huber threshold; None: squared error.
            sync_period: steps between copies into the target network, 1..65535.
            tau: move the target by tau each step instead.
        Raises: ConfigError if the build cannot hold it.
        """
        config = DqnConfig(
            self._sizes(sizes),
            _slot(optimizer),
            truth("double", double),
            None if kappa is None else real("kappa", kappa, POSITIVE),
            whole("sync_period", sync_period, 1, 65535),
            None if tau is None else _tau(tau),
        )
        try:
            program = dqn(self.geometry, config)
        except ValueError as error:
            raise ConfigError(f"dqn program: {error}") from error
        self._check_program(program)
        return program

    def actor_critic(
        self,
        actor: Sequence[int],
        critic: Sequence[int],
        actor_optimizer: Slot,
        critic_optimizer: Slot,
        *,
        twin: bool = False,
        delay: int = 2,
        tau: float = 0.005,
        kappa: float | None = None,
        lagged: bool = False,
    ) -> Program:
        """Lower DDPG, or TD3, on multilayer perceptrons (ReLU inside) to a program.

        Network 0 is the actor, which ends in tanh; 1 is the critic, 2 the second one of TD3. A
        record's action is A float32 from -1 to 1; of TD3 it ends in A float32 of noise that the
        target action is disturbed by.

        Args:
            actor: widths, S first and A last.
            critic: widths, S + A first and 1 last.
            actor_optimizer: made by `sgd`, `momentum` or `adam`.
            critic_optimizer: made by `sgd`, `momentum` or `adam`.
            twin: True for TD3.
            delay: TD3 only: critic steps per step of the actor and the targets, 1..65535.
            tau: share by which the targets move in each step (of TD3: each delayed step).
            kappa: Huber threshold of the critics; None: squared error.
            lagged: the actor's gradient is that of the critic before this step's update.
        Raises: ConfigError if the build cannot hold it.
        """
        g = self.geometry
        if not g.actor_critic:
            raise ConfigError("actor-critic programs: this build has none (ActorCritic = 0)")
        delay = whole("delay", delay, 1, 65535)
        twin = truth("twin", twin)
        config = ActorCriticConfig(
            self._sizes(actor),
            self._sizes(critic),
            _slot(actor_optimizer),
            _slot(critic_optimizer),
            _tau(tau),
            None if kappa is None else real("kappa", kappa, POSITIVE),
            truth("lagged", lagged),
        )
        try:
            program = td3(g, config, delay) if twin else ddpg(g, config)
        except ValueError as error:
            raise ConfigError(f"actor-critic program: {error}") from error
        self._check_program(program)
        return program

    def _sizes(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Widths that the build can hold."""
        g = self.geometry
        widths = wholes("network widths", sizes, 1, shape=(None,)).tolist()
        self.within("network width", max(widths, default=1), g.d_max, "DMax")
        if not 2 <= len(widths) <= g.l_max + 1:
            raise ConfigError(f"network {widths}: want 1..{g.l_max} layers")
        return tuple(widths)

    def load_program(self, program: Program) -> None:
        """Load a program; parameters loaded before are lost. Raises ConfigError."""
        image = self._check_program(program)
        address = self.buffer("program", image.nbytes)
        self.device.write(address, image)
        self.program = None
        self._exports = [None, None]
        self._run([JOB_PROGRAM, 0, image.nbytes, 0, *_address(address)])
        self.program = program

    def _check_program(self, program: Program) -> np.ndarray:
        g = self.geometry
        if program.networks:
            self.within("rows of weights", rows_of_weights(program, g), g.w_rows, "WRows")
        if program.frame_rows > FRAME_MAX:
            raise ConfigError(
                f"rows of a sample's frame: got {program.frame_rows}, want at most {FRAME_MAX}; "
                "with more lanes (P of learner) there are fewer"
            )
        self.check_batch(1, program)
        image = program.encode()
        try:
            validate(image, self.geometry)
        except ProgramError as error:
            raise ConfigError(f"program does not fit this build: {error}") from error
        return image

    # ---- Parameters ----
    def load(self, parameters: Parameters, network: int = 0) -> None:
        """Load a network's parameters; moments start at 0, the target network as a copy.

        Args:
            parameters: a pair for each layer: [n_out, n_in] weights and [n_out] biases, float32.
            network: its number in the program.
        Raises: ConfigError for shapes of another network, or numbers that are not finite.
        """
        network = self._network(network)
        layers = self._need_program().networks[network].layers
        try:
            pairs = [(weight, bias) for weight, bias in parameters]
        except (TypeError, ValueError):
            raise refused("load", parameters, "(weight, bias) of each layer") from None
        if len(pairs) != len(layers):
            raise ConfigError(f"load: got {len(pairs)} layers, want {len(layers)}")
        checked = [
            (
                reals("load: weights", weight, shape=(x.n_out, x.n_in)),
                reals("load: biases", bias, shape=(x.n_out,)),
            )
            for x, (weight, bias) in zip(layers, pairs, strict=True)
        ]
        self._load(network, KIND_WEIGHTS, self._map(network).pack(checked).view(np.uint32))

    def _network(self, network: int) -> int:
        """The number of a network of the program."""
        return whole("network", network, 0, len(self._need_program().networks) - 1)

    def store(self, network: int = 0, *, target: bool = False) -> Parameters:
        """Return the parameters of a network, or of its target network.

        Args:
            network: its number in the program.
            target: of the target network.
        Returns: a pair for each layer: [n_out, n_in] weights and [n_out] biases, float32.
        Raises: ConfigError.
        """
        network = self._network(network)
        target = truth("target", target)
        image = self._store(network, KIND_TARGET if target else KIND_WEIGHTS)
        return self._unpack(network, image)

    def queue_store(self, network: int = 0) -> Job:
        """Queue a copy of the weights after the jobs so far; `fetch` reads it.

        Two buffers take turns: actors read one while the engine writes the other.
        Raises: ConfigError if both are still to be written.
        """
        network = self._network(network)
        number = self._copies % 2
        before = self._exports[number]
        if before is not None and not before.job.poll():
            raise ConfigError("queue_store: two copies are on their way, wait for the first")
        address = self.buffer(f"weights{number}", 4 * self._map(network).words)
        job = self._ring.submit([JOB_STORE, 0, 1 << network | 256, 0, *_address(address)])
        self._exports[number] = _Export(job, network, address)
        self._copies += 1
        return job

    def fetch(self, network: int = 0) -> Parameters:
        """Return the parameters of the newest copy by `queue_store` that has ended.

        Raises: ConfigError if there is none.
        """
        network = self._network(network)
        for number in (self._copies - 1, self._copies - 2):
            export = self._exports[number % 2]
            if export is None or export.network != network or not export.job.poll():
                continue
            if export.job.error is None:
                words = self.device.read(export.address, 4 * self._map(network).words)
                return self._unpack(network, words.view(np.uint32))
        raise ConfigError(f"fetch: no copy of network {network} has ended")

    def state(self, network: int = 0) -> dict[str, np.ndarray]:
        """Return everything that training changes, as images of uint32 words."""
        network = self._network(network)
        return {name: self._store(network, kind) for name, kind in STATE_KINDS.items()}

    def load_state(self, state: dict[str, np.ndarray], network: int = 0) -> None:
        """Return to a state; the program must be the one of `state`. Raises: ConfigError."""
        network = self._network(network)
        images = {}
        entries("learner state", state, STATE_KINDS)
        for name, kind in STATE_KINDS.items():
            shape = (self._words(network, kind),)
            images[kind] = wholes(f"learner state: {name}", state[name], shape=shape)
        for kind, image in images.items():
            self._load(network, kind, image)

    # ---- Training ----
    def train(
        self,
        batch: int,
        data: Storage,
        *,
        steps: int = 1,
        td_stream: bool = False,
        indices: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        list_address: int = 0,
        td_address: int = 0,
        event_every: int = 0,
        irq: bool = True,
    ) -> Job:
        """Queue gradient steps of the loaded program.

        Records are chosen by the replay engine's stream unless `indices` or a list is given.

        Args:
            batch: B, samples of a step.
            data: the records.
            steps: 1..2**31-1.
            td_stream: send the TD errors to the replay engine.
            indices: [steps, B] records, whole numbers of any type.
            weights: [steps, B] importance weights for `indices`, finite, not negative; default 1.
            list_address: of [steps * B, 4] words in device memory instead, as the replay engine
                writes its samples; a multiple of 64.
            td_address: if not 0, where the TD errors go: B float32 a step, each step at a multiple
                of 64 bytes (see `td_errors`).
            event_every: steps between events (STATUS.event), 0 none.
            irq: interrupt at the end.
        Raises: ConfigError for what the build cannot do.
        """
        steps = whole("train steps", steps, 1, STEPS_MAX)
        batch, list_address, td_address = self._check_train(batch, data, list_address, td_address)
        event_every = whole("train event_every", event_every, 0, WORD_MAX)
        if indices is not None:
            list_address = self._upload_list(steps, batch, indices, weights)
        flags = _flags(list_address, td_address, td_stream)
        return self._ring.submit(
            [
                JOB_TRAIN | flags << 8, 0, steps, batch, *_address(data.base), data.stride,
                data.records, to_bits(np.float32(1.0 / batch)), event_every,
                *_address(list_address), *_address(td_address),
            ],
            irq=irq,
        )  # fmt: skip

    def gradients(
        self,
        batch: int,
        data: Storage,
        *,
        total: int | None = None,
        networks: int | None = None,
        td_stream: bool = False,
        indices: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        list_address: int = 0,
        td_address: int = 0,
    ) -> np.ndarray:
        """Return the gradients of one step, which changes nothing on the device.

        Those of several devices, each with its share of a batch, are summed by `+`; `apply` on each
        device then makes the step. The program must have one phase (DQN, lagged critics).

        Args:
            batch: samples of this device's share.
            data: where the records are, as for `train`.
            td_stream: send the TD errors to the replay engine.
            indices: [batch] records of the step.
            weights: [batch] float32 importance weights of the records; None: 1.
            list_address: device address of indices and weights that are there already.
            td_address: device address for the TD errors.
            total: samples of the whole batch; default `batch`.
            networks: mask; default those that the program updates.
        Returns: [words] float32, a network's image after the other's (`gradient_parameters`).
        Raises: ConfigError for what the build cannot do.
        """
        batch, list_address, td_address = self._check_train(batch, data, list_address, td_address)
        total = batch if total is None else whole("gradients total", total, batch, STEPS_MAX)
        mask, size = self._gradient_image(networks)
        if indices is not None:
            list_address = self._upload_list(1, batch, indices, weights)
        flags = _flags(list_address, td_address, td_stream)
        out = self.buffer("gradients", 4 * size)
        self._run(
            [
                JOB_GRADS | flags << 8, 0, mask, batch, *_address(data.base), data.stride,
                data.records, to_bits(np.float32(1.0 / total)), 0,
                *_address(list_address), *_address(td_address), *_address(out),
            ]
        )  # fmt: skip
        return self.device.read(out, 4 * size).view(np.float32).copy()

    def apply(self, gradients: np.ndarray, networks: int | None = None) -> None:
        """Update the weights, and what follows from them, by gradients: the rest of a step.

        Args:
            gradients: [words] float32 as `gradients` returns them, of the same networks.
            networks: mask; default those that the program updates.
        Raises: ConfigError for what the build cannot do.
        """
        mask, size = self._gradient_image(networks)
        words = reals("apply: gradients", gradients, None, (size,))
        address = self.buffer("gradients", 4 * size)
        self.device.write(address, np.ascontiguousarray(words))
        self._run([JOB_APPLY, 0, mask, 0, *_address(address)])

    def gradient_parameters(
        self, gradients: np.ndarray, networks: int | None = None
    ) -> dict[int, Parameters]:
        """Return gradients in PyTorch's layout, by network. Raises: ConfigError."""
        mask, size = self._gradient_image(networks)
        gradients = reals("gradients", gradients, None, (size,))
        out: dict[int, Parameters] = {}
        at = 0
        for index in range(len(self._need_program().networks)):
            if mask >> index & 1:
                words = self._map(index).words
                out[index] = self._unpack(index, gradients[at : at + words])
                at += words
        return out

    def _gradient_image(self, networks: int | None) -> tuple[int, int]:
        """Mask of networks with gradients, and words of their image."""
        program = self._need_program()
        mask = program.trained if networks is None else whole("gradients mask", networks, 0, 255)
        if not mask or mask & ~program.trained:
            raise ConfigError(f"gradients: got mask {mask:#x}, want some of {program.trained:#x}")
        if len(program.phases) > 1:
            raise ConfigError("gradients: a program of two phases has not all of them at once")
        return mask, sum(self._map(k).words for k in range(len(program.networks)) if mask >> k & 1)

    def td_errors(self, td_address: int, steps: int, batch: int) -> np.ndarray:
        """Return the TD errors, [steps, B] float32, that a TRAIN wrote to td_address."""
        steps, batch = whole("steps", steps, 1), whole("batch", batch, 1)
        pitch = td_pitch(batch)
        raw = self.device.read(td_address, steps * pitch).view(np.float32)
        return raw.reshape(steps, pitch // 4)[:, :batch].copy()

    # ---- Inference ----
    def infer(self, inputs: np.ndarray, network: int = 0) -> np.ndarray:
        """Evaluate a network with its weights on the device.

        Args:
            inputs: [N, n_in] float32; an actor's are states, a critic's of DDPG states and actions.
            network: in the program.
        Returns: [N, n_out] float32.
        Raises: ConfigError for what the program or the build cannot do.
        """
        n_in, n_out = self._pass_sizes(network)
        inputs = reals("infer", inputs, None, (None, n_in))
        if not len(inputs):
            raise ConfigError(f"infer: got shape {np.shape(inputs)}, want [N >= 1, {n_in}]")
        count, pitch = len(inputs), vector_pitch(n_in)
        padded = np.zeros((count, pitch // 4), np.float32)
        padded[:, :n_in] = inputs
        source = self.buffer("inputs", padded.nbytes)
        self.device.write(source, padded)
        out = self.buffer("outputs", count * vector_pitch(n_out))
        self.queue_infer(count, Storage(source, pitch, count), out, network).wait(TIMEOUT_S)
        return self.outputs(out, count, network)

    def queue_infer(
        self,
        count: int,
        inputs: Storage,
        out_address: int,
        network: int = 0,
        *,
        batch: int | None = None,
        irq: bool = True,
    ) -> Job:
        """Queue the evaluation of vectors in device memory after the jobs so far.

        Args:
            count: vectors: those of the first `count` records.
            inputs: each record begins with a vector, as those that are trained on begin with s.
            out_address: where the outputs go, which `outputs` reads; a multiple of 64. They may not
                lie on the inputs.
            network: in the program.
            batch: vectors of a round; default as many as fit.
            irq: interrupt at the end.
        Raises: ConfigError for what the program or the build cannot do.
        """
        n_in, _ = self._pass_sizes(network)
        most = self._most(self._need_program())
        batch = most if batch is None else whole("infer batch", batch, 1, most)
        count = whole("infer count", count, 1, inputs.records)
        out_address = whole("infer outputs", out_address, 0, self.device.memory_bytes)
        if inputs.base % 64 or inputs.stride % 64 or inputs.stride < 4 * n_in or out_address % 64:
            raise ConfigError(
                f"infer: got inputs {inputs}, outputs at {out_address:#x}, want multiples of 64 "
                f"and at least {4 * n_in} bytes a record"
            )
        return self._ring.submit(
            [
                JOB_INFER, 0, network, batch, *_address(inputs.base), inputs.stride, count,
                0, 0, 0, 0, *_address(out_address),
            ],
            irq=irq,
        )  # fmt: skip

    def outputs(self, out_address: int, count: int, network: int = 0) -> np.ndarray:
        """Return the [count, n_out] float32 that an INFER wrote to out_address."""
        count = whole("count", count, 1)
        _, n_out = self._pass_sizes(network)
        raw = self.device.read(out_address, count * vector_pitch(n_out)).view(np.float32)
        return raw.reshape(count, -1)[:, :n_out].copy()

    def _pass_sizes(self, network: int) -> tuple[int, int]:
        """Inputs and outputs of a network's forward pass."""
        program, network = self._need_program(), self._network(network)
        stages = program.forward_pass(network)
        if stages is None:
            raise ConfigError(f"network {network}: the program has no forward pass of it")
        return program.stages[stages.start].n_in, program.stages[stages.stop - 1].n_out

    def check_batch(self, batch: int, program: Program | None = None) -> None:
        """Raises: ConfigError if the build cannot hold a batch, of the program that is loaded."""
        g, program = self.geometry, program or self._need_program()
        self.within("batch", batch, g.b_max, "BMax")
        rows = -(-batch // g.dp) * program.frame_rows
        self.within(f"rows of frames of a batch of {batch}", rows, g.a_rows, "ARows")

    def _most(self, program: Program) -> int:
        """Most samples whose frames fit."""
        g = self.geometry
        return min(g.b_max, g.dp * (g.a_rows // program.frame_rows))

    # ---- Measurements ----
    @property
    def steps(self) -> int:
        """Gradient steps done since the hard reset, modulo 2**32."""
        return self.read(registers.STEP.offset)

    @property
    def mean_td(self) -> float:
        """Mean magnitude of the last step's TD errors."""
        return float(np.uint32(self.read(registers.TD_MEAN.offset)).view(np.float32))

    def busy_cycles(self) -> int:
        """Clocks since the hard reset in which the tensor unit started an operation."""
        return self.read64(registers.TU_BUSY_LO.offset)

    def ideal_cycles(self, batch: int) -> int:
        """Clocks of a gradient step in which no lane ever waits; with delayed stages the mean."""
        return mean_ideal(self._need_program(), self.geometry, batch)

    def statistics(self) -> dict[str, int | float]:
        """Steps, weight version, TD statistics of the last step and the counters in clocks.

        A device that does not measure has TU_BUSY alone of these, an estimate.
        """

        def real(register: Any) -> float:
            return float(np.uint32(self.read(register.offset)).view(np.float32))

        out: dict[str, int | float] = {
            "STEP": self.read(registers.STEP.offset),
            "WEIGHT_VERSION": self.read(registers.WEIGHT_VERSION.offset),
            "NONFINITE": self.read(registers.NONFINITE.offset),
            "TD_MEAN": real(registers.TD_MEAN),
            "TD_MAX": real(registers.TD_MAX),
        }
        for name in COUNTERS if self.device.measured else COUNTERS[:1]:
            out[name] = self.read64(getattr(registers, f"{name}_LO").offset)
        return out

    # ---- Inside ----
    def _need_program(self) -> Program:
        if self.program is None:
            raise ConfigError("no program is loaded")
        return self.program

    def _map(self, network: int) -> ImageMap:
        return ImageMap(self.geometry, self._need_program().networks[network])

    def _unpack(self, network: int, image: np.ndarray) -> Parameters:
        record = self._need_program().networks[network]
        return self._map(network).unpack(image.view(np.float32), record)

    def _check_train(
        self, batch: int, data: Storage, list_address: int, td_address: int
    ) -> tuple[int, int, int]:
        """The batch and the two addresses, if the build can do that."""
        program = self._need_program()
        batch = whole("train batch", batch, 1, self._most(program))
        list_address = whole("train list_address", list_address, 0, self.device.memory_bytes)
        td_address = whole("train td_address", td_address, 0, self.device.memory_bytes)
        needed = 4 * program.record_words
        if data.base % 64 or data.stride % 64 or data.stride < needed:
            raise ConfigError(
                f"train data: got address {data.base:#x}, stride {data.stride}, want multiples of "
                f"64 and at least {needed} bytes a record"
            )
        if list_address % 64 or td_address % 64:
            got = (list_address, td_address)
            raise ConfigError(f"train: got addresses {got}, want multiples of 64")
        return batch, list_address, td_address

    def _upload_list(
        self, steps: int, batch: int, indices: np.ndarray, weights: np.ndarray | None
    ) -> int:
        shape = (steps, batch)
        chosen = wholes("train indices", indices, shape=shape)
        used = np.ones(shape, np.float32)
        if weights is not None:
            used = np.ascontiguousarray(reals("train weights", weights, SIZE, shape))
        entries = np.zeros((steps * batch, 4), np.uint32)
        entries[:, 0] = chosen.reshape(-1)
        entries[:, 2] = used.reshape(-1).view(np.uint32)
        address = self.buffer("list", entries.nbytes)
        self.device.write(address, entries)
        return address

    def _load(self, network: int, kind: int, image: np.ndarray) -> None:
        address = self.buffer("image", image.nbytes)
        self.device.write(address, np.ascontiguousarray(image, np.uint32))
        self._run([JOB_LOAD, 0, 1 << network | 256 << kind, 0, *_address(address)])

    def _words(self, network: int, kind: int) -> int:
        """Words of an image."""
        return 16 if kind == KIND_SCALARS else self._map(network).words

    def _store(self, network: int, kind: int) -> np.ndarray:
        words = self._words(network, kind)
        address = self.buffer("image", 4 * words)
        self._run([JOB_STORE, 0, 1 << network | 256 << kind, 0, *_address(address)])
        return self.device.read(address, 4 * words).view(np.uint32).copy()

    def _run(self, descriptor: list[int]) -> Record:
        return self._ring.submit(descriptor).wait(TIMEOUT_S)


def _tau(tau: float) -> float:
    return real("tau", tau, Range(0, 1, above=True))


def _slot(slot: Slot) -> Slot:
    """An optimizer's slot whose numbers are finite."""
    if not isinstance(slot, Slot):
        raise refused("optimizer", slot, "one of sgd, momentum or adam")
    for name in ("lr", "beta1", "beta2", "eps", "decrement", "floor"):
        real(f"optimizer {name}", getattr(slot, name), SIZE)
    return slot


def _flags(list_address: int, td_address: int, td_stream: bool) -> int:
    """The flags of a TRAIN or GRADS."""
    flags = FLAG_LIST if list_address else 0
    flags |= FLAG_TD_MEMORY if td_address else 0
    return flags | (FLAG_TD_STREAM if td_stream else 0)


def td_pitch(batch: int) -> int:
    """Bytes from one step's TD errors in memory to the next step's."""
    return -(-4 * batch // 64) * 64


def vector_pitch(words: int) -> int:
    """Bytes from one vector of an INFER to the next, of so many words each."""
    return -(-words // 16) * 64


def _address(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32
