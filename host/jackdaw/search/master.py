"""The master of a search: turns responses of a tree into tasks, and results into requests.

It knows no environment. Its bookkeeping is compiled (`native/master.cpp`). A batch of requests is
updates of workers that are done, then selections of the same workers. The order of a list is its
meaning, so a recorded list gives the same again.

| schedule | a batch is of |
| --- | --- |
| async | the workers that are done, one at least |
| sync | all workers, when all are done |
| fixed | the next half of the workers in turn, when they are done: requests follow from the seed |

Source: thesis 5.1.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from jackdaw.errors import EnvError, ValueRange
from jackdaw.search.native import library
from jackdaw.search.pool import Pool
from jackdaw.search.simulation import NO_ACTION, NOWHERE, RESULT, TASK, StateTable
from jackdaw.search.trees import InTree
from models.mcts.formats import REQUEST, RESPONSE, Code, Flag

SCHEDULES = ("async", "sync", "fixed")
ASYNC, SYNC, FIXED = range(3)
NAMES = [code.name for code in Code if code != Code.OK]  # of selections
BATCH = 64  # workers of a batch, at most
VALUE_LIMIT = 8.0
NO_RESPONSES, NO_RESULTS = np.zeros(0, RESPONSE), np.zeros(0, RESULT)

Evaluate = Callable[[np.ndarray], tuple[np.ndarray | None, np.ndarray]]
"""States [n, state_size] uint8 to priors [n, F] or None, and values [n] as roll-outs have them."""


@dataclass
class Statistics:
    """What searches did.

    Attributes:
        decisions, iterations, nodes: how many; nodes with the roots.
        codes: selections by how they ended.
        depth, depth_most: edges of a selection, sum and largest.
        staleness, staleness_most: updates that a selection did not see yet, sum and largest.
        batches: lists of requests.
        seconds: of the searches.
        simulation_seconds: of all simulations, each by itself.
        tree_seconds: in calls of the tree.
        clocks: of the device; 0 without one.
        clipped: values beyond the range that became its end.
        virtual_loss: the last one.
    """

    decisions: int = 0
    iterations: int = 0
    nodes: int = 0
    codes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    depth: int = 0
    depth_most: int = 0
    staleness: int = 0
    staleness_most: int = 0
    batches: int = 0
    seconds: float = 0.0
    simulation_seconds: float = 0.0
    tree_seconds: float = 0.0
    clocks: int = 0
    clipped: int = 0
    virtual_loss: float = 0.0

    @property
    def revisits(self) -> int:
        """Selections that ended at a node whose first simulation was not done."""
        return self.codes["REVISIT"]

    @property
    def mean_depth(self) -> float:
        """Edges of a selection."""
        return self.depth / max(self.iterations, 1)

    @property
    def mean_staleness(self) -> float:
        """Updates that a selection did not see yet; at most the other workers."""
        return self.staleness / max(self.iterations, 1)

    def __str__(self) -> str:
        per = 1e6 * self.seconds / max(self.iterations, 1)
        rows = [
            ("decisions", f"{self.decisions}"),
            ("iterations", f"{self.iterations}, {per:.1f} us each"),
            ("nodes", f"{self.nodes}"),
            ("depth", f"{self.mean_depth:.1f}, at most {self.depth_most}"),
            ("revisits", f"{self.revisits}"),
            ("staleness", f"{self.mean_staleness:.1f}, at most {self.staleness_most}"),
            ("virtual loss", f"{self.virtual_loss:.4g}"),
            ("seconds", f"{self.seconds:.3f}, simulations {self.simulation_seconds:.3f}"),
            ("device clocks", f"{self.clocks}"),
            ("values clipped", f"{self.clipped}"),
        ]
        return "\n".join(f"{name:<14}{text}" for name, text in rows)


@dataclass(frozen=True)
class Found:
    """The root after a search.

    Attributes:
        visits: [F] of its children.
        values: [F] sums of their values.
    """

    visits: np.ndarray
    values: np.ndarray


WORKER = np.dtype(
    [
        *((name, np.int64) for name in ("given", "position", "store", "parent", "action")),
        ("number", np.uint64), ("value", np.float64), ("legal", np.uint32),
        ("code", np.uint8), ("flags", np.uint8), ("done", np.uint8), ("pad", np.uint8),
    ]
)  # fmt: skip
"""Worker of master.cpp."""


class _State(ctypes.Structure):
    """Master of master.cpp."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in (
            "workers", "ids", "schedule", "batch", "turn", "alternate", "priors", "spare",
            "free_first", "free_count", "out", "nodes", "clip",
        )),
        ("number", ctypes.c_uint64),
        *((name, ctypes.c_double) for name in ("scale", "peak", "seconds")),
        *((name, ctypes.c_int64) for name in (
            "depth", "depth_most", "stale", "stale_most", "clipped",
        )),
        ("codes", ctypes.c_int64 * len(NAMES)),
        *((name, ctypes.c_void_p) for name in (
            "worker", "order", "chosen", "free", "parents", "head", "requests", "tasks", "counts",
        )),
    )  # fmt: skip


@cache
def _library() -> ctypes.CDLL:
    found = library("master")
    pointer, number = ctypes.c_void_p, ctypes.c_int
    found.jd_master_begin.argtypes, found.jd_master_begin.restype = [pointer], None
    found.jd_master_first.argtypes = [pointer, number]
    found.jd_master_turn.argtypes = [pointer, pointer, number, number]
    found.jd_master_assign.argtypes = [pointer, pointer, number]
    return found


class Master:
    """Searches with a tree and workers.

    Attributes:
        statistics: of all searches so far.
        scale: by which returns become values, from the next search on.
        peak: the largest return so far, without its sign.
        number: of the next simulation; its random numbers follow from it.
        root: priors of the last search's root, or None.
        recorder: told every list, its priors and its responses; or None.
    """

    def __init__(
        self,
        tree: InTree,
        pool: Pool,
        table: StateTable,
        *,
        workers: int,
        ids: int,
        schedule: str = "async",
        batch: int = BATCH,
        players: int = 1,
        scale: float = 1.0,
        clip: bool = False,
        discount: float = 1.0,
        evaluate: Evaluate | None = None,
        priors: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Keep the parts.

        Args:
            tree: configured.
            pool: of workers, on the table.
            table: `ids` states, and one more for each worker.
            workers: selections that may be out.
            ids: of nodes; X.
            schedule: see the module.
            batch: workers of a list, at most.
            players: 1 or 2.
            scale: see the class.
            clip: a finite value beyond -8..8 becomes the end of that range, else it is an error.
            discount: of a step.
            evaluate: in place of roll-outs.
            priors: the tree's rule has priors.
            clock: seconds.
        """
        self._tree, self._pool, self._table = tree, pool, table
        self._workers, self._ids = workers, ids
        self._discount, self._evaluate, self._priors = discount, evaluate, priors
        self._clock = clock
        self.scale, self.peak = scale, 0.0
        self.number = 0
        self.root: np.ndarray | None = None
        self.statistics = Statistics()
        self.recorder: Callable[[np.ndarray, np.ndarray | None, np.ndarray], None] | None = None
        self._rows: np.ndarray | None = None  # priors of workers' states
        self._arrays: dict[str, Any] = {
            "worker": np.zeros(workers, WORKER), "order": np.zeros(workers, np.int32),
            "chosen": np.zeros(workers, np.int32), "free": np.zeros(ids, np.uint16),
            "parents": np.full((ids, 2), -1, np.int32), "head": table.head,
            "requests": np.zeros(2 * workers, REQUEST), "tasks": np.zeros(workers, TASK),
            "counts": np.zeros(3, np.int32),
        }  # fmt: skip
        self._state = _State(
            workers, ids, SCHEDULES.index(schedule), batch, max(1, min(batch, workers // 2)),
            Flag.ALT if players == 2 else 0, priors, evaluate is not None, clip=clip,
            **{name: array.ctypes.data for name, array in self._arrays.items()},
        )  # fmt: skip
        self._at = ctypes.addressof(self._state)
        self._native = _library()
        # What compiled code writes. It reads bytes: NumPy copies records field by field.
        self._requests, self._tasks = self._arrays["requests"], self._arrays["tasks"]
        self._counts = memoryview(self._arrays["counts"])

    # ---- A search
    def run(self, legal: int, iterations: int) -> Found:
        """Search from the state of row 0.

        Args:
            legal: mask of its legal actions.
            iterations: selections.
        Raises: EnvError, WorkerDied, WorkerTimeout, ValueRange; the tree's errors. The next search
            can begin after any of them.
        """
        begin, m = self._clock(), self._state
        m.number, m.scale, m.peak, m.seconds = self.number, self.scale, self.peak, 0.0
        m.depth = m.stale = m.depth_most = m.stale_most = m.clipped = 0
        m.codes[:] = [0] * len(m.codes)
        try:
            self._native.jd_master_begin(self._at)
            self.root = self._root_priors() if self._priors else None
            self._tree.reset()
            self._tree.root(legal, self.root)
            self._loop(iterations)
            _, visits, values = self._tree.read_root()
        except BaseException:
            self._pool.drop()
            stop = getattr(self._tree, "soft_reset", None)
            if stop is not None:
                stop()
            raise
        finally:
            self.number, self.peak = m.number, m.peak
        s = self.statistics
        s.decisions, s.iterations = s.decisions + 1, s.iterations + iterations
        s.nodes, s.depth, s.staleness = s.nodes + m.nodes, s.depth + m.depth, s.staleness + m.stale
        s.clipped += m.clipped
        s.depth_most = max(s.depth_most, m.depth_most)
        s.staleness_most = max(s.staleness_most, m.stale_most)
        for name, times in zip(s.codes, m.codes, strict=True):
            s.codes[name] += times
        s.simulation_seconds += m.seconds
        s.seconds += self._clock() - begin
        return Found(visits, values)

    def values(self, count: int) -> np.ndarray:
        """Returns of so many simulations from row 0, without a tree; [count]. Raises: as `run`."""
        tasks = np.zeros(count, TASK)
        tasks["action"], tasks["store"] = NO_ACTION, NOWHERE
        tasks["number"] = np.arange(self.number, self.number + count)
        self.number += count
        found = np.zeros(0)
        for first in range(0, count, self._workers):
            part = tasks[first : first + self._workers]
            try:
                self._pool.submit(part)
                results = self._pool.collect(len(part))
            except BaseException as error:
                self._pool.drop()
                if isinstance(error, EnvError):
                    raise EnvError(f"{error.args[0]}; at the root") from error
                raise
            found = np.append(found, results["value"][np.argsort(results["number"])])
        values = found * self.scale
        bad = ~(np.abs(values) < (np.inf if self._state.clip else VALUE_LIMIT))
        if bad.any():
            raise self._beyond(values[bad][0])
        self.peak = max(self.peak, float(np.abs(found).max()))
        return found

    def path(self, node: int) -> list[int]:
        """The actions from the root to a node of the last search."""
        found: list[int] = []
        while node:
            node, action = self._arrays["parents"][node].tolist()
            found.append(action)
        return found[::-1]

    def _loop(self, iterations: int) -> None:
        """Lists and results in turn. What is called once a list is at hand here: it is short."""
        native, at, counts, clock = self._native, self._at, self._counts, self._clock
        assign, turn = native.jd_master_assign, native.jd_master_turn
        pool, tree = self._pool, self._tree
        schedule, left, lists, waited = self._state.schedule, iterations, 0, 0.0
        updates, again = 0, native.jd_master_first(at, iterations)
        try:
            while True:
                left -= again
                requests = self._requests[: updates + again]
                priors = None if self._rows is None else self._priors_of(requests, updates)
                begin = clock()
                tree.submit(requests, priors)
                responses = self._answers(again) if again else NO_RESPONSES
                waited += clock() - begin
                lists += 1
                if self.recorder is not None:
                    self.recorder(requests.copy(), priors, responses)
                tasks = assign(at, responses.tobytes(), again)
                missing, out, _ = counts
                if tasks:
                    pool.submit(self._tasks[:tasks])
                if not out:
                    return
                results = NO_RESULTS
                if not missing and schedule == ASYNC:
                    results = pool.collect(0)  # beside ends of games, which no worker simulates
                while True:
                    if missing:
                        results = pool.collect(missing if schedule == SYNC else 1)
                    if self._evaluate is not None and len(results):
                        results = self._evaluated(results)
                    bad = turn(at, results.tobytes(), len(results), left)
                    if bad >= 0:
                        raise self._beyond(results["value"][bad] * self.scale)
                    missing, updates, again = counts
                    if not missing:
                        break
        except EnvError as error:
            raise self._located(error) from error
        finally:
            self.statistics.tree_seconds += waited
            self.statistics.batches += lists

    def _priors_of(self, requests: np.ndarray, updates: int) -> np.ndarray:
        """Priors beside a list: those of its updates, which are its first requests."""
        assert self._rows is not None
        priors = np.zeros((len(requests), self._rows.shape[1]))
        priors[:updates] = self._rows[requests["worker"][:updates]]
        return priors

    def _answers(self, count: int) -> np.ndarray:
        """The responses to all selections of the last list."""
        self._tree.wait(count)
        found = self._tree.poll()
        while (left := count - len(found)) > 0:
            self._tree.wait(left)
            found = np.concatenate([found, self._tree.poll()])
        return found

    # ---- Values
    def _evaluated(self, results: np.ndarray) -> np.ndarray:
        """Results with the evaluator's values of states that are not over; keeps their priors."""
        assert self._evaluate is not None
        results = results.copy()
        live = np.flatnonzero(results["over"] == 0)
        if not len(live):
            return results
        workers = results["worker"][live]
        rows = self._arrays["worker"]["store"][workers]
        priors, ahead = self._evaluate(self._table.states[rows])
        head = self._table.head[rows]
        factor = self._discount ** head["level"].astype(float)
        results["value"][live] = head["path"] + factor * np.asarray(ahead)
        if self._priors:
            if priors is None:
                raise ValueRange("evaluator: got no priors, and the rule has priors")
            assert self._rows is not None
            self._rows[workers] = priors
        return results

    def _root_priors(self) -> np.ndarray:
        """Priors of row 0. Raises: ValueRange."""
        assert self._evaluate is not None
        priors, _ = self._evaluate(self._table.states[:1])
        if priors is None:
            raise ValueRange("evaluator: got no priors, and the rule has priors")
        self._rows = np.zeros((self._workers, priors.shape[1]))
        return np.asarray(priors[0])

    def _beyond(self, value: float) -> ValueRange:
        return ValueRange(
            f"value of a simulation: got {value:g}, want more than -8 and less than 8; returns are "
            f"multiplied by {self.scale:g}, which value_scale= changes"
        )

    def _located(self, error: EnvError) -> EnvError:
        """An environment's error with the actions that lead to it."""
        text, worker = error.args
        at = self._arrays["worker"][worker]
        actions = [*self.path(at["parent"]), int(at["action"])]
        return EnvError(f"{text}; after the actions {actions}")
