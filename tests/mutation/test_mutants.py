"""The mutation flow: what it changes, that the copy runs as the original, and that it can judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import mutate
from flow import BUILD, ROOT, mutants
from flow.campaign import NO_OPTIONS, BaselineFailed, Campaign, Knowledge, Outcome
from flow.manifest import engines
from flow.netlist import Netlist
from mutate import Book, is_argued

TEXT = """module jd_x #(
  parameter int unsigned W = 4 + 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [W-1:0] a_i,
  output logic [W-1:0] b_o
);
  localparam int unsigned Half = W - 1;
  function automatic int unsigned twice(int unsigned x);
    return x << 1;
  endfunction
  logic [twice(W)-1:0] wide;
  assign wide = {a_i, a_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) b_o <= '0;
    else if (a_i < W'(Half) && wide[0]) b_o <= a_i + W'(1);
  end
  initial assert (W > 1);
endmodule : jd_x
"""


@pytest.fixture
def found(tmp_path: Path) -> list[mutants.Mutant]:
    path = tmp_path / "jd_x.sv"
    path.write_text(TEXT)
    return mutants.find(path, "jd_x.sv", mutants.constant_functions([path]))


def test_find_changes_run_time_expressions_only(found: list[mutants.Mutant]) -> None:
    assert {m.change for m in found} == {
        "if (!rst_ni) -> if (!(!rst_ni))",
        "b_o <= '0; -> (nothing)",
        "'0 -> '1",
        "if (a_i < W'(Half) && wide[0]) -> if (!(a_i < W'(Half) && wide[0]))",
        "a_i < W'(Half) && wide[0] -> ||",
        "a_i < W'(Half) -> <=",
        "a_i < W'(Half) -> >=",
        "b_o <= a_i + W'(1); -> (nothing)",
        "a_i + W'(1) -> -",
    }


def test_instrument_keeps_every_other_text(found: list[mutants.Mutant]) -> None:
    text = mutants.instrument(TEXT, list(enumerate(found, 1)))
    for number, m in enumerate(found, 1):
        assert text.count(f"selected == {number} ") + text.count(f"selected == {number})") == 1, m
    assert "parameter int unsigned W = 4 + 1" in text
    assert "begin if (!(jd_mutant_pkg::selected == 2)) begin b_o <= " in text
    assert mutants.instrument(TEXT, []) == TEXT


def test_sample_replays(found: list[mutants.Mutant]) -> None:
    assert mutants.sample(found, 5, 3) == mutants.sample(found, 5, 3)
    assert mutants.sample(found, 5, 3) != mutants.sample(found, 5, 4)
    assert mutants.sample(found, 500, 3) == found


def test_campaign_unrelated_tests_notice_nothing(tmp_path: Path) -> None:
    """A mutant of a block that the tests never build survives; a failing baseline is refused."""
    test = "tests/lib/test_mem.py::test_xoshiro_model_published_values"
    campaign = Campaign([test], tmp_path, tmp_path, 1, 1)
    campaign.baseline(timeout_s=120)
    outcomes = []
    campaign.run([(1, "rtl/x.sv", [test])], lambda _, outcome: outcomes.append(outcome.status))
    assert outcomes == ["survived"]
    with pytest.raises(BaselineFailed, match="collection failed"):
        Campaign([f"{test}_missing"], tmp_path, tmp_path, 1, 1).baseline(timeout_s=120)


@pytest.mark.parametrize("options", ["-v", "-k no_such_test", "--no-such-option"])
def test_campaign_knows_no_options_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    """Options that change what pytest prints or runs: neither baseline nor mutant has them."""
    test = "tests/lib/test_mem.py::test_xoshiro_model_published_values"
    monkeypatch.setenv("PYTEST_ADDOPTS", options)
    campaign = Campaign([test], tmp_path, tmp_path, 1, 1)
    campaign.baseline(timeout_s=120)
    assert list(campaign.known) == [test]
    outcomes = []
    campaign.run([(1, "rtl/x.sv", [test])], lambda _, outcome: outcomes.append(outcome.status))
    assert outcomes == ["survived"]


def test_a_baseline_counts_cpu_seconds(tmp_path: Path) -> None:
    """Not those of the clock: how busy the machine is changes no limit."""
    test = tmp_path / "test_waits.py"
    test.write_text(
        "import subprocess, sys, time\n"
        "def test_waits() -> None:\n"
        "    time.sleep(2)\n"
        "def test_has_a_child() -> None:\n"
        "    end = 'import time\\nwhile time.process_time() < 1: pass'\n"
        "    subprocess.run([sys.executable, '-c', end], check=True)\n"
    )
    record = tmp_path / "record.jsonl"
    for options in ([], ["-n", "1"]):
        record.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "flow.campaign_plugin",
             "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *options, str(test)],
            cwd=ROOT, env={**os.environ, **NO_OPTIONS, "JD_RECORD": str(record), "JD_MUTANT": "0"},
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        took = {line["test"].partition("::")[2]: line["seconds"] for line in lines}
        assert took["test_waits"] < 0.5
        assert 0.9 < took["test_has_a_child"] < 2


def test_campaign_finds_tests_by_file_function_and_case(tmp_path: Path) -> None:
    """Each test that a folder names is run, also a function that stands for many cases."""
    campaign = Campaign([], tmp_path, tmp_path, 1, 1)
    known = ("a.py::f[1-x]", "a.py::f[(2, 3)]", "a.py::g", "b.py::h")
    campaign.known = {t: Knowledge(1.0) for t in known}
    for named, wanted in (
        (["a.py"], known[:3]),
        (["a.py::f"], known[:2]),
        (["a.py::f[(2, 3)]", "b.py::h"], known[1::2]),
    ):
        assert sorted(campaign.order("rtl/x.sv", named)) == sorted(wanted)


def test_a_sample_has_so_many_of_some_files() -> None:
    """Beside the sample of the folder, which stays as it is."""
    every = mutate.candidates("mcts")
    chosen = mutate.drawn(every, 20, 1, 8, ["*_top.sv", "*_alloc.sv"])
    assert {m.key for m in mutants.sample(every, 20, 1)} <= {m.key for m in chosen}
    count = Counter(m.file.rpartition("_")[2] for m in chosen)
    assert count["top.sv"] >= 8 and count["alloc.sv"] >= 8 and 20 < len(chosen) <= 36
    assert mutate.drawn(every, 20, 1) == mutants.sample(every, 20, 1)


def test_faults_with_a_name_stand_once_in_the_sources() -> None:
    """Each changes run-time text of a file whose tests are known."""
    assert mutate.named("mcts") and not mutate.named("shell")
    for folder in mutate.FOLDERS:
        faults = [changes for changes, tests in mutate.named(folder) if tests]
        assert len({changes[0].key for changes in faults}) == len(faults)
        for file, text in mutate.instrumented(faults).items():
            for number, changes in enumerate(faults, 1):
                here = [m for m in changes if m.file == file]
                assert text.count(f"selected == {number} ") == len(here)


def test_a_name_without_its_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "named.yaml"
    monkeypatch.setattr(mutate, "NAMED", path)
    for text in ("no such text", "logic"):
        path.write_text(
            f"lib: [{{words: w, file: rtl/lib/common/jd_delay.sv, "
            f"changes: [{{text: {text}, code: x}}]}}]"
        )
        found = (ROOT / "rtl/lib/common/jd_delay.sv").read_text().count(text)
        assert found != 1
        with pytest.raises(mutate.UnknownPlace, match=f"'{text}' {found} times, want once"):
            mutate.named("lib")


def test_a_text_after_another_is_the_first_one_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, file = tmp_path / "named.yaml", "rtl/lib/common/jd_delay.sv"
    monkeypatch.setattr(mutate, "NAMED", path)
    entry = "lib: [{{words: w, file: {}, tests: [t], changes: [{{after: {}, text: {}, code: x}}]}}]"
    source = (ROOT / file).read_text()
    path.write_text(entry.format(file, "endmodule", "jd_delay"))
    (((found,), _),) = mutate.named("lib")
    assert found.start == source.index("jd_delay", source.index("endmodule"))
    for after, text, message in (
        ("endmodule", "clk_i", "no 'clk_i' after 'endmodule'"),
        ("logic", "clk_i", "'logic' .* times, want once"),
    ):
        path.write_text(entry.format(file, after, text))
        with pytest.raises(mutate.UnknownPlace, match=message):
            mutate.named("lib")


@pytest.mark.regress
@pytest.mark.cpu_limit(3600)
def test_sample_of_fifo_is_killed() -> None:
    """A small sample in every run of the regression; `make mutate` runs the full ones."""
    command = [
        sys.executable, "scripts/mutate.py", "lib", "--only", "rtl/lib/stream/jd_stream_fifo.sv",
        "--count", "8", "--netlist", "4", "--seed", "1", "--jobs", "1", "--fresh",
    ]  # fmt: skip
    beside = BUILD / "runs" / "beside-a-campaign"  # like those of tests that run at the same time
    beside.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    beside.rmdir()
    rows = json.loads((BUILD / "report/data/mutate.json").read_text())["rows"]
    assert [r["level"] for r in rows] == ["source", "netlist"]
    assert [r["survived"] for r in rows] == [0, 0]
    assert sum(r["killed"] + r["timeout"] for r in rows) > 8


def test_an_engine_answers_for_shared_files() -> None:
    """Its manifest's tests come before those of the list, which has others for the same file."""
    page = "rtl/lib/engine/jd_engine_page.sv"
    (answering,) = (m for m in engines().values() if page in m.verifies)
    found = mutate.tests_of("lib", page)
    assert found == [
        str((answering.folder / t).relative_to(ROOT)) for t in answering.verifies[page]
    ]
    assert all((ROOT / test).is_file() for test in found)
    assert mutate.tests_of("lib", page.replace("page", "ring")) == [
        "tests/shell/test_engine_control.py"
    ]


def test_book_goes_on_where_it_stopped(tmp_path: Path) -> None:
    book = Book(tmp_path / "book.jsonl")
    book.add("a", Outcome("survived", "", 1.0))
    book.add("b", Outcome("killed", "test_b", 2.0))
    book.add("a", Outcome("killed", "test_a", 3.0))
    assert Book(book.path).outcomes == book.outcomes


def test_the_bit_that_decides_is_part_of_a_fault(tmp_path: Path) -> None:
    """A fault of one bit by another has a name of its own for each other bit."""
    file = "rtl/lib/stream/jd_stream_fork.sv"
    line = f"mutate -mode cnot0 -cell $1 -port A -portbit 0 -ctrlbit %d -src {file}:1.1"
    (tmp_path / "list.txt").write_text("\n".join(line % bit for bit in (1, 2)) + "\n")
    netlist = Netlist("", "jd_x", file, "", ())
    by_1, by_2 = netlist._listed(tmp_path / "list.txt")
    assert by_1.change == "cnot0 $1.A[0] by [1]"
    assert is_argued(by_1, [by_1.key]) and not is_argued(by_2, [by_1.key])
    of_all = mutants.key(by_1.file, by_1.source, "cnot0 $1.A[0]")
    assert is_argued(by_1, [of_all]) and is_argued(by_2, [of_all])
