"""Forward passes of whole networks through sequencer, weight memory and cores."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds
from models.qat import timing
from models.qat.layout import ACTOR, CRITIC, Geometry, Slots, Table, plan
from models.qat.schedule import Pass
from models.qat.timestep import Stage
from verif.qat.array import WORD, pack
from verif.qat.cores import Cores, player

SIZES = {
    "R0": Geometry(1, 4, 8, 40, 16, 512, 40, 4, 4, 4),
    "small": Geometry(2, 4, 16, 56, 16, 512, 40, 4, 4, 2),
}
pytestmark = builds(lambda size: player(SIZES[size], 1))


def networks(g: Geometry, rng: np.random.Generator, bias: bool) -> Table:
    """Random networks that a slot has room for."""
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
            table = networks(g, rng, bias=turn % 4 != 3)
            cores = Cores(sim, g, table, rng)
            cores.fill(32 if turn % 3 == 0 else 24)
            for _ in range(3):
                net, alone = int(rng.integers(0, 2)), bool(rng.random() < 0.4)
                acting = alone or bool(rng.random() < 0.5)
                common = not alone and bool(rng.random() < 0.4)
                il = common or (alone and rng.random() < 0.7)
                most = g.vc if common else g.vectors
                count = len(table.networks[net])
                first = int(rng.integers(0, count)) if rng.random() < 0.3 else 0
                p = Pass(
                    net, first, count - 1 if rng.random() < 0.7 else first,
                    0 if alone else int(rng.integers(1, most + 1)),
                    0 if alone or first else int(rng.integers(0, 3)),
                    half=bool(rng.random() < 0.5), il=il, acting=acting, common=common,
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
                seen |= {("half", p.half, "acting", acting, il), ("target", p.target)}
                seen |= {("last", net, p.half), *((k, n > 0) for k, n in run.over.items())}
    if scale(30, 6) > 10:
        ways = ((0, 0), (1, 0), (0, 1), (1, 1))
        want: set[object] = {("half", h, "acting", *way) for h in (0, 1) for way in ways}
        want |= {("last", n, h) for n in (0, 1) for h in (0, 1)}
        want |= {(k, True) for k in (Stage.Z, Stage.ACTQ)} | {("target", True)}
        assert not want - seen, want - seen


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
                acting = vectors % 2 == 1
                p = Pass(CRITIC, 0, len(layers) - 1, vectors, 0, half=half, acting=acting)
                cores.inputs(p, 20)
                run = cores.run(p)
                array = timing._Array(g, half)
                array.forward(layers, -(-vectors // g.n), {}, acting)
                rows = min(g.lw, layers[0].p)
                span = int(run.entries[-1] - run.entries[0])
                late = 4 * len(layers) if g.n == 1 else 0
                assert 0 <= span - (array.t - 1 - rows) <= late, (hidden, vectors)
                assert len(run.entries) == array.taken
            layers = table.networks[ACTOR]
            p = Pass(ACTOR, 0, len(layers) - 1, 0, 0, half=half, il=True, acting=True)
            cores.inputs(p, 20)
            run = cores.run(p)
            array = timing._Array(g, half)
            start = array.infer(layers)
            span = int(run.entries[-1] - run.entries[0])
            late = 4 * len(layers) if g.n == 1 else 0
            assert 0 <= span - (start - min(g.lw, layers[0].p)) <= late, hidden
            assert len(run.entries) == array.taken


class Optimizer:
    """Reads and writes lines of W and T beside passes, as jd_qat_update does.

    Args:
        cores: the design and its golden model.
        sinks: lines that it writes, which no pass reads.
        rng: of lines, clocks and words.

    Attributes:
        want: both lines, by the clock in which they must show.
    """

    def __init__(self, cores: Cores, sinks: np.ndarray, rng: np.random.Generator) -> None:
        self.cores, self.sinks, self.rng = cores, sinks, rng
        self.want: dict[int, np.ndarray] = {}
        self.clock, self.next = 0, False

    def __call__(self, clocks: int) -> dict[str, np.ndarray]:
        """Inputs of so many clocks."""
        rng, path, g = self.rng, self.cores.golden.path, self.cores.geometry
        reads, writes = np.zeros(clocks + 1, bool), rng.random(clocks) < 0.3
        reads[0] = self.next
        reads[1:] = rng.random(clocks) < rng.random()
        self.next = bool(reads[-1])
        sources = rng.integers(0, g.w_lines, clocks)
        sinks = rng.choice(self.sinks, clocks)
        writes &= ~reads[:-1] | (sources != sinks)
        lines = np.zeros((clocks, 2, g.lw), np.int64)
        for k in range(clocks):
            if reads[k]:
                self.want[self.clock + k + 3] = np.stack([m[sources[k]] for m in (path.w, path.t)])
            if writes[k]:
                lines[k] = rng.integers(-(1 << 31), 1 << 31, (2, g.lw))
                path.w[sinks[k]], path.t[sinks[k]] = lines[k]
        self.clock += clocks
        return {
            "adam_next_i": reads[1:], "adam_read_i": reads[:-1], "adam_source_i": sources,
            "adam_write_i": writes, "adam_sink_i": sinks, "adam_lines_i": pack(lines, WORD),
        }  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_qat_forward_beside_the_optimizer(size: str, seed: int) -> None:
    """Passes wait for the optimizer's reads; both get their lines."""
    g = SIZES[size]
    rng = np.random.default_rng([seed, 14])
    with player(g, seed) as sim:
        for turn in range(scale(12, 3)):
            net = turn % 2
            table = plan(int(rng.integers(5, 18)), 2, [int(rng.integers(5, 21))], g)
            cores = Cores(sim, g, table, rng)
            cores.fill(24)
            used = [np.arange(line, line + count) for layer in table.networks[net]
                    for line, count in layer.ranges(g)]  # fmt: skip
            sinks = np.setdiff1d(np.arange(g.w_lines), np.concatenate(used))
            optimizer = Optimizer(cores, sinks, rng)
            for acting in (False, True):
                p = Pass(
                    net, 0, 1, 0 if acting else int(rng.integers(1, g.vectors + 1)), 0,
                    half=bool(rng.random() < 0.5), il=acting, acting=acting,
                )  # fmt: skip
                cores.inputs(p, 20)
                optimizer.clock = 0
                run = cores.run(p, beside=optimizer)
                shown = [clock for clock in optimizer.want if clock < len(run.lines)]
                for clock in shown:
                    np.testing.assert_array_equal(run.lines[clock], optimizer.want[clock])
                assert len(shown) > 20
                optimizer.want.clear()
                optimizer.next = False
                cores.compare()
