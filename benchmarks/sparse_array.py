"""A sparse engine as an array of lanes: layers of any shape, operations, and their clocks.

An operation's clocks are those that one more in a row takes: the array's busiest bank and what
passes until the next operation begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jackdaw.drivers.sparse import Sparse
from models.registers import sparse as registers
from models.sparse.formats import (
    GROUP_LINE,
    LINE_NEURONS,
    MOST_TILES,
    NO_FLAGS,
    Flag,
    Instruction,
    Kind,
    Layer,
    Op,
    Opcode,
    Tensor,
    padded,
    program_words,
    table_words,
)
from models.sparse.osel import Encoding, encode
from models.sparse.plan import Plan, plan

TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Timed:
    """An operation.

    Attributes:
        clocks: that one more in a row takes.
        alone: from its start to its last result, where none follows.
        utilization: share of the lanes' clocks that multiply.
    """

    clocks: int
    alone: int
    utilization: float


class Array:
    """An engine with layers of any shape, without a network between them.

    Attributes:
        engine, geometry: which.
        layers, encodings: as loaded.
    """

    def __init__(self, engine: Sparse) -> None:
        self.engine, self.geometry = engine, engine.geometry
        self.layers: list[Layer] = []
        self.encodings: list[Encoding] = []
        one = int(np.float32(1).view(np.uint32))
        for name in ("LR", "ALPHA", "ONE_MINUS_ALPHA", "EPS", "GSCALE", "LR_GROUP", "INV"):
            engine.write(getattr(registers, name).offset, one)

    def load(self, layers: Sequence[Layer], rng: np.random.Generator) -> None:
        """Load layers with random masks."""
        self.layers = list(layers)
        self._job(Opcode.CONFIG, table_words(layers).nbytes, table_words(layers))
        self.encodings, parts = [], []
        for layer in layers:
            g = layer.groups
            ig, og = (rng.integers(0, g, count) for count in (layer.m, layer.n))
            self.encodings.append(encode(ig, og, g, self.geometry.width))
            for index in (ig, og) if g > 1 else ():
                entries = (index[:, None] == np.arange(g)).astype(np.uint8).reshape(-1)
                parts.append(np.zeros(padded(len(entries), GROUP_LINE), np.uint8))
                parts[-1][: len(entries)] = entries
        if parts:
            mask = sum(1 << k for k, layer in enumerate(layers) if layer.groups > 1)
            self._job(Opcode.LOAD, mask | int(Kind.GROUP) << 8, np.concatenate(parts))
        self.run([Instruction(Op.CLRG)])

    def group(self, plain: bool = False, flags: Flag = NO_FLAGS) -> None:
        """Encode, plan and compress all layers; `flags` of the compression."""
        program = [Instruction(Op.CLRG, post=2)]
        for k in range(len(self.layers)):
            wait = 1 if k else 3
            program += [
                Instruction(Op.ENC, layer=k, post=1),
                Instruction(Op.PLAN, flags=int(Flag.PLAIN) * plain, layer=k, wait=wait),
                Instruction(Op.COMP, flags=int(flags), layer=k),
                Instruction(Op.COMPT, flags=int(flags), layer=k),
            ]
        self.run(program)

    def _job(self, opcode: Opcode, size: int, image: np.ndarray) -> None:
        address = self.engine.buffer("image", image.nbytes)
        self.engine.device.write(address, image)
        words = [opcode, 0, size, 0, address & 0xFFFF_FFFF, address >> 32]
        self.engine.rings[0].submit(words).wait(TIMEOUT_S)

    def run(self, program: Sequence[Instruction]) -> dict[str, Any]:
        """Run instructions. Returns: what the counters of `statistics` rose by; of OSEL's the last.

        Raises: JobError.
        """
        before = self.engine.statistics()
        whole = [*program, Instruction(Op.END)]
        self._job(Opcode.RUN, len(whole), program_words(whole))
        return risen(before, self.engine.statistics())

    def plan(self, number: int, plain: bool = False) -> Plan:
        """The golden model's plan of a layer."""
        layer = self.layers[number]
        return plan(
            self.encodings[number], self.geometry.build, layer.tiles, layer.split, layer.dx_from,
            layer.tr, plain,
        )  # fmt: skip

    def time(self, number: int, op: Op, tiles: int = MOST_TILES, row: bool = False) -> Timed:
        """Clocks of an operation; both sets of operands are full before it begins."""
        layer = self.layers[number]
        flags = int(Flag.ROW if row else 0)
        m, n = layer.m, layer.n
        first, second, third = (tiles if c < self.geometry.cores else 0 for c in range(3))
        each = (first, second, third)

        def operand(op: Op, neurons: int) -> Instruction:
            a = Tensor(0, 0, -(-neurons // LINE_NEURONS))
            return Instruction(op, layer=number, tiles=each, a=a, neurons=neurons)

        if op == Op.DW:
            x, y = (n, m) if layer.tr else (m, n)
            fills = [operand(Op.FX, x), operand(Op.FY, y)]
        else:
            fills = [operand(Op.FX, m if op == Op.FW else n)]
        one = Instruction(op, flags=flags, layer=number, tiles=each)
        found = []
        for count in (1, 2):
            filled = fills * count
            filled[-1] = replace(filled[-1], post=1)
            found.append(self.run([*filled, replace(one, wait=1), *[one] * (count - 1)]))
        alone, both = found
        busy = alone["unit_busy"]["VPU"]
        return Timed(
            both["unit_busy"]["VPU"] - busy, busy, alone["useful_macs"] / alone["lane_clocks"]
        )


def risen(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Counters between two readings of `statistics`."""
    found: dict[str, Any] = dict(after)
    for name in ("useful_macs", "lane_clocks", "vpu_ops"):
        found[name] = after[name] - before[name]
    for name in ("stage", "unit_busy"):
        found[name] = {key: after[name][key] - before[name][key] for key in after[name]}
    return found
