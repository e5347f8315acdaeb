"""A compute unit against the golden model: every byte of memory, clocks, errors, stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.regression import builds, keep, regress
from models.a3c import timing, traffic
from models.a3c.network import CONV, FULL, NET_A, NET_T, TINY, Geometry, Network, conv, fc
from models.registers.a3c import Error
from verif.a3c.memory import Fault, small_network
from verif.a3c.unit import PRESETS, Case, Memory, Result, Unit, stage_model, unit_parameters

WIDE = Geometry(
    n_pe=64, n_pair=1, lm=2, la=3, n_ru=8, fm_rows=4096, pb_inference=4096, pb_training=4096,
    gb_rows=4096,
)  # fmt: skip
NARROW = replace(TINY, fm_rows=2048, pb_inference=1024, pb_training=1024, gb_rows=1024)
BUILDS = {"16": NARROW, "64": WIDE}
BUS_READ, BUS_WRITE = int(Error.E_BUS_RD), int(Error.E_BUS_WR)
WORD_THETA, WORD_SOURCE, WORD_TARGET, WORD_OBJECTIVE, WORD_MAPS = 2, 4, 6, 12, 16
pytestmark = builds(lambda: Unit(unit_parameters(NARROW, True), 1))


def run(
    case: Case, seed: int, timing_of: Memory = PRESETS["D"], **options: object
) -> tuple[Result, np.ndarray]:
    """Run a case's tasks in the simulator; returns the result and memory after it."""
    memory = case.memory.copy()
    with Unit(unit_parameters(case.g, True), seed) as unit:
        result = unit.run(
            memory, [task for _, task, _ in case.tasks], case.networks, case.g,
            memory_timing=timing_of, seed=seed, **options,  # type: ignore[arg-type]
        )  # fmt: skip
    return result, memory


def clocks(case: Case) -> timing.Clocks:
    """Clocks of a case's tasks by the cycle model."""
    total = timing.Clocks()
    for _, task, _ in case.tasks:
        count = timing.training_clocks if task.train else timing.inference_clocks
        total += count(task.network, task.samples, case.g)
    return total


def beats(case: Case) -> traffic.Traffic:
    """Beats of a case's tasks by the traffic model."""
    out = traffic.Traffic()
    for _, task, _ in case.tasks:
        parts = (
            traffic.training(task.network, task.samples)
            if task.train
            else traffic.inference(task.network, task.samples, task.save)
        )
        out += traffic.total(parts)
    # The beat of hyper-parameters is read with the descriptor, elsewhere.
    return out


def check(case: Case, seed: int, timing_of: Memory = PRESETS["D"]) -> Result:
    """Run a case and compare all that can be: memory, ends, issues, beats."""
    result, memory = run(case, seed, timing_of)
    assert not case.difference(memory, case.golden())
    assert [end[:3] for end in result.ends] == [(0, 0, 0)] * len(case.tasks)
    want, moved = clocks(case), beats(case)
    assert result.counted["issue"] == want.issued
    assert result.counted["latency"] <= want.stepped - want.issued
    model = stage_model(case.g, [task for _, task, _ in case.tasks])
    assert {key: found["issue"] for key, found in result.stages.items()} == {
        key: stage.issued for key, stage in model.items()
    }
    assert (result.counted["read"], result.counted["written"]) == (moved.reads, moved.writes)
    return result


def random_timing(rng: np.random.Generator) -> Memory:
    """Draw a memory: its latency, rates and delays."""
    rates = [(1, 1), (1, 2), (2, 3), (1, 7)]
    reads, writes = (rates[n] for n in rng.integers(0, len(rates), 2))
    shared = [(0, 0), (1, 1), (3, 2)][rng.integers(3)]
    return Memory(int(rng.choice([1, 5, 64, 200])), reads, writes, shared, int(rng.choice([0, 40])))


def random_case(rng: np.random.Generator, g: Geometry, count: int) -> Case:
    """Draw two networks and tasks on them, none of which uses what another one writes."""
    networks = [small_network(rng, g, 800) for _ in range(2)]
    case = Case(g, networks, rng, sets=9 * count)
    newest = [0, 0]
    for n in range(count):
        slot = int(rng.integers(2))
        sets = [9 * n + k for k in range(int(rng.choice([1, 1, 2, 3, 5, 8])))]
        if rng.random() < 0.5:
            case.infer(slot, 0, sets, bool(rng.integers(2)))
        else:
            target = int(rng.integers(1, 3))
            case.train(slot, 0, newest[slot], target, sets, (0, 0) if rng.integers(2) else (0, 1))
            newest[slot] = target
    return case


@pytest.mark.parametrize("build", keep(BUILDS))
@pytest.mark.parametrize("number", keep(range(12), 2))
@builds(lambda build: Unit(unit_parameters(BUILDS[build], True), 1))
def test_unit_runs_random_tasks(build: str, number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 31, number])
    case = random_case(rng, BUILDS[build], int(rng.integers(1, 5)))
    check(case, seed + number, random_timing(rng) if number % 3 else PRESETS["I"])


SHAPES = {
    "one": [fc(1, 1, relu=False)],
    "pixel": [conv(1, 1, 1, 1, 1), fc(1, 3)],
    "floor rows": [conv(3, 5, 11, 4, 4), conv(5, 3, (2, 2), 1, 2), fc(3, 2)],
    "dead taps": [conv(3, 14, 11, 3, 2), conv(14, 7, 5, 3, 2), fc(28, 5)],
    "wide lines": [conv(2, 3, (5, 66), 3, 1), conv(3, 2, (3, 64), 3, 2), fc(62, 4)],
    "tall": [conv(1, 17, (9, 3), 2, 1), fc(17 * 8 * 2, 6)],
    "channels": [conv(33, 18, 4, 2, 2), conv(18, 40, 2, 2, 1), fc(40, 3)],
    "long kernel": [conv(2, 4, 16, 11, 4), fc(4 * 2 * 2, 9)],
    "passes": [conv(1, 2, 4, 2, 2), fc(8, 130), fc(130, 100), fc(100, 3)],
    "one sum": [conv(1, 2, 4, 4, 1), fc(2, 2)],
}


@pytest.mark.parametrize("samples", [regress(1), 3, regress(8)])
@pytest.mark.parametrize("shape", SHAPES)
def test_unit_computes_shapes(shape: str, samples: int, seed: int) -> None:
    """Layers at the edges of what loops do, forward and backward."""
    layers = [replace(layer, lanes_forward=16, lanes_backward=16) for layer in SHAPES[shape]]
    case = Case(NARROW, [Network(tuple(layers))], np.random.default_rng([seed, 32]), sets=16)
    case.infer(0, 0, range(samples))
    case.train(0, 0, 0, 1, range(8, 8 + samples))
    check(case, seed)


@pytest.mark.parametrize("shape", ["dead taps", "floor rows", "long kernel", "passes"])
@pytest.mark.parametrize("count", keep([3, 1]))
def test_unit_computes_special_values(shape: str, count: int, seed: int) -> None:
    """Infinities and NaNs reach what they must, nothing else: a tap that is none adds nothing."""
    layers = [replace(one, lanes_forward=16, lanes_backward=16) for one in SHAPES[shape]]
    specials = np.array([np.inf, -np.inf, np.nan, 1e-44, -0.0, 3e38], np.float32)
    for number in range(4):
        case = Case(NARROW, [Network(tuple(layers))], np.random.default_rng([seed, 39, number]))
        case.change(0, 0, specials[: 6 if count > 1 else 1], count)
        case.infer(0, 0, [0, 1])
        case.train(0, 0, 1, 2, [2, 3])
        check(case, seed)


@pytest.mark.regress
@pytest.mark.parametrize(("forward", "backward"), [(16, 64), (16, 16), (32, 32), (64, 64)])
@builds(lambda: Unit(unit_parameters(WIDE, True), 1))
def test_unit_shares_rows_among_groups(forward: int, backward: int, seed: int) -> None:
    """Groups take rows, a short last tile several groups a row."""
    layers = [
        conv(4, 20, (21, 18), 5, 2),
        conv(20, 33, (9, 7), 3, 1),
        fc(33 * 7 * 5, 40),
        fc(40, 3),
    ]
    chosen = []
    for layer in layers:
        legal = [n for n in (16, 32, 64) if n <= backward and layer.phases % n == 0]
        lanes = legal[-1] if layer.kind == CONV else 64
        chosen.append(replace(layer, lanes_forward=forward, lanes_backward=lanes))
    network = Network(tuple(chosen))
    case = Case(WIDE, [network], np.random.default_rng([seed, 33]))
    case.infer(0, 0, [0])
    case.train(0, 0, 0, 1, [1, 2])
    check(case, seed)


def test_unit_issues_by_the_cycle_model(seed: int) -> None:
    """With memory that never waits, clocks lost to the adders are the model's, too."""
    for train in (False, True):
        case = Case(NARROW, [NET_T], np.random.default_rng([seed, 34]))
        if train:
            case.train(0, 0, 0, 1, [0, 1, 2])
        else:
            case.infer(0, 0, [0])
        result = check(case, seed, PRESETS["I"])
        want = clocks(case)
        assert result.counted["latency"] == want.stepped - want.issued
        for key, stage in stage_model(NARROW, [task for _, task, _ in case.tasks]).items():
            assert result.stages[key]["latency"] == stage.stepped - stage.issued, key
        others = ("parameters", "maps", "drain", "gradients")
        assert result.clocks <= want.stepped + sum(result.counted[n] for n in others) + 800


FAULTS = {
    "parameters": (WORD_THETA, BUS_READ, 1),
    "source": (WORD_SOURCE, BUS_READ, 1),
    "target": (WORD_TARGET, BUS_WRITE, 2),
    "objective": (WORD_OBJECTIVE, BUS_READ, 1),
    "maps": (WORD_MAPS + 2, BUS_READ, 1),
    "saves": (WORD_MAPS + 2, BUS_WRITE, 2),
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("response", [2, 3])
def test_unit_ends_a_task_by_a_bus_error(kind: str, response: int, seed: int) -> None:
    """The task that meets it ends with it; those before and after are as if it were not there."""
    word, error, direction = FAULTS[kind]
    rng = np.random.default_rng([seed, 35, word])
    network = NET_T
    case = Case(NARROW, [network, network], rng, sets=16)
    train = kind in ("source", "target", "objective", "maps")
    case.infer(0, 0, [0])
    if train:
        case.train(1, 0, 0, 1, [1, 2])
        place = {
            "source": case.theta[1][0], "target": case.theta[1][1],
            "objective": case.objective[1], "maps": case.sets[1][2],
        }[kind]  # fmt: skip
    else:
        case.infer(1, 0, [1, 2])
        place = case.theta[1][0] if kind == "parameters" else case.sets[1][2]
    if kind == "source":  # what BW reads of theta is not the source
        case.tasks[-1] = _with(case.tasks[-1], "source", case.theta[1][2])
        place = case.theta[1][2]
    case.train(0, 0, 0, 1, [3, 4])
    case.infer(0, 0, [5])
    # A beat in the middle of what the task names there.
    size = 64 * {
        "maps": network.regions[2].offset, "saves": network.regions[1].offset + 3, "objective": 2,
    }.get(kind, 5)  # fmt: skip
    fault = Fault(place + size, place + size + 63, response, direction)
    result, memory = run(case, seed, PRESETS["D"], faults=[fault])
    assert result.ends[1][:3] == (error, word, response)
    assert [end[0] for end in result.ends] == [0, error, 0, 0]
    del case.tasks[1]
    want = case.golden()
    first, last = case.theta[1][0], case.objective[1]
    got = memory.copy()
    got[first:last] = want[first:last]
    assert not case.difference(got, want)
    # Nothing is written after the failure: of a training that cannot read, nothing at all.
    if train and kind in ("objective", "maps"):
        assert (memory[first:last] == case.memory[first:last]).all()


def _with(entry: tuple, name: str, value: int) -> tuple:  # type: ignore[type-arg]
    task, unit_task, slot = entry
    return replace(task, **{name: value}), replace(unit_task, **{name: value}), slot


@pytest.mark.parametrize("part", range(8))
def test_unit_stops(part: int, seed: int) -> None:
    """Soon after a stop nothing moves in memory; the harness finds whoever begins something."""
    case = Case(NARROW, [NET_T], np.random.default_rng([seed, 36]))
    case.infer(0, 0, [0])
    case.train(0, 0, 0, 1, [1, 2, 3])
    whole, _ = run(case, seed)
    stop = whole.clocks * part // 8 + 10
    result, _ = run(case, seed, stop=stop)
    assert result.clocks < stop + 2000


def test_unit_goes_on_behind_a_reset(seed: int) -> None:
    """A run that was stopped leaves nothing after: the next one in the same unit is right."""
    rng = np.random.default_rng([seed, 37])
    case = Case(NARROW, [NET_T], rng)
    case.infer(0, 0, [0])
    case.train(0, 0, 0, 1, [1, 2, 3])
    tasks = [task for _, task, _ in case.tasks]
    with Unit(unit_parameters(NARROW, True), seed) as unit:
        for stop in rng.integers(50, 8000, 6):
            unit.run(case.memory.copy(), tasks, case.networks, NARROW, stop=int(stop))
            memory = case.memory.copy()
            unit.run(memory, tasks, case.networks, NARROW)
            assert not case.difference(memory, case.golden())


@pytest.mark.slow
@builds(
    lambda: Unit(unit_parameters(FULL, False), 1, optimize="-O2"),
    lambda: Unit(unit_parameters(FULL, True), 1, optimize="-O2"),
)
def test_unit_runs_the_papers_network(seed: int) -> None:
    """Full size, bits and clocks: an inference after the other, a training after the other."""
    for train, most in ((False, 49_500), (True, 350_000)):
        case = Case(FULL, [NET_A], np.random.default_rng([seed, 38]), scale=0.05)
        for n in range(3):
            if train:
                case.train(0, 0, 0, 1, range(5))
            else:
                case.infer(0, 0, [n])
        memory = case.memory.copy()
        with Unit(unit_parameters(FULL, train), seed, optimize="-O2") as unit:
            result = unit.run(memory, [task for _, task, _ in case.tasks], case.networks, FULL)
        assert not case.difference(memory, case.golden())
        assert result.counted["issue"] == clocks(case).issued
        periods = np.diff([end[3] for end in result.ends])
        assert periods.max() <= most
