"""The folder of a run, alike for every training script."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from jackdaw.errors import ConfigError, RunFolderError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.events import EventWriter
from jackdaw.runtime.report import Curve, draw_curves

CHECKPOINT = "checkpoint.npz"
LOCK = ".jackdaw-run"  # marks a folder as one of a run, and is locked while the run writes into it


class RunFolder:
    """config.json, summary.json, curve.png, checkpoint.npz and TensorBoard events of a run.

    Nothing is written before `begin`, so that a run that cannot start leaves no trace. From `begin`
    on, of an earlier run's folder from the first look on, the folder is locked until `close`, or
    the end of a `with` block.

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
            overwrite: remove what is there, if it is a run.
        Raises: ConfigError if it is not empty, no run's, or there is nothing to go on from;
            CheckpointError; RunFolderError if another run has it, or it cannot be written.
        """
        self.path, self.identity = path, identity
        self.start: dict[str, Any] | None = None
        self._overwrite = overwrite and not resume
        self._lock: IO[bytes] | None = None
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file, want a folder")
        try:
            with told(path):
                self._look(resume, overwrite)
        except BaseException:
            self.close()
            raise

    def _look(self, resume: bool, overwrite: bool) -> None:
        if resume and not self.checkpoint.exists():
            raise ConfigError(f"--resume: there is no {self.checkpoint}")
        if not self.path.exists():
            there = next(parent for parent in self.path.absolute().parents if parent.exists())
            if not (there.is_dir() and os.access(there, os.W_OK)):
                raise RunFolderError(f"{self.path}: {there} is no folder that can be written")
            return
        if not os.access(self.path, os.W_OK):
            raise RunFolderError(f"{self.path} cannot be written: permission denied")
        if (self.path / LOCK).exists() or resume:
            self._take_lock()
        if resume:
            self.start = checkpoint.load(self.checkpoint, self.identity)
        elif any(found.name != LOCK for found in self.path.iterdir()):
            if not overwrite:
                raise ConfigError(f"{self.path} is not empty; --resume or --overwrite")
            if self._lock is None:
                raise ConfigError(
                    f"--overwrite: {self.path} is no run (it has no {LOCK}); remove it by hand"
                )

    def _take_lock(self) -> None:
        """Lock the folder. Raises: RunFolderError if another run has it; OSError."""
        lock = (self.path / LOCK).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise RunFolderError(
                    f"{self.path}: another run writes into it; wait for its end, or take another "
                    "folder"
                ) from None
            raise
        self._lock = lock

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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
        """Make the folder and write config.json: what the run was asked for.

        Raises: RunFolderError.
        """
        with told(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if self._lock is None:
                self._take_lock()
                if any(found.name != LOCK for found in self.path.iterdir()):
                    raise RunFolderError(f"{self.path}: another run has begun here meanwhile")
            if self._overwrite:  # only now, when the new run can start
                for found in self.path.iterdir():
                    if found.is_dir() and not found.is_symlink():
                        shutil.rmtree(found)
                    elif found.name != LOCK:
                        found.unlink()
            write_json(self.path / "config.json", config)

    def save(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint. Raises: RunFolderError; then the last one stays."""
        with told(self.checkpoint):
            checkpoint.save(self.checkpoint, self.identity, state)

    def finish(self, summary: dict[str, Any], curves: Sequence[Curve], title: str = "") -> None:
        """Write summary.json and curve.png. Raises: RunFolderError."""
        self.conclude(summary, lambda path: draw_curves(path, curves, title))

    def conclude(self, summary: dict[str, Any], draw: Callable[[Path], None]) -> None:
        """Write summary.json, and curve.png, which `draw` makes. Raises: RunFolderError."""
        with told(self.path):
            write_json(self.summary, summary)
            draw(self.curve)

    def events(self) -> EventWriter:
        """A writer of TensorBoard events, to be closed. Raises: RunFolderError."""
        with told(self.path):
            return EventWriter(self.path)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what the system refuses into a RunFolderError that names the path."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunFolderError(f"{error.filename or path}: {reason}") from error


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file for people and programs."""
    path.write_text(json.dumps(content, indent=2) + "\n")


def kept(folder: Path, identity: dict[str, Any] | None = None) -> dict[str, Any]:
    """State of a folder's checkpoint. Raises: FileNotFoundError, CheckpointError."""
    return checkpoint.load(folder / CHECKPOINT, identity)
