"""Several runs on one device: in turn on the host, side by side on the engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def in_turn(runs: Mapping[str, Iterable[Any]]) -> Iterator[tuple[str, Any]]:
    """Give each run a round in turn, until all have ended; a run's jobs may go on meanwhile.

    A device belongs to one thread, so the host does one thing at a time. What a run computes is a
    function of its seed alone: the others change when its jobs run, never what comes out.

    Args:
        runs: name and rounds of each, e.g. `LockstepRun.rounds()`.
    Yields: the name of the run and what its round gave.
    """
    left = {name: iter(rounds) for name, rounds in runs.items()}
    nothing = object()
    while left:
        for name in list(left):
            given = next(left[name], nothing)
            if given is nothing:
                del left[name]
            else:
                yield name, given
