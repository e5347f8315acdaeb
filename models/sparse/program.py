"""Programs of the sparse engine: eight units, each with a queue, and sixteen semaphores.

Instructions are dispatched in order into the queues of their units. A unit executes its own in
order. An instruction starts when all semaphores of its `wait` mask are above 0, each of which then
counts down, and when its operands and results allow it; at its end it counts up those of `post`.

What a program without races computes does not depend on the order between units. The order here is
by unit number; clocks follow from the dependencies alone.

Source: LearningGroup III (instruction scheduler); docs/sparse.md (program).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from models.registers.sparse import Error
from models.sparse.formats import (
    QUEUE,
    SEMAPHORE_MOST,
    SEMAPHORES,
    SETS,
    Instruction,
    Op,
    Unit,
)
from models.sparse.validate import JobError

FETCH = 8  # clocks of an instruction's dispatch
UNITS = tuple(Unit)
# The sets of operands and results that an op fills and frees.
FILLS: dict[int, str] = {Op.FX: "x", Op.FY: "y", Op.FW: "r", Op.DX: "r"}
FREES: dict[int, str] = {Op.FW: "x", Op.DX: "x", Op.DW: "xy", Op.LIN: "r", Op.LSTMF: "r"}


@dataclass
class Outcome:
    """How a program ended.

    Attributes:
        ended: instructions that ended.
        clocks: of the program, estimated.
        stages: clocks in which an instruction of each stage ran.
        busy: clocks of each unit.
        error: what ended it early; info0 is the instruction.
    """

    ended: int = 0
    clocks: int = 0
    stages: list[int] = field(default_factory=lambda: [0] * 4)
    busy: list[int] = field(default_factory=lambda: [0] * len(UNITS))
    error: JobError | None = None


class _Sets:
    """When the two sets of an operand or of results were filled and freed, in clocks."""

    def __init__(self) -> None:
        self.filled: deque[int] = deque()
        self.freed: deque[int] = deque([0] * SETS)


def run(
    program: Sequence[Instruction],
    check: Callable[[Instruction], Error | None],
    can_start: Callable[[Instruction], bool],
    execute: Callable[[Instruction], int],
) -> Outcome:
    """Run a program.

    Args:
        program: END is its last instruction, else an error ends it there.
        check: what is wrong with an instruction as it is fetched.
        can_start: whether operands and results allow it to start.
        execute: does it, and gives its clocks. Raises: JobError.
    """
    out = Outcome()
    queues: dict[int, deque[int]] = {unit: deque() for unit in UNITS}
    count, tokens = [0] * SEMAPHORES, [deque[int]() for _ in range(SEMAPHORES)]
    free = dict.fromkeys(UNITS, 0)
    fetched: list[int] = []  # clock in which each instruction is in its queue
    starts: dict[int, deque[int]] = {unit: deque([0] * QUEUE, QUEUE) for unit in UNITS}
    sets = {name: _Sets() for name in "xyr"}
    intervals: list[list[tuple[int, int]]] = [[] for _ in range(4)]
    at, done = 0, False
    while out.error is None:
        while not done and out.error is None:
            if at == len(program):
                out.error = JobError(Error.E_PROGRAM, at - 1)
                break
            one = program[at]
            if (code := check(one)) is not None:
                out.error = JobError(code, at)
            elif one.op == Op.END:
                if at != len(program) - 1:
                    out.error = JobError(Error.E_PROGRAM, at)
                done = True
            elif len(queues[one.unit]) < QUEUE:
                before = fetched[-1] if fetched else 0
                fetched.append(max(before + FETCH, starts[one.unit][0]))
                queues[one.unit].append(at)
                at += 1
            else:
                break
        moved = False
        for unit in UNITS:
            while queues[unit]:
                number = queues[unit][0]
                one = program[number]
                waits = one.waits
                if any(count[k] == 0 for k in waits) or not can_start(one):
                    break
                queues[unit].popleft()
                moved = True
                start = max(fetched[number], free[unit], _ready(one, sets))
                for k in waits:
                    count[k] -= 1
                    start = max(start, tokens[k].popleft())
                try:
                    clocks = execute(one)
                except JobError as error:
                    out.error = out.error or JobError(error.code, number, error.info1)
                    break
                end = start + clocks
                free[unit] = end
                starts[unit].append(start)
                _used(one, sets, end)
                out.ended += 1
                out.busy[unit - 1] += clocks
                intervals[one.stage].append((start, end))
                for k in one.posts:
                    if count[k] == SEMAPHORE_MOST:
                        out.error = out.error or JobError(Error.E_SEMAPHORE, number)
                    else:
                        count[k] += 1
                        tokens[k].append(end)
        waiting = [queue[0] for queue in queues.values() if queue]
        if not moved and out.error is None:
            if done and not waiting:
                out.ended += 1
                break
            if waiting and (done or len(queues[program[at].unit]) == QUEUE):
                out.error = JobError(Error.E_DEADLOCK, min(waiting))
    out.clocks = max([*free.values(), FETCH * (at + 1)])
    out.stages = [_union(parts) for parts in intervals]
    return out


def _ready(one: Instruction, sets: dict[str, _Sets]) -> int:
    """The clock from which operands and results allow an instruction to start."""
    op, times = one.op, [0]
    if op == Op.FX:
        times.append(sets["x"].freed[0])
    elif op == Op.FY:
        times.append(sets["y"].freed[0])
    elif op in (Op.FW, Op.DX, Op.DW):
        times.append(sets["x"].filled[0])
        times.append(sets["y"].filled[0] if op == Op.DW else sets["r"].freed[0])
    elif op in (Op.LIN, Op.LSTMF):
        times.append(sets["r"].filled[0])
    return max(times)


def _used(one: Instruction, sets: dict[str, _Sets], end: int) -> None:
    """Note at which clock an instruction fills and frees operands and results."""
    op = one.op
    if op in FILLS:
        sets[FILLS[op]].freed.popleft()
        sets[FILLS[op]].filled.append(end)
    for name in FREES.get(op, ""):
        sets[name].filled.popleft()
        sets[name].freed.append(end)


def _union(parts: list[tuple[int, int]]) -> int:
    """Clocks in any of some intervals."""
    total = last = 0
    for start, end in sorted(parts):
        total += max(0, end - max(start, last))
        last = max(last, end)
    return total
