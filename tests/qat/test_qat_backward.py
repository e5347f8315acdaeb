"""Passes back through networks, and gradients, through sequencer, weight memory and cores."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.qat import timing
from models.qat.layout import CRITIC, Table, plan
from models.qat.schedule import Kind, Pass
from models.qat.timestep import Stage
from tests.qat.test_qat_forward import SIZES
from verif.qat.cores import Cores, player

DRAIN, SUMS = 7, 5  # clocks from a tile's last entry to its first column, and to its sums of deltas
pytestmark = builds(lambda size: player(SIZES[size], 1))


def draw(size: str, rng: np.random.Generator, bias: bool) -> Table:
    """Random networks; every other hidden layer has one tile."""
    g = SIZES[size]
    count = int(rng.integers(1, 3))
    hidden = [int(n) for n in rng.integers(1, rng.choice([g.lw, 16], count) + 1)]
    return plan(int(rng.integers(1, 14)), int(rng.integers(1, g.lw - 1)), hidden, g, bias=bias)


@pytest.mark.parametrize("size", SIZES)
def test_qat_backward(size: str, seed: int) -> None:
    """dX and dW of networks and of single layers, in both modes: deltas, gradients, saturations."""
    g = SIZES[size]
    rng = np.random.default_rng([seed, 13])
    seen: set[object] = set()
    with player(g, seed) as sim:
        for turn in range(scale(40, 8)):
            table = draw(size, rng, turn % 4 != 3)
            cores = Cores(sim, g, table, rng)
            cores.fill(*((32, 30) if turn % 3 == 0 else (26,)))
            net, half = int(rng.integers(0, 2)), bool(turn % 2)
            last = len(table.networks[net]) - 1
            single, common = turn % 4 == 2, turn % 4 == 3 or turn % 8 == 0
            most = g.vc if common else g.vectors
            vectors = most if turn % 5 == 4 else int(rng.integers(1, most))
            size_of_deltas = 32 if turn % 3 == 0 else int(rng.integers(12, 33))
            cores.scatter(vectors, int(rng.integers(20, 33)), size_of_deltas, common)
            seeds = cores.slots.deltas[net][last]
            if single:  # of the first layer's inputs there is no derivative
                index = int(rng.integers(0, last + 1)) if turn % 8 == 2 else 0
                layer = table.networks[net][index]
                top = g.del_lines - g.lines(layer.q)
                low = int(rng.integers(0, cores.slots.delta - g.lines(layer.p) + 1))
                passes = [
                    Pass(net, index, index, vectors, 0, kind=Kind.DX, half=half, sink=top),
                    Pass(net, index, index, vectors, 1, kind=Kind.DW, half=half, sink=low,
                         update=True),
                ]  # fmt: skip
            else:
                seeds = cores.slots.deltas[net][last]
                passes = [
                    Pass(net, 0 if common else 1, last, vectors, seeds, kind=Kind.DX, half=half,
                         common=common),
                    Pass(net, 0, last, vectors, 0, kind=Kind.DW, half=half, waits=True,
                         fresh=bool(turn % 3), common=common),
                ]  # fmt: skip
            path = cores.golden.path
            path.saturated = [0] * len(Stage)
            run = cores.run(*passes)
            assert run.over == {k: path.saturated[k] for k in run.over}, passes
            cores.compare()
            assert cores.compare_gradients(run)
            ends = int(run.entries[-1])  # of the last tile of dW
            assert run.opened[-1] == ends + DRAIN
            layer = table.networks[net][passes[-1].last]
            if layer.bias and layer.q <= g.lw:
                assert run.summed[-1] == ends + SUMS
            seen |= {("half", half, vectors % (2 * g.n) != 0), (net, last), (single, half)}
            seen |= {(k, n > 0) for k, n in run.over.items()} | {("common", half, common)}
    if scale(40, 8) > 10:
        want: set[object] = {("half", h, odd) for h in (0, 1) for odd in (0, 1)}
        want |= {(n, last) for n in (0, 1) for last in (1, 2)} | {(Stage.DX, True)}
        want |= {("common", h, c) for h in (0, 1) for c in (0, 1)}
        assert not want - seen, want - seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("half", [False, True])
def test_qat_backward_clocks(size: str, half: bool, seed: int) -> None:
    """Entries of dX, dW and of the pass after them come in the clocks of the cycle model.

    The last pass has no biases: with one group of weights it would wait for them.
    """
    g = SIZES[size]
    rng = np.random.default_rng([seed, 14])
    with player(g, seed) as sim:
        for hidden in ((16, 13), (16,), (4, 4), (3,)):
            table = plan(11, 2, hidden, g, bias=False)
            cores = Cores(sim, g, table, rng)
            cores.fill(20)
            layers = table.networks[CRITIC]
            last = len(layers) - 1
            for vectors in (1, g.n + 1, g.vectors - 1, g.vectors):
                cores.scatter(vectors, 20, 20)
                run = cores.run(
                    Pass(CRITIC, 1, last, vectors, cores.slots.deltas[CRITIC][last], kind=Kind.DX,
                         half=half),
                    Pass(CRITIC, 0, last, vectors, 0, kind=Kind.DW, half=half, waits=True),
                    Pass(CRITIC, 0, last, vectors, 0, half=half),
                )  # fmt: skip
                cores.compare()
                cores.compare_gradients(run)
                array, mine = timing._Array(g, half), -(-vectors // g.n)
                array.weights(layers, mine, array.backward(layers, mine, 1, 0))
                array.forward(layers, mine, {})
                rows = min(g.lw, layers[-1].p)
                assert run.entries[-1] - run.entries[0] == array.t - 1 - rows, (hidden, vectors)
                assert len(run.entries) == array.taken
