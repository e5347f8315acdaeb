"""One static page of what is measured: tests, coverage, proofs, mutation, synthesis, cycles.

    scripts/report.py [--record] [--bench] [--tests build/report/tests.xml]

The flows leave their results in docs/report/data; `--bench` measures the engines again and
`--tests` takes the regression's JUnit file, both for the record with `--record`. Writes
docs/report/index.html and the tables of docs/results.md.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.base import benchmarks
from flow import BUILD, ROOT, results
from flow.synthesis_table import with_parts

PAGE = ROOT / "docs" / "report" / "index.html"
RESULTS = ROOT / "docs" / "results.md"


@dataclass(frozen=True)
class Column:
    """A column: key of the row, heading, and how the value is shown.

    Long text stands below its row (`below`), so that the table keeps a width that can be read.
    """

    key: str
    label: str
    number: bool = False
    percent: bool = False
    below: bool = False


@dataclass
class Table:
    """Rows under columns; `folded` is the line that opens a table that is shown on demand."""

    columns: list[Column]
    rows: list[dict[str, Any]]
    title: str = ""
    folded: str = ""

    def below(self, row: dict[str, Any]) -> str:
        """What stands below a row."""
        return "; ".join(
            f"{c.label}: {row[c.key]}" for c in self.columns if c.below and row.get(c.key)
        )


@dataclass
class Section:
    """A flow's part of the page, with the cards and the summary's lines that it contributes."""

    name: str
    title: str
    text: str
    meta: str = ""
    tables: list[Table] = field(default_factory=list)
    svg: str = ""
    cards: list[dict[str, str]] = field(default_factory=list)
    summary: list[tuple[str, str, str]] = field(default_factory=list)


def card(value: str, label: str, good: bool) -> dict[str, str]:
    """A figure at the top of the page."""
    return {"value": value, "label": label, "state": "good" if good else "bad"}


def _columns(text: str) -> list[Column]:
    """Columns from `key=Label` for text, separated by `|`.

    A mark after the key says more: `#` number, `%` per cent, `_` text below the row.
    """
    found = []
    for part in text.split("|"):
        key, label = part.strip().split("=", 1)
        mark = key[-1]
        found.append(Column(key.rstrip("#%_"), label, mark in "#%", mark == "%", mark == "_"))
    return found


def tests_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    passed, failed = sum(r["passed"] for r in rows), sum(r["failed"] for r in rows)
    return Section(
        "tests",
        "Tests",
        "The regression: pyuvm environments of blocks and engines against golden models, the "
        "device on the simulator and on the model, training end to end. Random tests print "
        "their seed.",
        tables=[
            Table(
                _columns("area=Area|passed#=Passed|failed#=Failed|skipped#=Skipped|seconds#=CPU s"),
                rows,
            )
        ],
        cards=[
            card(f"{passed:,}", "tests passed" if not failed else f"{failed} failed", not failed)
        ],
        summary=[("Tests", f"{passed:,} passed, {failed} failed", "`make test`")],
    )


def coverage_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    # Sub-folders of rtl/lib have rows of their own beside their sum.
    folders = [r for r in rows if r["folder"].count("/") == 1]
    line = min(r["lines_percent"] for r in folders)
    branch = min(r["branches_percent"] for r in folders)
    hit, planned = (sum(r[k] for r in folders) for k in ("bins_hit", "bins_planned"))
    columns = _columns(
        "folder=Folder|lines_percent%=Lines|lines#=of|branches_percent%=Branches|branches#=of|"
        "toggles_percent%=Toggles|bins_hit#=Bins hit|bins_planned#=of|waived#=Waived"
    )
    return Section(
        "coverage",
        "Coverage",
        "Line and branch coverage of the hand-written RTL, merged over all configurations of the "
        "regression, and the functional bins that the environments planned. What is waived is "
        "listed with its reason in verif/coverage_waivers.yaml.",
        tables=[Table(columns, rows)],
        cards=[
            card(f"{line:.1f} %", "lines, weakest folder", line >= 98),
            card(f"{branch:.1f} %", "branches, weakest folder", branch >= 98),
            card(f"{hit} / {planned}", "functional bins", hit == planned),
        ],
        summary=[
            (
                "Code coverage (weakest folder)",
                f"{line:.1f} % of lines, {branch:.1f} % of branches",
                "`make coverage`",
            ),
            ("Functional coverage", f"{hit} of {planned} bins", "`make coverage`"),
        ],
    )


def prove_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    good = [r for r in rows if r["result"] == "proved" and r["bug_found"]]
    properties = sum(r["properties"] for r in rows)
    columns = _columns(
        "proof=Proof|block=Block|properties#=Properties|method=Method|result=Result|cover=Cover|"
        "planted_bug=Planted bug|bug_found=Found|seconds#=s"
    )
    return Section(
        "proofs",
        "Proofs",
        "Properties proved on the RTL itself with an SMT solver, by induction where the method "
        "says so, else for every run up to the stated number of clocks. Each proof also finds a "
        "planted bug and reaches the situation that it is about.",
        tables=[Table(columns, rows)],
        cards=[card(f"{len(good)} / {len(rows)}", "proofs, each with a bug found",
                    len(good) == len(rows))],
        summary=[("Proofs", f"{len(good)} of {len(rows)} hold ({properties} properties)",
                  "`make prove`")],
    )  # fmt: skip


def mutate_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    weakest = min(rows, key=lambda r: r["score"])
    mutants = sum(r["mutants"] for r in rows)
    good = [r for r in rows if r["score"] >= 95]
    best = f"{min(r['score'] for r in good):.1f} % or more" if good else "none at 95 %"
    for r in rows:
        if r not in good:
            best += f", but {r['score']:.1f} % of {r['mutants']} ({r['level']} of {r['folder']})"
    columns = _columns(
        "folder=Folder|level=Level|mutants#=Mutants|killed#=Killed|timeout#=Timed out|"
        "survived#=Survived|equivalent#=Equivalent|score%=Score|seconds#=s"
    )
    shown = [r | {"folder": f"{r['folder']}, some files"} if r.get("only") else r for r in rows]
    tables = [Table(columns, shown)]
    if data["survivors"]:
        tables.append(
            Table(
                _columns("file=File|line#=Line|level=Level|change=Change|source_=Source"),
                data["survivors"],
                folded=f"{len(data['survivors'])} surviving mutants",
            )
        )
    if data.get("named"):
        tables.append(
            Table(
                _columns("folder=Folder|fault=Fault|test=Noticed first by"),
                data["named"],
                folded=f"{len(data['named'])} faults with a name",
            )
        )
    return Section(
        "mutation",
        "Mutation",
        "Small faults planted in the RTL, in its source and in its netlists, from a random sample, "
        "and some by name (verif/mutation/named.yaml); the score is the share that the block's own "
        "environments notice, without those argued equivalent in verif/mutation/equivalent.yaml.",
        tables=tables,
        cards=[card(f"{weakest['score']:.1f} %", "mutation score, weakest folder",
                    weakest["score"] >= 95)],
        summary=[("Mutation score, source and netlist of each folder",
                  f"{best}; {mutants} mutants in all", "`make mutate`")],
    )  # fmt: skip


def synth_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    timed = [r for r in rows if r.get("path_ns")]
    worst = max(timed, key=lambda r: r["path_ns"])
    period = data["period_ns"]
    over = sum(r["path_ns"] > period for r in timed)
    missing = [{"variant": name} for name in data["missing"]]
    others = sorted({r["commit"] for r in rows if "commit" in r} - {data["commit"]})
    columns = _columns(
        "block=Block|configuration=Configuration|lut#=LUT|ff#=FF|dsp#=DSP|bram36#=BRAM36|"
        "uram#=URAM|levels#=Levels|path_ns#=Path, ns|ecp5_mhz#=ECP5, MHz|path_=Longest path"
    )
    tables = [Table(columns, [dict(row) for row in with_parts(rows)])]
    if missing:
        tables.append(
            Table(_columns("variant=Variant"), missing, folded=f"{len(missing)} not measured yet")
        )
    return Section(
        "synthesis",
        "Synthesis",
        "Mapped with Yosys for UltraScale+; the longest register-to-register path is an estimate "
        "from logic levels (docs/synthesis.md states the measure), and place and route on ECP5 "
        "is the witness where a block fits that device."
        + (f" Some rows are of earlier commits: {', '.join(others)}." if others else ""),
        tables=tables,
        cards=[card(f"{len(timed) - over} / {len(timed)}",
                    f"blocks within {period:g} ns ({1000 / period:g} MHz)", not over)],
        summary=[(f"Blocks within {period:g} ns on UltraScale+, estimated",
                  f"{len(timed) - over} of {len(timed)}; longest {worst['path_ns']:.2f} ns "
                  f"(`{worst['block']}`)", "`make synth`")],
    )  # fmt: skip


def bench_section(data: dict[str, Any]) -> Section:
    rows = []
    for r in data["rows"]:
        published = r["published"]
        rows.append({**r, "published": published["value"] if published else None,
                     "of_ideal": _efficiency(r)})  # fmt: skip
    largest = max(map(_leaves, rows))
    shown = [r for r in rows if _leaves(r) in (0, largest)]
    others = [r for r in rows if r not in shown]
    step = next(
        r
        for r in rows
        if r["figure"] == "cycles_per_gradient_step" and r["config"].endswith("DP=1 B=64")
    )
    columns = _columns(
        "engine=Engine|figure=Figure|config=Configuration|measured#=Measured|ideal#=Ideal|"
        "of_ideal%=Of ideal|published#=Published|unit=Unit"
    )
    return Section(
        "cycles",
        "Cycles",
        "Device clocks from the engines' own counters on the simulated RTL, beside the ideal of "
        "the specification and the published figure.",
        tables=[Table(columns, shown)]
        + ([Table(columns, others, folded="Smaller replay builds")] if others else []),
        svg=_plot([r for r in shown if not r["config"].startswith("K=64")]),
        cards=[card(f"{step['of_ideal']:.1f} %", "of ideal: gradient step, batch 64", True)],
        summary=[("Gradient step, batch 64", f"{step['measured']:,.0f} clocks, ideal "
                  f"{step['ideal']:,.0f}", "`scripts/bench.py learner`"),
                 *_learner_summary(rows),
                 *_a3c_summary(rows),
                 *_replay_summary(rows)],
    )  # fmt: skip


def _by_agent(data: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The runs of each agent and environment."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for r in data["rows"]:
        groups.setdefault((r["agent"], r["environment"]), []).append(r)
    return groups


def agents_section(data: dict[str, Any]) -> Section:
    rows = data["rows"]
    solved = sum(r["solved"] for r in rows)
    columns = _columns(
        "agent=Agent|environment=Environment|seed#=Seed|device=Device|gradient_steps#=Gradient "
        "steps|environment_steps#=Environment steps|mean_return#=Mean return|threshold#=Solved at|"
        "stable_baselines3#=Stable-Baselines3"
    )
    return Section(
        "agents",
        "Agents",
        "Training runs until 100 greedy episodes reached the threshold, and Stable-Baselines3 "
        "with a network of the same hidden layers after as many environment steps, judged by as "
        "many greedy episodes. The device model gives the bits of the RTL.",
        tables=[Table(columns, rows)],
        cards=[card(f"{solved} / {len(rows)}", "training runs solved", solved == len(rows))],
        summary=[("Training runs that solved their task", f"{solved} of {len(rows)} "
                  f"({len(_by_agent(data))} agents and tasks)", "`scripts/curves.py`")],
    )  # fmt: skip


def precision_section(data: dict[str, Any]) -> Section:
    rows = [
        {**r, "saturated": sum((r["saturated"] or {}).values()) if r["saturated"] else None}
        for r in data["rows"]
    ]
    columns = _columns(
        "environment=Environment|precision=Activations|seed#=Seed|device=Device|"
        "gradient_steps#=Gradient steps|mean_return#=Mean return|last_mean#=Mean of the evaluations"
        " before|saturated#=Values saturated|mse_mu#=MSE of actions|mse_q#=MSE of q"
    )
    return Section(
        "precision",
        "Precision of ddpg-qat",
        "Runs of one recipe with activations of 32 bits (fixed), of 32 and then 16 bits (QAT), of "
        "16 bits from the first step (half), and in float32. Mean square errors are those of the "
        "networks that were learned against float64; of q relative to its mean square.",
        tables=[Table(columns, rows)],
        summary=[("Runs of ddpg-qat and of the same recipe in float32",
                  f"{len(rows)}", "`scripts/precision.py`")],
    )  # fmt: skip


def success_section(data: dict[str, Any]) -> Section:
    columns = _columns(
        "environment=Environment|groups#=G|seed#=Seed|device=Device|updates#=Updates|"
        "at_1000#=Success at 1,000|at_2000#=at 2,000|at_3000#=at 3,000|success#=at the end|"
        "likeliest#=likeliest actions|load_sorted_rows#=Deviation of load, weights"
    )
    return Section(
        "success",
        "Success of ic3net",
        "Share of the episodes in which a team succeeded, the mean of 100 updates, by the groups G "
        "of its weights; 1 is dense. Some runs were ended early.",
        tables=[Table(columns, data["rows"])],
        summary=[("Runs of ic3net", f"{len(data['rows'])}", "`scripts/success.py`")],
    )


def agents_table(data: dict[str, Any]) -> list[str]:
    """The summary's table of the training runs."""
    lines = ["| agent | task | threshold | seeds | gradient steps | mean returns | "
             "Stable-Baselines3 |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for (agent, environment), runs in _by_agent(data).items():
        returns = ", ".join(
            f"{r['mean_return']:.0f}{'' if r['solved'] else ' (not solved)'}" for r in runs
        )
        peers = ["-" if p is None else f"{p:.0f}" for p in (r["stable_baselines3"] for r in runs)]
        steps = [f"{r['gradient_steps']:,}".replace(",", " ") for r in runs]
        lines.append(
            f"| `{agent}` | {environment} | {runs[0]['threshold']:g} | "
            f"{', '.join(str(r['seed']) for r in runs)} | "
            f"{', '.join(steps)} | {returns} | {', '.join(peers)} |"
        )
    return lines


def _leaves(row: dict[str, Any]) -> int:
    """Capacity of the replay engine's build, 0 of other engines."""
    found = re.search(r"N=(\d+)", row["config"]) if row["engine"] == "replay" else None
    return int(found[1]) if found else 0


def _replay_summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The summary's line on the replay engine at a million leaves."""
    found = [
        r
        for r in rows
        if r["figure"] == "cycles_per_sample_and_update" and "N=1048576" in r["config"]
    ]
    if not found:
        return []
    figures = ", ".join(f"{r['measured']:.3f} at {r['config'].split()[0]}" for r in found)
    return [("A sample and an update at once, a million leaves", f"{figures} clocks, ideal 1",
             "`scripts/bench.py replay`")]  # fmt: skip


def _efficiency(row: dict[str, Any]) -> float | None:
    if row["ideal"] and row["unit"] == "clocks":
        return 100 * float(row["ideal"]) / float(row["measured"])
    return None


def _plotted(row: dict[str, Any]) -> bool:
    """Of the learner one network on one pipeline: the others would hide it."""
    if row["engine"] == "learner":
        return row["config"].startswith("DQN 4-64-64-2 ") and "DP=1 " in row["config"]
    return bool(row["engine"] == "replay")


def _learner_summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The summary's line on the learner's worst use of its tensor units."""
    found = [
        (float(r["measured"]), r["config"])
        for r in rows
        if r["engine"] == "learner"
        and r["figure"] == "utilization"
        and int(r["config"].rsplit("B=", 1)[1]) >= 64
    ]
    if not found:
        return []
    least, config = min(found)
    return [("Least use of the tensor units, batches of 64 and more",
             f"{100 * least:.1f} % ({config})", "`scripts/bench.py learner`")]  # fmt: skip


def _a3c_summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The summary's line on A3C's inferences per second with 16 agents."""
    found = [r for r in rows if r["unit"] == "IPS" and r["published"] is not None]
    if not found:
        return []
    best = max(found, key=lambda r: float(r["measured"]))
    return [("A3C, 16 agents on the published Atari network, 256 processing elements at 180 MHz",
             f"{best['measured']:,.0f} inferences per second, published {best['published']:,.0f}",
             "`scripts/bench.py a3c`")]  # fmt: skip


def _plot(rows: list[dict[str, Any]]) -> str:
    """Measured, ideal and published clocks as SVG text."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "jackdaw"
    from matplotlib import pyplot

    figures = ("sample_job_cycles", "update_job_cycles", "cycles_per_gradient_step")
    titles = ("Replay: sample job", "Replay: update job", "Learner: gradient step")
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.1))
    for axis, name, title in zip(axes, figures, titles, strict=True):
        chosen = [r for r in rows if r["figure"] == name and _plotted(r)]
        batch = [int(r["config"].rsplit("B=", 1)[1]) for r in chosen]
        styles = (
            ("published", "#b9c3cf", "^"),
            ("ideal", "#2e7d4f", "s"),
            ("measured", "#2b5c8a", "o"),
        )
        for key, colour, marker in styles:
            values = [r[key] for r in chosen]
            if all(v is not None for v in values):
                axis.plot(batch, values, marker=marker, color=colour, label=key)
        axis.set(title=title, xlabel="batch", xscale="log", yscale="log")
        axis.set_xticks(batch, [str(b) for b in batch])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("clocks")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]


SECTIONS = {
    "tests": (tests_section, "make test"),
    "coverage": (coverage_section, "make coverage"),
    "prove": (prove_section, "make prove"),
    "mutate": (mutate_section, "make mutate"),
    "synth": (synth_section, "make synth"),
    "bench": (bench_section, "scripts/bench.py"),
    "agents": (agents_section, "scripts/curves.py"),
    "precision": (precision_section, "scripts/precision.py"),
    "success": (success_section, "scripts/success.py"),
}


def write_tests(path: Path, record: bool) -> None:
    """Put the regression's JUnit file into the results, a row an area of tests."""
    areas: dict[str, dict[str, Any]] = {}
    seconds = 0.0
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        seconds += float(suite.get("time", 0))
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        area = str(case.get("classname")).split(".")[1]
        row = areas.setdefault(
            area, {"area": area, "passed": 0, "failed": 0, "skipped": 0, "seconds": 0.0}
        )
        bad = case.find("failure") is not None or case.find("error") is not None
        outcome = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
        row[outcome] += 1
        row["seconds"] += float(case.get("time", 0))
    rows = [{**r, "seconds": round(r["seconds"], 1)} for r in areas.values()]
    results.write(
        "tests", sorted(rows, key=lambda r: r["area"]), seconds=seconds, seed=1, record=record,
        tools=["cocotb", "pyuvm", "verilator", "pytest"],
    )  # fmt: skip


def write_bench(record: bool) -> None:
    """Measure the engines, for the record with their plots. Raises: CalledProcessError."""
    rows: list[dict[str, Any]] = []
    start = time.monotonic()
    for word, benchmark in benchmarks().items():
        if benchmark.long:  # `scripts/bench.py ... --record` measures them
            continue
        path = BUILD / "report" / f"bench-{word}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        plot = ["--plot"] if record and benchmark.image else []
        subprocess.run(
            [sys.executable, "scripts/bench.py", word, "--json", str(path), *plot],
            cwd=ROOT, check=True, timeout=3600, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        rows += json.loads(path.read_text())
    rows = [r for r in rows if r["figure"] != "simulation_speed"]
    sustained = [r for r in rows if r["figure"] == "cycles_per_sample"]
    largest = sustained[-1]["config"].split(",")[0]  # the peers have all capacities in every build
    for r in (r for r in rows if r["engine"] == "replay"):
        if not (r["figure"].startswith("cycles_per_") and r["config"].startswith(largest)):
            r["peers"] = []
    again = {r["engine"] for r in rows}
    rows += [r for r in results.read("bench")["rows"] if r["engine"] not in again]
    results.write(
        "bench", rows, seconds=time.monotonic() - start, seed=1, record=record,
        tools=["verilator"],
    )  # fmt: skip


def sections() -> list[Section]:
    """The sections whose results are recorded."""
    found = []
    for flow, (make, command) in SECTIONS.items():
        try:
            data = results.read(flow)
        except FileNotFoundError:
            print(f"no results of {flow}: run `{command}`", file=sys.stderr)
            continue
        section = make(data)
        tools = ", ".join(f"{name} {version}" for name, version in data["tools"].items())
        seed = "" if data["seed"] is None else f", seed {data['seed']}"
        section.meta = (
            f"{command}: commit {data['commit']}{seed}, {data['seconds']:,.0f} s. {tools}"
        )
        found.append(section)
    return found


def summarize(name: str, lines: list[str]) -> None:
    """Replace the text between two marks of the page. Raises: ValueError if they are missing."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    new, count = re.subn(
        rf"{begin}.*?{end}",
        lambda _: "\n".join([begin, *lines, end]),
        RESULTS.read_text(),
        flags=re.DOTALL,
    )
    if count != 1:
        raise ValueError(f"{RESULTS.name} has {count} places between {begin} and {end}, want 1")
    RESULTS.write_text(new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", action="store_true", help="measure the engines again")
    parser.add_argument("--tests", type=Path, help="JUnit file of the regression")
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    options = parser.parse_args()
    results.check_record(parser, options.record)
    if options.tests:
        write_tests(options.tests, options.record)
    if options.bench:
        write_bench(options.record)
    found = sections()
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(ROOT / "flow"), autoescape=True)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    page = environment.get_template("report.html.j2").render(
        sections=found, cards=[c for s in found for c in s.cards]
    )
    PAGE.write_text(page)
    summary = [f"| {a} | {b} | {c} |" for s in found for a, b, c in s.summary]
    summarize("report", ["| what | result | command |", "|---|---|---|", *summary])
    if any(s.name == "agents" for s in found):
        summarize("agents", agents_table(results.read("agents")))
    print(f"report: {PAGE.relative_to(ROOT)}, {len(found)} sections")
    return 0


if __name__ == "__main__":
    sys.exit(main())
