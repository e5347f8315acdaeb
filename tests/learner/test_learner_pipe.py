"""Whole programs through the pipe: equal to the golden model to the bit, whatever the build."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, keep
from models.learner import optim, timing
from models.learner.fp import words
from models.learner.layout import Geometry, allocate
from models.learner.learner import Batch, Learner
from models.learner.lower import ActorCriticConfig, DqnConfig, ddpg, dqn, td3
from models.learner.program import (
    NO_STAGE,
    OP_DOT,
    OP_LOSS_Q,
    OP_LOSS_TD,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
)
from verif.learner.pipe import FILL, Config, PipeSim, Report
from verif.learner.programs import many_networks, several_networks

SMALL = Config(Geometry(p=16, ob=4))
CONFIGS = {
    "p16": SMALL,
    "p8": Config(Geometry(p=8, ob=2, lw=2, w_rows=2048, a_rows=8192)),
    "p64": Config(Geometry(p=64, ob=16, w_rows=512, a_rows=1024)),
    "gi16": Config(Geometry(p=16, ob=4, gi=16)),
    "latency": Config(SMALL.geometry, mul=4, add=6),
}
SPATIAL = Config(Geometry(p=8, ob=2, lw=2, w_rows=2048, a_rows=8192, ntu=4), mul=4, add=6)
CONFIGS["spatial"] = SPATIAL
ACTORS = Geometry(p=16, ob=4, w_rows=4096, a_rows=4096, actor_critic=1)
SPATIAL_PORTS = 7  # that read frames
ACTOR_CRITIC = {
    "p16": Config(ACTORS),
    "p8": Config(Geometry(p=8, ob=2, lw=2, w_rows=8192, a_rows=8192, actor_critic=1)),
    "latency": Config(ACTORS, mul=4, add=6),
}
pytestmark = builds(lambda: PipeSim(SMALL, 1))


def random_batch(
    rng: np.random.Generator, sizes: tuple[int, ...], count: int, spread: float = 2
) -> Batch:
    """Return samples with some done episodes; importance weights of 2^-spread to 2."""

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return Batch(
        state=normal(count, sizes[0]),
        next_state=normal(count, sizes[0]),
        action=rng.integers(0, sizes[-1], count).astype(np.int32),
        reward=normal(count),
        discount=np.where(rng.random(count) < 0.1, 0, 0.99).astype(np.float32),
        weight=np.exp2(rng.uniform(-spread, 1, count)).astype(np.float32),
    )


def random_learner(
    rng: np.random.Generator, geometry: Geometry, sizes: tuple[int, ...], **options: object
) -> Learner:
    """Return a learner with random weights, other ones in the target."""
    config = DqnConfig(sizes, optim.adam(1e-3), **options)  # type: ignore[arg-type]
    learner = Learner(geometry, dqn(geometry, config))
    net = learner.networks[0]

    def image() -> np.ndarray:
        return net.map.pack(
            [
                (
                    rng.normal(size=(b, a)).astype(np.float32) / np.float32(np.sqrt(a)),
                    rng.normal(size=b).astype(np.float32),
                )
                for a, b in zip(sizes[:-1], sizes[1:], strict=True)  # noqa: RUF007
            ]
        )

    learner.load(0, image())
    net.target = image()
    net.bank = int(rng.integers(0, 2))
    learner.publish(0)
    return learner


def run_step(sim: PipeSim, learner: Learner, batch: Batch, parity: int, **options: int) -> Report:
    """Load everything and run one step in the simulator."""
    count = batch.action.size
    sim.load_program(learner.program)
    rows = learner.program.frame_rows
    for sample in range(count):  # what no stage writes stays so
        sim.load_frame(learner.program, sample, 0, np.full((rows, learner.geometry.p), FILL))
    sim.load_weights(learner.pipe.weights, learner.pipe.biases)
    banks = (*(net.bank for net in learner.networks), *[0] * 8)[:8]
    sim.set_step(learner.program, count, np.float32(1 / count), parity, banks)
    sim.load_batch(learner.program, batch, parity)
    return sim.run(count, **options)


def compare(sim: PipeSim, learner: Learner, batch: Batch, parity: int, report: Report) -> None:
    """Run the model and compare TD errors, errors, activations and gradients, bit for bit."""
    count = batch.action.size
    geometry, program = learner.geometry, learner.program
    words_of_frame = program.frame_rows * geometry.p
    learner.pipe.frames = np.full((geometry.b_max, words_of_frame), FILL, np.float32)
    banks = tuple(net.bank for net in learner.networks)
    result = learner.pipe.run(program, batch, np.float32(1 / count), parity, banks)
    assert np.array_equal(report.slots, np.arange(count))
    assert np.array_equal(report.deltas, words(result.delta))
    assert report.not_finite == result.not_finite
    assert report.bad_index == result.bad_index
    frames = sim.frames(program, count)
    for index, stage in enumerate(program.stages):
        if stage.op == OP_OUTER:
            start = stage.row * geometry.p
            size = stage.n_out * geometry.pitch(stage.n_in)
            rows = geometry.weight_rows(stage.n_in, stage.n_out)
            got = sim.gradients(False, stage.row, rows)[:size]
            want = words(learner.pipe.gradients[start : start + size])
            assert np.array_equal(got, want), index
            first, rows = stage.bias // geometry.ob, -(-stage.n_out // geometry.ob)
            got = sim.gradients(True, first, rows)[: stage.n_out]
            want = words(learner.pipe.bias_gradients[stage.bias : stage.bias + stage.n_out])
            assert np.array_equal(got, want), index
        elif stage.op <= OP_LOSS_Q:
            at, size = stage.dst * geometry.p, stage.n_out if stage.op != 2 else stage.n_in
            want = words(learner.pipe.frames[:count, at : at + size])
            assert np.array_equal(frames[:, at : at + size], want), index
    want = words(learner.pipe.frames[:count]).reshape(count, -1)
    assert np.array_equal(frames, want[:, : frames.shape[1]]), "what no stage writes"
    for port in range(1, SPATIAL_PORTS if geometry.ntu > 1 else 2):
        assert np.array_equal(frames, sim.frames(program, count, port)), f"copy of port {port}"


def random_sizes(rng: np.random.Generator, geometry: Geometry) -> tuple[int, ...]:
    """Return 1 to 4 layers, of which three banks fit."""
    while True:
        hidden = rng.choice([1, 3, 4, 7, 16, 17, 32, 40, 50, 64], rng.integers(0, 4))
        actions = int(rng.integers(1, geometry.p + 1))
        sizes = (int(rng.integers(1, 20)), *(int(x) for x in hidden), actions)
        if 3 * allocate(geometry, list(sizes), True).rows <= geometry.w_rows:
            return sizes


def test_pipe_random_programs(seed: int) -> None:
    check_random_programs(SMALL, seed, scale(40, 8))


@pytest.mark.regress
@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_random_programs(seed: int) -> None:
    check_random_programs(SPATIAL, seed, 40)


def check_random_programs(config: Config, seed: int, cases: int) -> None:
    """Random networks, batches, losses, banks and parities; late samples and late updates."""
    sim = PipeSim(config, seed)
    stalls = 0
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        sizes = random_sizes(rng, config.geometry)
        kappa = [None, 1.0, 0.25][case % 3]
        learner = random_learner(rng, config.geometry, sizes, double=case % 2 == 1, kappa=kappa)
        if case % 4 >= 2:  # what a stage waits for, in any of the three places
            stages = [
                replace(s, deps=tuple(rng.permutation([*s.deps, *[NO_STAGE] * 3][:3]).tolist()))
                for s in learner.program.stages
            ]
            learner.program = replace(learner.program, stages=tuple(stages))
        fits = config.geometry.a_rows // learner.program.frame_rows
        count = int(rng.integers(1, min(24, fits) + 1))
        batch = random_batch(rng, sizes, count, (2, 100)[case // 3 % 2])
        slow = int(rng.choice([0, 2, 40]))
        report = run_step(sim, learner, batch, case // 2 % 2, slow=slow, busy=case % 2)
        compare(sim, learner, batch, case // 2 % 2, report)
        assert slow or not report.data  # all samples are there
        stalls += report.data
    assert stalls > 0  # a large network may find slow samples in time, but not all do
    sim.close()


def test_pipe_networks(seed: int) -> None:
    """Four networks, or as many as there may be; targets in either bank."""
    sim = PipeSim(SMALL, seed)
    for case in range(10):
        rng = np.random.default_rng([seed, case])
        sizes = (
            int(rng.integers(1, 20)),
            int(rng.choice([3, 16, 17, 40])),
            int(rng.integers(1, 9)),
        )
        make = several_networks if case % 2 else many_networks
        learner = Learner(SMALL.geometry, make(SMALL.geometry, *sizes))
        for index, net in enumerate(learner.networks):
            size = net.map.words
            learner.load(index, (rng.standard_normal(size) * 0.4).astype(np.float32))
            net.target = (rng.standard_normal(size) * 0.4).astype(np.float32)
            net.bank = int(rng.integers(0, 2))
            learner.publish(index)
        batch = random_batch(rng, sizes, 11)
        compare(sim, learner, batch, case % 2, run_step(sim, learner, batch, case % 2))
    sim.close()


def test_pipe_waits_for_updates(seed: int) -> None:
    """No stage begins before the weights that it reads are there, no other one waits for them."""
    sim = PipeSim(SMALL, seed)
    g = SMALL.geometry
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, (3, 5, 4), 5)

    def waits(program: Program, **busy: int) -> int:
        learner = Learner(g, program)
        for index, net in enumerate(learner.networks):
            learner.load(index, (rng.standard_normal(net.map.words) * 0.4).astype(np.float32))
        report = run_step(sim, learner, batch, 0, **busy)
        compare(sim, learner, batch, 0, report)
        return report.update

    # All run from their targets, network 0 from its weights, too; there is no OUTER.
    many = many_networks(g, 3, 5, 4)
    for index in range(g.net_max):
        assert waits(many, targets=1 << index) > 100, index
        assert (waits(many, busy=1 << index) > 100) == (index == 0), index
    # Networks 1 and 3 are not run from their weights, but OUTER waits for all.
    several = several_networks(g, 3, 5, 4)
    for index in range(4):
        assert waits(several, busy=1 << index) > (250 if index == 0 else 10), index
        assert (waits(several, targets=1 << index) > 100) == (index < 2), index
    # A wait mask names other networks.
    first = replace(many.stages[0], wait_update=1 << 3)
    assert waits(replace(many, stages=(first, *many.stages[1:])), busy=1 << 3) > 250
    sim.close()


def test_pipe_offsets(seed: int) -> None:
    """Outputs that begin in the midst of a row of the frame, beside what is there."""
    sim = PipeSim(SMALL, seed)
    p = SMALL.geometry.p
    for case in range(6):
        rng = np.random.default_rng([seed, case])
        sizes = (3, 8, int(rng.integers(1, 6)))
        learner = random_learner(rng, SMALL.geometry, sizes)
        stages = []
        for s in learner.program.stages:
            if s.op == OP_DOT:
                # Rows count for the result's place as part of its offset, too.
                rows = min(s.dst, int(rng.integers(6))) if case % 2 else 0
                offset = p * rows + int(rng.integers(1, p - s.n_out + 1))
                s = replace(s, dst=s.dst - rows, offset=offset)
            stages.append(s)
        learner.program = replace(learner.program, stages=tuple(stages))
        batch = random_batch(rng, sizes, 7)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


# Layers: clocks of a step of 1, of 9 and of 32 samples, and how many of each it waits in the midst.
CLOCKS = {
    (4, 2): ((53, 36), (103, 64), (252, 144)),
    (3, 1, 1): ((122, 94), (228, 120), (594, 263)),
    (16, 16, 16): ((393, 125), (1469, 49), (4988, 368)),
    (17, 4): ((82, 46), (266, 38), (818, 38)),
    (5, 20, 33, 3): ((1011, 144), (3558, 51), (10627, 55)),
    (4, 64, 2): ((289, 117), (1065, 61), (3405, 65)),
}


@pytest.mark.parametrize("sizes", CLOCKS, ids=str)
def test_pipe_clocks(sizes: tuple[int, ...], seed: int) -> None:
    """A step takes as many clocks as before, to the clock: what is slower is seen."""
    sim = PipeSim(SMALL, seed)
    rng = np.random.default_rng(seed)
    learner = random_learner(rng, SMALL.geometry, sizes, double=len(sizes) % 2 == 1)
    got = []
    for count in (1, 9, 32):
        report = run_step(sim, learner, random_batch(rng, sizes, count), 0)
        got.append((report.clocks, report.token))
        assert (report.data, report.update) == (0, 0)  # all samples are there, no update runs
    assert tuple(got) == CLOCKS[sizes]
    sim.close()


def test_pipe_last_action(seed: int) -> None:
    """The last of as many actions as there are lanes is the best."""
    sim = PipeSim(SMALL, seed)
    sizes = (2, SMALL.geometry.p)
    for double in (False, True):
        rng = np.random.default_rng([seed, double])
        learner = random_learner(rng, SMALL.geometry, sizes, double=double)
        net = learner.networks[0]
        best = net.target if not double else net.weights
        layers = net.map.unpack(best, learner.program.networks[0])
        layers[-1][1][-1] = 50
        best[:] = net.map.pack(layers)
        learner.publish(0)
        batch = random_batch(rng, sizes, 24)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


def test_pipe_late_loss(seed: int) -> None:
    """A loss that waits for stages with two-digit numbers, after others that do nothing."""
    sim = PipeSim(SMALL, seed)
    for sizes, places in (((4, 16, 5), (8,)), ((3, 2), range(61))):
        rng = np.random.default_rng(seed)
        for ahead in places:
            learner = random_learner(rng, SMALL.geometry, sizes)
            stages = [
                replace(s, deps=tuple(d + ahead for d in s.deps))
                for s in learner.program.stages
                if s.op != OP_UPDATE and s.op != OP_TARGET
            ]
            learner.program = replace(
                learner.program, stages=(*[Stage(OP_UPDATE)] * ahead, *stages)
            )  # fmt: skip
            batch = random_batch(rng, sizes, 11 if len(places) == 1 else 3)
            compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


def test_pipe_thresholds(seed: int) -> None:
    """Huber thresholds of all sizes: in the highest exponent, below and above the errors."""
    sim = PipeSim(SMALL, seed)
    sizes = (4, 16, 5)
    for kappa in (2**-126, 0.1, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 2.0**127, None):
        rng = np.random.default_rng(seed)
        learner = random_learner(rng, SMALL.geometry, sizes, kappa=kappa)
        batch = random_batch(rng, sizes, 24)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


@pytest.mark.regress
@builds(lambda: PipeSim(CONFIGS["latency"], 1))
def test_pipe_long_latencies(seed: int) -> None:
    """Losses of one action follow one another faster than they are worked off."""
    config = CONFIGS["latency"]
    sim = PipeSim(config, seed)
    for sizes in ((2, 1), (3, 1, 1), (4, 16, 2)):
        rng = np.random.default_rng(seed)
        learner = random_learner(rng, config.geometry, sizes, double=len(sizes) == 3)
        batch = random_batch(rng, sizes, 60)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


def test_pipe_missing_chunk(seed: int) -> None:
    """A row of three chunks, the fourth of which is only +0."""
    rng = np.random.default_rng(seed)
    sim = PipeSim(SMALL, seed)
    sizes = (4, 40, 3)
    learner = random_learner(rng, SMALL.geometry, sizes)
    batch = random_batch(rng, sizes, 9)
    compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0, limit=20_000))
    sim.close()


def test_pipe_ties(seed: int) -> None:
    """Of equal values the first one is chosen; here the online network's are all equal."""
    rng = np.random.default_rng(seed)
    sim = PipeSim(SMALL, seed)
    sizes = (4, 16, 5)
    learner = random_learner(rng, SMALL.geometry, sizes, double=True)
    net = learner.networks[0]
    layers = net.map.unpack(net.weights, learner.program.networks[0])
    layers[-1] = (np.zeros((5, 16), np.float32), np.full(5, 0.5, np.float32))
    net.weights = net.map.pack(layers)
    learner.publish(0)
    batch = random_batch(rng, sizes, 9)
    compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


def test_pipe_near_ties(seed: int) -> None:
    """Values that differ in one bit: the greatest of the chooser, its value in the next state."""
    sim = PipeSim(SMALL, seed)
    sizes = (2, 16)
    for case in range(48):
        rng = np.random.default_rng([seed, case])
        learner = random_learner(rng, SMALL.geometry, sizes, double=True)
        net = learner.networks[0]
        bits = np.float32(rng.choice([1.5, -2.75, 3e-5])).view(np.uint32) ^ np.uint32(0x2AAAAA)
        values = np.full(16, bits, np.uint32) ^ (1 << rng.integers(0, 24, 16)).astype(np.uint32)
        layers = [(np.zeros((16, 2), np.float32), values.view(np.float32))]
        net.weights = net.map.pack(layers)
        learner.publish(0)
        batch = random_batch(rng, sizes, 2)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


def test_pipe_errors(seed: int) -> None:
    check_errors(SMALL, seed)


@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_errors(seed: int) -> None:
    check_errors(SPATIAL, seed)


def check_errors(config: Config, seed: int) -> None:
    """NaN in q, overflow after the loss, actions out of range; then a good step again."""
    sim = PipeSim(config, seed)
    sizes = (4, 32, 3)
    rng = np.random.default_rng(seed)
    for case in range(6):
        learner = random_learner(
            rng, config.geometry, sizes, kappa=np.float32(1) if case == 5 else None
        )
        batch = random_batch(rng, sizes, 11)
        if case == 0:
            batch.state[7, 2] = np.nan
            batch.state[3, 1] = np.nan
        elif case == 1:
            batch.action[[4, 9]] = (3, -1)
        elif case == 2:
            batch.weight[6] = 3e38
            batch.reward[6] = 1e30
        elif case == 3:
            learner.networks[0].weights *= np.float32(1e25)
            learner.publish(0)
        elif case == 5:
            batch.reward[8] = np.inf  # of which the clipped error is finite
        report = run_step(sim, learner, batch, 0)
        compare(sim, learner, batch, 0, report)
        assert (report.not_finite is not None) == (case in (0, 2, 3, 5))
        assert (report.bad_index is not None) == (case == 1)
    sim.close()


def test_pipe_error_of_the_last_place(seed: int) -> None:
    """A reward that is no number, in the last sample that a build has, at its last stage."""
    rng = np.random.default_rng(seed)
    sim = PipeSim(SMALL, seed)
    learner = random_learner(rng, SMALL.geometry, (4, 2))
    stages = learner.program.stages
    loss = next(k for k, s in enumerate(stages) if s.op == OP_LOSS_Q)
    last = SMALL.geometry.st_max - 1
    filler = Stage(OP_UPDATE)
    stages = (*stages[:loss], *[filler] * (last - loss), stages[loss])
    learner.program = replace(learner.program, stages=stages)
    batch = random_batch(rng, (4, 2), SMALL.geometry.b_max)
    batch.reward[-1] = np.nan
    report = run_step(sim, learner, batch, 0)
    compare(sim, learner, batch, 0, report)
    assert report.not_finite == (last, SMALL.geometry.b_max - 1)
    sim.close()


def test_pipe_abort(seed: int) -> None:
    check_abort(SMALL, seed)


@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_abort(seed: int) -> None:
    check_abort(SPATIAL, seed)


def check_abort(config: Config, seed: int) -> None:
    """An aborted step ends soon, and the next one is right."""
    sim = PipeSim(config, seed)
    rng = np.random.default_rng(seed)
    sizes = (4, 32, 2)
    learner = random_learner(rng, config.geometry, sizes)
    batch = random_batch(rng, sizes, 16)
    length = run_step(sim, learner, batch, 0).clocks
    for at in rng.integers(1, length, scale(40)):
        assert run_step(sim, learner, batch, 0, abort_at=int(at)).clocks < at + 200
        compare(sim, learner, batch, 1, run_step(sim, learner, batch, 1))
    sim.close()


@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_networks(seed: int) -> None:
    """Several networks: two chains of gradients, two targets, one loss."""
    sim = PipeSim(SPATIAL, seed)
    for case in range(4):
        rng = np.random.default_rng([seed, case])
        sizes = (int(rng.integers(1, 20)), int(rng.choice([3, 16, 17])), int(rng.integers(1, 9)))
        learner = Learner(SPATIAL.geometry, several_networks(SPATIAL.geometry, *sizes))
        for index, net in enumerate(learner.networks):
            size = net.map.words
            learner.load(index, (rng.standard_normal(size) * 0.4).astype(np.float32))
            net.target = (rng.standard_normal(size) * 0.4).astype(np.float32)
            learner.publish(index)
        batch = random_batch(rng, sizes, 11)
        report = run_step(sim, learner, batch, case % 2, busy=case % 3, targets=case // 2)
        compare(sim, learner, batch, case % 2, report)
    sim.close()


@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_rows_wait(seed: int) -> None:
    """Narrow networks: units give a row per clock and more, which their queues hold up."""
    sim = PipeSim(SPATIAL, seed)
    for sizes in ((1, 8), (3, 1, 1), (2, 4, 4, 1)):
        rng = np.random.default_rng(seed)
        learner = random_learner(rng, SPATIAL.geometry, sizes, double=len(sizes) == 3)
        batch = random_batch(rng, sizes, 64)
        compare(sim, learner, batch, 0, run_step(sim, learner, batch, 0))
    sim.close()


@pytest.mark.parametrize("sizes", [(4, 64, 64, 2), (17, 33, 5), (5, 8, 8, 8, 3)], ids=str)
@builds(lambda: PipeSim(SPATIAL, 1))
def test_spatial_clocks(sizes: tuple[int, ...], seed: int) -> None:
    """The cycle model within 2 %: part of a group, one group, many."""
    sim = PipeSim(SPATIAL, seed)
    rng = np.random.default_rng(seed)
    learner = random_learner(rng, SPATIAL.geometry, sizes)
    latencies = timing.Latencies(SPATIAL.mul, SPATIAL.add)
    for count in (3, 8, 36):
        batch = random_batch(rng, sizes, count)
        report = run_step(sim, learner, batch, 0)
        predicted = timing.spatial_step(learner.program, SPATIAL.geometry, count, latencies)
        print(f"{count} samples: {report.clocks} clocks, predicted {predicted}")
        assert abs(predicted - report.clocks) <= 0.02 * report.clocks
        compare(sim, learner, batch, 0, report)
    sim.close()


@pytest.mark.parametrize("name", keep(["spatial", "p16", "p8", "latency"]))
@builds(lambda name: PipeSim(CONFIGS[name], 1))
def test_pipe_builds_give_the_same_bits(seed: int, name: str) -> None:
    check_build(seed, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p64", "gi16"])
@builds(lambda name: PipeSim(CONFIGS[name], 1))
def test_pipe_more_builds_give_the_same_bits(seed: int, name: str) -> None:
    check_build(seed, name)


def check_build(seed: int, name: str) -> None:
    """Bits do not depend on lanes, interleave or latencies: TD errors and gradients of SMALL."""
    config = CONFIGS[name]
    sizes = (5, 20, 33, 3)
    images, deltas = [], []
    for build in (SMALL, config):
        rng = np.random.default_rng(seed)
        learner = random_learner(rng, build.geometry, sizes, double=True)
        batch = random_batch(rng, sizes, 13)
        if build is config:
            sim = PipeSim(config, seed)
            report = run_step(sim, learner, batch, 1, busy=1)
            compare(sim, learner, batch, 1, report)
            sim.close()
        result = learner.compute(batch, np.float32(1 / 13), 1)
        image_map = learner.networks[0].map
        image = image_map.gather(learner.pipe.gradients, learner.pipe.bias_gradients)
        layers = image_map.unpack(image, learner.program.networks[0])
        images.append([words(a) for pair in layers for a in pair])
        deltas.append(words(result.delta))
    assert np.array_equal(deltas[0], deltas[1])
    for a, b in zip(*images, strict=True):
        assert np.array_equal(a, b)


def utilization(report: Report, program: Program, geometry: Geometry, batch: int) -> float:
    """Return the ideal clocks of a step over those it took."""
    return timing.ideal_step(program, geometry, batch) / report.clocks


def test_pipe_utilization(seed: int) -> None:
    """CartPole, 32 samples: at least 90 % of the ideal clocks; the cycle model within 2 %."""
    rng = np.random.default_rng(seed)
    sizes = (4, 64, 64, 2)
    learner = random_learner(rng, SMALL.geometry, sizes)
    sim = PipeSim(SMALL, seed)
    batch = random_batch(rng, sizes, 32)
    report = run_step(sim, learner, batch, 0)
    used = utilization(report, learner.program, SMALL.geometry, 32)
    latencies = timing.Latencies(SMALL.mul, SMALL.add)
    predicted = timing.pipe_step(learner.program, SMALL.geometry, 32, latencies)
    print(f"{report.clocks} clocks, {used:.1%} of ideal, predicted {predicted}")
    assert used >= 0.9
    assert abs(predicted - report.clocks) <= 0.02 * report.clocks
    compare(sim, learner, batch, 0, report)
    sim.close()


def test_pipe_model_sees_a_planted_error(seed: int) -> None:
    """The comparison fails when the program in the pipe is not the model's."""
    rng = np.random.default_rng(seed)
    sizes = (4, 16, 2)
    learner = random_learner(rng, SMALL.geometry, sizes)
    batch = random_batch(rng, sizes, 9)
    sim = PipeSim(SMALL, seed)
    stages = list(learner.program.stages)
    loss = next(k for k, s in enumerate(stages) if s.op == OP_LOSS_Q)
    stages[loss] = replace(stages[loss], kappa=np.float32(0.125))
    good = learner.program
    learner.program = replace(good, stages=tuple(stages))
    report = run_step(sim, learner, batch, 0)
    learner.program = good
    with pytest.raises(AssertionError):
        compare(sim, learner, batch, 0, report)
    sim.close()


def actor_critic_program(rng: np.random.Generator, geometry: Geometry) -> Program:
    """Return DDPG or TD3 of random sizes, lagged or not, delayed or not."""
    states = int(rng.choice([1, 3, 7, geometry.p - 3, geometry.p, geometry.p + 2]))
    actions = int(rng.integers(1, min(6, geometry.p - states % geometry.p) + 1))

    def hidden() -> list[int]:
        return [int(x) for x in rng.choice([2, 3, 4, 7, 8, 16, 17, 40], rng.integers(1, 3))]

    config = ActorCriticConfig(
        (states, *hidden(), actions), (states + actions, *hidden(), 1),
        optim.adam(1e-3), optim.adam(1e-3),
        kappa=(None, 0.5)[int(rng.integers(2))], lagged=bool(rng.integers(2)),
    )  # fmt: skip
    if rng.integers(2):
        return ddpg(geometry, config)
    return td3(geometry, config, int(rng.integers(1, 4)))


def actor_critic_learner(rng: np.random.Generator, geometry: Geometry, program: Program) -> Learner:
    """Return a learner with random weights, other ones in the targets, at any step of a delay."""
    learner = Learner(geometry, program)

    def image(index: int) -> np.ndarray:
        layers = program.networks[index].layers
        return learner.networks[index].map.pack(
            [
                (
                    (rng.normal(size=(x.n_out, x.n_in)) / np.sqrt(x.n_in)).astype(np.float32),
                    (rng.normal(size=x.n_out) / 2).astype(np.float32),
                )
                for x in layers
            ]
        )

    for index, net in enumerate(learner.networks):
        learner.load(index, image(index))
        net.target = image(index)
        net.bank = int(rng.integers(0, 2))
        learner.publish(index)
    waited = int(rng.integers(0, max(program.delay, 1)))
    learner.networks[0].scalars = replace(learner.networks[0].scalars, waited=waited)
    return learner


def actor_critic_batch(rng: np.random.Generator, program: Program, count: int) -> Batch:
    """Return samples with actions in -1..1, and noise if the program has some."""
    base = random_batch(rng, (program.state_words, 2), count)
    shape = (count, program.action_words)
    noise = np.clip(0.2 * rng.normal(size=shape), -0.5, 0.5).astype(np.float32)
    return replace(
        base,
        action=rng.uniform(-1, 1, shape).astype(np.float32),
        noise=noise if program.noise else None,
    )


def run_phases(
    sim: PipeSim, learner: Learner, batch: Batch, parity: int, **options: int
) -> list[Report]:
    """Run the phases of a step in both, without WU between them, and compare all there is."""
    program, geometry, count = learner.program, learner.geometry, batch.count
    sim.load_program(program)
    for sample in range(count):
        sim.load_frame(program, sample, 0, np.full((program.frame_rows, geometry.p), FILL))
    sim.load_weights(learner.pipe.weights, learner.pipe.biases)
    banks = (*(net.bank for net in learner.networks), *[0] * 8)[:8]
    sim.load_batch(program, batch, parity)
    size = program.frame_rows * geometry.p
    learner.pipe.frames = np.full((geometry.b_max, size), FILL, np.float32)
    reports = []
    for phase, stages in enumerate(program.phases):
        sim.set_step(program, count, np.float32(1 / count), parity, banks, phase, learner.due)
        report = sim.run(count, **options)
        reports.append(report)
        result = learner.compute(batch, np.float32(1 / count), parity, phase)
        run = [program.stages[k] for k in stages if learner.due or not program.stages[k].delayed]
        want = count if any(s.op == OP_LOSS_TD and not s.quiet for s in run) else 0
        assert np.array_equal(report.slots, np.arange(want))
        assert np.array_equal(report.deltas, words(result.delta)[:want])
        assert report.not_finite == result.not_finite
        assert report.bad_index is None
        frames = words(learner.pipe.frames[:count]).reshape(count, -1)
        assert np.array_equal(sim.frames(program, count), frames), f"frames of phase {phase}"
        for stage in (s for s in run if s.op == OP_OUTER):
            start, pitch = stage.row * geometry.p, geometry.pitch(stage.n_in)
            rows = geometry.weight_rows(stage.n_in, stage.n_out)
            got = sim.gradients(False, stage.row, rows)[: stage.n_out * pitch]
            assert np.array_equal(got, words(learner.pipe.gradients[start : start + got.size]))
            first, rows = stage.bias // geometry.ob, -(-stage.n_out // geometry.ob)
            got = sim.gradients(True, first, rows)[: stage.n_out]
            want_bias = learner.pipe.bias_gradients[stage.bias : stage.bias + stage.n_out]
            assert np.array_equal(got, words(want_bias))
    return reports


def check_actor_critic(name: str, seed: int, cases: int) -> None:
    """Random DDPG and TD3 on a build; late samples and late updates."""
    config = ACTOR_CRITIC[name]
    sim = PipeSim(config, seed)
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        program = actor_critic_program(rng, config.geometry)
        learner = actor_critic_learner(rng, config.geometry, program)
        fits = config.geometry.a_rows // program.frame_rows
        count = int(rng.integers(1, min(24, fits) + 1))
        batch = actor_critic_batch(rng, program, count)
        slow, busy = int(rng.choice([0, 2, 40])), int(rng.integers(0, 4))
        run_phases(sim, learner, batch, case % 2, slow=slow, busy=busy)
    sim.close()


@builds(lambda: PipeSim(ACTOR_CRITIC["p16"], 1))
def test_pipe_actor_critic(seed: int) -> None:
    check_actor_critic("p16", seed, scale(24, 6))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p8", "latency"])
@builds(lambda name: PipeSim(ACTOR_CRITIC[name], 1))
def test_pipe_actor_critic_builds(seed: int, name: str) -> None:
    check_actor_critic(name, seed, 16)


@pytest.mark.parametrize("lagged", [False, True])
@builds(lambda: PipeSim(ACTOR_CRITIC["p16"], 1))
def test_pipe_actor_critic_clocks(seed: int, lagged: bool) -> None:
    """DDPG on Pendulum, 32 samples: the cycle model within 2 %."""
    config = ACTOR_CRITIC["p16"]
    rng = np.random.default_rng(seed)
    made = ActorCriticConfig(
        (3, 64, 64, 1), (4, 64, 64, 1), optim.adam(1e-3), optim.adam(1e-3), lagged=lagged
    )
    program = ddpg(config.geometry, made)
    learner = actor_critic_learner(rng, config.geometry, program)
    sim = PipeSim(config, seed)
    reports = run_phases(sim, learner, actor_critic_batch(rng, program, 32), 0)
    clocks = sum(report.clocks for report in reports)
    latencies = timing.Latencies(config.mul, config.add)
    predicted = timing.pipe_step(program, config.geometry, 32, latencies)
    assert sum(r.busy for r in reports) == timing.ideal_step(program, config.geometry, 32)
    print(f"{clocks} clocks, predicted {predicted}")
    assert abs(predicted - clocks) <= 0.02 * clocks
    sim.close()


@builds(lambda: PipeSim(ACTOR_CRITIC["p16"], 1))
def test_pipe_losses_behind_each_other(seed: int) -> None:
    """A loss begins when the one before it is done with all samples: its threshold is another."""
    config = ACTOR_CRITIC["p16"]
    rng = np.random.default_rng(seed)
    made = ActorCriticConfig(
        (3, 8, 1), (4, 8, 1), optim.adam(1e-3), optim.adam(1e-3), kappa=0.5, lagged=True
    )
    program = ddpg(config.geometry, made)
    at = next(k for k, s in enumerate(program.stages) if s.op == OP_LOSS_TD) + 1
    first = program.stages[at - 1]
    other = replace(first, kappa=np.float32(0.0625), quiet=True, dst=program.frame_rows)
    behind = [
        replace(s, deps=tuple(d + (d >= at) for d in s.deps)) for s in program.stages[at:]
    ]  # fmt: skip
    program = replace(
        program, stages=(*program.stages[:at], other, *behind), frame_rows=program.frame_rows + 1
    )
    learner = actor_critic_learner(rng, config.geometry, program)
    sim = PipeSim(config, seed)
    run_phases(sim, learner, actor_critic_batch(rng, program, 20), 0)
    sim.close()


@builds(lambda: PipeSim(ACTOR_CRITIC["p16"], 1))
def test_pipe_actor_critic_errors(seed: int) -> None:
    """What is not finite counts where the model says: in the targets, the losses, the gradients."""
    config = ACTOR_CRITIC["p16"]
    sim = PipeSim(config, seed)
    actor, critic = (3, 8, 2), (5, 7, 1)
    found = []
    for case in range(8):
        rng = np.random.default_rng([seed, case])
        made = ActorCriticConfig(actor, critic, optim.sgd(0.1), optim.sgd(0.1), kappa=1.0)
        program = td3(config.geometry, made, 1) if case % 2 else ddpg(config.geometry, made)
        learner = actor_critic_learner(rng, config.geometry, program)
        batch = actor_critic_batch(rng, program, 9)
        if case < 2:
            batch.reward[4] = np.inf
        elif case < 4:
            batch.state[6, 1] = np.nan
        elif case < 6:  # a target value that is not finite, the larger of two
            index = 2 if case == 5 else 1
            net = learner.networks[index]
            net.target[net.map.sections[-1].image] = np.inf
            learner.publish(index)
        reports = run_phases(sim, learner, batch, case % 2)
        found.append(tuple(r.not_finite is not None for r in reports))
    assert (
        found
        == [(True, False)] * 2 + [(True, True)] * 2 + [(True, False)] * 2 + [(False, False)] * 2
    )
    sim.close()
