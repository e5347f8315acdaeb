"""A run's folder, and the loop that keeps checkpoints in it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jackdaw.errors import CheckpointError, CheckpointMismatch, ConfigError
from jackdaw.runtime.report import Curve
from jackdaw.runtime.run_folder import RunFolder, kept
from jackdaw.runtime.training import interruptible, train

IDENTITY = {"seed": 1}
CURVE = Curve("steps", 2, 1.0, [1, 2, 3], [0.0, 1.0, 2.0], [(3, 100, 2.0)], "title")


def names(path: Path) -> set[str]:
    return {p.name for p in path.iterdir()}


def test_run_folder_holds_a_run(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one"
    folder = RunFolder(path, IDENTITY)
    assert folder.start is None and not path.parent.exists()
    folder.begin({"agent": "dqn"})
    folder.save({"step": 3})
    writer = folder.events()
    writer.add_scalar("a", 1.0, 1)
    writer.close()
    folder.finish({"solved": True}, [CURVE])
    events = {name for name in names(path) if name.startswith("events.out.tfevents.")}
    wanted = {"config.json", "summary.json", "curve.png", "checkpoint.npz"}
    assert len(events) == 1 and names(path) == wanted | events
    assert json.loads((path / "config.json").read_text()) == {"agent": "dqn"}
    assert json.loads(folder.summary.read_text()) == {"solved": True}
    assert RunFolder(path, IDENTITY, resume=True).start == {"step": 3} == kept(path)


def test_run_folder_is_asked_for(tmp_path: Path) -> None:
    """What is there stays until a run that may replace it begins."""
    path = tmp_path / "one"
    path.mkdir()
    RunFolder(path, IDENTITY).begin({})  # an empty folder is nobody's
    with pytest.raises(ConfigError, match="one is not empty; --resume or --overwrite"):
        RunFolder(path, IDENTITY)
    with pytest.raises(ConfigError, match=r"there is no .*checkpoint\.npz"):
        RunFolder(path, IDENTITY, resume=True)
    first = RunFolder(path, IDENTITY, overwrite=True)
    first.save({"step": 3})
    (path / "other").write_text("of the earlier run")
    with pytest.raises(CheckpointMismatch, match="seed is 1, this run has 2"):
        RunFolder(path, {"seed": 2}, resume=True)
    resumed = RunFolder(path, IDENTITY, resume=True, overwrite=True)
    resumed.begin({})
    assert "other" in names(path)
    second = RunFolder(path, IDENTITY, overwrite=True)
    assert "other" in names(path) and second.start is None
    second.begin({})
    assert names(path) == {"config.json"}
    second.checkpoint.write_text("x")
    with pytest.raises(CheckpointError):
        RunFolder(path, IDENTITY, resume=True)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("x")
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(ConfigError, match="is a file, want a folder"):
            RunFolder(path, IDENTITY, **options)
    assert path.read_text() == "x"


class Steps:
    """A training that counts, and calls for its end in a step."""

    most = 5
    solved = False

    def __init__(self, interrupt_at: int = 0) -> None:
        self.step = -1  # the first round warms up
        self.interrupt_at = interrupt_at

    def rounds(self) -> Iterator[Any]:
        while self.step < self.most:
            self.step += 1
            if self.step == self.interrupt_at:
                os.kill(os.getpid(), signal.SIGINT)
            yield

    def state(self) -> dict[str, Any]:
        return {"step": self.step}

    def curve(self) -> Curve:
        return CURVE

    def outcome(self) -> dict[str, Any]:
        return {}

    def write_events(self, writer: Any, prefix: str = "") -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(("interrupt_at", "last"), [(-1, 5), (3, 3), (0, 1)])
def test_training_keeps_checkpoints(tmp_path: Path, interrupt_at: int, last: int) -> None:
    """Ctrl-C ends a run with a checkpoint, not before its first step."""
    folder, one = RunFolder(tmp_path / "one", IDENTITY), Steps(interrupt_at)
    folder.begin({})
    seen = []

    def report() -> None:
        step = kept(folder.path)["step"] if folder.checkpoint.exists() else None
        seen.append((one.step, step))

    interrupted = train({"one": one}, folder, one.state, report, lambda: one.step == 2)
    assert interrupted == (interrupt_at >= 0)
    assert kept(folder.path) == {"step": last} and one.step == last
    assert (last, 2 if last > 2 else None) in seen


def test_training_is_stopped(tmp_path: Path) -> None:
    folder, one = RunFolder(tmp_path / "one", IDENTITY), Steps(-1)
    folder.begin({})
    train({"one": one}, folder, one.state, lambda: None, lambda: False, lambda: one.step == 4)
    assert kept(folder.path) == {"step": 4}


def test_interruptible_gives_the_signal_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupted:
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted() and signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
