"""Scripts that look at finished runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import compare
import curves
import precision
import report
import success
import train
from jackdaw.agents.recipes import DqnRecipe
from jackdaw.errors import ConfigError
from jackdaw.runtime.run_folder import kept
from jackdaw.runtime.session import ask


def test_curves_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    train.main(["--device", "model", "--out", str(run), "--max-steps", "3", "--set", "warm=64"])
    capsys.readouterr()
    plot = tmp_path / "curves.png"
    assert curves.main([str(run), "--plot", str(plot)]) == 0
    assert "| dqn | CartPole-v1 | 1 | 3 |" in capsys.readouterr().out
    assert plot.read_bytes().startswith(b"\x89PNG")


ROW = {"agent": "dqn", "environment": "CartPole-v1", "seed": 1, "environment_steps": 6144}
RUN = {
    **ROW, "device": "sim", "threshold": 475.0, "solved": True, "gradient_steps": 1175,
    "mean_return": 499.96, "evaluation_episodes": 100, "history": {},
}  # fmt: skip


def test_success_of_teams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means of the updates before; a run without its end; runs of other agents."""
    values = np.array([float(k % 4 == 0) for k in range(500)])
    got = success.means(values)
    want = [values[max(0, k - 99) : k + 1].mean() for k in range(500)]
    assert np.allclose(got, want, rtol=0, atol=1e-12)
    run = tmp_path / "run"
    train.main(
        ["--agent", "ic3net", "--env", "PredatorPrey-v0", "--device", "model", "--out", str(run),
         "--max-steps", "2", "--groups", "4", "--seed", "3"]
    )  # fmt: skip
    (run / "summary.json").unlink()
    capsys.readouterr()
    plot = tmp_path / "success.png"
    assert success.main([str(run), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "| PredatorPrey-v0 | 4 | 3 | 2 |" in printed and "| G | seed | threshold |" in printed
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = success.load(run)
    load = success.loads(run, 4)
    masks = kept(run)["trainer"]["memories"]["lst"]
    weights = np.bincount(masks["og"].argmax(1), minlength=4)[masks["ig"].argmax(1)]
    assert load["load_sorted_rows"] < load["load_threshold"] < weights.sum()
    assert not success.loads(run, 1) and not success.loads(tmp_path, 4)
    line = success.row({**found, "success": values}, load=load)
    assert success.load_table([line])[-1].split(" | ")[2] == f"{load['load_threshold']:.1f}"
    assert line["at_500"] == line["success"] == 0.25 and "at_1000" not in line
    assert report.success_section({"rows": [line]}).tables[0].rows == [line]
    (run / "config.json").write_text((run / "config.json").read_text().replace("ic3net", "dqn"))
    for folder in (run, tmp_path):
        with pytest.raises(SystemExit):
            success.main([str(folder)])


def test_a_run_beside_its_comparison() -> None:
    others = [{**ROW, "seed": 2, "stable_baselines3": 9.0}, {**ROW, "stable_baselines3": 256.2}]
    row = curves.row(RUN, others)
    assert row["stable_baselines3"] == 256.2
    assert "history" not in row
    assert curves.row(RUN, others[:1])["stable_baselines3"] is None
    lines = report.agents_table({"rows": [row, {**row, "seed": 3, "solved": False}]})
    assert lines[2:] == [
        "| `dqn` | CartPole-v1 | 475 | 1, 3 | 1 175, 1 175 | 500, 500 (not solved) | 256, 256 |"
    ]
    section = report.agents_section({"rows": [row, {**row, "solved": False}]})
    assert section.cards[0]["value"] == "1 / 2"
    assert section.cards[0]["state"] == "bad"


def test_runs_of_three_precisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each; what was learned is near float64, nearer in 32 bits."""
    common = ["--agent", "ddpg-qat", "--env", "Pendulum-v1", "--max-steps", "4",
              "--set", "warm=64", "--set", "evaluate_every=2"]  # fmt: skip
    runs = {"QAT": ("model", 2), "fixed": ("model", 9), "float": ("float", 2)}
    for name, (device, delay) in runs.items():
        folder = tmp_path / name
        train.main(["--device", device, "--out", str(folder), *common, "--set", f"qdelay={delay}"])
    capsys.readouterr()
    plot = tmp_path / "precision.png"
    assert precision.main([*(str(tmp_path / name) for name in runs), "--plot", str(plot)]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split(" | ")[1] for line in lines] == [
        precision.PRECISIONS[kind] for kind in ("float", "fixed", "QAT")
    ]
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = {name: precision.load(tmp_path / name) for name in ("QAT", "fixed")}
    assert found["fixed"]["errors"]["mse_q"] < found["QAT"]["errors"]["mse_q"] < 1e-6
    section = report.precision_section({"rows": [precision.row(run) for run in found.values()]})
    assert len(section.tables[0].rows) == 2
    with pytest.raises(ValueError, match="want ddpg-qat"):
        run = tmp_path / "other"
        train.main(["--device", "model", "--out", str(run), "--max-steps", "3", "--set", "warm=64"])
        precision.load(run)


def test_a_comparison_of_other_steps_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, compared = tmp_path / "run", tmp_path / "compared.json"
    train.main(["--device", "model", "--out", str(run), "--max-steps", "3", "--set", "warm=64"])
    compared.write_text(json.dumps([{**ROW, "stable_baselines3": 256.2}]))
    with pytest.raises(SystemExit):
        curves.main([str(run), "--compared", str(compared)])
    assert "compared after 6144 environment steps, the run has" in capsys.readouterr().err


def test_pairs_of_a_recipe_are_set() -> None:
    def chosen(*changes: str) -> DqnRecipe:
        recipe = ask("dqn", "CartPole-v1", texts=list(changes))[0].recipe
        assert isinstance(recipe, DqnRecipe)
        return recipe

    assert chosen("epsilon=0.5,0.25", "hidden=32,16").epsilon == (0.5, 0.25)
    assert chosen("hidden=32").hidden == (32,)
    assert chosen("double=True").double
    for change in ("hidden=a,b", "hidden=", "epsilon=1", "epsilon=0,2", "double=1"):
        with pytest.raises(ConfigError):
            chosen(change)


@pytest.mark.parametrize("script", [compare, curves, precision])
def test_folders_without_a_run_are_refused(
    script: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main([str(tmp_path / "nothing")])  # type: ignore[attr-defined]
    assert "no finished run" in capsys.readouterr().err
