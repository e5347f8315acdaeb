"""Scalars for TensorBoard, written with the package tensorboard alone."""

from __future__ import annotations

import time
from pathlib import Path


class EventWriter:
    """Writes an events file into a folder; without the package tensorboard it writes nothing.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            self._file = None
            return
        self._event, self._summary = Event, Summary
        self._file = EventFileWriter(str(folder))

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Write a value of a step."""
        if self._file is not None:
            values = [self._summary.Value(tag=name, simple_value=float(value))]
            summary = self._summary(value=values)
            self._file.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
