"""The folder of a run, alike for every training script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jackdaw.errors import ConfigError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.events import EventWriter
from jackdaw.runtime.report import Curve, draw_curves

CHECKPOINT = "checkpoint.npz"


class RunFolder:
    """config.json, summary.json, curve.png, checkpoint.npz and TensorBoard events of a run.

    Nothing is written before `begin`, so that a run that cannot start leaves no trace.

    Attributes:
        path: of the folder.
        identity: what a run must have in common with the one that it goes on from.
        start: state of the checkpoint from which the run goes on, if it does.
    """

    def __init__(
        self,
        path: Path,
        identity: dict[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Look at what is there.

        Args:
            path: of the folder.
            identity: see above.
            resume: go on from the folder's checkpoint.
            overwrite: remove what is there.
        Raises: ConfigError if it is not empty, or there is nothing to go on from; CheckpointError.
        """
        self.path, self.identity = path, identity
        self.start: dict[str, Any] | None = None
        self._overwrite = overwrite and not resume
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file, want a folder")
        if resume:
            if not self.checkpoint.exists():
                raise ConfigError(f"--resume: there is no {self.checkpoint}")
            self.start = checkpoint.load(self.checkpoint, identity)
        elif not overwrite and path.exists() and any(path.iterdir()):
            raise ConfigError(f"{path} is not empty; --resume or --overwrite")

    @property
    def checkpoint(self) -> Path:
        """From which a later run goes on."""
        return self.path / CHECKPOINT

    @property
    def curve(self) -> Path:
        """The returns, drawn."""
        return self.path / "curve.png"

    @property
    def summary(self) -> Path:
        """How the run ended."""
        return self.path / "summary.json"

    def begin(self, config: dict[str, Any]) -> None:
        """Make the folder and write config.json: what the run was asked for."""
        if self._overwrite and self.path.exists():
            shutil.rmtree(self.path)  # only now, when the new run can start
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "config.json", config)

    def save(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint."""
        checkpoint.save(self.checkpoint, self.identity, state)

    def finish(self, summary: dict[str, Any], curves: Sequence[Curve], title: str = "") -> None:
        """Write summary.json and curve.png."""
        write_json(self.summary, summary)
        draw_curves(self.curve, curves, title)

    def events(self) -> EventWriter:
        """What writes for TensorBoard, to be closed."""
        return EventWriter(self.path)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file for people and programs."""
    path.write_text(json.dumps(content, indent=2) + "\n")


def kept(folder: Path, identity: dict[str, Any] | None = None) -> dict[str, Any]:
    """State of a folder's checkpoint. Raises: FileNotFoundError, CheckpointError."""
    return checkpoint.load(folder / CHECKPOINT, identity)
