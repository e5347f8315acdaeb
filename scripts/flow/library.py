"""In-process simulators: Verilated designs as shared libraries with a C interface."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from flow import BUILD, ROOT, coverage
from flow.design import resolve
from flow.toolchain import compile_slot, environment, locked, verilator_root, verilator_version

# Functions beyond so many statements are split, because g++ needs minutes for the largest. A cut
# through an `automatic` array makes it random anew each clock, which costs time: with fewer
# statements that happens to the registers' read multiplexers.
SPLIT_STATEMENTS = 8000
CXX_FLAGS = ("-shared", "-fPIC", "-std=gnu++20", "-O2", "-ffp-contract=off")
HARNESS_H = ROOT / "scripts/flow/harness.h"


class BuildFailed(RuntimeError):
    """Verilator or the C++ compiler refused."""


def build(
    core: str,
    toplevel: str,
    harness: Path | str,
    *,
    parameters: Mapping[str, int | str] | None = None,
    sources: Sequence[Path | str] = (),
    defines: Sequence[str] = (),
    assertions: bool = True,
    random_init: bool | None = None,
    waves: bool = False,
    optimize: str = "-O2",
    verilator_args: Sequence[str] = (),
    instead: Path | None = None,
) -> Path:
    """Build `lib<toplevel>.so` from a core and a C++ harness; cached by content.

    The harness includes `V<toplevel>.h` and must define `vl_stop` and `vl_fatal`, which may throw:
    the code is compiled with VL_USER_STOP and VL_USER_FATAL.

    Args:
        core: FuseSoC core that holds the sources.
        toplevel: module that becomes the C++ class.
        harness: C++ file, relative to the root.
        parameters: parameters of the toplevel.
        sources: extra SystemVerilog files, relative to the root.
        defines: macros for the harness (`NAME=VALUE`); every parameter X is there as JD_X too.
        assertions: keep the RTL's assertions.
        random_init: random initial register values (default: as `assertions`).
        waves: compile FST tracing in (macro JD_WAVES).
        optimize: optimization level of the model's C++.
        verilator_args: more Verilator arguments.
        instead: folder whose *.sv stand in for the core's sources of the same names, and whose
            *.cpp are compiled too.
    Returns: path of the shared library.
    Raises: BuildFailed with the tool's output.
    """
    design = resolve(core)
    parameters = dict(parameters or {})
    extra = [ROOT / s for s in sources]
    others = {p.name: p for p in sorted(instead.glob("*.sv"))} if instead else {}
    compiled = sorted(instead.glob("*.cpp")) if instead else []
    harness = ROOT / harness
    random_init = assertions if random_init is None else random_init
    init = "unique" if random_init else "fast"
    args = [
        "--cc", "--build", "-Wall", "--build-jobs", "1", "--x-assign", init, "--x-initial", init,
        "--output-split-cfuncs", str(SPLIT_STATEMENTS),
        "-CFLAGS", "-fPIC -DVL_USER_STOP -DVL_USER_FATAL" + " -ffp-contract=off" * bool(compiled),
        "-MAKEFLAGS", f"OPT_FAST={optimize} OPT_GLOBAL={optimize} OPT_SLOW=-O0",
        "--assert" if assertions else "--no-assert",
        *(["--trace-fst"] if waves else []),
        *coverage.verilator_arguments(core),
        *verilator_args,
        *(["-Wno-fatal"] if design.compiled else []),
        *(f"-G{k}={v}" for k, v in parameters.items()),
    ]  # fmt: skip
    macros = [f"JD_{k}={v}" for k, v in parameters.items()] + list(defines)
    macros += ["JD_WAVES"] if waves else []
    if coverage.measured(core):
        macros += [f'JD_COVERAGE="{coverage.raw_folder()}"']
    headers = [HARNESS_H, *sorted(harness.parent.glob("*.h"))]
    texts = [s.read_text() for s in [*extra, harness, *headers, *others.values(), *compiled]]
    digest = design.digest(toplevel, args, macros, texts, CXX_FLAGS, verilator_version())
    folder = BUILD / "library" / f"{toplevel}-{digest}"
    library = folder / f"lib{toplevel}.so"
    with locked(BUILD / "library" / f"{toplevel}-{digest}.lock"):
        if library.exists():
            return library
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept = [others.get(source.name, source) for source in design.sources]
        files = [*design.waivers, *kept, *extra, *design.compiled, *compiled]
        with compile_slot():
            _call(
                [
                    "verilator",
                    *args,
                    "--top-module",
                    toplevel,
                    "-Mdir",
                    "obj",
                    *(f"-I{i}" for i in design.includes),
                    *files,
                ],
                folder,
            )
            root = verilator_root()
            _call(
                [
                    *(["ccache"] if shutil.which("ccache") else []),
                    "g++", *CXX_FLAGS, *(f"-D{m}" for m in macros), "-Iobj", f"-I{harness.parent}",
                    f"-I{ROOT}/scripts",
                    f"-I{root}/include", f"-I{root}/include/vltstd",
                    "-c", harness, "-o", "harness.o",
                ],
                folder,
            )  # fmt: skip
            _call(
                ["g++", "-shared", "-Wl,-Bsymbolic-functions", "harness.o",
                 f"obj/libV{toplevel}.a", "obj/libverilated.a",
                 "-pthread", "-latomic", *(["-lz", "-llz4"] if waves else []),
                 "-o", "library.so"],
                folder,
            )  # fmt: skip
        os.replace(folder / "library.so", library)
        shutil.rmtree(folder / "obj", ignore_errors=True)
    return library


def _call(command: Sequence[object], folder: Path) -> None:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / "build.log").open("a").write(done.stdout + done.stderr)
    if done.returncode:
        output = (done.stdout + done.stderr)[-8000:]
        raise BuildFailed(f"{command[0]} in {folder}: exit code {done.returncode}\n{output}")
