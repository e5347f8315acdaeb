"""Mutation score: how many small faults in the RTL do the block's own environments notice?

    python scripts/mutate.py lib --count 200 --seed 1

A random sample of source-level mutants of a folder (flow/mutants.py) and of netlist mutants of its
benches (flow/netlist.py) is built into one copy of the sources; each mutant is then selected at
run time and the tests run, the likeliest to notice first, until one fails. A survivor is a weak
test, or equivalent to the original: those are argued in verif/mutation/equivalent.yaml. Faults that
verif/mutation/named.yaml lists are planted beside the sample.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from flow import BUILD, ROOT, mutants, results
from flow.campaign import Campaign, Outcome
from flow.manifest import engines
from flow.netlist import Netlist, spread

FOLDERS: dict[str, Any] = yaml.safe_load((ROOT / "verif/mutation/folders.yaml").read_text())
EQUIVALENT = ROOT / "verif/mutation/equivalent.yaml"
NAMED = ROOT / "verif/mutation/named.yaml"
GOAL = 0.95
console = Console()


class UnusedJudgement(ValueError):
    """verif/mutation/equivalent.yaml names a mutant that does not exist."""


class UnknownPlace(ValueError):
    """verif/mutation/named.yaml names a text that its file does not have once."""


def equivalents() -> dict[str, str]:
    """Key of a mutant (`file|line's text|change`) -> why no test can notice it."""
    entries = yaml.safe_load(EQUIVALENT.read_text()) or []
    return {
        mutants.key(e["file"], e["source"], e["change"], e.get("nth", 0)): e["reason"]
        for e in entries
    }


def is_argued(mutant: mutants.Mutant, argued: Collection[str]) -> bool:
    """Whether a judgement is of this mutant; one without a bit that decides is of all bits."""
    change = mutant.change.partition(" by [")[0]
    return mutant.key in argued or replace(mutant, change=change).key in argued


def check_judgements(folder: str, every: Sequence[mutants.Mutant]) -> None:
    """Refuse judgements of source-level mutants that are not there any more.

    Raises: UnusedJudgement.
    """
    known = {m.key for m in every}
    for key in equivalents():
        file, source, *_ = key.split("|")
        of_netlist = re.match(r"jd_\w+ \{.*\}: ", source)
        inside = any(file.startswith(f"{top}/") for top in FOLDERS[folder]["sources"])
        if inside and not of_netlist and key not in known:
            raise UnusedJudgement(f"{EQUIVALENT.name} argues a mutant that does not exist: {key}")


def fits(file: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns fits a file."""
    return any(fnmatch.fnmatch(file, pattern) for pattern in patterns)


def sources(folder: str) -> list[Path]:
    """The hand-written modules of a folder; packages hold constants and are left out."""
    return [
        p
        for top in FOLDERS[folder]["sources"]
        for p in sorted((ROOT / top).rglob("*.sv"))
        if "generated" not in p.parts and not p.name.endswith("_pkg.sv")
    ]


def candidates(folder: str) -> list[mutants.Mutant]:
    """Every source-level mutant of a folder."""
    constant = mutants.constant_functions(sorted((ROOT / "rtl").rglob("*.sv")))
    found = []
    for path in sources(folder):
        name = str(path.relative_to(ROOT))
        found += mutants.find(path, name, constant, [ROOT / "rtl/lib/common"])
    return found


def drawn(
    every: Sequence[mutants.Mutant], count: int, seed: int, least: int = 0, of: Sequence[str] = ()
) -> list[mutants.Mutant]:
    """A random sample, with at least so many mutants of each file that fits a pattern."""
    chosen = mutants.sample(every, count, seed)
    for file in {m.file for m in every if fits(m.file, of)}:
        chosen += mutants.sample([m for m in every if m.file == file], least, seed)
    keys = {m.key for m in chosen}
    return [m for m in every if m.key in keys]


def named(folder: str) -> list[tuple[list[mutants.Mutant], list[str]]]:
    """The faults of a folder that have a name, each as all its changes, with its tests.

    Raises: UnknownPlace.
    """
    found = []
    for fault in (yaml.safe_load(NAMED.read_text()) or {}).get(folder, []):
        data = (ROOT / fault["file"]).read_bytes()
        changes = []
        for change in fault["changes"]:
            # The text stands once, or is the first one that follows `after`, which does.
            once, text = change.get("after", change["text"]), change["text"].encode()
            if data.count(once.encode()) != 1:
                raise UnknownPlace(
                    f"{NAMED.name}: {fault['words']}: {fault['file']} has {once!r} "
                    f"{data.count(once.encode())} times, want once"
                )
            start = data.find(text, data.index(once.encode()))
            if start < 0:
                raise UnknownPlace(
                    f"{NAMED.name}: {fault['words']}: no {change['text']!r} after {once!r}"
                )
            line = data.count(b"\n", 0, start) + 1
            source = data.splitlines()[line - 1].decode().strip()
            changes.append(
                mutants.Mutant(
                    fault["file"], line, start, start + len(text), fault["words"],
                    change["code"], source,
                )
            )  # fmt: skip
        found.append((changes, fault.get("tests") or tests_of(folder, fault["file"])))
    return found


def instrumented(faults: Sequence[Sequence[mutants.Mutant]]) -> dict[str, str]:
    """The files of the faults, each with its changes as choices."""
    numbered = [(n, m) for n, changes in enumerate(faults, 1) for m in changes]
    return {
        file: mutants.instrument(
            (ROOT / file).read_text(), [(n, m) for n, m in numbered if m.file == file]
        )
        for file in dict.fromkeys(m.file for _, m in numbered)
    }


def overlay(texts: dict[str, str]) -> Path:
    """Write files that take the place of the RTL's; the folder's name is their content."""
    texts = {"jd_mutant_pkg.sv": mutants.PACKAGE, "jd_mutant.cpp": mutants.SELECTED, **texts}
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:12]
    target = BUILD / "mutation" / f"overlay-{digest}"
    for file, text in texts.items():
        path = target / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return target


def tests_of(folder: str, file: str) -> list[str]:
    """The pytest files that verify a file. Raises: KeyError if no pattern fits."""
    for manifest in engines().values():
        for pattern, tests in manifest.verifies.items():
            if fnmatch.fnmatch(file, pattern):
                return [os.path.relpath(manifest.folder / test, ROOT) for test in tests]
    for pattern, tests in FOLDERS[folder]["tests"].items():
        if fnmatch.fnmatch(file, pattern):
            return list(tests)
    raise KeyError(f"verif/mutation/folders.yaml has no tests for {file}")


class Book:
    """Outcomes by mutant, kept on disk: a run that was interrupted goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Outcome] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                key = entry.pop("key")
                self.outcomes[key] = Outcome(**entry)

    def add(self, key: str, outcome: Outcome) -> None:
        self.outcomes[key] = outcome
        with self.path.open("a") as handle:
            handle.write(json.dumps({"key": key, **outcome.__dict__}) + "\n")


def campaign(
    folder: str,
    level: str,
    chosen: Sequence[mutants.Mutant],
    target: Path,
    tests: dict[str, list[str]],
    seed: int,
    jobs: int,
    fresh: bool,
    tier: str,
) -> dict[str, Outcome]:
    """Run the mutants of one overlay; outcomes by key of those that were not killed before."""
    work = BUILD / "mutation" / f"{folder}-{level}-{seed}-{tier}"
    work.mkdir(parents=True, exist_ok=True)
    if fresh:
        (work / "book.jsonl").unlink(missing_ok=True)
    book = Book(work / "book.jsonl")
    argued = equivalents()
    todo = [
        (number, m)
        for number, m in enumerate(chosen, 1)
        if not is_argued(m, argued)
        and (m.key not in book.outcomes or book.outcomes[m.key].status == "survived")
    ]
    if todo:
        runner = Campaign(
            [t for _, m in todo for t in tests[m.key]], target, work, seed, jobs, tier
        )
        console.print(f"{folder} {level}: {len(todo)} mutants to run, building and baseline ...")
        start = time.monotonic()
        runner.baseline()
        console.print(f"baseline: {len(runner.known)} tests, {time.monotonic() - start:.0f} s")
        by_number = dict(todo)
        ended = 0

        def report(number: int, outcome: Outcome) -> None:
            nonlocal ended
            ended += 1
            m = by_number[number]
            book.add(m.key, outcome)
            colour = "red" if outcome.status == "survived" else "green"
            console.print(
                f"[{colour}]{ended:4}/{len(todo)} {outcome.status:9}[/] {outcome.seconds:5.1f} s  "
                f"{m.file}:{m.line}",
                end="  ",
            )
            text = m.change if outcome.status == "survived" else outcome.test
            console.print(text, markup=False, highlight=False)

        # One file after another, so that what was learnt of its tests serves the next mutant.
        runner.run([(n, m.file, tests[m.key]) for n, m in todo], report)
        shutil.rmtree(runner.runs, ignore_errors=True)
    return {m.key: book.outcomes[m.key] for m in chosen if m.key in book.outcomes}


def summary(
    folder: str,
    level: str,
    chosen: Sequence[mutants.Mutant],
    outcomes: dict[str, Outcome],
    seconds: float,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The folder's row and its survivors."""
    argued = equivalents()
    equivalent = [m for m in chosen if is_argued(m, argued)]
    rest = [m for m in chosen if not is_argued(m, argued)]
    count = {
        s: sum(outcomes[m.key].status == s for m in rest) for s in ("killed", "timeout", "survived")
    }
    row = {
        "folder": f"rtl/{folder}",
        "level": level,
        "mutants": len(chosen),
        **count,
        "equivalent": len(equivalent),
        "score": round(100 * (1 - count["survived"] / max(1, len(rest))), 1),
        "seconds": round(seconds),
    }
    survivors = [
        {"file": m.file, "line": m.line, "source": m.source, "change": m.change, "level": level}
        for m in rest
        if outcomes[m.key].status == "survived"
    ]
    return row, survivors


def show(rows: Sequence[dict[str, Any]], survivors: Sequence[dict[str, Any]]) -> None:
    """Print table and survivors."""
    table = Table(title="Mutation score")
    for key in rows[0]:
        table.add_column(key, justify="left" if key in ("folder", "level") else "right")
    for row in rows:
        table.add_row(*(str(v) for v in row.values()))
    console.print(table)
    for s in survivors:
        console.print(
            f"survived {s['file']}:{s['line']} ({s['level']}): {s['change']}", markup=False
        )


def with_recorded(
    rows: list[dict[str, Any]], survivors: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Add what is recorded of the folders that did not run, with the commits that they ran at."""
    try:
        old = results.read("mutate")
    except FileNotFoundError:
        return rows, survivors
    ran = {(r["folder"], r.get("level")) for r in rows}
    rows = rows + [
        {"commit": old["commit"], **r}
        for r in old["rows"]
        if (r["folder"], r.get("level")) not in ran
    ]
    left = [
        s
        for s in old["survivors"]
        if not any(s["file"].startswith(f) and s.get("level") == level for f, level in ran)
    ]
    order = [f"rtl/{f}" for f in FOLDERS]
    return sorted(rows, key=lambda r: order.index(r["folder"])), survivors + left


def recorded_names(ran: Collection[str]) -> list[dict[str, str]]:
    """What is recorded of faults with names, but for those of some folders."""
    try:
        old = results.read("mutate")
    except FileNotFoundError:
        return []
    return [n for n in old.get("named", []) if n["folder"] not in ran]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", default=list(FOLDERS), help=" ".join(FOLDERS))
    parser.add_argument("--count", type=int, default=200, help="source-level mutants a folder")
    parser.add_argument("--netlist", type=int, default=50, help="netlist mutants a folder")
    parser.add_argument("--no-named", action="store_true", help="without the faults with a name")
    parser.add_argument("--seed", type=int, default=1, help="of the samples and of the tests")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--fresh", action="store_true", help="forget earlier outcomes")
    parser.add_argument("--record", action="store_true", help="write docs/report/data")
    parser.add_argument("--tier", choices=("test", "regress"), default="regress", help="tests")
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of files to mutate")
    parser.add_argument("--least", type=int, default=0, help="and so many of each file of --of")
    parser.add_argument("--of", nargs="+", default=["*"], help="patterns of files for --least")
    parser.add_argument("--list", action="store_true", help="print the sample and stop")
    arguments = parser.parse_args()
    for name in ("count", "least"):
        if getattr(arguments, name) < 0:
            parser.error(f"--{name}: got {getattr(arguments, name)}, want 0 or more")
    for folder in arguments.folders:
        if folder not in FOLDERS:
            parser.error(f"unknown folder {folder}, want {', '.join(FOLDERS)}")
    results.check_record(parser, arguments.record)
    rows, survivors = [], []
    noticed: list[dict[str, str]] = []
    for folder in arguments.folders:
        every = candidates(folder)
        check_judgements(folder, every)
        every = [m for m in every if fits(m.file, arguments.only)]
        chosen = drawn(every, arguments.count, arguments.seed, arguments.least, arguments.of)
        if arguments.list:
            for m in chosen:
                console.print(f"{m.file}:{m.line}: {m.change}", markup=False)
            continue
        start = time.monotonic()
        levels: list[Any] = []
        by_name = [] if arguments.no_named else named(folder)
        for level, faults, total in (
            ("source", [([m], tests_of(folder, m.file)) for m in chosen], len(every)),
            ("named", [f for f in by_name if fits(f[0][0].file, arguments.only)], 0),
        ):
            if faults:
                firsts = [changes[0] for changes, _ in faults]
                tests = {changes[0].key: answering for changes, answering in faults}
                texts = instrumented([changes for changes, _ in faults])
                levels.append((level, firsts, texts, tests, total))
        if arguments.netlist:
            specs = [
                Netlist(**n) for n in FOLDERS[folder]["netlists"] if fits(n["file"], arguments.only)
            ]
            # A folder with few places in its source gets the rest in its netlists.
            share = arguments.netlist + max(0, arguments.count - len(chosen))
            levels.append(("netlist", *spread(specs, share, arguments.seed), 0))
        for level, picked, texts, tests_by_key, total in levels:
            outcomes = campaign(
                folder, level, picked, overlay(texts), tests_by_key, arguments.seed,
                arguments.jobs, arguments.fresh, arguments.tier,
            )  # fmt: skip
            row, left = summary(folder, level, picked, outcomes, time.monotonic() - start)
            if arguments.only != ["*"]:
                row["only"] = arguments.only
            rows.append({**row, "candidates": total} if total else row)
            survivors += left
            if level == "named":
                noticed += [
                    {"folder": f"rtl/{folder}", "fault": m.change, "file": m.file,
                     "test": outcomes[m.key].test}
                    for m in picked
                ]  # fmt: skip
            start = time.monotonic()
    if not rows:
        return 0
    show(rows, survivors)
    below = any(r["score"] < 100 * GOAL for r in rows)
    if arguments.record and len(arguments.folders) < len(FOLDERS):
        rows, survivors = with_recorded(rows, survivors)
    results.write(
        "mutate", rows, seconds=sum(r["seconds"] for r in rows), seed=arguments.seed,
        tools=["pyslang", "pyosys", "verilator"], record=arguments.record, survivors=survivors,
        named=noticed + recorded_names({n["folder"] for n in noticed}),
    )  # fmt: skip
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
