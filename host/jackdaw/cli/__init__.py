"""The command `jackdaw`: each word of it is a module here."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

import jackdaw
from jackdaw.extras import missing

WORDS = {
    "train": "train an agent: jackdaw train dqn CartPole-v1",
    "eval": "play episodes with a run's policy",
    "play": "show an episode, or write it as a GIF",
    "search": "play episodes with tree search: jackdaw search --env CartPole-v1",
    "export": "write a run's policy as .onnx, .pt or .npz",
    "bench": "measure an engine in device clocks",
    "devices": "list the devices and the tools that are there",
    "new-engine": "begin an engine of your own",
}
GAMES = {("train", "gomoku"), ("play", "gomoku")}  # with a module of their own
INTERRUPTED = 130  # exit code after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns: the exit code: 0; 1 if a training did not reach its threshold; 2 after an error that
        the user can mend; 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="jackdaw", description="Deep reinforcement learning on simulated hardware."
    )
    parser.add_argument("--version", action="version", version=f"jackdaw {jackdaw.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for word, text in WORDS.items():
        commands.add_parser(word, help=text, add_help=False)
    chosen = parser.parse_args(words[:1]).command
    return call(chosen, words[1:])


def call(word: str, argv: Sequence[str], name: str | None = None) -> int:
    """Run a word of the command.

    Args:
        word: one of WORDS.
        argv: its arguments.
        name: shown in its help and errors; default `jackdaw WORD`.
    Returns: the exit code.
    """
    name = name or f"jackdaw {word}"
    module_name = word.replace("-", "_")
    if argv and (word, argv[0]) in GAMES:
        name, module_name, argv = f"{name} {argv[0]}", f"{argv[0]}_{word}", argv[1:]
    try:
        module = importlib.import_module(f"jackdaw.cli.{module_name}")
        about = (module.__doc__ or "").partition("\n")[0]
        parser = argparse.ArgumentParser(prog=name, description=about)
        module.add_arguments(parser)
        return int(module.run(parser.parse_args(argv), parser))
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if not expected(error):
            raise
        text = missing(error) if isinstance(error, ImportError) else str(error)
        print(f"{name}: {text}", file=sys.stderr)
        return 2


def expected(error: Exception) -> bool:
    """Whether an error is the user's to mend: its message is shown without a traceback."""
    if isinstance(error, ImportError):
        return True
    from flow.cache import CacheError
    from flow.simulator import BuildFailed
    from flow.toolchain import ToolMissing
    from jackdaw.errors import EXPECTED

    return isinstance(error, (*EXPECTED, BuildFailed, CacheError, ToolMissing))
