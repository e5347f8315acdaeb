"""Manifests: what an engine is, said once (`engine.yaml` in its folder).

Tops of devices, configurations, golden models, drivers, errors and the lists of the flows follow
from it. ID, version, registers and error codes stand in the register description, whose generated
module the manifest names.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from flow import ROOT

FILE = "engine.yaml"
PLACES = ("rtl", "examples")  # folders of the project whose folders may be engines
PLANNED = "models"  # folders whose engines have a golden model and no RTL yet
ELSEWHERE = "JACKDAW_ENGINES"  # folders of engines out of the tree, with os.pathsep between
NAME = re.compile(r"[a-z][a-z0-9]*")
MOST_PORTS = 16
OPTIONAL = {
    "bench", "descriptor_bytes", "driver", "ordered", "page", "python", "rules", "streams",
    "verifies",
}  # fmt: skip


class ManifestError(ValueError):
    """A manifest, or what was made with one, is wrong; says where, what was got and wanted."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an engine's top.

    Attributes:
        name: of the module's parameter.
        meaning: a phrase, with the unit.
        default: a number, or an expression in the parameters before it.
        low, high: range; both 0 and 1 for a switch.
        choices: the only values, if not a range.
        bit: a switch, `parameter bit`.
        field: of the golden model's parameters; None: the model does not depend on it.
    """

    name: str
    meaning: str
    default: int | str
    low: int
    high: int
    choices: tuple[int, ...]
    bit: bool
    field: str | None

    def check(self, value: object, where: str) -> int:
        """The value, if it is legal. Raises: ManifestError."""
        wanted = f"one of {list(self.choices)}" if self.choices else f"{self.low}..{self.high}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise ManifestError(f"{where}: {self.name} is {value!r}, want {wanted}")
        if not (value in self.choices if self.choices else self.low <= value <= self.high):
            raise ManifestError(f"{where}: {self.name} is {value}, want {wanted}")
        return value


@dataclass(frozen=True)
class Stream:
    """A stream that begins or ends in an engine: `<name>_valid/ready/data[/last]`.

    Attributes:
        name: prefix of its signals.
        out: it begins here.
        bits: of its data.
        last: it has `last`.
    """

    name: str
    out: bool
    bits: int
    last: bool


@dataclass(frozen=True)
class Manifest:
    """What an engine is.

    Attributes:
        name: of the engine, e.g. `replay`.
        about: one sentence.
        folder: where the manifest is.
        python: folder of its own Python package, if it brings one.
        core: FuseSoC core.
        top: SystemVerilog module.
        package: SystemVerilog package with ENGINE_ID.
        registers: Python module that is generated from the register description.
        model: `module:class` of the golden model.
        driver: `module:class`, or None.
        bench: `module:class` of its benchmarks (benchmarks/base.py), by the words that
            `scripts/bench.py` takes; the file may name one class, whose word is the engine.
        page: its documentation, relative to the folder, or None.
        verifies: files outside that its tests answer for (patterns) -> tests, relative to the
            folder; mutants of those files are run on them.
        rings: how many.
        descriptor_bytes: of a job.
        ordered: jobs of a ring end in order.
        memory_ports: a number or an expression in the parameters; if it is an expression the top's
            memory ports are arrays.
        streams, parameters: by name.
        rules: what else must be true of the parameters -> what is wanted then, in words.
    """

    name: str
    about: str
    folder: Path
    python: Path | None
    core: str
    top: str
    package: str
    registers: str
    model: str
    driver: str | None
    bench: Mapping[str, str]
    page: str | None
    verifies: Mapping[str, Sequence[str]]
    rings: int
    descriptor_bytes: int
    ordered: bool
    memory_ports: int | str
    streams: Mapping[str, Stream]
    parameters: Mapping[str, Parameter]
    rules: Mapping[str, str]

    def values(self, given: Mapping[str, object], where: str) -> dict[str, int]:
        """All parameters: the given ones checked, the others by default. Raises: ManifestError."""
        unknown = sorted(set(given) - set(self.parameters))
        if unknown:
            raise ManifestError(
                f"{where}: {self.name} has no parameter {', '.join(unknown)}; "
                f"it has {', '.join(self.parameters)}"
            )
        found: dict[str, int] = {}
        for name, parameter in self.parameters.items():
            value = given[name] if name in given else evaluate(parameter.default, found)
            found[name] = parameter.check(value, where)
        for rule, want in self.rules.items():
            if not evaluate(rule, found):
                used = [f"{n}={v}" for n, v in found.items() if re.search(rf"\b{n}\b", rule)]
                raise ManifestError(f"{where}: {', '.join(used)}: want {want}")
        return found

    def ports(self, values: Mapping[str, int]) -> int:
        """Memory ports with these parameters."""
        return evaluate(self.memory_ports, values)

    def fields(self, values: Mapping[str, int]) -> dict[str, int]:
        """The parameters under the golden model's names."""
        return {p.field: values[p.name] for p in self.parameters.values() if p.field}

    def module(self) -> ModuleType:
        """The register module: ENGINE_ID, ENGINE_VERSION, REGISTERS, Error."""
        return importlib.import_module(self.registers)

    @property
    def engine_id(self) -> int:
        """The ID word."""
        return int(self.module().ENGINE_ID)

    @property
    def engine_version(self) -> int:
        """The version word."""
        return int(self.module().ENGINE_VERSION)


def load_object(path: str) -> Any:
    """What `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def evaluate(expression: int | str, values: Mapping[str, int]) -> int:
    """The value of an expression in parameters. Raises: ManifestError."""
    if isinstance(expression, int):
        return expression
    try:
        return int(eval(expression, {"__builtins__": {}}, dict(values)))
    except Exception as error:
        got = ", ".join(f"{name}={value}" for name, value in values.items())
        raise ManifestError(f"{expression!r} with {got}: {error}") from error


def folders() -> list[Path]:
    """Folders with a manifest, of the project and of JACKDAW_ENGINES."""
    inside = [path.parent for place in PLACES for path in sorted(ROOT.glob(f"{place}/*/{FILE}"))]
    outside = [Path(p).resolve() for p in os.environ.get(ELSEWHERE, "").split(os.pathsep) if p]
    for folder in outside:
        if not (folder / FILE).is_file():
            raise ManifestError(f"{ELSEWHERE}: {folder} has no {FILE}")
    return list(dict.fromkeys([*inside, *outside]))


def engines() -> Mapping[str, Manifest]:
    """All engines, by name; those of the project first. Raises: ManifestError."""
    found: dict[str, Manifest] = {}
    for folder in folders():
        manifest = read(folder)
        if manifest.name in found:
            other = found[manifest.name].folder
            raise ManifestError(f"{folder}: {manifest.name} is the engine of {other}, too")
        found[manifest.name] = manifest
    return found


def planned() -> Mapping[str, Manifest]:
    """Engines without RTL, by name: a `model` device can have them, no list of the flows does."""
    places = sorted(path.parent for path in ROOT.glob(f"{PLANNED}/*/{FILE}"))
    return {manifest.name: manifest for manifest in map(read, places)}


def known() -> Mapping[str, Manifest]:
    """All engines, also planned ones, by name."""
    return {**engines(), **planned()}


def engine(name: str) -> Manifest:
    """The engine of a name. Raises: ManifestError naming those that there are."""
    found = known()
    if name not in found:
        raise ManifestError(f"no engine {name!r}; there are {', '.join(found)}")
    return found[name]


@functools.cache
def by_id() -> Mapping[int, Manifest]:
    """All engines, by ID word."""
    return {manifest.engine_id: manifest for manifest in known().values()}


@functools.cache
def read(folder: Path) -> Manifest:
    """Read a folder's manifest. Raises: ManifestError."""
    path = folder / FILE
    data = _data(path.read_text())
    if not isinstance(data, dict):
        raise ManifestError(f"{path}: want a mapping")
    fields = {f for f in Manifest.__dataclass_fields__ if f not in ("name", "folder")} | {"engine"}
    for what, names in (
        ("unknown", set(data) - fields),
        ("missing", fields - set(data) - OPTIONAL),
    ):
        if names:
            raise ManifestError(f"{path}: {what}: {', '.join(sorted(names))}")
    python = (folder / data["python"]).resolve() if "python" in data else None
    if python is not None and str(python) not in sys.path:
        sys.path.append(str(python))
    bench = data.get("bench", {})
    try:
        manifest = Manifest(
            name=data["engine"],
            folder=folder,
            python=python,
            driver=data.get("driver"),
            bench=bench if isinstance(bench, dict) else {data["engine"]: bench},
            page=data.get("page"),
            verifies=data.get("verifies", {}),
            ordered=data.get("ordered", True),
            descriptor_bytes=data.get("descriptor_bytes", 64),
            streams={
                name: Stream(
                    name, _one_of(s["direction"], "out", "in"), s["bits"], s.get("last", False)
                )
                for name, s in data.get("streams", {}).items()
            },
            parameters={
                name: _parameter(name, p) for name, p in (data["parameters"] or {}).items()
            },
            rules=data.get("rules", {}),
            **{
                name: data[name]
                for name in (
                    "about", "core", "top", "package", "registers", "model", "rings",
                    "memory_ports",
                )
            },
        )  # fmt: skip
        for pattern, tests in manifest.verifies.items():
            missing = [test for test in tests if not (folder / test.partition("::")[0]).is_file()]
            if isinstance(tests, str) or missing:
                raise ValueError(f"verifies {pattern}: got {tests}, want a list of test files here")
        if not NAME.fullmatch(manifest.name):
            raise ValueError(f"engine is {manifest.name!r}, want lower-case letters and digits")
        ports = manifest.ports(manifest.values({}, "defaults"))
        if not 1 <= ports <= MOST_PORTS:
            raise ValueError(f"memory_ports is {ports}, want 1..{MOST_PORTS}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{path}: {type(error).__name__}: {error}") from error
    return manifest


def _data(text: str) -> Any:
    """The content of a manifest; of one in JSON, which a wheel has, without PyYAML."""
    if text.startswith("{"):
        return json.loads(text)
    import yaml

    return yaml.safe_load(text)


def _one_of(value: str, true: str, false: str) -> bool:
    if value not in (true, false):
        raise ValueError(f"{value!r}, want {true} or {false}")
    return value == true


def _parameter(name: str, data: Mapping[str, Any]) -> Parameter:
    unknown = set(data) - {"default", "range", "choices", "bit", "field", "meaning"}
    if unknown:
        raise ValueError(f"parameter {name}: unknown {sorted(unknown)}")
    bit = data.get("bit", False)
    low, high = (0, 1) if bit else data.get("range", (0, 0))
    choices = tuple(data.get("choices", ()))
    if not bit and ("range" in data) == bool(choices):
        raise ValueError(f"parameter {name}: want a range, or choices, or bit")
    return Parameter(
        name, data["meaning"], data["default"], low, high, choices, bit, data.get("field")
    )


def main() -> None:
    """Print folders for the Makefile: of tests or packages that engines bring themselves."""
    asked = sys.argv[1:]
    if asked not in (["tests"], ["python"]):
        sys.exit("usage: python -m flow.manifest tests|python")
    found = engines().values()
    own = [m.folder / "tests" for m in found if (m.folder / "tests").is_dir()]
    if asked == ["python"]:
        own = [m.python for m in found if m.python is not None]
    print((" " if asked == ["tests"] else os.pathsep).join(os.path.relpath(f) for f in own))


if __name__ == "__main__":
    main()
