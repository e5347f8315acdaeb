"""A run's folder: configuration, summary, curve and TensorBoard events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from jackdaw.runtime.coordinator import History, Progress


class Reporter:
    """Shows a live line and writes TensorBoard events.

    Args:
        folder: the run's folder.
        total: gradient steps after which the run gives up.
        initial: gradient steps already done (a resumed run).
    """

    def __init__(self, folder: Path, total: int, initial: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]
        self.bar = tqdm(
            total=total,
            initial=initial,
            unit="step",
            dynamic_ncols=True,
            mininterval=0.2 if sys.stderr.isatty() else 5.0,
            bar_format="{n_fmt}/{total_fmt} gradient steps {bar:10} "
            "{elapsed} (at most {remaining} left) {postfix}",
        )
        self.cycles = 0
        self.seconds = 0.0
        self.evaluation: tuple[float, int] | None = None

    def __call__(self, progress: Progress) -> None:
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
        step = progress.gradient_steps
        add = self.writer.add_scalar
        add("train/mean_return", progress.mean_return, step)  # type: ignore[no-untyped-call]
        add("train/mean_td", progress.mean_td, step)  # type: ignore[no-untyped-call]
        add("train/exploration", progress.exploration, step)  # type: ignore[no-untyped-call]
        add("device/cycles", progress.cycles, step)  # type: ignore[no-untyped-call]
        if progress.evaluation != self.evaluation and progress.evaluation:
            self.evaluation = progress.evaluation
            add("evaluation/mean_return", progress.evaluation[0], step)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """End the line and the event file."""
        self.bar.close()
        self.writer.close()  # type: ignore[no-untyped-call]


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file for people and programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def draw_curve(path: Path, title: str, history: History, threshold: float) -> None:
    """Plot training returns, their running mean and the greedy evaluations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.0), dpi=120)
    if history.episodes:
        steps = np.array([e[1] for e in history.episodes])
        returns = np.array([e[2] for e in history.episodes])
        axes.plot(steps, returns, ".", color="#9ecae1", markersize=4, label="training episode")
        mean = [np.mean(returns[max(0, i - 19) : i + 1]) for i in range(len(returns))]
        axes.plot(steps, mean, color="#08519c", label="mean of 20 episodes")
    for count, marker in ((5, "v"), (20, "s"), (100, "*")):
        points = [(s, m) for s, n, m in history.evaluations if n == count]
        if points:
            axes.plot(
                [p[0] for p in points],
                [p[1] for p in points],
                marker,
                color="#d94801",
                markersize=12 if count == 100 else 5,
                label=f"greedy evaluation, {count} episodes",
            )
    axes.axhline(threshold, color="#666666", linewidth=0.8, linestyle="--")
    axes.set_xlabel("gradient steps")
    axes.set_ylabel("return")
    axes.set_title(title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", fontsize=8)
    axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
