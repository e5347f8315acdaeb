"""The a3c engine's benchmark: the golden model, stages, tasks, traffic, inferences a second.

The host is modelled in clocks: an agent's environment takes 0.5 ms a step, and every task that it
queues 30 microseconds; agents do not wait for each other. An agent's routine is five inferences, a
sixth one for the bootstrap, and a training, for which it waits before the next routine. With ZERO
it goes on with the newest complete parameters, with COPY it copies the shared ones first. All that
the agents compute is real: the simulated hardware's arithmetic is on, only gradients are made up.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.base import IMAGES, Benchmark, Row, row
from flow import results
from jackdaw.agents.a3c import initial_parameters
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.device.sim import SimDevice
from jackdaw.drivers.a3c import A3C, Future, Net
from jackdaw.errors import DeviceTimeout
from models.a3c import timing, traffic
from models.a3c.network import CONV, FULL, NET_A, NET_S, NET_T, Geometry, Network
from models.a3c.planner import plan
from models.a3c.rmsprop import HyperParameters
from models.a3c.torch_ref import TorchNetwork
from models.registers import directory
from verif.a3c.unit import PRESETS, Case, Unit, stage_model, unit_parameters

CLOCK_HZ = 180_000_000
STEP_CLOCKS = CLOCK_HZ // 2000  # of an environment, 0.5 ms
HOST_CLOCKS = CLOCK_HZ * 3 // 100_000  # of a task that is queued, 30 microseconds
POLL_CLOCKS = 300  # the host looks for ends so often
PATIENCE_CLOCKS = 50_000_000  # without any end, which come every million or sooner
T_MAX = 5
MEASURED = 32  # routines after one of each agent; four of each if there are few agents
INFERENCES = "inferences_per_second"
PUBLISHED_IPS = (2550.0, "FA3C, 5.2: 256 processing elements, 16 agents")
PAPER_GEOMETRY = {"a3c.PbInference": 4096, "a3c.GbRows": 4096}
LATENCY = {"a3c.DivLatency": 16, "a3c.SqrtLatency": 16}


@dataclass(frozen=True)
class Setup:
    """A configuration of the specification's queueing table.

    Attributes:
        name: its letter.
        changes: parameters beside those of the full build.
        memory: preset.
        copy: parameters are copied to each agent, else agents hold slots.
        floor: inferences a second that it must reach.
        expected: by the queueing model.
        layout: of the parameters.
    """

    name: str
    changes: dict[str, int] = field(default_factory=dict)
    memory: str = "D"
    copy: bool = False
    floor: float | None = None
    expected: float | None = None
    layout: str = "fa3c"

    @property
    def config(self) -> Config:
        """The build."""
        return build(self.changes)

    @property
    def text(self) -> str:
        """What a row says of it."""
        parameters = self.config.parameters
        return (
            f"{self.name}: {parameters['a3c.NPair']} pairs of {parameters['a3c.NPe']}, "
            f"{'a port a unit' if parameters['a3c.PortPerCu'] else 'a port a pair'}, "
            f"memory {self.memory}, {'COPY' if self.copy else 'ZERO'}, "
            f"{parameters['a3c.PbInference'] // 16} KiB parameters, "
            f"{parameters['a3c.GbRows'] // 16} KiB gradients, {parameters['a3c.NRu']} RMSProp units"
        )


PAIR_PORTS = {"a3c.PortPerCu": 0, "MemPorts": 2}
SETUPS = (
    Setup("A", {}, "D", False, 5000, 5226),
    Setup("C", {}, "Q", False, None, 5224),
    Setup("F", PAPER_GEOMETRY, "D", False, None, 3948),
    Setup("H", PAIR_PORTS, "D", False, 4150, 4314),
    Setup("J", {**PAIR_PORTS, **PAPER_GEOMETRY, "a3c.NRu": 4}, "S", True, 2450, 2558),
)
ONE_PAIR = {**PAIR_PORTS, **PAPER_GEOMETRY, "a3c.NRu": 4, "a3c.NPair": 1, "MemPorts": 1}
ANY_LAYOUT = {**ONE_PAIR, "a3c.AltEn": 1}
FIGURE_10 = (
    Setup("FA3C", ANY_LAYOUT, "S", True),
    Setup("Alt1", ANY_LAYOUT, "S", True, layout="alt1"),
    Setup("Alt2", ANY_LAYOUT, "S", True, layout="alt2"),
    Setup(
        "SingleCU",
        {**ONE_PAIR, "a3c.SingleCu": 1, "a3c.NPe": 128, "a3c.PbInference": 8192,
         "a3c.PbTraining": 8192, "a3c.GbRows": 8192},
        "S", True,
    ),
)  # fmt: skip
AGENTS = (1, 2, 4, 8, 16, 32)
GOLDEN, LAYERS, TASKS = PARTS = ("golden", "layers", "tasks")
# Builds whose routine is compared with the golden model.
CHECKED: tuple[tuple[str, str, dict[str, int], Network, str], ...] = (
    ("tiny network", "a3c", {}, NET_T, "fa3c"),
    ("small network", "a3c", {}, NET_S, "fa3c"),
    ("small network, Alt1", "a3c", {"a3c.AltEn": 1}, NET_S, "alt1"),
    ("small network, Alt2", "a3c", {"a3c.AltEn": 1}, NET_S, "alt2"),
    ("small network, SingleCU", "a3c", {"a3c.SingleCu": 1, "a3c.PbTraining": 2048}, NET_S, "fa3c"),
    ("the paper's network", "a3c_full", {}, NET_A, "fa3c"),
)


def build(changes: dict[str, int]) -> Config:
    """The full build with some parameters changed."""
    base = load_config("a3c")
    full = {
        "MemPorts": 4, "MemSizeLog2": 28, "ClockHz": CLOCK_HZ, "a3c.NPe": 64, "a3c.NPair": 2,
        "a3c.PortPerCu": 1, "a3c.AltEn": 0, "a3c.NRu": 8, "a3c.FmRows": FULL.fm_rows,
        "a3c.PbInference": FULL.pb_inference, "a3c.PbTraining": FULL.pb_training,
        "a3c.GbRows": FULL.gb_rows, **LATENCY,
    }  # fmt: skip
    numbers = {**full, **changes}
    name = "a3c-" + "-".join(str(numbers[k]) for k in sorted(full) if k.startswith("a3c."))
    return base.changed(numbers, name)


def open_simulator(config: Config, memory: str) -> SimDevice:
    """The simulator as fast as it gets: no assertions, the processor's own arithmetic."""
    return SimDevice(config, memory=memory, assertions=False, compiled_arithmetic=True)


# ---- Agents, by events
@dataclass
class Agent:
    """Where an agent is in its routine.

    Attributes:
        step: inferences done in the routine, T_MAX + 1 after the bootstrap.
        due: clock at which it queues its next task, if none is open.
        open: the task that it waits for.
        kind: what that task is.
        slot: parameters that it holds.
        target: those that its training makes.
    """

    number: int
    step: int = 0
    due: int = 0
    open: Future[Any] | None = None
    kind: str = ""
    slot: int = 0
    target: int = 0


class Host:
    """Agents on a device.

    Attributes:
        done: (clock, kind) of every task that ended.
    """

    def __init__(
        self, device: SimDevice, network: Network, agents: int, copy: bool, layout: str = "fa3c"
    ) -> None:
        self.device, self.copy = device, copy
        self.a3c = A3C(device, layout=layout)
        # With versions every agent may hold one and train another.
        slots = agents + 1 if copy else 2 * agents + 4
        elements = self.a3c.geometry.n_pe
        if any(c.kind != CONV and c.lanes_backward != elements for c in network.layers):
            network = plan(network.layers, self.a3c.geometry, T_MAX)
        self.net: Net = self.a3c.load_net(
            network, slots=slots, sets=agents * (T_MAX + 1), trainings=max(agents + 1, 16)
        )
        rng = np.random.default_rng(1)
        parameters = initial_parameters(network, rng)
        for slot in range(slots if copy else 1):
            self.a3c.write_theta(self.net, slot, parameters)
        self.gradients = (0.01 * rng.standard_normal((T_MAX, network.layers[-1].outputs))).astype(
            np.float32
        )
        self.settings = HyperParameters.make(7e-4, 0.99, 0.1)
        observed = rng.random(network.regions[0].words).astype(np.float32)
        self.a3c.infer(self.net, 0, 0, observed).result()
        maps = device.read(self.net.sets[0], network.feature_bytes)
        for place in self.net.sets[1:]:
            device.write(place, maps)
        begin = device.clock
        self.agents = [
            Agent(n, due=begin + n * STEP_CLOCKS // agents, slot=n + 1 if copy else 0)
            for n in range(agents)
        ]
        self.done: list[tuple[int, str]] = []
        self.head = self.newest = 0  # the last version queued, and the last one complete
        self.free = list(range(1, slots))
        self.users = {0: agents}

    def _sets(self, agent: Agent) -> list[int]:
        first = agent.number * (T_MAX + 1)
        return list(range(first, first + T_MAX))

    def _queue(self, agent: Agent) -> None:
        net, sets = self.net, self._sets(agent)
        if self.copy and agent.kind == "train":
            agent.open, agent.kind = self.a3c.sync(net, 0, agent.slot), "sync"
        elif agent.step < T_MAX:
            agent.open = self.a3c.infer(net, agent.slot, sets[agent.step], None)
            agent.kind = "infer"
        elif agent.step == T_MAX:
            spare = sets[-1] + 1
            agent.open = self.a3c.infer(net, agent.slot, spare, None, bootstrap=True)
            agent.kind = "bootstrap"
        else:
            source = 0 if self.copy else self.head
            target = 0 if self.copy else self.free.pop(0)
            if not self.copy:
                self.head = target
                self.users[target] = 0
            agent.open = self.a3c.train(
                net, agent.slot, source, target, sets, self.gradients, self.settings
            )
            agent.target = target
            agent.kind = "train"

    def _ended(self, agent: Agent, now: int) -> None:
        assert agent.open is not None
        agent.open.result()
        agent.open = None
        self.done.append((now, agent.kind))
        agent.due = now + HOST_CLOCKS
        if agent.kind == "infer":
            agent.step += 1
            agent.due += STEP_CLOCKS
        elif agent.kind == "bootstrap":
            agent.step += 1
        else:
            agent.step = 0
            if agent.kind == "train" and not self.copy:
                self.users[agent.slot] -= 1
                self.newest = agent.target
                agent.slot = self.newest
                self.users[self.newest] += 1
                self._collect()
            if agent.kind == "sync":
                agent.kind = ""

    def _collect(self) -> None:
        """Free the versions that nobody holds and that no update will read."""
        open_targets = {a.target for a in self.agents if a.open and a.kind == "train"}
        for slot, users in list(self.users.items()):
            if not users and slot not in (self.head, self.newest) and slot not in open_targets:
                del self.users[slot]
                self.free.append(slot)

    def run(self, routines: int) -> None:
        """Go on until so many more trainings have ended.

        Raises: DeviceTimeout if nothing ends for PATIENCE_CLOCKS, the error of a task that failed.
        """
        self.device.write32(directory.IRQ_ENABLE.offset, 0)  # an interrupt would stop the clock
        left, ended, last = routines, len(self.done), self.device.clock
        while left > 0:
            now = self.device.clock
            if len(self.done) > ended:
                ended, last = len(self.done), now
            if now - last > PATIENCE_CLOCKS:
                raise DeviceTimeout(
                    f"no task ended for {now - last} clocks", self.device.counters()
                )
            for agent in self.agents:
                if agent.open is not None and agent.open.done():
                    self._ended(agent, now)
                    left -= self.done[-1][1] == "train"
                if agent.open is None and agent.due <= now:
                    self._queue(agent)
            self.device.step(POLL_CLOCKS)


def window(host: Host, agents: int, routines: int) -> tuple[float, dict[str, float]]:
    """Measure after a warm-up.

    Returns: inferences a second, bootstraps not counted; and where the clocks went: of the units of
        a role, and of the memory ports, as parts of all clocks.
    """
    host.run(agents)
    first, before, begin = len(host.done), host.a3c.counters(), host.device.clock
    host.run(routines)
    clocks, after = host.device.clock - begin, host.a3c.counters()
    count = sum(kind == "infer" for _, kind in host.done[first:])
    geometry, ports = host.a3c.geometry, host.a3c.ports
    roles = {"inference": range(0, geometry.cus, 2), "training": range(1, geometry.cus, 2)}
    if geometry.single_cu:
        roles = {"single": range(geometry.cus)}

    def share(names: Sequence[str]) -> float:
        return sum(after[name] - before[name] for name in names) / clocks / len(names)

    shares = {
        f"{role}_units_{what.lower()}": share([f"CU{unit}_{what}" for unit in units])
        for role, units in roles.items()
        for what in ("BUSY", "ISSUE", "ST_CTX", "ST_PARAM", "ST_FM", "ST_DRAIN", "ST_GB")
    }
    for what in ("READ_BEATS", "WRITE_BEATS"):
        shares[f"ports_{what.lower()}"] = share([f"PORT{port}_{what}" for port in range(ports)])
    return count * CLOCK_HZ / clocks, shares


def ips_rows(setups: Sequence[Setup], agents: Sequence[int]) -> Iterator[Row]:
    """Inferences a second of builds and numbers of agents, and where the clocks went."""
    for setup in setups:
        for count in agents:
            with open_simulator(setup.config, setup.memory) as device:
                host = Host(device, NET_A, count, setup.copy, setup.layout)
                measured, shares = window(host, count, min(MEASURED, 4 * count))
                place = f"{setup.text}, {count} agents"
                yield row(
                    "a3c", INFERENCES, place, measured, "IPS", bound(host.a3c.geometry),
                    PUBLISHED_IPS if count == 16 and setup.floor else None,
                )  # fmt: skip
                for name, part in shares.items():
                    yield row("a3c", name, place, 100 * part, "% of the clocks")


def bound(geometry: Geometry) -> float:
    """Inferences a second if the trainings' issues never waited."""
    clocks = timing.training_clocks(NET_A, T_MAX, geometry).ideal
    if geometry.single_cu:
        clocks += (T_MAX + 1) * timing.inference_clocks(NET_A, 1, geometry).ideal
    return geometry.n_pair * T_MAX * CLOCK_HZ / clocks


# ---- Against the golden model and PyTorch
def routine(device: Device, network: Network, layout: str) -> tuple[np.ndarray, float]:
    """Five inferences, a bootstrap, a training and a copy.

    Returns: all of the parameters, mean squares and maps after it, [bytes]; and the largest
        relative error (2-norm) of a tensor of the new parameters against PyTorch in float64.
    """
    a3c, rng = A3C(device, layout=layout), np.random.default_rng(1)
    net = a3c.load_net(network.layers, slots=3, sets=T_MAX + 1)
    network = net.network
    parameters = initial_parameters(network, rng)
    a3c.write_theta(net, 0, parameters)
    first = network.layers[0]
    shape = (T_MAX + 1, first.inputs, first.height, first.width)
    observed = rng.random(shape).astype(np.float32)
    for step in range(T_MAX):
        a3c.infer(net, 0, step, observed[step]).result(timeout_s=600)
    a3c.infer(net, 0, T_MAX, observed[T_MAX], bootstrap=True).result(timeout_s=600)
    d = rng.standard_normal((T_MAX, network.layers[-1].outputs)).astype(np.float32)
    settings = HyperParameters.make(7e-4, 0.99, 0.1)
    a3c.train(net, 0, 0, 1, range(T_MAX), d, settings).result(timeout_s=600)
    a3c.sync(net, 1, 2).result(timeout_s=600)
    images = 2 if layout == "alt2" else 1
    places = [(at, images * net.map.slot_bytes) for at in net.theta]
    places += [(net.g, net.map.slot_bytes), *((at, network.feature_bytes) for at in net.sets)]
    reference = TorchNetwork(network, parameters)
    outputs = reference.forward(observed[:T_MAX])[-1]
    gradients = torch.autograd.grad(outputs, reference.tensors, torch.tensor(d.astype(np.float64)))
    reference.update(list(gradients), 7e-4, 0.99, 0.1)
    tensors = [array for pair in a3c.read_theta(net, 2) for array in pair]
    error = max(
        float(
            torch.linalg.norm(torch.tensor(got) - want.detach()) / torch.linalg.norm(want.detach())
        )
        for got, want in zip(tensors, reference.tensors, strict=True)
    )
    return np.concatenate([device.read(*place) for place in places]), error


def golden_rows() -> Iterator[Row]:
    """Bytes of device memory after a routine, compared; every build must be equal to the model."""
    for name, base, changes, network, layout in CHECKED:
        config = load_config(base)
        if changes:
            config = config.changed(changes, f"{base}-{layout}")
        found = []
        for backend in ("sim", "model"):
            with open_device(backend, config) as device:
                found.append(routine(device, network, layout))
        (simulated, error), (model, _) = found
        yield row("a3c", "routine_bytes_compared", name, simulated.size, "bytes")
        wrong = int((simulated != model).sum())
        assert not wrong, f"{name}: {wrong} of {simulated.size} bytes are not the golden model's"
        yield row("a3c", "routine_bytes_wrong", name, wrong, "bytes", 0)
        yield row("a3c", "routine_parameters_error", f"{name}, PyTorch in float64", error,
                  "relative", 0)  # fmt: skip


# ---- Stages of layers
def layer_rows(memory: str) -> Iterator[Row]:
    """Clocks of every layer's stages, of an inference and a training of the paper's network.

    A stage's clocks are counted in the compute unit, in which its tiles follow each other: products
    and bubbles, which must be the cycle model's, then those that it waits.
    """
    for train in (False, True):
        case = Case(FULL, [NET_A], np.random.default_rng(1), scale=0.05)
        if train:
            case.train(0, 0, 0, 1, range(T_MAX))
        else:
            case.infer(0, 0, [0])
        tasks = [task for _, task, _ in case.tasks]
        with Unit(unit_parameters(FULL, train), 1, optimize="-O2") as unit:
            result = unit.run(
                case.memory, tasks, case.networks, FULL, memory_timing=PRESETS[memory]
            )
        for (kind, layer), model in stage_model(FULL, tasks).items():
            spent = result.stages[kind, layer]
            place = f"layer {layer + 1} {kind}, {FULL.n_pe} elements, memory {memory}"
            issues = spent["issue"] + spent["latency"]
            assert issues == model.stepped, f"{place}: {issues} clocks, want {model.stepped}"
            yield row("a3c", "stage_issues_and_bubbles", place, issues, "clocks", model.ideal)
            waits = {name: spent[name] for name in ("parameters", "maps", "drain", "gradients")}
            yield row("a3c", "stage_busy", place, issues + sum(waits.values()), "clocks",
                      model.ideal)  # fmt: skip
            for name, count in waits.items():
                if count:
                    yield row("a3c", f"stage_waits_for_{name}", place, count, "clocks", 0)


# ---- Single tasks
def task_rows(setup: Setup, memories: Sequence[str]) -> Iterator[Row]:
    """Clocks of one inference and one training, alone and back to back, and their beats."""
    for memory in memories:
        with open_simulator(setup.config, memory) as device:
            host = Host(device, NET_A, 1, False)
            a3c, net, g = host.a3c, host.net, host.a3c.geometry
            place = f"{g.n_pe} elements, memory {memory}"
            model = timing.inference_clocks(NET_A, 1, g), timing.training_clocks(NET_A, T_MAX, g)

            infer = partial(a3c.infer, net, 0, 0, None)
            train = partial(
                a3c.train, net, 0, 0, 1, range(1, 1 + T_MAX), host.gradients, host.settings
            )
            for name, task, clocks in (
                ("inference", infer, model[0]),
                ("training", train, model[1]),
            ):
                before = a3c.counters()
                alone = records([task()])
                after = a3c.counters()
                unit = 0 if name == "inference" else 1
                names = ("ISSUE", "ST_CTX", "ST_PARAM", "ST_FM", "ST_DRAIN", "ST_GB")
                spent = [after[f"CU{unit}_{n}"] - before[f"CU{unit}_{n}"] for n in names]
                yield row(
                    "a3c", f"{name}_issues_and_bubbles", place, spent[0] + spent[1],
                    "clocks", clocks.ideal,
                )  # fmt: skip
                assert spent[0] == clocks.issued, f"{name}: {spent[0]} issues, want {clocks.issued}"
                yield row("a3c", f"{name}_alone", place, alone[0][1] - alone[0][0], "clocks",
                          clocks.ideal)  # fmt: skip
                # As many on every unit, so that ends come in groups a period apart.
                several = records([task() for _ in range(4 * g.n_pair)])
                ends = sorted(end for _, end in several)
                period = (ends[-1] - ends[0]) / 3
                yield row("a3c", f"{name}_back_to_back", place, period, "clocks", clocks.ideal)
                for counter, lost in zip(names[2:], spent[2:], strict=True):
                    yield row("a3c", f"{name}_alone_{counter.lower()}", place, lost, "clocks", 0)


def records(futures: Sequence[Future[Any]]) -> list[tuple[int, int]]:
    """Begin and end of tasks, from their completion records."""
    out = []
    for future in futures:
        future.result(timeout_s=1800)
        assert future.job.record is not None
        out.append((future.job.record.start, future.job.record.end))
    return out


def traffic_rows(setup: Setup) -> Iterator[Row]:
    """Beats of one routine, beside the traffic model's."""
    with open_simulator(setup.config, setup.memory) as device:
        host = Host(device, NET_A, 1, True)
        a3c, net = host.a3c, host.net
        before = a3c.counters()
        for step in range(T_MAX):
            a3c.infer(net, 1, step, None).result()
        a3c.infer(net, 1, T_MAX, None, bootstrap=True).result()
        a3c.train(net, 1, 0, 0, range(T_MAX), host.gradients, host.settings).result()
        middle = a3c.counters()
        a3c.sync(net, 0, 1).result()
        after = a3c.counters()
        for copy, last in ((False, middle), (True, after)):
            want = traffic.total(traffic.routine(NET_A, T_MAX, copy))
            kib = [sum(x) for x in zip(*traffic.PAPER_KIB.values(), strict=True)]
            for index, (kind, model) in enumerate((("READ", want.reads), ("WRITE", want.writes))):
                names = [n for n in after if n.startswith("PORT") and n.endswith(f"{kind}_BEATS")]
                measured = sum(last[n] - before[n] for n in names)
                yield row(
                    "a3c", f"routine_{kind.lower()}_beats", "COPY" if copy else "ZERO",
                    measured, "beats", model,
                    (kib[index] * 16, "FA3C, Table 2: rows, in beats") if copy else None,
                )  # fmt: skip


def of_agents(rows: Sequence[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Inferences a second by setup and number of agents."""
    out: dict[str, dict[int, float]] = {}
    for r in rows:
        if r["figure"] == INFERENCES:
            setup, _, count = r["config"].removesuffix(" agents").rpartition(", ")
            out.setdefault(setup.split(":")[0], {})[int(count)] = float(r["measured"])
    return {name: dict(sorted(found.items())) for name, found in out.items()}


def draw(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Inferences a second against agents (figure 8), and beside FA3C's on one pair (figure 10)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = of_agents(rows)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), dpi=110, layout="constrained")
    compared = [s.name for s in FIGURE_10]
    for name, points in found.items():
        if name not in compared:
            left.plot(list(points), list(points.values()), "o-", label=f"configuration {name}")
    value, source = PUBLISHED_IPS
    left.plot([16], [value], "k*", markersize=11, label=source.split(",")[0] + ", published")
    left.set_xscale("log", base=2)
    left.set_xticks(AGENTS, [str(n) for n in AGENTS])
    left.set(xlabel="agents", ylabel="inferences a second at 180 MHz", ylim=(0, None))
    left.grid(alpha=0.3)
    left.legend(fontsize=8)
    reference = found.get(FIGURE_10[0].name, {})
    shown = [name for name in compared if name in found]
    for number, name in enumerate(shown):
        at = [n for n in reference if n in found[name]]
        places = [list(reference).index(n) + (number - (len(shown) - 1) / 2) * 0.25 for n in at]
        bars = right.bar(places, [found[name][n] / reference[n] for n in at], 0.24, label=name)
        right.bar_label(bars, [f"{found[name][n]:.0f}" for n in at], fontsize=7)
    right.set_xticks(range(len(reference)), [str(n) for n in reference])
    right.set(xlabel="agents", ylabel="inferences a second, FA3C = 1")
    right.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.savefig(path)
    pyplot.close(figure)


def measure(names: Sequence[str], agents: Sequence[int], memories: Sequence[str]) -> Iterator[Row]:
    """Rows of correctness, stages, single tasks, a routine's beats, and inferences a second.

    Args:
        names: of the setups that are run, of SETUPS and FIGURE_10; and PARTS: GOLDEN compares
            with the golden model, LAYERS measures their stages, TASKS single tasks.
        agents: their numbers.
        memories: presets for single tasks and stages.
    """
    if GOLDEN in names:
        yield from golden_rows()
    if LAYERS in names:
        for memory in memories:
            yield from layer_rows(memory)
    if TASKS in names:
        yield from task_rows(SETUPS[0], memories)
        yield from traffic_rows(SETUPS[0])
    yield from ips_rows([s for s in SETUPS + FIGURE_10 if s.name in names], agents)


class A3cBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "a3c_inferences.png"
    long = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        parser.add_argument("--setups", default="golden,layers,tasks,A,H,J",
                            help="golden (a routine against the model and PyTorch), layers (clocks"
                            " of stages), tasks (single tasks, traffic), configurations A C F H J"
                            " FA3C Alt1 Alt2 SingleCU")  # fmt: skip
        parser.add_argument("--agents", default="16", help="numbers of agents, with commas")

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        known = [*PARTS, *(s.name for s in SETUPS + FIGURE_10)]
        if unknown := [name for name in options.setups.split(",") if name not in known]:
            raise ValueError(f"--setups: got {', '.join(unknown)}, want some of {', '.join(known)}")
        if not all(text.isdecimal() and int(text) for text in options.agents.split(",")):
            raise ValueError(f"--agents: got {options.agents}, want numbers from 1 on, with commas")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        agents = [int(n) for n in options.agents.split(",")]
        return measure(options.setups.split(","), agents, [options.memory])

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """What is recorded, with these rows in their places."""
        recorded = [r for r in results.read("bench")["rows"] if r["engine"] == "a3c"]
        draw(path, [*recorded, *rows])
