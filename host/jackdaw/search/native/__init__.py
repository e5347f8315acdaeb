"""The search's C++ parts: compiled at their first use, kept in the cache, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from functools import cache
from pathlib import Path

from flow.cache import entry
from flow.toolchain import compiler_folder

FLAGS = (
    "-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-fPIC", "-pthread",
)  # fmt: skip
TIMEOUT_S = 300.0
FOLDER = Path(__file__).parent


class NativeBuildError(RuntimeError):
    """A C++ part does not compile; has the compiler's output."""


@cache
def library(name: str) -> ctypes.CDLL:
    """The library made of `NAME.cpp` in this folder.

    Raises: NativeBuildError, flow.cache.CacheError, flow.toolchain.ToolMissing.
    """
    source = FOLDER / f"{name}.cpp"
    return ctypes.CDLL(str(build(source, ("-shared",), f"{name}.so") / f"{name}.so"))


def build(source: Path, more: tuple[str, ...], output: str) -> Path:
    """Compile one file.

    Args:
        source: the file.
        more: flags beside FLAGS.
        output: name of what is made.
    Returns: the folder in which it lies.
    Raises: as `library`.
    """
    folder = compiler_folder()
    compiler = str(folder / "g++") if folder else "g++"
    included = [path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]pp"))]  # perhaps
    text = repr((source.read_bytes(), included, FLAGS, more, compiler)).encode()

    def make(place: Path) -> None:
        done = subprocess.run(
            [compiler, *FLAGS, *more, str(source), "-o", str(place / output)],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        if done.returncode:
            raise NativeBuildError(f"{source.name}: {done.stderr}")

    return entry(f"search-{source.stem}-{hashlib.sha256(text).hexdigest()[:32]}", make)
