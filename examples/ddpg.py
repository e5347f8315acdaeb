"""DDPG on Pendulum-v1 in one file: networks, actions, records and loop are this program's own.

The device holds priorities and records, draws every batch and computes every gradient step of
actor and critic.
    python examples/ddpg.py --device model
"""

import argparse
from functools import partial
from itertools import pairwise

import gymnasium as gym
import numpy as np

from jackdaw import open_device
from jackdaw.drivers.learner import Learner, Storage, adam
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.runtime.device_trainer import store_rows
from jackdaw.runtime.evaluation import evaluate

ACTOR, CRITIC = [3, 64, 64, 1], [4, 64, 64, 1]  # the critic sees the state, then the action
BATCH, ROWS, ROW_BYTES, WARM = 64, 65536, 64, 500
make = partial(gym.make, "Pendulum-v1")
RATIO, GAMMA, SCALE, NOISE, TORQUE = 8, 0.98, 0.1, 0.1, 2.0  # RATIO: environment steps per step


def network(sizes, rng, last=1.0):
    """Weights and biases of each layer; those of the last one times `last`."""
    bounds = [(i, o, i**-0.5) for i, o in pairwise(sizes)]
    bounds[-1] = (*bounds[-1][:2], bounds[-1][2] * last)
    return [(rng.uniform(-b, b, (o, i)), rng.uniform(-b, b, o)) for i, o, b in bounds]


def best(layers, states):
    """The actor's actions, -1 to 1."""
    for weight, bias in layers[:-1]:
        states = np.maximum(states @ weight.T + bias, 0)
    return np.tanh(states @ layers[-1][0].T + layers[-1][1])


def act(layers, state, rng, step):
    """Uniform at first, then the actor's action with noise."""
    if step < WARM:
        return rng.uniform(-1, 1, ACTOR[-1])
    return np.clip(best(layers, state) + rng.normal(0, NOISE, ACTOR[-1]), -1, 1)


def record(state, action, reward, following, terminated):
    """A row of device memory: state, action, reward, discount, following state."""
    row = np.zeros(ROW_BYTES // 4, np.float32)
    row[:3], row[3:4], row[4], row[6:9] = state, action, SCALE * reward, following
    row[5] = 0 if terminated else GAMMA
    return row.view(np.uint8)


def collect(environment, layers, rng):
    """Play forever; yields the record of each environment step."""
    state, step = environment.reset(seed=1)[0], 0
    while True:
        action = act(layers[0], state, rng, step)
        following, reward, terminated, truncated, _ = environment.step(TORQUE * action)
        yield record(state, action, reward, following, terminated)
        state, step = following, step + 1
        if terminated or truncated:
            state = environment.reset()[0]


class Player:
    """Chooses the best actions, for evaluations."""

    def greedy(self, layers, states):
        return TORQUE * best(layers, states)


def main(device, steps, seed=1):
    """Train; returns the mean of the last greedy episodes."""
    rng = np.random.default_rng(seed)
    replay = Replay(device, ReplaySettings(leaves=ROWS, alpha=0.6, beta_step=1.5e-4, seed=seed))
    learner = Learner(device)
    rates = adam(0.002), adam(0.005)
    learner.load_program(learner.actor_critic(ACTOR, CRITIC, *rates, tau=0.05))
    learner.load(network(ACTOR, rng, last=0.1), 0)
    learner.load(network(CRITIC, rng), 1)
    storage = Storage(device.alloc(ROWS * ROW_BYTES), ROW_BYTES, ROWS)
    layers, mean = [learner.store()], 0.0
    stream = collect(make(), layers, rng)
    for step in range(-WARM // RATIO, steps):
        rows = [next(stream) for _ in range(RATIO)]
        store_rows(device, replay, storage.base, np.stack(rows))
        if step < 0:
            continue
        trained = learner.train(BATCH, storage, td_stream=True)
        replay.train_loop(BATCH, 1).wait(60)
        trained.wait(60)
        layers[0] = learner.store()
        if step % 100 == 99 or step == steps - 1:
            mean = float(np.mean(evaluate(Player(), layers[0], make, 20, seed=step)))
            print(f"step {step + 1}: mean return {mean:.1f}, clock {device.cycles()}")
            if mean >= -200:
                break
    return mean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="sim", help="sim or model")
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    with open_device(options.device, "agents") as device:
        main(device, options.steps)
