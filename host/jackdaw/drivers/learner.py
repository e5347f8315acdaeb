"""Driver of the learner engine: networks, programs, parameters and training jobs.

    learner = Learner(device)
    network = learner.mlp([4, 64, 64, 2])
    program = learner.dqn(network, sync=5, optimizer=adam(2e-2))      # runs PROGRAM
    learner.load(network, parameters)                                 # (weight, bias) a layer
    job = learner.train(program, steps=100, batch=32, data=storage)   # from the replay engine
    job.wait(); parameters = learner.store(network)

Parameters have PyTorch's layout, [n_out, n_in] and [n_out] float32; packing is hidden. Networks are
lowered to stage tables by models/learner/lower.py. What the build cannot do raises ConfigError
before the hardware sees it; the engine's errors are `LearnerIndexError`, `LearnerStreamError`, ...
Source: onchip_replay 3.2 (Learner Module).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Job, Record
from jackdaw.errors import ConfigError
from models.learner.engine import (
    FLAG_LIST,
    FLAG_TD_MEMORY,
    FLAG_TD_STREAM,
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
from models.learner.lower import DqnConfig, dqn
from models.learner.optim import Slot, adam, momentum, sgd
from models.learner.program import Program
from models.learner.timing import ideal_step
from models.learner.validate import ProgramError, validate
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

__all__ = ["Learner", "Network", "Storage", "TrainJob", "adam", "momentum", "sgd"]


@dataclass(frozen=True)
class Storage:
    """Records in device memory: s, action, reward, discount, s', padded to the stride.

    Attributes:
        address: of record 0, a multiple of 64.
        stride: bytes from one record to the next, a multiple of 64.
        records: number of records; an index is below.
    """

    address: int
    stride: int
    records: int


@dataclass(frozen=True)
class Network:
    """A multilayer perceptron: ReLU between its layers, none behind the last.

    Attributes:
        sizes: widths, input first: (4, 64, 64, 2).
        index: its number in the program.
    """

    sizes: tuple[int, ...]
    index: int = 0


class TrainJob:
    """A TRAIN job.

    Attributes:
        job: the ring's job.
        steps, batch: as queued.
    """

    def __init__(self, learner: Learner, job: Job, steps: int, batch: int, td: int) -> None:
        self._learner, self.job, self.steps, self.batch, self._td = learner, job, steps, batch, td

    def poll(self) -> bool:
        """Whether the job has ended."""
        return self.job.poll()

    def wait(self, timeout_s: float = TIMEOUT_S, max_cycles: int | None = None) -> Record:
        """Wait for the end. Raises the engine's named error, or DeviceTimeout."""
        return self.job.wait(timeout_s, max_cycles)

    def results(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what a job that was queued with td_to_memory computed.

        Returns: TD errors [steps done, B] float32; mean magnitude of each step's, [steps done].
        Raises: ConfigError if the TD errors went elsewhere.
        """
        if not self._td:
            raise ConfigError("results: the job was queued without td_to_memory")
        record = self.wait()
        pitch = -(-4 * self.batch // 64) * 64
        raw = self._learner.device.read(self._td, max(record.count, 1) * pitch)
        td = raw.view(np.float32).reshape(-1, pitch // 4)[: record.count, : self.batch].copy()
        return td, np.abs(td).mean(axis=1, dtype=np.float32)


class Learner(EngineDriver):
    """The learner engine of a device.

    Args:
        device: an open device.
        page: the engine's page; default the first learner.

    Attributes:
        geometry: the build, from its capability words.
        program: the program that is loaded, if any.
    """

    def __init__(self, device: Device, page: int | None = None) -> None:
        super().__init__(device, "learner", page)
        self.geometry = self._read_geometry()
        self.program: Program | None = None
        self._ring = self.open_ring(0)
        self._buffers: dict[str, tuple[int, int]] = {}

    def _read_geometry(self) -> Geometry:
        def get(register: Any, field: str) -> int:
            return int(register.field(field).get(self.read(register.offset)))

        r = registers
        return Geometry(
            p=1 << get(r.CAP0, "p_log2"), ob=1 << get(r.CAP0, "ob_log2"), gi=get(r.CAP0, "gi"),
            lw=1 << get(r.CAP0, "lw_log2"), b_max=get(r.CAP1, "b_max"),
            d_max=get(r.CAP1, "d_max"), l_max=get(r.CAP2, "l_max"),
            net_max=get(r.CAP2, "net_max"), st_max=get(r.CAP2, "st_max"),
            w_rows=get(r.CAP3, "w_rows"), a_rows=get(r.CAP3, "a_rows"),
            dp=1 << get(r.CAP0, "dp_log2"), ntu=get(r.CAP0, "ntu"),
        )  # fmt: skip

    # ---- Networks and programs ----
    def mlp(self, sizes: Sequence[int], act: str = "relu", out: str = "none") -> Network:
        """Describe a network. Raises ConfigError if the build cannot hold its layers."""
        g = self.geometry
        if act != "relu" or out != "none":
            raise ConfigError(f"mlp: got act={act!r} out={out!r}, want 'relu' and 'none'")
        if not 2 <= len(sizes) <= g.l_max + 1:
            raise ConfigError(f"mlp {list(sizes)}: want 1..{g.l_max} layers")
        if not all(1 <= size <= g.d_max for size in sizes):
            raise ConfigError(f"mlp {list(sizes)}: want widths 1..{g.d_max}")
        return Network(tuple(sizes))

    def dqn(
        self,
        network: Network,
        *,
        optimizer: Slot,
        double: bool = False,
        kappa: float | None = 1.0,
        sync: int = 500,
        tau: float | None = None,
    ) -> Program:
        """Lower DQN to a program and load it; parameters loaded before are lost.

        Args:
            network: the Q network; its target network comes with it.
            optimizer: from sgd, momentum or adam.
            double: the online network chooses the next action.
            kappa: Huber threshold; None: squared error.
            sync: steps between copies into the target network, 1..65535.
            tau: move the target by tau each step instead.
        Raises: ConfigError if the program does not fit the build.
        """
        if tau is None and not 1 <= sync < 1 << 16:
            raise ConfigError(f"dqn sync: got {sync}, want 1..65535")
        config = DqnConfig(network.sizes, optimizer, double, kappa, sync, tau)
        return self.load_program(dqn(self.geometry, config))

    def load_program(self, program: Program) -> Program:
        """Check a program against the build and load it. Raises ConfigError."""
        image = program.encode()
        try:
            validate(image, self.geometry)
        except ProgramError as error:
            raise ConfigError(f"program does not fit this build: {error}") from error
        address = self._buffer("program", image.nbytes)
        self.device.write(address, image)
        self.program = None
        self._run([JOB_PROGRAM, 0, image.nbytes, 0, *_address(address)])
        self.program = program
        return program

    # ---- Parameters ----
    def load(self, network: Network, parameters: Parameters) -> None:
        """Load parameters; moments start at 0, the target network as a copy."""
        image_map = self._map(network)
        wanted = [
            shape
            for n_in, n_out in zip(network.sizes[:-1], network.sizes[1:], strict=True)
            for shape in ((n_out, n_in), (n_out,))
        ]
        got = [np.shape(array) for pair in parameters for array in pair]
        if got != wanted:
            raise ConfigError(f"load: got shapes {got}, want {wanted}")
        self._load(network, KIND_WEIGHTS, image_map.pack(parameters).view(np.uint32))

    def store(self, network: Network, target: bool = False) -> Parameters:
        """Return the parameters of a network, or of its target network."""
        image_map, program = self._map(network), self._need_program()
        image = self._store(network, KIND_TARGET if target else KIND_WEIGHTS)
        return image_map.unpack(image.view(np.float32), program.networks[network.index])

    def queue_store(self, network: Network) -> Job:
        """Queue a copy of the weights behind the jobs so far; `fetch` reads it."""
        address = self._buffer("weights", 4 * self._map(network).words)
        return self._ring.submit([JOB_STORE, 0, 1 << network.index | 256, 0, *_address(address)])

    def fetch(self, network: Network) -> Parameters:
        """Return the parameters that the last `queue_store` copied; it must have ended."""
        address, _ = self._buffers["weights"]
        image_map, program = self._map(network), self._need_program()
        image = self.device.read(address, 4 * image_map.words).view(np.float32)
        return image_map.unpack(image, program.networks[network.index])

    def state(self, network: Network) -> dict[str, np.ndarray]:
        """Return everything that training changes, as images of uint32 words."""
        return {name: self._store(network, kind) for name, kind in STATE_KINDS.items()}

    def load_state(self, network: Network, state: dict[str, np.ndarray]) -> None:
        """Return to a state; the program must be the one of `state`."""
        for name, kind in STATE_KINDS.items():
            self._load(network, kind, state[name])

    # ---- Training ----
    def train(
        self,
        program: Program,
        *,
        steps: int,
        batch: int,
        data: Storage,
        indices: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        list_address: int = 0,
        td_to_memory: bool = False,
        event_every: int = 0,
    ) -> TrainJob:
        """Queue gradient steps.

        Args:
            program: the loaded program.
            steps: 1..2**31-1.
            batch: B, samples of a step.
            data: the records.
            indices: [steps, B] records; None: they come from the replay engine, which gets the
                TD errors.
            weights: [steps, B] float32 importance weights for `indices`; default 1.
            list_address: instead of `indices`: [steps * B, 4] words in device memory as the replay
                engine writes its samples; a multiple of 64.
            td_to_memory: keep the TD errors for `TrainJob.results`.
            event_every: steps between events (STATUS.event), 0 none.
        Raises: ConfigError for what the build cannot do.
        """
        self._check_train(program, steps, batch, data)
        if list_address % 64:
            raise ConfigError(f"train list_address: got {list_address:#x}, want a multiple of 64")
        if indices is not None:
            list_address = self._upload_list(steps, batch, indices, weights)
        flags = FLAG_LIST if list_address else FLAG_TD_STREAM
        flags |= FLAG_TD_MEMORY if td_to_memory else 0
        td = 0
        if td_to_memory:
            td = self._buffer("td", steps * (-(-4 * batch // 64) * 64))
        job = self._ring.submit(
            [
                JOB_TRAIN | flags << 8, 0, steps, batch, *_address(data.address), data.stride,
                data.records, to_bits(np.float32(1.0 / batch)), event_every, *_address(list_address),
                *_address(td),
            ]
        )  # fmt: skip
        return TrainJob(self, job, steps, batch, td)

    def wait(
        self,
        job: TrainJob,
        timeout_s: float = TIMEOUT_S,
        on_event: Callable[[], None] | None = None,
    ) -> Record:
        """Wait for a job; `on_event` is called at its events."""
        return self._ring.wait(job.job, timeout_s, on_event=on_event)

    # ---- Measurements ----
    def statistics(self) -> dict[str, int | float]:
        """Steps, weight version, TD statistics of the last step and the counters in clocks."""

        def real(register: Any) -> float:
            return float(np.uint32(self.read(register.offset)).view(np.float32))

        out: dict[str, int | float] = {
            "STEP": self.read(registers.STEP.offset),
            "WEIGHT_VERSION": self.read(registers.WEIGHT_VERSION.offset),
            "NONFINITE": self.read(registers.NONFINITE.offset),
            "TD_MEAN": real(registers.TD_MEAN),
            "TD_MAX": real(registers.TD_MAX),
        }
        for name in COUNTERS:
            out[name] = self.read64(getattr(registers, f"{name}_LO").offset)
        return out

    def ideal_cycles(self, batch: int) -> int:
        """Clocks of a gradient step in which no lane ever waits."""
        return ideal_step(self._need_program(), self.geometry, batch)

    # ---- Inside ----
    def _need_program(self) -> Program:
        if self.program is None:
            raise ConfigError("no program is loaded")
        return self.program

    def _map(self, network: Network) -> ImageMap:
        program = self._need_program()
        record = program.networks[network.index]
        sizes = (record.layers[0].n_in, *(layer.n_out for layer in record.layers))
        if sizes != network.sizes:
            raise ConfigError(f"network {network.sizes}: the program has {sizes}")
        return ImageMap(self.geometry, record)

    def _check_train(self, program: Program, steps: int, batch: int, data: Storage) -> None:
        g = self.geometry
        if program is not self.program:
            raise ConfigError("train: the program is not the one that is loaded")
        if not 1 <= steps < 1 << 31:
            raise ConfigError(f"train steps: got {steps}, want 1..2**31-1")
        most = min(g.b_max, g.a_rows // program.frame_rows)
        if not 1 <= batch <= most:
            raise ConfigError(f"train batch: got {batch}, this build and program hold 1..{most}")
        needed = 4 * (2 * program.state_words + 3)
        if data.address % 64 or data.stride % 64 or data.stride < needed:
            raise ConfigError(
                f"train data: got address {data.address:#x}, stride {data.stride}, want multiples "
                f"of 64 and at least {needed} bytes a record"
            )

    def _upload_list(
        self, steps: int, batch: int, indices: np.ndarray, weights: np.ndarray | None
    ) -> int:
        if np.shape(indices) != (steps, batch):
            raise ConfigError(f"train indices: got {np.shape(indices)}, want {(steps, batch)}")
        entries = np.zeros((steps * batch, 4), np.uint32)
        entries[:, 0] = np.asarray(indices, np.uint32).reshape(-1)
        used = np.ones((steps, batch), np.float32) if weights is None else weights
        entries[:, 2] = np.asarray(used, np.float32).reshape(-1).view(np.uint32)
        address = self._buffer("list", entries.nbytes)
        self.device.write(address, entries)
        return address

    def _load(self, network: Network, kind: int, image: np.ndarray) -> None:
        address = self._buffer("image", image.nbytes)
        self.device.write(address, np.ascontiguousarray(image, np.uint32))
        self._run([JOB_LOAD, 0, 1 << network.index | 256 << kind, 0, *_address(address)])

    def _store(self, network: Network, kind: int) -> np.ndarray:
        words = 16 if kind == KIND_SCALARS else self._map(network).words
        address = self._buffer("image", 4 * words)
        self._run([JOB_STORE, 0, 1 << network.index | 256 << kind, 0, *_address(address)])
        return self.device.read(address, 4 * words).view(np.uint32).copy()

    def _run(self, descriptor: list[int]) -> Record:
        return self._ring.submit(descriptor).wait(TIMEOUT_S)

    def _buffer(self, name: str, nbytes: int) -> int:
        """A device buffer of at least nbytes, kept for the next job."""
        address, size = self._buffers.get(name, (0, 0))
        if size < nbytes:
            if address:
                self.device.free(address)
            size = -(-nbytes // 4096) * 4096
            address = self.device.alloc(size)
            self._buffers[name] = (address, size)
        return address


def _address(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32
