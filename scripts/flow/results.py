"""Results of the flows: one JSON file each, from which tables and the report page are made."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flow import BUILD, ROOT

RECORDED = ROOT / "docs" / "report" / "data"


def commit() -> str:
    """The measured commit, with `-dirty` where files differ from it; `unknown` without git."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def write(
    flow: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    seconds: float,
    seed: int | None = None,
    tools: Sequence[str] = (),
    record: bool = True,
    **extra: Any,
) -> Path:
    """Write the results of a flow.

    Args:
        flow: name of the flow and of the file.
        rows: flat dictionaries, the lines of the flow's table.
        seconds: wall-clock time of the run.
        seed: seed of the run, None where nothing is random.
        tools: Python distributions whose versions are stated.
        record: the file goes to docs/report/data, which is committed; else to build/report/data.
        extra: further top-level entries.
    Returns: the file.
    """
    folder = RECORDED if record else BUILD / "report" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "flow": flow,
        "commit": commit(),
        "seed": seed,
        "seconds": round(seconds, 1),
        "tools": {name: version(name) for name in tools},
        **extra,
        "rows": list(rows),
    }
    path = folder / f"{flow}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def read(flow: str) -> dict[str, Any]:
    """The recorded results of a flow. Raises: FileNotFoundError."""
    return dict(json.loads((RECORDED / f"{flow}.json").read_text()))
