"""Which tests passed on this machine with the same inputs: `make test CHANGED=1`.

A test's inputs are taken too wide rather than too narrow: everything in the repository and in the
folders of engines out of the tree. Only the tests of an engine do without documents and without
RTL, environment and tests of the engines that share no device with it in a configuration that they
open (tests/project checks that, and imports). Beside the files, the seed, the settings and the
versions of all tools and packages decide.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from flow import ROOT, cache, record, write_whole
from flow.configuration import load_config, names
from flow.manifest import ELSEWHERE, engines
from flow.simulator import tools

ENGINES = tuple(sorted(engines()))
WHOLE = ("all", "learners")  # configurations that only tests outside the engines' folders open
TOPS = ("rtl", "verif", "tests")
NOTES_KEPT = 200
PAGES = ("README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE")
SETTINGS = (
    "JD_EFFORT",
    "JD_OPTIMIZE",
    "JD_COVERAGE",
    "JD_OVERLAY",
    "JD_MUTANT",
    "CXXFLAGS",
    ELSEWHERE,
    "PYTEST_ADDOPTS",
)


@functools.cache
def files() -> dict[str, str]:
    """Name and hash of every file of the work tree that git does not ignore, and of `outside`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode().split("\0")  # fmt: skip
    return {
        name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        for name in sorted({*listed, *outside()})
        if name and (ROOT / name).is_file()
    }


def outside() -> set[str]:
    """The files of engines out of the tree: all but hidden ones and what Python makes."""
    found = set()
    for manifest in engines().values():
        for folder in {manifest.folder, manifest.python or manifest.folder}:
            if not folder.is_relative_to(ROOT):
                found |= {
                    os.path.relpath(path, ROOT)
                    for path in folder.rglob("*")
                    if not re.search(r"/(\.|__pycache__/)", f"/{path.relative_to(folder)}")
                }
    return found


@functools.cache
def together(area: str) -> frozenset[str]:
    """An engine and those that share a device with it, but in WHOLE."""
    found = {area}
    for name in set(names()) - set(WHOLE):
        kinds = {instance.engine.name for instance in load_config(name).instances}
        if area in kinds:
            found |= kinds
    return frozenset(found)


def is_input(name: str, area: str) -> bool:
    """Whether a file may decide about the tests of an area (a folder below `tests`)."""
    if area not in ENGINES:
        return True
    if name.startswith("docs/") or name in PAGES:
        return False
    others = set(ENGINES) - together(area)
    return not any(name.startswith(folder) for other in others for folder in folders(other))


def folders(engine: str) -> list[str]:
    """What belongs to an engine alone: its own folder, its environment, its tests."""
    own = os.path.relpath(engines()[engine].folder, ROOT)
    return [f"{folder}/" for folder in (own, *(f"{top}/{engine}" for top in TOPS))]


@functools.cache
def inputs(area: str, seed: int) -> str:
    """Hash of everything that may decide about the tests of an area."""
    h = hashlib.sha256()
    for name, digest in files().items():
        if is_input(name, area):
            h.update(f"{name} {digest}\n".encode())
    h.update(repr((seed, [(s, os.environ.get(s)) for s in SETTINGS], tools())).encode())
    h.update(repr(sorted((d.name, d.version) for d in distributions())).encode())
    return h.hexdigest()[:20]


def _folder() -> Path:
    folder = cache.root() / "passed"
    folder.mkdir(exist_ok=True)
    return folder


def _of(item: Any) -> tuple[str, str]:
    name = str(item.nodeid)
    parts = name.split("/")
    return name, parts[1] if len(parts) > 2 else ""


def passed(item: Any, seed: int) -> None:
    """Note that a test passed with what is there now; a note that cannot be written is lost."""
    name, area = _of(item)
    with suppress(OSError), (_folder() / f"{area}-{inputs(area, seed)}").open("a") as handle:
        handle.write(name + "\n")


def divide(items: Sequence[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """Tests to run, and those that passed with the same inputs; goals go with their runs."""
    known: dict[str, set[str]] = {}
    for area in {_of(item)[1] for item in items}:
        path = _folder() / f"{area}-{inputs(area, seed)}"
        known[area] = set(path.read_text().splitlines()) if path.exists() else set()
    same = {item for item in items if _of(item)[0] in known[_of(item)[1]]}
    # A goal needs every run of its file in the same session.
    wanted = {item.path for item in items if item.get_closest_marker("goal") and item not in same}
    same = {item for item in same if item.path not in wanted}
    record.add("left_out", count=len(same))
    return [i for i in items if i not in same], [i for i in items if i in same]


@functools.cache
def seconds() -> dict[str, float]:
    """What tests took when they ran last on this machine: CPU seconds by name."""
    path = cache.root() / "seconds.json"
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def keep_seconds(folder: Path) -> None:
    """Note what the tests of a session took, if there is room; forget what passed long ago."""
    new = seconds() | {line["test"]: line["cpu"] for line in record.read(folder, "tests")}
    with suppress(OSError):
        notes = sorted(_folder().iterdir(), key=lambda note: note.stat().st_mtime)
        for note in notes[:-NOTES_KEPT]:
            note.unlink(missing_ok=True)
        path = cache.root() / "seconds.json"
        write_whole(path, json.dumps(new))
