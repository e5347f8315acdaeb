"""The regression's own rules: limits, skips, goals, keys of simulators, what changed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flow import ROOT, budget, changed, effort, process, regression, simulate, simulator
from flow.simulator import Simulator

FIFO = Simulator("jackdaw:lib:stream", "jd_stream_fifo", (("Width", 3), ("Depth", 2)))


def child(code: str, tmp_path: Path, **limits: Any) -> process.Ended:
    """Run a Python program."""
    return process.run([sys.executable, "-c", code], cwd=tmp_path, log=tmp_path / "log", **limits)


def test_a_limit_counts_an_ordinary_core(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simulate.Request(FIFO, "module", name, cpu_s=10) for name in ("A", "B")]
    monkeypatch.delenv("JD_CPU_S", raising=False)
    for slower, seconds in ((0.5, 20), (3.0, 60)):
        monkeypatch.setattr(budget, "slower_now", lambda slower=slower: slower)
        assert simulate.cpu_limit(requests) == seconds
    monkeypatch.setenv("JD_CPU_S", "5")
    assert simulate.cpu_limit(requests) == 5


def test_a_loop_ends_at_its_cpu_limit(tmp_path: Path) -> None:
    done = child("while True: pass", tmp_path, cpu_s=1)
    assert done.code < 0 and "CPU time" in done.limit and done.cpu_s < 5


def test_a_wait_without_end_is_ended(tmp_path: Path) -> None:
    done = child("import time; time.sleep(1000)", tmp_path, cpu_s=100, stall_s=1)
    assert done.code < 0 and done.limit == "no CPU time used for 1 s"


def test_waiting_uses_no_limit(tmp_path: Path) -> None:
    done = child("import time; time.sleep(2); print('end')", tmp_path, cpu_s=1)
    assert (done.code, done.limit, done.output) == (0, "", "end\n")


def test_children_count(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    assert "CPU time" in child(code, tmp_path, cpu_s=1).limit


def run(tmp_path: Path, text: str, *options: str, **settings: str) -> str:
    """Run pytest with the regression's plugin on a file."""
    (tmp_path / "test_it.py").write_text("import pytest\n" + text)
    command = [
        sys.executable, "-m", "pytest", "-p", "flow.regression", "-p", "no:cacheprovider", "-q",
        "--rootdir", str(tmp_path), "-c", os.devnull, *options, str(tmp_path / "test_it.py"),
    ]  # fmt: skip
    env = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT), **settings}
    env["JACKDAW_CACHE"] = str(tmp_path / "store")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_skip_that_is_not_listed_fails(tmp_path: Path) -> None:
    told = run(tmp_path, "def test_a(): pytest.skip('why not')\ndef test_b(): pass")
    assert "1 failed, 1 passed" in told and "does not list" in told


def test_a_listed_skip_is_none() -> None:
    assert regression.allowed_skip(
        "tests/device/test_device_memory.py::test_x",
        "Skipped: FST files need the package liblz4-dev",
    )
    assert not regression.allowed_skip("tests/a3c/test_a3c_pe.py::test_x", "Skipped: FST files")


def test_tiers_leave_out_what_is_marked(tmp_path: Path) -> None:
    text = """
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.regress
def test_regress(): pass
def test_fast(): pass
"""
    for tier, passed in (("test", "1 passed"), ("regress", "2 passed"), ("all", "3 passed")):
        assert passed in run(tmp_path, text, "--tier", tier)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "much"])
def test_an_effort_that_is_no_length_is_named(tmp_path: Path, text: str) -> None:
    told = run(tmp_path, "def test_a(): pass", JD_EFFORT=text)
    assert f"JD_EFFORT: got '{text}', want a positive number" in told


@pytest.mark.parametrize("text", ["0", "-1", "x"])
def test_a_batch_that_is_no_count_is_named(tmp_path: Path, text: str) -> None:
    told = run(tmp_path, "def test_a(): pass", f"--batch={text}")
    assert f"got '{text}', want a whole number from 1 on" in told


def test_a_sweep_is_thinned_but_keeps_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JD_EFFORT", "0.1")
    assert effort.some(range(3, 103)) == range(3, 103, 10)
    assert len(effort.some(range(10), 4)) >= 4 and effort.some(range(2), 8) == range(2)
    assert (effort.scale(40), effort.scale(40, 8), effort.scale(2)) == (4, 8, 1)
    monkeypatch.setenv("JD_EFFORT", "1")
    assert effort.some(range(3, 103)) == range(3, 103) and effort.scale(40) == 40


def test_a_goal_without_runs_fails(tmp_path: Path) -> None:
    text = "@pytest.mark.goal\ndef test_goal(runs): pass\ndef test_other(): pass"
    told = run(tmp_path, text)
    assert "no simulation of this file is among the tests" in told and "1 passed" in told


def test_a_long_test_comes_first(tmp_path: Path) -> None:
    text = "def test_short(): pass\n@pytest.mark.long\ndef test_long(): pass"
    told = run(tmp_path, text, "-vv")
    assert "2 passed" in told and told.index("::test_long") < told.index("::test_short")


def test_a_test_without_end_is_ended(tmp_path: Path) -> None:
    text = "@pytest.mark.cpu_limit(1)\ndef test_loop():\n    while True: pass"
    told = run(tmp_path, text)
    assert "1 failed" in told and "OutOfTime" in told


OPENERS = """
from dataclasses import replace
from flow.simulator import Simulator
Simulator._make = lambda self, folder: (folder / self.file).write_text(self.toplevel)
FIFO = Simulator("jackdaw:lib:stream", "jd_stream_fifo", harness="verif/play.cpp")
def opened(depth):
    simulator = replace(FIFO, parameters=(("Depth", depth),))
    there = simulator.built
    return simulator.build().read_text(), there
@pytest.mark.builds(lambda depth: opened(depth), lambda other: opened(0))
@pytest.mark.parametrize("depth", [2, 4])
def test_planned(depth): assert opened(depth) == ("jd_stream_fifo", True)
@pytest.mark.builds(lambda: opened(6))
def test_another(): assert opened(8) == ("jd_stream_fifo", False)
@pytest.mark.unplanned("builds by itself")
def test_exempt(): assert opened(10) == ("jd_stream_fifo", False)
"""


def test_what_tests_open_is_built_before_them(tmp_path: Path) -> None:
    """A simulator that a test opens without a mark is told of, also if it is there already."""
    for there in ("False", "True"):
        told = run(tmp_path, OPENERS.replace("False", there))
        assert "4 passed" in told, told
        assert told.count("opened, but not built first") == 1
        assert "jd_stream_fifo Depth=8 by test_it.py::test_another" in told


def test_what_passed_is_left_out_until_it_changes(tmp_path: Path) -> None:
    text = "def test_a(): pass\ndef test_b(): assert __import__('os').environ['JD_EFFORT'] == '1'"
    assert "2 passed" in run(tmp_path, text, "--changed", JD_EFFORT="1")
    assert "2 deselected" in run(tmp_path, text, "--changed", JD_EFFORT="1")
    assert "1 failed, 1 passed" in run(tmp_path, text, "--changed", JD_EFFORT="0.5")
    assert "1 failed, 1 deselected" in run(tmp_path, text, "--changed", JD_EFFORT="0.5")


@pytest.mark.parametrize(
    ("file", "areas"),
    [
        ("rtl/lib/float/jd_float_mul.sv", ("a3c", "learner", "replay", "lib", "e2e")),
        ("rtl/a3c/jd_a3c_pe.sv", ("a3c", "e2e")),
        ("rtl/learner/jd_learner_rate.sv", ("learner", "replay", "e2e")),
        ("models/learner/learner.py", ("a3c", "learner", "replay", "e2e")),
        ("models/engine.py", ("a3c", "learner", "replay", "e2e")),
        ("verif/agents/stream.py", ("a3c", "learner", "replay", "lib")),
        ("verif/replay/public.vlt", ("learner", "replay", "e2e")),
        ("configs/demo.json", ("learner", "e2e")),
        ("flow/simulate.py", ("a3c", "lib", "project")),
        ("requirements.txt", ("a3c", "lib", "project")),
    ],
)
def test_a_changed_file_is_noticed(
    file: str, areas: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = changed.files()
    assert file in known
    before = {area: changed.inputs.__wrapped__(area, 1) for area in areas}
    monkeypatch.setattr(changed, "files", lambda: known | {file: "another"})
    for area in areas:
        assert changed.inputs.__wrapped__(area, 1) != before[area], area


def test_whole_devices_are_opened_elsewhere() -> None:
    """What `changed.is_input` rests on: no engine's tests open a device of all engines."""
    assert changed.together("a3c") == {"a3c"}
    assert changed.together("learner") == {"learner", "replay"}
    assert changed.together("qat") == {"qat", "replay"}
    assert changed.together("replay") == {"learner", "qat", "replay"}
    opens = re.compile(rf"""(?:config|device|load\w*)\b.*["']({"|".join(changed.WHOLE)})["']""")
    for area in changed.ENGINES:
        for top in ("tests", "verif"):
            for path in (ROOT / top / area).rglob("*.py"):
                assert not opens.search(path.read_text()), path


def test_engines_do_not_import_each_other() -> None:
    """What `changed.is_input` rests on: an engine's tests reach no other device's folders."""
    for area in changed.ENGINES:
        others = set(changed.ENGINES) - changed.together(area)
        for top in changed.TOPS:
            for path in (ROOT / top / area).rglob("*.py"):
                text = path.read_text()
                for other in others:
                    for package in ("verif", "tests"):
                        for word in (f"from {package}.{other}", f"import {package}.{other}"):
                            assert word not in text, f"{path}: {word}"


def test_a_key_follows_every_input(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {FIFO.name}
    for change in (
        {"parameters": (("Width", 4), ("Depth", 2))}, {"toplevel": "jd_stream_skid"},
        {"sources": ("verif/lib/jd_unstable_bench.sv",)}, {"assertions": False},
        {"control": ("verif/learner/public.vlt",)}, {"optimize": "-O1"}, {"waves": True},
        {"arguments": ("-DX",)}, {"harness": "verif/play.cpp"},
    ):  # fmt: skip
        names.add(replace(FIFO, **change).name)  # type: ignore[arg-type]
    monkeypatch.setenv("CXXFLAGS", "-g")
    names.add(FIFO.name)
    monkeypatch.setenv("JD_COVERAGE", "1")
    names.add(FIFO.name)
    assert len(names) == 12


def test_a_key_follows_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    before = FIFO.name
    monkeypatch.setattr(simulator, "tools", lambda: ("another compiler",))
    simulator._key.cache_clear()
    assert FIFO.name != before
    simulator._key.cache_clear()


def test_includes_of_a_harness_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "b.h").write_text('#include "c.hpp"\n#include "Vtop.h"\n')
    (tmp_path / "c.hpp").write_text("")
    (tmp_path / "a.cpp").write_text('#include <vector>\n#include "b.h"\n')
    names = {path.name for path in simulator.included(tmp_path / "a.cpp", [])}
    assert names == {"a.cpp", "b.h", "c.hpp"}
