"""What crosses the boundary of the mcts engine: build, settings, jobs, requests and responses.

Source: docs/mcts.md (jobs, requests, responses).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

SLOT_BYTES = 16  # of a request and of a response
BEAT_SLOTS = 4
BEAT = SLOT_BYTES * BEAT_SLOTS
PRIORS_OF_SLOT = 8
TABLE_WORDS = 1024  # of G, and of R
MOST_SLOTS = 65536  # of a list
NO_ID = 0xFFFF  # new_id of a selection that must not insert; new id of a response without one
VALUE_FRAC = 20  # bits of fraction of values and scores
VALUE_MOST = (1 << 23) - 1
PRIOR_FRAC = 16
QUEUE_LOG2 = (4, 16)  # entries of the completion queue


class Opcode(IntEnum):
    """Jobs."""

    LIST = 1
    TABLES = 2


class Op(IntEnum):
    """Requests."""

    SEL = 1
    UPD = 2
    RESET = 3
    ROOT = 4
    READ_ROOT = 5
    FENCE = 6


class Flag(IntFlag):
    """Flags of a request."""

    ACT = 1
    TERM = 2
    ALT = 4
    EXT = 8


class Code(IntEnum):
    """How a request ended; from 8 on, error codes of the engine."""

    EXPAND = 0
    REVISIT = 1
    TERMINAL = 2
    LEAF = 3
    NOINS = 4
    OK = 5


REFUSED = 8  # codes from here on are errors


@dataclass(frozen=True)
class Geometry:
    """A build.

    Attributes:
        d: levels of a tree, the root's among them; stages; ports.
        f: children of a node.
        y, cap: banks, and node entries of a bank.
        x: node ids.
        fr, fp: comparison-lookup factors of the root unit and of the ports.
        xbar: crossbars instead of butterflies.
        w_max: workers.
        t: tokens in flight.
        sf: slots that each level keeps ready.
        mu: multipliers for scores of a port.
    """

    d: int = 32
    f: int = 6
    y: int = 128
    cap: int = 128
    x: int = 10_000
    fr: int = 6
    fp: int = 6
    xbar: int = 1
    w_max: int = 256
    t: int = 512
    sf: int = 32
    mu: int = 6

    @property
    def entries(self) -> int:
        """Node entries of all banks; the root's is beside them."""
        return self.y * self.cap

    @property
    def ext_slots(self) -> int:
        """Slots of a row of priors."""
        return -(-self.f // PRIORS_OF_SLOT)


REQUEST = np.dtype(
    [
        ("op", np.uint8),
        ("flags", np.uint8),
        ("worker", np.uint16),
        ("new_id", np.uint16),
        ("value", np.float64),
        ("legal", np.uint32),
        ("tag", np.uint16),
    ]
)
"""A request; the value is rounded to 20 bits of fraction, and saturated to -8..8 - 2**-20."""

RESPONSE = np.dtype(
    [
        ("code", np.uint8),
        ("worker", np.uint16),
        ("depth", np.uint8),
        ("action", np.uint8),
        ("node", np.uint16),
        ("new_id", np.uint16),
        ("parent", np.uint16),
        ("tag", np.uint16),
        ("stamp", np.uint32),
    ]
)
"""A response. `depth` is the number of edges taken. `action` is the last of them, `parent` the node
that it leaves, and `node` the node in which the selection stopped."""


def to_value(value: np.ndarray | float) -> np.ndarray:
    """Values as the engine has them: int64 with 20 bits of fraction."""
    fixed = np.rint(np.ldexp(np.asarray(value, np.float64), VALUE_FRAC))
    return np.clip(fixed, -VALUE_MOST - 1, VALUE_MOST).astype(np.int64)


def to_prior(prior: np.ndarray) -> np.ndarray:
    """Priors 0..1 as the engine has them: uint16 with 16 bits of fraction, at most 1 - 2**-16."""
    fixed = np.rint(np.ldexp(np.asarray(prior, np.float64), PRIOR_FRAC))
    return np.clip(fixed, 0, (1 << PRIOR_FRAC) - 1).astype(np.uint16)


def pack_requests(
    requests: np.ndarray, priors: np.ndarray | None, geometry: Geometry
) -> np.ndarray:
    """A list as it lies in memory.

    Args:
        requests: [n] REQUEST.
        priors: [n, up to F] uint16; the rows of requests with the flag EXT are taken. None: zeros.
        geometry: the build.
    Returns: [slots, 4] uint32.
    """
    flags = requests["flags"].astype(np.int64)
    ext = flags & Flag.EXT != 0
    sizes = np.where(ext, 1 + geometry.ext_slots, 1)
    first = np.cumsum(sizes) - sizes
    out = np.zeros((int(sizes.sum()), 4), np.uint32)
    new_id = requests["new_id"].astype(np.uint32)
    value = (to_value(requests["value"]) & 0xFF_FFFF).astype(np.uint32)
    head = requests["op"].astype(np.uint32) | flags.astype(np.uint32) << np.uint32(4)
    head |= requests["worker"].astype(np.uint32) << np.uint32(8)
    out[first, 0] = head | (new_id & np.uint32(0xFF)) << np.uint32(24)
    out[first, 1] = new_id >> np.uint32(8) | value << np.uint32(8)
    out[first, 2] = requests["legal"]
    out[first, 3] = requests["tag"]
    if priors is not None and ext.any():
        rows = np.zeros((int(ext.sum()), geometry.ext_slots * PRIORS_OF_SLOT), np.uint16)
        rows[:, : priors.shape[1]] = priors[ext]
        words = rows.view(np.uint32).reshape(-1, geometry.ext_slots, 4)
        for slot in range(geometry.ext_slots):
            out[first[ext] + 1 + slot] = words[:, slot]
    return out


def pack_responses(columns: np.ndarray, number: int, size_log2: int, stamp: int) -> np.ndarray:
    """Responses as they lie in the queue.

    Args:
        columns: [n, 8] int64: code, worker, depth, action, node, new id, parent, tag.
        number: of the first one.
        size_log2: of the queue.
        stamp: 32 bits of time.
    Returns: [n, 4] uint32.
    """
    code, worker, depth, action, node, new_id, parent, tag = columns.T
    phase = ~((number + np.arange(len(columns))) >> size_log2) & 1
    out = np.zeros((len(columns), 4), np.uint32)
    out[:, 0] = phase | code << 1 | worker << 8 | depth << 20 | action << 26
    out[:, 1] = node | new_id << 16
    out[:, 2] = parent | tag << 16
    out[:, 3] = stamp & 0xFFFF_FFFF
    return out


def unpack_responses(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Responses of the queue.

    Args:
        words: [n, 4] uint32.
    Returns: [n] RESPONSE and their phase bits [n].
    """
    out = np.zeros(len(words), RESPONSE)
    w0, w1, w2, w3 = words.T
    for name, value in (
        ("code", w0 >> 1 & 0x7F),
        ("worker", w0 >> 8 & 0xFFF),
        ("depth", w0 >> 20 & 0x3F),
        ("action", w0 >> 26 & 0x1F),
        ("node", w1 & 0xFFFF),
        ("new_id", w1 >> 16),
        ("parent", w2 & 0xFFFF),
        ("tag", w2 >> 16),
        ("stamp", w3),
    ):
        out[name] = value
    return out, w0 & 1
