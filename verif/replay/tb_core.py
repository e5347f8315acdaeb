"""Tests of jd_replay_core: random dual issue, corner cases, rate."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import numpy as np

from flow.effort import scale, some
from models.replay.kernels import Op
from models.replay.rmm import Batch
from models.replay.rng import splitmix64
from verif.replay.core_driver import Core, Sample, Update

_OPS = [Op.RETRIEVE, Op.UPDATE, Op.UPDATE_DELTA, Op.INSERT, Op.UPDATE_SLOT, Op.RESERVE,
        Op.COMMIT, Op.NOP]  # fmt: skip


def _rng() -> np.random.Generator:
    return np.random.default_rng(int(os.environ["JD_SEED"]))


def random_sample(rng: np.random.Generator, core: Core) -> Sample:
    """A sample of any kind, often near the ends of a range."""
    x = None
    if rng.random() < 0.5:
        x = int(rng.integers(0, 1 << 48))
        if rng.random() < 0.2:
            x = int(rng.choice([0, (1 << 48) - 1, 1 << 47]))
    if rng.random() < 0.4:
        slots_log2 = int(rng.integers(0, core.config.batch_log2 + 1))
        return Sample(x, int(rng.integers(0, 1 << slots_log2)), slots_log2)
    return Sample(x)


def random_update(rng: np.random.Generator, core: Core, hot: np.ndarray) -> Update | None:
    """An operation on few leaves, so that most meet another one on its way."""
    leaves, top = core.rmm.leaves, core.rmm.leaf_max
    op = _OPS[rng.choice(len(_OPS), p=[0.1, 0.35, 0.2, 0.1, 0.1, 0.06, 0.06, 0.03])]
    if not core.legal(op):
        return None
    index = int(rng.choice(hot)) if rng.random() < 0.9 else int(rng.integers(leaves))
    value = int(rng.choice([0, 1, top, int(rng.integers(top + 1)), int(rng.integers(16))]))
    if op == Op.UPDATE_SLOT:
        if not core.batches:
            return None
        batch = core.batches[int(rng.integers(len(core.batches)))]
        return Update(op, int(batch.indices[0]), value, batch=batch)
    if op == Op.UPDATE_DELTA:
        value = int(rng.choice([1, -1, top, -top, 1 << 62, -(1 << 62),
                                int(rng.integers(-top, top + 1))]))  # fmt: skip
    pmax = op in (Op.INSERT, Op.COMMIT) and rng.random() < 0.5
    return Update(op, index, value, pmax)


def hot_leaves(rng: np.random.Generator, leaves: int) -> np.ndarray:
    """Up to 8 leaves: neighbours at both ends, and some of anywhere."""
    picks = [0, 1, leaves - 1, leaves - 2, *rng.integers(0, leaves, 4)]
    return np.unique(np.clip(picks, 0, leaves - 1))


async def storm(core: Core, rng: np.random.Generator, clocks: int, rate: float) -> None:
    """Random operations on both lanes."""
    hot = hot_leaves(rng, core.rmm.leaves)
    for _ in range(clocks):
        sample = random_sample(rng, core) if rng.random() < rate else None
        update = random_update(rng, core, hot) if rng.random() < rate else None
        await core.step(sample, update)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random(dut: Any) -> None:
    """Dual issue with heavy collisions, at several N and rates, compared in slot order."""
    rng, core = _rng(), Core(dut)
    most = 1 << core.config.n_log2
    await core.start()
    await core.seed(splitmix64(int(rng.integers(1 << 62))))
    rounds = scale(1200, 200)
    for leaves, rate in ((most, 1.0), (max(1, most - most // 3 - 1), 0.9), (most, 0.4)):
        clocks = await core.clear(leaves, int(rng.integers(1, core.rmm.leaf_max + 1)))
        lanes = min(core.config.k_log2, core.config.n_log2)
        assert clocks == (most if core.sequential else most >> lanes) + 2
        await storm(core, rng, rounds, rate)
        await core.drain()
        core.check_state()
        await core.check_boundaries(rng, rounds // 2)
    dut._log.info("compared %d responses", core.compared)
    assert core.compared > rounds


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def corners(dut: Any) -> None:
    """Total 0, N = 1, one leaf, all leaves full, one leaf again and again."""
    rng, core = _rng(), Core(dut)
    most, top = 1 << core.config.n_log2, core.rmm.leaf_max
    await core.start()
    await core.clear(most)
    for _ in range(5):  # empty
        await core.step(Sample())
    await core.step(Sample(), Update(Op.UPDATE, most - 1, 5))  # still empty in that slot
    for _ in range(core.timing.front_latency + 2):
        await core.step(Sample())
    await core.step(None, Update(Op.UPDATE, most - 1, 0))
    for _ in range(20):
        await core.step(Sample())
    await core.drain()
    core.check_state()

    await core.clear(1, 3)
    for k in range(30):
        await core.step(Sample(), Update(Op.INSERT, value=k % 3, pmax=k % 5 == 0))
    await core.drain()
    core.check_state()

    await core.clear(most)
    full = min(most, scale(1024, 256))
    for i in rng.permutation(full):
        await core.step(Sample(), Update(Op.UPDATE, int(i) * (most // full), top))
    for i in range(full):
        await core.step(Sample(slot=i % 8, slots_log2=3), Update(Op.UPDATE_DELTA, i, 1))
    for _ in range(64):
        await core.step(Sample(), Update(Op.UPDATE, 0, int(rng.integers(top + 1))))
    await core.drain()
    core.check_state()
    await core.check_boundaries(rng, scale(500, 50))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def distances(dut: Any) -> None:
    """Two updates of one node, and an update and a sample of one row, at every distance."""
    core = Core(dut)
    most = 1 << core.config.n_log2
    await core.start()
    await core.clear(most)
    await core.step(None, Update(Op.UPDATE, 0, 10))
    for distance in range(1, 12):
        for other in {0, 1, most // 2, most - 1}:
            await core.step(None, Update(Op.UPDATE_DELTA, 0, 3))
            for _ in range(distance - 1):
                await core.step()
            await core.step(Sample(x=0), Update(Op.UPDATE_DELTA, other, 2))
            for _ in range(12):
                await core.step(Sample(x=(1 << 48) - 1))
            await core.drain()
    for gap in range(12):  # the sample comes `gap` clocks before or after the update
        for first in (True, False):
            ops: list[tuple[Sample | None, Update | None]] = [(None, None)] * 13
            s, u = Sample(x=(1 << 48) - 1), Update(Op.UPDATE_DELTA, most - 1, 1)
            ops[0 if first else gap] = (s, None)
            at = gap if first else 0
            ops[at] = (ops[at][0], u)
            for pair in ops:
                await core.step(*pair)
    await core.drain()
    core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def history(dut: Any) -> None:
    """The largest priority as it grows from a small one; UPDATE_SLOT of batches of every age."""
    rng, core = _rng(), Core(dut)
    most, top = 1 << core.config.n_log2, core.rmm.leaf_max
    await core.start()
    for epoch in range(24):
        await core.clear(most, min(top, 1 << epoch % core.config.leaf_w))
        for _ in range(12):
            value = int(rng.integers(0, min(top, 2 * core.rmm.pmax) + 1))
            await core.step(None, Update(Op.UPDATE, int(rng.integers(most)), value))
            if rng.random() < 0.5:
                await core.step(None, Update(Op.INSERT, pmax=True))
            for _ in range(int(rng.integers(3))):
                await core.step()
        await core.drain()
        core.check_state()
    for moved in sorted({(1 << bit) - less for bit in range(32) for less in (0, 1)}):
        for _ in range(3):
            index, head = int(rng.integers(most)), int(rng.integers(most))
            moves = (core.rmm.moves - moved) & 0xFFFFFFFF
            batch = Batch(np.array([index]), head, moves)
            value = int(rng.integers(1, top + 1))
            await core.step(None, Update(Op.UPDATE_SLOT, index, value, batch=batch))
            await core.drain()
    core.check_state()


async def passing_checks(core: Core, rng: np.random.Generator, leaves: int) -> None:
    """Checks of an empty tree, after random operations and with gaps, which change nothing."""
    await core.clear(leaves, 3)
    assert await core.check(rng) is None, "an empty tree"
    await storm(core, rng, 300, 1.0)
    assert await core.check(rng) is None, "after operations"
    assert await core.check(rng, 0.6) is None, "with gaps"
    core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def check(dut: Any) -> None:
    """A check passes after random operations, changes nothing, and finds any bit that is wrong."""
    rng, core = _rng(), Core(dut)
    most = 1 << core.config.n_log2
    await core.start()
    for leaves in (most, max(1, most - most // 3 - 1)):
        await passing_checks(core, rng, leaves)
        await core.check_boundaries(rng, 50)
    for name, level, lanes, bits, memory in core.memories():
        single = name in ("root", "row")
        depth = 1 if single else len(memory)
        nodes = {0, depth * lanes - 1, *(int(n) for n in rng.integers(0, depth * lanes, 6))}
        for node in nodes:
            cell = memory if single else memory[node // lanes]
            lane_bits = len(cell.value) // lanes  # kept, the node's and more
            flip = 1 << int(rng.integers(bits)) << node % lanes * lane_bits
            cell.value = int(cell.value) ^ flip
            await core.step()
            # What the front says of a leaf is what all nodes above it are held against.
            want = (0, 0) if level < 0 else (level, node)
            got = await core.check(rng)
            assert got == want, f"{name}, node {node}, {flip:#x}: got {got}, want {want}"
            cell.value = int(cell.value) ^ flip
            await core.step()
        assert await core.check(rng) is None, f"{name} is as it was"
    await storm(core, rng, 100, 1.0)
    await core.drain()
    core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def check_order(dut: Any) -> None:
    """A check that takes one leaf for another says which nodes the leaves no longer add up to.

    So the sums of every level are seen to be looked at, without a look into the memories.
    """
    rng, core = _rng(), Core(dut)
    c, t = core.config, core.timing
    most, low = 1 << c.n_log2, 1 << t.nodes_log2(t.levels) - t.nodes_log2(t.levels - 1)
    assert t.levels > 1 and low >= 4, "no leaf between the first and the last of a node"
    await core.start()
    for leaves in (most, max(1, most - most // 3 - 1)):
        await passing_checks(core, rng, leaves)
    await core.clear(most)
    for leaf in range(most):
        value = int(rng.integers(core.rmm.leaf_max + 1))
        await core.step(None, Update(Op.UPDATE, leaf, value))
    assert await core.check(rng) is None
    for level in [0, *range(1, t.levels)] * 6:
        # `far` takes back at the level above what `near` does to one of its nodes.
        under = most >> (t.nodes_log2(level) if level else 0)
        above = most >> (t.nodes_log2(level - 1) if level > 1 else 0)
        parent = int(rng.integers(most // above)) * above
        near, far = sorted(rng.choice(above // under, 2, replace=False)) if level else (0, 0)
        first, second = sorted(rng.choice(np.arange(1, low - 1), 2, replace=False))
        order = list(range(most))
        small, large = sorted(rng.choice(core.rmm.leaf_max + 1, 2, replace=False))
        for side, node in enumerate((near, far) if level else (near,)):
            begin = parent + int(node) * under + int(rng.integers(under // low)) * low
            a, b = begin + int(first), begin + int(second)
            await core.step(None, Update(Op.UPDATE, a, int(small)))
            await core.step(None, Update(Op.UPDATE, b, int(large)))
            if side:
                order[b] = a
            else:
                order[a] = b
        assert await core.check(rng) is None
        want = (level, parent // under + int(near))
        got = await core.check(rng, float(rng.choice([0.6, 1.0])), order)
        assert got == want, f"got {got}, want {want}"
        assert await core.check(rng) is None
    core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def carries(dut: Any) -> None:
    """Products whose fraction is next to a whole number: each bit of each term counts."""
    rng, core = _rng(), Core(dut)
    most, slots_log2 = 1 << core.config.n_log2, core.config.batch_log2
    await core.start()
    for leaves in some(range(1, most + 1), 16):
        await core.clear(most)
        for leaf in range(leaves):
            await core.step(None, Update(Op.UPDATE, leaf, 1))
        await core.drain()
        even = (leaves & -leaves).bit_length() - 1
        bits = 48 + slots_log2 - even
        for _ in range(scale(50, 10)):
            near = int(rng.integers(1, 1 << int(rng.integers(1, 48)))) * int(rng.choice([-1, 1]))
            position = near * pow(leaves >> even, -1, 1 << bits) % (1 << bits)
            position += int(rng.integers(1 << even)) << bits
            await core.step(Sample(position & (1 << 48) - 1, position >> 48, slots_log2))
        await core.drain()
    core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def loads(dut: Any) -> None:
    """Loaded count, pointer and largest priority are what the next operations go on from."""
    rng, core = _rng(), Core(dut)
    most, top = 1 << core.config.n_log2, core.rmm.leaf_max
    await core.start()
    for leaves in (
        most,
        1,
        max(1, most - most // 3 - 1),
        *(int(n) for n in rng.integers(1, most, scale(9))),
    ):
        await core.clear(leaves, 1)
        for _ in range(scale(4, 2)):
            for _ in range(int(rng.integers(max(1, leaves // 2)))):
                if core.legal(Op.RESERVE):
                    await core.step(None, Update(Op.RESERVE))
            pointer = int(rng.choice([0, leaves - 1, int(rng.integers(leaves))]))
            for name, value in (
                ("count", int(rng.integers(leaves + 1))),
                ("pointer", pointer),
                ("pmax", int(rng.integers(1, top + 1))),
            ):
                await core.load(name, value)
                await core.drain()
                core.check_state()
            await storm(core, rng, 40, 1.0)
            while core.reserved:
                await core.step(None, Update(Op.COMMIT, pmax=True))
            await core.step(Sample(), Update(Op.INSERT, pmax=True))
            await core.drain()
            core.check_state()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def rate(dut: Any) -> None:
    """B samples beside B updates take B + latency clocks, without a bubble."""
    rng, core = _rng(), Core(dut)
    most = 1 << core.config.n_log2
    await core.start()
    await core.clear(most)
    for _ in range(64):
        await core.step(None, Update(Op.INSERT, value=int(rng.integers(1, 1 << 8))))
    for batch in (32, 64, 512):
        await core.drain()
        begin = core.clock
        for slot in range(batch):
            index = int(rng.integers(most))
            await core.step(Sample(), Update(Op.UPDATE, index, 1 + slot % 200))
        await core.drain()
        clocks = core.last_sample_clock - begin + 1
        dut._log.info("K=%d N=%d B=%d: %d clocks (B + %d), L_S with input and output %d",
                      1 << core.config.k_log2, most, batch, clocks, clocks - batch,
                      core.timing.sample_latency)  # fmt: skip
        assert clocks == batch + core.sample_latency


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def scan(dut: Any) -> None:
    """The sequential core: B samples within the bound of its header."""
    rng, core = _rng(), Core(dut)
    c, t = core.config, core.timing
    await core.start()
    await core.clear(1 << c.n_log2)
    for _ in range(64):
        await core.step(None, Update(Op.INSERT, value=int(rng.integers(1, 1 << 8))))
    slowest = (1 << c.k_log2) + max(c.lat_lut, c.lat_bram) + 1
    for batch in (32, 64):
        await core.drain()
        begin = core.clock
        for _ in range(batch):
            await core.step(Sample(), None)
        await core.drain()
        clocks = core.last_sample_clock - begin + 1
        bound = slowest * (batch + t.levels - 1) + c.lat_mul + 16
        paper = 2 * (1 << c.k_log2) * (batch + t.levels)
        dut._log.info("K=%d B=%d: %d clocks, bound %d, Eq. 4.2 %d",
                      1 << c.k_log2, batch, clocks, bound, paper)  # fmt: skip
        assert batch < clocks <= min(bound, paper), f"{clocks} clocks, {bound}, {paper}"
