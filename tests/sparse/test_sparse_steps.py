"""Steps of the whole network on the sparse engine's RTL against its golden model."""

from __future__ import annotations

import numpy as np
import pytest

from flow.regression import builds, regress
from jackdaw.device import open_device
from jackdaw.drivers.sparse import Sparse
from models.sparse.formats import Instruction, Op
from tests.sparse.golden import small, start

END = Instruction(Op.END)
CASES = [regress("sparse", "row")]


@builds(lambda config, split: open_device("sim", config))
@pytest.mark.parametrize(("config", "split"), CASES)
def test_steps_of_a_team(config: str, split: str, seed: int) -> None:
    """Encodings, plans, weights and two steps of the driver's own programs give the same bits."""
    settings, found = small(split=split, steps=2), []
    for kind in ("model", "sim"):
        rng = np.random.default_rng(seed)
        with open_device(kind, config) as device:
            driver = Sparse(device)
            driver.configure(settings)
            driver.load(start(settings, driver.geometry, rng))
            zero = driver.layout.tensor("block", -1, driver.layout.chunks[0])
            one = Instruction(Op.ZEROA, tiles=(1, 1, 1), a=zero, value=settings.hidden)
            driver.execute(driver.upload([one, END]), 2)
            driver.begin()
            shape = settings.sizes.vectors, settings.observations
            for step in range(settings.steps):
                gates = (rng.random(shape[0]) < 0.7) & (step > 0)
                logits, values = driver.step(rng.normal(size=shape), gates)
                found.append(np.concatenate([logits, values[:, None]], axis=1))
    for want, got in zip(found[:2], found[2:], strict=True):
        assert np.abs(want).max() > 0
        np.testing.assert_array_equal(got, want)
