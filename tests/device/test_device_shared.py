"""Replay and learner on one memory port: a learner at work hardly makes the other's jobs longer.

The learner's work is what needs the port slowly: long records whose words go to the frames one per
clock, results that are gathered word by word, an image that is read from the master memories.

Source: docs/shell.md, memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flow.regression import builds
from jackdaw.agents.base import default_initialization
from jackdaw.device import load_config, open_device
from jackdaw.drivers.learner import JOB_STORE, Learner, Storage, adam, vector_pitch
from jackdaw.drivers.replay import Replay, ReplaySettings
from jackdaw.drivers.rings import Job

CONFIG = "demo"
SIZES = (60, 16, 16)  # a record of 123 words
BATCH, RECORDS, ROWS, LEAVES, REPEATS = 64, 256, 64, 256, 4
ALL_KINDS = 0x1F << 8
# Clocks that a SAMPLE of BATCH and a GATHER of ROWS rows may take longer: some bursts of others.
MOST = {"SAMPLE": 100, "GATHER": 100}


def storage(device: Any, rng: np.random.Generator) -> Storage:
    """Random records."""
    words = rng.standard_normal((RECORDS, 128)).astype(np.float32)
    words[:, SIZES[0]] = rng.integers(0, SIZES[-1], RECORDS).astype(np.int32).view(np.float32)
    address = device.alloc(words.nbytes)
    device.write(address, words)
    return Storage(address, 512, RECORDS)


def measure(seed: int) -> dict[str, dict[str, int]]:
    """The longest of some jobs of the replay engine, in clocks, by what the learner does."""
    rng = np.random.default_rng(seed)
    assert load_config(CONFIG).parameters["MemPorts"] == 1
    with open_device("sim", CONFIG, seed=seed) as device:
        replay, learner = Replay(device, ReplaySettings(leaves=LEAVES, seed=seed)), Learner(device)
        replay.insert(rng.random(LEAVES).astype(np.float32), td=True)
        learner.load_program(learner.dqn(SIZES, adam(1e-3)))
        learner.load(default_initialization(SIZES, rng))
        records = storage(device, rng)
        out = device.alloc(RECORDS * vector_pitch(SIZES[-1]))
        indices = rng.integers(0, RECORDS, (8, BATCH))

        def train() -> Job:
            return learner.train(BATCH, records, steps=len(indices), indices=indices)

        def infer() -> Job:
            return learner.queue_infer(RECORDS, records, out)

        def store() -> Job:
            words = [JOB_STORE, 0, 1 | ALL_KINDS, 0, out & 0xFFFFFFFF, out >> 32]
            return learner._ring.submit_all([words] * 8)[-1]

        work: dict[str, Callable[[], Job] | None] = {
            "nothing": None, "TRAIN": train, "INFER": infer, "STORE": store
        }  # fmt: skip
        found: dict[str, dict[str, int]] = {}
        for name, begin in work.items():
            job = begin() if begin is not None else None
            found[name] = {"SAMPLE": 0, "GATHER": 0}
            for _ in range(REPEATS):
                found[name]["SAMPLE"] = max(found[name]["SAMPLE"], replay.measure_sample(BATCH))
                rows = rng.integers(0, RECORDS, ROWS)
                found[name]["GATHER"] = max(
                    found[name]["GATHER"], replay.measure_gather(rows, records.base, 64)
                )
                assert job is None or not job.poll(), f"{name} ended before it was measured"
            learner.soft_reset()
        return found


@builds(lambda: open_device("sim", CONFIG))
def test_a_learner_at_work_holds_up_nobody(seed: int) -> None:
    found = measure(seed)
    print("\n".join(f"{name}: {clocks}" for name, clocks in found.items()))
    alone = found.pop("nothing")
    for name, clocks in found.items():
        for kind, most in MOST.items():
            assert clocks[kind] <= alone[kind] + most, f"{kind} beside {name}: {clocks}, {alone}"
