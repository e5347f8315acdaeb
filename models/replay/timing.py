"""Cycles of the replay engine's jobs: the latency table of rtl/replay/jd_replay_pkg.sv."""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def front_latency(self) -> int:
        """F: from an update's acceptance to its place in the order."""
        return self._ram(self.config.n_log2) + 2

    @property
    def sample_latency(self) -> int:
        """L_S: of a sample, from issue to the output FIFO."""
        return 16 + self.config.lat_mul + sum(map(self.level_latency, range(1, self.levels + 1)))

    def capability(self) -> int:
        """CAP_GEOM."""
        c = self.config
        return c.k_log2 | self.levels << 3 | c.n_log2 << 8 | c.leaf_w << 16 | c.batch_log2 << 28

    def sample(self, count: int, weights: bool) -> int:
        """A batch of `count` samples."""
        return 2 * count + self.sample_latency + 14 if weights else count + self.sample_latency

    def update(self, count: int) -> int:
        """`count` operations that are not samples."""
        return count + self.front_latency + 2

    def clear(self) -> int:
        """CLEAR."""
        return (1 << (self.config.n_log2 - self.nodes_width)) + 8

    @property
    def nodes_width(self) -> int:
        """log2 of the leaves of a row: a clear writes one row of them a clock."""
        return min(self.config.k_log2, self.config.n_log2)
