"""Ports of the mcts engine's blocks as data: structs, words, clocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from verif.play import Player


class Struct:
    """A packed struct: fields with their bits, the first one highest."""

    def __init__(self, **fields: int) -> None:
        self.fields = fields
        self.bits = sum(fields.values())

    def pack(self, **values: int) -> int:
        """The bits of a struct; fields that are not given are 0, and numbers below 0 wrap."""
        unknown = set(values) - set(self.fields)
        assert not unknown, f"no field {unknown}"
        word = 0
        for name, bits in self.fields.items():
            word = word << bits | int(values.get(name, 0)) & (1 << bits) - 1
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """The fields of a struct."""
        out, at = {}, self.bits
        for name, bits in self.fields.items():
            at -= bits
            out[name] = word >> at & (1 << bits) - 1
        return out


TOKEN = Struct(
    op=2, done=1, level=6, worker=12, parity=1, list=4, address=14, action=5, code=3, rest=47
)
SELECT = Struct(slot_valid=1, slot=14, new_id=16, parent=16)
UPDATE = Struct(value=24, negate=1, alternate=1, activate=1, terminal=1, zero=19)
SETTINGS = Struct(puct=1, first=1, f_act=6, d_act=7, vl=24, fpu=24, policy=2)
RESPONSE = Struct(tag=16, parent=16, new_id=16, node=16, action=5, depth=6, worker=12, code=7)
JOB = Struct(job=4, list=1, error=8, info0=32, info1=32, slots=17, address=40, root=40)
END = Struct(job=4, list=1, error=8, refused=16, executed=32, info0=32, info1=32)
TABLE = Struct(valid=1, r=1, index=10, data=26)
OP_SEL, OP_UPD, OP_INS = range(3)  # of a token
KIND_END, KIND_EDGE, KIND_LAST = range(3)


def pack(rows: np.ndarray, bits: int) -> np.ndarray:
    """Rows of numbers, [n, k], as words of a port, the first number in the low bits."""
    total = rows.shape[1] * bits
    out = np.zeros((len(rows), -(-total // 32)), np.uint32)
    for at, row in enumerate(rows.tolist()):
        word = sum((int(x) & (1 << bits) - 1) << bits * k for k, x in enumerate(row))
        out[at] = np.frombuffer(word.to_bytes(4 * out.shape[1], "little"), np.uint32)
    return out


def unpack(words: np.ndarray, bits: int, count: int) -> list[int]:
    """A port's words as signed numbers."""
    word = number(words)
    fields = [word >> bits * k & (1 << bits) - 1 for k in range(count)]
    return [x - (x >> bits - 1 << bits) for x in fields]


def words_of(value: int, bits: int) -> np.ndarray:
    """A number as words of a port."""
    return np.frombuffer(value.to_bytes(-(-bits // 32) * 4, "little"), np.uint32)


def number(words: np.ndarray) -> int:
    """A port's words as a number."""
    return int.from_bytes(np.atleast_1d(words).astype(np.uint32).tobytes(), "little")


def clock(sim: Player, **inputs: Any) -> dict[str, np.ndarray]:
    """A clock with these inputs, numbers or rows of words."""
    return sim.run(1, **{name: np.atleast_1d(value) for name, value in inputs.items()})


def step(sim: Player, **inputs: int) -> dict[str, int]:
    """A clock with inputs and outputs as numbers, whatever their width."""
    found = sim.run(
        1, **{name: words_of(int(x), sim.block.inputs[name]) for name, x in inputs.items()}
    )
    return {name: number(words) for name, words in found.items()}


def pick(rng: np.random.Generator, *options: Any) -> int:
    """One of several numbers."""
    return int(options[rng.integers(len(options))])
