#!/usr/bin/env python3
"""Train two agents at the same time on one device: DQN on CartPole, A3C on PixelCatch.

    scripts/train_together.py --device sim --seed 1 --out runs/together

The replay and the learner engine train one, the a3c engine the other (configuration `all`). Writes
summary.json and curve.png. Exit code 0 if both reached their goals.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from tqdm import tqdm

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from jackdaw.agents.a3c import A3c, A3cSettings
from jackdaw.agents.base import EnvironmentSpec
from jackdaw.agents.make import make_agent
from jackdaw.agents.recipes import Recipe, recipe
from jackdaw.device import load_config, open_device
from jackdaw.device.base import Device
from jackdaw.runtime.coordinator import Lockstep
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.report import write_json
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.together import in_turn
from jackdaw.runtime.trainer import DeviceTrainer
from models.a3c.network import NET_S

CARTPOLE, PIXEL_CATCH = "CartPole-v1", "jackdaw/PixelCatch-v0"
GOAL, WINDOW = 0.9, 200  # mean return of PixelCatch over so many episodes


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("sim", "model"), default="sim")
    parser.add_argument("--config", default="all", help="with replay, learner and a3c")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gradient-steps", type=int, help="of CartPole at most (the recipe's)")
    parser.add_argument("--steps", type=int, default=80_000, help="of PixelCatch at most")
    parser.add_argument("--agents", type=int, default=16, help="of PixelCatch")
    parser.add_argument("--assertions", action="store_true", help="keep the RTL's assertions")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    load_config(options.config)  # before anything is made
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = recipe("dqn", CARTPOLE)
    if options.gradient_steps is not None:
        chosen = replace(chosen, max_steps=options.gradient_steps, warm=min(chosen.warm, 64))
    began = time.perf_counter()
    with open_device(
        options.device, options.config, seed=options.seed, assertions=options.assertions,
        compiled_arithmetic=not options.assertions,
    ) as device:  # fmt: skip
        summary = train(options, chosen, device, began)
    write_json(options.out / "summary.json", summary)
    print("\n".join(f"  {name:28}  {value}" for name, value in summary.items()))
    print(f"{options.out}/curve.png  {options.out}/summary.json")
    return 0 if summary["cartpole_solved"] and summary["pixelcatch_solved"] else 1


def train(
    options: argparse.Namespace, chosen: Recipe, device: Device, began: float
) -> dict[str, Any]:
    """Train both to their goals or limits; returns what happened."""

    def make() -> gymnasium.Env[Any, Any]:
        return Environment(CARTPOLE)

    environment = make()
    agent = make_agent(chosen, EnvironmentSpec.of(environment))
    environment.close()
    parameters = agent.initial_parameters(generator(options.seed, "network"))
    trainer = DeviceTrainer(device, agent, parameters, derive(options.seed, "replay"))
    balance = Lockstep(agent, trainer, make, options.seed, parameters[0])
    catch = A3c(
        lambda: gymnasium.make(PIXEL_CATCH),
        NET_S,
        device,
        A3cSettings(agents=options.agents, eps=1e-5),
        options.seed,
    )
    ends: list[int] = []
    returns: list[float] = []
    runs = {"cartpole": balance.rounds(), "pixelcatch": caught(catch, options.steps, returns, ends)}
    with tqdm(total=chosen.max_steps + options.steps, unit="step", dynamic_ncols=True,
              mininterval=0.2 if sys.stderr.isatty() else 20.0) as bar:  # fmt: skip
        for _ in in_turn(runs):
            mean = float(np.mean(returns[-WINDOW:])) if returns else 0.0
            bar.set_postfix_str(
                f"CartPole {balance.progress.mean_return:.0f} of 475, PixelCatch {mean:.2f} of "
                f"{GOAL}, {device.cycles() / 1e6:.1f} Mcycles", refresh=False,
            )  # fmt: skip
            bar.update(balance.progress.gradient_steps + catch.step - bar.n)
    balance.close()
    draw(options.out / "curve.png", balance, ends, returns)
    final = catch.net.map.pack(catch.parameters())
    mean = float(np.mean(returns[-WINDOW:])) if returns else 0.0
    bits = hashlib.sha256(final.tobytes())
    for saved in trainer.state()["learner"]:
        for name in sorted(saved):
            bits.update(np.ascontiguousarray(saved[name]).tobytes())
    return {
        "device": options.device,
        "config": options.config,
        "seed": options.seed,
        "cartpole_solved": balance.solved,
        "cartpole_gradient_steps": balance.progress.gradient_steps,
        "cartpole_mean_return": balance.history.evaluations[-1][2]
        if balance.history.evaluations
        else balance.progress.mean_return,
        "pixelcatch_solved": mean >= GOAL,
        "pixelcatch_steps": catch.step,
        "pixelcatch_updates": catch.updates,
        "pixelcatch_mean_return": round(mean, 4),
        "parameters_sha256": bits.hexdigest(),
        "cycles": device.cycles(),
        "wall_seconds": round(time.perf_counter() - began, 1),
    }


def caught(run: A3c, steps: int, returns: list[float], ends: list[int]) -> Iterator[int]:
    """The rounds of PixelCatch until its goal."""
    for ended in run.rounds(steps):
        for episode in ended:
            ends.append(episode.step)
            returns.append(episode.total)
        yield run.step
        if len(returns) >= WINDOW and np.mean(returns[-WINDOW:]) >= GOAL:
            return


def draw(path: Path, balance: Lockstep, ends: list[int], returns: list[float]) -> None:
    """Both curves."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), dpi=120)
    episodes = balance.history.episodes
    curves = (
        (axes[0], "DQN on CartPole", "gradient steps", [e[1] for e in episodes],
         [e[2] for e in episodes], 20, 475.0),
        (axes[1], "A3C on PixelCatch", "environment steps", ends, returns, WINDOW, GOAL),
    )  # fmt: skip
    for ax, title, label, steps, values, window, goal in curves:
        ax.plot(steps, values, ".", color="#9ecae1", markersize=3, label="episode")
        mean = [np.mean(values[max(0, i - window + 1) : i + 1]) for i in range(len(values))]
        ax.plot(steps, mean, color="#08519c", label=f"mean of {window}")
        ax.axhline(goal, color="#666666", linewidth=0.8, linestyle="--")
        ax.set(title=title, xlabel=label, ylabel="return")
        ax.grid(alpha=0.25)
        ax.legend(loc="best", fontsize=8)
    figure.suptitle("one device, two agents at the same time")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
