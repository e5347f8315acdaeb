"""Forward passes of whole networks through sequencer, weight memory and cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.qat import ops, timing
from models.qat.layout import ACTOR, CRITIC, Geometry, Slots, Table, plan
from models.qat.schedule import Pass
from models.qat.timestep import Stage
from verif.qat.cores import Cores, player

SIZES = {
    "R0": Geometry(1, 4, 8, 40, 8, 512, 40, 4, 4, 4),
    "small": Geometry(2, 4, 16, 56, 8, 512, 40, 4, 4, 2),
}
PLACES = ((4, 1), (5, 2), (9, 1), (3, 1), (7, 2), (6, 2))  # S, A: each word of a line
pytestmark = builds(lambda size: player(SIZES[size], 1))


def drawn(rng: np.random.Generator, g: Geometry, bias: bool) -> Table:
    """Networks for which a slot has lines enough."""
    while True:
        hidden = [int(n) for n in rng.integers(1, 21, rng.integers(1, 3))]
        states, actions = int(rng.integers(1, 18)), int(rng.integers(1, g.lw - 1))
        table = plan(states, actions, hidden, g, bias=bias)
        if Slots.of(table, g).act <= g.act_lines:
            return table


@pytest.mark.parametrize("size", SIZES)
def test_qat_forward(size: str, seed: int) -> None:
    """Batches and acting vectors, both modes and memories, one layer and all."""
    g = SIZES[size]
    rng = np.random.default_rng([seed, 7])
    seen: set[object] = set()
    with player(g, seed) as sim:
        for turn in range(scale(30, 6)):
            table = drawn(rng, g, bias=turn % 4 != 3)
            cores = Cores(sim, g, table, rng)
            cores.fill(32 if turn % 3 == 0 else 24)
            for _ in range(3):
                net, acting = int(rng.integers(0, 2)), bool(rng.random() < 0.4)
                count = len(table.networks[net])
                first = int(rng.integers(0, count)) if rng.random() < 0.3 else 0
                p = Pass(
                    net, first, count - 1 if rng.random() < 0.7 else first,
                    1 if acting else int(rng.integers(1, g.vectors + 1)), 0,
                    half=bool(rng.random() < 0.5), il=acting, acting=acting,
                    target=not acting and bool(rng.random() < 0.3), watch=bool(rng.random() < 0.5),
                )  # fmt: skip
                cores.inputs(p, int(rng.integers(16, 33)))
                path = cores.golden.path
                path.low, path.high = [0] * 8, [0] * 8
                path.saturated = [0] * len(Stage)
                run = cores.run(p)
                assert (run.low, run.high) == (path.low, path.high), p
                assert run.over == {k: path.saturated[k] for k in run.over}, p
                cores.compare()
                seen |= {("half", p.half, "acting", acting), ("target", p.target)}
                seen |= {("last", net, p.half), *((k, n > 0) for k, n in run.over.items())}
    if scale(30, 6) > 10:
        want: set[object] = {("half", h, "acting", a) for h in (0, 1) for a in (0, 1)}
        want |= {("last", n, h) for n in (0, 1) for h in (0, 1)}
        want |= {(k, True) for k in (Stage.Z, Stage.ACTQ)} | {("target", True)}
        assert not want - seen, want - seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("half", [False, True])
def test_qat_join(size: str, half: bool, seed: int) -> None:
    """Actions go into X and X' at each place of a line; the critic judges what lies there."""
    g = SIZES[size]
    rng = np.random.default_rng([seed, 14])
    saturated = 0
    with player(g, seed) as sim:
        for turn in range(60):
            if turn >= len(PLACES) and (saturated or not half):
                break
            states, actions = PLACES[turn % len(PLACES)]
            table = plan(states, actions, [6], g, bias=turn != 2)
            if turn % 3 == 1:
                *hidden, last = table.networks[ACTOR]
                actor = (*hidden, replace(last, act=ops.NONE))
                table = replace(table, networks=(actor, table.networks[CRITIC]))
            cores = Cores(sim, g, table, rng)
            cores.fill(32)
            cores.shifts[0] = cores.golden.path.shifts[0] = turn % 6 // 2
            path, only = cores.golden.path, turn % 2 == 0
            line, word = divmod(g.action_place(states, actions), g.lw)
            vectors = int(rng.integers(1, g.vectors // 2)) * 2 - turn % 2
            p = Pass(
                ACTOR, 0, 1, vectors, cores.slots.following[1] if only else 0, half=half,
                target=only, watch=turn != 3, join_only=only,
            )  # fmt: skip
            p = replace(p, join=(p.source + line, word))
            for k in range(g.lines(table.inputs(CRITIC, g))):
                cores.scatter(p.source + k)
            cores.inputs(p, 24)
            run = cores.run(p)
            found = cores.run(Pass(CRITIC, 0, 1, vectors, p.source, half=half, watch=p.watch))
            low, high = (
                [f(pair) for pair in zip(*x, strict=True)]
                for f, x in ((min, (run.low, found.low)), (max, (run.high, found.high)))
            )
            assert (low, high) == (path.low, path.high), p
            for k in run.over:
                assert run.over[k] + found.over[k] == path.saturated[k], (p, k)
            saturated += run.over[Stage.ACTQ] > 0
            assert cores.compare() >= vectors
    assert saturated or not half


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("half", [False, True])
def test_qat_forward_clocks(size: str, half: bool, seed: int) -> None:
    """Entries come in the clocks of the cycle model.

    With one group of weights a pass of few vectors leaves no clock to bias lines, and waits for
    them.
    """
    g = SIZES[size]
    rng = np.random.default_rng([seed, 8])
    with player(g, seed) as sim:
        for hidden in ((20, 15), (16,), (4, 4)):
            table = plan(11, 2, hidden, g)
            cores = Cores(sim, g, table, rng)
            cores.fill(20)
            for vectors in (1, g.n, g.vectors // 2, g.vectors - 1, g.vectors):
                layers = table.networks[CRITIC]
                p = Pass(CRITIC, 0, len(layers) - 1, vectors, 0, half=half)
                cores.inputs(p, 20)
                run = cores.run(p)
                array = timing._Array(g, half)
                array.forward(layers, -(-vectors // g.n), {})
                rows = min(g.lw, layers[0].p)
                span = int(run.entries[-1] - run.entries[0])
                late = 4 * len(layers) if g.n == 1 else 0
                assert 0 <= span - (array.t - 1 - rows) <= late, (hidden, vectors)
                assert len(run.entries) == array.taken
            layers = table.networks[ACTOR]
            p = Pass(ACTOR, 0, len(layers) - 1, 1, 0, half=half, il=True, acting=True)
            cores.inputs(p, 20)
            run = cores.run(p)
            array = timing._Array(g, half)
            start = array.infer(layers)
            span = int(run.entries[-1] - run.entries[0])
            late = 4 * len(layers) if g.n == 1 else 0
            assert 0 <= span - (start - min(g.lw, layers[0].p)) <= late, hidden
            assert len(run.entries) == array.taken
