"""Bad input: each call of the host refuses it by a named error, and nothing is bent in silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import train
from flow.configuration import Config, numbers, parse
from flow.effort import scale
from flow.regression import builds
from jackdaw import errors
from jackdaw.agents.a3c import PIXEL_CATCH, A3cRecipe, A3cSettings
from jackdaw.agents.recipes import CARTPOLE, PENDULUM, RECIPES, Recipe, settings_from
from jackdaw.device import load_config, open_device
from jackdaw.device.timing import MemoryTiming
from jackdaw.drivers.a3c import A3C
from jackdaw.drivers.learner import Learner, Storage, adam, momentum, sgd
from jackdaw.drivers.qat import Qat, QatSettings, Source
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.errors import ConfigError, NonfiniteError
from jackdaw.ranges import Range, whole, wholes
from jackdaw.replay_buffer import PrioritizedReplayBuffer
from jackdaw.runtime.asynchronous import AsynchronousRun
from jackdaw.runtime.training import AsynchronousTraining, LockstepTraining, TimestepTraining
from models.a3c.network import NET_S
from models.a3c.rmsprop import HyperParameters

CONFIG = "small"
LEAVES, RECORDS, SIZES = 64, 16, [4, 8, 2]
NAN, INF = float("nan"), float("inf")
HALF: Any = 2.5
IMAGINARY: Any = 1j
BUFFER = (
    errors.BufferFieldError, errors.BufferPriorityError, errors.BufferIndexError,
    errors.BufferEmptyError, errors.BufferStateError,
)  # fmt: skip
NAMED = (*errors.EXPECTED, *BUFFER)
ROWS: dict[str, dict[str, Any]] = {"row": {"shape": 2}}
pytestmark = builds(lambda: open_device("sim", CONFIG))

# What a caller may give by mistake; some of it is fine somewhere.
NONSENSE: list[Any] = [
    None, True, "x", "", b"x", 1j, object(), [], {}, (), [[1], [1, 2]], {"a": 1},
    -1, 0, 3, 7, 3.0, 2.5, -0.5, NAN, INF, -INF, 1e30, 2**32 + 3, 2**63, -(2**70), 2**70,
    np.float64(3.0), np.float32(2.5), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True),
    np.array(3), np.array([]), np.array([1.9]), np.array([NAN, 1.0]), np.array([2**32 + 3]),
    np.array([-1]), np.array([1.0, 2.0]), np.array([True]), np.array([1j]), np.array(["a"]),
    np.array([None]), np.zeros((2, 2)), np.zeros((1, 8)), np.full((1, 8), 2.0),
    np.full(4, INF), np.arange(4), np.arange(4.0), np.full(8, 2**48), -np.ones(8, np.int64),
    [(np.zeros((8, 4)), np.zeros(8)), (np.zeros((2, 8)), np.full(2, NAN))],
    [(np.zeros((8, 4)), np.zeros(8)), (np.zeros((2, 9)), np.zeros(2))],
]  # fmt: skip
ANYTHING = st.sampled_from(range(len(NONSENSE)))


class Bench:
    """The drivers of a small device, filled, and what must not change."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.replay = Replay(device, ReplaySettings(LEAVES, seed=1))
        self.learner = Learner(device)
        self.learner.load_program(self.learner.dqn(SIZES, adam(0.01), sync_period=5))
        rng = np.random.default_rng(1)
        self.parameters = [
            (rng.normal(0, 0.3, (o, i)).astype(np.float32), np.zeros(o, np.float32))
            for i, o in pairwise(SIZES)
        ]
        self.learner.load(self.parameters)
        self.storage = Storage(self.learner.alloc(RECORDS * 64), 64, RECORDS)
        rows = rng.normal(0, 1, (RECORDS, 16)).astype(np.float32)
        rows[:, 4] = (np.arange(RECORDS) % 2).astype(np.int32).view(np.float32)
        device.write(self.storage.base, rows)
        self.out = self.learner.alloc(4096)
        self.fill()

    def fill(self) -> None:
        """Every leaf has a priority."""
        self.replay.clear()
        self.replay.insert(np.arange(1, LEAVES + 1) * 1000)

    def leaves(self) -> list[int]:
        """All priorities."""
        return self.replay.retrieve(np.arange(LEAVES)).tolist()

    def weights(self) -> bytes:
        """All weights."""
        return b"".join(a.tobytes() for pair in self.learner.store() for a in pair)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_device("model", CONFIG) as device:
        yield Bench(device)


@pytest.fixture(scope="module")
def simulated() -> Iterator[Bench]:
    with open_device("sim", CONFIG) as device:
        yield Bench(device)


# Call -> the arguments that are fine; each may be replaced by nonsense.
CALLS: dict[str, dict[str, Any]] = {
    "replay.sample": {"batch": 8, "batches": 1, "uniform": None, "stratified": True,
                      "weights": True, "beta": 0.5, "address": None},
    "replay.retrieve": {"indices": [1, 2]},
    "replay.update": {"indices": [1, 2], "values": [5, 6], "td": False, "delta": False,
                      "slots": False},
    "replay.update_from": {"address": 1 << 16, "count": 0},
    "replay.insert": {"values": [1, 2], "count": 1, "td": False},
    "replay.reserve": {"count": 0},
    "replay.commit": {"values": None, "count": 0, "td": False},
    "replay.stream": {"requests": np.zeros((0, 4), np.uint32)},
    "replay.gather": {"rows": [1, 2], "storage": 1 << 16, "row_bytes": 64},
    "replay.load_state": {"state": {}},
    "learner.dqn": {"sizes": SIZES, "optimizer": adam(0.01), "double": False, "kappa": 1.0,
                    "sync_period": 5, "tau": None},
    "learner.actor_critic": {"actor": [3, 8, 1], "critic": [4, 8, 1], "actor_optimizer": sgd(0.1),
                             "critic_optimizer": sgd(0.1), "twin": False, "delay": 2,
                             "tau": 0.1, "kappa": None, "lagged": False},
    "learner.load": {"parameters": [], "network": 0},
    "learner.store": {"network": 0, "target": False},
    "learner.state": {"network": 0},
    "learner.load_state": {"state": {}, "network": 0},
    "learner.infer": {"inputs": np.zeros((2, 4)), "network": 0},
    "learner.td_errors": {"td_address": 1 << 16, "steps": 1, "batch": 8},
    "learner.outputs": {"out_address": 1 << 16, "count": 2, "network": 0},
    "learner.gradient_parameters": {"gradients": np.zeros(9), "networks": None},
    "learner.apply": {"gradients": np.zeros(9), "networks": None},
    "device.alloc": {"nbytes": 64, "align": 64},
    "device.free": {"address": 64},
    "device.read": {"address": 0, "nbytes": 64},
    "device.write": {"address": 1 << 25, "data": np.zeros(0, np.uint8)},
}  # fmt: skip


def call(target: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a driver of the bench; an address that it gave is given back."""
    driver, method = name.split(".")
    result = getattr(getattr(target, driver), method)(**arguments)
    if method == "alloc":
        target.device.free(result)
    if method == "reserve" and len(result):
        target.replay.commit(count=len(result))
    return result


def throw(bench: Bench, name: str, spoilt: dict[int, int]) -> None:
    """One call with nonsense: it ends, or has a named error; a refusal changes nothing."""
    arguments = dict(CALLS[name])
    for place, what in spoilt.items():
        arguments[list(arguments)[place % len(arguments)]] = NONSENSE[what]
    before, weights = bench.leaves(), bench.weights()
    try:
        call(bench, name, arguments)
    except ConfigError:
        assert bench.leaves() == before and bench.weights() == weights, arguments
    except NAMED:
        pass
    if bench.replay.statistics()["N_INSERT"] and bench.leaves() != before:
        bench.replay.soft_reset()
        bench.fill()
    if bench.weights() != weights:
        bench.learner.load(bench.parameters)
    assert 0 <= bench.replay.sample(8).indices.max() < LEAVES
    bench.replay.acknowledge()


@settings(max_examples=scale(2000, 400), deadline=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(name=st.sampled_from(sorted(CALLS)),
       spoilt=st.dictionaries(st.integers(0, 9), ANYTHING, min_size=1, max_size=2))  # fmt: skip
def test_nonsense_is_refused_by_name(bench: Bench, name: str, spoilt: dict[int, int]) -> None:
    throw(bench, name, spoilt)


@settings(max_examples=scale(60, 15), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(CALLS)),
       spoilt=st.dictionaries(st.integers(0, 9), ANYTHING, min_size=1, max_size=2))  # fmt: skip
def test_nonsense_is_refused_by_name_on_rtl(
    simulated: Bench, name: str, spoilt: dict[int, int]
) -> None:
    throw(simulated, name, spoilt)


@settings(max_examples=scale(400, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 9), what=ANYTHING)
def test_nonsense_does_not_train(bench: Bench, place: int, what: int) -> None:
    """A step ends or is refused; of what is refused no weight changes."""
    arguments: dict[str, Any] = {
        "batch": 8, "data": bench.storage, "steps": 1, "indices": np.arange(8)[None],
        "weights": np.ones((1, 8)), "list_address": 0, "td_address": bench.out, "event_every": 0,
    }  # fmt: skip
    key = list(arguments)[place % len(arguments)]
    if key != "data" and NONSENSE[what] is not None:  # without indices it waits for the stream
        arguments[key] = NONSENSE[what]
    weights = bench.weights()
    try:
        bench.learner.train(**arguments).wait(20.0)
    except NAMED:
        assert bench.weights() == weights
    bench.learner.load(bench.parameters)
    assert np.isfinite(bench.learner.infer(np.ones((1, 4)))).all()


@settings(max_examples=scale(400, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(["infer", "train", "write_theta", "write_g", "sync", "load_net"]),
       place=st.integers(0, 9), what=ANYTHING)  # fmt: skip
def test_nonsense_of_a3c(a3c: tuple[A3C, Any], name: str, place: int, what: int) -> None:
    driver, net = a3c
    calls: dict[str, dict[str, Any]] = {
        "infer": {"theta": 0, "sets": 0, "observed": np.zeros((2, 12, 12))},
        "train": {"local": 0, "source": 0, "target": 1, "sets": [0],
                  "gradients": np.zeros((1, 16)), "settings": HyperParameters.make(1e-3)},
        "write_theta": {"slot": 0, "parameters": []},
        "write_g": {"squares": []},
        "sync": {"source": 0, "target": 1, "ordered": False},
        "load_net": {"network": None, "slots": 1, "sets": 1, "trainings": 1, "samples": 5},
    }  # fmt: skip
    arguments = calls[name]
    key = list(arguments)[place % len(arguments)]
    if key not in ("settings", "ordered"):
        arguments[key] = NONSENSE[what]
    first = () if name == "load_net" else (net,)
    try:
        result = getattr(driver, name)(*first, **arguments)
        if result is not None:
            result.result()
    except NAMED:
        pass
    assert driver.infer(net, 0, 0, np.zeros((2, 12, 12))).result().shape == (16,)


@pytest.fixture(scope="module")
def a3c() -> Iterator[tuple[A3C, Any]]:
    with open_device("model", "a3c") as device:
        driver = A3C(device)
        yield driver, driver.load_net(NET_S, slots=3, sets=3)


def layers(*sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """A network of small weights."""
    return [(np.full((o, i), 0.01), np.zeros(o)) for i, o in pairwise(sizes)]


@pytest.fixture(scope="module")
def qat() -> Iterator[tuple[Qat, Source]]:
    with open_device("model", "qat") as device:
        driver = Qat(device)
        driver.configure(QatSettings(noise="none"))
        driver.load_network(layers(3, 8, 1), layers(4, 8, 1))
        stride = driver.geometry.stride(3)
        yield driver, Source(driver.alloc(16 * stride), stride, 16)


@settings(max_examples=scale(400, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(["infer", "train", "adam", "seed", "write_region", "read_region",
                             "load_network", "load_state", "encode_list", "store_network"]),
       place=st.integers(0, 9), what=ANYTHING)  # fmt: skip
def test_nonsense_of_qat(qat: tuple[Qat, Source], name: str, place: int, what: int) -> None:
    """What is refused counts no update of Adam."""
    driver, source = qat
    lines = np.zeros((0, driver.geometry.lw), np.int32)
    calls: dict[str, dict[str, Any]] = {
        "infer": {"state": np.zeros(3), "noise": False},
        "train": {"batch": 4, "lr_actor": 1e-3, "lr_critic": None, "source": source,
                  "state": None, "act": "after", "noise": False, "targets": True, "chunk": None,
                  "actor_scale": 4, "critic_scale": 0},
        "adam": {"net": 0, "rate": 1e-3, "targets": False},
        "seed": {"words": [1, 2, 3, 4], "x": None},
        "write_region": {"region": "m", "lines": lines, "first": 0},
        "read_region": {"region": "m", "count": 1, "first": 0},
        "load_network": {"actor": [], "critic": [], "bias": True},
        "load_state": {"state": {}},
        "encode_list": {"indices": [1, 2], "weights": None},
        "store_network": {"region": "w"},
    }  # fmt: skip
    arguments = calls[name]
    arguments[list(arguments)[place % len(arguments)]] = NONSENSE[what]
    updates = list(driver.updates)
    try:
        job = getattr(driver, name)(**arguments)
        if name == "train":
            job.wait(20.0)
    except ConfigError:
        assert driver.updates == updates
    except NAMED:
        pass
    assert np.isfinite(driver.infer(np.zeros(3))).all()


@settings(max_examples=scale(600, 150), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(["add", "update_priorities", "sample", "load_state"]),
       place=st.integers(0, 9), what=ANYTHING)  # fmt: skip
def test_nonsense_of_the_replay_buffer(
    buffer: PrioritizedReplayBuffer, name: str, place: int, what: int
) -> None:
    buffer.clear()
    buffer.add(row=np.arange(8.0).reshape(4, 2))
    calls: dict[str, dict[str, Any]] = {
        "add": {"row": [[1.0, 2.0]], "priorities": [1.0]},
        "update_priorities": {"indexes": [0, 1], "priorities": [1.0, 2.0]},
        "sample": {"batch_size": 4, "beta": 0.4},
        "load_state": {"state": {"settings": {}}},
    }
    arguments = calls[name]
    key = list(arguments)[place % len(arguments)]
    if key != "state":
        arguments[key] = NONSENSE[what]
    total = buffer.replay.total
    try:
        getattr(buffer, name)(**arguments)
    except NAMED:
        assert buffer.replay.total == total and len(buffer) == 4
    assert buffer.sample(4)["row"].shape == (4, 2)


@pytest.fixture(scope="module")
def buffer() -> Iterator[PrioritizedReplayBuffer]:
    with open_device("model", CONFIG) as device:
        yield PrioritizedReplayBuffer(10, ROWS, device=device)


@settings(max_examples=scale(2000, 400), deadline=None)
@given(
    kind=st.sampled_from(
        [*RECIPES.values(), A3cSettings(), PIXEL_CATCH, QatSettings(), ReplaySettings(8)]
    ),
    place=st.integers(0, 40),
    what=ANYTHING,
)
def test_nonsense_is_no_setting(kind: Any, place: int, what: int) -> None:
    """Every field of every settings class takes what its type can hold, or names the field."""
    names = list(kind.__dataclass_fields__)
    name = names[place % len(names)]
    if name in ("network", "settings"):
        return
    try:
        made = replace(kind, **{name: NONSENSE[what]})
    except ConfigError as error:
        assert name in str(error)
    else:
        found = getattr(made, name)
        assert type(found) in (type(getattr(kind, name)), type(None), float, int, str), found
        assert found == NONSENSE[what]


# ---- What was bent in silence
def test_indices_do_not_wrap(bench: Any) -> None:
    bench.fill()
    before, weights = bench.leaves(), bench.weights()
    for wrong in (2**32 + 3, NAN, 1.9, -1, True, 1j, "3", None):
        mixed = np.array([1, wrong], object)  # a list of these would be whole numbers to NumPy
        for index in ([wrong], mixed, mixed.tolist() if wrong is not True else [True, False]):
            for act in (
                lambda i=index: bench.replay.update(i, np.ones(len(i), np.int64)),
                lambda i=index: bench.replay.retrieve(i),
                lambda i=index: bench.replay.gather(i, 1 << 16, 64),
                lambda i=index: bench.learner.train(len(i), bench.storage, indices=[i]),
            ):
                with pytest.raises(ConfigError, match=r"indices|rows"):
                    act()
    assert bench.leaves() == before and bench.weights() == weights
    bench.replay.update(np.array([3.0, 4.0]), np.array([7.0, 8.0]))  # whole numbers are no harm
    assert bench.replay.retrieve(np.array([3.0, 4], np.float32)).tolist() == [7, 8]
    assert bench.leaves() == [*before[:3], 7, 8, *before[5:]]
    for wrong in (1.5, NAN, -1, 2**32, INF):
        with pytest.raises(ConfigError, match="priorities"):
            bench.replay.update([3], [wrong])
    with pytest.raises(ConfigError, match="2 indices for 1 values"):
        bench.replay.update([3, 4], [1])
    with pytest.raises(errors.ReplayIndexError):
        bench.replay.update([LEAVES], [1])
    bench.fill()


def test_requests_have_one_shape(bench: Any) -> None:
    for wrong in (
        np.zeros(4, np.uint32), np.zeros((2, 3), np.uint32), np.zeros((1, 4)) + 0.5,
        np.full((1, 4), -1), np.full((1, 4), 2**32), [[1, 2, 3]], "abcd",
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="requests"):
            bench.replay.stream(wrong)  # type: ignore[arg-type]


def test_uniform_numbers_are_those_of_the_batch(bench: Any) -> None:
    good = np.arange(4) << 40
    for wrong in (
        good[:3],
        good[None],
        good + 0.5,
        -good,
        good << 8,
        np.array([NAN] * 4),
        ["a"] * 4,
        good[0],
    ):
        with pytest.raises(ConfigError, match="uniform"):
            bench.replay.sample(4, uniform=wrong, stratified=False)
    one = bench.replay.sample(4, uniform=good, stratified=False).indices
    two = bench.replay.sample(4, uniform=good.astype(np.float64), stratified=False).indices
    assert one.tolist() == two.tolist()
    bench.replay.acknowledge()


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("batch: got -1", lambda b: b.replay.sample(-1)),
        ("batch: got 2.5", lambda b: b.replay.sample(2.5)),
        ("batches: got 0", lambda b: b.replay.sample(4, batches=0)),
        ("beta: got 5", lambda b: b.replay.sample(4, beta=5)),
        ("beta: got nan", lambda b: b.replay.sample(4, beta=NAN)),
        ("stratified: got 1", lambda b: b.replay.sample(4, stratified=1)),
        ("alpha: got nan", lambda b: ReplaySettings(8, alpha=NAN)),
        ("leaves: got 2.5", lambda b: replace(ReplaySettings(8), leaves=HALF)),
        ("seed: got -1", lambda b: ReplaySettings(8, seed=-1)),
        ("network: got 5", lambda b: b.learner.load(b.parameters, network=5)),
        ("network: got -1", lambda b: b.learner.store(-1)),
        ("weights: got nan", lambda b: b.learner.load([(w * NAN, v) for w, v in b.parameters])),
        ("load: got 1 layers", lambda b: b.learner.load(b.parameters[:1])),
        ("sync_period: got 2.5", lambda b: b.learner.dqn(SIZES, adam(0.1), sync_period=2.5)),
        ("sync_period: got 0", lambda b: b.learner.dqn(SIZES, adam(0.1), sync_period=0)),
        ("tau: got nan", lambda b: b.learner.dqn(SIZES, adam(0.1), tau=NAN)),
        ("tau: got -0.1", lambda b: b.learner.dqn(SIZES, adam(0.1), tau=-0.1)),
        ("kappa: got nan", lambda b: b.learner.dqn(SIZES, adam(0.1), kappa=NAN)),
        ("kappa: got 1j", lambda b: b.learner.dqn(SIZES, adam(0.1), kappa=1j)),
        ("learning rate: got nan", lambda b: adam(NAN)),
        ("learning rate: got -0.1", lambda b: sgd(-0.1)),
        ("learning rate: got 1j", lambda b: momentum(IMAGINARY)),
        ("learning rate: got inf", lambda b: adam(INF)),
        ("beta1: got 1", lambda b: adam(0.1, beta1=1)),
        ("optimizer", lambda b: b.learner.dqn(SIZES, 0.1)),
        ("widths: got 4.5", lambda b: b.learner.dqn([4, 4.5, 2], adam(0.1))),
        ("weights: got nan", lambda b: step(b, np.full((1, 8), NAN))),
        ("weights: got -1", lambda b: step(b, -np.ones((1, 8)))),
        ("weights: got complex128", lambda b: step(b, np.ones((1, 8)) * 1j)),
        ("weights: got shape", lambda b: step(b, np.ones(8))),
        ("latency", lambda b: MemoryTiming(latency=0)),
        ("read: got 2.5", lambda b: MemoryTiming(read=HALF)),
    ],
)  # fmt: skip
def test_arguments_are_refused(bench: Bench, text: str, act: Callable[[Bench], Any]) -> None:
    before, weights = bench.leaves(), bench.weights()
    with pytest.raises(ConfigError, match=text):
        act(bench)
    assert bench.leaves() == before and bench.weights() == weights


def step(bench: Bench, weights: np.ndarray) -> None:
    """A gradient step with these importance weights."""
    bench.learner.train(8, bench.storage, indices=np.arange(8)[None], weights=weights).wait()


# ---- Settings and command lines
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", NAN), ("learning_rate", NAN), ("learning_rate", -0.1), ("learning_rate", 1j),
        ("reward_scale", NAN), ("reward_scale", INF), ("huber", NAN), ("gamma", NAN),
        ("alpha", NAN), ("actors", 1000), ("batch", 2.5), ("capacity", 10), ("warm", 100_000),
        ("ratio", 40_000), ("hidden", ()), ("hidden", (10**12,)), ("hidden", 64),
        ("double", 1), ("epsilon", (1.0,)), ("epsilon", (0.0, NAN)), ("environment", 5),
    ],
)  # fmt: skip
def test_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{name}.* got" if name != "capacity" else name):
        replace(CARTPOLE, **{name: value})


def test_settings_are_taken() -> None:
    """No goal is a goal that is never reached; whole numbers may be floats; None is None."""
    changes: dict[str, Any] = {"batch": np.float64(16), "huber": None, "hidden": [8, 8]}
    made = replace(CARTPOLE, threshold=1e30, **changes)
    assert (made.threshold, made.batch, made.huber, made.hidden) == (1e30, 16, None, (8, 8))
    assert type(made.batch) is int and replace(CARTPOLE, threshold=1).threshold == 1.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("huber=None", {"huber": None}), ("huber=0.5", {"huber": 0.5}),
        ("double=True", {"double": True}), ("double=false", {"double": False}),
        ("hidden=8", {"hidden": (8,)}),
        ("epsilon=1,0", {"epsilon": (1.0, 0.0)}), ("threshold=1e30", {"threshold": 1e30}),
        ("optimizer=sgd", {"optimizer": "sgd"}),
    ],
)  # fmt: skip
def test_command_lines_set_every_kind_of_field(text: str, found: dict[str, Any]) -> None:
    assert settings_from(CARTPOLE, [text]) == found


@pytest.mark.parametrize(
    "text", ["huber=", "huber=-1", "double=1", "batch=2.5", "batch=None", "hidden=", "hidden=a",
             "epsilon=1", "optimizer=lion", "threshold=nan", "slot=1", "_checks=1", "=1", "batch"],
)  # fmt: skip
def test_command_lines_blame_the_field(text: str) -> None:
    name = text.partition("=")[0]
    with pytest.raises(ConfigError, match=f"--set {text}: .*{name}"):
        settings_from(CARTPOLE, [text])


BASE = {"ClockHz": 100_000_000, "MemSizeLog2": 20, "MemPorts": 1, "engines": {"replay": {}}}
FILES = {
    "nothing": b"", "a half": b'{"ClockHz": 1', "a list": b"[]", "a number": b"5", "null": b"null",
    "no text": bytes(range(128, 200)), "deep": b"[" * 100_000,
    "missing": json.dumps({k: v for k, v in BASE.items() if k != "MemPorts"}).encode(),
    **{
        f"{name} = {value!r}": json.dumps({**BASE, name: value}).encode()
        for name, value in (
            ("Clock", 1), ("ClockHz", 0), ("ClockHz", -1), ("ClockHz", "1"), ("ClockHz", 1e8),
            ("ClockHz", True), ("MemPorts", 1000), ("MemPorts", 0), ("MemSizeLog2", 50),
            ("MemSizeLog2", None), ("engines", []), ("engines", {"warp": {}}),
            ("engines", {"replay": 5}), ("engines", {"replay": {"parameters": {"Size": 1}}}),
            ("engines", {"replay": {"parameters": {"KLog2": 60}}}),
            ("engines", {"replay": {"parameters": {"KLog2": 0}}}),
            ("engines", {"replay": {"parameters": {"KLog2": -1}}}),
            ("engines", {"replay": {"parameters": {"KLog2": 2.5}}}),
            ("engines", {"replay": {"size": 1}}), ("links", [5]), ("links", ["a > b"]),
            ("top", "jd_top"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_wrong_configurations_have_a_named_error(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(FILES[what])
    for backend in ("model", "sim"):
        with pytest.raises(ConfigError, match="wrong"):
            open_device(backend, str(path))
    out = tmp_path / "run"
    assert train.main(["--device", "model", "--config", str(path), "--out", str(out)]) == 2
    assert "wrong" in capsys.readouterr().err and not out.exists()


def test_devices_that_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for config in ("nothing", "none/nothing.json", tmp_path / "folder.json", 5, None, "a\0b"):
        with pytest.raises(ConfigError):
            open_device("model", config)  # type: ignore[arg-type]
    for backend in ("board", None, 5):
        with pytest.raises(ConfigError, match="backend"):
            open_device(backend, "demo")  # type: ignore[arg-type]
    for options in ({"memory": "Z"}, {"memory": 5}, {"seed": -1}, {"seed": 1.5}, {"sede": 1},
                    {"assertions": "no"}):  # fmt: skip
        for backend in ("model", "sim"):
            with pytest.raises(ConfigError, match=next(iter(options))):
                open_device(backend, CONFIG, **options)
    with pytest.raises(ConfigError, match="NAME=NUMBER"):
        numbers(["replay.KLog2=x"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--memory", "Z"], "memory: got 'Z', want one of D, S, Q, I"),
        (["--seed", "-1"], "seed: got -1"),
        (["--set", "threshold=nan"], "threshold: got nan"),
        (["--set", "learning_rate=nan"], "learning_rate: got nan"),
        (["--set", "actors=1000"], "actors: got 1000, want at most ratio, which is 32"),
        (["--config", "a3c"], "has no engine replay"),
        (["--config", "qat"], "has no engine learner"),
        (["--max-steps", "0"], "max_steps: got 0"),
    ],
)  # fmt: skip
def test_commands_end_in_one_line(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert train.main(["--device", "model", "--out", str(out), *options]) == 2
    printed = capsys.readouterr().err.strip().splitlines()
    assert text in printed[-1] and "Traceback" not in "".join(printed) and not out.exists()


def test_seeds_of_runs(tmp_path: Path) -> None:
    for wrong in (-1, 2**64, 1.5, NAN, None, True):
        with pytest.raises(ConfigError, match="seed"):
            LockstepTraining.identity(CARTPOLE, wrong, "demo")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="seed"):
            AsynchronousTraining.identity(PIXEL_CATCH, wrong, "a3c")  # type: ignore[arg-type]
        with open_device("model", "demo") as device, pytest.raises(ConfigError, match="seed"):
            LockstepTraining(device, CARTPOLE, wrong)  # type: ignore[arg-type]


# ---- Values that are not numbers
class Spoilt(gymnasium.Wrapper):  # type: ignore[type-arg]
    """An environment that gives a bad number in one step."""

    def __init__(self, name: str, step: int, observation: float | None, reward: float) -> None:
        super().__init__(gymnasium.make(name))
        self.left, self.observation, self.bad = step, observation, reward

    def step(self, action: Any) -> Any:
        observed, reward, *rest = self.env.step(action)
        self.left -= 1
        if self.left == 0:
            observed = np.array(observed)
            if self.observation is not None:
                observed[1] = self.observation
            else:
                reward = self.bad
        return observed, reward, *rest


@pytest.mark.parametrize("value", [NAN, INF, -INF, 1e39])
@pytest.mark.parametrize("where", ["observation", "reward"])
@pytest.mark.parametrize("agent", ["dqn", "ddpg", "ddpg-qat"])
def test_numbers_that_are_not_finite(
    agent: str, where: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends by a named error with environment and step, not in the hardware."""
    base: Recipe = RECIPES[agent, "CartPole-v1" if agent == "dqn" else "Pendulum-v1"]
    chosen = replace(base, warm=8, capacity=128, batch=8, max_steps=3)
    kind = TimestepTraining if agent == "ddpg-qat" else LockstepTraining
    bad = value if where == "observation" else None

    def make(_: Any) -> gymnasium.Env[Any, Any]:
        from jackdaw.runtime.environment import Environment

        made = Environment(chosen.environment)
        made.env = Spoilt(chosen.environment, 5, bad, value)
        return made

    monkeypatch.setattr(kind, "_make", make)
    with open_device("model", chosen.config) as device:
        training = kind(device, chosen, 1)  # type: ignore[arg-type]
        with pytest.raises(NonfiniteError, match=rf"{chosen.environment}, step 5: {where}"):
            for _ in training.rounds():
                pass
        training.close()


def test_returns_that_are_not_finite() -> None:
    with open_device("model", "demo") as device:
        chosen = replace(CARTPOLE, warm=8, capacity=128, batch=8, reward_scale=3e38)
        training = LockstepTraining(device, chosen, 1)
        with pytest.raises(NonfiniteError, match="reward scale 3e\\+38"):
            for _ in training.rounds():
                pass
        training.close()


def test_a_training_that_diverges_names_the_cause() -> None:
    """The learner's error, not that of replay, which only misses its answer."""
    chosen = replace(
        CARTPOLE, warm=64, capacity=128, optimizer="sgd", learning_rate=1e30, huber=None
    )
    for mode in ("comm_reduction", "default"):
        with open_device("model", "demo") as device:
            training = LockstepTraining(device, chosen, 1, mode)
            with pytest.raises(errors.LearnerNonfiniteError):
                for _ in training.rounds():
                    assert training.step < 20
            training.close()


# ---- A3C
def test_a3c_wants_frames() -> None:
    makers: list[tuple[Callable[[], Any], str]] = [
        (lambda: gymnasium.make("CartPole-v1"), r"observations of shape \(4,\)"),
        (lambda: gymnasium.make("Pendulum-v1"), r"observations of shape \(3,\)"),
        (Continuous, "actions Box"),
    ]
    for make, text in makers:
        with open_device("model", "a3c") as device:
            with pytest.raises(ConfigError, match=text):
                AsynchronousRun(make, NET_S, device, A3cSettings(agents=2), 1)
            A3C(device)  # the engine was given back


class Continuous(gymnasium.Env[Any, Any]):
    """Frames, but actions that are numbers; bad frames from a step on."""

    def __init__(self, actions: gymnasium.Space[Any] | None = None, step: int = 0) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 1, (2, 12, 12), np.float32)
        self.action_space = actions or gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.left = step

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros((2, 12, 12), np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        value = NAN if self.left == 0 else 0.0
        return np.full((2, 12, 12), value, np.float32), 1.0, False, False, {}


def test_a3c_names_frames_that_are_not_finite() -> None:
    with open_device("model", "a3c") as device:
        run = AsynchronousRun(
            lambda: Continuous(gymnasium.spaces.Discrete(3), 3), NET_S, device,
            A3cSettings(agents=2), 1,
        )  # fmt: skip
        with pytest.raises(NonfiniteError, match=r"Continuous, step 5: observation\[0, 0, 0\]"):
            list(run.run(100))
        run.close()


@pytest.mark.parametrize("name", ["steps", "window"])
@pytest.mark.parametrize("value", [0, -1, 2.5, NAN, None])
def test_a3c_takes_steps(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        A3cRecipe("PixelCatch", **{name: value})


# ---- The layer itself
def test_ranges_say_what_is_wanted() -> None:
    for allowed, text in (
        (Range(1, 64), "1..64"), (Range(0, 1, above=True), "more than 0, at most 1"),
        (Range(1), "at least 1"), (Range(), "a finite number"), (Range(infinite=True), "a number"),
        (Range(0, (1 << 32) - 1), "0..2**32-1"), (Range(high=2, below=True), "less than 2"),
    ):  # fmt: skip
        assert str(allowed) == text
    for value in (3, 3.0, np.float32(3), np.uint8(3), np.array(3)):
        assert whole("x", value, 1, 4) == 3
    huge = [2**63 + 5, 1]
    assert wholes("x", huge, 0, 2**64 - 1).tolist() == huge
    with pytest.raises(ConfigError, match="x: got 18446744073709551616"):
        wholes("x", [2**64], 0, 2**64 - 1)
    with nullcontext():
        assert wholes("x", []).dtype == np.int64


def test_builds_are_compared_whole() -> None:
    """Every parameter, port and link is a part of a build's identity; the name is not."""
    base = load_config("demo")
    same: Config = parse("other", base.data())
    assert same.identity == base.identity
    for change in ({"ClockHz": 1000}, {"MemSizeLog2": 25}, {"replay.KLog2": 2}):
        assert base.changed(change).identity != base.identity
    data = base.data()
    data["links"] = data["links"][:1]
    assert parse("demo", data).identity != base.identity
    assert PENDULUM.config != CARTPOLE.config


def test_models_give_no_zeros_for_counters_that_they_have_not(
    bench: Bench, a3c: tuple[A3C, Any]
) -> None:
    assert list(bench.replay.counters()) == list(bench.learner.counters()) == ["CYCLES"]
    statistics = bench.learner.statistics()
    assert "TU_BUSY" in statistics and not [name for name in statistics if "STALL" in name]
    driver, net = a3c
    driver.infer(net, 0, 0, np.zeros((2, 12, 12))).result()
    found = driver.counters()
    assert found["CU0_ISSUE"] > 0 < found["CU0_ST_CTX"]
    assert not [name for name in found if name.endswith(("_PARAM", "_FM", "_DRAIN", "_GB"))]
    assert "BUSY" not in found
    words = bench.device.counters()[1]
    assert words["JOBS_DONE"] > 0 < words["CYCLES"] and "STALL_MEM" not in words
