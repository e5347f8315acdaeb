"""The a3c golden models: layouts, descriptors, the engine's tasks, cycles and traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from jackdaw.agents.a3c import initial_parameters, objective_gradient, returns
from models.a3c import descriptor, task, timing, traffic
from models.a3c.descriptor import INF, NET_LOAD, SYNC, TRAIN, Task
from models.a3c.engine import A3cEngine
from models.a3c.layout import (
    ParameterMap,
    feature_slot_bytes,
    pack_map,
    unpack_map,
    weight_words,
)
from models.a3c.network import (
    FULL,
    NET_A,
    NET_S,
    NET_T,
    PAPER,
    SMALL,
    TINY,
    Geometry,
    Layer,
    Network,
    conv,
    fc,
)
from models.a3c.planner import plan
from models.a3c.rmsprop import HyperParameters, rmsprop
from models.a3c.torch_ref import TorchNetwork, objective
from models.a3c.validate import WHOLE, NetworkError, validate
from models.engine import BusError, JobEnd, RegisterError
from models.registers import a3c as registers
from models.registers.a3c import Error

PARAMETERS = list[tuple[np.ndarray, np.ndarray]]
ODD = Network((
    conv(3, 5, (21, 37), 5, 4), conv(5, 20, (5, 9), 3, 2), conv(20, 6, (2, 4), 2, 1),
    fc(18, 33), fc(33, 3, relu=False),
))  # fmt: skip
FLAT = Network((fc(37, 19), fc(19, 5, relu=False)))  # no convolution: the input is a vector


def seeded(network: Network, *seed: int) -> PARAMETERS:
    return list(initial_parameters(network, np.random.default_rng(seed)))


def observations(network: Network, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Return random inputs of 0..1, as pixels are."""
    region = network.regions[0]
    shape = (region.channels, region.height, region.width)
    flat = (region.words,) if region.height == region.channels == 1 else shape
    return rng.random((samples, *flat)).astype(np.float32)


class Ram:
    """A flat memory that answers with an error where told."""

    def __init__(self, nbytes: int) -> None:
        self.data = np.zeros(nbytes, np.uint8)
        self.bad: dict[bool, int] = {}  # write -> address that is answered with SLVERR

    def _check(self, address: int, nbytes: int, write: bool) -> None:
        assert address >= 0 and address + nbytes <= self.data.size
        bad = self.bad.get(write)
        if bad is not None and address <= bad < address + nbytes:
            raise BusError(bad, 2, write)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        self._check(address, nbytes, False)
        return self.data[address : address + nbytes].copy()

    def write(self, address: int, data: np.ndarray) -> None:
        self._check(address, data.size, True)
        self.data[address : address + data.size] = data


class Bench:
    """An engine with a network in slot 0, and places in memory for every kind of data."""

    SETS = 6

    def __init__(self, network: Network, geometry: Geometry, load: bool = True) -> None:
        self.network, self.map = network, ParameterMap(network)
        self.engine = A3cEngine(geometry)
        slot, maps = self.map.slot_bytes, feature_slot_bytes(network)
        self.local, self.source, self.target, self.g, self.g_target = (
            4096 + k * slot for k in range(5)
        )
        self.sets = [4096 + 5 * slot + k * maps for k in range(self.SETS)]
        self.objective = self.sets[-1] + maps
        self.program = self.objective + 4096
        self.limit = self.program + 4096
        self.memory = Ram(self.limit + 4096)
        self.register("MEM_BASE_LO", 4096)
        self.register("MEM_LIMIT_LO", self.limit)
        if load:
            end = self.load(network)
            assert end.error == 0, Error(end.error)

    def register(self, name: str, value: int) -> None:
        self.engine.write_register(getattr(registers, name).offset, value, True)

    def run(self, work: Task | np.ndarray, ring: int | None = None) -> JobEnd:
        words = work.encode() if isinstance(work, Task) else work
        if ring is None:
            ring = {INF: 0, TRAIN: 1}.get(int(words[0]) & 0xFF, 2)
        job = self.engine.job(ring, words, self.memory)
        with pytest.raises(StopIteration) as stop:
            next(job)
        end: JobEnd = stop.value.value
        return end

    def load(self, network: Network, slot: int = 0) -> JobEnd:
        words = network.encode()
        self.memory.write(self.program, words.view(np.uint8))
        return self.run(Task(NET_LOAD, theta=self.program, network=slot))

    def put(self, address: int, values: np.ndarray) -> None:
        self.memory.write(address, np.ascontiguousarray(values).reshape(-1).view(np.uint8))

    def parameters(self, address: int) -> PARAMETERS:
        return self.map.unpack(self.image(address))

    def image(self, address: int) -> np.ndarray:
        return self.memory.read(address, 4 * self.map.words).view(np.float32)

    def feature(self, address: int, index: int) -> np.ndarray:
        region = self.network.regions[index]
        rows = self.memory.read(address + 64 * region.offset, 64 * region.rows)
        return unpack_map(rows.view(np.float32), region)

    def observe(self, number: int, observed: np.ndarray) -> None:
        self.put(self.sets[number], pack_map(observed, self.network.regions[0]))

    def put_objective(self, gradients: np.ndarray, settings: HyperParameters) -> None:
        region = self.network.regions[-1]
        self.put(self.objective, settings.encode())
        self.put(self.objective + 64, np.stack([pack_map(d, region) for d in gradients]))

    def infer(self, sets: list[int], flags: int = descriptor.FLAG_SAVE_MAPS) -> JobEnd:
        maps = tuple(self.sets[k] for k in sets)
        return self.run(Task(INF, 7, flags, theta=self.local, maps=maps))

    def training(self, samples: int) -> Task:
        return Task(
            TRAIN, 9, theta=self.local, source=self.source, target=self.target,
            g_source=self.g, g_target=self.g, objective=self.objective,
            maps=tuple(self.sets[:samples]),
        )  # fmt: skip


# Layouts.


def test_a3c_layout_of_the_papers_network() -> None:
    """Beats and rows counted by hand, and the place of single weights."""
    assert [layer.parameter_beats for layer in NET_A.layers] == [257, 514, 41488, 514]
    assert (NET_A.parameter_bytes, ParameterMap(NET_A).slot_bytes) == (2737472, 2740224)
    assert [region.rows for region in NET_A.regions] == [2016, 640, 288, 16, 2]
    assert (NET_A.feature_bytes, feature_slot_bytes(NET_A)) == (189568, 192512)
    assert NET_A.buffer_bases(FULL)[-1] == 7760
    assert NET_A.parameters == 684368
    # Conv2, weight [17, 3, 2, 1]: jy=1, jx=0, py=0, px=1, i=3: q = ((2*2+0)*2+1)*16+3.
    q = (((1 * 2 + 0) * 2 + 0) * 2 + 1) * 16 + 3
    want = 16 * 2 + ((q // 16) * 2 + 17 // 16) * 256 + (q % 16) * 16 + 17 % 16
    assert weight_words(NET_A.layers[1])[17, 3, 2, 1] == want
    assert weight_words(NET_A.layers[2])[255, 2591] == 16 * 16 + (161 * 16 + 15) * 256 + 255


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_a3c_layout_pads_channels(stride: int) -> None:
    legal = [1, 2, 4, 8, *range(16, 529, 16)]
    for inputs in range(1, 513):
        want = next(p for p in legal if p >= inputs and stride**2 * p % 16 == 0)
        assert Layer(1, inputs, 1, 9, 9, 3, stride).padded_inputs == want


@pytest.mark.parametrize("network", [NET_A, NET_S, NET_T, ODD, FLAT])
def test_a3c_layout_round_trip(seed: int, network: Network) -> None:
    rng = np.random.default_rng(seed)
    layout, parameters = ParameterMap(network), seeded(network, seed)
    image = layout.pack(parameters)
    assert layout.valid.sum() == network.parameters  # no two share a word
    assert not image[~layout.valid].view(np.uint32).any()
    image[~layout.valid] = np.nan  # unpack looks at no padding
    for pair, back in zip(parameters, layout.unpack(image), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(pair, back, strict=True))
    with pytest.raises(ValueError, match="layer 0"):
        layout.pack([(w.T, b) for w, b in parameters])
    for region in network.regions:
        values = rng.normal(size=(region.channels, region.height, region.width))
        values = values.astype(np.float32)
        rows = pack_map(values, region)
        assert rows.shape == (region.rows, 16)
        assert np.array_equal(unpack_map(rows, region), values)
        assert np.count_nonzero(rows.view(np.uint32)) == values.size
        first = rows.reshape(region.channels, region.height, -1)[..., 0]
        assert np.array_equal(first, values[..., 0])  # every row of pixels begins a beat
    assert [a.offset + a.rows for a in network.regions[:-1]] == [
        b.offset for b in network.regions[1:]
    ]


# Descriptors.


@pytest.mark.parametrize(
    ("network", "geometry"),
    [(NET_A, FULL), (NET_A, PAPER), (NET_S, SMALL), (NET_T, TINY), (ODD, SMALL), (FLAT, TINY)],
)
def test_a3c_network_descriptor_round_trip(network: Network, geometry: Geometry) -> None:
    assert validate(network.encode(), geometry) == network


def layer_with(network: Network, index: int, **changes: Any) -> np.ndarray:
    """Encode a network with a layer changed."""
    layers = list(network.layers)
    layers[index] = replace(layers[index], **changes)
    return Network(tuple(layers)).encode()


def word_with(network: Network, index: int, word: int) -> np.ndarray:
    """Encode a network with bits set in a word."""
    words = network.encode()
    words[index] |= word
    return words


THIN = Network((conv(4, 16, 20, 4, 1, (16, 32)), fc(4624, 20, (16, 64)), fc(20, 3, (16, 64))))
WIDE = Network((conv(1, 1, (2, 66), 2, 1), fc(65, 2)))  # 65 output columns
BAD_NETWORKS: list[tuple[str, Callable[[], np.ndarray], Geometry, Error, int]] = [
    ("magic", lambda: word_with(NET_S, 0, 1 << 18), SMALL, Error.E_RESERVED, WHOLE),
    ("no layers", lambda: NET_S.encode() & 0xFFFF0000, SMALL, Error.E_ZERO, WHOLE),
    ("nine layers", lambda: word_with(NET_S, 0, 9), SMALL, Error.E_MAX, WHOLE),
    ("kind", lambda: word_with(NET_S, 5, 4), SMALL, Error.E_RESERVED, 1),
    ("reserved flag", lambda: word_with(NET_S, 1, 1 << 9), SMALL, Error.E_RESERVED, 0),
    ("reserved bit 14", lambda: word_with(NET_S, 1, 1 << 14), SMALL, Error.E_RESERVED, 0),
    ("reserved bit 18", lambda: word_with(NET_S, 1, 1 << 18), SMALL, Error.E_RESERVED, 0),
    ("padding", lambda: word_with(NET_S, 8, 1 << 16), SMALL, Error.E_RESERVED, 1),
    ("top byte", lambda: word_with(NET_S, 8, 1 << 24), SMALL, Error.E_RESERVED, 1),
    ("inputs 0", lambda: layer_with(NET_S, 0, inputs=0), SMALL, Error.E_ZERO, 0),
    ("outputs 0", lambda: layer_with(NET_S, 3, outputs=0), SMALL, Error.E_ZERO, 3),
    ("height 0", lambda: layer_with(NET_S, 2, height=0), SMALL, Error.E_ZERO, 2),
    ("width 0", lambda: layer_with(NET_S, 1, width=0), SMALL, Error.E_ZERO, 1),
    ("kernel 0", lambda: layer_with(NET_S, 1, kernel=0), SMALL, Error.E_ZERO, 1),
    ("stride 0", lambda: layer_with(NET_S, 1, stride=0), SMALL, Error.E_ZERO, 1),
    ("channels", lambda: layer_with(NET_S, 0, inputs=513), SMALL, Error.E_MAX, 0),
    ("filters", lambda: layer_with(NET_S, 0, outputs=513), SMALL, Error.E_MAX, 0),
    ("height", lambda: layer_with(NET_S, 0, height=129), SMALL, Error.E_MAX, 0),
    ("width", lambda: layer_with(NET_S, 0, width=129), SMALL, Error.E_MAX, 0),
    ("kernel", lambda: layer_with(NET_S, 0, kernel=17), SMALL, Error.E_MAX, 0),
    ("columns", WIDE.encode, SMALL, Error.E_MAX, 0),
    ("FC inputs", lambda: layer_with(FLAT, 0, inputs=65537), SMALL, Error.E_MAX, 0),
    ("FC outputs", lambda: layer_with(FLAT, 0, outputs=1025), SMALL, Error.E_MAX, 0),
    ("stride 3", lambda: layer_with(NET_S, 0, stride=3), SMALL, Error.E_STRIDE, 0),
    ("stride 8", lambda: layer_with(NET_S, 0, stride=8), SMALL, Error.E_STRIDE, 0),
    ("kernel > rows", lambda: layer_with(NET_S, 1, kernel=6), SMALL, Error.E_STRIDE, 1),
    ("kernel > columns", lambda: layer_with(NET_S, 0, width=3), SMALL, Error.E_STRIDE, 0),
    ("chain inputs", lambda: layer_with(NET_S, 1, inputs=15), SMALL, Error.E_SHAPE, 1),
    ("chain height", lambda: layer_with(NET_S, 1, height=6), SMALL, Error.E_SHAPE, 1),
    ("chain width", lambda: layer_with(NET_S, 1, width=6), SMALL, Error.E_SHAPE, 1),
    ("FC of a map", lambda: layer_with(NET_S, 2, inputs=127), SMALL, Error.E_SHAPE, 2),
    ("FC of an FC", lambda: layer_with(NET_S, 3, inputs=63), SMALL, Error.E_SHAPE, 3),
    ("FC with a map", lambda: layer_with(NET_S, 2, height=2), SMALL, Error.E_SHAPE, 2),
    ("FC with a kernel", lambda: layer_with(NET_S, 2, kernel=2), SMALL, Error.E_SHAPE, 2),
    (
        "conv after FC",
        Network((*NET_S.layers[:3], conv(64, 8, 1, 1, 1), NET_S.layers[3])).encode,
        SMALL,
        Error.E_ORDER,
        3,
    ),
    ("no FC", Network(NET_S.layers[:2]).encode, SMALL, Error.E_ORDER, WHOLE),
    ("lanes FW", lambda: layer_with(NET_S, 0, lanes_forward=32), SMALL, Error.E_LANES, 0),
    ("lanes BW", lambda: layer_with(NET_S, 2, lanes_backward=32), SMALL, Error.E_LANES, 2),
    (
        "lanes of phases",
        lambda: THIN.encode(),
        FULL,
        Error.E_LANES,
        WHOLE,
    ),
    ("lanes of FC", lambda: layer_with(NET_A, 2, lanes_backward=32), FULL, Error.E_LANES, WHOLE),
    ("maps", NET_A.encode, replace(FULL, fm_rows=7759), Error.E_CAP_FM, WHOLE),
    ("conv ring", NET_A.encode, replace(FULL, pb_inference=1027), Error.E_CAP_PB, WHOLE),
    ("FC ring", NET_A.encode, replace(FULL, pb_inference=527), Error.E_CAP_PB, WHOLE),
    ("FC ring alone", FLAT.encode, replace(TINY, pb_inference=65), Error.E_CAP_PB, WHOLE),
    ("BW ring", NET_A.encode, replace(FULL, pb_training=2559), Error.E_CAP_PB, WHOLE),
    ("gradients", NET_A.encode, replace(FULL, gb_rows=1282), Error.E_CAP_GB, WHOLE),
    (
        "line buffer",
        Network((conv(1, 1, (2, 34), 2, 1), fc(33, 2))).encode,
        SMALL,
        Error.E_CAP_LB,
        WHOLE,
    ),
    (
        "line buffer of a conv",
        Network((conv(1, 1, (2, 20), 2, 1), fc(19, 2))).encode,
        replace(SMALL, line_words=16, nb_max=1),
        Error.E_CAP_LB,
        WHOLE,
    ),
]


@pytest.mark.parametrize(
    ("words", "geometry", "code", "layer"),
    [case[1:] for case in BAD_NETWORKS],
    ids=[case[0] for case in BAD_NETWORKS],
)
def test_a3c_network_that_is_wrong(
    words: Callable[[], np.ndarray], geometry: Geometry, code: Error, layer: int
) -> None:
    padded = np.concatenate([words(), np.zeros(48, np.uint32)])
    with pytest.raises(NetworkError) as error:
        validate(padded, geometry)
    assert (error.value.code, error.value.layer) == (code, layer)


def test_a3c_network_at_its_limits() -> None:
    """What is just small enough is accepted."""
    tight = replace(FULL, fm_rows=7760, pb_inference=1028, pb_training=2560, gb_rows=771 + 512)
    assert validate(NET_A.encode(), tight) == NET_A
    assert validate(FLAT.encode(), replace(TINY, pb_inference=66))
    assert validate(Network((conv(1, 1, (2, 33), 2, 1), fc(32, 2))).encode(), SMALL)
    assert validate(Network((conv(1, 1, (2, 65), 2, 1), fc(64, 2))).encode(), replace(
        SMALL, nb_max=4))  # fmt: skip


def test_a3c_task_descriptor_round_trip() -> None:
    work = Task(
        TRAIN, 0x1234_5678, 0, 3, 1 << 39, 2 << 12, 3 << 33, 4 << 12, 5 << 12, 6 << 6,
        (7 << 6, 8 << 35), True, True,
    )  # fmt: skip
    words = work.encode()
    assert words[0] == 2 | 3 << 16 | 2 << 20 | 1 << 30 | 1 << 31
    assert (words[2], words[3]) == (0, 1 << 7)
    assert (words[16], words[18], words[19]) == (7 << 6, 0, 64)
    assert Task.decode(words) == work


def bad_task(
    change: Callable[[np.ndarray, Bench], None], kind: int = TRAIN
) -> Callable[[Bench], np.ndarray]:
    """Make a good task of a kind, then change its words."""

    def make(bench: Bench) -> np.ndarray:
        good = {
            INF: Task(INF, theta=bench.local, maps=tuple(bench.sets[:2])),
            TRAIN: bench.training(2),
            SYNC: Task(SYNC, source=bench.source, target=bench.target),
            NET_LOAD: Task(NET_LOAD, theta=bench.program, network=1),
        }[kind]
        words = good.encode()
        change(words, bench)
        return words

    return make


def setting(word: int, value: int | str) -> Callable[[np.ndarray, Bench], None]:
    """Set a word to a number or to one of the bench's places."""

    def change(words: np.ndarray, bench: Bench) -> None:
        words[word] = value if isinstance(value, int) else getattr(bench, value)

    return change


def adding(word: int, value: int) -> Callable[[np.ndarray, Bench], None]:
    def change(words: np.ndarray, bench: Bench) -> None:
        words[word] = (int(words[word]) + value) & 0xFFFF_FFFF

    return change


def placing(word: int, other: int, offset: int) -> Callable[[np.ndarray, Bench], None]:
    """Put an address after that of another word."""

    def change(words: np.ndarray, bench: Bench) -> None:
        words[word] = int(words[other]) + offset

    return change


FLAG = 1 << 8
WINDOWS: list[tuple[int, int, int | str]] = [  # kind, word, what it becomes
    (INF, 2, 0),
    (INF, 16, "limit"),
    (INF, 17, 0xFF),
    (TRAIN, 2, "program"),
    (TRAIN, 4, 0),
    (TRAIN, 6, "program"),
    (TRAIN, 8, "limit"),
    (TRAIN, 11, 1),
    (TRAIN, 12, "limit"),
    (TRAIN, 18, 64),
    (SYNC, 4, 0),
    (SYNC, 6, "limit"),
    (NET_LOAD, 2, "limit"),
    (NET_LOAD, 2, 64),
]
BAD_TASKS: list[tuple[str, Callable[[Bench], np.ndarray], Error, int]] = [
    ("opcode 5", bad_task(adding(0, 1), NET_LOAD), Error.E_OPCODE, 0),
    *[
        (f"reserved {name}", bad_task(adding(word, value), kind), Error.E_RESERVED, word)
        for name, word, value, kind in [
            ("bit 24", 0, 1 << 24, TRAIN),
            ("bit 29", 0, 1 << 29, INF),
            ("flag of a training", 0, FLAG, TRAIN),
            ("flag 1 of an inference", 0, 2 * FLAG, INF),
            ("order of an inference", 0, 8 * FLAG, INF),
            ("saving of a copy", 0, FLAG, SYNC),
            ("flag of a load", 0, 8 * FLAG, NET_LOAD),
            ("batch of a copy", 0, 1 << 20, SYNC),
            ("batch of a load", 0, 1 << 20, NET_LOAD),
            ("word 14", 14, 1, TRAIN),
            ("address bit 40", 3, 1 << 8, TRAIN),
            ("address bit 63", 17, 1 << 31, INF),
            ("source of an inference", 4, 64, INF),
            ("sample beyond the batch", 20, 64, TRAIN),
            ("maps of a copy", 16, 64, SYNC),
            ("local of a copy", 2, 4096, SYNC),
            ("source of a load", 4, 4096, NET_LOAD),
        ]
    ],
    ("empty slot", bad_task(adding(0, 2 << 16)), Error.E_NET, 0),
    ("slot out of range", bad_task(adding(0, 4 << 16), INF), Error.E_NET, 0),
    ("load out of range", bad_task(adding(0, 4 << 16), NET_LOAD), Error.E_NET, 0),
    (
        "no samples",
        lambda bench: Task(INF, theta=bench.local).encode(),
        Error.E_NB,
        0,
    ),
    ("nine samples", bad_task(adding(0, 7 << 20)), Error.E_NB, 0),
    *[
        (f"alignment {kind} {word}", bad_task(adding(word, value), kind), Error.E_ALIGN, word)
        for kind, word, value in [
            (INF, 2, 64),
            (INF, 18, 32),
            (TRAIN, 2, 2048),
            (TRAIN, 4, 64),
            (TRAIN, 6, 64),
            (TRAIN, 8, 64),
            (TRAIN, 10, 64),
            (TRAIN, 12, 16),
            (TRAIN, 16, 4),
            (SYNC, 4, 64),
            (SYNC, 6, 64),
            (NET_LOAD, 2, 32),
        ]
    ],
    *[
        (f"window {kind} {word}", bad_task(setting(word, value), kind), Error.E_ADDR, word & ~1)
        for kind, word, value in WINDOWS
    ],
    *[
        (
            f"overlap {kind} {word} {other}",
            bad_task(placing(word, other, offset), kind),
            Error.E_OVERLAP,
            max(word, other),
        )
        for kind, word, other, offset in [
            (SYNC, 6, 4, 4096),
            (TRAIN, 6, 4, 4096),
            (TRAIN, 10, 8, 4096),
            (TRAIN, 6, 2, 0),
            (TRAIN, 10, 2, 0),
            (TRAIN, 10, 4, 0),
            (TRAIN, 6, 8, 0),
            (TRAIN, 12, 6, 64),
            (TRAIN, 16, 10, 128),
            (TRAIN, 18, 6, 64),
            (INF, 16, 2, 64),
            (INF, 18, 16, 0),
            (INF, 18, 16, 64),
        ]
    ],
]


@pytest.mark.parametrize(
    ("make", "code", "word"),
    [case[1:] for case in BAD_TASKS],
    ids=[case[0] for case in BAD_TASKS],
)
def test_a3c_task_that_is_wrong(
    make: Callable[[Bench], np.ndarray],
    code: Error,
    word: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The code and the word that broke the rule; memory and engine stay as they were."""
    bench = Bench(NET_T, TINY)
    bench.memory.data[:] = np.random.default_rng(1).integers(0, 256, bench.memory.data.size)
    bench.put_objective(np.zeros((2, 7), np.float32), HyperParameters.make(1e-3))
    before = bench.memory.data.copy()
    counters = dict(bench.engine._counters)
    reads: list[int] = []

    def read(address: int, nbytes: int) -> np.ndarray:
        reads.append(address)
        return np.zeros(nbytes, np.uint8)

    monkeypatch.setattr(bench.memory, "read", read)
    end = bench.run(make(bench))
    assert (Error(end.error), end.info0) == (code, word)
    assert not reads and np.array_equal(bench.memory.data, before)
    assert bench.engine.tickets == 0 and bench.engine._counters == counters
    assert [held is None for held in bench.engine.networks] == [False, True, True, True]


def test_a3c_task_may_read_a_place_twice() -> None:
    """One set of maps for two samples, the local parameters as source; a network in slot 3."""
    bench = Bench(NET_T, TINY)
    assert bench.load(NET_T, 3).error == 0
    bench.put_objective(np.ones((2, 7), np.float32), HyperParameters.make(1e-3))
    work = replace(bench.training(2), source=bench.local, maps=(bench.sets[0],) * 2, network=3)
    assert bench.run(work).error == 0
    copy = Task(SYNC, source=bench.source, target=bench.source)
    assert bench.run(copy).error == 0


def test_a3c_task_on_the_wrong_ring() -> None:
    bench = Bench(NET_T, TINY)
    for work in (
        Task(INF, theta=bench.local, maps=(bench.sets[0],)),
        bench.training(1),
        Task(SYNC, source=bench.source, target=bench.target),
        Task(NET_LOAD, theta=bench.program),
    ):
        ends = [bench.run(work.encode(), ring).error for ring in range(3)]
        right = {INF: 0, TRAIN: 1}.get(work.opcode, 2)
        assert [error == Error.E_OPCODE for error in ends] == [ring != right for ring in range(3)]


@pytest.mark.parametrize(
    "settings",
    [
        HyperParameters.make(np.nan),
        HyperParameters.make(1e-3, np.inf),
        HyperParameters.make(1e-3, np.nan),
        HyperParameters.make(1e-3, 0.9, 0.0),
        HyperParameters.make(1e-3, 0.9, -1.0),
    ],
)
def test_a3c_hyper_parameters_that_are_wrong(settings: HyperParameters) -> None:
    """The error comes after the ticket, and nothing is written."""
    bench = Bench(NET_T, TINY)
    bench.put_objective(np.ones((2, 7), np.float32), settings)
    before = bench.memory.data.copy()
    end = bench.run(bench.training(2))
    assert (Error(end.error), end.info0, end.count) == (Error.E_HPARAM, 12, 1)
    assert np.array_equal(bench.memory.data, before)
    bench.put_objective(np.ones((2, 7), np.float32), HyperParameters.make(1e-3))
    assert bench.run(bench.training(2)).count == 2


def test_a3c_roles() -> None:
    bench = Bench(NET_T, TINY)
    bench.put_objective(np.ones((1, 7), np.float32), HyperParameters.make(1e-3))
    assert bench.engine.read_register(registers.CU_ROLE.offset) == 0b1001
    for roles, inference, training in ((0b0001, 0, 16), (0b1000, 16, 0), (0xFF, 0, 0)):
        bench.register("CU_ROLE", roles)
        assert bench.infer([0]).error == inference
        assert bench.run(bench.training(1)).error == training
        assert bench.run(Task(SYNC, source=bench.source, target=bench.target)).error == 0
    assert bench.engine.read_register(registers.CU_ROLE.offset) == 0b1001  # what the units can
    single = A3cEngine(replace(PAPER, single_cu=True, n_pe=128))
    assert single.read_register(registers.CU_ROLE.offset) == 0b1111


@pytest.mark.parametrize(
    ("kind", "place", "write", "word"),
    [
        (INF, "local", False, 2), (INF, "sets", False, 16), (INF, "sets", True, 16),
        (TRAIN, "local", False, 2), (TRAIN, "source", False, 4), (TRAIN, "g", False, 8),
        (TRAIN, "objective", False, 12), (TRAIN, "sets", False, 16), (TRAIN, "target", True, 6),
        (TRAIN, "g", True, 10), (SYNC, "source", False, 4), (SYNC, "target", True, 6),
        (NET_LOAD, "program", False, 2),
    ],
)  # fmt: skip
def test_a3c_bus_errors(kind: int, place: str, write: bool, word: int) -> None:
    bench = Bench(NET_T, TINY)
    bench.put_objective(np.ones((2, 7), np.float32), HyperParameters.make(1e-3))
    words = bad_task(lambda words, bench: None, kind)(bench)
    where = getattr(bench, place)
    where = where[0] if isinstance(where, list) else where
    skip = 64 * NET_T.parameter_offsets[3] - 64 if place == "local" else 0  # a weight of FC
    if write and kind == INF:
        skip = 64 * NET_T.regions[-1].offset
    bench.memory.bad[write] = where + skip + 20
    before = bench.memory.data.copy()
    end = bench.run(words)
    assert end.error == (Error.E_BUS_WR if write else Error.E_BUS_RD)
    assert (end.info0, end.info1) == (word, 2)
    if not write:
        assert np.array_equal(bench.memory.data, before)
    bench.memory.bad.clear()
    assert bench.run(words).error == 0


def test_a3c_backward_pass_does_not_read_the_first_layer() -> None:
    """Its weights and all biases of the local parameters are no part of the gradients."""
    bench = Bench(NET_T, TINY)
    bench.put_objective(np.ones((1, 7), np.float32), HyperParameters.make(1e-3))
    bench.memory.bad[False] = bench.local + 64 * NET_T.parameter_offsets[1] - 1
    assert bench.run(bench.training(1)).error == 0
    bench.memory.bad[False] = bench.local + 64 * NET_T.parameter_offsets[3]
    assert bench.run(bench.training(1)).error == 0
    bench.memory.bad[False] += 64 * NET_T.layers[3].output_blocks
    assert bench.run(bench.training(1)).error == Error.E_BUS_RD


def test_a3c_load_that_is_wrong_keeps_the_network() -> None:
    bench = Bench(NET_T, TINY)
    end = bench.load(NET_A)
    assert (end.error, end.info0, end.info1) == (Error.E_LANES, 0, descriptor.FROM_NETWORK)
    held = bench.engine.networks[0]
    assert held is not None and held.network == NET_T
    assert bench.load(FLAT).error == 0
    held = bench.engine.networks[0]
    assert held is not None and held.network == FLAT


# Registers.


def test_a3c_registers() -> None:
    bench = Bench(NET_A, FULL)
    read, write = bench.engine.read_register, bench.engine.write_register
    cap = registers.CAP_CU
    assert [cap.field(n).get(read(cap.offset)) for n in ("n_pe", "n_pair")] == [64, 2]
    assert read(registers.CAP_PB_I.offset) == 32768
    wanted = NET_A.constants(1, FULL)
    for number, (name, value) in enumerate(wanted.items()):
        write(registers.NET_SEL.offset, 1 << 4 | number << 8, False)
        assert read(registers.NET_DATA.offset) == value, name
    assert wanted["THETA_OFF"] == 257 and wanted["FM_BASE"] == 4032
    for select in (1, 4 << 4, len(wanted) << 8, 9):
        write(registers.NET_SEL.offset, select, False)
        assert read(registers.NET_DATA.offset) == 0
    for offset, idle in ((0x100, True), (0x404, True), (0x128, False), (0x11C, True)):
        with pytest.raises(RegisterError):
            write(offset, 1, idle)
    with pytest.raises(RegisterError):
        read(0x3F0)
    assert read(registers.CU_BUSY_LO.at(7)) == 0  # of a unit that the build does not have
    write(registers.CFG.offset, 0xF, True)
    assert read(registers.CFG.offset) == 3  # the layout is all there is
    write(registers.MEM_LIMIT_HI.offset, 0xFFFF_FFFF, True)
    assert read(registers.MEM_LIMIT_HI.offset) == 0xFFFF


# Tasks.


@pytest.mark.parametrize("network", [NET_T, ODD, FLAT])
@pytest.mark.parametrize("samples", [1, 3])
def test_a3c_inference_writes_the_maps(seed: int, network: Network, samples: int) -> None:
    """Saved maps and outputs, to the bit and byte; nothing else is written."""
    rng = np.random.default_rng([seed, samples])
    bench = Bench(network, SMALL)
    observed = observations(network, rng, samples)
    bench.put(bench.local, bench.map.pack(seeded(network, seed)))
    for number in range(samples):
        bench.put(bench.sets[number], rng.normal(size=network.feature_rows * 16).astype("f4"))
        bench.observe(number, observed[number])
    before = bench.memory.data.copy()
    maps = task.forward(network, seeded(network, seed), observed)
    for flags, saved in ((descriptor.FLAG_BOOTSTRAP, False), (descriptor.FLAG_SAVE_MAPS, True)):
        want = before.copy()
        for number in range(samples):
            for index, region in enumerate(network.regions):
                if index and (saved or index == len(network.layers)):
                    raw = pack_map(maps[index][number], region).view(np.uint8).reshape(-1)
                    at = bench.sets[number] + 64 * region.offset
                    want[at : at + raw.size] = raw
        end = bench.infer(list(range(samples)), flags)
        assert (end.error, end.detail, end.count) == (0, samples << 4, 0)
        np.testing.assert_array_equal(bench.memory.data, want)
    engine = bench.engine
    assert (engine.counter("INF"), engine.counter("BOOT")) == (samples, samples)


@pytest.mark.parametrize("network", [NET_A, NET_T, ODD, FLAT])
def test_a3c_batch_is_its_samples(seed: int, network: Network) -> None:
    """A batch gives the bits of its samples one by one, in any order."""
    rng = np.random.default_rng(seed)
    parameters, observed = seeded(network, seed), observations(network, rng, 3)
    together = task.forward(network, parameters, observed)
    for n in (2, 0, 1):
        alone = task.forward(network, parameters, observed[n : n + 1])
        for one, many in zip(alone, together, strict=True):
            assert np.array_equal(one[0], many[n])


def relative(got: np.ndarray, want: torch.Tensor) -> float:
    """Relative L2 error."""
    wanted = want.detach().numpy()
    return float(np.linalg.norm(got - wanted) / max(float(np.linalg.norm(wanted)), 1e-30))


@pytest.mark.parametrize(
    ("network", "geometry"), [(NET_A, FULL), (NET_T, TINY), (ODD, SMALL), (FLAT, SMALL)]
)
def test_a3c_routine_agrees_with_pytorch(seed: int, network: Network, geometry: Geometry) -> None:
    """Five inferences, a bootstrap, a training in place, a copy: against float64 autograd.

    A gradient is a chain of sums, each with a relative error of some 1e-6 for the thousands of
    terms here, so 1e-4 of each tensor's norm leaves what cancellation needs; an update changes
    parameters by some 1e-3 of their size, and rounding them costs 6e-8.
    """
    rng = np.random.default_rng([seed, 5])
    bench, steps, actions = Bench(network, geometry), 5, 2
    parameters = seeded(network, seed)

    def moved(values: np.ndarray) -> np.ndarray:
        return values + rng.normal(scale=1e-3, size=values.shape).astype(np.float32)

    # The global parameters have moved since the snapshot was taken.
    others = [(moved(weight), moved(bias)) for weight, bias in parameters]
    bench.put(bench.local, bench.map.pack(parameters))
    bench.put(bench.source, bench.map.pack(others))
    bench.put(bench.target, np.full(bench.map.words, np.nan, np.float32))
    observed = observations(network, rng, steps + 1)
    for number in range(steps + 1):
        bench.observe(number, observed[number])
        flags = descriptor.FLAG_SAVE_MAPS if number < steps else descriptor.FLAG_BOOTSTRAP
        assert bench.infer([number], flags).error == 0
    last = len(network.layers)
    outputs = np.stack([bench.feature(one, last).reshape(-1) for one in bench.sets])
    local, updated = TorchNetwork(network, parameters), TorchNetwork(network, others)
    reference = local.forward(observed)[-1]
    assert relative(outputs, reference) < 2e-6

    taken = rng.integers(0, actions, steps)
    goals = returns(rng.choice([-1.0, 0.0, 1.0], steps), float(outputs[-1, -1]), 0.99)
    d = objective_gradient(outputs[:-1], taken, goals, actions)
    bench.put_objective(d, HyperParameters.make(7e-4))
    end = bench.run(bench.training(steps))
    assert (end.error, end.count) == (0, 1)
    want = local.gradients(objective(reference[:-1], taken, goals, actions))
    maps = [m[:steps] for m in task.forward(network, parameters, observed)[:-1]]
    gradients = task.gradients(network, parameters, maps, d)
    for got, wanted in zip([a for pair in gradients for a in pair], want, strict=True):
        assert relative(got, wanted) < 1e-4
    updated.update(want, 7e-4, 0.99, 0.1)
    theta, squares = bench.parameters(bench.target), bench.parameters(bench.g)
    for got, tensor, before in zip(
        [a for pair in theta for a in pair],
        updated.tensors,
        [a for pair in others for a in pair],
        strict=True,
    ):
        assert relative(got, tensor) < 1e-6
        change = tensor - torch.tensor(before, dtype=torch.float64)
        assert relative(got.astype(np.float64) - before, change) < 2e-2
    for got, square in zip([a for pair in squares for a in pair], updated.squares, strict=True):
        assert relative(got, square) < 2e-4
    # Local and source parameters stay; padding is +0; a copy copies every byte.
    assert np.array_equal(bench.image(bench.source), bench.map.pack(others))
    for place in (bench.target, bench.g):
        assert not bench.image(place)[~bench.map.valid].view(np.uint32).any()
    # The engine's bits are those of the operations.
    image = bench.map.pack(gradients)
    want_theta, want_g = rmsprop(
        bench.map.pack(others), np.zeros_like(image), image, HyperParameters.make(7e-4)
    )
    assert np.array_equal(bench.image(bench.target), want_theta)
    assert np.array_equal(bench.image(bench.g), want_g)
    assert bench.run(Task(SYNC, source=bench.target, target=bench.local)).error == 0
    assert np.array_equal(
        bench.image(bench.local).view(np.uint32), bench.image(bench.target).view(np.uint32)
    )


def test_a3c_training_in_place_is_the_same(seed: int) -> None:
    """Source and target may be one slot, for parameters and for mean squares."""
    images = []
    for in_place in (False, True):
        bench = Bench(NET_T, TINY)
        for address in (bench.local, bench.source, bench.g):
            bench.put(address, bench.map.pack(seeded(NET_T, seed)))
        bench.put(bench.g, np.abs(bench.image(bench.g)))
        for number in range(4):
            bench.observe(number, observations(NET_T, np.random.default_rng(number), 1)[0])
        assert bench.infer([0, 1, 2, 3]).error == 0
        d = np.random.default_rng(seed).normal(size=(4, 7))
        bench.put_objective(d.astype(np.float32), HyperParameters.make(1e-2, 0.9, 1e-3))
        target = bench.source if in_place else bench.target
        g_target = bench.g if in_place else bench.g_target
        work = replace(bench.training(4), target=target, g_target=g_target)
        assert bench.run(work).error == 0
        images.append((bench.image(target), bench.image(g_target)))
    assert all(np.array_equal(a, b) for a, b in zip(*images, strict=True))
    assert images[0][0].any() and images[0][1].any()


def test_a3c_objective_gradient_is_the_derivative(seed: int) -> None:
    """The host's formula against autograd; outputs between logits and value have no gradient."""
    rng = np.random.default_rng(seed)
    for actions in (2, 3, 6):
        outputs = rng.normal(scale=2, size=(8, 16)).astype(np.float32)
        taken, goals = rng.integers(0, actions, 8), rng.normal(size=8)
        tensor = torch.tensor(outputs, dtype=torch.float64, requires_grad=True)
        total = objective(tensor, taken, goals, actions, beta=0.05, value_weight=0.3)
        (want,) = torch.autograd.grad(total, tensor)
        got = objective_gradient(outputs, taken, goals, actions, 0.05, 0.3)
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6, atol=1e-7)
        assert not got[:, actions:-1].any() and got[:, :actions].any() and got[:, -1].all()


def track(network: Network, geometry: Geometry, seed: int, updates: int) -> list[float]:
    """Train engine and PyTorch side by side to tell how bright an image is.

    Returns: the relative L2 difference of all parameters after every update.
    """
    rng = np.random.default_rng([seed, 6])
    bench, last = Bench(network, geometry), len(network.layers)
    parameters = seeded(network, seed)
    bench.put(bench.source, bench.map.pack(parameters))
    reference = TorchNetwork(network, parameters)
    losses: list[tuple[float, float]] = []
    out = []
    rate, decay, eps = 1e-3, 0.99, 1e-2
    for update in range(updates):
        samples = 1 + update % 5
        bright = rng.random((samples, 1))
        observed = observations(network, rng, samples)
        observed *= bright.reshape(samples, *[1] * (observed.ndim - 1)).astype(np.float32)
        goals = bright * np.linspace(-1, 1, network.layers[-1].outputs)
        for number in range(samples):
            bench.observe(number, observed[number])
        assert bench.run(Task(SYNC, source=bench.source, target=bench.local)).error == 0
        assert bench.infer(list(range(samples))).error == 0
        outputs = np.stack([bench.feature(one, last).reshape(-1) for one in bench.sets[:samples]])
        bench.put_objective(
            (2 * (outputs - goals)).astype(np.float32), HyperParameters.make(rate, decay, eps)
        )
        work = replace(bench.training(samples), target=bench.source)
        assert bench.run(work).error == 0
        wanted = reference.forward(observed)[-1]
        loss = ((wanted - torch.tensor(goals)) ** 2).sum()
        losses.append(
            (float(((outputs - goals) ** 2).sum()) / samples, float(loss.detach()) / samples)
        )
        reference.update(reference.gradients(loss), rate, decay, eps)
        got = np.concatenate([a.reshape(-1) for p in bench.parameters(bench.source) for a in p])
        want = np.concatenate([t.detach().numpy().reshape(-1) for t in reference.tensors])
        out.append(float(np.linalg.norm(got - want) / np.linalg.norm(want)))
    ours, theirs = np.array(losses).T
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * ours[0])
    assert ours[-20:].mean() < 0.5 * ours[:20].mean()  # something is learned
    return out


def test_a3c_updates_track_pytorch(seed: int) -> None:
    """300 updates in binary32 beside PyTorch in binary64.

    Rounding every parameter 300 times at 2**-24 costs at most 2e-5; 3e-7 were seen.
    """
    distance = track(NET_T, TINY, seed, 300)
    print(f"relative difference after 10, 300 updates: {distance[9]:.2e}, {distance[-1]:.2e}")
    assert max(distance[:10]) < 1e-6 and max(distance) < 2e-5


@pytest.mark.slow
def test_a3c_many_updates_track_pytorch(seed: int) -> None:
    """As above, longer: now and then a ReLU switches in one and not yet in the other."""
    distance = track(NET_S, SMALL, seed, 800)
    print(f"relative difference after 10, 800 updates: {distance[9]:.2e}, {distance[-1]:.2e}")
    assert max(distance[:10]) < 1e-6 and max(distance) < 1e-3


# Clocks and beats.

FIGURES = {  # of the paper's network, 64 elements, LA = 4: clocks of FW, and of GC and BW of 5
    0: (25700, 130000, None),
    1: (10537, 52245, 51840),
    2: (10372, 51860, 52480),
    3: (1028, 1300, 640),
}


def test_a3c_timing_of_the_papers_network() -> None:
    """The closed forms, worked out by hand for each layer."""
    for index, (forward, weights, inputs) in FIGURES.items():
        assert timing.stage_clocks(NET_A, index, timing.FW, 1, FULL).closed == forward
        assert timing.stage_clocks(NET_A, index, timing.GC, 5, FULL).closed == weights
        if inputs:
            assert timing.stage_clocks(NET_A, index, timing.BW, 5, FULL).closed == inputs
    inference = timing.inference_clocks(NET_A, 1, FULL)
    training = timing.training_clocks(NET_A, 5, FULL)
    assert (inference.closed, inference.ideal) == (47637, 46464)
    assert (training.closed, training.ideal) == (340365, 336640)


@pytest.mark.parametrize(
    ("la", "forward", "training"),
    [(3, 47380, 340360), (5, 50487, 340375), (6, 53594, 340641), (8, 59808, 341173)],
)
def test_a3c_timing_with_other_adders(la: int, forward: int, training: int) -> None:
    geometry = replace(FULL, la=la)
    assert timing.inference_clocks(NET_A, 1, geometry).closed == forward
    assert timing.training_clocks(NET_A, 5, geometry).closed == training


@pytest.mark.parametrize(
    ("n_pe", "forward", "training"),
    [(16, 186950, 1349470), (32, 93989, 675745), (64, 47637, 340365), (128, 29904, 175565)],
)
def test_a3c_timing_of_other_arrays(n_pe: int, forward: int, training: int) -> None:
    """The planner's lanes, and the clocks that they give."""
    geometry = replace(FULL, n_pe=n_pe, pb_training=max(4096, 64 * n_pe))
    network = plan(NET_A.layers, geometry)
    assert validate(network.encode(), geometry) == network
    assert timing.inference_clocks(network, 1, geometry).closed == forward
    assert timing.training_clocks(network, 5, geometry).closed == training


@pytest.mark.parametrize(
    ("samples", "clocks", "ideal"),
    [(1, 79081, 67328), (2, 136658, 134656), (4, 272292, 269312), (8, 544584, 538624)],
)
def test_a3c_timing_of_other_batches(samples: int, clocks: int, ideal: int) -> None:
    training = timing.training_clocks(NET_A, samples, FULL)
    assert (training.closed, training.ideal) == (clocks, ideal)


def test_a3c_planner_finds_the_networks_lanes() -> None:
    for network, geometry in ((NET_A, FULL), (NET_S, SMALL), (NET_T, TINY)):
        assert plan(network.layers, geometry) == network


def issue(rounds: list[tuple[int, int]], la: int) -> int:
    """Clocks of an issuer that looks at its last la - 1 issues, clock by clock."""
    queue = [context for first, last in rounds for context in range(first, last)]
    history: list[int | None] = [None] * (la - 1)
    at = 0
    while at < len(queue):
        held = queue[at] in history[len(history) - (la - 1) :]
        history.append(None if held else queue[at])
        at += not held
    return len(history) - (la - 1)


@pytest.mark.parametrize("la", [2, 3, 4, 8])
@pytest.mark.parametrize("network", [NET_S, NET_T, ODD, FLAT])
def test_a3c_timing_is_the_issuers_rule(network: Network, la: int) -> None:
    """Every loop's clocks against an issuer that is stepped; the closed form where it is exact."""
    geometry = replace(SMALL, la=la)
    for index, layer in enumerate(network.layers):
        for stage in (timing.FW, timing.GC, timing.BW):
            for loop in timing.stage_loops(network, index, stage, 2, geometry):
                steps = min(loop.steps, 40)
                short = replace(loop, tiles=1, steps=steps)
                stepped = issue(list(loop.rounds) * steps, la)
                assert short.clocks(la) == stepped
                assert short.issued == sum(b - a for a, b in loop.rounds) * steps
                if min(b - a for a, b in loop.rounds) > la:
                    assert short.closed(la) == stepped
            clocks = timing.stage_clocks(network, index, stage, 2, geometry)
            if stage != timing.BW:  # of BW, products with pixels that are left over fall away
                assert clocks.issued * geometry.n_pe >= 2 * layer.macs
                assert clocks.stepped <= clocks.closed
            assert clocks.issued <= clocks.stepped


def test_a3c_traffic_of_a_routine() -> None:
    """Beats of the paper's network beside its Table 2, whose rows leave padding and biases out."""
    parts = traffic.routine(NET_A, 5, copy=True)
    beats = {name: (part.reads, part.writes) for name, part in parts.items()}
    assert beats == {
        "parameter sync": (42773, 42773),
        "inference parameters": (6 * 42773, 0),
        "inference maps": (6 * 2016, 5 * 946 + 2),
        "training parameters": (512 + 41472 + 512, 0),
        "training update": (2 * 42773, 2 * 42773),
        "training maps": (5 * 2962, 0),
    }
    assert traffic.total(parts) == traffic.Traffic(454359, 133051)
    pointer = traffic.total(traffic.routine(NET_A, 5, copy=False))
    assert (pointer.reads, pointer.writes) == (411586, 90278)
    batch = traffic.inference(NET_A, 5)  # convolutions' parameters come once a sample
    assert batch["inference parameters"].reads == 5 * (257 + 514) + 41488 + 514
    assert batch["inference maps"] == traffic.Traffic(5 * 2016, 5 * 946)
    rows = traffic.PAPER_KIB
    assert rows.keys() == parts.keys()
    assert sum(row[0] for row in rows.values()) == 27130 != traffic.PAPER_TOTAL_KIB[0]
    assert sum(row[1] for row in rows.values()) == traffic.PAPER_TOTAL_KIB[1]


def test_a3c_counters_are_the_models() -> None:
    bench = Bench(NET_T, TINY)
    bench.put_objective(np.ones((3, 7), np.float32), HyperParameters.make(1e-3))
    first = bench.infer([0], descriptor.FLAG_BOOTSTRAP)
    second = bench.run(bench.training(3))
    copy = Task(SYNC, flags=descriptor.FLAG_ORDERED, source=bench.source, target=bench.target)
    assert bench.run(copy).count == 2
    assert bench.run(replace(copy, flags=0)).count == 0
    inference = timing.inference_clocks(NET_T, 1, TINY)
    training = timing.training_clocks(NET_T, 3, TINY)
    counter = bench.engine.counter
    assert counter("CU0_ISSUE") == inference.issued
    assert counter("CU0_ISSUE") + counter("CU0_ST_CTX") == inference.stepped
    assert counter("CU1_ISSUE") + counter("CU1_ST_CTX") == training.stepped
    assert (counter("CU0_TASKS"), counter("CU1_TASKS")) == (1, 3)
    assert (first.cycles, second.cycles) == (200 + inference.stepped, 200 + training.stepped)
    assert (first.detail, second.detail) == (0x10, 0x31)
    parts = [traffic.inference(NET_T, 1, False), traffic.training(NET_T, 3), traffic.sync(NET_T)]
    reads = sum(traffic.total(part).reads for part in [*parts, parts[-1]])
    assert counter("PORT0_READ_BEATS") == reads
    bench.engine._counters[registers.PORT_READ_BEATS_LO.offset] = (3 << 32) + reads
    assert bench.engine.read_register(registers.PORT_READ_BEATS_LO.offset) == reads
    assert bench.engine.read_register(registers.PORT_READ_BEATS_LO.offset + 4) == 3  # latched
    assert [counter(name) for name in ("INF", "BOOT", "TRAIN", "SYNC")] == [0, 1, 1, 2]
