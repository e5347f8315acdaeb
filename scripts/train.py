#!/usr/bin/env python3
"""Train an agent on the accelerator: simulated RTL or golden models; or in float32 beside them.

    scripts/train.py --agent dqn --env CartPole-v1 --device sim --seed 1 --out runs/cartpole

Writes config.json, summary.json, curve.png, TensorBoard events and a checkpoint into the folder.
Exit code 0 only if the evaluation (100 greedy episodes) reached the recipe's threshold.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from jackdaw.agents.recipes import RECIPES, Recipe, recipe, settings_from
from jackdaw.device import load_config, open_device
from jackdaw.errors import EXPECTED
from jackdaw.runtime.run_folder import RunFolder
from jackdaw.runtime.training import train_agent, training_of


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    known = ", ".join(f"{a} on {e}" for a, e in RECIPES)
    parser.add_argument("--agent", default="dqn", help=f"recipes: {known}")
    parser.add_argument("--env", default="CartPole-v1", help="Gymnasium id")
    parser.add_argument("--device", choices=("sim", "model", "float"), default="sim",
                        help="float: no device but PyTorch, to compare ddpg-qat with")  # fmt: skip
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
    options = parser.parse_args(argv)
    if options.checkpoint_every < 1:
        parser.error(f"--checkpoint-every: got {options.checkpoint_every}, want at least 1")
    return options


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
    except EXPECTED as error:
        print(f"train: {error}", file=sys.stderr)
        return 2


def train(options: argparse.Namespace) -> int:
    """Train and judge. Raises: those of EXPECTED."""
    chosen = chosen_recipe(options)
    options.config = options.config or chosen.config
    load_config(options.config)
    with RunFolder(
        options.out,
        training_of(chosen).identity(chosen, options.seed, options.config),
        resume=options.resume,
        overwrite=options.overwrite,
    ) as folder:
        return run(options, chosen, folder)


def run(options: argparse.Namespace, chosen: Recipe, folder: RunFolder) -> int:
    """Train in a folder, and judge."""
    print(
        f"Jackdaw: {options.agent} on {options.env}, device {options.device} "
        f"(configuration {options.config}), seed {options.seed}"
    )
    began = time.perf_counter()
    with nullcontext() if options.device == "float" else open_device(
        options.device, config=options.config, memory=options.memory, seed=options.seed,
        assertions=options.assertions, compiled_arithmetic=not options.assertions,
    ) as device:  # fmt: skip
        if options.device == "sim":
            print(f"simulator ready after {time.perf_counter() - began:.1f} s", flush=True)
        names = ("agent", "device", "config", "memory", "mode", "seed")
        about = {name: getattr(options, name) for name in names}
        summary = train_agent(
            device, chosen, options.seed, folder, about, options.mode, options.checkpoint_every
        )
    shown = {k: v for k, v in summary.items() if not isinstance(v, dict)}  # the file has all
    width = max(len(k) for k in shown)
    print("\n".join(f"  {k:{width}}  {v}" for k, v in shown.items()))
    print(f"{folder.curve}  {folder.summary}  (tensorboard --logdir {folder.path})")
    return 0 if summary["solved"] else 1


if __name__ == "__main__":
    sys.exit(main())
