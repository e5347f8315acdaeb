"""The node unit of the mcts engine alone, against a node in plain Python."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.mcts.score import (
    ILLEGAL,
    PRIOR_ONE,
    SCORE_LEAST,
    SCORE_MOST,
    base,
    less,
    mean,
    table_index,
    weight,
)
from models.mcts.select import clocks, select
from models.mcts.tables import SHIFT_MOST
from tests.mcts.ports import (
    KIND_EDGE,
    KIND_END,
    KIND_LAST,
    OP_INS,
    OP_SEL,
    OP_UPD,
    SELECT,
    SETTINGS,
    TABLE,
    TOKEN,
    UPDATE,
    step,
    words_of,
)
from verif.coverage import Tally
from verif.play import Block, Player

CORE, PRIOR = "jackdaw:engine:mcts", 16
NEW, ACTIVE, TERMINAL = 1, 2, 3  # states of an entry
EXPAND, REVISIT, AT_TERMINAL, LEAF, NOINS, FULL = range(6)
NO_ID, VALUE_MOST = 0xFFFF, (1 << 23) - 1
LAST_LEVEL = 5  # of the trees here
NODES = 6
WORKERS = 16
UNITS = [(3, 3, 3), (5, 2, 3), regress(5, 3, 2)]  # children, comparison-lookup factor, multipliers


def unit(f: int, factor: int, mu: int, seed: int) -> Player:
    block = Block(
        CORE, "jd_mcts_node",
        {
            "settings_i": SETTINGS.bits, "table_i": TABLE.bits, "in_valid_i": 1,
            "in_token_i": TOKEN.bits, "in_entry_i": 3, "out_ready_i": 1, "row_write_i": 1,
            "row_i": 5, "row_legal_i": f, "row_priors_i": PRIOR * f, "peek_i": 1,
            "peek_entry_i": 3, "peek_word_i": 9,
        },
        {
            "in_ready_o": 1, "out_valid_o": 1, "out_token_o": TOKEN.bits, "silent_o": 1,
            "hazard_o": 1, "busy_o": 1, "sat_o": 1, "peek_data_o": 32,
        },
    )  # fmt: skip
    return Player(block, {"F": f, "Fs": factor, "Mu": mu, "Depth": 8, "WMax": WORKERS}, seed)


def row_of(token: dict[str, int]) -> int:
    """Of its worker's update."""
    return (token["worker"] << 1 | token["parity"]) % (2 * WORKERS)


@dataclass
class Tables:
    """G and R of a unit."""

    mantissa: np.ndarray
    shift: np.ndarray
    r: np.ndarray

    @classmethod
    def random(cls, rng: np.random.Generator) -> Tables:
        """Of all sizes: some scores saturate."""
        mantissa = rng.integers(0, 1 << 17, 1024) >> rng.integers(0, 17, 1024)
        shift = SHIFT_MOST - rng.choice([0, 0, 4, 8, 12], 1024)
        mantissa[5], shift[5] = 0x1FFFF, SHIFT_MOST - 12
        return cls(mantissa, shift, rng.integers(0, 1 << 26, 1024))

    def load(self, sim: Player) -> None:
        words = np.concatenate([self.mantissa | self.shift << 17, self.r])
        words = words | np.arange(2048) << 26 | 1 << 37
        rows = np.array([words_of(int(word), TABLE.bits) for word in words])
        sim.run(2048, table_i=rows)


@dataclass
class Settings:
    """Of a tree; numbers as the engine has them."""

    puct: int = 0
    first: int = 0
    fpu: int = 0
    vl: int = 1 << 16
    d_act: int = LAST_LEVEL + 1

    def word(self, f: int) -> int:
        return SETTINGS.pack(
            puct=self.puct, first=self.first, f_act=f, d_act=self.d_act, vl=self.vl, fpu=self.fpu
        )


@dataclass
class Node:
    """A node entry: what the unit's memories have."""

    f: int
    settings: Settings
    tables: Tables
    ident: int = 0
    state: int = NEW
    level: int = 0
    total: int = 0
    scored: bool = False
    n: list[int] = field(default_factory=list)
    w: list[int] = field(default_factory=list)
    loss: list[int] = field(default_factory=list)
    q: list[int] = field(default_factory=list)
    h: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    legal: int = 0
    prior: list[int] = field(default_factory=list)
    child: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("n", "w", "loss", "q", "h", "prior"):
            setattr(self, name, [0] * self.f)
        self.base, self.child = [SCORE_LEAST] * self.f, [None] * self.f

    def score(self, a: int) -> int:
        """u of a child."""
        return int(less(self.base[a], self.loss[a])) if self.legal >> a & 1 else ILLEGAL

    def weigh(self, a: int) -> None:
        s, n = self.settings, self.n[a]
        prior = self.prior[a] if s.puct else PRIOR_ONE
        self.q[a] = int(mean(self.w[a], n, s.fpu))
        self.h[a] = int(weight(prior, n, self.tables.r[table_index(n)]))

    def publish(self) -> None:
        at = table_index(self.total)
        m, shift = int(self.tables.mantissa[at]), int(self.tables.shift[at])
        for a in range(self.f):
            first = bool(self.settings.first and not self.n[a])
            self.base[a] = int(base(self.q[a], self.h[a], m, shift, first))

    def words(self) -> list[int]:
        """What the host sees."""
        out = [self.ident | self.state << 16 | self.level << 18, self.total]
        for a in range(self.f):
            child = self.child[a]
            out += [self.score(a), self.q[a] if self.scored else 0]
            out += [self.h[a] if self.scored else 0, self.w[a], self.w[a] >> 32 & 0xFF]
            out += [self.prior[a] << 16 | self.n[a], self.loss[a]]
            out.append((self.legal >> a & 1) << 15 | (1 << 14 | child if child is not None else 0))
        return [word % 2**32 for word in out]


class Unit:
    """The node unit, what is given to it, and the nodes in plain Python."""

    def __init__(self, f: int, factor: int, mu: int, seed: int) -> None:
        self.f, self.factor, self.mu = f, factor, mu
        self.sim = unit(f, factor, mu, seed)
        self.rng = np.random.default_rng(seed)
        self.tables = Tables.random(self.rng)
        self.tables.load(self.sim)
        self.settings = Settings()
        self.nodes: dict[int, Node] = {}
        self.expected: deque[dict[str, int]] = deque()
        self.silent = self.now = self.waited = 0
        self.started: deque[tuple[int, int, str]] = deque(maxlen=64)  # clock, node, what
        self.arrived: int | None = None  # clock in which the head came
        self.rows: dict[int, tuple[int, list[int]]] = {}
        self.ready = 1.0
        for row in range(2 * WORKERS):
            self.clock(row=(row, 1, [row] * f))
        self.codes: set[int] = set()
        distances = [f"{x}_{y}_{d}" for x in ("sel", "upd") for y in ("sel", "upd")
                     for d in range(1, 22)]  # fmt: skip
        self.tally = Tally(
            f"mcts.node{f}",
            {
                "pair": distances,
                # Updates follow each other after ceil(F / Mu) clocks at the earliest.
                "forwarded": [
                    f"{what}_{k}"
                    for what in ("score", "edge", "total")
                    for k in range(3)
                    if what != "total" or clocks(f, factor) + k >= -(-f // mu)
                ],
                "ended": ["revisit", "terminal", "leaf", "noins", "full"],
                "moved": ["on", "insert", "count", "last", "end", "evaluate", "empty", "terminal"],
            },
        )

    @property
    def publish(self) -> int:
        """Clocks from an update to the first selection after it."""
        return 18 + clocks(self.f, self.factor) + -(-self.f // self.mu)

    # ---- Tokens
    def token(self, entry: int, op: int, done: bool, **fields: int) -> dict[str, int]:
        rng = self.rng
        node = self.nodes.get(entry)
        return {
            "op": op, "done": done, "worker": int(rng.integers(4096)),
            "list": int(rng.integers(16)),
            "parity": int(rng.integers(2)), "address": entry << 4 | int(rng.integers(16)),
            "level": node.level if node else 0, "action": 0, "code": 0,
        } | fields  # fmt: skip

    def insert(self, entry: int, level: int, silent: bool = False) -> dict[str, int]:
        rest = SELECT.pack(new_id=int(self.rng.integers(1 << 16)), parent=77, slot=5)
        return self.token(entry, OP_INS, silent, rest=rest) | {"level": level}

    def select(self, entry: int, slot: bool, new_id: int | None = None) -> dict[str, int]:
        new_id = int(self.rng.integers(1, NO_ID)) if new_id is None else new_id
        rest = SELECT.pack(
            slot_valid=slot, slot=int(self.rng.integers(1 << 14)), new_id=new_id, parent=99
        )
        return self.token(entry, OP_SEL, False, rest=rest, action=int(self.rng.integers(32)))

    def update(
        self, entry: int, kind: int, action: int, value: int, silent: int = 0, **flags: int
    ) -> dict[str, int]:
        rest = UPDATE.pack(value=value, **flags)
        return self.token(entry, OP_UPD, bool(silent), rest=rest, code=kind, action=action)

    # ---- A clock
    def clock(
        self, entry: int | None = None, token: dict[str, int] | None = None,
        row: tuple[int, int, list[int]] | None = None,
    ) -> bool:  # fmt: skip
        """Offer a token; whether it was taken.

        A row of legal children and priors is written: this one, or any but the token's.
        """
        rng, given = self.rng, {"settings_i": self.settings.word(self.f)}
        if token is not None:
            assert entry is not None
            given |= {"in_valid_i": 1, "in_entry_i": entry, "in_token_i": TOKEN.pack(**token)}
            if self.arrived is None:
                self.arrived = self.now
        if row is None and rng.random() < 0.5:
            legal = int(rng.integers(1, 1 << self.f)) if rng.random() < 0.9 else 0
            row = int(rng.integers(2 * WORKERS)), legal, rng.integers(1 << 16, size=self.f).tolist()
        if row is not None and (token is None or row[0] != row_of(token)):
            at, legal, priors = row
            self.rows[at] = legal, priors
            given |= {
                "row_write_i": 1, "row_i": at, "row_legal_i": legal,
                "row_priors_i": sum(int(p) << PRIOR * a for a, p in enumerate(priors)),
            }  # fmt: skip
        given["out_ready_i"] = rng.random() < self.ready
        out = step(self.sim, **given)
        if out["out_valid_o"] and given["out_ready_i"]:
            want = self.expected.popleft()
            assert TOKEN.unpack(out["out_token_o"]) == want, f"clock {self.now}"
        self.silent -= out["silent_o"]
        assert self.silent >= 0
        assert out["busy_o"] == out["in_ready_o"]
        if token is not None and out["in_ready_o"]:
            self.take(entry, token)  # type: ignore[arg-type]
            self.arrived = None
        self.now += 1
        return bool(out["in_ready_o"])

    def give(self, entry: int, token: dict[str, int], most: int = 400) -> int:
        """Offer a token until it is taken; the clocks that it waited."""
        for waited in range(most):
            if self.clock(entry, token):
                return waited
        raise AssertionError("the token is not taken")

    def drain(self) -> None:
        """Until nothing is in the unit, and scores are published."""
        ready, self.ready = self.ready, 1.0
        for _ in range(60):
            self.clock()
        assert not self.expected and not self.silent
        self.ready = ready

    def compare(self) -> None:
        """Every word of every node."""
        for entry, node in self.nodes.items():
            for word, want in enumerate(node.words()):
                given = {"peek_i": 1, "peek_entry_i": entry, "peek_word_i": word}
                given |= {"settings_i": self.settings.word(self.f)}
                out = [step(self.sim, **given) for _ in range(4)]
                assert out[3]["peek_data_o"] == want, f"node {entry} word {word}: {node}"
            given["peek_word_i"] = 2 + 8 * self.f
            assert [step(self.sim, **given) for _ in range(4)][3]["peek_data_o"] == 0

    # ---- In plain Python
    def take(self, entry: int, token: dict[str, int]) -> None:
        """What a token does, in the order in which they are taken."""
        out, s = dict(token), self.settings
        if token["op"] == OP_INS:
            node = self.nodes[entry] = Node(self.f, s, self.tables)
            node.ident = SELECT.unpack(token["rest"])["new_id"]
            node.level = token["level"]
            out["done"], out["code"] = 1, EXPAND
            what = "ins"
        elif token["op"] == OP_SEL:
            what = self._select(self.nodes[entry], out)
        else:
            what = self._update(self.nodes[entry], token, out)
        self._meet(entry, what)
        if token["done"]:
            self.silent += 1
        else:
            self.expected.append(out)

    def _select(self, node: Node, out: dict[str, int]) -> str:
        s, rest = self.settings, SELECT.unpack(out["rest"])
        if node.state != ACTIVE or node.level + 1 == s.d_act:
            code = {NEW: REVISIT, TERMINAL: AT_TERMINAL}.get(node.state, LEAF)
            out |= {"done": 1, "code": code}
            rest["new_id"] = node.ident
            self.tally.hit("ended", ("", "revisit", "terminal", "leaf")[code])
            what = "stop"
        else:
            scores = [node.score(a) for a in range(self.f)]
            a = select(scores, self.factor)
            node.loss[a] += s.vl
            out["action"], rest["parent"] = a, node.ident
            child, what = node.child[a], "sel"
            if child is not None:
                out["address"] = child
                self.tally.hit("moved", "on")
            elif rest["slot_valid"]:
                node.child[a] = rest["slot"]
                out |= {"op": OP_INS, "address": rest["slot"]}
                rest["slot_valid"] = 0
                self.tally.hit("moved", "insert")
            else:
                code = NOINS if rest["new_id"] == NO_ID else FULL
                out |= {"done": 1, "code": code}
                rest["new_id"] = node.ident
                self.tally.hit("ended", ("noins", "full")[code - NOINS])
        out["rest"] = SELECT.pack(**rest)
        return what

    def _update(self, node: Node, token: dict[str, int], out: dict[str, int]) -> str:
        rest = UPDATE.unpack(token["rest"])
        if token["code"] == KIND_END:
            out["done"] = 1
            fresh, what = node.state == NEW, "end"
            if fresh and rest["activate"]:
                legal, priors = self.rows[row_of(token)]
                node.legal, node.prior, node.scored = legal, list(priors), True
                node.state = ACTIVE if legal else TERMINAL
                for a in range(self.f):
                    node.weigh(a)
                node.publish()
                what = "evaluate"
                self.tally.hit("moved", "evaluate" if legal else "empty")
            elif fresh and rest["terminal"]:
                node.state = TERMINAL
                self.tally.hit("moved", "terminal")
            else:
                self.tally.hit("moved", "end")
            return what
        a, value = token["action"], rest["value"] - (rest["value"] >> 23 << 24)
        if rest["negate"]:
            value = min(-value, VALUE_MOST)
        node.loss[a] -= self.settings.vl
        if node.n[a] < 0xFFFF:
            node.n[a] += 1
            node.w[a] += value
        node.total = min(node.total + 1, (1 << 17) - 1)
        node.weigh(a)
        node.publish()
        out["done"] = token["code"] == KIND_LAST
        rest["negate"] ^= rest["alternate"]
        out["rest"] = UPDATE.pack(**rest)
        self.tally.hit("moved", "last" if out["done"] else "count")
        return "upd"

    def _meet(self, entry: int, what: str) -> None:
        """Note how far the operation is from those before it on the node, when it came and went."""
        assert self.arrived is not None
        t_sel = clocks(self.f, self.factor)
        for when, node, before in self.started:
            if node != entry:
                continue
            came, went = self.arrived - when, self.now - when
            if 1 <= came <= 21 and {before, what} <= {"sel", "upd"}:
                self.tally.hit("pair", f"{before}_{what}_{came}")
            k = went - t_sel
            if 0 <= k <= 2:
                if before == what == "sel":
                    self.tally.hit("forwarded", f"score_{k}")
                if before in ("sel", "upd") and what in ("sel", "upd"):
                    self.tally.hit("forwarded", f"edge_{k}")
                if before == what == "upd":
                    self.tally.hit("forwarded", f"total_{k}")
        self.started.append((self.now, entry, what))

    # ---- What may follow
    def any(self, entry: int) -> dict[str, int]:
        """A token that a tree may send to this node."""
        rng, node = self.rng, self.nodes.get(entry)
        if node is None or (rng.random() < 0.01 and not any(node.loss)):
            return self.insert(entry, int(rng.integers(LAST_LEVEL + 1)))
        edges = [
            a for a in range(self.f) if node.loss[a] >= self.settings.vl and node.legal >> a & 1
        ]
        value = (-(1 << 23), VALUE_MOST, int(rng.integers(-(1 << 23), 1 << 23)))[
            int(rng.integers(3))
        ]
        flags = {"negate": int(rng.integers(2)), "alternate": int(rng.integers(2))}
        kind = rng.random()
        if node.state == ACTIVE and edges and kind < 0.45 and node.level + 1 < LAST_LEVEL + 1:
            a, last = int(rng.choice(edges)), rng.random() < 0.3
            flags |= {"activate": int(rng.integers(2)), "terminal": int(rng.integers(2))}
            return self.update(entry, KIND_LAST if last else KIND_EDGE, a, value, **flags)
        if kind < 0.6 or (node.state == NEW and kind < 0.8):
            flags["activate"] = int(rng.random() < 0.6)
            flags["terminal"] = int(not flags["activate"] and rng.random() < 0.3)
            return self.update(entry, KIND_END, 0, value, **flags)
        slot = rng.random() < 0.5
        return self.select(entry, slot, NO_ID if not slot and rng.random() < 0.5 else None)

    def evaluated(self, entry: int, legal: int, silent: bool = False) -> Node:
        """A new node with these children; silent: as a ROOT makes it, alone in the unit."""
        self.give(entry, self.insert(entry, 1, silent))
        token = self.update(entry, KIND_END, 0, 0, silent, activate=1)
        self.clock(row=(row_of(token), legal, [1 << 14] * self.f))
        self.give(entry, token)
        return self.nodes[entry]


@builds(lambda f, factor, mu: unit(f, factor, mu, 1))
@pytest.mark.parametrize(("f", "factor", "mu"), UNITS)
def test_node(f: int, factor: int, mu: int, seed: int) -> None:
    """Random operations on few nodes, close together; pairs on one node at every distance."""
    u = Unit(f, factor, mu, seed)
    rng = u.rng
    for turn in range(scale(16, 4)):
        u.settings = Settings(
            puct=turn & 1, first=turn >> 1 & 1, fpu=int(rng.integers(-(1 << 23), 1 << 23)),
            vl=int(rng.choice([0, 1, 1 << 14, 1 << 20])),
        )  # fmt: skip
        u.nodes.clear()
        for _ in range(3):
            u.ready = (1.0, 0.6, 0.3)[int(rng.integers(3))]
            for _ in range(150):
                many = rng.random() < 0.5
                entry = int(rng.integers(NODES)) if many else int(rng.integers(2))
                for _ in range(int(rng.integers(3)) * int(rng.random() < 0.2)):
                    u.clock()
                u.give(entry, u.any(entry))
            u.drain()
            u.compare()
    for _ in range(20):  # what ends in the unit leaves its room
        u.evaluated(2, 5, silent=True)
        u.drain()
    u.compare()
    # Pairs: the second comes so many clocks after the first one has started.
    u.ready = 1.0
    u.settings = Settings(vl=1 << 12)
    u.nodes.clear()
    node = u.evaluated(0, 3)
    other = u.evaluated(1, 3)
    u.drain()
    t_sel, spread = clocks(f, factor), -(-f // mu)
    for first in ("sel", "upd"):
        for second in ("sel", "upd"):
            for distance in range(1, 26):
                for _ in range(3):  # workers that are out
                    u.give(0, u.select(0, False))
                u.drain()
                for at, what in enumerate((first, second)):
                    if what == "sel":
                        waited = u.give(0, u.select(0, False))
                    else:
                        a = max(range(f), key=lambda a: node.loss[a])
                        waited = u.give(0, u.update(0, KIND_EDGE, a, distance << 10, negate=at))
                    if not at:
                        assert not waited
                        for _ in range(distance - 1):
                            u.clock()
                least = t_sel if second == "sel" or first == "sel" else max(t_sel, spread)
                if (first, second) == ("upd", "sel"):
                    least = u.publish
                assert waited == max(0, least - distance), f"{first} {second} {distance}"
                u.drain()
                while any(node.loss):
                    a = max(range(f), key=lambda a: node.loss[a])
                    u.give(0, u.update(0, KIND_EDGE, a, 0))
        u.drain()
        u.compare()
    assert not any(other.loss)
    # A full queue of results: nothing is lost, and nothing starts.
    u.ready = 0.0
    taken = sum(u.clock(1, u.select(1, False)) for _ in range(80))
    assert taken == 16
    u.ready = 0.5
    u.drain()
    u.compare()
    u.tally.save(CORE, f"node-{f}-{seed}")
    u.tally.require()


@builds(lambda: unit(3, 3, 3, 1))
def test_counts_and_losses_at_their_limits(seed: int) -> None:
    """Visits past steps of the tables, and to their most; a virtual loss to its most and back."""
    u = Unit(3, 3, 3, seed)
    u.settings, f = Settings(vl=0), 3
    node = u.evaluated(0, 3)
    value = (1 << 23) - 5
    for visits in range(1030):
        u.give(0, u.update(0, KIND_EDGE, 0, value))
        if visits + 1 in (511, 512, 513, 1023, 1024, 1025):
            u.drain()
            u.compare()
    u.drain()

    def more(count: int, action: int) -> list[int]:
        """Updates in a row, one in a clock; when a count stood."""
        ones = np.ones(count, np.int64)
        token = u.update(0, KIND_EDGE, action, value)
        row = words_of(TOKEN.pack(**token), TOKEN.bits)
        sets = words_of(u.settings.word(f), SETTINGS.bits)
        out = u.sim.run(
            count, in_valid_i=ones, in_token_i=np.tile(row, (count, 1)), out_ready_i=ones,
            settings_i=np.tile(sets, (count, 1)),
        )  # fmt: skip
        assert out["in_ready_o"].all()
        counted = min(count, 0xFFFF - node.n[action])
        node.n[action] += counted
        node.w[action] += counted * value
        node.total = min(node.total + count, (1 << 17) - 1)
        node.weigh(action)
        node.publish()
        tail = u.sim.run(40, out_ready_i=np.ones(40), settings_i=np.tile(sets, (40, 1)))
        stood = np.concatenate([out["sat_o"], tail["sat_o"]])
        return np.flatnonzero(stood).tolist()

    count = 65_535 - 1030 + 30
    stood = more(count, 0)
    assert len(stood) == 30 and stood == list(range(stood[0], stood[0] + 30))
    u.compare()
    assert node.total == 65_535 + 30
    stood = more(65_525, 1)  # past the most of N
    assert len(stood) == 65_565 + 65_525 - ((1 << 17) - 1)
    u.compare()

    # One child: all workers are on its edge.
    u.settings = Settings(vl=(1 << 24) - 1)
    u.nodes.clear()
    node = u.evaluated(2, 2)
    u.give(2, u.select(2, True))
    u.give(2, u.update(2, KIND_EDGE, 1, -(1 << 23)))
    for _ in range(128):
        u.give(2, u.select(2, False))
    u.drain()
    assert node.loss[1] == 128 * ((1 << 24) - 1) and node.score(1) == SCORE_LEAST
    u.compare()
    for _ in range(128):
        u.give(2, u.update(2, KIND_EDGE, 1, 0))
    u.drain()
    u.compare()
    assert node.loss == [0, 0, 0]
    # A score that saturates above.
    u.settings = Settings(vl=0)
    u.nodes.clear()
    node = u.evaluated(3, 7)
    for _ in range(5):
        u.give(3, u.update(3, KIND_EDGE, 2, 0))
    u.drain()
    assert SCORE_MOST in node.base and u.settings.first == 0
    u.compare()


def test_a_bin_that_is_missed_is_told(seed: int) -> None:
    """The goal of the bins fails if one of them has no hit, and an unknown one is refused."""
    from verif.coverage import CoverageMissed

    tally = Tally("mcts.none", {"pair": ["a", "b"]})
    tally.hit("pair", "a")
    with pytest.raises(CoverageMissed, match=r"mcts\.none\.pair\.b \(0 of 1\)"):
        tally.require()
    with pytest.raises(KeyError):
        tally.hit("pair", "c")
    tally.hit("pair", "b")
    tally.require()
