"""Driver of the sparse engine: IC3Net with learnable weight groups, arrays in and out.

Activations and gradients are FP16 on the device, weights FP32. Named errors mirror the engine's
codes (`SparseStaleError`, `SparseDeadlockError`, ...).
Source: docs/sparse.md; LearningGroup III.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Record
from jackdaw.errors import ConfigError
from jackdaw.ranges import (
    FLOAT32_MAX,
    SEED_MAX,
    WORD_MAX,
    Choice,
    Range,
    check,
    entries,
    one_of,
    real,
    reals,
    refused,
    whole,
    wholes,
)
from models.registers import sparse as registers
from models.registers.map import Register
from models.replay.rng import splitmix64
from models.sparse.formats import (
    GROUP_LINE,
    GROUPS,
    LINE,
    VECTORS,
    Geometry,
    Instruction,
    Kind,
    Layer,
    Opcode,
    image_words,
    lines,
    of_lines,
    padded,
    program_words,
    table_words,
)
from models.sparse.ic3net import (
    ACTIONS,
    GATES,
    NAMES,
    OUTPUTS,
    DoesNotFit,
    Group,
    Layout,
    Sizes,
)
from models.sparse.ic3net import layers as network_table
from models.sparse.ic3net_programs import Programs

TIMEOUT_S = 600.0
VEC_FROM = 64  # vectors, in split `auto`
SPLITS = ("auto", "vec", "row")
OF_GROUPS = Choice(tuple(map(str, GROUPS)))
SCALES = Range(float(np.finfo(np.float32).tiny), FLOAT32_MAX)  # of binary32, not 0 when rounded
HALVES = Range(-65504, 65504)  # of binary16
SQUARES = ("weight_square", "bias_square", "states")

Parameters = dict[str, dict[str, np.ndarray]]
"""Layer (`enc`, `com`, `lst`, `hed`) -> weight [M, N], bias [N] float32, and where the layer has
groups `ig` [M, G] and `og` [N, G] int8."""


@dataclass(frozen=True)
class SparseSettings:
    """What the engine trains, and how.

    Attributes:
        observations: O, numbers that an agent sees.
        agents, episodes: A and B.
        steps: T, of an episode at most.
        hidden: H, a multiple of 8.
        groups: G of all layers but `hed`: 1, 2, 4, 8, 16 or 32.
        head_groups: G of the layer `hed`.
        split: `vec`: episodes over cores; `row`: rows over cores; `auto`: vec from 64 vectors on.
        rate: learning rate.
        decay: of RMSprop's mean squares.
        eps: of RMSprop, added to the root.
        group_rate: learning rate of the grouping.
        seed: of the generator, 64 bits.
    """

    observations: Annotated[int, Range(1, 504)]
    agents: Annotated[int, Range(1, 255)]
    episodes: Annotated[int, Range(1, 65535)]
    steps: Annotated[int, Range(1, 1024)]
    hidden: Annotated[int, Range(8, 128)] = 128
    groups: Annotated[int, Range(1, 32)] = 1
    head_groups: Annotated[int, Range(1, 32)] = 1
    split: Annotated[str, Choice(SPLITS)] = "auto"
    rate: Annotated[float, Range(0, FLOAT32_MAX)] = 1e-3
    decay: Annotated[float, Range(0, 1)] = 0.97
    eps: Annotated[float, SCALES] = 1e-6
    group_rate: Annotated[float, Range(0, FLOAT32_MAX)] = 1e-3
    seed: Annotated[int, Range(0, SEED_MAX)] = 0

    def __post_init__(self) -> None:
        check(self, "sparse")
        for name in ("groups", "head_groups"):
            if getattr(self, name) not in GROUPS:
                raise refused(f"sparse {name}", getattr(self, name), OF_GROUPS)
        if self.hidden % 8:
            raise refused("sparse hidden", self.hidden, "a multiple of 8")

    @property
    def sizes(self) -> Sizes:
        """Of the network and its run."""
        vectors = self.agents * self.episodes
        row = self.split == "row" or (self.split == "auto" and vectors < VEC_FROM)
        return Sizes(
            self.observations, self.agents, self.episodes, self.steps, self.hidden,
            self.groups, self.head_groups, row,
        )  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """How an update went.

    Attributes:
        skipped: a gradient was not finite; nothing changed.
        cycles: of the jobs.
    """

    skipped: bool
    cycles: int


class Sparse(EngineDriver):
    """The sparse engine of a device.

    Attributes:
        geometry: the build, from the capability words; memories of other than 2**n lines appear
            as the next smaller power of two.
        settings: None before `configure`.
        layout, layers: of the network, after `configure`.
        step_number: steps since `begin`.
    """

    def __init__(self, device: Device, page: int | str | None = None) -> None:
        """Find the engine and read its capabilities.

        Args:
            device: an open device.
            page: the engine's page or instance; default the first one that is free.
        Raises: DeviceMismatchError, EngineOwnedError.
        """
        super().__init__(device, "sparse", page)
        self.settings: SparseSettings | None = None
        self.step_number = 0
        self._programs: dict[str, tuple[int, int]] = {}
        self.layers: list[Layer] = []
        with self.opening():
            self.geometry = self._geometry()
            self._ring = self.open_ring()

    def _field(self, register: Register, name: str) -> int:
        return register.field(name).get(self.read(register.offset))

    def _geometry(self) -> Geometry:
        def of(register: Register, *names: str) -> dict[str, int]:
            return {name: self._field(register, name) for name in names}

        r = registers
        rows = of(r.CAP3, "w_rows", "x_rows", "r_rows", "g_rows", "a_rows", "p_words")
        wide = of(r.CAP4, "max_w", "cmp_w")
        return Geometry(
            **of(r.CAP0, "cores", "banks", "lanes", "slots", "keep_bv"),
            **of(r.CAP1, "g_max", "l_max", "win_max", "acc"),
            **of(r.CAP2, "d_max"),
            **{name: 1 << log2 for name, log2 in (rows | wide).items()},
            y_rows=1 << rows["x_rows"],
            **of(r.CAP4, "hit_w", "drain_w", "opt_lanes", "channels", "add_latency"),
            **of(r.CAP5, "b_words", "s_words"),
            **of(r.CAP6, "m_rows"),
        )

    # ---- Settings ----
    def configure(self, settings: SparseSettings) -> None:
        """Load the network table, the settings and the programs, and seed the generator.

        Parameters are undefined until `load`. If the network does not fit into the build, the one
        of before stays; if its buffers do not fit into device memory, there is none.

        Raises: ConfigError for what this build cannot hold; DeviceMemoryError.
        """
        if not isinstance(settings, SparseSettings):
            raise refused("sparse settings", settings, "SparseSettings")
        sizes = settings.sizes
        self.layout = layout = Layout(sizes, self.geometry)
        try:
            layout.check()
        except DoesNotFit as error:
            self.within(f"sparse {error.what}", error.needed, error.present, error.parameter)
            raise ConfigError(f"sparse {error}") from None
        self.settings, self._programs = None, {}
        self.free_from(0)
        self.layers = network_table(sizes, self.geometry)
        words = table_words(self.layers)
        self._submit(Opcode.CONFIG, words.nbytes, self._upload(words))
        s = settings
        for register, value in (
            (registers.LR, s.rate),
            (registers.ALPHA, s.decay),
            (registers.ONE_MINUS_ALPHA, 1 - s.decay),
            (registers.EPS, s.eps),
            (registers.GSCALE, 1.0),
            (registers.LR_GROUP, s.group_rate),
            (registers.INV, 1 / (s.agents - 1) if s.agents > 1 else 0.0),
        ):
            self.write(register.offset, _word(value))
        self.write(registers.AGENTS.offset, s.agents)
        self.write(registers.EPISODES.offset, s.episodes)
        self.seed(splitmix64(s.seed))
        self._prepare(layout)
        self.settings = settings
        self.step_number = 0

    def seed(self, words: Sequence[int]) -> None:
        """Set the generator's state: four words of 64 bits. Raises: ConfigError."""
        chosen = wholes("sparse seed", words, 0, SEED_MAX, (4,)).tolist()
        for index in range(registers.SEED.count):
            half = chosen[index // 2] >> 32 * (index % 2) & 0xFFFF_FFFF
            self.write(registers.SEED.at(index), half)

    def _prepare(self, layout: Layout) -> None:
        """Reserve buffers and upload the programs."""
        images = sum(self._images(chunk) for chunk in layout.chunks)
        input_lines = layout.sizes.padded // 8 + 1
        steps = layout.sizes.steps
        addresses = {
            "input": self.alloc(LINE * input_lines * images, LINE),
            "output": self.alloc(LINE * images, LINE),
            "dout": self.alloc(LINE * images * steps, LINE),
        }
        self._addresses, self._count = addresses, images
        self.programs = programs = Programs(layout, addresses)
        many: dict[str, list[Instruction]] = {
            f"forward{t}": programs.forward(t) for t in range(steps)
        }
        many |= {
            "backward": programs.backward(),
            "update": programs.update(),
            "group": programs.group(),
        }
        for name, program in many.items():
            self._programs[name] = self.upload(program), len(program)
        self._places = [self._index(group) for group in programs.groups()]
        self._sinks = [self._index(chunk) for chunk in layout.chunks]

    def _images(self, group: Group) -> int:
        return group.tiles[0] if self.layout.sizes.row else sum(group.tiles)

    def _index(self, group: Group) -> np.ndarray:
        """Vectors of a group's tiles as device memory has them, [tiles * 4]; V: padding."""
        layout, found = self.layout, []
        for core, tiles in enumerate(group.tiles[: self.geometry.cores]):
            local = VECTORS * group.first + np.arange(VECTORS * tiles)
            there = local < layout.counts[core]
            found.append(np.where(there, layout.firsts[core] + local, layout.sizes.vectors))
            if layout.sizes.row:
                break
        return np.concatenate(found)

    # ---- Parameters ----
    def load(self, parameters: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Load weights, biases and grouping; mean squares begin at 0. Then `regroup`.

        Raises: ConfigError for other shapes, or numbers that are not finite.
        """
        self._check_configured()
        given = entries("sparse parameters", parameters, NAMES)
        state = {
            name: {
                **entries(f"sparse {name}", given[name], ()),
                "weight_square": np.zeros((layer.m, layer.n), np.float32),
                "bias_square": np.zeros(layer.n, np.float32),
                **({"states": np.zeros(layer.states, np.float32)} if layer.groups > 1 else {}),
            }
            for name, layer in zip(NAMES, self.layers, strict=True)
        }
        self.load_memories(state)

    def load_memories(self, memories: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Load all of `memories`, and encode. Raises: ConfigError; then nothing is loaded."""
        self._check_configured()
        given = entries("sparse memories", memories, NAMES)
        image = np.concatenate(
            [_image(k, layer, given[k]) for k, layer in zip(NAMES, self.layers, strict=True)]
        )
        address = self.buffer("image", image.nbytes)
        self.device.write(address, image)
        self._submit(Opcode.LOAD, self._all, address)
        self.regroup()

    def memories(self) -> Parameters:
        """Weights, biases, grouping and their mean squares, exact."""
        self._check_configured()
        sizes = [sum(image_words(layer, ALL).values()) for layer in self.layers]
        address = self.buffer("image", 4 * sum(sizes))
        self._submit(Opcode.STORE, self._all, address)
        raw = self.device.read(address, 4 * sum(sizes)).view(np.uint32)
        ends = np.cumsum([0, *sizes])
        return {
            name: _of_image(layer, raw[a:b])
            for name, layer, a, b in zip(NAMES, self.layers, ends[:-1], ends[1:], strict=True)
        }

    def store(self) -> Parameters:
        """Weights, biases and grouping, without mean squares."""
        wanted = ("weight", "bias", "ig", "og")
        return {
            name: {key: value for key, value in layer.items() if key in wanted}
            for name, layer in self.memories().items()
        }

    @property
    def _all(self) -> int:
        return (1 << len(self.layers)) - 1 | int(ALL) << 8

    # ---- Acting and training ----
    def regroup(self) -> Record:
        """Clear the gradients, and encode, plan and compress all layers."""
        return self.run("group")

    def begin(self) -> None:
        """Begin episodes: the next `step` is step 0."""
        self.step_number = 0

    def step(self, obs: np.ndarray, gates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step of all agents.

        Args:
            obs: [V, O] float, vector b * A + a, -65504..65504; rounded to FP16.
            gates: [V] bool or 0 and 1, who speaks; at step 0 nobody should.
        Returns: logits [V, 7] float32, of 5 actions and 2 gates; values [V].
        Raises: ConfigError after the last step, or for other shapes.
        """
        s = self._check_configured().sizes
        if self.step_number >= s.steps:
            raise ConfigError(f"sparse step: got step {self.step_number}, want 0..{s.steps - 1}")
        v = s.vectors
        seen = reals("sparse obs", obs, HALVES, (v, s.observations))
        told = np.asarray(gates)
        told = wholes("sparse gates", told * 1 if told.dtype == bool else told, 0, 1, (v,))
        rows = np.zeros((v + 1, s.padded + 8), np.float16)
        rows[:v, : s.observations] = seen
        rows[:v, s.padded] = told
        image = np.concatenate([lines(rows[place]).reshape(-1) for place in self._places])
        self.device.write(self._addresses["input"], image)
        self.run(f"forward{self.step_number}")
        self.step_number += 1
        raw = self.device.read(self._addresses["output"], LINE * self._count)
        found = of_lines(raw.view(np.uint16).reshape(-1, 1, 8, 4))
        out = np.empty((v + 1, OUTPUTS), np.float32)
        out[np.concatenate(self._sinks)] = found
        return out[:v, : ACTIONS + GATES], out[:v, -1]

    def backward(self, dout: np.ndarray) -> Record:
        """Add the gradients of the episodes that were played, which is possible once.

        Args:
            dout: [T, V, 8] float, gradient of the loss by logits and value, times the loss scale;
                0 where an episode had ended. Rounded to FP16.
        Raises: ConfigError, also before the last `step`.
        """
        s = self._check_configured().sizes
        if self.step_number != s.steps:
            raise ConfigError(f"sparse backward: got {self.step_number} steps, want {s.steps}")
        given = reals("sparse dout", dout, Range(), (s.steps, s.vectors, OUTPUTS))
        rows = np.zeros((s.steps, s.vectors + 1, OUTPUTS), np.float16)
        with np.errstate(over="ignore"):  # an infinity makes the engine skip the update
            rows[:, :-1] = given
        place = np.concatenate(self._sinks)
        image = np.concatenate([lines(step[place]).reshape(-1) for step in rows])
        self.device.write(self._addresses["dout"], image)
        self.begin()
        return self.run("backward")

    def update(self, scale: float) -> Record:
        """RMSprop with the gradients so far, times a scale; `regroup` follows."""
        found = real("sparse scale", scale, SCALES)
        self.write(registers.GSCALE.offset, _word(found))
        return self.run("update")

    def train(self, dout: np.ndarray, loss_scale: float, divisor: float) -> Statistics:
        """Backward, update and regroup.

        Args:
            dout: see `backward`.
            loss_scale: that dout was multiplied by.
            divisor: of the gradients.
        Raises: ConfigError; then nothing has changed.
        """
        product = real("sparse loss_scale", loss_scale, SCALES) * real(
            "sparse divisor", divisor, SCALES
        )
        scale = real("sparse 1 / (loss_scale * divisor)", 1 / product, SCALES)
        before = self.read(registers.OVF.offset)
        records = [self.backward(dout), self.update(scale), self.regroup()]
        return Statistics(
            self.read(registers.OVF.offset) != before, sum(record.cycles for record in records)
        )

    def statistics(self) -> dict[str, Any]:
        """The engine's counters since hard reset; of OSEL those of the last encoding."""
        r = registers
        names = ("GROUP", "FORWARD", "BACKWARD", "UPDATE")
        units = ("DMA", "OSEL", "LAU", "FILL", "VPU", "ELEM", "COMM", "OPT")
        return {
            "stage": {n: self.read64(r.STAGE_LO.at(k)) for k, n in enumerate(names)},
            "unit_busy": {n: self.read64(r.UNIT_BUSY_LO.at(k)) for k, n in enumerate(units)},
            "useful_macs": self.read64(r.USEFUL_MACS_LO.offset),
            "lane_clocks": self.read64(r.LANE_CLOCKS_LO.offset),
            "vpu_ops": self.read64(r.VPU_OPS_LO.offset),
            "hits": self.read(r.HITS.offset),
            "misses": self.read(r.MISSES.offset),
            "osel_clocks": [self.read(r.OSEL_CLOCKS.at(k)) for k in range(5)],
            "core_load": [self.read(r.CORE_LOAD.at(k)) for k in range(3)],
            "skipped": self.read(r.OVF.offset),
        }

    # ---- Programs ----
    def upload(self, program: Sequence[Instruction]) -> int:
        """Write a program to device memory. Returns: its address."""
        words = program_words(program)
        address = self.alloc(words.nbytes, LINE)
        self.device.write(address, words)
        return address

    def run(self, name: str) -> Record:
        """Run one of the network's programs. Raises: the engine's named errors, ConfigError."""
        self._check_configured()
        address, count = self._programs[one_of("sparse program", name, self._programs)]
        return self.execute(address, count)

    def execute(self, address: int, count: int) -> Record:
        """Run a program of so many instructions. Raises: the engine's named errors, ConfigError."""
        address = whole("sparse address", address, 0, SEED_MAX)
        count = whole("sparse count", count, 0, WORD_MAX)
        return self._submit(Opcode.RUN, count, address)

    def _submit(self, opcode: Opcode, size: int, address: int) -> Record:
        words = [opcode, 0, size, 0, address & 0xFFFF_FFFF, address >> 32]
        return self._ring.submit(words).wait(TIMEOUT_S)

    def _upload(self, words: np.ndarray) -> int:
        address = self.buffer("image", words.nbytes)
        self.device.write(address, words)
        return address

    def _check_configured(self) -> SparseSettings:
        if self.settings is None:
            raise ConfigError("sparse: no network is configured")
        return self.settings

    # ---- Checkpoints ----
    def state(self) -> dict[str, Any]:
        """All that decides how training goes on."""
        words = [self._generator(k) for k in range(registers.SEED.count)]
        return {"memories": self.memories(), "generator": words}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, between two updates. Raises: ConfigError; then nothing is loaded."""
        given = entries("sparse state", state, ("memories", "generator"))
        words = wholes("sparse generator", given["generator"], shape=(registers.SEED.count,))
        self.load_memories(given["memories"])
        for index, word in enumerate(words.tolist()):
            self.write(registers.SEED.at(index), word)
        self.begin()

    def _generator(self, index: int) -> int:
        return self.read(registers.SEED.at(index))


ALL = Kind.W | Kind.V | Kind.BIAS | Kind.GROUP | Kind.GSTATE


def _word(value: float) -> int:
    """The bits of a float32."""
    return int(np.float32(value).view(np.uint32))


def _fields(layer: Layer) -> Iterator[tuple[str, tuple[int, ...], Any, int]]:
    """The arrays of a layer's image: name, shape, type, words from a row to the next."""
    m, n, g = layer.m, layer.n, layer.groups
    row = padded(n, 16)
    yield "weight", (m, n), np.float32, row
    yield "weight_square", (m, n), np.float32, row
    yield "bias", (1, n), np.float32, row
    yield "bias_square", (1, n), np.float32, row
    if g > 1:
        yield "ig", (1, m * g), np.int8, padded(m * g, GROUP_LINE) // 4
        yield "og", (1, n * g), np.int8, padded(n * g, GROUP_LINE) // 4
        yield "states", (1, m + n), np.float32, padded(m + n, 16)


def _shape(name: str, layer: Layer) -> tuple[int, ...]:
    """Of an array as the driver's users see it."""
    m, n, g = layer.m, layer.n, layer.groups
    return {
        "weight": (m, n), "weight_square": (m, n), "bias": (n,), "bias_square": (n,),
        "ig": (m, g), "og": (n, g), "states": (m + n,),
    }[name]  # fmt: skip


def _image(name: str, layer: Layer, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """A layer's image. Raises: ConfigError."""
    fields = list(_fields(layer))
    given = entries(f"sparse {name}", arrays, [field for field, *_ in fields])
    parts = []
    for field, shape, kind, row in fields:
        label, want = f"sparse {name} {field}", _shape(field, layer)
        if kind is np.int8:
            values = wholes(label, given[field], -128, 127, want)
        else:
            low = 0 if field in SQUARES else -FLOAT32_MAX
            values = reals(label, given[field], Range(low, FLOAT32_MAX), want)
        raw = np.zeros((shape[0], 4 * row), np.uint8)
        data = np.ascontiguousarray(values, kind).reshape(shape).view(np.uint8)
        raw[:, : data.shape[1]] = data
        parts.append(raw.reshape(-1).view(np.uint32))
    return np.concatenate(parts)


def _of_image(layer: Layer, words: np.ndarray) -> dict[str, np.ndarray]:
    """Inverse of _image."""
    found, at = {}, 0
    for field, shape, kind, row in _fields(layer):
        raw = words[at : at + shape[0] * row].reshape(shape[0], row).view(np.uint8)
        at += shape[0] * row
        nbytes = shape[1] * np.dtype(kind).itemsize
        values = np.ascontiguousarray(raw[:, :nbytes]).view(kind)
        found[field] = values.reshape(_shape(field, layer)).copy()
    return found
