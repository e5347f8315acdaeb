"""The golden tree against a plain one, and what is true of any tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.effort import scale
from models.mcts import tree
from models.mcts.formats import NO_ID, REQUEST, Code, Flag, Geometry, Op
from models.mcts.reference import ReferenceTree
from models.mcts.score import VISITS_MOST
from models.registers.mcts import Error
from tests.mcts.golden import SMALL, GoldenTree, difference, slots

Row = tuple[Any, ...]

RULES = st.fixed_dictionaries(
    {
        "rule": st.sampled_from(["uct", "alphazero", "puct"]),
        "c": st.sampled_from([0.0, 0.3, 1.25, 20.0]),
        "vl": st.sampled_from([0.0, 0.05, 1.0, 3.5]),
        "fpu": st.sampled_from([None, 0.0, -1.0, 7.5]),
        "d_act": st.integers(2, 4),
    }
)
STEP = st.tuples(
    st.integers(0, SMALL.w_max - 1),  # worker
    st.booleans(),  # a selection may insert
    st.sampled_from([-8.0, -1.0, -0.3, 0.0, 0.5, 1.0, 7.9]),  # value
    st.sampled_from([0, Flag.ACT, Flag.TERM]),
    st.booleans(),  # two players
    st.integers(0, 7),  # legal children
)


class Pair:
    """The two trees, driven alike.

    Attributes:
        sels: selections so far.
    """

    def __init__(self, rule: dict[str, Any], legal: int, geometry: Geometry = SMALL) -> None:
        self.golden = GoldenTree(geometry, **rule)
        self.plain = ReferenceTree(**rule)
        self.rng = np.random.default_rng(5)
        self.free = list(range(geometry.x - 1, 0, -1))
        self.given: dict[int, int] = {}
        self.sels = 0
        priors = self.rng.random(geometry.f)
        for each in (self.golden, self.plain):
            each.reset()
            each.root(legal, priors)

    def step(
        self, worker: int, insert: bool, value: float, flag: int, alt: bool, legal: int
    ) -> None:
        """A selection of a worker that is idle, else the update of the one that it has out."""
        priors = self.rng.random((1, self.golden.geometry.f))
        if worker not in self.given:
            self.given[worker] = self.free.pop() if insert and self.free else NO_ID
            self.sels += 1
            row: Row = (Op.SEL, 0, worker, self.given[worker], 0, 0, self.sels)
        else:
            flags = flag | Flag.ALT * alt | Flag.EXT * (flag == Flag.ACT)
            self.given.pop(worker)
            row = (Op.UPD, flags, worker, 0, value, legal if flag == Flag.ACT else 0, self.sels)
        request = np.array([row], REQUEST)
        for each in (self.golden, self.plain):
            each.submit(request, priors)
        got, want = self.golden.poll(), self.plain.poll()
        assert got.tolist() == want.tolist()
        if len(got) and got[0]["code"] != Code.EXPAND and self.given[worker] != NO_ID:
            self.free.append(self.given[worker])


@settings(max_examples=scale(400, 40))
@given(rule=RULES, legal=st.integers(1, 7), steps=st.lists(STEP, min_size=1, max_size=60))
def test_golden_tree_is_the_plain_tree(
    rule: dict[str, Any], legal: int, steps: list[tuple[Any, ...]]
) -> None:
    """Each response and, at the end, each node; then all workers come back."""
    pair = Pair(rule, legal)
    for step in steps:
        pair.step(*step)
    golden, t = pair.golden, pair.golden.tree
    assert difference(golden, pair.plain) is None
    assert golden.out == len(pair.given)
    assert t.counters[tree.N_SEL] == pair.sels
    assert golden.read_root()[0] + golden.out == pair.sels  # every selection leaves the root
    for worker in list(pair.given):
        pair.step(worker, False, 0.25, 0, False, 0)
    assert difference(golden, pair.plain) is None
    assert not t.loss.any() and golden.out == 0
    assert golden.read_root()[0] == t.n[SMALL.entries].sum() == pair.sels


@settings(max_examples=scale(100, 15))
@given(policy=st.integers(0, 2), steps=st.lists(STEP, min_size=40, max_size=90))
def test_no_bank_has_two_levels_and_no_entry_two_nodes(
    policy: int, steps: list[tuple[Any, ...]]
) -> None:
    golden = GoldenTree(policy=policy)
    golden.reset()
    golden.root(7)
    out: set[int] = set()
    for worker, _, value, _, _, _ in steps:  # ids repeat: more nodes than there are ids
        op, flag, legal, ident = (
            (Op.UPD, Flag.ACT, 7, 0) if worker in out else (Op.SEL, Flag(0), 0, 1)
        )
        out ^= {worker}
        golden.submit(np.array([(op, flag, worker, ident, value, legal, 0)], REQUEST))
    t = golden.tree
    children = t.child[t.child >= 0]
    reached = [SMALL.entries]
    for at in reached:
        reached += [int(c) for c in t.child[at] if c >= 0] if t.state[at] else []
    assert len(set(reached)) == len(reached) == t.used.sum() + 1
    assert set(reached[1:]) <= set(children.tolist())
    for at in reached[1:]:
        bank = at // SMALL.cap
        assert t.level[at] == t.owner[bank] and at % SMALL.cap < t.used[bank]
        assert policy != 2 or bank % SMALL.d == t.level[at]


def test_a_full_tree_says_so_and_the_search_goes_on() -> None:
    """Policy 2: level 1 has two banks of four; its ninth node finds none."""
    geometry = Geometry(d=4, f=16, y=8, cap=4, x=10, fr=3, fp=2, w_max=4, t=16, sf=2, mu=3)
    for policy, bit in ((2, tree.STATIC_FULL), (0, tree.FULL)):
        golden = GoldenTree(geometry, policy=policy)
        golden.reset()
        golden.root((1 << 16) - 1)
        if policy == 0:  # other levels have taken all banks but two
            golden.tree.owner[2:] = 3
        codes = []
        for _ in range(12):
            golden.submit(np.array([(Op.SEL, 0, 0, 1, 0, 0, 0)], REQUEST))
            codes += golden.poll()["code"].tolist()
            golden.submit(np.array([(Op.UPD, Flag.ACT, 0, 0, 1.0, 1, 0)], REQUEST))
        assert codes == [Code.EXPAND] * 8 + [Error.E_FULL] * 4
        assert golden.tree.counters[tree.STICKY] == bit
        assert golden.read_root()[0] == 12 and golden.out == 0 and not golden.tree.loss.any()
        golden.reset()
        golden.root(1)
        golden.submit(np.array([(Op.SEL, 0, 0, 1, 0, 0, 0)], REQUEST))
        assert golden.poll()["code"].tolist() == [Code.EXPAND]


def test_counts_saturate() -> None:
    golden = GoldenTree()
    golden.reset()
    golden.root(1)
    t, root = golden.tree, SMALL.entries
    t.n[root, 0], t.w[root, 0], t.visits[root] = VISITS_MOST - 1, 5 << 20, (1 << 17) - 2
    pair = np.array([(Op.SEL, 0, 0, NO_ID, 0, 0, 0), (Op.UPD, 0, 0, 0, 1.0, 0, 0)], REQUEST)
    golden.submit(pair)
    assert (t.n[root, 0], t.w[root, 0], t.visits[root]) == (VISITS_MOST, 6 << 20, (1 << 17) - 1)
    assert not t.counters[tree.STICKY]
    golden.submit(pair)
    assert (t.n[root, 0], t.w[root, 0], t.visits[root]) == (VISITS_MOST, 6 << 20, (1 << 17) - 1)
    assert t.counters[tree.STICKY] == tree.SAT and not t.loss.any()


def test_values_of_two_players_alternate_from_the_last_edge() -> None:
    golden = GoldenTree()
    golden.reset()
    golden.root(1)
    for ident in (1, 2):
        golden.submit(
            np.array(
                [(Op.SEL, 0, 0, ident, 0, 0, 0),
                 (Op.UPD, Flag.ACT | Flag.ALT, 0, 0, -8.0, 1, 0)],
                REQUEST,
            )
        )  # fmt: skip
    t, root = golden.tree, SMALL.entries
    most = (1 << 23) - 1  # 8 less a unit: the negative of -8 does not fit
    assert t.w[root, 0] == -(1 << 23) + most
    assert t.w[t.child[root, 0], 0] == -(1 << 23)


SEL0 = (Op.SEL, 0, 0, 1, 0, 0, 0)
UPD0 = (Op.UPD, 0, 0, 0, 0, 0, 0)
ROOT7 = (Op.ROOT, Flag.ACT, 0, 0, 0, 7, 0)
RESET0 = (Op.RESET, 0, 0, 0, 0, 0, 0)
READ0 = (Op.READ_ROOT, 0, 0, 0, 0, 0, 0)

# error -> lists whose last request is refused with it, after RESET and ROOT of a uct tree
REFUSALS: list[tuple[Error, list[Row]]] = [
    (Error.E_OPCODE, [(0, 0, 0, 0, 0, 0, 0)]),
    (Error.E_OPCODE, [(7, 0, 0, 0, 0, 0, 0)]),
    (Error.E_RESERVED, [(Op.SEL, Flag.ACT, 0, 1, 0, 0, 0)]),
    (Error.E_RESERVED, [(Op.SEL, 0, 0, 1, 1.0, 0, 0)]),
    (Error.E_RESERVED, [(Op.SEL, 0, 0, 1, 0, 1, 0)]),
    (Error.E_RESERVED, [SEL0, (Op.UPD, 0, 0, 1, 0, 0, 0)]),
    (Error.E_RESERVED, [(Op.FENCE, 0, 1, 0, 0, 0, 0)]),
    (Error.E_RESERVED, [(Op.ROOT, Flag.ACT | Flag.TERM, 0, 0, 0, 7, 0)]),
    (Error.E_WORKER, [(Op.SEL, 0, 4, 1, 0, 0, 0)]),
    (Error.E_WORKER, [(Op.UPD, 0, 0xFFF, 0, 0, 0, 0)]),
    (Error.E_STATE, [SEL0, SEL0]),
    (Error.E_STATE, [UPD0]),
    (Error.E_STATE, [SEL0, UPD0, UPD0]),
    (Error.E_ID, [(Op.SEL, 0, 0, 0, 0, 0, 0)]),
    (Error.E_ID, [(Op.SEL, 0, 0, 10, 0, 0, 0)]),
    (Error.E_NO_ROOT, [RESET0, SEL0]),
    (Error.E_NO_ROOT, [RESET0, READ0]),
    (Error.E_NO_ROOT, [ROOT7]),
    (Error.E_ARG, [SEL0, (Op.UPD, Flag.ACT | Flag.TERM, 0, 0, 0, 1, 0)]),
    (Error.E_ARG, [SEL0, (Op.UPD, Flag.TERM, 0, 0, 0, 1, 0)]),
    (Error.E_ARG, [SEL0, (Op.UPD, Flag.ACT, 0, 0, 0, 8, 0)]),
    (Error.E_ARG, [RESET0, (Op.ROOT, 0, 0, 0, 0, 7, 0)]),
    (Error.E_ARG, [RESET0, (Op.ROOT, Flag.ACT, 0, 0, 0, 0, 0)]),
    (Error.E_ARG, [RESET0, (Op.ROOT, Flag.ACT, 0, 0, 0, 15, 0)]),
    (Error.E_BUSY, [SEL0, RESET0]),
    (Error.E_BUSY, [SEL0, ROOT7]),
]


@pytest.mark.parametrize(("error", "requests"), REFUSALS)
def test_a_wrong_request_is_refused_and_changes_nothing(error: Error, requests: list[Row]) -> None:
    golden, right = GoldenTree(), GoldenTree()
    for each in (golden, right):
        each.reset()
        each.root(7)
        each.run(slots(*requests[:-1]).astype(np.int64) if len(requests) > 1 else np.zeros((0, 4)))
        each.poll()
    last = slots(requests[-1])
    last[0, 3] = 77
    done = golden.run(last.astype(np.int64))
    response = golden.poll()
    assert (done, golden.refused) == (0, 1)
    assert response["code"].tolist() == [error] and response["tag"].tolist() == [77]
    assert golden.tree.counters[tree.N_REFUSED] == 1
    golden.tree.counters[tree.N_REFUSED] = 0
    for name, got, want in zip(golden.tree._fields, golden.tree, right.tree, strict=True):
        assert (got == want).all(), name
    # The next good list gives what it gives a tree that saw no fault.
    for each in (golden, right):
        if each.out:
            each.run(slots(UPD0).astype(np.int64))
        each.reset()
        each.root(7)
        each.run(slots(SEL0, (Op.UPD, Flag.ACT, 0, 0, 1.0, 7, 0), SEL0).astype(np.int64))
    assert golden.poll().tolist() == right.poll().tolist()
    assert golden.read_root()[0] == right.read_root()[0] == 1


@pytest.mark.parametrize("bit", [1 << 20, 1 << 23])
def test_a_reserved_bit_of_a_request_is_refused(bit: int) -> None:
    golden = GoldenTree()
    golden.reset()
    golden.root(7)
    for word, mask in ((0, bit), (3, bit)):
        wrong = slots(SEL0).astype(np.int64)
        wrong[0, word] |= mask
        golden.run(wrong)
        assert golden.poll()["code"].tolist() == [Error.E_RESERVED]


def test_priors_that_are_missing_or_cut_off_are_refused() -> None:
    golden = GoldenTree(rule="puct")
    golden.reset()
    bare = slots((Op.ROOT, Flag.ACT, 0, 0, 0, 7, 0)).astype(np.int64)
    golden.run(bare)
    assert golden.poll()["code"].tolist() == [Error.E_EXT]
    whole = slots((Op.ROOT, Flag.ACT | Flag.EXT, 0, 0, 0, 7, 5)).astype(np.int64)
    golden.run(whole[:1])
    assert golden.poll()["code"].tolist() == [Error.E_EXT]
    assert golden.run(whole) == 1
    assert golden.poll()["code"].tolist() == [Code.OK]


def test_scores_are_near_those_of_floats(seed: int) -> None:
    """Of the same statistics, in a tree that both rules have grown.

    An entry of the tables has 16 bits. From count 512 on it serves counts that differ by 1/64, so
    that 1/sqrt(N) is off by 1/128 and 1/n by 1/64 at most.
    """
    geometry = Geometry(d=8, f=6, y=32, cap=32, x=512, fr=6, fp=6, w_max=8, t=64, sf=8, mu=6)
    rng = np.random.default_rng(seed)
    for rule, c in (("uct", 1.0), ("puct", 1.25)):
        pair = Pair({"rule": rule, "c": c, "vl": 0.05, "fpu": None, "d_act": 8}, 63, geometry)
        for _ in range(scale(4000, 600)):
            value = float(np.round(rng.uniform(-1, 1) * 2**20) / 2**20)
            pair.step(int(rng.integers(8)), True, value, Flag.ACT, False, 63)
        plain, checked = pair.plain, 0
        nodes = [plain.top]
        for node in nodes:
            for child in node.children.values():
                if child.n or rule == "puct":
                    wanted = plain._float(node, child)
                    error = abs(plain._fixed(node, child) / 2**20 - wanted)
                    mean = child.w / child.n / 2**20 if child.n else 0.0
                    exploration = wanted - mean + 0.05 * child.out
                    share = 3 / 128 if max(node.visits, child.n) >= 512 else 2**-14
                    assert error <= share * exploration + 2**-18, (rule, node.visits, child.n)
                    checked += 1
                if child.node is not None:
                    nodes.append(child.node)
        assert checked > 100
