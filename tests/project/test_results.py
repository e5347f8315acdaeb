"""Results and records: a record is of a commit, and of nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench
import curves
import mutate
import prove
import report
import report_coverage
import synth
from benchmarks.replay import ReplayBenchmark
from flow import results

ROWS = [{"block": "jd_x", "lut": 3}]
OLD = '{"flow": "synth", "rows": []}\n'
FILES = {
    "rtl/jd_x.sv": "module jd_x;\nendmodule\n",
    "docs/x.md": "# x\n",
    "docs/synthesis.md": "# Synthesis\n",
    "docs/report/data/synth.json": OLD,
    "docs/results.md": "# Results\n",
    ".gitignore": "build/\n",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def enter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the flows take a folder for the project."""
    monkeypatch.setattr(results, "ROOT", root)
    monkeypatch.setattr(results, "BUILD", root / "build")
    monkeypatch.setattr(results, "RECORDED", root / "docs" / "report" / "data")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, which the flows take for the project."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # of a hook that runs the tests
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "tree"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    enter(root, monkeypatch)
    return root


def record(flow: str = "synth") -> dict[str, Any]:
    """Record a flow's results; returns what is in the file."""
    path = results.write(flow, ROWS, seconds=1.25, record=True)
    assert path == results.RECORDED / f"{flow}.json"
    return dict(json.loads(path.read_text()))


def test_a_record_names_its_commit(tree: Path) -> None:
    (tree / "build").mkdir()
    (tree / "build" / "x.log").write_text("git ignores it")
    written = record()
    assert git(tree, "rev-parse", "HEAD").startswith(written["commit"])
    assert len(written["commit"]) == 10
    assert results.read("synth")["rows"] == ROWS


def edited(root: Path) -> None:
    (root / "rtl/jd_x.sv").write_text("module jd_x;\n  wire x;\nendmodule\n")


def staged(root: Path) -> None:
    edited(root)
    git(root, "add", "rtl/jd_x.sv")


def removed(root: Path) -> None:
    (root / "rtl/jd_x.sv").unlink()


def renamed(root: Path) -> None:
    git(root, "mv", "rtl/jd_x.sv", "rtl/jd y.sv")


def unknown(root: Path) -> None:
    (root / "rtl/jd_new.sv").write_text("")


def document(root: Path) -> None:
    (root / "docs/x.md").write_text("# y\n")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (edited, ["rtl/jd_x.sv"]),
        (staged, ["rtl/jd_x.sv"]),
        (removed, ["rtl/jd_x.sv"]),
        (renamed, ["rtl/jd y.sv", "rtl/jd_x.sv"]),
        (unknown, ["rtl/jd_new.sv"]),
        (document, ["docs/x.md"]),
    ],
)
def test_a_dirty_tree_is_not_recorded(
    tree: Path, change: Callable[[Path], None], names: list[str]
) -> None:
    """The record stays as it was; the results are kept beside it, and say so."""
    change(tree)
    assert sorted(results.differing()) == names
    with pytest.raises(results.DirtyTree, match="commit first") as refusal:
        results.recordable()
    assert all(name in str(refusal.value) for name in names)
    kept = tree / "build/report/data/synth.json"
    with pytest.raises(results.DirtyTree, match=f"the results are in {kept}"):
        record()
    assert (tree / "docs/report/data/synth.json").read_text() == OLD
    written = json.loads(kept.read_text())
    assert written["rows"] == ROWS and written["commit"].endswith("-dirty")
    assert results.write("synth", ROWS, seconds=1, record=False) == kept


def test_a_refusal_names_some_of_many_files(tree: Path) -> None:
    for number in range(results.NAMED + 3):
        (tree / f"rtl/jd_{number:02}.sv").write_text("")
    with pytest.raises(results.DirtyTree, match=r"rtl/jd_07\.sv and 3 more"):
        results.recordable()


def test_flows_record_one_after_another(tree: Path) -> None:
    """What flows write themselves is not what they measure."""
    commit = record()["commit"]
    for name in (
        "docs/report/index.html",
        "docs/images/x.png",
        "docs/synthesis.md",
        "docs/results.md",
    ):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("made by a flow")
    assert [record(flow)["commit"] for flow in ("synth", "bench", "prove")] == [commit] * 3


def test_no_commit_is_not_recorded(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No git, no repository, none of this tree, or none with a commit."""

    def refused(root: Path, words: str) -> None:
        enter(root, monkeypatch)
        with pytest.raises(results.NoCommit, match=words):
            results.recordable()
        with pytest.raises(results.NoCommit, match=words):
            record()
        written = json.loads((root / "build/report/data/synth.json").read_text())
        assert written["commit"] == "unknown"
        assert not (root / "docs/report/data/new.json").exists()

    alone = tmp_path / "alone"
    alone.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    refused(alone, "not a git repository")
    inside = tree / "build" / "unpacked"
    inside.mkdir(parents=True)
    refused(inside, f"a folder in the repository {tree}")
    git(alone, "init", "-q")
    refused(alone, "no commit is known")
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(tree, "without git")


def test_make_records_what_it_can(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.main() == 0
    assert capsys.readouterr().out == "--record\n"
    edited(tree)
    assert results.main() == 0
    said = capsys.readouterr()
    assert said.out == "" and "rtl/jd_x.sv" in said.err


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (bench.main, ["replay", "--no-peers"]),
        (curves.main, ["nothing"]),
        (mutate.main, ["--list"]),
        (prove.main, []),
        (report.main, ["--tests", "nothing.xml"]),
        (report_coverage.main, ["--raw", "nothing"]),
        (synth.main, ["--kept"]),
    ],
    ids=lambda value: getattr(value, "__module__", ""),
)
def test_flows_refuse_before_they_begin(
    main: Callable[[], int],
    arguments: list[str],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ReplayBenchmark, "rows", lambda *_: [])
    monkeypatch.setattr(prove, "PROOFS", ())
    monkeypatch.setattr(synth, "variants", lambda: [])
    edited(tree)
    monkeypatch.setattr("sys.argv", ["flow", *arguments, "--record"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "rtl/jd_x.sv" in capsys.readouterr().err


def test_a_part_of_the_proofs_is_not_recorded(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["flow", "--record", "skid"])
    with pytest.raises(SystemExit, match="2"):
        prove.main()
    assert "--record: want" in capsys.readouterr().err


def test_rows_that_stay_name_their_commit(tree: Path) -> None:
    """A record of some rows leaves the others, with the commit that they were measured at."""
    old = [
        {"engine": "a", "figure": "clocks", "config": "1", "measured": 1},
        {"engine": "a", "figure": "clocks", "config": "2", "measured": 2, "commit": "first"},
    ]
    results.write("bench", old, seconds=1, record=True)
    before = results.read("bench")["commit"]
    git(tree, "commit", "-q", "-a", "--allow-empty", "-m", "y")
    new = {"engine": "a", "figure": "clocks", "config": "3", "measured": 3}
    found = bench.record([new])
    assert results.read("bench")["commit"] != before
    assert [row.get("commit") for row in found] == [before, "first", None]

    folders = [{"folder": "rtl/lib"}, {"folder": "rtl/qat", "commit": "first"}]
    results.write("mutate", folders, seconds=1, record=True, survivors=[])
    rows, _ = mutate.with_recorded([{"folder": "rtl/replay"}], [])
    after = results.read("mutate")["commit"]
    assert {row["folder"]: row.get("commit") for row in rows} == {
        "rtl/lib": after, "rtl/replay": None, "rtl/qat": "first"
    }  # fmt: skip

    levels = [{"folder": "rtl/mcts", "level": level} for level in ("source", "named")]
    faults = [{"folder": "rtl/mcts", "fault": "a"}, {"folder": "rtl/qat", "fault": "b"}]
    left = [{"file": "rtl/mcts/x.sv", **row} for row in levels]
    results.write("mutate", levels, seconds=1, record=True, survivors=left, named=faults)
    rows, kept_left = mutate.with_recorded([levels[1]], [])
    assert {row["level"]: "commit" in row for row in rows} == {"source": True, "named": False}
    assert [s["level"] for s in kept_left] == ["source"]
    assert mutate.recorded_names({"rtl/mcts"}) == faults[1:]

    results.write("coverage", folders, seconds=1, record=True)
    kept = report_coverage.with_recorded([{"folder": "rtl/replay"}], ["rtl/replay"])
    assert [row.get("commit") for row in kept] == [after, "first", None]
    assert report_coverage.with_recorded([], ["rtl"]) == []
