"""Observations wider than the shipped builds: a configuration holds them, or an error says how."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import jackdaw
from flow import ROOT
from jackdaw.errors import ConfigError
from jackdaw.runtime import checkpoint

GUIDE = (ROOT / "docs" / "host.md").read_text()


class Noise(gymnasium.Env[np.ndarray, Any]):
    """Random observations and rewards, episodes of 20 steps."""

    def __init__(self, words: int, continuous: bool) -> None:
        box = gymnasium.spaces.Box
        self.observation_space = box(-1, 1, (words,), np.float32)
        self.action_space = (
            box(-1, 1, (2,), np.float32) if continuous else gymnasium.spaces.Discrete(3)
        )
        self.taken = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.taken = 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        self.taken += 1
        reward = float(self.np_random.normal())
        return self._observation(), reward, False, self.taken == 20, {}

    def _observation(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, self.observation_space.shape).astype(np.float32)


def train(
    agent: str, words: int, folder: Path, device: str = "model", config: Path | None = None
) -> Any:
    """Train for a few steps; returns the weights."""
    run = jackdaw.train(
        agent, lambda: Noise(words, not agent.startswith("dqn")), device=device, max_steps=3,
        warm=100, capacity=1024, out=folder, config=None if config is None else str(config),
    )  # fmt: skip
    state = checkpoint.load(run.path / "checkpoint.npz")
    return state["run"]["parameters"]


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """The configuration in the guide."""
    found = re.search(r"### Wide observations.*?```json\n(.*?)```", GUIDE, re.S)
    assert found is not None
    path = tmp_path / "wide.json"
    path.write_text(found[1])
    return path


@pytest.mark.parametrize("device", ["model", "sim"])
@pytest.mark.parametrize(
    ("agent", "words", "text"),
    [
        ("dqn", 65, "network width: got 65, this build has 64; set DMax of learner in the "
                    "configuration to 65 or more, up to 512"),
        ("ddpg", 63, "network width: got 65, this build has 64; set DMax of learner"),
        ("td3", 513, "network width: got 513, this build has 64; DMax of learner is at most 512"),
        ("ddpg-qat", 127, "qat layer: got 130, this build has 128; set QatMaxDim of qat in the "
                          "configuration to 130 or more, up to 1024"),
    ],
    ids=["dqn", "ddpg", "td3", "ddpg-qat"],
)  # fmt: skip
def test_a_wide_observation_is_refused_before_anything_is_built(
    agent: str, words: int, text: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: Any, **__: Any) -> None:
        raise AssertionError("a simulator was asked for")

    monkeypatch.setattr("jackdaw.device.sim.SimDevice.__init__", build)
    with pytest.raises(ConfigError) as caught:
        train(agent, words, tmp_path / "run", device)
    assert str(caught.value).startswith(text)
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("agent", "words", "changes", "text"),
    [
        ("dqn", 100, {"WRows": 1024}, "rows of weights: got 2148, this build has 1024; set WRows"),
        ("td3", 100, {"ARows": 8192}, "rows of frames of a batch of 64: got 9792, .* set ARows"),
        ("dqn", 100, {"BMax": 32}, "batch: got 64, this build has 32; set BMax"),
        ("td3", 250, {"P": 8, "LW": 2, "DMax": 256, "WRows": 65536, "ARows": 65536},
         "rows of a sample's frame: got .*, want at most 255; with more lanes"),
        ("ddpg", 256, {"DMax": 512, "WRows": 65536}, "states: got 256, want 1..255 before an"),
    ],
    ids=["WRows", "ARows", "BMax", "frame", "states"],
)  # fmt: skip
def test_every_memory_that_is_too_small_is_named(
    agent: str, words: int, changes: dict[str, int], text: str, wide: Path, tmp_path: Path
) -> None:
    data = json.loads(wide.read_text())
    data["engines"]["learner"]["parameters"] |= changes
    wide.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=text):
        train(agent, words, tmp_path / "run", config=wide)


@pytest.mark.parametrize("agent", ["dqn", "ddpg", "td3"])
def test_the_configuration_of_the_guide_trains_on_100_words(
    agent: str, wide: Path, tmp_path: Path
) -> None:
    parameters = train(agent, 100, tmp_path / "run", config=wide)
    assert parameters[0][0].shape[1] == 100
    assert all(np.isfinite(array).all() for layer in parameters for array in layer)
