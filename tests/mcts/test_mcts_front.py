"""The front of the mcts engine alone: checks, workers, tokens and responses; levels of a tree."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from flow.effort import scale
from flow.regression import builds
from models.mcts import tree
from models.mcts.formats import NO_ID, Flag, Geometry, Op
from models.registers import engine_header as header
from models.registers.mcts import Error
from tests.mcts.ports import (
    OP_INS,
    OP_SEL,
    OP_UPD,
    RESPONSE,
    SELECT,
    SETTINGS,
    TOKEN,
    UPDATE,
    step,
)
from verif.coverage import Tally
from verif.play import Block, Player

CORE = "jackdaw:engine:mcts_top"
PRIOR = 16  # bits
SIZE = Geometry(d=4, f=3, x=10, w_max=4, t=4, y=8, cap=4)
E_BUS_WR = int(header.Error.E_BUS_WR)
FULL, OK = 5, tree.OK
ERRORS = [
    "E_OPCODE", "E_RESERVED", "E_EXT", "E_WORKER", "E_NO_ROOT", "E_STATE", "E_ID", "E_ARG",
    "E_BUSY",
]  # fmt: skip


def front(seed: int) -> Player:
    f = SIZE.f
    block = Block(
        CORE, "jd_mcts_front",
        {
            "clear_i": 1, "stop_i": 1, "settings_i": SETTINGS.bits, "room_i": 1,
            "request_valid_i": 1, "request_i": 128, "request_priors_i": f * PRIOR,
            "request_cut_i": 1, "request_root_i": 1, "request_list_i": 4, "out_ready_i": 1,
            "retire_valid_i": 1, "retire_token_i": TOKEN.bits, "silent_i": 1,
            "response_ready_i": 1, "root_done_i": 1, "root_failed_i": 1,
        },
        {
            "settings_o": SETTINGS.bits, "request_ready_o": 1, "refused_o": 1, "abort_o": 1,
            "out_valid_o": 1, "out_token_o": TOKEN.bits, "prior_write_o": 1, "prior_row_o": 3,
            "prior_legal_o": f, "priors_o": f * PRIOR, "new_tree_o": 1, "retire_ready_o": 1,
            "response_valid_o": 1, "response_o": RESPONSE.bits, "responses_o": 2, "reserve_o": 1,
            "root_start_o": 1, "new_token_o": 1, "old_token_o": 1, "old_list_o": 4,
            "flight_o": 3, "select_o": 1, "update_o": 1, "insert_o": 1, "full_o": 1,
        },
    )  # fmt: skip
    return Player(block, {"F": f, "X": SIZE.x, "WMax": SIZE.w_max, "T": SIZE.t}, seed)


class Front:
    """The front, a tree that answers anything, and what the golden model says of requests."""

    def __init__(self, seed: int) -> None:
        self.sim, self.rng = front(seed), np.random.default_rng(seed)
        self.tree = tree.make(SIZE)
        self.tree.edges[:] = -1
        self.request: dict[str, Any] | None = None
        self.flying: list[dict[str, int]] = []  # tokens in the tree
        self.young: deque[tuple[int, dict[str, int]]] = deque()  # no level takes so few clocks
        self.now = 0
        self.leaving: deque[dict[str, int]] = deque()  # retired
        self.silent = 0  # tokens of a ROOT in the tree
        self.planted = 0  # that have gone
        self.late: deque[dict[str, int]] = deque()  # responses that are due
        self.own: deque[dict[str, int]] = deque()
        self.flight = self.begun = self.came = self.waited = 0
        self.parity: list[int | None] = [None] * SIZE.w_max
        self.odd = [0] * SIZE.w_max
        self.tags = [0] * SIZE.w_max
        self.reading = self.done = False
        self.failed = False
        self.settings = SETTINGS.pack(f_act=3, d_act=4)
        self.kept: int | None = None
        self.done_ops: set[int] = set()
        self.tally = Tally(
            "mcts.front",
            {
                "error": ERRORS, "op": [op.name.lower() for op in Op],
                "waits": ["parity", "selection", "credits", "room", "flight", "stop"],
                "ended": ["expand", "revisit", "terminal", "leaf", "noins", "full", "abort"],
            },
        )  # fmt: skip

    # ---- Requests
    def words(self) -> list[int]:
        """A request, right or wrong in some way."""
        rng, t = self.rng, self.tree
        stage, out = int(t.counters[tree.STAGE]), int(t.counters[tree.OUT])
        if stage == tree.NONE:
            op = Op.RESET if rng.random() < 0.5 else int(rng.integers(1, 7))
        elif stage == tree.EMPTY:
            op = Op.ROOT if rng.random() < 0.5 else int(rng.integers(1, 7))
        else:
            weights = np.array([30, 30, 0.4 if out else 2, 0.5, 1.5, 2])
            op = int(rng.choice(6, p=weights / weights.sum())) + 1
        worker = int(rng.integers(SIZE.w_max))
        wanted = {Op.SEL: False, Op.UPD: True}.get(Op(op))
        if wanted is not None and rng.random() < 0.9:
            some = [w for w in range(SIZE.w_max) if (t.edges[w] >= 0) == wanted]
            worker = int(rng.choice(some)) if some else worker
        flags = new_id = value = legal = 0
        top = int(t.settings[tree.F_ACT]) if stage else 3
        if op == Op.SEL:
            new_id = NO_ID if rng.random() < 0.3 else int(rng.integers(1, SIZE.x))
        elif op == Op.UPD:
            value = int(rng.integers(1 << 24))
            flags = (0, Flag.ACT, Flag.ACT | Flag.EXT, Flag.TERM, Flag.EXT)[int(rng.integers(5))]
            flags |= Flag.ALT * int(rng.integers(2))
            legal = int(rng.integers(1 << top)) if flags & Flag.ACT else 0
        elif op == Op.ROOT:
            flags = Flag.ACT | Flag.EXT * int(rng.integers(2))
            legal = int(rng.integers(1, 1 << top))
        worker = worker if op in (Op.SEL, Op.UPD) else 0
        words = [op | flags << 4 | worker << 8 | (new_id & 0xFF) << 24, new_id >> 8 | value << 8,
                 legal, int(rng.integers(1 << 16))]  # fmt: skip
        if rng.random() < 0.2:
            kind = int(rng.integers(10))
            if kind == 0:
                words[0] = words[0] & ~15 | int(rng.choice([0, 7, 8, 15]))
            elif kind in (1, 2):
                words[0] ^= 1 << int(rng.integers(4, 32))
            elif kind == 3:
                words[1] ^= 1 << int(rng.integers(32))
            elif kind == 4:
                words[2] ^= 1 << int(rng.integers(32))
            elif kind == 5:
                words[3] ^= 1 << int(rng.integers(16, 32))
            elif kind == 6:
                words[0] = words[0] & ~0xFFF00 | int(rng.choice([4, 5, 2048, 4095])) << 8
            elif kind == 7:
                new_id = int(rng.choice([0, SIZE.x, 0xFFFE, SIZE.x - 1]))
                words[0] = words[0] & 0xFF_FFFF | (new_id & 0xFF) << 24
                words[1] = words[1] & ~0xFF | new_id >> 8
            elif kind == 8:
                words[2] = 0
            else:
                words[0] ^= Flag.ACT << 4
        return words

    def error(self) -> int:
        """What the golden model says of the request."""
        assert self.request is not None
        words = np.zeros((3, 4), np.int64)
        words[0] = self.request["words"]
        self.tree.sizes[3] = self.request["root"]
        there = 1 if self.request["cut"] else 3
        return int(tree._check.py_func(self.tree, words, 0, there))

    # ---- A clock
    def clock(self, *, new: float = 0.9, ready: float = 0.8, stop: bool = False) -> None:
        rng = self.rng
        self.now += 1
        while self.young and self.young[0][0] < self.now - 2:
            self.flying.append(self.young.popleft()[1])
        if self.request is None and rng.random() < new:
            self.request = {
                "words": self.words(), "priors": int(rng.integers(1 << 48)),
                "cut": bool(rng.random() < 0.1), "root": bool(rng.random() < 0.8),
                "list": int(rng.integers(16)),
            }  # fmt: skip
            self.waited = 0
        if self.rng.random() < 0.05:
            self.settings = SETTINGS.pack(
                puct=int(rng.integers(2)), f_act=int(rng.integers(2, 4)), d_act=4,
                vl=int(rng.integers(1 << 24)), fpu=int(rng.integers(1 << 24)),
            )  # fmt: skip
        given: dict[str, int] = {
            "stop_i": stop, "settings_i": self.settings, "room_i": rng.random() < 0.9,
            "out_ready_i": rng.random() < ready, "response_ready_i": rng.random() < ready,
            "silent_i": self.silent > 0 and rng.random() < 0.3, "root_done_i": self.done,
            "root_failed_i": self.failed,
        }  # fmt: skip
        if self.request is not None:
            words = self.request["words"]
            given |= {
                "request_valid_i": 1, "request_i": sum(w << 32 * k for k, w in enumerate(words)),
                "request_priors_i": self.request["priors"], "request_cut_i": self.request["cut"],
                "request_root_i": self.request["root"], "request_list_i": self.request["list"],
            }  # fmt: skip
        back = None
        if self.flying and rng.random() < 0.4:
            back = self.flying[int(rng.integers(len(self.flying)))]
            given |= {"retire_valid_i": 1, "retire_token_i": TOKEN.pack(**back)}
        out = step(self.sim, **given)
        assert out["flight_o"] == self.flight
        if self.kept is not None:
            assert out["settings_o"] == self.kept
        self._request(given, out)
        self._retire(back, given, out)
        self._responses(given, out)

    def _request(self, given: dict[str, int], out: dict[str, int]) -> None:
        """What becomes of the request in this clock."""
        request = self.request
        sent = bool(out["out_valid_o"] and given["out_ready_i"])
        took = bool(request is not None and out["request_ready_o"])
        pulses = {"select_o": 0, "update_o": 0, "new_token_o": 0, "reserve_o": 0, "new_tree_o": 0,
                  "prior_write_o": int(sent), "root_start_o": 0}  # fmt: skip
        if request is None:
            assert not out["out_valid_o"] and not out["request_ready_o"]
        else:
            w0, _, _, w3 = request["words"]
            op, flags, worker = w0 & 15, w0 >> 4 & 15, w0 >> 8 & 0xFFF
            error = self.error()
            may = given["room_i"] and not given["stop_i"]
            still = not self.flight
            index = worker % SIZE.w_max
            own = False
            if error or op not in (Op.SEL, Op.UPD, Op.ROOT):
                assert not out["out_valid_o"]
                own = bool(may)
                if not error:
                    own = own and (self.reading and self.done if op == Op.READ_ROOT else still)
            elif op == Op.ROOT:
                assert bool(out["out_valid_o"]) == bool(
                    may and self.flight < SIZE.t and self.planted < 2
                )
                own = bool(may and self.planted == 2 and still)
            else:
                blocked = self._blocked(op, index)
                goes = may and self.flight < SIZE.t and not blocked
                assert bool(out["out_valid_o"]) == bool(goes)
                assert took == sent
                if may and self.flight == SIZE.t and not blocked:
                    self.tally.hit("waits", "credits")
            if not given["room_i"] and not given["stop_i"]:
                self.tally.hit("waits", "room")
            if given["stop_i"]:
                self.tally.hit("waits", "stop")
            if not error and op in (Op.RESET, Op.FENCE) and may and not still:
                self.tally.hit("waits", "flight")
            if took and not sent:
                assert own
            self.waited = self.waited + 1 if own and given["response_ready_i"] else 0
            assert self.waited < 12, f"a request is not taken: {request}"
            if sent:
                self._token(op, flags, index, out, pulses)
            if not error and op == Op.READ_ROOT and may and still and not self.reading:
                pulses["root_start_o"] = 1
            assert out["refused_o"] == (own and error != 0)
            aborts = own and not error and op == Op.READ_ROOT and self.failed
            assert out["abort_o"] == aborts
            if took and not sent:
                pulses["reserve_o"] = 1
                code = error or (E_BUS_WR if aborts else OK)
                self.own.append(
                    {"code": code, "tag": w3 & 0xFFFF, "worker": worker if error else 0}
                )
                self.begun += 1
                if error:
                    self.tally.hit("error", _name(error))
                else:
                    self._done(op, pulses)
                if aborts:
                    self.tally.hit("ended", "abort")
            if took:
                self.done_ops.add(op)
                self.request = None
        assert {name: out[name] for name in pulses} == pulses
        if out["root_start_o"]:
            self.reading, self.done = True, False
        elif self.reading and not self.done and self.rng.random() < 0.2:
            self.done, self.failed = True, bool(self.rng.random() < 0.2)
        self.flight += sent - given["silent_i"]
        self.silent -= given["silent_i"]

    def _blocked(self, op: int, index: int) -> bool:
        """Whether a worker's tokens keep its request from the tree."""
        mine = [
            x
            for x in [*self.flying, *self.leaving, *(t for _, t in self.young)]
            if x["worker"] == index
        ]
        if op == Op.UPD:
            blocked = any(x["op"] != OP_UPD for x in mine)
            if blocked:
                self.tally.hit("waits", "selection")
            return blocked
        last = self.parity[index]
        blocked = any(x["op"] == OP_UPD and x["parity"] != last for x in mine)
        if blocked:
            self.tally.hit("waits", "parity")
        return blocked

    def _token(
        self, op: int, flags: int, index: int, out: dict[str, int], pulses: dict[str, int]
    ) -> None:
        """A token that goes into the tree."""
        assert self.request is not None
        w0, w1, w2, _ = self.request["words"]
        token, t = TOKEN.unpack(out["out_token_o"]), self.tree
        want: dict[str, int] = {
            "op": OP_SEL, "done": 0, "level": 0, "worker": index, "parity": token["parity"],
            "list": self.request["list"], "address": 0, "action": 0, "code": 0,
        }  # fmt: skip
        alternate = flags >> 2 & 1
        update = UPDATE.pack(
            value=w1 >> 8, negate=alternate & ~self.odd[index], alternate=alternate,
            activate=flags & 1, terminal=flags >> 1 & 1,
        )  # fmt: skip
        row = index << 1 | token["parity"]
        if op == Op.ROOT:
            first = self.planted == 0
            want |= {"op": OP_INS if first else OP_UPD, "done": 1, "worker": 0, "parity": 0}
            rest = SELECT.pack() if first else UPDATE.pack(activate=1)
            self.planted += 1
            self.silent += 1
            row = 0
        elif op == Op.SEL:
            rest = SELECT.pack(new_id=w0 >> 24 | (w1 & 0xFF) << 8)
            last = self.parity[index]
            assert last is None or token["parity"] != last
            self.parity[index] = token["parity"]
            self.tags[index] = self.request["words"][3] & 0xFFFF
            pulses |= {"select_o": 1, "new_token_o": 1, "reserve_o": 1}
            t.edges[index] = 1
            t.counters[tree.OUT] += 1
            self.tally.hit("op", "sel")
        else:
            want["op"], rest = OP_UPD, update
            assert token["parity"] == self.parity[index]
            pulses |= {"update_o": 1, "new_token_o": 1}
            t.edges[index] = -1
            t.counters[tree.OUT] -= 1
            self.tally.hit("op", "upd")
        assert token == want | {"rest": rest}
        priors = self.request["priors"] if flags & Flag.EXT else 0
        got = out["prior_row_o"], out["prior_legal_o"], out["priors_o"]
        assert got == (row, w2 & 7, priors)
        if op != Op.ROOT:
            self.young.append((self.now, self._fate(token)))

    def _fate(self, token: dict[str, int]) -> dict[str, int]:
        """A token as it will retire."""
        rng = self.rng
        if token["op"] == OP_UPD:
            return token | {"done": 1, "code": int(rng.integers(3))}
        rest = SELECT.pack(new_id=int(rng.integers(1 << 16)), parent=int(rng.integers(1 << 16)))
        code = int(rng.integers(6))
        return token | {
            "op": OP_INS if code == 0 else OP_SEL, "done": 1, "code": code, "rest": rest,
            "level": int(rng.integers(64)), "action": int(rng.integers(32)),
        }  # fmt: skip

    def _done(self, op: int, pulses: dict[str, int]) -> None:
        """A request that needed no token, or has had them."""
        t = self.tree
        self.tally.hit("op", Op(op).name.lower())
        if op == Op.RESET:
            pulses["new_tree_o"] = 1
            self.kept = self.settings
            found = SETTINGS.unpack(self.settings)
            t.settings[tree.PUCT], t.settings[tree.F_ACT] = found["puct"], found["f_act"]
            t.counters[tree.STAGE] = tree.EMPTY
        elif op == Op.ROOT:
            t.counters[tree.STAGE] = tree.PLANTED
        self.planted, self.reading, self.done = 0, False, False

    def _retire(
        self, back: dict[str, int] | None, given: dict[str, int], out: dict[str, int]
    ) -> None:
        """Tokens that come back, and the one before them that leaves."""
        leaves = out["old_token_o"]
        if leaves:
            token = self.leaving.popleft()
            self.flight -= 1
            assert out["old_list_o"] == token["list"]
            assert out["insert_o"] == (token["op"] == OP_INS)
            assert out["full_o"] == (token["op"] == OP_SEL and token["code"] == FULL)
            if token["op"] != OP_UPD:
                rest, index = SELECT.unpack(token["rest"]), token["worker"]
                insert = token["op"] == OP_INS
                self.late.append({
                    "tag": self.tags[index], "parent": rest["parent"],
                    "new_id": rest["new_id"] if insert else NO_ID,
                    "node": rest["parent"] if insert else rest["new_id"],
                    "action": token["action"], "depth": token["level"], "worker": index,
                    "code": int(Error.E_FULL) if token["code"] == FULL else token["code"],
                })  # fmt: skip
                self.begun += 1
                self.odd[index] = token["level"] & 1
                names = ("expand", "revisit", "terminal", "leaf", "noins", "full")
                self.tally.hit("ended", names[token["code"]])
        else:
            assert not out["insert_o"] and not out["full_o"]
        if back is not None and out["retire_ready_o"]:
            assert not self.leaving
            self.flying.remove(back)
            self.leaving.append(back)

    def _responses(self, given: dict[str, int], out: dict[str, int]) -> None:
        """What the host is told: each of the two streams in order."""
        self.came += out["responses_o"]
        assert self.came == self.begun
        if out["response_valid_o"] and given["response_ready_i"]:
            found = RESPONSE.unpack(out["response_o"])
            for stream in (self.own, self.late):
                if stream and RESPONSE.unpack(RESPONSE.pack(**stream[0])) == found:
                    stream.popleft()
                    return
            raise AssertionError(f"response {found}: want {self.own} or {self.late}")


def _name(error: int) -> str:
    names = {int(code): code.name for code in [*Error, *header.Error]}
    return names[error]


@builds(lambda: front(1))
def test_front_by_the_golden_model(seed: int) -> None:
    """Requests of all kinds, right and wrong; tokens that retire in any order; stops and resets."""
    f = Front(seed)
    for now in range(scale(24_000, 8000)):
        phase = now // 400 % 4
        f.clock(
            new=(0.95, 0.5)[phase & 1], ready=(0.9, 0.9, 0.3, 1.0)[phase],
            stop=phase == 1 and now % 400 < 30,
        )  # fmt: skip
    for _ in range(200):
        f.clock(new=0.0, ready=1.0)
    assert f.request is None and not f.flying and not f.late and not f.own and not f.flight
    # A soft reset in mid-traffic: all workers are idle, and there is no tree.
    for _ in range(60):
        f.clock()
    step(f.sim, clear_i=1, stop_i=1)
    for worker in range(SIZE.w_max):
        out = step(f.sim, request_valid_i=1, request_i=2 | worker << 8, room_i=1)
        assert out["refused_o"] and not out["flight_o"] and not out["old_token_o"]
        while not out["request_ready_o"]:
            out = step(
                f.sim, request_valid_i=1, request_i=2 | worker << 8, room_i=1, response_ready_i=1
            )
    f.tally.save(CORE, f"front-{seed}")
    f.tally.require()
