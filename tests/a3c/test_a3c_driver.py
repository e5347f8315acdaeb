"""The a3c engine's driver: networks, tasks and futures, named errors; on the golden model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from jackdaw import errors
from jackdaw.agents.a3c import initial_parameters
from jackdaw.device import load_config, open_device
from jackdaw.drivers.a3c import A3C, Net
from models.a3c.network import NET_A, NET_S, NET_T, SMALL, Network, fc
from models.a3c.rmsprop import HyperParameters, rmsprop
from models.a3c.task import forward, gradients

SETTINGS = HyperParameters.make(1e-2, eps=1e-2)


@pytest.fixture
def a3c() -> Iterator[A3C]:
    with open_device("model", "a3c") as device:
        yield A3C(device)


def prepared(a3c: A3C, network: Network, seed: int) -> tuple[Net, np.random.Generator]:
    """A network with random parameters in slot 0."""
    rng = np.random.default_rng(seed)
    net = a3c.load_net(network, slots=3, sets=6)
    a3c.write_theta(net, 0, initial_parameters(net.network, rng))
    return net, rng


def test_a3c_driver_reads_the_build(a3c: A3C) -> None:
    assert a3c.geometry == SMALL
    config = load_config("a3c")
    wide = config.changed({"a3c.NPair": 2, "a3c.PortPerCu": 1, "MemPorts": 4})
    with open_device("model", wide) as device:
        other = A3C(device)
        assert other.geometry == replace(SMALL, n_pair=2, port_per_cu=True) and other.ports == 4


@pytest.mark.parametrize("network", [NET_S, NET_T], ids=["S", "T"])
def test_a3c_driver_runs_tasks(a3c: A3C, network: Network, seed: int) -> None:
    """A routine against the arithmetic of the golden model, without descriptors between."""
    net, rng = prepared(a3c, network, seed)
    first, last = net.network.regions[0], net.network.regions[-1]
    seen = rng.standard_normal((3, first.channels, first.height, first.width)).astype(np.float32)
    parameters = a3c.read_theta(net, 0)
    maps = forward(net.network, parameters, seen)
    futures = [a3c.infer(net, 0, n, one) for n, one in enumerate(seen)]
    for n, future in enumerate(futures):
        assert np.array_equal(future.result(), maps[-1][n].reshape(-1))
    both = a3c.infer(net, 0, [3, 4], seen[:2]).result()
    assert np.array_equal(both, maps[-1][:2].reshape(2, -1))
    value = a3c.infer(net, 0, 5, seen[2], bootstrap=True).result()
    assert np.array_equal(value, maps[-1][2].reshape(-1))
    d = rng.standard_normal((3, last.width)).astype(np.float32)
    assert a3c.train(net, 0, 0, 1, [0, 1, 2], d, SETTINGS).result() == 1
    image = net.map.pack(parameters)
    want, g = rmsprop(
        image, np.zeros_like(image), net.map.pack(gradients(net.network, parameters, maps[:-1], d)),
        SETTINGS,
    )  # fmt: skip
    assert np.array_equal(net.map.pack(a3c.read_theta(net, 1)), want)
    assert np.array_equal(net.map.pack(a3c.read_g(net)), g)
    assert a3c.sync(net, 1, 2, ordered=True).result() == 2 and a3c.sync(net, 1, 0).result() == 0
    for slot in (0, 2):
        assert np.array_equal(net.map.pack(a3c.read_theta(net, slot)), want)
    counters = a3c.counters()
    assert [counters[name] for name in ("INF", "BOOT", "TRAIN", "SYNC")] == [5, 1, 1, 2]
    assert a3c.cycles > 0 and counters["CU0_TASKS"] == 5


def test_a3c_driver_plans_lanes(a3c: A3C) -> None:
    net = a3c.load_net(NET_A.layers[2:], slots=1, sets=1) if a3c.geometry.n_pe > 64 else None
    assert net is None  # NET_A's own lanes need 64 elements
    net = a3c.load_net(NET_S.layers, slots=1, sets=1)
    for layer in range(len(NET_S.layers)):
        assert a3c.derived(net, layer) == net.network.constants(layer, a3c.geometry)


def test_a3c_driver_names_errors(a3c: A3C) -> None:
    with pytest.raises(errors.A3cLanesError):
        a3c.load_net(NET_A, 1, 1)
    net, _ = prepared(a3c, NET_S, 1)
    with pytest.raises(errors.A3cOverlapError) as raised:
        a3c.train(net, 1, 0, 1, [0], np.zeros((1, 16)), SETTINGS).result()
    assert raised.value.info == (6, 0x200)
    with pytest.raises(errors.A3cNbError):
        a3c.train(net, 0, 0, 1, [], np.zeros((0, 16)), SETTINGS).result()
    with pytest.raises(errors.A3cHparamError):
        bad = HyperParameters.make(float("nan"))
        a3c.train(net, 0, 0, 1, [0], np.zeros((1, 16)), bad).result()
    ended = a3c.infer(net, 0, 0, np.zeros((2, 12, 12)))
    assert ended.done() and ended.done() and ended.result() is ended.result()


def test_a3c_driver_has_slots_and_room(a3c: A3C) -> None:
    small = Network((fc(20, 16, relu=False),))
    nets = [a3c.load_net(small, slots=2, sets=1, trainings=1) for _ in range(SMALL.n_net)]
    assert [net.slot for net in nets] == [0, 1, 2, 3]
    with pytest.raises(errors.ConfigError):
        a3c.load_net(small, slots=1, sets=1)
    for _ in range(3):  # a training that ended gives its room back
        a3c.train(nets[0], 0, 0, 1, [0], np.zeros((1, 16)), SETTINGS)
    nets[0].objectives.clear()
    nets[0].trainings.clear()
    with pytest.raises(errors.ConfigError):
        a3c.train(nets[0], 0, 0, 1, [0], np.zeros((1, 16)), SETTINGS)


def test_a3c_driver_needs_the_engine() -> None:
    with open_device("model", "small") as device, pytest.raises(errors.DeviceMismatchError):
        A3C(device)


@pytest.mark.parametrize("layout", ["fa3c", "alt1", "alt2"])
def test_a3c_driver_has_layouts(layout: str, seed: int) -> None:
    """Parameters lie as chosen, twice in Alt2; an update and a copy give the same in all."""
    config = load_config("a3c")
    every = config.changed({"a3c.AltEn": 1})
    with open_device("model", every) as device, open_device("model", "a3c") as plain:
        both = [A3C(device, layout=layout), A3C(plain)]
        images = []
        for a3c in both:
            net, rng = prepared(a3c, NET_T, seed)
            first, last = net.network.regions[0], net.network.regions[-1]
            a3c.infer(net, 0, 0, rng.random(first.words).astype(np.float32)).result()
            d = rng.standard_normal((1, last.width)).astype(np.float32)
            a3c.train(net, 0, 0, 1, [0], d, SETTINGS).result()
            a3c.sync(net, 1, 2, ordered=True).result()
            size = 4 * net.map.words
            images += [a3c.device.read(net.theta[n], size) for n in (1, 2)]
            if a3c.layout == "alt2":
                second = net.map.slot_bytes
                images += [a3c.device.read(net.theta[n] + second, size) for n in (1, 2)]
        assert all(np.array_equal(image, images[0]) for image in images)


def test_a3c_driver_refuses_layouts(a3c: A3C) -> None:
    a3c.close()
    with pytest.raises(errors.ConfigError, match="AltEn=0"):
        A3C(a3c.device, layout="alt2")
    with pytest.raises(errors.ConfigError, match="want one of fa3c, alt1, alt2"):
        A3C(a3c.device, layout="alt3")
