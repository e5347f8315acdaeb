"""Generated table files: written, or compared with what is there."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from flow import ROOT


def write_or_check(description: str | None, script: str, texts: Mapping[str, str]) -> int:
    """The command line of a script that writes tables; `--check` only compares.

    Args:
        description: of the script.
        script: its path, for the message.
        texts: content by path relative to the root.
    Returns: the exit code, 1 if `--check` found a file that is not up to date.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="fail if a file is not up to date")
    check = parser.parse_args().check
    stale = 0
    for name, text in texts.items():
        path: Path = ROOT / name
        if not path.exists() or path.read_text() != text:
            stale += 1
            if not check:
                path.write_text(text)
    if check and stale:
        print(f"{stale} table files are not up to date: run {script}")
        return 1
    return 0
