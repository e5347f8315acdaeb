"""Callbacks: what a user's code sees of a training, and how it ends one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from jackdaw.runtime.lockstep import Progress

if TYPE_CHECKING:
    from jackdaw.runtime.policy import Policy


class Watched(Protocol):
    """A training as callbacks see it.

    Attributes:
        recipe: all settings.
        seed: of the run.
    """

    recipe: Any
    seed: int

    @property
    def step(self) -> int:
        """Steps so far: gradient steps, or of A3C environment steps."""

    @property
    def progress(self) -> Progress:
        """Counts and means so far."""

    def policy(self) -> Policy:
        """The policy as it is now; it does not change later."""


class Callback:
    """Base of callbacks; each method may be left out.

    `on_step` and `on_evaluation` end the training if they return False. The run is saved then, and
    can be resumed.
    """

    def on_start(self, training: Watched) -> None:
        """Called before the first round."""

    def on_step(self, training: Watched) -> bool | None:
        """Called after each round: a gradient step, or of A3C a step of every agent."""

    def on_evaluation(self, training: Watched, mean: float, episodes: int) -> bool | None:
        """Called after greedy evaluation episodes; A3C has none.

        Args:
            training: what is trained.
            mean: mean undiscounted return.
            episodes: how many.
        """

    def on_end(self, training: Watched, summary: dict[str, Any]) -> None:
        """Called at the end, with what summary.json says."""


Step = Callable[[Watched], bool | None]
Given = Callback | Step | Sequence[Callback | Step] | None
"""What users give: a callback, a function in place of `on_step`, several of them, or None."""


class _Function(Callback):
    """A function as a callback."""

    def __init__(self, function: Step) -> None:
        self.function = function

    def on_step(self, training: Watched) -> bool | None:
        """See Callback."""
        return self.function(training)


class Callbacks:
    """The callbacks of a run.

    Attributes:
        stopped: whether one of them asked for the end.
    """

    def __init__(self, given: Given = None) -> None:
        several = given if isinstance(given, Sequence) else [] if given is None else [given]
        self._all = [one if isinstance(one, Callback) else _Function(one) for one in several]
        self._evaluation: tuple[float, int] | None = None
        self.stopped = False

    def start(self, training: Watched) -> None:
        """Tell all that it begins."""
        self._evaluation = training.progress.evaluation
        for one in self._all:
            one.on_start(training)

    def step(self, training: Watched) -> None:
        """Tell all of a round, and of the evaluation in it."""
        if not self._all:
            return
        answers = [one.on_step(training) for one in self._all]
        evaluation = training.progress.evaluation
        if evaluation is not self._evaluation and evaluation is not None:
            self._evaluation = evaluation
            answers += [one.on_evaluation(training, *evaluation) for one in self._all]
        self.stopped |= any(answer is False for answer in answers)

    def end(self, training: Watched, summary: dict[str, Any]) -> None:
        """Tell all that it ended."""
        for one in self._all:
            one.on_end(training, summary)
