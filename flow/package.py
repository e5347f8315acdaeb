"""The package that pip installs: one top-level name, `jackdaw`, with all that it needs inside.

A wheel holds `host/jackdaw` as `jackdaw`, and below `jackdaw/_tree` the folders that it uses, laid
out as in the repository: RTL, configurations, golden models and the flows. There the modules' own
imports get their new names, so that site-packages has no `models` and no `flow`. Manifests become
JSON, which YAML contains, so that reading one needs no package.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

TREE = "jackdaw._tree"
MOVED = ("flow", "models")  # packages of the repository that get a new name
IMPORT = re.compile(rf"^(\s*)(from|import) ({'|'.join(MOVED)})(?=[. ])", re.M)
NAMED = re.compile(rf"^(?=({'|'.join(MOVED)})\.)")
MANIFEST = "engine.yaml"
MODULES = ("registers", "model", "driver")  # keys of a manifest that name one that may move
FILES = (
    "fusesoc.conf", "configs/*.json", "lint/*.vlt", "flow/*.h", "models/**/*.py",
    "models/*/engine.yaml", "models/*/*.json", "rtl/**/*.sv", "rtl/**/*.svh", "rtl/**/*.core",
    "rtl/*/engine.yaml",
)  # fmt: skip


def renamed(text: str) -> str:
    """A module's text with the imports of a wheel. Raises: ValueError for one that has no place."""
    for _, how, name in IMPORT.findall(text):
        if how == "import" and not re.search(rf"^\s*import {name}[\w.]* as ", text, re.M):
            raise ValueError(f"`import {name}`: want `from {name} import ...`")
    return IMPORT.sub(rf"\1\2 {TREE}.\3", text)


def manifest(text: str) -> str:
    """A manifest as JSON, with the module names of a wheel."""
    data: dict[str, Any] = yaml.safe_load(text)
    for key in MODULES:
        if key in data:
            data[key] = NAMED.sub(f"{TREE}.", data[key])
    return json.dumps(data, indent=2) + "\n"


def flows(root: Path) -> set[Path]:
    """The modules of `flow` that the package imports, directly or not."""
    found: set[Path] = set()
    waiting = [*(root / "host" / "jackdaw").rglob("*.py"), *(root / "models").rglob("*.py")]
    while waiting:
        for name in imported(waiting.pop().read_text()):
            path = root / "flow" / f"{name}.py"
            if path.is_file() and path not in found:
                found.add(path)
                waiting.append(path)
    return found | {root / "flow" / "__init__.py"}


def imported(text: str) -> Iterator[str]:
    """Names of modules of `flow` that a module imports, inside functions, too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "flow":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flow."):
            yield str(node.module).split(".")[1]


def contents(root: Path) -> Iterator[tuple[Path, str]]:
    """What a wheel is made of: files, and their names in the folder `jackdaw`."""
    package = root / "host" / "jackdaw"
    tree = {*flows(root), *(path for pattern in FILES for path in root.glob(pattern))}
    for above, prefix, paths in ((package, "", package.rglob("*")), (root, "_tree/", tree)):
        for path in sorted(paths):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, prefix + path.relative_to(above).as_posix()


def stage(root: Path, folder: Path) -> None:
    """Write a wheel's folder `jackdaw`.

    Args:
        root: of the repository.
        folder: becomes `jackdaw`.
    """
    for source, name in contents(root):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".py":
            target.write_text(renamed(source.read_text()))
        elif source.name == MANIFEST:
            target.write_text(manifest(source.read_text()))
        else:
            shutil.copyfile(source, target)
