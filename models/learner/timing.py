"""Cycle model of a gradient step: clocks of the tensor unit, turn-arounds, weight update."""

from __future__ import annotations

from dataclasses import dataclass

from models.learner.layout import Geometry, ImageMap
from models.learner.loss import MODE_MAX
from models.learner.program import (
    ACT_TANH,
    ACT_TANH_SLOPE,
    LOSSES,
    OP_AXPY,
    OP_DOT,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
)
from models.learner.tree import padded_length

STEP = 40  # clocks in which a step is started, judged and counted; the pipe is empty
LOSS = 4  # clocks of LOSS for a sample, at least; one more for double DQN and twins
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


def mean_ideal(program: Program, geometry: Geometry, batch: int) -> int:
    """Return ideal_step, of programs with delayed stages the mean of their steps."""
    delay = max(1, program.delay)
    rare, common = (ideal_step(program, geometry, batch, due) for due in (True, False))
    return (rare + (delay - 1) * common) // delay


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
    """Return the clocks of a step in the pipe: tensor work with partly filled AXPY groups, what is
    not hidden of the latency between the stages, LOSS where it is slower than the stage before it,
    and the drain behind each phase.

    Args:
        due: the delayed stages run, too.
    """
    phases = (
        [program.stages[k] for k in phase if due or not program.stages[k].delayed]
        for phase in program.phases
    )
    return sum(_phase_clocks(stages, geometry, batch, latencies) for stages in phases)


def _phase_clocks(stages: list[Stage], geometry: Geometry, batch: int, latencies: Latencies) -> int:
    """Return the clocks of a phase in the pipe."""
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
        total += clocks * (groups if stage.op == OP_AXPY else samples)
        latency = stage_latency(stage, geometry, latencies)
        total += max(0, before - latency)
        before = latency
    return total + before


def update_clocks(
    program: Program, geometry: Geometry, latencies: Latencies, due: bool = True
) -> tuple[int, int]:
    """Return the clocks of all WU, and of all TSM that copy.

    Args:
        due: the delayed stages run, too.
    """
    words = [ImageMap(geometry, net).words for net in program.networks]
    scalars = 3 * latencies.mul + 4 * latencies.add + 2 * latencies.div + latencies.sqrt + 12
    pipe = 2 * latencies.mul + 2 * latencies.add + latencies.div + latencies.sqrt + 9
    update = target = 0
    settle = 0  # of the stage in hand
    for stage in program.stages:
        if stage.delayed and not due:
            continue
        if stage.op == OP_UPDATE:
            update += words[stage.net] // geometry.lw + scalars + pipe + settle
            settle = SETTLE
        elif stage.op == OP_TARGET:
            target += words[stage.net] // geometry.lw + 9 + settle
            settle = SETTLE
    return update, target


def step_clocks(
    program: Program, geometry: Geometry, batch: int, latencies: Latencies = Latencies()
) -> int:
    """Return the clocks of a step among many: the pipe, WU, then (averaged over the period) TSM; of
    steps in which delayed stages run and others the mean."""
    periods = [s.period for s in program.stages if s.op == OP_TARGET and not s.polyak]

    def clocks(due: bool) -> int:
        update, target = update_clocks(program, geometry, latencies, due)
        pipe = pipe_step(program, geometry, batch, latencies, due)
        return STEP + pipe + update + target // max(1, *periods, 1)

    if not program.delay:
        return clocks(True)
    return (clocks(True) + (program.delay - 1) * clocks(False)) // program.delay
