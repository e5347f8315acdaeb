"""FuseSoC flow `jdsynth`: synthesise the variants of a core and print what they cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[4]


class Jdsynth:
    """The flow's class, found by edalize by its name."""

    argtypes: ClassVar = ["vlogparam", "vlogdefine"]
    FLOW_OPTIONS: ClassVar = {
        "variants": {
            "type": "str",  # on the command line, which FuseSoC knows no records of
            "list": True,
            "desc": "{top, name, config, parameters, ecp5, timeout_s} each",
        }
    }

    @classmethod
    def get_flow_options(cls) -> dict[str, Any]:
        return dict(cls.FLOW_OPTIONS)

    @classmethod
    def get_tool_options(cls, flow_options: dict[str, Any]) -> dict[str, Any]:
        return {}

    def __init__(self, edam: dict[str, Any], work_root: str, verbose: bool = False) -> None:
        self.work_root = work_root
        self.options = edam.get("flow_options", {}).get("variants", [])
        cores = {str(f.get("core", "")) for f in edam["files"]}
        named = [c for c in cores if c.replace(":", "_") == edam["name"]]
        self.core = ":".join((named or [edam["name"]])[0].split(":")[:3])

    def configure(self) -> None:
        if not self.options:
            raise RuntimeError(f"{self.core}: its synth target names no variants")

    def build(self) -> None:
        """Nothing: results are kept by content, in build/synth."""

    def run(self, args: Any = None) -> None:
        sys.path.insert(0, str(ROOT))
        from flow.synthesis import from_options
        from flow.synthesis_table import run_all

        run_all(from_options(self.core, self.options))
