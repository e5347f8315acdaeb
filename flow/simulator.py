"""Simulators: Verilated designs, each built once on a machine (flow/cache.py).

A simulator is a program that runs cocotb tests, or, with a C++ harness, a shared library for this
process. What decides its content is in its key: the sources by content under names relative to the
root, every argument and every file that an argument names, the versions of the tools, and the
builder itself.

Three things make building fast. Verilator's own objects (`verilated*.o`) and headers are compiled
once for each set of flags. cocotb reaches the signals of the top, and of the modules that the
environment names in its `public.vlt`; the compiler may melt all others together. And a model that
nobody waits for (-Og) is one translation unit, because each costs a start of the compiler.

The regression builds before its tests. It learns what a test will open by `planning`; each use of a
simulator that it did not learn of is in its record.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from flow import ROOT, cache, coverage, process, record
from flow.design import Design, resolve
from flow.toolchain import environment, verilator_root, verilator_version

# Functions beyond so many statements are split, because g++ needs minutes for the largest. A cut
# through an `automatic` array makes it random anew each clock, which costs time: with fewer
# statements that happens to the registers' read multiplexers.
SPLIT_STATEMENTS = 8000
UNIT_BYTES = 400_000  # of C++ in a translation unit that is optimized
RUNTIME_OPTIMIZE = "-O2"
QUICK = "-Og"  # a sixth longer to compile than -O0, and the model is four times faster
HEADERS = """\
#include "verilated.h"
#include "verilated_dpi.h"
#include "verilated_vpi.h"
"""
COCOTB_ARGS = (
    "--vpi", "--assert", "-Wall", "--x-assign", "unique", "--x-initial", "unique",
    "--timescale", "1ns/1ps",
)  # fmt: skip
BUILDER = Path(__file__)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


class BuildFailed(RuntimeError):
    """Verilator or the C++ compiler refused; says which, and its last words."""


class Planned(Exception):
    """A simulator was asked for while builds are only planned."""


_planned: list[Simulator] | None = None


@contextmanager
def planning() -> Iterator[list[Simulator]]:
    """Inside, `Simulator.build` builds nothing: it notes the simulator and raises Planned."""
    global _planned
    found: list[Simulator] = []
    _planned = found
    try:
        yield found
    finally:
        _planned = None


@dataclass(frozen=True)
class Simulator:
    """What a simulator is made of; two that are equal are one entry of the cache.

    Attributes:
        core: FuseSoC core that holds the sources.
        toplevel: module that is simulated; a library's C++ class is `V<toplevel>`.
        parameters: name and value of the toplevel's parameters.
        sources: extra SystemVerilog files, relative to the root.
        control: Verilator control files, relative to the root: which signals are public.
        harness: C++ file of a library, relative to the root; it defines `vl_stop` and `vl_fatal`,
            which may throw. None: a program for cocotb.
        defines: macros for the harness (`NAME=VALUE`); every parameter X is there as JD_X, too.
        assertions: keep the RTL's assertions.
        random_init: random initial register values; None: as `assertions`.
        waves: compile FST tracing in (macro JD_WAVES).
        optimize: optimization level of the model's C++.
        instead: folder, relative to the root, whose *.sv stand in for the core's sources of the
            same names, and whose *.cpp are compiled, too.
        arguments: more Verilator arguments; they name no file.
        toggles: count toggles, too, where coverage is measured.
    """

    core: str
    toplevel: str
    parameters: tuple[tuple[str, int | str], ...] = ()
    sources: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    harness: str | None = None
    defines: tuple[str, ...] = ()
    assertions: bool = True
    random_init: bool | None = None
    waves: bool = False
    optimize: str = QUICK
    instead: str | None = None
    arguments: tuple[str, ...] = ()
    toggles: bool = False

    def __str__(self) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.toplevel} {values}".strip()

    @property
    def name(self) -> str:
        """The entry's name: kind, toplevel and key."""
        kind = "library" if self.harness else "program"
        return f"{kind}-{self.toplevel}-{_key(self, *_surroundings(self.core))}"

    @property
    def size(self) -> int:
        """Bytes of SystemVerilog: the larger, the longer it takes to build."""
        design = resolve(self.core)
        return sum(path.stat().st_size for path in (*design.sources, *self._extra))

    @property
    def _extra(self) -> list[Path]:
        return [ROOT / source for source in self.sources]

    @property
    def file(self) -> str:
        """The name of the built file in the entry."""
        return "simulator.so" if self.harness else "simulator"

    def build(self) -> Path:
        """Build it, or find it. Raises: BuildFailed, cache.CacheError, Planned."""
        if _planned is not None:
            _planned.append(self)
            raise Planned(str(self))
        name = self.name
        record.used(str(self), name)
        if (found := cache.find(name)) is None:
            found = cache.entry(name, self._make)
        if self.harness and coverage.measured(self.core):
            os.environ["JD_COVERAGE_FOLDER"] = str(coverage.raw_folder())
        return found / self.file

    def try_build(self) -> bool:
        """Build it, unless another process does. Raises: as `build`."""
        return cache.try_entry(self.name, self._make)

    @property
    def built(self) -> bool:
        """Whether it is there."""
        return cache.find(self.name) is not None

    def _make(self, folder: Path) -> None:
        with cache.slot():
            _Build(self, folder).run()


@functools.cache
def tools() -> tuple[str, ...]:
    """Versions of everything that makes or runs a simulator."""
    try:
        compiler = subprocess.run(
            ["g++", "--version"], capture_output=True, text=True, check=True, env=environment()
        ).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildFailed(f"g++ does not run: {error}") from error
    return (
        compiler, f"verilator {verilator_version()}", f"cocotb {version('cocotb')}",
        f"python {sys.version}", os.uname().machine,
    )  # fmt: skip


def _surroundings(core: str) -> tuple[str, str, tuple[str, ...]]:
    """What a key depends on besides the simulator; a part of the cache's key in this process."""
    return (
        os.environ.get("JD_OVERLAY", ""),
        os.environ.get("CXXFLAGS", ""),
        tuple(coverage.verilator_arguments(core)),
    )


@functools.cache
def _key(it: Simulator, overlay: str, flags: str, counted: tuple[str, ...]) -> str:
    """Hash of everything that decides what is built, 16 hex digits."""
    files = [BUILDER, *it._extra, *(ROOT / name for name in it.control)]
    if it.harness:
        files += included(ROOT / it.harness, [ROOT])
    others = [(path.name, path.read_bytes()) for path in _instead(it)]  # wherever they lie
    return resolve(it.core).digest(
        replace(it, instead=None), bool(it.instead), others, flags, counted, tools(),
        *((_relative(f), f.read_bytes()) for f in files), digits=16,
    )  # fmt: skip


def included(path: Path, folders: Sequence[Path]) -> list[Path]:
    """A C++ file and the project's files that it includes, directly or not."""
    found: dict[Path, None] = {}
    todo = [path]
    while todo:
        here = todo.pop()
        if here in found:
            continue
        found[here] = None
        for name in INCLUDE.findall(here.read_text()):
            places = (folder / name for folder in (here.parent, path.parent, *folders))
            todo += [place.resolve() for place in places if place.is_file()][:1]
    return list(found)


def _instead(it: Simulator) -> list[Path]:
    folder = ROOT / it.instead if it.instead else None
    return sorted([*folder.glob("*.sv"), *folder.glob("*.cpp")]) if folder else []


def _relative(path: Path) -> str:
    return os.path.relpath(path, ROOT)


class _Build:
    """One build in its folder."""

    def __init__(self, it: Simulator, folder: Path) -> None:
        self.it, self.folder = it, folder
        self.design: Design = resolve(it.core)
        self.log = folder / "build.log"
        self.prefix = f"V{it.toplevel}" if it.harness else "Vtop"
        self.seconds = {"verilator": 0.0, "compiler": 0.0}
        instead = _instead(it)
        self.others = {path.name: path for path in instead if path.suffix == ".sv"}
        self.more = [*self.design.compiled, *(p for p in instead if p.suffix == ".cpp")]
        root, counted = verilator_root(), coverage.verilator_arguments(it.core)
        self.flags = [
            "-std=gnu++20", "-fcoroutines", "-faligned-new", "-DVERILATOR=1", "-DVM_SC=0",
            f"-DVM_COVERAGE={int(bool(counted))}", "-DVM_TIMING=0", f"-DVM_TRACE={int(it.waves)}",
            f"-DVM_TRACE_FST={int(it.waves)}", "-DVM_TRACE_VCD=0", "-DVM_TRACE_SAIF=0",
            f"-I{root}/include", f"-I{root}/include/vltstd", f"-ffile-prefix-map={root}=verilator",
            f"-ffile-prefix-map={ROOT}=.", f"-ffile-prefix-map={folder}=.",
            *(["-fPIC", "-DVL_USER_STOP", "-DVL_USER_FATAL"] if it.harness else []),
            *(["-ffp-contract=off"] if it.instead else []),
        ]  # fmt: skip

    def run(self) -> None:
        """Verilate, compile, link; leave the simulator, its log and nothing else."""
        start = time.time()
        self._verilate()
        objects = self._model()
        objects += [
            self._compile(path, f"more{i}.o", "-O2", ()) for i, path in enumerate(self.more)
        ]
        self._link(objects)
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_dir():
                path.rmdir()
            elif path.name not in (self.it.file, self.log.name):
                path.unlink()
        record.built(str(self.it), self.it.core, time.time() - start, self.seconds)

    def _verilate(self) -> None:
        it, design = self.it, self.design
        random_init = it.assertions if it.random_init is None else it.random_init
        init = "unique" if random_init else "fast"
        library = [
            "-Wall", "--x-assign", init, "--x-initial", init,
            "--output-split-cfuncs", SPLIT_STATEMENTS,
            "--assert" if it.assertions else "--no-assert",
        ]  # fmt: skip
        # Where everything is public, rules for modules of the design hide generate loops from
        # cocotb; without any rule it does not find them either.
        flat = "--public-flat-rw" in it.arguments
        public = "jd_none" if flat else it.toplevel
        top = self.folder / "top.vlt"
        control: list[object] = [*([] if it.harness else [top]), *([] if flat else it.control)]
        top.write_text(f'`verilator_config\npublic_flat_rw -module "{public}" -var "*"\n')
        self._call(
            "verilator",
            [
                "verilator", "--cc", "-Mdir", self.folder / "obj", "--prefix", self.prefix,
                "--top-module", it.toplevel, *(library if it.harness else COCOTB_ARGS),
                *(["--trace-fst"] if it.waves else []),
                *coverage.verilator_arguments(it.core, toggles=it.toggles),
                *it.arguments, *(["-Wno-fatal"] if design.compiled else []),
                *(f"-G{name}={value}" for name, value in it.parameters),
                *(f"-I{_relative(include)}" for include in design.includes),
                *control,
                *(_relative(path) for path in design.waivers),
                *(_relative(self.others.get(path.name, path)) for path in design.sources),
                *it.sources,
            ],
            ROOT,  # names in messages and in coverage are relative to it
        )  # fmt: skip

    def _model(self) -> list[Path]:
        """Compile Verilator's C++, and cocotb's main or the harness."""
        obj = self.folder / "obj"
        files = sorted(obj.glob("*.cpp"))
        main = _cocotb_share() / "lib/verilator/verilator.cpp"
        if self.it.harness:
            main = ROOT / self.it.harness
        if self.it.optimize == QUICK:
            return [self._unit("model", [*files, main], QUICK)]
        fast = set(self._listed("FAST"))
        objects = [self._unit("slow", [f for f in files if f.stem not in fast], "-O0")]
        objects.append(self._unit("main", [main], "-O2"))
        group: list[Path] = []
        for path in [f for f in files if f.stem in fast]:
            if group and sum(f.stat().st_size for f in (*group, path)) > UNIT_BYTES:
                objects.append(self._unit(f"fast{len(objects)}", group, self.it.optimize))
                group = []
            group.append(path)
        return [*objects, self._unit(f"fast{len(objects)}", group, self.it.optimize)]

    def _listed(self, speed: str) -> list[str]:
        """Files that Verilator lists as classes and support of a speed."""
        text = (self.folder / "obj" / f"{self.prefix}_classes.mk").read_text()
        found = re.findall(rf"(?m)^VM_(?:CLASSES|SUPPORT)_{speed} \+= \\\n((?:  .*\n)*)", text)
        return [word for part in found for word in part.replace("\\", " ").split()]

    def _runtime(self) -> list[Path]:
        text = (self.folder / "obj" / f"{self.prefix}_classes.mk").read_text()
        found = re.findall(r"(?m)^VM_GLOBAL_(?:FAST|SLOW) \+= \\\n((?:  .*\n)*)", text)
        names = [word for part in found for word in part.replace("\\", " ").split()]
        return [self._runtime_object(name) for name in dict.fromkeys(names)]

    def _runtime_object(self, name: str) -> Path:
        """One of Verilator's own objects."""
        text = (verilator_root() / "include" / f"{name}.cpp").read_text()
        return self._shared(f"{name}.cpp", text, RUNTIME_OPTIMIZE, "-c", "object.o")

    def _headers(self, optimize: str) -> Path:
        """Verilator's headers; whoever includes the file takes what g++ made of it.

        Half of the compiler's time for a small model would be reading them.
        """
        made = self._shared("headers.h", HEADERS, optimize, "-xc++-header", "headers.h.gch")
        return made.with_suffix("")

    def _shared(self, file: str, text: str, optimize: str, kind: str, made: str) -> Path:
        """What g++ makes of a file, which all builds with the same flags use."""
        shared = [flag for flag in self.flags if str(self.folder) not in flag]
        root = str(verilator_root())
        words = [optimize, kind, *(f.replace(root, "").replace(str(ROOT), "") for f in shared)]
        key = hashlib.sha256(repr((words, tools(), text)).encode()).hexdigest()[:16]

        def make(folder: Path) -> None:
            start = time.time()
            (folder / file).write_text(text)
            done = process.run(
                ["g++", optimize, kind, *shared, file, "-o", made],
                cwd=folder, log=folder / "build.log", env=environment(),
            )  # fmt: skip
            _check(done, "g++", file)
            record.built(file, "", time.time() - start, {"compiler": done.cpu_s})

        return cache.entry(f"runtime-{file}-{key}", make) / made

    def _unit(self, name: str, files: Iterable[Path], optimize: str) -> Path:
        unit = self.folder / f"{name}.cpp"
        lines = [f'#include "{self._headers(optimize)}"\n']
        for path in files:
            if self.it.harness and path == ROOT / self.it.harness:
                # After Verilator's code, whose names a macro could change.
                lines += [f"#define {macro.replace('=', ' ', 1)}\n" for macro in self._macros()]
            lines.append(f'#include "{path}"\n')
        unit.write_text("".join(lines))
        return self._compile(unit, f"{name}.o", optimize, ("-Iobj", f"-I{ROOT}"))

    def _macros(self) -> list[str]:
        """What the harness is told."""
        it = self.it
        return [
            *(f"JD_{name}={value}" for name, value in it.parameters),
            *it.defines,
            *(["JD_WAVES"] if it.waves else []),
            *(["JD_COVERAGE"] if coverage.measured(it.core) else []),
        ]

    def _compile(self, path: Path, name: str, optimize: str, more: Sequence[str]) -> Path:
        command = ["g++", optimize, *self.flags, *more, "-c", path, "-o", name]
        self._call("compiler", command, self.folder)
        return self.folder / name

    def _link(self, objects: Sequence[Path]) -> None:
        runtime = self._runtime()
        libraries = ["-pthread", "-latomic", *(["-lz", "-llz4"] if self.it.waves else [])]
        kind = ["-shared", "-Wl,-Bsymbolic-functions"] if self.it.harness else []
        if not self.it.harness:
            from cocotb_tools import config

            # Found by LD_LIBRARY_PATH when it runs: each clone has its own.
            libraries = [f"-L{config.libs_dir}", "-lcocotbvpi_verilator", *libraries]
        self._call(
            "compiler",
            ["g++", *kind, *objects, *runtime, *libraries, "-o", self.it.file],
            self.folder,
        )

    def _call(self, what: str, command: Sequence[object], cwd: Path) -> None:
        done = process.run(command, cwd=cwd, log=self.log, env=environment())
        self.seconds[what] += done.cpu_s
        _check(done, str(command[0]), str(self.it))


def _check(done: process.Ended, tool: str, what: str) -> None:
    if done.code:
        raise BuildFailed(
            f"{tool} for {what}: exit code {done.code} {done.limit}\n{done.output[-8000:]}"
        )


def _cocotb_share() -> Path:
    from cocotb_tools import config

    return Path(config.share_dir)
