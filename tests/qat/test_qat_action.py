"""Actions that go into X and X', what the critic makes of them, and their deltas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.qat import ops
from models.qat.layout import ACTOR, CRITIC, Table, plan
from models.qat.schedule import Kind, Pass
from models.qat.timestep import Stage
from tests.qat.test_qat_forward import SIZES
from verif.qat.cores import Cores, player

PLACES = ((4, 1), (5, 2), (9, 1), (3, 1), (7, 2), (6, 2))  # S, A: at each word of a line
pytestmark = builds(lambda size: player(SIZES[size], 1))


def networks(size: str, turn: int, states: int, actions: int) -> Table:
    """Networks whose actor ends in the tangent, but in each third turn."""
    table = plan(states, actions, [6], SIZES[size], bias=turn % 5 != 2)
    if turn % 3 != 1:
        return table
    *hidden, last = table.networks[ACTOR]
    actor = (*hidden, replace(last, act=ops.NONE))
    return replace(table, networks=(actor, table.networks[CRITIC]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("half", [False, True])
def test_qat_action(size: str, half: bool, seed: int) -> None:
    """The actor's pass with its outputs in X, the critic's, and deltas back to the action.

    Or those of the target actor in X', and no pass back.
    """
    g = SIZES[size]
    rng = np.random.default_rng([seed, 16])
    met: set[object] = set()
    with player(g, seed) as sim:
        for turn in range(60):
            if turn >= scale(24, len(PLACES)) and len(met) == 1 + half:
                break
            states, actions = PLACES[turn % len(PLACES)]
            table = networks(size, turn, states, actions)
            cores = Cores(sim, g, table, rng)
            cores.fill(32 if turn % 2 else 26)
            path, slots, target = cores.golden.path, cores.slots, turn % 4 == 3
            cores.shifts[0] = path.shifts[0] = turn % 3  # of 0 tangents are saturated
            common = turn % 8 in (1, 2, 7)
            most = g.vc if common else g.vectors
            vectors = int(rng.integers(1, most // 2)) * 2 - turn % 2
            cores.scatter(min(vectors + 2 * g.n, most), 24, 28, common)  # beyond them all stays
            source = slots.following[1] if target else slots.x[turn % 2]
            line, word = divmod(g.action_place(states, actions), g.lw)
            acting = not target and turn % 2 == 0
            state = rng.integers(-(1 << 23), 1 << 23, (g.lines(states), g.lw))
            for core in range(g.n if acting else 0):
                cores.put(core, g.vc, 0, state)
            last, mu = slots.deltas[CRITIC][1], slots.outputs[ACTOR][1]
            judge = Pass(CRITIC, 0, 1, vectors, source, half=half, target=target, waits=True,
                         watch=True)  # fmt: skip
            passes = [
                replace(judge, net=ACTOR, waits=False, watch=turn % 5 != 4, join=source + line,
                        word=word, join_only=target, acting=acting),
                judge,
            ]  # fmt: skip
            if not target:
                tangent = table.networks[ACTOR][-1].act == ops.TANH
                passes.append(
                    Pass(CRITIC, 0, 1, vectors, last, kind=Kind.DX, half=half, waits=True,
                         sink=slots.deltas[ACTOR][1], action=True, word=word, mu=mu,
                         tangent=tangent),
                )  # fmt: skip
            passes = [replace(p, common=common, il=common and p.kind == Kind.FW) for p in passes]
            run = cores.run(*passes)
            assert (run.low, run.high) == (path.low, path.high), passes
            assert run.over == {k: path.saturated[k] for k in run.over}, passes
            assert cores.compare() >= vectors
            met |= {stage for stage in (Stage.ACTQ, Stage.DX) if run.over[stage]}
    assert len(met) == 1 + half, met
