"""What a run shows: a live line and its curve."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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
    def means(self) -> list[tuple[int, float]]:
        """Step and mean return of each whole window of episodes."""
        means = running_means(self.returns, self.window)[self.window - 1 :]
        return list(zip(self.steps[self.window - 1 :], map(float, means), strict=True))

    @property
    def newest(self) -> float:
        """Mean of the newest returns; 0 before the first."""
        values = self.returns[-self.window :]
        return float(np.mean(values)) if len(values) else 0.0


class Line:
    """The live line of a run.

    Args:
        total: steps after which the run gives up.
        initial: steps already done (a resumed run).
        unit: of the steps.
    """

    def __init__(self, total: int, initial: int = 0, unit: str = "gradient steps") -> None:
        self.bar = tqdm(
            total=total,
            initial=initial,
            unit="step",
            dynamic_ncols=True,
            mininterval=0.2 if sys.stderr.isatty() else 5.0,
            bar_format=f"{{n_fmt}}/{{total_fmt}} {unit} "
            "{bar:10} {elapsed} (at most {remaining} left) {postfix}",
        )

    def show(self, progress: Progress, step: int | None = None) -> None:
        """Bring the line up to date; steps are gradient steps, or else are given."""
        rate = progress.cycles / progress.device_seconds if progress.device_seconds else 0.0
        text = (
            f"episode {progress.episodes} return {progress.mean_return:.4g} "
            f"|TD| {progress.mean_td:.3f} {progress.cycles / 1e6:.2f} Mcycles"
        )
        if rate:
            text += f" at {rate / 1e3:.0f} kcycles/s"
        if progress.evaluation:
            text += f", evaluation {progress.evaluation[0]:.0f} ({progress.evaluation[1]})"
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update((progress.gradient_steps if step is None else step) - self.bar.n)

    def close(self) -> None:
        """End the line."""
        self.bar.close()


def running_means(values: Sequence[float], window: int) -> np.ndarray:
    """Mean of the last `window` values, [n] float64; of fewer at the beginning."""
    sums = np.cumsum([0.0, *values])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def draw_seeds(path: Path, curves: Mapping[str, Curve], unit: str, title: str) -> None:
    """Plot the running means of several runs of one training, by name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
    for name, curve in curves.items():
        axes.plot(*(zip(*curve.means, strict=True) if curve.means else ([], [])), label=name)
    goal, window = next(iter(curves.values())).goal, next(iter(curves.values())).window
    if goal is not None:
        axes.axhline(goal, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xlabel=unit, ylabel=f"mean return of {window} episodes", title=title)
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


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
