"""What an engine may cost in `make test`, in seconds of an ordinary core.

A machine's speed is the CPU time of a fixed loop. Each worker measures it when a session begins and
then now and then between its tests, because cores share their units, and a machine in a data
centre is not always as fast. An ordinary core needs ORDINARY_S for the loop.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from flow import record

ENGINE_S = 150.0
ORDINARY_S = 0.040
STEPS = 1_000_000
TRIALS = 7
EVERY_S = 10.0
_measured = 0.0


def measure_speed(trials: int = TRIALS) -> None:
    """Record how many times slower than an ordinary core this one is."""
    global _measured
    times = []
    for _ in range(trials):
        start, total = time.process_time(), 1
        for i in range(STEPS):
            total = (total * 33 + i) & 0xFFFFFFFF
        times.append(time.process_time() - start)
    record.add("speed", slower=round(statistics.median(times) / ORDINARY_S, 3))
    _measured = time.monotonic()


def measure_again() -> None:
    """As `measure_speed`, quickly, if the last measurement was EVERY_S ago."""
    if time.monotonic() - _measured > EVERY_S:
        measure_speed(1)


def slower(folder: Path) -> float:
    """How many times slower than an ordinary core the machine of a session was; 1 if unknown."""
    found = [line["slower"] for line in record.read(folder, "speed")]
    return statistics.fmean(found) if found else 1.0
