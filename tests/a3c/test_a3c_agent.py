"""A3C agents on the golden engine, and the game that they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import jackdaw.environments  # noqa: F401  (registers PixelCatch)
from jackdaw.agents.a3c import A3cSettings, policy, returns
from jackdaw.device import open_device
from jackdaw.drivers.a3c import Future, Net
from jackdaw.runtime import checkpoint
from jackdaw.runtime.asynchronous import AsynchronousRun, Episode
from models.a3c.network import NET_S

ENVIRONMENT = "jackdaw/PixelCatch-v0"
SETTINGS = A3cSettings(eps=1e-5)


def make() -> gymnasium.Env:
    return gymnasium.make(ENVIRONMENT)


def play(seed: int, aim: bool) -> float:
    """Mean return of 200 episodes, of a player that follows the ball or one that guesses."""
    environment = make()
    rng = np.random.default_rng(seed)
    total = 0.0
    for episode in range(200):
        frames, _ = environment.reset(seed=1000 * seed + episode)
        ended = False
        while not ended:
            newest = frames[-1]
            ball = np.argwhere(newest[:-1])[0][1] if newest[:-1].any() else 0
            centre = np.argwhere(newest[-1]).mean()
            action = int(1 + np.sign(ball - centre)) if aim else int(rng.integers(3))
            frames, reward, ended, _, _ = environment.step(action)
            total += float(reward)
    return total / 200


def test_pixelcatch_is_an_environment(seed: int) -> None:
    check_env(make().unwrapped, skip_render_check=True)
    assert play(seed, aim=True) == 1.0
    assert -0.75 < play(seed, aim=False) < -0.3


def test_pixelcatch_episode() -> None:
    environment = make()
    frames, _ = environment.reset(seed=5)
    assert frames.shape == (2, 12, 12) and np.array_equal(frames[0], frames[1])
    for step in range(1, 12):
        before = frames[1]
        frames, reward, ended, truncated, _ = environment.step(1)
        assert np.array_equal(frames[0], before)  # the older frame
        assert frames[1].sum() in (3, 4) and ended == (step == 11) and not truncated
        assert (reward != 0) == ended


def test_a3c_agent_returns_and_policy() -> None:
    assert returns(np.array([1.0, 0.0, -1.0]), 4.0, 0.5).tolist() == [1.25, 0.5, 1.0]
    shares = policy(np.array([1e4, 1e4, -1e4, 7.0], np.float32), 3)
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.0])


def test_a3c_agent_learning_rate_falls_to_zero() -> None:
    settings = A3cSettings(horizon=1000)
    assert settings.hyper_parameters(0).eta == np.float32(7e-4)
    assert settings.hyper_parameters(500).eta == np.float32(3.5e-4)
    assert settings.hyper_parameters(1000).eta == settings.hyper_parameters(5000).eta == 0


def run(seed: int, steps: int) -> tuple[AsynchronousRun, list[Episode]]:
    agents = AsynchronousRun(make, NET_S, open_device("model", "a3c"), SETTINGS, seed)
    return agents, list(agents.run(steps))


def test_a3c_agent_is_a_function_of_its_seed(seed: int) -> None:
    (one, episodes), (two, again) = run(seed, 352), run(seed, 352)
    assert episodes == again and len(episodes) == 32
    other, _ = run(seed + 1, 352)
    images = [agents.engine.device.read(4096, 1 << 22) for agents in (one, two, other)]
    assert np.array_equal(images[0], images[1]) and not np.array_equal(images[0], images[2])
    # 11 steps are two full rollouts and one of a single step, without a bootstrap.
    counters = one.engine.counters()
    assert (one.updates, counters["TRAIN"], counters["CU1_TASKS"]) == (96, 96, 96)
    assert (counters["INF"], counters["BOOT"], counters["SYNC"]) == (352, 64, 0)


def test_a3c_agent_snapshots_are_not_written(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No update writes the newest parameters or those that an agent still holds."""
    agents, _ = run(seed, 16 * 3)
    train = agents.engine.train
    targets = []

    def watched(net: Net, local: int, source: int, target: int, *rest: Any) -> Future[int]:
        held = {other.slot for other in agents.agents}
        assert target not in held | {agents.head} and source == agents.head and local in held
        targets.append(target)
        return train(net, local, source, target, *rest)

    monkeypatch.setattr(agents.engine, "train", watched)
    list(agents.run(16 * 20))
    assert len(set(targets)) > 2


def test_a3c_agent_goes_on_from_a_checkpoint(seed: int, tmp_path: Path) -> None:
    """The file holds parameters and mean squares to the bit, and the run's other half uses them."""
    first, _ = run(seed, 352)
    kept = first.state()
    checkpoint.save(tmp_path / "checkpoint.npz", {}, kept)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.npz"]
    read = checkpoint.load(tmp_path / "checkpoint.npz", {})
    assert (read["step"], read["updates"]) == (first.step, first.updates) == (352, 96)
    engine = open_device("model", "a3c")
    second = AsynchronousRun(make, NET_S, engine, SETTINGS, seed, read)
    for pairs, same in (
        (second.parameters(), kept["parameters"]),
        (second.engine.read_g(second.net), kept["squares"]),
        (second.state()["squares"], read["squares"]),
    ):
        for arrays, wanted in zip(pairs, same, strict=True):
            assert all(
                np.array_equal(a, b) and a.any() for a, b in zip(arrays, wanted, strict=True)
            )
    assert second.settings.hyper_parameters(second.step).eta < np.float32(7e-4)
    episodes = list(second.run(704))
    assert (second.step, second.updates) == (704, 192) and len(episodes) == 32
    assert min(e.step for e in episodes) > 352
    again = AsynchronousRun(make, NET_S, open_device("model", "a3c"), SETTINGS, seed, read)
    assert list(again.run(704)) == episodes
    with pytest.raises(ValueError, match="layer 0: got weight"):
        wrong = [(w[..., :1], b) for w, b in read["parameters"]]
        AsynchronousRun(
            make,
            NET_S,
            open_device("model", "a3c"),
            SETTINGS,
            seed,
            {**read, "parameters": wrong},
        )


@pytest.mark.slow
def test_a3c_agent_learns_pixelcatch(seed: int) -> None:
    """A mean return of 0.9 over 200 episodes within 80 000 steps; guessing gets -0.5."""
    agents = AsynchronousRun(make, NET_S, open_device("model", "a3c"), SETTINGS, seed)
    last: list[float] = []
    for episode in agents.run(80_000):
        last = [*last[-199:], episode.total]
        if len(last) == 200 and np.mean(last) >= 0.9:
            print(f"0.9 after {episode.step} steps")
            return
    pytest.fail(f"mean return {np.mean(last)} after {agents.step} steps")
