"""Jackdaw in a few lines: train, load, evaluate, record.

import jackdaw

run = jackdaw.train("dqn", "CartPole-v1", device="model")
policy = jackdaw.load(run)
action, _ = policy.predict(observation)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from jackdaw.environments import Make, makes_vector, named
from jackdaw.errors import ConfigError
from jackdaw.runtime.callbacks import Callbacks, Given
from jackdaw.runtime.evaluation import together
from jackdaw.runtime.policy import Policy
from jackdaw.runtime.policy import load as load_policy
from jackdaw.runtime.run_folder import RunFolder
from jackdaw.runtime.session import ask, free_folder
from jackdaw.runtime.team_policy import TeamPolicy
from jackdaw.runtime.vector import VectorEnvironment

EPISODES_AT_ONCE = 25
TEAMS_SHOWN = 6  # episodes of a team in an animation


@dataclass(frozen=True)
class Run:
    """A run that ended.

    Attributes:
        path: its folder.
        summary: what summary.json says: `solved`, `mean_return`, counts and measurements.
    """

    path: Path
    summary: dict[str, Any] = field(repr=False)

    @property
    def solved(self) -> bool:
        """Whether the final evaluation reached the threshold."""
        return bool(self.summary["solved"])

    @property
    def mean_return(self) -> float:
        """Mean undiscounted return of the final evaluation; of A3C that of the last episodes."""
        return float(self.summary["mean_return"])


def train(
    agent: str,
    env: str | Make,
    *,
    device: str = "sim",
    seed: int = 1,
    steps: int | None = None,
    out: Path | str | None = None,
    config: str | None = None,
    callback: Given = None,
    resume: bool = False,
    overwrite: bool = False,
    minutes: float = float("inf"),
    **settings: Any,
) -> Run:
    """Train an agent on an environment.

    Where nobody tuned the agent for the environment, settings follow from its spaces, and a note
    on stderr says so. Ctrl-C saves the run and ends it.

    Args:
        agent: `dqn`, `dqn-sgd`, `ddpg`, `ddpg-lagged`, `td3`, `ddpg-qat`, `a3c` or `ic3net`.
        env: Gymnasium id, or a function or class that makes an environment or (`dqn`, `ddpg`,
            `td3`) a VectorEnv.
        device: `sim`, the simulated hardware; `model`, the golden models, which give the same
            bits; `float`, float32 on PyTorch (`ddpg-qat` alone).
        seed: the run is a function of it.
        steps: at most: gradient steps, or of `a3c` environment steps.
        out: the run's folder; default a new one below `runs`.
        config: build configuration of the device; default the recipe's.
        callback: a `Callback`, a function that is called as its `on_step`, or a list of them.
        resume: go on from the checkpoint in `out`.
        overwrite: replace what is in `out`.
        minutes: limit of `a3c`.
        settings: changes of the recipe, e.g. `learning_rate=0.001`, `hidden=(64, 64)`, or
            `actors=8, vector="async"`: eight environments, each in a process.
    Returns: the run.
    Raises: ConfigError for settings, names or spaces that do not fit; CheckpointError on resume;
        flow.toolchain.ToolMissing where `sim` cannot be built.
    """
    name = named(env)
    session, note = ask(
        agent, name, device=device, seed=seed, config=config, steps=steps, settings=settings,
        minutes=minutes,
    )  # fmt: skip
    path = Path(out) if out is not None else free_folder(agent, name, seed)
    if note:
        print(f"note: {note}", file=sys.stderr)
    with RunFolder(path, session.identity, resume=resume, overwrite=overwrite) as folder:
        return Run(path, session.run(folder, Callbacks(callback)))


def load(run: Run | Path | str) -> Policy:
    """The policy of a run, or of its folder.

    Raises: ConfigError if the folder holds no run; CheckpointError.
    """
    return load_policy(run.path if isinstance(run, Run) else run)


def evaluate(
    policy: Policy | Run | Path | str,
    env: str | Make | None = None,
    *,
    episodes: int = 100,
    seed: int = 0,
    deterministic: bool = True,
) -> tuple[float, float]:
    """Play episodes.

    Args:
        policy: a policy, or a run whose policy plays.
        env: Gymnasium id, or a function, also one that makes a VectorEnv; default what it was
            trained on.
        episodes: how many, at least 1.
        seed: episode i is reset with seed + i.
        deterministic: see `Policy.predict`.
    Returns: mean and standard deviation of the undiscounted returns; of a team's policy those of
        its success, 1 or 0. A team's games of one call of B episodes share a generator.
    Raises: ConfigError.
    """
    if episodes < 1:
        raise ConfigError(f"episodes: got {episodes}, want at least 1")
    playing = _policy(policy)
    rng = None if deterministic else np.random.default_rng(seed)
    returns: list[float] = []
    if isinstance(playing, TeamPolicy):
        for first in range(0, episodes, playing.episodes):
            count = min(playing.episodes, episodes - first)
            returns += playing.play(_team(env), count, seed + first, rng).astype(float).tolist()
        return float(np.mean(returns)), float(np.std(returns))
    name = playing.environment if env is None else named(env)
    if makes_vector(name):
        with closing(VectorEnvironment.of(name, scaled=False)) as vector:
            returns = together(
                vector,
                lambda seen: playing.predict(seen, deterministic=deterministic, rng=rng)[0],
                episodes, seed,
            )  # fmt: skip
        return float(np.mean(returns)), float(np.std(returns))
    for first in range(0, episodes, EPISODES_AT_ONCE):
        count = min(EPISODES_AT_ONCE, episodes - first)
        environments = [_make(playing, env) for _ in range(count)]
        try:
            returns += _play(playing, environments, seed + first, rng)
        finally:
            for environment in environments:
                environment.close()
    return float(np.mean(returns)), float(np.std(returns))


def record(
    policy: Policy | Run | Path | str,
    path: Path | str,
    env: str | Make | None = None,
    *,
    seed: int = 0,
    most: int = 1000,
) -> float:
    """Play an episode, or of a team six side by side, and write it as an animated GIF.

    Args:
        policy: a policy, or a run whose policy plays.
        path: of the file, `.gif`.
        env: Gymnasium id, or a function; default what it was trained on.
        seed: of the episode.
        most: frames at most.
    Returns: the undiscounted return; of a team's policy the share of the episodes that succeed.
    Raises: ConfigError for another kind of file, an environment that draws no pictures, or without
        the package pillow.
    """
    path = Path(path)
    if path.suffix != ".gif":
        raise ConfigError(f"record: got {path.name!r}, want a name that ends in .gif")
    try:
        from PIL import Image
    except ImportError:
        raise ConfigError("record: pillow is not installed; pip install pillow") from None
    playing = _policy(policy)
    frames: list[Any] = []
    total = 0.0
    if isinstance(playing, TeamPolicy):
        pictures, won = playing.pictures(_team(env), min(TEAMS_SHOWN, playing.episodes), seed)
        frames = [Image.fromarray(picture) for picture in pictures[:most]]
        _write_gif(path, frames, playing.frames_per_second)
        return won
    try:
        environment = _make(playing, env, render_mode="rgb_array")
    except (gymnasium.error.Error, TypeError) as error:
        raise ConfigError(f"record: {playing.environment} draws no pictures: {error}") from None
    try:
        observed, _ = environment.reset(seed=seed)
        ended = False
        while not ended and len(frames) < most:
            frames.append(Image.fromarray(np.asarray(environment.render(), np.uint8)))
            action, _ = playing.predict(observed)
            observed, reward, terminated, truncated, _ = environment.step(action)
            total += float(reward)
            ended = terminated or truncated
        rate = environment.metadata.get("render_fps") or 30
    finally:
        environment.close()
    _write_gif(path, frames, rate)
    return total


def _write_gif(path: Path, frames: list[Any], rate: int) -> None:
    """Write pictures of PIL, so many per second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=max(1000 // rate, 20), loop=0
    )


def watch(
    policy: Policy | Run | Path | str, env: str | Make | None = None, *, seed: int = 0
) -> float:
    """Play an episode in a window.

    Args:
        policy: a policy, or a run whose policy plays.
        env: Gymnasium id, or a function; default what it was trained on.
        seed: of the episode.
    Returns: the undiscounted return.
    Raises: ConfigError for an environment that has no window.
    """
    playing = _policy(policy)
    if isinstance(playing, TeamPolicy):
        raise ConfigError(f"watch: {playing.environment} has no window; record it")
    try:
        environment = _make(playing, env, render_mode="human")
    except (gymnasium.error.Error, TypeError) as error:
        raise ConfigError(f"watch: {playing.environment} has no window: {error}") from None
    try:
        return _play(playing, [environment], seed, None)[0]
    finally:
        environment.close()


def _policy(given: Policy | Run | Path | str) -> Policy:
    return given if isinstance(given, Policy) else load(given)


def _team(env: str | Make | None) -> str | None:
    """The name of a team's game. Raises: ConfigError for a function."""
    if env is None or isinstance(env, str):
        return env
    raise ConfigError(f"env: got {env!r}, want the Gymnasium id of a game of a team")


def _make(
    policy: Policy, env: str | Callable[..., Any] | None, **options: Any
) -> gymnasium.Env[Any, Any]:
    return policy.make(None if env is None else named(env), **options)


def _play(
    policy: Policy,
    environments: list[gymnasium.Env[Any, Any]],
    seed: int,
    rng: np.random.Generator | None,
) -> list[float]:
    """The returns of one episode of each environment."""
    states = [e.reset(seed=(seed + i) % (1 << 31))[0] for i, e in enumerate(environments)]
    returns, active = np.zeros(len(environments)), list(range(len(environments)))
    while active:
        batch = np.stack([np.asarray(states[i], np.float32) for i in active])
        actions, _ = policy.predict(batch, deterministic=rng is None, rng=rng)
        going = []
        for i, action in zip(active, actions, strict=True):
            states[i], reward, terminated, truncated, _ = environments[i].step(action)
            returns[i] += float(reward)
            if not (terminated or truncated):
                going.append(i)
        active = going
    return [float(one) for one in returns]
