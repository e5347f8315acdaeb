"""Prioritized replay in software on this machine: what the replay engine is compared with.

Every peer is one thread with warm caches; a figure is the least of several rounds, so that other
programs on the machine disturb it little. TorchRL is not among them: the compiled trees of 0.13
and 0.14 do not load with the pinned torch 2.13.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import cpprb
import numpy as np

from flow import BUILD
from jackdaw.device.base import Device
from jackdaw.replay_buffer import PrioritizedReplayBuffer
from models.replay.tree import SumTree

SOURCE = Path(__file__).with_name("sum_tree.cpp")
FLAGS = ("-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror")
ROUNDS, ROUND_S = 9, 2e-3
ALPHA, BETA = 0.6, 0.4
OPERATIONS = ("sample", "update", "sample and update")


@dataclass(frozen=True)
class Figure:
    """What one peer takes.

    Attributes:
        peer: its name with its version.
        operation: one of OPERATIONS.
        leaves: capacity, all of it filled.
        batch: operations of one call.
        nanoseconds: of one operation, or of one sample and one update.
    """

    peer: str
    operation: str
    leaves: int
    batch: int
    nanoseconds: float

    def row(self) -> dict[str, Any]:
        """As a `peers` entry of a result."""
        return {
            "name": self.peer,
            "value": round(self.nanoseconds, 2),
            "unit": "ns",
            "config": f"{self.operation} N={self.leaves} B={self.batch}",
        }


def machine() -> str:
    """This machine's processor and the compiler, in words."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    family = re.search(r"^cpu family\s*: (\d+)$", text, re.MULTILINE)
    model = re.search(r"^model\s*: (\d+)$", text, re.MULTILINE)
    name = found[1] if found else platform.processor()
    if family and model:
        name += f" (family {family[1]}, model {model[1]})"
    compiler = subprocess.run(
        ["g++", "-dumpfullversion"], capture_output=True, text=True, check=True, timeout=60
    )
    return f"{name}, g++ {compiler.stdout.strip()}, Python {platform.python_version()}"


def measure(leaves: Sequence[int], batches: Sequence[int]) -> list[Figure]:
    """Measure every peer at every capacity and batch size."""
    binary = compile_trees()
    found = [f for n in leaves for f in plain_trees(binary, n, batches)]
    for peer in (cpprb_buffer, numpy_tree):
        for n in leaves:
            found += timed(peer(n), leaves=n, batches=batches)
    return found


def compile_trees() -> Path:
    """Compile sum_tree.cpp. Raises: CalledProcessError."""
    target = BUILD / "peers" / "sum_tree"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(target)], check=True, timeout=300)
    return target


def plain_trees(binary: Path, leaves: int, batches: Sequence[int]) -> Iterator[Figure]:
    """The trees of sum_tree.cpp. Raises: CalledProcessError if one of them is wrong."""
    run = subprocess.run(
        [str(binary), str(leaves), *map(str, batches)],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    for row in filter(None, json.loads(run.stdout)):
        for operation in OPERATIONS:
            yield Figure(
                f"C++, {row['tree']}", operation, leaves, row["batch"], float(row[operation])
            )


Calls = tuple[str, Callable[[int], Any], Callable[[np.ndarray, np.ndarray], Any]]


def cpprb_buffer(leaves: int) -> Calls:
    """cpprb: rows of one number, sampled with weights."""
    buffer = cpprb.PrioritizedReplayBuffer(leaves, {"row": {}}, alpha=ALPHA)
    values = np.random.default_rng(1).random(leaves)
    buffer.add(row=values, priorities=values)
    return (
        f"cpprb {version('cpprb')}",
        lambda batch: buffer.sample(batch, BETA),
        buffer.update_priorities,
    )


def device_buffer(device: Device, leaves: int) -> Calls:
    """This project's buffer on a device: rows of one number, sampled with weights."""
    buffer = PrioritizedReplayBuffer(leaves, {"row": {}}, alpha=ALPHA, device=device)
    values = np.random.default_rng(1).random(leaves)
    buffer.add(row=values, priorities=values)
    return device.name, lambda batch: buffer.sample(batch, BETA), buffer.update_priorities


def numpy_tree(leaves: int) -> Calls:
    """The golden model's vectorised tree of 64 children a node."""
    rng = np.random.default_rng(1)
    tree = SumTree((leaves - 1).bit_length())
    tree.set_many(np.arange(leaves), rng.integers(1, 1 << 16, leaves))

    def update(indices: np.ndarray, errors: np.ndarray) -> None:
        tree.set_many(indices, 1 + ((errors + 1e-4) ** ALPHA * (1 << 16)).astype(np.int64))

    return (
        f"NumPy {version('numpy')}",
        lambda batch: tree.find(rng.integers(1, tree.total, batch, endpoint=True)),
        update,
    )


def timed(calls: Calls, *, leaves: int, batches: Sequence[int]) -> Iterator[Figure]:
    """Time a peer's calls."""
    name, sample, update = calls
    rng = np.random.default_rng(2)
    for batch in batches:
        # As many batches as a pool holds, or an update would find its own traces in the cache.
        pool = cycle([(rng.integers(0, leaves, batch), rng.random(batch)) for _ in range(64)])
        for operation in OPERATIONS:

            def call(operation: str = operation, batch: int = batch, pool: Any = pool) -> None:
                if operation != "update":
                    sample(batch)
                if operation != "sample":
                    update(*next(pool))

            yield Figure(name, operation, leaves, batch, 1e9 * _least(call) / batch)


def _least(call: Callable[[], Any]) -> float:
    """Seconds a call, least of the rounds."""
    call()  # compiles
    calls = 1
    while _seconds(call, calls) < ROUND_S:
        calls *= 2
    return min(_seconds(call, calls) for _ in range(ROUNDS)) / calls


def _seconds(call: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start
