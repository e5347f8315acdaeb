"""Results of the flows: one JSON file each, from which tables and the report page are made.

A record (a file in docs/report/data) is of a commit: a tree that differs from one is not recorded.
`python -m flow.results` prints `--record` if this tree can be, else nothing, and why on stderr.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flow import BUILD, ROOT

RECORDED = ROOT / "docs" / "report" / "data"
# What the flows write themselves, one after another, and nothing that is measured.
GENERATED = ("docs/report", "docs/images", "docs/synthesis.md", "docs/results.md")
NAMED = 8  # files of a refusal


class NotRecorded(RuntimeError):
    """Results cannot be recorded, as no commit is what was measured."""


class NoCommit(NotRecorded):
    """There is no git, no repository of this tree, or no commit in it."""


class DirtyTree(NotRecorded):
    """Files differ from the commit."""


def _git(*arguments: str) -> str:
    """What git says of the tree. Raises: NoCommit."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoCommit(f"{ROOT}: no commit is known without git: {error}") from None
    if done.returncode:
        raise NoCommit(f"{ROOT}: no commit is known: {done.stderr.strip() or command}")
    return done.stdout


def _commit() -> str:
    """The commit that is checked out. Raises: NoCommit."""
    top = Path(_git("rev-parse", "--show-toplevel").removesuffix("\n"))
    if top.resolve() != ROOT.resolve():
        raise NoCommit(f"{ROOT}: no commit is known: a folder in the repository {top}")
    return _git("describe", "--always", "--abbrev=10").strip()


def differing() -> list[str]:
    """Files that differ from the commit or that git does not know, but for those of the flows.

    Raises: NoCommit.
    """
    others = [f":(exclude){path}" for path in GENERATED]
    out = _git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
               "--", ".", *others)  # fmt: skip
    return [entry[3:] for entry in out.split("\0") if entry]


def commit() -> str:
    """The measured commit, with `-dirty` where files differ from it; `unknown` without git."""
    try:
        return _commit() + "-dirty" * bool(differing())
    except NoCommit:
        return "unknown"


def recordable() -> str:
    """The commit that a record would be of; flows ask before they begin.

    Raises: DirtyTree, NoCommit.
    """
    found, files = _commit(), differing()
    if files:
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        raise DirtyTree(
            f"differs from commit {found}: {', '.join(files[:NAMED])}{more}; a record is of a "
            "commit: commit first, or leave out --record"
        )
    return found


def check_record(parser: argparse.ArgumentParser, record: bool) -> None:
    """End a command line that asks for a record which would be refused when the run has ended."""
    if record:
        try:
            recordable()
        except NotRecorded as error:
            parser.error(f"--record: {error}")


def write(
    flow: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    seconds: float,
    record: bool,
    seed: int | None = None,
    tools: Sequence[str] = (),
    **extra: Any,
) -> Path:
    """Write the results of a flow.

    Args:
        flow: name of the flow and of the file.
        rows: flat dictionaries, the lines of the flow's table.
        seconds: wall-clock time of the run.
        record: the file goes to docs/report/data, which is committed; else to build/report/data.
        seed: seed of the run, None where nothing is random.
        tools: Python distributions whose versions are stated.
        extra: further top-level entries.
    Returns: the file.
    Raises: DirtyTree, NoCommit if `record` and the tree is not that of a commit; the record stays
        as it was, and the results are in build/report/data.
    """
    refused: NotRecorded | None = None
    try:
        measured = recordable() if record else commit()
    except NotRecorded as error:
        refused, measured = error, commit()
    folder = RECORDED if record and not refused else BUILD / "report" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "flow": flow,
        "commit": measured,
        "seed": seed,
        "seconds": round(seconds, 1),
        "tools": {name: version(name) for name in tools},
        **extra,
        "rows": list(rows),
    }
    path = folder / f"{flow}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    if refused:
        raise type(refused)(f"{refused}; the results are in {path}")
    return path


def read(flow: str) -> dict[str, Any]:
    """The recorded results of a flow. Raises: FileNotFoundError."""
    return dict(json.loads((RECORDED / f"{flow}.json").read_text()))


def main() -> int:
    """Print the argument with which a flow records, for `make`."""
    try:
        recordable()
    except NotRecorded as error:
        print(f"not recorded, results go to build/report/data: {error}", file=sys.stderr)
    else:
        print("--record")
    return 0


if __name__ == "__main__":
    sys.exit(main())
