"""DQN on CartPole-v1 in one file: network, actions, records and loop are this program's own.

The device holds priorities and records, draws every batch and computes every gradient step.
    python examples/dqn.py --device model
"""

import argparse
from collections import deque
from functools import partial
from itertools import pairwise

import gymnasium as gym
import numpy as np

from jackdaw import open_device
from jackdaw.drivers.learner import Learner, Storage, adam
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.runtime.device_trainer import store_rows
from jackdaw.runtime.evaluation import evaluate

SIZES = [4, 64, 64, 2]
BATCH, ROWS, ROW_BYTES, WARM = 32, 65536, 64, 500
make = partial(gym.make, "CartPole-v1")
RATIO, N_STEP, GAMMA, SCALE = 32, 10, 0.99, 0.1  # environment steps per gradient step, returns


def network(rng):
    """Weights and biases of each layer."""
    bounds = [(i, o, i**-0.5) for i, o in pairwise(SIZES)]
    return [(rng.uniform(-b, b, (o, i)), rng.uniform(-b, b, o)) for i, o, b in bounds]


def values(layers, states):
    """Value of each action."""
    for weight, bias in layers[:-1]:
        states = np.maximum(states @ weight.T + bias, 0)
    return states @ layers[-1][0].T + layers[-1][1]


def act(layers, state, rng, step):
    """Random with a probability that falls from 1 to 0.1, else the best action."""
    if rng.random() < max(0.1, 1 - 0.9 * max(0, step - WARM) / 3000):
        return int(rng.integers(SIZES[-1]))
    return int(values(layers, state).argmax())


def record(window, following, terminated):
    """A row of device memory: state, action, n-step return, discount, state after n steps."""
    state, action, _ = window[0]
    reward = SCALE * sum(GAMMA**k * r for k, (_, _, r) in enumerate(window))
    row = np.zeros(ROW_BYTES // 4, np.float32)
    row[4:5] = np.array([action], np.int32).view(np.float32)
    row[:4], row[5], row[6], row[7:11] = state, reward, GAMMA ** len(window), following
    if terminated:
        row[6] = 0
    return row.view(np.uint8)


def collect(environment, layers, rng):
    """Play forever; yields the records of each environment step."""
    window: deque = deque()
    state, step = environment.reset(seed=1)[0], 0
    while True:
        action = act(layers[0], state, rng, step)
        following, reward, terminated, truncated, _ = environment.step(action)
        window.append((state, action, reward))
        state, step, rows = following, step + 1, []
        while window and (terminated or truncated or len(window) == N_STEP):
            rows.append(record(window, following, terminated))
            window.popleft()
        if terminated or truncated:
            state = environment.reset()[0]
        yield rows


class Player:
    """Chooses the best actions, for evaluations."""

    def greedy(self, layers, states):
        return values(layers, states).argmax(1)


def main(device, steps, seed=1):
    """Train; returns the mean of the last greedy episodes."""
    rng = np.random.default_rng(seed)
    replay = Replay(device, ReplaySettings(leaves=ROWS, alpha=0.4, beta_step=2e-4, seed=seed))
    learner = Learner(device)
    learner.load_program(learner.dqn(SIZES, adam(0.02), sync_period=5))
    learner.load(network(rng))
    storage = Storage(device.alloc(ROWS * ROW_BYTES), ROW_BYTES, ROWS)
    layers, mean = [learner.store()], 0.0
    stream = collect(make(), layers, rng)
    for step in range(-WARM // RATIO, steps):
        rows = [row for _ in range(RATIO) for row in next(stream)]
        store_rows(device, replay, storage.base, np.stack(rows))
        if step < 0:
            continue
        trained = learner.train(BATCH, storage, td_stream=True)
        replay.train_loop(BATCH, 1).wait(60)
        trained.wait(60)
        layers[0] = learner.store()
        if step % 25 == 24 or step == steps - 1:
            mean = float(np.mean(evaluate(Player(), layers[0], make, 20, seed=step)))
            print(f"step {step + 1}: mean return {mean:.1f}, clock {device.cycles()}")
            if mean >= 475:
                break
    return mean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="sim", help="sim or model")
    parser.add_argument("--steps", type=int, default=700)
    options = parser.parse_args()
    with open_device(options.device, "demo") as device:
        main(device, options.steps)
