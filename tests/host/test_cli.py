"""The command `jackdaw`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jackdaw
from jackdaw.cli import WORDS, main

TRAIN = ["train", "dqn", "CartPole-v1", "--device", "model", "--set", "warm=64",
         "--set", "capacity=512"]  # fmt: skip


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in ((["--version"], f"jackdaw {jackdaw.__version__}"), (["--help"], "train")):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0 and text in capsys.readouterr().out
    for word in WORDS:
        with pytest.raises(SystemExit) as ended:
            main([word, "--help"])
        assert ended.value.code == 0 and f"usage: jackdaw {word}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["fly"])
    assert ended.value.code == 2 and "invalid choice: 'fly'" in capsys.readouterr().err


def test_a_run_is_trained_judged_shown_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    assert main([*TRAIN, "--steps", "3", "--out", run]) == 1  # not learned in 3 steps
    assert "mean_return" in capsys.readouterr().out
    assert main(["eval", run, "--episodes", "2"]) == 0
    assert re.match(r"CartPole-v1: mean return \d+\.\d\d, .* 2 episodes", capsys.readouterr().out)
    gif = tmp_path / "episode.gif"
    assert main(["play", run, "--gif", str(gif)]) == 0 and gif.stat().st_size > 1000
    assert main(["export", run, str(tmp_path / "policy.npz")]) == 0
    assert (tmp_path / "policy.npz").exists()
    assert main(["eval", str(tmp_path)]) == 2
    assert "jackdaw eval: " in (err := capsys.readouterr().err) and "is no run's folder" in err


def test_a_folder_is_chosen_and_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main([*TRAIN, "--steps", "1"]) == 1
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names == ["dqn-CartPole-v1-seed1", "dqn-CartPole-v1-seed1-2"]
    assert main([*TRAIN, "--resume"]) == 2


def test_seeds_of_any_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*TRAIN, "--seeds", "1", "2", "--steps", "2", "--out", str(tmp_path)]
    assert main([*words, "--set", "threshold=1"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curve.png", "seed1", "seed2"]
    summaries = [json.loads((tmp_path / f"seed{n}/summary.json").read_text()) for n in (1, 2)]
    assert [one["seed"] for one in summaries] == [1, 2]
    first = capsys.readouterr().out
    assert main([*words, "--set", "threshold=1"]) == 0  # only plotted
    again = capsys.readouterr().out
    assert "Jackdaw:" in first and "Jackdaw:" not in again and "seed 2: " in again


@pytest.mark.parametrize("agent", [["dqn", "CartPole-v1"], ["a3c", "PixelCatch"]])
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path, agent: list[str]) -> None:
    """A real signal in the middle of a run: 130, a checkpoint, and --resume goes on from it."""
    run = tmp_path / "run"
    words = [
        sys.executable,
        "-m",
        "jackdaw",
        "train",
        *agent,
        "--device",
        "model",
        "--out",
        str(run),
    ]
    if agent[0] == "dqn":
        words += ["--set", "warm=64", "--set", "evaluate_every=100000"]
    code = (  # Ctrl-C as a user presses it: the whole group gets it, once, when training goes on
        "import os, signal, runpy, sys, threading\n"
        "from jackdaw.runtime import callbacks\n"
        "def step(self, training, seen=[0]):\n"
        "    seen[0] += 1\n"
        "    if seen[0] == 20: os.kill(os.getpid(), signal.SIGINT)\n"
        "callbacks.Callbacks.step = step\n"
        "sys.argv = ['jackdaw', *sys.argv[1:]]\n"
        "runpy.run_module('jackdaw', run_name='__main__')\n"
    )
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-c", code, *words[3:]], env=env, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert f"to go on: the same command with --out {run} --resume" in done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads((run / "summary.json").read_text())
    assert summary["interrupted"] and not summary["solved"]
    before = summary["environment_steps"]
    steps = str(summary.get("gradient_steps", before) + 16)
    done = subprocess.run([*words, "--resume", "--steps", steps], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    summary = json.loads((run / "summary.json").read_text())
    assert not summary["interrupted"] and summary["environment_steps"] > before


def test_devices_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    out = capsys.readouterr().out
    assert "ready, Verilator" in out and re.search(r"demo +replay, learner; 64 MiB", out)


def test_a_new_engine_needs_a_free_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        (["replay"], "engine 'replay': want a new name"),
        (["My-Engine"], "engine 'My-Engine': want a new name"),
        (["mine", "--id", "RPLY"], "--id RPLY: another engine has it"),
        (["mine", "--id", "X"], "--id 'X': want four printable characters"),
        (["mine", "--out", str(tmp_path)], "is there already"),
    ):
        assert main(["new-engine", *words]) == 2
        assert text in capsys.readouterr().err
