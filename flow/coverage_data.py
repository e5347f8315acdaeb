"""Coverage of all runs together: points, lines, waivers, functional bins, and the summary of them.

A point is a place in the source that Verilator counts, whatever the instance or the parameters: it
is covered if any run of any configuration reached it. Its kind is Verilator's word:

    block, case, elsif, ...              statements, which cover the lines they hold
    if, else, cond_then, cond_else       the two ways of an `if` or of a `?:`: branches
    toggle                               one bit's way up or down
    user                                 a `cover property`
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BRANCHES = ("if", "else", "cond_then", "cond_else")
STUB = re.compile(r"jackdaw\.verif\.(\w+)_stub")


class CoverageError(ValueError):
    """A coverage file or the waiver file is not as wanted."""


@dataclass(frozen=True)
class Point:
    """A place that is counted.

    Attributes:
        file: relative to the root.
        line, column: from 1.
        kind: see above.
        name: of the bit and its way, for toggles; of the property, for users.
        lines: lines of the source that are executed with it.
    """

    file: str
    line: int
    column: int
    kind: str
    name: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Waiver:
    """Points that need not be covered.

    Attributes:
        file: relative to the root.
        text: part of the source line on which the points are, so that edits elsewhere move nothing.
        kinds: of the points.
        reason: why no test can reach them.
        before_reset: registers start at random and may reach them until the reset, so they may be
            covered.
    """

    file: str
    text: str
    kinds: tuple[str, ...]
    reason: str
    before_reset: bool = False


@dataclass(frozen=True)
class Exclusion:
    """Files that are not measured.

    Attributes:
        files: glob pattern relative to the root, for Path.match.
        reason: why.
    """

    files: str
    reason: str


@dataclass
class Row:
    """The figures of a folder, and the points that were missed.

    Attributes:
        lines, branches, toggles, bins: [covered, all]; waived points are in neither.
        waived: points.
        missed: `file:line kind` of lines and branches.
        missed_bins: `point.bin (hits of goal)`.
    """

    lines: list[int] = field(default_factory=lambda: [0, 0])
    branches: list[int] = field(default_factory=lambda: [0, 0])
    toggles: list[int] = field(default_factory=lambda: [0, 0])
    bins: list[int] = field(default_factory=lambda: [0, 0])
    waived: int = 0
    missed: list[str] = field(default_factory=list)
    missed_bins: list[str] = field(default_factory=list)

    def add(self, other: Row) -> None:
        """Add another folder's figures."""
        for name in ("lines", "branches", "toggles", "bins"):
            mine, others = getattr(self, name), getattr(other, name)
            mine[0] += others[0]
            mine[1] += others[1]
        self.waived += other.waived
        self.missed += other.missed
        self.missed_bins += other.missed_bins


def percent(figure: list[int]) -> float:
    """[covered, all] in per cent; 100 where there is nothing to cover."""
    return 100.0 * figure[0] / figure[1] if figure[1] else 100.0


def _numbers(text: str) -> tuple[int, ...]:
    """`31-32,35` as numbers."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def read_points(files: Iterable[Path], root: Path) -> dict[Point, int]:
    """Add up Verilator's coverage files.

    Args:
        files: what the runs left.
        root: the project; points of files outside its `rtl` are left out.
    Returns: counts of the points.
    Raises: CoverageError at a line that Verilator did not write.
    """
    counts: dict[str, int] = defaultdict(int)
    for path in files:
        for text in path.read_text(errors="replace").splitlines():
            if text.startswith("C '"):
                key, _, number = text[3:].rpartition("' ")
                counts[key] += int(number)
            elif not text.startswith("#"):
                raise CoverageError(f"{path}: {text[:80]!r}: want C '<key>' <count>")
    points: dict[Point, int] = defaultdict(int)
    for key, count in counts.items():
        fields = dict(part.partition("\x02")[::2] for part in key.split("\x01") if part)
        file = root / fields["f"]  # relative to the root, or absolute
        if not file.is_relative_to(root / "rtl"):
            continue
        kind = fields["page"].partition("/")[0].removeprefix("v_")
        comment = fields.get("o", "")
        named = kind in ("toggle", "user")
        point = Point(
            file=str(file.relative_to(root)),
            line=int(fields["l"]),
            column=int(fields.get("n", 0)),
            kind=kind if named else comment,
            name=comment if named else "",
            lines=_numbers(fields.get("S", "")),
        )
        points[point] += count
    return dict(points)


def read_bins(files: Iterable[Path]) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """Add up the functional bins of all runs.

    An engine with a stub in place of its units, `jackdaw:verif:NAME_stub`, counts as the engine.

    Args:
        files: `<core>~<run>.yaml`, as flow.coverage.keep names them.
    Returns: (core, point) -> bin -> (hits, goal).
    """
    import yaml

    bins: dict[tuple[str, str], dict[str, tuple[int, int]]] = defaultdict(dict)
    for path in files:
        core = STUB.sub(r"jackdaw.engine.\1", path.name.partition("~")[0])
        for name, point in yaml.load(path.read_text(), yaml.CSafeLoader).items():
            for label, hits in point.get("bins:_hits", {}).items():
                before = bins[core, name].get(label, (0, 0))
                goal = max(before[1], point["at_least"])
                bins[core, name][str(label)] = (before[0] + hits, goal)
    return dict(bins)


def folder_of(core: str) -> str:
    """The RTL folder that a core's functional bins count for: `jackdaw.lib.axi` -> rtl/lib/axi."""
    _, group, name = core.split(".")
    if group == "lib":
        return f"rtl/lib/{name}"
    return f"rtl/{name.partition('_')[0]}" if group == "engine" else "rtl/shell"


def read_waivers(path: Path) -> tuple[list[Exclusion], list[Waiver]]:
    """Read the waiver file. Raises: CoverageError where an entry is not complete."""
    import yaml

    content = yaml.safe_load(path.read_text())
    exclusions, waivers = [], []
    for entry in content.get("files", []):
        if set(entry) != {"files", "reason"} or not entry["reason"]:
            raise CoverageError(f"{path}: {entry}: want files, reason")
        exclusions.append(Exclusion(**entry))
    for entry in content.get("points", []):
        if (
            set(entry) - {"before_reset"} != {"file", "text", "kinds", "reason"}
            or not entry["reason"]
        ):
            raise CoverageError(f"{path}: {entry}: want file, text, kinds, reason")
        waivers.append(Waiver(**{**entry, "kinds": tuple(entry["kinds"])}))
    return exclusions, waivers


def exclude(
    points: Mapping[Point, int], exclusions: Iterable[Exclusion], root: Path
) -> tuple[dict[Point, int], dict[str, int]]:
    """Leave out files.

    Returns: the other points; pattern -> points left out.
    Raises: CoverageError if a pattern matches no file below rtl.
    """
    kept, left = dict(points), {}
    for exclusion in exclusions:
        if not any(path.match(exclusion.files) for path in (root / "rtl").rglob("*.sv")):
            raise CoverageError(f"exclusion {exclusion.files}: no file of rtl matches")
        gone = [point for point in kept if Path(point.file).match(exclusion.files)]
        for point in gone:
            del kept[point]
        left[exclusion.files] = len(gone)
    return kept, left


def waive(
    points: Mapping[Point, int], waivers: Iterable[Waiver], root: Path
) -> tuple[set[Point], list[str]]:
    """The points that are waived, and the waivers that match no point, or one that was covered."""
    by_file: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        by_file[point.file].append(point)
    waived: set[Point] = set()
    faults = []
    for waiver in waivers:
        path = root / waiver.file
        source = path.read_text().splitlines() if path.exists() else []
        matched = {
            point
            for point in by_file[waiver.file]
            if point.kind in waiver.kinds and waiver.text in source[point.line - 1]
        }
        what = f"waiver {waiver.file}: {waiver.text!r} {list(waiver.kinds)}"
        missing = set(waiver.kinds) - {point.kind for point in matched}
        if missing:
            faults.append(f"{what}: no point of kind {', '.join(sorted(missing))} matches")
        covered = sorted(point.line for point in matched if points[point])
        if covered and not waiver.before_reset:
            faults.append(f"{what}: covered at line {covered[0]}")
        waived |= {point for point in matched if not points[point]}
    return waived, faults


def line_counts(
    points: Mapping[Point, int], waived: set[Point]
) -> dict[str, dict[int, tuple[int, bool]]]:
    """Lines of every file: file -> line -> (most executions, waived).

    A line is waived if it was not executed and all points that hold it are waived.
    """
    lines: dict[str, dict[int, tuple[int, bool]]] = defaultdict(dict)
    for point, count in points.items():
        for line in point.lines:
            most, excused = lines[point.file].get(line, (0, True))
            lines[point.file][line] = max(most, count), excused and point in waived
    return {
        file: {line: (most, excused and not most) for line, (most, excused) in sorted(of.items())}
        for file, of in lines.items()
    }


def summarize(
    points: Mapping[Point, int],
    waived: set[Point],
    bins: Mapping[tuple[str, str], Mapping[str, tuple[int, int]]],
    unmeasured: Iterable[str] = (),
) -> dict[str, Row]:
    """One row for each RTL folder.

    Args:
        points: counts, without excluded files.
        waived: from `waive`.
        bins: from `read_bins`.
        unmeasured: files with statements that no run was built from; each counts as a missed line.
    """
    rows: dict[str, Row] = defaultdict(Row)

    def row(file: str) -> Row:
        return rows[str(Path(file).parent)]

    for file, lines in line_counts(points, waived).items():
        for line, (count, excused) in lines.items():
            if excused:
                row(file).waived += 1
                continue
            row(file).lines[0] += bool(count)
            row(file).lines[1] += 1
            if not count:
                row(file).missed.append(f"{file}:{line} line")
    for point in sorted(points, key=lambda p: (p.file, p.line, p.column)):
        count, into = points[point], row(point.file)
        if point in waived:
            into.waived += point.kind in BRANCHES
        elif point.kind in BRANCHES:
            into.branches[0] += bool(count)
            into.branches[1] += 1
            if not count:
                into.missed.append(f"{point.file}:{point.line}:{point.column} {point.kind}")
        elif point.kind == "toggle":
            into.toggles[0] += bool(count)
            into.toggles[1] += 1
        elif point.kind == "user":
            into.bins[0] += bool(count)
            into.bins[1] += 1
            if not count:
                into.missed_bins.append(f"{point.file}:{point.line} {point.name}")
    for file in unmeasured:
        row(file).lines[1] += 1
        row(file).missed.append(f"{file}:1 never built")
    for (core, name), labels in sorted(bins.items()):
        for label, (hits, goal) in labels.items():
            into = rows[folder_of(core)]
            into.bins[0] += hits >= goal
            into.bins[1] += 1
            if hits < goal:
                into.missed_bins.append(f"{name}.{label} ({hits} of {goal})")
    return dict(sorted(rows.items()))


def group(rows: Mapping[str, Row], folders: Iterable[str]) -> dict[str, Row]:
    """Sums over everything below each of the folders."""
    sums = {folder: Row() for folder in folders}
    for name, one in rows.items():
        for folder, total in sums.items():
            if name == folder or name.startswith(folder + "/"):
                total.add(one)
    return sums


def failures(sums: Mapping[str, Row], goal: float) -> list[str]:
    """What is below the goal (per cent of lines and of branches, and every bin)."""
    faults = []
    for folder, total in sums.items():
        if not total.lines[1]:
            faults.append(f"{folder}: nothing was measured")
        for what in ("lines", "branches"):
            reached = percent(getattr(total, what))
            if reached < goal:
                faults.append(f"{folder}: {what} {reached:.2f} %, want {goal:g} %")
        faults += [f"{folder}: bin missed: {name}" for name in total.missed_bins]
    return faults


STATEMENT = re.compile(r"\balways_(ff|comb)\b|\bfunction\b")


def unmeasured(
    root: Path, points: Mapping[Point, int], exclusions: Iterable[Exclusion]
) -> list[str]:
    """RTL files that have statements but no point, as no run was built from them."""
    seen = {point.file for point in points}
    patterns = [exclusion.files for exclusion in exclusions]
    return [
        file
        for path in sorted((root / "rtl").rglob("*.sv"))
        if (file := str(path.relative_to(root))) not in seen
        and not any(Path(file).match(pattern) for pattern in patterns)
        and STATEMENT.search(path.read_text())
    ]


def gcovr_json(
    points: Mapping[Point, int], waived: set[Point], format_version: str
) -> dict[str, Any]:
    """The points as gcovr's JSON, for its HTML report; waived ones are marked as excluded."""
    branches: dict[tuple[str, int], list[Point]] = defaultdict(list)
    for point in points:
        if point.kind in BRANCHES:
            branches[point.file, point.line].append(point)
    files = []
    for file, lines in sorted(line_counts(points, waived).items()):
        numbers = sorted({*lines, *(line for name, line in branches if name == file)})
        files.append(
            {
                "file": file,
                "functions": [],
                "lines": [
                    {
                        "line_number": number,
                        "count": lines.get(number, (0, True))[0],
                        "gcovr/excluded": lines.get(number, (0, False))[1],
                        "branches": [
                            {
                                "branchno": index,
                                "count": points[point],
                                "fallthrough": False,
                                "throw": False,
                                "source_block_id": 0,
                                "gcovr/excluded": point in waived,
                            }
                            for index, point in enumerate(
                                sorted(branches[file, number], key=lambda p: p.column)
                            )
                        ],
                    }
                    for number in numbers
                ],
            }
        )
    return {"gcovr/format_version": format_version, "files": files}
