"""Sequences of the a3c engine's environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from cocotb.triggers import ClockCycles

from flow.effort import effort, scale
from models.a3c.descriptor import (
    ALT1,
    ALT2,
    FA3C,
    FLAG_BOOTSTRAP,
    FLAG_ORDERED,
    FLAG_SAVE_MAPS,
    INF,
    NET_LOAD,
    NO_LAYOUT,
    RING_INF,
    SYNC,
    TRAIN,
    Task,
    Window,
    extents,
)
from models.a3c.layout import ParameterMap, feature_slot_bytes, pack_map
from models.a3c.network import BEAT_BYTES, NET_T, SLOT_BYTES, Network, fc
from models.a3c.rmsprop import HyperParameters
from models.registers import a3c as registers
from models.registers.a3c import Error
from verif.a3c import task as tasks
from verif.a3c.env import RING_OF, WINDOW, A3cEnv
from verif.agents.axil import AxilItem
from verif.engine_env import EngineSequence, JobItem
from verif.failures import Array, Case

FLAT = Network((fc(37, 19), fc(19, 7, relu=False)))
NETWORKS = {0: NET_T, 1: FLAT}
SLVERR, DECERR = 2, 3


A3cSequence = EngineSequence[A3cEnv]


@dataclass
class Net:
    """A network in a slot, and where its data are.

    Attributes:
        slot, network, map: the network.
        theta, g: slots of parameters.
        maps: sets of feature maps.
        objectives: hyper-parameters and gradients, of the largest batch.
        head: the newest parameters of the chain of updates, theta's index.
    """

    slot: int
    network: Network
    map: ParameterMap
    theta: list[int] = field(default_factory=list)
    g: list[int] = field(default_factory=list)
    maps: list[int] = field(default_factory=list)
    objectives: list[int] = field(default_factory=list)
    head: int = 0


class World:
    """Networks and their data in the window, filled with random numbers."""

    def __init__(self, env: A3cEnv, generator: np.random.Generator) -> None:
        self.env, self.generator = env, generator
        self.at = WINDOW[0]
        self.nets: list[Net] = []

    def take(self, nbytes: int) -> int:
        """Reserve whole slots."""
        address = self.at
        self.at += -(-nbytes // SLOT_BYTES) * SLOT_BYTES
        assert self.at <= WINDOW[1], "the window is full"
        return address

    async def add(
        self, slot: int, network: Network, theta: int = 6, maps: int = 16, objectives: int = 6
    ) -> Net:
        """Load a network; make and fill what its tasks need."""
        descriptor = self.take(192)
        self.env.put(descriptor, network.encode())
        await self.env.run(Task(NET_LOAD, network=slot, theta=descriptor))
        net = Net(slot, network, ParameterMap(network))
        images = 1 + self.env.geometry.alt_en
        net.theta = [self.take(images * net.map.slot_bytes) for _ in range(theta)]
        net.g = [self.take(net.map.slot_bytes) for _ in range(2)]
        net.maps = [self.take(feature_slot_bytes(network)) for _ in range(maps)]
        records = BEAT_BYTES * (1 + self.env.geometry.nb_max * network.regions[-1].rows)
        net.objectives = [self.take(records) for _ in range(objectives)]
        for address in net.theta:
            # What a second image holds need not be what the first one does.
            for image in range(images):
                self.env.put(address + image * net.map.slot_bytes, self.parameters(net, 0.3))
        for address in net.g:
            self.env.put(address, np.abs(self.parameters(net, 0.1)))
        for address in net.maps:
            self.env.put(address, self.set_of_maps(network))
        for address in net.objectives:
            self.objective(net, address)
        self.nets.append(net)
        return net

    def parameters(self, net: Net, scale: float) -> np.ndarray:
        """A random image, padding +0."""
        image = self.generator.standard_normal(net.map.words).astype(np.float32) * np.float32(scale)
        return np.where(net.map.valid, image, np.float32(0))

    def set_of_maps(self, network: Network) -> np.ndarray:
        """Random feature maps; half of what a ReLU made is 0."""
        parts = []
        for index, region in enumerate(network.regions):
            values = self.generator.standard_normal(region.words).astype(np.float32)
            if index and (index == len(network.layers) or network.layers[index - 1].relu):
                values = np.maximum(values, 0)
            parts.append(pack_map(values, region))
        return np.concatenate(parts)

    def objective(self, net: Net, address: int, settings: HyperParameters | None = None) -> None:
        """Random hyper-parameters and gradients."""
        rate = float(self.generator.uniform(1e-4, 1e-2))
        settings = settings or HyperParameters.make(
            rate, eps=float(self.generator.uniform(0.01, 1))
        )
        last = net.network.regions[-1]
        self.env.put(address, np.zeros(BEAT_BYTES, np.uint8))
        self.env.put(address, settings.encode())
        for sample in range(self.env.geometry.nb_max):
            values = self.generator.standard_normal(last.words).astype(np.float32)
            at = address + BEAT_BYTES * (1 + sample * last.rows)
            self.env.put(at, pack_map(values, last))

    # ---- Tasks
    def infer(self, net: Net, theta: int, maps: list[int], flags: int = FLAG_SAVE_MAPS) -> Task:
        """An inference, by the indices of parameters and feature maps."""
        sets = tuple(net.maps[m] for m in maps)
        return Task(INF, flags=flags, network=net.slot, theta=net.theta[theta], maps=sets)

    def train(
        self, net: Net, local: int, source: int, target: int, maps: list[int], objective: int = 0,
        g: tuple[int, int] = (0, 0),
    ) -> Task:  # fmt: skip
        """A training, by indices."""
        return Task(
            TRAIN, network=net.slot, theta=net.theta[local], source=net.theta[source],
            target=net.theta[target], g_source=net.g[g[0]], g_target=net.g[g[1]],
            objective=net.objectives[objective], maps=tuple(net.maps[m] for m in maps),
        )  # fmt: skip

    def copy(self, net: Net, source: int, target: int, ordered: bool = False) -> Task:
        """A copy of parameters, by indices."""
        return Task(
            SYNC, flags=FLAG_ORDERED if ordered else 0, network=net.slot,
            source=net.theta[source], target=net.theta[target],
        )  # fmt: skip

    def batch(self, size: int, samples: int) -> list[Task]:
        """Random tasks that may run side by side: what one writes without a ticket is its own.

        Theta 0 and 1 of a network are read; 2 and 3 hold the chain of updates; 4 and 5 are the
        copies' targets.
        """
        draw = self.generator
        free = {net.slot: list(draw.permutation(len(net.maps))) for net in self.nets}
        objectives = {net.slot: list(range(len(net.objectives))) for net in self.nets}
        targets = {net.slot: [4, 5] for net in self.nets}
        out: list[Task] = []
        while len(out) < size:
            net = self.nets[draw.integers(len(self.nets))]
            count = int(draw.integers(1, samples + 1))
            kind = draw.choice([INF, INF, TRAIN, SYNC])
            if kind == SYNC and targets[net.slot]:
                ordered = bool(draw.integers(2))
                source = int(draw.choice([0, 1, 2, 3] if ordered else [0, 1]))
                out.append(self.copy(net, source, targets[net.slot].pop(), ordered))
            elif kind != SYNC and len(free[net.slot]) >= count:
                if kind == TRAIN and not objectives[net.slot]:
                    continue
                maps = [int(free[net.slot].pop()) for _ in range(count)]
                local = int(draw.integers(2))
                if kind == INF:
                    flags = int(draw.choice([1, 1, 0, FLAG_BOOTSTRAP]))
                    out.append(self.infer(net, local, maps, flags))
                else:
                    out.append(self.next_update(net, local, maps, objectives[net.slot].pop()))
            elif all(len(f) < samples for f in free.values()):
                break
        return out

    def next_update(self, net: Net, local: int, maps: list[int], objective: int) -> Task:
        """A training after the newest parameters of the chain, in place or into the other slot."""
        source = 2 + net.head
        if self.generator.integers(2):
            net.head = 1 - net.head
        return self.train(net, local, source, 2 + net.head, maps, objective)


async def world(env: A3cEnv, networks: dict[int, Network] | None = None) -> World:
    """Load the usual networks."""
    out = World(env, np.random.default_rng([env.random.getrandbits(32)]))
    for slot, network in (networks or NETWORKS).items():
        await out.add(slot, network)
    return out


class Smoke(A3cSequence):
    """A task of every kind, alone: a routine of an agent."""

    async def body(self) -> None:
        env = self.env
        await env.compare_registers()
        here = await world(env, {0: NET_T})
        net = here.nets[0]
        for step in range(2):
            await env.run(here.infer(net, 0, [step]))
        await env.run(here.infer(net, 0, [2], FLAG_BOOTSTRAP))
        await env.run(here.train(net, 0, 2, 3, [0, 1]))
        await env.run(here.copy(net, 3, 0, ordered=True))
        await env.run(here.infer(net, 0, [0], 0))
        await env.compare_networks(every=3)
        await env.compare_counters()
        await env.compare_registers()


class RandomTasks(A3cSequence):
    """Random tasks of two networks side by side."""

    batches = 1
    size = 1
    samples = 1

    async def body(self) -> None:
        env = self.env
        here = await world(env)
        for _ in range(self.batches):
            await env.run(*here.batch(self.size, self.samples))
        await env.compare_counters()
        await env.compare_networks(every=7)


class Layouts(A3cSequence):
    """Random tasks in every layout of the parameters."""

    batches = 1

    async def body(self) -> None:
        env = self.env
        here = await world(env)
        lost: dict[int, int] = {}
        for layout in (ALT2, ALT1, FA3C, ALT2)[: scale(4, 3)]:
            await choose_layout(env, layout)
            for _ in range(self.batches):
                await env.run(*here.batch(scale(8, 2), scale(3, 2)))
            net = here.nets[1]
            await env.run(here.infer(net, 0, [0]), here.train(net, 0, 2, 2, [1, 2]))
            await env.run(here.copy(net, 2, 5))
            waits = registers.CU_ST_PARAM_LO.at(1), registers.CU_ST_CTX_LO.at(1)
            before = sum([await env.counter(at) for at in waits])
            await env.run(here.train(net, 0, 2, 2, [3]))
            lost[layout] = sum([await env.counter(at) for at in waits]) - before
            env.gathered = env.gathered or layout == ALT1
            await env.compare_counters()
        # The last layer's BW, of 32 inputs with their padding: in Alt1 a weight per clock.
        gathered = 32 * net.network.layers[1].outputs
        late = lost[ALT1] - lost[FA3C]
        assert gathered // 2 < late < 2 * gathered, (
            f"lost {lost}, gathering takes {gathered} clocks"
        )


async def choose_layout(env: A3cEnv, layout: int) -> None:
    """Write CFG."""
    await env.write(registers.CFG, registers.CFG.field("layout_mode").put(layout))


async def bad_layouts(env: A3cEnv, here: World, net: Net) -> None:
    """Layouts that the build does not have: networks can be loaded, and nothing else."""
    descriptor = here.take(192)
    env.put(descriptor, net.network.encode())
    for layout in (NO_LAYOUT,) if env.geometry.alt_en else (ALT1, ALT2, NO_LAYOUT):
        await choose_layout(env, layout)
        for task in (here.infer(net, 0, [0]), here.train(net, 0, 2, 2, [0]), here.copy(net, 2, 5)):
            ends = await env.run(task)
            assert ends[0].error == Error.E_LAYOUT, f"layout {layout}: {ends[0]}"
        ends = await env.run(Task(NET_LOAD, network=net.slot, theta=descriptor))
        assert not ends[0].error, f"layout {layout}: {ends[0]}"
    await choose_layout(env, FA3C)
    await env.run(here.infer(net, 0, [0]))


class AllSamples(A3cSequence):
    """Every size of a batch, of inferences and trainings; in a short run three of them."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {0: NET_T, 1: FLAT})
        net = here.nets[1]
        most = env.geometry.nb_max
        for count in range(1, most + 1) if effort() >= 1 else (1, 4, most):
            await env.run(
                here.infer(net, 0, list(range(count))),
                here.train(net, 0, 2, 2, list(range(8, 8 + count))),
            )
        await env.compare_counters()


class Tickets(A3cSequence):
    """Several trainings and ordered copies of the same parameters at once."""

    rounds = 1

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        for turn in range(self.rounds):
            jobs = [here.next_update(net, 0, [n], n) for n in range(4)]
            jobs.insert(int(here.generator.integers(4)), here.copy(net, 2, 4, ordered=True))
            jobs.append(here.copy(net, 3, 5, ordered=True))
            if turn % 2 == 0:
                bad = here.next_update(net, 0, [4], 5)
                nan = HyperParameters.make(float("nan"))
                here.objective(net, net.objectives[5], nan)
                jobs.insert(2, replace(bad, target=bad.source))
                net.head = newest(net, jobs)
            await env.run(*jobs)
            here.objective(net, net.objectives[5])
        await env.compare_counters()


def newest(net: Net, jobs: list[Task]) -> int:
    """The head of the chain after the trainings of a batch, in their order."""
    trained = [job for job in jobs if job.opcode == TRAIN]
    return net.theta.index(trained[-1].target) - 2


class Many(A3cSequence):
    """More trainings than tickets are out, all of them bad but the last."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        here.objective(net, net.objectives[1], HyperParameters.make(float("inf")))
        for _ in range(scale(3)):
            jobs = [here.train(net, 0, 2, 2, [n], 1) for n in range(12)]
            jobs.insert(0, here.train(net, 0, 2, 2, [12], 0))
            jobs.append(here.train(net, 0, 2, 2, [13], 0))
            ends = await env.run(*jobs)
            assert [bool(end.error) for end in ends] == [False, *[True] * 12, False]


class Roles(A3cSequence):
    """Units that may not do what they can; the register keeps what the units can do of it."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        # Of two pairs, the second alone: its first unit is then the first of its role.
        pairs = (0x99, 0x90) if env.geometry.cus > 2 else (0x9,)
        for value in (0x1, 0x8, 0x0, *pairs, 0xFFFF_FFFF):
            await env.write(registers.CU_ROLE, value)
            await env.compare_registers()
            count = scale(3, 2)
            await env.run(*[here.infer(net, 0, [n]) for n in range(count)])
            await env.run(*[here.train(net, 0, 2, 2, [n]) for n in range(count)])
            await env.run(here.copy(net, 0, 4), here.copy(net, 1, 5))


class RegistersWhileBusy(A3cSequence):
    """Registers that are written only while the engine is idle."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        jobs = await env.send(*[here.infer(net, 0, [n]) for n in range(3)])
        busy = [r for r in registers.REGISTERS if r.idle_only]
        assert busy
        for register in busy:
            item = await env.axil.access(AxilItem(register.offset, 0))
            assert item.response == SLVERR, f"{register.name} while busy: {item}"
        await env.check(*jobs)
        await env.compare_registers()
        await env.run(here.infer(net, 0, [4]))


def bad_descriptors(here: World, count: int) -> Iterator[JobItem]:
    """Jobs that break rules, of networks that are loaded."""
    env, draw = here.env, here.generator
    known: list[Network | None] = [held.network if held else None for held in env.golden.networks]
    window = Window(*WINDOW)
    made = 0
    while made < count:
        base = here.batch(1, 8)[0]
        case = tasks.Case(base.encode(), {INF: 0, TRAIN: 1, SYNC: 2}[base.opcode], window, 3)
        if case.want(env.geometry, known)[0]:
            continue
        case = tasks.twisted(draw, env.geometry, known, case)
        moved = tasks.Case(case.words, case.ring % 3, window, 3)
        if int(moved.words[0]) & 0xFF and moved.want(env.geometry, known)[0]:
            moved.words[0] &= np.uint32(0xBFFF_FFFF)  # no STOP: the ring goes on
            if moved.want(env.geometry, known)[0]:
                made += 1
                yield env.job(moved.words, moved.ring)


class Refused(A3cSequence):
    """Descriptors that break every rule, of tasks and networks; a good task after some."""

    count = 1

    async def body(self) -> None:
        env = self.env
        here = await world(env)
        net = here.nets[1]
        for index, job in enumerate(bad_descriptors(here, self.count)):
            await env.run(job)
            if index % 8 == 0:
                await env.run(here.infer(net, 0, [0]))
        for flags, samples in ((0, 0), (1, 9)):
            words = here.infer(net, 0, [0], flags).encode()
            words[0] = int(words[0]) & ~(15 << 20) | samples << 20
            if samples > 8:
                words[18:32] = 0
            await env.run(env.job(words, RING_INF))
        await env.run(replace(here.infer(net, 0, [0]), network=3))
        for task in (
            replace(here.infer(net, 0, [0]), theta=net.theta[0] + 64),
            replace(here.infer(net, 0, [0]), theta=WINDOW[1]),
            here.train(net, 0, 2, 0, [0]),
        ):
            await env.run(task)
        await bad_settings(env, here, net)
        await bad_layouts(env, here, net)
        await bad_networks(env, here)
        await env.compare_networks(every=5)
        await env.compare_counters()


async def bad_settings(env: A3cEnv, here: World, net: Net) -> None:
    """Hyper-parameters that are no numbers, and an epsilon that is not positive."""
    good = HyperParameters.make(1e-3)
    for name in ("eta", "rho", "rest", "eps"):
        for value in (np.nan, np.inf, -np.inf):
            here.objective(net, net.objectives[0], replace(good, **{name: np.float32(value)}))
            ends = await env.run(here.train(net, 0, 2, 2, [0]))
            assert ends[0].error == Error.E_HPARAM
    for value, error in ((0.0, True), (-0.0, True), (-1.0, True), (1e-45, False)):
        here.objective(net, net.objectives[0], replace(good, eps=np.float32(value)))
        ends = await env.run(here.train(net, 0, 2, 2, [0]))
        assert bool(ends[0].error) == error, f"epsilon {value}"
    here.objective(net, net.objectives[0])


async def bad_networks(env: A3cEnv, here: World) -> None:
    """NET_LOADs that fail leave their slot; a good one takes an empty one."""
    at = here.take(SLOT_BYTES)

    async def load(words: np.ndarray, slot: int = 0) -> int:
        full = np.zeros(48, np.uint32)
        full[: words.size] = words
        env.put(at, full)
        ends = await env.run(Task(NET_LOAD, network=slot, theta=at))
        return int(ends[0].error)

    layers = NET_T.layers
    wide = 16 * (env.geometry.pb_inference // 33 + 1)
    seen = set()
    for network in (
        Network((replace(layers[0], outputs=0), *layers[1:])),
        Network((replace(layers[0], kernel=17, height=20, width=20), *layers[1:])),
        Network((replace(layers[0], stride=3), *layers[1:])),
        Network((replace(layers[0], outputs=6), *layers[1:])),
        Network(layers[:2]),
        Network((replace(layers[0], lanes_backward=128), *layers[1:])),
        Network((fc(4000, 16), fc(16, 16))),
        Network((fc(16, wide), fc(wide, 16))),
    ):
        seen.add(await load(network.encode()))
    seen.add(await load(np.array([1, 2, 3], np.uint32)))
    wanted = {
        Error.E_ZERO, Error.E_MAX, Error.E_STRIDE, Error.E_SHAPE, Error.E_ORDER, Error.E_LANES,
        Error.E_CAP_FM, Error.E_CAP_PB, Error.E_RESERVED,
    }  # fmt: skip
    assert seen >= wanted, f"never: {wanted - seen}"
    assert not await load(FLAT.encode(), 3)
    # NET_DATA follows a slot that NET_SEL shows already.
    reg = registers.NET_SEL
    chosen = reg.field("net").put(1) | reg.field("layer").put(1) | reg.field("constant").put(8)
    await env.write(reg, chosen)
    for network in (FLAT, NET_T):
        assert not await load(network.encode(), 1)
        got = await env.axil.read(registers.NET_DATA.offset)
        want = env.golden.read_register(registers.NET_DATA.offset)
        assert got == want, f"NET_DATA after a load: {got}, want {want}"


class BusErrors(A3cSequence):
    """SLVERR or DECERR for every address of every kind of task, a good task after each."""

    async def body(self) -> None:
        env = self.env
        here = await world(env)
        for first, (net, response) in enumerate(zip(here.nets, (SLVERR, DECERR), strict=True)):
            cases = (
                here.infer(net, 0, [0, 1] if effort() >= 1 else [0]),
                here.train(net, 0, 2, 3, [2, 3], g=(0, 1)),
                here.train(net, 0, 2, 2, [2, 3]),
                here.copy(net, 0, 4),
                here.copy(net, 2, 5, ordered=True),
            )
            # A short run divides the kinds among the networks; the benches of a unit and of its
            # update fail what a training names.
            for case in range(len(cases)) if effort() >= 1 else ((0, 4), (3,))[first]:
                await fail_each(env, here, net, cases[case], response)
        descriptor = here.take(192)
        env.put(descriptor, FLAT.encode())
        for response in (SLVERR, DECERR):
            for offset in (0, 64, 128):
                env.fail(descriptor + offset, 64, response)
                await env.run(Task(NET_LOAD, network=1, theta=descriptor))
                env.heal()
        await env.run(Task(NET_LOAD, network=2, theta=descriptor))
        await env.compare_networks(every=5)


def stub_reaches(task: Task, word: int, write: bool, net: Net) -> int | None:
    """The beat of a range that the stand-ins for units touch; None if they do not."""
    if task.opcode == INF:
        return 0 if (word, write) in ((2, False), (16, True)) else None
    if task.opcode == TRAIN:
        if (word, write) == (12, False):
            return 0
        if (word, write) in ((4, False), (6, True)):
            return int(net.network.parameter_offsets[-2])
        return None
    return 3


async def fail_each(env: A3cEnv, here: World, net: Net, task: Task, response: int) -> None:
    """A task whose ranges fail one after another, by reads and by writes."""
    extra = [here.infer(net, 1, [8]), here.train(net, 1, 2, 2, [9], 3)]
    for extent in extents(task, net.network, env.second):
        for write in (False, True):
            if write and not extent.written:
                continue
            if not write and extent.written and extent.word < 16:
                continue  # only written, or the read of the same range in place
            last = extent.size // BEAT_BYTES - 1
            beat: int | None = int(here.generator.integers(last + 1))
            if task.opcode == INF and extent.word >= 16:
                # Reads are of the input, writes of the rest.
                beat = last if write else 0
            elif task.opcode == TRAIN and extent.word == 2:
                beat = last  # no bias, and not of the first layer
            elif task.opcode == TRAIN and extent.word >= 16:
                beat = int(here.generator.integers(net.network.regions[-1].offset))
            if env.stub:
                beat = stub_reaches(task, extent.word, write, net)
            if beat is None:
                continue
            at = extent.start + BEAT_BYTES * beat
            env.fail(at, BEAT_BYTES, response, reads=not write, writes=write)
            ends = await env.run(task)
            assert ends[0].error, f"{task}, word {extent.word}, write {write}: no error"
            env.heal()
    await env.run(*extra)


class ResetMidway(A3cSequence):
    """Soft resets at any clock of tasks side by side; networks and the order of tickets stay."""

    times = 1
    clocks = 1

    async def body(self) -> None:
        env = self.env
        here = await world(env)
        draw = here.generator
        descriptor = here.take(192)
        env.put(descriptor, FLAT.encode())
        for turn in range(self.times):
            jobs = here.batch(8, 3)
            if turn % 3 == 0:
                jobs.append(Task(NET_LOAD, network=1, theta=descriptor))
            await env.send(*jobs)
            await ClockCycles(env.dut.clk_i, int(draw.integers(1, self.clocks)))
            await env.soft_reset()
            for net in here.nets:
                for address in net.theta[2:4] + net.g[:1]:  # finite again
                    env.put(address, np.abs(here.parameters(net, 0.1)))
            await env.run(*here.batch(scale(4, 2), 2))
        await env.compare_networks(every=5)


async def cases(env: A3cEnv) -> list[Case]:
    """A task of each kind, for `verif.failures`; the window is all of memory."""
    for register, value in (
        (registers.MEM_BASE_LO, 0), (registers.MEM_LIMIT_LO, 0xFFFF_FFFF),
        (registers.MEM_LIMIT_HI, 0xFFFF),
    ):  # fmt: skip
        await env.write(register, value)
    here = await world(env, {1: FLAT})
    net = here.nets[0]
    found = [
        here.infer(net, 0, [0]), here.copy(net, 0, 4), here.train(net, 0, 2, 3, [2], 0, (0, 1)),
        Task(NET_LOAD, network=1, theta=WINDOW[0]),
    ]  # fmt: skip
    out = []
    for task in found:
        arrays = {}
        for extent in extents(task, net.network, env.second):
            whole = extent.word < 12 and task.opcode != NET_LOAD
            align = SLOT_BYTES if whole else BEAT_BYTES
            arrays[extent.word] = Array(extent.size, extent.written, align)
        ring = RING_OF[task.opcode]
        words = [int(word) for word in task.encode()]
        out.append(Case(words, arrays, ring, repeats=task.opcode in (INF, SYNC)))
    return out


class HardResets(A3cSequence):
    """Hard resets at any clock."""

    times = 1
    clocks = 1

    async def body(self) -> None:
        env = self.env
        for _ in range(self.times):
            here = await world(env)
            jobs = here.batch(8, 3)
            await env.send(*jobs)
            await ClockCycles(env.dut.clk_i, int(here.generator.integers(1, self.clocks)))
            await env.hard_reset(int(here.generator.integers(1, 4)))
            await env.compare_registers()
            await env.compare_networks(every=3)
        here = await world(env)
        await env.run(*here.batch(4, 2))


class Timeouts(A3cSequence):
    """The watchdog ends all tasks, and also those after them meet it; then others are right."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        await env.watchdog(200)
        jobs = [here.infer(net, 0, [n]) for n in range(4)]
        jobs += [here.train(net, 0, 2, 2, [8 + n], n) for n in range(3)]
        jobs += [here.copy(net, 0, 4), Task(NET_LOAD, network=2, theta=net.g[0])]
        await env.timed_out(*await env.send(*jobs), limit=40_000)
        await env.watchdog(0)
        env.dropped()
        await env.run(here.infer(net, 0, [0]), here.train(net, 0, 2, 2, [1]), limit=100_000)


class SoftResetOfIdle(A3cSequence):
    """A soft reset of an engine that has nothing to do; jobs after it."""

    async def body(self) -> None:
        env = self.env
        here = await world(env, {1: FLAT})
        net = here.nets[0]
        for _ in range(scale(3)):
            await env.soft_reset()
            await env.run(here.infer(net, 0, [0]), here.copy(net, 0, 4, ordered=True))
