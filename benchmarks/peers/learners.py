"""Gradient steps in software on this machine: what the engines are compared with.

    python -m benchmarks.peers.learners --sizes 17,400,300,6 --batches 64,512    # DDPG on a GPU

One thread each on the processor; a figure is the least of several rounds. All do the same work as
the engine's program: forward passes, losses, gradients, Adam and targets, on random records.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers import FLAGS
from flow import BUILD

SOURCE = Path(__file__).with_name("learner.cpp")
ROUNDS, ROUND_S = 5, 0.1
DISCOUNT = 0.5  # as in learner.cpp


def compile_learner() -> Path:
    """Compile learner.cpp. Raises: CalledProcessError."""
    target = BUILD / "peers" / "learner"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(target)], check=True, timeout=300)
    return target


def plain(binary: Path, kind: str, sizes: Sequence[int], batch: int) -> float:
    """Nanoseconds a step of learner.cpp. Raises: CalledProcessError if it does not learn."""
    run = subprocess.run(
        [str(binary), kind, str(batch), *map(str, sizes)],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    return float(json.loads(run.stdout)["ns_per_step"])


def pytorch(kind: str, sizes: Sequence[int], batch: int) -> float:
    """Nanoseconds a step of PyTorch on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(1)
        step = (_dqn if kind == "dqn" else _ddpg)(list(sizes), batch)
        step()
        return 1e9 * min(_seconds(step) for _ in range(ROUNDS))
    finally:
        torch.set_num_threads(threads)


def layer(m: int, n: int, vectors: int, groups: int = 16) -> dict[str, float]:
    """Nanoseconds of a layer on one thread: dense, and with its weights times a random mask."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        x, w = torch.rand(vectors, m), torch.rand(m, n)
        mask = (torch.rand(m, n) < 1 / groups).float()
        calls = {"dense": lambda: x @ w, f"masked, G={groups}": lambda: x @ (w * mask)}
        return {
            name: 1e9 * min(_seconds(call) for _ in range(ROUNDS)) for name, call in calls.items()
        }
    finally:
        torch.set_num_threads(threads)


def on_gpu(sizes: Sequence[int], batch: int) -> dict[str, float]:
    """Nanoseconds a step of DDPG in PyTorch on a GPU: as it is, and replayed as a CUDA graph.

    A graph leaves out what the processor does to start each kernel.
    """
    torch.manual_seed(1)
    with torch.device("cuda"):
        step = _ddpg(list(sizes), batch, capturable=True)

    def whole() -> None:
        step()
        torch.cuda.synchronize()

    for _ in range(10):
        whole()
    found = {"eager": 1e9 * min(_seconds(whole) for _ in range(ROUNDS))}
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    found["graph"] = 1e9 * min(_seconds(replay) for _ in range(ROUNDS))
    return found


def _seconds(step: Callable[[], Any]) -> float:
    count, began = 0, time.perf_counter()
    while True:
        step()
        count += 1
        taken = time.perf_counter() - began
        if taken >= ROUND_S:
            return taken / count


def _network(sizes: Sequence[int], *end: torch.nn.Module) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1], *end)


def _dqn(sizes: list[int], batch: int) -> Callable[[], None]:
    online, target = _network(sizes), _network(sizes)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    state, following, reward = (torch.randn(batch, n) for n in (sizes[0], sizes[0], 1))
    action = torch.randint(sizes[-1], (batch, 1))

    def step() -> None:
        with torch.no_grad():
            wanted = reward + DISCOUNT * target(following).max(1, keepdim=True).values
        loss = torch.nn.functional.huber_loss(online(state).gather(1, action), wanted)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def _ddpg(sizes: list[int], batch: int, capturable: bool = False) -> Callable[[], None]:
    states, actions = sizes[0], sizes[-1]
    critic_sizes = [states + actions, *sizes[1:-1], 1]
    actor, actor_target = (_network(sizes, torch.nn.Tanh()) for _ in range(2))
    critic, critic_target = (_network(critic_sizes) for _ in range(2))
    of_actor = torch.optim.Adam(actor.parameters(), lr=1e-3, capturable=capturable)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, capturable=capturable)
    state, following = torch.randn(batch, states), torch.randn(batch, states)
    action, reward = torch.randn(batch, actions), torch.randn(batch, 1)

    def step() -> None:
        with torch.no_grad():
            after = torch.cat([following, actor_target(following)], 1)
            wanted = reward + DISCOUNT * critic_target(after)
        loss = torch.nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted)
        of_critic.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        of_critic.step()
        value = -critic(torch.cat([state, actor(state)], 1)).mean()
        of_actor.zero_grad()
        value.backward()
        of_actor.step()
        with torch.no_grad():
            for online, target in ((actor, actor_target), (critic, critic_target)):
                for a, b in zip(online.parameters(), target.parameters(), strict=True):
                    b.lerp_(a, 0.005)

    return step


def main(argv: list[str] | None = None) -> None:
    """Print steps of DDPG on a GPU."""
    parser = argparse.ArgumentParser(description="Time DDPG's gradient steps in PyTorch on a GPU.")
    parser.add_argument("--sizes", default="17,400,300,6", help="widths of the actor")
    parser.add_argument("--batches", default="64,128,256,512")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        parser.error("got no GPU, want one that PyTorch sees")
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, actor {options.sizes}")
    for batch in (int(part) for part in options.batches.split(",")):
        for name, ns in on_gpu(sizes, batch).items():
            print(f"B={batch} {name}: {ns / 1e3:.1f} us a step, {1e9 * batch / ns:.0f} vectors/s")


if __name__ == "__main__":
    main()
