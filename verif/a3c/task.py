"""jd_a3c_check under test: its ports, random tasks and what breaks their rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.a3c.descriptor import (
    ALT1,
    ALT2,
    FA3C,
    FLAGS,
    INF,
    NET_LOAD,
    OPCODES,
    SYNC,
    TRAIN,
    Extent,
    Task,
    TaskError,
    Window,
    check,
    extents,
)
from models.a3c.network import Geometry, Network
from verif.a3c.network import NETWORK, network_fields
from verif.play import Block, Player, words

LIMIT = 1000  # clocks of a check
PLACES = {2: "theta", 4: "source", 6: "target", 8: "g_source", 10: "g_target", 12: "objective"}


def block(g: Geometry) -> Block:
    """The module's ports in a build."""
    return Block(
        "jackdaw:engine:a3c_task",
        "jd_a3c_check",
        {
            "start_i": 1, "ring_i": 2, "descriptor_i": 1024,
            "networks_i": sum(NETWORK.values()) * g.n_net, "base_i": 40, "limit_i": 48,
            "roles_i": 2, "layout_i": 2,
        },
        {"busy_o": 1, "done_o": 1, "error_o": 8, "info0_o": 32, "info1_o": 32},
    )  # fmt: skip


def port(value: int, bits: int) -> np.ndarray:
    """A number as the words of a port."""
    return np.frombuffer(value.to_bytes(4 * words(bits), "little"), "<u4")


def networks_port(networks: list[Network | None]) -> int:
    """What the module is told of the networks."""
    value = 0
    for network in reversed(networks):
        fields = network_fields(network) if network else {"valid": 0}
        for name, bits in NETWORK.items():
            value = value << bits | fields.get(name, 0)
    return value


@dataclass(frozen=True)
class Case:
    """A task and all that its check looks at.

    Attributes:
        words: the descriptor, [32] uint32.
        ring: where it comes from.
        window: what it may name.
        roles: that some unit has.
        layout: of the parameters.
    """

    words: np.ndarray
    ring: int
    window: Window
    roles: int
    layout: int = FA3C

    def want(self, g: Geometry, networks: list[Network | None]) -> tuple[int, int, int]:
        """Error, ERR_INFO0 and ERR_INFO1 of the golden model."""
        try:
            check(
                self.words, self.ring, g, lambda slot: networks[slot], self.window, self.roles,
                self.layout,
            )  # fmt: skip
        except TaskError as error:
            return int(error.code), error.info0, error.info1
        return 0, 0, 0


def run(sim: Player, g: Geometry, networks: list[Network | None], case: Case) -> tuple[int, ...]:
    """Check a task in the simulator; returns error, ERR_INFO0, ERR_INFO1 and the clocks."""
    values = {
        "ring_i": case.ring,
        "descriptor_i": int.from_bytes(case.words.astype("<u4").tobytes(), "little"),
        "networks_i": networks_port(networks),
        "base_i": case.window.base,
        "limit_i": case.window.limit,
        "roles_i": case.roles,
        "layout_i": case.layout,
    }
    held = {name: port(value, sim.block.inputs[name]) for name, value in values.items()}
    clocks = 0
    while clocks < LIMIT:
        span = 48
        start = np.arange(span) + clocks == 0
        inputs = {name: np.tile(value, (span, 1)) for name, value in held.items()}
        out = sim.run(span, start_i=start, **inputs)
        done = np.flatnonzero(out["done_o"])
        if done.size:
            assert done.size == 1
            assert not out["busy_o"][done[0] + 1 :].any()
            result = (int(out[name][done[0]]) for name in ("error_o", "info0_o", "info1_o"))
            return (*result, clocks + int(done[0]))
        clocks += span
    raise TimeoutError(f"no end within {LIMIT} clocks")


def good(rng: np.random.Generator, g: Geometry, networks: list[Network | None]) -> Case:
    """Make a task whose ranges fill its window, side by side in any order."""
    kind = int(rng.choice([INF, TRAIN, TRAIN, SYNC, NET_LOAD]))
    filled = [slot for slot, network in enumerate(networks) if network]
    slot = int(rng.integers(g.n_net)) if kind == NET_LOAD else int(rng.choice(filled))
    samples = int(rng.integers(1, g.nb_max + 1)) if kind in (INF, TRAIN) else 0
    flags = int(rng.integers(256)) & FLAGS[kind]
    task = Task(kind, int(rng.integers(1 << 32)), flags, slot, maps=(0,) * samples,
                stop=bool(rng.integers(2)), interrupt=bool(rng.integers(2)))  # fmt: skip
    layout = int(rng.choice([FA3C, ALT1, ALT2]))
    ranges = extents(task, networks[slot], layout == ALT2)
    base = int(rng.choice([0, 64, 4096, 1 << 32, (1 << 40) - (1 << 28)]))
    at, places = base, {}
    for index in rng.permutation(len(ranges)):
        extent = ranges[index]
        grain = 4096 if extent.word < 12 and kind != NET_LOAD else 64
        at = -(-at // grain) * grain
        places[extent.word] = at
        at += extent.size + int(rng.choice([0, 0, 64, 4096]))
        last = places[extent.word] + extent.size
    if kind == TRAIN and rng.random() < 0.5:  # in place
        places[6], places[10] = places[4], places[8]
    named = {PLACES[word]: start for word, start in places.items() if word in PLACES}
    maps = tuple(places[16 + 2 * n] for n in range(samples))
    words = replace(task, **named, maps=maps).encode()  # type: ignore[arg-type]
    ring = next(ring for ring, opcodes in OPCODES.items() if kind in opcodes)
    return Case(words, ring, Window(base, max(last, at - 4096)), 3, layout)


def twisted(rng: np.random.Generator, g: Geometry, networks: list[Network | None],
            case: Case) -> Case:  # fmt: skip
    """Break a rule of a good task, or nearly."""
    words, task = case.words.copy(), Task.decode(case.words)
    ranges: list[Extent] = extents(task, networks[task.network], case.layout == ALT2)
    one, other = ranges[rng.integers(len(ranges))], ranges[rng.integers(len(ranges))]
    kind = rng.random()
    if kind < 0.05:
        return replace(case, layout=int(rng.integers(4)))
    if kind < 0.1:
        return replace(case, ring=int(rng.integers(4)), roles=int(rng.integers(4)))
    if kind < 0.2:
        words[0] = int(words[0]) & ~(15 << 20) | int(rng.integers(16)) << 20
    elif kind < 0.3:
        words[0] = int(words[0]) & ~(15 << 16) | int(rng.integers(16)) << 16
    elif kind < 0.4:
        edge = int(rng.choice([-64, -1, 0, 1, 64]))
        starts, ends = [r.start for r in ranges], [r.start + r.size for r in ranges]
        low, high = max(0, min(starts) + edge), max(ends) + int(rng.choice([-64, -1, 0, 1]))
        return replace(case, window=Window(low, high))
    elif kind < 0.5:
        words[rng.integers(32)] ^= np.uint32(1 << rng.integers(32))
    elif kind < 0.6:
        words[one.word] ^= np.uint32(1 << rng.integers(14))
    elif kind < 0.7:
        return replace(case, roles=int(rng.integers(4)))
    else:  # one range at, just before or just after another
        grain = 4096 if one.word < 12 and task.opcode != NET_LOAD else 64
        at = other.start + int(rng.choice([0, grain, -grain, other.size, -one.size]))
        at = max(0, at // grain * grain + int(rng.choice([0, 0, grain, -grain])))
        words[one.word], words[one.word + 1] = at & 0xFFFF_FFFF, at >> 32 & 0xFF
        if rng.random() < 0.8:
            return replace(case, words=words, window=Window(0, 1 << 41))
    return replace(case, words=words)
