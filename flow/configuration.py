"""Configurations: which engines a device has, with what parameters, links and memory ports.

A file `configs/NAME.json`:

    {"ClockHz": 250000000, "MemSizeLog2": 26, "MemPorts": 1,
     "engines": {"replay": {"parameters": {"KLog2": 2}},
                 "second": {"engine": "learner", "ports": [0]}},
     "links": ["replay.smp > second.smp", "second.tde > replay.tde"]}

The engines are on the pages 1, 2, ... in the order of the file. An instance without `engine` has
the engine of its name; names are lower-case letters and digits. A parameter that is not there has
its default (engine.yaml); without `ports`, memory port c of all engines (counted in order) is on
the device's port c mod MemPorts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flow import ROOT
from flow.manifest import PLANNED, Manifest, ManifestError, Stream, engine

CONFIGS = ROOT / "configs"
DEVICE = {"ClockHz": (1, 2**32 - 1), "MemSizeLog2": (12, 32), "MemPorts": (1, 16)}
MOST_ENGINES, MOST_CLIENTS = 31, 16
NAME = re.compile(r"[a-z][a-z0-9_]*")
# Without `_`, so that no signal of the device's top has two meanings; these are signals themselves.
INSTANCE = re.compile(r"[a-z][a-z0-9]*")
RESERVED = ("address", "axi", "axil", "demux", "directory", "memory")
SETTING = re.compile(r"([\w.]+)=(-?\d+)", re.ASCII)
LINK = re.compile(r"\s*(\w+)\.(\w+)\s*>\s*(\w+)\.(\w+)\s*")


class ConfigError(ValueError):
    """A setting outside its range; says which, what was got and what is allowed."""


@dataclass(frozen=True)
class Instance:
    """An engine of a device.

    Attributes:
        name: of the instance.
        engine: what it is.
        page: of its registers, from 1 on.
        parameters: all of them.
        ports: the device's memory port of each of its own.
        client: number of its first memory port among those of all engines.
    """

    name: str
    engine: Manifest
    page: int
    parameters: Mapping[str, int]
    ports: tuple[int, ...]
    client: int

    @property
    def fields(self) -> dict[str, int]:
        """The parameters under the golden model's names."""
        return self.engine.fields(self.parameters)


@dataclass(frozen=True)
class Link:
    """A stream between two instances; `name` is that of the stream at its source."""

    source: str
    out: Stream
    sink: str
    into: Stream

    @property
    def name(self) -> str:
        return f"{self.source}_{self.out.name}"

    def __str__(self) -> str:
        return f"{self.source}.{self.out.name} > {self.sink}.{self.into.name}"


@dataclass(frozen=True)
class Config:
    """What is elaborated.

    Attributes:
        name: of the configuration.
        clock_hz: for the directory.
        memory_size_log2: bytes of device memory.
        memory_ports: of the device.
        instances: the engines, by page.
        links: between their streams.
    """

    name: str
    clock_hz: int = 250_000_000
    memory_size_log2: int = 26
    memory_ports: int = 1
    instances: tuple[Instance, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def parameters(self) -> Mapping[str, int]:
        """All numbers, flat: `MemPorts`, `replay.KLog2`."""
        found = {
            "ClockHz": self.clock_hz,
            "MemSizeLog2": self.memory_size_log2,
            "MemPorts": self.memory_ports,
        }
        for instance in self.instances:
            found |= {f"{instance.name}.{name}": v for name, v in instance.parameters.items()}
        return MappingProxyType(found)

    def instance(self, name: str) -> Instance:
        """The instance of a name. Raises: ConfigError."""
        for instance in self.instances:
            if instance.name == name:
                return instance
        known = ", ".join(i.name for i in self.instances)
        raise ConfigError(f"configuration {self.name} has no {name}; it has {known}")

    def changed(self, changes: Mapping[str, int], name: str | None = None) -> Config:
        """The configuration with other numbers, named as in `parameters`.

        Memory ports are given to the engines anew if their number changes.

        Raises: ConfigError.
        """
        unknown = sorted(set(changes) - set(self.parameters))
        if unknown:
            raise ConfigError(
                f"configuration {self.name} has no {', '.join(unknown)}; "
                f"it has {', '.join(self.parameters)}"
            )
        data = self.data()
        for key, value in changes.items():
            of, _, parameter = key.rpartition(".")
            (data["engines"][of]["parameters"] if of else data)[parameter] = value
        counts = [i.engine.ports(data["engines"][i.name]["parameters"]) for i in self.instances]
        if "MemPorts" in changes or counts != [len(i.ports) for i in self.instances]:
            for instance in data["engines"].values():
                del instance["ports"]
        return parse(name or self.name, data)

    def data(self) -> dict[str, Any]:
        """The content of its file, with nothing left to defaults."""
        return {
            "ClockHz": self.clock_hz,
            "MemSizeLog2": self.memory_size_log2,
            "MemPorts": self.memory_ports,
            "engines": {
                i.name: {
                    "engine": i.engine.name,
                    "parameters": dict(i.parameters),
                    "ports": list(i.ports),
                }
                for i in self.instances
            },
            "links": [str(link) for link in self.links],
        }

    @property
    def identity(self) -> dict[str, Any]:
        """All that a build is, flat, whatever its name: two alike give the same bits."""
        return {
            **self.parameters,
            "engines": {i.name: i.engine.name for i in self.instances},
            "ports": {i.name: list(i.ports) for i in self.instances},
            "links": sorted(map(str, self.links)),
        }

    @property
    def build_hash(self) -> int:
        """BUILD: the first 32 bits of SHA-256 of `data` as canonical JSON."""
        text = json.dumps(self.data(), sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def memory_bytes(self) -> int:
        """Bytes of device memory."""
        return 1 << self.memory_size_log2

    @property
    def clients(self) -> int:
        """Memory ports of all engines."""
        return sum(len(i.ports) for i in self.instances)

    @property
    def toplevel(self) -> str:
        """The device's module."""
        return "jd_top"

    def core(self) -> str:
        """The FuseSoC core with the device's top, written if it is not there."""
        from flow.device import core

        return core(self)

    def rtl_parameters(self) -> dict[str, int]:
        """Parameters of the top: none, its text holds all numbers."""
        return {}


def load_config(name: str | Path | Config) -> Config:
    """Read a configuration: `configs/NAME.json`, or the file of this path.

    Those of engines without RTL stand beside their manifests.

    Raises: ConfigError; of an unknown one it names those that there are.
    """
    if isinstance(name, Config):
        return name
    if not isinstance(name, (str, Path)):
        raise ConfigError(f"configuration: got {name!r}, want a name or a file")
    path = Path(name)
    if path.suffix != ".json":
        path = next(ROOT.glob(f"{PLANNED}/*/{name}.json"), CONFIGS / f"{name}.json")
    if not path.exists():
        there = sorted({*names(), *(file.stem for file in ROOT.glob(f"{PLANNED}/*/*.json"))})
        raise ConfigError(f"no configuration {name}; there are: {', '.join(there)}")
    try:
        data = json.loads(path.read_text(), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return parse(path.stem, data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Raises: ConfigError if a key is there twice."""
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"{key!r} is there twice")
    return dict(pairs)


def numbers(settings: Iterable[str]) -> dict[str, int]:
    """The changes that texts NAME=NUMBER ask for, as in `changed`. Raises: ConfigError."""
    found = {}
    for text in settings:
        match = SETTING.fullmatch(text)
        if not match:
            raise ConfigError(f"got {text!r}, want NAME=NUMBER")
        found[match[1]] = int(match[2])
    return found


def names() -> list[str]:
    """The configurations of the project."""
    return sorted(path.stem for path in CONFIGS.glob("*.json"))


def parse(name: str, data: Any) -> Config:
    """The configuration of a file's content. Raises: ConfigError."""
    where = f"configuration {name}"
    _kind(where, data, dict)
    _known(where, data, {*DEVICE, "engines", "links"}, {*DEVICE, "engines"})
    if not NAME.fullmatch(name.replace("-", "_")):
        raise ConfigError(f"{where}: want lower-case letters, digits, _ and -")
    for key, (low, high) in DEVICE.items():
        if isinstance(data[key], bool) or not isinstance(data[key], int):
            raise ConfigError(f"{where}: {key} is {data[key]!r}, want an integer")
        if not low <= data[key] <= high:
            raise ConfigError(f"{where}: {key} is {data[key]}, want {low}..{high}")
    _kind(f"{where}: engines", data["engines"], dict)
    _kind(f"{where}: links", data.get("links", []), list)
    instances: list[Instance] = []
    client = 0
    for key, given in data["engines"].items():
        instances.append(_instance(where, key, given, len(instances) + 1, client, data["MemPorts"]))
        client += len(instances[-1].ports)
    if len(instances) > MOST_ENGINES or client > MOST_CLIENTS:
        raise ConfigError(
            f"{where}: {len(instances)} engines with {client} memory ports, want at most "
            f"{MOST_ENGINES} and {MOST_CLIENTS}"
        )
    idle = set(range(data["MemPorts"])) - {port for i in instances for port in i.ports}
    if idle and instances:
        raise ConfigError(f"{where}: memory ports {sorted(idle)} have no engine")
    return Config(
        name, data["ClockHz"], data["MemSizeLog2"], data["MemPorts"], tuple(instances),
        tuple(_links(where, {i.name: i for i in instances}, data.get("links", []))),
    )  # fmt: skip


def _kind(where: str, data: Any, kind: type) -> None:
    words: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    if not isinstance(data, kind):
        raise ConfigError(f"{where}: got {data!r}, want {words[kind]}")


def _known(where: str, data: Mapping[str, Any], allowed: set[str], needed: set[str]) -> None:
    for what, found in (("unknown", set(data) - allowed), ("missing", needed - set(data))):
        if found:
            raise ConfigError(f"{where}: {what}: {', '.join(sorted(found))}")


def _instance(where: str, name: str, data: Any, page: int, client: int, ports: int) -> Instance:
    at = f"{where}: {name}"
    if not INSTANCE.fullmatch(name) or name in RESERVED:
        raise ConfigError(
            f"{at}: want a name of lower-case letters and digits, none of {', '.join(RESERVED)}"
        )
    _kind(at, data, dict)
    _known(at, data, {"engine", "parameters", "ports"}, set())
    kind, given = data.get("engine", name), data.get("parameters", {})
    _kind(f"{at}: engine", kind, str)
    _kind(f"{at}: parameters", given, dict)
    try:
        manifest = engine(kind)
        values = manifest.values(given, at)
    except ManifestError as error:
        raise ConfigError(str(error) if at in str(error) else f"{at}: {error}") from error
    count = manifest.ports(values)
    chosen = data.get("ports", [(client + i) % ports for i in range(count)])
    _kind(f"{at}: ports", chosen, list)
    if len(chosen) != count or any(type(p) is not int or not 0 <= p < ports for p in chosen):
        raise ConfigError(f"{at}: ports {chosen}, want {count} of 0..{ports - 1}")
    return Instance(name, manifest, page, MappingProxyType(values), tuple(chosen), client)


def _links(where: str, instances: Mapping[str, Instance], data: list[str]) -> Iterator[Link]:
    ends: set[tuple[str, str]] = set()
    for text in data:
        _kind(f"{where}: link", text, str)
        match = LINK.fullmatch(text)
        if not match:
            raise ConfigError(f"{where}: link {text!r}, want 'engine.stream > engine.stream'")
        found = []
        source, out_name, sink, into_name = match.groups()
        for end, out in (((source, out_name), True), ((sink, into_name), False)):
            instance = instances.get(end[0])
            stream = instance.engine.streams.get(end[1]) if instance else None
            if stream is None or stream.out != out:
                which = "begins" if out else "ends"
                raise ConfigError(f"{where}: link {text!r}: no stream {'.'.join(end)} {which} here")
            if end in ends:
                raise ConfigError(f"{where}: link {text!r}: {'.'.join(end)} has a link")
            ends.add(end)
            found.append(stream)
        out_, into = found
        if (out_.bits, out_.last) != (into.bits, into.last):
            raise ConfigError(f"{where}: link {text!r}: {out_} and {into} are not alike")
        yield Link(source, out_, sink, into)
