"""Feature maps on their way into the feature-map buffer: order, places, samples, errors, stop."""

from __future__ import annotations

import numpy as np
import pytest

from models.a3c.network import BEAT_BYTES, TINY, Geometry
from verif.a3c.memory import (
    Actor,
    UnitTask,
    map_load,
    random_memory,
    random_timing,
    small_network,
)

WIDE = Geometry(n_pe=64, fm_rows=8192, pb_inference=2048, pb_training=2048, gb_rows=8192)
BUILDS = {"16": TINY, "64": WIDE}


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


@pytest.mark.parametrize("name", BUILDS)
def test_map_load_random(name: str, seed: int) -> None:
    """Tasks of random networks in a row, with any memory and any reader."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, g.n_pe])
    with Actor("map_load", {}, seed) as sim:
        for _ in range(12):
            tasks, size = random_tasks(rng, g, 4)
            map_load(sim, g, tasks, random_memory(rng, size), random_timing(rng))
