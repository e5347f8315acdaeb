"""Tests of jd_a3c_tasks: three rings of jobs, units and copy engines that the bench plays.

Each task that is given away, each copy and each end is compared with what the golden model says of
its job. Beside that hold: who may have a task, how many, when a layer's turn has come, when a copy
or a network may begin.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import Any

import cocotb
import numpy as np
import pyuvm
from cocotb.triggers import RisingEdge
from pyuvm import uvm_component, uvm_env, uvm_sequence, uvm_test

from flow.effort import scale
from models.a3c.descriptor import (
    FLAG_ORDERED,
    FLAGS,
    INF,
    NET_LOAD,
    SYNC,
    TRAIN,
    Task,
    Window,
    extents,
)
from models.a3c.network import BEAT_BYTES, NET_T, SLOT_BYTES, SMALL, Network
from models.a3c.rmsprop import HyperParameters
from models.a3c.validate import NetworkError, validate
from models.registers.a3c import Error
from verif.a3c.agents import Watcher
from verif.a3c.memory import TASK
from verif.a3c.network import LAYER, layer_fields, split
from verif.a3c.task import Case, twisted
from verif.agents.axi_memory import AxiBus, AxiMemoryAgent, AxiTiming, DeviceMemory
from verif.agents.stream import StreamAgent, StreamBus, StreamItem, StreamSequence, send
from verif.agents.timing import random_pauses
from verif.bench import parameters, rng, start, until
from verif.coverage import Coverage
from verif.scoreboard import Scoreboard

UNITS, COPIES, JOBS = 2, 1, 8
RING_INF, RING_TRN, RING_ADM = RINGS = range(3)
WINDOW = Window(0, 1 << 41)
SPARE = 2  # the slot that is loaded while others run; tasks name the slots before it
WORD_OBJECTIVE = 12
# What is wrong with the hyper-parameters of trainings: a word, or the answer to their read.
SETTINGS = (
    None, (3, 0xBF80_0000), None, 3, None, (0, 0x7F80_0000), None, (3, 0), None, 2, None,
    (2, 0x7FC0_0000), None, (3, 0x8000_0000), None, (1, 0xFF80_0000),
)  # fmt: skip
LEAST = 10  # jobs of a ring, whatever the effort
LIMIT = 20_000  # clocks that any wait may take
END_FIELDS = ("job", "error", "detail", "count", "info0", "info1")
BINS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "ends": {
        name: partial(operator.eq, ("end", name))
        for name in (
            "inference", "training", "copy", "network", "refused", "bad network",
            "bad settings", "settings unread", "inference failed", "training failed",
            "copy failed",
        )
    },
    "order": {
        name: partial(operator.eq, ("order", name))
        for name in ("at once", "waits", "by rows", "copy waits")
    },
    "queue": {str(n): partial(operator.eq, ("queue", n)) for n in (0, 1)},
}  # fmt: skip


@dataclass
class Job:
    """A job and what the golden model says of it.

    Attributes:
        ring, number: where it came from.
        words: the descriptor, [32] uint32.
        refused: error, info0, info1 of the check, the network or the hyper-parameters.
        checked: the check let it pass: what is wrong comes after it.
        settings: hyper-parameters, of a TRAIN.
        worker: who has it.
        fault: error, word, response that the worker ends it with.
        ticket: its place in the order, once known.
        ended_before: tickets that had ended when the copy began.
    """

    ring: int
    number: int
    words: np.ndarray
    refused: tuple[int, int, int] = (0, 0, 0)
    checked: bool = True
    settings: int = 0
    worker: int | None = None
    fault: tuple[int, int, int] = (0, 0, 0)
    ticket: int = 0
    ended_before: frozenset[int] = frozenset()
    task: Task = field(init=False)

    def __post_init__(self) -> None:
        self.task = Task.decode(self.words)

    @property
    def takes_ticket(self) -> bool:
        """It takes a ticket."""
        ordered = self.task.opcode == SYNC and bool(self.task.flags & FLAG_ORDERED)
        return self.checked and (self.ring == RING_TRN or ordered)

    @property
    def kind(self) -> str:
        """How it ends, for coverage."""
        names = {INF: "inference", TRAIN: "training", SYNC: "copy", NET_LOAD: "network"}
        name = names.get(self.task.opcode, "")
        if self.fault[0]:
            return f"{name} failed"
        if not self.refused[0]:
            return name
        if not self.checked:
            return "refused"
        if self.ring == RING_ADM:
            return "bad network"
        return "bad settings" if self.refused[0] == Error.E_HPARAM else "settings unread"

    def end(self) -> tuple[int, ...]:
        """The end that must come, as END_FIELDS."""
        error, info0, info1 = self.refused if self.refused[0] else self.fault
        worker = self.worker or 0
        unit = worker if worker < UNITS else 2 * (worker - UNITS) + 1
        samples = len(self.task.maps) if not error or self.ticket else 0
        detail = (0 if error else unit) | samples << 4
        told = (info0 & 0xFF, info1 & 0xFFFF) if error else (0, 0)
        return self.number, error, detail, self.ticket, *told


class Unit(uvm_component):
    """Plays a compute unit: looks layers up, waits for its turn, ends tasks well or badly."""

    def __init__(self, name: str, parent: uvm_component, env: Environment, number: int) -> None:
        super().__init__(name, parent)
        self.env, self.number = env, number
        self.dut = cocotb.top
        self.draw = rng(f"unit{number}")
        self.queue: deque[tuple[Job, dict[str, int]]] = deque()
        for pin in ("lookup_valid", "order_valid", "layer_done", "written"):
            self.pin(pin).value = 0

    def pin(self, name: str) -> Any:
        """An input of the block."""
        return getattr(self.dut, f"{name}_i")[self.number]

    async def clocks(self, count: int) -> None:
        """Let some clocks pass."""
        for _ in range(count):
            await RisingEdge(self.dut.clk_i)

    async def run_phase(self) -> None:
        """Do one task after the other."""
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.env.stopped:
                self.queue.clear()
            if not self.queue or self.env.held:
                continue
            job, fields = self.queue[0]
            try:
                await self.work(job, fields)
            except StoppedError:
                for pin in ("lookup_valid", "order_valid", "layer_done", "written"):
                    self.pin(pin).value = 0
                continue
            await self.env.finish(self.number, job)
            if self.queue:
                self.queue.popleft()

    async def work(self, job: Job, fields: dict[str, int]) -> None:
        """One task."""
        await self.clocks(self.draw.randint(0, self.draw.choice((10, 300))))
        network = self.env.networks[fields["slot"]]
        assert network is not None
        await self.look_up(fields["slot"], self.draw.randrange(len(network.layers)), network)
        bad = self.draw.random() < 0.15
        if bad:
            job.fault = (int(Error.E_BUS_RD), self.draw.randrange(2, 32), self.draw.choice((2, 3)))
        last = self.draw.randrange(len(network.layers)) if bad else 0
        if job.ring == RING_TRN:
            for layer in range(len(network.layers) - 1, last - 1, -1):
                await self.update(job.ticket, layer, complete=layer > last or not bad)
        self.pin("order_valid").value = 0

    async def look_up(self, slot: int, layer: int, network: Network) -> None:
        """Ask for a layer; compare the answer."""
        self.pin("lookup_slot").value, self.pin("lookup_layer").value = slot, layer
        self.pin("lookup_valid").value = 1
        await self.wait("lookup", lambda: int(self.dut.lookup_ready_o[self.number].value))
        self.pin("lookup_valid").value = 0
        await self.wait("layer", lambda: int(self.dut.found_valid_o[self.number].value))
        got = split(LAYER, int(self.dut.found_data_o[self.number].value))
        want = {name: 0 for name in LAYER} | layer_fields(network, layer, SMALL)
        self.env.scoreboard.expect(want)
        self.env.scoreboard.observe(got)

    async def update(self, ticket: int, layer: int, complete: bool) -> None:
        """Rows of a layer in a few steps, each in its turn."""
        steps = sorted(self.draw.sample(range(1, 1 << 16), self.draw.randint(1, 3)))
        for behind in steps:
            self.pin("order_ticket").value, self.pin("order_layer").value = ticket, layer
            self.pin("order_behind").value, self.pin("order_valid").value = behind, 1
            await self.clocks(2)
            waited = await self.wait(
                "turn", lambda: int(self.dut.order_go_o[self.number].value)
            )  # fmt: skip
            by_rows = self.env.check_order(ticket, layer, behind)
            self.env.cover("order", "by rows" if by_rows else "waits" if waited else "at once")
            await self.clocks(self.draw.randint(0, 100))
            if behind != steps[-1] or self.draw.random() < 0.5:
                self.env.written[ticket] = (layer, behind)
                self.pin("written").value = 1 << 29 | layer << 26 | behind
                await self.clocks(self.draw.randint(1, 100))
        if complete:
            self.env.through[ticket] = layer
            self.pin("layer_done").value, self.pin("layer_done_layer").value = 1, layer
        self.pin("written").value = 0
        await self.clocks(1)
        self.pin("layer_done").value = 0

    async def wait(self, what: str, condition: Any) -> int:
        """Wait for an edge before which a condition holds; returns the clocks before it."""
        for count in range(LIMIT):
            await RisingEdge(self.dut.clk_i)
            if self.env.stopped:
                raise StoppedError
            if condition():
                return count
        raise TimeoutError(f"unit {self.number}: no {what} within {LIMIT} clocks")


class StoppedError(Exception):
    """The engine is stopped: a unit drops what it has."""


class Environment(uvm_env):
    """Agents of all streams, the units, the model, scoreboard and coverage."""

    def __init__(self, name: str, parent: uvm_component, test: TasksTest) -> None:
        super().__init__(name, parent)
        self.test = test
        self.dut = cocotb.top
        self.draw = rng("jobs")
        self.numbers = np.random.default_rng(self.draw.getrandbits(32))
        self.networks: list[Network | None] = [None] * parameters()["Slots"]
        self.at = SLOT_BYTES
        self.sent: list[deque[Job]] = [deque() for _ in RINGS]
        self.waiting: list[deque[Job]] = [deque() for _ in RINGS]
        self.live: list[dict[int, Job]] = [{} for _ in RINGS]
        self.count = [0] * 3
        self.stopped = self.held = self.dead = False
        self.faults = cycle(SETTINGS)
        self.forget_tickets(1)

    def forget_tickets(self, first: int | None) -> None:
        """No ticket is out; the next one is known or is not."""
        self.first = first
        self.ended: set[int] = set()
        self.through: dict[int, int] = {}
        self.written: dict[int, tuple[int, int]] = {}
        self.newest = 0 if first is None else first - 1
        self.newest_of = [0] * 3

    def build_phase(self) -> None:
        """Make the parts."""
        dut, busy = self.dut, self.test.busy

        def pauses(what: str) -> Any:
            return random_pauses(rng(what), busy, 6)

        self.memory = DeviceMemory()
        self.port = AxiMemoryAgent("port", self, AxiBus(dut), self.memory, self.test.timing)
        self.jobs = [
            StreamAgent(f"jobs{r}", self, StreamBus(dut, "job", ("descriptor", "number"), r),
                        "source", pauses(f"job{r}"))
            for r in RINGS
        ]  # fmt: skip
        self.ends = [
            StreamAgent(f"ends{r}", self, StreamBus(dut, "end", END_FIELDS, r), "sink",
                        pauses(f"end{r}"))
            for r in RINGS
        ]  # fmt: skip
        self.tasks = [
            StreamAgent(f"tasks{u}", self, StreamBus(dut, "task", index=u), "sink",
                        pauses(f"task{u}"))
            for u in range(UNITS)
        ]  # fmt: skip
        self.copy = StreamAgent(
            "copy", self, StreamBus(dut, "copy", index=0), "sink", pauses("copy")
        )
        self.worker_ends = [
            StreamAgent(f"worker{w}", self, StreamBus(dut, "worker_end", index=w), "source")
            for w in range(UNITS + COPIES)
        ]
        self.units = [Unit(f"unit{u}", self, self, u) for u in range(UNITS)]
        self.copying: deque[Job] = deque()
        self.scoreboard = Scoreboard("scoreboard", self, least=10)
        self.coverage = Coverage("coverage", self, "a3c.tasks", BINS, enforce=False)
        for r in RINGS:
            Watcher(f"taken{r}", self, self.jobs[r], lambda item, r=r: self.taken(r))
            Watcher(f"ended{r}", self, self.ends[r], lambda item, r=r: self.over(r, item))
        for u in range(UNITS):
            Watcher(f"given{u}", self, self.tasks[u], lambda item, u=u: self.given(u, item))
        Watcher("copied", self, self.copy, self.copied)

    async def run_phase(self) -> None:
        """Watch the rules that hold in every clock, and play the copy engine."""
        cocotb.start_soon(self.copies())
        while True:
            await RisingEdge(self.dut.clk_i)
            self.see_ends()
            loads = [j for j in self.live[RING_ADM].values() if j.task.opcode == NET_LOAD]
            if loads and int(self.dut.m_axi_arvalid_o.value):
                address = int(self.dut.m_axi_araddr_o.value)
                if any(address == job.task.theta for job in loads):
                    assert not self.busy, "a network is read while a task runs"

    @property
    def busy(self) -> bool:
        """Some worker has a task."""
        return bool(self.copying or any(unit.queue for unit in self.units))

    def cover(self, *what: object) -> None:
        """Count a bin."""
        self.coverage.sample(what)

    # ---- Jobs

    def draw_job(self, ring: int, number: int, opcode: int | None = None, slot: int | None = None,
                 good: bool = False) -> Job:  # fmt: skip
        """A job of a ring, good or bad, with all that it names in memory."""
        draw = self.draw
        if opcode is None:
            opcode = (INF, TRAIN, NET_LOAD if number % 4 == 3 else SYNC)[ring]
        if slot is None:
            slot = SPARE if opcode == NET_LOAD else draw.randrange(SPARE)
        samples = draw.randint(1, 8) if opcode in (INF, TRAIN) else 0
        flags = draw.getrandbits(8) & FLAGS[opcode]
        task = Task(opcode, draw.getrandbits(32), flags, slot, maps=(0,) * samples)
        words = task.encode()
        for extent in extents(task, NET_T):
            words[extent.word : extent.word + 2] = self.at & 0xFFFF_FFFF, self.at >> 32
            self.at += -(-extent.size // SLOT_BYTES) * SLOT_BYTES
        if not good and draw.random() < 0.2:
            case = twisted(self.numbers, SMALL, [NET_T] * 4, self.case(words, ring))
            found = Task.decode(case.words)
            same = found.opcode == NET_LOAD or found.network != SPARE
            if same and (refused := self.case(case.words, ring).want(SMALL, self.networks))[0]:
                return Job(ring, number, case.words, refused, checked=False)
        job = Job(ring, number, words)
        if opcode == NET_LOAD:
            job.refused = self.store_network(job.task.theta, good)
        elif opcode == TRAIN:
            job.refused = self.store_settings(job, good)
        return job

    def case(self, words: np.ndarray, ring: int) -> Case:
        """A descriptor as the check sees it."""
        roles = 0
        for role in self.test.roles:
            roles |= role
        return Case(words, ring, WINDOW, roles)

    def store_network(self, address: int, good: bool) -> tuple[int, int, int]:
        """Put a network's descriptor into memory, often a bad one; returns what is said of it."""
        words = np.zeros(3 * BEAT_BYTES // 4, np.uint32)
        encoded = NET_T.encode()
        words[: encoded.size] = encoded
        if not good and self.draw.random() < 0.5:
            words[self.draw.randrange(encoded.size)] ^= np.uint32(1 << self.draw.randrange(32))
        self.memory.load(address, words)
        try:
            validate(words, SMALL)
        except NetworkError as error:
            return int(error.code), error.layer, 4
        return 0, 0, 0

    def store_settings(self, job: Job, good: bool) -> tuple[int, int, int]:
        """Put hyper-parameters into memory, sometimes bad ones, or let their read fail."""
        words = HyperParameters.make(self.draw.random()).encode().astype(np.uint32)
        refused = (0, 0, 0)
        fault = None if good else next(self.faults)
        if isinstance(fault, tuple):
            words[fault[0]] = fault[1]
            refused = (int(Error.E_HPARAM), WORD_OBJECTIVE, 0)
        elif fault:
            self.memory.fail(job.task.objective, BEAT_BYTES, fault)
            refused = (int(Error.E_BUS_RD), WORD_OBJECTIVE, fault)
        self.memory.load(job.task.objective, words)
        job.settings = int.from_bytes(words.astype("<u4").tobytes(), "little")
        return refused

    def taken(self, ring: int) -> None:
        """A job left its ring."""
        job = self.sent[ring].popleft()
        assert job.number not in self.live[ring]
        self.live[ring][job.number] = job
        if not job.refused[0] and job.task.opcode != NET_LOAD:
            self.waiting[ring].append(job)

    # ---- Workers

    def given(self, unit: int, item: StreamItem) -> None:
        """A unit took a task: the oldest of its ring, by one that may have it."""
        got = split(TASK, item.data)
        ring = RING_TRN if got["train"] else RING_INF
        job = self.waiting[ring].popleft()
        task = job.task
        assert self.test.roles[unit] >> ring & 1, f"unit {unit} has not the role of ring {ring}"
        assert len(self.units[unit].queue) < 2, f"unit {unit} has two tasks"
        want = {name: 0 for name in TASK} | {
            "train": got["train"], "save": task.flags & 1, "slot": task.network,
            "layers": len(NET_T.layers), "samples": len(task.maps), "ticket": got["ticket"],
            "theta": task.theta, "source": task.source, "target": task.target,
            "g_source": task.g_source, "g_target": task.g_target, "objective": task.objective,
            "maps": sum(place << 40 * n for n, place in enumerate(task.maps)),
            "settings": job.settings,
        }  # fmt: skip
        self.scoreboard.expect(want)
        self.scoreboard.observe(got)
        if ring == RING_TRN:
            self.ticket_of(job, got["ticket"])
        else:
            assert got["ticket"] == 0
        job.worker = unit
        self.cover("queue", len(self.units[unit].queue))
        self.units[unit].queue.append((job, got))

    def copied(self, item: StreamItem) -> None:
        """The copy engine took a copy."""
        job = self.waiting[RING_ADM].popleft()
        place = item.data
        got = (place >> 66, place >> 26 & (1 << 40) - 1, place & (1 << 26) - 1)
        want = (job.task.source, job.task.target, NET_T.parameter_bytes // BEAT_BYTES)
        self.scoreboard.expect(want)
        self.scoreboard.observe(got)
        self.see_ends()
        job.worker, job.ended_before = UNITS, frozenset(self.ended)
        assert not self.copying, "the copy engine has a task"
        self.copying.append(job)

    async def copies(self) -> None:
        """Copies end after some clocks, well or badly."""
        draw = rng("copies")
        while True:
            await RisingEdge(self.dut.clk_i)
            if not self.copying:
                continue
            for _ in range(draw.randint(0, 60)):
                await RisingEdge(self.dut.clk_i)
            if self.stopped:
                self.copying.clear()
                continue
            job = self.copying[0]
            if draw.random() < 0.2:
                job.fault = (int(Error.E_BUS_WR), 6, draw.choice((2, 3)))
            await self.finish(UNITS, job)
            if self.copying:
                self.copying.popleft()

    async def finish(self, worker: int, job: Job) -> None:
        """Tell the block how a worker's oldest task ended."""
        error, word, response = job.fault
        item = StreamItem(data=error << 7 | word << 2 | response)
        await StreamSequence([item]).start(self.worker_ends[worker].sequencer)

    # ---- Tickets

    def ticket_of(self, job: Job, ticket: int) -> None:
        """A job's ticket becomes known: later than those of its ring before it."""
        assert ticket > self.newest_of[job.ring], f"{job}: ticket {ticket} is not the ring's next"
        assert ticket not in self.through, f"ticket {ticket} is there twice"
        self.newest_of[job.ring] = ticket
        self.newest = max(self.newest, ticket)
        self.through[ticket] = len(NET_T.layers)
        job.ticket = ticket
        if self.first is None:
            self.first = ticket

    def see_ends(self) -> None:
        """Note tickets of ends that are offered."""
        for r in RINGS:
            if int(self.dut.end_valid_o[r].value):
                self.ended.add(int(self.dut.end_count_o[r].value))

    def check_order(self, ticket: int, layer: int, behind: int) -> bool:
        """Rows were given free: every earlier ticket is through; returns whether by its rows."""
        self.see_ends()
        rows = False
        for earlier in range(self.first or ticket, ticket):
            if earlier in self.ended or self.through.get(earlier, LIMIT) <= layer:
                continue
            at, to = self.written.get(earlier, (-1, 0))
            assert at == layer and to >= behind, (
                f"ticket {ticket} may read layer {layer} to {behind} before {earlier}, which is at "
                f"{at}, {to}"
            )
            rows = True
        return rows

    # ---- Ends

    def over(self, ring: int, item: StreamItem) -> None:
        """A job ended."""
        got = tuple(item.fields[name] for name in END_FIELDS)
        job = self.live[ring].pop(item.job)
        if self.dead and item.error == Error.E_TIMEOUT:
            want: tuple[int, ...] = (job.number, int(Error.E_TIMEOUT), 0, 0, 0, 0)
        else:
            if job.takes_ticket and not job.ticket:
                self.ticket_of(job, item.count)
            want = job.end()
            if not item.error:
                got = (*got[:4], 0, 0)
            self.cover("end", job.kind)
        self.scoreboard.expect(want)
        self.scoreboard.observe(got)
        if job.ring == RING_ADM and job.ticket and job.worker is not None:
            before = range(self.first or job.ticket, job.ticket)
            left = [t for t in before if t not in job.ended_before]
            assert not left, f"copy {job.ticket} began before the ends of {left}"
            self.cover("order", "copy waits")
        if job.task.opcode == NET_LOAD and not item.error:
            self.networks[job.task.network] = NET_T

    async def drain(self) -> None:
        """Wait until every job has ended."""
        clock = self.dut.clk_i
        await until("ends", clock, LIMIT, lambda: not any((*self.live, *self.sent)))
        assert not any(self.waiting) and not self.busy

    def check_phase(self) -> None:
        """All tickets were seen."""
        if self.first == 1:
            assert set(self.through) == set(range(1, self.newest + 1)), "a ticket was lost"


class Jobs(uvm_sequence):
    """Jobs of a ring, as many as it may have at once.

    Args:
        env: whose streams.
        ring: which.
        count: how many.
        settings: of Environment.draw_job.
    """

    def __init__(self, env: Environment, ring: int, count: int, **settings: Any) -> None:
        super().__init__(f"jobs{ring}")
        self.env, self.ring, self.jobs, self.settings = env, ring, count, settings
        self.stopped = False

    async def body(self) -> None:
        """Send them."""
        env, ring = self.env, self.ring
        for _ in range(self.jobs):
            number = env.count[ring] % JOBS
            await until("room", env.dut.clk_i, LIMIT, lambda n=number: n not in env.live[ring])
            if self.stopped:
                return
            env.count[ring] += 1
            job = env.draw_job(ring, number, **self.settings)
            env.sent[ring].append(job)
            descriptor = int.from_bytes(job.words.astype("<u4").tobytes(), "little")
            await send(self, StreamItem(descriptor=descriptor, number=number))


class TasksTest(uvm_test):
    """Jobs of all rings at once.

    Attributes:
        timing: of the memory.
        busy: part of the clocks in which streams move.
        roles: of the units: 1 inference, 2 training.
        jobs: of each ring, at full effort.
    """

    timing = AxiTiming(latency=(1, 40), busy=0.7)
    busy = 0.7
    roles = (3, 3)
    jobs = 200

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.env = Environment("env", self, self)

    async def run_phase(self) -> None:
        """Load two networks, then run the body."""
        self.raise_objection()
        dut = self.dut
        for name in ("stop_i", "clear_i", "timeout_i"):
            getattr(dut, name).value = 0
        dut.limit_i.value = WINDOW.limit
        dut.roles_i.value = sum(role << 2 * u for u, role in enumerate(self.roles))
        await start(dut)
        for slot in range(SPARE):
            await self.run(Jobs(self.env, RING_ADM, 1, opcode=NET_LOAD, slot=slot, good=True))
            await self.env.drain()
        await self.body()
        self.drop_objection()

    async def run(self, *sequences: Jobs) -> None:
        """Run sequences beside each other."""
        running = [
            cocotb.start_soon(one.start(self.env.jobs[one.ring].sequencer)) for one in sequences
        ]
        for one in running:
            await one

    def everything(self) -> list[Jobs]:
        """Jobs for all rings."""
        return [Jobs(self.env, ring, max(LEAST, scale(self.jobs))) for ring in RINGS]

    async def body(self) -> None:
        """Everything at once."""
        await self.run(*self.everything())
        await self.env.drain()

    async def hold(self, ring: int, count: int) -> list[list[int]]:
        """Send tasks to units that end none until all have left their ring, then let them end.

        Returns: how many tasks each unit had, clock by clock until then.
        """
        env = self.env
        env.held = True
        running = cocotb.start_soon(self.run(Jobs(env, ring, count, good=True)))
        lengths: list[list[int]] = []
        late = 0  # clocks since all left their ring
        while late < 300:
            await RisingEdge(self.dut.clk_i)
            late += len(env.live[ring]) == count
            lengths.append([len(unit.queue) for unit in env.units])
        env.held = False
        await running
        await env.drain()
        return lengths

    async def clear(self) -> None:
        """Stop and clear: what was taken is forgotten, after a strike of the watchdog it ends."""
        env, dut = self.env, self.dut
        dut.stop_i.value = 1
        env.stopped = True
        quiet = 0
        for _ in range(LIMIT):
            await RisingEdge(dut.clk_i)
            offers = any(int(dut.task_valid_o[u].value) for u in range(UNITS))
            offers = offers or bool(int(dut.copy_valid_o[0].value)) or env.busy
            offers = offers or any(int(pin.value) for pin in dut.worker_end_valid_i)
            quiet = 0 if offers or not int(dut.idle_o.value) else quiet + 1
            if quiet == 4:
                break
        assert quiet == 4, "not idle after a stop"
        dut.clear_i.value = 1
        await RisingEdge(dut.clk_i)
        if env.dead:
            await until("alive", dut.clk_i, LIMIT, lambda: not int(dut.dead_o.value))
            assert not any(env.live), "a job did not end"
        dut.clear_i.value = 0
        for held in (*env.live, *env.waiting):
            held.clear()
        env.forget_tickets(None)
        await RisingEdge(dut.clk_i)
        dut.stop_i.value = 0
        env.stopped = env.dead = False


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Random(TasksTest):
    """Good and bad jobs of all rings, pauses everywhere."""


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Tickets(TasksTest):
    """Trainings without a pause, and copies between them: who comes later waits, row by row."""

    jobs = 100

    async def body(self) -> None:
        """Only jobs that are right."""
        trainings = max(LEAST, scale(self.jobs))
        copies = Jobs(self.env, RING_ADM, trainings // 3, opcode=SYNC, good=True)
        await self.run(Jobs(self.env, RING_TRN, trainings, good=True), copies)
        await self.env.drain()


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class BackPressure(TasksTest):
    """A slow memory, and nobody in a hurry."""

    timing = AxiTiming(latency=(100, 140), busy=0.4, longest=10)
    busy = 0.2
    jobs = 100


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Roles(TasksTest):
    """One unit for inferences, the other one for trainings."""

    roles = (1, 2)
    jobs = 100

    async def body(self) -> None:
        """A third task of a role waits though the other unit has none; then everything."""
        for ring, want in ((RING_INF, [2, 0]), (RING_TRN, [0, 2])):
            lengths = (await self.hold(ring, 3))[-1]
            assert lengths == want, f"ring {ring}: tasks of the units: {lengths}, want {want}"
        await super().body()


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Balance(TasksTest):
    """Units that end nothing get two tasks each, in turn; a third one waits."""

    async def body(self) -> None:
        """Five inferences for four places, then all end."""
        for lengths in await self.hold(RING_INF, 5):
            assert max(lengths) - min(lengths) <= 1, f"tasks of the units: {lengths}"
        assert lengths == [2, 2]


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class ResetMidway(TasksTest):
    """Stopped and cleared at any time; later jobs are as if nothing had been."""

    jobs = 100

    async def body(self) -> None:
        """Clear a few times in the middle."""
        for _ in range(scale(20)):
            sequences = self.everything()
            running = cocotb.start_soon(self.run(*sequences))
            for _ in range(self.env.draw.randint(50, 900)):
                await RisingEdge(self.dut.clk_i)
            for one in sequences:
                one.stopped = True
            await self.clear()
            await running
            await self.env.drain()
        await super().body()


@pyuvm.test(timeout_time=4, timeout_unit="ms")
class Watchdog(TasksTest):
    """It strikes: every job that is out ends with E_TIMEOUT; jobs that come later are done."""

    jobs = 100

    async def body(self) -> None:
        """Strike a few times."""
        env, dut = self.env, self.dut
        for round_ in range(scale(20)):
            sequences = self.everything()
            running = cocotb.start_soon(self.run(*sequences))
            for _ in range(env.draw.randint(50, 900)):
                await RisingEdge(dut.clk_i)
            env.dead = env.stopped = True
            dut.timeout_i.value = 1 << round_ % 3
            await RisingEdge(dut.clk_i)
            dut.timeout_i.value, dut.stop_i.value = 0, 1  # the engine stops with dead_o
            await until("dead", dut.clk_i, 4, lambda: int(dut.dead_o.value))
            for _ in range(env.draw.randint(20, 200)):
                await RisingEdge(dut.clk_i)
            for one in sequences:
                one.stopped = True
            await self.clear()
            await running
            await env.drain()
        await super().body()
