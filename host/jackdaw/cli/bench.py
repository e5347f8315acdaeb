"""Measure an engine in device clocks: `jackdaw bench replay`; in a clone of the repository."""

from __future__ import annotations

import argparse
import sys

from flow import INSTALLED, ROOT
from jackdaw.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line: that of scripts/bench.py."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="ENGINE ...",
                        help="an engine, and what scripts/bench.py takes")  # fmt: skip


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Measure. Raises: ConfigError outside a clone."""
    if INSTALLED:
        raise ConfigError("the benchmarks are not part of the package: run this in a clone")
    sys.path[:0] = [str(ROOT / "scripts")]
    import bench

    return int(bench.main(options.words))
