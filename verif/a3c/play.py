"""Blocks without back-pressure in an in-process simulator: tables of inputs in, of outputs out."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

import numpy as np

from flow.library import build

HARNESS = Path("verif/a3c/play_harness.cpp")
RESET_CLOCKS = 4


class CheckFailed(AssertionError):
    """A check of the RTL fired; `name` is its label."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"{name} at {where}")
        self.name = name


@dataclass(frozen=True)
class Block:
    """A module and its ports.

    Attributes:
        core: FuseSoC core that has it.
        top: module.
        inputs, outputs: bits of each port, without clk_i and rst_ni.
        stream: has a stream `in` and a stream `out` and can be used by Player.stream.
    """

    core: str
    top: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    stream: bool = False


PE = Block(
    "jackdaw:engine:a3c_pe",
    "jd_a3c_pe",
    {
        "valid_i": 1, "enable_i": 1, "first_i": 1, "half_i": 1, "context_i": 6, "a_i": 32,
        "b_i": 32, "drain_valid_i": 1, "drain_half_i": 1, "drain_context_i": 6,
        "preload_valid_i": 1, "preload_half_i": 1, "preload_context_i": 6, "preload_data_i": 32,
    },
    {"drain_data_o": 32},
)  # fmt: skip
RMSPROP_UNIT = Block(
    "jackdaw:engine:a3c_rmsprop",
    "jd_a3c_rmsprop_unit",
    {
        "eta_i": 32, "rho_i": 32, "rest_i": 32, "eps_i": 32, "valid_i": 1, "theta_i": 32,
        "square_i": 32, "gradient_i": 32,
    },
    {"valid_o": 1, "theta_o": 32, "square_o": 32},
)  # fmt: skip
RMSPROP = Block(
    "jackdaw:engine:a3c_rmsprop",
    "jd_a3c_rmsprop",
    {
        "eta_i": 32, "rho_i": 32, "rest_i": 32, "eps_i": 32, "in_valid_i": 1, "in_data_i": 1536,
        "out_ready_i": 1,
    },
    {"busy_o": 1, "in_ready_o": 1, "out_valid_o": 1, "out_data_o": 1024},
    stream=True,
)  # fmt: skip


def transpose(bits: int) -> Block:
    """jd_stream_transpose with beats of so many bits."""
    return Block(
        "jackdaw:lib:stream",
        "jd_stream_transpose",
        {"in_valid_i": 1, "in_data_i": bits, "out_ready_i": 1},
        {"in_ready_o": 1, "out_valid_o": 1, "out_data_o": bits},
        stream=True,
    )


def line_buffer(bits: int, word: int) -> Block:
    """jd_mem_line_buffer with rows and words of so many bits."""
    return Block(
        "jackdaw:lib:mem",
        "jd_mem_line_buffer",
        {
            "stitch_valid_i": 1, "stitch_half_i": 1, "stitch_offset_i": 16, "stitch_data_i": bits,
            "load_i": 1, "pointer_i": 16, "shift_i": 16, "read_valid_i": 1, "read_half_i": 1,
        },
        {"word_o": word},
    )  # fmt: skip


def words(bits: int) -> int:
    """Words that a port takes in a row."""
    return -(-bits // 32)


@cache
def library(
    core: str, top: str, ports: str, parameters: tuple[tuple[str, int], ...], stream: bool
) -> ctypes.CDLL:
    """Build and open the simulator of a block.

    Args:
        core, top: core and module.
        ports: its inputs and outputs, `INPUTS|OUTPUTS` as macro lists.
        parameters: of the module.
        stream: with play_stream.
    """
    inputs, outputs = ports.split("|")
    path = build(
        core,
        top,
        HARNESS,
        parameters=dict(parameters),
        defines=(f"MODEL=V{top}", f'MODEL_HEADER="V{top}.h"', f"INPUTS={inputs}",
                 f"OUTPUTS={outputs}", *(["STREAM"] if stream else [])),
        optimize="-O0",
    )  # fmt: skip
    lib = ctypes.CDLL(str(path))
    lib.play_new.restype = ctypes.c_void_p
    lib.play_error.restype = ctypes.c_char_p
    if stream:
        lib.play_stream.restype = ctypes.c_int64
    return lib


class Player:
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
        self.lib = library(block.core, block.top, ports, values, block.stream)
        self.handle = ctypes.c_void_p(self.lib.play_new(seed & 0x7FFFFFFF))
        self.in_words = 1 + sum(words(bits) for bits in block.inputs.values())
        self.out_words = sum(words(bits) for bits in block.outputs.values())
        have = (ctypes.c_int(), ctypes.c_int())
        self.lib.play_words(self.handle, *(ctypes.byref(x) for x in have))
        if (have[0].value, have[1].value) != (self.in_words, self.out_words):
            raise ValueError(f"{block.top}: ports take {have}, not as listed")
        self.run(RESET_CLOCKS, rst_ni=np.zeros(RESET_CLOCKS))

    def __enter__(self) -> Player:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lib.play_free(self.handle)

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
        status = self.lib.play_run(
            self.handle,
            ctypes.c_uint64(clocks),
            ctypes.c_void_p(table.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
        )
        if status:
            where = self.lib.play_error(self.handle).decode()
            raise CheckFailed(_label(where), where)
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
        status = self.lib.play_stream(
            self.handle, ctypes.c_uint64(len(data)), ctypes.c_uint64(give.size),
            *(ctypes.c_void_p(a.ctypes.data) for a in arrays),
        )  # fmt: skip
        if status < 0:
            where = self.lib.play_error(self.handle).decode()
            raise CheckFailed(_label(where), where)
        return out, clocks[0], clocks[1]


def _label(where: str) -> str:
    """The label of the check at `FILE:LINE`, or the text itself."""
    found = re.fullmatch(r"(.*):(\d+)", where)
    if not found or not Path(found[1]).is_file():
        return where
    # A check may go over several lines; the place is that of its last.
    lines = Path(found[1]).read_text().splitlines()[: int(found[2])]
    labels = re.findall(r"`JD_\w+\((\w+)", "\n".join(lines[-4:]))
    return labels[-1] if labels else where
