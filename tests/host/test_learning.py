"""The host loop and the recipe learn, judged without the accelerator (PyTorch, golden replay)."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch

import jackdaw
from jackdaw.agents.base import EnvironmentSpec
from jackdaw.agents.dqn import DqnAgent
from jackdaw.agents.recipes import CARTPOLE
from jackdaw.device import open_device
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.runtime.cpu_trainer import CpuTrainer
from jackdaw.runtime.device_trainer import store_rows
from jackdaw.runtime.lockstep import LockstepRun
from jackdaw.runtime.seeds import derive, generator


@pytest.mark.parametrize("run_seed", [1, 2])
def test_cartpole_is_solved_on_the_cpu(run_seed):
    torch.set_num_threads(1)
    agent = DqnAgent(CARTPOLE, EnvironmentSpec(4, 2))
    (parameters,) = agent.initial_parameters(generator(run_seed, "network"))
    trainer = CpuTrainer(agent, parameters, derive(run_seed, "replay"))
    run = LockstepRun(agent, trainer, lambda: gymnasium.make("CartPole-v1"), run_seed, parameters)
    try:
        for _ in run.rounds():
            pass
    finally:
        run.close()
    assert run.solved
    steps, episodes, mean = run.history.evaluations[-1]
    assert episodes == 100 and mean >= 475 and steps <= 700


@pytest.mark.parametrize(
    ("agent", "environment", "settings"),
    [
        ("dqn", "CartPole-v1", {"ratio": 32, "capacity": 64, "batch": 32, "warm": 64}),
        ("ddpg-qat", "Pendulum-v1", {"ratio": 1, "capacity": 8, "batch": 8, "warm": 8}),
    ],
)
def test_an_episode_s_end_fits_any_legal_capacity(agent, environment, settings, tmp_path):
    """It completes up to `n_step` - 1 transitions beside those of the round."""
    jackdaw.train(agent, environment, device="model", out=tmp_path / "run", n_step=10,
                  max_steps=220, **settings)  # fmt: skip


def test_more_rows_than_the_engine_reserves_are_stored_in_order(seed):
    rng = np.random.default_rng(seed)
    with open_device("model", "small") as device:
        replay = Replay(device, ReplaySettings(leaves=9, seed=seed))
        base, want = replay.alloc(9 * 64), np.zeros((9, 64), np.uint8)
        for count, at in ((3, 0), (25, 3), (0, 1), (9, 1), (4, 1)):
            rows = rng.integers(0, 256, (count, 64), dtype=np.uint8)
            store_rows(device, replay, base, rows)
            for number, row in enumerate(rows):
                want[(at + number) % 9] = row
            assert np.array_equal(device.read(base, 9 * 64).reshape(9, 64), want)
        assert replay.statistics()["N_INSERT"] == 41
