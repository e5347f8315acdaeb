#!/usr/bin/env python3
"""Train an agent on the accelerator: simulated RTL or golden models.

    scripts/train.py --agent dqn --env CartPole-v1 --device sim --seed 1 --out runs/cartpole

Writes config.json, summary.json, curve.png, TensorBoard events and a checkpoint into the folder.
Exit code 0 only if the evaluation (100 greedy episodes) reached the recipe's threshold.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from jackdaw.agents.base import EnvironmentSpec
from jackdaw.agents.make import make_agent
from jackdaw.agents.recipes import RECIPES, Recipe, recipe, settings_from
from jackdaw.device import load_config, open_device
from jackdaw.errors import ConfigError
from jackdaw.runtime import checkpoint
from jackdaw.runtime.coordinator import EVALUATION_EPISODES, Lockstep, Progress
from jackdaw.runtime.environment import Environment
from jackdaw.runtime.evaluation import evaluate
from jackdaw.runtime.report import Reporter, draw_curve, write_json
from jackdaw.runtime.seeds import derive, generator
from jackdaw.runtime.trainer import DeviceTrainer


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    known = ", ".join(f"{a} on {e}" for a, e in RECIPES)
    parser.add_argument("--agent", default="dqn", help=f"recipes: {known}")
    parser.add_argument("--env", default="CartPole-v1", help="Gymnasium id")
    parser.add_argument("--device", choices=("sim", "model"), default="sim")
    parser.add_argument("--config", help="build configuration in configs/ (the recipe's)")
    parser.add_argument("--memory", default="D", help="memory preset of the simulator: D S Q I")
    parser.add_argument("--assertions", action="store_true",
                        help="keep the RTL's assertions and simulate its multipliers and adders,"
                        " too: slower, the same bits")  # fmt: skip
    parser.add_argument("--mode", choices=("comm_reduction", "default"), default="comm_reduction")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")
    parser.add_argument("--max-steps", type=int, help="gradient steps at most (of the recipe)")
    parser.add_argument("--checkpoint-every", type=int, default=100, help="gradient steps")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the recipe; NAME=VALUE,VALUE for pairs",
    )
    return parser.parse_args(argv)


def chosen_recipe(options: argparse.Namespace) -> Recipe:
    """The recipe with the command line's changes. Raises ConfigError."""
    base = recipe(options.agent, options.env)
    changes = settings_from(base, options.set)
    if options.max_steps is not None:
        changes["max_steps"] = options.max_steps
    return replace(base, **changes)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        return train(options)
    except (ConfigError, FileNotFoundError) as error:
        print(f"train: {error}", file=sys.stderr)
        return 2


def train(options: argparse.Namespace) -> int:
    """Train and judge. Raises ConfigError, FileNotFoundError before anything is trained."""
    chosen = chosen_recipe(options)
    options.config = options.config or chosen.config
    load_config(options.config)  # before a folder is touched
    saved = options.out / "checkpoint.pkl"
    if options.out.exists() and any(options.out.iterdir()) and not options.resume:
        if not options.overwrite:
            print(f"train: {options.out} is not empty; --resume or --overwrite", file=sys.stderr)
            return 2
        shutil.rmtree(options.out)
    options.out.mkdir(parents=True, exist_ok=True)

    def make() -> gymnasium.Env[Any, Any]:
        return Environment(options.env)

    environment = make()
    spec = EnvironmentSpec.of(environment)
    environment.close()
    agent = make_agent(chosen, spec)
    # What must be the same for a run to go on from a checkpoint (its end may be moved).
    identity = {
        **asdict(replace(chosen, max_steps=1)),
        "seed": options.seed,
        "config": options.config,
    }
    identity = {k: list(v) if isinstance(v, tuple) else v for k, v in identity.items()}
    write_json(
        options.out / "config.json",
        {
            "recipe": asdict(chosen),
            **{
                k: getattr(options, k)
                for k in ("agent", "device", "config", "memory", "mode", "seed")
            },
        },
    )
    print(
        f"Jackdaw: {options.agent} on {options.env}, device {options.device} "
        f"(configuration {options.config}), seed {options.seed}"
    )
    began = time.perf_counter()
    with open_device(
        options.device, config=options.config, memory=options.memory, seed=options.seed,
        assertions=options.assertions, compiled_arithmetic=not options.assertions,
    ) as device:  # fmt: skip
        if options.device == "sim":
            print(f"simulator ready after {time.perf_counter() - began:.1f} s", flush=True)
        began = time.perf_counter()
        parameters = agent.initial_parameters(generator(options.seed, "network"))
        trainer = DeviceTrainer(
            device, agent, parameters, derive(options.seed, "replay"), options.mode
        )
        run = Lockstep(agent, trainer, make, options.seed, parameters[0])
        if options.resume:
            state = checkpoint.load(saved, identity)
            trainer.load_state(state["trainer"])
            run.load_state(state["run"])
        reporter = Reporter(options.out, chosen.max_steps, run.progress.gradient_steps)
        interrupted = False

        def on_signal(*_: object) -> None:
            nonlocal interrupted
            interrupted = True

        previous = signal.signal(signal.SIGINT, on_signal)

        def save() -> None:
            checkpoint.save(saved, identity, {"trainer": trainer.state(), "run": run.state()})

        def report(progress: Progress) -> None:
            reporter(progress)
            steps = progress.gradient_steps
            if steps and steps % options.checkpoint_every == 0:
                save()

        try:
            solved = run.run(report, lambda: interrupted)
        finally:
            signal.signal(signal.SIGINT, previous)
            reporter.close()
            run.close()
        save()
        seconds = time.perf_counter() - began
        if solved:
            mean = run.history.evaluations[-1][2]
        else:
            returns = evaluate(
                agent,
                trainer.parameters(),
                make,
                EVALUATION_EPISODES,
                derive(options.seed, "final"),
            )
            mean = float(np.mean(returns))
        summary = {
            "environment": options.env,
            "device": options.device,
            "config": options.config,
            "seed": options.seed,
            "solved": mean >= chosen.threshold,
            "threshold": chosen.threshold,
            "mean_return": mean,
            "evaluation_episodes": EVALUATION_EPISODES,
            "gradient_steps": run.progress.gradient_steps,
            "environment_steps": run.progress.environment_steps,
            "episodes": run.progress.episodes,
            "wall_seconds": round(seconds, 2),
            "device_seconds": round(run.progress.device_seconds, 2),
            **trainer.measurements(),
        }
        if run.progress.device_seconds:
            summary["simulated_cycles_per_second"] = round(
                run.progress.cycles / run.progress.device_seconds
            )
    write_json(options.out / "summary.json", summary)
    draw_curve(
        options.out / "curve.png",
        f"{options.agent} on {options.env}, device {options.device}, seed {options.seed}",
        run.history,
        chosen.threshold,
    )
    width = max(len(k) for k in summary)
    print("\n".join(f"  {k:{width}}  {v}" for k, v in summary.items()))
    print(
        f"{options.out}/curve.png  {options.out}/summary.json  (tensorboard --logdir {options.out})"
    )
    return 0 if summary["solved"] else 1


if __name__ == "__main__":
    sys.exit(main())
