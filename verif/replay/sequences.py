"""Random jobs of the replay engine: what the tests draw."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from models.replay.engine import Flag, Job
from models.replay.kernels import Op

Drawn = tuple[int, int, dict[str, Any]]  # ring, opcode, options of ReplayEnv.descriptor


class Jobs:
    """Draws legal jobs, most of whose operations are legal too.

    Args:
        rng: where the draws come from.
        leaves: N.
        leaf_w: bits of a leaf.
        batch: largest batch.
        hot: leaves that most operations meet, so that they collide.
    """

    def __init__(
        self, rng: random.Random, leaves: int, leaf_w: int, batch: int, hot: int = 8
    ) -> None:
        self.rng, self.leaves, self.leaf_w, self.batch = rng, leaves, leaf_w, batch
        self.hot = min(hot, leaves)
        self.kinds: list[Callable[[], Drawn]] = [
            self.sample, self.sample, self.sample, self.retrieve, self.update, self.update,
            self.delta, self.insert, self.insert, self.reserve, self.commit, self.stream,
            self.loop,
        ]  # fmt: skip

    def draw(self) -> Drawn:
        """One job."""
        return self.rng.choice(self.kinds)()

    def index(self) -> int:
        """A leaf, often a hot one."""
        return self.rng.randrange(self.hot if self.rng.random() < 0.7 else self.leaves)

    def indices(self, count: int) -> np.ndarray:
        """[count] uint32 leaves; now and then an illegal one."""
        values = [self.index() for _ in range(count)]
        if self.rng.random() < 0.08:
            values[self.rng.randrange(count)] = self.leaves + self.rng.choice((0, 1, 1 << 20))
        return np.array(values, np.uint32)

    def value(self, fp32: bool = False) -> int:
        """32 bits: a raw priority, or a TD error."""
        largest = (1 << self.leaf_w) - 1
        if not fp32:
            return self.rng.choice(
                (0, 1, self.rng.getrandbits(8), self.rng.getrandbits(self.leaf_w), largest)
            )
        special = (0x7FC00000, 0x7F800000, 0xFF800000, 0, 1, 0x80000001, 0x7F7FFFFF)
        number = np.array([self.rng.gauss(0, 2)], np.float32).view(np.uint32)[0]
        return self.rng.choice(special) if self.rng.random() < 0.15 else int(number)

    def count(self, most: int = 40) -> int:
        """A number of operations, often few."""
        return self.rng.choice((1, 2, 15, 16, 17, self.rng.randint(1, most)))

    def flags(self, *maybe: int) -> int:
        """Some of the flags."""
        return sum(flag for flag in maybe if self.rng.random() < 0.5)

    def pairs(self, first: np.ndarray, fp32: bool) -> np.ndarray:
        """[n, 2] uint32 pairs."""
        values = np.array([self.value(fp32) for _ in first], np.uint32)
        return np.stack([first, values], axis=1)

    def sample(self) -> Drawn:
        """SAMPLE."""
        flags = self.flags(Flag.HOST_X, Flag.STRATIFIED, Flag.MEMORY, Flag.SMP, Flag.WEIGHTS)
        count = self.rng.choice((1, 2, self.batch - 1, self.batch, self.rng.randint(1, self.batch)))
        if flags & Flag.STRATIFIED:
            count = 1 << self.rng.randint(0, self.batch.bit_length() - 1)
        options: dict[str, Any] = {"flags": flags, "count": count}
        if flags & Flag.HOST_X:
            x = [self.rng.choice((0, 2**48 - 1, self.rng.getrandbits(64))) for _ in range(count)]
            options["data"] = np.array(x, np.uint64)
        else:
            options["batches"] = self.rng.choice((0, 0, 1, 2, 3, self.rng.randint(1, 12)))
        if self.rng.random() < 0.2:
            options["beta"] = self.rng.choice((1, 1 << 29, 1 << 30, 3 << 30))
        return 0, Job.SAMPLE, options

    def loop(self) -> Drawn:
        """TRAIN_LOOP."""
        flags = self.flags(Flag.STRATIFIED, Flag.SMP, Flag.WEIGHTS)
        count = 1 << self.rng.randint(0, self.batch.bit_length() - 1)
        return (
            0,
            Job.TRAIN_LOOP,
            {"flags": flags, "count": count, "batches": self.rng.randint(1, 4)},
        )

    def retrieve(self) -> Drawn:
        """RETRIEVE."""
        count = self.count()
        return 1, Job.RETRIEVE, {
            "flags": self.flags(Flag.MEMORY), "count": count, "data": self.indices(count),
        }  # fmt: skip

    def update(self) -> Drawn:
        """UPDATE, by leaf or by slot."""
        count = self.count()
        flags = self.flags(Flag.FP32, Flag.MEMORY, Flag.SLOTS)
        if flags & Flag.SLOTS:
            first = np.array([self.rng.randrange(self.batch) for _ in range(count)], np.uint32)
        else:
            first = self.indices(count)
        data = self.pairs(first, bool(flags & Flag.FP32))
        return 1, Job.UPDATE, {"flags": flags, "count": count, "data": data}

    def delta(self) -> Drawn:
        """UPDATE_DELTA."""
        count = self.count()
        data = self.pairs(self.indices(count), False)
        signs = np.array([self.rng.random() < 0.5 for _ in range(count)])
        data[:, 1] = np.where(signs, -data[:, 1].astype(np.int64), data[:, 1]).astype(np.uint32)
        return 1, Job.UPDATE_DELTA, {
            "flags": self.flags(Flag.MEMORY), "count": count, "data": data,
        }  # fmt: skip

    def leaves_job(self, opcode: int, most: int) -> Drawn:
        """INSERT or COMMIT."""
        count = self.rng.randint(1, most)
        flags = self.flags(Flag.FP32, Flag.PMAX, Flag.MEMORY)
        options: dict[str, Any] = {"flags": flags, "count": count}
        if not flags & Flag.PMAX:
            options["data"] = self.pairs(np.zeros(count, np.uint32), bool(flags & Flag.FP32))
        return 1, opcode, options

    def insert(self) -> Drawn:
        """INSERT."""
        return self.leaves_job(Job.INSERT, 12)

    def commit(self) -> Drawn:
        """COMMIT."""
        return self.leaves_job(Job.COMMIT, 4)

    def reserve(self) -> Drawn:
        """RESERVE."""
        return 1, Job.RESERVE, {"flags": self.flags(Flag.MEMORY), "count": self.rng.randint(1, 4)}

    def request(self, op: int) -> list[int]:
        """One request of a STREAM job, four words."""
        legal = {
            Op.SAMPLE: (4,), Op.UPDATE: (1,), Op.UPDATE_SLOT: (1,), Op.INSERT: (1, 2),
            Op.COMMIT: (1, 2),
        }  # fmt: skip
        flags = self.flags(*legal.get(Op(op), ()))
        tag = self.rng.getrandbits(16)
        if op == Op.UPDATE_SLOT:
            tag = self.rng.randrange(self.batch)
        value = self.value(bool(flags & 1))
        high = self.rng.getrandbits(32) if self.rng.random() < 0.2 else 0
        if op == Op.UPDATE_DELTA and self.rng.random() < 0.5:
            value, high = -value & 0xFFFFFFFF, 0xFFFFFFFF if value else 0
        if op == Op.SAMPLE:
            value, high = self.rng.getrandbits(32), self.rng.getrandbits(32)
        return [op | flags << 4 | tag << 8, self.index(), value, high]

    def stream(self) -> Drawn:
        """STREAM of any operations."""
        count = self.count(60)
        ops = [Op.NOP, Op.SAMPLE, Op.RETRIEVE, Op.UPDATE_DELTA, Op.INSERT, Op.UPDATE_SLOT]
        ops += [Op.RESERVE, Op.COMMIT] + [Op.UPDATE] * 6
        data = np.array([self.request(self.rng.choice(ops)) for _ in range(count)], np.uint32)
        return 1, Job.STREAM, {"flags": self.flags(Flag.MEMORY), "count": count, "data": data}
