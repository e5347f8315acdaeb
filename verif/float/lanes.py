# SPDX-License-Identifier: Apache-2.0
"""The floating-point blocks in the in-process simulator: vectors in, results out.

`Lanes` holds every block of one format with several latencies (`jd_float_lanes.sv`). Operands and
results are bit patterns.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flow.library import Harness, build, open_library

HERE = Path("verif/float")
FORMATS = {"f32": (8, 23), "f16": (5, 10)}
OPERATIONS = ("mul", "add", "div", "sqrt", "compare", "from_fixed", "to_fixed")
LANES = 34
CROSS, EXPONENTS, RANDOM, RANGE = range(4)


class FloatLaneError(AssertionError):
    """Results differ."""


class Report(ctypes.Structure):
    """Results compared, results that differ, and the first of these (bit patterns)."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("compared", "mismatches", "a", "b", "subtract", "got", "want")
    ]


@dataclass(frozen=True)
class Lane:
    """One block.

    Attributes:
        index: its number in jd_float_lanes.
        operation: one of OPERATIONS.
        latency: clocks.
        integer: IntW of a conversion, bits.
        fraction: FracW of a conversion, bits.
        signed: two's complement of a conversion.
    """

    index: int
    operation: str
    latency: int
    integer: int
    fraction: int
    signed: bool

    @property
    def name(self) -> str:
        fixed = f"-{'i' if self.signed else 'ui'}{self.integer}.{self.fraction}"
        return f"{self.operation}{fixed if 'fixed' in self.operation else ''}-latency{self.latency}"


class Lanes(Harness):
    """The simulator of the blocks of one format (a context manager)."""

    def __init__(
        self,
        float_format: str,
        seed: int = 1,
        *,
        count: int = LANES,
        instead: Path | None = None,
    ) -> None:
        """Build the simulator (cached) and reset it; registers start random from `seed`.

        Args:
            float_format: one of FORMATS.
            seed: see above.
            count: how many lanes, from the first; few build fast.
            instead: folder with other sources of the blocks (flow.library).
        """
        exp, man = FORMATS[float_format]
        path = build(
            "jackdaw:lib:float",
            "jd_float_lanes",
            HERE / "harness.cpp",
            parameters={"ExpW": exp, "ManW": man, "Lanes": count},
            sources=[HERE / "jd_float_lanes.sv"],
            instead=instead,
        )
        library = open_library(path)
        library.jd_lane.restype = ctypes.c_uint32
        library.jd_reference.restype = ctypes.c_uint64
        super().__init__(library, seed)
        self.lanes = tuple(self._describe(i) for i in range(count))

    def _describe(self, index: int) -> Lane:
        word = self.library.jd_lane(self.handle, index)
        return Lane(
            index=index,
            operation=OPERATIONS[word >> 24 & 127],
            latency=word >> 16 & 255,
            integer=word >> 8 & 255,
            fraction=word & 255,
            signed=not word >> 31,
        )

    def find(self, operation: str, integer: int = 0, signed: bool = True) -> Lane:
        """The first lane of an operation; conversions to or from integers by their width."""
        for lane in self.lanes:
            if (
                lane.operation == operation
                and ("fixed" not in operation or (lane.integer, lane.fraction) == (integer, 0))
                and ("fixed" not in operation or lane.signed == signed)
            ):
                return lane
        raise ValueError(f"no lane for {operation} of {integer} bits, signed={signed}")

    def check(
        self, lane: Lane, mode: int, count: int = 0, first: int = 0, gap_seed: int = 0
    ) -> Report:
        """Stream generated operands and compare with the host's arithmetic.

        Args:
            lane: the block.
            mode: CROSS (all classes by all classes), EXPONENTS (all pairs), RANDOM (`count` pairs
                from seed `first`) or RANGE (patterns `first` to `count` - 1).
            count, first: see mode.
            gap_seed: not 0: a third of the clocks carries no operand.
        Raises: CheckFailed, also for a result in a wrong clock; not on mismatches.
        """
        report = Report()
        numbers = (ctypes.c_uint64(x) for x in (count, first, gap_seed))
        self.call("jd_check", lane.index, mode, *numbers, ctypes.byref(report))
        return report

    def run(
        self, lane: Lane, a: np.ndarray, b: np.ndarray | None = None, subtract: bool = False
    ) -> np.ndarray:
        """Stream operands one per clock.

        Args:
            lane: the block.
            a, b: [N] unsigned bit patterns (b: zeros if left out).
            subtract: a - b (add only).
        Returns: [N] uint64, the results; for compare bit 0 less, 1 equal, 2 unordered.
        Raises: CheckFailed, also for a result in a wrong clock.
        """
        a = np.ascontiguousarray(a, dtype=np.uint64)
        b = np.zeros_like(a) if b is None else np.ascontiguousarray(b, dtype=np.uint64)
        if a.shape != b.shape or a.ndim != 1:
            raise ValueError(f"operands {a.shape} and {b.shape}: want equal, one dimension")
        out = np.empty_like(a)
        first, second, result = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, out))
        size = ctypes.c_uint64(a.size)
        self.call("jd_run", lane.index, size, first, second, int(subtract), result)
        return out


def expect_clean(report: Report, lane: Lane, what: str) -> None:
    """Raise FloatLaneError unless results were compared and all were equal."""
    if not report.compared or report.mismatches:
        raise FloatLaneError(
            f"{lane.name}, {what}: {report.mismatches} of {report.compared} differ, first "
            f"a={report.a:#x} b={report.b:#x} subtract={report.subtract}: "
            f"got {report.got:#x}, want {report.want:#x}"
        )
