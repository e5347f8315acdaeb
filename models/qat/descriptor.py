"""Descriptors of the qat engine: opcodes, flags, fields, and the bits that must be zero.

Source: docs/qat.md (jobs).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

BEAT = 64
WORD = 0xFFFF_FFFF
HIGH = 0xFFFF_FF00  # bits above 39 in the upper word of an address
RECORDS, STATE, ACTION, LIST = 2, 4, 6, 10  # words of addresses; MEMORY is where RECORDS is
MEMORY = 2
LIST_BYTES, PAIR_BYTES = 16, 8  # of an entry
REGIONS = 5
SECOND_REGION = 4  # V, whose words have 64 bits


class Opcode(IntEnum):
    """Jobs."""

    NET = 0x01
    LOAD = 0x02
    STORE = 0x03
    INFER = 0x10
    TRAIN = 0x11
    FW = 0x20
    DX = 0x21
    DW = 0x22
    ADAM = 0x23
    PUTX = 0x24
    GETX = 0x25
    QUANT = 0x30
    SEED = 0x31


class Flag(IntFlag):
    """Flags of TRAIN; others have some of them."""

    NOISE = 1
    CRITIC = 2
    ACTOR = 4
    TARGETS = 8
    AFTER = 16
    WITH = 32
    LIST = 64
    WEIGHTS = 128


FLAGS = {
    Opcode.INFER: Flag.NOISE,
    Opcode.TRAIN: Flag(0xFF),
    Opcode.ADAM: Flag.TARGETS,
    Opcode.SEED: Flag(1),
}
LAYER_JOBS = (Opcode.FW, Opcode.DX, Opcode.DW)
LINE_JOBS = (Opcode.LOAD, Opcode.STORE)
SLOT_JOBS = (Opcode.PUTX, Opcode.GETX)


@dataclass(frozen=True)
class Job:
    """A descriptor's fields; those of other jobs have no meaning.

    Attributes:
        words: [16] of the descriptor.
    """

    words: tuple[int, ...]

    @classmethod
    def decode(cls, words: np.ndarray) -> Job:
        return cls(tuple(int(word) for word in words[:16]))

    @property
    def opcode(self) -> Opcode:
        return Opcode(self.words[0] & 0xFF)

    @property
    def flags(self) -> Flag:
        return Flag(self.words[0] >> 8 & 0xFF)

    def address(self, word: int) -> int:
        """The address in two words."""
        return self.words[word] | self.words[word + 1] << 32

    @property
    def acts(self) -> bool:
        """Whether it chooses an action."""
        both = Flag.AFTER | Flag.WITH
        return self.opcode == Opcode.INFER or (
            self.opcode == Opcode.TRAIN and bool(self.flags & both)
        )

    @property
    def batch(self) -> int:
        return self.words[14] & 0xFFFF

    @property
    def chunk(self) -> int:
        return self.words[14] >> 16

    @property
    def critic_scale(self) -> int:
        """lc, signed."""
        field = self.words[15] & 31
        return field - 32 if field >= 16 else field

    @property
    def actor_scale(self) -> int:
        """la."""
        return self.words[15] >> 8 & 31

    @property
    def network(self) -> int:
        return self.words[8] & 1

    @property
    def layer(self) -> int:
        return self.words[8] >> 4 & 15

    @property
    def target(self) -> bool:
        return bool(self.words[8] >> 8 & 1)

    @property
    def core(self) -> int:
        return self.words[8] & 15

    @property
    def deltas(self) -> bool:
        """Whether lines of DEL are meant, not of ACT."""
        return bool(self.words[8] >> 4 & 1)


def reserved(job: Job) -> list[int]:
    """The bits of every word that must be 0."""
    opcode, flags = job.opcode, job.flags
    out = [WORD] * 16
    out[0] = 0x3FFF_0000 | (~FLAGS.get(opcode, Flag(0)) & 0xFF) << 8
    out[1] = 0

    def pointer(word: int) -> None:
        out[word], out[word + 1] = 0, HIGH

    if opcode in (Opcode.NET, *LINE_JOBS, *SLOT_JOBS):
        pointer(MEMORY)
    if opcode in LINE_JOBS:
        out[8], out[9], out[10] = ~7 & WORD, 0, 0
    elif opcode in SLOT_JOBS:
        out[8], out[9], out[10], out[11] = ~0x1F & WORD, 0, 0, 0
    elif opcode in LAYER_JOBS:
        out[8] = ~(0x1F1 if opcode == Opcode.FW else 0xF1) & WORD
        out[9] = out[10] = out[11] = 0
    elif opcode == Opcode.ADAM:
        out[8], out[9] = ~1 & WORD, 0
    elif opcode == Opcode.SEED:
        out[4:12] = [0] * 8
        if flags & 1:
            pointer(MEMORY)
    elif opcode == Opcode.TRAIN:
        pointer(RECORDS)
        out[8] = 0 if flags & Flag.CRITIC else WORD
        out[9] = 0 if flags & Flag.ACTOR else WORD
        if flags & Flag.LIST:
            pointer(LIST)
            out[12] = 0
        out[13] = out[14] = 0
        out[15] = ~0x1F1F & WORD
        if not job.acts:
            out[0] |= Flag.NOISE << 8
    if job.acts:
        pointer(STATE)
        pointer(ACTION)
    return out


def aligned(job: Job) -> list[int]:
    """The words that must be multiples of 64."""
    opcode = job.opcode
    out = []
    if opcode in (Opcode.NET, *LINE_JOBS, *SLOT_JOBS, Opcode.TRAIN):
        out.append(MEMORY)
    if opcode == Opcode.SEED and job.flags & 1:
        out.append(MEMORY)
    if job.acts:
        out += [STATE, ACTION]
    if opcode == Opcode.TRAIN:
        out += [LIST] * bool(job.flags & Flag.LIST) + [13]
    return out
