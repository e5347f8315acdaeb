"""Driver of the qat engine: DDPG in fixed point, float arrays in and out.

Weights are Q8.24, states, actions and rewards Q16.16; what is outside saturates. Named errors
mirror the engine's codes (`QatDimError`, `QatIndexError`, ...).
Source: docs/qat.md; FIXAR IV, V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Job, Record
from jackdaw.errors import ConfigError
from jackdaw.ranges import (
    FLOAT32_MAX,
    SEED_MAX,
    WORD_MAX,
    Choice,
    Range,
    check,
    entries,
    one_of,
    real,
    reals,
    refused,
    truth,
    whole,
    wholes,
)
from models.qat import noise, ops
from models.qat.descriptor import LIST_BYTES, PAIR_BYTES, Flag, Opcode
from models.qat.layout import ACTOR, CRITIC, Geometry, Layer, Slots, Table, plan
from models.qat.records import to_fixed
from models.qat.validate import list_bytes
from models.registers import qat as registers
from models.registers.map import Register
from models.replay.rng import splitmix64

TIMEOUT_S = 60.0
NOISES = {
    "none": noise.NO_NOISE,
    "uniform": noise.UNIFORM,
    "gaussian": noise.GAUSSIAN,
    "ornstein": noise.ORNSTEIN,
}
STAGES = ("Z", "ACTQ", "DX", "G", "GACC", "M", "W", "TD")
REGIONS = {"w": np.int32, "t": np.int32, "g": np.int32, "m": np.int32, "v": np.uint64}
NEVER = (1 << 32) - 1
UPLOAD_LINES = 4096  # at most, of one LOAD or STORE
DECAY = Range(2**-24, 1 - 2**-24)  # of Adam: 1 - beta has 24 bits
MOST_VECTORS = (1 << 16) - 1
MOST_LINES = 1 << 20

Arrays = Sequence[tuple[np.ndarray, np.ndarray]]
"""A network's layers in PyTorch's layout: weights [n_out, n_in], biases [n_out]."""


@dataclass(frozen=True)
class QatSettings:
    """How the engine learns.

    Attributes:
        qdelay: timesteps until activations have 16 bits; None: never.
        headroom: bits that stay free, then, above the range of a hidden layer of the critic.
        beta1, beta2: of Adam, 0..1.
        eps: of Adam, in units of 2**-20, at least 1.
        tau: what the targets move by, 0..1.
        noise: kind: none, uniform, gaussian or ornstein.
        sigma, theta: size of the noise; pull to zero of ornstein.
        seed: of the generator, 64 bits.
        paper: run by the published schedule, which a build may have.
    """

    qdelay: Annotated[int | None, Range(0, NEVER - 1)] = None
    headroom: Annotated[int, Range(0, 3)] = 1
    beta1: Annotated[float, DECAY] = 0.9
    beta2: Annotated[float, DECAY] = 0.999
    eps: Annotated[int, Range(1, (1 << 24) - 1)] = 1
    tau: Annotated[float, Range(0, 1)] = 0.005
    noise: Annotated[str, Choice(tuple(NOISES))] = "gaussian"
    sigma: Annotated[float, Range(0, 1 << 15, below=True)] = 0.1
    theta: Annotated[float, Range(0, 1)] = 0.15
    seed: Annotated[int, Range(0, SEED_MAX)] = 0
    paper: bool = False

    def __post_init__(self) -> None:
        check(self, "qat")


@dataclass(frozen=True)
class Source:
    """Where a batch comes from.

    Attributes:
        base: device address of record 0, a multiple of 64.
        stride: bytes between records.
        records: in the storage.
        list_address: of the batch's indices, the responses of the replay engine; None: the batch is
            the records from 0 on.
        weighted: weight the errors, and write pairs of slot and |TD error| after the list.
    """

    base: Annotated[int, Range(0, (1 << 40) - 1)]
    stride: Annotated[int, Range(0, WORD_MAX)]
    records: Annotated[int, Range(0, WORD_MAX)]
    list_address: Annotated[int | None, Range(0, (1 << 40) - 1)] = None
    weighted: bool = False

    def __post_init__(self) -> None:
        check(self, "qat source")


@dataclass(frozen=True)
class Policy:
    """The actor as it acts: its weights, and how it quantizes.

    Attributes:
        layers: weights and biases, int32 with 24 bits of fraction, and the activation function.
        shifts: of each layer's input in half mode; None in full mode.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray, int], ...]
    shifts: tuple[int, ...] | None

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The actions for [n, S] states, [n, A] float64: those of INFER without noise."""
        x = to_fixed(states, ops.ACTIVATION)
        for index, (w, b, act) in enumerate(self.layers):
            shift = None if self.shifts is None else self.shifts[index]
            if shift is not None:
                x, _ = ops.quantize(x, shift)
            z, _ = ops.forward(x, w, b, shift)
            x = ops.activate(z, act)
        return np.ldexp(x.astype(np.float64), -ops.ACTIVATION)


class Qat(EngineDriver):
    """The qat engine of a device.

    Attributes:
        geometry: the build, from the capability words.
        table: the networks, None before `load_network`.
        updates: Adam's steps of actor and critic so far.
    """

    def __init__(self, device: Device, page: int | str | None = None) -> None:
        """Find the engine and read its capabilities.

        Args:
            device: an open device.
            page: the engine's page or instance; default the first one that is free.
        Raises: DeviceMismatchError, EngineOwnedError.
        """
        super().__init__(device, "qat", page)
        self.table: Table | None = None
        self.updates = [0, 0]
        with self.opening():
            self.geometry = self._geometry()
            self._betas = self._read_betas()
            self._paper = bool(self._field(registers.CFG, "paper"))
            self._ring = self.open_ring()

    def _field(self, register: Register, name: str) -> int:
        return register.field(name).get(self.read(register.offset))

    def _geometry(self) -> Geometry:
        cap0, cap1, cap2, cap3 = (
            registers.CAP0, registers.CAP1, registers.CAP2, registers.CAP3,
        )  # fmt: skip
        return Geometry(
            n=1 << self._field(cap0, "n_log2"),
            lw=1 << self._field(cap0, "lw_log2"),
            vc=self._field(cap0, "vc"),
            act_lines=self._field(cap1, "act_lines"),
            del_lines=self._field(cap1, "del_lines"),
            w_lines=self._field(cap2, "w_lines"),
            max_dim=self._field(cap3, "max_dim"),
            max_layers=self._field(cap0, "max_layers"),
            adam_lanes=1 << self._field(cap0, "adam_log2"),
            tanh_lanes=1 << self._field(cap0, "tanh_log2"),
            b_max=self._field(cap3, "b_max"),
            paper=self._field(cap0, "paper"),
        )

    # ---- Settings
    def configure(self, settings: QatSettings) -> None:
        """Write all settings, seed the generator and start counting timesteps from 0.

        Raises: ConfigError for a schedule that the build does not have.
        """
        s = settings
        if s.paper and not self.geometry.paper:
            raise ConfigError("qat paper: the build does not have the published schedule")
        cfg = registers.CFG.word(noise=NOISES[s.noise], paper=s.paper, headroom=s.headroom)
        for register, value in (
            (registers.CFG, cfg),
            (registers.QDELAY, NEVER if s.qdelay is None else s.qdelay),
            (registers.TSTEP, 0),
            (registers.B1C, round((1 - s.beta1) * 2**24)),
            (registers.B2C, round((1 - s.beta2) * 2**24)),
            (registers.EPS, s.eps),
            (registers.TAU, round(s.tau * 2**24)),
            (registers.NOISE_SIGMA, round(s.sigma * ops.ONE)),
            (registers.NOISE_THETA, round(s.theta * ops.ONE)),
        ):
            self.write(register.offset, value)
        self._betas = self._read_betas()
        self._paper = s.paper
        self.seed(splitmix64(s.seed))

    def explore(self, sigma: float) -> None:
        """Set the size of the noise; no job may be open.

        Raises: ConfigError.
        """
        size = real("qat sigma", sigma, Range(0, 1 << 15, below=True))
        self.write(registers.NOISE_SIGMA.offset, round(size * ops.ONE))

    def _read_betas(self) -> list[float]:
        """Adam's, as the engine has them."""
        return [1 - self.read(r.offset) / 2**24 for r in (registers.B1C, registers.B2C)]

    def seed(self, words: Sequence[int], x: np.ndarray | None = None) -> None:
        """Set the generator's state, four words of 64 bits, and x of Ornstein-Uhlenbeck noise.

        Raises: ConfigError.
        """
        chosen = wholes("qat seed", words, 0, SEED_MAX, (4,)).tolist()
        halves = [word >> shift & 0xFFFF_FFFF for word in chosen for shift in (0, 32)]
        head = [Opcode.SEED, 0, 0, 0]
        if x is not None:
            line = np.zeros(self.geometry.lw, np.int32)
            start = wholes("qat noise", x, -(1 << 31), (1 << 31) - 1, (None,))
            whole("qat noise: numbers", start.size, 0, line.size)
            line[: start.size] = start
            head = [Opcode.SEED | 1 << 8, 0, *_address(self._upload(line))]
        self._run([*head, *halves])

    # ---- Networks
    def load_network(self, actor: Arrays, critic: Arrays, bias: bool = True) -> None:
        """Load networks; the targets become copies, Adam begins anew, monitors and mode are reset.

        Args:
            actor: layers; hidden ones have ReLU, the last one a tangent.
            critic: its first layer has the states' columns, then the actions'.
            bias: without, biases are not there and must be zero.
        Raises: ConfigError for shapes that do not fit together; the engine's named errors.
        """
        bias = truth("qat bias", bias)
        actor, critic = _layers("actor", actor), _layers("critic", critic)
        states, actions = actor[0][0].shape[1], len(actor[-1][0])
        self._check_shapes(actor, critic, bias)
        table = plan(
            states, actions, [len(w) for w, _ in actor[:-1]], self.geometry,
            critic_hidden=[len(w) for w, _ in critic[:-1]], bias=bias,
        )  # fmt: skip
        self._check_build(table)
        self._load_table(table)
        self.table = table
        weights = np.zeros((self.lines, self.geometry.lw), np.int32)
        for layers, arrays in zip(table.networks, (actor, critic), strict=True):
            for layer, (w, b) in zip(layers, arrays, strict=True):
                place = self._weights(weights, layer)
                fixed = to_fixed(w, ops.WEIGHT)
                split = fixed.shape[1] - (0 if layer.q == fixed.shape[1] else actions)
                place[:, :split] = fixed[:, :split]
                if split < fixed.shape[1]:  # zeros between states and actions
                    place[:, -actions:] = fixed[:, split:]
                if layer.bias:
                    self._biases(weights, layer)[...] = to_fixed(b, ops.WEIGHT)
        zeros = np.zeros_like(weights)
        for region in REGIONS:  # where v becomes 64 bits
            self.write_region(region, weights if region in ("w", "t") else zeros)
        self.updates = [0, 0]
        self.write(registers.MODE.offset, 0)
        for tensor in range(registers.SHIFT.count):
            for register in (registers.MON_MIN, registers.MON_MAX, registers.SHIFT):
                self.write(register.at(tensor), 0)

    def _check_build(self, table: Table) -> None:
        """Raises: ConfigError naming the parameter of the build that is too small for networks."""
        g = self.geometry
        layers = [layer for layers in table.networks for layer in layers]
        widest = max(max(layer.p, layer.q) for layer in layers)
        lines = max(sum(part) for layer in layers for part in layer.ranges(g))
        slots = Slots.of(table, g)
        self.within("qat layer", widest, g.max_dim, "QatMaxDim")
        self.within("qat lines of weights", lines, g.w_lines, "QatWLines")
        self.within("qat lines of activations", slots.act, g.act_lines, "QatActLines")
        self.within("qat lines of deltas", slots.delta, g.del_lines, "QatDelLines")

    def _load_table(self, table: Table) -> None:
        self._run([Opcode.NET, 0, *_address(self._upload(table.encode(self.geometry)))])

    def _check_shapes(self, actor: Arrays, critic: Arrays, bias: bool) -> None:
        states, actions = actor[0][0].shape[1], len(actor[-1][0])
        for name, arrays, inputs, outputs in (
            ("actor", actor, states, actions),
            ("critic", critic, states + actions, 1),
        ):
            for w, b in arrays:
                if w.shape != (len(b), inputs):
                    raise ConfigError(f"qat {name}: got {w.shape}, want {(len(b), inputs)}")
                if not bias and np.any(b):
                    raise ConfigError(f"qat {name}: got biases, want none")
                inputs = len(b)
            if inputs != outputs:
                raise ConfigError(f"qat {name}: got {inputs} outputs, want {outputs}")

    @property
    def lines(self) -> int:
        """Lines that the networks use in each memory."""
        ranges = [
            part for layers in self._table.networks for layer in layers
            for part in layer.ranges(self.geometry)
        ]  # fmt: skip
        return max(line + count for line, count in ranges)

    @property
    def _table(self) -> Table:
        if self.table is None:
            raise ConfigError("qat: no network is loaded")
        return self.table

    def _weights(self, lines: np.ndarray, layer: Layer) -> np.ndarray:
        count = layer.p * self.geometry.lines(layer.q)
        part = lines[layer.wbase : layer.wbase + count]
        return part.reshape(layer.p, -1)[:, : layer.q]

    def _biases(self, lines: np.ndarray, layer: Layer) -> np.ndarray:
        if not layer.bias:
            return np.zeros(layer.p, lines.dtype)
        part = lines[layer.bbase : layer.bbase + self.geometry.lines(layer.p)]
        return part.reshape(-1)[: layer.p]

    def store_network(self, region: str = "w") -> list[list[tuple[np.ndarray, np.ndarray]]]:
        """Actor and critic of a memory, exact: float64 (of v: uint64 of the memory itself).

        Args:
            region: w, t, g, m or v.
        """
        lines = self.read_region(_region(region))
        frac = {"w": ops.WEIGHT, "t": ops.WEIGHT, "g": ops.GRADIENT, "m": ops.GRADIENT}.get(region)
        out = []
        for net, layers in enumerate(self._table.networks):
            arrays = []
            for index, layer in enumerate(layers):
                w, b = self._weights(lines, layer), self._biases(lines, layer)
                if net == CRITIC and index == 0:
                    states, actions = self._table.states, self._table.actions
                    w = np.concatenate([w[:, :states], w[:, -actions:]], 1)
                if frac is not None:
                    w, b = (np.ldexp(x.astype(np.float64), -frac) for x in (w, b))
                arrays.append((w.copy(), b.copy()))
            out.append(arrays)
        return out

    def policy(self) -> Policy:
        """The actor as INFER would run it now."""
        layers = self._table.networks[ACTOR]
        count = max(line + n for layer in layers for line, n in layer.ranges(self.geometry))
        lines = self.read_region("w", count)
        shifts = None
        if self.half:
            shifts = tuple(self.read(registers.SHIFT.at(k)) for k in range(len(layers)))
        return Policy(
            tuple(
                (self._weights(lines, layer).copy(), self._biases(lines, layer).copy(), layer.act)
                for layer in layers
            ),
            shifts,
        )

    def write_region(self, region: str, lines: np.ndarray, first: int = 0) -> None:
        """Write lines of a memory: [n, LW] int32, of v uint64. Raises: ConfigError."""
        kind: Any = np.iinfo(REGIONS[_region(region)])  # type: ignore[type-var]
        shape = (None, self.geometry.lw)
        words = wholes("qat lines", lines, int(kind.min), int(kind.max), shape)
        self._move(Opcode.LOAD, region, words.astype(kind.dtype, copy=False), first)

    def read_region(self, region: str, count: int | None = None, first: int = 0) -> np.ndarray:
        """Lines of a memory, [n, LW]; default all that the networks use. Raises: ConfigError."""
        count = self.lines if count is None else whole("qat lines", count, 0, MOST_LINES)
        lines = np.zeros((count, self.geometry.lw), REGIONS[_region(region)])
        self._move(Opcode.STORE, region, lines, first)
        return lines

    def _move(self, opcode: Opcode, region: str, lines: np.ndarray, first: int) -> None:
        first = whole("qat first line", first, 0, MOST_LINES)
        for at in range(0, len(lines), UPLOAD_LINES):
            part = lines[at : at + UPLOAD_LINES]
            address = self.buffer("lines", part.nbytes)
            if opcode == Opcode.LOAD:
                self.device.write(address, np.ascontiguousarray(part, REGIONS[region]))
            self._run(
                [opcode, 0, *_address(address), 0, 0, 0, 0, list(REGIONS).index(region),
                 first + at, len(part)]
            )  # fmt: skip
            if opcode == Opcode.STORE:
                raw = self.device.read(address, part.nbytes)
                part[...] = raw.view(REGIONS[region]).reshape(part.shape)

    # ---- Acting and training
    def infer(self, state: np.ndarray, noise: bool = False) -> np.ndarray:
        """The actor's action in a state: [S] float to [A] float64."""
        self.queue_infer(state, noise).wait(TIMEOUT_S)
        return self.action()

    def queue_infer(self, state: np.ndarray, noise: bool = False) -> Job:
        """Queue an inference, whose action `action` reads."""
        noise = truth("qat noise", noise)
        return self._ring.submit(
            [Opcode.INFER | int(noise) << 8, 0, 0, 0, *self._acting(state)]
        )  # fmt: skip

    def _acting(self, state: np.ndarray) -> list[int]:
        table = self._table
        fixed = to_fixed(_finite("qat state", state, (table.states,)), ops.ACTIVATION)
        fixed = fixed.astype(np.int32)
        address = self.buffer("state", fixed.nbytes)
        self.device.write(address, fixed)
        return [*_address(address), *_address(self.buffer("action", 4 * table.actions))]

    def action(self) -> np.ndarray:
        """The action that the last acting job chose, [A] float64; call it after that job's end."""
        actions = self._table.actions
        raw = self.device.read(self.buffer("action", 4 * actions), 4 * actions)
        return np.ldexp(raw.view(np.int32).astype(np.float64), -ops.ACTIVATION)

    def train(
        self,
        batch: int,
        lr_actor: float | None,
        lr_critic: float | None,
        source: Source,
        *,
        state: np.ndarray | None = None,
        act: str = "after",
        noise: bool = True,
        targets: bool = True,
        chunk: int | None = None,
        actor_scale: int = 4,
        critic_scale: int = 0,
    ) -> Job:
        """Queue one timestep of DDPG.

        Args:
            batch: B, 1..the build's maximum.
            lr_actor: learning rate of the actor; None: it learns nothing, and its gradient stays
                in memory.
            lr_critic: learning rate of the critic; None: as for the actor.
            source: of the batch.
            state: choose an action for it ([S] float), which `action` reads.
            act: `after` the updates or `with` the actor's batch, before its update.
            noise: disturb the action.
            targets: move the targets of networks that learn.
            chunk: vectors at a time, even; default the batch if it fits.
            actor_scale: log2 of the actor's loss scale.
            critic_scale: log2 of the critic's loss scale.
        Raises: ConfigError for an argument outside its range; then nothing is counted.
        """
        act = one_of("qat act", act, ("after", "with"))
        if not isinstance(source, Source):
            raise refused("qat source", source, "a Source")
        batch = whole("qat batch", batch, 0, MOST_VECTORS)
        actor_scale = whole("qat actor_scale", actor_scale, 0, 255)
        critic_scale = whole("qat critic_scale", critic_scale, -16, 15)
        noise, targets = truth("qat noise", noise), truth("qat targets", targets)
        g = self.geometry
        most = g.vc if self._paper else g.vectors
        taken = min(batch + batch % 2, most)
        if chunk is not None:
            taken = whole("qat chunk", chunk, 0, MOST_VECTORS)
        flags = Flag(0)
        rates = [0, 0]
        updates = list(self.updates)
        for net, rate, flag in ((ACTOR, lr_actor, Flag.ACTOR), (CRITIC, lr_critic, Flag.CRITIC)):
            if rate is not None:
                flags |= flag
                updates[net] += 1
                rates[net] = self._rate(rate, updates[net])
        flags |= Flag.TARGETS if targets else 0
        acting = [0] * 4
        if state is not None:
            acting = self._acting(state)
            flags |= Flag.AFTER if act == "after" else Flag.WITH
            flags |= Flag.NOISE if noise else 0
        listed = [0, 0, 0]
        if source.list_address is not None:
            flags |= Flag.LIST
            listed = [*_address(source.list_address), source.records]
        flags |= Flag.WEIGHTS if source.weighted else 0
        if flags & Flag.WITH:
            self._ring.clear_event()
        job = self._ring.submit(
            [
                Opcode.TRAIN | int(flags) << 8, 0, *_address(source.base), *acting,
                rates[CRITIC], rates[ACTOR], *listed, source.stride, batch | taken << 16,
                critic_scale & 31 | actor_scale << 8,
            ]
        )  # fmt: skip
        self.updates = updates
        return job

    def wait_action(self, job: Job) -> None:
        """Wait until a TRAIN that acts `with` its batch has chosen, which `action` then reads.

        The job goes on; no other one may be queued. Raises: the job's error if it has failed.
        """
        self._ring.wait_event(job, TIMEOUT_S)

    def _rate(self, rate: float, step: int) -> int:
        """Adam's step size with its bias correction, frac 32."""
        beta1, beta2 = self._betas
        rate = real("qat learning rate", rate, Range(0, 1))
        fixed = round(rate * np.sqrt(1 - beta2**step) / (1 - beta1**step) * 2**32)
        if not 0 <= fixed < 1 << 26:
            raise ConfigError(f"qat learning rate: got {rate} in step {step}, want below 1/64")
        return int(fixed)

    def adam(self, net: int, rate: float, targets: bool = True) -> None:
        """Update a network (0 actor, 1 critic) from the gradient in memory."""
        net = whole("qat network", net, 0, 1)
        step = self._rate(rate, self.updates[net] + 1)
        flag = Flag.TARGETS if truth("qat targets", targets) else 0
        self.updates[net] += 1
        self._run([Opcode.ADAM | flag << 8, *[0] * 7, net, step])

    def pairs(self, source: Source, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots and |TD errors| (float32) that a weighted timestep wrote after its list."""
        raw = self.device.read(self.pairs_address(source, batch), PAIR_BYTES * batch)
        words = raw.view(np.uint32).reshape(-1, 2)
        return words[:, 0].astype(np.int64), words[:, 1].copy().view(np.float32)

    @staticmethod
    def pairs_address(source: Source, batch: int) -> int:
        """Device address of these pairs, as `Replay.update_from` takes it."""
        assert source.list_address is not None
        return source.list_address + list_bytes(batch)

    @staticmethod
    def list_room(batch: int) -> int:
        """Bytes of a list with the pairs after it."""
        return list_bytes(batch) + PAIR_BYTES * batch

    @staticmethod
    def encode_list(indices: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """A list for `Source`, as the replay engine writes it: [n, 4] uint32.

        Raises: ConfigError for indices that would wrap, or weights that are no finite numbers.
        """
        chosen = wholes("qat indices", indices, shape=(None,))
        used = np.ones(len(chosen), np.float32)
        if weights is not None:
            allowed = Range(0, FLOAT32_MAX)
            used = np.ascontiguousarray(reals("qat weights", weights, allowed, (len(chosen),)))
        out = np.zeros((len(chosen), LIST_BYTES // 4), np.uint32)
        out[:, 0] = chosen
        out[:, 2] = used.view(np.uint32)
        return out

    # ---- Quantization and statistics
    @property
    def half(self) -> bool:
        """Whether activations have 16 bits."""
        return bool(self._field(registers.MODE, "half"))

    def quantize(self) -> None:
        """Derive the shifts from what the monitors saw, and switch to 16 bits now."""
        self._run([Opcode.QUANT])

    def statistics(self) -> dict[str, Any]:
        """Figures of the last timestep, and the saturated values since the hard reset."""
        count = max(self.read(registers.COUNT.offset), 1)
        total = self.read64(registers.SUM_Q_LO.offset)
        total -= (total >> 63) << 64
        return {
            "q_mean": total / ops.ONE / count,
            "td_mean": self.read64(registers.SUM_ABS_TD_LO.offset) / ops.ONE / count,
            "mode": "half" if self.half else "full",
            "timesteps": self.read(registers.TSTEP.offset),
            "shifts": [self.read(registers.SHIFT.at(k)) for k in range(registers.SHIFT.count)],
            "saturated": {stage: self.read(registers.SAT.at(k)) for k, stage in enumerate(STAGES)},
            "clocks": {
                name: self.read(getattr(registers, f"CYC_{name.upper()}").offset)
                for name in ("fw", "dx", "dw", "inf", "wait")
            },
        }

    @property
    def entries(self) -> int:
        """Entries that the cores took since the hard reset."""
        return self.read64(registers.TILEVEC_LO.offset)

    # ---- State
    def state(self) -> dict[str, Any]:
        """Everything that a later run needs; no job may be open."""
        arrays = ("MON_MIN", "MON_MAX", "SHIFT", "RNG", "OU")
        return {
            "memories": {region: self.read_region(region) for region in REGIONS},
            "updates": list(self.updates),
            **{name: self.read(getattr(registers, name).offset) for name in ("TSTEP", "MODE")},
            **{
                name: [self.read(register.at(k)) for k in range(register.count)]
                for name in arrays
                for register in (getattr(registers, name),)
            },
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Return to a state of the same networks and settings.

        Raises: ConfigError if the networks have another size.
        """
        arrays = ("MON_MIN", "MON_MAX", "SHIFT", "RNG", "OU")
        entries("qat state", state, ("memories", "updates", "TSTEP", "MODE", *arrays))
        for region, lines in state["memories"].items():
            if lines.shape != (self.lines, self.geometry.lw):
                want = (self.lines, self.geometry.lw)
                raise ConfigError(f"qat state: got lines {lines.shape}, want {want}")
            self.write_region(region, lines)
        self.updates = list(state["updates"])
        self.write(registers.TSTEP.offset, state["TSTEP"])
        self.write(registers.MODE.offset, state["MODE"] & 1)
        for name in ("MON_MIN", "MON_MAX", "SHIFT"):
            for k, word in enumerate(state[name]):
                self.write(getattr(registers, name).at(k), word)
        words = [low | high << 32 for low, high in zip(*[iter(state["RNG"])] * 2, strict=True)]
        x = np.array(state["OU"][: self.geometry.lw], np.uint32).view(np.int32)
        self.seed(words, x)

    # ---- Inside
    def _run(self, descriptor: Sequence[int]) -> Record:
        return self._ring.submit(descriptor).wait(TIMEOUT_S)

    def _upload(self, words: np.ndarray) -> int:
        address = self.buffer("input", words.nbytes)
        self.device.write(address, np.ascontiguousarray(words))
        return address


def _region(region: str) -> str:
    return one_of("qat region", region, REGIONS)


def _finite(name: str, values: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Finite numbers in all of their bits, float64."""
    reals(name, values, shape=shape)
    return np.asarray(values, np.float64)


def _layers(name: str, layers: Arrays) -> Arrays:
    """A network whose layers are matrices and vectors of finite numbers."""
    try:
        pairs = [(weight, bias) for weight, bias in layers]
    except (TypeError, ValueError):
        raise refused(f"qat {name}", layers, "(weights, biases) of each layer") from None
    if not pairs:
        raise ConfigError(f"qat {name}: got no layer, want one or more")
    return [
        (_finite(f"qat {name}", w, (None, None)), _finite(f"qat {name}", b, (None,)))
        for w, b in pairs
    ]


def _address(address: int) -> tuple[int, int]:
    return address & 0xFFFF_FFFF, address >> 32
