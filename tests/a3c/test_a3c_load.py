"""Parameters on their way into the parameter buffer: order, places, room, rate, errors, stop."""

from __future__ import annotations

import numpy as np
import pytest

from models.a3c.network import SLOT_BYTES, TINY, Geometry
from verif.a3c.memory import (
    Actor,
    UnitTask,
    load,
    random_memory,
    random_timing,
    small_network,
    theta_slot,
)

WIDE = Geometry(
    n_pe=64, la=5, fm_rows=8192, pb_inference=2048, pb_training=2048, gb_rows=8192
)  # fmt: skip
BUILDS = {"16": TINY, "64": WIDE}


def actor(g: Geometry, seed: int) -> Actor:
    """The block in a build."""
    return Actor("load", {"Pes": g.n_pe, "Rows": g.pb_training, "AddLatency": g.la}, seed)


@pytest.mark.parametrize("name", BUILDS)
def test_load_random(name: str, seed: int) -> None:
    """Tasks of random networks in a row, with any memory and any reader."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, g.n_pe])
    with actor(g, seed) as sim:
        for _ in range(12):
            networks = [small_network(rng, g) for _ in range(2)]
            sizes = [theta_slot(network) for network in networks]
            memory = random_memory(rng, sum(sizes) + SLOT_BYTES)
            tasks = [
                UnitTask(
                    networks[n], bool(rng.integers(2)), int(rng.integers(1, 9)),
                    theta=SLOT_BYTES + n * sizes[0],
                )
                for n in rng.integers(0, 2, 4)
            ]  # fmt: skip
            load(sim, g, g.pb_training, tasks, memory, random_timing(rng))
