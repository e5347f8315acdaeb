"""Golden models of the replay engine against references: flat sums, float64, torch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch

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
