"""Communication of a core's agents, to the bit, against the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import NO_FLAGS, Geometry, Instruction, Op, Tensor
from models.sparse.machine import Machine
from models.sparse.validate import Context
from verif.play import Block, Player
from verif.sparse.tables import INSTRUCTION_BITS, instruction_word, words

CORE = "jackdaw:engine:sparse_array"
AROWS = 512
SCRATCH = AROWS - 1  # a line that the test writes in the middle of an operation
PIPELINE = 40  # clocks, at most, besides those of the vectors


def bench(latency: int, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_comm_bench",
        {
            "clear_i": 1, "start_i": 1, "instruction_i": INSTRUCTION_BITS, "tiles_i": 4,
            "vectors_i": 16, "agents_i": 8, "inverse_i": 32, "store_read_i": 8,
            "store_read_line_i": 16, "store_write_i": 8, "store_write_line_i": 16,
            "store_write_data_i": 512,
        },
        {"idle_o": 1, "done_o": 1, "store_data_o": 512},
        sources=("verif/sparse/jd_sparse_comm_bench.sv",),
    )  # fmt: skip
    return Player(block, {"ARows": AROWS, "AddLatency": latency}, seed)


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """FP16 codes; most are of size 1, some of any class, NaNs canonical and not."""
    near = rng.standard_normal(shape).astype(np.float16).view(np.uint16)
    special = np.array([0, 0x8000, 1, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7BFF, 0xFBFF], np.uint16)
    wild = np.where(
        rng.random(shape) < 0.5, rng.choice(special, shape), rng.integers(0, 1 << 16, shape)
    )
    return np.where(rng.random(shape) < 0.02, wild, near).astype(np.uint16)


@dataclass
class Case:
    """An operation and its surroundings."""

    one: Instruction
    agents: int
    episodes: int
    slots: int  # clocks in which a vector or a tile moves


def any_case(rng: np.random.Generator, op: Op) -> Case:
    """A message of 1 to 10 agents, of which a group of tiles is the middle, the end or all."""
    while True:
        agents, episodes = int(rng.integers(1, 11)), int(rng.integers(1, 33))
        tiles, value = int(rng.integers(1, 9)), int(rng.integers(0, 4))
        vectors = agents * episodes
        ends = 4 * (value + tiles)
        if 4 * value % agents or (ends % agents and ends < vectors):
            continue
        neurons = int(rng.choice([8, 16, 32, 40, 56, int(rng.integers(1, 57))]))
        lines = -(-neurons // 8)
        strides = [lines + int(rng.integers(0, 3)) for _ in range(2)]
        places = rng.permutation(3)  # of 160 lines each: heard, gates, out
        a, b, d = (
            Tensor(160 * int(place) + int(rng.integers(0, 50)), int(rng.integers(8)), stride)
            for place, stride in zip(places, (strides[0], int(rng.integers(1, 5)), strides[1]),
                                     strict=True)
        )  # fmt: skip
        one = Instruction(
            op, tiles=(tiles, 0, 0), a=a, b=b, d=d, value=value, neurons=neurons
        )  # fmt: skip
        end = min(max(vectors - 4 * value, 0), 4 * tiles)
        slots = 2 * end + (4 * tiles - end)
        if op == Op.CB:
            firsts = {v for v in range(4 * tiles) if v % 4 == 0}
            slots += len(firsts | set(range(0, end, agents)) | {end} - {4 * tiles})
        return Case(one, agents, episodes, 4 * slots * -(-lines // 4) + tiles)


class Both:
    """The block and the golden machine, with the same store."""

    def __init__(self, sim: Player, rng: np.random.Generator) -> None:
        self.sim, self.rng = sim, rng
        self.machine = Machine(Geometry(cores=1, a_rows=AROWS))

    def fill(self) -> None:
        """Random activations."""
        rng, store = self.rng, self.machine.store[0]
        store[:] = halves(rng, AROWS, 8, 4)
        closed = rng.random((AROWS, 8, 4)) < 0.3
        store[closed] = rng.choice(np.array([0, 0x8000], np.uint16), int(closed.sum()))
        self.sim.run(
            AROWS, store_write_i=np.full(AROWS, 255), store_write_line_i=np.arange(AROWS),
            store_write_data_i=store.reshape(AROWS, 32).view(np.uint32),
        )  # fmt: skip

    def stored(self) -> np.ndarray:
        """The block's store, [lines, 8, 4] uint16."""
        out = self.sim.run(
            AROWS + 2, store_read_i=np.full(AROWS + 2, 255),
            store_read_line_i=np.minimum(np.arange(AROWS + 2), AROWS - 1),
        )["store_data_o"][2:]  # fmt: skip
        return np.ascontiguousarray(out).view(np.uint16).reshape(AROWS, 8, 4)

    def inputs(self, case: Case, clocks: int, inverse: np.float32) -> dict[str, np.ndarray]:
        one = case.one
        return {
            "start_i": np.arange(clocks) == 0,
            "instruction_i": words([instruction_word(one, None)] * clocks, INSTRUCTION_BITS),
            "tiles_i": np.full(clocks, one.tiles[0]),
            "vectors_i": np.full(clocks, case.agents * case.episodes),
            "agents_i": np.full(clocks, case.agents),
            "inverse_i": np.full(clocks, inverse.view(np.uint32)),
        }

    def check(self, case: Case, busy: float) -> None:
        """Run an operation on both sides; `busy` is how often the store serves others."""
        rng, one = self.rng, case.one
        inverse = np.float32(1 / (case.agents - 1) if case.agents > 1 else 0)
        context = Context(self.machine.geometry, [], case.agents, case.episodes)
        self.machine._communicate(one, one.code, NO_FLAGS, one.tiles[:1], context, inverse)
        clocks = case.slots + PIPELINE
        if busy:
            clocks = 3 * clocks
        others: dict[str, Any] = {}
        if busy:
            for name in ("read", "write"):
                on = rng.random((clocks, 8)) < busy
                on[clocks // 2 :] = False
                others[f"store_{name}_i"] = on @ (1 << np.arange(8))
                others[f"store_{name}_line_i"] = np.full(clocks, SCRATCH)
        out = self.sim.run(clocks, **self.inputs(case, clocks, inverse), **others)
        assert out["done_o"].sum() == 1 and out["idle_o"][-1] == 1
        got, want = self.stored(), self.machine.store[0]
        assert np.array_equal(got[:SCRATCH], want[:SCRATCH])
        want[SCRATCH] = got[SCRATCH]


@builds(lambda latency: bench(latency, 1))
@pytest.mark.parametrize("latency", [4, regress(1)])
@pytest.mark.parametrize("op", [Op.CF, Op.CB])
def test_communication(op: Op, latency: int, seed: int) -> None:
    """1 to 10 agents, episodes across tiles, gates open and closed, any skew, a busy store."""
    rng = np.random.default_rng(seed)
    both = Both(bench(latency, seed), rng)
    for _ in range(scale(100, 12)):
        both.fill()
        both.check(any_case(rng, op), float(rng.choice([0, 0, 0.1, 0.3])))


@builds(lambda: bench(4, 1))
def test_a_core_without_tiles_is_done(seed: int) -> None:
    sim = bench(4, seed)
    out = sim.run(6, start_i=np.arange(6) == 0, agents_i=np.full(6, 3),
                  instruction_i=words([instruction_word(Instruction(Op.CF, neurons=8), None)] * 6,
                                      INSTRUCTION_BITS))  # fmt: skip
    assert out["done_o"].sum() == 1 and out["idle_o"][-1] == 1


@builds(lambda: bench(4, 1))
def test_clear_ends_an_operation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = Both(bench(4, seed), rng)
    for at in rng.integers(2, 80, scale(20, 4)):
        both.fill()
        case = any_case(rng, Op.CB)
        clocks = int(at) + 1
        both.sim.run(
            clocks, clear_i=np.arange(clocks) == at, **both.inputs(case, clocks, np.float32(1))
        )  # fmt: skip
        both.fill()
        both.check(any_case(rng, Op.CF), 0)
