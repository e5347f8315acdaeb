"""The blocks between memory and a compute unit's buffers under test: tasks in, buffers compared."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from flow import pins
from flow.library import Harness, MemoryConfig, MemoryFault, build, open_library
from flow.simulator import QUICK
from models.a3c.layout import parameter_slot_bytes
from models.a3c.network import (
    BEAT_BYTES,
    CONV,
    LANES,
    ROW_WORDS,
    SLOT_BYTES,
    STRIDES,
    Geometry,
    Layer,
    Network,
    fc,
)
from models.a3c.rmsprop import HyperParameters, rmsprop
from models.a3c.validate import NetworkError, validate
from verif.a3c.network import LAYER, PACKAGE, layer_fields
from verif.play import words

HARNESS = Path("verif/a3c/actor_harness.cpp")
NEVER = (1 << 64) - 1
REGIONS = 9  # entries of a network: layers and the output
PASS_CONTEXTS = 32
WORD_THETA, WORD_OBJECTIVE, WORD_MAPS = 2, 12, 16
LIMIT = 400_000  # clocks of a run


def structure(name: str) -> dict[str, int]:
    """The fields of a packed structure of jd_a3c_pkg and their bits, the highest first."""
    found = re.search(rf"struct packed {{([^{{}}]*)}} {name};", PACKAGE.read_text())
    assert found, name
    lines = re.findall(r"(logic|\w+_t)\s+((?:\[\d+:0\])*)\s*(\w+);", found[1])
    sizes = {"layer_t": sum(LAYER.values())}
    return {
        field: sizes.get(kind, 1) * math.prod(int(n) + 1 for n in re.findall(r"\[(\d+):", dims))
        for kind, dims, field in lines
    }


UNIT_LAYER = structure("unit_layer_t")
TASK = structure("task_t")
CHUNK = structure("chunk_t")


def pack(fields: Mapping[str, int], values: Mapping[str, int]) -> int:
    """Put a structure's bits together; what is not given is 0."""
    unknown = values.keys() - fields.keys()
    if unknown:
        raise ValueError(f"no fields {sorted(unknown)}")
    out = 0
    for name, bits in fields.items():
        value = values.get(name, 0)
        if value >> bits:
            raise ValueError(f"{name}: {value} has more than {bits} bits")
        out = out << bits | value
    return out


def row(fields: Mapping[str, int], values: Mapping[str, int]) -> np.ndarray:
    """A structure as the words of a port, [words] uint32."""
    size = words(sum(fields.values()))
    return np.frombuffer(pack(fields, values).to_bytes(4 * size, "little"), "<u4")


@dataclass(frozen=True)
class UnitTask:
    """A task as a unit gets it.

    Attributes:
        network: whose layers it walks through.
        second: parameters have a second image.
        train, save, samples, ticket: as in task_t.
        theta, source, target, g_source, g_target, objective: byte addresses.
        maps: of each sample.
        settings: eta, rho, 1 - rho, eps, bits.
    """

    network: Network
    train: bool = False
    samples: int = 1
    save: bool = True
    ticket: int = 0
    theta: int = 0
    source: int = 0
    target: int = 0
    g_source: int = 0
    g_target: int = 0
    objective: int = 0
    maps: tuple[int, ...] = ()
    settings: tuple[int, ...] = ()
    second: bool = False

    @property
    def second_bytes(self) -> int:
        """From parameters to their second image, 0 if there is none."""
        return parameter_slot_bytes(self.network) if self.second else 0

    def row(self) -> np.ndarray:
        """Its bits."""
        names = ("train", "save", "samples", "ticket", "theta", "source", "target")
        values = {name: int(getattr(self, name)) for name in names}
        values |= {name: getattr(self, name) for name in ("g_source", "g_target", "objective")}
        values["layers"] = len(self.network.layers)
        values["second"] = self.second_bytes // BEAT_BYTES
        values["maps"] = sum(address << 40 * n for n, address in enumerate(self.maps))
        values["settings"] = sum(value << 32 * n for n, value in enumerate(self.settings))
        return row(TASK, values)

    def layers(self, g: Geometry) -> np.ndarray:
        """The entries of its network, [REGIONS, words] uint32."""
        count = len(self.network.layers)
        out = []
        for index in range(count):
            layer = self.network.layers[index]
            line = layer.width if layer.kind == CONV else self.network.regions[index].width
            value = pack(LAYER, layer_fields(self.network, index, g))
            fields = {"layer": value, "line": line, "last": int(index == count - 1)}
            out.append(row(UNIT_LAYER, fields))
        region = self.network.regions[count]
        output = {
            "map_rows": region.rows, "map_offset": region.offset,
            "buffer_base": self.network.buffer_bases(g)[count],
            "slots": self.network.slots(count, g),
        }  # fmt: skip
        out.append(row(UNIT_LAYER, {"layer": pack(LAYER, output)}))
        out += [np.full(out[0].size, 0xA5A5_A5A5, np.uint32)] * (REGIONS - count - 1)
        return np.stack(out)


class _Settings(ctypes.Structure):
    _fields_ = [
        ("memory", MemoryConfig),
        ("stop", ctypes.c_uint64), ("fail", ctypes.c_uint64), ("heal", ctypes.c_uint64),
        ("stall", ctypes.c_uint32), ("pause", ctypes.c_uint32), ("limit", ctypes.c_uint32),
    ]  # fmt: skip


class _Run(ctypes.Structure):
    _fields_ = [
        ("tasks", ctypes.c_void_p), ("layers", ctypes.c_void_p), ("finished", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("bases", ctypes.c_void_p), ("ends", ctypes.c_void_p), ("after", ctypes.c_void_p),
        ("pieces", ctypes.c_uint64),
        ("image", ctypes.c_void_p), ("rows", ctypes.c_uint64),
        ("log", ctypes.c_void_p), ("log_size", ctypes.c_uint64),
        ("jobs", ctypes.c_void_p), ("marks", ctypes.c_void_p), ("counts", ctypes.c_void_p),
    ]  # fmt: skip


@dataclass(frozen=True)
class Timing:
    """How memory and the other side behave.

    Attributes:
        latency: clocks of memory; each burst takes up to `delay` more at random.
        read, write: beats per clock, as fractions.
        stall: share of clocks in which a request to memory waits.
        pause: share of clocks in which the other side waits.
        stop, fail: clocks in which stop_i and failed_i rise.
        heal: clock from which failed_i falls when the saver is not busy.
    """

    latency: int = 8
    delay: int = 0
    read: tuple[int, int] = (1, 1)
    write: tuple[int, int] = (1, 1)
    stall: float = 0.0
    pause: float = 0.0
    stop: int = NEVER
    fail: int = NEVER
    heal: int = NEVER
    limit: int = LIMIT


FAST = Timing(latency=64)


def random_timing(rng: np.random.Generator) -> Timing:
    """Any memory and any other side."""
    return Timing(
        latency=int(rng.choice([1, 2, 8, 64, 150])),
        delay=int(rng.choice([0, 0, 5, 60])),
        read=((1, 1), (1, 2), (3, 4))[rng.integers(3)],
        write=((1, 1), (1, 3), (3, 4))[rng.integers(3)],
        stall=float(rng.choice([0, 0.3, 0.9])),
        pause=float(rng.choice([0, 0.3, 0.9])),
    )


def stops(rng: np.random.Generator, count: int, most: int = 40) -> list[Timing]:
    """Stops in each clock in which the first bursts are begun, then in any, with any memory."""
    first = [Timing(latency=5, stop=clock) for clock in range(1, most + 1)]
    return first + [
        replace(random_timing(rng), stop=int(rng.integers(1, 3000))) for _ in range(count)
    ]


@dataclass(frozen=True)
class Fault:
    """Addresses that answer with an error.

    Attributes:
        first, last: bytes, both included.
        response: 2 SLVERR, 3 DECERR.
        direction: 1 reads, 2 writes.
    """

    first: int
    last: int
    response: int = 2
    direction: int = 1


@dataclass
class Result:
    """What a run showed.

    Attributes:
        clocks: of the run.
        finished: [tasks] clocks.
        reads, writes: beats.
        first_beat, last_beat: clocks of the first and the last beat read.
        requests: [bursts, 4] clock, address, beats, 1 for a write.
        errors: (task, word, response) of each.
    """

    clocks: int
    finished: np.ndarray
    reads: int
    writes: int
    first_beat: int
    last_beat: int
    requests: np.ndarray
    errors: list[tuple[int, int, int]]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


@cache
def library(name: str, core: str, parameters: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    """Build and open the simulator of a block.

    Args:
        name: of the module after `jd_a3c_`.
        core: FuseSoC core.
        parameters: of the module.
    """
    flat = pins.flat(core, f"jd_a3c_{name}")
    top = flat.toplevel
    path = build(
        core,
        top,
        HARNESS,
        parameters=dict(parameters),
        sources=flat.sources,
        defines=(f"MODEL=V{top}", f'MODEL_HEADER="V{top}.h"', name.upper()),
        optimize=QUICK,
    )
    return open_library(path)


class Actor(Harness):
    """A block under simulation (a context manager).

    Args:
        name: of the module after `jd_a3c_`.
        parameters: of the module.
        seed: of the random register values and of all pauses.
    """

    def __init__(self, name: str, parameters: Mapping[str, int], seed: int) -> None:
        values = tuple(sorted(parameters.items()))
        super().__init__(library(name, f"jackdaw:engine:a3c_{name}", values), seed)
        self.seed = seed
        self.runs = 0

    def run(
        self,
        memory: np.ndarray,
        timing: Timing,
        faults: Sequence[Fault] = (),
        tasks: Sequence[UnitTask] = (),
        geometry: Geometry | None = None,
        count: int | None = None,
        **arrays: np.ndarray | int,
    ) -> Result:
        """Run from a reset.

        Args:
            memory: [bytes] uint8, changed by what is written.
            timing: of memory and the other side.
            faults: bus errors.
            tasks, geometry: that are done.
            count: of tasks or jobs, by default that of the tasks.
            arrays: the other parts of Run.
        Raises: CheckFailed.
        """
        self.runs += 1
        config = MemoryConfig(
            timing.latency, *timing.read, *timing.write, 2, 1, timing.delay,
            self.seed * 1000 + self.runs,
        )  # fmt: skip
        settings = _Settings(
            config, timing.stop, timing.fail, timing.heal, round(1000 * timing.stall),
            round(1000 * timing.pause), timing.limit,
        )  # fmt: skip
        kept = {
            "finished": np.zeros(max(1, len(tasks)), np.uint64),
            "counts": np.zeros(4, np.uint64),
        }
        if tasks:
            assert geometry
            kept["tasks"] = np.ascontiguousarray(np.stack([task.row() for task in tasks]))
            kept["layers"] = np.ascontiguousarray(np.stack([t.layers(geometry) for t in tasks]))
            if kept["tasks"].shape[1] != self.library.actor_task_words():
                raise ValueError(f"a task has {self.library.actor_task_words()} words")
        numbers = {"count": len(tasks) if count is None else count}
        for name, value in arrays.items():
            if isinstance(value, np.ndarray):
                kept[name] = value if value.flags.c_contiguous else np.ascontiguousarray(value)
            else:
                numbers[name] = int(value)
        run = _Run(**{k: v.ctypes.data for k, v in kept.items()}, **numbers)
        bad = (MemoryFault * max(1, len(faults)))(
            *((f.first, f.last, f.response, f.direction) for f in faults)
        )
        clocks = self.call(
            "actor_run", ctypes.byref(settings), ctypes.byref(run),
            ctypes.c_void_p(memory.ctypes.data), ctypes.c_uint64(memory.size), bad,
            ctypes.c_uint64(len(faults)),
        )  # fmt: skip
        if clocks >= timing.limit:
            raise TimeoutError(f"no end within {timing.limit} clocks")
        counts = (ctypes.c_uint64 * 6)()
        self.library.actor_counts(self.handle, counts)
        pairs, errors = (np.zeros(counts[n], np.uint64) for n in (4, 5))
        self.library.actor_lists(
            self.handle, *(ctypes.c_void_p(a.ctypes.data) for a in (pairs, errors))
        )
        found = pairs.reshape(-1, 3).astype(np.int64)
        requests = np.column_stack([found, found[:, 2] >> 16])
        requests[:, 2] &= 0xFFFF
        return Result(
            clocks, kept["finished"].astype(np.int64), counts[0], counts[1], counts[2], counts[3],
            requests, [(int(t), int(w), int(r)) for t, w, r in errors.reshape(-1, 3)], kept,
        )  # fmt: skip


def check_stop(result: Result, timing: Timing, most: int = 3) -> None:
    """After a stop or failure at most so many bursts of each kind show: those given before."""
    begun = min(timing.stop, timing.fail)
    late = result.requests[result.requests[:, 0] > begun]
    if timing.stop == NEVER:
        late = late[late[:, 3] == 1]  # a failure holds back writes alone
    counts = np.bincount(late[:, 3], minlength=2)
    assert (counts <= most).all(), f"{counts} bursts begin after clock {begun}"


def random_memory(rng: np.random.Generator, size: int) -> np.ndarray:
    """Memory of random bytes, rounded up to a page."""
    return rng.integers(0, 256, -(-size // 4096) * 4096, dtype=np.uint8)


def small_network(rng: np.random.Generator, g: Geometry, beats: int = 2500) -> Network:
    """Draw a network that a build takes, with at most so many beats of parameters."""
    legal = [lanes for lanes in LANES if lanes <= g.n_pe]
    while True:
        layers: list[Layer] = []
        shape = tuple(int(rng.integers(1, most)) for most in (20, 13, 24))
        for _ in range(rng.integers(4)):
            inputs, height, width = shape
            kernel = int(rng.integers(1, min(height, width, 5) + 1))
            outputs = int(rng.choice([1, 5, 16, 17, 40]))
            layer = Layer(
                CONV, inputs, outputs, height, width, kernel, int(rng.choice(STRIDES)),
                lanes_forward=int(rng.choice(legal)),
            )  # fmt: skip
            backward = [lanes for lanes in legal if layer.phases % lanes == 0]
            layers.append(replace(layer, lanes_backward=int(rng.choice(backward))))
            shape = (outputs, layer.rows, layer.columns)
        inputs = math.prod(shape) if layers else int(rng.choice([1, 37, 200, 700]))
        for _ in range(rng.integers(1, 6)):
            outputs = int(rng.choice([1, 7, 16, 33, 64, 130]))
            layers.append(fc(inputs, outputs, (int(rng.choice(legal)), g.n_pe)))
            inputs = outputs
        network = Network(tuple(layers[:8]))
        if network.parameter_beats > beats:
            continue
        words = np.zeros(48, np.uint32)
        words[: 1 + 4 * len(network.layers)] = network.encode()
        try:
            return validate(words, g)
        except (NetworkError, ValueError):
            continue


def theta_slot(network: Network) -> int:
    """Bytes of the parameters, rounded up to pages."""
    return -(-network.parameter_bytes // SLOT_BYTES) * SLOT_BYTES


@dataclass(frozen=True)
class Block:
    """What the parameter buffer gets at once.

    Attributes:
        base, end: positions, counted on and on.
        address: [entries] byte address of each entry's row; transposed: of the patch's first row.
            Below 0: the entry is not written.
        column: -1, or the column of the patch that the entry is.
        held: it is released together with the last of its segment.
        segment: number of its segment.
    """

    base: int
    end: int
    address: np.ndarray
    column: np.ndarray
    held: bool
    segment: int


def window_tiles(g: Geometry, samples: int, blocks: int, rows: int) -> int:
    """Input tiles of a window of BW of a fully connected layer; as in jd_a3c_pkg."""
    fits = (t for t in range(2, 9) if (t - 1) * samples < g.la and 2 * t * g.n_pe * blocks <= rows)
    return max(fits, default=1)


def load_blocks(tasks: Sequence[UnitTask], g: Geometry, rows: int) -> list[Block]:
    """What jd_a3c_load must put into the buffer, in its order.

    Args:
        tasks: one after the other.
        g: the build.
        rows: entries of the buffer.
    """
    out: list[Block] = []
    lanes = g.n_pe // ROW_WORDS
    position = segment = 0

    def place(blocks: list[tuple[np.ndarray, np.ndarray]], held: bool) -> None:
        nonlocal position, segment
        position = -(-position // lanes) * lanes
        for address, column in blocks:
            end = position + address.size
            out.append(Block(position, end, address, column, held, segment))
            position = end
        segment += 1

    def forward(task: UnitTask, index: int, first: int, count: int) -> None:
        layer = task.network.layers[index]
        biases = task.theta + BEAT_BYTES * task.network.parameter_offsets[index]
        patches = biases + BEAT_BYTES * layer.output_blocks
        held = layer.kind == CONV
        k = np.arange(count)
        place([(biases + BEAT_BYTES * (first + k), np.full(count, -1))], held)
        blocks = []
        for block in range(layer.term_blocks):
            patch = patches + 1024 * (block * layer.output_blocks + first + k)
            address = patch + BEAT_BYTES * np.arange(ROW_WORDS)[:, None]
            blocks.append((address.reshape(-1), np.full(address.size, -1)))
        place(blocks, held)

    def backward(task: UnitTask, index: int, first: int, span: int, present: int) -> None:
        layer = task.network.layers[index]
        image = task.theta + task.second_bytes
        biases = image + BEAT_BYTES * task.network.parameter_offsets[index]
        patches = biases + BEAT_BYTES * layer.output_blocks
        k = np.arange(span)
        blocks = []
        for block in range(layer.output_blocks):
            patch = patches + 1024 * ((first + k) * layer.output_blocks + block)
            address = np.tile(np.where(k < present, patch, -1), (ROW_WORDS, 1))
            column = np.tile(np.arange(ROW_WORDS)[:, None], (1, span))
            blocks.append((address.reshape(-1), column.reshape(-1)))
        place(blocks, layer.kind == CONV)

    for task in tasks:
        layers = task.network.layers
        kinds = [layer.kind == CONV for layer in layers]
        convolutions = [n for n, convolves in enumerate(kinds) if convolves]
        connected = [n for n, convolves in enumerate(kinds) if not convolves]
        if not task.train:
            for _ in range(task.samples):
                for index in convolutions:
                    forward(task, index, 0, layers[index].output_blocks)
            for index in connected:
                blocks = layers[index].output_blocks
                tile = layers[index].lanes_forward // ROW_WORDS
                most = PASS_CONTEXTS // task.samples * tile
                for first in range(0, blocks, most):
                    forward(task, index, first, min(most, blocks - first))
            continue
        for index in [n for n in connected[::-1] if n]:
            blocks = layers[index].term_blocks
            most = lanes * window_tiles(g, task.samples, layers[index].output_blocks, rows)
            for first in range(0, blocks, most):
                present = min(most, blocks - first)
                backward(task, index, first, -(-present // lanes) * lanes, present)
        for index in [n for n in convolutions[::-1] if n]:
            backward(task, index, 0, layers[index].term_blocks, layers[index].term_blocks)
    return out


def load(
    actor: Actor,
    g: Geometry,
    rows: int,
    tasks: Sequence[UnitTask],
    memory: np.ndarray,
    timing: Timing,
    faults: Sequence[Fault] = (),
) -> tuple[Result, int]:
    """Run jd_a3c_load and compare the buffer after each block.

    Args:
        actor: the block.
        g: the build.
        rows: entries of the buffer.
        tasks: one after the other.
        memory: [bytes] uint8.
        timing, faults: of memory and the reader.
    Returns: what it showed; blocks that were filled, all unless it was stopped.
    """
    blocks = load_blocks(tasks, g, rows)
    bases, ends = (np.array([getattr(b, n) for b in blocks], np.uint64) for n in ("base", "end"))
    lasts = {block.segment: n for n, block in enumerate(blocks)}
    after = [lasts[b.segment] if b.held else n for n, b in enumerate(blocks)]
    image = np.zeros((sum(b.address.size for b in blocks), ROW_WORDS), np.uint32)
    before = memory.copy()
    result = actor.run(
        memory, timing, faults, tasks, g, bases=bases, ends=ends, pieces=len(blocks),
        after=np.array(after, np.uint64), image=image, rows=rows,
        marks=np.zeros(len(blocks), np.uint64),
    )  # fmt: skip
    writes, filled = (int(n) for n in result.arrays["counts"][:2])
    stopped = timing.stop < NEVER
    assert stopped or filled == len(blocks), f"{filled} of {len(blocks)} blocks"
    np.testing.assert_array_equal(memory, before)
    # The first byte of whatever answers with an error is 0.
    seen = memory.copy()
    for fault in faults:
        seen[fault.first : fault.last + 1] = 0
    beats = seen.view(np.uint32).reshape(-1, ROW_WORDS)
    at = 0
    for number, block in enumerate(blocks[:filled]):
        entries = np.flatnonzero(block.address >= 0)
        first = block.address[entries] // BEAT_BYTES
        column = block.column[entries]
        patch = beats[first[:, None] + np.arange(ROW_WORDS) * (column >= 0)[:, None]]
        want = np.where(
            (column >= 0)[:, None],
            patch[np.arange(entries.size), :, np.maximum(column, 0)],
            beats[first],
        )
        got = image[at : at + block.address.size][entries]
        wrong = np.argwhere(got != want)
        assert not wrong.size, f"block {number}: {len(wrong)} words differ, first {wrong[0]}"
        at += block.address.size
    if not stopped:
        assert writes == result.reads == sum((b.address >= 0).sum() for b in blocks)
    return result, filled


@dataclass(frozen=True)
class Item:
    """A map of a sample, on its way into the buffer.

    Attributes:
        task: number of the task.
        sample: number of the sample, counted over all tasks.
        slot: it has one of two slots of a convolution's map.
        address: bytes.
        row, rows: in the buffer.
        word: of the descriptor, that names it.
    """

    task: int
    sample: int
    slot: bool
    address: int
    row: int
    rows: int
    word: int


def _item(task: UnitTask, n: int, first: int, index: int, b: int, g: Geometry) -> Item:
    """Map `index` of sample b of task n, whose first sample has the number `first`."""
    network = task.network
    region = network.regions[index]
    if index == len(network.layers):
        address, word = task.objective + BEAT_BYTES * (1 + b * region.rows), WORD_OBJECTIVE
        slot = False
    else:
        address, word = task.maps[b] + BEAT_BYTES * region.offset, WORD_MAPS + 2 * b
        slot = network.layers[index].kind == CONV
    place = (first + b) % 2 if slot else b
    row = network.buffer_bases(g)[index] + place * region.rows
    return Item(n, first + b, slot, address, row, region.rows, word)


def map_items(tasks: Sequence[UnitTask], g: Geometry) -> list[Item]:
    """What jd_a3c_map_load must put into the buffer, in its order."""
    out: list[Item] = []
    first = 0
    for n, task in enumerate(tasks):
        samples = range(task.samples)
        if task.train:
            count = len(task.network.layers)
            convolutions = sum(layer.kind == CONV for layer in task.network.layers)
            pairs = [(k, b) for k in range(count, convolutions - 1, -1) for b in samples]
            pairs += [(k, b) for b in samples for k in range(convolutions - 1, -1, -1)]
        else:
            pairs = [(0, b) for b in samples]
        out += [_item(task, n, first, index, b, g) for index, b in pairs]
        first += task.samples
    return out


def map_load(
    actor: Actor,
    g: Geometry,
    tasks: Sequence[UnitTask],
    memory: np.ndarray,
    timing: Timing,
    faults: Sequence[Fault] = (),
) -> tuple[Result, int]:
    """Run jd_a3c_map_load and compare all rows and when they came.

    Args:
        actor: the block.
        g: the build.
        tasks: one after the other.
        memory: [bytes] uint8.
        timing, faults: of memory and the reader.
    Returns: what it showed; items that were loaded, all unless it was stopped.
    """
    items = map_items(tasks, g)
    samples = [task.samples for task in tasks]
    before = np.concatenate([[0], np.cumsum(samples)])
    # Items that are there once a sample is complete: later samples' may come before its last.
    complete = [
        max(n for n, item in enumerate(items) if item.sample == s) + 1 for s in range(before[-1])
    ]
    rows = np.concatenate([item.row + np.arange(item.rows) for item in items])
    ends = np.cumsum([item.rows for item in items])
    log = np.zeros((rows.size, 3), np.uint64)
    image = np.zeros((rows.size, ROW_WORDS), np.uint32)
    marks = np.zeros(len(items) + 1, np.uint64)
    kept = memory.copy()
    result = actor.run(
        memory, timing, faults, tasks, g, bases=np.array(complete, np.uint64),
        ends=before.astype(np.uint64), pieces=len(complete), image=image, log=log,
        log_size=rows.size, marks=marks,
    )  # fmt: skip
    writes, loaded = (int(n) for n in result.arrays["counts"][:2])
    np.testing.assert_array_equal(memory, kept)
    if timing.stop == NEVER:
        assert (writes, loaded, result.reads) == (rows.size, len(items), rows.size)
    seen = memory.copy()
    for fault in faults:
        seen[fault.first : fault.last + 1] = 0
    beats = seen.view(np.uint32).reshape(-1, ROW_WORDS)
    first = [item.address // BEAT_BYTES + np.arange(item.rows) for item in items]
    np.testing.assert_array_equal(log[:writes, 0], rows[:writes])
    np.testing.assert_array_equal(image[:writes], beats[np.concatenate(first)[:writes]])
    np.testing.assert_array_equal(marks[:loaded], ends[:loaded])
    of = np.repeat(np.arange(len(items)), [item.rows for item in items])
    for write in range(writes):
        item, through = items[of[write]], int(log[write, 1])
        need = item.sample - 1 if item.slot else before[item.task]
        assert through >= need, f"row {write} comes before sample {need - 1} is through"
    return result, loaded


@dataclass(frozen=True)
class SaveJob:
    """Rows of the buffer for memory.

    Attributes:
        address: bytes.
        row, rows: in the buffer.
        word: of the descriptor, that names them.
    """

    address: int
    row: int
    rows: int
    word: int = WORD_MAPS


def save(
    actor: Actor,
    jobs: Sequence[SaveJob],
    image: np.ndarray,
    memory: np.ndarray,
    timing: Timing,
    faults: Sequence[Fault] = (),
) -> tuple[Result, np.ndarray]:
    """Run jd_a3c_map_save.

    Args:
        actor: the block.
        jobs: one after the other.
        image: [rows, 16] uint32, the buffer.
        memory: [bytes] uint8, changed.
        timing, faults: of memory and the buffer's port.
    Returns: what it showed; memory as all jobs together would leave it, but for faults.
    """
    want = memory.copy()
    for job in jobs:
        rows = image[job.row : job.row + job.rows]
        want[job.address : job.address + BEAT_BYTES * job.rows] = rows.reshape(-1).view(np.uint8)
    for fault in faults:
        want[fault.first : fault.last + 1] = memory[fault.first : fault.last + 1]
    parts = [(j.address & 0xFFFF_FFFF, j.address >> 32, j.row, j.rows, j.word) for j in jobs]
    result = actor.run(
        memory, timing, faults, count=len(jobs), jobs=np.array(parts, np.uint32),
        image=image, rows=len(image), marks=np.zeros(len(jobs), np.uint64),
    )  # fmt: skip
    return result, want


@dataclass(frozen=True)
class Chunk:
    """Gradients in the buffer, in the order of the parameters.

    Attributes:
        task: number of the task.
        layer, offset, row, rows: as in chunk_t.
        layer_last, task_last: the last one of the layer, of the task.
    """

    task: int
    layer: int
    offset: int
    row: int
    rows: int
    layer_last: bool
    task_last: bool


def random_chunks(
    rng: np.random.Generator, tasks: Sequence[UnitTask], most: int = 200, shuffled: bool = False
) -> list[Chunk]:
    """Cut the parameters of tasks into chunks, layers descending; no row is used twice.

    Args:
        most: rows of a chunk.
        shuffled: after a layer's first chunk come the others in any order.
    """
    out: list[Chunk] = []
    at = 0
    for n, task in enumerate(tasks):
        offsets = task.network.parameter_offsets
        for layer in range(len(task.network.layers) - 1, -1, -1):
            offset, parts = offsets[layer], []
            while offset < offsets[layer + 1]:
                rows = min(offsets[layer + 1] - offset, int(rng.integers(1, most + 1)))
                parts.append((offset, rows))
                offset += rows
            if shuffled:
                parts[1:] = [parts[1 + k] for k in rng.permutation(len(parts) - 1)]
            for number, (offset, rows) in enumerate(parts, 1):
                last = number == len(parts)
                out.append(Chunk(n, layer, offset, at, rows, last, last and not layer))
                at += rows
    return out


def updated(
    memory: np.ndarray, tasks: Sequence[UnitTask], chunks: Sequence[Chunk], image: np.ndarray
) -> np.ndarray:
    """Memory after each task, [tasks, bytes] uint8, by the golden model."""
    out = []
    now = memory.copy()
    for n, task in enumerate(tasks):
        mine = sorted((c for c in chunks if c.task == n), key=lambda c: c.offset)
        gradients = np.concatenate([image[c.row : c.row + c.rows] for c in mine]).reshape(-1)
        size = task.network.parameter_bytes
        theta, g = (
            now[at : at + size].view(np.float32).copy() for at in (task.source, task.g_source)
        )
        settings = HyperParameters.decode(np.array(task.settings, np.uint32))
        for at, values in zip(
            (task.target, task.g_target),
            rmsprop(theta, g, gradients.view(np.float32), settings),
            strict=True,
        ):
            now[at : at + size] = values.view(np.uint8)
        if task.second:
            at = task.target + task.second_bytes
            now[at : at + size] = now[task.target : task.target + size]
        out.append(now.copy())
    return np.stack(out)
