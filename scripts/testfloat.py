#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the floating-point RTL against vectors in the format of Berkeley testfloat_gen.

    testfloat_gen -rnear_even f32_mul | scripts/testfloat.py f32_mul
    scripts/testfloat.py i64_to_f16 --vectors FILE

A line has the operands, the expected result and the exception flags in hexadecimal. Operations:
f32/f16 with add, sub, mul, div, sqrt, eq, le, lt (also eq_signaling, le_quiet, lt_quiet), and
conversions between f32/f16 and i32, ui32, i64, ui64. An expected NaN stands for the canonical one,
which the RTL must give. A conversion to an integer whose flags say invalid is skipped: IEEE 754
leaves its result open. Exit code 1 if a result differs or nothing was compared, 2 on a bad vector.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from verif.float.lanes import FORMATS, Lane, Lanes

INVALID = 0x10
CHUNK = 1 << 18
SHOWN = 20
ARITHMETIC = {"add": "add", "sub": "add", "mul": "mul", "div": "div", "sqrt": "sqrt"}
COMPARISONS = {"eq": 2, "lt": 1, "le": 3}  # bits of the compare lane's result


class BadVector(ValueError):
    """A line that is not a vector of the operation."""


@dataclass(frozen=True)
class Operation:
    """What a vector's line means.

    Attributes:
        float_format: "f32" or "f16".
        kind: key of ARITHMETIC or COMPARISONS, "from" or "to" (an integer).
        bits: width of the integer of a conversion.
        signed: of that integer.
    """

    float_format: str
    kind: str
    bits: int = 0
    signed: bool = True

    @property
    def operands(self) -> int:
        """Operands on a line."""
        return 1 if self.kind in ("sqrt", "from", "to") else 2

    def lane(self, lanes: Lanes) -> Lane:
        """The block that computes it."""
        if self.kind in ("from", "to"):
            return lanes.find(f"{self.kind}_fixed", self.bits, self.signed)
        return lanes.find(ARITHMETIC.get(self.kind, "compare"))


def parse_operation(name: str) -> Operation:
    """An operation by testfloat_gen's name. Raises: ValueError."""
    if found := re.fullmatch(r"(f16|f32)_(add|sub|mul|div|sqrt)", name):
        return Operation(found[1], found[2])
    if found := re.fullmatch(r"(f16|f32)_(eq|lt|le)(_signaling|_quiet)?", name):
        return Operation(found[1], found[2])
    if found := re.fullmatch(r"(u?)i(32|64)_to_(f16|f32)", name):
        return Operation(found[3], "from", int(found[2]), not found[1])
    if found := re.fullmatch(r"(f16|f32)_to_(u?)i(32|64)", name):
        return Operation(found[1], "to", int(found[3]), not found[2])
    raise ValueError(f"unknown operation {name!r}")


def chunks(lines: Iterable[str], columns: int) -> Iterator[np.ndarray]:
    """Vectors as [N, columns] uint64, N up to CHUNK. Raises: BadVector."""
    source = iter(lines)
    while batch := list(islice(source, CHUNK)):
        rows = [fields for line in batch if (fields := line.split())]
        for row in rows:
            if len(row) != columns:
                raise BadVector(f"{' '.join(row)!r}: got {len(row)} columns, want {columns}")
        try:
            words = [int(field, 16) for row in rows for field in row]
            table = np.array(words, np.uint64).reshape(-1, columns)
        except (ValueError, OverflowError) as error:
            raise BadVector(str(error)) from error
        if len(table):
            yield table


def check(operation: Operation, lines: Iterable[str]) -> tuple[int, int, int]:
    """Run vectors through the RTL and print what differs.

    Returns: vectors compared, vectors skipped, mismatches.
    Raises: BadVector, flow.library.CheckFailed.
    """
    exp, man = FORMATS[operation.float_format]
    infinite, sign = np.uint64(((1 << exp) - 1) << man), np.uint64(1 << (exp + man))
    canonical = infinite | np.uint64(1 << (man - 1))
    compared = skipped = mismatches = 0
    with Lanes(operation.float_format) as lanes:
        lane = operation.lane(lanes)
        for table in chunks(lines, operation.operands + 2):
            a, want, flags = table[:, 0], table[:, -2], table[:, -1]
            b = table[:, 1] if operation.operands == 2 else None
            got = lanes.run(lane, a, b, subtract=operation.kind == "sub")
            keep = np.ones(len(table), bool)
            if operation.kind in COMPARISONS:
                got = (got & np.uint64(COMPARISONS[operation.kind]) != 0).astype(np.uint64)
            elif operation.kind == "to":
                keep = flags & np.uint64(INVALID) == 0
                want = want & np.uint64((1 << operation.bits) - 1)
            else:
                want = np.where((want & ~sign) > infinite, canonical, want)
            bad = np.flatnonzero((got != want) & keep)
            for i in bad[: max(0, SHOWN - mismatches)]:
                operands = " ".join(f"{word:X}" for word in table[i, : operation.operands])
                print(f"{operands}: got {got[i]:X}, want {want[i]:X}")
            compared += int(keep.sum())
            skipped += int((~keep).sum())
            mismatches += len(bad)
    return compared, skipped, mismatches


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("operation", help="testfloat_gen's name, such as f32_mul")
    parser.add_argument("--vectors", default="-", help="file of vectors; - is standard input")
    options = parser.parse_args(arguments)
    try:
        operation = parse_operation(options.operation)
        if options.vectors == "-":
            compared, skipped, mismatches = check(operation, sys.stdin)
        else:
            with open(options.vectors) as lines:
                compared, skipped, mismatches = check(operation, lines)
    except (ValueError, OSError) as error:
        print(f"{options.operation}: {error}", file=sys.stderr)
        return 2
    print(f"{options.operation}: {compared} vectors, {skipped} skipped, {mismatches} mismatches")
    return 1 if mismatches or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
