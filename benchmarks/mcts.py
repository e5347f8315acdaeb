"""The mcts engine's benchmark: clocks of selections and iterations beside cycle model and thesis.

Each tree is grown once, by the golden model (`models/mcts/traces.py`). The engine then gets the
same lists. It must give the same responses and root. The cycle model is given what it was, list by
list, and its error is a row.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from benchmarks.base import Benchmark, Row, add_build_options, builds, row
from jackdaw.device import Config, load_config, open_device
from jackdaw.device.base import Device
from jackdaw.device.timing import MEMORIES
from jackdaw.drivers.mcts import Mcts, MctsSettings, requests, select_requests
from models.mcts.banks import ALGORITHM_2, NEXT_EMPTY
from models.mcts.formats import NO_ID, RESPONSE, VALUE_FRAC, Geometry, Op
from models.mcts.timing import PUBLISHED as PUBLISHED_AFTER
from models.mcts.timing import Clocks, replay
from models.mcts.traces import GROUP, SHAPES, WORKERS, Part, Search, grow, join
from models.registers import mcts as registers

LEVELS, LARGE = 8, 32
NODES = 10_000
POLICIES = (ALGORITHM_2, NEXT_EMPTY)
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
    """

    def __init__(self, mcts: Mcts, search: Search, latency: int) -> None:
        self.mcts, self.search, self.latency = mcts, search, latency
        self.equal = 0

    def play(self, parts: Sequence[Part]) -> tuple[np.ndarray, Clocks]:
        """Run lists that follow one another, on an engine that is idle before them.

        Returns: the responses in order of workers, [n] RESPONSE, and the cycle model's clocks.
        Raises: RuntimeError for a response that the golden model does not give.
        """
        self.mcts.fence()
        self.mcts.clear_statistics()
        jobs = [self.mcts.submit(part.requests, part.priors) for part in parts]
        for job in jobs:
            job.wait(TIMEOUT_S)
        want, got = np.concatenate([part.responses for part in parts]), self.mcts.poll()
        want, got = (each[np.argsort(each["worker"], kind="stable")] for each in (want, got))
        names = [name for name in RESPONSE.names or () if name != "stamp"]
        if want[names].tolist() != got[names].tolist():
            raise RuntimeError("mcts: its responses are not the golden model's")
        self.equal += len(got)
        sizes = np.array([len(part.requests) for part in parts])
        trace = join([part.trace for part in parts])
        return got, replay(trace, self.search.geometry, sizes, self.latency)

    def interval(self, groups: Iterable[Sequence[Part]]) -> tuple[float, float]:
        """Mean clocks per selection at the root, of the engine and of the cycle model."""
        measured = predicted = 0.0
        gaps = 0
        for parts in groups:
            _, clocks = self.play(parts)
            gaps += clocks.sels - 1
            measured += self.mcts.interval() * (clocks.sels - 1)
            predicted += clocks.interval * (clocks.sels - 1)
        return measured / gaps, predicted / gaps

    def update(self, workers: Sequence[int]) -> None:
        """These workers come back, with the value 0."""
        rows = requests(len(workers))
        rows["op"], rows["worker"] = Op.UPD, workers
        self.play([self.search.run(rows)])

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
    return levels * (8 if g.xbar else 2 * (g.d.bit_length() - 1) + 6)


def measure(
    device: Device,
    shapes: Sequence[str] = tuple(SHAPES),
    policies: Sequence[int] = POLICIES,
    nodes: int = NODES,
    latency: int = MEMORIES["D"].latency,
    progress: Callable[[str], None] = print,
) -> list[Row]:
    """Clocks between selections, between iterations, and of one selection.

    Args:
        device: with an mcts engine.
        shapes: of trees, see models/mcts/traces.py.
        policies: how banks are given.
        nodes: of a tree, at most the build's X.
        latency: of the memory, clocks.
        progress: told what was measured.
    Raises: RuntimeError if the engine does not give what the golden model gives.
    """
    mcts, rows = Mcts(device, queue_log2=QUEUE_LOG2), []
    g = mcts.geometry
    nodes, workers = min(nodes, g.x), min(WORKERS, g.w_max)
    group = min(GROUP, max(workers // 4, 1))
    for name in shapes:
        shape = SHAPES[name]
        for policy in policies:
            search = grow(
                shape, g, nodes, workers=workers, group=group, policy=policy, oldest=True
            )  # fmt: skip
            mcts.configure(MctsSettings(rule=shape.rule, c=shape.c, vl=shape.vl, policy=policy))
            player = Player(mcts, search, latency)
            start, first, *rest = search.parts
            mcts.reset()
            mcts.root((1 << g.f) - 1, None if shape.rule == "uct" else start.priors[1])
            player.play([first])
            groups = [rest[at : at + LISTS] for at in range(0, len(rest), LISTS)]
            iteration = player.interval(groups)
            player.update(np.flatnonzero(search.tree.edges >= 0).tolist())
            everyone = list(range(g.w_max))
            bursts = []
            for _ in range(BURSTS):
                bursts.append(player.interval([[player.select(everyone)]]))
                player.update(everyone)
            selection = np.mean(bursts, axis=0).tolist()
            alone = player.select([0])
            found, clocks = player.play([alone])
            begun = mcts.read(registers.ROOT_FIRST.offset)
            single = (int(found["stamp"][0]) - begun) % MODULO, clocks.total - clocks.root_first
            levels = int(alone.trace.length[0])
            player.update([0])
            player.compare_root()

            network = "crossbars" if g.xbar else "butterflies"
            config = f"D={g.d} F={g.f} {network} {name} policy={policy}, {nodes} nodes"
            beside = PUBLISHED.get((g.f, g.d, policy))
            published = (beside, SOURCE) if beside else None
            rows.append(row("mcts", "bits", config, player.equal, "responses", player.equal))
            for figure, of, (taken, predicted), ideal, thesis in (
                ("selection_interval", f"lists of {g.w_max}", selection, 1.0, published),
                ("iteration_interval", f"lists of {group} and {group}", iteration,
                 2 + (PUBLISHED_AFTER - 1) / group, None),
                ("selection_latency", f"{levels} levels", single, ideal_latency(g, levels), None),
            ):  # fmt: skip
                error = round(100 * abs(predicted / taken - 1), 1)
                progress(f"{config}, {figure}: {taken:.3f} clocks, {predicted:.3f} by the model")
                rows += [
                    row("mcts", figure, f"{config}, {of}", round(taken, 3), "clocks", ideal,
                        thesis),
                    row("mcts", "model_error", f"{config}, {figure}", error, "%", 0),
                ]  # fmt: skip
    return rows


class MctsBenchmark(Benchmark):
    """See the module."""

    def __init__(self) -> None:
        self.builds: list[Config] = []

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """See Benchmark."""
        add_build_options(parser, peers=False)
        parser.add_argument("--large", action="store_true",
                            help=f"{LARGE} levels, not {LEVELS}; minutes to build")  # fmt: skip
        parser.add_argument("--nodes", type=int, default=NODES,
                            help="of a tree (default %(default)s)")  # fmt: skip
        for option, known in (("--shapes", list(SHAPES)), ("--policies", list(POLICIES))):
            parser.add_argument(option, default=",".join(map(str, known)), metavar="LIST",
                                help="some of %(default)s")  # fmt: skip

    def check(self, options: argparse.Namespace) -> None:
        """See Benchmark."""
        for name, allowed in (("shapes", list(SHAPES)), ("policies", list(map(str, POLICIES)))):
            wrong = set(getattr(options, name).split(",")) - set(allowed)
            if wrong:
                raise ValueError(f"--{name}: got {', '.join(sorted(wrong))}, want {allowed}")
        if options.nodes < 2:
            raise ValueError(f"--nodes: got {options.nodes}, want 2 or more")
        levels = LARGE if options.large else LEVELS
        whole = load_config("mcts")
        self.builds = builds(options) or [
            whole.changed({"mcts.MctsD": levels, "mcts.MctsXbar": xbar}) for xbar in (1, 0)
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
                    options.nodes, MEMORIES[options.memory].latency, partial(print, flush=True),
                )  # fmt: skip
