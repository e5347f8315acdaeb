"""The tool flows of the scripts and the tests: toolchain, file lists, simulators."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = ROOT.name == "_tree"  # in site-packages (flow/package.py), where nothing is written


def user_cache() -> Path:
    """The folder that JACKDAW_CACHE names, else `jackdaw` below XDG_CACHE_HOME or ~/.cache."""
    named = os.environ.get("JACKDAW_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(named) if named else Path(base) / "jackdaw").absolute()


BUILD = user_cache() / "installed" if INSTALLED else ROOT / "build"


def write_whole(path: Path, text: str) -> None:
    """Write a file that other processes may read or write: they see all of it or none."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
