"""The scheduler: order, semaphores, sets, errors and ends against the golden model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.registers.sparse import Error
from models.sparse.formats import (
    QUEUE,
    SEMAPHORE_MOST,
    USES,
    Flag,
    Geometry,
    Instruction,
    Layer,
    Op,
    Tensor,
    Unit,
)
from models.sparse.ic3net import Layout
from models.sparse.ic3net import layers as network_layers
from models.sparse.ic3net_programs import Programs
from models.sparse.machine import Machine
from models.sparse.optim import Rates
from models.sparse.program import Outcome, run
from models.sparse.validate import Context, JobError, check_instruction
from tests.sparse.golden import small
from tests.sparse.programs import END, any_program
from tests.sparse.test_sparse_engine import BAD_PROGRAMS
from verif.play import Block, Player
from verif.sparse.tables import (
    INSTRUCTION_BITS,
    LAYER_BITS,
    OPERATION_BITS,
    instruction_word,
    layer_word,
    operation_word,
    words,
)

CORE = "jackdaw:engine:sparse_control"
SMALL = Geometry(
    banks=2, lanes=9, g_max=8, d_max=64, l_max=4, w_rows=1024, x_rows=1024, y_rows=1024,
    r_rows=2048, g_rows=512, a_rows=1024, p_words=8192, b_words=256, s_words=512, m_rows=64,
    max_w=32, cmp_w=16, opt_lanes=2, channels=2,
)  # fmt: skip
ARRAY = Unit.VPU - 1  # of the unit's bits
CLOCKS = 256  # between looks at the end
MOST = 100_000  # clocks of a program


def bench(seed: int, g: Geometry = SMALL) -> Player:
    one = {name: 1 for name in ("clear_i", "load_i", "start_i", "give_i", "walks_i", "loose_i")}
    block = Block(
        CORE, "jd_sparse_sched_bench",
        {
            **one, "load_at_i": 10, "beat_i": 512, "count_i": 16, "ends_i": 8, "fail_dma_i": 8,
            "dma_code_i": 8, "response_i": 2, "fail_plan_i": 8, "bad_beat_i": 8,
            "layers_i": 8 * LAYER_BITS, "layer_count_i": 4, "agents_i": 8, "episodes_i": 16,
            "forget_i": 8,
        },
        {
            "busy_o": 1, "done_o": 1, "code_o": 8, "fetch_error_o": 1, "at_o": 16,
            "response_o": 2, "ended_o": 16, "planned_o": 8, "starts_o": 8, "dones_o": 8,
            "instruction_o": INSTRUCTION_BITS, "vectors_o": 48, "fill_set_o": 1, "elem_set_o": 1,
            "elem_dx_o": 1, "op_o": OPERATION_BITS,
            "op_tiles_o": 12, "stage_busy_o": 4, "unit_busy_o": 8, "stall_in_o": 1,
        },
        sources=("verif/sparse/jd_sparse_sched_bench.sv",),
    )  # fmt: skip
    sizes = {
        "Cores": g.cores, "DMax": g.d_max, "XRows": g.x_rows, "YRows": g.y_rows, "ARows": g.a_rows
    }  # fmt: skip
    return Player(block, sizes, seed)


def number(row: np.ndarray) -> int:
    return int.from_bytes(np.atleast_1d(row).astype(np.uint32).tobytes(), "little")


class Zeros:
    """Device memory."""

    def read(self, address: int, nbytes: int) -> np.ndarray:
        return np.zeros(nbytes, np.uint8)

    def write(self, address: int, data: np.ndarray) -> None:
        pass


@dataclass(frozen=True)
class Faults:
    """What fails: the n-th instruction of DMA, with a response; PLAN; the n-th beat; 0: none."""

    dma: int = 0
    plan: int = 0
    beat: int = 0
    response: int = 2


NOTHING = Faults()


@dataclass
class Model:
    """The golden model, with faults.

    Attributes:
        layers: of the network.
        agents, episodes: registers.
    """

    layers: list[Layer]
    agents: int = 1
    episodes: int = 100
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.machine = Machine(SMALL)
        self.machine.configure(self.layers)

    def run(self, program: Sequence[Instruction], faults: Faults = NOTHING) -> Outcome:
        context = Context(SMALL, self.layers, self.agents, self.episodes)
        rates = Rates(*(np.float32(x) for x in (0.1, 0.9, 0.1, 1e-3, 0.1)))
        seen = {"dma": 0, "lau": 0}
        program = [Instruction.decode(one.encode()) for one in program]

        def execute(one: Instruction) -> int:
            seen["dma"] += one.unit == Unit.DMA
            seen["lau"] += one.unit == Unit.LAU
            if one.unit == Unit.DMA and seen["dma"] == faults.dma:
                code = Error.E_BUS_WR if one.op == Op.STOREA else Error.E_BUS_RD
                raise JobError(code, 0, faults.response)
            if one.unit == Unit.LAU and seen["lau"] == faults.plan:
                raise JobError(Error.E_PLAN)
            return self.machine.execute(
                one, context, rates, np.float32(1), np.float32(1), Zeros()
            )  # fmt: skip

        self.machine.drop()
        return run(
            program, lambda one: check_instruction(one, context), self.machine.can_start, execute
        )  # fmt: skip


class Device:
    """The scheduler with units of random speed, beside the golden model."""

    def __init__(self, seed: int, layers: list[Layer]) -> None:
        self.sim, self.rng = bench(seed), np.random.default_rng(seed)
        self.model = Model(layers)
        self.fixed: dict[str, int] = {}
        self.network = sum(layer_word(layer) << LAYER_BITS * k for k, layer in enumerate(layers))
        self.longest = 0

    def play(self, clocks: int, **inputs: Any) -> dict[str, np.ndarray]:
        m = self.model
        fixed = {"agents_i": m.agents, "episodes_i": m.episodes, "layer_count_i": len(m.layers)}
        given = {name: np.full(clocks, value) for name, value in fixed.items()}
        given["layers_i"] = words([self.network] * clocks, 8 * LAYER_BITS)
        return self.sim.run(clocks, **given, **inputs)

    def load(self, program: Sequence[Instruction]) -> None:
        raw = np.array([w for one in program for w in one.encode()], np.uint32)
        beats = np.zeros((-(-len(program) // 2), 16), np.uint32)
        beats.reshape(-1)[: raw.size] = raw
        count = len(beats)
        self.play(count, load_i=np.ones(count), load_at_i=np.arange(count), beat_i=beats)

    def start(
        self, program: Sequence[Instruction], faults: Faults = NOTHING, limit: int = MOST
    ) -> dict[str, np.ndarray]:
        """Run a program to its end, or so many clocks. Returns: what was seen in each clock."""
        rng = self.rng
        self.load(program)
        slow = rng.choice([1.0, 0.3, 0.1, 0.03, 0.01], 8)
        loose = rng.random() < 0.3
        walks, gives = rng.choice([1.0, 0.2, 0.05]), rng.choice([1.0, 0.3, 0.02])
        nth = [k for k, one in enumerate(program) if one.op >> 4 == Unit.DMA]
        writes = faults.dma and faults.dma <= len(nth) and program[nth[faults.dma - 1]].op == 0x11
        code = Error.E_BUS_WR if writes else Error.E_BUS_RD
        seen: list[dict[str, np.ndarray]] = []
        total = 0
        while total < limit:
            clocks = min(CLOCKS, limit - total)
            ends = (rng.random((clocks, 8)) < slow) @ (1 << np.arange(8))
            seen.append(
                self.play(
                    clocks, start_i=(np.arange(clocks) == 0) & (total == 0),
                    count_i=np.full(clocks, len(program)), ends_i=ends,
                    give_i=rng.random(clocks) < gives, walks_i=rng.random(clocks) < walks,
                    loose_i=np.full(clocks, loose), fail_dma_i=np.full(clocks, faults.dma),
                    dma_code_i=np.full(clocks, code),
                    fail_plan_i=np.full(clocks, faults.plan),
                    bad_beat_i=np.full(clocks, faults.beat),
                    response_i=np.full(clocks, faults.response),
                )
            )  # fmt: skip
            total += clocks
            if seen[-1]["done_o"].any():
                break
        out = {name: np.concatenate([part[name] for part in seen]) for name in seen[0]}
        assert limit < MOST or out["done_o"].sum() == 1
        return out

    def clear(self, forget: bool = True) -> None:
        """Drop what is under way; a reset makes all layers stale."""
        self.play(2, clear_i=np.array([1, 0]), forget_i=np.array([255 * forget, 0]))
        if forget:
            self.model.machine.forget()

    def check(self, program: Sequence[Instruction], faults: Faults = NOTHING) -> Outcome:
        """Run a program and compare it with the golden model."""
        want = self.model.run(program, faults)
        out = self.start(program, faults)
        started = self.follow(program, out)
        (end,) = np.flatnonzero(out["done_o"])
        assert not out["busy_o"][end:].any()
        code, at = int(out["code_o"][end]), int(out["at_o"][end])
        dones = int(np.unpackbits(out["dones_o"].astype(np.uint8)).sum())
        if faults.beat:
            assert (code, out["fetch_error_o"][end]) == (Error.E_BUS_RD, 1)
            assert out["response_o"][end] == faults.response
        elif want.error is None:
            assert code == 0 and sorted(started) == list(range(len(program) - 1))
            assert int(out["ended_o"][end]) == want.ended == len(program) == dones + 1
        else:
            error = want.error
            assert (code, at) == (error.code, error.info0), (Error(code), at, error)
            assert not out["fetch_error_o"][end]
            assert out["response_o"][end] == error.info1
            failed = error.code in (Error.E_BUS_RD, Error.E_BUS_WR, Error.E_PLAN)
            assert int(out["ended_o"][end]) == dones - failed
            if failed:  # nothing starts once the end is taken; those of lower units go first
                unit, turn = (1, faults.dma) if faults.dma else (Unit.LAU, faults.plan)
                told = np.flatnonzero(out["dones_o"] >> unit - 1 & 1)[turn - 1]
                assert not (out["starts_o"][told + 2 + unit :] & (255 - (1 << ARRAY))).any()
            assert (error.info0 in started) == (failed or error.code == Error.E_SEMAPHORE)
        return want

    def follow(self, program: Sequence[Instruction], out: dict[str, np.ndarray]) -> list[int]:
        """Check each start: its order, what the unit is told, semaphores and sets.

        Returns: the instructions that started.
        """
        mine = {u: [k for k, one in enumerate(program) if one.op >> 4 == u] for u in Unit}
        begun, over = dict.fromkeys(Unit, 0), dict.fromkeys(Unit, 0)
        count, started = [0] * 16, []
        ops: list[Op] = []
        ended: list[Op] = []
        for clock in np.flatnonzero(out["starts_o"] | out["dones_o"]):
            for unit in Unit:
                if out["dones_o"][clock] >> unit - 1 & 1:
                    one = program[mine[unit][over[unit]]]
                    over[unit] += 1
                    ended.append(one.code)
                    for k in one.posts:
                        count[k] += 1
                    assert over[unit] <= begun[unit]
            for unit in Unit:
                if not out["starts_o"][clock] >> unit - 1 & 1:
                    continue
                at = mine[unit][begun[unit]]
                one = program[at]
                begun[unit] += 1
                started.append(at)
                for k in one.waits:
                    count[k] -= 1
                    assert count[k] >= 0, (clock, at)
                self.told(one, {name: rows[clock] for name, rows in out.items()}, ops)
                ops.append(one.code)
                assert begun[unit] - over[unit] <= (2 if unit == Unit.VPU else 1)
                self.room(ops, ended)
        self.counters(out)
        return started

    @staticmethod
    def counters(out: dict[str, np.ndarray]) -> None:
        """A unit is busy from the clock after its start to its end, and little longer."""
        bits = {
            name: (out[name][:, None] >> np.arange(8) & 1).astype(int)
            for name in ("starts_o", "dones_o", "unit_busy_o")
        }
        runs = np.cumsum(bits["starts_o"] - bits["dones_o"], axis=0)
        busy = bits["unit_busy_o"].astype(bool)
        assert busy[1:][runs[:-1] > 0].all()
        rests = np.cumsum(runs > 0, axis=0)
        late = 11  # clocks, if all units end in one
        rested = (rests[late:] == rests[:-late]) & (np.arange(8) != ARRAY)
        assert not busy[late:][rested].any()
        assert np.array_equal(out["stage_busy_o"] > 0, busy.any(1))

    def told(self, one: Instruction, now: dict[str, np.ndarray], before: list[Op]) -> None:
        """Check what a unit is told at a start."""
        layer = self.model.layers[one.layer]
        made = sum(op in (Op.FW, Op.DX) for op in before)
        if one.unit == Unit.VPU:
            x = sum(op in (Op.FW, Op.DX, Op.DW) for op in before)
            which = {Op.FW: 0, Op.DX: 1, Op.DW: 2}[one.code]
            neurons = layer.n if which == 1 or (which == 2 and layer.tr) else layer.m
            assert number(now["op_o"]) == operation_word(
                which, one.layer, layer, neurons, x % 2, made % 2, before.count(Op.DW) % 2,
                one.has(Flag.ROW),
            )  # fmt: skip
            tiles = sum(t << 4 * k for k, t in enumerate(one.tiles))
            assert now["op_tiles_o"] == tiles
            return
        assert number(now["instruction_o"]) == instruction_word(one, layer), one
        if one.unit == Unit.FILL:
            assert now["fill_set_o"] == before.count(one.code) % 2
        if one.op in (Op.LIN, Op.LSTMF):
            taken = sum(op in (Op.LIN, Op.LSTMF) for op in before)
            kinds = [op for op in before if op in (Op.FW, Op.DX)]
            assert now["elem_set_o"] == taken % 2
            assert now["elem_dx_o"] == (kinds[taken] == Op.DX)
        vectors = number(now["vectors_o"])
        context = Context(SMALL, self.model.layers, self.model.agents, self.model.episodes)
        for core in range(SMALL.cores):
            assert vectors >> 16 * core & 0xFFFF == context.vectors(core, one.has(Flag.ROW))

    @staticmethod
    def room(ops: list[Op], ended: list[Op]) -> None:
        """Check that no set is filled before it is free, or used before it is full."""

        def of(done: list[Op], *kinds: Op) -> int:
            return sum(op in kinds for op in done)

        array, results = (Op.FW, Op.DX, Op.DW), (Op.LIN, Op.LSTMF)
        assert of(ops, Op.FX) - of(ended, *array) <= 2
        assert of(ops, Op.FY) - of(ended, Op.DW) <= 2
        assert of(ops, *array[:2]) - of(ended, *results) <= 2
        assert of(ops, *array) <= of(ended, Op.FX)
        assert of(ops, Op.DW) <= of(ended, Op.FY)
        assert of(ops, *results) <= of(ended, *array[:2])


def plain_layers() -> list[Layer]:
    """Those of the network of BAD_PROGRAMS."""
    settings = small(split="vec")
    return network_layers(settings.sizes, SMALL)


def any_layers(rng: np.random.Generator) -> list[Layer]:
    """Three small layers; one has the size of an LSTM."""
    found, w, g, s = [], 0, 0, 0
    for k in range(3):
        n = 32 if k == 1 else int(rng.integers(8, 33))
        m = int(rng.integers(8, 33))
        layer = Layer(m, n, int(rng.choice([1, 2, 4])), tr=bool(rng.integers(2)),
                      tiles=int(rng.integers(1, 4)), w_base=w, b_base=32 * k, g_base=g, s_base=s,
                      dx_from=int(rng.integers(m // 2)))  # fmt: skip
        found.append(layer)
        w, g, s = w + layer.w_words, g + sum(layer.grouping), s + layer.states
    return found


@builds(lambda: bench(1))
def test_random_programs(seed: int) -> None:
    """Each unit starts its instructions in order, and all end, whatever the units' speeds."""
    rng = np.random.default_rng(seed)
    for _ in range(scale(12, 2)):
        device = Device(int(rng.integers(1 << 30)), any_layers(rng))
        for _ in range(4):
            program = any_program(rng, device.model.layers, SMALL, int(rng.integers(10, 120)))
            assert device.check(program).error is None


@builds(lambda: bench(1))
def test_programs_of_the_network(seed: int) -> None:
    """All four stages, with episodes and with rows over the cores."""
    for split in ("vec", "row"):
        settings = small(split=split)
        programs = Programs(
            Layout(settings.sizes, SMALL), {"input": 0, "output": 1 << 16, "dout": 1 << 17}
        )  # fmt: skip
        device = Device(seed, network_layers(settings.sizes, SMALL))
        device.model.agents, device.model.episodes = settings.agents, settings.episodes
        steps = [programs.forward(k) for k in range(settings.steps)]
        for program in (programs.group(), *steps, programs.backward(), programs.update()):
            assert device.check(program).error is None


@builds(lambda: bench(1))
@pytest.mark.parametrize("case", BAD_PROGRAMS)
def test_a_bad_program(case: str, seed: int) -> None:
    """The error and the instruction at fault; a good program works after it."""
    code, at, program = BAD_PROGRAMS[case]
    device = Device(seed, plain_layers())
    device.model.agents, device.model.episodes = 3, 4
    want = device.check([*program, END])
    assert want.error is not None
    assert (want.error.code.name, want.error.info0) == (code, at)
    device.clear()
    good = any_program(device.rng, device.model.layers, SMALL, 20)
    device.model.agents = 1
    assert device.check(good).error is None


def deadlock(kind: str) -> list[Instruction]:
    clear, encode = Instruction(Op.CLRG), Instruction(Op.ENC, wait=1)
    return {
        "a full queue": [encode] * QUEUE + [encode, Instruction(Op.CLRG, post=1), END],
        "the first head of all": [
            clear, Instruction(Op.ENC, wait=1, post=2), Instruction(Op.PLAN, wait=2),
            Instruction(Op.UPD, wait=4), END,
        ],
        "the last unit's head": [
            clear, Instruction(Op.UPD, wait=4), Instruction(Op.ENC, wait=1), END
        ],
        "after all others": [*[clear] * 20, encode, END],
    }[kind]  # fmt: skip


@builds(lambda: bench(1))
@pytest.mark.parametrize(
    "kind", ["a full queue", "the first head of all", "the last unit's head", "after all others"]
)
def test_deadlocks(kind: str, seed: int) -> None:
    device = Device(seed, plain_layers())
    for _ in range(3):
        error = device.check(deadlock(kind)).error
        assert error is not None and error.code == Error.E_DEADLOCK
        device.clear()


@builds(lambda: bench(1))
def test_queues_of_eight(seed: int) -> None:
    """Eight instructions wait and a ninth finds room when the first has started."""
    device = Device(seed, plain_layers())
    encode = Instruction(Op.ENC, wait=1)
    for count in (QUEUE - 1, QUEUE):
        program = [encode] * count + [Instruction(Op.CLRG, post=1)] * count + [END]
        assert device.check(program).error is None
    error = device.check(deadlock("a full queue")).error
    assert error is not None and error.info0 == 0


@builds(lambda: bench(1))
def test_semaphores_hold_fifteen(seed: int) -> None:
    """Of each semaphore; the sixteenth post is an error."""
    device = Device(seed, plain_layers())
    for k in device.rng.choice(16, 4, replace=False):
        post, wait = Instruction(Op.CLRG, post=1 << k), Instruction(Op.ENC, wait=1 << k)
        assert device.check([*[post] * SEMAPHORE_MOST, *[wait] * SEMAPHORE_MOST, END]).error is None
        error = device.check([*[post] * (SEMAPHORE_MOST + 1), END]).error
        assert error is not None and error.code == Error.E_SEMAPHORE


@builds(lambda: bench(1))
def test_units_fail(seed: int) -> None:
    """A response of the bus, a plan that is too large: code, instruction, response; others end."""
    rng = np.random.default_rng(seed)
    seen = set()
    for turn in range(scale(24, 8)):
        device = Device(int(rng.integers(1 << 30)), any_layers(rng))
        program = any_program(rng, device.model.layers, SMALL, 60)
        transfers = sum(one.op >> 4 == Unit.DMA for one in program)
        plans = [k for k, one in enumerate(o for o in program if o.op >> 4 == Unit.LAU)
                 if one.op == Op.PLAN]  # fmt: skip
        if turn % 2 and transfers:
            nth = [one.op for one in program if one.op >> 4 == Unit.DMA]
            which = int(rng.integers(transfers))
            if nth[which] == Op.ZEROA:
                continue
            faults = Faults(dma=1 + which, response=int(rng.integers(2, 4)))
        else:
            faults = Faults(plan=1 + int(rng.choice(plans)))
        want = device.check(program, faults)
        assert want.error is not None
        seen.add(want.error.code)
        device.clear()
        assert device.check(program).error is None
    assert seen >= {Error.E_PLAN} and len(seen) > 1


@builds(lambda: bench(1))
def test_a_program_that_cannot_be_read(seed: int) -> None:
    device = Device(seed, plain_layers())
    program = any_program(device.rng, device.model.layers, SMALL, 30)
    for beat in (1, 2, 7, (len(program) + 1) // 2):
        device.check(program, Faults(beat=beat, response=3))
        device.clear()
        assert device.check(program).error is None


@builds(lambda: bench(1))
def test_a_program_has_one_end(seed: int) -> None:
    device = Device(seed, plain_layers())
    clear = Instruction(Op.CLRG)
    for program in ([clear, clear], [clear, END, clear], [clear], [END, END], [clear] * 30):
        error = device.check(program).error
        assert error is not None and error.code == Error.E_PROGRAM
    for program in ([END], [clear, END], [clear, clear, END]):
        assert device.check(program).error is None


@builds(lambda: bench(1))
def test_clear_at_any_time(seed: int) -> None:
    """Nothing of a dropped RUN is left; the next one is right."""
    device = Device(seed, any_layers(np.random.default_rng(seed)))
    layers = device.model.layers
    for _ in range(scale(30, 6)):
        program = any_program(device.rng, layers, SMALL, 50)
        out = device.start(program, limit=int(device.rng.integers(5, 900)))
        device.clear()
        if not out["done_o"].any():
            quiet = device.play(20, ends_i=np.full(20, 255))
            assert not (quiet["starts_o"] | quiet["done_o"] | quiet["busy_o"]).any()
        good = any_program(device.rng, layers, SMALL, 20)
        assert device.check(good).error is None


@builds(lambda: bench(1))
def test_what_is_forgotten_is_stale(seed: int) -> None:
    """A LOAD of some layers; every kind of instruction that needs what they had."""
    rng = np.random.default_rng(seed)
    layers = plain_layers()
    device, tiles = Device(seed, layers), (1, 1, 1)
    ready = [Instruction(Op.CLRG, post=1)]
    for k in range(3):
        ready += [
            Instruction(Op.ENC, layer=k, post=2), Instruction(Op.PLAN, layer=k, wait=2 + (k == 0)),
            Instruction(Op.COMP, layer=k), Instruction(Op.COMPT, layer=k),
        ]  # fmt: skip
    for _ in range(scale(20, 8)):
        assert device.check([*ready, END]).error is None
        mask = int(rng.integers(1, 8))
        device.play(1, forget_i=np.array([mask]))
        for k in range(3):
            if mask >> k & 1:
                device.model.machine.layers[k].forget()
        planned = device.play(1)["planned_o"][0]
        assert planned == 7 & ~mask
        k = int(rng.integers(3))
        layer = layers[k]
        for op in rng.permutation([Op.PLAN, Op.COMP, Op.COMPT, Op.UPD, Op.UPDG, Op.FW, Op.DX]):
            use = USES[Op(int(op))]
            row = int(Flag.ROW) if rng.random() < 0.2 and Flag.ROW in use.flags else 0
            if op == Op.UPDG and layer.groups == 1:
                continue
            program = []
            if use.tiles:
                neurons = layer.m if op == Op.FW else layer.n
                program = [Instruction(Op.FX, layer=k, tiles=tiles, neurons=neurons)]
            rest = tiles if use.tiles else (0, 0, 0)
            program.append(Instruction(int(op), flags=row, layer=k, tiles=rest))
            error = device.check([*program, END]).error
            assert error is None or error.code == Error.E_STALE


@builds(lambda: bench(1))
def test_ends_of_two_operations_wait_for_others(seed: int) -> None:
    """Two ends of the array are told of before the first is taken."""
    device, tiles = Device(seed, plain_layers()), (1, 1, 1)
    m = device.model.layers[0].m
    ready = [Instruction(Op.CLRG, post=1)]
    for k in range(2):
        ready += [
            Instruction(Op.ENC, layer=k, post=2), Instruction(Op.PLAN, layer=k, wait=2 + (k == 0)),
            Instruction(Op.COMP, layer=k),
        ]  # fmt: skip
    assert device.check([*ready, END]).error is None
    fill = Instruction(Op.FX, layer=0, tiles=tiles, neurons=m)
    forward = Instruction(Op.FW, layer=0, tiles=tiles)
    program = [
        fill, fill, forward, forward, Instruction(Op.ZEROA, tiles=tiles, value=1),
        Instruction(Op.ENC, layer=2), Instruction(Op.COMPT, layer=1), END,
    ]  # fmt: skip
    device.load(program)
    held = 200  # clocks in which operands alone end
    clocks = 300
    late = np.arange(clocks) >= held
    out = device.play(
        clocks, start_i=np.arange(clocks) == 0, count_i=np.full(clocks, len(program)),
        ends_i=np.where(late, 255, 1 << Unit.FILL - 1), give_i=np.ones(clocks),
        walks_i=np.ones(clocks),
    )  # fmt: skip
    assert np.flatnonzero(out["dones_o"] & 1 << ARRAY).tolist() == [held + 1, held + 3]
    assert sorted(device.follow(program, out)) == list(range(len(program) - 1))
    (end,) = np.flatnonzero(out["done_o"])
    assert (out["code_o"][end], out["ended_o"][end]) == (0, len(program))


@builds(lambda: bench(1))
def test_nothing_starts_after_an_error(seed: int) -> None:
    """The end of a transfer that fails comes in each clock of another instruction's start."""
    device = Device(seed, plain_layers())
    program = [
        Instruction(Op.ZEROA, tiles=(1, 1, 1), value=1), *[Instruction(Op.CLRG)] * 8, END
    ]  # fmt: skip
    device.load(program)
    clocks = 200
    for held in range(60, 72):
        transfer = np.where(np.arange(clocks) >= held, 1, 0)
        out = device.play(
            clocks, start_i=np.arange(clocks) == 0, count_i=np.full(clocks, len(program)),
            ends_i=transfer | 1 << Unit.OPT - 1, give_i=np.ones(clocks),
            fail_dma_i=np.ones(clocks), dma_code_i=np.full(clocks, Error.E_BUS_RD),
            response_i=np.full(clocks, 2),
        )  # fmt: skip
        (told,) = np.flatnonzero(out["dones_o"] & 1)
        assert not out["starts_o"][told + 3 :].any() and out["starts_o"][told - 10 : told].any()
        (end,) = np.flatnonzero(out["done_o"])
        assert (out["code_o"][end], out["at_o"][end]) == (Error.E_BUS_RD, 0)


@builds(lambda: bench(1))
def test_a_plan_makes_higher_layers_stale(seed: int) -> None:
    device = Device(seed, plain_layers())
    ready = [Instruction(Op.CLRG, post=1), Instruction(Op.ENC, post=2)]
    for k in (1, 2):
        ready.append(Instruction(Op.ENC, layer=k, post=2))
    plans = [Instruction(Op.PLAN, layer=k, wait=2 + (k == 0)) for k in range(3)]
    assert device.check([*ready, *plans, END]).error is None
    assert device.play(1)["planned_o"][0] == 7
    assert device.check([Instruction(Op.PLAN, layer=1), END]).error is None
    assert device.play(1)["planned_o"][0] == 3
    error = device.check([Instruction(Op.COMP, layer=2), END]).error
    assert error is not None and error.code == Error.E_STALE


@builds(lambda: bench(1))
def test_operands_and_results_that_do_not_fit(seed: int) -> None:
    """Tiles, sizes, layers and splits of operations, and where results go."""
    layer = Layer(24, 32, tiles=8, dx_from=8)
    device, one, two, none = Device(seed, [layer]), (1, 1, 1), (1, 2, 1), (0, 0, 0)

    def make(op: Op, flags: int = 0, tiles: tuple[int, int, int] = one, **more: Any) -> Instruction:
        return Instruction(op, 0, flags, tiles=tiles, **more)

    ready = [
        Instruction(Op.CLRG, post=1), make(Op.ENC, tiles=none, post=2),
        make(Op.PLAN, tiles=none, wait=3), make(Op.COMP, tiles=none), make(Op.COMPT, tiles=none),
    ]  # fmt: skip
    x, dy = make(Op.FX, neurons=layer.m), make(Op.FX, neurons=layer.n)
    y, wide = make(Op.FY, neurons=layer.n), make(Op.FY, neurons=layer.m)
    forward, back = [x, make(Op.FW)], [dy, make(Op.DX)]
    rows = layer.m - layer.dx_from
    last = SMALL.a_rows - 1
    cases: list[tuple[list[Instruction], Error | None]] = [
        ([*forward, make(Op.LIN)], None),
        ([*back, make(Op.LIN)], None),
        ([*forward, make(Op.LIN, Flag.ROW)], Error.E_STALE),
        ([*forward, make(Op.LIN, tiles=two)], Error.E_DIM),
        ([*back, make(Op.LSTMF)], Error.E_DIM),
        ([*back, make(Op.LIN, Flag.BIAS)], Error.E_DIM),
        ([*back, make(Op.LIN, Flag.SECOND, value=-(-rows // 8) * 8)], Error.E_DIM),
        ([*back, make(Op.LIN, Flag.SECOND, value=8)], None),
        ([*forward, make(Op.LIN, Flag.SECOND, value=8, b=Tensor(last))], Error.E_RANGE),
        ([x, y, make(Op.DW)], None),
        ([x, wide, make(Op.DW)], Error.E_DIM),
        ([x, make(Op.FY, neurons=layer.n, tiles=two), make(Op.DW)], Error.E_DIM),
        ([dy, y, make(Op.DW)], Error.E_DIM),
        ([x, make(Op.FW, tiles=two)], Error.E_DIM),
        ([dy, make(Op.FW)], Error.E_DIM),
        ([x, make(Op.DX)], Error.E_DIM),
    ]  # fmt: skip
    for program, code in cases:
        assert device.check([*ready, END]).error is None
        error = device.check([*program, END]).error
        assert (error.code if error else None) == code
