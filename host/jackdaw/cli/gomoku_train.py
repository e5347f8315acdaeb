"""Train a network for Gomoku by playing against itself; a run's folder as of every training."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from jackdaw.agents.recipes import settings_from
from jackdaw.cli import INTERRUPTED
from jackdaw.environments.gomoku import usual_win
from jackdaw.errors import ConfigError
from jackdaw.runtime.session import free_folder
from jackdaw.search.alphazero import AlphaZero
from jackdaw.search.dnn_tree import SCHEMES
from jackdaw.search.recipe import AUTO, recipe_for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--size", type=int, default=6, help="rows and columns")
    parser.add_argument("--win", type=int, help="stones in a row; default 4 up to 8 x 8, else 5")
    parser.add_argument("--minutes", type=float, help="of training; default 10, without --games")
    parser.add_argument("--games", type=int, help="of training in all")
    parser.add_argument("--scheme", choices=(AUTO, *SCHEMES), default=AUTO,
                        help="of the search; auto: the faster one here, measured")  # fmt: skip
    parser.add_argument("--workers", type=int, default=8, help="playouts at the same time")
    parser.add_argument("--device", default="cpu", help="of PyTorch: cpu or cuda")
    parser.add_argument("--seed", type=int, default=1, help="the run is a function of it")
    parser.add_argument("--out", type=Path, help="the run's folder; default a new one below runs")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change a setting")  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Train. Returns: the exit code. Raises: ConfigError, CheckpointError."""
    if options.resume and options.out is None:
        raise ConfigError("--resume: want --out, the folder of the run")
    win = usual_win(options.size) if options.win is None else options.win
    asked = {"scheme": options.scheme, "workers": options.workers, "device": options.device}
    base = recipe_for(options.size, win, **asked)
    changes = settings_from(base, options.set)
    recipe = recipe_for(options.size, win, **{**asked, **changes})
    out = options.out or free_folder("gomoku", f"{options.size}x{options.size}", options.seed)
    minutes = options.minutes
    if minutes is None:
        minutes = 10.0 if options.games is None else float("inf")
    print(f"Jackdaw: Gomoku {recipe.size} x {recipe.size}, {recipe.win} in a row, "
          f"{recipe.playouts} playouts a move, seed {options.seed}", flush=True)  # fmt: skip
    began = time.perf_counter()
    with AlphaZero(recipe=recipe, seed=options.seed) as agent:
        summary = agent.train(
            options.games, minutes, out, resume=options.resume, overwrite=options.overwrite
        )
    points = summary.pop("points")
    width = max(map(len, summary))
    print("\n".join(f"  {name:{width}}  {value}" for name, value in summary.items()))
    for name, rate in points.items():
        print(f"  {100 * rate:.0f} % of the points against: {name}")
    print(f"{out / 'curve.png'}  (tensorboard --logdir {out}; jackdaw play gomoku {out})")
    if summary["interrupted"]:
        print(
            f"interrupted after {time.perf_counter() - began:.0f} s and saved; to go on: the same "
            f"command with --out {out} --resume",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0
