"""Build configurations: the parameters of the whole device, by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
CORE, TOPLEVEL = "jackdaw:jackdaw:accelerator", "jd_top"
TOPS = {TOPLEVEL: CORE, "jd_top_a3c": "jackdaw:jackdaw:a3c"}  # top -> FuseSoC core


@dataclass(frozen=True)
class Config:
    """What is elaborated.

    Attributes:
        name: of the configuration.
        parameters: of the top; MemPorts, MemSizeLog2 (12..32) and ClockHz (Hz) must be there.
        core, toplevel: FuseSoC core and module.
    """

    name: str
    parameters: Mapping[str, int]
    core: str = CORE
    toplevel: str = TOPLEVEL

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        missing = {"MemPorts", "MemSizeLog2", "ClockHz"} - set(self.parameters)
        if missing:
            raise ValueError(f"configuration {self.name}: {sorted(missing)} missing")
        if not 12 <= self.parameters["MemSizeLog2"] <= 32:
            raise ValueError(f"configuration {self.name}: MemSizeLog2 outside 12..32")

    @property
    def build_hash(self) -> int:
        """BUILD: the first 32 bits of SHA-256 of the parameters as canonical JSON."""
        text = json.dumps(dict(self.parameters), sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def memory_bytes(self) -> int:
        """Bytes of device memory."""
        return 1 << self.parameters["MemSizeLog2"]

    def rtl_parameters(self) -> dict[str, int]:
        """The parameters for elaboration, BuildHash included."""
        return {**self.parameters, "BuildHash": self.build_hash}


def load_config(name: str | Path | Config) -> Config:
    """Read a configuration: `configs/NAME.json`, or the file of this path.

    Beside the parameters a file may have `Top`, one of TOPS; without it is `jd_top`.

    Raises: FileNotFoundError naming the known ones, ValueError if a parameter is no integer or the
        top is unknown.
    """
    if isinstance(name, Config):
        return name
    path = Path(name)
    if path.suffix != ".json":
        path = CONFIGS / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in CONFIGS.glob("*.json")))
        raise FileNotFoundError(f"no configuration {name}; there are: {known}")
    parameters = json.loads(path.read_text())
    top = parameters.pop("Top", TOPLEVEL)
    if top not in TOPS:
        raise ValueError(f"{path}: top {top!r}, want one of {', '.join(TOPS)}")
    for key, value in parameters.items():
        if not isinstance(value, int):
            raise ValueError(f"{path}: {key} is {value!r}, want an integer")
    return Config(path.stem, parameters, TOPS[top], top)
