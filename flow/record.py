"""What a run of the regression leaves of itself: every build and every test, with its seconds.

The lines are JSON in the folder that JD_SESSION names; without it nothing is recorded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flow import write_whole

build_cpu_s = 0.0  # CPU seconds of all builds of this process: no part of a test's time


def session() -> Path | None:
    """The folder of the run that this process belongs to."""
    named = os.environ.get("JD_SESSION")
    return Path(named) if named else None


def add(kind: str, **values: Any) -> None:
    """Append a line to the record of a kind; lines of several processes do not mix."""
    folder = session()
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    line = (json.dumps(values) + "\n").encode()
    handle = os.open(folder / f"{kind}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def read(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a kind that a run left."""
    path = folder / f"{kind}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def built(what: str, core: str, wall_s: float, seconds: Mapping[str, float]) -> None:
    """Record a build: what, of which core, and the CPU seconds of each tool."""
    global build_cpu_s
    build_cpu_s += sum(seconds.values())
    add("builds", what=what, core=core, wall=round(wall_s, 2),
        **{name: round(value, 2) for name, value in seconds.items()})  # fmt: skip


def write_plan(names: Iterable[str]) -> Path | None:
    """Write down the simulators that the run builds before its tests: names of the cache's entries.

    Returns: the file, which JD_PLAN names while a test runs that must keep to it.
    """
    folder = session()
    if folder is None:
        return None
    path = folder / "plan.json"
    write_whole(path, json.dumps(sorted(names)))
    return path


def used(what: str, name: str) -> None:
    """Record a simulator that the present test opens, unless it was planned."""
    plan = os.environ.get("JD_PLAN")
    if plan and name not in json.loads(Path(plan).read_text()):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        add("unplanned", what=what, test=test)
