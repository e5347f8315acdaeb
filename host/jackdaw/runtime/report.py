"""What a run shows: a live line and its curve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from jackdaw.runtime.lockstep import EVALUATION_EPISODES, SCREENS, Progress

MARKERS = ("v", "s", "*")  # of evaluations, by their number of episodes


@dataclass(frozen=True)
class Curve:
    """The returns of a run.

    Attributes:
        unit: of the steps.
        window: episodes of the running mean.
        goal: the return that counts as learned, if there is one.
        steps, returns: of every training episode that ended.
        evaluations: (step, episodes, mean return) of each greedy evaluation.
        title: above the panel.
    """

    unit: str
    window: int
    goal: float | None
    steps: Sequence[int]
    returns: Sequence[float]
    evaluations: Sequence[tuple[int, int, float]] = ()
    title: str = ""

    @property
    def newest(self) -> float:
        """Mean of the newest returns; 0 before the first."""
        values = self.returns[-self.window :]
        return float(np.mean(values)) if len(values) else 0.0


class Line:
    """The live line of a lockstep run.

    Args:
        total: gradient steps after which the run gives up.
        initial: gradient steps already done (a resumed run).
    """

    def __init__(self, total: int, initial: int = 0) -> None:
        self.bar = tqdm(
            total=total,
            initial=initial,
            unit="step",
            dynamic_ncols=True,
            mininterval=0.2 if sys.stderr.isatty() else 5.0,
            bar_format="{n_fmt}/{total_fmt} gradient steps {bar:10} "
            "{elapsed} (at most {remaining} left) {postfix}",
        )

    def show(self, progress: Progress) -> None:
        """Bring the line up to date."""
        rate = progress.cycles / progress.device_seconds if progress.device_seconds else 0.0
        text = (
            f"episode {progress.episodes} return {progress.mean_return:.0f} "
            f"|TD| {progress.mean_td:.3f} {progress.cycles / 1e6:.2f} Mcycles"
        )
        if rate:
            text += f" at {rate / 1e3:.0f} kcycles/s"
        if progress.evaluation:
            text += f", evaluation {progress.evaluation[0]:.0f} ({progress.evaluation[1]})"
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update(progress.gradient_steps - self.bar.n)

    def close(self) -> None:
        """End the line."""
        self.bar.close()


def running_means(values: Sequence[float], window: int) -> np.ndarray:
    """Mean of the last `window` values, [n] float64; of fewer at the beginning."""
    sums = np.cumsum([0.0, *values])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def draw_curves(path: Path, curves: Sequence[Curve], title: str = "") -> None:
    """Plot returns, running means and greedy evaluations, a panel each run."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    width = 7.2 if len(curves) == 1 else 4.8 * len(curves)
    figure, panels = plt.subplots(1, len(curves), figsize=(width, 4.0), dpi=120, squeeze=False)
    for axes, curve in zip(panels[0], curves, strict=True):
        if len(curve.returns):
            axes.plot(
                curve.steps, curve.returns, ".", color="#9ecae1", markersize=4,
                label="training episode",
            )  # fmt: skip
            means = running_means(curve.returns, curve.window)
            label = f"mean of {curve.window} episodes"
            axes.plot(curve.steps, means, color="#08519c", label=label)
        for count, marker in zip((*SCREENS, EVALUATION_EPISODES), MARKERS, strict=True):
            points = [(step, mean) for step, n, mean in curve.evaluations if n == count]
            if points:
                axes.plot(
                    [p[0] for p in points],
                    [p[1] for p in points],
                    marker,
                    color="#d94801",
                    markersize=12 if count == EVALUATION_EPISODES else 5,
                    label=f"greedy evaluation, {count} episodes",
                )
        if curve.goal is not None:
            axes.axhline(curve.goal, color="#666666", linewidth=0.8, linestyle="--")
        axes.set(xlabel=curve.unit, ylabel="return", title=curve.title)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", fontsize=8)
        axes.grid(alpha=0.25)
    if title:
        figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
