"""Iterations of IC3Net on the sparse engine's RTL: each bit is that of the golden model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from flow.effort import effort
from flow.regression import builds
from jackdaw.agents.ic3net import Ic3netRecipe
from jackdaw.device import Config, open_device
from jackdaw.drivers.sparse import Sparse, SparseSettings
from jackdaw.runtime.training import TeamTraining
from tests.sparse.golden import small, start

SMALL, LARGER, PUBLISHED = "sparse", "sparse_train", "sparse_full"
SCALE = 256.0
COUNTERS = ("useful_macs", "vpu_ops", "hits", "misses", "osel_clocks", "core_load", "skipped")


def equal(model: Sparse, sim: Sparse) -> None:
    """All memories, the generator, and what does not depend on time."""
    want, got = model.state(), sim.state()
    for name, arrays in want["memories"].items():
        for key, array in arrays.items():
            found = got["memories"][name][key]
            assert np.array_equal(found.view(np.uint8), array.view(np.uint8)), (name, key)
    assert got["generator"] == want["generator"]
    counts, wanted = sim.statistics(), model.statistics()
    assert {k: counts[k] for k in COUNTERS} == {k: wanted[k] for k in COUNTERS}


@contextmanager
def both(
    settings: SparseSettings, rng: np.random.Generator, seed: int, config: str | Config = SMALL
) -> Iterator[list[Sparse]]:
    """A network with random parameters on the model and on its RTL."""
    with open_device("model", config) as model, open_device("sim", config, seed=seed) as sim:
        drivers = [Sparse(model), Sparse(sim)]
        for driver in drivers:
            driver.configure(settings)
        parameters = start(settings, drivers[0].geometry, rng)
        for driver in drivers:
            driver.load(parameters)
        yield drivers


def iteration(drivers: list[Sparse], rng: np.random.Generator, wild: bool = False) -> None:
    """Random observations and gradients, and an update; all is compared."""
    settings = drivers[0].settings
    assert settings is not None
    vectors = settings.sizes.vectors
    for driver in drivers:
        driver.begin()
    for t in range(settings.steps):
        obs = rng.normal(size=(vectors, settings.observations))
        gates = rng.random(vectors) < (0.7 if t else 0)
        want, got = (driver.step(obs, gates) for driver in drivers)
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1]), t
        assert np.abs(want[0]).max() > 0.01
    dout = rng.normal(size=(settings.steps, vectors, 8)) * SCALE / 8
    if wild:
        dout[0, 1, 2] = 7e4  # infinite in FP16
    skipped = [driver.train(dout, SCALE, vectors).skipped for driver in drivers]
    assert skipped == [wild, wild]
    equal(*drivers)


@builds(lambda: open_device("sim", SMALL))
def test_an_iteration_is_that_of_the_model(seed: int) -> None:
    """One with a gradient that is not finite, and one more; in a long run one before them."""
    rng = np.random.default_rng(seed)
    settings = small(steps=2, episodes=2, split="vec", group_rate=0.02)
    with both(settings, rng, seed) as drivers:
        before = drivers[0].memories()
        for wild in (True, False) if effort() < 1 else (False, True, False):
            iteration(drivers, rng, wild)
        after = drivers[0].memories()
        assert (before["lst"]["ig"] != after["lst"]["ig"]).any()


CASES: dict[str, dict[str, Any]] = {
    "rows over cores": {"split": "row"},
    "across the cut": {"episodes": 3, "steps": 12},
    "two groups": {"groups": 2},
    "eight groups, grouped heads": {"groups": 8, "head_groups": 2},
    "dense": {"groups": 1},
    "two chunks": {"episodes": 36, "steps": 2},
}


@pytest.mark.regress
@builds(lambda case: open_device("sim", SMALL))
@pytest.mark.parametrize("case", CASES)
def test_iterations_of_other_networks(case: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = small(**{"split": "vec", "group_rate": 0.02, **CASES[case]})
    with both(settings, rng, seed) as drivers:
        for _ in range(2):
            iteration(drivers, rng)


@pytest.mark.slow
@builds(lambda: open_device("sim", PUBLISHED))
@pytest.mark.parametrize("split", ["vec", "row"])
def test_an_iteration_of_the_published_size_is_that_of_the_model(split: str, seed: int) -> None:
    """All three cores: 24 episodes of 4 agents, an LSTM of 128 x 512 in 16 groups."""
    rng = np.random.default_rng(seed)
    settings = small(
        observations=32, agents=4, episodes=24, steps=2, hidden=128, groups=16, split=split,
        group_rate=0.02,
    )  # fmt: skip
    with both(settings, rng, seed, PUBLISHED) as drivers:
        iteration(drivers, rng)


@pytest.mark.regress
@builds(lambda: open_device("sim", LARGER))
def test_twenty_updates_of_a_training(seed: int) -> None:
    """PredatorPrey-v0: actions, returns and all that is learned, after each update."""
    recipe = Ic3netRecipe(
        "PredatorPrey-v0", config=LARGER, hidden=32, groups=4, episodes=4, split="vec",
        max_steps=20, group_rate=0.02,
    )  # fmt: skip
    with open_device("model", LARGER) as model, open_device("sim", LARGER, seed=seed) as sim:
        runs = [TeamTraining(device, recipe, seed) for device in (model, sim)]
        first = runs[0].trainer.driver.memories()
        updates = 0
        for _ in zip(*(run.rounds() for run in runs), strict=True):
            updates += 1
            equal(*(run.trainer.driver for run in runs))
            want, got = (run.run.history.episodes for run in runs)
            assert got == want
        last = runs[0].trainer.driver.memories()
        assert updates == recipe.max_steps
        moved = [first["lst"][key].argmax(1) != last["lst"][key].argmax(1) for key in ("ig", "og")]
        assert sum(int(m.sum()) for m in moved) > 0
        for run in runs:
            run.close()
