"""The activation store: clients that ask for the same banks, and what they get."""

from __future__ import annotations

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from verif.play import Block, Player

LINES, BANKS, TUPLE = 16, 8, 4  # FP16 numbers of a tuple
LATENCY = 2
CLIENTS = [(4, 3), regress(1, 1)]  # readers, writers


def bench(readers: int, writers: int, seed: int = 1) -> Player:
    block = Block(
        "jackdaw:engine:sparse_array", "jd_sparse_store",
        {
            "read_en_i": BANKS * readers, "read_line_i": 16 * BANKS * readers,
            "write_en_i": BANKS * writers, "write_line_i": 16 * BANKS * writers,
            "write_data_i": 16 * TUPLE * BANKS * writers,
        },
        {
            "read_ready_o": readers, "write_ready_o": writers,
            "read_data_o": 16 * TUPLE * BANKS,
        },
    )  # fmt: skip
    return Player(block, {"ARows": LINES, "Readers": readers, "Writers": writers}, seed)


def requests(rng: np.random.Generator, clocks: int, clients: int) -> np.ndarray:
    """[clocks, clients, banks] bool: some banks, all, or none."""
    some = rng.random((clocks, clients, BANKS)) < rng.choice([0.1, 0.5])
    every = rng.random((clocks, clients, 1)) < 0.3
    return (some | every) & (rng.random((clocks, clients, 1)) < 0.6)


def served(asks: np.ndarray) -> np.ndarray:
    """[clocks, clients] bool: those that no client before them is in the way of."""
    earlier = np.cumsum(asks, axis=1) - asks > 0
    return ~(asks & earlier).any(axis=2)


def bits(flags: np.ndarray) -> np.ndarray:
    """[clocks] integers of [clocks, ...] bool."""
    flat = flags.reshape(len(flags), -1)
    return flat @ (1 << np.arange(flat.shape[1]))


def packed(values: np.ndarray) -> np.ndarray:
    """[clocks, words] uint32 of [clocks, ...] uint16."""
    return np.ascontiguousarray(values.reshape(len(values), -1)).view(np.uint32)


@builds(bench)
@pytest.mark.parametrize(("readers", "writers"), CLIENTS)
def test_clients_get_all_their_banks_or_none(readers: int, writers: int, seed: int) -> None:
    """Client 0 always; another one if no client before it asks for one of its banks."""
    sim, rng = bench(readers, writers, seed), np.random.default_rng(seed)
    store = np.zeros((LINES, BANKS, TUPLE), np.uint16)
    count = 100
    for turn in range(scale(40, 8)):
        # No line is written while it is read.
        half = rng.permutation(2) * (LINES // 2)
        read, write = requests(rng, count, readers), requests(rng, count, writers)
        read[-LATENCY:] = False
        if turn < 2:  # each line once
            half, read[:], write[:] = np.array([1 - turn, turn]) * (LINES // 2), False, False
            write[: LINES // 2, 0] = True
        lines = rng.integers(0, LINES // 2, (2, count, 4, BANKS)).astype(np.uint16)
        lines += half[:, None, None, None].astype(np.uint16)
        if turn < 2:
            lines[1, : LINES // 2, 0] = half[1] + np.arange(LINES // 2)[:, None]
        data = rng.integers(0, 1 << 16, (count, writers, BANKS, TUPLE)).astype(np.uint16)
        out = sim.run(
            count, read_en_i=bits(read), read_line_i=packed(lines[0, :, :readers]),
            write_en_i=bits(write), write_line_i=packed(lines[1, :, :writers]),
            write_data_i=packed(data),
        )  # fmt: skip
        reads, writes = served(read), served(write)
        for name, asks, want in (("read", read, reads), ("write", write, writes)):
            ready = out[f"{name}_ready_o"][:, None] >> np.arange(want.shape[1]) & 1
            assert (ready.astype(bool) == want)[asks.any(axis=2)].all(), name
        shown = np.ascontiguousarray(out["read_data_o"]).view(np.uint16)
        shown = shown.reshape(count, BANKS, TUPLE)
        for clock, client, bank in np.argwhere(read & reads[:, :, None]):
            line = lines[0, clock, client, bank]
            assert (shown[clock + LATENCY, bank] == store[line, bank]).all(), (clock, client, bank)
        for clock, client, bank in np.argwhere(write & writes[:, :, None]):
            store[lines[1, clock, client, bank], bank] = data[clock, client, bank]
