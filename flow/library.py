"""In-process simulators: Verilated designs as shared libraries with a C interface."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from flow import ROOT
from flow.simulator import BuildFailed, Simulator

__all__ = ["BuildFailed", "build", "describe"]


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

    The harness includes `V<toplevel>.h` and must define `vl_stop` and `vl_fatal`, which may throw:
    the code is compiled with VL_USER_STOP and VL_USER_FATAL. Paths may be absolute.
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
