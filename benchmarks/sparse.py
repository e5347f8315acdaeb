"""The sparse engine's benchmark: clocks of layers, steps and iterations beside model and paper.

Clocks do not depend on weights and activations, so those are whatever is there; masks are random.
An operation's clocks are those that one more in a row takes: the array's busiest bank and what
passes until the next operation begins.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.base import IMAGES, Benchmark, Row, add_build_options, builds, row
from benchmarks.peers import learners
from benchmarks.sparse_array import Array, Timed
from benchmarks.sparse_network import network_rows
from benchmarks.sparse_plots import BY_MODEL, ONE, draw
from jackdaw.device import Config, load_config, open_device
from jackdaw.drivers.sparse import Sparse
from models.sparse import osel, timing
from models.sparse.formats import (
    GROUPS,
    MOST_TILES,
    VECTORS,
    Flag,
    Geometry,
    Instruction,
    Layer,
    Op,
)
from models.sparse.ic3net import ENC, HED, LST, NAMES, Sizes
from models.sparse.ic3net import layers as network_table
from models.sparse.plan import ROW_CONTIGUOUS, ROW_CYCLIC

AGENTS = 4
CORES = 3  # of the published build; an engine with one core stands for one of them
EPISODES = MOST_TILES * VECTORS // AGENTS * CORES
OBSERVATIONS = 32
POINTS = ((4, 4), (8, 4), (5, 16), (4, 24), (8, 16), (3, 32), (5, 32), (10, 32))  # agents, episodes
FIGURES = ("array", "encoder", "load", "network", "dense")
UNIT = "GFLOPS at 175 MHz"
PASSES = {"FW": Op.FW, "dX": Op.DX, "dW": Op.DW}
LAYERS = range(len(NAMES))
SOURCE = "LearningGroup"
DENSE = (257.4, f"{SOURCE}, figure 11")
EQUIVALENT = (3629.48, f"{SOURCE}, figure 11")
INFER = (12.52, f"{SOURCE}, figure 13")
OSEL = (5.72, f"{SOURCE}, figure 10a: the most")
MEMORY = {2: 1.95, 16: 6.81}  # figure 10b names the least and the most
UTILIZATION = {True: 0.8696, False: 0.9689}  # dense, sparse
SCHEMES: dict[str, int | None] = {
    "threshold": None, "contiguous rows": ROW_CONTIGUOUS, "sorted rows": ROW_CYCLIC,
}  # fmt: skip
DEVIATION = {  # Table I: by scheme and groups
    "threshold": {2: 86.0, 4: 105.0, 8: 39.2, 16: 56.4},
    "contiguous rows": {2: 47.4, 4: 31.4, 8: 35.8, 16: 36.1},
}  # fmt: skip


def gflops(macs: float, clocks: float) -> float:
    """Throughput of so many multiply-adds in so many clocks."""
    return 2 * macs / clocks * timing.CLOCK_HZ / 1e9


def passes(layer: int) -> list[tuple[str, Op]]:
    """What a layer computes in an iteration: no gradient goes on to the encoder's inputs."""
    return [(name, op) for name, op in PASSES.items() if (layer, name) != (ENC, "dX")]


def network(geometry: Geometry, groups: int) -> list[Layer]:
    """IC3Net's layers, as large as the build has room for, planned for all tiles at once."""
    sizes = Sizes(
        OBSERVATIONS * geometry.d_max // 512, AGENTS, EPISODES, 1,
        geometry.d_max // 4, groups,
    )  # fmt: skip
    return [replace(layer, tiles=MOST_TILES) for layer in network_table(sizes, geometry)]


def array_rows(
    array: Array, groups: Sequence[int], masks: int, peers: list[dict[str, Any]],
    progress: Callable[[str], None],
) -> list[Row]:  # fmt: skip
    """Operations in a row: throughput, speed-up, use of the lanes. Means over masks."""
    g, rows = array.geometry, []
    macs = [layer.m * layer.n for layer in network(g, 1)]
    vectors = AGENTS * EPISODES
    dense: dict[str, float] = {}
    for count in groups:
        rng = np.random.default_rng(count)
        timed: dict[tuple[int, str], list[Timed]] = {}
        ideal: dict[tuple[int, str], list[float]] = {}
        plain: list[Timed] = []
        repeats = masks if count > 1 else 1
        for _ in range(repeats):
            array.load(network(g, count), rng)
            array.group()
            for k in LAYERS:
                found = array.plan(k)
                for name, op in passes(k):
                    timed.setdefault((k, name), []).append(array.time(k, op))
                    want = {
                        "FW": found.forward.clocks(MOST_TILES, drain_w=g.drain_w),
                        "dX": found.backward.clocks(MOST_TILES, drain_w=g.drain_w),
                        "dW": max(found.gradient.bank_clocks(MOST_TILES, g.opt_lanes)),
                    }[name]
                    ideal.setdefault((k, name), []).append(want)
            if count > 1:
                array.group(plain=True)
                plain.append(array.time(LST, Op.FW))
        clocks = {key: float(np.mean([t.clocks for t in many])) for key, many in timed.items()}
        least = {key: float(np.mean(many)) for key, many in ideal.items()}
        progress(f"G={count}: " + ", ".join(
            f"{NAMES[k]} {name} {clocks[k, name]:.0f} ({least[k, name]:.0f})" for k, name in clocks
        ))  # fmt: skip
        over = {
            name: max(
                t.clocks - w
                for k in LAYERS
                if (k, name) in timed
                for t, w in zip(timed[k, name], ideal[k, name], strict=True)
            )
            for name in PASSES
        }
        for name in PASSES:
            config = f"{name}, G={count}, the most of all layers"
            rows.append(row("sparse", "op_overhead", config, over[name], "clocks", timing.OVERHEAD))
        for k in LAYERS:
            for name, _ in passes(k) if count == 1 or k != HED else ():
                rows.append(
                    row("sparse", "op_clocks", f"{NAMES[k]} {name}, G={count}", clocks[k, name],
                        "clocks", least[k, name])
                )  # fmt: skip
        whole = {
            "LST": (clocks[LST, "FW"], least[LST, "FW"], macs[LST]),
            "FW": tuple(
                sum(each[k, "FW"] for k in LAYERS) for each in (clocks, least)
            ) + (sum(macs),),
            "FW+dX+dW": (sum(clocks.values()), sum(least.values()), 0),
        }  # fmt: skip
        if count == 1:
            dense = {name: taken for name, (taken, *_) in whole.items()}
        for name, (taken, bound, work) in whole.items():
            if work:
                rate, most = (gflops(work * vectors, c) for c in (taken, bound))
                published = DENSE if count == 1 else EQUIVALENT if count == 16 else None
                rows.append(
                    row("sparse", "equivalent_gflops", f"{name}, G={count}", round(rate, 1), UNIT,
                        round(most, 1), published, peers if name == "LST" else None)
                )  # fmt: skip
            if dense and count > 1:
                figure = "speedup_infer" if work else "speedup_array"
                published = INFER if count == 16 and work else None
                rows.append(
                    row("sparse", figure, f"{name}, G={count}", round(dense[name] / taken, 2), "x",
                        float(count), published)
                )  # fmt: skip
        used = float(np.mean([t.utilization for t in timed[LST, "FW"]]))
        published = (UTILIZATION[count == 1], f"{SOURCE}, figure 11") if count in (1, 16) else None
        rows.append(
            row("sparse", "utilization", f"LST, G={count}", round(used, 4), "1",
                round(model_utilization(array, count), 4), published)
        )  # fmt: skip
        if plain:
            used = float(np.mean([t.utilization for t in plain]))
            rows.append(
                row("sparse", "utilization", f"LST, G={count}, without load allocation",
                    round(used, 4), "1", round(model_utilization(array, count, True), 4))
            )  # fmt: skip
    return rows


def model_utilization(array: Array, groups: int, plain: bool = False) -> float:
    """Share of the lanes' clocks of the golden model, mean over random masks."""
    layer = network(array.geometry, groups)[LST]
    shape = {"lst": timing.Shape(layer.m, layer.n)}
    work = timing.mean_work(groups, 60, plain=plain, build=array.geometry.build, layers=shape)
    return timing.utilization(work["lst"], build=array.geometry.build)


def encoder_rows(
    array: Array, groups: Sequence[int], masks: int, progress: Callable[[str], None]
) -> list[Row]:
    """Sparse data generation of a layer: the encoder's steps, compression, their pipelines.

    `NOCACHE` is the published baseline, without the row memory.
    """
    g, rows = array.geometry, []
    m, n = g.d_max // 4, g.d_max
    for count in (c for c in groups if c > 1):
        rng = np.random.default_rng(count)
        parts: list[list[float]] = []
        uncached: list[float] = []
        for _ in range(masks):
            array.load([Layer(m, n, count)], rng)
            encoded = array.run([Instruction(Op.ENC)])
            array.run([Instruction(Op.PLAN)])
            read = array.run([Instruction(Op.COMP)])
            steps = [*encoded["osel_clocks"][:4], read["osel_clocks"][4]]
            taken = encoded["unit_busy"]["OSEL"] + read["unit_busy"]["LAU"]
            parts.append([*steps, taken - sum(steps), taken])
            plainly = array.run([Instruction(Op.ENC, flags=int(Flag.NOCACHE))])
            array.run([Instruction(Op.PLAN)])
            dense = Instruction(Op.COMP, flags=int(Flag.NOCACHE))
            read = array.run([dense])
            uncached.append(plainly["unit_busy"]["OSEL"] + read["unit_busy"]["LAU"])
        mean = np.mean(parts, axis=0)
        model = timing.encoder(m, n, count, masks, g.build, g.width)
        names = ("MaxIndex", "rows", "misses", "lists", "compression", "pipelines", "all")
        ideals = (model.max_index, model.rows, model.misses, model.lists, model.compression, 0,
                  model.osel)  # fmt: skip
        base = float(np.mean(uncached))
        progress(f"{m} x {n}, G={count}: {mean[-1]:.0f} clocks, {base:.0f} without row memory")
        rows += [
            row("sparse", "osel_clocks", f"{m} x {n}, G={count}, {name}", round(clocks, 1),
                "clocks", round(ideal, 1))
            for name, clocks, ideal in zip(names, mean, ideals, strict=True)
        ]  # fmt: skip
        rows += [
            row("sparse", "osel_clocks", f"{m} x {n}, G={count}, without row memory",
                round(base, 1), "clocks", round(model.uncached, 1)),
            row("sparse", "osel_ratio", f"{m} x {n}, G={count}", round(base / mean[-1], 2), "x",
                round(model.uncached / model.osel, 2), OSEL),
        ]  # fmt: skip
    for count in (c for c in groups if c > 1):
        for published in (True, False):
            ratio = 16 * m * n / osel.memory_bits(m, n, count, published)
            there = (MEMORY[count], f"{SOURCE}, figure 10b") if count in MEMORY else None
            rows.append(
                row("sparse", "memory_ratio",
                    f"{m} x {n}, G={count}, {'as published' if published else 'ours'}{BY_MODEL}",
                    round(ratio, 2), "x", published=there)
            )  # fmt: skip
    return rows


def load_rows(
    array: Array, groups: Sequence[int], masks: int, progress: Callable[[str], None]
) -> list[Row]:
    """Largest difference of a core's weights from a third.

    It is counted in an engine of three cores; the threshold is not in the hardware. What is not
    counted is the golden model's, and says so.
    """
    g, rows = array.geometry, []
    m, n = g.d_max // 4 + 1, g.d_max
    for count in (c for c in groups if 1 < c <= 16):
        found: dict[int | None, list[float]] = {ROW_CONTIGUOUS: [], ROW_CYCLIC: []}
        rng = np.random.default_rng(count)
        for _ in range(masks if g.cores > 1 else 0):
            array.load([Layer(m, n, count)], rng)
            array.run([Instruction(Op.ENC, post=1), Instruction(Op.PLAN, wait=1)])
            for policy in found:
                flags = Flag.ROW | (Flag.POLICY if policy == ROW_CYCLIC else Flag(0))
                comp = Instruction(Op.COMP, flags=int(flags))
                loads = np.array(array.run([comp])["core_load"][: g.cores])
                found[policy].append(float(np.abs(loads - loads.sum() / g.cores).max()))
        for name, policy in SCHEMES.items():
            model = timing.deviation(m, n, count, policy, cores=3)
            measured = found.get(policy, [])
            there = DEVIATION.get(name, {}).get(count, 0.0)
            config = f"{m} x {n}, G={count}, {name}" + ("" if measured else BY_MODEL)
            progress(f"{config}: {np.mean(measured or [model]):.1f}, {model:.1f} by the model")
            rows.append(
                row("sparse", "load_deviation", config,
                    round(float(np.mean(measured)) if measured else model, 1), "weights",
                    round(model, 1), (there, f"{SOURCE}, Table I") if there else None)
            )  # fmt: skip
    return rows


def dense_rows(
    array: Array, points: Sequence[tuple[int, int]], progress: Callable[[str], None]
) -> list[Row]:
    """Throughput of the dense network for numbers of agents and episodes, in the better split.

    An engine with one core is given what the core with the most has of three: its episodes, or a
    layer of a third of the rows.
    """
    g, rows = array.geometry, []
    layers = network(g, 1)
    macs = sum(layer.m * layer.n for layer in layers)
    known: dict[tuple[int, bool], float] = {}
    array.load(layers, np.random.default_rng(1))

    def clocks(tiles: int, by_rows: bool) -> float:
        """Of all layers for so many tiles of a core, 8 at a time."""
        sizes = [min(MOST_TILES, tiles - first) for first in range(0, tiles, MOST_TILES)]
        shared = by_rows and g.cores > 1
        for size in set(sizes):
            if (size, by_rows) not in known:
                many = [replace(layer, tiles=size) for layer in layers]
                if by_rows and not shared:
                    many = [third(layer) for layer in many]
                array.load(many, rng)
                array.group(flags=Flag.ROW | Flag.POLICY if shared else Flag(0))
                known[size, by_rows] = sum(
                    array.time(k, Op.FW, size, shared).clocks for k in LAYERS
                )
        return sum(known[size, by_rows] for size in sizes)

    rng = np.random.default_rng(1)
    for agents, episodes in points:
        vectors = agents * episodes
        most = max(agents * ((c + 1) * episodes // 3 - c * episodes // 3) for c in range(3))
        found = {"episodes": clocks(-(-most // VECTORS), False)}
        found["rows"] = clocks(-(-vectors // VECTORS), True)
        split = min(found, key=lambda name: found[name])
        rate = gflops(macs * vectors, found[split])
        model = timing.dense_gflops(agents, episodes, overhead=0)
        config = f"{agents} agents, {episodes} episodes, {split} over cores"
        progress(f"{config}: {found[split]:.0f} clocks, {rate:.1f} GFLOPS")
        rows.append(
            row("sparse", "dense_gflops", config, round(rate, 1), UNIT, round(model, 1), DENSE)
        )
    return rows


def third(layer: Layer) -> Layer:
    """The rows of a dense layer that the first of three cores has."""
    return replace(layer, m=layer.split * -(-layer.m // (layer.split * CORES)), dx_from=0)


def peers_of(layer: Layer, vectors: int) -> list[dict[str, Any]]:
    """The layer in PyTorch, dense and masked."""
    import torch

    return [
        {"name": f"PyTorch {torch.__version__}", "unit": "GFLOPS",
         "value": round(2 * layer.m * layer.n * vectors / ns, 1),
         "config": f"{name}, {vectors} vectors, float32, one thread"}
        for name, ns in learners.layer(layer.m, layer.n, vectors).items()
    ]  # fmt: skip


def paper_rows(array: Array, masks: int, progress: Callable[[str], None]) -> list[Row]:
    """The speed-up of the LSTM layer where all lanes share the broadcast activations."""
    found = {}
    for count in (1, 16):
        rng, taken = np.random.default_rng(count), []
        for _ in range(masks if count > 1 else 1):
            array.load(network(array.geometry, count), rng)
            array.group()
            taken.append(array.time(LST, Op.FW).clocks)
        found[count] = float(np.mean(taken))
    model = {
        count: timing.mean_work(count, build=array.geometry.build)["lst"].fw for count in found
    }
    progress(f"LST of the published core: {found[1]:.0f} clocks, {found[16]:.0f} with G=16")
    return [
        row("sparse", "paper_core", "LST, G=16", round(found[1] / found[16], 2), "x",
            round(model[1] / model[16], 2), INFER)
    ]  # fmt: skip


def numbers(text: str) -> list[int]:
    """Of a list with commas."""
    return [int(part) for part in text.split(",")]


class SparseBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "sparse.png"  # one for each figure: sparse_load.png and others
    long = True

    def __init__(self) -> None:
        self.build: Config = load_config("sparse_full")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        add_build_options(parser)
        parser.add_argument("--figures", default=",".join(FIGURES), metavar="NAMES",
                            help="some of %(default)s")  # fmt: skip
        parser.add_argument("--groups", default=",".join(map(str, GROUPS)), metavar="LIST",
                            help="published %(default)s")  # fmt: skip
        parser.add_argument("--masks", type=int, default=4, metavar="N",
                            help="random masks of each figure (default %(default)s)")  # fmt: skip
        parser.add_argument("--steps", type=int, default=20, metavar="T",
                            help="of an iteration (default %(default)s)")  # fmt: skip

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        for build in builds(options):
            build.instance("sparse")
            self.build = build
        wrong = set(options.figures.split(",")) - set(FIGURES)
        if wrong:
            raise ValueError(f"--figures: got {', '.join(sorted(wrong))}, want {FIGURES}")
        groups = options.groups.split(",")
        if set(groups) - set(map(str, GROUPS)):
            raise ValueError(f"--groups: got {options.groups}, want some of {GROUPS}")
        for name in ("masks", "steps"):
            if getattr(options, name) < 1:
                raise ValueError(f"--{name}: got {getattr(options, name)}, want 1 or more")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        said = partial(print, flush=True)
        figures, groups = options.figures.split(","), numbers(options.groups)
        said(f"measuring {self.build.name} ...")
        with open_device(
            "sim", config=self.build, memory=options.memory, assertions=False,
            compiled_arithmetic=True,
        ) as device:  # fmt: skip
            engine = Sparse(device)
            one = engine.geometry.cores == 1
            for found in self._rows(engine, options, figures, groups, said):
                of_one = one and not found["config"].endswith(BY_MODEL)
                yield {**found, "config": found["config"] + ONE} if of_one else found

    def _rows(
        self, engine: Sparse, options: argparse.Namespace, figures: Sequence[str],
        groups: Sequence[int], said: Callable[[str], None],
    ) -> Iterable[Row]:  # fmt: skip
        """Of the figures that are wanted."""
        array = Array(engine)
        if engine.geometry.banks == 1:
            yield from paper_rows(array, options.masks, said)
            return
        layer = network(engine.geometry, 1)[LST]
        peers = peers_of(layer, AGENTS * EPISODES) if options.peers else []
        if "array" in figures:
            yield from array_rows(array, groups, options.masks, peers, said)
        if "dense" in figures:
            yield from dense_rows(array, POINTS, said)
        if "encoder" in figures:
            yield from encoder_rows(array, groups, options.masks, said)
        if "load" in figures:
            yield from load_rows(array, groups, options.masks, said)
        if "network" in figures:
            episodes = EPISODES * engine.geometry.cores // CORES
            yield from network_rows(engine, groups, AGENTS, episodes, options.steps, said)

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """A plot of each figure: throughput, encoder, load, utilization, speed-up."""
        draw(path, rows)
