"""The blocks of a core's array in one simulator, and how their ports hold arrays of integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from verif.play import Block, Player, words

LW, ENTRIES = 4, 9  # of the bench
SUM, ACC, WORD, PRODUCT = 50, 60, 32, 48  # bits

LINE = LW * WORD
INPUTS = {
    "load_valid_i": 1, "load_by_row_i": 1, "load_index_i": 2, "load_opens_i": 1,
    "load_line_i": LINE,
    "entry_valid_i": 1, "entry_swap_i": 1, "entry_half_i": 1, "entry_gradient_i": 1,
    "entry_opens_i": 1, "entry_closes_i": 1, "entry_row_i": LINE, "entry_column_i": 2 * LINE,
    "drain_rows_i": 3,
    "ahead_valid_i": 1, "ahead_index_i": 4, "ahead_first_i": 1, "ahead_last_i": 1,
    "accum_low_i": LW * SUM, "accum_high_i": LW * SUM,
    "in_valid_i": 1, "in_half_i": 1, "in_odd_i": 1, "in_delta_i": 1, "in_relu_i": 1,
    "in_wide_i": 1, "in_quantize_i": 1, "in_up_i": 5, "in_down_i": 5, "in_words_i": 5,
    "in_word_i": 5, "in_bias_i": LINE, "in_low_i": LW * ACC, "in_high_i": LW * ACC,
    "in_positive_i": LW,
}  # fmt: skip
OUTPUTS = {
    "sums_valid_o": 1, "sums_low_o": LW * SUM, "sums_high_o": LW * SUM,
    "drain_valid_o": 1, "drain_index_o": 2, "drain_o": LW * 2 * ACC,
    "accum_valid_o": 1, "accum_low_o": LW * ACC, "accum_high_o": LW * ACC,
    "wide_valid_o": 1, "wide_data_o": 2 * LINE, "line_valid_o": 1, "line_data_o": LINE,
    "over_z_o": 4, "over_quantized_o": 4,
}  # fmt: skip
BENCH = Block(
    "jackdaw:engine:qat_array",
    "jd_qat_array_bench",
    INPUTS,
    OUTPUTS,
    sources=("verif/qat/jd_qat_array_bench.sv",),
)


def bench(seed: int) -> Player:
    """The blocks, out of reset."""
    return Player(BENCH, {"Lw": LW, "Entries": ENTRIES}, seed)


def pack(values: np.ndarray, bits: int) -> np.ndarray:
    """[N, ...] integers to the words of a port that holds them, `bits` each, [N, words] uint32."""
    flat = values.reshape(len(values), -1).astype(np.int64)
    shifts = np.arange(bits)
    raw = (flat[..., None] >> shifts & 1).astype(np.uint8).reshape(len(flat), -1)
    total = 32 * words(raw.shape[1])
    padded = np.pad(raw, ((0, 0), (0, total - raw.shape[1])))
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint32)


def unpack(found: np.ndarray, bits: int, count: int) -> np.ndarray:
    """Inverse of pack, signed: [N, words] to [N, count] int64."""
    raw = np.ascontiguousarray(found.reshape(len(found), -1)).view(np.uint8)
    parts = np.unpackbits(raw, axis=1, bitorder="little")[:, : bits * count]
    parts = parts.reshape(len(found), count, bits).astype(np.int64)
    weights = np.int64(1) << np.arange(bits, dtype=np.int64)
    weights[-1] = -weights[-1]
    return parts @ weights


class Table:
    """Inputs of a run, clock by clock; what is not set is 0.

    Attributes:
        clocks: of the run.
    """

    def __init__(self, clocks: int, ports: Mapping[str, int] = INPUTS) -> None:
        self.clocks = clocks
        self._ports = ports
        self._columns: dict[str, np.ndarray] = {}

    def set(self, clock: int, **values: int | np.ndarray) -> None:
        """Set ports for one clock; the elements of an array take equal parts of the port."""
        for name, value in values.items():
            bits = self._ports[name]
            column = self._columns.setdefault(name, np.zeros((self.clocks, words(bits)), np.uint32))
            array = np.atleast_1d(np.asarray(value, np.int64)).reshape(1, -1)
            column[clock] = pack(array, bits // array.size)[0]

    def run(self, player: Player) -> dict[str, np.ndarray]:
        """Run the table."""
        return player.run(self.clocks, **self._columns)
