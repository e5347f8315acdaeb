"""The qat engine's RTL: jobs in its environment, and a trained actor on the device."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from flow import simulate
from flow.configuration import Config, parse
from flow.effort import scale
from flow.regression import builds, regress
from jackdaw.device import open_device
from jackdaw.device.sim import build_library
from jackdaw.drivers.qat import Qat, QatSettings, Source
from models.qat.layout import ACTOR, CRITIC
from models.qat.records import Transitions, pack
from models.registers import qat as registers
from verif.coverage import require

SMALL = {
    "QatCores": 2, "QatLw": 4, "QatVc": 16, "QatActLines": 44, "QatDelLines": 12, "QatWLines": 512,
    "QatMaxDim": 40, "QatTanhLanes": 2, "QatAdamLanes": 4,
}  # fmt: skip
R0 = SMALL | {"QatCores": 1, "QatVc": 8, "QatMaxLayers": 3}
LW8 = SMALL | {"QatLw": 8, "QatAdamLanes": 4, "QatCores": 4, "QatTanhLanes": 4}
# The published schedule leaves the other one as it is, and is tested with it.
BUILDS = {"small": SMALL | {"QatPaper": 1}, "R0": R0, "LW8": LW8 | {"QatPaper": 1}}
CONFIG = parse(
    "qat_small",
    {
        "ClockHz": 164_000_000, "MemSizeLog2": 20, "MemPorts": 1,
        "engines": {"qat": {"parameters": SMALL}},
    },
)  # fmt: skip


def run(test: str, build: str, seed: int) -> Path:
    return simulate.run(
        "jackdaw:engine:qat_top", toplevel="jd_qat_top", module="verif.qat.tests", test=test,
        parameters=BUILDS[build], seed=seed,
    )  # fmt: skip


@pytest.mark.cocotb
@pytest.mark.parametrize(
    "test", ["Smoke", "Learning", "Wrong", "Failures", "ScoreboardFires", regress("BackPressure")]
)
@pytest.mark.parametrize("build", ["small", regress("R0"), regress("LW8")])
def test_qat_top(test: str, build: str, seed: int) -> None:
    run(test, build, seed)


@pytest.mark.cocotb
@pytest.mark.parametrize("build", ["small", regress("LW8")])
def test_qat_published_schedule(build: str, seed: int) -> None:
    run("Paper", build, seed)


@pytest.mark.goal
@pytest.mark.regress
def test_qat_coverage(runs: list[Path]) -> None:
    """All runs together met every job, error, mode, memory and kind of slot."""
    require(runs)


def trained(config: Config, qdelay: int, seed: int) -> tuple[Qat, np.random.Generator]:
    """A golden engine after some timesteps on random transitions."""
    rng = np.random.default_rng(seed)
    states, actions, batch = 7, 2, 16
    device = open_device("model", config)
    engine = Qat(device)
    g = engine.geometry
    sizes = [states, 20, 13, actions]
    actor, critic = (
        [(rng.uniform(-1, 1, (p, q)) / np.sqrt(q), rng.uniform(-0.1, 0.1, p))
         for q, p in pairwise(shape)]
        for shape in (sizes, [states + actions, 20, 13, 1])
    )  # fmt: skip
    engine.configure(QatSettings(qdelay=qdelay, noise="none", seed=seed))
    engine.load_network(actor, critic)
    for _ in range(scale(40, 12)):
        rows = pack(
            Transitions.of(
                rng.normal(size=(batch, states)), rng.uniform(-1, 1, (batch, actions)),
                rng.normal(size=batch), np.full(batch, 0.99), rng.normal(size=(batch, states)),
            ),
            g,
        )  # fmt: skip
        base = engine._upload(rows)
        engine.train(batch, 1e-3, 1e-3, Source(base, g.stride(states), batch)).wait(60)
    return engine, rng


@builds(lambda: build_library(CONFIG))
@pytest.mark.parametrize("qdelay", [8, 1 << 20], ids=["half", "full"])
def test_a_trained_actor_acts_from_rtl(qdelay: int, seed: int) -> None:
    """Actions of the RTL are those of the golden engine that trained the actor.

    Both get the same settings and seeds, and a last update from G.
    """
    golden, rng = trained(CONFIG, qdelay, seed)
    table = golden.table
    assert table is not None and golden.half == (qdelay < 100)
    with open_device("sim", CONFIG, seed=seed) as device:
        engine = Qat(device)
        zeros = [[(np.zeros_like(w), np.zeros_like(b)) for w, b in net]
                 for net in golden.store_network()]  # fmt: skip
        critic = [(w, b) for w, b in zeros[1]]
        engine.load_network(zeros[0], critic)
        for region in ("w", "t", "g", "m", "v"):
            engine.write_region(region, golden.read_region(region))
            np.testing.assert_array_equal(engine.read_region(region), golden.read_region(region))
        engine.write(registers.MODE.offset, int(golden.half))
        for name in ("MON_MIN", "MON_MAX", "SHIFT"):
            register = getattr(registers, name)
            for k in range(register.count):
                engine.write(register.at(k), golden.read(register.at(k)))
        engine.updates = list(golden.updates)
        settings = QatSettings(noise="ornstein", beta1=0.8, tau=0.25, seed=seed)
        for qat in (engine, golden):
            qat.configure(settings)
            for net in (ACTOR, CRITIC):
                qat.adam(net, 1e-3, targets=net == CRITIC)
        for region in ("w", "t", "g", "m", "v"):
            np.testing.assert_array_equal(engine.read_region(region), golden.read_region(region))
        for turn in range(scale(50, 10)):
            state = rng.normal(size=table.states) * 2
            noisy = turn % 2 == 0
            np.testing.assert_array_equal(engine.infer(state, noisy), golden.infer(state, noisy))
        for register in (registers.MON_MIN, registers.MON_MAX):
            for k in range(register.count):
                assert engine.read(register.at(k)) == golden.read(register.at(k))
        found = engine.read(registers.CYC_INF.offset)
        assert found == golden.read(registers.CYC_INF.offset)
        if not golden.half:
            engine.quantize()
            golden.quantize()
            for name in ("shifts", "mode", "saturated"):
                assert engine.statistics()[name] == golden.statistics()[name]
            np.testing.assert_array_equal(engine.infer(state), golden.infer(state))


def twins(seed: int, batch: int) -> tuple[Qat, Qat, np.random.Generator, Source]:
    """The RTL and the golden model with the same networks, settings and transitions."""
    rng = np.random.default_rng(seed)
    states, actions, places = 7, 2, 2 * batch
    sizes = [states, 20, 13, actions]
    actor, critic = (
        [(rng.uniform(-1, 1, (p, q)) / np.sqrt(q), rng.uniform(-0.1, 0.1, p))
         for q, p in pairwise(shape)]
        for shape in (sizes, [states + actions, 20, 13, 1])
    )  # fmt: skip
    rows = Transitions.of(
        rng.normal(size=(places, states)), rng.uniform(-1, 1, (places, actions)),
        rng.normal(size=places), np.full(places, 0.99), rng.normal(size=(places, states)),
    )  # fmt: skip
    pair = []
    for kind in ("sim", "model"):
        engine = Qat(open_device(kind, CONFIG, seed=seed) if kind == "sim"
                     else open_device(kind, CONFIG))  # fmt: skip
        engine.configure(QatSettings(qdelay=2, seed=seed))
        engine.load_network(actor, critic)
        stride = engine.geometry.stride(states)
        base = engine.device.alloc(stride * places)
        engine.device.write(base, pack(rows, engine.geometry))
        pair.append(engine)
    return pair[0], pair[1], rng, Source(base, stride, places)


def alike(sim: Qat, golden: Qat) -> None:
    """Memories, monitors, counters and statistics are equal to the bit."""
    ours, theirs = (
        sim.statistics(),
        golden.statistics(),
    )  # before other jobs: clocks are the last one's
    assert ours["clocks"].pop("wait") and theirs["clocks"].pop("wait") and ours["clocks"]["fw"]
    assert ours == theirs and sim.entries == golden.entries
    for region in ("g", "m", "v", "w", "t"):
        np.testing.assert_array_equal(
            sim.read_region(region), golden.read_region(region), err_msg=region
        )
    for name in ("MON_MIN", "MON_MAX", "RNG"):
        register = getattr(registers, name)
        for k in range(register.count):
            assert sim.read(register.at(k)) == golden.read(register.at(k)), (name, k)


@builds(lambda: build_library(CONFIG))
@pytest.mark.parametrize("way", ["after", "with"])
def test_timesteps_are_those_of_the_model(way: str, seed: int) -> None:
    """An agent that learns on the RTL, across the switch to 16 bits, is the golden engine's.

    An action `with` the batch can be read while the timestep still runs.
    """
    batch = 12
    sim, golden, rng, source = twins(seed, batch)
    with sim.device:
        for turn in range(scale(20, 5)):
            state = rng.normal(size=7)
            jobs = [
                qat.train(batch, 1e-3, 1e-3, source, state=state, act=way,
                          chunk=None if turn % 2 else 8)
                for qat in (sim, golden)
            ]  # fmt: skip
            jobs[1].wait(120)
            if way == "with":
                sim.wait_action(jobs[0])
                np.testing.assert_array_equal(sim.action(), golden.action())
                assert not jobs[0].ended
            jobs[0].wait(120)
            np.testing.assert_array_equal(sim.action(), golden.action())
            alike(sim, golden)
        assert sim.half
