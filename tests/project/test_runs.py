"""Scripts that look at finished runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import compare, curves, train


def test_curves_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    train.main(["--device", "model", "--out", str(run), "--max-steps", "3", "--set", "warm=64"])
    capsys.readouterr()
    plot = tmp_path / "curves.png"
    assert curves.main([str(run), "--plot", str(plot)]) == 0
    assert "| dqn | CartPole-v1 | 1 | 3 |" in capsys.readouterr().out
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("script", [compare, curves])
def test_folders_without_a_run_are_refused(
    script: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main([str(tmp_path / "nothing")])  # type: ignore[attr-defined]
    assert "no finished run" in capsys.readouterr().err
