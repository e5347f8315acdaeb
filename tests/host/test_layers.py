"""The layers of the host package: nothing imports what lies above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flow import ROOT

PACKAGE = ROOT / "host" / "jackdaw"
# From below; the replay buffer is for training loops of other people.
LAYERS = (
    "extras", "errors", "ranges", "environments", "device", "drivers", "replay_buffer",
    "agents", "runtime", "search", "api", "cli", "__main__",
)  # fmt: skip


def layer(module: str) -> str:
    """`jackdaw.drivers.rings` -> `drivers`."""
    return module.split(".")[1]


def imports(path: Path, text: str) -> set[str]:
    """Every module of the package that a file imports, inside functions and TYPE_CHECKING too."""
    package = ["jackdaw", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            if module == "jackdaw":  # from jackdaw import errors
                found |= {f"jackdaw.{alias.name}" for alias in node.names}
            else:
                found.add(module)
    return {module for module in found if module.startswith("jackdaw.")}


def upward(path: Path, text: str) -> list[str]:
    """The imports of a file that lie above its own layer."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    rank = LAYERS.index(own)
    return sorted(m for m in imports(path, text) if LAYERS.index(layer(m)) > rank)


def files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem != "__init__")


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {p.relative_to(PACKAGE).parts[0].removesuffix(".py") for p in files()}
    assert parts == set(LAYERS)


def test_nothing_imports_a_layer_above() -> None:
    wrong = {str(p.relative_to(ROOT)): upward(p, p.read_text()) for p in files()}
    assert not {name: modules for name, modules in wrong.items() if modules}
    seen = set().union(*(imports(p, p.read_text()) for p in files()))
    assert {layer(module) for module in seen} >= {"errors", "device", "drivers", "agents"}


@pytest.mark.parametrize(
    "text",
    [
        "import jackdaw.runtime.weights",
        "from jackdaw.runtime.weights import WeightStore",
        "from jackdaw.runtime import weights",
        "from jackdaw import runtime",
        "from ..runtime import weights",
        "if TYPE_CHECKING:\n    from jackdaw.runtime import weights",
        "def late():\n    import jackdaw.runtime",
    ],
)
def test_an_import_of_a_layer_above_is_seen(text: str) -> None:
    assert upward(PACKAGE / "agents" / "dqn.py", text)
    assert not upward(PACKAGE / "runtime" / "actor.py", text)
