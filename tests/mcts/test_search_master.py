"""The master: its requests, their order, and that a fixed schedule repeats to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from jackdaw.drivers.mcts import MctsSettings
from jackdaw.errors import EnvError, ValueRange
from jackdaw.search.games.hidden import HiddenTree
from jackdaw.search.master import Master
from jackdaw.search.simulation import RESULT, Rules, Simulator, StateTable
from jackdaw.search.trees import CpuTree
from models.mcts.formats import NO_ID, VALUE_FRAC, Code, Flag, Op


class Scripted:
    """A pool whose tasks end in a random order, in random portions."""

    def __init__(self, simulator: Simulator, seed: int) -> None:
        self.simulator, self.rng = simulator, np.random.default_rng(seed)
        self.waiting: list[np.ndarray] = []

    def submit(self, tasks: np.ndarray) -> None:
        results = np.zeros(len(tasks), RESULT)
        for task, result in zip(tasks, results, strict=True):
            assert self.simulator.attempt(task, result) is None
        self.waiting += [results[i : i + 1] for i in range(len(results))]

    def collect(self, least: int) -> np.ndarray:
        assert least <= len(self.waiting)
        count = int(self.rng.integers(least, len(self.waiting) + 1))
        order = self.rng.permutation(len(self.waiting))
        taken = [self.waiting[i] for i in order[:count]]
        self.waiting = [self.waiting[i] for i in order[count:]]
        return np.concatenate([np.zeros(0, RESULT), *taken])

    def drop(self) -> None:
        self.waiting.clear()

    def close(self) -> None:
        pass


class Game(HiddenTree):
    """Ends soon, so that terminal nodes are met."""

    def __init__(self) -> None:
        super().__init__(actions=3, depth=5)


def searched(
    workers: int,
    iterations: int,
    seed: int,
    schedule: str,
    ids: int = 300,
    levels: int = 8,
    **more: Any,
) -> tuple[Master, list[Any], Any]:
    """A search; also its lists and what it found."""
    env, table = Game(), StateTable(ids + workers, 16)
    simulator = Simulator(env, table, Rules(5, 10, 1.0, "evaluate" not in more))
    tree = CpuTree(ids, 3, levels, workers)
    tree.configure(MctsSettings(more.pop("rule", "uct"), 0.5, 0.05))
    master = Master(
        tree, Scripted(simulator, seed), table, workers=workers, ids=ids, schedule=schedule,
        scale=more.pop("scale", 0.1), **more,
    )  # fmt: skip
    lists: list[Any] = []
    master.recorder = lambda *parts: lists.append(parts)
    simulator.root()
    return master, lists, master.run(7, iterations)


@pytest.mark.parametrize("schedule", ["async", "sync", "fixed"])
@pytest.mark.parametrize("workers", [1, 2, 7, 32, 256])
def test_every_selection_has_its_update_before_the_next(
    schedule: str, workers: int, seed: int
) -> None:
    """And the lists are those of the schedule, whatever the order in which workers end."""
    for run in range(scale(10, 1)):
        iterations = (3, 150, 600)[run % 3] if run else 600
        master, lists, found = searched(workers, iterations, seed + run, schedule)
        out: set[int] = set()
        stale, flags = 0, dict[int, int]()
        p = min(workers, iterations)
        for number, (requests, _, responses) in enumerate(lists):
            updates = requests["op"] == Op.UPD
            assert (np.diff(updates.astype(int)) <= 0).all()  # updates first
            if number and schedule == "sync":
                assert updates.sum() == len(out)
            if number and schedule == "fixed":
                assert updates.sum() == min(max(1, min(64, workers // 2)), len(out))
            assert updates.sum() <= (64 if schedule != "sync" else p)
            for row in requests:
                worker = int(row["worker"])
                if row["op"] == Op.UPD:
                    out.remove(worker)
                    assert (int(row["flags"]) != 0) == (flags[worker] == Code.EXPAND)
                else:
                    assert worker not in out
                    stale = max(stale, len(out))
                    out.add(worker)
            flags |= {int(r["worker"]): int(r["code"]) for r in responses}
        assert not out and found.visits.sum() == iterations
        s = master.statistics
        assert s.staleness_most == stale <= p - 1
        assert sum(s.codes.values()) == s.iterations == iterations
        assert s.codes["TERMINAL"] > 0 or iterations < 600 or workers == 256


@pytest.mark.parametrize("workers", [1, 5, 16])
def test_a_fixed_schedule_repeats_to_the_bit(workers: int, seed: int) -> None:
    runs = [searched(workers, 400, seed + k, "fixed") for k in range(3)]
    for _, lists, found in runs[1:]:
        assert len(lists) == len(runs[0][1])
        for (mine, _, _), (theirs, _, _) in zip(lists, runs[0][1], strict=True):
            assert mine.tolist() == theirs.tolist()
        assert found.values.tolist() == runs[0][2].values.tolist()
    orders = [searched(workers, 400, seed + k, "async")[1] for k in range(2)]
    same = [a[0].tolist() == b[0].tolist() for a, b in zip(*orders, strict=False)]
    assert all(same) == (workers == 1)


def test_without_ids_the_search_goes_on() -> None:
    master, lists, found = searched(4, 200, 1, "fixed", ids=20)
    assert master.statistics.codes["NOINS"] > 0 and master.statistics.nodes == 20
    given = [row["new_id"] for requests, _, _ in lists for row in requests if row["op"] == Op.SEL]
    assert NO_ID in given and found.visits.sum() == 200


def test_states_of_nodes_are_those_of_their_paths(seed: int) -> None:
    """Each row of the table against the actions that lead to its node, played from the root."""
    master, _, _ = searched(8, 600, seed, "async")
    nodes = np.flatnonzero(master._arrays["parents"][:, 0] >= 0).tolist()
    for node in nodes:
        path = master.path(node)
        env, total = Game(), 0.0
        for action in path:
            total += env.step(action)[0]
        want = np.zeros(16, np.uint8)
        env.save_into(want)
        assert master._table.states[node].tolist() == want.tolist()
        assert master._table.head[node].tolist() == (pytest.approx(total), len(path), env.over)
    assert len(nodes) == master.statistics.nodes - 1 > 100


def test_an_evaluator_gives_values_and_priors() -> None:
    """In place of roll-outs; on states of nodes, and of selections that keep none."""
    seen: list[np.ndarray] = []

    def evaluate(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(states.copy())
        words = states.copy().view(np.uint64)
        priors = np.tile([0.6, 0.3, 0.1], (len(states), 1))
        return priors, (words[:, 0] % np.uint64(7)).astype(float)

    _, lists, found = searched(4, 60, 1, "fixed", rule="puct", priors=True, evaluate=evaluate)
    assert found.visits.sum() == 60
    values = []
    for requests, priors, _ in lists:
        for row, prior in zip(requests, priors, strict=True):
            if row["op"] == Op.UPD and row["flags"] == Flag.ACT | Flag.EXT:
                assert prior.tolist() == [0.6, 0.3, 0.1]
                values.append(row["value"])
    env = Game()
    reward, _ = env.step(0)
    buffer = np.zeros(16, np.uint8)
    env.save_into(buffer)
    assert values[0] == pytest.approx((reward + env.state % 7) * 0.1)
    assert seen[1][0].tolist() == buffer.tolist()
    with pytest.raises(ValueRange, match="evaluator: got no priors"):
        searched(
            2, 9, 1, "fixed", rule="puct", priors=True,
            evaluate=lambda states: (None, np.zeros(len(states))),
        )  # fmt: skip


@pytest.mark.parametrize("value", [np.nan, np.inf, 8.0, -9.0])
def test_a_value_that_the_engine_does_not_hold_is_not_sent(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a search after that is as good as a first one."""
    master, lists, found = searched(4, 60, 1, "fixed")
    master.number = 0
    lists.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Game, "rollout", lambda *_: 10 * value)
        with pytest.raises(ValueRange, match=r"want more than -8 and less than 8; returns are mul"):
            master.run(7, 60)
    assert len(lists) == 1  # the first selections
    master.number = 0
    assert master.run(7, 60).values.tolist() == found.values.tolist()


def test_a_value_beyond_the_range_may_become_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of roll-outs and of ends of games; one that is not finite stays an error."""
    end = 8 - 2.0**-VALUE_FRAC
    master, lists, _ = searched(4, 600, 1, "fixed", scale=1.0)
    held = np.concatenate([r["value"][r["op"] == Op.UPD] for r, _, _ in lists])
    middle = float(np.median(np.abs(held)))
    assert not master.statistics.clipped and middle > 0
    master, lists, found = searched(4, 600, 1, "fixed", scale=9 / middle, clip=True)
    updates = [row for requests, _, _ in lists for row in requests if row["op"] == Op.UPD]
    ends = [row for row in updates if abs(row["value"]) >= end]
    assert {abs(row["value"]) for row in ends} == {end} and len(updates) == 600
    assert {row["value"] > 0 for row in ends} == {row["value"] > 0 for row in updates}
    assert master.statistics.clipped == len(ends) < len(updates)
    ended = sum(int(r["code"]) == Code.TERMINAL for _, _, rs in lists for r in rs)
    assert ended and found.visits.sum() == 600
    with pytest.raises(ValueRange):
        searched(4, 600, 1, "fixed", scale=9 / middle)
    assert np.abs(master.values(20) * master.scale).max() > 8  # measured as they are
    for value in (np.nan, np.inf):
        with monkeypatch.context() as patch:
            patch.setattr(Game, "rollout", lambda *_, v=value: v)
            with pytest.raises(ValueRange):
                master.run(7, 60)


def test_an_error_names_the_actions_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from jackdaw.search.pool import SerialPool

    class Steep(Game):
        def step(self, action: int) -> tuple[float, bool]:
            if self.steps == 2:
                raise KeyError("no way")
            return super().step(action)

    table = StateTable(304, 16)
    simulator = Simulator(Steep(), table, Rules(5, 0, 1.0))
    tree = CpuTree(300, 3, 8, 4)
    tree.configure(MctsSettings("uct", 0.5, 0.05))
    master = Master(tree, SerialPool(simulator), table, workers=4, ids=300)
    simulator.root()
    with pytest.raises(EnvError, match=r"KeyError: 'no way' .*after the actions \[\d, \d, \d\]$"):
        master.run(7, 300)


def test_a_selection_that_ends_at_the_last_level_goes_on_from_its_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[dict[int, tuple[int, int]]] = []
    submit = Scripted.submit

    def kept(self: Scripted, tasks: np.ndarray) -> None:
        given.append({int(t["worker"]): (int(t["source"]), int(t["action"])) for t in tasks})
        submit(self, tasks)

    monkeypatch.setattr(Scripted, "submit", kept)
    lists = searched(4, 200, 1, "sync", levels=2)[1]
    leaves = 0
    answered = [responses for _, _, responses in lists if len(responses)]
    for responses, tasks in zip(answered, given, strict=True):
        for one in responses[responses["code"] == Code.LEAF]:
            assert tasks[int(one["worker"])] == (int(one["node"]), -1)
            leaves += 1
    assert leaves > 50
