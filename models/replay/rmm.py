"""Operations of the replay engine, one after another: the result of every slot order.

Tree, insertion state, generator, converters and the memory of batches. Jobs are in `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.registers.replay import Error
from models.replay import kernels
from models.replay.kernels import BETA_ONE, Op
from models.replay.priority import TABLES, converter_words
from models.replay.rng import Xoshiro
from models.replay.tree import SumTree

FAULTS = {
    kernels.BAD_OPCODE: Error.E_OPCODE,
    kernels.BAD_RESERVED: Error.E_RESERVED,
    kernels.BAD_INDEX: Error.E_INDEX,
    kernels.BAD_INSERT: Error.E_INSERT,
    kernels.EMPTY: Error.E_EMPTY,
}
NO_BATCH = np.zeros(0, np.int64)


class OperationError(Exception):
    """An operation that may not enter the pipeline; nothing changes."""

    def __init__(self, code: int, index: int = 0) -> None:
        super().__init__(f"{Error(code).name}, index {index}")
        self.code = int(code)
        self.index = index & 0xFFFFFFFF


@dataclass(frozen=True)
class Geometry:
    """Elaboration parameters that results depend on.

    Attributes:
        n_log2: log2 of the most leaves, 2..20.
        leaf_w: bits of a leaf, 8..32.
        batch_log2: log2 of the largest batch, 3..10.
    """

    n_log2: int = 16
    leaf_w: int = 32
    batch_log2: int = 9


@dataclass(frozen=True)
class Converter:
    """Settings of the TD error converter: see `priority.priorities`."""

    alpha: int = 0x4CCD
    eps: int = 0x3C23D70A
    fraction_bits: int = 16
    smallest: int = 1
    largest: int = 0xFFFFFFFF


@dataclass
class Batch:
    """A sampled batch, as long as its slots can be named.

    Attributes:
        indices: [B] int64.
        head: next leaf to be inserted or reserved, at its first sample.
        moves: leaves inserted or reserved since CLEAR, at its first sample.
    """

    indices: np.ndarray
    head: int
    moves: int


@dataclass
class Response:
    """What an operation returns: index, priority after it, priority before it."""

    index: int = 0
    priority: int = 0
    old: int = 0
    stale: bool = False


class _Word:
    """An attribute that is a word of the kernels' state."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __get__(self, owner: Statistics | Rmm, kind: type | None = None) -> int:
        return int(owner.state[self.place])

    def __set__(self, owner: Statistics | Rmm, value: int) -> None:
        owner.state[self.place] = value


class Statistics:
    """Counters since hard reset."""

    samples = _Word(kernels.SAMPLES)
    updates = _Word(kernels.UPDATES)
    inserts = _Word(kernels.INSERTS)
    stale = _Word(kernels.STALE)
    nonfinite = _Word(kernels.NONFINITE)
    duplicates = _Word(kernels.DUPLICATES)

    def __init__(self, state: np.ndarray) -> None:
        self.state = state


class Rmm:
    """State of the replay memory.

    Attributes:
        leaves: N, 0 before the first CLEAR.
        pointer: wp, next leaf to be inserted.
        count: leaves ever inserted, at most N.
        reserved: leaves reserved and not committed.
        moves: leaves inserted or reserved since CLEAR, modulo 2^32.
        pmax: largest priority.
        leaf_max: the largest value of a leaf.
        state: all of these as the kernels take them.
    """

    leaves = _Word(kernels.LEAVES)
    pointer = _Word(kernels.POINTER)
    count = _Word(kernels.COUNT)
    reserved = _Word(kernels.HELD)
    moves = _Word(kernels.MOVES)
    pmax = _Word(kernels.PMAX)
    leaf_max = _Word(kernels.LEAF_MAX)

    def __init__(
        self, geometry: Geometry | None = None, converter: Converter | None = None
    ) -> None:
        self.geometry = geometry or Geometry()
        self.state = np.zeros(kernels.STATE_WORDS, np.int64)
        self.leaf_max = (1 << self.geometry.leaf_w) - 1
        self.tree = SumTree(self.geometry.n_log2)
        self.generator = Xoshiro()
        self.statistics = Statistics(self.state)
        self.converter = converter or Converter()

    @property
    def converter(self) -> Converter:
        """Settings of the TD error converter."""
        return self._converter

    @converter.setter
    def converter(self, settings: Converter) -> None:
        self._converter = settings
        self._converter_words = converter_words(
            alpha=settings.alpha,
            eps=settings.eps,
            fraction_bits=settings.fraction_bits,
            smallest=settings.smallest,
            largest=min(settings.largest, self.leaf_max),
        )

    @property
    def head(self) -> int:
        """Next leaf to be inserted or reserved."""
        return (self.pointer + self.reserved) % self.leaves

    def clear(self, leaves: int, pmax: int) -> None:
        """Set all priorities to 0 and forget all insertions."""
        self.tree.clear()
        self.leaves, self.pmax = leaves, pmax
        self.pointer = self.count = self.reserved = self.moves = 0

    # ---- Samples ----
    def draw(self, count: int, x: np.ndarray | None = None) -> np.ndarray:
        """[count] uniform 48-bit integers: given (uint64, the upper bits ignored) or generated."""
        if x is not None:
            return x & np.uint64((1 << 48) - 1)
        return self.generator.uniforms(count)

    def sample(
        self, x: np.ndarray, stratified: bool = False, beta: int | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Draw one leaf for each number.

        Args:
            x: [B] uint64, uniform 48-bit integers.
            stratified: slot b draws from the b-th of B equal parts; B is a power of two.
            beta: exponent of the importance weights, unsigned Q2.30; None: all are 1.0.
        Returns: [B] int64 leaves and [B, 4] uint32 responses: leaf, priority, weight (FP32 bits),
            slot and operation; None if the total is 0.
        Source: onchip_replay 2.1.2, Eq. (1).
        """
        if self.tree.nodes[0] == 0:
            return None
        slots = len(x).bit_length() - 1 if stratified else -1
        out = np.empty((len(x), 4), np.uint32)
        indices = kernels.sample(
            x, slots, beta is not None, beta or 0, self.tree.nodes, self.tree.shape, self.state,
            TABLES, out,
        )  # fmt: skip
        return indices, out

    def sample_columns(
        self, count: int, stratified: bool, beta: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`sample` with the generator's numbers in one call; the total is not 0.

        Returns: see `kernels.sample_columns`.
        """
        slots = count.bit_length() - 1 if stratified else -1
        return kernels.sample_columns(
            count, slots, beta is not None, beta or 0, self.tree.nodes, self.tree.shape,
            self.state, self.generator.words, TABLES,
        )  # fmt: skip

    # ---- Everything else ----
    def convert(self, errors: np.ndarray) -> np.ndarray:
        """TD errors ([B] uint32, FP32 bits) to priorities ([B] int64)."""
        values, nonfinite = kernels.priorities(errors, self._converter_words, TABLES)
        self.statistics.nonfinite += int(nonfinite.sum())
        return values

    def check(self, op: int, index: int) -> None:
        """Raise OperationError if the operation may not enter the pipeline now."""
        fault = kernels.refusal(int(op), index, self.leaves, self.reserved)
        if fault:
            raise OperationError(FAULTS[fault], self.head if fault == kernels.BAD_INSERT else index)

    def is_stale(self, batch: Batch, indices: np.ndarray) -> np.ndarray:
        """Which leaves were inserted or reserved since the batch was sampled.

        Args:
            indices: [B] int64.
        Returns: [B] bool.
        Source: thesis 4.2.2.
        """
        return kernels.are_stale(self.state, indices, batch.head, batch.moves)

    def apply(
        self,
        op: int,
        index: int = 0,
        value: int = 0,
        pmax: bool = False,
        batch: Batch | None = None,
    ) -> Response:
        """Do one operation that is not a sample.

        Args:
            op: `kernels.Op`, not SAMPLE; it has passed `check`.
            index: leaf (RETRIEVE, UPDATE, UPDATE_DELTA, UPDATE_SLOT).
            value: new priority, of which leaf_w bits count, or signed change (UPDATE_DELTA).
            pmax: INSERT and COMMIT use PMAX instead.
            batch: UPDATE_SLOT: the batch that sampled the leaf.
        """
        request = np.array(
            [[op | pmax << 5, index, value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]], np.uint32
        )
        out = np.empty((1, 4), np.uint32)
        self._operate(request, op, False, pmax, NO_BATCH, batch, True, out)
        index, new, old, last = out[0].tolist()
        return Response(index, new, old, bool(last >> 31))

    def operate(
        self,
        op: int,
        rows: np.ndarray,
        *,
        fp32: bool = False,
        pmax: bool = False,
        batch: Batch | None = None,
    ) -> tuple[np.ndarray, OperationError | None]:
        """Do operations one after another, up to the first that may not enter the pipeline.

        Args:
            op: of all of them.
            rows: [n, w] uint32: w is 0 for nothing, 1 for an index, 2 for index and value, 4 for
                unified requests, which have their own op and flags.
            fp32: the values are TD errors.
            pmax: INSERT and COMMIT use PMAX.
            batch: whose slots UPDATE_SLOT names.
        Returns: [done, 4] uint32 responses, and why the next one may not enter.
        """
        out = np.empty((len(rows), 4), np.uint32)
        slots = NO_BATCH if batch is None else batch.indices
        done = self._operate(rows, op, fp32, pmax, slots, batch, False, out)
        if done == len(rows):
            return out, None
        code, index = self.state[kernels.FAULT : kernels.FAULT_INDEX + 1].tolist()
        return out[:done], OperationError(FAULTS[code], index)

    def operate_all(self, op: int, rows: np.ndarray) -> bool:
        """All operations, or none: see `kernels.operate_all`."""
        return kernels.operate_all(
            rows, int(op), self.tree.nodes, self.tree.shape, self.state, self.generator.words,
            self._converter_words, TABLES,
        )  # fmt: skip

    def _operate(
        self,
        rows: np.ndarray,
        op: int,
        fp32: bool,
        pmax: bool,
        slots: np.ndarray,
        batch: Batch | None,
        checked: bool,
        out: np.ndarray,
    ) -> int:
        head, moves = (0, 0) if batch is None else (batch.head, batch.moves)
        return kernels.operate(
            rows, int(op), fp32, pmax, self.tree.nodes, self.tree.shape, self.state,
            self.generator.words, self._converter_words, TABLES, slots, head, moves, checked, out,
        )  # fmt: skip

    def update_batch(self, batch: Batch, first: int, errors: np.ndarray) -> None:
        """UPDATE_SLOT for a run of slots, in order.

        Args:
            batch: the batch.
            first: slot of the first.
            errors: [n] uint32, their TD errors, FP32 bits.
        """
        rows = np.empty((len(errors), 2), np.uint32)
        rows[:, 0] = np.arange(first, first + len(errors))
        rows[:, 1] = errors
        self.operate(Op.UPDATE_SLOT, rows, fp32=True, batch=batch)


def next_beta(beta: int, step: int) -> int:
    """The weights' exponent after a batch, Q2.30: never above 1.0."""
    return min(BETA_ONE, beta + step)
