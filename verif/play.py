"""Blocks in an in-process simulator: tables of inputs in, tables of outputs out, or a stream."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from flow import pins
from flow.library import Harness, build, open_library
from flow.simulator import QUICK

HARNESS = Path("verif/play.cpp")
RESET_CLOCKS = 4


@dataclass(frozen=True)
class Block:
    """A module and its ports.

    Attributes:
        core: FuseSoC core that has it.
        top: module.
        inputs, outputs: bits of each port, without clk_i and rst_ni.
        stream: has a stream `in` and a stream `out` and can be used by Player.stream.
        optimize: level of the model's C++.
        sources: more files, relative to the root, if the module is not in the core.
    """

    core: str
    top: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    stream: bool = False
    optimize: str = QUICK
    sources: tuple[str, ...] = ()


def words(bits: int) -> int:
    """Words that a port takes in a row."""
    return -(-bits // 32)


@cache
def library(
    core: str,
    top: str,
    ports: str,
    parameters: tuple[tuple[str, int], ...],
    stream: bool,
    optimize: str,
    sources: tuple[str, ...] = (),
) -> ctypes.CDLL:
    """Build and open the simulator of a block.

    Args:
        core, top, optimize, sources: see Block.
        ports: its inputs and outputs, `INPUTS|OUTPUTS` as macro lists.
        parameters: of the module.
        stream: with play_stream.
    """
    inputs, outputs = ports.split("|")
    flat = pins.flat(core, top, sources, packed=True)
    top = flat.toplevel
    path = build(
        core,
        top,
        HARNESS,
        parameters=dict(parameters),
        sources=(*sources, *flat.sources),
        defines=(f"MODEL=V{top}", f'MODEL_HEADER="V{top}.h"', f"INPUTS={inputs}",
                 f"OUTPUTS={outputs}", *(["STREAM"] if stream else [])),
        optimize=optimize,
    )  # fmt: skip
    return open_library(path)


class Player(Harness):
    """A block under simulation (a context manager); it comes out of a reset.

    Args:
        block: what is simulated.
        parameters: of the module.
        seed: of the random register values.
    """

    def __init__(self, block: Block, parameters: Mapping[str, int], seed: int) -> None:
        self.block = block
        ports = "|".join(
            " ".join(f"X({name})" for name in names)
            for names in (["rst_ni", *block.inputs], block.outputs)
        )
        values = tuple(sorted(parameters.items()))
        super().__init__(
            library(
                block.core, block.top, ports, values, block.stream, block.optimize, block.sources
            ),
            seed,
        )  # fmt: skip
        self.in_words = 1 + sum(words(bits) for bits in block.inputs.values())
        self.out_words = sum(words(bits) for bits in block.outputs.values())
        have = (ctypes.c_int(), ctypes.c_int())
        self.library.play_words(self.handle, *(ctypes.byref(x) for x in have))
        if (have[0].value, have[1].value) != (self.in_words, self.out_words):
            raise ValueError(f"{block.top}: ports take {have}, not as listed")
        self.run(RESET_CLOCKS, rst_ni=np.zeros(RESET_CLOCKS))

    def run(self, clocks: int, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Give inputs for a number of clocks.

        Args:
            clocks: how many.
            inputs: by port, [clocks] or [clocks, words] integers; rst_ni is 1 and what is not
                given is 0.
        Returns: by port, [clocks] or [clocks, words] uint32, as before the edge of each clock.
        Raises: CheckFailed.
        """
        table = np.zeros((clocks, self.in_words), np.uint32)
        unknown = set(inputs) - set(self.block.inputs) - {"rst_ni"}
        if unknown:
            raise ValueError(f"{self.block.top} has no {sorted(unknown)}")
        table[:, 0] = inputs.get("rst_ni", np.uint32(1))
        at = 1
        for name, bits in self.block.inputs.items():
            if name in inputs:
                values = np.asarray(inputs[name]).astype(np.uint32).reshape(clocks, -1)
                if bits < 32 and (values >> np.uint32(bits)).any():
                    raise ValueError(f"{name}: want {bits} bits")
                table[:, at : at + words(bits)] = values
            at += words(bits)
        out = np.zeros((clocks, self.out_words), np.uint32)
        self.call(
            "play_run", ctypes.c_uint64(clocks), ctypes.c_void_p(table.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
        )  # fmt: skip
        result, at = {}, 0
        for name, bits in self.block.outputs.items():
            part = out[:, at : at + words(bits)]
            result[name] = part[:, 0] if words(bits) == 1 else part
            at += words(bits)
        return result

    def stream(
        self, data: np.ndarray, give: np.ndarray, take: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Send words through a block that gives as many as it takes.

        Args:
            data: [N, words of in_data_i] uint32.
            give, take: [limit] bool, clocks in which the source may begin to offer a word, and in
                which the sink is ready.
        Returns: [N, words of out_data_o] what came out; [N] clocks in which words moved in; and
            out.
        Raises: CheckFailed, also if not all words came out within the limit.
        """
        data = np.ascontiguousarray(data, np.uint32)
        wide = words(self.block.outputs["out_data_o"])
        out = np.zeros((len(data), wide), np.uint32)
        clocks = np.zeros((2, len(data)), np.uint32)
        patterns = [np.ascontiguousarray(p, np.uint8) for p in (give, take)]
        arrays = (data, out, *patterns, clocks[0], clocks[1])
        self.call(
            "play_stream", ctypes.c_uint64(len(data)), ctypes.c_uint64(give.size),
            *(ctypes.c_void_p(a.ctypes.data) for a in arrays),
        )  # fmt: skip
        return out, clocks[0], clocks[1]
