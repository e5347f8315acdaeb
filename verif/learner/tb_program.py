"""Tests of jd_learner_program: legal programs, and changes of them, against the model's checks."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from models.learner.layout import Geometry, ImageMap
from models.learner.lower import DqnConfig, dqn
from models.learner.optim import sgd
from models.learner.program import (
    HEADER_WORDS,
    OP_DOT,
    OP_TARGET,
    OP_UPDATE,
    RECORD_WORDS,
    STAGE_WORDS,
    Program,
)
from models.learner.validate import UPDATE_MAX, ProgramError, validate
from models.registers.learner import Error
from verif.bench import parameters, rng, start
from verif.learner.programs import Maker

NAMES = {
    "P": "p", "OB": "ob", "LW": "lw", "WRows": "w_rows", "ARows": "a_rows", "DMax": "d_max",
    "LMax": "l_max", "NetMax": "net_max", "StMax": "st_max", "ActorCritic": "actor_critic",
    "NTU": "ntu",
}  # fmt: skip
ERRORS_WANTED = {
    (Error.E_RESERVED, 0), (Error.E_DIM, 0), (Error.E_ROWS, 0),
    (Error.E_RESERVED, 1), (Error.E_DIM, 1), (Error.E_ALIGN, 1), (Error.E_ROWS, 1),
    (Error.E_RESERVED, 2), (Error.E_DIM, 2),
    (Error.E_OPCODE, 3), (Error.E_RESERVED, 3), (Error.E_DIM, 3), (Error.E_DEP, 3),
    (Error.E_ALIGN, 3), (Error.E_ROWS, 3),
}  # fmt: skip
PLAN = (
    ("nets", 8), ("targets", 8), ("passes", 8), ("trained", 8), ("prompt", 8), ("stages", 8),
    ("state_words", 16), ("action_words", 16), ("frame_rows", 8), ("state_rows", 8), ("state", 8),
    ("next_state", 8), ("action", 8), ("noise", 8), ("delay", 16), ("phases", 1), ("second", 8),
    ("updates", 5),
)  # fmt: skip  # of plan_t
LIMIT = 4000  # clocks of a program
TRIALS, LONGEST = 600, 3000  # programs of a run: at least, and until every error was seen


@dataclass
class Loaded:
    """What a run of the block gave.

    Attributes:
        error: error code, info0, info1.
        stages: [index, words] of the stage table, in the order they were written.
        beats: beats that were taken.
        clocks: from the start to done_o.
    """

    error: tuple[int, int, int]
    stages: list[tuple[int, int]]
    beats: int
    clocks: int


def geometry() -> Geometry:
    """The build's geometry."""
    return replace(Geometry(), **{NAMES[k]: v for k, v in parameters().items()})


def answer(
    dut: Any, *, cmd_ready: int = 0, valid: int = 0, data: int = 0, last: int = 0, resp: int = 0
) -> None:
    """Drive the fields of read_rsp_t."""
    dut.read_rsp_i.value = cmd_ready << 516 | valid << 515 | data << 3 | last << 2 | resp


def asked_for(dut: Any) -> tuple[int, int, int, int]:
    """The fields of read_req_t: cmd_valid, cmd_address, cmd_beats, ready."""
    value = int(dut.read_req_o.value)
    return value >> 57, value >> 17 & (1 << 40) - 1, value >> 1 & 0xFFFF, value & 1


def plan_of(dut: Any) -> dict[str, int]:
    """The fields of plan_t."""
    value = int(dut.plan_o.value)
    plan: dict[str, int] = {}
    for name, width in reversed(PLAN):
        plan[name] = value & (1 << width) - 1
        value >>= width
    return plan


async def load(
    dut: Any,
    draw: random.Random,
    image: np.ndarray,
    size: int,
    failing: dict[int, int],
) -> Loaded:
    """Run one PROGRAM.

    Args:
        image: uint32 words in memory.
        size: bytes that the job says.
        failing: beat -> its response.
    """
    address = draw.getrandbits(34) << 6
    dut.address_i.value, dut.bytes_i.value = address, size
    dut.start_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.start_i.value = 0
    dut.address_i.value, dut.bytes_i.value = draw.getrandbits(40), draw.getrandbits(32)
    answer(dut)
    count = -(-size // 64)
    data = np.zeros(max(16 * count, image.size), np.uint32)
    data[: image.size] = image
    pace = draw.choice((0.0, 0.0, 0.5))
    beat, asked = -1, False
    cmd_ready = valid = 0  # as driven
    stages: list[tuple[int, int]] = []
    for clock in range(LIMIT):
        await RisingEdge(dut.clk_i)
        if dut.stage_write_o.value:
            stages.append((int(dut.stage_index_o.value), int(dut.stage_o.value)))
        assert dut.busy_o.value, "not busy before done_o"
        if dut.done_o.value:
            answer(dut)
            error = tuple(int(x.value) for x in (dut.error_o, dut.info0_o, dut.info1_o))
            await RisingEdge(dut.clk_i)
            assert not dut.busy_o.value
            assert not dut.done_o.value
            return Loaded(error, stages, beat + 1 if asked else 0, clock)  # type: ignore[arg-type]
        cmd_valid, cmd_address, cmd_beats, ready = asked_for(dut)
        if not asked:
            if cmd_valid and cmd_ready:
                assert (cmd_address, cmd_beats) == (address, count)
                asked = True
                cmd_ready = 0
            else:
                cmd_ready = int(draw.random() >= pace)
            answer(dut, cmd_ready=cmd_ready)
            continue
        assert not cmd_valid, "a second command"
        if valid:
            if not ready:
                continue
            beat += 1
            valid = 0
            answer(dut)
        if beat + 1 < count and draw.random() >= pace:
            words = data[16 * (beat + 1) :][:16]
            valid = 1
            answer(
                dut, valid=1, data=int.from_bytes(words.tobytes(), "little"),
                resp=failing.get(beat + 1, 0), last=int(beat + 2 == count),
            )  # fmt: skip
    raise TimeoutError(f"no done_o within {LIMIT} clocks")


def check_tables(dut: Any, g: Geometry, program: Program, image: np.ndarray, got: Loaded) -> None:
    """Compare everything that is kept of a legal program."""
    table = image[-STAGE_WORDS * len(program.stages) :].reshape(-1, STAGE_WORDS)
    want = [(k, int.from_bytes(row.tobytes(), "little")) for k, row in enumerate(table)]
    assert got.stages == want, "stage table"
    count = len(program.networks)
    plan = plan_of(dut)
    assert plan["nets"] == (1 << count) - 1
    targets = sum(net.has_target << k for k, net in enumerate(program.networks))
    assert plan["targets"] == targets
    passes = [program.forward_pass(index) for index in range(count)]
    assert plan["trained"] == program.trained
    prompt = {s.net for s in program.stages if s.op == OP_UPDATE and not s.delayed}
    assert plan["prompt"] == sum(1 << net for net in prompt)
    assert plan["passes"] == sum((p is not None) << k for k, p in enumerate(passes))
    assert plan["stages"] == len(program.stages)
    assert plan["state_words"] == program.state_words
    assert plan["state_rows"] == program.copy_rows(g)
    given = (program.action_words, program.action) if program.continuous else (0, 0)
    assert (plan["action_words"], plan["action"]) == given
    assert plan["noise"] == program.noise
    assert plan["delay"] == program.delay
    phases = program.phases
    assert plan["phases"] == len(phases) - 1
    assert plan["second"] == (phases[1].start if len(phases) > 1 else 0)
    vectors = [plan["state"], plan["next_state"], plan["frame_rows"]]
    assert vectors == [program.state, program.next_state, program.frame_rows]
    master = 0
    for index, net in enumerate(program.networks):
        words = ImageMap(g, net).words
        slots = [s.slot for s in program.stages if s.op == OP_UPDATE and s.net == index]
        value = 0
        for field, width in (
            *((x.n_in | x.n_out << 16, 32) for x in reversed(net.layers)),
            (len(net.layers), 8), (int(net.has_target), 1), (net.row_base, 16), (net.rows, 16),
            (net.bias_base, 16), (net.biases, 16), (words // 16, 16), (master // g.lw, 24),
            ((slots or [0])[-1], 4), (net.column, 16), (net.columns, 16), (net.column_row, 16),
            *pass_fields(g, program, passes[index]),
        ):  # fmt: skip
            value = value << width | field
        assert int(dut.networks_o[index].value) == value, f"network {index}"
        master += words
    at = HEADER_WORDS + RECORD_WORDS * count
    for index in range(len(program.slots)):
        value = int.from_bytes(image[at + RECORD_WORDS * index :][:9].tobytes(), "little")
        assert int(dut.slots_o[index].value) == value, f"slot {index}"
    updates = [k for k, s in enumerate(program.stages) if s.op in (OP_UPDATE, OP_TARGET)]
    assert plan["updates"] == len(updates)
    for index, place in enumerate(updates):
        stage, parameter, tau = program.stages[place], int(table[place][5]), int(table[place][7])
        value = int(stage.delayed) << 1 | int(len(phases) > 1 and place in phases[1])
        value = value << 4 | int(stage.op == OP_TARGET) << 3 | stage.net
        value = value << 4 | parameter & 15
        value = value << 17 | (parameter & 0x1FFFF)
        assert int(dut.update_o[index].value) == value << 32 | tau, f"update {index}"


def pass_fields(g: Geometry, program: Program, stages: range | None) -> tuple[tuple[int, int], ...]:
    """What is kept of a forward pass: (value, bits)."""
    if stages is None:
        return ((0, 72),)
    first, last = program.stages[stages.start], program.stages[stages.stop - 1]
    return (
        (stages.start, 8), (stages.stop, 8), (first.src, 8), (first.n_in, 16),
        (last.dst + last.offset // g.p, 8), (last.offset % g.p, 7),
        (int(last.dst in program.inputs), 1), (last.n_out, 16),
    )  # fmt: skip


def updates_of(program: Program) -> int:
    """How many of its stages write weights."""
    return sum(stage.op in (OP_UPDATE, OP_TARGET) for stage in program.stages)


def with_passes(draw: random.Random, g: Geometry) -> Program:
    """A program with forward passes, or with what is almost one: a stage of a pass is changed.

    Some have as many stages that write weights as there may be, or one more.
    """
    width, crowded = draw.choice((2, 4, g.p)), draw.random() < 0.2
    sizes = (draw.randint(1, 4), *[width] * (0 if crowded else draw.randint(0, 2)), 2)
    program = dqn(g, DqnConfig(sizes, sgd(0.1), double=draw.random() < 0.5))
    stages = list(program.stages)
    if crowded:  # as many stages that write weights as there may be, or one more
        more = draw.choice((UPDATE_MAX, UPDATE_MAX + 1)) - updates_of(program)
        return replace(program, stages=(*stages, *[stages[-1]] * more))
    place = draw.choice([k for k, s in enumerate(stages) if s.op == OP_DOT])
    stage, vector = stages[place], draw.randrange(program.frame_rows)
    kind = draw.randrange(9)
    if kind < 6:
        stages[place] = (
            replace(stage, src=draw.choice((program.state, program.next_state, vector))),
            replace(stage, n_in=draw.choice((1, program.state_words + 1, width))),
            replace(stage, n_out=draw.randint(1, width)),
            replace(stage, offset=draw.randint(1, g.p - 1), dst=program.frame_rows),
            replace(stage, target=not stage.target),
            replace(stage, deps=()),
        )[kind]
    elif kind < 8:
        stages.insert(place, replace(stage, dst=program.frame_rows + 1))
    return replace(program, stages=tuple(stages), frame_rows=program.frame_rows + 4)


@cocotb.test()
async def program(dut: Any) -> None:
    """Programs with no, one or two fields changed, sizes that do not fit, and failing beats."""
    g, draw = geometry(), rng("program")
    maker = Maker(draw, g)
    dut.start_i.value = 0
    await start(dut)
    longest = 64 + 128 * g.net_max + 32 * g.st_max
    seen: set[tuple[int, int]] = set()
    crowds: set[tuple[int, int]] = set()  # stages that write weights, of many, and the error
    fits = passes = 0
    for trial in range(LONGEST):
        missing = {(e.name, k) for e, k in ERRORS_WANTED if (int(e), k) not in seen}
        if trial >= TRIALS and not missing:
            break
        built = draw.random() < 0.15
        made = with_passes(draw, g) if built else maker.program()
        image = made.encode()
        failing, what = {}, f"trial {trial}: "
        if built:
            what += "a program with forward passes "
        elif draw.random() < 0.06:
            image, text = maker.resize(image)
            what += text
        elif g.actor_critic and draw.random() < 0.4:
            what += maker.twist(made, image)
        else:
            for _ in range(draw.choice((0, 1, 1, 1, 1, 1, 2))):
                what += maker.change(made, image)
        size = 4 * image.size
        kind = draw.random()
        if kind < 0.08:
            size = draw.choice(
                (0, 63, 64, 65, size - 1, size + 1, size - 32, size + 32, longest, longest + 1)
            )
            what += f"size {size}"
        try:
            if not 64 <= size <= longest:
                raise ProgramError(Error.E_DIM, 0, 0)
            padded = np.pad(image, (0, max(0, size // 4 - image.size)))
            good = validate(padded[: size // 4], g, size)
            want = (0, 0, 0)
        except ProgramError as error:
            good, want = None, (int(error.code), error.index, error.kind)
        if good is not None and kind > 0.9:
            beats = -(-size // 64)
            place = draw.choice((0, beats - 1, draw.randrange(beats)))
            failing = {place: draw.choice((2, 3))}
            if draw.random() < 0.3:
                failing[min(place + 1, beats - 1)] = draw.choice((2, 3))
            good, want = None, (int(Error.E_BUS_RD), 0, failing[place])
            what += f"beats that fail: {failing}"
        got = await load(dut, draw, image, size, failing)
        assert got.error == want, f"{what}: got {got.error}, want {want}"
        in_range = 64 <= size <= longest
        assert got.beats == (-(-size // 64) if in_range else 0), f"{what}: {got.beats} beats"
        seen.add((want[0], want[2]))
        if built and updates_of(made) >= UPDATE_MAX:
            crowds.add((updates_of(made), want[0]))
        if good is not None:
            fits += 1
            check_tables(dut, g, good, image, got)
            passes += any(good.forward_pass(k) for k in range(len(good.networks)))
    assert fits > TRIALS // 5, f"{fits} legal programs"
    assert passes > TRIALS // 20, f"{passes} programs with a forward pass"
    limits = {(UPDATE_MAX, 0), (UPDATE_MAX + 1, int(Error.E_DIM))}
    assert limits <= crowds, f"stages that write weights, and errors: {crowds}"
    assert not missing, f"errors that no program had: {missing}"
