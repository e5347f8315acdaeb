"""The compiled tree of DNN-guided search (`native/dnn_tree.cpp`): positions in, visits out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Annotated, Any, Self

import numpy as np

from jackdaw.environments.gomoku import MOST_SIZE, PLANES
from jackdaw.errors import ConfigError, EvaluatorError, SearchError, SearchTimeout
from jackdaw.ranges import Choice, Range, check, real, reals, refused, whole, wholes
from jackdaw.search.evaluator import EXTERNAL, ROLLOUTS, Evaluator
from jackdaw.search.native import library

SCHEMES = ("local", "shared")
RULES = ("puct", "uct")
FORMS = ("visits", "constant")
MOST_WORKERS = 256
MOST_PLAYOUTS = 1 << 20
MOST_MOVE = (1 << 16) - 1  # that the compiled tree can be given
POLL_S = 0.05
OK, RUNNING, TIMEOUT, EVALUATOR, ABORTED = 0, 1, -1, -2, -3
NOTHING, CLOSED, FINISHED = -1, -2, -3
WRONG = {
    1: "a node still waits for its evaluation", 2: "a virtual loss is left at a node",
    3: "a virtual loss is left at a move", 4: "a sum of values is beyond its visits",
    5: "a move has visits and no node", 6: "a move has fewer visits than its node",
    7: "a node's visits are not the sum of its moves'", 8: "a node was lost",
}  # fmt: skip


@dataclass(frozen=True)
class TreeSettings:
    """How a tree is searched.

    Attributes:
        size, win: of the game.
        scheme: `local`, one master and batches of `batch`; or `shared`, a thread for each worker.
        workers: N, playouts at the same time.
        batch: B, positions that are evaluated together, at most N.
        rule: `puct`, or `uct` without priors.
        c: weight of exploration.
        virtual_loss: what a playout under way counts as.
        virtual_form: `visits`: as that many lost visits; `constant`: taken off the score.
        repeatable: the local tree takes batches back in order, and only when N leaves wait: then
            its result does not depend on time. False: on arrival.
        timeout_s: seconds of any wait.
        seed: of random games.
    """

    size: Annotated[int, Range(3, MOST_SIZE)] = 15
    win: Annotated[int, Range(3, MOST_SIZE)] = 5
    scheme: Annotated[str, Choice(SCHEMES)] = "local"
    workers: Annotated[int, Range(1, MOST_WORKERS)] = 1
    batch: Annotated[int, Range(1, MOST_WORKERS)] = 1
    rule: Annotated[str, Choice(RULES)] = "puct"
    c: Annotated[float, Range(0, 1000)] = 5.0
    virtual_loss: Annotated[float, Range(0, 1000)] = 1.0
    virtual_form: Annotated[str, Choice(FORMS)] = "visits"
    repeatable: bool = True
    timeout_s: Annotated[float, Range(0, 3600, above=True)] = 30.0
    seed: Annotated[int, Range(0, (1 << 63) - 1)] = 1

    def __post_init__(self) -> None:
        check(self)
        if self.win > self.size:
            raise ConfigError(f"win: got {self.win}, want 3..{self.size}")
        if self.batch > self.workers:
            raise ConfigError(f"batch: got {self.batch}, want 1..{self.workers}, the workers")


@dataclass(frozen=True)
class Counts:
    """What a search did.

    Attributes:
        playouts: finished ones.
        evaluations, batches: sent to the evaluators, the root's included.
        collisions: playouts that waited for another one's evaluation.
        terminals: playouts that ended where the game does.
        depth, deepest: sum and maximum of the moves from the root.
        full, outstanding, ended: batches by what sent them: B positions, all workers waiting, or
            the end of the playouts.
        select_s, backup_s, wait_s: seconds, over all threads.
        nodes: of the tree.
    """

    playouts: int
    evaluations: int
    batches: int
    collisions: int
    terminals: int
    depth: int
    deepest: int
    full: int
    outstanding: int
    ended: int
    select_s: float
    backup_s: float
    wait_s: float
    nodes: int


@dataclass(frozen=True)
class Found:
    """What a search found at the root.

    Attributes:
        visits: [n * n] int32, of the moves.
        values: [n * n] float64, sums for the player to move.
        priors: [n * n] float32, without noise.
        counts: of this search.
    """

    visits: np.ndarray
    values: np.ndarray
    priors: np.ndarray
    counts: Counts = field(repr=False)

    @property
    def move(self) -> int:
        """The move with the most visits; of those the lowest."""
        return int(self.visits.argmax())


class _Settings(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in (
            "size", "win", "scheme", "workers", "batch", "rule", "virtual_form", "repeatable",
            "evaluator", "streams")),
        *((name, ctypes.c_double) for name in (
            "c", "virtual_loss", "base_s", "item_s", "timeout_s")),
        ("seed", ctypes.c_uint64),
    ]  # fmt: skip


class DnnTree:
    """A tree of one game; searches go on from the tree that the ones before left.

    It has threads until `close`, or the end of a `with` block.
    """

    def __init__(self, settings: TreeSettings, evaluator: Evaluator) -> None:
        """Begin with an empty board.

        Args:
            settings: see above.
            evaluator: of the leaves.
        Raises: ConfigError; what compiling raises, see `native.library`.
        """
        self._handle: ctypes.c_void_p | None = None
        self._late: list[threading.Thread] = []  # that an evaluator has kept beyond a search
        if not isinstance(evaluator, Evaluator):
            raise refused("evaluator", evaluator, "an Evaluator")
        if evaluator.kind == ROLLOUTS and (settings.scheme, settings.workers) != ("local", 1):
            raise ConfigError("evaluator: rollouts want the scheme local with 1 worker")
        self.settings, self.evaluator = settings, evaluator
        self._native = _library()
        s = settings
        self._handle = ctypes.c_void_p(self._native.jd_dnn_new(ctypes.byref(_Settings(
            s.size, s.win, SCHEMES.index(s.scheme), s.workers, s.batch, RULES.index(s.rule),
            FORMS.index(s.virtual_form), s.repeatable, evaluator.kind, evaluator.streams, s.c,
            s.virtual_loss, getattr(evaluator, "base_s", 0.0), getattr(evaluator, "item_s", 0.0),
            s.timeout_s, s.seed,
        ))))  # fmt: skip

    def reset(self, moves: Sequence[int] = ()) -> None:
        """Drop the tree; begin after these moves. Raises: ConfigError for one that is illegal."""
        given = wholes("moves", moves, 0, MOST_MOVE, (None,)).astype(np.uint16)
        self._good(self._native.jd_dnn_reset(self._own(), given.ctypes.data, len(given)))

    def advance(self, move: int) -> None:
        """Play a move; the tree below it stays. Raises: ConfigError if it is illegal."""
        self._good(self._native.jd_dnn_advance(self._own(), whole("move", move, 0, MOST_MOVE)))

    def search(self, playouts: int, noise: np.ndarray | None = None, weight: float = 0.25) -> Found:
        """Add playouts to the tree.

        Args:
            playouts: how many; the evaluation of a new root is not one of them.
            noise: [n * n], at least 0, mixed into the root's priors.
            weight: of the noise, 0..1.
        Raises: ConfigError if the game is over, or for an argument; EvaluatorError, SearchTimeout:
            the tree is empty then, at the same position, and can be searched.
        """
        playouts = whole("playouts", playouts, 1, MOST_PLAYOUTS)
        cells = self.settings.size**2
        if noise is not None:
            reals("noise", noise, Range(0), (cells,))
            noise = np.ascontiguousarray(noise, np.float64)
            weight = real("weight", weight, Range(0, 1))
        handle = self._own()
        pointer = None if noise is None else noise.ctypes.data
        self._good(self._native.jd_dnn_start(handle, playouts, pointer, weight))
        try:
            if self.evaluator.kind == EXTERNAL:
                self._serve(handle)
            while (status := self._native.jd_dnn_wait(handle, POLL_S)) == RUNNING:
                pass
        except BaseException:  # Ctrl-C between two looks
            self._native.jd_dnn_abort(handle)
            while self._native.jd_dnn_wait(handle, POLL_S) == RUNNING:
                pass
            raise
        self._good(status)
        return self._found(handle, cells)

    def _found(self, handle: ctypes.c_void_p, cells: int) -> Found:
        visits, values = np.zeros(cells, np.int32), np.zeros(cells)
        priors = np.zeros(cells, np.float32)
        self._native.jd_dnn_root(handle, *(each.ctypes.data for each in (visits, values, priors)))
        raw = np.zeros(len(fields(Counts)))
        self._native.jd_dnn_counts(handle, raw.ctypes.data)
        kinds = {"float": float, "int": int}
        named: dict[str, Any] = {
            f.name: kinds[str(f.type)](value) for f, value in zip(fields(Counts), raw, strict=True)
        }
        return Found(visits, values, priors, Counts(**named))

    def _serve(self, handle: ctypes.c_void_p) -> None:
        """Evaluate batches until the search ends; this thread is one of the streams."""
        others = [
            threading.Thread(target=self._evaluate, args=(handle,), daemon=True)
            for _ in range(1, self.evaluator.streams)
        ]
        for thread in others:
            thread.start()
        self._evaluate(handle)
        for thread in others:
            thread.join(self.settings.timeout_s)
        self._late += [thread for thread in others if thread.is_alive()]

    def _evaluate(self, handle: ctypes.c_void_p) -> None:
        n, most = self.settings.size, self.settings.batch
        planes = np.zeros((most, PLANES, n, n), np.float32)
        place = planes.ctypes.data
        count = ctypes.c_int()
        while True:
            number = self._native.jd_dnn_take(handle, place, ctypes.byref(count), POLL_S)
            if number in (CLOSED, FINISHED):
                return
            if number == NOTHING:
                continue
            try:
                priors, values = self.evaluator(planes[: count.value].copy())
                priors = np.ascontiguousarray(priors, np.float32)
                values = np.ascontiguousarray(values, np.float32)
                if priors.shape != (count.value, n * n) or values.shape != (count.value,):
                    raise ValueError(
                        f"shapes {priors.shape} and {values.shape}, want ({count.value}, {n * n}) "
                        f"and ({count.value},)"
                    )
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                self._native.jd_dnn_fail(handle, text.encode())
                continue
            self._native.jd_dnn_put(handle, number, priors.ctypes.data, values.ctypes.data)

    def check(self) -> None:
        """Hold the tree against its rules. Raises: SearchError naming the first that is broken."""
        if wrong := self._native.jd_dnn_check(self._own()):
            raise SearchError(WRONG[wrong])

    def close(self) -> None:
        """End the threads."""
        if self._handle is not None:
            # A thread that is still in the evaluator comes back to the tree: then it is not freed.
            if not any(thread.is_alive() for thread in self._late):
                self._native.jd_dnn_free(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _own(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise SearchError("the tree is closed")
        return self._handle

    def _good(self, status: int) -> None:
        if status == OK:
            return
        text = self._native.jd_dnn_message(self._own()).decode(errors="replace")
        if status == TIMEOUT:
            raise SearchTimeout(f"{text} of {self.settings.timeout_s:g} s")
        if status == EVALUATOR:
            raise EvaluatorError(f"{self.evaluator.name}: {text}")
        if status == ABORTED:
            raise SearchError("the search was aborted")
        raise ConfigError(text)


def play(
    size: int, win: int, moves: Sequence[int] | np.ndarray
) -> tuple[int, np.ndarray, np.ndarray]:
    """Play moves by the rules of the compiled tree.

    Returns: how many were legal; whether the game was over and won after each, [moves] bool.
    """
    given = np.ascontiguousarray(moves, np.uint16)
    over, won = np.zeros((2, len(given)), np.uint8)
    places = [each.ctypes.data for each in (given, over, won)]
    legal = _library().jd_gomoku_play(size, win, places[0], len(given), *places[1:])
    return legal, over.astype(bool), won.astype(bool)


def access_seconds(rounds: int = 20000) -> float:
    """Seconds in which a cache line goes from one thread to another."""
    return float(_library().jd_access_s(rounds))


def _library() -> Any:
    """The compiled tree with the types of its calls.

    Arrays are given as their addresses: a conversion in Python that Ctrl-C comes into would end in
    an ArgumentError, not in a KeyboardInterrupt.
    """
    native = library("dnn_tree")
    if native.jd_dnn_new.restype is ctypes.c_void_p:
        return native

    pointer, whole_, real_ = ctypes.c_void_p, ctypes.c_int, ctypes.c_double
    for name, result, arguments in (
        ("new", pointer, [pointer]), ("free", None, [pointer]),
        ("reset", whole_, [pointer, pointer, whole_]),
        ("advance", whole_, [pointer, whole_]),
        ("start", whole_, [pointer, whole_, pointer, real_]),
        ("wait", whole_, [pointer, real_]), ("abort", None, [pointer]),
        ("take", whole_, [pointer, pointer, pointer, real_]),
        ("put", whole_, [pointer, whole_, pointer, pointer]),
        ("fail", None, [pointer, ctypes.c_char_p]),
        ("root", whole_, [pointer, pointer, pointer, pointer]),
        ("counts", None, [pointer, pointer]), ("check", whole_, [pointer]),
        ("message", ctypes.c_char_p, [pointer]),
    ):  # fmt: skip
        call = getattr(native, f"jd_dnn_{name}")
        call.argtypes, call.restype = arguments, result
    native.jd_gomoku_play.argtypes = [whole_, whole_, pointer, whole_, pointer, pointer]
    native.jd_access_s.argtypes, native.jd_access_s.restype = [whole_], real_
    return native
