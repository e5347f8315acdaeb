"""IC3Net on the engine's golden model against its parts' definitions, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jackdaw.device import open_device
from jackdaw.drivers.sparse import Sparse, SparseSettings
from models.sparse.formats import Flag, Op
from models.sparse.plan import ROW_CONTIGUOUS, ROW_CYCLIC
from tests.sparse.golden import Reference, small, start

SCALE = 256.0


def play(driver: Sparse, reference: Reference, rng: np.random.Generator, iterations: int) -> None:
    """Train both with random observations and gradients, and compare."""
    s = reference.sizes
    for _ in range(iterations):
        driver.begin()
        for step in range(s.steps):
            obs = rng.normal(size=(s.vectors, s.observations))
            gates = rng.random(s.vectors) < (0.7 if step else 0)
            logits, values = driver.step(obs, gates)
            want = reference.step(obs, gates).astype(np.float32)
            assert np.array_equal(logits, want[:, :7]) and np.array_equal(values, want[:, 7])
            assert np.abs(logits).max() > 0.01
        dout = rng.normal(size=(s.steps, s.vectors, 8)) * SCALE / 8
        statistics = driver.train(dout, SCALE, s.vectors)
        assert not statistics.skipped and statistics.cycles > 0
        reference.train(dout, SCALE, s.vectors)
        equal(driver, reference)


def equal(driver: Sparse, reference: Reference) -> None:
    """All memories are the same."""
    found = driver.memories()
    for name, arrays in reference.memories.items():
        assert found[name].keys() == arrays.keys()
        for key, want in arrays.items():
            assert np.array_equal(found[name][key], want), f"{name} {key}"


CASES: dict[str, dict[str, Any]] = {
    "episodes over cores": {},
    "rows over cores": {"split": "row"},
    "vec": {"split": "vec"},
    "dense": {"groups": 1, "split": "vec"},
    "dense rows": {"groups": 1, "split": "row", "hidden": 8},
    "two groups": {"groups": 2, "split": "vec"},
    "eight groups, grouped heads": {"groups": 8, "head_groups": 2, "split": "vec"},
    "one agent": {"agents": 1, "episodes": 5, "split": "vec"},
    "idle core": {"episodes": 2, "split": "vec"},
    "four agents": {"agents": 4, "episodes": 3, "split": "vec"},
    "five agents": {"agents": 5, "episodes": 4, "split": "vec", "steps": 3},
    "across the cut": {"episodes": 1, "steps": 12, "split": "row"},
    "across the cut, episodes": {"episodes": 3, "steps": 12, "split": "vec"},
    "two chunks": {"episodes": 36, "steps": 2, "split": "vec"},
    "two chunks, rows over cores": {"episodes": 12, "steps": 2, "split": "row"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_engine_computes_what_its_parts_define(case: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = small(**CASES[case])
    with open_device("model", "sparse") as device:
        driver = Sparse(device)
        driver.configure(settings)
        parameters = start(settings, driver.geometry, rng)
        driver.load(parameters)
        memories = {name: dict(arrays) for name, arrays in parameters.items()}
        play(driver, Reference(settings, driver.geometry, memories), rng, 2)


def test_masks_move_in_training(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = small(group_rate=0.02)
    with open_device("model", "sparse") as device:
        driver = Sparse(device)
        driver.configure(settings)
        parameters = start(settings, driver.geometry, rng)
        driver.load(parameters)
        memories = {name: dict(arrays) for name, arrays in parameters.items()}
        reference = Reference(settings, driver.geometry, memories)
        play(driver, reference, rng, 4)
        before, after = parameters["lst"], driver.memories()["lst"]
        moved = [before[k].argmax(1) != after[k].argmax(1) for k in ("ig", "og")]
        assert sum(int(m.sum()) for m in moved) > 0
        masked = reference.masks["lst"]
        assert masked.nnz < masked.mask.size


def opened(config: str, settings: SparseSettings, rng: np.random.Generator) -> Iterator[Sparse]:
    """A driver with random parameters."""
    with open_device("model", config) as device:
        driver = Sparse(device)
        driver.configure(settings)
        driver.load(start(settings, driver.geometry, rng))
        yield driver


def test_rows_may_be_contiguous(seed: int) -> None:
    """The publication's policy: other sums, equal to those of its own definition."""
    rng = np.random.default_rng(seed)
    settings = small(split="row")
    for driver in opened("sparse", settings, rng):
        program = [
            replace(one, flags=one.flags & ~int(Flag.POLICY)) for one in driver.programs.group()
        ]
        driver.execute(driver.upload(program), len(program))
        memories = driver.memories()
        obs = rng.normal(size=(settings.sizes.vectors, settings.observations))
        gates = np.zeros(len(obs), bool)
        logits, values = driver.step(obs, gates)
        found = np.concatenate([logits, values[:, None]], axis=1)
        wants = [
            Reference(settings, driver.geometry, memories, policy).step(obs, gates)
            for policy in (ROW_CONTIGUOUS, ROW_CYCLIC)
        ]
        assert np.array_equal(found, wants[0].astype(np.float32))
        assert not np.array_equal(found, wants[1].astype(np.float32))


def test_the_way_to_the_lists_does_not_change_a_bit(seed: int) -> None:
    """Without the row memory, without load allocation, or by the columns."""
    rng = np.random.default_rng(seed)
    settings = small(split="vec")
    for driver in opened("sparse", settings, rng):
        obs = rng.normal(size=(settings.sizes.vectors, settings.observations))
        gates = np.zeros(len(obs), bool)
        want, _ = driver.step(obs, gates)
        hits = driver.statistics()["hits"]
        plain = driver.programs.group(plain=True, cached=False)
        columns = [
            replace(one, op=Op.ENCT) if one.op == Op.ENC else one for one in driver.programs.group()
        ]
        for program in (plain, columns):
            driver.execute(driver.upload(program), len(program))
            driver.begin()
            assert np.array_equal(driver.step(obs, gates)[0], want)
            driver.begin()
            if program is plain:
                assert hits > 0 and driver.statistics()["hits"] == 0


def test_the_published_core_computes_the_same_bits(seed: int) -> None:
    settings = small(split="vec", steps=2)
    found = []
    for config in ("sparse_full", "sparse_paper"):
        rng = np.random.default_rng(seed)
        for driver in opened(config, settings, rng):
            shape = settings.sizes.vectors, settings.observations
            for _ in range(settings.steps):
                driver.step(rng.normal(size=shape), np.ones(shape[0], bool))
            driver.train(rng.normal(size=(settings.steps, shape[0], 8)), 1.0, 10.0)
            found.append(driver.memories())
    for name, arrays in found[0].items():
        assert all(np.array_equal(array, found[1][name][key]) for key, array in arrays.items())
