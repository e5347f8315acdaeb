"""Drives jd_replay_core clock by clock and compares each response with the golden model."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from models.replay.engine import ReplayConfig
from models.replay.flat import target
from models.replay.kernels import Op
from models.replay.rmm import Batch, Geometry, Rmm
from models.replay.timing import Timing
from models.replay.tree import SumTree
from verif.replay.hazards import Hazards

ALL_ONES = 0xFFFFFFFF


@dataclass(frozen=True)
class Sample:
    """A sample request; x None: from the generator; slots_log2 None: not stratified."""

    x: int | None = None
    slot: int = 0
    slots_log2: int | None = None

    def pack(self, tag: int) -> int:
        """Bits of sample_request_t."""
        word = tag << 1 | (self.x is not None)
        word = word << 48 | (self.x or 0)
        word = word << 1 | (self.slots_log2 is not None)
        return (word << 4 | (self.slots_log2 or 0)) << 10 | self.slot


@dataclass(frozen=True)
class Update:
    """A request of the U lane. `batch` belongs to UPDATE_SLOT."""

    op: Op
    index: int = 0
    value: int = 0
    pmax: bool = False
    batch: Batch | None = None

    def pack(self, tag: int) -> int:
        """Bits of update_request_t."""
        head, moves = (self.batch.head, self.batch.moves) if self.batch else (0, 0)
        word = (tag << 4 | self.op) << 1 | self.pmax
        word = (word << 20 | self.index) << 64 | (self.value & (1 << 64) - 1)
        return (word << 20 | head) << 32 | moves


def configuration() -> ReplayConfig:
    """The configuration of this build."""
    p = json.loads(os.environ["JD_PARAMETERS"])
    return ReplayConfig(
        p["KLog2"], p["NLog2"], p["LeafW"], p.get("SlotsLog2", 9),
        p.get("LatLut", 1), p.get("LatBram", 2), p.get("LatUram", 4), p.get("LatMul", 6),
    )  # fmt: skip


@dataclass
class Core:
    """The core under test beside its model.

    Attributes:
        dut: the toplevel.
        clock: clocks since reset.
        batches: (head, moves) seen by recent samples, for UPDATE_SLOT.
        responses: every response in its lane's order, for comparisons between runs.
    """

    dut: Any
    config: ReplayConfig = field(default_factory=configuration)
    clock: int = 0
    compared: int = 0
    last_sample_clock: int = 0

    def __post_init__(self) -> None:
        c = self.config
        self.rmm = Rmm(Geometry(c.n_log2, c.leaf_w, c.batch_log2))
        self.timing = Timing(c)
        self.sample_latency = self.timing.sample_latency - 9
        self.samples: dict[int, Sample] = {}
        self.updates: deque[tuple[int, int, Update]] = deque()
        self.expected: deque[tuple[int, int]] = deque()  # clock, response of the S lane
        self.order: deque[tuple[int, int]] = deque()  # clock at the order point, tag
        self.batches: deque[Batch] = deque(maxlen=8)
        self.responses: list[tuple[int, int]] = []
        self.tag = 0
        self.sequential = hasattr(self.dut, "ready_o")
        self.hazards = None if self.sequential else Hazards(self.timing)
        # Insertion state as the acceptance of the next operation sees it.
        self.pointer = self.reserved = 0

    async def start(self) -> None:
        """Clock and reset."""
        dut = self.dut
        for name in ("clear_i", "s_valid_i", "u_valid_i", "load_count_i", "load_pointer_i",
                     "load_pmax_i", "seed_load_i", "check_start_i"):  # fmt: skip
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 2, "ns", impl="gpi").start()
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        assert int(dut.idle_o.value), "not idle after reset"
        for name in ("leaves_o", "count_o", "pointer_o", "reserved_o", "moves_o"):
            value = int(getattr(dut, name).value)
            assert value == 0, f"{name} is {value} after reset"

    async def clear(self, leaves: int, pmax: int = 1) -> int:
        """Clear, with N and PMAX. Returns its clocks."""
        dut = self.dut
        await self.drain()
        dut.clear_i.value = 1
        dut.clear_leaves_i.value = leaves
        dut.clear_pmax_i.value = pmax
        await RisingEdge(dut.clk_i)
        dut.clear_i.value = 0
        clocks = 1
        while True:
            await RisingEdge(dut.clk_i)
            clocks += 1
            if not int(dut.clear_busy_o.value):
                break
            assert clocks < (2 << self.config.n_log2) + 16, "the clear does not end"
        self.rmm.clear(leaves, pmax)
        self.rmm.tree = SumTree(self.config.n_log2, self.config.n_log2)  # one level: a flat array
        self.pointer = self.reserved = 0
        self.batches.clear()
        return clocks

    async def seed(self, state: list[int]) -> None:
        """Load the generator, on both sides."""
        await self.drain()
        self.dut.seed_i.value = sum(word << (64 * i) for i, word in enumerate(state))
        self.dut.seed_load_i.value = 1
        await RisingEdge(self.dut.clk_i)
        self.dut.seed_load_i.value = 0
        self.rmm.generator.load(state)

    def legal(self, op: Op) -> bool:
        """May the operation be accepted next?"""
        if op == Op.INSERT:
            return self.reserved == 0
        if op == Op.COMMIT:
            return self.reserved > 0
        if op == Op.RESERVE:
            return self.reserved < self.rmm.leaves // 2
        return True

    async def step(self, sample: Sample | None = None, update: Update | None = None) -> None:
        """One clock: offer up to two operations, take and compare what comes out."""
        dut = self.dut
        if self.sequential and (sample or update):
            await self._wait_ready()
        dut.s_valid_i.value = sample is not None
        dut.u_valid_i.value = update is not None
        if sample is not None:
            dut.s_request_i.value = sample.pack(self.tag)
            self.samples[self.tag] = sample
            self.order.append((self.clock + 4, self.tag))
            self.tag = (self.tag + 1) & ALL_ONES
        if update is not None:
            assert self.legal(update.op)
            dut.u_request_i.value = update.pack(self.tag)
            self.updates.append((self.clock + self.timing.front_latency, self.tag, update))
            self.tag = (self.tag + 1) & ALL_ONES
            self.reserved += (update.op == Op.RESERVE) - (update.op == Op.COMMIT)
        await RisingEdge(dut.clk_i)
        self._order_sample()
        self._order_update()
        self._answer_sample()
        self.clock += 1

    async def _wait_ready(self) -> None:
        """Offer nothing while the sequential core has no room."""
        for _ in range(100 * 64):
            if int(self.dut.ready_o.value):
                return
            await self.step()
        raise AssertionError("the core does not get ready")

    async def drain(self) -> None:
        """Wait until nothing is in flight, and check that all answers came."""
        for _ in range(128 * 64 if self.sequential else 400):
            await self.step()
            if int(self.dut.idle_o.value):
                break
        else:
            raise AssertionError("the core does not get idle")
        assert not self.order and not self.updates and not self.expected

    def _order_sample(self) -> None:
        due = bool(self.order) and self.order[0][0] == self.clock
        assert int(self.dut.order_valid_o.value) == due, f"order point at clock {self.clock}"
        if not due:
            return
        _, tag = self.order.popleft()
        assert int(self.dut.order_tag_o.value) == tag
        rmm, sample = self.rmm, self.samples.pop(tag)
        head, moves = int(self.dut.order_head_o.value), int(self.dut.order_moves_o.value)
        assert (head, moves) == (rmm.head, rmm.moves)
        x = rmm.generator.uniform() if sample.x is None else sample.x
        total = rmm.tree.total
        if total:
            goal = target(total, x, sample.slot, sample.slots_log2)
            index = int(rmm.tree.find(np.array([goal]))[0])
            word = index << 32 | rmm.tree.get(index)
            if self.hazards:
                self.hazards.sample(self.clock, index, goal, rmm.tree.leaves)
            self.batches.append(Batch(np.array([index]), head, moves))
        else:
            word = 1 << 64 | ALL_ONES << 32
        self.expected.append((self.clock - 4 + self.sample_latency, tag << 65 | word))

    def _order_update(self) -> None:
        due = bool(self.updates) and self.updates[0][0] == self.clock
        assert int(self.dut.u_valid_o.value) == due, f"U response at clock {self.clock}"
        if not due:
            return
        _, tag, u = self.updates.popleft()
        r = self.rmm.apply(u.op, u.index, u.value, u.pmax, u.batch)
        if self.hazards and r.priority != r.old:
            self.hazards.update(self.clock, r.index)
        want = ((tag << 4 | u.op) << 1 | r.stale) << 20 | r.index
        want = (want << 32 | r.priority) << 32 | r.old
        got = int(self.dut.u_response_o.value)
        if u.op == Op.CHECK:  # of the leaf that it found, only the levels speak
            got, want = got >> 64, want >> 64
        assert got == want, f"clock {self.clock}, {u}: got {got:#x}, want {want:#x} ({r})"
        self.responses.append((1, got & (1 << 84) - 1))
        self.compared += 1

    def _answer_sample(self) -> None:
        due = bool(self.expected) and self.expected[0][0] == self.clock
        valid = bool(int(self.dut.s_valid_o.value))
        if self.sequential:
            due = valid
            assert self.expected or not valid, f"S response at clock {self.clock}, none is due"
        assert valid == due, f"S response at clock {self.clock}"
        if not due:
            return
        _, want = self.expected.popleft()
        got = int(self.dut.s_response_o.value)
        assert got == want, f"clock {self.clock}: sample: got {got:#x}, want {want:#x}"
        self.responses.append((0, got & (1 << 65) - 1))
        self.last_sample_clock = self.clock
        self.compared += 1

    def check_state(self) -> None:
        """Compare the insertion state and the root; nothing is in flight. Save the coverage."""
        if self.hazards:
            self.hazards.save()
        dut, rmm = self.dut, self.rmm
        names = ("leaves", "count", "pointer", "reserved", "moves", "pmax")
        for name in names:
            got, want = int(getattr(dut, f"{name}_o").value), getattr(rmm, name)
            assert got == want, f"{name}: got {got}, want {want}"
        assert int(dut.total_o.value) == rmm.tree.total
        seed = int(dut.seed_o.value)
        assert [(seed >> (64 * i)) & (1 << 64) - 1 for i in range(4)] == rmm.generator.state

    async def load(self, name: str, value: int) -> None:
        """Load `count`, `pointer` or `pmax`, on both sides."""
        await self.drain()
        load = getattr(self.dut, f"load_{name}_i")
        load.value = 1
        self.dut.load_value_i.value = value
        await self.step()
        load.value = 0
        setattr(self.rmm, name, value)

    async def check(
        self, rng: np.random.Generator, rate: float = 1.0, order: Sequence[int] | None = None
    ) -> tuple[int, int] | None:
        """Let the core check its nodes, by the leaves in `order` (default: all, as it must be).

        Returns: level and node of one that is wrong.
        """
        dut = self.dut
        await self.drain()
        dut.check_start_i.value = 1
        await self.step()
        dut.check_start_i.value = 0
        for leaf in order or range(1 << self.config.n_log2):
            while rng.random() > rate:
                await self.step()
            await self.step(None, Update(Op.CHECK, leaf))
        await self.drain()
        if not int(dut.check_bad_o.value):
            return None
        return int(dut.check_level_o.value), int(dut.check_node_o.value)

    def memories(self) -> list[tuple[str, int, int, int, Any]]:
        """Every copy of the nodes: name, level (0: root, -1: the front), lanes, bits, handle."""
        dut, t, c = self.dut, self.timing, self.config
        lanes = 1 << (t.nodes_log2(1) if t.levels == 1 else c.k_log2)
        found = [("root", 0, 1, c.leaf_w + c.n_log2, dut.total_q)]
        found.append(("front", -1, lanes, c.leaf_w, dut.u_front.u_leaves.mem))
        for level in range(1, t.levels + 1):
            here = dut.gen_level[level].u_level
            bits = c.leaf_w + c.n_log2 - t.nodes_log2(level)
            if self.sequential:
                found.append((f"level {level}", level, 1, bits, here.u_nodes.mem))
                continue
            if level == 1:
                row = here.gen_row.row_q
                found.append(("row", 1, 1 << t.nodes_log2(1), bits, row))
            else:
                rows = here.gen_rows.u_rows.mem
                found.append((f"rows {level}", level, 1 << c.k_log2, bits, rows))
            if 1 < level < t.levels:
                nodes = here.gen_inner.gen_memory.u_nodes.mem
                found.append((f"nodes {level}", level, 1, bits, nodes))
        return found

    async def check_boundaries(self, rng: np.random.Generator, limit: int = 2000) -> None:
        """Sample both sides of the running sum of every leaf (of `limit` random ones)."""
        sums = np.cumsum(self.rmm.tree.leaves)
        total = int(sums[-1])
        if total == 0:
            return
        goals = {1, total} | {int(s) for s in sums} | {int(s) + 1 for s in sums[:-1]}
        wanted = [g for g in sorted(goals) if 1 <= g <= total]
        if len(wanted) > limit:
            wanted = [int(g) for g in rng.choice(wanted, limit, replace=False)]
        for goal in wanted:
            await self.step(Sample(x=-(-((goal - 1) << 48) // total)))
        await self.drain()
