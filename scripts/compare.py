#!/usr/bin/env python3
"""Compare finished runs of scripts/train.py with Stable-Baselines3 after as many environment steps.

    scripts/compare.py runs/ddpg-pendulum-1 runs/dqn-lander-1 ... [--json FILE]

For each run Stable-Baselines3 trains the same algorithm with a network of the same hidden layers
for as many environment steps, with the settings that RL Baselines3 Zoo tuned for the task; both
are judged by 100 greedy episodes on environments with the same seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.noise import NormalActionNoise

from jackdaw.runtime.environment import Environment
from jackdaw.runtime.seeds import derive

EPISODES = 100
# RL Baselines3 Zoo, hyperparams/dqn.yml, ddpg.yml and td3.yml, but for the networks.
CONTINUOUS: dict[str, Any] = {
    "gamma": 0.98, "buffer_size": 200_000, "learning_rate": 1e-3, "train_freq": 1,
    "gradient_steps": 1,
}  # fmt: skip
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("dqn", "LunarLander-v3"): {
        "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0,
        "gamma": 0.99, "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1,
        "exploration_fraction": 0.12, "exploration_final_eps": 0.1,
    },
    ("dqn", "CartPole-v1"): {
        "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000,
        "learning_starts": 1000, "gamma": 0.99, "target_update_interval": 10, "train_freq": 256,
        "gradient_steps": 128, "exploration_fraction": 0.16, "exploration_final_eps": 0.04,
    },
    **{
        (agent, env): {**CONTINUOUS, "learning_starts": starts}
        for agent in ("ddpg", "td3")
        for env, starts in (("Pendulum-v1", 1000), ("LunarLanderContinuous-v3", 10_000))
    },
}  # fmt: skip


def train(agent: str, name: str, steps: int, hidden: list[int], seed: int) -> tuple[Any, float]:
    """Train; returns the model and seconds."""
    settings = dict(SETTINGS[agent, name])
    environment = Environment(name)
    if agent != "dqn":
        shape = environment.action_space.shape
        assert shape is not None
        settings["action_noise"] = NormalActionNoise(np.zeros(shape), 0.1 * np.ones(shape))
    kinds = {"dqn": sb3.DQN, "ddpg": sb3.DDPG, "td3": sb3.TD3}
    model = kinds[agent](
        "MlpPolicy", environment, policy_kwargs={"net_arch": hidden}, seed=seed, **settings
    )
    began = time.perf_counter()
    model.learn(steps)
    return model, time.perf_counter() - began


def judge(model: Any, name: str, seed: int) -> float:
    """Mean return of greedy episodes, all at once."""
    environments = [Environment(name) for _ in range(EPISODES)]
    states = np.stack([e.reset(seed=(seed + i) % (1 << 31))[0] for i, e in enumerate(environments)])
    returns, active = np.zeros(EPISODES), np.arange(EPISODES)
    while active.size:
        actions, _ = model.predict(states[active], deterministic=True)
        ended = np.zeros(active.size, bool)
        for k, (i, action) in enumerate(zip(active, actions, strict=True)):
            states[i], reward, terminated, truncated, _ = environments[i].step(action)
            returns[i] += reward
            ended[k] = terminated or truncated
        active = active[~ended]
    return float(returns.mean())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of scripts/train.py")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    runs = []
    for folder in options.runs:  # all are looked at before the first is trained
        try:
            config = json.loads((folder / "config.json").read_text())
            summary = json.loads((folder / "summary.json").read_text())
        except FileNotFoundError as error:
            parser.error(f"{folder} is no finished run of scripts/train.py: {error}")
        agent, name = config["agent"].split("-")[0], summary["environment"]
        if (agent, name) not in SETTINGS:
            parser.error(f"{folder}: no settings for {agent} on {name}")
        runs.append((config, summary, agent, name))
    rows = []
    print("| run | seed | environment steps | gradient steps | Jackdaw | SB3 | its seconds |")
    print("|---|---|---|---|---|---|---|")
    for config, summary, agent, name in runs:
        steps = summary["environment_steps"]
        model, seconds = train(agent, name, steps, config["recipe"]["hidden"], config["seed"])
        mean = judge(model, name, derive(config["seed"], "compare"))
        rows.append(
            {"agent": config["agent"], "environment": name, "seed": config["seed"],
             "environment_steps": steps, "gradient_steps": summary["gradient_steps"],
             "mean_return": summary["mean_return"], "stable_baselines3": mean,
             "seconds": round(seconds, 1)}
        )  # fmt: skip
        print(f"| {config['agent']} on {name} | {config['seed']} | {steps} | "
              f"{summary['gradient_steps']} | {summary['mean_return']:.1f} | {mean:.1f} | "
              f"{seconds:.0f} |", flush=True)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
