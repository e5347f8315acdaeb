"""What holds for the whole repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flow import ROOT
from flow.configuration import load_config
from flow.design import resolve


def tracked(*patterns: str) -> list[Path]:
    out = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in out.stdout.split("\0") if name]


def test_every_rtl_file_is_in_a_device():
    devices = [load_config(name).core() for name in ("all", "qat", "mcts", "sparse")]
    # Blocks that no top uses yet.
    parts = ["jackdaw:engine:qat", "jackdaw:engine:sparse_update"]
    known = {path.resolve() for core in (*devices, *parts) for path in resolve(core).files}
    missing = [
        str(p.relative_to(ROOT))
        for p in tracked("rtl/*.sv", "rtl/*.svh")
        if p.resolve() not in known
    ]
    unused = [m for m in missing if not m.startswith("rtl/lib/")]
    assert not unused
    cores = " ".join(p.read_text() for p in tracked("rtl/*.core"))
    assert not [m for m in missing if Path(m).name not in cores], "in no core at all"


def test_every_source_has_a_licence():
    missing = [
        str(p.relative_to(ROOT))
        for p in tracked("*.sv", "*.svh", "*.cpp", "*.h")
        if "/generated/" not in str(p)
        and "SPDX-License-Identifier: Apache-2.0" not in p.read_text().split("\n", 2)[0]
    ]
    assert not missing


@pytest.mark.parametrize("pattern", [r"\.\./shared", r"/(?:work|tmp/bash_jobs)/"])
def test_project_stands_alone(pattern):
    found = [
        str(p.relative_to(ROOT))
        for p in tracked()
        if p.suffix in {".py", ".sv", ".md", ".core", ".cpp", ".h", ".toml", ".json", ".rdl", ""}
        and p != Path(__file__)
        and p.is_file()
        and re.search(pattern, p.read_text(errors="ignore"))
    ]
    assert not found


def test_modules_are_named_as_their_files():
    wrong = []
    for path in tracked("rtl/*.sv"):
        if "/generated/" in str(path):
            continue
        names = re.findall(r"^(?:module|package) (\w+)", path.read_text(), re.M)
        if names != [path.stem]:
            wrong.append((path.name, names))
    assert not wrong


def test_checks_are_included_where_they_are_used():
    """A simulator sees macros of the files before; synthesis reads each file alone."""
    text = {p: p.read_text() for p in tracked("rtl/*.sv")}
    assert not [p.name for p, t in text.items() if "`JD_" in t and '`include "jd_assert' not in t]


def test_requirements_are_pinned():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    loose = [line for line in lines if line and not line.startswith("#") and "==" not in line]
    assert not loose


def test_types_are_checked_everywhere():
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
    assert not {str(p.relative_to(ROOT)) for p in tracked("*.py") if p.is_file()} - {
        str(p.relative_to(ROOT))
        for top in checked
        for p in ((ROOT / top).rglob("*.py") if (ROOT / top).is_dir() else [ROOT / top])
    }


@pytest.mark.parametrize(
    ("target", "core"),
    [
        ("lint", "jackdaw:lib:stream"),
        ("lint", "jackdaw:jackdaw:accelerator"),
        ("sim", "jackdaw:lib:random"),
        ("synth", "jackdaw:lib:common"),
    ],
)
def test_fusesoc_targets_work_from_the_command_line(target, core):
    command = [f"{sys.prefix}/bin/fusesoc", "run", f"--target={target}", core]
    command += ["--tier", "test"] if target == "sim" else []
    path = f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_fusesoc_sim_fails_when_its_tests_fail(tmp_path):
    from edalize.flows.jdsim import Jdsim

    bad = tmp_path / "test_bad.py"
    bad.write_text("def test_bad():\n    assert False\n")
    flow = Jdsim({"name": "bad", "flow_options": {"tests": str(bad)}}, str(tmp_path))
    with pytest.raises(RuntimeError, match="failed"):
        flow.run()
