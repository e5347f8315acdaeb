"""Golden model of the scale engine: y = a x + b, multiplied and then added, each rounded."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from engine_scale import registers
from engine_scale.registers import Error
from models.engine import BusError, JobEnd, Link, Memory, RegisterError, beyond

SCALE, MOST, LANES, BURST_BYTES = 1, 1 << 19, 16, 1024


def scale(x: np.ndarray, a: np.float32, b: np.float32) -> np.ndarray:
    """Return a*x + b of [N] float32, rounded after each operation; NaN are the canonical one."""
    with np.errstate(all="ignore"):
        y = (x * a).astype(np.float32) + b
    return np.where(np.isnan(y), np.uint32(0x7FC00000).view(np.float32), y).astype(np.float32)


class ScaleEngine:
    """The scale engine at job level (see `models.engine.EngineModel`)."""

    rings = 1

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> ScaleEngine:
        """Make it of a configuration's parameters, by name; it has no streams."""
        return cls(**fields)

    def __init__(self, mul: int = 2, add: int = 2, depth: int = 128) -> None:
        self.latency = mul + add
        self.depth = depth
        self.words = 0

    def read_register(self, offset: int) -> int:
        """Read an engine register. Raises RegisterError."""
        values = {
            registers.CAP.offset: LANES | self.depth << 8,
            registers.N_WORDS.offset: self.words & 0xFFFFFFFF,
        }
        if offset not in values:
            raise RegisterError(f"read of {offset:#x}")
        return values[offset]

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """No register can be written. Raises RegisterError."""
        raise RegisterError(f"write of {offset:#x}")

    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job; it waits for nothing."""
        yield from ()
        words = [int(word) for word in descriptor]
        count, source, target = words[2], words[6] | words[7] << 32, words[8] | words[9] << 32
        error = self._check(words, count, source, target)
        if error:
            return JobEnd(int(error))
        a, b = descriptor[3:5].view(np.float32)
        data = bytearray()
        beats = -(-count // LANES)
        for beat in range(beats):
            try:
                data += memory.read(source + 64 * beat, 64).tobytes()
            except BusError as bus:
                self._write(memory, target, bytes(data), 0, a, b)
                return JobEnd(int(Error.E_BUS_RD), info0=bus.address & 0xFFFFFFFF,
                              info1=bus.response)  # fmt: skip
        failed = self._write(memory, target, bytes(data), count, a, b)
        if failed is not None:
            return JobEnd(int(Error.E_BUS_WR), info0=failed[0] & 0xFFFFFFFF, info1=failed[1])
        self.words += count
        return JobEnd(count=count, cycles=beats + self.latency + 200)

    def _check(self, words: list[int], count: int, source: int, target: int) -> Error | None:
        nbytes = -(-count // LANES) * 64
        reserved = (words[0] >> 8 & 0x3FFFFF, words[5], *words[10:], source >> 40, target >> 40)
        if words[0] & 0xFF != SCALE:
            return Error.E_OPCODE
        if any(reserved):
            return Error.E_RESERVED
        if not 0 < count <= MOST:
            return Error.E_COUNT
        if source % 64 or target % 64:
            return Error.E_ALIGN
        if beyond(source, nbytes) or beyond(target, nbytes):
            return Error.E_ADDR
        return None

    def _write(
        self, memory: Memory, target: int, data: bytes, count: int, a: np.float32, b: np.float32
    ) -> tuple[int, int] | None:
        """Write burst after burst; the first failure's burst and response, if there is one."""
        y = scale(np.frombuffer(data, np.float32)[:count], a, b).view(np.uint8)
        failed = None
        for at in range(0, y.size, BURST_BYTES):
            try:
                memory.write(target + at, y[at : at + BURST_BYTES])
            except BusError as bus:
                failed = failed or (target + at, bus.response)
        return failed

    def soft_reset(self) -> None:
        """Nothing is held."""

    def link_clear(self) -> None:
        """It has no links."""
