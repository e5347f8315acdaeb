"""The notebook and the Python of the tutorial run as they stand, and print what they show."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from flow import ROOT
from jackdaw.cli import main

matplotlib.use("agg")
from matplotlib import pyplot

NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
# The pages whose programs run on `model`; what they print there, they show.
PAGES = {
    "train.md": "154 after 100 gradient steps\n",
    "environment.md": "right\nmean return 0.78, standard deviation 0.18\n",
}
BLOCK = re.compile(r"```python\n(.*?)```", re.S)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)


def run(code: str, space: dict[str, Any]) -> str:
    """Execute code. Returns: what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cell", "exec"), space)
    return printed.getvalue()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pyplot.close("all")  # of tests before
    space: dict[str, Any] = {"__name__": "__main__"}
    drawn = compared = 0
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        if cell["cell_type"] != "code":
            continue
        printed = run("".join(cell["source"]), space)
        shown = "".join("".join(o.get("text", [])) for o in cell["outputs"])
        assert printed == shown, f"cell {number}"
        pictures = sum("image/png" in o.get("data", {}) for o in cell["outputs"])
        assert len(pyplot.get_fignums()) == pictures, f"cell {number}"
        pyplot.close("all")
        drawn, compared = drawn + pictures, compared + bool(shown)
    assert drawn and compared


@pytest.mark.parametrize("name", PAGES)
def test_the_tutorial_prints_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/tutorial" / name).read_text()
    blocks = BLOCK.findall(text)
    assert blocks
    space: dict[str, Any] = {"__name__": "__main__"}
    printed = "".join(run(block, space) for block in blocks)
    assert printed == PAGES[name] and PAGES[name] in text


def test_the_commands_of_the_first_step_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line that the page shows after a command, in its order."""
    monkeypatch.chdir(tmp_path)
    printed: list[str] = []
    commands = compared = 0
    for kind, block in FENCED.findall((ROOT / "docs/tutorial/train.md").read_text()):
        if kind:
            break  # the same in Python
        if block.startswith("jackdaw "):
            (command,) = block.splitlines()
            assert main(command.split()[1:]) == 0
            printed, commands = capsys.readouterr().out.splitlines(), commands + 1
        elif commands:
            places = [printed.index(line) for line in block.splitlines() if line in printed]
            assert len(places) == len(block.splitlines()) and places == sorted(places), printed
            compared += len(places)
    assert commands == 2 and compared == 9
