"""The compiled trees: the single one against the golden model, the shared one's invariants."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from jackdaw.drivers.mcts import MctsSettings
from jackdaw.errors import ConfigError, error_class
from jackdaw.search import native
from jackdaw.search.trees import CpuTree, shared_run
from models.mcts.formats import NO_ID, REQUEST, Code, Flag, Geometry, Op
from models.mcts.reference import ReferenceTree
from models.registers.mcts import Error
from tests.mcts.golden import GoldenTree

DEMO = Geometry(d=8, f=8, y=32, cap=32, x=512, fr=6, fp=6, w_max=32, t=128, sf=8, mu=6)
VALUES = np.array([-8.0, -1.0, -0.3, 0.0, 0.0, 0.25, 0.5, 1.0, 7.9])


def nodes_differ(golden: GoldenTree, cpu: CpuTree) -> str | None:
    """The first node that is not the same in both; None if all are."""
    t, waiting, seen = golden.tree, [(golden.geometry.entries, 0)], 0
    while waiting:
        at, number = waiting.pop()
        seen += 1
        node = cpu.node(number)
        got = (node.ident, node.state, node.level, node.visits)
        if got != (t.ident[at], t.state[at], t.level[at], t.visits[at]):
            return f"node {number}: got {got}"
        legal = t.legal[at].astype(bool)
        for name, mine, theirs in (
            ("n", node.n, t.n[at]), ("w", node.w, t.w[at]), ("loss", node.loss, t.loss[at]),
            ("legal", node.legal, legal), ("score", node.score, t.u[at]),
            ("child", node.child >= 0, t.child[at] >= 0),
        ):  # fmt: skip
            if (mine != theirs).any():
                return f"node {number} {name}: got {mine}, want {theirs}"
        for a in np.flatnonzero(node.child >= 0):
            waiting.append((int(t.child[at, a]), int(node.child[a])))
    return None if seen == len(cpu) else f"{seen} nodes are reached, there are {len(cpu)}"


@pytest.mark.parametrize(
    "settings",
    [
        MctsSettings("uct", 0.7, 0.05),
        MctsSettings("uct", 20.0, 1.0, fpu=0.3, f_act=5, d_act=4),
        MctsSettings("alphazero", 1.25, 3.5, d_act=6),
        MctsSettings("puct", 5.0, 0.0, fpu=-1.0),
    ],
)
def test_the_compiled_tree_is_the_golden_one(settings: MctsSettings, seed: int) -> None:
    """Random requests of many workers, with repeated resets: responses and, at the end, nodes."""
    rng = np.random.default_rng(seed)
    golden = GoldenTree(
        DEMO, settings.rule, settings.c, vl=settings.vl, fpu=settings.fpu,
        f_act=settings.f_act, d_act=settings.d_act,
    )  # fmt: skip
    cpu = CpuTree(DEMO.x, DEMO.f, DEMO.d, DEMO.w_max)
    cpu.configure(settings)
    f_act = settings.f_act or DEMO.f
    codes: set[int] = set()
    for _ in range(scale(20, 2)):
        for each in (golden, cpu):
            each.reset()
            each.root((1 << f_act) - 1, np.linspace(0, 1, DEMO.f))
        free, given = list(range(1, DEMO.x)), dict[int, int]()
        for _ in range(400):
            rows: list[Any] = []
            for worker in rng.permutation(DEMO.w_max)[: rng.integers(1, 12)]:
                if worker in given:
                    given.pop(worker)
                    flag = rng.choice([0, Flag.ACT, Flag.ACT, Flag.ACT, Flag.TERM])
                    flags = flag | Flag.ALT * rng.integers(2) | Flag.EXT * (flag == Flag.ACT)
                    legal = rng.integers(1 << f_act) if flag == Flag.ACT else 0
                    rows.append((Op.UPD, flags, worker, 0, rng.choice(VALUES), legal, 7))
                else:
                    given[worker] = free.pop() if free and rng.random() < 0.9 else NO_ID
                    rows.append((Op.SEL, 0, worker, given[worker], 0, 0, len(free)))
            requests, priors = np.array(rows, REQUEST), rng.random((len(rows), DEMO.f))
            for each in (golden, cpu):
                each.submit(requests, priors)
            got, want = cpu.poll(), golden.poll()
            assert got.tolist() == want.tolist()
            codes |= set(want["code"].tolist())
            for row in want[(want["code"] != Code.EXPAND)]:
                if row["worker"] in given and given[row["worker"]] != NO_ID:
                    free.append(given[row["worker"]])
                    given[row["worker"]] = NO_ID
        assert nodes_differ(golden, cpu) is None
        assert [each.tolist() for each in cpu.read_root()[1:]] == [
            each.tolist() for each in golden.read_root()[1:]
        ]
        assert cpu.read_root()[0] == golden.read_root()[0]
        back = np.zeros(len(given), REQUEST)
        back["op"], back["worker"] = Op.UPD, list(given)
        for each in (golden, cpu):
            each.submit(back)
    assert {Code.EXPAND, Code.REVISIT, Code.TERMINAL, Code.NOINS} <= codes
    assert not golden.tree.loss.any() and golden.refused == 0


@pytest.mark.parametrize("rule", ["uct", "alphazero", "puct"])
def test_in_floats_it_is_the_plain_tree_in_floats(rule: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = ReferenceTree(rule, 0.9, vl=0.1, d_act=6, exact=False)
    cpu = CpuTree(200, 5, 6, 4)
    cpu.configure(MctsSettings(rule, 0.9, 0.1), exact=False)
    priors = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    for each in (plain, cpu):
        each.reset()
        each.root(31, priors)
    for step in range(150):
        rows = [(Op.SEL, 0, w, 1 + step % 40 * 4 + w if step < 40 else NO_ID, 0, 0, 0)
                for w in range(4)]  # fmt: skip
        back = [(Op.UPD, Flag.ACT | Flag.EXT, w, 0, rng.random(), 31, 0) for w in range(4)]
        for each in (plain, cpu):
            each.submit(np.array(rows, REQUEST))
        assert cpu.poll().tolist() == plain.poll().tolist()
        for each in (plain, cpu):
            each.submit(np.array(back, REQUEST), np.tile(priors, (4, 1)))
    assert cpu.read_root()[1].tolist() == plain.read_root()[1][:5].tolist()


def test_wu_uct_counts_workers_out_as_visits() -> None:
    """Two children with one visit each: of equal means, the second worker takes the other one."""
    cpu = CpuTree(50, 2, 8, 8)
    cpu.configure(MctsSettings("uct", 0.7, 0.0), exact=False, wu=True)
    cpu.reset()
    cpu.root(3)
    for value in (0.5, 0.5):
        cpu.submit(np.array([(Op.SEL, 0, 0, NO_ID, 0, 0, 0)], REQUEST))
        cpu.submit(np.array([(Op.UPD, 0, 0, 0, value, 0, 0)], REQUEST))
    cpu.poll()
    cpu.submit(np.array([(Op.SEL, 0, w, NO_ID, 0, 0, 0) for w in range(4)], REQUEST))
    assert cpu.poll()["action"].tolist() == [0, 1, 0, 1]
    cpu.configure(MctsSettings("uct", 0.7, 0.0), exact=False)
    with pytest.raises(ConfigError, match=r"tree wu: got exact=True"):
        cpu.configure(MctsSettings("uct", 0.7, 0.0), wu=True)


SEL, UPD = (Op.SEL, 0, 0, 1, 0, 0, 0), (Op.UPD, 0, 0, 0, 0, 0, 0)
REFUSED = [
    (Error.E_WORKER, [(Op.SEL, 0, 4, 1, 0, 0, 0)]),
    (Error.E_WORKER, [(Op.UPD, 0, 9, 0, 0, 0, 0)]),
    (Error.E_STATE, [UPD]),
    (Error.E_STATE, [SEL, SEL]),
    (Error.E_ID, [(Op.SEL, 0, 0, 0, 0, 0, 0)]),
    (Error.E_ID, [(Op.SEL, 0, 0, 10, 0, 0, 0)]),
    (Error.E_ARG, [SEL, (Op.UPD, Flag.ACT | Flag.TERM, 0, 0, 0, 0, 0)]),
    (Error.E_ARG, [SEL, (Op.UPD, Flag.ACT, 0, 0, 0, 8, 0)]),
    (Error.E_ARG, [SEL, (Op.UPD, 0, 0, 0, 0, 1, 0)]),
]


@pytest.mark.parametrize(("error", "rows"), REFUSED)
def test_a_wrong_request_is_refused_as_on_the_engine(error: Error, rows: list[Any]) -> None:
    """By the same name, after the requests before it; then the tree goes on."""
    cpu, golden = CpuTree(10, 3, 4, 4), GoldenTree()
    cpu.configure(MctsSettings(vl=1.0))
    for each in (cpu, golden):
        each.reset()
        each.root(7)
    golden.submit(np.array(rows, REQUEST))
    assert golden.poll()["code"][-1] == error
    with pytest.raises(error_class("mcts", int(error))):
        cpu.submit(np.array(rows, REQUEST))
    if len(rows) > 1:
        assert cpu.poll()["code"].tolist() == [Code.EXPAND]
        with pytest.raises(error_class("mcts", int(Error.E_BUSY))):
            cpu.reset()
        cpu.submit(np.array([UPD], REQUEST))
    cpu.reset()
    with pytest.raises(error_class("mcts", int(Error.E_NO_ROOT))):
        cpu.submit(np.array([SEL], REQUEST))
    cpu.root(7)
    cpu.submit(np.array([SEL], REQUEST))
    assert cpu.poll()["code"].tolist() == [Code.EXPAND]


@pytest.mark.parametrize(("threads", "x"), [(1, 500), (2, 500), (4, 5000), (16, 5000)])
def test_threads_lose_nothing_in_a_shared_tree(threads: int, x: int) -> None:
    count = scale(40_000, 4000)
    run = shared_run(threads, count, x=x, f=6, d=12)
    assert (run.root, run.children, run.ends, run.out) == (count, count, count, 0)
    assert run.given == run.reached == min(x, run.given) > 400
    assert run.visits.sum() == count and run.visits.min() > 0


def test_one_thread_of_the_shared_tree_is_the_single_tree() -> None:
    """Without virtual loss in between; the same game, to the visit."""
    run = shared_run(1, 2000, x=1000, f=6, d=12, c=0.7)
    cpu = CpuTree(1000, 6, 12, 1)
    cpu.configure(MctsSettings("uct", 0.7, 0.05), exact=False)
    cpu.reset()
    cpu.root(63)
    cpu.run_synthetic(1, 2000)
    # Float sums here, and sums in units of 2**-20 there: means differ by less than a visit's worth.
    assert np.abs(cpu.read_root()[1] - run.visits).max() <= 4 and len(cpu) == run.given


@pytest.mark.regress
def test_no_data_race_in_the_shared_tree() -> None:
    """ThreadSanitizer; its run fails on a race, and on a lost visit."""
    source = native.Path(native.__file__).with_name("tree.cpp")
    folder = native.build(source, ("-fsanitize=thread", "-g", "-DJD_SHARED_MAIN"), "shared")
    done = subprocess.run(
        ["setarch", "-R", folder / "shared"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-3000:]


def test_code_that_does_not_compile_has_the_compilers_words(tmp_path: Any) -> None:
    (tmp_path / "wrong.cpp").write_text("int f() { return x; }\n")
    with pytest.raises(native.NativeBuildError, match=r"(?s)wrong.cpp: .*was not declared"):
        native.build(tmp_path / "wrong.cpp", ("-shared",), "wrong.so")
