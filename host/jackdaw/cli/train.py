"""Train an agent on the simulated hardware, on the golden models, or in float32 beside them.

A run's folder gets config.json, summary.json, curve.png, TensorBoard events and a checkpoint. With
several seeds each has a folder seed<N> below --out, whose curve.png is of all of them; a seed that
has a checkpoint is only plotted, unless --resume or --overwrite is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from jackdaw.agents.a3c import A3cRecipe
from jackdaw.cli import INTERRUPTED
from jackdaw.errors import ConfigError
from jackdaw.runtime.defaults import A3C, AGENTS
from jackdaw.runtime.report import draw_seeds
from jackdaw.runtime.run_folder import CHECKPOINT, RunFolder, kept
from jackdaw.runtime.session import DEVICES, Session, ask, free_folder
from jackdaw.runtime.training import curve_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("agent_word", nargs="?", metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("env_word", nargs="?", metavar="ENVIRONMENT", help="Gymnasium id")
    parser.add_argument("--agent", default="dqn", help="as AGENT")
    parser.add_argument("--env", default="CartPole-v1", help="as ENVIRONMENT")
    parser.add_argument("--device", choices=DEVICES, default="sim",
                        help="simulated hardware; golden models (the same bits, at once); "
                        "float32 on PyTorch, for ddpg-qat")  # fmt: skip
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=1, help="the run is a function of it")
    seeds.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="a run for each")
    parser.add_argument("--out", type=Path, help="the run's folder; default a new one below runs")
    parser.add_argument("--steps", "--max-steps", type=int,
                        help="gradient steps at most, or of a3c environment steps")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit of a3c")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="change a setting; NAME=VALUE,VALUE for pairs")  # fmt: skip
    parser.add_argument("--groups", type=int, metavar="G",
                        help="weight groups of ic3net; as --set groups=G")  # fmt: skip
    parser.add_argument("--config", help="build configuration, by name or file")
    parser.add_argument("--memory", default="D", help="memory preset of the simulator: D S Q I")
    parser.add_argument("--mode", choices=("comm_reduction", "default"), default="comm_reduction")
    parser.add_argument("--assertions", action="store_true",
                        help="keep the RTL's assertions and simulate its multipliers and adders,"
                        " too: slower, the same bits")  # fmt: skip
    parser.add_argument("--checkpoint-every", type=int, default=100, help="gradient steps")
    parser.add_argument("--checkpoint-minutes", type=float, default=10.0, help="of a3c")
    parser.add_argument("--window", type=int, help="episodes of a3c's mean")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Train every seed. Returns: the exit code. Raises: ConfigError, CheckpointError."""
    if options.checkpoint_every < 1:
        parser.error(f"--checkpoint-every: got {options.checkpoint_every}, want at least 1")
    agent, env = options.agent_word or options.agent, options.env_word or options.env
    seeds = options.seeds or [options.seed]
    sessions = [asked(options, agent, env, seed) for seed in seeds]
    if note := sessions[0][1]:
        print(f"note: {note}", file=sys.stderr)
    if options.resume and options.out is None:
        raise ConfigError("--resume: want --out, the folder of the run")
    out = options.out or free_folder(agent, env, seeds[0])
    if not options.seeds:
        return train(sessions[0][0], out, options)
    codes = []
    for session, _ in sessions:
        path = out / f"seed{session.seed}"
        if options.resume or options.overwrite or not (path / CHECKPOINT).exists():
            codes.append(train(session, path, options))
            if codes[-1] == INTERRUPTED:
                return INTERRUPTED  # the seeds after it are not begun
    print(plot([session for session, _ in sessions], out))
    return max(codes, default=0)


def asked(options: argparse.Namespace, agent: str, env: str, seed: int) -> tuple[Session, str]:
    """The session of a seed."""
    groups = [] if options.groups is None else [f"groups={options.groups}"]
    return ask(
        agent, env, device=options.device, seed=seed, config=options.config,
        steps=options.steps, window=options.window, texts=[*options.set, *groups],
        memory=options.memory,
        assertions=options.assertions, mode=options.mode, minutes=options.minutes,
        checkpoint_every=options.checkpoint_every, checkpoint_minutes=options.checkpoint_minutes,
    )  # fmt: skip


def train(session: Session, path: Path, options: argparse.Namespace) -> int:
    """Train one seed and say how it ended. Returns: the exit code."""
    print(
        f"Jackdaw: {session.agent} on {session.recipe.environment}, device {session.device} "
        f"(configuration {session.config}), seed {session.seed}",
        flush=True,
    )
    began = time.perf_counter()
    with RunFolder(
        path, session.identity, resume=options.resume, overwrite=options.overwrite
    ) as folder:
        summary = session.run(folder)
    show(summary)
    print(f"{folder.curve}  {folder.summary}  (tensorboard --logdir {folder.path})")
    if summary["interrupted"]:
        print(
            f"interrupted after {time.perf_counter() - began:.0f} s and saved; to go on: the same "
            f"command with --out {path} --resume",
            file=sys.stderr,
        )
        return INTERRUPTED
    without_goal = session.agent == A3C or summary["threshold"] is None
    return 0 if summary["solved"] or without_goal else 1


def show(summary: dict[str, Any]) -> None:
    """Print the scalars of a summary; the file has all."""
    shown = {k: v for k, v in summary.items() if not isinstance(v, dict)}
    width = max(len(k) for k in shown)
    print("\n".join(f"  {k:{width}}  {v}" for k, v in shown.items()))


def plot(sessions: list[Session], out: Path) -> Path:
    """Draw the curves of all seeds. Raises: CheckpointError for a run of something else."""
    curves = {}
    for session in sessions:
        recipe = session.recipe
        state = kept(out / f"seed{session.seed}", session.identity)
        curve = curves[f"seed {session.seed}"] = curve_of(recipe, state)
        means = curve.means
        if curve.goal is not None:
            reached = [step for step, mean in means if mean >= curve.goal]
            print(f"seed {session.seed}: {curve.goal} after {reached[0] if reached else None}")
        last = f"{means[-1][1]:.3f}" if means else "not known yet"
        print(
            f"seed {session.seed}: {len(curve.returns)} episodes, mean of the last "
            f"{curve.window} {last}"
        )
    first = sessions[0]
    title = f"{first.agent} on {first.recipe.environment}"
    unit = "environment steps" if isinstance(first.recipe, A3cRecipe) else "gradient steps"
    path = out / "curve.png"
    draw_seeds(path, curves, unit, title)
    return path
