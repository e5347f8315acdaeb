# SPDX-License-Identifier: Apache-2.0
"""pyuvm tests of the floating-point blocks; each parameter set is one simulation."""

from __future__ import annotations

from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import ClockCycles
from pyuvm import uvm_test

from verif.agents.stream import StreamItem
from verif.agents.timing import Pattern, always, random_pauses
from verif.bench import parameters, reset, rng, start
from verif.coverage import CoverageMissed
from verif.float.coverage import CLASSES
from verif.float.env import Environment, form, predict
from verif.float.sequences import Classes, Random

ROUNDS = 8


class FloatTest(uvm_test):
    """Base: every class against every class, then random operands."""

    kinds: tuple[str, ...] = CLASSES

    def pattern(self) -> Pattern:
        """Idle clocks between operands."""
        return always()

    def build_phase(self) -> None:
        """Make the environment."""
        self.dut: Any = cocotb.top
        self.environment = Environment("environment", self)
        self.environment.pattern = self.pattern()

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await start(self.dut)
        await self.body()
        await self.environment.scoreboard.drain(self.dut.clk_i, parameters()["Latency"] + 20)
        self.drop_objection()

    async def body(self) -> None:
        """Send the sequences."""
        sequencer = self.environment.source.sequencer
        await Classes(form(), ROUNDS, self.kinds).start(sequencer)
        await Random(form(), 1000).start(sequencer)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class EveryClock(FloatTest):
    """An operand in every clock."""


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class WithGaps(FloatTest):
    """Random gaps between the operands; a reset in the middle drops what is in the pipe."""

    def pattern(self) -> Pattern:
        """Random idle clocks."""
        return random_pauses(rng("gaps"))

    async def body(self) -> None:
        """Send, reset while operands are in the pipe, send again."""
        await super().body()
        await reset(self.dut)
        self.environment.scoreboard.clear()
        assert not self.dut.out_valid_o.value, "a result came out of reset"
        await ClockCycles(self.dut.clk_i, parameters()["Latency"] + 1)
        await super().body()


@pyuvm.test(timeout_time=1, timeout_unit="ms", expect_error=CoverageMissed)
class MissedClass(FloatTest):
    """Without signaling NaNs the coverage goal must fail the test."""

    kinds = CLASSES[:-1]

    async def body(self) -> None:
        """Send every class but one."""
        await Classes(form(), ROUNDS, self.kinds).start(self.environment.source.sequencer)


@pyuvm.test(timeout_time=1, timeout_unit="ms", expect_error=AssertionError)
class WrongResult(FloatTest):
    """A result that differs from the model in its last bit must fail the test."""

    def start_of_simulation_phase(self) -> None:
        """Make the model wrong for one class of results."""
        self.environment.scoreboard.model = lambda item: [
            StreamItem(result=word.result ^ 1) for word in predict(item)
        ]
