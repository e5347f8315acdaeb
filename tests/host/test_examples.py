"""The example programs run, and are as short as they claim."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jackdaw
from flow import ROOT
from jackdaw.device import open_device

EXAMPLES = ROOT / "examples"
LINES = {"three_lines": 5, "own_environment": 25, "dqn": 85, "ddpg": 120}
SHORT = {"steps": 3, "warm": 64, "capacity": 512, "evaluate_every": 2}


def code_lines(text: str) -> int:
    """Lines of a program without blank lines, comments and docstrings."""
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    lines -= {n for n in lines if text.splitlines()[n - 1].lstrip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        documented = isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        if documented and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            lines -= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def test_lines_of_code_are_counted() -> None:
    text = '"""Text\n\nmore."""\n# note\n\ndef f():\n    """Text."""\n    return 1  # note\n'
    assert code_lines(text) == 2


@pytest.mark.parametrize("name", LINES)
def test_an_example_is_short(name: str) -> None:
    assert code_lines((EXAMPLES / f"{name}.py").read_text()) <= LINES[name]


@pytest.mark.parametrize("name", ["three_lines", "own_environment"])
def test_an_example_of_the_interface_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    train = jackdaw.train
    runs: list[jackdaw.Run] = []

    def short(*words: Any, **options: Any) -> jackdaw.Run:
        runs.append(train(*words, **{**options, **SHORT}))
        return runs[-1]

    monkeypatch.setattr(jackdaw, "train", short)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert runs[0].summary["gradient_steps"] == 3
    assert capsys.readouterr().out
    if name == "own_environment":
        assert (tmp_path / runs[0].path / "episode.gif").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "config", "steps", "goal"),
    [("dqn", "demo", 700, 475.0), ("ddpg", "agents", 1500, -200.0)],
)
def test_an_example_of_the_drivers_learns(
    name: str, config: str, steps: int, goal: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reaches the goal of its task, and the first evaluation is far from it."""
    program = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    with open_device("model", config) as device:
        assert program["main"](device, steps) >= goal
    means = [float(mean) for mean in re.findall(r"mean return (\S+),", capsys.readouterr().out)]
    assert len(means) > 2 and means[0] < goal - 200 and means[-1] >= goal


@pytest.mark.parametrize(("name", "config"), [("dqn", "demo"), ("ddpg", "agents")])
def test_an_example_of_the_drivers_repeats(name: str, config: str, seed: int) -> None:
    """A run is a function of its seed, and of the seed alone."""
    program = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    means = []
    for one in (seed, seed, seed + 1):
        with open_device("model", config) as device:
            means.append(program["main"](device, 2, one))
    assert means[0] == means[1] and np.isfinite(means[0])
    assert means[2] != means[0]
