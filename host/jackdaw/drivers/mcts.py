"""Driver of the mcts engine: requests of a tree search in, responses out.

Requests are lists of SEL and UPD (`models.mcts.formats.REQUEST`), executed in list order. Named
errors mirror the engine's codes (`MctsStateError`, `MctsNoRootError`, ...).
Source: docs/mcts.md; thesis 5.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Job
from jackdaw.errors import ConfigError, DeviceMismatchError, DeviceTimeout, JobError, error_class
from jackdaw.ranges import WORD_MAX, Choice, Range, check, reals, refused, whole
from models.mcts.banks import ALGORITHM_2, STATIC
from models.mcts.formats import (
    BEAT,
    MOST_SLOTS,
    QUEUE_LOG2,
    REFUSED,
    REQUEST,
    RESPONSE,
    SLOT_BYTES,
    VALUE_FRAC,
    VALUE_MOST,
    Flag,
    Geometry,
    Op,
    Opcode,
    pack_requests,
    to_prior,
    unpack_responses,
)
from models.mcts.tables import RULES, tables
from models.registers import mcts as registers
from models.registers.map import Register

TIMEOUT_S = 60.0
UNIT = 2.0**-VALUE_FRAC
VALUES = Range(-8, 8, below=True)
PRIORS = Range(0, 1)
OWN_TAG = 0xFFFF  # of the driver's own requests
MODULO = 1 << 32
QUEUE = 10  # log2 of the completion queue's entries
STATISTICS = (
    "N_SEL", "N_UPD", "N_INS", "HAZARD", "MAX_FLIGHT", "PORT_BUSY_MAX", "SEARCHES", "STICKY",
    "N_REFUSED",
)  # fmt: skip


@dataclass(frozen=True)
class MctsSettings:
    """How trees are searched.

    Attributes:
        rule: uct; alphazero or puct, which have priors.
        c: weight of exploration, 0..20.
        vl: virtual loss of a selection, 0 to less than 16 and as far as the build allows.
        fpu: mean of a child without visits, -8..8; None: uct takes such children first, the other
            rules take 0.
        f_act: children of a node; None: those of the build.
        d_act: levels; None: those of the build.
        policy: how banks are given to levels: 0 by Algorithm 2, 1 the next empty one, 2 each
            level its own.
    """

    rule: Annotated[str, Choice(RULES)] = "uct"
    c: Annotated[float, Range(0, 20)] = 1.0
    vl: Annotated[float, Range(0, 16 - UNIT)] = 0.05
    fpu: Annotated[float | None, VALUES] = None
    f_act: Annotated[int | None, Range(2, 32)] = None
    d_act: Annotated[int | None, Range(2, 64)] = None
    policy: Annotated[int, Range(ALGORITHM_2, STATIC)] = ALGORITHM_2

    def __post_init__(self) -> None:
        check(self, "mcts")


class Mcts(EngineDriver):
    """The mcts engine of a device.

    Attributes:
        geometry: the build.
        settings: of the next tree, None before `configure`.
        refused: the response that the last named error of `poll` was made of, [1] RESPONSE.
    """

    def __init__(
        self, device: Device, page: int | str | None = None, queue_log2: int = QUEUE
    ) -> None:
        """Find the engine, read its capabilities and set up ring and completion queue.

        Args:
            device: an open device.
            page: the engine's page or instance; default the first one's.
            queue_log2: log2 of the completion queue's entries, 4..16.
        Raises: DeviceMismatchError, ConfigError.
        """
        queue_log2 = whole("mcts queue_log2", queue_log2, *QUEUE_LOG2)
        super().__init__(device, "mcts", page)
        self.settings: MctsSettings | None = None
        self.refused: np.ndarray | None = None
        self._size = queue_log2
        self._head = 0
        self._used = 0  # children of the tree
        self._backlog = np.zeros(0, RESPONSE)  # taken from the queue, not by the host
        self._open: deque[Job] = deque()
        self._lists: list[tuple[Job, int, int]] = []  # job, address and bytes of each list
        with self.opening():
            self.geometry = self._geometry()
            super().soft_reset()  # another driver may have left workers with selections out
            self._ring = self.open_ring()
            nbytes = SLOT_BYTES << queue_log2
            self._queue = self.alloc(nbytes)
            device.write(self._queue, np.zeros(nbytes, np.uint8))
            self._output = self.alloc(BEAT * -(-(8 + 8 * self.geometry.f) // BEAT))
            for register, value in (
                (registers.CQ_BASE_LO, self._queue & 0xFFFF_FFFF),
                (registers.CQ_BASE_HI, self._queue >> 32),
                (registers.CQ_SIZE, queue_log2),
            ):
                self.write(register.offset, value)

    def _field(self, register: Register, name: str) -> int:
        return register.field(name).get(self.read(register.offset))

    def _geometry(self) -> Geometry:
        cap0, cap1, cap2 = registers.CAP0, registers.CAP1, registers.CAP2
        return Geometry(
            d=1 << self._field(cap0, "d_log2"),
            f=self._field(cap0, "f"),
            y=1 << self._field(cap0, "y_log2"),
            cap=1 << self._field(cap0, "cap_log2"),
            x=self._field(cap1, "x"),
            fr=self._field(cap0, "fr"),
            fp=self._field(cap0, "fp"),
            xbar=self._field(cap0, "xbar"),
            w_max=self._field(cap1, "w_max"),
            t=1 << self._field(cap2, "t_log2"),
            sf=self._field(cap2, "sf"),
            mu=self._field(cap2, "mu"),
        )

    # ---- Settings
    def configure(self, settings: MctsSettings) -> None:
        """Write all settings and load the tables; a tree has the settings of its `reset`.

        Raises: ConfigError for settings that the build does not have.
        """
        s, g = settings, self.geometry
        f_act = g.f if s.f_act is None else s.f_act
        d_act = g.d if s.d_act is None else s.d_act
        loss = round(s.vl * 2**VALUE_FRAC)
        for name, got, good, want in (
            ("f_act", f_act, 2 <= f_act <= g.f, f"2..{g.f}"),
            ("d_act", d_act, 2 <= d_act <= g.d, f"2..{g.d}"),
            ("vl", s.vl, loss * 2 * g.w_max < 1 << 31, f"below {2**10 / g.w_max}"),
        ):
            if not good:
                raise ConfigError(f"mcts {name}: got {got}, want {want}")
        puct, first = s.rule != "uct", s.rule == "uct" and s.fpu is None
        unvisited = min(round((s.fpu or 0.0) * 2**VALUE_FRAC), VALUE_MOST)
        for register, value in (
            (registers.MODE, registers.MODE.word(puct=puct, first=first)),
            (registers.F_ACT, f_act),
            (registers.D_ACT, d_act),
            (registers.VL, loss),
            (registers.FPU, unvisited & 0xFF_FFFF),
            (registers.POLICY, s.policy),
        ):
            self.write(register.offset, value)
        words = tables(s.rule, s.c)
        address = self.buffer("tables", words.nbytes)
        self.device.write(address, words)
        self._ring.submit([Opcode.TABLES, 0, *_split(0), *_split(address)]).wait(TIMEOUT_S)
        self.settings = settings

    # ---- The tree
    def reset(self) -> None:
        """Drop the tree, and begin one with the present settings; no selection may be out.

        Raises: MctsBusyError.
        """
        used = self.read(registers.F_ACT.offset)
        self._own(Op.RESET)
        self._used = used

    def root(self, legal: int, priors: np.ndarray | None = None) -> None:
        """Make the root, which is node 0.

        Args:
            legal: mask of its legal children.
            priors: [up to F] float, 0..1, for rules that have priors.
        Raises: MctsNoRootError if it does not follow `reset`, MctsArgError, MctsExtError,
            ConfigError.
        """
        legal = whole("mcts legal", legal, 0, WORD_MAX)
        flags = Flag.ACT if priors is None else Flag.ACT | Flag.EXT
        self._own(Op.ROOT, flags, legal, priors)

    def submit(self, requests: np.ndarray, priors: np.ndarray | None = None) -> Job:
        """Queue a list of requests.

        Args:
            requests: [n] REQUEST; values -8 to less than 8, tags 0..65534.
            priors: [n, up to F] float, 0..1, of those with the flag EXT.
        Returns: the job, whose record counts requests. `poll` has the responses.
        Raises: ConfigError for a list that is empty or too long, or what is not such a value, tag
            or prior; RingFullError.
        """
        if not isinstance(requests, np.ndarray) or requests.dtype != REQUEST or requests.ndim != 1:
            raise refused("mcts requests", requests, "[n] REQUEST")
        bad = ~((requests["value"] >= VALUES.low) & (requests["value"] < VALUES.high))
        if bad.any():
            raise refused("mcts value", float(requests["value"][bad][0]), VALUES)
        if (requests["tag"] == OWN_TAG).any():
            raise refused("mcts tag", OWN_TAG, f"0..{OWN_TAG - 1}")
        return self._submit(pack_requests(requests, self._rows(priors), self.geometry), 0)

    def _rows(self, priors: np.ndarray | None) -> np.ndarray | None:
        """Priors as the engine has them, [n, up to F] uint16. Raises: ConfigError."""
        if priors is None:
            return None
        shape = reals("mcts priors", priors, PRIORS, (None, None)).shape
        if shape[1] > self.geometry.f:
            raise refused("mcts priors", shape, f"[n, up to {self.geometry.f}]")
        return to_prior(priors)  # as given: by way of float32 they would be rounded twice

    def poll(self, most: int | None = None) -> np.ndarray:
        """Take responses that are there.

        Args:
            most: at most so many, one or more.
        Returns: [n] RESPONSE, in the order in which they came; those before a refused one.
        Raises: the named error of a refused request, if it is the first. It is then taken;
            `refused` has it. A selection that found no bank (MctsFullError) was executed, and its
            worker waits for an UPD.
        """
        if most is not None:
            most = whole("mcts poll", most, 1)
        self._collect()
        bad = np.flatnonzero(self._backlog["code"] >= REFUSED)
        if len(bad) and bad[0] == 0:
            raise self._refusal(self._take(1))
        good = int(bad[0]) if len(bad) else len(self._backlog)
        return self._take(good if most is None else min(good, most))

    def wait(self, count: int = 1, timeout_s: float = TIMEOUT_S) -> int:
        """Wait for responses.

        Args:
            count: how many to wait for, at most the queue's size.
            timeout_s: limit, seconds.
        Returns: how many are there: fewer only if no list is left that could give more.
        Raises: ConfigError, DeviceTimeout, the named error of a list that failed, once.
        """
        count = whole("mcts wait", count, 1, 1 << self._size)
        deadline = self.device.seconds() + timeout_s
        while True:
            self.write(registers.CQ_WAKE.offset, max(count - len(self._backlog), 1))
            running = self._running()
            there = len(self._backlog) + self._waiting()
            if there >= count or not running:
                return there
            job = self._open[0]
            try:
                self._ring.wait_event(job, max(deadline - self.device.seconds(), 0.0))
            except JobError:
                if job.error is None:  # of no job
                    raise

    def read_root(self) -> tuple[int, np.ndarray, np.ndarray]:
        """After all requests before: N of the root, n [F] int64 and w [F] float64 of its children.

        Raises: MctsNoRootError.
        """
        self._own(Op.READ_ROOT, output=self._output)
        used = self._used
        raw = self.device.read(self._output, 8 + 8 * used).view(np.int64)
        n, w = np.zeros(self.geometry.f, np.int64), np.zeros(self.geometry.f)
        n[:used], w[:used] = raw[1:] & 0xFFFF, np.ldexp((raw[1:] >> 24).astype(float), -VALUE_FRAC)
        return int(raw[0]), n, w

    def fence(self) -> None:
        """Wait until all requests before are done."""
        self._own(Op.FENCE)

    def soft_reset(self) -> None:
        """Drop lists, tree and responses; `reset` and `root` begin a new tree."""
        super().soft_reset()
        self._take(len(self._backlog))
        self._open.clear()
        self._head = self.read(registers.CQ_HEAD.offset)

    # ---- Statistics
    def statistics(self) -> dict[str, int]:
        """The engine's own counters, since `clear_statistics`."""
        return {name.lower(): self.read(getattr(registers, name).offset) for name in STATISTICS}

    def clear_statistics(self) -> None:
        """Set these counters to 0."""
        self.write(registers.STAT_CLEAR.offset, 0)

    def interval(self) -> float:
        """Clocks between selections at the root, of a stream of them since `clear_statistics`."""
        first, last = (
            self.read(register.offset) for register in (registers.ROOT_FIRST, registers.ROOT_LAST)
        )
        return (last - first) % MODULO / max(self.read(registers.N_SEL.offset) - 1, 1)

    def peek(self, entry: int | None, word: int) -> int:
        """A word of a node entry (None: the root's), for tests; the engine must be idle."""
        at = 1 << 15 if entry is None else whole("mcts entry", entry, 0, (1 << 14) - 1)
        self.write(registers.PEEK_ADDR.offset, at)
        self.write(registers.PEEK_WORD.offset, whole("mcts word", word, 0, (1 << 9) - 1))
        return self.read(registers.PEEK_DATA.offset)

    # ---- Inside
    def _own(
        self,
        op: Op,
        flags: int = 0,
        legal: int = 0,
        priors: np.ndarray | None = None,
        output: int = 0,
    ) -> None:
        """Run one request of the driver's own, whose response comes after all before it."""
        request = np.zeros(1, REQUEST)
        request["op"], request["flags"], request["legal"] = op, flags, legal
        request["tag"] = OWN_TAG
        rows = None if priors is None else self._rows(np.asarray(priors)[None])
        job = self._submit(pack_requests(request, rows, self.geometry), output)
        self.write(registers.CQ_WAKE.offset, 1)
        found: np.ndarray | None = None
        while True:
            ended = job.poll()
            self._collect()
            mine = self._backlog["tag"] == OWN_TAG
            if mine.any():
                found, self._backlog = self._backlog[mine], self._backlog[~mine]
            if ended:
                break
            try:
                self._ring.wait_event(job, TIMEOUT_S)
            except JobError:
                if job.error is None:  # of no job
                    raise
        self._open.remove(job)
        if job.error is not None:
            raise job.error
        if found is None:
            raise DeviceTimeout(f"mcts: {op.name} has no response", {})
        if found["code"][0] >= REFUSED:
            raise self._refusal(found)

    def _submit(self, slots: np.ndarray, output: int) -> Job:
        count = len(slots)
        if not 1 <= count <= MOST_SLOTS:
            raise ConfigError(f"mcts list: got {count} slots, want 1..{MOST_SLOTS}")
        address, size = self._room(slots.nbytes)
        self.device.write(address, slots)
        head = [Opcode.LIST, 0, count, 0]
        job = self._ring.submit([*head, *_split(address), *_split(output)])
        self._lists.append((job, address, size))
        self._open.append(job)
        return job

    def _room(self, nbytes: int) -> tuple[int, int]:
        """Memory for a list: that of one whose record is there, or more."""
        for index, (job, address, size) in enumerate(self._lists):
            if job.ended and size >= nbytes:
                del self._lists[index]
                return address, size
        size = -(-nbytes // 4096) * 4096
        return self.alloc(size), size

    def _running(self) -> bool:
        """Whether a list runs. Raises: the error of one that failed."""
        while self._open and self._open[0].poll():
            job = self._open.popleft()
            if job.error is not None:
                raise job.error
        return bool(self._open)

    def _waiting(self) -> int:
        """Responses in the queue."""
        return (self.read(registers.CQ_TAIL.offset) - self._head) % MODULO

    def _collect(self) -> None:
        """Take all responses from the queue."""
        count, entries = self._waiting(), 1 << self._size
        while count:
            place = self._head % entries
            part = min(count, entries - place)
            raw = self.device.read(self._queue + place * SLOT_BYTES, part * SLOT_BYTES)
            responses, phase = unpack_responses(raw.view(np.uint32).reshape(-1, 4))
            wanted = ~(self._head >> self._size) & 1
            if (phase != wanted).any():
                raise DeviceMismatchError(f"mcts queue: got phases {phase}, want {wanted}")
            self._backlog = np.concatenate([self._backlog, responses])
            self._head = (self._head + part) % MODULO
            self.write(registers.CQ_HEAD.offset, self._head)
            count -= part

    def _take(self, count: int) -> np.ndarray:
        """The first responses of the backlog."""
        taken, self._backlog = self._backlog[:count], self._backlog[count:]
        return taken

    def _refusal(self, response: np.ndarray) -> Exception:
        self.refused = response.copy()
        one = response[0]
        error = error_class("mcts", int(one["code"]))
        return error(
            self.info.page, self._ring.number, tag=int(one["tag"]), detail=int(one["worker"])
        )


def requests(count: int) -> np.ndarray:
    """So many empty requests, [count] REQUEST."""
    return np.zeros(count, REQUEST)


def select_requests(workers: Sequence[int], new_ids: Sequence[int]) -> np.ndarray:
    """SEL for workers, each with the id that a new node gets, [n] REQUEST."""
    out = requests(len(workers))
    out["op"], out["worker"], out["new_id"] = Op.SEL, workers, new_ids
    return out


def _split(address: int) -> tuple[int, int]:
    return address & 0xFFFF_FFFF, address >> 32
