"""Both rings and TDE at once: the golden model in the order that the design chose.

The design's order point tells in which clock a sample passes it, and in which an update does (a
sample first, if both do). That is all that is taken from the design: what is done, and with what
result, comes from the jobs that were queued, the TD errors that were sent and the golden model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from models.registers import replay as registers
from models.replay.engine import Flag
from models.replay.kernels import Op
from models.replay.rmm import Batch, next_beta
from models.replay.weights import ONE_FP32, weights
from verif.replay.env import ReplayEnv


@dataclass
class HostOp:
    """An operation of ring 1: op, leaf, value, and whether it is a TD error or PMAX."""

    op: int
    index: int = 0
    value: int = 0
    fp32: bool = False
    pmax: bool = False


@dataclass
class Round:
    """What was queued at once.

    Attributes:
        sizes: of the batches of ring 0.
        stratified, weighted: their flags.
        host: operations of ring 1, in order.
    """

    sizes: deque[int]
    stratified: bool
    weighted: bool
    host: deque[HostOp]


@dataclass
class Trace:
    """Follows the order point and runs the golden model after it.

    Attributes:
        now: what is queued.
        words: expected words of SMP.
        responses: expected responses of ring 1.
        both: clocks in which a sample and an update passed together.
    """

    env: ReplayEnv
    now: Round | None = None
    words: list[int] = field(default_factory=list)
    responses: list[bytes] = field(default_factory=list)
    both: int = 0
    _open: deque[tuple[Batch, int]] = field(default_factory=deque)
    _sampled: list[tuple[int, int]] = field(default_factory=list)
    _start: tuple[int, int] = (0, 0)
    _errors: deque[int] = field(default_factory=deque)

    @property
    def waits(self) -> bool:
        """TD errors are still to come."""
        return bool(self._open or self._errors)

    def start(self) -> None:
        """Follow from now on."""
        cocotb.start_soon(self._follow())

    async def _follow(self) -> None:
        core = self.env.core
        edge = RisingEdge(self.env.dut.clk_i)
        sample, update = core.order_valid_o, core.u_valid_o
        while True:
            await edge
            if not self.now:
                continue
            first, second = bool(sample.value), bool(update.value)
            self.both += first and second
            if first:
                self._sample(self.now)
            if second:
                self._update(self.now, self._is_host(core))

    @staticmethod
    def _is_host(core: Any) -> bool:
        """The top bit of the response's tag, which is its top field."""
        value = core.u_response_o.value
        return str(value)[0] == "1"

    def _sample(self, now: Round) -> None:
        rmm = self.env.golden.rmm
        slot, size = len(self._sampled), now.sizes[0]
        if slot == 0:
            self._start = (rmm.head, rmm.moves)
        u = int(rmm.draw(1)[0])
        if now.stratified:
            target = 1 + (((slot << 48) + u) * rmm.tree.total >> (48 + size.bit_length() - 1))
        else:
            target = 1 + (u * rmm.tree.total >> 48)
        index = int(rmm.tree.find(np.array([target], np.int64))[0])
        self._sampled.append((index, rmm.tree.get(index)))
        if len(self._sampled) == size:
            self._deliver(now)

    def _deliver(self, now: Round) -> None:
        rmm, golden = self.env.golden.rmm, self.env.golden
        now.sizes.popleft()
        indices = np.array([i for i, _ in self._sampled], np.int64)
        values = np.array([v for _, v in self._sampled], np.int64)
        self._sampled = []
        self._open.append((Batch(indices, *self._start), 0))
        rmm.statistics.samples += len(indices)
        rmm.statistics.duplicates += int((indices[1:] == indices[:-1]).sum())
        weight = np.full(len(indices), ONE_FP32, np.uint32)
        if now.weighted:
            offset = registers.CFG_BETA.offset
            beta = golden.read_register(offset)
            weight = weights(values, int(values.min()), beta)
            step = golden.read_register(registers.CFG_DBETA.offset)
            golden.write_register(offset, next_beta(beta, step), True)
        for slot, (index, value, w) in enumerate(zip(indices, values, weight, strict=True)):
            self.words.append(
                Op.SAMPLE << 112 | slot << 96 | int(w) << 64 | int(value) << 32 | int(index)
            )

    def _update(self, now: Round, host: bool) -> None:
        rmm = self.env.golden.rmm
        if host:
            op = now.host.popleft()
            value = op.value
            if op.fp32:
                value = int(rmm.convert(np.array([value], np.uint32))[0])
            r = rmm.apply(op.op, op.index, value, op.pmax)
            self.responses.append(_response(op.op, 0, r.index, r.priority, r.old))
            return
        if not self._errors:
            self._errors.extend(w for w in self.env.learner.sent.popleft() if not w >> 48)
        batch, slot = self._open.popleft()
        word = self._errors.popleft()
        assert word >> 32 == slot
        value = int(rmm.convert(np.array([word & 0xFFFFFFFF], np.uint32))[0])
        rmm.apply(Op.UPDATE_SLOT, int(batch.indices[slot]), value, False, batch)
        if slot + 1 < len(batch.indices):
            self._open.appendleft((batch, slot + 1))

    def finish(self, flags: int, address: int) -> None:
        """Compare what came out of both rings since the last time."""
        got = [word for batch in self.env.learner.batches for word in batch]
        assert got == self.words, f"{len(got)} words of SMP, want {len(self.words)}"
        want = b"".join(self.responses)
        if flags & Flag.MEMORY:
            mine = self.env.memory.dump(address, len(want)).tobytes()
            for at in range(0, len(want), 16):
                pair = mine[at : at + 16].hex(), want[at : at + 16].hex()
                assert pair[0] == pair[1], f"response {at // 16}: got {pair[0]}, want {pair[1]}"
        assert self.now is not None and not self.now.host and not self.now.sizes
        assert not self._open and not self._errors
        self.env.learner.batches.clear()
        self.words, self.responses = [], []


def _response(op: int, tag: int, index: int, priority: int, third: int) -> bytes:
    """A response word, little endian, status 0."""
    word = op << 112 | tag << 96 | third << 64 | priority << 32 | index
    return word.to_bytes(16, "little")
