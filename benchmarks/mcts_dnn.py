"""DNN-guided search on this machine: batches, schemes, training, strength (docs/gomoku.md).

Times are of this machine's clock. `emulated` is an evaluator that takes the time of an accelerator,
0.5 ms a batch and 20 us a position, one batch at a time, for machines without one.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.base import IMAGES, Benchmark, Row, row
from jackdaw.environments.gomoku import Gomoku
from jackdaw.ranges import whole
from jackdaw.runtime.run_folder import CHECKPOINT
from jackdaw.search.alphazero import AlphaZero
from jackdaw.search.calibrate import (
    PREFER_LOCAL,
    Plan,
    Timing,
    find_batch,
    profile,
    shared_batch,
    time_playouts,
    whole_rounds,
)
from jackdaw.search.dnn_tree import FORMS, MOST_PLAYOUTS, DnnTree, TreeSettings
from jackdaw.search.evaluator import Emulated, Evaluator, Table, Torch
from jackdaw.search.network import Network
from jackdaw.search.players import match, uct_player

SOURCE = "thesis, 5.2.3: 64 cores and an RTX A6000"
BATCHES = {16: 8, 32: 20, 64: 20}  # published choice by N
WORKERS = (1, 2, 4, 8, 16, 32, 64)
NOISE = 0.1  # schemes that differ by less are equal
BASE_S, ITEM_S = 0.5e-3, 20e-6
PARTS = ("batch", "scheme", "throughput", "loss", "virtual", "strength")
TURNS = 7
LOSS_WORKERS, LOSS_GAMES = (1, 4, 16), 60


def emulated() -> Emulated:
    """The accelerator that is not there."""
    return Emulated(BASE_S, ITEM_S)


def _in_turns(
    runs: dict[str, TreeSettings], evaluator: Evaluator, playouts: int
) -> dict[str, float]:
    """Least seconds of a playout of each; they take turns, so that other programs meet both."""
    taken = dict.fromkeys(runs, math.inf)
    for _ in range(TURNS):
        for name, settings in runs.items():
            taken[name] = min(taken[name], time_playouts(settings, evaluator, playouts, 1).median)
    return taken


class DnnBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "gomoku_bench.png"
    long = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        parser.add_argument("--figures", default=",".join(PARTS), metavar="LIST",
                            help="some of %(default)s")  # fmt: skip
        parser.add_argument("--run", type=Path, help="a trained run, for its strength")
        parser.add_argument("--matches", type=int, default=100, help="games of a match")
        parser.add_argument("--playouts", type=int, default=200, help="of a test run")

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        options.figures = options.figures.split(",")
        if wrong := sorted(set(options.figures) - set(PARTS)):
            raise ValueError(f"--figures: got {', '.join(wrong)}, want some of {', '.join(PARTS)}")
        whole("--playouts", options.playouts, 1, MOST_PLAYOUTS)
        whole("--matches", options.matches, 1)
        if options.run is not None and not (options.run / CHECKPOINT).is_file():
            raise ValueError(f"--run: got {options.run}, want a run's folder, with {CHECKPOINT}")
        if "strength" in options.figures and options.run is None:
            options.figures.remove("strength")
            print("no --run: its strength is left out")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        self.curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for name in options.figures:
            for found in getattr(self, f"_{name}")(options):
                print(found["figure"], found["config"], found["measured"], flush=True)
                yield found

    def _keep(self, panel: str, line: str, x: float, y: float) -> None:
        self.curves.setdefault(panel, {}).setdefault(line, []).append((x, y))

    def _batch(self, options: argparse.Namespace) -> Iterator[Row]:
        """Figure 5.9: every batch, and what Algorithm 4 finds."""
        for n, published in BATCHES.items():
            settings = TreeSettings(15, 5, workers=n, batch=1)
            known: dict[int, Timing] = {}
            for batch in range(1, n + 1):
                one, count = replace(settings, batch=batch), whole_rounds(options.playouts, n)
                known[batch] = time_playouts(one, emulated(), count)
                self._keep("batch", f"N = {n}", batch, 1e6 * known[batch].median)
            found, asked = find_batch(known.__getitem__, n)
            least = min(known, key=lambda b: known[b].median)
            config = f"N={n} 15x15 emulated"
            yield row("mcts", "dnn_batch", config, found, "positions", least,
                      (published, SOURCE))  # fmt: skip
            yield row("mcts", "dnn_batch_time", f"{config}, B={found}",
                      round(1e6 * known[found].median, 1), "us a playout",
                      round(1e6 * known[least].median, 1))  # fmt: skip
            yield row("mcts", "dnn_batch_runs", config, len(asked), "test runs",
                      2 * math.ceil(math.log2(n)) + 4)  # fmt: skip

    def _scheme(self, options: argparse.Namespace) -> Iterator[Row]:
        """Predicted and measured times of both schemes, and which is chosen."""
        for kind in ("emulated", "processor"):
            right = 0
            for n in WORKERS:
                evaluator = self._evaluator(kind, n)
                settings = TreeSettings(15, 5, workers=n, repeatable=False)
                whole = shared_batch(n, evaluator)
                found = profile(settings, evaluator, options.playouts)
                batches = range(1, n + 1) if whole > 1 else [1]
                batch = min(batches, key=lambda b: found.predict("local", n, b))
                runs = {"local": replace(settings, batch=batch),
                        "shared": replace(settings, scheme="shared", batch=whole)}  # fmt: skip
                predicted = {s: found.predict(s, n, t.batch) for s, t in runs.items()}
                taken = _in_turns(runs, evaluator, options.playouts)
                chosen = "local"
                if predicted["local"] > PREFER_LOCAL * predicted["shared"]:
                    chosen = "shared"
                worse = max(taken.values()) / min(taken.values())
                good = worse < 1 + NOISE or taken[chosen] == min(taken.values())
                right += good
                for scheme in runs:
                    config = f"N={n} B={runs[scheme].batch} 15x15 {kind}, {scheme}"
                    self._keep(f"scheme, {kind}", scheme, n, 1e6 * taken[scheme])
                    self._keep(f"scheme, {kind}", f"{scheme}, predicted", n,
                               1e6 * predicted[scheme])  # fmt: skip
                    yield row("mcts", "dnn_playout", config, round(1e6 * taken[scheme], 1),
                              "us a playout", round(1e6 * predicted[scheme], 1))  # fmt: skip
                yield row("mcts", "dnn_ratio", f"N={n} 15x15 {kind}, {chosen} is chosen",
                          round(worse, 2), "times", None, (3.0, SOURCE))  # fmt: skip
            yield row("mcts", "dnn_choice", f"15x15 {kind}, right within {NOISE:.0%}", right,
                      "points", len(WORKERS))  # fmt: skip

    def _evaluator(self, kind: str, n: int) -> Evaluator:
        return emulated() if kind == "emulated" else Torch(Network(15), streams=n)

    def _throughput(self, options: argparse.Namespace) -> Iterator[Row]:
        """Figure 5.10: positions per second of search and steps."""
        for kind in ("emulated", "processor"):
            for n in WORKERS:
                batch = max(1, n // 2) if kind == "emulated" else n
                evaluator = emulated() if kind == "emulated" else None
                with AlphaZero(
                    Gomoku(9, 5), plan=Plan("local", batch), workers=n, evaluator=evaluator,
                    evaluate_every=0,
                ) as agent:  # fmt: skip
                    agent.train(games=2)
                    config = f"N={n} B={batch} 9x9 {kind}"
                    self._keep("throughput", kind, n, agent.throughput)
                    self._keep("throughput", f"{kind}, bound by steps", n,
                               agent.positions / agent.learn_s)  # fmt: skip
                    yield row("mcts", "dnn_throughput", config, round(agent.throughput, 2),
                              "positions/s", round(agent.positions / agent.learn_s, 2))  # fmt: skip

    def _loss(self, options: argparse.Namespace) -> Iterator[Row]:
        """Figure 5.11: the loss over time."""
        for n in LOSS_WORKERS:
            with AlphaZero(
                Gomoku(9, 5), plan=Plan("local", n), workers=n, evaluate_every=0
            ) as agent:
                agent.train(games=LOSS_GAMES)
                for line in agent.curve:
                    self._keep("loss", f"N = {n}", line[1], line[4])
                last = float(np.mean([line[4] for line in agent.curve[-LOSS_GAMES // 3 :]]))
                config = f"N={n} 9x9 processor, {LOSS_GAMES} games"
                yield row("mcts", "dnn_loss", config, round(last, 3), "loss")
                yield row("mcts", "dnn_loss_time", config, round(agent.seconds, 1), "s")

    def _virtual(self, options: argparse.Namespace) -> Iterator[Row]:
        """How far virtual losses spread the visits of the root, against one worker."""

        def shares(**settings: object) -> np.ndarray:
            with DnnTree(TreeSettings(6, 4, c=1.5, **settings), Table()) as tree:  # type: ignore[arg-type]
                visits = tree.search(400).visits
            return np.asarray(visits / visits.sum())

        alone = shares()
        for form in FORMS:
            for loss in (0.0, 0.1, 1.0):
                found = shares(workers=16, batch=16, virtual_form=form, virtual_loss=loss)
                moved = 50 * float(np.abs(found - alone).sum())
                yield row("mcts", "dnn_virtual_loss", f"N=16 B=16 {form} {loss:g}, 400 playouts",
                          round(moved, 1), "% of the visits moved", 0)  # fmt: skip

    def _strength(self, options: argparse.Namespace) -> Iterator[Row]:
        """A trained network against the untrained one, plain search, and random moves."""
        from jackdaw.search.alphazero import load

        with load(options.run) as agent:
            for strength in agent.strengths:
                for name, rate in strength.against.items():
                    self._keep("strength", name, strength.games, 100 * rate)
            rng = np.random.default_rng(1)
            r = agent.recipe
            with agent.player() as trained:
                for other in (agent.untrained(), uct_player(agent.game, r.uct_playouts)):
                    with other:
                        score = match(trained, other, agent.game, options.matches, rng)
                    config = (f"{r.size}x{r.size}, {r.win} in a row, {agent.games} games of "
                              f"training, {score.games} games against {other.name}")  # fmt: skip
                    yield row("mcts", "dnn_strength", config, round(100 * score.rate, 1),
                              "% of the points", 100)  # fmt: skip

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """See Benchmark."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        labels = {
            "batch": ("batch B", "us a playout"),
            "throughput": ("workers N", "positions/s"),
            "loss": ("s", "loss"),
            "strength": ("games of training", "% of the points"),
        }
        count = len(self.curves)
        high = -(-count // 3)
        figure, panels = pyplot.subplots(high, 3, figsize=(13, 3.6 * high), layout="constrained",
                                         squeeze=False)  # fmt: skip
        for axes in panels.flat[count:]:
            axes.axis("off")
        for axes, (panel, lines) in zip(panels.flat, self.curves.items(), strict=False):
            for name, points in lines.items():
                axes.plot(*zip(*points, strict=True), "--" if "," in name else "-",
                          marker="." if len(points) < 20 else "", label=name)  # fmt: skip
            x, y = labels.get(panel, ("workers N", "us a playout"))
            axes.set(title=panel, xlabel=x, ylabel=y)
            if x == "workers N":
                axes.set_xscale("log", base=2)
            if y == "us a playout":
                axes.set_yscale("log")
            axes.grid(alpha=0.25)
            axes.legend(fontsize=7)
        figure.savefig(path, dpi=100)
        pyplot.close(figure)
