#!/usr/bin/env python3
"""Train two agents at the same time on one device: DQN on CartPole, A3C on PixelCatch.

    scripts/train_together.py --device sim --seed 1 --out runs/together

The replay and the learner engine train one, the a3c engine the other (configuration `all`). Writes
config.json, summary.json, curve.png, TensorBoard events and a checkpoint. Exit code 0 if both
reached their goals. With `--only` an agent trains alone, to the same bits.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from jackdaw.agents.a3c import PIXEL_CATCH
from jackdaw.agents.recipes import Recipe, recipe, settings_from
from jackdaw.device import load_config, open_device
from jackdaw.errors import EXPECTED, ConfigError
from jackdaw.runtime.figures import Elapsed
from jackdaw.runtime.run_folder import RunFolder
from jackdaw.runtime.training import AsynchronousTraining, LockstepTraining, Training, train

NEEDED = {"cartpole": {"replay", "learner"}, "pixelcatch": {"a3c"}}
TITLES = {"cartpole": "DQN on CartPole", "pixelcatch": "A3C on PixelCatch"}


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("sim", "model"), default="sim")
    parser.add_argument("--config", default="all", help="with replay, learner and a3c")
    parser.add_argument("--only", choices=tuple(NEEDED), help="one agent, alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change CartPole's recipe: warm=64, max_steps=20, ...")  # fmt: skip
    parser.add_argument("--steps", type=int, default=80_000, help="of PixelCatch at most")
    parser.add_argument("--agents", type=int, default=16, help="of PixelCatch")
    parser.add_argument("--assertions", action="store_true", help="keep the RTL's assertions")
    parser.add_argument("--checkpoint-minutes", type=float, default=10.0,
                        help="between two checkpoints")  # fmt: skip
    parser.add_argument("--resume", action="store_true",
                        help="go on from the checkpoint; episodes of A3C begin anew")  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run")
    options = parser.parse_args(argv)
    for name in ("steps", "agents"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: got {getattr(options, name)}, want at least 1")
    return options


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        base = recipe("dqn", "CartPole-v1")
        return together(options, replace(base, **settings_from(base, options.set)))
    except EXPECTED as error:
        print(f"train_together: {error}", file=sys.stderr)
        return 2


def together(options: argparse.Namespace, cartpole: Recipe) -> int:
    """Train to the goals or limits. Raises: those of EXPECTED."""
    config = load_config(options.config)
    agents = [options.only] if options.only else list(NEEDED)
    missing = set().union(*(NEEDED[agent] for agent in agents))
    missing -= {instance.engine.name for instance in config.instances}
    if missing:
        raise ConfigError(f"configuration {config.name} has no {', '.join(sorted(missing))}")
    settings = replace(PIXEL_CATCH.settings, agents=options.agents)
    pixelcatch = replace(PIXEL_CATCH, settings=settings, steps=options.steps)
    identities = {
        "cartpole": LockstepTraining.identity(cartpole, options.seed, config),
        "pixelcatch": AsynchronousTraining.identity(pixelcatch, options.seed, config),
    }
    identity = {"loop": "together"}
    for agent in agents:
        identity |= {f"{agent} {name}": value for name, value in identities[agent].items()}
    began = time.perf_counter()
    with ExitStack() as held:
        folder = held.enter_context(
            RunFolder(options.out, identity, resume=options.resume, overwrite=options.overwrite)
        )
        device = held.enter_context(
            open_device(
                options.device, config, seed=options.seed, assertions=options.assertions,
                compiled_arithmetic=not options.assertions,
            )
        )  # fmt: skip
        start: dict[str, Any] = folder.start or dict.fromkeys(agents)
        trainings: dict[str, Training] = {}
        for agent in agents:
            if agent == "cartpole":
                trainings[agent] = LockstepTraining(
                    device, cartpole, options.seed, start=start[agent]
                )
            else:
                trainings[agent] = AsynchronousTraining(
                    device, pixelcatch, options.seed, start[agent], until_goal=True
                )
            held.callback(trainings[agent].close)
        about = {"device": options.device, "config": config.name, "seed": options.seed}
        recipes = {"cartpole": asdict(cartpole), "pixelcatch": asdict(pixelcatch)}
        folder.begin({"recipe": {agent: recipes[agent] for agent in agents}, **about})
        writer, kept_at = folder.events(), time.perf_counter()
        began -= start["seconds"] if folder.start else 0.0
        steps = dict.fromkeys(agents, -1)

        def report() -> None:
            told = []
            for name, training in trainings.items():
                curve = training.curve()
                told.append(f"{TITLES[name]} {curve.newest:.2f} of {curve.goal}")
                if training.step != steps[name]:
                    steps[name] = training.step
                    training.write_events(writer, f"{name}/")
            told.append(f"{elapsed.clocks / 1e6:.1f} Mcycles")
            bar.set_postfix_str(", ".join(told), refresh=False)
            bar.update(sum(steps.values()) - bar.n)

        def due() -> bool:
            nonlocal kept_at
            late = time.perf_counter() - kept_at > 60 * options.checkpoint_minutes
            if late:
                kept_at = time.perf_counter()
            return late

        elapsed = Elapsed(device, start["clocks"] if folder.start else 0)

        def state() -> dict[str, Any]:
            clocks = elapsed.clocks
            with elapsed.aside():
                states = {name: training.state() for name, training in trainings.items()}
            return {**states, "clocks": clocks, "seconds": time.perf_counter() - began}

        most = sum(training.most for training in trainings.values())
        with tqdm(total=most, unit="step", dynamic_ncols=True,
                  mininterval=0.2 if sys.stderr.isatty() else 20.0) as bar:  # fmt: skip
            try:
                train(trainings, folder, state, report, due)
            finally:
                writer.close()
        summary: dict[str, Any] = {
            **about,
            **{name: training.outcome() for name, training in trainings.items()},
            "cycles": elapsed.clocks,
            "wall_seconds": round(time.perf_counter() - began, 1),
        }
        curves = [replace(one.curve(), title=TITLES[name]) for name, one in trainings.items()]
        title = f"{len(curves)} agents on one device" if len(curves) > 1 else "one agent, alone"
        folder.finish(summary, curves, title)
    for name, value in summary.items():
        for key, one in value.items() if isinstance(value, dict) else ((name, value),):
            print(f"  {name if key == name else f'{name} {key}':30}  {one}")
    print(f"{folder.curve}  {folder.summary}  (tensorboard --logdir {folder.path})")
    return 0 if all(training.solved for training in trainings.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
