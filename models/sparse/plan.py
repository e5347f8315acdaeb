"""The load allocation unit: windows of lanes, units of work for the banks, weight lines.

A direction has contracted indices (whose products are summed) and produced ones (an output each).
A forward pass contracts rows and produces columns; dX the other way round. Groups are sorted by
their contracted indices, their produced indices are laid side by side and cut into windows of at
most `lanes` lanes and `slots` groups, so that neighbours in a window are almost equally long.

Windows are numbered so that the longest is beside the shortest, the second longest beside the
second shortest, and so on: a bank's range of consecutive units then has long and short ones.

Source: LearningGroup III-C; docs/sparse.md (load allocation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from models.sparse.osel import Encoding

VECTORS = 4  # of a tile
LEAVES = 8  # clocks from the end of a dW unit to the first of its sums that leaves, less overlap
ADDER = 4  # clocks between two uses of an accumulator, at least
BLOCKS = (32, 16, 8, 4)  # rows of a dW unit, the larger first
# What a bank takes at most, tried side by side: so many 32nds of an equal share of the clocks.
LIMITS = (32, 33, 34, 35, 36, 39, 43, 48)
EQUAL = 32
WORD_BANKS = 64  # of the parameter memory, with two ports each
ROW_CONTIGUOUS, ROW_CYCLIC = 0, 1  # which core has a contracted index in ROW split


class PlanError(ValueError):
    """A plan does not fit into the build's memories; says which."""


@dataclass(frozen=True)
class Build:
    """What a core offers to a plan.

    Attributes:
        cores, banks, lanes, slots: of the array.
        drain_w: lanes per clock that leave a bank.
        windows: of a plan, at most.
        weight_lines, gradient_lines, result_lines: of a bank.
    """

    cores: int = 3
    banks: int = 8
    lanes: int = 33
    slots: int = 4
    drain_w: int = 4
    windows: int = 24
    weight_lines: int = 4096
    gradient_lines: int = 1024
    result_lines: int = 4096

    @property
    def held(self) -> int:
        """Units whose results a bank holds."""
        return self.result_lines // (2 * self.lanes)


@dataclass(frozen=True)
class Window:
    """Produced indices side by side on the lanes of a bank.

    Attributes:
        groups: group of each slot; of a split sum 0.
        workloads: lanes of each slot.
        depths: contracted indices of each slot.
        position: of its first lane in the direction's order of produced indices.
    """

    groups: tuple[int, ...]
    workloads: tuple[int, ...]
    depths: tuple[int, ...]
    position: int

    @property
    def depth(self) -> int:
        """Ranks: weight lines."""
        return max(self.depths)

    @property
    def lanes(self) -> int:
        """Lanes in use."""
        return sum(self.workloads)


def by_depth(depths: Sequence[int]) -> list[int]:
    """Groups with the most contracted indices first; of equals the lower number."""
    return sorted(range(len(depths)), key=lambda g: (-depths[g], g))


def windows(
    depths: Sequence[int], counts: Sequence[int], lanes: int, slots: int, plain: bool = False
) -> list[Window]:
    """Cut a direction into windows.

    Args:
        depths, counts: contracted and produced indices of each group.
        lanes, slots: of a bank.
        plain: groups keep the order of their numbers.
    """
    found: list[Window] = []
    now: list[tuple[int, int]] = []
    used = position = 0

    def close() -> None:
        nonlocal now, used
        groups, workloads = zip(*now, strict=True)
        found.append(
            Window(groups, workloads, tuple(int(depths[g]) for g in groups), position - used)
        )
        now, used = [], 0

    for group in range(len(depths)) if plain else by_depth(depths):
        left = int(counts[group])
        while left:
            if used == lanes or len(now) == slots:
                close()
            take = min(left, lanes - used)
            now.append((group, take))
            used, position, left = used + take, position + take, left - take
    if now:
        close()
    return found


def split_window(rows: int, columns: int, parts: int) -> list[Window]:
    """The window of a dense layer whose sums are split: slot j has the rows j mod parts."""
    depths = tuple(len(range(j, rows, parts)) for j in range(parts))
    return [Window((0,) * parts, (columns,) * parts, depths, 0)]


def numbered(cut: Sequence[Window], plain: bool = False) -> list[Window]:
    """Windows in the order of their numbers: a long one beside a short one.

    Args:
        cut: the windows, the longest first.
        plain: they keep their order.
    """
    if plain:
        return list(cut)
    return [cut[k // 2 if k % 2 == 0 else len(cut) - 1 - k // 2] for k in range(len(cut))]


def limit_of(costs: Sequence[int], banks: int) -> int:
    """Of LIMITS the one with which the busiest bank has the least clocks; of equal ones the first.

    Args:
        costs: of the units, in order.
        banks: how many.
    """
    worst = _busiest_of(np.array(costs, np.int64), banks, np.array(LIMITS))
    return LIMITS[int(worst.argmin())]


@njit(cache=True)
def _busiest_of(costs, banks, limits):  # type: ignore[no-untyped-def]
    """[limits] clocks of the busiest bank with each limit."""
    found = np.zeros(len(limits), np.int64)
    total = costs.sum()
    for k in range(len(limits)):
        bank = load = 0
        for cost in costs:
            if bank < banks - 1 and load and (load + cost) * EQUAL * banks > total * limits[k]:
                bank, load = bank + 1, 0
            load += cost
            found[k] = max(found[k], load)
    return found


def assign(costs: Sequence[int], banks: int, most: int | None = None) -> list[int]:
    """Give units to banks in contiguous ranges of about equal cost.

    A bank takes units up to a limit. The limit is that of LIMITS which is best if a bank holds any
    number of units.

    Args:
        costs: of the units, in order.
        banks: how many.
        most: units that a bank holds, at most; None: any number.
    Returns: the bank of each unit.
    Raises: PlanError if they do not fit.
    """
    held_most = len(costs) + 1 if most is None else most
    limit, total = limit_of(costs, banks), sum(costs)
    bank = load = held = 0
    out = []
    for unit, cost in enumerate(costs):
        if (
            bank < banks - 1
            and held
            and len(costs) - unit <= (banks - 1 - bank) * held_most
            and ((load + cost) * EQUAL * banks > total * limit or held == held_most)
        ):
            bank, load, held = bank + 1, 0, 0
        if held == held_most:
            raise PlanError(f"{len(costs)} units, want at most {held_most} in a bank")
        out.append(bank)
        load, held = load + cost, held + 1
    return out


@dataclass(frozen=True)
class Pass:
    """A forward or backward pass of a layer: its units, a window and a tile each.

    Attributes:
        windows: of the direction.
        tiles: of the layer, at most.
        costs: clocks of a tile of each window.
        paired: units go through the windows in pairs, tile by tile; else window by window.
        banks: bank of each unit.
    """

    windows: tuple[Window, ...]
    tiles: int
    costs: tuple[int, ...]
    paired: bool
    banks: tuple[int, ...]

    @cached_property
    def units(self) -> tuple[tuple[int, int], ...]:
        """Window and tile of each unit."""
        return tuple(unit_order(len(self.windows), self.tiles, self.paired))

    def held(self, bank: int) -> list[int]:
        """Windows whose weight lines a bank has: those of its units, a pair as a whole."""
        found = {w for (w, _), b in zip(self.units, self.banks, strict=True) if b == bank}
        if self.paired:
            found |= {w ^ 1 for w in found if w ^ 1 < len(self.windows)}
        return sorted(found)

    @cached_property
    def lines(self) -> np.ndarray:
        """[banks] weight lines of each bank: those of all windows that it holds."""
        return np.array(
            [
                sum(self.windows[w].depth for w in self.held(bank))
                for bank in range(max(self.banks) + 1)
            ],
            np.int64,
        )

    def clocks(self, tiles: int, depths: Sequence[int] | None = None, drain_w: int = 4) -> int:
        """Clocks of the busiest bank for an operation.

        Args:
            tiles: of the operation.
            depths: ranks of each window, where they are fewer than the plan's (ROW split).
            drain_w: of the build.
        """
        if depths is None:
            if tiles not in self._known:
                self._known[tiles] = self._clocks(tiles, self.costs)
            return self._known[tiles]
        costs = tuple(
            unit_cost(depth, window.lanes, drain_w)
            for depth, window in zip(depths, self.windows, strict=True)
        )
        return self._clocks(tiles, costs)

    @cached_property
    def _known(self) -> dict[int, int]:
        """Clocks by tiles."""
        return {}

    def _clocks(self, tiles: int, costs: Sequence[int]) -> int:
        load = [0] * (max(self.banks) + 1)
        for (window, tile), bank in zip(self.units, self.banks, strict=True):
            if tile < tiles:
                load[bank] += costs[window]
        return max(load)


def unit_order(count: int, tiles: int, paired: bool) -> list[tuple[int, int]]:
    """Windows and tiles of a pass's units, in order.

    Args:
        count: windows.
        tiles: of the layer.
        paired: see Pass. The last of an odd number of windows is alone.
    """
    width = 2 if paired else 1
    return [
        (window, tile)
        for first in range(0, count, width)
        for tile in range(tiles)
        for window in range(first, min(first + width, count))
    ]


def unit_cost(depth: int, lanes: int, drain_w: int) -> int:
    """Clocks of a window for a tile: its ranks, or the results that leave meanwhile."""
    return max(VECTORS * depth, -(-lanes // drain_w))


@dataclass(frozen=True)
class Gradient:
    """dW of a layer: units of a window and a block of ranks.

    Attributes:
        windows: of the direction.
        block: ranks of a unit.
        units: window and first rank of each.
        costs: clocks of a tile of each.
        banks: bank of each.
    """

    windows: tuple[Window, ...]
    block: int
    units: tuple[tuple[int, int], ...]
    costs: tuple[int, ...]
    banks: tuple[int, ...]

    @cached_property
    def lines(self) -> np.ndarray:
        """[banks] gradient lines of each bank."""
        out = np.zeros(max(self.banks, default=0) + 1, np.int64)
        for (window, first), bank in zip(self.units, self.banks, strict=True):
            out[bank] += min(self.block, self.windows[window].depth - first)
        return out

    @cached_property
    def clocks(self) -> int:
        """Clocks of the busiest bank for a tile."""
        return _busiest(self.costs, self.banks)

    def bank_clocks(self, tiles: int, word: int) -> list[int]:
        """Clocks of each bank for an operation, [banks].

        A unit needs one of two halves of the accumulators. The sums of the unit that had it before
        leave under the one between them, `word` lanes per clock.
        """
        known = self._known.get((tiles, word))
        if known is not None:
            return known
        now = [0] * (max(self.banks, default=0) + 1)
        left: dict[tuple[int, int], int] = {}
        count: dict[int, int] = {}
        for (window, first), cost, bank in zip(self.units, self.costs, self.banks, strict=True):
            cut = self.windows[window]
            k = count[bank] = count.get(bank, -1) + 1
            ranks = min(self.block, cut.depth - first)
            now[bank] = max(now[bank], left.get((bank, k - 2), 0)) + cost * tiles
            begins = max(now[bank] + LEAVES, left.get((bank, k - 1), 0))
            left[bank, k] = begins + ranks * -(-cut.lanes // word)
        self._known[tiles, word] = now
        return now

    @cached_property
    def _known(self) -> dict[tuple[int, int], list[int]]:
        """Clocks by tiles and lanes."""
        return {}


def _busiest(costs: Sequence[int], banks: Sequence[int]) -> int:
    load: dict[int, int] = {}
    for cost, bank in zip(costs, banks, strict=True):
        load[bank] = load.get(bank, 0) + cost
    return max(load.values(), default=0)


def gradient_units(cut: Sequence[Window], block: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Units (window, first rank) of a block size, and their clocks per tile."""
    units, costs = [], []
    for number, window in enumerate(cut):
        for first in range(0, window.depth, block):
            kr = min(block, window.depth - first)
            units.append((number, first))
            # The rows of four slots are no more than four times the ranks.
            costs.append(max(VECTORS * max(kr, ADDER), window.lanes))
    return units, costs


@dataclass(frozen=True)
class Plan:
    """The plan of a layer, both directions.

    Attributes:
        forward, backward: FW and dX.
        gradient: dW.
        exchanged: dW contracts columns (the layer's `tr`).
        clocks: of the planner.
    """

    forward: Pass
    backward: Pass
    gradient: Gradient
    exchanged: bool
    clocks: int


def make_pass(cut: list[Window], tiles: int, build: Build, plain: bool) -> Pass:
    """Assign the units of windows. Raises: PlanError."""
    if not cut or len(cut) > build.windows:
        raise PlanError(f"{len(cut)} windows, want 1..{build.windows}")
    costs = [unit_cost(window.depth, window.lanes, build.drain_w) for window in cut]
    # With few units a bank has one or two: two short ones are beside each other if tiles are.
    paired = len(cut) * tiles >= 2 * build.banks and not plain
    keys = [1 if plain else costs[w] for w, _ in unit_order(len(cut), tiles, paired)]
    banks = assign(keys, build.banks, build.held)
    return Pass(tuple(cut), tiles, tuple(costs), paired, tuple(banks))


def gradients(cut: list[Window], build: Build, plain: bool) -> list[Gradient]:
    """Plans of dW, with each size of blocks. Raises: PlanError."""
    if len(cut) > build.windows:
        raise PlanError(f"{len(cut)} windows, want at most {build.windows}")
    out = []
    for block in BLOCKS:
        units, costs = gradient_units(cut, block)
        banks = assign([1] * len(costs) if plain else costs, build.banks)
        out.append(Gradient(tuple(cut), block, tuple(units), tuple(costs), tuple(banks)))
    return out


def make_gradient(cut: list[Window], build: Build, plain: bool) -> Gradient:
    """Choose the block size with the least clocks. Raises: PlanError."""
    return min(gradients(cut, build, plain), key=lambda found: found.clocks)


def clocks_of(
    encoding: Encoding,
    build: Build,
    forward: Pass,
    backward: Pass,
    straight: list[Window],
    plain: bool,
) -> int:
    """Clocks of the planner, from taking the layer to its end; see jd_sparse_plan.

    A cut is made twice: first the windows are counted. Lists and places, an entry per clock, pass
    beside units and blocks.
    """
    groups, banks = encoding.groups, build.banks
    cuts = []
    for cut in (list(forward.windows), list(backward.windows), straight):
        slots = sum(len(window.groups) for window in cut)
        there = {g for window in cut for g in window.groups}
        cuts.append(slots + 3 + (groups - len(there)))
    begun = 2 + groups + 2 * (cuts[0] + cuts[1])  # clocks before the last cut
    listed = begun + 2 + len(encoding.ig) + len(encoding.og) + groups
    cut_all = begun + 2 * cuts[2] + 1
    planned = cut_all
    for found in gradients(straight, build, plain):
        idle = [w.depth == 0 for w in straight]
        walk = len(found.units) + sum(idle) + (1 if idle[-1] else 2)
        moved = found.banks[-1] if found.banks else 0
        planned = max(planned, cut_all + 3 * walk + moved + 1)
    united = cut_all + 2 * (len(forward.banks) + len(backward.banks) + banks + 3)
    ranged = max(united + 1, planned) + banks
    return max(ranged + 1, listed) + 1


def plan(
    encoding: Encoding,
    build: Build,
    tiles: int,
    split: int = 1,
    dx_from: int = 0,
    exchanged: bool = False,
    plain: bool = False,
) -> Plan:
    """Plan a layer.

    Args:
        encoding: its mask.
        build: the array.
        tiles: NT of the layer.
        split: KSPLIT, chains of a forward sum; above 1 the layer is dense.
        dx_from: first row that dX produces.
        exchanged: dW contracts columns and produces rows.
        plain: without load allocation: groups unsorted, equal numbers of units.
    Raises: PlanError.
    """
    rows: list[int] = np.diff(encoding.starts).tolist()
    columns: list[int] = encoding.workload.tolist()
    lower = [int(np.count_nonzero(m >= dx_from)) for m in encoding.row_lists]
    m, n = len(encoding.ig), len(encoding.og)
    lanes, slots = build.lanes, build.slots

    def cut_side(contracted: list[int], produced: list[int]) -> list[Window]:
        return numbered(windows(contracted, produced, lanes, slots, plain), plain)

    straight = cut_side(rows, columns)
    cut = split_window(m, n, split) if split > 1 else straight
    back = cut_side(columns, lower)
    if exchanged:
        straight = cut_side(columns, rows)
    forward = make_pass(cut, tiles, build, plain)
    backward = make_pass(back, tiles, build, plain)
    gradient = make_gradient(straight, build, plain)
    clocks = clocks_of(encoding, build, forward, backward, straight, plain)
    return Plan(forward, backward, gradient, exchanged, clocks)


def owners(count: int, order: np.ndarray, cores: int, policy: int) -> np.ndarray:
    """The core of each contracted index in ROW split, [count] int64.

    Args:
        count: contracted indices.
        order: [count] those indices sorted by group.
        cores: C.
        policy: ROW_CONTIGUOUS: ranges of indices, as published. ROW_CYCLIC: the place in `order`
            mod C.
    """
    if policy == ROW_CONTIGUOUS:
        ends = [(c + 1) * count // cores for c in range(cores)]
        return np.searchsorted(ends, np.arange(count), side="right").astype(np.int64)
    out = np.empty(count, np.int64)
    out[order] = np.arange(count) % cores
    return out


def core_loads(encoding: Encoding, owner: np.ndarray, cores: int) -> np.ndarray:
    """[cores] unmasked weights of each core in ROW split."""
    weights = encoding.workload[encoding.ig]
    return np.bincount(owner, weights=weights, minlength=cores).astype(np.int64)


def line_clocks(inner: list[np.ndarray], outer: list[np.ndarray], cut: Sequence[Window]) -> int:
    """Clocks in which all weight lines of a direction are read from the parameter memory.

    Word (m, n) is in bank (m + n) mod 64. A bank has two ports.

    Args:
        inner, outer: contracted and produced indices of each group; in ROW split inner of a core.
        cut: the windows.
    """
    total, place = 0, dict.fromkeys(range(len(inner)), 0)
    for window in sorted(cut, key=lambda window: window.position):
        lanes: list[tuple[int, int]] = []
        rows: list[int] = []
        starts: list[int] = []
        depths: list[int] = []
        for group, workload in zip(window.groups, window.workloads, strict=True):
            produced = outer[group][place[group] : place[group] + workload]
            place[group] += workload
            starts.append(len(rows))
            rows.extend(inner[group])
            depths.append(len(inner[group]))
            lanes.extend((int(n), len(starts) - 1) for n in produced)
        table = np.array(lanes, np.int64).reshape(-1, 2)
        total += _line_clocks(
            table, np.array(rows, np.int64), np.array(starts, np.int64),
            np.array(depths, np.int64),
        )  # fmt: skip
    return total


def split_line_clocks(parts: Sequence[np.ndarray], columns: int) -> int:
    """The same of a split sum: the rows of each chain, whose lanes lie side by side."""
    lanes = [(n, part) for part in range(len(parts)) for n in range(columns)]
    depths = [len(rows) for rows in parts]
    starts = np.cumsum([0, *depths[:-1]])
    return _line_clocks(
        np.array(lanes, np.int64), np.concatenate(parts).astype(np.int64),
        starts.astype(np.int64), np.array(depths, np.int64),
    )  # fmt: skip


@njit(cache=True)
def _line_clocks(lanes, rows, starts, depths):  # type: ignore[no-untyped-def]
    """Clocks of a window: over its ranks, the requests of the busiest bank over its ports."""
    total = 0
    asked = np.zeros(WORD_BANKS, np.int64)
    for rank in range(depths.max()):
        asked[:] = 0
        most = 0
        for k in range(len(lanes)):
            slot = lanes[k, 1]
            if rank < depths[slot]:
                bank = (lanes[k, 0] + rows[starts[slot] + rank]) % WORD_BANKS
                asked[bank] += 1
                most = max(most, asked[bank])
        total += (most + 1) // 2
    return total
