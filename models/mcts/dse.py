"""Design-space exploration of the mcts engine: the published method, and one over this engine's
builds.

The publication (thesis, Eqs. 5.1, 5.2) minimises D T_selector + T_network over the factor f of the
selectors and the kind of the network, with T_selector = log_f F, T_network = log2 D of a butterfly
or 1 of a crossbar, within R = D R_selector + R_network. Here the interval between iterations is
minimised, then LUTs:

    Itv = max(T_root, share * T_port, level * D / T) * congestion + lanes
          + (18 + T_root + lanes) / k,    lanes = ceil(F / Mu)

T_root and T_port are clocks of a selector with factors Fr and Fp. `share` is the part of all
selections that pass the busiest node below the root. `level` is the clocks of a level, T the tokens
in flight. A network's congestion is a figure of the cycle model. k iterations are in a list, and an
update's scores are there 18 clocks after what it waits for.

Costs in LUTs, flip-flops, multipliers and memories are estimates in one table (`Costs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log, log2

from models.mcts.timing import PASS, PUBLISH

STEP = 0.05  # intervals within this are equal
GROUP = 32  # iterations of a list
BRAM_BITS = 72  # of a word of a block RAM of 512 words
GROUP_MOST = 18  # scores of a comparison-lookup group at 250 MHz
TOKENS = (16, 32, 64, 128, 256, 512)
CROSSBARS_TO = 4  # levels up to which the publication chooses crossbars


@dataclass(frozen=True)
class Costs:
    """What parts take: LUTs but where said otherwise.

    Attributes:
        comparator, choice: of a group: a pair, a score.
        updater, multiplier: of a node unit: the division and what is around it, each of Mu lanes.
        forward, forward_child: of a node unit: bypass and scoreboard, each child.
        crossbar: of both, each pair of a level and a port.
        butterfly, butterfly_ff: of both, each of D log2 D outputs; flip-flops of one.
        token: one that may be in flight.
        rest: stages, allocator, front, AXI.
        ff: flip-flops for each LUT but those of the networks.
        child_bram, head_bram, rest_bram: memories of a port for 512 nodes: each child, the head;
            the rest.
        row_bits: of priors that updates bring, each child; each unit has those of 256 workers.
    """

    comparator: float = 16
    choice: float = 10
    updater: float = 555
    multiplier: float = 124
    forward: float = 121
    forward_child: float = 30.3
    crossbar: float = 56.6
    butterfly: float = 300
    butterfly_ff: float = 400
    token: float = 12
    rest: float = 24_000
    ff: float = 1.2
    child_bram: float = 2.75
    head_bram: float = 1.5
    rest_bram: float = 100
    row_bits: int = 17


@dataclass(frozen=True)
class Budget:
    """What may be used.

    Attributes:
        lut, ff, dsp, bram36: numbers.
    """

    lut: float
    ff: float
    dsp: float
    bram36: float


U200 = Budget(0.7 * 1_182_240, 0.7 * 2_364_480, 0.7 * 6_840, 0.9 * 2_160)


@dataclass(frozen=True)
class Task:
    """What is searched.

    Attributes:
        d, f: levels, a power of two; children.
        nodes: entries.
        share: of selections that pass the busiest node below the root.
        congestion: of butterflies and of crossbars, 1 or more.
    """

    d: int
    f: int
    nodes: int = 10_000
    share: float = 0.5
    congestion: tuple[float, float] = (1.22, 1.0)


@dataclass(frozen=True)
class Point:
    """A build.

    Attributes:
        fr, fp: factors of the root's selector and of the ports'.
        xbar: crossbars instead of butterflies.
        mu: multipliers of an updater.
        tokens: in flight.
        interval: clocks between iterations.
        selection: clocks between selections.
        lut, ff, dsp, bram36: estimates.
    """

    fr: int
    fp: int
    xbar: int
    mu: int
    tokens: int
    interval: float
    selection: float
    lut: int
    ff: int
    dsp: int
    bram36: int

    @property
    def order(self) -> tuple[float, int, int]:
        """The less the better: the interval in steps, LUTs, then the fewest tokens."""
        return round(self.interval / STEP) * STEP, self.lut, self.tokens

    def parameters(self) -> dict[str, int]:
        """For a file in configs/."""
        return {"MctsFr": self.fr, "MctsFp": self.fp, "MctsXbar": self.xbar, "MctsMu": self.mu,
                "MctsT": self.tokens}  # fmt: skip


def groups(children: int, factor: int) -> list[int]:
    """Sizes of all groups of a selector: balanced, layer by layer."""
    found: list[int] = []
    while children > 1:
        count = ceil(children / factor)
        layer = [children // count + (index < children % count) for index in range(count)]
        found += [size for size in layer if size > 1]
        children = count
    return found


def clocks(children: int, factor: int) -> int:
    """Clocks of a selector: ceil(log_factor children)."""
    layers = 0
    while children > 1:
        children, layers = ceil(children / factor), layers + 1
    return layers


def level_clocks(levels: int, select: int, xbar: int) -> float:
    """Clocks of a level in which nothing waits: stage, network, node unit, network back."""
    return 1 + PASS + select + 2 * (1 if xbar else log2(levels))


def selector(children: int, factor: int, costs: Costs) -> float:
    """LUTs of a selector."""
    return sum(
        costs.comparator * size * (size - 1) / 2 + costs.choice * size
        for size in groups(children, factor)
    )


def point(
    task: Task, fr: int, fp: int, xbar: int, mu: int, tokens: int, costs: Costs | None = None
) -> Point:
    """A build with its interval and costs."""
    c, d, f = costs or Costs(), task.d, task.f
    network = c.crossbar * d * d if xbar else c.butterfly * d * log2(d)
    other = (
        selector(f, fr, c) + d * selector(f, fp, c) + (d + 1) * (c.updater + c.multiplier * mu)
        + (d + 1) * (c.forward + c.forward_child * f) + c.token * tokens + c.rest
    )  # fmt: skip
    network_ff = 2 * 100 * 2 * d if xbar else c.butterfly_ff * d * log2(d)
    banks = d * ceil(task.nodes / d / 512)
    lanes = ceil(f / mu)
    select = max(
        clocks(f, fr), task.share * clocks(f, fp), level_clocks(d, clocks(f, fp), xbar) * d / tokens
    ) * task.congestion[xbar]  # fmt: skip
    again = (PUBLISH + clocks(f, fr) + lanes) / GROUP
    return Point(
        fr, fp, xbar, mu, tokens, select + lanes + again, select,
        round(other + network), round(c.ff * other + network_ff), (d + 1) * (mu + 1),
        ceil(banks * (c.child_bram * f + c.head_bram) + c.rest_bram)
        + (d + 1) * ceil(c.row_bits * f / BRAM_BITS),
    )  # fmt: skip


def binding(found: Point, budget: Budget) -> str | None:
    """The first limit that a build breaks, or None."""
    for name in ("lut", "ff", "dsp", "bram36"):
        if getattr(found, name) > getattr(budget, name):
            return f"{name} {getattr(found, name):,} of {getattr(budget, name):,.0f}"
    return None


def every(task: Task, costs: Costs | None = None) -> Iterator[Point]:
    """All builds."""
    factors = range(2, min(task.f, GROUP_MOST) + 1)
    for fr in factors:
        for fp in factors:
            for xbar in (0, 1):
                for mu in range(1, task.f + 1):
                    for tokens in TOKENS:
                        yield point(task, fr, fp, xbar, mu, tokens, costs)


def choose(task: Task, budget: Budget = U200, costs: Costs | None = None) -> Point | None:
    """The best build within a budget, or None.

    The interval depends on the numbers of clocks alone, and costs are sums. So of all factors with
    the same clocks the one with the cheapest selector is enough, and of all Mu with the same
    ceil(F / Mu) the least.
    """
    c = costs or Costs()
    factors: dict[int, int] = {}
    for factor in range(2, min(task.f, GROUP_MOST) + 1):
        n = clocks(task.f, factor)
        if n not in factors or selector(task.f, factor, c) < selector(task.f, factors[n], c):
            factors[n] = factor
    lanes = {ceil(task.f / mu): mu for mu in range(task.f, 0, -1)}
    found = [
        point(task, fr, fp, xbar, mu, tokens, c)
        for fr in factors.values() for fp in factors.values() for xbar in (0, 1)
        for mu in lanes.values() for tokens in TOKENS
    ]  # fmt: skip
    return min(
        (p for p in found if binding(p, budget) is None), key=lambda p: p.order, default=None
    )


def published(task: Task, budget: Budget = U200, costs: Costs | None = None) -> Point | None:
    """The build that the published method chooses, with this engine's interval and costs.

    All multipliers and tokens are there, and one factor is that of root and ports.
    """
    xbar = int(task.d <= CROSSBARS_TO)
    best: tuple[float, Point] | None = None
    for factor in range(2, min(task.f, GROUP_MOST) + 1):
        found = point(task, factor, factor, xbar, task.f, TOKENS[-1], costs)
        time = task.d * ceil(log(task.f, factor)) + (1 if xbar else log2(task.d))
        if binding(found, budget) is None and (best is None or time < best[0]):
            best = time, found
    return best and best[1]
