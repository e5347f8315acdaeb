"""The mcts engine's RTL against its golden model: random lists, trees of all settings, resets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flow.configuration import Config, load_config
from flow.effort import scale
from flow.regression import builds, regress
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.mcts import Mcts, MctsSettings
from models.mcts.engine import MctsEngine
from models.mcts.formats import (
    NO_ID,
    REQUEST,
    RESPONSE,
    Code,
    Flag,
    Geometry,
    Op,
    pack_requests,
    to_prior,
)
from models.registers import engine_header as header
from models.registers import mcts as registers
from tests.mcts.test_mcts_engine import Bench, rows
from verif.coverage import Tally

MIDDLE = {
    "MctsD": 8,
    "MctsY": 32,
    "MctsCap": 16,
    "MctsX": 300,
    "MctsWMax": 16,
    "MctsT": 64,
    "MctsSf": 8,
}
BUILDS: dict[str, dict[str, int]] = {
    "crossbars": {},
    "butterflies": {"MctsXbar": 0, "MctsMu": 1},
    "flat": {"MctsD": 2, "MctsY": 4, "MctsX": 6},
    "eight": MIDDLE | {"MctsF": 5, "MctsFr": 5, "MctsFp": 3, "MctsMu": 5},
    "eighteen": MIDDLE | {"MctsF": 18, "MctsFr": 18, "MctsFp": 5, "MctsMu": 9, "MctsXbar": 0},
}
CHILD = 7  # word of a child that has its entry
VALID = 1 << 14


def config(build: str) -> Config:
    """A small device, changed."""
    return load_config("mcts_small").changed({f"mcts.{k}": v for k, v in BUILDS[build].items()})


pytestmark = builds(lambda build="crossbars": open_device("sim", config(build)))


class Pair:
    """The engine and its golden model, each on a device; the same lists for both."""

    def __init__(
        self, model: Any, sim: Any, rng: np.random.Generator, queue_log2: int = 10
    ) -> None:
        self.both = [Mcts(device, queue_log2=queue_log2) for device in (model, sim)]
        self.engine: MctsEngine = model._pages[self.both[0].info.page - 1].engine
        self.geometry, self.rng = self.both[0].geometry, rng
        self.tag = self.inserted = 0
        self.codes: set[int] = set()
        self.found = np.zeros(0, RESPONSE)  # of the last list

    def begin(self) -> None:
        """A tree with other settings."""
        g, rng = self.geometry, self.rng
        some = rng.random(3) < 0.5
        self.used = int(rng.integers(2, g.f + 1)) if some[0] else g.f
        self.settings = MctsSettings(
            rule=str(rng.choice(["uct", "alphazero", "puct"])),
            c=float(rng.random() * 2),
            vl=float(rng.choice([0, 0.05, 1.5])),
            fpu=float(rng.uniform(-8, 8)) if some[1] else None,
            f_act=self.used,
            d_act=int(rng.integers(2, g.d + 1)) if some[2] else g.d,
            policy=int(rng.integers(2)),
        )
        legal, priors = int(rng.integers(1, 1 << self.used)), rng.random(g.f)
        for each in self.both:
            each.configure(self.settings)
            each.reset()
            each.root(legal, priors)
        self.inserted = 0

    def list(self, wrong: float, count: int | None = None) -> np.ndarray:
        """Requests of random workers, some of them wrong; [slots, 4] uint32."""
        g, rng = self.geometry, self.rng
        out = {int(w) for w in np.flatnonzero(self.engine.tree.edges >= 0)}
        given: list[tuple[Any, ...]] = []
        for _ in range(count or int(rng.integers(1, 4 * g.w_max))):
            worker, self.tag = int(rng.integers(g.w_max)), (self.tag + 1) % 60_000
            if worker in out:
                flags, legal = Flag(0), 0
                if rng.random() < 0.8:
                    flags = Flag.ACT | Flag.EXT
                    legal = (1 << self.used) - 1
                    if rng.random() < 0.3:
                        legal = int(rng.integers(1 << self.used))
                elif rng.random() < 0.5:
                    flags = Flag.TERM
                if rng.random() < 0.3:
                    flags |= Flag.ALT
                value = float(rng.choice([-8.0, 8 - 2.0**-20, rng.uniform(-8, 8)]))
                given.append((Op.UPD, flags, worker, 0, value, legal, self.tag))
            else:
                new = NO_ID
                if self.inserted < g.x - 1 and rng.random() < 0.9:
                    self.inserted += 1
                    new = self.inserted
                given.append((Op.SEL, 0, worker, new, 0.0, 0, self.tag))
            out ^= {worker}
        requests = np.array(given, REQUEST)
        words = pack_requests(requests, to_prior(rng.random((len(given), g.f))), g)
        heads, at = [], 0
        while at < len(words):
            heads.append(at)
            at += 1 + (g.ext_slots if int(words[at, 0]) & Flag.EXT << 4 else 0)
        for at in heads:
            if rng.random() < wrong:
                self._break(words[at])
        return words

    def _break(self, word: np.ndarray) -> None:
        """Make a request wrong, or another one."""
        rng = self.rng
        kind = int(rng.integers(6))
        if kind == 0:
            word[0] = int(word[0]) & ~15 | int(rng.integers(16))
        elif kind == 1:
            word[0] ^= np.uint32(1 << int(rng.integers(4, 8)))
        elif kind == 2:
            word[0] ^= np.uint32(1 << int(rng.integers(8, 20)))
        elif kind == 3 and int(word[0]) & 15 == Op.SEL:
            new_id = int(rng.choice([0, self.geometry.x, 0xFFFE]))
            word[0] = int(word[0]) & 0xFF_FFFF | (new_id & 0xFF) << 24
            word[1] = new_id >> 8
        elif kind == 4:
            word[int(rng.integers(1, 3))] ^= np.uint32(1 << int(rng.integers(8, 32)))
        else:
            word[3] ^= np.uint32(1 << int(rng.integers(16, 32)))

    def run(self, *lists: np.ndarray) -> int:
        """Run lists on both; records and responses are the same. Returns the requests executed."""
        records, found = [], []
        for each in self.both:
            jobs = [each._submit(words, 0) for words in lists]
            ended = [job.wait(60) for job in jobs]
            records.append([(record.count, record.detail, record.error) for record in ended])
            each._collect()
            found.append(np.sort(each._take(len(each._backlog)), order=["tag", "code"]))
        assert records[1] == records[0], self.settings
        for name in set(RESPONSE.names or ()) - {"stamp"}:
            want, got = (part[name].tolist() for part in found)
            assert got == want, f"{name}: {self.settings}"
        self.codes |= set(found[0]["code"].tolist())
        self.found = found[0]
        return sum(count for count, *_ in records[0])

    def compare(self) -> int:
        """Compare both trees, word by word, but for where nodes lie; returns how many there are."""
        model, sim = self.both
        g, nodes = self.geometry, 0
        waiting: list[tuple[int | None, int | None]] = [(None, None)]
        while waiting:
            want_at, got_at = waiting.pop()
            nodes += 1
            for word in range(2 + 8 * g.f):
                want, got = model.peek(want_at, word), sim.peek(got_at, word)
                if word >= 2 and (word - 2) % 8 == CHILD:
                    assert got >> 14 == want >> 14, f"node {nodes} word {word}"
                    if want & VALID:
                        waiting.append((want & 0x3FFF, got & 0x3FFF))
                else:
                    assert got == want, f"node {nodes} word {word}: {self.settings}"
        (visits, *root), (got_visits, *got_root) = (each.read_root() for each in self.both)
        assert got_visits == visits and np.array_equal(got_root, root)
        counts = [each.statistics() for each in self.both]
        for name in ("n_sel", "n_upd", "n_ins", "n_refused", "sticky"):
            assert counts[1][name] == counts[0][name], name
        return nodes

    def come_back(self) -> None:
        """All workers are back."""
        for worker in np.flatnonzero(self.engine.tree.edges >= 0).tolist():
            self.run(pack_requests(rows((Op.UPD, 0, worker, 0, 0, 0, 0)), None, self.geometry))


@pytest.mark.parametrize("build", ["crossbars", *map(regress, list(BUILDS)[1:])])
def test_lists_give_what_the_golden_model_gives(build: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with (
        open_device("model", config(build)) as model,
        open_device("sim", config(build), seed=seed) as sim,
    ):
        pair, nodes = Pair(model, sim, rng), 0
        for turn in range(scale(30, 5)):
            pair.begin()
            for _ in range(8):
                pair.run(pair.list(0.0 if turn % 2 else 0.05))
            nodes += pair.compare()
            pair.come_back()
        assert nodes > turn and {Code.EXPAND, Code.REVISIT, Code.TERMINAL} <= pair.codes


@pytest.mark.regress
@pytest.mark.cpu_limit(3600)
@pytest.mark.parametrize("build", list(BUILDS))
def test_a_million_requests(build: str, seed: int) -> None:
    """Long lists, several in the ring at a time: no hang, and nothing differs from the model."""
    rng = np.random.default_rng(seed)
    with (
        open_device("model", config(build)) as model,
        open_device("sim", config(build), seed=seed) as sim,
    ):
        pair, executed, trees = Pair(model, sim, rng, queue_log2=12), 0, 0
        while executed < scale(1_000_000 if build == "crossbars" else 100_000):
            pair.begin()
            executed += pair.run(*(pair.list(0.01, 1000) for _ in range(4)))
            if trees % 8 == 0:
                pair.compare()
            pair.come_back()
            trees += 1


def test_every_way_to_end_at_every_level(seed: int) -> None:
    """Each code at each depth; trees whose levels are full."""
    g = Geometry(**config("crossbars").instance("mcts").fields)
    depths = range(1, g.d)
    tally = Tally(
        "mcts.tree",
        {
            # Three children of a root are fewer than the entries of their level.
            "code": [f"{code.name.lower()}_{k}" for code in Code if code != Code.OK for k in depths]
            + ["full_2", "full_3"],
        },
    )
    first = np.array([1.0, 0.0, 0.0])  # of priors: all selections take child 0
    with (
        open_device("model", config("crossbars")) as model,
        open_device("sim", config("crossbars"), seed=seed) as sim,
    ):
        pair = Pair(model, sim, np.random.default_rng(seed))

        def begin(**settings: Any) -> None:
            pair.settings = MctsSettings(**settings)
            for each in pair.both:
                each.configure(pair.settings)
                each.reset()
                each.root(7, first)

        def run(*given: tuple[Any, ...], priors: np.ndarray = first) -> list[int]:
            """Run a list; the codes of its selections."""
            many = to_prior(np.tile(priors, (len(given), 1)))
            pair.run(pack_requests(rows(*given), many, g))
            for response in pair.found:
                code = int(response["code"])
                name = "full" if code == registers.Error.E_FULL else Code(code).name.lower()
                tally.hit("code", f"{name}_{response['depth']}")
            return pair.found["code"].tolist()

        act = Flag.ACT | Flag.EXT
        for d_act in range(2, g.d + 1):
            begin(rule="puct", c=4.0, vl=0.0, d_act=d_act)
            for level in range(1, d_act):
                run((Op.SEL, 0, 0, NO_ID, 0, 0, 1))
                run((Op.UPD, 0, 0, 0, 0.0, 0, 0))
                run((Op.SEL, 0, 0, level, 0, 0, 1), (Op.SEL, 0, 1, NO_ID, 0, 0, 2))
                run((Op.UPD, 0, 1, 0, 0.0, 0, 0), (Op.UPD, act, 0, 0, 0.0, 7, 0))
            assert run((Op.SEL, 0, 0, NO_ID, 0, 0, 1)) == [Code.LEAF]
            run((Op.UPD, 0, 0, 0, 0.0, 0, 0))
            pair.compare()
        for last in range(1, g.d):
            begin(rule="puct", c=4.0, vl=0.0)
            for level in range(1, last + 1):
                run((Op.SEL, 0, 0, level, 0, 0, 1))
                run((Op.UPD, Flag.TERM if level == last else act, 0, 0, 0.0,
                     7 if level < last else 0, 0))  # fmt: skip
            assert run((Op.SEL, 0, 0, NO_ID, 0, 0, 1)) == [Code.TERMINAL]
            run((Op.UPD, 0, 0, 0, 0.0, 0, 0))
        for policy, d_act in ((2, 3), (2, 4), (0, 4), (1, 4)):
            begin(rule="uct", vl=0.05, policy=policy, d_act=d_act)
            for turn in range(120):
                run((Op.SEL, 0, 0, 1, 0, 0, 1))
                run((Op.UPD, act, 0, 0, float(np.sin(turn)), 7, 0))
                # Of banks for all levels, the hardware gives some ahead of need.
                if tally.hits["code"][f"full_{d_act - 1}"] or (policy != 2 and turn == 20):
                    break
            pair.compare()
    tally.save("jackdaw:engine:mcts_top", f"tree-{seed}")
    tally.require()


@pytest.fixture
def bench(seed: int) -> Iterator[Bench]:
    with open_device("sim", config("crossbars"), seed=seed) as device:
        yield Bench(device)


def test_resets_in_any_clock_of_a_search(bench: Bench, seed: int) -> None:
    """Soft resets, while tokens, lists and responses are on their way."""
    rng, mcts = np.random.default_rng(seed), bench.mcts
    for _ in range(scale(60, 12)):
        given: list[tuple[Any, ...]] = [(Op.SEL, 0, w, w + 1, 0, 0, w) for w in range(4)]
        given += [(Op.UPD, Flag.ACT, w, 0, 0.5, 7, w) for w in range(4)]
        jobs = [mcts.submit(rows(*given)) for _ in range(3)]
        bench.device.step(int(rng.integers(400)))
        mcts.soft_reset()
        for job in jobs:
            assert job.record is not None or isinstance(job.error, errors.JobDropped)
        assert mcts.read(registers.CQ_HEAD.offset) == mcts.read(registers.CQ_TAIL.offset)
        bench.good()


def test_a_memory_that_is_too_slow(seed: int) -> None:
    """The watchdog ends all lists, until a soft reset."""
    with open_device("sim", config("crossbars"), seed=seed, memory="D") as device:
        bench = Bench(device)
        bench.mcts.write(header.WATCHDOG.offset, 20)
        jobs = [bench.mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 40)) for _ in range(3)]
        while not jobs[-1].poll():
            bench.mcts.read(header.STATUS.offset)
        bench.mcts.write(header.WATCHDOG.offset, 0)
        jobs.append(bench.mcts.submit(rows((Op.FENCE, 0, 0, 0, 0, 0, 0))))
        while not jobs[-1].poll():
            bench.mcts.read(header.STATUS.offset)
        assert {type(job.error) for job in jobs} == {errors.MctsTimeoutError}
        assert not any(job.record is not None and job.record.count for job in jobs)
        bench.mcts.soft_reset()
        bench.good()


def test_clocks_are_counted_by_what_they_wait_for(bench: Bench) -> None:
    """Root unit, memory for lists and for tables, tokens alone, a full queue."""
    mcts, names = bench.mcts, ("BUSY", "STALL_MEM", "STALL_IN", "STALL_OUT")
    shown = [0, 0, 0, 0]

    def more() -> list[int]:
        """By how much each count has grown."""
        before = shown[:]
        shown[:] = [mcts.read(getattr(header, f"{name}_LO").offset) for name in names]
        return [after - was for after, was in zip(shown, before, strict=True)]

    more()
    mcts.configure(mcts.settings or MctsSettings())  # 2,048 words, one in a clock
    busy, memory, alone, out = more()
    assert memory >= 2048 and (busy, alone, out) == (0, 0, 0)
    mcts.submit(rows((Op.SEL, 0, 0, 1, 0, 0, 1))).wait(5)
    busy, memory, alone, out = more()
    assert busy == 1 and 0 < memory < 200 and 8 <= alone < 40 and not out
    mcts.submit(rows((Op.UPD, Flag.ACT, 0, 0, 0.5, 7, 0))).wait(5)
    assert more()[0] == 1
    job = mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 100))
    while mcts.read(registers.CQ_TAIL.offset) - mcts.read(registers.CQ_HEAD.offset) < 64:
        pass
    more()
    for _ in range(100):
        mcts.read(header.STATUS.offset)
    *others, out = more()
    assert others == [0, 0, 0] and out > 500
    mcts.poll()
    job.wait(5)
    mcts.poll()
    bench.good()


def test_lists_wait_for_a_full_queue_and_no_watchdog_ends_them(bench: Bench) -> None:
    mcts = bench.mcts
    mcts.write(header.WATCHDOG.offset, 200)
    lists = [mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, k)] * 40)) for k in range(8)]
    for _ in range(100):
        bench.device.step(100)
        waiting = mcts.read(registers.CQ_TAIL.offset) - mcts.read(registers.CQ_HEAD.offset)
    assert waiting == 64
    tags: list[int] = []
    while not lists[-1].poll():
        tags += mcts.poll()["tag"].tolist()
    tags += mcts.poll()["tag"].tolist()
    assert tags == [k for k in range(8) for _ in range(40)]
    mcts.write(header.WATCHDOG.offset, 0)
    bench.good()


def test_refusals_beside_responses_take_one_place_each(bench: Bench) -> None:
    """The queue holds as many as before, however often a refusal waited for a response."""
    mcts = bench.mcts
    given: list[tuple[Any, ...]] = [(Op.SEL, 0, w, NO_ID, 0, 0, w) for w in range(4)]
    given += [(0, 0, 0, 0, 0, 0, 0)] * 24
    given += [(Op.UPD, 0, w, 0, 0, 0, w) for w in range(4)]
    for _ in range(10):
        mcts.submit(rows(*given)).wait(5)
        mcts._collect()
        assert len(mcts._take(len(given))) == 28
    jobs = [mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, 0)] * 40)) for _ in range(2)]
    for _ in range(100):
        bench.device.step(100)
        waiting = mcts.read(registers.CQ_TAIL.offset) - mcts.read(registers.CQ_HEAD.offset)
    assert waiting == 64
    mcts.poll()
    jobs[-1].wait(5)


def test_a_list_after_one_that_cannot_be_read(bench: Bench) -> None:
    """Its beats are on their way while the first one ends."""
    lost = bench.device.alloc(4096)
    bench.device.inject(lost, 64)
    for slots in (1, 4, 64, 70):
        broken = bench.job({2: slots, 4: lost & 0xFFFF_FFFF, 5: lost >> 32})
        later = bench.mcts.submit(rows(*[(Op.FENCE, 0, 0, 0, 0, 0, k) for k in range(9)]))
        with pytest.raises(errors.MctsBusRdError):
            broken.wait(5)
        assert later.wait(5).count == 9
        assert bench.mcts.poll()["tag"].tolist() == list(range(9))
    bench.device.clear_faults()
    bench.good()


def test_responses_wait_for_slow_writes(seed: int) -> None:
    """More of them than the engine has room for; none is lost."""
    with open_device("sim", config("crossbars"), seed=seed, memory="D") as device:
        bench = Bench(device, queue_log2=9)
        given = [(Op.FENCE, 0, 0, 0, 0, 0, k) for k in range(300)]
        job = bench.mcts.submit(rows(*given))
        assert bench.mcts.read_root()[0] == 0
        assert job.wait(5).count == 300
        assert bench.mcts.poll()["tag"].tolist() == list(range(300))


@pytest.mark.regress
def test_counts_stand_at_their_largest_value(bench: Bench) -> None:
    """The number of visits is set in the memory of the root by 65,535 updates."""
    mcts = bench.mcts
    mcts.reset()
    mcts.root(1)
    turns = 66_000
    mcts.clear_statistics()
    pair = rows((Op.SEL, 0, 0, NO_ID, 0, 0, 0), (Op.UPD, 0, 0, 0, 1.0, 0, 0))
    for _ in range(turns // 32):
        job = mcts.submit(np.tile(pair, 32))
        while not job.poll():
            mcts.poll()
        mcts.poll()
    visits, n, w = mcts.read_root()
    assert (visits, n[0], w[0]) == (turns // 32 * 32, 65535, 65535.0)
    assert mcts.statistics()["sticky"] == registers.STICKY.word(sat=1)
