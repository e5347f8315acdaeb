"""Checkpoints: one file from which a run goes on to the bit."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

FORMAT = 3  # 3: the learner's image holds Adam's bias corrections, before powers of the betas


class CheckpointMismatch(RuntimeError):
    """A checkpoint that does not belong to this run; says what was got and what was wanted."""


def save(path: Path, configuration: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a checkpoint; the file is replaced as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as handle:
        pickle.dump({"format": FORMAT, "configuration": configuration, "state": state}, handle)
    os.replace(temporary, path)


def load(path: Path, configuration: dict[str, Any]) -> dict[str, Any]:
    """Read a checkpoint of a run with the same configuration.

    Only open files of your own: the format is Python's pickle, which can run code.

    Raises: CheckpointMismatch naming the first setting that differs; FileNotFoundError.
    """
    with path.open("rb") as handle:
        content = pickle.load(handle)
    if content.get("format") != FORMAT:
        raise CheckpointMismatch(f"{path}: format {content.get('format')}, want {FORMAT}")
    saved = content["configuration"]
    for key in sorted(saved.keys() | configuration.keys()):
        if saved.get(key) != configuration.get(key):
            raise CheckpointMismatch(
                f"{path}: {key} is {saved.get(key)!r}, this run has {configuration.get(key)!r}"
            )
    return content["state"]
