#!/usr/bin/env python3
"""Coverage of the regression: `make coverage`.

Merges what the runs left in build/coverage/raw, writes build/coverage/html and
build/coverage/missing.md, and prints a row for each RTL folder. Exit code 1 if an engine, the shell
or the library is below the goal, a functional bin was missed, or a waiver is not needed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flow import ROOT, coverage, results
from flow import coverage_data as data
from flow.manifest import engines

GOAL = 98.0  # per cent of lines and of branches
ENGINES = [manifest.folder for manifest in engines().values()]
GROUPS = ("rtl/lib", *(os.path.relpath(f, ROOT) for f in ENGINES if "rtl" in f.parts), "rtl/shell")
JUMP = re.compile(r"\b(return|break|continue)\b")
WAIVERS = ROOT / "verif/coverage_waivers.yaml"


def table(rows: dict[str, data.Row], sums: dict[str, data.Row]) -> Table:
    """The printed table: each folder, and sums where a group has several."""
    made = Table("folder", "lines %", "branches %", "toggles %", "bins", "waived")
    for group, total in sums.items():
        below = {name: row for name, row in rows.items() if f"{name}/".startswith(f"{group}/")}
        for name, row in below.items():
            made.add_row(name, *_cells(row))
        if len(below) != 1:
            made.add_row(f"{group}, all", *_cells(total), style="bold", end_section=True)
    return made


def _cells(row: data.Row) -> list[str]:
    bins = f"{row.bins[0]}/{row.bins[1]}" if row.bins[1] else "-"
    toggles = f"{data.percent(row.toggles):.1f}" if row.toggles[1] else "-"
    figures = [f"{data.percent(f):.1f} ({f[1]})" for f in (row.lines, row.branches)]
    return [*figures, toggles, bins, str(row.waived)]


def missing(rows: dict[str, data.Row]) -> str:
    """What was missed, as Markdown: the lines and branches of each folder, with their source."""
    text = ["# Missed lines and branches"]
    for name, row in rows.items():
        if not row.missed and not row.missed_bins:
            continue
        text += ["", f"## {name}"]
        for place in row.missed:
            file, line = place.split()[0].split(":")[:2]
            source = (ROOT / file).read_text().splitlines()[int(line) - 1].strip()
            ends = JUMP.search(source) and "cond" not in place
            hint = " (an arm that ends so is never counted)" if ends else ""
            text.append(f"- {place}: `{source}`{hint}")
        text += [f"- bin {name}" for name in row.missed_bins]
    return "\n".join(text) + "\n"


def compact(rows: dict[str, data.Row]) -> list[str]:
    """What was missed, a line a file: `file: 12 14 if 20 else`."""
    files: dict[str, list[str]] = {}
    for row in rows.values():
        for place in row.missed:
            where, kind = place.rsplit(" ", 1)
            file, line = where.split(":")[:2]
            files.setdefault(file, []).append(line if kind == "line" else f"{line} {kind}")
    return [f"{file}: {', '.join(places)}" for file, places in files.items()]


def render(report: Path, folder: Path) -> None:
    """The HTML report. Raises: subprocess.CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--json-add-tracefile", str(report),
         "--html-details", str(folder / "index.html"), "--html-title", "Jackdaw RTL coverage"],
        check=True, cwd=ROOT, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def is_within(name: str, folders: Sequence[str]) -> bool:
    """Whether a folder is one of these or below one."""
    return any(f"{name}/".startswith(f"{folder}/") for folder in folders)


def with_recorded(
    rows: Sequence[Mapping[str, object]], only: Sequence[str]
) -> list[Mapping[str, object]]:
    """Put the rows of some folders among those recorded, each older one with its commit."""
    try:
        old = results.read("coverage")
    except FileNotFoundError:
        return list(rows)
    kept = [
        {"commit": old["commit"], **r} for r in old["rows"] if not is_within(str(r["folder"]), only)
    ]
    return [*kept, *rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, default=coverage.FOLDER / "raw", help="runs' counts")
    parser.add_argument("--out", type=Path, default=coverage.FOLDER, help="folder of the reports")
    parser.add_argument("--seed", type=int, default=1, help="of the runs, for the record")
    parser.add_argument("--since", type=float, help="start of the runs, seconds since 1970")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="FOLDER",
        choices=GROUPS,
        help="judge these; with --record their rows replace those recorded",
    )
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    options = parser.parse_args()
    results.check_record(parser, options.record)
    start = options.since or time.time()
    console = Console()

    files = sorted(options.raw.glob("*.dat"))
    if not files:
        raise SystemExit(f"{options.raw}: no run left coverage there; use `make coverage`")
    points = data.read_points(files, ROOT)
    bins = data.read_bins(sorted(options.raw.glob("*.yaml")))
    exclusions, waivers = data.read_waivers(WAIVERS)
    points, excluded = data.exclude(points, exclusions, ROOT)
    if options.only:
        waivers = [w for w in waivers if is_within(os.path.dirname(w.file), options.only)]
    waived, faults = data.waive(points, waivers, ROOT)
    rows = data.summarize(points, waived, bins, data.unmeasured(ROOT, points, exclusions))
    if options.only:
        rows = {name: row for name, row in rows.items() if is_within(name, options.only)}
    sums = data.group(rows, options.only or GROUPS)
    faults += data.failures(sums, GOAL)

    from gcovr.data_model.version import FORMAT_VERSION

    options.out.mkdir(parents=True, exist_ok=True)
    report = options.out / "gcovr.json"
    report.write_text(json.dumps(data.gcovr_json(points, waived, FORMAT_VERSION)))
    render(report, options.out / "html")
    (options.out / "missing.md").write_text(missing(rows))
    console.print(table(rows, sums))
    for line in compact(rows):
        console.print(line, highlight=False, soft_wrap=True)
    for exclusion in exclusions:
        console.print(f"left out: {exclusion.files}: {exclusion.reason}", soft_wrap=True)
    found = [_result(name, row) for name, row in {**rows, **sums}.items()]
    results.write(
        "coverage",
        with_recorded(found, options.only) if options.only and options.record else found,
        seconds=time.time() - start,
        seed=options.seed,
        tools=["verilator", "cocotb-coverage", "gcovr"],
        record=options.record,
        goal=GOAL,
        runs=len(files),
        points_left_out=excluded,
        waivers=len(waivers),
        passed=not faults,
    )
    console.print(f"{len(files)} runs; {options.out / 'html/index.html'}", soft_wrap=True)
    for fault in faults:
        console.print(f"[red]{fault}", highlight=False, soft_wrap=True)
    return 1 if faults else 0


def _result(name: str, row: data.Row) -> dict[str, object]:
    return {
        "folder": name,
        "lines_percent": round(data.percent(row.lines), 2),
        "lines": row.lines[1],
        "branches_percent": round(data.percent(row.branches), 2),
        "branches": row.branches[1],
        "toggles_percent": round(data.percent(row.toggles), 2) if row.toggles[1] else None,
        "toggles": row.toggles[1],
        "bins_hit": row.bins[0],
        "bins_planned": row.bins[1],
        "waived": row.waived,
    }


if __name__ == "__main__":
    sys.exit(main())
