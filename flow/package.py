"""The package that pip installs: one top-level name, `jackdaw`, with all that it needs inside.

Hatchling calls this hook. An editable install puts the source folders on the path. A wheel holds
`host/jackdaw` as `jackdaw`, and below `jackdaw/_tree` the folders that it uses, laid out as in the
repository: RTL, configurations, golden models and the flows. There the modules' own imports get
their new names, so that site-packages has no `models` and no `flow`. Manifests become JSON, which
YAML contains, so that reading one needs no package.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TREE = "jackdaw/_tree"
MOVED = ("flow", "models")  # packages of the repository that get a new name
IMPORT = re.compile(rf"^(\s*)(from|import) ({'|'.join(MOVED)})(?=[. ])", re.M)
NAMED = re.compile(rf"^(?=({'|'.join(MOVED)})\.)")
MANIFEST = "engine.yaml"
MODULES = ("registers", "model", "driver", "bench")  # keys of a manifest that name one
FILES = (
    "fusesoc.conf", "configs/*.json", "lint/*.vlt", "flow/*.h", "models/**/*.py",
    "models/*/engine.yaml", "rtl/**/*.sv", "rtl/**/*.svh", "rtl/**/*.core", "rtl/*/engine.yaml",
    "examples/engine_scale/**/*",
)  # fmt: skip


def renamed(text: str) -> str:
    """A module's text with the imports of a wheel. Raises: ValueError for one that has no place."""
    for _, how, name in IMPORT.findall(text):
        if how == "import" and not re.search(rf"^\s*import {name}[\w.]* as ", text, re.M):
            raise ValueError(f"`import {name}`: want `from {name} import ...`")
    return IMPORT.sub(rf"\1\2 {TREE.replace('/', '.')}.\3", text)


def manifest(text: str) -> str:
    """A manifest as JSON, with the module names of a wheel."""
    data: dict[str, Any] = yaml.safe_load(text)
    for key in MODULES:
        if key in data:
            data[key] = NAMED.sub(f"{TREE.replace('/', '.')}.", data[key])
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
    """What a wheel's tree is made of, with the names there, relative to `jackdaw/_tree`."""
    for path in sorted({*flows(root), *(p for pattern in FILES for p in root.glob(pattern))}):
        yield path, path.relative_to(root).as_posix()


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """What hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage the tree of a wheel."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        self._staged = Path(tempfile.mkdtemp(prefix="jackdaw-wheel-"))
        package = root / "host" / "jackdaw"
        files = [(path, f"_tree/{name}") for path, name in contents(root)]
        files += [(path, path.relative_to(package).as_posix()) for path in package.rglob("*")]
        for source, name in files:
            if not source.is_file() or "__pycache__" in source.parts:
                continue
            target = self._staged / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".py":
                target.write_text(renamed(source.read_text()))
            elif source.name == MANIFEST:
                target.write_text(manifest(source.read_text()))
            else:
                shutil.copyfile(source, target)
        build_data["force_include"][str(self._staged)] = "jackdaw"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the staged tree."""
        if hasattr(self, "_staged"):
            shutil.rmtree(self._staged)
