"""The one scoreboard: what came out against what the golden model says, in order, to the bit.

    self.scoreboard = Scoreboard("scoreboard", self, model=golden)      # build_phase
    self.source.ap.connect(self.scoreboard.inputs)                      # connect_phase
    self.sink.ap.connect(self.scoreboard.outputs)
    ...
    await self.environment.scoreboard.drain(dut.clk_i, 1000)        # end of the test's run_phase

`model(item)` returns the outputs that an input causes, any number of them. A test may also call
`expect(item)` itself. Items are compared by `==`. The first difference raises at once; outputs that
never came, or a test in which nothing was compared, raise in check_phase.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pyuvm import uvm_analysis_export, uvm_component, uvm_scoreboard

from verif.bench import until

Model = Callable[[Any], Iterable[Any]]


class _Export(uvm_analysis_export):
    def __init__(self, name: str, parent: uvm_component, receive: Callable[[Any], None]) -> None:
        super().__init__(name, parent)
        self.receive = receive

    def write(self, item: Any) -> None:
        self.receive(item)


class Scoreboard(uvm_scoreboard):
    """Compares outputs with the model's, in order.

    Args:
        name, parent: as in UVM.
        model: the outputs that one input causes; None if the test calls `expect`.
        least: fewest comparisons with which the test counts.
    """

    def __init__(
        self, name: str, parent: uvm_component, model: Model | None = None, least: int = 1
    ) -> None:
        super().__init__(name, parent)
        self.model = model
        self.least = least
        self.want: deque[Any] = deque()
        self.compared = 0

    def build_phase(self) -> None:
        """Make the exports that monitors connect to."""
        self.inputs = _Export("inputs", self, self.predict)
        self.outputs = _Export("outputs", self, self.observe)

    def predict(self, item: Any) -> None:
        """Give an input to the model and queue the outputs it causes."""
        assert self.model is not None, f"{self.get_full_name()}: an input came, but has no model"
        for want in self.model(item):
            self.expect(want)

    def expect(self, item: Any) -> None:
        """Queue an output that must come."""
        self.want.append(item)

    def observe(self, item: Any) -> None:
        """Compare an output with the oldest expected one."""
        name = self.get_full_name()
        assert self.want, f"{name}: output with no input before it: {item}"
        want = self.want.popleft()
        assert item == want, f"{name}: item {self.compared}: got {item}, want {want}"
        self.compared += 1

    def clear(self) -> None:
        """Forget what is expected: a reset dropped it."""
        self.want.clear()

    async def drain(self, clock: Any, clocks: int) -> None:
        """Wait until all expected outputs came. Raises: TimeoutError."""
        await until(f"{self.get_full_name()}: outputs", clock, clocks, lambda: not self.want)

    def check_phase(self) -> None:
        """Fail if outputs are missing or too little was compared."""
        name = self.get_full_name()
        assert not self.want, f"{name}: {len(self.want)} expected items never came out"
        assert self.compared >= self.least, f"{name}: compared {self.compared}, want {self.least}"
