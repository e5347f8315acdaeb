"""Tests of jd_a3c_update: tasks whose gradients lie in a buffer that the bench plays.

What is written is compared with the golden model burst by burst, memory whenever rows or a layer
are told of and after each task. Nothing is read before its turn, nothing of a failed task is begun,
and a task ends after its last answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import RisingEdge
from pyuvm import (
    uvm_analysis_port,
    uvm_component,
    uvm_driver,
    uvm_env,
    uvm_monitor,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
    uvm_test,
)

from flow.effort import effort, scale
from models.a3c.network import BEAT_BYTES, ROW_WORDS, SLOT_BYTES, TINY, Network, fc
from models.a3c.rmsprop import HyperParameters
from verif.a3c.agents import Progress, Told, Turn, Turns, Watcher
from verif.a3c.memory import (
    CHUNK,
    Chunk,
    UnitTask,
    pack,
    random_chunks,
    small_network,
    theta_slot,
    updated,
)
from verif.a3c.numbers import draw
from verif.agents.axi_memory import AxiBurst, AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence, send
from verif.agents.timing import random_pauses
from verif.bench import Activity, clock_number, parameters, reset, rng, start
from verif.coverage import Bins, Coverage
from verif.scoreboard import Scoreboard

LIMIT = 100_000  # clocks that any wait may take
QUIET = 100  # clocks in which nothing may begin after a stop
LATE = 3  # bursts of a kind that may begin after a stop or a failure: those given before
PIECE = 64  # rows of a burst at most
SPARE = 50  # clocks after the last task
WORDS = {"source": 4, "target": 6, "g_source": 8, "g_target": 10}
FAST = AxiTiming(latency=(64, 64))


class Work(uvm_sequence_item):
    """A task, its gradients and what happens to it.

    Attributes:
        task: it.
        chunks: of its gradients, in their order.
        image: [rows, 16] uint32, the buffer.
        fails: clocks from its start to failed_i, None: it does not fail.
        fault: name of the address, beat and response that memory answers there.
        finished: clock of its end.
    """

    def __init__(self, task: UnitTask, chunks: Sequence[Chunk], image: np.ndarray) -> None:
        super().__init__("work")
        self.task, self.chunks, self.image = task, chunks, image
        self.fails: int | None = None
        self.fault: tuple[str, int, int] | None = None
        self.begun = self.finished = 0

    @property
    def rows(self) -> int:
        """Rows of its parameters."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def bad(self) -> bool:
        """It fails somehow."""
        return self.fails is not None or self.fault is not None


def _work(condition: Callable[[Work], bool]) -> Callable[[Any], bool]:
    """A bin of tasks that ended."""
    return lambda e: isinstance(e, Work) and condition(e)


BINS: dict[str, Bins] = {
    "task": {
        "in place": _work(lambda e: e.task.source == e.task.target),
        "elsewhere": _work(lambda e: e.task.source != e.task.target),
        "good": _work(lambda e: not e.bad),
    },
    "chunk": {
        "one row": _work(lambda e: any(c.rows == 1 for c in e.chunks)),
        "over a page": _work(lambda e: any(c.offset % PIECE + c.rows > PIECE for c in e.chunks)),
        "long": _work(lambda e: any(c.rows > 2 * PIECE for c in e.chunks)),
        "in any order": _work(
            lambda e: any(a.layer == b.layer and a.offset > b.offset for a, b in pairwise(e.chunks))
        ),
    },
    "fault": {
        f"{name} {response}": _work(
            lambda e, how=(name, response): e.fault is not None and (e.fault[0], e.fault[2]) == how
        )
        for name in WORDS
        for response in (2, 3)
    },
    "failed": {
        name: (lambda e, name=name: e == ("failed", name))
        for name in ("waiting", "reading", "writing", "idle")
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
SECOND_BINS: dict[str, Bins] = {"second image": {"written": _work(lambda e: e.task.second)}}


class AbortedError(Exception):
    """A reset: the driver drops what it has."""


class WorkDriver(uvm_driver):
    """Holds a task until its finish, and lets it fail from outside."""

    def __init__(self, name: str, parent: uvm_component, env: Environment) -> None:
        super().__init__(name, parent)
        self.env = env
        self.draw = rng("go")

    async def run_phase(self) -> None:
        """One task after the other, often without a clock between them."""
        dut = self.env.dut
        while True:
            dut.go_i.value, dut.failed_i.value = 0, 0
            dut.task_i.value = self.draw.getrandbits(len(dut.task_i))
            work = await self.seq_item_port.get_next_item()
            try:
                for _ in range(self.draw.choice((0, 0, 1, 10))):
                    await self.clock()
                dut.task_i.value = int.from_bytes(work.task.row().tobytes(), "little")
                dut.go_i.value = 1
                self.env.start_work(work)
                await self.hold(work)
                self.env.end_work(work)
            except AbortedError:
                pass
            self.seq_item_port.item_done()

    async def clock(self) -> None:
        """Let a clock pass."""
        await RisingEdge(self.env.dut.clk_i)
        if self.env.aborted:
            raise AbortedError

    async def hold(self, work: Work) -> None:
        """Wait for its finish."""
        env, dut, monitor = self.env, self.env.dut, self.env.port.monitor
        for clock in range(LIMIT):
            await self.clock()
            if dut.idle_o.value:
                assert not monitor.reads and not monitor.writes, "idle while a burst is out"
            if dut.finish_o.value:
                return
            if clock == work.fails:
                env.fail_now()
        raise TimeoutError(f"no finish within {LIMIT} clocks")


class Buffer(uvm_component):
    """The gradient buffer: a row two clocks after its read, junk in all other clocks."""

    def __init__(self, name: str, parent: uvm_component, env: Environment) -> None:
        super().__init__(name, parent)
        self.env = env
        self.draw = rng("buffer")

    async def run_phase(self) -> None:
        """Drive what was read at the edge before the last one."""
        dut, edge = self.env.dut, RisingEdge(self.env.dut.clk_i)
        activity = Activity([dut.read_valid_o], dut.rst_ni)
        while True:
            dut.read_data_i.value = self.draw.getrandbits(512)
            await activity.wait()
            coming: int | None = None
            driven = False
            while True:
                await edge
                if coming is not None:
                    dut.read_data_i.value = coming
                driven = coming is not None
                coming = self.read()
                if coming is None and not driven:
                    break

    def read(self) -> int | None:
        """The row that is read at this edge."""
        dut = self.env.dut
        if not (dut.read_valid_o.value and dut.read_ready_i.value and dut.rst_ni.value):
            return None
        return int.from_bytes(self.env.image[int(dut.read_row_o.value)].tobytes(), "little")


class Pulses(uvm_monitor):
    """Writes a tuple of values whenever a pulse is there."""

    def __init__(
        self, name: str, parent: uvm_component, dut: Any, pulse: str, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(name, parent)
        self.dut, self.pulse, self.fields = dut, pulse, fields

    def build_phase(self) -> None:
        """Make the analysis port."""
        self.ap = uvm_analysis_port("ap", self)

    async def run_phase(self) -> None:
        """Look in each clock."""
        pulse = getattr(self.dut, self.pulse)
        pins = [getattr(self.dut, name) for name in self.fields]
        activity = Activity([pulse], self.dut.rst_ni)
        while True:
            await activity.wait()
            await RisingEdge(self.dut.clk_i)
            if pulse.value and self.dut.rst_ni.value:
                self.ap.write(tuple(int(pin.value) for pin in pins))


class Environment(uvm_env):
    """Agents of all streams, memory, model, scoreboards and coverage."""

    def __init__(self, name: str, parent: uvm_component, test: UpdateTest) -> None:
        super().__init__(name, parent)
        self.test = test
        self.dut = cocotb.top
        self.work: Work | None = None
        self.image = np.zeros((1, ROW_WORDS), np.uint32)
        self.size = 0
        self.aborted = False
        self.echo = rng("echo")

    def build_phase(self) -> None:
        """Make the parts."""
        dut, busy = self.dut, self.test.busy

        def pauses(what: str) -> Any:
            return random_pauses(rng(what), busy, 6)

        self.memory = DeviceMemory()
        self.port = AxiMemoryAgent("port", self, AxiBus(dut), self.memory, self.test.timing)
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = WorkDriver("driver", self, self)
        self.chunks = StreamAgent(
            "chunks", self, StreamBus(dut, "chunk"), "source", pauses("chunks")
        )
        self.reads = StreamAgent(
            "reads", self, StreamBus(dut, "read", ("row",)), "sink", pauses("reads")
        )
        self.buffer = Buffer("buffer", self, self)
        self.turns = Turns("turns", self, dut, self.test.patience)
        self.progress = Progress("progress", self, dut)
        fields = ("error_word_o", "error_response_o")
        self.errors = Pulses("errors", self, dut, "error_valid_o", fields)
        self.tells = Pulses("tells", self, dut, "chunk_read_o")
        self.scoreboard = Scoreboard("scoreboard", self)  # of all bursts
        self.ends = Scoreboard("ends", self)  # of errors, layers, chunks and memory
        bins = BINS | (SECOND_BINS if self.test.second else {})
        self.coverage = Coverage("coverage", self, "a3c.update", bins, enforce=False)
        Watcher("burst", self, self.port, self.burst)
        Watcher("given", self, self.turns, self.given)
        Watcher("told", self, self.progress, self.told)
        Watcher("error", self, self.errors, self.error)
        Watcher("chunk", self, self.tells, self.chunk_told)

    def connect_phase(self) -> None:
        """Connect the driver to its sequencer."""
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    # ---- A task's life

    def start_work(self, work: Work) -> None:
        """A task is given: what memory must hold after it."""
        self.work = work
        work.begun = clock_number()
        self.before = self.memory.dump(0, self.size)
        self.want = updated(self.before, [work.task], self.mine(work), work.image)[-1]
        self.bursts: list[AxiBurst] = []
        self.left = deque(work.chunks)
        self.layers = [c.layer for c in work.chunks if c.layer_last]
        self.failed: int | None = None  # clock from which nothing is begun
        self.found: list[tuple[int, int]] = []
        if work.fault:
            name, beat, response = work.fault
            at = getattr(work.task, name) + BEAT_BYTES * beat
            self.memory.fail(at, BEAT_BYTES, response, "source" in name, "target" in name)

    @staticmethod
    def mine(work: Work) -> list[Chunk]:
        """Its chunks, of a task that is alone."""
        return [replace(chunk, task=0) for chunk in work.chunks]

    def end_work(self, work: Work) -> None:
        """Finish: all is answered, told of and in memory."""
        monitor = self.port.monitor
        assert not monitor.reads and not monitor.writes, "finish before the last answer"
        assert not self.left, f"{len(self.left)} chunks were not told of"
        assert not self.layers, f"layers {self.layers} were not done"
        work.finished = clock_number()
        errors = [(WORDS[work.fault[0]], work.fault[2])] if work.fault else []
        self.ends.expect(errors)
        self.ends.observe(self.found)
        got = self.memory.dump(0, self.size)
        if work.bad:
            self.check_begun(got)
        else:
            self.ends.expect("")
            self.ends.observe(difference(got, self.want))
            beats = [
                sum(burst.beats for burst in self.bursts if burst.write == way)
                for way in (False, True)
            ]
            self.ends.expect([2 * work.rows, (2 + work.task.second) * work.rows])
            self.ends.observe(beats)
        self.memory.heal()
        self.coverage.sample(work)

    def check_begun(self, got: np.ndarray) -> None:
        """Memory is as it was, but for bursts that were begun: these are whole and right."""
        assert self.work
        want = self.before.copy()
        for burst in self.bursts:
            if not burst.write:
                continue
            for beat in range(burst.beats):
                at = burst.address + BEAT_BYTES * beat
                if self.memory.response(at, BEAT_BYTES, write=True) < 2:
                    want[at : at + BEAT_BYTES] = self.want[at : at + BEAT_BYTES]
        self.ends.expect("")
        self.ends.observe(difference(got, want))
        if self.failed is not None:
            late = [b for b in self.bursts if b.write and b.begun > self.failed + 1]
            assert len(late) <= LATE, f"{len(late)} bursts begin after a failure"
        fault = self.work.fault
        if fault and "source" in fault[0]:
            for name in ("target", "g_target"):
                at = getattr(self.work.task, name) + BEAT_BYTES * fault[1]
                for b in self.bursts:
                    assert not (b.write and b.address <= at < b.address + BEAT_BYTES * b.beats), (
                        f"{name}: a burst has what could not be read"
                    )

    def fail_now(self) -> None:
        """failed_i rises, until the task's finish."""
        dut, monitor = self.dut, self.port.monitor
        dut.failed_i.value = 1
        self.failed = clock_number()
        doing = (
            "waiting" if dut.order_valid_o.value else "writing" if monitor.writes
            else "reading" if monitor.reads else "idle"
        )  # fmt: skip
        self.coverage.sample(("failed", doing))

    # ---- What the monitors see

    def error(self, found: tuple[int, ...]) -> None:
        """A beat or a burst came back with an error."""
        self.found.append((found[0], found[1]))
        if self.failed is None:
            self.failed = clock_number()
        # The block holds back by itself; the unit's failed_i comes on top.
        if self.echo.random() < 0.5:
            self.dut.failed_i.value = 1

    def chunk_told(self, _: tuple[int, ...]) -> None:
        """A chunk was read: its rows may be overwritten."""
        assert self.left, "a chunk too many is told of"
        chunk = self.left.popleft()
        self.image[chunk.row : chunk.row + chunk.rows] ^= 0x5A5A_A5A5

    def given(self, turn: Turn) -> None:
        """Rows may be read."""
        assert self.work
        self.coverage.sample(turn)
        assert turn.ticket == self.work.task.ticket, "another ticket"
        assert any(
            (c.layer, c.offset + c.rows) == (turn.layer, turn.behind) for c in self.work.chunks
        ), f"{turn} is no chunk's"

    def told(self, told: Told) -> None:
        """Rows or a layer are written: they are in memory."""
        assert self.work
        self.coverage.sample(told)
        task = self.work.task
        first, behind = task.network.parameter_offsets[told.layer : told.layer + 2]
        if told.behind is None:
            assert self.layers, f"layer {told.layer} is done, none is left"
            assert told.layer == self.layers.pop(0), f"layer {told.layer} is done"
        else:
            assert first < told.behind <= behind, f"rows before {told.behind} are told of"
            behind = told.behind
        if self.work.bad:
            return
        places = [task.target, task.g_target]
        if task.second:
            places.append(task.target + task.second_bytes)
        for place in places:
            at, size = place + BEAT_BYTES * first, BEAT_BYTES * (behind - first)
            got = self.memory.dump(at, size)
            self.ends.expect("")
            self.ends.observe(difference(got, self.want[at : at + size]))

    def burst(self, burst: AxiBurst) -> None:
        """A burst ended: it is of the task, in its turn, and has the model's data."""
        work = self.work
        assert work
        self.bursts.append(burst)
        task, beats = work.task, work.task.network.parameter_beats
        names = ["target", "g_target"] if burst.write else ["source", "g_source"]
        places = [getattr(task, name) for name in names]
        if burst.write and task.second:
            places.append(task.target + task.second_bytes)
        rows = [(burst.address - place) // BEAT_BYTES for place in places]
        row = next((n for n in rows if 0 <= n < beats), None)
        assert row is not None, f"a burst at {burst.address:#x} is of nothing that the task names"
        assert row + burst.beats <= beats
        if burst.write:
            at = burst.address
            data = self.want[at : at + BEAT_BYTES * burst.beats]
            self.scoreboard.expect((at, data.tobytes()))
            got = b"".join(word.to_bytes(BEAT_BYTES, "little") for word in burst.data)
            self.scoreboard.observe((at, got))
            assert all(strobe == (1 << BEAT_BYTES) - 1 for strobe in burst.strobes)
            return
        offsets = task.network.parameter_offsets
        layer = max(n for n in range(len(offsets) - 1) if offsets[n] <= row)
        assert self.turns.begun(task.ticket, layer, row + burst.beats, burst.begun), (
            f"rows {row} to {row + burst.beats} of layer {layer} are read before their turn"
        )

    def forget(self) -> None:
        """A reset dropped everything."""
        self.work = None
        self.aborted = False


def difference(got: np.ndarray, want: np.ndarray) -> str:
    """Say where memory differs first; '' if nowhere."""
    words = np.flatnonzero(got.view(np.uint32) != want.view(np.uint32))
    return f"{words.size} words, the first at {4 * int(words[0]):#x}" if words.size else ""


class Works(uvm_sequence):
    """Gives tasks, one after the other."""

    def __init__(self, works: Sequence[Work]) -> None:
        super().__init__("works")
        self.works = works
        self.stopped = False

    async def body(self) -> None:
        """Send them."""
        for work in self.works:
            if not self.stopped:
                await send(self, work)


class UpdateTest(uvm_test):
    """Random tasks in a row.

    Attributes:
        timing: of the memory.
        busy: part of the clocks in which streams move.
        patience: clocks that a turn takes at most.
        batches: of three tasks, at full effort.
    """

    timing = AxiTiming(latency=(1, 40), busy=0.8)
    busy = 0.7
    patience = 40
    batches = 30

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.draw = rng("tasks")
        self.numbers = np.random.default_rng(self.draw.getrandbits(32))
        self.second = bool(parameters().get("Second"))
        self.env = Environment("env", self, self)

    async def run_phase(self) -> None:
        """Reset, then run the body."""
        self.raise_objection()
        self.dut.stop_i.value = 0
        await start(self.dut)
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """Batches with longer and longer chunks."""
        for number in range(scale(self.batches, 4)):
            networks = [small_network(self.numbers, TINY, 200) for _ in range(2)]
            most = (1, 8, 64, 200)[number % 4]
            await self.run(self.works(networks, 3 if most > 1 else 1, most))

    def works(
        self, networks: Sequence[Network], count: int, most: int = 100, apart: bool = False
    ) -> list[Work]:
        """Tasks of these networks, and their memory.

        Args:
            networks: small ones.
            count: of tasks.
            most: rows of a chunk.
            apart: no task uses what another one has, none is in place.
        """
        numbers = self.numbers
        slot = max(theta_slot(network) for network in networks) * (1 + self.second)
        places = 4 * count if apart else 6
        tasks = []
        for n in range(count):
            theta, g = numbers.permutation(3)[:2], 3 + numbers.permutation(3)[:2]
            if apart:
                theta, g = 4 * n + np.arange(2), 4 * n + 2 + np.arange(2)
            elif numbers.random() < 0.3:
                theta, g = theta[[0, 0]], g[[0, 0]]
            at = [SLOT_BYTES + int(k) * slot for k in (*theta, *g)]
            settings = HyperParameters.make(float(numbers.random()) * 0.1, 0.99, 0.01).encode()
            network = networks[int(numbers.integers(len(networks)))]
            tasks.append(UnitTask(
                network, True, 1, ticket=int(numbers.integers(1 << 32)),
                source=at[0], target=at[1], g_source=at[2], g_target=at[3],
                settings=tuple(int(word) for word in settings),
                second=self.second and bool(numbers.integers(2)),
            ))  # fmt: skip
        env = self.env
        env.size = SLOT_BYTES + places * slot
        env.memory.load(0, draw(numbers, env.size // 4, special=0.02))
        chunks = random_chunks(numbers, tasks, most, shuffled=bool(numbers.integers(2)))
        image = draw(numbers, chunks[-1].row + chunks[-1].rows, ROW_WORDS, special=0.02)
        env.image = image.view(np.uint32).copy()
        return [
            Work(task, [c for c in chunks if c.task == n], image.view(np.uint32))
            for n, task in enumerate(tasks)
        ]

    async def run(self, works: Sequence[Work]) -> None:
        """Do them all."""
        _, running = self.begin(works)
        for one in running:
            await one
        for _ in range(SPARE):
            await RisingEdge(self.dut.clk_i)
        assert int(self.dut.idle_o.value), "not idle after the last task"

    def begin(self, works: Sequence[Work]) -> tuple[tuple[Any, Any], list[Any]]:
        """Start them and their chunks; the next task's may wait already."""
        names = [name for name in CHUNK if name != "task"]
        words = [
            StreamItem(data=pack(CHUNK, {name: int(getattr(chunk, name)) for name in names}))
            for work in works
            for chunk in work.chunks
        ]
        sequences = Works(works), StreamSequence(words)
        return sequences, [
            cocotb.start_soon(sequences[0].start(self.env.sequencer)),
            cocotb.start_soon(sequences[1].start(self.env.chunks.sequencer)),
        ]


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Random(UpdateTest):
    """Random tasks, pauses everywhere."""


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class BackPressure(UpdateTest):
    """A slow memory, and nobody in a hurry."""

    timing = AxiTiming(latency=(60, 150), busy=0.3, longest=12)
    busy = 0.2
    patience = 400
    batches = 12


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Rate(UpdateTest):
    """Rows follow each other as memory or units allow, in bursts up to the ends of pages."""

    timing = FAST
    busy = 1.0
    patience = 0

    async def body(self) -> None:
        """One task."""
        works = self.works([Network((fc(48, 128),))], 1, 400)
        await self.run(works)
        work = works[0]
        clocks = max(2, 16 // parameters()["Units"])
        span = work.finished - work.begun
        assert clocks * work.rows < span < clocks * work.rows + 600, f"{span} clocks"
        cuts = np.union1d([c.offset for c in work.chunks], np.arange(0, work.rows, PIECE))
        pieces = sorted(np.diff(np.append(cuts, work.rows)).tolist() * 2)
        for way, most in ((False, 2), (True, 2 + work.task.second)):
            got = sorted(burst.beats for burst in self.env.bursts if burst.write == way)
            assert got == sorted(pieces + pieces[::2] * (most - 2)), "bursts are no whole pieces"


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class BusError(UpdateTest):
    """After an error of any kind nothing of the task is written; the next one is whole."""

    async def body(self) -> None:
        """Each address with each response, at any beat."""
        for number in range(scale(80, 8)):
            networks = [small_network(self.numbers, TINY, 120)]
            works = self.works(networks, 2, self.draw.choice((20, 200)), apart=True)
            name, response = list(WORDS)[number % 4], 2 + number // 4 % 2
            beat = self.draw.randrange(networks[0].parameter_beats)
            works[0].fault = name, beat, response
            await self.run(works)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class Failed(UpdateTest):
    """While the task has failed nothing is written, but all goes on; the next one is whole."""

    timing = AxiTiming(latency=(5, 5), busy=0.7)
    busy = 0.9

    async def body(self) -> None:
        """From the first chunk to the last answer, also while a layer's turn is awaited."""
        network = Network((fc(16, 16), fc(16, 16), fc(16, 16)))
        for fails in range(1, 400, 2 if effort() >= 1 else 32):
            works = self.works([network], 2, self.draw.choice((6, 6, 20)), apart=True)
            works[0].fails = fails
            await self.run(works)


@pyuvm.test(timeout_time=20, timeout_unit="ms")
class ResetMidway(UpdateTest):
    """After a stop no burst begins and all end; a reset, after it or at once, leaves nothing."""

    async def body(self) -> None:
        """Reset a few times in the middle; the tasks after it are right."""
        env, dut = self.env, self.dut
        for number in range(scale(60, 6)):
            stopped = number % 2 == 0
            networks = [small_network(self.numbers, TINY, 200)]
            sequences, running = self.begin(self.works(networks, 2, 60, apart=True))
            for _ in range(self.draw.randint(1, self.draw.choice((80, 2000)))):
                await RisingEdge(dut.clk_i)
            for sequence in sequences:
                sequence.stopped = True
            if stopped:
                await self.stop()
            env.aborted = True
            await reset(dut)
            for one in running:
                await one
            dut.stop_i.value = 0
            env.forget()
            env.coverage.sample(("reset", "after a stop" if stopped else "at once"))
            await self.run(self.works([small_network(self.numbers, TINY, 60)], 1))

    async def stop(self) -> None:
        """Stop; what begins after it was given before, and all ends."""
        env, dut = self.env, self.dut
        dut.stop_i.value = 1
        since, quiet = clock_number(), 0
        monitor = env.port.monitor
        for _ in range(LIMIT):
            await RisingEdge(dut.clk_i)
            busy = monitor.reads or monitor.writes or not int(dut.idle_o.value)
            quiet = 0 if busy else quiet + 1
            if quiet == QUIET:
                break
        assert quiet == QUIET, "not idle after a stop"
        if env.work is None:
            return
        for way in (False, True):
            late = [b for b in env.bursts if b.write == way and b.begun > since + 1]
            assert len(late) <= LATE, f"{len(late)} bursts begin after a stop"
        if not env.work.finished:
            env.check_begun(env.memory.dump(0, env.size))
