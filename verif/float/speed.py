# SPDX-License-Identifier: Apache-2.0
"""What an operation costs in simulation: `python -m verif.float.speed`.

64 blocks at the latency of the simulated accelerator. The least of several runs counts: the machine
may be busy with other work.
"""

from __future__ import annotations

import ctypes

from flow.library import build
from verif.float.lanes import HERE

OPERATIONS = ("mul", "add")
OPERANDS = ("any bit pattern", "numbers below 1", "idle")
CLOCKS = 20_000
RUNS = 9


def measure(operation: int, operands: int, runs: int = RUNS, clocks: int = CLOCKS) -> float:
    """Nanoseconds of processor time an operation, operands included.

    Args:
        operation, operands: index into OPERATIONS, OPERANDS.
        runs, clocks: repetitions, and the length of each.
    """
    path = build(
        "jackdaw:lib:float",
        "jd_float_array",
        HERE / "speed.cpp",
        parameters={"Operation": operation},
        sources=[HERE / "jd_float_array.sv"],
    )
    library = ctypes.CDLL(str(path))
    library.jd_speed.restype = ctypes.c_double
    return min(float(library.jd_speed(operands, clocks)) for _ in range(runs))


if __name__ == "__main__":
    for index, name in enumerate(OPERATIONS):
        for kind, what in enumerate(OPERANDS):
            print(f"{name}, {what}: {measure(index, kind):.1f} ns")
