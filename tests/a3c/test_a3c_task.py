"""Checks of task descriptors: every rule, their order, and the edges of ranges and window."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from flow.regression import builds, keep
from models.a3c.descriptor import ALT2, INF, NET_LOAD, SYNC, TRAIN, Task, Window, extents
from models.a3c.network import NET_A, NET_S, NET_T, SMALL, Geometry, Network, fc
from models.engine import ADDRESSES
from models.registers.a3c import Error
from verif.a3c import task
from verif.a3c.task import Case
from verif.play import Player

FLAT = Network((fc(37, 19), fc(19, 1000, relu=False)))
BUILDS: dict[str, tuple[Geometry, list[Network | None]]] = {
    "four": (SMALL, [NET_T, None, FLAT, NET_A]),
    "two": (Geometry(n_net=3, nb_max=2), [NET_S, FLAT, None]),
}
TRIALS = 700
WANTED = {
    Error.E_OPCODE, Error.E_RESERVED, Error.E_NET, Error.E_NB, Error.E_ALIGN, Error.E_ADDR,
    Error.E_OVERLAP, Error.E_ROLE, Error.E_LAYOUT,
}  # fmt: skip
pytestmark = builds(lambda: player("four", 1), lambda name: player(name, 1))


def player(name: str, seed: int) -> Player:
    """The block in a build."""
    g, _ = BUILDS[name]
    return Player(task.block(g), {"Slots": g.n_net, "Samples": g.nb_max}, seed)


@pytest.mark.parametrize("name", keep(BUILDS))
def test_task_check(name: str, seed: int) -> None:
    """Tasks good and bad against the golden model."""
    g, networks = BUILDS[name]
    rng = np.random.default_rng([seed, 81])
    seen: Counter[int] = Counter()
    longest = 0
    with player(name, seed) as sim:
        for trial in range(TRIALS):
            case: Case = task.good(rng, g, networks)
            if rng.random() < 0.8:
                case = task.twisted(rng, g, networks, case)
            want = case.want(g, networks)
            *got, clocks = task.run(sim, g, networks, case)
            longest = max(longest, clocks)
            assert tuple(got) == want, f"{trial}: got {got}, want {want}: {case}"
            seen[want[0]] += 1
    missing = {code for code in WANTED if seen[code] < 4}
    assert not missing and seen[0] > 100, f"{seen}, too few of {missing}"
    print(f"at most {longest} clocks")


def test_task_at_the_end_of_the_addresses(seed: int) -> None:
    """Each range of a task of each kind ends with the last address, then goes on; a wide window."""
    g, networks = BUILDS["four"]
    rng = np.random.default_rng([seed, 83])
    kinds: set[int] = set()
    with player("four", seed) as sim:
        while len(kinds) < 4:
            case = task.good(rng, g, networks)
            named = Task.decode(case.words)
            if named.opcode in kinds or case.window.limit > ADDRESSES // 2:
                continue
            kinds.add(named.opcode)
            for extent in extents(named, networks[named.network], case.layout == ALT2):
                grain = 4096 if extent.word < 12 and named.opcode != NET_LOAD else 64
                last = (ADDRESSES - extent.size) // grain * grain
                for address in (last, last + grain):
                    words = case.words.copy()
                    words[extent.word : extent.word + 2] = address & 0xFFFF_FFFF, address >> 32
                    wide = replace(case, words=words, window=Window(0, (1 << 48) - 1))
                    *got, _ = task.run(sim, g, networks, wide)
                    assert tuple(got) == wide.want(g, networks), f"{address:#x} of {extent}"
                    beyond = Error.E_RESERVED if address == ADDRESSES else Error.E_ADDR
                    assert got[0] == (0 if address == last else beyond), f"{address:#x}: {got}"
    assert kinds == {INF, TRAIN, SYNC, NET_LOAD}


def test_task_reserved(seed: int) -> None:
    """Every bit of every word of a good task of each kind, set or cleared alone."""
    g, networks = BUILDS["four"]
    rng = np.random.default_rng([seed, 82])
    kinds: set[int] = set()
    with player("four", seed) as sim:
        while len(kinds) < 4:
            case = task.good(rng, g, networks)
            kind = int(case.words[0]) & 0xFF
            if kind in kinds:
                continue
            kinds.add(kind)
            for bit in (*range(64), *rng.choice(np.arange(64, 1024), 200, replace=False)):
                words = case.words.copy()
                words[bit // 32] ^= np.uint32(1 << bit % 32)
                changed = replace(case, words=words)
                *got, _ = task.run(sim, g, networks, changed)
                assert tuple(got) == changed.want(g, networks), f"kind {kind}, bit {bit}"
