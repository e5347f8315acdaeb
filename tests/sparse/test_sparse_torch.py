"""The NumPy definitions, which the engine equals, against float32 autograd in PyTorch.

FP16 has a relative error of 2^-11 per operation, and a chain of K products adds about sqrt(K) of
them: 1 % of the largest output covers K = 256 with room. Gradients pass a step's three layers and
gates, again and again over ten steps, so they are allowed 5 %, and a cosine of 0.995.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models.sparse import optim  # noqa: E402
from models.sparse.formats import Geometry  # noqa: E402
from models.sparse.torch_ref import Network  # noqa: E402
from tests.sparse.golden import Reference, small, start  # noqa: E402

SCALE = 512.0
OUTPUT, GRADIENT, COSINE = 0.01, 0.05, 0.995
CUT = 10  # steps of IC3Net's public code; not the model's own constant


def close(found: np.ndarray, want: np.ndarray, share: float) -> None:
    """Equal within a share of the largest magnitude."""
    assert np.abs(want).max() > 0
    assert np.abs(found - want).max() <= share * np.abs(want).max()


@pytest.mark.parametrize("groups", [1, 4])
def test_outputs_and_gradients_are_those_of_autograd(groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = small(groups=groups, steps=13, split="vec")
    parameters = start(settings, Geometry(), rng)
    torch.manual_seed(seed)
    network = Network(parameters, settings.agents)
    reference = Reference(settings, Geometry(), {k: dict(v) for k, v in parameters.items()})
    s = reference.sizes
    obs = rng.normal(size=(s.steps, s.vectors, s.observations)).astype(np.float16)
    gates = rng.random((s.steps, s.vectors)) < 0.7
    gates[0] = False
    want = network.play(
        torch.tensor(obs.astype(np.float32)), torch.tensor(gates, dtype=torch.float32), CUT
    )
    found = np.stack([reference.step(o, g) for o, g in zip(obs, gates, strict=True)])
    close(found.astype(np.float64), want.detach().numpy(), OUTPUT)

    dout = rng.normal(size=want.shape)
    want.backward(torch.tensor(dout, dtype=torch.float32))
    reference.backward(dout * SCALE)
    for name, mask in reference.masks.items():
        layer: Any = getattr(network, name)
        g = optim.scaled(reference.grads[name], np.float32(1 / SCALE))
        pairs = [
            (g, layer.weight.grad.numpy()),
            (optim.scaled(reference.sums[name], np.float32(1 / SCALE)), layer.bias.grad.numpy()),
        ]
        if len(layer.grouping):
            products = np.where(mask.mask, optim.products(parameters[name]["weight"], g), 0)
            for axis, which in ((1, 0), (0, 1)):
                grad = layer.grouping[which].grad.numpy()
                chosen = (mask.ig, mask.og)[which]
                rows = np.arange(len(chosen))
                assert not np.delete(grad.ravel(), rows * grad.shape[1] + chosen).any()
                pairs.append((products.sum(axis) / 2**optim.FRACTION, grad[rows, chosen]))
        for got, expected in pairs:
            close(got, expected, GRADIENT)
            cosine = (got * expected).sum() / np.linalg.norm(got) / np.linalg.norm(expected)
            assert cosine >= COSINE
