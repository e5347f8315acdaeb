"""Runs of many variants, and the tables that show them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

from flow.path_delay import PERIOD_NS
from flow.synthesis import SynthesisFailed, Variant, synthesise

COLUMNS = ("lut", "ff", "dsp", "bram36", "uram", "carry", "levels", "path_ns", "ecp5_mhz")


def run_all(variants: Iterable[Variant], ecp5: bool = True) -> list[dict[str, Any]]:
    """Synthesise each variant, with a line of progress each, and print the table.

    Args:
        variants: what to synthesise.
        ecp5: place and route those that ask for it.
    Returns: their rows.
    Raises: SynthesisFailed after all have run, naming those that failed.
    """
    rows, failures = [], []
    for variant in variants:
        what = f"{variant.top} {variant.name}"
        print(f"synth {what} ...", flush=True)
        try:
            row = synthesise(variant if ecp5 else replace(variant, ecp5=False))
        except SynthesisFailed as error:
            failures.append(str(error))
            print(f"synth {what}: FAILED\n{error}", flush=True)
            continue
        rows.append(row)
        print(f"synth {what}: {summary(row)}", flush=True)
    show(rows)
    if failures:
        raise SynthesisFailed("\n".join(failures))
    return rows


def with_recorded(
    old: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], every: Sequence[Variant]
) -> tuple[list[Mapping[str, Any]], list[Variant]]:
    """Put new rows among those that are recorded.

    Args:
        old: the record.
        rows: what was measured now.
        every: all variants; rows of others, which were renamed or are gone, are dropped.
    Returns: the rows in the order of the variants, each older one with its commit; the variants
        without a row.
    """
    found: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["block"], row["configuration"]): row
        for row in (*({"commit": old["commit"], **row} for row in old["rows"]), *rows)
    }
    known = [(variant, found.get((variant.top, variant.name))) for variant in every]
    return [row for _, row in known if row], [variant for variant, row in known if not row]


def summary(row: Mapping[str, Any]) -> str:
    """One line about a row."""
    cost = ", ".join(f"{row[key]:g} {key}" for key in COLUMNS[:6] if row[key])
    time = f"{row['path_ns']} ns {row['path']}" if row["path_ns"] else "no inner path"
    ecp5 = f", ECP5 {row['ecp5_mhz']} MHz" if row["ecp5_mhz"] else ""
    return f"{cost}; {time}{ecp5}; {row['seconds']:.0f} s"


def with_parts(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows, each with those of its parts after it."""
    return [line for row in rows for line in (row, *row.get("parts", []))]


def slow(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows whose longest path does not fit the clock."""
    return [row for row in rows if row["path_ns"] and row["path_ns"] > PERIOD_NS]


def markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows and their parts as a table of Markdown; a path beyond the clock is bold."""
    lines = [
        "| block | configuration | LUT | FF | DSP | BRAM36 | URAM | CARRY4 | levels | ns | path "
        "| ECP5 MHz |",
        "| --- | --- |" + " ---: |" * 8 + " --- | ---: |",
    ]
    for row in with_parts(rows):
        cells = ["" if row[c] in (None, 0) else f"{row[c]:g}" for c in COLUMNS]
        if row in slow([row]):
            cells[7] = f"**{cells[7]}**"
        cells.insert(8, row["path"].replace("|", "or"))
        lines.append(f"| `{row['block']}` | {row['configuration']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table of resources and paths."""
    table = Table(title="UltraScale+ (Yosys, no place and route) and ECP5 (placed and routed)")
    table.add_column("block")
    table.add_column("configuration")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for row in with_parts(rows):
        cells = ["" if row[c] in (None, 0) else f"{row[c]:g}" for c in COLUMNS]
        late = row["path_ns"] and row["path_ns"] > PERIOD_NS
        style = "red" if late else None
        table.add_row(row["block"], row["configuration"], *cells, style=style)
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 140).print(table)
