"""The sparse engine's RTL against its golden model: registers, images, errors, resets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from flow.effort import effort, scale
from flow.regression import builds
from jackdaw.device import open_device
from jackdaw.drivers.sparse import Sparse
from jackdaw.errors import JobError
from models.registers import engine_header as header
from models.registers import sparse as registers
from models.sparse.formats import (
    GROUPS,
    LINE,
    Geometry,
    Instruction,
    Kind,
    Layer,
    Op,
    Opcode,
    image_words,
    program_words,
    table_words,
)
from tests.sparse.test_sparse_engine import BAD_JOBS, BAD_TABLES

CONFIG = "sparse"
ALL = Kind(31)
FAULT = 2  # AXI's SLVERR
READS, WRITES = 1, 2
SMALL = 24  # rows and columns of a random layer in a short run

pytestmark = builds(lambda: open_device("sim", CONFIG))


class Jobs:
    """A device for jobs of any words.

    Attributes:
        driver, device: of the engine.
        scratch: its memory.
        layers: of the network.
    """

    def __init__(self, device: Any) -> None:
        self.device, self.driver = device, Sparse(device)
        self.ring = self.driver.rings[0]
        self.scratch = device.alloc(1 << 18)

    def submit(self, *words: int) -> Any:
        return self.ring.submit(list(words)).wait(60)

    def job(self, opcode: int, size: int, address: int) -> Any:
        return self.submit(opcode, 0, size, 0, address & 0xFFFF_FFFF, address >> 32)

    def config(self, words: np.ndarray) -> Any:
        """A CONFIG job."""
        self.device.write(self.scratch, words)
        return self.job(Opcode.CONFIG, words.nbytes, self.scratch)

    def load(self, size: int, image: np.ndarray) -> Any:
        self.device.write(self.scratch, image)
        return self.job(Opcode.LOAD, size, self.scratch)

    def seed(self) -> list[int]:
        """What the generator's words read."""
        return [self.driver.read(registers.SEED.at(k)) for k in range(8)]

    def store(self, size: int, words: int) -> tuple[Any, np.ndarray]:
        self.device.write(self.scratch, np.full(words, 0xA5A5_A5A5, np.uint32))
        record = self.job(Opcode.STORE, size, self.scratch)
        return record, self.device.read(self.scratch, 4 * words).view(np.uint32)


def ended(call: Callable[[], Any]) -> tuple[Any, ...]:
    """How a job ended: error, detail, count, info."""
    try:
        record = call()
    except JobError as error:
        return error.code_name, error.detail, error.count, error.info
    return "", record.detail, record.count, (0, 0)


class Pair:
    """The engine and its golden model; the same jobs for both."""

    def __init__(self, model: Any, sim: Any) -> None:
        self.both = [Jobs(model), Jobs(sim)]
        self.geometry: Geometry = self.both[0].driver.geometry
        self.rng = np.random.default_rng(1)
        self.layers: list[Layer] = []
        self.scratch = self.both[0].scratch
        assert self.scratch == self.both[1].scratch
        self.network()

    def call(self, job: Callable[[Any], Any]) -> tuple[Any, ...]:
        """A job on both ends alike. Returns how."""
        want, got = (ended(partial(job, one)) for one in self.both)
        assert got == want
        return want

    def config(self, words: np.ndarray) -> str:
        """The error of a CONFIG."""
        return str(self.call(lambda one: one.config(words))[0])

    def network(self) -> None:
        """Another network, with random contents."""
        self.layers = network(self.rng, self.geometry)
        for one in self.both:
            one.driver.layers = self.layers
        assert self.config(table_words(self.layers)) == ""
        self.fill()

    def words(self, numbers: Sequence[int], kinds: Kind) -> int:
        """Words of an image."""
        return sum(sum(image_words(self.layers[k], kinds).values()) for k in numbers)

    def load(self, numbers: Sequence[int], kinds: Kind) -> None:
        image = self.rng.integers(0, 1 << 32, self.words(numbers, kinds), dtype=np.uint32)
        size = sum(1 << k for k in numbers) | int(kinds) << 8
        if len(image):
            assert self.call(lambda one: one.load(size, image))[0] == ""

    def fill(self) -> None:
        """Load everything."""
        self.load(range(len(self.layers)), ALL)

    def compare(self, numbers: Sequence[int] | None = None, kinds: Kind = ALL) -> None:
        """What both store is the same."""
        numbers = range(len(self.layers)) if numbers is None else numbers
        size = sum(1 << k for k in numbers) | int(kinds) << 8
        count = self.words(numbers, kinds)
        (want_record, want), (record, got) = (one.store(size, count) for one in self.both)
        assert record.count == want_record.count == 4 * count // LINE
        np.testing.assert_array_equal(got, want)


def network(rng: np.random.Generator, g: Geometry) -> list[Layer]:
    """Random layers that fit, some with gaps between them; small ones in a short run."""
    most = g.d_max if effort() >= 1 else min(g.d_max, SMALL)
    layers: list[Layer] = []
    at = [0, 0, 0, 0]  # of weights, biases, grouping, states
    for _ in range(int(rng.integers(1, g.l_max + 1))):
        groups = int(rng.choice([k for k in GROUPS if k <= g.g_max]))
        m, n = (int(rng.integers(1, most + 1)) for _ in range(2))
        gap = [64 * int(rng.integers(2)), *(int(rng.integers(4)) for _ in range(3))]
        w, b, lines, states = (a + b for a, b in zip(at, gap, strict=True))
        turned, tiles = bool(rng.integers(2)), int(rng.integers(1, 9))
        first = int(rng.integers(m))
        one = Layer(m, n, groups, 0, turned, tiles, w, b, lines, states, first)
        at = [
            one.w_base + one.w_words, one.b_base + n, one.g_base + sum(one.grouping),
            one.s_base + one.states,
        ]  # fmt: skip
        sizes = (g.p_words, g.b_words, g.m_rows, g.s_words)
        if any(end > size for end, size in zip(at, sizes, strict=True)):
            break
        layers.append(one)
    return layers or [Layer(5, 3)]


def test_jobs_need_a_network(seed: int) -> None:
    """Of devices that were only just reset: a program, an image, and the first good table.

    What a reset leaves is another for each of the simulated ones.
    """
    ends: list[list[Any]] = []
    for backend, number in (("model", 0), *(("sim", seed + k) for k in range(3))):
        with open_device(backend, CONFIG, seed=number) as device:
            one = Jobs(device)
            for name in FINITE:
                one.driver.write(getattr(registers, name).offset, 0x3F80_0000)
            device.write(one.scratch, program_words([Instruction(Op.END)]))
            ends.append([
                ended(partial(one.job, Opcode.RUN, 1, one.scratch)),
                ended(partial(one.job, Opcode.STORE, 0x101, one.scratch)),
                ended(partial(one.config, table_words(USUAL))),
                ended(partial(one.load, 0xF | ALL << 8, np.zeros(1 << 13, np.uint32))),
            ])  # fmt: skip
        assert ends[-1] == ends[0]
    assert [end[0] for end in ends[0]] == ["E_PROGRAM", "E_DIM", "", ""]


@pytest.fixture(scope="module")
def shared() -> Iterator[Pair]:
    with open_device("model", CONFIG) as model, open_device("sim", CONFIG, seed=1) as sim:
        yield Pair(model, sim)


@pytest.fixture
def pair(shared: Pair, seed: int) -> Pair:
    """With a generator of the test's own."""
    shared.rng = np.random.default_rng(seed)
    return shared


def test_registers_are_those_of_the_model(pair: Pair) -> None:
    """What can be written is the same, and what is read after reset."""
    rng = pair.rng
    assert pair.both[1].driver.geometry == pair.geometry
    for register in registers.REGISTERS:
        for k in range(register.count):
            offset = register.offset + k * register.stride
            if register.access == "RW":
                value = int(rng.integers(1 << 32))
                for one in pair.both:
                    one.driver.write(offset, value)
    for register in registers.REGISTERS:
        for k in range(register.count):
            offset = register.offset + k * register.stride
            want, got = (one.driver.read(offset) for one in pair.both)
            assert got == want, register.name
    for one in pair.both:
        one.driver.write(registers.SEED.at(3), 5)
    assert pair.both[1].seed() == pair.both[0].seed()
    for one in pair.both:
        one.driver.seed([0, 0, 0, 0])
    assert pair.both[1].seed() == pair.both[0].seed()


def test_images_come_back(pair: Pair) -> None:
    """Random layers and kinds: what is stored, and what a LOAD leaves or clears."""
    rng = pair.rng
    for _ in range(scale(30, 1)):
        pair.network()
        pair.compare()
        for _ in range(scale(6, 1)):
            numbers = np.flatnonzero(rng.random(len(pair.layers)) < 0.6).tolist() or [0]
            kinds = Kind(int(rng.integers(1, 32)))
            pair.load(numbers, kinds)
            pair.compare()
        pair.compare(numbers, kinds)


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_refused(pair: Pair, case: str) -> None:
    """By both alike, and the network of before stays."""
    code, call = BAD_TABLES[case]
    usual(pair)
    assert pair.call(call)[0] == code
    pair.compare(some_layers(pair))


@pytest.mark.parametrize("case", BAD_JOBS)
def test_a_bad_descriptor_is_refused(pair: Pair, case: str) -> None:
    code, call = BAD_JOBS[case]
    usual(pair)
    for one in pair.both:
        for name in FINITE:
            one.driver.write(getattr(registers, name).offset, 0x3F80_0000)
    assert pair.call(call)[0] == code
    pair.compare(some_layers(pair))


FINITE = ("LR", "ALPHA", "ONE_MINUS_ALPHA", "EPS", "GSCALE", "LR_GROUP", "INV")
USUAL = [  # the network that the bad tables and jobs are changes of
    Layer(16, 16, 4, w_base=0, b_base=0, g_base=0, s_base=0),
    Layer(16, 16, 4, w_base=1024, b_base=16, g_base=2, s_base=32),
    Layer(32, 64, 4, w_base=2048, b_base=32, g_base=4, s_base=64),
    Layer(16, 8, 1, 0, w_base=4096, b_base=96),
]


def some_layers(pair: Pair) -> list[int] | None:
    """All layers of the network of the errors; in a short run one, at random."""
    return None if effort() >= 1 else [int(pair.rng.integers(len(USUAL)))]


def usual(pair: Pair) -> None:
    """The network of the errors."""
    if pair.layers is not USUAL:
        pair.layers = USUAL
        for one in pair.both:
            one.driver.layers = USUAL
        assert pair.config(table_words(USUAL)) == ""
        pair.fill()


@pytest.mark.regress
def test_random_tables_are_judged_alike(pair: Pair) -> None:
    """A word of a legal table is changed: code and layer are the model's, or the table is taken."""
    rng, codes = pair.rng, set()
    for _ in range(scale(300, 30)):
        layers = network(rng, pair.geometry)
        words = table_words(layers)
        place = int(rng.integers(2 if rng.random() < 0.1 else len(words)))
        if rng.random() < 0.8:
            place = 16 * int(rng.integers(1, len(layers) + 1)) + int(rng.integers(7))
        kind = int(rng.integers(4))
        if kind == 0:
            words[place] ^= np.uint32(1 << int(rng.integers(32)))
        elif kind == 1:
            words[place] = int(rng.integers(1 << 10))
        elif kind == 2:
            words[place] = int(rng.choice([0, 64, 0x3FF, 1 << 16, 0xFFFF_FFFF, 8192]))
        else:
            words[place] = words[place - 16]
        codes.add(pair.config(words))
    assert codes >= {"", "E_DIM", "E_PARAM", "E_RESERVED"}
    pair.network()


def test_layers_may_touch_and_not_overlap(pair: Pair) -> None:
    """By a line or a word in each memory, on either side of another layer."""
    codes = []
    for name, unit in (("w_base", 64), ("b_base", 1), ("g_base", 1), ("s_base", 1)):
        first = Layer(9, 40, 4, w_base=1024, b_base=100, g_base=20, s_base=200)
        far = Layer(9, 40, 4, w_base=4096, b_base=200, g_base=40, s_base=400)
        size = dict(w_base=first.w_words, b_base=40, g_base=sum(first.grouping), s_base=49)[name]
        at = getattr(first, name)
        for place in (at + size, at + size - unit, at - size, at - size + unit):
            codes.append(pair.config(table_words([first, replace(far, **{name: place})])))
    assert codes == ["", "E_PARAM", "", "E_PARAM"] * 4
    pair.network()


SPLITS = [  # chains of a forward sum: rows, columns, groups, log2 of the chains
    (4, 2, 1, 2), (3, 2, 1, 2), (4, 3, 1, 2), (2, 4, 1, 1), (1, 4, 1, 1), (2, 5, 1, 1),
    (8, 2, 2, 1), (8, 2, 1, 3),
]  # fmt: skip


def test_chains_fit_a_bank(pair: Pair) -> None:
    codes = [pair.config(table_words([Layer(*one)])) for one in SPLITS]
    assert codes == ["", "E_DIM", "E_DIM", "", "E_DIM", "E_DIM", "E_DIM", "E_DIM"]
    pair.network()


@pytest.mark.parametrize(
    "opcode", [Opcode.CONFIG, pytest.param(Opcode.LOAD, marks=pytest.mark.regress), Opcode.STORE]
)
def test_bus_errors_end_the_job(pair: Pair, opcode: Opcode) -> None:
    """The first and a later line; the job after it is a good one. What was not asked for yet is not
    moved: up to four bursts of 64 lines are."""
    usual(pair)
    image = pair.rng.integers(0, 1 << 32, pair.words(range(len(USUAL)), ALL), dtype=np.uint32)
    jobs: dict[Opcode, Callable[[Any], Any]] = {
        Opcode.CONFIG: lambda one: one.config(table_words(USUAL)),
        Opcode.LOAD: lambda one: one.load(0x1F0F, image),
        Opcode.STORE: lambda one: one.store(0x1F0F, len(image))[0],
    }
    code, direction = ("E_BUS_WR", WRITES) if opcode == Opcode.STORE else ("E_BUS_RD", READS)
    beats = header.WR_BEATS_LO if opcode == Opcode.STORE else header.RD_BEATS_LO
    moved = partial(pair.both[1].driver.read64, beats.offset)
    lines = 4 * len(image) / LINE
    for offset in (0, 64, 192) if effort() >= 1 else (0, 192):
        for one in pair.both:
            one.device.inject(pair.scratch + offset, LINE, FAULT, direction)
        before = moved()
        assert pair.call(jobs[opcode]) == (code, 0, 0, (4, FAULT))
        assert moved() - before < 0.75 * lines
        for one in pair.both:
            one.device.clear_faults()
        if opcode == Opcode.LOAD:  # the others leave all as it was
            pair.fill()
        pair.compare()


def test_a_bad_table_that_cannot_be_read_is_a_bus_error(pair: Pair) -> None:
    usual(pair)
    words = table_words(USUAL)
    words[16] = 0
    for one in pair.both:
        one.device.inject(pair.scratch + 192, LINE, FAULT, READS)
    assert pair.call(lambda one: one.config(words))[0] == "E_BUS_RD"
    for one in pair.both:
        one.device.clear_faults()
    pair.compare()


def test_a_soft_reset_ends_an_image(pair: Pair) -> None:
    """In any clock of a LOAD or a STORE; memories that it did not touch stay."""
    usual(pair)
    sim = pair.both[1]
    image = pair.rng.integers(0, 1 << 32, pair.words([0], ALL), dtype=np.uint32)
    for turn in range(scale(20, 2)):
        sim.device.write(sim.scratch, image)
        opcode = Opcode.LOAD if turn % 2 else Opcode.STORE
        sim.ring.submit([opcode, 0, 0x1F01, 0, sim.scratch, 0])
        sim.device.step(int(pair.rng.integers(1, 400)))
        sim.driver.soft_reset()
        pair.compare([1, 2])
        pair.load([0], ALL)
        pair.compare()


@pytest.mark.parametrize("opcode", [Opcode.CONFIG, Opcode.LOAD, Opcode.STORE])
def test_the_watchdog_ends_a_job(pair: Pair, opcode: Opcode) -> None:
    """Memory needs longer than it allows."""
    usual(pair)
    sim = pair.both[1]
    sim.driver.write(header.WATCHDOG.offset, 12)
    size = 64 * 4 if opcode == Opcode.CONFIG else 0x1F07
    found = ended(lambda: sim.job(opcode, size, sim.scratch))
    assert found == ("E_TIMEOUT", 0, 0, (0, 0))
    sim.driver.write(header.WATCHDOG.offset, 0)
    sim.driver.soft_reset()
    sim.driver.write(header.STATUS.offset, 0xE)  # it may have struck outside the job, too
    if opcode == Opcode.LOAD:
        pair.fill()
    pair.compare()
