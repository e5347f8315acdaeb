"""Hatchling's hook: a wheel is what flow/package.py stages; an editable install is folders."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """What hatchling calls."""

    staged: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage the package before a wheel is written."""
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from flow.package import stage

        self.staged = Path(tempfile.mkdtemp(prefix="jackdaw-wheel-"))
        stage(Path(self.root), self.staged)
        build_data["force_include"][str(self.staged)] = "jackdaw"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was staged."""
        if self.staged is not None:
            shutil.rmtree(self.staged)
