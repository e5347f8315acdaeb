"""Driver of the replay engine: prioritized sampling, updates and insertion.

Indices are leaves 0..n-1, priorities unsigned integers of 2**-fraction_bits each, TD errors
float32.
Named errors mirror the engine's codes (`ReplayEmptyError`, `ReplayIndexError`, ...).
Source: onchip_replay 3.1; thesis 4.2.2 (insertion).
"""

from __future__ import annotations

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
    Range,
    check,
    entries,
    real,
    reals,
    refused,
    truth,
    whole,
    wholes,
)
from models.registers import replay as registers
from models.replay.engine import GATHER_RING, HOST_RING, SAMPLE_RING, Flag, is_row
from models.replay.engine import Job as Opcode
from models.replay.kernels import Op
from models.replay.rng import splitmix64

ONE_BETA = 1 << 30
RESPONSE_WORDS = 4
TIMEOUT_S = 60.0
MAX_SAMPLES = 1 << 20  # of all batches of one job
UNIFORM_MAX = (1 << 48) - 1
UNIT = Range(0, 1)
WORD = np.dtype(np.uint32)


@dataclass(frozen=True)
class ReplaySettings:
    """How the engine is configured.

    Attributes:
        leaves: N, number of transitions held, 1..the build's maximum.
        alpha: exponent of (|TD error| + epsilon), 0..1.99997; kept as Q1.15.
        beta: exponent of the importance weights, 0..1; kept as Q2.30.
        beta_step: added to beta after each batch sampled with weights.
        epsilon: added to |TD error|, float32.
        fraction_bits: a priority of 1.0 is 2**fraction_bits, 0..24.
        smallest: least priority that a TD error gives, in units of 2**-fraction_bits.
        seed: of the generator, 64 bits.
        relaxed: TRAIN_LOOP may sample one batch before the updates of the last one.
        no_fetch: a batch that went to memory counts as fetched; `acknowledge` is not needed.
    """

    leaves: Annotated[int, Range(1, 1 << 20)]
    alpha: Annotated[float, Range(0, 1.99997)] = 0.6
    beta: Annotated[float, Range(0, 1)] = 0.4
    beta_step: Annotated[float, Range(0, 1)] = 0.0
    epsilon: Annotated[float, Range(0, FLOAT32_MAX)] = 1e-2
    fraction_bits: Annotated[int, Range(0, 24)] = 16
    smallest: Annotated[int, Range(0, WORD_MAX)] = 1
    seed: Annotated[int, Range(0, SEED_MAX)] = 0
    relaxed: bool = False
    no_fetch: bool = False

    def __post_init__(self) -> None:
        check(self, "replay")


@dataclass(frozen=True)
class Samples:
    """A sampled batch.

    Attributes:
        indices: [B] int64 leaves, [batches * B] of several batches; so the others.
        priorities: [B] int64.
        weights: [B] float32 importance weights, 1.0 without.
        address: device address of the responses ([B, 4] words), as a TRAIN from a list takes them.
    """

    indices: np.ndarray
    priorities: np.ndarray
    weights: np.ndarray
    address: int


@dataclass(frozen=True)
class Responses:
    """What operations returned: [n] int64 each."""

    indices: np.ndarray
    priorities: np.ndarray
    old: np.ndarray


class Replay(EngineDriver):
    """The replay engine of a device.

    Args:
        device: an open device.
        settings: how to configure the engine; `clear` is run.
        page: the engine's page or instance; default the first replay engine that is free.
    Raises: ConfigError if the build is too small; DeviceMismatchError, EngineOwnedError.
    """

    def __init__(
        self, device: Device, settings: ReplaySettings, page: int | str | None = None
    ) -> None:
        super().__init__(device, "replay", page)
        self.settings = settings
        with self.opening():
            geometry = self.read(registers.CAP_GEOM.offset)
            field = registers.CAP_GEOM.field
            self.max_leaves = 1 << field("n_log2").get(geometry)
            self.max_batch = 1 << field("batch_log2").get(geometry)
            if settings.leaves > self.max_leaves:
                raise ConfigError(
                    f"replay leaves: got {settings.leaves}, this build holds {self.max_leaves}"
                )
            self._sampler = self.open_ring(SAMPLE_RING)
            self._host = self.open_ring(HOST_RING)
            self._mover = self.open_ring(GATHER_RING)
            self._configure()
            self.clear()

    # ---- Jobs ----
    def clear(self) -> None:
        """Set every priority to 0 and forget all insertions."""
        self._run([Opcode.CLEAR])

    def check(self) -> None:
        """Compare every node of the tree with its leaves; nothing changes.

        Raises: ReplayCheckError: `info[1]` is the wrong node's level (31:24, 0 the root) and place;
            ReplayBusyError while a batch is sampled; ReplayNotclearError.
        """
        self._run([Opcode.CHECK])

    def sample(
        self,
        batch: int,
        *,
        batches: int = 1,
        uniform: np.ndarray | None = None,
        stratified: bool = True,
        weights: bool = True,
        beta: float | None = None,
        address: int | None = None,
    ) -> Samples:
        """Draw a batch in proportion to the priorities, or batches that follow one another.

        Args:
            batch: B, 1..max_batch; a power of two if stratified and not supplied.
            batches: how many, each with its own weights; the arrays hold one after the other.
            uniform: [B] uint64, 48-bit uniform integers to use instead of the engine's generator;
                for one batch only.
            stratified: slot b draws from the b-th of B equal parts of the total.
            weights: compute importance weights.
            beta: set their exponent before, 2**-30..1 (smaller ones count as none); None: as it is.
            address: where in device memory the responses go; None: to a buffer of the driver's.
        Raises: ReplayEmptyError if all priorities are 0; ReplayStratError; ReplayCountError;
            ConfigError.
        """
        batch, batches = _batch(batch), whole("replay batches", batches, 1, MAX_SAMPLES)
        if batches > 1 and batch * batches > MAX_SAMPLES:
            raise ConfigError(
                f"replay batches: got {batches} of {batch}, want 1 or more "
                f"and at most {MAX_SAMPLES} samples"
            )
        exponent = 0 if beta is None else round(real("replay beta", beta, UNIT) * ONE_BETA)
        flags = Flag.MEMORY
        flags |= Flag.STRATIFIED if truth("replay stratified", stratified) else 0
        flags |= Flag.WEIGHTS if truth("replay weights", weights) else 0
        source = 0
        if uniform is not None:
            flags |= Flag.HOST_X
            numbers = wholes("replay uniform", uniform, 0, UNIFORM_MAX, (batch,))
            source = self._upload(numbers.astype(np.uint64))
        if address is None:
            output = self.buffer("samples", batch * batches * 16)
        else:
            output = whole("replay address", address, 0, self.device.memory_bytes)
        page: Any = self._sampler.at_rest() if batches == 1 and uniform is None else None
        inside = 0 < output <= self.device.memory_bytes - 16 * batch and output % 64 == 0
        if page is not None and inside:
            drawn = page.engine.sample_at_once(batch, flags, exponent)
            if drawn is not None:
                cycles, responses, indices, priorities, numbers = drawn
                self.device.write(output, responses)
                self._sampler.ran(page, cycles)
                return Samples(indices, priorities, numbers, output)
        words = [Opcode.SAMPLE | flags << 8, 0, batch, batches, *_address(source)]
        words += [*_address(output), exponent]
        self._sampler.submit(words).wait(TIMEOUT_S)
        out = (
            self.device.read(output, batch * batches * 16)
            .view(np.uint32)
            .reshape(-1, RESPONSE_WORDS)
        )
        return Samples(
            out[:, 0].astype(np.int64),
            out[:, 1].astype(np.int64),
            out[:, 2].copy().view(np.float32),
            output,
        )

    def train_loop(self, batch: int, batches: int, *, stratified: bool = True) -> Job:
        """Queue `batches` batches for the learner: sample, stream, wait for the TD errors, update.

        Returns: the job; the learner's TRAIN from its stream must be queued too.
        """
        batch, batches = _batch(batch), whole("replay batches", batches, 0, WORD_MAX)
        flags = Flag.SMP | Flag.WEIGHTS
        flags |= Flag.STRATIFIED if truth("replay stratified", stratified) else 0
        return self._sampler.submit([Opcode.TRAIN_LOOP | flags << 8, 0, batch, batches])

    def retrieve(self, indices: np.ndarray) -> np.ndarray:
        """Return the priorities ([n] int64) of leaves. Raises ReplayIndexError, ConfigError."""
        words = wholes("replay indices", indices).astype(np.uint32)
        return self._operate(Opcode.RETRIEVE, 0, words, words.size).priorities

    def update(
        self,
        indices: np.ndarray,
        values: np.ndarray,
        *,
        td: bool = False,
        delta: bool = False,
        slots: bool = False,
    ) -> Responses:
        """Set priorities, in order.

        Args:
            indices: [n] leaves, whole numbers of any type; with `slots`, places in the batch
                sampled last (an update of a leaf that was inserted since is dropped).
            values: [n] integer priorities; with `td` float32 TD errors (their magnitude counts, a
                NaN or an infinity gives the largest priority); with `delta` signed changes.
        Raises: ReplayIndexError; ConfigError for what would wrap or be rounded.
        """
        td, delta = truth("replay td", td), truth("replay delta", delta)
        slots = truth("replay slots", slots)
        if td and delta:
            raise ConfigError("replay update: td and delta exclude each other")
        opcode = Opcode.UPDATE_DELTA if delta else Opcode.UPDATE
        flags = (Flag.FP32 if td else 0) | (Flag.SLOTS if slots else 0)
        return self._operate(
            opcode, flags, _pairs(indices, _words(values, td, delta)), np.size(indices)
        )

    def update_from(self, address: int, count: int) -> None:
        """Set priorities from TD errors that lie in device memory.

        Args:
            address: of pairs of words: a place in the batch sampled last, a float32 TD error.
            count: of pairs.
        Raises: ReplayIndexError, ConfigError.
        """
        count = whole("replay count", count, 0, WORD_MAX)
        address = whole("replay address", address, 0, self.device.memory_bytes)
        flags = Flag.FP32 | Flag.SLOTS
        self._run([Opcode.UPDATE | flags << 8, 0, count, 0, *_address(address)])

    def post(self, pairs: np.ndarray, *, insert: bool = False) -> None:
        """Set or insert priorities from TD errors, without responses: the shortest way.

        Args:
            pairs: [n, 2] uint32: leaf (not looked at by an insertion), float32 bits of a TD error.
            insert: insert, as `insert` does.
        Raises: ReplayIndexError; ReplayInsertError; ConfigError for another array.
        """
        if not isinstance(pairs, np.ndarray) or pairs.dtype != WORD or pairs.shape[1:] != (2,):
            raise refused("replay pairs", pairs, "an array [n, 2] of uint32")
        pairs = np.ascontiguousarray(pairs)
        if not self._at_once(Op.INSERT if insert else Op.UPDATE, pairs):
            opcode = Opcode.INSERT if insert else Opcode.UPDATE
            self._run([opcode | Flag.FP32 << 8, 0, len(pairs), 0, *_address(self._upload(pairs))])

    def post_largest(self, count: int) -> None:
        """Insert `count` leaves with the largest priority so far, without responses.

        Raises: ReplayInsertError; ConfigError.
        """
        count = _count(count)
        if not self._at_once(Op.INSERT, np.empty((count, 0), np.uint32)):
            self._run([Opcode.INSERT | Flag.PMAX << 8, 0, count])

    def insert(
        self, values: np.ndarray | None = None, *, count: int = 1, td: bool = False
    ) -> Responses:
        """Insert with first-in first-out replacement; only while no batch is being fetched.

        Args:
            values: [n] integer priorities, with `td` float32 TD errors; None: `count` leaves with
                the largest priority so far.
        Raises: ReplayInsertError while leaves are reserved.
        """
        return self._place(Opcode.INSERT, values, count, td)

    def reserve(self, count: int) -> np.ndarray:
        """Take the next leaves out of sampling, so that their data can be written.

        Returns: [count] int64 indices. Ends when no batch that may hold them is being fetched.
        Raises: ReplayInsertError if more than half of all leaves would be reserved.
        """
        return self._operate(Opcode.RESERVE, 0, None, _count(count)).indices

    def commit(
        self, values: np.ndarray | None = None, *, count: int = 1, td: bool = False
    ) -> Responses:
        """Give reserved leaves their priorities, in order; arguments as `insert`."""
        return self._place(Opcode.COMMIT, values, count, td)

    def stream(self, requests: np.ndarray) -> np.ndarray:
        """Run mixed unified requests, [n, 4] uint32. Returns the responses, [n, 4] uint32.

        Raises: ConfigError for another shape, or numbers that are no words.
        """
        words = _requests(requests)
        return self._raw(Opcode.STREAM, 0, words, len(words))

    def gather(self, rows: np.ndarray | Samples, storage: int, row_bytes: int) -> np.ndarray:
        """Bring rows of the data storage together, while the other jobs go on.

        Args:
            rows: [n] leaves, or a sampled batch (before the next one is sampled).
            storage: device address of row 0, a multiple of 64.
            row_bytes: 16, 32 or a multiple of 64 up to 2**20.
        Returns: [n, row_bytes] uint8.
        Raises: ReplayIndexError; ConfigError for rows of another size.
        """
        return self._gathered(rows, storage, row_bytes)[0]

    def acknowledge(self) -> None:
        """Tell the engine that every batch delivered to memory so far has been fetched."""
        self.write(registers.FETCH_ACK.offset, 1)

    # ---- Measurement ----
    def measure_sample(self, batch: int, stratified: bool = True) -> int:
        """Clocks of one SAMPLE job with results to memory; the generator and beta move on."""
        output = self.buffer("samples", batch * 16)
        flags = Flag.MEMORY | (Flag.STRATIFIED if stratified else 0)
        words = [Opcode.SAMPLE | flags << 8, 0, batch, 0, 0, 0, *_address(output)]
        cycles = self._sampler.submit(words).wait(TIMEOUT_S).cycles
        self.acknowledge()
        return cycles

    def measure_host(self, opcode: int, count: int) -> int:
        """Clocks of one UPDATE, INSERT or RETRIEVE job; leaves get the priorities that they have.

        Args:
            opcode: which job. For INSERT the next leaf must be leaf 0, with all inserted before.
            count: of operations, on leaves 0, 1, ... again and again.
        """
        indices = np.arange(count) % self.settings.leaves
        if opcode == Opcode.RETRIEVE:
            source = self._upload(indices.astype(np.uint32))
            output = self.buffer("responses", count * 16)
            return self._run(
                [opcode | Flag.MEMORY << 8, 0, count, 0, *_address(source), *_address(output)]
            ).cycles
        source = self._upload(_pairs(indices, self.retrieve(indices).astype(np.uint32)))
        return self._run([opcode, 0, count, 0, *_address(source)]).cycles

    def measure_sustained(
        self, batch: int, batches: int, *, samples: bool = True, updates: bool = False
    ) -> int:
        """Clocks of one SAMPLE job of many batches, one UPDATE job of as many leaves, or both.

        Args:
            batch: samples of a batch (a power of two).
            batches: how many follow one another; responses go to memory.
            samples: measure the SAMPLE job.
            updates: measure the UPDATE job, which gives leaves the priorities that they have.
        Returns: clocks from the first start to the last end. With both, the jobs run side by side.
        """
        queued: list[Job] = []
        if updates:
            indices = np.arange(batch * batches) % self.settings.leaves
            source = self._upload(_pairs(indices, self.retrieve(indices).astype(np.uint32)))
            queued.append(
                self._host.submit([Opcode.UPDATE, 0, batch * batches, 0, *_address(source)])
            )
        if samples:
            output = self.buffer("samples", batches * batch * 16)
            flags = Flag.MEMORY | Flag.STRATIFIED
            words = [Opcode.SAMPLE | flags << 8, 0, batch, batches, 0, 0, *_address(output)]
            queued.append(self._sampler.submit(words))
        records = [job.wait(TIMEOUT_S) for job in queued]
        self.acknowledge()
        return max(r.end for r in records) - min(r.start for r in records)

    def measure_jobs(
        self, batch: int, jobs: int, *, samples: bool = True, updates: bool = False
    ) -> int:
        """Clocks from the first start to the last end of jobs of one batch that are queued at once.

        Args:
            batch: samples of a SAMPLE job (a power of two, 4 or more) and updates of an UPDATE job;
                leaves 0..batch-1 are given the priorities they have.
            jobs: how many of each, 1..64.
            samples: queue the SAMPLE jobs, on ring 0.
            updates: queue the UPDATE jobs, on ring 1, which runs side by side with ring 0.
        """
        queued: list[Job] = []
        if updates:
            indices = np.arange(batch)
            source = self._upload(_pairs(indices, self.retrieve(indices).astype(np.uint32)))
            words = [Opcode.UPDATE, 0, batch, 0, *_address(source)]
            queued += self._host.submit_all([words] * jobs)
        if samples:
            output = self.buffer("samples", jobs * batch * 16)
            queued += self._sampler.submit_all(
                [
                    [
                        Opcode.SAMPLE | (Flag.MEMORY | Flag.STRATIFIED) << 8, 0, batch, 0, 0, 0,
                        *_address(output + job * batch * 16),
                    ]
                    for job in range(jobs)
                ]
            )  # fmt: skip
        records = [job.wait(TIMEOUT_S) for job in queued]
        self.acknowledge()
        return max(r.end for r in records) - min(r.start for r in records)

    def measure_gather(self, rows: np.ndarray, storage: int, row_bytes: int) -> int:
        """Clocks of one GATHER job; arguments as of `gather`."""
        return self._gathered(rows, storage, row_bytes)[1].cycles

    def measure_stream(self, requests: np.ndarray) -> int:
        """Clocks of one STREAM job of unified requests ([n, 4] uint32), responses to memory."""
        words = _requests(requests)
        source, output = self._upload(words), self.buffer("responses", max(len(words), 1) * 16)
        head = Opcode.STREAM | Flag.MEMORY << 8
        return self._run([head, 0, len(words), 0, *_address(source), *_address(output)]).cycles

    # ---- State ----
    @property
    def beta(self) -> float:
        """The importance weights' exponent now."""
        return self.read(registers.CFG_BETA.offset) / ONE_BETA

    @property
    def total(self) -> int:
        """Sum of all priorities."""
        return self.read64(registers.ROOT_LO.offset)

    def statistics(self) -> dict[str, int]:
        """Counts of operations and batches since the hard reset."""
        out = {n: self.read64(getattr(registers, f"{n}_LO").offset) for n in _COUNTS_64}
        return out | {n: self.read(getattr(registers, n).offset) for n in _COUNTS_32}

    def state(self) -> dict[str, Any]:
        """Everything that a later run needs; no batch may be open and nothing reserved."""
        return {
            "leaves": self.retrieve(np.arange(self.settings.leaves)),
            "size": self.settings.leaves,
            **{n: self.read(getattr(registers, n).offset) for n in _STATE},
            "SEED": [self.read(registers.SEED.at(i)) for i in range(8)],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Return to a state. Raises ConfigError if it has another number of leaves."""
        leaves = self.settings.leaves
        entries("replay state", state, ("size", "leaves", "SEED", *_STATE))
        if state["size"] != leaves:
            raise ConfigError(f"replay state: got {state['size']} leaves, want {leaves}")
        words = wholes("replay state: leaves", state["leaves"], shape=(leaves,))
        seed = wholes("replay state: SEED", state["SEED"], shape=(8,)).tolist()
        values = {name: whole(f"replay state: {name}", state[name], 0, WORD_MAX) for name in _STATE}
        self.clear()
        self.update(np.arange(leaves), words)
        for name, value in values.items():
            self.write(getattr(registers, name).offset, value)
        for i, word in enumerate(seed):
            self.write(registers.SEED.at(i), word)

    # ---- Inside ----
    def _configure(self) -> None:
        s = self.settings
        priority = registers.CFG_PRIO.field("alpha").put(round(s.alpha * (1 << 15)))
        priority = registers.CFG_PRIO.field("pf").put(s.fraction_bits, priority)
        priority = registers.CFG_PRIO.field("relaxed").put(int(s.relaxed), priority)
        priority = registers.CFG_PRIO.field("no_fetch").put(int(s.no_fetch), priority)
        for register, value in (
            (registers.CFG_N, s.leaves),
            (registers.CFG_PRIO, priority),
            (registers.CFG_EPS, int(np.float32(s.epsilon).view(np.uint32))),
            (registers.CFG_PMIN, s.smallest),
            (registers.CFG_PINIT, 1 << s.fraction_bits),
            (registers.CFG_BETA, round(s.beta * ONE_BETA)),
            (registers.CFG_DBETA, round(s.beta_step * ONE_BETA)),
        ):
            self.write(register.offset, value)
        for i, word in enumerate(splitmix64(s.seed)):
            self.write(registers.SEED.at(2 * i), word & 0xFFFFFFFF)
            self.write(registers.SEED.at(2 * i + 1), word >> 32)

    def _place(self, opcode: int, values: np.ndarray | None, count: int, td: bool) -> Responses:
        if values is None:
            return self._operate(opcode, Flag.PMAX, None, _count(count))
        words = _words(values, td, False)
        flags = Flag.FP32 if td else 0
        return self._operate(opcode, flags, _pairs(np.zeros(words.size), words), words.size)

    def _gathered(
        self, rows: np.ndarray | Samples, storage: int, row_bytes: int
    ) -> tuple[np.ndarray, Record]:
        row_bytes = whole("replay rows: bytes", row_bytes)
        if not is_row(row_bytes):
            raise refused("replay rows: bytes", row_bytes, "16, 32 or a multiple of 64 up to 2**20")
        storage = whole("replay storage", storage, 0, self.device.memory_bytes)
        if isinstance(rows, Samples):
            flags, count, source = Flag.SLOTS, rows.indices.size, rows.address
        else:
            words = wholes("replay rows", rows).astype(np.uint32).reshape(-1)
            flags, count, source = 0, words.size, self._upload(words)
        output = self.buffer("rows", max(count * row_bytes, 1))
        record = self._mover.submit(
            [
                Opcode.GATHER | flags << 8, 0, count, 0, *_address(source), *_address(output),
                0, row_bytes, *_address(storage),
            ]
        ).wait(TIMEOUT_S)  # fmt: skip
        return self.device.read(output, count * row_bytes).reshape(count, row_bytes), record

    def _operate(self, opcode: int, flags: int, words: np.ndarray | None, count: int) -> Responses:
        out = self._raw(opcode, flags, words, count).astype(np.int64)
        return Responses(out[:, 0], out[:, 1], out[:, 2])

    def _raw(self, opcode: int, flags: int, words: np.ndarray | None, count: int) -> np.ndarray:
        source = 0 if words is None else self._upload(words)
        output = self.buffer("responses", max(count, 1) * 16)
        self._run(
            [
                opcode | (flags | Flag.MEMORY) << 8, 0, count, 0,
                *_address(source), *_address(output),
            ]
        )  # fmt: skip
        return self.device.read(output, count * 16).view(np.uint32).reshape(-1, RESPONSE_WORDS)

    def _at_once(self, op: int, rows: np.ndarray) -> bool:
        """Run an UPDATE or INSERT without responses on the golden model, if that is possible."""
        page: Any = self._host.at_rest()
        cycles = 0 if page is None else page.engine.operate_at_once(op, rows)
        if page is None or not cycles:
            return False
        self._host.ran(page, cycles)
        return True

    def _run(self, descriptor: list[int]) -> Record:
        return self._host.submit(descriptor).wait(TIMEOUT_S)

    def _upload(self, words: np.ndarray) -> int:
        address = self.buffer("input", max(words.nbytes, 1))
        if words.nbytes:
            self.device.write(address, np.ascontiguousarray(words))
        return address


_STATE = ("CNT", "WP", "PMAX", "CFG_BETA")
_COUNTS_64 = ("N_SAMPLE", "N_UPDATE", "N_INSERT")
_COUNTS_32 = ("STALE", "NONFINITE", "DUP")


def _address(address: int) -> tuple[int, int]:
    return address & 0xFFFFFFFF, address >> 32


def _words(values: np.ndarray, td: bool, delta: bool) -> np.ndarray:
    if truth("replay td", td):
        return (
            np.ascontiguousarray(reals("replay TD errors", values, None))
            .reshape(-1)
            .view(np.uint32)
        )
    low, high = (-(1 << 31), (1 << 31) - 1) if truth("replay delta", delta) else (0, WORD_MAX)
    return wholes("replay priorities", values, low, high).reshape(-1).astype(np.uint32)


def _batch(batch: int) -> int:
    return whole("replay batch", batch, 1, MAX_SAMPLES)


def _count(count: int) -> int:
    return whole("replay count", count, 0, MAX_SAMPLES)


def _requests(requests: np.ndarray) -> np.ndarray:
    words = wholes("replay requests", requests, shape=(None, RESPONSE_WORDS))
    return np.ascontiguousarray(words, np.uint32)


def _pairs(indices: np.ndarray, words: np.ndarray) -> np.ndarray:
    chosen = wholes("replay indices", indices).reshape(-1)
    if chosen.size != words.size:
        raise ConfigError(f"replay: got {chosen.size} indices for {words.size} values")
    out = np.empty((words.size, 2), np.uint32)
    out[:, 0] = chosen
    out[:, 1] = words
    return out
