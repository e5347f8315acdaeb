"""Parameters on their way into the parameter buffer: order, places, room, rate, errors, stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.library import CheckFailed
from flow.regression import builds, keep
from models.a3c import traffic
from models.a3c.network import BEAT_BYTES, SLOT_BYTES, TINY, Geometry, Network, conv, fc
from verif.a3c.memory import (
    FAST,
    WORD_THETA,
    Actor,
    Fault,
    UnitTask,
    check_stop,
    load,
    load_blocks,
    random_memory,
    random_timing,
    small_network,
    stops,
    theta_slot,
)

WIDE = Geometry(
    n_pe=64, la=5, fm_rows=8192, pb_inference=2048, pb_training=2048, gb_rows=8192
)  # fmt: skip
BUILDS = {"16": TINY, "64": WIDE}
pytestmark = builds(lambda name: actor(BUILDS[name], 1))


def actor(g: Geometry, seed: int) -> Actor:
    """The block in a build."""
    return Actor("load", {"Pes": g.n_pe, "Rows": g.pb_training, "AddLatency": g.la}, seed)


def random_tasks(
    rng: np.random.Generator, g: Geometry, count: int
) -> tuple[list[UnitTask], np.ndarray]:
    """Tasks of two networks, with or without a second image, and their memory."""
    networks = [small_network(rng, g) for _ in range(2)]
    sizes = [2 * theta_slot(network) for network in networks]
    tasks = [
        UnitTask(
            networks[n], bool(rng.integers(2)), int(rng.integers(1, 9)),
            theta=SLOT_BYTES + n * sizes[0], second=bool(rng.integers(2)),
        )
        for n in rng.integers(0, 2, count)
    ]  # fmt: skip
    return tasks, random_memory(rng, sum(sizes) + SLOT_BYTES)


def beats(task: UnitTask) -> int:
    """Beats of parameters by the traffic model."""
    if task.train:
        return traffic.training(task.network, task.samples)["training parameters"].reads
    return traffic.inference(task.network, task.samples)["inference parameters"].reads


@pytest.mark.parametrize("name", keep(BUILDS))
def test_load_random(name: str, seed: int) -> None:
    """Tasks of random networks in a row, with any memory and any reader."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, g.n_pe])
    with actor(g, seed) as sim:
        for _ in range(15):
            tasks, memory = random_tasks(rng, g, 4)
            result, _ = load(sim, g, g.pb_training, tasks, memory, random_timing(rng))
            assert result.reads == sum(beats(task) for task in tasks)
            assert not result.errors


@pytest.mark.parametrize("name", keep(BUILDS))
@pytest.mark.parametrize("train", [False, True])
def test_load_rate(name: str, train: bool, seed: int) -> None:
    """A beat per clock on memory of latency 64, also through the transposer."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, 2])
    network = Network((conv(4, 16, 9, 3, 2), fc(256, 64, (16, g.n_pe)), fc(64, 16, (16, g.n_pe))))
    rows = g.pb_training
    with actor(g, seed) as sim:
        task = UnitTask(network, train, 3)
        result, _ = load(sim, g, rows, [task], random_memory(rng, theta_slot(network)), FAST)
    assert result.last_beat - result.first_beat + 1 == beats(task)
    assert result.finished[0] - result.last_beat < 25


@pytest.mark.regress
@builds(lambda: actor(WIDE, 1))
def test_load_bursts(seed: int) -> None:
    """What lies in a row in memory comes in bursts up to the ends of pages."""
    rng = np.random.default_rng([seed, 3])
    network = Network((conv(3, 20, 5, 3, 1, (16, 16)), fc(180, 16, (16, 64))))
    with actor(WIDE, seed) as sim:
        for train in (False, True):
            task = UnitTask(network, train, 1, theta=SLOT_BYTES)
            memory = random_memory(rng, SLOT_BYTES + theta_slot(network))
            result, _ = load(sim, WIDE, WIDE.pb_training, [task], memory, FAST)
            first = network.parameter_offsets[1] + 1 if train else 0
            cuts = [first, *range(first // 64 * 64 + 64, network.parameter_beats, 64)]
            assert result.requests[:, 1].tolist() == [
                SLOT_BYTES + BEAT_BYTES * beat for beat in cuts
            ]


@pytest.mark.parametrize("name", keep(BUILDS))
def test_load_full(name: str, seed: int) -> None:
    """While nothing is taken all comes that has room."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, 8, g.n_pe])
    with actor(g, seed) as sim:
        for _ in range(6):
            tasks, memory = random_tasks(rng, g, 6)
            timing = replace(FAST, pause=1.0, stop=4 * g.pb_training)
            _, filled = load(sim, g, g.pb_training, tasks, memory, timing)
            ends = [block.end for block in load_blocks(tasks, g, g.pb_training)]
            assert filled == sum(end <= g.pb_training for end in ends)


@pytest.mark.parametrize("name", keep(BUILDS))
def test_load_error(name: str, seed: int) -> None:
    """An error is told of while its task is in hand, and changes nothing else."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, 4, g.n_pe])
    with actor(g, seed) as sim:
        for _ in range(8):
            tasks, memory = random_tasks(rng, g, 3)
            blocks = load_blocks(tasks, g, g.pb_training)
            addresses = np.concatenate([[], *(b.address[b.address >= 0] for b in blocks)])
            if not addresses.size:
                continue
            at = int(rng.choice(addresses))
            fault = Fault(at, at + 63, int(rng.integers(2, 4)))
            result, _ = load(sim, g, g.pb_training, tasks, memory, random_timing(rng), [fault])
            want = []
            for n, task in enumerate(tasks):
                mine = load_blocks([task], g, g.pb_training)
                # Of a patch each row is read once, and is a column of as many entries.
                rows = np.concatenate(
                    [
                        np.where(
                            b.column >= 0, b.address + BEAT_BYTES * b.column, b.address
                        )[b.address >= 0]
                        for b in mine
                    ]
                    or [np.zeros(0)]
                )  # fmt: skip
                want += [(n, WORD_THETA, fault.response)] * int((rows == at).sum())
            assert result.errors == want


@pytest.mark.parametrize("name", keep(BUILDS))
def test_load_stop(name: str, seed: int) -> None:
    """After a stop no burst begins and all that come are taken; a reset begins anew."""
    g = BUILDS[name]
    rng = np.random.default_rng([seed, 5, g.n_pe])
    with actor(g, seed) as sim:
        network = Network((fc(64, 32, (16, g.n_pe)), fc(32, 32, (16, g.n_pe))))
        for timing in stops(rng, 15):
            tasks, memory = random_tasks(rng, g, 3)
            if timing.stop <= 40:  # each clock of the same task
                tasks = [UnitTask(network, True, 1)]
                memory = random_memory(rng, theta_slot(network))
            result, _ = load(sim, g, g.pb_training, tasks, memory, timing)
            check_stop(result, timing)


@builds(lambda: actor(TINY, 1))
def test_load_rule(seed: int) -> None:
    """A task that cannot be is seen."""
    rng = np.random.default_rng([seed, 6])
    network = small_network(rng, TINY)
    with actor(TINY, seed) as sim, pytest.raises(CheckFailed) as found:
        memory = random_memory(rng, theta_slot(network))
        load(sim, TINY, TINY.pb_training, [UnitTask(network, False, 9)], memory, FAST)
    assert found.value.name == "TaskLegal_M"
