#!/usr/bin/env python3
"""Measure an engine in device clocks, with the ideal and the published figure beside each.

    scripts/bench.py replay|learner [--config demo] [--memory D] [--json FILE]

Every row has the same keys: engine, figure, config, measured, unit, ideal, published, peers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from jackdaw.device import load_config, open_device
from jackdaw.device.base import Device
from jackdaw.drivers.learner import Learner, Storage, adam
from jackdaw.drivers.replay import Replay, ReplaySettings
from models.replay.engine import ReplayConfig
from models.replay.timing import Timing

Row = dict[str, Any]
THESIS = "thesis, Eq. 4.2 and 4.3"


def row(
    engine: str,
    figure: str,
    config: str,
    measured: float,
    unit: str,
    ideal: float | None = None,
    published: tuple[float, str] | None = None,
) -> Row:
    """One result; `published` is the value and its source."""
    return {
        "engine": engine,
        "figure": figure,
        "config": config,
        "measured": measured,
        "unit": unit,
        "ideal": ideal,
        "published": published and {"value": published[0], "source": published[1]},
        "peers": [],
    }


def replay_rows(device: Device, options: argparse.Namespace) -> list[Row]:
    """Clocks of whole jobs (descriptor, operations, responses to memory) and of each operation."""
    parameters = load_config(options.config).parameters
    timing = Timing(
        ReplayConfig(
            k_log2=parameters["ReplayKLog2"],
            n_log2=parameters["ReplayNLog2"],
            batch_log2=parameters["ReplayBatchLog2"],
            lat_lut=parameters["ReplayLatLut"],
            lat_bram=parameters["ReplayLatBram"],
            lat_uram=parameters["ReplayLatUram"],
            lat_mul=parameters["ReplayLatMul"],
        )
    )
    fan, depth = 1 << timing.config.k_log2, timing.levels
    replay = Replay(device, ReplaySettings(leaves=1 << timing.config.n_log2, seed=1))
    replay.insert(np.arange(1, 1025) * 1000)
    name = f"K={fan} N={1 << timing.config.n_log2}"
    rows = []
    batch = 8
    while batch <= replay.max_batch:
        sample = replay.measure_sample(batch)
        update = replay.measure_update(batch)
        paper = 2 * fan * (batch + depth), 2 * (batch + depth)
        for figure, cycles, ideal, published in (
            ("sample_job_cycles", sample, timing.sample(batch, False), paper[0]),
            ("update_job_cycles", update, timing.update(batch), paper[1]),
        ):
            rows.append(
                row("replay", figure, f"{name} B={batch}", cycles, "clocks", ideal,
                    (published, THESIS))
            )  # fmt: skip
            rows.append(
                row("replay", figure.replace("job_cycles", "cycles_each"), f"{name} B={batch}",
                    round(cycles / batch, 3), "clocks", 1.0, (published / batch, THESIS))
            )  # fmt: skip
        batch *= 2
    return rows


def learner_rows(device: Device, options: argparse.Namespace) -> list[Row]:
    """Clocks of a gradient step: DQN 4-64-64-2 from a list of records in device memory."""
    learner = Learner(device)
    rng = np.random.default_rng(1)
    sizes = [4, 64, 64, 2]
    learner.load_program(learner.dqn(sizes, adam(1e-3), kappa=1.0, sync_period=5))
    learner.load(
        [
            (rng.normal(0, 0.2, (o, i)).astype(np.float32), np.zeros(o, np.float32))
            for i, o in pairwise(sizes)
        ]
    )
    records = 256
    words = rng.normal(0, 1, (records, 16)).astype(np.float32)
    words[:, 4] = rng.integers(0, 2, records).astype(np.int32).view(np.float32)
    storage = Storage(device.alloc(words.nbytes), 64, records)
    device.write(storage.base, words)
    rows = []
    batch = 8
    while batch <= learner.geometry.b_max:
        steps = 5
        indices = rng.integers(0, records, (steps, batch))
        began, busy = time.perf_counter(), learner.busy_cycles()
        record = learner.train(batch, storage, steps=steps, indices=indices).wait()
        seconds = time.perf_counter() - began
        cycles = record.cycles / steps
        ideal = learner.ideal_cycles(batch)
        config = f"DQN 4-64-64-2 P={learner.geometry.p} DP={learner.geometry.dp} B={batch}"
        rows += [
            row("learner", "cycles_per_gradient_step", config, round(cycles, 1), "clocks", ideal),
            row("learner", "utilization", config, round(ideal / cycles, 4), "1", 1.0),
            row("learner", "tensor_unit_busy", config,
                round((learner.busy_cycles() - busy) / record.cycles, 4), "1", 1.0),
            row("learner", "gradient_steps_per_second", config,
                round(device.clock_hz / cycles, 1), f"1/s at {device.clock_hz / 1e6:.0f} MHz",
                round(device.clock_hz / ideal, 1)),
            row("learner", "simulation_speed", config, round(record.cycles / seconds / 1e3, 1),
                "kcycles/s"),
        ]  # fmt: skip
        batch *= 2
    return rows


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| figure | configuration | measured | ideal | published | unit |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        published = f"{r['published']['value']:g}" if r["published"] else ""
        ideal = "" if r["ideal"] is None else f"{r['ideal']:g}"
        cells = (r["figure"], r["config"], f"{r['measured']:g}", ideal, published, r["unit"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


ENGINES = {"replay": replay_rows, "learner": learner_rows}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--config", default="demo", help="build configuration in configs/")
    parser.add_argument("--memory", default="D", help="memory preset: D S Q I")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args(argv)
    with open_device("sim", config=options.config, memory=options.memory) as device:
        rows = ENGINES[options.engine](device, options)
    print(f"memory preset {options.memory}, latency 64 clocks; configuration {options.config}")
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
