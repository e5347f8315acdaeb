"""The device with the a3c engine: the RTL and the golden model through one driver.

In the fast tier the RTL's side is that of the device of all engines, by tests/device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from flow.regression import builds, regress
from jackdaw import errors
from jackdaw.agents.a3c import A3cSettings, initial_parameters
from jackdaw.device import load_config, open_device
from jackdaw.device.base import PAGE_BYTES, STATUS_IDLE
from jackdaw.drivers.a3c import A3C, Net
from jackdaw.runtime.asynchronous import AsynchronousRun
from models.a3c.descriptor import INF, Task
from models.a3c.network import NET_S, NET_T
from models.a3c.rmsprop import HyperParameters
from models.registers import a3c as registers
from models.registers import directory
from models.registers import engine_header as header

CONFIG = "a3c"
BACKENDS = ("sim", "model")
SETTINGS = HyperParameters.make(1e-2, eps=1e-2)
TIMEOUT_S, MAX_CYCLES = 60.0, 400_000
COUNTS = ("INF", "BOOT", "TRAIN", "SYNC", "CU0_TASKS", "CU1_TASKS")
pytestmark = builds(lambda device: open_device(device, CONFIG))


@pytest.fixture(params=[regress("sim"), "model"])
def device(request: pytest.FixtureRequest, seed: int) -> Iterator[Any]:
    """The configuration on one backend."""
    with open_device(request.param, CONFIG, seed=seed) as opened:
        yield opened


def prepared(device: Any, seed: int) -> tuple[A3C, Net, np.random.Generator]:
    """A network with random parameters."""
    a3c, rng = A3C(device), np.random.default_rng(seed)
    net = a3c.load_net(NET_T, slots=4, sets=6)
    a3c.write_theta(net, 0, initial_parameters(net.network, rng))
    return a3c, net, rng


def words_after_reset(device: Any) -> dict[str, int]:
    """Every readable word of the directory and of the engine, TIME excepted."""
    words = {
        register.name: device.read32(register.offset)
        for register in directory.REGISTERS
        if not register.name.startswith("TIME")
    }
    (engine,) = device.engines()
    for register in registers.REGISTERS:
        for index in range(register.count):
            at = engine.page * PAGE_BYTES + register.at(index)
            words[f"{register.name}[{index}]"] = device.read32(at)
    return words


@pytest.mark.regress
@builds(lambda: open_device("sim", CONFIG))
def test_a3c_device_is_the_same_on_both(seed: int) -> None:
    found = {}
    for backend in BACKENDS:
        with open_device(backend, CONFIG, seed=seed) as device:
            found[backend] = (device.engines(), words_after_reset(device))
    assert found["sim"] == found["model"]
    engines, words = found["sim"]
    assert [(engine.name, engine.id) for engine in engines] == [("a3c", "A3C ")]
    assert words["BUILD"] == load_config(CONFIG).build_hash


@pytest.mark.regress
@builds(lambda: open_device("sim", CONFIG))
def test_a3c_device_gives_the_same_bits(seed: int) -> None:
    """Inferences side by side, trainings one after the other, copies: parameters and outputs."""
    found = {}
    for backend in BACKENDS:
        with open_device(backend, CONFIG, seed=seed) as device:
            a3c, net, rng = prepared(device, seed)
            first, last = NET_T.regions[0], NET_T.regions[-1]
            seen = rng.standard_normal((6, first.words)).astype(np.float32)
            d = rng.standard_normal((6, last.width)).astype(np.float32)
            futures = [a3c.infer(net, 0, n, one) for n, one in enumerate(seen)]
            outputs = np.stack([f.result(TIMEOUT_S, MAX_CYCLES) for f in futures])
            trainings = [
                a3c.train(net, 0, 0, 1, [0, 1], d[:2], SETTINGS),
                a3c.train(net, 0, 1, 1, [2, 3, 4], d[2:5], SETTINGS),
                a3c.train(net, 0, 1, 2, [5], d[5:], SETTINGS),
            ]
            copied = a3c.sync(net, 2, 3, ordered=True)
            tickets = [t.result(TIMEOUT_S, MAX_CYCLES) for t in trainings]
            assert tickets == sorted(tickets) and copied.result(TIMEOUT_S, MAX_CYCLES)
            images = [net.map.pack(a3c.read_theta(net, slot)) for slot in (1, 2)]
            images.append(net.map.pack(a3c.read_g(net)))
            counters = a3c.counters()
            found[backend] = (outputs, *images, [counters[name] for name in COUNTS])
    for mine, want in zip(found["sim"], found["model"], strict=True):
        np.testing.assert_array_equal(mine, want)


def test_a3c_device_derives_the_constants(device: Any, seed: int) -> None:
    a3c, net, _ = prepared(device, seed)
    for layer in range(len(NET_T.layers)):
        assert a3c.derived(net, layer) == NET_T.constants(layer, a3c.geometry)


def test_a3c_device_names_errors(device: Any, seed: int) -> None:
    """Wrong tasks, and memory that fails; a good task after each."""
    a3c, net, rng = prepared(device, seed)
    seen = rng.standard_normal(NET_T.regions[0].words).astype(np.float32)

    def good() -> None:
        assert a3c.infer(net, 0, 0, seen).result(TIMEOUT_S, MAX_CYCLES).shape == (7,)

    with pytest.raises(errors.A3cAddrError):
        beyond = Task(INF, theta=device.memory_bytes, maps=(net.sets[0],))
        a3c.rings[0].submit(beyond.encode()).wait(TIMEOUT_S, MAX_CYCLES)
    good()
    for address, error in ((net.theta[0], errors.A3cBusRdError), (net.sets[0] + 64 * 18,
                                                                errors.A3cBusWrError)):  # fmt: skip
        device.inject(address, 64, direction=1 if error is errors.A3cBusRdError else 2)
        with pytest.raises(error) as raised:
            a3c.infer(net, 0, 0, seen).result(TIMEOUT_S, MAX_CYCLES)
        assert raised.value.info[1] == 2
        device.clear_faults()
        good()


def test_a3c_device_starts_anew_behind_a_soft_reset(device: Any, seed: int) -> None:
    a3c, net, rng = prepared(device, seed)
    seen = rng.standard_normal(NET_T.regions[0].words).astype(np.float32)
    before = a3c.infer(net, 0, 0, seen).result(TIMEOUT_S, MAX_CYCLES)
    dropped = [a3c.infer(net, 0, n, seen) for n in range(1, 6)]
    a3c.soft_reset()
    assert a3c.read(header.STATUS.offset) & STATUS_IDLE
    for future in dropped:
        if future.job.record is None:
            with pytest.raises(errors.JobDropped):
                future.result(TIMEOUT_S, MAX_CYCLES)
    again = a3c.infer(net, 0, 0, seen).result(TIMEOUT_S, MAX_CYCLES)
    np.testing.assert_array_equal(again, before)


@pytest.mark.regress
@builds(lambda: open_device("sim", CONFIG))
def test_a3c_agents_are_the_same_on_both(seed: int) -> None:
    """Agents in a game: parameters after the same steps, to the bit.

    In the fast tier `test_two_agents_train_at_once` shows it beside a second agent.
    """
    found = {}
    for backend in BACKENDS:
        with open_device(backend, CONFIG, seed=seed) as device:
            agents = AsynchronousRun(
                lambda: gymnasium.make("jackdaw/PixelCatch-v0"), NET_S, device,
                A3cSettings(agents=3, eps=1e-5), seed,
            )  # fmt: skip
            episodes = list(agents.run(33))
            assert agents.updates == 9
            found[backend] = (agents.net.map.pack(agents.parameters()), episodes)
    np.testing.assert_array_equal(found["sim"][0], found["model"][0])
    assert found["sim"][1] == found["model"][1]
