"""What the benchmarks of all engines share: rows, and the frame of a benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flow import ROOT
from flow.configuration import numbers
from flow.manifest import engines, load_object
from jackdaw.device import Config, load_config

Row = dict[str, Any]
IMAGES = ROOT / "docs" / "images"


def row(
    engine: str,
    figure: str,
    config: str,
    measured: float,
    unit: str,
    ideal: float | None = None,
    published: tuple[float, str] | None = None,
    peers: list[dict[str, Any]] | None = None,
) -> Row:
    """One result; `published` is the value and its source, `peers` are rows of peers.Figure."""
    return {
        "engine": engine,
        "figure": figure,
        "config": config,
        "measured": measured,
        "unit": unit,
        "ideal": ideal,
        "published": published and {"value": published[0], "source": published[1]},
        "peers": peers or [],
    }


class Benchmark:
    """An engine's benchmark; `bench` of its manifest names the class.

    Attributes:
        image: file of the plot, or None without one.
        long: takes hours, so the report keeps what is recorded.
    """

    image: Path | None = None
    long = False

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the engine's own options."""

    def check(self, options: argparse.Namespace) -> None:
        """Refuse what cannot be measured. Raises: ValueError saying what was got and wanted."""

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """Measure; `options.memory` names the memory preset. Every benchmark has its own."""
        raise NotImplementedError

    def more(self, options: argparse.Namespace, rows: list[Row]) -> str:
        """What is shown after the rows' table."""
        return ""

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """Plot rows. A benchmark with an image has its own."""
        raise NotImplementedError


def add_build_options(parser: argparse.ArgumentParser, peers: bool = True) -> None:
    """The options that name one build, see `builds`, and `--no-peers` where there are peers."""
    parser.add_argument("--config", help="configuration in configs/ (demo, if --set is there)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change a parameter of the configuration")  # fmt: skip
    if peers:
        parser.add_argument("--no-peers", dest="peers", action="store_false",
                            help="no software peers")  # fmt: skip


def builds(options: argparse.Namespace) -> list[Config]:
    """The build that the options name, if they name one. Raises: ConfigError."""
    if options.config or options.set:
        return [load_config(options.config or "demo").changed(numbers(options.set))]
    return []


def benchmarks() -> dict[str, Benchmark]:
    """The engines' benchmarks, by the words that `scripts/bench.py` takes."""
    return {
        word: load_object(path)()
        for manifest in engines().values()
        for word, path in manifest.bench.items()
    }


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| figure | configuration | measured | ideal | published | unit |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        published = f"{r['published']['value']:g}" if r["published"] else ""
        ideal = "" if r["ideal"] is None else f"{r['ideal']:g}"
        cells = (r["figure"], r["config"], f"{r['measured']:g}", ideal, published, r["unit"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
