"""The arithmetic and the operations of the replay engine, compiled: their one definition.

`priority`, `weights`, `rng`, `flat`, `tree` and `rmm` say what each function means and call it from
Python. All of it is in one file, because Numba's cache of a function does not see changes of other
files; so tables come as arguments, and codes of errors stay outside.

Arrays that many functions take:

- tree: int64, the nodes of all levels, from the root (one node) to the leaves.
- levels: [L, 3] int64, of each level below the root: its first node in `tree`, log2 of the leaves
  under one node, children of a node above it.
- state: [STATE_WORDS] int64, see the constants.
- generator: [4] uint64, the state of xoshiro256++.
- converter: [5] int64, settings of the TD error converter in the order of `priority`.
- tables: [2, 129] int64, `LOG2_TABLE` and `EXP2_TABLE`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numba import njit


class Op(IntEnum):
    """Operation codes of the unified request."""

    NOP = 0
    SAMPLE = 1
    RETRIEVE = 2
    UPDATE = 3
    UPDATE_DELTA = 4
    INSERT = 5
    UPDATE_SLOT = 6
    RESERVE = 7
    COMMIT = 8
    CHECK = 9  # of a CHECK job alone, for every leaf in order


# Words of `state`: insertion, the largest priority, counters, the operation that failed.
LEAVES, POINTER, COUNT, HELD, MOVES, PMAX, LEAF_MAX = 0, 1, 2, 3, 4, 5, 6
SAMPLES, UPDATES, INSERTS, STALE, NONFINITE, DUPLICATES = 7, 8, 9, 10, 11, 12
FAULT, FAULT_INDEX, STATE_WORDS = 13, 14, 15
# Why an operation may not enter the tree: values of FAULT.
BAD_OPCODE, BAD_RESERVED, BAD_INDEX, BAD_INSERT, EMPTY = 1, 2, 3, 4, 5

Int = Any  # a 64-bit integer of Python or NumPy: the compiler tells them apart
ONE_FP32 = 0x3F800000
BETA_ONE = 1 << 30
_NOP, _SAMPLE, _RETRIEVE, _UPDATE, _DELTA, _INSERT, _SLOT, _RESERVE, _COMMIT, _CHECK = map(int, Op)
_ALL_ONES = 0xFFFFFFFF
_MASK48 = np.uint64((1 << 48) - 1)
_MASK32 = np.uint64(_ALL_ONES)
_U1, _U16, _U17, _U19, _U23, _U32, _U41, _U45, _U48, _U64 = (
    np.uint64(n) for n in (1, 16, 17, 19, 23, 32, 41, 45, 48, 64)
)


# ---- Numbers ----
@njit(cache=True)
def log2_mantissa(mantissa: Int, tables: np.ndarray) -> Int:
    """2^20 log2(1 + mantissa / 2^23), interpolated in 128 segments."""
    segment = mantissa >> 16
    low = tables[0, segment]
    return low + (((tables[0, segment + 1] - low) * (mantissa & 0xFFFF) + (1 << 15)) >> 16)


@njit(cache=True)
def exp2_mantissa(fraction: Int, tables: np.ndarray) -> Int:
    """2^23 2^(fraction / 2^20), interpolated in 128 segments."""
    segment = fraction >> 13
    low = tables[1, segment]
    return low + (((tables[1, segment + 1] - low) * (fraction & 0x1FFF) + (1 << 12)) >> 13)


@njit(cache=True)
def priority(bits: Int, converter: np.ndarray, tables: np.ndarray) -> tuple[Int, bool]:
    """The priority of a TD error (FP32 bits), and whether the sum with eps was not finite."""
    alpha, eps, fraction_bits = converter[0], converter[1], converter[2]
    smallest, largest = converter[3], converter[4]
    magnitude = np.uint32(bits & 0x7FFFFFFF).view(np.float32)
    added: Int = np.int64(np.float32(magnitude + np.uint32(eps).view(np.float32)).view(np.uint32))
    exponent, mantissa = (added >> 23) & 0xFF, added & 0x7FFFFF
    if exponent == 255:
        return largest, True
    if exponent == 0 and mantissa == 0:
        return smallest, False
    if exponent == 0:  # a subnormal counts as the least normal number
        exponent, mantissa = 1, 0
    scaled = ((((exponent - 127) << 20) + log2_mantissa(mantissa, tables)) * alpha) >> 15
    power = exp2_mantissa(scaled & 0xFFFFF, tables)
    shift = (scaled >> 20) + fraction_bits - 23
    if shift >= 0:
        value = power << min(shift, 9)
    else:
        right = min(-shift, 40)
        value = (power + (1 << (right - 1))) >> right
    return min(max(value, smallest), largest), False


@njit(cache=True)
def priorities(
    errors: np.ndarray, converter: np.ndarray, tables: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`priority` of every error ([B] uint32)."""
    values = np.empty(len(errors), np.int64)
    nonfinite = np.empty(len(errors), np.bool_)
    for i in range(len(errors)):
        values[i], nonfinite[i] = priority(np.int64(errors[i]), converter, tables)
    return values, nonfinite


@njit(cache=True)
def log2_integer(value: Int, tables: np.ndarray) -> Int:
    """2^20 log2(value), from the leading one and the 23 bits below it (truncated)."""
    leading = 0
    while value >> leading > 1:
        leading += 1
    below = (value << (32 - leading)) & _ALL_ONES
    return (leading << 20) + log2_mantissa(below >> 9, tables)


@njit(cache=True)
def weights(values: np.ndarray, minimum: Int, beta: Int, tables: np.ndarray) -> np.ndarray:
    """The FP32 bits of the importance weights, [B] uint32."""
    out = np.empty(len(values), np.uint32)
    least = log2_integer(minimum, tables)
    for i in range(len(values)):
        distance = log2_integer(values[i], tables) - least
        power = -((distance * min(beta, BETA_ONE)) >> 30)
        mantissa = exp2_mantissa(power & 0xFFFFF, tables)
        out[i] = ((127 + (power >> 20)) << 23) + (mantissa - (1 << 23))
    return out


@njit(cache=True)
def random(generator: np.ndarray) -> Int:
    """The next 64-bit number of xoshiro256++."""
    s0, s1, s2, s3 = generator[0], generator[1], generator[2], generator[3]
    total = s0 + s3
    t = s1 << _U17
    s2 ^= s0
    s3 ^= s1
    generator[0], generator[1], generator[2] = s0 ^ s3, s1 ^ s2, s2 ^ t
    generator[3] = (s3 << _U45) | (s3 >> _U19)
    return ((total << _U23) | (total >> _U41)) + s0


@njit(cache=True)
def uniforms(generator: np.ndarray, count: Int) -> np.ndarray:
    """The next 48-bit uniform integers, [count] uint64."""
    out = np.empty(count, np.uint64)
    for i in range(count):
        out[i] = random(generator) >> _U16
    return out


@njit(cache=True)
def target(total: Int, x: Int, slot: Int, slots_log2: Int) -> Int:
    """1 + floor((slot 2^48 + x) total / 2^(48 + slots_log2)), by a product of 128 bits."""
    a, b = (np.uint64(slot) << _U48) + x, np.uint64(total)
    a0, a1, b0, b1 = a & _MASK32, a >> _U32, b & _MASK32, b >> _U32
    low = a0 * b0
    middle = a1 * b0 + (low >> _U32)  # a1 < 2^26: no carry is lost
    more = a0 * b1 + (middle & _MASK32)
    high = a1 * b1 + (middle >> _U32) + (more >> _U32)
    low = (more << _U32) | (low & _MASK32)
    shift = _U48 + np.uint64(slots_log2)
    return np.int64((high << (_U64 - shift)) | (low >> shift)) + 1


# ---- Tree ----
@njit(cache=True)
def tree_set_many(
    tree: np.ndarray, levels: np.ndarray, indices: np.ndarray, values: np.ndarray
) -> None:
    """Write leaves in order."""
    last = len(levels) - 1
    for i in range(len(indices)):
        delta = values[i] - tree[levels[last, 0] + indices[i]]
        tree[0] += delta
        for level in range(last + 1):
            tree[levels[level, 0] + (indices[i] >> levels[level, 1])] += delta


@njit(cache=True)
def tree_find_many(tree: np.ndarray, levels: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """First leaf whose running sum reaches each goal, 1..root: [B] int64."""
    out = np.empty(len(goals), np.int64)
    for i in range(len(goals)):
        index, goal = np.int64(0), goals[i]
        for level in range(len(levels)):
            index *= levels[level, 2]
            at, last = levels[level, 0] + index, levels[level, 2] - 1
            child = 0
            while child < last and tree[at + child] < goal:
                goal -= tree[at + child]
                child += 1
            index += child
        out[i] = index
    return out


# ---- Operations ----
@njit(cache=True)
def is_stale(index: Int, leaves: Int, now: Int, head: Int, moves: Int) -> bool:
    """Was the leaf inserted or reserved since MOVES was `moves` and the next leaf was `head`?"""
    moved = (now - moves) & _ALL_ONES
    return (index - head) % leaves < min(moved, leaves)


@njit(cache=True)
def are_stale(state: np.ndarray, indices: np.ndarray, head: Int, moves: Int) -> np.ndarray:
    """`is_stale` of every leaf, [B] bool."""
    out = np.empty(len(indices), np.bool_)
    for i in range(len(indices)):
        out[i] = is_stale(indices[i], state[LEAVES], state[MOVES], head, moves)
    return out


@njit(cache=True)
def refusal(op: Int, index: Int, leaves: Int, held: Int) -> Int:
    """Why an operation may not enter the tree: BAD_INDEX, BAD_INSERT, or 0."""
    if op in (_RETRIEVE, _UPDATE, _DELTA) and index >= leaves:
        return BAD_INDEX
    if (
        (op == _INSERT and held > 0)
        or (op == _COMMIT and held == 0)
        or (op == _RESERVE and held >= leaves // 2)
    ):
        return BAD_INSERT
    return 0


@njit(cache=True)
def malformed(word: Int) -> Int:
    """What is wrong with the first word of a unified request: BAD_OPCODE, BAD_RESERVED, or 0."""
    op, flags = word & 0xF, word >> 4 & 0xF
    places = op in (_INSERT, _COMMIT)
    if op > _COMMIT:
        return BAD_OPCODE
    if word >> 24 or flags & 8:
        return BAD_RESERVED
    if (
        (flags & 1 and not (places or op in (_UPDATE, _SLOT)))
        or (flags & 2 and not places)
        or (flags & 4 and op != _SAMPLE)
    ):
        return BAD_OPCODE
    return 0


@njit(cache=True)
def operate(
    rows: np.ndarray,
    op: Int,
    fp32: bool,
    pmax: bool,
    tree: np.ndarray,
    levels: np.ndarray,
    state: np.ndarray,
    generator: np.ndarray,
    converter: np.ndarray,
    tables: np.ndarray,
    slots: np.ndarray,
    head: Int,
    moves: Int,
    checked: bool,
    out: np.ndarray,
) -> Int:
    """Operations one after another, up to the first that may not enter the tree.

    All is in one loop: a call that passes arrays costs more than an operation.

    Args:
        rows: [count, w] uint32: w is 0 for none, 1 for an index, 2 for index and value, 4 for a
            unified request, which has its own op and flags.
        op, fp32, pmax: of all operations.
        slots, head, moves: leaves of the last batch (none: length 0) and when it was sampled.
        checked: the operations may enter; UPDATE_SLOT gives a leaf, not a slot.
        out: [count, 4] uint32, takes the responses; of a stale update bit 31 of the last word.
    Returns: operations done; if fewer than count, FAULT and FAULT_INDEX of the state say why.
    """
    count, width = rows.shape
    leaves, leaf_max, last = state[LEAVES], state[LEAF_MAX], len(levels) - 1
    first = levels[last, 0]
    for done in range(count):
        index: Int = np.int64(0)
        value: Int = np.int64(0)
        tag: Int = np.int64(0)
        given = False
        fault = 0
        if width > 0:
            index = np.int64(rows[done, 0])
        if width == 2:
            value = np.int64(rows[done, 1])
            if op == _DELTA:
                value -= value >> 31 << 32
        elif width == 4:
            word, index = np.int64(rows[done, 0]), np.int64(rows[done, 1])
            value = np.int64(rows[done, 2]) | np.int64(rows[done, 3]) << 32
            op, tag = word & 0xF, word >> 8 & 0xFFFF
            fp32, pmax, given = word & 16 != 0, word & 32 != 0, word & 64 != 0
            if not checked:
                fault = malformed(word)
                if fault == 0 and op == _SLOT:
                    index = tag
        if fault == 0 and op == _SLOT and not checked:
            if index < len(slots):
                index = slots[index]
            else:
                fault = BAD_INDEX
        if fault == 0 and not checked:
            fault = refusal(op, index, leaves, state[HELD])
            if fault == BAD_INSERT:
                index = (state[POINTER] + state[HELD]) % leaves
        if fault == 0 and op == _SAMPLE:
            x = np.uint64(value) & _MASK48 if given else random(generator) >> _U16
            if tree[0] == 0:
                fault, index = EMPTY, np.int64(_ALL_ONES)
        if fault:
            state[FAULT], state[FAULT_INDEX] = fault, index & _ALL_ONES
            return done

        old: Int = np.int64(0)
        new: Int = np.int64(0)
        stale = False
        if op == _SAMPLE:
            goal = np.full(1, target(tree[0], x, 0, 0))
            index = tree_find_many(tree, levels, goal)[0]
            new, old = tree[first + index], np.int64(ONE_FP32)  # without a weight
            state[SAMPLES] += 1
        elif op != _NOP:
            if fp32 and not pmax:
                value, nonfinite = priority(value & _ALL_ONES, converter, tables)
                state[NONFINITE] += nonfinite
            new = state[PMAX] if pmax else value & leaf_max
            if op in (_INSERT, _COMMIT):
                index = state[POINTER]
                state[POINTER] = (index + 1) % leaves
                state[COUNT] = min(state[COUNT] + 1, leaves)
                state[INSERTS] += 1
                if op == _COMMIT:
                    state[HELD] -= 1
            elif op == _RESERVE:
                index = (state[POINTER] + state[HELD]) % leaves
                state[HELD] += 1
                new = np.int64(0)
            if index < leaves:
                old = tree[first + index]
            if op == _DELTA:
                change = min(max(value, -_ALL_ONES), _ALL_ONES)  # old + value may not wrap
                new = min(max(old + change, 0), leaf_max)
            stale = op == _SLOT and is_stale(index, leaves, state[MOVES], head, moves)
            if stale:
                state[STALE] += 1
            if stale or op in (_RETRIEVE, _CHECK):
                new = old
            else:
                if op in (_INSERT, _RESERVE):
                    state[MOVES] = (state[MOVES] + 1) & _ALL_ONES
                if op in (_UPDATE, _SLOT, _DELTA):
                    state[UPDATES] += 1
                state[PMAX] = max(state[PMAX], new)
                delta = new - tree[first + index]
                if delta:
                    tree[0] += delta
                    for level in range(last + 1):
                        tree[levels[level, 0] + (index >> levels[level, 1])] += delta
        else:
            index = np.int64(0)
        out[done, 0], out[done, 1], out[done, 2] = index, new, old
        out[done, 3] = tag | op << 16 | (checked and stale) << 31
    return count


@njit(cache=True)
def operate_all(
    rows: np.ndarray,
    op: Int,
    tree: np.ndarray,
    levels: np.ndarray,
    state: np.ndarray,
    generator: np.ndarray,
    converter: np.ndarray,
    tables: np.ndarray,
) -> bool:
    """Operations without responses: all of them, or none if one may not enter the tree.

    Args:
        rows: [count, 2] uint32, index and FP32 bits; [count, 0]: the largest priority so far.
        op: UPDATE or INSERT.
    Returns: whether they were done.
    """
    count, width = rows.shape
    for i in range(count):
        index = np.int64(rows[i, 0]) if width else np.int64(0)
        if refusal(op, index, state[LEAVES], state[HELD]):
            return False
    out, slots = np.empty((count, 4), np.uint32), np.empty(0, np.int64)
    operate(rows, op, True, width == 0, tree, levels, state, generator, converter, tables, slots,
            0, 0, True, out)  # fmt: skip
    return True


@njit(cache=True)
def sample(
    x: np.ndarray,
    slots_log2: Int,
    weighted: bool,
    beta: Int,
    tree: np.ndarray,
    levels: np.ndarray,
    state: np.ndarray,
    tables: np.ndarray,
    out: np.ndarray,
) -> np.ndarray:
    """A batch: its leaves, [B] int64; its responses go to `out`, [B, 4] uint32.

    Args:
        x: [B] uint64, uniform 48-bit integers.
        slots_log2: log2 of B; below 0: not stratified.
        weighted, beta: with importance weights of this exponent, or 1.0 each.
    """
    count, first = len(x), levels[len(levels) - 1, 0]
    goals, values = np.empty(count, np.int64), np.empty(count, np.int64)
    for slot in range(count):
        if slots_log2 < 0:
            goals[slot] = target(tree[0], x[slot], 0, 0)
        else:
            goals[slot] = target(tree[0], x[slot], slot, slots_log2)
    indices = tree_find_many(tree, levels, goals)
    for slot in range(count):
        values[slot] = tree[first + indices[slot]]
        out[slot, 0], out[slot, 1], out[slot, 2] = indices[slot], values[slot], ONE_FP32
        out[slot, 3] = slot | _SAMPLE << 16
        if slot and indices[slot] == indices[slot - 1]:
            state[DUPLICATES] += 1
    state[SAMPLES] += count
    if weighted:
        out[:, 2] = weights(values, values.min(), beta, tables)
    return indices


@njit(cache=True)
def sample_columns(
    count: Int,
    slots_log2: Int,
    weighted: bool,
    beta: Int,
    tree: np.ndarray,
    levels: np.ndarray,
    state: np.ndarray,
    generator: np.ndarray,
    tables: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`sample` with the generator's numbers.

    Returns: the leaves [B] int64 and the responses [B, 4] uint32 as `sample`; then the responses'
        columns, each an array of its own: leaves and priorities, [B] int64 each; weights, [B]
        float32.
    """
    out = np.empty((count, 4), np.uint32)
    indices = sample(uniforms(generator, count), slots_log2, weighted, beta, tree, levels, state,
                     tables, out)  # fmt: skip
    priorities, words = out[:, 1].astype(np.int64), out[:, 2].copy()
    return indices, out, indices.copy(), priorities, words.view(np.float32)
