"""A compute unit under test: tasks on memory, in the simulator and by the golden model."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from flow import pins
from flow.library import Harness, MemoryConfig, build, open_library
from flow.simulator import QUICK
from models.a3c import timing
from models.a3c.descriptor import FLAG_SAVE_MAPS, INF, RING_INF, RING_TRN, TRAIN, Task
from models.a3c.engine import A3cEngine
from models.a3c.layout import ParameterMap, feature_slot_bytes, pack_map
from models.a3c.network import BEAT_BYTES, CONV, SLOT_BYTES, Geometry, Network
from models.a3c.rmsprop import HyperParameters
from models.a3c.validate import validate
from models.engine import BusError
from models.registers import a3c as registers
from verif.a3c.memory import TASK, UnitTask, row
from verif.a3c.network import LAYER, layer_fields

CORE, HARNESS = "jackdaw:engine:a3c_unit", "verif/a3c/unit_harness.cpp"
KINDS = ("FwConv", "GcConv", "BwConv", "FwFc", "GcFc", "BwFc")
CLOCK_NAMES = ("busy", "issue", "parameters", "maps", "drain", "gradients", "latency")


class _Run(ctypes.Structure):
    _fields_ = [
        ("memory", MemoryConfig),
        ("limit", ctypes.c_uint64),
        ("tasks", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("layers", ctypes.c_void_p),
        ("ends", ctypes.c_void_p),
        ("clocks", ctypes.c_void_p),
        ("stages", ctypes.c_void_p),
    ]


@dataclass(frozen=True)
class Memory:
    """Timing of the simulated memory: latency, beats per clock each way and together, delays."""

    latency: int = 64
    reads: tuple[int, int] = (1, 1)
    writes: tuple[int, int] = (1, 1)
    shared: tuple[int, int] = (0, 0)
    max_delay: int = 0


PRESETS = {
    "D": Memory(),
    "S": Memory(shared=(1, 1)),
    "Q": Memory(shared=(3, 2)),
    "I": Memory(latency=1),
}


@dataclass(frozen=True)
class Result:
    """What a run of the unit gave.

    Attributes:
        clocks: of the run.
        ends: a task's (error, word, response, clock).
        counted: clocks by CLOCK_NAMES, and beats `read` and `written`.
        stages: clocks by (kind of a stage, layer), then by CLOCK_NAMES; busy is the whole unit's.
    """

    clocks: int
    ends: list[tuple[int, int, int, int]]
    counted: dict[str, int]
    stages: dict[tuple[str, int], dict[str, int]]


def stage_model(g: Geometry, tasks: Sequence[UnitTask]) -> dict[tuple[str, int], timing.Clocks]:
    """Clocks by (kind of a stage, layer) by the cycle model, as in Result.stages."""
    out: dict[tuple[str, int], timing.Clocks] = {}
    for task in tasks:
        for index, layer in enumerate(task.network.layers):
            stages = [timing.FW]
            if task.train:
                stages = [timing.GC, timing.BW] if index else [timing.GC]
            for stage in stages:
                key = stage.capitalize() + ("Conv" if layer.kind == CONV else "Fc"), index
                more = timing.stage_clocks(task.network, index, stage, task.samples, g)
                out[key] = out.get(key, timing.Clocks()) + more
    return out


def unit_parameters(g: Geometry, training: bool, **latencies: int) -> dict[str, int]:
    """Parameters of jd_a3c_unit for a build's unit."""
    return {
        "Pes": g.n_pe,
        "MulLatency": g.lm,
        "AddLatency": g.la,
        "MapRows": g.fm_rows,
        "ParameterRows": g.pb_training if training else g.pb_inference,
        "GradientRows": g.gb_rows if training else 0,
        "UpdateUnits": g.n_ru,
        **latencies,
    }


@cache
def library(parameters: tuple[tuple[str, int], ...], waves: bool, optimize: str) -> ctypes.CDLL:
    """Build and open the simulator of a unit."""
    flat = pins.flat(CORE, "jd_a3c_unit")
    path = build(
        CORE, flat.toplevel, HARNESS, parameters=dict(parameters), sources=flat.sources,
        waves=waves, optimize=optimize,
    )  # fmt: skip
    return open_library(path)


class Unit(Harness):
    """A unit under simulation (a context manager).

    Args:
        parameters: of jd_a3c_unit.
        seed: of the random register values.
        waves: write unit.fst, or the file in JD_WAVES_FILE.
    """

    def __init__(
        self, parameters: Mapping[str, int], seed: int, waves: bool = False, optimize: str = QUICK
    ) -> None:
        super().__init__(library(tuple(sorted(parameters.items())), waves, optimize), seed)

    def run(
        self,
        memory: np.ndarray,
        tasks: Sequence[UnitTask],
        networks: Sequence[Network],
        g: Geometry,
        *,
        memory_timing: Memory | None = None,
        limit: int = 5_000_000,
        seed: int = 1,
    ) -> Result:
        """Run tasks after a reset.

        Args:
            memory: [bytes] uint8, changed.
            tasks: in their order; their networks are among `networks`.
            networks: by slot.
            g: the build.
            memory_timing: default preset D.
            limit: most clocks.
            seed: of the memory's delays.
        Raises: CheckFailed, also if the tasks do not end.
        """
        m = memory_timing or PRESETS["D"]
        table = np.stack([slot_row(task, networks.index(task.network)) for task in tasks])
        layers = np.zeros((len(networks), 8, row(LAYER, {}).size), np.uint32)
        for slot, network in enumerate(networks):
            for index in range(len(network.layers)):
                layers[slot, index] = row(LAYER, layer_fields(network, index, g))
        ends = np.zeros((len(tasks), 4), np.uint64)
        counts = np.zeros(len(CLOCK_NAMES) + 2, np.uint64)
        stages = np.zeros((8, 8, len(CLOCK_NAMES)), np.uint64)
        config = MemoryConfig(m.latency, *m.reads, *m.writes, *m.shared, m.max_delay, seed)
        run = _Run(
            config, limit, table.ctypes.data, len(tasks), layers.ctypes.data, ends.ctypes.data,
            counts.ctypes.data, stages.ctypes.data,
        )  # fmt: skip
        clocks = self.call(
            "unit_run", ctypes.byref(run), ctypes.c_void_p(memory.ctypes.data),
            ctypes.c_uint64(memory.size),
        )  # fmt: skip
        names = (*CLOCK_NAMES, "read", "written")
        return Result(
            int(clocks),
            [tuple(int(x) for x in end) for end in ends],  # type: ignore[misc]
            dict(zip(names, (int(x) for x in counts), strict=True)),
            {
                (kind, layer): dict(zip(CLOCK_NAMES, map(int, stages[k, layer]), strict=True))
                for k, kind in enumerate(KINDS)
                for layer in range(8)
                if stages[k, layer, CLOCK_NAMES.index("issue")]
            },
        )


def slot_row(task: UnitTask, slot: int) -> np.ndarray:
    """A task's bits with the network's slot."""
    fields = list(TASK.items())
    at = sum(bits for _, bits in fields[[name for name, _ in fields].index("slot") + 1 :])
    words = task.row()
    value = int.from_bytes(words.tobytes(), "little") | slot << at
    return np.frombuffer(value.to_bytes(words.nbytes, "little"), "<u4")


class _Memory:
    """Device memory of the golden engine, with ranges that answer with an error."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def read(self, address: int, nbytes: int) -> np.ndarray:
        if address + nbytes > self.data.size:
            raise BusError(address, 3, False)
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.data[address : address + raw.size] = raw


class Case:
    """Networks in memory and tasks on them, for the unit and the golden model alike.

    Attributes:
        g: the build.
        networks: by slot.
        memory: [bytes] uint8, as the tasks find it.
        tasks: what was added.
    """

    def __init__(
        self, g: Geometry, networks: Sequence[Network], rng: np.random.Generator, *,
        thetas: int = 3, sets: int = 9, scale: float = 0.3,
    ) -> None:  # fmt: skip
        """Lay out the memory at random: parameters, mean squares, feature maps, objectives."""
        self.g, self.networks, self.rng = g, tuple(networks), rng
        for network in networks:
            validate(np.pad(network.encode(), (0, 32)), g)
        self.tasks: list[tuple[Task, UnitTask, int]] = []
        at = SLOT_BYTES
        self.theta: list[list[int]] = []
        self.squares: list[list[int]] = []
        self.sets: list[list[int]] = []
        self.objective: list[int] = []
        self.maps = [ParameterMap(network) for network in networks]
        for held, network in zip(self.maps, networks, strict=True):
            size = held.slot_bytes
            self.theta.append([at + n * size for n in range(thetas)])
            at += thetas * size
            self.squares.append([at + n * size for n in range(2)])
            at += 2 * size
            step = feature_slot_bytes(network)
            self.sets.append([at + n * step for n in range(sets)])
            at += sets * step
            self.objective.append(at)
            records = BEAT_BYTES * (1 + g.nb_max * network.regions[-1].rows)
            at += -(-records // SLOT_BYTES) * SLOT_BYTES
        self.memory = np.frombuffer(rng.bytes(at), np.uint8).copy()
        for slot, (held, network) in enumerate(zip(self.maps, networks, strict=True)):
            for place in self.theta[slot]:
                self._put(place, self._image(held, scale, False))
            for place in self.squares[slot]:
                self._put(place, self._image(held, 0.01, True))
            for place in self.sets[slot]:
                for region in network.regions:
                    values = rng.standard_normal(region.words).astype(np.float32)
                    values[rng.random(region.words) < 0.3] = 0
                    first = place + BEAT_BYTES * region.offset
                    self._put(first, pack_map(values, region))
            last = network.regions[-1]
            self._put(self.objective[slot], HyperParameters.make(7e-3, 0.99, 0.01).encode())
            for n in range(g.nb_max):
                values = rng.standard_normal(last.words).astype(np.float32)
                place = self.objective[slot] + BEAT_BYTES * (1 + n * last.rows)
                self._put(place, pack_map(values, last))

    def _put(self, at: int, values: np.ndarray) -> None:
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.memory[at : at + raw.size] = raw

    def _image(self, held: ParameterMap, scale: float, positive: bool) -> np.ndarray:
        values = (scale * self.rng.standard_normal(held.words)).astype(np.float32)
        return np.where(held.valid, np.abs(values) if positive else values, np.float32(0))

    def change(self, slot: int, theta: int, values: np.ndarray, count: int) -> None:
        """Put some of these values in place of `count` weights or biases, never of padding."""
        place = self.theta[slot][theta]
        image = self.memory[place : place + 4 * self.maps[slot].words].view(np.float32)
        chosen = self.rng.choice(np.flatnonzero(self.maps[slot].valid), count, replace=False)
        image[chosen] = self.rng.choice(values, count)

    def infer(self, slot: int, theta: int, sets: Sequence[int], save: bool = True) -> None:
        """Add an inference of the samples in these sets of feature maps."""
        maps = tuple(self.sets[slot][n] for n in sets)
        place = self.theta[slot][theta]
        flags = FLAG_SAVE_MAPS if save else 0
        self.tasks.append((
            Task(INF, flags=flags, network=slot, theta=place, maps=maps),
            UnitTask(
                self.networks[slot], samples=len(maps), save=save, theta=place, maps=maps
            ),
            slot,
        ))  # fmt: skip

    def train(
        self, slot: int, theta: int, source: int, target: int, sets: Sequence[int],
        squares: tuple[int, int] = (0, 1),
    ) -> None:  # fmt: skip
        """Add a training on these sets of feature maps."""
        maps = tuple(self.sets[slot][n] for n in sets)
        held = self.theta[slot]
        places = {
            "theta": held[theta], "source": held[source], "target": held[target],
            "g_source": self.squares[slot][squares[0]],
            "g_target": self.squares[slot][squares[1]], "objective": self.objective[slot],
        }  # fmt: skip
        head = self.memory[self.objective[slot] :][:16].view(np.uint32)
        self.tasks.append((
            Task(TRAIN, network=slot, maps=maps, **places),  # type: ignore[arg-type]
            UnitTask(
                self.networks[slot], train=True, samples=len(maps), maps=maps,
                settings=tuple(int(x) for x in head),
                **places,  # type: ignore[arg-type]
            ),
            slot,
        ))  # fmt: skip

    def golden(self) -> np.ndarray:
        """Memory after the tasks by the golden model."""
        engine = A3cEngine(self.g)
        engine.networks[: len(self.maps)] = self.maps
        memory = _Memory(self.memory.copy())
        limit = memory.data.size
        engine.write_register(registers.MEM_LIMIT_LO.offset, limit & 0xFFFF_FFFF, True)
        engine.write_register(registers.MEM_LIMIT_HI.offset, limit >> 32, True)
        for task, _, _ in self.tasks:
            ring = RING_TRN if task.opcode == TRAIN else RING_INF
            job = engine.job(ring, task.encode(), memory)
            try:
                next(job)
            except StopIteration as stop:
                if stop.value.error:
                    raise RuntimeError(f"golden model: {stop.value}") from stop
        return memory.data

    def difference(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say where memory differs first, by what lies there; '' if nowhere."""
        words = np.flatnonzero(got.view(np.uint32) != want.view(np.uint32))
        if not words.size:
            return ""
        at = 4 * int(words[0])
        one, other = (x[at : at + 4].view(np.uint32)[0] for x in (got, want))
        return (
            f"{words.size} words, the first at {self.name(at)}: got {one:#010x}, want {other:#010x}"
        )

    def name(self, at: int) -> str:
        """What lies at an address."""
        for slot, network in enumerate(self.networks):
            for kind, places, size in (
                ("theta", self.theta[slot], self.maps[slot].slot_bytes),
                ("squares", self.squares[slot], self.maps[slot].slot_bytes),
                ("set", self.sets[slot], feature_slot_bytes(network)),
            ):
                for n, place in enumerate(places):
                    if not place <= at < place + size:
                        continue
                    beat, word = divmod((at - place) // 4, 16)
                    first = (
                        [r.offset for r in network.regions]
                        if kind == "set"
                        else list(network.parameter_offsets)
                    )
                    index = max(k for k, start in enumerate(first) if start <= beat)
                    return (
                        f"network {slot} {kind} {n}, layer {index}, "
                        f"beat {beat - first[index]}, word {word}"
                    )
        return f"{at:#x}"
