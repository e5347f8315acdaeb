"""Cycles of the replay engine's jobs: the latency table of rtl/replay/jd_replay_pkg.sv."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.replay.engine import ReplayConfig


@dataclass(frozen=True)
class Timing:
    """Latencies (clocks) of a configuration.

    Source: onchip_replay 3.1 and figure 5; mirrors the functions of jd_replay_pkg by name.
    """

    config: ReplayConfig

    @property
    def levels(self) -> int:
        """Levels below the root."""
        return -(-self.config.n_log2 // self.config.k_log2)

    def nodes_log2(self, level: int) -> int:
        """log2 of the nodes of a level, 1 (below the root) to `levels` (leaves)."""
        return self.config.n_log2 - (self.levels - level) * self.config.k_log2

    def _ram(self, nodes_log2: int) -> int:
        c = self.config
        return c.lat_lut if nodes_log2 <= 11 else c.lat_bram if nodes_log2 <= 16 else c.lat_uram

    def read_latency(self, level: int) -> int:
        """LM of a level."""
        return 0 if level == 1 else self._ram(self.nodes_log2(level))

    def compare_latency(self, level: int) -> int:
        """CMP of a level."""
        fan = self.nodes_log2(1) if level == 1 else self.config.k_log2
        group = fan if fan <= 2 else (fan + 1) // 2
        return fan + 2 if fan <= 2 else 2 * group + (fan - group) + 4

    def level_latency(self, level: int) -> int:
        """LU + LM + CMP of a level."""
        read = self.read_latency(level)
        write = 1 if level == self.levels else read + 2
        return write + read + self.compare_latency(level)

    @cached_property
    def front_latency(self) -> int:
        """F: from an update's acceptance to its place in the order."""
        return self._ram(self.config.n_log2) + 2

    @cached_property
    def sample_latency(self) -> int:
        """L_S: of a sample, from issue to the output FIFO."""
        return 16 + self.config.lat_mul + sum(map(self.level_latency, range(1, self.levels + 1)))

    def capability(self) -> int:
        """CAP_GEOM."""
        c = self.config
        return (
            c.k_log2
            | self.levels << 3
            | c.n_log2 << 8
            | c.leaf_w << 16
            | c.sequential << 24
            | c.batch_log2 << 28
        )

    def sample(self, count: int, weights: bool) -> int:
        """A batch of `count` samples; of the sequential tree, at most."""
        if self.config.sequential:
            c = self.config
            slot = (1 << c.k_log2) + self._ram(c.n_log2) + 1
            return slot * (count + self.levels - 1) + c.lat_mul + 25 + (count if weights else 0)
        return 2 * count + self.sample_latency + 14 if weights else count + self.sample_latency

    def update(self, count: int) -> int:
        """`count` operations that are not samples."""
        return count + self.front_latency + 2

    def clear(self) -> int:
        """CLEAR."""
        if self.config.sequential:
            return (1 << self.config.n_log2) + 8
        return (1 << (self.config.n_log2 - self.nodes_width)) + 8

    def memory_bits(self) -> int:
        """Bits of all nodes below the root, in both copies (the sequential tree has one)."""
        c = self.config
        copy = sum(
            (c.leaf_w + c.n_log2 - nodes) << nodes
            for nodes in map(self.nodes_log2, range(1, self.levels + 1))
        )
        return copy if c.sequential else 2 * copy

    def gather(self, rows: int, row_bytes: int, index_bytes: int) -> int:
        """`rows` rows at the port's limit: its read channel also brings their indices."""
        return rows * -(-row_bytes // 64) + -(-rows * index_bytes // 64)

    def check(self) -> int:
        """CHECK: every leaf once, through both lanes."""
        return (1 << self.config.n_log2) + self.front_latency + self.sample_latency

    @property
    def nodes_width(self) -> int:
        """log2 of the leaves of a row: a clear writes one row of them per clock."""
        return min(self.config.k_log2, self.config.n_log2)
