"""Collecting coverage: with JD_COVERAGE=1 every simulator counts, and every passed run is kept.

A run leaves `*.dat`, Verilator's counts, and `*.yaml`, the bins of its functional coverage, in the
raw folder. `flow.coverage_data` reads them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from flow import BUILD

FOLDER = BUILD / "coverage"


def enabled() -> bool:
    """Whether this process builds and runs simulators with coverage."""
    return bool(os.environ.get("JD_COVERAGE"))


def raw_folder() -> Path:
    """Where every run leaves its counts."""
    folder = FOLDER / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measured(core: str) -> bool:
    """Whether a core is built with coverage: not the devices that only test hosts and simulator."""
    return enabled() and not core.startswith("jackdaw:verif:device_")


def verilator_arguments(core: str, toggles: bool = False) -> list[str]:
    """Verilator's arguments for a core.

    Args:
        core: what is built.
        toggles: count them too, if it is a block of the library; ten times slower.
    """
    if not measured(core):
        return []
    toggle = ["--coverage-toggle"] if toggles and core.startswith("jackdaw:lib:") else []
    return ["--coverage-line", "--coverage-user", *toggle]


def keep(core: str, run: Path, name: str) -> None:
    """Keep what a passed cocotb run left in its folder.

    Args:
        core: the core that ran; the functional bins count for its RTL folder.
        run: the run's folder.
        name: a unique name of the run.
    """
    if not measured(core):
        return
    if (run / "coverage.dat").exists():
        shutil.move(run / "coverage.dat", raw_folder() / f"{name}.dat")
    if (run / "coverage.yaml").exists():
        shutil.copy2(run / "coverage.yaml", raw_folder() / f"{core.replace(':', '.')}~{name}.yaml")
