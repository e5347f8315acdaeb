"""In-process simulators: Verilated designs as shared libraries with a C interface.

A harness is a C++ file that includes flow/harness.h, derives its simulator from
jackdaw::Simulation, and defines `jd_new` and the functions that its Python side calls.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flow import ROOT
from flow.simulator import BuildFailed, Simulator

__all__ = [
    "BuildFailed", "CheckFailed", "Failure", "Harness", "MemoryConfig", "MemoryFault", "build",
    "describe", "failure", "open_library",
]  # fmt: skip


def describe(
    core: str,
    toplevel: str,
    harness: Path | str,
    *,
    parameters: Mapping[str, int | str] | None = None,
    sources: Sequence[Path | str] = (),
    control: Sequence[Path | str] = (),
    defines: Sequence[str] = (),
    assertions: bool = True,
    random_init: bool | None = None,
    waves: bool = False,
    optimize: str = "-O2",
    arguments: Sequence[str] = (),
    instead: Path | None = None,
) -> Simulator:
    """The simulator of a core with a C++ harness; see `Simulator` for the arguments.

    The harness includes `V<toplevel>.h`. The code is compiled with VL_USER_STOP and VL_USER_FATAL.
    Paths may be absolute.
    """

    def relative(path: Path | str) -> str:
        return os.path.relpath(ROOT / path, ROOT)

    return Simulator(
        core,
        toplevel,
        tuple((parameters or {}).items()),
        sources=tuple(relative(s) for s in sources),
        control=tuple(relative(c) for c in control),
        harness=relative(harness),
        defines=tuple(defines),
        assertions=assertions,
        random_init=random_init,
        waves=waves,
        optimize=optimize,
        instead=relative(instead) if instead else None,
        arguments=tuple(arguments),
    )


def build(core: str, toplevel: str, harness: Path | str, **options: object) -> Path:
    """Build `describe(...)`, or find it.

    Returns: path of the shared library.
    Raises: BuildFailed with the tool's output; flow.cache.CacheError.
    """
    return describe(core, toplevel, harness, **options).build()  # type: ignore[arg-type]


def open_library(path: Path) -> ctypes.CDLL:
    """Open a built library."""
    library = ctypes.CDLL(str(path))
    library.jd_new.restype = ctypes.c_void_p
    library.jd_free.argtypes, library.jd_free.restype = [ctypes.c_void_p], None
    library.jd_failure.restype = ctypes.c_char_p
    library.jd_failure.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_int),
        ctypes.POINTER(ctypes.c_uint64),
    ]  # fmt: skip
    return library


class MemoryConfig(ctypes.Structure):
    """jackdaw::MemoryConfig of flow/memory.h."""

    _fields_ = (
        ("latency", ctypes.c_uint32),
        ("read_num", ctypes.c_uint32), ("read_den", ctypes.c_uint32),
        ("write_num", ctypes.c_uint32), ("write_den", ctypes.c_uint32),
        ("shared_num", ctypes.c_uint32), ("shared_den", ctypes.c_uint32),
        ("max_delay", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
    )  # fmt: skip


class MemoryFault(ctypes.Structure):
    """jackdaw::Fault of flow/memory.h."""

    _fields_ = (
        ("first", ctypes.c_uint64), ("last", ctypes.c_uint64),
        ("response", ctypes.c_int), ("direction", ctypes.c_int),
    )  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """A failed check.

    Attributes:
        message: what the simulator or the harness said.
        file, line: where the check of the RTL ends; a check of the harness has none.
        clock: in which it failed, since the reset.
    """

    message: str
    file: str
    line: int
    clock: int

    @property
    def label(self) -> str:
        """The label of the check of the RTL, or what the harness said."""
        if not self.line or not (ROOT / self.file).is_file():
            return self.message
        # A check may go over several lines; the place is that of its last.
        lines = (ROOT / self.file).read_text().splitlines()[: self.line]
        labels = re.findall(r"`JD_\w+\((\w+)", "\n".join(lines[-4:]))
        return str(labels[-1]) if labels else self.message


def failure(library: ctypes.CDLL, handle: object) -> Failure | None:
    """The failure that ended an instance."""
    file, line, clock = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_uint64()
    text = library.jd_failure(handle, *(ctypes.byref(x) for x in (file, line, clock)))
    if text is None:
        return None
    message = re.sub(r"(?m)^\[\d+\] %Error: \S+ ", "", text.decode()).strip()
    return Failure(message, (file.value or b"").decode(), line.value, clock.value)


class CheckFailed(AssertionError):
    """A check failed.

    Attributes:
        failure: which.
        name: its label.
    """

    def __init__(self, found: Failure) -> None:
        self.failure, self.name = found, found.label
        where = f" at {found.file}:{found.line}" if found.line else ""
        super().__init__(f"{self.name}{where} in clock {found.clock}")


class Harness:
    """An instance of a simulator (a context manager).

    Args:
        library: that `open_library` opened.
        seed: of the random register values, and of what the harness draws.
    """

    def __init__(self, library: ctypes.CDLL, seed: int) -> None:
        self.library = library
        self.handle = ctypes.c_void_p(library.jd_new(ctypes.c_uint32(seed & 0x7FFF_FFFF)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # one that nobody closed leaves its coverage, too

    def close(self) -> None:
        """Free it; once."""
        if getattr(self, "handle", None):
            self.library.jd_free(self.handle)
            self.handle = ctypes.c_void_p()

    def call(self, function: str, *arguments: object) -> int:
        """Call a function of the harness, which takes the instance first and returns int64_t.

        Raises: CheckFailed if it returns -1.
        """
        called = getattr(self.library, function)
        called.restype = ctypes.c_int64
        number = int(called(self.handle, *arguments))
        if number == -1 and (found := failure(self.library, self.handle)):
            raise CheckFailed(found)
        return number
