"""Play greedy episodes with a run's policy, without a device."""

from __future__ import annotations

import argparse
from pathlib import Path

from jackdaw.api import evaluate, load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument("--env", help="another environment than that of its training")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="episode i begins with seed + i")
    parser.add_argument("--random", action="store_true", help="act as in training, with noise")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Play and print. Raises: ConfigError, CheckpointError."""
    policy = load(options.run)
    mean, deviation = evaluate(
        policy, options.env, episodes=options.episodes, seed=options.seed,
        deterministic=not options.random,
    )  # fmt: skip
    name = options.env or policy.environment
    print(f"{name}: mean {policy.figure} {mean:.2f}, standard deviation {deviation:.2f}, "
          f"{options.episodes} episodes")  # fmt: skip
    return 0
