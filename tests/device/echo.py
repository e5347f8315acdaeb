"""The echo device for tests: configuration, golden model of its engine, a device of either kind."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flow.configuration import Config
from jackdaw.device.engines import EngineSpec
from models.engine import JobEnd, Link, Memory, RegisterError
from models.registers import engine_header as header

ECHO_ID = 0x4F484345
ECHO, HANG, WAIT = 1, 2, 3  # WAIT: only in the model, waits for a word of its link


@dataclass(frozen=True)
class HandWritten(Config):
    """A device with a top of its own, which takes the device's numbers as parameters."""

    made: str = ""
    top: str = ""

    @property
    def toplevel(self) -> str:
        return self.top

    def core(self) -> str:
        return self.made

    def rtl_parameters(self) -> dict[str, int]:
        return {**self.parameters, "BuildHash": self.build_hash}


CONFIG = HandWritten(
    "echo", 250_000_000, 20, 2, made="jackdaw:verif:device_echo", top="jd_device_echo"
)


class EchoEngine:
    """Golden model of verif/engine_control/jd_echo.sv: a job ends as its descriptor says."""

    rings = 2

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> EchoEngine:
        """It has no parameters."""
        return cls(**streams)

    def __init__(self, source: Link | None = None, sink: Link | None = None) -> None:
        self.registers = [0, 0, 0]
        self.jobs = [0, 0]
        self.source = source
        self.sink = sink

    def read_register(self, offset: int) -> int:
        if offset == 0x10C:
            return 0xC0FFEE00
        if offset % 4 or not 0x100 <= offset < 0x10C:
            raise RegisterError
        return self.registers[(offset - 0x100) // 4]

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        if offset % 4 or not 0x100 <= offset < 0x10C or (offset == 0x100 and not idle):
            raise RegisterError
        self.registers[(offset - 0x100) // 4] = value

    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        words = [int(word) for word in descriptor]
        number, self.jobs[ring] = self.jobs[ring], self.jobs[ring] + 1
        opcode = words[0] & 0xFF
        while opcode == HANG:
            yield
        if opcode == WAIT and self.source is not None:
            while not self.source.words:
                yield
            word, _ = self.source.words.popleft()
            return JobEnd(count=word)
        if opcode == WAIT and self.sink is not None:
            self.sink.put(words[4], last=True)
            return JobEnd()
        error = words[3] & 0xFF
        if opcode != ECHO:
            error = int(header.Error.E_OPCODE)
        elif any(words[7:]):
            error = int(header.Error.E_RESERVED)
        return JobEnd(error, words[3] >> 16, words[4] ^ number, words[5], words[6], words[2] + 1)

    def soft_reset(self) -> None:
        """Nothing is kept."""

    def link_clear(self) -> None:
        """Nothing is held."""


def echo_engines(_: Config) -> Sequence[EngineSpec]:
    """Two engines; the second one's WAIT jobs feed those of the first."""
    link = Link()
    first, second = EchoEngine(source=link), EchoEngine(sink=link)
    return [
        EngineSpec(ECHO_ID, 0x00010203, first, [link]),
        EngineSpec(ECHO_ID, 0x00010203, second, [link]),
    ]
