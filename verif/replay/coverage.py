"""Functional coverage of the replay engine's jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.registers.replay import Error
from models.replay.engine import _JOBS, Flag, Job

Bins = dict[str, Callable[[Any], bool]]
SIZES = (1, 2, 7, 8)


def _jobs() -> Bins:
    names = {value: name for name, value in vars(Job).items() if name.isupper()}
    return {
        names[code]: (lambda e, code=code: e.opcode == code and not e.end.error) for code in _JOBS
    }


def _flags() -> Bins:
    """Each legal flag of each job, and the job without any."""
    names = {value: name for name, value in vars(Flag).items() if name.isupper()}
    jobs = {value: name for name, value in vars(Job).items() if name.isupper()}
    bins: Bins = {}
    for code, (_, legal, _) in _JOBS.items():
        bins[f"{jobs[code]}_plain"] = lambda e, code=code: e.opcode == code and e.flags == 0
        for bit, name in names.items():
            if legal & bit:
                bins[f"{jobs[code]}_{name}"] = lambda e, code=code, bit=bit: (
                    e.opcode == code and bool(e.flags & bit) and not e.end.error
                )
    return bins


def _errors() -> Bins:
    bins: Bins = {"none": lambda e: e.end.error == 0}
    for error in Error:
        if error.name != "E_RING":  # no job's
            bins[error.name] = lambda e, code=int(error): e.end.error == code
    return bins


BINS: dict[str, Bins] = {
    "job": _jobs(),
    "flag": _flags(),
    "error": _errors(),
    "batch": {
        str(size): (lambda e, size=size: e.opcode == Job.SAMPLE and e.count == size)
        for size in SIZES
    },
    "later_error": {
        "first_op": lambda e: e.ring == 1 and e.end.error in (2, 7) and e.end.count == 0,
        "later_op": lambda e: e.ring == 1 and e.end.error in (2, 7) and e.end.count > 0,
    },
}
