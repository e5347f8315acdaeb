"""The network of DNN-guided search, its evaluators, and its loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from jackdaw.environments.gomoku import Gomoku
from jackdaw.search.dnn_tree import DnnTree, TreeSettings
from jackdaw.search.evaluator import Torch
from jackdaw.search.network import Network, loss


def boards(count: int, seed: int) -> np.ndarray:
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        position = Gomoku(6, 4)
        for move in rng.permutation(36)[: rng.integers(0, 8)].tolist():
            if position.legal >> move & 1:
                position = position.play(move)
        found.append(position.planes())
    return np.stack(found)


def test_shapes_and_the_number_of_parameters() -> None:
    network = Network(15)
    assert sum(p.numel() for p in network.parameters()) == 325_964
    kinds = [type(m).__name__ for m in network.modules()]
    assert kinds.count("Conv2d") == 5 and kinds.count("Linear") == 3
    log_priors, values = network(torch.zeros(7, 4, 15, 15))
    assert log_priors.shape == (7, 225) and values.shape == (7,)
    assert sum(p.numel() for p in Network(6, width=8).parameters()) < 20_000


def test_occupied_places_have_no_share(seed: int) -> None:
    torch.manual_seed(seed)
    planes = boards(20, seed)
    log_priors, values = Network(6, 8)(torch.from_numpy(planes))
    occupied = (planes[:, 0] + planes[:, 1]).reshape(20, 36) > 0
    priors = log_priors.exp().detach().numpy()
    assert occupied.any() and (priors[occupied] == 0).all() and (priors[~occupied] > 0).all()
    assert np.allclose(priors.sum(1), 1, atol=1e-6)
    assert (values.abs() <= 1).all()


def test_the_gradient_is_that_of_finite_differences(seed: int) -> None:
    torch.manual_seed(seed)
    network = Network(6, 2).double()
    for parameter in network.parameters():  # nothing is 0, where ReLU has no gradient
        parameter.data += 0.1 * torch.randn_like(parameter)
    planes = torch.from_numpy(boards(4, seed)).double()
    occupied = (planes[:, 0] + planes[:, 1]).flatten(1) > 0
    policy = torch.rand(4, 36).double().masked_fill(occupied, 0)
    policy /= policy.sum(1, keepdim=True)
    outcome = torch.tensor([1.0, -1, 0, 1]).double()
    whole, squared, crossed = loss(network, planes, policy, outcome)
    log_priors, values = network(planes)
    want = ((outcome - values) ** 2).mean()
    entropy = [-sum(p * x for p, x in zip(row, logs, strict=True) if p > 0)
               for row, logs in zip(policy, log_priors, strict=True)]  # fmt: skip
    assert torch.allclose(squared, want)
    assert torch.allclose(crossed, torch.stack(entropy).mean())
    whole.backward()
    step = 1e-6
    for parameter in network.parameters():
        flat, slope = parameter.data.view(-1), parameter.grad
        assert slope is not None
        for index in {0, flat.numel() // 2, flat.numel() - 1}:
            kept, ends = flat[index].item(), []
            for sign in (1, -1):
                flat[index] = kept + sign * step
                ends.append(loss(network, planes, policy, outcome)[0].item())
            flat[index] = kept
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(
                slope.view(-1)[index].item(), abs=1e-5
            )


def test_the_evaluator_is_the_network_whatever_the_batch(seed: int) -> None:
    torch.manual_seed(seed)
    network = Network(6, 8)
    evaluator = Torch(network)
    planes = boards(9, seed)
    with torch.no_grad():
        log_priors, values = network(torch.from_numpy(planes))
    for count in (1, 4, 9):
        for first in range(0, 9 - count + 1, count):
            got = evaluator(planes[first : first + count])
            assert np.allclose(got[0], log_priors[first : first + count].exp(), atol=1e-5)
            assert np.allclose(got[1], values[first : first + count], atol=1e-5)
    with torch.no_grad():
        network.value[-2].bias.add_(1)  # type: ignore[operator, union-attr]
    assert np.allclose(evaluator(planes)[1], values, atol=1e-5), "it has a copy of the weights"
    evaluator.load(network)
    assert not np.allclose(evaluator(planes)[1], values, atol=1e-2)


@pytest.mark.parametrize("scheme", ["local", "shared"])
def test_a_search_with_a_network(scheme: str, seed: int) -> None:
    torch.manual_seed(seed)
    network = Network(6, 4)
    settings = TreeSettings(6, 4, scheme, workers=4, batch=2)
    with DnnTree(settings, Torch(network, streams=2)) as tree:
        found = tree.search(50)
        tree.check()
        with torch.no_grad():
            log_priors, _ = network(torch.from_numpy(Gomoku(6, 4).planes())[None])
        assert found.counts.playouts == found.visits.sum() == 50
        assert np.allclose(found.priors, log_priors.exp()[0], atol=1e-5)
