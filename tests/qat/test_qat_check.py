"""Checks of descriptors, registers and network tables, and sweeps, against the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.qat.layout import HEAD_WORDS, LAYER_WORDS, Geometry, Slots, Table
from models.qat.validate import TABLE
from models.registers.qat import Error
from verif.play import Player
from verif.qat.array import pack
from verif.qat.checks import (
    JOBS,
    NETWORKS_BITS,
    RULES,
    absent,
    any_bits,
    derived,
    judged,
    number,
    player,
    right,
    table_rules,
    tables,
    trials,
)
from verif.qat.cores import NETS, to_words

SIZES = {
    "LW16": Geometry(2, 16, 8, 32, 10, 1024, 80, 4, 16, 4, 50, 0),
    "LW8": Geometry(4, 8, 8, 32, 10, 512, 40, 4, 8, 4, 50, 1),
    "R0": Geometry(1, 4, 8, 44, 12, 512, 40, 3, 4, 2, 4096, 0),
    "full": Geometry(paper=1),
    "wide": Geometry(4, 4, 128, 1024, 1024, 65536, 1024, 4, 4, 4, 65535, 1),
}
DONE = 8  # clocks from start_i to done_o, of a descriptor
LONGEST = 251  # of a table

pytestmark = [
    builds(lambda size: player(SIZES[size], 1)),
    pytest.mark.parametrize("size", ["LW16", *(regress(s) for s in SIZES if s != "LW16")]),
]


def test_qat_check(size: str, seed: int) -> None:
    """Code and place of each descriptor are the model's, all of them met, DONE clocks later."""
    g, rng = SIZES[size], np.random.default_rng([seed, 31])
    found, columns = trials(rng, g, scale(10000, 600)), dict[str, list[np.ndarray]]()
    for trial in found:
        table = derived(trial.table, g) if trial.table else any_bits(rng, NETWORKS_BITS - 1)
        values = {
            "words": np.array(trial.words, np.uint32), "table": to_words(table, NETWORKS_BITS),
            "noise": trial.noise, "paper": trial.paper, "half": trial.half,
            "shifts": pack(np.array([trial.shifts]), 5), **trial.scalars,
        }  # fmt: skip
        for name, value in values.items():
            columns.setdefault(f"{name}_i", []).append(np.asarray(value).reshape(-1))
    turn = DONE + 1
    starts = np.arange(turn * len(found)) % turn == 0
    held = {name: np.repeat(np.array(values), turn, axis=0) for name, values in columns.items()}
    with player(g, seed) as sim:
        out = sim.run(starts.size, start_i=starts, **held)
    np.testing.assert_array_equal(out["done_o"], np.roll(starts, DONE))
    met: set[tuple[int, int]] = set()
    right_jobs: set[int] = set()
    for trial, *got in zip(
        found, out["code_o"][DONE::turn], out["place_o"][DONE::turn], strict=True
    ):
        verdict = trial.verdict()
        assert tuple(got) == verdict, trial
        met.add(verdict)
        if not verdict[0]:
            right_jobs.add(trial.words[0] & 0xFF)
    assert right_jobs == set(JOBS)
    assert not set(RULES) - met


def test_qat_check_reset(size: str, seed: int) -> None:
    """A reset in any clock of a check ends it."""
    times = np.arange(2 * DONE + 2)
    with player(SIZES[size], seed) as sim:
        for clock in range(DONE):
            out = sim.run(times.size, start_i=times == 0, rst_ni=times != clock)
            assert not out["done_o"].any()


def play(
    sim: Player, words: np.ndarray, clocks: int, **inputs: np.ndarray
) -> tuple[list[int], dict[str, np.ndarray]]:
    """Forget the networks, check a table from clock 1 on. Returns: clocks of ends, outputs."""
    times = np.arange(clocks)
    held = np.broadcast_to(words, (clocks, words.size))
    ports = {"net_forget_i": times == 0, "net_start_i": times == 1, "net_words_i": held} | inputs
    out = sim.run(clocks, **ports)
    return np.flatnonzero(out["net_done_o"]).tolist(), out


def valid(out: dict[str, np.ndarray]) -> np.ndarray:
    """The first bit of the networks, [clocks]."""
    return (out["net_table_o"][:, -1] >> (NETWORKS_BITS - 1) % 32).astype(bool)


def last_clock(table: Table, g: Geometry) -> int:
    """Clocks from start_i to done_o of a right table: each range is compared with all before it."""
    clocks, used = 2 * 5 * NETS * g.max_layers, 0
    for layers in table.networks:
        clocks += 4 * len(layers) + 5 * (g.max_layers - len(layers))
        for layer in layers:
            for _ in layer.ranges(g):
                used += 1
                clocks += used
    return clocks + 3


def test_qat_table(size: str, seed: int) -> None:
    """Code and place of each table are the model's, all of them met; so is what jobs know of it."""
    g, rng = SIZES[size], np.random.default_rng([seed, 32])
    met: set[tuple[int, int]] = set()
    left: set[int] = set()  # lines of a slot that are not used
    walk = 5 * NETS * g.max_layers  # clocks
    with player(g, seed) as sim:
        for words in tables(rng, g, scale(1500, 3 * len(table_rules(g)))):
            code, place, table = judged(words, g)
            first = {int(Error.E_RESERVED): 0, int(Error.E_DIM): walk}.get(code)
            (done,), out = play(sim, words, 4 + (LONGEST if first is None else first + walk))
            assert (int(out["net_code_o"][done]), int(out["net_place_o"][done])) == (code, place)
            met.add((code, place))
            if table is None:
                assert not valid(out)[1:].any()
                if first is not None:  # five clocks for each layer
                    layer = max(place - TABLE - HEAD_WORDS, 0) // LAYER_WORDS
                    assert done == 1 + first + 5 * (layer + 1) + 2
                continue
            assert done == 1 + last_clock(table, g)
            assert not valid(out)[1 : done - 1].any() and valid(out)[done:].all()
            assert not (number(out["net_table_o"][-1]) ^ derived(table, g)) & ~absent(table)
            slots = Slots.of(table, g)
            left |= {g.act_lines - slots.act, g.del_lines - slots.delta}
    assert not {(code, TABLE + word) for code, word in table_rules(g)} - met
    assert (0, 0) in met


def test_qat_table_stops(size: str, seed: int) -> None:
    """A reset, or to forget, in any clock of a check ends it; the next one is whole."""
    g, rng = SIZES[size], np.random.default_rng([seed, 33])
    words = right(rng, g).encode(g)
    table = judged(words, g)[2]
    assert table is not None
    end = 1 + last_clock(table, g)
    times = np.arange(LONGEST + 4)
    with player(g, seed) as sim:
        for turn in range(scale(60, 8)):
            clock = end - turn // 2 if turn < 6 else int(rng.integers(2, end))
            strikes = (times == 0) | (times == clock)
            way = {"rst_ni": ~strikes} if turn % 2 else {"net_forget_i": strikes}
            ends, out = play(sim, words, times.size, **way)
            assert ends == [end] * (clock == end) and not valid(out)[clock + 1 :].any()
            ends, out = play(sim, words, end + 1)
            assert ends == [end] and valid(out)[-1]


def test_qat_sweep(size: str, seed: int) -> None:
    """A sweep for the weights of each layer, one for its biases, each after the end of the last."""
    g, rng = SIZES[size], np.random.default_rng([seed, 34])
    clocks = 400
    times = np.arange(clocks)
    with player(g, seed) as sim:
        for turn in range(scale(200, 30)):
            table, net = right(rng, g), int(rng.integers(0, NETS))
            ready = rng.random(clocks) < (1.0, 0.3, 0.7)[turn % 3]
            clear = int(rng.integers(2, 20)) if turn % 4 == 3 else clocks
            bits = derived(table, g) | any_bits(rng, NETWORKS_BITS) & absent(table)
            out = sim.run(
                clocks, sweep_start_i=times == 1, sweep_clear_i=times == clear,
                sweep_ready_i=ready, sweep_net_i=np.full(clocks, net),
                table_i=np.repeat(to_words(bits, NETWORKS_BITS), clocks, axis=0),
            )  # fmt: skip
            clock, offered = 2, np.zeros(clocks, bool)
            for layer in table.networks[net]:
                for kind, (line, count) in enumerate(layer.ranges(g)):
                    words = layer.p if kind else layer.q
                    want = {"line": line, "count": count, "columns": g.lines(words),
                            "words": (words - 1) % g.lw + 1}  # fmt: skip
                    clock += 2  # in which the lines are counted
                    taken, over = np.flatnonzero(ready[clock:])[:2] + clock
                    offered[clock : taken + 1] = True
                    for name, value in want.items():
                        found = out[f"sweep_{name}_o"][clock : min(taken, clear) + 1]
                        assert (found == value).all(), name
                    clock = over + 1
            idle = (times < 2) | (times >= clock) | (times > clear)
            np.testing.assert_array_equal(out["sweep_idle_o"], idle)
            np.testing.assert_array_equal(out["sweep_valid_o"], offered & (times <= clear))
