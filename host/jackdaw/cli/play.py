"""Show an episode of a run's policy in a window, or write it as an animated GIF."""

from __future__ import annotations

import argparse
from pathlib import Path

from jackdaw.api import load, record, watch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("run", type=Path,
                        help="the run's folder; or gomoku: a game in the terminal")  # fmt: skip
    parser.add_argument("--env", help="another environment than that of its training")
    parser.add_argument("--seed", type=int, default=0, help="of the episode")
    parser.add_argument("--gif", type=Path, metavar="FILE", help="write it, without a window")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Play and print the return. Raises: ConfigError, CheckpointError."""
    policy = load(options.run)
    if options.gif:
        total = record(policy, options.gif, options.env, seed=options.seed)
        print(options.gif)
    else:
        total = watch(policy, options.env, seed=options.seed)
    print(f"{policy.figure} {total:.2f}")
    return 0
