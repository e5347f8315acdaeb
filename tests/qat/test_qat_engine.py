"""The qat engine at job level on the `model` device: jobs, registers, errors, slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from flow import manifest
from flow.configuration import Config, load_config
from flow.effort import scale
from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.drivers.qat import Qat, QatSettings, Source
from models.float import from_fixed
from models.qat import noise, ops, timing
from models.qat.descriptor import Flag, Opcode
from models.qat.engine import QatEngine
from models.qat.layout import ACTOR, CRITIC, Geometry, Slots, plan
from models.qat.records import Transitions, pack
from models.qat.timestep import Datapath, Outcome, Phase, Step
from models.qat.validate import TABLE
from models.registers import qat as registers
from models.registers.map import by_offset
from models.registers.qat import Error
from models.replay.rng import Xoshiro, splitmix64

STATES, ACTIONS, HIDDEN = 5, 2, (20, 13)
SMALL = {"qat.QatLw": 4, "qat.QatVc": 16, "qat.QatWLines": 1024, "qat.QatMaxDim": 64}
BATCH = 24


def small(**changes: int) -> Config:
    """A device with a small engine."""
    return load_config("qat").changed(
        {"MemSizeLog2": 20, "replay.NLog2": 6, "qat.QatAdamLanes": 4, **SMALL}
        | {f"qat.{name}": value for name, value in changes.items()}
    )


def arrays(rng: np.random.Generator, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random layers, exact in 24 bits of fraction."""
    out = []
    for q, p in pairwise(sizes):
        w, b = rng.uniform(-1, 1, (p, q)) / np.sqrt(q), rng.uniform(-0.3, 0.3, p)
        out.append((np.round(w * 2**24) / 2**24, np.round(b * 2**24) / 2**24))
    return out


@dataclass
class Bench:
    """A device with networks and records in memory, and the same networks apart.

    Attributes:
        rows: the records, as they lie at `source`.
    """

    device: Any
    qat: Qat
    source: Source
    rows: Transitions
    state: np.ndarray

    @property
    def engine(self) -> QatEngine:
        """The golden model and its registers."""
        model: QatEngine = self.device._pages[self.qat.info.page - 1].engine
        return model

    def twin(self) -> Datapath:
        """A datapath with the engine's memories and monitors."""
        path, own = Datapath(self.qat.geometry), self.engine.path
        path.table = own.table
        for name in ("w", "t", "g", "m", "v"):
            getattr(path, name)[...] = getattr(own, name)
        path.low, path.high, path.shifts = list(own.low), list(own.high), list(own.shifts)
        path.half, path.saturated = own.half, list(own.saturated)
        return path

    def some(self, places: np.ndarray) -> Transitions:
        """Records by place."""
        r = self.rows
        parts = (r.state, r.action, r.reward, r.discount, r.following)
        return Transitions(*(part[places] for part in parts))

    def submit(self, words: dict[int, int]) -> Any:
        """Run a job given by its words."""
        descriptor = [words.get(k, 0) for k in range(16)]
        return self.qat.rings[0].submit(descriptor).wait(60)

    def fails(self, words: dict[int, int], error: Error, info: int, response: int = 0) -> None:
        """A job that ends with an error; nothing else is written."""
        before = self.device.memory.copy()
        ring = self.qat.rings[0]
        with pytest.raises(errors.error_class("qat", int(error))) as caught:
            self.submit(words)
        assert caught.value.info == (info, response)
        changed = np.flatnonzero(self.device.memory != before)
        low, high = ring._base, ring._records + ring.slots * 32
        assert ((changed >= low) & (changed < high)).all()


@pytest.fixture
def bench(seed: int) -> Iterator[Bench]:
    with open_device("model", small()) as device:
        yield prepared(device, seed)


def prepared(device: Any, seed: int, count: int = 40) -> Bench:
    rng = np.random.default_rng(seed)
    qat = Qat(device)
    qat.configure(QatSettings(seed=seed, sigma=0.2))
    qat.load_network(
        arrays(rng, [STATES, *HIDDEN, ACTIONS]), arrays(rng, [STATES + ACTIONS, *HIDDEN, 1])
    )
    rows = Transitions.of(
        rng.normal(0, 1, (count, STATES)), rng.uniform(-1, 1, (count, ACTIONS)),
        rng.normal(0, 1, count), np.where(rng.random(count) < 0.1, 0, 0.99),
        rng.normal(0, 1, (count, STATES)),
    )  # fmt: skip
    raw = pack(rows, qat.geometry)
    base = device.alloc(raw.nbytes)
    device.write(base, raw)
    source = Source(base, raw.shape[1], count)
    return Bench(device, qat, source, rows, rng.normal(0, 1, STATES))


STEP = Step(BATCH, BATCH, None, None, 0, 4, False, True)


def reference(
    path: Datapath, bench: Bench, step: Step, places: np.ndarray, weight: Any = None
) -> tuple[Outcome, list[Phase]]:
    """The same timestep on a twin."""
    outcome, phases = Outcome(), list[Phase]()

    def part(first: int, count: int) -> tuple[Transitions, np.ndarray | None]:
        chunk = slice(first, first + count)
        return bench.some(places[chunk]), None if weight is None else weight[chunk]

    path.timestep(step, part, outcome, lambda *_: None, seen=phases.append)
    return outcome, phases


def scalars(rate: float, step: int, tau: int = 83886) -> ops.Adam:
    b1, b2 = 1 - 1677722 / 2**24, 1 - 16777 / 2**24
    fixed = round(rate * np.sqrt(1 - b2**step) / (1 - b1**step) * 2**32)
    return ops.Adam(1677722, 16777, 1, int(fixed), tau)


def assert_same(path: Datapath, other: Datapath) -> None:
    for name in ("w", "t", "g", "m", "v"):
        np.testing.assert_array_equal(getattr(path, name), getattr(other, name), name)
    for name in ("low", "high", "shifts", "half", "saturated"):
        assert getattr(path, name) == getattr(other, name), name


def test_the_manifest_says_what_the_model_is() -> None:
    """Fields, defaults and ranges."""
    found = manifest.engine("qat")
    assert "qat" in manifest.engines()
    assert found.fields(found.values({}, "defaults")) == vars(Geometry())
    assert found.rings == QatEngine.rings and manifest.load_object(found.model) is QatEngine
    assert found.driver is not None and manifest.load_object(found.driver) is Qat
    assert found.page is not None and (found.folder / found.page).is_file()
    for changes, message in (
        ({"QatVc": 15}, "even"),
        ({"QatAdamLanes": 8}, "at most a line"),
        ({"QatLw": 12}, "want one of"),
    ):
        with pytest.raises(errors.ConfigError, match=message):
            small(**changes)


def test_networks_return(bench: Bench, seed: int) -> None:
    rng = np.random.default_rng(seed)
    actor = arrays(rng, [STATES, *HIDDEN, ACTIONS])
    critic = arrays(rng, [STATES + ACTIONS, *HIDDEN, 1])
    found = bench.qat.store_network()
    for got, want in zip(found, (actor, critic), strict=True):
        for (gw, gb), (ww, wb) in zip(got, want, strict=True):
            np.testing.assert_array_equal(gw, ww)
            np.testing.assert_array_equal(gb, wb)
    targets = bench.qat.store_network("t")
    np.testing.assert_array_equal(targets[0][0][0], actor[0][0])
    assert not bench.qat.read_region("v").any()
    with pytest.raises(errors.ConfigError, match="want"):
        bench.qat.load_network(actor, actor)
    plain = [(w, b * 0) for w, b in actor], [(w, b * 0) for w, b in critic]
    bench.qat.load_network(*plain, bias=False)
    assert not bench.qat.table.networks[ACTOR][0].bias  # type: ignore[union-attr]
    np.testing.assert_array_equal(bench.qat.store_network()[1][2][0], critic[2][0])


def test_registers_have_their_resets_and_keep_what_is_written(bench: Bench) -> None:
    engine = QatEngine(bench.qat.geometry)
    for offset, register in by_offset(registers.REGISTERS).items():
        if register.access == "RW":
            assert engine.read_register(offset) == register.reset, register.name
            engine.write_register(offset, 0xFFFF_FFFF, True)
            assert engine.read_register(offset) == register.write_mask, register.name
            with pytest.raises(Exception, match="write"):
                engine.write_register(offset, 0, False)
        else:
            engine.read_register(offset)
            with pytest.raises(Exception, match="write"):
                engine.write_register(offset, 0, True)
    assert bench.qat.geometry == bench.engine.geometry
    bench.qat.close()
    assert Qat(bench.device, "qat").geometry.lw == 4


@pytest.mark.parametrize("way", ["after", "with", None])
@pytest.mark.parametrize("half", [False, True])
def test_a_timestep_is_the_datapaths(bench: Bench, half: bool, way: str | None, seed: int) -> None:
    """Memories, monitors, sums and the action; the action is chosen before or after the update."""
    qat, path = bench.qat, bench.twin()
    if half:
        qat.train(BATCH, None, None, bench.source).wait()
        reference(path, bench, STEP, np.arange(BATCH))
        qat.quantize()
        path.capture(QatSettings().headroom)
        assert qat.half
    before = bench.twin()
    state = bench.state if way else None
    record = qat.train(BATCH, 1e-3, 2e-3, bench.source, state=state, act=way or "after").wait()
    assert (record.count, record.detail) == (BATCH, int(half))
    step = replace(STEP, half=half, watch=not half)
    step = replace(step, critic=scalars(2e-3, 1), actor=scalars(1e-3, 1))
    outcome, _ = reference(path, bench, step, np.arange(BATCH))
    fixed = np.floor(bench.state * 65536 + 0.5).astype(np.int64)[None]
    if way:
        acting = path if way == "after" else before
        if way == "with":
            acting.w[...] = np.where(_actor_lines(path)[:, None], acting.w, path.w)
            acting.saturated = path.saturated
            acting.low, acting.high = path.low, path.high
        outputs = acting.act(acting.take(fixed, half, not half), half, not half)
        mu = [int(x) for x in outputs[-1][0]]
        drawn = noise.draw(noise.GAUSSIAN, Xoshiro(splitmix64(seed)), [], ACTIONS, 13107, 0)
        want = [noise.disturb(*pair) / 65536 for pair in zip(mu, drawn, strict=True)]
        assert qat.action().tolist() == want
    assert_same(bench.engine.path, path)
    found = qat.statistics()
    assert found["q_mean"] == outcome.q / 65536 / BATCH
    assert found["td_mean"] == outcome.td / 65536 / BATCH
    assert found["timesteps"] == 1 + half and found["mode"] == ("half" if half else "full")


def _actor_lines(path: Datapath) -> np.ndarray:
    """Which lines are the actor's."""
    out = np.zeros(len(path.w), bool)
    for layer in path.layers(ACTOR):
        for line, count in layer.ranges(path.geometry):
            out[line : line + count] = True
    return out


@pytest.mark.parametrize("weighted", [False, True])
def test_a_list_names_the_batch(bench: Bench, weighted: bool, seed: int) -> None:
    """Chunks of 10, indices that repeat, weights; pairs of slot and |TD| lie after the list."""
    rng, qat, path = np.random.default_rng(seed), bench.qat, bench.twin()
    places = rng.integers(0, 40, BATCH)
    weights = rng.uniform(0, 1, BATCH).astype(np.float32) if weighted else None
    address = bench.device.alloc(qat.list_room(BATCH))
    bench.device.write(address, qat.encode_list(places, weights))
    source = replace(bench.source, list_address=address, weighted=weighted)
    qat.train(BATCH, 1e-3, 1e-3, source, chunk=10, critic_scale=-3, actor_scale=5).wait()
    one = scalars(1e-3, 1)
    step = Step(BATCH, 10, one, one, -3, 5, False, True)
    fixed = None if weights is None else np.rint(weights * 2.0**24).astype(np.int64)
    _, phases = reference(path, bench, step, places, fixed)
    assert_same(bench.engine.path, path)
    assert path.g.any()  # partial sums of all chunks but the last
    if weighted:
        slots, td = qat.pairs(source, BATCH)
        assert slots.tolist() == list(range(BATCH))
        errors_ = np.concatenate([p.misc[:, 5] for p in phases if p.following.size])
        np.testing.assert_array_equal(td, from_fixed(np.abs(errors_), 16))


def test_switch_at_the_delay_and_resume(bench: Bench, seed: int) -> None:
    """QDELAY 2: the third timestep is the first in half mode; a resumed run has the same bits."""
    qat = bench.qat
    qat.write(registers.QDELAY.offset, 2)
    modes = []
    for _ in range(3):
        qat.train(BATCH, 1e-3, 1e-3, bench.source, state=bench.state).wait()
        modes.append(qat.half)
    assert modes == [False, False, True]
    engine = bench.engine
    pairs = zip(engine.path.low, engine.path.high, strict=True)
    plain = [ops.shift_of(*pair) for pair in pairs]
    assert plain[5] and engine.path.shifts == [*plain[:5], *(shift + 1 for shift in plain[5:])]
    saved = qat.state()
    with open_device("model", small()) as device:
        other = prepared(device, seed + 1)
        other.qat.write(registers.QDELAY.offset, 2)
        other.qat.load_state(saved)
        device.write(other.source.base, pack(bench.rows, qat.geometry))
        for one in (bench, other):
            one.qat.train(BATCH, 1e-3, 1e-3, one.source, state=bench.state).wait()
        other.engine.path.saturated = engine.path.saturated  # since each one's reset
        assert_same(engine.path, other.engine.path)
        np.testing.assert_array_equal(qat.action(), other.qat.action())
        with pytest.raises(errors.ConfigError, match="lines"):
            other.qat.load_state({**saved, "memories": {"w": np.zeros((1, 4), np.int32)}})


def test_settings_of_the_quantizer(bench: Bench) -> None:
    """hold, force_full, never, and shifts of the host's own."""
    qat = bench.qat
    cfg = registers.CFG
    qat.write(cfg.offset, cfg.word(hold=1))
    qat.train(BATCH, None, None, bench.source).wait()
    assert qat.statistics()["timesteps"] == 0
    qat.write(registers.TSTEP.offset, 0xFFFF_FFFF)
    qat.train(BATCH, None, None, bench.source).wait()
    assert not qat.half  # QDELAY's reset value is never
    qat.write(registers.QDELAY.offset, 0)
    qat.write(cfg.offset, cfg.word(force_full=1))
    assert qat.train(BATCH, None, None, bench.source).wait().detail == 0 and not qat.half
    qat.write(cfg.offset, 0)
    assert qat.train(BATCH, None, None, bench.source).wait().detail == 1 and qat.half
    for k in range(8):
        qat.write(registers.SHIFT.at(k), 9)
        qat.write(registers.MON_MAX.at(k), 0)
    coarse = qat.infer(bench.state)
    qat.write(cfg.offset, cfg.word(force_full=1))
    qat.train(BATCH, None, None, bench.source).wait()
    assert bench.engine.path.high == [0] * 8  # monitors of half mode stay
    fine = qat.infer(bench.state)
    assert 0 < np.abs(coarse - fine).max() < 0.05


@pytest.mark.parametrize("half", [False, True])
def test_policy_is_what_infer_does(bench: Bench, half: bool, seed: int) -> None:
    qat, rng = bench.qat, np.random.default_rng(seed)
    qat.train(BATCH, None, None, bench.source).wait()
    if half:
        qat.quantize()
    states = rng.normal(0, 2, (scale(40, 6), STATES))
    want = qat.policy().actions(states)
    np.testing.assert_array_equal(want, [qat.infer(state) for state in states])


def test_noise_kinds_and_their_state(bench: Bench) -> None:
    qat, cfg = bench.qat, registers.CFG
    quiet = qat.infer(bench.state)
    generator, x = Xoshiro(splitmix64(99)), [3000, -3000]
    qat.seed(splitmix64(99), np.array(x))
    for kind in (noise.UNIFORM, noise.GAUSSIAN, noise.ORNSTEIN, noise.NO_NOISE):
        qat.write(cfg.offset, cfg.word(noise=kind))
        got = qat.infer(bench.state, noise=True)
        drawn = noise.draw(kind, generator, x, ACTIONS, 13107, 9830)
        mu = [round(a * 65536) for a in quiet]
        pairs = zip(mu, drawn, strict=True)
        assert got.tolist() == [noise.disturb(*pair) / 65536 for pair in pairs]
    state = [qat.read(registers.RNG.at(k)) for k in range(8)]
    assert state == [word >> s & 0xFFFF_FFFF for word in generator.state for s in (0, 32)]
    assert [qat.read(registers.OU.at(k)) for k in range(3)] == [v & 0xFFFF_FFFF for v in x] + [0]


def test_gradients_stay_and_adam_takes_them(bench: Bench) -> None:
    """TRAIN without updates, then ADAM, equals TRAIN with them but for the actor's later critic."""
    qat, path = bench.qat, bench.twin()
    qat.train(BATCH, None, None, bench.source).wait()
    reference(path, bench, STEP, np.arange(BATCH))
    assert_same(bench.engine.path, path)
    for net in (CRITIC, ACTOR):
        qat.adam(net, 1e-3, targets=net == CRITIC)
        path.update(net, scalars(1e-3, 1, 83886 if net == CRITIC else 0))
        assert_same(bench.engine.path, path)


@pytest.mark.parametrize("half", [False, True])
def test_slots_hold_the_vectors(bench: Bench, half: bool) -> None:
    """What the last chunk left: X, outputs and deltas, two vectors in a word in half mode."""
    qat = bench.qat
    qat.train(BATCH, None, None, bench.source).wait()
    if half:
        qat.quantize()
    path = bench.twin()
    _, phases = reference(path, bench, replace(STEP, half=half, watch=not half), np.arange(BATCH))
    qat.train(BATCH, None, None, bench.source, state=bench.state, noise=False).wait()
    slots, engine = Slots.of(path.table, qat.geometry), bench.engine  # type: ignore[arg-type]
    buffer = bench.device.alloc(1 << 12)

    def lines(core: int, slot: int, line: int, count: int, delta: bool = False) -> np.ndarray:
        bench.submit(
            {0: Opcode.GETX, 2: buffer, 8: core | delta << 4, 9: slot, 10: line, 11: count}
        )
        raw = bench.device.read(buffer, 16 * count)
        return raw.view(np.int32).reshape(-1).astype(np.int64)

    for vector in (0, 1, 2, 7, BATCH - 1):
        core, slot = vector % 2, vector // 2
        for index, line in enumerate(slots.outputs[ACTOR]):
            values = phases[1].outputs[ACTOR][index][vector]
            if half and index < 2:
                word = lines(core, slot & ~1, line, 5)[: len(values)]
                got = (word << 48 >> 48) if slot % 2 == 0 else word >> 16
            else:
                got = lines(core, slot, line, 5)[: len(values)]
            np.testing.assert_array_equal(got, values)
        for index, line in enumerate(slots.deltas[ACTOR]):
            values = phases[1].deltas[ACTOR][index][vector]  # type: ignore[index]
            got = lines(core, slot, line, 5, True)[: len(values)]
            np.testing.assert_array_equal(got, values)
    acting = lines(1, qat.geometry.vc, slots.outputs[ACTOR][2], 1)[:ACTIONS]
    np.testing.assert_array_equal(acting, np.round(qat.action() * 65536))
    assert engine.slots == slots
    # PUTX, and single layers that go over the slots.
    bench.device.write(buffer, np.arange(8, dtype=np.int32))
    bench.submit({0: Opcode.PUTX, 2: buffer, 8: 1 | 1 << 4, 9: 3, 10: 2, 11: 2})
    assert lines(1, 3, 2, 2, True).tolist() == list(range(8))


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("net", [ACTOR, CRITIC])
def test_single_layers_are_the_timesteps(bench: Bench, net: int, half: bool) -> None:
    """FW, DX and DW of every layer on what a timestep left give what it had computed."""
    qat, engine = bench.qat, bench.engine
    qat.train(BATCH, None, None, bench.source).wait()
    if half:
        qat.quantize()
    path = bench.twin()
    _, phases = reference(path, bench, replace(STEP, half=half, watch=not half), np.arange(BATCH))
    qat.train(BATCH, None, None, bench.source).wait()
    slots = engine.slots
    assert slots is not None
    x_line = slots.x[engine._set]
    free, phase = 70, phases[1]
    outputs, deltas = phase.outputs[net], phase.deltas[net]
    for index in range(3):
        source = slots.outputs[net][index - 1] if index else x_line
        head = {8: net | index << 4, 9: BATCH, 10: source, 11: free}
        seen = list(engine.path.high)
        engine.path.high[:] = [0] * 8
        assert bench.submit({0: Opcode.FW, **head, 8: head[8] | 1 << 8}).count == BATCH
        assert not any(engine.path.high)  # of targets no monitor sees a value
        assert bench.submit({0: Opcode.FW, **head}).count == BATCH
        assert any(engine.path.high) == (not half and index < 2)
        engine.path.high[:] = seen
        layer = path.layers(net)[index]
        if net == ACTOR or index:  # X holds the actor's action by now
            got = engine._vectors(engine.act, free, layer.p, BATCH, half and index < 2)
            np.testing.assert_array_equal(got, outputs[index])
        if net == ACTOR:  # whose deltas were the last ones
            bench.submit(
                {0: Opcode.DW, 8: net | index << 4, 9: BATCH, 10: source,
                 11: slots.deltas[net][index]}
            )  # fmt: skip
            np.testing.assert_array_equal(
                engine.path.weights(engine.path.g, layer), path.weights(path.g, layer)
            )
            if index:
                bench.submit(
                    {0: Opcode.DX, 8: net | index << 4, 9: BATCH,
                     10: slots.deltas[net][index], 11: 40}
                )  # fmt: skip
                got = engine._vectors(engine.delta, 40, layer.q, BATCH, False)
                np.testing.assert_array_equal(got, deltas[index - 1])


TRAIN = int(Opcode.TRAIN | (Flag.CRITIC | Flag.ACTOR) << 8)


def good(bench: Bench) -> dict[int, int]:
    """A TRAIN that would run."""
    return {0: TRAIN, 2: bench.source.base, 8: 1 << 20, 9: 1 << 20, 13: bench.source.stride,
            14: BATCH | BATCH << 16}  # fmt: skip


def changed(words: dict[int, int], *changes: tuple[int, int]) -> dict[int, int]:
    return {**words, **dict(changes)}


def test_each_error_has_its_causes(bench: Bench) -> None:
    """Every code from two causes at least, its place, nothing written; a good job after each."""
    qat, base = bench.qat, bench.source.base
    train = good(bench)
    listed = changed(train, (0, TRAIN | int(Flag.LIST) << 8), (10, base), (12, 40))
    infer = {0: int(Opcode.INFER), 4: base, 6: base}
    lines = {0: int(Opcode.LOAD), 2: base, 10: 1}
    getx = {0: int(Opcode.GETX), 2: base, 11: 1}
    layer = {0: int(Opcode.FW), 9: BATCH, 11: 40}
    seed_ = {0: int(Opcode.SEED), 4: 1}
    g, spare = qat.geometry, bench.device.alloc(64)
    cases: list[tuple[dict[int, int], Error, int]] = [
        ({0: 0x12}, Error.E_OPCODE, 0),
        ({0: 0xFF}, Error.E_OPCODE, 0),
        (changed(train, (0, TRAIN | 1 << 16)), Error.E_RESERVED, 0),
        (changed(train, (4, 64)), Error.E_RESERVED, 4),  # a state, and no acting
        (changed(train, (10, 64)), Error.E_RESERVED, 10),
        (changed(train, (3, 1 << 8)), Error.E_RESERVED, 3),
        (changed(train, (0, TRAIN | 1 << 8)), Error.E_RESERVED, 0),  # noise, and no acting
        (changed(train, (15, 1 << 5)), Error.E_RESERVED, 15),
        (changed(infer, (0, int(Opcode.INFER) | 2 << 8)), Error.E_RESERVED, 0),
        (changed(lines, (8, 8)), Error.E_RESERVED, 8),
        ({0: int(Opcode.QUANT), 15: 1}, Error.E_RESERVED, 15),
        ({0: int(Opcode.ADAM), 8: 2}, Error.E_RESERVED, 8),
        (changed(seed_, (2, 64)), Error.E_RESERVED, 2),
        (changed(train, (2, base + 32)), Error.E_ALIGN, 2),
        (changed(train, (13, 100)), Error.E_ALIGN, 13),
        (changed(listed, (10, base + 4)), Error.E_ALIGN, 10),
        (changed(infer, (6, base + 8)), Error.E_ALIGN, 6),
        (changed(train, (14, BATCH << 16)), Error.E_BATCH, 14),
        (changed(train, (14, 1025 | 32 << 16)), Error.E_BATCH, 14),
        (changed(train, (14, BATCH | 34 << 16)), Error.E_BATCH, 14),
        (changed(train, (14, BATCH | 3 << 16)), Error.E_BATCH, 14),
        (changed(lines, (10, 0)), Error.E_BATCH, 10),
        (changed(getx, (11, 0)), Error.E_BATCH, 11),
        (changed(layer, (9, 0)), Error.E_BATCH, 9),
        (changed(layer, (9, 33)), Error.E_BATCH, 9),
        (changed(train, (13, 0)), Error.E_STRIDE, 13),
        (changed(train, (13, 64)), Error.E_STRIDE, 13),
        (changed(lines, (8, 5)), Error.E_RANGE, 8),
        (changed(lines, (9, g.w_lines)), Error.E_RANGE, 9),
        (changed(lines, (9, 1020), (10, 5)), Error.E_RANGE, 10),
        (changed(getx, (8, 2)), Error.E_SLOT, 8),
        (changed(getx, (9, g.vc + 1)), Error.E_SLOT, 9),
        (changed(getx, (8, 16), (9, g.vc)), Error.E_SLOT, 9),
        (changed(getx, (10, g.act_lines)), Error.E_SLOT, 10),
        (changed(getx, (11, g.act_lines + 1)), Error.E_SLOT, 11),
        (changed(layer, (10, g.act_lines - 1)), Error.E_SLOT, 10),
        (changed(layer, (0, int(Opcode.DX)), (11, g.del_lines)), Error.E_SLOT, 11),
        (changed(layer, (8, 3 << 4)), Error.E_NO_NET, 8),
        (changed(train, (0, TRAIN | 0x30 << 8), (4, base), (6, base)), Error.E_VALUE, 0),
        (changed(train, (0, TRAIN | 0x80 << 8)), Error.E_VALUE, 0),
        (changed(train, (8, 1 << 26)), Error.E_VALUE, 8),
        ({0: int(Opcode.ADAM), 9: 1 << 26}, Error.E_VALUE, 9),
        (changed(train, (15, 8)), Error.E_VALUE, 15),
        (changed(train, (15, 7 << 8)), Error.E_VALUE, 15),
        (changed(seed_, (4, 0)), Error.E_VALUE, 4),
        (changed(train, (3, 0xFF), (2, 0xFFFF_FF00)), Error.E_ADDR, 2),
        (changed(infer, (7, 0xFF), (6, 0xFFFF_FFC0)), Error.E_BUS_WR, 6),
        (changed(lines, (3, 0xFF), (2, 0xFFFF_FFC0), (10, 9)), Error.E_ADDR, 2),
    ]  # fmt: skip
    # Two faults: the rule that comes first decides.
    cases += [
        (changed(train, (2, base + 32), (4, 64)), Error.E_RESERVED, 4),
        (changed(train, (2, base + 32), (14, 0)), Error.E_ALIGN, 2),
        (changed(train, (13, 0), (14, 0)), Error.E_BATCH, 14),
        (changed(train, (13, 0), (8, 1 << 26)), Error.E_STRIDE, 13),
        (changed(layer, (10, g.act_lines), (0, int(Opcode.DW)), (9, 0)), Error.E_BATCH, 9),
        (changed(train, (3, 0xFF), (2, 0xFFFF_FF00), (9, 1 << 26)), Error.E_VALUE, 9),
        (changed(train, (8, 1 << 26), (9, 1 << 26)), Error.E_VALUE, 8),
    ]
    for words, error, info in cases:
        bench.fails(words, error, info, 3 * (error == Error.E_BUS_WR))
        assert bench.submit(infer | {6: spare}).error == 0
    assert not registers.MODE.field("partial").get(qat.read(registers.MODE.offset))


@pytest.mark.parametrize(
    ("register", "value", "opcode"),
    [
        (registers.CFG, registers.CFG.word(noise=4), "infer"),
        (registers.CFG, registers.CFG.word(paper=1), "train"),
        (registers.B1C, 0, "train"),
        (registers.B2C, 1 << 24, "adam"),
        (registers.EPS, 0, "train"),
        (registers.TAU, (1 << 24) + 1, "adam"),
        (registers.SHIFT, 17, "infer"),
    ],
)
def test_registers_at_fault_are_named(bench: Bench, register: Any, value: int, opcode: str) -> None:
    qat, base = bench.qat, bench.source.base
    if register is registers.SHIFT:
        qat.write(registers.MODE.offset, 1)
    qat.write(register.offset, value)
    words = {
        "infer": {0: int(Opcode.INFER) | 1 << 8, 4: base, 6: base},
        "adam": {0: int(Opcode.ADAM), 9: 1},
        "train": changed(good(bench), (14, BATCH | 16 << 16)),
    }[opcode]
    bench.fails(words, Error.E_VALUE, register.offset)
    qat.write(register.offset, min(register.reset, 1 << 24))
    assert qat.train(BATCH, 1e-3, None, bench.source).wait().error == 0


def test_a_table_at_fault_is_named_and_leaves_none(bench: Bench) -> None:
    g = bench.qat.geometry
    table = plan(STATES, ACTIONS, HIDDEN, g)
    right, address = table.encode(g), bench.device.alloc(1 << 10)

    def at(net: int, index: int, word: int = 0) -> int:
        return 16 + 4 * (4 * net + index) + word

    cases: list[tuple[int, int, Error]] = [
        (2, 1, Error.E_RESERVED),
        (at(ACTOR, 3), 1, Error.E_RESERVED),
        (at(CRITIC, 0, 1), 1 | 1 << 9, Error.E_RESERVED),
        (at(CRITIC, 0, 1), 1, Error.E_RESERVED),  # without a bias no line of biases
        (0, 0 | ACTIONS << 16, Error.E_DIM),
        (0, STATES | 3 << 16, Error.E_DIM),
        (1, 3 | 5 << 16, Error.E_DIM),
        (at(ACTOR, 0), 65 | STATES << 16, Error.E_DIM),
        (at(ACTOR, 1), 13 | 19 << 16, Error.E_DIM),
        (at(ACTOR, 2), 3 | 13 << 16, Error.E_DIM),
        (at(CRITIC, 2), 2 | 13 << 16, Error.E_DIM),
        (at(ACTOR, 0, 1), 2 | 1 << 8, Error.E_DIM),
        (at(ACTOR, 2, 1), 1 | 1 << 8, Error.E_DIM),
        (at(CRITIC, 2, 1), 2 | 1 << 8, Error.E_DIM),
        (at(CRITIC, 0, 2), 0, Error.E_RANGE),
        (at(CRITIC, 2, 3), g.w_lines, Error.E_RANGE),
    ]
    elsewhere = {(at(CRITIC, 0, 1), 1): at(CRITIC, 0, 3)}  # of the fault, if not at the change
    for word, value, error in cases:
        wrong = right.copy()
        wrong[word] = value
        bench.device.write(address, wrong)
        info = TABLE + elsewhere.get((word, value), word)
        bench.fails({0: int(Opcode.NET), 2: address}, error, info)
        bench.fails({0: int(Opcode.INFER), 4: address, 6: address}, Error.E_NO_NET, 0)
    with (
        open_device("model", small(QatActLines=20)) as device,
        pytest.raises(errors.ConfigError, match="set QatActLines of qat"),
    ):
        prepared(device, 1)
    with open_device("model", small(QatActLines=20)) as device:
        device.write(address, right)
        with pytest.raises(errors.error_class("qat", int(Error.E_SLOT))) as caught:
            Qat(device)._run([Opcode.NET, 0, address])
        assert caught.value.info[0] == TABLE
    bench.device.write(address, right)
    bench.submit({0: int(Opcode.NET), 2: address})
    assert bench.qat.train(BATCH, 1e-3, 1e-3, bench.source).wait().error == 0


def test_errors_in_the_middle(bench: Bench) -> None:
    """Indices and bus errors: which slot or word, PARTIAL if weights were changed, TSTEP stays."""
    qat, device = bench.qat, bench.device
    address = device.alloc(4096)
    places = np.arange(BATCH) % 40
    places[5] = 40
    device.write(address, qat.encode_list(places))
    listed = changed(good(bench), (0, TRAIN | int(Flag.LIST) << 8), (10, address), (12, 40))
    bench.fails(listed, Error.E_INDEX, 5)
    places[5] = 39
    device.write(address, qat.encode_list(places))
    assert bench.submit(listed).error == 0
    steps = qat.statistics()["timesteps"]
    # The monitor has seen the records before the one at fault.
    path, seen = bench.engine.path, bench.some(np.arange(7))
    path.low[0] = path.high[0] = 0
    device.inject(bench.source.base + 7 * bench.source.stride, 64, 2, direction=1)
    bench.fails(good(bench), Error.E_BUS_RD, 7, 2)
    values = [part.reshape(-1) for part in (seen.state, seen.action, seen.following)]
    assert (path.low[0], path.high[0]) == ops.monitor(0, 0, np.concatenate(values))
    device.clear_faults()
    partial = registers.MODE.field("partial")
    assert not partial.get(qat.read(registers.MODE.offset))
    # The list cannot be read; the state; the network table; lines.
    target = device.alloc(4096)
    acting = changed(good(bench), (0, TRAIN | int(Flag.AFTER) << 8), (4, address), (6, target))
    for word, words in (
        (10, listed),
        (4, acting),
        (2, {0: int(Opcode.LOAD), 2: address, 10: 4}),
        (2, {0: int(Opcode.PUTX), 2: address, 11: 4}),
        (2, {0: int(Opcode.SEED) | 1 << 8, 2: address, 4: 1}),
    ):
        device.inject(address, 64, 3, direction=1)
        bench.fails(words, Error.E_BUS_RD, word, 3)
        device.clear_faults()
    # An action that cannot be written ends a job whose updates are made.
    device.inject(target, 64, 2, direction=2)
    assert qat.statistics()["timesteps"] == steps
    bench.fails(acting, Error.E_BUS_WR, 6, 2)
    device.clear_faults()
    assert partial.get(qat.read(registers.MODE.offset))
    assert qat.statistics()["timesteps"] == steps
    assert bench.submit(acting).detail == 2
    qat.write_region("w", qat.read_region("w"))
    assert bench.submit(acting).detail == 0


def test_events(bench: Bench) -> None:
    """Acting `with` tells of its action; a saturation does if it is asked to."""
    qat, engine = bench.qat, bench.engine
    qat.train(BATCH, 1e-3, 1e-3, bench.source, state=bench.state, act="with").wait()
    assert engine.events == 1
    big = qat.store_network()
    huge = [(np.full_like(w, 127.0), b) for w, b in big[CRITIC]]
    qat.load_network(big[ACTOR], huge)
    qat.train(BATCH, 1e-3, 1e-3, bench.source).wait()
    assert engine.events == 1 and qat.statistics()["saturated"]["DX"]
    qat.write(registers.CFG.offset, registers.CFG.word(sat_event=1))
    qat.train(BATCH, 1e-3, 1e-3, bench.source).wait()
    assert engine.events == 2


@pytest.mark.parametrize(
    ("hidden", "states", "actions", "batch", "half", "act", "want"),
    [
        ((400, 300), 17, 6, 64, False, "after", 175_236),
        ((400, 300), 17, 6, 64, True, "after", 114_406),
        ((400, 300), 17, 6, 128, False, "after", 345_700),
        ((400, 300), 17, 6, 512, True, "after", 880_123),
        ((400, 300), 17, 6, 64, False, "with", 171_437),
        ((400, 300), 17, 6, 64, True, "with", 110_609),
    ],
)
def test_clocks_are_those_of_the_schedule(
    hidden: tuple[int, int], states: int, actions: int, batch: int, half: bool, act: str, want: int
) -> None:
    """The specification's cycle model, and clocks in which a second vector waits for the tangents.

    Its ideal is at most 1 % below.
    """
    geometry = Geometry()
    table = plan(states, actions, hidden, geometry)
    found = timing.train_clocks(table, geometry, batch, min(batch, 128), half, act)
    assert found.total == want
    row = timing.train_clocks(table, geometry, batch, min(batch, 128), half, act, in_row=True)
    assert (row.fw, row.dx, row.dw, row.inf) == (found.fw, found.dx, found.dw, found.inf)
    assert batch * 164e6 / row.total > (92_000 if half else 60_000)  # 1/s, wanted
    acting = 544 if act == "with" else 4360  # one clock per tile of the actor
    assert found.inf == (0 if act == "with" else acting)
    ideal = timing.ideal_clocks(table, geometry, batch, half) + acting
    assert 0.99 * want < ideal < want and found.wait < 0.01 * want
    assert found.fw + found.dx + found.dw + found.inf + found.wait == want
    assert timing.tile_vectors(table, geometry) == (2720, 1507, 1088)


@pytest.mark.parametrize(
    ("batch", "ideal"), [(64, 202_517), (128, 379_797), (256, 734_357), (512, 1_443_477)]
)
def test_clocks_of_the_published_schedule(batch: int, ideal: int) -> None:
    """As FIXAR's figures imply: forward passes within layers, dX of all layers, Adam after dW."""
    geometry = Geometry(paper=1)
    table = plan(17, 6, (400, 300), geometry)
    found = timing.train_clocks(table, geometry, batch, 64, False, "after", True)
    assert timing.ideal_clocks(table, geometry, batch, False, True) + found.inf == ideal
    assert (found.fw, found.dx, found.dw) == (1410 * batch, 816 * batch, 544 * batch)
    assert found.inf == 8414 and found.entries == 2 * (2770 * batch + 544)
    assert ideal < found.total < 1.01 * ideal
    half = timing.train_clocks(table, geometry, batch, 64, True, "after", True)
    assert (half.fw, half.dx, half.dw) == (705 * batch, 816 * batch, 272 * batch)
    want = timing.ideal_clocks(table, geometry, batch, True, True) + half.inf
    assert want < half.total < 1.01 * want


@pytest.mark.parametrize("half", [False, True])
def test_the_published_schedule_changes_no_bit(half: bool, seed: int) -> None:
    """But G, which keeps the sum of all chunks, and clocks; a chunk is at most a core's slots."""
    paths, actions, kept = [], [], []
    for paper in (False, True):
        with open_device("model", small(QatPaper=1)) as device:
            bench = prepared(device, seed)
            qat = bench.qat
            assert qat.table is not None
            qat.configure(QatSettings(paper=paper, seed=seed))
            for turn in range(3):
                if half and turn == 1:
                    qat.quantize()
                job = qat.train(BATCH, 1e-3, 1e-3, bench.source, state=bench.state,
                                chunk=None if paper else 16).wait()  # fmt: skip
            clocks = qat.statistics()["clocks"]
            model = timing.train_clocks(qat.table, qat.geometry, BATCH, 16, half, "after", paper)
            assert sum(clocks.values()) == job.cycles == model.total
            paths.append(bench.twin())
            actions.append(qat.action().tolist())
            kept.append(paths[-1].g.copy())
            paths[-1].g[...] = 0
            qat.infer(bench.state)
            want = timing.infer_clocks(qat.table, qat.geometry, paper)
            assert qat.statistics()["clocks"]["inf"] == want.inf
            with pytest.raises(errors.error_class("qat", int(Error.E_BATCH))):
                qat.train(BATCH, None, None, bench.source, chunk=18 if paper else 34).wait()
    assert_same(*paths)
    assert actions[0] == actions[1] and (kept[0] != kept[1]).any()
    with (
        open_device("model", small()) as device,
        pytest.raises(errors.ConfigError, match="published"),
    ):
        Qat(device).configure(QatSettings(paper=True))


def test_clocks_of_jobs(bench: Bench) -> None:
    """Records carry them; an INFER of the published actor within its bound."""
    geometry = Geometry()
    table = plan(17, 6, (400, 300), geometry)
    assert 4360 < timing.infer_clocks(table, geometry).total <= 4800
    for states, actions, measured in ((17, 6, 4577), (11, 3, 4518), (8, 2, 4510)):  # of qat_full
        predicted = timing.infer_clocks(plan(states, actions, (400, 300), geometry), geometry)
        assert abs(predicted.total / measured - 1) < 0.003
    record = bench.qat.train(BATCH, 1e-3, 1e-3, bench.source, state=bench.state).wait()
    found = bench.qat.statistics()["clocks"]
    assert sum(found.values()) == record.cycles and found["inf"] > 0
    before = bench.qat.entries
    bench.qat.infer(bench.state)
    assert 0 < bench.qat.entries - before < 2 * found["inf"]
