"""Memories of activations, deltas and weights: who goes first, what is read, in which clock."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from flow.effort import scale
from flow.regression import builds
from verif.play import Block, Player
from verif.qat.array import LW, WORD, Table, unpack

LINES, BIASES, READ, BIAS = 64, 4, 3, 5  # clocks until a line shows, a bias line can be popped
LINE, CORES = LW * WORD, (1, 2, 4)
INPUTS = {
    "act_read_en_i": 1, "act_read_address_i": 18, "act_entry_valid_i": 1,
    "act_entry_address_i": 18, "act_entry_data_i": LINE, "act_tail_valid_i": 1,
    "act_tail_address_i": 18, "act_tail_mask_i": LW, "act_tail_half_i": 2,
    "act_tail_data_i": LINE, "act_load_valid_i": 1,
    "act_load_address_i": 18, "act_load_half_i": 2, "act_load_data_i": LINE,
    "del_read_en_i": 2, "del_read_address_i": 36, "del_entry_valid_i": 1, "del_entry_half_i": 1,
    "del_entry_address_i": 18, "del_entry_data_i": LINE, "del_tail_valid_i": 1,
    "del_tail_half_i": 1, "del_tail_address_i": 18, "del_tail_data_i": LINE, "del_load_valid_i": 1,
    "del_load_half_i": 1, "del_load_address_i": 18, "del_load_data_i": LINE,
    "clear_i": 1, "load_valid_i": 1, "load_i": 35, "bias_valid_i": 1, "bias_target_i": 1,
    "bias_address_i": 17, "read_valid_i": 1, "read_target_i": 1, "read_address_i": 17,
    "write_valid_i": 1, "write_target_i": 1, "write_address_i": 17, "write_line_i": LINE,
    "adam_read_i": 1, "adam_source_i": 17, "adam_write_i": 1, "adam_sink_i": 17,
    "adam_lines_i": 2 * LINE,
    **{f"n{n}_bias_pop_i": 1 for n in CORES},
}  # fmt: skip
OUTPUTS = {
    "act_read_data_o": LINE, "act_tail_ready_o": 1, "act_load_ready_o": 1,
    "del_read_data_o": 2 * LINE, "del_tail_ready_o": 1, "del_load_ready_o": 1,
    **{
        f"n{n}_{name}": bits
        for n in CORES
        for name, bits in {
            "load_valid_o": 1, "load_by_row_o": 1, "load_index_o": 4, "load_opens_o": 1,
            "load_lines_o": n * LINE, "bias_ready_o": 1, "bias_come_o": 1, "bias_line_o": LINE,
            "read_ready_o": 1, "read_valid_o": 1, "read_line_o": LINE,
            "adam_lines_o": 2 * LINE,
        }.items()
    },
}  # fmt: skip
BLOCK = Block(
    "jackdaw:engine:qat_core",
    "jd_qat_memories_bench",
    INPUTS,
    OUTPUTS,
    sources=("verif/qat/jd_qat_memories_bench.sv",),
)


def bench(seed: int) -> Player:
    """The memories, out of reset."""
    return Player(BLOCK, {"Lw": LW, "Lines": LINES, "Biases": BIASES}, seed)


pytestmark = builds(lambda: bench(1))


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-(1 << 31), 1 << 31, shape)


def signed(line: np.ndarray) -> np.ndarray:
    """Words as a signed port shows them."""
    return ((line & 0xFFFFFFFF) ^ 1 << 31) - (1 << 31)


def test_qat_actmem(seed: int) -> None:
    """Three writers in their order, words and halves of them, reads of what lies there."""
    rng = np.random.default_rng([seed, 11])
    clocks = scale(4000, 1000)
    table = Table(clocks + 4, INPUTS)
    memory, known = np.zeros((LINES, LW), np.int64), np.zeros((LINES, LW), np.int64)
    want, ready = {}, {}
    taken: list[tuple[int, np.ndarray, np.ndarray] | None] = [None, None]  # two clocks ago, one
    for clock in range(1, clocks):
        if taken[0] is not None:
            at, line, halves = taken[0]
            mask = 0xFFFF * (halves & 1) | 0xFFFF0000 * (halves >> 1)  # of each word
            memory[at] = memory[at] & ~mask | line & mask
            known[at] |= halves
        busy = rng.random(3) < (0.5, 0.4, 0.6)
        data, places = words(rng, 3, LW), rng.integers(0, LINES, 3)
        half, tail_half = (int(x) for x in rng.integers(1, 4, 2))
        tail_mask = int(rng.integers(1, 1 << LW))
        for k, name in enumerate(("entry", "tail", "load")):
            if busy[k]:
                table.set(clock, **{
                    f"act_{name}_valid_i": 1, f"act_{name}_address_i": places[k],
                    f"act_{name}_data_i": data[k],
                })  # fmt: skip
        table.set(clock, act_load_half_i=half, act_tail_half_i=tail_half,
                  act_tail_mask_i=tail_mask)  # fmt: skip
        ready[clock] = (not busy[0], not busy[0] and not busy[1])
        read = int(rng.integers(0, LINES))
        free = taken[1] is None or taken[1][0] != read
        if (known[read] == 3).all() and rng.random() < 0.6 and free:
            table.set(clock, act_read_en_i=1, act_read_address_i=read)
            want[clock + 2] = signed(memory[read])
        first = int(np.argmax(busy))
        halves = np.full(LW, half if first == 2 else 3)
        if first == 1:
            halves = (tail_mask >> np.arange(LW) & 1) * tail_half
        now = (int(places[first]), data[first], halves) if busy.any() else None
        taken = [taken[1], now]
    with bench(seed) as sim:
        out = table.run(sim)
    for clock, (tail, load) in ready.items():
        assert (out["act_tail_ready_o"][clock], out["act_load_ready_o"][clock]) == (tail, load)
    got = unpack(out["act_read_data_o"], WORD, LW)
    for clock, line in want.items():
        np.testing.assert_array_equal(got[clock], line, f"clock {clock}")
    assert len(want) > clocks // 5


def test_qat_delmem(seed: int) -> None:
    """Three writers in their order, and both halves read at once."""
    rng = np.random.default_rng([seed, 12])
    clocks = scale(4000, 1000)
    table = Table(clocks + 4, INPUTS)
    memory = {}
    want, ready = {}, {}
    taken: list[tuple[tuple[int, int], np.ndarray] | None] = [None, None]
    for clock in range(1, clocks):
        if taken[0] is not None:
            memory[taken[0][0]] = taken[0][1]
        busy = rng.random(3) < 0.4
        data, places, halves = words(rng, 3, LW), rng.integers(0, 16, 3), rng.integers(0, 2, 3)
        for k, name in enumerate(("entry", "tail", "load")):
            if busy[k]:
                table.set(clock, **{
                    f"del_{name}_valid_i": 1, f"del_{name}_half_i": halves[k],
                    f"del_{name}_address_i": places[k], f"del_{name}_data_i": data[k],
                })  # fmt: skip
        ready[clock] = (not busy[0], not busy[0] and not busy[1])
        reads = rng.integers(0, 16, 2)
        enable = 0
        for half in range(2):
            place = (half, int(reads[half]))
            if place in memory and rng.random() < 0.6 and (not taken[1] or taken[1][0] != place):
                enable |= 1 << half
                want[clock + 2, half] = memory[place]
        table.set(clock, del_read_en_i=enable, del_read_address_i=reads)
        first = int(np.argmax(busy))
        now = ((int(halves[first]), int(places[first])), data[first]) if busy.any() else None
        taken = [taken[1], now]
    with bench(seed) as sim:
        out = table.run(sim)
    for clock, (tail, load) in ready.items():
        assert (out["del_tail_ready_o"][clock], out["del_load_ready_o"][clock]) == (tail, load)
    got = unpack(out["del_read_data_o"], WORD, 2 * LW).reshape(-1, 2, LW)
    for (clock, half), line in want.items():
        np.testing.assert_array_equal(got[clock, half], signed(line), f"clock {clock}")
    assert len(want) > clocks // 5


def test_qat_wmem(seed: int) -> None:
    """The optimizer's lines, tile loads, bias lines and single lines of 1, 2 and 4 groups."""
    rng = np.random.default_rng([seed, 13])
    clocks, begin = scale(4000, 1000), 2 * LINES + 4
    table = Table(clocks + 8, INPUTS)
    memory = words(rng, 2, LINES, LW)
    for k in range(2 * LINES):
        table.set(k + 1, write_valid_i=1, write_target_i=k // LINES, write_address_i=k % LINES,
                  write_line_i=memory[k // LINES, k % LINES])  # fmt: skip
    loads, shown, adams = {}, {}, {}
    ready: dict[tuple[int, int], tuple[bool, bool]] = {}
    queue: dict[int, list[tuple[int, np.ndarray]]] = {n: [] for n in CORES}
    come: dict[int, set[int]] = defaultdict(set)
    popped: dict[tuple[int, int], np.ndarray] = {}
    met = set()
    for clock in range(begin, clocks):
        load, adam = None, None
        if rng.random() < 0.2:  # the optimizer: no line is loaded in the same clock
            adam = int(rng.integers(0, LINES))
            table.set(clock, adam_read_i=1, adam_source_i=adam)
            adams[clock + READ] = memory[:, adam].copy()
        elif rng.random() < 0.7:
            target, il, by_row, opens = (int(x) for x in rng.integers(0, 2, 4))
            line, index, columns = (
                int(rng.integers(*r)) for r in ((0, LINES - 4), (0, LW), (1, 6))
            )
            load = (target, il, line, columns)
            word = target << 34 | il << 33 | by_row << 31 | index << 27 | opens << 26 | line << 9
            table.set(clock, load_valid_i=1, load_i=word | columns)
            loads[clock + READ] = (by_row, index, opens, load, memory[:, line : line + 4].copy())
        bias = (int(rng.integers(0, 2)), int(rng.integers(0, LINES)))
        single = (int(rng.integers(0, 2)), int(rng.integers(0, LINES)))
        wants = rng.random(2) < 0.6
        table.set(clock, bias_valid_i=wants[0], bias_target_i=bias[0], bias_address_i=bias[1],
                  read_valid_i=wants[1], read_target_i=single[0],
                  read_address_i=single[1])  # fmt: skip
        for n in CORES:
            used = set() if adam is None else {(target, adam % n) for target in (0, 1)}
            if load is not None:
                target, il, line, columns = load
                used = {(target, (line + c) % n) for c in range(min(n, columns) if il else 1)}
            room = len(queue[n]) < BIASES
            bias_ready = room and (bias[0], bias[1] % n) not in used
            if wants[0] and bias_ready:
                used.add((bias[0], bias[1] % n))
            read_ready = (single[0], single[1] % n) not in used
            ready[clock, n] = (bias_ready if wants[0] else room, read_ready or not wants[1])
            if wants[1] and read_ready:
                shown[clock + READ, n] = memory[single].copy()
            met.add((n, wants[0] and not bias_ready and room, wants[1] and not read_ready, room))
            if queue[n] and clock >= queue[n][0][0] and rng.random() < 0.4:
                table.set(clock, **{f"n{n}_bias_pop_i": 1})
                popped[clock, n] = queue[n].pop(0)[1]
            if wants[0] and bias_ready:
                queue[n].append((clock + BIAS, memory[bias].copy()))
                come[n].add(clock + READ)
        read = {bias[1], single[1], adam, *(range(load[2], load[2] + 4) if load else ())}
        sink = int(rng.integers(0, LINES))
        if rng.random() < 0.3 and sink not in read:
            memory[:, sink] = words(rng, 2, LW)
            table.set(clock, adam_write_i=1, adam_sink_i=sink,
                      adam_lines_i=memory[:, sink].reshape(-1))  # fmt: skip
    assert all({(n, True, False, True), (n, False, True, True), (n, False, False, False)} <= met
               for n in CORES)  # fmt: skip
    with bench(seed) as sim:
        out = table.run(sim)
    for n in CORES:
        part = {name[len(f"n{n}_") :]: port for name, port in out.items()
                if name.startswith(f"n{n}_")}  # fmt: skip
        assert np.flatnonzero(part["load_valid_o"]).tolist() == sorted(loads)
        lines = unpack(part["load_lines_o"], WORD, n * LW).reshape(-1, n, LW)
        for clock, (by_row, index, opens, load, held) in loads.items():
            target, il, _, columns = load
            got = [part[f"load_{x}_o"][clock] for x in ("by_row", "index", "opens")]
            assert got == [by_row, index, opens]
            for core in range(min(n, columns) if il else n):
                want = held[target, core if il else 0]
                np.testing.assert_array_equal(lines[clock, core], signed(want))
        for (clock, cores), want_ready in ready.items():
            if cores == n:
                assert (part["bias_ready_o"][clock], part["read_ready_o"][clock]) == want_ready
        assert set(np.flatnonzero(part["bias_come_o"]).tolist()) == come[n]
        biases, singles = (unpack(part[f"{x}_line_o"], WORD, LW) for x in ("bias", "read"))
        for (clock, cores), taken in popped.items():
            if cores == n:
                np.testing.assert_array_equal(biases[clock], signed(taken), f"clock {clock}")
        at = sorted(clock for clock, cores in shown if cores == n)
        assert np.flatnonzero(part["read_valid_o"]).tolist() == at
        for clock in at:
            np.testing.assert_array_equal(singles[clock], signed(shown[clock, n]))
        pairs = unpack(part["adam_lines_o"], WORD, 2 * LW).reshape(-1, 2, LW)
        for clock, want in adams.items():
            np.testing.assert_array_equal(pairs[clock], signed(want), f"clock {clock}")
