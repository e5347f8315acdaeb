"""The coverage report on small data: what must fail does."""

from __future__ import annotations

from pathlib import Path

import pytest

from flow import coverage_data as data

SOURCE = """\
module jd_small (input logic clk_i, input logic a_i, output logic b_o);
  always_ff @(posedge clk_i) begin
    if (a_i) b_o <= 1'b1;
    else     b_o <= 1'b0;
  end
endmodule
"""
FILE = "rtl/lib/small/jd_small.sv"
BLOCK, IF, ELSE = (
    (2, 3, "line", "block", "2"),
    (3, 5, "branch", "if", "3"),
    (3, 6, "branch", "else", "4"),
)
WAIVER = {"file": FILE, "text": "if (a_i)", "reason": "tied off"}


def _run(root: Path, name: str, counts: dict[tuple[int, int, str, str, str], int]) -> Path:
    """Leave a Verilator coverage file of jd_small."""
    source = root / FILE
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(SOURCE)
    text = "# SystemC::Coverage-3\n"
    for (line, column, page, comment, lines), count in counts.items():
        fields = {
            "f": source, "l": line, "n": column, "page": f"v_{page}/jd_small__W{name}",
            "o": comment, "S": lines, "h": f"{name}.u_small",
        }  # fmt: skip
        key = "".join(f"\x01{k}\x02{v}" for k, v in fields.items())
        text += f"C '{key}' {count}\n"
    path = root / f"{name}.dat"
    path.write_text(text)
    return path


def _bins(
    root: Path, run: str, hits: dict[str, int], goal: int = 1, core: str = "jackdaw.lib.small"
) -> Path:
    path = root / f"{core}~{run}.yaml"
    labels = "".join(f"    {label}: {count}\n" for label, count in hits.items())
    path.write_text(f"small:\n  size: 1\nsmall.point:\n  at_least: {goal}\n  bins:_hits:\n{labels}")
    return path


def _failures(points: dict[data.Point, int], waived: set[data.Point], *bins: Path) -> list[str]:
    rows = data.summarize(points, waived, data.read_bins(bins))
    return data.failures(data.group(rows, ["rtl/lib"]), 98.0)


def _waive(root: Path, points: dict[data.Point, int], **entry: object) -> set[data.Point]:
    import yaml

    path = root / "waivers.yaml"
    path.write_text(yaml.safe_dump({"points": [WAIVER | entry]}))
    _, waivers = data.read_waivers(path)
    waived, faults = data.waive(points, waivers, root)
    if faults:
        raise data.CoverageError("\n".join(faults))
    return waived


def test_full_coverage_passes(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 4, ELSE: 5})], tmp_path)
    assert _failures(points, set(), _bins(tmp_path, "a", {"low": 1, "high": 2})) == []


def test_runs_and_configurations_add_up(tmp_path: Path) -> None:
    """Two builds of one module, each of which reaches one way of the branch."""
    runs = [
        _run(tmp_path, "a", {BLOCK: 9, IF: 9, ELSE: 0}),
        _run(tmp_path, "b", {BLOCK: 5, IF: 0, ELSE: 5}),
    ]
    points = data.read_points(runs, tmp_path)
    assert sorted(points.values()) == [5, 9, 14]
    bins = [_bins(tmp_path, "a", {"low": 1, "high": 0}, 2), _bins(tmp_path, "b", {"low": 1}, 2)]
    assert data.read_bins(bins)["jackdaw.lib.small", "small.point"]["low"] == (2, 2)
    assert _failures(points, set()) == []


def test_stub_counts_as_its_engine(tmp_path: Path) -> None:
    """Bins that the engine's own runs miss may be hit with a stub in place of its units."""
    whole = _bins(tmp_path, "a", {"low": 1, "high": 0}, core="jackdaw.engine.small")
    stub = _bins(tmp_path, "b", {"low": 0, "high": 1}, core="jackdaw.verif.small_stub")
    hits = data.read_bins([whole, stub])
    assert hits == {("jackdaw.engine.small", "small.point"): {"low": (1, 1), "high": (1, 1)}}
    assert data.folder_of("jackdaw.engine.small") == "rtl/small"


def test_missed_line_and_branch_fail(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 9, ELSE: 0})], tmp_path)
    assert _failures(points, set()) == [
        "rtl/lib: lines 66.67 %, want 98 %",
        "rtl/lib: branches 50.00 %, want 98 %",
    ]
    row = data.summarize(points, set(), {})["rtl/lib/small"]
    assert row.missed == [f"{FILE}:4 line", f"{FILE}:3:6 else"]


def test_missed_bin_fails(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 4, ELSE: 5})], tmp_path)
    missed = _bins(tmp_path, "a", {"low": 3, "high": 1}, goal=2)
    assert _failures(points, set(), missed) == ["rtl/lib: bin missed: small.point.high (1 of 2)"]


def test_nothing_measured_fails() -> None:
    assert data.failures(data.group({}, ["rtl/lib"]), 98.0) == ["rtl/lib: nothing was measured"]


def test_file_that_no_run_was_built_from_is_missed(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 4, ELSE: 5})], tmp_path)
    (tmp_path / "rtl/lib/small/jd_other.sv").write_text(SOURCE)
    absent = data.unmeasured(tmp_path, points, [])
    assert absent == ["rtl/lib/small/jd_other.sv"]
    assert data.summarize(points, set(), {}, absent)["rtl/lib/small"].missed
    assert not data.unmeasured(tmp_path, points, [data.Exclusion("small/*.sv", "example")])


def test_waiver_takes_the_branch_and_its_lines(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 9, ELSE: 0})], tmp_path)
    waived = _waive(tmp_path, points, kinds=["else"])
    assert _failures(points, waived) == []
    assert data.summarize(points, waived, {})["rtl/lib/small"].waived == 2  # branch and line


def test_waiver_of_what_only_random_registers_reach(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 9, ELSE: 0})], tmp_path)
    assert not _waive(tmp_path, points, kinds=["if"], before_reset=True)
    assert _waive(tmp_path, points, kinds=["else"], before_reset=True)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"kinds": ["if"]}, "covered at line 3"),
        ({"kinds": ["else"], "text": "if (gone_i)"}, "no point of kind else matches"),
        ({"kinds": ["else", "cond_then"]}, "no point of kind cond_then matches"),
        ({"kinds": ["else"], "file": "rtl/lib/small/gone.sv"}, "no point of kind else matches"),
        ({"kinds": ["else"], "reason": ""}, "want file, text, kinds, reason"),
    ],
)
def test_waiver_that_is_not_needed_fails(
    tmp_path: Path, entry: dict[str, object], says: str
) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 9, ELSE: 0})], tmp_path)
    with pytest.raises(data.CoverageError, match=says):
        _waive(tmp_path, points, **entry)


def test_exclusion_without_a_file_fails(tmp_path: Path) -> None:
    points = data.read_points([_run(tmp_path, "a", {BLOCK: 9, IF: 4, ELSE: 5})], tmp_path)
    kept, left = data.exclude(points, [data.Exclusion("small/*.sv", "example")], tmp_path)
    assert (kept, left) == ({}, {"small/*.sv": 3})
    with pytest.raises(data.CoverageError, match="no file of rtl matches"):
        data.exclude(points, [data.Exclusion("generated/*.sv", "example")], tmp_path)


def test_unreadable_coverage_file_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_text("killed midway")
    with pytest.raises(data.CoverageError, match="killed midway"):
        data.read_points([path], tmp_path)
