"""Cycle model of a gradient step: clocks of the tensor unit, turn-arounds, weight update."""

from __future__ import annotations

from dataclasses import dataclass

from models.learner.layout import Geometry, ImageMap
from models.learner.program import (
    OP_AXPY,
    OP_DOT,
    OP_LOSS_Q,
    OP_OUTER,
    OP_TARGET,
    OP_UPDATE,
    Program,
    Stage,
)
from models.learner.tree import padded_length

STEP = 40  # clocks in which a step is started, judged and counted; the pipe is empty
LOSS = 4  # clocks of LOSS for a sample, at least; one more for double DQN
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


def ideal_step(program: Program, geometry: Geometry, batch: int) -> int:
    """Return the clocks of a step's tensor work alone: samples times the clocks of the stages."""
    samples = -(-batch // geometry.dp)
    return samples * sum(stage_clocks(s, geometry) for s in program.stages)


def stage_latency(stage: Stage, geometry: Geometry, latencies: Latencies) -> int:
    """Return the clocks from an operation's issue to its result in the frame memory."""
    front = 3 + latencies.mul
    if stage.op == OP_DOT:
        levels = padded_length(stage.n_in).bit_length() - 1
        return front + latencies.add * (levels + 1) + 4
    return front + latencies.add + 2


def pipe_step(program: Program, geometry: Geometry, batch: int, latencies: Latencies) -> int:
    """Return the clocks of a step in the pipe: tensor work with partly filled AXPY groups, what is
    not hidden of the latency between the stages, and LOSS where it is slower than the stage before
    it."""
    samples = -(-batch // geometry.dp)
    groups = -(-samples // geometry.gi) * geometry.gi
    total = 8
    before = clocks = 0
    for stage in program.stages:
        if stage.op == OP_LOSS_Q:
            each = max(stage.n_out, LOSS + stage.mode)
            hidden = max(0, samples - geometry.gi) * clocks
            total += samples * max(0, each - clocks)
            before += each + 2 * (latencies.mul + latencies.add) - hidden
        clocks = stage_clocks(stage, geometry)
        if not clocks:
            continue
        total += clocks * (groups if stage.op == OP_AXPY else samples)
        latency = stage_latency(stage, geometry, latencies)
        total += max(0, before - latency)
        before = latency
    return total + before


def update_clocks(program: Program, geometry: Geometry, latencies: Latencies) -> tuple[int, int]:
    """Return the clocks of all WU, and of all TSM that copy."""
    words = [ImageMap(geometry, net).words for net in program.networks]
    scalars = 3 * latencies.mul + 4 * latencies.add + 2 * latencies.div + latencies.sqrt + 12
    pipe = 2 * latencies.mul + 2 * latencies.add + latencies.div + latencies.sqrt + 9
    update = target = 0
    settle = 0  # of the stage in hand
    for stage in program.stages:
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
    """Return the clocks of a step among many: the pipe, WU, then (averaged over the period) TSM."""
    update, target = update_clocks(program, geometry, latencies)
    periods = [s.period for s in program.stages if s.op == OP_TARGET and not s.polyak]
    pipe = pipe_step(program, geometry, batch, latencies)
    return STEP + pipe + update + target // max(1, *periods, 1)
