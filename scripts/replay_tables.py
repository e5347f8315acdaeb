"""Generate the logarithm and exponential tables of the replay engine's converters.

Writes rtl/replay/jd_replay_tables_pkg.sv and models/replay/tables.py from the same numbers:
`PYTHONPATH=. python scripts/replay_tables.py`; with `--check` it only compares.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is not up to date")
    check = parser.parse_args().check
    stale = 0
    for name, text in (
        ("rtl/replay/jd_replay_tables_pkg.sv", _systemverilog()),
        ("models/replay/tables.py", _python()),
    ):
        path = ROOT / name
        if not path.exists() or path.read_text() != text:
            stale += 1
            if not check:
                path.write_text(text)
    if check and stale:
        print(f"{stale} table files are not up to date: run scripts/replay_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
