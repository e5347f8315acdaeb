"""The store of built things: whole entries only, once each, safe from removal while in use."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flow import ROOT, cache


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own for each test."""
    monkeypatch.setenv("JACKDAW_CACHE", str(tmp_path / "store"))
    monkeypatch.setattr(cache, "_held", {})
    return tmp_path / "store" / cache.LAYOUT


def fill(size: int = 10) -> object:
    """A build that writes so many bytes."""
    return lambda folder: (folder / "file").write_bytes(bytes(size))


def test_an_entry_is_made_once() -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("x")

    assert cache.find("a-1") is None
    assert cache.entry("a-1", make) == cache.entry("a-1", make) == cache.find("a-1")
    assert len(made) == 1
    assert (cache.entry("a-1", make) / "file").read_text() == "x"


def test_a_failed_build_leaves_nothing(store: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.entry("a-1", fail)
    assert cache.find("a-1") is None
    assert not list((store / "making").iterdir())


def test_an_entry_with_a_short_file_is_built_again() -> None:
    path = cache.entry("a-1", fill())  # type: ignore[arg-type]
    (path / "file").write_bytes(b"")
    assert cache.find("a-1") is None
    assert (cache.entry("a-1", fill()) / "file").stat().st_size == 10  # type: ignore[arg-type]


BUILDER = """
import sys, time
from pathlib import Path
from flow import cache
def make(folder):
    (folder / "file").write_text("half")
    Path(sys.argv[1]).open("a").write("made\\n")
    time.sleep(float(sys.argv[2]))
    (folder / "file").write_text("whole")
print((cache.entry("a-1", make) / "file").read_text(), flush=True)
sys.stdin.read()  # it reads the entry until it is told to end
"""


def builder(marks: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that builds the entry, and takes so long."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BUILDER, str(marks), str(seconds)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)


def wait_for(path: Path) -> None:
    """Until a builder has begun."""
    while not path.exists():
        time.sleep(0.01)


def test_a_killed_build_is_no_entry(tmp_path: Path) -> None:
    child = builder(tmp_path / "marks", 60)
    wait_for(tmp_path / "marks")
    assert not cache.try_entry("a-1", fill())  # type: ignore[arg-type]  # it is being built
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert cache.find("a-1") is None
    assert (cache.entry("a-1", fill()) / "file").stat().st_size == 10  # type: ignore[arg-type]


def test_two_at_once_build_once(tmp_path: Path) -> None:
    """And the second has it while the first still reads it."""
    children = [builder(tmp_path / "marks", 0.5) for _ in range(2)]
    try:
        for child in children:
            assert child.stdout is not None
            assert select.select([child.stdout], [], [], 30)[0], "waits for who reads the entry"
            assert child.stdout.readline() == "whole\n"
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert (tmp_path / "marks").read_text() == "made\n"


def test_readers_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that another process ends and reads just after this one did not find it."""
    child = builder(tmp_path / "marks", 0)
    assert child.stdout is not None and child.stdout.readline() == "whole\n"
    look, times = cache.find, iter(range(1000))
    monkeypatch.setattr(cache, "find", lambda name: look(name) if next(times) else None)
    found: list[Path] = []
    waiter = threading.Thread(target=lambda: found.append(cache.entry("a-1", fill())))  # type: ignore[arg-type]
    waiter.start()
    waiter.join(10)
    in_time = list(found)
    child.kill()
    child.wait()
    waiter.join()
    assert in_time


def test_a_build_of_another_that_does_not_end_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WAIT_S", 0.2)
    child = builder(tmp_path / "marks", 60)
    wait_for(tmp_path / "marks")
    with pytest.raises(cache.CacheError, match="a-1: another process has not built it"):
        cache.entry("a-1", fill())  # type: ignore[arg-type]
    child.kill()
    child.wait()


def test_the_oldest_unused_entries_go(store: Path) -> None:
    for number in range(3):
        path = cache.entry(f"e-{number}", fill(1000))  # type: ignore[arg-type]
        os.utime(path, (number, number))
    assert cache.evict(0) == 3000  # all are in use
    cache.release()
    held = cache.find("e-0")
    assert held is not None
    os.utime(held, (0, 0))
    assert cache.evict(2500) == 2000
    assert sorted(p.name for p in (store / "entries").iterdir()) == ["e-0", "e-2"]


def test_the_limit_holds_after_a_build(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    monkeypatch.setenv("JACKDAW_CACHE_GB", "0.0000015")
    for number in range(4):
        cache.entry(f"e-{number}", fill(1000))  # type: ignore[arg-type]
        cache.release()
    assert len(list((store / "entries").iterdir())) == 1


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unused entries go first; then the error says which setting moves the store."""
    cache.entry("old-1", fill())  # type: ignore[arg-type]
    cache.release()
    tries = []

    def full(folder: Path) -> None:
        tries.append(cache.find("old-1"))
        cache.release()
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(cache.CacheFull, match="JACKDAW_CACHE names another"):
        cache.entry("a-1", full)
    assert len(tries) == 2 and tries[0] is not None and tries[1] is None


@pytest.mark.parametrize("text", ["0", "-1", "much"])
def test_a_limit_that_is_no_size_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_CACHE_GB", text)
    with pytest.raises(cache.CacheError, match="JACKDAW_CACHE_GB is"):
        cache.limit_bytes()


def test_a_store_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JACKDAW_CACHE", str(tmp_path / "file"))
    with pytest.raises(cache.CacheError, match="JACKDAW_CACHE names another"):
        cache.root()
