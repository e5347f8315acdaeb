"""Random single stages through the pipe: every mode, size, mask and special value, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.regression import builds, keep
from models.learner.fp import words
from models.learner.layout import Geometry, Network
from models.learner.learner import Batch, Pipe
from models.learner.program import (
    ACT_RELU,
    NO_VECTOR,
    OP_AXPY,
    OP_DOT,
    OP_OUTER,
    OP_UPDATE,
    Program,
    Stage,
)
from verif.learner.pipe import Config, PipeSim

SPECIAL = np.array(
    [0x0000_0000, 0x8000_0000, 0x0000_0001, 0x807F_FFFF, 0x0080_0000, 0x7F7F_FFFF, 0xFF7F_FFFF,
     0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x3F80_0000, 0xBF80_0000],
    np.uint32,
)  # fmt: skip
SMALL = Geometry(p=16, ob=4, d_max=256, w_rows=1024, a_rows=1024, b_max=16)
CONFIGS = {
    8: Config(Geometry(p=8, ob=2, lw=2, d_max=256, w_rows=2048, a_rows=1024, b_max=16)),
    16: Config(SMALL),
    64: Config(Geometry(p=64, ob=16, lw=4, d_max=256, w_rows=256, a_rows=512, b_max=16), 4, 6),
}


def random_words(rng: np.random.Generator, count: int, special: float) -> np.ndarray:
    """Return float32 of a wide range, a fraction `special` of them from SPECIAL."""
    x = (rng.normal(size=count) * 2.0 ** rng.integers(-6, 7, count)).astype(np.float32)
    bits = x.view(np.uint32)
    chosen = rng.random(count) < special
    bits[chosen] = rng.choice(SPECIAL, int(chosen.sum()))
    return bits.view(np.float32)


def random_stage(rng: np.random.Generator, geometry: Geometry, frame_rows: int) -> Stage:
    """Return a stage of random mode and sizes at random places; offsets only where legal."""
    limit = geometry.d_max
    small = rng.random() < 0.7
    n_in = int(rng.integers(1, 33 if small else limit + 1))
    n_out = int(rng.integers(1, 65))
    while geometry.weight_rows(n_in, n_out) > geometry.w_rows:
        n_out = max(1, n_out // 2)
    rows_in, rows_out = geometry.vector_rows(n_in), geometry.vector_rows(n_out)
    op = int(rng.choice([OP_DOT, OP_AXPY, OP_OUTER]))
    half = frame_rows // 2

    def place(first: int, rows: int) -> int:
        return first + int(rng.integers(0, half - rows + 1))

    src_rows, dst_rows = (rows_in, rows_out) if op == OP_DOT else (rows_out, rows_in)
    offset = 0
    if op == OP_DOT and n_out < geometry.p and rng.random() < 0.5:
        offset = int(rng.integers(0, geometry.p - n_out + 1))
    bias_groups = -(-n_out // geometry.ob)
    return Stage(
        op,
        act=int(rng.integers(0, 2)) if op != OP_OUTER else 0,
        no_bias=op == OP_DOT and rng.random() < 0.2,
        n_in=n_in,
        n_out=n_out,
        row=int(rng.integers(0, geometry.w_rows - geometry.weight_rows(n_in, n_out) + 1)),
        bias=geometry.ob * int(rng.integers(0, geometry.w_rows - bias_groups + 1)),
        src=place(0, src_rows),
        dst=place(half, dst_rows),
        aux=place(0, rows_in),
        offset=offset,
    )


def random_program(rng: np.random.Generator, geometry: Geometry, stages: int) -> Program:
    """Return stages that follow each other without dependencies, but no write is read later."""
    frame_rows = 2 * geometry.vector_rows(geometry.d_max) + 4
    table: list[Stage] = []
    used: list[tuple[int, int]] = []
    while len(table) < stages:
        stage = random_stage(rng, geometry, frame_rows)
        place = (stage.row, stage.row + geometry.weight_rows(stage.n_in, stage.n_out))
        bias = stage.bias // geometry.ob
        biases = (bias, bias - (-stage.n_out // geometry.ob))
        if stage.op == OP_OUTER:
            # Gradients of different stages have their own rows.
            if any(a < place[1] and place[0] < b for a, b in used[0::2]):
                continue
            if any(a < biases[1] and biases[0] < b for a, b in used[1::2]):
                continue
            used += [place, biases]
        table.append(stage)
    for k in range(len(table) - 1):
        if table[k].op == OP_OUTER and table[k + 1].op == OP_OUTER and rng.random() < 0.7:
            table[k] = replace(table[k], chain=True)
    # The result of a stage may overlap that of an earlier one: the later wins, so wait for it.
    table = [replace(s, deps=(k - 1,) if k and rng.random() < 0.4 else ()) for k, s in
             enumerate(table)]  # fmt: skip
    net = Network((), False, 0, geometry.w_rows, 0, geometry.w_rows * geometry.ob)
    return Program(
        tuple(table), (net,), (), 1, 1, frame_rows - 2, frame_rows - 4, NO_VECTOR, frame_rows
    )


def check(config: Config, seed: int, programs: int, special: float) -> None:
    """Run random programs of stages in the simulator and in the model; compare every word."""
    geometry = config.geometry
    rng = np.random.default_rng(seed)
    sim = PipeSim(config, seed)
    for _ in range(programs):
        program = random_program(rng, geometry, int(rng.integers(1, 7)))
        batch = int(rng.integers(1, min(geometry.b_max, geometry.a_rows // program.frame_rows) + 1))
        pipe = Pipe(geometry)
        pipe.weights[:] = random_words(rng, pipe.weights.size, special)
        pipe.biases[:] = random_words(rng, pipe.biases.size, special)
        frame = program.frame_rows * geometry.p
        pipe.frames = np.zeros((geometry.b_max, frame), np.float32)
        pipe.frames[:batch] = random_words(rng, batch * frame, special).reshape(batch, frame)
        sim.load_program(program)
        sim.load_weights(pipe.weights, pipe.biases)
        sim.set_step(program, batch, np.float32(1), 0, (0,) * 8)
        for sample in range(batch):
            sim.load_frame(program, sample, 0, pipe.frames[sample])
        report = sim.run(batch, slow=int(rng.choice([0, 0, 1, 50])))
        one = np.zeros((batch, 1), np.float32)
        at = program.state * geometry.p, program.next_state * geometry.p
        samples = Batch(
            pipe.frames[:batch, at[0] : at[0] + 1].copy(),
            pipe.frames[:batch, at[1] : at[1] + 1].copy(),
            np.zeros(batch, np.int32), one, one, one,
        )  # fmt: skip
        result = pipe.run(program, samples, np.float32(1))
        name = f"seed {seed}: {program.stages}, batch {batch}"
        assert report.not_finite == result.not_finite, name
        got, want = sim.frames(program, batch), words(pipe.frames[:batch])
        assert np.array_equal(got, want), f"{name}: frames differ at {np.argwhere(got != want)[:4]}"
        assert np.array_equal(sim.frames(program, batch, port=1), want), name
        for stage in program.stages:
            if stage.op != OP_OUTER:
                continue
            rows = geometry.weight_rows(stage.n_in, stage.n_out)
            size = stage.n_out * geometry.pitch(stage.n_in)
            g = sim.gradients(False, stage.row, rows)[:size]
            start = stage.row * geometry.p
            assert np.array_equal(g, words(pipe.gradients[start : start + size])), name
            first = stage.bias // geometry.ob
            gb = sim.gradients(True, first, -(-stage.n_out // geometry.ob))[: stage.n_out]
            part = pipe.bias_gradients[stage.bias : stage.bias + stage.n_out]
            assert np.array_equal(gb, words(part)), name
    sim.close()


@builds(lambda p: PipeSim(CONFIGS[p], 1))
@pytest.mark.parametrize("p", keep([8, 16]))
def test_tensor_unit_random(seed: int, p: int) -> None:
    check(CONFIGS[p], seed, programs=40, special=0.0)


@builds(lambda p: PipeSim(CONFIGS[p], 1))
@pytest.mark.parametrize("p", [8, 16])
def test_tensor_unit_special_values(seed: int, p: int) -> None:
    check(CONFIGS[p], seed, programs=40, special=0.05)


@builds(lambda: PipeSim(CONFIGS[64], 1))
@pytest.mark.slow
def test_tensor_unit_wide(seed: int) -> None:
    check(CONFIGS[64], seed, programs=40, special=0.0)
    check(CONFIGS[64], seed + 1, programs=40, special=0.05)


@builds(lambda: PipeSim(CONFIGS[16], 1))
def test_tensor_unit_each_lane(seed: int) -> None:
    """A special value in each lane of weights and inputs, in each mode, alone."""
    config = CONFIGS[16]
    geometry = config.geometry
    rng = np.random.default_rng(seed)
    sim = PipeSim(config, seed)
    base = random_program(rng, geometry, 1)
    for op in (OP_DOT, OP_AXPY, OP_OUTER):
        for value in SPECIAL:
            stage = Stage(op, act=ACT_RELU if op != OP_OUTER else 0, n_in=16, n_out=16, src=0,
                          dst=4, aux=1)  # fmt: skip
            program = replace(base, stages=(stage,))
            pipe = Pipe(geometry)
            pipe.weights[:256] = random_words(rng, 256, 0)
            pipe.biases[:16] = random_words(rng, 16, 0)
            batch = 16
            pipe.frames = np.zeros((geometry.b_max, program.frame_rows * geometry.p), np.float32)
            pipe.frames[:batch, :32] = random_words(rng, batch * 32, 0).reshape(batch, 32)
            for lane in range(16):
                pipe.frames[lane, lane] = value.view(np.float32)
                if op != OP_OUTER:
                    pipe.weights[lane * 17] = value.view(np.float32)
            sim.load_program(program)
            sim.load_weights(pipe.weights[:256], pipe.biases[:16])
            sim.set_step(program, batch, np.float32(1), 0, (0,) * 8)
            for sample in range(batch):
                sim.load_frame(program, sample, 0, pipe.frames[sample])
            report = sim.run(batch)
            one = np.zeros((batch, 1), np.float32)
            samples = Batch(one, one, np.zeros(batch, np.int32), one, one, one)
            result = pipe.run(program, samples, np.float32(1))
            assert report.not_finite == result.not_finite, (op, hex(value))
            got = sim.frames(program, batch)[:, 64:80]
            assert np.array_equal(got, words(pipe.frames[:batch, 64:80])), (op, hex(value))
            if op == OP_OUTER:
                assert np.array_equal(sim.gradients(False, 0, 16), words(pipe.gradients[:256]))
    sim.close()


@builds(lambda: PipeSim(CONFIGS[16], 1))
def test_tensor_unit_error_of_the_last_place(seed: int) -> None:
    """A result that is no number, in the last sample that a build has, at its last stage."""
    config = CONFIGS[16]
    geometry = config.geometry
    rng = np.random.default_rng(seed)
    sim = PipeSim(config, seed)
    base = random_program(rng, geometry, 1)
    batch, last = geometry.b_max, geometry.st_max - 1
    one = np.zeros((batch, 1), np.float32)
    samples = Batch(one, one, np.zeros(batch, np.int32), one, one, one)
    for op, word in ((OP_AXPY, 0), (OP_OUTER, 0), (OP_OUTER, 16)):
        stage = Stage(op, n_in=16, n_out=16, src=0, dst=4, aux=1)
        program = replace(base, stages=(*[Stage(OP_UPDATE)] * last, stage))
        pipe = Pipe(geometry)
        pipe.weights[:256] = random_words(rng, 256, 0)
        pipe.frames = np.zeros((batch, program.frame_rows * geometry.p), np.float32)
        pipe.frames[:, :32] = random_words(rng, 32 * batch, 0).reshape(batch, 32)
        pipe.frames[-1, word] = np.nan
        sim.load_program(program)
        sim.load_weights(pipe.weights[:256], pipe.biases[:16])
        sim.set_step(program, batch, np.float32(1), 0, (0,) * 8)
        for sample in range(batch):
            sim.load_frame(program, sample, 0, pipe.frames[sample])
        report = sim.run(batch)
        assert pipe.run(program, samples, np.float32(1)).not_finite == (last, batch - 1)
        assert report.not_finite == (last, batch - 1), (op, word)
    sim.close()
