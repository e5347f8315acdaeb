"""The Vivado project of each board is set up, and what it names is there.

Vivado itself is not run: every line of the Tcl and of the constraints is read as Tcl commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flow import ROOT

CORE = "jackdaw:jackdaw:accelerator"
PARTS = {
    "vcu1525": "xcvu9p-fsgd2104-2L-e",
    "u200": "xcu200-fsgd2104-2-e",
    "u50": "xcu50-fsvh2104-2-e",
    "u280": "xcu280-fsvh2892-2L-e",
}
CONSTRAINTS = {
    "set_property", "create_clock", "set_input_delay", "set_output_delay", "set_false_path",
    "get_ports", "get_clocks",
}  # fmt: skip


def commands(text: str) -> list[list[str]]:
    """Split Tcl into commands and words, as the interpreter does.

    Raises: ValueError on a brace, bracket or quote that is not closed, or one too many.
    """
    closing = {"{": "}", "[": "]", '"': '"'}
    found: list[list[str]] = []
    words: list[str] = []
    word, nest, i = "", "", 0
    while i <= len(text):
        c = text[i] if i < len(text) else "\n"
        inside = nest[-1:]
        if c == "\\" and i + 1 < len(text):
            if text[i + 1] != "\n" or inside:
                word += text[i : i + 2]
            elif word:
                words.append(word)
                word = ""
            i += 1
        elif not inside and c == "#" and not words and not word:
            i = text.find("\n", i) % (len(text) + 1)
            continue
        elif not inside and c in " \t\n;":
            if word:
                words.append(word)
            word = ""
            if c in "\n;" and words:
                found.append(words)
                words = []
        elif inside and c == inside:
            nest, word = nest[:-1], word + c
        elif c == "[" or (c == "{" and inside != '"'):
            nest, word = nest + closing[c], word + c
        elif c == '"' and inside != "}":
            nest, word = nest + c, word + c
        elif c in "}]" and inside != '"':
            raise ValueError(f"{c} without its opening, near {text[max(0, i - 60) : i + 1]!r}")
        else:
            word += c
        i += 1
    if nest:
        raise ValueError(f"not closed: want {nest[::-1]!r}, near {word[:80]!r}")
    return found


@pytest.fixture(scope="module", params=PARTS)
def project(request) -> tuple[str, Path]:
    """A board and the folder of its project."""
    board = request.param
    path = f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}"
    work = ROOT / "build" / "vivado" / board
    done = subprocess.run(
        [f"{sys.prefix}/bin/fusesoc", "run", "--setup", f"--target=vivado_{board}",
         f"--work-root={work}", CORE],
        cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return board, work


def test_project_names_part_top_and_files(project):
    board, work = project
    script = work / "jackdaw_jackdaw_accelerator_0.1.0.tcl"
    parsed = commands(script.read_text())
    assert ["set_property", "part", PARTS[board], "[current_project]"] in parsed
    assert any(c[:3] == ["set_property", "top", "jd_top"] for c in parsed)
    read = [c[-1].strip("{}") for c in parsed if c[0] in ("read_verilog", "read_xdc")]
    assert all((work / name).is_file() for name in read)
    names = {Path(name).name for name in read}
    assert {"jd_top.sv", "jd_replay_top.sv", "jd_learner_top.sv"} <= names
    assert {"common.xdc", f"{board}.xdc"} <= names
    assert not names & {f"{other}.xdc" for other in PARTS if other != board}
    top = next(work / name for name in read if Path(name).name == "jd_top.sv")
    assert ".AddLatency(6)" in top.read_text()


def test_every_script_parses(project):
    _, work = project
    scripts = list(work.glob("*.tcl"))
    assert len(scripts) >= 3
    for script in scripts:
        commands(script.read_text())


@pytest.mark.parametrize("name", ["common", *PARTS])
def test_constraints_are_known_commands_and_pins(name):
    parsed = commands((ROOT / "constraints" / f"{name}.xdc").read_text())
    assert parsed
    for command in parsed:
        assert command[0] in CONSTRAINTS, command
        for inner in re.findall(r"\[(\w+)", " ".join(command)):
            assert inner in CONSTRAINTS, command
    pins = re.findall(r"PACKAGE_PIN (\w+)", " ".join(" ".join(c) for c in parsed))
    assert len(pins) == len(set(pins))
    assert all(re.fullmatch(r"[A-Z]{1,2}\d{1,2}", pin) for pin in pins)
    if name != "common":
        assert len(pins) >= 7
        assert PARTS[name] in (ROOT / "constraints" / f"{name}.xdc").read_text().split("\n", 1)[0]


@pytest.mark.parametrize("bad", ["a [b", "a {b", "a }", 'a "b', "a ]"])
def test_reader_of_tcl_refuses(bad):
    with pytest.raises(ValueError):
        commands(bad)


def test_reader_of_tcl_splits():
    text = '# one {\na b\\\n c {d e} [f "g h"]; i\n'
    assert commands(text) == [["a", "b", "c", "{d e}", '[f "g h"]'], ["i"]]
