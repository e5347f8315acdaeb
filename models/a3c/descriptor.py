"""Task descriptors: their fields, their words and the checks that need no memory.

Source: a3c 10.1, 10.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from models.a3c.layout import parameter_slot_bytes
from models.a3c.network import BEAT_BYTES, SLOT_BYTES, Geometry, Network
from models.a3c.validate import DESCRIPTOR_WORDS
from models.engine import beyond
from models.registers.a3c import Error

TASK_WORDS = 32
INF, TRAIN, SYNC, NET_LOAD = 1, 2, 3, 4
RING_INF, RING_TRN, RING_ADM = range(3)
OPCODES = {RING_INF: (INF,), RING_TRN: (TRAIN,), RING_ADM: (SYNC, NET_LOAD)}
FLAG_SAVE_MAPS, FLAG_BOOTSTRAP, FLAG_ORDERED = 1, 4, 8
FLAGS = {INF: FLAG_SAVE_MAPS | FLAG_BOOTSTRAP, TRAIN: 0, SYNC: FLAG_ORDERED, NET_LOAD: 0}
ROLE_INFERENCE, ROLE_TRAINING = 1, 2
RECORDS_OFFSET = BEAT_BYTES  # from the hyper-parameters to the objective's gradients
DESCRIPTOR_BYTES = -(-4 * DESCRIPTOR_WORDS // BEAT_BYTES) * BEAT_BYTES  # that NET_LOAD reads
FA3C, ALT1, ALT2, NO_LAYOUT = range(4)  # of the parameters; Alt1 differs in its clocks alone
MAPS_WORD = 16  # first word of the addresses of feature maps

_THETA, _SOURCE, _TARGET, _G_SOURCE, _G_TARGET, _OBJECTIVE = 2, 4, 6, 8, 10, 12
_ADDRESSES = {
    INF: (_THETA,),
    TRAIN: (_THETA, _SOURCE, _TARGET, _G_SOURCE, _G_TARGET, _OBJECTIVE),
    SYNC: (_SOURCE, _TARGET),
    NET_LOAD: (_THETA,),
}


@dataclass(frozen=True)
class Task:
    """The fields of a task descriptor; what an opcode does not have is 0 or empty.

    Attributes:
        opcode: INF, TRAIN, SYNC or NET_LOAD.
        tag: given back in the completion record.
        flags: FLAG_*.
        network: network slot.
        theta: parameters of the forward pass and BW; of NET_LOAD the network descriptor.
        source, target: parameters to update or copy, and where the result goes.
        g_source, g_target: mean squares before and after the update.
        objective: hyper-parameters, and RECORDS_OFFSET after them a record a sample: gradient of
            the objective, laid out as the last feature map.
        maps: sets of feature maps, one a sample.
        stop, interrupt: the ring halts after the task, an interrupt is asked for.
    """

    opcode: int
    tag: int = 0
    flags: int = 0
    network: int = 0
    theta: int = 0
    source: int = 0
    target: int = 0
    g_source: int = 0
    g_target: int = 0
    objective: int = 0
    maps: tuple[int, ...] = ()
    stop: bool = False
    interrupt: bool = False

    def encode(self) -> np.ndarray:
        """Return the descriptor, [32] uint32."""
        out = np.zeros(TASK_WORDS, np.uint32)
        out[0] = (
            self.opcode
            | self.flags << 8
            | self.network << 16
            | len(self.maps) << 20
            | self.stop << 30
            | self.interrupt << 31
        )
        out[1] = self.tag
        places = (self.theta, self.source, self.target, self.g_source, self.g_target)
        for index, address in enumerate((*places, self.objective)):
            out[2 + 2 * index : 4 + 2 * index] = address & 0xFFFF_FFFF, address >> 32
        for index, address in enumerate(self.maps):
            at = MAPS_WORD + 2 * index
            out[at : at + 2] = address & 0xFFFF_FFFF, address >> 32
        return out

    @classmethod
    def decode(cls, words: np.ndarray) -> Task:
        """Inverse of encode; nothing is checked."""
        w = [int(x) for x in words]
        places = [w[at] | w[at + 1] << 32 for at in range(2, TASK_WORDS, 2)]
        theta, source, target, g_source, g_target, objective = places[:6]
        first = (MAPS_WORD - 2) // 2
        return cls(
            opcode=w[0] & 0xFF,
            tag=w[1],
            flags=w[0] >> 8 & 0xFF,
            network=w[0] >> 16 & 15,
            theta=theta,
            source=source,
            target=target,
            g_source=g_source,
            g_target=g_target,
            objective=objective,
            maps=tuple(places[first : first + (w[0] >> 20 & 15)]),
            stop=bool(w[0] >> 30 & 1),
            interrupt=bool(w[0] >> 31),
        )


class TaskError(Exception):
    """A task ends with an error.

    Attributes:
        code: error code.
        info0: the descriptor's word (ERR_INFO0); of NET_LOAD the layer, if info1 is FROM_NETWORK.
        info1: ERR_INFO1.
        ticket: the ticket it had taken, 0 for none.
    """

    def __init__(self, code: Error, info0: int = 0, info1: int = 0, ticket: int = 0) -> None:
        super().__init__(f"{code.name} {info0} {info1}")
        self.code = code
        self.info0 = info0
        self.info1 = info1
        self.ticket = ticket


FROM_NETWORK = 4  # bit 2 of ERR_INFO1: the rule is one of the network descriptor


@dataclass(frozen=True)
class Window:
    """What a task may touch.

    Attributes:
        base, limit: first byte, and first byte after.
    """

    base: int = 0
    limit: int = 0


@dataclass(frozen=True)
class Extent:
    """A range of memory that a task names.

    Attributes:
        word: of the descriptor, where its address stands.
        start, size: bytes.
        written: the task writes there.
    """

    word: int
    start: int
    size: int
    written: bool = False

    def meets(self, other: Extent) -> bool:
        """The two have a byte in common."""
        return self.start < other.start + other.size and other.start < self.start + self.size


def extents(task: Task, network: Network | None, second: bool = False) -> list[Extent]:
    """Return the ranges that a task names, in the order of the descriptor's words.

    Args:
        network: of its slot; not looked at by NET_LOAD.
        second: parameters have a second image after the first.
    """
    if task.opcode == NET_LOAD or network is None:
        return [Extent(_THETA, task.theta, DESCRIPTOR_BYTES)]
    squares = network.parameter_bytes
    size = squares + (parameter_slot_bytes(network) if second else 0)
    records = RECORDS_OFFSET + len(task.maps) * BEAT_BYTES * network.regions[-1].rows
    maps = [
        Extent(MAPS_WORD + 2 * n, start, network.feature_bytes, task.opcode == INF)
        for n, start in enumerate(task.maps)
    ]
    if task.opcode == SYNC:
        return [Extent(_SOURCE, task.source, size), Extent(_TARGET, task.target, size, True)]
    theta = Extent(_THETA, task.theta, size)
    if task.opcode == INF:
        return [theta, *maps]
    return [
        theta,
        Extent(_SOURCE, task.source, size),
        Extent(_TARGET, task.target, size, True),
        Extent(_G_SOURCE, task.g_source, squares),
        Extent(_G_TARGET, task.g_target, squares, True),
        Extent(_OBJECTIVE, task.objective, records),
        *maps,
    ]


def check(
    words: np.ndarray,
    ring: int,
    geometry: Geometry,
    network: Callable[[int], Network | None],
    window: Window,
    roles: int,
    layout: int = FA3C,
) -> Task:
    """Check and decode a descriptor: the first rule that is broken decides.

    Args:
        words: [32] uint32.
        ring: where it came from.
        geometry: the build.
        network: the network of a slot, None of an empty one.
        window: what the task may touch.
        roles: ROLE_* that some compute unit has.
        layout: of the parameters; with NO_LAYOUT only networks can be loaded.
    Raises: TaskError.
    """
    w = [int(x) for x in words]
    opcode = w[0] & 0xFF
    if opcode not in OPCODES.get(ring, ()):
        raise TaskError(Error.E_OPCODE)
    task = Task.decode(words)
    samples = w[0] >> 20 & 15
    for word, reserved in enumerate(_reserved(opcode, samples)):
        if w[word] & reserved:
            raise TaskError(Error.E_RESERVED, word)
    net = network(task.network) if task.network < geometry.n_net else None
    if task.network >= geometry.n_net or (net is None and opcode != NET_LOAD):
        raise TaskError(Error.E_NET)
    if opcode in (INF, TRAIN) and not 1 <= samples <= geometry.nb_max:
        raise TaskError(Error.E_NB)
    if layout == NO_LAYOUT and opcode != NET_LOAD:
        raise TaskError(Error.E_LAYOUT)
    ranges = extents(task, net, layout == ALT2)
    for extent in ranges:
        whole = extent.word < _OBJECTIVE and opcode != NET_LOAD
        if extent.start % (SLOT_BYTES if whole else BEAT_BYTES):
            raise TaskError(Error.E_ALIGN, extent.word)
    for extent in ranges:
        outside = extent.start < window.base or extent.start + extent.size > window.limit
        if outside or beyond(extent.start, extent.size):
            raise TaskError(Error.E_ADDR, extent.word)
    for one, other in _conflicts(ranges):
        raise TaskError(Error.E_OVERLAP, other.word, one.word << 8)
    needed = {INF: ROLE_INFERENCE, TRAIN: ROLE_TRAINING}.get(opcode, 0)
    if needed & ~roles:
        raise TaskError(Error.E_ROLE)
    return task


def _reserved(opcode: int, samples: int) -> list[int]:
    """Return the bits of every word that must be 0.

    A batch above 8 has its own error, so its addresses are not looked at.
    """
    out = [0xFFFF_FFFF] * TASK_WORDS
    batch = opcode in (INF, TRAIN)
    out[0] = 0x3F00_0000 | (~FLAGS[opcode] & 0xFF) << 8 | (0 if batch else 0xF0_0000)
    out[1] = 0
    maps = [MAPS_WORD + 2 * n for n in range(min(samples, 8))] if batch else []
    for word in (*_ADDRESSES[opcode], *maps):
        out[word] = 0
        out[word + 1] = 0xFFFF_FF00
    return out


def _conflicts(ranges: list[Extent]) -> Iterator[tuple[Extent, Extent]]:
    """Yield the pairs that share memory of which one is written.

    An update or a copy in place is no conflict: source and target are then the same range.
    """
    pairs = {(_SOURCE, _TARGET), (_G_SOURCE, _G_TARGET)}
    for one, other in combinations(ranges, 2):
        in_place = (one.word, other.word) in pairs and one.start == other.start
        if (one.written or other.written) and one.meets(other) and not in_place:
            yield one, other
