"""The mcts engine's benchmark: clocks of selections and iterations beside cycle model and thesis.

Each tree is grown once, by the golden model (`models/mcts/traces.py`), or by a search that plays a
game of Atari (`benchmarks/mcts_games.py`). The engine then gets the same lists. It must give the
same responses and root. The cycle model is given what it was, list by list, and its error is a row.

Workers take turns: those that have been out longest finish. So a worker's update comes after the
requests of all other workers, as it does when a simulation takes as long as theirs in the tree.
"""

from __future__ import annotations

import argparse
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.base import IMAGES, Benchmark, Row, add_build_options, builds, row
from benchmarks.mcts_games import GAMES, searched
from flow import results
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.device.timing import MEMORIES
from jackdaw.drivers.mcts import Mcts, MctsSettings, requests, select_requests
from jackdaw.drivers.rings import Job
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY, STATIC
from models.mcts.formats import NO_ID, RESPONSE, VALUE_FRAC, Code, Geometry, Op
from models.mcts.timing import Clocks, ports_ahead, replay
from models.mcts.traces import GROUP, SHAPES, WORKERS, Part, Search, Shape, grow, join
from models.registers import mcts as registers

LEVELS = (8, 16, 32)
CONFIGS = {6: "mcts", 18: "mcts18"}  # by children
NODES = 10_000
POLICIES = (ALGORITHM_2, NEXT_EMPTY, STATIC)
LISTS = 12  # in the ring at a time
BURSTS = 4  # of selections of all workers
QUEUE_LOG2 = 12
TIMEOUT_S = 60.0
MODULO = 1 << 32
SOURCE = "thesis, Table 3.8: the least of its games"
# Clocks between selections of the dynamic tree, by children, levels and policy.
PUBLISHED = {
    (6, 8, ALGORITHM_2): 3.2, (6, 16, ALGORITHM_2): 3.5, (6, 32, ALGORITHM_2): 9.4,
    (6, 8, NEXT_EMPTY): 8.1, (6, 16, NEXT_EMPTY): 16.9, (6, 32, NEXT_EMPTY): 34.1,
    (18, 16, ALGORITHM_2): 4.7, (18, 32, ALGORITHM_2): 10.5,
    (18, 16, NEXT_EMPTY): 18.2, (18, 32, NEXT_EMPTY): 37.8,
}  # fmt: skip


class Player:
    """Gives an engine the lists of a golden search.

    Attributes:
        mcts: the engine.
        search: the golden tree.
        equal: responses that were equal so far.
        begun: the device's clock before the last lists.
        answer_interval: mean clocks between the responses of the last lists.
    """

    def __init__(self, mcts: Mcts, search: Search, policy: int, latency: int) -> None:
        self.mcts, self.search, self._memory = mcts, search, latency
        self.equal = 0
        self.answer_interval = 0.0
        self.begun = 0
        trace = join([part.trace for part in search.parts])
        self.ports = ports_ahead(trace, search.geometry, policy)

    def play(self, parts: Sequence[Part]) -> tuple[np.ndarray, Clocks]:
        """Run lists that follow one another, on an engine that is idle before them.

        Returns: the responses in order of workers, [n] RESPONSE, and the cycle model's clocks.
        Raises: RuntimeError for a response that the golden model does not give.
        """
        self.mcts.fence()
        self.mcts.clear_statistics()
        self.begun = self.mcts.device.cycles()
        found: list[np.ndarray] = []
        jobs: deque[Job] = deque()
        for part in parts:
            if len(jobs) == LISTS:
                jobs.popleft().wait(TIMEOUT_S)
                found.append(self.mcts.poll())
            jobs.append(self.mcts.submit(part.requests, part.priors))
        jobs[-1].wait(TIMEOUT_S)
        found.append(self.mcts.poll())
        want, got = np.concatenate([part.responses for part in parts]), np.concatenate(found)
        want, got = (each[np.argsort(each["worker"], kind="stable")] for each in (want, got))
        names = [name for name in RESPONSE.names or () if name != "stamp"]
        if want[names].tolist() != got[names].tolist():
            raise RuntimeError("mcts: its responses are not the golden model's")
        self.equal += len(got)
        stamps = got["stamp"].astype(np.int64)
        if len(got) > 1:
            self.answer_interval = float(np.ptp(stamps)) / (len(got) - 1)
        sizes = np.array([len(part.requests) for part in parts])
        trace = join([part.trace for part in parts])
        return got, replay(trace, self.search.geometry, sizes, self._memory, self.ports)

    def interval(self, parts: Sequence[Part], op: Op = Op.SEL) -> tuple[float, float]:
        """Mean clocks per request of a kind at the root, of the engine and of the cycle model."""
        _, clocks = self.play(parts)
        gaps = sum(int((part.trace.op == op).sum()) for part in parts) - 1
        first, last = (
            self.mcts.read(each.offset) for each in (registers.ROOT_FIRST, registers.ROOT_LAST)
        )
        return (last - first) % MODULO / gaps, (clocks.root_last - clocks.root_first) / gaps

    def latency(self, count: int) -> tuple[float, float, int]:
        """Clocks of a list of updates and selections of workers that are out, from the doorbell on.

        Returns: clocks until the last response is made, the cycle model's, and the most levels of a
            request's way. The workers' selections go before, and are not counted.
        """
        g = self.search.geometry
        workers = list(range(min(count, g.w_max)))
        self.play([self.select(workers)])
        rows = requests(2 * len(workers))
        rows["op"][: len(workers)], rows["op"][len(workers) :] = Op.UPD, Op.SEL
        rows["worker"] = workers * 2
        rows["new_id"][len(workers) :] = NO_ID
        part = self.search.run(rows)
        found, clocks = self.play([part])
        taken = (int(found["stamp"].max()) - self.begun) % MODULO
        self.play([self.update(workers)])
        return taken, clocks.total, int(part.trace.length.max())

    def counted(self) -> dict[str, float]:
        """What the engine counted in the last lists, as shares of their clocks at the root.

        Returns: `root`, requests at the root; `port`, work of the busiest port; `hazard`, clocks in
            which a node unit waited for an operation on the same node (of all of them together);
            `tokens`, the most in flight.
        """
        first, last = (
            self.mcts.read(each.offset) for each in (registers.ROOT_FIRST, registers.ROOT_LAST)
        )
        clocks = (last - first) % MODULO + 1
        counts = self.mcts.statistics()
        return {
            "root": (counts["n_sel"] + counts["n_upd"]) / clocks,
            "port": counts["port_busy_max"] / clocks,
            "hazard": counts["hazard"] / clocks,
            "tokens": counts["max_flight"],
        }

    def update(self, workers: Sequence[int]) -> Part:
        """The golden tree takes these workers back, with the value 0."""
        rows = requests(len(workers))
        rows["op"], rows["worker"] = Op.UPD, workers
        return self.search.run(rows)

    def select(self, workers: Sequence[int]) -> Part:
        """The golden tree selects for these workers, and inserts nothing."""
        return self.search.run(select_requests(workers, [NO_ID] * len(workers)))

    def compare_root(self) -> None:
        """Raises: RuntimeError if visits or sums of the root's children differ."""
        t, root = self.search.tree, self.search.geometry.entries
        visits, n, w = self.mcts.read_root()
        if (visits, n.tolist()) != (int(t.visits[root]), t.n[root].tolist()) or (
            w.tolist() != np.ldexp(t.w[root].astype(float), -VALUE_FRAC).tolist()
        ):
            raise RuntimeError("mcts: its root is not the golden model's")


def ideal_latency(g: Geometry, levels: int) -> float:
    """Clocks of a selection that touches a node on each of so many levels and waits for nothing."""
    networks = 8 if g.xbar else 2 * (g.d.bit_length() - 1) + 6
    return 8 + (levels - 1) * networks  # no network leads to the root


def measure(
    device: Device,
    shapes: Sequence[str] = tuple(SHAPES),
    policies: Sequence[int] = POLICIES,
    nodes: int = NODES,
    latency: int = MEMORIES["D"].latency,
    groups: Sequence[int] = (GROUP,),
    workers: int = WORKERS,
    progress: Callable[[str], None] = print,
) -> list[Row]:
    """Clocks between selections, updates, iterations; and of one selection.

    Args:
        device: with an mcts engine.
        shapes: of trees, see models/mcts/traces.py.
        policies: how banks are given.
        nodes: of a tree, at most the build's X; a static tree ends when a level is full.
        latency: of the memory, clocks.
        groups: iterations of a list. Only the interval between iterations is measured for those
            after the first.
        workers: that iterate, at most the build's WMax.
        progress: told what was measured.
    Raises: RuntimeError if the engine does not give what the golden model gives.
    """
    mcts, rows = Mcts(device, queue_log2=QUEUE_LOG2), []
    g = mcts.geometry
    nodes, workers = min(nodes, g.x), min(workers, g.w_max)

    def report(
        config: str, figure: str, of: str, clocks: tuple[float, float], ideal: float,
        published: tuple[float, str] | None = None,
    ) -> None:  # fmt: skip
        taken, predicted = clocks
        progress(f"{config}, {figure}, {of}: {taken:.3f} clocks, {predicted:.3f} by the model")
        error = round(100 * abs(predicted / taken - 1), 1)
        rows.extend([
            row("mcts", figure, f"{config}, {of}", round(taken, 3), "clocks", ideal, published),
            row("mcts", "model_error", f"{config}, {figure}, {of}", error, "%", 0),
        ])  # fmt: skip

    for name in shapes:
        for policy in policies:
            network = "crossbars" if g.xbar else "butterflies"
            players: list[Player] = []
            for number, each in enumerate(groups):
                group = min(each, workers)
                if name in SHAPES:
                    search = _grown(SHAPES[name], g, nodes, workers, group, policy)
                else:
                    search = searched(name, g, nodes, workers, group, policy)
                shape = search.shape
                mcts.configure(MctsSettings(rule=shape.rule, c=shape.c, vl=shape.vl, policy=policy))
                player = Player(mcts, search, policy, latency)
                start, first, *rest = search.parts
                legal = int(start.requests["legal"][1])
                held = 1 + sum(
                    int((p.responses["code"] == Code.EXPAND).sum()) for p in search.parts
                )
                config = f"D={g.d} F={g.f} {network} {name} policy={policy}, {held} nodes"
                mcts.reset()
                mcts.root(legal, None if shape.rule == "uct" else start.priors[1])
                player.play([first])
                of = f"{workers} workers, lists of {group} and {group}"
                report(config, "iteration_interval", of, player.interval(rest), 2 + 19 / group)
                if not number:
                    rows.extend(_utilization(player.counted(), f"{config}, {of}", g.t))
                if (search.tree.edges >= 0).any():
                    out = np.flatnonzero(search.tree.edges >= 0).tolist()
                    player.play([player.update(out)])
                player.compare_root()
                players.append(player)
                taken, predicted, edges = player.latency(group)
                report(config, "list_latency", f"{group} updates and {group} selections, of at "
                       f"most {edges} levels", (taken, predicted),
                       3 * latency + 60 + 3 * group + 12 * edges)  # fmt: skip
                if number:
                    continue
                everyone = list(range(g.w_max))
                selections, updates, answers = [], [], []
                for _ in range(BURSTS):
                    part = player.select(everyone)
                    selections.append(player.interval([part]))
                    answers.append(player.answer_interval)
                    updates.append(player.interval([player.update(everyone)], Op.UPD))
                beside = PUBLISHED.get((g.f, g.d, policy))
                report(config, "selection_interval", f"lists of {g.w_max}, room for {g.t}",
                       _mean(selections), 1.0, (beside, SOURCE) if beside else None)  # fmt: skip
                rows.append(row("mcts", "answer_interval", f"{config}, lists of {g.w_max}",
                                round(float(np.mean(answers)), 3), "clocks", 1))  # fmt: skip
                report(config, "update_interval", f"lists of {g.w_max}, room for {g.t}",
                       _mean(updates), 1.0)  # fmt: skip
                alone = player.select([0])
                found, clocks = player.play([alone])
                begun, levels = mcts.read(registers.ROOT_FIRST.offset), int(alone.trace.length[0])
                single = (int(found["stamp"][0]) - begun) % MODULO, clocks.total - clocks.root_first
                report(config, "selection_latency", f"{levels} levels", single,
                       ideal_latency(g, levels))  # fmt: skip
                player.play([player.update([0])])
                player.compare_root()
            equal = sum(player.equal for player in players)
            rows.append(row("mcts", "bits", config, equal, "responses", equal))
    return rows


def _grown(shape: Shape, g: Geometry, nodes: int, workers: int, group: int, policy: int) -> Search:
    """A search in which no selection finds its level full; with fewer nodes, if need be."""
    while True:
        search = grow(shape, g, nodes, workers=workers, group=group, policy=policy, oldest=True)
        nodes = 1
        for part in search.parts:
            if (part.responses["code"] == registers.Error.E_FULL).any():
                break
            nodes += int((part.responses["code"] == Code.EXPAND).sum())
        else:
            return search


def _utilization(counts: dict[str, float], config: str, room: int) -> list[Row]:
    """Rows of `Player.counted`."""
    return [
        row("mcts", "utilization", f"{config}: {text}", round(100 * counts[name], 1), "% of clocks")
        for name, text in (("root", "root"), ("port", "busiest port"),
                           ("hazard", "waits at a node, of all ports"))
    ] + [row("mcts", "tokens", config, counts["tokens"], "tokens", room)]  # fmt: skip


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    taken, predicted = np.mean(pairs, axis=0).tolist()
    return taken, predicted


class MctsBenchmark(Benchmark):
    """See the module."""

    image = IMAGES / "mcts_clocks.png"
    long = True

    def __init__(self) -> None:
        self.builds: list[Config] = []

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        add_build_options(parser, peers=False)
        parser.add_argument("--nodes", type=int, default=NODES,
                            help="of a tree (default %(default)s)")  # fmt: skip
        parser.add_argument("--workers", type=int, default=WORKERS,
                            help="that iterate (default %(default)s)")  # fmt: skip
        for option, default, text in (
            ("levels", "8", "builds of so many; 32 take minutes to build"),
            ("children", "6", f"some of {', '.join(map(str, CONFIGS))}"),
            ("networks", "crossbars,butterflies", "some of %(default)s"),
            ("shapes", ",".join(SHAPES), f"some of %(default)s,{','.join(GAMES)}"),
            ("policies", "0,1", f"some of {', '.join(map(str, POLICIES))}"),
            ("groups", str(GROUP), "iterations of a list (default %(default)s)"),
        ):  # fmt: skip
            parser.add_argument(f"--{option}", default=default, metavar="LIST", help=text)

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        networks = {"crossbars": 1, "butterflies": 0}
        for name, known in (
            ("shapes", (*SHAPES, *GAMES)), ("policies", POLICIES), ("levels", LEVELS),
            ("children", CONFIGS), ("networks", networks),
        ):  # fmt: skip
            allowed = list(map(str, known))
            wrong = set(getattr(options, name).split(",")) - set(allowed)
            if wrong:
                raise ValueError(f"--{name}: got {', '.join(sorted(wrong))}, want {allowed}")
        for name, least in (("nodes", 2), ("workers", 1)):
            if getattr(options, name) < least:
                raise ValueError(f"--{name}: got {getattr(options, name)}, want {least} or more")
        if not all(part.isdecimal() and int(part) for part in options.groups.split(",")):
            raise ValueError(f"--groups: got {options.groups}, want numbers from 1 on")
        self.builds = builds(options) or [
            load_config(CONFIGS[int(f)]).changed(
                {"mcts.MctsD": int(d), "mcts.MctsXbar": networks[network]}
            )
            for f in options.children.split(",")
            for d in options.levels.split(",")
            for network in options.networks.split(",")
        ]
        for build in self.builds:
            build.instance("mcts")

    def rows(self, options: argparse.Namespace) -> Iterable[Row]:
        """See Benchmark."""
        for build in self.builds:
            with open_device(
                "sim", config=build, memory=options.memory, assertions=False
            ) as device:  # fmt: skip
                yield from measure(
                    device, options.shapes.split(","), list(map(int, options.policies.split(","))),
                    options.nodes, MEMORIES[options.memory].latency,
                    list(map(int, options.groups.split(","))), options.workers,
                    partial(print, flush=True),
                )  # fmt: skip

    def draw(self, path: Path, options: argparse.Namespace, rows: list[Row]) -> None:
        """See Benchmark."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        found: dict[str, dict[tuple[str, ...], dict[str, Row]]] = {}
        recorded = [r for r in results.read("bench")["rows"] if r["engine"] == "mcts"]
        for one in [*recorded, *rows]:  # those of other builds are there, too
            words = re.match(r"D=(\d+) F=(\d+) (\w+) (\w+) policy=(\d)", one["config"])
            if words:
                place = found.setdefault(one["figure"], {}).setdefault(words.groups(), {})
                place[one["config"]] = one
        figure, panels = pyplot.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
        self._bars(panels[0], found.get("selection_interval", {}), "clocks between selections")
        self._bars(panels[1], found.get("iteration_interval", {}), "clocks between iterations")
        panels[0].set(yscale="log", ylim=(0.5, None))
        for key, of in found.get("iteration_interval", {}).items():
            groups = {int(c.rpartition(" ")[2]): r["measured"] for c, r in of.items()}
            if len(groups) > 2:
                panels[2].loglog(*zip(*sorted(groups.items()), strict=True), ".-",
                                 label=f"D={key[0]} F={key[1]} {key[3]}")  # fmt: skip
        if panels[2].lines:
            sizes = np.geomspace(1, 128)
            panels[2].loglog(sizes, 2 + 19 / sizes, "k:", label="ideal: 2 + 19 / k")
            panels[2].legend(fontsize=7)
        panels[2].set(title="iterations in lists of k", xlabel="k", ylabel="clocks each")
        panels[2].grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        pyplot.close(figure)

    @staticmethod
    def _bars(axes: Any, found: dict[tuple[str, ...], dict[str, Row]], title: str) -> None:
        """Bars of Algorithm 2's builds, and the published figure above each that has one."""
        names, heights, published = [], [], []
        for (d, f, network, shape, policy), of in sorted(
            found.items(), key=lambda each: (int(each[0][0]), int(each[0][1]), each[0][2:])
        ):
            lists = [r for c, r in of.items() if c.endswith((" 32 and 32", "512", "128"))]
            if policy == "0" and lists:
                names.append(f"D={d} F={f} {shape}" + ("" if network == "crossbars" else ", bf."))
                heights.append(lists[0]["measured"])
                beside = lists[0]["published"]
                published.append(beside["value"] if beside else np.nan)
        places = np.arange(len(names))
        axes.bar(places, heights, color="tab:blue", label="measured")
        if np.isfinite(published).any():
            axes.plot(places, published, "r_", markersize=14, label="published")
            axes.legend(fontsize=7)
        axes.set_xticks(places, names, rotation=90, fontsize=7)
        axes.set(title=title)
        axes.grid(axis="y", alpha=0.25)
