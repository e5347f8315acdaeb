"""Feature maps on their way into the feature-map buffer: order, places, samples, errors, stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds
from models.a3c import traffic
from models.a3c.network import BEAT_BYTES, NET_T, TINY, Geometry, Network, conv, fc
from verif.a3c.memory import (
    FAST,
    Actor,
    Fault,
    UnitTask,
    check_stop,
    map_items,
    map_load,
    random_memory,
    random_timing,
    small_network,
    stops,
)

WIDE = Geometry(n_pe=64, fm_rows=8192, pb_inference=2048, pb_training=2048, gb_rows=8192)
BUILDS = {"16": TINY, "64": WIDE}
pytestmark = builds(lambda: Actor("map_load", {}, 1))


def random_tasks(rng: np.random.Generator, g: Geometry, count: int) -> tuple[list[UnitTask], int]:
    """Tasks with their maps anywhere in memory, and its bytes."""
    networks = [small_network(rng, g) for _ in range(2)]
    size = BEAT_BYTES * max(
        max(network.feature_rows, 1 + 8 * network.regions[-1].rows) for network in networks
    )

    def anywhere() -> int:
        return int(rng.integers(0, 2 * size // BEAT_BYTES)) * BEAT_BYTES

    tasks = []
    for n in rng.integers(0, 2, count):
        samples = int(rng.integers(1, 9))
        maps = tuple(anywhere() for _ in range(samples))
        train = bool(rng.integers(2))
        task = UnitTask(networks[n], train, samples, objective=anywhere(), maps=maps)
        tasks.append(task)
    return tasks, 3 * size


def rows(task: UnitTask) -> int:
    """Rows of maps and records by the traffic model."""
    if task.train:
        return traffic.training(task.network, task.samples)["training maps"].reads
    return traffic.inference(task.network, task.samples)["inference maps"].reads


@pytest.mark.parametrize("name", BUILDS)
def test_map_load_random(name: str, seed: int) -> None:
    """Tasks of random networks in a row, with any memory and any reader."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, g.n_pe])
    with Actor("map_load", {}, seed) as sim:
        for _ in range(15):
            tasks, size = random_tasks(rng, g, 4)
            result, _ = map_load(sim, g, tasks, random_memory(rng, size), random_timing(rng))
            assert result.reads == sum(rows(task) for task in tasks)
            assert not result.errors


def test_map_load_samples_wrap(seed: int) -> None:
    """Samples and items are counted beyond 256."""
    rng = np.random.default_rng([seed, 2])
    tasks = [
        UnitTask(NET_T, n % 7 == 3, 8 - n % 2, maps=tuple(4096 * b for b in range(8)))
        for n in range(80)
    ]
    assert sum(task.samples for task in tasks) > 512
    with Actor("map_load", {}, seed) as sim:
        timing = replace(FAST, latency=5, pause=0.5)
        map_load(sim, TINY, tasks, random_memory(rng, 40_000), timing)


def test_map_load_rate(seed: int) -> None:
    """A row per clock on memory of latency 64, in bursts up to the ends of pages."""
    rng = np.random.default_rng([seed, 3])
    network = Network((fc(4000, 16), fc(16, 16)))
    maps = tuple(1024 + 64 * 256 * b for b in range(8))
    with Actor("map_load", {}, seed) as sim:
        task = UnitTask(network, False, 8, maps=maps)
        result, _ = map_load(sim, WIDE, [task], random_memory(rng, 200_000), FAST)
        assert result.last_beat - result.first_beat + 1 == 8 * 250
        assert result.finished[0] - result.last_beat < 5
        assert result.requests[:, 2].tolist() == [48, 64, 64, 64, 10] * 8
        # Two samples of a convolution at once.
        task = UnitTask(Network((conv(4, 1, (60, 16), 3, 1), fc(58 * 14, 4))), False, 4, maps=maps)
        result, _ = map_load(sim, WIDE, [task], random_memory(rng, 200_000), FAST)
        assert result.last_beat - result.first_beat + 1 < 4 * 240 + 90


@pytest.mark.parametrize("name", BUILDS)
def test_map_load_error(name: str, seed: int) -> None:
    """An error is told of with the word that named its map, while its task is in hand."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, 4, g.n_pe])
    with Actor("map_load", {}, seed) as sim:
        for _ in range(15):
            tasks, size = random_tasks(rng, g, 3)
            items = map_items(tasks, g)
            item = items[rng.integers(len(items))]
            at = item.address + BEAT_BYTES * int(rng.integers(item.rows))
            fault = Fault(at, at + 63, int(rng.integers(2, 4)))
            memory = random_memory(rng, size)
            result, _ = map_load(sim, g, tasks, memory, random_timing(rng), [fault])
            assert result.errors == [
                (item.task, item.word, fault.response)
                for item in items
                if item.address <= at < item.address + BEAT_BYTES * item.rows
            ]


def test_map_load_stop(seed: int) -> None:
    """After a stop no burst begins and all that come are taken; a reset begins anew."""
    rng = np.random.default_rng([seed, 5])
    with Actor("map_load", {}, seed) as sim:
        for timing in stops(rng, 15):
            tasks, size = random_tasks(rng, TINY, 3)
            result, _ = map_load(sim, TINY, tasks, random_memory(rng, size), timing)
            check_stop(result, timing)


def test_map_load_rule(seed: int) -> None:
    """A task that cannot be is seen."""
    rng = np.random.default_rng([seed, 6])
    task = UnitTask(NET_T, False, 9, maps=(0,) * 8)
    with Actor("map_load", {}, seed) as sim, pytest.raises(CheckFailed) as found:
        sim.run(
            random_memory(rng, 1 << 16), FAST, (), [task], TINY, bases=np.zeros(9, np.uint64),
            ends=np.zeros(2, np.uint64), log=np.zeros(3, np.uint64),
        )  # fmt: skip
    assert found.value.name == "TaskLegal_M"
