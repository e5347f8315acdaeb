"""Golden model of the sparse engine at job level (models/engine.py states the protocol).

A job whose descriptor or registers are wrong touches nothing. A LOAD that fails later leaves the
kinds and layers of its mask undefined, and these layers stale. After a RUN that fails,
activations, operands and results are undefined, and parameters too if an UPD or UPDG had begun.

Source: docs/sparse.md.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from models.engine import BusError, JobEnd, Link, Memory, RegisterError
from models.registers import sparse as registers
from models.registers.map import by_offset
from models.registers.sparse import Error
from models.sparse.formats import (
    INSTRUCTION_WORDS,
    LINE,
    Geometry,
    Instruction,
    Opcode,
    image_words,
)
from models.sparse.machine import Machine
from models.sparse.optim import Rates
from models.sparse.program import Outcome, run
from models.sparse.validate import (
    ADDRESS,
    SIZE,
    Context,
    Job,
    JobError,
    check_instruction,
    check_job,
    check_place,
    check_table,
)

OFFSETS = by_offset(registers.REGISTERS)
FLOATS = ("LR", "ALPHA", "ONE_MINUS_ALPHA", "EPS", "GSCALE", "LR_GROUP", "INV")
LOCAL = (*FLOATS, "AGENTS", "EPISODES")
START = 40  # clocks of a job beside its work
KEPT = 256  # decoded programs


def log2(x: int) -> int:
    """Rounded down."""
    return x.bit_length() - 1


class SparseEngine:
    """The sparse engine as the host sees it: registers from 0x100, jobs of one ring.

    Attributes:
        machine: memories and units.
        outcome: of the last RUN.
    """

    rings = 1

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> SparseEngine:
        """Make it of a configuration's parameters, by name; it has no streams."""
        return cls(Geometry(**fields))

    def __init__(self, geometry: Geometry | None = None) -> None:
        self.geometry = geometry or Geometry()
        self.machine = Machine(self.geometry)
        self.outcome = Outcome()
        self._words = dict.fromkeys(LOCAL, 0)
        self._seed = [0] * 8
        self._high: dict[str, int] = {}
        self._sums = {"STAGE": [0] * 4, "UNIT_BUSY": [0] * 8}
        self._programs: dict[bytes, list[Instruction]] = {}
        nothing: dict[tuple[int, ...], Error | None] = {}
        self._checked = self._context(), nothing

    # ---- Registers ----
    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None:
            raise RegisterError(f"no register at {offset:#x}")
        index = (offset - register.offset) // register.stride
        base = register.name[:-3]
        if register.name.endswith("_HI"):
            return self._high.get(f"{base}{index}", 0)
        if not register.name.endswith("_LO"):
            return self._read(register.name, index) & 0xFFFF_FFFF
        value = self._read(base, index)
        self._high[f"{base}{index}"] = value >> 32 & 0xFFFF_FFFF
        return value & 0xFFFF_FFFF

    def _read(self, name: str, index: int) -> int:
        machine, g = self.machine, self.geometry
        if name in self._words:
            return self._words[name]
        if name in machine.counts:
            return machine.counts[name]
        if name in self._sums:
            return self._sums[name][index]
        arrays = {
            "SEED": [word >> 32 * half for word in machine.generator.state for half in (0, 1)],
            "OSEL_CLOCKS": machine.osel_clocks,
            "CORE_LOAD": machine.core_load,
        }
        if name in arrays:
            return arrays[name][index]
        return {
            "CAP0": registers.CAP0.word(
                cores=g.cores, banks=g.banks, lanes=g.lanes, slots=g.slots, keep_bv=g.keep_bv
            ),
            "CAP1": registers.CAP1.word(
                g_max=g.g_max, l_max=g.l_max, win_max=g.win_max, acc=g.acc
            ),
            "CAP2": g.d_max,
            "CAP3": registers.CAP3.word(
                w_rows=log2(g.w_rows), x_rows=log2(g.x_rows), r_rows=log2(g.r_rows),
                g_rows=log2(g.g_rows), a_rows=log2(g.a_rows), p_words=log2(g.p_words),
            ),
            "CAP4": registers.CAP4.word(
                max_w=log2(g.max_w), cmp_w=log2(g.cmp_w), hit_w=g.hit_w, drain_w=g.drain_w,
                opt_lanes=g.opt_lanes, channels=g.channels, add_latency=g.add_latency,
            ),
            "CAP5": registers.CAP5.word(b_words=g.b_words, s_words=g.s_words),
            "CAP6": g.m_rows,
            "NONFINITE": int(machine.nonfinite),
            "PC": self.outcome.ended,
        }[name]  # fmt: skip

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register. Raises RegisterError."""
        register = OFFSETS.get(offset)
        if register is None or register.access != "RW" or not (idle or not register.idle_only):
            raise RegisterError(f"write of {value:#x} to {offset:#x}")
        value &= register.write_mask
        if register.name in self._words:
            self._words[register.name] = value
            return
        index = (offset - register.offset) // register.stride
        self._seed[index] = value
        if index == len(self._seed) - 1:
            halves = self._seed
            self.machine.generator.load([halves[k] | halves[k + 1] << 32 for k in range(0, 8, 2)])

    def _float(self, name: str) -> np.float32:
        return np.uint32(self._words[name]).view(np.float32)

    def soft_reset(self) -> None:
        """Parameters, states, grouping, generator and registers stay; every layer is stale."""
        self.machine.forget()

    def link_clear(self) -> None:
        """The engine has no stream."""

    # ---- Jobs ----
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job; see models/engine.py.

        Args:
            ring: 0.
            descriptor: [16] uint32.
            memory: device memory.
        """
        yield from ()  # it never waits for a stream
        try:
            job = check_job(descriptor)
            if job.opcode == Opcode.CONFIG:
                return self._config(job, memory)
            if job.opcode == Opcode.RUN:
                return self._run(job, memory)
            return self._move(job, memory)
        except JobError as error:
            return JobEnd(int(error.code), 0, 0, error.info0, error.info1, START)

    def _config(self, job: Job, memory: Memory) -> JobEnd:
        most = LINE * (self.geometry.l_max + 1)
        if job.size % LINE:
            raise JobError(Error.E_ALIGN, SIZE)
        if not 2 * LINE <= job.size <= most:
            raise JobError(Error.E_DIM, SIZE)
        check_place(job, job.size)
        words = _read(memory, job.address, job.size).view(np.uint32)
        layers = check_table(words, self.geometry)
        self.machine.configure(layers)
        return JobEnd(0, 0, len(layers), cycles=START + 8 * len(layers))

    def _move(self, job: Job, memory: Memory) -> JobEnd:
        machine, kinds = self.machine, job.kinds
        if not job.layers or not kinds or max(job.layers) >= len(machine.layers):
            raise JobError(Error.E_DIM, SIZE)
        layers = [machine.layers[k].layer for k in job.layers]
        sizes = [sum(image_words(layer, kinds).values()) for layer in layers]
        check_place(job, 4 * sum(sizes))
        if job.opcode == Opcode.STORE:
            image = np.concatenate([machine.save(layer, kinds) for layer in layers])
            try:
                memory.write(job.address, image.view(np.uint8))
            except BusError as error:
                raise JobError(Error.E_BUS_WR, ADDRESS, error.response) from error
        else:
            for number in job.layers:
                machine.layers[number].forget()
            image = _read(memory, job.address, 4 * sum(sizes)).view(np.uint32)
            at = 0
            for layer, size in zip(layers, sizes, strict=True):
                machine.load(layer, kinds, image[at : at + size])
                at += size
        count = 4 * sum(sizes) // LINE
        return JobEnd(0, 0, count, cycles=START + count)

    def _context(self) -> Context:
        layers = [state.layer for state in self.machine.layers]
        return Context(self.geometry, layers, self._words["AGENTS"], self._words["EPISODES"])

    def _run(self, job: Job, memory: Memory) -> JobEnd:
        machine = self.machine
        if not machine.layers:
            raise JobError(Error.E_PROGRAM)
        floats = {name: self._float(name) for name in FLOATS}
        if not all(np.isfinite(x) for x in floats.values()) or not floats["EPS"] > 0:
            raise JobError(Error.E_HPARAM)
        count = job.size
        if not count:
            raise JobError(Error.E_DIM, SIZE)
        nbytes = 4 * INSTRUCTION_WORDS * count
        check_place(job, nbytes)
        program = self._decode(_read(memory, job.address, nbytes))
        context = self._context()
        known = self._known(context)
        rates = Rates(
            floats["LR"], floats["ALPHA"], floats["ONE_MINUS_ALPHA"], floats["EPS"],
            floats["LR_GROUP"],
        )  # fmt: skip

        def check(one: Instruction) -> Error | None:
            if one.words not in known:
                known[one.words] = check_instruction(one, context)
            return known[one.words]

        def execute(one: Instruction) -> int:
            return machine.execute(one, context, rates, floats["GSCALE"], floats["INV"], memory)

        machine.drop()
        self.outcome = out = run(program, check, machine.can_start, execute)
        for name, values in (("STAGE", out.stages), ("UNIT_BUSY", out.busy)):
            self._sums[name] = [a + b for a, b in zip(self._sums[name], values, strict=True)]
        cycles = START + out.clocks
        if out.error is None:
            return JobEnd(0, 0, out.ended, cycles=cycles)
        error = out.error
        return JobEnd(
            int(error.code), error.info0 & 0xFFFF, out.ended, error.info0, error.info1, cycles
        )

    def _decode(self, raw: np.ndarray) -> list[Instruction]:
        """The instructions of a program; those of the last programs are kept."""
        key = raw.tobytes()
        if key not in self._programs:
            if len(self._programs) >= KEPT:
                self._programs.clear()
            rows = raw.view(np.uint32).reshape(-1, INSTRUCTION_WORDS).tolist()
            self._programs[key] = [Instruction.decode(row) for row in rows]
        return self._programs[key]

    def _known(self, context: Context) -> dict[tuple[int, ...], Error | None]:
        """What is known to be wrong with instructions in this context."""
        if self._checked[0] != context:
            self._checked = context, {}
        return self._checked[1]


def _read(memory: Memory, address: int, nbytes: int) -> np.ndarray:
    """Read bytes. Raises: JobError."""
    try:
        return memory.read(address, nbytes)
    except BusError as error:
        raise JobError(Error.E_BUS_RD, ADDRESS, error.response) from error
