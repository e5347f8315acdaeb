"""File lists from FuseSoC: no list of sources exists anywhere else."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flow import BUILD, ROOT
from flow.manifest import engines


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
        compiled: C++ files that an overlay adds to every build.
    """

    toplevel: str
    sources: tuple[Path, ...]
    includes: tuple[Path, ...]
    waivers: tuple[Path, ...]
    parameters: dict[str, Any]
    files: tuple[Path, ...]
    compiled: tuple[Path, ...] = ()

    def digest(self, *extra: object, digits: int = 12) -> str:
        """Hash of the contents of all files, under names relative to the root, and of `extra`."""
        h = hashlib.sha256()
        for path in sorted(set(self.files)):
            h.update(os.path.relpath(path, ROOT).encode())
            h.update(path.read_bytes())
        for item in extra:
            h.update(repr(item).encode())
        return h.hexdigest()[:digits]


@cache
def _fusesoc() -> Any:
    from fusesoc.config import Config
    from fusesoc.fusesoc import Fusesoc

    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "FUSESOC_IGNORE").touch()  # what is generated there is no part of the library
    fusesoc = Fusesoc(Config(str(ROOT / "fusesoc.conf")))
    for manifest in engines().values():
        if not manifest.folder.is_relative_to(ROOT):
            _add(fusesoc, f"engine_{manifest.name}", manifest.folder)
    return fusesoc


def _add(fusesoc: Any, name: str, folder: Path) -> None:
    from fusesoc.librarymanager import Library

    if not any(library.name == name for library in fusesoc.cm.get_libraries()):
        fusesoc.cm.add_library(Library(name, str(folder)), [])


def add_library(name: str, folder: Path) -> None:
    """Tell FuseSoC of a folder with cores, in this process."""
    _add(_fusesoc(), name, folder)


@cache
def resolve(vlnv: str, target: str = "default") -> Design:
    """Ask FuseSoC for the files of a core, in dependency order.

    The environment variable JD_OVERLAY may name a folder: a file in it stands in for the source
    with the same path below the root, its own *.sv come first in every list, and its *.cpp are
    compiled too. Mutants run this way.

    Args:
        vlnv: the core's name, e.g. `jackdaw:lib:stream`.
        target: the target whose filesets and top are wanted.
    Raises: RuntimeError (of FuseSoC) if the core or a dependency is unknown.
    """
    from fusesoc.edalizer import Edalizer

    fusesoc = _fusesoc()
    core = fusesoc.get_core(vlnv)
    flags = dict(core.get_flags(target), target=target)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:  # the names are relative to it
        work = Path(folder)
        edam = Edalizer(
            toplevel=core.name,
            flags=flags,
            work_root=folder,
            core_manager=fusesoc.cm,
            export_root=None,
        ).run()

    def path(file: dict[str, Any]) -> Path:
        return (work / file["name"]).resolve()

    overlay = Path(os.environ["JD_OVERLAY"]) if "JD_OVERLAY" in os.environ else None

    def source(file: dict[str, Any]) -> Path:
        found = path(file)
        if overlay is not None and found.is_relative_to(ROOT):
            other = overlay / found.relative_to(ROOT)
            return other if other.exists() else found
        return found

    first = tuple(sorted(overlay.glob("*.sv"))) if overlay else ()
    compiled = tuple(sorted(overlay.glob("*.cpp"))) if overlay else ()
    includes = [f for f in edam["files"] if f.get("is_include_file")]
    sources = [f for f in edam["files"] if not f.get("is_include_file")]
    return Design(
        toplevel=edam["toplevel"],
        sources=first
        + tuple(
            source(f)
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
        files=first + compiled + tuple(source(f) for f in edam["files"]),
        compiled=compiled,
    )
