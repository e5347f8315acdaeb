"""Functional coverage of what meets in the tree: updates and samples, at every level and distance.

Distances are in slots of the order point. Two updates of a node less than LU+1 slots apart are
bypassed; a sample LU slots after an update of its row is the first to find it in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.replay.timing import Timing
from verif.coverage import Bins, Coverage, save


@dataclass(frozen=True)
class Meeting:
    """Two operations meet.

    Attributes:
        kind: "update" (of one node) or "sample" (of one row).
        level: 1 (below the root) to the leaves.
        distance: slots from the one to the other; of a sample, from the update to it.
    """

    kind: str
    level: int
    distance: int


@dataclass(frozen=True)
class Chosen:
    """A sample.

    Attributes:
        ends: of the total, of the running sum of a leaf: "first", "last", "boundary", "".
        children: by level, "first" or "last" of its row, or "".
    """

    ends: str
    children: tuple[str, ...]


class Hazards:
    """Follows the operations of a core as they pass its order point.

    Args:
        timing: of the build.
    """

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.levels = range(1, timing.levels + 1)
        self.updates: deque[tuple[int, int]] = deque(maxlen=32)  # slot, leaf
        self.samples: deque[tuple[int, int]] = deque(maxlen=32)
        c = timing.config
        points: dict[str, Bins] = {}
        for level in self.levels:
            reach = self.write_latency(level)
            points[f"update_{level}"] = {
                str(d): _meets("update", level, d) for d in range(1, reach + 2)
            }
            points[f"sample_{level}"] = {
                str(d): _meets("sample", level, d) for d in range(-2, reach + 3)
            }
            points[f"child_{level}"] = {end: _child(level, end) for end in ("first", "last")}
        points["target"] = {end: _target(end) for end in ("first", "last", "boundary")}
        name = f"replay.core.k{1 << c.k_log2}n{1 << c.n_log2}"
        self.coverage = Coverage("hazards", None, name, points, enforce=False)

    def write_latency(self, level: int) -> int:
        """LU of a level."""
        return 1 if level == self.timing.levels else self.timing.read_latency(level) + 2

    def node(self, leaf: int, level: int) -> int:
        """The node above a leaf."""
        return leaf >> self.timing.config.n_log2 - self.timing.nodes_log2(level)

    def row(self, leaf: int, level: int) -> int:
        """The row in which that node is."""
        above = self.timing.nodes_log2(level - 1) if level > 1 else 0
        return self.node(leaf, level) >> self.timing.nodes_log2(level) - above

    def update(self, slot: int, leaf: int) -> None:
        """An update of a leaf passes; it comes after the sample of the same slot."""
        for level in self.levels:
            for before, other in self.updates:
                if self.node(leaf, level) == self.node(other, level):
                    self.coverage.sample(Meeting("update", level, slot - before))
            for before, other in self.samples:
                if self.row(leaf, level) == self.row(other, level):
                    self.coverage.sample(Meeting("sample", level, before - slot))
        self.updates.append((slot, leaf))

    def sample(self, slot: int, leaf: int, target: int, leaves: np.ndarray) -> None:
        """A sample with its target passes, and chooses a leaf."""
        for level in self.levels:
            for before, other in self.updates:
                if self.row(leaf, level) == self.row(other, level):
                    self.coverage.sample(Meeting("sample", level, slot - before))
        last = int(leaves.sum())
        end = "boundary" if target == int(leaves[: leaf + 1].sum()) else ""
        end = "first" if target == 1 else "last" if target == last else end
        children = []
        for level in self.levels:
            above = self.timing.nodes_log2(level - 1) if level > 1 else 0
            most = (1 << self.timing.nodes_log2(level) - above) - 1
            place = self.node(leaf, level) & most
            children.append("first" if place == 0 else "last" if place == most else "")
        self.coverage.sample(Chosen(end, tuple(children)))
        self.samples.append((slot, leaf))

    def save(self) -> None:
        """Leave the bins in the run's folder."""
        save("")


def _meets(kind: str, level: int, distance: int) -> Callable[[Any], bool]:
    return lambda item: item == Meeting(kind, level, distance)


def _child(level: int, end: str) -> Callable[[Any], bool]:
    return lambda item: isinstance(item, Chosen) and item.children[level - 1] == end


def _target(end: str) -> Callable[[Any], bool]:
    return lambda item: isinstance(item, Chosen) and item.ends == end
