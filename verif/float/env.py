# SPDX-License-Identifier: Apache-2.0
"""pyuvm environment of one floating-point block: golden model, scoreboard, coverage."""

from __future__ import annotations

from collections.abc import Iterable

import cocotb
import numpy as np
from pyuvm import uvm_env

import models.float as golden
from verif.agents.stream import StreamAgent, StreamBus, StreamItem
from verif.agents.timing import Pattern
from verif.bench import parameters
from verif.float.coverage import Format, OperandCoverage, ResultCoverage
from verif.scoreboard import Scoreboard

MUL, ADD, DIV, SQRT = range(4)
DTYPES = {32: (np.uint32, np.float32), 16: (np.uint16, np.float16)}


def form() -> Format:
    """The format that the bench was built with."""
    return Format(parameters()["ExpW"], parameters()["ManW"])


def predict(item: StreamItem) -> Iterable[StreamItem]:
    """The result of one input item, by the golden model."""
    word, real = DTYPES[1 + form().exp + form().man]
    a, b = (np.array([bits], word).view(real) for bits in (item.a, item.b))
    operation = parameters()["Operation"]
    if operation == SQRT:
        result = golden.sqrt(a)
    elif operation == ADD:
        result = golden.sub(a, b) if item.subtract else golden.add(a, b)
    else:
        result = (golden.div if operation == DIV else golden.mul)(a, b)
    return [StreamItem(result=int(result.view(word)[0]))]


class Environment(uvm_env):
    """Source of operands, monitor of results, scoreboard and coverage."""

    pattern: Pattern

    def build_phase(self) -> None:
        """Make the parts."""
        dut, operation = cocotb.top, parameters()["Operation"]
        operands = StreamBus(dut, "in", ("a", "b", "subtract"), ready=False)
        self.source = StreamAgent("source", self, operands, "source", self.pattern)
        results = StreamBus(dut, "out", ("result",), ready=False)
        self.sink = StreamAgent("sink", self, results, "passive")
        self.scoreboard = Scoreboard("scoreboard", self, model=predict)
        self.operands = OperandCoverage(
            "operands", self, form(), subtracts=operation == ADD, unary=operation == SQRT
        )
        self.results = ResultCoverage("results", self, form(), subnormal=operation != SQRT)

    def connect_phase(self) -> None:
        """Connect the monitors."""
        self.source.ap.connect(self.scoreboard.inputs)
        self.source.ap.connect(self.operands.analysis_export)
        self.sink.ap.connect(self.scoreboard.outputs)
        self.sink.ap.connect(self.results.analysis_export)
