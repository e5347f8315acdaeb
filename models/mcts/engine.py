"""Golden model of the mcts engine at job level (models/engine.py states the protocol).

A list's requests are executed one after the other. Lists do not overlap here, so `cycles` of a job
is that of an engine that was idle before it.

Source: docs/mcts.md.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

import numpy as np

from models.engine import BusError, JobEnd, Link, Memory, RegisterError, beyond
from models.mcts import tree
from models.mcts.formats import (
    BEAT,
    MOST_SLOTS,
    QUEUE_LOG2,
    SLOT_BYTES,
    TABLE_WORDS,
    Geometry,
    Opcode,
    pack_responses,
)
from models.mcts.tables import decode
from models.mcts.timing import LATENCY, replay
from models.registers import mcts as registers
from models.registers.map import by_offset
from models.registers.mcts import Error

MODULO = 1 << 32
PAGE = 4096
OFFSETS = by_offset(registers.REGISTERS)
HIGH = 0xFFFF_FF00  # bits above 39 in the upper word of an address
CHUNK = 4096  # responses at a time
SLOTS, FIRST, SECOND = 2, 4, 6  # words of a descriptor
ROOT_BIT = 15
SETTINGS = ("MODE", "F_ACT", "D_ACT", "VL", "FPU", "POLICY")
KEPT = ("CQ_BASE_LO", "CQ_BASE_HI", "CQ_SIZE", "CQ_WAKE", *SETTINGS, "PEEK_ADDR", "PEEK_WORD")
TREE_COUNTERS = {
    "N_SEL": tree.N_SEL, "N_UPD": tree.N_UPD, "N_INS": tree.N_INS, "SEARCHES": tree.SEARCHES,
    "STICKY": tree.STICKY, "N_REFUSED": tree.N_REFUSED,
}  # fmt: skip


class JobError(Exception):
    """A job ends with an error: its code, ERR_INFO0 and ERR_INFO1."""

    def __init__(self, code: Error, info0: int = 0, info1: int = 0) -> None:
        super().__init__(f"{code.name} {info0} {info1}")
        self.code, self.info0, self.info1 = code, info0, info1


class MctsEngine:
    """The mcts engine as the host sees it: registers from 0x100, jobs of one ring.

    Attributes:
        geometry: the build.
        tree: nodes, banks, workers and tables.
        events: times that STATUS.event was set.
        stray_errors: codes of errors outside any job that the page has not taken yet.
        clock: clocks of all jobs so far, the time of responses.
    """

    rings = 1

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> MctsEngine:
        """Make it of a configuration's parameters, by name; it has no streams."""
        return cls(Geometry(**fields))

    def __init__(self, geometry: Geometry | None = None) -> None:
        self.geometry = g = geometry or Geometry()
        self.tree = tree.make(g)
        self.events = 0
        self.stray_errors: list[Error] = []
        self.clock = 0
        self._words = {name: getattr(registers, name).reset for name in KEPT}
        self._head = self._tail = 0
        self._loaded = False
        self._clear()

    def _clear(self) -> None:
        """Clear the counters from 0x150 on."""
        for index in TREE_COUNTERS.values():
            self.tree.counters[index] = 0
        self._root = (0, 0)
        self._rooted = False
        self._hazard = self._flight = 0
        self._busy = np.zeros(self.geometry.d + 1, np.int64)

    # ---- Registers
    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None or register.access == "WO":
            raise RegisterError(f"no register to read at {offset:#x}")
        name = register.name
        if name in self._words:
            return self._words[name]
        if name in TREE_COUNTERS:
            return int(self.tree.counters[TREE_COUNTERS[name]]) % MODULO
        if name == "PEEK_DATA":
            return self._peek()
        return {
            **self._capabilities(),
            "CQ_HEAD": self._head,
            "CQ_TAIL": self._tail,
            "ROOT_FIRST": self._root[0] % MODULO,
            "ROOT_LAST": self._root[1] % MODULO,
            "HAZARD": self._hazard % MODULO,
            "MAX_FLIGHT": self._flight,
            "PORT_BUSY_MAX": int(self._busy[:-1].max()) % MODULO,
        }[name]

    def _capabilities(self) -> dict[str, int]:
        g = self.geometry

        def log2(x: int) -> int:
            return x.bit_length() - 1

        return {
            "CAP0": registers.CAP0.word(
                d_log2=log2(g.d), f=g.f, fr=g.fr, xbar=g.xbar, cap_log2=log2(g.cap),
                y_log2=log2(g.y), fp=g.fp,
            ),
            "CAP1": registers.CAP1.word(x=g.x, w_max=g.w_max),
            "CAP2": registers.CAP2.word(t_log2=log2(g.t), mu=g.mu, sf=g.sf),
        }  # fmt: skip

    def _peek(self) -> int:
        """A word of a node entry; 0 where there is none."""
        g, t = self.geometry, self.tree
        at, word = self._words["PEEK_ADDR"], self._words["PEEK_WORD"]
        entry = g.entries if at >> ROOT_BIT else at
        if entry > g.entries or word >= 2 + 8 * g.f:
            return 0
        if word < 2:
            head = t.ident[entry] | t.state[entry] << 16 | t.level[entry] << 18
            return int((head, t.visits[entry])[word])
        a, k = divmod(word - 2, 8)
        child = int(t.child[entry, a])
        place = (child | 1 << 14 if child >= 0 else 0) | int(t.legal[entry, a]) << 15
        words = (
            t.u[entry, a], t.q[entry, a], t.h[entry, a], t.w[entry, a], t.w[entry, a] >> 32 & 0xFF,
            t.n[entry, a] | t.prior[entry, a] << 16, t.loss[entry, a], place,
        )  # fmt: skip
        return int(words[k]) % MODULO

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register. Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None or register.access == "RO" or not (idle or not register.idle_only):
            raise RegisterError(f"write of {value:#x} to {offset:#x}")
        value &= register.write_mask
        if register is registers.STAT_CLEAR:
            self._clear()
        elif register is registers.CQ_HEAD:
            if (value - self._head) % MODULO > self.waiting:
                self.stray_errors.append(Error.E_CQ)
            else:
                self._head = value
        else:
            self._words[register.name] = value
            if register is registers.CQ_SIZE:
                self._head = self._tail = 0

    def poll(self) -> None:
        """The page takes stray errors; there is nothing else to do outside a job."""

    def soft_reset(self) -> None:
        """All workers are idle, the tree wants a reset, the queue is empty; the rest stays."""
        tree.drop(self.tree)
        self._head = self._tail

    def link_clear(self) -> None:
        """The engine has no stream."""

    @property
    def waiting(self) -> int:
        """Responses that the host has not taken."""
        return (self._tail - self._head) % MODULO

    # ---- Jobs
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job; see models/engine.py. Yields while the completion queue is full.

        Args:
            ring: 0.
            descriptor: [16] uint32.
            memory: device memory.
        """
        words = [int(word) for word in descriptor]
        run = _List()
        error = None
        try:
            self._check(words)
            if words[0] & 0xFF == Opcode.TABLES:
                self._load(_address(words, FIRST), memory)
                run.cycles = LATENCY + 2 * TABLE_WORDS * 4 // BEAT
            else:
                yield from self._list(words, run, memory)
        except JobError as failed:
            error = failed
        detail = min(run.refused, 0xFFFF)
        self.clock += run.cycles
        if error is not None:
            return JobEnd(
                int(error.code), detail, run.executed, error.info0, error.info1, run.cycles
            )
        return JobEnd(0, detail, run.executed, cycles=run.cycles)

    def _check(self, words: list[int]) -> None:
        """Check a job. Raises: JobError for the first rule that is broken."""
        opcode = words[0] & 0xFF
        if opcode not in (Opcode.LIST, Opcode.TABLES):
            raise JobError(Error.E_OPCODE, 0)
        listed = opcode == Opcode.LIST
        keep = {0: 0xC000_00FF, 1: MODULO - 1, FIRST: MODULO - 1, FIRST + 1: 0xFF}
        if listed:
            keep |= {SLOTS: MODULO - 1, SECOND: MODULO - 1, SECOND + 1: 0xFF}
        for index, word in enumerate(words):
            if word & ~keep.get(index, 0):
                raise JobError(Error.E_RESERVED, index)
        if listed and not 1 <= words[SLOTS] <= MOST_SLOTS:
            raise JobError(Error.E_COUNT, SLOTS)
        nbytes = words[SLOTS] * SLOT_BYTES if listed else 2 * TABLE_WORDS * 4
        places = [(FIRST, nbytes)]
        if listed and _address(words, SECOND):
            places.append((SECOND, 8 + 8 * self.geometry.f))
        for index, _ in places:
            if words[index] % BEAT:
                raise JobError(Error.E_ALIGN, index)
        for index, size in places:
            if beyond(_address(words, index), size):
                raise JobError(Error.E_ADDR, index)
        if listed:
            self._check_settings()

    def _check_settings(self) -> None:
        """What a list needs. Raises: JobError with the offset of the register."""
        g, w = self.geometry, self._words
        for register, good in (
            (registers.F_ACT, 2 <= w["F_ACT"] <= g.f),
            (registers.D_ACT, 2 <= w["D_ACT"] <= g.d),
            (registers.VL, w["VL"] * 2 * g.w_max < 1 << 31),
            (registers.POLICY, w["POLICY"] <= 2),
        ):
            if not good:
                raise JobError(Error.E_CFG, register.offset)
        if not self._loaded:
            raise JobError(Error.E_TABLE)
        size = w["CQ_SIZE"]
        if not QUEUE_LOG2[0] <= size <= QUEUE_LOG2[1]:
            raise JobError(Error.E_CQ, registers.CQ_SIZE.offset)
        if w["CQ_BASE_LO"] % PAGE or beyond(self._queue, SLOT_BYTES << size):
            raise JobError(Error.E_CQ, registers.CQ_BASE_LO.offset)

    @property
    def _queue(self) -> int:
        return self._words["CQ_BASE_LO"] | self._words["CQ_BASE_HI"] << 32

    def _load(self, address: int, memory: Memory) -> None:
        """Load the tables; one that is wrong leaves none. Raises: JobError."""
        self._loaded = False
        try:
            raw = memory.read(address, 2 * TABLE_WORDS * 4)
        except BusError as error:
            raise JobError(Error.E_BUS_RD, FIRST, error.response) from error
        mantissa, shift, r, wrong = decode(raw.view(np.uint32))
        if wrong is not None:
            raise JobError(Error.E_TABLE, wrong)
        self.tree.mantissa[:], self.tree.shift[:], self.tree.r[:] = mantissa, shift, r
        self._loaded = True

    def _settings(self) -> np.ndarray:
        """The settings that a RESET gives to the tree."""
        w, out = self._words, np.zeros(tree.SETTINGS, np.int64)
        out[tree.PUCT] = registers.MODE.field("puct").get(w["MODE"])
        out[tree.FIRST] = registers.MODE.field("first").get(w["MODE"])
        for index, name in ((tree.F_ACT, "F_ACT"), (tree.D_ACT, "D_ACT"), (tree.VL, "VL")):
            out[index] = w[name]
        out[tree.FPU] = w["FPU"] - (w["FPU"] >> 23 << 24)
        out[tree.POLICY] = w["POLICY"]
        return out

    def _list(self, words: list[int], run: _List, memory: Memory) -> Generator[None, None, None]:
        """Run a list. Raises: JobError after the requests before the fault."""
        t, total, output = self.tree, words[SLOTS], _address(words, SECOND)
        slots, unread = self._read(_address(words, FIRST), total, memory)
        t.sizes[3] = output != 0
        trace = tree.make_trace(len(slots), self.geometry.d)
        settings = self._settings()
        entries = 1 << self._words["CQ_SIZE"]
        try:
            while True:
                room = min(entries - self.waiting, CHUNK)
                if not room:
                    yield
                    continue
                responses = np.zeros((room, tree.COLUMNS), np.int64)
                run.at, made, executed, refused, asked = tree.run(
                    t, settings, slots, run.at, len(slots), total, responses, trace
                )
                run.executed += executed
                run.refused += refused
                broken = asked and self._write_root(output, memory)
                if broken:
                    responses[made - 1, 0] = Error.E_BUS_WR
                self._answer(responses[:made], run, memory)
                if broken:
                    raise JobError(Error.E_BUS_WR, run.at, broken)
                if run.at == total:
                    break
                if made < room and not asked:
                    raise JobError(Error.E_BUS_RD, run.at, unread)
        finally:
            self._count(trace, run)

    def _read(self, address: int, total: int, memory: Memory) -> tuple[np.ndarray, int]:
        """The slots of a list before the first beat at fault, [n, 4] int64, and its response."""
        response = 0
        try:
            raw = memory.read(address, total * SLOT_BYTES)
        except BusError as error:
            response = error.response
            raw = memory.read(address, (error.address - address) // BEAT * BEAT)
        return raw.view(np.uint32).reshape(-1, 4).astype(np.int64), response

    def _write_root(self, address: int, memory: Memory) -> int:
        """Write N, n and w of the root. Returns: the response if it failed, else 0."""
        t, root, used = self.tree, self.geometry.entries, int(self.tree.settings[tree.F_ACT])
        out = np.zeros(1 + used, np.int64)
        out[0] = t.visits[root]
        out[1:] = t.n[root, :used] | t.w[root, :used] << 24
        try:
            memory.write(address, out.view(np.uint8))
        except BusError as error:
            return error.response
        return 0

    def _answer(self, responses: np.ndarray, run: _List, memory: Memory) -> None:
        """Write responses to the queue. Raises: JobError."""
        size = self._words["CQ_SIZE"]
        entries, at = 1 << size, 0
        while at < len(responses):
            place = self._tail % entries
            part = responses[at : at + entries - place]
            packed = pack_responses(part, self._tail, size, self.clock)
            try:
                memory.write(self._queue + place * SLOT_BYTES, packed.view(np.uint8))
            except BusError as error:
                raise JobError(Error.E_BUS_WR, run.at, error.response) from error
            self._tail = (self._tail + len(part)) % MODULO
            at += len(part)
        wake = self._words["CQ_WAKE"]
        if len(responses) and wake and self.waiting >= wake:
            self.events += 1

    def _count(self, trace: tree.Trace, run: _List) -> None:
        """Time what was taken, and add it to the counters."""
        clocks = replay(trace, self.geometry)
        run.cycles = clocks.total + LATENCY  # the last response's write is answered
        self._hazard += clocks.hazard
        self._flight = max(self._flight, clocks.flight)
        self._busy += clocks.busy
        if clocks.root_first >= 0:
            first = self._root[0] if self._rooted else self.clock + clocks.root_first
            self._root, self._rooted = (first, self.clock + clocks.root_last), True


@dataclass
class _List:
    """How far a job is: next slot of its list, requests executed and refused, clocks."""

    at: int = 0
    executed: int = 0
    refused: int = 0
    cycles: int = 0


def _address(words: list[int], index: int) -> int:
    return words[index] | words[index + 1] << 32
