"""Write the policy of a run as a file for other programs: .onnx, .pt or .npz."""

from __future__ import annotations

import argparse
from pathlib import Path

from jackdaw.api import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument("file", type=Path, help="its name says the format")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Write it. Raises: ConfigError, CheckpointError."""
    print(load(options.run).export(options.file))
    return 0
