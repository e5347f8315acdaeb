"""File lists from FuseSoC: no list of sources exists anywhere else."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flow import BUILD, ROOT


@dataclass(frozen=True)
class Design:
    """What a core and its dependencies consist of.

    Attributes:
        toplevel: module named by the core's target.
        sources: SystemVerilog files in dependency order.
        includes: include directories.
        waivers: Verilator waiver files (.vlt).
        parameters: parameters of the top with their defaults.
        files: every file above and every include file, for hashing.
    """

    toplevel: str
    sources: tuple[Path, ...]
    includes: tuple[Path, ...]
    waivers: tuple[Path, ...]
    parameters: dict[str, Any]
    files: tuple[Path, ...]

    def digest(self, *extra: object) -> str:
        """Hash of the contents of all files and of `extra`, 12 hex digits."""
        h = hashlib.sha256()
        for path in sorted(set(self.files)):
            h.update(str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).encode())
            h.update(path.read_bytes())
        for item in extra:
            h.update(repr(item).encode())
        return h.hexdigest()[:12]


@cache
def _fusesoc() -> Any:
    from fusesoc.config import Config
    from fusesoc.fusesoc import Fusesoc

    return Fusesoc(Config(str(ROOT / "fusesoc.conf")))


@cache
def resolve(vlnv: str, target: str = "default") -> Design:
    """Ask FuseSoC for the files of a core, in dependency order.

    Args:
        vlnv: the core's name, e.g. `jackdaw:lib:stream`.
        target: the target whose filesets and top are wanted.
    Raises: RuntimeError (of FuseSoC) if the core or a dependency is unknown.
    """
    from fusesoc.edalizer import Edalizer

    fusesoc = _fusesoc()
    core = fusesoc.get_core(vlnv)
    work = BUILD / "resolve" / core.name.sanitized_name / target / str(os.getpid())
    work.mkdir(parents=True, exist_ok=True)
    flags = dict(core.get_flags(target), target=target)
    edam = Edalizer(
        toplevel=core.name,
        flags=flags,
        work_root=str(work),
        core_manager=fusesoc.cm,
        export_root=None,
    ).run()

    def path(file: dict[str, Any]) -> Path:
        return (work / file["name"]).resolve()

    includes = [f for f in edam["files"] if f.get("is_include_file")]
    sources = [f for f in edam["files"] if not f.get("is_include_file")]
    return Design(
        toplevel=edam["toplevel"],
        sources=tuple(
            path(f)
            for f in sources
            if str(f.get("file_type", "")).startswith("systemVerilogSource")
        ),
        includes=tuple(
            dict.fromkeys(
                (work / (f.get("include_path") or Path(f["name"]).parent)).resolve()
                for f in includes
            )
        ),
        waivers=tuple(path(f) for f in sources if f.get("file_type") == "vlt"),
        parameters={
            name: p["default"]
            for name, p in edam["parameters"].items()
            if p["paramtype"] == "vlogparam" and "default" in p
        },
        files=tuple(path(f) for f in edam["files"]),
    )
