"""RMSProp over the gradients of tasks, in memory: bits, order, rate, errors, stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from models.a3c.network import ROW_WORDS, SLOT_BYTES, TINY, Network, fc
from models.a3c.rmsprop import HyperParameters
from verif.a3c.memory import (
    FAST,
    Actor,
    Chunk,
    Fault,
    Result,
    Timing,
    UnitTask,
    check_stop,
    random_chunks,
    random_timing,
    small_network,
    stops,
    theta_slot,
    update,
    updated,
)
from verif.a3c.numbers import draw

BUILDS = {
    "4": {"Units": 4, "Rows": 128, "Second": 1},
    "8": {"Units": 8, "Rows": 256, "AddLatency": 6, "DivLatency": 28, "SqrtLatency": 28},
}
pytestmark = builds(
    lambda: Actor("update", BUILDS["4"], 1), lambda name: Actor("update", BUILDS[name], 1)
)


def random_update(
    rng: np.random.Generator, networks: list[Network], count: int, second: bool = False
) -> tuple[list[UnitTask], np.ndarray]:
    """Tasks of some networks, in place or not, some with a second image; and their memory."""
    slot = max(theta_slot(network) for network in networks) * (1 + second)
    tasks = []
    for _ in range(count):
        theta, g = rng.permutation(3)[:2], 3 + rng.permutation(3)[:2]
        if rng.random() < 0.3:
            theta, g = theta[[0, 0]], g[[0, 0]]
        settings = HyperParameters.make(float(rng.random()) * 0.1, 0.99, 0.01).encode()
        tasks.append(
            UnitTask(
                networks[rng.integers(len(networks))], True, 1,
                ticket=int(rng.integers(1 << 32)),
                source=SLOT_BYTES + int(theta[0]) * slot, target=SLOT_BYTES + int(theta[1]) * slot,
                g_source=SLOT_BYTES + int(g[0]) * slot, g_target=SLOT_BYTES + int(g[1]) * slot,
                settings=tuple(int(word) for word in settings),
                second=second and bool(rng.integers(4)),
            )
        )  # fmt: skip
    return tasks, draw(rng, (SLOT_BYTES + 6 * slot) // 4, special=0.02).view(np.uint8)


def gradients(rng: np.random.Generator, chunks: list[Chunk]) -> np.ndarray:
    """A buffer that holds them, [rows, 16] uint32."""
    return draw(rng, chunks[-1].row + chunks[-1].rows, ROW_WORDS, special=0.02)


@pytest.mark.parametrize("name", keep(BUILDS))
def test_update_random(name: str, seed: int) -> None:
    """Tasks in a row, with any memory, any order and any other user of the buffer."""
    rng = np.random.default_rng([seed, len(name)])
    with Actor("update", BUILDS[name], seed) as sim:
        for most in (1, 20, 200, 2000):
            networks = [small_network(rng, TINY, 600) for _ in range(2)]
            tasks, memory = random_update(rng, networks, 3, "Second" in BUILDS[name])
            chunks = random_chunks(rng, tasks, most, shuffled=bool(rng.integers(2)))
            update(sim, tasks, chunks, gradients(rng, chunks), memory, random_timing(rng))


@pytest.mark.parametrize("name", keep(BUILDS))
def test_update_rate(name: str, seed: int) -> None:
    """Rows follow each other as memory or units allow, in bursts up to the ends of pages."""
    rng = np.random.default_rng([seed, 8])
    network = Network((fc(256, 128),))
    tasks, memory = random_update(rng, [network], 1)
    chunks = random_chunks(rng, tasks, 400)
    clocks = max(2, 16 // BUILDS[name]["Units"])
    with Actor("update", BUILDS[name], seed) as sim:
        result = update(sim, tasks, chunks, gradients(rng, chunks), memory, FAST)
    rows = network.parameter_beats
    span = int(result.finished[0])
    print(f"{name} units: {span} clocks for {rows} rows")
    assert clocks * rows < span < clocks * rows + 600
    cuts = np.union1d([c.offset for c in chunks], np.arange(0, rows, 64))
    pieces = np.repeat(np.diff(np.append(cuts, rows)), 2)
    for direction in (0, 1):
        bursts = result.requests[result.requests[:, 3] == direction]
        np.testing.assert_array_equal(bursts[:, 2], pieces)


def check_writes(
    result: Result,
    memory: np.ndarray,
    before: np.ndarray,
    want: np.ndarray,
    faults: list[Fault] | None = None,
) -> None:
    """Memory is as it was, but for the bursts that were begun, which are whole and right.

    Args:
        want: [tasks, bytes] uint8, memory after each task; a byte may be of any of them.
        faults: whose bytes are not written.
    """
    begun = np.zeros(memory.size, bool)
    writes = result.requests[result.requests[:, 3] == 1]
    for _, address, beats, _ in writes:
        begun[address : address + 64 * beats] = True
    for fault in faults or []:
        begun[fault.first : fault.last + 1] = False
    np.testing.assert_array_equal(memory[~begun], before[~begun])
    assert (memory[begun] == want[:, begun]).any(axis=0).all()
    assert result.writes == writes[:, 2].sum()


def apart(tasks: list[UnitTask], slot: int) -> tuple[list[UnitTask], int]:
    """The same tasks, each with places of its own, and the bytes of all."""
    out = []
    for n, task in enumerate(tasks):
        at = SLOT_BYTES + 4 * n * slot
        source, target, g_source, g_target = (at + k * slot for k in range(4))
        out.append(
            replace(task, source=source, target=target, g_source=g_source, g_target=g_target)
        )
    return out, SLOT_BYTES + 4 * len(tasks) * slot


def test_update_error(seed: int) -> None:
    """After an error of any kind nothing of the task is written; the next one is whole."""
    rng = np.random.default_rng([seed, 9])
    words = {"source": 4, "target": 6, "g_source": 8, "g_target": 10}
    with Actor("update", BUILDS["4"], seed) as sim:
        for number in range(24):
            networks = [small_network(rng, TINY, 400) for _ in range(2)]
            slot = max(theta_slot(network) for network in networks)
            tasks, size = apart(random_update(rng, networks, 3)[0], slot)
            memory = draw(rng, size // 4, special=0.02).view(np.uint8)
            before = memory.copy()
            name = list(words)[number % 4]
            beat = int(rng.integers(tasks[1].network.parameter_beats))
            at = getattr(tasks[1], name) + 64 * beat
            fault = Fault(at, at + 63, int(rng.integers(2, 4)), 1 if "source" in name else 2)
            chunks = random_chunks(rng, tasks, int(rng.choice([20, 200])))
            image = gradients(rng, chunks)
            # The block holds back by itself; the unit's failed_i comes on top.
            timing = replace(random_timing(rng), echo=bool(rng.integers(2)))
            result = update(sim, tasks, chunks, image, memory, timing, [fault], exact=False)
            assert result.errors == [(1, words[name], fault.response)]
            want = updated(before, tasks, chunks, image)
            check_writes(result, memory, before, want, [fault])
            for n in (0, 2):
                mine = slice(tasks[n].source, tasks[n].source + 4 * slot)
                np.testing.assert_array_equal(memory[mine], want[2][mine])
            # Of the task itself: no burst that needs what did not come.
            if "source" in name:
                rest = result.requests[result.requests[:, 3] == 1]
                for target in (tasks[1].target + 64 * beat, tasks[1].g_target + 64 * beat):
                    behind = rest[:, 1] + 64 * rest[:, 2]
                    assert not ((rest[:, 1] <= target) & (target < behind)).any()


def check_failed(
    sim: Actor, rng: np.random.Generator, networks: list[Network], timing: Timing, most: int
) -> None:
    """Run two tasks, one of which may fail; the other one is whole."""
    slot = max(theta_slot(network) for network in networks)
    tasks, size = apart(random_update(rng, networks, 2)[0], slot)
    memory = draw(rng, size // 4, special=0.02).view(np.uint8)
    before = memory.copy()
    chunks = random_chunks(rng, tasks, most)
    image = gradients(rng, chunks)
    result = update(sim, tasks, chunks, image, memory, timing, exact=False)
    want = updated(before, tasks, chunks, image)
    check_writes(result, memory, before, want)
    failed = int(np.searchsorted(result.finished, timing.fail))
    if failed < 2:
        of_failed = result.requests[
            (result.requests[:, 0] > timing.fail + 1)
            & (result.requests[:, 0] <= result.finished[failed])
            & (result.requests[:, 3] == 1)
        ]
        assert len(of_failed) <= 3, "a burst begins after a failure"
    for n in {0, 1} - {failed}:
        mine = slice(tasks[n].source, tasks[n].source + 4 * slot)
        np.testing.assert_array_equal(memory[mine], want[1][mine])


@pytest.mark.regress
@builds(lambda: Actor("update", BUILDS["8"], 1))
def test_update_failed(seed: int) -> None:
    """While the task has failed nothing is written, but all goes on; the next one is whole."""
    rng = np.random.default_rng([seed, 10])
    with Actor("update", BUILDS["8"], seed) as sim:
        for _ in range(20):
            networks = [small_network(rng, TINY, 400) for _ in range(2)]
            timing = replace(random_timing(rng), fail=int(rng.integers(1, 2500)))
            check_failed(sim, rng, networks, timing, int(rng.choice([20, 200])))


@pytest.mark.parametrize("stall", keep([0.9, 0.0]))
def test_update_failed_in_each_clock(stall: float, seed: int) -> None:
    """The same from the first chunk to the last answer, also while a layer's turn is awaited."""
    rng = np.random.default_rng([seed, 13])
    networks = [Network((fc(16, 16), fc(16, 16), fc(16, 16)))]
    with Actor("update", BUILDS["4"], seed) as sim:
        for fail in range(1, 260):
            timing = Timing(latency=5, stall=stall, pause=0.06, fail=fail)
            check_failed(sim, rng, networks, timing, 6)


def test_update_stop(seed: int) -> None:
    """After a stop no burst begins and those that are out are finished; a reset begins anew."""
    rng = np.random.default_rng([seed, 11])
    with Actor("update", BUILDS["4"], seed) as sim:
        for timing in stops(rng, 15, 80):
            networks = [small_network(rng, TINY, 400)]
            slot = theta_slot(networks[0])
            tasks, size = apart(random_update(rng, networks, 2)[0], slot)
            memory = draw(rng, size // 4, special=0.02).view(np.uint8)
            before = memory.copy()
            chunks = random_chunks(rng, tasks, 3 if timing.stop <= 80 else 200)
            image = gradients(rng, chunks)
            result = update(sim, tasks, chunks, image, memory, timing, exact=False)
            check_stop(result, timing)
            check_writes(result, memory, before, updated(before, tasks, chunks, image))


def test_update_rule(seed: int) -> None:
    """A chunk without rows is seen."""
    rng = np.random.default_rng([seed, 12])
    tasks, memory = random_update(rng, [Network((fc(16, 16),))], 1)
    chunks = random_chunks(rng, tasks)
    chunks[0] = replace(chunks[0], rows=0)
    with Actor("update", BUILDS["4"], seed) as sim, pytest.raises(CheckFailed) as found:
        sim.run(
            memory, FAST, (), tasks, TINY, bases=np.zeros(1, np.uint64), pieces=1,
            image=gradients(rng, chunks), rows=17, marks=np.zeros(1, np.uint64),
            jobs=np.zeros(2, np.uint32),
        )  # fmt: skip
    assert found.value.name == "ChunkHasRows_M"
