"""The fixed-point blocks in one simulator: each is a pipe, which tables of operands go through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from verif.play import Block, Player, words


@dataclass(frozen=True)
class Pipe:
    """A block of the bench.

    Attributes:
        name: prefix of its ports.
        operands, results: bits of each port by the name between prefix and suffix.
        latency: clocks.
        operands_of: the pipe whose operands it shares; default its own.
    """

    name: str
    operands: Mapping[str, int]
    results: Mapping[str, int]
    latency: int
    operands_of: str = ""


ROUND = {"value": 32, "shift": 5}
ROUNDED = {"result": 16, "saturated": 1}
WIDE = Pipe("wide", ROUND | {"value": 62}, ROUNDED | {"result": 32}, 2)
NARROW = Pipe("narrow", ROUND, ROUNDED, 1)
DIRECT = Pipe("direct", ROUND, ROUNDED, 0, "narrow")
SQRT = Pipe("sqrt", {"value": 64}, {"result": 32}, 32)
DIV = Pipe("div", {"dividend": 32, "divisor": 33}, {"result": 27}, 28)
TANH = Pipe("tanh", {"value": 32}, {"result": 32}, 4)
PIPES = (WIDE, NARROW, DIRECT, SQRT, DIV, TANH)

BENCH = Block(
    "jackdaw:lib:fixed",
    "jd_fixed_bench",
    {
        f"{pipe.name}_{port}_i": bits
        for pipe in PIPES
        if not pipe.operands_of
        for port, bits in {"valid": 1, **pipe.operands}.items()
    },
    {
        f"{pipe.name}_{port}_o": bits
        for pipe in PIPES
        for port, bits in {"valid": 1, **pipe.results}.items()
    },
    sources=("verif/lib/jd_fixed_bench.sv",),
)


def bench(seed: int) -> Player:
    """The blocks, out of reset."""
    return Player(BENCH, {}, seed)


def split(values: np.ndarray, bits: int) -> np.ndarray:
    """[N] integers, of int64 or uint64, to the words of a port of so many bits, [N, words]."""
    whole = values.astype(np.uint64) & np.uint64((1 << bits) - 1)
    parts = [whole >> np.uint64(32 * k) & np.uint64(0xFFFFFFFF) for k in range(words(bits))]
    return np.stack(parts, 1).astype(np.uint32)


def check(
    sim: Player,
    pipe: Pipe,
    operands: Mapping[str, np.ndarray],
    want: Mapping[str, np.ndarray],
    valid: np.ndarray | None = None,
) -> None:
    """Send operands through a pipe and compare all results, each in its clock.

    Args:
        operands, want: [N] integers by port; compared by the bits of the port.
        valid: [N] bool, clocks with operands; the others are gaps. Default: all.
    """
    count = len(next(iter(operands.values())))
    valid = np.ones(count, bool) if valid is None else valid
    source, late = pipe.operands_of or pipe.name, (0, pipe.latency)
    inputs = {f"{source}_valid_i": np.pad(valid, late)}
    for port, values in operands.items():
        inputs[f"{source}_{port}_i"] = np.pad(split(values, pipe.operands[port]), (late, (0, 0)))
    out = sim.run(count + pipe.latency, **inputs)
    came = out[f"{pipe.name}_valid_o"][pipe.latency :]
    np.testing.assert_array_equal(came, valid, f"{pipe.name}: valid_o")
    for port, values in want.items():
        got = out[f"{pipe.name}_{port}_o"][pipe.latency :].reshape(count, -1)
        wrong = np.flatnonzero((got != split(values, pipe.results[port])).any(1) & valid)
        assert not wrong.size, (
            f"{pipe.name}: {port}: {wrong.size} of {valid.sum()} differ, first "
            f"{ {name: int(v[wrong[0]]) for name, v in operands.items()} }: got "
            f"{got[wrong[0]]}, want {values[wrong[0]]}"
        )
