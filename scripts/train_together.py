#!/usr/bin/env python3
"""Train two agents at the same time on one device: DQN on CartPole, A3C on PixelCatch.

    scripts/train_together.py --device sim --seed 1 --out runs/together

The replay and the learner engine train one, the a3c engine the other (configuration `all`). Writes
summary.json and curve.png. Exit code 0 if both reached their goals. With `--only` an agent trains
alone, to the same bits.
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
from jackdaw.agents.recipes import Recipe, recipe, settings_from
from jackdaw.device import load_config, open_device
from jackdaw.device.base import Device
from jackdaw.errors import ConfigError
from jackdaw.runtime.coordinator import Lockstep
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.report import write_json
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.together import in_turn
from jackdaw.runtime.trainer import DeviceTrainer
from models.a3c.network import NET_S

CARTPOLE, PIXEL_CATCH = "CartPole-v1", "jackdaw/PixelCatch-v0"


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("sim", "model"), default="sim")
    parser.add_argument("--config", default="all", help="with replay, learner and a3c")
    parser.add_argument("--only", choices=("cartpole", "pixelcatch"), help="one agent, alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change CartPole's recipe: warm=64, max_steps=20, ...")  # fmt: skip
    parser.add_argument("--steps", type=int, default=80_000, help="of PixelCatch at most")
    parser.add_argument("--agents", type=int, default=16, help="of PixelCatch")
    parser.add_argument("--assertions", action="store_true", help="keep the RTL's assertions")
    options = parser.parse_args(argv)
    for name in ("steps", "agents"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: got {getattr(options, name)}, want at least 1")
    return options


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        base = recipe("dqn", CARTPOLE)
        return train(options, replace(base, **settings_from(base, options.set)))
    except (ConfigError, FileNotFoundError) as error:
        print(f"train_together: {error}", file=sys.stderr)
        return 2


def train(options: argparse.Namespace, chosen: Recipe) -> int:
    """Train to the goals or limits. Raises: ConfigError, FileNotFoundError."""
    config = load_config(options.config)
    needed = {"cartpole": {"replay", "learner"}, "pixelcatch": {"a3c"}}
    agents = [options.only] if options.only else list(needed)
    missing = set().union(*(needed[agent] for agent in agents))
    missing -= {instance.engine.name for instance in config.instances}
    if missing:
        raise ConfigError(f"configuration {config.name} has no {', '.join(sorted(missing))}")
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with open_device(
        options.device, config, seed=options.seed, assertions=options.assertions,
        compiled_arithmetic=not options.assertions,
    ) as device:  # fmt: skip
        making: dict[str, type[Balance | Catch]] = {"cartpole": Balance, "pixelcatch": Catch}
        runs: dict[str, Balance | Catch] = {
            agent: making[agent](device, options, chosen) for agent in agents
        }
        most = sum(run.most for run in runs.values())
        with tqdm(total=most, unit="step", dynamic_ncols=True,
                  mininterval=0.2 if sys.stderr.isatty() else 20.0) as bar:  # fmt: skip
            for _ in in_turn({name: run.rounds() for name, run in runs.items()}):
                told = [run.told() for run in runs.values()]
                told.append(f"{device.cycles() / 1e6:.1f} Mcycles")
                bar.set_postfix_str(", ".join(told), refresh=False)
                bar.update(sum(run.step for run in runs.values()) - bar.n)
        summary: dict[str, Any] = {
            "device": options.device,
            "config": config.name,
            "seed": options.seed,
            **{name: run.summary() for name, run in runs.items()},
            "cycles": device.cycles(),
            "wall_seconds": round(time.perf_counter() - began, 1),
        }
    draw(options.out / "curve.png", list(runs.values()))
    write_json(options.out / "summary.json", summary)
    for name, value in summary.items():
        for key, one in value.items() if isinstance(value, dict) else ((name, value),):
            print(f"  {name if key == name else f'{name} {key}':30}  {one}")
    print(f"{options.out}/curve.png  {options.out}/summary.json")
    return 0 if all(run.solved for run in runs.values()) else 1


class Balance:
    """DQN on CartPole, on the replay and the learner engine."""

    title, label, window, goal = "DQN on CartPole", "gradient steps", 20, 475.0

    def __init__(self, device: Device, options: argparse.Namespace, chosen: Recipe) -> None:
        def make() -> gymnasium.Env[Any, Any]:
            return Environment(CARTPOLE)

        environment = make()
        agent = make_agent(chosen, EnvironmentSpec.of(environment))
        environment.close()
        parameters = agent.initial_parameters(generator(options.seed, "network"))
        self.trainer = DeviceTrainer(device, agent, parameters, derive(options.seed, "replay"))
        self.run = Lockstep(agent, self.trainer, make, options.seed, parameters[0])
        self.most = chosen.max_steps

    def rounds(self) -> Iterator[Any]:
        """Train until the evaluation reaches the goal."""
        yield from self.run.rounds()
        self.run.close()

    @property
    def step(self) -> int:
        """Gradient steps so far."""
        return self.run.progress.gradient_steps

    @property
    def solved(self) -> bool:
        """Whether an evaluation reached the goal."""
        return self.run.solved

    def told(self) -> str:
        """Where it is."""
        return f"CartPole {self.run.progress.mean_return:.0f} of {self.goal:.0f}"

    def curve(self) -> tuple[list[int], list[float]]:
        """Step and return of each episode."""
        episodes = self.run.history.episodes
        return [e[1] for e in episodes], [e[2] for e in episodes]

    def summary(self) -> dict[str, Any]:
        """How it ended; the hash is of all parameters and the optimizer's state."""
        bits = hashlib.sha256()
        for saved in self.trainer.state()["learner"]:
            for name in sorted(saved):
                bits.update(np.ascontiguousarray(saved[name]).tobytes())
        evaluations = self.run.history.evaluations
        return {
            "solved": self.solved,
            "gradient_steps": self.step,
            "mean_return": evaluations[-1][2] if evaluations else self.run.progress.mean_return,
            "parameters_sha256": bits.hexdigest(),
        }


class Catch:
    """A3C on PixelCatch, on the a3c engine."""

    title, label, window, goal = "A3C on PixelCatch", "environment steps", 200, 0.9

    def __init__(self, device: Device, options: argparse.Namespace, _: Recipe) -> None:
        settings = A3cSettings(agents=options.agents, eps=1e-5)
        self.run = A3c(lambda: gymnasium.make(PIXEL_CATCH), NET_S, device, settings, options.seed)
        self.most = options.steps
        self.ends: list[int] = []
        self.returns: list[float] = []

    def rounds(self) -> Iterator[Any]:
        """Train until the mean of the newest episodes reaches the goal."""
        for ended in self.run.rounds(self.most):
            for episode in ended:
                self.ends.append(episode.step)
                self.returns.append(episode.total)
            yield
            if self.solved:
                return

    @property
    def step(self) -> int:
        """Environment steps so far."""
        return self.run.step

    @property
    def mean(self) -> float:
        """Mean return of the newest episodes."""
        return float(np.mean(self.returns[-self.window :])) if self.returns else 0.0

    @property
    def solved(self) -> bool:
        """Whether enough episodes reached the goal."""
        return len(self.returns) >= self.window and self.mean >= self.goal

    def told(self) -> str:
        """Where it is."""
        return f"PixelCatch {self.mean:.2f} of {self.goal}"

    def curve(self) -> tuple[list[int], list[float]]:
        """Step and return of each episode."""
        return self.ends, self.returns

    def summary(self) -> dict[str, Any]:
        """How it ended; the hash is of all parameters and mean squares."""
        final = [self.run.parameters(), self.run.engine.read_g(self.run.net)]
        bits = hashlib.sha256(b"".join(self.run.net.map.pack(one).tobytes() for one in final))
        return {
            "solved": self.solved,
            "steps": self.step,
            "updates": self.run.updates,
            "mean_return": round(self.mean, 4),
            "parameters_sha256": bits.hexdigest(),
        }


def draw(path: Path, runs: list[Balance | Catch]) -> None:
    """The curves."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(runs), figsize=(4.8 * len(runs), 3.6), dpi=120, squeeze=False
    )
    for ax, run in zip(axes[0], runs, strict=True):
        steps, values = run.curve()
        ax.plot(steps, values, ".", color="#9ecae1", markersize=3, label="episode")
        mean = [np.mean(values[max(0, i - run.window + 1) : i + 1]) for i in range(len(values))]
        ax.plot(steps, mean, color="#08519c", label=f"mean of {run.window}")
        ax.axhline(run.goal, color="#666666", linewidth=0.8, linestyle="--")
        ax.set(title=run.title, xlabel=run.label, ylabel="return")
        ax.grid(alpha=0.25)
        ax.legend(loc="best", fontsize=8)
    figure.suptitle(f"{len(runs)} agents on one device" if len(runs) > 1 else "one agent, alone")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
