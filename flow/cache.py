"""A store of built things by the content of what they were made from, shared on one machine.

An entry is a folder whose name ends in the hash of everything that decides what is in it, so clones
and workers share it, and nothing in it is ever changed. The store lies in the folder that
JACKDAW_CACHE names, else in `jackdaw` below XDG_CACHE_HOME or ~/.cache.

- An entry is built in a folder beside it and renamed when it is whole: a build that is killed
  leaves nothing that could be taken for an entry.
- A lock for each entry: the second process that wants it waits for the first and finds it built.
- Who reads an entry holds its lock, shared, until the process ends: it is never removed under them.
- Beyond JACKDAW_CACHE_GB (8) the entries that were used longest ago are removed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flow import user_cache

LAYOUT = "v1"  # of the store; a new one leaves the old one alone
DEFAULT_GB = 8.0
MANIFEST = "manifest.json"
SLOTS = os.cpu_count() or 1
ROOM_BYTES = 32_000_000  # with less, a build that fails may have failed for it
WAIT_S = 3600.0  # for another process that builds the same
_held: dict[Path, int] = {}  # open locks of the entries that this process reads


class CacheError(RuntimeError):
    """The store cannot be used; says why, and which setting moves it."""


class CacheFull(CacheError):
    """No space is left for an entry, although every unused entry was removed."""


def root() -> Path:
    """The store's folder. Raises: CacheError if it cannot be made or written."""
    folder = user_cache() / LAYOUT
    try:
        for part in ("entries", "locks", "making"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(f"{folder}: {error.strerror}; JACKDAW_CACHE names another") from error
    if not os.access(folder / "making", os.W_OK):
        raise CacheError(f"{folder}: cannot be written; JACKDAW_CACHE names another folder")
    return folder


def limit_bytes() -> int:
    """Size that the store is kept below. Raises: CacheError if JACKDAW_CACHE_GB is no number."""
    text = os.environ.get("JACKDAW_CACHE_GB", str(DEFAULT_GB))
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value <= 0:
        raise CacheError(f"JACKDAW_CACHE_GB is {text!r}: want a number of gigabytes above 0")
    return int(value * 1e9)


def find(name: str) -> Path | None:
    """The entry of a name, if it is there and whole; this process reads it from then on."""
    folder = root()
    path = folder / "entries" / name
    if path in _held:
        if _whole(path):
            return path
        os.close(_held.pop(path))
    if not _whole(path):
        return None  # at once, also while another process is building it
    lock = _lock(folder / "locks" / name, fcntl.LOCK_SH)
    if not _whole(path):
        os.close(lock)
        return None
    _hold(path, lock)
    return path


def entry(name: str, make: Callable[[Path], None]) -> Path:
    """The entry of a name; `make` fills its folder if it is not there.

    Args:
        name: a readable part and the hash of everything that decides the content.
        make: puts the files into the empty folder it is given; what it raises is passed on.
    Returns: the entry's folder, which stays until this process ends.
    Raises: CacheFull, CacheError, also where another process builds it and does not end.
    """
    end = time.monotonic() + WAIT_S
    while (path := find(name)) is None:
        # Waiting for the lock itself would be waiting for those who read what was built meanwhile.
        if not try_entry(name, make):
            if time.monotonic() > end:
                raise CacheError(f"{name}: another process has not built it within {WAIT_S:.0f} s")
            time.sleep(0.1)
    return path


def try_entry(name: str, make: Callable[[Path], None]) -> bool:
    """As `entry`, but False at once if another process is building it."""
    if find(name) is not None:
        return True
    folder = root()
    lock = _lock(folder / "locks" / name, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock < 0:
        return False
    try:
        if not _whole(folder / "entries" / name):
            _make(folder, name, make)
    finally:
        os.close(lock)
    return True


def release() -> None:
    """Give up everything that this process reads: it may be removed from now on."""
    while _held:
        os.close(_held.popitem()[1])


def evict(keep_bytes: int) -> int:
    """Remove unused entries, the one used longest ago first, until so much is left.

    What a killed build left is removed, too.

    Returns: bytes that are left.
    """
    folder = root()
    for left in (folder / "making").iterdir():
        _remove(folder, left.name, left)
    entries = []
    for path in (folder / "entries").iterdir():
        try:
            entries.append((path.stat().st_mtime, _size(path), path))
        except (OSError, ValueError):
            entries.append((0.0, 0, path))  # broken, or just removed by another process
    left_bytes = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if left_bytes <= keep_bytes:
            break
        if path not in _held and _remove(folder, path.name, path):
            left_bytes -= size
    return left_bytes


@contextmanager
def slot() -> Iterator[None]:
    """Hold one of the machine's slots for heavy compilations: one for each core."""
    names = [root() / "locks" / f"slot{i}" for i in range(SLOTS)]
    while True:
        for name in names:
            if (lock := _lock(name, fcntl.LOCK_EX | fcntl.LOCK_NB)) >= 0:
                try:
                    yield
                finally:
                    os.close(lock)
                return
        time.sleep(0.05)


def _make(folder: Path, name: str, make: Callable[[Path], None]) -> None:
    """Build an entry beside its place and rename it; its lock is held."""
    work, path = folder / "making" / name, folder / "entries" / name
    for attempt in (0, 1):
        shutil.rmtree(work, ignore_errors=True)
        try:
            work.mkdir()
            make(work)
            files = {
                str(p.relative_to(work)): p.stat().st_size for p in work.rglob("*") if p.is_file()
            }
            (work / MANIFEST).write_text(json.dumps(files))
            shutil.rmtree(path, ignore_errors=True)  # it was not whole
            os.replace(work, path)
            break
        except Exception as error:
            if not _no_space(error, folder):
                raise
            if attempt:
                raise CacheFull(
                    f"no space left below {folder} ({shutil.disk_usage(folder).free} bytes free) "
                    f"to build {name}; JACKDAW_CACHE names another folder ({error})"
                ) from error
            shutil.rmtree(work, ignore_errors=True)
            evict(0)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    evict(limit_bytes())


def _no_space(error: Exception, folder: Path) -> bool:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    # A compiler may fail without a word: its log lies on the same disk.
    return "No space left on device" in str(error) or shutil.disk_usage(folder).free < ROOM_BYTES


def _whole(path: Path) -> bool:
    """Whether an entry is there with every file at its size."""
    try:
        files = json.loads((path / MANIFEST).read_text())
        return all((path / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError):
        return False


def _size(path: Path) -> int:
    return sum(json.loads((path / MANIFEST).read_text()).values())


def _hold(path: Path, lock: int) -> None:
    if path in _held:
        os.close(_held[path])
    _held[path] = lock
    os.utime(path)


def _remove(folder: Path, name: str, path: Path) -> bool:
    """Remove a folder if nobody holds its lock; the lock's file goes, too."""
    lock_file = folder / "locks" / name
    lock = _lock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock < 0:
        return False
    try:
        shutil.rmtree(path, ignore_errors=True)
        if path.parent.name == "entries":
            lock_file.unlink(missing_ok=True)
    finally:
        os.close(lock)
    return True


def _lock(path: Path, how: int) -> int:
    """Lock a file; -1 if that would block. A file that was removed meanwhile does not count."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, how)
        except BlockingIOError:
            os.close(handle)
            return -1
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)
