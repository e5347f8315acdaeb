"""Tests of jd_a3c_unit: tasks on memory, by a bench that gives layers and turns.

Every byte of memory is compared with the golden model's after each case, ends with what the case
says, and clocks and beats with the cycle model.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.queue import Queue
from cocotb.triggers import RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_sequence, uvm_test

from flow.effort import effort, scale
from models.a3c import traffic
from models.a3c.layout import feature_slot_bytes
from models.a3c.network import (
    BEAT_BYTES,
    CONV,
    NET_T,
    TINY,
    Geometry,
    Layer,
    Network,
    conv,
    fc,
)
from models.registers.a3c import Error
from verif.a3c.agents import Progress, Told, Turn, Turns, Watcher
from verif.a3c.memory import TASK, UnitTask, pack, small_network
from verif.a3c.network import LAYER, layer_fields
from verif.a3c.unit import CLOCK_NAMES, KINDS, Case, stage_model
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, send
from verif.agents.timing import random_pauses
from verif.bench import clock_number, parameters, reset, rng, start, until
from verif.coverage import Bins, Coverage
from verif.scoreboard import Scoreboard

LIMIT = 200_000  # clocks that any wait may take
QUIET = 200  # clocks in which nothing may begin after a stop
BESIDE = 800  # clocks of a task without an issue
LATE = 3  # bursts of a kind that may begin after a stop: those given before
OUT = 64  # bursts of a unit each way; the engine's port limits them
LATEST = 12  # clocks of a lookup at most
LAYERS = 8
BUS_READ, BUS_WRITE = int(Error.E_BUS_RD), int(Error.E_BUS_WR)
WORD_THETA, WORD_SOURCE, WORD_TARGET, WORD_OBJECTIVE, WORD_MAPS = 2, 4, 6, 12, 16
# What fails, and how it ends: the word, the error.
FAULTS = {
    "parameters": (WORD_THETA, BUS_READ),
    "source": (WORD_SOURCE, BUS_READ),
    "target": (WORD_TARGET, BUS_WRITE),
    "objective": (WORD_OBJECTIVE, BUS_READ),
    "maps": (WORD_MAPS + 2, BUS_READ),
    "saves": (WORD_MAPS + 2, BUS_WRITE),
}
SHAPES = {
    "one": [fc(1, 1, relu=False)],
    "pixel": [conv(1, 1, 1, 1, 1), fc(1, 3)],
    "floor rows": [conv(3, 5, 11, 4, 4), conv(5, 3, (2, 2), 1, 2), fc(3, 2)],
    "dead taps": [conv(3, 14, 11, 3, 2), conv(14, 7, 5, 3, 2), fc(28, 5)],
    "wide lines": [conv(1, 3, (5, 66), 3, 1), conv(3, 2, (3, 64), 3, 2), fc(62, 4)],
    "tall": [conv(1, 17, (9, 3), 2, 1), fc(17 * 8 * 2, 6)],
    "channels": [conv(33, 18, 4, 2, 2), conv(18, 40, 2, 2, 1), fc(40, 3)],
    "long kernel": [conv(2, 4, 16, 11, 4), fc(4 * 2 * 2, 9)],
    "passes": [conv(1, 2, 4, 2, 2), fc(8, 130), fc(130, 100), fc(100, 3)],
    "one sum": [conv(1, 2, 4, 4, 1), fc(2, 2)],
}
SPECIALS = np.array([np.inf, -np.inf, np.nan, 1e-44, -0.0, 3e38], np.float32)


@dataclass(frozen=True)
class Ended:
    """A task that ended, for coverage.

    Attributes:
        task: it.
        error, word, response: how.
        before: the task before it in its case.
    """

    task: UnitTask
    error: int
    word: int
    response: int
    before: UnitTask | None

    @property
    def good(self) -> bool:
        """Without an error."""
        return self.error == 0


def _ended(condition: Callable[[Ended], bool]) -> Callable[[Any], bool]:
    """A bin of tasks."""
    return lambda e: isinstance(e, Ended) and condition(e)


def _after(before: bool, now: bool, same: bool) -> Callable[[Any], bool]:
    """A bin of neighbours: which of them trains, and whether they have the same network."""
    return _ended(
        lambda e: (
            e.before is not None
            and (e.before.train, e.task.train) == (before, now)
            and (e.before.network is e.task.network) == same
        )
    )


NAMES = {False: "inference", True: "training"}
BINS: dict[str, Bins] = {
    "task": {
        "all maps": _ended(lambda e: e.good and not e.task.train and e.task.save),
        "output alone": _ended(lambda e: e.good and not e.task.train and not e.task.save),
        "elsewhere": _ended(lambda e: e.task.train and e.task.g_source != e.task.g_target),
        "in place": _ended(lambda e: e.task.train and e.task.g_source == e.task.g_target),
    },
    "samples": {
        f"{name} {n}": _ended(
            lambda e, train=train, n=n: e.task.train == train and e.task.samples == n
        )
        for train, name in NAMES.items()
        for n in (1, 2, 3, 5, 8)
    },
    "after": {
        f"{NAMES[now]} after {NAMES[before]}, {'same' if same else 'other'} network": _after(
            before, now, same
        )
        for before in NAMES
        for now in NAMES
        for same in (False, True)
    },
    "fault": {
        f"{name} {response}": _ended(
            lambda e, how=(error, word, response): (e.error, e.word, e.response) == how
        )
        for name, (word, error) in FAULTS.items()
        for response in (2, 3)
    },
    "order": {
        "at once": lambda e: isinstance(e, Turn) and not e.waited,
        "waits": lambda e: isinstance(e, Turn) and e.waited,
        "rows told": lambda e: isinstance(e, Told) and e.behind is not None,
        "layer told": lambda e: isinstance(e, Told) and e.behind is None,
    },
    "reset": {
        name: (lambda e, name=name: e == ("reset", name)) for name in ("after a stop", "at once")
    },
}


def geometry() -> Geometry:
    """The build's."""
    p = parameters()
    return replace(
        TINY, n_pe=p["Pes"], lm=p["MulLatency"], la=p["AddLatency"], n_ru=p["UpdateUnits"],
        fm_rows=p["MapRows"], pb_inference=p["ParameterRows"], pb_training=p["ParameterRows"],
        gb_rows=p["GradientRows"],
    )  # fmt: skip


class TaskItem(StreamItem):
    """A task for the unit.

    Args:
        task: it.
        slot: of its network.
        end: error, word and response that it must end with.
    """

    def __init__(self, task: UnitTask, slot: int, end: tuple[int, int, int]) -> None:
        value = int.from_bytes(task.row().tobytes(), "little")
        at = sum(list(TASK.values())[list(TASK).index("slot") + 1 :])
        super().__init__("task", data=value | slot << at)
        self.task, self.slot, self.end = task, slot, end


class Tasks(uvm_sequence):
    """Sends the tasks of a case, in their order."""

    def __init__(self, env: Environment, items: Sequence[TaskItem]) -> None:
        super().__init__("tasks")
        self.env, self.items = env, items
        self.stopped = False

    async def body(self) -> None:
        """Send them."""
        for item in self.items:
            self.env.sent.append(item)
            await send(self, item)
            if self.stopped:
                return


class Layers(uvm_component):
    """Answers lookups after some clocks; at all other times there is junk."""

    def __init__(self, name: str, parent: uvm_component, env: Environment) -> None:
        super().__init__(name, parent)
        self.env = env
        self.draw = rng("layers")
        self.asked: Queue[tuple[int, int]] = Queue()

    async def run_phase(self) -> None:
        """Answer one after the other."""
        dut, edge = self.env.dut, RisingEdge(self.env.dut.clk_i)
        bits = sum(LAYER.values())
        dut.found_valid_i.value = 0
        while True:
            dut.found_data_i.value = self.draw.getrandbits(bits)
            slot, layer = await self.asked.get()
            dropped = False
            for _ in range(self.draw.randint(1, LATEST)):
                await edge
                dropped = dropped or not dut.rst_ni.value
            if dropped:
                continue
            network = self.env.networks[slot]
            dut.found_data_i.value = pack(LAYER, layer_fields(network, layer, self.env.g))
            dut.found_valid_i.value = 1
            await edge
            dut.found_valid_i.value = 0


class Environment(uvm_env):
    """Agents of all streams, memory, model, scoreboards and coverage."""

    def __init__(self, name: str, parent: uvm_component, test: UnitTest) -> None:
        super().__init__(name, parent)
        self.test = test
        self.dut = cocotb.top
        self.g = geometry()
        self.networks: tuple[Network, ...] = ()
        self.golden: Callable[[], np.ndarray]  # memory after the tasks of the case
        self.forget()
        self.counted = [0] * (len(CLOCK_NAMES) * 64)

    def forget(self) -> None:
        """No task is out."""
        self.sent: deque[TaskItem] = deque()
        self.open: deque[TaskItem] = deque()  # taken, not ended
        self.updates: deque[TaskItem] = deque()  # trainings whose layers are not all told of
        self.layer: int | None = None  # last one told of in updates[0]
        self.last: UnitTask | None = None
        self.moved = [0, 0]  # beats read, written
        self.bursts: list[AxiBurst] = []

    def build_phase(self) -> None:
        """Make the parts."""
        dut, busy = self.dut, self.test.busy

        def pauses(what: str) -> Any:
            return random_pauses(rng(what), busy, 6)

        self.memory = DeviceMemory()
        bus = AxiBus(dut, max_reads=OUT, max_writes=OUT)
        self.port = AxiMemoryAgent("port", self, bus, self.memory, self.test.timing)
        self.tasks = StreamAgent("tasks", self, StreamBus(dut, "task"), "source", pauses("tasks"))
        fields = ("error", "word", "response")
        self.ends = StreamAgent("ends", self, StreamBus(dut, "end", fields), "sink", pauses("ends"))
        self.lookups = StreamAgent(
            "lookups", self, StreamBus(dut, "lookup", ("slot", "layer")), "sink", pauses("lookups")
        )
        self.layers = Layers("layers", self, self)
        self.turns = Turns("turns", self, dut, self.test.patience)
        self.progress = Progress("progress", self, dut)
        self.scoreboard = Scoreboard("scoreboard", self)
        self.asks = Scoreboard("asks", self)
        self.coverage = Coverage("coverage", self, "a3c.unit", BINS, enforce=False)
        Watcher("taken", self, self.tasks, self.taken)
        Watcher("ended", self, self.ends, self.ended)
        Watcher("asked", self, self.lookups, self.asked)
        Watcher("given", self, self.turns, self.given)
        Watcher("told", self, self.progress, self.told)
        Watcher("moves", self, self.port, self.burst)

    def taken(self, _: StreamItem) -> None:
        """The unit took a task."""
        item = self.sent.popleft()
        self.open.append(item)
        assert len(self.open) <= 2, "the unit has three tasks"
        self.scoreboard.expect(item.end)
        for layer in range(len(item.task.network.layers)):
            self.asks.expect((item.slot, layer))
        if item.task.train:
            self.updates.append(item)

    def asked(self, item: StreamItem) -> None:
        """The unit wants a layer."""
        self.asks.observe((item.slot, item.layer))
        self.layers.asked.put_nowait((item.slot, item.layer))

    def ended(self, item: StreamItem) -> None:
        """A task ended."""
        error, word, response = item.error, item.word, item.response
        self.scoreboard.observe((error, word, response))
        task = self.open.popleft().task
        left = [update for update in self.updates if update.task is task]
        assert not left, "a task ended before all of its layers were told of"
        if not (task.train or error):
            self.saved(task)
        self.coverage.sample(Ended(task, error, word, response, self.last))
        self.last = task

    def saved(self, task: UnitTask) -> None:
        """What an inference writes is in memory when it ends, and every write is answered."""
        size, golden = feature_slot_bytes(task.network), self.golden()
        for place in task.maps:
            late = [b for b in self.port.monitor.writes if place <= b.address < place + size]
            assert not late, f"a task ended before its write at {late[0].address:#x} was answered"
            same = self.memory.dump(place, size) == golden[place : place + size]
            assert same.all(), f"a task ended before its maps at {place:#x} were in memory"

    def given(self, turn: Turn) -> None:
        """Rows may be read: of the oldest training."""
        task = self.updates[0].task
        assert turn.ticket == task.ticket, f"ticket {turn.ticket:#x}, want {task.ticket:#x}"
        first, last = task.network.parameter_offsets[turn.layer : turn.layer + 2]
        assert first < turn.behind <= last, f"{turn}: rows of the layer are {first} to {last}"
        self.coverage.sample(turn)

    def told(self, told: Told) -> None:
        """Rows or a layer are written: of the oldest training, the last layer first."""
        self.coverage.sample(told)
        task = self.updates[0].task
        count = len(task.network.layers)
        layer = count - 1 if self.layer is None else self.layer - 1
        assert told.layer == layer, f"told of layer {told.layer}, want {layer}"
        if told.behind is not None:
            first, last = task.network.parameter_offsets[layer : layer + 2]
            assert first < told.behind <= last, f"told of rows before {told.behind}"
            return
        self.layer = layer or None
        if not layer:
            self.updates.popleft()

    def burst(self, burst: AxiBurst) -> None:
        """A burst ended: mean squares are read only in their turn."""
        self.moved[burst.write] += burst.beats
        self.bursts.append(burst)
        if burst.write:
            return
        task = next((u.task for u in self.updates), None)
        if task is None:
            return
        row = (burst.address - task.g_source) // BEAT_BYTES
        if not 0 <= row < task.network.parameter_beats:
            return
        offsets = task.network.parameter_offsets
        layer = max(n for n in range(len(offsets) - 1) if offsets[n] <= row)
        assert self.turns.begun(task.ticket, layer, row + burst.beats, burst.begun), (
            f"rows {row} to {row + burst.beats} of layer {layer} are read before their turn"
        )

    def counts(self) -> dict[tuple[str, int], dict[str, int]]:
        """Clocks by (kind of a stage, layer) since the last call, where something was issued."""
        now = [int(pin.value) for pin in self.dut.counted_o]
        new = [a - b for a, b in zip(now, self.counted, strict=True)]
        self.counted = now
        size = len(CLOCK_NAMES)
        stages = {
            (kind, layer): dict(zip(CLOCK_NAMES, new[at : at + size], strict=True))
            for k, kind in enumerate(KINDS)
            for layer in range(LAYERS)
            for at in [size * (LAYERS * k + layer)]
        }
        return {key: stage for key, stage in stages.items() if stage["issue"]}


class UnitTest(uvm_test):
    """Random tasks of small networks.

    Attributes:
        timing: of the memory.
        busy: part of the clocks in which streams move.
        patience: clocks that a turn takes at most.
        cases: at full effort.
        exact: memory never waits, so clocks lost to the adders are the model's.
    """

    timing = AxiTiming(latency=(1, 60), busy=0.8)
    busy = 0.7
    patience = 200
    cases = 20
    exact = False

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.draw = rng("cases")
        self.numbers = np.random.default_rng(self.draw.getrandbits(32))
        self.env = Environment("env", self, self)

    async def run_phase(self) -> None:
        """Reset, then run the body."""
        self.raise_objection()
        self.dut.stop_i.value = 0
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Cases one after the other."""
        for _ in range(scale(self.cases)):
            await self.check(self.random_case(self.draw.randint(2, 4)))

    # ---- Cases

    def case(self, *networks: Network, sets: int = 9) -> Case:
        """Networks in a memory of random contents."""
        return Case(self.env.g, networks, self.numbers, sets=sets)

    def random_case(self, count: int) -> Case:
        """Two networks and tasks on them, none of which uses what another one writes."""
        numbers = self.numbers
        networks = [small_network(numbers, self.env.g, 300) for _ in range(2)]
        case = self.case(*networks, sets=9 * count)
        newest = [0, 0]
        for n in range(count):
            slot = int(numbers.integers(2))
            sets = [9 * n + k for k in range(int(numbers.choice([1, 1, 2, 3, 5, 8])))]
            if numbers.random() < 0.5:
                case.infer(slot, 0, sets, bool(numbers.integers(2)))
            else:
                target = int(numbers.integers(1, 3))
                squares = (0, 0) if numbers.integers(2) else (0, 1)
                case.train(slot, 0, newest[slot], target, sets, squares)
                newest[slot] = target
        return case

    def items(
        self, case: Case, ends: dict[int, tuple[int, int, int]] | None = None
    ) -> list[TaskItem]:
        """A case's tasks, with tickets."""
        out = []
        for n, (_, task, slot) in enumerate(case.tasks):
            end = (ends or {}).get(n, (0, 0, 0))
            out.append(TaskItem(replace(task, ticket=self.draw.getrandbits(32)), slot, end))
        return out

    def begin(
        self, case: Case, ends: dict[int, tuple[int, int, int]] | None = None
    ) -> tuple[Tasks, Any]:
        """Load a case and send its tasks; no other task writes the maps of an inference."""
        env = self.env
        env.networks, env.golden = case.networks, cache(case.golden)
        env.memory.load(0, case.memory)
        env.moved, env.bursts, env.last = [0, 0], [], None
        env.counts()
        sequence = Tasks(env, self.items(case, ends))
        return sequence, cocotb.start_soon(sequence.start(env.tasks.sequencer))

    async def finish(self, running: Any) -> None:
        """Wait until all tasks have ended and nothing moves."""
        env = self.env
        await running
        await until("ends", self.dut.clk_i, LIMIT, lambda: not env.open and not env.sent)
        assert not env.updates, "a layer was not told of"
        assert int(self.dut.idle_o.value), "a unit without tasks is not idle"

    async def check(self, case: Case) -> None:
        """Run a case and compare all that can be: memory, ends, issues, beats."""
        env = self.env
        _, running = self.begin(case)
        begun = clock_number()
        await self.finish(running)
        span = clock_number() - begun
        difference = case.difference(env.memory.dump(0, case.memory.size), env.golden())
        assert not difference, difference
        tasks = [task for _, task, _ in case.tasks]
        model, stages = stage_model(env.g, tasks), env.counts()
        issued = {key: stage["issue"] for key, stage in stages.items()}
        assert issued == {key: stage.issued for key, stage in model.items()}
        for key, stage in model.items():
            assert stages[key]["latency"] <= stage.stepped - stage.issued, key
        if self.exact:
            for key, stage in model.items():
                assert stages[key]["latency"] == stage.stepped - stage.issued, key
            lost = sum(stage[name] for stage in stages.values() for name in CLOCK_NAMES[2:-1])
            most = lost + BESIDE + sum(stage.stepped for stage in model.values())
            assert span <= most, f"{span} clocks, want at most {most}"
        want = traffic.Traffic()
        for task in tasks:
            parts = (
                traffic.training(task.network, task.samples)
                if task.train
                else traffic.inference(task.network, task.samples, task.save)
            )
            want += traffic.total(parts)
        assert tuple(env.moved) == (want.reads, want.writes), "beats of the traffic model"


def _layers(shape: list[Layer]) -> Network:
    return Network(tuple(replace(one, lanes_forward=16, lanes_backward=16) for one in shape))


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Random(UnitTest):
    """Random tasks, pauses everywhere."""


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class BackPressure(UnitTest):
    """A slow memory, and nobody in a hurry."""

    timing = AxiTiming(latency=(60, 200), busy=0.4, longest=12)
    busy = 0.2
    patience = 600
    cases = 10


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Shapes(UnitTest):
    """Layers at the edges of what loops do, forward and backward."""

    samples: tuple[int, ...] = (1,)

    async def body(self) -> None:
        """Each shape with each number of samples."""
        for shape in SHAPES.values():
            for samples in self.samples:
                case = self.case(_layers(shape), sets=16)
                case.infer(0, 0, range(samples))
                case.train(0, 0, 0, 1, range(8, 8 + samples))
                await self.check(case)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Samples(Shapes):
    """The same with more samples."""

    samples = (3, 8)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class SpecialValues(UnitTest):
    """Infinities and NaNs reach what they must, and no more: taps outside the map add nothing."""

    async def body(self) -> None:
        """A few values among all others."""
        names = ("dead taps", "floor rows", "long kernel", "passes")
        for name in names[: scale(4, 2)]:
            for number in range(scale(8)):
                case = self.case(_layers(SHAPES[name]))
                count = 1 if number % 2 else 3
                case.change(0, 0, SPECIALS[: 6 if count > 1 else 1], count)
                case.infer(0, 0, [0])
                case.train(0, 0, 1, 2, [2])
                await self.check(case)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class Groups(UnitTest):
    """Groups of elements take rows, a short last tile several groups a row."""

    async def body(self) -> None:
        """All divisions of 64 elements."""
        shape = [conv(4, 20, (21, 18), 5, 2), conv(20, 33, (9, 7), 3, 1), fc(33 * 7 * 5, 40),
                 fc(40, 3)]  # fmt: skip
        for forward, backward in ((16, 64), (16, 16), (32, 32), (64, 64)):
            layers = []
            for layer in shape:
                legal = [n for n in (16, 32, 64) if n <= backward and layer.phases % n == 0]
                lanes = legal[-1] if layer.kind == CONV else 64
                layers.append(replace(layer, lanes_forward=forward, lanes_backward=lanes))
            case = self.case(Network(tuple(layers)))
            case.infer(0, 0, [0])
            case.train(0, 0, 0, 1, [1, 2])
            await self.check(case)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Clocks(UnitTest):
    """With memory that never waits, clocks lost to the adders are the model's, too."""

    timing = AxiTiming(latency=(1, 1))
    busy = 1.0
    patience = 0
    exact = True

    async def body(self) -> None:
        """An inference, a training."""
        for train in (False, True):
            case = self.case(NET_T)
            if train:
                case.train(0, 0, 0, 1, [0])
            else:
                case.infer(0, 0, [0])
            await self.check(case)


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class BusError(UnitTest):
    """The task that meets it ends with it; those before and after are as if it were not there."""

    async def body(self) -> None:
        """Each kind with one response or both."""
        for number, kind in enumerate(FAULTS):
            for response in (2, 3) if effort() >= 1 else (2 + number % 2,):
                await self.fail(kind, response)

    async def fail(self, kind: str, response: int) -> None:
        """A beat in the middle of what the task names there."""
        env = self.env
        word, error = FAULTS[kind]
        network = _layers(SHAPES["floor rows"]) if effort() < 1 else NET_T
        case = self.case(network, network, sets=16)
        case.infer(0, 0, [0])
        train = kind in ("source", "target", "objective", "maps")
        if train:
            case.train(1, 0, 2 if kind == "source" else 0, 1, [1, 2])
            place = {
                "source": case.theta[1][2], "target": case.theta[1][1],
                "objective": case.objective[1], "maps": case.sets[1][2],
            }[kind]  # fmt: skip
        else:
            case.infer(1, 0, [1, 2])
            place = case.theta[1][0] if kind == "parameters" else case.sets[1][2]
        case.train(0, 0, 0, 1, [3, 4])
        case.infer(0, 0, [5])
        beat = {
            "maps": network.regions[2].offset, "saves": network.regions[1].offset,
            "objective": 2,
        }.get(kind, 5)  # fmt: skip
        env.memory.fail(place + BEAT_BYTES * beat, BEAT_BYTES, response)
        _, running = self.begin(case, {1: (error, word, response)})
        del case.tasks[1]
        await self.finish(running)
        env.memory.heal()
        want, got = env.golden(), env.memory.dump(0, case.memory.size)
        first, last = case.theta[1][0], case.objective[1]
        # Nothing is written after the failure: of a training that cannot read, nothing at all.
        if train and kind in ("objective", "maps"):
            assert (got[first:last] == case.memory[first:last]).all()
        got[first:last] = want[first:last]
        difference = case.difference(got, want)
        assert not difference, difference


@pyuvm.test(timeout_time=40, timeout_unit="ms")
class ResetMidway(UnitTest):
    """After a stop little begins and all ends; a reset, after it or at once, leaves nothing."""

    async def body(self) -> None:
        """Reset a few times in the middle; the case after it is right."""
        for number in range(scale(20, 4)):
            case = self.case(NET_T)
            case.infer(0, 0, [0])
            case.train(0, 0, 0, 1, [1, 2])
            sequence, running = self.begin(case)
            for _ in range(self.draw.randint(10, (400, 9000, 2000)[number % 3])):
                await RisingEdge(self.dut.clk_i)
            sequence.stopped = True
            stopped = number % 2 == 0
            if stopped:
                await self.stop()
            self.dut.stop_i.value = 0
            await reset(self.dut)
            await running
            env = self.env
            env.forget()
            while not env.layers.asked.empty():
                env.layers.asked.get_nowait()
            env.scoreboard.clear()
            env.asks.clear()
            env.counted = [0] * len(env.counted)
            env.coverage.sample(("reset", "after a stop" if stopped else "at once"))
            if number % 2 or effort() >= 1:
                await self.check(self.random_case(2))

    async def stop(self) -> None:
        """Stop; count what begins after it."""
        env, dut = self.env, self.dut
        dut.stop_i.value = 1
        monitor = env.port.monitor
        since, quiet = clock_number(), 0
        for _ in range(LIMIT):
            await RisingEdge(dut.clk_i)
            busy = monitor.reads or monitor.writes or not int(dut.idle_o.value)
            quiet = 0 if busy else quiet + 1
            if quiet == QUIET:
                break
        assert quiet == QUIET, "the unit is not idle after a stop"
        # By the unit's client, whose number is in the ID, and the direction.
        late = Counter((b.id, b.write) for b in env.bursts if b.begun > since + 1)
        assert max(late.values(), default=0) <= LATE, f"bursts begin after a stop: {late}"
