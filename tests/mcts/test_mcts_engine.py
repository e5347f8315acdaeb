"""The mcts engine at job level: jobs, queue, registers, errors, driver; on RTL and golden model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from flow.configuration import ConfigError, load_config
from flow.regression import builds
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings
from jackdaw.errors import DeviceAccessError, DeviceTimeout, JobDropped
from models.engine import ADDRESSES
from models.mcts import tree
from models.mcts.engine import MctsEngine
from models.mcts.formats import (
    NO_ID,
    REQUEST,
    SLOT_BYTES,
    VALUE_MOST,
    Code,
    Flag,
    Geometry,
    Op,
    Opcode,
    pack_requests,
)
from models.mcts.reference import ReferenceTree
from models.mcts.tables import EXPONENT_LSB, tables
from models.registers import engine_header as header
from models.registers import mcts as registers
from models.registers.mcts import Error
from tests.mcts.golden import SMALL, GoldenTree, slots

SEL0 = (Op.SEL, 0, 0, 1, 0, 0, 5)
UPD0 = (Op.UPD, Flag.ACT, 0, 0, 0.5, 7, 6)


def rows(*given: tuple[Any, ...]) -> np.ndarray:
    return np.array(list(given), REQUEST)


pytestmark = builds(lambda: open_device("sim", "mcts_small"))


class Bench:
    """A device with a small engine, configured and with a root."""

    def __init__(self, device: Any, queue_log2: int = 6, **settings: Any) -> None:
        self.device = device
        self.mcts = Mcts(device, queue_log2=queue_log2)
        self.ring = self.mcts.rings[0]
        self.mcts.configure(MctsSettings(**settings))
        self.begin()
        self.list = device.alloc(4096)

    @property
    def engine(self) -> MctsEngine:
        model: MctsEngine = self.device._pages[self.mcts.info.page - 1].engine
        return model

    def begin(self) -> None:
        self.mcts.reset()
        self.mcts.root(7)

    def job(self, words: dict[int, int]) -> Any:
        """Queue a job of this list, changed in some words."""
        base = {0: Opcode.LIST, 2: 1, 4: self.list & 0xFFFF_FFFF, 5: self.list >> 32} | words
        job = self.ring.submit([base.get(k, 0) for k in range(16)])
        return job

    def turns(self, job: Any, most: int = 10_000) -> Iterator[int]:
        """Until a job ends. Raises: AssertionError if it does not within so many turns."""
        for turn in range(most):
            if job.poll():
                return
            yield turn
        raise AssertionError(f"the job did not end within {most} turns")

    def fails(self, words: dict[int, int], error: Error, info: tuple[int, int] = (0, 0)) -> None:
        """The job ends with an error and executes nothing; the engine is as good as new."""
        memory = self.device.memory.copy()
        with pytest.raises(errors.error_class("mcts", int(error))) as caught:
            self.job(words).wait(5)
        assert caught.value.info == info and caught.value.count == 0
        changed = np.flatnonzero(self.device.memory != memory)
        low, high = self.ring._base, self.ring._records + self.ring.slots * 32
        assert ((changed >= low) & (changed < high)).all()

    def good(self) -> None:
        """A search gives what it gives a fresh engine."""
        self.begin()
        twin = GoldenTree(self.mcts.geometry, vl=0.05)
        twin.reset()
        twin.root(7)
        for worker in range(3):
            requests = rows((Op.SEL, 0, worker, worker + 1, 0, 0, worker), *[UPD0] * (worker == 0))
            for each in (self.mcts, twin):
                each.submit(requests)
        assert self.mcts.wait(3) == 3
        got, want = self.mcts.poll(), twin.poll()
        for name in set(got.dtype.names or ()) - {"stamp"}:
            assert got[name].tolist() == want[name].tolist(), name
        (visits, *got_root), (want_visits, *want_root) = self.mcts.read_root(), twin.read_root()
        assert visits == want_visits and np.array_equal(got_root, want_root)
        self.mcts.submit(rows(*((Op.UPD, 0, w, 0, 0, 0, 0) for w in (1, 2)))).wait(5)


@pytest.fixture(params=["model", "sim"])
def bench(request: pytest.FixtureRequest, seed: int) -> Iterator[Bench]:
    with open_device(request.param, "mcts_small", seed=seed) as device:
        yield Bench(device)


@pytest.fixture
def golden() -> Iterator[Bench]:
    """On the golden model, for what is seen inside it, or is its alone."""
    with open_device("model", "mcts_small") as device:
        yield Bench(device)


# ---- Manifest and registers
@pytest.mark.parametrize("name", ["mcts", "mcts18", "mcts_small", "mcts_demo"])
def test_configuration_and_capabilities(name: str) -> None:
    config = load_config(name)
    with open_device("model", config) as device:
        got = Mcts(device).geometry
    assert got == Geometry(**config.instance("mcts").fields)
    assert got.x <= got.entries - (got.d - 1) * (got.cap - 1 + got.sf)


def test_a_build_that_could_run_out_of_banks_is_refused() -> None:
    with pytest.raises(ConfigError, match="want node ids that find a bank in every case"):
        load_config("mcts").changed({"mcts.MctsX": 11456})
    assert load_config("mcts").changed({"mcts.MctsX": 11455})
    with pytest.raises(ConfigError, match="want factors and multipliers of at most F"):
        load_config("mcts").changed({"mcts.MctsFr": 7})
    with pytest.raises(ConfigError, match="want banks a multiple of the levels"):
        load_config("mcts_small").changed({"mcts.MctsY": 2, "mcts.MctsX": 2})


def test_registers_by_access(bench: Bench) -> None:
    read, write = bench.mcts.read, bench.mcts.write
    write(registers.MODE.offset, 3)
    write(registers.FPU.offset, 0xFFFF_FFFF)
    assert read(registers.MODE.offset) == 3 and read(registers.FPU.offset) == 0xFF_FFFF
    for offset, value in ((registers.CQ_TAIL.offset, 1), (registers.CAP0.offset, 0), (0x148, 0)):
        with pytest.raises(DeviceAccessError):
            write(offset, value)
    for offset in (registers.STAT_CLEAR.offset, 0x148, 0x18C):
        with pytest.raises(DeviceAccessError):
            read(offset)


def test_a_running_list_keeps_idle_registers(bench: Bench) -> None:
    """A list that waits for room in the queue; its end makes the engine idle."""
    job = bench.mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 65))
    with pytest.raises(DeviceAccessError):
        bench.mcts.write(registers.VL.offset, 1)
    assert bench.mcts.wait(64) == 64 and len(bench.mcts.poll()) == 64
    job.wait(5)
    bench.mcts.write(registers.VL.offset, 1)


def test_counters(bench: Bench) -> None:
    mcts = bench.mcts
    mcts.clear_statistics()
    assert set(mcts.statistics().values()) == {0}
    mcts.submit(rows(SEL0, UPD0, (Op.SEL, 0, 1, 2, 0, 0, 0), (Op.SEL, 0, 9, 1, 0, 0, 0))).wait(5)
    found = mcts.statistics()
    assert (found["n_sel"], found["n_upd"], found["n_ins"], found["n_refused"]) == (2, 1, 2, 1)
    assert found["sticky"] == 0 and found["max_flight"] >= 1
    assert mcts.settings is not None and mcts.settings.rule == "uct"


def test_counters_of_time(bench: Bench) -> None:
    """The cycle model's, and those of the RTL."""
    mcts = bench.mcts
    mcts.clear_statistics()
    mcts.submit(rows(SEL0, UPD0, (Op.SEL, 0, 1, 2, 0, 0, 0))).wait(5)
    found = mcts.statistics()
    assert (found["hazard"], found["max_flight"], found["port_busy_max"]) == (19, 2, 3)
    # SEL; when it is answered, after two levels, UPD; SEL 20 clocks after that.
    assert mcts.interval() == 2 * 8 + 2 + 20


def test_searches_of_the_golden_model(golden: Bench) -> None:
    golden.mcts.clear_statistics()
    golden.mcts.submit(rows(SEL0)).wait(5)
    assert golden.mcts.statistics()["searches"] == 1


def test_peek_reads_an_entry(golden: Bench) -> None:
    mcts, t = golden.mcts, golden.engine.tree
    mcts.submit(rows(SEL0, UPD0, (Op.SEL, 0, 0, 2, 0, 0, 0))).wait(5)
    root, child = SMALL.entries, int(t.child[SMALL.entries, 0])
    assert mcts.peek(child, 0) == 1 | tree.ACTIVE << 16 | 1 << 18
    assert mcts.peek(None, 0) == tree.ACTIVE << 16 and mcts.peek(None, 1) == 1
    words = [mcts.peek(None, 2 + k) for k in range(8)]
    assert words[0] == t.u[root, 0] % 2**32 and words[1] == 1 << 19 and words[2] == 1 << 25
    assert words[3:6] == [1 << 19, 0, 1] and words[7] == child | 1 << 14 | 1 << 15
    assert mcts.peek(None, 2 + 8 + 6) == round(0.05 * 2**20)  # the worker that is out
    assert mcts.peek(None, 2 + 8 * SMALL.f) == 0 == mcts.peek(SMALL.entries + 1, 0)


def test_priors_are_rounded_once(golden: Bench) -> None:
    """Below the middle of two steps by less than float32 shows: the lower of them."""
    prior = (20473.5 - 2**-20) / 2**16
    golden.mcts.reset()
    golden.mcts.root(7, np.array([prior, 0.25, prior]))
    assert [golden.mcts.peek(None, 2 + 8 * a + 5) >> 16 for a in range(3)] == [20473, 16384, 20473]


# ---- Jobs
def test_a_list_runs_and_its_record_counts(bench: Bench) -> None:
    record = bench.mcts.submit(rows(SEL0, (Op.SEL, 0, 0, 2, 0, 0, 0), UPD0)).wait(5)
    assert (record.count, record.detail, record.error) == (2, 1, 0)
    assert record.cycles > 0
    with pytest.raises(errors.MctsStateError) as caught:
        found = bench.mcts.poll()
        assert found["code"].tolist() == [Code.EXPAND] and found["tag"].tolist() == [5]
        bench.mcts.poll()
    assert caught.value.tag == 0 and bench.mcts.refused is not None
    assert bench.mcts.refused["code"].tolist() == [Error.E_STATE]
    bench.mcts.poll()
    assert not len(bench.mcts.poll())
    bench.good()


WRONG: list[tuple[dict[int, int], Error, int]] = [
    ({0: 3}, Error.E_OPCODE, 0),
    ({0: 0xFF}, Error.E_OPCODE, 0),
    ({0: Opcode.LIST | 1 << 8}, Error.E_RESERVED, 0),
    ({0: Opcode.LIST | 1 << 16}, Error.E_RESERVED, 0),
    ({3: 1}, Error.E_RESERVED, 3),
    ({5: 0x100}, Error.E_RESERVED, 5),
    ({7: 0x100}, Error.E_RESERVED, 7),
    ({15: 1}, Error.E_RESERVED, 15),
    ({0: Opcode.TABLES}, Error.E_RESERVED, 2),
    ({2: 0}, Error.E_COUNT, 2),
    ({2: 65537}, Error.E_COUNT, 2),
    ({4: 4096 + 16}, Error.E_ALIGN, 4),
    ({6: 32}, Error.E_ALIGN, 6),
    ({4: 0xFFFF_FFC0, 5: 0xFF, 2: 5}, Error.E_ADDR, 4),
]


@pytest.mark.parametrize(("words", "error", "info"), WRONG)
def test_a_wrong_job_is_refused(
    bench: Bench, words: dict[int, int], error: Error, info: int
) -> None:
    bench.fails(words, error, (info, 0))
    bench.good()


def test_a_root_beyond_the_addresses_is_refused() -> None:
    """What a root of eight children has ends beyond the last address."""
    with open_device("model", "mcts_demo") as device:
        Bench(device).fails({6: 0xFFFF_FFC0, 7: 0xFF}, Error.E_ADDR, (6, 0))


CONFIGURED: list[tuple[int, int, Error]] = [
    (registers.F_ACT.offset, 1, Error.E_CFG),
    (registers.F_ACT.offset, 4, Error.E_CFG),
    (registers.D_ACT.offset, 1, Error.E_CFG),
    (registers.D_ACT.offset, 5, Error.E_CFG),
    (registers.POLICY.offset, 3, Error.E_CFG),
    (registers.CQ_SIZE.offset, 0, Error.E_CQ),
    (registers.CQ_SIZE.offset, 17, Error.E_CQ),
    (registers.CQ_SIZE.offset, 3, Error.E_CQ),
    (registers.CQ_BASE_LO.offset, 0x1800, Error.E_CQ),
]


@pytest.mark.parametrize(("offset", "value", "error"), CONFIGURED)
def test_a_list_wants_good_settings(bench: Bench, offset: int, value: int, error: Error) -> None:
    before = bench.mcts.read(offset)
    bench.mcts.write(offset, value)
    want = registers.CQ_SIZE.offset if offset == registers.CQ_SIZE.offset else offset
    bench.fails({}, error, (want, 0))
    bench.mcts.write(offset, before)
    if offset == registers.CQ_SIZE.offset:  # the queue begins anew
        bench.mcts._head = 0
        bench.device.write(bench.mcts._queue, np.zeros(16 << 6, np.uint8))
    bench.good()


def test_virtual_losses_must_not_overflow() -> None:
    with open_device("model", load_config("mcts").changed({"mcts.MctsWMax": 4096})) as device:
        bench = Bench(device, vl=0.2)
        bench.mcts.write(registers.VL.offset, 1 << 18)
        bench.fails({}, Error.E_CFG, (registers.VL.offset, 0))
        with pytest.raises(ConfigError, match=r"mcts vl: got 0.25, want below 0.25"):
            bench.mcts.configure(MctsSettings(vl=0.25))


def test_a_queue_beyond_the_addresses_is_refused(bench: Bench) -> None:
    high = bench.mcts.read(registers.CQ_BASE_HI.offset)
    low = bench.mcts.read(registers.CQ_BASE_LO.offset)
    bench.mcts.write(registers.CQ_SIZE.offset, 9)
    top = ADDRESSES - 4096
    for value in (0xFF, high):
        bench.mcts.write(registers.CQ_BASE_HI.offset, value)
        bench.mcts.write(registers.CQ_BASE_LO.offset, low if value == high else top & 0xFFFF_FFFF)
        if value == 0xFF:
            bench.fails({}, Error.E_CQ, (registers.CQ_BASE_LO.offset, 0))


# ---- Tables
def test_a_list_wants_tables() -> None:
    with open_device("model", "mcts_small") as device:
        mcts = Mcts(device)
        mcts.write(registers.F_ACT.offset, 3)
        mcts.write(registers.D_ACT.offset, 4)
        with pytest.raises(errors.MctsTableError):
            mcts.reset()
        mcts.configure(MctsSettings())
        mcts.reset()


@pytest.mark.parametrize(
    ("at", "word", "info"), [(7, 5 << EXPONENT_LSB, 7), (1025, 1 << 26, 1025), (0, 1 << 17, 0)]
)
def test_wrong_tables_leave_none(bench: Bench, at: int, word: int, info: int) -> None:
    words = tables("uct", 1.0)
    words[at] = word
    address = bench.device.alloc(words.nbytes)
    bench.device.write(address, words)
    load = {0: Opcode.TABLES, 2: 0, 4: address, 5: 0}
    bench.fails(load, Error.E_TABLE, (info, 0))
    bench.fails({}, Error.E_TABLE)
    bench.device.inject(address + 64, 64)
    bench.fails(load, Error.E_BUS_RD, (4, 2))
    bench.device.clear_faults()
    bench.mcts.configure(MctsSettings())
    bench.good()


# ---- Bus errors
def test_a_list_that_cannot_be_read_whole(bench: Bench) -> None:
    """What lies before the fault is executed and answered."""
    requests = rows(*((Op.SEL, 0, worker, worker + 1, 0, 0, 0) for worker in range(4)), UPD0)
    bench.device.write(bench.list, pack_requests(requests, None, SMALL))
    for response in (2, 3):
        bench.device.inject(bench.list + 64, 64, response)
        with pytest.raises(errors.MctsBusRdError) as caught:
            bench.job({2: 5}).wait(5)
        assert caught.value.info == (4, response) and caught.value.count == 4
        bench.device.clear_faults()
        assert bench.mcts.poll()["code"].tolist() == [Code.EXPAND] * 3 + [Code.REVISIT]
        workers = range(4)
        bench.mcts.submit(rows(*((Op.UPD, 0, w, 0, 0.0, 0, 0) for w in workers))).wait(5)
        bench.good()
        bench.begin()


def test_a_list_beyond_memory(bench: Bench) -> None:
    end = bench.device.memory_bytes - 64
    bench.device.write(end, slots(SEL0, *[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 3))
    with pytest.raises(errors.MctsBusRdError) as caught:
        bench.job({2: 9, 4: end}).wait(5)
    assert caught.value.info == (4, 3) and caught.value.count == 4
    assert len(bench.mcts.poll()) == 4
    bench.mcts.submit(rows(UPD0)).wait(5)
    bench.good()


def test_priors_that_cannot_be_read(bench: Bench) -> None:
    """Their request is not taken."""
    requests = rows(SEL0, *[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 2, (Op.UPD, Flag.EXT, 0, 0, 0, 0, 0))
    bench.device.write(bench.list, pack_requests(requests, None, SMALL))
    bench.device.inject(bench.list + 64, 16)
    with pytest.raises(errors.MctsBusRdError) as caught:
        bench.job({2: 5}).wait(5)
    assert caught.value.info == (3, 2) and caught.value.count == 3
    bench.device.clear_faults()
    assert bench.mcts.statistics()["n_upd"] == 0 and len(bench.mcts.poll()) == 3
    bench.mcts.submit(rows(UPD0)).wait(5)
    bench.good()


def test_priors_beyond_the_end_of_the_list_are_refused(bench: Bench) -> None:
    requests = rows(SEL0, (Op.UPD, Flag.ACT | Flag.EXT, 0, 0, 0.5, 7, 9))
    bench.device.write(bench.list, pack_requests(requests, None, SMALL))
    record = bench.job({2: 2}).wait(5)
    assert (record.count, record.detail) == (1, 1)
    with pytest.raises(errors.MctsExtError):
        for _ in range(2):
            bench.mcts.poll()
    bench.mcts.poll()
    bench.mcts.submit(rows(UPD0)).wait(5)
    bench.good()


def test_a_root_that_cannot_be_written(bench: Bench) -> None:
    mcts = bench.mcts
    mcts.submit(rows(SEL0, UPD0)).wait(5)
    bench.device.inject(mcts._output, 64)
    with pytest.raises(errors.MctsBusWrError):
        mcts.read_root()
    bench.device.clear_faults()
    assert mcts.read_root()[0] == 1
    assert len(mcts.poll()) == 1
    bench.good()


def test_read_root_wants_an_address(bench: Bench) -> None:
    bench.mcts.submit(rows((Op.READ_ROOT, 0, 0, 0, 0, 0, 0))).wait(5)
    with pytest.raises(errors.MctsArgError):
        bench.mcts.poll()
    bench.good()


def test_a_queue_that_cannot_be_written(bench: Bench) -> None:
    """Responses are lost: only a soft reset and a new tree help."""
    for response in (2, 3):
        bench.device.inject(bench.mcts._queue, 16 << 6, response, 2)
        with pytest.raises(errors.MctsBusWrError) as caught:
            bench.mcts.submit(rows(SEL0)).wait(5)
        assert caught.value.info == (1, response)
        bench.device.clear_faults()
        with pytest.raises(errors.MctsBusyError):
            bench.mcts.reset()
        bench.mcts.soft_reset()
        bench.good()


# ---- The completion queue
def test_a_full_queue_holds_the_list_until_it_is_read(bench: Bench) -> None:
    fences = rows(*((Op.FENCE, 0, 0, 0, 0, 0, tag) for tag in range(150)))
    job = bench.mcts.submit(fences)
    with pytest.raises(DeviceTimeout):
        job.wait(0.01)
    assert bench.mcts.wait(64) == 64
    tags = []
    for _ in bench.turns(job):
        part = bench.mcts.poll(most=50)
        assert len(part) <= 50
        tags += part["tag"].tolist()
    tags += bench.mcts.poll()["tag"].tolist()
    assert tags == list(range(150)) and job.wait(5).count == 150
    bench.good()
    with pytest.raises(ConfigError, match=r"mcts wait: got 65, want 1\.\.64"):
        bench.mcts.wait(65)


def test_tables_wait_for_the_lists_before_them(bench: Bench) -> None:
    """The list waits for the queue, with nothing in flight; its last requests are not read yet."""
    words = tables("uct", 1.0)
    address = bench.device.alloc(words.nbytes)
    bench.device.write(address, words)
    tags = range(64 + 300)
    job = bench.mcts.submit(rows(*((Op.FENCE, 0, 0, 0, 0, 0, tag) for tag in tags)))
    load = bench.job({0: Opcode.TABLES, 2: 0, 4: address, 5: 0})
    with pytest.raises(DeviceTimeout):
        load.wait(0.05)
    found: list[int] = []
    for _ in bench.turns(job):
        assert not load.poll()
        found += bench.mcts.poll()["tag"].tolist()
    assert load.wait(5).error == 0
    assert found + bench.mcts.poll()["tag"].tolist() == list(tags)
    bench.good()


def test_own_requests_pass_a_full_queue_and_lose_nothing(bench: Bench) -> None:
    fences = rows(*((Op.FENCE, 0, 0, 0, 0, 0, tag) for tag in range(100)))
    bench.mcts.submit(fences)
    bench.mcts.fence()
    assert bench.mcts.read_root()[0] == 0
    assert bench.mcts.poll()["tag"].tolist() == list(range(100))


def test_waiting_for_more_than_there_is_ends(bench: Bench) -> None:
    bench.mcts.submit(rows(SEL0))
    assert bench.mcts.wait(5) == 1
    bench.mcts.write(registers.POLICY.offset, 3)
    bench.mcts.submit(rows(UPD0))
    with pytest.raises(errors.MctsCfgError):
        bench.mcts.wait(5)
    assert bench.mcts.wait(5) == 1  # an error is told once
    bench.mcts.write(registers.POLICY.offset, 0)
    bench.mcts.submit(rows(UPD0)).wait(5)
    assert len(bench.mcts.poll()) == 1
    bench.good()


@pytest.mark.parametrize("ahead", [1, 1 << 31])
def test_a_head_beyond_the_tail_is_ignored(bench: Bench, ahead: int) -> None:
    tail = bench.mcts.read(registers.CQ_TAIL.offset)
    bench.mcts.write(registers.CQ_HEAD.offset, (tail + ahead) % 2**32)
    assert bench.mcts.read(registers.CQ_HEAD.offset) == tail
    status = bench.mcts.read(header.STATUS.offset)
    assert header.STATUS.field("code").get(status) == Error.E_CQ
    assert status & header.STATUS.field("failed").mask
    bench.mcts.write(header.STATUS.offset, header.STATUS.field("failed").mask)
    bench.good()


def test_the_event_comes_when_so_many_wait(bench: Bench) -> None:
    event, mcts = header.STATUS.field("event_seen").mask, bench.mcts
    for wake, want in ((3, False), (2, True), (0, False)):
        mcts.poll()
        mcts.write(registers.CQ_WAKE.offset, wake)
        mcts.write(header.STATUS.offset, event)
        job = mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 2))
        for _ in bench.turns(job):
            mcts.read(header.STATUS.offset)
        assert bool(mcts.read(header.STATUS.offset) & event) == want


def test_numbers_of_responses_wrap(golden: Bench) -> None:
    """Past 2^32 responses, and past the queue's end with a part of the list."""
    mcts, start = golden.mcts, (1 << 32) - 40
    golden.engine._head = golden.engine._tail = mcts._head = start
    for first in range(0, 90, 45):
        mcts.submit(rows(*((Op.FENCE, 0, 0, 0, 0, 0, first + k) for k in range(45))))
        assert mcts.poll()["tag"].tolist() == list(range(first, first + 45))
    assert mcts.read(registers.CQ_TAIL.offset) == 50


# ---- Whole trees
@pytest.mark.parametrize("name", ["model", "sim"])
@pytest.mark.parametrize(("policy", "bit"), [(2, "static_full"), (0, "full")])
def test_a_full_tree_is_told_by_name(name: str, policy: int, bit: str) -> None:
    """Ids that repeat: there are more nodes than entries. The selection is executed."""
    with open_device(name, "mcts_small") as device:
        bench = Bench(device, policy=policy)
        mcts, sels, told = bench.mcts, 0, 0
        while told < 2:
            sels += 1
            mcts.submit(rows(SEL0)).wait(5)
            try:
                assert mcts.poll()["code"].tolist() in ([Code.EXPAND], [Code.LEAF])
            except errors.MctsFullError:
                told += 1
                assert mcts.refused is not None and mcts.refused["new_id"].tolist() == [NO_ID]
            mcts.submit(rows(UPD0))
        assert mcts.read_root()[0] == sels and mcts.statistics()["n_refused"] == 0
        assert mcts.statistics()["sticky"] == registers.STICKY.word(**{bit: 1})
        mcts.configure(MctsSettings())
        bench.good()


@pytest.mark.parametrize("rule", ["puct", "alphazero", "uct"])
def test_a_tree_by_the_driver_is_the_plain_tree(rule: str, seed: int) -> None:
    """Lists of several requests, with priors; some wait while others are submitted."""
    rng = np.random.default_rng(seed)
    with open_device("model", "mcts_small") as device:
        mcts = Mcts(device, queue_log2=4)
        for round_ in range(3):
            mcts.configure(MctsSettings(rule=rule, c=1.5, vl=0.3, fpu=-0.5, d_act=4 - round_))
            plain = ReferenceTree(rule, 1.5, vl=0.3, fpu=-0.5, d_act=4 - round_)
            first = rng.random(3)
            for each in (mcts, plain):
                each.reset()
                each.root(5, first)
            ids, out = iter(range(1, 10)), set[int]()
            for _ in range(40):
                workers = rng.permutation(4)[:3].tolist()
                given: list[tuple[Any, ...]] = []
                for worker in workers:
                    value = int(rng.integers(-(1 << 23), 1 << 23)) / 2**20
                    if worker in out:
                        flags = Flag.ACT | Flag.EXT | Flag.ALT
                        given.append((Op.UPD, flags, worker, 0, value, int(rng.integers(8)), 0))
                    else:
                        given.append((Op.SEL, 0, worker, next(ids, NO_ID), 0, 0, worker))
                requests = rows(*given)
                out ^= set(workers)
                priors = rng.random((3, 3))
                for each in (mcts, plain):
                    each.submit(requests, priors)
            parts = [mcts.poll()]  # the queue has 16 entries: the lists wait for it
            while len(parts[-1]):
                parts.append(mcts.poll())
            got, want = np.concatenate(parts), plain.poll()
            for name in set(got.dtype.names or ()) - {"stamp"}:
                assert got[name].tolist() == want[name].tolist(), name
            visits, n, w = mcts.read_root()
            want_visits, want_n, want_w = plain.read_root()
            assert visits == want_visits and n.tolist() == want_n[:3].tolist()
            assert w.tolist() == want_w[:3].tolist()
            for worker in out:
                mcts.submit(rows((Op.UPD, 0, worker, 0, 0, 0, 0)))


# ---- Soft reset
def test_a_soft_reset_in_mid_search(bench: Bench) -> None:
    """A list waits for the queue and workers are out; settings and tables stay."""
    mcts = bench.mcts
    mcts.submit(rows(SEL0, (Op.SEL, 0, 1, 2, 0, 0, 0)))
    job = mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 70))
    later = mcts.submit(rows(UPD0))
    assert not job.poll() and not later.poll()
    mcts.soft_reset()
    with pytest.raises(JobDropped):
        job.wait(1)
    assert mcts.read(registers.CQ_HEAD.offset) == mcts.read(registers.CQ_TAIL.offset)
    assert not len(mcts.poll())
    mcts.submit(rows((Op.SEL, 0, 0, NO_ID, 0, 0, 0))).wait(5)
    with pytest.raises(errors.MctsNoRootError):
        mcts.poll()
    with pytest.raises(errors.MctsNoRootError):
        mcts.root(7)
    with pytest.raises(errors.MctsNoRootError):
        mcts.read_root()
    bench.good()


def test_settings_are_those_of_the_reset(bench: Bench) -> None:
    """A virtual loss that changes while workers are out is taken back whole."""
    mcts = bench.mcts
    mcts.submit(rows(SEL0)).wait(5)
    mcts.configure(MctsSettings(vl=1.5, f_act=2))
    mcts.submit(rows(UPD0, (Op.SEL, 0, 0, 2, 0, 0, 0))).wait(5)
    losses = [2 + 8 * a + 6 for a in range(3)]
    assert sorted(mcts.peek(None, word) for word in losses) == [0, 0, round(0.05 * 2**20)]
    mcts.submit(rows((Op.UPD, 0, 0, 0, 0, 0, 0))).wait(5)
    assert not any(mcts.peek(None, word) for word in losses)
    mcts.reset()
    with pytest.raises(errors.MctsArgError):
        mcts.root(7)
    mcts.root(3)
    device = bench.device
    device.write(mcts._output, np.full(32, 0xFF, np.uint8))
    mcts.configure(MctsSettings())  # of the next tree: this one's root has two children
    visits, n, w = mcts.read_root()
    assert (visits, n.tolist(), w.tolist()) == (0, [0, 0, 0], [0.0, 0.0, 0.0])


# ---- The driver's own checks
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MctsSettings(rule="ucb"), "mcts rule: got 'ucb', want uct, alphazero or puct"),
        (lambda: MctsSettings(c=-1), r"mcts c: got -1, want 0\.\.20"),
        (lambda: MctsSettings(c=float("nan")), "mcts c: got nan"),
        (lambda: MctsSettings(vl=16), r"mcts vl: got 16, want 0\.\.16"),
        (lambda: MctsSettings(fpu=8), "mcts fpu: got 8, want at least -8, less than 8"),
        (lambda: MctsSettings(f_act=33), "mcts f_act: got 33, want a whole number, 2..32"),
        (lambda: MctsSettings(d_act=2.5), "mcts d_act: got 2.5, want a whole number"),  # type: ignore[arg-type]
        (lambda: MctsSettings(policy=3), r"mcts policy: got 3, want a whole number, 0\.\.2"),
    ],
)
def test_a_wrong_setting_is_named(make: Callable[[], MctsSettings], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_settings_beyond_the_build_are_named(bench: Bench) -> None:
    for settings, message in (
        (MctsSettings(f_act=4), "mcts f_act: got 4, want 2..3"),
        (MctsSettings(d_act=5), "mcts d_act: got 5, want 2..4"),
    ):
        with pytest.raises(ConfigError, match=message):
            bench.mcts.configure(settings)
    with pytest.raises(ConfigError, match="mcts list: got 0 slots"):
        bench.mcts.submit(rows())
    with pytest.raises(ConfigError, match=r"mcts queue_log2: got 3, want 4\.\.16"):
        Mcts(bench.device, queue_log2=3)


def test_wrong_arguments_are_named(bench: Bench) -> None:
    """Nothing reaches the engine."""
    mcts, nothing = bench.mcts, bench.mcts.statistics()
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: mcts.submit(np.zeros(1, np.uint8)), r"mcts requests: .* want \[n\] REQUEST"),
        (lambda: mcts.submit(rows((Op.UPD, 0, 0, 0, 8.0, 0, 0))), "mcts value: got 8.0, want at"),
        (lambda: mcts.submit(rows((Op.UPD, 0, 0, 0, np.nan, 0, 0))), "mcts value: got nan"),
        (lambda: mcts.submit(rows((Op.SEL, 0, 0, 1, 0, 0, 0xFFFF))), "mcts tag: got 65535"),
        (lambda: mcts.submit(rows(UPD0), np.full((1, 3), 1.5)), "mcts priors: got 1.5, want 0"),
        (lambda: mcts.submit(rows(UPD0), np.zeros(3)), "mcts priors: got shape"),
        (lambda: mcts.submit(rows(UPD0), np.zeros((1, 4))), r"mcts priors: got \(1, 4\), want"),
        (lambda: mcts.root(-1), "mcts legal: got -1"),
        (lambda: mcts.root(1, np.array([np.nan, 0, 0])), "mcts priors: got nan"),
        (lambda: mcts.poll(0), "mcts poll: got 0"),
        (lambda: mcts.wait(0), "mcts wait: got 0"),
        (lambda: mcts.peek(1 << 14, 0), "mcts entry: got 16384"),
        (lambda: mcts.peek(0, 512), "mcts word: got 512"),
    ]
    for call, message in cases:
        with pytest.raises(ConfigError, match=message):
            call()
    assert mcts.statistics() == nothing
    bench.good()


def test_a_driver_takes_over_from_one_that_closed_in_mid_search(bench: Bench) -> None:
    """A worker was out; then a list waited for the queue, too. The memory comes back."""
    bench.mcts.submit(rows(SEL0)).wait(5)
    allocator = bench.device._allocator
    free = sum(high - low for low, high in allocator._free)
    bench.mcts.close()
    assert sum(high - low for low, high in allocator._free) > free
    closed = sum(high - low for low, high in allocator._free)
    with Mcts(bench.device, queue_log2=4) as mcts:
        mcts.configure(MctsSettings())
        mcts.reset()
        mcts.root(7)
        mcts.submit(rows(SEL0, *[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 30))
    assert sum(high - low for low, high in allocator._free) == closed
    bench.mcts = Mcts(bench.device, queue_log2=6)
    bench.ring = bench.mcts.rings[0]
    bench.mcts.configure(MctsSettings())
    bench.good()


def test_memory_of_lists_is_used_again(bench: Bench) -> None:
    for _ in range(20):
        bench.mcts.submit(rows(SEL0, UPD0)).wait(5)
    assert len(bench.mcts._lists) <= 2
    bench.mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 300))  # longer than the ones before
    assert bench.mcts._lists[-1][2] >= 300 * SLOT_BYTES


def test_counts_of_the_root_are_whole(bench: Bench) -> None:
    """Past 8 bits, with a sum below 0; the responses pass a full queue."""
    mcts = bench.mcts
    mcts.reset()
    mcts.root(1)
    bad = (Op.UPD, Flag.ACT, 0, 0, -1.5, 0, 0)
    mcts.submit(rows(*[SEL0, bad] * 300))
    visits, n, w = mcts.read_root()
    assert (visits, n.tolist()) == (300, [300, 0, 0])
    assert w.tolist() == (-1.5 * n).tolist()


def test_a_wait_counts_what_was_taken_from_the_queue(bench: Bench) -> None:
    mcts = bench.mcts
    mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 4)).wait(5)
    assert len(mcts.poll(most=1)) == 1
    assert mcts.wait(5) == 3
    assert mcts.read(registers.CQ_WAKE.offset) == 5 - 3


def test_the_mean_of_children_without_visits_saturates(bench: Bench) -> None:
    for fpu, word in ((8 - 1e-9, VALUE_MOST), (-8.0, 1 << 23), (0.5, 1 << 19)):
        bench.mcts.configure(MctsSettings(fpu=fpu))
        assert bench.mcts.read(registers.FPU.offset) == word
