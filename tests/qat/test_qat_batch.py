"""Records, lists and pairs of a batch: lines of slots, what monitors see, where it fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.float import from_fixed
from models.qat import ops
from models.qat.descriptor import Flag, Job, Opcode
from models.qat.engine import QatEngine
from models.qat.layout import MISC_WORDS, Geometry, Slots, plan
from models.qat.timestep import Stage
from models.qat.validate import JobError, list_bytes
from models.registers import qat as registers
from models.registers.qat import Error
from verif.qat.batch import READ, WRITE, Batch, Memory, Result, Timing

SIZES = {
    "small": Geometry(2, 4, 8, 64, 8, 64),
    "R0": Geometry(1, 4, 8, 64, 8, 64),
    "LW8": Geometry(4, 8, 8, 64, 8, 64),
    "LW16": Geometry(2, 16, 64, 64, 8, 64),
}
ALL = ["small", *(regress(name) for name in SIZES if name != "small")]
BYTES = 1 << 19
RECORDS, LISTS = 0x10000, 0x1000  # from the memory's first address
PLACES = 200
pytestmark = builds(lambda size: Batch(SIZES[size], 1))


class Bench:
    """A batch in memory, the design, and the golden engine.

    Attributes:
        job: TRAIN of the batch.
        golden: the engine.
        slots: lines of a slot.
        records, list: addresses. where: of each vector's record. places: records there are.
        memory, expected: the design's and the golden model's.
        act: slots of the design.
        low, high, over: what its lines told the monitor of tensor 0, and saturated values.
    """

    def __init__(self, sim: Batch, rng: np.random.Generator, **choice: int) -> None:
        g = self.geometry = sim.geometry
        self.sim, self.rng = sim, rng

        def draw(name: str, first: int, past: int) -> int:
            return choice.get(name, int(rng.integers(first, past)))

        self.actions = draw("actions", 1, g.lw - 1)
        self.states = draw("states", 1, 4 * g.lw)
        self.table = plan(self.states, self.actions, [3], g)
        self.slots = Slots.of(self.table, g)
        self.mode = choice.get("mode", int(rng.integers(0, 3)))  # full, half, full by force
        self.common = draw("common", 0, 3) == 2
        most = g.vc if self.common else g.vectors
        self.chunk = choice.get("chunk", 2 * int(rng.integers(1, most // 2 + 1)))
        self.batch = choice.get("batch", int(rng.integers(1, min(3 * self.chunk, PLACES // 2) + 1)))
        listed = draw("list", 0, 4) > 0
        weighted = listed and draw("weights", 0, 4) > 0
        stride = g.stride(self.states) + 64 * draw("gap", 0, 3)
        origin = int(rng.integers(0, 1 << 28)) << 12
        self.memory = Memory(origin, rng.integers(0, 256, BYTES).astype(np.uint8))
        self.records = at = origin + RECORDS + 64 * draw("at", 0, 64)
        self.places = places = min(PLACES, (BYTES - RECORDS - 0x2000) // stride)
        if not listed:
            self.batch = min(self.batch, places)
        where = rng.integers(0, places, self.batch) if listed else np.arange(self.batch)
        self.where = at + stride * where
        low = int(rng.integers(0, min(at // stride, 1 << 31))) if listed else 0
        base = at - stride * low  # nothing names a record before this place
        for address in self.where:  # words of any size
            size = g.record_bytes(self.states) // 4
            raw = rng.integers(-(1 << 31), 1 << 31, size) >> rng.integers(0, 32, size)
            self.memory.put(int(address), raw.astype(np.int32))
        self.list = origin + LISTS
        entries = rng.integers(0, 1 << 32, (self.batch, 4)).astype(np.uint32)
        entries[:, 0] = low + where
        some = rng.random(self.batch) < 0.8
        entries[some, 2] = rng.uniform(0, 2.1, some.sum()).astype(np.float32).view(np.uint32)
        if listed:
            self.memory.put(self.list, entries)
        flags = Flag.LIST * listed | Flag.WEIGHTS * weighted
        words = [0] * 16
        words[0] = Opcode.TRAIN | flags << 8
        words[2:4] = base & 0xFFFFFFFF, base >> 32
        if listed:
            words[10:13] = self.list & 0xFFFFFFFF, self.list >> 32, low + places
        words[13], words[14] = stride, self.batch | self.chunk << 16
        self.job = Job(tuple(words))
        golden = self.golden = QatEngine(g)
        golden.path.table, golden.slots = self.table, self.slots
        golden.path.half = self.mode > 0
        golden._words["CFG"] = registers.CFG.word(force_full=self.mode == 2)
        golden.path.shifts[0] = choice.get("shift", int(rng.integers(0, 17)))
        golden.path.low[0], golden.path.high[0] = 5, -5  # any line brings a 0
        self.low, self.high, self.over = 5, -5, 0
        golden.act[...] = rng.integers(-(1 << 31), 1 << 31, golden.act.shape)
        self.act = golden.act.copy()
        self.expected = Memory(origin, self.memory.data.copy(), self.memory.faults)

    @property
    def half(self) -> bool:
        return self.mode == 1

    @property
    def pairs(self) -> int:
        """Address of the pairs."""
        return self.list + list_bytes(self.batch)

    def ports(self, first: int, whole: bool, turn: int) -> dict[str, int]:
        """What describes a chunk."""
        g, w, slots = self.geometry, self.job.words, self.slots
        flags = self.job.flags
        return {
            "records": w[2] | w[3] << 32, "stride": w[13], "list": bool(flags & Flag.LIST),
            "weights": bool(flags & Flag.WEIGHTS), "list_address": w[10] | w[11] << 32,
            "places": w[12], "first": first, "vectors": min(self.chunk, self.batch - first),
            "whole": whole, "common": self.common, "x_line": slots.x[turn],
            "following_line": slots.following[turn],
            "misc_line": slots.misc[turn], "states": self.states,
            "state_lines": g.lines(self.states), "actions": self.actions,
            "place": g.action_place(self.states, self.actions), "half": self.half,
            "watch": self.golden._watch, "shift": self.golden.path.shifts[0],
            "pairs_address": self.pairs, "pairs_first": first,
            "pairs_vectors": min(self.chunk, self.batch - first),
        }  # fmt: skip

    def fail(self, address: int, response: int, way: int) -> None:
        """Let a beat fail that does not fail already."""
        if address not in (first for first, *_ in self.memory.faults):
            self.memory.faults.append((address, address + 63, response, way))

    def restore(self, act: np.ndarray, data: np.ndarray) -> None:
        """Slots and memory as they were, and no faults."""
        self.act[...], self.golden.act[...] = act, act
        self.memory.data[...], self.expected.data[...] = data, data
        self.memory.faults.clear()

    def predict(self, first: int, count: int, whole: bool = True) -> None:
        """Load vectors in the golden engine. Raises: JobError."""
        golden = self.golden
        rows, weights = golden._load(self.job, self.expected, first, count)
        turn, path, watch = golden._set, golden.path, golden._watch
        x = path.store(path.joined(rows.state, rows.action), 0, self.half, watch)
        slots = list(range(count)) if self.common else None  # of all cores
        golden._keep(golden.act, self.slots.x[turn], x, self.half, slots)
        if whole:
            x = path.store(path.joined(rows.following, None), 0, self.half, watch)
            golden._keep(golden.act, self.slots.following[turn], x, self.half, slots)
            weights = np.zeros(count, np.int64) if weights is None else weights
            misc = np.zeros((count, min(MISC_WORDS, self.geometry.lw)), np.int64)
            misc[:, :3] = np.stack([rows.reward, rows.discount, weights], 1)
            golden._keep(golden.act, self.slots.misc[turn], misc, False, slots)

    def load(
        self, first: int, timing: Timing, whole: bool = True, td: np.ndarray | None = None
    ) -> tuple[Result, JobError | None]:
        """Load a chunk in both, and compare; returns what failed."""
        golden, error = self.golden, None
        try:
            self.predict(first, min(self.chunk, self.batch - first), whole)
        except JobError as failed:
            error = failed
        ports = self.ports(first, whole, golden._set)
        result = self.sim.run(ports, self.memory, timing, td)
        past = self.records + self.job.words[13] * self.places
        assert self.list <= result.span[0] and result.span[1] < past, "outside the arrays"
        result.store(self.act)
        seen = result.data[result.seen > 0]
        if seen.size:
            self.low = min(self.low, int(seen.min()), 0)
            self.high = max(self.high, int(seen.max()), 0)
        self.over += int(result.over.sum())
        code = (0, 0, 0) if error is None else (int(error.code), error.info0, error.info1)
        assert (result.code, *(result.info if error else (0, 0))) == code
        assert (self.low, self.high) == (golden.path.low[0], golden.path.high[0])
        assert self.over == golden.path.saturated[Stage.ACTQ]
        if error is None:
            np.testing.assert_array_equal(self.act, golden.act)
        return result, error

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Random TD errors of the batch, and their magnitudes in binary32."""
        td = self.rng.integers(-(1 << 31), 1 << 31, self.batch) >> self.rng.integers(0, 32)
        return td, from_fixed(np.abs(td), ops.ACTIVATION).view(np.uint32)


def timing(rng: np.random.Generator) -> Timing:
    """Any memory and any other side."""
    return Timing(
        latency=int(rng.choice([1, 2, 20, 77, 150])),
        delay=int(rng.choice([0, 0, 40])),
        read=((1, 1), (1, 3), (3, 4))[rng.integers(3)],
        write=((1, 1), (1, 3))[rng.integers(2)],
        pause=float(rng.choice([0, 0.3, 0.8])),
        quiet=int(rng.choice([0, 0, 60])),
        td_pause=float(rng.choice([0, 0.5, 0.9])),
    )


@pytest.mark.parametrize("size", ALL)
def test_qat_batch(size: str, seed: int) -> None:
    """Batches of one chunk and more, in both phases, with pairs while they are loaded."""
    rng = np.random.default_rng([seed, 21])
    g = SIZES[size]
    met: set[object] = set()
    with Batch(g, seed) as sim:
        for _ in range(scale(60, 12)):
            bench = Bench(sim, rng)
            td, magnitudes = bench.errors()
            weighted = bool(bench.job.flags & Flag.WEIGHTS)
            starts = range(0, bench.batch, bench.chunk)
            for whole in (True, False) if len(starts) > 1 else (True,):
                for first in starts:
                    mine = slice(first, first + bench.chunk)
                    given = magnitudes[mine] if weighted and whole else None
                    result, _ = bench.load(first, timing(rng), whole, given)
                    assert result.response == 0
                    if given is not None:
                        bench.golden._deliver(bench.job, bench.expected, first, td[mine])
                        np.testing.assert_array_equal(bench.memory.data, bench.expected.data)
            own = g.action_place(bench.states, bench.actions) % g.lw == 0
            met |= {("own", own), ("mode", bench.mode), ("chunks", min(len(starts), 3))}
            met |= {("list", bool(bench.job.flags & Flag.LIST)), ("weights", weighted)}
            met |= {("odd", bench.batch % 2), ("saturated", bench.over > 0)}
            met.add(("common", bench.common))
    if scale(60, 12) > 40:
        for name, count in {"own": 2, "mode": 3, "chunks": 3, "list": 2, "weights": 2, "odd": 2,
                            "saturated": 2, "common": 2}.items():  # fmt: skip
            assert len([x for x in met if x[0] == name]) == count, name  # type: ignore[index]


@pytest.mark.parametrize("size", ALL)
def test_qat_batch_failures(size: str, seed: int) -> None:
    """Indices, lists and records at fault: the first is named; what came before it is stored."""
    rng = np.random.default_rng([seed, 22])
    g = SIZES[size]
    kinds = ("record", "records", "list", "index", "index and list", "index and record")
    met: set[tuple[str, int, int]] = set()
    with Batch(g, seed) as sim:
        for turn in range(scale(120, 24)):
            kind = kinds[turn % len(kinds)]
            bench = Bench(sim, rng, **({} if kind in ("record", "records") else {"list": 1}))
            first = bench.chunk * int(rng.integers(0, -(-bench.batch // bench.chunk)))
            count = min(bench.chunk, bench.batch - first)
            before, whole = bench.act.copy(), bench.memory.data.copy()
            for _ in range(1 + (kind == "records")):
                vector, response = first + int(rng.integers(0, count)), int(rng.integers(2, 4))
                beat = int(rng.integers(0, g.stride(bench.states) // 64))
                if "record" in kind:
                    bench.fail(int(bench.where[vector]) + 64 * beat, response, READ)
            if "list" in kind:
                bench.fail((bench.list + 16 * vector) // 64 * 64, response, READ)
            if "index" in kind:
                for k in rng.choice(count, min(count, 2), replace=False):
                    bad = np.array([bench.job.words[12] + int(rng.choice([0, 1, 1000]))], np.uint32)
                    for side in (bench.memory, bench.expected):
                        side.put(bench.list + 16 * (first + int(k)), bad)
            _, error = bench.load(first, timing(rng))
            assert error is not None
            met.add((kind, error.code, error.info1))
            if error.code == Error.E_BUS_RD and "list" not in kind:
                found, done = bench.act.copy(), error.info0 - first
                bench.restore(before, whole)
                if done:
                    path = bench.golden.path
                    saturated, bench.golden._set = list(path.saturated), bench.golden._set ^ 1
                    bench.predict(first, done)
                    path.saturated = saturated
                core, slot = (slice(None), done) if bench.common else (done % g.n, done // g.n)
                slots = [slot] if not bench.half else [slot, slot ^ 1]
                for act in (found, bench.golden.act):
                    act[core, slots] = 0
                np.testing.assert_array_equal(found, bench.golden.act)
            else:
                np.testing.assert_array_equal(bench.act, before)
            bench.restore(before, whole)
            assert bench.load(first, timing(rng))[1] is None
    assert len({kind for kind, *_ in met}) == len(kinds)
    assert {info for _, code, info in met if code == Error.E_BUS_RD} == {2, 3}


@pytest.mark.parametrize("size", ALL)
def test_qat_batch_stops(size: str, seed: int) -> None:
    """A stop in any clock ends both sides; the next chunk is whole."""
    rng = np.random.default_rng([seed, 23])
    with Batch(SIZES[size], seed) as sim:
        bench = Bench(sim, rng, list=1, weights=1, chunk=SIZES[size].vectors, batch=11, common=0)
        before, data = bench.act.copy(), bench.memory.data.copy()
        _, magnitudes = bench.errors()
        for turn in range(scale(150, 30)):
            stop = int(rng.integers(1, 30 if turn % 2 else 400))
            when = replace(timing(rng), stop=stop, held=int(rng.choice([1, 1 << 20])))
            result = sim.run(bench.ports(0, True, 0), bench.memory, when, magnitudes)
            assert result.code == result.response == 0
            assert result.asked < stop + 6
            if not when.pause and result.clocks.size:
                assert result.clocks[-1] < stop + 4
            bench.restore(before, data)
            assert bench.load(0, timing(rng))[1] is None


@pytest.mark.parametrize("size", ALL)
def test_qat_batch_pairs(size: str, seed: int) -> None:
    """Pairs that cannot be written: the answer, and nothing outside their place."""
    rng = np.random.default_rng([seed, 24])
    with Batch(SIZES[size], seed) as sim:
        for _ in range(scale(60, 12)):
            bench = Bench(sim, rng, list=1, weights=1)
            td, magnitudes = bench.errors()
            first = bench.chunk * int(rng.integers(0, -(-bench.batch // bench.chunk)))
            mine = slice(first, first + bench.chunk)
            at = bench.pairs + 8 * int(rng.integers(first, min(bench.batch, first + bench.chunk)))
            bench.fail(at // 64 * 64, int(rng.integers(2, 4)), WRITE)
            with pytest.raises(JobError) as failed:
                bench.golden._deliver(bench.job, bench.expected, first, td[mine])
            result = sim.run(
                bench.ports(first, True, 0), bench.memory, timing(rng), magnitudes[mine], False
            )
            assert (failed.value.code, failed.value.info1) == (Error.E_BUS_WR, result.response)
            begin, end = (bench.pairs - bench.memory.origin + 8 * k for k in (first, mine.stop))
            for data in (bench.memory.data, bench.expected.data):
                data[begin : min(end, begin + 8 * magnitudes[mine].size)] = 0
            np.testing.assert_array_equal(bench.memory.data, bench.expected.data)
        if SIZES[size].vectors >= 16:  # no more beats after an answer that is an error
            bench = Bench(sim, rng, list=1, weights=1, batch=16, chunk=16, common=0)
            bench.fail(bench.pairs, 3, WRITE)
            _, magnitudes = bench.errors()
            result = sim.run(bench.ports(0, True, 0), bench.memory, Timing(1), magnitudes, False)
            assert (result.response, result.written) == (3, 1)


@pytest.mark.parametrize("size", ALL)
def test_qat_batch_clocks(size: str, seed: int) -> None:
    """A row per clock, and one more for an action with a line of its own."""
    rng = np.random.default_rng([seed, 25])
    g, latency = SIZES[size], 64
    many = {"actions": 2, "batch": g.vectors, "chunk": g.vectors, "at": 0, "gap": 0,
            "common": 0}  # fmt: skip
    with Batch(g, seed) as sim:
        for own in (False, True):
            states = 2 * g.lw - (0 if own else 2)
            bench = Bench(sim, rng, list=0, states=states, **many)
            for whole in (True, False):
                result, _ = bench.load(0, Timing(latency), whole)
                clocks = g.vectors * ((5 if whole else 3) + own * (1 + whole))
                assert result.clocks.size == clocks - (0 if whole else g.vectors)
                span = int(result.clocks[-1] - result.clocks[0]) + 1
                if whole:
                    assert (result.clocks[0], span) == (latency + 10, clocks)
                else:  # no more than 16 reads in a round trip
                    assert clocks - 1 <= span <= max(clocks, g.vectors * (latency + 10) // 16)
                assert result.end == result.clocks[-1] + 2
        bench = Bench(sim, rng, list=1, states=states, **many)
        result, _ = bench.load(0, Timing(latency))
        assert result.clocks[0] <= max(2 * latency + 15, latency + g.vectors + 14)
