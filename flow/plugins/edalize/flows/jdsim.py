"""FuseSoC flow `jdsim`: run the pytest files that verify a core.

Edalize's own simulation flow returns success when cocotb tests fail, so the regression's runner
is used.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[4]


class Jdsim:
    """The flow's class, found by edalize by its name."""

    argtypes: ClassVar = ["vlogparam", "vlogdefine", "plusarg"]
    FLOW_OPTIONS: ClassVar = {
        "tests": {"type": "str", "desc": "pytest files of this core, space separated"},
        "tier": {"type": "str", "desc": "tests that run: test, regress (as is) or all"},
    }

    @classmethod
    def get_flow_options(cls) -> dict[str, Any]:
        return dict(cls.FLOW_OPTIONS)

    @classmethod
    def get_tool_options(cls, flow_options: dict[str, Any]) -> dict[str, Any]:
        return {}

    def __init__(self, edam: dict[str, Any], work_root: str, verbose: bool = False) -> None:
        self.edam, self.work_root = edam, Path(work_root)
        options = edam.get("flow_options", {})
        self.tests = options.get("tests", "").split()
        self.tier = options.get("tier", "regress")
        self.name = edam["name"]

    def configure(self) -> None:
        if not self.tests:
            raise RuntimeError(f"{self.name}: its sim target names no tests")

    def build(self) -> None:
        """Nothing: pytest builds each configuration that it needs."""

    def run(self, args: Any = None) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "--tier", self.tier, *self.tests]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise RuntimeError(f"{self.name}: {' '.join(self.tests)} failed")
