"""RMSProp over the gradients of tasks, in memory: bits, order, rate, errors, stop."""

from __future__ import annotations

import numpy as np
import pytest

from models.a3c.network import ROW_WORDS, SLOT_BYTES, TINY, Network, fc
from models.a3c.rmsprop import HyperParameters
from verif.a3c.memory import (
    FAST,
    Actor,
    Chunk,
    UnitTask,
    random_chunks,
    random_timing,
    small_network,
    theta_slot,
    update,
)
from verif.a3c.numbers import draw

BUILDS = {
    "4": {"Units": 4, "Rows": 128},
    "8": {"Units": 8, "Rows": 256, "AddLatency": 6, "DivLatency": 28, "SqrtLatency": 28},
}


def random_update(
    rng: np.random.Generator, networks: list[Network], count: int
) -> tuple[list[UnitTask], np.ndarray]:
    """Tasks of some networks, in place or not, and their memory."""
    slot = max(theta_slot(network) for network in networks)
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
            )
        )  # fmt: skip
    return tasks, draw(rng, (SLOT_BYTES + 6 * slot) // 4, special=0.02).view(np.uint8)


def gradients(rng: np.random.Generator, chunks: list[Chunk]) -> np.ndarray:
    """A buffer that holds them, [rows, 16] uint32."""
    return draw(rng, chunks[-1].row + chunks[-1].rows, ROW_WORDS, special=0.02)


@pytest.mark.parametrize("name", BUILDS)
def test_update_random(name: str, seed: int) -> None:
    """Tasks in a row, with any memory, any order and any other user of the buffer."""
    rng = np.random.default_rng([seed, len(name)])
    with Actor("update", BUILDS[name], seed) as sim:
        for most in (1, 20, 200, 2000):
            networks = [small_network(rng, TINY, 600) for _ in range(2)]
            tasks, memory = random_update(rng, networks, 3)
            chunks = random_chunks(rng, tasks, most)
            update(sim, tasks, chunks, gradients(rng, chunks), memory, random_timing(rng))


@pytest.mark.parametrize("name", BUILDS)
def test_update_rate(name: str, seed: int) -> None:
    """Rows follow each other as memory or units allow, on memory of latency 64."""
    rng = np.random.default_rng([seed, 8])
    network = Network((fc(256, 128),))
    tasks, memory = random_update(rng, [network], 1)
    chunks = random_chunks(rng, tasks, 4000)
    clocks = max(2, 16 // BUILDS[name]["Units"])
    with Actor("update", BUILDS[name], seed) as sim:
        result = update(sim, tasks, chunks, gradients(rng, chunks), memory, FAST)
    rows = network.parameter_beats
    span = int(result.finished[0])
    print(f"{name} units: {span} clocks for {rows} rows")
    assert clocks * rows < span < clocks * rows + 600
