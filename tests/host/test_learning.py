"""The host loop and the recipe learn, judged without the accelerator (PyTorch, golden replay)."""

from __future__ import annotations

import gymnasium
import pytest
import torch

from jackdaw.agents.base import EnvironmentSpec
from jackdaw.agents.dqn import DqnAgent
from jackdaw.agents.recipes import CARTPOLE
from jackdaw.runtime.cpu_trainer import CpuTrainer
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
