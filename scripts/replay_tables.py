"""Generate the logarithm and exponential tables of the replay engine's converters.

Writes rtl/replay/jd_replay_tables_pkg.sv and models/replay/tables.py from the same numbers:
`python scripts/replay_tables.py`; with `--check` it only compares.
"""

from __future__ import annotations

import math
import sys

from flow.tables import write_or_check

SEGMENTS = 128


def _round(value: float) -> int:
    """Round to the nearest integer. Raises ValueError if float64 cannot decide."""
    if abs(value - math.floor(value) - 0.5) < 1e-6:
        raise ValueError(f"{value} is too close to a tie")
    return round(value)


def log2_table() -> list[int]:
    """[129] 2^20 log2(1 + i/128), rounded."""
    return [_round(2**20 * math.log2(1 + i / SEGMENTS)) for i in range(SEGMENTS + 1)]


def exp2_table() -> list[int]:
    """[129] 2^23 2^(j/128), rounded."""
    return [_round(2**23 * 2 ** (j / SEGMENTS)) for j in range(SEGMENTS + 1)]


def _systemverilog() -> str:
    def table(name: str, width: int, values: list[int]) -> str:
        rows = []
        for i in range(0, len(values), 6):
            rows.append("    " + ", ".join(f"{width}'d{v}" for v in values[i : i + 6]))
        body = ",\n".join(rows)
        return f"  localparam logic [{width - 1}:0] {name} [{SEGMENTS + 1}] = '{{\n{body}\n  }};\n"

    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "//\n"
        "// Tables of the replay engine's converters: written by scripts/replay_tables.py.\n"
        "package jd_replay_tables_pkg;\n"
        "  // 2^20 log2(1 + i/128)\n"
        + table("LOG2_TABLE", 21, log2_table())
        + "  // 2^23 2^(j/128)\n"
        + table("EXP2_TABLE", 25, exp2_table())
        + "endpackage : jd_replay_tables_pkg\n"
    )


def _python() -> str:
    def table(values: list[int]) -> str:
        rows = ["    " + ", ".join(map(str, values[i : i + 8])) for i in range(0, 129, 8)]
        return "[\n" + ",\n".join(rows) + ",\n]"

    return (
        '"""Tables of the converters: written by scripts/replay_tables.py."""\n\n# fmt: off\n'
        f"# [129] 2^20 log2(1 + i/128)\nLOG2_TABLE: list[int] = {table(log2_table())}\n\n"
        f"# [129] 2^23 2^(j/128)\nEXP2_TABLE: list[int] = {table(exp2_table())}\n"
    )


if __name__ == "__main__":
    sys.exit(
        write_or_check(
            __doc__,
            "scripts/replay_tables.py",
            {
                "rtl/replay/jd_replay_tables_pkg.sv": _systemverilog(),
                "models/replay/tables.py": _python(),
            },
        )
    )
