"""The replay engine at job level: registers, both rings, streams.

Rules that the RTL shares, beyond the engine's page:

- Order of the checks of a descriptor: opcode and ring, flags (E_OPCODE); reserved fields, unused
  addresses and address bits above 39 (E_RESERVED); addresses that are 0 or not aligned where they
  are used (E_ALIGN); counts (E_COUNT); then E_STRAT, E_NOTCLEAR, E_ADDR, E_BUSY, E_CFG. Such a job
  has count 0, ERR_INFO0 0 and ERR_INFO1 0, writes nothing and sends nothing.
- A sampling job issues all its slots. If the total is 0 at some, the first of them is the op that
  failed (ERR_INFO1 all ones); responses before it are delivered, without weights.
- A job with results to SMP that fails after these checks sends one word with `last`: index all
  ones, status its error, the rest 0 but op = 1.
- Bus errors: ops of earlier beats are done; ERR_INFO0 is the ops done, ERR_INFO1 the response.
- E_STREAM leaves batches open; the soft reset that must follow closes them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from models.engine import BusError, JobEnd, Link, Memory, RegisterError, beyond
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.kernels import Op
from models.replay.rmm import Batch, Converter, Geometry, Rmm, next_beta
from models.replay.timing import Timing

SAMPLE_RING, HOST_RING, GATHER_RING = 0, 1, 2
ALL_ONES = 0xFFFFFFFF


class Job:
    """Opcodes of the descriptors."""

    CLEAR, SAMPLE, RETRIEVE, UPDATE, UPDATE_DELTA, INSERT = 1, 2, 3, 4, 5, 6
    RESERVE, COMMIT, STREAM, TRAIN_LOOP, CHECK, GATHER = 7, 8, 9, 10, 11, 12


class Flag:
    """Flags of the descriptors, word 0 15:8."""

    FP32, PMAX, HOST_X, STRATIFIED, MEMORY, SMP, SLOTS, WEIGHTS = (1 << i for i in range(8))


class TdeKind:
    """Kinds of a TDE word."""

    ERROR, FETCH_DONE, ABORT = 0, 1, 2


# opcode: ring, legal flags, bytes of an input element
_JOBS = {
    Job.CLEAR: (HOST_RING, 0, 0),
    Job.SAMPLE: (
        SAMPLE_RING,
        Flag.HOST_X | Flag.STRATIFIED | Flag.MEMORY | Flag.SMP | Flag.WEIGHTS,
        8,
    ),
    Job.RETRIEVE: (HOST_RING, Flag.MEMORY, 4),
    Job.UPDATE: (HOST_RING, Flag.FP32 | Flag.MEMORY | Flag.SLOTS, 8),
    Job.UPDATE_DELTA: (HOST_RING, Flag.MEMORY, 8),
    Job.INSERT: (HOST_RING, Flag.FP32 | Flag.PMAX | Flag.MEMORY, 8),
    Job.RESERVE: (HOST_RING, Flag.MEMORY, 0),
    Job.COMMIT: (HOST_RING, Flag.FP32 | Flag.PMAX | Flag.MEMORY, 8),
    Job.STREAM: (HOST_RING, Flag.MEMORY, 16),
    Job.TRAIN_LOOP: (SAMPLE_RING, Flag.STRATIFIED | Flag.SMP | Flag.WEIGHTS, 0),
    Job.CHECK: (HOST_RING, 0, 0),
    Job.GATHER: (GATHER_RING, Flag.SLOTS, 4),
}
_OPS = {  # of the jobs of ring 1; requests of a STREAM have their own
    Job.RETRIEVE: Op.RETRIEVE,
    Job.UPDATE: Op.UPDATE,
    Job.UPDATE_DELTA: Op.UPDATE_DELTA,
    Job.INSERT: Op.INSERT,
    Job.RESERVE: Op.RESERVE,
    Job.COMMIT: Op.COMMIT,
    Job.STREAM: Op.NOP,
}
_WHOLE = (Job.CLEAR, Job.CHECK)  # of the whole tree: no count, nothing beside them
_MAX_OPS = 1 << 20
MEMO_BATCHES = 126  # a SAMPLE waits while the memo keeps so many


@dataclass(frozen=True)
class ReplayConfig:
    """Elaboration parameters of the engine: the geometry, and what its cycles depend on.

    Attributes:
        k_log2: log2 of the fan-out, 1..6.
        n_log2: log2 of the most leaves, 2..20.
        leaf_w: bits of a leaf, 8..32.
        batch_log2: log2 of the largest batch, 3..10.
        lat_lut, lat_bram, lat_uram: read latencies (clocks), 1..6.
        lat_mul: multiplier latency (clocks), 3..8.
        sequential: 1: the published tree, one operation of a level at a time, one child per clock.
    """

    k_log2: int = 4
    n_log2: int = 16
    leaf_w: int = 32
    batch_log2: int = 9
    lat_lut: int = 1
    lat_bram: int = 2
    lat_uram: int = 4
    lat_mul: int = 6
    sequential: int = 0


class _JobError(Exception):
    """Ends a job with an error."""

    def __init__(self, code: int, count: int = 0, info0: int = 0, info1: int = 0) -> None:
        super().__init__(code)
        self.end = JobEnd(error=int(code), count=count, info0=info0, info1=info1)


@dataclass(eq=False)
class _OpenBatch(Batch):
    """A batch and what is still to come for it.

    Attributes:
        errors_due: its TD errors come by TDE.
        next_slot: slot of the next of them.
        fetch_due: its FETCH_DONE is still to come.
        ack_due: its results went to memory, and the host has not acknowledged them.
    """

    errors_due: bool = False
    next_slot: int = 0
    fetch_due: bool = False
    ack_due: bool = False


@dataclass(frozen=True)
class _Descriptor:
    """A descriptor's fields, and what is wrong with it whatever the engine's state is.

    Attributes:
        error: E_OPCODE to E_STRAT; 0 if none.
        beyond: an array of known size does not lie in the addresses (E_ADDR, if nothing else).
    """

    opcode: int
    flags: int
    count: int
    batches: int
    source: int
    destination: int
    beta: int
    row_bytes: int
    storage: int
    error: int
    beyond: bool


class ReplayEngine:
    """The golden model of the replay engine (see `models.engine.EngineModel`).

    Attributes:
        rings: 3: ring 0 SAMPLE and TRAIN_LOOP, ring 2 GATHER, ring 1 all else.
        rmm: the state of the replay memory.
        stray_errors: codes of errors outside any job, for STATUS; the owner empties it.
    """

    rings = 3

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> ReplayEngine:
        """Make it of a configuration's parameters and streams, by name."""
        return cls(ReplayConfig(**fields), streams["smp"], streams["tde"])

    def __init__(self, config: ReplayConfig, smp: Link, tde: Link) -> None:
        self.config = config
        self.smp = smp
        self.tde = tde
        self.timing = Timing(config)
        self.rmm = Rmm(Geometry(config.n_log2, config.leaf_w, config.batch_log2))
        self.stray_errors: list[int] = []
        self._values = {
            r.offset: r.reset for r in registers.REGISTERS if r.access == "RW" and r.count == 1
        }
        self._batches: deque[_OpenBatch] = deque()  # not yet fetched, or errors still due
        self._last: Batch | None = None
        self._memo: deque[_OpenBatch] = deque()  # batches that it holds, oldest first
        self._sampling = False  # ring 0 has a job
        self._tde_error = False
        self._map = {r.at(i): (r, i) for r in registers.REGISTERS for i in range(r.count)}
        self._configure()

    # ---- Registers ----
    def read_register(self, offset: int) -> int:
        """Read an engine register. Raises RegisterError."""
        register, index = self._map.get(offset, (None, 0))
        if register is None or register.access == "WO":
            raise RegisterError(f"read of {offset:#x}")
        self.poll()
        rmm, name = self.rmm, register.name
        if name == "CAP_GEOM":
            return self.timing.capability()
        if name == "SEED":
            return (rmm.generator.state[index // 2] >> (32 * (index % 2))) & ALL_ONES
        s = rmm.statistics
        states = {
            "CNT": rmm.count,
            "WP": rmm.pointer,
            "RESV": rmm.reserved,
            "PMAX": rmm.pmax,
            "ROOT": rmm.tree.total,
            "N_SAMPLE": s.samples,
            "N_UPDATE": s.updates,
            "N_INSERT": s.inserts,
            "STALE": s.stale,
            "NONFINITE": s.nonfinite,
            "DUP": s.duplicates,
        }
        high = name.endswith("_HI")
        base = name[:-3] if high or name.endswith("_LO") else name
        if base in states:
            return (states[base] >> (32 if high else 0)) & ALL_ONES
        return self._values[offset]

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register; `idle` is the engine's idle bit. Raises RegisterError."""
        register, index = self._map.get(offset, (None, 0))
        if register is None or register.access == "RO" or (register.idle_only and not idle):
            raise RegisterError(f"write of {offset:#x}, idle {idle}")
        value &= ALL_ONES
        rmm, name = self.rmm, register.name
        index_mask = (1 << self.config.n_log2) - 1
        if name == "SEED":
            shift = 32 * (index % 2)
            state = list(rmm.generator.state)
            state[index // 2] = state[index // 2] & ~(ALL_ONES << shift) | value << shift
            rmm.generator.load(state)
        elif name == "CNT":
            rmm.count = value & (2 * index_mask + 1)
        elif name == "WP":
            rmm.pointer = value & index_mask
        elif name == "PMAX":
            rmm.pmax = value & rmm.leaf_max
        elif name == "FETCH_ACK":
            self._acknowledge()
        else:
            self._values[offset] = value & sum(f.mask for f in register.fields)
            self._configure()

    def _acknowledge(self) -> None:
        for batch in self._batches:
            batch.ack_due = False
        self._forget()

    def _get(self, register: registers.Register) -> int:
        return self._values[register.offset]

    def _configure(self) -> None:
        prio = self._get(registers.CFG_PRIO)
        fields = registers.CFG_PRIO.field
        self.rmm.converter = Converter(
            alpha=fields("alpha").get(prio),
            eps=self._get(registers.CFG_EPS),
            fraction_bits=fields("pf").get(prio),
            smallest=self._get(registers.CFG_PMIN),
            largest=self._get(registers.CFG_PCLIP),
        )
        self._relaxed = bool(fields("relaxed").get(prio))
        self._no_fetch = bool(fields("no_fetch").get(prio))
        if self._no_fetch:
            self._acknowledge()

    # ---- Resets ----
    def soft_reset(self) -> None:
        """Drop unfinished jobs and batches, empty the links; the tree and settings stay."""
        self.smp.clear()
        self.tde.clear()
        self._batches.clear()
        self._last = None
        self._memo.clear()
        self._sampling = False
        self._tde_error = False

    def link_clear(self) -> None:
        """The other end was reset: drop what is held of the links."""
        self.smp.clear()
        self.tde.clear()

    # ---- TDE ----
    def poll(self) -> None:
        """Take every word that TDE holds."""
        words = self.tde.words
        while words:
            run = self._errors_run()
            if run:
                continue
            word, _ = words.popleft()
            if not (word >> 48 == TdeKind.FETCH_DONE and self._fetch_done()):
                self._bad_word()

    def _errors_run(self) -> bool:
        """Apply the TD errors at the head of TDE that fit the oldest open batch."""
        batch = next((b for b in self._batches if b.errors_due), None)
        words = self.tde.words
        if batch is None:
            return False
        first = batch.next_slot
        errors: list[int] = []
        while words and first + len(errors) < len(batch.indices):
            word = words[0][0]
            if word >> 32 != first + len(errors):  # kind TD error and the expected slot
                break
            errors.append(word & ALL_ONES)
            words.popleft()
        if not errors:
            return False
        batch.next_slot += len(errors)
        self.rmm.update_batch(batch, first, np.array(errors, np.uint32))
        if batch.next_slot == len(batch.indices):
            batch.errors_due = False
            batch.fetch_due = False
            self._forget()
        return True

    def _fetch_done(self) -> bool:
        batch = next((b for b in self._batches if b.fetch_due), None)
        if batch is None:
            return False
        batch.fetch_due = False
        self._forget()
        return True

    def _bad_word(self) -> None:
        if self._sampling:
            self._tde_error = True
        else:
            self.stray_errors.append(int(Error.E_STREAM))

    def _forget(self) -> None:
        self._batches = deque(b for b in self._batches if b.errors_due or b.fetch_due or b.ack_due)

    # ---- Jobs ----
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job (see `models.engine.EngineModel.job`)."""
        try:
            d = self._check(ring, descriptor.tobytes())
        except _JobError as error:
            return error.end
        if ring == GATHER_RING:
            return self._gather(d, memory)
        if d.opcode == Job.CLEAR:
            self.rmm.clear(self._get(registers.CFG_N), self._get(registers.CFG_PINIT))
            self._batches.clear()
            self._last = None
            self._memo.clear()
            return JobEnd(cycles=self.timing.clear())
        if ring == HOST_RING:
            self.poll()
            if d.opcode == Job.CHECK:
                return self._check_tree()
            end = self._host_job(d, memory)
            if d.opcode == Job.RESERVE and not end.error:
                due = [b for b in self._batches if b.fetch_due or b.ack_due]
                while any(b.fetch_due or b.ack_due for b in due):
                    yield
                    self.poll()
            return end
        self._sampling = True
        try:
            # Words that came before the job are of the batches before it.
            self.poll()
            return (yield from self._sampling_job(d, memory))
        except _JobError as error:
            if d.opcode == Job.TRAIN_LOOP or d.flags & Flag.SMP:
                self.smp.put(error.end.error << 120 | Op.SAMPLE << 112 | ALL_ONES, True)
            return error.end
        finally:
            self._sampling = False
            self._tde_error = False

    def _check(self, ring: int, descriptor: bytes) -> _Descriptor:
        d = _decode(ring, descriptor, 1 << self.config.batch_log2)
        if d.error:
            raise _JobError(d.error)
        leaves = self.rmm.leaves
        if d.opcode != Job.CLEAR and leaves == 0:
            raise _JobError(Error.E_NOTCLEAR)
        if d.beyond or (d.opcode == Job.GATHER and beyond(d.storage, leaves * d.row_bytes)):
            raise _JobError(Error.E_ADDR)
        if d.opcode in _WHOLE and self._sampling:
            raise _JobError(Error.E_BUSY)
        if d.opcode == Job.CLEAR:
            self._check_clear()
        return d

    def _check_clear(self) -> None:
        pinit, largest = self._get(registers.CFG_PINIT), self.rmm.leaf_max
        if (
            not 1 <= self._get(registers.CFG_N) <= 1 << self.config.n_log2
            or not 1 <= pinit <= largest
            or self._get(registers.CFG_PMIN) > min(self._get(registers.CFG_PCLIP), largest)
        ):
            raise _JobError(Error.E_CFG)

    # ---- Jobs of an engine at rest, without descriptor and memory ----
    def operate_at_once(self, op: int, rows: np.ndarray) -> int:
        """The operations of an UPDATE or INSERT without responses.

        Args:
            op: `kernels.Op`, UPDATE or INSERT.
            rows: [n, 2] uint32, indices and TD errors as they lie in memory; [n, 0]: an INSERT
                with the largest priority so far.
        Returns: the job's clocks; 0 if the job would fail or wait, and nothing is done.
        """
        if self.tde.words or self.rmm.leaves == 0 or not 1 <= len(rows) <= _MAX_OPS:
            return 0
        return self.timing.update(len(rows)) if self.rmm.operate_all(op, rows) else 0

    def sample_at_once(
        self, count: int, flags: int, beta: int
    ) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """A SAMPLE of one batch from the engine's own numbers.

        Args:
            count, flags, beta: of the descriptor; results go to memory alone.
        Returns: the job's clocks, its responses [count, 4] uint32, and of them the leaves [count]
            int64, priorities [count] int64 and weights [count] float32; None if the job would fail
            or wait, and nothing is done.
        """
        rmm = self.rmm
        stratified, weighted = bool(flags & Flag.STRATIFIED), bool(flags & Flag.WEIGHTS)
        if (
            self.tde.words
            or not 1 <= count <= 1 << self.config.batch_log2
            or (stratified and count & (count - 1))
            or rmm.tree.nodes[0] == 0
            or not self._has_room(count)
        ):
            return None
        if beta:
            self._values[registers.CFG_BETA.offset] = beta
        head, moves = rmm.head, rmm.moves
        exponent = self._get(registers.CFG_BETA) if weighted else None
        indices, *drawn = rmm.sample_columns(count, stratified, exponent)
        self._sampled(indices, head, moves, exponent, False, True)
        responses, leaves, priorities, weights = drawn
        return self.timing.sample(count, weighted), responses, leaves, priorities, weights

    # ---- Ring 2 ----
    def _gather(self, d: _Descriptor, memory: Memory) -> JobEnd:
        size = 16 if d.flags & Flag.SLOTS else 4
        raw, fault = _read(memory, d.source, d.count * size)
        indices = raw[: len(raw) // size * size].view(np.uint32)[:: size // 4]
        end = JobEnd(count=d.count, cycles=self.timing.gather(d.count, d.row_bytes, size))
        rows: list[np.ndarray] = []
        for done, index in enumerate(int(i) for i in indices):
            if index >= self.rmm.leaves:
                end = JobEnd(int(Error.E_INDEX), 0, done, done, index)
                break
            try:
                at = d.storage + index * d.row_bytes
                beats = memory.read(at // 64 * 64, -(-d.row_bytes // 64) * 64)
                rows.append(beats[at % 64 :][: d.row_bytes])
            except BusError as error:
                end = JobEnd(int(Error.E_BUS_RD), 0, done, done, error.response)
                break
        else:
            if fault is not None:
                done = len(indices)
                end = JobEnd(int(Error.E_BUS_RD), 0, done, done, fault.response)
        if rows:
            try:
                memory.write(d.destination, np.concatenate(rows))
            except BusError as error:
                if not end.error:
                    end = JobEnd(int(Error.E_BUS_WR), 0, len(rows), len(rows), error.response)
        return end

    # ---- Ring 1 ----
    def _check_tree(self) -> JobEnd:
        done = 1 << self.config.n_log2
        wrong = self.rmm.tree.wrong()
        if wrong is not None:
            info = wrong[0] << 24 | wrong[1]
            return JobEnd(int(Error.E_CHECK), 0, done, done, info, self.timing.check())
        return JobEnd(count=done, cycles=self.timing.check())

    def _host_job(self, d: _Descriptor, memory: Memory) -> JobEnd:
        _, _, element = _JOBS[d.opcode]
        reads = element > 0 and not d.flags & Flag.PMAX
        fault: BusError | None = None
        raw = np.zeros(0, np.uint8)
        count = d.count
        if reads:
            raw, fault = _read(memory, d.source, count * element)
            count = min(count, len(raw) // element)
        op, rows = _OPS[d.opcode], np.empty((count, 0), np.uint32)
        if reads:
            width = element // 4
            rows = raw.view(np.uint32)[: count * width].reshape(count, width)
        if d.flags & Flag.SLOTS:
            op = Op.UPDATE_SLOT
        responses, refused = self.rmm.operate(
            op,
            rows,
            fp32=bool(d.flags & Flag.FP32 and reads),
            pmax=bool(d.flags & Flag.PMAX),
            batch=self._last,
        )
        done = len(responses)
        if refused is not None:
            end = JobEnd(refused.code, 0, done, done, refused.index)
        elif fault is not None:
            end = JobEnd(int(Error.E_BUS_RD), 0, done, done, fault.response)
        else:
            end = JobEnd(count=done, cycles=self.timing.update(done))
        if d.flags & Flag.MEMORY and done:
            try:
                memory.write(d.destination, responses.reshape(-1).view(np.uint8))
            except BusError as error:
                if not end.error:
                    end = JobEnd(int(Error.E_BUS_WR), 0, done, done, error.response)
        return end

    # ---- Ring 0 ----
    def _sampling_job(self, d: _Descriptor, memory: Memory) -> Generator[None, None, JobEnd]:
        if d.beta:
            self._values[registers.CFG_BETA.offset] = d.beta
        if d.opcode == Job.TRAIN_LOOP:
            return (yield from self._train_loop(d))
        fault: BusError | None = None
        total = max(d.batches, 1)
        for batch in range(total):
            yield from self._wait_for_room(d.count, 0)
            try:
                words = self._sample(d, memory, bool(d.flags & Flag.SMP), batch * d.count)
            except _JobError as error:
                if error.end.error == Error.E_EMPTY:  # all slots are issued, nevertheless
                    self.rmm.draw((total - batch - 1) * d.count)
                raise
            if d.flags & Flag.MEMORY and fault is None:
                try:
                    memory.write(d.destination + 16 * batch * d.count, words)
                except BusError as error:
                    fault = error
        done = total * d.count
        if fault is not None:
            raise _JobError(Error.E_BUS_WR, done, done, fault.response)
        cycles = self.timing.sample(d.count, bool(d.flags & Flag.WEIGHTS))
        return JobEnd(count=done, cycles=cycles + (total - 1) * d.count)

    def _train_loop(self, d: _Descriptor) -> Generator[None, None, JobEnd]:
        cycles = 0
        done = 0
        mine: deque[_OpenBatch] = deque()
        ahead = 2 if self._relaxed else 1  # batches that may be open at once
        while done < d.batches:
            while (sampled := done + len(mine)) < d.batches and len(mine) < ahead:
                yield from self._wait_for_room(d.count, done)
                self._sample(d, None, True, sampled)
                cycles += self.timing.sample(d.count, bool(d.flags & Flag.WEIGHTS))
                mine.append(self._memo[-1])
            while mine and not mine[0].errors_due:
                mine.popleft()
                done += 1
                cycles += self.timing.update(d.count)
            if mine and mine[0].errors_due:
                yield
                self.poll()
                if self._tde_error:
                    raise _JobError(Error.E_STREAM, done, done)
        return JobEnd(count=done, cycles=cycles)

    def _wait_for_room(self, size: int, count: int) -> Generator[None, None, None]:
        """Wait until the memo has room for two batches of `size`."""
        while not self._has_room(size):
            yield
            self.poll()
            if self._tde_error:
                raise _JobError(Error.E_STREAM, count, count)

    def _has_room(self, size: int) -> bool:
        """Forget batches that are done; whether the memo has room for two batches of `size`."""
        memo = self._memo
        while len(memo) > 1 and not memo[0].errors_due:
            memo.popleft()
        used = sum(len(b.indices) for b in memo)
        return used + 2 * size <= max(8 << self.config.batch_log2, 512) and len(memo) < MEMO_BATCHES

    def _sample(self, d: _Descriptor, memory: Memory | None, to_smp: bool, done: int) -> np.ndarray:
        """Sample one batch and deliver it to SMP. Returns: uint8, its words for memory."""
        rmm = self.rmm
        x, fault = None, None
        if d.flags & Flag.HOST_X and memory is not None:
            raw, fault = _read(memory, d.source, d.count * 8)
            x = raw.view(np.uint64)
        if fault is not None:
            raise _JobError(Error.E_BUS_RD, done, len(raw) // 8, fault.response)
        head, moves = rmm.head, rmm.moves
        beta = self._get(registers.CFG_BETA) if d.flags & Flag.WEIGHTS else None
        drawn = rmm.sample(rmm.draw(d.count, x), bool(d.flags & Flag.STRATIFIED), beta)
        if drawn is None:
            raise _JobError(Error.E_EMPTY, done, done, ALL_ONES)
        indices, words = drawn
        self._sampled(indices, head, moves, beta, to_smp, bool(d.flags & Flag.MEMORY))
        if to_smp:
            packed = words.tobytes()
            for slot in range(d.count):
                word = int.from_bytes(packed[16 * slot : 16 * slot + 16], "little")
                self.smp.put(word, slot == d.count - 1)
        return words.reshape(-1).view(np.uint8)

    def _sampled(
        self,
        indices: np.ndarray,
        head: int,
        moves: int,
        beta: int | None,
        to_smp: bool,
        to_memory: bool,
    ) -> None:
        """Keep a batch, and what is still to come for it; the weights' exponent takes its step."""
        ack_due = to_memory and not self._no_fetch
        batch = _OpenBatch(indices, head, moves, to_smp, 0, to_smp, ack_due)
        self._last = batch
        self._memo.append(batch)
        if to_smp or ack_due:
            self._batches.append(batch)
        if beta is not None:
            step = self._get(registers.CFG_DBETA)
            self._values[registers.CFG_BETA.offset] = next_beta(beta, step)


@lru_cache(maxsize=256)
def _decode(ring: int, descriptor: bytes, largest_batch: int) -> _Descriptor:
    """The fields of a descriptor (64 bytes), and what of its checks needs no state."""
    words = np.frombuffer(descriptor, "<u4").tolist()
    opcode, flags = words[0] & 0xFF, (words[0] >> 8) & 0xFF
    own_ring, legal, element = _JOBS.get(opcode, (-1, 0, 0))
    samples, gathers = own_ring == SAMPLE_RING, opcode == Job.GATHER
    reads = element > 0
    if opcode == Job.SAMPLE:
        reads = bool(flags & Flag.HOST_X)
    elif flags & Flag.PMAX:
        reads = False
    writes = gathers or bool(flags & Flag.MEMORY)
    source = words[4] | words[5] << 32
    destination = words[6] | words[7] << 32
    storage = words[10] | words[11] << 32
    count, batches, beta, row_bytes = words[2], words[3], words[8], words[9]
    unused = [words[0] & 0x3FFF0000, *words[12:]]
    unused += [storage >> 40] if gathers else words[9:12]
    unused += [] if samples else [batches, beta]
    unused += [source >> 40 if reads else source]
    unused += [destination >> 40 if writes else destination]
    error = 0
    if own_ring != ring or flags & ~legal:
        error = Error.E_OPCODE
    elif any(unused):
        error = Error.E_RESERVED
    elif (
        (reads and (source == 0 or source % 64))
        or (writes and (destination == 0 or destination % 64))
        or (gathers and (storage % 64 or not is_row(row_bytes)))
    ):
        error = Error.E_ALIGN
    elif (
        (opcode in _WHOLE and count != 0)
        or (opcode not in _WHOLE and not 1 <= count <= (largest_batch if samples else _MAX_OPS))
        or (opcode == Job.TRAIN_LOOP and batches == 0)
        or (samples and reads and batches > 1)
        or (opcode == Job.SAMPLE and batches > _MAX_OPS)
    ):
        error = Error.E_COUNT
    elif flags & Flag.STRATIFIED and count & (count - 1):
        error = Error.E_STRAT
    copies = max(batches, 1) if opcode == Job.SAMPLE else 1
    item = _JOBS[Job.STREAM][2] if gathers and flags & Flag.SLOTS else element
    outputs = row_bytes if gathers else copies * 16
    return _Descriptor(
        opcode=opcode,
        flags=flags,
        count=count,
        batches=batches,
        source=source,
        destination=destination,
        beta=beta,
        row_bytes=row_bytes,
        storage=storage,
        error=int(error),
        beyond=(reads and beyond(source, count * item))
        or (writes and beyond(destination, count * outputs)),
    )


def is_row(nbytes: int) -> bool:
    """May a row of the data storage have so many bytes?"""
    return nbytes in (16, 32) or (nbytes % 64 == 0 and 0 < nbytes <= 1 << 20)


def _read(memory: Memory, address: int, nbytes: int) -> tuple[np.ndarray, BusError | None]:
    """Read beats of 64 bytes up to the first that fails.

    Returns: uint8, the bytes before it, at most nbytes; and the failure.
    """
    try:
        return memory.read(address, -(-nbytes // 64) * 64)[:nbytes], None
    except BusError:
        parts: list[np.ndarray] = []
        for offset in range(0, nbytes, 64):
            try:
                parts.append(memory.read(address + offset, 64))
            except BusError as error:
                got = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
                return got[:nbytes], error
        return np.concatenate(parts)[:nbytes], None
