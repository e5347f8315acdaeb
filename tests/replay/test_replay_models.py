"""Golden models of the replay engine against references: flat sums, float64, torch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch

from flow import budget
from models.engine import ADDRESSES, JobEnd, Link
from models.registers import replay as registers
from models.registers.replay import Error
from models.replay.engine import Flag, Job, ReplayConfig, ReplayEngine, TdeKind
from models.replay.flat import FlatTree, target
from models.replay.kernels import Op
from models.replay.priority import priorities
from models.replay.rmm import Batch, Geometry, OperationError, Rmm
from models.replay.rng import Xoshiro, splitmix64
from models.replay.tree import SumTree
from models.replay.weights import weights


# ---- Arithmetic ----
def test_rng_known_answers() -> None:
    generator = Xoshiro([1, 2, 3, 4])
    assert [generator.next() for _ in range(4)] == [
        41943041, 58720359, 3588806011781223, 3591011842654386,
    ]  # fmt: skip
    assert splitmix64(1234567, 2) == [6457827717110365317, 3203168211198807973]
    assert Xoshiro([0, 0, 0, 0]).state == [1, 0, 0, 0]


def _chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Probability of a chi-square statistic at least this large."""
    kept = expected > 0
    assert counts[~kept].sum() == 0
    statistic = float(((counts - expected)[kept] ** 2 / expected[kept]).sum())
    half = torch.tensor([(kept.sum() - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def test_sample_distribution(seed: int) -> None:
    """1e6 draws of 1000 leaves: chi-square against the priorities and torch.multinomial."""
    rng = np.random.default_rng(seed)
    draws = 1_000_000
    leaves = rng.integers(0, 1 << 20, 1000) * (rng.random(1000) < 0.9)
    flat = FlatTree(1000)
    flat.leaves[:] = leaves
    total, generator = flat.total, Xoshiro(splitmix64(seed))
    goals = [1 + ((generator.uniform() * total) >> 48) for _ in range(draws)]
    counts = np.bincount(flat.find(np.array(goals)), minlength=1000)
    expected = leaves / total * draws
    assert _chi_square(counts, expected) > 1e-4
    torch.manual_seed(seed)
    weight = torch.tensor(leaves, dtype=torch.float64)
    other = torch.multinomial(weight, draws, replacement=True).numpy()
    # Two samples of one distribution: the statistic of sample a about the pooled share (a + b) / 2
    # is half of the two-sample one, so the difference is scaled by sqrt(2).
    share = (np.bincount(other, minlength=1000) + counts) / 2
    assert _chi_square(share + (counts - share) * np.sqrt(2), share) > 1e-4


def test_probabilities_match_float64(seed: int) -> None:
    """The exact probability of each leaf is within 2^-40 of that of a float64 tree."""
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, 1 << 32, 4096)
    nodes = np.zeros(8192)  # binary, node i above 2i and 2i+1
    nodes[4096:] = leaves
    for i in range(4095, 0, -1):
        nodes[i] = nodes[2 * i] + nodes[2 * i + 1]
    total = int(leaves.sum())
    # x belongs to leaf i iff C_{i-1} < 1 + floor(x T / 2^48) <= C_i
    ends = [-(-(int(c) << 48) // total) for c in np.concatenate([[0], np.cumsum(leaves)])]
    exact = np.diff(np.array(ends, np.int64)) / 2.0**48
    assert np.abs(exact - nodes[4096:] / nodes[1]).max() < 2.0**-40


@pytest.mark.parametrize("k_log2", [1, 2, 4, 6])
def test_tree_matches_flat(seed: int, k_log2: int) -> None:
    rng = np.random.default_rng(seed)
    tree, flat = SumTree(10, k_log2), FlatTree(1 << 10)
    for _ in range(60):
        indices = rng.integers(0, 1 << 10, 40) // int(rng.integers(1, 200))
        values = rng.integers(0, 1 << 32, 40)
        tree.set_many(indices, values)
        for i, v in zip(indices, values, strict=True):
            flat.set(int(i), int(v))
        index, value = int(rng.integers(1 << 10)), int(rng.integers(1 << 32))
        tree.set(index, value)
        flat.set(index, value)
        assert tree.total == flat.total
        goals = rng.integers(1, flat.total, 100, endpoint=True)
        edges = np.cumsum(flat.leaves)
        goals = np.concatenate([goals, [1, flat.total], edges[edges > 0][:50]])
        np.testing.assert_array_equal(tree.find(goals), flat.find(goals))
    for level, above in zip(tree.levels[1:], tree.levels[:-1], strict=True):
        np.testing.assert_array_equal(level.reshape(len(above), -1).sum(axis=1), above)


def test_stratified_targets() -> None:
    assert target(1000, 0, 0, 2) == 1 and target(1000, 0, 1, 2) == 251
    assert target(1000, (1 << 48) - 1, 3, 2) == 1000
    assert target(1, (1 << 48) - 1) == 1


def test_priority_error(seed: int) -> None:
    """All 2^16 upper halves and 1e6 random words: 1.5e-5 relative and half a unit."""
    rng = np.random.default_rng(seed)
    words = np.concatenate(
        [
            np.arange(1 << 16, dtype=np.uint32) << 16,
            rng.integers(0, 1 << 32, 10**6, dtype=np.uint32),
        ]
    )
    eps = int(np.float32(1e-3).view(np.uint32))
    for alpha in (0.4, 0.6, 1.0):
        a = int(alpha * 2**15)
        got, nonfinite = priorities(
            words, alpha=a, eps=eps, fraction_bits=16, smallest=1, largest=0xFFFFFFFF
        )
        with np.errstate(invalid="ignore"):
            value = (words & np.uint32(0x7FFFFFFF)).view(np.float32) + np.float32(1e-3)
        fine = np.isfinite(value)
        np.testing.assert_array_equal(nonfinite, ~fine)
        exact = np.clip(value[fine].astype(np.float64) ** (a / 2**15) * 2**16, 1, 0xFFFFFFFF)
        error = np.abs(got[fine] - exact) - 0.5
        assert (error / exact).max() < 1.5e-5
        assert (got[~fine] == 0xFFFFFFFF).all()


def test_weight_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 1 << 32, 10**6) >> rng.integers(0, 32, 10**6)
    values = np.maximum(values, 3)
    for beta in (0, int(0.4 * 2**30), 1 << 30):
        got = weights(values, 3, beta).view(np.float32).astype(np.float64)
        exact = (3 / values) ** (beta / 2**30)
        assert np.abs(got / exact - 1).max() < 1.2e-5  # two logarithms and a power
        assert (got[values == 3] == 1.0).all() and got.min() > 2.0**-126


def test_stale_matches_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for leaves in (1, 2, 5, 16):
        rmm = Rmm(Geometry(n_log2=4))
        rmm.clear(leaves, 1)
        touched: list[tuple[Batch, set[int]]] = []
        for _ in range(300):
            op = Op(int(rng.choice([Op.INSERT, Op.RESERVE, Op.COMMIT])))
            try:
                rmm.check(op, 0)
            except OperationError:
                continue
            if rng.random() < 0.2:
                touched.append((Batch(np.arange(leaves), rmm.head, rmm.moves), set()))
            index = rmm.apply(op, value=1).index
            for _, seen in touched:
                if op != Op.COMMIT:
                    seen.add(index)
            for batch, seen in touched[-10:]:
                got = set(np.flatnonzero(rmm.is_stale(batch, np.arange(leaves))).tolist())
                assert got == seen


# ---- Jobs ----
class _Memory:
    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 20, np.uint8)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        return self.bytes[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        self.bytes[address : address + len(data)] = data


class _Bench:
    """An engine with memory, and a learner that answers each batch."""

    def __init__(self, **config: Any) -> None:
        self.memory = _Memory()
        self.engine = ReplayEngine(ReplayConfig(**config), Link(), Link())
        self.rng = np.random.default_rng(1)
        self.write("CFG_N", 1000)

    def write(self, name: str, value: int) -> None:
        self.engine.write_register(getattr(registers, name).offset, value, True)

    def read(self, name: str) -> int:
        return self.engine.read_register(getattr(registers, name).offset)

    def start(self, ring: int, opcode: int, flags: int = 0, **words: int) -> Any:
        descriptor = np.zeros(16, np.uint32)
        descriptor[0] = opcode | flags << 8
        for name, value in words.items():
            descriptor[int(name[1:])] = value
        return self.engine.job(ring, descriptor, self.memory)

    def run(self, ring: int, opcode: int, flags: int = 0, **words: int) -> JobEnd:
        job = self.start(ring, opcode, flags, **words)
        for _ in range(1000):
            try:
                next(job)
            except StopIteration as stop:
                return stop.value
            self.learn()
        raise AssertionError("the job does not end")

    def learn(self) -> None:
        words = len(self.engine.smp.words)
        self.engine.smp.clear()
        if words:
            self.engine.tde.put(TdeKind.FETCH_DONE << 48)
        for slot in range(words):
            bits = int(np.float32(self.rng.normal()).view(np.uint32))
            self.engine.tde.put(bits | slot << 32)

    def responses(self, address: int, count: int) -> np.ndarray:
        return self.memory.read(address, 16 * count).view(np.uint32).reshape(count, 4)


def _last(word: str, nbytes: int) -> dict[str, int]:
    """An address so many bytes before the end of all addresses."""
    address, number = ADDRESSES - nbytes, int(word[1:])
    return {word: address & 0xFFFF_FFFF, f"w{number + 1}": address >> 32}


@pytest.mark.parametrize(
    ("ring", "opcode", "flags", "words", "error"),
    [
        (0, Job.UPDATE, 0, {}, Error.E_OPCODE),
        (1, 12, 0, {}, Error.E_OPCODE),
        (0, Job.SAMPLE, Flag.FP32, {}, Error.E_OPCODE),
        (1, Job.RETRIEVE, 0, {"w2": 1, "w4": 64, "w9": 1}, Error.E_RESERVED),
        (1, Job.RETRIEVE, 0, {"w2": 1, "w4": 64, "w6": 64}, Error.E_RESERVED),
        (1, Job.RETRIEVE, 0, {"w2": 1, "w4": 64, "w5": 0x100}, Error.E_RESERVED),
        (1, Job.RETRIEVE, 0, {"w2": 1, "w4": 32}, Error.E_ALIGN),
        (1, Job.RETRIEVE, Flag.MEMORY, {"w2": 1, "w4": 64}, Error.E_ALIGN),
        (1, Job.RETRIEVE, 0, {"w2": 0, "w4": 64}, Error.E_COUNT),
        (1, Job.CLEAR, 0, {"w2": 1}, Error.E_COUNT),
        (0, Job.SAMPLE, 0, {"w2": 513}, Error.E_COUNT),
        (0, Job.TRAIN_LOOP, 0, {"w2": 32}, Error.E_COUNT),
        (0, Job.SAMPLE, Flag.STRATIFIED, {"w2": 33}, Error.E_STRAT),
        (1, Job.RETRIEVE, 0, {"w2": 17} | _last("w4", 64), Error.E_ADDR),
        (1, Job.UPDATE, 0, {"w2": 9} | _last("w4", 64), Error.E_ADDR),
        (1, Job.STREAM, 0, {"w2": 5} | _last("w4", 64), Error.E_ADDR),
        (1, Job.RESERVE, Flag.MEMORY, {"w2": 5} | _last("w6", 64), Error.E_ADDR),
        (0, Job.SAMPLE, Flag.MEMORY, {"w2": 4, "w3": 3} | _last("w6", 128), Error.E_ADDR),
        (0, Job.SAMPLE, Flag.MEMORY, {"w2": 4, "w3": 2} | _last("w6", 128), Error.E_EMPTY),
        (0, Job.SAMPLE, Flag.HOST_X, {"w2": 9} | _last("w4", 64), Error.E_ADDR),
        (0, Job.SAMPLE, Flag.HOST_X, {"w2": 8} | _last("w4", 64), Error.E_EMPTY),
        (0, Job.SAMPLE, 0, {"w2": 32}, Error.E_EMPTY),
        (1, Job.COMMIT, Flag.PMAX, {"w2": 1}, Error.E_INSERT),
        (1, Job.RESERVE, 0, {"w2": 501}, Error.E_INSERT),
    ],
)
def test_engine_errors(
    ring: int, opcode: int, flags: int, words: dict[str, int], error: Error
) -> None:
    bench = _Bench()
    if error not in (Error.E_EMPTY, Error.E_INSERT):
        assert bench.run(1, Job.RESERVE, w2=1).error == Error.E_NOTCLEAR
    bench.run(1, Job.CLEAR)
    assert bench.run(ring, opcode, flags, **words).error == error
    bench.engine.soft_reset()
    assert bench.run(1, Job.INSERT, Flag.PMAX, w2=1).error in (0, Error.E_INSERT)


def test_engine_clear_configuration() -> None:
    bench = _Bench()
    for name, value in (("CFG_N", 0), ("CFG_N", 65537), ("CFG_PINIT", 0), ("CFG_PCLIP", 0)):
        old = bench.read(name)
        bench.write(name, value)
        assert bench.run(1, Job.CLEAR).error == Error.E_CFG
        bench.write(name, old)
    assert bench.run(1, Job.CLEAR).error == 0
    bench.run(1, Job.INSERT, Flag.PMAX, w2=8)
    loop = bench.start(0, Job.TRAIN_LOOP, w2=8, w3=1)
    next(loop)
    assert bench.run(1, Job.CLEAR).error == Error.E_BUSY
    assert bench.run(1, Job.CHECK).error == Error.E_BUSY


def test_engine_check() -> None:
    bench = _Bench()
    assert bench.run(1, Job.CHECK).error == Error.E_NOTCLEAR
    bench.run(1, Job.CLEAR)
    bench.run(1, Job.INSERT, Flag.PMAX, w2=1000)
    assert bench.run(1, Job.CHECK) == JobEnd(count=1 << 16, cycles=bench.engine.timing.check())
    bench.engine.rmm.tree.levels[0][2] += 1
    end = bench.run(1, Job.CHECK)
    assert (end.error, end.info1) == (Error.E_CHECK, 1 << 24 | 2)
    assert bench.run(1, Job.CHECK, w2=1).error == Error.E_COUNT


def test_engine_train_loop_speed(seed: int) -> None:
    """A step of 32 samples, and its time in the model backend."""
    bench = _Bench()
    bench.run(1, Job.CLEAR)
    assert bench.run(1, Job.INSERT, Flag.PMAX, w2=1000).count == 1000
    assert bench.read("CNT") == 1000 and bench.read("WP") == 0
    begin = time.perf_counter()
    end = bench.run(0, Job.TRAIN_LOOP, Flag.WEIGHTS | Flag.STRATIFIED, w2=32, w3=500)
    print(f"{(time.perf_counter() - begin) * 2:.2f} ms a step")
    assert (end.error, end.count) == (0, 500)
    assert bench.read("N_UPDATE_LO") == bench.read("N_SAMPLE_LO") == 16000
    tree = bench.engine.rmm.tree
    assert tree.leaves.sum() == tree.total
    assert tree.leaves.max() <= bench.read("PMAX")


def test_engine_reserve_waits_for_fetch() -> None:
    bench = _Bench()
    bench.run(1, Job.CLEAR)
    bench.run(1, Job.INSERT, Flag.PMAX, w2=100)
    assert bench.run(0, Job.SAMPLE, Flag.SMP, w2=16).error == 0
    reserve = bench.start(1, Job.RESERVE, w2=4)
    next(reserve)
    assert bench.read("RESV") == 4
    bench.learn()
    with pytest.raises(StopIteration):
        next(reserve)
    assert bench.run(1, Job.INSERT, Flag.PMAX, w2=1).error == Error.E_INSERT
    assert bench.run(1, Job.COMMIT, Flag.PMAX, w2=4).error == 0
    assert bench.read("N_UPDATE_LO") == 16
    bench.run(0, Job.SAMPLE, Flag.MEMORY, w2=16, w6=0x1000)
    reserve = bench.start(1, Job.RESERVE, w2=1)
    next(reserve)
    bench.write("FETCH_ACK", 1)
    with pytest.raises(StopIteration):
        next(reserve)


def test_engine_stream_errors() -> None:
    for word in (5 << 32, 3 << 48, TdeKind.ABORT << 48, 1 << 50):
        bench = _Bench()
        bench.run(1, Job.CLEAR)
        bench.run(1, Job.INSERT, Flag.PMAX, w2=100)
        loop = bench.start(0, Job.TRAIN_LOOP, w2=4, w3=2)
        next(loop)
        bench.engine.smp.clear()
        bench.engine.tde.put(word)
        with pytest.raises(StopIteration) as stop:
            next(loop)
        assert stop.value.value.error == Error.E_STREAM
        assert bench.engine.smp.words[0][0] >> 120 == Error.E_STREAM
        bench.engine.soft_reset()
        bench.engine.tde.put(0)
        bench.engine.poll()
        assert bench.engine.stray_errors == [Error.E_STREAM]


def test_engine_slots_and_stream(seed: int) -> None:
    """UPDATE by slot drops what was inserted since; unified requests answer in order."""
    bench = _Bench()
    bench.run(1, Job.CLEAR)
    bench.run(1, Job.INSERT, Flag.PMAX, w2=1000)
    bench.run(0, Job.SAMPLE, Flag.MEMORY, w2=64, w6=0x1000)
    indices = bench.responses(0x1000, 64)[:, 0]
    bench.run(1, Job.INSERT, Flag.PMAX, w2=500)  # leaves 0..499
    pairs = np.stack([np.arange(64), np.arange(64) + 7], axis=1).astype(np.uint32)
    bench.memory.write(0x2000, pairs.reshape(-1).view(np.uint8))
    assert bench.run(1, Job.UPDATE, Flag.SLOTS, w2=64, w4=0x2000).error == 0
    assert bench.read("STALE") == (indices < 500).sum() > 0
    requests = np.zeros((3, 4), np.uint32)
    requests[0] = [Op.UPDATE | 1 << 8, 900, 42, 0]
    requests[1] = [Op.RETRIEVE | 2 << 8, 900, 0, 0]
    requests[2] = [Op.UPDATE_SLOT | 64 << 8, 0, 0, 0]
    bench.memory.write(0x3000, requests.reshape(-1).view(np.uint8))
    end = bench.run(1, Job.STREAM, Flag.MEMORY, w2=3, w4=0x3000, w6=0x4000)
    assert (end.error, end.count, end.info0, end.info1) == (Error.E_INDEX, 2, 2, 64)
    words = bench.responses(0x4000, 3)
    assert words[0].tolist()[:2] == [900, 42] and words[1].tolist()[:3] == [900, 42, 42]
    assert words[1, 3] == 2 | Op.RETRIEVE << 16 and not words[2].any()


# ---- Against a plain definition ----
class _Plain:
    """Every operation on a list of numbers, one at a time: what the engine's kernels must do."""

    def __init__(self, leaves: int, top: int, pmax: int) -> None:
        self.leaves, self.top, self.pmax = [0] * leaves, top, pmax
        self.pointer = self.reserved = self.stale = 0
        self.moved: list[int] = []  # leaves in the order in which they were inserted or reserved
        self.batch: tuple[list[int], int] = ([], 0)

    @property
    def head(self) -> int:
        return (self.pointer + self.reserved) % len(self.leaves)

    def sample(self, x: int, slot: int = 0, slots: int = 1) -> int:
        """The first leaf whose running sum reaches the target."""
        goal = 1 + (((slot << 48) + x) * sum(self.leaves)) // (slots << 48)
        return next(i for i in range(len(self.leaves)) if sum(self.leaves[: i + 1]) >= goal)

    def remember(self, batch: list[int]) -> None:
        self.batch = batch, len(self.moved)

    def operate(
        self, op: int, index: int, value: int, pmax: bool = False
    ) -> tuple[Error, int] | tuple[int, int, int]:
        """Index, priority after and before; or why not, and ERR_INFO1."""
        if op == Op.UPDATE_SLOT:
            if index >= len(self.batch[0]):
                return Error.E_INDEX, index
            index = self.batch[0][index]
            if index in self.moved[self.batch[1] :]:
                self.stale += 1
                return index, self.leaves[index], self.leaves[index]
        if index >= len(self.leaves) and op in (Op.RETRIEVE, Op.UPDATE, Op.UPDATE_DELTA):
            return Error.E_INDEX, index
        if (
            (op == Op.INSERT and self.reserved)
            or (op == Op.COMMIT and not self.reserved)
            or (op == Op.RESERVE and self.reserved >= len(self.leaves) // 2)
        ):
            return Error.E_INSERT, self.head
        if op in (Op.INSERT, Op.COMMIT, Op.RESERVE):
            index = self.head if op == Op.RESERVE else self.pointer
            if op != Op.RESERVE:
                self.pointer = (self.pointer + 1) % len(self.leaves)
            self.reserved += {Op.RESERVE: 1, Op.COMMIT: -1}.get(Op(op), 0)
            if op != Op.COMMIT:
                self.moved.append(index)
        old = self.leaves[index]
        if op == Op.RETRIEVE:
            new = old
        elif op == Op.RESERVE:
            new = 0
        elif op == Op.UPDATE_DELTA:
            new = min(max(old + value, 0), self.top)
        else:
            new = self.pmax if pmax else value & self.top
        self.leaves[index] = new
        if op != Op.RETRIEVE:
            self.pmax = max(self.pmax, new)
        return index, new, old


def _requests(rng: np.random.Generator, bench: _Bench, count: int) -> np.ndarray:
    """[count, 4] uint32: mixed requests of a STREAM without TD errors."""
    out = np.zeros((count, 4), np.uint32)
    ops = np.array([Op.RETRIEVE, Op.UPDATE, Op.UPDATE_DELTA, Op.INSERT, Op.UPDATE_SLOT,
                    Op.RESERVE, Op.COMMIT])  # fmt: skip
    op = rng.choice(ops, count)
    out[:, 0] = op | rng.integers(0, 20, count) << 8
    out[:, 0] |= ((rng.random(count) < 0.3) & np.isin(op, [Op.INSERT, Op.COMMIT])) * np.uint32(32)
    out[:, 1] = rng.integers(0, bench.read("CFG_N") + (rng.random() < 0.1), count)
    out[:, 2:] = rng.integers(0, 1 << 32, (count, 2))
    signs = np.where(rng.random(count) < 0.5, 0, 0xFFFFFFFF)  # changes that do not saturate, too
    out[:, 3] = np.where((op == Op.UPDATE_DELTA) & (rng.random(count) < 0.8), signs, out[:, 3])
    return out


@pytest.mark.parametrize("n_log2", [2, 5, 9])
def test_engine_matches_plain_operations(seed: int, n_log2: int) -> None:
    """Random programs of jobs of ring 1 and batches: responses, errors, leaves and counters."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        leaf_w = int(rng.integers(8, 33))
        bench = _Bench(n_log2=n_log2, leaf_w=leaf_w)
        leaves = int(rng.integers(2, (1 << n_log2) + 1))
        bench.write("CFG_N", leaves)
        bench.write("CFG_PINIT", 1 << (leaf_w - 1))
        assert bench.run(1, Job.CLEAR).error == 0
        plain = _Plain(leaves, (1 << leaf_w) - 1, 1 << (leaf_w - 1))
        for _ in range(12):
            requests = _requests(rng, bench, int(rng.integers(1, 40)))
            bench.memory.write(0x4000, requests.reshape(-1).view(np.uint8))
            end = bench.run(1, Job.STREAM, Flag.MEMORY, w2=len(requests), w4=0x4000, w6=0x8000)
            got = bench.responses(0x8000, len(requests)).tolist()
            for done, (word, index, low, high) in enumerate(requests.tolist()):
                op, tag, value = word & 15, word >> 8, low | high << 32
                if op == Op.UPDATE_DELTA:
                    value -= value >> 63 << 64
                want = plain.operate(op, tag if op == Op.UPDATE_SLOT else index, value, word & 32)
                if len(want) == 2:
                    assert (end.error, end.count, end.info1) == (want[0], done, want[1])
                    break
                assert got[done] == [*want, tag | op << 16], (done, requests[done])
            else:
                assert (end.error, end.count) == (0, len(requests))
            assert bench.engine.rmm.tree.leaves[:leaves].tolist() == plain.leaves
            assert bench.engine.rmm.tree.wrong() is None
            assert (bench.read("PMAX"), bench.read("STALE")) == (plain.pmax, plain.stale)
            if not any(plain.leaves):
                continue
            x = rng.integers(0, 1 << 48, 8, dtype=np.uint64)
            bench.memory.write(0x4000, x.view(np.uint8))
            flags = Flag.MEMORY | Flag.HOST_X | Flag.STRATIFIED * int(rng.integers(2))
            assert bench.run(0, Job.SAMPLE, flags, w2=8, w4=0x4000, w6=0x8000).error == 0
            bench.write("FETCH_ACK", 1)
            slots = range(8) if flags & Flag.STRATIFIED else [0] * 8
            drawn = [
                plain.sample(int(u), slot, 8 if flags & Flag.STRATIFIED else 1)
                for u, slot in zip(x, slots, strict=True)
            ]
            assert bench.responses(0x8000, 8)[:, 0].tolist() == drawn
            plain.remember(drawn)


def test_generator_matches_plain_words(seed: int) -> None:
    """xoshiro256++ and the multiplication of 48 by 52 bits, in Python's integers."""
    rng = np.random.default_rng(seed)
    words = [int(w) for w in rng.integers(0, 1 << 64, 4, dtype=np.uint64)]
    generator, mask = Xoshiro(words), (1 << 64) - 1
    for got in generator.uniforms(100).tolist():
        s0, s1, s2, s3 = words
        total = s0 + s3 & mask
        assert got == ((total << 23 | total >> 41) + s0 & mask) >> 16
        s2, s3 = s2 ^ s0, s3 ^ s1
        words = [s0 ^ s3, s1 ^ s2, s2 ^ s1 << 17 & mask, (s3 << 45 | s3 >> 19) & mask]
    assert generator.state == words
    for _ in range(500):
        total = max(int(rng.integers(1, 1 << 52)) >> int(rng.integers(52)), 1)
        x, slots = int(rng.integers(1 << 48)), int(rng.integers(11))
        slot = int(rng.integers(1 << slots))
        assert target(total, x) == 1 + (x * total >> 48)
        assert target(total, x, slot, slots) == 1 + (((slot << 48) + x) * total >> 48 + slots)


def test_million_leaves_are_set_in_one_job() -> None:
    """A state of the largest tree goes in by one job of 2^20 updates, and within a second."""
    bench = _Bench(n_log2=20)
    bench.memory.bytes = np.zeros(1 << 24, np.uint8)
    bench.write("CFG_N", 1 << 20)
    bench.run(1, Job.CLEAR)
    bench.run(1, Job.UPDATE, w2=1, w4=0x1000)  # compiles
    pairs = np.empty((1 << 20, 2), np.uint32)
    pairs[:, 0] = np.arange(1 << 20)
    pairs[:, 1] = pairs[:, 0] ^ 0x5A5A5
    bench.memory.write(0x1000, pairs.reshape(-1).view(np.uint8)[: (1 << 23)])
    begin = time.process_time()
    assert bench.run(1, Job.UPDATE, w2=1 << 20, w4=0x1000).count == 1 << 20
    spent = time.process_time() - begin
    # Seconds of an ordinary core: below 0.1; a call for each operation takes more than 1.
    assert spent < 0.6 * max(1.0, budget.slower_now())
    assert (bench.engine.rmm.tree.leaves == pairs[:, 1]).all()
    assert bench.engine.rmm.tree.wrong() is None
