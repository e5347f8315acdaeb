"""The cycle model of the mcts engine: single requests by hand, order, networks, rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from models.mcts import timing
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY
from models.mcts.formats import Geometry, Op
from models.mcts.timing import LATENCY, replay
from models.mcts.traces import SHAPES, intervals, join, only_sel, record
from models.mcts.tree import AT_EDGE, AT_END, AT_NEW, RESET, ROOT, SEL, UPD, Trace

READ_ROOT, FENCE = Op.READ_ROOT, Op.FENCE
SMALL = Geometry(d=8, f=6, y=32, cap=32, x=512, fr=6, fp=6, w_max=64, t=128, sf=8, mu=6)
START = 2 * LATENCY + 17  # clocks from the doorbell to the first request at the root


def trace(
    *requests: tuple[int, list[int], int], slots: int = 1, worker: int | None = None,
    end: int = AT_EDGE,
) -> Trace:  # fmt: skip
    """Requests given by kind, nodes below the root, and node inserted; of many workers or one."""
    n, root = len(requests), SMALL.entries
    path = np.zeros((n, SMALL.d), np.int64)
    for row, (_, nodes, _) in enumerate(requests):
        path[row, : len(nodes) + 1] = [root, *nodes]
    op, length, inserted = (
        np.array([request[0] for request in requests]),
        np.array([len(request[1]) + 1 for request in requests]),
        np.array([request[2] for request in requests]),
    )
    workers = np.arange(n) if worker is None else np.full(n, worker)
    return Trace(
        op, np.full(n, slots), length, path, inserted, workers, np.full(n, end), np.array([n])
    )


A, B = 0, SMALL.cap  # nodes in the banks 0 and 1, so on different ports


@pytest.mark.parametrize(
    ("requests", "between", "hazard"),
    [
        ([(SEL, [], A), (SEL, [], B)], 1, 0),
        ([(UPD, [], -1), (UPD, [], -1)], 1, 0),
        ([(UPD, [], -1), (SEL, [], A)], 20, 19),  # the scores must be published
        ([(SEL, [], A), (UPD, [], -1)], 1, 0),
        ([(UPD, [], -1), (ROOT, [], -1), (SEL, [], A)], 28, 18),
        ([(SEL, [], -1), (0, [], -1), (0, [], -1), (SEL, [], -1)], 3, 0),  # two refused
    ],
)
def test_clocks_between_requests_at_the_root(
    requests: list[tuple[int, list[int], int]], between: int, hazard: int
) -> None:
    clocks = replay(trace(*requests), SMALL)
    assert (clocks.root_first, clocks.root_last - clocks.root_first) == (START, between)
    assert clocks.ordered and clocks.hazard == hazard


@pytest.mark.parametrize(
    ("op", "node", "wait"),
    [(SEL, A + 1, 0), (SEL, A, 2), (UPD, A + 1, 0), (UPD, A, 2)],
)
def test_clocks_between_requests_at_a_node(op: int, node: int, wait: int) -> None:
    """After a SEL, T_sel = 3: a SEL of the same node 3 clocks later, an UPD 3, another node 1."""
    g = replace(SMALL, fp=2)
    one, two = replay(trace((SEL, [A], -1)), g), replay(trace((SEL, [A], -1), (op, [node], -1)), g)
    assert (two.total - one.total, two.hazard) == (1 + wait, wait)


@pytest.mark.parametrize(("node", "later"), [(A, 18), (A + 1, 16)])
def test_a_selection_waits_for_the_scores_of_a_node(node: int, later: int) -> None:
    """Ports publish 2 clocks later than the root; UPDs of 6 clocks come before."""
    g = replace(SMALL, mu=1, fp=2)
    last = (SEL, [node], -1)
    alone = replay(trace((UPD, [node], -1), last), g)
    behind = replay(trace(*[(UPD, [A + 1], -1), (UPD, [A], -1)] * 2, last), g)
    assert behind.total - alone.total == later


@pytest.mark.parametrize("op", [READ_ROOT, FENCE])
def test_a_fence_waits_for_all_tokens(op: int) -> None:
    before = (SEL, [A, B], -1)
    alone = replay(trace(before), SMALL)
    fenced, refused = (
        replay(trace(before, (each, [], -1), (SEL, [], -1)), SMALL) for each in (op, 0)
    )
    assert refused.root_last - START == 2 and fenced.root_last == alone.total + 2


def test_a_slow_root_unit_gives_the_interval() -> None:
    for fr, clocks in ((6, 1), (3, 2), (2, 3)):
        found = replay(trace(*[(SEL, [], -1)] * 50), replace(SMALL, fr=fr))
        assert found.interval == clocks


def test_a_reset_clears_the_banks() -> None:
    with_reset, without = (
        replay(trace((SEL, [], -1), (op, [], -1), (SEL, [], -1)), SMALL) for op in (RESET, 0)
    )
    answered = 8  # clocks, of the first
    assert with_reset.root_last - without.root_last == answered + SMALL.d + SMALL.y - 1


def test_an_update_waits_for_the_answer_to_its_selection() -> None:
    alone = replay(trace((SEL, [A, B], -1)), SMALL)
    pair = (SEL, [A, B], -1), (UPD, [A, B], -1)
    many, one = replay(trace(*pair), SMALL), replay(trace(*pair, worker=3), SMALL)
    assert many.root_last - START == 1 and one.root_last == alone.total + 1


def test_a_selection_waits_for_the_update_before_last_of_its_worker() -> None:
    """The first UPD goes a way that butterflies make long."""
    way: tuple[int, list[int], int] = (UPD, [A, B, 2 * B, 3 * B], -1)
    last: tuple[int, list[int], int] = (SEL, [], -1)
    turn, slow = (way, last), replace(SMALL, xbar=0)
    fast = replay(trace(*turn, *turn, worker=0), SMALL)
    assert fast.root_last - START == 20 + 9 + 20  # scores at the root, an answer, scores
    held, alone = replay(trace(*turn, *turn, worker=0), slow), replay(trace(way), slow)
    assert held.root_last == alone.total + 1 > fast.root_last


@pytest.mark.parametrize(("end", "changes"), [(AT_EDGE, 1), (AT_END, 0), (AT_NEW, 1)])
def test_clocks_of_a_last_node(end: int, changes: int) -> None:
    """What counts nothing publishes nothing."""
    g = replace(SMALL, fp=2)
    update, select = (UPD, [A], -1), (SEL, [A], -1)
    edge, found = replay(trace(update), g), replay(trace(update, end=end), g)
    assert found.total == edge.total
    follows = replay(trace(update, select, end=end), g)
    assert follows.total - found.total == 20 + 2 * changes


@pytest.mark.parametrize(("xbar", "level"), [(1, 8), (0, 12)])
def test_clocks_of_a_level(xbar: int, level: int) -> None:
    """An idle engine: 8 by crossbars, 2 log2 D + 6 by butterflies, the root's like another."""
    g = replace(SMALL, xbar=xbar)
    paths = [[A], [A, B], [A, B, 2 * B]]
    totals = [replay(trace((SEL, nodes, -1)), g).total for nodes in paths]
    assert np.diff(totals).tolist() == [level, level]
    assert totals[0] - START == 16 if xbar else totals[0] - START == 20


def test_updates_wait_for_multipliers() -> None:
    few, many = (replay(trace(*[(UPD, [A], -1)] * 10), replace(SMALL, mu=mu)) for mu in (2, 6))
    assert few.total - many.total == 9 * 2  # three clocks each but for the first


def test_tokens_in_flight_are_limited() -> None:
    requests = [(SEL, [A, B, 2 * B], -1)] * 60
    few, many = (replay(trace(*requests), replace(SMALL, t=t)) for t in (4, 64))
    assert few.flight == 4 and many.flight > 20 and few.total > many.total


def test_a_list_is_fetched_while_the_one_before_runs() -> None:
    """Short lists wait for their descriptors, L + 6 clocks each; long ones do not."""
    requests = trace(*[(SEL, [], -1)] * 400)
    short = replay(requests, SMALL, np.full(40, 10, np.int64))
    assert 10 * short.interval == pytest.approx(LATENCY + 6, abs=2)
    long = replay(requests, SMALL, np.full(4, 100, np.int64))
    assert long.interval == 1 + 3 * 3 / 399  # three clocks from list to list
    wide = replay(trace(*[(SEL, [], -1)] * 400, slots=8), SMALL)  # two beats a request
    assert wide.interval == pytest.approx(2 * (LATENCY + 10) / 64, abs=0.05)  # 64 beats wait
    assert replay(requests, SMALL, latency=0).root_first == 2


def test_descriptors_of_16_lists_are_fetched_ahead() -> None:
    """During a long list: 16 with that one; the 25 others come one every L + 6 clocks."""
    requests = trace(*[(UPD, [], -1), (SEL, [], -1)] * 200, *[(SEL, [], -1)] * 40)
    g = replace(SMALL, t=4)
    one, many = (replay(requests, g, np.array([400, *rest])) for rest in ([40], [1] * 40))
    assert many.root_last - one.root_last == pytest.approx(25 * (LATENCY + 6), abs=2 * LATENCY)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", [ALGORITHM_2, NEXT_EMPTY])
def test_requests_reach_each_node_in_list_order(shape: str, policy: int, seed: int) -> None:
    """The reason that the sequential tree defines the result, on both networks."""
    nodes = scale(500, 150)
    found = record(SHAPES[shape], SMALL, nodes, workers=32, group=8, policy=policy, seed=seed)
    for g in (SMALL, replace(SMALL, xbar=0), replace(SMALL, xbar=0, mu=1, fp=2)):
        for clocks in intervals(found, g):
            assert clocks.ordered
            assert clocks.sels == (found.op == SEL).sum()
            assert clocks.interval >= 1
    out_of_order = join([only_sel(found), found])  # nodes are reached before they are inserted
    assert replay(out_of_order, SMALL).ordered


@pytest.mark.parametrize("k", [1, 8, 32])
def test_a_list_ends_in_time(k: int) -> None:
    """k iterations from the doorbell to the last response: 3 L + 60 + 3 k + 12 a level."""
    g = Geometry()
    found = record(SHAPES["deep"], g, 500, workers=max(2 * k, 4), group=k)
    last = Trace._make([*(each[-2 * k :] for each in found[:-1]), np.array([2 * k])])
    clocks = replay(last, g)
    levels = int(last.length.max())
    assert clocks.total + LATENCY <= 3 * LATENCY + 60 + 3 * k + 12 * levels


def test_a_token_that_overtakes_is_noticed() -> None:
    """Two ways to one node: the second request comes first."""
    late = trace((SEL, [B, B + 1, A], -1), (SEL, [A], -1))
    assert not replay(late, SMALL).ordered


def test_an_engine_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_kept_flow", lambda *_: (-1, 0, 0, 0, 0, None, False))
    with pytest.raises(AssertionError, match="1 requests did not end within"):
        replay(trace((SEL, [], -1)), SMALL)


def test_intervals_of_the_product() -> None:
    """The goals, on trees of a few hundred nodes."""
    for f, fp in ((6, 6), (18, 5)):
        g = Geometry(f=f, fr=f, fp=fp, mu=f)
        found = record(SHAPES["bushy"], g, scale(3000, 600), oldest=True)
        sel, both = intervals(found, g)
        assert sel.interval <= 1.2 and both.interval <= 3.0
        sel, both = intervals(found, replace(g, xbar=0))
        assert sel.interval <= 1.6 and both.interval <= 3.2
