"""Play episodes with tree search: jackdaw search --env CartPole-v1 --device model."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jackdaw.errors import ConfigError
from jackdaw.ranges import whole
from jackdaw.search import Connect4Env, TreeSearch
from jackdaw.search.master import SCHEDULES
from jackdaw.search.tree_search import AUTO, DEVICES, PARALLEL, WU

GAMES = {"connect4": Connect4Env}
SHOWN = 10  # steps between two lines of progress on a terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--env", default="CartPole-v1",
                        help=f"a Gymnasium id, or {', '.join(GAMES)} (%(default)s)")  # fmt: skip
    parser.add_argument("--device", default="cpu", choices=DEVICES, help="where the tree lies")
    parser.add_argument("--config", help="the engine's build; default the smallest that does")
    parser.add_argument("--simulations", type=int, default=256, help="of a step (%(default)s)")
    parser.add_argument("--workers", type=int, default=8, help="at a time (%(default)s)")
    parser.add_argument("--parallel", default="serial", choices=PARALLEL, help="of the workers")
    parser.add_argument("--processes", type=int, help="default one for each processor")
    parser.add_argument("--schedule", default="async", choices=SCHEDULES,
                        help="fixed repeats to the bit")  # fmt: skip
    parser.add_argument("--virtual-loss", type=_loss, default=AUTO, help="a number, auto or wu")
    parser.add_argument("--horizon", type=int, default=100, help="of roll-outs (%(default)s)")
    parser.add_argument("--floats", action="store_true", help="float64 on the CPU")
    parser.add_argument("--episodes", type=int, default=1, help="to play (%(default)s)")
    parser.add_argument("--steps", type=int, help="of an episode, at most")
    parser.add_argument("--seed", type=int, default=0, help="of episodes and simulations")
    parser.add_argument("--picture", type=Path, metavar="FILE",
                        help="draw the last search's tree (on the CPU)")  # fmt: skip
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep all requests (.npz)")


def _loss(text: str) -> float | str:
    if text in (AUTO, WU):
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}, want a number, auto or wu") from None


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Play and print returns and statistics. Raises: ConfigError, SearchError, DeviceError."""
    make: Any = GAMES.get(options.env, options.env)
    whole("--episodes", options.episodes, 1)
    if options.steps is not None:
        whole("--steps", options.steps, 1)
    if options.picture and options.device != "cpu":
        raise ConfigError(f"--picture: got --device {options.device}, want cpu")
    with TreeSearch(
        make, options.simulations, options.workers, options.device, options.parallel,
        processes=options.processes, config=options.config, schedule=options.schedule,
        virtual_loss=options.virtual_loss, horizon=options.horizon, exact=not options.floats,
        seed=options.seed,
    ) as search:  # fmt: skip
        if options.record:
            search.record(options.record)
        returns = []
        for episode in range(options.episodes):
            found = search.play(
                1, options.seed + episode, partial(_progress, episode), options.steps
            )
            returns += found
            print(f"\repisode {episode + 1}: return {found[0]:g}".ljust(60))
        print(f"{'mean return':<14}{np.mean(returns):g}")
        print(search.statistics)
        if options.picture:
            search.picture(options.picture)
            print(options.picture)
    if options.record:
        print(options.record)
    return 0


def _progress(episode: int, _: int, steps: int, total: float) -> None:
    """One line in place, on a terminal."""
    if sys.stdout.isatty() and steps % SHOWN == 0:
        print(f"\repisode {episode + 1}: {steps} steps, return {total:g}", end="", flush=True)
