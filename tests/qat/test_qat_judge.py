"""Targets, errors and seeds of a chunk in the slots, and |td| of its vectors, to bit and clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.float import from_fixed
from models.qat import ops
from models.qat.layout import MISC_WORDS
from verif.play import Block, Player
from verif.qat.array import WORD, pack, unpack

SLOTS, ACT, DEL = 32, 12, 5  # of the bench
SIZES = {"R0": (4, 1), "small": (4, 2), "wide": (4, 4), "qat": (8, 2), "full": (16, 2)}  # Lw, N
BURST = 40  # clocks
FIRST, TURN = 18, 3  # clocks from a slot's first read to its first write; from slot to slot


def block(lw: int, n: int) -> Block:
    """jd_qat_judge on memories."""
    line = lw * WORD
    return Block(
        "jackdaw:engine:qat_top",
        "jd_qat_judge_bench",
        {
            "clear_i": 1, "start_i": 1, "actor_i": 1, "actor_scale_i": 3, "scale_i": 4,
            "weighted_i": 1, "vectors_i": 10, "common_i": 1, "next_line_i": 11, "q_line_i": 11,
            "misc_line_i": 11, "delta_line_i": 11, "line_ready_i": 1, "td_ready_i": 1,
            "sums_clear_i": 1, "put_valid_i": 1, "put_cores_i": n, "put_delta_i": 1,
            "put_odd_i": 1, "put_address_i": 18, "put_data_i": line, "get_valid_i": 1,
            "get_delta_i": 1, "get_odd_i": 1, "get_address_i": 18,
        },
        {
            "idle_o": 1, "read_valid_o": 1, "line_valid_o": 1, "td_valid_o": 1, "td_data_o": 32,
            "over_o": (3 * n).bit_length(), "sum_q_o": 64, "sum_td_o": 64, "count_o": 32,
            "get_data_o": n * line,
        },
        sources=("verif/qat/jd_qat_judge_bench.sv",),
    )  # fmt: skip


def player(size: str, seed: int) -> Player:
    """The bench, out of reset."""
    lw, n = SIZES[size]
    parameters = {"Lw": lw, "N": n, "Slots": SLOTS, "ActLines": ACT, "DelLines": DEL}
    return Player(block(lw, n), parameters, seed)


pytestmark = builds(lambda size: player(size, 1))


@dataclass(frozen=True)
class Job:
    """What the judge does.

    Attributes:
        actor, weighted, vectors, common: as of the ports.
        scale: of the loss: of the actor 0..6, of the critic -8..7.
        following, q, misc, delta: lines of a slot.
        keen: share of the clocks in which |td| can leave, in bursts, or an actor's seeds.
    """

    actor: bool
    weighted: bool
    vectors: int
    scale: int
    following: int
    q: int
    misc: int
    delta: int
    keen: float
    common: bool


class Slots:
    """The memories of the bench and what they must hold.

    Attributes:
        act, delta: [core, slot, line, word].
    """

    def __init__(self, sim: Player, size: str, rng: np.random.Generator) -> None:
        self.sim, self.rng = sim, rng
        self.lw, self.n = SIZES[size]
        self.act = np.zeros((self.n, SLOTS, ACT, self.lw), np.int64)
        self.delta = np.zeros((self.n, SLOTS, DEL, self.lw), np.int64)
        for line in range(ACT):
            self.put(line, numbers(rng, self.n, SLOTS, self.lw))
        for line in range(DEL):
            self.put(line, numbers(rng, self.n, SLOTS, self.lw), True)

    def put(self, line: int, lines: np.ndarray, delta: bool = False) -> None:
        """Write a line of every slot: [core, slot, word]."""
        (self.delta if delta else self.act)[:, :, line] = lines
        cores, slots = (x.reshape(-1) for x in np.mgrid[: self.n, :SLOTS])
        self.sim.run(
            len(slots), put_valid_i=np.ones(len(slots)), put_cores_i=1 << cores,
            put_delta_i=np.full(len(slots), delta), put_odd_i=slots % 2,
            put_address_i=slots // 2 * DEL + line if delta else slots * ACT + line,
            put_data_i=pack(lines.reshape(-1, self.lw), WORD),
        )  # fmt: skip

    def compare(self) -> None:
        """Read all lines."""
        for delta, want in ((False, self.act), (True, self.delta)):
            slots, lines = (x.reshape(-1) for x in np.mgrid[:SLOTS, : want.shape[2]])
            count = len(slots)
            address = slots // 2 * DEL + lines if delta else slots * ACT + lines
            out = self.sim.run(
                count + 3, get_valid_i=np.pad(np.ones(count), (0, 3)),
                get_delta_i=np.full(count + 3, delta), get_odd_i=np.pad(slots % 2, (0, 3)),
                get_address_i=np.pad(address, (0, 3)),
            )  # fmt: skip
            got = unpack(out["get_data_o"][3:], WORD, self.n * self.lw)
            got = got.reshape(count, self.n, self.lw).transpose(1, 0, 2).reshape(want.shape)
            np.testing.assert_array_equal(got, want)

    def vectors(self, job: Job, line: int, word: int) -> np.ndarray:
        """A word of each vector, [n]: of the first core, if all have them."""
        found = self.act[:, :, line, word]
        return (found[0] if job.common else found.T.reshape(-1))[: job.vectors]

    def keep(self, job: Job, memory: np.ndarray, line: int, word: int, values: np.ndarray) -> None:
        """Inverse of vectors; into all cores, if all have them."""
        v = np.arange(len(values))
        if job.common:
            memory[:, v, line, word] = values
        else:
            memory[v % self.n, v // self.n, line, word] = values

    def run(
        self, job: Job, clocks: int, clear: int = -1
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Start a job; it has so many clocks. Returns outputs, and when |td| could leave."""
        held = {
            "actor_i": job.actor, "weighted_i": job.weighted, "vectors_i": job.vectors,
            "common_i": job.common,
            "scale_i": job.scale & 15, "actor_scale_i": job.scale & 7,
            "next_line_i": job.following, "q_line_i": job.q, "misc_line_i": job.misc,
            "delta_line_i": job.delta,
        }  # fmt: skip
        keen = np.repeat(self.rng.random(clocks // BURST + 1) < job.keen, BURST)[:clocks]
        out = self.sim.run(
            clocks, start_i=np.arange(clocks) == 1, clear_i=np.arange(clocks) == clear,
            td_ready_i=keen, line_ready_i=(self.rng.random(clocks) < job.keen) | (not job.actor),
            **{name: np.full(clocks, value) for name, value in held.items()},
        )  # fmt: skip
        return out, keen


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Words of all sizes."""
    return rng.integers(-(1 << 31), 1 << 31, shape) >> rng.integers(0, 31, shape)


def wide(found: np.ndarray) -> int:
    """The last value of a port of 64 bits, signed."""
    low, high = (int(word) for word in found[-1])
    return (high << 32 | low) - (high >> 31 << 64)


def drawn(rng: np.random.Generator, slots: Slots, turn: int) -> Job:
    """A job, with what it reads in the slots."""
    common = turn % 5 in (2, 3)
    most = SLOTS if common else slots.n * SLOTS
    whole = turn in (0, 1, 4)  # the last of them with |td| that leave slowly
    vectors = most - turn % 2 if whole else int(rng.integers(1, most + 1))
    needs = -(-MISC_WORDS // slots.lw)
    lines = rng.permutation(ACT // needs)[:3] * needs
    following, q, misc_line = (int(line) for line in lines)
    job = Job(
        turn % 4 == 3, turn % 2 == 0, vectors, int(rng.integers(-8, 8)), following, q, misc_line,
        int(rng.integers(0, DEL)), (1.0, 0.2, 0.5)[turn % 3], common,
    )  # fmt: skip
    for line in (job.following, job.q, *(job.misc + k for k in range(needs))):
        slots.put(line, numbers(rng, slots.n, SLOTS, slots.lw))
    misc = numbers(rng, slots.n, SLOTS, slots.lw)
    misc[..., 1] = rng.choice([0, -1, -(1 << 31), -42_949_673], misc.shape[:2])
    misc[..., 2] = rng.integers(0, 1 << 25, misc.shape[:2])
    slots.put(job.misc, misc)
    return job


def expect(slots: Slots, job: Job) -> ops.Loss | None:
    """Do a job in the model."""
    n = job.vectors
    if job.actor:
        for word in range(slots.lw):
            seed = ops.actor_seed(job.scale & 7) if word == 0 else 0
            slots.keep(job, slots.delta, job.delta, word, np.full(n, seed))
        return None
    q = slots.vectors(job, job.q, 0)
    reward, discount, weight = (slots.vectors(job, job.misc, word) for word in range(3))
    loss = ops.loss(
        q, slots.vectors(job, job.following, 0), reward, discount & 0xFFFFFFFF,
        weight if job.weighted else None, job.scale,
    )  # fmt: skip
    misc = [reward, discount, weight, loss.y, q, loss.td, 0 * q, 0 * q]
    for word in range(max(len(misc), slots.lw)):
        line, at = divmod(word, slots.lw)
        values = misc[word] if word < len(misc) else 0 * q
        slots.keep(job, slots.act, job.misc + line, at, values)
    for word in range(slots.lw):
        slots.keep(job, slots.delta, job.delta, word, loss.seed if word == 0 else 0 * q)
    return loss


@pytest.mark.parametrize("size", ["R0", "small", *(regress(s) for s in ("wide", "qat", "full"))])
def test_qat_judge(size: str, seed: int) -> None:
    """Chunks of all sizes, weighted or not, of critic and actor."""
    rng = np.random.default_rng([seed, 15])
    sum_q = sum_td = count = saturated = 0
    with player(size, seed) as sim:
        slots = Slots(sim, size, rng)
        sim.run(2, sums_clear_i=np.ones(2))
        for turn in range(scale(40, 8)):
            job = drawn(rng, slots, turn)
            loss = expect(slots, job)
            out, keen = slots.run(job, 1200 + int(job.vectors / job.keen) * 2)
            slots.compare()
            used = job.vectors if job.common else -(-job.vectors // slots.n)
            busy = np.flatnonzero(out["idle_o"] == 0)
            tds = np.flatnonzero(out["td_valid_o"].astype(bool) & keen)
            if loss is None:
                assert not out["read_valid_o"].any() and not tds.size
                assert job.keen < 1 or busy.tolist() == list(range(2, 2 + used))
                continue
            found = out["td_data_o"][tds]
            if job.weighted:
                want = from_fixed(np.abs(loss.td), ops.ACTIVATION).view(np.uint32)
                assert found.tolist() == want.tolist()
            else:
                assert not tds.size
            assert int(out["over_o"].sum()) == loss.saturated
            saturated += loss.saturated > 0
            sum_q += int(slots.vectors(job, job.q, 0).sum())
            sum_td += int(np.abs(loss.td).sum())
            count += job.vectors
            got = wide(out["sum_q_o"]), wide(out["sum_td_o"]), int(out["count_o"][-1])
            assert got == (sum_q, sum_td, count)
            writes = np.flatnonzero(out["line_valid_o"])
            assert len(writes) == used * (3 if slots.lw == 4 else 2)
            if job.keen == 1 and (slots.n <= TURN or job.common or not job.weighted):
                assert writes[0] == 2 + FIRST
                last = 2 + FIRST + TURN * (used - 1) + (2 if slots.lw == 4 else 1)
                assert writes[-1] == last == busy[-1]
    assert saturated


@pytest.mark.parametrize("size", ["small"])
def test_qat_judge_clear(size: str, seed: int) -> None:
    """After a clear nothing is written or sent, and the next job is whole."""
    rng = np.random.default_rng([seed, 16])
    with player(size, seed) as sim:
        slots = Slots(sim, size, rng)
        for turn in (0, 2, 4):
            job = drawn(rng, slots, turn)
            out, _ = slots.run(job, 60, clear=20 + 3 * turn)
            assert out["idle_o"][21 + 3 * turn :].all()
            for name in ("line_valid_o", "td_valid_o", "read_valid_o"):
                assert not out[name][21 + 3 * turn :].any(), name
            for line in range(ACT):
                slots.put(line, numbers(rng, slots.n, SLOTS, slots.lw))
            for line in range(DEL):
                slots.put(line, numbers(rng, slots.n, SLOTS, slots.lw), True)
            job = drawn(rng, slots, turn)
            expect(slots, job)
            slots.run(job, 1200 + int(job.vectors / job.keen) * 2)
            slots.compare()
