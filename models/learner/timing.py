"""Cycle model of a gradient step: clocks of the tensor unit, turn-arounds, updates beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from models.learner.layout import Geometry, ImageMap
from models.learner.loss import MODE_MAX
from models.learner.program import (
    ACT_TANH,
    ACT_TANH_SLOPE,
    COMPUTE,
    LOSSES,
    OP_AXPY,
    OP_DOT,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
    spatial_unit,
)
from models.learner.tree import padded_length

STEP = 30  # clocks in which a phase is judged and its updates begin
LAUNCH = 6  # from there to the start of what comes next
COLUMNS = 11  # of a copy of columns, beside one clock a word
LOSS = 4  # clocks of LOSS for a sample, at least; one more for double DQN and twins
INFER = 100  # of an INFER, beside its rounds
ROUND = 80  # of a round beside the pipe: start, and the answer to the last write
OUTPUT = 5  # of an output vector, beside one clock a word
START = 8  # from a step's start to the first operation of a spatial pipeline
TOKEN = 6  # of a row through its queue and back to the sequencers
LOSS_LATENCY = 6  # of LOSS beside its arithmetic
DRAIN = 3  # from the last result to the end of the step
SETTLE = 3  # clocks before each WU and TSM but the first, whose registers settle during the step


@dataclass(frozen=True)
class Latencies:
    """Latencies of the operators, clocks."""

    mul: int = 2
    add: int = 2
    div: int = 4
    sqrt: int = 4


def stage_clocks(stage: Stage, geometry: Geometry) -> int:
    """Return the clocks of a stage for one sample in a full group."""
    rows = geometry.weight_rows(stage.n_in, stage.n_out)
    if stage.op == OP_DOT:
        return rows
    if stage.op == OP_AXPY:
        return stage.n_out * geometry.vector_rows(stage.n_in)
    if stage.op == OP_OUTER:
        return rows
    return 0


def ideal_step(program: Program, geometry: Geometry, batch: int, due: bool = True) -> int:
    """Return the clocks of a step's tensor work alone: samples times the clocks of the stages.

    Args:
        due: the delayed stages run, too.
    """
    samples = -(-batch // geometry.dp)
    stages = (s for s in program.stages if due or not s.delayed)
    return samples * sum(stage_clocks(s, geometry) for s in stages)


def ideal_pass(program: Program, geometry: Geometry, network: int, count: int) -> int:
    """Return the clocks of the tensor work of a network's forward pass on `count` vectors."""
    stages = program.forward_pass(network) or range(0)
    return -(-count // geometry.dp) * sum(stage_clocks(program.stages[k], geometry) for k in stages)


def infer_clocks(
    program: Program,
    geometry: Geometry,
    network: int,
    batch: int,
    count: int,
    latencies: Latencies = Latencies(),
) -> int:
    """Return the clocks of an INFER of `count` vectors, `batch` a round."""
    stages = program.forward_pass(network) or range(0)
    chosen = [program.stages[k] for k in stages]
    total = 0
    for start in range(0, count, batch):
        vectors = min(batch, count - start)
        pipe = _phase_clocks(chosen, geometry, vectors, latencies, Updates())
        fetch = vectors * chosen[0].n_in
        total += (max(pipe, fetch) if start else fetch + pipe) + ROUND
        total += vectors * (chosen[-1].n_out + OUTPUT)
    return total + INFER


def mean_ideal(program: Program, geometry: Geometry, batch: int) -> int:
    """Return ideal_step, of programs with delayed stages the mean of their steps; in a spatial
    pipeline shared evenly by its units."""
    delay = max(1, program.delay)
    rare, common = (ideal_step(program, geometry, batch, due) for due in (True, False))
    return (rare + (delay - 1) * common) // delay // geometry.ntu


def pace(stage: Stage, geometry: Geometry) -> int:
    """Return the clocks of an operation: of a tangent's as many as it has outputs."""
    if stage.op != OP_DOT or stage.act not in (ACT_TANH, ACT_TANH_SLOPE):
        return 1
    return max(1, geometry.p // geometry.pitch(stage.n_in))


def stage_latency(stage: Stage, geometry: Geometry, latencies: Latencies) -> int:
    """Return the clocks from an operation's issue to its result in the frame memory."""
    front = 3 + latencies.mul
    if stage.op == OP_DOT:
        levels = padded_length(stage.n_in).bit_length() - 1
        behind = tanh_latency(latencies) if stage.act in (ACT_TANH, ACT_TANH_SLOPE) else 0
        return front + latencies.add * (levels + 1) + 4 + behind
    return front + latencies.add + 2


def tanh_latency(latencies: Latencies) -> int:
    """Return the clocks of a tangent: of two products, three sums and seven registers."""
    return 7 + 2 * latencies.mul + 3 * latencies.add


def pipe_step(
    program: Program, geometry: Geometry, batch: int, latencies: Latencies, due: bool = True
) -> int:
    """Return the clocks of a step in the pipe, if no weights are waited for: tensor work with
    partly filled AXPY groups, what is not hidden of the latency between the stages, LOSS where it
    is slower than the stage before it, and the drain after each phase.

    Args:
        due: the delayed stages run, too.
    """
    return sum(
        _phase_clocks(stages, geometry, batch, latencies, Updates())
        for stages in _phases(program, due)
    )


def spatial_step(
    program: Program,
    geometry: Geometry,
    batch: int,
    latencies: Latencies,
    wait: int = 0,
    target_wait: int = 0,
) -> int:
    """Return the clocks of a step in a spatial pipeline: what each unit waits for, group by group.

    Args:
        wait, target_wait: clocks after the start when the online weights, the target's are there.
    """
    samples = -(-batch // geometry.dp)
    compute = [(k, s) for k, s in enumerate(program.stages) if s.op in COMPUTE]
    tokens = {k: [0] * samples for k, _ in compute}  # when a stage has passed each sample
    free = [START + target_wait, START + wait, START + wait, START + wait]  # units
    turn = [(0, 0)] * 4  # of the last operation: its end, how long it takes in the adders
    loss_free = 0

    def ready(stage: Stage, sample: int) -> int:
        return max((tokens[d][sample] for d in stage.deps if d in tokens), default=0)

    for first in range(0, samples, geometry.gi):
        group = range(first, min(first + geometry.gi, samples))
        for k, stage in compute:
            unit = spatial_unit(stage)
            clocks = stage_clocks(stage, geometry)
            latency = stage_latency(stage, geometry, latencies) + TOKEN
            if stage.op == OP_DOT:
                depth = latencies.add * (padded_length(stage.n_in).bit_length() - 1)
                end, deep = turn[unit]
                now = max(free[unit], end + deep - depth)
                for b in group:
                    now = max(now, ready(stage, b)) + clocks
                    tokens[k][b] = now + latency
                free[unit], turn[unit] = now, (now, depth)
            elif stage.op == OP_AXPY:
                now = max(free[unit], ready(stage, group[-1])) + clocks * geometry.gi
                for b in group:
                    tokens[k][b] = now - geometry.gi + 1 + b - first + latency
                free[unit] = now
            elif stage.op in LOSSES:
                each = max(stage.n_out, LOSS + (stage.mode != MODE_MAX)) + 1
                for b in group:
                    loss_free = max(loss_free, ready(stage, b)) + each
                    tokens[k][b] = loss_free + LOSS_LATENCY + TOKEN
                    tokens[k][b] += 2 * (latencies.mul + latencies.add) + latencies.mul
    outer = [(k, s) for k, s in compute if s.op == OP_OUTER]
    now = free[3]
    for b in range(samples):
        for _, stage in outer:
            now = max(now, ready(stage, b)) + max(2, stage_clocks(stage, geometry))
    ends = [now + latencies.mul + latencies.add, *(max(t) for t in tokens.values())]
    return max(ends) + DRAIN


def _phases(program: Program, due: bool) -> list[list[Stage]]:
    return [
        [program.stages[k] for k in phase if due or not program.stages[k].delayed]
        for phase in program.phases
    ]


@dataclass(frozen=True)
class Updates:
    """The updates after a phase, in clocks from their begin.

    Attributes:
        total: the end of the last one.
        weights, targets: when each network's are there; others do not change.
    """

    total: int = 0
    weights: Mapping[int, int] = field(default_factory=dict)
    targets: Mapping[int, int] = field(default_factory=dict)

    def ready(self, stage: Stage) -> int:
        """Return when a stage may begin."""
        if stage.op == OP_OUTER:  # the gradients are read until then
            return max(self.weights.values(), default=0)
        return (self.targets if stage.target else self.weights).get(stage.net, 0)


def updates_behind(
    stages: Sequence[Stage], program: Program, geometry: Geometry, latencies: Latencies, copy: bool
) -> Updates:
    """Return the WU and TSM among a phase's stages.

    Args:
        copy: the periods of hard copies are over.
    """
    scalars = 3 * latencies.mul + 4 * latencies.add + 2 * latencies.div + latencies.sqrt + 12
    pipe = 2 * latencies.mul + 2 * latencies.add + latencies.div + latencies.sqrt + 9
    now = 0
    weights: dict[int, int] = {}
    targets: dict[int, int] = {}
    for stage in stages:
        if stage.op == OP_UPDATE:
            net = program.networks[stage.net]
            now += ImageMap(geometry, net).words // geometry.lw + scalars + pipe + SETTLE
            now += net.columns * net.layers[0].n_out + COLUMNS if net.columns else 0
            weights[stage.net] = now
        elif stage.op == OP_TARGET and (stage.polyak or copy):
            words = ImageMap(geometry, program.networks[stage.net]).words
            now += words // geometry.lw + 9 + SETTLE
            targets[stage.net] = now
    return Updates(now, weights, targets)


def _phase_clocks(
    stages: list[Stage], geometry: Geometry, batch: int, latencies: Latencies, updates: Updates
) -> int:
    """Return the clocks of a phase in the pipe, launched LAUNCH clocks after the begin of the
    updates before it."""
    samples = -(-batch // geometry.dp)
    groups = -(-samples // geometry.gi) * geometry.gi
    total = 8
    before = clocks = 0
    for stage in stages:
        if stage.op in LOSSES:
            each = max(stage.n_out, LOSS + (stage.mode != MODE_MAX))
            hidden = max(0, samples - geometry.gi) * clocks
            total += samples * max(0, each - clocks)
            before += each + 2 * (latencies.mul + latencies.add) - hidden
        clocks = stage_clocks(stage, geometry) * pace(stage, geometry)
        if not clocks:
            continue
        latency = stage_latency(stage, geometry, latencies)
        total = max(total + max(0, before - latency), updates.ready(stage) - LAUNCH)
        total += clocks * (groups if stage.op == OP_AXPY else samples)
        before = latency
    return total + before


def step_clocks(
    program: Program, geometry: Geometry, batch: int, latencies: Latencies = Latencies()
) -> int:
    """Return the mean clocks of a step among many: its phases, each beside the updates after the
    one before it, as far as its stages do not wait for them."""
    periods = [s.period for s in program.stages if s.op == OP_TARGET and not s.polyak]

    def clocks(before: bool, due: bool, copy: bool) -> int:
        """A step, and the step before it: whether delayed stages ran."""
        phases = [_phases(program, before)[-1], *_phases(program, due)]
        total = 0
        for behind, phase in pairwise(phases):
            updates = updates_behind(behind, program, geometry, latencies, copy)
            if geometry.ntu > 1:
                waits = (
                    max(0, max(ends.values(), default=0) - LAUNCH)
                    for ends in (updates.weights, updates.targets)
                )
                pipe = spatial_step(program, geometry, batch, latencies, *waits)
            else:
                pipe = _phase_clocks(phase, geometry, batch, latencies, updates)
            total += max(LAUNCH + pipe, updates.total) + STEP
        return total

    def mean(copy: bool) -> Fraction:
        if program.delay < 2:
            return Fraction(clocks(True, True, copy))
        rest = (program.delay - 2) * clocks(False, False, copy)
        ends = clocks(True, False, copy) + clocks(False, True, copy)
        return Fraction(rest + ends, program.delay)

    share = Fraction(1, max(1, *periods, 1)) if periods else Fraction(0)
    return int(share * mean(True) + (1 - share) * mean(False))
