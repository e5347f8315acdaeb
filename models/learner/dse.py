"""Design-space exploration of the learner: the published method, and the same search over this
engine's builds.

The publication (FPGA Acceleration of Deep Reinforcement Learning using On-Chip Replay Management,
3.2.3) gives each of n stages a tensor unit of its own. Locally, unit i gets r_i * f lanes, r_i its
multiplications over the smallest stage's, so that all stages take T_max = min_i MACs_i / f clocks.
Globally, pipelines DP and points a pipeline PI with DP * PI = B are searched for the least
T = (PI + n - 1) * T_max + T_WU with T_WU = sum_l DP * size(W_l) / (r_WU * f), and f grows until a
resource runs out. Here one unit of P lanes runs all stages of a pipeline, so the local balance is
exact; the global search is over P (the f of this engine), DP and the lanes LW of the update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from models.learner.layout import Geometry
from models.learner.program import Program
from models.learner.timing import Latencies, mean_ideal, step_clocks

DSP_PER_LANE = 5  # of the publication's tensor units (HLS)
BANKS = 32  # of the publication's weight buffers: the most lanes of a unit (its Table 2)
LANES, PIPELINES = (8, 16, 32, 64, 128), (1, 2, 4, 8)
LATENCIES = Latencies(mul=4, add=6, div=28, sqrt=28)  # of the operators at 250 MHz


@dataclass(frozen=True)
class Budget:
    """What of a device the learner may use."""

    name: str
    lut: int
    dsp: int
    bram36: int
    uram: int

    def share(self, part: float) -> Budget:
        """Return a part of the budget, e.g. one of three super-logic regions."""
        numbers = (int(n * part) for n in (self.lut, self.dsp, self.bram36, self.uram))
        return Budget(self.name, *numbers)


# Totals of the parts (AMD data sheets DS923, DS962, DS965, DS963).
DEVICES = {
    b.name: b
    for b in (
        Budget("vcu1525", 1_182_240, 6_840, 2_160, 960),
        Budget("u200", 1_182_240, 6_840, 2_160, 960),
        Budget("u50", 871_680, 5_952, 1_344, 640),
        Budget("u280", 1_303_680, 9_024, 2_016, 960),
    )
}


# --- The publication's architecture.
@dataclass(frozen=True)
class Workload:
    """Multiplications a sample of each stage with a tensor unit, stages in a row, weights.

    Attributes:
        stages: multiplications of each tensor unit, LOSS left out.
        depth: stages that a sample passes one after another (n), LOSS included.
        weights: multiplications of the layers that WU updates, one a weight.
    """

    name: str
    stages: tuple[int, ...]
    depth: int
    weights: tuple[int, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """r_i: what each unit computes, over the least."""
        return tuple(macs / min(self.stages) for macs in self.stages)


def dqn_workload(sizes: tuple[int, ...]) -> Workload:
    """Return the workload of DQN on a multilayer perceptron: target FW beside FW, BW, WA."""
    layers = tuple(prod(pair) for pair in pairwise(sizes))
    stages = (*layers, *layers, *layers[1:], *layers)
    return Workload("DQN " + "-".join(map(str, sizes)), stages, 3 * len(layers), layers)


def actor_critic_workload(actor: tuple[int, ...], critics: int = 1) -> Workload:
    """Return the workload of DDPG with the lagged critic, or of TD3 (two critics).

    A unit each for target actor, target critics, critics, actor and the critic on its action; their
    BW, the action's gradient (first layer's columns of the action), and WA.

    Args:
        actor: node counts, S first and A last; the critics have the same hidden layers.
    """
    critic = (actor[0] + actor[-1], *actor[1:-1], 1)
    mu = tuple(prod(pair) for pair in pairwise(actor))
    q = tuple(prod(pair) for pair in pairwise(critic))
    to_action = (actor[-1] * actor[1],)
    of_critics = (*q, *q, *q[1:], *q) * critics  # target FW, FW, BW, WA
    of_actor = (*mu, *mu, *q, *q[1:], *to_action, *mu[1:], *mu)
    name = ("DDPG ", "TD3 ")[critics - 1] + "-".join(map(str, actor))
    return Workload(name, (*of_critics, *of_actor), 5 * len(mu), mu + q * critics)


@dataclass(frozen=True)
class PublishedPoint:
    """A design of the publication's architecture.

    Attributes:
        lanes: multipliers of all pipelines, without WU's.
        clocks: of a gradient step.
        dsp: with WU's lanes.
        widest: lanes of the largest unit.
    """

    dp: int
    pi: int
    f: int
    lanes: int
    clocks: float
    dsp: int
    widest: float

    def fits(self, budget: Budget) -> bool:
        """Say whether budget and banks allow it."""
        return self.dsp <= budget.dsp and self.widest <= BANKS


def published_point(work: Workload, batch: int, dp: int, f: int) -> PublishedPoint:
    """Return the design with dp pipelines and factor f. Raises: ValueError: dp divides no batch."""
    if dp < 1 or batch % dp:
        raise ValueError(f"DP must divide the batch: got DP {dp}, batch {batch}")
    widest = max(work.ratios) * f
    slowest = min(work.stages) / f
    update = dp * sum(work.weights) / widest
    lanes = round(dp * f * sum(work.ratios))
    clocks = (batch // dp + work.depth - 1) * slowest + update
    dsp = DSP_PER_LANE * round(lanes + widest)
    return PublishedPoint(dp, batch // dp, f, lanes, clocks, dsp, widest)


def published_search(work: Workload, batch: int, budget: Budget) -> PublishedPoint:
    """Return the fastest design within budget and banks. Raises: ValueError if none fits."""
    found = [
        point
        for dp in range(1, batch + 1)
        if batch % dp == 0
        for f in range(1, BANKS + 1)
        if (point := published_point(work, batch, dp, f)).fits(budget)
    ]
    if not found:
        raise ValueError(f"no design of {work.name} at batch {batch} fits {budget}")
    return min(found, key=lambda p: (p.clocks, p.dsp))


# --- This engine.
@dataclass(frozen=True)
class Resources:
    """What a build takes."""

    lut: int
    dsp: int
    bram36: int

    def fits(self, budget: Budget) -> bool:
        """Say whether the budget holds it."""
        return self.lut <= budget.lut and self.dsp <= budget.dsp and self.bram36 <= budget.bram36


@dataclass(frozen=True)
class Design:
    """A build of this engine for a task.

    Attributes:
        geometry: its parameters (P, DP, LW, rows).
        pi: samples of a pipeline in a step.
        clocks: predicted, of a gradient step.
        ideal: of the tensor units' work alone.
    """

    geometry: Geometry
    pi: int
    clocks: int
    ideal: int
    resources: Resources

    @property
    def utilization(self) -> float:
        """Ideal over predicted clocks."""
        return self.ideal / self.clocks


Lower = Callable[[Geometry], Program]
MOST_ROWS = 1 << 16  # places any program; the rows of a build follow from its program
BASE = Geometry()


def _power(rows: int) -> int:
    return max(64, 1 << (rows - 1).bit_length())


def geometries(lower: Lower, base: Geometry, batch: int) -> Iterator[tuple[Geometry, Program]]:
    """Yield the builds of a search with the program that each runs, memories just large enough."""
    for p in LANES:
        for dp in PIPELINES:
            if dp > 1 and batch // dp < base.gi:
                continue  # groups of samples that are never full
            for lw in (p // 16, p // 8, p // 4):
                if not 1 <= lw <= 16:
                    continue
                wide = replace(base, p=p, ob=max(p // 4, 1), lw=lw, dp=dp, w_rows=MOST_ROWS)
                program = lower(wide)
                rows = max(n.row_base + n.rows * (3 if n.has_target else 1)
                           for n in program.networks)  # fmt: skip
                frames = -(-batch // dp) * program.frame_rows
                yield replace(wide, w_rows=_power(rows), a_rows=_power(frames)), program


def resources_of(geometry: Geometry, cost: Cost) -> Resources:
    """Return what a build takes by the cost model: a pipeline, a lane, a lane of WU, the rest."""
    p, dp, lw = geometry.p, geometry.dp, geometry.lw
    lut = cost.lut + dp * (cost.lut_pipe + p * cost.lut_lane) + lw * cost.lut_update
    dsp = cost.dsp + dp * (cost.dsp_pipe + p * cost.dsp_lane) + lw * cost.dsp_update
    words = p * 32
    depth = geometry.w_rows * 2 + geometry.a_rows  # WRAM, GRAM, frames
    state = 4 * geometry.w_rows * words  # w, m, v and target of the update
    bram = -(-(dp * depth * words + state) // 36_864)
    return Resources(round(lut), round(dsp), bram)


@dataclass(frozen=True)
class Cost:
    """LUT and DSP of the learner's parts, from synthesis of this engine's blocks."""

    lut: float
    lut_pipe: float
    lut_lane: float
    lut_update: float
    dsp: float
    dsp_pipe: float
    dsp_lane: float
    dsp_update: float


def cost_of(rows: list[dict[str, int | float | str]]) -> Cost:
    """Return the cost model of recorded synthesis results: the tensor unit at P = 8 and 16 gives
    the lanes, the update at LW = 4 its lanes, the rest is the sum of the other blocks.

    Raises: KeyError: a block was not recorded.
    """
    found = {(r["block"], r["configuration"]): r for r in rows}

    def of(block: str, key: str, configuration: str = "default") -> float:
        return float(found[f"jd_learner_{block}", configuration][key])

    def model(key: str) -> tuple[float, float, float, float]:
        small, large = (of("tensor_unit", key, f"P={p}") for p in (8, 16))
        lane = (large - small) / 8
        pipe = of("pipe", key, "P=16") - 16 * lane
        update = of("update", key) / 4
        blocks = ("rate", "target", "master", "image", "stats", "tde", "fetch", "port", "program",
                  "job")  # fmt: skip
        return sum(of(b, key) for b in blocks), pipe, lane, update

    return Cost(*model("lut"), *model("dsp"))


def search(
    lower: Lower, batch: int, budget: Budget, cost: Cost, base: Geometry = BASE,
    pipelines: tuple[int, ...] = PIPELINES, latencies: Latencies = LATENCIES,
) -> list[Design]:  # fmt: skip
    """Return the builds within the budget, fastest first (then smallest).

    Args:
        lower: makes the program of a geometry, e.g. from `models.learner.lower`.
        pipelines: the DP that may be chosen.

    Raises: ValueError: none fits.
    """
    base = replace(base, b_max=max(batch, base.b_max))
    designs = []
    for geometry, program in geometries(lower, base, batch):
        resources = resources_of(geometry, cost)
        if geometry.dp in pipelines and resources.fits(budget):
            designs.append(
                Design(geometry, -(-batch // geometry.dp),
                       step_clocks(program, geometry, batch, latencies),
                       mean_ideal(program, geometry, batch), resources)
            )  # fmt: skip
    if not designs:
        raise ValueError(f"no build for batch {batch} fits {budget}")
    return sorted(designs, key=lambda d: (d.clocks, d.resources.dsp, d.resources.lut))
