"""Steps and iterations of IC3Net on the sparse engine: clocks of stages and units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.base import Row, row
from benchmarks.sparse_array import risen
from jackdaw.drivers.sparse import Parameters, Sparse, SparseSettings
from models.sparse.ic3net import NAMES

SOURCE = "LearningGroup"
TRAIN = (9.75, f"{SOURCE}, figure 13")
SHARE = (0.029, f"{SOURCE}, figure 12: mean")
UNITS = ("DMA", "OSEL", "LAU", "FILL", "VPU", "ELEM", "COMM", "OPT")


def parameters(engine: Sparse, seed: int = 1) -> Parameters:
    """Random weights and masks of the network that is configured."""
    rng = np.random.default_rng(seed)
    found: Parameters = {}
    for name, layer in zip(NAMES, engine.layers, strict=True):
        m, n, g = layer.m, layer.n, layer.groups
        found[name] = {
            "weight": (rng.uniform(-1, 1, (m, n)) / np.sqrt(m)).astype(np.float32),
            "bias": np.zeros(n, np.float32),
        }
        if g > 1:
            for key, count in (("ig", m), ("og", n)):
                chosen = rng.integers(0, g, count)
                found[name][key] = (chosen[:, None] == np.arange(g)).astype(np.int8)
    return found


def iteration(engine: Sparse, settings: SparseSettings) -> dict[str, Any]:
    """What the counters rise by in an iteration: GROUP, all steps, BACKWARD, UPDATE.

    Returns: by stage; `steps`, a list of those of each step; `VPU`, clocks in which the array had
        an operation, until its last result has left; `lanes`, those in which lanes multiply.
    """
    s = settings
    engine.configure(s)
    engine.load(parameters(engine))
    vectors = s.agents * s.episodes
    rng = np.random.default_rng(1)
    found: dict[str, Any] = {"steps": []}

    def counted(call: Callable[[], Any]) -> dict[str, Any]:
        before = engine.statistics()
        call()
        return risen(before, engine.statistics())

    found["GROUP"] = counted(engine.regroup)
    engine.begin()
    for _ in range(s.steps):
        seen = rng.normal(size=(vectors, s.observations))
        found["steps"].append(counted(lambda: engine.step(seen, np.ones(vectors, bool))))  # noqa: B023
    dout = rng.normal(size=(s.steps, vectors, 8))
    found["BACKWARD"] = counted(lambda: engine.backward(dout))
    found["UPDATE"] = counted(lambda: engine.update(1 / vectors))
    all_steps = (*found["steps"], found["BACKWARD"])
    found["VPU"] = sum(one["unit_busy"]["VPU"] for one in all_steps)
    g = engine.geometry
    found["lanes"] = sum(one["lane_clocks"] for one in all_steps) // (g.cores * g.banks * g.lanes)
    return found


def network_rows(
    engine: Sparse, groups: Sequence[int], agents: int, episodes: int, steps: int,
    progress: Callable[[str], None],
) -> list[Row]:  # fmt: skip
    """Clocks of a step and of an iteration, and how many times fewer than dense ones."""
    g, rows = engine.geometry, []
    hidden = g.d_max // 4
    observations = 32 * hidden // 128
    found: dict[int, dict[str, Any]] = {}
    for count in groups:
        settings = SparseSettings(
            observations=observations, agents=agents, episodes=episodes, steps=steps,
            hidden=hidden, groups=count, split="vec",
        )  # fmt: skip
        now = found[count] = iteration(engine, settings)
        where = f"G={count}, {agents} agents, {episodes} episodes, {steps} steps"
        forward = [one["stage"]["FORWARD"] for one in now["steps"]]
        parts = {
            "step": float(np.mean(forward)),
            "GROUP": now["GROUP"]["stage"]["GROUP"],
            "FORWARD": sum(forward),
            "BACKWARD": now["BACKWARD"]["stage"]["BACKWARD"],
            "UPDATE": now["UPDATE"]["stage"]["UPDATE"],
        }
        now["iteration"] = parts["iteration"] = sum(
            parts[name] for name in ("GROUP", "FORWARD", "BACKWARD", "UPDATE")
        )
        now["array"] = now["VPU"] + parts["GROUP"] + parts["UPDATE"]
        now["multiplying"] = now["lanes"] + parts["GROUP"] + parts["UPDATE"]
        now["step"] = parts["step"]
        progress(f"{where}: " + ", ".join(f"{name} {clocks:.0f}" for name, clocks in parts.items()))
        rows += [
            row("sparse", "network_clocks", f"{where}, {name}", round(clocks, 1), "clocks")
            for name, clocks in parts.items()
        ]
        rows += [
            row("sparse", "network_clocks", f"{where}, all operations of the array{what}",
                now[name], "clocks")
            for name, what in (("VPU", ""), ("lanes", ", while lanes multiply"))
        ]  # fmt: skip
        for stage, counted in (("step", now["steps"][-1]), ("BACKWARD", now["BACKWARD"])):
            busy = counted["unit_busy"]
            progress(f"{where}: {stage}: " + ", ".join(f"{u} {busy[u]}" for u in UNITS))
            rows += [
                row("sparse", "unit_busy", f"{where}, {stage}, {unit}", busy[unit], "clocks")
                for unit in UNITS if busy[unit]
            ]  # fmt: skip
    return rows + compared(found, agents, episodes, steps)


def compared(
    found: Mapping[int, Mapping[str, Any]], agents: int, episodes: int, steps: int
) -> list[Row]:
    """Speed-ups over the dense network, and the share of sparse data generation."""
    rows = []
    dense = found.get(1)
    where = f"{agents} agents, {episodes} episodes, {steps} steps"
    for count, now in found.items():
        if dense is None or count == 1:
            continue
        for name in ("step", "iteration"):
            rows.append(
                row("sparse", "speedup_end_to_end", f"{name}, G={count}, {where}",
                    round(dense[name] / now[name], 2), "x", float(count))
            )  # fmt: skip
        rows += [
            row("sparse", "speedup_train", f"G={count}, {where}{what}",
                round(dense[name] / now[name], 2), "x", float(count),
                TRAIN if count == 16 else None)
            for name, what in (("array", ""), ("multiplying", ", while lanes multiply"))
        ]  # fmt: skip
    shares = {}
    for count, now in found.items():
        busy = now["GROUP"]["unit_busy"]
        shares[count] = (busy["OSEL"] + busy["LAU"]) / now["array"]
        rows.append(
            row("sparse", "generation_share", f"G={count}, {where}", round(shares[count], 4),
                "1", 0.0)
        )  # fmt: skip
    wanted = [count for count in (1, 2, 4, 8, 16) if count in shares]
    if len(wanted) == 5:
        mean = float(np.mean([shares[count] for count in wanted]))
        rows.append(
            row("sparse", "generation_share", f"mean of G=1..16, {where}", round(mean, 4), "1", 0.0,
                SHARE)
        )  # fmt: skip
    return rows
