"""Trees that a search can hold its nodes in: the interface, and the compiled tree of the CPU.

Three trees have the interface: the mcts engine's driver (`jackdaw.drivers.mcts`), the compiled one
here, and the plain one of the golden models (`models.mcts.reference`).

Source: thesis 5.1; docs/mcts.md (requests, numbers).
"""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jackdaw.drivers.mcts import MctsSettings
from jackdaw.errors import ConfigError, error_class
from jackdaw.ranges import refused, whole
from jackdaw.search.native import library
from models.mcts.formats import (
    NO_ID,
    REQUEST,
    RESPONSE,
    VALUE_FRAC,
    Flag,
    Op,
    to_prior,
    to_value,
)
from models.mcts.tables import RULES, decode, tables
from models.registers.mcts import Error

REFUSALS = (
    Error.E_OPCODE, Error.E_WORKER, Error.E_STATE, Error.E_ID, Error.E_NO_ROOT, Error.E_ARG,
    Error.E_BUSY, Error.E_FULL,
)  # fmt: skip
WORDS, ROW = 5, 6  # of a node's head, and of a child in it


class InTree(Protocol):
    """A tree, node 0 its root."""

    def reset(self) -> None:
        """Drop the tree."""

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        """Make the root, with a mask of its legal children, and their priors [F]."""

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> Any:
        """Queue SEL and UPD, [n] REQUEST; priors [n, F] of those with the flag EXT."""

    def wait(self, count: int) -> int:
        """Wait for responses; returns how many are there."""

    def poll(self) -> np.ndarray:
        """Take responses, [n] RESPONSE."""

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Visits of the root, and visits and sums of values of its children."""


@dataclass(frozen=True)
class TreeNode:
    """A node of the compiled tree.

    Attributes:
        ident, state, level, visits: id; 1 new, 2 active, 3 terminal; level; N.
        n, w, loss: [F] of each child: visits, sum of values and virtual loss in units of 2**-20.
        child: [F] number of its node, or -1.
        legal: [F] bool.
        score: [F] with virtual loss, in units of 2**-20; of `exact` trees.
    """

    ident: int
    state: int
    level: int
    visits: int
    n: np.ndarray
    w: np.ndarray
    loss: np.ndarray
    child: np.ndarray
    legal: np.ndarray
    score: np.ndarray


class _Settings(ctypes.Structure):
    """Settings of tree.cpp."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("rule", "first", "f_act", "d_act", "fixed", "wu")),
        ("vl", ctypes.c_int64), ("fpu", ctypes.c_int64),
        ("c", ctypes.c_double), ("vl_real", ctypes.c_double), ("fpu_real", ctypes.c_double),
    )  # fmt: skip


def _library() -> ctypes.CDLL:
    found = library("tree")
    pointer, number, real = ctypes.c_void_p, ctypes.c_int, ctypes.c_double
    found.jd_tree_new.restype = pointer
    found.jd_tree_new.argtypes = [number] * 4
    found.jd_tree_free.argtypes, found.jd_tree_free.restype = [pointer], None
    found.jd_tree_drop.argtypes, found.jd_tree_drop.restype = [pointer], None
    found.jd_tree_configure.argtypes = [pointer] * 3
    found.jd_tree_configure.restype = None
    found.jd_tree_run.argtypes = [pointer, pointer, number, *[pointer] * 4]
    found.jd_tree_node.argtypes = [pointer, number, pointer, pointer]
    found.jd_shared_run.argtypes = [*[number] * 5, real, real, real, pointer, pointer]
    found.jd_shared_run.restype = ctypes.c_int64
    found.jd_local_run.argtypes = [pointer, number, number, real]
    found.jd_local_run.restype = ctypes.c_int64
    return found


class CpuTree:
    """A tree in compiled arrays of this process, with one thread.

    Attributes:
        x, f, d, w_max: node ids, children, levels and workers that it has room for.
        settings: of the next tree, None before `configure`.
    """

    def __init__(self, x: int, f: int, d: int = 32, w_max: int = 256) -> None:
        """An empty tree.

        Args:
            x: node ids, 2..65535; the root is one of them.
            f: children of a node, 2..32.
            d: levels, 2..64.
            w_max: workers, 1..4096.
        Raises: ConfigError; NativeBuildError, ToolMissing where it cannot be compiled.
        """
        self.x = whole("tree x", x, 2, NO_ID)
        self.f = whole("tree f", f, 2, 32)
        self.d = whole("tree d", d, 2, 64)
        self.w_max = whole("tree w_max", w_max, 1, 4096)
        self.settings: MctsSettings | None = None
        self._native = _library()
        self._handle = self._native.jd_tree_new(self.x, self.f, self.d, self.w_max)
        self._made = np.zeros(2, np.int32)  # responses, refusal
        self._waiting: deque[np.ndarray] = deque()

    def close(self) -> None:
        """Free the tree; it cannot be used after that."""
        if self._handle:
            self._native.jd_tree_free(self._handle)
            self._handle = None

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def configure(self, settings: MctsSettings, *, exact: bool = True, wu: bool = False) -> None:
        """Set how the trees from the next `reset` on are searched.

        Args:
            settings: of the engine; banks do not matter here.
            exact: compute in the engine's numbers, else in float64.
            wu: WU-UCT in float64: workers out count as visits, and there is no virtual loss.
        Raises: ConfigError.
        """
        s = settings
        f_act = self.f if s.f_act is None else s.f_act
        d_act = self.d if s.d_act is None else s.d_act
        for name, got, most in (("f_act", f_act, self.f), ("d_act", d_act, self.d)):
            if not 2 <= got <= most:
                raise ConfigError(f"tree {name}: got {got}, want 2..{most}")
        if wu and (exact or s.vl):
            raise ConfigError(f"tree wu: got exact={exact}, vl={s.vl}, want exact=False, vl=0")
        words = _Settings(
            RULES.index(s.rule), s.rule == "uct" and s.fpu is None, f_act, d_act, exact, wu,
            round(s.vl * 2**VALUE_FRAC), int(to_value(s.fpu or 0.0)), s.c, s.vl, s.fpu or 0.0,
        )  # fmt: skip
        mantissa, shift, r, _ = decode(tables(s.rule, s.c))
        filled = np.concatenate([mantissa, shift, r]).astype(np.int64)
        self._native.jd_tree_configure(self._handle, ctypes.byref(words), filled.ctypes.data)
        self.settings = settings

    def reset(self) -> None:
        """See InTree. Raises: MctsBusyError."""
        self._own(Op.RESET)

    def soft_reset(self) -> None:
        """Drop the tree with all selections that are out; `reset` begins a new one."""
        self._native.jd_tree_drop(self._handle)
        self._waiting.clear()

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        """See InTree. Raises: MctsNoRootError, MctsArgError."""
        flags = Flag.ACT if priors is None else Flag.ACT | Flag.EXT
        self._own(Op.ROOT, flags, legal, None if priors is None else np.asarray(priors)[None])

    def _own(self, op: Op, flags: int = 0, legal: int = 0, priors: Any = None) -> None:
        self._run(np.array([(op, flags, 0, 0, 0, legal, 0)], REQUEST), priors)

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> None:
        """See InTree; the requests are executed.

        Raises: the named error of a refused request, as the engine has it; those before it are
            executed.
        """
        if requests.dtype != REQUEST or requests.ndim != 1:
            raise refused("tree requests", requests, "[n] REQUEST")
        if len(requests) and int(requests["op"].max()) > Op.UPD:
            raise refused("tree requests", requests["op"].tolist(), "SEL and UPD")
        self._run(requests, priors)

    def _run(self, requests: np.ndarray, priors: np.ndarray | None) -> None:
        rows = None
        if priors is not None:
            rows = np.zeros((len(requests), self.f), np.uint16)
            rows[:, : priors.shape[1]] = to_prior(priors)
        requests = np.ascontiguousarray(requests)
        out = np.empty(len(requests), RESPONSE)
        at = self._made.ctypes.data
        done = self._native.jd_tree_run(
            self._handle, requests.ctypes.data, len(requests),
            None if rows is None else rows.ctypes.data, out.ctypes.data, at, at + 4,
        )  # fmt: skip
        made, refusal = self._made.tolist()
        if made:
            self._waiting.append(out[:made])
        if refusal:
            at = done - 1 if REFUSALS[refusal - 1] == Error.E_FULL else done
            row = requests[at]
            raise error_class("mcts", int(REFUSALS[refusal - 1]))(
                0, 0, tag=int(row["tag"]), detail=int(row["worker"])
            )

    def wait(self, count: int = 1) -> int:
        """See InTree; there is nothing to wait for."""
        return sum(map(len, self._waiting))

    def poll(self) -> np.ndarray:
        """See InTree."""
        if len(self._waiting) == 1:
            return self._waiting.popleft()
        found = np.concatenate([np.zeros(0, RESPONSE), *self._waiting])
        self._waiting.clear()
        return found

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """See InTree."""
        root = self.node(0)
        return root.visits, root.n, np.ldexp(root.w.astype(float), -VALUE_FRAC)

    def node(self, number: int) -> TreeNode:
        """A node by the order of insertion, 0 the root. Raises: IndexError."""
        head, rows = np.zeros(WORDS, np.int64), np.zeros((self.f, ROW), np.int64)
        if not 0 <= number < self._node(number, head, rows):
            raise IndexError(f"tree: got node {number}, want 0..{len(self) - 1}")
        n, w, loss, child, legal, score = rows.T.copy()
        ident, state, level, visits = head[:4].tolist()
        return TreeNode(ident, state, level, visits, n, w, loss, child, legal.astype(bool), score)

    def __len__(self) -> int:
        """Nodes, the root among them."""
        return self._node(-1, None, None)

    def _node(self, number: int, head: np.ndarray | None, rows: np.ndarray | None) -> int:
        at, to = (None if each is None else each.ctypes.data for each in (head, rows))
        return int(self._native.jd_tree_node(self._handle, number, at, to))

    def run_synthetic(self, workers: int, iterations: int, simulation_us: float = 0.0) -> int:
        """Search a synthetic game of random values in compiled code, for its time.

        Args:
            workers: selections at a time, at most w_max.
            iterations: selections in all; the tree is reset and has a root.
            simulation_us: wait of each simulation.
        Returns: nanoseconds.
        """
        whole("tree workers", workers, 1, self.w_max)
        return int(self._native.jd_local_run(self._handle, workers, iterations, simulation_us))


@dataclass(frozen=True)
class SharedRun:
    """What threads did to a shared tree.

    Attributes:
        nanoseconds: that it took.
        root: N of the root.
        children: the sum of its children's visits.
        out: selections that did not come back; -1 if a node's counts do not add up.
        given, reached: nodes that were made, and those that have a parent or are the root.
        ends: iterations that ended.
        visits: [F] of the root's children.
    """

    nanoseconds: int
    root: int
    children: int
    out: int
    given: int
    reached: int
    ends: int
    visits: np.ndarray


def shared_run(
    threads: int,
    iterations: int,
    *,
    x: int,
    f: int,
    d: int = 32,
    c: float = 0.7,
    vl: float = 0.05,
    simulation_us: float = 0.0,
) -> SharedRun:
    """Search a synthetic game with threads on one tree that has a lock per node: UCT in float64.

    Args:
        threads: each selects, simulates and updates by itself.
        iterations: of all of them.
        x: node ids.
        f: children of a node.
        d: levels.
        c: exploration.
        vl: virtual loss.
        simulation_us: wait of each simulation.
    """
    for name, value, low, high in (
        ("threads", threads, 1, 4096), ("iterations", iterations, 1, 1 << 30),
        ("x", x, 2, 1 << 20), ("f", f, 2, 64), ("d", d, 2, 255),
    ):  # fmt: skip
        whole(f"shared tree {name}", value, low, high)
    found, visits = np.zeros(6, np.int64), np.zeros(f, np.int64)
    taken = _library().jd_shared_run(
        threads, iterations, x, f, d, c, vl, simulation_us, found.ctypes.data, visits.ctypes.data
    )
    root, children, out, given, reached, ends = found.tolist()
    return SharedRun(int(taken), root, children, out, given, reached, ends, visits)
