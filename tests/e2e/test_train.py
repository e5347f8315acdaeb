"""End to end: training on the simulated RTL and on the golden models gives the same bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import train
from flow.regression import builds, keep, regress
from jackdaw.agents.recipes import recipe
from jackdaw.device import load_config, open_device
from jackdaw.runtime import checkpoint

CARTPOLE = ("dqn", "CartPole-v1")
AGENTS = [
    ("dqn", "LunarLander-v3"),
    ("ddpg", "Pendulum-v1"),
    ("ddpg-lagged", "Pendulum-v1"),
    ("td3", "LunarLanderContinuous-v3"),
]


def run(
    folder: Path,
    device: str,
    steps: int,
    *more: str,
    seed: int = 1,
    agent: tuple[str, str] = CARTPOLE,
) -> dict[str, Any]:
    """Train for some steps and return the checkpoint's state."""
    train.main(
        ["--device", device, "--seed", str(seed), "--out", str(folder), "--max-steps", str(steps)]
        + ["--agent", agent[0], "--env", agent[1]]
        + ["--assertions", "--set", "warm=64", "--set", "evaluate_every=100000"]
        + ["--set", "capacity=128", *more]
    )
    return checkpoint.load(folder / "checkpoint.npz")


def differences(a: Any, b: Any, path: str = "state") -> list[str]:
    """Name every leaf in which two states differ, to the bit."""
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return [f"{path}: {sorted(a)} and {sorted(b)}"]
        return [d for k in a for d in differences(a[k], b[k], f"{path}.{k}")]
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return [f"{path}: lengths {len(a)} and {len(b)}"]
        return [
            d
            for i, (x, y) in enumerate(zip(a, b, strict=True))
            for d in differences(x, y, f"{path}[{i}]")
        ]
    if isinstance(a, np.ndarray):
        return [] if a.dtype == b.dtype and a.tobytes() == b.tobytes() else [path]
    return [] if type(a) is type(b) and a == b else [f"{path}: {a!r} and {b!r}"]


def comparable(state: dict[str, Any], clocks: bool = True) -> dict[str, Any]:
    """A state without wall time, and without the clocks if they are those of two backends."""
    progress = state["run"]["progress"]
    seconds = progress.pop("device_seconds"), progress.pop("seconds")
    assert 0 < seconds[0] < seconds[1]
    figures = state["trainer"]["figures"]
    assert progress["cycles"] == figures["clocks"] > figures["train_cycles"] > 0
    assert figures["train_steps"] == progress["gradient_steps"] > 0 < figures["busy_cycles"]
    if not clocks:
        del progress["cycles"], state["trainer"]["figures"]
    return state


@pytest.mark.parametrize("steps", [3, regress(40), pytest.param(300, marks=pytest.mark.slow)])
@builds(lambda: open_device("sim", recipe(*CARTPOLE).config))
def test_rtl_and_models_train_to_the_same_bits(tmp_path, steps, seed):
    sim = comparable(run(tmp_path / "sim", "sim", steps, seed=seed), clocks=False)
    model = comparable(run(tmp_path / "model", "model", steps, seed=seed), clocks=False)
    assert not differences(sim, model)
    assert sim["run"]["progress"]["gradient_steps"] == steps


@pytest.mark.parametrize("agent", keep(AGENTS, 0), ids="-".join)
@builds(lambda agent: open_device("sim", recipe(*agent).config))
def test_agents_train_to_the_same_bits_on_rtl(tmp_path, agent, seed):
    """A few gradient steps: all networks, moments, targets, priorities and actions are equal.

    In the fast tier the test above is for DQN, the learner's environment for actor-critic programs.
    """
    sim = comparable(run(tmp_path / "sim", "sim", 3, seed=seed, agent=agent), clocks=False)
    model = comparable(run(tmp_path / "model", "model", 3, seed=seed, agent=agent), clocks=False)
    assert not differences(sim, model)
    assert len(sim["trainer"]["learner"]) == {"dqn": 1, "td3": 3}.get(agent[0], 2)


@pytest.mark.parametrize("agent", AGENTS, ids="-".join)
def test_agents_resume_to_the_bit(tmp_path, agent, seed):
    """Stopped in the middle of an episode, between two delayed steps: the run goes on the same."""
    whole = comparable(run(tmp_path / "whole", "model", 10, seed=seed, agent=agent))
    run(tmp_path / "parts", "model", 5, seed=seed, agent=agent)
    parts = comparable(run(tmp_path / "parts", "model", 10, "--resume", seed=seed, agent=agent))
    assert not differences(whole, parts)


def test_pendulum_is_solved_on_the_models(tmp_path, seed):
    """DDPG, all gradient steps in the golden models' arithmetic."""
    arguments = ["--agent", "ddpg", "--env", "Pendulum-v1", "--device", "model"]
    assert train.main([*arguments, "--seed", str(seed), "--out", str(tmp_path / "run")]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["solved"] and summary["mean_return"] >= -200
    assert summary["gradient_steps"] <= 3000


def test_default_mode_trains_to_the_same_bits(tmp_path, seed):
    a = comparable(run(tmp_path / "a", "model", 30, seed=seed), clocks=False)
    b = run(tmp_path / "b", "model", 30, "--mode", "default", seed=seed)
    b = comparable(b, clocks=False)  # the same bits in other clocks
    assert not differences(a, b)


def test_resumed_run_equals_uninterrupted_run(tmp_path, seed):
    """In the figures, too: checkpoints, however many, are in none of them."""
    whole = comparable(run(tmp_path / "whole", "model", 30, seed=seed))
    run(tmp_path / "parts", "model", 13, "--checkpoint-every", "3", seed=seed)
    parts = comparable(run(tmp_path / "parts", "model", 30, "--resume", seed=seed))
    assert not differences(whole, parts)
    summaries = [
        json.loads((tmp_path / p / "summary.json").read_text()) for p in ("whole", "parts")
    ]
    for summary in summaries:
        assert summary["cycles_per_engine"] is None  # the models have no such counters
        assert "simulated_cycles_per_second" not in summary
        for name in ("wall_seconds", "device_seconds"):
            assert summary.pop(name) > 0
    assert summaries[0] == summaries[1]
    assert summaries[0]["total_cycles"] == whole["run"]["progress"]["cycles"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--agent", "sac"], "no agent sac; there are: dqn, "),
        (["--agent", "ddpg"], "CartPole-v1: ddpg wants continuous actions, got Discrete(2)"),
        (["--agent", "dqn", "--env", "Pendulum-v1"], "dqn wants discrete actions, got Box"),
        (["--agent", "a3c"], "a3c wants frames of [2, 12, 12] or [4, 84, 84]"),
        (["--env", "Nothing-v1"], "Nothing-v1: Environment `Nothing` doesn't exist"),
        (["--config", "nothing"], "no configuration nothing"),
        (["--agent", "ddpg", "--env", "Pendulum-v1", "--config", "demo"], "ActorCritic = 0"),
        (["--set", "batch=65"], "replay of this build has 1..64"),
        (["--set", "tau=1"], "the recipe has no tau"),
        (
            ["--set", "batch=many"],
            "--set batch=many: batch: got 'many', want a whole number, 1..65535",
        ),
        (["--resume"], "checkpoint.npz"),
    ],
)
def test_bad_options_have_named_errors(tmp_path, capsys, options, text):
    arguments = ["--device", "model", "--out", str(tmp_path / "run"), *options]
    assert train.main(arguments) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_resume_refuses_another_run(tmp_path, capsys):
    same_name = tmp_path.parent / "demo.json"
    same_name.write_text(json.dumps(load_config("demo").changed({"replay.KLog2": 2}).data()))
    run(tmp_path, "model", 2)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for options, text in (
        (["--set", "batch=16"], "batch is 32, this run has 16"),
        (["--seed", "2"], "seed is 1, this run has 2"),
        (["--config", str(same_name)], "build replay.KLog2 is 4, this run has 2"),
    ):
        arguments = ["--device", "model", "--out", str(tmp_path), "--resume", "--max-steps", "4"]
        arguments += ["--set", "warm=64", "--set", "evaluate_every=100000", "--set", "capacity=128"]
        assert train.main([*arguments, *options]) == 2
        assert text in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_solved_run_is_not_trained_further(tmp_path):
    """--resume judges it as before; the steps stay."""
    more = ["--set", "threshold=1", "--set", "evaluate_every=2"]
    state = run(tmp_path, "model", 4, *more)
    assert state["run"]["solved"] and state["run"]["progress"]["gradient_steps"] == 2
    again = run(tmp_path, "model", 4, "--resume", *more)
    assert not differences(comparable(state), comparable(again))
    assert json.loads((tmp_path / "summary.json").read_text())["solved"]


def test_an_earlier_run_is_not_lost(tmp_path, capsys):
    run(tmp_path, "model", 1)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    arguments = ["--device", "model", "--out", str(tmp_path), "--max-steps", "1"]
    assert train.main(arguments) == 2
    assert "is not empty; --resume or --overwrite" in capsys.readouterr().err
    # A run that cannot start removes nothing.
    assert train.main([*arguments, "--overwrite", "--set", "batch=65"]) == 2
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    state = run(tmp_path, "model", 2, "--overwrite")
    assert state["run"]["progress"]["gradient_steps"] == 2


def test_a_checkpoint_every_no_steps_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        train.main(["--out", str(tmp_path / "run"), "--checkpoint-every", "0"])
    assert "--checkpoint-every: got 0, want at least 1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_run_folder_is_complete(tmp_path):
    run(tmp_path, "model", 5)
    summary = json.loads((tmp_path / "summary.json").read_text())
    for name in (
        "mean_return",
        "gradient_steps",
        "environment_steps",
        "total_cycles",
        "cycles_per_engine",
        "gradient_steps_per_second_at_clock",
        "learner_utilization",
        "replay_cycles_per_sample",
        "replay_cycles_per_update",
        "wall_seconds",
    ):
        assert name in summary, name
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert (tmp_path / "config.json").exists()
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_model_backend_solves_cartpole(tmp_path):
    code = train.main(["--device", "model", "--seed", "2", "--out", str(tmp_path)])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert code == 0 and summary["mean_return"] >= 475
    assert summary["gradient_steps"] <= 700
