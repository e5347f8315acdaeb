"""Benchmark of the scale engine: clocks of a vector, with the ideal beside them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks.base import Benchmark, Row, row
from engine_scale.driver import Scale
from flow.configuration import parse
from jackdaw.device import open_device

COUNTS = (16, 1024, 65536)


class ScaleBenchmark(Benchmark):
    """See the module."""

    def rows(self, options: argparse.Namespace) -> Iterator[Row]:
        """See Benchmark."""
        data = {"ClockHz": 250_000_000, "MemSizeLog2": 22, "MemPorts": 1, "engines": {"scale": {}}}
        with open_device("sim", parse("scale", data), memory=options.memory) as device:
            engine = Scale(device)
            for count in COUNTS:
                source, target = device.alloc(4 * count, 64), device.alloc(4 * count, 64)
                device.write(source, np.ones(count, np.float32))
                clocks = engine.run(count, 2.0, 1.0, source, target)
                yield row("scale", "job", f"{count} words, memory {options.memory}", clocks,
                          "clocks", -(-count // 16))  # fmt: skip
