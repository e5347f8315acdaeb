"""Jobs that run on the golden model without their ring leave what they leave through the ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from flow.effort import scale
from jackdaw import errors
from jackdaw.device import load_config
from jackdaw.device.model import ModelDevice
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.replay_buffer import PrioritizedReplayBuffer
from models.engine import Link
from models.registers import engine_header as header
from models.registers import replay as registers
from models.replay.engine import Flag, ReplayConfig, ReplayEngine
from models.replay.engine import Job as Opcode
from models.replay.kernels import Op

LEAVES, BUFFER_BYTES = 50, 1 << 16
BUFFERS = ("input", "samples", "responses", "rows")


class Side:
    """A replay driver on a device `model`; `direct`: jobs may run without their ring."""

    def __init__(self, direct: bool, seed: int) -> None:
        self.device = ModelDevice(load_config("small"))
        if not direct:
            self.device.at_rest = lambda page: None  # type: ignore[method-assign]
        self.replay = Replay(self.device, ReplaySettings(LEAVES, beta_step=0.01, seed=seed))
        for name in BUFFERS:  # at the same addresses
            self.replay.buffer(name, BUFFER_BYTES)
        self.page = self.device._pages[self.replay.info.page - 1]
        self.engine: Any = self.page.engine
        self.place = self.replay.alloc(BUFFER_BYTES)

    def state(self) -> dict[str, Any]:
        """All that later calls depend on, and all that a host can read but ring memory, input."""
        engine, rmm = self.engine, self.engine.rmm
        batches = [vars(b) | {"indices": b.indices.tolist()} for b in engine._memo]
        memory = self.device.memory.copy()
        for ring in self.replay.rings.values():
            memory[ring._base :][: ring.slots * ring._bytes] = 0
            memory[ring._records :][: ring.slots * header.RING_HEAD.stride * 64] = 0
        memory[self.replay._buffers["input"][0] :][:BUFFER_BYTES] = 0
        return {
            "time": self.device._time,
            "header": {r.at(i): self._read(r.at(i)) for r in header.REGISTERS
                       for i in range(r.count)},
            "registers": {r.at(i): self._read(r.at(i)) for r in registers.REGISTERS
                          for i in range(r.count)},
            "rings": [vars(ring) | {"words": 0} for ring in self.page.rings],
            "failure": vars(self.page.failure),
            "tails": [(r._tail, r._halted_by, len(r._open)) for r in self.replay.rings.values()],
            "tree": rmm.tree.nodes.tobytes(),
            "state": rmm.state.tobytes(),
            "generator": rmm.generator.state,
            "memo": batches,
            "due": [any(b is m for m in engine._memo) for b in engine._batches],
            "last": None if engine._last is None else engine._last.indices.tolist(),
            "memory": memory.tobytes(),
        }  # fmt: skip

    def _read(self, offset: int) -> int | None:
        try:
            return self.page.read(offset)
        except Exception:  # write only
            return None


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or its error in words."""
    try:
        return shown(call(*args))
    except (errors.DeviceError, errors.ConfigError, ValueError) as error:
        return type(error).__name__, str(error)


def shown(given: Any) -> Any:
    """What a call gave, so that it can be compared."""
    if isinstance(given, np.ndarray):
        return given.dtype.str, given.tobytes()
    if hasattr(given, "__dataclass_fields__"):
        return {name: shown(value) for name, value in vars(given).items()}
    return given


def step(rng: np.random.Generator) -> tuple[str, Callable[[Side], Any]]:
    """A random call, the same on each side; its name."""
    count = int(rng.choice([1, 2, 3, 8, 16, 32, 64, 128]))
    pairs = np.empty((count, 2), np.uint32)
    pairs[:, 0] = rng.integers(0, LEAVES + (rng.random() < 0.1), count)
    pairs[:, 1] = (rng.normal(size=count) * 10.0 ** rng.integers(-40, 38)).astype("f4").view("u4")
    if rng.random() < 0.1:
        pairs[rng.integers(count), 1] = rng.choice([0x7F800000, 0x7FC00000, 0xFF800000, 1, 1 << 31])
    flags: dict[str, Any] = {name: bool(rng.integers(2)) for name in ("stratified", "weights")}
    beta = (None, 0.0, 2.0**-30, 0.3, 1.0)[rng.integers(5)]
    offset = int(rng.choice([0, 64, 32, -128]))  # the last: from the end of memory
    kind = rng.choice(
        ["sample", "sample", "sample at", "sample", "update", "update", "insert", "largest",
         "others", "reserve", "commit", "acknowledge", "register", "queued", "halted", "fault",
         "word", "reset", "clear", "interrupt", "bad pairs", "ring"],
        p=[0.1, 0.1, 0.05, 0.1, 0.1, 0.1, 0.06, 0.06, 0.05, 0.03, 0.05, 0.04, 0.04, 0.02, 0.02,
           0.01, 0.01, 0.01, 0.01, 0.02, 0.01, 0.01],
    )  # fmt: skip
    uniform = rng.integers(0, 1 << 48, count).astype(np.uint64)
    which, value = int(rng.integers(4)), int(rng.integers(1 << 30))
    priority = registers.CFG_PRIO.field

    def sample_at(side: Side) -> Any:
        start = side.place if offset >= 0 else side.device.memory_bytes
        return side.replay.sample(count, address=start + offset, **flags)

    def others(side: Side) -> Any:
        replay = side.replay
        if which == 0:
            return replay.sample(count, uniform=uniform, stratified=False)
        if which == 1:
            return replay.sample(8, batches=3)
        if which == 2:
            return replay.update(np.arange(4), pairs[:4, 1].view("f4"), td=True, slots=True)
        return replay.retrieve(np.arange(LEAVES))

    def register(side: Side) -> None:
        prio = priority("alpha").put(value % (1 << 16), priority("pf").put(value % 25))
        prio = priority("no_fetch").put(value >> 16 & 1, prio)
        choice = [registers.CFG_PRIO, registers.CFG_EPS, registers.CFG_DBETA, registers.CFG_PCLIP]
        side.replay.write(choice[which].offset, [prio, value, value >> 4, 1 << 31 | value][which])

    def queued(side: Side) -> None:
        job = side.replay._sampler.submit(
            [Opcode.SAMPLE | Flag.MEMORY << 8, 0, 4, 0, 0, 0, side.place, 0], irq=bool(which & 1)
        )
        side.replay.post_largest(1)  # the job of the other ring has ended; nobody has looked
        assert job.record is None
        if which & 2:
            job.poll()

    def halted(side: Side) -> Any:
        job = side.replay._host.submit([Opcode.UPDATE, 0, 0], stop=True)
        job.poll()
        return outcome(side.replay.post, pairs), outcome(side.replay.sample, 4)

    def fault(side: Side) -> Any:
        begin = side.replay._buffers["samples"][0] if which & 1 else side.replay._host._base
        side.device.inject(begin, 64)
        out = outcome(side.replay.sample, 8), outcome(side.replay.post, pairs)
        side.device.clear_faults()
        side.replay.soft_reset()
        return out

    def word(side: Side) -> Any:
        side.engine.tde.put(value)
        return outcome(side.replay.sample, 4) if which & 1 else outcome(side.replay.post, pairs)

    def ring(side: Side) -> Any:
        size = header.RING_SIZE.at(which & 1)
        side.replay.write(size, 0)
        out = outcome(side.replay.sample, 4), outcome(side.replay.post, pairs)
        side.replay.soft_reset()
        side.replay.write(size, 6)
        return out

    return kind, {
        "sample": lambda s: s.replay.sample(count, beta=beta, **flags),
        "sample at": sample_at,
        "update": lambda s: s.replay.post(pairs),
        "insert": lambda s: s.replay.post(pairs, insert=True),
        "largest": lambda s: s.replay.post_largest(count),
        "others": others,
        "reserve": lambda s: s.replay.reserve(1 + which) if not s.engine._batches else None,
        "commit": lambda s: s.replay.commit(count=min(s.engine.rmm.reserved, 3) or 1),
        "acknowledge": lambda s: s.replay.acknowledge(),
        "register": register,
        "queued": queued,
        "halted": halted,
        "fault": fault,
        "word": word,
        "reset": lambda s: s.replay.soft_reset(),
        "clear": lambda s: s.replay.clear(),
        "interrupt": lambda s: s.replay.write(header.STATUS.offset, 7),
        "bad pairs": lambda s: s.replay.post(pairs.astype(np.int64)),
        "ring": ring,
    }[kind]  # fmt: skip


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[bool]]]:
    """How often the golden model ran a job at once, and how often it would not."""
    seen: dict[str, list[bool]] = {"sample_at_once": [], "operate_at_once": []}
    for name, calls in seen.items():
        real = getattr(ReplayEngine, name)

        def call(self: Any, *args: Any, real: Any = real, calls: Any = calls) -> Any:
            given = real(self, *args)
            calls.append(bool(given))
            return given

        monkeypatch.setattr(ReplayEngine, name, call)
    yield seen


def test_replay_at_once_is_the_job_through_the_ring(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random programs with and without rings: results, errors and states are equal to the bit."""
    with counted(monkeypatch) as seen:
        for program in range(scale(8, 4)):
            rng = np.random.default_rng([seed, program])
            direct, through = Side(True, seed), Side(False, seed)
            for number in range(200):
                kind, call = step(rng)
                got, want = outcome(call, direct), outcome(call, through)
                assert got == want, (number, kind)
                one, two = direct.state(), through.state()
                assert not [name for name in one if one[name] != two[name]], (number, kind)
    for calls in seen.values():
        assert sum(calls) > len(calls) // 2 and not all(calls)


def test_replay_at_once_serves_the_replay_buffer(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a training loop calls in every step; otherwise it takes several times as long."""
    with counted(monkeypatch) as seen, ModelDevice(load_config("small")) as device:
        buffer = PrioritizedReplayBuffer(100, {"row": {}}, device=device, seed=seed)
        for number in range(20):
            buffer.add(row=number)
            buffer.add(row=[number] * 2, priorities=[0.5, 2.0])
            batch = buffer.sample(8)
            buffer.update_priorities(batch["indexes"], batch["weights"])
    assert seen == {"sample_at_once": [True] * 20, "operate_at_once": [True] * 60}


def test_replay_at_once_does_nothing_before_the_first_clear() -> None:
    engine = ReplayEngine(ReplayConfig(), Link(), Link())
    assert engine.operate_at_once(Op.INSERT, np.zeros((1, 2), np.uint32)) == 0
    assert engine.sample_at_once(1, Flag.MEMORY, 0) is None


def test_replay_at_once_gives_arrays_that_the_caller_may_change(seed: int) -> None:
    side = Side(True, seed)
    side.replay.insert(count=LEAVES)
    drawn = side.replay.sample(8)
    indices = drawn.indices.copy()
    drawn.indices[:] = 0
    assert side.engine._last.indices.tolist() == indices.tolist()
