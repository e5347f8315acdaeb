"""Operations of the replay engine, one after another: the result of every slot order.

Tree, insertion state, generator, converters and the memory of batches. Jobs are in `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from models.registers.replay import Error
from models.replay.flat import target
from models.replay.priority import priorities
from models.replay.rng import Xoshiro
from models.replay.tree import SumTree
from models.replay.weights import BETA_ONE


class Op(IntEnum):
    """Operation codes of the unified request."""

    NOP = 0
    SAMPLE = 1
    RETRIEVE = 2
    UPDATE = 3
    UPDATE_DELTA = 4
    INSERT = 5
    UPDATE_SLOT = 6
    RESERVE = 7
    COMMIT = 8
    CHECK = 9  # of a CHECK job alone, for every leaf in order


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


@dataclass
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
class Statistics:
    """Counters since hard reset."""

    samples: int = 0
    updates: int = 0
    inserts: int = 0
    stale: int = 0
    nonfinite: int = 0
    duplicates: int = 0


@dataclass
class Response:
    """What an operation returns: index, priority after it, priority before it."""

    index: int = 0
    priority: int = 0
    old: int = 0
    stale: bool = False


@dataclass
class Rmm:
    """State of the replay memory.

    Attributes:
        leaves: N, 0 before the first CLEAR.
        pointer: wp, next leaf to be inserted.
        count: leaves ever inserted, at most N.
        reserved: leaves reserved and not committed.
        moves: leaves inserted or reserved since CLEAR, modulo 2^32.
        pmax: largest priority.
    """

    geometry: Geometry = field(default_factory=Geometry)
    converter: Converter = field(default_factory=Converter)
    leaves: int = 0
    pointer: int = 0
    count: int = 0
    reserved: int = 0
    moves: int = 0
    pmax: int = 0

    def __post_init__(self) -> None:
        self.tree = SumTree(self.geometry.n_log2)
        self.generator = Xoshiro()
        self.statistics = Statistics()
        self.leaf_max = (1 << self.geometry.leaf_w) - 1

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
        return np.array([self.generator.uniform() for _ in range(count)], np.uint64)

    def sample(
        self, x: np.ndarray, stratified: bool = False
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Draw one leaf for each number.

        Args:
            x: [B] uint64, uniform 48-bit integers.
            stratified: slot b draws from the b-th of B equal parts; B is a power of two.
        Returns: [B] int64 indices and [B] int64 priorities; None if the total is 0.
        Source: onchip_replay 2.1.2, Eq. (1).
        """
        total = self.tree.total
        if total == 0:
            return None
        slots = (len(x).bit_length() - 1) if stratified else None
        targets = np.array([target(total, int(u), b, slots) for b, u in enumerate(x)], np.int64)
        indices = self.tree.find(targets)
        self.statistics.samples += len(x)
        return indices, self.tree.leaves[indices]

    # ---- Everything else ----
    def convert(self, errors: np.ndarray) -> np.ndarray:
        """TD errors ([B] uint32, FP32 bits) to priorities ([B] int64)."""
        c = self.converter
        values, nonfinite = priorities(
            errors,
            alpha=c.alpha,
            eps=c.eps,
            fraction_bits=c.fraction_bits,
            smallest=c.smallest,
            largest=min(c.largest, self.leaf_max),
        )
        self.statistics.nonfinite += int(nonfinite.sum())
        return values

    def check(self, op: int, index: int) -> None:
        """Raise OperationError if the operation may not enter the pipeline now."""
        if op in (Op.RETRIEVE, Op.UPDATE, Op.UPDATE_DELTA) and index >= self.leaves:
            raise OperationError(Error.E_INDEX, index)
        if (
            (op == Op.INSERT and self.reserved > 0)
            or (op == Op.COMMIT and self.reserved == 0)
            or (op == Op.RESERVE and self.reserved >= self.leaves // 2)
        ):
            raise OperationError(Error.E_INSERT, self.head)

    def is_stale(self, batch: Batch, indices: np.ndarray) -> np.ndarray:
        """Which leaves were inserted or reserved since the batch was sampled.

        Args:
            indices: [B] int64.
        Returns: [B] bool.
        Source: thesis 4.2.2.
        """
        moved = (self.moves - batch.moves) & 0xFFFFFFFF
        return (indices - batch.head) % self.leaves < min(moved, self.leaves)

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
            op: Op, not SAMPLE; it has passed `check`.
            index: leaf (RETRIEVE, UPDATE, UPDATE_DELTA, UPDATE_SLOT).
            value: new priority, of which leaf_w bits count, or signed change (UPDATE_DELTA).
            pmax: INSERT and COMMIT use PMAX instead.
            batch: UPDATE_SLOT: the batch that sampled the leaf.
        """
        if op == Op.NOP:
            return Response()
        tree = self.tree
        new = self.pmax if pmax else value & self.leaf_max
        if op in (Op.INSERT, Op.COMMIT):
            index = self.pointer
            self.pointer = (self.pointer + 1) % self.leaves
            self.count = min(self.count + 1, self.leaves)
            self.statistics.inserts += 1
            if op == Op.COMMIT:
                self.reserved -= 1
        elif op == Op.RESERVE:
            index = self.head
            self.reserved += 1
            new = 0
        old = tree.get(index) if index < self.leaves else 0
        if op in (Op.RETRIEVE, Op.CHECK):
            return Response(index, old, old)
        if op == Op.UPDATE_SLOT:
            assert batch is not None
            if self.is_stale(batch, np.array([index]))[0]:
                self.statistics.stale += 1
                return Response(index, old, old, True)
        if op == Op.UPDATE_DELTA:
            new = min(max(old + value, 0), self.leaf_max)
        if op in (Op.INSERT, Op.RESERVE):
            self.moves = (self.moves + 1) & 0xFFFFFFFF
        if op in (Op.UPDATE, Op.UPDATE_SLOT, Op.UPDATE_DELTA):
            self.statistics.updates += 1
        tree.set(index, new)
        self.pmax = max(self.pmax, new)
        return Response(index, new, old)

    def update_batch(self, batch: Batch, slots: slice, values: np.ndarray) -> None:
        """UPDATE_SLOT for a run of slots, in order.

        Args:
            batch: the batch.
            slots: the run.
            values: its new priorities, int64.
        """
        indices = batch.indices[slots]
        fresh = ~self.is_stale(batch, indices)
        indices, values = indices[fresh], values[fresh]
        self.statistics.stale += len(fresh) - len(indices)
        self.statistics.updates += len(indices)
        if len(indices):
            self.tree.set_many(indices, values)
            self.pmax = max(self.pmax, int(values.max()))


def next_beta(beta: int, step: int) -> int:
    """The weights' exponent after a batch, Q2.30: never above 1.0."""
    return min(BETA_ONE, beta + step)
