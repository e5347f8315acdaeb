"""What an engine may cost in `make test`, in seconds of an ordinary core.

A core's speed is the CPU time of a fixed loop. Each worker measures it between its tests, because
cores share their units, and a machine in a data centre is not always as fast.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from flow import record

ENGINE_S = 150.0
TOLERANCE = 1.15  # a core's speed is not known better
ORDINARY_S = 0.025  # of CPU time, for the loop
STEPS = 1_000_000
EVERY_S = 10.0
_measured = -EVERY_S


def slower_now() -> float:
    """How many times slower than an ordinary core this one is now."""
    start = time.process_time()
    sum(i * i for i in range(STEPS))
    return (time.process_time() - start) / ORDINARY_S


def measure_speed() -> None:
    """Record how slow this core is, every EVERY_S seconds."""
    global _measured
    if time.monotonic() - _measured < EVERY_S:
        return
    record.add("speed", slower=round(slower_now(), 3))
    _measured = time.monotonic()


def slower(folder: Path) -> float:
    """How many times slower than an ordinary core the machine of a session was; 1 if unknown."""
    found = [line["slower"] for line in record.read(folder, "speed")]
    return statistics.fmean(found) if found else 1.0
