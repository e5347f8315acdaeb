"""The sparse engine at job level: registers, images, every error with a good job after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flow.configuration import Config, load_config
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.sparse import Sparse
from jackdaw.errors import ConfigError, DeviceAccessError, JobError
from models.registers import sparse as registers
from models.sparse.formats import (
    MAGIC,
    Flag,
    Instruction,
    Kind,
    Layer,
    Op,
    Opcode,
    Tensor,
    image_words,
    lines,
    of_lines,
    table_words,
)
from models.sparse.ic3net import ENC, HED, LST, NAMES
from tests.sparse.golden import small, start

END = Instruction(Op.END)
ONES = (1, 1, 1)


class Bench:
    """A device with a configured network, and a step whose outputs are known.

    Attributes:
        driver: of the engine.
        obs, silent, dout: arguments of its methods.
    """

    def __init__(self, device: Any, **changes: Any) -> None:
        self.device = device
        self.driver = Sparse(device)
        self.ring = self.driver.rings[0]
        self.settings = small(split="vec", **changes)
        self.rng = np.random.default_rng(3)
        self.driver.configure(self.settings)
        self.parameters = start(self.settings, self.driver.geometry, self.rng)
        v = self.settings.sizes.vectors
        self.obs = self.rng.normal(size=(v, self.settings.observations))
        self.silent = np.zeros(v)
        self.dout = np.zeros((self.settings.steps, v, 8))
        self.driver.load(self.parameters)
        self.scratch = device.alloc(1 << 16)
        self.want = self.step()

    def step(self) -> np.ndarray:
        """The first step of episodes."""
        self.driver.begin()
        logits, values = self.driver.step(self.obs, np.zeros(len(self.obs), bool))
        return np.concatenate([logits, values[:, None]], axis=1)

    def good(self, load: bool = False) -> None:
        """A good job after a bad one: everything works as before."""
        if load:
            self.driver.configure(self.settings)
            self.driver.load(self.parameters)
        self.driver.regroup()
        assert np.array_equal(self.step(), self.want)

    def submit(self, *words: int) -> Any:
        return self.ring.submit(list(words)).wait()

    def job(self, opcode: int, size: int, address: int, **_: Any) -> Any:
        return self.submit(opcode, 0, size, 0, address & 0xFFFF_FFFF, address >> 32)

    def config(self, words: np.ndarray) -> Any:
        """A CONFIG job."""
        self.device.write(self.scratch, words)
        return self.job(Opcode.CONFIG, words.nbytes, self.scratch)

    def run(self, program: Sequence[Instruction], ended: bool = True) -> Any:
        """A RUN job."""
        many = [*program, END] if ended else list(program)
        raw = np.array([w for one in many for w in one.encode()], np.uint32)
        self.device.write(self.scratch, raw)
        return self.job(Opcode.RUN, len(many), self.scratch)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_device("model", "sparse") as device:
        yield Bench(device)


def refused(code: str, call: Callable[[], Any]) -> JobError:
    """The error that a call ends with."""
    kind = getattr(errors, errors.class_name("sparse", code))
    with pytest.raises(kind) as found:
        call()
    assert isinstance(found.value, JobError)
    return found.value


# ---- Registers, images ----
def test_capabilities_are_those_of_the_build(bench: Bench) -> None:
    g = bench.driver.geometry
    want = load_config("sparse").instance("sparse").fields
    assert {name: getattr(g, name) for name in want if name != "mul_latency"} == {
        name: value for name, value in want.items() if name != "mul_latency"
    }


def test_settings_are_idle_only_words(bench: Bench) -> None:
    page = bench.driver.info.page * 4096
    for register in (registers.LR, registers.AGENTS):
        before = bench.driver.read(register.offset)
        bench.driver.write(register.offset, 0x41)
        assert bench.driver.read(register.offset) == 0x41
        bench.driver.write(register.offset, before)
    for offset in (registers.CAP0.offset, 0x400):
        with pytest.raises(DeviceAccessError):
            bench.device.write32(page + offset, 1)


def test_the_generator_is_loaded_by_its_last_word(bench: Bench) -> None:
    words = [0x0123456789ABCDEF, 2, 3, 0xFEDCBA9876543210]
    bench.driver.seed(words)
    found = [bench.driver.read(registers.SEED.at(k)) for k in range(8)]
    assert found == [w >> shift & 0xFFFF_FFFF for w in words for shift in (0, 32)]
    bench.driver.write(registers.SEED.at(0), 7)
    assert bench.driver.read(registers.SEED.at(0)) == found[0]


def test_images_come_back(bench: Bench) -> None:
    memories = bench.driver.memories()
    rng = np.random.default_rng(5)
    for arrays in memories.values():
        for key, array in arrays.items():
            low, high = (-128, 127) if array.dtype == np.int8 else (-9, 9)
            low = 0 if key in {"weight_square", "bias_square", "states"} else low
            arrays[key] = rng.uniform(low, high, array.shape).astype(array.dtype)
    bench.driver.load_memories(memories)
    found = bench.driver.memories()
    for name, arrays in memories.items():
        for key, array in arrays.items():
            assert np.array_equal(found[name][key], array), (name, key)
    bench.good(load=True)


@pytest.mark.parametrize("kinds", [Kind.W, Kind.V, Kind.BIAS, Kind.GROUP | Kind.GSTATE, Kind.GROUP])
def test_a_load_of_some_kinds_leaves_the_others(bench: Bench, kinds: Kind) -> None:
    """But W clears V, and GROUP clears GSTATE, unless they come with it."""
    rng = np.random.default_rng(6)
    before = bench.driver.memories()
    for arrays in before.values():
        for key in {"weight_square", "bias_square", "states"} & arrays.keys():
            arrays[key] = rng.random(arrays[key].shape, np.float32)
    bench.driver.load_memories(before)
    layer = bench.driver.layers[LST]
    words = sum(image_words(layer, kinds).values())
    image = rng.integers(0, 1 << 30, words, dtype=np.uint32)
    bench.device.write(bench.scratch, image)
    record = bench.job(Opcode.LOAD, 1 << LST | int(kinds) << 8, bench.scratch)
    assert record.count == 4 * words // 64
    bench.job(Opcode.STORE, 1 << LST | int(kinds) << 8, bench.scratch)
    stored = bench.device.read(bench.scratch, 4 * words).view(np.uint32)
    kept = stored != 0
    assert np.array_equal(stored[kept], image[kept]) and kept.mean() > 0.4
    after = bench.driver.memories()
    touched = {
        Kind.W: {"weight", "weight_square"}, Kind.V: {"weight_square"},
        Kind.BIAS: {"bias", "bias_square"}, Kind.GROUP: {"ig", "og", "states"},
        Kind.GROUP | Kind.GSTATE: {"ig", "og", "states"},
    }[kinds]  # fmt: skip
    for name, arrays in before.items():
        for key, array in arrays.items():
            same = np.array_equal(array.view(np.uint8), after[name][key].view(np.uint8))
            assert same or (name == "lst" and key in touched), (name, key)
    if Kind.W in kinds:
        assert not after["lst"]["weight_square"].any()
    if kinds == Kind.GROUP:
        assert not after["lst"]["states"].any()
    bench.good(load=True)


def test_lines_and_tensors_with_skew(bench: Bench) -> None:
    """What LOADA writes with a skew, STOREA reads with the same one."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(12, 16)).astype(np.float16)
    address = bench.scratch + 4096
    assert np.array_equal(of_lines(lines(values)), values)
    bench.device.write(address, lines(values))
    out = address + 8192
    for skew in range(8):
        a = Tensor(40, skew, 5)
        load = Instruction(Op.LOADA, post=1, tiles=ONES, a=a, address=address, value=2)
        store = Instruction(Op.STOREA, wait=1, tiles=ONES, a=a, address=out, value=2)
        bench.device.write(out, np.zeros(384, np.uint8))
        bench.run([load, store])
        raw = bench.device.read(out, 384).view(np.uint16).reshape(3, 2, 8, 4)
        assert np.array_equal(of_lines(raw), values)
        moved = replace(store, a=Tensor(40, (skew + 1) % 8, 5))
        bench.run([load, moved])
        other = bench.device.read(out, 384).view(np.uint16).reshape(3, 2, 8, 4)
        assert not np.array_equal(other, raw)
    bench.good()


def test_rows_over_cores_share_an_image(bench: Bench) -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(4, 8)).astype(np.float16)
    address, out = bench.scratch + 4096, bench.scratch + 8192
    bench.device.write(address, lines(values))
    a = Tensor(3, 0, 1)
    program = [
        Instruction(Op.LOADA, 0, Flag.ROW, post=1, tiles=ONES, a=a, address=address, value=1),
        Instruction(Op.STOREA, wait=1, tiles=ONES, a=a, address=out, value=1),
    ]
    bench.run(program)
    raw = bench.device.read(out, 192).view(np.uint16).reshape(3, 1, 8, 4)
    assert all(np.array_equal(of_lines(raw[k : k + 1]), values) for k in range(3))
    bench.good()


def test_zeros_are_written(bench: Bench) -> None:
    a, out = Tensor(3, 0, 1), bench.scratch + 8192
    bench.device.write(out, np.full(192, 255, np.uint8))
    bench.run([
        Instruction(Op.ZEROA, post=1, tiles=ONES, a=a, value=1),
        Instruction(Op.STOREA, wait=1, tiles=ONES, a=a, address=out, value=1),
    ])  # fmt: skip
    assert not bench.device.read(out, 192).any()
    bench.good()


def test_counters_count(bench: Bench) -> None:
    before = bench.driver.statistics()
    bench.good()
    after = bench.driver.statistics()
    macs = 0
    encodings = {}
    for name, layer in zip(NAMES, bench.driver.layers, strict=True):
        arrays = bench.parameters[name]
        ig = arrays["ig"].argmax(1) if layer.groups > 1 else np.zeros(layer.m)
        og = arrays["og"].argmax(1) if layer.groups > 1 else np.zeros(layer.n)
        encodings[name] = (ig[:, None] == og[None, :]).sum()
        macs += int(encodings[name])
    tiles = sum(bench.driver.layout.chunks[0].tiles)
    assert after["useful_macs"] - before["useful_macs"] == 4 * tiles * macs
    chunk, layout = bench.driver.layout.chunks[0], bench.driver.layout
    parts, encoded = len(layout.forward_parts(chunk)), len(layout.encoder_parts(chunk))
    ops = 2 * parts + encoded + 1  # communication and LSTM, encoder, heads
    assert after["vpu_ops"] - before["vpu_ops"] == ops
    assert after["stage"]["FORWARD"] > before["stage"]["FORWARD"]
    assert all(after["unit_busy"][u] > before["unit_busy"][u] for u in ("VPU", "DMA", "ELEM"))
    assert sum(after["core_load"]) <= encodings["hed"]


# ---- Errors ----
def layers_with(**changes: Any) -> Callable[[Bench], Any]:
    """A CONFIG whose layer 1 is changed."""

    def call(bench: Bench) -> Any:
        table = list(bench.driver.layers)
        table[1] = replace(table[1], **changes)
        return bench.config(table_words(table))

    return call


def table_with(index: int, value: int) -> Callable[[Bench], Any]:
    """A CONFIG with a word changed."""

    def call(bench: Bench) -> Any:
        words = table_words(bench.driver.layers)
        words[index] = value
        return bench.config(words)

    return call


BAD_TABLES: dict[str, tuple[str, Callable[[Bench], Any]]] = {
    "no rows": ("E_DIM", layers_with(m=0)),
    "too many columns": ("E_DIM", layers_with(n=65)),
    "three groups": ("E_DIM", layers_with(groups=3)),
    "more groups than the build": ("E_DIM", layers_with(groups=16)),
    "no tiles": ("E_DIM", layers_with(tiles=0)),
    "nine tiles": ("E_DIM", layers_with(tiles=9)),
    "split sums with groups": ("E_DIM", layers_with(split_log2=1, n=4)),
    "split sums wider than a bank": ("E_DIM", layers_with(split_log2=1, groups=1, n=8)),
    "dX from the end": ("E_DIM", layers_with(dx_from=32)),
    "no layers": ("E_DIM", table_with(1, 0)),
    "layers that do not follow": ("E_DIM", table_with(1, 5)),
    "another magic word": ("E_PROGRAM", table_with(0, MAGIC + 1)),
    "a header's spare word": ("E_RESERVED", table_with(5, 1)),
    "a layer's spare bit": ("E_RESERVED", table_with(16 + 1, 1 << 30 | 4)),
    "a layer's spare word": ("E_RESERVED", table_with(2 * 16 + 9, 1)),
    "weights beyond the memory": ("E_PARAM", layers_with(w_base=8192 - 64)),
    "weights over those of layer 0": ("E_PARAM", layers_with(w_base=64)),
    "weights between two lines": ("E_PARAM", layers_with(w_base=4000)),
    "biases beyond the memory": ("E_PARAM", layers_with(b_base=255)),
    "grouping over that of layer 0": ("E_PARAM", layers_with(g_base=0)),
    "states beyond the memory": ("E_PARAM", layers_with(s_base=500)),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_refused(bench: Bench, case: str) -> None:
    code, call = BAD_TABLES[case]
    error = refused(code, lambda: call(bench))
    assert error.detail == 0 and error.count == 0
    bench.good()  # the network of before is still there


def test_a_layers_number_is_told(bench: Bench) -> None:
    assert refused("E_DIM", lambda: layers_with(m=0)(bench)).info[0] == 1
    assert refused("E_RESERVED", lambda: table_with(3 * 16 + 9, 1)(bench)).info[0] == 2
    bench.good()


def descriptor(*words: int) -> Callable[[Bench], Any]:
    return lambda bench: bench.submit(*words)


HUGE = (1 << 40) - 64
BAD_JOBS: dict[str, tuple[str, Callable[[Bench], Any]]] = {
    "opcode 9": ("E_OPCODE", descriptor(9)),
    "opcode 5": ("E_OPCODE", descriptor(5)),
    "flags": ("E_RESERVED", descriptor(Opcode.RUN | 1 << 8, 0, 1)),
    "word 3": ("E_RESERVED", descriptor(Opcode.STORE, 0, 0x101, 1)),
    "word 9": ("E_RESERVED", descriptor(Opcode.RUN, 0, 1, 0, 64, 0, 0, 0, 0, 5)),
    "an address of 41 bits": ("E_RESERVED", descriptor(Opcode.RUN, 0, 1, 0, 0, 1 << 8)),
    "a program between two lines": ("E_ALIGN", lambda b: b.job(4, 1, b.scratch + 4)),
    "an image between two lines": ("E_ALIGN", lambda b: b.job(3, 0x101, b.scratch + 8)),
    "a table of half a line": ("E_ALIGN", lambda b: b.job(1, 160, b.scratch)),
    "a program past the end": ("E_ADDR", lambda b: b.job(4, 3, HUGE)),
    "an image past the end": ("E_ADDR", lambda b: b.job(3, 0x107, HUGE)),
    "no instructions": ("E_DIM", lambda b: b.job(4, 0, b.scratch)),
    "no layers": ("E_DIM", lambda b: b.job(3, 0x100, b.scratch)),
    "no kinds": ("E_DIM", lambda b: b.job(2, 0x001, b.scratch)),
    "a layer that is not there": ("E_DIM", lambda b: b.job(3, 0x110, b.scratch)),
    "a table of a header": ("E_DIM", lambda b: b.job(1, 64, b.scratch)),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_JOBS)
def test_a_bad_descriptor_is_refused(bench: Bench, case: str) -> None:
    code, call = BAD_JOBS[case]
    refused(code, lambda: call(bench))
    bench.good()


def one(op: int, flags: int = 0, **more: Any) -> Instruction:
    return Instruction(op, 0, flags, **{"tiles": ONES, **more})


def job(op: int, flags: int = 0, **more: Any) -> Instruction:
    return Instruction(op, 0, flags, **more)


A = Tensor(0, 0, 1)
FAR = Tensor(1024, 0, 1)
GROUPING = [job(Op.CLRG, post=1), job(Op.ENC, layer=LST, post=2)]
PLANNED = [*GROUPING, job(Op.PLAN, layer=LST, wait=3)]
READY = [*PLANNED, job(Op.COMP, layer=LST), job(Op.COMPT, layer=LST, post=4)]
X = one(Op.FX, layer=LST, a=A, neurons=32)
Y = one(Op.FY, layer=LST, a=A, neurons=64)
FW = one(Op.FW, layer=LST)
DW = one(Op.DW, layer=LST, wait=4, post=8)
BAD_PROGRAMS: dict[str, tuple[str, int, list[Instruction]]] = {
    # Instructions as they are fetched: code, instruction at fault, program.
    "op 0x53": ("E_OPCODE", 0, [job(0x53)]),
    "unit 9": ("E_OPCODE", 1, [job(Op.CLRG), job(0x90)]),
    "unit 0": ("E_OPCODE", 0, [job(0x01)]),
    "a flag of another op": ("E_RESERVED", 0, [one(Op.FW, Flag.BIAS, layer=LST)]),
    "a flag that is not there": ("E_RESERVED", 0, [job(Op.CLRG, 1 << 12)]),
    "tiles of an op without": ("E_RESERVED", 0, [one(Op.ENC, layer=LST)]),
    "a tensor of an op without": ("E_RESERVED", 0, [one(Op.FW, layer=LST, d=Tensor(1, 0, 0))]),
    "SECOND with ADDEND": (
        "E_RESERVED", 0, [one(Op.LIN, Flag.SECOND | Flag.ADDEND, layer=LST, value=8)]
    ),
    "SECOND with GATES": (
        "E_RESERVED", 0,
        [one(Op.FX, Flag.SECOND | Flag.GATES, layer=LST, value=8, neurons=64)],
    ),
    "LOADA between two lines": (
        "E_ALIGN", 0, [one(Op.LOADA, a=A, address=68, value=1)]
    ),
    "STOREA between two lines": (
        "E_ALIGN", 0, [one(Op.STOREA, a=A, address=32, value=1)]
    ),
    "LOADA past the end": ("E_ADDR", 0, [one(Op.LOADA, a=A, address=HUGE, value=1)]),
    "no tile": ("E_DIM", 0, [job(Op.FW, layer=LST)]),
    "nine tiles": ("E_DIM", 0, [one(Op.ZEROA, a=A, value=1, tiles=(9, 0, 0))]),
    "no lines": ("E_DIM", 0, [one(Op.ZEROA, a=A)]),
    "a layer that is not there": ("E_DIM", 0, [job(Op.ENC, layer=5)]),
    "cores with other tiles in ROW split": (
        "E_DIM", 0, [one(Op.FW, Flag.ROW, layer=LST, tiles=(1, 2, 1))]
    ),
    "neurons of no operand": ("E_DIM", 0, [one(Op.FX, layer=LST, a=A, neurons=24)]),
    "a first tensor that is all": (
        "E_DIM", 0, [one(Op.FX, Flag.SECOND, layer=LST, a=A, value=32, neurons=32)]
    ),
    "bias sums of inputs": ("E_DIM", 0, [one(Op.FX, Flag.BSUM, layer=LST, a=A, neurons=32)]),
    "gates of a layer without": ("E_DIM", 0, [one(Op.LSTMF, layer=ENC, a=A, d=A)]),
    "a border inside an episode": (
        "E_DIM", 0, [one(Op.CF, a=A, b=A, d=A, value=1, neurons=16, tiles=(0, 1, 0))]
    ),
    "UPDG without groups": ("E_DIM", 0, [job(Op.UPDG, layer=HED)]),
    "LOADA past the store": ("E_RANGE", 0, [one(Op.LOADA, a=FAR, address=0, value=1)]),
    "tiles past the store": (
        "E_RANGE", 0, [one(Op.ZEROA, a=Tensor(1020, 0, 4), value=1, tiles=(2, 0, 0))]
    ),
    "an operand past the store": ("E_RANGE", 0, [one(Op.FX, layer=LST, a=FAR, neurons=32)]),
    "a block past the store": (
        "E_RANGE", 0, [one(Op.LSTMF, layer=LST, a=Tensor(1010, 0, 0), d=A)]
    ),
    # Instructions as they start.
    "results past the store": (
        "E_RANGE", 7, [*READY, replace(X, wait=4), FW, one(Op.LIN, layer=LST, d=Tensor(1023, 0, 0))]
    ),
    "FW of the other split": (
        "E_STALE", 6, [*READY, replace(X, wait=4), one(Op.FW, Flag.ROW, layer=LST)]
    ),
    "FW before COMP": ("E_STALE", 5, [*PLANNED, job(Op.CLRG, post=4), replace(X, wait=4), FW]),
    "COMP before PLAN": ("E_STALE", 2, [*GROUPING, job(Op.COMP, layer=LST, wait=3)]),
    "COMP after UPDG": (
        "E_STALE", 6,
        [*READY, job(Op.UPDG, layer=LST, wait=4, post=8), job(Op.COMP, layer=LST, wait=8)],
    ),
    "UPD after UPD": (
        "E_STALE", 6,
        [*READY, job(Op.UPD, layer=LST, wait=4), job(Op.UPD, layer=LST)],
    ),
    "PLAN after DW": ("E_STALE", 8, [*READY, X, Y, DW, job(Op.PLAN, layer=LST, wait=8)]),
    "an operand of another size": (
        "E_DIM", 6, [*READY, one(Op.FX, layer=LST, a=A, neurons=64, wait=4), FW]
    ),
    "an operand with other tiles": (
        "E_DIM", 6, [*READY, replace(X, wait=4), one(Op.FW, layer=LST, tiles=(1, 0, 0))]
    ),
    "results of another layer": (
        "E_DIM", 7, [*READY, replace(X, wait=4), FW, one(Op.LIN, layer=ENC, d=A)]
    ),
    "a bias for dX": (
        "E_DIM", 7,
        [
            *READY, one(Op.FX, layer=LST, a=A, neurons=64, wait=4), one(Op.DX, layer=LST),
            one(Op.LIN, Flag.BIAS, layer=LST, d=A),
        ],
    ),
    "a wait that nobody posts": ("E_DEADLOCK", 1, [job(Op.CLRG), job(Op.ENC, layer=ENC, wait=1)]),
    "LIN without results": ("E_DEADLOCK", 0, [one(Op.LIN, layer=LST, d=A)]),
    "two units that wait for each other": (
        "E_DEADLOCK", 0,
        [job(Op.ENC, layer=ENC, wait=1, post=2), job(Op.CLRG, wait=2, post=1)],
    ),
    "a queue that never empties": (
        "E_DEADLOCK", 0, [job(Op.ENC, layer=ENC, wait=1)] * 9 + [job(Op.CLRG, post=1)]
    ),
    "16 posts": ("E_SEMAPHORE", 15, [job(Op.CLRG, post=1)] * 16),
    "16 posts of the last": ("E_SEMAPHORE", 16, [job(Op.CLRG)] + [job(Op.CLRG, post=1 << 15)] * 16),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PROGRAMS)
def test_a_bad_program_ends_with_an_error(bench: Bench, case: str) -> None:
    code, at, program = BAD_PROGRAMS[case]
    error = refused(code, lambda: bench.run(program))
    assert error.detail == at and error.info[0] == at
    bench.good(load=True)


def test_a_program_has_one_end(bench: Bench) -> None:
    clear = job(Op.CLRG)
    assert refused("E_PROGRAM", lambda: bench.run([clear, clear], ended=False)).detail == 1
    assert refused("E_PROGRAM", lambda: bench.run([clear, END, clear])).detail == 1
    record = bench.run([clear])
    assert record.count == 2 and bench.driver.read(registers.PC.offset) == 2
    bench.good()


def test_fifteen_posts_are_allowed(bench: Bench) -> None:
    waits = [job(Op.ENC, layer=ENC, wait=1)] * 15
    bench.run([job(Op.CLRG, post=1)] * 15 + waits)
    bench.good()


@pytest.mark.parametrize(("name", "value"), [("EPS", 0.0), ("EPS", -1.0), ("LR", np.inf),
                                             ("GSCALE", np.nan), ("INV", -np.inf)])  # fmt: skip
def test_numbers_are_finite(bench: Bench, name: str, value: float) -> None:
    offset = getattr(registers, name).offset
    before = bench.driver.read(offset)
    bench.driver.write(offset, int(np.float32(value).view(np.uint32)))
    refused("E_HPARAM", bench.driver.regroup)
    bench.driver.write(offset, before)
    bench.good()


@pytest.mark.parametrize("name", ["AGENTS", "EPISODES"])
def test_communication_wants_agents_and_episodes(bench: Bench, name: str) -> None:
    offset = getattr(registers, name).offset
    before = bench.driver.read(offset)
    bench.driver.write(offset, 0)
    refused("E_DIM", bench.step)
    bench.driver.write(offset, before)
    bench.good()


def test_a_run_comes_after_config() -> None:
    with open_device("model", "sparse") as device:
        driver = Sparse(device)
        address = device.alloc(4096)
        with pytest.raises(getattr(errors, "SparseProgramError")):  # noqa: B009
            driver.execute(address, 1)
        with pytest.raises(ConfigError):
            driver.step(np.zeros((1, 1)), np.zeros(1))


SMALLER = {"SparseWRows": 16, "SparseGRows": 8, "SparseRRows": 36, "SparseWinMax": 2}


@pytest.mark.parametrize("parameter", SMALLER)
def test_a_plan_that_does_not_fit_ends_with_an_error(parameter: str) -> None:
    config: Config = load_config("sparse")
    config = config.changed({f"sparse.{parameter}": SMALLER[parameter]}, "less")
    with open_device("model", config) as device:
        driver = Sparse(device)
        settings = small(split="vec")
        driver.configure(settings)
        rng = np.random.default_rng(1)
        parameters = start(settings, driver.geometry, rng)
        with pytest.raises(getattr(errors, "SparsePlanError")) as found:  # noqa: B009
            driver.load(parameters)
        assert found.value.detail in (2, 5, 9, 13)  # one of the four PLANs
        tiny = small(split="vec", hidden=8, groups=1, observations=8, episodes=3, agents=1)
        if parameter in ("SparseRRows",):
            return  # no network is small enough
        driver.configure(tiny)
        with pytest.raises(getattr(errors, "SparsePlanError")):  # noqa: B009
            driver.load(start(tiny, driver.geometry, rng))


def test_bus_errors_end_the_job(bench: Bench) -> None:
    device, scratch = bench.device, bench.scratch
    a = Tensor(0, 0, 1)
    load = one(Op.LOADA, a=a, address=scratch + 8192, value=1)
    store = one(Op.STOREA, a=a, address=scratch + 8192, value=1)
    bench.driver.memories()
    image = bench.driver.buffer("image", 64)
    cases: list[tuple[str, int, int, Callable[[], Any]]] = [
        ("E_BUS_RD", scratch, 1, lambda: bench.run([load])),
        ("E_BUS_RD", scratch + 8192, 1, lambda: bench.run([load])),
        ("E_BUS_RD", scratch + 64, 1, lambda: layers_with()(bench)),
        ("E_BUS_RD", image + 128, 1, lambda: bench.driver.load(bench.parameters)),
        ("E_BUS_WR", scratch + 8192, 2, lambda: bench.run([store])),
        ("E_BUS_WR", image + 64, 2, bench.driver.memories),
    ]
    for code, address, direction, call in cases:
        device.inject(address, 64, 2, direction)
        error = refused(code, call)
        assert error.info[1] == 2
        device.clear_faults()
        bench.good(load=True)


# ---- Resets, skipped updates ----
def test_a_soft_reset_makes_all_layers_stale(bench: Bench) -> None:
    before = bench.driver.memories()
    bench.driver.soft_reset()
    refused("E_STALE", bench.step)
    after = bench.driver.memories()
    for name, arrays in before.items():
        assert all(np.array_equal(after[name][key], array) for key, array in arrays.items())
    bench.good()


@pytest.mark.parametrize("bad", [np.inf, 1e6])
def test_an_update_with_an_infinity_is_skipped(bench: Bench, bad: float) -> None:
    """Nothing changes and nothing is drawn; OVF counts one, and the next update works."""
    s = bench.settings
    bench.driver.begin()
    for _ in range(s.steps):
        bench.driver.step(bench.obs, np.ones(len(bench.obs)))
    dout = np.full((s.steps, len(bench.obs), 8), 0.01)
    with np.errstate(over="ignore"):
        dout[2, 1, 3] = np.float32(bad) if np.isfinite(bad) else 7e4
    before, seeds = bench.driver.memories(), bench.driver.state()["generator"]
    skipped = bench.driver.statistics()["skipped"]
    assert bench.driver.train(dout, 1.0, 1.0).skipped
    after = bench.driver.memories()
    for name, arrays in before.items():
        assert all(np.array_equal(after[name][key], array) for key, array in arrays.items())
    assert bench.driver.state()["generator"] == seeds
    assert bench.driver.statistics()["skipped"] == skipped + 1
    assert bench.driver.read(registers.NONFINITE.offset) == 0  # CLRG of the next iteration
    dout[2, 1, 3] = 0
    bench.driver.begin()
    for _ in range(s.steps):
        bench.driver.step(bench.obs, np.ones(len(bench.obs)))
    assert not bench.driver.train(dout, 1.0, 1.0).skipped
    assert bench.driver.state()["generator"] != seeds
    bench.good(load=True)


# ---- Driver ----
def test_a_network_that_does_not_fit_names_the_parameter() -> None:
    with open_device("model", "sparse") as device:
        driver = Sparse(device)
        for changes, name in (
            ({"hidden": 32}, "SparseDMax"),
            ({"groups": 16}, "SparseGMax"),
            ({"steps": 200}, "SparseARows"),
        ):
            with pytest.raises(ConfigError, match=name):
                driver.configure(small(**changes))


WRONG: dict[str, tuple[str, Callable[[Any], Any]]] = {  # of a Bench, whose types are not held
    "three groups": ("groups: got 3", lambda b: small(groups=3)),
    "64 groups": ("groups: got 64", lambda b: small(groups=64)),
    "hidden": ("multiple of 8", lambda b: small(hidden=12)),
    "no agents": ("agents: got 0", lambda b: small(agents=0)),
    "no episodes": ("episodes: got 0", lambda b: small(episodes=0)),
    "a rate that is no number": ("rate: got nan", lambda b: small(rate=np.nan)),
    "eps that is 0 in FP32": ("eps: got 1e-50", lambda b: small(eps=1e-50)),
    "settings": ("SparseSettings", lambda b: b.driver.configure({})),
    "a vector too few": ("obs: got shape", lambda b: b.driver.step(b.obs[:-1], b.silent)),
    "a NaN": ("obs: got nan", lambda b: b.driver.step(np.full_like(b.obs, np.nan), b.silent)),
    "beyond FP16": ("obs: got 100000", lambda b: b.driver.step(b.obs * 0 + 1e5, b.silent)),
    "a gate too few": ("gates: got shape", lambda b: b.driver.step(b.obs, b.silent[:-1])),
    "gates of 2": ("gates: got 2", lambda b: b.driver.step(b.obs, b.silent + 2)),
    "gates of texts": ("gates: got <U", lambda b: b.driver.step(b.obs, ["a"] * len(b.obs))),
    "a gradient before the last step": ("got 0 steps, want 5", lambda b: b.driver.backward(b.dout)),
    "no scale": ("scale: got 0", lambda b: b.driver.update(0.0)),
    "a scale that is 0 in FP32": ("scale: got 1e-60", lambda b: b.driver.update(1e-60)),
    "a divisor of 0": ("divisor: got 0", lambda b: b.driver.train(b.dout, 1.0, 0)),
    "no heads": ("got no hed", lambda b: b.driver.load({key: {} for key in NAMES[:-1]})),
    "no layer": ("enc: got None", lambda b: b.driver.load(dict.fromkeys(NAMES))),
    "a program": ("program: got 'x'", lambda b: b.driver.run("x")),
    "an address": ("address: got -64", lambda b: b.driver.execute(-64, 1)),
    "a state": ("no memories", lambda b: b.driver.load_state({})),
    "a generator": (
        "generator: got shape",
        lambda b: b.driver.load_state({**b.driver.state(), "generator": [1]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(bench: Bench, case: str) -> None:
    """Nothing changes, and what comes after works."""
    says, call = WRONG[case]
    bench.driver.begin()
    before = bench.driver.statistics()["vpu_ops"]
    with pytest.raises(ConfigError, match=says):
        call(bench)
    assert bench.driver.statistics()["vpu_ops"] == before
    bench.good()


def test_a_gradient_wants_the_right_shape_and_steps_that_are_there(bench: Bench) -> None:
    s = bench.settings
    bench.driver.begin()
    for _ in range(s.steps):
        bench.driver.step(bench.obs, bench.silent)
    with pytest.raises(ConfigError, match="step 5"):
        bench.driver.step(bench.obs, bench.silent)
    with pytest.raises(ConfigError, match="dout: got shape"):
        bench.driver.backward(bench.dout[..., :7])
    with pytest.raises(ConfigError, match="divisor"):
        bench.driver.train(bench.dout, 1.0, np.nan)
    bench.driver.backward(bench.dout)
    with pytest.raises(ConfigError, match="got 0 steps"):  # the gates have become gradients
        bench.driver.backward(bench.dout)
    bench.good(load=True)


@pytest.mark.parametrize("key", ["weight_square", "bias_square", "states"])
def test_a_mean_square_is_not_negative(bench: Bench, key: str) -> None:
    state = bench.driver.state()
    state["memories"]["lst"][key] = state["memories"]["lst"][key] - 1
    with pytest.raises(ConfigError, match=f"lst {key}: got -"):
        bench.driver.load_state(state)
    bench.good()


def test_without_a_network_nothing_works() -> None:
    """Before `configure`, and after one whose buffers found no room."""
    config = load_config("sparse").changed({"MemSizeLog2": 14}, "less")
    with open_device("model", config) as device:
        driver = Sparse(device)
        calls: list[Callable[[], Any]] = [
            driver.regroup, driver.memories, driver.state, lambda: driver.update(1.0),
            lambda: driver.load_memories({}), lambda: driver.step(np.zeros(1), np.zeros(1)),
        ]  # fmt: skip
        for _ in range(2):
            for call in calls:
                with pytest.raises(ConfigError, match="no network is configured"):
                    call()
            with pytest.raises(errors.DeviceMemoryError):
                driver.configure(small(split="vec"))


def test_layers_survive_their_words() -> None:
    layer = Layer(160, 128, 16, 0, True, 8, 64, 3, 7, 11, 32)
    assert Layer.decode(layer.encode()) == layer
    instruction = one(
        Op.FX, Flag.SECOND, layer=3, a=Tensor(65535, 7, 1023), b=Tensor(1, 2, 3), value=1016,
        neurons=512, wait=0x8001, post=0x7FFE, tiles=(8, 0, 3),
    )  # fmt: skip
    assert Instruction.decode(instruction.encode()) == instruction
