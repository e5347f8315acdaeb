"""docs/synthesis.md, written from the results of the flow and the text in synthesis.md.in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from flow import ROOT, path_delay
from flow.manifest import engines
from flow.synthesis import ECP5_SEED
from flow.synthesis_table import markdown, slow

PAGE = ROOT / "docs" / "synthesis.md"
TEXT = Path(__file__).with_name("synthesis.md.in")
PARTS = {
    "Library": ("jackdaw:lib:",),
    **{name.capitalize(): (f"jackdaw:engine:{name}",) for name in engines()},
    "Shell and device": ("jackdaw:shell", "jackdaw:jackdaw"),
}
WHOLE = ("jd_top", *(manifest.top for manifest in engines().values()))


def page(result: Mapping[str, Any]) -> str:
    """The page of a result (`flow.results`)."""
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    d = path_delay
    tables = ""
    for title, cores in PARTS.items():
        part = [row for row in rows if str(row["core"]).startswith(cores)]
        tables += f"\n### {title}\n\n{markdown(part)}\n" if part else ""
    late = [f"`{row['block']}` {row['configuration']}" for row in slow(rows)]
    ratios = [
        1000 / row["ecp5_mhz"] / row["path_ns"]
        for row in rows
        if row["ecp5_mhz"] and row["path_ns"]
    ]
    return TEXT.read_text().format(
        pyosys=result["tools"]["pyosys"],
        seed=ECP5_SEED,
        period=d.PERIOD_NS,
        ff=d.CLOCK_TO_Q["FF"],
        lutram=d.CLOCK_TO_Q["LUTRAM"],
        ram=d.CLOCK_TO_Q["RAM"],
        uram=d.CLOCK_TO_Q["URAM"],
        lut=d.LUT,
        net=d.NET,
        fanout=d.NET_FANOUT,
        enter=d.CARRY_ENTER,
        carry=d.CARRY_CARRY,
        leave=d.CARRY_LEAVE,
        inner=d.MULTIPLY_INNER,
        multiply=d.MULTIPLY,
        cascade=d.CASCADE_ADD,
        s_ff=d.SETUP["FF"],
        s_lutram=d.SETUP["LUTRAM"],
        s_ram=d.SETUP["RAM"],
        level=d.LUT + d.NET,
        ratio=median(ratios) if ratios else float("nan"),
        measured=measured(result),
        late=", ".join(late) or "none",
        missing=", ".join(f"`{m}`" for m in result["missing"]) or "nothing",
        tables=tables,
        rows="\n".join(whole(row) for row in rows if row["block"] in WHOLE),
    )


def measured(result: Mapping[str, Any]) -> str:
    """Which commits the rows are of: some may have been measured before the others."""
    count = Counter(row.get("commit", result["commit"]) for row in result["rows"])
    commits = ", ".join(f"{n} of commit {commit}" for commit, n in count.most_common())
    return f"{count.total()} variants, {commits}"


def whole(row: Mapping[str, Any]) -> str:
    """A line of the table beside the publications; memory in 10^6 bytes of 8 bits."""
    megabytes = (row["bram36"] * 36864 + row["uram"] * 294912) / 8e6
    return (
        f"| Jackdaw | `{row['block']}` {row['configuration']} | {row['lut'] / 1000:.1f} K "
        f"| {row['ff'] / 1000:.1f} K | {row['dsp']} | {megabytes:.2f} MB |"
    )


def write_page(result: Mapping[str, Any]) -> Path:
    """Write the page; return its path."""
    PAGE.write_text(page(result))
    return PAGE
