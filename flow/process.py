"""Child processes with limits that do not depend on how busy the machine is.

A limit is CPU time. A child that uses none at all for STALL_S seconds waits for something that will
never come, and is ended too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STALL_S = 300.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        code: exit code; negative: the signal.
        cpu_s: CPU seconds of the child and of what it waited for.
        output: what it wrote to stdout and stderr.
        limit: which limit ended it, in words; empty if none.
    """

    code: int
    cpu_s: float
    output: str
    limit: str = ""


def run(
    command: Sequence[object],
    *,
    cwd: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    cpu_s: float | None = None,
    stall_s: float = STALL_S,
) -> Ended:
    """Run a command to its end.

    Args:
        command: program and arguments.
        cwd: its folder.
        log: file that its stdout and stderr are appended to.
        env: its environment; None: this process's.
        cpu_s: limit of CPU seconds, of the child with its children; None: no limit.
        stall_s: wall-clock seconds without any CPU time after which it is ended.
    Raises: OSError if the command cannot be started.
    """
    with log.open("ab") as handle:
        start = handle.tell()
        child = subprocess.Popen(
            [str(word) for word in command], cwd=cwd, env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL, stdout=handle, stderr=handle, start_new_session=True,
        )  # fmt: skip
    limit, used, since, pause = "", 0.0, time.monotonic(), 0.002
    status, usage = 0, None
    try:
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)
            now = tree_cpu_s(child.pid)
            if now > used + 0.02:
                used, since = now, time.monotonic()
            if cpu_s is not None and used > cpu_s:
                limit = f"no end within {cpu_s:.0f} s of CPU time"
            elif time.monotonic() - since > stall_s:
                limit = f"no CPU time used for {stall_s:.0f} s"
            if limit:
                os.killpg(child.pid, signal.SIGKILL)
                _, status, usage = os.wait4(child.pid, 0)
                break
    except BaseException:  # also an interrupt of this process: nothing is left running
        _kill_group(child.pid)
        raise
    finally:
        if usage is None:
            child.wait()
        else:
            child.returncode = os.waitstatus_to_exitcode(status)
    _kill_group(child.pid)  # what it started and left
    with log.open("rb") as handle:
        handle.seek(start)
        output = handle.read().decode(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime if usage else used
    return Ended(child.returncode, cpu, output, limit)


def tree_cpu_s(root: int) -> float:
    """CPU seconds of a process and of all below it, with those of children that ended."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        ticks[int(stat.parent.name)] = sum(int(fields[i]) for i in (11, 12, 13, 14))
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks.get(pid, 0) for pid in below) / _TICKS


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
