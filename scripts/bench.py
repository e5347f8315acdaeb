#!/usr/bin/env python3
"""Measure an engine in device clocks, with the ideal and the published figure beside each.

    scripts/bench.py replay [--plot [FILE]]     # a sweep over K and capacity; figure 8 of CF'22
    scripts/bench.py learner [--large] [--plot [FILE]]  # DQN, DDPG on 1, 2 and 4 pipelines
    scripts/bench.py a3c [--setups golden,layers,A] [--agents 16] [--record] [--plot [FILE]]
    scripts/bench.py mcts [--levels 8,32] [--children 18] [--networks butterflies] [--groups 1,32]
    scripts/bench.py mcts-system [--plot [FILE]]        # searches with workers
    scripts/bench.py mcts-dnn [--figures batch,scheme] [--run FOLDER] [--plot [FILE]]
    scripts/bench.py replay|learner|mcts --config NAME [--set NAME=VALUE]    # one build
        [--memory D] [--json FILE]

Any engine whose manifest names a benchmark is there. Every row has the same keys: engine, figure,
config, measured, unit, ideal, published, peers. The peers are software, measured in the same run
on this machine (`--no-peers` leaves them out): trees and buffers beside the replay engine, gradient
steps beside the learner; name, value, unit, config.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.base import Row, benchmarks, table
from flow import results
from jackdaw.device.timing import MEMORIES


def record(rows: list[Row]) -> list[Row]:
    """Put rows into the recorded results, in their places; returns all of these engines.

    A row that stays names the commit that it was measured at.

    Raises: NotRecorded.
    """
    recorded = results.read("bench")
    new = {(r["engine"], r["figure"], r["config"]): r for r in rows}
    kept = [
        new.pop((r["engine"], r["figure"], r["config"]), {"commit": recorded["commit"], **r})
        for r in recorded["rows"]
    ]
    every = [*kept, *new.values()]
    results.write("bench", every, seconds=recorded["seconds"], seed=recorded["seed"],
                  record=True, tools=["verilator"])  # fmt: skip
    return [r for r in every if r["engine"] in {r["engine"] for r in rows}]


def main(argv: list[str] | None = None) -> int:
    found = benchmarks()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    engines = parser.add_subparsers(dest="engine", required=True, metavar="ENGINE",
                                    help=", ".join(found))  # fmt: skip
    for name, benchmark in found.items():
        one = engines.add_parser(name, help=f"measure {name}")
        one.add_argument("--memory", default="D", choices=MEMORIES, help="memory preset")
        one.add_argument("--json", type=Path, help="also write the rows here")
        one.add_argument("--record", action="store_true", help="put the rows into the recorded")
        if benchmark.image:
            one.add_argument("--plot", type=Path, nargs="?", const=benchmark.image, metavar="FILE",
                             help="draw them (default docs/images/...)")  # fmt: skip
        benchmark.add_options(one)
    options = parser.parse_args(argv)
    benchmark = found[options.engine]
    try:
        benchmark.check(options)
    except ValueError as error:
        parser.error(str(error))
    for name in ("json", "plot"):
        path = getattr(options, name, None)
        if path and (path.is_dir() or not path.absolute().parent.is_dir()):
            parser.error(f"--{name}: got {path}, want a file in a folder that is there")
    results.check_record(parser, options.record)
    rows = list(benchmark.rows(options))
    print(f"memory preset {options.memory}, latency {MEMORIES[options.memory].latency} clocks")
    print(table(rows))
    print(benchmark.more(options, rows), end="")
    if benchmark.image and options.plot:
        benchmark.draw(options.plot, options, rows)
        print(options.plot)
    if options.record:
        rows = record(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
