"""Virtual time: a search's own master on workers, tree and link whose times are given.

A simulated engine has no wall clock that means anything, and this machine has few processors. So
the master runs as it is, and each part says how long it takes: simulations end in an order of their
times, the tree's calls and the master's own work move the clock.

Source: thesis 5.1 (Figs. 5.4, 5.5).
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jackdaw.search.master import BATCH, Master, Statistics
from jackdaw.search.pool import joined
from jackdaw.search.simulation import RESULT, StateTable
from jackdaw.search.trees import InTree
from models.mcts.formats import SLOT_BYTES, Op

ROUNDS = 15


@dataclass(frozen=True)
class Costs:
    """How long the parts take, seconds.

    Attributes:
        batch, iteration: the master's work for a list, and for each iteration in it.
        link: from the host to the tree, or back.
        bandwidth: of the link, bytes per second.
        tree: of a list, by the numbers of its selections and updates; None: by the device's clock.
    """

    batch: float = 0.0
    iteration: float = 0.0
    link: float = 0.0
    bandwidth: float = 12e9
    tree: Callable[[int, int], float] | None = None


@dataclass
class VirtualClock:
    """Time, and what was done in it.

    Attributes:
        now: seconds.
        spans: who, from, to: of the timeline.
    """

    now: float = 0.0
    spans: list[tuple[str, float, float]] = field(default_factory=list)

    def advance(self, who: str, seconds: float) -> None:
        """Let someone work, for whom the master waits."""
        self.spans.append((who, self.now, self.now + seconds))
        self.now += seconds

    def busy(self, who: str) -> float:
        """Seconds for which someone worked."""
        return sum(end - begin for name, begin, end in self.spans if name == who)


class VirtualPool:
    """Workers whose simulations take a given time, each on a processor of its own."""

    def __init__(
        self, clock: VirtualClock, seconds: Callable[[int], np.ndarray], actions: int, seed: int = 0
    ) -> None:
        """Begin with nothing to do.

        Args:
            clock: shared with the tree.
            seconds: times of so many simulations, [n].
            actions: that are legal in every state.
            seed: of the values, 0..1.
        """
        self._clock, self._seconds, self._legal = clock, seconds, (1 << actions) - 1
        self._rng = np.random.default_rng(seed)
        self._ends: list[tuple[float, int, np.void]] = []
        self._count = 0

    def submit(self, tasks: np.ndarray) -> None:
        """See Pool; all begin at once."""
        results = np.zeros(len(tasks), RESULT)
        results["worker"], results["number"] = tasks["worker"], tasks["number"]
        results["legal"], results["value"] = self._legal, self._rng.random(len(tasks))
        times = self._seconds(len(tasks))
        results["seconds"] = times
        for result, taken in zip(results, times.tolist(), strict=True):
            self._count += 1
            end = self._clock.now + taken
            self._clock.spans.append((f"worker {result['worker']}", self._clock.now, end))
            heapq.heappush(self._ends, (end, self._count, result))

    def collect(self, least: int) -> np.ndarray:
        """See Pool; moves the clock to the end of so many."""
        found: list[np.void] = []
        while self._ends and (len(found) < least or self._ends[0][0] <= self._clock.now):
            end, _, result = heapq.heappop(self._ends)
            self._clock.now = max(self._clock.now, end)
            found.append(result)
        return np.array(found, RESULT) if found else np.zeros(0, RESULT)

    def drop(self) -> None:
        """See Pool."""
        self._ends.clear()

    def close(self) -> None:
        """See Pool."""


class VirtualTree:
    """A tree at the other end of a link, whose calls take a given time."""

    def __init__(self, tree: InTree, clock: VirtualClock, costs: Costs, device: Any = None) -> None:
        """Keep the tree.

        Args:
            tree: that executes the requests.
            clock: shared with the pool.
            costs: of the master, the link and the tree.
            device: of an engine, for its clocks.
        """
        self._tree, self._clock, self._costs, self._device = tree, clock, costs, device

    def reset(self) -> None:
        """See InTree; takes no time."""
        self._tree.reset()

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        """See InTree; takes no time."""
        self._tree.root(legal, priors)

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> None:
        """See InTree."""
        selections = int((requests["op"] == Op.SEL).sum())
        updates = len(requests) - selections
        c, clock = self._costs, self._clock
        clock.advance("master", c.batch + c.iteration * max(selections, updates))
        begin = self._device.cycles() if self._device is not None else 0
        self._tree.submit(requests, priors)
        if c.tree is not None:
            taken = c.tree(selections, updates)
        else:
            taken = (self._device.cycles() - begin) / self._device.clock_hz
        moved = (len(requests) + selections) * SLOT_BYTES / c.bandwidth
        if c.link:
            clock.advance("link", 2 * c.link + moved)
        clock.advance("tree", taken)

    def wait(self, count: int) -> int:
        """See InTree."""
        return self._tree.wait(count)

    def poll(self) -> np.ndarray:
        """See InTree."""
        return self._tree.poll()

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """See InTree; takes no time."""
        return self._tree.read_root()


@dataclass(frozen=True)
class Rate:
    """A search in virtual time.

    Attributes:
        per_second: iterations.
        seconds: of the search.
        master, tree, workers: parts of that time in which they worked; of workers the mean.
        statistics: of the master.
        clock: with the timeline.
    """

    per_second: float
    seconds: float
    master: float
    tree: float
    workers: float
    statistics: Statistics
    clock: VirtualClock


def rate(
    tree: InTree,
    costs: Costs,
    workers: int,
    iterations: int,
    simulation: float | Callable[[int], np.ndarray],
    *,
    actions: int,
    ids: int,
    schedule: str = "async",
    device: Any = None,
    batch: int = BATCH,
) -> Rate:
    """Search a synthetic game in virtual time.

    Args:
        tree: configured.
        costs: of master, link and tree.
        workers: at a time, each with its processor.
        iterations: of the search.
        simulation: seconds of one, or times of so many.
        actions: of a node.
        ids: of nodes.
        schedule: of the master.
        batch: of the master.
        device: of an engine, for its clocks, if `costs` has no time of the tree.
    """
    clock = VirtualClock()
    times = simulation if callable(simulation) else lambda n: np.full(n, simulation)
    master = Master(
        VirtualTree(tree, clock, costs, device), VirtualPool(clock, times, actions),
        StateTable(ids + workers, 8), workers=workers, ids=ids, schedule=schedule, batch=batch,
        clock=lambda: clock.now,
    )  # fmt: skip
    master.run((1 << actions) - 1, iterations)
    total = clock.now
    return Rate(
        iterations / total, total, clock.busy("master") / total, clock.busy("tree") / total,
        master.statistics.simulation_seconds / total / workers, master.statistics, clock,
    )  # fmt: skip


def shared_rate(
    workers: int, iterations: int, simulation: float, iteration: float, held: float
) -> float:
    """Iterations per second of threads on a shared tree, each with a processor of its own.

    Only the root's lock is waited for, which each iteration holds twice. Locks below are taken as
    free.

    Args:
        workers: threads.
        iterations: of all of them.
        simulation: seconds of one.
        iteration: seconds that one thread alone takes for selection and update.
        held: seconds for which the root is held, by a selection or an update.
    """
    below = max(iteration / 2 - held, 0.0)
    # Of each thread: when it wants the lock next, and what it does then.
    events = [(0.0, thread, True) for thread in range(workers)]
    heapq.heapify(events)
    free = last = 0.0
    left = done = 0
    while done < iterations:
        at, thread, selects = heapq.heappop(events)
        if selects and left == iterations:
            continue
        begin = max(at, free)
        free = begin + held
        if selects:
            left += 1
            heapq.heappush(events, (free + below + simulation + below, thread, False))
        else:
            done += 1
            last = free
            heapq.heappush(events, (free, thread, True))
    return iterations / last


def master_costs(make_tree: Callable[[], InTree], actions: int, ids: int) -> tuple[float, float]:
    """The master's own time for a list and for an iteration, measured here, seconds.

    Simulations and the tree's calls are not counted. Lists of 1 and of 64 give the two numbers.
    Runs take milliseconds, and the quickest counts, so other programs disturb it little.

    Args:
        make_tree: makes a configured tree.
        actions: of a node.
        ids: of nodes.
    """
    found = {}
    for workers in (1, BATCH):
        iterations = min(ids - 1, 100 * workers)
        best = float("inf")
        for _ in range(ROUNDS):
            pool = _Instant(actions)
            master = Master(
                make_tree(), pool, StateTable(ids + workers, 8), workers=workers, ids=ids,
                schedule="sync", clock=time.perf_counter,
            )  # fmt: skip
            begin = time.perf_counter()
            master.run((1 << actions) - 1, iterations)
            taken = time.perf_counter() - begin - pool.seconds - master.statistics.tree_seconds
            best = min(best, taken / iterations)
        found[workers] = best
    iteration = (found[BATCH] * BATCH - found[1]) / (BATCH - 1)
    return found[1] - iteration, iteration


class _Instant(VirtualPool):
    """Workers that take no time.

    Attributes:
        seconds: in here.
    """

    def __init__(self, actions: int) -> None:
        super().__init__(VirtualClock(), lambda n: np.zeros(n), actions)
        self.seconds = 0.0
        self._waiting: list[np.ndarray] = []

    def submit(self, tasks: np.ndarray) -> None:
        """See Pool."""
        begin = time.perf_counter()
        results = np.zeros(len(tasks), RESULT)
        results["worker"], results["number"] = tasks["worker"], tasks["number"]
        results["legal"], results["value"] = self._legal, self._rng.random(len(tasks))
        self._waiting.append(results)
        self.seconds += time.perf_counter() - begin

    def collect(self, least: int) -> np.ndarray:
        """See Pool."""
        begin = time.perf_counter()
        found = joined(self._waiting)
        self._waiting.clear()
        self.seconds += time.perf_counter() - begin
        return found
