"""One engine, one driver: a second one gets a named error, and the first one goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from flow.configuration import Config, parse
from flow.regression import builds
from jackdaw import errors
from jackdaw.device import load_config, open_device
from jackdaw.drivers.a3c import A3C
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.learner import Learner
from jackdaw.drivers.qat import Qat
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.replay_buffer import PrioritizedReplayBuffer
from models.a3c.network import NET_S

ROWS: dict[str, dict[str, Any]] = {"row": {}}
pytestmark = builds(lambda: open_device("sim", "small"))


@pytest.fixture(params=["sim", "model"])
def device(request: pytest.FixtureRequest, seed: int) -> Iterator[Any]:
    with open_device(request.param, "small", seed=seed) as opened:
        yield opened


def two_replays() -> Config:
    """The small build with a second replay engine."""
    data = load_config("small").data()
    data["engines"]["second"] = dict(data["engines"]["replay"])
    return parse("two-replays", data)


def works(buffer: PrioritizedReplayBuffer, values: list[float]) -> None:
    """What the buffer holds is what it draws and returns."""
    assert buffer.get_all_transitions()["row"][:, 0].tolist() == values
    drawn = buffer.sample(8)
    assert set(drawn["row"][:, 0].tolist()) <= set(values)


def test_a_second_driver_is_refused_and_the_first_goes_on(device: Any) -> None:
    first = PrioritizedReplayBuffer(8, ROWS, device=device)
    first.add(row=[1.0, 2.0, 3.0])
    before = device.memory.tobytes()
    makers: list[Callable[[], Any]] = [
        lambda: PrioritizedReplayBuffer(8, ROWS, device=device),
        lambda: PrioritizedReplayBuffer(8, ROWS, device=device, page="replay"),
        lambda: Replay(device, ReplaySettings(4)),
        lambda: Replay(device, ReplaySettings(4), page=1),
        lambda: EngineDriver(device, "replay"),
    ]
    for make in makers:
        with pytest.raises(errors.EngineOwnedError, match="page 1 belongs to a driver Replay"):
            make()
    assert device.memory.tobytes() == before
    works(first, [1.0, 2.0, 3.0])
    learner = Learner(device)  # another engine
    with pytest.raises(errors.EngineOwnedError, match="Learner"):
        Learner(device)
    learner.close()
    Learner(device)


def test_a_closed_driver_gives_all_back(device: Any) -> None:
    free = list(device._allocator._free)
    with pytest.raises(errors.ConfigError), Replay(device, ReplaySettings(8)) as replay:
        replay.insert(count=3)
        raise errors.ConfigError("inside")
    assert device._allocator._free == free and device.owner(1) is None
    calls: list[Callable[[], Any]] = [
        lambda: replay.insert(count=1),
        lambda: replay.total,
        lambda: replay.rings[0].submit([0]),
        replay.soft_reset,
    ]
    with Replay(device, ReplaySettings(8)) as other:
        other.insert(count=1)
        for call in calls:
            with pytest.raises(errors.DeviceClosedError, match="driver is closed"):
                call()
        replay.close()  # twice is harmless, also to the one that has the engine now
        assert other.sample(4).indices.tolist() == [0] * 4
        waiting = other.train_loop(4, 1)  # no learner will ever answer
        assert not waiting.poll()
    assert isinstance(waiting.error, errors.JobDropped)
    assert device._allocator._free == free
    buffer = PrioritizedReplayBuffer(3, ROWS, device=device)
    buffer.add(row=[4.0])
    works(buffer, [4.0])


def test_a_failed_construction_gives_all_back(device: Any) -> None:
    free = list(device._allocator._free)
    held = device.alloc(device.memory_bytes // 2)
    too_large = {"row": {"shape": device.memory_bytes // 4}}
    makers: list[tuple[type[Exception], Callable[[], Any]]] = [
        (errors.ConfigError, lambda: Replay(device, ReplaySettings(1 << 20))),
        (errors.DeviceMemoryError, lambda: PrioritizedReplayBuffer(200, too_large, device=device)),
    ]
    for kind, make in makers:
        with pytest.raises(kind):
            make()
        assert device.owner(1) is None
    device.free(held)
    assert device._allocator._free == free
    buffer = PrioritizedReplayBuffer(3, ROWS, device=device)
    buffer.add(row=[4.0])
    works(buffer, [4.0])


@pytest.mark.parametrize("backend", ["model", pytest.param("sim", marks=pytest.mark.regress)])
def test_buffers_take_the_engines_that_are_free(backend: str) -> None:
    """Two buffers where a build has two engines; a third has none to take."""
    with open_device(backend, two_replays()) as device:
        buffers = [PrioritizedReplayBuffer(4, ROWS, device=device, seed=1) for _ in range(2)]
        assert [b.replay.info.instance for b in buffers] == ["replay", "second"]
        for k, buffer in enumerate(buffers):
            buffer.add(row=[10.0 * k, 10.0 * k + 1])
        with pytest.raises(errors.EngineOwnedError, match=r"each engine replay \(pages 1, 3\)"):
            PrioritizedReplayBuffer(4, ROWS, device=device)
        for k, buffer in enumerate(buffers):
            works(buffer, [10.0 * k, 10.0 * k + 1])
        buffers[0].close()
        third = PrioritizedReplayBuffer(4, ROWS, device=device)
        assert third.replay.info.page == 1
        third.add(row=[5.0])
        works(third, [5.0])
        works(buffers[1], [10.0, 11.0])


def test_other_engines_give_all_back() -> None:
    device: Any
    with open_device("model", "a3c") as device:
        free = list(device._allocator._free)
        with pytest.raises(errors.ConfigError, match="layout"):
            A3C(device, layout="alt3")
        with A3C(device) as a3c:
            net = a3c.load_net(NET_S, slots=2, sets=2)
            held = list(device._allocator._free)
            with pytest.raises(errors.DeviceMemoryError):
                a3c.load_net(NET_S, slots=(1 << 20) - 1, sets=1)
            assert device._allocator._free == held
            a3c.infer(net, 0, 0, np.zeros((2, 12, 12))).result()
        assert device._allocator._free == free and device.owner(1) is None
    with open_device("model", "qat") as device:
        with Qat(device, "qat") as qat, pytest.raises(errors.EngineOwnedError):
            Qat(device, qat.info.page)
        Qat(device)
