"""How long random tests are: the environment variable JD_EFFORT, 1 for full lengths.

`make test` sets a tenth. What a length scales with it is the test's own choice: repetitions of a
random sequence do; a list of cases that are all wanted does not.
"""

from __future__ import annotations

import math
import os


class EffortError(ValueError):
    """JD_EFFORT is not a positive number."""


def effort() -> float:
    """The setting. Raises: EffortError."""
    text = os.environ.get("JD_EFFORT", "1")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise EffortError(f"JD_EFFORT: got {text!r}, want a positive number (1: full length)")
    return value


def scale(count: int, least: int = 1) -> int:
    """A random test's length by the setting, but not below `least`. Raises: EffortError."""
    return max(least, round(count * effort()))


def some(values: range, least: int = 1) -> range:
    """Values of a sweep by the setting, evenly spread, the first among them; at least so many.

    Raises: EffortError.
    """
    return values[:: max(1, len(values) // scale(len(values), least))]
