"""The tool flows behind the scripts and the tests: toolchain, file lists, simulators."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"


def write_whole(path: Path, text: str) -> None:
    """Write a file that other processes may read or write: they see all of it or none."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
