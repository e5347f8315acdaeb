"""What the planner tells the banks, as the words of rtl/sparse/jd_sparse_pkg.sv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.sparse.formats import Instruction, Layer, Tensor
from models.sparse.osel import Encoding
from models.sparse.plan import Gradient, Pass, Plan, Window

FW, DX, DW = range(3)  # pass_e
SLOTS, CORES = 4, 3
LAYER_BITS, TENSOR_BITS, INSTRUCTION_BITS, OPERATION_BITS, BEGIN_BITS, BIAS_BITS = (
    92,
    29,
    271,
    31,
    5,
    28,
)
ENTRY_BITS = 16 + 2 + 16 + 16 + 2 + 2 + INSTRUCTION_BITS - LAYER_BITS
WINDOW_BITS, LIST_BITS, WINDOW_WRITE_BITS, RANGE_WRITE_BITS, PLACE_BITS = 169, 24, 180, 65, 28
LANE_SLOTS_BITS = SLOTS * (9 + 2) + 9
SETTINGS_BITS = 7 * 32 + 24
TABLE_BITS = LIST_BITS + WINDOW_WRITE_BITS + RANGE_WRITE_BITS + PLACE_BITS


def concat(*fields: tuple[int, int]) -> int:
    """A packed struct of (value, bits), the first field on top."""
    word = 0
    for value, bits in fields:
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{value}: want {bits} bits")
        word = word << bits | value
    return word


def words(values: Sequence[int], bits: int) -> np.ndarray:
    """Numbers as words of a port, [N, words] uint32."""
    size = 4 * -(-bits // 32)
    raw = b"".join(value.to_bytes(size, "little") for value in values)
    return np.frombuffer(raw, np.uint32).reshape(len(values), size // 4)


def lanes_of(values: np.ndarray) -> int:
    """FP16 numbers, the first in the low bits."""
    return int.from_bytes(np.ascontiguousarray(values, np.float16).tobytes(), "little")


def layer_word(layer: Layer) -> int:
    """layer_t."""
    return concat(
        (layer.m, 10), (layer.n, 10), (layer.groups, 6), (layer.split_log2, 2), (layer.tr, 1),
        (layer.tiles, 4), (layer.w_base, 18), (layer.b_base, 11), (layer.g_base, 9),
        (layer.s_base, 12), (layer.dx_from, 9),
    )  # fmt: skip


def tensor_word(tensor: Tensor) -> int:
    """tensor_t."""
    return concat((tensor.line, 16), (tensor.skew, 3), (tensor.stride, 10))


def instruction_word(one: Instruction, layer: Layer | None) -> int:
    """instruction_t."""
    return concat(
        (one.op, 8), (one.flags, 9), (one.layer, 3), (layer_word(layer) if layer else 0, 92),
        (one.tiles[2], 4), (one.tiles[1], 4), (one.tiles[0], 4), (tensor_word(one.a), 29),
        (tensor_word(one.b), 29), (tensor_word(one.d), 29), (one.address, 40), (one.value, 10),
        (one.neurons, 10),
    )  # fmt: skip


def entry_word(one: Instruction, at: int, forward: int, backward: int) -> int:
    """entry_t."""
    return concat(
        (at, 16), (one.stage, 2), (one.wait, 16), (one.post, 16), (forward, 2), (backward, 2),
        (one.op, 8), (one.flags, 9), (one.layer, 3), (one.tiles[2], 4), (one.tiles[1], 4),
        (one.tiles[0], 4), (tensor_word(one.a), 29), (tensor_word(one.b), 29),
        (tensor_word(one.d), 29), (one.address, 40), (one.value, 10), (one.neurons, 10),
    )  # fmt: skip


def operation_word(
    which: int, number: int, layer: Layer, neurons: int, x_set: int, r_set: int = 0,
    y_set: int = 0, row: bool = False, contiguous: bool = False,
) -> int:  # fmt: skip
    """operation_t: FW, DX or DW of a layer, with an operand X of so many neurons."""
    others = layer.m + layer.n - neurons if which == DW else 0
    return concat(
        (row, 1), (contiguous, 1), (which, 2), (number, 3), (layer.tiles, 4),
        (layer.split_log2 if which == FW else 0, 2),
        (-(-neurons // 8), 7), (x_set, 1), (r_set, 1), (layer.tr, 1), (-(-others // 8), 7),
        (y_set, 1),
    )  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """slot_t: see there."""

    first: int = 0
    depth: int = 0
    produced: int = 0
    lanes: int = 0


def window_word(slots: Sequence[Slot], step: int = 0) -> int:
    """window_t."""
    full = [*slots, *[Slot()] * (SLOTS - len(slots))]
    found = concat((step, 2), (max(s.depth for s in slots), 10), (sum(s.lanes for s in slots), 9))
    for slot in reversed(full):
        found = found << 37 | concat(
            (slot.first, 9), (slot.depth, 10), (slot.produced, 9), (slot.lanes, 9)
        )
    return found


def lane_slots_word(slots: Sequence[Slot], rank: int, skips: np.ndarray, useful: int) -> int:
    """lane_slots_t: a rank of a window of these slots, some of which skip it ([slots] bool)."""
    ends, has, none = 0, 0, 0
    for s in range(SLOTS):
        ends |= sum(slot.lanes for slot in slots[: s + 1]) << 9 * s
    for s, (slot, skip) in enumerate(zip(slots, skips, strict=True)):
        has |= int(rank < slot.depth and not skip) << s
        none |= int(slot.depth == 0 or skip) << s
    return concat((ends, 9 * SLOTS), (has, SLOTS), (none, SLOTS), (useful, 9))


def slots_of(
    cut: Sequence[Window], first: np.ndarray, produced: np.ndarray, split: int = 1
) -> list[list[Slot]]:
    """The slots of a pass's windows.

    Args:
        cut: the windows.
        first: [G] place of each group's first contracted index.
        produced: [G] place of each group's first produced index.
        split: KSPLIT.
    """
    if split > 1:
        (window,) = cut
        parts = zip(window.depths, window.workloads, strict=True)
        return [[Slot(j, depth, 0, lanes) for j, (depth, lanes) in enumerate(parts)]]
    at = produced.tolist()
    found: list[list[Slot]] = [[] for _ in cut]
    for number in sorted(range(len(cut)), key=lambda k: cut[k].position):
        window, slots = cut[number], found[number]
        for g, lanes, depth in zip(window.groups, window.workloads, window.depths, strict=True):
            slots.append(Slot(int(first[g]), depth, at[g] if at[g] < 512 else 0, lanes))
            at[g] += lanes
    return found


def lists_of(encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """The list of rows and that of columns: sorted by group, ascending in a group."""
    return encoding.rows, np.concatenate(encoding.column_lists)


def starts(encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """[G] where each group begins in the lists of rows and of columns."""
    columns = np.concatenate([[0], np.cumsum(encoding.workload)[:-1]])
    return encoding.starts[:-1], columns


def windows_of(encoding: Encoding, plan: Plan, layer: Layer) -> dict[int, list[list[Slot]]]:
    """The slots of all windows, by pass."""
    rows, columns = starts(encoding)
    lower = np.array([np.count_nonzero(m < layer.dx_from) for m in encoding.row_lists])
    straight = (rows, columns) if not layer.tr else (columns, rows)
    return {
        FW: slots_of(plan.forward.windows, rows, columns, layer.split),
        DX: slots_of(plan.backward.windows, columns, rows + lower),
        DW: slots_of(plan.gradient.windows, *straight),
    }


@dataclass(frozen=True)
class Range:
    """range_t: see there."""

    empty: bool
    first_window: int = 0
    first_step: int = 0
    last_window: int = 0
    last_step: int = 0
    first_unit: int = 0
    block: int = 0
    base: int = 0
    paired: bool = False
    windows: int = 0


def ranges_of(found: Pass | Gradient, banks: int, bases: Sequence[int]) -> list[Range]:
    """The range of each bank.

    Args:
        found: FW, DX or DW.
        banks: how many.
        bases: of each bank: its first weight line, of DW gradient line.
    """
    out, seen = [], 0
    for bank in range(banks):
        units = [u for u, b in enumerate(found.banks) if b == bank]
        if isinstance(found, Pass):
            steps = [found.units[u] for u in units]
            one = Range(not units, first_unit=seen, paired=found.paired, windows=len(found.windows))
        else:
            steps = [(found.units[u][0], found.units[u][1] // found.block) for u in units]
            one = Range(not units, block=(found.block // 4).bit_length() - 1 if units else 0)
        if units:
            one = replace(
                one, first_window=steps[0][0], first_step=steps[0][1], last_window=steps[-1][0],
                last_step=steps[-1][1], base=bases[bank],
            )  # fmt: skip
        out.append(one)
        seen += len(units)
    return out


def list_word(layer: int, columns: bool, place: int, index: int, mine: bool = False) -> int:
    """list_t, valid."""
    return concat((1, 1), (columns, 1), (layer, 3), (place, 9), (index, 9), (mine, 1))


def window_write_word(layer: int, which: int, number: int, slots: Sequence[Slot]) -> int:
    """window_write_t, valid."""
    return concat((1, 1), (layer, 3), (which, 2), (number, 5), (window_word(slots), WINDOW_BITS))


def range_write_word(layer: int, which: int, bank: int, found: Range) -> int:
    """range_write_t, valid."""
    return concat(
        (1, 1), (layer, 3), (which, 2), (bank, 3), (found.empty, 1), (found.first_window, 5),
        (found.first_step, 7), (found.last_window, 5), (found.last_step, 7),
        (found.first_unit, 8), (found.block, 2), (found.base, 15), (found.paired, 1),
        (found.windows, 5),
    )  # fmt: skip


def places_of(
    encoding: Encoding, windows: Sequence[Sequence[Slot]], columns: bool, split: int = 1
) -> list[tuple[int, int, int]]:
    """Index, window and lane of each produced index.

    Args:
        encoding: the mask.
        windows: of the pass.
        columns: are produced, as in FW.
        split: KSPLIT: chain 0's lane.
    """
    produced, out = lists_of(encoding)[columns], []
    for number, slots in enumerate(windows):
        lane = 0
        for slot in slots[: 1 if split > 1 else None]:
            for k in range(slot.lanes):
                out.append((int(produced[slot.produced + k]), number, lane))
                lane += 1
    return out


def place_word(layer: int, dx: bool, index: int, window: int, lane: int) -> int:
    """place_t, valid."""
    return concat((1, 1), (layer, 3), (dx, 1), (index, 9), (window, 5), (lane, 9))


def table_word(entry: int = 0, window: int = 0, found: int = 0, place: int = 0) -> int:
    """table_t."""
    return concat(
        (entry, LIST_BITS), (window, WINDOW_WRITE_BITS), (found, RANGE_WRITE_BITS),
        (place, PLACE_BITS),
    )  # fmt: skip


def lines_before(plans: Sequence[Plan], banks: int) -> tuple[np.ndarray, np.ndarray]:
    """[banks] weight lines and gradient lines of the layers before one."""
    weights, grads = np.zeros(banks, np.int64), np.zeros(banks, np.int64)
    for plan in plans:
        for lines in (plan.forward.lines, plan.backward.lines):
            weights[: len(lines)] += lines
        grads[: len(plan.gradient.lines)] += plan.gradient.lines
    return weights, grads


def table_words(
    number: int, encoding: Encoding, plan: Plan, layer: Layer, banks: int,
    before: Sequence[Plan] = (), mine: np.ndarray | None = None,
) -> list[int]:  # fmt: skip
    """All that the planner tells of a layer, a table_t per clock.

    Args:
        number: of the layer.
        encoding, plan, layer: of it.
        banks: of a core.
        before: plans of the layers below.
        mine: [M] whether a core has a row, if it has a range of rows.
    """
    windows = windows_of(encoding, plan, layer)
    weights, grads = lines_before(before, banks)
    forward = np.zeros(banks, np.int64)
    forward[: len(plan.forward.lines)] = plan.forward.lines
    bases = {FW: weights, DX: weights + forward, DW: grads}
    passes: dict[int, Pass | Gradient] = {FW: plan.forward, DX: plan.backward, DW: plan.gradient}
    lists = [
        list_word(
            number,
            columns,
            place,
            int(index),
            mine is not None and not columns and bool(mine[index]),
        )
        for columns in (False, True)
        for place, index in enumerate(lists_of(encoding)[columns])
    ]
    cut = [
        window_write_word(number, which, k, slots)
        for which, found in windows.items()
        for k, slots in enumerate(found)
    ]
    ranges = [
        range_write_word(number, which, bank, found)
        for which, one in passes.items()
        for bank, found in enumerate(ranges_of(one, banks, bases[which].tolist()))
    ]
    places = [
        place_word(number, dx, *place)
        for dx, which in ((False, FW), (True, DX))
        for place in places_of(encoding, windows[which], not dx, layer.split if which == FW else 1)
    ]
    longest = max(map(len, (lists, cut, ranges, places)))
    padded = [part + [0] * (longest - len(part)) for part in (lists, cut, ranges, places)]
    return [table_word(*row) for row in zip(*padded, strict=True)]


def weight_lines(
    w16: np.ndarray, slots: Sequence[Slot], contracted: np.ndarray, produced: np.ndarray,
    lanes: int, split: int = 1, rubbish: int = 0x7E01,
) -> np.ndarray:  # fmt: skip
    """The weight lines of a window, [depth, lanes] float16.

    Args:
        w16: [contracted, produced] float16.
        slots: of the window.
        contracted, produced: the lists of the two sides.
        lanes: of a bank.
        split: KSPLIT.
        rubbish: FP16 code of lanes without a weight, which nothing may use.
    """
    depth = max(s.depth for s in slots)
    out = np.full((depth, lanes), rubbish, np.uint16).view(np.float16)
    lane = 0
    for slot in slots:
        rows = contracted[slot.first + split * np.arange(slot.depth)]
        columns = produced[slot.produced : slot.produced + slot.lanes]
        out[: slot.depth, lane : lane + slot.lanes] = w16[np.ix_(rows, columns)]
        lane += slot.lanes
    return out
