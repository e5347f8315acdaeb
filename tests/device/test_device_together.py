"""Engines of one device leave each other alone: errors, soft resets, time-outs; and two agents.

Source: docs/shell.md, errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import train_together
from flow.regression import builds, regress
from jackdaw import errors
from jackdaw.agents.a3c import initial_parameters
from jackdaw.agents.base import default_initialization
from jackdaw.device import load_config, open_device
from jackdaw.device.base import IRQ_ENABLE, PAGE_BYTES, SOFT_RESET, STATUS_FAILED, STATUS_IDLE
from jackdaw.drivers.a3c import A3C
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.learner import Learner, Storage, adam, td_pitch
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.drivers.rings import Ring
from models.a3c.network import NET_T
from models.a3c.rmsprop import HyperParameters
from models.registers import engine_header as header

CONFIG = "all"
BACKENDS = ("sim", "model")
UNKNOWN_OPCODE = 0x7F
WATCHDOG = 1500  # clocks
SIZES, BATCH, RECORDS, STEPS, PAIR_STEPS = [4, 16, 2], 8, 32, 3, 20
SETTINGS = HyperParameters.make(1e-2, eps=1e-2)

# A piece of work: prepares, yields once its first jobs run, then returns what came out.
Work = Generator[None, None, list[np.ndarray]]
pytestmark = builds(lambda backend, config: open_device(backend, config))


def storage(device: Any, seed: int) -> Storage:
    """Random records of the shape of CartPole's."""
    rng = np.random.default_rng(seed)
    words = rng.standard_normal((RECORDS, 16)).astype(np.float32)
    words[:, 4] = rng.integers(0, 2, RECORDS).astype(np.int32).view(np.float32)
    address = device.alloc(words.nbytes)
    device.write(address, words)
    return Storage(address, 64, RECORDS)


def of_a3c(device: Any, name: str, seed: int) -> Work:
    """Inferences and two trainings."""
    a3c, rng = A3C(device, name), np.random.default_rng(seed)
    net = a3c.load_net(NET_T, slots=3, sets=6)
    a3c.write_theta(net, 0, initial_parameters(net.network, rng))
    first, last = NET_T.regions[0], NET_T.regions[-1]
    seen = rng.standard_normal((6, first.words)).astype(np.float32)
    d = rng.standard_normal((6, last.width)).astype(np.float32)
    futures = [a3c.infer(net, 0, n, one) for n, one in enumerate(seen)]
    yield
    outputs = [future.result() for future in futures]
    trained = [
        a3c.train(net, 0, 0, 1, [0, 1, 2], d[:3], SETTINGS),
        a3c.train(net, 0, 1, 2, [3, 4, 5], d[3:], SETTINGS),
    ]
    for training in trained:
        training.result()
    return [*outputs, net.map.pack(a3c.read_theta(net, 2)), net.map.pack(a3c.read_g(net))]


def of_learner(device: Any, name: str, seed: int) -> Work:
    """Gradient steps on listed records."""
    learner, rng = Learner(device, name), np.random.default_rng(seed)
    learner.load_program(learner.dqn(SIZES, adam(1e-2), sync_period=2))
    learner.load(default_initialization(SIZES, rng))
    indices, td = rng.integers(0, RECORDS, (STEPS, BATCH)), device.alloc(STEPS * td_pitch(BATCH))
    job = learner.train(BATCH, storage(device, seed), steps=STEPS, indices=indices, td_address=td)
    yield
    assert job.wait().count == STEPS
    return [learner.td_errors(td, STEPS, BATCH), *learner.state().values()]


def of_replay(device: Any, name: str, seed: int) -> Work:
    """Insertions, samples and updates."""
    replay = Replay(device, ReplaySettings(leaves=100, seed=seed), name)
    rng = np.random.default_rng(seed)
    replay.insert(rng.random(60).astype(np.float32), td=True)
    yield
    found = []
    for _ in range(3):
        samples = replay.sample(16)
        replay.update(
            np.arange(16), rng.standard_normal(16).astype(np.float32), td=True, slots=True
        )
        replay.acknowledge()
        found += [samples.indices, samples.weights]
    return [*found, replay.retrieve(np.arange(60))]


def of_pair(device: Any, _: str, seed: int) -> Work:
    """Gradient steps on the replay engine's samples; its priorities follow the TD errors."""
    replay, learner = Replay(device, ReplaySettings(leaves=RECORDS, seed=seed)), Learner(device)
    learner.load_program(learner.dqn(SIZES, adam(1e-2), sync_period=2))
    learner.load(default_initialization(SIZES, np.random.default_rng(seed)))
    replay.insert(np.random.default_rng(seed).random(RECORDS).astype(np.float32), td=True)
    train = learner.train(BATCH, storage(device, seed), steps=PAIR_STEPS, td_stream=True)
    loop = replay.train_loop(BATCH, PAIR_STEPS, stratified=True)
    yield
    loop.wait(60)
    assert train.wait(60).count == PAIR_STEPS
    return [replay.retrieve(np.arange(RECORDS)), *learner.state().values()]


PAIR = {"replay", "learner"}  # with links between them
WORK: dict[str, Callable[[Any, str, int], Work]] = {
    "replay": of_replay, "learner": of_learner, "a3c": of_a3c, "pair": of_pair
}  # fmt: skip


def opened_ring(driver: EngineDriver) -> Ring:
    """Ring 0 of an engine that does nothing else."""
    return driver.open_ring(0, 3)


def make_errors(device: Any, driver: EngineDriver) -> None:
    """An unknown opcode, and a descriptor that cannot be read."""
    ring = opened_ring(driver)
    for code in (header.Error.E_OPCODE, header.Error.E_BUS_RD):
        if code is header.Error.E_BUS_RD:
            device.inject(ring._base, 8 * driver.info.descriptor_bytes, 3, direction=1)
        job = ring.submit([UNKNOWN_OPCODE])
        with pytest.raises(errors.error_class(driver.info.name, int(code))):
            job.wait(60)
    device.clear_faults()


def soft_reset(device: Any, driver: EngineDriver) -> None:
    """Drop queued jobs, again and again."""
    ring = opened_ring(driver)
    for _ in range(20):
        ring.submit_all([[0, tag] for tag in range(7)])
        driver.soft_reset()
        assert driver.read(header.STATUS.offset) & STATUS_IDLE


def time_out(device: Any, driver: EngineDriver) -> None:
    """A job that waits for a stream for ever."""
    driver.write(header.WATCHDOG.offset, WATCHDOG)
    if isinstance(driver, Learner):
        driver.load_program(driver.dqn(SIZES, adam(1e-2), sync_period=2))
        driver.load(default_initialization(SIZES, np.random.default_rng(1)))
        job = driver.train(BATCH, storage(device, 1), steps=1, td_stream=True)
    else:  # replay; the link takes some words
        assert isinstance(driver, Replay)
        driver.insert(np.ones(60, np.float32), td=True)
        job = driver.train_loop(16, 4)
    with pytest.raises(errors.error_class(driver.info.name, int(header.Error.E_TIMEOUT))):
        job.wait(60)
    driver.write(header.WATCHDOG.offset, 0)


def run(
    backend: str, seed: int, names: list[str], disturb: Callable[[Any], None] | None, config: str
) -> list[np.ndarray]:
    """What the work of some engines gives, all at once, while another is disturbed."""
    with open_device(backend, config, seed=seed) as device:
        kinds = {info.instance: info.name for info in device.engines()}
        tasks = [name for name in names if name not in PAIR or not set(names) >= PAIR]
        tasks += ["pair"] if set(names) >= PAIR else []
        work = [WORK[kinds.get(t, t)](device, t, seed + n) for n, t in enumerate(tasks)]
        for each in work:
            next(each)
        if disturb is not None:
            disturb(device)
        found: list[np.ndarray] = []
        for each in work:
            with pytest.raises(StopIteration) as end:
                next(each)
            found += end.value.value
        for info in device.engines():
            status = device.read32(info.page * PAGE_BYTES + header.STATUS.offset)
            if info.instance in names:
                assert not status & STATUS_FAILED, info
        return found


# On the RTL the fast tier disturbs each engine once, each way once.
SHORT = {("a3c", soft_reset), ("learner", make_errors), ("replay", time_out)}
DISTURBED = [
    pytest.param(
        backend, config, name, what,
        id=f"{backend}-{config}-{name}-{what.__name__}",
        marks=[]
        if config == CONFIG and (backend == "model" or (name, what) in SHORT)
        else [pytest.mark.regress],
    )
    for config, names in ((CONFIG, ("a3c", "learner", "replay")), ("learners", ("second",)))
    for name in names
    for what in (make_errors, soft_reset, time_out)
    for backend in BACKENDS
    # a3c has no stream to wait for, and in the model no clock passes
    if what is not time_out or (name != "a3c" and backend == "sim")
]  # fmt: skip


@pytest.mark.parametrize(("backend", "config", "name", "what"), DISTURBED)
def test_others_go_on_undisturbed(
    backend: str, config: str, name: str, what: Callable[..., None], seed: int
) -> None:
    """An error, a soft reset or a time-out of one engine changes no bit of the others' work."""
    kind = load_config(config).instance(name).engine.name

    def disturb(device: Any) -> None:
        if what is not time_out:
            driver = EngineDriver(device, kind, name)
        elif kind == "learner":
            driver = Learner(device, name)
        else:
            driver = Replay(device, ReplaySettings(leaves=64), name)
        what(device, driver)

    built = load_config(config)
    others = [i.name for i in built.instances if i.name != name]
    if what is time_out:  # the other end of its links is told, by contract
        ends = {end for link in built.links for end in (link.source, link.sink)}
        others = [other for other in others if name not in ends or other not in ends]
    wanted = run("model", seed, others, None, config)
    for got, want in zip(run(backend, seed, others, disturb, config), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.regress
@builds(lambda: open_device("sim", CONFIG))
def test_a_held_reset_holds_up_nobody(seed: int) -> None:
    """A soft reset that is asked for again and again, without waiting for its end."""
    others = ["replay", "learner"]

    def disturb(device: Any) -> None:
        for _ in range(20):
            device.write32(3 * PAGE_BYTES + header.CONTROL.offset, SOFT_RESET | IRQ_ENABLE)

    wanted = run("model", seed, others, None, CONFIG)
    for got, want in zip(run("sim", seed, others, disturb, CONFIG), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("steps", "agents"), [(1, 1), regress(20, 2)])
@builds(lambda: open_device("sim", CONFIG))
def test_two_agents_train_at_once(steps: int, agents: int, tmp_path: Path, seed: int) -> None:
    """DQN on CartPole and A3C on PixelCatch: on the RTL the bits that each has on a device of its
    own, of the golden models."""  # fmt: skip

    def train(name: str, *more: str) -> dict[str, Any]:
        folder = tmp_path / name
        done = train_together.main(
            [*more, "--seed", str(seed), "--out", str(folder), "--assertions"]
            + ["--set", f"max_steps={steps}", "--set", "warm=64", "--set", "capacity=128"]
            + ["--steps", str(6 * agents), "--agents", str(agents)]
        )
        assert done == 1 and (folder / "curve.png").exists()
        return dict(json.loads((folder / "summary.json").read_text()))

    together = train("sim", "--device", "sim")
    for agent, config in (("cartpole", "demo"), ("pixelcatch", "a3c")):
        alone = train(agent, "--device", "model", "--config", config, "--only", agent)
        assert together[agent] == alone[agent]
    assert together["cartpole"]["gradient_steps"] == steps
    assert together["pixelcatch"]["updates"] > 0


def test_two_agents_go_on_from_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    """DQN to the bit; A3C with its parameters and steps, its episodes beginning anew."""

    def train(name: str, steps: int, *more: str) -> dict[str, Any]:
        train_together.main(
            [*more, "--device", "model", "--seed", str(seed), "--out", str(tmp_path / name)]
            + ["--set", f"max_steps={steps}", "--set", "warm=64", "--agents", "2"]
            + ["--steps", str(12 * steps), "--checkpoint-minutes", "0"]
        )
        return dict(json.loads((tmp_path / name / "summary.json").read_text()))

    whole = train("whole", 4)
    half = train("parts", 2)
    parts = train("parts", 4, "--resume")
    assert parts["cartpole"] == whole["cartpole"] != half["cartpole"]
    assert (half["pixelcatch"]["steps"], parts["pixelcatch"]["steps"]) == (24, 48)
    assert parts["pixelcatch"]["updates"] > half["pixelcatch"]["updates"] > 0
    assert parts["cycles"] > 1.5 * half["cycles"]  # of both parts, without their checkpoints
    assert parts["cycles"] == pytest.approx(whole["cycles"], rel=0.1)
    assert parts["wall_seconds"] > half["wall_seconds"] > 0
    files = {p.name for p in (tmp_path / "parts").iterdir()}
    assert {"config.json", "summary.json", "curve.png", "checkpoint.npz"} < files
    arguments = ["--device", "model", "--seed", str(seed), "--out", str(tmp_path / "parts")]
    assert train_together.main([*arguments, "--resume", "--set", "batch=16"]) == 2
    assert "cartpole batch is 32, this run has 16" in capsys.readouterr().err
    assert train_together.main(arguments) == 2
    assert "is not empty; --resume or --overwrite" in capsys.readouterr().err


def test_two_agents_want_their_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be trained is named, before a folder is made."""
    for arguments, message in (
        (["--config", "demo"], "configuration demo has no a3c"),
        (["--config", "a3c"], "configuration a3c has no learner, replay"),
        (["--config", "nothing"], "no configuration nothing"),
        (["--set", "warm=x"], "want a whole number"),
        (["--set", "warms=1"], "the recipe has no warms"),
    ):
        folder = tmp_path / "none"
        assert train_together.main([*arguments, "--out", str(folder)]) == 2
        assert message in capsys.readouterr().err
        assert not folder.exists()
    with pytest.raises(SystemExit):
        train_together.main(["--steps", "0", "--out", "x"])
    assert "--steps: got 0, want at least 1" in capsys.readouterr().err
