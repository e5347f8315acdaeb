"""A run's folder, and the loop that keeps checkpoints in it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jackdaw.errors import CheckpointError, CheckpointMismatch, ConfigError, RunFolderError
from jackdaw.runtime.report import Curve
from jackdaw.runtime.run_folder import LOCK, RunFolder, kept
from jackdaw.runtime.training import interruptible, train

IDENTITY = {"seed": 1}
CURVE = Curve("steps", 2, 1.0, [1, 2, 3], [0.0, 1.0, 2.0], [(3, 100, 2.0)], "title")


def names(path: Path) -> set[str]:
    """What a folder holds, but for the lock."""
    return {p.name for p in path.iterdir()} - {LOCK}


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
    folder.close()
    assert RunFolder(path, IDENTITY, resume=True).start == {"step": 3} == kept(path)


def test_run_folder_is_asked_for(tmp_path: Path) -> None:
    """What is there stays until a run that may replace it begins."""
    path = tmp_path / "one"
    path.mkdir()
    with RunFolder(path, IDENTITY) as empty:  # an empty folder is nobody's
        empty.begin({})
    with pytest.raises(ConfigError, match="one is not empty; --resume or --overwrite"):
        RunFolder(path, IDENTITY)
    with pytest.raises(ConfigError, match=r"there is no .*checkpoint\.npz"):
        RunFolder(path, IDENTITY, resume=True)
    with RunFolder(path, IDENTITY, overwrite=True) as first:
        first.save({"step": 3})
    (path / "other").write_text("of the earlier run")
    with pytest.raises(CheckpointMismatch, match="seed is 1, this run has 2"):
        RunFolder(path, {"seed": 2}, resume=True)
    with RunFolder(path, IDENTITY, resume=True, overwrite=True) as resumed:
        resumed.begin({})
    assert "other" in names(path)
    (path / "deep").mkdir()
    (path / "link").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "beside").write_text("of somebody else")
    with RunFolder(path, IDENTITY, overwrite=True) as second:
        assert {"other", "deep", "link"} < names(path) and second.start is None
        second.begin({})
        assert names(path) == {"config.json"} and (tmp_path / "beside").exists()
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
    for options in ({}, {"overwrite": True}):
        with pytest.raises(RunFolderError, match="run is no folder"):
            RunFolder(path / "deeper" / "one", IDENTITY, **options)


def test_a_folder_that_is_no_run_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")  # many folders have one
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ConfigError, match="is no run"):
        RunFolder(tmp_path, IDENTITY, overwrite=True)
    assert {p.name for p in tmp_path.iterdir()} == {"config.json", "thesis.tex"}


def test_resume_makes_no_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(ConfigError, match="there is no"):
            RunFolder(path, IDENTITY, resume=True)
    assert not list(tmp_path.iterdir())


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    """The second one is refused at once, whatever it asks for, also from another process."""
    path = tmp_path / "one"
    late = RunFolder(path, IDENTITY)
    with RunFolder(path, IDENTITY) as first:
        first.begin({"run": 1})
        first.save({"step": 1})
        for options in ({"resume": True}, {"overwrite": True}, {}):
            with pytest.raises(RunFolderError, match="another run writes into it"):
                RunFolder(path, IDENTITY, **options)
        with pytest.raises(RunFolderError, match="another run writes into it"):
            late.begin({"run": 2})
        child = os.fork()
        if child == 0:
            try:
                RunFolder(path, IDENTITY, resume=True)
            except RunFolderError:
                os._exit(3)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    with pytest.raises(RunFolderError, match="has begun here meanwhile"):
        late.begin({"run": 2})
    assert json.loads((path / "config.json").read_text()) == {"run": 1}
    late.close()
    with RunFolder(path, IDENTITY, resume=True) as again:
        assert again.start == {"step": 1}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (Path("/proc/run"), Path("/proc/self")):
        with pytest.raises(RunFolderError, match="/proc"):
            RunFolder(path, IDENTITY).begin({})
    with RunFolder(tmp_path / "one", IDENTITY) as folder:
        folder.begin({})
        folder.save({"step": 1})
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # as a full disk
        try:
            for call in (
                lambda: folder.save({"rows": np.zeros(1000)}),
                lambda: folder.finish({}, [CURVE]),
                lambda: folder.begin({"long": "x" * 2000}),
            ):
                with pytest.raises(RunFolderError, match=r"one.*File too large"):
                    call()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert kept(folder.path) == {"step": 1}


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
